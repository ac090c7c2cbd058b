"""Every experiment of the paper that can be run here, by name, in the paper's order."""

from __future__ import annotations

from symseek.errors import unknown_name
from symseek.experiments.experiment import Experiment
from symseek.experiments.grids import GRIDS
from symseek.experiments.literature import BSR, GRAMMARVAE, HARMONIC, NEATGP, SSR
from symseek.experiments.recovery_tables import RUNTIMES, TABLE1, VARIATIONS
from symseek.experiments.studies import ABLATIONS, GP_CONSTRAINTS, NOISE, REWARD_NOISE
from symseek.experiments.training import CURVES, DISTRIBUTIONS

__all__ = ["EXPERIMENTS", "experiment"]

_RECOVERY = (TABLE1, VARIATIONS)
_LITERATURE = (SSR, GRAMMARVAE, BSR, NEATGP, HARMONIC)
_STUDIES = (RUNTIMES, ABLATIONS, GP_CONSTRAINTS, NOISE, REWARD_NOISE)
_TRAINING = (CURVES, DISTRIBUTIONS)

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each for each in (*_RECOVERY, *_LITERATURE, *_STUDIES, *_TRAINING, *GRIDS)
}


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    >>> experiment("table1").seeds
    100
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
