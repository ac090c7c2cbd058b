"""Symbolic control policies: expressions that map what is observed to what is done.

    python examples/control.py CartPole-v1 --workers 2
    python examples/control.py --all --workers 2 --json control.json

This is not regression: there is no table, only a score, the mean return of some episodes.
`Search.for_programs` asks for the scores of whole batches, so many expressions are tried at once,
each in episodes of its own, on copies of the environments' dynamics in NumPy. Gymnasium gives the
starting states, and judges the chosen expression in episodes that the search never saw.
Start reading at `search`; docs/control.md explains the parts.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from environments import TASKS, Floats, Task, returns

from symseek import (
    FitConfig,
    Library,
    Program,
    Programs,
    Search,
    SearchConfig,
    paper_constraints,
    presets,
)
from symseek.algebra.simplify import simplified
from symseek.cli.options import (
    BAD_INPUT,
    INTERRUPTED,
    Parser,
    check_writable,
    natural,
    positive,
)
from symseek.errors import InputError, unknown_name
from symseek.files.atomic import write_whole
from symseek.jobs.provenance import commit, hardware
from symseek.loop import Iteration, Stopped
from symseek.model import full_library
from symseek.notation.printing import infix
from symseek.tokens import short_number

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log")
NUMBERS = (0.1, 1.0, 5.0)
LONGEST = 20  # tokens of an expression
CHUNK = 250  # expressions that a worker tries at a time; the same for any number of workers
FEW = 4  # episodes for every expression; those that promise something get them all
TUNING = 200  # episodes in which the numbers of the best expressions are tuned
MOST = 10_000  # episodes in a search
TUNED, SEARCHED, JUDGED = 0, 1_000, 1_000_000  # the first seeds of each kind of episodes


def tried(job: tuple[str, Programs, Any]) -> tuple[Floats, int]:
    """Mean returns [B], of a FEW episodes for what promises little, and the episodes played."""
    task, programs, starts = TASKS[job[0]], *job[1:]
    first = returns(task, programs, starts[:, :FEW])
    means = first.mean(axis=1)
    good = np.flatnonzero(task.score(means) >= task.promising)
    if starts.shape[1] <= FEW or not len(good):
        return means, first.size
    more = returns(task, programs[good], starts[:, FEW:])
    means[good] = np.concatenate([first[good], more], axis=1).mean(axis=1)
    return means, first.size + more.size


class Score:
    """The score of expressions, from the same episodes for all; `spread` may use other processes.

    What one expression scores depends on nothing else, so that the search may remember it.
    """

    def __init__(self, task: Task, seeds: Iterable[int], spread: Map = map) -> None:
        self.task, self.starts, self.spread = task, task.starts(seeds), spread
        self.episodes = 0  # played so far

    def __call__(self, programs: Programs) -> Floats:
        parts = [programs[at : at + CHUNK] for at in range(0, len(programs), CHUNK)]
        done = list(self.spread(tried, [(self.task.name, each, self.starts) for each in parts]))
        self.episodes += sum(played for _, played in done)
        return self.task.score(np.concatenate([means for means, _ in done]))


# --- the search


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    environment: str
    expression: str
    mean_return: float  # in Gymnasium, over episodes with fresh seeds
    standard_error: float
    published: str
    published_return: float  # in those very episodes
    published_error: float
    gain: float  # of the mean return, over the published policy's
    gain_error: float  # from the differences in each episode
    expressions: int  # tried in the search
    episodes: int  # played in the search, those for tuning included
    seconds: float  # of the search, without the judging
    seed: int


class Interrupted(Exception):
    """Ctrl-C ended a search; the best so far is in the message."""


def search(task: Task, budget: int, episodes: int, evaluate: int, seed: int, spread: Map) -> Row:
    """Find an expression, tune its numbers, and judge it."""
    began = time.monotonic()
    print(f"{task.name}: {budget:,} expressions, the good ones in {episodes} episodes", flush=True)
    score = Score(task, range(SEARCHED, SEARCHED + episodes), spread)
    hunt = Search.for_programs(
        Library([*OPERATORS, *NUMBERS], variables=list(task.variables)),
        score,
        settings(budget),
        constraints=paper_constraints(1, LONGEST),
        seed=seed,
    )
    found = hunt.run(Progress(task, score))
    if found.stopped is Stopped.INTERRUPTED:
        best = "nothing" if found.best is None else str(found.best.program)
        raise Interrupted(f"{task.name}: stopped by Ctrl-C; the best so far: {best}")
    finer = Score(task, range(TUNED, TUNED + TUNING), spread)
    chosen = tuned(task, [entry.program for entry in found.front], finer)
    seconds = time.monotonic() - began
    print(f"{task.name}: {evaluate:,} episodes to judge {chosen}", flush=True)
    published = Program.parse(task.published, full_library(task.variables))
    ours, theirs = (judged(task, each, evaluate, spread) for each in (chosen, published))
    return Row(
        task.name,
        written(chosen),
        *mean_and_error(ours),
        task.published,
        *mean_and_error(theirs),
        *mean_and_error(ours - theirs),
        found.expressions,
        score.episodes + finer.episodes,
        seconds,
        seed,
    )


def settings(budget: int) -> SearchConfig:
    """A policy that learns from the best, and short evolutions of what it writes."""
    size = min(1000, max(2, budget // 2))
    return presets.hybrid(batch_size=size, max_expressions=budget, stop_reward=1.0)


def tuned(task: Task, programs: list[Program], score: Score) -> Program:
    """The best of these after their numbers are tuned, by the score in more and other episodes."""
    library = full_library(task.variables)  # it has `const`: numbers become placeholders
    env = task.made()
    env.observation_space.seed(0)
    rows = np.array([env.observation_space.sample() for _ in range(100)], dtype=float)
    neat = [simplified(Program.parse(str(each), library), library, rows) for each in programs]
    config = presets.dsr(constants=FitConfig(restarts=0, max_steps=100))
    tuning = Search.for_programs(library, score, config)
    tuning.consider(Programs.from_list(neat))
    assert tuning.front.best is not None
    return Program.parse(written(tuning.front.best.program), library)


def written(program: Program) -> str:
    """The expression, its numbers rounded: what is printed is what is judged."""
    return infix(program, [short_number(value, 5) for value in program.constants])


def judged(task: Task, program: Program, episodes: int, spread: Map) -> Floats:
    """The returns of episodes in Gymnasium itself, with seeds that no search has used."""
    parts = [range(JUDGED + at, JUDGED + min(at + 25, episodes)) for at in range(0, episodes, 25)]
    return np.concatenate(list(spread(partial(played, task.name, program), parts)))


def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean, and its standard error."""
    return float(values.mean()), float(
        values.std(ddof=min(1, len(values) - 1)) / len(values) ** 0.5
    )


