"""Runs on a GPU: all that are alike advance together, and worker processes judge what they find.

The searches of dsr, vpg, pqt and hybrid run wholly on the device, hundreds side by side (see
`symseek.lab.gpu.searches`). Whether a formula is the wanted one takes algebra, so a search waits
for the answer while the others continue. When these are done, runs of other methods are done one
after another, with the CUDA engine behind them; runs that do not ask for it are left to the
workers.

A device that fails ends all of it, once what was found before is written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symseek.constraints import ConstraintSet, paper_constraints
from symseek.data import Data
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.faults import DeviceFault, faults_reported
from symseek.engines.interface import engine_named
from symseek.errors import InputError, Setting
from symseek.jobs.perform import Terminated, failure, perform, resolve
from symseek.jobs.pool import Event
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.lab import problems
from symseek.lab.gpu.proposed import Proposed
from symseek.lab.gpu.searches import Searches, Status
from symseek.lab.gpu.shapes import RunShape, data_of, own_of, shape_of, table_of
from symseek.lab.trials.execute import EXECUTE, judge_of, proposals_for
from symseek.lab.trials.judge import StopAtRecovery
from symseek.lab.trials.judging import Processes, answer, performed, with_device, written
from symseek.lab.trials.plan import Plan, search_config
from symseek.lab.trials.training_curve import TrainingCurve, looks
from symseek.rewards import reward_named
from symseek.search import Search

if TYPE_CHECKING:
    from symseek.programs import Program

SIZE = 4096  # runs at a time at most: as many as fill any GPU there is
STEPS = 8  # iterations between two looks at the searches
MEMORY = 0.6  # the share of the free memory that searches may take


@dataclass
class _Running:
    """A run on its way."""

    spec: Spec
    slot: int
    stop: StopAtRecovery
    began: float  # by the clock
    asked: Future[str] | None = None


@dataclass
class _Group:
    """Runs of one shape, on the tables that were known when the first of them began."""

    waiting: list[Spec] = field(default_factory=list)
    runs: Searches | None = None
    tables: list[tuple[str, int, float]] = field(default_factory=list)  # see `table_of`
    running: dict[int, _Running] = field(default_factory=dict)  # by slot

    def takes(self, spec: Spec) -> bool:
        """Whether a run can join."""
        return self.runs is None or table_of(spec) in self.tables


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
        made = engine_named("cuda") if engine is None else engine
        assert isinstance(made, CudaEngine)
        self.engine = made
        self._execute = execute
        self._groups: list[tuple[RunShape, _Group]] = []
        self._others: list[Spec] = []  # that cannot run wholly on the device
        self._for_host: list[Spec] = []  # that do not ask for it
        self._finishing: dict[Future[Record], Spec] = {}
        self._failed: list[Event] = []
        self._fault: InputError | None = None  # why the device does no more
        self._jobs = jobs or max(1, (os.cpu_count() or 2) - 1)
        self._workers = Processes(self._jobs) if workers is None else workers(self._jobs)
        self._known: dict[tuple[tuple[str, int, float], Program], Future[str]] = {}

    @property
    def room(self) -> int:
        """How many more runs may be started now."""
        return 0 if self._fault else self.size - self._on_device - len(self._finishing)

    @property
    def _on_device(self) -> int:
        return sum(len(group.waiting) + len(group.running) for _, group in self._groups)

    @property
    def _under_way(self) -> int:
        others = len(self._others) + len(self._for_host)
        return self._on_device + others + len(self._finishing) + len(self._failed)

    def start(self, spec: Spec) -> None:
        """Start a run."""
        if spec.settings.get("engine") != CudaEngine.name:
            self._for_host.append(spec)
            return
        shape = shape_of(spec) if self._execute == EXECUTE else None
        if shape is None:
            self._others.append(spec)
            return
        groups = [group for known, group in self._groups if known == shape and group.takes(spec)]
        if not groups:
            groups = [_Group()]
            self._groups.append((shape, groups[0]))
        groups[0].waiting.append(spec)

    def wait(self, timeout: float) -> list[Event]:
        """What has come since; waits for the first event, but not longer than this.

        Without any time it does nothing but collect.

        Raises:
            InputError: the device failed, and every run that had ended before was returned.
        """
        deadline = time.monotonic() + timeout
        events: list[Event] = []
        try:
            if timeout <= 0:
                return self._records(block=False)
            while not events and time.monotonic() < deadline and (self._under_way or self._fault):
                events = self._turn()
        except BrokenExecutor:
            raise InputError(
                "a process that judges the runs ended, perhaps for want of memory; the runs that"
                " finished are kept: start again, with fewer ",
                Setting("jobs"),
            ) from None
        return events

    def _turn(self) -> list[Event]:
        """A few iterations of all searches and what has come of them; the others after these."""
        advanced = self._fault is None and self._advance_all()
        events = self._records(block=not advanced and (self._on_device > 0 or not self._others))
        if not (advanced or events or self._fault or self._on_device):
            events = self._on_others()
        if self._fault is not None and not events and not self._finishing:
            raise InputError(
                f"{self._fault}; the runs that finished are kept: start again to do the rest"
            ) from self._fault
        return events

    def close(self) -> None:
        """Stop all runs."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    # --- on the device

    def _advance_all(self) -> bool:
        """A few iterations of all searches; whether there was anything to do on the device."""
        advanced = False
        try:
            with faults_reported():
                for shape, group in self._groups:
                    self._fill(shape, group)
                    advanced = self._advance(group) or advanced
        except InputError as error:
            self._give_up(error)
        self._groups = [each for each in self._groups if each[1].waiting or each[1].running]
        return advanced

    def _fill(self, shape: RunShape, group: _Group) -> None:
        """Give free slots to runs that wait."""
        if not group.waiting:
            return
        if group.runs is None:
            group.runs = self._made(shape, group)
        while group.waiting and group.runs.room:
            spec = group.waiting.pop(0)
            plan, problem = Plan.of(spec), problems.load(spec.problem)
            stop = StopAtRecovery(judge_of(problem, plan))
            table = group.tables.index(table_of(spec))
            slot = group.runs.start(spec.seed, table, own_of(spec))
            group.running[slot] = _Running(spec, slot, stop, time.perf_counter())

    def _made(self, shape: RunShape, group: _Group) -> Searches:
        """Slots for the runs that wait, fewer where memory is short."""
        spec, slots = group.waiting[0], len(group.waiting)
        group.tables = list(dict.fromkeys(table_of(each) for each in group.waiting))
        plan, problem = Plan.of(spec), problems.load(spec.problem)
        library, config = plan.library(problem), search_config(spec.method, plan)
        given = plan.constraints() or paper_constraints(constants=config.max_constants)
        rules = ConstraintSet(library, given)
        tables, reward = [data_of(*each) for each in group.tables], reward_named(plan.reward)
        more: dict[str, Any] = {"ask": shape.asks, "curve": plan.curve}
        if plan.distribution:
            more["looks"] = looks(plan.max_expressions, config.batch_size)
        more["proposed"] = [self._proposed(spec, each) for each in tables]
        return Searches.fitting(
            self.engine, library, rules, config, reward, tables, slots, MEMORY, **more
        )

    def _proposed(self, spec: Spec, data: Data) -> Proposed | None:
        """What the structure of a table brings to all runs on it, which no seed changes."""
        plan, problem = Plan.of(spec), problems.load(spec.problem)
        library, config = plan.library(problem), search_config(spec.method, plan)
        options: dict[str, Any] = {"reward": plan.reward, "threads": plan.threads, "seed": 0}
        options |= {"engine": self.engine, "constraints": plan.constraints()}
        proposals = proposals_for(spec.method, library, data, config, options)
        if proposals is None:
            return None
        search = Search(library, data.X, data.y, config, proposals=proposals, **options)
        return Proposed(*search.first_proposals())

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

    def _look_at(self, group: _Group, running: _Running, standing: Status) -> None:
        """A search stands still: ask about its best program, or end it."""
        assert group.runs is not None
        if standing.asks:
            best = group.runs.front(running.slot).best
            if best is not None and running.stop.worth_asking(best):
                running.asked = self._ask(running.spec, best.program)
                return
        if standing.ended:
            self._finish(group, running, standing)
        else:
            group.runs.go_on(running.slot)

    def _answered(self, group: _Group, running: _Running) -> None:
        """End a search whose formula was found, let the others continue."""
        assert group.runs is not None
        assert running.asked is not None
        if not running.asked.done():
            return
        asked, running.asked = running.asked, None
        if asked.exception() is not None:
            self._fail(group, running, asked)
            return
        answer = asked.result()
        standing = group.runs.standing(running.slot)
        if answer == "yes" or standing.ended:
            self._finish(group, running, standing)
        else:
            group.runs.go_on(running.slot)

    def _finish(self, group: _Group, running: _Running, standing: Status) -> None:
        """Free the slot, and have the record written."""
        runs, spec, slot = group.runs, running.spec, running.slot
        assert runs is not None
        curve = _curve(Plan.of(spec), runs, slot, standing.iterations)
        seconds = float(runs.seconds[slot])
        given = (
            spec,
            runs.front(slot),
            standing.expressions,
            seconds,
            curve,
            self.engine.device.name,
        )
        wall = time.perf_counter() - running.began
        self._finishing[self._workers.submit(written, *given, wall)] = spec
        del group.running[slot]
        runs.end(slot)

    def _give_up(self, fault: InputError) -> None:
        """Start nothing more; what has finished is still written."""
        self._fault = fault
        self._groups, self._others, self._for_host = [], [], []

    def _fail(self, group: _Group, running: _Running, asked: Future[str]) -> None:
        """Free the slot of a run whose formula could not be judged."""
        assert group.runs is not None
        error = asked.exception()
        if isinstance(error, BrokenExecutor):
            raise error
        self._failed.append(failure(running.spec, repr(error)))
        del group.running[running.slot]
        group.runs.end(running.slot)

    def _on_others(self) -> list[Event]:
        """Hand runs of the host to the workers, and do one of the others here."""
        while self._for_host and len(self._finishing) < self._jobs:
            spec = self._for_host.pop(0)
            self._finishing[self._workers.submit(performed, spec, self._execute)] = spec
        if not self._others:
            return []
        spec = self._others.pop(0)
        try:
            record = perform(spec, _uninterrupted(self._execute))
        except Terminated as ended:
            if not isinstance(ended.__cause__, DeviceFault):
                raise KeyboardInterrupt from None
            self._give_up(ended.__cause__)
            return []
        return [with_device(record, self.engine.device.name)]

    # --- in worker processes

    def _ask(self, spec: Spec, program: Program) -> Future[str]:
        """Whether it is the formula; runs on one table often find the same one."""
        key = table_of(spec), program
        if key not in self._known:
            self._known[key] = self._workers.submit(answer, spec, program)
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
        failed, self._failed = self._failed, []
        done = [future for future in self._finishing if future.done()]
        return [*failed, *(_record(future, self._finishing.pop(future)) for future in done)]


def _record(future: Future[Record], spec: Spec) -> Record:
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise error
    return future.result() if error is None else failure(spec, repr(error))


def _uninterrupted(execute: str) -> Callable[[Spec], Record]:
    """What does a run; Ctrl-C or a lost device ends it instead of making it one that failed."""
    function = resolve(execute)

    def run(spec: Spec) -> Record:
        try:
            with faults_reported():
                return function(spec)
        except (KeyboardInterrupt, DeviceFault) as error:
            raise Terminated from error

    return run


def _curve(plan: Plan, runs: Searches, slot: int, iterations: int) -> dict[str, list[Any]]:
    """The training curve from the device's notes."""
    curve = TrainingCurve(plan.max_expressions, plan.curve, plan.distribution)
    if plan.curve:
        for mean, top, _, _, expressions, best in runs.stats(slot)[:iterations].astype(float):
            curve.add(int(expressions), mean, top, best)
    for iteration, rewards in runs.kept(slot):
        curve.add_batch(iteration, rewards)
    return curve.finish()
