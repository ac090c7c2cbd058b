"""The report of an experiment: which runs were asked for, and the files written of them.

Every report names the command that repeats it, the seeds, the commit and the machine.
"""

from __future__ import annotations

import gzip
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from symseek.errors import InputError, unknown_name
from symseek.files.atomic import write_whole
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.reports.experiment import Drawing, Experiment, Report
from symseek.lab.reports.tables import to_csv, to_latex, to_markdown
from symseek.lab.trials.csv_file import runs_csv
from symseek.lab.trials.plan import on_engine, settings_of


@dataclass(frozen=True)
class Request:
    """What was asked for, and the command that asks for it again.

    >>> Request("table1", range(100)).command
    'symseek paper table1 --seeds 100'
    >>> Request("table1", [3, 5], quick=True, only=("dsr", "gp")).command
    'symseek paper table1 --seeds 3,5 --quick --only dsr,gp'
    """

    name: str
    seeds: Sequence[int]
    quick: bool = False
    only: tuple[str, ...] = ()  # methods; all if none is named
    problems: tuple[str, ...] = ()  # problems or suites; all if none is named
    max_expressions: int | None = None  # another budget for every run
    engine: str = "native"
    underflow_valid: bool = False  # for all runs, whatever their methods' presets say

    @property
    def command(self) -> str:
        words = ["symseek", "paper", self.name, "--seeds", seeds_text(self.seeds)]
        words += ["--quick"] if self.quick else []
        words += ["--only", ",".join(self.only)] if self.only else []
        words += ["--problems", ",".join(self.problems)] if self.problems else []
        words += ["--max-expressions", str(self.max_expressions)] if self.max_expressions else []
        words += ["--engine", self.engine] if self.engine != "native" else []
        words += ["--underflow-valid"] if self.underflow_valid else []
        return shlex.join(words)

    def asks_for(self, spec: Spec) -> bool:
        """Whether a run of the experiment is one of those."""
        names = self.problem_names
        return (
            spec.seed in self.seeds
            and (not self.only or spec.method in self.only)
            and (not names or spec.problem in names)
        )

    @cached_property
    def problem_names(self) -> frozenset[str]:
        """The problems that were named, those of a suite one by one."""
        return frozenset(each.name for each in problems.select(*self.problems))


def seeds_text(seeds: Sequence[int]) -> str:
    """Seeds as the command line reads them.

    >>> seeds_text(range(10)), seeds_text([3, 5]), seeds_text([7])
    ('10', '3,5', '7,')
    """
    listed = list(seeds)
    if listed == list(range(len(listed))):
        return str(len(listed))
    return ",".join(map(str, listed)) + ("," if len(listed) == 1 else "")


def selected(experiment: Experiment, request: Request) -> list[Spec]:
    """The runs that are asked for; a method that the experiment does not have is refused.

    They come seed by seed, so that an experiment that is stopped early has some runs of everything.
    """
    specs = on_engine(experiment.specs(request.seeds, request.quick), request.engine)
    if request.underflow_valid:
        off = {"underflow_invalid": False}
        valid = [settings_of(spec.method, **{**spec.settings, **off}) for spec in specs]
        pairs = zip(specs, valid, strict=True)
        specs = list(dict.fromkeys(replace(spec, settings=own) for spec, own in pairs))
    methods = list(dict.fromkeys(spec.method for spec in specs))
    for name in request.only:
        if name not in methods:
            raise unknown_name(f"method of {experiment.name}", name, methods)
    own = {spec.problem for spec in specs}
    for name in request.problem_names - own:
        raise unknown_name(f"problem of {experiment.name}", name, sorted(own))
    chosen = [spec for spec in specs if request.asks_for(spec)]
    chosen.sort(key=lambda spec: spec.seed)
    if request.max_expressions is None:
        return chosen
    budget = {"max_expressions": request.max_expressions}
    return [replace(spec, settings={**spec.settings, **budget}) for spec in chosen]


def by_seeds(request: Request, specs: Iterable[Spec], records: Iterable[Record]) -> list[Request]:
    """The requests that ask for these runs and no more, whatever seeds each method has.

    >>> runs = [("dsr", 0), ("dsr", 1), ("gp", 0)]
    >>> done = [Record(Spec(method, "Nguyen-1", seed)) for method, seed in runs]
    >>> specs = [record.spec for record in done]
    >>> [part.command for part in by_seeds(Request("table1", range(2)), specs, done)]
    ['symseek paper table1 --seeds 2 --only dsr', 'symseek paper table1 --seeds 1 --only gp']
    """
    seeds: dict[str, set[int]] = {}
    for record in records:
        seeds.setdefault(record.spec.method, set()).add(record.spec.seed)
    all_ = {spec.method for spec in specs}
    groups: dict[tuple[int, ...], list[str]] = {}
    for method, own in seeds.items():
        groups.setdefault(tuple(sorted(own)), []).append(method)
    return [
        replace(request, seeds=own, only=request.only if set(methods) == all_ else tuple(methods))
        for own, methods in sorted(groups.items(), key=lambda item: -len(item[0]))
    ]


