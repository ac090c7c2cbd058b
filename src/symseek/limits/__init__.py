"""What is known of the formula beforehand: limits that every formula of a front keeps to.

- `limits`: all limits of one fit, and whether a formula keeps to them; start here
- `forms`: the limits themselves, as records and as text
- `shapes`: those of values, of one table
- `checking`: those while formulas are searched
- `points`: where they are checked
- `proofs`: what interval arithmetic proves of them, by `bounds` of programs over `intervals`
- `parity`, `tendency`: what can be said of even, odd and far values
"""

from symseek.limits.checking import ShapeCheck
from symseek.limits.forms import (
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Even,
    Increasing,
    Numbers,
    Odd,
    Tends,
)
from symseek.limits.limits import Limits

__all__ = [
    "Bounded",
    "Concave",
    "Convex",
    "Decreasing",
    "Even",
    "Increasing",
    "Limits",
    "Numbers",
    "Odd",
    "ShapeCheck",
    "Tends",
]
