"""Runs on benchmark problems: here, on a Ray cluster, or many side by side on a GPU."""

from __future__ import annotations

from collections.abc import Iterable

from symseek.engines.interface import ENGINES
from symseek.errors import unknown_name
from symseek.jobs import runner
from symseek.jobs.pool import Workers
from symseek.jobs.runner import Listener, Outcome
from symseek.jobs.spec import Spec
from symseek.jobs.store import Store
from symseek.lab.trials.execute import EXECUTE


def run(
    specs: Iterable[Spec],
    store: Store,
    jobs: int | None = None,
    cluster: str | None = None,
    listener: Listener | None = None,
    execute: str = EXECUTE,
    retry_failed: bool = False,
    engine: str = "native",
) -> Outcome:
    """Do every run that the store has no record of, as `symseek.jobs.runner.run` does.

    With the engine "cuda", runs whose settings name it are done on a GPU, many side by side, or on
    every GPU of the cluster; `jobs` processes judge what they find, by default one for each core.

    >>> import tempfile
    >>> specs = [Spec("dsr", "Nguyen-11", seed, {"max_expressions": 20_000}) for seed in (0, 1)]
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     first, second = run(specs, store), run(specs, store)
    >>> first.counts, first.ran, second.ran
    (Counts(done=2, failed=0, running=0, missing=0), 2, 0)
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if engine != "cuda":
        return runner.run(specs, store, execute, jobs, cluster, listener, retry_failed)
    runner.check(execute, jobs)

    def make_pool() -> Workers:
        if cluster is None:
            from symseek.lab.gpu.pool import GpuPool

            return GpuPool(execute, jobs)
        from symseek.lab.gpu.cluster import RayGpuPool

        return RayGpuPool(cluster, execute)

    return runner.drive(specs, store, make_pool, listener or Listener(), retry_failed)
