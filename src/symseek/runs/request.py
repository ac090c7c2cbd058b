"""Reading settings.json, which anyone may have written: every field by its type and in bounds."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from symseek.errors import InputError, shown, unknown_name
from symseek.files.conforming import check_type
from symseek.files.records import Record, plain_text
from symseek.regression.settings import Settings

__all__ = ["read_request", "read_settings"]

_FIELDS = ("format", "symseek", "data", "target", "features", "weights", "delimiter", "settings")
_MOST_NAMES = 100_000
_MOST_OPERATORS = 1000  # numbers among them


def read_request(written: dict[str, Any]) -> dict[str, Any]:
    """What to fit, from the fields of the file; its settings are for `read_settings`."""
    optional = ("drop_missing", "all_columns", "left_out")
    record = Record.of("the run", written, _FIELDS, optional)
    features = None
    if record.fields["features"] is not None:
        names = record.items("features", _MOST_NAMES)
        features = tuple(plain_text(each, "a name among the features", 10_000) for each in names)
    return {
        "data": _path(record.fields["data"]),
        "target": record.text("target", 10_000),
        "features": features,
        "weights": _text_or_none(record, "weights"),
        "delimiter": _text_or_none(record, "delimiter"),
        "drop_missing": record.flag("drop_missing"),
        # Runs from before columns were left out have used all of them.
        "all_columns": record.flag("all_columns")
        or (features is None and "left_out" not in written),
        "left_out": _left_out(record.fields["left_out"]),
    }


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
        read = tuple(value) if isinstance(value, list) else value
        if name == "operators" and isinstance(value, list) and len(value) > _MOST_OPERATORS:
            raise InputError(
                f"`operators` has {len(value):,} entries; at most {_MOST_OPERATORS:,} are read"
            )
        check_type(read, str if name == "reward" else hints[name], f"`{name}`")
        for each in read if isinstance(read, tuple) else (read,):
            if isinstance(each, str):
                plain_text(each, f"`{name}`", 10_000)
        given[name] = read
    return Settings.from_dict(given, threads)


def _left_out(written: Any) -> dict[str, str] | None:
    """The columns that the run leaves out, with the reason for each."""
    if written is None:
        return None
    if not isinstance(written, dict) or len(written) > _MOST_NAMES:
        raise InputError(f"the columns left out are {shown(written)}, which is no list of columns")
    for name, why in written.items():
        plain_text(name, "a name among the columns left out", 10_000)
        plain_text(why, "a reason to leave out a column", 10_000)
    return dict(written)


def _text_or_none(record: Record, name: str) -> str | None:
    return None if record.fields[name] is None else record.text(name, 10_000)


def _path(value: Any) -> Path:
    """A path; the bytes of its name need not be text, and are then kept as Python keeps them."""
    what = "the path of the data"
    if isinstance(value, str):
        try:
            plain_text(os.fsencode(value).decode(errors="replace"), what, 10_000)
        except UnicodeEncodeError:
            raise InputError(f"{what} is {shown(value)}, which is no text") from None
        if value and "\0" not in value:
            return Path(value)
    raise InputError(f"{what} is {shown(value)}, which names no file")
