"""Data that anyone may have written, checked by types and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.files.schema import Finite, Label, Most, Real, Within, check, read


@dataclass(frozen=True)
class Point:
    at: tuple[Finite, Finite]
    name: Annotated[str, Most(5)] = ""


@dataclass(frozen=True)
class Drawing:
    kind: Literal["line", "dots"]
    points: Annotated[tuple[Point, ...], Most(2)]
    share: Annotated[float, Within(0, 1)] | None = None
    file: Path | None = None
    notes: Mapping[Label, Label] = field(default_factory=dict)


POINT = {"at": [1, 2.5]}
GOOD = {"kind": "line", "points": [POINT], "file": "a\udcff", "notes": {"a": "b"}}


def test_json_becomes_dataclasses_and_tuples() -> None:
    found = read(GOOD, Drawing, "it")
    assert found == Drawing("line", (Point((1, 2.5)),), None, Path("a\udcff"), {"a": "b"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "ink"}, "'kind' of it is 'ink'; it must be 'line' or 'dots'"),
        ({"points": {}}, "'points' of it is {}; it must be a list"),
        ({"points": [POINT] * 3}, "'points' of it has 3 entries; at most 2 are read"),
        ({"points": [POINT, {"at": [1]}]}, "'at' of entry 1 of 'points' of it is [1]; it must be"),
        (
            {"points": [{"at": [1, math.nan]}]},
            "1 of 'at' of entry 0 of 'points' of it is nan",
        ),
        ({"points": [{**POINT, "name": "longer"}]}, "has 6 characters; at most 5 are read"),
        ({"points": [{**POINT, "name": "\ud800"}]}, "is '\\ud800'; it must be text"),
        ({"points": [{}]}, "entry 0 of 'points' of it has no field 'at'"),
        ({"share": 1.5}, "'share' of it is 1.5; it must be a number from 0 to 1"),
        ({"share": True}, "'share' of it is True; it must be a number from 0 to 1"),
        ({"file": "a\0b"}, "it must be the name of a file"),
        ({"notes": {"a": 3}}, "an entry of 'notes' of it is 3; it must be text"),
        ({"ink": 1}, "unknown field of it 'ink'"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        read({**GOOD, **change}, Drawing, "it")
    assert words in str(caught.value)


def test_unknown_fields_may_be_there_and_missing_ones_refused() -> None:
    assert read({**GOOD, "ink": 1}, Drawing, "it", unknown=True) == read(GOOD, Drawing, "it")
    with pytest.raises(InputError, match="has no field 'share'"):
        read({**GOOD, "points": []}, Drawing, "it", missing=False)


@pytest.mark.parametrize(
    ("value", "hint", "fine"),
    [
        ((1.0,), tuple[float, ...], True),
        ([1.0], tuple[float, ...], False),  # of Python, a list is no tuple
        ({"at": [1, 2]}, Point, False),
        (Point((1.0, 2.0)), Point, True),
        (Point((1.0, "x")), Point, False),  # type: ignore[arg-type]
        (np.zeros(2), NDArray[np.float64], True),
        (np.zeros(2, np.float32), NDArray[np.float64], False),
        (math.inf, Real, True),
        (math.nan, Real, False),
        (1 << 65, int, False),
        (None, int | None, True),
        ([(1, "a")], Sequence[tuple[int, str]], True),
    ],
    ids=str,
)
def test_values_of_python_are_checked(value: Any, hint: Any, fine: bool) -> None:
    if fine:
        check(value, hint, "it")
        return
    with pytest.raises(InputError):
        check(value, hint, "it")
