"""Separation: y = a(u) + b(u)*h(v), with a simple h of one column and any a and b of the others.

For a given h the functions a and b are polynomials of the other columns, by least squares. If rows
left out are predicted well, a and b are known on every row, and each is a smaller problem: fewer
columns, and no h. So a sum of two different things comes apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from symseek.arrays import Floats
from symseek.structure.features import Rates
from symseek.structure.solving import least_squares, mean
from symseek.structure.surrogate import chebyshev, left_out, products, scaled_places, terms
from symseek.structure.targets import LINKS, Link, Preorder, defined, powers, quotient

_MOST_TERMS = {1: 30, 2: 91, 3: 84}  # of each of a and b, by the columns that they depend on
_FORMS = ("s", "1/s", "sqrt(s)", "1/sqrt(s)")
_KEPT = 3  # the best
_CUTOFF = 1e-13  # a singular value, over the largest, below which terms are dependent
_NOTHING = 1e-6  # a part that contributes less, of the spread, is none


@dataclass(frozen=True)
class _Part:
    """One addend: the words of h, empty for 1, its values, and the values of its coefficient."""

    words: Preorder
    h: Floats  # [N]
    values: Floats  # [N] of a or b


@dataclass(frozen=True)
class Separation:
    """y = f(sum of the parts), by a column and the others."""

    form: Link
    column: int
    parts: tuple[_Part, ...]
    error: float  # on the rows left out, relative to the spread of f^-1(y)


def separations(
    Z: Floats,
    y: Floats,
    weights: Floats,
    names: tuple[str, ...],
    operators: set[str],
    rates: Rates,
    enough: float,
    check: Callable[[], None],
) -> list[Separation]:
    """The best ways to take a sum apart; `enough` is a relative error that is as good as none."""
    found: list[Separation] = []
    for form in LINKS:
        if form.name not in _FORMS or not set(form.operators) <= operators:
            continue
        with np.errstate(all="ignore"):
            target = form.undo(y)
        if not np.isfinite(target).all() or np.ptp(target) == 0:
            continue
        for column in range(Z.shape[1]):
            others = np.delete(Z, column, axis=1)
            for functions in _functions(Z[:, column], names[column], operators, rates, column):
                check()
                made = _taken_apart(others, target, weights, functions)
                if made is not None and made[1] < enough:
                    found.append(Separation(form, column, *made))
    # One part is simpler than two, and of equally simple ones the error decides.
    found.sort(key=lambda each: (each.error > 1e-9, len(each.parts), each.error))
    return found[:_KEPT]


def _functions(
    z: Floats, name: str, operators: set[str], rates: Rates, column: int
) -> Iterator[list[tuple[Preorder, Floats]]]:
    """Sets of h for a column: 1 and a function of it, or the function alone."""
    one: tuple[Preorder, Floats] = ([], np.ones(len(z)))
    waves = []
    for function in ("cos", "sin"):
        if function in operators:
            for rate in rates.get((column, 2), []):
                inside: Preorder = [name] if rate == 1.0 else ["mul", rate, name]
                waves.append(([function, *inside], getattr(np, function)(rate * z)))
    for wave in waves:
        yield [wave]
        yield [one, wave]
    for halves in (2, 4, -2, -4, 6, -6, 1, -1):
        if defined(z, halves, operators):
            yield [one, (quotient(*powers([name], [halves])), z ** (halves / 2))]
    for function, usable in (("exp", np.abs(z).max() < 50), ("log", (z > 0).all())):
        if function in operators and usable:
            yield [one, ([function, name], getattr(np, function)(z))]


@np.errstate(all="ignore")  # columns may be of any size
def _taken_apart(
    others: Floats, target: Floats, weights: Floats, functions: list[tuple[Preorder, Floats]]
) -> tuple[tuple[_Part, ...], float] | None:
    """The parts, and the error on the rows left out."""
    powers, ends = terms(others.shape[1], _MOST_TERMS.get(others.shape[1], 0))
    if len(ends) < 2:
        return None
    best: tuple[float, Floats, Floats] | None = None  # error, coefficients, table of terms
    out = left_out(len(target))
    scale = np.sqrt(weights)
    for logs in (False, True) if (others > 0).all() else (False,):
        places, _ = scaled_places(np.log(others) if logs else others)
        tables = [chebyshev(place, int(powers.max())) for place in places.T]
        table = products(tables, powers, len(target))
        for end in sorted({ends[len(ends) // 2], ends[-1]}):  # two degrees tell enough
            A = np.concatenate([table[:, :end] * h[:, None] for _, h in functions], axis=1)
            B = A * scale[:, None]
            numbers = least_squares(B[~out], (target * scale)[~out], _CUTOFF)
            if numbers is None:
                continue
            error = _relative(A[out] @ numbers, target[out], weights[out])
            if best is None or error < best[0]:
                best = error, numbers, table[:, :end]
    if best is None:
        return None
    error, numbers, table = best
    split = np.split(numbers, len(functions))
    spread = float(target.std())
    parts = [
        _Part(words, h, table @ own)
        for (words, h), own in zip(functions, split, strict=True)
        if float(np.std((table @ own) * h)) + abs(float(np.mean((table @ own) * h)))
        > max(_NOTHING, 3 * error) * spread
    ]
    return (tuple(parts), error) if parts else None


def _relative(values: Floats, target: Floats, weights: Floats) -> float:
    squares = np.sort(weights * (values - target) ** 2)
    kept = squares[: max(1, round(0.98 * len(squares)))]
    spread = mean((target - target.mean()) ** 2, weights)
    return math.sqrt(float(kept.mean()) / spread) if spread else math.inf
