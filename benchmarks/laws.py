"""Does a person get the law?  `symseek fit` with its defaults on ten laws of physics, with noise.

    python benchmarks/laws.py [--seeds 10] [--laws damped,planck] [--noise 0.01] [--json FILE]

Each law is written to a CSV file of 200 rows in SI units, with normal noise of 1 % of the target's
standard deviation, and `symseek fit FILE --target y --seed S` is run as a person would. A formula
of the front has the law's form when it can be the law: with its constants fitted to the law itself,
without noise and on fresh points, its NRMSE is below 1e-6; and it has at most one number more than
the law as it is written here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symseek import FitConfig, Program, Programs, fit_constants
from symseek.algebra.simplify import rescaled
from symseek.data import Scales
from symseek.model import Model, full_library

ROWS = 200
EXACT = 1e-6  # NRMSE
SPARE = 1  # numbers that a formula may have beside those of the law


@dataclass(frozen=True)
class Law:
    """A formula and the ranges of its variables; a range over decades is drawn evenly in them."""

    name: str
    text: str
    ranges: dict[str, tuple[float, float]]

    def draw(self, rng: np.random.Generator, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
        columns = []
        for low, high in self.ranges.values():
            if low > 0 and high / low > 20:
                columns.append(np.exp(rng.uniform(np.log(low), np.log(high), rows)))
            else:
                columns.append(rng.uniform(low, high, rows))
        X = np.column_stack(columns)
        return X, self.program().evaluate(X)

    def program(self) -> Program:
        return Program.parse(self.text, full_library(list(self.ranges)))


LAWS = [
    Law("damped oscillation", "3.2*exp(-0.5*t)*sin(2.1*t) + 0.7", {"t": (0, 10)}),
    Law("free fall", "h0 - 4.905*t**2", {"h0": (10, 200), "t": (0.1, 5)}),
    Law("Kepler's third law", "5.4537e-10*a**1.5", {"a": (5e10, 5e12)}),
    Law("ideal gas", "8.314*n*T/V", {"n": (0.5, 5), "T": (250, 500), "V": (0.01, 0.1)}),
    Law(
        "Planck's law",
        "1.191e-16/(lam**5.0*(exp(0.014388/(lam*T)) - 1.0))",
        {"lam": (2e-7, 3e-6), "T": (3000, 7000)},
    ),
    Law("thin lens", "1.0/(1.0/f - 1.0/d)", {"f": (0.02, 0.2), "d": (0.3, 3)}),
    Law(
        "Coulomb's law",
        "8.988e9*q1*q2/r**2",
        {"q1": (1e-8, 1e-6), "q2": (1e-8, 1e-6), "r": (0.05, 0.5)},
    ),
    Law("Lorentz factor", "1.0/sqrt(1.0 - (v/2.998e8)**2)", {"v": (1e7, 2.9e8)}),
    Law("Arrhenius' law", "1e13*exp(-9622.3/T)", {"T": (280, 400)}),
    Law(
        "drag",
        "0.5*rho*v**2*cd*area",
        {"rho": (0.9, 1.3), "v": (5, 60), "cd": (0.2, 1.2), "area": (0.5, 3)},
    ),
]


def main() -> int:
    options = parse()
    wanted = options.laws.split(",")
    laws = [law for law in LAWS if any(each in law.name for each in wanted)]
    runs: list[dict[str, Any]] = []
    head = f"{'law':20}{'on the front':>14}{'picked':>8}{'seconds':>9}  one of the picked"
    print(head)
    for law in laws:
        for seed in range(options.seeds):
            runs.append(run(law, seed, options.noise))
            if options.json:
                options.json.write_text(json.dumps(runs, indent=1))
        mine = [each for each in runs if each["law"] == law.name]
        found, picked = (sum(each[what] for each in mine) for what in ("found", "picked"))
        seconds = statistics.median(each["seconds"] for each in mine)
        example = next((each["formula"] for each in mine if each["picked"]), mine[0]["formula"])
        score = f"{found}/{len(mine)}", f"{picked}/{len(mine)}"
        print(f"{law.name:20}{score[0]:>14}{score[1]:>8}{seconds:>9.1f}  {example}", flush=True)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--laws", default="", help="parts of names, with commas between")
    parser.add_argument("--noise", type=float, default=0.01, help="part of the standard deviation")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def run(law: Law, seed: int, noise: float) -> dict[str, Any]:
    """One run of the command, from a CSV file to the front that it wrote."""
    rng = np.random.default_rng(zlib.crc32(law.name.encode()))
    X, y = law.draw(rng)
    y = y + noise * np.std(y) * rng.normal(size=len(y))
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data.csv"), Path(folder, "run")
        header = ",".join([*law.ranges, "y"])
        np.savetxt(data, np.column_stack([X, y]), delimiter=",", header=header, comments="")
        words = ["fit", str(data), "--target", "y", "--seed", str(seed), "--out", str(out)]
        start = time.perf_counter()
        command = [sys.executable, "-m", "symseek", *words, "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        model = Model.from_dict(json.loads((out / "front.json").read_text()))
    forms = [has_form(formula.program, law) for formula in model.formulas]
    return {
        "law": law.name,
        "seed": seed,
        "found": any(forms),
        "picked": forms[model.picked],
        "seconds": seconds,
        "formula": model.best.text,
    }


def has_form(program: Program, law: Law) -> bool:
    """Whether the formula, with other constants, is the law."""
    if len(program.constants) > len(law.program().constants) + SPARE:
        return False
    X, y = law.draw(np.random.default_rng(1))
    scales = Scales.of(X, y)
    # In units of about 1, where fits are well conditioned.
    inverse = (1 / scales.inputs).tolist()
    scaled = rescaled(program, program.library, X / scales.inputs, inverse, 1 / scales.target)
    fitted = fit_constants(
        Programs.from_list([scaled]),
        X / scales.inputs,
        y / scales.target,
        FitConfig(restarts=8, max_steps=500),
    )
    return bool(fitted.ok[0] and 1 / fitted.rewards[0] - 1 < EXACT)


if __name__ == "__main__":
    raise SystemExit(main())
