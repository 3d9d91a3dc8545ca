"""The equations of docs/theory/nondetects.md as they stand there, beside what the package computes."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tobitgp.nondetects.means import kaplan_meier_of
from tobitgp.nondetects.prediction_limits import predictive, simulate
from tobitgp.nondetects.resampling import draw_limits
from tobitgp.nondetects.ros import ros_of
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import maximise

TEXT = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1", "<1", "0.7"]


@pytest.fixture
def sample():
    return read_values(TEXT)


def distribution(x, values, events):
    """(NDT1), and (NDT10) with the flags turned round."""
    F = 1.0
    for u in np.unique(values[values > x]):
        F *= 1.0 - events[values == u].sum() / (values <= u).sum()
    return F


def test_kaplan_meier(sample):
    """(NDT1) to (NDT3), areas by a Riemann sum that steps at every value."""
    y, seen = sample.values, ~sample.censored
    found = kaplan_meier_of(sample)
    u = np.unique(y[seen])
    F = np.array([distribution(x, y, seen) for x in u])
    below = distribution(u[0] - 1e-9, y, seen)
    np.testing.assert_allclose(found.cdf, F, rtol=1e-14)
    assert found.mass_below == pytest.approx(below, rel=1e-14)
    mean = u @ np.diff(F, prepend=below) + below * y.min()
    assert found.mean == pytest.approx(mean, rel=1e-14)
    d, n = np.array([seen[y == x].sum() for x in u]), np.array([(y <= x).sum() for x in u])
    grid = np.unique(y)
    left = np.array([distribution(x, y, seen) for x in grid[:-1]])
    A = np.array([(np.diff(grid) * left)[grid[1:] <= x].sum() for x in u])
    m = seen.sum()
    assert found.se**2 == pytest.approx(m / (m - 1) * (A**2 * d / (n * (n - d))).sum(), rel=1e-13)


def test_regression_on_order_statistics(sample):
    """(NDT4) and (NDT5), row by row."""
    y, seen = sample.values, ~sample.censored
    delta = [0.4, 1.0, 2.0, np.inf]
    a = [(seen & (y >= low) & (y < high)).sum() for low, high in pairwise(delta)]
    b = [(seen & (y < x)).sum() + (~seen & (y <= x)).sum() for x in delta[:-1]]
    c = [(~seen & (y == x)).sum() for x in delta[:-1]]
    p = [0.0] * 4
    for j in (2, 1, 0):
        p[j] = p[j + 1] + a[j] / (a[j] + b[j]) * (1.0 - p[j + 1])
    q = [1 - p[j] + r * (p[j] - p[j + 1]) / (a[j] + 1) for j in range(3) for r in range(1, a[j] + 1)]
    places = [r * (1 - p[j]) / (c[j] + 1) for j in range(3) for r in range(1, c[j] + 1)]
    slope, intercept = np.polyfit(stats.norm.ppf(q), np.log(np.sort(y[seen])), 1)
    found = ros_of(sample)
    np.testing.assert_allclose([found.slope, found.intercept], [slope, intercept], rtol=1e-12)
    filled = np.concatenate([np.exp(intercept + slope * stats.norm.ppf(places)), y[seen]])
    np.testing.assert_allclose(np.sort(found.values), np.sort(filled), rtol=1e-12)


def test_likelihood_and_its_limits(sample):
    """(NDT6) and (NDT8), with the information by differences."""
    y, seen = sample.values, ~sample.censored
    found = maximise(sample)

    def log_likelihood(a, b):
        truth = stats.lognorm(np.exp(b), scale=np.exp(a))
        return truth.logpdf(y[seen]).sum() + truth.logcdf(y[~seen]).sum()

    assert found.llf == pytest.approx(log_likelihood(found.a, found.b), rel=1e-13)
    h, x = 1e-4, np.array([found.a, found.b])
    steps = h * np.eye(2)
    signs = [
        (i, j, s * t, x + s * steps[i] + t * steps[j]) for i in (0, 1) for j in (0, 1) for s in (1, -1) for t in (1, -1)
    ]
    information = np.zeros((2, 2))
    for i, j, sign, at in signs:
        information[i, j] -= sign * log_likelihood(*at) / (4.0 * h * h)
    g, s2 = np.array([1.0, np.exp(2.0 * found.b)]), np.exp(2.0 * found.b)
    limit = np.exp(found.a + 0.5 * s2 + 1.6448536269514722 * np.sqrt(g @ np.linalg.solve(information, g)))
    assert found.link_limit(found.family.mean, 0.95) == pytest.approx(limit, rel=1e-5)


def test_limits_of_detects_are_drawn_from_their_distribution(sample):
    """(NDT10): shares among draws of the row with the largest detect, to four standard errors."""
    drawn = np.exp(draw_limits(sample, 20_000, np.random.default_rng(0), np.log)[:, TEXT.index("3.2")])
    for x in (0.1, 0.4, 1.0, 2.0):
        share = distribution(x, sample.values, sample.censored)
        assert np.mean(drawn <= x + 1e-12) == pytest.approx(
            share, abs=4.0 * np.sqrt(share * (1.0 - share) / 20_000) + 1e-12
        )


@pytest.mark.parametrize(("k", "r"), [(1, 1), (3, 2)])
def test_prediction_limits_solve_their_equation(sample, k, r):
    """(NDT11)."""
    found = maximise(sample)
    drawn = simulate(sample, found, 300, 2)
    limit, _ = predictive(found, drawn, 0.9, k, r)
    kappa = (np.log(limit) - found.a) / np.exp(found.b)
    assert np.mean(stats.norm.cdf(np.sqrt(r) * (drawn.a + kappa * drawn.s)) ** k) == pytest.approx(0.9, abs=1e-9)
