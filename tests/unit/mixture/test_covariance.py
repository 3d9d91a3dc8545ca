import numpy as np
import pytest

from tobitgp.errors import SpecError
from tobitgp.mixture import EMCM, VBCM, DirichletProcess, fit_mixture
from tobitgp.mixture.covariance import linear_response, posterior_covariance

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
