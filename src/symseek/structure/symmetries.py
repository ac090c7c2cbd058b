"""Symmetries of the data: which combinations of columns the target depends on.

If stretching some columns together stretches y, as in y(k*v, k*c) = y(v, c), one column can go: y
depends on v/c. This is dimensional analysis with no units given: the slopes of a surrogate show the
exponents. In the same way y may depend only on a sum or difference of two columns, or of their
squares or reciprocals, or not on a column at all. Each step is judged on rows that were left out:
the fewer columns must predict them as well as the more did. Where units are given, only what has
the same unit is added, and in the end no column has any (`dimensional`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.data import Data
from symseek.structure.dimensional import TableUnits, freeing
from symseek.structure.screening import screened
from symseek.structure.solving import eigen, lengths, mean, power_of_two, solved
from symseek.structure.surrogate import Surrogate, left_out
from symseek.structure.transform import ONE, ColumnSum, DerivedColumn, Transform, product

_FEWEST_ROWS = 100
_FEW_ROWS, _MANY_ROWS = 2_000, 5_000  # looked at first, and where those do not tell enough
_FEW_TERMS, _MANY_TERMS = 450, 600  # of the surrogates on so many rows
_GOOD = 1e-3  # of the spread: the error of a surrogate on few rows that tells enough
_LEAST_CLOSE, _MOST_CLOSE = 0.1, 0.7  # by which the slopes may fail a symmetry, relatively
_SLOPES = 6.0  # times the error of a surrogate: that of its slopes, about
_LARGEST = 6  # exponent
_INDEPENDENT = 1e-9  # the volume that stretches span, of the product of their lengths
_SUBSETS = 300  # of columns to eliminate that are looked at
_SUMS, _STRETCHES, _IDLE = 3, 5, 2  # tried in each round, the likeliest first
_WIDE = 9  # columns beyond which they are screened, and then go several at a time
_SKETCHED, _TRIED_AGAIN = 120, 2  # terms of a sketch by which columns are chosen, and how many
_ROUNDINGS = 2  # of each group of stretches
_WORSE = 2.5  # standard errors by which fewer columns may seem to predict worse
_POWERS = (1, 2, -1)  # of columns whose sums are looked for
_PERFECT = 1e-6  # of the spread: no wrong symmetry explains the target so well
_CLEAR = 0.3  # of the error before: nor does one make it so much smaller
_MISSED = 0.7  # of the error: what a column that is needed leaves of it
_CORRECTIONS, _SHOWN = 3, 20  # looks for a transform defined on all rows, and rows shown each time
_ODD = 0.02  # part by which something odd must predict better than something plain
_EACH = 0.5  # what one column fewer is worth, in powers of ten of the slopes' failure


@dataclass(frozen=True)
class _Known:
    """A transform with its surrogate."""

    transform: Transform
    columns: Floats  # [N, m]
    factor: Floats  # [N]
    surrogate: Surrogate
    error: float  # of the surrogate, as a part of the spread of y

    @property
    def close(self) -> float:
        """By how much slopes may fail a symmetry that is there."""
        return min(max(_SLOPES * self.error, _LEAST_CLOSE), _MOST_CLOSE)


@dataclass(frozen=True)
class _Step:
    """A transform with fewer columns, and how well the slopes agree with it."""

    gap: float  # relative
    fewer: int  # columns
    odd: int  # exponents that are no whole numbers, and powers of what is summed
    transform: Transform

    @property
    def rank(self) -> float:
        """The likeliest is the lowest."""
        return float(np.log10(max(self.gap, 1e-6))) + _EACH * (self.odd - self.fewer)


@dataclass(frozen=True)
class _Rows:
    """The rows that transforms are judged on, and what they may be made of."""

    data: Data
    terms: int  # of a surrogate
    roots: bool
    sums: bool
    check: Callable[[], None]
    units: TableUnits | None = None

    def known(self, transform: Transform) -> _Known | None:
        self.check()
        return _known(transform, self.data, self.terms)


def reducing_transform(
    data: Data,
    variables: tuple[str, ...],
    operators: set[str],
    check: Callable[[], None] = lambda: None,
    units: TableUnits | None = None,
) -> Transform | None:
    """The transform with the fewest columns that explains y as well; None if all are needed.

    With units, its columns have none in the end. `check` is called now and then, and may raise an
    error to end this.

    >>> draw = np.random.default_rng(0)
    >>> X = draw.uniform(1, 3, (400, 3))
    >>> y = X[:, 0] / np.sqrt(1 + (X[:, 1] / X[:, 2]) ** 2)
    >>> transform = reducing_transform(Data(X, y, np.ones(400)), ("m", "v", "c"), {"mul", "div"})
    >>> print(transform)
    y/m depends on c/v only
    """
    if len(data.y) < _FEWEST_ROWS or len(variables) < 2 or not {"mul", "div"} <= operators:
        return None
    roots, sums = "sqrt" in operators, {"add", "sub"} <= operators
    found = None
    with np.errstate(all="ignore"):  # what overflows shows in its values
        for rows, terms in ((_FEW_ROWS, _FEW_TERMS), (_MANY_ROWS, _MANY_TERMS)):
            given = _Rows(data.sampled(rows, 0), terms, roots, sums, check, units)
            found = _defined_on_all(data, Transform.plain(variables), given)
            if found is None or found.error < _GOOD or rows >= len(data.y):
                break
    best = None if found is None else found.transform
    if best is None or (best.is_plain and len(best.columns) == len(variables)):
        return None
    return best


def _defined_on_all(data: Data, transform: Transform, rows: _Rows) -> _Known | None:
    """What a transform comes to that is defined on all rows, not only on those looked at.

    One zero among many rows forbids to divide by its column. Rows on which the transform turns out
    to be undefined are looked at as well, and it is looked for again.
    """
    for _ in range(_CORRECTIONS):
        known = _fewest_columns(transform, rows)
        if known is None:
            return None
        undefined = np.flatnonzero(~known.transform.defined(data))[:_SHOWN]
        if not len(undefined):
            return known
        pairs = ((getattr(rows.data, name), getattr(data, name)) for name in ("X", "y", "weights"))
        more = Data(*(np.concatenate([some, every[undefined]]) for some, every in pairs))
        rows = replace(rows, data=more)
    return None


def _fewest_columns(transform: Transform, rows: _Rows) -> _Known | None:
    """What a transform comes to by one step after another."""
    if len(transform.columns) > _WIDE:
        kept = screened(rows.data.X, rows.data.y, rows.data.weights, rows.check)
        transform = Transform(tuple(transform.columns[at] for at in kept), transform.factor)
        if not kept:
            return None
    known = rows.known(transform)
    if known is None or known.error > _MOST_CLOSE:  # fewer columns may tell more
        known = _freed(transform, rows) or known
    missed = list(transform.columns)
    if known is not None and known.error <= _MOST_CLOSE:
        known = _narrowed(known, rows)
    while known is not None and len(known.transform.columns):
        better = _best_step(known, rows)
        if better is None:
            # A column that hardly mattered beside the errors of many columns may matter now.
            better = _returned(known, missed, rows) or _freed(known.transform, rows)
            if better is None:
                break
            missed = [part for part in missed if part not in better.transform.columns]
        known = better
    return known


def _freed(transform: Transform, rows: _Rows) -> _Known | None:
    """The transform free of units, if they are given and it is not yet."""
    if rows.units is None:
        return None
    made = [rows.known(each) for each in _without_units(transform, rows, rows.units)]
    found = [each for each in made if each is not None]
    return min(found, key=lambda each: each.error, default=None)


def _without_units(transform: Transform, rows: _Rows, units: TableUnits) -> list[Transform]:
    """The transforms without units that follow from one by eliminating some of its columns."""
    columns, target = units.left(transform)
    if not columns or all(each.dimensionless for each in columns):
        return []
    values = [part.values(rows.data.X) for part in transform.columns]
    positive = [bool((each > 0).all()) for each in values]
    usable = [at for at, each in enumerate(values) if positive[at] or (each < 0).all()]
    rooted = [rows.roots and each for each in positive]
    found = freeing(columns, target, usable, rooted)
    made = [_stretched(transform, pivots, halves) for pivots, halves in found]
    return [each for each in made if each.columns or each.factor != ONE]


def _narrowed(known: _Known, rows: _Rows) -> _Known:
    """A transform without most of the idle columns, where there are many: half of them at a time.

    One by one they would take minutes. A column that is needed after all may return.
    """
    while len(known.transform.columns) > _WIDE:
        order = np.argsort(_changes(known), kind="stable")
        count = len(order) // 2
        while count:
            kept = tuple(known.transform.columns[at] for at in sorted(order[count:].tolist()))
            made = rows.known(Transform(kept, known.transform.factor))
            if made is not None and _as_good(made, known):
                known = made
                break
            count //= 2
        if not count:
            break
    return known


def _returned(known: _Known, missed: list[DerivedColumn], rows: _Rows) -> _Known | None:
    """The transform with one more of the table's columns, if that explains much of what is left."""
    if known.error < _GOOD:
        return None
    columns, factor = known.transform.columns, known.transform.factor
    more = [(*columns, part) for part in missed]
    new = [Transform(each, factor) for each in more if len(set(each)) == len(each)]
    if len(new) > _WIDE:
        new = _likeliest(new, replace(rows, terms=_SKETCHED))
    made = [rows.known(transform) for transform in new]
    better = [each for each in made if each is not None and each.error < _MISSED * known.error]
    return min(better, key=lambda each: each.error, default=None)


