"""Every experiment of the paper that can be run here, by name, in the paper's order.

To add an experiment, add it to the `EXPERIMENTS` of its module; a new module is named here.
"""

from __future__ import annotations

from symseek.errors import InputError, unknown_name
from symseek.lab.paper import (
    grids,
    literature,
    recovery_tables,
    runtimes,
    settings,
    studies,
    training,
)
from symseek.lab.reports.experiment import Experiment

MODULES = (recovery_tables, literature, settings, runtimes, studies, training, grids)

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each for module in MODULES for each in module.EXPERIMENTS
}


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    >>> experiment("table1").seeds
    100
    """
    if name in ("constants", "details"):
        raise InputError(f"{name} is a part of another experiment now: symseek paper settings")
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
