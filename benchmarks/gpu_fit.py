"""How many formulas does a fit try on a large table, on the GPU and on all cores?

    python benchmarks/gpu_fit.py [--rows 1000000] [--columns 20] [--engines cuda,native]

The same fit without settings but for the budget, with all rows searched (`sample_rows=None`), on a
law in four of the columns with one per cent of noise. Printed are the formulas tried, the seconds
of the whole fit with the telling of what was found, and the formula that was picked.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from symseek.regression.regression import Regression
from symseek.regression.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--engines", default="cuda,native")
    parser.add_argument("--no-structure", action="store_true", help="evolution and learning alone")
    parser.add_argument("--no-racing", action="store_true", help="every formula on all rows")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    X = random.uniform(0.5, 3.0, (options.rows, options.columns))
    y = 2.7 * X[:, 0] * np.exp(-0.6 * X[:, 3]) + X[:, 7] / (1.3 + X[:, 12])
    y += 0.01 * y.std() * random.normal(size=options.rows)
    names = [f"x{number}" for number in range(options.columns)]
    threads = os.cpu_count() or 1
    for engine in options.engines.split(","):
        settings = Settings(
            engine=engine,
            max_seconds=options.seconds,
            max_expressions=10**9,
            patience=None,
            sample_rows=None,
            threads=threads,
            structure=not options.no_structure,
        )
        if options.no_racing:
            from dataclasses import replace

            config = replace(settings.search_config(), racing=None)
            settings = replace(settings, config=config)
        start = time.perf_counter()
        regression = Regression(X, y, names, settings)
        result = regression.run()
        best = regression.model().best
        took = time.perf_counter() - start
        rate = result.expressions / result.seconds
        print(
            f"{engine} ({threads} threads): {result.expressions:,} formulas"
            f" in {result.seconds:.0f} s ({rate:,.0f}/s), {took:.0f} s in all;"
            f" picked {best.text}, R2 {best.r2:.6f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
