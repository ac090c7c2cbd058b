"""Where a policy begins: uniform over the allowed tokens, or writing formulas as people do.

A network is trained once, offline, on formulas drawn from a grammar (`grammar`, `train`), and its
few kilobytes are shipped. It knows tokens by their roles (`roles`), so that it serves any library.
"""

from symseek.start.roles import first_weights

__all__ = ["first_weights"]
