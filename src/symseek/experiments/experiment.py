"""An experiment of the paper: which runs it is made of, and what is reported of them.

An experiment is data and two functions. `specs` says which runs there are, for a number of seeds,
at full size or quick; `report` turns what they left into tables and a figure. Neither runs
anything, so a report can be made again at any time from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from symseek import problems
from symseek.experiments.record import Record
from symseek.experiments.spec import Spec
from symseek.experiments.tables import Table

__all__ = ["QUICK_BUDGET", "Experiment", "Figure", "Report", "budget", "grouped", "specs_for"]

QUICK_BUDGET = 4_000  # expressions: a fraction of a second for a run

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Figure:
    """A picture to draw: the name of a function, and its plain data."""

    function: str
    data: Any
    name: str = ""  # a part of the file's name, where there are several
    module: str = "figures"  # of this package, where the function is


@dataclass(frozen=True)
class Report:
    """What an experiment came to."""

    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
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
    """The expressions a run may grade: the paper's number, unless it is to be quick.

    >>> budget("Nguyen-1", quick=False), budget("Nguyen-1c", quick=False)
    (2000000, 1000000)
    """
    return QUICK_BUDGET if quick else problems.load(problem).budget


def specs_for(
    names: Iterable[str], methods: Iterable[str], seeds: Sequence[int], quick: bool, **settings: Any
) -> list[Spec]:
    """Every method on every problem with every seed.

    Methods take turns, so that what else the machine does befalls them all alike.
    """
    methods = list(methods)
    return [
        Spec(method, name, seed, {"max_expressions": budget(name, quick), **settings})
        for name in names
        for seed in seeds
        for method in methods
    ]


def grouped(records: Iterable[Record], key: Callable[[Record], K]) -> dict[K, list[Record]]:
    """The runs that are done, by whatever tells them apart; failed ones are left out."""
    groups: dict[K, list[Record]] = {}
    for record in records:
        if record.status == "done":
            groups.setdefault(key(record), []).append(record)
    return groups
