"""What is shown while a search runs: a bar, the time left, the rate, and the front so far.

In a terminal or a notebook the display is redrawn in place; anywhere else a line is printed now and
then. rich is loaded only when there is a terminal to draw on; a notebook needs no widgets.
"""

from __future__ import annotations

import importlib
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from symseek.errors import printable
from symseek.loop import Iteration, Result
from symseek.text import can_redraw, clock

if TYPE_CHECKING:
    from symseek.model import Model
    from symseek.regression.regression import Regression

_REDRAW = 0.5  # seconds between two drawings
_LINE = 5.0  # seconds between two lines
_SHARE = 9  # the search runs at least this many times as long as it takes to show the front
_LARGE = 50_000  # numbers in a table, with more of which the first iteration may take long
_MOST_ROWS = 12  # of the front that are drawn: the last ones, which fit best

Callback = Callable[[Iteration], object]


def run_with_progress(
    regression: Regression,
    out: TextIO | None = None,
    callback: Callback | None = None,
    started: Callable[[], object] | None = None,
    label: str = "",
) -> Result:
    """Run the search and show its progress: the simplest formulas before the first iteration.

    A `label` says which it is of several.
    """
    with closing(_display(regression, out or sys.stderr)) as display:
        display.label = label

        def first() -> None:
            display(regression.search.state)
            if started is not None:
                started()

        def each(now: Iteration) -> object:
            display(now)
            return callback(now) if callback is not None else None

        return regression.run(each, first)


def _display(regression: Regression, out: TextIO) -> _Display:
    """The display for where the output goes."""
    if _in_notebook():
        return _NotebookDisplay(regression, _REDRAW)
    return (_LiveDisplay if can_redraw(out) else _PlainDisplay)(regression, out)


class HowFar(Protocol):
    """An iteration, or the state of a search between two."""

    @property
    def expressions(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class SearchProgress:
    """How far a search is: the share of its budget, the rate and the time left.

    A search without a budget has no share, and nobody knows how long it takes.
    """

    label = ""  # which it is of several

    def __init__(self, regression: Regression, now: HowFar) -> None:
        searches, config = regression.searches, regression.search.config
        spent = (now.expressions, config.max_expressions), (now.seconds, config.max_seconds)
        shares = [done / most for done, most in spent if most is not None]
        before = searches[: searches.index(regression.search)]
        self.share = (len(before) + min(1.0, max(shares))) / len(searches) if shares else None
        self.expressions = now.expressions + sum(each.expressions for each in before)
        seconds = now.seconds + sum(each.state.seconds for each in before)
        self.rate = self.expressions / seconds if seconds else None
        self.left = seconds / self.share - seconds if self.share else None

    @property
    def percent(self) -> str:
        """The share in a word; nothing where there is none."""
        return "" if self.share is None else f"{self.share:.0%}"

    def __str__(self) -> str:
        left = "" if self.left is None else f", {clock(self.left)} left at most"
        rate = "" if self.rate is None else f", {self.rate:,.0f}/s"
        which = f"{self.label}: " if self.label else ""
        return printable(f"{which}{self.expressions:,} expressions{rate}{left}")


def _next_time(began: float, pause: float) -> float:
    """When to show the front again: with many rows that takes long, and the search comes first."""
    now = time.monotonic()
    return now + max(pause, _SHARE * (now - began))


class _Display(ABC):
    """What is shown of a search, again and again, with a pause of some seconds between."""

    label = ""  # before how far the search is

    def __init__(self, regression: Regression, pause: float) -> None:
        self.regression = regression
        self.pause = pause
        self.due = 0.0

    def __call__(self, now: HowFar) -> None:
        if time.monotonic() < self.due:
            return
        began = time.monotonic()
        model = self.regression.model(final=False)
        progress = SearchProgress(self.regression, now)
        progress.label = self.label
        self.show(progress, model)
        self.due = _next_time(began, self.pause)

    @abstractmethod
    def show(self, progress: SearchProgress, model: Model) -> None:
        """Show how far the search is, and the formulas so far."""

    @abstractmethod
    def close(self) -> None:
        """Leave only what is to stay."""


class _PlainDisplay(_Display):
    """A line now and then, with the best formula so far; at once for a table of some size."""

    def __init__(self, regression: Regression, out: TextIO) -> None:
        super().__init__(regression, _LINE)
        self.out = out
        if regression.rows.train.X.size <= _LARGE:
            self.due = time.monotonic() + _LINE

    def close(self) -> None:
        return  # all lines stay

    def show(self, progress: SearchProgress, model: Model) -> None:
        best = model.best
        line = printable(f"{progress}; R2 {round(best.r2, 6) + 0.0:.6f}: {best.text}")
        print(line, file=self.out, flush=True)


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, and not one that a notebook started."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return get_ipython() is not None


class _NotebookDisplay(_Display):
    """A bar and the front, in the output of a cell; gone when the search is over."""

    shown: Any = None

    def close(self) -> None:
        if self.shown is not None:
            self._show("")

    def show(self, progress: SearchProgress, model: Model) -> None:
        from symseek.report.html import table_html

        share = progress.share
        value = "" if share is None else f'value="{share:.4f}" '  # without, it shows no share
        bar = f'<progress {value}max="1" style="width:20em"></progress>'
        head = f"<div>{bar} {progress.percent} {escape(str(progress))}</div>"
        known = self.regression.structure  # as far as the formula that is picked agrees
        head += "" if known is None else f"<div>{escape(known)}</div>"
        self._show(head + table_html(model))

    def _show(self, html: str) -> None:
        ipython: Any = importlib.import_module("IPython.display")
        if self.shown is None:
            self.shown = ipython.display(ipython.HTML(html), display_id=True)
        else:
            self.shown.update(ipython.HTML(html))


class _LiveDisplay(_Display):
    """A bar, and the front under it."""

    def __init__(self, regression: Regression, out: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(regression, _REDRAW)
        self.live = Live(console=Console(file=out), auto_refresh=False, transient=True)
        self.live.start()

    def close(self) -> None:
        self.live.stop()

    def show(self, progress: SearchProgress, model: Model) -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        head = Table.grid(padding=(0, 1))
        share = progress.share
        total, done = (None, 0.0) if share is None else (1.0, share)
        head.add_row(
            ProgressBar(total=total, completed=done, width=30),
            Text(f"{progress.percent:>4}  {progress}"),
        )
        known = self.regression.structure  # as far as the formula that is picked agrees
        said = [] if known is None else [Text(printable(known))]
        self.live.update(Group(head, *said, front_table(model, _MOST_ROWS)), refresh=True)


def front_table(model: Model, most: int | None = None) -> Any:
    """The front as a rich table, the picked row marked; the best rows if there are too many."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("", "row", "complexity", "R2"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(Text(printable(f"{model.target} =")), overflow="fold")
    first = max(0, len(model.formulas) - most) if most else 0
    for row in range(first, len(model.formulas)):
        each = model.formulas[row]
        picked = row == model.picked
        cells = [
            ">" if picked else "",
            str(row),
            str(each.complexity),
            f"{round(each.r2, 6) + 0.0:.6f}",
        ]
        table.add_row(*map(Text, cells), Text(printable(each.text)), style="bold" if picked else "")
    return table
