"""What a finished run leaves: what it found, what that took, and where and with what it was run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import numpy as np

from symseek.errors import InputError
from symseek.experiments.spec import Spec, known_fields

__all__ = ["Record", "Status"]

Status: TypeAlias = Literal["done", "failed"]

_ANSWERS = ("yes", "no", "undecided")

# What depends on the machine and the moment, and not on the run.
PASSING = ("seconds", "wall", "started_at", "commit", "hardware", "symseek")


@dataclass(frozen=True)
class Record:
    """A finished run. One that failed has its error, and nothing else counts.

    JSON holds all of it. A number that is not finite has no name there and is kept as None.

    >>> record = Record(Spec("dsr", "Nguyen-1", 0), recovered="yes", expression="x", reward=1.0)
    >>> Record.from_dict(record.to_dict()) == record
    True
    >>> Record(record.spec, test_rmse=math.inf, curve={"reward": [0.5, math.nan]}).curve
    {'reward': [0.5, None]}
    """

    spec: Spec
    status: Status = "done"
    recovered: Literal["yes", "no", "undecided"] = "no"
    reason: str = ""  # why it counts as recovered, or not
    evaluations: int = 0  # expressions graded, to recovery where the run ended with it
    seconds: float | None = 0.0  # the search's own time, for these expressions
    reward: float | None = 0.0
    expression: str = ""
    complexity: int = 0
    test_rmse: float | None = None
    test_nrmse: float | None = None  # over the standard deviation of the test targets
    front: Sequence[Sequence[Any]] = ()  # rows of complexity, reward and expression
    curve: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # columns of the course
    error: str = ""  # the traceback of a run that failed
    wall: float | None = 0.0  # seconds of everything: setting up and checks as well
    started_at: str = ""  # UTC
    commit: str = ""  # of the code, with "-dirty" where it was changed since
    hardware: Mapping[str, Any] = field(default_factory=dict)  # cpu, cores, platform
    symseek: str = ""  # its version

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec):
            raise InputError(f"the spec of a record is a {type(self.spec).__name__}, not a Spec")
        if self.status not in ("done", "failed"):
            raise InputError(f"the status of a record is {self.status!r}; it is done or failed")
        if self.recovered not in _ANSWERS:
            answers = ", ".join(_ANSWERS)
            raise InputError(f"recovered is {self.recovered!r}; it must be one of {answers}")
        for each in fields(self):
            if each.name != "spec":
                value = _plain(getattr(self, each.name), each.name)
                object.__setattr__(self, each.name, value)

    @property
    def last_line(self) -> str:
        """What the error comes to.

        >>> Record(Spec("dsr", "A", 0), "failed", error="Traceback ...\\nKeyError: 1\\n").last_line
        'KeyError: 1'
        """
        lines = self.error.strip().splitlines()
        return lines[-1].strip() if lines else ""

    def lasting(self) -> dict[str, Any]:
        """What every repetition of the run must give again: all but times and surroundings."""
        return {name: value for name, value in self.to_dict().items() if name not in PASSING}

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {"spec": self.spec.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The record that `to_dict` wrote; an unknown or a missing field is refused by name."""
        values = known_fields("record", data, [each.name for each in fields(cls)])
        return cls(**values | {"spec": Spec.from_dict(values["spec"])})


def _plain(value: Any, name: str) -> Any:
    """A value as JSON gives it back: lists for sequences and arrays, Python's own numbers."""
    kind = type(value)
    if kind is float:  # first, as a curve has thousands
        return value if math.isfinite(value) else None
    if value is None or kind in (int, str, bool):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist(), name)
    if isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, name) for key, item in value.items()}
    raise InputError(f"{name} of a record has a {type(value).__name__}, which JSON cannot hold")
