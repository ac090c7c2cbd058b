"""The parameters of `SymbolicRegressor`: the settings, and what is scikit-learn's own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import Parameter as Argument
from inspect import Signature, signature
from numbers import Integral, Real
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from symseek.errors import InputError, Setting
from symseek.losses import Loss
from symseek.settings import Settings, cores, declared, parameters
from symseek.value_types import Flag, Instance, LossType, Name, Number, Reward, ValueType, Whole

_P = ParamSpec("_P")
_C = TypeVar("_C", bound=type)


class _RandomState(Whole):
    """A seed, or NumPy's random numbers."""

    def _words(self) -> str:
        return f"{super()._words()}, a NumPy RandomState"

    def _checked(self, name: Setting, value: Any) -> Any:
        return value if isinstance(value, RandomState) else super()._checked(name, value)


class _Jobs(Whole):
    """A number of threads, or -1 for every core, -2 for all but one."""

    def _words(self) -> str:
        return "a number of threads, -1 for every core"

    def _checked(self, name: Setting, value: Any) -> int:
        number = super()._checked(name, value)
        if number == 0 or number < -cores():
            text = f" is {number}; use a number of threads, or -1 for every core"
            raise InputError(name, text, field=name, value=value, wanted=self.wanted)
        return number


class _Verbose(Flag):
    """True or False, or scikit-learn's numbers for them."""

    def _checked(self, name: Setting, value: Any) -> bool:
        if isinstance(value, Integral) and int(value) >= 0:
            return bool(value)
        return super()._checked(name, value)


@dataclass(frozen=True, kw_only=True)
class Parameters(Settings):
    """The signature of `SymbolicRegressor`; what is not set here is as in `Settings`."""

    seed: int = field(init=False)  # is `random_state`
    threads: int = field(init=False)  # is `n_jobs`
    warm_start: bool = declared(
        False,
        Flag(),
        "whether another `fit` continues from the last",
        more="With the same data the search continues with a fresh budget; with other data of the"
        " same columns it begins with the formulas it had. Unless `random_state` is a number, it"
        " keeps its first seed.",
    )
    random_state: Any = declared(
        None,
        _RandomState(low=0, high=2**64 - 1, none="another seed each time"),
        "a seed, or a NumPy random state",
    )
    n_jobs: int | None = declared(
        None,
        _Jobs(low=-(2**31), high=1024, none="one"),
        "threads; -1 for every core",
        more="They change the speed, never the result.",
    )
    verbose: bool = declared(
        False, _Verbose(), "whether to show progress and the front while it searches"
    )
    undefined: str = declared(
        "nan",
        Name(of="`undefined`", known=lambda: ("nan", "mean", "error")),
        "what `predict` gives where a formula has no value, such as the logarithm of a negative"
        " number",
        more="`nan` comes with a warning, `mean` is the mean of the training rows, and `error`"
        " refuses such rows. Scores of cross-validation need numbers: use `mean` there, unless the"
        " score is that of `score`, which always takes the mean.",
        link="results.md#when-to-distrust-a-formula",
    )
    all_columns: bool = declared(
        False,
        Flag(),
        "whether to search in all columns",
        more="Otherwise those that are no quantities are ignored, with a warning: constants, copies"
        " of other columns and, in a DataFrame, row numbers and identifiers, which their names"
        " tell.",
        link="questions.md#row-numbers-identifiers-and-constants",
    )


PARAMETERS = parameters(Parameters)
"""The parameters of the estimator by name, in their order."""


def constraints() -> dict[str, list[Any]]:
    """What each parameter may be, in the form of scikit-learn's own estimators, for its tools."""
    return {name: _constraints(each.type) for name, each in PARAMETERS.items()}


def _constraints(type: ValueType) -> list[Any]:
    found: list[Any]
    if isinstance(type, Number):
        high = None if type.high == np.inf else type.high
        kind = Integral if isinstance(type, Whole) else Real
        found = [Interval(kind, type.low, high, closed="left" if high is None else "both")]
        found += [RandomState] if isinstance(type, _RandomState) else []
    elif isinstance(type, Flag):
        found = ["verbose" if isinstance(type, _Verbose) else "boolean"]
    elif isinstance(type, Name):
        found = [str, callable] if isinstance(type, Reward) else [str]
    elif isinstance(type, LossType):
        found = [str, Loss, callable]
    else:
        found = [type.of if isinstance(type, Instance) else Iterable]
    return [*found, None] if type.none else found


def takes(
    parameters: Callable[_P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Give an `__init__` the signature of a dataclass, for readers, tools and type checkers."""

    def signed(function: Any) -> Any:
        arguments = signature(parameters).parameters.values()
        own = Argument("self", Argument.POSITIONAL_OR_KEYWORD)
        function.__signature__ = Signature([own, *arguments], return_annotation=None)
        return function

    return signed


def documented(estimator: _C) -> _C:
    """Put a line for each parameter before the attributes in the docstring of the estimator."""
    lines = ["Args:"]
    for name, each in PARAMETERS.items():
        text = f"{name}: {each.sentence}. {each.more}".rstrip()
        lines += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="        ")
    before, heading, after = str(estimator.__doc__).partition("    Attributes:\n")
    arguments = textwrap.indent("\n".join(lines), "    ")
    estimator.__doc__ = f"{before}{arguments}\n\n{heading}{after}"
    return estimator


def settings_of(estimator: Any) -> Settings:
    """The settings of a fit; a parameter that makes no sense is refused by its name."""
    given = {name: each.check(getattr(estimator, name)) for name, each in PARAMETERS.items()}
    # One seed for all targets, so that each has the same result as alone.
    state, jobs = given["random_state"], given["n_jobs"]
    seed = state if is_seed(state) else int(check_random_state(state).randint(2**31 - 1))
    threads = 1 if jobs is None else jobs if jobs > 0 else cores() + 1 + jobs
    known = {name: value for name, value in given.items() if name in Settings.__dataclass_fields__}
    return Settings(**known, seed=seed, threads=threads)


def is_seed(state: Any) -> bool:
    """Whether a random state is a number."""
    return isinstance(state, int | np.integer)
