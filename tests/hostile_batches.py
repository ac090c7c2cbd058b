"""Random calls that no honest caller makes: ids, lengths, shapes and types out of range.

`through_programs` builds `Programs` by hand and puts them to an engine; `through_bindings` calls a
function of the native module. Each takes a number, from which the whole call follows. Run as a
script, this counts how many calls end the process, each in a process of its own:

    python tests/hostile_batches.py [--calls 5000]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from symseek import ConstraintSet, Library, Programs, Token, _native
from symseek.constants import FitConfig
from symseek.constraints import (
    Length,
    MaxConstants,
    NoInverseChild,
    NoNestedTrigonometry,
    NotAllConstants,
    SomeVariable,
)
from symseek.engines.native import NativeEngine
from symseek.engines.packing import instructions, packed_rules
from symseek.policy import PolicyWeights

LIBRARY = Library(
    ["add", "mul", "sin", "div", Token("soft", 2, formula="log(1 + exp(a)) + b"), 1, "const"],
    variables=["x", "y"],
)
T, ROWS, HIDDEN, BATCH = 12, 11, 8, 6
HUGE = (-(2**31), -1, 0, 1, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 10**30)
ODD = (float("nan"), float("inf"), -1.0, 0.0, 1e308, "text", None, [])

Call = tuple[Callable[..., Any], dict[str, Any]]


@cache
def rules() -> ConstraintSet:
    rules = [Length(1, T), MaxConstants(3), NoInverseChild(), NoNestedTrigonometry()]
    return ConstraintSet(LIBRARY, [*rules, NotAllConstants(), SomeVariable()])


@cache
def tables() -> dict[str, Any]:
    return packed_rules(rules().tables)


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(0.5, 2.0, (ROWS, 2))
    return X, X[:, 0] * 2 + X[:, 1]


@cache
def engine() -> NativeEngine:
    return NativeEngine(1)


@cache
def weights() -> np.ndarray:
    return PolicyWeights.start(tokens=len(LIBRARY), hidden=HIDDEN, seed=0).flat


@cache
def honest() -> Programs:
    """Some hundreds of programs that obey the rules."""
    return engine().policy(rules(), HIDDEN).sample(weights(), 0, 0, 400).programs


@cache
def core() -> dict[str, Any]:
    """The native objects; a call is made to one of them."""
    pool, compiled = _native.Pool(1), _native.Rules(tables())
    X, y = data()
    return {
        "pool": pool,
        "rules": compiled,
        "policy": _native.Policy(compiled, HIDDEN, pool),
        "breeder": _native.Breeder(compiled, LIBRARY.index("const"), pool),
        "evaluator": _native.Evaluator(**_evaluator(X, y, pool)),
    }


def _evaluator(X: np.ndarray, y: np.ndarray, pool: Any) -> dict[str, Any]:
    return {
        "code": [instructions(token) for token in LIBRARY],
        "arity": LIBRARY.arity.tolist(),
        "columns": np.ascontiguousarray(X.T),
        "target": y,
        "weight": np.ones(len(y)),
        "losses": [("squared", 1.0), ("absolute", 1.0)],
        "pool": pool,
        "cache": 64,
    }


def drawn(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The arrays of a few honest programs."""
    some = honest()[rng.integers(0, len(honest()), BATCH)]
    return {
        "tokens": some.tokens.copy(),
        "lengths": some.lengths.copy(),
        "constants": rng.normal(size=(BATCH, max(1, some.constants.shape[1]))),
    }


# --- what is done to honest arguments


def spoiled(rng: np.random.Generator, value: Any) -> Any:
    """Something else in the place of an argument."""
    if isinstance(value, np.ndarray):
        with np.errstate(all="ignore"):
            return _spoiled_array(rng, value)
    if isinstance(value, dict):
        return _spoiled_entry(rng, dict(value))
    if isinstance(value, list):
        return _spoiled_list(rng, list(value))
    if isinstance(value, (bool, int)):
        return HUGE[rng.integers(len(HUGE))]
    if isinstance(value, float):
        return ODD[rng.integers(len(ODD))]
    return ODD[rng.integers(4, len(ODD))]


