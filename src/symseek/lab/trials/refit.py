"""A formula with its numbers fitted once more, to rows without noise.

Noise moves the fitted numbers, not the form. Whether the form is right is seen when the numbers are
fitted to clean rows: then the true form errs by rounding only, and every other one by more. A
formula with parts that the law does not have can be fitted as well, by making them vanish, so these
are looked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symseek.arrays import Floats

if TYPE_CHECKING:
    from symseek.programs import Program

__all__ = ["refitted", "relative_error", "superfluous"]

STEPS = 200  # of the fit; it starts near the optimum
SUPERFLUOUS = 1e-6  # a part that changes the formula by less, over the spread of y, is too much
ROWS = 2000  # that parts are looked at on


def refitted(program: Program, X: Floats, y: Floats) -> Program:
    """The program with the constants that fit these rows best, starting from those it has.

    Exponents are held at first, as x**2 has no value at a negative x once 2 has moved. If that
    does not make the fit exact they are fitted as well, and the better of the two is taken.

    >>> from symseek.programs import Program
    >>> x = np.linspace(1, 3, 50)
    >>> again = refitted(Program.parse("1.98*x**2 + 0.03*x"), x[:, None], 2 * x**2 + 3 * x)
    >>> [round(value, 9) for value in again.constants]
    [2.0, 3.0]
    """
    from symseek.algebra.simplify import exponents_held, translated
    from symseek.constants import FitConfig
    from symseek.evaluation import fit_constants
    from symseek.model import full_library
    from symseek.programs import Programs

    if not program.constants:
        return program
    library = full_library(program.library.variables)
    config = FitConfig("least_squares", restarts=0, max_steps=STEPS, rescue=False)
    found = [translated(program, library)]
    for held in (True, False):
        batch = [found[-1]]
        given = exponents_held(batch, library) if held else Programs.from_list(batch)
        fitted = fit_constants(given, X, y, config).programs[0]
        found.append(translated(fitted, library))
    return min(found, key=lambda each: relative_error(each, X, y))


def relative_error(program: Program, X: Floats, y: Floats) -> float:
    """The RMSE over the standard deviation of y; infinite where the program has no value.

    >>> from symseek.programs import Program
    >>> relative_error(Program.parse("2*x"), np.array([[0.0], [1.0]]), np.array([0.0, 1.0]))
    1.4142135623730951
    """
    with np.errstate(all="ignore"):
        errors = program.evaluate(X) - y
        error = float(np.sqrt(np.mean(errors**2)) / np.std(y))
    return error if np.isfinite(error) else float("inf")


def superfluous(program: Program, X: Floats, y: Floats) -> str | None:
    """A part of an exact formula that it does without, as text; None where it needs them all.

    A part with variables is too much if a number does as well in its place. A number may be 0: in
    a fit of c*(x + d) to 2*x there is nothing wrong with the form.

    >>> from symseek.programs import Program
    >>> x = np.linspace(1, 3, 50)
    >>> superfluous(Program.parse("2*x + 1e-12*sin(3*x)"), x[:, None], 2 * x)
    '1e-12*sin(3.0*x)'
    >>> superfluous(Program.parse("2*x + 1e-12"), x[:, None], 2 * x)
    """
    X, y = X[:ROWS], y[:ROWS]
    for start, end in _parts(program):
        part = _subtree(program, start, end)
        if not any(token in program.library.variable_ids for token in part.tokens):
            continue
        with np.errstate(all="ignore"):
            number = float(np.mean(part.evaluate(X)))
        if np.isfinite(number):
            without = _replaced(program, start, end, number)
            if relative_error(without, X, y) <= SUPERFLUOUS:
                return str(part)
    return None


def _parts(program: Program) -> list[tuple[int, int]]:
    """Where every part of the program begins and ends, the whole left out; large ones first."""
    arity = program.library.arity
    ends = [0] * len(program.tokens)
    for start in range(len(program.tokens) - 1, -1, -1):
        end = start + 1
        for _ in range(arity[program.tokens[start]]):
            end = ends[end]
        ends[start] = end
    return [(start, ends[start]) for start in range(1, len(ends))]


def _numbers_before(program: Program, position: int) -> int:
    return program.tokens[:position].count(program.library.constant_id)


def _subtree(program: Program, start: int, end: int) -> Program:
    first, last = _numbers_before(program, start), _numbers_before(program, end)
    return replace(
        program, tokens=program.tokens[start:end], constants=program.constants[first:last]
    )


def _replaced(program: Program, start: int, end: int, number: float) -> Program:
    """The program with a number in the place of a part."""
    constant = program.library.constant_id
    assert constant is not None
    first, last = _numbers_before(program, start), _numbers_before(program, end)
    return replace(
        program,
        tokens=(*program.tokens[:start], constant, *program.tokens[end:]),
        constants=(*program.constants[:first], number, *program.constants[last:]),
    )
