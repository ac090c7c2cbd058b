"""The run behind a spec: its settings become configurations, which determine everything else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fake_experiments import repeatable
from symseek import InputError
from symseek.constraints import CloseUnfinished
from symseek.jobs.perform import perform
from symseek.lab import Spec, problems
from symseek.lab.trials.execute import execute, training_data
from symseek.lab.trials.plan import (
    ABLATIONS,
    HYPERPARAMETERS,
    Plan,
    gp_config,
    search_config,
    settings_of,
)
from symseek.lab.trials.training_curve import (
    DISTRIBUTIONS,
    POINTS,
    SAMPLE,
    NoisyRewards,
    RewardRecorder,
)
from symseek.objectives import PriorityQueue, RiskSeeking, VanillaPolicyGradient
from symseek.presets import dsr, method
from symseek.programs import Program, Programs
from symseek.tokens import Library

SMALL = {"max_expressions": 4_000}


def spec(method: str = "dsr", problem: str = "Nguyen-1", seed: int = 0, **settings: Any) -> Spec:
    return Spec(method, problem, seed, {**SMALL, **settings})


def plan(method: str = "dsr", **settings: Any) -> Plan:
    return Plan.of(spec(method, **settings))


# --- settings become configurations


@pytest.mark.parametrize("name", ["dsr", "pqt", "vpg", "hybrid", "evolution"])
def test_without_settings_the_method_is_the_preset(name: str) -> None:
    named = plan(name, **settings_of(name))
    assert search_config(name, named) == method(name, max_expressions=4_000)
    assert not search_config(name, plan(name)).underflow_invalid  # as in runs that do not name it


@pytest.mark.parametrize(
    ("name", "settings", "objective"),
    [
        ("dsr", {"epsilon": 0.1}, RiskSeeking(0.1)),
        ("pqt", {"size": 5}, PriorityQueue(5)),
        ("vpg", {"beta": 0.5}, VanillaPolicyGradient(0.5)),
    ],
)
def test_each_method_has_a_hyperparameter_of_its_own(
    name: str, settings: dict[str, Any], objective: object
) -> None:
    shared = {"batch_size": 250, "learning_rate": 0.001, "entropy_weight": 0.1}
    config = search_config(name, plan(name, **settings, **shared))
    assert config.objective == objective
    assert {each: getattr(config, each) for each in shared} == shared


def test_genetic_programming_has_its_own_settings() -> None:
    config = gp_config(plan("gp", population=100, tournament=5, constraints=True))
    assert (config.population, config.tournament, config.constraints) == (100, 5, True)
    assert config.max_expressions == 4_000


def test_the_seven_ablations_take_away_what_they_say() -> None:
    assert len(ABLATIONS) == 7
    for name, parts in ABLATIONS.items():
        made = plan(ablation=name)
        config = search_config("dsr", made)
        no_risk = VanillaPolicyGradient(0.5)
        assert (config.objective == no_risk) == ("risk" in parts)
        assert (config.entropy_weight == 0) == ("entropy" in parts)
        rules = made.constraints()
        assert (rules is not None) == ("constraints" in parts)
        assert rules is None or CloseUnfinished(30) in rules
        assert config.learning_rate == dsr().learning_rate


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilonn": 0.1}, "unknown setting 'epsilonn'"),
        ({"beta": 0.1}, "unknown setting 'beta'"),
        ({"early_stop": 1}, "early_stop is 1; it must be True or False"),
        ({"noise": "much"}, "noise is 'much'; it must be a number of 0 or more"),
        ({"data_factor": 2.5}, "data_factor is 2.5; it must be a whole number"),
        ({"noise": -0.1}, "noise is -0.1; it must be a number of 0 or more"),
        ({"data_factor": 0}, "data_factor is 0; it must be a whole number of 1 or more"),
        ({"ablation": "No rest"}, "unknown ablation"),
        ({"ablation": 3}, "unknown ablation"),
        ({"engine": 3}, "unknown engine"),
        ({"noise": 0.1, "early_stop": True}, "cannot stop early"),
        ({"threads": 5000}, "threads is 5000; it must be a whole number from 1 to 1024"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**settings)


def test_genetic_programming_refuses_what_only_a_policy_has() -> None:
    with pytest.raises(InputError, match="reward_noise"):
        gp_config(plan("gp", reward_noise=0.5))


def test_every_method_runs() -> None:
    for name in HYPERPARAMETERS:
        record = execute(spec(name, curve=True))
        assert record.status == "done"
        assert record.evaluations <= 4_000
        assert record.expression


# --- data


def test_noise_is_drawn_once_and_scaled_to_its_level() -> None:
    problem = problems.load("Nguyen-4")
    clean = problem.data()
    noise = {
        level: training_data(problem, Plan(1, early_stop=False, noise=level)).y_train
        - clean.y_train
        for level in (0.02, 0.1)
    }
    np.testing.assert_allclose(5 * noise[0.02], noise[0.1])
    rms = np.sqrt(np.mean(clean.y_train**2))
    assert 0.05 < np.std(noise[0.1]) / rms < 0.2
    again = training_data(problem, Plan(1, early_stop=False, noise=0.1))
    np.testing.assert_array_equal(again.y_train - clean.y_train, noise[0.1])
    np.testing.assert_array_equal(again.y_test, clean.y_test)


def test_ten_times_the_points_come_from_the_same_rule() -> None:
    problem = problems.load("Nguyen-9")
    data = training_data(problem, Plan(1, data_factor=10))
    assert data.X_train.shape == (200, 2)
    assert data.X_test.shape == problem.data().X_test.shape
    truth = problem.truth().evaluate(data.X_train)
    np.testing.assert_array_equal(data.y_train, truth)
    np.testing.assert_array_equal(data.X_train, training_data(problem, Plan(1, data_factor=10))[0])


# --- what a run leaves


def test_the_same_spec_gives_the_same_record() -> None:
    asked = spec("pqt", reward_noise=0.3, curve=True)
    assert repeatable(execute(asked)) == repeatable(execute(asked))


def test_a_run_stops_at_recovery_unless_the_spec_says_otherwise() -> None:
    budget = {"max_expressions": 40_000}
    stopped = execute(Spec("dsr", "Nguyen-11", 0, budget))
    whole = execute(Spec("dsr", "Nguyen-11", 0, {**budget, "early_stop": False}))
    assert stopped.recovered == whole.recovered == "yes"
    assert stopped.evaluations < whole.evaluations == 40_000


def test_the_formula_counts_anywhere_on_the_front() -> None:
    settings = {"max_expressions": 60_000, "noise": 0.1}
    best = execute(Spec("hybrid", "Nguyen-1", 0, settings))
    front = execute(Spec("hybrid", "Nguyen-1", 0, {**settings, "front_recovery": True}))
    assert best.recovered == "no"
    assert best.front == front.front
    assert front.recovered == "yes"
    assert front.expression in [row[2] for row in front.front]
    assert front.evaluations == 60_000


def test_reward_noise_changes_what_is_learned_and_not_the_front() -> None:
    clean = execute(spec(curve=True))
    noisy = execute(spec(curve=True, reward_noise=1.0))
    assert clean.curve["mean"][0] == noisy.curve["mean"][0]
    assert clean.curve["mean"][-1] != noisy.curve["mean"][-1]
    assert all(0 < reward <= 1 for _, reward, _ in noisy.front)


def test_noise_leaves_invalid_programs_where_they_are() -> None:
    seen = RewardRecorder(RiskSeeking(0.5))
    library = Library(["add", "mul", "log"], ["x"])
    texts = ["x", "x + x", "log(x)", "x*x"]
    programs = Programs.from_list([Program.parse(text, library) for text in texts])
    rewards = np.array([0.5, 0.25, 0.0, 0.75])
    NoisyRewards(seen, 0.5, seed=1).select(None, programs, rewards)
    assert seen.rewards[2] == 0
    assert (seen.rewards[[0, 1, 3]] != rewards[[0, 1, 3]]).all()


def test_a_curve_has_one_grid_whatever_the_batch() -> None:
    settings = {"max_expressions": 40_000, "batch_size": 200, "curve": True}
    record = execute(Spec("dsr", "Nguyen-12", 0, settings))
    curve = record.curve
    assert len(curve["expressions"]) <= POINTS + 1
    assert curve["expressions"][-1] == record.evaluations
    assert list(curve["best"]) == sorted(curve["best"])
    assert all(low <= high for low, high in zip(curve["mean"], curve["top"], strict=True))


def test_distributions_are_kept_now_and_then() -> None:
    record = execute(spec(batch_size=200, distribution=True, early_stop=False))
    looks, batches = record.curve["looks"], record.curve["batches"]
    assert len(looks) == len(batches) <= DISTRIBUTIONS + 1
    assert (looks[0], looks[-1]) == (1, 20)
    assert all(len(batch) == SAMPLE and list(batch) == sorted(batch) for batch in batches)


def test_a_failure_is_recorded_with_its_reason() -> None:
    bad = spec(ablation="No rest")
    record = perform(bad, execute)
    assert record.status == "failed"
    assert "unknown ablation" in record.last_line
    assert perform(replace(bad, problem="Nguyen-99"), execute).status == "failed"