def _spoiled_array(rng: np.random.Generator, array: np.ndarray) -> Any:
    kind = rng.integers(20)
    if kind > 11 and array.dtype == np.int16:  # ids in no order
        return rng.integers(0, len(LIBRARY) + (kind > 17), array.shape).astype(array.dtype)
    if (kind < 5 or kind > 11) and array.size:  # some values
        out = array.copy()
        for _ in range(rng.integers(1, 4)):
            at = tuple(rng.integers(0, size) for size in out.shape)
            if out.dtype.kind in "iub":
                info = np.iinfo(np.uint8 if out.dtype.kind == "b" else out.dtype)
                near = rng.integers(-3, 40) if info.min < 0 else rng.integers(0, 40)
                out[at] = near if rng.random() < 0.7 else rng.integers(info.min, info.max)
            else:
                out[at] = rng.choice([np.nan, np.inf, -np.inf, 1e300, 0.0])
        return out
    if kind == 5:  # fewer, or many fewer
        return array[: rng.integers(0, len(array) + 1)].copy() if array.ndim else array
    if kind == 6 and array.ndim > 1:
        return np.ascontiguousarray(array[:, : rng.integers(0, array.shape[1] + 1)])
    if kind == 7:
        return array.reshape(-1) if rng.random() < 0.5 else array[None]
    if kind == 8:
        return array.astype(rng.choice([np.int8, np.int64, np.float32, np.float64, complex, bool]))
    if kind == 9:
        return np.zeros((0,) * array.ndim, array.dtype)
    if kind == 10:
        return np.concatenate([array, array]) if array.ndim else array
    return rng.choice([None, 3, "text"])


def _spoiled_entry(rng: np.random.Generator, record: dict[str, Any]) -> dict[str, Any]:
    name = sorted(record)[rng.integers(len(record))]
    if rng.random() < 0.1:
        del record[name]
    else:
        record[name] = spoiled(rng, record[name])
    return record


def _spoiled_list(rng: np.random.Generator, values: list[Any]) -> Any:
    if not values or rng.random() < 0.2:
        return values[1:]
    at = rng.integers(len(values))
    if isinstance(values[at], tuple):  # an instruction
        words = ["argument", "finish", "variable", "constant", "number", "add", "sin"]
        index = int(rng.choice([-1, 0, 1, 2, 3, 100, 2**31 - 1]))
        values[at] = (str(rng.choice(words)), index, 1.0)
    else:
        values[at] = spoiled(rng, values[at])
    return values


# --- calls


def _programs_call(seed: int) -> tuple[np.random.Generator, dict[str, np.ndarray]]:
    rng = np.random.default_rng([1, seed])
    batch = drawn(rng)
    for _ in range(rng.integers(1, 3)):
        name = ("tokens", "lengths", "constants")[rng.choice(3, p=[0.5, 0.35, 0.15])]
        batch[name] = spoiled(rng, batch[name])
    return rng, batch


def through_programs(seed: int) -> None:
    """Make a batch by hand, and give it to whoever takes one."""
    rng, batch = _programs_call(seed)
    programs = Programs(LIBRARY, **batch)
    count = len(programs)
    X, y = data()
    choice = rng.integers(7)
    if choice < 4:
        evaluator = engine().evaluator(LIBRARY, X, y, cache=16)
        if choice == 0:
            evaluator.errors(programs)
        elif choice == 1:
            evaluator.predict(programs)
        elif choice == 2:
            evaluator.derivatives(programs)
        else:
            evaluator.fit(programs, FitConfig("least_squares", restarts=0, max_steps=3))
    elif choice == 4:
        ones = np.ones(count, dtype=np.float32)
        engine().policy(rules(), HIDDEN).gradient(weights(), programs, ones, ones)
    elif choice == 5:
        breeder = engine().breeder(rules())
        breeding = SimpleNamespace(tournament=2, crossover=0.5, mutation=0.5)
        breeder.begin(programs)
        breeder.breed(programs, np.ones(count), 0, 0, 0, breeding, 8)
    else:
        engine().permits(rules(), programs)
        str(list(programs)), programs.complexity


