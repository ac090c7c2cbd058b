"""How certain a measured rate or error is, and whether two rates differ.

Rates are counts of runs: `recovered` of `runs`. Their interval is Wilson's, which stays between 0
and 1 and has a width even at 0 of 10. Errors are skewed and often zero, so their intervals are
bootstrapped; the resampling has a fixed seed, so that a table comes out the same every time.

>>> interval = wilson(35, 100)
>>> round(interval.low, 3), round(interval.high, 3)
(0.264, 0.447)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from symseek.arrays import Floats
from symseek.errors import InputError

RunCounts: TypeAlias = Sequence[tuple[int, int]]  # recovered and runs, one pair a benchmark

CONFIDENCE = 0.95
RESAMPLES = 10_000
_SEED = 2021
_AT_ONCE = 2**22  # numbers drawn at a time
_TIE = 1e-7  # outcomes whose probabilities differ by less, relatively, are equally likely


class Interval(NamedTuple):
    """A range for the true value, around the measured one."""

    value: float
    low: float
    high: float


def wilson(recovered: int, runs: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a rate, as fractions.

    >>> [round(bound, 3) for bound in wilson(0, 10)]
    [0.0, 0.0, 0.278]
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped]  # a second to import

    _check_counts(recovered, runs)
    bounds = binomtest(recovered, runs).proportion_ci(confidence, method="wilson")
    return Interval(recovered / runs, float(bounds.low), float(bounds.high))


def bootstrap(values: Sequence[float], statistic: Callable[..., Any] = np.mean) -> Interval:
    """The middle 95 % of a statistic over samples drawn again from the values.

    The statistic is a function such as `np.mean` that takes an axis. An infinite value may make a
    bound infinite, but never undefined.

    >>> [round(bound, 2) for bound in bootstrap([0.0, 0.0, 0.0, 1.0, 2.0])]
    [0.6, 0.0, 1.4]
    """
    from scipy.stats import bootstrap as resampled

    sample = np.asarray(values, dtype=np.float64).ravel()
    if not len(sample) or np.isnan(sample).any():
        raise InputError("an interval needs one value or more, and none that is undefined")
    value = float(statistic(sample))
    if len(sample) == 1:
        return Interval(value, value, value)
    with np.errstate(invalid="ignore"):
        drawn = resampled(
            (sample,),
            statistic,
            n_resamples=RESAMPLES,
            batch=max(1, _AT_ONCE // len(sample)),
            method="percentile",
            random_state=np.random.default_rng(_SEED),
        ).bootstrap_distribution
    tail = (1 - CONFIDENCE) / 2
    # A quantile between a finite value and infinity is undefined; the nearest one never is.
    low, high = np.quantile(drawn, [tail, 1 - tail], method="nearest")
    return Interval(value, float(low), float(high))


def mean(values: Sequence[float]) -> Interval:
    """The mean with its bootstrapped interval.

    >>> mean([0.5, 0.5])
    Interval(value=0.5, low=0.5, high=0.5)
    """
    return bootstrap(values, np.mean)


def median(values: Sequence[float]) -> Interval:
    """The median with its bootstrapped interval.

    >>> median([0.0, 0.0, 0.0, 5.0])
    Interval(value=0.0, low=0.0, high=5.0)
    """
    return bootstrap(values, np.median)


def p_value(ours: RunCounts, theirs: RunCounts) -> float:
    """How likely a difference this large is if both methods recover each benchmark equally often.

    The paper calls a difference significant at p < 0.001 across the benchmarks of a table, and
    does not say by which test. This one is exact: given how many runs recovered each benchmark,
    which of the two methods they belong to is chance, so our count is hypergeometric; over the
    benchmarks the counts add up. Two-sided: the probability of every sum that is not likelier than
    ours. With one benchmark this is Fisher's test.

    >>> round(p_value([(100, 100)], [(90, 100)]), 5)
    0.00154
    >>> p_value([(3, 3), (0, 5)], [(3, 3), (0, 5)])
    1.0
    """
    if len(ours) != len(theirs) or not ours:
        raise InputError(f"{len(ours)} counts came for {len(theirs)}; give one for each benchmark")
    chances, least, observed = np.ones(1), 0, 0
    for (our_k, our_n), (their_k, their_n) in zip(ours, theirs, strict=True):
        lowest, row = _share_of(our_k, our_n, their_k, their_n)
        chances, least, observed = np.convolve(chances, row), least + lowest, observed + our_k
    at = chances[observed - least]
    return min(1.0, float(chances[chances <= at * (1 + _TIE)].sum()))


def _share_of(our_k: int, our_n: int, their_k: int, their_n: int) -> tuple[int, Floats]:
    """Our least possible share of the recovered runs, and the chance of it and each one above."""
    from scipy.stats import hypergeom

    _check_counts(our_k, our_n)
    _check_counts(their_k, their_n)
    total, recovered = our_n + their_n, our_k + their_k
    shares = np.arange(max(0, recovered - their_n), min(our_n, recovered) + 1)
    return int(shares[0]), np.asarray(hypergeom.pmf(shares, total, recovered, our_n))


def _check_counts(recovered: int, runs: int) -> None:
    if runs < 1 or not 0 <= recovered <= runs:
        raise InputError(f"{recovered} of {runs} runs is not a count; give one run or more")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the p of each of several tests, so that few differ by chance alone.

    Calling those below 0.05 different is wrong on any of them in at most 5 % of the cases.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, most = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * p_values[at]))
        corrected[at] = most
    return corrected
