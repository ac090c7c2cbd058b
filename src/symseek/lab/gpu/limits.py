"""Which searches can run wholly on a device, and how large their programs can be there."""

from __future__ import annotations

from symseek.constraints import ConstraintSet
from symseek.engines.cuda.breeding import LONGEST
from symseek.evolution import RECENT, Evolution
from symseek.lab.gpu.learning import learning_rule, reward_number
from symseek.rewards import ErrorReward, Reward
from symseek.search import SearchConfig

_MOST_BATCH = 8192  # programs that a block can sort


def why_not(config: SearchConfig, reward: Reward, rules: ConstraintSet, rows: int) -> str | None:
    """Why searches on so many rows cannot run wholly on a device; None if they can."""
    if learning_rule(config.objective) is None:
        return f"the objective {type(config.objective).__name__} runs on the host"
    if not isinstance(reward, ErrorReward) or reward_number(reward) is None:
        return "the reward is a function of the caller's"
    if rules.library.constant_id is not None and config.constants and reward.curve(1.0) is None:
        return "the reward does not fall with the squared error, which constants are fitted to"
    if rules.custom:
        return "a constraint is a function of the caller's"
    if rules.tables.units is not None:
        return "units are kept to on the host"
    if config.stop_reward is not None or config.max_seconds is not None:
        return "a wanted reward or a clock ends searches on the host"
    if config.max_expressions is None:
        return "without a budget of expressions searches end on the host"
    if config.racing is not None and config.racing.sizes(rows):
        return f"with {rows} rows programs race, which they do on the host"
    if config.evolution is not None:
        return _why_not_evolve(config.evolution, config.batch_size, rules)
    if config.untrained_share:
        return "batches of an untrained policy without evolution run on the host"
    if config.max_expressions % config.batch_size:
        return "the budget is no multiple of the batch"
    return None


def _why_not_evolve(config: Evolution, batch: int, rules: ConstraintSet) -> str | None:
    if config.continues:
        return "one long evolution runs on the host"
    pairings = config.generations // config.pairing if config.pairing else 0
    if config.generations + pairings > RECENT:
        return f"evolutions of more than {RECENT} generations run on the host"
    if batch > _MOST_BATCH:
        return f"evolutions of more than {_MOST_BATCH} programs run on the host"
    if rules.max_length > LONGEST:
        return f"programs of more than {LONGEST} tokens are bred on the host"
    return None


def most_constants(rules: ConstraintSet) -> int:
    """How many constants a program can have."""
    constant, width = rules.library.constant_id, rules.max_length
    if constant is None:
        return 0
    caps, counted = [width], rules.tables.max_arity + 1  # the class of a counted terminal
    for rule in rules.tables.counts:
        if rule.member[constant] and not rule.reachable[:, :, rule.cap, counted].any():
            caps.append(rule.cap)
    return min(caps)
