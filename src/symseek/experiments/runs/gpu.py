"""Runs on a GPU: all that are alike advance together, and worker processes judge what they find.

The searches of dsr, vpg and pqt run wholly on the device, hundreds side by side (see
`symseek.engines.cuda.runs`). Whether a formula is the wanted one takes algebra, so a search waits
for the answer while the others go on. Runs of other methods are done one after another, with the
CUDA engine behind them.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from symseek import problems
from symseek.constraints import ConstraintSet, paper_constraints
from symseek.data import Data
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.runs import Runs, Standing, why_not
from symseek.experiments.runs.execute import judge_of, record_of, training_data
from symseek.experiments.runs.judge import Judge, StopAtRecovery
from symseek.experiments.runs.perform import failure, perform, resolve
from symseek.experiments.runs.plan import Plan, search_config
from symseek.experiments.runs.pool import Event
from symseek.experiments.runs.record import Record, Snapshot
from symseek.experiments.runs.spec import Spec, canonical
from symseek.experiments.runs.training_curve import TrainingCurve
from symseek.rewards import reward_named

if TYPE_CHECKING:
    from symseek.front import Front
    from symseek.programs import Program

__all__ = ["GpuPool"]

SIZE = 4096  # runs at a time at most: as many as fill any GPU there is
STEPS = 8  # iterations between two looks at the searches
MEMORY = 0.6  # the share of the free memory that searches may take
_NEVER = 2.0  # more than any reward

_METHODS = ("dsr", "pqt", "pqt-whole", "vpg")


@dataclass(frozen=True)
class _Kind:
    """Runs that can advance together: alike in all but problem data and seed."""

    library: str
    shape: tuple[int, int]  # rows and columns
    method: str
    settings: str
    asks: float


@dataclass
class _Running:
    """A run on its way."""

    spec: Spec
    slot: int
    stop: StopAtRecovery
    asked: Future[str] | None = None


@dataclass
class _Group:
    """The runs of one kind, on the tables that were known when the first of them began."""

    waiting: list[Spec] = field(default_factory=list)
    runs: Runs | None = None
    tables: list[tuple[str, int, float]] = field(default_factory=list)  # see `_table_of`
    running: dict[int, _Running] = field(default_factory=dict)  # by slot

    def takes(self, spec: Spec) -> bool:
        """Whether a run can join."""
        return self.runs is None or _table_of(spec) in self.tables


class GpuPool:
    """A pool that does the runs on a GPU."""

    size = SIZE

    def __init__(
        self,
        execute: str,
        jobs: int | None = None,
        engine: CudaEngine | None = None,
        workers: Callable[[int], Any] | None = None,
    ) -> None:
        self.engine = CudaEngine() if engine is None else engine
        self._execute = execute
        self._groups: list[tuple[_Kind, _Group]] = []
        self._others: list[Spec] = []  # that cannot run wholly on the device
        self._finishing: dict[Future[Record], Spec] = {}
        count = jobs or max(1, (os.cpu_count() or 2) - 1)
        self._workers = _processes(count) if workers is None else workers(count)
        self._known: dict[tuple[str, str, Program], Future[str]] = {}

    @property
    def room(self) -> int:
        """How many more runs may be started now."""
        return self.size - self._under_way

    @property
    def _under_way(self) -> int:
        on_device = sum(len(group.waiting) + len(group.running) for _, group in self._groups)
        return on_device + len(self._others) + len(self._finishing)

    def start(self, spec: Spec) -> None:
        """Start a run."""
        kind = _kind_of(spec)
        if kind is None:
            self._others.append(spec)
            return
        groups = [group for known, group in self._groups if known == kind and group.takes(spec)]
        if not groups:
            groups = [_Group()]
            self._groups.append((kind, groups[0]))
        groups[0].waiting.append(spec)

    def wait(self, timeout: float) -> list[Event]:
        """What has come since; waits for the first event, but not longer than this."""
        deadline = time.monotonic() + timeout
        events: list[Event] = []
        while not events and self._under_way:
            advanced = False
            for kind, group in self._groups:
                self._fill(kind, group)
                advanced = self._advance(group) or advanced
            self._groups = [each for each in self._groups if each[1].waiting or each[1].running]
            events += self._records(block=not advanced and not self._others)
            if not advanced and not events and self._others:
                spec = self._others.pop(0)
                events.append(perform(spec, resolve(self._execute)))
            if time.monotonic() >= deadline:
                break
        return events

    def close(self) -> None:
        """Stop all runs."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    # --- on the device

    def _fill(self, kind: _Kind, group: _Group) -> None:
        """Give free slots to runs that wait."""
        if not group.waiting:
            return
        if group.runs is None:
            group.runs = self._made(kind, group)
        while group.waiting and group.runs.room:
            spec = group.waiting.pop(0)
            plan, problem = Plan.of(spec), problems.load(spec.problem)
            stop = StopAtRecovery(judge_of(problem, plan))
            slot = group.runs.start(spec.seed, group.tables.index(_table_of(spec)))
            group.running[slot] = _Running(spec, slot, stop)

    def _made(self, kind: _Kind, group: _Group) -> Runs:
        """Slots for the runs that wait, fewer where memory is short."""
        spec, slots = group.waiting[0], len(group.waiting)
        group.tables = list(dict.fromkeys(_table_of(each) for each in group.waiting))
        plan, problem = Plan.of(spec), problems.load(spec.problem)
        library, config = plan.library(problem), search_config(spec.method, plan)
        given = plan.constraints() or paper_constraints(constants=config.max_constants)
        rules = ConstraintSet(library, given)
        more = {"reward_noise": plan.reward_noise, "ask": kind.asks, "curve": plan.curve}
        reward = reward_named(plan.reward)
        tables = [_data(*each) for each in group.tables]
        return Runs.fitting(
            self.engine, library, rules, config, reward, tables, slots, MEMORY, **more
        )

    def _advance(self, group: _Group) -> bool:
        """A few iterations; whether there was anything to do on the device."""
        runs = group.runs
        if runs is None or all(each.asked for each in group.running.values()):
            return False
        for standing in runs.advance(STEPS):
            running = group.running[standing.slot]
            if running.asked is None:
                self._look_at(group, running, standing)
        for running in [each for each in group.running.values() if each.asked]:
            self._answered(group, running)
        return True

    def _look_at(self, group: _Group, running: _Running, standing: Standing) -> None:
        """A search stands still: ask about its best program, or end it."""
        assert group.runs is not None
        if standing.asks:
            best = group.runs.front(running.slot).best
            if best is not None and running.stop.worth_asking(best):
                running.asked = self._ask(running.spec, best.program)
                return
        if standing.ended:
            self._finish(group, running, standing.iterations)
        else:
            group.runs.go_on(running.slot)

    def _answered(self, group: _Group, running: _Running) -> None:
        """End a search whose formula was found, let the others go on."""
        assert group.runs is not None and running.asked is not None
        if not running.asked.done():
            return
        answer, running.asked = running.asked.result(), None
        iterations = group.runs.iterations(running.slot)
        if answer == "yes" or iterations >= group.runs.last:
            self._finish(group, running, iterations)
        else:
            group.runs.go_on(running.slot)

    def _finish(self, group: _Group, running: _Running, iterations: int) -> None:
        """Free the slot, and have the record written."""
        runs, spec, slot = group.runs, running.spec, running.slot
        assert runs is not None
        evaluations = iterations * runs.config.batch_size
        curve = _curve(Plan.of(spec), runs, slot, iterations)
        seconds = float(runs.seconds[slot])
        device = self.engine.device.name
        given = spec, runs.front(slot), evaluations, seconds, curve, device
        self._finishing[self._workers.submit(_written, *given)] = spec
        del group.running[slot]
        runs.end(slot)

    # --- in worker processes

    def _ask(self, spec: Spec, program: Program) -> Future[str]:
        """Whether it is the formula; seeds often find the same one."""
        key = spec.problem, canonical(dict(spec.settings)), program
        if key not in self._known:
            self._known[key] = self._workers.submit(_answer, spec, program)
        return self._known[key]

    def _records(self, block: bool) -> list[Event]:
        """Records that have been written; with `block`, waits a little for the workers."""
        if block:
            asked = [
                running.asked
                for _, group in self._groups
                for running in group.running.values()
                if running.asked is not None
            ]
            waited: list[Future[Any]] = [*self._finishing, *asked]
            if waited:
                wait(waited, timeout=0.5, return_when=FIRST_COMPLETED)
            for _, group in self._groups:
                for running in [each for each in group.running.values() if each.asked]:
                    self._answered(group, running)
        done = [future for future in self._finishing if future.done()]
        return [_record(future, self._finishing.pop(future)) for future in done]


