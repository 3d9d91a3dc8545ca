"""Every question against draws from the posterior of f, under normal noise."""

from dataclasses import replace

import numpy as np
import pytest
from support.posteriors import asked, nodes

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise
from tobitgp.posterior.questions import observed

WHATS = ("latent", "median", "uncensored", "observed")

INF = np.inf
DRAWS = 300_000
ROWS = 8


def mixture(rng, log_time, lower, upper, J=7):
    mean = np.linspace(-1.0, 1.5, ROWS) + 0.2 * rng.normal(size=(J, ROWS))
    sd = 0.4 * np.exp(0.4 * rng.normal(size=(J, ROWS)))
    sigma = 0.4 * np.exp(0.4 * rng.normal(size=J))
    limits = np.full(ROWS, lower), np.full(ROWS, upper)
    return nodes(rng.dirichlet(np.ones(J)), mean, sd, sigma, log_time), limits


def clipped_mean(mean, sd, lower, upper, *, log_time):
    return LocationScale(NormalNoise(), mean, sd, log_time).clipped_mean(lower, upper)


def draw(q, limits, what, rng):
    """Draws (DRAWS, ROWS) of the quantity whose uncertainty is reported."""
    j = rng.choice(len(q.weight), DRAWS, p=q.weight)
    f = q.mean[j] + q.sd[j] * rng.normal(size=(DRAWS, ROWS))
    sigma = q.sigma[j]
    match what:
        case "latent":
            return f
        case "median":
            return np.exp(f) if q.log else f
        case "uncensored":
            return np.exp(f + 0.5 * sigma**2) if q.log else f
    return clipped_mean(f, np.broadcast_to(sigma, f.shape), *limits, log_time=q.log)


def draw_response(q, rng):
    """Draws of a new y*."""
    j = rng.choice(len(q.weight), DRAWS, p=q.weight)
    sd = np.sqrt(q.sd[j] ** 2 + q.sigma[j] ** 2)
    y = q.mean[j] + sd * rng.normal(size=(DRAWS, ROWS))
    return np.exp(y) if q.log else y


@pytest.mark.slow
@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize(("lower", "upper"), [(-0.5, INF), (-INF, 1.2), (0.5, 1.5), (-INF, INF)])
def test_against_draws(rng, what, log_time, lower, upper):
    q, limits = mixture(rng, log_time, lower, upper)
    question = asked(what, log_time, *limits)
    g = draw(q, limits, what, rng)
    error = g.std(axis=0) / np.sqrt(DRAWS) + 1e-12
    if what != "median":
        assert (np.abs(q.value(question) - g.mean(axis=0)) < 5 * error).all()
    squares = (g - g.mean(axis=0)) ** 2
    assert (np.abs(q.se(question) ** 2 - squares.mean(axis=0)) < 6 * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-12).all()
    orders = (0.025, 0.5, 0.975)
    for p, x in zip(orders, q.quantiles(question, orders), strict=True):
        below, at_most = (g < x - 1e-9).mean(axis=0), (g <= x + 1e-9).mean(axis=0)
        slack = 5 * np.sqrt(p * (1 - p) / DRAWS)
        assert (below < p + slack).all()
        assert (at_most > p - slack).all()


@pytest.mark.parametrize("log_time", [False, True])
def test_points_describe_a_new_response(rng, log_time):
    q, limits = mixture(rng, log_time, 0.5, 1.5)
    y = draw_response(q, rng)
    error = y.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(q.value(asked("uncensored", log_time)) - y.mean(axis=0)) < 5 * error).all()
    clipped = np.clip(y, 0.5, 1.5)
    assert (
        np.abs(q.value(asked("observed", log_time, *limits)) - clipped.mean(axis=0))
        < 5 * clipped.std(axis=0) / DRAWS**0.5
    ).all()
    below = (y < q.value(asked("median", log_time))).mean(axis=0)
    assert (np.abs(below - 0.5) < 5 * 0.5 / np.sqrt(DRAWS)).all()


