"""Programs: expressions as pre-order traversals, one by one or a whole batch as arrays.

A pre-order sequence of tokens is a tree exactly when its open slots reach zero at its last token
and not before. `Programs` is the batch that the engines read and write; `Program` is one
expression, which can be parsed, printed and evaluated. The values of `const` tokens stand beside
the tokens, in the order in which those come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symseek.arguments import items, real_array, refused
from symseek.arrays import Floats
from symseek.errors import InputError, Setting, printable
from symseek.notation import parse, printing, sympy_forms
from symseek.operators.record import ARGUMENTS, read_formulas_with
from symseek.tokens import EMPTY, Library, Token, TokenKind, every_operator

if TYPE_CHECKING:
    from sympy import Expr

Value = TypeVar("Value")


@dataclass(frozen=True)
class Program:
    """One expression over a library.

    >>> library = Library(["add", "mul", "sin", "square", "const"], variables=["x", "y"])
    >>> program = Program.parse("sin(x)**2 + 1.5*y", library)
    >>> print(program)
    sin(x)**2 + 1.5*y
    >>> program.names
    ('add', 'square', 'sin', 'x', 'mul', 'const', 'y')
    >>> program.complexity
    10
    >>> program.evaluate([[0.0, 2.0], [0.0, 4.0]])
    array([3., 6.])
    """

    library: Library
    tokens: tuple[int, ...]
    constants: tuple[float, ...] = ()
    own: tuple[tuple[float, ...], ...] = ()  # of the numbers that groups have of their own [J, G]

    def __post_init__(self) -> None:
        _checked_library(self.library)
        try:
            object.__setattr__(self, "tokens", tuple(int(token) for token in self.tokens))
            given = tuple(float(value) for value in self.constants)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"a program is made of token numbers and constants, and these are none: {error}"
            ) from None
        _check_complete(self.library, self.tokens)
        wanted = self.tokens.count(_constant_id(self.library))
        if len(given) > wanted:
            raise InputError(f"the program has {wanted} constants but {len(given)} values came")
        object.__setattr__(self, "constants", given + (1.0,) * (wanted - len(given)))

    @classmethod
    def _trusted(
        cls,
        library: Library,
        tokens: tuple[int, ...],
        constants: tuple[float, ...],
        own: tuple[tuple[float, ...], ...] = (),
    ) -> Program:
        """Build without checking: for tokens that an engine or this package wrote."""
        program = object.__new__(cls)
        program.__dict__.update(library=library, tokens=tokens, constants=constants, own=own)
        return program

    @classmethod
    def parse(cls, text: str, library: Library | None = None) -> Program:
        """Read infix text; without a library, one with every operator and the names in the text.

        >>> Program.parse("x**2 + 1").preorder()
        'add square x 1.0'
        """
        library = parse.infer_library(text) if library is None else _checked_library(library)
        return cls(library, *parse.parse_infix(text, library))

    @classmethod
    def from_preorder(cls, names: str | Iterable[str | float], library: Library) -> Program:
        """Read a pre-order sequence of names; a number that is not a token is a `const`.

        >>> str(Program.from_preorder("mul x 1.5", Library(["mul", "const"], variables=["x"])))
        'x*1.5'
        """
        if not isinstance(names, str):
            names = items("the sequence", names, "text, or a list of names")
        return cls(library, *parse.parse_preorder(names, _checked_library(library)))

    @classmethod
    def from_sympy(cls, expression: Expr | float, library: Library | None = None) -> Program:
        """Read a SymPy expression, its symbols matched to variables by name.

        >>> import sympy
        >>> x = sympy.Symbol("x")
        >>> str(Program.from_sympy((1 - x) / sympy.sqrt(x)))
        '(1.0 - x)/sqrt(x)'
        """
        whole = sympy_forms.real_expression(expression)
        library = sympy_forms.infer_library(whole) if library is None else _checked_library(library)
        return cls(library, *sympy_forms.from_sympy(whole, library))

    @classmethod
    def joined(cls, name: str, arguments: Sequence[Program]) -> Program:
        """An operator of arguments, all over one library.

        >>> x = Program.parse("2.0*x")
        >>> print(Program.joined("add", [x, x]))
        2.0*x + 2.0*x
        """
        library = arguments[0].library
        tokens = (library.index(name), *(each for part in arguments for each in part.tokens))
        constants = tuple(each for part in arguments for each in part.constants)
        return cls._trusted(library, tokens, constants)

    def over(self, library: Library) -> Program:
        """The same tokens, by their names, over another library."""
        return Program(library, tuple(map(library.index, self.names)), self.constants, self.own)

    @cached_property
    def parents(self) -> tuple[tuple[int, int], ...]:
        """For each token, where its operator is, and which argument it is; (-1, 0) for the root.

        >>> Program.parse("x + sin(x)").parents
        ((-1, 0), (0, 0), (0, 1), (2, 0))
        """
        arities = self.library.arities
        found: list[tuple[int, int]] = []
        waiting = [(-1, 0)]
        for at, token in enumerate(self.tokens):
            found.append(waiting.pop())
            waiting += [(at, argument) for argument in reversed(range(arities[token]))]
        return tuple(found)

    def _end(self, at: int) -> int:
        """Where the subtree ends that begins at a token."""
        open_slots = 1
        while open_slots:
            open_slots += self.library.arities[self.tokens[at]] - 1
            at += 1
        return at

    def _constants_before(self, at: int) -> int:
        return self.tokens[:at].count(_constant_id(self.library))

    def subtree(self, at: int) -> Program:
        """The part that begins at a token.

        >>> print(Program.parse("2.0*x + sin(3.0*x)").subtree(5))
        3.0*x
        """
        end = self._end(at)
        first, last = self._constants_before(at), self._constants_before(end)
        constants = self.constants[first:last]
        return self._trusted(self.library, self.tokens[at:end], constants, self.own)

    def replaced(self, at: int, part: Program) -> Program:
        """The program with another part, over the same library, for the one that begins at a token.

        >>> law = Program.parse("2.0*x + sin(3.0*x)")
        >>> print(law.replaced(5, law.subtree(0)))
        2.0*x + sin(2.0*x + sin(3.0*x))
        """
        end = self._end(at)
        first, last = self._constants_before(at), self._constants_before(end)
        tokens = (*self.tokens[:at], *part.tokens, *self.tokens[end:])
        constants = (*self.constants[:first], *part.constants, *self.constants[last:])
        return self._trusted(self.library, tokens, constants, self.own)

    @property
    def arguments(self) -> list[Program]:
        """The arguments of the outermost operator."""
        return [self.subtree(at) for at, (parent, _) in enumerate(self.parents) if parent == 0]

    @property
    def names(self) -> tuple[str, ...]:
        """The tokens' names in pre-order."""
        names = self.library.names
        return tuple(names[token] for token in self.tokens)

    @property
    def complexity(self) -> int:
        """The sum of the tokens' complexities."""
        tokens = self.library.tokens
        return sum(tokens[token].complexity for token in self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def fold(self, combine: Callable[[int, float | None, list[Value]], Value]) -> Value:
        """Work the tree from its leaves: `combine(token, constant, arguments)` at every node.

        `constant` is the value where the token is `const`, None elsewhere. There is no recursion,
        so a tree may be as deep as it likes.
        """
        arities = self.library.arities
        constant_id = _constant_id(self.library)
        constants = list(self.constants)
        stack: list[Value] = []
        for token in reversed(self.tokens):
            arity = arities[token]
            arguments = stack[: -arity - 1 : -1]
            del stack[len(stack) - arity :]
            constant = constants.pop() if token == constant_id else None
            stack.append(combine(token, constant, arguments))
        return stack[0]

    def worked(
        self,
        column: Callable[[int], Value],
        number: Callable[[float], Value],
        operator: Callable[[Token, list[Value]], Value],
    ) -> Value:
        """Work the tree by what its columns, its numbers and its operators come to.

        >>> law = Program.parse("2.0*x + sin(x)")
        >>> law.worked(lambda at: 1, lambda value: 1, lambda token, sizes: 1 + sum(sizes))
        6
        """
        tokens = self.library.tokens

        def combine(token: int, constant: float | None, arguments: list[Value]) -> Value:
            this = tokens[token]
            if this.kind is TokenKind.OPERATOR:
                return operator(this, arguments)
            if this.kind is TokenKind.VARIABLE:
                assert this.index is not None
                return column(this.index)
            value = this.value if constant is None else constant
            assert value is not None
            return number(value)

        return self.fold(combine)

    def apply(self, *columns: Any) -> Any:
        """The value for given variables, by NumPy, one argument a variable; anything goes in."""

        def operator(token: Token, arguments: list[Any]) -> Any:
            if token.numpy is None:
                raise InputError(
                    f"token {token.name!r} has no formula to evaluate; give it one, or a numpy"
                    " function"
                )
            return token.numpy(*arguments, *columns[: token.columns])

        with np.errstate(all="ignore"):
            return self.worked(columns.__getitem__, np.float64, operator)

    def evaluate(self, X: ArrayLike) -> NDArray[np.float64]:
        """The values [N] on the rows of X [N, n]; what is undefined comes out as nan or inf."""
        rows = self.widened(real_array(X, "X"))
        if rows.ndim != 2 or rows.shape[1] != len(self.library.variables):
            columns = self.library.columns
            raise InputError(
                f"X has shape {rows.shape}; this program needs rows of {len(columns)} columns, "
                f"{', '.join(columns)}"
            )
        values: NDArray[np.float64] = np.asarray(self.apply(*rows.T), dtype=np.float64)
        return values if values.ndim else np.full(len(rows), values)

    def widened(self, X: Floats) -> Floats:
        """Rows of a table with the groups' own numbers beside the columns, if there are groups.

        >>> from dataclasses import replace
        >>> from symseek.groups import Grouping
        >>> groups = Grouping("group", ("A", "B"), ("a",))
        >>> library = Library(["mul"], ["x", "group", "a"], groups)
        >>> law = Program.parse("a*x", library)
        >>> replace(law, own=((2.0, 3.0),)).evaluate([[1.0, 0.0], [5.0, 1.0]])
        array([ 2., 15.])
        """
        grouping, columns = self.library.grouping, self.library.columns
        if grouping is None or X.ndim != 2 or X.shape[1] != len(columns):
            return X
        codes = X[:, columns.index(grouping.column)]
        own = grouping.columns(codes, self.own)
        own[:, [at for at in range(len(grouping.own)) if at not in self.own_used]] = 0.0
        return np.column_stack([X, own])

    def owning(self, other: Program) -> Program:
        """The program with the groups' own numbers of another, which has the same names."""
        return replace(self, own=other.own) if other.own and self.own_used else self

    @cached_property
    def own_used(self) -> tuple[int, ...]:
        """Which of the numbers that groups have of their own the program has."""
        own = range(len(self.library.columns), len(self.library.variables))
        ids = self.library.variable_ids
        return tuple(at for at, each in enumerate(own) if ids[each] in self.tokens)

    @property
    def numbers(self) -> int:
        """How many fitted numbers it has; one of the groups' own is one for each group."""
        grouping = self.library.grouping
        groups = 0 if grouping is None else len(grouping.labels)
        return len(self.constants) + groups * len(self.own_used)

    def infix(self) -> str:
        """Readable text that `parse` reads back to this very program."""
        return printing.infix(self)

    def __str__(self) -> str:
        """The same for reading: a name cannot move the cursor of a terminal."""
        return printable(self.infix())

    def __repr__(self) -> str:
        return f"Program({self.infix()!r})"

    def preorder(self) -> str:
        """The tokens' names with spaces between, constants as numbers; `from_preorder` reads it."""
        return printing.preorder(self)

    def latex(self) -> str:
        """LaTeX for mathematics mode."""
        return printing.latex(self)

    def tree(self) -> str:
        """The tree, drawn with lines."""
        return printing.tree(self)

    def sympy(self, **assumptions: bool) -> Expr:
        """The SymPy expression; assumptions such as `positive=True` go to its symbols.

        >>> Program.parse("sqrt(x**2) + 1").sympy(positive=True)
        x + 1
        """
        from sympy import Symbol

        # Built over the reals, where |e^x| is e^x, and handed out with plain symbols if none are
        # asked for, so that they equal those the caller makes.
        chosen = assumptions or {"real": True}
        expression: Expr = sympy_forms.to_sympy(self, lambda name: Symbol(name, **chosen))
        if not assumptions:
            plain = {each: Symbol(each.name) for each in expression.free_symbols}
            expression = expression.xreplace(plain)
        return expression

    def sympy_of(self, *expressions: Any) -> Any:
        """The SymPy expression with others for the variables, one argument a variable."""
        named = dict(zip(self.library.variables, expressions, strict=True))
        return sympy_forms.to_sympy(self, named.__getitem__)


@dataclass(frozen=True, eq=False)
class Programs:
    """A batch of programs as arrays. Indexing by a number gives a `Program`, else a smaller batch.

    Arrays of the caller's are checked: every row must be one complete program, since engines read
    them as they are.

    >>> library = Library(["add", "sin"], variables=["x"])
    >>> batch = Programs.from_list([Program.parse(t, library) for t in ("x", "sin(x) + x")])
    >>> batch.tokens.tolist(), batch.lengths.tolist()
    ([[2, -1, -1, -1], [0, 1, 2, 2]], [1, 4])
    >>> batch[1]
    Program('sin(x) + x')
    """

    library: Library
    tokens: NDArray[np.int16]  # [B, T] pre-order, EMPTY after the end
    lengths: NDArray[np.int32]  # [B]
    constants: NDArray[np.float64]  # [B, K] values of `const` tokens in pre-order, else 1.0
    own: Floats | None = None  # [B, J, G] those that groups have of their own, NaN if not known

    def __post_init__(self) -> None:
        if not isinstance(self.library, Library):
            raise InputError(
                f"programs need a Library, not {type(self.library).__name__}",
                field="library",
                value=self.library,
            )
        for name, dtype, rank in (
            ("tokens", np.int16, 2),
            ("lengths", np.int32, 1),
            ("constants", np.float64, 2),
        ):
            array = _array(name, getattr(self, name), np.dtype(dtype))
            if array.ndim != rank:
                raise InputError(
                    f"{name} must have {rank} dimensions, not shape {array.shape}",
                    field=name,
                    value=array.shape,
                )
            object.__setattr__(self, name, array)
        if not len(self.tokens) == len(self.lengths) == len(self.constants):
            raise InputError(
                f"{len(self.tokens)} rows of tokens, {len(self.lengths)} lengths and "
                f"{len(self.constants)} rows of constants do not make one batch"
            )
        _check_batch(self)

    @classmethod
    def _trusted(
        cls,
        library: Library,
        tokens: NDArray[np.int16],
        lengths: NDArray[np.int32],
        constants: NDArray[np.float64],
        own: Floats | None = None,
    ) -> Programs:
        """Build without checking: for arrays that an engine or this package made."""
        programs = object.__new__(cls)
        programs.__dict__.update(
            library=library, tokens=tokens, lengths=lengths, constants=constants, own=own
        )
        return programs

    @classmethod
    def from_list(cls, programs: Sequence[Program], library: Library | None = None) -> Programs:
        """Pack programs over one library; the library must be given for an empty list."""
        programs = _each_of(programs, Program, "programs")
        if library is None:
            if not programs:
                raise InputError("an empty list of programs needs a library beside it")
            library = programs[0].library
        lengths = np.array([len(program) for program in programs], dtype=np.int32)
        longest = max((len(p.constants) for p in programs), default=0)
        tokens = np.full((len(programs), int(lengths.max(initial=0))), EMPTY, dtype=np.int16)
        constants = np.ones((len(programs), longest))
        for row, program in enumerate(programs):
            if program.library != library:
                raise InputError(f"program {row}, {program}, is over a different library")
            tokens[row, : len(program)] = program.tokens
            constants[row, : len(program.constants)] = program.constants
        own, grouping = None, library.grouping
        if grouping is not None and any(each.own for each in programs):
            own = np.full((len(programs), len(grouping.own), len(grouping.labels)), np.nan)
            for table, program in zip(own, programs, strict=True):
                if program.own:
                    table[:] = program.own
        return cls._trusted(library, tokens, lengths, constants, own)

    @classmethod
    def concatenate(cls, batches: Sequence[Programs]) -> Programs:
        """One batch after another, over one library."""
        batches = _each_of(batches, Programs, "batches")
        if not batches:
            raise InputError("there are no batches to concatenate")
        library = batches[0].library
        if any(batch.library != library for batch in batches):
            raise InputError("the batches to concatenate are over different libraries")
        return cls._trusted(
            library,
            _stack([batch.tokens for batch in batches], EMPTY),
            np.concatenate([batch.lengths for batch in batches]),
            _stack([batch.constants for batch in batches], 1.0),
        )

    @property
    def complexity(self) -> NDArray[np.int32]:
        """The complexities [B]."""
        # EMPTY is -1, so a zero at the end of the table makes padding cost nothing. take and einsum
        # do in half the time what indexing and sum do; the search asks in every iteration.
        costs = np.append(self.library.complexity, np.int32(0))
        total: NDArray[np.int32] = np.einsum("bt->b", costs.take(self.tokens, mode="wrap"))
        return total

    @property
    def constant_counts(self) -> NDArray[np.intp]:
        """How many `const` tokens each program has [B]."""
        constant = self.library.constant_id
        if constant is None:
            return np.zeros(len(self), dtype=np.intp)
        counts: NDArray[np.intp] = np.count_nonzero(self.tokens == constant, axis=1)
        return counts

    def with_constants(self, constants: NDArray[np.float64]) -> Programs:
        """The same programs with other values [B, K] for their constants."""
        return Programs._trusted(self.library, self.tokens, self.lengths, constants, self.own)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Program]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, row: int) -> Program: ...
    @overload
    def __getitem__(self, row: slice | Sequence[int] | NDArray[Any]) -> Programs: ...
    def __getitem__(self, row: int | slice | Sequence[int] | NDArray[Any]) -> Program | Programs:
        if isinstance(row, (int, np.integer)):
            return self._program(int(row))
        if not isinstance(row, slice):
            row = np.asarray(row)
            row = row.astype(np.intp) if row.size == 0 else row
        own = None if self.own is None else self.own[row]
        return Programs._trusted(
            self.library, self.tokens[row], self.lengths[row], self.constants[row], own
        )

    def _program(self, row: int) -> Program:
        tokens = tuple(self.tokens[row, : self.lengths[row]].tolist())
        wanted = tokens.count(_constant_id(self.library))
        constants: tuple[float, ...] = ()
        if wanted:
            constants = tuple(self.constants[row, :wanted].tolist())
            constants += (1.0,) * (wanted - len(constants))
        program = Program._trusted(self.library, tokens, constants)
        if self.own is None or not program.own_used:
            return program
        own = tuple(map(tuple, self.own[row].tolist()))
        return Program._trusted(self.library, tokens, constants, own)

    def __repr__(self) -> str:
        return f"<Programs: {len(self)} over {self.library!r}>"