def played(name: str, program: Program, seeds: Iterable[int]) -> Floats:
    """The return of an episode for each seed, in Gymnasium."""
    task, env, got = TASKS[name], TASKS[name].made(), []
    for seed in seeds:
        observed, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            value = program.apply(*observed.astype(float))
            observed, reward, terminated, truncated, _ = env.step(task.action(float(value)))
            total += float(reward)
            over = terminated or truncated
        got.append(total)
    return np.array(got)


# --- processes, and the command


@contextmanager
def processes(count: int) -> Iterator[Map]:
    """A `map` over so many processes, which end with this one."""
    if count == 1:
        yield map
        return
    # Ctrl-C reaches all processes of a terminal. It is held back from the workers for good, and
    # until they are ready from this process, which then ends them. The handler is for threads of
    # libraries: these were there before the mask, and may take a signal that it holds back here.
    context = multiprocessing.get_context("spawn")
    ready, stops = context.Barrier(count + 1), list[int]()
    usual = signal.signal(signal.SIGINT, lambda number, frame: stops.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    with context.Pool(count, prepare, [ready]) as pool:
        ready.wait()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.signal(signal.SIGINT, usual)
        if stops:
            raise KeyboardInterrupt
        yield partial(pool.map, chunksize=1)


def prepare(ready: Any) -> None:
    """Of a worker: let it end when its parent is gone, however that ended."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    ready.wait()


class Progress:
    """A line at first, and every ten seconds."""

    def __init__(self, task: Task, score: Score) -> None:
        self.task, self.score, self.due = task, score, 0.0

    def __call__(self, now: Iteration) -> None:
        if now.best is None or time.monotonic() < self.due:
            return
        self.due = time.monotonic() + 10
        worth = self.task.worst + now.best.reward * (self.task.best - self.task.worst)
        print(
            f"{self.task.name}: {now.seconds:.0f} s, {now.expressions:,} expressions, "
            f"{self.score.episodes:,} episodes, return {worth:.2f}: {now.best.program}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("control.py", description="Search for symbolic control policies.")
    add = parser.add_argument
    add("environment", nargs="?", metavar="ENVIRONMENT", help=", ".join(TASKS))
    add("--all", action="store_true", help="all of them, one after the other")
    add("--workers", type=positive, default=1, metavar="N", help="processes (1)")
    add("--seed", type=natural, default=0, metavar="N", help="of the search (0)")
    add(
        "--max-expressions",
        type=positive,
        default=100_000,
        metavar="N",
        help="(100000)",
    )
    add("--episodes", type=positive, metavar="N", help="for a good expression (16 to 64)")
    add("--evaluate", type=positive, default=1000, metavar="N", help="episodes to judge by (1000)")
    add("--json", type=Path, metavar="FILE", help="write the table there, too")
    options = parser.parse_args(arguments)
    try:
        if (options.episodes or 0) > MOST:
            raise InputError(f"{options.episodes} episodes are too many: {MOST} at most")
        tasks = chosen_tasks(options.environment, options.all)
        check_writable(options.json)
        settings(options.max_expressions)  # complains of a budget that is too small
        return run(tasks, options)
    except InputError as error:
        print(f"control.py: {error}", file=sys.stderr)
        return BAD_INPUT


def chosen_tasks(name: str | None, every: bool) -> list[Task]:
    if every == (name is not None):
        raise InputError(f"name one environment of {', '.join(TASKS)}, or say --all")
    if name is not None and name not in TASKS:
        raise unknown_name("environment", name, TASKS)
    return list(TASKS.values()) if every else [TASKS[str(name)]]


def run(tasks: Sequence[Task], options: Any) -> int:
    """Search in each environment, and show the table of all that were finished."""
    rows: list[Row] = []
    about = {"commit": commit(), "hardware": hardware(), "gymnasium": version("gymnasium")}
    code = 0
    try:
        with processes(min(options.workers, os.cpu_count() or 1)) as spread:
            for task in tasks:
                budget, episodes = options.max_expressions, options.episodes or task.episodes
                rows.append(search(task, budget, episodes, options.evaluate, options.seed, spread))
    except (Interrupted, KeyboardInterrupt) as stop:
        print(str(stop) or "stopped by Ctrl-C", file=sys.stderr)
        code = INTERRUPTED
    if rows:
        print(table(rows))
    if rows and options.json is not None:
        said = {name: value for name, value in vars(options).items() if name != "json"}
        whole = {**about, "options": said, "rows": [asdict(row) for row in rows]}
        write_whole(options.json, json.dumps(whole, indent=1) + "\n")
    return code


def table(rows: Sequence[Row]) -> str:
    lines = [("environment", "mean return", "published", "episodes", "seconds", "expression")]
    for row in rows:
        lines.append(
            (
                row.environment,
                f"{row.mean_return:.2f} ± {row.standard_error:.2f}",
                f"{row.published_return:.2f} ± {row.published_error:.2f}",
                f"{row.episodes:,}",
                f"{row.seconds:.0f}",
                row.expression,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in texts)


if __name__ == "__main__":
    raise SystemExit(main())
