"""How long does simplifying take, and how much shorter do formulas get?

    python benchmarks/simplify.py [--formulas 150] [--rows 200] [--seed 0]

Random formulas of 30 to 40 tokens, which are defined on all rows, with fitted-looking numbers. The
times are those of the processor, for one formula each.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from symseek import Library, Program
from symseek.algebra.simplify import simplified
from symseek.model import full_library

OPERATORS = ["add", "sub", "mul", "div"] * 3 + ["sin", "cos", "exp", "log", "sqrt", "square", "neg"]
SHORTEST, LONGEST = 30, 40


def formula(library: Library, rng: np.random.Generator) -> Program:
    """A random formula of at most so many tokens."""
    terminals = [*library.variables, "const"]
    names: list[str] = []
    open_slots = 1
    while open_slots:
        room = LONGEST - len(names) - open_slots
        if room >= 1 and (open_slots == 1 or rng.random() < 0.93):
            name = rng.choice([n for n in OPERATORS if library[n].arity <= room])
        else:
            name = rng.choice(terminals)
        names.append(str(name))
        open_slots += library[names[-1]].arity - 1
    numbers = tuple(3 * rng.normal(size=names.count("const")))
    return Program(library, tuple(map(library.index, names)), numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formulas", type=int, default=150)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    library = full_library(["x", "y", "z"])
    X = rng.uniform(0.2, 3.0, (options.rows, 3))
    seconds, shares = [], []
    while len(seconds) < options.formulas:
        program = formula(library, rng)
        if len(program) < SHORTEST or not np.isfinite(program.evaluate(X)).all():
            continue
        began = time.process_time()
        short = simplified(program, library, X)
        seconds.append(time.process_time() - began)
        shares.append(short.complexity / program.complexity)
    middle, high, most = 1e3 * np.quantile(seconds, [0.5, 0.9, 1.0])
    print(f"{options.formulas} formulas on {options.rows} rows, seed {options.seed}")
    print(f"milliseconds: median {middle:.1f}, 90 % below {high:.1f}, longest {most:.1f}")
    print(f"complexity left: {np.mean(shares):.1%}")


if __name__ == "__main__":
    main()
