"""The model: a target's formulas in the user's own columns and units, one of them picked.

This is what a fit leaves behind: an immutable table, simplest formula first, that predicts, prints
and travels as JSON. How the formulas were found is not its business.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import whole
from symseek.columns import Layout
from symseek.data import Data
from symseek.errors import InputError, Setting, printable, shown, unknown_name
from symseek.files.schema import Most, Name, Number, Text, Within, Word, read
from symseek.operators.table import ALIASES
from symseek.programs import Program
from symseek.rewards import ErrorReward, Reward
from symseek.tokens import MAX_ARITY, OPERATORS, RESERVED, Library, Token, TokenKind, every_operator

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Accuracy", "Formula", "Model", "full_library", "loss"]

_CLOSE = 1e-6  # an NRMSE that reads like no error at all
_ROUNDING = 1e-6  # of the R2 of a mean with few digits
_NEARLY_EXACT = 1e-9  # one at which numbers of nine digits may be neat
FORMAT = 1  # of the JSON; raise it when a change makes old files unreadable


@dataclass(frozen=True)
class Accuracy:
    """How well a program does on some rows; an undefined value on any is infinitely bad."""

    reward: float
    nrmse: float
    r2: float

    @classmethod
    def of(cls, program: Program, data: Data, reward: Reward) -> Accuracy:
        """The accuracy of a program."""
        return cls.of_values(program.evaluate(data.X), data, reward)

    @classmethod
    def of_values(cls, values: NDArray[np.float64], data: Data, reward: Reward) -> Accuracy:
        """The accuracy of predictions [N]."""
        if not np.isfinite(values).all():
            return cls(0.0, math.inf, -math.inf)
        with np.errstate(over="ignore"):
            errors = np.abs(values - data.y)
            mse = float(np.average(errors**2, weights=data.weights))
            mae = float(np.average(errors, weights=data.weights))
        nrmse = math.sqrt(mse) / data.spread if data.spread else math.inf
        if isinstance(reward, ErrorReward):
            graded = reward(np.array([mse]), np.array([mae]), data.spread)
        else:
            graded = reward(data, values[None])
        r2 = 1 - nrmse * nrmse
        # The mean explains nothing, but for rounding.
        constant = abs(r2) < _ROUNDING and bool((values == values[0]).all())
        return cls(float(graded[0]), nrmse, 0.0 if constant or abs(r2) < 1e-12 else r2)


class HasAccuracy(Protocol):
    """An accuracy, or a formula that has one."""

    @property
    def reward(self) -> float: ...
    @property
    def nrmse(self) -> float: ...


def loss(found: HasAccuracy, reward: Reward) -> float:
    """What is to be small: the NRMSE, or what a reward of other errors falls with."""
    if not isinstance(reward, ErrorReward):
        return math.exp(min(-found.reward, 700.0)) if math.isfinite(found.nrmse) else math.inf
    if reward.curve(1.0) is not None:
        return found.nrmse
    return 1 / found.reward - 1 if found.reward > 0 else math.inf


@dataclass(frozen=True)
class Formula:
    """One row of the table."""

    program: Program  # over `full_library`, its variables named like the columns
    text: str  # as `written` writes it; of an older model, as it was written then
    reward: float  # on the training rows, like the next two
    nrmse: float
    r2: float
    validation_r2: float | None = None  # on the validation rows, if there are any
    exact: bool = False  # it meets every digit of the target, and by no chance
    seeds: tuple[int, int] | None = None  # how many searches came to it, of how many, if several

    @classmethod
    def graded(cls, program: Program, data: Data, reward: Reward) -> Formula:
        """A program with its accuracy on some rows, without its text, which takes longer."""
        found = Accuracy.of(program, data, reward)
        return cls(program, "", found.reward, found.nrmse, found.r2)

    @property
    def complexity(self) -> int:
        """The sum of the tokens' complexities, of the shortest way to write it."""
        return self.program.complexity

    def form(self, style: str = "best") -> Program:
        """The program as it is written for people, with all digits: what is exported.

        Args:
            style: "best" as it is easiest to read, "factored" as the program has it, with the
                fewest tokens, or "expanded" with brackets multiplied out.

        >>> law = Program.parse("x*(1.5 + 0.25*y)", full_library(["x", "y"]))
        >>> print(Formula(law, "", reward=1.0, nrmse=0.0, r2=1.0).form("expanded"))
        1.5*x + 0.25*x*y
        """
        from symseek.algebra.forms import styled

        return styled(self.program, style)

    def written(self, style: str = "best") -> str:
        """The text: neat numbers by their names, six digits of others; styles as of `form`.

        >>> law = Program.parse("0.3333333333333333*x*(1.234567891 - x)", full_library(["x"]))
        >>> formula = Formula(law, "", reward=1.0, nrmse=0.0, r2=1.0)
        >>> print(formula.written("factored"), formula.written("expanded"), sep=", or ")
        1/3*x*(1.23457 - x), or 0.411523*x - 1/3*x**2
        """
        from symseek.algebra.forms import text

        return text(self.form(style), exact=self.nrmse <= _NEARLY_EXACT)


