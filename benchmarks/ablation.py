"""What does each part of a fit earn?  Structure, evolution, learning, racing, and what they are of.

    python benchmarks/ablation.py --runs FILE [--suite "Jin;idle"] [--variant full] [--seeds 2]
    python benchmarks/ablation.py --runs FILE --report   # the tables of what has been run

Every variant fits the same tables with the same budget of expressions, so that a run can be
repeated anywhere. Seconds are those of the processor: other programs beside it change them little.
A fit counts if the form of the picked formula is right: exact on new rows once its numbers are
fitted to rows without noise. Each run is a line of the file, which a second call continues with.
Variants are compared with the full fit; those of evolution's own parts, which have no structure,
with evolution and learning.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, product, starmap
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from symseek import (
    Evolution,
    FitConfig,
    Novelty,
    PolicyConfig,
    RiskSeeking,
    SearchConfig,
    presets,
)
from symseek.jobs.provenance import commit
from symseek.lab import problems
from symseek.lab.problems import BenchmarkProblem, Box, Uniform
from symseek.lab.srbench.grading import form
from symseek.lab.srbench.protocol import NAMES, Split
from symseek.regression.regression import Regression
from symseek.regression.search_plan import _UNSIMPLIFIED
from symseek.settings import Settings
from symseek.structure.proposals import Proposals

RACED = 256  # rows; a table with no more has no race
IDLE = 10  # columns that the target does not depend on


@dataclass(frozen=True)
class Variant:
    """Some parts of a fit: the settings of its search, and whether structure is looked for."""

    config: Callable[..., SearchConfig] = presets.hybrid
    changes: tuple[tuple[str, Any], ...] = ()  # to the settings of the search
    structure: bool = True
    once: bool = False  # end after the first iteration
    against: str = field(default="full", compare=False)  # the variant to compare with

    def settled(self, suite: Suite) -> Variant:
        """The variant without what cannot matter on a suite, so that equal runs are made once."""
        racing = (("racing", None),) if suite.rows <= RACED else ()
        changes = dict((*self.changes, *racing))
        return replace(self, changes=tuple(sorted(changes.items())))


def part_of_evolution(**changes: Any) -> Variant:
    """Evolution and learning, with a part of them changed."""
    return Variant(changes=tuple(changes.items()), structure=False, against="evolution + learning")


NO_EVOLUTION = (("evolution", None), ("untrained_share", 0.0))
NO_LEARNING = (("learning_rate", 0.0),)
# The least that a search may sample and breed: two programs and their child.
LEAST = (("batch_size", 2), ("evolution", Evolution(generations=1, pairing=0)), *NO_LEARNING)
UNIFORM = (("policy", PolicyConfig(start="uniform")),)

PARTS = {
    "full": Variant(),
    "structure + evolution": Variant(changes=NO_LEARNING),
    "structure + learning": Variant(changes=NO_EVOLUTION),
    "evolution + learning": Variant(structure=False),
    "structure alone": Variant(changes=LEAST, once=True),
    "evolution alone": Variant(changes=NO_LEARNING, structure=False),
    "learning alone": Variant(changes=NO_EVOLUTION, structure=False),
    "one long evolution": Variant(presets.evolution, structure=False),
    "full, no racing": Variant(changes=(("racing", None),)),
    "full, uniform start": Variant(changes=UNIFORM),
}
PARTS_OF_EVOLUTION = {
    "every other batch fresh": part_of_evolution(untrained_share=0.5),
    "no fresh batches": part_of_evolution(untrained_share=0.0),
    "no recombination": part_of_evolution(evolution=Evolution(pairing=0)),
    "no elite": part_of_evolution(evolution=Evolution(elite=0)),
    "no crossover": part_of_evolution(evolution=Evolution(crossover=0.0, mutation=1.0)),
    "no mutation": part_of_evolution(evolution=Evolution(crossover=1.0, mutation=0.0)),
    "with entropy decay 0.85": part_of_evolution(entropy_weight=0.03, entropy_decay=0.85),
    "constants projected": part_of_evolution(
        constants=FitConfig("projected", restarts=0, max_steps=15)
    ),
    "with novelty": part_of_evolution(objective=Novelty(RiskSeeking(0.05), 0.1)),
}
VARIANTS = PARTS | PARTS_OF_EVOLUTION


@dataclass(frozen=True)
class Suite:
    """Tables to fit."""

    problems: tuple[BenchmarkProblem, ...]
    rows: int  # of the largest table
    constants: bool = True
    noise: float = 0.0  # over the root mean square of the target


def beside_idle_columns(problem: BenchmarkProblem) -> BenchmarkProblem:
    """The problem with columns more; those of a law are uniform from 1 to 5 as most of its own."""
    names = (*problem.variables, *(f"idle{number}" for number in range(IDLE)))
    wider = replace(problem, variables=names)
    if not isinstance(problem.train, Box):
        return wider
    box = replace(problem.train, ranges=(*problem.train.ranges, *[(1.0, 5.0)] * IDLE))
    return replace(wider, train=box, test=box)


LAWS = tuple(each for each in problems.suite("Feynman") if each.name in NAMES)

# Laws that are hard for structure alone (`--suite "every law" --variant "structure alone"`): what
# the other parts add to it shows here alone.
MISSED = (
    "feynman_I_9_18",
    "feynman_I_15_3t",
    "feynman_I_30_3",
    "feynman_II_35_18",
    "feynman_III_8_54",
    "feynman_test_2",
    "feynman_test_11",
    "feynman_test_12",
    "feynman_test_14",
    "feynman_test_16",
)

# Formulas of laboratories: constants that are linear beside some that are not.
CURVES = {
    "decay": "2.5*exp(-1.3*x) + 0.6",
    "two decays": "2.1*exp(-0.4*x) + 3.3*exp(-2.6*x)",
    "pulse": "1.5*x*exp(-0.7*x**2) + 0.4*x",
    "damped wave": "2.2*exp(-0.5*x)*sin(1.4*x) + 0.7",
    "power": "0.7*x**1.6 + 0.5",
    "saturation": "4.2*x/(1.5 + x) + 0.3*x",
    "wave and drift": "1.8*sin(1.2*x) + 0.3*x - 0.9",
    "step": "1.6*tanh(0.8*x - 1.5) + 0.2",
    "peak": "2.2*exp(-1.1*(x - 1.4)**2) + 0.3",
    "two columns": "1.7*exp(-0.6*x)*y + 0.8*log(y + 2.3)",
}


def curve(name: str, text: str) -> BenchmarkProblem:
    """The formula as a problem, its variables from 0.1 to 4."""
    operators = ("add", "sub", "mul", "div", "pow", "exp", "log", "sin", "tanh", "const")
    points = Uniform(0.1, 4, 200)
    return BenchmarkProblem(name, "curves", text, operators, ("x", "y"), points, points)


SUITES = {
    "Feynman": Suite(LAWS[::10], 2000),
    "Feynman, noise": Suite(LAWS[::20], 2000, noise=0.05),
    "Feynman, little noise": Suite(LAWS[5::12], 2000, noise=0.01),
    "missed": Suite(tuple(problems.select(*MISSED)), 2000),
    "Nguyen": Suite(tuple(problems.suite("Nguyen")), 20, constants=False),
    "Jin": Suite(tuple(problems.suite("Jin")), 100),
    "idle": Suite(tuple(map(beside_idle_columns, LAWS[3::20])), 2000),
    "every law": Suite(LAWS, 2000),
    "curves": Suite(tuple(starmap(curve, CURVES.items())), 200),
    "curves, noise": Suite(tuple(starmap(curve, CURVES.items())), 200, noise=0.01),
    "Nguyen, altered": Suite(tuple(problems.suite("Nguyen-altered")), 20, constants=False),
    "Nguyen-c": Suite(tuple(problems.suite("Nguyen-c")), 20),
    "Nguyen, idle": Suite(
        tuple(map(beside_idle_columns, problems.suite("Nguyen"))), 20, constants=False
    ),
}
DEFAULT = ("Feynman", "Feynman, noise", "missed", "Nguyen", "Jin", "idle")

Key = tuple[str, str, str, int]  # variant, suite, problem, seed


@dataclass(frozen=True)
class Run:
    """One fit."""

    variant: str
    suite: str
    problem: str
    seed: int
    recovered: bool
    expressions: int
    seconds: float  # of the processor
    formula: str
    why: str
    commit: str = ""  # unknown

    @property
    def key(self) -> Key:
        """What tells runs apart."""
        return self.variant, self.suite, self.problem, self.seed


def main() -> int:
    options = parse()
    runs = read(options.runs)
    if not options.report:
        runs = perform(options, runs)
    report(runs)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="the file that remembers runs")
    parser.add_argument("--suite", default=";".join(DEFAULT), help="some, with semicolons between")
    parser.add_argument("--variant", default=";".join(PARTS), help="likewise")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--expressions", type=int, default=60_000, help="of a run, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="run nothing")
    return parser.parse_args()


def read(path: Path) -> list[Run]:
    """The runs of a file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Run(**json.loads(line)) for line in lines]


