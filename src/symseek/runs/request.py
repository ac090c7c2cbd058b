"""Reading settings.json, which anyone may have written: every field by its type and in bounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from symseek.files.schema import Label, Most, read


@dataclass(frozen=True)
class _Request:
    """What the file holds; older ones lack the last fields."""

    format: int
    symseek: Label
    data: Path
    target: Label
    features: Annotated[tuple[Label, ...], Most(100_000)] | None
    weights: Label | None
    delimiter: Label | None
    settings: Any
    drop_missing: bool = False
    all_columns: bool = False
    left_out: Annotated[dict[Label, Label], Most(100_000)] | None = None


def read_request(written: dict[str, Any]) -> dict[str, Any]:
    """What to fit, from the fields of the file but its settings."""
    request: _Request = read(written, _Request, "the run")
    found = asdict(request)
    for name in ("format", "symseek", "settings"):
        del found[name]
    if request.features is None and "left_out" not in written:
        found["all_columns"] = True  # as of runs from before columns were left out
    return found
