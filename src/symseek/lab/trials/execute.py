"""The run behind a spec: a search on a benchmark problem, judged by exact recovery.

A run depends on its spec alone: the points and their noise come from the problem's name, the search
from its seed. See `plan` for the settings.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from symseek.data import Data
from symseek.jobs.perform import report
from symseek.jobs.record import Record, Snapshot
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.trials.judge import Judge, StopAtRecovery, errors_on_test, readable
from symseek.lab.trials.plan import LENGTH, Plan, gp_config, search_config
from symseek.lab.trials.training_curve import NoisyRewards, RewardRecorder, TrainingCurve

if TYPE_CHECKING:
    from symseek.front import Entry, Front
    from symseek.lab.baselines.gp import GeneticProgramming
    from symseek.loop import Iteration
    from symseek.recovery.equivalence import Recovery
    from symseek.search import Search, SearchConfig
    from symseek.structure.proposals import Proposals
    from symseek.tokens import Library

    AnySearch: TypeAlias = Search | GeneticProgramming

EXECUTE = "symseek.lab.trials.execute:execute"
"""The name of `execute`, for the workers of `symseek.jobs`."""

# Seconds between two reports of a running search: smooth to the eye, free to the search.
REPORT_EVERY = 0.2


def execute(spec: Spec) -> Record:
    """Search until the formula is recovered or the budget is spent.

    `evaluations` and `seconds` are those to recovery where the run ended with it, and those of the
    whole run otherwise. Seconds are the search's own, without the symbolic checks.

    >>> record = execute(Spec("dsr", "Nguyen-11", 0, {"max_expressions": 100_000}))
    >>> record.recovered
    'yes'
    """
    from symseek.loop import Stopped

    plan, problem = Plan.of(spec), problems.load(spec.problem)
    data = training_data(problem, plan)
    recorder, search = _set_up(spec, plan, problem, data)
    judge = judge_of(problem, plan)
    stop = StopAtRecovery(judge)
    curve = TrainingCurve(plan.max_expressions, plan.curve, plan.distribution, recorder)
    reporter = Reporter(spec, judge)

    def callback(now: Iteration) -> bool:
        curve(now)
        reporter(now)
        return plan.early_stop and stop(now)

    result = search.run(callback=callback)
    if result.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    spent = result.expressions, result.seconds - judge.seconds
    return record_of(spec, result.front, *(stop.recovered_at or spent), curve.finish(), judge)


def judge_of(problem: problems.BenchmarkProblem, plan: Plan) -> Judge:
    """Who says whether the formula was found."""
    clean = training_data(problem, replace(plan, noise=0.0)) if plan.noise else None
    return Judge(problem, clean)


def record_of(
    spec: Spec,
    front: Front,
    evaluations: int,
    seconds: float,
    curve: dict[str, list[Any]],
    judge: Judge | None = None,
) -> Record:
    """The record of a search that has ended with this front."""
    plan, problem = Plan.of(spec), problems.load(spec.problem)
    judge = judge or judge_of(problem, plan)
    rows = [(each.complexity, each.reward, str(each.program)) for each in front]
    record = Record(spec, evaluations=evaluations, seconds=seconds, front=rows, curve=curve)
    return _judged(record, front, judge, training_data(problem, plan), plan)


def training_data(problem: problems.BenchmarkProblem, plan: Plan) -> problems.TrainTest:
    """The problem's points, more of them or with noise where the plan says so.

    One draw of the noise serves every seed and every level, as the points do: levels differ only in
    its size. The test targets have no noise.

    >>> problem = problems.load("Nguyen-1")
    >>> training_data(problem, Plan(4000, data_factor=10)).X_train.shape
    (200, 1)
    """
    if plan.data_factor > 1:
        train = replace(problem.train, count=problem.train.count * plan.data_factor)
        problem = replace(problem, train=train)
    data = problem.data()
    if not plan.noise:
        return data
    random = np.random.RandomState(zlib.adler32(f"{problem.name} noise".encode()))
    size = plan.noise * float(np.sqrt(np.mean(data.y_train**2)))
    return data._replace(y_train=data.y_train + size * random.normal(size=len(data.y_train)))


def _set_up(
    spec: Spec, plan: Plan, problem: problems.BenchmarkProblem, data: problems.TrainTest
) -> tuple[RewardRecorder | None, AnySearch]:
    """The search, and what records its rewards."""
    from symseek.search import Search

    given = (plan.library(problem), data.X_train, data.y_train)
    more: dict[str, Any] = {"reward": plan.reward, "seed": spec.seed, "threads": plan.threads}
    if spec.method == "gp":
        from symseek.lab.baselines.gp import GeneticProgramming

        return None, GeneticProgramming(*given, gp_config(plan), **more)
    config, recorder = search_config(spec.method, plan), None
    if plan.reward_noise:
        noisy = NoisyRewards(config.objective, plan.reward_noise, spec.seed)
        config = replace(config, objective=noisy)
    if plan.distribution:
        recorder = RewardRecorder(config.objective)
        config = replace(config, objective=recorder)
    more["constraints"] = plan.constraints()
    more["engine"] = plan.engine
    rows = Data.checked(data.X_train, data.y_train, given[0].variables)
    more["proposals"] = proposals_for(spec.method, given[0], rows, config, dict(more))
    return recorder, Search(*given, config, **more)


def proposals_for(
    method: str, library: Library, data: Data, config: SearchConfig, options: dict[str, Any]
) -> Proposals | None:
    """What the structure of the data proposes to a hybrid, as for a fit.

    None for other methods and for rewards of other errors. `options` are those of the search.
    """
    from symseek.rewards import reward_named
    from symseek.search import Search
    from symseek.structure.proposals import Proposals

    if method != "hybrid" or not Proposals.suit(reward_named(options["reward"])):
        return None

    def searched(library: Library, data: Data) -> Search:
        return Search(library, data.X, data.y, config, weights=data.weights, **options)

    return Proposals(library, data, 2 * LENGTH, searched, options["threads"])


class Reporter:
    """Reports now and then how a search stands; the seconds of a judge are not the search's."""

    def __init__(self, spec: Spec, judge: Judge | None = None) -> None:
        self.spec = spec
        self.judge = judge
        self._due = 0.0

    def __call__(self, now: Iteration) -> None:
        best = now.best
        if best is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + REPORT_EVERY
        seconds = now.seconds - (0.0 if self.judge is None else self.judge.seconds)
        report(Snapshot(self.spec, now.expressions, seconds, best.reward, str(best.program)))


def _judged(
    record: Record, front: Front, judge: Judge, data: problems.TrainTest, plan: Plan
) -> Record:
    """The record with what the search found."""
    best = front.best
    if best is None:
        return replace(record, reason="no valid expression was found")
    verdict = judge(best.program)
    if plan.front_recovery and verdict.answer != "yes":
        best, verdict = _recovered_on_front(front, judge) or (best, verdict)
    constants = judge.problem.constants
    formula = readable(best.program, data) if constants else str(best.program)
    rmse, nrmse = errors_on_test(best.program, data)
    return replace(
        record,
        recovered=verdict.answer,
        reason=verdict.reason,
        reward=best.reward,
        expression=formula,
        complexity=best.complexity,
        test_rmse=rmse,
        test_nrmse=nrmse,
    )


def _recovered_on_front(front: Front, judge: Judge) -> tuple[Entry, Recovery] | None:
    """The entry of the front that is the formula, if one is."""
    for entry in front:
        verdict = judge(entry.program)
        if verdict.answer == "yes":
            return entry, verdict
    return None
