"""What others reach on the 130 problems: solved in percent, as published, by noise.

Figures of one system differ by up to 30 points between papers, so each has its source. They were
obtained with other budgets on other machines; the cost of a problem is given where it is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["SYSTEMS", "System"]


@dataclass(frozen=True)
class System:
    """A system, its symbolic solution rate in percent by noise, and where that is from."""

    name: str
    source: str
    solved: Mapping[float, float]
    cost: str = ""  # of a problem
    accurate: Mapping[float, float] = field(default_factory=dict)  # R2 above 0.999, in percent
    feynman_only: bool = False


def _by_level(*rates: float | None) -> dict[float, float]:
    """The rates at noise 0, 0.001, 0.01 and 0.1, those that are known."""
    levels = (0.0, 0.001, 0.01, 0.1)
    return {at: rate for at, rate in zip(levels, rates, strict=True) if rate is not None}


SYSTEMS = (
    System(
        "PSE",
        "its paper of 2025, read off a figure",
        _by_level(75, 55, 41, 31),
        "800 s of an A100",
    ),
    System(
        "PySR",
        "as run for ParFam's paper",
        _by_level(65.9, None, 54.7, None),
        "8 h on 6 processes",
    ),
    System("RILS-ROLS", "its paper", _by_level(60.6, 42.1, 34.8, None), "up to 1 h"),
    System("ParFam", "its paper", _by_level(56.6, None, 42.6, None), "3,288 s"),
    System("AI Feynman 2", "SRBench", _by_level(52.7, 31.9, 12.6, 0.9), "29,000 s"),
    System(
        "uDSR",
        "as run for ParFam's paper",
        _by_level(44.6, None, 19.0, None),
        "16,000 s",
    ),
    System("DSR", "SRBench", _by_level(19.7, 19.2, 18.9, 16.6), "586 s"),
    System(
        "Operon",
        "SRBench",
        _by_level(16.0, 12.3, 1.9, 0.1),
        "2,125 s",
        accurate=_by_level(85, 86, 85, 68),
    ),
    System(
        "PhySO",
        "its paper; it is given the units of the columns",
        _by_level(58.5, 58.5, 57.9, 53.5),
        feynman_only=True,
    ),
)