def perform(options: argparse.Namespace, known: Sequence[Run]) -> list[Run]:
    """All runs that are asked for and not known yet, each written as soon as it is done."""
    runs, done = {each.key: each for each in known}, {made(each.key): each for each in known}
    equal: dict[Key, list[Key]] = {}  # by the one that is made
    for seed, suite in product(range(options.seeds), options.suite.split(";")):
        names = [each.name for each in SUITES[suite].problems]
        for name, variant in product(names, options.variant.split(";")):
            key = variant, suite, name, seed
            if key not in runs:
                equal.setdefault(made(key), []).append(key)
    with Pool(options.jobs, load) as pool, options.runs.open("a") as file:
        fit = partial(fitted, expressions=options.expressions)
        fits = pool.imap(fit, [key for key in equal if key not in done])
        for run in chain((done[key] for key in equal if key in done), fits):
            for key in equal[made(run.key)]:
                runs[key] = replace(run, variant=key[0])
                print(json.dumps(asdict(runs[key])), file=file, flush=True)
    return list(runs.values())


def made(key: Key) -> Key:
    """The run itself, or that of the first variant which is the same on this suite."""
    name, suite, *rest = key
    own = VARIANTS[name].settled(SUITES[suite])
    same = (each for each in VARIANTS if VARIANTS[each].settled(SUITES[suite]) == own)
    return next(same), suite, *rest  # type: ignore[return-value]


