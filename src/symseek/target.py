"""What the values of a formula are to meet: the target as it stands, or something made of it."""

from __future__ import annotations

from symseek.constants import FitConfig
from symseek.data import Data
from symseek.engines.interface import Engine
from symseek.evaluation import Grader, data_grader
from symseek.mapping import Mapping
from symseek.rewards import Reward
from symseek.tokens import Library


class Target:
    """The target as it stands; a subclass puts it inside a function, or grades otherwise.

    A search asks it for all that depends on the target, and knows nothing else of it.
    """

    def rows(self, data: Data) -> Data | None:
        """The rows with the values that a formula is to have there.

        None where formulas are not compared row by row; programs neither race nor complete each
        other then.
        """
        return data

    def grader(
        self,
        library: Library,
        data: Data,
        reward: Reward,
        engine: Engine,
        constants: FitConfig | None = None,
        underflow_invalid: bool = False,
        mapping: Mapping | None = None,
        cache: int | None = None,
    ) -> Grader:
        """What gives programs their rewards on all rows; `cache` is as of `Engine.evaluator`."""
        rows = self.rows(data)
        assert rows is not None, "a target without rows has a grader of its own"
        how = reward, engine, constants, underflow_invalid
        return data_grader(library, rows, *how, cache=cache, mapping=mapping)
