"""Reading settings.json, which anyone may have written: every field by its type and in bounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from symseek.errors import InputError, shown, unknown_name
from symseek.files.schema import Most, Name, check, read
from symseek.regression.settings import Settings

__all__ = ["read_request", "read_settings"]

_MOST_OPERATORS = 1000  # numbers among them


@dataclass(frozen=True)
class _Request:
    """What the file holds; older ones lack the last fields."""

    format: int
    symseek: Name
    data: Path
    target: Name
    features: Annotated[tuple[Name, ...], Most(100_000)] | None
    weights: Name | None
    delimiter: Name | None
    settings: Any
    drop_missing: bool = False
    all_columns: bool = False
    left_out: Annotated[dict[Name, Name], Most(100_000)] | None = None


def read_request(written: dict[str, Any]) -> dict[str, Any]:
    """What to fit, from the fields of the file; its settings are for `read_settings`."""
    request: _Request = read(written, _Request, "the run")
    found = asdict(request)
    for name in ("format", "symseek", "settings"):
        del found[name]
    if request.features is None and "left_out" not in written:
        found["all_columns"] = True  # as of runs from before columns were left out
    return found


def read_settings(written: Any, threads: int) -> Settings:
    """The settings; those that are not there are as they are by default."""
    known = [each.name for each in fields(Settings) if each.name not in ("config", "threads")]
    if not isinstance(written, dict):
        raise InputError(f"the settings are {shown(written)}, which is no object")
    hints = get_type_hints(Settings)
    given = {}
    for name, value in written.items():
        if name not in known:
            raise unknown_name("setting", name, known)
        listed = tuple(value) if isinstance(value, list) else (value,)
        if name == "operators" and len(listed) > _MOST_OPERATORS:
            raise InputError(
                f"`operators` has {len(listed):,} entries; at most {_MOST_OPERATORS:,} are read"
            )
        given[name] = listed if isinstance(value, list) else value
        check(given[name], str if name == "reward" else hints[name], f"`{name}`")
        for each in listed:
            if isinstance(each, str):
                check(each, Name, f"`{name}`")
    return Settings.from_dict(given, threads)
