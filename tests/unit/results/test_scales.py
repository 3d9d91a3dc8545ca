"""Every scale against draws from the mixture."""

import numpy as np
import pytest
from tobitgp.results.clipped import clipped_mean
from tobitgp.results.normals import Mixture
from tobitgp.results.scales import SCALES

INF = np.inf
DRAWS = 300_000
ROWS = 8


def mixture(rng, log_time, lower, upper, J=7):
    mean = np.linspace(-1.0, 1.5, ROWS) + 0.2 * rng.normal(size=(J, ROWS))
    sd = 0.4 * np.exp(0.4 * rng.normal(size=(J, ROWS)))
    sigma = 0.4 * np.exp(0.4 * rng.normal(size=J))
    return Mixture(rng.dirichlet(np.ones(J)), mean, sd, sigma, log_time, np.full(ROWS, lower), np.full(ROWS, upper))


def draw(q, what, rng):
    """Draws (DRAWS, ROWS) of the quantity whose uncertainty is reported."""
    j = rng.choice(len(q.weight), DRAWS, p=q.weight)
    f = q.mean[j] + q.sd[j] * rng.normal(size=(DRAWS, ROWS))
    sigma = q.sigma[j, None]
    match what:
        case "latent":
            return f
        case "median":
            return np.exp(f) if q.log_time else f
        case "uncensored":
            return np.exp(f + 0.5 * sigma**2) if q.log_time else f
    return clipped_mean(f, np.broadcast_to(sigma, f.shape), q.lower, q.upper, log_time=q.log_time)


def draw_response(q, rng):
    """Draws of a new y*."""
    j = rng.choice(len(q.weight), DRAWS, p=q.weight)
    sd = np.sqrt(q.sd[j] ** 2 + q.sigma[j, None] ** 2)
    y = q.mean[j] + sd * rng.normal(size=(DRAWS, ROWS))
    return np.exp(y) if q.log_time else y


@pytest.mark.parametrize("what", SCALES)
@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize(("lower", "upper"), [(-0.5, INF), (-INF, 1.2), (0.5, 1.5), (-INF, INF)])
def test_against_draws(rng, what, log_time, lower, upper):
    q, scale = mixture(rng, log_time, lower, upper), SCALES[what]
    g = draw(q, what, rng)
    error = g.std(axis=0) / np.sqrt(DRAWS) + 1e-12
    if what != "median":
        assert (np.abs(scale.point(q) - g.mean(axis=0)) < 5 * error).all()
    squares = (g - g.mean(axis=0)) ** 2
    assert (np.abs(scale.sd(q) ** 2 - squares.mean(axis=0)) < 6 * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-12).all()
    for p in (0.025, 0.5, 0.975):
        x = scale.quantile(q, p)
        below, at_most = (g < x - 1e-9).mean(axis=0), (g <= x + 1e-9).mean(axis=0)
        slack = 5 * np.sqrt(p * (1 - p) / DRAWS)
        assert (below < p + slack).all()
        assert (at_most > p - slack).all()


@pytest.mark.parametrize("log_time", [False, True])
def test_points_describe_a_new_response(rng, log_time):
    q = mixture(rng, log_time, 0.5, 1.5)
    y = draw_response(q, rng)
    error = y.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(SCALES["uncensored"].point(q) - y.mean(axis=0)) < 5 * error).all()
    clipped = np.clip(y, 0.5, 1.5)
    assert (np.abs(SCALES["observed"].point(q) - clipped.mean(axis=0)) < 5 * clipped.std(axis=0) / DRAWS**0.5).all()
    below = (y < SCALES["median"].point(q)).mean(axis=0)
    assert (np.abs(below - 0.5) < 5 * 0.5 / np.sqrt(DRAWS)).all()


@pytest.mark.parametrize("log_time", [False, True])
def test_one_component(log_time):
    """With one design point all is a monotone function of one normal."""
    q = Mixture(
        np.ones(1),
        np.full((1, 1), 0.2),
        np.full((1, 1), 0.3),
        np.full(1, 0.5),
        log_time,
        np.full(1, 0.5),
        np.full(1, 1.5),
    )
    f = 0.2 + 0.3 * 1.959963984540054
    expected = clipped_mean(np.full((1, 1), f), np.full((1, 1), 0.5), q.lower, q.upper, log_time=log_time)[0]
    assert np.allclose(SCALES["observed"].quantile(q, 0.975), expected)
    assert np.allclose(SCALES["median"].point(q), np.exp(0.2) if log_time else 0.2)


@pytest.mark.parametrize("log_time", [False, True])
def test_limits_of_each_row(rng, log_time):
    """Rows with different kinds of limits do as each would alone."""
    q = mixture(rng, log_time, 0.5, 1.5)
    lower, upper = np.tile([0.5, -INF, 0.6, -INF], 2), np.tile([1.5, 1.2, INF, INF], 2)
    together = Mixture(q.weight, q.mean, q.sd, q.sigma, log_time, lower, upper)
    for i in range(ROWS):
        one = slice(i, i + 1)
        alone = Mixture(q.weight, q.mean[:, one], q.sd[:, one], q.sigma, log_time, lower[one], upper[one])
        for statistic in (
            SCALES["observed"].point,
            SCALES["observed"].sd,
            lambda m: SCALES["observed"].quantile(m, 0.1),
        ):
            assert np.allclose(statistic(together)[i], statistic(alone)[0], rtol=1e-8)


def test_deeply_censored_rows_are_finite(rng):
    q = mixture(rng, False, 6.0, INF)
    far = Mixture(q.weight, q.mean - 30.0, q.sd, q.sigma, False, q.lower, q.upper)
    for p in (0.025, 0.975):
        assert np.allclose(SCALES["observed"].quantile(far, p), 6.0)
    assert np.allclose(SCALES["observed"].sd(far), 0.0)


def test_observed_without_limits_is_uncensored(rng):
    for log_time in (False, True):
        q = mixture(rng, log_time, -INF, INF)
        for name in ("point", "sd"):
            values = [getattr(SCALES[what], name)(q) for what in ("observed", "uncensored")]
            assert np.allclose(*values, rtol=1e-10)
        assert np.allclose(SCALES["observed"].quantile(q, 0.9), SCALES["uncensored"].quantile(q, 0.9))
