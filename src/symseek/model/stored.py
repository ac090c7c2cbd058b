"""A model as JSON: what is written of it, and what is read, every field checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from symseek.algebra.agreement import agree
from symseek.algebra.forms import STYLES, styled
from symseek.columns import Column, Layout
from symseek.errors import InputError, shown, unknown_name
from symseek.files.schema import Label, Most, Real, Text, Within, Word, read
from symseek.groups import MOST_GROUPS, MOST_LABEL, MOST_OWN, Grouping
from symseek.model.formula import Break, Formula, Part
from symseek.model.library import full_library
from symseek.model.stored_numbers import (
    MOST_NUMBERS,
    StoredCertainty,
    StoredNumber,
    certainty_record,
    with_certainty,
)
from symseek.programs import Program
from symseek.tokens import MAX_ARITY, OPERATORS, Library, Token, TokenKind
from symseek.uncertainty.record import Constant

if TYPE_CHECKING:
    from symseek.model.model import Model

FORMAT = 1  # of the JSON; raise it when a change makes old files unreadable
_MOST_TOKENS, _MOST_IN_ALL = 2_000, 100_000  # of a formula, of which a search has at most 1,000
_MOST_WRITTEN = 1_000_000  # tokens of a program, its operators written out by their formulas

_Count = Annotated[int, Within(0, 2**31)]


def record_of(model: Model) -> dict[str, Any]:
    """Plain data for JSON."""
    return {
        "format": FORMAT,
        "target": model.target,
        "features": list(model.features),
        "operators": [_described(token) for token in _own_tokens(model.formulas)],
        "picked": model.picked,
        "rule": model.rule,
        "layout": None if model.layout is None else model.layout.to_dict(),
        "spread": model.spread,
        "picked_because": model.picked_because,
        **({"kinds": model.kinds} if model.kinds else {}),
        **({"form": model.form} if model.form else {}),
        **({"units": dict(model.units)} if model.units else {}),
        **({"ranges": list(map(list, model.ranges))} if model.ranges else {}),
        **({"loss": model.loss} if model.loss else {}),
        **({} if model.grouping is None else {"groups": _groups_record(model.grouping)}),
        "formulas": [
            {
                "row": row,
                "complexity": each.complexity,
                "reward": each.reward,
                "nrmse": each.nrmse,
                "rmse": model.rmse(row),
                "r2": each.r2,
                **({"loss": _finite_or_none(each.loss)} if model.loss else {}),
                "exact": each.exact,
                **({"seeds": list(each.seeds)} if each.seeds is not None else {}),
                **({"limits": list(each.limits)} if each.limits else {}),
                **({"style": each.style} if each.style != "best" else {}),
                # JSON has no infinity, which is the R2 of a formula undefined on some row.
                "validation_r2": _finite_or_none(each.validation_r2),
                "expression": each.text,
                "program": each.program.preorder(),
                **({"own": own} if (own := _own_record(each.program)) else {}),
                **({"with_units": units} if (units := _units_record(each)) else {}),
                **({"parts": list(map(_part_record, each.filled))} if each.filled else {}),
                **certainty_record(each),
                **({"breaks": list(map(asdict, each.breaks))} if each.breaks else {}),
            }
            for row, each in enumerate(model.formulas)
        ],
    }


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the model that a record is of; what is none is refused."""
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, Mapping) else None
        raise InputError(
            f"this model has format {shown(found)}, and this version of symseek reads format"
            f" {FORMAT}; fit it again"
        )
    try:
        written: _StoredModel = read(dict(record), _StoredModel, "the model")
        return written.fields()
    except InputError as error:
        raise InputError(f"this model is damaged ({error}); fit it again") from None


