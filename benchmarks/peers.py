"""Who finds a formula first?  Seconds to a test NMSE below 1e-6, against pyoperon and gplearn.

    python benchmarks/peers.py [--limit 60] [--seeds 1] [--problems Nguyen] [--core 0]

All get the same points and the same operators, one thread on one core, and take turns. symseek
runs `presets.hybrid`; pyoperon and gplearn run their defaults, with populations of 1,000. pyoperon
puts a coefficient before every variable, here optimised for five steps, and scales its model;
gplearn's division and logarithm are protected: that is how they work. A dash means that the limit
passed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from symseek import Search, presets
from symseek.lab import problems

FOUND = 1e-6  # NMSE on the test points
TINY = 1e-9  # mean squared error, over the variance, at which a peer stops


def main() -> int:
    options = parse()
    os.sched_setaffinity(0, {options.core})
    warnings.simplefilter("ignore")
    sides = {"symseek": run_symseek, "pyoperon": run_operon, "gplearn": run_gplearn}
    print(f"{'problem':12}" + "".join(f"{name:>12}" for name in sides))
    firsts = 0
    chosen = problems.select(*options.problems.split(","))
    for problem in chosen:
        medians = []
        for run in sides.values():
            times = [timed(run, problem, seed, options.limit) for seed in range(options.seeds)]
            medians.append(statistics.median(times))
        firsts += medians[0] < min(medians[1:])
        cells = (f"{each:>12.2f}" if np.isfinite(each) else f"{'-':>12}" for each in medians)
        print(f"{problem.name:12}" + "".join(cells), flush=True)
    print(f"symseek first on {firsts} of {len(chosen)}; seconds, median over {options.seeds} seeds")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=60, help="seconds of a run")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--problems", default="Nguyen")
    parser.add_argument("--core", type=int, default=0)
    return parser.parse_args()


Run = Callable[[problems.BenchmarkProblem, int, int], Callable[[np.ndarray], np.ndarray]]


def timed(run: Run, problem: problems.BenchmarkProblem, seed: int, limit: int) -> float:
    """Seconds until the side stopped, infinite if what it has does not generalise."""
    data = problem.data()
    start = time.perf_counter()
    try:
        predict = run(problem, seed, limit)
    except Exception as error:  # a peer that fails has not found it
        print(f"  {run.__name__}: {error}")
        return np.inf
    seconds = time.perf_counter() - start
    if isinstance(predict, tuple):
        predict, seconds = predict
    return seconds if normalised_error(predict, data) < FOUND and seconds <= limit else np.inf


def normalised_error(
    predict: Callable[[np.ndarray], np.ndarray], data: problems.TrainTest
) -> float:
    return float(np.mean((predict(data.X_test) - data.y_test) ** 2) / np.var(data.y_test))


def run_symseek(problem: problems.BenchmarkProblem, seed: int, limit: int) -> Any:
    data = problem.data()
    config = presets.hybrid(max_expressions=10**9, max_seconds=limit, stop_reward=1 - 1e-9)
    search = Search(problem.library(), data.X_train, data.y_train, config, seed=seed)
    best = search.run().best
    assert best is not None
    return best.program.evaluate


def run_operon(problem: problems.BenchmarkProblem, seed: int, limit: int) -> Any:
    """The shortest of runs of twice as many evaluations each that reaches a good test error.

    It has no way to stop at one itself that worked here; only the last run's time counts.
    """
    from pyoperon.sklearn import SymbolicRegressor

    data = problem.data()
    evaluations, seconds = 2_000, 0.0
    while seconds < limit:
        model = SymbolicRegressor(
            allowed_symbols=",".join([*problem.operators, "variable"]),
            population_size=1000,
            generations=10**9,
            max_evaluations=evaluations,
            max_time=limit,
            max_length=30,
            model_selection_criterion="mean_squared_error",
            optimizer_iterations=5,
            n_threads=1,
            random_state=seed,
        )
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
        if normalised_error(model.predict, data) < FOUND:
            break
        evaluations *= 2
    return model.predict, seconds


def run_gplearn(problem: problems.BenchmarkProblem, seed: int, limit: int) -> Any:
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    def exponential(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.where(x < 100, np.exp(np.minimum(x, 100)), 0.0)

    exp = make_function(function=exponential, name="exp", arity=1)
    data = problem.data()
    model = SymbolicRegressor(
        population_size=1000,
        generations=1,
        function_set=[exp if name == "exp" else name for name in problem.operators],
        const_range=None,
        metric="mse",
        stopping_criteria=TINY * float(np.var(data.y_train)),
        warm_start=True,
        random_state=seed,
    )
    start = time.perf_counter()
    while time.perf_counter() - start < limit:
        model.fit(data.X_train, data.y_train)
        if model.run_details_["best_fitness"][-1] <= model.stopping_criteria:
            break
        model.set_params(generations=model.generations + 1)
    return model.predict


if __name__ == "__main__":
    raise SystemExit(main())
