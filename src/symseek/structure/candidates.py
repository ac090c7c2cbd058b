"""Candidates: formulas of a transform's columns that linear algebra proposes, best first.

First what is exact: some transformed target lies in the span of a family of features, or is a
quotient over one, or comes apart into such. If nothing is, the nearest sums and quotients, for the
target with its noise averaged out by a surrogate. Every candidate is a program, to be fitted and
graded as all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain as chained
from itertools import islice, product

import numpy as np

from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program
from symseek.structure.curves import curves
from symseek.structure.cycles import frequencies
from symseek.structure.features import Family, families
from symseek.structure.numberless import without_numbers
from symseek.structure.projection import EXACT, Candidate, TargetRows, exact_sums, near_sums
from symseek.structure.quotients import quotients
from symseek.structure.separation import Separation, separations
from symseek.structure.solving import mean
from symseek.structure.surrogate import Surrogate
from symseek.structure.targets import Preorder, targets, times, total
from symseek.tokens import Library

_ROWS = 400  # looked at; each candidate is graded on all afterwards
_SEPARATED_ROWS = 1_500
_MOST_COLUMNS, _FEW_COLUMNS = 7, 3  # for exact candidates, and for near ones
_PROVEN = 0.01  # times the closeness asked for: an error so small is no chance
_ENOUGH = 6  # exact ones
_MOST = 600  # near ones
_FEWEST_ROWS = 50  # with fewer, some of so many come near by chance
_OF_EACH_PART = 4  # candidates for a part of a sum
_NEAR_OF_A_PART = 60
_NULL = 1e-10  # a smallest singular value, over the largest, that is none
_CLOSE = 1e-5  # what fails by more may be something else
_WORSE = 1.3  # times the error of what is not taken apart
_ENOUGH_APART = 1e-6  # of the spread: an error that is as good as none
_SLACK = 30.0  # times the error of a separation: what its parts may fail by
_DIGITS = 7  # of numbers that are fitted and errors that are compared


@dataclass(frozen=True)
class _Vocabulary:
    """What candidates are made of; `check` is called now and then, and may raise an error."""

    names: tuple[str, ...]  # of the columns
    operators: set[str]
    check: Callable[[], None]

    @classmethod
    def of(cls, library: Library, check: Callable[[], None]) -> _Vocabulary:
        return cls(library.variables, set(library.names), check)


def exact_candidates(
    data: Data, library: Library, check: Callable[[], None] = lambda: None
) -> list[Program]:
    """Programs over the library of a transform, whose rows these are, that explain them exactly.

    `check` is called now and then, and may raise an error to end this.

    >>> x = np.linspace(1, 3, 200)
    >>> data = Data(x[:, None], 1 / np.sqrt(1 + 2 * x**2), np.ones(200))
    >>> library = Library(["add", "sub", "mul", "div", "sqrt", "const"], ["x"])
    >>> found = exact_candidates(data, library)
    >>> bool(np.allclose(found[0].evaluate(data.X), data.y))
    True
    """
    words = _Vocabulary.of(library, check)
    if not {"add", "mul"} <= words.operators or data.X.shape[1] > _MOST_COLUMNS:
        return []
    if "const" not in words.operators:
        return _without_numbers(data, words, library)
    return _programs(_exact(data, words, EXACT), library)


def near_candidates(
    data: Data, library: Library, check: Callable[[], None] = lambda: None
) -> list[Program]:
    """Programs that come near the target, the best first; their numbers are to be fitted."""
    words = _Vocabulary.of(library, check)
    few = len(data.y) < _FEWEST_ROWS or not 0 < data.X.shape[1] <= _FEW_COLUMNS
    if few or not {"add", "mul", "const"} <= words.operators:
        return []
    return _programs(_near(data, words, _MOST), library)


def _programs(found: list[Candidate], library: Library) -> list[Program]:
    known = set(library.names)
    written = [
        each.words
        for each in found
        if known.issuperset(word for word in each.words if isinstance(word, str))
    ]
    return [Program.from_preorder(each, library) for each in written]


def _without_numbers(data: Data, given: _Vocabulary, library: Library) -> list[Program]:
    """Exact programs whose numbers are small fractions, for a library that has none."""
    operators, names = given.operators, given.names
    nonzero = [name for name, column in zip(names, data.X.T, strict=True) if (column != 0).all()]
    if not nonzero or not {"sub", "div"} <= operators:
        return []
    with np.errstate(all="ignore"):
        found = _Task(data, None, given).exact(EXACT)
    ways = [without_numbers(each.words, name) for each in found for name in nonzero]
    written = sorted((words for words in ways if words is not None), key=len)
    known = [words for words in written if operators.issuperset(map(str, words))]
    return [Program.from_preorder(words, library) for words in known[:_ENOUGH]]


def _exact(data: Data, words: _Vocabulary, close: float) -> list[Candidate]:
    """Candidates that leave less than the part `close` of the target."""
    rows, sign = _turned(data)
    with np.errstate(all="ignore"):  # what is undefined shows in its values
        found = _Task(rows, None, words).exact(close)
        if (not found or close > _CLOSE) and data.X.shape[1] > 1:
            found = [*_separated(rows, words, close), *found]
        found = found or _upside_down(rows, words, close)
    return [each.times(sign) for each in found]


def _upside_down(data: Data, words: _Vocabulary, close: float) -> list[Candidate]:
    """Candidates for the inverse of a single column: a transform has either, as chance decides."""
    if data.X.shape[1] != 1 or "div" not in words.operators or not (data.X != 0).all():
        return []
    inverse: tuple[str | float, ...] = ("div", 1.0, words.names[0])
    found = _Task(Data(1.0 / data.X, data.y, data.weights), None, words).exact(close)
    return [
        replace(each, words=tuple(_with_inverse(each.words, words.names[0], inverse)))
        for each in found
    ]


def _with_inverse(
    words: tuple[str | float, ...], name: str, inverse: tuple[str | float, ...]
) -> Iterator[str | float]:
    for word in words:
        yield from inverse if word == name else (word,)


def _near(data: Data, words: _Vocabulary, most: int) -> list[Candidate]:
    """Candidates for the target with its noise averaged out."""
    rows, sign = _turned(data)
    with np.errstate(all="ignore"):
        smooth = Surrogate.fitted(rows.X, rows.y, rows.weights)
        if smooth is None:
            return []
        task = _Task(rows, smooth.values, words)
        found = [*task.near(most), *curves(rows.X, task.rates, words.names, words.operators)]
    return [each.times(sign) for each in found]


def _turned(data: Data) -> tuple[Data, int]:
    """The rows with a negative target turned positive, and the sign that it had."""
    sign = -1 if (data.y < 0).all() else 1
    return Data(data.X, sign * data.y, data.weights), sign


class _Task:
    """Some rows of a transform, the transformed targets and the families of features on them."""

    def __init__(self, data: Data, smooth: Floats | None, words: _Vocabulary) -> None:
        """`smooth` is the target without its noise [N], if it is to be taken for the target."""
        target = data.y if smooth is None else smooth
        chosen = np.arange(len(target))
        if smooth is not None and np.mean(smooth > 0) > 0.9:
            # Near zero the transforms of what noise has left are anything.
            clear = np.flatnonzero(smooth > 0.02 * np.sqrt(np.mean(smooth**2)))
            chosen = clear if len(clear) > len(chosen) // 2 else chosen
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, _ROWS).astype(np.intp))]
        Z = data.X[chosen]
        self.rows = TargetRows(data.y[chosen], data.weights[chosen], words.names)
        self.targets = targets(Z, target[chosen], words.operators)
        self.divides = "div" in words.operators
        self.check = words.check
        self.spread = data.spread or float(np.abs(data.y).max()) or 1.0
        self.rates = _rates(data.X, target, self.divides)
        self.families: list[Family] = []
        if self.targets:
            self.families = list(families(Z, words.names, words.operators, self.rates))

    def exact(self, close: float) -> list[Candidate]:
        """What explains the target exactly, the shortest first."""
        found: list[Candidate] = []
        limit = _PROVEN * close * self.spread if close <= EXACT else close * self.spread
        for family in self.families:
            self.check()
            if len(found) >= _ENOUGH:
                break
            sums = exact_sums(family, self.targets, self.rows, close)
            found += [each for each in islice(sums, _ENOUGH) if each.error < limit]
            made = self._quotients(family, close if close > EXACT else _NULL)
            found += [each for each in made if each.error < limit]
        return sorted(found, key=lambda each: len(each.words))[:_ENOUGH]

    def _quotients(self, family: Family, close: float | None) -> Iterator[Candidate]:
        for target in self.targets:
            if self.divides and target.multiplier.plain:
                yield from quotients(family, target, self.rows, close)

    def near(self, most: int) -> list[Candidate]:
        """What comes near the target, the best first; of the same words, one."""
        found: dict[tuple[str, ...], Candidate] = {}
        for family in self.families:
            self.check()
            sums = near_sums(family, self.targets, self.rows)
            for each in chained(sums, self._quotients(family, None)):
                form = tuple("#" if isinstance(word, float) else word for word in each.words)
                if form not in found or _short(each.error) < _short(found[form].error):
                    found[form] = each
        ranked = sorted((_short(each.error), len(form), form) for form, each in found.items())
        best = [found[form] for error, _, form in ranked[:most] if error < np.inf]
        return [_shortened(each) for each in best]


def _short(number: float) -> float:
    """Without the last digits, in which machines differ."""
    return float(f"{number:.{_DIGITS}g}")


def _shortened(candidate: Candidate) -> Candidate:
    """With numbers of few digits, from which every machine fits the same."""
    words = (_short(word) if isinstance(word, float) else word for word in candidate.words)
    return Candidate(tuple(words), candidate.error)


def _rates(X: Floats, target: Floats, divides: bool) -> dict[tuple[int, int], list[float]]:
    """Frequencies along each column and its reciprocal, and 1."""
    rates = {}
    for at, column in enumerate(X.T):
        for halves in (2, -2):
            if halves > 0 or (divides and (column != 0).all()):
                rates[at, halves] = [1.0, *frequencies(column ** (halves / 2), target)]
    return rates


# --- sums that come apart


@dataclass(frozen=True)
class _Joined:
    separation: Separation
    chosen: tuple[tuple[str | float, ...], ...]  # the words of each part's coefficient

    def words(self) -> Preorder:
        pairs = zip(self.separation.parts, self.chosen, strict=True)
        return self.separation.form.words(
            total([times(list(words), part.words) for part, words in pairs])
        )


def _separated(data: Data, given: _Vocabulary, close: float) -> list[Candidate]:
    """Candidates for the parts of a sum that comes apart, put together again."""
    rows = np.unique(np.linspace(0, len(data.y) - 1, _SEPARATED_ROWS).astype(np.intp))
    Z, y, weights = data.X[rows], data.y[rows], data.weights[rows]
    whole = Surrogate.fitted(Z, y, weights)
    if whole is None:
        return []
    enough = max(_WORSE * whole.error / (data.spread or 1.0), _ENOUGH_APART)
    names, operators = given.names, given.operators
    rates = _rates(Z, y, "div" in operators)
    found: list[Candidate] = []
    for each in separations(Z, y, weights, names, operators, rates, enough, given.check):
        kept = [at for at in range(len(names)) if at != each.column]
        others = replace(given, names=tuple(names[at] for at in kept))
        slack = max(_SLACK * each.error, close)
        choices = []
        for part in each.parts:
            own = Data(np.ascontiguousarray(Z[:, kept]), part.values, weights * part.h**2)
            choices.append(_part(own, others, slack))
        joined = (_Joined(each, chosen).words() for chosen in product(*choices))
        found += [Candidate(tuple(words), np.inf) for words in joined]
        if found and each.error < _CLOSE:
            break
    return found


def _part(data: Data, words: _Vocabulary, slack: float) -> list[tuple[str | float, ...]]:
    """The best candidates for a part: a number, or formulas of its columns."""
    number = mean(data.y, data.weights)
    square = None if number is None else mean((data.y - number) ** 2, data.weights)
    if number is None or square is None:
        return []
    if np.sqrt(square) < slack * abs(number):
        return [(number,)]
    found = _exact(data, words, slack)
    if not found and len(words.names) == 1:
        found = _near(data, words, _NEAR_OF_A_PART)[:_NEAR_OF_A_PART]
    ranked = sorted(found, key=lambda each: (each.error, len(each.words)))
    shortest = sorted(found, key=lambda each: len(each.words))
    both = [each for pair in zip(shortest, ranked, strict=True) for each in pair]
    return [each.words for each in dict.fromkeys(both)][:_OF_EACH_PART]
