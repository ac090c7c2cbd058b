"""What a benchmark shows: a live table in a terminal, plain lines anywhere else, then a summary.

Both say the same: a line a run as it ends, with its seed and the command that repeats it, and one
row a problem at the end, in the terms in which the paper grades it; several methods stand side by
side. The list of problems is shown here too. rich is loaded only for a terminal.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from symseek import problems
from symseek.bench import Job, Outcome, Progress, Run
from symseek.problems import Grade, Problem
from symseek.summary import Summary, average_recovery, summarise

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["LiveDisplay", "PlainDisplay", "open_display", "show_problems"]

Row: TypeAlias = tuple[str, ...]

VERDICTS = {"yes": "recovered", "no": "not recovered", "undecided": "undecided"}
COLOURS = {"yes": "green", "no": "yellow", "undecided": "magenta"}

ERROR_NOTE = "Test RMSE: {} over the runs, as in the paper; inf: undefined at a test point.\n"
NOTES: dict[Grade, str] = {  # in the order of the tables
    "recovery": "",
    "mean RMSE": ERROR_NOTE.format("mean"),
    "median RMSE": ERROR_NOTE.format("median"),
}
TIMES = ("undecided", "evaluations", "seconds", "s/run", "rate")
COMPARED = {"recovery", "test RMSE", "paper", "recovered", "undecided", "evaluations", "seconds"}
TIMES_NOTE = "Evaluations, seconds: median over the recovered runs, to the moment of recovery."
RATES_NOTE = "s/run, rate: median over all runs."


def _live(out: TextIO) -> bool:
    return out.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def open_display(
    total: int, out: TextIO | None = None, methods: Sequence[str] = ()
) -> Iterator[PlainDisplay]:
    """The display that suits the output, for `total` runs of one method or of those named."""
    out = out or sys.stdout
    kind = LiveDisplay if _live(out) else PlainDisplay
    display = kind(total, out, methods)
    with display.shown():
        yield display


class PlainDisplay:
    """Lines of text: for files, pipes and logs."""

    def __init__(self, total: int, out: TextIO, methods: Sequence[str] = ()) -> None:
        self.total = total
        self.out = out
        self.methods = methods if len(methods) > 1 else ()  # those to tell apart
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
        self.say(run_line(run, self.label(run.job)), style=COLOURS[run.recovered])
        if run.recovered == "undecided":
            self.say(f"    why: {run.reason}", style="dim")
        self.say(f"    again: {run.job.command}", style="dim")

    def failed(self, job: Job, error: str) -> None:
        self.say(f"{job.problem}  {self.label(job)}seed {job.seed}  FAILED", style="red")
        self.say(f"    again: {job.command}", style="dim")
        self.say(error.rstrip(), style="red")

    def label(self, job: Job) -> str:
        """The method of a job, where there are several."""
        return f"{job.method:<{max(map(len, self.methods))}} " if self.methods else ""

    def summary(self, outcome: Outcome) -> None:
        """The tables, a problem a row, and what did not come to an end."""
        summaries = summarise(outcome.runs)
        self.say()
        for grade, note in NOTES.items():
            graded = [each for each in summaries if each.graded_by == grade]
            if graded:
                rows = recovery_rows if grade == "recovery" else error_rows
                self.table(self.compared(graded, rows) if self.methods else rows(graded))
                self.say(note, style="dim")
        if summaries:
            self.say(TIMES_NOTE, style="dim")
            if not self.methods:
                self.say(RATES_NOTE, style="dim")
        if outcome.failures:
            self.say(f"{len(outcome.failures)} runs failed; their errors are above.", style="red")
        if outcome.interrupted:
            self.say(
                f"Interrupted: {len(outcome.runs)} of {outcome.planned} runs had finished.",
                style="yellow",
            )

    def compared(
        self, summaries: Sequence[Summary], rows: Callable[[Sequence[Summary]], list[Row]]
    ) -> list[Row]:
        """The tables of the methods as one."""
        of_method = {
            method: [each for each in summaries if each.method == method] for method in self.methods
        }
        return side_by_side({method: rows(each) for method, each in of_method.items() if each})

    def table(self, rows: Sequence[Row]) -> None:
        for row, line in zip(rows, text_table(rows), strict=True):
            self.say(line, style="bold" if row[0] in ("", "problem", "average") else None)


class LiveDisplay(PlainDisplay):
    """A table of the running searches that redraws itself below the lines of the finished ones."""

    def __init__(self, total: int, out: TextIO, methods: Sequence[str] = ()) -> None:
        from rich.console import Console

        super().__init__(total, out, methods)
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
        for name in ("problem", "method") if self.methods else ("problem",):
            table.add_column(name, no_wrap=True)
        for name in ("seed", "expressions", "rate", "best reward"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("best expression", no_wrap=True, overflow="ellipsis", ratio=1)
        for job, now in list(self.running.items()):
            rate = f"{now.expressions / now.seconds:,.0f}/s" if now.seconds > 0 else "-"
            table.add_row(
                job.problem,
                *([job.method] if self.methods else []),
                str(job.seed),
                f"{now.expressions:,}",
                rate,
                f"{now.reward:.6f}",
                Text(now.expression),  # not markup: a formula may hold brackets
            )
        return table


def run_line(run: Run, label: str = "") -> str:
    """One finished run in one line."""
    by_error = problems.load(run.job.problem).graded_by != "recovery"
    return (
        f"{run.job.problem:<10} {label}seed {run.job.seed:<4} {VERDICTS[run.recovered]:<13}  "
        f"{run.expressions:>9,} expressions  {run.seconds:6.2f} s  {run.rate:>9,.0f}/s  "
        f"reward {run.reward:.6f}  "
        + (f"test RMSE {_error(run.test_rmse):<9}  " if by_error else "")
        + run.expression
    )


def recovery_rows(summaries: Sequence[Summary]) -> list[Row]:
    """The table of problems graded by recovery, with the average where there are several."""
    rows: list[Row] = [("problem", "recovered", "recovery", "paper", *TIMES)]
    for each in summaries:
        paper = "-" if each.published is None else f"{each.published:.0f}%"
        rows.append((each.problem, _won(each), f"{each.recovery:.0f}%", paper, *_times(each)))
    if len(summaries) > 1:
        paper = _average([each.published for each in summaries], "{:.1f}%")
        mean = f"{average_recovery(summaries):.1f}%"
        rows.append(("average", _won(*summaries), mean, paper, *["-"] * len(TIMES)))
    return _without_empty(rows)


def error_rows(summaries: Sequence[Summary]) -> list[Row]:
    """The table of problems graded by one statistic of the test error, with the average too."""
    rows: list[Row] = [("problem", "test RMSE", "paper", "recovered", *TIMES)]
    for each in summaries:
        paper = "-" if each.published_rmse is None else f"{each.published_rmse:.5g}"
        rows.append((each.problem, _error(each.test_rmse), paper, _won(each), *_times(each)))
    if len(summaries) > 1:
        ours = _average([each.test_rmse for each in summaries], "{:.4g}", missing="inf")
        paper = _average([each.published_rmse for each in summaries], "{:.4g}")
        rows.append(("average", ours, paper, _won(*summaries), *["-"] * len(TIMES)))
    return _without_empty(rows)


def _times(each: Summary) -> Row:
    return (
        str(each.undecided) if each.undecided else "-",
        "-" if each.expressions is None else f"{each.expressions:,.0f}",
        "-" if each.seconds is None else f"{each.seconds:.2f}",
        f"{each.run_seconds:.2f}",
        f"{each.rate:,.0f}/s",
    )


def _won(*summaries: Summary) -> str:
    possible = [each for each in summaries if each.closed_form]
    if not possible:
        return "-"
    return f"{sum(s.recovered for s in possible)}/{sum(s.runs for s in possible)}"


def _error(rmse: float | None) -> str:
    return "inf" if rmse is None else f"{rmse:.4g}"


def _average(values: Sequence[float | None], form: str, missing: str = "-") -> str:
    """The mean; where one is missing it would be the mean of other problems than its neighbour."""
    known = [value for value in values if value is not None]
    return form.format(statistics.fmean(known)) if len(known) == len(values) else missing


def _without_empty(rows: list[Row]) -> list[Row]:
    """Leave out the columns that say nothing of any problem: the table fits a narrow terminal."""
    columns = [each for each in zip(*rows, strict=True) if set(each[1:]) != {"-"}]
    return list(zip(*columns, strict=True))


def side_by_side(tables: dict[str, list[Row]]) -> list[Row]:
    """One table of several methods' own, their names above; a dash where one has no such row.

    >>> fast = [("problem", "recovery", "rate"), ("A", "90%", "5/s"), ("B", "70%", "4/s")]
    >>> slow = [("problem", "recovery", "rate"), ("A", "100%", "1/s")]
    >>> print(*text_table(side_by_side({"fast": fast, "slow": slow})), sep="\\n")
                 fast      slow
    problem  recovery  recovery
    A             90%      100%
    B             70%         -
    """
    names = list(dict.fromkeys(row[0] for rows in tables.values() for row in rows[1:]))
    names.sort(key="average".__eq__)  # last
    columns = [("", "problem", *names)]
    for method, (headings, *rows) in tables.items():
        known = {row[0]: row for row in rows}
        if len(known) < len(names):
            known.pop("average", None)  # of fewer problems than its neighbour
        # Next to the recovery in percent, the runs recovered say nothing new.
        wanted = COMPARED - ({"recovered"} if "recovery" in headings else set())
        label = method
        for at, heading in enumerate(headings):
            cells = [known[name][at] if name in known else "-" for name in names]
            if heading in wanted and set(cells) != {"-"}:
                columns.append((label, heading, *cells))
                label = ""
    return list(zip(*columns, strict=True))


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


def show_problems(chosen: Sequence[Problem], out: TextIO | None = None) -> None:
    """List problems: by library and within 80 columns, or one line each for who reads a pipe."""
    out = out or sys.stdout
    if _live(out):
        lines = _grouped_problems(chosen)
    else:
        rows: list[Row] = [("name", "formula", "train", "test", "variables", "operators")]
        for each in chosen:
            names = " ".join(each.variables), " ".join(each.operators)
            rows.append((each.name, each.expression, str(each.train), str(each.test), *names))
        lines = text_table(rows, left=True)
    for line in lines:
        print(line, file=out)


def _grouped_problems(chosen: Sequence[Problem]) -> list[str]:
    """A heading for what neighbours share, the library and test points of their own."""
    rows = [(each.name, each.expression, str(each.train)) for each in chosen]
    lines: list[str] = []
    last = ""
    for each, line in zip(chosen, text_table(rows, left=True), strict=True):
        heading = f"{each.suite}: {' '.join(each.operators)}"
        if each.test != each.train:
            heading += f"; test {each.test}"
        if heading != last:
            lines += ["", heading] if lines else [heading]
        lines.append(f"  {line}")
        last = heading
    return lines
