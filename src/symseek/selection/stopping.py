"""When a search on a table ends, and when it begins anew.

A fit searches until a formula is exact, or what is left cannot be distinguished from noise by a
test, or the time is up. A search that has stopped improving while a pattern is left begins anew.
Everything here depends on the state of the search alone: neither on its budgets nor on a clock, so
that a search that is resumed, or repeated by its count of expressions, ends where it would have.
"""

from __future__ import annotations

from collections.abc import Callable

from symseek.front import Front
from symseek.loop import Stopped
from symseek.programs import Program
from symseek.search import SearchState
from symseek.selection.measure import Measure

_NEAR = 1e-5  # errors at least so small may be exact once the constants are polished


class Ending:
    """Asked between two iterations whether the search has ended, and why."""

    def __init__(
        self, measure: Measure, patience: int | None, polished: Callable[[Program], Program]
    ) -> None:
        self.measure = measure
        self.patience = patience
        self.polished = polished  # a program, its constants fitted to the last digit
        self.patient_from = 0  # expressions
        self._errors: dict[Program, float] = {}
        self._fitted: dict[Program, Program] = {}
        self._exact: dict[Program, bool] = {}
        self._noise: dict[Program, bool] = {}
        self._last: tuple[Front, int] | None = None  # a front, and the row to pick

    def __call__(self, state: SearchState) -> Stopped | None:
        """The reason to end, if there is one."""
        if any(self._is_exact(each.program) for each in state.front):
            return Stopped.EXACT
        return Stopped.EARLY if self._stagnates(state) and self._leaves_noise(state) else None

    def begins_anew(self, state: SearchState) -> bool:
        """Whether the search has stopped improving although what is left is no noise."""
        return self._stagnates(state) and not self._leaves_noise(state)

    def _stagnates(self, state: SearchState) -> bool:
        """Whether patience is over: nothing better for long since the formula to pick was found."""
        if self.patience is None or not len(state.front):
            return False
        found = state.front[self._picked(state.front)].found_at
        took = max(found - state.restarted_at, 0)
        since = state.expressions - max(found, self.patient_from, state.restarted_at)
        return since >= max(self.patience, 2 * took)

    def _leaves_noise(self, state: SearchState) -> bool:
        """Whether the residuals of the formula to pick are rounding, or look like noise."""
        picked = state.front[self._picked(state.front)].program
        if picked not in self._noise:
            # Constants that are nearly fitted leave a pattern which is not the formula's.
            self._noise[picked] = self.measure.leaves_noise(self.polished(picked))
        return self._noise[picked]

    def _picked(self, front: Front) -> int:
        """The row of a front to pick; asked more than once in an iteration."""
        if self._last is None or self._last[0] is not front:
            programs = [self._known(each.program) for each in front]
            errors = [self._error(each) for each in programs]
            self._last = front, self.measure.shortest(programs, errors)
        return self._last[1]

    def _known(self, program: Program) -> Program:
        """A program with the groups' own numbers, which a search does not keep."""
        if not program.own_used or program.own:
            return program
        if program not in self._fitted:
            self._fitted[program] = self.polished(program)
        return self._fitted[program]

    def _error(self, program: Program) -> float:
        program = self._known(program)
        if program not in self._errors:
            self._errors[program] = self.measure.error(program)
        return self._errors[program]

    def _is_exact(self, program: Program) -> bool:
        if program not in self._exact:
            near = self._error(program) <= max(_NEAR, 10 * self.measure.digits.error)
            self._exact[program] = near and self.measure.exact(self.polished(program))
        return self._exact[program]
