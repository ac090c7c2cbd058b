"""Is the found formula the true one?"""

from symseek.recovery.equivalence import Recovery, equivalent

__all__ = ["Recovery", "equivalent"]
