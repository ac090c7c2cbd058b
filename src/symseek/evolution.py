"""Evolution inside an iteration: short, and begun anew from what the policy has just written.

The sampled programs are the first generation. Each further one comes from it by crossover and
mutation in the native core, under the very constraints that sampling obeys, so that the space
searched is one. The best children join the batch that the policy learns from.

One long evolution is a sequence of iterations that pass their population on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.constraints.constraint_set import ConstraintSet
from symseek.engines.breeding import Breeder
from symseek.engines.native import Policy, Workers
from symseek.errors import InputError
from symseek.evaluation import Graded
from symseek.policy import PolicyConfig
from symseek.programs import Programs
from symseek.recombination import Recombiner

__all__ = ["Evolution", "Evolver"]

_RECENT = 24  # generations whose programs a recombination may use


@dataclass(frozen=True)
class Evolution:
    """How to evolve a batch."""

    generations: int = 20  # in each iteration, the sampled one apart
    tournament: int = 5  # parents are the best of so many drawn at random
    crossover: float = 0.8  # chance that a child gets a subtree of a second parent
    mutation: float = 0.5  # chance that a child is changed otherwise
    elite: int = 100  # the best so far, which live on beside the children
    pairing: int = 10  # generations between two recombinations by what is missing; 0: never
    pairs: int = 100  # programs that a recombination makes
    kept: int = 50  # the best children, which join the batch
    continues: bool = False  # the next iteration goes on with this population: it samples none

    def __post_init__(self) -> None:
        for name in ("generations", "tournament", "pairs", "kept"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        for name in ("elite", "pairing"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 0 or more")
        for name in ("crossover", "mutation"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")
        if self.crossover == self.mutation == 0:
            raise InputError("crossover and mutation are both 0, so no child would be new")


class Evolver:
    """Evolves the batches of one search.

    Between two iterations `population` and `children` are all that it remembers.
    """

    def __init__(
        self,
        config: Evolution,
        rules: ConstraintSet,
        seed: int,
        threads: int | Workers,
        recombiner: Recombiner | None = None,
    ) -> None:
        self.config = config
        self.breeder = Breeder(rules, seed, threads)
        self.recombiner = recombiner
        self.population: Graded | None = None  # with which the next iteration is to begin
        self.children = 0  # in a generation of that population
        # Custom constraints can only be asked token by token, as the smallest policy does.
        self.judge = Policy(rules, PolicyConfig(hidden=1), seed, threads) if rules.custom else None

    def __call__(
        self,
        batch: Graded,
        iteration: int,
        grade: Callable[[Programs], Graded],
        room: Callable[[], int],
    ) -> Graded:
        """The batch, sampled or the population of last time, with the best children added.

        `grade` sees every generation; `room` says how many programs may still be graded, 0 to end.
        """
        config, population = self.config, batch
        size = len(batch.programs) if self.population is None else self.children
        self.breeder.begin(batch.programs)
        recent: deque[Graded] = deque(maxlen=_RECENT)
        best: list[Graded] = []  # the best children so far, as one group
        continues = config.continues
        for generation in range(config.generations):
            count = min(size, room())
            if count == 0:
                break
            children = self._permitted(
                self.breeder.breed(
                    population.programs, fitness(population), iteration, generation, config, count
                )
            )
            fresh = [grade(children)] if len(children) else []
            if config.pairing and (generation + 1) % config.pairing == 0:
                pairs = self._pairs([batch, *recent, *fresh])[: room()]
                fresh += [grade(pairs)] if len(pairs) else []
            if not fresh:
                continues = False  # nothing new can be bred of this population
                break
            recent += fresh
            best = [fittest([*best, *fresh], config.kept)]
            population = fittest([population], config.elite, fresh)
        self.population, self.children = (population, size) if continues else (None, 0)
        return merged([batch, *best])

    def _pairs(self, groups: list[Graded]) -> Programs:
        """What recombination makes of the programs met lately: new ones that may be graded."""
        pairs = None
        if self.recombiner is not None:
            pairs = self.recombiner(merged(groups), self.config.pairs)
        if pairs is None:
            return groups[0].programs[:0]
        return self._permitted(pairs[np.flatnonzero(self.breeder.admit(pairs))])

    def _permitted(self, programs: Programs) -> Programs:
        """Those that the custom constraints allow; the breeder sees to all others."""
        if self.judge is None:
            return programs
        return programs[np.flatnonzero(self.judge.score(programs).log_probability > -np.inf)]


def fittest(groups: list[Graded], count: int, besides: list[Graded] | None = None) -> Graded:
    """The best `count` programs of some groups, best first, after all of those `besides`."""
    chosen = merged(groups)
    best = np.argsort(-fitness(chosen), kind="stable")[:count]
    top = Graded(chosen.programs[best], chosen.rewards[best], chosen.ok[best], len(best))
    return merged([*(besides or []), top])


def fitness(graded: Graded) -> NDArray[np.float64]:
    """The rewards [B]; an invalid program is behind all others, were these below its 0 too."""
    return np.where(graded.ok, graded.rewards, -np.inf)


def merged(groups: list[Graded]) -> Graded:
    """Several groups as one."""
    return Graded(
        Programs.concatenate([group.programs for group in groups]),
        np.concatenate([group.rewards for group in groups]),
        np.concatenate([group.ok for group in groups]),
        sum(group.distinct for group in groups),
    )