def _likeliest(transforms: list[Transform], rows: _Rows) -> list[Transform]:
    """The transforms that predict best by a sketch."""
    made = [each for transform in transforms if (each := rows.known(transform)) is not None]
    return [each.transform for each in sorted(made, key=lambda each: each.error)[:_TRIED_AGAIN]]


def _best_step(known: _Known, rows: _Rows) -> _Known | None:
    """The transform with fewer columns that predicts best, if any does as well as this one."""
    found: list[tuple[float, _Known]] = []
    kinds = [(_sums(known, rows.units), _SUMS, _as_good)] if rows.sums else []
    kinds += [
        (_of_units(known, rows), _STRETCHES, _as_good),
        (_stretches(known, rows.roots), _STRETCHES, _as_good),
        (_idle(known), _IDLE, _no_worse),
    ]
    for steps, most, allowed in kinds:
        for step in sorted(steps, key=lambda step: step.rank)[:most]:
            made = rows.known(step.transform)
            if made is not None and allowed(made, known):
                if made.error < max(_PERFECT, _CLEAR * known.error):
                    return made
                # Where noise hides which is better, the plainer one is likelier.
                found.append((made.error * (1 + _ODD * step.odd), made))
    return min(found, key=lambda each: each[0])[1] if found else None


def _known(transform: Transform, data: Data, terms: int) -> _Known | None:
    factor = transform.factor.values(data.X)
    columns = [part.values(data.X) for part in transform.columns]
    Z = np.column_stack(columns) if columns else np.empty((len(data.y), 0))
    if not np.isfinite(Z).all() or not np.isfinite(factor).all() or not factor.all():
        return None
    # Weighted by the factor, errors are in units of y in every transform.
    target, weights = data.y / factor, data.weights * factor**2
    if columns:
        surrogate = Surrogate.fitted(Z, target, weights, terms)
    else:
        surrogate = _constant(target, weights)
    if surrogate is None or not surrogate.usable:
        return None
    return _Known(transform, Z, factor, surrogate, surrogate.error / data.spread)


