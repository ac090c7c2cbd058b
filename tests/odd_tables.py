"""Odd tables: what people have and linear algebra dislikes, drawn by number.

Rounded and repeated rows, collinear, constant, binary and whole-number columns, one zero among many
numbers, magnitudes from subnormal to 1e150, mixed ones, huge offsets, and hardly any rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from symseek import Library
from symseek.arrays import Floats
from symseek.data import Data, Scales
from symseek.errors import InputError
from symseek.regression.regression import Regression
from symseek.settings import Settings
from symseek.structure.candidates import exact_candidates, near_candidates
from symseek.structure.cycles import cyclic_programs
from symseek.structure.symmetries import reducing_transform
from symseek.structure.transform import Transform

OPERATORS = ["add", "sub", "mul", "div", "sqrt", "exp", "log", "sin", "cos", "const"]
_ROWS = (3, 4, 5, 7, 12, 20, 50, 60, 100, 120, 150, 150, 200, 300)
_MANY, _MANY_EVERY = 100_000, 500  # rows, and in which tables: the last of so many
_LARGEST = 1e150
_CHECKS, _NEAR_CHECKS = 20, 8  # transforms and families looked at in a table, which bounds the work


class EnoughLookedAtError(Exception):
    """Raised by `check` after so many calls."""


def _column(draw: np.random.Generator, rows: int, others: list[Floats]) -> Floats:
    """One column of a kind drawn at random."""
    low = draw.choice([-2.0, 0.0, 0.5, 1.0, 30.0])
    plain = low + draw.uniform(0, draw.choice([1.0, 3.0, 90.0]), rows)
    return KINDS[draw.integers(len(KINDS))](draw, plain, others)


def _one_zero(draw: np.random.Generator, plain: Floats, _: list[Floats]) -> Floats:
    values = np.abs(plain) + 0.5
    values[draw.integers(len(values))] = 0.0
    return values


def _collinear(draw: np.random.Generator, plain: Floats, others: list[Floats]) -> Floats:
    if not others:
        return plain
    return others[-1] * draw.choice([1.0, -2.0, 1e-8, 1e100]) + draw.choice([0.0, 3.0])


Kind = Callable[[np.random.Generator, Floats, list[Floats]], Floats]
KINDS: tuple[Kind, ...] = (
    lambda _, plain, __: plain,
    lambda draw, plain, _: plain.round(int(draw.integers(0, 5))),
    lambda _, plain, __: np.full(len(plain), plain[0]),
    lambda _, plain, __: np.zeros(len(plain)),
    lambda draw, plain, _: draw.integers(0, 2, len(plain)).astype(np.float64),
    lambda draw, plain, _: draw.integers(-3, 9, len(plain)).astype(np.float64),
    lambda _, plain, __: np.arange(len(plain), dtype=np.float64),
    _one_zero,
    _collinear,
    lambda draw, plain, _: plain * 10.0 ** draw.uniform(-300, 150),
    lambda draw, plain, _: plain * 10.0 ** draw.choice([-300.0, -150.0, 120.0, 140.0, 148.0]),
    lambda _, plain, __: plain * 5e-324 / max(np.abs(plain).max(), 1e-3) * 40,
    lambda draw, plain, _: plain + 10.0 ** draw.uniform(3, 16),
    lambda draw, plain, _: np.sign(plain) * 10.0 ** draw.uniform(-280, 140, len(plain)),
    lambda draw, plain, _: np.abs(plain) ** draw.choice([-40, -8, 8, 40]),
    lambda draw, plain, _: np.where(draw.random(len(plain)) < 0.02, 1e30, plain),
)


def _target(draw: np.random.Generator, X: Floats) -> Floats:
    """A law of the columns, or none, with or without noise, in any unit."""
    first, last = X[:, 0], X[:, -1]
    laws: tuple[Callable[[], Floats], ...] = (
        lambda: np.sqrt(np.abs(first)),
        lambda: first * last,
        lambda: first / last,
        lambda: first - last,
        lambda: np.exp(-(first**2)),
        lambda: np.sin(3 * first) + last,
        lambda: 1 / (1 + first**2),
        lambda: X.sum(axis=1),
        lambda: draw.normal(size=len(X)),
        lambda: draw.integers(0, 2, len(X)).astype(np.float64),
        lambda: np.log(np.abs(first)),
        lambda: np.hypot(first, last),
    )
    y = laws[draw.integers(len(laws))]()
    y = y * (1 + draw.choice([0.0, 0.0, 0.01, 0.1]) * draw.normal(size=len(X)))
    if draw.random() < 0.2:
        y = y * 10.0 ** draw.choice([-148.0, -100.0, 100.0, 148.0])
    if draw.random() < 0.2:
        y = y + 10.0 ** draw.uniform(3, 14)
    return y.round(int(draw.integers(1, 5))) if draw.random() < 0.2 else y


def odd_table(number: int) -> Data:
    """The table of this number, as a fit has it; half of them in the units they were drawn in."""
    draw = np.random.default_rng([number, 27])
    with np.errstate(all="ignore"):
        while True:
            rows = int(draw.choice(_ROWS)) if (number + 1) % _MANY_EVERY else _MANY
            columns: list[Floats] = []
            for _ in range(int(draw.choice([1, 1, 2, 2, 3, 4]))):
                columns.append(_column(draw, rows, columns))
            if rows == _MANY:
                columns.append(_one_zero(draw, draw.uniform(1, 3, rows), columns))
            X = np.nan_to_num(np.column_stack(columns), posinf=1.0, neginf=-1.0)
            X = np.clip(X, -_LARGEST, _LARGEST)
            data = _usable(draw, X, np.clip(_target(draw, X), -_LARGEST, _LARGEST))
            if data is not None:
                return data.scaled(Scales.of(data.X, data.y)) if number % 2 else data


def _usable(draw: np.random.Generator, X: Floats, y: Floats) -> Data | None:
    """The rows, some of them there several times or weighted; None where a fit refuses them."""
    if not np.isfinite(y).all():
        return None
    weights = draw.choice([0.1, 1.0, 1e6], len(y)) if draw.random() < 0.1 else None
    if draw.random() < 0.2:
        again = draw.integers(0, len(y), len(y))
        X, y = X[again], y[again]
    try:
        data = Data.checked(X, y, [f"x{at}" for at in range(X.shape[1])], weights)
        data = data.merged() if draw.random() < 0.7 and len(y) < 1_000 else data
        data.refuse_few_rows()
        data.refuse_extreme_target()
        data.refuse_constant_target("it")
    except InputError:
        return None
    return data


@dataclass
class Faults:
    """How many tables each part of structure was asked about, and what it raised."""

    asked: Counter[str] = field(default_factory=Counter)
    raised: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # table, error

    @property
    def count(self) -> int:
        """Tables with any fault."""
        return len({number for found in self.raised.values() for number, _ in found})

    def ask(self, part: str, number: int, function: Callable[[], object]) -> object:
        """The answer of a part of structure; None if it raises, which is noted."""
        self.asked[part] += 1
        try:
            return function()
        except (EnoughLookedAtError, InputError):
            return None
        except Exception as error:
            self.raised.setdefault(part, []).append((number, f"{type(error).__name__}: {error}"))
            return None


def _limited(most: int = _CHECKS) -> Callable[[], None]:
    left = [most]

    def check() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise EnoughLookedAtError

    return check


def look_for_structure(number: int, faults: Faults) -> None:
    """Ask every part of structure, with nothing around it, about one odd table."""
    data = odd_table(number)
    names = tuple(f"x{at}" for at in range(data.X.shape[1]))
    library = Library(OPERATORS, list(names))
    transform = faults.ask(
        "reducing_transform",
        number,
        lambda: reducing_transform(data, names, set(OPERATORS), _limited()),
    )
    seen, small = data, library
    if isinstance(transform, Transform):
        seen = faults.ask("transform", number, lambda: transform.data(data)) or data  # type: ignore[assignment]
        if not transform.columns:
            return
        small = Library(OPERATORS, [f"z{at}" for at in range(len(transform.columns))])
        if seen is data:
            return
    faults.ask("exact", number, lambda: exact_candidates(seen, small, _limited()))
    if len(data.y) < _MANY:  # which take a minute
        faults.ask("near", number, lambda: near_candidates(seen, small, _limited(_NEAR_CHECKS)))
    faults.ask("cycles", number, lambda: cyclic_programs(library, data))


def fit_and_tell(number: int, faults: Faults) -> None:
    """A small fit of one odd table, with its model and its sentence; no faults are caught in it."""
    data = odd_table(number)
    names = [f"x{at}" for at in range(data.X.shape[1])]

    def fit() -> None:
        settings = Settings(max_expressions=300, sample_rows=500)
        found = Regression(data.X, data.y, names, settings, weights=data.weights)
        found.run()
        found.model()
        assert found.structure is None or found.structure.startswith("as far as")

    faults.ask("fit", number, fit)
