"""Is a state that was read from a file one that this search can continue from?

A file may be whole and yet hold anything. Types are checked field by field; beyond these, what the
search relies on: counts, the shapes of arrays that belong together, and numbers that are numbers.
"""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_type_hints

import numpy as np

from symseek.files.schema import check
from symseek.front import Entry
from symseek.loop import QUANTILES, Iteration
from symseek.programs import Programs
from symseek.runs.encoding import dataclasses_in
from symseek.search import Search, SearchState

_MOST_ITERATIONS = 1 << 32  # random numbers are drawn by iteration, in 32 bits


def check_state(search: Search, state: Any, known: Any) -> None:
    """Raise a `ValueError` where the state is not one of this search."""
    check(state, SearchState, "the state")
    check(state.objective, _remembered(search), "what the objective remembers")
    _check_policy(search, state)
    for name, value in (("iteration", state.iteration), ("expressions", state.expressions)):
        if not 0 <= value < _MOST_ITERATIONS**2 or state.iteration >= _MOST_ITERATIONS:
            raise ValueError(f"the {name} is {value}")
    if not (math.isfinite(state.seconds) and state.seconds >= 0.0):
        raise ValueError(f"the seconds are {state.seconds}")
    if set(state.timings) != set(search.state.timings):
        raise ValueError("the timings are of other stages")
    steps = [(each.complexity, each.reward) for each in state.front.entries]
    if any(a >= c or b >= d for (a, b), (c, d) in pairwise(steps)):
        raise ValueError("the front does not rise")
    for part in dataclasses_in(state):
        _check_part(part, len(search.library))
    _check_known(search, known)


def _remembered(search: Search) -> Any:
    """The type of the objective's state, as far as it is written down."""
    try:
        return get_type_hints(type(search.config.objective).start).get("return", Any)
    except (NameError, TypeError, AttributeError):
        return Any


def _check_policy(search: Search, state: SearchState) -> None:
    mine, adam = search.state.weights, state.adam
    for array in (state.weights, adam.mean, adam.variance):
        if (array.shape, array.dtype) != (mine.shape, mine.dtype):
            raise ValueError("the weights are those of another policy")
        if not np.isfinite(array).all():
            raise ValueError("some weights are not finite numbers")
    rates = (adam.beta1, adam.beta2, adam.epsilon)
    if adam.steps < 0 or (adam.variance < 0).any() or not all(0.0 <= each < 1.0 for each in rates):
        raise ValueError("the moments of the gradient are none")


def _check_part(part: Any, tokens: int) -> None:
    if isinstance(part, Entry):
        if not math.isfinite(part.reward) or part.complexity != part.program.complexity:
            raise ValueError("an entry of the front is not graded")
    elif isinstance(part, Iteration):
        if len(part.tokens) != tokens or len(part.quantiles) != len(QUANTILES):
            raise ValueError("the history is of another library")
        if not (math.isfinite(part.seconds) and part.seconds >= 0.0):
            raise ValueError(f"the seconds of an iteration are {part.seconds}")
    programs = getattr(part, "programs", None)
    if not isinstance(programs, Programs):
        return
    for each in fields(part):
        array = getattr(part, each.name)
        if isinstance(array, np.ndarray) and array.shape != (len(programs),):
            raise ValueError(f"{each.name!r} of {type(part).__name__} has not one value a program")


def _check_known(search: Search, known: Any) -> None:
    check(known, list[dict[bytes, Any]], "the scores")
    if len(known) != len(search.grader.memories):
        raise ValueError("the scores are those of another grader")
    for memory in known:
        for value in memory.values():
            if type(value) is not float:
                check(value, tuple[np.ndarray, float, int], "a score")
                if value[0].dtype != np.float64 or value[0].ndim != 1 or not 0 <= value[2] < 256:
                    raise ValueError("a score is none")
