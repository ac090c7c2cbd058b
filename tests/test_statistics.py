"""Intervals and tests against independent computations."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from symseek import InputError
from symseek.lab.reports import statistics

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.999]))
def test_wilson_bounds_lie_z_standard_errors_from_the_rate(
    count: tuple[int, int], confidence: float
) -> None:
    """A bound is a rate that the measured one differs from by exactly z standard errors."""
    interval = statistics.wilson(*count, confidence)
    won, runs = count
    rate, z = won / runs, NormalDist().inv_cdf(0.5 + confidence / 2)
    assert interval.value == rate
    assert 0 <= interval.low <= rate <= interval.high <= 1
    assert (interval.low == 0) == (won == 0)
    assert (interval.high == 1) == (won == runs)
    for bound in {interval.low, interval.high} - {0.0, 1.0}:
        error = math.sqrt(bound * (1 - bound) / runs)
        assert abs(rate - bound) == pytest.approx(z * error, rel=1e-9)


def test_wilson_holds_the_true_rate_about_as_often_as_it_says() -> None:
    runs, rate = 30, 0.35
    chances = scipy.stats.binom.pmf(np.arange(runs + 1), runs, rate)
    held = [statistics.wilson(k, runs) for k in range(runs + 1)]
    assert (
        0.93 < sum(c for c, i in zip(chances, held, strict=True) if i.low <= rate <= i.high) < 0.97
    )


def test_bootstrap_is_the_same_every_time_and_near_that_of_scipy() -> None:
    values = np.random.default_rng(0).exponential(size=40).tolist()
    for ours, statistic in ((statistics.mean, np.mean), (statistics.median, np.median)):
        interval = ours(values)
        assert interval == ours(values)
        known = scipy.stats.bootstrap(
            (values,), statistic, method="percentile", rng=np.random.default_rng(1)
        ).confidence_interval
        width = known.high - known.low
        assert interval.low == pytest.approx(known.low, abs=0.05 * width)
        assert interval.high == pytest.approx(known.high, abs=0.05 * width)
        assert interval.value == statistic(values)


def test_bootstrap_is_the_middle_of_resampled_means() -> None:
    """Against the resampling written out, with the same random numbers."""
    values = np.random.default_rng(0).exponential(size=40)
    drawn = np.random.default_rng(2021).integers(40, size=(10_000, 40))
    for ours, statistic in ((statistics.mean, np.mean), (statistics.median, np.median)):
        means = np.sort(statistic(values[drawn], axis=1))
        assert ours(values.tolist()) == (statistic(values), means[250], means[9749])


def test_bootstrap_in_parts_is_still_of_every_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.0, 1.0, 2.0, 5.0]
    whole = statistics.bootstrap(values)
    monkeypatch.setattr(statistics, "_AT_ONCE", 100)
    assert statistics.bootstrap(values) == pytest.approx(whole, abs=0.3)


def test_one_value_and_infinite_values() -> None:
    assert statistics.mean([0.3]) == (0.3, 0.3, 0.3)
    assert statistics.median([0.3]) == (0.3, 0.3, 0.3)
    assert statistics.median([0.1] * 9 + [math.inf]).value == 0.1
    assert statistics.mean([0.1] * 9 + [math.inf]).high == math.inf
    for bad in ([], [math.nan]):
        with pytest.raises(InputError, match="one value or more"):
            statistics.mean(bad)


@given(COUNTS, COUNTS)
def test_with_one_benchmark_it_is_the_test_of_fisher(
    ours: tuple[int, int], theirs: tuple[int, int]
) -> None:
    table = [[ours[0], ours[1] - ours[0]], [theirs[0], theirs[1] - theirs[0]]]
    known = scipy.stats.fisher_exact(table).pvalue
    assert statistics.p_value([ours], [theirs]) == pytest.approx(known, rel=1e-6)
    assert statistics.p_value([theirs], [ours]) == pytest.approx(known, rel=1e-6)


def test_with_several_it_counts_every_way_to_share_out_the_recoveries() -> None:
    ours, theirs = [(3, 4), (2, 3), (5, 5)], [(1, 5), (1, 4), (3, 4)]
    chance: dict[int, float] = {}
    for shares in product(*(range(k + 1) for k in (4, 3, 8))):
        weight = 1.0
        for share, (k, n), (j, m) in zip(shares, ours, theirs, strict=True):
            ways = math.comb(n, share) * math.comb(m, k + j - share)
            weight *= ways / math.comb(n + m, k + j)
        chance[sum(shares)] = chance.get(sum(shares), 0.0) + weight
    assert sum(chance.values()) == pytest.approx(1)
    expected = sum(p for p in chance.values() if p <= chance[10] * (1 + 1e-9))
    assert statistics.p_value(ours, theirs) == pytest.approx(expected, rel=1e-9)


def test_it_keeps_to_its_level_when_nothing_differs() -> None:
    rates, runs = (0.1, 0.5, 0.9), 12
    random = np.random.default_rng(3)
    low = 0
    for _ in range(400):
        sides = [[(int(k), runs) for k in random.binomial(runs, rates)] for _ in range(2)]
        low += statistics.p_value(*sides) < 0.05
    assert low <= 30  # 20 expected at most


def test_large_differences_and_equal_ones() -> None:
    assert statistics.p_value([(100, 100)] * 12, [(0, 100)] * 12) < 1e-100
    assert statistics.p_value([(0, 10)], [(0, 10)]) == 1


@pytest.mark.parametrize("count", [(1, 0), (-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(count: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="not a count"):
        statistics.wilson(*count)
    with pytest.raises(InputError, match="not a count"):
        statistics.p_value([count], [(1, 2)])


def test_what_else_is_refused() -> None:
    with pytest.raises(InputError, match="each benchmark"):
        statistics.p_value([(1, 2)], [])
    with pytest.raises(InputError, match="each benchmark"):
        statistics.p_value([], [])


def test_scipy_is_imported_only_when_used() -> None:
    code = "import sys, symseek.lab.paper.catalogue; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
