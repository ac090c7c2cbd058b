"""When a search on a table ends: a formula is exact, or there is only noise left to explain.

Patience is for noise. While what the formula to pick leaves is no noise, or most of the budget is
left, a search that brings nothing better begins anew instead. Everything here depends on the state
of the search alone, so that a resumed search ends where it would have.
"""

from __future__ import annotations

from collections.abc import Callable

from symseek.loop import Stopped
from symseek.programs import Program
from symseek.regression.exactness import looks_random
from symseek.regression.measure import Measure
from symseek.search import SearchState

__all__ = ["Ending"]

_NEAR = 1e-5  # errors at least so small may be exact once the constants are polished
_LITTLE = 0.1  # of the budget: a search that has used less of it has hardly begun


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
        self._exact: dict[Program, bool] = {}

    def __call__(self, state: SearchState) -> Stopped | None:
        """The reason to end, if there is one."""
        if any(self._is_exact(each.program) for each in state.front):
            return Stopped.EXACT
        if self.patience is None or not len(state.front):
            return None
        found = state.front[self._picked(state)].found_at
        took = max(found - state.begun, 0)
        since = state.expressions - max(found, self.patient_from, state.begun)
        return Stopped.EARLY if since >= max(self.patience, 2 * took) else None

    def too_soon(self, state: SearchState, budget: int) -> bool:
        """Whether a search that brings nothing better should begin anew rather than end."""
        if state.expressions < _LITTLE * budget:
            return True
        picked = state.front[self._picked(state)].program
        residuals = self.measure.residuals(picked)
        if self.measure.digits.explain(residuals):
            return False
        return not looks_random(residuals, self.measure.neighbours)

    def depends_on(self, budget: int, state: SearchState) -> bool:
        """Whether another budget, as long as it is not spent, might have changed the search."""
        return self.patience is not None and state.begun > 0 and self.patience < _LITTLE * budget

    def _picked(self, state: SearchState) -> int:
        programs = [each.program for each in state.front]
        return self.measure.elbow(programs, [self._error(each) for each in programs])

    def _error(self, program: Program) -> float:
        if program not in self._errors:
            self._errors[program] = self.measure.error(program)
        return self._errors[program]

    def _is_exact(self, program: Program) -> bool:
        if program not in self._exact:
            near = self._error(program) <= max(_NEAR, 10 * self.measure.digits.error)
            self._exact[program] = near and self.measure.exact(self.polished(program))
        return self._exact[program]
