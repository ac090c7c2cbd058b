"""The circuits of `examples/gates.py`: their score, the proof, the searches and the command."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle.gates import outputs
from strategies import programs
from symseek import ConstraintSet, Program, Programs, Stopped

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "gates.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gates_example", EXAMPLE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


gates = loaded()

BEST = {  # circuits that are right, known from outside
    "multiplexer-3": "if(a0, d1, d0)",
    "multiplexer-6": "if(a1, if(a0, d3, d2), if(a0, d1, d0))",
    "multiplexer-11": "if(a2, if(a1, if(a0, d7, d6), if(a0, d5, d4)),"
    " if(a1, if(a0, d3, d2), if(a0, d1, d0)))",
    "parity-4": "nand(or({p}, {q}), nand({p}, {q}))".format(
        p="and(or(x0, x1), nand(x0, x1))", q="and(or(x2, x3), nand(x2, x3))"
    ),
}


def circuit(name: str, text: str) -> Program:
    return Program.parse(text, gates.PROBLEMS[name].library())


def score(name: str, *circuits: Program) -> list[float]:
    return gates.share_right(gates.PROBLEMS[name])(Programs.from_list(circuits)).tolist()


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_a_multiplexer_puts_out_the_line_of_its_address(bits: int) -> None:
    problem = gates.multiplexer(bits, longest=9)
    assert problem.lines[bits - 1 : bits + 2] == (f"a{bits - 1}", "d0", "d1")
    for values in product([False, True], repeat=bits + 2**bits):
        digits = "".join("01"[value] for value in reversed(values[:bits]))  # a0 is the last digit
        assert problem.wanted(values) is values[bits + int(digits, 2)]


def test_parity_is_that_of_the_lines_that_are_true() -> None:
    problem = gates.parity(3, longest=9)
    odd = {(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)}
    for values in product([False, True], repeat=3):
        assert problem.wanted(values) is (tuple(map(int, values)) not in odd)


@pytest.mark.parametrize("name", BEST)
def test_a_right_circuit_has_the_best_score_the_proof_and_the_constraints(name: str) -> None:
    problem, program = gates.PROBLEMS[name], circuit(name, BEST[name])
    assert score(name, program) == [1.0]
    assert gates.is_right(program, problem)
    rules = ConstraintSet(problem.library(), gates.constraints(problem))
    assert rules.violations(program) == []


def test_one_data_line_is_right_where_it_is_chosen_and_half_of_the_time_elsewhere() -> None:
    program = circuit("multiplexer-11", "d5")
    assert score("multiplexer-11", program) == [1 / 8 + 7 / 8 / 2]
    assert not gates.is_right(program, gates.PROBLEMS["multiplexer-11"])


@given(st.data())
@examples(60)
def test_the_score_is_what_python_says_of_each_input(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["multiplexer-3", "multiplexer-6", "parity-3", "parity-5"]))
    problem = gates.PROBLEMS[name]
    strategy = programs(problem.library(), max_length=30)
    batch = data.draw(st.lists(strategy, min_size=1, max_size=4))
    wanted = [problem.wanted(values) for values in problem.inputs()]
    expected = [np.mean([a == b for a, b in zip(outputs(p), wanted, strict=True)]) for p in batch]
    assert score(name, *batch) == expected
    assert [gates.is_right(program, problem) for program in batch] == [e == 1 for e in expected]


@pytest.mark.parametrize("name", gates.GATES)
def test_every_gate_does_in_score_and_proof_what_it_does_in_python(name: str) -> None:
    lines = ("p", "q", "r")[: gates.GATES[name][0]]
    made = gates.Problem(lines, (name,), bool, longest=9)
    program = Program.parse(f"{name}({', '.join(lines)})", made.library())
    table = dict(zip(made.inputs(), outputs(program), strict=True))
    problem = gates.Problem(lines, (name,), table.__getitem__, longest=9)
    batch = Programs.from_list([program])
    assert gates.is_right(program, problem)
    assert gates.share_right(problem)(batch) == [1]
    for values in problem.inputs():
        table[values] ^= True
        assert not gates.is_right(program, problem)
        assert gates.share_right(problem)(batch) == [1 - 1 / len(table)]
        table[values] ^= True


@pytest.mark.parametrize(
    ("method", "name", "budget"),
    [
        ("dsr", "multiplexer-3", 5_000),
        ("hybrid", "multiplexer-6", 50_000),
        ("evolution", "multiplexer-6", 50_000),
    ],
)
def test_a_small_circuit_is_found(method: str, name: str, budget: int) -> None:
    problem = gates.PROBLEMS[name]
    result = gates.search_for(problem, method, seed=0, budget=budget).run()
    assert result.stopped is Stopped.REWARD
    assert result.best is not None
    assert gates.is_right(result.best.program, problem)
    rules = ConstraintSet(problem.library(), gates.constraints(problem))
    assert rules.violations(result.best.program) == []


def test_the_command_prints_a_table_and_writes_every_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gates.json"
    words = ["multiplexer-3", "--method", "all", "--seeds", "2", "--json", str(file)]
    assert gates.main(words) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["problem", "method", "solved"]
    assert [row.split()[1:5] for row in rows[:3]] == [
        [method, "2", "of", "2"] for method in gates.METHODS
    ]
    assert rows[3:] == ["multiplexer-3 in 1 gate:", "  if(a0, d1, d0)"]
    runs = json.loads(file.read_text())["runs"]
    assert [(each["method"], each["seed"]) for each in runs] == [
        *product(gates.METHODS, [0, 1]),
    ]
    for each in runs:
        program = circuit("multiplexer-3", each["circuit"])
        assert each["solved"] is gates.is_right(program, gates.PROBLEMS["multiplexer-3"]) is True


def test_a_score_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "share_right", lambda _: lambda programs: np.ones(len(programs)))
    with pytest.raises(AssertionError, match="the score and the proof disagree"):
        gates.main(["parity-3"])


def test_what_is_not_solved_is_not_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert gates.main(["parity-5", "--max-expressions", "2000"]) == 0
    (_, row) = capsys.readouterr().out.splitlines()
    assert row.split()[:7] == ["parity-5", "hybrid", "0", "of", "1", "-", "-"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "name a problem"),
        (["multiplexer-3", "--all"], "name a problem"),
        (["multiplexer-5"], "multiplexer-5"),
        (["parity-3", "--method", "luck"], "luck"),
        (["parity-3", "--seeds", "many"], "many"),
        (["parity-3", "--max-expressions", "0"], "0"),
        (["parity-3", "--max-expressions", "10"], "smaller than one batch"),
        (["parity-3", "--json", "no/such/folder.json"], "no folder"),
        (["parity-3", "--sedes", "3"], "--sedes"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        gates.main(words)
    assert end.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_ctrl_c_ends_with_the_runs_that_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    share_right = gates.share_right
    made = []

    def interrupted(problem: object) -> object:
        """The score, which the second search finds interrupted."""
        made.append(problem)

        def score(programs: Programs) -> object:
            raise KeyboardInterrupt

        return share_right(problem) if len(made) == 1 else score

    monkeypatch.setattr(gates, "share_right", interrupted)
    file = tmp_path / "gates.json"
    assert gates.main(["multiplexer-3", "--seeds", "3", "--json", str(file)]) == 130
    said = capsys.readouterr()
    assert "1 of 1" in said.out
    assert "Ctrl-C" in said.err
    assert [each["seed"] for each in json.loads(file.read_text())["runs"]] == [0]


@pytest.fixture(scope="module")
def published() -> list[Any]:
    """The runs of `results/gates.json`."""
    content = json.loads((ROOT / "results" / "gates.json").read_text())
    return [gates.Run(**each) for each in content["runs"]]


def test_published_solutions_are_right(published: list[Any]) -> None:
    for each in published:
        problem = gates.PROBLEMS[each.problem]
        found = outputs(circuit(each.problem, each.circuit))
        right = [a == problem.wanted(b) for a, b in zip(found, problem.inputs(), strict=True)]
        assert (each.share, each.solved) == (sum(right) / len(right), all(right))


def test_the_page_shows_the_published_runs(published: list[Any]) -> None:
    page = (ROOT / "docs" / "circuits.md").read_text()
    shown = [line.strip("| ").split(" | ") for line in page.splitlines() if " of 5 |" in line]
    rows = gates.table(published).splitlines()[1:]
    assert len(rows) == len(shown)
    for row, (name, method, solved, circuits, fewest, _, seconds) in zip(rows, shown, strict=True):
        words = [name, method, *solved.split(), circuits, fewest, seconds]
        assert row.replace("-  ", "–  ").split() == words
