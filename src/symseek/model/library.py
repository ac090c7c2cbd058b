"""The library that the formulas of a model are written in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symseek.errors import InputError
from symseek.groups import Grouping
from symseek.operators.table import ALIASES
from symseek.tokens import OPERATORS, RESERVED, Library, Token, every_operator


def full_library(
    features: Sequence[str], operators: Iterable[object] = (), grouping: Grouping | None = None
) -> Library:
    """Every operator, those of the caller's own among `operators` too, the columns and constants.

    A column may be named like an operator that the caller does not use and the simplifier does not
    need; that operator is left out. With groups, one of the columns has these.

    >>> "gauss" in full_library(["x"]), full_library(["x", "gauss"]).variables
    (True, ('x', 'gauss'))
    """
    names = [str(name) for name in features]
    own = [each for each in operators if isinstance(each, Token)]
    used = {each.name for each in own} | {ALIASES.get(str(each), str(each)) for each in operators}
    for at, name in enumerate(names):
        if name in RESERVED or name in used & set(OPERATORS):
            raise InputError(
                f"column {name!r} is named like an operator; rename it, for instance to"
                f" {name + '_'!r}",
                field=name,
                kind="column",
            )
        if name in names[:at]:
            raise InputError(
                f"two columns are named {name!r}; rename one", field=name, kind="column"
            )
    return every_operator([*names, *(grouping.own if grouping else ())], own, grouping)
