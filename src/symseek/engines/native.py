"""The native engine: samples, scores and evaluates batches in C++, on all the threads it is given.

Each object holds its own threads, memory and cache, so searches in one process do not touch each
other. Results do not depend on the number of threads, nor on the machine's vector instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symseek import _native
from symseek.constants import FitConfig
from symseek.errors import InputError
from symseek.policy import AdamState, PolicyConfig, PolicyWeights
from symseek.programs import Programs
from symseek.tokens import ARGUMENTS, Kind, Library, Token

if TYPE_CHECKING:
    from symseek.constraints.constraint_set import ConstraintSet

__all__ = [
    "Derivatives",
    "Errors",
    "Evaluator",
    "Fitted",
    "Policy",
    "Predictions",
    "Sample",
    "Score",
    "Workers",
    "operations",
    "simd",
    "simd_variants",
]

CACHE_ENTRIES = 1 << 17  # about 6 MB; a program seen again within a few hundred batches is known


def simd() -> str:
    """The instruction set in use: 'avx512', 'avx2' or 'baseline'."""
    return str(_native.simd())


def simd_variants() -> list[str]:
    """The instruction sets this machine can run, best first; SYMSEEK_SIMD picks one."""
    return list(_native.simd_variants())


def operations() -> dict[str, int]:
    """Name and arity of every operation the engine evaluates."""
    return dict(_native.operations())


@dataclass(frozen=True)
class Sample:
    """A batch of programs and the entropy of the policy along each."""

    programs: Programs
    entropy: NDArray[np.float32]  # [B]


@dataclass(frozen=True)
class Score:
    """What the policy thinks of given programs."""

    log_probability: NDArray[np.float32]  # [B]
    entropy: NDArray[np.float32]  # [B]
    gradient: NDArray[np.float32] | None = None  # flat, as in PolicyWeights


Workers = _native.Pool
"""Threads that several engine objects of one search share: `Workers(threads)`."""


def pool(threads: int | Workers) -> Workers:
    """The workers themselves, or new ones."""
    return Workers(threads) if isinstance(threads, int) else threads


class Policy:
    """The network on the native core, with its weights and optimiser state."""

    def __init__(
        self, rules: ConstraintSet, config: PolicyConfig, seed: int, threads: int | Workers = 1
    ) -> None:
        self.rules = rules
        self.seed = seed
        tokens = len(rules.library)
        self.weights = PolicyWeights.start(tokens, config.hidden, seed)
        self.adam = AdamState.start(self.weights.flat.size)
        self._core = _native.Policy(rules.compiled, config.hidden, pool(threads))
        self._ask = rules.ask if rules.custom else None

    def sample(self, batch: int, iteration: int) -> Sample:
        """Draw a batch; the same seed and iteration always give the same programs."""
        tokens = np.empty((batch, self.rules.max_length), dtype=np.int16)
        lengths = np.empty(batch, dtype=np.int32)
        entropy = np.empty(batch, dtype=np.float32)
        dead_end = self._core.sample(
            self.weights.flat, self.seed, iteration, tokens, lengths, entropy, self._ask
        )
        if dead_end is not None:
            raise InputError(f"the constraints collide: {self.rules.explain_dead_end(dead_end)}")
        library = self.rules.library
        constants = unfitted(library, tokens)
        return Sample(Programs._trusted(library, tokens, lengths, constants), entropy)

    def score(self, programs: Programs) -> Score:
        """Log-probability and entropy; -inf for a program that the constraints rule out."""
        same_library(self.rules.library, programs)
        nothing = np.zeros(len(programs), dtype=np.float32)
        return self._score(programs, nothing, nothing, 1.0, None)

    def gradient(
        self,
        programs: Programs,
        weights: NDArray[np.floating],
        entropy_weights: NDArray[np.floating],
        entropy_decay: float = 1.0,
    ) -> Score:
        """The gradient of sum_i w_i log p(tau_i) + v_i H(tau_i); weights w, v [B].

        H(tau) is the sum over its steps t of the entropy there times entropy_decay**t.
        """
        same_library(self.rules.library, programs)
        gradient = np.zeros_like(self.weights.flat)
        score = self._score(
            programs,
            np.ascontiguousarray(weights, dtype=np.float32),
            np.ascontiguousarray(entropy_weights, dtype=np.float32),
            entropy_decay,
            gradient,
        )
        if not score.log_probability.min(initial=0.0) > -np.inf:
            raise InputError(
                "the policy cannot learn from a program that its constraints rule out: "
                + str(programs[int(np.argmin(score.log_probability))])
            )
        return score

    def _score(
        self,
        programs: Programs,
        weights: NDArray[np.float32],
        entropy_weights: NDArray[np.float32],
        entropy_decay: float,
        gradient: NDArray[np.float32] | None,
    ) -> Score:
        log_probability = np.empty(len(programs), dtype=np.float32)
        entropy = np.empty(len(programs), dtype=np.float32)
        self._core.score(
            self.weights.flat,
            programs.tokens,
            programs.lengths,
            weights,
            entropy_weights,
            entropy_decay,
            log_probability,
            entropy,
            gradient,
            self._ask,
        )
        return Score(log_probability, entropy, gradient)

    def ascend(self, gradient: NDArray[np.float32], learning_rate: float) -> None:
        """One Adam step up the gradient."""
        adam = self.adam
        step = adam.step_size(learning_rate)
        _native.adam(
            self.weights.flat,
            adam.mean,
            adam.variance,
            gradient,
            step,
            adam.beta1,
            adam.beta2,
            adam.epsilon,
        )

    def allows(self, programs: Programs) -> NDArray[np.bool_]:
        """Which programs [B] are complete and obey the built-in constraints at every step."""
        same_library(self.rules.library, programs)
        ok = np.empty(len(programs), dtype=bool)
        self._core.allows(programs.tokens, programs.lengths, ok)
        return ok


class Evaluator:
    """A data set on the native core: error sums or predictions of whole batches.

    >>> import numpy as np
    >>> from symseek import Library, Program, Programs
    >>> library = Library(["add", "mul"], variables=["x"])
    >>> X = np.array([[1.0], [2.0]])
    >>> batch = Programs.from_list([Program.parse("x*x + x", library)])
    >>> Evaluator(library, X, y=np.array([2.0, 7.0])).errors(batch).squared
    array([1.])
    """

    def __init__(
        self,
        library: Library,
        X: NDArray[np.float64],
        y: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        threads: int | Workers = 1,
        cache: int = CACHE_ENTRIES,
    ) -> None:
        rows = len(X)
        self.rows = rows
        self.library = library
        target = np.empty(0) if y is None else np.ascontiguousarray(y, dtype=np.float64)
        if weights is None:
            weights = np.ones(len(target))
        self._core = _native.Evaluator(
            [_instructions(token) for token in library],
            library.arity.tolist(),
            np.ascontiguousarray(np.asarray(X, dtype=np.float64).T),
            target,
            np.ascontiguousarray(weights, dtype=np.float64),
            pool(threads),
            cache,
        )

    def errors(self, programs: Programs) -> Errors:
        """Sums over the rows of weighted squared and absolute errors."""
        same_library(self.library, programs)
        count = len(programs)
        squared, absolute = np.empty(count), np.empty(count)
        ok = np.empty(count, dtype=bool)
        with _refusals():
            distinct = self._core.errors(
                programs.tokens,
                programs.lengths,
                all_constants(self.library, programs),
                squared,
                absolute,
                ok,
            )
        return Errors(squared, absolute, ok, distinct)

    def fit(
        self, programs: Programs, config: FitConfig, scale: float = 1.0, power: float = 1.0
    ) -> Fitted:
        """Fit the constants, starting from those the programs have, and give the errors after.

        BFGS minimises -1 / (1 + (squared / scale)**power): minus the reward. Where the error
        overflows, a fit calls a program invalid.
        """
        same_library(self.library, programs)
        count = len(programs)
        start = all_constants(self.library, programs)
        fitted = np.empty_like(start)
        status = np.empty(count, dtype=np.uint8)
        squared, absolute = np.empty(count), np.empty(count)
        ok = np.empty(count, dtype=bool)
        with _refusals():
            distinct = self._core.fit(
                programs.tokens,
                programs.lengths,
                start,
                config.method,
                config.restarts,
                config.max_steps,
                config.rescue,
                scale,
                power,
                fitted,
                status,
                squared,
                absolute,
                ok,
            )
        best = Programs._trusted(self.library, programs.tokens, programs.lengths, fitted)
        return Fitted(best, Errors(squared, absolute, ok, distinct), status)

    def derivatives(self, programs: Programs) -> Derivatives:
        """The squared error where the constants stand, and how it changes with them."""
        same_library(self.library, programs)
        constants = all_constants(self.library, programs)
        count, width = constants.shape
        squared, gradient = np.empty(count), np.empty((count, width))
        normal, ok = np.empty((count, width, width)), np.empty(count, dtype=bool)
        with _refusals():
            self._core.derivatives(
                programs.tokens, programs.lengths, constants, squared, gradient, normal, ok
            )
        return Derivatives(squared, gradient, normal, ok)

    def predict(self, programs: Programs) -> Predictions:
        """Values at every row, and whether every node was finite on every row."""
        same_library(self.library, programs)
        values = np.empty((len(programs), self.rows))
        ok = np.empty(len(programs), dtype=bool)
        with _refusals():
            self._core.predict(
                programs.tokens,
                programs.lengths,
                all_constants(self.library, programs),
                values,
                ok,
            )
        return Predictions(values, ok)


@dataclass(frozen=True)
class Errors:
    """Error sums of a batch; meaningless where not ok."""

    squared: NDArray[np.float64]  # [B] sum of w (y - f)^2
    absolute: NDArray[np.float64]  # [B] sum of w |y - f|
    ok: NDArray[np.bool_]  # [B]
    distinct: int  # different programs in the batch


@dataclass(frozen=True)
class Derivatives:
    """Sums over the rows, with residuals r = y - f and slopes J = df/dc; meaningless if not ok."""

    squared: NDArray[np.float64]  # [B] sum of w r^2
    gradient: NDArray[np.float64]  # [B, K] sum of w r J
    normal: NDArray[np.float64]  # [B, K, K] sum of w J J'
    ok: NDArray[np.bool_]  # [B]


@dataclass(frozen=True)
class Fitted:
    """Programs with the constants that suit the data, their errors, and how each fit ended."""

    programs: Programs
    errors: Errors
    status: NDArray[np.uint8]  # [B] FitStatus codes


@dataclass(frozen=True)
class Predictions:
    """Values of a batch of programs."""

    values: NDArray[np.float64]  # [B, N]
    ok: NDArray[np.bool_]  # [B]


@contextmanager
def _refusals() -> Iterator[None]:
    """What the core refuses is bad input."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from None


