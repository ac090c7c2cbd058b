"""An experiment of the paper: which runs it is made of, and what is reported of them.

An experiment is data and two functions. `specs` lists the runs, for a number of seeds, at full size
or quick; `report` turns their records into tables and figures. Neither runs anything, so a report
can be made again at any time from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.reports.tables import ResultTable
from symseek.lab.trials.plan import settings_of

QUICK_BUDGET = 4_000  # expressions: a fraction of a second for a run

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Drawing:
    """A figure to draw: the name of a function of `symseek.lab.figures`, and its data."""

    function: str
    data: Any
    name: str = ""  # a part of the file's name, where there are several


@dataclass(frozen=True)
class Report:
    """The results of an experiment."""

    tables: Sequence[ResultTable]
    figures: Sequence[Drawing] = ()
    notes: Sequence[str] = ()  # sentences


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    what: str  # one sentence
    source: str  # where the paper has it
    seeds: int  # how many the paper took
    specs: Callable[[Sequence[int], bool], list[Spec]] = field(repr=False)
    report: Callable[[Sequence[Record]], Report] = field(repr=False)


def budget(problem: str, quick: bool) -> int:
    """The expressions a run may grade: the paper's number, unless it is quick.

    >>> budget("Nguyen-1", quick=False), budget("Nguyen-1c", quick=False)
    (2000000, 1000000)
    """
    return QUICK_BUDGET if quick else problems.load(problem).budget


def specs_for(
    names: Iterable[str], methods: Iterable[str], seeds: Sequence[int], quick: bool, **settings: Any
) -> list[Spec]:
    """Every method on every problem with every seed.

    Methods take turns, so that other work on the machine affects them all alike.
    """
    methods = list(methods)
    return [
        Spec(
            method,
            name,
            seed,
            settings_of(method, **{"max_expressions": budget(name, quick), **settings}),
        )
        for name in names
        for seed in seeds
        for method in methods
    ]


def grouped(records: Iterable[Record], key: Callable[[Record], K]) -> dict[K, list[Record]]:
    """The runs that are done, grouped by a key; failed ones are left out."""
    groups: dict[K, list[Record]] = {}
    for record in records:
        if record.status == "done":
            groups.setdefault(key(record), []).append(record)
    return groups
