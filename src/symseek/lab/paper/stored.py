"""Stored runs as the page takes them: the largest set for each method, problem and settings.

Of one method on one problem there may be several sets: from a processor and a GPU, with an
underflow valid or invalid. The page has the largest, of equals the one where it is invalid. Sets
are never joined, since a seed draws nearly the same on both engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from symseek.errors import InputError
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec, canonical
from symseek.lab import problems
from symseek.lab.paper.catalogue import EXPERIMENTS
from symseek.lab.reports.experiment import grouped
from symseek.lab.trials.csv_file import read_runs

_NO_MATTER = ("engine", "underflow_invalid", "curve", "threads")  # settings that tell sets apart

Key: TypeAlias = tuple[str, str, str]  # method, problem, settings


class Runs(NamedTuple):
    """Runs of one method on one problem, with one engine and one rule for underflow."""

    records: Sequence[Record]
    folder: str
    strict: bool


Found: TypeAlias = Mapping[Key, Runs]


def runs_in(folder: Path) -> dict[str, dict[str, list[Record]]]:
    """By experiment and sub-folder, the runs that are stored.

    Raises:
        InputError: there are none.
    """
    found: dict[str, dict[str, list[Record]]] = {}
    for path in sorted(folder.glob("*/*-runs.csv.gz")):
        name = path.name.removesuffix("-runs.csv.gz")
        if name in EXPERIMENTS:
            found.setdefault(name, {})[path.parent.name] = read_runs(path)
    if not found:
        raise InputError(f"{str(folder)!r} has no folder with the runs of a report in it")
    return found


def key_of(spec: Spec) -> Key:
    own = {name: value for name, value in spec.settings.items() if name not in _NO_MATTER}
    return spec.method, spec.problem, canonical(own)


def largest(folders: Mapping[str, Sequence[Record]]) -> dict[Key, Runs]:
    """The set with the most runs for each method, problem and settings."""
    found: dict[Key, Runs] = {}
    for folder, records in folders.items():
        kinds = grouped(
            records,
            lambda each: (
                key_of(each.spec),
                str(each.spec.settings.get("engine", "")),
                bool(each.spec.settings.get("underflow_invalid", False)),
            ),
        )
        for (key, _, strict), own in kinds.items():
            rival = found.get(key)
            if rival is None or (len(own), strict) > (len(rival.records), rival.strict):
                found[key] = Runs(own, folder, strict)
    return found


def on_problem(found: Found, names: Iterable[str]) -> dict[tuple[str, str], Runs]:
    """The runs of the paper's budget with nothing changed, by problem and method."""
    whole = {name: canonical({"max_expressions": problems.load(name).budget}) for name in names}
    return {
        (problem, method): runs
        for (method, problem, own), runs in found.items()
        if whole.get(problem) == own
    }
