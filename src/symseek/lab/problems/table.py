"""The paper's benchmark table, as it stands in `table.ini`: one line a problem."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import cast

import numpy as np

from symseek.lab.problems.problem import Array, BenchmarkProblem, Evenly, GradedBy, Points, Uniform

#: The methods of the paper that this package has, in the order of its tables.
METHODS = ("dsr", "pqt", "vpg")

# Expressions a run may sample. Fitting constants is what takes the time, so the paper halves it.
BUDGET, BUDGET_WITH_CONSTANTS = 2_000_000, 1_000_000

HARMONIC = "sum of 1/k for k = 1, ..., x"


def _harmonic(X: Array) -> Array:
    """The sum of 1/k for k = 1, ..., x on whole numbers x [N, 1]."""
    x = np.rint(X[:, 0]).astype(int)
    sums = np.cumsum(1 / np.arange(1, x.max() + 1))
    return np.asarray(sums[x - 1])


def _suite(name: str, section: configparser.SectionProxy) -> Iterator[BenchmarkProblem]:
    """The problems of one suite and library."""
    operators = tuple(section["operators"].split())
    graded_by = cast("GradedBy", section.get("graded by", "recovery"))
    for line in section["problems"].split("\n")[1:]:
        problem, formula, points, printed = (part.strip() for part in line.split("|"))
        train = _points(points)
        figures = dict(zip(METHODS, map(json.loads, printed.split()), strict=False))
        by_recovery = graded_by == "recovery"
        yield BenchmarkProblem(
            name=problem,
            suite=name.partition(":")[0],
            expression=HARMONIC if formula == "harmonic" else formula,
            operators=operators,
            variables=("x", "y") if re.search(r"\by\b", formula) else ("x",),
            train=train,
            test=_points(section["test"]) if "test" in section else train,
            budget=BUDGET_WITH_CONSTANTS if "const" in operators else BUDGET,
            target=_harmonic if formula == "harmonic" else None,
            graded_by=graded_by,
            published=MappingProxyType(figures if by_recovery else {}),
            published_rmse=MappingProxyType({} if by_recovery else figures),
        )


def _points(text: str) -> Points:
    kind, low, high, count, *scattered = text.split()
    bounds = json.loads(low), json.loads(high)
    if kind == "U":
        return Uniform(*bounds, int(count))
    return Evenly(*bounds, int(count), grid=not scattered)


_TABLE = configparser.ConfigParser(interpolation=None)
_TABLE.read(Path(__file__).with_suffix(".ini"), encoding="utf-8")

PROBLEMS: tuple[BenchmarkProblem, ...] = tuple(
    problem for name in _TABLE.sections() for problem in _suite(name, _TABLE[name])
)
