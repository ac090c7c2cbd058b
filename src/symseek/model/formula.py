"""A formula with how well it does: one row of a model's table."""

from __future__ import annotations

from dataclasses import dataclass

from symseek.algebra import forms
from symseek.data import Data
from symseek.model.accuracy import Accuracy
from symseek.model.own_numbers import OwnNumbers
from symseek.programs import Program
from symseek.rewards import Reward
from symseek.uncertainty.evidence import Evidence
from symseek.uncertainty.record import Certainty, Constant

_NEARLY_EXACT = 1e-9  # an NRMSE at which numbers of nine digits may be neat


@dataclass(frozen=True)
class Part:
    """What was found for an unknown function, or a named number, of a given form.

    >>> from symseek.model import full_library
    >>> print(Part.of("f", ("x",), Program.parse("0.5*x", full_library(["x", "z"]))))
    f(x) = 1/2*x
    """

    name: str
    columns: tuple[str, ...]  # of the function; none of a number
    program: Program  # over `full_library`
    text: str
    unit: str = ""  # of a number, where units are known

    @classmethod
    def of(cls, name: str, columns: tuple[str, ...], program: Program, exact: bool = False) -> Part:
        """A part with its text; of a formula that is `exact`, numbers may have long names."""
        return cls(name, columns, program, forms.text(forms.styled(program, "best"), exact=exact))

    def __str__(self) -> str:
        inside = f"({', '.join(self.columns)})" if self.columns else ""
        return f"{self.name}{inside} = {self.text}" + (f" in {self.unit}" if self.unit else "")


@dataclass(frozen=True)
class Break:
    """Where a formula has a pole or no value, or blows up.

    >>> print(Break("a pole", (("x", 2.2727),), inside=True))
    a pole in the box of the rows, near x = 2.273
    """

    kind: str  # "a pole", "no value" or "a blow-up"
    at: tuple[tuple[str, float], ...]  # a place near it, by the columns that the formula names
    inside: bool  # the box that the rows span; else at most a fifth of a range beyond it

    @property
    def near(self) -> str:
        """The place in words."""
        return ", ".join(f"{name} = {value:.4g}" for name, value in self.at[:3])

    def __str__(self) -> str:
        where = "in the box of the rows" if self.inside else "beyond the rows"
        return f"{self.kind} {where}, near {self.near}"


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
    constants: tuple[Constant, ...] = ()  # the numbers of the program, in its order
    limits: tuple[str, ...] = ()  # those it keeps to, and how that is known
    style: str = "best"  # "factored" where the easiest way to read it would break a limit
    filled: tuple[Part, ...] = ()  # what was found for the unknowns of a given form
    with_units: tuple[tuple[str, str], ...] = ()  # numbers of the text that have units, and those
    numbers: tuple[Constant, ...] = ()  # as it is written, in their order; empty if not known
    certainty: Certainty | None = None  # of the constants together, where it is known
    breaks: tuple[Break, ...] = ()  # where it has a pole or no value, in the box or near it
    description: float | None = None  # the length of its description of the rows, in nats
    loss: float | None = None  # the mean of the loss that was asked for, on the training rows

    def __post_init__(self) -> None:
        if tuple(each.value for each in self.constants) != self.program.constants:
            object.__setattr__(self, "constants", tuple(map(Constant, self.program.constants)))
            object.__setattr__(self, "numbers", ())
            object.__setattr__(self, "certainty", None)

    @classmethod
    def graded(cls, program: Program, data: Data, reward: Reward) -> Formula:
        """A program with its accuracy on some rows, without its text, which takes longer."""
        found = Accuracy.of(program, data, reward)
        return cls(program, "", found.reward, found.nrmse, found.r2, loss=found.loss)

    @property
    def complexity(self) -> int:
        """The sum of the tokens' complexities, of the shortest way to write it."""
        return self.program.complexity

    @property
    def parts(self) -> dict[str, Part]:
        """What was found for the unknowns of a given form, by name."""
        return {each.name: each for each in self.filled}

    @property
    def own(self) -> OwnNumbers | None:
        """The numbers that each group has of its own, if there are any."""
        return OwnNumbers.of(self.program)

    @property
    def where(self) -> str:
        """What the parts of a given form are, and the units of the numbers, in words.

        >>> from symseek.model import full_library
        >>> law = Program.parse("2.5*T", full_library(["T"]))
        >>> Formula(law, "2.5*T", 1.0, 0.0, 1.0, with_units=(("2.5", "kPa/K"),)).where
        '2.5 is in kPa/K'
        """
        said = list(map(str, self.filled))
        for at, (number, unit) in enumerate(self.with_units):
            said.append(f"{number} {'in' if at else 'is in'} {unit}")
        return ", ".join(said)

    @property
    def is_close(self) -> bool:
        """Whether it meets its rows so nearly that numbers of nine digits may be neat."""
        return self.nrmse <= _NEARLY_EXACT

    def form(self, style: str | None = None) -> Program:
        """The program as it is written for people, with all digits: what is exported.

        Args:
            style: "best" as it is easiest to read, "factored" as the program has it, with the
                fewest tokens, "expanded" with brackets multiplied out, or None for the usual one,
                which is the best that keeps to all limits.

        >>> from symseek.model import full_library
        >>> law = Program.parse("x*(1.5 + 0.25*y)", full_library(["x", "y"]))
        >>> print(Formula(law, "", reward=1.0, nrmse=0.0, r2=1.0).form("expanded"))
        1.5*x + 0.25*x*y
        """
        styled = forms.styled(self.program, self.style if style is None else style)
        return styled.owning(self.program)

    def written(self, style: str | None = None) -> str:
        """The text: neat numbers by their names, six digits of others; styles as of `form`.

        >>> from symseek.model import full_library
        >>> law = Program.parse("0.3333333333333333*x*(1.234567891 - x)", full_library(["x"]))
        >>> formula = Formula(law, "", reward=1.0, nrmse=0.0, r2=1.0)
        >>> print(formula.written("factored"), formula.written("expanded"), sep=", or ")
        1/3*x*(1.23457 - x), or 0.411523*x - 1/3*x**2
        """
        return forms.text(self.form(style), exact=self.is_close)

    @property
    def broken(self) -> bool:
        """Whether it has a pole or no value, or blows up, in the box of the rows."""
        return any(each.inside for each in self.breaks)

    @property
    def evidence(self) -> Evidence | None:
        """How it compares with other formulas of the same rows; None where that is not known."""
        return None if self.certainty is None else Evidence.of(self.certainty)

    @property
    def with_errors(self) -> str:
        """The text, each fitted number with its standard error; empty if none is known.

        >>> from symseek.model import full_library
        >>> law = Program.parse("0.19764*x", full_library(["x"]))
        >>> number = Constant(0.19764, standard_error=0.0002)
        >>> Formula(law, "", 0.9, 0.1, 0.9, constants=(number,), numbers=(number,)).with_errors
        '0.1976(2)*x'
        """
        texts = [
            each.shown if each.standard_error or not each.determined else None
            for each in self.numbers
        ]
        if not any(texts):
            return ""
        return forms.text(self.form(), exact=self.is_close, numbers=texts)
