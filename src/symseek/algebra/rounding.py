"""Fitted constants as neat numbers, wherever the data do not object.

A fit says 0.4999999999 where the law says 1/2. For each constant there is a short list of neat
numbers nearby, the neatest first; one is taken when the error stays what it was. All constants are
tried together first, since the errors of fitted constants make up for one another, and then one by
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from symseek.algebra.numbers import Neat, by_chance, distance, neat_numbers
from symseek.arguments import number
from symseek.data import LARGEST, Data
from symseek.errors import InputError, shown
from symseek.notation.printing import infix
from symseek.notation.sympy_forms import to_sympy
from symseek.programs import Program
from symseek.tokens import number_name, short_number

if TYPE_CHECKING:
    from sympy import Expr

# Distances for rounding all constants together: the first that the data bear gives the neatest.
_DISTANCES = tuple(10.0**-k for k in range(3, 11))
# Significant digits of a decimal. More of them are worth trying only when the fit is so good, by so
# many times the arithmetic's own errors, that a wrong digit in the last place would show.
_DIGITS, _MANY_DIGITS, _GOOD_FIT = 6, 9, 100.0
# Float64 keeps 16 digits, of which some tens of operations lose one or two, and terms that cancel
# a few more: what is below 1e-12 of the spread of y is the arithmetic's doing, not the formula's.
# Where y is far larger than its spread, the last digits of y itself are lost too.
_NOISE, _LAST_DIGITS = 1e-12, 4 * float(np.finfo(np.float64).eps)
_LARGEST = 1e150  # its square is still a float


_Choice: TypeAlias = "list[Neat | None]"  # for each constant; None where the value stays


@dataclass(frozen=True)
class Rounding:
    """A program with neat numbers for constants; `str` writes it, with their names.

    The text is exact: it reads back as the same values, with `Program.parse` or with SymPy.
    """

    program: Program  # with the floats nearest to the neat numbers
    neat: tuple[Neat | None, ...]  # for each constant; None where the fitted value stays
    before: float  # mean squared errors
    after: float

    @property
    def complete(self) -> bool:
        """Whether no number is left in all its digits: each is neat, or a half as it was."""
        pairs = zip(self.neat, self.program.constants, strict=True)
        return all(neat is not None or (2 * value).is_integer() for neat, value in pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """What each constant is called: "1/2", "pi", or a fitted value in all its digits."""
        pairs = zip(self.neat, self.program.constants, strict=True)
        return tuple(neat.text if neat else number_name(value) for neat, value in pairs)

    def __str__(self) -> str:
        return infix(self.program, self.names)

    def shown(self, digits: int = 6) -> str:
        """The text for reading: fitted values that stay are cut to so many significant digits."""
        pairs = zip(self.neat, self.program.constants, strict=True)
        texts = [neat.text if neat else short_number(value, digits) for neat, value in pairs]
        return infix(self.program, texts)

    def sympy(self, **assumptions: bool) -> Expr:
        """The SymPy expression with exact numbers; assumptions go to its symbols.

        >>> rounded(Program.parse("x**0.5*6.283185307179586"), [[1.0]], [2*math.pi]).sympy()
        2*pi*sqrt(x)
        """
        import sympy

        from symseek.recovery.proof import exact_number

        # Built over the reals, where |e^x| is e^x, then with plain symbols if none are asked for.
        chosen = assumptions or {"real": True}
        pairs = zip(self.neat, self.program.constants, strict=True)
        numbers = [neat.sympy() if neat else sympy.Float(value) for neat, value in pairs]
        expression: Expr = to_sympy(
            self.program, lambda name: sympy.Symbol(name, **chosen), exact_number, numbers
        )
        if not assumptions:
            plain = {each: sympy.Symbol(each.name) for each in expression.free_symbols}
            expression = expression.xreplace(plain)
        return expression


def rounded(
    program: Program,
    X: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    growth: float = 0.0,
) -> Rounding:
    """Replace fitted constants by neat numbers where the error does not grow.

    The weighted mean squared error may grow by the part `growth` of itself, and not at all by
    default: then noisy data keep their fitted values. Errors that float64 arithmetic makes by
    itself, below about 1e-12 of the spread of y, count as none.

    Neat are: 0, integers and decimals of few digits, fractions with denominators up to 20, and
    small multiples and fractions of pi, its powers and roots, e, and square roots of small
    integers and, on exact data, of decimals of few digits. The shorter a number is to write, the
    neater; a fraction wins against a decimal of the same length when it has halves, thirds or
    quarters, and a power or root of pi other than pi counts as two characters longer. An odd name,
    such as 31/7 or pi**3/7, must be so near that it is no chance: there are many of them.

    Args:
        program: the formula, with its constants as fitted.
        X: the inputs [N, n].
        y: the target [N].
        weights: what each row counts [N]; all the same when None.
        growth: by which part of itself the error may grow: 0.01 for one per cent.

    >>> x = np.linspace(0.1, 2.0, 20)
    >>> program = Program.parse("0.4999999999*x + sin(3.1415926536*x) - 1.2345678901*x**2")
    >>> result = rounded(program, x[:, None], x/2 + np.sin(np.pi*x) - 1.2345678901*x**2)
    >>> print(result.names)
    ('1/2', 'pi', '1.2345678901')
    >>> print(result)
    1/2*x + sin(pi*x) - 1.2345678901*x**2
    >>> print(result.shown(digits=4))
    1/2*x + sin(pi*x) - 1.235*x**2
    """
    _check(program, growth)
    data = Data.checked(X, y, program.library.variables, weights)
    floor, before = _noise(data), _finite_error(program, data)
    limit = floor if before <= floor else before * (1.0 + growth)
    good = before <= floor * _GOOD_FIT
    digits = _MANY_DIGITS if good else _DIGITS
    choices = [
        [each for each in neat_numbers(value, digits, rare=good) if not by_chance(each, value)]
        for value in program.constants
    ]

    def bearable(neat: Sequence[Neat | None]) -> bool:
        return _error(_with(program, neat), data) <= limit

    chosen = _one_by_one(choices, _together(choices, program.constants, bearable), bearable)
    result = _with(program, chosen)
    return Rounding(result, tuple(chosen), before, _error(result, data))


def _check(program: Program, growth: float) -> None:
    if not isinstance(program, Program):
        raise InputError(
            f"{shown(program)} is not a Program; Program.parse makes one of text",
            field="program",
            value=program,
        )
    for value in program.constants:
        if not math.isfinite(value):
            raise InputError(f"the constant {value} cannot be rounded; fit the constants first")
    wanted = "0, or the part by which the error may grow"
    number("growth", growth, wanted, 0, LARGEST)


def _noise(data: Data) -> float:
    """The mean squared error below which float64 arithmetic is to blame."""
    largest = float(np.abs(data.y).max())
    if largest > _LARGEST:
        raise InputError(f"y reaches {largest:g}, too much for its squares; give y in other units")
    return max(_NOISE * data.spread, _LAST_DIGITS * largest) ** 2


def _finite_error(program: Program, data: Data) -> float:
    """The error, which must be a number for rounding to be compared with it."""
    error = _error(program, data)
    if not math.isfinite(error):
        raise InputError(
            f"{program} has no finite error on these rows, so rounding cannot be judged;"
            " leave out the rows where it is undefined"
        )
    return error


def _error(program: Program, data: Data) -> float:
    """The weighted mean squared error; rows that weigh nothing need no value."""
    counted = data.weights > 0
    with np.errstate(all="ignore"):
        errors = program.evaluate(data.X[counted]) - data.y[counted]
        return float(np.average(errors**2, weights=data.weights[counted]))


def _with(program: Program, chosen: Sequence[Neat | None]) -> Program:
    pairs = zip(chosen, program.constants, strict=True)
    return replace(program, constants=tuple(neat.value if neat else c for neat, c in pairs))


def _together(
    choices: list[list[Neat]], values: Sequence[float], bearable: Callable[[_Choice], bool]
) -> _Choice:
    """Round every constant to the neatest number within a distance, the largest that will do."""
    for most in _DISTANCES:
        chosen: _Choice = [
            next((each for each in neat if distance(each, value) <= most), None)
            for neat, value in zip(choices, values, strict=True)
        ]
        if bearable(chosen):
            return chosen
    return [None] * len(choices)


def _one_by_one(
    choices: list[list[Neat]], chosen: _Choice, bearable: Callable[[_Choice], bool]
) -> _Choice:
    """Round each constant to the neatest number that will do, where that is neater than it is."""
    for place, neat in enumerate(choices):
        for each in neat:
            present = chosen[place]
            if present is not None and present.cost <= each.cost:
                break
            trial = [*chosen[:place], each, *chosen[place + 1 :]]
            if bearable(trial):
                chosen = trial
                break
    return chosen
