"""What is known of the formula beforehand: limits that every formula of a front keeps to.

- `limits`: all limits of one fit, and whether a formula keeps to them; start here
"""

from symseek.limits.limits import Limits

__all__ = ["Limits"]
