"""The search of a curve over measured inputs: length-scales and inducing inputs of curves with many waves."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import tobitgp as tg
from tobitgp.latent.uncertain_search import rough_fit


def waves(seed, n, width, rate, error, noise, limit=-9.0):
    """A sine at true inputs, which were measured with errors, and a limit below."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, width, n)
    y = np.maximum(np.sin(rate * x) + noise * rng.normal(size=n), limit)
    return {"x": x + error * rng.normal(size=n), "sx": np.full(n, error), "y": y}


def error_of_curve(res, width, rate):
    grid = np.linspace(0.02 * width, 0.98 * width, 500)
    return np.sqrt(np.mean(np.square(res.predict({"x": grid}, "latent") - np.sin(rate * grid))))


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_a_rough_fit_is_near_the_highest_evidence(rate):
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, 80))
    y = 2.0 + np.sin(rate * x) + 0.3 * rng.normal(size=80)

    def minus(logs, level):
        lengthscale, sd, sigma = np.exp(logs)
        V = sd**2 * np.exp(-0.5 * np.square((x[:, None] - x) / lengthscale)) + sigma**2 * np.eye(80)
        return -multivariate_normal(np.full(80, level), V).logpdf(y)

    best = minimize(lambda v: minus(v[1:], v[0]), [y.mean(), np.log(1.5 / rate), 0.0, -1.0], method="Nelder-Mead")
    lengthscale, scales = rough_fit(x, y)
    found = np.log([lengthscale, scales.sd[0], scales.sigma[0]])
    assert -minus(found, scales.level[0]) > -best.fun - 2.0
    assert abs(found[0] - best.x[1]) < 0.35
    assert scales.sigma[0] == pytest.approx(np.exp(best.x[3]), rel=0.2)


def test_a_rough_fit_of_many_rows_sees_all_their_range():
    """Of some of the rows, which are enough for 20 waves of length 2 pi, whose length-scale is near 2."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0, 125, 5000))
    assert 1.3 < rough_fit(x, np.sin(x) + 0.1 * rng.normal(size=5000))[0] < 2.6


@pytest.mark.slow
def test_a_curve_of_many_waves_is_found():
    """Ten waves, and one a year for ten years, with a limit; the root mean square of a sine is 0.71."""
    res = tg.fit("y ~ gp(x, se=sx)", waves(1, 300, 60, 1.0, 0.3, 0.1))
    assert res.converged
    assert error_of_curve(res, 60, 1.0) < 0.1
    data = waves(5, 240, 10, 2 * np.pi, 0.05, 0.2, -0.5)
    assert error_of_curve(tg.fit("y ~ gp(x, se=sx) | censor(-0.5)", data), 10, 2 * np.pi) < 0.2


def test_inducing_inputs_are_added_where_they_raise_the_bound():
    """With little noise, in six waves."""
    data = waves(2, 100, 16, 2.3, 0.02, 0.02)
    default, few = (tg.fit("y ~ gp(x, se=sx)", data, method=tg.VI(**given)) for given in ({}, {"inducing": 20}))
    assert few.parts.inducing == 20
    assert 20 < default.parts.inducing <= 100
    assert default.log_evidence > few.log_evidence + 0.5
    assert error_of_curve(default, 16, 2.3) < 0.03


def test_a_curve_of_one_wave_keeps_twenty_inducing_inputs():
    data = waves(3, 60, 6, 1.0, 0.3, 0.2)
    res = tg.fit("y ~ gp(x, se=sx)", data)
    assert (res.parts.inducing, len(res.fit_history)) == (20, 3)
    assert len(tg.fit("y ~ gp(x, se=sx)", data, method=tg.VI(n_starts=1)).fit_history) == 1
    assert tg.fit("y ~ gp(x, se=sx)", {k: v[:8] for k, v in data.items()}).parts.inducing == 8
