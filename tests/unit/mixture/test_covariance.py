import numpy as np
import pytest
import scipy.stats as st

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.mixture import EMCM, VBCM, DirichletProcess, fit_mixture
from tobitgp.mixture.fitted_mixture import held_parameters, linear_response, posterior_covariance

INF = np.inf


def cut_at(y, limit):
    return np.minimum(y, limit), np.where(y > limit, INF, y)


@pytest.mark.parametrize("censored", [0.0, 0.25, 0.5, 0.75])
def test_one_exponential_has_the_variance_of_the_exact_posterior(censored):
    life = np.random.default_rng(1).exponential(3.0, 60)
    rows = cut_at(life, np.quantile(life, 1.0 - censored))
    prior = {"a": 2.0, "b": 1.0}
    fit = fit_mixture(*rows, family="exponential", k=1, prior=prior, method=VBCM(tol=1e-13))
    rate = fit.parameters["rate"][0]
    assert linear_response(fit, *rows)[1, 1] == pytest.approx(rate**2 / (2.0 + fit.exact), rel=1e-5)
    assert posterior_covariance(fit)[1, 1] == pytest.approx(rate**2 / (2.0 + 60.0), rel=1e-10)


def test_point_estimates_have_the_inverse_of_the_observed_information():
    rng = np.random.default_rng(2)
    life = rng.exponential(3.0, 80)
    rows = cut_at(life, 4.0)
    fit = fit_mixture(*rows, family="exponential", k=1, method=EMCM(tol=1e-12))
    rate = fit.parameters["rate"][0]
    assert linear_response(fit, *rows)[1, 1] == pytest.approx(rate**2 / fit.exact, rel=1e-5)
    with pytest.raises(SpecError, match="no posterior"):
        posterior_covariance(fit)


@pytest.mark.slow
def test_posterior_and_likelihood_agree_on_many_rows():
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(-3, 1, 3000), rng.normal(3, 1.5, 2000)])
    rows = cut_at(y, 3.0)
    vb, em = (fit_mixture(*rows, method=method) for method in (VBCM(n_init=2), EMCM(n_init=2)))
    V, W = linear_response(vb, *rows), linear_response(em, *rows)
    np.testing.assert_allclose(np.sqrt(np.diag(V)), np.sqrt(np.diag(W)), rtol=0.05)
    np.testing.assert_allclose(V[0, 0], -V[0, 1], rtol=1e-6)  # two weights that sum to 1
    assert (np.diag(posterior_covariance(vb))[2:] < np.diag(V)[2:]).all()


def test_a_process_has_a_covariance():
    rng = np.random.default_rng(4)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    fit = fit_mixture(y, y, k=4, weights=DirichletProcess(), method=VBCM(n_init=2))
    V = linear_response(fit, y, y)
    held = np.flatnonzero(fit.counts > 20.0)
    assert np.sqrt(np.diag(V)[held]) == pytest.approx(np.sqrt(0.25 / 200), rel=0.3)
    assert np.diag(V)[4 + held] == pytest.approx((fit.parameters["sd"] ** 2 / fit.counts)[held], rel=0.2)


DISTRIBUTIONS = {
    "weibull": lambda scale, shape: st.weibull_min(np.exp(shape), scale=np.exp(scale)),
    "lognormal": lambda mean, sd: st.lognorm(np.exp(sd), scale=np.exp(mean)),
    "gaussian": lambda mean, sd: st.norm(mean, np.exp(sd)),
}


def hessian_errors(name, start, lower, upper):
    """Errors of (logit weight, two parameters of each of two components) at the maximum, written out by scipy."""
    ends, count = np.unique(np.column_stack([lower, upper]), axis=0, return_counts=True)
    lower, upper = ends.T
    exact = lower == upper

    def minus_log_likelihood(x):
        out = []
        for weight, *own in zip((x[0], -x[0]), x[1:3], x[3:5], strict=True):
            distribution = DISTRIBUTIONS[name](*own)
            log_p = np.where(exact, distribution.logpdf(lower), distribution.logsf(lower))
            out.append(log_p - np.logaddexp(0.0, -weight))
        return -np.logaddexp(*out) @ count

    def gradient(x):
        return slopes(minus_log_likelihood, x, 1e-4)

    def slopes(of, x, h):
        moves = h * np.eye(len(x))
        parts = [8.0 * (of(x + e) - of(x - e)) - (of(x + 2.0 * e) - of(x - 2.0 * e)) for e in moves]
        return np.array(parts) / (12.0 * h)

    x = start
    for _ in range(3):
        H = slopes(gradient, x, 1e-2)
        x = x - np.linalg.solve(0.5 * (H + H.T), gradient(x))
    assert np.abs(gradient(x)).max() < 1e-4
    H = slopes(gradient, x, 1e-2)
    return x, np.sqrt(np.diag(np.linalg.inv(0.5 * (H + H.T))))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weibull", "lognormal", "gaussian"])
def test_errors_on_a_flat_likelihood_are_those_of_its_hessian(name):
    """Three quarters of these rows are censored, and passes of EM gain a thousandth of what is left."""
    data = tg.datasets.load("rossi")
    lower = data["week"].to_numpy(float)
    upper = np.where(data["event"] == 1, lower, INF)
    n_init = 1 if name == "weibull" else 10  # with a component moved the shape ends at its bound
    fit = fit_mixture(lower, upper, family=name, method=EMCM(n_init=n_init))
    first, second = fit.parameters.values()
    first = np.log(first) if name == "weibull" else first
    start = np.concatenate([[np.log(fit.weights[0] / fit.weights[1])], first, np.log(second)])
    x, errors = hessian_errors(name, start, lower, upper)
    np.testing.assert_allclose((start - x) / errors, 0.0, atol=0.01)
    value, error = fit.values, np.sqrt(np.diag(linear_response(fit, lower, upper)))
    slopes = np.concatenate([[1.0 / (value[0] * value[1])], np.ones(4)])
    slopes[3:] = 1.0 / value[4:]
    if name == "weibull":
        slopes[1:3] = 1.0 / value[2:4]
    np.testing.assert_allclose(error[1:] * slopes, errors, rtol=0.005)


def test_a_component_at_its_floor_leaves_the_errors_of_the_other_alone():
    """Six rows on one spot, far from the others: the errors are those of the others by themselves."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(0.0, 1.0, 60), np.full(6, 12.0)])
    fit = fit_mixture(y, y, method=EMCM())
    V = linear_response(fit, y, y)
    np.testing.assert_array_equal(held_parameters(fit), [False, False, False, False, False, True])
    np.testing.assert_array_equal(np.isnan(np.diag(V)), held_parameters(fit))
    w, sd = 60 / 66, y[:60].std()
    exact = [w * (1 - w) / 66, w * (1 - w) / 66, sd**2 / 60, fit.parameters["sd"][1] ** 2 / 6, 0.5 * sd**2 / 60]
    np.testing.assert_allclose(np.diag(V)[:5], exact, rtol=1e-3)


@pytest.mark.parametrize("name", ["exponential", "poisson"])
def test_a_component_of_zeros_stands_at_its_bound(name):
    y = np.concatenate([np.zeros(20), np.random.default_rng(1).poisson(9.0, 60) + 1.0])
    fit = fit_mixture(y, y, family=name, method=EMCM())
    held = held_parameters(fit)
    assert held.sum() == 1
    np.testing.assert_array_equal(np.isnan(np.diag(linear_response(fit, y, y))), held)
