import numpy as np
import pytest
from scipy import stats
from support.posteriors import rows_of

from tobitgp.data.arrays import CensoredResponse
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.posterior.nodes import Nodes
from tobitgp.results.residuals import Tails, pearson

pytestmark = pytest.mark.diagonal

INF = np.inf
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(5.0)]


def residuals(kind, rows, lower, upper, uniform=None, entry=None, exit=None):
    """Residuals of rows at given locations and scales, as a regression has them."""
    entry = np.full_like(lower, -INF) if entry is None else entry
    exit = np.full_like(lower, INF) if exit is None else exit
    free = np.full_like(lower, INF)
    tails = Tails.of(rows, CensoredResponse(lower, upper, -free, free, entry, exit, np.ones_like(lower)))
    return getattr(tails, kind)(*([] if uniform is None else [uniform]))


def pearson_residuals(rows, lower, upper):
    one = rows.location[None]
    at = Nodes(np.ones(1), one, 0.0 * one, rows.scale[None], noises=(rows.noise,))
    return pearson(at, rows.conditional_mean(lower, upper))


def simulated(distribution, rng, n=40_000):
    eta, tau = rng.normal(size=n), rng.normal(-0.5, 0.2, size=n)
    y = eta + np.exp(tau) * distribution.ppf(rng.random(n))
    kind = rng.integers(0, 4, size=n)
    cut = eta + rng.normal(size=n)
    grid = np.floor(y)
    lower = np.where(kind == 1, np.where(y <= cut, -INF, y), np.where(kind == 2, np.minimum(y, cut), y))
    upper = np.where(kind == 1, np.maximum(y, cut), np.where(kind == 2, np.where(y > cut, INF, y), y))
    upper = np.where((kind == 1) & (y > cut), y, upper)
    lower, upper = np.where(kind == 3, grid, lower), np.where(kind == 3, grid + 1.0, upper)
    return rows_of(distribution, eta, tau), lower, upper, y


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_quantile_residuals_are_normal(distribution, rng):
    rows, lower, upper, _ = simulated(distribution, rng)
    found = residuals("quantile", rows, lower, upper, rng.random(len(lower)))
    assert stats.kstest(found, "norm").pvalue > 1e-3


def test_quantile_residuals_in_windows(rng):
    n = 40_000
    eta, entry, exit = rng.normal(size=n), rng.normal(-0.5, 0.5, size=n), rng.normal(1.5, 0.5, size=n)
    y = eta + rng.normal(size=n)
    keep = (entry < y) & (y <= exit)
    rows = rows_of(NormalNoise(), eta[keep], np.zeros(keep.sum()))
    y, entry, exit = y[keep], entry[keep], exit[keep]
    right = y > 0.8
    lower, upper = np.where(right, np.maximum(0.8, entry), y), np.where(right, exit, y)
    found = residuals("quantile", rows, lower, upper, rng.random(len(y)), entry, exit)
    assert stats.kstest(found, "norm").pvalue > 1e-3


def test_quantile_residuals_in_far_tails():
    rows = rows_of(NormalNoise(), np.zeros(4), np.zeros(4))
    lower, upper = np.array([50.0, -50.0, 60.0, 40.0]), np.array([50.0, -50.0, INF, 40.0 + 1e-12])
    found = residuals("quantile", rows, lower, upper, np.full(4, 0.5))
    np.testing.assert_allclose(found, [50.0, -50.0, 60.01155, 40.0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_response_and_pearson_residuals_have_mean_zero(distribution, rng):
    rows, lower, upper, _ = simulated(distribution, rng)
    some = (lower == upper) | (np.floor(lower) == lower)
    for found in (rows.conditional_mean(lower, upper) - rows.mean(), pearson_residuals(rows, lower, upper)):
        assert np.isfinite(found).all()
        part = found[some]
        assert abs(found.mean()) < 5.0 * found.std() / np.sqrt(len(found))
        assert part.std() > 0.0
    exact = lower == upper
    want = (lower - rows.mean())[exact]
    sd = rows.scale * np.sqrt(distribution.variance)
    np.testing.assert_allclose(pearson_residuals(rows, lower, upper)[exact], want / sd[exact], atol=1e-12)


def test_pearson_residuals_need_a_variance():
    rows = rows_of(StudentNoise(1.5), np.zeros(1), np.zeros(1))
    assert np.isnan(pearson_residuals(rows, np.ones(1), np.ones(1))).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_martingale_residuals_have_mean_zero(distribution, rng):
    rows, lower, upper, _ = simulated(distribution, rng)
    found = residuals("martingale", rows, lower, upper)
    assert abs(found.mean()) < 5.0 * found.std() / np.sqrt(len(found))
    interval = np.isfinite(lower) & np.isfinite(upper) & (lower < upper)
    part = rows.take(interval)
    a, b = part.standardise(lower[interval]), part.standardise(upper[interval])
    below, above = distribution.log_sf(a), distribution.log_sf(b)
    S, T = np.exp(below), np.exp(above)
    clear = S - T > 1e-3
    want = ((S * below - T * above) / (S - T))[clear]
    np.testing.assert_allclose(found[interval][clear], want, rtol=1e-9, atol=1e-11)


def test_cox_snell_residuals():
    rows = rows_of(Gumbel(), np.zeros(5), np.zeros(5), True)
    lower = np.array([0.5, 0.5, 1.0, 1.0, -INF])
    upper = np.array([0.5, INF, 1.0 + 1e-9, 1.1, 1.0])
    found = residuals("cox_snell", rows, lower, upper)
    left = 1.0 - 1.0 / np.expm1(1.0)
    np.testing.assert_allclose(found, [0.5, 0.5, 1.0, 2.0 - 0.1 / np.expm1(0.1), left], rtol=1e-8)
    late = residuals("cox_snell", rows, lower, upper, entry=np.array([0.2, -INF, -INF, -INF, -INF]))
    np.testing.assert_allclose(late - found, [-0.2, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_hazards_inside_windows(distribution, rng):
    n = 20_000
    eta = rng.normal(size=n)
    y = eta + 0.8 * distribution.ppf(rng.random(n))
    entry, exit = np.where(rng.random(n) < 0.5, -INF, -0.6), np.where(rng.random(n) < 0.5, INF, 1.7)
    seen = (entry < y) & (y <= exit)
    y, entry, exit = y[seen], entry[seen], exit[seen]
    rows = rows_of(distribution, eta[seen], np.full(len(y), np.log(0.8)))
    hazard = residuals("cox_snell", rows, y, y, entry=entry, exit=exit)
    assert stats.kstest(hazard, "expon").pvalue > 1e-3
    cut = np.maximum(0.9, entry + 0.1)
    lower, upper = np.where(y > cut, cut, y), np.where(y > cut, exit, y)
    found = residuals("martingale", rows, lower, upper, entry=entry, exit=exit)
    assert abs(found.mean()) < 5.0 * found.std() / np.sqrt(len(found))
