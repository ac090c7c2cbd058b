"""Every operation of the native engine as a token, those that the table does not have included."""

from __future__ import annotations

from oracle.evaluate import FORMULAS
from symseek.engines.native import operations
from symseek.tokens import OPERATORS, Token

NATIVE_TOKENS: dict[str, Token] = {
    name: OPERATORS.get(name) or Token(name, arity, numpy=FORMULAS[name])
    for name, arity in operations().items()
}
