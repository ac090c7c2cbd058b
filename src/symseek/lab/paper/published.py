"""What the paper printed, to compare our own measurements with.

Petersen et al., "Deep symbolic regression", ICLR 2021. The tables stand in `published.ini`. A
`PublishedTable` has the figures of one for one set of benchmarks; what the benchmark list already
holds (the recovery of DSR, PQT and VPG, and DSR's errors) is read from there. Rates are in percent,
as printed. What the paper shows only as a picture is not here.

Recovery is exact symbolic equivalence; with constants it is the right form, found by inspection.

>>> RECOVERY.rows["Nguyen-5"]["gp"], RECOVERY.averages["gp"], RECOVERY.source
(45.0, 60.1, 'Table 1')
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from symseek.lab.problems import suite

#: The methods of Table 1 in its order, and how every method is written.
METHODS = ("dsr", "pqt", "vpg", "gp", "eureqa", "wolfram")
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "dsr": "DSR",
        "pqt": "PQT",
        "pqt-whole": "PQT, whole queue",
        "vpg": "VPG",
        "gp": "GP",
        "eureqa": "Eureqa",
        "wolfram": "Wolfram",
        "ssr": "SSR",
        "bsr": "BSR",
        "neat_gp": "Neat-GP",
        "grammar_vae": "GrammarVAE",
    }
)

_MISSING = "--"
AVERAGE = "Average"  # the row of `deviations` that goes with the averages

ByMethod = Mapping[str, float]


@dataclass(frozen=True)
class PublishedTable:
    """The figures of one printed table; what it leaves out (Wolfram on two inputs) is not there.

    >>> SSR.rows["Nguyen-7"], SSR.count("Nguyen-7", "ssr"), SSR.runs
    (mappingproxy({'dsr': 33.0, 'ssr': 3.0}), 1, 30)
    """

    source: str  # where the paper has it
    measure: str
    runs: int  # for each benchmark and method
    rows: Mapping[str, ByMethod]  # by benchmark, or one row over all of them
    averages: ByMethod  # over the benchmarks, as printed
    deviations: Mapping[str, ByMethod] = field(default_factory=dict)  # what is printed after ±
    best: tuple[str, ...] = ()  # methods printed bold for significance, see `SIGNIFICANCE`

    def count(self, problem: str, method: str) -> int:
        """The runs behind a recovery rate.

        >>> RECOVERY.count("Nguyen-7", "dsr")
        35
        """
        return round(self.rows[problem][method] * self.runs / 100)


def _read(text: str) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """The values of a table of text, and what stands after ± in it.

    >>> _read("problem a b c \\n Nguyen-1 1.5±0.2 ±0.1 --")
    ({'Nguyen-1': {'a': 1.5}}, {'Nguyen-1': {'a': 0.2, 'b': 0.1}})
    """
    (_, *methods), *lines = [line.split() for line in text.strip().splitlines()]
    values: dict[str, dict[str, float]] = {}
    spreads: dict[str, dict[str, float]] = {}
    for name, *cells in lines:
        pairs = {m: c.partition("±") for m, c in zip(methods, cells, strict=True) if c != _MISSING}
        values[name] = {method: float(value) for method, (value, _, _) in pairs.items() if value}
        spreads[name] = {method: float(sd) for method, (_, _, sd) in pairs.items() if sd}
    return values, spreads


def _table(name: str) -> PublishedTable:
    """A table of the file; the columns it lacks are those of a suite in the benchmark list."""
    section = _FILE[name]
    values, spreads = _read(section["rows"])
    values.pop(AVERAGE, None)
    for problem in suite(section["like"]) if "like" in section else ():
        known = problem.published if problem.graded_by == "recovery" else problem.published_rmse
        first = {method: float(value) for method, value in known.items()}
        values[problem.name] = {**first, **values[problem.name]}
    averages = (pair.split() for pair in section.get("averages", "").split(",") if pair)
    return PublishedTable(
        section["source"],
        section["measure"],
        int(section["runs"]),
        MappingProxyType({name: MappingProxyType(row) for name, row in values.items()}),
        MappingProxyType({method: float(value) for method, value in averages}),
        MappingProxyType({name: MappingProxyType(row) for name, row in spreads.items() if row}),
        tuple(section.get("best", "").split()),
    )


#: "A bold value represents statistical significance (p < 10^-3) across all benchmarks", or across
#: each set of them. The paper names no test and no correction for several comparisons.
SIGNIFICANCE = 1e-3

_FILE = configparser.ConfigParser(interpolation=None)
_FILE.read(Path(__file__).with_suffix(".ini"), encoding="utf-8")

RECOVERY, ALTERED, CONSTANTS = map(_table, ("RECOVERY", "ALTERED", "CONSTANTS"))
NRMSE, NRMSE_ALTERED, NRMSE_CONSTANTS = map(_table, ("NRMSE", "NRMSE_ALTERED", "NRMSE_CONSTANTS"))
SSR, BSR, NEAT, GRAMMAR_VAE = map(_table, ("SSR", "BSR", "NEAT", "GRAMMAR_VAE"))
RUNTIMES, RUNTIMES_TO_RECOVERY = map(_table, ("RUNTIMES", "RUNTIMES_TO_RECOVERY"))

#: GP on the same benchmarks when its offspring must obey DSR's constraints: an average, in percent,
#: from the appendix on baselines.
GP_CONSTRAINED = 32.3

#: Table 6: the three best expressions of each method, with their log(1 + MSE).
GRAMMAR_VAE_BEST: Mapping[str, tuple[tuple[str, float], ...]] = MappingProxyType(
    {
        "grammar_vae": (
            ("sin(3) + x + sin(x**2)", 0.04),
            ("1/2 + x + sin(x**2)", 0.10),
            ("1 + x + sin(x**2)", 0.37),
        ),
        "dsr": (
            ("1/3 + x + sin(x**2)", 0.0),
            ("sin(1.5)/3 + x + sin(x**2)", 7.0e-7),
            ("sin(1/3) + x + sin(x**2)", 3.8e-5),
        ),
    }
)


@dataclass(frozen=True)
class Harmonic:
    """The approximation of the harmonic numbers found on Neat-6 with log and constants added.

    The paper claims an error below 0.000001 % when extrapolating to all n. As printed, but with all
    digits of Euler's constant, the formula keeps that from n = 152 on; at n = 1 it errs by 0.007 %.
    """

    source: str = "the text beside Table 8"
    expression: str = "0.57721 + log(x) + 1/(2*x + 1/(11.3776*x + 15.725) + 0.327981)"
    error: float = 1e-8  # relative, as claimed


HARMONIC = Harmonic()


_SHARED = {
    "batch_size": (250, 500, 1000),
    "learning_rate": (0.0003, 0.0005, 0.001),
    "entropy_weight": (0.01, 0.05, 0.1),
}
#: The grids that were searched, by the names that settings have in this package, from the appendix
#: on experiments. The tuned entropy weights and the learning rate of VPG are not on them; the paper
#: does not say why.
GRIDS: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "dsr": {**_SHARED, "epsilon": (0.05, 0.10, 0.15)},
        "pqt": {**_SHARED, "size": (5, 10, 20)},
        "vpg": {**_SHARED, "beta": (0.1, 0.25, 0.5)},
        "gp": {
            "population": (100, 250, 500, 1000),
            "tournament": (2, 3, 5, 10),
            "mutation": (0.01, 0.03, 0.05, 0.10, 0.15),
            "crossover": (0.25, 0.50, 0.75, 0.90, 0.95),
            "constraints": (True, False),
        },
    }
)
_RNN = {"batch_size": 1000, "learning_rate": 0.0005, "entropy_weight": 0.005}
#: What was chosen and used for every benchmark: Table 3, and Table 4 for GP.
TUNED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "dsr": {**_RNN, "epsilon": 0.05},
        "pqt": {**_RNN, "size": 10},
        "vpg": {**_RNN, "learning_rate": 0.0001, "beta": 0.25},
        "gp": {
            "population": 1000,
            "tournament": 2,
            "mutation": 0.05,
            "crossover": 0.95,
            "constraints": False,
            "init_depths": (0, 2),
            "mutation_depths": (0, 2),
        },
    }
)


@dataclass(frozen=True)
class Tuning:
    """How a setting was chosen: the highest mean recovery, of equals the lowest mean NRMSE."""

    source: str = "the appendix on experiments"
    problems: tuple[str, ...] = ("Nguyen-7", "Nguyen-10")
    runs: int = 10  # for each setting and problem
    expressions: int = 1_000_000


TUNING = Tuning()
