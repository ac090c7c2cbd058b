"""Where what is to come will be attached: each place holds, with a toy attached to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from symseek import Evolution, Library, Search
from symseek.columns import Column
from symseek.constraints import Constraint, Count, Custom, Length, Partial
from symseek.data import Data
from symseek.evaluation import Graded
from symseek.files.tables import read_table
from symseek.model import Constant, Formula, Model, full_library
from symseek.programs import Program, Programs
from symseek.racing import Racing
from symseek.regression.regression import Regression
from symseek.rewards import reward_named
from symseek.runs.regressions import make_regression
from symseek.search import SearchConfig
from symseek.settings import Settings
from symseek.target import Target

T = np.linspace(0.1, 3, 100)


def test_units_go_from_the_file_to_the_model(tmp_path: Path) -> None:
    rows = [f"{row},{t},{4905 * t**2}" for row, t in enumerate(T)]
    path = tmp_path / "fall.csv"
    path.write_text("\n".join(["row_number,time [s],height", ",,mm", *rows]))
    table = read_table(path, "height")
    assert table.left_out == {"row_number": "row numbers"}
    model = make_regression(table, Settings(max_expressions=100)).model()
    assert model.quantities == (
        Column("time [s]", "input", unit="s"),
        Column("height", "target", unit="mm", scale=10_000.0),
    )
    assert Model.from_dict(model.to_dict()) == model  # what is saved is the same without


def test_a_target_may_stand_inside_a_function() -> None:
    """Programs race and complete each other as they do for y itself."""

    class Logarithm(Target):
        def rows(self, data: Data) -> Data:
            return replace(data, y=np.log(data.y))

    library = Library(["add", "mul", "sin"], ["x"])
    law = np.exp(T**2 + np.sin(T))
    config = SearchConfig(
        batch_size=200, max_expressions=20_000, evolution=Evolution(), racing=Racing(rows=8)
    )
    search = Search(library, T[:, None], law, config, target=Logarithm(), seed=1)
    assert search.racer is not None
    best = search.run(callback=lambda now: now.best.reward > 1 - 1e-9).best
    assert best is not None
    assert np.allclose(best.program.evaluate(T[:, None]), np.log(law))


def test_a_constant_may_have_an_error_and_a_name() -> None:
    program = Program.parse("9.81*x + 0.5", full_library(["x"]))
    formula = Formula(program, "", reward=1.0, nrmse=0.0, r2=1.0)
    assert formula.constants == (Constant(9.81), Constant(0.5))
    known = Constant(9.81, standard_error=0.02, name="g"), Constant(0.5)
    assert replace(formula, constants=known).constants == known
    other = Program.parse("9.80*x + 0.5", program.library)
    assert replace(formula, program=other, constants=()).constants[0] == Constant(9.80)


def test_a_problem_is_all_that_a_fit_is_asked() -> None:
    forbidden = Count("sin", 0, 1)
    settings = Settings(max_expressions=100, constraints=[forbidden])
    regression = Regression(T[:, None], 1e6 * T, [Column("t", unit="s")], settings, target="x")
    problem = regression.problem
    assert problem.columns == (
        Column("t", "input", unit="s"),
        Column("x", "target", scale=1e6),
    )
    assert problem.constraints == (forbidden,)
    assert problem.reward == reward_named("inverse_nrmse")


class NoMixedSums:
    """A toy check of units: metres and seconds are not added up."""

    units = {"x": "m", "w": "m", "t": "s"}  # noqa: RUF012

    def __call__(self, partial: Partial) -> NDArray[np.bool_]:
        names = partial.library.names
        mask = np.ones((len(partial.tokens), len(names)), dtype=bool)
        for row, (parent, sibling) in enumerate(zip(partial.parent, partial.sibling, strict=True)):
            unit = self.units.get(names[sibling]) if sibling >= 0 else None
            if unit and parent >= 0 and names[parent] in ("add", "sub"):
                mask[row] = [self.units.get(name, unit) == unit for name in names]
        return mask


def test_a_sum_of_metres_and_seconds_is_forbidden_in_situ() -> None:
    library = Library(["add", "sub", "mul"], ["x", "w", "t"])
    draw = np.random.default_rng(0)
    X = draw.uniform(1, 3, (30, 3))
    config = SearchConfig(
        batch_size=200, max_expressions=3_000, constants=None, evolution=Evolution(generations=5)
    )
    rules: list[Constraint | Custom] = [Length(3, 15), NoMixedSums()]
    search = Search(library, X, X[:, 0] + X[:, 2], config, constraints=rules, seed=0)
    grade, seen = search.grader, list[Programs]()

    def watched(programs: Programs) -> Graded:
        seen.append(programs)
        return grade(programs)

    watched.memories = grade.memories  # type: ignore[attr-defined]
    search.grader = watched  # type: ignore[assignment]
    search.run()
    programs = [each for batch in seen for each in batch]
    assert len(programs) == 3_000
    parts = {str(each.subtree(at)) for each in programs for at in range(len(each))}
    assert not parts & {f"{a} {sign} {b}" for a, b in ("xt", "wt", "tx", "tw") for sign in "+-"}
    assert {"x + w", "x - w", "x*t"} <= parts
