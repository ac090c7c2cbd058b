"""One line of the summary: what was picked for one table, or why nothing was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError, Message, Wording
from symseek.files.tables import TrainingTable
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.loop import Result
from symseek.many.forms import FormulaForm, form_of
from symseek.many.tables import Table
from symseek.model import Model
from symseek.programs import Program

NOT_FITTED = "not fitted yet"
"""The error of a table whose turn has not come."""

_POINTS = 48  # of a small picture
_DIGITS = 4  # of a coordinate in it

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Picture:
    """What a small picture shows: some rows, and the picked formula as a line."""

    points: Points = field(default_factory=list)
    line: Points = field(default_factory=list)
    label: str = ""  # of the horizontal axis: the only feature, or "predicted"


@dataclass(frozen=True)
class FitSummary:
    """What the summary says of one table."""

    name: str
    folder: str  # of its run, inside the parent folder
    formula: str = ""
    form: FormulaForm | None = None
    complexity: int | None = None
    nrmse: float | None = None
    r2: float | None = None
    exact: bool = False
    expressions: int = 0
    seconds: float = 0.0  # of the search, in all attempts
    stopped: str = ""  # the name of the reason, of those in `Stopped`
    error: str = ""  # why there is no formula, in a sentence
    note: str = ""  # what else there is to say
    picture: Picture = field(default_factory=Picture)

    @property
    def waiting(self) -> bool:
        """Whether its turn has not come."""
        return self.error == NOT_FITTED

    @classmethod
    def of(cls, table: Table, record: Record | None, wording: Wording = str) -> FitSummary:
        """The line of a record that `record_of` made, or of one that is not there."""
        if record is None:
            return cls(table.name, table.folder, error=NOT_FITTED)
        if record.status == "failed":
            seconds = record.wall or 0.0
            error = error_of(record).worded(wording)
            return cls(table.name, table.folder, seconds=seconds, error=error)
        known = record.curve
        return cls(
            table.name,
            table.folder,
            record.expression,
            FormulaForm(_text(known, "form_key"), _text(known, "form")),
            record.complexity,
            _number(known, "nrmse"),
            _number(known, "r2"),
            known.get("exact") == [True],
            record.evaluations,
            record.seconds or 0.0,
            _text(known, "stopped"),
            picture=Picture(
                _points(known, "x", "y"), _points(known, "line_x", "line_y"), _text(known, "label")
            ),
        )


def failed(spec: Spec, error: InputError) -> Record:
    """What is kept of a fit that its input made impossible."""
    text = " ".join(str(error).split())
    return Record(spec, "failed", error=text, curve={"error": Message(error).to_json()})


def error_of(record: Record) -> Message:
    """What was wrong, of a record that failed; that of another error has its last line."""
    try:
        return Message.from_json(record.curve["error"])
    except (InputError, KeyError):
        return Message(record.last_line)


def record_of(spec: Spec, table: TrainingTable, model: Model, result: Result) -> Record:
    """What is kept of a fit; all of it is in its run folder."""
    best = model.best
    form = form_of(Program.parse(best.text, best.program.library))
    return Record(
        spec,
        evaluations=result.expressions,
        seconds=result.seconds,
        reward=best.reward,
        expression=best.text,
        complexity=best.complexity,
        curve={
            "nrmse": [best.nrmse],
            "r2": [best.r2],
            "exact": [best.exact],
            "stopped": [result.stopped.name],
            "form": [form.text],
            "form_key": [form.key],
            **_drawn(table, model),
        },
    )


def _drawn(table: TrainingTable, model: Model) -> dict[str, list[Any]]:
    """The columns of the picture: y over the only feature, or over what is predicted."""
    one = len(model.features) == 1
    order = np.argsort(table.X[:, 0] if one else table.y, kind="stable")
    rows = order[np.linspace(0, len(order) - 1, min(_POINTS, len(order))).astype(int)]
    y = table.y[rows]
    if one:
        x, label = table.X[rows, 0], table.features[0]
        line_x = np.linspace(x[0], x[-1], _POINTS)
        line_y = model.predict(line_x[:, None])
    else:
        X = model.rows(table.X, table.groups)
        x, label = model.predict(X[rows]), "predicted"
        line_x = line_y = np.array([y.min(), y.max()])
    columns = {"x": x, "y": y, "line_x": line_x, "line_y": line_y}
    return {"label": [label], **{name: _short(values) for name, values in columns.items()}}


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]


# --- reading what may have been written by someone else


def _text(known: Mapping[str, Sequence[Any]], name: str) -> str:
    value = next(iter(known.get(name, ())), "")
    return value if isinstance(value, str) else ""


def _number(known: Mapping[str, Sequence[Any]], name: str) -> float | None:
    value = next(iter(known.get(name, ())), None)
    return float(value) if isinstance(value, (int, float)) else None


def _points(known: Mapping[str, Sequence[Any]], first: str, second: str) -> Points:
    pairs = zip(known.get(first, ()), known.get(second, ()), strict=False)
    whole = [pair for pair in pairs if all(type(each) in (int, float) for each in pair)]
    return [(float(x), float(y)) for x, y in whole if math.isfinite(x) and math.isfinite(y)]
