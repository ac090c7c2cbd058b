"""Benchmark runs: when one ends, how it is judged, what it reports; and the sums over many."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symseek.recovery.equivalence
from refusals import refused
from symseek import InputError, Program
from symseek.jobs.perform import perform
from symseek.lab import Record, Snapshot, Spec, problems
from symseek.lab.bench.specs import bench_specs, command
from symseek.lab.bench.summary import average_recovery, summarise, write_json
from symseek.lab.trials import execute as execute_module
from symseek.lab.trials.execute import execute
from symseek.lab.trials.judge import (
    CONSTANT_TOLERANCE,
    Judge,
    StopAtRecovery,
    errors_on_test,
    judged,
    judged_form,
)
from symseek.lab.trials.plan import settings_of
from symseek.lab.trials.refit import superfluous
from symseek.model import full_library


def spec(problem: str = "Nguyen-1", method: str = "dsr", seed: int = 0, budget: int = 0) -> Spec:
    budget = budget or problems.load(problem).budget
    return Spec(method, problem, seed, settings_of(method, max_expressions=budget))


RECORD = Record(
    spec(),
    recovered="yes",
    reason="identical",
    evaluations=5_000,
    seconds=0.05,
    reward=1.0,
    expression="x*x*x + x*x + x",
    complexity=11,
    test_rmse=0.0,
    test_nrmse=0.0,
)


SOME = [each.name for each in problems.paper()] + ["feynman_I_6_2a", "strogatz_lv1"]


@pytest.mark.parametrize("name", SOME)
def test_commands_need_no_quotes_and_mean_the_same_problem(name: str) -> None:
    problem = problems.load(name)
    words = command(spec(name, "pqt", 3)).split()
    assert words == ["symseek", "bench", problem.shell_name, "--method", "pqt", "--seed", "3"]
    assert bench_specs([words[2]], "pqt", [3]) == [spec(name, "pqt", 3)]


def test_the_command_of_a_noisy_run_has_its_noise() -> None:
    (noisy,) = bench_specs(["feynman_I_12_1"], "hybrid", [3], noise=0.01)
    assert noisy.settings["noise"] == 0.01
    assert noisy.settings["front_recovery"] is True
    words = ["symseek", "bench", "feynman_I_12_1", "--method", "hybrid", "--seed", "3"]
    assert command(noisy).split() == [*words, "--noise", "0.01"]
    (clean,) = bench_specs(["feynman_I_12_1"], "hybrid", [3], noise=0.0)
    assert "noise" not in clean.settings


def test_methods_take_turns_on_each_problem_and_seed() -> None:
    specs = bench_specs(["Nguyen-1", "Jin-6"], " hybrid,dsr,, hybrid", [3, 5])
    assert [(each.problem, each.seed, each.method) for each in specs] == [
        (problem, seed, method)
        for problem in ("Nguyen-1", "Jin-6")
        for seed in (3, 5)
        for method in ("hybrid", "dsr")
    ]


def test_every_method_is_checked_before_the_first_run() -> None:
    with refused("method", value="evolutoin", wanted="did you mean 'evolution'?"):
        bench_specs(["Nguyen-1"], "hybrid,dsr,evolutoin")
    with pytest.raises(InputError, match="names no method"):
        bench_specs(["Nguyen-1"], " ,")


# --- when a run ends


class FakeJudge:
    """Says yes to one formula only, and counts the questions."""

    seconds = 0.25

    def __init__(self, problem: str) -> None:
        self.problem = problems.load(problem)
        self.asked: list[str] = []

    def __call__(self, program: SimpleNamespace) -> SimpleNamespace:
        self.asked.append(program.tokens)
        return SimpleNamespace(answer="yes" if program.tokens == "true" else "no")


def iteration(reward: float, tokens: str, expressions: int = 1000) -> SimpleNamespace:
    entry = SimpleNamespace(reward=reward, program=SimpleNamespace(tokens=tokens))
    return SimpleNamespace(best=entry, expressions=expressions, seconds=1.25)


def watching(problem: str) -> tuple[FakeJudge, Any]:
    judge = FakeJudge(problem)
    return judge, StopAtRecovery(judge)  # type: ignore[arg-type]


def test_only_an_exact_and_proved_formula_ends_a_run() -> None:
    judge, stop = watching("Nguyen-1")
    assert not stop(SimpleNamespace(best=None))
    assert not stop(iteration(1 - 1e-7, "true"))  # rounding does not cost that much
    assert judge.asked == []
    assert not stop(iteration(1 - 1e-12, "nearly"))  # exact on the points, yet another formula
    assert stop(iteration(1.0, "true", expressions=7000))
    assert stop.recovered_at == (7000, 1.0)  # the time of the checks is not the search's


def test_fitted_constants_need_not_be_exact() -> None:
    _, stop = watching("Nguyen-1c")
    assert not stop(iteration(1 - 1e-5, "true"))
    assert stop(iteration(1 - 1e-7, "true"))
    assert stop.recovered_at == (1000, 1.0)


def test_a_formula_is_asked_about_again_only_once_its_constants_are_much_better() -> None:
    judge, stop = watching("Nguyen-1c")
    for gap in (9e-7, 8e-7, 1e-7, 8e-8, 2e-8, 1e-9, 0.0, 0.0):
        assert not stop(iteration(1 - gap, "false"))
    assert judge.asked == ["false"] * 4  # at 9e-7, 8e-8, 1e-9 and 0
    assert not stop(iteration(1 - 1e-8, "another"))
    assert judge.asked[4:] == ["another"]


def test_evolution_alone_reports_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_module, "REPORT_EVERY", 0.0)
    reports: list[Snapshot] = []
    perform(spec("Nguyen-12", "evolution", 0, 100_000), execute, reports.append)
    graded = [snapshot.evaluations for snapshot in reports]
    assert len(graded) >= 5
    assert graded == sorted(graded)
    assert max(np.diff([0, *graded])) <= 25_000


# --- how it is judged


def record_questions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, dict[str, Any]]]:
    calls: list[tuple[object, dict[str, Any]]] = []

    def undecided(found: object, *_: object, **how: Any) -> SimpleNamespace:
        calls.append((found, how))
        return SimpleNamespace(answer="undecided", reason="too hard")

    monkeypatch.setattr(symseek.recovery.equivalence, "equivalent", undecided)
    return calls


def test_a_formula_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = record_questions(monkeypatch)
    judge = Judge(problems.load("Nguyen-1"))
    program = problems.load("Nguyen-1").truth()
    assert judge(program) is judge(program)
    assert [found for found, _ in calls] == [program]
    assert judge.seconds > 0


@pytest.mark.parametrize(
    ("name", "tolerance"), [("Nguyen-8", None), ("Nguyen-8c", CONSTANT_TOLERANCE)]
)
def test_fitted_constants_are_compared_with_a_tolerance(
    name: str, tolerance: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = record_questions(monkeypatch)
    problem = problems.load(name)
    Judge(problem)(problem.truth())
    ((_, how),) = calls
    assert how == {"positive": True, "tolerance": tolerance}


def test_a_target_without_closed_form_is_never_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = record_questions(monkeypatch)
    run = execute(spec("Neat-6", budget=3000))
    assert (run.recovered, run.reason) == ("no", "the target has no closed form")
    assert run.evaluations == 3000
    assert run.test_rmse is not None
    assert not calls


# --- the error on the test points


def test_the_test_error_is_that_of_the_best_formula() -> None:
    run = execute(spec("Neat-5", seed=1, budget=3000))
    problem = problems.load("Neat-5")
    data = problem.data()
    found = Program.parse(run.expression, problem.library()).evaluate(data.X_test)
    rmse = float(np.sqrt(np.mean((found - data.y_test) ** 2)))
    assert run.test_rmse == pytest.approx(rmse, rel=1e-12)
    assert run.test_nrmse == pytest.approx(rmse / np.std(data.y_test), rel=1e-12)
    assert 0 < rmse < 1


@pytest.mark.parametrize("text", ["log(x - 0.2)", "exp(exp(exp(x*x*x)))", "exp(150*x*x)"])
def test_a_formula_without_value_on_a_test_point_has_no_test_error(text: str) -> None:
    data = problems.load("Nguyen-7").data()
    assert errors_on_test(Program.parse(text), data) == (None, None)


def test_truth_has_no_test_error_to_speak_of() -> None:
    for name in ("Nguyen-8''", "Jin-6", "Neat-9"):
        problem = problems.load(name)
        assert errors_on_test(problem.truth(), problem.data()) == (0, 0)


# --- sums over runs


def test_summary_counts_undecided_as_not_recovered() -> None:
    lost = replace(RECORD, spec=spec(seed=1), recovered="undecided", seconds=2.05)
    failed = Record(spec(seed=2), "failed", error="KeyError: 1")
    (summary,) = summarise([RECORD, lost, failed])
    assert (summary.recovered, summary.undecided, summary.recovery) == (1, 1, 50)
    assert (summary.expressions, summary.seconds) == (5_000, 0.05)
    assert summary.run_seconds == pytest.approx(1.05)


def test_summary_of_errors() -> None:
    """An invalid run counts as infinite: the mean is gone, the median may stand."""
    runs = [
        replace(RECORD, spec=spec(name, seed=seed), test_rmse=rmse)
        for name in ("Jin-1", "Neat-1")
        for seed, rmse in enumerate((0.5, 0.25, 3.0))
    ]
    jin, neat = summarise(runs)
    assert (jin.mean_test_rmse, jin.median_test_rmse, jin.test_rmse) == (1.25, 0.5, 1.25)
    assert (neat.test_rmse, neat.published_rmse, neat.published) == (0.5, 0, None)
    jin, _ = summarise([*runs, replace(runs[0], test_rmse=None)])
    assert (jin.mean_test_rmse, jin.median_test_rmse) == (None, 1.75)


def test_average_recovery_leaves_out_what_cannot_be_recovered() -> None:
    lost = replace(RECORD, spec=spec("Neat-6"), recovered="no")
    assert average_recovery(summarise([RECORD, lost])) == 100
    assert average_recovery(summarise([lost])) is None


def test_each_method_has_summaries_and_an_average_of_its_own(tmp_path: Path) -> None:
    runs = [
        replace(RECORD, spec=spec(name, method), recovered=recovered)
        for name, method, recovered in (
            ("Nguyen-1", "hybrid", "yes"),
            ("Nguyen-1", "dsr", "no"),
            ("Nguyen-2", "hybrid", "yes"),
            ("Nguyen-2", "dsr", "yes"),
        )
    ]
    found = [(each.problem, each.method, each.recovered) for each in summarise(runs)]
    assert found == [
        ("Nguyen-1", "hybrid", 1),
        ("Nguyen-1", "dsr", 0),
        ("Nguyen-2", "hybrid", 1),
        ("Nguyen-2", "dsr", 1),
    ]
    write_json(tmp_path / "runs.json", runs, planned=4)
    document = json.loads((tmp_path / "runs.json").read_text())
    assert [(run["problem"], run["method"]) for run in document["runs"]] == [
        (problem, method) for problem, method, _ in found
    ]
    assert [(each["problem"], each["method"]) for each in document["summary"]] == [
        (problem, method) for problem, method, _ in found
    ]
    assert [each["published"] for each in document["summary"]] == [None, 100, None, 100]
    assert document["average_recovery"] is None  # there is no one method
    assert document["average_recoveries"] == {"hybrid": 100, "dsr": 50}
    write_json(tmp_path / "one.json", runs[1::2], planned=2)
    assert json.loads((tmp_path / "one.json").read_text())["average_recovery"] == 50


def test_errors_are_saved_and_infinity_is_null(tmp_path: Path) -> None:
    runs = [RECORD, replace(RECORD, spec=spec(seed=1), test_rmse=None, test_nrmse=None)]
    write_json(tmp_path / "runs.json", runs, planned=2)
    document = json.loads((tmp_path / "runs.json").read_text(), parse_constant=pytest.fail)
    assert [run["test_rmse"] for run in document["runs"]] == [0, None]
    assert [run["test_nrmse"] for run in document["runs"]] == [0, None]
    assert document["summary"][0]["mean_test_rmse"] is None
    assert document["summary"][0]["run_seconds"] == 0.05


def test_a_term_that_fits_made_vanish_does_not_count() -> None:
    problem = problems.load("Nguyen-10c")
    text = "cos(0.5*y)*sin(1.5*x) - exp(x + -31.8)"
    program = Program.parse(text, full_library(problem.variables))
    assert judged(program, problem).answer == "yes"
    other = Program.parse("cos(0.5*y)*sin(1.5*x) - exp(x + -3.0)", full_library(problem.variables))
    assert judged(other, problem).answer == "no"


# --- noise and fitted constants


def noisy_form(text: str, name: str) -> str:
    problem = problems.load(name)
    program = Program.parse(text, full_library(problem.variables))
    return judged_form(program, problem, problem.data()).answer


def test_noise_moves_constants_but_not_the_form() -> None:
    assert noisy_form("0.0792*q/(epsilon*r)", "feynman_II_4_23") == "yes"
    assert noisy_form("0.0792*q/(epsilon*r**1.01)", "feynman_II_4_23") == "yes"
    assert noisy_form("0.0792*q/(epsilon + r)", "feynman_II_4_23") == "no"
    assert noisy_form("2.97*x - 2.02*x*y - 0.99*x**2 + 0.003", "strogatz_lv1") == "yes"
    assert noisy_form("2.97*x - 2.02*x*y - 0.99*x", "strogatz_lv1") == "no"


def test_a_formula_that_has_more_than_the_law_is_not_the_law() -> None:
    """With the right constants each of these is the law, and a part of it does nothing."""
    for text in (
        "0.0792*q/(epsilon*r) + 0.001*sin(q)",
        "0.0792*q/(epsilon*r)*cos(0.01*r)",
        "0.0792*q/(epsilon*r)*exp(exp(r - 20))",
    ):
        assert noisy_form(text, "feynman_II_4_23") == "no"
    for text in ("0.0792*q/(epsilon*r) + 0.001", "0.0792*q/(epsilon*(r + 0.001))"):
        assert noisy_form(text, "feynman_II_4_23") == "yes"  # a number may be 0


def test_no_law_has_a_part_too_much() -> None:
    for problem in problems.select("Feynman", "Strogatz"):
        data = problem.data()
        assert superfluous(problem.truth(), data.X_train[:400], data.y_train[:400]) is None


def test_the_form_of_a_noisy_run_with_constants_is_recovered() -> None:
    """Its fitted constants are not those of the formula, and count as those of clean rows."""
    settings = {"max_expressions": 4000, "noise": 0.02, "front_recovery": True}
    run = execute(Spec("hybrid", "feynman_I_39_1", 0, settings))
    assert run.recovered == "yes"
    assert run.evaluations >= 3900  # no fit is exact, so nothing ends it early
    assert run.test_nrmse is not None
    assert run.test_nrmse > 1e-6  # as found, it has the constants of the noisy rows
