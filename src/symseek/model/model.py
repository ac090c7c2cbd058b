"""The table of formulas for one target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from symseek.arguments import number, real_array, refused, whole
from symseek.arrays import Floats
from symseek.columns import Column, Layout, with_unit
from symseek.errors import InputError, Setting, printable, shown
from symseek.groups import Grouping, Groups
from symseek.model.formula import Formula
from symseek.model.own_numbers import MOST_SHOWN
from symseek.model.stored import fields_of, record_of
from symseek.notation.parse import quote
from symseek.uncertainty.bands import band, far, leverages, outside
from symseek.uncertainty.evidence import DECIDED
from symseek.uncertainty.record import LEVEL

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_PLACES = 3  # of poles that are said
_CLOSE = 1e-6  # an NRMSE that reads like no error at all


@dataclass(frozen=True)
class Model:
    """The formulas for one target.

    >>> from symseek.model import full_library
    >>> from symseek.programs import Program
    >>> library = full_library(["t"])
    >>> formulas = [
    ...     Formula(Program.parse("4.1", library), "4.1", 0.5, 1.0, 0.0),
    ...     Formula(Program.parse("4.905*t**2", library), "4.905*t**2", 1.0, 0.0, 1.0, exact=True),
    ... ]
    >>> model = Model("height", ("t",), tuple(formulas), picked=1, spread=2.5)
    >>> model.predict([[2.0]])
    array([19.62])
    >>> print(model)
      row  complexity  reward   NRMSE  RMSE      R2  height =
        0           1  0.5000  1.0000   2.5  0.0000  4.1
    >   1           5  1.0000   exact     0  1.0000  4.905*t**2
    """

    target: str
    features: tuple[str, ...]
    formulas: tuple[Formula, ...]  # simplest first
    picked: int
    rule: str = "mdl"  # that picked it
    layout: Layout | None = None  # of the file that the features came from, if it was one
    spread: float | None = None  # the standard deviation of the target on the training rows
    picked_because: str = ""  # where a test overruled the description length, why
    form: str = ""  # the equation that was given, with unknown functions
    ranges: tuple[tuple[float, float], ...] = ()  # of the inputs in the rows of the fit
    loss: str = ""  # what was asked to be small; empty for squared errors
    # The features and the target; of these the JSON has the kinds only.
    quantities: tuple[Column, ...] = field(default=(), compare=False)
    # With which the formulas agree, by column; empty unless they were asked to.
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, str]:
        """What the features were that are no numbers in the table, such as dates, by name."""
        named = [each for each in self.quantities if each.name in self.features]
        return {each.name: each.kind for each in named if each.kind != "quantity"}

    def unit(self, name: str) -> str:
        """The unit of a column, as the table has it or as it was given; empty if unknown."""
        columns = (each.unit for each in self.quantities if each.name == name)
        return self.units.get(name) or next(columns, "")

    def labelled(self, name: str) -> str:
        """A column's name with its unit.

        >>> Model("h", ("t",), (), 0, units={"h": "m"}).labelled("h")
        'h [m]'
        """
        return with_unit(name, self.unit(name))

    @property
    def heading(self) -> str:
        """The name of the target above its formulas, with its unit if they agree with that."""
        return with_unit(self.target, self.units.get(self.target, ""))

    def remarks(self, formula: Formula | None = None) -> list[str]:
        """What to say where a formula is written for others: the units of columns and numbers, the
        errors of numbers, and where it has a pole or no value.

        >>> Model("h", ("t", "n"), (), 0, units={"h": "m", "t": "s"}).remarks()
        ['h in m; t in s, n without a unit']
        """
        errors = "" if formula is None or formula.exact else formula.with_errors
        sure = [f"with standard errors: {errors}"] if errors else []
        breaks = [] if formula is None else [f"beware of {each}" for each in formula.breaks]
        if not self.units:
            return [*sure, *breaks]
        target, *inputs = (
            f"{name} in {self.units[name]}" if name in self.units else f"{name} without a unit"
            for name in (self.target, *self.inputs)
        )
        where = "" if formula is None else formula.where
        units = [f"{target}; {', '.join(inputs)}", *([f"where {where}"] if where else [])]
        return [*units, *sure, *breaks]

    @property
    def grouping(self) -> Grouping | None:
        """The groups that have numbers of their own, if there are any."""
        return self.formulas[0].program.library.grouping if self.formulas else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The features but the column of the groups, which is the last."""
        return self.features if self.grouping is None else self.features[:-1]

    def rows(self, X: Floats, groups: Groups | None) -> Floats:
        """Rows of the inputs [N, n] as `predict` takes them: with the number of each one's group.

        A group that was not in the rows that were fitted is refused.
        """
        grouping = self.grouping
        if grouping is None or groups is None:
            return X
        return grouping.beside(X, groups.labels)

    @property
    def best(self) -> Formula:
        """The picked formula."""
        return self.formulas[self.picked]

    def formula(self, row: int | None = None) -> Formula:
        """A row of the table, or the picked one."""
        if row is None:
            return self.best
        at = whole(Setting("row"), row, "a whole number, or None for the picked formula")
        if not 0 <= at < len(self.formulas):
            wanted = f"the front has rows 0 to {len(self.formulas) - 1}"
            text = f"there is no row {shown(at)}; {wanted}"
            raise InputError(text, field=Setting("row"), value=at, wanted=wanted)
        return self.formulas[at]

    def predict(self, X: ArrayLike, row: int | None = None) -> Floats:
        """The values [N] on rows of X [N, n]; nan or inf where the formula is undefined."""
        return self.formula(row).program.evaluate(X)

    def interval(
        self, X: ArrayLike, level: float = LEVEL, row: int | None = None
    ) -> tuple[Floats, Floats]:
        """The ends [N] of the intervals that new rows of X [N, n] lie in, so often as `level` says.

        They hold the noise of a row of weight 1, and the errors of the formula's numbers. Where it
        has no value they are NaN. A formula of which no errors are known is refused.
        """
        level = number(Setting("interval"), level, "above 0 and below 1", 0, 1)
        if not 0.0 < level < 1.0:
            raise refused(Setting("interval"), level, "above 0 and below 1")
        formula = self.formula(row)
        if formula.certainty is None:
            raise InputError(
                f"the errors of {formula.text} are not known, so there is no ",
                Setting("interval"),
                "; they are of formulas that are fitted by least squares, whose numbers are shared"
                " by all rows",
                field=Setting("interval"),
            )
        return band(formula.program, formula.certainty, real_array(X, "X"), level)

    def outside(self, X: ArrayLike, row: int | None = None) -> list[str]:
        """For each row of X [N, n], what it is beyond the rows of the fit in; empty if in nothing.

        That is the columns that are outside their range, or "hull" where each is inside, but the
        row as a whole is further from the rows of the fit than any of those, as the formula has it.
        """
        rows, formula = real_array(X, "X"), self.formula(row)
        names, count = self.inputs, len(self.ranges)
        if not count:
            return [""] * len(rows)
        beyond = outside(rows[:, :count], self.ranges)
        found = [", ".join(n for n, b in zip(names, each, strict=True) if b) for each in beyond]
        known = formula.certainty
        if known is not None and known.leverage < math.inf:
            hull = far(leverages(formula.program, known, rows), known.leverage)
            found = [
                each or "hull" * bool(is_far) for each, is_far in zip(found, hull, strict=True)
            ]
        return found

    def rmse(self, row: int | None = None) -> float | None:
        """The root of the mean squared error on the training rows, in the units of the target.

        None for a model that was saved before it was known.
        """
        return None if self.spread is None else self.formula(row).nrmse * self.spread

    def frame(self) -> DataFrame:
        """The table as a DataFrame."""
        import pandas

        frame = pandas.DataFrame(self.columns())
        return frame.astype({"rmse": float, "validation_r2": float}).rename_axis("row")

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the table, by name."""
        return {
            "complexity": [each.complexity for each in self.formulas],
            "reward": [each.reward for each in self.formulas],
            "nrmse": [each.nrmse for each in self.formulas],
            "exact": [each.exact for each in self.formulas],
            "rmse": [self.rmse(row) for row in range(len(self.formulas))],
            "r2": [each.r2 for each in self.formulas],
            **({"loss": [each.loss for each in self.formulas]} if self.loss else {}),
            "validation_r2": [each.validation_r2 for each in self.formulas],
            **({"seeds": [self._seeds(each) for each in self.formulas]} if self._seeded else {}),
            **({"limits": ["; ".join(each.limits) for each in self.formulas]} if self.kept else {}),
            "expression": [each.text for each in self.formulas],
            **{
                name: [each.parts[name].text for each in self.formulas]
                for name in self.formulas[0].parts
            },
        }

    @property
    def _seeded(self) -> bool:
        """Whether several seeds were searched with."""
        return any(each.seeds is not None for each in self.formulas)

    @staticmethod
    def _seeds(formula: Formula) -> str:
        """How many seeds came to a formula, for reading; none to one that is made of another."""
        return "{}/{}".format(*formula.seeds) if formula.seeds and formula.seeds[0] else "-"

    def __str__(self) -> str:
        validated = any(each.validation_r2 is not None for each in self.formulas)
        errors = self._errors()
        losses = self._losses()
        head = f"  row  complexity  reward   NRMSE{errors[0]}      R2{losses[0]}"
        head += "  validation" * validated + "  seeds" * self._seeded + f"  {self.heading} ="
        lines = [head]
        for row, each in enumerate(self.formulas):
            mark = ">" if row == self.picked else "!" if each.broken else " "
            line = f"{mark} {row:>3}  {each.complexity:>10}  {each.reward:.4f}"
            error = f"{'exact':>6}" if each.exact else _short(each.nrmse)
            line += f"  {error}{errors[row + 1]}  {_short(each.r2)}{losses[row + 1]}"
            if validated:
                line += f"  {_short(each.validation_r2):>10}"
            if self._seeded:
                line += f"  {self._seeds(each):>5}"
            lines.append(f"{line}  {each.text}")
            if each.where:
                lines.append(f"{'':>{len(line)}}  where {each.where}")
        said = [self.broken, self.sure, self.undecided, self.given, *self.kept]
        notes = filter(None, [*said, self.reason, self.doubt])
        return "\n".join(map(printable, [*lines, *notes, *self.own_lines(most=MOST_SHOWN)]))

    def own_lines(self, row: int | None = None, most: int | None = None) -> list[str]:
        """The numbers that groups have of their own in a row, as text; none if there are none."""
        own = self.formula(row).own
        if own is None:
            return []
        number = self.picked if row is None else row
        head = f"The numbers of row {number} that each {own.column} has of its own:"
        more = len(own.labels) - len(own.labels[:most])
        rest = [f"... and {more:,} more"] if more else []
        return ["", head, *own.lines(most), *rest]

    def own_numbers(self, row: int | None = None) -> DataFrame:
        """The numbers that groups have of their own, as a DataFrame: a line a group, by label.

        It has no columns where the formula has no such numbers.
        """
        import pandas

        own, grouping = self.formula(row).own, self.grouping
        if grouping is None:
            raise InputError("this model was fitted without groups; there are no such numbers")
        columns = {} if own is None else dict(zip(own.names, own.values, strict=True))
        labels = pandas.Index(grouping.labels, name=grouping.name)
        return pandas.DataFrame(columns, index=labels, dtype=float)

    @property
    def broken(self) -> str:
        """Which rows have poles or no value in the box of the rows, or the picked one beyond it."""
        rows = [(row, each) for row, each in enumerate(self.formulas) if each.broken]
        marked = [f"row {row} ({each.breaks[0].near})" for row, each in rows if row != self.picked]
        listed = ", ".join(marked[:_MOST_PLACES])
        listed += f" and {len(marked) - _MOST_PLACES} more" * (len(marked) > _MOST_PLACES)
        said = f"! a pole or no value in the box of the rows: {listed}"
        picked = [f"Row {self.picked} has {each}." for each in self.best.breaks]
        return "\n".join([*([said] if marked else []), *picked])

    @property
    def sure(self) -> str:
        """The picked formula with the errors of its numbers; empty if none is known.

        >>> from symseek.model import Constant, full_library
        >>> from symseek.programs import Program
        >>> number = Constant(4.11, standard_error=0.02)
        >>> program = Program.parse("4.11", full_library(["t"]))
        >>> known = {"constants": (number,), "numbers": (number,)}
        >>> Model("y", ("t",), (Formula(program, "4.11", 0.5, 1.0, 0.0, **known),), 0).sure
        'Row 0 with standard errors: y = 4.11(2)'
        """
        text = "" if self.best.exact else self.best.with_errors
        return f"Row {self.picked} with standard errors: {self.target} = {text}" * bool(text)

    def against(self, row: int) -> float | None:
        """The weight of evidence against a row where the picked one is the rival, in nats."""
        one, picked = self.formula(row).evidence, self.best.evidence
        return None if one is None or picked is None else one.against(picked)

    @property
    def undecided(self) -> str:
        """Between which rows and the picked one the data do not decide; empty if they do."""
        if self.best.exact or self.best.is_close or self.best.evidence is None:
            return ""
        weights = {row: self.against(row) for row in range(len(self.formulas))}
        open_rows = [
            row
            for row, weight in weights.items()
            if weight is not None and row != self.picked and abs(weight) < DECIDED
        ]
        if not open_rows:
            return ""
        *first, last = sorted([*open_rows, self.picked])
        listed = f"{', '.join(map(str, first))} and {last}"
        return f"The data do not decide between rows {listed}."

    @property
    def given(self) -> str:
        """What to know of the left side of a given form; empty where it is the target alone."""
        left = self.form.partition("=")[0].strip()
        if left in ("", quote(self.target)):
            return ""
        if left == self.target:
            return f"The form could not be solved for one column, so values are those of {left}."
        return f"Errors are those of {left}, which the form has on its left."

    @property
    def kept(self) -> list[str]:
        """Which limits the formulas keep to, and how that is known: a sentence for rows alike.

        >>> from dataclasses import replace
        >>> from symseek.model import full_library
        >>> from symseek.programs import Program
        >>> library, limits = full_library(["t"]), ("t: increasing, proved",)
        >>> texts = "4.1", "3.2", "2.5*t"
        >>> rows = [Formula(Program.parse(each, library), each, 0.5, 1.0, 0.0) for each in texts]
        >>> rows = [replace(each, limits=limits) for each in rows]
        >>> Model("y", ("t",), tuple(rows), 0).kept
        ['Limits of rows 0-2: t: increasing, proved.']
        """
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, each in enumerate(self.formulas):
            if each.limits:
                rows.setdefault(each.limits, []).append(row)
        return [
            f"Limits of row{'s' * (len(alike) > 1)} {_ranges(alike)}: {'; '.join(limits)}."
            for limits, alike in rows.items()
        ]

    @property
    def reason(self) -> str:
        """Why another row than that with the shortest description is picked; empty if it is not.

        >>> from symseek.model import full_library
        >>> from symseek.programs import Program
        >>> formula = Formula(Program.parse("4.1", full_library(["t"])), "4.1", 0.5, 1.0, 0.0)
        >>> Model("y", ("t",), (formula,), 0, picked_because="it has no pole").reason
        'Row 0 is picked: it has no pole.'
        """
        return f"Row {self.picked} is picked: {self.picked_because}." * bool(self.picked_because)

    @property
    def doubt(self) -> str:
        """What to know of a picked formula that is close but not exact; empty for any other."""
        best = self.best
        if best.exact or best.nrmse > _CLOSE:
            return ""
        return (
            f"Row {self.picked} is not proven exact: it may be an approximation of the law, or the"
            " rows are too few to tell."
        )

    def _errors(self) -> list[str]:
        """The column of errors in the target's units, with its heading; empty if unknown."""
        if self.spread is None:
            return [""] * (1 + len(self.formulas))
        texts = ["RMSE", *(_in_units(each.nrmse * self.spread) for each in self.formulas)]
        wide = max(map(len, texts))
        return [f"  {text:>{wide}}" for text in texts]

    def _losses(self) -> list[str]:
        """The column of mean losses, with its heading; empty for squared errors."""
        if not self.loss:
            return [""] * (1 + len(self.formulas))
        texts = [
            self.loss,
            *(_in_units(math.nan if each.loss is None else each.loss) for each in self.formulas),
        ]
        wide = max(map(len, texts))
        return [f"  {text:>{wide}}" for text in texts]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return record_of(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Model:
        """Read what `to_dict` wrote; what is not that is refused."""
        return cls(**fields_of(record))


def _ranges(rows: Sequence[int]) -> str:
    """Numbers that rise, briefly.

    >>> _ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    ends = [row for row in rows if row + 1 not in rows]
    begins = [row for row in rows if row - 1 not in rows]
    pairs = zip(begins, ends, strict=True)
    return ", ".join(str(one) if one == other else f"{one}-{other}" for one, other in pairs)


def _in_units(value: float) -> str:
    """Four digits, and all before the point unless they are many.

    >>> _in_units(20062.7), _in_units(0.0012345), _in_units(2e9)
    ('20063', '0.001234', '2e+09')
    """
    return f"{value:.0f}" if 1e4 <= value < 1e7 else f"{value:.4g}"


def _short(value: float | None) -> str:
    """Six characters."""
    if value is None or math.isnan(value):
        return f"{'-':>6}"
    if value and (abs(value) < 1e-3 or abs(value) >= 1e3):
        return f"{value:>6.0e}"
    return f"{value + 0.0:>6.4f}"[:6]  # -0.0 is 0