@dataclass(frozen=True)
class _StoredOperator:
    """An operator in JSON: one of the table with its complexity, or the caller's own."""

    name: Annotated[str, Most(1000)]
    complexity: Annotated[int, Within(0, 10**6)]
    arity: Annotated[int, Within(0, MAX_ARITY)] | None = None
    formula: Label | None = None

    def token(self) -> Token:
        if self.formula is not None and self.arity is not None:
            return Token(self.name, self.arity, self.complexity, formula=self.formula)
        if self.formula is not None or self.arity is not None:
            raise InputError(f"operator {shown(self.name)} has not both an arity and a formula")
        if self.name not in OPERATORS:
            raise unknown_name("operator", self.name, OPERATORS)
        return OPERATORS[self.name].with_complexity(self.complexity)


@dataclass(frozen=True)
class _StoredPart:
    """What was found for an unknown of a given form, in JSON."""

    name: Label
    columns: Annotated[tuple[Label, ...], Most(1000)]
    expression: Text
    program: Annotated[str, Most(1_000_000)]
    unit: Text = ""

    def part(self, library: Library, row: int) -> Part:
        where = f"part {shown(self.name)} of row {row}"
        program = _checked_program(self.program, self.expression, library, where)
        return Part(self.name, self.columns, program, self.expression, self.unit)


@dataclass(frozen=True)
class _StoredUnits:
    """The units of a formula's numbers, in JSON."""

    constants: Annotated[tuple[Text, ...], Most(_MOST_TOKENS)]  # of the program, in its order
    text: Annotated[tuple[tuple[Text, Text], ...], Most(_MOST_TOKENS)]  # numbers as written


_OwnNumbers = Annotated[tuple[Real | None, ...], Most(MOST_GROUPS)]  # of each group


@dataclass(frozen=True)
class _StoredGroups:
    """The groups that have numbers of their own, in JSON."""

    column: Label
    labels: Annotated[tuple[Annotated[str, Most(MOST_LABEL)], ...], Most(MOST_GROUPS)]
    own: Annotated[tuple[Label, ...], Most(MOST_OWN)]
    source: Label | None = None

    def grouping(self, features: Sequence[str]) -> Grouping:
        if len(set(self.labels)) < len(self.labels):
            raise InputError("a group is named twice")
        if features[-1:] != (self.column,):
            raise InputError(f"the last feature is not the column {shown(self.column)} of groups")
        return Grouping(self.column, self.labels, self.own, self.source or "")


@dataclass(frozen=True)
class _StoredBreak:
    """Where a formula has a pole or no value, in JSON."""

    kind: Word
    at: Annotated[tuple[tuple[Label, Real], ...], Most(1000)]
    inside: bool

    def found(self) -> Break:
        return Break(self.kind, self.at, self.inside)


