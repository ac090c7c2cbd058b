"""Does any formula of a front have a pole among the rows that is not marked?

    python benchmarks/poles.py [--tables 200] [--expressions 4000] [--seed 0]

Tables are made with one to three columns, by laws with noise and by noise alone, some of them with
columns that go together, and fitted shortly, which leaves many odd formulas on a front. Each
formula is then looked at by brute force: its values at points all over the box, with steps of
Newton's towards a zero of one over it. "unmarked" counts formulas that come out infinite, undefined
or 1,000 times as large as on the rows and have no mark; "marks" those with one, of which "seen" are
confirmed by the points; "picks" those picked with a mark, and of these "with a rival" those for
which a row without a mark errs at most 1 % more.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import SymbolicRegressor
from symseek.model import Formula, Model

POINTS = 200_000
LARGE = 1_000.0


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns and the target of a table."""
    draw = np.random.default_rng([seed, 7])
    rows, columns = int(draw.integers(15, 120)), int(draw.integers(1, 4))
    X = draw.uniform(*sorted(draw.uniform(-2, 5, 2)), (rows, columns))
    if columns > 1 and draw.random() < 0.3:
        X[:, 1] = X[:, 0] + 0.1 * np.abs(draw.normal(size=rows))
    x, last = X[:, 0], X[:, -1]
    laws = [
        lambda: 2 * x - last,
        lambda: x * last / (1 + x**2),
        lambda: np.exp(-np.abs(x)) + 0.3 * last,
        lambda: np.sin(2 * x) + 0.5 * last**2,
        lambda: np.tanh(x) * 3,
        lambda: draw.normal(size=rows),
    ]
    y = laws[int(draw.integers(len(laws)))]()
    noise = draw.choice([0.01, 0.1, 0.5])
    return X, y + noise * (float(np.std(y)) or 1.0) * draw.normal(size=rows)


def seen(formula: Formula, X: np.ndarray) -> bool:
    """Whether points in the box show a pole or a place without a value."""
    draw = np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    points = draw.uniform(low, high, (POINTS, X.shape[1]))
    with np.errstate(all="ignore"):
        usual = np.abs(formula.program.evaluate(X)).max()
        values = formula.program.evaluate(points)
        if not np.isfinite(values).all():
            return True
        # From the largest values on, towards where one over the formula is zero.
        best = points[np.argsort(-np.abs(values))[:200]]
        for _ in range(30):
            size = np.abs(formula.program.evaluate(best))
            for at in range(X.shape[1]):
                step = 1e-7 * (high[at] - low[at])
                moved = best.copy()
                moved[:, at] += step
                there = formula.program.evaluate(moved)
                slope = (1 / there - 1 / formula.program.evaluate(best)) / step
                trial = best.copy()
                trial[:, at] -= np.nan_to_num((1 / formula.program.evaluate(best)) / slope)
                trial[:, at] = np.clip(trial[:, at], low[at], high[at])
                found = np.abs(formula.program.evaluate(trial))
                better = ~(found <= size)
                best[better], size[better] = trial[better], found[better]
        return not bool((size <= LARGE * usual).all())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--expressions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    formulas = marks = confirmed = unmarked = picks = rivals = 0
    began = time.perf_counter()
    for at in range(options.tables):
        X, y = table(options.seed + at)
        model: Model = (
            SymbolicRegressor(max_expressions=options.expressions, max_seconds=None, random_state=0)
            .fit(X, y)
            .models_[0]
        )
        for row, formula in enumerate(model.formulas):
            shown = seen(formula, X)
            formulas += 1
            marks += formula.broken
            confirmed += formula.broken and shown
            if shown and not formula.broken:
                unmarked += 1
                print(f"table {at}, row {row} has no mark: {formula.program}", flush=True)
        if model.best.broken:
            picks += 1
            error = model.best.nrmse
            rivals += any(not f.broken and f.nrmse <= 1.01 * error for f in model.formulas)
    seconds = time.perf_counter() - began
    print(f"{options.tables} tables, {formulas} formulas, {seconds:.0f} s")
    print(f"unmarked {unmarked}; marks {marks}, seen {confirmed}")
    print(f"picks with a mark {picks}, with a rival {rivals}")


if __name__ == "__main__":
    main()
