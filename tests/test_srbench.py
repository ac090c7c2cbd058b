"""SRBench's protocol and grades, on cases made by hand; the command from end to end."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, mostly_slow
from oracle import srbench_rule as oracle
from refusals import refused
from run_helpers import answer
from symseek import InputError, Program
from symseek.command import main
from symseek.lab import Record, Spec, Store, figures, problems
from symseek.lab.reports.report import selected
from symseek.lab.srbench import symbolic
from symseek.lab.srbench.execute import METHOD, check, execute, settings_of
from symseek.lab.srbench.experiment import SRBenchRequest, experiment
from symseek.lab.srbench.grading import form, graded
from symseek.lab.srbench.protocol import LEVELS, NAMES, split
from symseek.lab.srbench.published import SYSTEMS
from symseek.lab.srbench.symbolic import Verdict, verdict_of
from symseek.lab.trials.csv_file import read_runs
from symseek.model import full_library
from symseek.settings import Settings

# --- the protocol


def test_the_130_problems() -> None:
    assert len(NAMES) == len(set(NAMES)) == 130
    suites = [problems.load(name).suite for name in NAMES]
    assert (suites.count("Feynman"), suites.count("Strogatz")) == (116, 14)
    left_out = {each.name for each in problems.suite("Feynman")} - set(NAMES)
    assert left_out == {"feynman_I_26_2", "feynman_I_30_5", "feynman_test_10"}
    assert all("asin" in e or "acos" in e for e in (problems.load(n).expression for n in left_out))


@pytest.mark.parametrize(
    ("name", "train", "test"), [("feynman_I_6_2", 10_000, 3_334), ("strogatz_vdp1", 300, 100)]
)
def test_three_quarters_of_the_rows_are_to_train_on(name: str, train: int, test: int) -> None:
    rows, other = split(name, 0), split(name, 1)
    assert rows.X_train.shape == (train, 2)
    assert rows.X_test.shape == (test, 2)
    truth = problems.load(name).truth()
    np.testing.assert_array_equal(rows.y_train, truth.evaluate(rows.X_train))
    np.testing.assert_array_equal(rows.y_test, truth.evaluate(rows.X_test))
    together = [np.vstack([each.X_train, each.X_test]) for each in (rows, other)]
    ordered = [each[np.lexsort(each.T)] for each in together]
    np.testing.assert_array_equal(*ordered)  # the same rows, split by the seed
    assert not np.array_equal(rows.X_test, other.X_test)
    np.testing.assert_array_equal(rows.X_test, split(name, 0, 0.1).X_test)


def test_noise_is_a_part_of_the_size_of_the_training_target_only() -> None:
    clean, little, much = (split("feynman_II_4_23", 3, level) for level in (0.0, 0.01, 0.1))
    np.testing.assert_array_equal(clean.y_train, clean.y_clean)
    for rows, level in ((little, 0.01), (much, 0.1)):
        np.testing.assert_array_equal(rows.y_clean, clean.y_clean)
        np.testing.assert_array_equal(rows.y_test, clean.y_test)
        size = level * math.sqrt(np.mean(clean.y_clean**2))
        errors = rows.y_train - rows.y_clean
        assert np.std(errors) == pytest.approx(size, rel=0.03)
        assert abs(np.mean(errors)) < 0.04 * size
    np.testing.assert_allclose(
        much.y_train - much.y_clean, 10 * (little.y_train - little.y_clean), rtol=1e-6, atol=1e-12
    )


def test_what_is_not_of_the_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="feynman_I_26_2 is not among"):
        split("feynman_I_26_2", 0)
    with refused("noise", -1, "0 or more"):
        split("feynman_I_6_2", 0, -1)


def test_large_seeds_are_seeds() -> None:
    assert not np.array_equal(
        split("strogatz_lv1", 2**33).X_test, split("strogatz_lv1", 2**34).X_test
    )


# --- SRBench's rule


def asked(text: str, name: str) -> Verdict:
    problem = problems.load(name)
    return verdict_of(text, problem.expression, problem.variables, problem.data().X_test)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q/(4*pi*epsilon*r)", "feynman_II_4_23"),
        ("0.0791*q/(epsilon*r)", "feynman_II_4_23"),  # a factor is free
        ("q/(4*pi*epsilon*r) + 2.7", "feynman_II_4_23"),  # and so is what is added
        ("q/(4*pi*epsilon*r) + 0.00003*sin(q)", "feynman_II_4_23"),  # rounds to 0
        ("exp(-0.49996*theta**2 - 0.91894)", "feynman_I_6_2a"),
        ("0.39894*exp(-theta**2/2)", "feynman_I_6_2a"),
        ("1/(exp(0.159155*h*omega/(kb*T)) - 1)", "feynman_III_4_32"),  # 1/(2*pi), inside
        ("1/(exp(h*omega/(2*pi*kb*T)) - 1)", "feynman_III_4_32"),
        ("m_0/sqrt(1.0003 - v**2/c**2)", "feynman_I_10_7"),
        ("0.50002*sin(x - y) - sin(x)", "strogatz_barmag1"),
        ("1/2*sin(x - y) - sin(x)", "strogatz_barmag1"),
        ("10*y - 3.33333*x*(x**2 - 1)", "strogatz_vdp1"),  # thirds as decimals
        ("(u + v)*c**2/(c**2 + u*v)", "feynman_I_16_6"),
        ("4*U*sin(k*d/2)**2", "feynman_III_15_12"),
    ],
)
def test_solved(text: str, name: str) -> None:
    answer = asked(text, name)
    assert answer.solved, answer.reason
    assert answer.positive


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.0796*q/(epsilon*r) + 0.0007*sin(q)", "feynman_II_4_23"),
        ("0.0796*q/(epsilon*r**1.001)", "feynman_II_4_23"),
        ("0.0796*q/(epsilon + r)", "feynman_II_4_23"),
        ("0.4994*exp(-0.501*theta**2)", "feynman_I_6_2a"),
        ("1/(exp(0.16*h*omega/(kb*T)) - 1)", "feynman_III_4_32"),
        ("m_0/sqrt(1.003 - v**2/c**2)", "feynman_I_10_7"),
        ("0.4992*sin(x - y) - sin(x)", "strogatz_barmag1"),  # to three decimals it is 0.499
        ("10.0016*y - 3.33271*x*(x**2 - 1.00013)", "strogatz_vdp1"),
        ("x*0.00004 + 20", "strogatz_bacres1"),
    ],
)
def test_not_solved(text: str, name: str) -> None:
    assert not asked(text, name).solved


def test_a_constant_never_counts() -> None:
    """Not even where the law rounds to one, or the formula does."""
    for text in ("2.5", "2.5 + 0.00001*theta", "pi*sqrt(2)"):
        assert asked(text, "feynman_I_6_2a") == Verdict(False, False, "the formula is a number")


def test_what_holds_for_positive_columns_only_is_told_apart() -> None:
    """SymPy is not told any signs there, and does not take sqrt(c**2) for c."""
    for text, name in (
        ("m_0*c/sqrt(c**2 - v**2)", "feynman_I_10_7"),
        ("sqrt(mu**2)*Nn", "feynman_I_12_1"),
    ):
        answer = asked(text, name)
        assert (answer.solved, answer.positive) == (False, True)


def test_text_is_read_and_never_run() -> None:
    answer = asked("__import__('os').system('true')", "feynman_I_6_2a")
    assert not answer.solved
    assert "cannot be read" in answer.reason


def test_rounding_that_leaves_no_formula() -> None:
    answer = asked("theta/(0.00001*theta)", "feynman_I_6_2a")
    assert not answer.solved


def test_values_decide_where_sympy_does_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "_SECONDS", 1e-3)
    answer = asked("(u + v)*c**2/(c**2 + u*v)", "feynman_I_16_6")
    assert answer.solved
    assert "SymPy did not finish" in answer.reason
    assert not asked("(u + v)*c**2/(c**2 - u*v)", "feynman_I_16_6").solved


def test_sympy_is_not_asked_where_values_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_in_child(gap: object, small: bool) -> bool:
        raise AssertionError("SymPy was asked")

    monkeypatch.setattr(symbolic, "_asked_in_child", asked_in_child)
    assert asked("q/(12.566371*epsilon*r)", "feynman_II_4_23").solved
    assert not asked("q/(12.566371*epsilon*r**2)", "feynman_II_4_23").solved


@pytest.mark.parametrize("name", mostly_slow(NAMES, *NAMES[::6]))
def test_every_law_solves_itself(name: str) -> None:
    answer = asked(problems.load(name).expression, name)
    assert answer.solved, answer.reason


# Formulas with places for numbers, and the numbers of the law.
FORMS = {
    "{}*x - {}*x*y - {}*x**2": (3, 2, 1),
    "{}*sin(x - y) - sin({}*x) + {}": (0.5, 1, 0),
    "exp(-{}*x**2)*{} + {}*y": (0.25, 0.398942, 1.5),
    "x*({} + {}*y)/({} + y)": (1, 0.075, 4),
    "{}*y/(4*pi*(x + {})) + {}": (1, 2, 0),
}
SHIFTS = (0.0, 0.00002, 0.0003, -0.0003, 0.002, -0.007)


@pytest.mark.slow
@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(st.sampled_from(SHIFTS), min_size=3, max_size=3),
    st.sampled_from((1, 1, 0.7)),
)
@examples(12)
def test_the_rule_is_that_of_sympy_alone(form: str, shifts: list[float], factor: float) -> None:
    numbers = FORMS[form]
    moved = [round(number + shift, 6) for number, shift in zip(numbers, shifts, strict=True)]
    law, text = form.format(*numbers), form.format(*moved)
    if factor != 1:
        text = f"{factor}*({text})"
    X = np.random.RandomState(2).uniform(0.5, 2.0, (50, 2))
    assert verdict_of(text, law, ["x", "y"], X).solved == oracle.solved(text, law, ["x", "y"])


# --- the form


def graded_text(text: str, name: str, noise: float = 0.0) -> Any:
    problem = problems.load(name)
    program = Program.parse(text, full_library(problem.variables))
    return graded(program, text, problem, split(name, 0, noise))


def test_the_grades_differ() -> None:
    right = graded_text("0.0801*q/(epsilon*r)", "feynman_II_4_23", noise=0.1)
    assert (right.form, right.solved, right.accurate) == (True, True, True)
    moved = graded_text("0.4973*sin(x - y) - 1.0008*sin(x)", "strogatz_barmag1", noise=0.01)
    assert (moved.form, moved.solved, moved.accurate) == (True, False, True)
    longer = "sqrt(x1**2 + x2**2 - 2*x1*x2*cos(theta1 - theta2)) + 0.01*sin(x1)"
    near = graded_text(longer, "feynman_I_29_16")
    assert (near.form, near.solved, near.accurate) == (False, False, True)
    wrong = graded_text("2.5", "feynman_II_4_23")
    assert (wrong.form, wrong.solved, wrong.accurate) == (False, False, False)
    assert wrong.r2 < 0
    assert "not above 0.5" in wrong.why_solved


def test_a_formula_without_value_has_no_grade() -> None:
    grades = graded_text("log(q - 3)", "feynman_II_4_23")
    assert (grades.form, grades.solved, grades.accurate) == (False, False, False)
    assert grades.r2 == -math.inf


def test_a_long_formula_that_has_the_law_in_it_is_not_the_law() -> None:
    grades = graded_text("0.0796*q/(epsilon*r)*cos(0.02*r) + 0.0004*exp(q)", "feynman_II_4_23")
    assert not grades.form
    assert "vanishes" in grades.why_form


def test_what_is_solved_has_the_right_form() -> None:
    """A part that rounds away is no part of what was printed, and a number may be 0."""
    for text in (
        "0.0796*q/(epsilon*r) + 0.00002*sin(q)",
        "0.0796*(q + 0.0002)/(epsilon*r)",
    ):
        grades = graded_text(text, "feynman_II_4_23")
        assert (grades.form, grades.solved) == (True, True)


def test_a_formula_that_is_nearly_right_on_the_rows_is_not() -> None:
    """A Taylor series, about the middle of the range, has many numbers to fit."""
    terms = [
        f"{math.exp(-2.5) / math.factorial(k) / math.sqrt(2 * math.pi)}*(2.5 - theta**2/2)**{k}"
        for k in range(9)
    ]
    grades = graded_text(" + ".join(terms), "feynman_I_6_2a")
    assert grades.accurate
    assert not grades.form
    assert not grades.solved


@pytest.mark.parametrize("name", [*NAMES[::13], "strogatz_shearflow1", "feynman_test_20"])
def test_every_law_has_its_own_form_wherever_noise_moves_its_numbers(name: str) -> None:
    problem, rng = problems.load(name), np.random.RandomState(5)
    truth = problem.truth()
    moved = tuple(value * (1 + 0.003 * rng.normal()) for value in truth.constants)
    right, why = form(replace(truth, constants=moved), problem, split(name, 2))
    assert right, why


# --- a run


def spec(name: str = "feynman_I_12_1", seed: int = 0, **settings: Any) -> Spec:
    return Spec(METHOD, name, seed, {"noise": 0.0, "max_expressions": 2000, **settings})


def test_a_run_is_a_fit_without_settings_but_for_the_limit_of_srbench() -> None:
    own = settings_of(Spec(METHOD, "feynman_I_12_1", 7, {"noise": 0.1, "seconds": 60.0}))
    assert own == Settings(seed=7, max_expressions=1_000_000)
    assert settings_of(spec(seconds=5.0, threads=2)) == Settings(
        max_seconds=5.0, threads=2, max_expressions=2000
    )


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_run_leaves_its_grades(noise: float) -> None:
    record = execute(spec(noise=noise))
    assert record.recovered == "yes"
    assert {name: value[0] for name, value in record.curve.items()} == {
        "form": True,
        "solved": True,
        "positive": True,
        "accurate": True,
        "r2": pytest.approx(1.0, abs=1e-4),
        "complexity": record.complexity,
        "reason": record.reason,
    }
    assert record.front[-1][2]
    assert 0 < record.evaluations <= 3000


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"theards": 2}, "did you mean 'threads'"),
        ({"noise": -0.1}, "noise is -0.1"),
        ({"noise": "much"}, "noise is 'much'"),
        ({"threads": 0}, "`threads`"),
        ({"seconds": -1.0}, "`max_seconds`"),
    ],
)
def test_settings_that_no_run_can_have(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        check(spec(**settings))
    with refused("problem of SRBench", value="Nguyen-1"):
        check(spec("Nguyen-1"))
    with refused("method", value="dsr"):
        check(Spec("dsr", "feynman_I_12_1", 0))


# --- the report


def made(name: str, seed: int, noise: float, *grades: bool) -> Record:
    names = ("form", "solved", "positive", "accurate")
    own = {grade: [value] for grade, value in zip(names, grades, strict=True)}
    settings = {"noise": noise, "seconds": 60.0, "threads": 2}
    return Record(
        Spec(METHOD, name, seed, settings),
        recovered="yes" if grades[0] else "no",
        seconds=10.0 + seed,
        expression="q | r" if not grades[0] else "q*r",
        curve={**own, "r2": [0.98765], "reason": ["because"]},
    )


def test_rates_by_noise_and_suite() -> None:
    records = [
        made("feynman_II_4_23", 0, 0.0, True, True, True, True),
        made("feynman_II_4_23", 1, 0.0, True, False, True, True),
        made("strogatz_lv1", 0, 0.0, False, False, False, True),
        made("strogatz_lv1", 0, 0.1, False, False, False, False),
        replace(made("strogatz_lv2", 0, 0.1, True, True, True, True), status="failed"),
    ]
    report = experiment(SRBenchRequest("srbench", [0, 1])).report(records)
    rates, beside, missed = report.tables
    found = {(row["grade"], row["noise"], row["suite"]): row for row in rates.data}
    assert found["form", 0.0, "Feynman"]["value"] == 100
    assert found["solved", 0.0, "Feynman"]["value"] == 50
    assert found["positive", 0.0, "All"]["recovered"] == 2
    everything = found["form", 0.0, "All"]
    assert (everything["recovered"], everything["runs"]) == (2, 3)
    assert found["accurate", 0.1, "All"]["runs"] == 1  # a failed run has no grade
    assert ("form", 0.1, "Feynman") not in found
    assert found["form", 0.0, "All"]["median_seconds"] == 10.0
    ours = beside.rows[0]
    assert ours[:5] == ["symseek, solved", "33.3", "–", "–", "0"]
    assert [row[0] for row in beside.rows[2:]][:2] == ["PSE", "PySR"]
    assert [row[:2] + row[3:5] for row in missed.rows] == [
        ["feynman_II_4_23", "0", "2/2", "1/2"],
        ["strogatz_lv1", "0", "0/1", "0/1"],
        ["strogatz_lv1", "0.1", "0/1", "0/1"],
    ]
    assert [row["why"] for row in missed.data] == ["because"] * 3
    (drawing,) = report.figures
    figure = figures.srbench(drawing.data)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"symseek, solved", "symseek, form right", "PySR", "DSR"} <= set(labels)
    assert "PhySO" not in labels  # of another set of problems


def test_published_rates_are_percentages_at_the_levels_of_the_protocol() -> None:
    assert len({each.name for each in SYSTEMS}) == len(SYSTEMS)
    for each in SYSTEMS:
        assert set(each.solved) <= set(LEVELS)
        assert all(0 < rate < 100 for rate in each.solved.values())
        assert each.source
    assert {each.name: each.solved[0.0] for each in SYSTEMS}["DSR"] == 19.7


def test_every_run_of_the_default_is_listed_once() -> None:
    request = SRBenchRequest("srbench", range(3))
    specs = selected(experiment(request), request)
    assert len(set(specs)) == len(specs) == 130 * 4 * 3
    assert request.command == "symseek srbench --seeds 3"
    few = SRBenchRequest(
        "srbench", [0], problems=("strogatz",), levels=(0.0,), max_expressions=5000
    )
    chosen = selected(experiment(few), few)
    assert len(chosen) == 14
    assert {each.settings["max_expressions"] for each in chosen} == {5000}
    for each in chosen:
        check(each)


# --- the command


def run(folder: Path, *more: str) -> int:
    words = ["srbench", "--problems", "feynman_I_12_1,strogatz_vdp2", "--seeds", "1"]
    words += ["--noise", "0,0.01", "--max-expressions", "2000", "--threads", "1", *more]
    return main([*words, "--store", str(folder / "runs.sqlite"), "--out", str(folder / "report")])


def lines(path: Path) -> Sequence[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    said = capsys.readouterr()
    assert "4 of 4 runs done" in said.err
    assert "| solved, SRBench's rule" in said.out
    assert "--noise 0,0.01" in said.out
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"srbench.md", "srbench-runs.csv.gz", "srbench-rates.csv", "srbench.svg"} <= names
    rates = lines(tmp_path / "report" / "srbench-rates.csv")
    simple = [row for row in rates if row["grade"] == "form" and row["suite"] == "All"]
    assert [(row["noise"], row["recovered"], row["runs"]) for row in simple] == [
        ("0.0", "2", "2"),
        ("0.01", "2", "2"),
    ]
    # Every run is kept: nothing is left to do, and the table of runs makes the same report.
    assert run(tmp_path) == 0
    assert "0 runs to do of 4 (4 done)" in capsys.readouterr().err
    taken = tmp_path / "taken"
    taken.mkdir()
    table = tmp_path / "report" / "srbench-runs.csv.gz"
    assert run(taken, "--take", str(table), "--report") == 0
    again = taken / "report" / "srbench-rates.csv"
    assert again.read_text() == (tmp_path / "report" / "srbench-rates.csv").read_text()
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(store.records()) == len(read_runs(table)) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--noise", "-1"], "'-1' is not a number of 0 or more"),
        (["--noise", ","], "names no level of noise"),
        (["--seconds", "0"], "not a number of seconds above 0"),
        (["--problems", "Nguyen"], "problem of srbench"),
        (["--problems", "feynman_I_26_2"], "problem of srbench"),
        (["--report", "--retry-failed"], "leave out --retry-failed"),
    ],
)
def test_bad_options(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(tmp_path / "runs.sqlite"), "--out", str(tmp_path / "report")]
    said = answer(capsys, "srbench", *words, *place)
    assert said.code == 2
    assert says in said.err
    assert not list(tmp_path.iterdir())
