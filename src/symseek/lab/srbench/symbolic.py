"""SRBench's rule: is a formula, as it is printed, the law up to an added constant or a factor?

Numbers printed as decimals count to three places, and as 0 below 1e-4. Then the difference to the
law, or the ratio, must be constant to SymPy. The formula and the law are read in two ways, either
of which will do: with pi as a decimal, so that 0.159 is 1/(2*pi), as SRBench reads both; and with
pi, fractions and roots as the exact numbers that they are. SRBench rounds the difference as well,
so a term of it with a factor that rounds to 0 does not count: 3.333*x is 10*x/3.

Values to many digits come first. Where neither the difference nor the ratio is constant at a few
points, nor the difference as small as rounding makes it, the answer is no, without any algebra.
What is left goes to `sympy.simplify`, in a process that is killed when its time is up; then the
values decide. Text is read by the package's own parser: nothing of it is run.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError
from symseek.programs import Program
from symseek.recovery.child import NoAnswer, ask

if TYPE_CHECKING:
    from sympy import Expr

Comparison: TypeAlias = Literal["difference", "ratio"]
Point: TypeAlias = "dict[str, str]"  # variable -> decimal number

PLACES = 3  # of a decimal
LEAST = 1e-4  # a smaller number is 0
_DIGITS, _SAME = 60, 1e-30
_POINTS, _FEWEST = 12, 6  # where the formulas are compared, and where both must be real
_SIGNED = 40  # further points, with signs of all sorts
_NEAR = 0.02  # of the law's spread: more than rounding the numbers of a formula changes it
_SECONDS = 10.0  # for SymPy
_DIFFERENT = "neither the difference to the law nor the ratio is constant"


class Verdict(NamedTuple):
    """Whether a printed formula is the law."""

    solved: bool  # by SRBench's rule
    positive: bool  # the same if the columns are taken to be as they are, such as positive
    reason: str


def verdict_of(text: str, law: str, variables: Sequence[str], X: Floats) -> Verdict:
    """Whether a printed formula is the law, up to an added constant or a factor.

    Args:
        text: the formula.
        law: what it should be.
        variables: the columns of X.
        X: rows [N, n] of which some are looked at; the law must be real there.

    >>> X = np.random.RandomState(0).uniform(1, 3, (20, 2))
    >>> verdict_of("0.49996*x*y + 2.1", "x*y/2", ["x", "y"], X).solved
    True
    >>> print(verdict_of("x*(y + 0.02)", "x*y", ["x", "y"], X).reason)
    neither the difference to the law nor the ratio is constant
    """
    from symseek.model import full_library

    library = full_library(variables)
    try:
        found, truth = Program.parse(text, library), Program.parse(law, library)
    except InputError as error:
        return Verdict(False, False, f"the formula cannot be read: {error}")
    points = [
        {name: f"{value:.9g}" for name, value in zip(variables, row, strict=True)}
        for row in X[: 4 * _POINTS].tolist()
    ]
    answers: list[Verdict] = []
    for read in (_with_decimals, _with_names):
        answers.append(_compared(read, found, truth, points))
        if answers[-1].solved:
            return answers[-1]
    if not any(each.positive for each in answers):
        answers.append(_nearly(found, truth, points))
    return max(answers, key=lambda each: (each.solved, each.positive, each.reason != _DIFFERENT))


def _compared(
    read: Callable[[Program, bool], Expr], found: Program, truth: Program, points: Sequence[Point]
) -> Verdict:
    """The answer by one way of reading."""
    try:
        model, law = read(found, True), read(truth, False)
        if not model.free_symbols:
            return Verdict(False, False, "the formula is a number")
        kind = _constant(model, law, points, _POINTS, _FEWEST)
        if kind is None:
            return Verdict(False, False, _DIFFERENT)
        if _constant(model, law, [*points[:1], *_signed(points)], _SIGNED, 1) is None:
            return Verdict(False, True, "it is the law where the columns have these signs only")
    except (ArithmeticError, InputError, RecursionError, TypeError, ValueError) as error:
        return Verdict(False, False, f"its rounded numbers make no formula: {error}")
    return _by_sympy(model, law, kind)


def _nearly(found: Program, truth: Program, points: Sequence[Point]) -> Verdict:
    """The answer where the difference has terms with factors that round to 0."""
    import sympy

    try:
        model = _with_decimals(found, True)
        law = _with_names(truth, False).subs(sympy.pi, sympy.Rational(repr(math.pi)))
        values = np.array(_values(model, law, points, _POINTS), dtype=float)  # [points, 2]
    except (ArithmeticError, InputError, RecursionError, TypeError, ValueError):
        return Verdict(False, False, _DIFFERENT)
    if len(values) < _FEWEST or not model.free_symbols:
        return Verdict(False, False, _DIFFERENT)
    if np.std(values[:, 0] - values[:, 1]) > _NEAR * np.std(values[:, 1]):
        return Verdict(False, False, _DIFFERENT)
    if _asked_in_child(model - law, small=True):
        return Verdict(True, True, "the difference is constant but for factors that round to 0")
    return Verdict(False, False, _DIFFERENT)


# --- two ways of reading


def _with_decimals(program: Program, rounding: bool) -> Expr:
    """With pi as a decimal: SymPy works the decimals out, and then they are rounded."""
    import sympy

    from symseek.notation.sympy_forms import to_sympy

    whole = to_sympy(program, sympy.Symbol)
    floats = {each: _rounded(float(each)) for each in whole.atoms(sympy.Float)}
    expression: Expr = whole.xreplace(floats)
    return expression


def _with_names(program: Program, rounding: bool) -> Expr:
    """With exact numbers; decimals are rounded in a formula, and exact in a law."""
    import sympy

    from symseek.notation.sympy_forms import to_sympy
    from symseek.recovery.proof import exact_number

    def number(value: float) -> Any:
        if abs(value) == math.pi:
            return sympy.pi if value > 0 else -sympy.pi
        if value.is_integer() or not rounding:
            return exact_number(value)
        return _rounded(value)

    expression: Expr = to_sympy(program, sympy.Symbol, number)
    return expression


def _rounded(value: float) -> Any:
    import sympy

    return sympy.Rational(0 if abs(value) < LEAST else repr(round(value, PLACES)))


# --- values


def _constant(
    model: Expr, law: Expr, points: Iterable[Point], most: int, fewest: int
) -> Comparison | None:
    """What is constant at the points where both are real: the difference, the ratio or neither."""
    values = _values(model, law, points, most)
    if len(values) < fewest:
        return None
    sizes = [max(abs(one), abs(other)) for one, other in values]
    gaps = [one - other for one, other in values]
    if all(abs(gap - gaps[0]) <= _SAME * size for gap, size in zip(gaps, sizes, strict=True)):
        return "difference"
    # one/other is the same at all points if one * first_other is other * first_one.
    first, first_law = values[0]
    if first and all(
        abs(one * first_law - other * first) <= _SAME * abs(one * first_law)
        for one, other in values
    ):
        return "ratio"
    return None


def _values(model: Expr, law: Expr, points: Iterable[Point], most: int) -> list[tuple[Any, Any]]:
    """The values to many digits, at the points where both are real."""
    from symseek.recovery.precise import NotReal, Precise

    precise = Precise(_DIGITS)
    values: list[tuple[Any, Any]] = []
    for point in points:
        at = {name: precise.number(text) for name, text in point.items()}
        try:
            values.append((precise.expression(model, at), precise.expression(law, at)))
        except NotReal:
            continue
        if len(values) == most:
            break
    return values


def _signed(points: Sequence[Point]) -> list[Point]:
    """Points of the same sizes with other signs, always the same ones."""
    draw = random.Random("signs")
    return [
        {name: text if draw.random() < 0.5 else f"-{text.lstrip('-')}" for name, text in p.items()}
        for p in points
        for _ in range(2)
    ]


# --- SymPy


def _by_sympy(model: Expr, law: Expr, kind: Comparison) -> Verdict:
    """SymPy's word on what the values say."""
    gap = model - law if kind == "difference" else model / law
    if not gap.free_symbols:
        return Verdict(True, True, f"the {kind} is constant as it stands")
    answer = _asked_in_child(gap, small=False)
    if answer is None:
        return Verdict(True, True, f"the {kind} is constant by its values; SymPy did not finish")
    if answer:
        return Verdict(True, True, f"the {kind} is constant when simplified")
    return Verdict(False, True, f"SymPy does not simplify the {kind} to a constant")


def _asked_in_child(gap: Expr, small: bool) -> bool | None:
    """Whether SymPy simplifies it to a constant, or nearly; None if it fails or takes too long."""
    try:
        return ask(_answer, gap, small, seconds=_SECONDS) == "constant"
    except NoAnswer:
        return None


def _answer(gap: Expr, small: bool) -> str:
    return "constant" if _is_constant(gap, small) else ""


def _is_constant(gap: Expr, small: bool) -> bool:
    """Whether SymPy simplifies it to a constant.

    If `small`, whether it is one once terms with factors that round to 0 are left out. It is only
    expanded then: simplified, 0.3*x + 0.0001 would be (3000*x + 1)/10000, with a small factor.
    """
    import sympy

    if small:
        return all(map(_vanishes, sympy.Add.make_args(sympy.expand(gap))))
    simple = sympy.simplify(gap, ratio=1)
    return not simple.free_symbols or simple.is_constant() is True


def _vanishes(term: Any) -> bool:
    """Whether a term is a constant, or has a factor that rounds to 0."""
    return not term.free_symbols or abs(float(term.as_coeff_Mul()[0])) < 0.5 * 10**-PLACES