def _processes(count: int) -> ProcessPoolExecutor:
    # A process that has used the GPU must not be copied.
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def _record(future: Future[Record], spec: Spec) -> Record:
    error = future.exception()
    return future.result() if error is None else failure(spec, repr(error))


def _kind_of(spec: Spec) -> _Kind | None:
    """With which runs this one can advance; None if with none."""
    return _kind(spec.method, spec.problem, canonical(dict(spec.settings)))


@lru_cache(maxsize=1024)
def _kind(method: str, problem_name: str, settings_text: str) -> _Kind | None:
    spec = Spec(method, problem_name, 0, json.loads(settings_text))
    plan = Plan.of(spec)
    if spec.method not in _METHODS or plan.distribution or plan.halfway:
        return None
    problem, config = problems.load(spec.problem), search_config(spec.method, plan)
    library = plan.library(problem)
    given = plan.constraints() or paper_constraints(constants=config.max_constants)
    if why_not(config, reward_named(plan.reward), ConstraintSet(library, given)) is not None:
        return None
    data = _data(*_table_of(spec))
    asks = _NEVER
    if plan.early_stop:
        asks = 1 - StopAtRecovery(Judge(problem)).allowed
    settings = canonical({**spec.settings, "noise": 0.0})
    return _Kind(repr(library), data.X.shape, spec.method, settings, asks)


