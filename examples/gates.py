"""Circuits as trees of gates: a search over trees that are no formulas, under a score of our own.

python examples/gates.py multiplexer-6
python examples/gates.py parity-4 --method evolution --seeds 10
python examples/gates.py --all --json gates.json

A circuit's score is the share of inputs for which it gives the right output. It counts as a
solution only after a second evaluator, slow and plain, has agreed on every input. For other trees,
such as sorting networks or schedules, replace the tokens, the score and the constraints.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from operator import and_, or_
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import symseek
from symseek import Evolution, Forbid, Length, Library, Program, Programs, Search, Token, presets
from symseek.cli.options import Parser, check_writable, parse_seeds, positive
from symseek.files.atomic import write_whole
from symseek.jobs.provenance import commit, hardware

# --- the problems

# The number of a gate's operands, and what it does to truth tables. A table is a whole number
# whose bit r is the value on input r, so one operation of Python's handles all inputs at once.
GATES: dict[str, tuple[int, Callable[..., int]]] = {
    "and": (2, and_),
    "or": (2, or_),
    "nand": (2, lambda a, b: ~(a & b)),
    "nor": (2, lambda a, b: ~(a | b)),
    "not": (1, lambda a: ~a),
    "if": (3, lambda a, b, c: c ^ (a & (b ^ c))),  # b where a is true, else c
}


@dataclass(frozen=True)
class Problem:
    """What a circuit should do, and what it may be made of."""

    lines: tuple[str, ...]  # what goes in
    gates: tuple[str, ...]
    wanted: Callable[[Sequence[bool]], bool]  # what should come out, given the lines' values
    longest: int  # tokens of a circuit: its gates and the lines that they read

    def inputs(self) -> list[tuple[bool, ...]]:
        """The lines' values on every input, in the order of the truth tables' bits."""
        count = len(self.lines)
        return [tuple(bool(row >> i & 1) for i in range(count)) for row in range(2**count)]

    def library(self) -> Library:
        """The tokens: gates, which need no formula, and lines."""
        return Library([Token(name, GATES[name][0]) for name in self.gates], self.lines)


def multiplexer(bits: int, longest: int) -> Problem:
    """The address lines, read as a number, say which of the data lines comes out."""

    def wanted(values: Sequence[bool]) -> bool:
        return values[bits + sum(value << i for i, value in enumerate(values[:bits]))]

    lines = [f"a{i}" for i in range(bits)] + [f"d{i}" for i in range(2**bits)]
    return Problem(tuple(lines), ("and", "or", "not", "if"), wanted, longest)


def parity(count: int, longest: int) -> Problem:
    """True if an even number of lines are true."""
    lines, gates = tuple(f"x{i}" for i in range(count)), ("and", "or", "nand", "nor")
    return Problem(lines, gates, lambda values: sum(values) % 2 == 0, longest)


PROBLEMS = {
    "multiplexer-3": multiplexer(1, longest=20),
    "multiplexer-6": multiplexer(2, longest=40),
    "multiplexer-11": multiplexer(3, longest=60),
    "parity-3": parity(3, longest=40),
    "parity-4": parity(4, longest=80),
    "parity-5": parity(5, longest=120),
}


# --- the search: a score, constraints, settings


def share_right(problem: Problem) -> Callable[[Programs], NDArray[np.float64]]:
    """The score: for each circuit of a batch, the share of inputs that it gets right."""
    library, inputs = problem.library(), problem.inputs()
    every = (1 << len(inputs)) - 1
    target = _packed([problem.wanted(values) for values in inputs])
    columns = [_packed(column) for column in zip(*inputs, strict=True)]
    tables = [0] * len(problem.gates) + columns  # [L] operators come first in a library
    gates = [GATES[name][1] for name in problem.gates]
    arities = library.arities

    def right(tokens: list[int]) -> int:
        stack: list[int] = []
        push, pop = stack.append, stack.pop
        for token in reversed(tokens):  # so operands come before their gate, the first on top
            arity = arities[token]
            if arity == 0:
                push(tables[token])
            elif arity == 1:
                push(gates[token](pop()))
            elif arity == 2:
                push(gates[token](pop(), pop()))
            else:
                push(gates[token](pop(), pop(), pop()))
        return (~(stack[0] ^ target) & every).bit_count()

    def score(programs: Programs) -> NDArray[np.float64]:
        rows = zip(programs.tokens.tolist(), programs.lengths.tolist(), strict=True)
        return np.array([right(tokens[:length]) for tokens, length in rows]) / len(inputs)

    return score


def _packed(values: Sequence[bool]) -> int:
    return sum(1 << row for row, value in enumerate(values) if value)


def constraints(problem: Problem) -> list[Length | Forbid]:
    """What no good circuit breaks, whatever it computes, as long as it needs all of its lines."""
    lines, widest = len(problem.lines), max(GATES[name][0] for name in problem.gates)
    fewest = -(-(lines - 1) // (widest - 1))  # gates that join all lines: rounded up
    rules: list[Length | Forbid] = [Length(lines + fewest, problem.longest)]
    rules += [Forbid(line, "sibling", of=line) for line in problem.lines]  # no and(x, x)
    if "not" in problem.gates:
        rules.append(Forbid("not", "child", of="not"))
    return rules


# The presets are made for errors, which hardly ever tie. Shares do, and where the best 5% all have
# the same score, risk-seeking learns nothing. So: fewer of the best, larger steps, less entropy.
LEARNING = dict(objective=symseek.RiskSeeking(0.02), learning_rate=0.005, entropy_weight=0.002)
METHODS: dict[str, Callable[..., symseek.SearchConfig]] = {
    "dsr": lambda **budget: presets.dsr(**LEARNING, **budget),
    "hybrid": lambda **budget: presets.hybrid(
        **LEARNING, untrained_share=0.0, evolution=Evolution(generations=100, pairing=0), **budget
    ),
    "evolution": presets.evolution,
}


def search_for(problem: Problem, method: str, seed: int, budget: int = 500_000) -> Search:
    """The search for a circuit; it stops at the first that is right on every input."""
    config = METHODS[method](max_expressions=budget, stop_reward=1.0)
    score, rules = share_right(problem), constraints(problem)
    return Search.for_programs(problem.library(), score, config, constraints=rules, seed=seed)


# --- the proof


def is_right(program: Program, problem: Problem) -> bool:
    """Whether the circuit is right on every input: one after the other, with plain truth values."""
    return all(
        _value(iter(program.names), dict(zip(problem.lines, values, strict=True)))
        == problem.wanted(values)
        for values in problem.inputs()
    )


def _value(names: Iterator[str], lines: dict[str, bool]) -> bool:
    """The value of the tree that the next names spell in pre-order."""
    name = next(names)
    if name in lines:
        return lines[name]
    operands = [_value(names, lines) for _ in range(GATES[name][0])]
    if name == "if":
        return operands[1] if operands[0] else operands[2]
    value = any(operands) if name in ("or", "nor") else all(operands)
    return not value if name in ("not", "nand", "nor") else value


# --- runs, and what is said of them


@dataclass(frozen=True)
class Run:
    """One search and what it found."""

    problem: str
    method: str
    seed: int
    solved: bool
    expressions: int  # circuits graded until the end
    seconds: float  # of the processor
    share: float  # of the inputs that the best circuit gets right
    gates: int  # of that circuit
    circuit: str


def run(name: str, method: str, seed: int, budget: int) -> Run:
    """One search, with a word on its progress every ten seconds."""
    problem, label = PROBLEMS[name], f"{name}, {method}, seed {seed}"
    begun, said = time.process_time(), time.monotonic()

    def progress(now: symseek.Iteration) -> None:
        nonlocal said
        if now.best is not None and time.monotonic() - said > 10:
            said = time.monotonic()
            say(f"{label}: {now.expressions:,} circuits, the best {now.best.reward:.2%} right")

    result = search_for(problem, method, seed, budget).run(progress)
    if result.best is None or result.stopped is symseek.Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    seconds = round(time.process_time() - begun, 3)
    program, share = result.best.program, result.best.reward
    solved = share == 1  # a share is a count over a power of two: there is no rounding
    if solved and not is_right(program, problem):
        raise AssertionError(f"the score and the proof disagree about {program}")
    end = "solved" if solved else f"{share:.2%} right"
    say(f"{label}: {end} after {result.expressions:,} circuits, {seconds:.1f} s")
    gates = sum(token in GATES for token in program.names)
    found = (solved, result.expressions, seconds, share, gates, str(program))
    return Run(name, method, seed, *found)


def say(text: str) -> None:
    """A line for the person at the terminal, apart from the output."""
    print(text, file=sys.stderr, flush=True)


def table(runs: Sequence[Run]) -> str:
    """A row for each problem and method; expressions are the median of the solved runs."""
    text = f"{'problem':16}{'method':11}{'solved':>8}{'expressions':>13}{'gates':>7}{'CPU s':>8}"
    for name, method in dict.fromkeys((each.problem, each.method) for each in runs):
        group = [each for each in runs if (each.problem, each.method) == (name, method)]
        solved = [each for each in group if each.solved]
        median = f"{statistics.median(r.expressions for r in solved):,.0f}" if solved else "-"
        fewest = min((each.gates for each in solved), default="-")
        share, seconds = f"{len(solved)} of {len(group)}", sum(each.seconds for each in group)
        text += f"\n{name:16}{method:11}{share:>8}{median:>13}{fewest:>7}{seconds:>8.1f}"
    return text


def smallest(runs: Sequence[Run]) -> Iterator[str]:
    """For each problem that was solved, the circuit with the fewest gates."""
    for name in dict.fromkeys(each.problem for each in runs if each.solved):
        solved = [each for each in runs if each.problem == name and each.solved]
        best = min(solved, key=lambda each: (each.gates, len(each.circuit)))
        count = "1 gate" if best.gates == 1 else f"{best.gates} gates"
        yield f"{name} in {count}:\n  {best.circuit}"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; what cannot be done is refused before any work."""
    parser = Parser("gates.py", description="Find circuits of gates.", allow_abbrev=False)
    add = parser.add_argument
    add("problem", nargs="?", choices=PROBLEMS, metavar="PROBLEM", help=", ".join(PROBLEMS))
    add("--all", action="store_true", help="every problem, by every method")
    add("--method", choices=[*METHODS, "all"], help="default: hybrid")
    add("--seeds", type=parse_seeds, default=[0], help="10, or 3,5,8-10; default: seed 0")
    add("--max-expressions", type=positive, default=500_000, metavar="N", help="in each run")
    add("--json", type=Path, metavar="FILE", help="write every run to this file")
    options = parser.parse_args(arguments)
    if options.all == (options.problem is not None):
        parser.error("name a problem, or say --all and name none")
    options.problems = list(PROBLEMS) if options.all else [options.problem]
    method = options.method or ("all" if options.all else "hybrid")
    options.methods = list(METHODS) if method == "all" else [method]
    try:
        check_writable(options.json)
        for each in options.methods:  # some budgets are too small for one batch
            METHODS[each](max_expressions=options.max_expressions)
    except symseek.InputError as error:
        parser.error(str(error))
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; Ctrl-C ends it with the runs that are done."""
    options = parsed(arguments)
    about = {"commit": commit(), "hardware": hardware(), "budget": options.max_expressions}
    runs: list[Run] = []
    code = 0
    try:
        for task in product(options.problems, options.methods, options.seeds):
            runs.append(run(*task, options.max_expressions))
    except KeyboardInterrupt:
        say("stopped by Ctrl-C; these runs were done:")
        code = 130
    print("\n".join([table(runs), *smallest(runs)]))
    if options.json is not None:
        content = json.dumps({**about, "runs": [asdict(each) for each in runs]}, indent=1)
        write_whole(options.json, content + "\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
