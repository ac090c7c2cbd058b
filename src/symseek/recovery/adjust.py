"""Fitted constants to many digits: values near them with which one formula equals another.

A constant fitted in float64 is right to some ten digits, which shows nothing about equality. So the
constants become unknowns of the equations found = truth, one for each point, and are solved for by
the Levenberg-Marquardt method in many digits. Constants may be redundant, as in c1*c2*x: a trace of
damping then chooses the smallest change. Where a solution is near, the digits that are right double
with every step; where none is, the steps soon stop helping.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from symseek.programs import Program
from symseek.recovery.precise import ExactFormula, NotReal, Precise
from symseek.tokens import Library, TokenKind

LEAST_SIZE = 1e-80
"""Smaller values may be 0 but for rounding, so errors are not measured by them."""

_STEPS = 25
# The first damping keeps redundant constants where they are and hardly touches the others: it is
# far above the square of the slopes' own errors, and far below that of any slope that counts. The
# others are for steps that lead too far; one that does not help even with the last never will.
_DAMPINGS = (1e-40, 1e-8, 1e-4, 1e-1, 1e2)
# A step is poor when it leaves more than this part of the errors; so many in a row are the end.
_POOR = 0.5
_POOR_STEPS = 3
# A step that leaves more than this is not a Newton step near a simple root.
_SLOW = 0.1
# Differences left, relative to the values, that count as none: what follows decides by 40 digits.
_SOLVED = 1e-45
# Digits lost to ordinary rounding: below this there is nothing to gain.
_ROUNDING_DIGITS = 15
# A decimal of so many places is taken for the number meant when the solution is this close: by
# chance that happens to one in 1e15.
_PLACES, _CLOSE = 25, 1e-40


class Loose(NamedTuple):
    """A formula whose constants have become variables."""

    formula: ExactFormula
    fitted: dict[str, float]  # constant's name -> its value, in the order of the formula


class Polished(NamedTuple):
    """Constants after polishing, and whether the formulas then agree at the points."""

    constants: dict[str, Any]
    apart: float  # the largest difference left, relative to the values
    outcome: Literal["solved", "stuck", "unfinished"]


def loosen(found: ExactFormula, taken: Collection[str]) -> Loose:
    """Turn the constants of a formula into variables with names that are not taken.

    In a program these are its `const` tokens, in a SymPy expression its floats.

    >>> library = Library(["add", "mul", 1, "const"], variables=["x"])
    >>> loose = loosen(Program.parse("2.5*x + 1", library), taken=["x"])
    >>> print(loose.formula, loose.fitted)
    `constant 1`*x + 1 {'constant 1': 2.5}
    """
    stem = "constant"
    while any(name.startswith(stem) for name in taken):
        stem += "'"
    if isinstance(found, Program):
        return _loosen_program(found, stem)
    import sympy

    floats = sorted(found.atoms(sympy.Float))
    names = [f"{stem} {count}" for count in range(1, len(floats) + 1)]
    symbols = dict(zip(floats, map(sympy.Symbol, names), strict=True))
    return Loose(found.xreplace(symbols), dict(zip(names, map(float, floats), strict=True)))


def _loosen_program(found: Program, stem: str) -> Loose:
    library = found.library
    names = [f"{stem} {count}" for count in range(1, len(found.constants) + 1)]
    kept = [t for t in library.tokens if t.kind in (TokenKind.OPERATOR, TokenKind.NUMBER)]
    wider = Library(kept, [*library.variables, *names])
    unknowns = iter(names)
    tokens = tuple(
        wider.index(next(unknowns) if token == library.constant_id else library.names[token])
        for token in found.tokens
    )
    return Loose(Program(wider, tokens), dict(zip(names, found.constants, strict=True)))


def polish(
    loose: Loose,
    truth: ExactFormula,
    points: Sequence[Mapping[str, Any]],
    precise: Precise,
    deadline: float,
) -> Polished:
    """Change the constants as little as it takes to make the formulas agree at the points.

    Both must be real at every point with the constants as fitted. Work stops when
    `time.monotonic()` reaches the deadline.

    >>> import math
    >>> precise = Precise(100)
    >>> loose = loosen(Program.parse("exp(0.1035*x)"), taken=["x"])
    >>> points = [{"x": precise.number(text)} for text in ("0.4", "1.1", "-0.8")]
    >>> done = polish(loose, Program.parse("1.23**(x/2)"), points, precise, math.inf)
    >>> print(done.outcome, precise.context.nstr(done.constants["constant 1"], 30))
    solved 0.103507084692163063613012850296
    """
    equations = _Equations(loose, truth, points, precise)
    constants, outcome = _solve(equations, deadline)
    if outcome == "solved":
        constants = _as_decimals(equations, constants)
    named = dict(zip(loose.fitted, constants, strict=True))
    return Polished(named, equations.apart(constants), outcome)


class _Equations:
    """found - truth = 0, one equation a point, each relative to the size of the values there."""

    def __init__(
        self,
        loose: Loose,
        truth: ExactFormula,
        points: Sequence[Mapping[str, Any]],
        precise: Precise,
    ) -> None:
        self.loose = loose
        self.points = points
        self.precise = precise
        self.context = precise.context
        self.fitted = [precise.number(repr(value)) for value in loose.fitted.values()]
        # Constants are measured by their size, so that a small change is small for each.
        self.scales = [max(self.context.one, abs(value)) for value in self.fitted]
        self.targets = [precise.formula(truth, point) for point in points]
        pairs = zip(self.targets, self.values(self.fitted), strict=True)
        self.sizes = [max(abs(target), abs(value), LEAST_SIZE) for target, value in pairs]
        self.weights = self._weights()
        steeper = zip(self.sizes, self.weights, strict=True)
        self.sizes = [size / weight for size, weight in steeper]

    def _weights(self) -> list[Any]:
        """What each point counts: little where the formula all but jumps as the constants change.

        There only constants right to many digits can make the values agree, and a step leads
        nowhere near. So the error is measured by the change of the constants that it stands for,
        and besides counts the less the steeper the formula is. The solution is the same.
        """
        slopes = self.slopes(self.fitted, self.errors(self.fitted))
        steepness = (self.context.norm(slopes[row, :]) for row in range(slopes.rows))
        return [1 / max(each, self.context.one) for each in steepness]

    def values(self, constants: Sequence[Any]) -> list[Any]:
        """The formula at every point."""
        named = dict(zip(self.loose.fitted, constants, strict=True))
        formula = self.loose.formula
        return [self.precise.formula(formula, {**point, **named}) for point in self.points]

    def errors(self, constants: Sequence[Any]) -> Any:
        """The differences as a column; None where the formula is not real at every point."""
        try:
            values = self.values(constants)
        except NotReal:
            return None
        rows = zip(values, self.targets, self.sizes, strict=True)
        return self.context.matrix([(value - target) / size for value, target, size in rows])

    def apart(self, constants: Sequence[Any]) -> float:
        """The largest difference, relative to the values."""
        pairs = zip(self.errors(constants), self.weights, strict=True)
        return float(max(abs(error) / weight for error, weight in pairs))

    def slopes(self, constants: Sequence[Any], errors: Any) -> Any:
        """The derivatives of the errors [points, constants].

        They are 0 for a constant that cannot move, as the exponent of a negative number cannot.
        """
        small = self.context.mpf(10) ** (-self.precise.digits // 2)
        slopes = self.context.matrix(len(self.points), len(constants))
        for column, scale in enumerate(self.scales):
            moved = list(constants)
            moved[column] += small * scale
            there = self.errors(moved)
            if there is not None:
                slopes[:, column] = (there - errors) / small
        return slopes

    def moved(self, constants: Sequence[Any], step: Any) -> list[Any]:
        """The constants less a step, which is in units of their scales."""
        triples = zip(constants, step, self.scales, strict=True)
        return [constant - change * scale for constant, change, scale in triples]


def _solve(
    equations: _Equations, deadline: float
) -> tuple[list[Any], Literal["solved", "stuck", "unfinished"]]:
    """Take steps until the errors vanish, nothing helps any more, or time is up."""
    constants = equations.fitted
    errors = equations.errors(constants)
    target = equations.context.mpf(10) ** (_ROUNDING_DIGITS - equations.precise.digits)
    poor = 0
    for _ in range(_STEPS):
        if _largest(errors) <= target:
            break
        if time.monotonic() > deadline:
            return constants, "unfinished"
        better = _better(equations, constants, errors)
        if better is None:
            return constants, "solved" if _largest(errors) <= _SOLVED else "stuck"
        constants, errors, part = better
        poor = poor + 1 if part > _POOR else 0
        if poor == _POOR_STEPS:
            return constants, "solved" if _largest(errors) <= _SOLVED else "stuck"
    return constants, "solved" if _largest(errors) <= _SOLVED else "unfinished"


class _Attempt(NamedTuple):
    constants: list[Any]
    errors: Any
    part: float  # of the errors before


def _better(equations: _Equations, constants: Sequence[Any], errors: Any) -> _Attempt | None:
    """Where the least damped step leads that makes the errors smaller, if one does."""
    context = equations.context
    slopes = equations.slopes(constants, errors)
    weights = equations.weights
    weighted_slopes, weighted_errors = _scaled(slopes, weights), _scaled(errors, weights)
    size = context.norm(weighted_errors)
    square = weighted_slopes.T * weighted_slopes
    gradient = weighted_slopes.T * weighted_errors

    def attempt(start: Sequence[Any], step: Any) -> _Attempt:
        there = equations.moved(start, step)
        left = equations.errors(there)
        part = math.inf if left is None else float(context.norm(_scaled(left, weights)) / size)
        return _Attempt(there, left, part)

    for damping in _DAMPINGS if _largest(errors) > _SOLVED else _DAMPINGS[:1]:
        step = _damped_step(context, square, gradient, damping)
        if step is None:
            continue
        once = attempt(constants, step)
        if once.part < 1:
            # A double root, as of cos(c*x) = 1, is approached by halves; twice the step meets it.
            twice = attempt(once.constants, step) if once.part > _SLOW else once
            return min(once, twice, key=lambda each: each.part)
    return None


def _scaled(matrix: Any, weights: list[Any]) -> Any:
    """Each row times its weight."""
    scaled = matrix.copy()
    for row, weight in enumerate(weights):
        scaled[row, :] = matrix[row, :] * weight
    return scaled


def _largest(errors: Any) -> Any:
    return max(map(abs, errors))


def _damped_step(context: Any, square: Any, gradient: Any, damping: float) -> Any:
    """Solve (J^T J + d I) step = J^T errors, with d relative to the largest slope."""
    count = square.rows
    largest = max(square[k, k] for k in range(count))
    if not largest:
        return None  # no constant matters
    damped = square + damping * largest * context.eye(count)
    try:
        return context.lu_solve(damped, gradient)
    except ZeroDivisionError:
        return None


def _as_decimals(equations: _Equations, constants: list[Any]) -> list[Any]:
    """Replace what is all but a decimal by that decimal, if the equations allow it.

    Then x**c is real for a negative x too, where c is 2.
    """
    context = equations.context
    unit = context.mpf(10) ** _PLACES
    rounded = [context.nint(value * unit) / unit for value in constants]
    pairs = zip(constants, rounded, strict=True)
    neat = [near if abs(near - value) <= _CLOSE else value for value, near in pairs]
    errors = equations.errors(neat)
    return neat if errors is not None and _largest(errors) <= _SOLVED else constants
