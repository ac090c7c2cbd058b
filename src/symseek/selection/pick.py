"""The pick of "auto": the shortest description of the data, unless a test speaks against it.

1. No poles: a formula that is infinite or undefined between two rows is not picked, unless the
   rows next to the pole show it, on either side, and it predicts these sides far better than the
   best formula without one.
2. No waves for their own sake: a formula with a sine, cosine or tangent must predict held-out rows
   better than the one without that does so best, by two standard errors, and by more the more
   such formulas have been tried. Where rows follow each other, what drifts looks like a wave: it
   takes four periods, and up to eight of them three standard errors. Where less than a period is
   seen, or rows are too far apart to show it, it must pay on blocks along what the sine is of.
3. On tables of few rows the description is cautious. A longer formula is picked if an F test says
   that its numbers mean something, and it predicts held-out rows better by a standard error.
4. What a shorter formula does as well on held-out rows needs no longer one: of the formulas up to
   that with the shortest description, the one that predicts them best is found, and the simplest
   with fewer numbers that is as good within a standard error is picked. On fewer than 50 rows this
   is done only for a formula with fewer than five rows a number that a simpler one beats.

A formula that is proven exact is picked without tests. Where the picked one has a pole or no value
somewhere in the box that the rows span, even if not between the rows, one without that is preferred
if its error is at most 1 % larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.data import Data
from symseek.engines.interface import Engine
from symseek.model import Accuracy, Formula
from symseek.programs import Program
from symseek.rewards import ErrorReward
from symseek.selection import rules
from symseek.selection.gaps import Gap, Lines, find_gap, parts
from symseek.selection.held_out import (
    blocks,
    folds,
    held_out_losses,
    logarithmic_gain,
    next_to_nothing,
    pays,
    rows_follow_each_other,
    squared_gain,
)
from symseek.selection.measure import Measure, fitted_numbers
from symseek.selection.residual_tests import f_test, worst_signs

_WAVES = ("sin", "cos", "tan")
_MOST = 2_000  # rows that formulas are refitted on
_NEGLIGIBLE = 1e-3  # a weight, of which the mean is 1
_FEWEST_OF_A_GROUP = 4  # rows of a group, with fewer of which none are held out
_FEWEST = 2  # rows that count, with fewer of which none can be held out
_FEW = 100  # rows at most, for an F test to overrule the description
_MANY = 50  # rows at least, for held-out rows to shorten the pick
_UNLIKELY = 0.005  # the chance, for the numbers of a longer formula to mean nothing
_SUSPECT = 0.05  # the same, beside a mere number, or one whose signs of residuals are no noise
_LONGER = 3.0  # nats by which the description of a longer formula may be longer
_LONGER_THAN_SUSPECT = 8.0  # the same, where the signs of what the shorter one leaves are no noise
_CERTAIN = 20.0  # nats by which a description is shorter beyond doubt
_ROWS_A_NUMBER = 2  # at least
_PAYS, _PAYS_IN_TIME = 1.0, 2.0  # standard errors
_WAVE_PAYS, _WAVE_IN_TIME = 2.0, 3.0
_FEWEST_PERIODS, _MANY_PERIODS = 4, 8  # of a wave, where rows follow each other
_FEWEST_PHASES = 10  # different ones, where they are too far apart to show a wave
_FEWEST_HELD_OUT = 12  # rows, for held-out ones to shorten the pick at all
_ROWS_TO_BE_SURE = 5  # for each number: with fewer, a formula fits what it does not describe
_HOPELESS = 1e3  # times the spread of y: an error that is no smaller than any other
_AS_GOOD = 1.01  # times the error of a formula with a pole, for one without it to be preferred
_FAR_BETTER = 4.0  # times smaller, the squared errors on either side of a pole


@dataclass(frozen=True)
class Choice:
    """A row of a front, and why it is not the one with the shortest description; else empty."""

    row: int
    because: str = ""
    rule: str = "auto"  # that picked it


def pick(
    formulas: Sequence[Formula],
    rule: str,
    measure: Measure,
    held_out: Data | None = None,
    tested: bool = True,
    threads: int = 1,
    engine: str | Engine = "native",
) -> Choice:
    """The row of a front that a rule picks; "auto" is validation where rows were held out.

    The tests of "auto" take a while, and are left out where the pick is not to be `tested`.
    """
    if rule == "auto" and held_out is not None:
        rule = "validation"
    programs = [each.program for each in formulas]
    errors = [measure.error_above_digits(measure.of(each)) for each in formulas]
    if rule == "accuracy":
        choice = Choice(rules.accuracy(errors))
    elif rule == "validation":
        assert held_out is not None
        choice = Choice(_best_validated(programs, held_out, measure))
    elif rule == "auto" and tested:
        choice = _unbroken(chosen(programs, errors, measure, threads, engine), formulas, errors)
    else:
        choice = Choice(measure.shortest(programs, errors))
    return replace(choice, rule=rule)


def _unbroken(choice: Choice, formulas: Sequence[Formula], errors: Sequence[float]) -> Choice:
    """The choice, or the simplest row without a pole in the box of the rows that errs as little."""
    picked = formulas[choice.row]
    if not picked.broken or picked.exact:
        return choice
    most = _AS_GOOD * errors[choice.row]
    for row, each in enumerate(formulas):
        if not each.broken and errors[row] <= most:
            why = f"row {choice.row} has {picked.breaks[0]}, and row {row} errs at most 1 % more"
            return Choice(row, why)
    return choice


def _best_validated(programs: Sequence[Program], held_out: Data, measure: Measure) -> int:
    reward = measure.reward
    if not isinstance(reward, ErrorReward):  # no row has an error of its own
        rewards = [Accuracy.of(each, held_out, reward).reward for each in programs]
        return rules.accuracy([-each for each in rewards])
    with np.errstate(all="ignore"):
        values = np.array([each.evaluate(held_out.X) for each in programs])
    losses = held_out.weights * reward.row_losses(values, held_out)
    return rules.validation(losses, _span(measure, held_out.spread)[0])


def _span(measure: Measure, spread: float) -> tuple[float, float]:
    """The losses of a row that are rounding, and hopeless."""
    assert isinstance(measure.reward, ErrorReward)
    loss = measure.reward.row_loss
    if not loss.kind.of_residual:
        return 0.0, _HOPELESS**2 * measure.likelihood.mean
    bits = measure.digits.tolerance / measure.digits.spread
    low, high = loss.values(np.array([bits * spread, _HOPELESS * spread]), np.zeros(2)).tolist()
    return low, high


def chosen(
    programs: Sequence[Program],
    errors: Sequence[float],
    measure: Measure,
    threads: int = 1,
    engine: str | Engine = "native",
) -> Choice:
    """The row to pick of a front, simplest first, with these errors on the measure's rows.

    >>> from symseek.data import Data
    >>> from symseek.model import full_library
    >>> from symseek.rewards import reward_named
    >>> library = full_library(["x"])
    >>> x = np.array([9, 14, 21, 28, 42, 57, 63, 70, 79.0])
    >>> y = np.array([8.93, 10.8, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08])
    >>> measure = Measure(Data(x[:, None], y, np.ones(9)), reward_named("inverse_nrmse"), library)
    >>> front = [Program.parse(each, library) for each in ("x", "0.916064*x")]
    >>> choice = chosen(front, [measure.error(each) for each in front], measure)
    >>> choice.row, choice.because
    (1, 'row 0 has the shortest description, but row 1 fits better by more than chance (F test, \
p = 0.004)')
    """
    shortest = measure.shortest(programs, errors)
    if not isinstance(measure.reward, ErrorReward) or measure.exact(programs[shortest]):
        return Choice(shortest)
    counted = np.flatnonzero(measure.data.weights > _NEGLIGIBLE)
    if measure.library.grouping is not None:
        column = measure.library.columns.index(measure.library.grouping.column)
        counted = in_groups_of_some(measure.data.X[:, column], counted)
    if len(counted) < _FEWEST:
        return Choice(shortest)
    return _Tests(programs, errors, measure, threads, engine).choice(shortest)


def in_groups_of_some(codes: Floats, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the rows whose groups have enough of them for some to be held out.

    >>> in_groups_of_some(np.array([0.0, 1, 0, 0, 1, 2, 0, 1]), np.arange(8)).tolist()
    [0, 2, 3, 6]
    """
    _, group, counts = np.unique(codes[rows], return_inverse=True, return_counts=True)
    return rows[counts[group.ravel()] >= _FEWEST_OF_A_GROUP]


