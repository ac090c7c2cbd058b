"""Settings by name: the paper's tuned ones (Petersen et al. 2021, appendix), and two of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symseek.constants import FitConfig
from symseek.errors import Setting, unknown_name
from symseek.evolution import Evolution
from symseek.objectives import (
    Objective,
    PriorityQueue,
    RiskSeeking,
    VanillaPolicyGradient,
    WholeQueue,
)
from symseek.policy import PolicyConfig
from symseek.racing import Racing
from symseek.search import SearchConfig


def dsr(**changes: Any) -> SearchConfig:
    """Deep symbolic regression: the risk-seeking policy gradient, epsilon 0.05.

    >>> dsr(max_expressions=10_000).objective
    RiskSeeking(epsilon=0.05)
    """
    settings = _settings(RiskSeeking(0.05), 5e-4)
    return SearchConfig.from_dict({**settings, **changes})


def pqt(**changes: Any) -> SearchConfig:
    """Priority queue training: one of the ten best programs is imitated in each step."""
    settings = _settings(PriorityQueue(10), 5e-4)
    return SearchConfig.from_dict({**settings, **changes})


def pqt_whole(**changes: Any) -> SearchConfig:
    """Priority queue training by its formula: all of the ten best are imitated in each step.

    The paper gives this formula and its authors ran `pqt`, which recovers more.
    """
    settings = _settings(WholeQueue(10), 5e-4)
    return SearchConfig.from_dict({**settings, **changes})


def vpg(**changes: Any) -> SearchConfig:
    """The vanilla policy gradient with a moving-average baseline, coefficient 0.25."""
    settings = _settings(VanillaPolicyGradient(0.25), 1e-4)
    return SearchConfig.from_dict({**settings, **changes})


def hybrid(**changes: Any) -> SearchConfig:
    """Evolution in every iteration, begun from the policy's samples, which learns from the best."""
    settings = {
        "batch_size": 1000,
        "objective": RiskSeeking(0.05),
        "learning_rate": 0.0025,
        "entropy_weight": 0.01,
        "policy": PolicyConfig(start="formulas"),
        "untrained_share": 0.25,
        "evolution": Evolution(),
        "max_constants": 6,
        "constants": FitConfig("least_squares", restarts=0, max_steps=15),
        "racing": Racing(),
    }
    return SearchConfig.from_dict({**settings, **changes})


def evolution(**changes: Any) -> SearchConfig:
    """Evolution alone, a genetic-programming baseline: one population, no policy that learns."""
    settings = {
        "batch_size": 1000,
        "learning_rate": 0.0,
        "evolution": Evolution(pairing=0, continues=True),
        "max_constants": 6,
        "constants": FitConfig("least_squares", restarts=0, max_steps=15),
        "racing": Racing(),
    }
    return SearchConfig.from_dict({**settings, **changes})


def _settings(objective: Objective, learning_rate: float) -> dict[str, Any]:
    """What these have in common: the entropy weight, constants fitted by BFGS from 1, validity.

    The authors' code takes any floating-point warning as invalid, an underflow too.
    """
    return {
        "objective": objective,
        "learning_rate": learning_rate,
        "entropy_weight": 0.005,
        "constants": FitConfig.paper(),
        "underflow_invalid": True,
    }


METHODS: dict[str, Callable[..., SearchConfig]] = {
    "dsr": dsr,
    "pqt": pqt,
    "pqt-whole": pqt_whole,
    "vpg": vpg,
    "hybrid": hybrid,
    "evolution": evolution,
}


def method(name: str, **changes: Any) -> SearchConfig:
    """The settings of a method by its name."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown_name("method", name, METHODS, Setting("method"))
    return METHODS[name](**changes)
