"""The paper's figures, each drawn from plain rows; Matplotlib is imported when one is drawn.

`table1` is recovery by benchmark and method, `runtimes` how long a run takes, `ablations` what each
part of the method is worth, `noise` and `reward_noise` recovery against noise on the data and on
the rewards, `curves` the best reward and the recovery as a search goes on, `distributions` how the
rewards of a batch move (`density` is one curve of it), `grid` what each setting does to recovery,
and `save` writes any of them as SVG and PNG.
"""

from __future__ import annotations

from symseek.experiments.figures.conditions import ablations, noise, reward_noise
from symseek.experiments.figures.course import curves
from symseek.experiments.figures.distribution import density, distributions
from symseek.experiments.figures.recovery import table1
from symseek.experiments.figures.settings import grid
from symseek.experiments.figures.shared import save
from symseek.experiments.figures.time import runtimes

__all__ = [
    "ablations",
    "curves",
    "density",
    "distributions",
    "grid",
    "noise",
    "reward_noise",
    "runtimes",
    "save",
    "table1",
]
