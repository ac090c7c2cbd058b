"""Do two formulas say the same, but for the last digits of their numbers?

Both are evaluated at some places. How much a change in the sixth digit of the constants does at
each place says how far apart two values may be there. Where nothing can be compared, they agree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symseek.programs import Program

_PLACES = 60
_DIGIT = 1e-5  # a relative change in the last of six digits
_TRIALS = 6
_SHARE = 0.9  # of the places: a step, as of `floor`, may lie between two roundings


def agree(one: Program, other: Program) -> bool:
    """Whether two programs over the same variables have the same values.

    >>> law = Program.parse("0.333333333*x**2 + y")
    >>> agree(law, Program.parse("1/3*x**2 + y")), agree(law, Program.parse("1/3*x**3 + y"))
    (True, False)
    """
    rng = np.random.default_rng(0)
    shape = (_PLACES, len(one.library.variables))
    X = rng.choice([-1.0, 1.0, 1.0], shape) * 10 ** rng.uniform(-1.0, 1.0, shape)
    constants = np.array(one.constants)
    with np.errstate(all="ignore"):
        here, there = one.evaluate(X), other.evaluate(X)
        off = np.zeros(_PLACES)
        for _ in range(_TRIALS):
            changed = constants * (1 + _DIGIT * rng.choice([-1.0, 1.0], len(constants)))
            moved = replace(one, constants=tuple(changed.tolist())).evaluate(X)
            off = np.maximum(off, np.abs(moved - here))  # NaN stays
        allowed = 10 * off + 1e-6 * np.abs(here)
        comparable = np.isfinite(here) & np.isfinite(allowed)
        same = np.abs(there - here) <= allowed
    return bool(not comparable.any() or same[comparable].mean() >= _SHARE)
