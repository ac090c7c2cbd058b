"""What does another row loss cost?  Errors, fits and searches by each, beside the squared error.

    python benchmarks/losses.py [--rows 20,2000] [--repeats 5] [--expressions 20000]

The same programs on the same rows on one thread. "errors" and "fits" are seconds of the processor,
the least of some repeats, as a ratio to those of the squared error in the same run. "rate" is the
rate of a search of so many expressions, from the first sample to the front, as a ratio to that with
the squared error on the same target: the best of the repeats on either side.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import FitConfig, Library, Program, Programs
from symseek.arrays import Floats
from symseek.engines.interface import engine_named
from symseek.losses import Loss
from symseek.regression.regression import Regression
from symseek.settings import Settings

LIBRARY = Library(["add", "mul", "div", "sin", "exp", "const"], variables=["x"])
FORMULAS = ("1.5*x + 0.3", "1.1*sin(0.9*x)", "exp(0.2*x)/(1.0 + 0.5*x)", "0.7*x*x + sin(1.3*x)")
LOSSES = (
    *("squared", "absolute", "huber:0.5", "quantile:0.9", "relative", "log_cosh:0.5"),
    *("poisson", "logistic"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="20,2000")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--expressions", type=int, default=20_000)
    options = parser.parse_args()
    batch = Programs.from_list([Program.parse(each, LIBRARY) for each in FORMULAS] * 50)
    print("errors and fits: seconds of the processor; rate: expressions a second")
    print("each as a ratio to that of the squared error")
    print(f"{'rows':>8}{'loss':>14}{'errors':>10}{'fits':>10}{'rate':>10}")
    for rows in map(int, options.rows.split(",")):
        least: dict[str, tuple[float, float]] = {}
        rates: dict[str, list[float]] = {name: [] for name in LOSSES}
        for _ in range(options.repeats):
            for name in LOSSES:
                now = seconds(batch, rows, Loss.read(name))
                before = least.get(name, now)
                least[name] = min(before[0], now[0]), min(before[1], now[1])
        for name in LOSSES:
            pairs = [
                [rate(each, rows, name, options.expressions) for each in ("squared", name)]
                for _ in range(max(1, options.repeats // 2))
            ]
            base, own = (max(each) for each in zip(*pairs, strict=True))
            rates[name] = [own / base]
        for name, (errors, fits) in least.items():
            base = least["squared"]
            ratios = errors / base[0], fits / base[1], rates[name][0]
            print(f"{rows:>8,}{name:>14}" + "".join(f"{each:>10.2f}" for each in ratios))
    return 0


def table(rows: int, loss: str) -> tuple[Floats, Floats]:
    """Rows that suit a loss."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3.0, rows)
    if loss == "poisson":
        return x[:, None], rng.poisson(np.exp(x)).astype(float)
    if loss == "logistic":
        return x[:, None], (rng.random(rows) < 1 / (1 + np.exp(3 - 2 * x))).astype(float)
    return x[:, None], 2 + np.sin(x) + 0.1 * rng.normal(size=rows)


def seconds(batch: Programs, rows: int, loss: Loss) -> tuple[float, float]:
    """Of grading a batch, and of five steps of fitting its constants."""
    X, y = table(rows, loss.name)
    evaluator = engine_named("native").evaluator(LIBRARY, X, y, cache=0, losses=(loss,))
    repeats = max(1, 20_000 // rows)
    began = time.process_time()
    for _ in range(repeats):
        evaluator.errors(batch)
    graded = time.process_time()
    for _ in range(max(1, repeats // 10)):
        evaluator.fit(batch, FitConfig("least_squares", restarts=0, max_steps=5))
    return graded - began, time.process_time() - graded


def rate(loss: str, rows: int, target: str, expressions: int) -> float:
    """Expressions for each second of the processor, of a search without structure."""
    X, y = table(rows, target.partition(":")[0])
    settings = Settings(
        operators=["add", "mul", "div", "sin", "exp"],
        loss=loss,
        structure=False,
        patience=None,
        max_expressions=expressions,
        max_seconds=None,
    )
    regression = Regression(X, y, ["x"], settings)
    began = time.process_time()
    result = regression.run()
    return result.expressions / (time.process_time() - began)


if __name__ == "__main__":
    raise SystemExit(main())
