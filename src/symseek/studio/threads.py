"""Work in threads beside the server: whatever reads a file or computes.

A thread cannot be stopped. So that the end of the server need not wait for a long computation, a
request that is given up leaves its thread behind, and whoever ends the process ends that too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 0.2  # seconds for threads that are about to end


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function returns, while the server continues."""
    return await limited(None, function, *args, **kwargs)


async def limited(
    limiter: CapacityLimiter | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The same, with no more at a time than the limiter has room for."""
    work = partial(function, *args, **kwargs)
    return await to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)


def left_behind() -> bool:
    """Whether threads still compute, for which Python would wait at its end."""
    end = time.monotonic() + _PATIENCE
    mine = threading.current_thread()
    others = [each for each in threading.enumerate() if each is not mine and not each.daemon]
    for each in others:
        each.join(max(0.0, end - time.monotonic()))
    return any(each.is_alive() for each in others)
