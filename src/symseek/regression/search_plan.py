"""The searches of a problem: one for each seed, on the same rows, with the same settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from symseek.constraints import Constraint, Custom, paper_constraints
from symseek.constraints.constraint_set import suits
from symseek.data import Data
from symseek.engines.choice import NATIVE, RACED, chosen, fixed
from symseek.engines.interface import Engine, engine_named
from symseek.problem import Problem
from symseek.programs import Program
from symseek.regression.rows import Rows
from symseek.rewards import ErrorReward
from symseek.search import Proposer, Search, SearchConfig
from symseek.selection.measure import Measure
from symseek.selection.stopping import Ending
from symseek.settings import Settings
from symseek.structure.proposals import MOST_ROWS, Proposals
from symseek.tokens import Library

_LONGER = 2  # times as long as a program that is searched for: what linear algebra finds may be
_UNSIMPLIFIED = 3  # times as long as that: what it writes at first
# What is left of `max_seconds` for the time after the search: a part, and some for every row.
_AFTER, _AFTER_A_ROW, _MOST_AFTER = 0.05, 2e-6, 0.2


@dataclass(frozen=True)
class SearchPlan:
    """What the searches of a problem have in common; it makes one for each seed."""

    problem: Problem
    settings: Settings
    rows: Rows
    library: Library
    engine: str | Engine  # one device for all

    @classmethod
    def of(cls, problem: Problem, settings: Settings, rows: Rows, library: Library) -> SearchPlan:
        """The plan, on the engine that suits the work."""
        name = chosen(settings.engine, *_work(problem, settings, rows))
        engine = name if name == NATIVE else engine_named(name, settings.threads)
        return cls(problem, settings, rows, library, engine)

    def repeatable(self, search: Search) -> Settings:
        """The settings, with an engine that is the same on any machine."""
        work = _work(self.problem, self.settings, self.rows)
        name = fixed(self.settings.engine, search.engine.name, *work)
        return replace(self.settings, engine=name)

    def seeded(self, seed: int, polished: Callable[[Program], Program]) -> Search:
        """The search with one seed; `polished` fits constants to the last digit."""
        ending = Ending(self._measure, self.settings.patience, polished)
        return self._on(self.library, self.rows.searched, seed, ending, self._proposals(seed))

    @cached_property
    def _measure(self) -> Measure:
        return Measure(self.rows.sampled, self.problem.reward, self.library, self.rows.scales)

    def config(self, settings: Settings) -> SearchConfig:
        """The settings of the search, which leaves some of the seconds for what comes after it."""
        config, seconds = settings.search_config(), settings.max_seconds
        if settings.config is not None or seconds is None:
            return config
        needed = _AFTER * seconds + _AFTER_A_ROW * len(self.rows.train.y)
        return replace(config, max_seconds=seconds - min(needed, _MOST_AFTER * seconds))

    @property
    def longest(self) -> int:
        """The most tokens of a formula: linear algebra may take more than the search, unless asked.

        Who asks for formulas shorter than usual gets them.
        """
        length = self.settings.max_length
        return length if length < Settings.max_length else _LONGER * length

    def _on(
        self,
        library: Library,
        data: Data,
        seed: int,
        ending: Ending | None = None,
        proposals: Proposer | None = None,
    ) -> Search:
        """A search on these rows."""
        problem, settings, config = self.problem, self.settings, self.config(self.settings)
        usual = paper_constraints(
            low=max(1, min(4, settings.max_length // 2)),
            high=settings.max_length,
            # As many constants as there are rows fit anything.
            constants=min(config.max_constants, len(data.y) - 1),
        )
        return Search(
            library,
            data.X,
            data.y,
            config,
            reward=problem.reward,
            weights=data.weights,
            target=problem.target,
            constraints=[*usual, *self._asked(library)],
            ending=ending,
            proposals=proposals,
            seed=seed,
            threads=settings.threads,
            engine=self.engine,
        )

    def _asked(self, library: Library) -> list[Constraint | Custom]:
        """Those of the user; on transformed columns, only those that name none that are gone."""
        asked, own = self.problem.constraints, library is self.library
        return [each for each in asked if own or suits(each, library)]

    def _proposals(self, seed: int) -> Proposals | None:
        """What the structure of the data proposes, if it is asked for and the reward allows it."""
        settings = self.settings
        evolves = settings.search_config().evolution is not None
        if not (settings.structure and evolves and Proposals.suit(self.problem.reward)):
            return None

        # The same rows for every seed, so that searches can share what they show.
        rows = self.rows.train.spanning(MOST_ROWS, 0)
        return Proposals(
            self.library,
            rows.scaled(self.rows.scales),
            self.longest * (_UNSIMPLIFIED if self.longest > settings.max_length else 1),
            partial(self._on_some_rows, seed=seed),
            settings.threads,
            getattr(self.engine, "device", None),
        )

    def _on_some_rows(self, library: Library, data: Data, seed: int) -> Search:
        return self._on(library, data.sampled(self.settings.sample_rows, self.settings.seed), seed)


def _work(problem: Problem, settings: Settings, rows: Rows) -> tuple[int, int]:
    """Rows that every program sees, or as good as those, and programs in a batch."""
    count, config = len(rows.sampled.y), settings.search_config()
    racing = config.racing if isinstance(problem.reward, ErrorReward) else None
    raced = racing is not None and any(few < count for few in racing.sizes(count))
    return count // RACED if raced else count, config.batch_size