def binding_call(rng: np.random.Generator) -> Call:
    """A function of the native module, and honest arguments."""
    it, batch = core(), drawn(rng)
    programs = {name: batch[name] for name in ("tokens", "lengths")}
    X, y = data()
    rows, wide = len(y), batch["constants"].shape[1]
    ok = np.empty(BATCH, dtype=bool)
    floats = lambda: np.zeros(BATCH, dtype=np.float32)  # noqa: E731
    kinds = len(_native.pair_kinds())
    fitting = {"method": "mixed", "restarts": 1, "max_steps": 3, "rescue": True}
    graded = {"sums": np.empty((2, BATCH)), "ok": ok}
    new = {
        "tokens": np.empty((BATCH, T), np.int16),
        "lengths": np.empty(BATCH, np.int32),
    }
    flat = weights()
    calls: dict[str, Call] = {
        "errors": (it["evaluator"].errors, {**batch, **graded}),
        "fit": (
            it["evaluator"].fit,
            {
                **batch,
                **fitting,
                **graded,
                "scale": 1.0,
                "power": 0.5,
                "low": np.full((BATCH, wide), -2.0),
                "high": np.full((BATCH, wide), 2.0),
                "bounds": 1,
                "fitted": np.empty((BATCH, wide)),
                "status": np.empty(BATCH, np.uint8),
            },
        ),
        "derivatives": (
            it["evaluator"].derivatives,
            {
                **batch,
                "loss": np.empty(BATCH),
                "gradient": np.empty((BATCH, wide)),
                "normal": np.empty((BATCH, wide, wide)),
                "ok": ok,
            },
        ),
        "predict": (
            it["evaluator"].predict,
            {**batch, "predictions": np.empty((BATCH, rows)), "ok": ok},
        ),
        "permits": (it["rules"].permits, {**programs, "pool": it["pool"], "ok": ok}),
        "sample": (
            it["policy"].sample,
            {"weights": flat, "seed": 0, "iteration": 0, **new, "entropy": floats(), "ask": None},
        ),
        "score": (
            it["policy"].score,
            {
                "weights": flat,
                **programs,
                "weight": floats(),
                "entropy_weight": floats(),
                "entropy_decay": 0.9,
                "log_probability": floats(),
                "entropy": floats(),
                "gradient": np.zeros_like(flat),
                "ask": None,
            },
        ),
        "breed": (
            it["breeder"].breed,
            {
                **batch,
                "fitness": rng.random(BATCH),
                "seed": 0,
                "iteration": 0,
                "generation": 0,
                "tournament": 2,
                "crossover": 0.5,
                "mutation": 0.5,
                **{f"child_{name}": array for name, array in new.items()},
                "child_constants": np.empty((BATCH, T)),
            },
        ),
        "admit": (it["breeder"].admit, {**programs, "ok": ok}),
        "begin": (it["breeder"].begin, programs),
        "pair": (
            _native.pair,
            {
                "values": rng.random((3, rows)),
                "candidates": rng.random((rows, 8)),
                "inverses": rng.random((rows, 8)),
                "target": y.copy(),
                "weight": np.ones(rows),
                "penalty": np.zeros((3, 8)),
                "pool": it["pool"],
                "error": np.empty((3, kinds)),
                "index": np.empty((3, kinds), np.int64),
            },
        ),
        "adam": (
            _native.adam,
            {
                **{name: np.zeros(20, np.float32) for name in ("weights", "mean", "variance")},
                "gradient": np.zeros(20, np.float32),
                "step": 0.1,
                "beta1": 0.9,
                "beta2": 0.9,
                "epsilon": 1e-8,
            },
        ),
        "Rules": (_use_rules, {"tables": dict(tables()), "pool": it["pool"]}),
        "Policy": (_native.Policy, {"rules": it["rules"], "hidden": 4, "pool": it["pool"]}),
        "Breeder": (_native.Breeder, {"rules": it["rules"], "constant": 6, "pool": it["pool"]}),
        "Evaluator": (_use_evaluator, {**_evaluator(X, y, it["pool"])}),
        "Pool": (_native.Pool, {"threads": 1}),
    }
    name = sorted(calls)[rng.integers(len(calls))]
    return calls[name]


