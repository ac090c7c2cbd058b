"""Runs side by side on a device: each is the run it would be alone, and none that ended is lost."""

from __future__ import annotations

import gzip
import itertools
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import host_device
from examples import mostly_slow
from fake_experiments import repeatable
from fake_gpu import FailingDevice, SmallDevice, use_device
from refusals import refused
from run_helpers import Capture, answer
from symseek import InputError
from symseek.engines.cuda.engine import CudaEngine
from symseek.jobs.runner import drive
from symseek.lab import Counts, Listener, Outcome, Record, Spec, Store, run
from symseek.lab.gpu import pool as gpu
from symseek.lab.gpu import shapes
from symseek.lab.gpu.pool import GpuPool
from symseek.lab.trials.execute import EXECUTE, execute
from symseek.lab.trials.plan import on_engine
from symseek.structure.proposals import Proposals

pytestmark = host_device.needs_compiler

SMALL = {"max_expressions": 1_000, "batch_size": 100}


def spec(seed: int, problem: str = "Nguyen-11", method: str = "dsr", **settings: Any) -> Spec:
    return Spec(method, problem, seed, {**SMALL, "engine": "cuda", **settings})


def of_host(seed: int, problem: str = "Nguyen-11", **settings: Any) -> Spec:
    """A run that is led by the host."""
    return spec(seed, problem, "hybrid", distribution=True, **settings)


def pool(device: Any = None, workers: Callable[[int], Any] = ThreadPoolExecutor) -> GpuPool:
    """On the host, with threads instead of processes."""
    engine = CudaEngine(1, device or host_device.HostDevice())
    return GpuPool(EXECUTE, jobs=2, engine=engine, workers=workers)


def done(specs: Iterable[Spec], made: GpuPool | None = None) -> list[Record]:
    """The records of runs that end well, in the order of the specs."""
    wanted = list(specs)
    with Store() as store:
        outcome = drive(wanted, store, lambda: made or pool(), Listener())
        assert outcome == Outcome(Counts(done=len(wanted)), ran=len(wanted))
        found = {record.spec: record for record in store.records()}
    return [found[each] for each in wanted]


def native(wanted: Spec) -> Record:
    """The same run on the native engine."""
    settings = {name: value for name, value in wanted.settings.items() if name != "engine"}
    return execute(Spec(wanted.method, wanted.problem, wanted.seed, settings))


# --- what a run finds


@pytest.mark.parametrize("method", mostly_slow(["dsr", "pqt", "vpg"], "dsr"))
def test_a_formula_is_recovered_where_the_native_engine_recovers_it(method: str) -> None:
    specs = [spec(seed, method=method) for seed in (0, 5)]
    for record in done(specs):
        other = native(record.spec)
        assert (record.recovered, record.evaluations) == (other.recovered, other.evaluations)
        assert record.hardware["gpu"] == "the host"
        assert record.seconds is not None
        assert record.wall is not None
        assert 0 < record.seconds <= record.wall
    assert {native(each).recovered for each in specs} == {"yes", "no"}  # both were compared


