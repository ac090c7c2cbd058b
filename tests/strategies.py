"""Hypothesis strategies: random libraries and random complete programs over them."""

from __future__ import annotations

from hypothesis import strategies as st

from symseek.programs import Program
from symseek.tokens import OPERATORS, Library, Token

COMPOSED = (
    Token("sigmoid", 1, 4, formula="1/(1 + exp(-a))"),
    Token("hypotenuse", 2, 5, formula="sqrt(a**2 + b**2)"),
    Token("odd one", 1, 2, formula="a - 0.5"),
)
LABELS = (Token("pair", 2), Token("triple", 3, 2), Token("leaf", 0), Token("a-b", 2), Token("7", 1))
"""Tokens of general trees, which only have a shape."""

finite = st.floats(allow_nan=False, allow_infinity=False)
plain_names = st.sampled_from(["x", "y", "z", "x1", "x2", "x10", "t", "pi", "ln", "e", "e5"])
odd_names = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["flow rate", "`", "``a", "2", "2.0", "-1", "1e5", "const(2)", "größe", "inf", "nan", "a.b"]
)


def numbers() -> st.SearchStrategy[float]:
    """Fixed numbers, the awkward ones often."""
    return st.sampled_from([1.0, 2.0, 3.0, 4.0, 0.5, -1.0, 0.0, -2.5, 1e-300, 1e22, 0.1]) | finite


@st.composite
def libraries(
    draw: st.DrawFn,
    *,
    evaluable: bool = True,
    composed: bool = True,
    odd: bool = True,
    constants: bool = True,
) -> Library:
    """A random library: some operators, at least one variable, perhaps numbers and `const`.

    `evaluable=False` mixes in labels without a formula; `composed=False` leaves out operators
    given by a formula; `odd=False` keeps to plain names.
    """
    pool = [*OPERATORS.values()]
    if composed:
        pool += COMPOSED
    if not evaluable:
        pool += LABELS
    chosen = draw(st.lists(st.sampled_from(pool), unique_by=lambda t: t.name, max_size=12))
    taken = {token.name for token in pool} | {"const"}
    names = plain_names | odd_names if odd else plain_names
    variables = draw(
        st.lists(names.filter(lambda n: n not in taken), min_size=1, max_size=3, unique=True)
    )
    values = draw(st.lists(numbers(), max_size=3, unique=True)) if constants else []
    literals = Library(values, ["x"]).names[1:] if values else ()
    labels = {token.name for token in chosen}  # one of them is called 7
    fixed = [name for name in literals if name not in variables and name not in labels]
    placeholder = ["const"] if constants and draw(st.booleans()) else []
    return Library([*chosen, *fixed, *placeholder], variables)


@st.composite
def programs(draw: st.DrawFn, library: Library, *, max_length: int = 20) -> Program:
    """A random complete program of at most `max_length` tokens."""
    tokens: list[int] = []
    open_slots = 1
    while open_slots:
        room = max_length - len(tokens) - open_slots
        allowed = [i for i, arity in enumerate(library.arities) if arity <= room]
        token = draw(st.sampled_from(allowed or list(library.terminal_ids)))
        tokens.append(token)
        open_slots += library.arities[token] - 1
    count = 0 if library.constant_id is None else tokens.count(library.constant_id)
    constants = draw(st.lists(numbers(), min_size=count, max_size=count))
    return Program(library, tuple(tokens), tuple(constants))


@st.composite
def any_program(draw: st.DrawFn, *, max_length: int = 20, evaluable: bool = True) -> Program:
    """A random program over a random library."""
    return draw(programs(draw(libraries(evaluable=evaluable)), max_length=max_length))
