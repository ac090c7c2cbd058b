"""Candidates: formulas of a view's columns that linear algebra proposes, best first.

First what is exact: some transformed target lies in the span of a family of features, or is a
quotient over one. If nothing is, the nearest sums and quotients, for the target with its noise
averaged out by a surrogate. Every candidate is a program, to be fitted and graded as all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from symseek.data import Data
from symseek.programs import Program
from symseek.structure.curves import curves
from symseek.structure.cycles import frequencies
from symseek.structure.features import Family, families
from symseek.structure.projection import Candidate, Rows, exact_sums, near_sums
from symseek.structure.quotients import quotients
from symseek.structure.surrogate import Surrogate
from symseek.structure.targets import targets
from symseek.tokens import Library

__all__ = ["candidates"]

Floats = NDArray[np.float64]

_ROWS = 400  # looked at; each candidate is graded on all afterwards
_MOST_COLUMNS, _FEW_COLUMNS = 7, 3  # for exact candidates, and for near ones
_PROVEN = 1e-11  # of the spread: an error so small is no chance
_ENOUGH = 6  # exact ones
_MOST = 600  # near ones
_DIGITS = 7  # of numbers that are fitted and errors that are compared


def candidates(data: Data, library: Library) -> tuple[list[Program], bool]:
    """Programs over the library of a view, whose rows these are, and whether they are exact.

    >>> x = np.linspace(1, 3, 200)
    >>> data = Data(x[:, None], 1 / np.sqrt(1 + 2 * x**2), np.ones(200))
    >>> library = Library(["add", "sub", "mul", "div", "sqrt", "const"], ["x"])
    >>> found, exact = candidates(data, library)
    >>> exact, bool(np.allclose(found[0].evaluate(data.X), data.y))
    (True, True)
    """
    operators = set(library.names)
    if not {"add", "mul", "const"} <= operators or data.X.shape[1] > _MOST_COLUMNS:
        return [], False
    sign = -1.0 if (data.y < 0).all() else 1.0
    with np.errstate(all="ignore"):  # what is undefined is told by its values
        found, exact = _found(Data(data.X, sign * data.y, data.weights), library, operators)
    words = [(*(("mul", -1.0) if sign < 0 else ()), *each.words) for each in found]
    written = [
        each for each in words if operators.issuperset(w for w in each if isinstance(w, str))
    ]
    return [Program.from_preorder(each, library) for each in written], exact and bool(written)


def _found(data: Data, library: Library, operators: set[str]) -> tuple[list[Candidate], bool]:
    """What is exact, or else what comes near."""
    count = data.X.shape[1]
    names = library.variables[:count]
    task = _Task(data, None, names, operators)
    exact = task.exact()
    if exact or not 0 < count <= _FEW_COLUMNS:
        return exact, bool(exact)
    smooth = Surrogate.fitted(data.X, data.y, data.weights)
    if smooth is None:
        return [], False
    task = _Task(data, smooth.values, names, operators)
    return [*task.near(), *curves(data.X, task.rates, library)], False


class _Task:
    """Some rows of a view, the transformed targets and the families of features on them."""

    def __init__(
        self, data: Data, smooth: Floats | None, names: tuple[str, ...], operators: set[str]
    ) -> None:
        """`smooth` is the target without its noise [N], if it is to be taken for the target."""
        target = data.y if smooth is None else smooth
        chosen = np.arange(len(target))
        if smooth is not None and np.mean(smooth > 0) > 0.9:
            # Near zero the transforms of what noise has left are anything.
            chosen = np.flatnonzero(smooth > 0.02 * np.sqrt(np.mean(smooth**2)))
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, _ROWS).astype(np.intp))]
        Z = data.X[chosen]
        self.rows = Rows(data.y[chosen], data.weights[chosen], names)
        self.targets = targets(Z, target[chosen], operators)
        self.divides = "div" in operators
        self.spread = data.spread
        with np.errstate(all="ignore"):
            self.rates = {
                (at, halves): [1.0, *frequencies(data.X[:, at] ** (halves / 2), target)]
                for at in range(Z.shape[1])
                for halves in (2, -2)
                if halves > 0 or (self.divides and (data.X[:, at] != 0).all())
            }
        self.families: list[Family] = []
        if self.targets:
            self.families = list(families(Z, names, operators, self.rates))

    def exact(self) -> list[Candidate]:
        """What explains the target exactly, the shortest first."""
        found: list[Candidate] = []
        for family in self.families:
            if len(found) >= _ENOUGH:
                break
            sums = exact_sums(family, self.targets, self.rows)
            found += [each for each in islice(sums, _ENOUGH) if self._proven(each)]
            found += [each for each in self._quotients(family, exact=True) if self._proven(each)]
        return sorted(found, key=lambda each: len(each.words))[:_ENOUGH]

    def _quotients(self, family: Family, exact: bool) -> Iterator[Candidate]:
        for target in self.targets:
            if self.divides and target.multiplier.plain:
                yield from quotients(family, target, self.rows, exact)

    def _proven(self, candidate: Candidate) -> bool:
        return candidate.error < _PROVEN * self.spread

    def near(self) -> list[Candidate]:
        """What comes near the target, the best first; of the same words, one."""
        found: dict[tuple[str, ...], Candidate] = {}
        for family in self.families:
            sums = near_sums(family, self.targets, self.rows)
            for each in chain(sums, self._quotients(family, exact=False)):
                form = tuple("#" if isinstance(word, float) else word for word in each.words)
                if form not in found or _short(each.error) < _short(found[form].error):
                    found[form] = each
        ranked = sorted((_short(each.error), len(form), form) for form, each in found.items())
        best = [found[form] for error, _, form in ranked[:_MOST] if error < np.inf]
        return [_shortened(each) for each in best]


def _short(number: float) -> float:
    """Without the last digits, in which machines differ."""
    return float(f"{number:.{_DIGITS}g}")


def _shortened(candidate: Candidate) -> Candidate:
    """With numbers of few digits, from which every machine fits the same."""
    words = (_short(word) if isinstance(word, float) else word for word in candidate.words)
    return Candidate(tuple(words), candidate.error)
