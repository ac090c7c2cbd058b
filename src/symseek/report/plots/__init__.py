"""Pictures of a model, its fit and its search; Matplotlib is imported when one is drawn.

- `front`: error against complexity, and the picked formula
- `data`, `parity`, `residuals`: formula and data, predictions against true values, residuals
- `tree`: a formula as a tree
- `curves`, `rewards`, `tokens`: the course of the search

Each draws on the axes it is given, or on a figure of its own, and returns the axes:
`front(model).figure.savefig("front.png")`. No global setting is changed. In a notebook, a cell that
ends with `front(model)` shows it.
"""

from __future__ import annotations

from symseek.report.plots.charts import curves, data, parity, residuals, rewards, tokens
from symseek.report.plots.fronts import front
from symseek.report.plots.trees import tree

__all__ = ["curves", "data", "front", "parity", "residuals", "rewards", "tokens", "tree"]
