"""The last guard: no fault of structure ends a fit.

Structure helps a search and is never needed by it. Where it is asked, an error that its numbers or
their size may cause becomes `NoProposals`, and the search runs without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from symseek.errors import InputError
from symseek.loop import NoProposals
from symseek.structure.solving import LinAlgError

_FAULTS = (ArithmeticError, IndexError, LinAlgError, MemoryError, ValueError)


@contextmanager
def guarded() -> Iterator[None]:
    """Turn faults into `NoProposals`; complaints about input, and other errors, pass.

    >>> with guarded():
    ...     1 / 0
    Traceback (most recent call last):
        ...
    symseek.loop.NoProposals: ZeroDivisionError: division by zero
    """
    try:
        yield
    except InputError:
        raise
    except _FAULTS as error:
        raise NoProposals(f"{type(error).__name__}: {error}") from error