@dataclass(frozen=True)
class _StoredFormula:
    """A formula in JSON; older files lack the last fields."""

    complexity: _Count
    reward: Real
    nrmse: Real
    r2: Real
    validation_r2: Real | None
    expression: Text
    program: Annotated[str, Most(1_000_000)]
    row: _Count | None = None
    rmse: Real | None = None  # as the NRMSE and the spread have it
    loss: Real | None = None
    exact: bool = False
    seeds: tuple[_Count, _Count] | None = None
    limits: Annotated[tuple[Text, ...], Most(1000)] = ()
    style: Word = "best"
    parts: Annotated[tuple[_StoredPart, ...], Most(MAX_ARITY)] = ()
    own: Annotated[Mapping[Label, _OwnNumbers], Most(MOST_OWN)] = field(default_factory=dict)
    with_units: _StoredUnits | None = None
    numbers: Annotated[tuple[StoredNumber, ...], Most(MOST_NUMBERS)] = ()
    constants: Annotated[tuple[StoredNumber, ...], Most(MOST_NUMBERS)] = ()
    certainty: StoredCertainty | None = None
    description: Real | None = None
    breaks: Annotated[tuple[_StoredBreak, ...], Most(10)] = ()
    aicc: Real | None = None  # like the next, as the certainty has it
    bic: Real | None = None

    def formula(self, library: Library, row: int) -> Formula:
        if self.row not in (None, row):
            raise InputError(f"row {row} says that it is row {self.row}")
        program = _checked_program(self.program, self.expression, library, f"row {row}")
        if self.seeds is not None and self.seeds[0] > self.seeds[1]:
            raise InputError("the seeds of row {} are {} of {}".format(row, *self.seeds))
        formula = Formula(
            self._owning(program, row),
            self.expression,
            self.reward,
            self.nrmse,
            self.r2,
            self.validation_r2,
            self.exact,
            self.seeds,
            limits=self.limits,
            style=self.style if self.style in STYLES else "best",
            filled=tuple(each.part(library, row) for each in self.parts),
            constants=self._with_units(program, row),
            with_units=() if self.with_units is None else self.with_units.text,
            description=self.description,
            loss=self.loss,
            breaks=tuple(each.found() for each in self.breaks),
        )
        return with_certainty(formula, self.constants, self.numbers, self.certainty)

    def _with_units(self, program: Program, row: int) -> tuple[Constant, ...]:
        """The numbers of the program with their units."""
        if self.with_units is None:
            return ()
        units = self.with_units.constants
        if len(units) != len(program.constants):
            raise InputError(f"row {row} has not a unit for each number")
        pairs = zip(program.constants, units, strict=True)
        return tuple(Constant(value, unit=unit) for value, unit in pairs)

    def _owning(self, program: Program, row: int) -> Program:
        """The program with the numbers that groups have of their own."""
        grouping = program.library.grouping
        names = () if grouping is None else grouping.own
        used = {names[at] for at in program.own_used}
        if used != set(self.own):
            raise InputError(f"row {row} has not the groups' own numbers of its program")
        if grouping is None or not used:
            return program
        if any(len(each) != len(grouping.labels) for each in self.own.values()):
            raise InputError(f"row {row} has not a number of its own for each group")
        unknown = (None,) * len(grouping.labels)
        table = (self.own.get(name, unknown) for name in names)
        own = tuple(tuple(math.nan if v is None else float(v) for v in each) for each in table)
        return replace(program, own=own)


def _checked_program(written: str, expression: str, library: Library, where: str) -> Program:
    """A program in JSON, and the text that says the same."""
    if written.count(" ") >= _MOST_TOKENS:
        raise InputError(f"the program of {where} has more than {_MOST_TOKENS:,} tokens")
    program = Program.from_preorder(written, library)
    if not all(map(math.isfinite, program.constants)):
        raise InputError(f"the program of {where} has constants that are not finite")
    if _written_size(program) > _MOST_WRITTEN:
        raise InputError(f"the program of {where} is too long to be written out")
    try:
        said = Program.parse(expression, library)
    except InputError as error:
        raise InputError(f"the expression of {where} cannot be read: {error}") from None
    # Models of older versions have the text of the program as it is.
    if not (agree(styled(program), said) or agree(program, said)):
        raise InputError(f"the expression of {where}, {shown(expression)}, is not its program")
    return program


@dataclass(frozen=True)
class _StoredLayout:
    """A layout in JSON."""

    columns: tuple[_Count, ...]
    first_row: _Count


