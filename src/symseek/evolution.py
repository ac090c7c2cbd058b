"""Evolution inside an iteration: short, and started from what the policy has just written.

The sampled programs are the first generation. Each further one comes from it by crossover and
mutation in the engine, under the very constraints that sampling obeys, so that the space searched
is one. The best children join the batch that the policy learns from.

Now and then programs are also recombined by what is missing. A program a that explains part of the
data leaves a residual: y - a for a sum, y / a for a product. Among the short programs seen, the one
nearest to it is found by comparing values on a sample of the rows, and the two become one program.
Chance alone would have to try as many crossovers as there are pairs.

One long evolution is a sequence of iterations that pass their population on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import check_fields
from symseek.constraints import ConstraintSet
from symseek.data import Data
from symseek.engines.interface import PAIRS, Engine
from symseek.errors import InputError
from symseek.evaluation import Graded
from symseek.programs import Program, Programs
from symseek.tokens import Library

RECENT = 24  # generations whose programs a recombination may use
ROWS = 64  # rows on which programs are compared: enough to tell them apart
WHOLES = 100  # the best programs, which are completed
PARTS = 2000  # the shortest programs, with which they are


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
    continues: bool = False  # the next iteration continues with this population: it samples none

    def __post_init__(self) -> None:
        at_least_1 = dict.fromkeys(("generations", "tournament", "pairs", "kept"), 1)
        check_fields(self, **at_least_1, elite=0, pairing=0, crossover=(0, 1), mutation=(0, 1))
        if self.crossover == self.mutation == 0:
            raise InputError("crossover and mutation are both 0, so no child would be new")


@dataclass(frozen=True)
class Population:
    """What the next iteration of an evolution takes over."""

    graded: Graded  # [B]
    children: int  # in each of its generations


class Evolver:
    """Evolves the batches of one search; it remembers nothing between two iterations."""

    def __init__(
        self,
        config: Evolution,
        rules: ConstraintSet,
        seed: int,
        engine: Engine,
        data: Data | None = None,
    ) -> None:
        self.config = config
        self.rules = rules
        self.seed = seed
        self.engine = engine
        self.breeder = engine.breeder(rules)
        self.recombiner = None
        if data is not None and config.pairing:
            self.recombiner = Recombiner(rules.library, data, rules.max_length, engine)

    def __call__(
        self,
        batch: Graded,
        before: Population | None,
        iteration: int,
        grade: Callable[[Programs], Graded],
        room: Callable[[], int],
    ) -> tuple[Graded, Population | None]:
        """The batch with the best children added, and the population to continue with.

        The batch was sampled or is the population `before`. `grade` sees every generation; `room`
        says how many programs may still be graded, 0 to end.
        """
        config, population = self.config, batch
        size = len(batch.programs) if before is None else before.children
        self.breeder.begin(batch.programs)
        recent: deque[Graded] = deque(maxlen=RECENT)
        best: list[Graded] = []  # the best children so far, as one group
        continues = config.continues
        for generation in range(config.generations):
            count = min(size, room())
            if count == 0:
                break
            children = self._children(population, iteration, generation, count)
            new = [grade(children)] if len(children) else []
            if config.pairing and (generation + 1) % config.pairing == 0:
                pairs = self._pairs([batch, *recent, *new])[: room()]
                new += [grade(pairs)] if len(pairs) else []
            if not new:
                continues = False  # nothing new can be bred from this population
                break
            recent += new
            best = [fittest([*best, *new], config.kept)]
            population = fittest([population], config.elite, new)
        return merged([batch, *best]), Population(population, size) if continues else None

    def _children(
        self, population: Graded, iteration: int, generation: int, count: int
    ) -> Programs:
        return self._permitted(
            self.breeder.breed(
                population.programs,
                fitness(population),
                self.seed,
                iteration,
                generation,
                self.config,
                count,
            )
        )

    def _pairs(self, groups: list[Graded]) -> Programs:
        """What recombination makes of recent programs: new ones that may be graded."""
        pairs = None
        if self.recombiner is not None:
            pairs = self.recombiner(merged(groups), self.config.pairs)
        if pairs is None:
            return groups[0].programs[:0]
        return self._permitted(pairs[np.flatnonzero(self.breeder.admit(pairs))])

    def _permitted(self, programs: Programs) -> Programs:
        """Those that the custom constraints allow; the breeder obeys all others."""
        if not self.rules.custom:
            return programs
        return programs[np.flatnonzero(self.engine.permits(self.rules, programs))]


def fittest(groups: list[Graded], count: int, besides: list[Graded] | None = None) -> Graded:
    """The best `count` programs of some groups, best first, after all of those `besides`."""
    chosen = merged(groups)
    best = np.argsort(-fitness(chosen), kind="stable")[:count]
    return merged([*(besides or []), part(chosen, best)])


def part(graded: Graded, rows: NDArray[np.intp]) -> Graded:
    """Some of the programs."""
    return Graded(graded.programs[rows], graded.rewards[rows], graded.ok[rows], len(rows))


def fitness(graded: Graded) -> NDArray[np.float64]:
    """The rewards [B]; invalid programs rank last, even behind negative rewards."""
    return np.where(graded.ok, graded.rewards, -np.inf)


def merged(groups: list[Graded]) -> Graded:
    """Several groups as one."""
    return Graded(
        Programs.concatenate([group.programs for group in groups]),
        np.concatenate([group.rewards for group in groups]),
        np.concatenate([group.ok for group in groups]),
        sum(group.distinct for group in groups),
    )


def compared_rows(count: int) -> NDArray[np.intp]:
    """On which of so many rows the values of programs are compared."""
    return np.unique(np.linspace(0, count - 1, ROWS).astype(np.intp))


class Recombiner:
    """Joins programs of one search on its data."""

    def __init__(self, library: Library, data: Data, max_length: int, engine: Engine) -> None:
        rows = compared_rows(len(data.y))
        self.library = library
        self.max_length = max_length
        self.engine = engine
        self.target, self.weights = data.y[rows], data.weights[rows]
        self.evaluator = engine.evaluator(library, data.X[rows], cache=0)
        self.ways = [way for way, pair in enumerate(PAIRS) if pair.operator in library.names]

    def __call__(self, graded: Graded, count: int) -> Programs | None:
        """The `count` best pairs of those graded, as programs; they may break constraints."""
        wholes, parts = self._choose(graded)
        if not len(wholes) or not len(parts) or not self.ways:
            return None
        programs = graded.programs
        lengths = programs.lengths
        fits = lengths[wholes][:, None] + lengths[parts][None, :] + 1 <= self.max_length
        pairs = self.engine.pair(
            self.evaluator.predict(programs[wholes]).values,
            self.evaluator.predict(programs[parts]).values,
            self.target,
            self.weights,
            fits,
        )
        rank = np.argsort(pairs.error[:, self.ways], axis=None, kind="stable")[:count]
        children = []
        for at in rank:
            row, way = int(at) // len(self.ways), self.ways[int(at) % len(self.ways)]
            if not np.isfinite(pairs.error[row, way]):
                break
            children.append((way, int(wholes[row]), int(parts[pairs.candidate[row, way]])))
        return self._joined(programs, children) if children else None

    def _choose(self, graded: Graded) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The best programs and the shortest, one of each reward: equal rewards, equal values."""
        lengths = graded.programs.lengths
        room = self.max_length - 2  # for an operator and the shortest part
        valid = np.flatnonzero(graded.ok & (lengths <= room))
        valid = valid[np.argsort(lengths[valid], kind="stable")]  # of equals, the shortest
        valid = valid[np.unique(graded.rewards[valid], return_index=True)[1]]
        best = valid[np.argsort(-graded.rewards[valid], kind="stable")]
        short = valid[lengths[valid] <= self.max_length // 2 - 1]
        order = np.argsort(lengths[short], kind="stable")
        return best[:WHOLES], short[order][:PARTS]

    def _joined(self, programs: Programs, children: list[tuple[int, int, int]]) -> Programs:
        """The pairs as programs: an operator, then one program, then the other."""
        joined = []
        for way, *pair in children:
            parts = [programs[each] for each in (reversed(pair) if PAIRS[way].swapped else pair)]
            joined.append(Program.joined(PAIRS[way].operator, parts))
        return Programs.from_list(joined)
