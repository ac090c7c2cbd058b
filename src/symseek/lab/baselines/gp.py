"""Genetic programming on DEAP: the paper's baseline, with its tuned settings.

A population of random trees is graded; tournaments choose parents, crossover and mutation make as
many children of them, and these are the next population (Petersen et al. 2021, appendix). DEAP
varies trees one by one in Python; the engine grades each generation in one call.

It runs in the loop of `Search` and gives the same `Result`, so whatever reads one reads the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import ABOVE_0, check_fields, refused, whole
from symseek.constants import FitConfig
from symseek.constraints import ConstraintSet, paper_constraints
from symseek.data import Data
from symseek.engines.interface import Engine, engine_named
from symseek.errors import InputError, unknown_name
from symseek.evaluation import data_grader
from symseek.evolution import fitness
from symseek.loop import IterativeSearch, LoopState, StepContext, check_budget, check_seed
from symseek.objectives import RiskSeeking
from symseek.programs import Programs
from symseek.rewards import Reward, reward_named
from symseek.tokens import Library

if TYPE_CHECKING:
    from symseek.lab.baselines.trees import Node, Tree, TreeOperators

_DEEPEST = 10  # a full tree of binary operators has 2,047 nodes then
_TRIES = 10_000  # trees drawn in a row, all over the limits, before there seem to be none within


@dataclass(frozen=True)
class GPConfig:
    """How to evolve. The defaults are the paper's tuned settings.

    >>> GPConfig(constraints=True, max_expressions=10_000).tournament
    2
    """

    population: int = 1000  # trees in a generation
    tournament: int = 2  # a parent is the best of so many drawn at random
    crossover: float = 0.95  # chance that two parents swap subtrees
    mutation: float = 0.05  # chance that a child has a subtree replaced by a random one
    init_depths: tuple[int, int] = (0, 2)  # least and greatest of the first trees, all full
    mutation_depths: tuple[int, int] = (0, 2)  # the same of the random subtrees
    max_length: int = 30  # tokens; a child with more is replaced by a parent
    max_constants: int = 3  # in one tree; a child with more is replaced by a parent
    constraints: bool = False  # so is a child that breaks the paper's constraints
    max_expressions: int = 2_000_000  # the budget: every tree of every generation counts
    max_seconds: float | None = None  # a second budget, in time
    stop_reward: float | None = None  # stop once the best reward reaches this
    constants: FitConfig | None = field(default_factory=FitConfig.paper)  # None: const stays 1

    def __post_init__(self) -> None:
        check_fields(
            self,
            population=2,
            tournament=1,
            max_length=1,
            crossover=(0, 1),
            mutation=(0, 1),
            max_constants=0,
            max_seconds=ABOVE_0,
        )
        if self.crossover == self.mutation == 0:
            raise InputError("crossover and mutation are both 0, so no child would be new")
        for name in ("init_depths", "mutation_depths"):
            object.__setattr__(self, name, _depths(name, getattr(self, name)))
        check_budget(self, "population", "population")

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> GPConfig:
        """Build from keywords, refusing unknown ones by name."""
        known = [each.name for each in fields(cls)]
        for name in settings:
            if name not in known:
                raise unknown_name("setting", name, known)
        return cls(**settings)


def _depths(name: str, given: Any) -> tuple[int, int]:
    """The least and the greatest depth, checked."""
    wanted = f"the least and the greatest depth, from 0 to {_DEEPEST}"
    if not isinstance(given, Sequence) or len(given) != 2:
        raise refused(name, given, wanted)
    low, high = (whole(name, each, wanted, 0, _DEEPEST) for each in given)
    if low > high:
        raise refused(name, given, wanted)
    return low, high


@dataclass(frozen=True, kw_only=True)
class GPState(LoopState):
    """What one generation leaves to the next."""

    population: tuple[Tree, ...] = ()  # graded: each tree has its fitness


class GeneticProgramming(IterativeSearch):
    """Evolves programs towards high reward.

    The budget counts every tree of every generation, copies of a parent too, as it counts every
    sample of a policy: 2,000,000 expressions are the first population of 1,000 and 1,999
    generations. A tree that is known already costs no more than a look into the grader's memory.

    As in the paper, constraints are asked about the children that crossover and mutation make. The
    first trees obey the limits of length and constants alone.

    >>> library = Library(["add", "mul", "sin"], variables=["x"])
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> evolution = GeneticProgramming(library, X, X[:, 0] ** 2 + X[:, 0], seed=1)
    >>> result = evolution.run(callback=lambda now: now.best.reward > 1 - 1e-9)
    >>> round(result.best.reward, 9)
    1.0
    """

    def __init__(
        self,
        library: Library,
        X: ArrayLike,
        y: ArrayLike,
        config: GPConfig | None = None,
        *,
        reward: str | Reward | Callable[..., NDArray[np.floating]] = "inverse_nrmse",
        weights: ArrayLike | None = None,
        seed: int = 0,
        threads: int = 1,
        engine: str | Engine = "native",
    ) -> None:
        if not any(library.arities):
            raise InputError("the library has no operator to build trees with; add some")
        self.library = library
        self.config = config = GPConfig() if config is None else config
        if not isinstance(config, GPConfig):
            raise refused("config", config, "of the type GPConfig")
        self.seed = seed = check_seed(seed)
        self.engine = engine_named(engine, threads)
        data = Data.checked(X, y, library.variables, weights)
        chosen = reward_named(reward)
        self.grader = data_grader(library, data, chosen, self.engine, config.constants)
        self.operators: TreeOperators = operators()(library, config, self._limits(), seed)
        self.state = GPState()

    def step(self, state: GPState, context: StepContext) -> GPState:
        """One generation.

        Constants are fitted from 1 again, as in the paper: trees have no values.
        """
        trees = self._offspring(state, context.left) if state.population else self._first()
        context.clock.lap("evolve")
        graded = context.grade(self.operators.programs(trees))
        for tree, value in zip(trees, fitness(graded).tolist(), strict=True):
            tree.fitness.values = (value,)
        context.clock.lap("evaluate")
        closed = context.closed(graded, state, RiskSeeking.epsilon, entropy=math.nan)  # no policy
        return GPState(population=tuple(trees), **closed)

    def _limits(self) -> Callable[[Tree], bool]:
        """Whether a parent must take the place of a child."""
        within, library, config = self._within, self.library, self.config
        if not config.constraints:
            return lambda tree: not within(tree)
        rules = ConstraintSet(
            library, paper_constraints(high=config.max_length, constants=config.max_constants)
        )
        permits = self.engine.permits  # many times as fast as `rules.violations`
        lengths, nothing = np.arange(config.max_length + 1, dtype=np.int32), np.ones((1, 0))

        def broken(tree: Tree) -> bool:
            if not within(tree):
                return True
            tokens, length = np.array([tree], dtype=np.int16), len(tree)
            program = Programs._trusted(library, tokens, lengths[length : length + 1], nothing)
            return not permits(rules, program)[0]

        return broken

    def _within(self, tree: Tree) -> bool:
        """Whether a tree keeps the limits of length and constants."""
        if len(tree) > self.config.max_length:
            return False
        constant = cast("Node | None", self.library.constant_id)  # a node equals its token
        return constant is None or tree.count(constant) <= self.config.max_constants

    def _first(self) -> list[Tree]:
        """The first population; a tree over the limits is drawn again."""
        draw, tries = self.operators.individual, 0
        population: list[Tree] = []
        while len(population) < self.config.population:
            tree, tries = draw(), tries + 1
            if self._within(tree):
                population.append(tree)
                tries = 0
            elif tries == _TRIES:
                raise InputError(
                    f"no full tree of depths {self.config.init_depths} turns up that has at most"
                    f" {self.config.max_length} tokens and {self.config.max_constants} constants;"
                    " lower init_depths or raise the limits"
                )
        return population

    def _offspring(self, state: GPState, left: int) -> list[Tree]:
        """The next population, or what is left of the budget."""
        return self.operators.offspring(state.population, min(self.config.population, left))


def operators() -> type[TreeOperators]:
    """The class that needs DEAP, imported when it is needed; without it, one sentence says so."""
    try:
        from symseek.lab.baselines.trees import TreeOperators
    except ModuleNotFoundError as error:
        if error.name != "deap":
            raise
        raise InputError(
            "genetic programming needs DEAP, which is not installed; run pip install 'symseek[gp]'"
        ) from None
    return TreeOperators
