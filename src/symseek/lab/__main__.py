"""`python -m symseek.lab STORE [KEY]`: what a store holds and what failed, or one run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from symseek.errors import InputError
from symseek.jobs.record import Record
from symseek.jobs.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Show it; the exit code is 2 if the store or the run is not there."""
    parser = argparse.ArgumentParser("python -m symseek.lab", description=__doc__)
    parser.add_argument("store", metavar="STORE", help="the file that keeps the runs")
    parser.add_argument("key", nargs="?", metavar="KEY", help="a run's key, or how it begins")
    options = parser.parse_args(arguments)
    try:
        with Store(options.store, read_only=True) as store:
            print(_shown(store.record(options.key)) if options.key else _overview(store))
    except InputError as error:
        print(f"symseek: {error}", file=sys.stderr)
        return 2
    return 0


def _overview(store: Store) -> str:
    counts = store.counts()
    lines = [f"{counts.done} runs done, {counts.failed} failed, {counts.running} running"]
    for record in store.records(status="failed"):
        lines.append(f"{record.spec.short}  {record.spec}: {record.last_line}")
    return "\n".join(lines)


def _shown(record: Record) -> str:
    """Everything but the error as JSON, then the error as it was."""
    values = record.to_dict()
    error = values.pop("error")
    return json.dumps(values, indent=1) + (f"\n\n{error}" if error else "")


if __name__ == "__main__":
    raise SystemExit(main())
