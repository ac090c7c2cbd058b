"""Baselines: other people's methods on the same libraries, data, rewards and budgets.

- `gp`: genetic programming on DEAP, as the paper set it up
- `trees`: the trees that DEAP works on, and its operators put together
"""

from __future__ import annotations

from symseek.lab.baselines.gp import GeneticProgramming, GPConfig

__all__ = ["GPConfig", "GeneticProgramming"]
