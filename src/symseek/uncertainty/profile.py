"""Intervals by the profile of the sum of squares, where that is no parabola in the numbers.

The end of an interval is where a number may go, all others following it at their best, before the
squares have grown by t**2 s**2. For a parabola that is t standard errors away. Whether it is one is
looked at first, at these ends. Otherwise the end is found as Venzon and Moolgavkar do (1988,
Applied Statistics 37, 87): Newton's steps to where the squares are the allowed ones and their
derivatives by all other numbers vanish, all ends of all numbers side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program
from symseek.uncertainty.normal import Normal, normals

_BENT = 0.15  # part of the allowed growth, by which a parabola may miss it
_ROUNDS = 25
_CLOSE = 1e-3  # part of the allowed growth, at which an end is found
_FARTHEST = 50.0  # times as far as the parabola's end: nothing bounds the number on that side
_HALVINGS = 8


def profiled(
    program: Program,
    data: Data,
    places: Sequence[int],
    reach: Floats,
    allowed: float,
    threads: int = 1,
) -> dict[int, tuple[float, float]]:
    """The ends of the interval of each constant whose squares are no parabola; an infinite one
    where the squares do not grow so much.

    Args:
        program: the formula at its least squares.
        data: the rows.
        places: the constants that were fitted.
        reach: [k] how far the parabola lets each go.
        allowed: how much the squares may grow.
        threads: to compute with.

    >>> x = np.linspace(0.0, 1.0, 20)
    >>> data = Data(x[:, None], np.exp(2.0 * x), np.ones(20))
    >>> program, slope = Program.parse("exp(2.0*x)"), x * np.exp(2.0 * x)
    >>> profiled(program, data, [0], np.array([0.01]), 0.01**2 * float(slope @ slope))
    {}
    >>> ends = profiled(program, data, [0], np.array([0.5]), 0.5**2 * float(slope @ slope))
    >>> [round(end, 2) for end in ends[0]]
    [1.34, 2.41]
    """
    (here,) = normals([program], data, threads)
    known = np.isfinite(reach) & (reach > 0.0)
    if here is None or not 0.0 < allowed < math.inf or not known.all():
        return {}
    ends = _Ends(program, data, tuple(places), reach, here.squares + allowed, allowed, threads)
    starts = [_End(at, sign) for at in range(len(places)) for sign in (-1.0, 1.0)]
    tangent = ends.along_tangents(here, starts)
    if tangent is None:
        return {}
    grown = ends.grown(tangent)
    bent = {
        end.at
        for end, growth in zip(starts, grown, strict=True)
        if not abs(growth / allowed - 1.0) <= _BENT
    }
    wanted = [each for each in starts if each.at in bent]
    found = ends.found(here, wanted)
    return {places[at]: (found[_End(at, -1.0)], found[_End(at, 1.0)]) for at in sorted(bent)}


@dataclass(frozen=True)
class _End:
    at: int  # which of the places
    sign: float  # -1.0: the lower one


@dataclass(frozen=True)
class _Ends:
    """The ends of intervals."""

    program: Program
    data: Data
    places: tuple[int, ...]
    reach: Floats
    level: float  # of the squares at an end
    allowed: float
    threads: int

    @property
    def _best(self) -> Floats:
        return np.array(self.program.constants)

    def _at(self, constants: Sequence[Floats]) -> list[Normal | None]:
        moved = [replace(self.program, constants=tuple(each.tolist())) for each in constants]
        return normals(moved, self.data, self.threads)

    def grown(self, constants: Sequence[Floats]) -> list[float]:
        """By how much the squares are larger than at their least; infinite where undefined."""
        found = self._at(constants)
        least = self.level - self.allowed
        return [math.inf if each is None else each.squares - least for each in found]

    def along_tangents(self, here: Normal, ends: Sequence[_End]) -> list[Floats] | None:
        """The constants at the ends that a parabola has."""
        columns = list(self.places)
        try:
            inverse = np.linalg.inv(here.matrix[np.ix_(columns, columns)])
        except np.linalg.LinAlgError:
            return None
        found = []
        for end in ends:
            constants = self._best
            step = inverse[:, end.at] / inverse[end.at, end.at]
            constants[columns] += end.sign * self.reach[end.at] * step
            found.append(constants)
        return found

    def found(self, here: Normal, ends: Sequence[_End]) -> dict[_End, float]:
        """The value of its constant at each end."""
        tangent = self.along_tangents(here, ends)
        assert tangent is not None
        values: dict[_End, float] = {}
        # From half-way, where the parabola still holds.
        waiting = {end: 0.5 * (self._best + far) for end, far in zip(ends, tangent, strict=True)}
        for _ in range(_ROUNDS):
            if not waiting:
                break
            normals_there = self._at(list(waiting.values()))
            for end, normal in zip([*waiting], normals_there, strict=True):
                place = self.places[end.at]
                now = waiting[end]
                gone = end.sign * (now[place] - self._best[place]) / self.reach[end.at]
                step = None if normal is None else self._step(normal, end)
                if normal is None:
                    waiting[end] = 0.5 * (now + self._best)  # beyond where it is defined
                elif step is None or gone > _FARTHEST:
                    values[end] = end.sign * math.inf
                    del waiting[end]
                elif self._close(normal, step, end):
                    values[end] = float(now[place] + step[end.at])
                    del waiting[end]
                else:
                    waiting[end] = now.copy()
                    waiting[end][list(self.places)] += step
        return {end: values.get(end, end.sign * math.inf) for end in ends}

    def _close(self, normal: Normal, step: Floats, end: _End) -> bool:
        near = abs(normal.squares - self.level) <= _CLOSE * self.allowed
        return near and abs(step[end.at]) <= 10 * _CLOSE * self.reach[end.at]

    def _step(self, normal: Normal, end: _End) -> Floats | None:
        """To where the tangent there says that the end is; no further than the whole interval."""
        columns = list(self.places)
        matrix = normal.matrix[np.ix_(columns, columns)]
        pull = normal.gradient[columns]
        others = [each for each in range(len(columns)) if each != end.at]
        inner = matrix[np.ix_(others, others)]
        try:
            rest = np.linalg.solve(inner, pull[others])
            follow = -np.linalg.solve(inner, matrix[others, end.at])
        except np.linalg.LinAlgError:
            return None
        # The squares with the others at their best: c - 2*b*move + a*move**2.
        with np.errstate(all="ignore"):
            a = matrix[end.at, end.at] + matrix[end.at, others] @ follow
            b = pull[end.at] - matrix[end.at, others] @ rest
            c = normal.squares - pull[others] @ rest - self.level
            under = b * b - a * c
        if not (np.isfinite([a, b, c, under]).all() and a > 0.0):
            return None
        move = (b + end.sign * math.sqrt(under)) / a if under >= 0.0 else b / a
        most = self.reach[end.at]
        move = min(max(move, -most), most)
        step = np.empty(len(columns))
        step[end.at], step[others] = move, rest + follow * move
        return step if np.isfinite(step).all() else None
