"""One run: a fit with the default settings and SRBench's limit on evaluations, then its grades.

The settings of a spec are `noise`, `seconds` and `threads`, and `max_expressions` where it is
another number than SRBench's. Where seconds end a run, another machine may find another
formula.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek.arguments import refused
from symseek.errors import unknown_name
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.srbench.grading import graded
from symseek.lab.srbench.protocol import NAMES, split
from symseek.lab.trials.execute import Reporter

if TYPE_CHECKING:
    from symseek.settings import Settings

#: The name by which `symseek.lab.run` finds the function.
EXECUTE = "symseek.lab.srbench.execute:execute"

METHOD = "symseek"  # as the specs have it: a fit without settings

MOST_EXPRESSIONS = 1_000_000
"""The evaluations that SRBench's protocol allows a method in a run."""

_KNOWN = ("noise", "seconds", "threads", "max_expressions")


def check(spec: Spec) -> None:
    """Refuse a spec that no run can have.

    >>> check(Spec(METHOD, "feynman_I_12_1", 0, {"noise": 0.0, "seconds": 60.0, "theards": 2}))
    Traceback (most recent call last):
    ...
    symseek.errors.InputError: unknown setting 'theards'; did you mean 'threads'?
    """
    if spec.method != METHOD:
        raise unknown_name("method", spec.method, [METHOD])
    if spec.problem not in NAMES:
        raise unknown_name("problem of SRBench", spec.problem, NAMES)
    for name in spec.settings:
        if name not in _KNOWN:
            raise unknown_name("setting", name, _KNOWN)
    noise = spec.settings.get("noise", 0.0)
    if type(noise) not in (int, float) or noise < 0:
        raise refused("noise", noise, "0 or more")
    settings_of(spec)


def settings_of(spec: Spec) -> Settings:
    """The settings of the fit."""
    from symseek.settings import Settings

    given: dict[str, Any] = {"seed": spec.seed, "threads": spec.settings.get("threads", 1)}
    if "seconds" in spec.settings:
        given["max_seconds"] = spec.settings["seconds"]
    given["max_expressions"] = spec.settings.get("max_expressions", MOST_EXPRESSIONS)
    return Settings(**given)


def execute(spec: Spec) -> Record:
    """Fit the problem's noisy rows and grade the formula that is picked.

    In the record, `recovered` says whether the form is right; `curve` has all the grades.

    >>> spec = Spec(METHOD, "feynman_I_12_1", 0, {"noise": 0.0, "max_expressions": 2000})
    >>> record = execute(spec)
    >>> record.expression, record.recovered, record.curve["solved"]
    ('mu*Nn', 'yes', [True])
    """
    from symseek.loop import Stopped
    from symseek.regression.regression import Regression

    check(spec)
    problem, rows = problems.load(spec.problem), split(spec.problem, spec.seed, _noise(spec))
    start = time.perf_counter()
    regression = Regression(rows.X_train, rows.y_train, problem.variables, settings_of(spec))
    result = regression.run(Reporter(spec))
    if result.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    model = regression.model()
    seconds = time.perf_counter() - start
    best = model.best
    grades = graded(best.program, best.text, problem, rows)
    nrmse = float(np.sqrt(max(0.0, 1.0 - grades.r2)))
    return Record(
        spec,
        recovered="yes" if grades.form else "no",
        reason=f"form: {grades.why_form}; SRBench: {grades.why_solved}",
        evaluations=result.expressions,
        seconds=seconds,
        reward=best.reward,
        expression=best.text,
        complexity=best.complexity,
        test_rmse=nrmse * float(np.std(rows.y_test)),
        test_nrmse=nrmse,
        front=[(each.complexity, each.reward, each.text) for each in model.formulas],
        curve={
            "form": [grades.form],
            "solved": [grades.solved],
            "positive": [grades.positive],
            "accurate": [grades.accurate],
            "r2": [grades.r2],
            "complexity": [best.complexity],
            "reason": [f"form: {grades.why_form}; SRBench: {grades.why_solved}"],
        },
    )


def _noise(spec: Spec) -> float:
    return float(spec.settings.get("noise", 0.0))
