"""Benchmark runs: one search for each problem, method and seed, judged by exact recovery.

A run ends when its best formula is proved to be the true one, or with its budget. It depends on
its problem, method, seed and budget alone, so one line of shell runs it again exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symseek import problems
from symseek.errors import InputError

if TYPE_CHECKING:
    from symseek.front import Entry
    from symseek.loop import Iteration
    from symseek.programs import Program
    from symseek.recovery.equivalence import Recovery
    from symseek.search import SearchConfig

__all__ = [
    "Job",
    "Judge",
    "Outcome",
    "Progress",
    "Run",
    "Watch",
    "errors_on_test",
    "judged",
    "make_jobs",
    "readable",
    "run_job",
]

# Noise-free targets and float64: the true formula, however written, errs by a few units in the last
# place, so anything below this reward is another formula and not worth a symbolic check.
EXACT_REWARD = 1 - 1e-9

# The same where constants are fitted: they stop a little short of the true ones.
NEAR_REWARD = 1 - 1e-6

# How far, relative to its size, a fitted constant may lie from the true one: well beyond what the
# fit leaves undone, and well within the three digits to which the table's constants are written.
CONSTANT_TOLERANCE = 1e-4

# What a search takes; checked before the first of many runs starts.
SEEDS = range(2**64)
THREADS = range(1, 1025)

# Seconds between two reports of a running search: smooth to the eye, free to the search.
REPORT_EVERY = 0.2


@dataclass(frozen=True)
class Job:
    """Everything that determines a run, and the threads that do not change its result."""

    problem: str
    method: str
    seed: int
    max_expressions: int
    threads: int = 1

    def config(self) -> SearchConfig:
        """The method's settings with this budget; an unknown method is refused."""
        from symseek import presets

        return presets.method(self.method, max_expressions=self.max_expressions)

    @property
    def command(self) -> str:
        """The shell command that runs it again exactly.

        >>> Job("Nguyen-5", "dsr", 3, 2_000_000).command
        'symseek bench Nguyen-5 --method dsr --seed 3'
        """
        problem = problems.load(self.problem)
        words = ["symseek bench", problem.shell_name, "--method", self.method]
        words += ["--seed", str(self.seed)]
        if self.max_expressions != problem.budget:
            words += ["--max-expressions", str(self.max_expressions)]
        return " ".join(words)


@dataclass(frozen=True)
class Progress:
    """How a running search stands."""

    job: Job
    expressions: int
    seconds: float
    reward: float
    expression: str


@dataclass(frozen=True)
class Run:
    """A finished run. `expressions` and `seconds` are those to recovery where it was recovered.

    Seconds are the search's own: neither the start of a process nor the symbolic checks count. The
    test errors are those of the best formula on the problem's test points, None where it has no
    finite value on one of them.
    """

    job: Job
    recovered: str  # "yes", "no" or "undecided"
    reason: str
    expressions: int
    seconds: float
    reward: float
    expression: str
    complexity: int
    test_rmse: float | None = None
    test_nrmse: float | None = None  # over the standard deviation of the test targets

    @property
    def rate(self) -> float:
        """Expressions a second."""
        return self.expressions / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Outcome:
    """What a set of jobs came to, or has come to so far."""

    planned: int = 0
    runs: list[Run] = field(default_factory=list)
    failures: list[tuple[Job, str]] = field(default_factory=list)
    interrupted: bool = False


def make_jobs(
    wanted: Sequence[str],
    method: str = "dsr",  # or several, separated by commas
    seeds: Iterable[int] = range(10),
    max_expressions: int | None = None,
    threads: int = 1,
) -> list[Job]:
    """The jobs for problems or suites, problem by problem; bad names are refused here.

    Methods take turns, so that what else the machine does befalls them all alike.

    >>> [(job.seed, job.method) for job in make_jobs(["Nguyen-1"], "hybrid,dsr", seeds=[3, 5])]
    [(3, 'hybrid'), (3, 'dsr'), (5, 'hybrid'), (5, 'dsr')]
    """
    chosen, methods = problems.select(*wanted), _names(method)
    seeds = list(seeds)
    if threads not in THREADS:
        raise InputError(f"threads is {threads}; it must be from {THREADS[0]} to {THREADS[-1]}")
    for seed in seeds:
        if seed not in SEEDS:
            raise InputError(f"the seed is {seed}; it must be from 0 to 2**64 - 1")
    jobs = [
        Job(problem.name, name, seed, max_expressions or problem.budget, threads)
        for problem in chosen
        for seed in seeds
        for name in methods
    ]
    for job in jobs[: len(methods)]:
        job.config()
    return jobs


