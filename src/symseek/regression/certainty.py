"""The formulas of the final front with how sure the rows make their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symseek.data import Data
from symseek.model import Formula
from symseek.programs import Program
from symseek.uncertainty.numbers import judged


def with_certainty(
    formulas: Sequence[Formula], data: Data, repeats: float, threads: int
) -> list[Formula]:
    """The formulas, each with the errors of its numbers on these rows.

    Where groups have numbers of their own, neither these nor the others have errors yet.
    """
    known = [each for each in formulas if not each.program.own_used]
    programs = [each.program for each in known]
    found = judged(programs, [each.form() for each in known], data, repeats, threads)
    sure = {
        id(each): replace(
            each, constants=its.constants, numbers=its.numbers, certainty=its.certainty
        )
        for each, its in zip(known, found, strict=True)
    }
    return [sure.get(id(each), each) for each in formulas]


def filled_with_certainty(
    formulas: Sequence[Formula],
    programs: Sequence[Program],
    data: Data,
    repeats: float,
    threads: int,
) -> list[Formula]:
    """The same for formulas of a given form; `programs` are what a search has filled in.

    A number that stands in several places of the formula is one number of its program.
    """
    if any(each.own_used for each in programs):
        return list(formulas)
    pairs = zip(formulas, programs, strict=True)
    whole = [each.program.over(program.library) for each, program in pairs]
    sure = []
    found = judged(programs, whole, data, repeats, threads)
    for each, its in zip(formulas, found, strict=True):
        as_written = its.numbers if each.form().constants == each.program.constants else ()
        if its.printed is not None:
            each = replace(each, constants=its.numbers, numbers=as_written, certainty=its.printed)
        sure.append(each)
    return sure
