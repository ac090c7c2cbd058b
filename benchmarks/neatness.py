"""How often is a neat number told rightly, and a number that is none taken for one?

    python benchmarks/neatness.py [--laws 300] [--seed 0]

Each law is a form with one to three numbers. Half of the numbers are neat ones of the kinds that
physics uses, half are random reals, their logarithms uniform from 0.05 to 20. Rows are drawn,
noise is added to the target, a part of its root mean square, and the numbers are fitted. Then they
are told. "right" is the part of the neat numbers told as they are, "other" the part told as another
number, "kept" the part left as fitted; "guessed" is the part of the random reals told as neat ones.
The last table goes by how certain the rows make a number, its standard error as a part of it.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from symseek import FitConfig, Program, fit_constants
from symseek.algebra.least_squares import LeastSquares
from symseek.algebra.neatness import probably_neat
from symseek.data import Data
from symseek.programs import Programs

NOISE = (0.001, 0.01, 0.1)
ROWS = (100, 1_000, 10_000)
FORMS = [
    ("{}*x*y", 1),
    ("{}*x/y**2", 1),
    ("{}*x**2 + {}*y", 2),
    ("x*(1.5 + {}*y)", 1),
    ("{}*sin(x - y)", 1),
    ("{}*x*exp(-{}*y)", 2),
    ("{}*x/({} + y)", 2),
    ("sqrt({}*x + {}*y)", 2),
    ("{}*x + {}*y + {}", 3),
    ("{}*cos(x) + {}*sin(y)", 2),
]
# Laws of physics and of dynamics have these, the first ones most often.
COMMON = {
    "integers": ["2", "3", "4", "2", "1", "8", "6", "10", "20", "5"],
    "fractions": ["1/2", "1/2", "3/2", "1/3", "2/3", "1/4", "1/8", "3/5", "4/3", "5/2", "1/16"],
    "pi": ["2*pi", "4*pi", "pi", "8*pi", "8*pi/3", "4*pi/3", "pi/2", "pi**2", "4*pi**2"],
    "1/pi": ["1/(4*pi)", "1/(2*pi)", "1/pi", "1/(8*pi**2)", "1/(6*pi)", "3/(8*pi)", "3/(20*pi)"],
    "roots": ["sqrt(2)", "1/sqrt(2*pi)", "sqrt(2*pi)", "sqrt(3)", "sqrt(2)/2", "2/sqrt(pi)"],
    "decimals": ["0.05", "0.1", "0.075", "1.4", "9.81", "0.2", "6.4", "0.25", "1.5", "0.01"],
}


class Told(NamedTuple):
    kind: str  # of the number, "real" where it is not neat
    what: str  # became of it: right, other, kept or guessed
    certain: float  # the standard error as a part of the number


@dataclass(frozen=True)
class Law:
    """A form with its true numbers and their kinds."""

    form: str
    values: tuple[float, ...]
    kinds: tuple[str, ...]

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Law:
        form, count = FORMS[rng.integers(len(FORMS))]
        values, kinds = [], []
        for _ in range(count):
            if rng.random() < 0.5:
                kind = list(COMMON)[rng.integers(len(COMMON))]
                name = COMMON[kind][rng.integers(len(COMMON[kind]))]
                values.append(float(Program.parse(name).evaluate(np.zeros((1, 0)))[0]))
            else:
                kind = "real"
                values.append(float(np.exp(rng.uniform(math.log(0.05), math.log(20)))))
            kinds.append(kind)
        return cls(form, tuple(values), tuple(kinds))

    def told(self, rows: int, noise: float, rng: np.random.Generator) -> Iterator[Told]:
        """What becomes of each number."""
        text = self.form.format(*(repr(value) for value in self.values))
        program = Program.parse(text)
        X = rng.uniform(1, 5, (rows, len(program.library.variables)))
        clean = program.evaluate(X)
        y = clean + noise * math.sqrt(np.mean(clean**2)) * rng.normal(size=rows)
        config = FitConfig("least_squares", restarts=0, rescue=False)
        fitted = fit_constants(Programs.from_list([program]), X, y, config).programs[0]
        result = probably_neat(fitted, X, y)
        places = tuple(range(len(program.constants)))
        fit = LeastSquares.of(fitted, Data(X, y, np.ones(rows)), places)
        for at, value in enumerate(program.constants):
            if value not in self.values:
                continue  # the form's own
            kind, neat = self.kinds[self.values.index(value)], result.neat[at]
            certain = math.inf if fit is None else fit.errors[at] / abs(value)
            what = "kept"
            if neat is not None:
                right = math.isclose(neat.value, value, rel_tol=1e-12)
                what = "guessed" if kind == "real" else "right" if right else "other"
            yield Told(kind, what, certain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", type=int, default=300, help="for each noise and number of rows")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    head = f"{'right':>6} {'other':>6} {'kept':>6}   {'guessed':>7}"
    print(f"{'rows':>6} {'noise':>6}   {head}")
    everything: list[Told] = []
    for rows in ROWS:
        for noise in NOISE:
            rng = np.random.default_rng([options.seed, rows, round(1 / noise)])
            laws = (Law.draw(rng) for _ in range(options.laws))
            numbers = [told for law in laws for told in law.told(rows, noise, rng)]
            print(f"{rows:>6} {noise:>6}   {shares(numbers)}")
            everything += numbers
    print(f"{'all':>13}   {shares(everything)}")
    for kind in COMMON:
        print(f"{kind:>13}   {shares([told for told in everything if told.kind == kind])}")
    print(f"\n{'error':>13}   {head}   numbers")
    for low, high in pairwise((0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, math.inf)):
        some = [told for told in everything if low <= told.certain < high]
        print(f"{f'below {high:g}':>13}   {shares(some)}   {len(some):>7}")


def shares(numbers: list[Told]) -> str:
    """The percentages of a line of the table."""
    counts = Counter(told.what for told in numbers if told.kind != "real")
    total = max(counts.total(), 1)
    text = " ".join(f"{100 * counts[what] / total:>5.1f}%" for what in ("right", "other", "kept"))
    reals = [told.what == "guessed" for told in numbers if told.kind == "real"]
    return f"{text}   {100 * np.mean(reals):>6.1f}%" if reals else text


if __name__ == "__main__":
    main()
