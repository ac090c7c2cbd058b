"""The parameters of `SymbolicRegressor`: what each may be, and the settings that they come to.

The constraints are in the form of scikit-learn's own estimators, for its tools to read; what breaks
them is told in the words of `settings`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    validate_parameter_constraints,
)

from symseek.arguments import refused
from symseek.data import FEWEST_ROWS
from symseek.errors import InputError, Setting, unknown_name
from symseek.regression.settings import MOST_SEEDS, WANTED, Settings, cores
from symseek.search import SearchConfig

__all__ = [
    "CONSTRAINTS",
    "UNDEFINED",
    "check_undefined",
    "is_seed",
    "settings_of",
]

UNDEFINED = ("nan", "mean", "error")
"""What a prediction may be where a formula has no value."""

CONSTRAINTS: dict[str, list[Any]] = {
    "operators": [Iterable],
    "constants": ["boolean"],
    "max_length": [Interval(Integral, 1, 1000, closed="both")],
    "method": [str],
    "max_expressions": [Interval(Integral, 2, None, closed="left"), None],
    "max_seconds": [Interval(Real, 1e-9, 1e12, closed="both"), None],
    "patience": [Interval(Integral, 1, None, closed="left"), None],
    "reward": [str, callable],
    "validation": [Interval(Real, 0, 0.9, closed="both")],
    "pick": [str],
    "sample_rows": [Interval(Integral, FEWEST_ROWS, None, closed="left"), None],
    "scale": ["boolean"],
    "structure": ["boolean"],
    "seeds": [Interval(Integral, 1, MOST_SEEDS, closed="both")],
    "guesses": [Iterable],
    "warm_start": ["boolean"],
    "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), RandomState, None],
    "n_jobs": [Integral, None],
    "engine": [str],
    "verbose": ["verbose"],
    "undefined": [str],
    "all_columns": ["boolean"],
    "config": [SearchConfig, None],
}

_WANTED = {
    **WANTED,
    "warm_start": "True or False",
    "random_state": "a whole number from 0 to 2**64 - 1, a NumPy RandomState, or None",
    "n_jobs": "a number of threads, -1 for every core, or None",
    "verbose": "True or False",
    "all_columns": "True or False",
    "undefined": f"one of {', '.join(map(repr, UNDEFINED))}",
}


def settings_of(estimator: Any) -> Settings:
    """The settings of a fit; a parameter that makes no sense is refused by its name."""
    for name in CONSTRAINTS:
        _check(name, getattr(estimator, name))
    check_undefined(estimator.undefined)
    # One seed for all targets, so that each has the same result as alone.
    state = estimator.random_state
    seed = int(state) if is_seed(state) else _drawn_seed(state)
    names = [each.name for each in fields(Settings) if each.name not in ("seed", "threads")]
    given = {name: getattr(estimator, name) for name in names}
    try:
        return Settings(**given, seed=seed, threads=_threads(estimator.n_jobs))
    except InputError as error:
        raise error.renamed({"seed": "random_state", "threads": "n_jobs"}) from None


def _check(name: str, value: Any) -> None:
    """Refuse a value of a wrong type; a flag is no number, although Python takes it for one."""
    constraints = CONSTRAINTS[name]
    flags = any(each in ("boolean", "verbose") for each in constraints if isinstance(each, str))
    wrong = isinstance(value, bool | np.bool_) and not flags
    try:
        validate_parameter_constraints({name: constraints}, {name: value}, "")
    except (InvalidParameterError, TypeError, ValueError):  # also what cannot be compared or shown
        wrong = True
    if wrong:
        raise refused(Setting(name), value, _WANTED[name])


def check_undefined(value: Any) -> None:
    """Refuse another value of `undefined` than the known ones."""
    if not isinstance(value, str):
        raise refused(Setting("undefined"), value, _WANTED["undefined"])
    if value not in UNDEFINED:
        raise unknown_name(Setting("undefined"), value, UNDEFINED)


def is_seed(state: Any) -> bool:
    """Whether a random state is a number."""
    return isinstance(state, int | np.integer)


def _drawn_seed(state: Any) -> int:
    return int(check_random_state(state).randint(2**31 - 1))


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    most = cores()
    if n_jobs == 0 or n_jobs < -most:
        text = f" is {n_jobs}; use a number of threads, or -1 for every core"
        raise InputError(Setting("n_jobs"), text, value=n_jobs)
    return int(n_jobs) if n_jobs > 0 else most + 1 + int(n_jobs)
