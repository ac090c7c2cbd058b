"""How sure a measured rate or error is, and whether two of them differ.

Rates are counts of runs: `recovered` of `runs`. Their interval is Wilson's, which stays between 0
and 1 and has a width even at 0 of 10. Errors are skewed and often zero, so that their intervals
are bootstrapped; the resampling has a fixed seed, so that a table comes out the same every time.

>>> interval = wilson(35, 100)
>>> round(interval.low, 3), round(interval.high, 3)
(0.264, 0.447)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symseek.errors import InputError
from symseek.experiments.published import SIGNIFICANCE

__all__ = [
    "CONFIDENCE",
    "Interval",
    "bootstrap",
    "mean",
    "median",
    "p_value",
    "significant",
    "student",
    "wilson",
    "within",
]

Floats = NDArray[np.float64]
Counts: TypeAlias = Sequence[tuple[int, int]]  # recovered and runs, one pair a benchmark

CONFIDENCE = 0.95
RESAMPLES = 10_000
_SEED = 2021
_AT_ONCE = 2**22  # numbers drawn at a time
_TIE = 1e-7  # outcomes whose chances differ by less, relatively, are as likely as each other


class Interval(NamedTuple):
    """A range for the true value, around the measured one."""

    value: float
    low: float
    high: float


def wilson(recovered: int, runs: int, confidence: float = CONFIDENCE) -> Interval:
    r"""Wilson's score interval of a rate, as fractions.

    .. math:: \frac{1}{1 + z^2/n} \left( p + \frac{z^2}{2n}
              \pm z \sqrt{\frac{p (1 - p)}{n} + \frac{z^2}{4 n^2}} \right)

    >>> [round(bound, 3) for bound in wilson(0, 10)]
    [0.0, 0.0, 0.278]
    """
    _check_counts(recovered, runs)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, spread = recovered / runs, z * z / runs
    middle = rate + spread / 2
    half = z * math.sqrt(rate * (1 - rate) / runs + spread / (4 * runs))
    low, high = (middle - half) / (1 + spread), (middle + half) / (1 + spread)
    # At 0 and at 1 the bound is the rate itself, which rounding may miss.
    return Interval(rate, low if recovered else 0.0, high if recovered < runs else 1.0)


def student(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Student's interval of a mean; one value, or an infinite one, says nothing of the spread.

    >>> [round(bound, 3) for bound in student([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    >>> student([1.0])
    Interval(value=1.0, low=-inf, high=inf)
    """
    sample = _sample(values)
    middle, count = float(sample.mean()), len(sample)
    if count == 1 or not math.isfinite(middle):
        return Interval(middle, -math.inf, math.inf)
    from scipy.stats import t  # type: ignore[import-untyped]

    half = t.ppf(0.5 + confidence / 2, count - 1) * sample.std(ddof=1) / math.sqrt(count)
    return Interval(middle, middle - float(half), middle + float(half))


def bootstrap(
    values: Sequence[float],
    statistic: Callable[..., Any] = np.mean,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """The middle share of a statistic over samples drawn again from the values.

    The statistic is a function such as `np.mean` that takes an axis. An infinite value may make a
    bound infinite, and no bound undefined.

    >>> [round(bound, 2) for bound in bootstrap([0.0, 0.0, 0.0, 1.0, 2.0])]
    [0.6, 0.0, 1.4]
    """
    sample = _sample(values)
    random = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // len(sample))
    parts = []
    for start in range(0, resamples, rows):
        shape = min(rows, resamples - start), len(sample)
        drawn = sample[random.integers(len(sample), size=shape)]
        parts.append(np.asarray(statistic(drawn, axis=1)))
    tail = (1 - confidence) / 2
    # A quantile between a finite value and infinity is undefined; the nearest one never is.
    bounds = np.quantile(np.concatenate(parts), [tail, 1 - tail], method="nearest")
    return Interval(float(statistic(sample, axis=0)), float(bounds[0]), float(bounds[1]))


def mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The mean with its bootstrapped interval.

    >>> mean([0.5, 0.5])
    Interval(value=0.5, low=0.5, high=0.5)
    """
    return bootstrap(values, np.mean, confidence)


def median(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median with its bootstrapped interval.

    >>> median([0.0, 0.0, 0.0, 5.0])
    Interval(value=0.0, low=0.0, high=5.0)
    """
    return bootstrap(values, np.median, confidence)


def p_value(ours: Counts, theirs: Counts) -> float:
    """How likely a difference this large is if both methods recover each benchmark alike.

    The paper calls a difference significant at p < 0.001 across the benchmarks of a table, and
    does not say by which test. This one is exact and assumes nothing else: given how many runs
    recovered each benchmark, which of the two methods they belong to is chance, so that our count
    is hypergeometric; over the benchmarks the counts add up. Two-sided: the chance of every sum
    that is no likelier than ours. With one benchmark this is Fisher's test.

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


def significant(ours: Counts, theirs: Counts, level: float = SIGNIFICANCE) -> bool:
    """Whether we recover more, by more than chance explains at the paper's level.

    >>> significant([(1003, 1200)], [(902, 1200)])
    True
    """
    rates = [sum(k / n for k, n in counts) for counts in (ours, theirs)]
    return rates[0] > rates[1] and p_value(ours, theirs) < level


def within(paper_rate: float, paper_n: int, our_k: int, our_n: int) -> bool:
    """Whether our rate is as good as the paper's: in its interval of 95 %, or above it.

    The paper's rate is in percent, as printed. Only its uncertainty counts: with few runs of our
    own, `p_value` says whether the two differ at all.

    >>> within(35, 100, our_k=27, our_n=100), within(35, 100, our_k=26, our_n=100)
    (True, False)
    """
    if not 0 <= paper_rate <= 100:
        raise InputError(f"the paper's rate is {paper_rate}; it must be from 0 to 100 percent")
    _check_counts(our_k, our_n)
    return our_k / our_n >= wilson(round(paper_rate * paper_n / 100), paper_n).low


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
        raise InputError(f"{recovered} of {runs} runs is no count; give one run or more")


def _sample(values: Sequence[float]) -> Floats:
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not len(sample) or np.isnan(sample).any():
        raise InputError("an interval needs one value or more, and none that is undefined")
    return sample