def _table_of(spec: Spec) -> tuple[str, int, float]:
    """What the rows of a run depend on: problem, how many more points, noise."""
    plan = Plan.of(spec)
    return spec.problem, plan.data_factor, plan.noise


@lru_cache(maxsize=256)
def _data(problem: str, factor: int, noise: float) -> Data:
    found = problems.load(problem)
    rows = training_data(found, Plan(1, data_factor=factor, noise=noise, early_stop=False))
    return Data.checked(rows.X_train, rows.y_train, found.variables)


def _curve(plan: Plan, runs: Runs, slot: int, iterations: int) -> dict[str, list[Any]]:
    """The training curve from the device's notes."""
    curve = TrainingCurve(plan.max_expressions, plan.curve)
    if plan.curve:
        rows = runs.stats(slot)[:iterations].astype(float)
        best = np.maximum.accumulate(rows[:, 2])
        for number, (mean, top, _, _) in enumerate(rows):
            at = (number + 1) * runs.config.batch_size
            curve.add(at, mean, top, float(best[number]))
    return curve.finish()


_judges: dict[tuple[str, float, int], Judge] = {}  # of a worker process, which remember answers


def _judge(spec: Spec) -> Judge:
    plan = Plan.of(spec)
    key = spec.problem, plan.noise, plan.data_factor
    if key not in _judges:
        _judges[key] = judge_of(problems.load(spec.problem), plan)
    return _judges[key]


def _answer(spec: Spec, program: Program) -> str:
    return str(_judge(spec)(program).answer)


def _written(
    spec: Spec,
    front: Front,
    evaluations: int,
    seconds: float,
    curve: dict[str, list[Any]],
    device: str,
) -> Record:
    """The record, with the device among its hardware."""

    def execute(spec: Spec) -> Record:
        return record_of(spec, front, evaluations, seconds, curve, _judge(spec))

    record = perform(spec, execute)
    return replace(record, hardware={**record.hardware, "gpu": device})
