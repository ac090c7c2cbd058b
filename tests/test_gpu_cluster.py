"""Every GPU of a cluster has its share of the runs; Ray is played by threads, the GPUs by the host.

What is in the fake is what the pool asks of Ray: actors, references to their answers, errors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import host_device
from fake_experiments import repeatable
from fake_gpu import CUDARuntimeError, fake_cupy
from symseek import InputError
from symseek.engines.cuda.engine import CudaEngine
from symseek.jobs.runner import drive
from symseek.lab import Counts, Listener, Outcome, Record, Spec, Store, run
from symseek.lab.gpu import cluster as gpu_cluster
from symseek.lab.gpu.cluster import RayGpuPool
from symseek.lab.gpu.pool import GpuPool
from symseek.lab.trials.execute import EXECUTE

pytestmark = host_device.needs_compiler

SPECS = [
    Spec("dsr", problem, seed, {"max_expressions": 500, "batch_size": 100, "engine": "cuda"})
    for problem in ("Nguyen-11", "Nguyen-8")
    for seed in range(3)
]


KERNELS = Lock()  # on the host, kernels have the number of their block in a global variable


class RayError(Exception):
    """As Ray raises it."""


class FakeRay:
    """A cluster; every actor is a thread."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, **resources: float) -> None:
        self.resources = resources
        self.killed: list[Any] = []
        self.open = False

    def is_initialized(self) -> bool:
        return self.open

    def init(self, **_: Any) -> None:
        self.open = True

    def shutdown(self) -> None:
        self.open = False

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def remote(self, num_gpus: int, num_cpus: int) -> Any:
        assert (num_gpus, num_cpus) == (1, 1)
        return lambda cls: SimpleNamespace(remote=lambda *given: Actor(cls, given))

    def wait(self, references: Sequence[Future[Any]], num_returns: int, timeout: float) -> Any:
        ready, rest = wait(references, timeout, FIRST_COMPLETED)
        return [each for each in references if each in ready][:num_returns], list(rest)

    def get(self, reference: Future[Any]) -> Any:
        return reference.result()

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


class Actor:
    """An object in a thread of its own."""

    def __init__(self, cls: type[Any], given: tuple[Any, ...]) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.own = self.thread.submit(cls, *given)
        self.turn = SimpleNamespace(remote=self._turn)

    def _turn(self, *given: Any) -> Future[Any]:
        return self.thread.submit(lambda: self.own.result().turn(*given))


class Worker(gpu_cluster.GpuWorker):
    """With the host for a GPU. The first of them may be lost after some turns."""

    made: ClassVar[list[Worker]] = []
    lost_after: ClassVar[int] = 1_000_000
    error: ClassVar[Exception] = RayError("The actor died unexpectedly\nits node has gone")

    def __init__(self, execute: str, jobs: int) -> None:
        assert jobs == 2  # five cores for two GPUs, one of which each drives its own
        engine = CudaEngine(1, host_device.HostDevice())
        self.pool = GpuPool(execute, jobs, engine, ThreadPoolExecutor)
        self.records: list[Record] = []
        self.turns = 0
        self.number = len(self.made)
        self.made.append(self)

    def turn(self, specs: Sequence[Spec], timeout: float) -> list[Any]:
        self.turns += 1
        if self.number == 0 and self.turns > self.lost_after:
            raise self.error
        with KERNELS:
            events = super().turn(specs, timeout)
        self.records += [each for each in events if isinstance(each, Record)]
        return events


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    made = FakeRay(GPU=2.0, CPU=6.0)
    monkeypatch.setitem(sys.modules, "ray", made)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu_cluster, "TURN", 0.05)
    monkeypatch.setattr(Worker, "made", [])
    return made


def by_cluster(store: Store) -> Outcome:
    return drive(SPECS, store, lambda: RayGpuPool("auto", EXECUTE, Worker), Listener())


def kept(store: Store) -> list[dict[str, Any]]:
    return sorted(
        (repeatable(each) for each in store.records()), key=lambda each: str(each["spec"])
    )


def test_every_gpu_has_its_share(ray: FakeRay) -> None:
    with Store() as store, Store() as one:
        assert by_cluster(store) == Outcome(Counts(done=6), ran=6)
        engine = CudaEngine(1, host_device.HostDevice())
        drive(SPECS, one, lambda: GpuPool(EXECUTE, 1, engine, ThreadPoolExecutor), Listener())
        assert kept(store) == kept(one)  # on one GPU or two
    assert [len(each.records) for each in Worker.made] == [3, 3]
    assert len(ray.killed) == 2
    assert not ray.open


@pytest.mark.parametrize("error", [Worker.error, CUDARuntimeError("lost")], ids=["node", "device"])
def test_a_lost_gpu_leaves_its_runs_to_the_others(
    error: Exception, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worker, "lost_after", 1)
    told = InputError("the GPU stopped working (lost)")  # what a pool makes of it
    monkeypatch.setattr(Worker, "error", error if isinstance(error, RayError) else told)
    with Store() as store:
        assert by_cluster(store) == Outcome(Counts(done=6), ran=6)
    assert sum(len(each.records) for each in Worker.made) == 6


def test_without_any_gpu_left_the_finished_runs_are_kept(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray.resources["GPU"], ray.resources["CPU"] = 1.0, 3.0
    monkeypatch.setattr(Worker, "lost_after", 0)
    with Store() as store:
        with pytest.raises(
            InputError, match=r"no GPU of the cluster is left \(its node has gone\)"
        ):
            by_cluster(store)
        assert store.counts(SPECS) == Counts(missing=6)


def test_a_cluster_without_gpus_is_refused(ray: FakeRay) -> None:
    ray.resources = {"CPU": 4.0}
    with Store() as store, pytest.raises(InputError, match="cluster at 'auto' has no GPU"):
        run(SPECS, store, cluster="auto", engine="cuda")
