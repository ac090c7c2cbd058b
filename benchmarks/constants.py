"""How fast and how well are constants fitted?  The native core against SciPy's BFGS.

    python benchmarks/constants.py [--programs 2000] [--rows 20,1000] [--longest 15] [--core 0]

Random programs with 1 to 3 constants, as an untrained policy writes them, valid where all constants
are 1; both sides start there and see the same points. SciPy does what the paper did: BFGS on minus
the reward, by differences, each program evaluated with NumPy. "at most" counts the programs whose
native loss is at most SciPy's, to one part in a million; "better" and "worse" those where they
differ by more. One thread, pinned to one core; the two take turns, a share of the programs each.

A second table plants the answer: the target is a program with constants drawn at random, and a
fit succeeds when it finds them, or others that are as good.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import others
from symseek import (
    ConstraintSet,
    FitConfig,
    Library,
    Program,
    Programs,
    paper_constraints,
)
from symseek.arrays import Floats
from symseek.engines.interface import Evaluator, engine_named
from symseek.policy import PolicyWeights

LIBRARY = Library(["add", "sub", "mul", "div", "sin", "cos", "exp", "log", "const"], ["x", "y"])
ENGINE = engine_named("native")
SHARES = 10  # turns that the two sides take
CLOSE = 1e-6  # losses that differ by less, relatively, count as equal
BAR_RATE, BAR_QUALITY = 100, 0.99  # on 20 rows; everywhere

CONFIGS = {
    "mixed, 4 restarts (default)": FitConfig(),
    "mixed, no restart": FitConfig(restarts=0),
    "least squares, 4 restarts": FitConfig("least_squares"),
    "least squares, no restart": FitConfig("least_squares", restarts=0),
    "projected, 4 restarts": FitConfig("projected"),
    "projected, no restart": FitConfig("projected", restarts=0),
    "BFGS, 4 restarts": FitConfig("bfgs"),
    "BFGS, no restart (the paper's)": FitConfig.paper(),
}


@dataclass
class Side:
    """The results of one way of fitting."""

    losses: Floats
    seconds: float = 0.0


def main() -> int:
    options = parse()
    os.sched_setaffinity(0, {options.core})
    attention = others.Attention()
    with attention:
        passed = [compare(options, rows) for rows in options.rows]
        plant(options)
    attention.warn()
    return 0 if all(passed) else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument(
        "--rows", type=lambda text: [int(n) for n in text.split(",")], default=[20, 1000]
    )
    parser.add_argument("--longest", type=int, default=15, help="most tokens of a program")
    parser.add_argument("--core", type=int, default=0)
    return parser.parse_args()


def compare(options: argparse.Namespace, rows: int) -> bool:
    """One table: every way of fitting beside SciPy."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 2, (rows, 2))
    y = np.exp(-X[:, 0]) * np.sin(3 * X[:, 1]) + 0.5 * X[:, 0] * X[:, 1]
    programs = valid_programs(options.programs, options.longest, X)
    ours = {name: Side(np.empty(len(programs))) for name in CONFIGS}
    scipy = Side(np.empty(len(programs)))
    evaluator = ENGINE.evaluator(LIBRARY, X, y, cache=0)
    scale = rows * float(y.var())
    for share in np.array_split(np.arange(len(programs)), SHARES):
        batch = programs[share]
        scipy.seconds += timed(partial(scipy_losses, batch, X, y), scipy.losses, share)
        for name, config in CONFIGS.items():
            fit = partial(native_losses, evaluator, batch, config, scale)
            ours[name].seconds += timed(fit, ours[name].losses, share)
    length = programs.lengths.mean()
    print(
        f"\n{len(programs)} random programs, {length:.1f} tokens on average, {rows} rows: SciPy"
        f" {1e3 * scipy.seconds / len(programs):.1f} ms a program"
    )
    print(f"{'':32}{'us/program':>11}{'x SciPy':>9}{'at most':>9}{'better':>8}{'worse':>8}")
    verdicts = {name: report(name, side, scipy, y) for name, side in ours.items()}
    fast, good = verdicts[next(iter(CONFIGS))]
    verdicts = [f"quality bar {BAR_QUALITY:.0%}: {'met' if good else 'NOT met'}"]
    if rows == 20:
        verdicts.append(f"rate bar {BAR_RATE} x: {'met' if fast else 'NOT met'}")
    print(f"default settings: {', '.join(verdicts)}")
    return good and (fast or rows != 20)


