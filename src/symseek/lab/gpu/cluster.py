"""The GPUs of a Ray cluster: on each of them a `GpuPool`, which gets its share of the runs.

A share is an actor, a process of Ray's that keeps its GPU. It is spoken to in turns: runs go there,
what has come since comes back. A share that is lost leaves its runs to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symseek.errors import InputError
from symseek.jobs.cluster import check_version, connected, last_line
from symseek.jobs.pool import Event
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec

TURN = 1.0  # seconds after which a share answers at the latest: new runs wait that long


class GpuWorker:
    """What an actor is: a pool on the GPU that Ray has given to its process."""

    def __init__(self, execute: str, jobs: int) -> None:
        from symseek.lab.gpu.pool import GpuPool

        self.pool = GpuPool(execute, jobs)

    def turn(self, specs: Sequence[Spec], timeout: float) -> list[Event]:
        """Start runs, work for a while, and return what has come since the last turn."""
        for spec in specs:
            self.pool.start(spec)
        return list(self.pool.wait(timeout))


@dataclass
class _Share:
    """An actor, as this process sees it."""

    actor: Any
    runs: dict[Spec, None] = field(default_factory=dict)  # that it has, or is to get
    ahead: list[Spec] = field(default_factory=list)  # of these, what it does not know of yet
    turn: Any = None  # the reference to what it answers


class RayGpuPool:
    """A pool of all GPUs of a cluster. `worker` is the class of the actors."""

    def __init__(self, address: str, execute: str, worker: type[Any] = GpuWorker) -> None:
        self._ray, self._own = connected(address)
        resources = self._ray.cluster_resources()
        gpus, cores = (int(resources.get(name, 0)) for name in ("GPU", "CPU"))
        if gpus == 0:
            raise InputError(
                f"the Ray cluster at {address!r} has no GPU; leave out the engine 'cuda', or start"
                " Ray on machines with GPUs"
            )
        jobs = max(1, cores // gpus - 1)  # one core drives the GPU
        remote = self._ray.remote(num_gpus=1, num_cpus=1)(worker)
        self._shares = [_Share(remote.remote(execute, jobs)) for _ in range(gpus)]

    @property
    def size(self) -> int:
        """How many runs are done at a time."""
        from symseek.lab.gpu.pool import SIZE

        return SIZE * len(self._shares)

    @property
    def room(self) -> int:
        """How many more runs may be started now."""
        return self.size - sum(len(share.runs) for share in self._shares)

    def start(self, spec: Spec) -> None:
        """Give a run to the share that has the fewest."""
        share = min(self._shares, key=lambda each: len(each.runs))
        share.runs[spec] = None
        share.ahead.append(spec)

    def wait(self, timeout: float) -> list[Event]:
        """What has come since; waits for the first events, but not longer than this."""
        for share in self._shares:
            if share.turn is None and share.runs:
                ahead, share.ahead = share.ahead, []
                share.turn = share.actor.turn.remote(ahead, TURN)
        turns = {share.turn: share for share in self._shares if share.turn is not None}
        if not turns:
            return []
        ready, _ = self._ray.wait(list(turns), num_returns=1, timeout=timeout)
        return [event for each in ready for event in self._fetch(each, turns[each])]

    def _fetch(self, reference: Any, share: _Share) -> list[Event]:
        """What a share answers; one that has failed leaves its runs to the others."""
        share.turn = None
        try:
            events: list[Event] = self._ray.get(reference)
        except (InputError, self._ray.exceptions.RayError) as error:
            self._lose(share, error)
            return []
        for event in events:
            if isinstance(event, Record):
                check_version(event)
                share.runs.pop(event.spec, None)
        return events

    def _lose(self, share: _Share, error: Exception) -> None:
        self._shares.remove(share)
        if not self._shares:
            raise InputError(
                f"no GPU of the cluster is left ({last_line(error)}); the runs that finished are"
                " kept: start again to do the rest"
            ) from error
        self._ray.kill(share.actor)
        for spec in share.runs:
            self.start(spec)

    def close(self) -> None:
        """Stop all runs."""
        for share in self._shares:
            self._ray.kill(share.actor)
        self._shares = []
        if self._own:
            self._ray.shutdown()
