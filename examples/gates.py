"""Circuits as trees of gates: a search over trees that are no formulas, under a score of one's own.

    python examples/gates.py multiplexer-6
    python examples/gates.py parity-4 --method evolution --seeds 10
    python examples/gates.py --all --json gates.json

A circuit is graded by the share of its inputs that it gets right. It is called solved only after a
second evaluator, slow and plain, has agreed on every input. To search other trees, such as sorting
networks or schedules, keep `search_for` and write your own tokens, score and constraints.
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

from symseek import Forbid, InputError, Iteration, Length, Library, Program, Programs
from symseek import Search, SearchConfig, Stopped, Token, presets
from symseek.cli.options import Parser, check_writable, parse_seeds, positive
from symseek.experiments.runs.provenance import commit, hardware
from symseek.files.atomic import write_whole

# --- the problems

# A gate's number of operands, and what it does to truth tables: whole numbers whose bit r is the
# value in row r of the table, so that one operation of Python's works on all inputs at once.
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

    lines: tuple[str, ...]  # what comes in
    gates: tuple[str, ...]
    wanted: Callable[[Sequence[bool]], bool]  # what comes out, by the values of the lines
    longest: int  # tokens of a circuit: its gates and the lines that they read
    budget: int  # circuits graded in a run
    address: tuple[str, ...] = ()  # the lines that choose among the others

    def inputs(self) -> list[tuple[bool, ...]]:
        """The values of the lines, one row of the truth table after the other."""
        count = len(self.lines)
        return [tuple(bool(row >> i & 1) for i in range(count)) for row in range(2**count)]

    def library(self) -> Library:
        return Library([Token(name, GATES[name][0]) for name in self.gates], self.lines)


def multiplexer(address: int, longest: int, budget: int) -> Problem:
    """The address lines, read as a number, say which of the data lines comes out."""

    def wanted(values: Sequence[bool]) -> bool:
        chosen = sum(value << i for i, value in enumerate(values[:address]))
        return values[address + chosen]

    first = tuple(f"a{i}" for i in range(address))
    data = tuple(f"d{i}" for i in range(2**address))
    return Problem((*first, *data), ("and", "or", "not", "if"), wanted, longest, budget, first)


def parity(count: int, longest: int, budget: int) -> Problem:
    """True if an even number of lines are."""
    lines = tuple(f"x{i}" for i in range(count))
    gates = ("and", "or", "nand", "nor")
    return Problem(lines, gates, lambda values: sum(values) % 2 == 0, longest, budget)


PROBLEMS = {
    "multiplexer-3": multiplexer(1, 20, 100_000),
    "multiplexer-6": multiplexer(2, 40, 500_000),
    "multiplexer-11": multiplexer(3, 60, 1_000_000),
    "parity-3": parity(3, 40, 500_000),
    "parity-4": parity(4, 80, 1_000_000),
    "parity-5": parity(5, 120, 2_000_000),
}


# --- the search: a score, constraints, settings


def share_right(problem: Problem, library: Library) -> Callable[[Programs], NDArray[np.float64]]:
    """The score: which share of the inputs each circuit of a batch gets right."""
    inputs = problem.inputs()
    target = _packed([problem.wanted(values) for values in inputs])
    every = (1 << len(inputs)) - 1
    table = dict(zip(problem.lines, (_packed(column) for column in zip(*inputs, strict=True)), strict=True))
    tables = [table.get(name, 0) for name in library.names]
    gates = [GATES[name][1] if name in GATES else None for name in library.names]
    arities = library.arities

    def right(tokens: list[int]) -> int:
        stack: list[int] = []
        push, pop = stack.append, stack.pop
        for token in reversed(tokens):  # a gate comes after its operands, the first on top
            gate = gates[token]
            if gate is None:
                push(tables[token])
            elif arities[token] == 1:
                push(gate(pop()))
            elif arities[token] == 2:
                push(gate(pop(), pop()))
            else:
                push(gate(pop(), pop(), pop()))
        return (~(stack[0] ^ target) & every).bit_count()

    def score(programs: Programs) -> NDArray[np.float64]:
        rows = zip(programs.tokens.tolist(), programs.lengths.tolist(), strict=True)
        return np.array([right(tokens[:length]) for tokens, length in rows]) / len(inputs)

    return score


def _packed(values: Sequence[bool]) -> int:
    return sum(1 << row for row, value in enumerate(values) if value)


def constraints(problem: Problem, hint: bool = False) -> list[Length | Forbid]:
    """What no circuit needs; with the hint, also what a person knows of multiplexers."""
    rules: list[Length | Forbid] = [Length(1, problem.longest)]
    rules += [Forbid(line, "sibling", of=line) for line in problem.lines]  # as in and(x, x)
    if "not" in problem.gates:
        rules += [Forbid("not", "child", of="not")]
    if hint:
        others = set(problem.gates) | set(problem.lines) - set(problem.address)
        rules += [Forbid(sorted(others), "left child", of="if")]
    return rules


METHODS: dict[str, Callable[..., SearchConfig]] = {
    "dsr": presets.dsr,
    "hybrid": presets.hybrid,
    "evolution": presets.evolution,
}


def search_for(
    problem: Problem, method: str, seed: int, budget: int | None = None, hint: bool = False
) -> Search:
    """The search for a circuit; it stops at the first that is right on every input."""
    library = problem.library()
    config = METHODS[method](max_expressions=budget or problem.budget, stop_reward=1.0)
    score, rules = share_right(problem, library), constraints(problem, hint)
    return Search.for_programs(library, score, config, constraints=rules, seed=seed)


# --- the proof


def is_right(program: Program, problem: Problem) -> bool:
    """Whether the circuit is right on every input: one after the other, in plain Python."""
    return all(
        _value(iter(program.names), dict(zip(problem.lines, values, strict=True)))
        == problem.wanted(values)
        for values in problem.inputs()
    )


def _value(names: Iterator[str], lines: dict[str, bool]) -> bool:
    """The value of the tree that the next names, in pre-order, spell out."""
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
    seconds: float
    share: float  # of the inputs that the best circuit gets right
    gates: int  # of that circuit
    circuit: str


def run(name: str, method: str, seed: int, options: argparse.Namespace) -> Run:
    """One search, with a word on its progress every ten seconds."""
    problem = PROBLEMS[name]
    search = search_for(problem, method, seed, options.max_expressions, options.hint)
    label, said = f"{name}, {method}, seed {seed}", time.monotonic()

    def progress(now: Iteration) -> None:
        nonlocal said
        if now.best is not None and time.monotonic() - said > 10:
            said = time.monotonic()
            say(f"{label}: {now.expressions:,} circuits, the best {now.best.reward:.2%} right")

    result = search.run(progress)
    if result.stopped is Stopped.INTERRUPTED or result.best is None:
        raise KeyboardInterrupt
    program, share = result.best.program, result.best.reward
    if share == 1 and not is_right(program, problem):
        raise AssertionError(f"the score and the proof disagree about {program}")
    gates = sum(name in GATES for name in program.names)
    end = "solved" if share == 1 else f"{share:.2%} right"
    say(f"{label}: {end} after {result.expressions:,} circuits, {result.seconds:.1f} s")
    known = (share == 1, result.expressions, round(result.seconds, 3), share, gates, str(program))
    return Run(name, method, seed, *known)


def say(text: str) -> None:
    """A line for the person at the terminal, apart from the output."""
    print(text, file=sys.stderr, flush=True)


def table(runs: Sequence[Run]) -> str:
    """A row for each problem and method."""
    lines = [f"{'problem':16}{'method':11}{'solved':>8}{'expressions':>13}{'gates':>7}{'seconds':>9}"]
    for key in dict.fromkeys((each.problem, each.method) for each in runs):
        group = [each for each in runs if (each.problem, each.method) == key]
        solved = [each for each in group if each.solved]
        median = f"{statistics.median_low(r.expressions for r in solved):,}" if solved else "-"
        least = min((each.gates for each in solved), default="-")
        seconds = sum(each.seconds for each in group)
        share = f"{len(solved)} of {len(group)}"
        lines.append(f"{key[0]:16}{key[1]:11}{share:>8}{median:>13}{least:>7}{seconds:>9.1f}")
    return "\n".join(lines)


def shortest(runs: Sequence[Run]) -> Iterator[str]:
    """The circuit with the fewest gates for each problem that was solved."""
    for name in dict.fromkeys(each.problem for each in runs):
        solved = [each for each in runs if each.problem == name and each.solved]
        if solved:
            best = min(solved, key=lambda each: (each.gates, len(each.circuit)))
            yield f"{name} in {best.gates} gates:\n  {best.circuit}"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, checked before any work."""
    parser = Parser("gates.py", description="Find circuits of gates.", allow_abbrev=False)
    add = parser.add_argument
    add("problem", nargs="?", choices=PROBLEMS, metavar="PROBLEM", help=", ".join(PROBLEMS))
    add("--all", action="store_true", help="every problem, by every method")
    add("--method", choices=[*METHODS, "all"], help="default: hybrid")
    add("--seeds", type=parse_seeds, default=[0], help="10, or 3,5,8-10; default: seed 0")
    add("--max-expressions", type=positive, metavar="N", help="circuits graded in a run")
    hint = "`if` asks address lines only; it gives half of a multiplexer away"
    add("--hint", action="store_true", help=hint)
    add("--json", type=Path, metavar="FILE", help="write every run to this file")
    options = parser.parse_args(arguments)
    if options.all == (options.problem is not None):
        parser.error("name a problem or say --all")
    options.problems = list(PROBLEMS) if options.all else [options.problem]
    if options.hint and not all(PROBLEMS[name].address for name in options.problems):
        parser.error("--hint is for multiplexers; name one")
    method = options.method or ("all" if options.all else "hybrid")
    options.methods = list(METHODS) if method == "all" else [method]
    try:
        check_writable(options.json)
        for each in options.methods:  # some budgets are too small for any search
            METHODS[each](max_expressions=options.max_expressions or 10**6)
    except InputError as error:
        parser.error(str(error))
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; Ctrl-C ends it with what is known so far."""
    options = parsed(arguments)
    runs: list[Run] = []
    code = 0
    try:
        for name, method, seed in product(options.problems, options.methods, options.seeds):
            runs.append(run(name, method, seed, options))
    except KeyboardInterrupt:
        say(f"stopped by Ctrl-C after {len(runs)} whole runs")
        code = 130
    print("\n".join([table(runs), *shortest(runs)]))
    if options.json is not None:
        made_by = {"commit": commit(), "hardware": hardware()}
        content = {**made_by, "runs": [asdict(each) for each in runs]}
        write_whole(options.json, json.dumps(content, indent=1) + "\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
