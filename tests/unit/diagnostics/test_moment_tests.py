"""Tests of skewness and kurtosis, and ranks, under weights: those of scipy, of rows written as often as weights say."""

import numpy as np
import pytest
from scipy import stats

from tobitgp.diagnostics.moment_tests import kurtosis_test, skewness_test, weighted_ranks

PAIRS = {
    "skewness": (skewness_test, stats.skew, stats.skewtest),
    "kurtosis": (kurtosis_test, stats.kurtosis, stats.kurtosistest),
}


def simulate(seed, n=60):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0 + 3.0 * seed, size=n).round(1), rng.integers(1, 5, n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PAIRS)
def test_moments_of_weighted_rows_are_those_of_copies(name, seed):
    ours, moment, test = PAIRS[name]
    values, weight = simulate(seed)
    copies = np.repeat(values, weight)
    np.testing.assert_allclose(ours(values, weight.astype(float)), (moment(copies), test(copies).pvalue), rtol=1e-10)


def test_ranks_of_weighted_rows_are_those_of_copies():
    values, weight = simulate(0)
    copies = np.repeat(values, weight)
    expected = 2.0 * (stats.rankdata(copies) - 0.5) / len(copies) - 1.0
    np.testing.assert_allclose(np.repeat(weighted_ranks(values, weight.astype(float)), weight), expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("test", [skewness_test, kurtosis_test])
def test_unequal_weights_keep_the_size_of_the_tests(test):
    """Weights in sum as many as Kish's effective sample size."""
    rng, p = np.random.default_rng(5), []
    for _ in range(2000):
        weight = rng.uniform(0.3, 3.0, 300)
        p.append(test(rng.standard_normal(300), weight * weight.sum() / np.square(weight).sum())[1])
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.02)
