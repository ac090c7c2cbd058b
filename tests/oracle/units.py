"""Do formulas agree with units? Operators by name, exact fractions, and all completions tried.

Nothing here knows the package's rules: what each operator does with dimensions stands below, and
whether an unfinished program can be completed is found by writing every completion out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from symseek.programs import Program
from symseek.tokens import Library

Powers = Mapping[str, Fraction | int]  # of base dimensions, by name
_WILD = "any"  # the dimension of a number that takes any
_POWERS = {
    "sqrt": (1, 2),
    "square": (2, 1),
    "cube": (3, 1),
    "fourth": (4, 1),
    "reciprocal": (-1, 1),
}
_LIKE_A_SUM = ("add", "sub", "neg", "abs", "min", "max", "hypot")
_PLAIN = ("sin", "cos", "tan", "tanh", "exp", "log", "neg_exp", "asin", "acos", "atan", "sinh",
          "cosh", "asinh", "floor", "erf", "gauss", "logistic")  # fmt: skip


class Wrong(Exception):
    """The formula adds metres to seconds, or the like."""


def agrees(
    program: Program, columns: Mapping[str, Powers], target: Powers | None, free: bool = False
) -> bool:
    """Whether the formula has the target's dimension, whatever its numbers are fitted to."""
    try:
        found, _ = _dimension(program, 0, columns, free)
    except Wrong:
        return False
    return target is None or found == _WILD or found == _clean(target)


def _clean(powers: Powers) -> dict[str, Fraction]:
    return {name: Fraction(power) for name, power in powers.items() if power != 0}


def _raised(powers: dict[str, Fraction], power: Fraction) -> dict[str, Fraction]:
    return _bounded({name: each * power for name, each in powers.items()})


def _bounded(powers: Powers) -> dict[str, Fraction]:
    """Powers are whole twelfths, and none above 127 of these."""
    for each in powers.values():
        if Fraction(each) * 12 % 1 != 0 or abs(Fraction(each) * 12) > 127:
            raise Wrong
    return _clean(powers)


def _dimension(
    program: Program, at: int, columns: Mapping[str, Powers], free: bool
) -> tuple[dict[str, Fraction] | str, int]:
    """The dimension of the part that begins at a token, and where the next part begins."""
    token = program.library.tokens[program.tokens[at]]
    name, at = token.name, at + 1
    if name in columns:
        return _bounded(columns[name]), at
    if name == "const":
        return (_WILD if free else {}), at
    if token.arity == 0:
        return {}, at
    parts, names = [], []
    for _ in range(token.arity):
        names.append(program.library.names[program.tokens[at]])
        part, at = _dimension(program, at, columns, free)
        parts.append(part)
    return _combined(name, parts, names, program.library), at


def _combined(
    name: str, parts: Sequence[dict[str, Fraction] | str], names: Sequence[str], library: Library
) -> dict[str, Fraction] | str:
    known = [each for each in parts if not isinstance(each, str)]
    if name in _LIKE_A_SUM or name == "atan2":
        if any(each != known[0] for each in known):
            raise Wrong
        return {} if name == "atan2" else known[0] if known else _WILD
    if name == "sign":
        return {}
    if name in _PLAIN:
        if any(known):
            raise Wrong
        return {}
    if name in ("mul", "div"):
        if len(known) < 2:
            return _WILD
        sign = 1 if name == "mul" else -1
        bases = {*known[0], *known[1]}
        return _bounded({b: known[0].get(b, 0) + sign * known[1].get(b, 0) for b in bases})
    if name in _POWERS:
        above, below = _POWERS[name]
        return _raised(known[0], Fraction(above, below)) if known else _WILD
    assert name == "pow", name
    exponent = library[names[1]].value if names[1] in library.names else None
    base = parts[0]
    if base != {} and exponent is not None:
        power = Fraction(exponent).limit_denominator(12)
        if float(power) == exponent:
            if isinstance(base, str):
                return _WILD if power else {}
            return _raised(base, power)
    if any(known):  # with a fitted exponent, any value must do
        raise Wrong
    return {}


def every_program(library: Library, longest: int) -> Iterator[tuple[int, ...]]:
    """All complete programs of at most so many tokens."""

    def grown(tokens: tuple[int, ...], open_slots: int) -> Iterator[tuple[int, ...]]:
        if open_slots == 0:
            yield tokens
        elif len(tokens) + open_slots <= longest:
            for token, arity in enumerate(library.arities):
                yield from grown((*tokens, token), open_slots - 1 + arity)

    return grown((), 1)
