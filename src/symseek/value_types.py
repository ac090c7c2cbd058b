"""The types of settings: how the value of each is checked, saved, and described in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from symseek.arguments import flag, number, refused, shown, whole
from symseek.constraints import Constraint
from symseek.errors import InputError, Setting, unknown_name
from symseek.form import Form
from symseek.limits.forms import WANTED, Limit, Numbers, parse
from symseek.losses import LOSSES, Loss
from symseek.rewards import LossFunction, reward_named
from symseek.tokens import Library
from symseek.units.given import WANTED as UNITS_WANTED
from symseek.units.given import GivenUnits


@dataclass(frozen=True, kw_only=True)
class ValueType:
    """What a setting may be. `none` says what None means; without it, None is refused."""

    none: str = ""
    words: str = ""  # what it must be, where the type and its bounds do not say it

    control: ClassVar[str] = "text"  # in a form
    is_text: ClassVar[bool] = True  # whether a command line and a file can hold it
    usual_words: ClassVar[str]

    @property
    def wanted(self) -> str:
        """What a value must be, in words."""
        return (self.words or self._words()) + (", or none" if self.none else "")

    def check(self, name: Setting, value: Any) -> Any:
        """The value as a setting has it; what is none is refused in a sentence with the name."""
        return None if self.none and value is None else self._checked(name, value)

    def saved(self, value: Any) -> Any:
        """The value as JSON holds it, which cannot hold the caller's Python objects."""
        parts = value if isinstance(value, tuple) else (value,)
        if not all(each is None or isinstance(each, bool | int | float | str) for each in parts):
            raise InputError(
                "settings with Python objects in them cannot be saved; use names instead"
            )
        return list(value) if isinstance(value, tuple) else value

    def _words(self) -> str:
        return self.usual_words

    def _checked(self, name: Setting, value: Any) -> Any:
        raise NotImplementedError


class Flag(ValueType):
    """True or False."""

    control = "flag"
    usual_words = "True or False"

    def _checked(self, name: Setting, value: Any) -> bool:
        return flag(name, value)


@dataclass(frozen=True, kw_only=True)
class Number(ValueType):
    """A number within bounds."""

    low: float
    high: float = math.inf

    control = "number"

    def _words(self) -> str:
        return f"a number from {self.low} to {self.high}"

    def _checked(self, name: Setting, value: Any) -> float:
        return number(name, value, self.wanted, self.low, self.high)


