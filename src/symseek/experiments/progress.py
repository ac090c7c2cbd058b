"""What a person sees while experiments run: how many are done, the time left, what is running now.

In a terminal a picture is redrawn in place, and only what failed stays as a line; anywhere else
every finished run is a line. Each failed run is told with the end of its error and the command that
shows all of it. rich is loaded only for a terminal.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from symseek.experiments.record import Record
from symseek.experiments.runner import Outcome
from symseek.experiments.spec import Spec
from symseek.experiments.store import Counts, Store

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Estimate", "LiveProgress", "PlainProgress", "open_progress"]

MOST_ROWS = 10  # running runs that are drawn: those that have run longest
MOST_FAILURES = 20  # failed runs that the summary lists

_WORDS = {"yes": "recovered", "no": "not recovered", "undecided": "undecided"}


class Estimate:
    """How long runs take, learned from those that have ended.

    A run takes as long as the others of its method on its problem do; where there is none yet, as
    those of its method; then, as all.

    >>> estimate = Estimate([("dsr", "Nguyen-1", 2.0), ("dsr", "Nguyen-2", 4.0)])
    >>> estimate.seconds("dsr", "Nguyen-2"), estimate.seconds("dsr", "Nguyen-3")
    (4.0, 3.0)
    >>> estimate.left([Spec("dsr", "Nguyen-2", seed) for seed in range(4)], at_once=2)
    8.0
    """

    def __init__(self, times: Iterable[tuple[str, str, float]] = ()) -> None:
        self._sums: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._numbers: defaultdict[tuple[str, ...], int] = defaultdict(int)
        for method, problem, seconds in times:
            self.learn(method, problem, seconds)

    def learn(self, method: str, problem: str, seconds: float) -> None:
        """Take in a run that is done."""
        for group in _groups(method, problem):
            self._sums[group] += seconds
            self._numbers[group] += 1

    def seconds(self, method: str, problem: str) -> float | None:
        """How long a run may take; None before any has ended."""
        for group in _groups(method, problem):
            if group in self._numbers:
                return self._sums[group] / self._numbers[group]
        return None

    def left(self, specs: Iterable[Spec], at_once: int, spent: float = 0.0) -> float | None:
        """How long all of these may take, of which `spent` seconds are behind those running."""
        groups: defaultdict[tuple[str, str], int] = defaultdict(int)
        for spec in specs:
            groups[spec.method, spec.problem] += 1
        total = 0.0
        for (method, problem), number in groups.items():
            each = self.seconds(method, problem)
            if each is None:
                return None
            total += number * each
        return max(0.0, total - spent) / max(1, at_once)


def _groups(method: str, problem: str) -> tuple[tuple[str, ...], ...]:
    """The runs that one is like: the nearest first."""
    return (method, problem), (method,), ()


@contextmanager
def open_progress(
    store: Store, out: TextIO | None = None, specs: Iterable[Spec] = ()
) -> Iterator[PlainProgress]:
    """The listener that suits the output: give it to `run`, and its `summary` the outcome.

    `specs` are all runs asked for: from those that the store has, it learns how long runs take.
    Other runs there teach nothing, as their budgets may be others.
    """
    out = out or sys.stderr
    live = out.isatty() and os.environ.get("TERM") != "dumb"
    progress = (LiveProgress if live else PlainProgress)(store, out, specs)
    with progress.shown():
        yield progress


class PlainProgress:
    """A line a run: for files, pipes and logs.

    >>> import tempfile
    >>> spec = Spec("dsr", "Nguyen-1", 0)
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     progress = PlainProgress(store, sys.stdout)
    ...     progress.counted(Counts(missing=2), [spec, Spec("dsr", "Nguyen-1", 1)], crew=1)
    ...     progress.finished(Record(spec, recovered="yes", wall=75.0))
    2 runs to do of 2
    1/2  dsr on Nguyen-1, seed 0: recovered in 1:15, 1:15 left
    """

    def __init__(self, store: Store, out: TextIO, specs: Iterable[Spec] = ()) -> None:
        self.out = out
        self.path = store.path
        self.estimate = Estimate(store.times(specs))
        self.counts = Counts()
        self.failures = 0
        self.left: dict[Spec, None] = {}
        self.running: dict[Spec, float] = {}  # since when
        self.crew = 1
        self._begun = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    def say(self, text: str, style: str | None = None) -> None:
        print(text, file=self.out, flush=True)

    # --- what the runner tells

    def counted(self, counts: Counts, left: list[Spec], crew: int) -> None:
        self.counts, self.crew, self.failures = counts, crew, counts.failed
        self.left = dict.fromkeys(left)
        if not self._begun:
            self._begun = True
            self.say(_plan(counts, len(left)))

    def started(self, spec: Spec) -> None:
        self.running[spec] = time.monotonic()

    def finished(self, record: Record) -> None:
        self.running.pop(record.spec, None)
        self.left.pop(record.spec, None)
        if record.status == "failed":
            self.failures += 1
            self.failed(record)
        else:
            self.estimate.learn(record.spec.method, record.spec.problem, record.wall or 0.0)
            self.done(record)

    def done(self, record: Record) -> None:
        took = clock(record.wall or 0.0)
        word = _WORDS[record.recovered]
        self.say(f"{self.share()}  {record.spec}: {word} in {took}{self.time_left()}")

    def failed(self, record: Record) -> None:
        self.say(f"{self.share()}  {record.spec} FAILED: {record.last_line}", style="red")
        self.say(f"    see: {see(self.path, record)}", style="dim")

    def trouble(self, text: str) -> None:
        self.say(text, style="yellow")

    # --- how it stands

    def share(self) -> str:
        """How many runs have ended, of how many."""
        total = self.counts.total
        return f"{total - len(self.left):>{len(str(total))}}/{total}"

    def time_left(self) -> str:
        now = time.monotonic()
        # Copies, as the picture is drawn by another thread.
        spent = sum(now - since for since in list(self.running.values()))
        left = self.estimate.left(list(self.left), self.crew, spent)
        return "" if left is None else f", {clock(left)} left"

    def summary(self, outcome: Outcome) -> None:
        """What it came to, and every run that failed."""
        counts = outcome.counts
        rest = counts.running + counts.missing
        start = "Interrupted: " if outcome.interrupted else ""
        self.say(
            f"{start}{counts.done} of {counts.total} runs done, {counts.failed} failed, {rest} left"
        )
        for record in outcome.failures[:MOST_FAILURES]:
            self.say(f"  {record.spec}: {record.last_line}", style="red")
            self.say(f"    see: {see(self.path, record)}", style="dim")
        if len(outcome.failures) > MOST_FAILURES:
            more = len(outcome.failures) - MOST_FAILURES
            self.say(f"  and {more} more: {see(self.path)}", style="dim")


class LiveProgress(PlainProgress):
    """A bar and the running runs, redrawn in place; lines only for what failed."""

    def __init__(self, store: Store, out: TextIO, specs: Iterable[Spec] = ()) -> None:
        from rich.console import Console

        super().__init__(store, out, specs)
        self.console: Console = Console(file=out, highlight=False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        from rich.live import Live

        with Live(
            console=self.console,
            get_renderable=self.picture,
            refresh_per_second=2,
            transient=True,
        ) as self.live:
            yield

    def say(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def done(self, record: Record) -> None:
        pass  # the bar moves

    def summary(self, outcome: Outcome) -> None:
        self.live.stop()
        super().summary(outcome)

    def picture(self) -> Group:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        total = self.counts.total
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=total or 1, completed=total - len(self.left), width=30)
        head.add_row(bar, Text(f"{self.share()}, {self.failures} failed{self.time_left()}"))
        return Group(head, self.running_table())

    def running_table(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        running = sorted(self.running.copy().items(), key=lambda each: each[1])
        hidden = len(running) - MOST_ROWS
        table = Table(box=SIMPLE_HEAD, caption=f"and {hidden} more" if hidden > 0 else None)
        for name in ("running", "problem", "seed", "for", "usually"):
            table.add_column(name, justify="left" if name in ("running", "problem") else "right")
        for spec, since in running[:MOST_ROWS]:
            usual = self.estimate.seconds(spec.method, spec.problem)
            table.add_row(
                spec.method,
                spec.problem,
                str(spec.seed),
                clock(time.monotonic() - since),
                "-" if usual is None else clock(usual),
            )
        return table


def clock(seconds: float) -> str:
    """A time as a person says it: seconds with a digit where there are few.

    >>> clock(0.25), clock(75), clock(4000), clock(200_000)
    ('0.2 s', '1:15', '1:06:40', '2 d 7:33:20')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    day = f"{days} d " if days else ""
    return f"{day}{hours}:{minutes:02}:{rest:02}" if hours or days else f"{minutes}:{rest:02}"


def see(store: Path, record: Record | None = None) -> str:
    """The command that shows a run with all of its error, or every failed run.

    >>> see(Path("my runs.db"), Record(Spec("dsr", "Nguyen-1", 0)))
    "python -m symseek.experiments 'my runs.db' f8c573b723"
    """
    words = ["python", "-m", "symseek.experiments", str(store)]
    return shlex.join([*words, record.spec.short] if record else words)


def _plan(counts: Counts, left: int) -> str:
    """What is to do, and what others are at."""
    known = [
        f"{number} {what}"
        for number, what in ((counts.done, "done"), (counts.failed, "failed before"))
        if number
    ]
    elsewhere = f", {counts.running} at other processes" if counts.running else ""
    already = f" ({', '.join(known)})" if known else ""
    return f"{left} runs to do of {counts.total}{already}{elsewhere}"