def write_report(
    experiment: Experiment,
    requests: Sequence[Request],
    specs: Sequence[Spec],
    records: Sequence[Record],
    folder: Path,
) -> list[Path]:
    """Write the report's files and return their paths; the first is the one to read."""
    done = [record for record in records if record.status == "done"]
    if not done:
        raise InputError(f"no run of {experiment.name} is done, so there is nothing to report")
    report = experiment.report(done)
    folder.mkdir(parents=True, exist_ok=True)
    provenance = _provenance(requests, specs, records)
    files: dict[str, str | bytes] = {
        f"{experiment.name}.md": _document(experiment, report, provenance),
        f"{experiment.name}-runs.csv.gz": gzip.compress(runs_csv(records).encode(), mtime=0),
    }
    made_by = "; ".join(each.command for each in requests)
    for table in report.tables:
        stem = f"{experiment.name}-{table.name}"
        files[f"{stem}.csv"] = to_csv(table)
        files[f"{stem}.tex"] = f"% {made_by}\n{to_latex(table, f'Made by: {made_by}.', stem)}\n"
    for name, text in files.items():
        write_whole(folder / name, text)
    pictures = [
        path
        for figure in report.figures
        for path in _draw(figure, folder / _stem(experiment, figure))
    ]
    return [*(folder / name for name in files), *pictures]


def _stem(experiment: Experiment, figure: Drawing) -> str:
    """The name of a figure's files, without the suffix."""
    return f"{experiment.name}-{figure.name}" if figure.name else experiment.name


def _document(experiment: Experiment, report: Report, provenance: list[str]) -> str:
    """The report as Markdown."""
    parts = [f"# {experiment.title}", f"{experiment.what} ({experiment.source}.)"]
    parts += [to_markdown(table) for table in report.tables]
    for figure in report.figures:
        title = f"{experiment.title} {figure.name}".strip()
        parts.append(f"![{title}]({_stem(experiment, figure)}.png)")
    parts += ["\n".join(f"- {note}" for note in [*report.notes, *provenance])]
    return "\n\n".join(parts) + "\n"


def _provenance(
    requests: Sequence[Request], specs: Sequence[Spec], records: Sequence[Record]
) -> list[str]:
    """Where the numbers come from."""
    request = requests[0]  # they differ in seeds and methods
    asked = sum(any(each.asks_for(spec) for each in requests) for spec in specs)
    failed = sum(record.status == "failed" for record in records)
    done = len(records) - failed
    lines = [f"Command: {', '.join(f'`{each.command}`' for each in requests)}"]
    lines += [f"Runs: {done} of {asked} done, {failed} failed; {_hours(records)}."]
    errors = Counter(record.last_line for record in records if record.status == "failed")
    lines += [f"Failed, {count} runs: {line}" for line, count in errors.most_common()]
    if request.max_expressions:
        lines += [f"Budget: {request.max_expressions:,} expressions a run, not the paper's."]
    if request.quick:
        lines += ["Quick: tiny budgets and few problems. It shows the form, not the result."]
    lines += [f"symseek {_most(record.symseek for record in records)}"]
    lines[-1] += f", commit {_most(record.commit or 'unknown' for record in records)}."
    machines = (_machine(record.hardware) for record in records)
    return [*lines, f"Machine: {_most(machines)}."]


def _hours(records: Sequence[Record]) -> str:
    """What the runs took; on a GPU, which many share, each has the time of its own part."""
    on_gpu = [record for record in records if "gpu" in record.hardware]
    on_host = sum(_core_seconds(record) for record in records if "gpu" not in record.hardware)
    words = [f"{on_host / 3600:.2g} hours of one core"] if on_host or not on_gpu else []
    if on_gpu:
        words.append(f"{sum(record.seconds or 0 for record in on_gpu) / 3600:.2g} hours of one GPU")
    return ", ".join(words)


def _core_seconds(record: Record) -> float:
    """The time of a run on all of its threads."""
    return (record.wall or 0.0) * int(record.spec.settings.get("threads", 1))


def _machine(hardware: Mapping[str, Any]) -> str:
    cores = f", {hardware['cores']} cores" if "cores" in hardware else ""
    gpu = f" and {hardware['gpu']}" if hardware.get("gpu") else ""
    return f"{hardware['cpu']}{cores}{gpu}" if hardware.get("cpu") else ""


def _most(values: Iterable[str]) -> str:
    """The different values, the commonest first."""
    counts = Counter(value for value in values if value)
    return "; ".join(value for value, _ in counts.most_common()) or "unknown"


def _draw(figure: Drawing, stem: Path) -> list[Path]:
    """The figure as SVG and PNG."""
    from symseek.lab import figures

    return figures.save(getattr(figures, figure.function)(figure.data), stem)
