"""The front of a model: formulas that nothing simpler matches, and those that may come to it."""

from __future__ import annotations

from collections.abc import Sequence

from symseek.model import Formula
from symseek.programs import Program
from symseek.selection.measure import Measure

_BETTER = 0.999  # a longer formula must have this part of the error, or less, to be on the front
_BRIEFER = 2.0  # nats by which a description must be shorter to count as that
_MADE_NEAT = 600  # tokens of all formulas together; to make numbers neat takes a while for each
_GOES_WITH_A_NUMBER = 2  # complexity, where it becomes 0 or 1: its own and that of an operator


def ranked(formulas: Sequence[Formula], measure: Measure) -> list[Formula]:
    """The formulas that nothing simpler matches, simplest first.

    Of two that match, a longer one stands for the shorter if it describes the rows more
    briefly: a law with neat numbers, beside an approximation with fitted ones. Of one
    complexity the shortest description stays: fewer numbers may be worth a larger error.
    """
    errors = [measure.of(each) for each in formulas]
    lengths = measure.descriptions([each.program for each in formulas], errors)
    rows = sorted(
        zip(formulas, errors, lengths, strict=True), key=lambda row: (row[0].complexity, row[1])
    )
    kept: list[tuple[Formula, float, float]] = []
    for row in rows:
        error, complexity = measure.error_above_digits(row[1]), row[0].complexity
        if not kept or error < _BETTER * kept[-1][1]:
            kept.append(row)
        elif complexity == kept[-1][0].complexity > 1:  # no column replaces the mean
            better = len(kept) < 2 or error < _BETTER * kept[-2][1]
            if better and row[2] < kept[-1][2]:
                kept[-1] = row
        elif _BETTER * error <= kept[-1][1] and row[2] < kept[-1][2] - _BRIEFER:
            kept[-1] = row
        if row[0].exact:  # nothing is better
            break
    return [formula for formula, _, _ in kept]


def contenders(
    formulas: Sequence[Formula], proposed: Sequence[Program], measure: Measure
) -> list[Program]:
    """Of refitted formulas, those that may be on the front once their numbers are neat.

    That is the front as it is, and what fits as well but is longer by no more than neat numbers
    may save. Of these, what was proposed comes first, then what is longer by the least, until
    there are too many: by their tokens, not by a clock, so that every machine does the same.
    """
    front, shapes = ranked(formulas, measure), {each.tokens for each in proposed}
    errors = [_BETTER * measure.error_above_digits(measure.of(each)) for each in front]
    kept = {each.program for each in front}
    others: list[tuple[bool, int, Program]] = []
    for each in formulas:
        program, error = each.program, measure.error_above_digits(measure.of(each))
        as_good = (row for row, its in zip(front, errors, strict=True) if its <= error)
        longer = each.complexity - next(as_good, front[-1]).complexity
        if program not in kept and longer <= _GOES_WITH_A_NUMBER * len(program.constants):
            others.append((program.tokens not in shapes, longer, program))
    room = _MADE_NEAT - sum(map(len, kept))
    for *_, program in sorted(others, key=lambda each: each[:2]):
        room -= len(program)
        if room < 0:
            break
        kept.add(program)
    return [each.program for each in formulas if each.program in kept]