def same_library(library: Library, programs: Programs) -> None:
    """Token ids mean nothing in another library, and would be read beyond the tables."""
    if programs.library is not library and programs.library != library:
        raise InputError(
            f"the programs are over another library, {programs.library!r},"
            f" than this was set up for: {library!r}"
        )


def unfitted(library: Library, tokens: NDArray[np.int16]) -> NDArray[np.float64]:
    """[B, K] ones, a column for each placeholder of the program that has most."""
    if library.constant_id is None:
        return np.ones((len(tokens), 0))
    most = (tokens == library.constant_id).sum(axis=1).max(initial=0)
    return np.ones((len(tokens), int(most)))


def all_constants(library: Library, programs: Programs) -> NDArray[np.float64]:
    """A value [B, K] for every placeholder: those not given are 1."""
    given = programs.constants
    if library.constant_id is None:
        return given
    values = unfitted(library, programs.tokens)
    if given.shape[1] >= values.shape[1]:
        return np.ascontiguousarray(given)
    values[:, : given.shape[1]] = given
    return values


Instruction = tuple[str, int, float]  # operation, index, value


def _instructions(token: Token) -> list[Instruction]:
    """What the evaluator does for one token, its operands being on the stack."""
    if token.kind is Kind.VARIABLE:
        return [("variable", token.index or 0, 0.0)]
    if token.kind is Kind.NUMBER:
        return [("number", 0, float(token.value or 0.0))]
    if token.kind is Kind.CONSTANT:
        return [("constant", 0, 0.0)]
    if token.formula is not None:
        return _composed(token)
    if operations().get(token.name) != token.arity:
        raise InputError(
            f"the native engine cannot evaluate the token {token.name!r}; give it a formula over"
            " the built-in operators, or search with a score of your own (Search.for_programs)"
        )
    return [(token.name, 0, 0.0)]


def _composed(token: Token) -> list[Instruction]:
    """A formula over built-in operators, reading its operands where they lie on the stack."""
    expansion = token.expansion
    assert expansion is not None
    constants: list[float] = list(expansion.constants)
    steps: list[Instruction] = []
    height = 0  # values this formula has put on the stack
    for part_id in reversed(expansion.tokens):
        part: Any = expansion.library.tokens[part_id]
        if part.kind is Kind.VARIABLE:
            steps.append(("argument", height + ARGUMENTS.index(part.name), 0.0))
        elif part.kind is Kind.CONSTANT:
            steps.append(("number", 0, constants.pop()))
        else:
            steps.extend(_instructions(part))
        height += 1 - part.arity
    return [*steps, ("finish", token.arity, 0.0)]
