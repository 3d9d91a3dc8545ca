"""Coefficients, hyper-parameters, covariances, tails and intervals."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from support.dense import at_its_average

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.estimates import linear_posterior


def test_linear_posterior_against_dense_algebra(maximised):
    """The intercept is f at zeros and slopes are differences of f, with the process at its average."""
    mean, V = at_its_average(maximised, np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    T = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    linear = linear_posterior(maximised.parts.fitted, maximised.parts.gp)
    assert np.allclose(linear.mean[0], T @ mean)
    assert np.allclose(linear.covariance[0], T @ V @ T.T)
    assert np.allclose(maximised.bse.iloc[:3], np.sqrt(np.diag(T @ V @ T.T)))


def test_mixed_over_the_design_points(averaged):
    linear = linear_posterior(averaged.parts.fitted, averaged.parts.gp)
    w, mean, V = linear.weight, linear.mean, linear.covariance
    total = np.einsum("j,jkl->kl", w, V + np.einsum("jk,jl->jkl", mean, mean))
    total -= np.outer(w @ mean, w @ mean)
    assert np.allclose(linear.total_covariance(), total)
    assert np.allclose(linear.errors() ** 2, np.diag(total))
    p = mean.shape[1]
    ends = averaged.conf_int(0.1).to_numpy()[:p]
    for k, probability in enumerate((0.05, 0.95)):
        assert np.allclose(w @ ndtr((ends[:, k] - mean) / linear.sd), probability)


def test_p_values_and_intervals_agree(averaged):
    """A coefficient's p-value is the level at which its interval touches zero."""
    p = averaged.pvalues["z"]
    for name in ("Intercept", "z", "g[T.b]"):
        p = averaged.pvalues[name]
        if p > 1e-8:
            assert np.abs(averaged.conf_int(p).loc[name]).min() < 1e-6


def test_one_point_is_the_normal(maximised):
    names = ["Intercept", "z", "g[T.b]"]
    z = (maximised.params / maximised.bse)[names]
    assert np.allclose(maximised.tvalues[names], z)
    assert np.allclose(maximised.pvalues[names], 2 * ndtr(-np.abs(z)))
    ends = maximised.conf_int(0.2).loc[names]
    reach = ndtri(0.9) * maximised.bse[names]
    assert np.allclose(ends[0], maximised.params[names] - reach)
    assert np.allclose(ends[1], maximised.params[names] + reach)


def test_hyper_parameters_on_the_log_scale(averaged):
    names = list(averaged.parts.fitted.parameters.names)
    se = np.sqrt(np.diag(averaged.parts.fitted.log_covariance))
    assert np.allclose(averaged.bse[names], averaged.params[names] * se)
    ends = averaged.conf_int()
    assert np.allclose(np.log(ends.loc[names, 1]) - np.log(averaged.params[names]), -ndtri(0.025) * se)
    assert np.allclose(ends.loc[names, 0] * ends.loc[names, 1], averaged.params[names] ** 2)
    assert averaged.pvalues[names].isna().all()
    assert averaged.tvalues[names].isna().all()


def test_covariance_of_all_parameters(averaged):
    V = averaged.cov_params()
    assert list(V.index) == list(V.columns) == list(averaged.params.index)
    assert np.allclose(np.sqrt(np.diag(V)), averaged.bse)
    p = averaged.parts.fitted.n_linear
    assert (V.iloc[:p, p:] == 0).all(axis=None)
    assert np.allclose(V, V.T)


def test_fixed_parameters(mixed):
    fixed = {"z": 0.5, "sigma": 0.3}
    res = tg.fit("y ~ z + gp(x) | censor(low, 1.4)", mixed, fixed=fixed)
    for name, value in fixed.items():
        assert np.isclose(res.params[name], value)
        assert res.bse[name] == 0.0
        assert np.isnan(res.tvalues[name])
        assert np.isnan(res.pvalues[name])
        assert np.allclose(res.conf_int().loc[name], value)
    assert (res.bse.drop(["z", "sigma"]) > 0).all()


def test_hyperparameters_refit(maximised, mixed):
    again = tg.fit("y ~ z + g + gp(x) | censor(low, 1.4)", mixed, fixed=maximised.hyperparameters)
    assert np.isclose(again.log_evidence, maximised.log_evidence, atol=1e-4)
    assert np.allclose(again.params, maximised.params, atol=1e-3)


def test_units_of_the_user(mixed):
    """Everything scales with the response."""
    small = tg.fit("y ~ z + gp(x)", mixed, hyper="maximize")
    big = tg.fit("y ~ z + gp(x)", mixed.assign(y=1000 * mixed["y"]), hyper="maximize")
    scale = np.where([name.startswith("lengthscale") for name in small.params.index], 1.0, 1000.0)
    assert np.allclose(big.params, scale * small.params, rtol=1e-3)
    assert np.allclose(big.bse, scale * small.bse, rtol=1e-2)
    assert np.allclose(big.pvalues, small.pvalues, equal_nan=True, atol=1e-3)


@pytest.mark.parametrize("alpha", [0, 1, 5, -0.1, "0.05", True, None])
def test_bad_alpha(maximised, alpha):
    for method in (maximised.conf_int, maximised.summary_frame, maximised.summary):
        with pytest.raises(SpecError, match="alpha="):
            method(alpha)
