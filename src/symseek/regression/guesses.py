"""What a search begins with: the formulas that the user guesses, and the simplest of all.

A guess is a formula of the user's columns in the user's units. Its numbers are where the fit of the
constants begins, so that only its form has to be right.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from symseek.algebra.simplify import rescaled
from symseek.algebra.writing import Writer
from symseek.constraints.dimensions import Dimensions, Mismatch
from symseek.data import Scales
from symseek.errors import InputError, Setting, shown
from symseek.form import GivenForm
from symseek.programs import Program, Programs
from symseek.tokens import Library

# A guess may be this many times too long before it is simplified. That takes a time that grows as
# the cube of its length, so long ones are taken as they are, unless they need to be shortened.
_SHORTENED = 4
_SIMPLIFIED = 120  # tokens, in any case
_AT_MOST = 240  # tokens

_FEW_SHORT = 400  # pairs of variables, for which every operator is tried


def guessed(
    guesses: Iterable[str],
    full: Library,
    library: Library,
    X: NDArray[np.float64],
    scales: Scales,
    longest: int,
    units: Dimensions | None = None,
) -> Programs:
    """The guesses as programs over the library of a search, of scaled columns.

    Args:
        guesses: the formulas.
        full: every operator, and the columns.
        library: what programs are made of.
        X: rows [N, n] in the user's units.
        scales: from the user's units to those of the search.
        longest: the most tokens that a formula may have.
        units: what every formula agrees with; a guess that does not is refused.

    >>> from symseek.model import full_library
    >>> rows = np.array([[1.0], [2.0]])
    >>> library = Library(["add", "mul", "sqrt", "const"], ["t"])
    >>> found = guessed(["2*t**(3/2)"], full_library(["t"]), library, rows, Scales.none(1), 30)
    >>> print(found[0])
    2.0*(t*sqrt(t))
    """
    programs = []
    for guess in guesses:
        try:
            program = Program.parse(guess, full)
            if units is not None:
                _refuse_mismatch(program, units)
            if len(program) <= _SHORTENED * longest:
                program = _rescaled(program, full, library, X, scales, longest)
        except InputError as error:
            text = f": {shown(guess)} cannot be used: "
            raise InputError(Setting("guesses"), text, error, value=guess) from None
        if len(program) > longest:
            raise InputError(
                Setting("guesses"),
                f": {shown(guess)} has {len(program)} tokens, more than {longest}; shorten it, or"
                " raise ",
                Setting("max_length"),
                value=guess,
                wanted=f"at most {longest} tokens",
            )
        programs.append(program)
    return Programs.from_list(list(dict.fromkeys(programs)), library)


def _refuse_mismatch(guess: Program, units: Dimensions) -> None:
    try:
        units.of(guess)
    except Mismatch as error:
        raise InputError(f"its units do not agree: {error}") from None


def _rescaled(
    guess: Program,
    full: Library,
    library: Library,
    X: NDArray[np.float64],
    scales: Scales,
    longest: int,
) -> Program:
    """A guess in the units of the search, in its tokens."""
    if not np.isfinite(guess.evaluate(X)).all():
        raise InputError("it is undefined on some row")
    rows, units = X / scales.inputs, (1 / scales.inputs).tolist()
    if len(guess) > (_SIMPLIFIED if len(guess) <= longest else _AT_MOST):
        here = Writer(full).translated(guess, units, 1 / scales.target)
    else:
        here = rescaled(guess, full, rows, units, 1 / scales.target)
    return Program.parse(here.infix(), library)


def simple_programs(library: Library) -> Programs:
    """The formulas too short for the search to write: x, c*x and c*x + c for every variable.

    Where there are no constants, x*y does not come of c*x*y: every operator of variables is there.

    >>> [str(each) for each in simple_programs(Library(["add", "mul", "const"], ["x"]))]
    ['x', '1.0*x', '1.0*x + 1.0']
    >>> [str(each) for each in simple_programs(Library(["sub", "sin"], ["x", "y"]))]
    ['x', 'y', 'sin(x)', 'sin(y)', 'x - x', 'x - y', 'y - x', 'y - y']
    """
    names, constant = set(library.names), library.constant_id
    variables = [library.index(name) for name in library.inputs]
    found: list[list[int]] = _of_groups(library, variables)
    for variable in variables:
        found.append([variable])
        if constant is not None and "mul" in names:
            found.append([library.index("mul"), constant, variable])
            if "add" in names:
                found.append([library.index("add"), *found[-1], constant])
    if constant is None:
        found += [
            [operator, *arguments]
            for arity in (1, 2)
            if len(variables) ** arity <= _FEW_SHORT
            for operator in np.flatnonzero(library.arity == arity).tolist()
            for arguments in product(variables, repeat=arity)
        ]
    return Programs.from_list([Program(library, tuple(tokens)) for tokens in found])


def simple_forms(form: GivenForm, library: Library) -> Programs:
    """The programs of a form whose functions are numbers, but for one that is c*x + c or x.

    >>> form = GivenForm.of("y = f(x)*exp(-k*x)", ["x"], "y")
    >>> for each in simple_forms(form, form.library(Library(["add", "mul", "const"], ["x"]))):
    ...     print(each.preorder())
    form 1.0 1.0
    form 1.0 x
    form 1.0 mul 1.0 x
    form 1.0 add mul 1.0 x 1.0
    """
    line = ("const", "x", "mul const x", "add mul const x const")
    found: dict[tuple[int, ...], None] = {}
    allowed = form.allowed(library)
    for at, unknown in enumerate(form.unknowns):
        for column, text in product(unknown.columns or ("const",), line):
            words = [["const" if "const" in each else min(each)] for each in allowed]
            words[at] = [column if word == "x" else word for word in text.split()]
            if allowed[at].issuperset(words[at]):
                names = [form.token.name, *(name for part in words for name in part)]
                found[tuple(map(library.index, names))] = None
    return Programs.from_list([Program(library, tokens) for tokens in found], library)


def _of_groups(library: Library, variables: list[int]) -> list[list[int]]:
    """Levels, slopes and lines of the groups' own, as tokens."""
    own = [] if library.grouping is None else [*map(library.index, library.grouping.own)]
    found = [own[:1]] if own else []
    if not {"add", "mul"} <= set(library.names):
        return found
    add, multiply = library.index("add"), library.index("mul")
    constants = [] if library.constant_id is None else [library.constant_id]
    for x in variables:
        for slope, level in [*product(own[:1], own[1:2]), *product(own[:1], constants)]:
            found += [[add, multiply, slope, x, level], [add, multiply, level, x, slope]]
        found += [[multiply, each, x] for each in own[:1]]
    return found
