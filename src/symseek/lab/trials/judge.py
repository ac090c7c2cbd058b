"""Was the formula found?  How a program is judged, and when a search may stop for it.

The reward alone does not decide: another formula may fit the points as well. So a program that fits
exactly is compared with the true formula by algebra (`symseek.recovery`).
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.front import Entry
    from symseek.lab.problems import BenchmarkProblem, TrainTest
    from symseek.loop import Iteration
    from symseek.programs import Program
    from symseek.recovery.equivalence import Recovery

# Noise-free targets and float64: the true formula, however written, errs by a few units in the last
# place, so anything below this reward is another formula and not worth a symbolic check.
EXACT_REWARD = 1 - 1e-9

# The same where constants are fitted: they stop a little short of the true ones.
NEAR_REWARD = 1 - 1e-6

# How far, relative to its size, a fitted constant may lie from the true one: well beyond what the
# fit leaves undone, and well within the three digits to which the table's constants are written.
CONSTANT_TOLERANCE = 1e-4


def judged(program: Program, problem: BenchmarkProblem) -> Recovery:
    """Whether a program is the problem's formula, fitted constants within `CONSTANT_TOLERANCE`.

    A fit may leave a term that the formula does not have, with a factor of 1e-14. So a program that
    is not the formula as it stands is compared again with its constants rounded.

    >>> from symseek.lab import problems
    >>> problem = problems.load("Nguyen-1")
    >>> judged(problem.truth(), problem).answer
    'yes'
    """
    from symseek.recovery.equivalence import Recovery

    if not problem.closed_form:
        return Recovery("no", "the target has no closed form")
    verdict = _compared(program, problem)
    if verdict.answer == "yes" or not problem.constants:
        return verdict
    neat = _rounded(program, problem)
    return verdict if neat is None else _compared(neat, problem)


def _compared(program: Program, problem: BenchmarkProblem) -> Recovery:
    from symseek.recovery.equivalence import equivalent  # only a finished formula needs SymPy

    return equivalent(
        program,
        problem.expression,
        problem.variables,
        positive=problem.positive,
        tolerance=CONSTANT_TOLERANCE if problem.constants else None,
    )


def _rounded(program: Program, problem: BenchmarkProblem) -> Program | None:
    """The program simplified, with constants rounded where the error stays; None if unchanged."""
    from symseek.algebra.rounding import rounded
    from symseek.algebra.simplify import simplified
    from symseek.model import full_library

    data, library = problem.data(), full_library(problem.variables)
    simple = simplified(program, library, data.X_train)
    try:
        neat = rounded(simple, data.X_train, data.y_train).program
    except InputError:  # undefined on some row
        return None
    neat = simplified(neat, library, data.X_train)
    return None if neat == simple else neat


def judged_form(program: Program, problem: BenchmarkProblem, clean: TrainTest) -> Recovery:
    """Whether a program is the problem's formula once its constants are fitted to clean rows.

    A program is not if a part of it vanishes then: a long formula may have many as special cases.

    >>> from symseek import Program
    >>> from symseek.lab import problems
    >>> from symseek.model import full_library
    >>> problem = problems.load("Nguyen-8c")
    >>> program = Program.parse("sqrt(1.19*x)", full_library(problem.variables))
    >>> judged(program, problem).answer, judged_form(program, problem, problem.data()).answer
    ('no', 'yes')
    """
    from symseek.lab.trials.refit import refitted, relative_error, superfluous
    from symseek.recovery.equivalence import Recovery

    rows = clean.X_train, clean.y_train
    again = refitted(program, *rows)
    if relative_error(again, *rows) > 1 - NEAR_REWARD:
        return Recovery("no", "with its constants fitted to rows without noise it still errs")
    part = superfluous(again, *rows)
    if part is not None:
        return Recovery("no", f"a part of it vanishes without noise: {part}")
    return judged(again, problem)


class Judge:
    """Judges the programs of one run, each once, and adds up the seconds that this takes.

    With `clean` rows, of a run on noisy ones, fitted constants count as those of the clean rows.
    """

    def __init__(self, problem: BenchmarkProblem, clean: TrainTest | None = None) -> None:
        self.problem = problem
        self.seconds = 0.0
        self._clean = clean if problem.constants and problem.closed_form else None
        self._answers: dict[Program, Recovery] = {}

    def __call__(self, program: Program) -> Recovery:
        if program not in self._answers:
            start = time.perf_counter()
            self._answers[program] = self._judged(program)
            self.seconds += time.perf_counter() - start
        return self._answers[program]

    def _judged(self, program: Program) -> Recovery:
        if self._clean is None:
            return judged(program, self.problem)
        return judged_form(program, self.problem, self._clean)


class StopAtRecovery:
    """A search's callback, which ends it once its best formula is recovered."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.recovered_at: tuple[int, float] | None = None  # expressions, seconds
        self.allowed = 1 - (NEAR_REWARD if judge.problem.constants else EXACT_REWARD)
        self._asked: dict[tuple[int, ...], float] = {}  # tokens: how far the reward was from 1

    def __call__(self, now: Iteration) -> bool:
        best = now.best
        if best is None or not self.worth_asking(best):
            return False
        seconds = now.seconds - self.judge.seconds
        if self.judge(best.program).answer != "yes":
            return False
        self.recovered_at = now.expressions, seconds
        return True

    def worth_asking(self, best: Entry) -> bool:
        """Whether the fit is exact, and the formula new or its constants ten times better.

        One formula can come back in every iteration with slightly better constants, and each time
        the check might take seconds to say no again.
        """
        gap, tokens = 1 - best.reward, best.program.tokens
        if gap > self.allowed or gap >= self._asked.get(tokens, math.inf) / 10:
            return False
        self._asked[tokens] = gap
        return True


def readable(program: Program, data: TrainTest) -> str:
    """The formula, its constants rounded where that fits as well."""
    from symseek.algebra.rounding import rounded

    return str(rounded(program, data.X_train, data.y_train))


def errors_on_test(program: Program, data: TrainTest) -> tuple[float | None, float | None]:
    """RMSE on the test points, as it is and over the targets' standard deviation.

    None where the program has no finite value at a test point.
    """
    with np.errstate(over="ignore"):
        errors = program.evaluate(data.X_test) - data.y_test
        rmse = float(np.sqrt(np.mean(errors**2)))
    if not math.isfinite(rmse):
        return None, None
    return rmse, rmse / float(np.std(data.y_test))
