"""What an engine is asked for, and what it answers.

An engine does the arithmetic of a search: it samples programs and differentiates the policy, fits
and evaluates programs on data, and makes children of them. Everything above calls it through the
protocols below and knows no engine by name. All state is passed in: weights, seeds and programs go
with each call, so one engine serves many searches, and `Engine.advance` may take a step of all of
them at once.

To add an engine, write a class with the methods of `Engine` and `register` it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import refused, whole
from symseek.arrays import Floats
from symseek.errors import InputError, unknown_name
from symseek.losses import ABSOLUTE, SQUARED, Loss
from symseek.programs import Programs
from symseek.tokens import Library

if TYPE_CHECKING:
    from symseek.constants import FitConfig
    from symseek.constraints import ConstraintSet
    from symseek.policy import AdamState

Weights = NDArray[np.float32]

# What an engine answers.


@dataclass(frozen=True)
class Sample:
    """A batch of programs and the entropy of the policy along each."""

    programs: Programs
    entropy: NDArray[np.float32]  # [B]


@dataclass(frozen=True)
class Score:
    """How likely given programs are under the policy."""

    log_probability: NDArray[np.float32]  # [B]
    entropy: NDArray[np.float32]  # [B]
    gradient: Weights | None = None  # [P] flat, as in PolicyWeights


@dataclass(frozen=True)
class Errors:
    """Sums over the rows, by each loss, for a batch; meaningless where not ok."""

    sums: Floats  # [losses, B] sum of w loss(y, f)
    ok: NDArray[np.bool_]  # [B] every node is finite on every row
    distinct: int  # different programs in the batch


@dataclass(frozen=True)
class Fitted:
    """Programs with fitted constants, their errors, and how each fit ended."""

    programs: Programs
    errors: Errors
    status: NDArray[np.uint8]  # [B] FitStatus codes


@dataclass(frozen=True)
class Predictions:
    """Values of a batch of programs."""

    values: Floats  # [B, N]
    ok: NDArray[np.bool_]  # [B] every node is finite on every row


@dataclass(frozen=True)
class Pair:
    """One way to join two programs."""

    operator: str
    swapped: bool  # the second program is the first operand


PAIRS = (
    Pair("add", False),
    Pair("sub", False),
    Pair("sub", True),
    Pair("mul", False),
    Pair("div", False),
    Pair("div", True),
)
"""The ways that `Engine.pair` tries."""


@dataclass(frozen=True)
class Pairs:
    """For each of P programs and each way of `PAIRS`, the candidate that completes it best."""

    error: Floats  # [P, 6] squared error of the pair; infinity where none is allowed
    candidate: NDArray[np.int64]  # [P, 6] its row; -1 where none is allowed


# What an engine is asked for.


class Policy(Protocol):
    """The network under the rules of one library; its weights [P] come with every call."""

    def sample(self, weights: Weights, seed: int, iteration: int, batch: int) -> Sample:
        """Draw programs; the same arguments give the same programs."""

    def score(self, weights: Weights, programs: Programs) -> Score:
        """Log-probability and entropy; -inf for a program that the constraints rule out."""

    def gradient(
        self,
        weights: Weights,
        programs: Programs,
        program_weights: NDArray[np.floating],
        entropy_weights: NDArray[np.floating],
        entropy_decay: float = 1.0,
    ) -> Score:
        """The gradient of sum_i w_i log p(tau_i) + v_i H(tau_i); weights w, v [B].

        H(tau) is the sum over its steps t of the entropy there times entropy_decay**t.
        """

    def ascend(
        self, weights: Weights, adam: AdamState, gradient: Weights, learning_rate: float
    ) -> tuple[Weights, AdamState]:
        """The weights and Adam's state after one step up the gradient."""


class Evaluator(Protocol):
    """A data set: errors, fits and predictions of whole batches."""

    def errors(self, programs: Programs) -> Errors:
        """Sums over the rows, by their weights, of each loss."""

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        """Fit the constants, starting from those the programs have, and give the errors after.

        The first loss becomes small. BFGS minimises -1 / (1 + (loss / scale)**power): minus the
        reward. Where the loss overflows, a program is invalid.
        """

    def predict(self, programs: Programs) -> Predictions:
        """Values at every row, and whether every node was finite on every row."""


class Breeding(Protocol):
    """How children are made."""

    @property
    def tournament(self) -> int: ...
    @property
    def crossover(self) -> float: ...
    @property
    def mutation(self) -> float: ...


