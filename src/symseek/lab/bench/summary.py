"""The runs of each problem by each method summed up, and all of it as a JSON file."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from symseek.files.atomic import write_whole
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.bench.specs import command
from symseek.version import __version__


@dataclass(frozen=True)
class Summary:
    """The runs of one problem by one method.

    Evaluations and seconds to recovery are over the recovered runs, None where there is none. A
    run without a test error counts as infinitely wrong; what is not finite is None.
    """

    problem: str
    method: str
    graded_by: problems.GradedBy
    closed_form: bool
    runs: int
    recovered: int
    undecided: int
    expressions: float | None  # median evaluations to recovery
    seconds: float | None  # median seconds to recovery
    run_seconds: float  # median over all runs
    rate: float  # median expressions a second, over all runs
    mean_test_rmse: float | None
    median_test_rmse: float | None
    published: float | None  # the paper's recovery in percent
    published_rmse: float | None  # the paper's, in the statistic by which the problem is graded

    @property
    def recovery(self) -> float:
        """Recovered runs in percent."""
        return 100 * self.recovered / self.runs

    @property
    def test_rmse(self) -> float | None:
        """The paper's statistic of the test error."""
        return self.mean_test_rmse if self.graded_by == "mean RMSE" else self.median_test_rmse


def summarise(records: Sequence[Record]) -> list[Summary]:
    """A summary for each problem and method of the runs that are done, in order of appearance."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for each in records:
        if each.status == "done":
            groups.setdefault((each.spec.problem, each.spec.method), []).append(each)
    return [_summary(*key, group) for key, group in groups.items()]


def _summary(name: str, method: str, records: list[Record]) -> Summary:
    problem = problems.load(name)
    won = [each for each in records if each.recovered == "yes"]
    errors = [math.inf if each.test_rmse is None else each.test_rmse for each in records]
    return Summary(
        problem=name,
        method=method,
        graded_by=problem.graded_by,
        closed_form=problem.closed_form,
        runs=len(records),
        recovered=len(won),
        undecided=sum(each.recovered == "undecided" for each in records),
        expressions=statistics.median(each.evaluations for each in won) if won else None,
        seconds=statistics.median(each.seconds or 0.0 for each in won) if won else None,
        run_seconds=statistics.median(each.seconds or 0.0 for each in records),
        rate=statistics.median(each.rate for each in records),
        mean_test_rmse=_finite(statistics.fmean(errors)),
        median_test_rmse=_finite(statistics.median(errors)),
        published=problem.published.get(method),
        published_rmse=problem.published_rmse.get(method),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def average_recovery(summaries: Sequence[Summary]) -> float | None:
    """The mean over problems of one method's recovery in percent: the paper's headline number.

    Problems without a closed form, which nothing can recover, are left out.
    """
    rates = [each.recovery for each in summaries if each.closed_form]
    return statistics.fmean(rates) if rates else None


def write_json(
    path: Path, records: Sequence[Record], planned: int, interrupted: bool = False
) -> None:
    """Write runs and summaries as data; a reader sees the old file or the new one, never half."""
    summaries = summarise(records)
    averages = {
        method: average_recovery([each for each in summaries if each.method == method])
        for method in dict.fromkeys(each.method for each in summaries)
    }
    document = {
        "symseek": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "planned": planned,
        "interrupted": interrupted,
        "average_recovery": next(iter(averages.values())) if len(averages) == 1 else None,
        "average_recoveries": averages,
        "summary": [asdict(each) | {"recovery": each.recovery} for each in summaries],
        "runs": [_run(each) for each in records if each.status == "done"],
        "failures": [
            _spec(each.spec) | {"command": command(each.spec), "error": each.error}
            for each in records
            if each.status == "failed"
        ],
    }
    write_whole(path, json.dumps(document, indent=1) + "\n")


def _spec(spec: Spec) -> dict[str, Any]:
    return {
        "problem": spec.problem,
        "method": spec.method,
        "seed": spec.seed,
        "max_expressions": spec.settings["max_expressions"],
        "threads": spec.settings.get("threads", 1),
        "noise": spec.settings.get("noise", 0.0),
        "engine": spec.settings.get("engine", "native"),
    }


def _run(record: Record) -> dict[str, Any]:
    return _spec(record.spec) | {
        "recovered": record.recovered,
        "reason": record.reason,
        "expressions": record.evaluations,
        "seconds": record.seconds,
        "reward": record.reward,
        "expression": record.expression,
        "complexity": record.complexity,
        "test_rmse": record.test_rmse,
        "test_nrmse": record.test_nrmse,
        "rate": record.rate,
        "command": command(record.spec),
    }
