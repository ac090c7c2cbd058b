"""The others, called as fast as their public interfaces allow, on the same data and expressions.

pyoperon (PyPI) is the Python binding of Operon, a genetic programming code for symbolic regression
in C++; its wheel computes in float32. NumPy evaluates an expression node by node in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

try:
    import pyoperon
    from pyoperon.sklearn import SymbolicRegressor
except ImportError as error:
    raise SystemExit(
        f"{error}: the benchmarks need the `bench` extra, pip install 'symseek[bench]'"
    ) from None

Names = Sequence[str]  # one expression: token names in pre-order

FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
}
ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "sin": 1, "cos": 1, "exp": 1, "log": 1}


def random_expressions(
    count: int, variables: Names, rng: np.random.Generator, longest: int = 30, shortest: int = 4
) -> list[list[str]]:
    """Every token equally likely at every step, kept when the length is within bounds."""
    tokens = [*FUNCTIONS, *variables]
    found: list[list[str]] = []
    while len(found) < count:
        names: list[str] = []
        still_open = 1
        while still_open and len(names) < longest:
            names.append(tokens[rng.integers(len(tokens))])
            still_open += ARITY.get(names[-1], 0) - 1
        if not still_open and len(names) >= shortest:
            found.append(names)
    return found


def numpy_evaluate(names: Names, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, bool]:
    """Predictions [N], and whether every node was finite on every row."""
    stack: list[np.ndarray] = []
    finite = True
    for name in reversed(names):
        if name in columns:
            stack.append(columns[name])
            continue
        arguments = [stack.pop() for _ in range(ARITY[name])]
        value = FUNCTIONS[name](*arguments)
        finite = finite and bool(np.isfinite(value).all())
        stack.append(value)
    return stack.pop(), finite


def numpy_errors(
    expressions: Sequence[Names], columns: dict[str, np.ndarray], y: np.ndarray
) -> np.ndarray:
    """Sums of squared errors [B]: the plain loop that a NumPy user would write."""
    with np.errstate(all="ignore"):
        errors = []
        for names in expressions:
            residual = numpy_evaluate(names, columns)[0] - y
            errors.append(np.square(residual).sum())  # a dot product would use several threads
    return np.array(errors)


class Operon:
    """Operon trees for given expressions, evaluated in batches on one thread.

    `EvaluateTrees` is the quickest way into its interpreter: one call from Python for many trees,
    the predictions written straight into one array. A variable node in Operon carries a coefficient
    and multiplies by it, here 1: that is how Operon always works, and it is part of its cost.
    """

    precision = "float32"

    # Predictions of one call stay within this size, so that they are written to cache, not memory.
    BYTES_A_CALL = 1 << 20

    def __init__(self, X: np.ndarray, y: np.ndarray, variables: Names) -> None:
        table = np.asfortranarray(np.column_stack([X, y]))
        self.dataset = pyoperon.Dataset(table)
        columns = sorted(self.dataset.Variables, key=lambda variable: variable.Index)
        self.hashes = {name: columns[i].Hash for i, name in enumerate(variables)}
        self.rows = len(y)
        self.range = pyoperon.Range(0, self.rows)

    def tree(self, names: Names) -> pyoperon.Tree:
        """Operon writes the first argument directly before its parent: pre-order, reversed."""
        return pyoperon.Tree([self._node(name) for name in reversed(names)]).UpdateNodes()

    def _node(self, name: str) -> pyoperon.Node:
        if name in self.hashes:
            node = pyoperon.Node(pyoperon.NodeType.Variable, self.hashes[name])
            node.Value = 1.0
            return node
        return pyoperon.Node(getattr(pyoperon.NodeType, name.capitalize()))

    def prepare(self, expressions: Sequence[Names]) -> Callable[[], np.ndarray]:
        """A function that evaluates them all; converting the trees is not part of its time."""
        trees = [self.tree(names) for names in expressions]
        step = max(1, self.BYTES_A_CALL // (4 * self.rows))
        batches = [trees[i : i + step] for i in range(0, len(trees), step)]
        out = np.empty((step, self.rows), np.float32)

        def evaluate() -> np.ndarray:
            for batch in batches:
                pyoperon.EvaluateTrees(batch, self.dataset, self.range, out, 1)
            return out

        return evaluate


class Attention:
    """How much of the time this process really ran, over the blocks timed with it on one thread."""

    def __init__(self) -> None:
        self.wall = self.ran = 0.0

    def __enter__(self) -> None:
        self.wall -= time.perf_counter()
        self.ran -= time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.ran += time.process_time()

    def warn(self) -> None:
        """Say so where other programs took the core: rates by the clock are then too low."""
        share = self.ran / self.wall
        if share < 0.95:
            print(
                f"CAUTION: other programs were busy; this one had its core {share:.0%} of the time"
            )


@dataclass(frozen=True)
class Evolution:
    """What a run of Operon's genetic programming cost."""

    evaluations: int
    seconds: float
    mean_length: float  # of the last population

    @property
    def rate(self) -> float:
        return self.evaluations / self.seconds


def operon_evolution(
    X: np.ndarray, y: np.ndarray, operators: Names, evaluations: int, threads: int, seed: int
) -> Evolution:
    """Operon's whole loop: population 1000, at most 30 nodes, no coefficient optimisation."""
    model = SymbolicRegressor(
        allowed_symbols=",".join([*operators, "variable"]),
        population_size=1000,
        max_length=30,
        max_evaluations=evaluations,
        generations=10**9,  # the evaluations decide
        optimizer_iterations=0,
        local_search_probability=0.0,
        epsilon=0.0,  # never stop for a good fit
        n_threads=threads,
        random_state=seed,
    )
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    lengths = [individual.Genotype.Length for individual in model.individuals_]
    return Evolution(model.stats_["evaluation_count"], seconds, float(np.mean(lengths)))
