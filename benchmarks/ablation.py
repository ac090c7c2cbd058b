"""What does each part of the hybrid method do?  Recovery and evaluations with a part left out.

    python benchmarks/ablation.py [--seeds 10] [--jobs 2] [--problems Nguyen-7,Jin-6] [--json FILE]
    python benchmarks/ablation.py --idle-columns 10   # with columns that y does not depend on

Every variant runs on every problem with the same seeds and budget. A run counts as recovered once
a formula fits exactly (reward above 1 - 1e-9, or 1 - 1e-7 where constants are fitted). Variants are
compared by evaluations per recovery: all evaluations spent over all recoveries.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symseek import (
    Evolution,
    Library,
    Novelty,
    Programs,
    RiskSeeking,
    Search,
    SearchConfig,
    SoftLength,
    presets,
    problems,
)
from symseek.constraints import Constraint, paper_constraints
from symseek.experiments import Record, Spec, Store, run
from symseek.experiments.progress import Progress

PROBLEMS = "Nguyen,Nguyen-altered,Nguyen-c,Jin"
EXECUTE = "ablation:search"  # this file, which worker processes import

VARIANTS: dict[str, Callable[[int], SearchConfig]] = {
    "hybrid": lambda n: presets.hybrid(max_expressions=n),
    "policy never trained": lambda n: presets.hybrid(max_expressions=n, learning_rate=0.0),
    "every other batch fresh": lambda n: presets.hybrid(max_expressions=n, fresh=0.5),
    "no fresh batches": lambda n: presets.hybrid(max_expressions=n, fresh=0.0),
    "no recombination": lambda n: presets.hybrid(max_expressions=n, evolution=Evolution(pairing=0)),
    "no elite": lambda n: presets.hybrid(max_expressions=n, evolution=Evolution(elite=0)),
    "no crossover": lambda n: presets.hybrid(
        max_expressions=n, evolution=Evolution(crossover=0.0, mutation=1.0)
    ),
    "no mutation": lambda n: presets.hybrid(
        max_expressions=n, evolution=Evolution(crossover=1.0, mutation=0.0)
    ),
    "no duplicate removal": lambda n: presets.hybrid(max_expressions=n),
    "no evolution": lambda n: presets.hybrid(max_expressions=n, evolution=None, fresh=0.0),
    "one long evolution": lambda n: presets.evolution(max_expressions=n),
    "with entropy decay 0.85": lambda n: presets.hybrid(
        max_expressions=n, entropy_weight=0.03, entropy_decay=0.85
    ),
    "with novelty": lambda n: presets.hybrid(
        max_expressions=n, objective=Novelty(RiskSeeking(0.05), 0.1)
    ),
    "with soft length prior": lambda n: presets.hybrid(max_expressions=n),
}


def main() -> int:
    options = parse()
    names = [problem.name for problem in problems.select(*options.problems.split(","))]
    settings = {"max_expressions": options.budget, "idle_columns": options.idle_columns}
    specs = [
        Spec(variant, name, seed, settings)
        for seed in range(options.seeds)  # outermost: an interrupted benchmark has fewer seeds
        for name in names
        for variant in options.variants.split(",")
    ]
    with Store() as store, Progress(store, specs) as progress:
        progress.summary(run(specs, store, options.jobs, listener=progress, execute=EXECUTE))
        records = store.records(status="done")
    if options.json:
        options.json.write_text(json.dumps([row(each) for each in records], indent=1))
    table(records, names)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=int, default=1_000_000, help="evaluations of a run")
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--idle-columns", type=int, default=0, help="columns y does not depend on")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def search(spec: Spec) -> Record:
    """One run; the method of its spec is the variant."""
    variant, idle = spec.method, spec.settings["idle_columns"]
    problem = problems.load(spec.problem)
    data = problem.data()
    low, high = data.X_train.min(), data.X_train.max()
    noise = np.random.default_rng(20210).uniform(low, high, (len(data.y_train), idle))
    library = Library(
        problem.operators, [*problem.variables, *(f"idle{number}" for number in range(idle))]
    )
    config = VARIANTS[variant](spec.settings["max_expressions"])
    constraints: list[Constraint] = paper_constraints(constants=config.max_constants)
    if variant == "with soft length prior":
        constraints.append(SoftLength(10, 5))
    exact = 1 - 1e-7 if problem.constants else 1 - 1e-9
    X = np.column_stack([data.X_train, noise])
    hunt = Search(library, X, data.y_train, config, constraints=constraints, seed=spec.seed)
    if variant == "no duplicate removal":
        forget_duplicates(hunt)
    result = hunt.run(callback=lambda now: now.best is not None and now.best.reward > exact)
    found = result.best is not None and result.best.reward > exact
    return Record(
        spec,
        recovered="yes" if found else "no",
        evaluations=result.expressions,
        seconds=result.seconds,
    )


def forget_duplicates(search: Search) -> None:
    """Let children repeat earlier ones; those of one generation still differ."""
    assert search.evolver is not None
    breeder = search.evolver.breeder
    breed = breeder.breed

    def forgetful(parents: Programs, *arguments: Any) -> Programs:
        breeder.begin(parents[:0])
        return breed(parents, *arguments)

    breeder.breed = forgetful  # type: ignore[method-assign, assignment]


def row(record: Record) -> dict[str, Any]:
    """A run as data."""
    return {
        "variant": record.spec.method,
        "problem": record.spec.problem,
        "seed": record.spec.seed,
        "recovered": record.recovered == "yes",
        "evaluations": record.evaluations,
        "seconds": record.seconds,
    }


def table(records: Sequence[Record], names: list[str]) -> None:
    """Recovered runs and thousands of evaluations per recovery, a row a variant."""
    print("recovered runs / thousand evaluations per recovery")
    print(f"{'':26}" + "".join(f"{name:>13}" for name in [*names, "all"]))
    met = {each.spec.method for each in records}
    for variant in [each for each in VARIANTS if each in met]:
        own = [each for each in records if each.spec.method == variant]
        cells = []
        for name in [*names, None]:
            chosen = [each for each in own if name in (None, each.spec.problem)]
            won = sum(each.recovered == "yes" for each in chosen)
            spent = sum(each.evaluations for each in chosen) / 1000
            cells.append(f"{won}/{spent / won:,.0f}" if won else "0/-")
        print(f"{variant:26}" + "".join(f"{cell:>13}" for cell in cells))


if __name__ == "__main__":
    raise SystemExit(main())
