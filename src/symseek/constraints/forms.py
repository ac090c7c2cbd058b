"""What a program may look like: declared in Python, enforced while it is being written.

A constraint narrows the tables that an engine reads (see `tables`), and can also check a
finished program. The general forms are `Length`, `Forbid` and `Count`; the named ones say in one
word what the paper asks for. Priors add to the logits instead of forbidding. Anything else can be
written as a Python object that is asked once a step about all unfinished programs: see `Partial`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import ABOVE_0, FINITE, check_fields, items
from symseek.constraints.tables import CountTable, Tables
from symseek.errors import InputError, shown, suggestion, unknown_name
from symseek.programs import Program
from symseek.tokens import Library

RELATIONS = ("child", "left child", "right child", "only child", "descendant", "sibling")


@runtime_checkable
class Constraint(Protocol):
    """A built-in constraint or prior: it narrows the tables and checks finished programs."""

    def narrow(self, tables: Tables) -> None:
        """Write what this forbids (or prefers) into the tables."""

    def violated_by(self, program: Program) -> bool:
        """Does the finished program break this?"""


@dataclass(frozen=True)
class Partial:
    """Unfinished programs, as a user's constraint sees them. Equal beginnings come once."""

    library: Library
    tokens: NDArray[np.int16]  # [B, t] so far
    parent: NDArray[np.int16]  # [B] of the next token, EMPTY for none
    sibling: NDArray[np.int16]  # [B] left of the next token, EMPTY for none
    open_slots: NDArray[np.int32]  # [B] positions still to fill, the next one included

    @property
    def length(self) -> int:
        """t: tokens so far."""
        return int(self.tokens.shape[1])


@runtime_checkable
class Custom(Protocol):
    """A user's constraint: returns a mask [B, L] (True: allowed) or logits [B, L] to add.

    >>> import numpy as np
    >>> class StartsWithSine:
    ...     def __call__(self, partial):
    ...         mask = np.ones((len(partial.tokens), len(partial.library)), dtype=bool)
    ...         if partial.length == 0:
    ...             mask[:] = np.array(partial.library.names) == "sin"
    ...         return mask
    >>> isinstance(StartsWithSine(), Custom)
    True
    """

    def __call__(self, partial: Partial) -> ArrayLike:
        """What may be the next token of every unfinished program."""


def _ids(library: Library, names: Sequence[str], where: str) -> list[int]:
    known = set(library.names)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(
                f"{where} names {shown(name)}, which is not in the library;"
                f" {suggestion(name, library.names)}",
                field="constraints",
                value=name,
                wanted=suggestion(name, library.names),
            )
    return [library.index(name) for name in names]


def _mask(library: Library, names: Sequence[str], where: str) -> NDArray[np.bool_]:
    mask = np.zeros(len(library), dtype=bool)
    mask[_ids(library, names, where)] = True
    return mask


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(items("tokens", names, "names of tokens"))


def _refuse_second_limit(tables: Tables) -> None:
    if tables.max_length:
        raise InputError(
            "there are two Length constraints or a CloseUnfinished beside one; keep one of them"
        )


@dataclass(frozen=True)
class Length:
    """Between `low` and `high` tokens."""

    low: int = 4
    high: int = 30

    def __post_init__(self) -> None:
        check_fields(self, low=1)
        if self.high < self.low:
            raise InputError(
                f"the minimum length {self.low} is above the maximum length {self.high};"
                " lower one or raise the other"
            )

    def narrow(self, tables: Tables) -> None:
        _refuse_second_limit(tables)
        tables.min_length, tables.max_length = self.low, self.high

    def violated_by(self, program: Program) -> bool:
        return not self.low <= len(program) <= self.high


@dataclass(frozen=True)
class CloseUnfinished:
    """No limits on length, but after `at` tokens every open position takes an input variable."""

    at: int = 30

    def __post_init__(self) -> None:
        check_fields(self, at=1)

    def narrow(self, tables: Tables) -> None:
        _refuse_second_limit(tables)
        if not tables.library.variable_ids:
            raise InputError("CloseUnfinished needs an input variable in the library")
        tables.close_at, tables.max_length = self.at, self.at

    def violated_by(self, program: Program) -> bool:
        variables = set(program.library.variable_ids)
        return any(token not in variables for token in program.tokens[self.at :])


