"""Racing written plainly: one program after another, one row after another, in Python numbers.

The graders of the rungs are given, and asked for one program at a time; everything that decides who
continues is here again: opponents, paired differences, waves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symseek.data import Data
from symseek.front import Front
from symseek.programs import Program, Programs
from symseek.racing import Racing
from symseek.rewards import ErrorReward

Grade = Callable[[Program], tuple[Program, float, bool]]  # fitted, its reward, whether it is valid


@dataclass
class Runner:
    """A program on its way."""

    program: Program
    reward: float
    ok: bool
    final: bool = False

    def regrade(self, grade: Grade) -> None:
        self.program, self.reward, self.ok = grade(self.program)


def race(
    programs: Programs,
    front: Front,
    racing: Racing,
    rungs: list[tuple[Data, Grade]],
    full: Grade,
    reward: ErrorReward,
    spread: float,
) -> list[Runner]:
    """What becomes of each program."""

    def may_beat(number: int, runner: Runner, front: Front) -> bool:
        data, grade = rungs[number]
        below = [each for each in front if each.complexity <= runner.program.complexity]
        if not runner.ok or not below:
            return runner.ok
        opponent, its_reward, _ = grade(below[-1].program)
        if its_reward >= 1 - 1e-12:
            return False
        return better(runner, losses(opponent, data), data)

    def losses(program: Program, data: Data) -> list[float]:
        with np.errstate(all="ignore"):
            values = program.evaluate(data.X)
            return [float(each) for each in reward.row_losses(values, data)]

    def better(runner: Runner, its: list[float], data: Data) -> bool:
        rows = range(len(its))
        mine = losses(runner.program, data)
        total = sum(data.weights[row] for row in rows)
        share = [data.weights[row] / total for row in rows]
        far = 4 * sum(its[row] * share[row] for row in rows)
        if runner.reward <= float(reward(np.array([far]), np.array([far]), spread)[0]):
            return False
        gain = sum(share[row] * (its[row] - mine[row]) for row in rows)
        variance = sum(share[row] * (its[row] - mine[row] - gain) ** 2 for row in rows)
        error = math.sqrt(variance * sum(each**2 for each in share))
        return gain + racing.doubt * error > 0.002 * far / 4

    runners = []
    for program in programs:
        runners.append(Runner(*rungs[0][1](program)))
    ranked = sorted((each for each in runners if each.ok), key=lambda each: -each.reward)
    best = ranked[: math.ceil(racing.keep * len(runners))]
    waiting = [
        each for each in runners if any(each is one for one in best) or may_beat(0, each, front)
    ]
    if len(rungs) == 1:
        for each in waiting:
            each.regrade(full)
            each.final = True
        return runners
    for each in waiting:
        each.regrade(rungs[1][1])
    least = 1
    while waiting := [each for each in waiting if may_beat(1, each, front)]:
        climbing: list[Runner] = []
        while waiting and len(climbing) < least:
            climbing += undominated(waiting)
            waiting = [each for each in waiting if not any(each is one for one in climbing)]
        least *= 2
        for number in range(2, len(rungs)):
            for each in climbing:
                each.regrade(rungs[number][1])
            climbing = [each for each in climbing if may_beat(number, each, front)]
        for each in climbing:
            each.regrade(full)
            each.final = True
        valid = [each for each in climbing if each.ok]
        if valid:
            batch = Programs.from_list([each.program for each in valid])
            front = front.updated(batch, np.array([each.reward for each in valid]))
    return runners


def undominated(runners: list[Runner]) -> list[Runner]:
    """Those with a higher reward than all that come before them by complexity, then reward."""
    chosen: list[Runner] = []
    for each in sorted(runners, key=lambda each: (each.program.complexity, -each.reward)):
        if not chosen or each.reward > chosen[-1].reward:
            chosen.append(each)
    return chosen
