"""What a person sees while many tables are fitted: how many are done and failed, the last formulas.

In a terminal a picture is redrawn in place; anywhere else every finished fit is a line.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from symseek.errors import Wording, printable
from symseek.jobs.progress import Progress
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec
from symseek.jobs.store import Store
from symseek.many.line import error_of
from symseek.text import clock, counted, shortened

if TYPE_CHECKING:
    from rich.console import Group

_LAST = 8  # formulas that are shown
_MOST_RUNNING = 4  # fits that are shown
_NAME = 30  # characters of a name


class ManyProgress(Progress):
    """A listener that shows how many fits go. Use it in a `with`.

    >>> import sys
    >>> spec = Spec("fit", "a", 0)
    >>> with Store() as store, ManyProgress({"a": "a.csv"}, store, [spec], sys.stdout) as progress:
    ...     progress.counted(store.counts([spec]), [spec], size=1)
    ...     progress.finished(Record(spec, expression="2*x", seconds=0.2, curve={"r2": [1.0]}))
    1 table to fit
    1/1  a.csv: 2*x, R2 1.0000, in 0.2 s, 0.0 s left
    """

    def __init__(
        self,
        names: Mapping[str, str],
        store: Store,
        specs: Iterable[Spec] = (),
        out: TextIO | None = None,
        wording: Wording = str,
    ) -> None:
        super().__init__(store, specs, out)
        self.wording = wording  # of the caller, for what is wrong with a table
        self.names = names  # of the tables, by folder
        self.last: deque[tuple[str, str]] = deque(maxlen=_LAST)

    def begin(self) -> None:
        """What is to be done, and what is done already."""
        done = self.counts.done
        already = f" ({done:,} of {self.counts.total:,} are done)" if done else ""
        self.say(f"{counted(len(self.left), 'table')} to fit{already}")

    def name(self, spec: Spec) -> str:
        return shortened(printable(self.names.get(spec.problem, spec.problem)), _NAME)

    def show_done(self, record: Record) -> None:
        name, formula = self.name(record.spec), printable(record.expression)
        self.last.append((name, formula))
        if self.live is None:
            r2 = next(iter(record.curve.get("r2", ())), None)
            fit = f", R2 {r2:.4f}" if isinstance(r2, float) else ""
            took = f"{record.seconds or 0.0:.1f} s"
            self.say(f"{self.share()}  {name}: {formula}{fit}, in {took}{self.time_left()}")

    def show_failed(self, record: Record) -> None:
        why = error_of(record).worded(self.wording)
        self.say(f"{self.share()}  {self.name(record.spec)} failed: {why}", style="red")

    def lost(self, spec: Spec, why: str) -> None:
        self.trouble(f"{self.name(spec)} lost its process and is done again: {why}")

    def trouble(self, text: str) -> None:
        self.say(printable(text)[:300], style="yellow")

    def picture(self) -> Group:
        """A bar, the last formulas, and the fits that run longest."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        failed = f", {self.failures:,} failed" if self.failures else ""
        head = self.bar(f"{self.share()} done{failed}{self.time_left()}")
        body: Any = Table.grid(padding=(0, 2))
        body.add_column(no_wrap=True)
        body.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for name, formula in list(self.last):
            body.add_row(Text(name), Text(formula))
        running = self.longest()
        for spec, (since, now) in running[:_MOST_RUNNING]:
            words = f"for {clock(time.monotonic() - since)}, {now.evaluations:,} expressions"
            body.add_row(Text(self.name(spec), style="dim"), Text(words, style="dim"))
        if len(running) > _MOST_RUNNING:
            body.add_row(Text(f"and {len(running) - _MOST_RUNNING} more", style="dim"), Text(""))
        return Group(head, body)
