"""The run behind a spec: a search on a benchmark problem, judged as `symseek bench` judges it.

What a run does is settled by its spec alone: the points and their noise come from the problem's
name, the search from its seed. See `plan` for the settings.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from symseek import problems
from symseek.bench import Job, Judge, Watch, errors_on_test, readable
from symseek.experiments.course import Course, NoisyRewards, Witness
from symseek.experiments.plan import Plan, gp_config, search_config
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec

if TYPE_CHECKING:
    from symseek.baselines.gp import GeneticProgramming
    from symseek.front import Entry
    from symseek.loop import Iteration, Result
    from symseek.recovery.equivalence import Recovery
    from symseek.search import Search

    Run: TypeAlias = Search | GeneticProgramming

__all__ = ["execute", "training_data"]


def execute(spec: Spec) -> Record:
    """Run it.

    `evaluations` and `seconds` are those to recovery where the run ended with it, and those of the
    whole run otherwise.

    >>> record = execute(Spec("dsr", "Nguyen-11", 0, {"max_expressions": 100_000}))
    >>> record.recovered
    'yes'
    """
    from symseek.loop import Stopped

    plan, problem = Plan.of(spec), problems.load(spec.problem)
    data = training_data(problem, plan)
    witness, search = _set_up(spec, plan, problem, data)
    judge = Judge(problem)
    watch = Watch(
        Job(spec.problem, spec.method, spec.seed, plan.max_expressions), judge, lambda progress: 0
    )
    course = Course(plan.max_expressions, plan.curve, witness)
    result = search.run(callback=_callback(course, watch if plan.early_stop else None))
    if result.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    spent = result.expressions, result.seconds - judge.seconds
    evaluations, seconds = watch.recovered_at or spent
    record = Record(
        spec,
        evaluations=evaluations,
        seconds=seconds,
        front=[(each.complexity, each.reward, str(each.program)) for each in result.front],
        curve=course.finish(),
    )
    return _judged(record, result, judge, data, plan)


def training_data(problem: problems.Problem, plan: Plan) -> problems.Data:
    """The problem's points, more of them or with noise where the plan says so.

    One draw of the noise serves every seed and every level, as the points do: levels differ in its
    size alone. The test targets are without it.

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
    spec: Spec, plan: Plan, problem: problems.Problem, data: problems.Data
) -> tuple[Witness | None, Run]:
    """The search, and who sees its rewards."""
    from symseek.search import Search

    given = (problem.library(), data.X_train, data.y_train)
    if spec.method == "gp":
        from symseek.baselines.gp import GeneticProgramming

        config = gp_config(plan)
        return None, GeneticProgramming(*given, config, reward=plan.reward, seed=spec.seed)
    settings, witness = search_config(spec.method, plan), None
    if plan.reward_noise:
        noisy = NoisyRewards(settings.objective, plan.reward_noise, spec.seed)
        settings = replace(settings, objective=noisy)
    if plan.distribution:
        witness = Witness(settings.objective)
        settings = replace(settings, objective=witness)
    more: dict[str, Any] = {"constraints": plan.constraints(), "seed": spec.seed}
    return witness, Search(*given, settings, reward=plan.reward, **more)


def _callback(course: Course, watch: Watch | None) -> Callable[[Iteration], bool]:
    def callback(now: Iteration) -> bool:
        course(now)
        return watch is not None and watch(now)

    return callback


def _judged(
    record: Record, result: Result, judge: Judge, data: problems.Data, plan: Plan
) -> Record:
    """The record with what the search found."""
    if result.best is None:
        return replace(record, reason="no valid expression was found")
    best, verdict = result.best, judge(result.best.program)
    if plan.front_recovery and verdict.answer != "yes":
        best, verdict = _found_on(result, judge) or (best, verdict)
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


def _found_on(result: Result, judge: Judge) -> tuple[Entry, Recovery] | None:
    """The entry of the front that is the formula, if one is."""
    for entry in result.front:
        verdict = judge(entry.program)
        if verdict.answer == "yes":
            return entry, verdict
    return None
