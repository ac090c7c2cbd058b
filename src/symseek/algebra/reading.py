"""What formulas cost to read.

    symbol  1 for each operator, column and number
    number  0 for one digit to 3 for six or more, by its neat name if it has one, and
            1 for each power of ten that it is beyond 0.01 or 100
    bracket 1, and 2 for one inside another, and so on; 1/2 more for each number in it

Some numbers say nothing where they stand, and cost more: see `Reading`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from symseek.algebra.normal_form import Base, Call, Group, Product, Sum, Variable, number
from symseek.algebra.numbers import is_multiple, is_root
from symseek.algebra.writing import Writer, Written, digits
from symseek.operators.table import POWERS
from symseek.programs import Program
from symseek.tokens import Library

_ORDINARY = 2.0  # powers of ten that a number may be from 1 without a price
_NAMED = 1.5  # the price of a number with a name, such as 1/(4*pi); a fitted number costs more
_SAME = 1e-14  # numbers that differ by less, relatively, are one
_FITTED_BASE = 8.0  # the price of a fitted number to a variable power: exp is what people write
_SIGN = 0.5  # the price of a number below 0
_HIDDEN = 0.5  # the price of a number in brackets
_HIDDEN_WIDTH = 3.0  # the price of a number that is no width, inside exp
_OTHER_UNIT = 4.0  # the price of a bracket below a line that is not in units of its first term
_OTHER_SCALE = 2.0  # the price of a number before a power, where the scale of the column is hidden
_BEFORE_BELOW = 2.0  # the price of a number before a bracket below a line
_NESTED = 3.5  # the price of a fraction below the line of another
_PRODUCT = 3.0  # the price of a number before a column that is one only times that before a bracket
_PRODUCT_OFFSET = 5.0  # the same of an addend, which is not in units of a column
_RATIO = 2.0  # the price of two numbers in a bracket whose ratio is neat
_LATE = 3.0  # the price of a number that other factors are before
_TWO_ROOTS = 1.5  # the price of a root of a number before another root
_SMALL = 0.01  # part of an offset that the numbers after it are, where those are corrections
_LARGEST_BASE = 10.0  # whole numbers to a variable power: 2**x and 10**x stay
_BRACKETED = frozenset({"mul", "div", "pow", "neg", "reciprocal"})
_PLAIN_POWERS = frozenset(POWERS.values())
_ABOVE = {name: power for power, name in POWERS.items() if power > 0.0}

Addend: TypeAlias = "tuple[float, list[tuple[Written, int]]]"
"""A number and the factors with it, those below its line with -1."""


def reading_cost(program: Program) -> float:
    """What a program costs to read, as it is written.

    >>> reading_cost(Program.parse("2.5*x")) < reading_cost(Program.parse("2.51734*x"))
    True
    """
    return Reading(program.library).of(program)


@lru_cache(maxsize=4096)
def number_cost(value: float) -> float:
    """What a number costs to read, beyond being a symbol.

    >>> number_cost(3.0), number_cost(0.5), number_cost(1 / (4 * math.pi)), number_cost(0.5097412)
    (0.0, 1.0, 1.5, 3.0)
    """
    size = abs(value)
    far = abs(math.log10(size)) - _ORDINARY if size > 0.0 else 0.0
    price = (digits(size) - 1) / 2
    if price > _NAMED and is_multiple(size, _SAME):
        price = _NAMED
    return price + max(far, 0.0)


def whole_base(value: float) -> bool:
    """Whether a number to a variable power is written as that: 2**x and 10**x, or 0.5**x."""
    return value > 0.0 and (
        (value.is_integer() and value <= _LARGEST_BASE)
        or ((1 / value).is_integer() and 1 / value <= _LARGEST_BASE)
    )


def _fitted(value: float) -> bool:
    return number_cost(value) > _NAMED


class Reading(Writer):
    """Writes normal forms in the way that costs the reader least.

    The cost of a part is what it costs to read, and the levels of brackets in it. Dear are numbers
    that say nothing where they stand:

    - before a square in exp, where the width of a peak would have the units of its column;
    - below a line, in a bracket that is not in units of its constant, as 1 + b*exp(x) is, or else
      of its first term, as x + b is; and fractions there;
    - in a bracket, where only their product with the number before the bracket means something.
    """

    def __init__(self, library: Library, plain: bool = False, as_given: bool = False) -> None:
        super().__init__(library)
        self._variables = frozenset(library.variable_ids)
        self._whole: Sum | None = None
        self.plain = plain  # whether a number before a sum goes to each of its terms
        self.as_given = as_given  # whether brackets stay in their units

    def of(self, program: Program) -> float:
        """What a program costs to read."""

        def combine(token: int, constant: float | None, arguments: list[Written]) -> Written:
            if constant is not None:
                return self.number(constant)
            return self.node(program.library.names[token], *arguments)

        return program.fold(combine).cost[0]

    def cost(self, name: str, arguments: tuple[Written, ...]) -> tuple[float, float]:
        cost, levels = 1.0, 0.0
        for at, each in enumerate(arguments):
            bracket = self._in_brackets(name, at, each)
            its_levels = each.cost[1] + bracket
            # In brackets a number does not say by itself what it is.
            if bracket:
                cost += its_levels + _HIDDEN * sum(value != 1.0 for value in each.constants)
            cost += each.cost[0]
            levels = max(levels, its_levels)
        if name == "square" and self._is_shifted(arguments[0]):
            # (x - b)**2 and ((x - b)/c)**2 read as one thing, and their brackets are no burden.
            shifted = arguments[0]
            cost, levels = len(shifted.tokens) + sum(map(number_cost, shifted.constants)), 0.0
        if any(each.constants for each in arguments):
            cost += self._of_numbers(name, arguments)
        return cost, levels

    def _in_brackets(self, name: str, at: int, argument: Written) -> bool:
        """Whether an argument is a sum that is written in brackets."""
        if self._name(argument) not in ("add", "sub"):
            return False
        if name == "sub":
            return at == 1
        return name in _BRACKETED or self.library[name].exponent not in (None, 0.5)

    def _is_shifted(self, argument: Written) -> bool:
        """Whether an argument is something less its centre, maybe in units of a width."""
        names = [self.library.names[token] for token in argument.tokens]
        divided = names[0] == "div" and names[-2:] == ["const", "const"]
        if divided:
            names = names[1:-1]
        shifted = names[0] in ("add", "sub") and names[-1] == "const"
        return shifted and len(argument.constants) == 1 + divided

    def _of_numbers(self, name: str, arguments: tuple[Written, ...]) -> float:
        """The price of numbers that say nothing where they stand."""
        if name == "pow":
            base = arguments[0]
            fitted = base.tokens == (self._constant,) and not whole_base(base.constants[0])
            return _FITTED_BASE * fitted
        if name == "exp":
            return _HIDDEN_WIDTH * any(map(self._hides_a_width, self._addends(arguments[0])))
        if name in ("div", "reciprocal"):
            above = arguments[0] if name == "div" else None
            below = list(self._brackets(arguments[-1]))
            price = sum(self._below(each, above) for each, power in below if power.is_integer())
            front = self._front(arguments[-1])
            if below and (_fitted(front) or not front.is_integer()):
                price += _BEFORE_BELOW
            return price + (self._after_number(front, above) if above is not None else 0.0)
        if name == "sqrt" and self._name(arguments[0]) == "mul":
            hidden = any(map(self._hides_a_root, self._brackets(arguments[0])))
            return _PRODUCT_OFFSET * hidden
        return self._of_factors(*arguments) if name == "mul" else 0.0

    def _of_factors(self, one: Written, other: Written) -> float:
        """The price of numbers in a product of two."""
        price = _RATIO * any(map(self._hides_a_ratio, (one, other)))
        price += _LATE * (self._name(other) == "mul" and self._front(other) != 1.0)
        front = self._front(one)
        price += _TWO_ROOTS * (self._name(other) == "sqrt" and is_root(front, _SAME))
        return price + self._after_number(front, other)

    def _front(self, written: Written) -> float:
        """The number that a product starts with."""
        while self._name(written) == "mul":
            written = written.arguments[0]
        return written.constants[0] if written.tokens == (self._constant,) else 1.0

    def _after_number(self, front: float, written: Written) -> float:
        """The price of brackets before which there is a number, or below which it is."""
        if front == 1.0:
            return 0.0
        return sum(self._after(front, *each) for each in self._brackets(written))

    def _name(self, written: Written) -> str:
        return self.library.names[written.tokens[0]]

    def _brackets(self, written: Written, power: float = 1.0) -> Iterator[tuple[Written, float]]:
        """The sums among the factors, with the powers that they are raised to."""
        name = self._name(written)
        if name in ("add", "sub"):
            yield written, power
        elif name == "mul":
            for each in written.arguments:
                yield from self._brackets(each, power)
        elif name in _ABOVE:
            yield from self._brackets(written.arguments[0], power * _ABOVE[name])
        elif name == "pow" and written.arguments[1].tokens == (self._constant,):
            yield from self._brackets(
                written.arguments[0], power * written.arguments[1].constants[0]
            )

    def _addends(self, written: Written, sign: float = 1.0) -> Iterator[Addend]:
        name = self._name(written)
        if name in ("add", "sub"):
            yield from self._addends(written.arguments[0], sign)
            yield from self._addends(written.arguments[1], -sign if name == "sub" else sign)
        else:
            value, factors = self._split(written)
            yield sign * value, factors

    def _split(self, written: Written) -> Addend:
        """A number and the factors with it."""
        name = self._name(written)
        if name == "const":
            return written.constants[0], []
        if name == "neg":
            value, factors = self._split(written.arguments[0])
            return -value, factors
        if name == "reciprocal":
            value, factors = self._split(written.arguments[0])
            return (1.0 / value if value else math.inf), [(each, -power) for each, power in factors]
        if name not in ("mul", "div"):
            return 1.0, [(written, 1)]
        (value, factors), (other, more) = map(self._split, written.arguments)
        if name == "div":
            other, more = (1.0 / other if other else math.inf), [(each, -p) for each, p in more]
        return value * other, factors + more

    def _hides_a_width(self, addend: Addend) -> bool:
        """Whether an addend is -c*(x - b)**2 with a fitted c: a width has the units of x."""
        value, factors = addend
        if len(factors) != 1 or value >= 0.0 or not (_fitted(value) and _fitted(1.0 / value)):
            return False
        (square, power) = factors[0]
        return (
            power == 1
            and self._name(square) == "square"
            and self._name(square.arguments[0]) in ("add", "sub")
        )

    def _below(self, bracket: Written, above: Written | None) -> float:
        """The price of the numbers in a bracket below a line, where this is above it."""
        addends = list(self._addends(bracket))
        price = _NESTED * any(self._is_nested(factors) for _, factors in addends)
        offset = next((value for value, factors in addends if not factors), None)
        terms = [(value, factors) for value, factors in addends if factors]
        if not terms:
            return price
        # Of x**n/(x**n + a) the plateau is seen as it is.
        rising = above is not None and self.library.index("pow") in above.tokens
        functions = any(self._has_function(factors) for _, factors in terms)
        if offset is not None and functions and not rising:
            units = [offset]
            price += _OTHER_SCALE * any(map(self._hides_a_scale, terms))
        else:
            units = [value for value, _ in terms if value > 0.0] or [value for value, _ in terms]
        # In other units there may be a number more.
        brief = (above is None or not above.constants) and any(
            abs(value) == 1.0 for value, _ in addends
        )
        if not brief and all(abs(unit) != 1.0 and _fitted(unit) for unit in units):
            price += _OTHER_UNIT
        return price

    def _is_nested(self, factors: list[tuple[Written, int]]) -> bool:
        """Whether a term is something over a power of a column."""
        return any(power < 0 and self._is_letter(each) for each, power in factors)

    def _is_letter(self, written: Written) -> bool:
        """Whether a factor is a column, or a customary power of one."""
        if self._name(written) in _PLAIN_POWERS:
            (written,) = written.arguments
        return len(written.tokens) == 1 and not written.constants

    def _has_function(self, factors: list[tuple[Written, int]]) -> bool:
        plain = ("add", "sub", "mul", "div", *_PLAIN_POWERS)
        return any(len(each.tokens) > 1 and self._name(each) not in plain for each, _ in factors)

    def _hides_a_scale(self, addend: Addend) -> bool:
        """Whether an addend is c*x**n with fitted numbers: (x/c)**n has a c in the units of x."""
        value, factors = addend
        if len(factors) != 1 or not _fitted(value):
            return False
        power = factors[0][0]
        return (
            self._name(power) == "pow"
            and self._is_letter(power.arguments[0])
            and power.arguments[1].tokens == (self._constant,)
        )

    def _hides_a_ratio(self, factor: Written) -> bool:
        """Whether a factor is a + b*x, with b/a neater than b."""
        if len(factor.constants) != 2 or self._name(factor) not in ("add", "sub"):
            return False
        addends = list(self._addends(factor))
        offset = next((value for value, factors in addends if not factors), 0.0)
        size = next((value for value, factors in addends if factors), 0.0)
        if not (len(addends) == 2 and offset and _fitted(offset) and _fitted(size)):
            return False
        return digits(number(size / offset)) < digits(size)

    def _hides_a_root(self, bracket: tuple[Written, float]) -> bool:
        """Whether it, under a root, is a + b*x with fitted numbers: sqrt(a) belongs before it."""
        addends = list(self._addends(bracket[0]))
        return any(not factors for _, factors in addends) and all(_fitted(v) for v, _ in addends)

    def _after(self, front: float, bracket: Written, power: float) -> float:
        """The price of the numbers in a bracket that mean something only times that before it."""
        addends = list(self._addends(bracket))
        terms = [(value, factors) for value, factors in addends if factors]
        offset = next((value for value, factors in addends if not factors), 1.0)
        if _fitted(front) and number_cost(offset) > 0.0 and not any(map(self._is_plain, terms)):
            return _PRODUCT_OFFSET
        unlike = len({self._columns(factors) for _, factors in terms}) > 1
        if unlike and power == 1.0 and any(_fitted(value) for value, _ in terms):
            return _PRODUCT
        return 0.0

    def _is_plain(self, addend: Addend) -> bool:
        """Whether an addend is a column, whose units those of a number beside it are."""
        value, factors = addend
        return abs(value) == 1.0 and len(factors) == 1 and len(factors[0][0].tokens) == 1

    def _columns(self, factors: list[tuple[Written, int]]) -> frozenset[int]:
        tokens = (token for each, _ in factors for token in each.tokens)
        return frozenset(token for token in tokens if token in self._variables)

    def number(self, value: float) -> Written:
        sign = _SIGN * (value < 0.0)
        return Written((self._constant,), (value,), (1.0 + number_cost(value) + sign, 0.0))

    def program(self, total: Sum) -> Program:
        self._whole = total
        self._sums.pop(total, None)  # 1 + ... is for brackets
        return super().program(total)

    def sum(self, total: Sum) -> Written:
        return self._plain_sum(total) if self.plain else super().sum(total)

    def taken_in(self, base: Base, power: float, coefficient: float) -> Base | None:
        """Numbers go into brackets, but not into exp: its factor is where it starts, or peaks."""
        if self.as_given or isinstance(base, Call):
            return None
        if isinstance(base, Variable) and power == 0.5 and is_root(coefficient, _SAME):
            return Group(Sum(0.0, ((_square_of(coefficient), ((base, 1.0),)),)))
        return super().taken_in(base, power, coefficient)

    def in_other_sizes(self, coefficient: float, product: Product) -> list[tuple[float, Product]]:
        return (
            [(coefficient, product)]
            if self.as_given
            else super().in_other_sizes(coefficient, product)
        )

    def simplest(self, total: Sum) -> tuple[float, Product]:
        """One that is not taken from others, where there is one."""
        positive = Sum(0.0, tuple(term for term in total.terms if term[0] > 0.0))
        return super().simplest(positive if positive.terms else total)

    def parts(self, total: Sum) -> list[tuple[float, Product]]:
        """A polynomial by its powers, else the shortest term first; a number before small ones."""
        parts = super().parts(total)
        powers = [_power(product) for _, product in parts]
        columns = {name for name, _ in powers if name}
        if len(columns) == 1 and len(total.terms) > 1 and all(each for _, each in powers[:-1]):
            parts.sort(key=lambda part: -_power(part[1])[1])
            return parts[::-1] if parts[0][0] < 0 < parts[-1][0] else parts
        most = _SMALL * abs(total.offset)
        if all(abs(size) < most and abs(size) != 1.0 for size, _ in total.terms):
            return parts[-1:] + parts[:-1]
        bare = any(abs(size) == 1.0 and not _is_scaled(product) for size, product in total.terms)
        if total.offset == 1.0 and total is not self._whole and not bare:
            return parts[-1:] + parts[:-1]
        return sorted(parts, key=lambda part: (not part[1], len(self.term(1.0, part[1]).tokens)))

    def base(self, base: Base) -> Written:
        peaks = _peaks(base)
        if not peaks:
            return super().base(base)
        first, *others = (self._shifted(*peak) for peak in peaks)
        exponent = self.node("neg", first)
        for each in others:
            exponent = self.node("sub", exponent, each)
        return self.node("exp", exponent)

    def _shifted(self, total: Sum, width: float) -> Written:
        inside = self.sum(total)
        divided = inside if width == 1.0 else self.node("div", inside, self.number(width))
        return self.node("square", divided)


def _power(product: Product) -> tuple[str, float]:
    """The name and the exponent of a power of one column; no name for anything else."""
    if len(product) == 1 and isinstance(product[0][0], Variable):
        return product[0][0].name, product[0][1]
    return "", 0.0


def _square_of(root: float) -> float:
    """The decimal of few digits that a number is the root of."""
    return float(f"{root * root:.12g}")


def _is_scaled(product: Product) -> bool:
    """Whether a product is a power of a column in its scale, such as (x/2.1)**3.4."""
    return isinstance(product[0][0], Call) and product[0][0].name == "pow"


def _peaks(base: Base) -> list[tuple[Sum, float]]:
    """The shifted variables and the widths of exp(-((x - b)/c)**2 - ((y - d)/e)**2)."""
    if not isinstance(base, Call) or base.name != "exp" or base.arguments[0].offset:
        return []
    found = []
    for size, product in base.arguments[0].terms:
        if size >= 0.0 or len(product) != 1 or product[0][1] != 2.0:
            return []
        shifted = product[0][0]
        if not isinstance(shifted, Group):
            return []
        found.append((shifted.inside, number(1.0 / math.sqrt(-size))))
    return found
