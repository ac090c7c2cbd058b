"""What `symseek bench` prints: a line a run, with the command that repeats it, then the tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from symseek.jobs.progress import Progress
from symseek.jobs.record import VERDICTS, Record
from symseek.jobs.runner import Outcome
from symseek.jobs.spec import Spec
from symseek.jobs.store import Store
from symseek.lab import problems
from symseek.lab.bench.specs import command
from symseek.lab.bench.summary import summarise, write_json
from symseek.lab.bench.tables import error_text, tables
from symseek.text import text_table

_COLOURS = {"yes": "green", "no": "yellow", "undecided": "magenta"}
_TIMES_NOTE = "Evaluations, seconds: median over the recovered runs, to the moment of recovery."
_RATES_NOTE = "s/run, rate: median over all runs."


class BenchProgress(Progress):
    """The progress of a benchmark; after each run the results so far are written as JSON."""

    def __init__(
        self,
        store: Store,
        specs: Sequence[Spec],
        out: TextIO | None = None,
        json: Path | None = None,
    ) -> None:
        super().__init__(store, specs, out or sys.stdout)
        self.methods = list(dict.fromkeys(spec.method for spec in specs))
        self.planned = len(specs)
        self.json = json
        self.records: list[Record] = []

    def begin(self) -> None:
        pass  # the first line is that of the first run

    def finished(self, record: Record) -> None:
        self.records.append(record)
        self._save(interrupted=False)
        super().finished(record)

    def show_done(self, record: Record) -> None:
        self.say(run_line(record, self._label(record.spec)), style=_COLOURS[record.recovered])
        if record.recovered == "undecided":
            self.say(f"    why: {record.reason}", style="dim")
        self.say(f"    again: {command(record.spec)}", style="dim")

    def show_failed(self, record: Record) -> None:
        spec = record.spec
        self.say(f"{spec.problem}  {self._label(spec)}seed {spec.seed}  FAILED", style="red")
        self.say(f"    again: {command(spec)}", style="dim")
        self.say(record.error.rstrip(), style="red")

    def summary(self, outcome: Outcome) -> None:
        """The tables, a problem a row, and what did not finish."""
        self.stop()
        self._save(outcome.interrupted)
        summaries = summarise(self.records)
        self.say()
        for rows, note in tables(summaries, self.methods):
            for row, line in zip(rows, text_table(rows), strict=True):
                self.say(line, style="bold" if row[0] in ("", "problem", "average") else None)
            self.say(note, style="dim")
        if summaries:
            self.say(_TIMES_NOTE, style="dim")
            if len(self.methods) == 1:
                self.say(_RATES_NOTE, style="dim")
        failed = sum(each.status == "failed" for each in self.records)
        if failed:
            self.say(f"{failed} runs failed; their errors are above.", style="red")
        if outcome.interrupted:
            done = len(self.records) - failed
            self.say(f"Interrupted: {done} of {self.planned} runs had finished.", style="yellow")

    def _label(self, spec: Spec) -> str:
        """The method of a run, where there are several."""
        if len(self.methods) == 1:
            return ""
        return f"{spec.method:<{max(map(len, self.methods))}} "

    def _save(self, interrupted: bool) -> None:
        if self.json is not None:
            write_json(self.json, self.records, self.planned, interrupted)


def run_line(record: Record, label: str = "") -> str:
    """One finished run in one line."""
    spec, error = record.spec, ""
    if problems.load(spec.problem).graded_by != "recovery":
        error = f"test RMSE {error_text(record.test_rmse):<9}  "
    return (
        f"{spec.problem:<10} {label}seed {spec.seed:<4} {VERDICTS[record.recovered]:<13}  "
        f"{record.evaluations:>9,} expressions  {record.seconds:6.2f} s  {record.rate:>9,.0f}/s  "
        f"reward {record.reward:.6f}  {error}{record.expression}"
    )
