"""The paper's tuned settings, by the names its tables use (Petersen et al. 2021, appendix)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symseek.errors import unknown_name
from symseek.objectives import PriorityQueue, RiskSeeking, VanillaPolicyGradient
from symseek.search import SearchConfig

__all__ = ["METHODS", "dsr", "method", "pqt", "vpg"]


def dsr(**changes: Any) -> SearchConfig:
    """Deep symbolic regression: the risk-seeking policy gradient, epsilon 0.05.

    >>> dsr(max_expressions=10_000).objective
    RiskSeeking(epsilon=0.05)
    """
    settings = {"objective": RiskSeeking(0.05), "learning_rate": 5e-4, "entropy_weight": 0.005}
    return SearchConfig.from_dict({**settings, **changes})


def pqt(**changes: Any) -> SearchConfig:
    """Priority queue training with the ten best programs."""
    settings = {"objective": PriorityQueue(10), "learning_rate": 5e-4, "entropy_weight": 0.005}
    return SearchConfig.from_dict({**settings, **changes})


def vpg(**changes: Any) -> SearchConfig:
    """The vanilla policy gradient with a moving-average baseline, coefficient 0.25."""
    settings = {
        "objective": VanillaPolicyGradient(0.25),
        "learning_rate": 1e-4,
        "entropy_weight": 0.005,
    }
    return SearchConfig.from_dict({**settings, **changes})


METHODS: dict[str, Callable[..., SearchConfig]] = {"dsr": dsr, "pqt": pqt, "vpg": vpg}


def method(name: str, **changes: Any) -> SearchConfig:
    """The settings of a method by its name."""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name](**changes)
