"""Which numbers of a formula are the groups' own, found by trying; and how simplifying keeps them.

A number of the groups' own is a variable of the library, so that whatever simplifies a formula
leaves it alone. Its values stand beside the program, and come back to it after each such step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from symseek.programs import Program


def in_order(program: Program) -> Program:
    """The formula with its own numbers named in the order in which they stand.

    >>> from symseek import Library
    >>> from symseek.groups import Grouping
    >>> groups = Grouping("group", ("A", "B"), ("a", "b"))
    >>> library = Library(["add", "mul"], ["x", "group", "a", "b"], groups)
    >>> law = replace(Program.parse("b*x + a", library), own=((1.0, 2.0), (3.0, 4.0)))
    >>> print(in_order(law), in_order(law).own)
    a*x + b ((3.0, 4.0), (1.0, 2.0))
    """
    library, grouping = program.library, program.library.grouping
    if not program.own_used or grouping is None:
        return program
    own = [name for name in dict.fromkeys(program.names) if name in grouping.own]
    order = [*own, *(name for name in grouping.own if name not in own)]
    renamed = dict(zip(order, grouping.own, strict=True))
    tokens = tuple(library.index(renamed.get(name, name)) for name in program.names)
    values = tuple(program.own[grouping.own.index(name)] for name in order) if program.own else ()
    return replace(program, tokens=tokens, own=values)


def variants(program: Program) -> list[Program]:
    """The formula with one number less, shared by the groups instead of their own, or the reverse.

    Each begins with the values that the formula has, and is to be fitted.

    >>> from symseek import Library
    >>> from symseek.groups import Grouping
    >>> groups = Grouping("group", ("A", "B"), ("a", "b"))
    >>> library = Library(["add", "mul", "const"], ["x", "group", "a", "b"], groups)
    >>> law = replace(Program.parse("a*x + 3.0", library), own=((1.0, 2.0), (0.0, 0.0)))
    >>> [str(each) for each in variants(law)]
    ['x + 3.0', '1.5*x + 3.0', 'a*x', 'a*x + b']
    """
    found = (in_order(each) for each in _variants(program))
    return list(dict.fromkeys(each for each in found if each != program))


def _variants(program: Program) -> Iterator[Program]:
    library, names, grouping = program.library, program.names, program.library.grouping
    assert grouping is not None
    table = np.full((len(grouping.own), len(grouping.labels)), np.nan)
    if program.own:
        table[:] = program.own
    free = [at for at in range(len(grouping.own)) if at not in program.own_used]
    constant, values = library.constant_id, iter(program.constants)
    for at, name in enumerate(names):
        value = next(values) if name == "const" else None
        if value is None and name not in grouping.own:
            continue
        yield from _without(program, at)
        if value is None and constant is not None:
            place = grouping.own.index(name)
            mean = float(np.nan_to_num(np.mean(table[place])))
            yield _in_place_of(program, name, Program(library, (constant,), (mean,)))
        elif value is not None and free:
            own = table.copy()
            own[free[0]] = value
            token = library.index(grouping.own[free[0]])
            found = program.replaced(at, Program(library, (token,)))
            yield replace(found, own=tuple(map(tuple, own.tolist())))


def _without(program: Program, at: int) -> Iterator[Program]:
    """The program without a number that is an addend or a factor, or alone under an operator."""
    names, parents = program.names, program.parents
    parent, argument = parents[at]
    if parent < 0:
        return
    others = [each for each, (above, _) in enumerate(parents) if above == parent and each != at]
    if program.library.tokens[program.tokens[parent]].formula is not None:
        return  # the argument of a given form, say, is no addend
    if not others and names[at] != "const":
        yield program.replaced(parent, program.subtree(at))
    elif names[parent] in ("add", "mul") or (names[parent] in ("sub", "div") and argument == 1):
        yield program.replaced(parent, program.subtree(others[0]))
    elif names[parent] == "sub" and "neg" in program.library:
        yield program.replaced(parent, Program.joined("neg", [program.subtree(others[0])]))


def _in_place_of(program: Program, name: str, part: Program) -> Program:
    """The program with a part for each token of a name."""
    for at in reversed([at for at, each in enumerate(program.names) if each == name]):
        program = program.replaced(at, part)
    return program


def folded(program: Program) -> Program:
    """The formula without the constants that a factor of the groups' own can take up.

    >>> from symseek import Library
    >>> from symseek.groups import Grouping
    >>> groups = Grouping("group", ("A", "B"), ("a",))
    >>> library = Library(["div", "mul", "const"], ["x", "group", "a"], groups)
    >>> law = replace(Program.parse("0.5*x/a", library), own=((1.0, 2.0),))
    >>> print(folded(law), folded(law).own)
    x/a ((2.0, 4.0),)
    """
    library, names = program.library, program.names
    grouping = library.grouping
    if grouping is None or not program.own:
        return program
    for at, name in enumerate(names):
        if name != "const":
            continue
        factors = _factors(program, at)
        own = [each for each in factors if names[each] in grouping.own]
        own = [each for each in own if names.count(names[each]) == 1]
        shorter = next(_without(program, at), None)
        if not own or shorter is None:
            continue
        value = program.constants[names[:at].count("const")]
        place = grouping.own.index(names[own[0]])
        power = factors[at] * factors[own[0]]
        table = np.array(program.own)
        table[place] *= value**power
        if np.isfinite(table[place]).all():
            return folded(replace(shorter, own=tuple(map(tuple, table.tolist()))))
    return program


def _factors(program: Program, at: int) -> dict[int, int]:
    """The factors of the product that a token is one of, with their powers: 1 or -1."""
    names, parents = program.names, program.parents
    top = at
    while parents[top][0] >= 0 and names[parents[top][0]] in ("mul", "div"):
        top = parents[top][0]
    powers, found = {top: 1}, {}
    for each in range(top, len(names)):
        if each not in powers:
            parent, argument = parents[each]
            if parent not in powers or names[parent] not in ("mul", "div"):
                continue
            below = names[parent] == "div" and argument == 1
            powers[each] = -powers[parent] if below else powers[parent]
        if names[each] not in ("mul", "div"):
            found[each] = powers[each]
    return found
