"""The question to a table, as the page asks it: what to fit, and whatever is wrong with that.

Every complaint is the command line's own sentence, with the field of the page that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from symseek.cli.options import names as read_names
from symseek.cli.options import shell_words
from symseek.cli.settings import fit_words, option_words, quoted_name
from symseek.engines.choice import NATIVE
from symseek.errors import InputError, Setting, unknown_name
from symseek.files.limits import MOST_TABLE
from symseek.files.schema import Label, Most
from symseek.files.source import TableSource
from symseek.files.tables import (
    TrainingTable,
    column_error,
    columns_left_out,
    training_table,
)
from symseek.regression.search_plan import SearchPlan
from symseek.runs.request import FitRequest
from symseek.settings import PARAMETERS, Settings
from symseek.studio.wording import worded

Problems = list[dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """What the page asks, its types checked and nothing else."""

    table: Annotated[str, Most(1000)]
    target: Label | None
    features: Annotated[tuple[Label, ...], Most(10_000)] | None = None
    weights: Label | None = None
    group: Label | None = None
    delimiter: Label | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # other than by default

    def __post_init__(self) -> None:
        for name in ("target", "weights", "group", "delimiter"):  # the page says "" for none
            object.__setattr__(self, name, getattr(self, name) or None)


@dataclass(frozen=True)
class Considered:
    """A question with what there is to say to it."""

    command: str
    request: FitRequest
    aside: list[str]  # words for the settings that no run folder keeps
    problems: Problems  # each with its field
    rows: int
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "problems": self.problems,
            "rows": self.rows,
            "notes": self.notes,
        }


def consider(
    question: Question,
    path: Path,
    read: Callable[[], TableSource],
    max_table_size: int = MOST_TABLE,
) -> Considered:
    """Check a question; `read` gives the table, or says what is wrong with it."""
    folder = path.parent
    settings, problems = read_settings(question.settings, folder)
    rows, notes, left_out = 0, list[str](), None
    try:
        source = read()
    except InputError as error:
        field = error.field if error.kind == "setting" else None
        problems.append(_problem(field, error, folder))
    else:
        wrong = _column_problems(question, source, folder, settings.missing)
        problems += wrong
        try:
            if not wrong:
                table, usable = _searched(question, source, settings)
                said = [*table.notes, *_left_out(settings, usable)]
                rows, notes = len(table.y), [worded(each, folder) for each in said]
                settings, left_out = usable, table.left_out
        except InputError as error:
            field = _field(question, source.names, error)
            problems.append(_problem(field, error, folder))
    aside = [
        word
        for name, each in PARAMETERS.items()
        if name in question.settings and each.is_text and not each.in_file
        for word in option_words(name, getattr(settings, name))
    ]
    asked = _request(question, path, settings)
    command = fit_words(replace(asked, data=_shown(path), max_table_size=max_table_size))
    return Considered(
        command=shell_words(command + aside),
        request=replace(asked, left_out=left_out),
        aside=aside,
        problems=problems,
        rows=rows,
        notes=notes,
    )


def _request(question: Question, path: Path, settings: Settings) -> FitRequest:
    return FitRequest(
        path,
        question.target or "COLUMN",
        question.features,
        question.weights,
        question.delimiter,
        settings,
        group=question.group,
    )


def _shown(path: Path) -> Path:
    """The table as one types it in its folder."""
    return path if path.name.startswith("-") else Path(path.name)


def _problem(field: str | None, error: InputError | str, folder: Path) -> dict[str, Any]:
    return {"field": field, "sentence": worded(error, folder)}


# --- settings


def read_settings(given: Mapping[str, Any], folder: Path) -> tuple[Settings, Problems]:
    """The settings without those that are wrong, and what is wrong with these."""
    problems: Problems = []
    left: dict[str, Any] = {}
    known = [name for name, each in PARAMETERS.items() if each.is_text]
    for name, value in given.items():
        try:
            if name not in known:
                raise unknown_name("setting", name, known)
            left[name] = PARAMETERS[name].check(value)
        except InputError as error:
            problems.append(_problem(name if name in known else None, error, folder))
    try:
        return Settings(**left), problems
    except InputError as error:  # one that does not go with the others
        problems.append(_problem(error.field, error, folder))
        left.pop(error.field or "", None)
        return Settings(**left), problems


# --- columns


def _column_problems(
    question: Question, table: TableSource, folder: Path, missing: str
) -> Problems:
    """What is wrong with single columns among those that are to be used."""
    problems: Problems = []
    if question.target is None:
        problems.append(_problem("target", "choose the column to find a formula for", folder))
    roles = _roles(question)
    beside = [name for name in roles if name is not None]
    left_out = columns_left_out(table, beside) if question.features is None else {}
    for at, name in enumerate(table.names):
        role = roles.get(name)
        if role is None and question.features is not None and name not in question.features:
            continue
        if role == "group" and name not in (question.features or ()):  # it may be of text
            continue
        if name in left_out or (name == "" and at == 0 and question.features is None):
            continue  # a first one without a name is looked at with the whole table
        error = column_error(table, at, missing)
        if error is not None:
            problems.append(_problem(role or f"column:{name}", error, folder))
    return [each for at, each in enumerate(problems) if each not in problems[:at]]


def _searched(
    question: Question, source: TableSource, settings: Settings
) -> tuple[TrainingTable, Settings]:
    """The table that the search would get, and its settings; whatever it refuses is refused here.

    Formulas to begin with that cannot be used are left out, as long as one of them can.
    """
    assert question.target is not None
    columns, given = (question.target, question.features, question.weights), question.features
    table = training_table(source, *columns, settings.missing, group=question.group)
    if given is not None and read_names(",".join(map(quoted_name, given))) != list(given):
        raise InputError(Setting("features"), " has a name with a backquote; rename that column")
    *inputs, target = table.columns[: table.X.shape[1] + 1]
    plan = SearchPlan.of(
        table.X,
        table.y,
        inputs,
        replace(settings, engine=NATIVE),
        target,
        table.weights,
        table.groups,
        table.others,
    )
    plan.check()
    return table, replace(settings, guesses=_usable(settings.guesses, plan))


def _roles(question: Question) -> dict[str | None, str]:
    """The columns that are for something else than formulas, by what they are for."""
    named = ((name, getattr(question, name)) for name in ("group", "weights", "target"))
    return {column: name for name, column in named if column is not None}


def _usable(guesses: Iterable[str], plan: SearchPlan) -> tuple[str, ...]:
    """The formulas that the search can begin with."""
    usable, wrong = [], None
    for guess in guesses:
        try:
            plan.guessed([guess])
            usable.append(guess)
        except InputError as error:
            wrong = wrong or error
    if wrong is not None and not usable:
        raise wrong
    return tuple(usable)


def _left_out(asked: Settings, usable: Settings) -> list[str]:
    count = len(asked.guesses) - len(usable.guesses)
    many = "one formula" if count == 1 else f"{count} formulas"
    return [f"left out {many} to begin with that cannot be used"] if count else []


def _field(question: Question, names: Sequence[str], error: InputError) -> str | None:
    """The field of the page that a complaint about the whole table belongs to."""
    if error.kind == "setting":
        return error.field
    if error.kind == "column" and error.field is not None:
        roles = _roles(question)
        other = f"column:{error.field}" if error.field in names else "features"
        return roles.get(error.field, other)
    return "target" if error.field == "y" else None
