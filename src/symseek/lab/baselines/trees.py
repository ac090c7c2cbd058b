"""Trees as DEAP sees them, and DEAP's operators put together for one run.

A tree is a list of nodes in pre-order, and a node is the id of its token, which also knows what
DEAP asks about it. So DEAP's own operators apply as they are, and a population is one step away
from the arrays that an engine grades.

Only this module imports DEAP.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from deap import algorithms, base, gp, tools

from symseek.engines.interface import unfitted_constants
from symseek.programs import Programs
from symseek.tokens import EMPTY, Library

if TYPE_CHECKING:
    from symseek.lab.baselines.gp import GPConfig

_GLOBAL_RANDOM = threading.Lock()


class Node(int):
    """The id of a token, with its arity and its types, all of which are `object`: untyped."""

    arity: int
    args: tuple[type, ...]
    ret: type = object

    @classmethod
    def of(cls, token: int, arity: int) -> Node:
        """The node for a token."""
        node = cls(token)
        node.arity = arity
        node.args = (object,) * arity
        return node


class NodeSet:
    """The nodes of a library, as DEAP's `generate` draws from them.

    >>> nodes = NodeSet(Library(["add", "sin"], variables=["x"]))
    >>> nodes.primitives[object], nodes.terminals[object]
    ([0, 1], [2])
    """

    def __init__(self, library: Library) -> None:
        nodes = [Node.of(token, arity) for token, arity in enumerate(library.arities)]
        self.ret = object
        self.primitives = {object: [node for node in nodes if node.arity]}
        self.terminals = {object: [node for node in nodes if not node.arity]}


class Fitness(base.Fitness):  # type: ignore[misc]
    """A reward, of which more is better."""

    weights = (1.0,)


class Tree(list[Node]):
    """An individual: what DEAP's `PrimitiveTree` is, without the checks at every assignment."""

    __slots__ = ("fitness",)

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        super().__init__(nodes)
        self.fitness = Fitness()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tree:
        """A copy that is not graded; nodes are shared, as nothing changes them."""
        return Tree(self)

    @property
    def root(self) -> Node:
        """The first node."""
        return self[0]

    def searchSubtree(self, begin: int) -> slice:
        """Where the subtree stands that begins at a node; the name is DEAP's."""
        end = begin + 1
        open_slots = self[begin].arity
        while open_slots:
            open_slots += self[end].arity - 1
            end += 1
        return slice(begin, end)


class TreeOperators:
    """DEAP's operators over one library, with random numbers of their own.

    >>> from symseek.lab.baselines import GPConfig
    >>> library = Library(["add", "sin"], variables=["x"])
    >>> operators = TreeOperators(library, GPConfig(init_depths=(2, 2)), lambda tree: len(tree) > 9)
    >>> trees = [operators.individual() for _ in range(3)]
    >>> [" ".join(library.names[node] for node in tree) for tree in trees]
    ['sin add x x', 'sin sin x', 'add sin x add x x']
    >>> print(operators.programs(trees)[1])
    sin(sin(x))
    """

    def __init__(
        self, library: Library, config: GPConfig, broken: Callable[[Tree], bool], seed: int = 0
    ) -> None:
        nodes = NodeSet(library)
        toolbox = base.Toolbox()
        low, high = config.init_depths
        toolbox.register("expr", gp.genFull, pset=nodes, min_=low, max_=high)
        toolbox.register("individual", tools.initIterate, Tree, toolbox.expr)
        low, high = config.mutation_depths
        toolbox.register("subtree", gp.genFull, min_=low, max_=high)
        toolbox.register("clone", Tree)
        toolbox.register("select", tools.selTournament, tournsize=config.tournament)
        toolbox.register("mate", gp.cxOnePoint)
        toolbox.register("mutate", gp.mutUniform, expr=toolbox.subtree, pset=nodes)
        for operator in ("mate", "mutate"):
            toolbox.decorate(operator, _limited(broken))
        self.library = library
        self.toolbox = toolbox
        self._random = random.Random(seed)
        self._chances = config.crossover, config.mutation

    def individual(self) -> Tree:
        """A full tree, which may break limits."""
        with _drawing_from(self._random):
            tree: Tree = self.toolbox.individual()
        return tree

    def offspring(self, population: Sequence[Tree], count: int) -> list[Tree]:
        """As many children, of parents that tournaments select; the parents stay as they are."""
        with _drawing_from(self._random):
            parents = self.toolbox.select(population, count)
            children: list[Tree] = algorithms.varAnd(parents, self.toolbox, *self._chances)
        return children

    def programs(self, trees: Sequence[Tree]) -> Programs:
        """Trees as programs, every constant 1."""
        lengths = np.fromiter(map(len, trees), dtype=np.int32, count=len(trees))
        total, longest = int(lengths.sum()), int(lengths.max(initial=0))
        tokens = np.full((len(trees), longest), EMPTY, dtype=np.int16)  # [B, T]
        filled = np.arange(longest) < lengths[:, None]
        tokens[filled] = np.fromiter(chain.from_iterable(trees), dtype=np.int16, count=total)
        return Programs._trusted(
            self.library, tokens, lengths, unfitted_constants(self.library, tokens)
        )


def _limited(
    broken: Callable[[Tree], bool],
) -> Callable[[Callable[..., Iterable[Tree]]], Callable[..., list[Tree]]]:
    """Decorate an operator so that a copy of one parent takes the place of a broken child.

    So does DEAP's `staticLimit`, but there two children can become the same copy, and a mutation of
    the one then changes the other unseen.
    """

    def decorator(operator: Callable[..., Iterable[Tree]]) -> Callable[..., list[Tree]]:
        def limited(*parents: Tree, **settings: Any) -> list[Tree]:
            kept = [list(parent) for parent in parents]  # operators change what they are given
            children = operator(*parents, **settings)
            return [Tree(random.choice(kept)) if broken(child) else child for child in children]

        return limited

    return decorator


@contextmanager
def _drawing_from(source: random.Random) -> Iterator[None]:
    """Let Python's global random numbers, which DEAP draws, come from this source for a while.

    The lock keeps runs in other threads out meanwhile. Between two calls anyone may use the global
    random numbers: they are left as they were.
    """
    with _GLOBAL_RANDOM:
        outside = random.getstate()
        random.setstate(source.getstate())
        try:
            yield
        finally:
            source.setstate(random.getstate())
            random.setstate(outside)
