"""What does racing gain on many rows, and what does it lose?  Rates, and front entries missed.

    python benchmarks/rows.py [--rows 100,400,2000,10000,100000] [--noise 0.01] [--seconds 20]

First the expressions a second of the searches of `symseek fit` on all of so many rows, with racing
and without; one thread, seconds of the processor. A search ends after 100,000 expressions, or after
so many seconds. Then searches that race, of several laws: each batch is graded on all rows as well.
An entry that this would bring to the front is lost if racing leaves a worse one there, worse by
more than a thousandth of the distance to a perfect reward (a fit so little better is not another
formula), or by more than a tenth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from symseek import Library, presets
from symseek.evaluation import Graded
from symseek.front import Entry, Front
from symseek.programs import Programs
from symseek.racing import Racing
from symseek.regression.regression import Regression
from symseek.search import Search
from symseek.settings import OPERATORS, Settings

LAWS: dict[str, Callable[..., np.ndarray]] = {
    "1.7 a exp(-0.6 b) + c": lambda a, b, c, d: 1.7 * a * np.exp(-0.6 * b) + c,
    "a b / sqrt(c^2 + d)": lambda a, b, c, d: a * b / np.sqrt(c**2 + d),
    "a sin(2.3 b + 0.4) / d": lambda a, b, c, d: a * np.sin(2.3 * b + 0.4) / d,
    "(a - b c) / (1.4 + b d)": lambda a, b, c, d: (a - b * c) / (1.4 + b * d),
    "a / (a - 3.1 b)^2": lambda a, b, c, d: a / (a - 3.1 * b - 1) ** 2,  # a few rows are far out
}
LOST = (1e-3, 1e-1)
MOST = 100_000  # expressions


def main() -> int:
    options = parse()
    print("expressions a second of processor time, one thread, constants fitted")
    print(f"{'rows':>8}{'racing':>10}{'without':>10}{'ratio':>8}")
    for rows in map(int, options.rows.split(",")):
        rates = [rate(rows, options.noise, racing, options.seconds) for racing in (Racing(), None)]
        print(
            f"{rows:>8,}{rates[0]:>10,.0f}{rates[1]:>10,.0f}{rates[0] / rates[1]:>8.1f}", flush=True
        )
    print(f"\nfront entries lost, {options.lost_rows:,} rows, {options.expressions:,} expressions")
    print(f"{'law':<26}{'noise':>7}{'entries':>9}{'lost':>6}{'far':>5}{'graded in full':>16}")
    total = np.zeros(1 + len(LOST))
    for name in LAWS:
        for noise in (0.0, 0.01, 0.3):
            found, share = lost(name, noise, options.lost_rows, options.expressions)
            total += found
            print(
                f"{name:<26}{noise:>7}{found[0]:>9}{found[1]:>6}{found[2]:>5}{share:>16.2%}",
                flush=True,
            )
    print(f"of all: {total[1] / total[0]:.1%} lost, {total[2] / total[0]:.1%} by more than a tenth")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="100,400,2000,10000,100000")
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--lost-rows", type=int, default=2_000)
    parser.add_argument("--expressions", type=int, default=30_000)
    return parser.parse_args()


def table(law: str, rows: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (rows, 4))
    y = LAWS[law](*X.T)
    return X, y + noise * y.std() * rng.normal(size=rows)


def rate(rows: int, noise: float, racing: Racing | None, seconds: float) -> float:
    """Expressions a second."""
    config = presets.hybrid(racing=racing, max_expressions=MOST, max_seconds=seconds)
    settings = Settings(config=config, patience=None, sample_rows=None)
    regression = Regression(*table(next(iter(LAWS)), rows, noise), list("abcd"), settings)
    began = time.process_time()
    result = regression.run()
    return result.expressions / (time.process_time() - began)


def lost(law: str, noise: float, rows: int, expressions: int) -> tuple[list[int], float]:
    """Entries that grading in full would make, how many are lost; the share graded in full."""
    config = presets.hybrid(max_expressions=expressions)
    search = Search(Library([*OPERATORS, "const"], list("abcd")), *table(law, rows, noise), config)
    racer, counts, finals = search.racer, [0] * (1 + len(LOST)), 0
    assert racer is not None

    def watched(programs: Programs, front: Front) -> Graded:
        nonlocal finals
        graded, full = racer(programs, front), search.grader(programs)
        finals += int(np.count_nonzero(graded.final))
        raced = front.updated(graded.programs, graded.final_rewards)
        for entry in front.updated(full.programs, full.final_rewards):
            left = 1 - entry.reward
            if entry in front or entry.reward - best_at(front, entry) <= LOST[0] * left:
                continue
            counts[0] += 1
            for at, share in enumerate(LOST):
                counts[1 + at] += entry.reward - best_at(raced, entry) > max(share * left, 1e-12)
        return graded

    search.racer = watched  # type: ignore[assignment]
    expressions = search.run().expressions
    return counts, finals / expressions


def best_at(front: Front, entry: Entry) -> float:
    """The best reward of a front at the complexity of an entry."""
    rewards = [each.reward for each in front if each.complexity <= entry.complexity]
    return max(rewards, default=-np.inf)


if __name__ == "__main__":
    raise SystemExit(main())
