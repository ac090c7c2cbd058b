"""Breeding on a device: the children are the very programs that the native engine makes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import host_device
import nvrtc
from constraint_strategies import constraint_lists, policy
from evolution_helpers import FITTED, KOZA, TREES, copies
from examples import examples
from strategies import libraries
from symseek import ConstraintSet, Evolution, Forbid, InputError, Length, Library, paper_constraints
from symseek.engines.cuda import breeding
from symseek.engines.cuda.breeding import BreedingKernels, CudaBreeder, Memory, Pool
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.rules import device_rules
from symseek.engines.native import NativeEngine
from symseek.programs import Programs
from threaded_device import ThreadedDevice

pytestmark = host_device.needs_compiler

OPTIONS = {
    "both": Evolution(),
    "crossover": Evolution(crossover=1.0, mutation=0.0, tournament=2),
    "mutation": Evolution(crossover=0.0, mutation=1.0, tournament=1),
}
MANY = Library(["add", "sin"], variables=[f"x{i}" for i in range(80)])  # more than a word of bits
CASES: dict[str, tuple[Library, list[Any]]] = {
    "paper": (KOZA, paper_constraints()),
    "constants": (FITTED, paper_constraints(4, 20)),
    "many constants": (FITTED, [Length(1, 30)]),
    "arity 3": (TREES, [Length(1, 20)]),
    "many tokens": (MANY, paper_constraints(2, 12)),
    "sized": (
        KOZA,
        [
            Length(3, 9),
            Forbid([name for name in KOZA.names if name != "exp"], "child", of="log"),
        ],
    ),
}


@lru_cache(maxsize=2)
def engine(threaded: bool = False) -> CudaEngine:
    return CudaEngine(1, ThreadedDevice() if threaded else host_device.HostDevice())


def with_values(programs: Programs, seed: int) -> Programs:
    """The programs, every constant a number that occurs nowhere else."""
    values = np.random.default_rng(seed).normal(size=programs.constants.shape)
    return Programs(programs.library, programs.tokens, programs.lengths, values)


def assert_alike(one: Programs, other: Programs) -> None:
    np.testing.assert_array_equal(one.lengths, other.lengths)
    np.testing.assert_array_equal(one.tokens, other.tokens)
    np.testing.assert_array_equal(one.constants, other.constants)


def assert_generations_alike(
    rules: ConstraintSet, first: Programs, seed: int, options: Any, made: CudaEngine
) -> int:
    """Breed some generations on both engines; returns how many children there were."""
    breeders = made.breeder(rules), NativeEngine().breeder(rules)
    assert isinstance(breeders[0], CudaBreeder)
    population, born = first, 0
    for breeder in breeders:
        breeder.begin(population)
    for generation in range(4):
        fitness = np.random.default_rng(generation).uniform(size=len(population))
        fitness[::7] = -np.inf  # as invalid programs have it
        draw = (seed, 3, generation, options, len(first))
        ours, theirs = (breeder.breed(population, fitness, *draw) for breeder in breeders)
        assert_alike(ours, theirs)
        born += len(ours)
        population = with_values(Programs.concatenate([ours, population]), generation)
    return born


@examples(25)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_children_are_those_of_the_native_engine(data: Any, seed: int) -> None:
    library = data.draw(libraries(evaluable=False))
    constraints = data.draw(constraint_lists(library))
    options = data.draw(st.sampled_from(list(OPTIONS.values())))
    try:
        made = policy(library, constraints, seed=seed)
        population = with_values(made.sample(40, 0).programs, seed % 1000)
    except InputError:
        assume(False)  # the constraints collide
    assert_generations_alike(made.rules, population, seed, options, engine())


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("library", "rules"), CASES.values(), ids=CASES)
def test_ordinary_parents_have_the_same_children(library: Any, rules: Any, options: Any) -> None:
    made = policy(library, rules, seed=1)
    parents = with_values(made.sample(300, 0).programs, 1)
    assert assert_generations_alike(made.rules, parents, 2**63 + 5, options, engine()) > 50


@pytest.mark.slow
@pytest.mark.parametrize("case", ["constants", "arity 3"])
def test_many_threads_make_the_same_children(case: str) -> None:
    library, rules = CASES[case]
    made = policy(library, rules, seed=1)
    parents = with_values(made.sample(150, 0).programs, 1)
    born = assert_generations_alike(made.rules, parents, 5, Evolution(), engine(threaded=True))
    assert born > 150


def test_what_is_admitted_is_what_the_native_engine_admits() -> None:
    rules = ConstraintSet(KOZA, paper_constraints(4, 10))
    texts = ["sin(x) + x", "cos(x) + x", "cos(x) + x", "x", "sin(x + sin(x))", "x + x*x"]
    offered = Programs.concatenate(
        [copies(texts, KOZA, 3), policy(KOZA, [Length(1, 30)]).sample(50, 0).programs]
    )
    for threaded in (False, True):
        breeders = engine(threaded).breeder(rules), NativeEngine().breeder(rules)
        for breeder in breeders:
            breeder.begin(copies(["sin(x) + x"], KOZA, 1))
        ours, theirs = (breeder.admit(offered) for breeder in breeders)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.sum() >= 2
        again, known = (breeder.admit(offered) for breeder in breeders)
        np.testing.assert_array_equal(again, known)
        assert not again.any()


def test_the_memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breeding, "_SLOTS", 8)
    library, rules = CASES["paper"]
    made = policy(library, rules, seed=1)
    parents = made.sample(100, 0).programs
    for threaded in (False, True):
        assert_generations_alike(made.rules, parents, 5, Evolution(), engine(threaded))


def test_runs_side_by_side_do_not_mix() -> None:
    """Each run breeds from its own programs, and one that is not active is left alone."""
    library, rules = CASES["constants"]
    sets = [policy(library, rules, seed=seed).sample(60, 0).programs for seed in range(3)]
    made = ConstraintSet(library, rules)
    tables = device_rules(made.tables)
    assert tables is not None
    for device in (host_device.HostDevice(), ThreadedDevice()):
        kernels = BreedingKernels(device, tables, library.constant_id)
        width = made.max_length
        parents, children, new = (Pool.empty(device, 3, 70, width, width) for _ in range(3))
        for run, programs in enumerate(sets):
            few = 60 - 10 * run
            parents.tokens[run, :few] = programs.tokens[:few]
            parents.lengths[run, :few] = programs.lengths[:few]
            parents.counts[run] = few
        parents.constants[...] = 1.0
        fitness = np.random.default_rng(0).uniform(size=(3, 70))
        active = np.array([1, 0, 1], dtype=np.uint8)
        memory = Memory.empty(device, 3, 256)
        places, kept = np.zeros((3, 70), np.int32), np.zeros(3, np.int32)
        kernels.forget(memory)
        kernels.sift(parents, memory, active, False, places, kept)
        children.counts[...] = wanted = np.array([70, 70, 30], dtype=np.int32)
        draw = np.arange(3, dtype=np.uint64), np.arange(3, dtype=np.int32), 2
        kernels.breed(parents, fitness, draw, Evolution(), active, wanted, children)
        kernels.sift(children, memory, active, False, places, kept)
        kernels.gather(children, places, active, new)
        assert not new.tokens[1].any()
        for run in (0, 2):
            breeder, own = NativeEngine().breeder(made), sets[run][: 60 - 10 * run]
            breeder.begin(own)
            given = (fitness[run, : len(own)], run, run, 2, Evolution(), int(wanted[run]))
            want = breeder.breed(own, *given)
            assert kept[run] == len(want) > 10
            np.testing.assert_array_equal(new.tokens[run, : len(want)], want.tokens)
            np.testing.assert_array_equal(new.lengths[run, : len(want)], want.lengths)


def test_what_cannot_be_bred_is_refused_or_left_to_the_host() -> None:
    rules = ConstraintSet(KOZA, paper_constraints(4, 8))
    breeder = engine().breeder(rules)
    parents = copies(["x + x*x"], KOZA, 3)
    breeder.begin(parents)
    assert len(breeder.breed(parents[:0], np.ones(0), 0, 0, 0, Evolution(), 0)) == 0
    with pytest.raises(InputError, match="3 parents came with 2 values"):
        breeder.breed(parents, np.ones(2), 0, 0, 0, Evolution(), 3)
    with pytest.raises(InputError, match="there are no parents"):
        breeder.breed(parents[:0], np.ones(0), 0, 0, 0, Evolution(), 3)
    long = copies(["x + x*x + x*x + x*x"], KOZA, 3)
    with pytest.raises(InputError, match="a parent has 13 tokens; the constraints allow at most 8"):
        breeder.breed(long, np.ones(3), 0, 0, 0, Evolution(), 3)
    longest = ConstraintSet(KOZA, [Length(1, breeding.LONGEST + 1)])
    assert engine().breeding_kernels(longest) is None
    assert not isinstance(engine().breeder(longest), CudaBreeder)


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("case", CASES)
def test_the_kernels_are_cuda(case: str) -> None:
    library, rules = CASES[case]
    tables = device_rules(ConstraintSet(library, rules).tables)
    assert tables is not None
    constant = -1 if library.constant_id is None else library.constant_id
    assert nvrtc.compile_errors(breeding.breeding_source(tables, constant)) == ""
