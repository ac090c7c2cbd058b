"""Is the found formula the true one?

Two formulas are the same when they agree wherever both are real. First they are compared as
numbers, to many digits at random points: formulas that differ nearly always differ at the first
one, so "no" is quick and needs no algebra. What survives is put to SymPy, under a time limit, for a
proof.

Constants that were fitted are never exact. With a tolerance the question is another: are there
constants near the fitted ones with which the formulas are the same? They are sought to a hundred
digits, and the formulas compared with them, far from where they were sought.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from symseek.errors import InputError, shown, unknown_name
from symseek.notation.sympy_forms import to_sympy
from symseek.operators.record import missing_form
from symseek.programs import Program
from symseek.recovery.adjust import LEAST_SIZE, Loose, Polished, loosen, polish
from symseek.recovery.precise import ExactFormula, NotReal, Precise
from symseek.tokens import OPERATORS, Library, TokenKind, every_operator

if TYPE_CHECKING:
    from sympy import Expr

# Many points to a fair number of digits, then a few of them to so many that not even a term with a
# factor of 1e-300 escapes.
_POINTS, _DIGITS = 24, 60
_CLOSE_LOOKS, _MANY_DIGITS = 2, 700
# Digits that rounding may eat before a difference is looked into, with more digits, up to a limit.
_SPARE = 20
_MOST_DIGITS = 1000
# A point where one formula is not real tells nothing, so more are drawn, up to this many.
_DRAWS = 200
# The sizes of the coordinates: mostly near 1, now and then larger, to see what an absolute value or
# a root hides, and smaller.
_SIZES = (1, 2, 1, 5, 1, 2, 0.1, 20, 1, 2, 1, 100)

# Constants are adjusted to so many digits that a far point may cost half of them, at some points
# more than there are constants, in an ordinary range. With them the values must then agree to 40
# digits; at fewer points than this, agreement proves little.
_FINE_DIGITS, _AGREEMENT = 100, 40
_EXTRA_POINTS = 8
_ORDINARY_SIZES = (1, 2, 0.5, 1, 3)
_FAR_SIZES = (5, 20, 100)  # for formulas that are real far out only, as log(x - 10)
_LEAST_POINTS = 8

Point: TypeAlias = "dict[str, str]"  # variable -> decimal number


_Pair: TypeAlias = "tuple[ExactFormula, ExactFormula]"  # found, truth


class Recovery(NamedTuple):
    """The answer, and how it came about."""

    answer: Literal["yes", "no", "undecided"]
    reason: str


class _Domain(NamedTuple):
    """The variables, and which of them are positive."""

    names: list[str]
    positive: frozenset[str]

    def points(
        self, sizes: Sequence[float] = _SIZES, purpose: str = "comparison"
    ) -> Iterator[Point]:
        """Random points, always the same ones, as decimal text; every other one is positive."""
        draw = random.Random(f"points of {purpose}")
        for count in range(_DRAWS):
            size = sizes[count % len(sizes)]
            point = {}
            for name in self.names:
                value = size * draw.uniform(0.05, 1.0)
                negative = draw.random() < 0.7 and count % 2 == 1 and name not in self.positive
                point[name] = f"{-value if negative else value:.9g}"
            yield point


def equivalent(
    found: Program | Expr | str,
    truth: Program | Expr | str,
    variables: Sequence[str] | None = None,
    *,
    positive: bool | Collection[str] = False,
    time_limit: float = 10.0,
    tolerance: float | None = None,
) -> Recovery:
    """Say whether two formulas are the same: yes, no or undecided, and why.

    Without a tolerance "yes" means proved, and every number counts as it is written: 0.1 is a
    tenth. With one, the constants of `found` (its `const` tokens, or the floats of a SymPy
    expression) only have to be near the right values, and "yes" means strong numerical evidence
    instead of a proof: with constants within the tolerance the values agree to 40 digits, at random
    points far outside the range where those constants were determined. "no" then means that no such
    constants were found. A formula without constants is judged as if there were no tolerance.

    Args:
        found: the formula to judge; a protected operator counts as the one that it protects.
        truth: the formula it should be; its numbers are exact.
        variables: the names that may occur; any name, when None.
        positive: True, or the variables that are positive: there sqrt(x**2) is x.
        time_limit: seconds after which the answer is "undecided".
        tolerance: how far a constant c of `found` may be from the right value, in units of
            max(1, |c|); None for exact equality.

    >>> equivalent("exp(y*log(x))", "x**y").answer
    'yes'
    >>> equivalent("x + 1e-30", "x").answer
    'no'
    >>> equivalent("exp(0.5*log(x) + 0.10350709)", "sqrt(1.23*x)", tolerance=1e-4).answer
    'yes'
    >>> print(equivalent("3.3*x", "3.39*x", tolerance=1e-4).reason)
    constant 1, 3.3, would have to be 3.39, which is 0.027 away, relative, and not within 0.0001
    """
    deadline = time.monotonic() + time_limit
    given = _read(found, variables), _read(truth, variables)
    pair = _exact(given[0]), _exact(given[1])
    names = sorted(_names(pair[0]) | _names(pair[1]) | set(variables or ()))
    domain = _Domain(names, _positive_names(positive, names))
    if tolerance is not None:
        if not (tolerance > 0 and math.isfinite(tolerance)):
            raise InputError(f"the tolerance is {tolerance}; give a positive number, or None")
        loose = loosen(given[0], names)
        if loose.fitted and all(map(math.isfinite, loose.fitted.values())):
            loose = loose._replace(formula=_exact(loose.formula))
            return _adjust(loose, pair[1], domain, tolerance, deadline)
    compared, difference = _compare(pair, domain)
    if difference is not None:
        return Recovery("no", difference)
    if not compared:
        return Recovery("undecided", "no point was found where both formulas are real")
    from symseek.recovery.proof import prove_equal

    proof = prove_equal(*pair, domain.positive, deadline)
    if proof.proved:
        return Recovery("yes", proof.reason)
    agreement = f"the formulas agree to {_DIGITS - _SPARE} digits at {compared} random points"
    return Recovery("undecided", f"{proof.reason}; {agreement}")


def _read(source: Program | Expr | str, variables: Sequence[str] | None) -> ExactFormula:
    """The formula as a program or SymPy expression, over the variables allowed."""
    if isinstance(source, str):
        own = None if variables is None else every_operator(variables)
        source = Program.parse(source, own)
    formula = _unprotected(source) if isinstance(source, Program) else _checked_sympy(source)
    if variables is not None:
        for name in sorted(_names(formula) - set(variables)):
            raise unknown_name("variable", name, variables)
    return formula


def _unprotected(program: Program) -> Program:
    """The program with plain operators for protected ones: what the search that found it meant."""
    plain = [
        OPERATORS[token.protects] if token.protects is not None else token
        for token in program.library
    ]
    if all(token.protects is None for token in program.library):
        return program
    own = {token.name: token for token in plain if token.kind is not TokenKind.VARIABLE}
    library = Library(own.values(), program.library.variables)
    tokens = tuple(library.index(plain[token].name) for token in program.tokens)
    return Program(library, tokens, program.constants)


def _exact(formula: ExactFormula) -> ExactFormula:
    """The formula in a form that can be evaluated to any number of digits."""
    if isinstance(formula, Program):
        return _from_program(formula)
    import sympy

    from symseek.recovery.proof import exact_number

    floats = {each: exact_number(float(each)) for each in formula.atoms(sympy.Float)}
    exact: Expr = formula.xreplace(floats)
    return exact


def _from_program(program: Program) -> ExactFormula:
    """The program itself; an expression where SymPy has the only form of an operator."""
    used = [program.library.tokens[token] for token in program.tokens]
    own = [
        token
        for token in used
        if token.kind is TokenKind.OPERATOR and token.forms.mpmath is None and token.meaning is None
    ]
    for token in own:
        if token.sympy is None:
            raise missing_form(token, "mpmath", f"forms=Forms(mpmath={token.name!r})")
    if not own:
        return program
    from sympy import Symbol

    from symseek.recovery.proof import exact_number

    expression: Expr = to_sympy(program, Symbol, exact_number)
    return expression


def _checked_sympy(expression: Expr) -> Expr:
    import sympy

    try:
        whole = sympy.sympify(expression, strict=True)
    except (sympy.SympifyError, TypeError):
        whole = None
    if not isinstance(whole, sympy.Expr):
        raise InputError(
            f"{shown(expression)} is not a formula; give a Program, text or a SymPy expression"
        )
    return whole


def _names(formula: ExactFormula) -> frozenset[str]:
    """The variables that occur."""
    if isinstance(formula, Program):
        tokens = (formula.library.tokens[token] for token in formula.tokens)
        return frozenset(token.name for token in tokens if token.kind is TokenKind.VARIABLE)
    return frozenset(symbol.name for symbol in formula.free_symbols)


def _positive_names(positive: bool | Collection[str], names: list[str]) -> frozenset[str]:
    if isinstance(positive, bool):
        return frozenset(names if positive else ())
    if isinstance(positive, str):
        positive = [positive]
    for name in positive:
        if name not in names:
            raise unknown_name("variable", name, names)
    return frozenset(positive)


def _compare(pair: _Pair, domain: _Domain) -> tuple[int, str | None]:
    """Compare at random points: at how many both are real, and the first difference seen."""
    precise = Precise(_DIGITS)
    compared: list[Point] = []
    for point in domain.points():
        gap = _gap(pair, point, precise)
        if gap is None:
            continue
        if gap:
            return len(compared), _difference_text(gap, point)
        compared.append(point)
        if len(compared) == _POINTS or not domain.names:
            break
    precise = Precise(_MANY_DIGITS)
    for point in compared[:_CLOSE_LOOKS]:
        gap = _gap(pair, point, precise)
        if gap:
            return len(compared), _difference_text(gap, point)
    return len(compared), None


def _difference_text(gap: Any, point: Point) -> str:
    where = " at " + ", ".join(f"{name} = {value}" for name, value in point.items())
    amount = f"{float(gap):.2g}" if gap > 1e-300 else "less than 1e-300"
    return f"the values differ by {amount}{where if point else ''}"


def _gap(pair: _Pair, point: Point, precise: Precise) -> Any:
    """How far apart the formulas are: 0 within rounding, None where that cannot be said."""
    values = _values(pair, point, precise)
    if values is None:
        return None
    rounding = precise.number(f"1e{_SPARE - precise.digits}")
    gap = abs(values[0] - values[1])
    return 0 if gap <= rounding * max(map(abs, values)) else _certain_gap(pair, point, rounding)


def _certain_gap(pair: _Pair, point: Point, rounding: Any) -> Any:
    """The gap by values that rounding does not decide, as it does in the sine of a huge number.

    The digits are doubled until errors in the last of them hardly change the values.
    """
    digits = _DIGITS
    before = _values(pair, point, Precise(digits, noise=True))
    while digits <= _MOST_DIGITS:
        digits *= 2
        values = _values(pair, point, Precise(digits, noise=True))
        if values is not None:
            gap = abs(values[0] - values[1])
            if gap <= rounding * max(map(abs, values)):
                return 0
            if before is not None and _largest_change(before, values) < gap / 1000:
                return gap
        before = values
    # Both are 0 to all digits, or the rounding decides.
    return 0 if before is not None and max(map(abs, before)) < rounding else None


def _largest_change(before: list[Any], values: list[Any]) -> Any:
    return max(abs(a - b) for a, b in zip(before, values, strict=True))


def _values(pair: _Pair, point: Point, precise: Precise) -> list[Any] | None:
    at = {name: precise.number(text) for name, text in point.items()}
    try:
        return [precise.formula(each, at) for each in pair]
    except NotReal:
        return None


def _adjust(
    loose: Loose, truth: ExactFormula, domain: _Domain, tolerance: float, deadline: float
) -> Recovery:
    """Say whether the formulas are the same with constants near the fitted ones."""
    precise = Precise(_FINE_DIGITS)
    pair = loose.formula, truth
    points = _ordinary_points(pair, loose.fitted, domain, precise)
    if not points or (domain.names and len(points) <= len(loose.fitted)):
        return Recovery("undecided", f"both formulas are real at {len(points)} points only")
    polished = polish(loose, truth, points, precise, deadline)
    too_far = _move_text(loose, polished, tolerance)
    if polished.outcome != "solved":
        apart = f"the values stay {polished.apart:.2g} apart, relative"
        if polished.outcome == "stuck" or too_far:
            return Recovery("no", f"with the best constants near the fitted ones {apart}")
        return Recovery("undecided", f"the constants were not found in time; so far {apart}")
    compared, difference = _compare_adjusted(pair, polished, domain)
    if difference is not None:
        return Recovery("no", f"with the best constants {difference}")
    if too_far:
        return Recovery("no", too_far)
    if not compared or (domain.names and len(compared) < _LEAST_POINTS):
        return Recovery("undecided", f"the values can be compared at {len(compared)} points only")
    sizes = [abs(float(text)) for point in compared for text in point.values()]
    where = f" at {len(compared)} points, as far out as {max(sizes):.3g}" if sizes else ""
    agreement = f"the values agree to {_AGREEMENT} digits{where}"
    return Recovery("yes", f"the same formula with constants within {tolerance:g}: {agreement}")


def _ordinary_points(
    pair: _Pair, fitted: dict[str, float], domain: _Domain, precise: Precise
) -> list[dict[str, Any]]:
    """Points where both are real with the constants as fitted: ordinary ones, or else far ones."""
    start = {name: repr(value) for name, value in fitted.items()}
    near = domain.points(_ORDINARY_SIZES, "adjustment")
    far = domain.points(_FAR_SIZES, "adjustment far out")
    wanted = len(fitted) + _EXTRA_POINTS if domain.names else 1
    real = (
        {name: precise.number(text) for name, text in point.items()}
        for point in itertools.chain(near, far)
        if _values(pair, {**point, **start}, precise) is not None
    )
    return list(itertools.islice(real, wanted))


def _move_text(loose: Loose, polished: Polished, tolerance: float) -> str | None:
    """Name the constant that had to move furthest, if that was further than it may."""
    moves = {
        name: float(abs(polished.constants[name] - value)) / max(1.0, abs(value))
        for name, value in loose.fitted.items()
    }
    name = max(moves, key=moves.__getitem__)
    if moves[name] <= tolerance:
        return None
    return (
        f"{name}, {loose.fitted[name]:.6g}, would have to be {float(polished.constants[name]):.6g},"
        f" which is {moves[name]:.2g} away, relative, and not within {tolerance:g}"
    )


def _compare_adjusted(
    pair: _Pair, polished: Polished, domain: _Domain
) -> tuple[list[Point], str | None]:
    """Compare at random points near and far: those compared, and the first difference seen."""
    # A value that changes when it is computed roughly is decided by rounding, and tells nothing.
    fine, rough = Precise(_FINE_DIGITS), Precise(_FINE_DIGITS - _SPARE, noise=True)
    constants = {
        name: fine.context.nstr(value, _FINE_DIGITS) for name, value in polished.constants.items()
    }
    rounding = fine.number(f"1e-{_AGREEMENT}")
    compared: list[Point] = []
    further = domain.points(_FAR_SIZES, "comparison far out")
    for point in itertools.chain(domain.points(), further):
        values = _values(pair, {**point, **constants}, fine)
        if values is None:
            continue
        gap, size = abs(values[0] - values[1]), max(map(abs, values))
        if gap > rounding * size:
            again = _values(pair, {**point, **constants}, rough)
            certain = again is not None and _largest_change(again, values) < gap / 1000
            if certain and size > LEAST_SIZE:
                return compared, _difference_text(gap, point)
            if certain or size > rounding:
                continue
        compared.append(point)
        if len(compared) == _POINTS or not domain.names:
            break
    return compared, None
