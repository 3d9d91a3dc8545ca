"""Coefficients, hyper-parameters, covariances, tails and intervals."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from support.dense import at_its_average

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.parameter_estimates import linear_posterior


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


def test_hyper_parameters_on_the_log_scale(maximised):
    names = list(maximised.parts.fitted.parameters.names)
    se = np.sqrt(np.diag(maximised.parts.fitted.log_covariance))
    assert np.allclose(maximised.bse[names], maximised.params[names] * se)
    ends = maximised.conf_int()
    for side, sign in ((0, -1.0), (1, 1.0)):
        reach = sign * ndtri(0.975) * se
        assert np.allclose(ends.loc[names, side], maximised.params[names] * np.exp(reach))


def test_hyper_parameters_that_are_integrated_over():
    """Moments and tails of the exact posterior of length-scale and sigma on a grid of their logarithms."""
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 1.0, 30)
    y = np.sin(5.0 * x) + 0.4 * rng.normal(size=30)
    priors = {"lengthscale(gp(x))": tg.LogNormal(0.3, 0.7), "sigma": tg.LogNormal(0.3, 1.0)}
    res = tg.fit(
        "y ~ 0 + gp(x)", {"x": x, "y": y}, priors=priors, fixed={"sd(gp(x))": 1.0}, method=tg.EP(inducing=None)
    )

    length, sigma = np.linspace(-3.0, 2.0, 101), np.linspace(-2.2, 0.4, 81)
    log_density = np.empty((101, 81))
    for i, l in enumerate(length):
        values, vectors = np.linalg.eigh(np.exp(-0.5 * np.square((x[:, None] - x) / np.exp(l))))
        variance = np.maximum(values, 0.0)[:, None] + np.exp(2.0 * sigma)
        log_density[i] = -0.5 * (np.square(vectors.T @ y)[:, None] / variance + np.log(variance)).sum(axis=0)
    log_density -= 0.5 * np.square((length[:, None] - np.log(0.3)) / 0.7) + 0.5 * np.square(sigma - np.log(0.3))
    density = np.exp(log_density - log_density.max())
    ends = np.log(res.conf_int())
    for name, grid, p in (
        ("lengthscale(gp(x))", length, density.sum(axis=1)),
        ("sigma", sigma, density.sum(axis=0)),
    ):
        cdf = np.cumsum(p) / p.sum() - 0.5 * p / p.sum()
        below, upto = np.interp(ends.loc[name], grid, cdf)
        assert 0.015 < below < 0.035
        assert 0.015 < 1.0 - upto < 0.035
        mean = grid @ p / p.sum()
        sd = np.sqrt(np.square(grid - mean) @ p / p.sum())
        assert res.bse[name] / res.params[name] == pytest.approx(sd, rel=0.05)


def test_more_than_five_hyper_parameters_keep_the_curvature():
    rng = np.random.default_rng(1)
    data = {name: rng.uniform(size=40) for name in "abcd"}
    data["y"] = np.sin(5.0 * data["a"]) + 0.3 * rng.normal(size=40)
    res = tg.fit("y ~ gp(a, b, c, d)", data, method=tg.EP(hyper="integrate"))
    fitted = res.parts.fitted
    assert len(fitted.points) > 1
    se = np.sqrt(np.diag(fitted.log_covariance))
    names = list(fitted.parameters.names)
    np.testing.assert_allclose(res.bse[names], res.params[names] * se, rtol=1e-12)
    assert "intervals from the posterior curvature" in " ".join(str(res.summary()).split())


def test_covariance_of_all_parameters(averaged):
    V = averaged.cov_params()
    assert list(V.index) == list(V.columns) == list(averaged.params.index)
    assert np.allclose(np.sqrt(np.diag(V)), averaged.bse)
    p = averaged.parts.fitted.n_linear
    assert (V.iloc[:p, p:] == 0).all(axis=None)
    assert np.allclose(V, V.T)


def test_fixed_parameters(mixed):
    fixed = {"z": 0.5, "sigma": 0.3}
    res = tg.fit("y ~ z + gp(x, line=False) | censor(low, 1.4)", mixed, fixed=fixed)
    for name, value in fixed.items():
        assert np.isclose(res.params[name], value)
        assert res.bse[name] == 0.0
        assert np.isnan(res.tvalues[name])
        assert np.isnan(res.pvalues[name])
        assert np.allclose(res.conf_int().loc[name], value)
    assert (res.bse.drop(["z", "sigma"]) > 0).all()


def test_hyperparameters_refit(maximised, mixed):
    again = tg.fit("y ~ z + g + gp(x, line=False) | censor(low, 1.4)", mixed, fixed=maximised.hyperparameters)
    assert np.isclose(again.log_evidence, maximised.log_evidence, atol=1e-4)
    assert np.allclose(again.params, maximised.params, atol=1e-3)


def test_units_of_the_user(mixed):
    """Everything scales with the response."""
    small = tg.fit("y ~ z + gp(x)", mixed, method=tg.EP(hyper="maximize"))
    big = tg.fit("y ~ z + gp(x)", mixed.assign(y=1000 * mixed["y"]), method=tg.EP(hyper="maximize"))
    scale = np.where([name.startswith("lengthscale") for name in small.params.index], 1.0, 1000.0)
    assert np.allclose(big.params, scale * small.params, rtol=1e-3)
    assert np.allclose(big.bse, scale * small.bse, rtol=1e-2)
    assert np.allclose(big.pvalues, small.pvalues, equal_nan=True, atol=1e-3)


@pytest.mark.parametrize("alpha", [0, 1, 5, -0.1, "0.05", True, None])
def test_bad_alpha(maximised, alpha):
    for method in (maximised.conf_int, maximised.summary_frame, maximised.summary):
        with pytest.raises(SpecError, match="alpha="):
            method(alpha)
