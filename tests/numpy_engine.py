"""A second engine, slow and plain: one program at a time, in NumPy and float64.

It reads the same rule tables as the native engine and fits into the same seam, by the name "numpy".
Its random numbers are its own, so that its samples are not those of the native engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from oracle import pairing
from oracle.evaluate import evaluate, evaluate_strictly
from symseek import ConstraintSet, FitConfig, FitStatus, InputError, Library, Program, Programs
from symseek.engines import interface
from symseek.engines.interface import Errors, Fitted, Pairs, Predictions, Sample, Score
from symseek.losses import ABSOLUTE, SQUARED, Loss
from symseek.policy import AdamState, PolicyWeights

Array = NDArray[Any]


def batch_of(library: Library, rows: Sequence[Program]) -> Programs:
    return Programs.from_list(list(rows), library)


@dataclass
class Walk:
    """An unfinished program: what the rule tables need to know of it."""

    rules: ConstraintSet

    def __post_init__(self) -> None:
        self.tokens: list[int] = []
        self.open_operators: list[list[int]] = []  # token, then the children so far
        tables, root = self.rules.tables, len(self.rules.library)
        self.open_slots = 1
        self.least, self.most = tables.slot_least[0, root, 0], tables.slot_most[0, root, 0]

    @property
    def position(self) -> tuple[int, list[int]]:
        """The parent (L: none) and the siblings to the left."""
        parent, *left = (
            self.open_operators[-1] if self.open_operators else [len(self.rules.library)]
        )
        return parent, left

    @property
    def in_force(self) -> Array:
        """[D] the rules on descendants that some ancestor puts in force."""
        in_force = np.zeros(len(self.rules.tables.in_force), dtype=bool)
        for at, (token, *children) in enumerate(reversed(self.open_operators)):
            in_force |= self.rules.tables.in_force[:, token, len(children) - (at > 0)]
        return in_force

    def size_set(self) -> int:
        if not self.rules.tables.exact_sets:
            return int(bool(self.open_operators))
        return int((self.in_force * 2 ** np.arange(len(self.in_force))).sum())

    def added(self) -> Array:
        """[L] what is added to the logits of the next token; -inf forbids."""
        tables, at = self.rules.tables, len(self.tokens)
        parent, left = self.position
        allowed = tables.child[parent, len(left)] & tables.at_length[at]
        allowed = allowed & tables.sibling[left].all(axis=0)
        allowed &= tables.descendant[self.in_force].all(axis=0)
        if self.open_operators and len(left) == tables.arity[parent] - 1:
            for alike in tables.not_all:
                if alike[left].all():
                    allowed &= ~alike
        for rule in tables.counts:
            counted = min(int(rule.member[self.tokens].sum()), rule.cap)
            number = tables.arity + (tables.max_arity + 1) * rule.member
            allowed &= rule.reachable[at, self.open_slots, counted, number]
        if tables.sized:
            which, place = self.size_set(), (parent, len(left))
            room = tables.max_length - at - 1 - (self.least - tables.slot_least[which][place])
            wanted = tables.min_length - at - 1 - (self.most - tables.slot_most[which][place])
            allowed &= (tables.needs[which] <= max(room, 0)) & (tables.holds[which] >= wanted)
        logits = np.where(allowed, tables.bias[at, int(self.open_slots == 1)], -np.inf)
        return logits + self._asked(parent, left) if self.rules.custom else logits

    def _asked(self, parent: int, left: list[int]) -> Array:
        none = len(self.rules.library)
        return self.rules.ask(
            np.array([self.tokens], dtype=np.int16).reshape(1, -1),
            np.array([-1 if parent == none else parent], dtype=np.int16),
            np.array([left[-1] if left else -1], dtype=np.int16),
            np.array([self.open_slots], dtype=np.int32),
        )[0]

    def append(self, token: int) -> None:
        tables, which, (parent, left) = self.rules.tables, self.size_set(), self.position
        self.least += tables.needs[which, token] - tables.slot_least[which, parent, len(left)]
        self.most += tables.holds[which, token] - tables.slot_most[which, parent, len(left)]
        self.tokens.append(token)
        self.open_slots += int(tables.arity[token]) - 1
        if self.open_operators:
            self.open_operators[-1].append(token)
        if tables.arity[token]:
            self.open_operators.append([token])
        while self.open_operators and (
            len(self.open_operators[-1]) - 1 == tables.arity[self.open_operators[-1][0]]
        ):
            self.open_operators.pop()


class Network:
    """The LSTM along one program, forwards and back."""

    def __init__(self, weights: PolicyWeights) -> None:
        names = ("parent", "sibling", "recurrent", "bias", "output", "output_bias")
        self.w = {name: getattr(weights, name).astype(np.float64) for name in names}
        self.state = self.cell = np.zeros(len(weights.recurrent))
        self.steps: list[Any] = []

    def probabilities(self, parent: int, sibling: int, added: Array) -> Array:
        w, before, cell = self.w, self.state, self.cell
        gates = w["parent"][parent] + w["sibling"][sibling] + w["bias"] + before @ w["recurrent"]
        into, forget, candidate, out = np.split(gates, 4)
        into, forget, out = (1 / (1 + np.exp(-each)) for each in (into, forget, out))
        candidate = np.tanh(candidate)
        self.cell = forget * cell + into * candidate
        self.state = out * np.tanh(self.cell)
        logits = self.state @ w["output"] + w["output_bias"] + added
        if np.isneginf(logits).all():
            return np.zeros(len(logits))
        mass = np.exp(logits - logits.max())
        p = mass / mass.sum()
        gates_out = into, forget, candidate, out
        self.steps.append((parent, sibling, before, cell, gates_out, self.cell, self.state, p))
        return p

    def back(self, tokens: Sequence[int], weight: float, entropies: Array) -> dict[str, Array]:
        """The gradient of weight * log p + sum_t entropies[t] * H_t."""
        w = self.w
        g = {name: np.zeros_like(each) for name, each in w.items()}
        d_state = d_cell = np.zeros(len(w["recurrent"]))
        for token, share, step in zip(tokens[::-1], entropies[::-1], self.steps[::-1], strict=True):
            parent, sibling, before, cell_before, (i, f, c, o), cell, state, p = step
            log_p = np.log(np.where(p > 0, p, 1.0))
            d_logits = weight * (np.arange(len(p)) == token) - weight * p
            d_logits -= share * p * (log_p - (p * log_p).sum())
            g["output"] += np.outer(state, d_logits)
            g["output_bias"] += d_logits
            d_state = d_state + w["output"] @ d_logits
            d_cell = d_cell + d_state * o * (1 - np.tanh(cell) ** 2)
            d_gates = np.concatenate(
                [
                    d_cell * c * i * (1 - i),
                    d_cell * cell_before * f * (1 - f),
                    d_cell * i * (1 - c**2),
                    d_state * np.tanh(cell) * o * (1 - o),
                ]
            )
            for name, row in (("parent", parent), ("sibling", sibling)):
                g[name][row] += d_gates
            g["bias"] += d_gates
            g["recurrent"] += np.outer(before, d_gates)
            d_state, d_cell = w["recurrent"] @ d_gates, d_cell * f
        return g


def entropy_of(p: Array) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


class NumpyPolicy:
    def __init__(self, rules: ConstraintSet, hidden: int) -> None:
        self.rules = rules
        self.hidden = hidden

    def _network(self, weights: Array) -> Network:
        return Network(PolicyWeights.over(weights, len(self.rules.library), self.hidden))

    def _next(self, network: Network, walk: Walk) -> Array:
        parent, left = walk.position
        none = len(self.rules.library)
        return network.probabilities(parent, left[-1] if left else none, walk.added())

    def sample(self, weights: Array, seed: int, iteration: int, batch: int) -> Sample:
        programs, entropies = [], []
        for number in range(batch):
            random = np.random.Generator(np.random.Philox(key=[seed, iteration * 2**32 + number]))
            walk, network, entropy = Walk(self.rules), self._network(weights), 0.0
            while walk.open_slots:
                p = self._next(network, walk)
                if not p.any():
                    why = self.rules.explain_dead_end(walk.tokens)
                    raise InputError(f"the constraints collide: {why}")
                entropy += entropy_of(p)
                walk.append(int(random.choice(len(p), p=p)))
            programs.append(Program(self.rules.library, tuple(walk.tokens)))
            entropies.append(entropy)
        sampled = batch_of(self.rules.library, programs)
        return Sample(sampled, np.array(entropies, dtype=np.float32))

    def score(self, weights: Array, programs: Programs) -> Score:
        nothing = np.zeros(len(programs))
        return replace(self._score(weights, programs, nothing, nothing, 1.0), gradient=None)

    def gradient(
        self, weights: Array, programs: Programs, w: Array, v: Array, entropy_decay: float = 1.0
    ) -> Score:
        score = self._score(weights, programs, w, v, entropy_decay)
        if np.isneginf(score.log_probability).any():
            raise InputError("the policy cannot learn from a program that its constraints rule out")
        return score

    def _score(self, weights: Array, programs: Programs, w: Array, v: Array, decay: float) -> Score:
        interface.check_library(self.rules.library, programs)
        log_p, entropy = np.zeros(len(programs)), np.zeros(len(programs))
        total = np.zeros(len(weights))
        for row, program in enumerate(programs):
            walk, network = Walk(self.rules), self._network(weights)
            for token in program.tokens:
                fits = walk.open_slots and len(walk.tokens) < self.rules.max_length
                p = self._next(network, walk) if fits else np.zeros(len(self.rules.library))
                if not p[token]:
                    log_p[row] = -np.inf
                    break
                log_p[row] += np.log(p[token])
                entropy[row] += entropy_of(p)
                walk.append(token)
            else:
                shares = v[row] * decay ** np.arange(len(program))
                gradient = network.back(program.tokens, float(w[row]), shares)
                total += np.concatenate([each.ravel() for each in gradient.values()])
        return Score(*(each.astype(np.float32) for each in (log_p, entropy, total)))

    def ascend(
        self, weights: Array, adam: AdamState, gradient: Array, learning_rate: float
    ) -> tuple[Array, AdamState]:
        mean = adam.beta1 * adam.mean + (1 - adam.beta1) * gradient
        variance = adam.beta2 * adam.variance + (1 - adam.beta2) * gradient**2
        after = replace(adam, mean=mean, variance=variance, steps=adam.steps + 1)
        step = after.step_size(learning_rate) * mean / (np.sqrt(variance) + adam.epsilon)
        return (weights + step).astype(np.float32), after


class NumpyEvaluator:
    def __init__(
        self,
        library: Library,
        X: Array,
        y: Array | None,
        weights: Array | None,
        underflow_invalid: bool,
        losses: Sequence[Loss],
    ) -> None:
        self.losses = losses
        self.library, self.X, self.y = library, X, y
        self.evaluate = evaluate_strictly if underflow_invalid else evaluate
        self.weights = np.ones(len(X)) if weights is None else weights

    def predict(self, programs: Programs) -> Predictions:
        interface.check_library(self.library, programs)
        found = [self.evaluate(program, self.X) for program in programs]
        values = np.array([value for value, _ in found]).reshape(-1, len(self.X))
        return Predictions(values, np.array([ok for _, ok in found], dtype=bool))

    def errors(self, programs: Programs) -> Errors:
        if self.y is None:
            raise InputError("a data set without a target has no errors")
        found = self.predict(programs)
        with np.errstate(all="ignore"):
            sums = [loss.values(self.y, found.values) @ self.weights for loss in self.losses]
        return Errors(np.array(sums), found.ok, len(set(programs)))

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        fitted, status = [], []
        for program in programs:

            def loss(constants: Array, program: Program = program) -> float:
                changed = replace(program, constants=tuple(constants))
                errors = self.errors(batch_of(self.library, [changed]))
                valid = errors.ok[0] and np.isfinite(errors.sums[0, 0])
                return -1 / (1 + (errors.sums[0, 0] / scale) ** power) if valid else 1.0

            start = np.array(program.constants)
            if len(start):
                found = minimize(
                    loss,
                    start,
                    method="Nelder-Mead",
                    options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 2000},
                )
                program = replace(program, constants=tuple(found.x))
            invalid = loss(np.array(program.constants)) > 0
            fitted.append(program)
            status.append(FitStatus.INVALID if invalid else FitStatus.CONVERGED)
        batch = batch_of(self.library, fitted)
        errors = self.errors(batch)
        valid = np.array(status) != FitStatus.INVALID
        return Fitted(batch, replace(errors, ok=errors.ok & valid), np.array(status, np.uint8))


class NumpyBreeder:
    def __init__(self, engine: NumpyEngine, rules: ConstraintSet) -> None:
        self.engine, self.rules = engine, rules
        self.seen: set[tuple[int, ...]] = set()

    def begin(self, programs: Programs) -> None:
        self.seen = {program.tokens for program in programs}

    def admit(self, programs: Programs) -> Array:
        ok = self.engine.obeys(self.rules, programs)
        for row, program in enumerate(programs):
            ok[row] &= program.tokens not in self.seen
            self.seen |= {program.tokens} if ok[row] else set()
        return ok

    def breed(
        self,
        parents: Programs,
        fitness: Array,
        seed: int,
        iteration: int,
        generation: int,
        options: Any,
        count: int,
    ) -> Programs:
        random = np.random.default_rng([seed, iteration, generation])
        made = []
        for _ in range(count if len(parents) else 0):
            one, other = (
                parents[
                    int(
                        max(
                            random.integers(len(parents), size=options.tournament),
                            key=fitness.__getitem__,
                        )
                    )
                ]
                for _ in range(2)
            )
            if random.uniform() < options.crossover:
                one = self._crossed(one, other, random)
            if random.uniform() < options.mutation:
                one = self._changed(one, random)
            made.append(one)
        children = batch_of(self.rules.library, made)
        return children[np.flatnonzero(self.admit(children))]

    def _crossed(self, one: Program, other: Program, random: np.random.Generator) -> Program:
        spans = [list(subtrees(each)) for each in (one, other)]
        (a, b), (c, d) = (each[random.integers(len(each))] for each in spans)
        return self._joined([(one, 0, a), (other, c, d), (one, b, len(one))])

    def _changed(self, program: Program, random: np.random.Generator) -> Program:
        """Another token of the same arity at one place."""
        at = int(random.integers(len(program)))
        arities = np.array(self.rules.library.arities)
        token = int(random.choice(np.flatnonzero(arities == arities[program.tokens[at]])))
        tokens = (*program.tokens[:at], token, *program.tokens[at + 1 :])
        return Program(self.rules.library, tokens)

    def _joined(self, parts: list[tuple[Program, int, int]]) -> Program:
        constant = self.rules.library.constant_id
        tokens: list[int] = []
        values: list[float] = []
        for program, begin, end in parts:
            before = program.tokens[:begin].count(constant) if constant is not None else 0
            inside = program.tokens[begin:end].count(constant) if constant is not None else 0
            tokens += program.tokens[begin:end]
            values += program.constants[before : before + inside]
        return Program(self.rules.library, tuple(tokens), tuple(values))


def subtrees(program: Program) -> Iterator[tuple[int, int]]:
    for begin in range(len(program)):
        end, open_slots = begin, 1
        while open_slots:
            open_slots += program.library.arities[program.tokens[end]] - 1
            end += 1
        yield begin, end


class NumpyEngine:
    """All of the above as an engine."""

    name = "numpy"

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def policy(self, rules: ConstraintSet, hidden: int) -> NumpyPolicy:
        return NumpyPolicy(rules, hidden)

    def evaluator(
        self,
        library: Library,
        X: Array,
        y: Array | None = None,
        weights: Array | None = None,
        cache: int | None = None,
        underflow_invalid: bool = False,
        losses: Sequence[Loss] = (SQUARED, ABSOLUTE),
    ) -> NumpyEvaluator:
        return NumpyEvaluator(library, X, y, weights, underflow_invalid, losses)

    def breeder(self, rules: ConstraintSet) -> NumpyBreeder:
        return NumpyBreeder(self, rules)

    def permits(self, rules: ConstraintSet, programs: Programs) -> Array:
        weights = PolicyWeights.zeros(len(rules.library), 1).flat
        return np.isfinite(NumpyPolicy(rules, 1).score(weights, programs).log_probability)

    def obeys(self, rules: ConstraintSet, programs: Programs) -> Array:
        """Without the custom constraints."""
        return self.permits(ConstraintSet(rules.library, rules.built_in), programs)

    def pair(self, *task: Any) -> Pairs:
        error, _ = pairing.errors(*task)
        best = error.min(axis=2, initial=np.inf)
        if not error.shape[2]:
            return Pairs(best, np.full(best.shape, -1))
        return Pairs(best, np.where(np.isfinite(best), error.argmin(axis=2), -1))

    def advance(self, turns: Sequence[interface.Turn]) -> list[Any]:
        return [turn.take() for turn in turns]


interface.register("numpy", NumpyEngine)
