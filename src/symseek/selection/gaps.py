"""Poles and undefined gaps of a formula between the rows of a table.

A formula may be finite on every row and infinite between two of them: 4.5/(x - 2.27) is, where x is
2 in one row and 3 in the next. It is looked for on the straight lines between rows that are
neighbours along a column, where the rows say what the formula should be. A denominator that changes
its sign on such a line is zero somewhere on it; where a formula is undefined, its value says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.programs import Program
from symseek.tokens import Token

_MOST = 2_000  # lines between rows that are looked at
_STEPS = 16  # parts of a line
_OFFSET = 0.381966
_HALVINGS = 40  # of the part where a denominator changes its sign
_PRODUCTS = ("mul", "div", "neg", "square", "cube", "fourth", "sqrt", "pow")
_SIDE = 3  # rows at least, on either side of a pole that shows in them
_MOST_OF = 0.75  # of the rows on a side are less far from the median than the one next to the pole
_HUGE = 100.0  # times the largest value on the rows: what a pole reaches
_GROWS = 0.01  # the same, for what a value grows by as a pole comes a million times nearer
_LARGEST = 1e300  # a size that is no overflow, however it is rounded


def _finite(bound: float) -> Callable[[float], float]:
    return lambda a: bound if a < math.inf else math.inf


# How large a value is at most, where its arguments are at most so large; no others have a bound.
_BOUNDS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: a,
    "abs": lambda a: a,
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "fourth": lambda a: (a * a) * (a * a),
    "exp": lambda a: math.exp(a) if a < math.log(_LARGEST) else math.inf,
    "neg_exp": lambda a: math.exp(a) if a < math.log(_LARGEST) else math.inf,
    "sin": _finite(1.0),
    "cos": _finite(1.0),
    "tanh": _finite(1.0),
}


@dataclass(frozen=True)
class Gap:
    """Where a formula is infinite or undefined, and how far from it each row is."""

    at: Floats  # [n]
    away: Floats | None  # [N], the denominator, with its sign; None where a value is undefined

    def shows_in(self, y: Floats) -> bool:
        """Whether rows y [N] near a pole are far from the others, on either side of it.

        >>> pole = Gap(np.zeros(1), np.array([-3, -2, -1, 1, 2, 3.0]))
        >>> pole.shows_in(np.array([-0.3, -0.5, -1, 1, 0.5, 0.3]))
        True
        >>> pole.shows_in(np.array([1, 2, 3, 4, 5, 6.0]))
        False
        """
        if self.away is None:
            return False
        far = np.abs(y - np.median(y))
        for side in (self.away < 0, self.away > 0):
            if side.sum() < _SIDE:
                return False
            nearest = far[side][np.argmin(np.abs(self.away[side]))]
            if nearest < np.quantile(far[side], _MOST_OF):
                return False
        return True


def parts(program: Program, names: tuple[str, ...]) -> list[Program]:
    """The last arguments of all operators with one of these names, but for mere numbers.

    >>> from symseek.model import full_library
    >>> program = Program.parse("1.0/(x - 2.0) + sin(3.0*x)", full_library(["x"]))
    >>> [[str(each) for each in parts(program, names)] for names in (("sin",), ("reciprocal",))]
    [['3.0*x'], ['x - 2.0']]
    """
    last = [arguments[-1] for name, arguments in _nodes(program) if name in names]
    return [each for each in last if _varies(each)]


def _nodes(program: Program) -> list[tuple[str, list[Program]]]:
    """The operators of a formula that have variables below them, the outermost last."""
    subtrees = (program.subtree(at) for at in reversed(range(len(program))))
    pairs = [(each.names[0], each.arguments) for each in subtrees if len(each) > 1]
    return [(name, arguments) for name, arguments in pairs if any(map(_varies, arguments))]


def _varies(program: Program) -> bool:
    """Whether there is a variable in it."""
    return bool(np.isin(program.tokens, program.library.variable_ids).any())


class Lines:
    """Rows X [N, n], and the lines between those that are neighbours along a column.

    With `groups` [N], only rows of one group are neighbours.
    """

    def __init__(self, X: Floats, groups: Floats | None = None) -> None:
        self.X, self.groups = X, groups
        self._known: dict[tuple[int, ...], tuple[Floats, NDArray[np.intp]]] = {}

    def along(self, columns: tuple[int, ...]) -> tuple[Floats, NDArray[np.intp]]:
        """Some columns of the rows [N, k], and the two rows that each line is between [lines, 2].

        There are no others as far as these columns go.
        """
        if columns not in self._known:
            X = self.X[:, columns]
            self._known[columns] = X, _neighbours(X, self.groups)
        return self._known[columns]


def _neighbours(X: Floats, groups: Floats | None = None) -> NDArray[np.intp]:
    """Rows of X [N, k], of one group, that are neighbours along a column and differ [lines, 2]."""
    # Among equal values, those with other columns alike come first.
    rows = np.lexsort(X.T)
    pairs = []
    for column in X.T:
        order = rows[np.argsort(column[rows], kind="stable")]
        if groups is not None:
            order = order[np.argsort(groups[order], kind="stable")]
        pairs.append(np.column_stack([order[:-1], order[1:]]))
    if groups is not None:
        pairs = [each[groups[each[:, 0]] == groups[each[:, 1]]] for each in pairs]
    every = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    every = every[(X[every[:, 0]] != X[every[:, 1]]).any(axis=1)]
    return np.asarray(every[:: max(1, -(-len(every) // _MOST))])


def find_gap(program: Program, X: Floats | Lines) -> Gap | None:
    """A pole or an undefined place between rows X [N, n]; None if there is none.

    To ask about many formulas on the same rows, make their `Lines` once and give those.

    >>> from symseek.model import full_library
    >>> program = Program.parse("4.5/(x - 2.27) + x", full_library(["x"]))
    >>> find_gap(program, np.array([[1.0], [2.0], [3.0]])).at.round(6).tolist()
    [2.27]
    >>> find_gap(program, np.array([[3.0], [4.0]])) is None
    True
    """
    between = X if isinstance(X, Lines) else Lines(X)
    named = named_columns(program)
    if not named or size_of(program, between.X) < _LARGEST:
        return None
    rows, lines = between.along(named)
    if not len(lines):
        return None

    found = gap_on(program, named, rows[lines[:, 0]], rows[lines[:, 1]], rows)
    if found is None:
        return None
    at = between.X[lines[found.line, 0]].copy()
    at[list(named)] = found.place
    below = found.denominator
    return Gap(at, None if below is None else values_on(below, named, rows))


@dataclass(frozen=True)
class Found:
    """A gap on a line."""

    line: int
    place: Floats  # [k] of the columns that the formula names
    denominator: Program | None  # that is zero there; None where a value is undefined


def gap_on(
    program: Program, named: tuple[int, ...], start: Floats, end: Floats, rows: Floats
) -> Found | None:
    """A gap of a formula on lines from some points to others [lines, k].

    Points have the columns that are `named`, and so do the rows [N, k], which say what is large.
    """
    # At no simple fraction, where sin(x)/x may be asked for its value at 0.
    places = np.array([0.0, *((np.arange(_STEPS) + _OFFSET) / _STEPS), 1.0])
    points = start[None] + places[:, None, None] * (end - start)[None]  # [steps, lines, k]
    flat = points.reshape(-1, len(named))
    with np.errstate(all="ignore"):
        on_rows = float(np.abs(values_on(program, named, rows)).max())
        for denominator in [*_factors(_denominators(program)), *_factors(parts(program, ("log",)))]:
            found = _pole(program, denominator, named, points, on_rows)
            if found is not None:
                return Found(*found, denominator)
        undefined = np.flatnonzero(~np.isfinite(values_on(program, named, flat)))
    if not len(undefined):
        return None
    return Found(int(undefined[0] % len(start)), flat[undefined[0]], None)


def named_columns(program: Program) -> tuple[int, ...]:
    """The columns that a formula names."""
    tokens = program.library.tokens
    indices = {tokens[each].index for each in program.tokens}
    return tuple(sorted(each for each in indices if each is not None))


def size_of(program: Program, X: Floats) -> float:
    """How large a formula and all in it may be between rows; infinite where that cannot be said.

    >>> from symseek.model import full_library
    >>> texts, X = ("2.0*x - sin(x)", "x + 1.0/x"), np.array([[-1.0], [3.0]])
    >>> [size_of(Program.parse(each, full_library(["x"])), X) for each in texts]
    [7.0, inf]
    """

    def operator(token: Token, sizes: list[float]) -> float:
        bound = _BOUNDS.get(token.name)
        size = math.inf if bound is None else bound(*sizes)
        return size if size < _LARGEST else math.inf

    return program.worked(lambda at: float(np.abs(X[:, at]).max()), abs, operator)


def values_on(program: Program, named: tuple[int, ...], rows: Floats) -> Floats:
    """The values [N] of a formula where the columns that are named have these values [N, k]."""
    columns: list[Floats | None] = [None] * len(program.library.variables)
    for at, column in zip(named, rows.T, strict=True):
        columns[at] = column
    values = np.asarray(program.apply(*columns), dtype=np.float64)
    return values if values.ndim else np.full(len(rows), values)


def _denominators(program: Program) -> list[Program]:
    """What a formula is infinite at a zero of."""
    found = parts(program, ("div", "reciprocal"))
    if "cos" in program.library:
        found += [Program.joined("cos", [each]) for each in parts(program, ("tan",))]
    for name, arguments in _nodes(program):
        if name == "pow" and len(arguments[1]) == 1 and () < arguments[1].constants < (0.0,):
            found.append(arguments[0])
    return found


def _factors(waiting: list[Program]) -> list[Program]:
    """Products and powers taken apart.

    (x - 1)**2 is zero at 1 and has the same sign on either side; x - 1 has not.
    """
    found = []
    while waiting:
        part = waiting.pop()
        name, arguments = _nodes(part)[-1] if len(part) > 1 else ("", [])
        if name in _PRODUCTS:
            kept = arguments[: 1 if name in ("div", "pow") else None]
            waiting += [each for each in kept if _varies(each)]
        else:
            found.append(part)
    return found


def _pole(
    program: Program, denominator: Program, named: tuple[int, ...], points: Floats, usual: float
) -> tuple[int, Floats] | None:
    """On which line, and where, a denominator, or what a logarithm is of, changes its sign and the
    formula is infinite; None if nowhere."""
    steps, lines, columns = points.shape
    below = values_on(denominator, named, points.reshape(-1, columns)).reshape(steps, lines)
    step, line = np.nonzero((below[1:] > 0) != (below[:-1] > 0))
    if not len(step):
        return None
    low, high = points[step, line], points[step + 1, line]
    sign = below[step, line] > 0
    sizes = []
    for halving in range(_HALVINGS):
        middle = 0.5 * (low + high)
        same = (values_on(denominator, named, middle) > 0) == sign
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
        if halving in (_HALVINGS // 2, _HALVINGS - 1):
            # Where sin(x)/x is undefined, it is finite next to it.
            sizes.append(
                np.fmax(*(np.abs(values_on(program, named, each)) for each in (low, high)))
            )
    # A logarithm grows slowly, but it grows.
    infinite = (sizes[1] > _HUGE * usual) | (sizes[1] - sizes[0] > _GROWS * usual)
    if not infinite.any():
        return None
    first = int(np.argmax(infinite))
    return int(line[first]), low[first]
