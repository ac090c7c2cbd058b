"""The figures of the experiments, drawn from plain rows; Matplotlib is imported for the first one.

`table1` is recovery by benchmark and method, `errors` the errors on the test points, `runtimes` how
long a run takes, `ablations` what each part of the method contributes, `noise` and `reward_noise`
recovery against noise on the data and on the rewards, `curves` the best reward and the recovery as
a search continues, `distributions` how the rewards of a batch change (`density` is one curve of
it), `grid` recovery against each setting, `steps` errors and recovery against learning steps,
`srbench` solved problems against noise beside published rates, and `save` writes any of them as SVG
and PNG.
"""

from __future__ import annotations

from symseek.lab.figures.conditions import ablations, noise, reward_noise
from symseek.lab.figures.curves import curves
from symseek.lab.figures.distribution import density, distributions
from symseek.lab.figures.errors import errors
from symseek.lab.figures.recovery import table1
from symseek.lab.figures.settings import grid
from symseek.lab.figures.shared import save
from symseek.lab.figures.srbench import srbench
from symseek.lab.figures.steps import steps
from symseek.lab.figures.time import runtimes

__all__ = [
    "ablations",
    "curves",
    "density",
    "distributions",
    "errors",
    "grid",
    "noise",
    "reward_noise",
    "runtimes",
    "save",
    "srbench",
    "steps",
    "table1",
]
