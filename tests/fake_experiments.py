"""Runs that cost nothing, for the tests of the runner; as a script, a runner to be killed.

python tests/fake_experiments.py STORE LOG JOBS RUNS SLEEP
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from symseek.jobs.perform import report
from symseek.lab import Record, Snapshot, Spec, Store, run

# What depends on the machine and the moment, and not on the run.
CHANGING = ("seconds", "wall", "started_at", "commit", "hardware", "symseek")


def some_specs(count: int, sleep: float = 0.0, **settings: object) -> list[Spec]:
    """Different runs, on a few methods and problems, each of which sleeps so many seconds."""
    settings["sleep"] = sleep
    return [Spec(f"m{i % 2}", f"P-{i % 3}", i, settings) for i in range(count)]


def repeatable(record: Record) -> dict[str, Any]:
    """What every repetition of the run must give again: all but times and provenance."""
    return {name: value for name, value in record.to_dict().items() if name not in CHANGING}


def steady(spec: Spec) -> Record:
    """A run that gives the same again."""
    log("start", spec)
    report(Snapshot(spec, 10, 0.5, 0.25, "x"))
    time.sleep(spec.settings["sleep"])
    log("end", spec)
    number = int(spec.key[:8], 16)
    return Record(
        spec,
        recovered="yes" if number % 2 else "no",
        evaluations=number,
        seconds=spec.settings["sleep"],
        reward=number / 16**8,
        expression=f"x + {number}",
        front=[(1, 0.5, "x"), (3, number / 16**8, f"x + {number}")],
        curve={"reward": [0.25, 0.5]},
    )


def some_fail(spec: Spec) -> Record:
    """Every fifth run raises an error, unless the file `cured` is there."""
    if spec.seed % 5 == 3 and not Path(spec.settings["cured"]).exists():
        log("start", spec)
        raise ValueError(f"seed {spec.seed} is unlucky")
    return steady(spec)


def some_die(spec: Spec) -> Record:
    """Seed 1 is always killed, seed 2 the first time only, and seed 3 crashes and says so."""
    if spec.seed == 1 or (spec.seed == 2 and not Path(spec.settings["log"]).exists()):
        log("start", spec)
        os.kill(os.getpid(), signal.SIGKILL)
    if spec.seed == 3:
        faulthandler._sigsegv()  # type: ignore[attr-defined]
    return steady(spec)


def dies_before_its_child(spec: Spec) -> Record:
    """The child, copied with everything that is open, outlives it."""
    child = os.fork()
    if child == 0:
        log("start", spec)
        time.sleep(20.0)
        os._exit(0)
    place = Path(spec.settings["log"])
    while not place.exists() or str(child) not in place.read_text().split():
        time.sleep(0.01)
    os._exit(9)


def gives_nothing(spec: Spec) -> None:
    """What an unfinished `execute` does."""


def gives_another(spec: Spec) -> Record:
    """A mix-up."""
    return Record(Spec("other", "other", 0))


def exits(spec: Spec) -> Record:
    """What some libraries do."""
    print("noise")
    sys.exit("no licence")


not_a_function = 3


def log(word: str, spec: Spec) -> None:
    """Write down that this happened, where all processes write."""
    path = spec.settings.get("log") or os.environ.get("FAKE_LOG")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{word} {spec.key} {os.getpid()}\n")


def main(store: str, log: str, jobs: str, runs: str, sleep: str) -> None:
    """Run them, and show how it goes."""
    from symseek.jobs.progress import Progress

    os.environ["FAKE_LOG"] = log
    with Store(store) as opened, Progress(opened, out=sys.stdout) as progress:
        outcome = run(
            some_specs(int(runs), sleep=float(sleep)),
            opened,
            jobs=int(jobs),
            listener=progress,
            execute="fake_experiments:steady",
        )
        progress.summary(outcome)
        print(f"ran {outcome.ran}")


if __name__ == "__main__":
    # A shell lets the commands that it starts in the background ignore Ctrl-C; this one hears it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(*sys.argv[1:])