class _Tests:
    """The tests of one front; what takes time is done when it is needed."""

    def __init__(
        self,
        programs: Sequence[Program],
        errors: Sequence[float],
        measure: Measure,
        threads: int,
        engine: str | Engine,
    ) -> None:
        self.programs, self.measure = programs, measure
        self.squares = [
            measure.square(measure.error_above_digits(*pair))
            for pair in zip(errors, programs, strict=True)
        ]
        self.lengths = measure.descriptions(programs, errors)
        # Neat ones were fitted as well; what any formula is compared with, a mere number, is none.
        self.numbers = [each.numbers if len(each) > 1 or each.own_used else 0 for each in programs]
        self.usable = [math.isfinite(each) for each in errors]
        counted = np.flatnonzero(measure.data.weights > _NEGLIGIBLE)
        grouping, columns = measure.library.grouping, measure.library.columns
        self.column = None if grouping is None else columns.index(grouping.column)
        if self.column is None:
            self.data = measure.data.rows(counted).sampled(_MOST, seed=0)
        else:
            counted = in_groups_of_some(measure.data.X[:, self.column], counted)
            self.data = measure.data.rows(counted).of_each(self.column, _MOST, seed=0)
        self.threads, self.engine = threads, engine
        self._lines = Lines(self.data.X)
        self._gaps: dict[int, Gap | None] = {}

    def choice(self, shortest: int) -> Choice:
        """The row to pick, and why it is another than that with the shortest description."""
        row, refused = self._first_admitted(shortest)
        longer = self._longer(row)
        if longer != row:
            chance = f_test(*self._pair(row, longer), len(self.measure.data.y))
            return Choice(
                longer,
                f"row {shortest} has the shortest description, but row {longer} fits better by more"
                f" than chance (F test, p = {chance:.1g})",
            )
        shorter = self._shorter(row)
        reasons = [refused] if refused else []
        if shorter != row:
            reasons.append(f"row {shorter} predicts held-out rows as well with fewer numbers")
        why = f"row {shortest} has the shortest description, but " if reasons else ""
        return Choice(shorter, why + ", and ".join(reasons))

    def _first_admitted(self, shortest: int) -> tuple[int, str]:
        """The row with the shortest description that has no pole and no idle wave; and what was
        wrong with the very shortest, if anything."""
        refused, tried = "", 1
        for row in np.argsort(self.lengths, kind="stable").tolist():
            if not self.usable[row]:
                continue
            wrong = self._fault(row, tried)
            tried += bool(self._waves(row))
            if not wrong:
                return row, refused
            refused = refused or wrong
        return shortest, ""  # there is nothing better to pick

    def _fault(self, row: int, tried: int = 1) -> str:
        """What speaks against picking a row; empty if nothing does."""
        if not self._wave_pays(row, tried):
            return "its periodic function does not pay on held-out rows"
        if not self._gap_is_real(row):
            gap = self._gap(row)
            assert gap is not None
            kind = "is undefined" if gap.away is None else "has a pole"
            names = self.measure.library.inputs
            places = ", ".join(f"{n} = {v:.4g}" for n, v in zip(names[:3], gap.at, strict=False))
            return f"it {kind} between the rows, near {places}"
        return ""

    # --- held-out rows

    @cached_property
    def _fold(self) -> NDArray[np.intp]:
        return folds(self.data, self._residuals, self._codes)

    @property
    def _codes(self) -> Floats | None:
        """The group of each row, if there are groups."""
        return None if self.column is None else self.data.X[:, self.column]

    @cached_property
    def _residuals(self) -> Floats:
        """What the row with the shortest description leaves of the rows that are refitted on."""
        best = self.programs[int(np.argmin(self.lengths))]
        with np.errstate(all="ignore"):
            values = best.evaluate(self.data.X)
            return np.nan_to_num(self.measure.leftover_of(values, self.data))

    @cached_property
    def _losses(self) -> Floats:
        return self._held_out(list(self.programs), self._fold)

    def _held_out(self, programs: list[Program], fold: NDArray[np.intp]) -> Floats:
        """Losses [programs, N], between what is rounding and what is hopeless."""
        reward = self.measure.reward
        assert isinstance(reward, ErrorReward)
        losses = held_out_losses(programs, self.data, fold, reward, self.threads, self.engine)
        low, high = _span(self.measure, self.data.spread)
        return np.clip(losses, max(low, 1e-300), high) * self.data.weights

    def _gain(self, row: int, other: int) -> float:
        """By how many standard errors another row predicts held-out rows better."""
        pair = self._losses[row], self._losses[other]
        return max(squared_gain(*pair, self._groups), logarithmic_gain(*pair, self._fold))

    @cached_property
    def _follow(self) -> bool:
        return rows_follow_each_other(self.data, self._residuals)

    @property
    def _groups(self) -> NDArray[np.intp]:
        """Rows that count together: those of a block, where rows follow each other."""
        if not self._follow:
            return np.arange(len(self.data.y))
        if self._codes is None:
            return self._fold
        together: NDArray[np.intp] = self._codes.astype(np.intp) * (1 + int(self._fold.max()))
        return together + self._fold

    # --- waves

    def _waves(self, row: int) -> list[Program]:
        return parts(self.programs[row], _WAVES)

    @cached_property
    def _best_smooth(self) -> int | None:
        """The row without a wave that predicts held-out rows best."""
        smooth = [
            row
            for row in range(len(self.programs))
            if self.usable[row] and not self._waves(row) and self._gap_is_real(row)
        ]
        return min(smooth, key=lambda row: float(self._losses[row].sum()), default=None)

    def _wave_pays(self, row: int, tried: int = 1) -> bool:
        """Whether a row has no wave, or one that pays; `tried` counts the rows with waves so far,
        of which one may pay by chance."""
        waves, smooth = self._waves(row), self._best_smooth
        if not waves or smooth is None:
            return True
        with np.errstate(all="ignore"):
            phases = [wave.evaluate(self.data.X) for wave in waves]
        phases = [each for each in phases if np.isfinite(each).all()]
        pair = self._losses[smooth], self._losses[row]
        if not (next_to_nothing(*pair) or self._gains(smooth, row, phases, tried)):
            return False
        return all(self._shows(phase, smooth, row) for phase in phases)

    def _gains(self, smooth: int, row: int, phases: list[Floats], tried: int) -> bool:
        """Whether a row with waves predicts held-out rows better by enough standard errors."""
        wanted = _WAVE_PAYS
        gain = squared_gain(self._losses[smooth], self._losses[row], self._groups)
        if self._follow:
            periods = min((np.ptp(each) / (2 * math.pi) for each in phases), default=0.0)
            if periods < _FEWEST_PERIODS:
                return False
            if periods >= _MANY_PERIODS:
                gain = self._gain(smooth, row)
            else:
                wanted = _WAVE_IN_TIME
        return gain > _shared(wanted, tried)

    def _shows(self, phase: Floats, smooth: int, row: int) -> bool:
        """Whether the rows show a wave of this phase, or it pays on blocks of the phase."""
        if _cycles(phase):
            return True
        fold = blocks(phase)
        apart = np.median(np.diff(np.unique(phase))) > math.pi / 2 if fold.max() else True
        if fold.max() < 2 or (apart and len(np.unique(phase)) < _FEWEST_PHASES):
            return False  # any few values lie on some wave
        without, with_it = self._held_out([self.programs[smooth], self.programs[row]], fold)
        return pays(without, with_it, fold, _WAVE_PAYS)

    # --- poles

    def _gap(self, row: int) -> Gap | None:
        if row not in self._gaps:
            program, lines = self.programs[row], self._lines
            if self._codes is not None:
                lines = Lines(program.widened(self.data.X), self._codes)
            self._gaps[row] = find_gap(program, lines)
        return self._gaps[row]

    def _gap_is_real(self, row: int) -> bool:
        """Whether a row has no pole, or one that the rows on either side of it show."""
        gap = self._gap(row)
        if gap is None:
            return True
        if gap.away is None or not gap.shows_in(self.data.y):
            return False
        rows = range(len(self.programs))
        whole = [each for each in rows if self.usable[each] and not self._gap(each)]
        rival = min(whole, key=lambda each: self.lengths[each], default=row)
        for side in (gap.away < 0, gap.away > 0):
            mine, its = (self._losses[each][side].sum() for each in (row, rival))
            if mine * _FAR_BETTER > its and rival != row:
                return False
        return True

    # --- longer and shorter rows

    def _pair(self, row: int, longer: int) -> tuple[float, float, tuple[int, int]]:
        numbers = self.numbers[row], self.numbers[longer]
        return self.squares[row], self.squares[longer], numbers

    def _longer(self, row: int) -> int:
        """A longer row that is better by more than chance; waves fit anything, so it has none."""
        data, best = self.measure.data, row
        if len(data.y) > _FEW:
            return row
        number = not self.programs[row].tokens[1:] and bool(self.programs[row].constants)
        rivals = [
            other
            for other in range(row + 1, len(self.programs))
            if len(data.y) >= _ROWS_A_NUMBER * self.programs[other].numbers
            and self.usable[other]
            and not self._waves(other)
        ]
        for other in rivals:
            suspect = not number and self._signs_improve(row, other)
            room = _LONGER_THAN_SUSPECT if suspect else _LONGER
            if self.lengths[other] - self.lengths[best] > room:
                continue
            limit = _SUSPECT if suspect or (number and best == row) else _UNLIKELY
            # The front has the best of many: any of these rows may be better by chance.
            chance = len(rivals) * f_test(*self._pair(best, other), len(data.y))
            better = chance < limit and self._gain(best, other) > _PAYS
            if better and self._gap_is_real(other):
                best = other
        return best

    def _signs_improve(self, row: int, other: int) -> bool:
        """Whether the signs of what a row leaves are no noise, and those of another are."""
        data = self.measure.data
        chances = (
            worst_signs(self.measure.leftover(self.programs[each]), data.X, data.place)
            for each in (row, other)
        )
        return next(chances) < _SUSPECT <= next(chances)

    def _shorter(self, row: int) -> int:
        """The simplest row with fewer numbers that predicts held-out rows as well as the best."""
        rows, mine = len(self.measure.data.y), fitted_numbers(self.programs[row])
        crowded = _FEWEST_HELD_OUT <= rows < _ROWS_TO_BE_SURE * mine
        if rows < _MANY and not crowded:
            return row
        # Where rows follow each other, so does their noise, and descriptions are too sure.
        room = math.inf if self._follow else _CERTAIN
        rivals = [
            other
            for other in range(row)
            if self.usable[other] and self.lengths[other] - self.lengths[row] <= room
        ]
        losses = self._losses.sum(axis=1)
        better = [other for other in rivals if losses[other] < losses[row]]
        better.sort(key=lambda other: float(losses[other]))
        best = next((other for other in better if not self._fault(other)), row)
        if best == row and crowded:
            return row
        # The best of many is so by chance in part.
        wanted = _PAYS_IN_TIME if self._follow else _PAYS
        allowed = _PAYS if best == row else _shared(wanted, len(rivals))
        for other in rivals:
            fewer = fitted_numbers(self.programs[other]) < mine
            if fewer and self._gain(other, best) <= allowed and not self._fault(other):
                return other
        return best if self._gain(row, best) > allowed else row


def _shared(wanted: float, tried: int) -> float:
    """The standard errors that are as unlikely in any of so many tries as the wanted ones in one.

    >>> round(_shared(2.0, 1), 2), round(_shared(2.0, 10), 2)
    (2.0, 2.93)
    """
    return math.sqrt(wanted**2 + 2 * math.log(max(tried, 1)))


def _cycles(phase: Floats) -> bool:
    """Whether rows show a wave of this phase: a period or more, and most of it by near rows."""
    steps = np.diff(np.unique(phase))
    shown = steps[steps <= math.pi / 2].sum()
    return bool(steps.sum() >= 2 * math.pi and 2 * shown >= steps.sum())
