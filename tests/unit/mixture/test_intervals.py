import numpy as np
import pytest
from scipy import stats
from support.mixtures import EVERY, NAMES, random_rows

from tobitgp.mixture import EMCM, VBCM, fit_mixture, intervals, linear_response, posterior_covariance
from tobitgp.mixture.array_fit import MIXTURE_FAMILIES


def test_without_censoring_intervals_of_one_gaussian_are_nearly_those_of_its_posterior():
    """Under q the mean is Student's t with 2 a degrees of freedom, and log sd is as skew as a log gamma variable."""
    y = np.random.default_rng(0).normal(3.0, 2.0, 12)
    fit = fit_mixture(y, y, k=1)
    mean, tau, a, b = fit.state.components[:, 0]
    shift, scale = fit.units
    found = intervals(fit, posterior_covariance(fit))
    t = stats.t(2.0 * a).ppf([0.025, 0.975]) * np.sqrt(b / (a * tau))
    np.testing.assert_allclose(found[1], shift + scale * (mean + t), rtol=1e-9)
    exact = scale * np.sqrt(b / stats.gamma(a).ppf([0.975, 0.025]))
    np.testing.assert_allclose(np.log(found[2] / exact), 0.0, atol=0.15)


@pytest.mark.parametrize("name", ["exponential", "poisson"])
def test_intervals_of_a_rate_are_those_of_its_posterior(name):
    y = np.random.default_rng(1).poisson(3.0, 8).astype(float)
    fit = fit_mixture(y, y, family=name, k=1)
    a, b = fit.state.components[:, 0]
    exact = stats.gamma(a, scale=1.0 / (b * fit.units.scale)).ppf([0.005, 0.995])
    np.testing.assert_allclose(intervals(fit, posterior_covariance(fit), level=0.99)[1], exact, rtol=1e-9)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("method", [VBCM(n_init=2), EMCM(n_init=2)], ids=["vbcm", "em"])
def test_ends_lie_about_the_estimates_and_where_parameters_may(name, method):
    rows = random_rows(np.random.default_rng(3), name, 80)
    fit = fit_mixture(*rows, family=name, k=2, method=method)
    V = linear_response(fit, *rows)
    narrow, wide = intervals(fit, V, 0.5), intervals(fit, V, 0.95)
    known = np.isfinite(V.diagonal())
    assert known.sum() >= 4
    assert (wide[known, 0] < narrow[known, 0]).all()
    assert (narrow[known, 0] < fit.values[known]).all()
    assert (fit.values[known] < narrow[known, 1]).all()
    assert (narrow[known, 1] < wide[known, 1]).all()
    assert np.isnan(wide[~known]).all()
    free = np.array([name.startswith(("mean", "location")) for name in fit.names])
    assert (wide[known & ~free] >= 0.0).all()
    assert (wide[:2] <= 1.0).all()


def test_the_weight_of_one_component_is_known():
    y = np.arange(1.0, 9.0)
    fit = fit_mixture(y, y, k=1)
    np.testing.assert_array_equal(intervals(fit, linear_response(fit, y, y))[0], [1.0, 1.0])


def test_many_rows_need_no_shape():
    rng = np.random.default_rng(4)
    y = np.concatenate([rng.normal(-3, 1, 4000), rng.normal(3, 1, 4000)])
    fit = fit_mixture(y, y, method=VBCM(n_init=1))
    V = linear_response(fit, y, y)
    error = np.sqrt(V.diagonal())
    normal = fit.values[:, None] + 1.959964 * error[:, None] * [-1.0, 1.0]
    np.testing.assert_allclose((intervals(fit, V) - normal) / error[:, None], 0.0, atol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_of_unknown_or_huge_errors_are_unknown_and_raise_no_warning(name):
    family = MIXTURE_FAMILIES[name]
    values = np.ones((len(family.parameters), 3))
    low, high = family.interval(values, np.outer(np.ones(len(values)), [np.nan, 1e-8, 50.0]), 0.95)
    assert np.isnan(low[:, 0]).all()
    assert (high[:, 1] - low[:, 1] < 1e-6).all()
    if name in ("exponential", "poisson"):
        assert (low[:, 2] < 1e-3).all()
    else:
        assert np.isnan([low[:, 2], high[:, 2]]).all()  # an sd between 0 and 1e73 is no answer


def test_intervals_widen_until_they_say_nothing():
    family = MIXTURE_FAMILIES["gaussian"]
    errors = np.array([0.1, 0.3, 0.5, 0.7, 0.72, 2.0])
    low, high = family.interval(np.ones((2, 6)), np.stack([errors, errors]), 0.95)
    assert (np.diff(high[:, :4] - low[:, :4], axis=1) > 0.0).all()
    assert (high[1, :4] < 1e4).all()
    assert np.isnan([low[:, 4:], high[:, 4:]]).all()


def test_a_mean_has_an_interval_where_the_sd_stands_at_the_floor():
    y = np.full(10, 3.0)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    V = linear_response(fit, y, y)
    assert np.isnan(V[2, 2])
    found = intervals(fit, V)[1]
    np.testing.assert_allclose(found, 3.0 + 1.959964 * np.sqrt(V[1, 1]) * np.array([-1.0, 1.0]), rtol=1e-6)
