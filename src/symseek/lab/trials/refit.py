"""A formula with its numbers fitted once more, to rows without noise.

Noise moves the fitted numbers, not the form. Whether the form is right is seen when the numbers are
fitted to clean rows: then the true form errs by rounding only, and every other one by more. A
formula with parts that the law does not have can be fitted as well, by making them vanish, so these
are looked for.
"""

from __future__ import annotations

import numpy as np

from symseek.arrays import Floats
from symseek.programs import Program

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
    from symseek.algebra.simplify import structural_exponents, translated
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
        batch = Programs.from_list(found[-1:])
        fixed = structural_exponents(batch) if held else None
        found.append(fit_constants(batch, X, y, config, fixed=fixed).programs[0])
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
    for start in range(1, len(program)):
        part = program.subtree(start)
        if not any(token in program.library.variable_ids for token in part.tokens):
            continue
        with np.errstate(all="ignore"):
            number = float(np.mean(part.evaluate(X)))
        if np.isfinite(number):
            constant = Program(program.library, (program.library.index("const"),), (number,))
            without = program.replaced(start, constant)
            if relative_error(without, X, y) <= SUPERFLUOUS:
                return str(part)
    return None
