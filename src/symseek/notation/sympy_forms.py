"""Programs to SymPy and back.

SymPy keeps sums and products flat, subtraction and division as signs and powers; on the way back
they become the operators that a library has. SymPy is imported when first used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from symseek.errors import InputError, shown
from symseek.notation.lowering import Lowering, Node, Parts
from symseek.operators.table import BY_SYMPY_NAME
from symseek.tokens import ARGUMENTS, Library, Token, TokenKind, every_operator

if TYPE_CHECKING:
    from sympy import Expr

    from symseek.programs import Program

_MOST_BITS = 13_000  # of an exact number: about as many digits as Python prints
_GROWING = ("pow", "exp", "neg_exp", "sinh", "cosh")  # beside powers with an exponent of their own

# Functions of SymPy that are read through others: no operator stands for them.
_REWRITTEN = {"coth": "exp", "sech": "exp", "csch": "exp", "sec": "cos", "csc": "sin", "cot": "tan"}


def plain_number(value: float) -> Expr:
    """A SymPy number: an integer where the value is one, else a float of the same value."""
    import sympy

    whole = value.is_integer() and abs(value) < 2**53
    return sympy.Integer(int(value)) if whole else sympy.Float(value)


def to_sympy(
    program: Program,
    symbol: Callable[[str], Any],
    number: Callable[[float], Any] = plain_number,
    constants: Sequence[Any] = (),
) -> Any:
    """The SymPy expression; the caller says how names become symbols and floats numbers.

    `constants` stand for the `const` tokens in their order, instead of their values.

    >>> import sympy
    >>> from symseek import Program
    >>> to_sympy(Program.parse("x*x + 1"), sympy.Symbol)
    x**2 + 1
    >>> to_sympy(Program.parse("3.14*x"), sympy.Symbol, constants=[sympy.pi])
    pi*x
    """
    import sympy

    given = list(constants)  # the tree is worked from its end, and so are they

    def combine(token: int, constant: float | None, arguments: list[Any]) -> Any:
        this = program.library.tokens[token]
        if this.kind is TokenKind.VARIABLE:
            return symbol(this.name)
        if constant is not None and given:
            return given.pop()
        if this.kind is not TokenKind.OPERATOR:
            value = this.value if constant is None else constant
            assert value is not None
            return number(value)
        if this.expansion is not None:
            named = dict(zip(ARGUMENTS, arguments, strict=False))
            return to_sympy(this.expansion, named.__getitem__, number)
        if _explodes(this, arguments):
            raise InputError(
                f"the formula has a number that is too large for SymPy: {this.name} of"
                f" {', '.join(str(float(each)) for each in arguments)}"
            )
        form = sympy.Function(this.name) if this.sympy is None else this.sympy
        return form(*arguments)

    with nested_too_deeply():
        return program.fold(combine)


@contextmanager
def nested_too_deeply() -> Iterator[None]:
    """Say in a sentence that SymPy, which works by recursion, has come to the end of the stack."""
    try:
        yield
    except RecursionError:
        raise InputError("the formula is nested too deeply for SymPy; give a shorter one") from None


def _explodes(token: Token, arguments: list[Any]) -> bool:
    """Whether an operator of numbers gives one that SymPy would take hours and all memory to write.

    SymPy's numbers have no end: 9**9**9 has 400 million digits.
    """
    if token.name not in _GROWING and token.exponent is None:
        return False
    if not all(each.is_Number and each.is_finite for each in arguments):
        return False
    base = arguments[0]
    if token.name != "pow" and token.exponent is None:
        return bool(abs(base) > _MOST_BITS)
    power = abs(arguments[1]) if token.exponent is None else abs(token.exponent)
    if base.is_zero:
        return False
    if base.is_Rational:
        return bool(max(math.log2(abs(base.p)), math.log2(base.q)) * power > _MOST_BITS)
    value = abs(float(base))
    return not 0.0 < value < math.inf or bool(abs(math.log2(value)) * power > _MOST_BITS)


def real_expression(expression: Expr | float) -> Expr:
    """A SymPy expression of what the caller has; all its parts are real numbers."""
    import sympy

    try:
        whole = sympy.sympify(expression, strict=True)  # otherwise it would run what is text
    except (sympy.SympifyError, TypeError):
        whole = None
    if isinstance(whole, sympy.Tuple) or whole is None:
        raise InputError(
            f"SymPy cannot make an expression of {shown(expression)}; text is for `parse`"
        )
    # SymPy leaves open whether a part is real, as in Abs(exp(x)) = exp(re(x)); here all parts are.
    for part in (sympy.re, sympy.conjugate):
        whole = whole.replace(part, lambda inside: inside)
    real: Expr = whole.replace(sympy.im, lambda inside: sympy.Integer(0))
    return real


def infer_library(expression: Expr) -> Library:
    """The library for an expression that comes without one: every operator, and its symbols."""
    return every_operator(sorted(symbol.name for symbol in expression.free_symbols))


def from_sympy(expression: Expr, library: Library) -> Parts:
    """Read a real expression: the tokens of a library, and the values of its constants.

    >>> import sympy
    >>> from_sympy(sympy.Symbol("x") + 1, Library(["add", "const"], variables=["x"]))
    ((0, 1, 2), (1.0,))
    """
    with nested_too_deeply():
        return Lowering(library).parts(_Reader(library).read(expression))


class _Reader:
    """Walks a SymPy expression from its leaves."""

    def __init__(self, library: Library) -> None:
        self.lower = Lowering(library)
        own = {_sympy_name(t): t.name for t in library if t.kind is TokenKind.OPERATOR and t.arity}
        self.operators = {**BY_SYMPY_NAME, **own}

    def read(self, expression: Any) -> Node:
        if expression.is_Symbol:
            return self.lower.name(expression.name, quoted=True)
        if expression.is_number and expression.is_Atom:
            return self.number(expression)
        if expression.is_Add:
            return self.sum(expression)
        if expression.is_Mul:
            return self.product(expression)
        if expression.is_Pow:
            return self.power(*expression.args)
        return self.function(expression)

    def number(self, expression: Any) -> Node:
        if expression.is_Rational and expression.q != 1:
            known = self.lower.library.number_ids
            if float(expression.p) in known and float(expression.q) in known:
                whole = self.lower.literal(float(expression.p))
                return self.lower.divide(whole, self.lower.literal(float(expression.q)))
        if not (expression.is_real and expression.is_finite):
            raise InputError(f"{expression} is not a finite real number")
        return self.lower.literal(float(expression))

    def sum(self, expression: Any) -> Node:
        """A sum with its negative terms last, as differences: a sum needs no sign to start with."""
        terms = expression.as_ordered_terms()
        positive = [term for term in terms if not term.could_extract_minus_sign()]
        negative = [-term for term in terms if term.could_extract_minus_sign()]
        if positive:
            total = self.read(positive[0])
        else:
            total = self.lower.negate(self.read(negative[0]))
            negative = negative[1:]
        for term in positive[1:]:
            total = self.lower.infix("+", total, self.read(term))
        for term in negative:
            total = self.lower.infix("-", total, self.read(term))
        return total

    def product(self, expression: Any) -> Node:
        """A product as one quotient at most, with its sign in front."""
        import sympy

        if expression.could_extract_minus_sign():
            return self.lower.negate(self.read(-expression))
        above: list[Any] = []
        below: list[Any] = []
        for factor in expression.as_ordered_factors():
            base, exponent = factor.as_base_exp()
            if factor.is_Rational:
                above += [sympy.Integer(factor.p)] * (factor.p != 1)
                below += [sympy.Integer(factor.q)] * (factor.q != 1)
            elif factor.is_Pow and exponent.is_number and exponent.is_negative:
                below.append(base**-exponent)
            else:
                above.append(factor)
        return self.quotient(above, below)

    def quotient(self, above: list[Any], below: list[Any]) -> Node:
        upper = self.factors(above) if above else self.lower.literal(1.0)
        return self.lower.divide(upper, self.factors(below)) if below else upper

    def factors(self, factors: list[Any]) -> Node:
        total = self.read(factors[0])
        for factor in factors[1:]:
            total = self.lower.infix("*", total, self.read(factor))
        return total

    def power(self, base: Any, exponent: Any) -> Node:
        import sympy

        if base is sympy.E:
            return self.lower.call("exp", self.read(exponent))
        if exponent == sympy.Rational(1, 2) and "sqrt" in self.lower.library:
            return self.lower.operator("sqrt", self.read(base))
        if exponent.is_negative:
            return self.lower.divide(self.lower.literal(1.0), self.read(base ** (-exponent)))
        if exponent.is_Rational and exponent.q == 2 and "sqrt" in self.lower.library:
            root = self.lower.operator("sqrt", self.read(base))
            return self.lower.power(root, self.lower.literal(float(exponent.p)))
        return self.lower.power(self.read(base), self.read(exponent))

    def function(self, expression: Any) -> Node:
        name = type(expression).__name__
        known = self.operators.get(name)
        if name in _REWRITTEN and known is None:
            return self.read(expression.rewrite(_REWRITTEN[name]))
        if not expression.args or known is None:
            raise InputError(f"{expression} is a SymPy {name}, which no operator here stands for")
        arguments = [self.read(each) for each in expression.args]
        while name in ("Min", "Max") and len(arguments) > 2:  # SymPy's take any number
            arguments[:2] = [self.lower.call(known, *arguments[:2])]
        return self.lower.call(known, *arguments)


def _sympy_name(token: Token) -> str:
    """The name of the SymPy function that an operator becomes: a class, or one of its own name."""
    return getattr(token.sympy, "__name__", token.name)
