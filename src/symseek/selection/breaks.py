"""Poles, undefined places and blow-ups of a formula in the whole box of the rows, and around it.

The rows between whose neighbours `gaps` looks are few in the box that the columns span, and someone
will predict elsewhere in it. Interval arithmetic proves for most formulas that they have a value
everywhere. For the others, straight lines through the rows and through the box are looked along,
and the boxes that no proof holds for are halved again and again until a place is left.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from symseek.arrays import Floats
from symseek.limits.bounds import bounds, is_known
from symseek.limits.proofs import Verdict, defined, prove
from symseek.model import Break
from symseek.programs import Program
from symseek.selection.gaps import gap_on, named_columns, size_of, values_on
from symseek.tokens import TokenKind

_BEYOND = 0.2  # of a column's range, to either side of it
_PROOF = 512  # boxes looked at
_ROWS, _PIECES, _CHORDS = 48, 8, 64  # lines: rows they go through, parts of each, others
_OFFSET = 0.0137  # of a piece
_OPEN, _HALVINGS = 4, 80  # boxes that are followed, and how often each is halved
_AROUND = 64  # points around a place that was found
_NEAR, _NEARER = 1e-6, 1e-9  # of the box, how far those are
_HUGE = 100.0  # times the largest value on the rows: a pole reaches more, and a blow-up too
_GROWS = 3.0  # times the value, a thousand times nearer to a pole
_UNDEFINED = 0.05  # part of the points around a place that have no value


@np.errstate(all="ignore")  # that is what is looked for
def find_breaks(program: Program, X: Floats) -> tuple[Break, ...]:
    """Where a formula has a pole or no value, or blows up: in the box of the rows X [N, n], or else
    up to a fifth of each range beyond it. A column of one sign goes at most half the way to 0.

    >>> from symseek.model import full_library
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> texts = ("1.0/(x - 2.5)", "sqrt(4.2 - x)", "1.0/x + log(x)")
    >>> for text in texts:
    ...     print([str(each) for each in find_breaks(Program.parse(text, full_library(["x"])), X)])
    ['a pole in the box of the rows, near x = 2.5']
    ['no value beyond the rows, near x = 4.205']
    []
    """
    named = named_columns(program)
    if not named or program.own_used or not _known(program):
        return ()
    least, most = X.min(axis=0), X.max(axis=0)
    more = _BEYOND * (most - least)
    low = np.where(least >= 0, np.maximum(least - more, least / 2), least - more)
    high = np.where(most <= 0, np.minimum(most + more, most / 2), most + more)
    if size_of(program, np.stack([low, high])) < math.inf and not _large(program, X, low, high):
        return ()
    whole = prove(program, low[None], high[None], defined, most=_PROOF).verdict is Verdict.PROVED
    for inside, ends in ((True, (least, most)), (False, (low, high))):
        found = None if whole else _Box(program, named, X, *ends).gap()
        if found is None:
            found = _Box(program, named, X, *ends).blow_up()
        if found is not None:
            kind, place = found
            names = [program.library.variables[at] for at in named]
            return (Break(kind, tuple(zip(names, place.tolist(), strict=True)), inside),)
    return ()


def _known(program: Program) -> bool:
    """Whether it has no function of the caller's, which may not be asked for any value at all."""
    tokens = program.library.tokens
    operators = (tokens[each] for each in program.tokens)
    return all(is_known(each) for each in operators if each.kind is TokenKind.OPERATOR)


def _large(program: Program, X: Floats, low: Floats, high: Floats) -> bool:
    """Whether a formula may be far larger in a box than on the rows."""
    with np.errstate(all="ignore"):
        usual = float(np.abs(program.evaluate(X)).max())
    return bool(size_of(program, np.stack([low, high])) > _HUGE * usual)


