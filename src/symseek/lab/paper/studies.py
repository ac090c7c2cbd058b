"""What the parts of the method contribute, and how noise changes it: ablations, noise."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab.paper import published
from symseek.lab.paper.measures import INCOMPLETE, label, methods_of, rates, whole_average
from symseek.lab.paper.recovery_tables import METHODS, nguyen, nguyen_specs
from symseek.lab.reports import statistics
from symseek.lab.reports.cells import percent, rate_row, rate_text, recovered
from symseek.lab.reports.experiment import Drawing, Experiment, Report, grouped, specs_for
from symseek.lab.reports.tables import NOTHING, ResultTable
from symseek.lab.trials.plan import ABLATIONS as PARTS

_CELL = "A cell: recovery in percent over all runs, [its 95 % interval], of how many runs."
_NO_NUMBERS = "The paper shows a picture and prints no numbers for it."

K = TypeVar("K", bound=Hashable)


def _conditions(groups: Mapping[K, Sequence[Record]]) -> dict[K, dict[str, Any]]:
    """The rate under each condition, and whether it has every problem that any of them has."""
    problems = {key: _problems(group) for key, group in groups.items()}
    everything = set().union(*problems.values())
    return {
        key: rate_row(*recovered(group))
        | {"problems": len(problems[key]), "complete": problems[key] == everything}
        for key, group in groups.items()
    }


def _problems(group: Sequence[Record]) -> set[str]:
    return {each.spec.problem for each in group}


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return NOTHING
    mark = "" if row["complete"] else "*"
    return f"{rate_text(row)} of {row['runs']}{mark}"


def _note(data: Sequence[Mapping[str, Any]], *sentences: str) -> str:
    """How to read a cell, and an asterisk where there is one."""
    marked = [] if all(row["complete"] for row in data) else [INCOMPLETE]
    return " ".join([_CELL, *marked, *sentences])


# --- ablations

FULL = "DSR"


def _ablations_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    specs = nguyen_specs(("dsr",), seeds, quick)
    for name in PARTS:
        specs += specs_for(nguyen(quick), ("dsr",), seeds, quick, ablation=name)
    return specs


def _ablation(record: Record) -> str:
    return record.spec.settings.get("ablation") or FULL


def _ablations(records: Sequence[Record]) -> Report:
    groups = grouped(records, _ablation)
    found, full = _conditions(groups), groups.get(FULL, [])
    whole, paper = rates(full), whole_average("dsr", _problems(full))
    data = []
    for name in [FULL, *PARTS]:
        if name not in groups:
            continue
        row = {"ablation": name, **found[name], "paper": paper if name == FULL else None}
        data.append(row | {"p": _against(rates(groups[name]), whole) if name != FULL else None})
    rows = [[row["ablation"], _cell(row), _p(row["p"])] for row in data]
    test = "p: the exact test across benchmarks against the full method."
    theirs = [] if paper is None else [f"Its full method recovers {percent(paper)}."]
    note = _note(data, test, _NO_NUMBERS, *theirs)
    columns = ["Ablation", "Recovery", "p"]
    table = ResultTable("recovery", "Recovery across Nguyen", columns, rows, data, note)
    return Report([table], [Drawing("ablations", data)] if whole else [])


def _against(ours: Any, whole: Any) -> float | None:
    shared = [key for key in ours if key in whole]
    if not shared:
        return None
    return statistics.p_value([ours[key] for key in shared], [whole[key] for key in shared])


def _p(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2g}"


ABLATIONS = Experiment(
    "ablations",
    "Ablations of the method",
    "What is lost without risk-seeking, the entropy bonus, constraints, and combinations of these.",
    "Figure 3",
    100,
    _ablations_specs,
    _ablations,
)


# --- the constraints that help a policy, in genetic programming

_GP = {False: "GP", True: "GP, constrained"}


def _gp_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    constrained = specs_for(nguyen(quick), ("gp",), seeds, quick, constraints=True)
    return nguyen_specs(("gp",), seeds, quick) + constrained


def _gp(records: Sequence[Record]) -> Report:
    groups = grouped(records, lambda each: bool(each.spec.settings.get("constraints", False)))
    found = _conditions(groups)
    data = [
        {"ablation": _GP[key], **found[key], "paper": _gp_paper(key, groups[key])}
        for key in _GP
        if key in groups
    ]
    p = _against(rates(groups.get(True, [])), rates(groups.get(False, [])))
    rows = [[row["ablation"], _cell(row), _paper_cell(row["paper"])] for row in data]
    note = _note(
        data,
        f"p = {_p(p)}, the exact test across benchmarks. The paper tuned GP again for its"
        " constrained runs and does not say to what; here both have the same settings.",
    )
    columns = ["Method", "Recovery", "Paper"]
    table = ResultTable("recovery", "Recovery across Nguyen", columns, rows, data, note)
    return Report([table], [Drawing("ablations", data)])


def _gp_paper(constrained: bool, group: Sequence[Record]) -> float | None:
    """The paper's average, which is over all of Nguyen."""
    average = whole_average("gp", _problems(group))
    return published.GP_CONSTRAINED if constrained and average is not None else average


