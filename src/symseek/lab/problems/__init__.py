"""Benchmark problems by name: the paper's table, laws of physics, differential equations.

Capitals do not matter in a name, and a prime may be written as a letter p, which needs no quotes in
a shell: `Nguyen-8''` is also `nguyen-8pp`. To add a problem, add its line to `table.ini`,
`feynman.txt` or `strogatz.py`.

>>> from symseek.lab import problems
>>> problems.load("Nguyen-8").expression
'sqrt(x)'
>>> [problem.name for problem in problems.select("Nguyen-1", "Nguyen-8")]
['Nguyen-1', 'Nguyen-8']
"""

from __future__ import annotations

from symseek.errors import unknown_name
from symseek.lab.problems import feynman, strogatz, table
from symseek.lab.problems.problem import (
    BenchmarkProblem,
    Box,
    Evenly,
    GradedBy,
    Points,
    TrainTest,
    Trajectories,
    Uniform,
)

__all__ = [
    "PROBLEMS",
    "BenchmarkProblem",
    "Box",
    "Evenly",
    "GradedBy",
    "Points",
    "TrainTest",
    "Trajectories",
    "Uniform",
    "load",
    "names",
    "paper",
    "select",
    "suite",
    "suites",
]

#: Every problem there is: the paper's, then those of the other suites.
PROBLEMS: tuple[BenchmarkProblem, ...] = (*table.PROBLEMS, *feynman.PROBLEMS, *strogatz.PROBLEMS)

# The straight prime of a keyboard, and those that come with text copied from a page.
_PRIMES = str.maketrans({"'": "p", "\u2032": "p", "\u2019": "p", "\u2033": "pp"})


def _key(name: str) -> str:
    return name.casefold().translate(_PRIMES)


_BY_NAME = {_key(problem.name): problem for problem in PROBLEMS}


def names() -> list[str]:
    """Every problem's name, in the order of the table.

    >>> names()[:2]
    ['Nguyen-1', 'Nguyen-2']
    """
    return [problem.name for problem in PROBLEMS]


def paper() -> list[BenchmarkProblem]:
    """The problems of the paper's benchmark table.

    >>> len(paper()), paper()[-1].name
    (38, 'Neat-6-extended')
    """
    return list(table.PROBLEMS)


def suites() -> list[str]:
    """Every suite's name.

    >>> suites()[:3], suites()[-2:]
    (['Nguyen', 'Nguyen-altered', 'Nguyen-c'], ['Feynman', 'Strogatz'])
    """
    return list(dict.fromkeys(problem.suite for problem in PROBLEMS))


def load(name: str) -> BenchmarkProblem:
    """The problem of that name.

    >>> load("nguyen-11").expression
    'x**y'
    """
    problem = _BY_NAME.get(_key(name))
    if problem is None:
        raise unknown_name("problem", name, names())
    return problem


def suite(name: str) -> list[BenchmarkProblem]:
    """Every problem of a suite.

    >>> len(suite("Nguyen"))
    12
    """
    found = [problem for problem in PROBLEMS if problem.suite.casefold() == name.casefold()]
    if not found:
        raise unknown_name("suite", name, suites())
    return found


def select(*wanted: str) -> list[BenchmarkProblem]:
    """The problems that a list of problem and suite names stands for, each once.

    >>> [problem.name for problem in select("Nguyen-3", "Nguyen-3")]
    ['Nguyen-3']
    """
    known = {name.casefold() for name in suites()}
    chosen: dict[str, BenchmarkProblem] = {}
    for name in wanted:
        is_suite = name.casefold() in known
        if not is_suite and _key(name) not in _BY_NAME:
            raise unknown_name("problem or suite", name, [*suites(), *names()])
        for problem in suite(name) if is_suite else [load(name)]:
            chosen[problem.name] = problem
    return list(chosen.values())
