"""The grades of a formula that was found: is the form right, is it solved, is it accurate?

- form: with its numbers fitted again to rows without noise it is exact on rows that it has not
  seen, and no part of it vanishes then. Numbers that noise has moved do not count. What is solved
  has the right form: parts that it rounds away do not count either.
- solved: as printed, with its numbers to three decimals, it is the law up to an added constant or a
  factor. This is SRBench's rule.
- accurate: R2 on the test rows is above 0.999.

They differ: a right form with 0.4992 for 1/2 is not solved, unless that is a factor of it all.
"""

from __future__ import annotations

from dataclasses import dataclass

from symseek.arrays import Floats
from symseek.lab.problems import BenchmarkProblem
from symseek.lab.srbench.protocol import Split
from symseek.lab.srbench.symbolic import verdict_of
from symseek.lab.trials.judge import judged
from symseek.lab.trials.refit import refitted, relative_error, superfluous
from symseek.programs import Program

ACCURATE = 0.999  # R2
NOT_HOPELESS = 0.5  # R2, below which SRBench does not look at the formula
EXACT = 1e-9  # RMSE over the spread of y: all that float64 loses in a fit of many numbers
NEARLY = 1e-6  # more than a fit may fall short of by rounding


@dataclass(frozen=True)
class Grades:
    """What a formula is worth."""

    form: bool
    solved: bool
    positive: bool  # solved, if SymPy knew the signs of the columns
    accurate: bool
    r2: float  # on the test rows
    why_form: str
    why_solved: str


def graded(program: Program, text: str, problem: BenchmarkProblem, rows: Split) -> Grades:
    """All grades of a formula, which is a program and a printed text.

    >>> from symseek.lab import problems
    >>> from symseek.lab.srbench.protocol import split
    >>> from symseek.model import full_library
    >>> problem = problems.load("strogatz_barmag1")
    >>> text = "0.4992*sin(x - y) - sin(x)"
    >>> program = Program.parse(text, full_library(problem.variables))
    >>> grades = graded(program, text, problem, split(problem.name, 0))
    >>> grades.form, grades.solved, grades.accurate
    (True, False, True)
    """
    score = r2(program, rows.X_test, rows.y_test)
    right, why_form = form(program, problem, rows)
    if score > NOT_HOPELESS:
        answer = verdict_of(text, problem.expression, problem.variables, rows.X_test)
        solved, positive, why = answer
    else:
        solved, positive, why = False, False, f"R2 on the test rows is not above {NOT_HOPELESS}"
    if solved and not right:
        right, why_form = True, f"solved; {why_form}"
    return Grades(right, solved, positive, score > ACCURATE, score, why_form, why)


def r2(program: Program, X: Floats, y: Floats) -> float:
    """R2; minus infinity where the program has no value on some row.

    >>> import numpy as np
    >>> r2(Program.parse("2*x"), np.array([[1.0], [2.0]]), np.array([2.0, 4.0]))
    1.0
    """
    return 1.0 - relative_error(program, X, y) ** 2


def form(program: Program, problem: BenchmarkProblem, rows: Split) -> tuple[bool, str]:
    """Whether the form is right, and why.

    An error that float64 may have left after the fit is decided by `symseek.recovery`, in many
    digits.
    """
    again = refitted(program, rows.X_train, rows.y_clean)
    error = relative_error(again, rows.X_test, rows.y_test)
    if error > NEARLY:
        return False, f"fitted to rows without noise it errs by {error:.1e} of the spread"
    part = superfluous(again, rows.X_train, rows.y_clean)
    if part is not None:
        return False, f"a part of it vanishes without noise: {part}"
    if error > EXACT and judged(again, problem).answer != "yes":
        return False, f"fitted to rows without noise it errs by {error:.1e} of the spread"
    return True, "exact when fitted to rows without noise"
