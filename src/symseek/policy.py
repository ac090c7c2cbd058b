"""The policy: a recurrent network that writes programs, as plain weight arrays.

An LSTM reads the parent and the sibling of the next token, one-hot with an extra "empty" token, and
a linear layer gives the logits over the library. All weights are views into one flat float32
vector, so that the engine and the optimiser each see a single array. At the start every allowed
token is equally likely: the recurrent weights are zero, and only the output layer is random, so
that gradients flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symseek.arguments import check_fields
from symseek.errors import InputError, Setting, unknown_name

Floats = NDArray[np.float32]

STARTS = ("uniform", "formulas")
"""What a policy can begin as."""

FORMULAS_HIDDEN = 16
"""Units that the policy which has learnt from formulas needs."""


@dataclass(frozen=True)
class PolicyConfig:
    """The shape of the network, and what it begins as."""

    hidden: int = 32  # H: units of the LSTM's one layer
    start: str = "uniform"  # or "formulas": it writes as people do before it has learnt anything

    def __post_init__(self) -> None:
        check_fields(self, hidden=(1, 1024))
        if not isinstance(self.start, str) or self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        if self.start == "formulas" and self.hidden < FORMULAS_HIDDEN:
            raise InputError(
                f"the policy has {self.hidden} hidden units, and start='formulas' needs at least"
                f" {FORMULAS_HIDDEN}; raise ",
                Setting("hidden"),
                " or use start='uniform'",
            )


@dataclass(frozen=True)
class PolicyWeights:
    """Named views into one flat vector. Gates are in the order input, forget, candidate, output.

    >>> weights = PolicyWeights.start(tokens=10, hidden=32, seed=0)
    >>> weights.recurrent.shape, weights.flat.size
    ((32, 128), 7370)
    """

    flat: Floats  # all of the below, one after another
    parent: Floats  # [L + 1, 4H] row L stands for "no parent"
    sibling: Floats  # [L + 1, 4H] row L stands for "no sibling"
    recurrent: Floats  # [H, 4H]
    bias: Floats  # [4H]
    output: Floats  # [H, L]
    output_bias: Floats  # [L]

    @classmethod
    def over(cls, flat: Floats, tokens: int, hidden: int) -> PolicyWeights:
        """Views of the given vector."""
        shapes = [
            (tokens + 1, 4 * hidden),
            (tokens + 1, 4 * hidden),
            (hidden, 4 * hidden),
            (4 * hidden,),
            (hidden, tokens),
            (tokens,),
        ]
        views, start = [], 0
        for shape in shapes:
            stop = start + int(np.prod(shape))
            views.append(flat[start:stop].reshape(shape))
            start = stop
        if start != flat.size:
            raise InputError(f"a policy of this shape has {start} weights, not {flat.size}")
        return cls(flat, *views)

    @classmethod
    def zeros(cls, tokens: int, hidden: int) -> PolicyWeights:
        """All weights zero."""
        size = 2 * (tokens + 1) * 4 * hidden + hidden * 4 * hidden + 4 * hidden
        size += hidden * tokens + tokens
        return cls.over(np.zeros(size, dtype=np.float32), tokens, hidden)

    @classmethod
    def start(cls, tokens: int, hidden: int, seed: int) -> PolicyWeights:
        """The first policy: forget bias 1, output layer Glorot-uniform, everything else zero."""
        weights = cls.zeros(tokens, hidden)
        weights.bias[hidden : 2 * hidden] = 1.0
        limit = np.sqrt(6.0 / (hidden + tokens))
        random = np.random.Generator(np.random.Philox(seed))
        weights.output[:] = random.uniform(-limit, limit, size=(hidden, tokens))
        return weights


@dataclass(frozen=True)
class AdamState:
    """Running moments of the gradient (Kingma and Ba, 2015)."""

    mean: Floats  # [P]
    variance: Floats  # [P]
    steps: int = 0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    @classmethod
    def start(cls, size: int) -> AdamState:
        """No steps taken."""
        return cls(np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32))

    def step_size(self, learning_rate: float) -> float:
        """The learning rate of the last step, corrected for moments that started at zero."""
        unbiased = np.sqrt(1.0 - self.beta2**self.steps) / (1.0 - self.beta1**self.steps)
        return float(learning_rate * unbiased)
