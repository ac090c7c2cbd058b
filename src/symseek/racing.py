"""Racing: most programs show on a few rows that they are no good, so only the others see all rows.

Every program is first fitted on a few rows with a few steps. The best of the batch, and those that
may still beat the front at their complexity, continue to more rows; only those that may beat it
there as well are graded on all, and only these may enter the front. The others keep the reward that
they showed: an estimate, good enough to choose parents by and to learn from.

    all programs ──> 64 rows ──> 256 rows ──> ... ──> all rows ──> front
                       │            │
                       └────────────┴──> provisional rewards

Whether a program may beat another is asked row by row. Both are fitted to the same rows, so the
differences of their losses tell much more than the two means: two ways to write one formula do not
differ at all. A program continues unless the mean difference is against it by more than `doubt`
standard errors. So a good program is lost now and then: `benchmarks/rows.py` measures how often.

What continues depends on the batch, the front and the seed alone. A racer keeps nothing between two
batches, so threads and interruptions do not change a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import FINITE, check_fields
from symseek.arrays import Floats
from symseek.constants import FitConfig
from symseek.data import Data
from symseek.engines.interface import Engine, Evaluator
from symseek.evaluation import Check, Graded, Grader, checked, data_grader, refitting
from symseek.front import ALIKE, ROUNDING, Entry, Front
from symseek.mapping import Mapping, mapped
from symseek.programs import Program, Programs
from symseek.rewards import ErrorReward, Reward
from symseek.tokens import Library

Rows = NDArray[np.intp]

_GROWTH = 4  # each rung has so many times the rows of the one before; all rows are twice the last
_FAR = 4.0  # a mean loss so many times that of the opponent is not looked at row by row


@dataclass(frozen=True)
class Racing:
    """How programs race.

    >>> Racing(rows=100).sizes(10_000)
    [100, 400, 1600]
    """

    rows: int = 64  # that every program is fitted on; with up to four times as many, none races
    steps: int = 3  # of a fit on more rows, which begins where the one before has ended
    last_steps: int = 8  # of the fit on all rows: others are measured by it
    keep: float = 0.1  # the share of a batch that continues to four times the rows in any case
    doubt: float = 2.0  # standard errors by which a program must seem worse to be left behind

    def __post_init__(self) -> None:
        check_fields(self, rows=8, steps=1, last_steps=1, keep=(0, 1), doubt=(0, FINITE))

    def sizes(self, rows: int) -> list[int]:
        """The rows of each rung below a table of so many; none where racing would not pay."""
        found: list[int] = []
        size = self.rows if self.rows * _GROWTH < rows else rows
        while 2 * size < rows:
            found.append(size)
            size *= _GROWTH
        return found


class Racer:
    """Races the batches of one search."""

    def __init__(self, racing: Racing, rungs: Sequence[Rung], grader: Grader) -> None:
        self.racing = racing
        self.rungs = rungs
        self.grader = grader  # on all rows

    @classmethod
    def on(
        cls,
        racing: Racing | None,
        library: Library,
        data: Data,
        reward: Reward,
        engine: Engine,
        constants: FitConfig | None,
        underflow_invalid: bool,
        mapping: Mapping | None,
        seed: int,
        grader: Grader,
        check: Check | None = None,
    ) -> Racer | None:
        """A racer before the grader of all rows; None where there is nothing to gain by it.

        A function of the caller's may ask for all rows at once, so its programs do not race.
        """
        sizes = [] if racing is None else racing.sizes(len(data.y))
        if racing is None or not sizes or not isinstance(reward, ErrorReward):
            return None
        rungs = []
        fit, unit = constants, reward.unit(data)
        for size in sizes:
            some = data.covering(size, seed)
            own = data_grader(
                library, some, reward, engine, fit, underflow_invalid, unit, 0, mapping
            )
            graded = library if mapping is None else mapping.library
            values = mapped(engine.evaluator(graded, some.X, cache=0), mapping)
            rungs.append(Rung(some, checked(own, check, False), values, reward, unit))
            fit = _shortened(constants, racing.steps)
        return cls(racing, rungs, refitting(grader, _shortened(constants, racing.last_steps)))

    def __call__(self, programs: Programs, front: Front) -> Graded:
        """Rewards for a batch; those that are `final` are of all rows."""
        doubt = self.racing.doubt
        race = _Race(self.rungs[0].grader(programs))
        waiting = self._best(race.graded) | self.rungs[0].may_beat(race.graded, front, doubt)
        candidates = np.flatnonzero(waiting)
        if len(self.rungs) == 1:
            race.regrade(candidates, self.grader, final=True)
            return race.graded
        second = self.rungs[1]
        race.regrade(candidates, second.grader)
        candidates = candidates[second.may_beat(race.some(candidates), front, doubt)]
        losses = second.losses(race.graded.programs[candidates])
        least = 1
        while len(candidates):
            # The best of each complexity come first: they raise the bar for the others. Where that
            # does not help, more of them go at a time.
            first = _foremost(race.some(candidates), least)
            least *= 2
            before, front = front, self._climb(race, candidates[first], front)
            candidates, losses = candidates[~first], losses[~first]
            going = np.ones(len(candidates), dtype=bool)
            anew = np.flatnonzero(_other_opponents(race.some(candidates), before, front))
            going[anew] = second.may_beat(race.some(candidates[anew]), front, doubt, losses[anew])
            candidates, losses = candidates[going], losses[going]
        return race.graded

    def _climb(self, race: _Race, climbing: Rows, front: Front) -> Front:
        """Take programs from the second rung up to all rows, and those that arrive to the front."""
        for rung in self.rungs[2:]:
            race.regrade(climbing, rung.grader)
            going = rung.may_beat(race.some(climbing), front, self.racing.doubt)
            climbing = climbing[going]
        race.regrade(climbing, self.grader, final=True)
        return race.entered(front, climbing)

    def _best(self, graded: Graded) -> NDArray[np.bool_]:
        """The best share of a batch [B]."""
        count = int(np.ceil(self.racing.keep * len(graded.programs)))
        order = np.argsort(-np.where(graded.ok, graded.rewards, -np.inf), kind="stable")
        chosen = np.zeros(len(graded.programs), dtype=bool)
        chosen[order[:count]] = True
        return chosen & graded.ok


class _Race:
    """The rewards of a batch, as far as they are known."""

    def __init__(self, first: Graded) -> None:
        programs = first.programs
        self.constants = programs.constants.copy()
        self.graded = replace(
            first,
            programs=programs.with_constants(self.constants),
            rewards=first.rewards.copy(),
            ok=first.ok.copy(),
            status=None if first.status is None else first.status.copy(),
            final=np.zeros(len(programs), dtype=bool),
        )

    def some(self, rows: Rows) -> Graded:
        """Some of the programs."""
        graded = self.graded
        return Graded(graded.programs[rows], graded.rewards[rows], graded.ok[rows], len(rows))

    def regrade(self, rows: Rows, grader: Grader, final: bool = False) -> None:
        """Let a grader fit and judge some of the programs, from where their constants are."""
        if not len(rows):
            return
        graded, after = self.graded, grader(self.graded.programs[rows])
        self.constants[rows] = after.programs.constants[:, : self.constants.shape[1]]
        graded.rewards[rows] = after.rewards
        graded.ok[rows] = after.ok
        if graded.status is not None and after.status is not None:
            graded.status[rows] = after.status
        if graded.final is not None:
            graded.final[rows] = final

    def entered(self, front: Front, rows: Rows) -> Front:
        """The front with those of these rows that are good enough."""
        some = self.some(rows)
        return front.updated(some.programs, np.where(some.ok, some.rewards, np.nan))


class Rung:
    """Some rows of the table, on which programs are fitted and compared."""

    def __init__(
        self, data: Data, grader: Grader, values: Evaluator, reward: ErrorReward, unit: float
    ) -> None:
        self.data = data
        self.grader = grader
        self.values = values
        self.reward = reward
        self.unit = unit  # of errors, on all rows
        # What the entries of the last front show here, so that they need not be fitted anew.
        self._front = Front()
        self._known: dict[Program, tuple[Floats, float]] = {}
        self._shown: tuple[list[Floats], Floats] = [], np.empty(0)

    def may_beat(
        self, graded: Graded, front: Front, doubt: float, losses: Floats | None = None
    ) -> NDArray[np.bool_]:
        """Which programs [B], graded here, may be better than all that is no more complex.

        Their `losses` [B, N] are taken from the caller if they are known.
        """
        going = graded.ok.copy()
        if not len(front):
            return going
        opponents, above = self._opponents(front)
        complexities = np.array([each.complexity for each in front], dtype=np.int64)
        place = np.searchsorted(complexities, graded.programs.complexity, "right") - 1
        going &= (place < 0) | (graded.rewards > above[place])
        rows = np.flatnonzero(going & (place >= 0))
        if len(rows):
            mine = self.losses(graded.programs[rows]) if losses is None else losses[rows]
            theirs = np.array([opponents[at] for at in place[rows]])
            with np.errstate(all="ignore"):  # a loss may be too large to be squared
                going[rows] = self._better(mine, theirs, doubt)
        return going

    def _better(self, losses: Floats, opponents: Floats, doubt: float) -> NDArray[np.bool_]:
        """Whether losses [B, N] may have a smaller mean over all rows than others [B, N]."""
        share = self._shares
        gains = opponents - losses
        # Sums in the order of the rows, which no machine rounds otherwise than another. Large
        # arrays are slow to make, so they are used again.
        summed = gains * share
        gain = np.cumsum(summed, axis=1, out=summed)[:, -1].copy()
        gains -= gain[:, None]
        gains *= gains
        gains *= share
        variance = np.cumsum(gains, axis=1, out=gains)[:, -1]
        error = np.sqrt(variance * float(np.cumsum(share**2)[-1]))
        np.multiply(opponents, share, out=summed)
        worth = 2 * ALIKE * np.cumsum(summed, axis=1, out=summed)[:, -1]
        return np.asarray(~(gain + doubt * error <= worth))  # NaN, of an overflow, continues

    @cached_property
    def _shares(self) -> Floats:
        """[N] of the rows, sum 1."""
        weights = self.data.weights
        return weights / float(np.cumsum(weights)[-1])

    def _opponents(self, front: Front) -> tuple[list[Floats], Floats]:
        """The losses [N] of each of the front's entries, and rewards [E] not worth a look."""
        if front is not self._front:
            new = [each for each in front if each.program not in self._known]
            if new:
                self._remember(new)
            self._known = {each.program: self._known[each.program] for each in front}
            losses, above = zip(*self._known.values(), strict=True)
            self._front, self._shown = front, ([*losses], np.array(above))
        return self._shown

    def _remember(self, entries: list[Entry]) -> None:
        """Fit entries of the front to the rows here, as those that race against them are."""
        graded = self.grader(Programs.from_list([each.program for each in entries]))
        losses = self.losses(graded.programs)
        with np.errstate(all="ignore"):  # NaN, where a loss is infinite and its row weighs nothing
            means = np.cumsum(losses * self._shares, axis=1)[:, -1] * _FAR
        above = np.where(
            graded.ok, self.reward(*[means] * len(self.reward.losses), self.unit), -np.inf
        )
        above[graded.rewards >= 1 - ROUNDING] = np.inf  # exact: nothing is better
        for entry, row, reward in zip(entries, losses, above.tolist(), strict=True):
            self._known[entry.program] = row, reward

    def losses(self, programs: Programs) -> Floats:
        """What each row counts against each program [B, N]."""
        values = self.values.predict(programs).values
        with np.errstate(all="ignore"):
            return self.reward.row_losses(values, self.data)


