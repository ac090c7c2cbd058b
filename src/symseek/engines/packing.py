"""What the native core reads: rule tables as words of 64 bits, tokens as instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek import _native
from symseek.constraints.tables import MANNERS, CountRule, RuleTables, UnitTables
from symseek.errors import InputError
from symseek.tokens import Token, TokenKind

MAX_COUNTS = 15  # the core keeps 16 counters for each prefix; one is the bare length
MAX_DESCENDANTS = 64  # it keeps one bit for each rule


def packed_rules(tables: RuleTables) -> dict[str, Any]:
    """Everything as the core reads it."""
    descendants, counts = len(tables.in_force), len(tables.counts)
    if descendants > MAX_DESCENDANTS or counts > MAX_COUNTS:
        raise InputError(
            f"{descendants} constraints on descendants and {counts} on counts are more than the"
            f" {MAX_DESCENDANTS} and {MAX_COUNTS} that a search can hold; merge constraints that"
            " share their tokens"
        )
    bits = np.uint64(1) << np.arange(descendants, dtype=np.uint64)[:, None, None]
    span = np.arange(tables.max_length + 1)[:, None]
    return {
        "arity": tables.arity,
        "max_arity": tables.max_arity,
        "min_length": tables.min_length,
        "max_length": tables.max_length,
        "child": packed(tables.child),
        "sibling": packed(tables.sibling),
        "descendant": packed(tables.descendant),
        "triggers": (tables.in_force[:, :, 0] * bits[:, :, 0]).sum(axis=0, dtype=np.uint64),
        "in_force": (tables.in_force * bits).sum(axis=0, dtype=np.uint64),
        "at_length": packed(tables.at_length),
        "counts": [_packed_count(tables, rule) for rule in tables.counts],
        "bias": tables.bias,
        "not_all": packed(tables.not_all),
        "sized": tables.sized,
        "exact_sets": tables.exact_sets,
        "slot_least": tables.slot_least,
        "slot_most": tables.slot_most,
        "needs": tables.needs,
        "holds": tables.holds,
        "needs_at_most": packed(tables.needs[:, None] <= span),  # [S, T + 1, words]
        "holds_at_least": packed(tables.holds[:, None] >= span),  # [S, T + 1, words]
        "units": None if tables.units is None else _packed_units(tables, tables.units),
    }


def _packed_units(tables: RuleTables, units: UnitTables) -> dict[str, Any]:
    limits = [
        at
        for at, rule in enumerate(tables.counts)
        if rule.limits and np.array_equal(rule.member, units.fitted)
    ]
    target = np.zeros(8, dtype=np.int8) if units.target is None else units.target
    arguments = [np.zeros(8, dtype=np.int8) if each is None else each for each in units.argument]
    return {
        "manner": np.array([MANNERS.index(each) for each in units.manner], dtype=np.uint8),
        "dimension": _lanes(units.dimension),
        "power_above": np.ascontiguousarray(units.power[:, 0]),
        "power_below": np.ascontiguousarray(units.power[:, 1]),
        "divides": units.divides.astype(np.uint8),
        "argument": _lanes(np.array(arguments)),
        "argument_known": np.array([each is not None for each in units.argument], dtype=np.uint8),
        "fixed": units.fitted.astype(np.uint8),
        "not_alone": any(np.array_equal(each, units.fitted) for each in tables.not_all),
        "limit": limits[0] if limits else -1,
        "target_known": units.target is not None,
        "target": int(_lanes(target[None])[0]),
    }


def _lanes(powers: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Powers [..., 8] as words [...]."""
    return np.ascontiguousarray(powers, dtype=np.int8).view("<u8")[..., 0].astype(np.uint64)


def _packed_count(tables: RuleTables, rule: CountRule) -> dict[str, Any]:
    classes = rule.reachable.shape[-1]
    number = tables.arity + (tables.max_arity + 1) * rule.member  # [L] the class of each token
    bits = np.uint32(1) << np.arange(classes, dtype=np.uint32)
    return {
        "allowed": (rule.reachable * bits).sum(axis=-1, dtype=np.uint32),
        "class_sets": packed(np.arange(classes)[:, None] == number),
        "member": rule.member.astype(np.uint8),
        "cap": rule.cap,
    }


def packed(allowed: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """[..., L] booleans as [..., ceil(L / 64)] words, token 0 in the lowest bit."""
    size = allowed.shape[-1]
    words = (size + 63) // 64
    padded = np.zeros((*allowed.shape[:-1], words * 64), dtype=bool)
    padded[..., :size] = allowed
    bytes_ = np.packbits(padded, axis=-1, bitorder="little")
    return np.ascontiguousarray(bytes_).view("<u8").astype(np.uint64)


def operations() -> dict[str, int]:
    """Name and arity of every operation that the core evaluates."""
    return dict(_native.operations())


Instruction = tuple[str, int, float]  # operation, index, value


def instructions(token: Token) -> list[Instruction]:
    """What the evaluator does for one token, with its operands on the stack."""
    if token.kind is TokenKind.VARIABLE:
        return [("variable", token.index or 0, 0.0)]
    if token.kind is TokenKind.NUMBER:
        return [("number", 0, float(token.value or 0.0))]
    if token.kind is TokenKind.CONSTANT:
        return [("constant", 0, 0.0)]
    if token.formula is not None:
        return _composed(token)
    if operations().get(token.name) != token.arity:
        raise InputError(
            f"the native engine cannot evaluate the token {token.name!r}; give it a formula over"
            " the built-in operators, or search with a score of your own (Search.for_programs)"
        )
    return [(token.name, 0, 0.0)]


def _composed(token: Token) -> list[Instruction]:
    """A formula over built-in operators, reading its operands where they lie on the stack."""
    expansion = token.expansion
    assert expansion is not None
    constants: list[float] = list(expansion.constants)
    steps: list[Instruction] = []
    height = 0  # values this formula has put on the stack
    for part_id in reversed(expansion.tokens):
        part: Any = expansion.library.tokens[part_id]
        if part.kind is TokenKind.VARIABLE and part.index >= token.arity:
            steps.append(("variable", part.index - token.arity, 0.0))
        elif part.kind is TokenKind.VARIABLE:
            steps.append(("argument", height + part.index, 0.0))
        elif part.kind is TokenKind.CONSTANT:
            steps.append(("number", 0, constants.pop()))
        else:
            steps.extend(instructions(part))
        height += 1 - part.arity
    return [*steps, ("finish", token.arity, 0.0)]
