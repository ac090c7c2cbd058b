"""Why a search ended before it had done its work: a file in its folder, for who started it.

The file has the error with its fields, and the process that met it, so that nobody takes an old one
for new. Anyone may have written it, so it is read like everything else in a run folder.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from symseek.errors import InputError, Kind, Message, printable
from symseek.files.regular import read_regular, write_regular
from symseek.files.schema import Label, Most, Text, parse_json, read

ENDED = "ended.json"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class _End:
    process: int
    message: Annotated[list[Any], Most(100)]  # of the error, in parts
    field: Label | None
    kind: Kind | None
    value: Text | float | int | bool | None
    wanted: Text
    row: int | None = None


def write_end(file: Path | None, error: InputError) -> None:
    """Write down what ended the search of this process, if it is to and the file can be written."""
    # The name of a file need not be text, which the reader asks for.
    field = None if error.field is None else printable(error.field)
    value = error.plain_value
    value = printable(value) if isinstance(value, str) else value
    fields = field, error.kind, value, error.wanted, error.row
    end = _End(os.getpid(), Message(error).to_json(), *fields)
    with suppress(OSError):
        if file is not None:
            write_regular(file, json.dumps(asdict(end)))


def read_end(file: Path, process: int) -> InputError | None:
    """What ended the search of a process, if it has said so.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, ENDED)
    ...     write_end(file, InputError("the table is gone"))
    ...     read_end(file, os.getpid()), read_end(file, -1)
    (InputError('the table is gone'), None)
    """
    try:
        end: _End = read(parse_json(read_regular(file, _MOST_BYTES)), _End, "the end")
        message = Message.from_json(end.message)
    except (OSError, ValueError):
        return None
    if end.process != process:
        return None
    return InputError(
        message,
        field=end.field,
        kind=end.kind,
        value=end.value,
        wanted=end.wanted,
        row=end.row,
    )