@pytest.mark.parametrize("log_time", [False, True])
def test_one_component(log_time):
    """With one design point all is a monotone function of one normal."""
    q = nodes(np.ones(1), np.full((1, 1), 0.2), np.full((1, 1), 0.3), np.full(1, 0.5), log_time)
    limits = np.full(1, 0.5), np.full(1, 1.5)
    f = 0.2 + 0.3 * 1.959963984540054
    expected = clipped_mean(np.full((1, 1), f), np.full((1, 1), 0.5), *limits, log_time=log_time)[0]
    assert np.allclose(q.quantiles(asked("observed", log_time, *limits), (0.975,)), expected)
    assert np.allclose(q.value(asked("median", log_time)), np.exp(0.2) if log_time else 0.2)


@pytest.mark.parametrize("log_time", [False, True])
def test_limits_of_each_row(rng, log_time):
    """Rows with different kinds of limits do as each would alone."""
    q, _ = mixture(rng, log_time, 0.5, 1.5)
    lower, upper = np.tile([0.5, -INF, 0.6, -INF], 2), np.tile([1.5, 1.2, INF, INF], 2)
    together = q.statistics(asked("observed", log_time, lower, upper), 0.8, se=True)
    for i in range(ROWS):
        one = slice(i, i + 1)
        alone = q.take(one).statistics(asked("observed", log_time, lower[one], upper[one]), 0.8, se=True)
        for name, values in together.items():
            assert np.allclose(values[i], alone[name][0], rtol=1e-8)


def test_deeply_censored_rows_are_finite(rng):
    q, limits = mixture(rng, False, 6.0, INF)
    found = replace(q, mean=q.mean - 30.0).statistics(asked("observed", False, *limits), 0.95, se=True)
    assert np.allclose([found["lower"], found["upper"]], 6.0)
    assert np.allclose(found["se"], 0.0)


def test_observed_without_limits_is_uncensored(rng):
    for log_time in (False, True):
        q, limits = mixture(rng, log_time, -INF, INF)
        shown, free = (
            q.statistics(asked(what, log_time, *limits), 0.8, se=True) for what in ("observed", "uncensored")
        )
        for name, values in shown.items():
            assert np.allclose(values, free[name], rtol=1e-10)


@pytest.mark.parametrize("sd", [5.0, 11.0, 15.0])
def test_errors_of_clipped_times_stay_finite_far_out(sd):
    """All mass that counts lies above the limit: the sd of exp(f + sigma^2 / 2) in closed form."""
    one = np.ones((1, 1))
    wide = nodes(np.ones(1), 3.0 * one, sd * one, np.array([0.3]), True)
    question = observed(True, np.full(1, np.exp(3.0)), np.full(1, INF), np.full(1, -INF), np.full(1, INF))
    exact = np.exp(3.0 + 0.5 * 0.3**2 + sd**2) * np.sqrt(-np.expm1(-(sd**2)))
    np.testing.assert_allclose(wide.se(question), exact, rtol=1e-6)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("noise", [Gumbel(), Logistic()])
@pytest.mark.parametrize("limits", [(0.2, 1.5), (0.0, np.inf), (-np.inf, 1.0)])
def test_rows_with_the_same_limits_have_the_means_of_rows_by_themselves(rng, log, noise, limits):
    q = nodes([0.3, 0.7], rng.normal(size=(2, 6)), rng.uniform(0.05, 0.4, (2, 6)), [0.3, 0.4], log, (noise,) * 2)
    lower, upper = (np.full(6, end) for end in limits)
    found = q.value(asked("observed", log, lower, upper))
    alone = np.r_[lower, 0.3], np.r_[upper, 0.9]  # beside a row with other limits
    want = q.take(np.r_[:6, 0]).value(asked("observed", log, *alone))[:6]
    np.testing.assert_allclose(found, want, rtol=1e-10)