class Breeder(Protocol):
    """Makes children under the rules of one library; each appears once between two `begin`s."""

    def begin(self, programs: Programs) -> None:
        """Forget the programs seen so far; remember these."""

    def admit(self, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] obey the built-in constraints and are seen for the first time."""

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
        """At most `count` children, without those seen before."""


class Turn(Protocol):
    """The next step of one search."""

    def take(self) -> Any:
        """The state after it."""


class Engine(Protocol):
    """Does the arithmetic of searches."""

    name: str

    def policy(self, rules: ConstraintSet, hidden: int) -> Policy:
        """A network with `hidden` units."""

    def permits(self, rules: ConstraintSet, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] are complete and obey all constraints, custom ones included."""

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
    ) -> Evaluator:
        """A data set X [N, n], y [N], and what its rows count: one or two losses.

        `cache` results of recent programs may be kept. The parameters of the losses are multiplied
        by `scale` [N] in each row, if there is one.

        With `underflow_invalid` a program is also invalid where a product, quotient, power or
        exponential that is not 0 falls below the smallest normal float, 2.2e-308. A fit is judged
        by its last constants.

        Where the library has numbers of the groups' own, X has no columns for these: a fit finds
        them, and programs with them are invalid elsewhere. It gives them with the programs if no
        results are kept.
        """

    def breeder(self, rules: ConstraintSet) -> Breeder:
        """A maker of children."""

    def pair(
        self,
        values: Floats,
        candidates: Floats,
        target: Floats,
        weights: Floats,
        allowed: NDArray[np.bool_],
    ) -> Pairs:
        """What each of some values [P, N] lacks to be the target [N], of candidates [Q, N].

        `allowed` [P, Q] says which pairs may be formed; rows count by their weights [N].
        """

    def advance(self, turns: Sequence[Turn]) -> list[Any]:
        """The states of several searches after one step each."""


# Which engines there are.

ENGINES: dict[str, str | Callable[[int], Engine]] = {
    "native": "symseek.engines.native:NativeEngine",
    "cuda": "symseek.engines.cuda.engine:CudaEngine",
}
"""What makes an engine for a number of threads, or where to import it from, by name."""


def register(name: str, make: Callable[[int], Engine]) -> None:
    """Let `engine=name` stand for the engine that `make(threads)` gives."""
    ENGINES[name] = make


def engine_named(engine: str | Engine, threads: int = 1) -> Engine:
    """The engine itself, or a new one of that name.

    >>> engine_named("native", threads=2).name
    'native'
    """
    if not isinstance(engine, str):
        if isinstance(engine, type) or not hasattr(engine, "evaluator"):
            raise refused("engine", engine, f"an engine, or one of {', '.join(ENGINES)}")
        return engine
    threads = whole("threads", threads, "from 1 to 1024", 1, 1024)
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    make = ENGINES[engine]
    if isinstance(make, str):
        module, _, name = make.partition(":")
        found: Callable[[int], Engine] = getattr(importlib.import_module(module), name)
        return found(threads)
    return make(threads)


# What every engine needs of a batch.


def check_library(library: Library, programs: Programs) -> None:
    """Refuse programs over another library: their token ids mean something else there."""
    if not hasattr(programs, "lengths"):
        raise refused("programs", programs, "of the type Programs")
    if programs.library is not library and programs.library != library:
        raise InputError(
            f"the programs are over another library, {programs.library!r},"
            f" than this was set up for: {library!r}"
        )


def check_weights(weights: Weights) -> None:
    """Refuse a policy that has learnt itself out of the numbers."""
    if not np.isfinite(weights).all():
        raise InputError(
            "the policy's weights are no longer finite numbers; lower the learning rate"
        )


def check_permitted(score: Score, programs: Programs) -> None:
    """Refuse programs that have no probability: there is nothing to learn from them."""
    if not score.log_probability.min(initial=0.0) > -np.inf:
        raise InputError(
            "the policy cannot learn from a program that its constraints rule out: "
            + str(programs[int(np.argmin(score.log_probability))])
        )


def unfitted_constants(library: Library, tokens: NDArray[np.int16]) -> Floats:
    """[B, K] ones, a column for each placeholder of the program that has most."""
    if library.constant_id is None:
        return np.ones((len(tokens), 0))
    most = (tokens == library.constant_id).sum(axis=1).max(initial=0)
    return np.ones((len(tokens), int(most)))


def filled_constants(library: Library, programs: Programs) -> Floats:
    """A value [B, K] for every placeholder: those not given are 1."""
    given = programs.constants
    if library.constant_id is None:
        return given
    values = unfitted_constants(library, programs.tokens)
    if given.shape[1] >= values.shape[1]:
        return np.ascontiguousarray(given)
    values[:, : given.shape[1]] = given
    return values
