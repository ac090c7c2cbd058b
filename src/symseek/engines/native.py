"""The native engine: samples, scores and evaluates batches in C++, on all the threads it is given.

Each engine has its own threads, and each object its own memory and cache, so searches in one
process do not touch each other. Results depend neither on the number of threads nor on the
machine's vector instructions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from symseek import _native
from symseek.arrays import Floats
from symseek.constants import FIT_METHODS, FitConfig, FitStatus
from symseek.constraints import ConstraintSet
from symseek.constraints.tables import RuleTables
from symseek.engines.interface import (
    PAIRS,
    Breeding,
    Errors,
    Fitted,
    Pairs,
    Predictions,
    Sample,
    Score,
    Turn,
    check_library,
    check_permitted,
    check_weights,
    filled_constants,
    unfitted_constants,
)
from symseek.engines.packing import instructions, operations, packed_rules
from symseek.errors import InputError, shown
from symseek.groups import by_group
from symseek.losses import ABSOLUTE, LOSSES, SQUARED, Loss
from symseek.policy import AdamState
from symseek.programs import Programs
from symseek.tokens import Library

__all__ = [
    "Derivatives",
    "NativeBreeder",
    "NativeEngine",
    "NativeEvaluator",
    "NativePolicy",
    "check_simd",
    "operations",
    "simd",
    "simd_variants",
]

Weights = NDArray[np.float32]

CACHE_ENTRIES = 1 << 17  # about 6 MB; a program seen again within a few hundred batches is known


def simd() -> str:
    """The instruction set in use: 'avx512', 'avx2' or 'baseline'."""
    return str(_native.simd())


def simd_variants() -> list[str]:
    """The instruction sets this machine can run, best first; SYMSEEK_SIMD picks one."""
    return list(_native.simd_variants())


def check_simd() -> None:
    """Refuse an instruction set in SYMSEEK_SIMD that this machine does not have."""
    wanted, known = os.environ.get("SYMSEEK_SIMD"), simd_variants()
    if wanted and wanted not in known:
        raise InputError(
            f"SYMSEEK_SIMD is {shown(wanted)}, but this machine runs only: {', '.join(known)};"
            " unset it, or name one of these"
        )


def _check_contract() -> None:
    """Refuse a core that counts losses, fit methods or pairs otherwise than this package."""
    core = _native.losses(), _native.fit_methods(), _native.fit_statuses(), _native.pair_kinds()
    here = (
        list(LOSSES),
        list(FIT_METHODS),
        [status.name.lower() for status in FitStatus],
        [(pair.operator, pair.swapped) for pair in PAIRS],
    )
    if core != here:
        raise ImportError(f"the native module is of another version: {core}, not {here}; reinstall")


_check_contract()


class NativeEngine:
    """The C++ core on a number of threads, which all that it makes share.

    >>> from symseek import ConstraintSet, Library, paper_constraints
    >>> from symseek.policy import PolicyWeights
    >>> rules = ConstraintSet(Library(["add", "sin"], variables=["x"]), paper_constraints())
    >>> policy = NativeEngine().policy(rules, hidden=8)
    >>> weights = PolicyWeights.start(tokens=3, hidden=8, seed=0)
    >>> len(policy.sample(weights.flat, seed=0, iteration=0, batch=5).programs)
    5
    """

    name = "native"

    def __init__(self, threads: int = 1) -> None:
        check_simd()
        self._pool = _pool(threads)
        self._known: WeakKeyDictionary[RuleTables, _native.Rules] = WeakKeyDictionary()

    def _rules(self, rules: ConstraintSet) -> _native.Rules:
        """The rule tables in the core, made once."""
        if rules.tables not in self._known:
            self._known[rules.tables] = _native.Rules(packed_rules(rules.tables))
        return self._known[rules.tables]

    def policy(self, rules: ConstraintSet, hidden: int) -> NativePolicy:
        """A network with `hidden` units."""
        return NativePolicy(rules, _native.Policy(self._rules(rules), hidden, self._pool))

    def permits(self, rules: ConstraintSet, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] are complete and obey all constraints, custom ones included."""
        check_library(rules.library, programs)
        ok = np.empty(len(programs), dtype=bool)
        self._rules(rules).permits(
            tokens=programs.tokens,
            lengths=programs.lengths,
            pool=self._pool,
            ok=ok,
            ask=rules.ask if rules.custom else None,
        )
        return ok

    def evaluator(
        self,
        library: Library,
        X: Floats,
        y: Floats | None = None,
        weights: Floats | None = None,
        cache: int | None = None,
        underflow_invalid: bool = False,
        losses: Sequence[Loss] = (SQUARED, ABSOLUTE),
        scale: Floats | None = None,
    ) -> NativeEvaluator:
        """A data set X [N, n], y [N]; `cache` results of recent programs are kept."""
        given = library, X, y, weights, self._pool, cache, underflow_invalid, losses, scale
        return NativeEvaluator(*given)

    def breeder(self, rules: ConstraintSet) -> NativeBreeder:
        """A maker of children."""
        constant = rules.library.constant_id
        core = _native.Breeder(self._rules(rules), -1 if constant is None else constant, self._pool)
        return NativeBreeder(rules, core)

    def pair(
        self,
        values: Floats,
        candidates: Floats,
        target: Floats,
        weights: Floats,
        allowed: NDArray[np.bool_],
    ) -> Pairs:
        """What each of some values [P, N] lacks to be the target [N], of candidates [Q, N]."""
        count, lanes = len(candidates), 8
        table = np.full((candidates.shape[1], -(-count // lanes) * lanes), np.nan)
        table[:, :count] = candidates.T
        penalty = np.full((len(values), table.shape[1]), np.inf)
        penalty[:, :count] = np.where(allowed, 0.0, np.inf)
        error = np.empty((len(values), len(PAIRS)))
        candidate = np.empty(error.shape, dtype=np.int64)
        with np.errstate(divide="ignore", over="ignore"):
            inverses = 1.0 / table
        _native.pair(
            values=np.ascontiguousarray(values),
            candidates=table,
            inverses=inverses,
            target=np.ascontiguousarray(target),
            weight=np.ascontiguousarray(weights),
            penalty=penalty,
            pool=self._pool,
            error=error,
            index=candidate,
        )
        return Pairs(error, candidate)

    def advance(self, turns: Sequence[Turn]) -> list[Any]:
        """One search after another: each already uses all threads."""
        return [turn.take() for turn in turns]


def _pool(threads: int) -> _native.Pool:
    """So many threads, or fewer where the system has no room for them, which changes no result."""
    while True:
        try:
            return _native.Pool(threads)
        except RuntimeError as error:
            if threads == 1:
                raise MemoryError(f"no thread can be started: {error}") from None
            threads //= 2


class NativePolicy:
    """The network on the native core."""

    def __init__(self, rules: ConstraintSet, core: _native.Policy) -> None:
        self.rules = rules
        self._core = core
        self._ask = rules.ask if rules.custom else None

    @property
    def restarts(self) -> int:
        """Programs begun anew so far: nothing with units that suit was left to go on with."""
        return self._core.restarts

    def sample(self, weights: Weights, seed: int, iteration: int, batch: int) -> Sample:
        """Draw programs; the same arguments give the same programs."""
        check_weights(weights)
        tokens = np.empty((batch, self.rules.max_length), dtype=np.int16)
        lengths = np.empty(batch, dtype=np.int32)
        entropy = np.empty(batch, dtype=np.float32)
        dead_end = self._core.sample(
            weights=weights,
            seed=seed,
            iteration=iteration,
            tokens=tokens,
            lengths=lengths,
            entropy=entropy,
            ask=self._ask,
        )
        if dead_end is not None:
            raise self.rules.dead_end(dead_end)
        library = self.rules.library
        constants = unfitted_constants(library, tokens)
        return Sample(Programs._trusted(library, tokens, lengths, constants), entropy)

    def score(self, weights: Weights, programs: Programs) -> Score:
        """Log-probability and entropy; -inf for a program that the constraints rule out."""
        nothing = np.zeros(len(programs), dtype=np.float32)
        return self._score(weights, programs, nothing, nothing, 1.0, None)

    def gradient(
        self,
        weights: Weights,
        programs: Programs,
        program_weights: NDArray[np.floating],
        entropy_weights: NDArray[np.floating],
        entropy_decay: float = 1.0,
    ) -> Score:
        """The gradient of sum_i w_i log p(tau_i) + v_i H(tau_i); weights w, v [B]."""
        score = self._score(
            weights,
            programs,
            np.ascontiguousarray(program_weights, dtype=np.float32),
            np.ascontiguousarray(entropy_weights, dtype=np.float32),
            entropy_decay,
            np.zeros_like(weights),
        )
        check_permitted(score, programs)
        return score

    def _score(
        self,
        weights: Weights,
        programs: Programs,
        program_weights: NDArray[np.float32],
        entropy_weights: NDArray[np.float32],
        entropy_decay: float,
        gradient: Weights | None,
    ) -> Score:
        check_library(self.rules.library, programs)
        log_probability = np.empty(len(programs), dtype=np.float32)
        entropy = np.empty(len(programs), dtype=np.float32)
        self._core.score(
            weights=weights,
            tokens=programs.tokens,
            lengths=programs.lengths,
            weight=program_weights,
            entropy_weight=entropy_weights,
            entropy_decay=entropy_decay,
            log_probability=log_probability,
            entropy=entropy,
            gradient=gradient,
            ask=self._ask,
        )
        return Score(log_probability, entropy, gradient)

    def ascend(
        self, weights: Weights, adam: AdamState, gradient: Weights, learning_rate: float
    ) -> tuple[Weights, AdamState]:
        """The weights and Adam's state after one step up the gradient."""
        weights = weights.copy()
        after = replace(
            adam, mean=adam.mean.copy(), variance=adam.variance.copy(), steps=adam.steps + 1
        )
        _native.adam(
            weights=weights,
            mean=after.mean,
            variance=after.variance,
            gradient=gradient,
            step=after.step_size(learning_rate),
            beta1=after.beta1,
            beta2=after.beta2,
            epsilon=after.epsilon,
        )
        return weights, after


class NativeEvaluator:
    """A data set on the native core: error sums or predictions of whole batches.

    >>> import numpy as np
    >>> from symseek import Library, Program, Programs
    >>> library = Library(["add", "mul"], variables=["x"])
    >>> X = np.array([[1.0], [2.0]])
    >>> batch = Programs.from_list([Program.parse("x*x + x", library)])
    >>> NativeEngine().evaluator(library, X, y=np.array([2.0, 7.0])).errors(batch).sums
    array([[1.],
           [1.]])
    """

    def __init__(
        self,
        library: Library,
        X: Floats,
        y: Floats | None,
        weights: Floats | None,
        pool: _native.Pool,
        cache: int | None,
        underflow_invalid: bool,
        losses: Sequence[Loss],
        scale: Floats | None = None,
    ) -> None:
        self.rows, self._losses = len(X), len(losses)
        self.library = library
        target = np.empty(0) if y is None else np.ascontiguousarray(y, dtype=np.float64)
        if weights is None:
            weights = np.ones(len(target))
        grouping, begins, own = library.grouping, list[int](), 0
        self._own: tuple[int, ...] | None = None  # [J, G] what a fit is asked for of each program
        self._places: NDArray[np.intp] | None = None  # [N] of the rows, group by group
        if grouping is not None:
            codes = X[:, library.columns.index(grouping.column)]
            order, real, begins = by_group(codes, len(grouping.labels), _native.DOUBLE_LANES)
            X, target = X[order], target[order] if len(target) else target
            weights = np.where(real, weights[order], 0.0) if len(target) else weights
            scale = None if scale is None else scale[order]
            self._places = np.empty(self.rows, dtype=np.intp)
            self._places[order[real]] = np.flatnonzero(real)
            own = len(grouping.own)
            self._own = (own, len(grouping.labels)) if cache == 0 else None
        self._core = _native.Evaluator(
            code=[instructions(token) for token in library],
            arity=library.arity.tolist(),
            columns=np.ascontiguousarray(np.asarray(X, dtype=np.float64).T),
            target=target,
            weight=np.ascontiguousarray(weights, dtype=np.float64),
            losses=[(each.name, each.p) for each in losses],
            pool=pool,
            cache=CACHE_ENTRIES if cache is None else cache,
            underflow_invalid=underflow_invalid,
            begins=begins,
            own=own,
            scale=None if scale is None else np.ascontiguousarray(scale, dtype=np.float64),
        )

    def _batch(self, programs: Programs) -> dict[str, NDArray[Any]]:
        check_library(self.library, programs)
        constants = filled_constants(self.library, programs)
        return {"tokens": programs.tokens, "lengths": programs.lengths, "constants": constants}

    def errors(self, programs: Programs) -> Errors:
        """Sums over the rows, by their weights, of each loss."""
        batch, count = self._batch(programs), len(programs)
        sums, ok = np.empty((self._losses, count)), np.empty(count, dtype=bool)
        with _as_input_errors():
            distinct = self._core.errors(**batch, sums=sums, ok=ok)
        return Errors(sums, ok, distinct)

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        """Fit the constants, starting from those the programs have, and give the errors after."""
        batch, count = self._batch(programs), len(programs)
        fitted = np.empty_like(batch["constants"])
        status = np.empty(count, dtype=np.uint8)
        sums, ok = np.empty((self._losses, count)), np.empty(count, dtype=bool)
        own = None
        if self._own is not None:  # where to begin, and where the fit ends
            own = np.full((count, *self._own), np.nan)
            if programs.own is not None:
                own[:] = programs.own
        none = np.empty((0, 0))
        bounds = config.bounds
        low, high = (none, none) if bounds is None else bounds.of(batch["constants"])
        with _as_input_errors():
            distinct = self._core.fit(
                **batch,
                method=config.method,
                restarts=config.restarts,
                max_steps=config.max_steps,
                rescue=config.rescue,
                scale=scale,
                power=power,
                low=low,
                high=high,
                bounds=0 if bounds is None else bounds.name,
                fitted=fitted,
                status=status,
                sums=sums,
                ok=ok,
                own=own,
            )
        best = Programs._trusted(self.library, programs.tokens, programs.lengths, fitted, own)
        return Fitted(best, Errors(sums, ok, distinct), status)

    def derivatives(self, programs: Programs) -> Derivatives:
        """The first loss at the present constants, and how it changes with them."""
        batch = self._batch(programs)
        count, width = batch["constants"].shape
        loss, gradient = np.empty(count), np.empty((count, width))
        normal, ok = np.empty((count, width, width)), np.empty(count, dtype=bool)
        with _as_input_errors():
            self._core.derivatives(**batch, loss=loss, gradient=gradient, normal=normal, ok=ok)
        return Derivatives(loss, gradient, normal, ok)

    def predict(self, programs: Programs) -> Predictions:
        """Values at every row, and whether every node was finite on every row."""
        batch = self._batch(programs)
        places = self._places
        values = np.empty((len(programs), self.rows if places is None else self._core.rows))
        ok = np.empty(len(programs), dtype=bool)
        with _as_input_errors():
            self._core.predict(**batch, predictions=values, ok=ok)
        return Predictions(values if places is None else values[:, places], ok)


@dataclass(frozen=True)
class Derivatives:
    """Sums over the rows, with slopes J = df/dc; meaningless if not ok.

    The pull p is half the derivative of the loss by f, downhill, and the bend b its weight: y - f
    and 1 for squared errors.
    """

    loss: Floats  # [B] sum of w loss(y, f)
    gradient: Floats  # [B, K] sum of w p J
    normal: Floats  # [B, K, K] sum of w b J J'
    ok: NDArray[np.bool_]  # [B]


class NativeBreeder:
    """Makes children of programs on the native core."""

    def __init__(self, rules: ConstraintSet, core: _native.Breeder) -> None:
        self.rules = rules
        self._core = core
        self._width = 0 if rules.library.constant_id is None else rules.max_length

    def begin(self, programs: Programs) -> None:
        """Forget the programs seen so far; remember these."""
        check_library(self.rules.library, programs)
        with _as_input_errors():
            self._core.begin(tokens=programs.tokens, lengths=programs.lengths)

    def admit(self, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] obey the built-in constraints and are seen for the first time."""
        check_library(self.rules.library, programs)
        ok = np.empty(len(programs), dtype=bool)
        with _as_input_errors():
            self._core.admit(tokens=programs.tokens, lengths=programs.lengths, ok=ok)
        return ok

    def breed(
        self,
        parents: Programs,
        fitness: Floats,
        seed: int,
        iteration: int,
        generation: int,
        options: Breeding,
        count: int,
    ) -> Programs:
        """At most `count` children, without those seen before or never made valid."""
        library = self.rules.library
        check_library(library, parents)
        if len(fitness) != len(parents):
            raise InputError(f"{len(parents)} parents came with {len(fitness)} values of fitness")
        tokens = np.empty((count, self.rules.max_length), dtype=np.int16)
        lengths = np.empty(count, dtype=np.int32)
        constants = np.empty((count, self._width))
        with _as_input_errors():
            made = self._core.breed(
                tokens=parents.tokens,
                lengths=parents.lengths,
                constants=filled_constants(library, parents),
                fitness=np.ascontiguousarray(fitness, dtype=np.float64),
                seed=seed,
                iteration=iteration,
                generation=generation,
                tournament=options.tournament,
                crossover=options.crossover,
                mutation=options.mutation,
                child_tokens=tokens,
                child_lengths=lengths,
                child_constants=constants,
            )
        most = unfitted_constants(library, tokens[:made]).shape[1]
        return Programs._trusted(
            library, tokens[:made], lengths[:made], np.ascontiguousarray(constants[:made, :most])
        )


@contextmanager
def _as_input_errors() -> Iterator[None]:
    """What the core refuses is bad input."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from None
