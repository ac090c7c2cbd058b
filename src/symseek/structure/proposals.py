"""Proposals: programs for a search that come from the structure of its data.

In the first iteration linear algebra proposes candidates. In every iteration the columns of the
view, which are fewer, are searched for a while, from a policy that has learnt nothing, and what was
best is written back in the table's own columns. Nothing is remembered between two iterations but
what the data alone decide, so that a search goes on from its state as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from symseek.constants import FitConfig
from symseek.data import Data
from symseek.evaluation import Graded, fit_constants
from symseek.loop import Tally
from symseek.programs import Program, Programs
from symseek.search import Search
from symseek.structure.candidates import candidates
from symseek.structure.symmetries import reduced_view
from symseek.structure.view import View
from symseek.tokens import Library

__all__ = ["Proposals"]

_FIT = FitConfig("least_squares", restarts=0, max_steps=40)
_KEPT = 60  # of the candidates, the best once they are fitted
_LONGER = 2  # times as long as a program that is sampled, at most


class Proposals:
    """What a search asks in every iteration; `searched` makes the search in a view's columns."""

    def __init__(
        self,
        library: Library,
        data: Data,
        max_length: int,
        searched: Callable[[Library, Data], Search],
        threads: int = 1,
    ) -> None:
        self.library = library
        self.data = data  # all rows
        self.longest = _LONGER * max_length
        self.searched = searched
        self.threads = threads

    @cached_property
    def view(self) -> View:
        """The view with the fewest columns."""
        return self._reduced or View.plain(self.library.variables)

    @cached_property
    def _reduced(self) -> View | None:
        return reduced_view(self.data, self.library.variables, set(self.library.names))

    @property
    def found(self) -> View | None:
        """The view, if it has been looked for and has fewer columns."""
        view: View | None = vars(self).get("_reduced")
        return view

    def __call__(self, iteration: int, tally: Tally) -> Iterator[Programs]:
        """Programs over the table's library, in groups that are to be graded one after another."""
        if iteration == 0:
            yield self._written(self._candidates(tally))
        if self._reduced is not None and self._reduced.columns:
            yield self._written(self._evolved(iteration, tally))

    def _written(self, found: list[Program]) -> Programs:
        written = [self.view.program(each, self.library) for each in found]
        kept = [each for each in written if len(each) <= self.longest]
        return Programs.from_list(list(dict.fromkeys(kept)), self.library)

    def _candidates(self, tally: Tally) -> list[Program]:
        """What linear algebra finds: exact programs, or the best of many that come near."""
        library, data = self._small_library, self.view.data(self.data)
        if not self.view.columns:
            return [Program.from_preorder(["const"], library)] if "const" in library.names else []
        found, exact = candidates(data, library)
        if exact or not found:
            return found
        found = found[: max(tally.left - _KEPT, 0)]
        if not found:
            return []
        some = data.sampled(2_000, 0)
        batch, threads = Programs.from_list(found), self.threads
        graded = fit_constants(batch, some.X, some.y, _FIT, weights=some.weights, threads=threads)
        tally.expressions += len(found)
        return _best(graded, _KEPT)

    @cached_property
    def _small_library(self) -> Library:
        tokens = [token for token in self.library if token.index is None]
        # A library needs a variable; one of no column is never used.
        names = [f"z{at + 1}" for at in range(max(len(self.view.columns), 1))]
        taken = {token.name for token in tokens}
        return Library(tokens, [f"{name}_" if name in taken else name for name in names])

    @cached_property
    def _inner(self) -> Search:
        return self.searched(self._small_library, self.view.data(self.data))

    def _evolved(self, iteration: int, tally: Tally) -> list[Program]:
        """The front of a short search in the view's columns, which counts for the whole one."""
        inner = self._inner
        own = tally.elsewhere(inner)
        if own.finished(inner.least) is not None:
            return []
        state = inner.step(replace(inner.state, iteration=iteration), own)
        tally.goes_on_from(own)
        return [entry.program for entry in state.front]


def _best(graded: Graded, count: int) -> list[Program]:
    """The best programs, and of each length the best."""
    order = np.argsort(-np.where(graded.ok, graded.rewards, -np.inf), kind="stable")
    order = order[graded.ok[order]]
    lengths = graded.programs.lengths[order]
    first = np.unique(lengths, return_index=True)[1]
    chosen = sorted({*range(min(count, len(order))), *first.tolist()})
    return [graded.programs[int(order[at])] for at in chosen]