def _constant(target: Floats, weights: Floats) -> Surrogate | None:
    """The surrogate of no columns at all: a number."""
    number = mean(target, weights)
    if number is None:
        return None
    values = np.full(len(target), number)
    squares = (weights * (values - target) ** 2)[left_out(len(target))]
    return Surrogate(float(np.sqrt(squares.mean())), squares, values, np.empty((len(target), 0)))


def _no_worse(new: _Known, old: _Known) -> bool:
    """Whether rows left out are predicted no worse than before, as without a column of no use."""
    return new.error <= max(old.error, _PERFECT)


def _as_good(new: _Known, old: _Known) -> bool:
    """Whether rows left out are predicted as well as before, as far as noise lets it be seen."""
    if _no_worse(new, old):
        return True
    worse = new.surrogate.squares - old.surrogate.squares
    deviation = float(worse.std()) / np.sqrt(len(worse))
    return new.error < 1.1 * old.error and float(worse.mean()) < _WORSE * deviation


# --- y depends on a sum or difference


def _sums(known: _Known, units: TableUnits | None = None) -> Iterator[_Step]:
    """Transforms in which two columns have become a sum of like powers."""
    Z = known.columns
    unlike = set()
    if units is not None:
        has, _ = units.left(known.transform)
        unlike = {pair for pair in combinations(range(len(has)), 2) if has[pair[0]] != has[pair[1]]}
    slopes = known.surrogate.slopes * known.factor[:, None]
    for power in _POWERS:
        if power < 0 and not (np.abs(Z) > 0).all():
            continue
        # Along p(z) = z**power the slope of y is dy/dz / p'(z).
        along = slopes / (power * Z ** (power - 1))
        for i, j in combinations(range(Z.shape[1]), 2):
            for sign in (1, -1) if (i, j) not in unlike else ():
                gap = _norm(along[:, i] - sign * along[:, j])
                size = np.hypot(_norm(along[:, i]), _norm(along[:, j]))
                if gap < known.close * size:
                    yield _Step(
                        gap / size, 1, int(power != 1), _summed(known.transform, i, j, sign, power)
                    )


