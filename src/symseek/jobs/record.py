"""What a finished run left, and how a running one stands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import numpy as np

from symseek.arguments import refused
from symseek.errors import InputError
from symseek.files.schema import read
from symseek.jobs.spec import Spec

Status: TypeAlias = Literal["done", "failed"]

#: The answers to whether the formula was recovered, in words.
VERDICTS = {"yes": "recovered", "no": "not recovered", "undecided": "undecided"}


@dataclass(frozen=True)
class Snapshot:
    """How a running search stands."""

    spec: Spec
    evaluations: int = 0
    seconds: float = 0.0  # the search's own time
    reward: float = 0.0  # of the best expression so far
    expression: str = ""


@dataclass(frozen=True)
class Record:
    """A finished run. One that failed has its error, and its other fields mean nothing.

    JSON holds all of it, and a number that is not finite becomes None.

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
    test_rmse: float | None = None  # None where the expression is undefined at a test point
    test_nrmse: float | None = None  # over the standard deviation of the test targets
    front: Sequence[Sequence[Any]] = ()  # rows of complexity, reward and expression
    curve: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # columns of `TrainingCurve`
    error: str = ""  # the traceback of a run that failed
    wall: float | None = 0.0  # seconds of everything: setting up and checks as well
    started_at: str = ""  # UTC
    commit: str = ""  # of the code, with "-dirty" where files were changed since
    hardware: Mapping[str, Any] = field(default_factory=dict)  # cpu, cores, platform, gpu if any
    symseek: str = ""  # its version

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec):
            raise InputError(f"the spec of a record is a {type(self.spec).__name__}, not a Spec")
        if self.status not in ("done", "failed"):
            raise InputError(f"the status of a record is {self.status!r}; it is done or failed")
        if self.recovered not in VERDICTS:
            answers = ", ".join(VERDICTS)
            raise refused("recovered", self.recovered, f"one of {answers}")
        for each in fields(self):
            if each.name != "spec":
                value = _plain(getattr(self, each.name), each.name)
                object.__setattr__(self, each.name, value)

    @property
    def rate(self) -> float:
        """Expressions graded in a second."""
        return self.evaluations / self.seconds if self.seconds else 0.0

    @property
    def last_line(self) -> str:
        """The last line of the error.

        >>> Record(Spec("dsr", "A", 0), "failed", error="Traceback ...\\nKeyError: 1\\n").last_line
        'KeyError: 1'
        """
        lines = self.error.strip().splitlines()
        return lines[-1].strip() if lines else ""

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-able data."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {"spec": self.spec.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The record that `to_dict` wrote; an unknown or a missing field is refused by name."""
        record: Record = read(data, cls, "the record", missing=False)
        return record


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
