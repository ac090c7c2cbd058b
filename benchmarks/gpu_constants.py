"""What do many constants cost a search on a GPU?  DSR on Jin, three at most and any number.

    python benchmarks/gpu_constants.py [--seeds 67] [--expressions 60000]

All runs advance side by side, first with at most three constants, then with as many as a program
has tokens, and each program's constants are fitted by BFGS, as the paper does. The seconds are the
GPU's.
"""

from __future__ import annotations

import argparse

from symseek.lab import Spec, Store, problems, run
from symseek.lab.trials.plan import on_engine, settings_of

LIMITS = {"three": 3, "any number": 30}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=67)
    parser.add_argument("--expressions", type=int, default=60_000)
    options = parser.parse_args()
    rates = {}
    for name, limit in LIMITS.items():
        settings = settings_of("dsr", max_constants=limit, max_expressions=options.expressions)
        specs = [
            Spec("dsr", problem.name, seed, settings)
            for seed in range(options.seeds)
            for problem in problems.suite("Jin")
        ]
        with Store() as store:
            specs = on_engine(specs, "cuda")
            run(specs, store, engine="cuda")
            records = [each for each in store.records(specs) if each.status == "done"]
        seconds = sum(each.seconds or 0.0 for each in records)
        rates[name] = sum(each.evaluations for each in records) / seconds
        print(f"{name}: {len(records)} runs, {seconds:.1f} s, {rates[name]:,.0f} expressions/s")
    print(f"three to any number: {rates['three'] / rates['any number']:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
