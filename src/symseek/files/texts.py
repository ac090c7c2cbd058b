"""Columns of text and dates, distinguished from numbers of which some are mistyped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from symseek.files.cells import BOOLEANS, MISSING, is_number
from symseek.files.checks import is_date
from symseek.files.kinds import Reading, reading
from symseek.files.naming import Hint, hint, names_identifier
from symseek.files.source import LOOKED_AT, TableSource

# A number with a unit, a sign or separators, which is a number for whoever wrote it.
_MISTYPED = re.compile(r"\s*\W*[\d.,'_ ]*\d[\d.,'_ ]*\s*([^\W\d_]{0,3}|\W)\s*", re.ASCII)


def text_columns(source: TableSource, names: Sequence[str], sure: Sequence[str]) -> dict[str, str]:
    """Which of some columns are no numbers and become none, by the first rows, and why.

    Where identifiers or groups are named, one cell that is no number is enough; it is `sure` that
    there is one.

    >>> from symseek.files.delimited import Delimited
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("day,sex,ID,x\\n1/2/24,F,A-1,1\\n1/2/25,M,A-2,5 kg\\n")
    ...     text_columns(Delimited.open(path), ["day", "sex", "ID", "x"], ["day"])
    {'day': 'dates', 'sex': 'text', 'ID': 'an identifier'}
    """
    rows, some = source.head(LOOKED_AT), source.sample()
    found = {}
    for name in names:
        at = source.names.index(name)
        if name not in sure and isinstance(reading([row[at] for row in some]), Reading):
            continue
        cells = [row[at] for row in rows if row[at] not in MISSING]
        texts = [cell for cell in cells if not _is_meant_as_number(cell)]
        dates = sum(is_date(cell) for cell in texts)
        mostly = 2 * len(texts) > len(cells)
        if names_identifier(name) and (mostly or name in sure):
            found[name] = "an identifier"
        elif mostly or (name in sure and hint(name) is Hint.GROUP):
            found[name] = "dates" if 2 * dates > len(texts) else "text"
    return found


def _is_meant_as_number(cell: str) -> bool:
    """Whether a cell is a number, or one that is mistyped.

    >>> [_is_meant_as_number(cell) for cell in ("1e3", "1,234", "4 kg", "$5", "<0.1", "TRUE")]
    [True, True, True, True, True, True]
    >>> [_is_meant_as_number(cell) for cell in ("F", "1988F1", "25-34", "2024-05-01", "1.5.2024")]
    [False, False, False, False, False]
    """
    if cell in BOOLEANS or is_number(cell, "."):
        return True
    return not is_date(cell) and _MISTYPED.fullmatch(cell) is not None
