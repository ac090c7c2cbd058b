"""What a formula is on the rows of the data: its values, and what float64 arithmetic makes of them.

Two ways to write a formula differ in the last digits, and in more of them where large terms cancel.
Here every operation has an error of a unit in the last place, a sum one of its largest term, and
the errors of arguments go through the function. Within a few times that, values are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from symseek.algebra.normal_form import Base, Group, Product, Sum, Variable
from symseek.arrays import Floats
from symseek.programs import Program
from symseek.tokens import Library, Token

Measured: TypeAlias = "tuple[Floats, Floats]"  # values and errors [N]

_EPSILON = float(np.finfo(np.float64).eps)
_FEW = 8  # errors that two ways to write a formula may differ by
_NOISE = 1e-6  # of the largest value: what differs by more, as sin(1e20*x) may, is left alone
_SUMS = frozenset({"add", "sub"})


def measured(program: Program, X: Floats) -> Measured:
    """The values [N] of a program on rows [N, n], and bounds of their rounding errors.

    >>> values, errors = measured(Program.parse("1e6 + x - 1e6"), np.array([[1.0]]))
    >>> print(values, errors < 1e-9, errors > 1e-11)
    [1.] [ True] [ True]
    """

    exact = np.zeros(len(X))

    def operator(token: Token, arguments: list[Measured]) -> Measured:
        if token.numpy is None:
            program.apply(*X.T)  # says so
        return _through(token.numpy, arguments, token.name in _SUMS)

    with np.errstate(all="ignore"):
        return program.worked(
            lambda at: (X[:, at], exact), lambda value: (np.full(len(X), value), exact), operator
        )


def agree(expected: Measured, found: Floats) -> bool:
    """Whether values are the same wherever the first are defined, but for rounding."""
    values, errors = expected
    known = np.isfinite(values)
    with np.errstate(all="ignore"):
        most = _NOISE * np.abs(values[known]).max(initial=0.0)
        off = np.abs(found - values)[known]
        return bool((off <= np.minimum(_FEW * errors[known], most)).all())


def _through(function: Any, arguments: Sequence[Measured], is_sum: bool) -> Measured:
    """A function of numbers with errors: it is tried at both ends of each."""
    numbers = [each for each, _ in arguments]
    values = np.asarray(function(*numbers), dtype=np.float64)
    size = sum((np.abs(each) for each in numbers), np.zeros(1)) if is_sum else np.abs(values)
    errors = _EPSILON * size
    for place, (number, error) in enumerate(arguments):
        if is_sum:
            errors = errors + error
        elif error.any():
            ends = [
                np.abs(function(*numbers[:place], end, *numbers[place + 1 :]) - values)
                for end in (number - error, number + error)
            ]
            # At the edge of a domain one end has no value.
            errors = errors + np.fmax(*ends)
    return values, np.where(np.isnan(errors), np.inf, errors)


class EvaluatedForms:
    """Normal forms on rows; each is worked out once."""

    def __init__(self, library: Library, X: Floats) -> None:
        self.library = library
        self.X = X
        self._columns = {name: X[:, i] for i, name in enumerate(library.variables)}
        self._values: dict[object, Floats] = {}
        self._errors: dict[object, Floats] = {}

    def sign(self, base: Base) -> int:
        """1 where no value is negative, -1 where none is positive, 0 otherwise."""
        values = self.values(base)
        return 1 if (values >= 0).all() else -1 if (values <= 0).all() else 0

    def values(self, form: Sum | Product | Base) -> Floats:
        found = self._values.get(form)
        if found is None:
            with np.errstate(all="ignore"):
                found = self._values[form] = self._worked_out(form)
        return found

    def _worked_out(self, form: Sum | Product | Base) -> Floats:
        if isinstance(form, Sum):
            total = np.full(len(self.X), form.offset)
            for coefficient, product in form.terms:
                total = total + coefficient * self.values(product)
            return total
        if isinstance(form, tuple):
            total = np.ones(len(self.X))
            for base, exponent in form:
                total = total * _power(exponent)(self.values(base))
            return total
        if isinstance(form, Variable):
            return self._columns[form.name]
        if isinstance(form, Group):
            return self.values(form.inside)
        function = self.library[form.name].numpy
        assert function is not None
        return np.asarray(function(*map(self.values, form.arguments)), dtype=np.float64)

    def errors(self, form: Sum | Product | Base) -> Floats:
        """Bounds of the rounding errors of the values."""
        found = self._errors.get(form)
        if found is None:
            with np.errstate(all="ignore"):
                found = self._errors[form] = self._worked_out_errors(form)
        return found

    def _worked_out_errors(self, form: Sum | Product | Base) -> Floats:
        if isinstance(form, Sum):
            total = np.full(len(self.X), _EPSILON * abs(form.offset))
            for coefficient, product in form.terms:
                error = self.errors(product) + _EPSILON * np.abs(self.values(product))
                total = total + abs(coefficient) * error
            return total
        if isinstance(form, tuple):
            parts = [
                _through(_power(exponent), [(self.values(base), self.errors(base))], False)
                for base, exponent in form
            ]
            while len(parts) > 1:
                parts[:2] = [_through(np.multiply, parts[:2], False)]
            return parts[0][1]
        if isinstance(form, Variable):
            return np.zeros(len(self.X))
        if isinstance(form, Group):
            return self.errors(form.inside)
        arguments = [(self.values(each), self.errors(each)) for each in form.arguments]
        return _through(self.library[form.name].numpy, arguments, False)[1]


def _power(exponent: float) -> Callable[[Floats], Floats]:
    plain: dict[float, Callable[[Floats], Floats]] = {
        1.0: lambda a: a,
        2.0: np.square,
        -1.0: np.reciprocal,
        0.5: np.sqrt,
        3.0: lambda a: a * a * a,
    }
    return plain.get(exponent, lambda a: np.float_power(a, exponent))
