"""How often is a neat number told rightly, and a number that is none taken for one?

    python benchmarks/neatness.py [--laws 300] [--seed 0]

Each law is a form with one to three numbers. Half of the numbers are neat ones of the kinds that
physics uses, half are random reals, their logarithms uniform from 0.05 to 20. Rows are drawn,
noise is added to the target, a part of its root mean square, and the numbers are fitted. Then they
are told. "right" is the part of the neat numbers told as they are, "other" the part told as another
number, "kept" the part left as fitted; "guessed" is the part of the random reals told as neat ones.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from symseek import FitConfig, Program, fit_constants
from symseek.algebra.neatness import probably_neat
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


@dataclass(frozen=True)
class Law:
    """A form with its true numbers; a name for each that is neat, None for others."""

    form: str
    values: tuple[float, ...]
    names: tuple[str | None, ...]
    kinds: tuple[str, ...]

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Law:
        form, count = FORMS[rng.integers(len(FORMS))]
        values, names, kinds = [], [], []
        for _ in range(count):
            if rng.random() < 0.5:
                kind = list(COMMON)[rng.integers(len(COMMON))]
                name = COMMON[kind][rng.integers(len(COMMON[kind]))]
                values.append(float(Program.parse(name).evaluate(np.zeros((1, 0)))[0]))
                names.append(name)
            else:
                kind = "real"
                values.append(float(np.exp(rng.uniform(math.log(0.05), math.log(20)))))
                names.append(None)
            kinds.append(kind)
        return cls(form, tuple(values), tuple(names), tuple(kinds))

    def told(self, rows: int, noise: float, rng: np.random.Generator) -> Counter[tuple[str, str]]:
        """What becomes of each number: its kind with right, other, kept or guessed."""
        text = self.form.format(*(repr(value) for value in self.values))
        program = Program.parse(text)
        X = rng.uniform(1, 5, (rows, len(program.library.variables)))
        clean = program.evaluate(X)
        y = clean + noise * math.sqrt(np.mean(clean**2)) * rng.normal(size=rows)
        config = FitConfig("least_squares", restarts=0, rescue=False)
        fitted = fit_constants(Programs.from_list([program]), X, y, config).programs[0]
        result = probably_neat(fitted, X, y)
        counts: Counter[tuple[str, str]] = Counter()
        for at, value in enumerate(program.constants):
            if value not in self.values:
                continue  # the form's own
            which = self.values.index(value)
            neat = result.neat[at]
            if self.names[which] is None:
                counts["real", "kept" if neat is None else "guessed"] += 1
            elif neat is None:
                counts[self.kinds[which], "kept"] += 1
            else:
                right = math.isclose(neat.value, value, rel_tol=1e-12)
                counts[self.kinds[which], "right" if right else "other"] += 1
        return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", type=int, default=300, help="for each noise and number of rows")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'rows':>6} {'noise':>6}   {'right':>6} {'other':>6} {'kept':>6}   {'guessed':>7}")
    everything: Counter[tuple[str, str]] = Counter()
    for rows in ROWS:
        for noise in NOISE:
            rng = np.random.default_rng([options.seed, rows, round(1 / noise)])
            counts: Counter[tuple[str, str]] = Counter()
            for _ in range(options.laws):
                counts += Law.draw(rng).told(rows, noise, rng)
            print(f"{rows:>6} {noise:>6}   {shares(counts)}")
            everything += counts
    print(f"{'all':>13}   {shares(everything)}")
    for kind in COMMON:
        print(f"{kind:>13}   {shares(everything, kind)}")


def shares(counts: Counter[tuple[str, str]], only: str | None = None) -> str:
    """The percentages of a line of the table."""
    kinds = [only] if only else list(COMMON)
    neat = {what: sum(counts[kind, what] for kind in kinds) for what in ("right", "other", "kept")}
    total = max(sum(neat.values()), 1)
    text = " ".join(f"{100 * neat[what] / total:>5.1f}%" for what in neat)
    if only:
        return text
    reals = counts["real", "kept"] + counts["real", "guessed"]
    return f"{text}   {100 * counts['real', 'guessed'] / max(reals, 1):>6.1f}%"


if __name__ == "__main__":
    main()
