"""Which runs can advance together on a device.

They are alike in all but data, seed, and the numbers that steer what a run learns, so that a grid
of these numbers is one group of runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from symseek.constraints import ConstraintSet, paper_constraints
from symseek.data import Data
from symseek.jobs.spec import Spec, canonical
from symseek.lab import problems
from symseek.lab.gpu.learning import Own, learning_rule
from symseek.lab.gpu.limits import why_not
from symseek.lab.trials.execute import proposals_for, training_data
from symseek.lab.trials.judge import Judge, StopAtRecovery
from symseek.lab.trials.plan import Plan, search_config
from symseek.rewards import reward_named

_METHODS = ("dsr", "pqt", "pqt-whole", "vpg", "hybrid")
_NEVER = 2.0  # more than any reward
# Settings that runs may each have of their own: see `learning.Own`.
_OWN = (
    *("learning_rate", "entropy_weight", "reward_noise"),
    *("epsilon", "beta", "size", "weight"),
)


@dataclass(frozen=True)
class RunShape:
    """Runs that can advance together: alike in all but problem data, seed and `learning.Own`."""

    library: str
    shape: tuple[int, int]  # rows and columns
    method: str
    settings: str
    asks: float
    learns: bool  # at any rate
    queue: int  # programs that its queue has room for


def shape_of(spec: Spec) -> RunShape | None:
    """With which runs this one can advance; None if with none."""
    return _shape(spec.method, spec.problem, canonical(dict(spec.settings)))


@lru_cache(maxsize=1024)
def _shape(method: str, problem_name: str, settings_text: str) -> RunShape | None:
    spec = Spec(method, problem_name, 0, json.loads(settings_text))
    plan = Plan.of(spec)
    if spec.method not in _METHODS:
        return None
    problem, config = problems.load(spec.problem), search_config(spec.method, plan)
    if plan.distribution and config.evolution is not None:
        return None  # its batches are not what it learns from
    library = plan.library(problem)
    given = plan.constraints() or paper_constraints(constants=config.max_constants)
    data, reward = data_of(*table_of(spec)), reward_named(plan.reward)
    if why_not(config, reward, ConstraintSet(library, given), len(data.y)) is not None:
        return None
    options = {"reward": plan.reward, "threads": plan.threads}
    proposals = proposals_for(spec.method, library, data, config, options)
    if proposals is not None and proposals.searches:
        return None  # there is another search in every iteration
    asks = _NEVER
    if plan.early_stop:
        asks = 1 - StopAtRecovery(Judge(problem)).allowed
    settings = {name: value for name, value in spec.settings.items() if name not in _OWN}
    alike = canonical({**settings, "noise": 0.0})
    rule = learning_rule(config.objective)
    assert rule is not None
    learns = config.learning_rate > 0
    return RunShape(repr(library), data.X.shape, spec.method, alike, asks, learns, rule.room)


def own_of(spec: Spec) -> Own:
    """What a run has of its own beside data and seed."""
    plan = Plan.of(spec)
    return Own.of(search_config(spec.method, plan), plan.reward_noise)


def table_of(spec: Spec) -> tuple[str, int, float]:
    """What the rows of a run depend on: problem, how many more points, noise."""
    plan = Plan.of(spec)
    return spec.problem, plan.data_factor, plan.noise


@lru_cache(maxsize=256)
def data_of(problem: str, factor: int, noise: float) -> Data:
    """The rows of such a table."""
    found = problems.load(problem)
    rows = training_data(found, Plan(1, data_factor=factor, noise=noise, early_stop=False))
    return Data.checked(rows.X_train, rows.y_train, found.variables)
