"""The runs of a benchmark: problem by problem, seed by seed, the methods taking turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from symseek.errors import InputError
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.trials.plan import check, on_engine, settings_of


def bench_specs(
    wanted: Sequence[str],
    method: str = "dsr",  # or several, separated by commas
    seeds: Iterable[int] = range(10),
    max_expressions: int | None = None,
    threads: int = 1,
    noise: float = 0.0,
    engine: str = "native",
) -> list[Spec]:
    """The runs on problems or suites; bad names and settings are refused here.

    With noise a run uses its whole budget, as no fit is exact, and the true formula counts anywhere
    on the front.

    Methods take turns, so that other work on the machine affects them all alike.

    >>> [(spec.seed, spec.method) for spec in bench_specs(["Nguyen-1"], "hybrid,dsr", [3, 5])]
    [(3, 'hybrid'), (3, 'dsr'), (5, 'hybrid'), (5, 'dsr')]
    """
    methods = list(dict.fromkeys(name.strip() for name in method.split(",") if name.strip()))
    if not methods:
        raise InputError(f"{method!r} names no method; write dsr, or hybrid,dsr")
    more: dict[str, Any] = {"threads": threads} if threads != 1 else {}
    if noise:
        more |= {"noise": noise, "front_recovery": True}
    seeds = list(seeds)
    specs = [
        Spec(
            each,
            problem.name,
            seed,
            settings_of(each, max_expressions=max_expressions or problem.budget, **more),
        )
        for problem in problems.select(*wanted)
        for seed in seeds
        for each in methods
    ]
    specs = on_engine(specs, engine)
    check(specs)
    return specs


def command(spec: Spec) -> str:
    """The shell command that does the run again exactly.

    >>> command(Spec("dsr", "Nguyen-5", 3, {"max_expressions": 2_000_000}))
    'symseek bench Nguyen-5 --method dsr --seed 3'
    """
    problem, budget = problems.load(spec.problem), spec.settings["max_expressions"]
    words = ["symseek bench", problem.shell_name, "--method", spec.method]
    words += ["--seed", str(spec.seed)]
    words += ["--max-expressions", str(budget)] if budget != problem.budget else []
    words += ["--noise", f"{spec.settings['noise']:g}"] if spec.settings.get("noise") else []
    words += ["--engine", spec.settings["engine"]] if "engine" in spec.settings else []
    return " ".join(words)