def timed(fit: Callable[[], Floats], losses: Floats, share: NDArray[np.intp]) -> float:
    start = time.perf_counter()
    losses[share] = fit()
    return time.perf_counter() - start


def report(name: str, side: Side, scipy: Side, y: Floats) -> tuple[bool, bool]:
    """Print a row; whether the rate and the quality pass."""
    exact = 1e-20 * float(y @ y)  # both are exact fits
    better = (side.losses < scipy.losses * (1 - CLOSE)) & (scipy.losses > exact)
    worse = (side.losses > scipy.losses * (1 + CLOSE)) & (side.losses > exact)
    ratio = scipy.seconds / side.seconds
    print(
        f"{name:32}{1e6 * side.seconds / len(worse):>11.1f}{ratio:>9.0f}{1 - worse.mean():>9.2%}"
        f"{better.mean():>8.1%}{worse.mean():>8.2%}"
    )
    return ratio >= BAR_RATE, 1 - worse.mean() >= BAR_QUALITY and better.mean() > worse.mean()


def random_programs(longest: int, seed: int = 0) -> Programs:
    """Distinct programs with constants, as an untrained policy writes them."""
    policy = ENGINE.policy(ConstraintSet(LIBRARY, paper_constraints(4, longest)), 32)
    weights = PolicyWeights.start(len(LIBRARY), 32, seed).flat
    drawn = policy.sample(weights, seed, 0, 60_000).programs
    some = (drawn.tokens == LIBRARY.constant_id).any(axis=1)
    _, first = np.unique(drawn.tokens[some], axis=0, return_index=True)
    return drawn[np.flatnonzero(some)[np.sort(first)]]


def valid_programs(count: int, longest: int, X: Floats) -> Programs:
    programs = random_programs(longest)
    return programs[np.flatnonzero(ENGINE.evaluator(LIBRARY, X).predict(programs).ok)[:count]]


def native_losses(
    evaluator: Evaluator, programs: Programs, config: FitConfig, scale: float
) -> Floats:
    return evaluator.fit(programs, config, scale, 0.5).errors.sums[0]


def scipy_losses(programs: Programs, X: Floats, y: Floats) -> Floats:
    """The squared errors after SciPy's BFGS on minus the reward, from 1."""
    from scipy.optimize import minimize

    columns, spread = tuple(X.T), float(y.std())

    def squared(program: Program, constants: Floats) -> float:
        values = Program._trusted(LIBRARY, program.tokens, tuple(constants)).apply(*columns)
        error = float(np.sum((y - values) ** 2))
        return error if np.isfinite(error) else np.inf

    losses = []
    with np.errstate(all="ignore"):
        for program in programs:

            def cost(constants: Floats, program: Program = program) -> float:
                return -1 / (1 + np.sqrt(squared(program, constants) / len(y)) / spread)

            found = minimize(cost, np.ones(len(program.constants)), method="BFGS").x
            losses.append(squared(program, found))
    return np.array(losses)


def plant(options: argparse.Namespace) -> None:
    """How often the constants of a known program are found again."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 2, (20, 2))
    cases = []
    for program in random_programs(options.longest, seed=1):
        signs = rng.choice([-1, 1], len(program.constants))
        truth = signs * np.exp(rng.normal(0.3, 0.8, len(program.constants)))
        y = Program(LIBRARY, program.tokens, tuple(truth)).evaluate(X)
        if np.isfinite(y).all() and 1e-3 * np.abs(y).max() < y.std() < 1e4:
            cases.append(
                (Programs.from_list([program]), ENGINE.evaluator(LIBRARY, X, y, cache=0), y)
            )
        if len(cases) == options.programs // 4:
            break
    print(f"\n{len(cases)} programs with planted constants, 20 rows: constants found again")
    for name, config in CONFIGS.items():
        start, won = time.perf_counter(), 0
        for batch, evaluator, y in cases:
            scale = len(y) * float(y.var())
            won += bool(evaluator.fit(batch, config, scale, 0.5).errors.sums[0, 0] < 1e-12 * scale)
        seconds = time.perf_counter() - start
        print(f"{name:32}{won / len(cases):>8.1%}{1e6 * seconds / len(cases):>9.0f} us/program")


if __name__ == "__main__":
    raise SystemExit(main())