def _norm(values: Floats) -> float:
    """The root mean square without the largest, at which a surrogate is least to be trusted."""
    squares = np.sort(values**2)
    return float(np.sqrt(squares[: max(1, int(0.9 * len(squares)))].mean()))


def _summed(transform: Transform, i: int, j: int, sign: int, power: int) -> Transform:
    first, second = (product((transform.columns[at], Fraction(power))) for at in (i, j))
    rest = [part for at, part in enumerate(transform.columns) if at not in (i, j)]
    return Transform((*rest, ColumnSum(first, second, sign)), transform.factor)


# --- y does not depend on a column


def _idle(known: _Known) -> Iterator[_Step]:
    """Transforms without a column along which y hardly changes; of a plain target one stays."""
    columns, factor = known.transform.columns, known.transform.factor
    # A surrogate that explains little of y does not tell what y depends on.
    if known.error > _MOST_CLOSE or (len(columns) == 1 and factor == ONE):
        return
    for at, gap in enumerate(_changes(known)):
        if gap < known.close:
            rest = tuple(part for other, part in enumerate(columns) if other != at)
            yield _Step(gap, 1, 0, Transform(rest, factor))


def _changes(known: _Known) -> list[float]:
    """How much y changes along each column, as a part of its spread."""
    values, slopes = known.surrogate.values * known.factor, known.surrogate.slopes
    changes = slopes * known.columns.std(axis=0) * known.factor[:, None]
    return [_norm(change) / max(float(values.std()), 1e-300) for change in changes.T]


# --- y is stretched with its columns


def _of_units(known: _Known, rows: _Rows) -> Iterator[_Step]:
    """Transforms that have no units, which no slopes need to show."""
    if rows.units is not None:
        for made in _without_units(known.transform, rows, rows.units):
            fewer = len(known.transform.columns) - len(made.columns)
            yield _Step(0.0, fewer, 0, made)


