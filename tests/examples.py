"""How many examples property tests draw: a part of them by default, all in `make test-all`."""

from __future__ import annotations

import os

from hypothesis import settings

__all__ = ["examples", "load_profile"]

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
PART = 3 if PROFILE == "quick" else 1


def load_profile() -> None:
    """Choose what every property test does; `examples` says for one of them how many it needs."""
    settings.register_profile("quick", derandomize=True, deadline=None, max_examples=100 // PART)
    settings.register_profile("thorough", derandomize=True, deadline=None)
    settings.register_profile("explore", deadline=None)
    settings.load_profile(PROFILE)


def examples(most: int) -> settings:
    """A decorator: at the most so many examples, and a third of them by default."""
    return settings(max_examples=max(most // PART, 5), deadline=None)