@dataclass(frozen=True)
class Forbid:
    """`tokens` must not be the child, left child, ..., descendant or sibling of `of`.

    With an `argument`, counted from 0, a child or descendant is forbidden in that argument only.

    >>> print(Forbid("log", "child", of="exp"))
    Forbid log as child of exp
    >>> print(Forbid("x", "descendant", of="div", argument=1))
    Forbid x as descendant of div in argument 1
    """

    tokens: tuple[str, ...]
    relation: str
    of: tuple[str, ...]
    argument: int | None

    def __init__(
        self,
        tokens: str | Iterable[str],
        relation: str,
        of: str | Iterable[str],
        argument: int | None = None,
    ) -> None:
        if not isinstance(relation, str) or relation not in RELATIONS:
            raise unknown_name("relation", relation, RELATIONS)
        object.__setattr__(self, "tokens", _names(tokens))
        object.__setattr__(self, "relation", relation)
        object.__setattr__(self, "of", _names(of))
        object.__setattr__(self, "argument", argument)
        check_fields(self)
        if argument is not None and relation not in ("child", "descendant"):
            raise InputError(f"{self}: only a child or a descendant can be in a given argument")

    def __str__(self) -> str:
        text = f"Forbid {'/'.join(self.tokens)} as {self.relation} of {'/'.join(self.of)}"
        return text if self.argument is None else f"{text} in argument {self.argument}"

    def narrow(self, tables: Tables) -> None:
        library = tables.library
        tokens, of = _ids(library, self.tokens, str(self)), _ids(library, self.of, str(self))
        least = min(library.arities[each] for each in of) if of else 0
        if self.argument is not None and not 0 <= self.argument < least:
            raise InputError(f"{self}: a token of arity {least} has no such argument")
        if self.relation == "descendant":
            inside = np.zeros((len(library), tables.max_arity), dtype=bool)
            inside[of, slice(None) if self.argument is None else self.argument] = True
            tables.descendants.append((inside, _mask(library, self.tokens, str(self))))
        elif self.relation == "sibling":
            for left, right in ((of, tokens), (tokens, of)):
                tables.sibling[np.ix_(left, right)] = False
        else:
            for parent in of:
                for place in self._places(int(library.arity[parent])):
                    tables.child[parent, place, tokens] = False

    def _places(self, arity: int) -> range:
        """The places among `arity` children that the relation speaks of."""
        if self.argument is not None:
            return range(self.argument, self.argument + 1)
        if self.relation in ("child", "descendant"):
            return range(arity)
        if self.relation == "only child":
            return range(1 if arity == 1 else 0)
        if arity < 2:
            return range(0)
        return range(1) if self.relation == "left child" else range(arity - 1, arity)

    def violated_by(self, program: Program) -> bool:
        names, parents = program.names, program.parents
        if self.relation == "sibling":
            pairs = [
                (names[a], names[b])
                for a, b in permutations(range(len(names)), 2)
                if parents[a][0] == parents[b][0]
            ]
            return any(one in self.tokens and other in self.of for one, other in pairs)
        return any(
            names[above] in self.of and place in self._places(program.library[names[above]].arity)
            for at, name in enumerate(names)
            if name in self.tokens
            for above, place in self._above(program, at)
        )

    def _above(self, program: Program, at: int) -> Iterator[tuple[int, int]]:
        """The operators that the relation is to, and in which argument of each a token is."""
        above, place = program.parents[at]
        while above >= 0:
            yield above, place
            if self.relation != "descendant":
                return
            above, place = program.parents[above]


@dataclass(frozen=True)
class Count:
    """At least `low` and at most `high` tokens out of `tokens`, taken together."""

    tokens: tuple[str, ...]
    low: int = 0
    high: int | None = None

    def __init__(self, tokens: str | Iterable[str], low: int = 0, high: int | None = None) -> None:
        object.__setattr__(self, "tokens", _names(tokens))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        check_fields(self)
        if low < 0 or (high is not None and high < low):
            raise InputError(f"{self}: the bounds must satisfy 0 <= low <= high")
        if max(low, high or 0) > 255:
            raise InputError(f"{self}: counts go up to 255")

    def __str__(self) -> str:
        most = "any number" if self.high is None else str(self.high)
        return f"Count of {'/'.join(self.tokens)} from {self.low} to {most}"

    def narrow(self, tables: Tables) -> None:
        if self.low or self.high is not None:
            member = _mask(tables.library, self.tokens, str(self))
            tables.counts.append(CountTable(member, self.low, self.high))

    def violated_by(self, program: Program) -> bool:
        found = sum(name in self.tokens for name in program.names)
        return found < self.low or (self.high is not None and found > self.high)


