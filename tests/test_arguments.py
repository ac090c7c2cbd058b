"""Arguments of a wrong type get a sentence that names them; NumPy's numbers are numbers."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import fields
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest

from symseek import (
    FitConfig,
    InputError,
    Library,
    PriorityQueue,
    RiskSeeking,
    Search,
    SearchConfig,
    SymbolicRegressor,
    VanillaPolicyGradient,
)
from symseek.evolution import Evolution
from symseek.lab.baselines import GeneticProgramming, GPConfig
from symseek.policy import PolicyConfig
from symseek.regression.parameters import PARAMETERS
from symseek.value_types import (
    ConstraintList,
    Flag,
    FormType,
    FormulaList,
    Instance,
    LimitList,
    LossType,
    Name,
    Number,
    PhraseList,
    UnitsType,
    ValueType,
    Whole,
)

X = np.random.default_rng(0).uniform(0.5, 2, (12, 1))
Y = 3 * X[:, 0] ** 2 + 1

ODD: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "5": 5,
    "-1": -1,
    "10**30": 10**30,
    "-(10**30)": -(10**30),
    "0.5": 0.5,
    "0.0": 0.0,
    "5.0": 5.0,
    "-1.5": -1.5,
    "nan": math.nan,
    "inf": math.inf,
    "1j": 1j,
    "''": "",
    "'x'": "x",
    "'5'": "5",
    "'none'": "none",
    "b'x'": b"x",
    "[]": [],
    "[5]": [5],
    "['add']": ["add"],
    "()": (),
    "(1, 'x')": (1, "x"),
    "{}": {},
    "{'a': 1}": {"a": 1},
    "set()": set(),
    "object": object(),
    "array of two": np.array([1, 2]),
    "array of one": np.array(5),
    "empty array": np.array([]),
    "Series": pandas.Series([1.0, 2.0]),
    "Decimal": Decimal("0.5"),
    "Fraction": Fraction(1, 2),
    "date": date(2024, 5, 1),
    "type": int,
    "range": range(3),
    "NaT": pandas.NaT,
}


def verdict(name: str, value: Any) -> str:
    """What a fit with such an argument comes to: fitted, told, or what is wrong with the answer."""
    settings = {"max_expressions": 100, "max_seconds": 1, "random_state": 0, name: value}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            SymbolicRegressor(**settings).fit(X, Y)
        except InputError as error:
            text = str(error)
            if "\n" in text or len(text) > 300:
                return f"not a sentence: {text}"
            named = f"`{name}`" in text or f"unknown {name}" in text
            return "told" if named else f"does not name it: {text}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "fitted"


FLAGS = {"True", "False"}
EMPTY_LISTS = {"[]", "()", "empty array", "set()"}
BY_TYPE: dict[type[ValueType], set[str]] = {  # the odd values that are none for such a setting
    Flag: FLAGS,
    Name: set(),
    FormulaList: {"[]", "()", "empty array"},
    FormType: {"None", "'none'", "'x'"},
    LimitList: EMPTY_LISTS,
    LossType: set(),
    UnitsType: {"None"},
    PhraseList: EMPTY_LISTS | {"['add']"},
    ConstraintList: EMPTY_LISTS,
    Instance: {"None"},
}
FITTED: dict[str, set[str]] = {
    "max_expressions": {"None", "5", "10**30"},
    "max_length": {"5"},
    "max_seconds": {"None", "5", "0.5", "5.0"},
    "n_jobs": {"None", "5", "-1"},
    "operators": {"['add']"},
    "patience": {"None", "5", "10**30"},
    "random_state": {"None", "0", "5"},
    "reward": set(),
    "sample_rows": {"None", "5", "10**30"},
    "seeds": {"5"},
    "validation": {"0", "0.5", "0.0"},
    "verbose": FLAGS | {"0", "5", "10**30"},
}


def fitted(name: str) -> set[str]:
    """The odd values with which a fit runs; another setting needs no line here."""
    if name in FITTED:
        return FITTED[name]
    type = PARAMETERS[name].type
    if isinstance(type, Whole | Number):
        numbers = {"0": 0, "5": 5, "0.5": 0.5, "0.0": 0.0, "5.0": 5.0, "-1": -1, "-1.5": -1.5}
        whole = {each for each in numbers if "." not in each}
        allowed = {each for each, value in numbers.items() if type.low <= value <= type.high}
        return (allowed & whole if isinstance(type, Whole) else allowed) | (
            {"None"} if type.none else set()
        )
    return BY_TYPE[type.__class__]


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_odd_arguments_get_a_sentence_that_names_them(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {label: verdict(name, value) for label, value in ODD.items()}
    expected = {label: "fitted" if label in fitted(name) else "told" for label in ODD}
    assert found == expected


def test_constraints_are_those_of_scikit_learn() -> None:
    model = SymbolicRegressor(max_length=np.int64(8), validation=np.float32(0.25))
    assert set(model._parameter_constraints) == set(model.get_params())
    model._validate_params()
    with pytest.raises(ValueError, match="The 'max_length' parameter of SymbolicRegressor must be"):
        SymbolicRegressor(max_length="8")._validate_params()


NUMPY: dict[str, Any] = {
    "operators": np.array(["add", "mul"]),
    "constants": np.bool_(True),
    "max_length": np.int8(9),
    "max_expressions": np.uint32(200),
    "max_seconds": np.float32(20),
    "patience": np.int64(100),
    "validation": np.float64(0.25),
    "sample_rows": np.int32(9),
    "scale": np.bool_(False),
    "structure": np.bool_(False),
    "warm_start": np.bool_(True),
    "random_state": np.uint64(7),
    "n_jobs": np.int16(1),
    "verbose": np.bool_(False),
}


def test_numbers_and_flags_of_numpy_are_as_good_as_pythons() -> None:
    plain = {name: value.tolist() for name, value in NUMPY.items()}
    one, other = (SymbolicRegressor(**each).fit(X, Y) for each in (NUMPY, plain))
    assert str(one) == str(other)
    settings = one._regressions[0].settings
    assert settings == other._regressions[0].settings
    for each in fields(settings):
        value = getattr(settings, each.name)
        assert type(value) in (tuple, bool, int, float, str, type(None)), each.name
    assert json.loads(json.dumps(settings.to_dict())) == {
        **settings.to_dict(),
        "operators": ["add", "mul"],
    }


CONFIGS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (
        SearchConfig,
        {
            "batch_size": np.int64(100),
            "max_expressions": np.int32(1000),
            "max_seconds": np.float32(1.5),
            "stop_reward": np.float64(0.5),
            "learning_rate": np.float64(0.5),
            "entropy_weight": np.float64(0.25),
            "entropy_decay": np.float64(0.5),
            "untrained_share": np.float64(0.5),
            "max_constants": np.uint8(2),
        },
    ),
    (FitConfig, {"restarts": np.int64(2), "max_steps": np.int16(5), "rescue": np.bool_(False)}),
    (
        Evolution,
        {
            **dict.fromkeys(("generations", "tournament", "elite", "pairs", "kept"), np.int64(3)),
            "pairing": np.int8(0),
            "crossover": np.float64(0.5),
            "mutation": np.float64(0.5),
            "continues": np.bool_(True),
        },
    ),
    (PolicyConfig, {"hidden": np.int64(8)}),
    (RiskSeeking, {"epsilon": np.float64(0.25)}),
    (VanillaPolicyGradient, {"beta": np.float64(0.25)}),
    (PriorityQueue, {"size": np.int64(3)}),
    (
        GPConfig,
        {
            "population": np.int64(50),
            "tournament": np.int64(3),
            "crossover": np.float64(0.5),
            "mutation": np.float64(0.5),
            "init_depths": (np.int64(0), np.int64(2)),
            "mutation_depths": (np.int64(0), np.int64(2)),
            "max_length": np.int64(9),
            "max_constants": np.int64(2),
            "constraints": np.bool_(True),
            "max_expressions": np.int64(1000),
            "max_seconds": np.float64(2.5),
            "stop_reward": np.float64(0.5),
        },
    ),
]


@pytest.mark.parametrize(("config", "given"), CONFIGS, ids=[each[0].__name__ for each in CONFIGS])
def test_configurations_take_numpy_and_refuse_other_types(
    config: Callable[..., Any], given: dict[str, Any]
) -> None:
    made = config(**given)
    assert "np." not in repr(made)
    assert made == config(**{name: np.asarray(value).tolist() for name, value in given.items()})
    names = given.keys() | ({"constants", "objective"} & set(made.__dataclass_fields__))
    for name in names:
        for label in ("'x'", "1j", "[]", "{}", "object", "array of two", "Series", "date", "NaT"):
            with pytest.raises(InputError) as error:
                config(**{**given, name: ODD[label]})
            text = str(error.value)
            assert name in text, (name, label)
            assert "\n" not in text


@pytest.mark.parametrize("label", ["None", "True", "0.5", "'x'", "[]", "object", "Series", "1j"])
def test_searches_refuse_other_types(label: str) -> None:
    library = Library(["add", "mul"], ["x"])
    pytest.importorskip("deap")
    for make in (Search, GeneticProgramming):
        for name in ("seed", "threads"):
            with pytest.raises(InputError, match=name):
                make(library, X, Y, **{name: ODD[label]})
        if label != "None":
            with pytest.raises(InputError, match=r"config is .*; it must be of the type"):
                make(library, X, Y, ODD[label])
        assert make(library, X, Y, seed=np.int64(3), threads=np.int32(1)).seed == 3
