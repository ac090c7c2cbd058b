"""Proposals: programs for a search that come from the structure of its data.

In the first iteration linear algebra proposes candidates. In every iteration the columns of the
transform, which are fewer, are searched for a while, from a policy that has learnt nothing, and
what was best is written back in the table's own columns. Nothing is remembered between two
iterations but what the data alone decide, so that a search continues from its state as if it had
never stopped.

The first iteration may take long on many rows. Candidates that are not there when most of the time
is spent are given up, with all that was proposed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from symseek.constants import FitConfig
from symseek.constraints.constraint_set import DeadEnd
from symseek.data import Data
from symseek.evaluation import fit_constants
from symseek.evolution import merged
from symseek.loop import NoProposals, StepContext
from symseek.programs import Program, Programs
from symseek.rewards import ErrorReward, LossReward, Reward
from symseek.search import Search
from symseek.selection.rules import descriptions
from symseek.structure.candidates import exact_candidates, near_candidates
from symseek.structure.dimensional import TableUnits
from symseek.structure.guard import guarded
from symseek.structure.solving import on_device
from symseek.structure.symmetries import reducing_transform
from symseek.structure.transform import Transform
from symseek.tokens import Library

_FIT = FitConfig("least_squares", restarts=0, max_steps=40)
_ROUNDS = ((2_000, 150), (10_000, 60))  # rows to fit candidates to, and how many are then kept
_SHORTLISTED = 15
_OF_DATA = ("_reduced", "_exact", "_near", "_fitted")
_AT_A_TIME = 100  # programs fitted before the next look at the clock
MOST_ROWS = 10_000  # that the structure is looked for in: more say the same, and take longer
SHARE = 0.75  # of the time that the first candidates may take; the rest is for the search


class Proposals:
    """What a search asks in every iteration; `searched` makes the inner search."""

    def __init__(
        self,
        library: Library,
        data: Data,
        longest: int,
        searched: Callable[[Library, Data], Search],
        threads: int = 1,
        device: object = None,
        units: TableUnits | None = None,
    ) -> None:
        self.library = library
        self.data = data  # at most `MOST_ROWS` of the rows
        self.longest = longest  # tokens of a program, before it is simplified
        self.searched = searched
        self.threads = threads
        self.device = device  # that fits and factors large tables, if there is one
        self.units = units
        self._check: Callable[[], None] = lambda: None

    @staticmethod
    def suit(reward: Reward) -> bool:
        """Whether least squares, by which candidates are found, are near what a reward asks for.

        They are for any loss of values, but not for one of odds.
        """
        if isinstance(reward, LossReward):
            return reward.loss.name != "logistic"
        return isinstance(reward, ErrorReward) and reward.is_squared

    @cached_property
    def transform(self) -> Transform:
        """The transform with the fewest columns."""
        return self._reduced or Transform.plain(self.library.variables)

    @cached_property
    def _reduced(self) -> Transform | None:
        names = set(self.library.names)
        with on_device(self.device):
            return reducing_transform(
                self.data, self.library.variables, names, self._check, self.units
            )

    @property
    def found(self) -> Transform | None:
        """The transform, if it has been looked for and has fewer columns."""
        transform: Transform | None = vars(self).get("_reduced")
        return transform

    @property
    def searches(self) -> bool:
        """Whether the columns of the transform are searched in every iteration."""
        return self._reduced is not None and bool(self._reduced.columns)

    def __call__(self, iteration: int, context: StepContext) -> Iterator[Programs]:
        """Programs over the table's library, in groups that are to be graded one after another."""
        with guarded():
            yield from self._proposed(iteration, context)

    def _proposed(self, iteration: int, context: StepContext) -> Iterator[Programs]:
        if iteration == 0:
            context.check_time(SHARE)
            with self._limited(context):
                exact = self._exact
            yield self._written(exact)
            with self._limited(context):
                near = self._affordable(context)
            yield self._written(near)
        if self.searches:
            yield self._written(self._evolved(iteration, context))

    def share(self, other: object) -> None:
        """Take over what another has found out about the same data, which no seed changes."""
        if isinstance(other, Proposals):
            known = {name: vars(other)[name] for name in _OF_DATA if name in vars(other)}
            vars(self).update(known)

    @contextmanager
    def _limited(self, context: StepContext) -> Iterator[None]:
        """Let what is looked for take no more than its share of the time.

        Not in later iterations: a search that was stopped and looks for its transform again must
        come to the same as one that knows it.
        """
        self._check = lambda: context.check_time(SHARE)
        try:
            yield
        finally:
            self._check = lambda: None

    def _written(self, found: list[Program]) -> Programs:
        written = [self.transform.program(each, self.library) for each in found]
        kept = [each for each in written if len(each) <= self.longest]
        return Programs.from_list(list(dict.fromkeys(kept)), self.library)

    def _affordable(self, context: StepContext) -> list[Program]:
        """The best of the candidates that come near, if the budget allows to fit them all."""
        cost = self._cost
        if not cost or context.left < cost + _ROUNDS[-1][1]:
            return []
        context.expressions += cost
        return self._fitted

    def shortlist(self, expressions: int) -> list[Program]:
        """The best candidates, over the table's library: simpler ones may hide them from a front.

        A front compares programs as they are searched. How simple one is shows when its numbers
        turn out to be 1, or 1/2. A search that has ended before has fitted none.
        """
        with suppress(NoProposals), guarded():
            near = self._fitted[:_SHORTLISTED] if expressions > self._cost else []
            return list(self._written([*self._exact, *near]))
        return []

    @cached_property
    def _exact(self) -> list[Program]:
        """Candidates that explain the rows exactly."""
        library = self._small_library
        if not self.transform.columns:
            number = ["const"] if "const" in library.names else []
            return [Program.from_preorder(number, library)] if number else []
        with on_device(self.device):
            return exact_candidates(self.transform.data(self.data), library, self._check)

    @cached_property
    def _near(self) -> list[Program]:
        """Candidates that come near."""
        with on_device(self.device):
            return near_candidates(self.transform.data(self.data), self._small_library, self._check)

    @cached_property
    def _cost(self) -> int:
        """How many fits it takes to find the best candidates."""
        counts = [len(self._near), *(count for _, count in _ROUNDS[:-1])]
        return sum(np.minimum.accumulate(counts).tolist())

    @cached_property
    def _fitted(self) -> list[Program]:
        """The best candidates, fitted to the rows, best first."""
        found, data = self._near, self.transform.data(self.data)
        if not found:
            return []
        batch = Programs.from_list(found)
        for rows, count in _ROUNDS:
            batch = self._best(batch, data.sampled(rows, 0), count)
        return list(batch)

    def _best(self, batch: Programs, data: Data, count: int) -> Programs:
        """So many programs with the shortest descriptions of these rows, once they are fitted."""
        groups = []
        for start in range(0, len(batch), _AT_A_TIME):
            self._check()
            some = batch[start : start + _AT_A_TIME]
            groups.append(
                fit_constants(
                    some, data.X, data.y, _FIT, weights=data.weights, threads=self.threads
                )
            )
        fitted = merged(groups)
        errors = np.where(fitted.ok, 1 / np.maximum(fitted.rewards, 1e-300) - 1, np.inf)
        lengths = descriptions(
            errors.tolist(),
            batch.lengths.tolist(),
            batch.constant_counts.tolist(),
            len(data.y),
            len(batch.library),
        )
        order = np.argsort(lengths, kind="stable")[:count]
        return fitted.programs[order[fitted.ok[order]]]

    @cached_property
    def _small_library(self) -> Library:
        tokens = [token for token in self.library if token.index is None]
        # A library needs a variable; one of no column is never used.
        names = [f"z{at + 1}" for at in range(max(len(self.transform.columns), 1))]
        taken = {token.name for token in tokens}
        return Library(tokens, [f"{name}_" if name in taken else name for name in names])

    @cached_property
    def _inner(self) -> Search:
        return self.searched(self._small_library, self.transform.data(self.data))

    def _evolved(self, iteration: int, context: StepContext) -> list[Program]:
        """The front of a short search in derived columns, which counts for the whole one."""
        inner = self._inner
        own = context.nested(inner)
        if own.finished(inner.least) is not None:
            return []
        try:
            state = inner.step(replace(inner.state, iteration=iteration), own)
        except DeadEnd:  # no formula in these columns has the unit of the target
            return []
        context.adopt_counts(own)
        return [entry.program for entry in state.front]
