"""The settings of a fit, each with the sentence that the command line shows for it.

The estimator's parameters and the options of `symseek fit` are these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from symseek import picking, presets
from symseek.errors import InputError, unknown_name
from symseek.rewards import ErrorReward, reward_named
from symseek.search import SearchConfig
from symseek.tokens import Token

__all__ = ["EXACT_REWARD", "OPERATORS", "Settings"]

OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square")
"""What formulas are made of unless something else is asked for."""

EXACT_REWARD = 1 - 1e-8  # a search ends here: what is left is rounding


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
    reward: Any = field(  # a name, a reward object or a function of predictions
        default="inverse_nrmse",
        metadata={"help": "what to maximise: inverse_nrmse, inverse_mae, r2, ..."},
    )
    validation: float = _option(0.0, "the share of rows to keep aside and judge formulas on")
    pick: str = _option("auto", "which formula to pick: accuracy, elbow, validation or auto")
    sample_rows: int | None = _option(
        10_000, "search on so many rows drawn at random if there are more, or none for all"
    )
    scale: bool = _option(True, "search columns of size far from 1 in other units")
    seed: int = _option(0, "random numbers: the same seed gives the same result")
    threads: int = _option(1, "threads; they change the speed, never the result")
    config: SearchConfig | None = None  # every detail, instead of the method and the budgets

    def __post_init__(self) -> None:
        picking.check_rule(self.pick, self.validation > 0)
        if not 0 <= self.validation <= 0.9:
            raise InputError(
                f"validation is {self.validation}; it must be a share of the rows from 0 to 0.9"
            )
        if self.sample_rows is not None and self.sample_rows < 2:
            raise InputError(f"sample_rows is {self.sample_rows}; it must be at least 2, or none")
        if not 1 <= self.max_length <= 1000:
            raise InputError(f"max_length is {self.max_length}; it must be from 1 to 1000 tokens")
        whole = isinstance(self.max_expressions, int | np.integer)
        if not whole or self.max_expressions < 2:
            raise InputError(
                f"max_expressions is {self.max_expressions}; it must be a whole number of 2 or more"
            )
        if self.max_seconds is not None and not 0 < self.max_seconds < math.inf:
            raise InputError(
                f"max_seconds is {self.max_seconds}; it must be a positive number, or none"
            )
        self.search_config()

    def search_config(self) -> SearchConfig:
        """The settings of the search itself."""
        if self.config is not None:
            return self.config
        exact = isinstance(reward_named(self.reward), ErrorReward)
        return presets.method(
            self.method,
            max_expressions=int(self.max_expressions),
            max_seconds=self.max_seconds,
            stop_reward=EXACT_REWARD if exact else None,
            batch_size=min(1000, int(self.max_expressions)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; objects of the caller's have no place there."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        del record["config"], record["threads"]
        odd = [token for token in self.operators if isinstance(token, Token)]
        if self.config is not None or odd or not isinstance(self.reward, str):
            raise InputError("settings with Python objects in them cannot be saved as data")
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
