"""Formulas that a search begins with."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from refusals import refused
from run_helpers import Capture, answer
from studio_helpers import serving
from symseek import InputError, Program, SymbolicRegressor
from symseek.regression import guesses
from symseek.regression.regression import Regression
from symseek.settings import Settings

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 4.0, (60, 2)) * [1.0, 1e9]
Y = 1e6 * np.sin(3.7 * X[:, 0] + 0.4) * (X[:, 1] / 1e9) ** 1.5 / (X[:, 0] ** 2 + 1.9)
GUESS = "4e5*sin(3.6*a + 0.3)*(b/1e9)**1.5/(a**2 + 2)"  # the form, with other numbers
SMALL = {"max_expressions": 1000, "method": "dsr", "structure": False}


def found(*guesses: str, **settings: object) -> Regression:
    regression = Regression(X, Y, ["a", "b"], Settings(guesses=guesses, **SMALL | settings))
    regression.run()
    return regression


def test_a_guess_is_fitted_and_found_in_any_units() -> None:
    without, with_it = found().model().best, found(GUESS)
    assert without.nrmse > 0.05
    best = with_it.model().formulas[-1]
    assert best.nrmse < 1e-9
    values = best.program.evaluate(X)
    assert np.allclose(values, Y)


def test_a_guess_counts_as_an_expression() -> None:
    one, two = found(max_expressions=3000), found("a + b", "a*b", "a + b", max_expressions=3000)
    begun = [each.search.state.history[0].expressions for each in (one, two)]
    assert begun[1] - begun[0] == 2  # the same again is not tried again


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        ("a +", "'a +' cannot be used: "),
        ("c*a", "unknown variable 'c'"),
        ("tan(a)", "operator 'tan' is not in the library"),
        ("log(a - 100)", "it is undefined on some row"),
        (
            "+".join(f"sin({k}.3*a)" for k in range(30)),
            "tokens, more than 60; shorten it, or raise",
        ),
    ],
)
def test_a_guess_that_cannot_be_used_is_refused(guess: str, says: str) -> None:
    with pytest.raises(InputError, match=r"^`guesses`: ") as refused:
        found(guess)
    assert says in str(refused.value)


def test_numbers_need_constants() -> None:
    with refused("guesses", value="2.5*a"):
        found("2.5*a", constants=False)
    assert len(found("a*b", constants=False).guesses) == 1


def test_powers_of_half_an_odd_number_are_products() -> None:
    regression = found("b**(5/2)", scale=False)
    assert str(regression.guesses[0]) == "b**2*sqrt(b)"
    assert np.allclose(Program.parse("1/a**1.5", regression.library).evaluate(X), X[:, 0] ** -1.5)


def test_the_estimator_takes_guesses() -> None:
    model = SymbolicRegressor(guesses=["x0**2 + x1"], random_state=0, **SMALL).fit(
        X / [1, 1e9], X[:, 0] ** 2 + X[:, 1] / 1e9
    )
    assert model.formula() in ("x0**2 + x1", "x1 + x0**2")
    assert model.get_params()["guesses"] == ["x0**2 + x1"]


@pytest.mark.usefixtures("here")
def test_the_command_line_takes_guesses_and_repeats_them(capsys: Capture) -> None:
    words = ("fit", "data.csv", "--target", "y", "--out", "run", "--max-expressions", "2000")
    said = answer(capsys, *words, "--quiet", "--guesses", "sin(a); a**2*b ;")
    assert said.code == 0
    assert "--guesses 'sin(a); a**2*b'" in said.out
    settings = json.loads(Path("run/settings.json").read_text())["settings"]
    assert settings["guesses"] == ["sin(a)", "a**2*b"]
    again = answer(capsys, "resume", "run", "--quiet", "--max-expressions", "4000")
    assert again.code == 0
    bad = answer(capsys, *words[:4], "--guesses", "z")
    assert bad.code == 2
    assert "symseek: --guesses: 'z' cannot be used: unknown variable 'z'" in bad.err


def test_a_long_guess_is_refused_before_it_is_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    """That would take a time that grows as the square of its length."""

    def never(*arguments: object) -> None:
        raise AssertionError("it was simplified")

    monkeypatch.setattr(guesses, "rescaled", never)
    with refused("guesses", wanted="at most 60 tokens"):
        found("+".join(["1.5*a"] * 3333))
    with pytest.raises(AssertionError, match="it was simplified"):
        found("+".join(["1.5*a"] * 50))


def test_guesses_are_bounded_together() -> None:
    with pytest.raises(InputError, match="`guesses` has 20,001 characters in all; give at most"):
        Settings(guesses=["a" * 10_000, "b" * 10_001])


def test_a_thousand_guesses_do_not_hold_the_studio(here: Path) -> None:
    """As many as there may be, each as long as it may be, take no more than a moment."""
    long = "+".join(["1.5*a", "b"] * 120)
    with serving(here) as served:
        question = {"table": "data.csv", "target": "y", "settings": {"guesses": [long] * 1000}}
        began = time.process_time()
        problems = served.post("api/question", question)["problems"]
        question["settings"] = {"guesses": [f"{at}*a + b" for at in range(1000)]}
        assert served.post("api/question", question)["problems"] == []
        assert time.process_time() - began < 20
    assert [each["field"] for each in problems] == ["guesses"]
    assert "characters in all; give at most 20,000" in problems[0]["sentence"]


def test_a_very_long_guess_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "rescaled", None)
    text = "*".join(f"(a + {k}.5*b)" for k in range(25))
    regression = Regression(X, Y, ["a", "b"], Settings(guesses=(text,), max_length=1000, **SMALL))
    (guess,) = guesses.guessed(
        [text],
        *(regression.full, regression.library, X, regression.rows.scales),
        longest=1000,
    )
    expected = Program.parse(text, regression.full).evaluate(X) / regression.rows.scales.target
    assert np.allclose(guess.evaluate(X / regression.rows.scales.inputs), expected)
