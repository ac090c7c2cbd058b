"""How many expressions a second does a search try?  By rows, with numbers fitted and without.

    python benchmarks/rates.py [--rows 20,200,2000] [--seconds 10]

The table has four columns, a law of three of them and 1 % of noise; the settings are those of
`symseek fit` but for the budget, on one thread. Seconds of the processor count, so that other
programs beside it change little.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek.regression.regression import Regression
from symseek.settings import Settings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="20,200,2000")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    print("expressions a second of processor time, one thread")
    print(f"{'rows':>8}{'numbers fitted':>16}{'without':>12}")
    for rows in map(int, options.rows.split(",")):
        rates = [rate(rows, constants, options.seconds) for constants in (True, False)]
        print(f"{rows:>8,}{rates[0]:>16,.0f}{rates[1]:>12,.0f}", flush=True)
    return 0


def rate(rows: int, constants: bool, seconds: float) -> float:
    """Expressions a second."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (rows, 4))
    y = 1.7 * X[:, 0] * np.exp(-0.6 * X[:, 1]) + X[:, 2]
    y += 0.01 * y.std() * rng.normal(size=rows)
    settings = Settings(
        max_expressions=10**9, max_seconds=seconds, patience=None, constants=constants
    )
    regression = Regression(X, y, ["a", "b", "c", "d"], settings)
    began = time.process_time()
    result = regression.run()
    return result.expressions / (time.process_time() - began)


if __name__ == "__main__":
    raise SystemExit(main())
