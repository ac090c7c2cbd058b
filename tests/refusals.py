"""What is refused, by the fields of the error: its sentence is for people, and may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from symseek.errors import InputError

ANY = object()


@contextmanager
def refused(
    field: str, value: Any = ANY, wanted: str | None = None, row: int | None = None
) -> Iterator[None]:
    """Bad input that names its field, and its value or what is wanted, if these are given."""
    with pytest.raises(InputError) as caught:
        yield
    error = caught.value
    assert error.field == field, error
    assert value is ANY or error.value == value, error
    assert wanted is None or error.wanted == wanted, error
    assert row is None or error.row == row, error
    assert str(error)
