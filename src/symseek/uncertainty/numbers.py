"""The numbers of formulas, and how sure the rows make them.

At the least squares the normal matrix N of the derivatives says how far each number may be from
the true one: with the variance of what is left, s**2 = squares/(rows - numbers), the covariance is
s**2 inv(N). A formula is printed in another way than its program has it, so that 3*(x + 2) may
read 3*x + 6: the derivatives by its printed numbers are sums of those by the program's, and the
same sums lead from the covariance of these to that of those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from symseek.algebra.neatness import fitted_places
from symseek.algebra.numbers import is_neat, neat_name
from symseek.arrays import Floats
from symseek.data import Data
from symseek.programs import Program
from symseek.uncertainty.bands import leverages
from symseek.uncertainty.normal import Inverse, Normal, normals
from symseek.uncertainty.profile import profiled
from symseek.uncertainty.record import LEVEL, Certainty, Constant

_EPS = float(np.finfo(np.float64).eps)
_OFF = 1.0  # standard errors from the least squares, beyond which those say nothing of a formula
_SPANNED = 1e-6  # of the squares of a derivative, which printed numbers leave out
_MOST_PROFILED = 10  # numbers of a formula
_ENOUGH = 10_000  # rows for the largest leverage


@dataclass(frozen=True)
class Judged:
    """What the rows say of the numbers of one formula."""

    constants: tuple[Constant, ...]  # of its program
    numbers: tuple[Constant, ...]  # as it is printed
    certainty: Certainty | None  # of the constants together; None where nothing is known
    printed: Certainty | None = None  # the same of the numbers


@np.errstate(all="ignore")  # what overflows is not known
def judged(
    programs: Sequence[Program],
    forms: Sequence[Program],
    data: Data,
    repeats: float = 1.0,
    threads: int = 1,
) -> list[Judged]:
    """What the rows say of the numbers of formulas that were fitted to them by least squares.

    Args:
        programs: the formulas, over one library.
        forms: each as it is printed, over the same library.
        data: the rows. Weights count as numbers of rows do, but for a factor.
        repeats: rows of the table for each of these, where equal ones were merged.
        threads: to compute with.

    >>> x = np.linspace(0.0, 1.0, 50)
    >>> noise = 0.1 * np.random.default_rng(0).normal(size=50)
    >>> data = Data(x[:, None], 3.0 * x + noise, np.ones(50))
    >>> program = Program.parse(f"{float(x @ data.y / (x @ x))}*x")
    >>> print(judged([program], [program], data)[0].numbers[0].shown)
    3.05(2)
    """
    # Of a formula that is printed otherwise: its own derivatives, and those of both together.
    printed = [
        [] if form == program else [form, Program.joined("add", [form, program])]
        for program, form in zip(programs, forms, strict=True)
    ]
    every = [*programs, *(each for pair in printed for each in pair)]
    known = iter(normals(every, data, threads))
    own = [next(known) for _ in programs]
    found = []
    for program, normal, pair in zip(programs, own, printed, strict=True):
        table = _Rows(data, repeats, threads)
        its = [next(known) for _ in pair]
        with np.errstate(all="ignore"):  # squares of huge numbers, which then have no errors
            found.append(_of_one(program, normal, pair, its, table))
    return found


@dataclass(frozen=True)
class _Rows:
    data: Data
    repeats: float
    threads: int

    @property
    def count(self) -> int:
        """Rows of the table."""
        return round(np.count_nonzero(self.data.weights > 0) * self.repeats)

    @property
    def floor(self) -> float:
        """The variance that arithmetic alone may leave."""
        return (4 * _EPS * float(np.abs(self.data.y).max(initial=0.0))) ** 2

    def noise(self, squares: float, numbers: int) -> float:
        """The variance of a row of weight 1: by its error of measurement, or by what is left."""
        if self.data.sigma is None:
            return self.variance(squares, numbers)
        return float(1 / np.mean(self.data.sigma**-2.0))

    def variance(self, squares: float, numbers: int) -> float:
        return float(max(squares * self.repeats / (self.count - numbers), self.floor))


def _of_one(
    program: Program,
    normal: Normal | None,
    printed: list[Program],
    its: list[Normal | None],
    rows: _Rows,
) -> Judged:
    form = printed[0] if printed else program
    unknown = Judged(_plain(program), _plain(form), None)
    free = fitted(program)
    spare = rows.count - len(free)
    if normal is None or spare <= 0:
        return unknown
    inverse = Inverse.at(program, rows.data, normal, free)
    if inverse is None:
        return unknown
    variance = rows.variance(normal.squares, len(free))
    pull = normal.gradient[list(free)]
    if float(pull @ inverse.matrix @ pull) > _OFF**2 * variance:
        return unknown  # it was fitted by something else
    covariance = inverse.matrix * (rows.noise(normal.squares, len(free)) / rows.repeats)
    if not np.isfinite(covariance).all():
        return unknown
    certainty = Certainty(free, covariance, variance, spare)
    here = leverages(program, certainty, rows.data.sampled(_ENOUGH, seed=0).X)
    largest = float(np.max(here, initial=0.0))
    certainty = replace(certainty, leverage=largest if math.isfinite(largest) else math.inf)
    constants = _constants(program, free, covariance, inverse, certainty)
    constants = _replaced(program, constants, normal, rows)
    if not printed:
        numbers = _profiled(program, constants, certainty, rows)
        return Judged(constants, numbers, certainty, certainty)
    found = _printed_numbers(form, program, certainty, its)
    if found is None or its[0] is None:
        return Judged(constants, _plain(form), certainty)
    numbers, together = found
    numbers = _replaced(form, numbers, its[0], rows)
    if sum(each.standard_error is not None for each in numbers) == len(free):
        numbers = _profiled(form, numbers, certainty, rows)
    return Judged(constants, numbers, certainty, together)


def fitted(program: Program) -> tuple[int, ...]:
    """The places of the constants that were fitted; a number alone is a mean, neat or not.

    >>> fitted(Program.parse("0.5*x + 1.2345678901234")), fitted(Program.parse("0.5"))
    ((1,), (0,))
    """
    if len(program) == 1:
        return tuple(range(len(program.constants)))
    return tuple(at for at, value in enumerate(program.constants) if not is_neat(value))


def _plain(program: Program) -> tuple[Constant, ...]:
    return tuple(map(Constant, program.constants))


def _constants(
    program: Program,
    free: Sequence[int],
    covariance: Floats,
    inverse: Inverse,
    certainty: Certainty,
) -> tuple[Constant, ...]:
    reach = certainty.quantile(LEVEL)
    constants = list(_plain(program))
    for at, place in enumerate(free):
        value = program.constants[place]
        if not inverse.determined[at]:
            constants[place] = Constant(value, determined=False)
            continue
        error = math.sqrt(max(float(covariance[at, at]), 0.0))
        low, high = value - reach * error, value + reach * error
        constants[place] = Constant(value, error, low=low, high=high)
    return tuple(constants)


def _replaced(
    program: Program, constants: tuple[Constant, ...], normal: Normal, rows: _Rows
) -> tuple[Constant, ...]:
    """The constants, neat ones with what least squares has in their place."""
    own = fitted(program)
    places = sorted({*own, *fitted_places(program)})
    neat = [each for each in places if each not in own]
    spare = rows.count - len(places)
    if not neat or spare <= 0:
        return constants
    inverse = Inverse.of(normal.matrix[np.ix_(places, places)])
    if inverse is None:
        return constants
    pull = normal.gradient[places]
    step = inverse.matrix @ pull
    values = np.array(program.constants)
    values[places] += step
    free = replace(program, constants=tuple(values.tolist()))
    (there,) = normals([free], rows.data, rows.threads)
    # Where the formula bends, a step to the least squares of its tangent leads elsewhere.
    if there is None or there.squares > normal.squares:
        return constants
    variance = rows.noise(there.squares, len(places)) / rows.repeats
    found = list(constants)
    for place in neat:
        at = places.index(place)
        error = math.sqrt(max(variance * float(inverse.matrix[at, at]), 0.0))
        value, free_value = program.constants[place], float(values[place])
        name = neat_name(value)
        found[place] = Constant(value, name=name, fitted=free_value, fitted_error=error)
    return tuple(found)


def _printed_numbers(
    form: Program, program: Program, certainty: Certainty, its: list[Normal | None]
) -> tuple[tuple[Constant, ...], Certainty] | None:
    """The numbers of a formula as it is printed; None where they do not follow from its own."""
    both = its[1]
    if both is None:
        return None
    first = len(form.constants)
    own = [first + each for each in certainty.free]
    some, every = fitted(form), tuple(range(first))
    for free in dict.fromkeys([some, every]):
        inverse = Inverse.of(both.matrix[np.ix_(free, free)]) if free else None
        if inverse is None:
            continue
        across = both.matrix[np.ix_(free, own)]
        share = inverse.matrix @ across  # how the printed numbers move with the others
        whole = np.diag(both.matrix)[own]
        left = whole - np.einsum("ij,ij->j", across, share)
        if (left <= _SPANNED * whole).all():
            covariance = share @ certainty.covariance @ share.T
            known = np.abs(share).max(axis=1, initial=0.0) > 0
            numbers = _constants(form, free, covariance, inverse, certainty)
            kept = {place for at, place in enumerate(free) if known[at] and place in some}
            numbers = tuple(
                each if place in kept else Constant(each.value)
                for place, each in enumerate(numbers)
            )
            return numbers, replace(certainty, free=free, covariance=covariance)
    return None


def _profiled(
    program: Program, constants: tuple[Constant, ...], certainty: Certainty, rows: _Rows
) -> tuple[Constant, ...]:
    """The constants with intervals by the profile of the squares, where those are no parabola."""
    places = tuple(at for at, each in enumerate(constants) if each.standard_error is not None)
    if not 0 < len(places) <= _MOST_PROFILED:
        return constants
    errors = np.array([constants[at].standard_error or 0.0 for at in places])
    reach = certainty.quantile(LEVEL)
    noise = certainty.variance if rows.data.sigma is None else rows.noise(0.0, 0)
    allowed = reach**2 * noise / rows.repeats
    ends = profiled(program, rows.data, places, reach * errors, allowed, rows.threads)
    found = list(constants)
    for place, (low, high) in ends.items():
        found[place] = replace(found[place], low=low, high=high)
    return tuple(found)
