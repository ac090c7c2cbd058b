"""How much is tried by default, and how much only in `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

__all__ = ["PART", "QUICK", "examples", "load_profile", "mostly_slow"]

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
QUICK = PROFILE == "quick"
PART = 3 if QUICK else 1


def load_profile() -> None:
    """Choose what every property test does; `examples` says for one of them how many it needs."""
    settings.register_profile("quick", derandomize=True, deadline=None, max_examples=100 // PART)
    settings.register_profile("thorough", derandomize=True, deadline=None)
    settings.register_profile("explore", deadline=None)
    settings.load_profile(PROFILE)


def examples(most: int) -> settings:
    """A decorator: at the most so many examples, and a third of them by default."""
    return settings(max_examples=max(most // PART, 5), deadline=None)


def mostly_slow(values: Iterable[Any], *quick: Any) -> list[Any]:
    """The cases of a test, of which all but some are among the slow tests."""
    return [pytest.param(each, marks=[pytest.mark.slow] * (each not in quick)) for each in values]
