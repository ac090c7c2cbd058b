"""What formulas must or must not have, in words: "x", "sin inside exp", "at most 2 sin".

Each phrase becomes constraints that hold while formulas are sampled and bred, and that bind all
others too: guesses, what structure proposes, and each formula as it is written in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from symseek.constraints.forms import Count, Forbid
from symseek.constraints.tables import Tables
from symseek.errors import InputError, Setting, shown, suggestion
from symseek.operators.table import ALIASES
from symseek.programs import Program
from symseek.tokens import Library, TokenKind

REQUIRED = "names of columns and operators, or counts such as 'at most 2 sin'"
FORBIDDEN = "names of columns and operators, or nestings such as 'sin inside exp' and 'div by x'"

_COUNTED = re.compile(r"(at most|at least|exactly)\s+(\d{1,2})\s+(.+)")
_NESTED = re.compile(r"(.+?)\s+(directly inside|inside)\s+(.+)")
_DIVIDED = re.compile(r"div(?:ision)? by\s+(.+)")
# Operators that are written with another one: who forbids exp wants no exp(-x) either.
_WRITTEN_WITH = {"div": ["reciprocal"], "exp": ["neg_exp", "gauss", "logistic"]}


@dataclass(frozen=True)
class Binding:
    """A constraint that no formula may break, wherever it comes from.

    Tokens that a library lacks are no matter to it.

    >>> rule = Binding(Count("sin", high=1))
    >>> library = Library(["add", "sin"], ["x"])
    >>> rule.violated_by(Program.parse("sin(x) + sin(x)", library)), str(rule)
    (True, 'Count of sin from 0 to 1')
    """

    rule: Forbid | Count
    binding: ClassVar[bool] = True

    def __str__(self) -> str:
        return str(self.rule)

    def narrow(self, tables: Tables) -> None:
        """Forbid it while formulas are written."""
        rule = self.rule
        tokens = [each for each in rule.tokens if each in tables.library]
        if isinstance(rule, Count):
            if tokens:
                Count(tokens, rule.low, rule.high).narrow(tables)
            return
        of = [each for each in rule.of if each in tables.library]
        if tokens and of:
            Forbid(tokens, rule.relation, of, rule.argument).narrow(tables)

    def violated_by(self, program: Program) -> bool:
        """Does the finished program break this?"""
        return self.rule.violated_by(program)


def required(phrases: Iterable[str], library: Library, full: Library) -> list[Binding]:
    """What formulas must have.

    Args:
        phrases: the words.
        library: what formulas are searched with.
        full: that with every operator.

    >>> library = Library(["add", "sin"], ["x"])
    >>> [str(each) for each in required(["x", "at most 2 sin"], library, library)]
    ['Count of x from 1 to any number', 'Count of sin from 0 to 2']
    """
    words = _Words("require", REQUIRED, full)
    rules: list[Binding] = []
    for phrase in phrases:
        counted = _COUNTED.fullmatch(phrase.strip())
        least, most = 1, None
        name = phrase
        if counted is not None and phrase.strip() not in full:
            how, number, name = counted[1], int(counted[2]), counted[3]
            least = 0 if how == "at most" else number
            most = None if how == "at least" else number
        tokens = words.family(name)
        if least and not any(each in library for each in tokens):
            raise InputError(
                Setting("require"),
                f" has {shown(name)}, which is not among the operators of the search; add it to ",
                Setting("operators"),
                value=phrase,
                wanted=REQUIRED,
            )
        rules.append(Binding(Count(tokens, least, most)))
    return rules


def forbidden(phrases: Iterable[str], full: Library) -> list[Binding]:
    """What formulas must not have; `full` is the library with every operator.

    >>> library = Library(["add", "sin", "exp", "div"], ["x"])
    >>> for each in forbidden(["sin inside exp", "div by x"], library):
    ...     print(each)
    Forbid sin as descendant of exp
    Forbid x as descendant of div in argument 1
    """
    return [
        Binding(rule)
        for phrase in phrases
        for rule in _forbidden(phrase.strip(), _Words("forbid", FORBIDDEN, full), full)
    ]


def _forbidden(phrase: str, words: _Words, full: Library) -> Iterator[Forbid | Count]:
    nested, divided = _NESTED.fullmatch(phrase), _DIVIDED.fullmatch(phrase)
    if phrase not in full and divided is not None:
        tokens = words.family(divided[1])
        for of in (each for each in words.family("div") if each in full):
            yield Forbid(tokens, "descendant", of, 1 if full[of].arity == 2 else None)
    elif phrase not in full and nested is not None:
        tokens, around = words.family(nested[1]), words.family(nested[3])
        if not any(full[each].arity for each in around):
            words.refuse(nested[3], phrase, "has no inside; name an operator")
        yield Forbid(tokens, "descendant" if nested[2] == "inside" else "child", around)
    else:
        yield Count(words.family(phrase), high=0)


@dataclass(frozen=True)
class _Words:
    """Reads names in the phrases of a setting."""

    setting: str
    wanted: str
    full: Library

    def family(self, name: str) -> list[str]:
        """The tokens that a name stands for."""
        name = name.strip()
        if name not in self.full:
            name = ALIASES.get(name, name)
        if name not in self.full or self.full[name].kind not in _NAMED:
            known = [each.name for each in self.full if each.kind in _NAMED and not each.protects]
            self.refuse(name, name, f"is no column and no operator; {suggestion(name, known)}")
        others = [each.name for each in self.full if each.protects == name]
        return [name, *(each for each in _WRITTEN_WITH.get(name, []) if each in self.full), *others]

    def refuse(self, name: str, phrase: str, why: str) -> NoReturn:
        """Say what is wrong with a name."""
        raise InputError(
            Setting(self.setting),
            f" has {shown(name)}, which {why}",
            value=phrase,
            wanted=self.wanted,
        )


_NAMED = (TokenKind.VARIABLE, TokenKind.OPERATOR)
