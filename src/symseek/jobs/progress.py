"""What a person sees while runs are done: how many are done, the time left, what is running.

In a terminal a picture is redrawn in place; anywhere else every finished run is a line. A failed
run has the end of its error and the command that shows all of it. rich is loaded only for a
terminal.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from symseek.errors import printable
from symseek.jobs.record import VERDICTS, Record, Snapshot
from symseek.jobs.runner import Listener, Outcome
from symseek.jobs.spec import Spec
from symseek.jobs.store import Counts, Store
from symseek.text import can_redraw, clock

if TYPE_CHECKING:
    from rich.console import Group

MOST_ROWS = 10  # running searches that are drawn: those that have run longest
MOST_FAILURES = 20  # failed runs that the summary lists


class Progress(Listener):
    """A listener for `run` that shows how the runs go. Use it in a `with`.

    `specs` are all runs asked for: from those that the store has, it learns how long runs take.
    Other runs in the store may have other budgets.

    >>> spec = Spec("dsr", "Nguyen-1", 0)
    >>> with Store() as store, Progress(store, out=sys.stdout) as progress:
    ...     progress.counted(Counts(missing=2), [spec, Spec("dsr", "Nguyen-1", 1)], size=1)
    ...     progress.finished(Record(spec, recovered="yes", wall=75.0))
    2 runs to do of 2
    1/2  dsr on Nguyen-1, seed 0: recovered in 1:15, 1:15 left
    """

    def __init__(self, store: Store, specs: Iterable[Spec] = (), out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.live: Any = None  # rich's, while the picture is shown
        self.store = store
        self.estimate = Estimate(store.times(specs))
        self.counts = Counts()
        self.failures = 0
        self.left: dict[Spec, None] = {}
        self.running: dict[Spec, tuple[float, Snapshot]] = {}  # since when, and how it stands
        self.size = 1
        self._counted = False

    def __enter__(self) -> Progress:
        if can_redraw(self.out):
            from rich.console import Console
            from rich.live import Live

            self.live = Live(
                console=Console(file=self.out, highlight=False),
                get_renderable=self.picture,
                refresh_per_second=5,
                transient=True,  # the lines that were printed stay
            )
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the picture away."""
        if self.live is not None:
            self.live.stop()

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line, above the picture where there is one."""
        text = "\n".join(map(printable, text.split("\n")))
        if self.live is None:
            print(text, file=self.out, flush=True)
        else:
            self.live.console.print(text, style=style, markup=False, soft_wrap=True)

    # --- what the runner reports

    def counted(self, counts: Counts, left: list[Spec], size: int) -> None:
        self.counts, self.size, self.failures = counts, size, counts.failed
        self.left = dict.fromkeys(left)
        if not self._counted:
            self._counted = True
            self.begin()

    def started(self, spec: Spec) -> None:
        self.running[spec] = time.monotonic(), Snapshot(spec)

    def progressed(self, snapshot: Snapshot) -> None:
        since, _ = self.running.get(snapshot.spec, (time.monotonic(), None))
        self.running[snapshot.spec] = since, snapshot

    def finished(self, record: Record) -> None:
        self.running.pop(record.spec, None)
        self.left.pop(record.spec, None)
        if record.status == "failed":
            self.failures += 1
            self.show_failed(record)
        else:
            self.estimate.learn(record.spec.method, record.spec.problem, record.wall or 0.0)
            self.show_done(record)

    def trouble(self, text: str) -> None:
        self.say(text, style="yellow")

    # --- what is printed

    def begin(self) -> None:
        """What is to do, and what other processes are doing."""
        counts = self.counts
        known = [
            f"{number} {what}"
            for number, what in ((counts.done, "done"), (counts.failed, "failed before"))
            if number
        ]
        elsewhere = f", {counts.running} in other processes" if counts.running else ""
        already = f" ({', '.join(known)})" if known else ""
        self.say(f"{len(self.left)} runs to do of {counts.total}{already}{elsewhere}")

    def show_done(self, record: Record) -> None:
        if self.live is None:  # where there is a bar, it moves
            took, verdict = _duration(record.wall or 0.0), VERDICTS[record.recovered]
            self.say(f"{self.share()}  {record.spec}: {verdict} in {took}{self.time_left()}")

    def show_failed(self, record: Record) -> None:
        self.say(f"{self.share()}  {record.spec} FAILED: {record.last_line}", style="red")
        self.say(f"    see: {self.command(record)}", style="dim")

    def summary(self, outcome: Outcome) -> None:
        """How the runs stand in the end, and every run that failed."""
        self.stop()
        counts = outcome.counts
        rest = counts.running + counts.missing
        start = "Interrupted: " if outcome.interrupted else ""
        self.say(
            f"{start}{counts.done} of {counts.total} runs done, {counts.failed} failed, {rest} left"
        )
        for record in outcome.failures[:MOST_FAILURES]:
            self.say(f"  {record.spec}: {record.last_line}", style="red")
            self.say(f"    see: {self.command(record)}", style="dim")
        if len(outcome.failures) > MOST_FAILURES:
            more = len(outcome.failures) - MOST_FAILURES
            self.say(f"  and {more} more: {self.command()}", style="dim")

    def command(self, record: Record | None = None) -> str:
        """The shell command that shows a run with all of its error, or every failed run."""
        words = ["python", "-m", "symseek.lab", str(self.store.path)]
        return shlex.join([*words, record.spec.short] if record else words)

    def share(self) -> str:
        """How many runs have ended, of how many."""
        total = self.counts.total
        return f"{total - len(self.left):>{len(str(total))}}/{total}"

    def time_left(self) -> str:
        now = time.monotonic()
        # Copies, as the picture is drawn by another thread.
        spent = sum(now - since for since, _ in list(self.running.values()))
        left = self.estimate.left(list(self.left), self.size, spent)
        return "" if left is None else f", {_duration(left)} left"

    # --- the picture

    def picture(self) -> Group:
        """A bar, and a table of the running searches."""
        from rich.console import Group

        head = self.bar(f"{self.share()}, {self.failures} failed{self.time_left()}")
        return Group(head, self._running_table())

    def bar(self, words: str) -> Any:
        """How many runs have ended, and words beside it."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        total, head = self.counts.total, Table.grid(padding=(0, 1))
        bar = ProgressBar(total=total or 1, completed=total - len(self.left), width=30)
        head.add_row(bar, Text(words))
        return head

    def longest(self) -> list[tuple[Spec, tuple[float, Snapshot]]]:
        """The runs under way, those that have run longest first."""
        return sorted(self.running.copy().items(), key=lambda each: each[1][0])

    def _running_table(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        running = self.longest()
        hidden = len(running) - MOST_ROWS
        more = f"and {hidden} more" if hidden > 0 else None
        table = Table(box=SIMPLE_HEAD, caption=more, expand=True, pad_edge=False)
        for name in ("problem", "method"):
            table.add_column(name, no_wrap=True)
        for name in ("seed", "for", "expressions", "rate", "reward"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("best expression", no_wrap=True, overflow="ellipsis", ratio=1)
        for spec, (since, now) in running[:MOST_ROWS]:
            table.add_row(
                spec.problem,
                spec.method,
                str(spec.seed),
                _duration(time.monotonic() - since),
                f"{now.evaluations:,}",
                f"{now.evaluations / now.seconds:,.0f}/s" if now.seconds > 0 else "-",
                f"{now.reward:.6f}",
                Text(now.expression),  # not markup: a formula may hold brackets
            )
        return table


class Estimate:
    """How long runs take, learned from those that have ended.

    A run takes as long as the others of its method on its problem; if there is none yet, as those
    of its method; then, as all.

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
        """Add a run that is done."""
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
        """How long all of these may take; the running ones have taken `spent` seconds already."""
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
    """The groups of runs that one belongs to, the smallest first."""
    return (method, problem), (method,), ()


def _duration(seconds: float) -> str:
    """A time in few characters: below a minute, seconds with one digit after the point.

    >>> _duration(0.25), _duration(75)
    ('0.2 s', '1:15')
    """
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)
