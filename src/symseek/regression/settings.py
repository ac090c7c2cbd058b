"""The settings of a fit, each with its default and the sentence that explains it.

The parameters of `SymbolicRegressor` and the options of the command line are made from this list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from symseek import presets
from symseek.arguments import flag, number, refused, shown, whole
from symseek.data import FEWEST_ROWS
from symseek.engines.choice import AUTO, check_engine
from symseek.errors import InputError, Setting, unknown_name
from symseek.rewards import reward_named
from symseek.search import SearchConfig
from symseek.selection import rules
from symseek.tokens import Library, Token

__all__ = ["MOST_SEEDS", "OPERATORS", "WANTED", "Settings", "cores"]

Check = Callable[[Setting, Any, str], Any]

OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")
"""What formulas are made of unless something else is asked for."""

MOST_SEEDS, MOST_GUESSES = 100, 1000
_MOST_CHARACTERS = 20_000  # of all guesses: each is simplified, which takes a moment

_BATCH = 1000  # formulas in a batch, unless the whole budget is smaller


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


WANTED = {
    "operators": "a list of operators, numbers and Tokens, such as ['add', 'mul']",
    "constants": "True or False",
    "max_length": "a whole number from 1 to 1000",
    "method": "the name of a method, such as 'hybrid'",
    "max_expressions": "a whole number of 2 or more, or none",
    "max_seconds": "a positive number, or none",
    "patience": "a whole number of 1 or more, or none",
    "reward": "a name such as 'r2', a reward object or a function of predictions",
    "validation": "a share of the rows from 0 to 0.9",
    "pick": "the name of a rule, such as 'auto'",
    "sample_rows": f"a whole number of {FEWEST_ROWS} or more, or none",
    "scale": "True or False",
    "structure": "True or False",
    "seed": "a whole number from 0 to 2**64 - 1",
    "seeds": f"a whole number from 1 to {MOST_SEEDS}",
    "threads": "a whole number from 1 to 1024",
    "engine": "the name of an engine, such as 'auto'",
    "guesses": "a list of formulas, such as ['2*x + 1']",
    "config": "of the type SearchConfig, or none",
}
"""What each setting must be, in words."""


@dataclass(frozen=True)
class Settings:
    """What to search for, and for how long.

    >>> Settings(max_seconds=10).method
    'hybrid'
    """

    operators: tuple[str | float | Token, ...] = _option(
        OPERATORS, "what formulas are made of: operators and numbers, with commas between"
    )
    constants: bool = _option(True, "formulas may have numbers that are fitted to the data")
    max_length: int = _option(
        30, "the most tokens (operators, columns, numbers) that the search writes in a formula"
    )
    method: str = _option("hybrid", "hybrid, dsr (the paper's), pqt, vpg or evolution")
    max_expressions: int | None = _option(
        None, "how many formulas to try at most, or none for no limit"
    )
    max_seconds: float | None = _option(
        60.0, "how many seconds to search at most, or none for no limit"
    )
    patience: int | None = _option(
        100_000,
        "after this many formulas without a better one, and twice as many as it took to find the"
        " one to pick, the search ends if what is left cannot be distinguished from noise, and"
        " begins anew if it can; or none for neither",
    )
    reward: Any = field(  # a name, a reward object or a function of predictions
        default="inverse_nrmse",
        metadata={"help": "what to maximise: inverse_nrmse, inverse_mae, r2, ..."},
    )
    validation: float = _option(0.0, "the share of the rows to validate on, and not to train on")
    pick: str = _option("auto", "which formula to pick: accuracy, mdl, validation or auto")
    sample_rows: int | None = _option(
        10_000, "search on this many rows, drawn at random, if there are more; or none for all"
    )
    scale: bool = _option(
        True, "search columns of size far from 1 in other units, where constants are fitted"
    )
    structure: bool = _option(
        True, "look first for columns that act together, and for formulas by linear algebra"
    )
    seed: int = _option(0, "random numbers: the same seed gives the same result")
    seeds: int = _option(
        1, "how many searches, with this seed and those after it, each with the whole budget"
    )
    threads: int = _option(1, "threads; they change the speed, never the result")
    engine: str = _option(
        AUTO, "where to compute: native, cuda (a GPU), or auto, a GPU if there is one and it pays"
    )
    guesses: tuple[str, ...] = _option(
        (), "formulas of the columns to begin with, with semicolons between; numbers are fitted"
    )
    config: SearchConfig | None = None  # every detail, instead of the method and the budgets

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            value = check(Setting(name), getattr(self, name), WANTED[name])
            object.__setattr__(self, name, value)
        check_engine(self.engine)
        object.__setattr__(self, "pick", rules.known_rule(self.pick, self.validation > 0))
        self.search_config()

    def search_config(self) -> SearchConfig:
        """The settings of the search itself."""
        if self.config is not None:
            return self.config
        return presets.method(
            self.method,
            max_expressions=self.max_expressions,
            max_seconds=self.max_seconds,
            batch_size=min(_BATCH, self.max_expressions or _BATCH),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which cannot hold the caller's Python objects."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        del record["config"], record["threads"]
        objects = [token for token in self.operators if isinstance(token, Token)]
        if self.config is not None or objects or not isinstance(self.reward, str):
            raise InputError(
                "settings with Python objects in them cannot be saved; use names instead"
            )
        return {**record, "operators": list(self.operators), "guesses": list(self.guesses)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], threads: int = 1) -> Settings:
        """Read what `to_dict` wrote."""
        known = [each.name for each in fields(cls) if each.name not in ("config", "threads")]
        for name in record:
            if name not in known:
                raise unknown_name("setting", name, known)
        lists = {"operators": tuple(record.get("operators", OPERATORS))}
        lists["guesses"] = tuple(record.get("guesses", ()))
        return cls(**{**record, **lists, "threads": threads})


# --- the checks: each takes a name for the message, a value, and what it must be in words


def _whole(low: float, high: float = math.inf, optional: bool = False) -> Check:
    def check(name: Setting, value: Any, wanted: str) -> int | None:
        return None if optional and value is None else whole(name, value, wanted, low, high)

    return check


def _number(low: float, high: float, optional: bool = False) -> Check:
    def check(name: Setting, value: Any, wanted: str) -> float | None:
        return None if optional and value is None else number(name, value, wanted, low, high)

    return check


def _flag(name: Setting, value: Any, wanted: str) -> bool:
    return flag(name, value)


def _text(name: Setting, value: Any, wanted: str) -> str:
    if not isinstance(value, str):
        raise refused(name, value, wanted)
    return str(value)


def _not_a_list(name: Setting, value: str) -> InputError:
    text = f" as a list, [{shown(value)}], and not as one text"
    return InputError("give ", name, text, field=name, value=value, wanted="a list")


def _operators(name: Setting, value: Any, wanted: str) -> tuple[str | float | Token, ...]:
    if isinstance(value, str):
        raise _not_a_list(name, value)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise refused(name, value, wanted)
    listed = np.atleast_1d(value) if isinstance(value, np.ndarray) else value
    chosen = tuple(each.item() if isinstance(each, np.generic) else each for each in listed)
    if not chosen:
        raise InputError(name, " is empty; name some, such as add and mul", value=value)
    try:
        library = Library(chosen, ["\0"])  # with a column of no one's name
    except InputError as error:
        raise InputError(name, ": ", error, value=value) from None
    if not any(library.arities):
        text = f" is {shown(value)}, with no operator in it; name some, such as add"
        raise InputError(name, text, value=value)
    return chosen


def _guesses(name: Setting, value: Any, wanted: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise _not_a_list(name, value)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Set | Mapping):
        raise refused(name, value, wanted)
    formulas = tuple(np.atleast_1d(value) if isinstance(value, np.ndarray) else value)
    if not all(isinstance(each, str) for each in formulas):
        raise refused(name, value, wanted)
    if len(formulas) > MOST_GUESSES:
        text = f" has {len(formulas)} formulas; give at most {MOST_GUESSES}"
        raise InputError(name, text)
    characters = sum(map(len, formulas))
    if characters > _MOST_CHARACTERS:
        text = f" has {characters:,} characters in all; give at most {_MOST_CHARACTERS:,}"
        raise InputError(name, text)
    return tuple(map(str, formulas))


def _reward(name: Setting, value: Any, wanted: str) -> Any:
    if isinstance(value, type) or not (isinstance(value, str) or callable(value)):
        raise refused(name, value, wanted)
    reward_named(value)
    return value


def _config(name: Setting, value: Any, wanted: str) -> SearchConfig | None:
    if not isinstance(value, SearchConfig | None):
        raise refused(name, value, wanted)
    return value


_CHECKS: dict[str, Check] = {
    "operators": _operators,
    "constants": _flag,
    "max_length": _whole(1, 1000),
    "method": _text,
    "max_expressions": _whole(2, optional=True),
    "max_seconds": _number(1e-9, 1e12, optional=True),
    "patience": _whole(1, optional=True),
    "reward": _reward,
    "validation": _number(0, 0.9),
    "pick": _text,
    "sample_rows": _whole(FEWEST_ROWS, optional=True),
    "scale": _flag,
    "structure": _flag,
    "seed": _whole(0, 2**64 - 1),
    "seeds": _whole(1, MOST_SEEDS),
    "threads": _whole(1, 1024),
    "engine": _text,
    "guesses": _guesses,
    "config": _config,
}