def _use_rules(tables: Any, pool: Any) -> None:
    """Tables that are taken must serve all that read them."""
    made = _native.Rules(tables)
    rng = np.random.default_rng(3)
    batch = drawn(rng)
    arity = np.asarray(tables["arity"])
    longest = int(tables["max_length"])
    tokens, lengths = np.full((40, longest), -1, np.int16), np.empty(40, np.int32)
    fresh, hidden = np.empty(40, np.float32), 4
    size = (len(arity) + 1) * 8 * hidden + 4 * hidden * (hidden + 1) + (hidden + 1) * len(arity)
    policy = _native.Policy(made, hidden, pool)
    flat = rng.normal(size=size).astype(np.float32)
    policy.sample(flat, 0, 0, tokens, lengths, fresh, None)
    ok = np.empty(BATCH, dtype=bool)
    made.permits(batch["tokens"], batch["lengths"], pool, ok)
    breeder = _native.Breeder(made, -1, pool)
    breeder.admit(batch["tokens"], batch["lengths"], ok)
    constants, values = np.empty((40, 0)), np.ones((BATCH, T))
    fitness, seed = np.ones(BATCH), (0, 0, 0)
    of = (batch["tokens"], batch["lengths"], values, fitness, *seed, 2, 0.5, 0.5)
    breeder.breed(*of, tokens, lengths, constants)
    ones = np.ones(BATCH, np.float32)
    sums = np.empty(BATCH, np.float32), np.empty(BATCH, np.float32)
    policy.score(
        flat, batch["tokens"], batch["lengths"], ones, ones, 1.0, *sums, np.zeros_like(flat), None
    )


def _use_evaluator(**given: Any) -> None:
    """Code that is taken must run."""
    made = _native.Evaluator(**given)
    batch = drawn(np.random.default_rng(4))
    sums = np.empty(BATCH), np.empty(BATCH)
    made.errors(*batch.values(), *sums, np.empty(BATCH, dtype=bool))
    fitted, status = np.empty_like(batch["constants"]), np.empty(BATCH, np.uint8)
    if np.size(given["target"]):
        how = ("mixed", 0, 3, True, 1.0, 1.0)
        made.fit(*batch.values(), *how, fitted, status, *sums, np.empty(BATCH, dtype=bool))


def through_bindings(seed: int) -> None:
    """Call a function of the native module."""
    rng = np.random.default_rng([2, seed])
    function, arguments = binding_call(rng)
    for _ in range(rng.integers(1, 3)):
        name = list(arguments)[rng.integers(len(arguments))]
        arguments = {**arguments, name: spoiled(rng, arguments[name])}
    function(**arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    options = parser.parse_args()
    core(), engine(), honest()
    for way in (through_programs, through_bindings):
        ended = Counter(_ending(way, seed) for seed in range(options.calls))
        print(way.__name__, dict(ended), flush=True)


def _ending(way: Callable[[int], None], seed: int) -> str:
    """How a process that makes the call ends."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(2)
        try:
            way(seed)
            os._exit(0)
        except (TypeError, ValueError):
            os._exit(1)
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return ("returns", "is refused", "another error")[os.WEXITSTATUS(status)]
    return "hangs" if os.WTERMSIG(status) == signal.SIGALRM else "ends the process"


if __name__ == "__main__":
    sys.exit(main())
