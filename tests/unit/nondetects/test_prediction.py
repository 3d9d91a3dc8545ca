"""Prediction limits beside EnvStats, Student's exact ones, and simulation."""

import numpy as np
import pytest
from scipy import stats

from tobitgp.errors import SpecError
from tobitgp.nondetects import prediction_limit
from tobitgp.nondetects.prediction_limits import predictive, simulate
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import maximise

SMALL = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]


def test_limits_of_envstats(case):
    reference, y, censored = case
    upper, two = (row["limits"] for row in reference["envstats_prediction"])
    found = prediction_limit(y, censored, method="exact_complete")
    assert found.upper == pytest.approx(upper[1], rel=1e-8)
    assert found.lower == -np.inf
    found = prediction_limit(y, censored, side="two-sided", method="exact_complete")
    np.testing.assert_allclose([found.lower, found.upper], two, rtol=1e-8)
    assert "kept for agreement" in str(found)


@pytest.mark.parametrize(("k", "mean_of"), [(1, 1), (1, 3)])
@pytest.mark.parametrize("family", ["normal", "lognormal"])
def test_complete_samples_have_students_limits(k, mean_of, family):
    y = np.array([1.0, 2.0, 4.0, 3.0, 7.0, 2.5, 1.2])
    options = {"k": k, "mean_of": mean_of, "family": family}
    exact = prediction_limit(y, method="exact_complete", **options)
    found = prediction_limit(y, bootstrap=20_000, rng=1, **options)
    assert abs(found.upper - exact.upper) < 4.0 * found.monte_carlo_error
    assert found.monte_carlo_error < 0.02 * found.upper


def test_several_new_values_by_bonferroni_and_together():
    y = np.array([1.0, 2.0, 4.0, 3.0, 7.0, 2.5, 1.2])
    exact = prediction_limit(y, k=4, method="exact_complete", family="normal")
    s, n = y.std(ddof=1), len(y)
    assert exact.upper == pytest.approx(y.mean() + stats.t.ppf(1 - 0.05 / 4, n - 1) * s * np.sqrt(1 + 1 / n), rel=1e-9)
    together = prediction_limit(y, k=4, family="normal", bootstrap=20_000, rng=2)
    assert prediction_limit(y, family="normal").upper < together.upper < exact.upper


def test_lower_limits_mirror_upper_ones():
    sample = read_values([0.5, 1.0, 2.0, -0.3, 1.4])
    found = maximise(sample, "normal")
    drawn = simulate(sample, found, 500, 1)
    turned = drawn._replace(a=-drawn.a)
    upper, error = predictive(found, drawn, 0.9)
    lower, same = predictive(found, turned, 0.9, sign=-1.0)
    assert found.a - lower == pytest.approx(upper - found.a, rel=1e-8)
    assert error == pytest.approx(same, rel=1e-4)


def test_weibull_limits():
    y = stats.weibull_min.ppf((np.arange(200) + 0.5) / 200, 1.7)
    flags = y < 0.4
    y = np.maximum(y, 0.4)
    found = prediction_limit(y, flags, side="two-sided", family="weibull", bootstrap=400, rng=1)
    np.testing.assert_allclose([found.lower, found.upper], stats.weibull_min.ppf([0.025, 0.975], 1.7), rtol=0.08)


@pytest.mark.slow
def test_nondetects_count_as_what_they_are():
    """Of 300 samples of ten with six non-detects on average, the default covers new values as often as it says."""
    rng = np.random.default_rng(3)
    cover = {"predictive": [], "exact_complete": []}
    for _ in range(300):
        y, limit = rng.normal(size=10), rng.choice([-0.3, 0.3, 0.8], size=10)
        sample = (np.maximum(y, limit), y < limit)
        if len(set(y[y >= limit])) < 2:
            continue
        for method, out in cover.items():
            found = prediction_limit(*sample, family="normal", method=method, bootstrap=300)
            out.append(stats.norm.cdf(found.upper))
    assert np.mean(cover["predictive"]) == pytest.approx(0.95, abs=0.01)


def test_what_it_refuses():
    for given, words in (
        ({"k": 0}, "k=0: must be a whole number of at least 1"),
        ({"mean_of": 1.5}, "mean_of=1.5: must be a whole number"),
        ({"side": "left"}, "side='left': must be one of 'upper', 'lower', 'two-sided'"),
        ({"method": "bayes"}, "method='bayes': must be one of 'predictive', 'exact_complete'"),
        ({"family": "gamma"}, "family='gamma' has no prediction limits"),
        ({"family": "weibull", "mean_of": 2}, "family='weibull' has limits of single values"),
    ):
        with pytest.raises(SpecError, match=words):
            prediction_limit(SMALL, **given)
    with pytest.raises(SpecError, match="right-censored"):
        prediction_limit(["1", "2", ">3"])


def test_estimates_of_very_many_rows_are_drawn_as_normal():
    rng = np.random.default_rng(2)
    y = np.exp(rng.normal(size=6000))
    found = prediction_limit(np.maximum(y, 0.5), y < 0.5)
    assert found.upper == pytest.approx(np.exp(stats.norm.ppf(0.95)), rel=0.05)
    assert 0.0 < found.monte_carlo_error < 0.01 * found.upper