def _checked_library(library: Any) -> Library:
    if not isinstance(library, Library):
        raise refused("the library", library, "a Library")
    return library


def _each_of(values: Any, kind: type[Value], what: str) -> list[Value]:
    listed = items(Setting(what), values, f"a list of {kind.__name__}")
    for each in listed:
        if not isinstance(each, kind):
            raise refused(f"one of the {what}", each, f"of type {kind.__name__}")
    return listed


def _constant_id(library: Library) -> int:
    """The id of `const`, or one that no token has."""
    return EMPTY if library.constant_id is None else library.constant_id


def _check_complete(library: Library, tokens: tuple[int, ...]) -> None:
    """Refuse a sequence that is not a tree, and say where it breaks."""
    open_slots = 1
    for position, token in enumerate(tokens):
        if not 0 <= token < len(library):
            raise InputError(f"token {token} at position {position} is not in the library")
        if open_slots == 0:
            raise InputError(
                f"the program ends before position {position} ({library.names[token]!r}); "
                "remove what follows"
            )
        open_slots += library.arities[token] - 1
    if open_slots:
        raise InputError(
            f"the program is unfinished: {open_slots} more "
            f"{'argument is' if open_slots == 1 else 'arguments are'} needed at its end"
        )


def _array(name: str, given: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array in its own type, unless that would change a value."""
    kinds = "iuf" if dtype.kind == "f" else "iu"
    what = "numbers" if dtype.kind == "f" else "whole numbers"
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an array of {what}: {error}", field=name) from None
    if array.size and array.dtype.kind not in kinds:
        raise InputError(
            f"{name} must be {what}, not of type {array.dtype}", field=name, value=array.dtype.name
        )
    if not array.size:
        return np.zeros(array.shape, dtype)
    if dtype.kind == "i" and array.dtype != dtype:
        limits = np.iinfo(dtype)
        if array.min() < limits.min or array.max() > limits.max:
            raise InputError(
                f"{name} has values that are not from {limits.min} to {limits.max}", field=name
            )
    return array.astype(dtype, copy=False)


def _check_batch(programs: Programs) -> None:
    """Refuse a batch in which a row is not one complete program, and say which and why."""
    library, tokens, lengths = programs.library, programs.tokens, programs.lengths
    width = tokens.shape[1]
    bad = (lengths < 1) | (lengths > width)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"program {row} has length {lengths[row]}; it must be from 1 to {width}, the tokens in"
            " a row"
        )
    inside = np.arange(width) < lengths[:, None]  # [B, T]
    known = (tokens >= 0) & (tokens < len(library))
    steps = np.where(known, library.arity[np.where(known, tokens, 0)] - 1, 0).astype(np.int64)
    open_slots = 1 + np.cumsum(np.where(inside, steps, 0), axis=1)  # [B, T] after each token
    last = np.arange(width) == lengths[:, None] - 1
    fits = np.where(inside, known & ((open_slots == 0) == last), tokens == EMPTY)
    bad = ~fits.all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        try:
            _check_complete(library, tuple(tokens[row, : lengths[row]].tolist()))
        except InputError as error:
            raise InputError(f"program {row}: {error}") from None
        raise InputError(f"program {row} has tokens after its end; they must be {EMPTY}")
    bad = ~np.isfinite(programs.constants).all(axis=1)
    if bad.any():
        raise InputError(f"program {int(np.argmax(bad))} has constants that are not finite")


def _stack(arrays: Sequence[NDArray[Any]], fill: float) -> NDArray[Any]:
    """Concatenate rows of different widths, padded on the right."""
    width = max(array.shape[1] for array in arrays)
    out = np.full((sum(len(array) for array in arrays), width), fill, dtype=arrays[0].dtype)
    row = 0
    for array in arrays:
        out[row : row + len(array), : array.shape[1]] = array
        row += len(array)
    return out


@lru_cache(maxsize=1024)
def _expansion(name: str, arity: int, formula: str, columns: int) -> Program:
    """The formula of an operator, in its arguments as variables, and columns after them."""
    names = *ARGUMENTS[:arity], *(f"x{at + 1}" for at in range(columns))
    try:
        return Program.parse(formula, every_operator(names))
    except InputError as error:
        raise InputError(f"the formula of operator {name!r}: {error}") from None


read_formulas_with(_expansion)