def load() -> None:
    """A fit, so that all code is loaded before seconds are taken."""
    Regression(np.arange(1.0, 9)[:, None], np.arange(1.0, 9) ** 2, ["x"]).run()


def fitted(key: Key, expressions: int) -> Run:
    """One fit and its grade, which takes none of the seconds told."""
    name, suite_name, problem_name, seed = key
    variant, suite = VARIANTS[name], SUITES[suite_name]
    problem = next(each for each in suite.problems if each.name == problem_name)
    budget = {"max_expressions": expressions, "max_seconds": None}
    rows = table(problem, suite, seed)
    start = time.process_time()
    regression = Regression(
        rows.X_train,
        rows.y_train,
        problem.variables,
        Settings(
            operators=tuple(each for each in problem.operators if each != "const"),
            constants=suite.constants,
            structure=variant.structure,
            seed=seed,
            threads=1,
            config=variant.config(**dict(variant.changes), **budget),
        ),
    )
    if variant.structure and regression.search.proposals is None:
        regression.search.proposals = without_evolution(regression)
    result = regression.run(callback=lambda now: variant.once)
    best = regression.model().best
    seconds = time.process_time() - start
    right, why = form(best.program, problem, rows)
    run = Run(*key, right, result.expressions, round(seconds, 2), best.text, why, commit())
    print(f"{name:23} {suite_name:15} {problem.name:20} {right!s:5} {seconds:6.1f}", flush=True)
    return run


def table(problem: BenchmarkProblem, suite: Suite, seed: int) -> Split:
    """The problem's rows; a seed draws its own noise."""
    data = problem.data()
    rng = np.random.default_rng([zlib.adler32(problem.name.encode()), seed])
    clean = data.y_train
    errors = suite.noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(len(clean))
    return Split(data.X_train, clean + errors, clean, data.X_test, data.y_test)


def without_evolution(regression: Regression) -> Proposals:
    """What structure proposes to a search that does not evolve; a user's settings have no such."""
    return Proposals(
        regression.library,
        regression.rows.train.scaled(regression.rows.scales),
        regression.plan.longest * _UNSIMPLIFIED,
        partial(regression.plan._on_some_rows, seed=regression.settings.seed),
    )


def report(runs: Sequence[Run]) -> None:
    """Tables in Markdown."""
    whole = complete(runs)
    suites = [name for name in SUITES if any(each.suite == name for each in whole)]
    variants = [name for name in VARIANTS if any(each.variant == name for each in whole)]
    print("\nForms right, of all runs; lost and gained: those that only the variant compared with,")
    print("or only this one, gets right\n")
    print(f"| | {' | '.join(suites)} | all | lost, gained | p |")
    print("|---|" + "---:|" * (len(suites) + 3))
    for name in variants:
        own = [each for each in whole if each.variant == name]
        cells = [won(each for each in own if each.suite == suite) for suite in suites]
        print(f"| {name} | {' | '.join(cells)} | {won(own)} | {compared(own, whole)} |")
    print("\nThousands of expressions, seconds: medians over all runs\n")
    print(f"| | {' | '.join(suites)} |\n|---|" + "---:|" * len(suites))
    for name in variants:
        cells = [spent([e for e in whole if (e.variant, e.suite) == (name, s)]) for s in suites]
        print(f"| {name} | {' | '.join(cells)} |")


def complete(runs: Sequence[Run]) -> list[Run]:
    """The runs on tables that every variant has fitted which met their suite."""
    names: dict[str, set[str]] = {}
    met: dict[tuple[str, str, int], set[str]] = {}
    for each in runs:
        names.setdefault(each.suite, set()).add(each.variant)
        met.setdefault(each.key[1:], set()).add(each.variant)
    return [each for each in runs if met[each.key[1:]] == names[each.suite]]


def won(runs: Iterable[Run]) -> str:
    """Recovered of all."""
    found = [each.recovered for each in runs]
    return f"{sum(found)}/{len(found)}" if found else "-"


def compared(own: Sequence[Run], runs: Sequence[Run]) -> str:
    """Runs that only the variant compared with, or only this one, gets right; the sign test's p."""
    other = VARIANTS[own[0].variant].against
    right = {each.key[1:]: each.recovered for each in runs if each.variant == other}
    own = [each for each in own if each.key[1:] in right]
    lost = sum(right[each.key[1:]] and not each.recovered for each in own)
    gained = sum(each.recovered and not right[each.key[1:]] for each in own)
    p = binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    return f"{lost}, {gained} | {p:.2g}"


def spent(runs: Sequence[Run]) -> str:
    """Medians."""
    if not runs:
        return "-"
    expressions, seconds = np.median([(e.expressions / 1000, e.seconds) for e in runs], axis=0)
    return f"{expressions:.1f}, {seconds:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
