"""Tests of calibration under censoring: beside Pearson, Kaplan and Meier, numerical derivatives, and by simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from tobitgp.diagnostics.residual_tests import (
    Noise,
    PredictedSurvival,
    calibration,
    judge,
    score_test,
    tenth_shares,
    turnbull_tenths,
)
from tobitgp.numerics.nonparametric import kaplan_meier

NOISE = Noise("gaussian noise", "Compare families.", "Try family='student'")


def known(u, kind, rng):
    """What is known of uniform numbers that are censored at random points."""
    n, lower, upper = len(u), u.copy(), u.copy()
    low = rng.uniform(0.2, 0.5, n)
    high = low + 0.4
    if kind in ("left", "both"):
        lower[u < low], upper[u < low] = 0.0, low[u < low]
    if kind in ("right", "both"):
        lower[u > high], upper[u > high] = high[u > high], 1.0
    if kind == "interval":
        ends = np.column_stack([np.zeros(n), np.sort(rng.uniform(size=(n, 2)), axis=1), np.ones(n)])
        at = (ends <= u[:, None]).sum(axis=1)
        lower, upper = ends[np.arange(n), at - 1], ends[np.arange(n), at]
    return lower, upper


def predicted_survival(lower, upper, weight=None):
    with np.errstate(divide="ignore"):
        return PredictedSurvival(np.log1p(-lower), np.log1p(-upper), np.ones(len(lower)) if weight is None else weight)


def test_uncensored_rows_have_pearsons_test(rng):
    u = rng.uniform(size=330) ** 1.5
    found = judge([calibration(predicted_survival(u, u), NOISE)])[0]
    counts = np.histogram(u, np.linspace(0.0, 1.0, 11))[0]
    want = chisquare(counts)
    assert (found.value, found.p) == pytest.approx((want.statistic, want.pvalue))
    assert found.verdict == "bad"
    assert f"{counts.max() / 330:.1%} of the rows lie in their lowest tenth" in found.words
    assert found.words.endswith("Compare families.")


@pytest.mark.parametrize("kind", ["both", "interval"])
def test_score_and_information_are_derivatives_of_the_likelihood(kind, rng):
    lower, upper = known(rng.uniform(size=400) ** 1.3, kind, rng)
    shares, exact = tenth_shares(lower, upper)
    weight = rng.integers(1, 4, 400).astype(float)

    def log_likelihood(tilt):
        p = np.exp(tilt) / np.exp(tilt).sum()
        return weight @ np.log(shares @ p)

    step, unit = 1e-3, np.eye(10)
    at = np.array([[log_likelihood(step * (a + b)) for b in (*unit, *-unit)] for a in (*unit, *-unit)])
    score = np.array([log_likelihood(step * e) - log_likelihood(-step * e) for e in unit]) / (2.0 * step)
    information = -(at[:10, :10] - at[:10, 10:] - at[10:, :10] + at[10:, 10:]) / (4.0 * step**2)
    value, direction = np.linalg.eigh(information)
    seen = value > 0.01 * weight.sum()
    want = np.sum((direction.T @ score)[seen] ** 2 / value[seen])
    assert score_test(shares, exact, weight) == pytest.approx((want, seen.sum()), rel=1e-3)


def test_tenths_of_right_censored_rows_are_those_of_kaplan_and_meier(rng):
    u, end = rng.uniform(size=500) ** 1.4, rng.integers(2, 11, 500) / 10.0
    event = u <= end
    found = turnbull_tenths(tenth_shares(np.minimum(u, end), np.where(event, u, 1.0))[0], np.ones(500))
    times, survival = kaplan_meier(np.minimum(u, end), event, np.ones(500))
    below = 1.0 - survival[np.searchsorted(times, np.linspace(0.1, 0.9, 9), side="right") - 1]
    np.testing.assert_allclose(np.cumsum(found)[:-1], below, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "left", "right", "both", "interval"])
def test_size_and_power_whatever_is_censored(kind, rng):
    def share(bend, level):
        p = [
            calibration(predicted_survival(*known(rng.uniform(size=200) ** bend, kind, rng)), NOISE).p
            for _ in range(400)
        ]
        return np.mean(np.array(p) < level)

    assert share(1.0, 0.05) < 0.05 + 3.5 * np.sqrt(0.05 / 400)
    assert share(1.0, 0.002) < 0.01 + 3.5 * np.sqrt(0.01 / 400)
    assert share(1.8, 0.002) > 0.9


def test_what_censoring_hides_is_not_tested():
    """At one limit in the middle of all distributions only five tenths are seen, and their sum."""
    rng = np.random.default_rng(3)
    u = rng.uniform(size=2000)
    lower, upper = np.where(u < 0.5, 0.0, u), np.where(u < 0.5, 0.5, u)
    value, df = score_test(*tenth_shares(lower, upper), np.ones(2000))
    assert df == 5
    assert chi2.sf(value, df) > 0.01
    nothing = judge([calibration(predicted_survival(np.zeros(50), np.full(50, 1.0)), NOISE)])[0]
    assert nothing.verdict == "doubtful"
    assert "too few rows are uncensored" in nothing.words
