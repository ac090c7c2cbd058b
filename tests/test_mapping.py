"""A map from written to graded programs: a given form with two unknown functions as a toy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from symseek import Evolution, Library, Search, SearchConfig, Token
from symseek.constants import FitConfig
from symseek.constraints import Constraint, Count, Custom, Forbid, Length
from symseek.constraints.tables import Tables
from symseek.errors import InputError
from symseek.programs import Program, Programs
from symseek.racing import Racing
from symseek.runs import checkpoint

OPERATORS = ("add", "mul", "sin")
FORM = Token("form", 2)
WRITTEN = Library([FORM, *OPERATORS, "const"], ["x", "z"])


@dataclass(frozen=True)
class Damped:
    """The form f(x)*exp(-2*z) + g(z), written as form(f, g); its 2 is no constant to fit."""

    library: Library = field(
        default_factory=lambda: Library([*OPERATORS, "neg", "exp", 2, "const"], ["x", "z"])
    )

    def __call__(self, programs: Programs) -> Programs:
        return Programs.from_list([self.graded(each) for each in programs], self.library)

    def graded(self, program: Program) -> Program:
        f, g = (each.over(self.library) for each in program.arguments)
        damped = Program.joined("mul", [f, Program.parse("exp(-(2*z))", self.library)])
        return Program.joined("add", [damped, g])


class FormAtTheRoot:
    """A constraint of one's own: the form is outermost."""

    def narrow(self, tables: Tables) -> None:
        tables.child[-1, :, np.array(tables.library.names) != FORM.name] = False

    def violated_by(self, program: Program) -> bool:
        return program.names[0] != FORM.name


def rules() -> list[Constraint | Custom]:
    """One form; f has only x, and g only z."""
    return [
        Length(3, 24),
        FormAtTheRoot(),
        Count("form", high=1),
        Forbid("z", "descendant", of="form", argument=0),
        Forbid("x", "descendant", of="form", argument=1),
        Count("const", high=3),
    ]


def columns_of(program: Program) -> set[str]:
    return {"x", "z"} & set(program.names)


def damped_search(rows: int = 60, **options: Any) -> Search:
    draw = np.random.default_rng(0)
    X = draw.uniform(0.2, 3.0, (rows, 2))
    y = 2.5 * np.sin(X[:, 0]) * np.exp(-2 * X[:, 1]) + X[:, 1] * X[:, 1]
    config = SearchConfig(
        batch_size=200,
        max_expressions=60_000,
        constants=FitConfig("least_squares", restarts=0, max_steps=30),
        evolution=Evolution(generations=10),
        **options,
    )
    return Search(WRITTEN, X, y, config, mapping=Damped(), constraints=rules(), seed=1)


def graded_by(search: Search) -> list[Programs]:
    """Every batch that a search grades from now on."""
    seen: list[Programs] = []
    grade = search.grader

    def watched(programs: Programs) -> Any:
        seen.append(programs)
        return grade(programs)

    watched.memories = grade.memories  # type: ignore[attr-defined]
    search.grader = watched
    return seen


def test_a_form_with_two_unknown_functions_is_found() -> None:
    search = damped_search()
    seen = graded_by(search)
    result = search.run(callback=lambda now: now.best.reward > 1 - 1e-9)
    assert result.best.reward > 1 - 1e-9
    written = result.best.program
    assert written.library == WRITTEN
    assert search.data is not None
    predicted = Damped().graded(written).evaluate(search.data.X)
    assert np.allclose(predicted, search.data.y)
    assert any(value != 1 for value in written.constants)  # fitted through the form
    # Policy and evolution alike have kept to the form and its columns.
    assert sum(map(len, seen)) > 400
    for program in (each for batch in seen for each in batch):
        f, g = program.arguments
        assert program.names[0] == "form"
        assert program.names.count("form") == 1
        assert columns_of(f) <= {"x"}
        assert columns_of(g) <= {"z"}


def test_programs_of_a_form_race_like_others() -> None:
    search = damped_search(rows=2_000, racing=Racing(rows=100))
    assert search.racer is not None
    result = search.run(callback=lambda now: now.iteration >= 2)
    best = result.best
    assert search.data is not None
    predicted = Damped().graded(best.program).evaluate(search.data.X)
    nrmse = np.sqrt(np.mean((predicted - search.data.y) ** 2)) / search.data.y.std()
    assert best.reward == pytest.approx(1 / (1 + nrmse))


def test_a_search_of_another_form_is_another_search(tmp_path: Any) -> None:
    search = damped_search()
    search.run(callback=lambda now: True)
    checkpoint.save(search, tmp_path / "checkpoint")
    checkpoint.restore(damped_search(), tmp_path / "checkpoint")
    other = damped_search()
    other.mapping = None
    with pytest.raises(InputError, match="the mapping"):
        checkpoint.restore(other, tmp_path / "checkpoint")