@dataclass(frozen=True)
class Model:
    """The formulas for one target.

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

    @property
    def best(self) -> Formula:
        """The picked formula."""
        return self.formulas[self.picked]

    def formula(self, row: int | None = None) -> Formula:
        """A row of the table, or the picked one."""
        if row is None:
            return self.best
        number = whole(Setting("row"), row, "a whole number, or None for the picked formula")
        if not 0 <= number < len(self.formulas):
            raise InputError(
                f"there is no row {shown(number)}; the front has rows 0 to {len(self.formulas) - 1}"
            )
        return self.formulas[number]

    def predict(self, X: ArrayLike, row: int | None = None) -> NDArray[np.float64]:
        """The values [N] on rows of X [N, n]; nan or inf where the formula is undefined."""
        return self.formula(row).program.evaluate(X)

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
            "validation_r2": [each.validation_r2 for each in self.formulas],
            **({"seeds": [self._seeds(each) for each in self.formulas]} if self._seeded else {}),
            "expression": [each.text for each in self.formulas],
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
        head = f"  row  complexity  reward   NRMSE{errors[0]}      R2"
        head += "  validation" * validated + "  seeds" * self._seeded + f"  {self.target} ="
        lines = [head]
        for row, each in enumerate(self.formulas):
            mark = ">" if row == self.picked else " "
            line = f"{mark} {row:>3}  {each.complexity:>10}  {each.reward:.4f}"
            error = f"{'exact':>6}" if each.exact else _short(each.nrmse)
            line += f"  {error}{errors[row + 1]}  {_short(each.r2)}"
            if validated:
                line += f"  {_short(each.validation_r2):>10}"
            if self._seeded:
                line += f"  {self._seeds(each):>5}"
            lines.append(f"{line}  {each.text}")
        notes = filter(None, [self.reason, self.doubt])
        return "\n".join(map(printable, [*lines, *notes]))

    @property
    def reason(self) -> str:
        """Why another row than that with the shortest description is picked; empty if it is not.

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": FORMAT,
            "target": self.target,
            "features": list(self.features),
            "operators": [_described(token) for token in _own_tokens(self.formulas)],
            "picked": self.picked,
            "rule": self.rule,
            "layout": None if self.layout is None else self.layout.to_dict(),
            "spread": self.spread,
            "picked_because": self.picked_because,
            "formulas": [
                {
                    "row": row,
                    "complexity": each.complexity,
                    "reward": each.reward,
                    "nrmse": each.nrmse,
                    "rmse": self.rmse(row),
                    "r2": each.r2,
                    "exact": each.exact,
                    **({"seeds": list(each.seeds)} if each.seeds is not None else {}),
                    # JSON has no infinity, which is the R2 of a formula undefined on some row.
                    "validation_r2": _finite_or_none(each.validation_r2),
                    "expression": each.text,
                    "program": each.program.preorder(),
                }
                for row, each in enumerate(self.formulas)
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Model:
        """Read what `to_dict` wrote; what is not that is refused."""
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            found = record.get("format") if isinstance(record, Mapping) else None
            raise InputError(
                f"this model has format {shown(found)}, and this version of symseek reads format"
                f" {FORMAT}; fit it again"
            )
        try:
            written: _StoredModel = read(dict(record), _StoredModel, "the model")
            return written.model()
        except InputError as error:
            raise InputError(f"this model is damaged ({error}); fit it again") from None


_MOST_TOKENS, _MOST_IN_ALL = 2_000, 100_000  # of a formula, of which a search has at most 1,000
_MOST_WRITTEN = 1_000_000  # tokens of a program, its operators written out by their formulas

_Count = Annotated[int, Within(0, 2**31)]


@dataclass(frozen=True)
class _StoredOperator:
    """An operator in JSON: one of the table with its complexity, or the caller's own."""

    name: Annotated[str, Most(1000)]
    complexity: Annotated[int, Within(0, 10**6)]
    arity: Annotated[int, Within(0, MAX_ARITY)] | None = None
    formula: Name | None = None

    def token(self) -> Token:
        if self.formula is not None and self.arity is not None:
            return Token(self.name, self.arity, self.complexity, formula=self.formula)
        if self.formula is not None or self.arity is not None:
            raise InputError(f"operator {shown(self.name)} has not both an arity and a formula")
        if self.name not in OPERATORS:
            raise unknown_name("operator", self.name, OPERATORS)
        return OPERATORS[self.name].with_complexity(self.complexity)


@dataclass(frozen=True)
class _StoredFormula:
    """A formula in JSON; older files lack the last fields."""

    complexity: _Count
    reward: Number
    nrmse: Number
    r2: Number
    validation_r2: Number | None
    expression: Text
    program: Annotated[str, Most(1_000_000)]
    row: _Count | None = None
    rmse: Number | None = None  # as the NRMSE and the spread have it
    exact: bool = False
    seeds: tuple[_Count, _Count] | None = None

    def formula(self, library: Library, row: int) -> Formula:
        from symseek.algebra.agreement import agree
        from symseek.algebra.forms import styled

        if self.row not in (None, row):
            raise InputError(f"row {row} says that it is row {self.row}")
        if self.program.count(" ") >= _MOST_TOKENS:
            raise InputError(f"the program of row {row} has more than {_MOST_TOKENS:,} tokens")
        program = Program.from_preorder(self.program, library)
        if not all(map(math.isfinite, program.constants)):
            raise InputError(f"the program of row {row} has constants that are not finite")
        if _written_size(program) > _MOST_WRITTEN:
            raise InputError(f"the program of row {row} is too long to be written out")
        try:
            said = Program.parse(self.expression, library)
        except InputError as error:
            raise InputError(f"the expression of row {row} cannot be read: {error}") from None
        # Models of older versions have the text of the program as it is.
        if not (agree(styled(program), said) or agree(program, said)):
            text = shown(self.expression)
            raise InputError(f"the expression of row {row}, {text}, is not its program")
        if self.seeds is not None and self.seeds[0] > self.seeds[1]:
            raise InputError("the seeds of row {} are {} of {}".format(row, *self.seeds))
        return Formula(
            program,
            self.expression,
            self.reward,
            self.nrmse,
            self.r2,
            self.validation_r2,
            self.exact,
            self.seeds,
        )


@dataclass(frozen=True)
class _StoredLayout:
    """A layout in JSON."""

    columns: tuple[_Count, ...]
    first_row: _Count


@dataclass(frozen=True)
class _StoredModel:
    """A model in JSON; older files lack the last fields."""

    format: int
    target: Name
    features: Annotated[tuple[Name, ...], Most(100_000)]
    operators: Annotated[tuple[_StoredOperator, ...], Most(1000)]
    picked: int
    rule: Word
    formulas: Annotated[tuple[_StoredFormula, ...], Most(10_000)]
    layout: _StoredLayout | None = None
    spread: Number | None = None
    picked_because: Text = ""

    def model(self) -> Model:
        library = full_library(self.features, [each.token() for each in self.operators])
        if sum(each.program.count(" ") + 1 for each in self.formulas) > _MOST_IN_ALL:
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
        about = self.picked, self.rule, layout, self.spread, self.picked_because
        return Model(self.target, library.variables, formulas, *about)


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


def full_library(features: Sequence[str], operators: Iterable[object] = ()) -> Library:
    """Every operator, those of the caller's own among `operators` too, the columns and constants.

    A column may be named like an operator that the caller does not use and the simplifier does not
    need; that operator is left out.

    >>> "gauss" in full_library(["x"]), full_library(["x", "gauss"]).variables
    (True, ('x', 'gauss'))
    """
    names = [str(name) for name in features]
    own = [each for each in operators if isinstance(each, Token)]
    used = {each.name for each in own} | {ALIASES.get(str(each), str(each)) for each in operators}
    for at, name in enumerate(names):
        if name in RESERVED or name in used & set(OPERATORS):
            raise InputError(
                f"column {name!r} is named like an operator; rename it, for instance to"
                f" {name + '_'!r}"
            )
        if name in names[:at]:
            raise InputError(f"two columns are named {name!r}; rename one")
    return Library([*every_operator(names, own), "const"], names)


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