def _paper_cell(average: float | None) -> str:
    return NOTHING if average is None else percent(average)


GP_CONSTRAINTS = Experiment(
    "gp-constraints",
    "Genetic programming under the constraints",
    "What rejecting children that break DSR's constraints does to genetic programming.",
    "the appendix on baselines",
    100,
    _gp_specs,
    _gp,
)


# --- noise on the targets

# In parts of the targets' root mean square. The paper goes from 0 to 0.1 without naming the levels.
LEVELS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)
FACTORS = (1, 10)
_QUICK_LEVELS = (0.0, 0.1)


def _noise_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    """The runs at every level; those without noise on the usual points are Table 1's."""
    specs = nguyen_specs(METHODS, seeds, quick)
    for factor in FACTORS:
        for level in _QUICK_LEVELS if quick else LEVELS:
            if level == 0.0 and factor == 1:
                continue
            settings: dict[str, Any] = {"noise": level, "front_recovery": True} if level else {}
            settings |= {"data_factor": factor} if factor > 1 else {}
            specs += specs_for(nguyen(quick), METHODS, seeds, quick, **settings)
    return specs


def _condition(record: Record) -> tuple[str, float, int]:
    settings = record.spec.settings
    return record.spec.method, settings.get("noise", 0.0), settings.get("data_factor", 1)


def _noise(records: Sequence[Record]) -> Report:
    conditions = _conditions(grouped(records, _condition))
    data = [
        {"method": method, "level": level, "data": factor, **row}
        for (method, level, factor), row in conditions.items()
    ]
    data.sort(key=lambda row: (row["data"], row["level"]))
    found = {(row["method"], row["level"], row["data"]): row for row in data}
    methods = methods_of(records)
    rows = [
        [f"{level:g}", f"{factor}×", *(_cell(found.get((m, level, factor))) for m in methods)]
        for factor in FACTORS
        for level in sorted({row["level"] for row in data})
    ]
    note = _note(
        data,
        "Noise in parts of the targets' root mean square; with noise, the formula counts"
        " anywhere on the front of reward and complexity.",
        _NO_NUMBERS,
    )
    columns = ["Noise", "Points", *map(label, methods)]
    table = ResultTable("recovery", "Recovery across Nguyen", columns, rows, data, note)
    return Report([table], [Drawing("noise", data)])


NOISE = Experiment(
    "noise",
    "Noisy targets and more points",
    "Recovery with noise from 0 to a tenth on the targets, with the usual points and ten times"
    " as many.",
    "Figure 4",
    100,
    _noise_specs,
    _noise,
)


# --- noise on the rewards

_PROBLEM = "Nguyen-4"
SIGMAS = (0.0, 0.1, 0.2, 0.5, 1.0)
_QUICK_SIGMAS = (0.0, 0.5)
_REWARD_METHODS = ("dsr", "pqt")


def _reward_noise_specs(seeds: Sequence[int], quick: bool) -> list[Spec]:
    specs = nguyen_specs(_REWARD_METHODS, seeds, quick, [_PROBLEM])
    for sigma in _QUICK_SIGMAS if quick else SIGMAS:
        if sigma:
            specs += specs_for([_PROBLEM], _REWARD_METHODS, seeds, quick, reward_noise=sigma)
    return specs


def _reward_noise(records: Sequence[Record]) -> Report:
    groups = grouped(
        records, lambda each: (each.spec.method, each.spec.settings.get("reward_noise", 0.0))
    )
    data = [
        {"method": method, "sigma": sigma, **row}
        for (method, sigma), row in _conditions(groups).items()
    ]
    data.sort(key=lambda row: row["sigma"])
    found = {(row["method"], row["sigma"]): row for row in data}
    methods = methods_of(records)
    rows = [
        [f"{sigma:g}", *(_cell(found.get((method, sigma))) for method in methods)]
        for sigma in sorted({row["sigma"] for row in data})
    ]
    note = _note(data, "σ: standard deviation of the noise on every reward.", _NO_NUMBERS)
    columns = ["σ", *map(label, methods)]
    table = ResultTable("recovery", f"Recovery of {_PROBLEM}", columns, rows, data, note)
    return Report([table], [Drawing("reward_noise", data)])


REWARD_NOISE = Experiment(
    "reward-noise",
    "Noisy rewards",
    "Recovery of Nguyen-4 when the rewards that DSR and PQT learn from have noise.",
    "Figure 5",
    100,
    _reward_noise_specs,
    _reward_noise,
)


EXPERIMENTS = (ABLATIONS, GP_CONSTRAINTS, NOISE, REWARD_NOISE)
