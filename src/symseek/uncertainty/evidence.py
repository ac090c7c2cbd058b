"""What decides between two formulas: how well each fits, and how many numbers it took to.

With N rows, K fitted numbers (the noise is one more) and the squares S that are left:

    AICc = N log(S/N) + 2K + 2K(K + 1)/(N - K - 1)
    BIC  = N log(S/N) + K log(N)

The weight of evidence for one formula against another is half the difference of their BIC: the
logarithm of the odds, but for what was thought of them before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from symseek.uncertainty.record import Certainty

DECIDED = math.log(20.0)
"""The weight of evidence from which on rows decide: odds of 20 to 1."""


@dataclass(frozen=True)
class Evidence:
    """How a formula compares with others of the same rows.

    >>> import numpy as np
    >>> known = Certainty((0, 1), np.eye(2), variance=0.01, spare=48)
    >>> found = Evidence.of(known)
    >>> round(found.aicc, 1), round(found.bic, 1)
    (-225.8, -220.6)
    """

    aicc: float
    bic: float

    @classmethod
    def of(cls, known: Certainty) -> Evidence:
        """The evidence for a formula whose numbers are known."""
        rows, numbers = known.spare + len(known.free), len(known.free) + 1
        left = rows * math.log(max(known.variance, 1e-300) * known.spare / rows)
        room = rows - numbers - 1
        more = 2 * numbers * (numbers + 1) / room if room > 0 else math.inf
        return cls(left + 2 * numbers + more, left + numbers * math.log(rows))

    def against(self, other: Evidence) -> float:
        """The weight of evidence against this formula where the other is the rival, in nats."""
        return (self.bic - other.bic) / 2
