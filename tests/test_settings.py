"""A setting is declared once: the parameters, options, files, form and page are made from that."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from refusals import refused
from symseek import (
    Count,
    Forbid,
    InputError,
    Program,
    Programs,
    SymbolicRegressor,
    Token,
    presets,
)
from symseek.cli.settings import option_words
from symseek.command import _parsers
from symseek.regression.regression import Regression
from symseek.rewards import InverseNRMSE
from symseek.settings import PARAMETERS, Parameter, Settings
from symseek.studio.options import options
from symseek.value_types import (
    Flag,
    FormType,
    FormulaList,
    LimitList,
    Listed,
    LossType,
    Name,
    OperatorList,
    PhraseList,
    UnitsType,
    Whole,
)

HERE = Path(__file__).parent
TEXT = {name: each for name, each in PARAMETERS.items() if each.is_text}


def other_value(parameter: Parameter) -> Any:
    """A value that is not the default."""
    type, default = parameter.type, parameter.default
    if isinstance(type, Flag):
        return not default
    if isinstance(type, Name):
        known = [each for each in type.known() if each not in (default, "validation")]
        return known[-1]
    if isinstance(type, Listed):
        return {
            OperatorList: ("add", 2.5, "3"),
            FormulaList: ("x0 + 1", "2*x0"),
            PhraseList: ("x0", "sin"),
            LimitList: ("numbers: >= 0", "value: <= 9"),
        }[type.__class__]
    if isinstance(type, FormType):
        return "y = f(x0); f: length 5"
    if isinstance(type, UnitsType):
        return "x0: m, x1: s"
    if isinstance(type, LossType):
        return "huber:0.5"
    if type.none and default is not None:
        return None
    return type.low + 1 if isinstance(type, Whole) else 0.25


EVERY = {name: other_value(each) for name, each in TEXT.items()}


def test_settings_travel_as_data() -> None:
    assert not [name for name, value in EVERY.items() if value == TEXT[name].default]
    for settings in (Settings(), Settings(**EVERY)):
        record = json.loads(json.dumps(settings.to_dict(), allow_nan=False))
        assert Settings.from_dict(record, settings.threads) == settings
    assert Settings.from_dict({}) == Settings()


def test_settings_travel_as_words() -> None:
    _, commands = _parsers()
    words = [word for name, value in EVERY.items() for word in option_words(name, value)]
    read = vars(commands.choices["fit"].parse_args(["data.csv", "--target", "y", *words]))
    # A number among the operators is text here, as `Library` takes it.
    expected = Settings(**{**EVERY, "operators": ("add", "2.5", "3")})
    assert Settings(**{name: read[name] for name in TEXT}) == expected


def test_a_flag_that_may_change_while_paused_can_be_turned_both_ways(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scale = replace(PARAMETERS["scale"], while_paused=True)
    monkeypatch.setitem(PARAMETERS, "scale", scale)
    _, commands = _parsers()
    for value in (False, True):
        words = option_words("scale", value)
        assert commands.choices["resume"].parse_args(["run", *words]).scale is value


def test_settings_that_are_not_known_are_refused() -> None:
    for name in ("max_lenght", "threads", "config"):
        with pytest.raises(InputError) as error:
            Settings.from_dict({name: 5})
        assert (error.value.field, error.value.value) == ("setting", name)
    with refused("setting", value="max_lenght", wanted="did you mean 'max_length'?"):
        Settings.from_dict({"max_lenght": 5})


@pytest.mark.parametrize(
    "settings",
    [
        Settings(config=presets.dsr()),
        Settings(reward=InverseNRMSE()),
        Settings(operators=("add", Token("wave", 1, 3, formula="sin(a)/a"))),
        Settings(constraints=[Count("div", high=1)]),
    ],
)
def test_settings_with_objects_are_no_data(settings: Settings) -> None:
    with pytest.raises(InputError, match="cannot be saved; use names instead"):
        settings.to_dict()


def test_every_setting_says_what_it_is() -> None:
    for name, each in PARAMETERS.items():
        assert not each.help.startswith("not"), name
        assert each.help[-1] not in ".:", name
        if isinstance(each.type, Flag) and each.default:
            assert each.off, f"{name}: what it means to switch it off"
        if each.is_text:
            assert each.label, f"{name}: what a form calls it"


def test_the_estimator_has_a_signature_that_tools_read() -> None:
    signature = inspect.signature(SymbolicRegressor)
    assert signature == inspect.signature(SymbolicRegressor().__init__)
    model = SymbolicRegressor(max_length=12, operators=["add"])
    assert set(signature.parameters) == set(model.get_params())
    assert all(f"    {name}: " in str(SymbolicRegressor.__doc__) for name in signature.parameters)
    for same in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same.get_params() == model.get_params()
    assert repr(model.set_params(operators=PARAMETERS["operators"].default)) == (
        "SymbolicRegressor(max_length=12)"
    )
    with pytest.raises(TypeError, match="no parameter 'max_lenght'; did you mean 'max_length'"):
        SymbolicRegressor(max_lenght=12)


# --- a setting is added


PLAIN = "    structure: bool = declared("
TOY = """    colour: int | None = declared(
        7,
        Whole(low=1, high=9, none="no colour"),
        "how colourful formulas are",
        label="Colour",
        is_usual=True,
        while_paused=True,
    )
"""
ADDED = f"""
import importlib.abc, importlib.machinery, json, sys

