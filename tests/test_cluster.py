"""The same runs on a Ray cluster of two machines, one of which is lost on the way."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fake_experiments import repeatable, some_specs
from symseek import InputError
from symseek.jobs.cluster import RayPool
from symseek.jobs.runner import drive
from symseek.lab import Counts, Listener, Outcome, Record, Spec, Store, run


def test_without_ray_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it fails
    with (
        Store(tmp_path / "runs.db") as store,
        pytest.raises(InputError, match=r"needs Ray, .* pip install 'symseek\[cluster\]'"),
    ):
        run(some_specs(1), store, cluster="auto", execute="fake_experiments:steady")


class FakeRay(ModuleType):
    """As much of Ray as a pool asks for when it ends; the first run takes too long to stop."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, gone: bool = False) -> None:
        super().__init__("ray")
        self.gone, self.cancelled = gone, list[tuple[str, bool]]()

    def is_initialized(self) -> bool:
        return True

    def remote(self, **options: Any) -> Callable[..., Any]:
        return lambda do: SimpleNamespace(remote=lambda spec, execute: spec.problem)

    def wait(self, references: list[str], num_returns: int, timeout: float) -> Any:
        if self.gone:
            raise self.exceptions.RayError("cannot reach the head\nit has died")
        return references[1:], references[:1]

    def cancel(self, reference: str, force: bool) -> None:
        self.cancelled.append((reference, force))


def fake_pool(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> RayPool:
    monkeypatch.setitem(sys.modules, "ray", ray)
    pool = RayPool("auto", "fake_experiments:steady")
    for spec in (Spec("dsr", "a", 0), Spec("dsr", "b", 0)):
        pool.start(spec)
    return pool


def test_runs_may_save_their_work_before_they_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    fake_pool(ray, monkeypatch).close()
    assert ray.cancelled == [("a", False), ("b", False), ("a", True)]


def test_a_cluster_that_has_gone_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = fake_pool(FakeRay(gone=True), monkeypatch)
    with pytest.raises(InputError, match="the cluster has gone: it has died"):
        pool.wait(1.0)
    pool.close()


# --- with Ray itself


def with_ray(test: Callable[..., None]) -> Any:
    """Slow, and quiet: Ray leaves sockets to the collector, and warns of its own future."""
    return pytest.mark.slow(pytest.mark.filterwarnings("ignore")(test))


@pytest.fixture(scope="module")
def ray() -> Any:
    return pytest.importorskip("ray", reason="Ray is not installed; pip install 'symseek[cluster]'")


@pytest.fixture
def cluster(ray: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two machines, as far as Ray can tell: the first runs the driver and no task."""
    from ray.cluster_utils import Cluster

    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))  # as if installed on each
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**8},
    )
    try:
        for _ in range(2):
            made.add_node(num_cpus=1, object_store_memory=10**8)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def kept(path: Path, specs: list[Spec], **options: Any) -> list[dict[str, Any]]:
    """What the runs leave when they are done here."""
    with Store(path) as store:
        run(specs, store, jobs=4, **options)
        return [repeatable(record) for record in store.records()]


def logged(log: Path, wanted: str) -> list[tuple[str, str]]:
    """The keys of the runs to which this happened, and the processes that did it."""
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(key, pid) for word, key, pid in lines if word == wanted]


class RemovesOne(Listener):
    """Takes a machine away once both have finished a run, so that both are at another."""

    def __init__(self, cluster: Any, log: Path) -> None:
        self.cluster = cluster
        self.log = log
        self.removed = False

    def finished(self, record: Record) -> None:
        if not self.removed and len({pid for _, pid in logged(self.log, "end")}) == 2:
            time.sleep(0.1)
            node = next(iter(self.cluster.worker_nodes))
            self.cluster.remove_node(node, allow_graceful=False)
            self.removed = True


@with_ray
def test_a_lost_machine_costs_only_its_runs(cluster: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # Long enough for a worker to notice that its machine is gone before its run ends.
    specs = some_specs(8, sleep=3.0, log=str(log))
    listener = RemovesOne(cluster, log)
    with Store(tmp_path / "ray.db") as store:
        outcome = run(
            specs,
            store,
            cluster=cluster.address,
            listener=listener,
            execute="fake_experiments:steady",
        )
        assert outcome == Outcome(Counts(done=8), ran=8)
        found = [repeatable(record) for record in store.records()]
    assert listener.removed
    begun = Counter(key for key, _ in logged(log, "start"))
    assert set(begun) == {spec.key for spec in specs}
    assert 8 < sum(begun.values()) <= 8 + 2  # what was on the lost machine
    assert found == kept(tmp_path / "local.db", specs, execute="fake_experiments:steady")


@with_ray
def test_failures_and_crashes_are_kept_as_they_are_here(cluster: Any, tmp_path: Path) -> None:
    specs = some_specs(4, cured=str(tmp_path / "no"), log=str(tmp_path / "log"))
    with Store(tmp_path / "fail.db") as store:
        outcome = run(specs, store, cluster=cluster.address, execute="fake_experiments:some_fail")
        assert outcome.counts == Counts(done=3, failed=1)
        assert outcome.failures[0].last_line == "ValueError: seed 3 is unlucky"
    with Store(tmp_path / "die.db") as store:
        outcome = run(specs, store, cluster=cluster.address, execute="fake_experiments:some_die")
        assert outcome.counts == Counts(done=2, failed=2)
        assert outcome.failures[0].last_line == "2 workers in a row were lost with it, 2 times"
    with (
        Store(tmp_path / "none.db") as store,
        pytest.raises(InputError, match=r"cannot do the runs: .* 'no_such_module'"),
    ):
        drive(
            some_specs(1), store, lambda: RayPool(cluster.address, "no_such_module:f"), Listener()
        )


@with_ray
def test_ctrl_c_keeps_what_is_done(cluster: Any, tmp_path: Path) -> None:
    class Impatient(Listener):
        def finished(self, record: Record) -> None:
            raise KeyboardInterrupt

    specs = some_specs(12, sleep=0.2)
    with Store(tmp_path / "ray.db") as store:
        options: dict[str, Any] = {"cluster": cluster.address, "execute": "fake_experiments:steady"}
        outcome = run(specs, store, listener=Impatient(), **options)
        assert outcome.interrupted
        assert 1 <= outcome.counts.done <= 4
        assert outcome.counts.running == 0
        assert run(specs, store, **options).counts == Counts(done=12)


@with_ray
def test_real_runs_come_out_the_same(cluster: Any, tmp_path: Path) -> None:
    settings = {"max_expressions": 20_000}
    specs = [Spec("dsr", "Nguyen-11", seed, settings) for seed in range(3)]
    specs += [Spec("dsr", "Nguyen-1", seed, settings) for seed in range(2)]
    with Store(tmp_path / "ray.db") as store:
        outcome = run(specs, store, cluster=cluster.address)
        assert outcome == Outcome(Counts(done=5), ran=5)
        found = [repeatable(record) for record in store.records()]
    assert found == kept(tmp_path / "local.db", specs)


@with_ray
def test_no_cluster_at_an_address_is_one_sentence(ray: Any, tmp_path: Path) -> None:
    with (
        Store(tmp_path / "runs.db") as store,
        pytest.raises(InputError, match="there is no Ray cluster at 'auto'"),
    ):
        run(some_specs(1), store, cluster="auto", execute="fake_experiments:steady")