def _stretches(known: _Known, roots: bool) -> Iterator[_Step]:
    """Transforms in which columns were used to make others, and y, free of units."""
    Z, found = known.columns, known.surrogate
    moved = np.column_stack([Z * found.slopes, -found.values]) * known.factor[:, None]
    size = np.abs(moved).max(axis=1)
    if not np.isfinite(size).all():
        return
    moved = moved[size <= np.quantile(size, 0.9)]  # a surrogate is worst where it is steepest
    moved = moved / power_of_two(np.abs(moved).max())  # gaps are ratios, which no unit changes
    gram = moved.T @ moved / len(moved)
    sizes = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    positive = Z.min(axis=0) > 0
    usable = np.flatnonzero(positive | (Z.max(axis=0) < 0)).tolist()
    system = eigen(gram / np.outer(sizes, sizes))
    if system is None:
        return
    values, vectors = system
    small = int((np.sqrt(np.maximum(values, 0.0)) < known.close).sum())
    groups = [[*_few(gram, usable, positive, roots)]]
    for dimension in range(1, min(small, len(usable)) + 1):
        basis = (vectors[:, :dimension] / sizes[:, None]).T  # [k, m + 1]
        groups.append(_rounded(basis, usable, positive, roots))
    for pivots, halves in (each for group in groups for each in group):
        squares = np.einsum("ki,ij,kj->k", halves, gram, halves)
        gaps = np.sqrt(np.maximum(squares, 0.0)) / lengths(halves * sizes, axis=1)
        if gaps.max() < known.close:
            transform = _stretched(known.transform, pivots, halves)
            if not transform.columns and transform.factor == ONE:  # y varies
                continue
            yield _Step(float(gaps.max()), len(pivots), int((halves % 2 != 0).sum()), transform)


def _few(
    gram: Floats, usable: list[int], positive: NDArray[np.bool_], roots: bool
) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Stretches of one or two columns, y following with the power that suits best."""
    last = len(gram) - 1
    for at in usable:
        own = np.zeros(last + 1)
        own[at] = 2.0
        others = [other for other in range(last) if other != at]
        for other, half in [(at, 2), *((other, h) for other in others for h in (-2, 2))]:
            vector = own.copy()
            vector[other] = half
            # The part of y that makes the gap smallest, to the next half.
            vector[last] = np.rint(-(vector @ gram[:, last]) / max(gram[last, last], 1e-300))
            whole = vector[last] % 2 == 0
            if abs(vector[last]) <= 2 * _LARGEST and (whole or (roots and positive[at])):
                yield (at,), vector[None].astype(np.int64)


def _rounded(
    basis: Floats, usable: list[int], positive: NDArray[np.bool_], roots: bool
) -> list[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Columns to eliminate, and the exponents, in halves, that free the others and y of them.

    Of all sets of columns, those whose exponents are nearest to halves and small.
    """
    found: list[tuple[float, tuple[int, ...], NDArray[np.int64]]] = []
    for pivots in islice(combinations(usable, len(basis)), _SUBSETS):
        powers = solved(basis[:, pivots], basis, _INDEPENDENT)
        if powers is None:
            continue
        exponents = 2 * powers  # in halves
        if not np.abs(exponents).max() <= 2 * _LARGEST:
            continue
        halves = np.rint(exponents).astype(np.int64)
        rooted = (halves % 2 != 0).any(axis=1)
        if rooted.any() and not (roots and positive[list(pivots)][rooted].all()):
            halves = 2 * np.rint(exponents / 2).astype(np.int64)
        cost = float(np.abs(halves).sum() + 2 * (halves % 2 != 0).sum())
        cost += 20 * float(np.abs(exponents - halves).max())
        found.append((cost, pivots, halves))
    found.sort(key=lambda each: each[0])
    return [(pivots, halves) for _, pivots, halves in found[:_ROUNDINGS]]


def _stretched(
    transform: Transform, pivots: tuple[int, ...], halves: NDArray[np.int64]
) -> Transform:
    units = [transform.columns[at] for at in pivots]

    def freed(at: int) -> list[tuple[DerivedColumn, Fraction]]:
        pairs = zip(units, halves[:, at].tolist(), strict=True)
        return [(unit, Fraction(-half, 2)) for unit, half in pairs if half]

    columns = tuple(
        product((part, Fraction(1)), *freed(at))
        for at, part in enumerate(transform.columns)
        if at not in pivots
    )
    last = len(transform.columns)
    factor = [(part, -power) for part, power in freed(last)]
    return Transform(columns, product((transform.factor, Fraction(1)), *factor))
