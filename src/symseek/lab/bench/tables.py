"""The summaries as text: a problem a row, as the paper grades it; several methods side by side."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from symseek.lab.bench.summary import Summary, average_recovery
from symseek.lab.problems import GradedBy

Row: TypeAlias = tuple[str, ...]

_ERROR_NOTE = "Test RMSE: {} over the runs, as in the paper; inf: undefined at a test point.\n"
_NOTES: dict[GradedBy, str] = {  # in the order of the tables
    "recovery": "",
    "mean RMSE": _ERROR_NOTE.format("mean"),
    "median RMSE": _ERROR_NOTE.format("median"),
}
_TIMES = ("undecided", "evaluations", "seconds", "s/run", "rate")
_COMPARED = {"recovery", "test RMSE", "paper", "recovered", "undecided", "evaluations", "seconds"}


def tables(summaries: Sequence[Summary], methods: Sequence[str]) -> Iterator[tuple[list[Row], str]]:
    """A table with its note for each way of grading; several methods stand side by side."""
    for graded_by, note in _NOTES.items():
        graded = [each for each in summaries if each.graded_by == graded_by]
        rows = _recovery_rows if graded_by == "recovery" else _error_rows
        by_method = {
            method: rows(own)
            for method in methods
            if (own := [each for each in graded if each.method == method])
        }
        if by_method:
            yield side_by_side(by_method) if len(methods) > 1 else rows(graded), note


def _recovery_rows(summaries: Sequence[Summary]) -> list[Row]:
    """The table of problems graded by recovery, with the average where there are several."""
    rows: list[Row] = [("problem", "recovered", "recovery", "paper", *_TIMES)]
    for each in summaries:
        paper = "-" if each.published is None else f"{each.published:.0f}%"
        rows.append((each.problem, _won(each), f"{each.recovery:.0f}%", paper, *_times(each)))
    if len(summaries) > 1:
        paper = _average([each.published for each in summaries], "{:.1f}%")
        mean = f"{average_recovery(summaries):.1f}%"
        rows.append(("average", _won(*summaries), mean, paper, *["-"] * len(_TIMES)))
    return _without_empty_columns(rows)


def _error_rows(summaries: Sequence[Summary]) -> list[Row]:
    """The table of problems graded by a statistic of the test error, with the average too."""
    rows: list[Row] = [("problem", "test RMSE", "paper", "recovered", *_TIMES)]
    for each in summaries:
        paper = "-" if each.published_rmse is None else f"{each.published_rmse:.5g}"
        rows.append((each.problem, error_text(each.test_rmse), paper, _won(each), *_times(each)))
    if len(summaries) > 1:
        ours = _average([each.test_rmse for each in summaries], "{:.4g}", missing="inf")
        paper = _average([each.published_rmse for each in summaries], "{:.4g}")
        rows.append(("average", ours, paper, _won(*summaries), *["-"] * len(_TIMES)))
    return _without_empty_columns(rows)


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


def error_text(rmse: float | None) -> str:
    """A test error; without one it is infinite."""
    return "inf" if rmse is None else f"{rmse:.4g}"


def _average(values: Sequence[float | None], form: str, missing: str = "-") -> str:
    """The mean, if no value is missing: else it would be the mean of fewer problems."""
    known = [value for value in values if value is not None]
    return form.format(statistics.fmean(known)) if len(known) == len(values) else missing


def _without_empty_columns(rows: list[Row]) -> list[Row]:
    """Leave out the columns that have only dashes, so that the table fits a narrow terminal."""
    columns = [each for each in zip(*rows, strict=True) if set(each[1:]) != {"-"}]
    return list(zip(*columns, strict=True))


def side_by_side(by_method: dict[str, list[Row]]) -> list[Row]:
    """One table of several methods' own, their names above; a dash where one has no such row.

    >>> from symseek.text import text_table
    >>> fast = [("problem", "recovery", "rate"), ("A", "90%", "5/s"), ("B", "70%", "4/s")]
    >>> slow = [("problem", "recovery", "rate"), ("A", "100%", "1/s")]
    >>> print(*text_table(side_by_side({"fast": fast, "slow": slow})), sep="\\n")
                 fast      slow
    problem  recovery  recovery
    A             90%      100%
    B             70%         -
    """
    names = list(dict.fromkeys(row[0] for rows in by_method.values() for row in rows[1:]))
    names.sort(key="average".__eq__)  # last
    columns = [("", "problem", *names)]
    for method, (headings, *rows) in by_method.items():
        known = {row[0]: row for row in rows}
        if len(known) < len(names):
            known.pop("average", None)  # of fewer problems than its neighbour
        # Next to the recovery in percent, the number of recovered runs says nothing new.
        wanted = _COMPARED - ({"recovered"} if "recovery" in headings else set())
        label = method
        for at, heading in enumerate(headings):
            cells = [known[name][at] if name in known else "-" for name in names]
            if heading in wanted and set(cells) != {"-"}:
                columns.append((label, heading, *cells))
                label = ""
    return list(zip(*columns, strict=True))
