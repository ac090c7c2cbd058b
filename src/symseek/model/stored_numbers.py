"""How sure the numbers of a formula are, as JSON: what is written of it, and what is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Annotated, Any

import numpy as np

from symseek.files.schema import Label, Most, Real, Text, Within
from symseek.model.formula import Formula
from symseek.uncertainty.record import Certainty, Constant

MOST_NUMBERS = 1000  # of a formula
_MOST_TOGETHER = 100  # numbers of which a covariance is stored

_Row = Annotated[tuple[Real, ...], Most(_MOST_TOGETHER)]
_NotNegative = Annotated[float, Within(0.0, math.inf)]


@dataclass(frozen=True)
class StoredNumber:
    """A number with its error, in JSON, which has no infinity: an end that is missing is one."""

    value: Real
    error: _NotNegative | None = None
    low: Real | None = None
    high: Real | None = None
    determined: bool = True
    fitted: Real | None = None
    fitted_error: _NotNegative | None = None
    name: Label | None = None
    unit: Text = ""

    def constant(self) -> Constant:
        low, high = self.low, self.high
        if self.error is not None:
            low = -math.inf if low is None else low
            high = math.inf if high is None else high
        return Constant(
            self.value,
            self.error,
            self.name,
            self.unit,
            low,
            high,
            self.determined,
            self.fitted,
            self.fitted_error,
        )


@dataclass(frozen=True)
class StoredCertainty:
    """What is known of the constants together, in JSON."""

    free: Annotated[tuple[Annotated[int, Within(0, MOST_NUMBERS)], ...], Most(_MOST_TOGETHER)]
    covariance: Annotated[tuple[_Row, ...], Most(_MOST_TOGETHER)]
    variance: _NotNegative
    spare: Annotated[int, Within(1, 2**62)]
    leverage: _NotNegative | None = None

    def certainty(self, constants: int) -> Certainty | None:
        """None where it does not suit a formula of so many constants."""
        count = len(self.free)
        shape = [len(row) for row in self.covariance]
        if shape != [count] * count or any(place >= constants for place in self.free):
            return None
        covariance = np.array(self.covariance, dtype=np.float64).reshape(count, count)
        leverage = math.inf if self.leverage is None else self.leverage
        return Certainty(self.free, covariance, self.variance, self.spare, leverage)


def certainty_record(formula: Formula) -> dict[str, Any]:
    """What is known of the numbers of a formula; nothing for one that has none."""
    known, length = formula.certainty, formula.description
    if known is None:
        return {} if length is None or not isfinite(length) else {"description": length}
    evidence = formula.evidence
    compared = {
        "description": formula.description,
        "aicc": None if evidence is None else evidence.aicc,
        "bic": None if evidence is None else evidence.bic,
    }
    own = [_record(each) for each in formula.constants]
    numbers = [_record(each) for each in formula.numbers]
    return {
        **{name: each for name, each in compared.items() if each is not None and isfinite(each)},
        "numbers": numbers,
        **({"constants": own} if own != numbers else {}),
        **({"certainty": _together(known)} if len(known.free) <= _MOST_TOGETHER else {}),
    }


def _record(number: Constant) -> dict[str, Any]:
    fields = {
        "error": number.standard_error,
        "low": number.low,
        "high": number.high,
        "fitted": number.fitted,
        "fitted_error": number.fitted_error,
    }
    known = {name: each for name, each in fields.items() if each is not None and isfinite(each)}
    named = {} if number.name is None else {"name": number.name}
    named |= {"unit": number.unit} if number.unit else {}
    return {"value": number.value, **named, **known, **({} if number.determined else _UNKNOWN)}


_UNKNOWN = {"determined": False}


def _together(known: Certainty) -> dict[str, Any]:
    return {
        "free": list(known.free),
        "covariance": known.covariance.tolist(),
        "variance": known.variance,
        "spare": known.spare,
        **({"leverage": known.leverage} if isfinite(known.leverage) else {}),
    }


def with_certainty(
    formula: Formula,
    constants: Sequence[StoredNumber],
    numbers: Sequence[StoredNumber],
    certainty: StoredCertainty | None,
) -> Formula:
    """The formula with what is stored of its numbers, if that is of these very numbers."""
    if not numbers and certainty is None:
        return formula
    own = tuple(each.constant() for each in constants or numbers)
    if tuple(each.value for each in own) != formula.program.constants:
        return formula
    written = tuple(each.constant() for each in numbers)
    if tuple(each.value for each in written) != formula.form().constants:
        written = ()  # this version writes the formula otherwise
    known = None if certainty is None else certainty.certainty(len(own))
    return replace(formula, constants=own, numbers=written, certainty=known)
