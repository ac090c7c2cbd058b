"""The adapter for SRBench keeps SRBench's contract, as its harness uses a method."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone, is_regressor
from sympy.parsing.sympy_parser import parse_expr

FOLDER = Path(__file__).parent.parent / "adapters" / "srbench"


@pytest.fixture(scope="module")
def adapter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("srbench_adapter", FOLDER / "regressor.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(names: list[str]) -> tuple[pd.DataFrame, Any]:
    rng = np.random.RandomState(1)
    X = pd.DataFrame(rng.uniform(1, 3, (60, len(names))), columns=names)
    return X, (X.iloc[:, 0] * X.iloc[:, 1] / 2).to_numpy()


def fitted(adapter: ModuleType, X: Any, y: Any, seed: int = 3) -> Any:
    """As the harness does it: a copy, settings for a test, the seed, the fit."""
    est = clone(adapter.est)
    est.set_params(**adapter.eval_kwargs["test_params"])
    est.set_params(random_state=seed)
    return est.fit(X, y)


def test_the_estimator_is_one_of_scikit_learn(adapter: ModuleType) -> None:
    assert is_regressor(adapter.est)
    parameters = adapter.est.get_params()
    assert {"random_state", "max_time"} <= set(parameters)
    copy = clone(adapter.est).set_params(max_time=7, random_state=1)
    assert (copy.max_time, copy.random_state) == (7, 1)
    assert adapter.est.get_params() == parameters


def test_the_model_is_read_by_sympy_in_the_names_of_the_columns(adapter: ModuleType) -> None:
    """Names that SymPy has a meaning for are symbols, as the harness tells it."""
    names = ["I", "gamma", "E_n"]
    X, y = table(names)
    est = fitted(adapter, X, y)
    text = adapter.model(est, X)
    symbols = {name: sympy.Symbol(name) for name in names}
    expression = parse_expr(text, local_dict=symbols)
    assert sympy.simplify(expression - symbols["I"] * symbols["gamma"] / 2) == 0
    assert adapter.model(est) == text
    found = sympy.lambdify(list(symbols.values()), expression)(*X.to_numpy().T)
    np.testing.assert_allclose(est.predict(X), found, rtol=1e-12)


def test_columns_are_named_by_the_table_that_the_model_is_asked_with(adapter: ModuleType) -> None:
    X, y = table(["mass", "speed"])
    est = fitted(adapter, X.to_numpy(), y)
    assert re.fullmatch(r"[x01*/2. ]+", adapter.model(est))
    asked = adapter.model(est, X)
    assert {str(each) for each in parse_expr(asked).free_symbols} == {"mass", "speed"}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model(adapter: ModuleType) -> None:
    X, y = table(["a", "b"])
    noisy = y + np.random.RandomState(0).normal(size=len(y))
    first, second = (adapter.model(fitted(adapter, X, noisy), X) for _ in range(2))
    assert first == second


def test_complexity_and_population(adapter: ModuleType) -> None:
    X, y = table(["a", "b"])
    est = fitted(adapter, X, y)
    population = adapter.get_population(est)
    assert adapter.model(est) in population
    assert adapter.complexity(est) == est.regressor_.model().best.complexity > 0
    for text in population:
        parse_expr(text, local_dict={"a": sympy.Symbol("a"), "b": sympy.Symbol("b")})


def test_the_settings_of_the_harness_are_those_it_knows(adapter: ModuleType) -> None:
    known = {"test_params", "max_train_samples", "scale_x", "scale_y", "pre_train", "use_dataframe"}
    assert set(adapter.eval_kwargs) <= known
    assert adapter.eval_kwargs["max_train_samples"] == 10_000
    assert set(adapter.eval_kwargs["test_params"]) <= set(adapter.est.get_params())


def test_the_files_beside_it() -> None:
    metadata = (FOLDER / "metadata.yml").read_text()
    assert re.findall(r"^(\w+):", metadata, re.M) == ["authors", "name", "description", "url"]
    environment = (FOLDER / "environment.yml").read_text()
    assert re.findall(r"^(\w+):", environment, re.M) == ["name", "channels", "dependencies"]
    script = FOLDER / "install.sh"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_the_environment_has_what_the_package_needs() -> None:
    project = (FOLDER.parent.parent / "pyproject.toml").read_text()
    needed = re.search(r"^dependencies = \[(.*?)^\]", project, re.M | re.S)
    assert needed is not None
    environment = (FOLDER / "environment.yml").read_text().replace("matplotlib-base", "matplotlib")
    for line in re.findall(r'"(.+?)"', needed[1]):
        assert f"- {line}\n" in environment
