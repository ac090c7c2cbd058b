"""What a benchmark shows: a live table in a terminal, plain lines anywhere else, then a summary.

Both say the same: a line a run as it ends, with its seed and the command that repeats it, and one
row a problem at the end. rich is loaded only for a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from symseek.bench import Job, Outcome, Progress, Run, Summary, average_recovery, summarise

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["LiveDisplay", "PlainDisplay", "open_display"]

VERDICTS = {"yes": "recovered", "no": "not recovered", "undecided": "undecided"}
COLOURS = {"yes": "green", "no": "yellow", "undecided": "magenta"}

SUMMARY_COLUMNS = (
    "problem",
    "recovered",
    "recovery",
    "paper",
    "undecided",
    "evaluations",
    "seconds",
    "expressions/s",
)
SUMMARY_NOTE = "Evaluations and seconds: median over the recovered runs, to the moment of recovery."


@contextmanager
def open_display(total: int, out: TextIO | None = None) -> Iterator[PlainDisplay]:
    """The display that suits the output, for `total` runs."""
    out = out or sys.stdout
    if out.isatty() and os.environ.get("TERM") != "dumb":
        display: PlainDisplay = LiveDisplay(total, out)
    else:
        display = PlainDisplay(total, out)
    with display.shown():
        yield display


class PlainDisplay:
    """Lines of text: for files, pipes and logs."""

    def __init__(self, total: int, out: TextIO) -> None:
        self.total = total
        self.out = out
        self.done: list[Run] = []

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    def say(self, text: str = "", style: str | None = None) -> None:
        print(text, file=self.out, flush=True)

    def started(self, job: Job) -> None:
        pass

    def progress(self, progress: Progress) -> None:
        pass

    def finished(self, run: Run) -> None:
        self.done.append(run)
        self.say(run_line(run), style=COLOURS[run.recovered])
        if run.recovered == "undecided":
            self.say(f"    why: {run.reason}", style="dim")
        self.say(f"    again: {run.job.command}", style="dim")

    def failed(self, job: Job, error: str) -> None:
        self.say(f"{job.problem}  seed {job.seed}  FAILED", style="red")
        self.say(f"    again: {job.command}", style="dim")
        self.say(error.rstrip(), style="red")

    def summary(self, outcome: Outcome) -> None:
        """The table a problem a row, and what did not come to an end."""
        rows = summary_rows(summarise(outcome.runs))
        self.say()
        if rows:
            self.table(rows)
            self.say(SUMMARY_NOTE, style="dim")
        if outcome.failures:
            self.say(f"{len(outcome.failures)} runs failed; their errors are above.", style="red")
        if outcome.interrupted:
            self.say(
                f"Interrupted: {len(outcome.runs)} of {outcome.planned} runs had finished.",
                style="yellow",
            )

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        for line in text_table([SUMMARY_COLUMNS, *rows]):
            self.say(line)


class LiveDisplay(PlainDisplay):
    """A table of the running searches that redraws itself below the lines of the finished ones."""

    def __init__(self, total: int, out: TextIO) -> None:
        from rich.console import Console

        super().__init__(total, out)
        self.console: Console = Console(file=out, highlight=False)
        self.running: dict[Job, Progress] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        from rich.live import Live

        with Live(
            console=self.console,
            get_renderable=self.running_table,
            refresh_per_second=5,
            transient=True,  # the lines of the finished runs and the summary stay
        ) as self.live:
            yield

    def say(self, text: str = "", style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def started(self, job: Job) -> None:
        self.running[job] = Progress(job, 0, 0.0, 0.0, "")

    def progress(self, progress: Progress) -> None:
        self.running[progress.job] = progress

    def finished(self, run: Run) -> None:
        self.running.pop(run.job, None)
        super().finished(run)

    def failed(self, job: Job, error: str) -> None:
        self.running.pop(job, None)
        super().failed(job, error)

    def summary(self, outcome: Outcome) -> None:
        self.running.clear()
        self.live.stop()
        super().summary(outcome)

    def running_table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        won = sum(run.recovered == "yes" for run in self.done)
        caption = f"{len(self.done)} of {self.total} runs done, {won} recovered"
        table = Table(expand=True, caption=caption)  # as wide as the terminal: it does not jump
        table.add_column("problem", no_wrap=True)
        for name in ("seed", "expressions", "rate", "best reward"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("best expression", no_wrap=True, overflow="ellipsis", ratio=1)
        for job, now in list(self.running.items()):
            rate = f"{now.expressions / now.seconds:,.0f}/s" if now.seconds > 0 else "-"
            table.add_row(
                job.problem,
                str(job.seed),
                f"{now.expressions:,}",
                rate,
                f"{now.reward:.6f}",
                Text(now.expression),  # not markup: a formula may hold brackets
            )
        return table

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        from rich.table import Table

        table = Table()
        for number, name in enumerate(SUMMARY_COLUMNS):
            table.add_column(name, justify="right" if number else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row, style="bold" if row[0] == "average" else None)
        self.console.print(table)


def run_line(run: Run) -> str:
    """One finished run in one line."""
    return (
        f"{run.job.problem:<10} seed {run.job.seed:<4} {VERDICTS[run.recovered]:<13}  "
        f"{run.expressions:>9,} expressions  {run.seconds:6.2f} s  {run.rate:>9,.0f}/s  "
        f"reward {run.reward:.6f}  {run.expression}"
    )


def summary_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """The summary as text, with the average over problems where there are several."""
    rows: list[tuple[str, ...]] = [
        (
            each.problem,
            f"{each.recovered}/{each.runs}",
            f"{each.recovery:.0f}%",
            "-" if each.published is None else f"{each.published:.0f}%",
            str(each.undecided) if each.undecided else "-",
            "-" if each.expressions is None else f"{each.expressions:,.0f}",
            "-" if each.seconds is None else f"{each.seconds:.2f}",
            f"{each.rate:,.0f}",
        )
        for each in summaries
    ]
    if len(summaries) > 1:
        published = [each.published for each in summaries if each.published is not None]
        paper = f"{sum(published) / len(published):.1f}%" if published else "-"
        total = f"{sum(s.recovered for s in summaries)}/{sum(s.runs for s in summaries)}"
        mean = f"{average_recovery(summaries):.1f}%"
        rows.append(("average", total, mean, paper, "-", "-", "-", "-"))
    return rows


def text_table(rows: Sequence[Sequence[str]], left: bool = False) -> list[str]:
    """Aligned columns: the first to the left, the others to the right or, if asked, left too.

    >>> text_table([("a", "n"), ("bb", "10")])
    ['a    n', 'bb  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number and not left else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
