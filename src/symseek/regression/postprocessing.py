"""From the programs of a search to formulas in the user's units, the best of them ranked.

    programs ──> simplified ──> tightened and refitted ──> contenders ──> the user's units
                                                                                │
    picked <── errors <── all rows <── ranked <── neat numbers <────────────────┘

Each step is a method here or a class of its own beside. Of a large table all this is done on a
sample, and what is left in the end is fitted to all rows and graded on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, partial

from symseek.algebra import forms
from symseek.arrays import Floats
from symseek.engines.choice import NATIVE
from symseek.engines.interface import Engine
from symseek.errors import InputError
from symseek.form import GivenForm
from symseek.limits import Limits
from symseek.model import Accuracy, Formula, Part
from symseek.programs import Program
from symseek.regression.all_rows import AllRows
from symseek.regression.certainty import filled_with_certainty, with_certainty
from symseek.regression.editing import Editing, FormEditing, GroupEditing
from symseek.regression.keeping import KeptTo
from symseek.regression.neat_numbers import NeatNumbers
from symseek.regression.own_numbers import in_order
from symseek.regression.refitting import Refitting
from symseek.regression.rows import Rows
from symseek.rewards import ErrorReward
from symseek.selection.breaks import find_breaks
from symseek.selection.measure import Measure
from symseek.selection.pick import Choice, pick
from symseek.selection.ranking import contenders, ranked
from symseek.settings import Settings
from symseek.tokens import Library

_SPANNING = 2_000  # rows that poles are looked for among
_LINE = 5  # tokens of c*x + c, which is always tried


class Postprocessing:
    """The steps after a search; `measure` is of the rows that formulas are chosen by."""

    def __init__(
        self,
        full: Library,
        rows: Rows,
        measure: Measure,
        settings: Settings,
        longest: int,
        engine: str | Engine,
        limits: Limits | None = None,
        form: GivenForm | None = None,
    ) -> None:
        self.full, self.rows, self.measure, self.form = full, rows, measure, form
        self.editing = Editing(full) if form is None else FormEditing(full, form)
        if full.grouping is not None:
            self.editing = GroupEditing(self.editing)
        self.kept_to = KeptTo(limits or Limits(), self.editing, rows.scales)
        self.constants, self.threads = settings.constants, settings.threads
        self.longest = longest
        # A sample of a large table is too small for a device to pay.
        self.engine = engine if rows.whole else NATIVE
        self.scaled = rows.judged.scaled(rows.scales)
        kept = self.constants, self.engine, self.threads, self.kept_to
        self.refit = Refitting(self.editing, measure, *kept)
        self.neat = NeatNumbers(self.editing, measure, self.constants)
        given = rows.train, rows.validation, measure.reward, engine, self.threads
        numbers = self.kept_to.limits.numbers
        if numbers is not None:  # neat numbers stay, so that others are the first to be fitted
            numbers = replace(numbers, first=())
        self.all_rows = None if rows.whole else AllRows(*given, numbers)
        # A search that is watched is asked about the same programs again and again.
        shorter = partial(self.editing.simplified, X=self.scaled.X)
        in_units = partial(self.editing.in_units, X=rows.judged.X, scales=rows.scales)
        self.simplified = cache(self.kept_to.simplifying(shorter))
        self.in_units = cache(self.kept_to.translating(in_units))
        self._formulas: dict[Program, Formula] = {}

    def preview(self, found: Sequence[Program]) -> list[Formula]:
        """The front while a search continues, its numbers as they are."""
        programs = [self.simplified(each) for each in self._with_own(found)]
        programs = self._with_number(self._short_enough(programs))
        programs = [self.in_units(each) for each in programs]
        # Before anything keeps to the limits, the number stands for it.
        obey = [each for each in programs if self.kept_to.allow(each)] or programs[:1]
        front = self.front([self.formula(each) for each in obey])
        return [self._in_full(self.kept_to.told(each)) for each in front]

    def formulas(self, found: Sequence[Program], proposed: Sequence[Program]) -> list[Formula]:
        """The front of a search that has ended, and of what was proposed to it."""
        programs = [self.simplified(each) for each in self._with_own(found)]
        proposed = [self.simplified(each) for each in proposed]
        if programs:
            programs = self._short_enough(self._refitted(programs, proposed))
        given = self.form is not None and self.form.marked
        if programs and self.full.grouping is not None and not given:
            programs = self.refit.shared_out(programs, self.scaled)
        if programs:
            programs = self.kept_to.those(programs)
            graded = [Formula.graded(each, self.scaled, self.measure.reward) for each in programs]
            programs = contenders(graded, proposed, self.measure)
        programs = [self.in_units(each) for each in self._with_number(programs)]
        programs = [self.kept_to.surely(self.neat(each), each) for each in programs]
        programs = [self.refit.own(in_order(each), self.rows.judged) for each in programs]
        programs = [each for each in programs if self.kept_to.hold(each)]
        if not programs:
            raise InputError(self.kept_to.limits.none_left)
        formulas = self.front([self.formula(each) for each in programs])
        front = self.front([self.on_all_rows(each) for each in formulas])
        return self.certain(front, [self._in_full(self.kept_to.told(each)) for each in front])

    def _with_own(self, found: Sequence[Program]) -> list[Program]:
        """Programs of a search with the groups' own numbers, which it does not keep."""
        if self.full.grouping is None or not found:
            return list(found)
        return self.refit(found, self.scaled)

    def front(self, formulas: Sequence[Formula]) -> list[Formula]:
        """The formulas that nothing simpler matches, simplest first."""
        return ranked(formulas, self.measure)

    def pick(self, formulas: Sequence[Formula], rule: str, final: bool = True) -> Choice:
        """The row of a front that a rule picks; tests that take a while are for what is `final`."""
        held_out, tested = self.rows.held_out, final and self.constants
        return pick(formulas, rule, self.measure, held_out, tested, self.threads, self.engine)

    def _refitted(self, programs: list[Program], proposed: list[Program]) -> list[Program]:
        """Programs without addends that hardly matter, fitted to the rows to choose by.

        How short the proposed ones are shows once their numbers are neat, so all stay as well.
        """
        tightened = self.refit.tightened([*programs, *proposed], self.rows.searched)
        return self.refit(list(dict.fromkeys([*tightened, *proposed])), self.scaled)

    def _short_enough(self, programs: Sequence[Program]) -> list[Program]:
        return [each for each in programs if len(each) <= max(self.longest, _LINE)]

    def _with_number(self, programs: list[Program]) -> list[Program]:
        """The programs, and before them the simplest formula of all, in the units of the search."""
        if (programs and not self.constants) or self.form is not None:
            return programs
        value = self.measure.number / self.rows.scales.target
        return [Program(self.full, (self.full.index("const"),), (value,)), *programs]

    def formula(self, program: Program) -> Formula:
        """A program in the user's units with its accuracy and its text."""
        if program not in self._formulas:
            rows, reward = self.rows, self.measure.reward
            found = Formula.graded(program, rows.judged, reward)
            validated = None
            if rows.held_out is not None:
                validated = Accuracy.of(program, rows.held_out, reward).r2
            found = self.kept_to.written(found)
            self._formulas[program] = replace(
                found,
                text=self._text(found),
                validation_r2=validated,
                exact=self.measure.exact(program),
            )
        return self._formulas[program]

    def _text(self, formula: Formula) -> str:
        return forms.text(self.editing.read(formula.program, formula.style), exact=formula.is_close)

    def _in_full(self, formula: Formula) -> Formula:
        """A formula of a given form as the right side in full, with its parts beside."""
        if self.form is None:
            return formula
        parts = self.form.parts(formula.program).values()
        filled = tuple(
            Part.of(unknown.name, unknown.columns, part.over(self.full), formula.is_close)
            for unknown, part in zip(self.form.unknowns, parts, strict=True)
        )
        whole = self.form.whole(formula.program, self.full).owning(formula.program)
        filled = tuple(sorted(filled, key=lambda part: not part.columns))  # functions first
        return replace(formula, program=whole, filled=filled)

    def certain(self, front: Sequence[Formula], whole: Sequence[Formula]) -> list[Formula]:
        """Formulas, written in full, with what the rows say of them.

        That is how sure their numbers are, how well they describe the rows, and where between or
        beyond these they have no value.
        """
        programs = [each.program for each in front]
        errors = [self.measure.of(each) for each in front]
        lengths = self.measure.descriptions(programs, errors)
        described = [
            replace(each, description=length, breaks=find_breaks(each.program, self._some))
            for each, length in zip(whole, lengths, strict=True)
        ]
        reward = self.measure.reward
        if not (isinstance(reward, ErrorReward) and reward.is_squared):
            return described
        given = self.rows.train, self.rows.repeats, self.threads
        if self.form is None:
            return with_certainty(described, *given)
        return filled_with_certainty(described, programs, *given)

    @cached_property
    def _some(self) -> Floats:
        """Rows that have the ends of every column."""
        return self.rows.judged.spanning(_SPANNING, 0).X

    def on_all_rows(self, formula: Formula) -> Formula:
        """The formula with its accuracy and its numbers on all rows.

        Nothing changes where the table is no larger than what it was chosen on.
        """
        every = self.all_rows
        if every is None:
            return formula
        program = formula.program
        if not formula.exact:
            program = self.kept_to.surely(every.fitted(program), program)
        found, validated = every.accuracy(program)
        formula = replace(
            formula,
            program=program,
            reward=found.reward,
            nrmse=found.nrmse,
            r2=found.r2,
            loss=found.loss,
        )
        formula = self.kept_to.written(formula)
        return replace(
            formula,
            text=self._text(formula),
            validation_r2=None if validated is None else validated.r2,
            exact=formula.exact and every.exact(program, len(self.measure.library)),
        )


def solved(formula: Formula, form: GivenForm, solution: Program) -> Formula:
    """A formula of the left side of a form as one of the target."""
    program = form.solved(solution, formula.program).owning(formula.program)
    found = replace(formula, program=program)
    found = replace(found, constants=(), numbers=(), certainty=None)  # those are of the left side
    return replace(found, text=found.written())