class Whole(Number):
    """A whole number within bounds.

    >>> Whole(low=2, none="no limit").wanted, Whole(low=0, high=2**64 - 1).wanted
    ('a whole number of 2 or more, or none', 'a whole number from 0 to 2**64 - 1')
    """

    control = "whole"

    def _words(self) -> str:
        high = "2**64 - 1" if self.high == 2**64 - 1 else self.high
        bounds = f"of {self.low} or more" if high == math.inf else f"from {self.low} to {high}"
        return f"a whole number {bounds}"

    def _checked(self, name: Setting, value: Any) -> int:
        return whole(name, value, self.wanted, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Name(ValueType):
    """One of the names that are known when it is asked for."""

    of: str  # such as "method"
    known: Callable[[], Collection[str]]
    former: Mapping[str, str] = field(default_factory=dict)  # old names, which stay good

    control = "choice"

    def _words(self) -> str:
        return f"one of {', '.join(map(repr, self.known()))}"

    def _checked(self, name: Setting, value: Any) -> Any:
        if not isinstance(value, str):
            raise refused(name, value, self.wanted)
        value = self.former.get(value, value)
        if value not in self.known():
            raise unknown_name(self.of, value, self.known(), field=name)
        return str(value)


class Reward(Name):
    """The name of a reward, a reward object, or a function of predictions."""

    def _words(self) -> str:
        return "a name such as 'r2', a reward object or a function of predictions"

    def _checked(self, name: Setting, value: Any) -> Any:
        if isinstance(value, type) or not callable(value):
            return super()._checked(name, value)
        reward_named(value)
        return value


@dataclass(frozen=True, kw_only=True)
class LossType(ValueType):
    """The name of a loss with its parameter, a `Loss`, or a function of predictions."""

    def _words(self) -> str:
        return f"one of {', '.join(LOSSES)}, with a parameter as in huber:0.5"

    def _checked(self, name: Setting, value: Any) -> Any:
        if isinstance(value, str | Loss):
            return str(Loss.read(value) if isinstance(value, str) else value)
        if isinstance(value, type) or not callable(value):
            raise refused(name, value, self.wanted)
        LossFunction(value)
        return value


class Listed(ValueType):
    """A list, or anything else that holds values in an order; a setting has a tuple."""

    separator: ClassVar[str] = ","  # in text
    between: ClassVar[str] = "commas"
    most: ClassVar[int] = 1000

    def _checked(self, name: Setting, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str):
            text = f" as a list, [{shown(value)}], and not as one text"
            raise InputError("give ", name, text, field=name, value=value, wanted=self.wanted)
        if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
            raise refused(name, value, self.wanted)
        found = tuple(np.atleast_1d(value) if isinstance(value, np.ndarray) else value)
        self._limit(name, len(found), self.most, "entries")
        return found

    def _limit(self, name: Setting, count: int, most: int, of: str) -> None:
        if count > most:
            text = f" has {count:,} {of}; give at most {most:,}"
            raise InputError(name, text, wanted=self.wanted)


class OperatorList(Listed):
    """Operators, numbers and Tokens."""

    control = "operators"
    usual_words = "a list of operators, numbers and Tokens, such as ['add', 'mul']"

    def _checked(self, name: Setting, value: Any) -> tuple[Any, ...]:
        listed = super()._checked(name, value)
        chosen = tuple(each.item() if isinstance(each, np.generic) else each for each in listed)
        about = {"value": value, "wanted": self.wanted}
        if not chosen:
            raise InputError(name, " is empty; name some, such as add and mul", **about)
        try:
            library = Library(chosen, ["\0"])  # with a column of no one's name
        except InputError as error:
            raise InputError(name, ": ", error, **about) from None
        if not any(library.arities):
            text = f" is {shown(value)}, with no operator in it; name some, such as add"
            raise InputError(name, text, **about)
        return chosen


class FormulaList(Listed):
    """Formulas as text."""

    separator = "; "
    between = "semicolons"
    most_characters: ClassVar[int] = 20_000  # in all: to simplify each takes a moment
    usual_words = "a list of formulas, such as ['2*x + 1']"

    def _checked(self, name: Setting, value: Any) -> tuple[str, ...]:
        formulas = super()._checked(name, value)
        if isinstance(value, Set) or not all(isinstance(each, str) for each in formulas):
            raise refused(name, value, self.wanted)
        self._limit(name, sum(map(len, formulas)), self.most_characters, "characters in all")
        return tuple(map(str, formulas))


@dataclass(frozen=True, kw_only=True)
class PhraseList(Listed):
    """Phrases such as "sin inside exp"; what they name is known with the columns."""

    def _checked(self, name: Setting, value: Any) -> tuple[str, ...]:
        listed = super()._checked(name, value)
        for each in listed:
            if not isinstance(each, str) or not each.strip():
                raise refused(name, value, self.wanted)
        return tuple(each.strip() for each in listed)


class FormType(ValueType):
    """A given form, as text."""

    control = "sentence"
    most_characters: ClassVar[int] = 2_000
    usual_words = "an equation with an unknown function, such as 'y = f(x)*exp(-k*t)'"

    def _checked(self, name: Setting, value: Any) -> str:
        if not isinstance(value, str | Form):
            raise refused(name, value, self.wanted)
        if len(str(value)) > self.most_characters:
            text = f" has {len(str(value)):,} characters; give at most {self.most_characters:,}"
            raise InputError(name, text, field=name, wanted=self.wanted)
        return str(Form.read(value) if isinstance(value, str) else value)


class UnitsType(ValueType):
    """Units of columns: a text, or a mapping from names, which is kept as text."""

    control = "sentence"
    most_characters: ClassVar[int] = 100_000
    usual_words = UNITS_WANTED

    def _checked(self, name: Setting, value: Any) -> str:
        if not isinstance(value, str | Mapping | GivenUnits):
            raise refused(name, value, self.wanted)
        given = GivenUnits(value) if isinstance(value, Mapping) else value
        if len(text := str(given)) > self.most_characters:
            said = f" has {len(text):,} characters; give at most {self.most_characters:,}"
            raise InputError(name, said, field=name, wanted=self.wanted)
        return str(GivenUnits.read(text))


class LimitList(Listed):
    """Limits as text, or as objects, which are kept as text."""

    separator = "; "
    between = "semicolons"
    usual_words = f"a list of limits, {WANTED}"

    def _checked(self, name: Setting, value: Any) -> tuple[str, ...]:
        listed = super()._checked(name, value)
        for each in listed:
            if not isinstance(each, str | Limit | Numbers):
                raise refused(name, value, self.wanted)
        return tuple(str(parse(str(each))) for each in listed)


class ConstraintList(Listed):
    """Objects that say what a formula may look like."""

    is_text = False
    usual_words = "a list of constraints, such as [Forbid('exp', 'descendant', of='exp')]"

    def _checked(self, name: Setting, value: Any) -> tuple[Any, ...]:
        listed = super()._checked(name, value)
        for each in listed:
            if isinstance(each, type) or not (isinstance(each, Constraint) or callable(each)):
                raise refused(name, value, self.wanted)
        return listed


@dataclass(frozen=True, kw_only=True)
class Instance(ValueType):
    """A Python object of a class."""

    of: type

    is_text = False

    def _words(self) -> str:
        return f"of the type {self.of.__name__}"

    def _checked(self, name: Setting, value: Any) -> Any:
        if not isinstance(value, self.of):
            raise refused(name, value, self.wanted)
        return value
