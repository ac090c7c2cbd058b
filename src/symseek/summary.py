"""What benchmark runs came to, by problem and method, and the whole outcome as a JSON file."""

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

from symseek import problems
from symseek.bench import Outcome, Run
from symseek.files.atomic import write_whole

__all__ = ["Summary", "average_recovery", "summarise", "write_json"]


@dataclass(frozen=True)
class Summary:
    """The runs of one problem by one method.

    What is said of recovery is over the recovered runs, None where there is none. A test error is
    None where a run has none: it counts as infinite, and a median may yet be finite.
    """

    problem: str
    method: str
    graded_by: problems.Grade
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


def summarise(runs: Sequence[Run]) -> list[Summary]:
    """One summary for each problem and method, in the order in which they first appear."""
    grouped: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.job.problem, run.job.method), []).append(run)
    return [_summary(*key, group) for key, group in grouped.items()]


def _summary(name: str, method: str, runs: list[Run]) -> Summary:
    problem = problems.load(name)
    won = [run for run in runs if run.recovered == "yes"]
    errors = [math.inf if run.test_rmse is None else run.test_rmse for run in runs]
    return Summary(
        problem=name,
        method=method,
        graded_by=problem.graded_by,
        closed_form=problem.closed_form,
        runs=len(runs),
        recovered=len(won),
        undecided=sum(run.recovered == "undecided" for run in runs),
        expressions=statistics.median(run.expressions for run in won) if won else None,
        seconds=statistics.median(run.seconds for run in won) if won else None,
        run_seconds=statistics.median(run.seconds for run in runs),
        rate=statistics.median(run.rate for run in runs),
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


def write_json(path: Path, outcome: Outcome) -> None:
    """Write the outcome as data, whole or not at all: a reader never sees half a file."""
    summaries = summarise(outcome.runs)
    averages = {
        method: average_recovery([each for each in summaries if each.method == method])
        for method in dict.fromkeys(each.method for each in summaries)
    }
    document = {
        **_surroundings(),
        "planned": outcome.planned,
        "interrupted": outcome.interrupted,
        "average_recovery": next(iter(averages.values())) if len(averages) == 1 else None,
        "average_recoveries": averages,
        "summary": [asdict(each) | {"recovery": each.recovery} for each in summaries],
        "runs": [_run_record(run) for run in outcome.runs],
        "failures": [
            asdict(job) | {"command": job.command, "error": error}
            for job, error in outcome.failures
        ],
    }
    write_whole(path, json.dumps(document, indent=1) + "\n")


def _run_record(run: Run) -> dict[str, Any]:
    result = asdict(run)
    job: dict[str, Any] = result.pop("job")
    return job | result | {"rate": run.rate, "command": run.job.command}


def _surroundings() -> dict[str, Any]:
    from symseek import __version__

    return {
        "symseek": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
