"""A map from the programs that a search writes to those that are graded on the data.

A given form with unknown functions is one: the search writes form(f, g), and what meets the data is
f(x)*exp(-z) + g(z). Constraints say which columns each argument may use. Fitted constants go back
into the programs as they were written, so that policy, evolution and front see only those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from symseek.constants import FitConfig, with_room
from symseek.engines.interface import Errors, Evaluator, Fitted, Predictions
from symseek.errors import InputError
from symseek.programs import Programs
from symseek.tokens import Library


class Mapping(Protocol):
    """Says what is graded for each program that is written."""

    @property
    def library(self) -> Library:
        """Of the graded programs: its variables are the columns of the data."""

    def __call__(self, programs: Programs) -> Programs:
        """The graded program of each written one, with the same `const` tokens in their order.

        Numbers of its own are tokens of its library, which no fit changes.
        """


def mapped(evaluator: Evaluator, mapping: Mapping | None) -> Evaluator:
    """An evaluator of written programs, made of one of graded programs."""
    return evaluator if mapping is None else _MappedEvaluator(evaluator, mapping)


def check_evaluable(library: Library) -> None:
    """Refuse a library with tokens that have no value on data."""
    if not library.evaluable:
        names = ", ".join(t.name for t in library if t.arity and t.numpy is None)
        raise InputError(
            f"the library has tokens without a formula ({names}), so it cannot be fitted to data;"
            " give them one, or use Search.for_programs"
        )


class _MappedEvaluator:
    """Answers for written programs what an evaluator says of the graded ones."""

    def __init__(self, evaluator: Evaluator, mapping: Mapping) -> None:
        self.evaluator = evaluator
        self.mapping = mapping

    def errors(self, programs: Programs) -> Errors:
        return self.evaluator.errors(self._graded(programs))

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        fitted = self.evaluator.fit(self._graded(programs), config, scale, power)
        constants = with_room(fitted.programs.constants, programs.constants.shape[1])
        return replace(fitted, programs=programs.with_constants(constants))

    def predict(self, programs: Programs) -> Predictions:
        return self.evaluator.predict(self._graded(programs))

    def _graded(self, programs: Programs) -> Programs:
        graded = self.mapping(programs)
        if not np.array_equal(graded.constant_counts, programs.constant_counts):
            raise InputError("a mapped program must have the constants of the written one")
        return graded
