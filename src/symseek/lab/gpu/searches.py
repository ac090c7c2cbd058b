"""Many searches side by side, every step of them on the device.

The searches share library, constraints, number of rows and most settings. Each has its own seed,
weights and data, and its own numbers that steer what it learns (`learning.Own`). One that ends
leaves its slot to the next. Nothing is exchanged between slots, so what a search finds does not
depend on what runs beside it. The host sees a search when its best program is good enough to ask
about, or when its budget is spent.

An iteration is that of `symseek.search`. With evolution in it, `evolving` has the steps between the
batch and what is learnt.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symseek.constraints import ConstraintSet
from symseek.data import Data
from symseek.engines.cuda.arrays import Sizes, arrays
from symseek.engines.cuda.engine import CudaEngine
from symseek.engines.cuda.evaluator import Batch, CudaEvaluator, Sums
from symseek.engines.cuda.policy import CHUNK, WARPS
from symseek.engines.cuda.rules import device_rules
from symseek.errors import InputError
from symseek.front import Front
from symseek.lab.gpu.evolving import Evolving, Stage
from symseek.lab.gpu.learning import OWN, LearningKernels, Own, learning_rule, reward_number
from symseek.lab.gpu.limits import most_constants, why_not
from symseek.lab.gpu.proposed import Proposed
from symseek.programs import Programs
from symseek.rewards import ErrorReward, Reward
from symseek.search import SearchConfig
from symseek.start import first_weights
from symseek.tokens import Library

_NO_ASKING = 2.0  # more than any reward


@dataclass(frozen=True)
class Status:
    """How a search stands that no longer continues by itself."""

    slot: int
    asks: bool  # its best program is new and good enough to ask about
    iterations: int
    expressions: int  # graded
    ended: bool  # the budget is spent


class Searches:
    """Searches on one device."""

    def __init__(
        self,
        engine: CudaEngine,
        library: Library,
        rules: ConstraintSet,
        config: SearchConfig,
        reward: Reward,
        tables: Sequence[Data],  # data sets of equal size
        slots: int,
        reward_noise: float = 0.0,
        ask: float = _NO_ASKING,  # the reward from which on a new best program is asked about
        curve: bool = False,
        looks: Collection[int] = (),  # iterations whose rewards are kept
        proposed: Sequence[Proposed | None] | None = None,  # for each table, by its structure
    ) -> None:
        reason = why_not(config, reward, rules, len(tables[0].y))
        if reason is not None:
            raise InputError(f"these searches cannot run wholly on a GPU: {reason}")
        rule, number = learning_rule(config.objective), reward_number(reward)
        policy = engine.policy_kernels(rules, config.policy.hidden)
        assert rule is not None
        assert number is not None
        assert policy is not None
        assert config.max_expressions is not None
        self.engine, self.library, self.rules, self.config = engine, library, rules, config
        assert isinstance(reward, ErrorReward)
        self.reward, self.ask, self.slots = reward, ask, slots
        self._own = Own.of(config, reward_noise)
        self.device, self.policy, self.rule = engine.device, policy, rule
        self._number = number
        evolves = config.evolution is not None
        self.budget = config.max_expressions
        self.last = self.budget // config.batch_size + evolves  # iterations at most
        self.seconds = np.zeros(slots)  # of the device that each search has had
        self._free = list(range(slots))[::-1]
        self._busy: set[int] = set()
        self._going: set[int] = set()  # those that do not wait for an answer
        self._looks = frozenset(looks)
        self._kept: dict[int, list[tuple[int, NDArray[np.float64]]]] = {}  # by slot
        self._proposed = [None] * len(tables) if proposed is None else list(proposed)
        width, self._constants = rules.max_length, most_constants(rules)
        entries = [e.complexity for each in self._proposed if each for e in each.front]
        highest = max([int(library.complexity.max()) * width, *entries]) + 1
        self._learning = LearningKernels(self.device, rule, width, self._constants, highest)
        self._load(tables)
        self._evolving = self._made_evolving(tables, highest) if evolves else None
        self._offers = self._evolving.rows if self._evolving else config.batch_size
        self._allocate(slots, self._offers + rule.extra, width, highest, self.last if curve else 1)

    def _made_evolving(self, tables: Sequence[Data], complexities: int) -> Evolving:
        """The part of the iterations that breeds."""
        breeding, rules = self.engine.breeding_kernels(self.rules), device_rules(self.rules.tables)
        assert breeding is not None
        assert rules is not None
        given = (self.device, breeding, rules, self.library, self.config, tables, self._proposed)
        return Evolving(*given, self.slots, self._constants, complexities)

    def _load(self, tables: Sequence[Data]) -> None:
        """The data sets, and of each the sum of its weights and the spread of its target."""
        X, y, weights = (
            np.stack([getattr(each, name) for each in tables]) for name in ("X", "y", "weights")
        )
        strict = self.config.underflow_invalid
        self._evaluator = CudaEvaluator(self.library, self.device, X, y, weights, strict)
        totals = np.array([float(each.weights.sum()) for each in tables])
        spreads = np.array([each.spread for each in tables])
        self._total, self._spread = (self.device.xp.asarray(each) for each in (totals, spreads))
        curves = [self.reward.curve(each) for each in spreads.tolist()]
        known = [curve for curve in curves if curve is not None]
        if len(known) == len(totals):
            scales = totals * np.array([curve.scale for curve in known])
            self._scale, self._power = self.device.xp.asarray(scales), known[0].power

    @classmethod
    def fitting(
        cls,
        engine: CudaEngine,
        library: Library,
        rules: ConstraintSet,
        config: SearchConfig,
        reward: Reward,
        tables: Sequence[Data],
        slots: int,
        share: float = 0.6,
        **more: Any,
    ) -> Searches:
        """As many of `slots` searches as a share of the device's free memory has room for."""
        while True:
            try:
                needed = cls.bytes_for(library, rules, config)
                slots = max(1, min(slots, int(share * engine.device.free_memory() / needed)))
                return cls(engine, library, rules, config, reward, tables, slots, **more)
            except MemoryError:
                if slots == 1:
                    raise InputError(
                        "the GPU has too little free memory for one search; close other programs"
                        " that use it, lower batch_size, or use the engine 'native'"
                    ) from None
                slots //= 2

    @staticmethod
    def bytes_for(library: Library, rules: ConstraintSet, config: SearchConfig) -> int:
        """Roughly the memory that one search takes."""
        tokens, hidden, batch = len(library), config.policy.hidden, config.batch_size
        weights = 4 * hidden * (2 * (tokens + 1) + hidden + 1) + (hidden + 1) * tokens
        needed = 4 * weights * (4 + WARPS * -(-batch // CHUNK))
        needed += batch * (2 * rules.max_length + 100)
        if config.evolution is None:
            return needed
        most = most_constants(rules)
        return needed + 8 * weights + Evolving.bytes_for(config, rules.max_length, most)

    def standing(self, slot: int) -> Status:
        """How a search stands."""
        return self._standings([slot])[0]

    def _standings(self, slots: Sequence[int]) -> list[Status]:
        get, batch = self.device.get, self.config.batch_size
        asks, iterations = (get(self._on[name]) for name in ("asks", "iterations"))
        spent = iterations * batch
        if self._evolving is not None:
            spent = get(self._evolving.number["expressions"])
        return [
            Status(
                slot,
                bool(asks[slot]),
                int(iterations[slot]),
                int(spent[slot]),
                self.budget - int(spent[slot]) < 2,
            )
            for slot in slots
        ]

    def _allocate(self, runs: int, rows: int, width: int, costs: int, looks: int) -> None:
        xp = self.device.xp
        sizes = Sizes(
            runs,
            rows,
            width,
            self._constants,
            costs,
            looks,
            self.policy.weights,
            self.policy.warps,
            self.rule.room,
            OWN,
        )
        self._on = arrays(self.device, sizes, self._evolving is not None)
        self._complexity = xp.asarray(self.library.complexity.astype(np.int32))
        on, flat = self._on, (runs * rows,)
        on["constants"][...] = 1.0
        self._batch = Batch(
            on["tokens"].reshape(*flat, width),
            on["lengths"].reshape(flat),
            on["constants"].reshape(*flat, self._constants),
            rows,
            on["dataset"],
            self._evolving.evolving if self._evolving else on["active"],
        )
        self._stage = Stage(
            on["tokens"],
            on["lengths"],
            on["constants"],
            on["rewards"],
            on["ok"],
            on["dataset"],
            {name: on[f"front_{name}"] for name in ("reward", "found", "source")},
            on["asks"],
        )
        self._sums = Sums(on["losses"].reshape(2, *flat), on["ok"].reshape(flat))

    @property
    def room(self) -> int:
        """How many more searches may start."""
        return len(self._free)

    @property
    def busy(self) -> int:
        """How many searches there are."""
        return len(self._busy)

    def start(self, seed: int, table: int, own: Own | None = None) -> int:
        """Begin a search on one of the tables; returns its slot.

        `own` replaces what the settings and the noise of all say.
        """
        own = own or self._own
        assert own.queue <= self.rule.room
        assert (own.learning_rate > 0) == (self._own.learning_rate > 0)
        slot, on = self._free.pop(), self._on
        self._busy.add(slot)
        self._going.add(slot)
        on["weights"][slot] = self._first_weights(seed)
        if self._evolving is not None:
            on["untrained"][slot] = self._first_weights(seed ^ (1 << 63))
            self._evolving.ledger[:, slot] = 0
        for name in ("mean", "variance", "iterations", "asks", "baseline", "queue_size", "stats"):
            on[name][slot] = 0
        on["front_reward"][slot] = -1.0
        on["own"][slot] = self.device.xp.asarray(own.row)
        on["seeds"][slot] = np.uint64(seed)
        on["last"][slot] = self.last
        on["dataset"][slot] = table
        on["active"][slot] = 1
        self.seconds[slot] = 0.0
        self._kept[slot] = []
        return slot

    def _first_weights(self, seed: int) -> Any:
        first = first_weights(self.config.policy, self.library, seed)
        return self.device.xp.asarray(first.flat)

    def go_on(self, slot: int) -> None:
        """Let a search continue that has asked."""
        self._on["asks"][slot] = 0
        self._on["active"][slot] = 1
        self._going.add(slot)

    def end(self, slot: int) -> None:
        """Leave the slot to another search."""
        self._on["active"][slot] = 0
        self._busy.discard(slot)
        self._going.discard(slot)
        self._free.append(slot)

    def advance(self, iterations: int) -> list[Status]:
        """Take so many steps of every search; those that then stand still."""
        begin, going = time.perf_counter(), sorted(self._going)
        for _ in range(iterations):
            self._step()
            if self._looks:
                self._keep_rewards(going)
        active = self.device.get(self._on["active"])
        if going:
            self.seconds[going] += (time.perf_counter() - begin) / len(going)
        self._going = {slot for slot in going if active[slot]}
        return self._standings([slot for slot in sorted(self._busy) if not active[slot]])

    def _step(self) -> None:
        """One iteration of Algorithm 1 of every active search."""
        on, learning = self._on, self._learning
        numbers = self._write() if self._evolving is None else self._evolve(self._evolving)
        learning.choose(
            (on["rewards"], on["active"], on["seeds"], on["iterations"]),
            self._offers,
            on["own"],
            on["entropy"],
            on["tokens"],
            (on["baseline"], *(on[f"queue_{name}"] for name in ("reward", "tokens", "size"))),
            (on["chosen"], on["weight"], on["share"], on["counts"]),
            on["stats"],
            numbers,
            on["front_reward"],
        )
        learning.plan(on["counts"], on["iterations"], on["own"], on["first_item"], on["step"])
        if self._own.learning_rate > 0:
            self._learn()
        if self._evolving is None:
            learning.count(on["active"], on["asks"], on["iterations"], on["last"])
        else:
            self._evolving.close(on["active"], on["asks"], on["iterations"])

    def _keep_rewards(self, slots: Sequence[int]) -> None:
        """Keep the rewards of the batches that are to be kept."""
        iterations = self.device.get(self._on["iterations"])
        for slot in slots:
            now, kept = int(iterations[slot]), self._kept[slot]
            if now in self._looks and not (kept and kept[-1][0] == now):
                rewards = self.device.get(self._on["rewards"][slot])
                kept.append((now, rewards[: self.config.batch_size].astype(np.float64)))

    def _write(self) -> tuple[None, ...]:
        """The batch of every search, graded."""
        on = self._on
        self._sample(on["weights"], on["seeds"])
        self._grade(on["active"], (on["iterations"], 1), None)
        return (None,) * 4

    def _evolve(self, evolving: Evolving) -> tuple[Any, ...]:
        """The batch of every search and its best children, graded: see `LearningKernels.choose`."""
        on, stage, number = self._on, self._stage, evolving.number
        _, seeds = evolving.begin(stage, on["active"], on["iterations"], on["seeds"])
        evolving.draw_from(on["active"], on["weights"], on["untrained"], on["now"])
        self._sample(on["now"], seeds)
        evolving.trim(stage)

        def grade() -> None:
            self._grade(evolving.evolving, (number["expressions"], 0), number["staged"])

        grade()
        evolving.evolve(stage, on["iterations"], on["seeds"], self.ask, grade)
        evolving.restore(stage, on["active"])
        return tuple(number[name] for name in ("offered", "size", "sampled", "expressions"))

    def _sample(self, weights: Any, seeds: Any) -> None:
        """What the policies write, every constant 1."""
        on = self._on
        keyed = weights, seeds, on["iterations"], on["active"]
        drawn = on["tokens"], on["lengths"], on["entropy"]
        self.policy.sample(*keyed, self.config.batch_size, *drawn)
        on["constants"][...] = 1.0

    def _grade(self, active: Any, clock: tuple[Any, int], counts: Any | None) -> None:
        """Rewards for all programs, constants fitted; the fronts keep the best."""
        on, learning, offers = self._on, self._learning, self._offers
        self._evaluate()
        errors = on["losses"], on["ok"], active, on["dataset"]
        learning.grade((*errors, self._total, self._spread), self._number, offers, on["rewards"])
        written = on["tokens"], on["lengths"], on["constants"], on["ok"], on["rewards"], active
        front = [on[f"front_{e}"] for e in ("reward", "tokens", "constants", "found", "source")]
        kept = (*front, on["asks"])
        learning.keep(written, clock, self._complexity, counts, offers, self.ask, kept)

    def _evaluate(self) -> None:
        """The errors of all programs, their constants fitted from what they are."""
        fit = self.config.constants
        if fit is None or not self._constants:
            self._evaluator.launch_errors(self._batch, self._sums)
            return
        status = self._on["status"].reshape(-1)
        self._evaluator.launch_fit(self._batch, fit, self._scale, self._power, status, self._sums)

    def _learn(self) -> None:
        on = self._on
        what = (on["weights"], on["tokens"], on["first_item"], on["counts"], on["chosen"])
        how = (on["weight"], on["share"], self.config.entropy_decay)
        self.policy.score(*what, *how, partial=on["partial"])
        self.policy.add_parts(on["partial"], on["first_item"], on["gradient"])
        moved = ("weights", "mean", "variance", "gradient", "first_item", "step")
        self.policy.ascend(*(on[name] for name in moved))

    def front(self, slot: int) -> Front:
        """The best programs of a search so far."""
        names = ("reward", "tokens", "constants", "found", "source")
        parts = [self.device.get(self._on[f"front_{name}"][slot]) for name in names]
        reward, tokens, constants, found, source = parts
        proposed = self._proposed[int(self.device.get(self._on["dataset"][slot : slot + 1])[0])]
        front, each = Front(), self.config.batch_size if self._evolving is None else 1
        for cost in np.flatnonzero(reward >= 0):
            if proposed is not None and source[cost] >= 0:
                program = Programs.from_list([proposed.front[int(source[cost])].program])
            else:
                program = self._program(tokens[cost : cost + 1], constants[cost : cost + 1])
            front = front.updated(program, reward[cost : cost + 1], int(found[cost]) * each)
        return front

    def _program(self, tokens: NDArray[np.int16], constants: NDArray[np.float64]) -> Programs:
        length = np.array([np.count_nonzero(tokens >= 0)], dtype=np.int32)
        count = int(np.count_nonzero(tokens == self.library.constant_id)) if constants.size else 0
        return Programs(self.library, tokens, length, constants[:, :count])

    def weights(self, slot: int) -> NDArray[np.float32]:
        """[P] the policy of a search as it is now."""
        found: NDArray[np.float32] = self.device.get(self._on["weights"][slot])
        return found

    def kept(self, slot: int) -> list[tuple[int, NDArray[np.float64]]]:
        """The iterations whose rewards are kept, with those of the batch [B]."""
        return self._kept[slot]

    def stats(self, slot: int) -> NDArray[np.float32]:
        """[iterations, 6]: mean reward, that of the best share, best reward, entropy of each batch.

        Then the expressions, and the best reward, so far.
        """
        found: NDArray[np.float32] = self.device.get(self._on["stats"][slot])
        return found
