"""Exact derivatives of formulas by their constants, summed over rows, from the native core.

Another engine need not have them: they are asked for when a search is over, of a few formulas.
"""

from __future__ import annotations

from symseek.arrays import Floats
from symseek.engines.native import Derivatives, NativeEngine
from symseek.losses import SQUARED
from symseek.programs import Programs

__all__ = ["Derivatives", "derivatives"]


def derivatives(
    programs: Programs, X: Floats, y: Floats, weights: Floats, threads: int = 1
) -> Derivatives:
    """Half the derivatives of the weighted sums of squares, and the normal matrices.

    >>> import numpy as np
    >>> from symseek import Program
    >>> batch = Programs.from_list([Program.parse("2.0*x")])
    >>> x = np.array([1.0, 2.0])
    >>> found = derivatives(batch, x[:, None], 3.0 * x, np.ones(2))
    >>> found.loss.tolist(), found.gradient.tolist(), found.normal.tolist()
    ([5.0], [[5.0]], [[[5.0]]])
    """
    engine = NativeEngine(threads)
    given = programs.library, X, y, weights, 0, False, [SQUARED]
    return engine.evaluator(*given).derivatives(programs)