def _names(methods: str) -> list[str]:
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise InputError(f"{methods!r} names no method; write dsr, or hybrid,dsr")
    return list(dict.fromkeys(names))


def judged(program: Program, problem: problems.Problem) -> Recovery:
    """Whether a program is the problem's formula, fitted constants within `CONSTANT_TOLERANCE`.

    A fit makes of a term that the law does not have one times 1e-14: where a program is not the
    formula as it stands, it is judged with neat numbers for its constants too.

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
    neat = _neat(program, problem)
    return verdict if neat is None else _compared(neat, problem)


def _compared(program: Program, problem: problems.Problem) -> Recovery:
    from symseek.recovery.equivalence import equivalent  # only a finished formula needs SymPy

    return equivalent(
        program,
        problem.expression,
        problem.variables,
        positive=problem.positive,
        tolerance=CONSTANT_TOLERANCE if problem.constants else None,
    )


def _neat(program: Program, problem: problems.Problem) -> Program | None:
    """The program simplified, with neat numbers where the error stays; None if it is as it was."""
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


class Judge:
    """Asks whether a formula is the true one, never twice, and keeps the time it took."""

    def __init__(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.seconds = 0.0
        self._answers: dict[Program, Recovery] = {}

    def __call__(self, program: Program) -> Recovery:
        if program not in self._answers:
            start = time.perf_counter()
            self._answers[program] = judged(program, self.problem)
            self.seconds += time.perf_counter() - start
        return self._answers[program]


class Watch:
    """The search's callback: reports now and then, and stops once the formula is recovered."""

    def __init__(self, job: Job, judge: Judge, report: Callable[[Progress], object]) -> None:
        self.job = job
        self.judge = judge
        self.report = report
        self.recovered_at: tuple[int, float] | None = None  # expressions, seconds
        self._allowed = 1 - (NEAR_REWARD if problems.load(job.problem).constants else EXACT_REWARD)
        self._asked: dict[tuple[int, ...], float] = {}  # tokens: how far the reward was from 1
        self._due = 0.0

    def __call__(self, now: Iteration) -> bool:
        best = now.best
        if best is None:
            return False
        seconds = now.seconds - self.judge.seconds
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + REPORT_EVERY
            formula = str(best.program)
            self.report(Progress(self.job, now.expressions, seconds, best.reward, formula))
        if not self._worth_asking(best) or self.judge(best.program).answer != "yes":
            return False
        self.recovered_at = now.expressions, seconds
        return True

    def _worth_asking(self, best: Entry) -> bool:
        """Whether the fit is exact, and the formula new or its constants ten times better.

        One formula can come back in every iteration with constants that are a trifle better, and
        each time the check might take seconds to say no again.
        """
        gap, tokens = 1 - best.reward, best.program.tokens
        if gap > self._allowed or gap >= self._asked.get(tokens, math.inf) / 10:
            return False
        self._asked[tokens] = gap
        return True


def run_job(job: Job, report: Callable[[Progress], object] = lambda progress: None) -> Run:
    """Search until the formula is recovered or the budget is spent.

    >>> run = run_job(Job("Nguyen-11", "dsr", seed=0, max_expressions=100_000))
    >>> run.recovered
    'yes'
    """
    from symseek.loop import Stopped
    from symseek.search import Search

    problem = problems.load(job.problem)
    data = problem.data()
    judge = Judge(problem)
    watch = Watch(job, judge, report)
    search = Search(
        problem.library(),
        data.X_train,
        data.y_train,
        config=job.config(),
        seed=job.seed,
        threads=job.threads,
    )
    result = search.run(callback=watch)
    if result.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    spent = result.expressions, result.seconds - judge.seconds
    expressions, seconds = watch.recovered_at or spent
    best = result.best
    if best is None:
        return Run(job, "no", "no valid expression was found", expressions, seconds, 0.0, "", 0)
    verdict, errors = judge(best.program), errors_on_test(best.program, data)
    formula = readable(best.program, data) if problem.constants else str(best.program)
    return Run(job, *verdict, expressions, seconds, best.reward, formula, best.complexity, *errors)


def readable(program: Program, data: problems.Data) -> str:
    """The formula with neat numbers where they fit as well as the fitted ones."""
    from symseek.algebra.rounding import rounded

    return str(rounded(program, data.X_train, data.y_train))


def errors_on_test(program: Program, data: problems.Data) -> tuple[float | None, float | None]:
    """RMSE on the test points, as it is and over the targets' standard deviation."""
    with np.errstate(over="ignore"):
        errors = program.evaluate(data.X_test) - data.y_test
        rmse = float(np.sqrt(np.mean(errors**2)))
    if not math.isfinite(rmse):
        return None, None
    return rmse, rmse / float(np.std(data.y_test))