class Added(importlib.machinery.SourceFileLoader):
    def get_data(self, path):
        data = super().get_data(path)
        if not path.endswith("settings.py"):
            raise OSError  # nothing compiled is read or written
        before, at, after = data.decode().partition({PLAIN!r})
        assert at
        return (before + {TOY!r} + at + after).encode()

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if name == "symseek.settings":
            spec.loader = Added(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder())
"""
ASKED = """
import contextlib, io, inspect
from symseek import SymbolicRegressor
from symseek.command import main
from symseek.regression import parameters
from symseek.settings import Settings
from symseek.cli.settings import option_words
from symseek.studio.options import options
from symseek.studio.question import read_settings
import test_docs

def said(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(words)
        except SystemExit:
            pass
    return " ".join(out.getvalue().split())

model = SymbolicRegressor(colour=3)
print(json.dumps({
    "parameter": [model.get_params()["colour"], str(inspect.signature(SymbolicRegressor))],
    "doc": SymbolicRegressor.__doc__,
    "setting": parameters.settings_of(model).colour,
    "constraints": str(model._parameter_constraints["colour"]),
    "help": said("fit", "--help"),
    "resume": said("resume", "--help"),
    "refused": said("fit", "none.csv", "--target", "y", "--colour", "11"),
    "file": Settings(colour=3).to_dict()["colour"],
    "read": Settings.from_dict({"colour": None}).colour,
    "words": option_words("colour", None),
    "form": [each for each in options()["settings"] if each["name"] == "colour"],
    "asked": read_settings({"colour": "red"}, __import__("pathlib").Path("/"))[1],
    "page": test_docs.settings_page(),
}))
"""


def added() -> Mapping[str, Any]:
    """What everything is with one more setting, which only the table knows."""
    program = [sys.executable, "-c", ADDED + ASKED]
    said = subprocess.run(program, capture_output=True, text=True, cwd=HERE)
    assert said.returncode == 0, said.stderr
    found: Mapping[str, Any] = json.loads(said.stdout)
    return found


def test_a_setting_is_added_in_one_place() -> None:
    found = added()
    value, signature = found["parameter"]
    assert value == found["setting"] == found["file"] == 3
    assert "colour: 'int | None' = 7" in signature
    assert "colour: how colourful formulas are, or none for no colour." in found["doc"]
    assert "Interval" in found["constraints"] or "[1, 9]" in found["constraints"]
    assert (
        "--colour N how colourful formulas are, or none for no colour; default 7" in found["help"]
    )
    assert "--colour N how colourful formulas are, or none for no colour" in found["resume"]
    assert "--colour is 11; it must be a whole number from 1 to 9, or none" in found["refused"]
    assert found["read"] is None
    assert found["words"] == ["--colour", "none"]
    (shown,) = found["form"]
    assert shown == {
        "name": "colour",
        "label": "Colour",
        "help": "how colourful formulas are",
        "kind": "whole",
        "none": "no colour",
        "default": 7,
        "choices": None,
        "usual": True,
        "while_paused": True,
    }
    (problem,) = found["asked"]
    assert problem["field"] == "colour"
    assert (
        "| `colour`\\* | `--colour` | a whole number from 1 to 9, or none for no colour | 7 |"
        in (found["page"])
    )


def test_the_form_has_every_setting_that_is_text() -> None:
    assert [each["name"] for each in options()["settings"]] == list(TEXT)


# --- constraints


X = np.linspace(0.5, 3, 30)[:, None]
NO_DIVISION_BY_X = Forbid("x0", "descendant", of="div", argument=1)


@pytest.mark.parametrize("method", ["dsr", "evolution", "hybrid"])
def test_the_search_and_evolution_obey_constraints(method: str) -> None:
    """All that is sampled or bred; a fit itself begins with the simplest formulas of all."""
    free, bound = (broken(method, constraints) for constraints in ([], [NO_DIVISION_BY_X]))
    assert free > 0
    assert bound == 0


def broken(method: str, constraints: list[Forbid]) -> int:
    """How many of the programs that a fit's search grades divide by x0."""
    settings = Settings(
        operators=("add", "mul", "div"),
        constraints=constraints,
        method=method,
        max_expressions=3000,
        structure=False,
    )
    search = Regression(X, 1 / X[:, 0] + X[:, 0], ["x0"], settings).search
    programs: list[Program] = []
    grader = search.grader

    def noted(batch: Programs) -> Any:
        programs.extend(batch)
        return grader(batch)

    search.grader = noted
    search.run()
    assert len(programs) > 500
    return sum(map(NO_DIVISION_BY_X.violated_by, programs))


def test_constraints_are_checked() -> None:
    for wrong in ("div", [Forbid], [3], 5):
        with pytest.raises(InputError) as error:
            Settings(constraints=wrong)
        assert error.value.field == "constraints"
    with refused("constraints", value="z"):
        Regression(X, X[:, 0] ** 2, ["x0"], Settings(constraints=[Count("z", high=1)]))


def test_constraints_are_a_parameter() -> None:
    model = SymbolicRegressor(
        operators=["add", "mul", "div"],
        constraints=[NO_DIVISION_BY_X],
        structure=False,
        max_expressions=3000,
        random_state=0,
    )
    model.fit(X, 1 / X[:, 0] + X[:, 0])
    assert [each.name for each in fields(Settings)].count("constraints") == 1
    assert not [each for each in model.model().formulas if "/x0" in each.text]
