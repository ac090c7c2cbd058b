"""The seconds of a search, stage by stage."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "Timed"]


class Timed(Protocol):
    """What is timed: seconds in all, and of each stage."""

    seconds: float
    timings: dict[str, float]


class Clock:
    """Adds the time since the last lap to a stage of a search, or of what works like one."""

    def __init__(self, timed: Timed) -> None:
        self.timed = timed
        self.last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.timed.timings[stage] += now - self.last
        self.timed.seconds += now - self.last
        self.last = now
