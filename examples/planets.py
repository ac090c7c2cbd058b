"""Kepler's third law from a table of eight planets: the formulas, and a picture of them.

python examples/planets.py [PICTURE.png]
"""

from __future__ import annotations

import sys

import pandas as pd

from symseek import SymbolicRegressor
from symseek.report import plots

PLANETS = pd.DataFrame(
    {  # mean distance from the sun in million km, length of the year in days
        "distance": [57.9, 108.2, 149.6, 228.0, 778.5, 1432.0, 2867.0, 4515.0],
        "year": [88.0, 224.7, 365.2, 687.0, 4331.0, 10747.0, 30589.0, 59800.0],
    }
)


def main() -> int:
    regressor = SymbolicRegressor(max_length=10, random_state=4)
    regressor.fit(PLANETS[["distance"]], PLANETS["year"])
    print(regressor)
    if len(sys.argv) > 1:
        draw(regressor, sys.argv[1])
    return 0


def draw(regressor: SymbolicRegressor, path: str) -> None:
    """The front, and the picked formula through the data."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    model = regressor.model()
    plots.front(model, ax=left)
    plots.data(model, PLANETS[["distance"]], PLANETS["year"], ax=right)
    figure.savefig(path)


if __name__ == "__main__":
    raise SystemExit(main())
