"""The run behind a spec: a benchmark job, judged as `symseek bench` judges it."""

from __future__ import annotations

from symseek import bench
from symseek.errors import InputError, unknown_name
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec

__all__ = ["execute"]

_SETTINGS = ("max_expressions",)


def execute(spec: Spec) -> Record:
    """Run it. The one setting, `max_expressions`, is the budget.

    >>> record = execute(Spec("dsr", "Nguyen-11", 0, {"max_expressions": 100_000}))
    >>> record.recovered
    'yes'
    """
    run = bench.run_job(bench.Job(spec.problem, spec.method, spec.seed, _budget(spec)))
    return Record(
        spec,
        recovered=run.recovered,  # type: ignore[arg-type]  # bench says it in a comment
        reason=run.reason,
        evaluations=run.expressions,
        seconds=run.seconds,
        reward=run.reward,
        expression=run.expression,
        complexity=run.complexity,
        test_rmse=run.test_rmse,
        test_nrmse=run.test_nrmse,
    )


def _budget(spec: Spec) -> int:
    for name in spec.settings:
        if name not in _SETTINGS:
            raise unknown_name("setting", name, _SETTINGS)
    budget = spec.settings.get("max_expressions")
    if type(budget) is not int:
        raise InputError(f"max_expressions is {budget!r}; {spec} needs a whole number")
    return budget