def _other_opponents(graded: Graded, before: Front, now: Front) -> NDArray[np.bool_]:
    """Whether another entry of the front than before is what a program [B] must beat."""
    opponents = []
    for front in (before, now):
        complexities = [each.complexity for each in front]
        place = np.searchsorted(complexities, graded.programs.complexity, "right")
        known = np.array([0, *(id(each) for each in front)])  # 0: none is as simple
        opponents.append(known[place])
    return np.asarray(opponents[0] != opponents[1])


def _shortened(constants: FitConfig | None, steps: int) -> FitConfig | None:
    """A fit from where another has ended, of at most so many steps."""
    if constants is None:
        return None
    return replace(constants, restarts=0, max_steps=min(constants.max_steps, steps))


def _foremost(graded: Graded, least: int) -> NDArray[np.bool_]:
    """The programs [B] that no other of at most their complexity matches.

    If these are fewer than `least`, those that come next when they are taken away follow.
    """
    chosen = np.zeros(len(graded.programs), dtype=bool)
    rewards = graded.rewards
    rest = np.lexsort((-rewards, graded.programs.complexity))
    while len(rest) and np.count_nonzero(chosen) < least:
        best = np.maximum.accumulate(np.append(-np.inf, rewards[rest]))[:-1]
        first = rewards[rest] > best
        chosen[rest[first]] = True
        rest = rest[~first]
    return chosen
