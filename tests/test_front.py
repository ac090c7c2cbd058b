"""The Pareto front against the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symseek import Front, Library, Program, Programs

LIBRARY = Library(["add", "sin"], variables=["x"])
SIN, X = LIBRARY.index("sin"), LIBRARY.index("x")


def program(depth: int) -> Program:
    return Program(LIBRARY, (SIN,) * depth + (X,))  # complexity 3 depth + 1


graded = st.lists(
    st.tuples(st.integers(0, 8), st.sampled_from([float("nan"), 0.0, 0.2, 0.5, 0.7, 0.9, 1.0])),
    min_size=1,
    max_size=30,
)


@given(st.lists(graded, min_size=1, max_size=5))
def test_front_is_what_nothing_dominates(batches: list[list[tuple[int, float]]]) -> None:
    front = Front()
    for batch in batches:
        programs = Programs.from_list([program(depth) for depth, _ in batch])
        front = front.updated(programs, np.array([reward for _, reward in batch]))
    seen = [(3 * d + 1, r) for batch in batches for d, r in batch if r == r]
    expected = sorted(
        {
            (c, r)
            for c, r in seen
            if not any((c2 <= c and r2 > r) or (c2 < c and r2 >= r) for c2, r2 in seen)
        }
    )
    assert [(entry.complexity, entry.reward) for entry in front] == expected
    assert front.best is (front[-1] if expected else None)


def test_of_equals_the_first_stays() -> None:
    library = Library(["add", "sub"], variables=["x"])
    first, second = (Program.parse(text, library) for text in ("x + x", "x - x"))
    front = Front().updated(Programs.from_list([first]), np.array([0.5]))
    assert front.updated(Programs.from_list([second]), np.array([0.5])) is front
    assert front[0].program == first


def test_names_do_not_reach_the_terminal_raw():
    name = "x\x1b[31m"
    library = Library(["add"], [name])
    program = Program.parse(f"`{name}` + `{name}`", library)
    front = Front().updated(Programs.from_list([program]), np.array([0.5]))
    for text in (str(program), f"{program}", str(front)):
        assert "\x1b" not in text
        assert "\\x1b[31m" in text
    assert Program.parse(program.infix(), library) == program
