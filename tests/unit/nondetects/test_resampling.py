"""Samples fitted at once are those fitted one by one; limits are drawn from what is known of them."""

import numpy as np
import pytest

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.errors import SpecError
from tobitgp.nondetects.means import km_means
from tobitgp.nondetects.resampling import bca, draw_limits, few_detects, fit_many
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import maximise
from tobitgp.nondetects.sample_results import read_resamples


@pytest.mark.parametrize(("noise", "family"), [(NormalNoise(), "lognormal"), (Gumbel(), "weibull")])
def test_many_fits_are_the_fits_one_by_one(case, noise, family):
    _, y, censored = case
    sample = read_values(y, censored)
    rows = np.random.default_rng(2).integers(len(sample), size=(12, len(sample)))
    detects = np.where(sample.censored, np.nan, sample.values)
    rows = rows[~few_detects(detects[rows])]
    a, s = fit_many(noise, np.log(sample.values)[rows], sample.censored[rows])
    for k, r in enumerate(rows):
        found = maximise(read_values(sample.values[r], sample.censored[r]), family)
        assert a[k] == pytest.approx(found.a, abs=1e-6)
        assert s[k] == pytest.approx(np.exp(found.b), rel=1e-6)


def test_many_fits_where_nothing_bounds_a_row():
    t = np.array([[0.3, -np.inf, 1.0, 2.0]])
    with pytest.raises(FloatingPointError), np.errstate(invalid="raise"):
        fit_many(NormalNoise(), t, np.isneginf(t))


def test_few_detects():
    detects = np.array([[np.nan, 1.0, 1.0], [1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    assert few_detects(detects).tolist() == [True, False, True]


def test_limits_are_drawn_from_those_not_above_a_detect():
    sample = read_values(["<1", "<2", "3", "1.5", "<1", "0.5"])
    drawn = draw_limits(sample, 4000, np.random.default_rng(0), np.log)
    np.testing.assert_allclose(drawn[:, [0, 1, 4]], np.log([[1.0, 2.0, 1.0]] * 4000))
    assert set(np.exp(drawn[:, 3])) == {0.0, 1.0}
    # Rows at or below 1: a limit below the smallest detect has share 0 of what is known, 1 that of all but one in 3.
    values, counts = np.unique(np.exp(drawn[:, 2]), return_counts=True)
    assert values.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(counts / 4000, [4 / 15, 8 / 15, 3 / 15], atol=0.03)


def test_bca_by_hand(columns):
    """Efron's formula, with the correction and the acceleration from the definition."""
    from scipy.stats import norm

    arsenic = columns["oahu_arsenic"]
    sample = read_values(arsenic["arsenic"], arsenic["censored"])
    seen = []

    def means(rows):
        out = km_means(sample.values, sample.censored, rows, "efron")
        seen.append((rows.shape, out))
        return out

    found = bca(sample, means, (0.95, 0.05), 1000, 5)
    drawn = np.concatenate([m for shape, m in seen if shape[1] == len(sample) and shape[0] > 1])
    without = next(m for shape, m in seen if shape[1] < len(sample))
    mean = km_means(sample.values, sample.censored, np.arange(len(sample))[None], "efron")[0]
    z0 = norm.ppf(np.mean(drawn < mean) + 0.5 * np.mean(drawn == mean))
    u = without.mean() - without
    a = (u**3).sum() / (6.0 * (u**2).sum() ** 1.5)
    for limit, p in zip(found.limits, (0.95, 0.05), strict=True):
        z = z0 + norm.ppf(p)
        assert limit == pytest.approx(np.quantile(drawn, norm.cdf(z0 + z / (1.0 - a * z))), rel=2e-3)
    assert found.redrawn == 0
    assert 0.0 < found.error[0] < 0.05
    assert bca(sample, means, (0.95, 0.05), 1000, 5) == found


@pytest.mark.parametrize("wrong", [100, 1000.0, True, "many"])
def test_numbers_of_resamples(wrong):
    with pytest.raises(SpecError, match=r"bootstrap=.*at least 200"):
        read_resamples(wrong)
