"""Normal matrices of formulas on some rows: how the sum of squares changes with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from symseek.arrays import Floats
from symseek.data import Data
from symseek.engines.derivatives import derivatives
from symseek.errors import InputError
from symseek.programs import Program, Programs
from symseek.tokens import Library, TokenKind
from symseek.uncertainty.slopes import slopes

_LARGE = 10_000  # rows, with more of which programs are looked at one by one, over few columns
_ILL = 1e-9  # of the largest eigenvalue: below it derivatives count themselves, not their squares
_SINGULAR = 1e-8  # of the largest singular value: below it numbers make up for one another
_PART = 1e-3  # of a direction that nothing is known of, for a number not to be known


@dataclass(frozen=True)
class Normal:
    """The sum of squares at the constants of a program, and around them."""

    squares: float  # the weighted sum
    gradient: Floats  # [K] minus half its derivatives
    matrix: Floats  # [K, K] half its second derivatives, where residuals are small


def normals(programs: Sequence[Program], data: Data, threads: int = 1) -> list[Normal | None]:
    """The normal matrix of each program by all of its constants; None where it is undefined.

    All programs are over one library, which no numbers of groups' own are taken of.

    >>> x = np.array([1.0, 2.0])
    >>> data = Data(x[:, None], 3.0 * x, np.ones(2))
    >>> (found,) = normals([Program.parse("2.0*x")], data)
    >>> found.squares, found.gradient.tolist(), found.matrix.tolist()
    (5.0, [5.0], [[5.0]])
    """
    found: list[Normal | None] = []
    for batch in [programs] if len(data.y) <= _LARGE else [[each] for each in programs]:
        found += _of_batch(*_over_columns(batch, data), data, threads)
    return found


def _of_batch(
    programs: Sequence[Program], X: Floats, data: Data, threads: int
) -> list[Normal | None]:
    if not programs:
        return []
    batch = Programs.from_list(list(programs))
    try:
        here = derivatives(batch, X, data.y, data.weights, threads)
    except InputError:  # an operator that the core cannot have
        return [None] * len(programs)
    found: list[Normal | None] = []
    for at, program in enumerate(programs):
        count = len(program.constants)
        matrix, gradient = here.normal[at, :count, :count], here.gradient[at, :count]
        whole = here.ok[at] and np.isfinite(matrix).all() and np.isfinite(gradient).all()
        found.append(Normal(float(here.loss[at]), gradient, matrix) if whole else None)
    return found


def _over_columns(programs: Sequence[Program], data: Data) -> tuple[Sequence[Program], Floats]:
    """The programs over the columns of a large table that they name, and those [N, k]."""
    if len(data.y) <= _LARGE:
        return programs, data.X
    library = programs[0].library
    if library.grouping or any(library.tokens[each].columns for p in programs for each in p.tokens):
        return programs, data.X
    ids = library.variable_ids
    named = [each for each in ids if any(each in program.tokens for program in programs)]
    named = named or list(ids[:1])  # a library needs a variable
    tokens = [each for each in library if each.kind is not TokenKind.VARIABLE]
    smaller = Library(tokens, [library.names[each] for each in named])
    X = np.empty((len(named), len(data.y)))
    for column, each in zip(X, named, strict=True):
        column[:] = data.X[:, ids.index(each)]
    return [each.over(smaller) for each in programs], X.T


@dataclass(frozen=True)
class Inverse:
    """The inverse of a normal matrix, as far as it has one."""

    matrix: Floats  # [k, k]
    determined: NDArray[np.bool_]  # [k], whether the rows say anything of a number

    @classmethod
    def of(cls, matrix: Floats) -> Inverse | None:
        """Of a normal matrix; None where it is so near to singular that its squares are too coarse.

        >>> Inverse.of(np.diag([4.0, 0.25])).matrix.diagonal().tolist()
        [0.25, 4.0]
        """
        sizes = np.sqrt(np.diag(matrix))
        if not (np.isfinite(matrix).all() and sizes.all()):
            return None
        try:
            values, vectors = np.linalg.eigh(matrix / np.outer(sizes, sizes))
        except np.linalg.LinAlgError:
            return None
        if not values[0] > _ILL * values[-1]:
            return None
        inverse = (vectors / values) @ vectors.T / np.outer(sizes, sizes)
        return cls(inverse, np.ones(len(sizes), dtype=bool))

    @classmethod
    def of_slopes(cls, weighted: Floats) -> Inverse | None:
        """Of derivatives [N, k] times the roots of the weights; None where some are not finite.

        >>> x = np.array([1.0, 2.0, 3.0])
        >>> Inverse.of_slopes(np.column_stack([x, 2 * x, x**2])).determined
        array([False, False,  True])
        """
        sizes = np.sqrt((weighted**2).sum(axis=0))
        if not np.isfinite(sizes).all():
            return None
        sizes = np.where(sizes > 0, sizes, 1.0)
        try:
            _, values, vectors = np.linalg.svd(weighted / sizes, full_matrices=False)
        except np.linalg.LinAlgError:
            return None
        known = values > _SINGULAR * values.max(initial=0.0)
        blind = np.eye(len(sizes)) - vectors[known].T @ vectors[known]
        determined = np.sqrt(np.abs(np.diag(blind))) < _PART
        half = vectors[known].T / values[known]
        return cls(half @ half.T / np.outer(sizes, sizes), determined)

    @classmethod
    def at(
        cls, program: Program, data: Data, normal: Normal, free: Sequence[int]
    ) -> Inverse | None:
        """Of the normal matrix by some constants; by differences where that is too coarse."""
        free = list(free)
        if not free:
            return cls(np.empty((0, 0)), np.empty(0, dtype=bool))
        found = cls.of(normal.matrix[np.ix_(free, free)])
        if found is not None:
            return found
        some = data.sampled(_LARGE, seed=0)
        found = cls.of_slopes(slopes(program, some.X, free) * np.sqrt(some.weights)[:, None])
        if found is None or some is data:
            return found
        return replace(found, matrix=found.matrix * (len(some.y) / len(data.y)))
