"""Runs as a table of text: a line each, to publish beside a report and to read back into a store.

A line has the spec, the results and where they were obtained. It has no front and no training
curve, which are too long for it; of a curve, the columns of a single value are kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from symseek.errors import InputError
from symseek.files.lines import opened
from symseek.files.schema import check, parse_json
from symseek.jobs.record import Record
from symseek.jobs.spec import Spec, canonical

_SPEC = ("method", "problem", "seed", "settings")
_KEPT = ("evaluations", "seconds", "expression", "reward", "test_rmse", "test_nrmse", "commit")
_LATER = ("wall", "cores", "symseek", "curve", "gpu")  # older tables do not have these
COLUMNS = (*_SPEC, "status", "recovered", *_KEPT, "cpu", "error", *_LATER)


def runs_csv(records: Iterable[Record]) -> str:
    """Every run as a line; failed ones too.

    >>> failed = Record(Spec("dsr", "Nguyen-1", 3), "failed", error="KeyError: 1")
    >>> print(runs_csv([failed]).splitlines()[1])
    dsr,Nguyen-1,3,{},failed,no,0,0.0,,0.0,,,,,KeyError: 1,0.0,,,{},
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        spec, hardware = record.spec, record.hardware
        values = [spec.method, spec.problem, spec.seed, canonical(dict(spec.settings))]
        values += [record.status, record.recovered, *(getattr(record, name) for name in _KEPT)]
        values += [hardware.get("cpu", ""), record.last_line, record.wall]
        single = {name: list(each) for name, each in record.curve.items() if len(each) == 1}
        values += [hardware.get("cores", ""), record.symseek, canonical(single)]
        writer.writerow([*values, hardware.get("gpu", "")])
    return text.getvalue()


def read_runs(path: Path) -> list[Record]:
    """The runs of a file that `runs_csv` wrote.

    Raises:
        InputError: the file cannot be read, or a line of it is not a run; it is named.
    """
    with opened(path) as file:
        return _records(path, csv.DictReader(file, strict=True))


def _records(path: Path, lines: csv.DictReader[str]) -> list[Record]:
    missing = [name for name in COLUMNS if name not in (lines.fieldnames or ())]
    if [name for name in missing if name not in _LATER]:
        raise InputError(f"{str(path)!r} is no table of runs: it has no column {missing[0]!r}")
    found = []
    try:
        for line in lines:
            found.append(_record(line))
    except (csv.Error, InputError, KeyError, TypeError, ValueError) as error:
        where = f"line {lines.line_num} of {str(path)!r}"
        raise InputError(f"{where} is not a run: {error}") from None
    return found


def _record(line: Mapping[str, Any]) -> Record:
    if None in line or None in line.values():
        raise InputError("it has more or fewer cells than there are columns")
    spec = Spec(line["method"], line["problem"], int(line["seed"]), _json(line["settings"]))
    hardware: dict[str, Any] = {"cpu": line["cpu"]}
    if line.get("cores"):
        hardware["cores"] = int(line["cores"])
    if line.get("gpu"):
        hardware["gpu"] = line["gpu"]
    seconds = _number(line["seconds"])
    record = Record(
        spec,
        line["status"],
        line["recovered"],
        evaluations=int(line["evaluations"]),
        seconds=seconds,
        reward=_number(line["reward"]),
        expression=line["expression"],
        test_rmse=_number(line["test_rmse"]),
        test_nrmse=_number(line["test_nrmse"]),
        curve=_json(line.get("curve") or "{}"),
        error=line["error"],
        wall=_number(line["wall"]) if line.get("wall") else seconds,
        commit=line["commit"],
        hardware=hardware,
        symseek=line.get("symseek") or "",
    )
    check(record, Record, "it")
    return record


def _json(text: str) -> Any:
    return parse_json(text.encode())


def _number(text: str) -> float | None:
    return float(text) if text else None
