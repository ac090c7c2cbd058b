"""The form of a formula: what is left when every fitted number is only a letter.

Two formulas have the same form when their normal forms are the same up to the numbers. A few
identities move a number from one place to another, and are taken into account: exp(a + x) is a
number times exp(x), b**x is exp(c*x), log(a*x) is log(x) plus a number, a cosine with a phase is a
sine with another one, and x*(a + b/x) is a*x + b. Whole and half exponents, as in x**2 and sqrt(x),
belong to the form.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from string import ascii_lowercase
from typing import Any

from symseek.algebra.normal_form import (
    FORM_ERRORS,
    Algebra,
    Base,
    Call,
    Group,
    Product,
    Sum,
    Variable,
    added,
    merged,
    scaled,
)
from symseek.algebra.typeset import tidied
from symseek.algebra.writing import Writer
from symseek.programs import Program
from symseek.tokens import RESERVED, Library, TokenKind, number_name

_LARGEST_POWER = 6.0  # an exponent beyond it was fitted
_KEY = 20  # hexadecimal digits
_CONFUSING = ("e", "i", "l", "o")  # letters that are read as numbers
_NUMBER = (True,)  # the key of a sum without terms


@dataclass(frozen=True)
class FormulaForm:
    """A form: equal keys are equal forms, and the text is for reading."""

    key: str
    text: str


@dataclass(frozen=True)
class Common:
    """A form among several formulas."""

    text: str  # as most of them have it
    count: int
    constant: bool = False  # whether it has no variable


def common_forms(forms: Iterable[FormulaForm]) -> dict[str, Common]:
    """The forms by key, those of most formulas first.

    >>> forms = [("1", "a*x"), ("2", "a*x + b"), ("1", "x"), ("1", "a*x")]
    >>> common_forms(FormulaForm(*each) for each in forms)["1"]
    Common(text='a*x', count=3, constant=False)
    """
    texts: dict[str, Counter[str]] = {}
    for each in forms:
        texts.setdefault(each.key, Counter())[each.text] += 1
    common = {
        key: Common(
            min(found, key=lambda text: (-found[text], len(text), text)),
            found.total(),
            key == _hashed(repr(_NUMBER)),
        )
        for key, found in texts.items()
    }
    return dict(sorted(common.items(), key=lambda item: (-item[1].count, item[1].text)))


def form_of(program: Program) -> FormulaForm:
    """The form of a program whose library has every operator.

    >>> from symseek.model import full_library
    >>> library = full_library(["t"])
    >>> forms = [form_of(Program.parse(text, library)) for text in ("4.1*exp(-t/3)", "2*0.7**t")]
    >>> forms[0].text, forms[0].key == forms[1].key
    ('a*exp(-b*t)', True)
    """
    library = program.library
    try:
        total = Algebra(library).form(program, [1.0] * len(library.variables))
        total = _with_exponentials(total)
        text = str(_lettered(Writer(library).program(_Generic().sum(total))))
        key = repr(_sum_key(total))
    except FORM_ERRORS:  # a part without a value, such as log(-1): the formula as it is
        key = text = program.infix()
    return FormulaForm(_hashed(key), text)


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_KEY]


def _belongs(exponent: float) -> bool:
    """Whether an exponent is part of the form, and no fitted number."""
    return (2 * exponent).is_integer() and abs(exponent) <= _LARGEST_POWER


# --- the key


def _sum_key(total: Sum) -> tuple[Any, ...]:
    """The terms in an order of their own, and whether a number is added to them."""
    if total.constant:
        return _NUMBER
    total = _expanded(total)
    terms = sorted(_product_key(each) for _, each in total.terms)
    return bool(total.offset) or any(_scaled_logarithm(each) for _, each in total.terms), *terms


def _expanded(total: Sum) -> Sum:
    """The sum with a*x + b for every x*(a + b/x): one bracket times powers of variables."""
    return added(Sum(total.offset), *(_distributed(*each) for each in total.terms))


def _distributed(size: float, factors: Product) -> Sum:
    sums = [base.inside for base, power in factors if isinstance(base, Group) and power == 1.0]
    others = tuple(each for each in factors if isinstance(each[0], Variable))
    if len(sums) != 1 or len(others) + 1 != len(factors):
        return Sum(0.0, ((size, factors),))
    parts = [(sums[0].offset, ()), *sums[0].terms]
    return added(*(scaled(merged(others + each), size * number) for number, each in parts))


def _scaled_logarithm(factors: Product) -> bool:
    """Whether this is log(a*x) with a number a: a number added to log(x)."""
    if len(factors) != 1 or factors[0][1] != 1.0:
        return False
    base = factors[0][0]
    if not (isinstance(base, Call) and base.name == "log"):
        return False
    inside = base.arguments[0]
    return not inside.offset and len(inside.terms) == 1 and inside.terms[0][0] != 1.0


def _product_key(factors: Product) -> str:
    keys = [
        (_base_key(base), exponent if _belongs(exponent) else "c") for base, exponent in factors
    ]
    return repr(sorted(keys, key=repr))


def _base_key(base: Base) -> tuple[Any, ...]:
    if isinstance(base, Variable):
        return "variable", base.name
    if isinstance(base, Group):
        return "sum", _sum_key(base.inside)
    name = base.name
    if name == "cos" and base.arguments[0].offset:
        name = "sin"
    return name, *map(_sum_key, base.arguments)


def _with_exponentials(total: Sum) -> Sum:
    """The sum with exp(x*log(b)) for every b**x."""
    return Sum(
        total.offset,
        tuple(
            (size, tuple((_as_exponential(base), power) for base, power in factors))
            for size, factors in total.terms
        ),
    )


def _as_exponential(base: Base) -> Base:
    if isinstance(base, Variable):
        return base
    if isinstance(base, Group):
        return Group(_with_exponentials(base.inside))
    arguments = tuple(map(_with_exponentials, base.arguments))
    if base.name == "pow" and arguments[0].constant:
        rate = -2.0 if arguments[0].offset < 1 else 2.0  # any number of the right sign
        terms = tuple((rate * size, factors) for size, factors in arguments[1].terms)
        return Call("exp", (Sum(0.0, terms),))
    return Call(base.name, arguments)


# --- the text


class _Generic:
    """Puts other numbers into a form, no two of them alike: they are then written in one way."""

    def __init__(self) -> None:
        self._count = count(1)

    def _number(self, like: float) -> float:
        """A number of the same sign, too large for the writer to move it into an exponent."""
        value = 1e5 + 1234.56789 * next(self._count)
        return value if like > 0 else -value

    def sum(self, total: Sum) -> Sum:
        terms = tuple(
            (size if abs(size) == 1 else self._number(size), self._product(each))
            for size, each in total.terms
        )
        return Sum(self._number(total.offset) if total.offset else 0.0, terms)

    def _product(self, factors: Product) -> Product:
        return tuple(
            (self._base(base), power if _belongs(power) else self._number(power))
            for base, power in factors
        )

    def _base(self, base: Base) -> Base:
        if isinstance(base, Variable):
            return base
        if isinstance(base, Group):
            return Group(self.sum(base.inside))
        return Call(base.name, tuple(map(self.sum, base.arguments)))


def _lettered(program: Program) -> Program:
    """The program with letters for its numbers, signs where a person writes them.

    The writer may have divided numbers by each other, so all of them are letters but for exponents
    that belong to the form.
    """
    program = tidied(program, digits=17)
    letters = _letters({*program.library.variables, *RESERVED, *_CONFUSING})
    named: dict[float, str] = {}
    exponents: dict[float, str] = {}
    names: list[str] = []
    numbers = iter(program.constants)
    places = [False]  # of the arguments that are still to come: whether it is an exponent
    for token in program.tokens:
        this, is_exponent = program.library.tokens[token], places.pop()
        places += [this.name == "pow"] * (this.arity > 1) + [False] * min(this.arity, 1)
        if token != program.library.constant_id:
            names.append(this.name)
            continue
        value = next(numbers)
        if is_exponent and _belongs(value):
            names.append(exponents.setdefault(value, number_name(value)))
            continue
        if abs(value) not in named:
            named[abs(value)] = next(letters)
        names += [*["neg"] * (value < 0), named[abs(value)]]
    kept = [token for token in program.library.tokens if token.kind is TokenKind.OPERATOR]
    wider = Library([*kept, *exponents], [*program.library.variables, *named.values()])
    return Program(wider, tuple(map(wider.index, names)))


def _letters(taken: set[str]) -> Iterator[str]:
    """a, b, c, ... and then a1, b1, ...; none that is taken."""
    for number in count():
        for letter in ascii_lowercase:
            name = f"{letter}{number or ''}"
            if name not in taken:
                yield name
