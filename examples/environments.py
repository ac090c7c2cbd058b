"""Three of Gymnasium's environments in NumPy: many expressions, each in many episodes, at once.

The arithmetic is Gymnasium's, roundings included, and tests/test_control.py holds it to that. Here
it is done on arrays: S numbers of a state, B expressions, E episodes of each. One core plays 40 to
180 times as many episodes of sampled expressions as it does with Gymnasium.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek import Programs

try:
    import gymnasium
except ImportError:
    raise SystemExit("gymnasium is missing: pip install 'symseek[control]'") from None

Floats = NDArray[np.float64]
Step = tuple[Any, Any, Any]  # the next states [S, B, E], rewards [B, E], whether episodes end


# --- the environments


def cart_pole(state: Any, value: Floats) -> Step:
    """Push the cart to the right if the value is positive, else to the left."""
    x, speed, angle, spin = state
    cos, sin = np.cos(angle), np.sin(angle)
    push = (np.where(value > 0, 10.0, -10.0) + 0.05 * spin**2 * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    pull = push - 0.05 * turn * cos / 1.1
    after = np.stack([x, speed, angle, spin]) + 0.02 * np.stack([speed, pull, spin, turn])
    ended = (np.abs(after[0]) > 2.4) | (np.abs(after[2]) > math.radians(12))
    return after, np.ones_like(x), ended


def mountain_car(state: Any, value: Floats) -> Step:
    """The value, from -1 to 1, is the force of the engine. Gymnasium computes this in float32."""
    x, speed = state
    force = np.clip(value, -1, 1).astype(np.float32)
    slope = (0.0025 * np.cos((3 * x).astype(float))).astype(np.float32)
    speed = np.clip(speed + (force * np.float32(0.0015) - slope), -0.07, 0.07)
    x = np.clip(x + speed, -1.2, 0.6)
    speed = np.where((x <= -1.2) & (speed < 0), 0, speed)
    ended = x >= 0.45
    return np.stack([x, speed]).astype(np.float32), 100 * ended - 0.1 * force * force, ended


def pendulum(state: Any, value: Floats) -> Step:
    """The value, from -2 to 2, is the torque."""
    angle, spin = state
    torque = np.clip(value, -2, 2).astype(np.float32)
    tilt = (angle + np.pi) % (2 * np.pi) - np.pi
    cost = tilt**2 + 0.1 * spin**2 + 0.001 * torque**2
    spin = np.clip(spin + (15 * np.sin(angle) + 3 * torque) * 0.05, -8, 8)
    return np.stack([angle + spin * 0.05, spin]), -cost, np.zeros(angle.shape, dtype=bool)


@dataclass(frozen=True)
class Task:
    """An environment, and what its returns are worth."""

    name: str
    variables: tuple[str, ...]  # what is observed, in Gymnasium's order
    step: Callable[[Any, Floats], Step]
    steps: int  # of an episode, at most
    episodes: int  # for an expression that promises something: more where their returns vary more
    limit: float | None  # of an action to either side; None: there are two, for signs of the value
    worst: float  # the return that scores 0
    best: float  # the return that scores 1
    promising: float  # the least score in a FEW episodes that is worth more of them
    published: str  # a policy of Landajuela et al. (2021), judged beside the one found
    observe: Callable[[Any], Sequence[Any]] = tuple  # from a state to the variables

    def made(self) -> Any:
        """The environment itself."""
        return gymnasium.make(self.name)

    def score(self, mean_returns: Floats) -> Floats:
        return (mean_returns - self.worst) / (self.best - self.worst)

    def action(self, value: float) -> Any:
        """What Gymnasium is given; a value that is undefined counts as 0."""
        value = 0.0 if math.isnan(value) else value
        if self.limit is None:
            return int(value > 0)
        return np.array([np.clip(value, -self.limit, self.limit)], dtype=np.float32)

    def starts(self, seeds: Iterable[int]) -> Any:
        """The states [S, E] in which Gymnasium begins episodes with these seeds."""
        env, states = self.made(), []
        for seed in seeds:
            env.reset(seed=seed)
            states.append(env.unwrapped.state)
        return np.array(states).T


TASKS = {
    task.name: task
    for task in (
        Task(
            name="CartPole-v1",
            variables=("x", "speed", "angle", "spin"),
            step=cart_pole,
            steps=500,
            episodes=32,
            limit=None,
            worst=0,
            best=500,
            promising=0.5,
            published="10*angle + spin",
        ),
        Task(
            name="MountainCarContinuous-v0",
            variables=("x", "speed"),
            step=mountain_car,
            steps=999,
            episodes=16,
            limit=1,
            worst=-100,
            best=100,
            promising=0.9,
            published="log(cos(1))/log(speed)",
        ),
        Task(
            name="Pendulum-v1",
            variables=("cos_a", "sin_a", "spin"),
            step=pendulum,
            steps=200,
            episodes=64,
            limit=2,
            worst=-1500,
            best=0,
            promising=0.75,
            published="(-8*sin_a - 2*spin)/cos_a - 2*sin_a",
            observe=lambda state: (np.cos(state[0]), np.sin(state[0]), state[1]),
        ),
    )
}


# --- trying expressions


class Forest:
    """Many expressions evaluated at once, each on observations of its own.

    The nodes of all trees are rows of one array, ordered by height and token: a call of NumPy
    works out all the equal operators of one height.
    """

    def __init__(self, programs: Programs, episodes: int) -> None:
        nodes: list[tuple[tuple[int, int], Any, list[int]]] = []  # height, token; row, arguments

        def add(token: int, constant: float | None, arguments: list[int]) -> int:
            height = 1 + max((nodes[each][0][0] for each in arguments), default=-1)
            nodes.append(((height, token), row if constant is None else constant, arguments))
            return len(nodes) - 1

        roots = []
        for row, program in enumerate(programs):  # noqa: B007, `add` uses the row
            roots.append(program.fold(add))
        order = sorted(range(len(nodes)), key=lambda node: nodes[node][0])
        place = np.empty(len(nodes), dtype=np.intp)
        place[order] = np.arange(len(nodes))
        self.values = np.empty((len(nodes), episodes))
        self.roots = place[roots]
        self.inputs, self.calls = [], []
        for (_, token), group in groupby(order, key=lambda node: nodes[node][0]):
            members = list(group)
            this = programs.library.tokens[token]
            out = self.values[place[members[0]] :][: len(members)]
            if this.arity:
                self.calls.append((out, this.numpy, place[[nodes[each][2] for each in members]].T))
            elif this.index is not None:
                self.inputs.append((out, this.index, [nodes[each][1] for each in members]))
            elif this.value is not None:
                out[:] = this.value
            else:
                out[:] = np.array([[nodes[each][1]] for each in members])

    def __call__(self, observed: Sequence[Floats]) -> Floats:
        """The values [B, E] for observations [B, E] of each variable."""
        for out, index, rows in self.inputs:
            out[:] = observed[index].take(rows, axis=0)
        for out, function, arguments in self.calls:
            out[:] = function(*(self.values.take(each, axis=0) for each in arguments))
        return self.values.take(self.roots, axis=0)


def returns(task: Task, programs: Programs, starts: Any) -> Floats:
    """The return [B, E] of each expression in each episode."""
    total = np.zeros((len(programs), starts.shape[1]))
    rows = np.arange(len(programs))  # of the expressions with episodes that continue
    state = np.repeat(starts[:, None], len(rows), axis=1)
    going = np.ones(total.shape, dtype=bool)
    forest = Forest(programs, total.shape[1])
    with np.errstate(all="ignore"):
        for _ in range(task.steps):
            observed = [np.asarray(each, np.float32).astype(float) for each in task.observe(state)]
            value = forest(observed)
            value[np.isnan(value)] = 0.0
            state, reward, ended = task.step(state, value)
            total[rows] += np.where(going, reward, 0)
            going &= ~ended
            left = going.any(axis=1)
            if 2 * np.count_nonzero(left) <= len(rows):
                rows, state, going = rows[left], state[:, left], going[left]
                if not len(rows):
                    break
                forest = Forest(programs[rows], total.shape[1])
    return total
