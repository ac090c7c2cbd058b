"""When does pyoperon have the law?  Its front after every generation, read as our programs.

pyoperon stops when its time is over, so its own stop says nothing of when it found a formula. Here
it calls back after every generation; the time that a look at its front takes is not counted, and a
front with the law on it ends the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pyoperon
from pyoperon.sklearn import SymbolicRegressor

from symseek import Library, Program

SYMBOLS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")
SEEN = 2_000  # rows that the factor and the summand around a tree are fitted to, at most
PATIENCE = 10  # a generation that takes that many limits by the clock is cut off
_FOREVER = 10**9  # generations or evaluations: the time decides

#: The program that is the law, if one of these is; True where no other front will be asked about.
IsLaw = Callable[[Sequence[Program], bool], Program | None]


class _FoundError(Exception):
    """Ends a run: Operon stops at an exception of its callback."""


@dataclass(frozen=True)
class Found:
    """When the law was first on the front, if it was, and how many generations were made."""

    seconds: float | None
    generations: int
    formula: str | None = None


def seconds_to_law(
    X: np.ndarray,
    y: np.ndarray,
    is_law: IsLaw,
    settings: Mapping[str, Any],
    limit: float,
    seed: int,
) -> Found:
    """Run pyoperon on one thread until `is_law` names a program of its front, or time is over."""
    watch = _Watch(X[:SEEN], y[:SEEN], is_law, limit)
    model = SymbolicRegressor(
        allowed_symbols=",".join([*SYMBOLS, "constant", "variable"]),
        generations=_FOREVER,
        max_evaluations=_FOREVER,
        max_time=math.ceil(PATIENCE * limit),
        n_threads=1,
        random_state=seed + 1,  # 0 is a seed of its own choice there
        **settings,
    )
    names = ("GeneticProgrammingAlgorithm", "NSGA2Algorithm")  # one objective, or several
    watched = {name: _watched(getattr(pyoperon, name), watch) for name in names}
    with mock.patch.multiple(pyoperon, **watched):
        watch.start()
        model.fit(X, y)
    if not watch.over:  # it ended within a generation
        watch.judge([each["tree"] for each in model.pareto_front_], limit, last=True)
    return Found(watch.seconds, watch.generations, watch.formula)


def _watched(algorithm: type, watch: _Watch) -> type:
    """The algorithm, with a look at its front after every generation."""

    def run(self: Any, rng: Any, _: Any, threads: int, warm: bool) -> None:
        algorithm.Run(self, rng, lambda: watch.look(self), threads, warm)  # type: ignore[attr-defined]

    return type(algorithm.__name__, (algorithm,), {"Run": run})


class _Watch:
    """A clock that stands still while the front is looked at."""

    def __init__(self, X: np.ndarray, y: np.ndarray, is_law: IsLaw, limit: float) -> None:
        columns = X.shape[1]
        self.library = Library([*SYMBOLS, "const"], [f"x{i + 1}" for i in range(columns)])
        hashes = pyoperon.Dataset(np.zeros((1, columns), order="F")).Variables
        self.columns = {each.Hash: f"x{each.Index + 1}" for each in hashes}
        self.X, self.y, self.is_law, self.limit = X, y, is_law, limit
        self.seconds: float | None = None
        self.formula: str | None = None
        self.generations, self.began, self.looking, self.over = 0, 0.0, 0.0, False

    def start(self) -> None:
        self.began = time.process_time()

    def look(self, algorithm: Any) -> None:
        """Called after every generation."""
        at = time.process_time()
        passed = at - self.began - self.looking
        self.generations = algorithm.Generation
        front = getattr(algorithm, "BestFront", None) or [algorithm.BestModel]
        self.judge([each.Genotype for each in front], passed, passed > self.limit)
        if self.over:
            raise _FoundError
        self.looking += time.process_time() - at

    def judge(self, front: Sequence[Any], passed: float, last: bool) -> None:
        law = self.is_law([self.program(tree.Nodes) for tree in front], last)
        self.over = last or law is not None
        if law is not None:
            self.seconds, self.formula = min(passed, self.limit), str(law)

    def program(self, nodes: Sequence[Any]) -> Program:
        """The tree, with the factor and the summand that pyoperon's fitness puts around it."""
        names, constants = ["add", "const", "mul", "const"], [0.0, 1.0]
        # The first argument stands directly before its parent: pre-order, reversed.
        for node in reversed(nodes):
            if node.IsVariable:  # times a coefficient of its own
                names += ["mul", "const", self.columns[node.HashValue]]
            else:
                names.append("const" if node.IsConstant else node.Type.name.lower())
            if node.IsLeaf:
                constants.append(float(node.Value))
        tokens = tuple(self.library.index(name) for name in names)
        program = Program(self.library, tokens, tuple(constants))
        with np.errstate(all="ignore"):
            values = program.evaluate(self.X)
        if not np.isfinite(values).all() or np.ptp(values) == 0:
            return program
        factor = np.cov(values, self.y)[0, 1] / np.var(values, ddof=1)
        around = float(self.y.mean() - factor * values.mean()), float(factor)
        return Program(self.library, tokens, (*around, *constants[2:]))
