"""What the server sends back: JSON that every browser reads, and refusals in one sentence."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.responses import Response


class Refused(Exception):
    """A request that is not served, with the status and the sentence of the answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def encoded(value: Any) -> bytes:
    """A value as JSON; numbers that JSON lacks become null.

    >>> encoded({"r2": float("-inf"), "name": "x"})
    b'{"r2":null,"name":"x"}'
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), separators=(",", ":"))
    return text.encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


class Answer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encoded(content)
