"""Names of columns in source code: as arguments, and in the comments that say which is which."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from itertools import chain, count

from symseek.errors import InputError
from symseek.export.own import OwnColumns
from symseek.programs import Program

PYTHON_RESERVED = frozenset({*keyword.kwlist, "__debug__"})


def python_identifier(name: str) -> str:
    """The nearest identifier of Python, which takes letters of all alphabets.

    >>> [python_identifier(name) for name in ("größe", "flow rate", "1st", "x.1")]
    ['größe', 'flow_rate', 'x1st', 'x_1']
    """
    # Python reads names in this normal form, so equal ones must be found equal here.
    normal = unicodedata.normalize("NFKC", name)
    text = "".join(c if ("x" + c).isidentifier() else "_" for c in normal)
    return text if text.isidentifier() else "x" + text


def ascii_identifier(name: str) -> str:
    """The nearest identifier in plain letters; a leading underscore belongs to C compilers.

    >>> [ascii_identifier(name) for name in ("größe", "flow rate", "1st", "_x", "Δ")]
    ['gro_e', 'flow_rate', 'x1st', 'x_x', 'x_']
    """
    letters = unicodedata.normalize("NFKD", name)
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    text = re.sub(r"[^A-Za-z0-9_]", "_", bare)
    return text if re.match("[A-Za-z]", text) else "x" + text


def identifiers(
    names: Sequence[str], identifier: Callable[[str], str], reserved: Callable[[str], bool]
) -> list[str]:
    """An identifier for each name, all different; names that are identifiers stay what they are.

    >>> identifiers(["x 1", "x_1", "class", "x.1"], python_identifier, keyword.iskeyword)
    ['x_1_2', 'x_1', 'class_', 'x_1_3']
    """
    chosen = [identifier(name) for name in names]
    kept = [place == name for place, name in zip(chosen, names, strict=True)]
    taken = {each for each, keep in zip(chosen, kept, strict=True) if keep and not reserved(each)}
    for i, each in enumerate(chosen):
        if kept[i] and each in taken:
            continue
        # The last is for names reserved by how they begin.
        base = next(name for name in (each, each + "_", "x_" + each) if not reserved(name))
        numbered = (f"{base}_{number}" for number in count(2))
        free = (name for name in chain([base], numbered) if name not in taken)
        chosen[i] = next(name for name in free if not reserved(name))
        taken.add(chosen[i])
    return chosen


def function_name(name: str, identifier: Callable[[str], str], reserved: Collection[str]) -> str:
    """The caller's name for the function, if it is one."""
    if not isinstance(name, str) or identifier(name) != name or name in reserved:
        raise InputError(
            f"the function cannot be named {name!r}; give an identifier, such as 'f'",
            field="name",
            value=name,
        )
    return name


def printable(text: str) -> str:
    r"""Text in one line: what cannot be seen is written as an escape.

    >>> print(printable("a\nb"))
    a\nb
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def described(program: Program, names: Sequence[str]) -> list[str]:
    """Lines for a comment: the formula, then which argument is which column.

    >>> described(Program.parse("x + `flow rate`"), ["flow_rate", "x"])
    ['x + `flow rate`', '', 'flow_rate: column 0, "flow rate"', 'x: column 1, "x"']
    """
    own, library = OwnColumns.of(program), program.library
    said = [
        f'{names[at]}: column {i}, "{printable(library.columns[at])}"'
        for i, at in enumerate(own.columns)
    ]
    if own.group is not None:
        column = printable(library.columns[own.group])
        said.append(f'{names[own.group]}: the label of the group, as in column "{column}"')
    return [printable(program.infix()), *([""] if said else []), *said]
