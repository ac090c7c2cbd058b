"""The settings of a fit, each with its default and the sentence that explains it.

The parameters of `SymbolicRegressor` and the options of the command line are made from this list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from symseek import presets
from symseek.data import FEWEST_ROWS
from symseek.errors import InputError, unknown_name
from symseek.regression import picking
from symseek.rewards import reward_named
from symseek.search import SearchConfig
from symseek.tokens import Token

__all__ = ["OPERATORS", "Settings", "cores"]

OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")
"""What formulas are made of unless something else is asked for."""


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


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
    max_length: int = _option(30, "the most tokens (operators, columns, numbers) in a formula")
    method: str = _option("hybrid", "hybrid, dsr (the paper's), pqt, vpg or evolution")
    max_expressions: int = _option(1_000_000, "how many formulas to try at most")
    max_seconds: float | None = _option(60.0, "how many seconds to search at most, or none")
    patience: int | None = _option(
        200_000,
        "stop when this many formulas, and twice as many as it took to find the one to pick,"
        " brought no better; or none",
    )
    reward: Any = field(  # a name, a reward object or a function of predictions
        default="inverse_nrmse",
        metadata={"help": "what to maximise: inverse_nrmse, inverse_mae, r2, ..."},
    )
    validation: float = _option(0.0, "the share of the rows to validate on, and not to train on")
    pick: str = _option("auto", "which formula to pick: accuracy, elbow, validation or auto")
    sample_rows: int | None = _option(
        2_000, "search on this many rows, drawn at random, if there are more; or none for all"
    )
    scale: bool = _option(
        True, "search columns of size far from 1 in other units, where constants are fitted"
    )
    seed: int = _option(0, "random numbers: the same seed gives the same result")
    threads: int = _option(1, "threads; they change the speed, never the result")
    config: SearchConfig | None = None  # every detail, instead of the method and the budgets

    def __post_init__(self) -> None:
        self._check_number("validation", 0, 0.9, "a share of the rows from 0 to 0.9")
        picking.check_rule(self.pick, self.validation > 0)
        if not self.operators:
            raise InputError("`operators` is empty; name some, such as add and mul")
        if self.sample_rows is not None:
            least = f"a whole number of {FEWEST_ROWS} or more, or none"
            self._check_number("sample_rows", FEWEST_ROWS, math.inf, least, whole=True)
        self._check_number("max_length", 1, 1000, "a whole number from 1 to 1000", whole=True)
        least = "a whole number of 2 or more"
        self._check_number("max_expressions", 2, math.inf, least, whole=True)
        if self.patience is not None:
            least = "a whole number of 1 or more, or none"
            self._check_number("patience", 1, math.inf, least, whole=True)
        if self.max_seconds is not None:
            self._check_number("max_seconds", 1e-9, 1e12, "a positive number, or none")
        self._check_number("seed", 0, 2**64 - 1, "a whole number from 0 to 2**64 - 1", whole=True)
        self._check_number("threads", 1, 1024, "a whole number from 1 to 1024", whole=True)
        self.search_config()

    def _check_number(
        self, name: str, low: float, high: float, wanted: str, whole: bool = False
    ) -> None:
        value = getattr(self, name)
        kinds = int | np.integer if whole else int | float | np.number
        if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
            raise InputError(f"`{name}` is {value}; it must be {wanted}")

    def search_config(self) -> SearchConfig:
        """The settings of the search itself."""
        if self.config is not None:
            return self.config
        reward_named(self.reward)
        return presets.method(
            self.method,
            max_expressions=int(self.max_expressions),
            max_seconds=self.max_seconds,
            batch_size=min(1000, int(self.max_expressions)),
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
        return {**record, "operators": list(self.operators)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], threads: int = 1) -> Settings:
        """Read what `to_dict` wrote."""
        known = [each.name for each in fields(cls) if each.name not in ("config", "threads")]
        for name in record:
            if name not in known:
                raise unknown_name("setting", name, known)
        operators = tuple(record.get("operators", OPERATORS))
        return cls(**{**record, "operators": operators, "threads": threads})