@pytest.mark.parametrize("problem", mostly_slow(["Nguyen-1", "Nguyen-10", "Nguyen-8c"], "Nguyen-1"))
def test_a_hybrid_is_that_of_the_host(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same kernels under it: found by linear algebra, not found, and with constants."""
    use_device(monkeypatch)
    for record in done([spec(seed, problem, "hybrid", curve=True) for seed in (0, 5)]):
        other = execute(record.spec)
        assert (record.recovered, record.evaluations) == (other.recovered, other.evaluations)
        assert (record.front, record.reward) == (other.front, other.reward)
        assert record.curve["expressions"] == other.curve["expressions"]
        for name in ("mean", "top", "best"):
            assert record.curve[name] == pytest.approx(other.curve[name], rel=1e-5)


def test_hybrids_share_the_device_unless_there_is_a_search_in_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = pool()
    for seed in range(3):
        made.start(spec(seed, method="hybrid"))
    made.start(spec(0, "feynman_I_6_2a", "hybrid"))  # has so many rows that programs race
    monkeypatch.setattr(Proposals, "searches", True)
    made.start(spec(0, "Nguyen-9", "hybrid"))
    assert [len(group.waiting) for _, group in made._groups] == [3]
    assert [each.problem for each in made._others] == ["feynman_I_6_2a", "Nguyen-9"]
    made.close()
    shapes._shape.cache_clear()


@pytest.mark.slow
def test_a_run_does_not_depend_on_what_runs_beside_it() -> None:
    ours = [spec(0), spec(5), spec(0, noise=0.1), spec(0, "Nguyen-8", "pqt")]
    ours += [spec(3, "Nguyen-5", "hybrid"), spec(0, "Nguyen-12", "hybrid")]
    alone = [repeatable(done([each])[0]) for each in ours]
    beside = [spec(seed, problem) for problem in ("Nguyen-11", "Nguyen-1") for seed in range(9, 13)]
    beside += [spec(seed, "Nguyen-7", "hybrid") for seed in range(3)]
    together = done([*beside, *ours])[len(beside) :]
    assert [repeatable(each) for each in together] == alone


def test_more_runs_than_slots_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [spec(seed) for seed in range(5)]
    wide = [repeatable(each) for each in done(specs)]
    monkeypatch.setattr(gpu.GpuPool, "size", 2)
    assert [repeatable(each) for each in done(specs)] == wide


def test_too_little_memory_means_fewer_searches_at_a_time() -> None:
    specs = [spec(seed) for seed in range(6)]
    wide = [repeatable(each) for each in done(specs)]
    one = _largest(1)
    narrow = pool(SmallDevice(2 * one))
    assert [repeatable(each) for each in done(specs, narrow)] == wide
    with pytest.raises(InputError, match="too little free memory for one search; close"):
        done(specs, pool(SmallDevice(one // 2)))


def _largest(slots: int) -> int:
    """Bytes of the largest array that so many searches need."""
    sizes: list[int] = []

    class Watched(host_device.HostDevice):
        xp: Any = _Watching(sizes)

    made = pool(Watched())
    for seed in range(slots):
        made.start(spec(seed))
    made.wait(0.001)
    made.close()
    return max(sizes)


class _Watching:
    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        made = np.zeros(shape, dtype)
        self.sizes.append(made.nbytes)
        return made


def test_levels_of_noise_run_in_one_group() -> None:
    made = pool()
    for level in (0.02, 0.05, 0.1):
        made.start(spec(0, noise=level))
    made.start(spec(0, noise=0.1, data_factor=2))  # has more rows
    assert [len(group.waiting) for _, group in made._groups] == [3, 1]
    made.close()


GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "dsr": {"epsilon": (0.05, 0.3)},
    "vpg": {"beta": (0.1, 0.5)},
    "pqt": {"size": (5, 20), "weight": (100.0, 200.0)},
}


def grid(method: str, **more: Any) -> list[Spec]:
    """Runs of every combination of some settings that may differ in one group."""
    varied = {**GRIDS[method], "learning_rate": (0.002, 0.01), "entropy_weight": (0.005, 0.1)}
    return [
        spec(5, method=method, **dict(zip(varied, values, strict=True)), **more)
        for values in itertools.product(*varied.values())
    ]


@pytest.mark.parametrize("method", GRIDS)
def test_the_runs_of_a_grid_are_one_group(method: str) -> None:
    made = pool()
    specs = grid(method)
    for each in [*specs, spec(0, method=method), spec(0, method=method, reward_noise=0.5)]:
        made.start(each)
    made.start(spec(0, method=method, learning_rate=0.0))  # takes no steps
    made.start(spec(0, method=method, batch_size=200))
    assert [len(group.waiting) for _, group in made._groups] == [len(specs) + 2, 1, 1]
    made.close()


def test_queues_that_need_more_room_are_another_group() -> None:
    made = pool()
    for size in (5, 10, 32, 33):
        made.start(spec(0, method="pqt", size=size))
    assert [len(group.waiting) for _, group in made._groups] == [3, 1]
    made.close()


@pytest.mark.parametrize("method", mostly_slow(list(GRIDS), "dsr"))
def test_a_run_of_a_grid_does_not_depend_on_the_others(method: str) -> None:
    ours = grid(method, curve=True)
    alone = [done([each])[0] for each in ours]
    assert [repeatable(each) for each in done(ours)] == [repeatable(each) for each in alone]
    assert len({str(each.curve) for each in alone}) == len(ours)


def test_the_curve_begins_as_the_native_one() -> None:
    """Not to the last digit: the sine of a huge number is another one after another rounding."""
    (record,) = done([spec(3, curve=True, early_stop=False)])
    other = native(record.spec)
    assert record.curve.keys() == other.curve.keys()
    assert record.curve["expressions"] == other.curve["expressions"]
    for name in ("mean", "top", "best"):
        first = slice(0, 3)
        assert record.curve[name][first] == pytest.approx(other.curve[name][first], rel=1e-3)


def test_the_distributions_begin_as_the_native_ones() -> None:
    made = pool()
    made.start(spec(3, distribution=True, early_stop=False))
    assert made._groups  # wholly on the device
    made.close()
    (record,) = done([spec(3, distribution=True, curve=True, early_stop=False)])
    other = native(record.spec)
    assert record.curve["looks"] == other.curve["looks"] == list(range(1, 11))
    first, native_first = (each.curve["batches"][0] for each in (record, other))
    assert first == pytest.approx(native_first, rel=1e-3)
    assert [np.mean(each) for each in record.curve["batches"]] == pytest.approx(
        record.curve["mean"][:10], abs=0.01
    )


# --- other runs


def test_runs_of_other_engines_and_methods_are_done_too(monkeypatch: pytest.MonkeyPatch) -> None:
    use_device(monkeypatch)
    pytest.importorskip("deap")
    others = [Spec("dsr", "Nguyen-1", 0, SMALL), Spec("gp", "Nguyen-1", 0, SMALL_GP)]
    found = done([spec(0), spec(0, "Nguyen-1", "hybrid"), *others])
    assert ["gpu" in record.hardware for record in found] == [True, True, False, False]
    assert repeatable(found[2]) == repeatable(execute(others[0]))


SMALL_GP = {"max_expressions": 1_000}


def test_only_methods_with_an_engine_get_one() -> None:
    specs = [Spec("dsr", "Nguyen-1", 0, SMALL), Spec("gp", "Nguyen-1", 0, SMALL_GP)]
    assert on_engine(specs, "native") == specs
    assert on_engine(specs, "cuda") == [spec(0, "Nguyen-1"), specs[1]]


# --- faults


def test_ctrl_c_keeps_what_has_finished() -> None:
    class Impatient(Listener):
        def finished(self, record: Record) -> None:
            raise KeyboardInterrupt

    specs = [spec(seed) for seed in (0, 1, 5)]  # of which the last finds its formula
    with Store() as store:
        outcome = drive(specs, store, pool, Impatient())
        assert outcome.interrupted
        assert outcome.counts.done >= 1
        assert outcome.counts.running == 0
        assert drive(specs, store, pool, Listener()).counts == Counts(done=3)


def test_ctrl_c_in_a_run_of_the_host_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Spec) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr("symseek.lab.trials.execute.execute", interrupted)
    with Store() as store:
        outcome = drive([of_host(0)], store, pool, Listener())
        assert outcome.interrupted
        assert outcome.counts == Counts(missing=1)


@pytest.mark.parametrize("whole", mostly_slow([True, False], False))
def test_a_lost_device_ends_the_runs_and_keeps_those_that_finished(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = spec if whole else of_host
    long = made(1, "Nguyen-1", max_expressions=20_000, early_stop=False)
    specs = [spec(0, max_expressions=100), long]
    device = FailingDevice(after=60)
    use_device(monkeypatch, device)
    with Store() as store:
        with pytest.raises(InputError) as told:
            drive(specs, store, lambda: pool(device), Listener())
        assert "the GPU stopped working (cudaErrorECC" in str(told.value)
        assert "the runs that finished are kept: start again" in str(told.value)
        assert store.counts(specs) == Counts(done=1, missing=1)


def test_a_formula_that_cannot_be_judged_is_a_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise ZeroDivisionError("in the algebra")

    monkeypatch.setattr(gpu, "answer", broken)
    specs = [spec(0), spec(5)]  # the second asks
    with Store() as store:
        outcome = drive(specs, store, pool, Listener())
        assert outcome.counts == Counts(done=1, failed=1)
        assert "in the algebra" in outcome.failures[0].last_line


def test_a_lost_worker_process_is_one_sentence() -> None:
    class Lost(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            broken: Future[Any] = Future()
            broken.set_exception(BrokenProcessPool("a process was killed"))
            return broken

    with (
        Store() as store,
        pytest.raises(InputError, match="a process that judges the runs ended"),
    ):
        drive([spec(0)], store, lambda: pool(workers=Lost), Listener())


def test_worker_processes_end_with_the_pool_whatever_they_are_at() -> None:
    workers = gpu.Processes(1)
    pid = workers.submit(os.getpid).result()
    workers.submit(time.sleep, 600)
    workers.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("it still runs")


# --- the commands


def test_the_bench_command_runs_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    use_device(monkeypatch)
    monkeypatch.setattr(gpu, "Processes", ThreadPoolExecutor)
    words = ["bench", "Nguyen-11", "--seeds", "2", "--max-expressions", "2000", "--engine", "cuda"]
    said = answer(capsys, *words, "--json", tmp_path / "runs.json")
    assert said.code == 0
    again = "again: symseek bench Nguyen-11 --method dsr --seed 1 --max-expressions 2000"
    assert f"{again} --engine cuda" in said.out
    assert '"engine": "cuda"' in (tmp_path / "runs.json").read_text()


def test_the_paper_command_runs_on_a_gpu_and_reports_that(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    use_device(monkeypatch)
    monkeypatch.setattr(gpu, "Processes", ThreadPoolExecutor)
    monkeypatch.chdir(tmp_path)
    words = [
        "paper",
        "table1",
        "--seeds",
        "1",
        "--quick",
        "--only",
        "dsr",
        "--problems",
        "Nguyen-1",
    ]
    said = answer(capsys, *words, "--engine", "cuda")
    assert said.code == 0
    assert "--quick --only dsr --problems Nguyen-1 --engine cuda`" in said.out
    assert "cores and the host." in said.out
    assert "hours of one GPU." in said.out
    with gzip.open("results/table1-runs.csv.gz", "rt") as file:
        assert ",the host\n" in file.read()
    said = answer(capsys, *words, "--report")
    assert said.code == 2  # of native runs there are none
    said = answer(capsys, *words, "--engine", "cuda", "--report")
    assert said.code == 0


def test_an_engine_that_is_none_is_refused() -> None:
    with Store() as store, refused("engine", value="cudda"):
        run([spec(0)], store, engine="cudda")
