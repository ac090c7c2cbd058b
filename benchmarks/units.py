"""What are units worth?  The Feynman laws with units and without, and a count of violations.

    python benchmarks/units.py count [--programs 10000000]
    python benchmarks/units.py laws [--expressions 100000] [--structure]
    python benchmarks/units.py noise [--part 1/4] [--seconds 60] [--levels 0,0.001,0.01,0.1]

`count` samples and breeds formulas under the units of each law and looks at every one with a
checker that shares nothing with the search: 0 violations are wanted. `laws` prints the expressions
that twenty laws take to be recovered, without units and with them, from 200 rows without noise; the
search alone, unless `--structure` says otherwise. `noise` fits all laws at each level of noise, as
SRBench splits and judges them, and says beside the rates what PhySO and QDSR reach with units. Each
fit is added to a file, and those that are there already are not done again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from operator import add, sub
from pathlib import Path
from typing import Any

import numpy as np

from symseek import Library, paper_constraints
from symseek.constraints import ConstraintSet, Dimensions
from symseek.dimensions import Dimension
from symseek.engines.native import NativeEngine
from symseek.evolution import Evolution
from symseek.lab import problems
from symseek.lab.problems import BenchmarkProblem
from symseek.lab.srbench.grading import graded
from symseek.lab.srbench.protocol import Split, split
from symseek.policy import PolicyWeights
from symseek.regression.regression import Regression
from symseek.settings import Settings

BATCH = 2000
GENERATIONS = 20  # of children, after each batch that is sampled
LAWS = (
    "I_6_2b I_9_18 I_11_19 I_13_4 I_15_3x I_16_6 I_18_4 I_24_6 I_29_16 I_32_17 I_34_8 I_40_1"
    " I_44_4 I_50_26 II_6_15a II_11_27 II_35_18 III_9_52 III_10_19 III_14_14"
)
OTHERS = {  # % of the laws at each level of noise
    "PhySO": {0.0: 58.4, 0.001: 58.4, 0.01: 57.9, 0.1: 53.4},
    "QDSR": {0.0: 91.6},
}
DROPPED = ("I_26_2", "I_30_5", "test_10")  # of the suite by SRBench

Powers = dict[str, int]


def units_of_laws() -> dict[str, tuple[str, dict[str, str]]]:
    """By the name of the law: the unit of its value, and those of its variables."""
    found = {}
    for line in Path(__file__).with_name("feynman_units.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, _, variables = line.partition(" | ")
        name, target = head.split(maxsplit=1)
        pairs = (each.split(": ") for each in variables.split(", "))
        found[name] = target, {variable: unit for variable, unit in pairs}
    return found


def powers(unit: str) -> Powers:
    """The powers of base units, by name."""
    words = (each.partition("^") for each in unit.split() if each != "1")
    return {name: int(power or 1) for name, _, power in words}


# ---- Violations ------------------------------------------------------------------------------


def checker(
    library: Library, columns: dict[str, Powers], target: Powers
) -> Callable[[Sequence[int]], bool]:
    """Whether a program, as a traversal, has the target's unit; powers are counted in twelfths."""
    bases = sorted({base for each in (*columns.values(), target) for base in each})
    vectors = {n: tuple(12 * each.get(b, 0) for b in bases) for n, each in columns.items()}
    wanted, nothing = tuple(12 * target.get(base, 0) for base in bases), (0,) * len(bases)
    names = library.names

    def agrees(tokens: Sequence[int]) -> bool:
        stack = []
        for token in reversed(tokens):
            name = names[token]
            if name in vectors:
                stack.append(vectors[name])
            elif name == "const":
                stack.append(nothing)
            elif name in ("add", "sub"):
                if stack.pop() != stack[-1]:
                    return False
            elif name in ("mul", "div"):
                first, second = stack.pop(), stack.pop()
                stack.append(tuple(map(add if name == "mul" else sub, first, second)))
            elif name == "square":
                stack.append(tuple(2 * each for each in stack.pop()))
            elif name == "sqrt":
                if any(each % 2 for each in stack[-1]):
                    return False
                stack.append(tuple(each // 2 for each in stack.pop()))
            elif name not in ("sin", "cos", "exp", "log") or stack[-1] != nothing:
                return False
        return stack == [wanted]

    return agrees


def count(options: argparse.Namespace) -> None:
    """Sample and breed under the units of one law after another, and count what breaks them."""
    engine, laws = NativeEngine(), units_of_laws()
    laws = {name: law for name, law in laws.items() if len(law[1]) > 1}
    each = -(-options.programs // len(laws))
    sampled = bred = broken = restarts = 0
    began = time.process_time()
    for seed, (name, (target, columns)) in enumerate(laws.items(), 1000 * options.seed):
        problem = problems.load(f"feynman_{name}")
        library = Library(problem.operators, list(columns))
        known = {variable: powers(unit) for variable, unit in columns.items()}
        units = Dimensions({v: Dimension(p) for v, p in known.items()}, Dimension(powers(target)))
        rules = ConstraintSet(library, [*paper_constraints(), units])
        agrees = checker(library, known, powers(target))
        policy, breeder = engine.policy(rules, 32), engine.breeder(rules)
        weights = PolicyWeights.start(tokens=len(library), hidden=32, seed=seed).flat
        done = iteration = 0
        while done < each:
            batch = policy.sample(weights, seed, iteration, BATCH).programs
            sampled += len(batch)
            breeder.begin(batch)
            for generation in range(GENERATIONS + 1):
                rows = zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)
                broken += sum(not agrees(row[:length]) for row, length in rows)
                done += len(batch)
                if generation == GENERATIONS or not len(batch):
                    break
                fitness = np.random.default_rng(done).uniform(size=len(batch))
                batch = breeder.breed(
                    batch, fitness, seed, iteration, generation, Evolution(), BATCH
                )
                bred += len(batch)
            iteration += 1
            # What has been learnt is anything: each batch is drawn from another policy.
            weights = PolicyWeights.start(tokens=len(library), hidden=32, seed=done).flat
            weights *= np.float32(1 + iteration % 5)
        restarts += policy.restarts
        if options.verbose:
            print(f"{name:10}{sampled:>12,}{bred:>12,}{restarts:>12,}{broken:>6,}", flush=True)
    seconds = time.process_time() - began
    print(f"{sampled:,} formulas sampled ({restarts:,} begun anew) and {bred:,} bred in")
    print(f"{seconds:,.0f} s under the units of {len(laws)} laws; {broken:,} violate them")


# ---- Fits ------------------------------------------------------------------------------------


def units_of(problem: BenchmarkProblem) -> str:
    """The units of a law's columns, as a fit is given them."""
    target, columns = units_of_laws()[problem.name.removeprefix("feynman_")]
    return ", ".join(f"{name}: {unit}" for name, unit in {**columns, "y": target}.items())


def fitted(rows: Split, problem: BenchmarkProblem, settings: Settings) -> dict[str, Any]:
    """One fit: whether its formula has the law's form, and what it took."""
    began = time.perf_counter()
    regression = Regression(rows.X_train, rows.y_train, problem.variables, settings)
    result = regression.run()
    best = regression.model().best
    grades = graded(best.program, best.text, problem, rows)
    return {
        "form": grades.form,
        "solved": grades.solved,
        "expressions": result.expressions,
        "seconds": time.perf_counter() - began,
        "formula": best.text,
    }


def few(rows: Split, count: int) -> Split:
    """The same with fewer rows to train on."""
    trained = (each[:count] for each in (rows.X_train, rows.y_train, rows.y_clean))
    return Split(*trained, rows.X_test, rows.y_test)


def laws(options: argparse.Namespace) -> None:
    """Twenty laws without units and with them."""
    print(f"{'law':12}{'without units':>16}{'with units':>14}  found with units")
    totals = [0, 0]
    for name in LAWS.split():
        problem = problems.load(f"feynman_{name}")
        rows = few(split(problem.name, options.seed), 200)
        cells, formula = [], ""
        for at, units in enumerate((None, units_of(problem))):
            settings = Settings(
                max_expressions=options.expressions,
                max_seconds=None,
                structure=options.structure,
                seed=options.seed,
                units=units,
            )
            run = fitted(rows, problem, settings)
            totals[at] += run["form"]
            cells.append(f"{run['expressions']:,}" if run["form"] else "-")
            formula = run["formula"]
        print(f"{name:12}{cells[0]:>16}{cells[1]:>14}  {formula[:60]}", flush=True)
    print(f"{'found':12}{totals[0]:>16}{totals[1]:>14}")


def noise(options: argparse.Namespace) -> None:
    """All laws at each level of noise, with units."""
    path = Path(options.json)
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    part, parts = map(int, options.part.split("/"))
    levels = [float(each) for each in options.levels.split(",")]
    names = [name for name in units_of_laws() if name not in DROPPED][part - 1 :: parts]
    known = {(run["law"], run["noise"], run["seed"]) for run in done}
    for level in levels:
        for name in names:
            if (name, level, options.seed) in known:
                continue
            problem = problems.load(f"feynman_{name}")
            settings = Settings(
                max_expressions=10**6,
                max_seconds=options.seconds,
                seed=options.seed,
                units=units_of(problem),
            )
            run = fitted(split(problem.name, options.seed, level), problem, settings)
            done.append({"law": name, "noise": level, "seed": options.seed, **run})
            with path.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(f"{level:<7g}{name:12}{'yes' if run['solved'] else 'no':5}{run['formula'][:70]}")
    print(f"{'noise':>8}{'fits':>6}{'solved':>9}{'PhySO':>8}{'QDSR':>8}")
    for level in levels:
        runs = [run["solved"] for run in done if run["noise"] == level]
        rate = f"{100 * np.mean(runs):.1f} %" if runs else "-"
        others = [OTHERS[who].get(level, "-") for who in ("PhySO", "QDSR")]
        print(f"{level:>8g}{len(runs):>6}{rate:>9}{others[0]:>8}{others[1]:>8}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("count", "laws", "noise"))
    parser.add_argument("--programs", type=int, default=10_000_000)
    parser.add_argument("--verbose", action="store_true", help="a line for each law")
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--structure", action="store_true", help="linear algebra before the search")
    parser.add_argument("--part", default="1/1", help="which of how many parts of the laws")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each fit")
    parser.add_argument("--levels", default="0,0.001,0.01,0.1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="units.jsonl", help="the file of the fits that are done")
    options = parser.parse_args()
    {"count": count, "laws": laws, "noise": noise}[options.what](options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