@dataclass(frozen=True)
class NotAll:
    """The children of an operator are not all out of `tokens`."""

    tokens: tuple[str, ...]

    def __init__(self, tokens: str | Iterable[str]) -> None:
        object.__setattr__(self, "tokens", _names(tokens))

    def __str__(self) -> str:
        return f"NotAll children {'/'.join(self.tokens)}"

    def narrow(self, tables: Tables) -> None:
        tables.not_all.append(_mask(tables.library, self.tokens, str(self)))

    def violated_by(self, program: Program) -> bool:
        return any(
            all(part.names[0] in self.tokens for part in parts)
            for parts in (program.subtree(at).arguments for at in range(len(program)))
            if parts
        )


class _Named:
    """A constraint that follows from the library: `forms` spells it out in the general forms."""

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        raise NotImplementedError

    def narrow(self, tables: Tables) -> None:
        for form in self.forms(tables.library):
            form.narrow(tables)

    def violated_by(self, program: Program) -> bool:
        return any(form.violated_by(program) for form in self.forms(program.library))


@dataclass(frozen=True)
class NotAllConstants(_Named):
    """The children of an operator are not all placeholder constants: that is a constant again."""

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        own = () if library.grouping is None else library.grouping.own
        names = *(() if library.constant_id is None else ("const",)), *own
        return [NotAll(names)] if names else []


@dataclass(frozen=True)
class NoInverseChild(_Named):
    """No unary operator directly under the one that it undoes, as in log(exp(x))."""

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        names = set(library.names)
        return [
            Forbid(token.inverse, "child", of=token.name)
            for token in library
            if token.arity == 1 and token.inverse in names and token.inverse is not None
        ]


@dataclass(frozen=True)
class NoNestedTrigonometry(_Named):
    """No trigonometric operator anywhere below another, as in sin(x + cos(x))."""

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        names = [token.name for token in library if token.trigonometric]
        return [Forbid(names, "descendant", of=names)] if names else []


@dataclass(frozen=True)
class MaxConstants(_Named):
    """At most `most` placeholder constants."""

    most: int = 3

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        return [] if library.constant_id is None else [Count("const", high=self.most)]


@dataclass(frozen=True)
class SomeVariable(_Named):
    """At least one input variable."""

    def forms(self, library: Library) -> list[Forbid | Count | NotAll]:
        return [Count(library.inputs, low=1)] if library.inputs else []


@dataclass(frozen=True)
class SoftLength:
    """A preference for about `location` tokens, falling off like a Gaussian of width `scale`.

    Before the location, ending the program costs (t - location)^2 / (2 scale^2); after it, so does
    opening new positions.
    """

    location: float = 10.0
    scale: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self, location=(-FINITE, FINITE), scale=ABOVE_0)

    def narrow(self, tables: Tables) -> None:
        tables.soft.append(self)

    def added_logits(self, tables: Tables) -> NDArray[np.float32]:
        """[T, 2, L]; the second index says whether this is the last open position."""
        length = np.arange(1, tables.capacity + 1)
        cost = -((length - self.location) ** 2) / (2 * self.scale**2)
        logits = np.zeros((tables.capacity, 2, len(tables.library)), dtype=np.float32)
        terminal = tables.library.arity == 0
        early, late = length < self.location, length > self.location
        logits[:, 1] += np.outer(early * cost, terminal)  # ending now
        logits += np.outer(late * cost, ~terminal)[:, None]  # opening more
        return logits

    def violated_by(self, program: Program) -> bool:
        return False


@dataclass(frozen=True)
class UniformArity:
    """Before any training, every arity is as likely as every other, however many tokens have it."""

    def narrow(self, tables: Tables) -> None:
        tables.soft.append(self)

    def added_logits(self, tables: Tables) -> NDArray[np.float32]:
        """[T, 2, L], the same at every step."""
        arity = tables.library.arity
        share = np.array([-np.log(np.count_nonzero(arity == each)) for each in arity])
        return np.broadcast_to(share, (tables.capacity, 2, len(arity))).astype(np.float32)

    def violated_by(self, program: Program) -> bool:
        return False


def paper_constraints(low: int = 4, high: int = 30, constants: int = 3) -> list[Constraint]:
    """The four constraints of the paper, and its limit on constants."""
    return [
        Length(low, high),
        NotAllConstants(),
        NoInverseChild(),
        NoNestedTrigonometry(),
        MaxConstants(constants),
    ]
