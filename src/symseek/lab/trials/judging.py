"""Worker processes beside a GPU: they say whether a formula is the wanted one, and write records.

Both take algebra, which a search on the device need not wait for.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from symseek.jobs.perform import perform, resolve
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.trials.execute import judge_of, record_of
from symseek.lab.trials.judge import Judge
from symseek.lab.trials.plan import Plan

if TYPE_CHECKING:
    from symseek.front import Front
    from symseek.programs import Program


class Processes(ProcessPoolExecutor):
    """Worker processes, which end when nobody wants their answers, whatever they are at."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")  # who has used a GPU must not be copied
        near, self._open = context.Pipe(duplex=False)
        super().__init__(count, context, _prepare, (near,))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._open.close()


def _prepare(open_end: Connection) -> None:
    """Make a worker process ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent acts
    threading.Thread(target=_end_after, args=(open_end,), daemon=True).start()


def _end_after(open_end: Connection) -> None:
    """End this process when the parent closes its end, as it also does by its own end."""
    with suppress(EOFError, OSError):
        open_end.recv()
    os._exit(1)


_judges: dict[tuple[str, float, int], Judge] = {}  # of a worker process, which remember answers


def _judge(spec: Spec) -> Judge:
    plan = Plan.of(spec)
    key = spec.problem, plan.noise, plan.data_factor
    if key not in _judges:
        _judges[key] = judge_of(problems.load(spec.problem), plan)
    return _judges[key]


def answer(spec: Spec, program: Program) -> str:
    """Whether a program is the formula of the run's problem."""
    return str(_judge(spec)(program).answer)


def performed(spec: Spec, execute: str) -> Record:
    """A whole run, without the device."""
    return perform(spec, resolve(execute))


def written(
    spec: Spec,
    front: Front,
    evaluations: int,
    seconds: float,
    curve: dict[str, list[Any]],
    device: str,
    wall: float,
) -> Record:
    """The record; `wall` is what the run took until now, beside others."""

    def execute(spec: Spec) -> Record:
        return record_of(spec, front, evaluations, seconds, curve, _judge(spec))

    record = with_device(perform(spec, execute), device)
    return replace(record, wall=wall + (record.wall or 0.0))


def with_device(record: Record, device: str) -> Record:
    """The record, with the device among its hardware."""
    return replace(record, hardware={**record.hardware, "gpu": device})
