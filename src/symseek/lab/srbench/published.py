"""What others reach on the 130 problems: solved in percent, as published, by noise.

Figures of one system differ by up to 30 points between papers, so each has its source. They were
obtained with other budgets on other machines; the cost of a problem is given where it is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class System:
    """A system, its symbolic solution rate in percent by noise, and where that is from."""

    name: str
    source: str
    solved: Mapping[float, float]
    cost: str = ""  # of a problem
    accurate: Mapping[float, float] = field(default_factory=dict)  # R2 above 0.999, in percent
    feynman_only: bool = False


# System | source | solved at noise 0, 0.001, 0.01 and 0.1 | cost of a problem
_SOLVED = """
PSE | its paper of 2025, read off a figure | 75 55 41 31 | 800 s of an A100
PySR | as run for ParFam's paper | 65.9 - 54.7 - | 8 h on 6 processes
RILS-ROLS | its paper | 60.6 42.1 34.8 - | up to 1 h
ParFam | its paper | 56.6 - 42.6 - | 3,288 s
AI Feynman 2 | SRBench | 52.7 31.9 12.6 0.9 | 29,000 s
uDSR | as run for ParFam's paper | 44.6 - 19.0 - | 16,000 s
DSR | SRBench | 19.7 19.2 18.9 16.6 | 586 s
Operon | SRBench | 16.0 12.3 1.9 0.1 | 2,125 s
PhySO | its paper; it is given the units of the columns | 58.5 58.5 57.9 53.5 |
"""
_ACCURATE = {"Operon": {0.0: 85, 0.001: 86, 0.01: 85, 0.1: 68}}
_FEYNMAN_ONLY = ("PhySO",)


def _system(line: str) -> System:
    name, source, rates, cost = (part.strip() for part in line.split("|"))
    levels = zip((0.0, 0.001, 0.01, 0.1), rates.split(), strict=True)
    solved = {level: json.loads(rate) for level, rate in levels if rate != "-"}
    return System(name, source, solved, cost, _ACCURATE.get(name, {}), name in _FEYNMAN_ONLY)


SYSTEMS = tuple(map(_system, _SOLVED.strip().splitlines()))
