"""Where a policy begins: uniform over the allowed tokens, or writing formulas as people do.

A network was trained once, by `symseek.lab.start`, and its few kilobytes are shipped. It knows
tokens by their roles (`roles`), so that it serves any library.
"""

from symseek.start.roles import first_weights

__all__ = ["first_weights"]
