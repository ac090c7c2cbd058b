"""What determines a run: method, problem, seed and settings, and the key made from these four.

The key is a hash of the four, written in one way only. It is the same in every process and on every
machine, so a store recognises a run that it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from symseek.arguments import refused
from symseek.errors import InputError
from symseek.files.schema import read

SEEDS = range(2**64)
SHORT = 10  # digits of a key, sufficient in one store


@dataclass(frozen=True, eq=False)
class Spec:
    """What to run. Two specs are equal when all four fields are, in any order of the settings.

    Settings are what JSON can hold: strings, numbers, booleans, None, lists and mappings of these.
    The numbers 1 and 1.0 are different settings, as are any two that JSON writes differently.

    >>> first = Spec("dsr", "Nguyen-5", 3, {"max_expressions": 2_000_000, "epsilon": 0.05})
    >>> same = Spec("dsr", "Nguyen-5", 3, {"epsilon": 0.05, "max_expressions": 2_000_000})
    >>> first == same, first.key == same.key, first.short
    (True, True, '528bf57561')
    >>> print(first)
    dsr on Nguyen-5, seed 3
    """

    method: str
    problem: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("method", "problem"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise refused(f"the {name} of a run", value, "a name")
        if type(self.seed) is not int or self.seed not in SEEDS:
            raise refused("the seed of a run", self.seed, "from 0 to 2**64 - 1")
        if not isinstance(self.settings, Mapping):
            raise InputError(f"the settings of a run are {self.settings!r}; give a mapping")
        own = json.loads(canonical(dict(self.settings)))
        object.__setattr__(self, "settings", MappingProxyType(own))

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the four fields as canonical JSON, in hexadecimal digits."""
        return hashlib.sha256(canonical(self.to_dict()).encode()).hexdigest()

    @property
    def short(self) -> str:
        """The first digits of the key, which are sufficient in one store."""
        return self.key[:SHORT]

    def to_dict(self) -> dict[str, Any]:
        """The four fields as JSON-able data.

        >>> Spec("dsr", "Nguyen-5", 3).to_dict()
        {'method': 'dsr', 'problem': 'Nguyen-5', 'seed': 3, 'settings': {}}
        """
        return {
            "method": self.method,
            "problem": self.problem,
            "seed": self.seed,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Spec:
        """The spec that `to_dict` wrote; an unknown or a missing field is refused by name."""
        spec: Spec = read(data, cls, "the run", missing=False)
        return spec

    def __str__(self) -> str:
        return f"{self.method} on {self.problem}, seed {self.seed}"

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Spec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:  # a read-only mapping cannot be pickled
        return Spec, (self.method, self.problem, self.seed, dict(self.settings))


def canonical(value: Any) -> str:
    """A value as JSON, written in one way only: keys sorted, no spaces, ASCII.

    >>> canonical({"b": [1, 2.5], "a": "π"})
    '{"a":"\\\\u03c0","b":[1,2.5]}'
    """
    _refuse_other_than_json(value, "settings")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _refuse_other_than_json(value: Any, where: str) -> None:
    """Refuse what JSON would write as something else, or not at all."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"{where} has the key {key!r}; a key must be a string")
            _refuse_other_than_json(item, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_other_than_json(item, f"{where}[{index}]")
    elif value is not None and type(value) not in (str, int, float, bool):
        raise InputError(f"{where} is {value!r}, a {type(value).__name__}, which JSON cannot hold")
    elif value != value or value in (float("inf"), float("-inf")):
        raise refused(where, value, "a finite number")