@dataclass(frozen=True)
class _StoredModel:
    """A model in JSON; older files lack the last fields."""

    format: int
    target: Label
    features: Annotated[tuple[Label, ...], Most(100_000)]
    operators: Annotated[tuple[_StoredOperator, ...], Most(1000)]
    picked: int
    rule: Word
    formulas: Annotated[tuple[_StoredFormula, ...], Most(10_000)]
    layout: _StoredLayout | None = None
    spread: Real | None = None
    picked_because: Text = ""
    kinds: Annotated[Mapping[Label, Label], Most(100_000)] = field(default_factory=dict)
    form: Text = ""
    loss: Text = ""
    groups: _StoredGroups | None = None
    units: Annotated[Mapping[Label, Text], Most(100_000)] = field(default_factory=dict)
    ranges: Annotated[tuple[tuple[Real, Real], ...], Most(100_000)] = ()

    def _programs(self) -> Iterator[_StoredFormula | _StoredPart]:
        for each in self.formulas:
            yield each
            yield from each.parts

    def fields(self) -> dict[str, Any]:
        """The fields of the model, checked against each other."""
        operators = [each.token() for each in self.operators]
        grouping = None if self.groups is None else self.groups.grouping(self.features)
        library = full_library(self.features, operators, grouping)
        if sum(each.program.count(" ") + 1 for each in self._programs()) > _MOST_IN_ALL:
            raise InputError(f"its programs have more than {_MOST_IN_ALL:,} tokens")
        formulas = tuple(each.formula(library, row) for row, each in enumerate(self.formulas))
        if not 0 <= self.picked < len(formulas):
            raise InputError(f"row {self.picked} is picked of {len(formulas)} formulas")
        layout = None
        if self.layout is not None:
            layout = Layout(self.layout.columns, self.layout.first_row)
        if layout is not None and len(layout.columns) != len(self.features):
            columns, features = len(layout.columns), len(self.features)
            raise InputError(f"its layout has {columns} columns for {features} features")
        if self.spread is not None and not 0 < self.spread < math.inf:
            raise InputError(f"its spread is {self.spread}")
        inputs = len(self.features) - (grouping is not None)
        if self.ranges and len(self.ranges) != inputs:
            raise InputError(f"it has {len(self.ranges)} ranges of {inputs} inputs")
        first = "target", "picked", "rule", "spread", "picked_because"
        names = *first, "form", "loss", "ranges", "units"
        same = {name: getattr(self, name) for name in names}
        quantities = tuple(Column(name, kind=kind) for name, kind in self.kinds.items())
        made = {"formulas": formulas, "layout": layout, "quantities": quantities}
        return {**same, "features": library.columns, **made}


def _groups_record(grouping: Grouping) -> dict[str, Any]:
    source = {"source": grouping.source} if grouping.source else {}
    own, labels = list(grouping.own), list(grouping.labels)
    return {"column": grouping.column, **source, "labels": labels, "own": own}


def _own_record(program: Program) -> dict[str, list[float | None]]:
    """The groups' own numbers by name; JSON has no nan."""
    grouping = program.library.grouping
    if grouping is None or not program.own:
        return {}
    used = program.own_used
    return {grouping.own[at]: [_finite_or_none(v) for v in program.own[at]] for at in used}


def _part_record(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "columns": list(part.columns),
        "expression": part.text,
        "program": part.program.preorder(),
        **({"unit": part.unit} if part.unit else {}),
    }


def _units_record(formula: Formula) -> dict[str, Any]:
    units = [each.unit for each in formula.constants]
    if not any(units) and not formula.with_units:
        return {}
    return {"constants": units, "text": list(map(list, formula.with_units))}


def _written_size(program: Program) -> float:
    """The tokens of a program whose operators are written out by their formulas."""

    def one(_: object) -> float:
        return 1.0

    def plain(_: Token, sizes: list[float]) -> float:
        return 1.0 + sum(sizes)

    def operator(token: Token, sizes: list[float]) -> float:
        inner = token.expansion
        return plain(token, sizes) if inner is None else inner.worked(sizes.__getitem__, one, plain)

    return program.worked(one, one, operator)


def _own_tokens(formulas: Sequence[Formula]) -> list[Token]:
    """The operators that are not as the table has them."""
    library = formulas[0].program.library if formulas else ()
    return [t for t in library if t.kind is TokenKind.OPERATOR and t != OPERATORS.get(t.name)]


def _described(token: Token) -> dict[str, Any]:
    """What makes the token again, as data."""
    if token.name in OPERATORS and token.formula == OPERATORS[token.name].formula:
        return {"name": token.name, "complexity": token.complexity}
    if token.formula is None:
        raise InputError(
            f"operator {token.name!r} is a Python function, which cannot be saved as data;"
            " give it a formula instead"
        )
    return {
        "name": token.name,
        "arity": token.arity,
        "complexity": token.complexity,
        "formula": token.formula,
    }


def _finite_or_none(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