class _Box:
    """A box, and the rows in it, of the columns that a formula names."""

    def __init__(
        self, program: Program, named: tuple[int, ...], X: Floats, low: Floats, high: Floats
    ) -> None:
        self.program, self.named = program, named
        self.full = low, high
        columns = list(named)
        self.low, self.high, self.rows = low[columns], high[columns], X[:, columns]
        self.width = self.high - self.low
        self.usual = float(np.abs(self._values(self.rows)).max())

    def _values(self, points: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return values_on(self.program, self.named, points)

    def _lines(self) -> tuple[Floats, Floats]:
        """Lines along each column through some rows, in pieces, and lines through the box."""
        draw = np.random.default_rng(0)
        step = max(1, -(-len(self.rows) // _ROWS))
        one = len(self.named) == 1  # one line is all there is
        anchors = self.rows[:1] if one else self.rows[::step]
        parts = np.linspace(0.0, 1.0, _ROWS * _PIECES + 1 if one else _PIECES + 1)
        parts[1:-1] += _OFFSET * parts[1]  # at no simple fraction
        starts: list[Floats] = []
        ends: list[Floats] = []
        for at in range(len(self.named)):
            for begin, end in pairwise(parts.tolist()):
                for found, share in ((starts, begin), (ends, end)):
                    points = anchors.copy()
                    points[:, at] = self.low[at] + share * self.width[at]
                    found.append(points)
        chords = self.low + draw.uniform(size=(2, _CHORDS, len(self.named))) * self.width
        start, end = np.concatenate([*starts, chords[0]]), np.concatenate([*ends, chords[1]])
        apart = (start != end).any(axis=1)
        return start[apart], end[apart]

    def gap(self) -> tuple[str, Floats] | None:
        """A pole, or a place without a value."""
        start, end = self._lines()
        if len(start):
            found = gap_on(self.program, self.named, start, end, self.rows)
            if found is not None and found.denominator is not None:
                return "a pole", found.place
            if found is not None and self._kind(found.place) is not None:  # not in a point alone
                return "no value", found.place
        lowest, highest = self.full
        proof = prove(self.program, lowest[None], highest[None], defined, most=_PROOF)
        if proof.open is None:
            return None
        for low, high in list(zip(*proof.open, strict=True))[:_OPEN]:
            place = self._followed(low, high)
            kind = None if place is None else self._kind(place)
            if place is not None and kind is not None:
                return kind, place
        return None

    def _followed(self, low: Floats, high: Floats) -> Floats | None:
        """The place to which a box comes down whose halves are not known to have values."""
        for halving in range(_HALVINGS):
            at = max(self.named, key=lambda column: self._share(low, high, column))
            middle = 0.5 * (low[at] + high[at])
            lows, highs = np.stack([low, low]), np.stack([high, high])
            highs[0, at] = lows[1, at] = middle
            found = bounds(self.program, lows, highs)
            known, _ = defined(found)
            if known.all():
                return None
            # Of two that are open, one and the other in turn.
            half = int(np.argmin(known)) if known.any() else halving % 2
            low, high = lows[half], highs[half]
        place = 0.5 * (low + high)
        return np.asarray(place[list(self.named)])

    def _share(self, low: Floats, high: Floats, column: int) -> float:
        width = float(self.full[1][column] - self.full[0][column])
        return float(high[column] - low[column]) / width if width else 0.0

    def _kind(self, place: Floats) -> str | None:
        """What a place is, as the values around it show; None where they are ordinary."""
        draw = np.random.default_rng(0)
        away = draw.uniform(-1.0, 1.0, (_AROUND, len(place))) * self.width
        near, nearer = (np.clip(place + by * away, self.low, self.high) for by in (_NEAR, _NEARER))
        values = self._values(near)
        if np.mean(~np.isfinite(values)) > _UNDEFINED:
            return "no value"
        found = (np.abs(self._values(each)) for each in (near, nearer))
        sizes = [float(np.where(np.isnan(each), 0.0, each).max()) for each in found]
        grows = sizes[1] > _GROWS * sizes[0] and sizes[1] > self.usual
        return "a pole" if sizes[1] > _HUGE * self.usual or grows else None

    def blow_up(self) -> tuple[str, Floats] | None:
        """Where it is a hundred times as large as on the rows."""
        start, end = self._lines()
        points = np.concatenate([start, end, self.low[None], self.high[None]])
        sizes = np.abs(self._values(points))
        sizes[~np.isfinite(sizes)] = 0.0
        at = int(np.argmax(sizes))
        return ("a blow-up", points[at]) if sizes[at] > _HUGE * self.usual else None
