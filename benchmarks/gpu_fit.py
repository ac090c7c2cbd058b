"""How many formulas does a fit try on a large table, on the GPU and on all cores?

    python benchmarks/gpu_fit.py [--rows 1000000] [--columns 20] [--engines cuda,native]
    python benchmarks/gpu_fit.py --engines cuda --seconds 20 --no-model --warm

The same fit without settings but for the budget, with all rows searched (`sample_rows=None`), on a
law in four of the columns with one per cent of noise. Printed are the formulas tried, the seconds
of the search, with its start, and with the postprocessing, and the formula that was picked. A first
fit on a GPU compiles its kernels within its budget; with `--warm` another comes before it.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace

import numpy as np

from symseek.arrays import Floats
from symseek.regression.regression import Regression
from symseek.settings import Settings

WARM = 15.0  # seconds of the fit that is not counted


def main() -> None:
    options = asked()
    X, y = table(options.rows, options.columns)
    for engine in options.engines.split(","):
        settings = Settings(
            engine=engine,
            max_seconds=options.seconds,
            max_expressions=10**9,
            patience=None,
            sample_rows=None,
            threads=os.cpu_count() or 1,
            structure=not options.no_structure,
        )
        if options.warm and engine != "native":
            fitted(X, y, replace(settings, max_seconds=WARM), model=False)
        if options.no_racing:
            config = replace(settings.search_config(), racing=None)
            settings = replace(settings, config=config)
        print(fitted(X, y, settings, model=not options.no_model), flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--engines", default="cuda,native")
    parser.add_argument("--no-structure", action="store_true", help="evolution and learning alone")
    parser.add_argument("--no-racing", action="store_true", help="every formula on all rows")
    parser.add_argument("--no-model", action="store_true", help="search, and pick no formula")
    parser.add_argument("--warm", action="store_true", help="compile the GPU's kernels before")
    return parser.parse_args()


def table(rows: int, columns: int) -> tuple[Floats, Floats]:
    """X [rows, columns] and y [rows]."""
    random = np.random.default_rng(0)
    X = random.uniform(0.5, 3.0, (rows, columns))
    y = 2.7 * X[:, 0] * np.exp(-0.6 * X[:, 3]) + X[:, 7] / (1.3 + X[:, 12])
    y += 0.01 * y.std() * random.normal(size=rows)
    return X, y


def fitted(X: Floats, y: Floats, settings: Settings, model: bool) -> str:
    """What a fit came to, in a line."""
    start = time.perf_counter()
    regression = Regression(X, y, [f"x{number}" for number in range(X.shape[1])], settings)
    result = regression.run()
    searched = time.perf_counter() - start
    reward = 0.0 if result.best is None else result.best.reward
    said = (
        f"{settings.engine} ({settings.threads} threads): {result.expressions:,} formulas"
        f" in {result.seconds:.0f} s ({result.expressions / result.seconds:,.0f}/s),"
        f" {searched:.0f} s with the start; best reward {reward:.6f}"
    )
    if not model:
        return said
    best = regression.model().best
    took = time.perf_counter() - start
    return f"{said}, {took:.0f} s in all; picked {best.text}, R2 {best.r2:.6f}"


if __name__ == "__main__":
    main()
