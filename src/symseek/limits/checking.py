"""Limits of values while formulas are searched: no program that breaks one may enter the front.

All programs of a batch are checked on a few points by the engine, at a part of the cost of a fit.
Those that nothing simpler in the batch beats, which alone may enter the front, are checked on many.
What is found depends on the programs alone, so it may be remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.constants import with_room
from symseek.data import Scales
from symseek.engines.interface import Engine, Evaluator
from symseek.limits.intervals import Flags
from symseek.limits.points import Points
from symseek.limits.shapes import MANY, Shapes
from symseek.programs import Program, Programs
from symseek.tokens import Library, TokenKind

_FEW = 128  # points for each limit that every program is checked on
_REMEMBERED = 1 << 14  # programs


class ShapeCheck:
    """Says which programs of a search keep to the limits of values."""

    def __init__(
        self,
        shapes: Shapes,
        engine: Engine,
        library: Library,
        scales: Scales,
        solution: Program | None = None,
        parts: Callable[[str], Library] | None = None,
    ) -> None:
        self.scales = scales
        self.solution = solution  # the target by the columns and the values of a program

        def values(size: int) -> list[_Values]:
            """The points for each of what limits are of: the whole, and parts of a given form."""
            points = shapes.some(size)
            return [
                _Values(
                    [each for each in points if each.limit.of == of],
                    engine,
                    parts(of) if of and parts is not None else library,
                    scales,
                )
                for of in dict.fromkeys(each.limit.of for each in points)
            ]

        self.few, self.many = values(_FEW), values(MANY)
        self.known: OrderedDict[bytes, bool] = OrderedDict()

    def few_points(self, programs: Programs, ok: Flags) -> Flags:
        """Which of the programs [B] that are `ok` keep to the limits on a few points."""
        rows = np.flatnonzero(ok)
        kept = np.zeros(len(ok), dtype=bool)
        kept[rows] = ~self._broken(self.few, programs[rows])
        return kept

    def foremost(self, programs: Programs, rewards: Floats, ok: Flags) -> Flags:
        """The same; those with the highest rewards at their complexity or below do on many."""
        kept, known = ok.copy(), np.zeros(len(ok), dtype=bool)
        while True:
            first = _foremost(programs, np.where(kept, rewards, -np.inf))
            unknown = first[kept[first] & ~known[first]]
            if not len(unknown):
                return kept
            kept[unknown] = self._keep(programs[unknown])
            known[unknown] = True

    def _keep(self, programs: Programs) -> Flags:
        """Which programs keep to the limits on many points."""
        keys = [_key(programs, row) for row in range(len(programs))]
        new = [row for row, key in enumerate(keys) if key not in self.known]
        if new:
            broken = self._broken(self.many, programs[new])
            self.known.update((keys[row], not lost) for row, lost in zip(new, broken, strict=True))
        found = np.array([self.known[key] for key in keys])
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)
        return found

    def _broken(self, on: list[_Values], programs: Programs) -> Flags:
        broken = np.zeros(len(programs), dtype=bool)
        if not len(programs):
            return broken
        for each in on:
            with np.errstate(over="ignore"):  # an infinite value is none
                values = each(programs) * self.scales.target
            for points, places in zip(each.points, each.places, strict=True):
                of_it = values[:, places]
                if self.solution is not None and not points.limit.of:
                    of_it = _solved(self.solution, points.flat, of_it)
                broken |= points.broken(of_it)
        return broken


class _Values:
    """Evaluates programs, or a part of each, on the points of all limits of it at once."""

    def __init__(
        self, points: list[Points], engine: Engine, library: Library, scales: Scales
    ) -> None:
        self.points, self.library = points, library
        ends = np.cumsum([0, *(each.count for each in points)]).tolist()
        self.places = [slice(*pair) for pair in pairwise(ends)]
        rows = np.concatenate([each.flat for each in points]) / scales.inputs
        self.count = len(rows)
        # One for each group that any point is in.
        self.evaluators: list[tuple[int, NDArray[np.intp], Evaluator]] = []
        if library.grouping is None:
            self.evaluators = [(0, np.arange(len(rows)), engine.evaluator(library, rows, cache=0))]
            return
        self.plain = _ungrouped(library)
        wide = np.column_stack([rows, np.zeros((len(rows), len(library.grouping.own)))])
        codes = rows[:, len(library.columns) - 1]
        for code in range(len(library.grouping.labels)):
            its = np.flatnonzero(codes == code)
            if len(its):
                own = engine.evaluator(self.plain, wide[its], cache=0)
                self.evaluators.append((code, its, own))

    def __call__(self, programs: Programs) -> Floats:
        """The values [B, N]."""
        values = np.empty((len(programs), self.count))
        for group, places, evaluator in self.evaluators:
            if self.library.grouping is not None:
                read = _in_group(programs, group, self.plain)
            else:  # the same tokens, which may have another meaning
                given = programs.tokens, programs.lengths, programs.constants
                read = Programs._trusted(self.library, *given)
            values[:, places] = evaluator.predict(read).values
        return values


def _ungrouped(library: Library) -> Library:
    """The library with the groups' own numbers as plain variables, tokens in the same order."""
    others = [each for each in library if each.kind is not TokenKind.VARIABLE]
    return Library(others, library.variables)


def _in_group(programs: Programs, group: int, plain: Library) -> Programs:
    """Programs with the numbers that one group has of its own as constants.

    Those of programs that were not fitted are not known: what has them has no value.
    """
    library, tokens = programs.library, programs.tokens
    grouping, constant = library.grouping, library.constant_id
    if grouping is None or constant is None or not grouping.own:
        return Programs._trusted(plain, tokens, programs.lengths, programs.constants)
    first, last = library.variable_ids[len(library.columns)], library.variable_ids[-1]
    is_own = (tokens >= first) & (tokens <= last)  # they are the last of the variables
    is_number = is_own | (tokens == constant)
    row, at = np.nonzero(is_number)
    place = (np.cumsum(is_number, axis=1) - 1)[row, at]
    old = (np.cumsum(tokens == constant, axis=1) - 1)[row, at]
    own = np.full((len(programs), len(grouping.own)), np.nan)
    if programs.own is not None:
        own = programs.own[:, :, group]
    room = with_room(programs.constants, max(1, int(old.max(initial=0)) + 1))
    number = np.clip(tokens[row, at] - first, 0, len(grouping.own) - 1)
    constants = np.ones((len(programs), int(is_number.sum(axis=1).max(initial=0))))
    constants[row, place] = np.where(
        is_own[row, at], own[row, number], room[row, np.maximum(old, 0)]
    )
    written = np.where(is_own, np.int16(constant), tokens)
    return Programs._trusted(plain, written, programs.lengths, constants)


def _foremost(programs: Programs, rewards: Floats) -> NDArray[np.intp]:
    """The programs that none of at most their complexity matches."""
    order = np.lexsort((-rewards, programs.complexity))
    best = np.maximum.accumulate(np.append(-np.inf, rewards[order]))[:-1]
    first: NDArray[np.intp] = order[rewards[order] > best]
    return first


def _key(programs: Programs, row: int) -> bytes:
    length = int(programs.lengths[row])
    key = bytes(programs.tokens[row, :length]) + bytes(programs.constants[row])
    return key if programs.own is None else key + bytes(programs.own[row])


def _solved(solution: Program, X: Floats, values: Floats) -> Floats:
    """The target where the left side of a form has these values [B, N]."""
    rows = np.tile(X, (len(values), 1))
    found = solution.evaluate(np.column_stack([rows, values.reshape(-1)]))
    return found.reshape(values.shape)
