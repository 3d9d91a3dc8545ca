"""Derivatives and errors of quantities against differences of laws written out by scipy, and against draws."""

import numpy as np
import pytest
import scipy.stats as st
from support.mixtures import DRAWS, NAMES

from tobitgp.mixture import EMCM, fit_mixture, linear_response
from tobitgp.results.mixture import quantities
from tobitgp.results.mixture.quantities import delta_errors, mixture_slopes

LAWS = {
    "gaussian": lambda mean, sd: st.norm(mean, sd),
    "lognormal": lambda mean, sd: st.lognorm(sd, scale=np.exp(mean)),
    "exponential": lambda rate: st.expon(scale=1.0 / rate),
    "poisson": lambda rate: st.poisson(rate),
    "weibull": lambda scale, shape: st.weibull_min(shape, scale=scale),
}


LINKS = {"identity": lambda value: value, "log": np.log, "logit": lambda p: np.log(p / (1.0 - p))}


def as_weights_move(slopes, k):
    """Weights keep their sum: what all of them move alike is no matter."""
    out = slopes.copy()
    out[:, :k] -= out[:, :k].mean(axis=1, keepdims=True)
    return out


@pytest.fixture(params=NAMES)
def fit(request, rng):
    y = DRAWS[request.param](rng, 80)
    top = np.quantile(y, 0.8)
    upper = np.where(y > top, np.inf, y)
    method = EMCM(n_init=1)  # more ascents find a component of few rows, too narrow for differences
    out = fit_mixture(np.minimum(y, top), upper, family=request.param, k=2, method=method)
    return request.param, out, np.quantile(y, [0.1, 0.4, 0.7])


def value(name, k, params, of):
    """The quantity of a mixture with these parameters (p,)."""
    weight, *rest = np.split(params, len(params) // k)
    return sum(w * of(LAWS[name](*each)) for w, *each in zip(weight, *rest, strict=True))


def differences(name, fit, of):
    """Derivatives by central differences, weights as if they were free."""
    out = []
    for j, size in enumerate(fit.values):
        h = 1e-5 * max(abs(size), 1e-3)
        ends = [value(name, fit.k, fit.values + s * h * np.eye(len(fit.values))[j], of) for s in (1.0, -1.0)]
        out.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(out).T


def test_derivatives(fit):
    name, fit, x = fit
    cases = [
        (lambda law: np.exp(law.log_cdf(x)), lambda law: law.cdf(x)),
        (lambda law: np.exp(law.log_sf(x)), lambda law: law.sf(x)),
        (lambda law: law.mean()[:, None], lambda law: np.atleast_1d(law.mean())),
    ]
    for ours, scipys in cases:
        exact = differences(name, fit, scipys)
        np.testing.assert_allclose(mixture_slopes(fit, ours), exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


def survival_quantities(name, fit, x):
    def sf(at):
        return lambda law: law.sf(at)

    def ratio(params, top, bottom):
        return value(name, fit.k, params, top) / value(name, fit.k, params, bottom)

    after = float(x[0])
    density = (lambda law: law.pmf(x)) if name == "poisson" else (lambda law: law.pdf(x))
    before = x - 1.0 if name == "poisson" else x
    return {
        "survival": (quantities.survival(fit, x[1:] - after, after), lambda p: ratio(p, sf(x[1:]), sf(after))),
        "cumulative": (quantities.cumulative_hazard(fit, x), lambda p: -np.log(value(name, fit.k, p, sf(x)))),
        "hazard": (quantities.hazard(fit, x), lambda p: ratio(p, density, sf(before))),
        "below": (
            quantities.probability(fit, x[1], above=False),
            lambda p: value(
                name, fit.k, p, lambda law: law.cdf(np.ceil(x[1:2]) - 1.0 if name == "poisson" else x[1:2])
            ),
        ),
    }


@pytest.mark.parametrize("which", ["survival", "cumulative", "hazard", "below"])
def test_values_and_derivatives_of_nonlinear_quantities(which, fit):
    name, fit, x = fit
    quantity, exact = survival_quantities(name, fit, np.floor(x) if name == "poisson" else x)[which]
    np.testing.assert_allclose(quantity.value, exact(fit.values), rtol=1e-8)
    np.testing.assert_allclose(quantity.linked, LINKS[quantity.link](exact(fit.values)), rtol=1e-8, atol=1e-8)
    slopes = []
    for j, size in enumerate(fit.values):
        h = 1e-5 * max(abs(size), 1e-3) * np.eye(len(fit.values))[j]
        ends = [LINKS[quantity.link](exact(fit.values + side * h)) for side in (1.0, -1.0)]
        slopes.append((ends[0] - ends[1]) / (2.0 * h[j]))
    slopes, ours = (as_weights_move(one, fit.k) for one in (np.array(slopes).T, quantity.slopes()))
    np.testing.assert_allclose(ours, slopes, rtol=1e-4, atol=1e-5 * np.abs(slopes).max())


def test_quantiles_move_as_differences_say(fit):
    name, fit, _ = fit
    if name == "poisson":
        return
    quantity = quantities.quantile(fit, 0.3)
    np.testing.assert_allclose(value(name, fit.k, fit.values, lambda law: law.cdf(quantity.value)), 0.3, rtol=1e-10)
    at = quantity.value
    density = value(name, fit.k, fit.values, lambda law: law.pdf(at))
    exact = -differences(name, fit, lambda law: law.cdf(at)) / density
    exact = as_weights_move(exact / (1.0 if quantity.link == "identity" else at), fit.k)
    ours = as_weights_move(quantity.slopes(), fit.k)
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


def test_clipped_means_are_integrals(fit):
    name, fit, x = fit
    low, high = (np.floor(x[[0]]), np.floor(x[[2]]) + 1.0) if name == "poisson" else (x[[0]], x[[2]])

    def clipped(law):
        support = np.arange(0.0, 400.0) if name == "poisson" else None
        if support is not None:
            return np.atleast_1d(law.pmf(support) @ np.clip(support, low, high))
        p = (np.arange(200_000) + 0.5) / 200_000
        return np.atleast_1d(np.clip(law.ppf(p), low, high).mean())

    quantity = quantities.observed(fit, low, high)
    np.testing.assert_allclose(quantity.value, value(name, fit.k, fit.values, clipped), rtol=2e-5)
    exact = differences(name, fit, clipped)
    np.testing.assert_allclose(quantity.slopes(), exact, rtol=1e-2, atol=1e-3 * np.abs(exact).max())
    open_ends = quantities.observed(fit, np.array([-np.inf]), np.array([np.inf]))
    mean = value(name, fit.k, fit.values, lambda law: np.atleast_1d(law.mean()))
    np.testing.assert_allclose(open_ends.value, mean, rtol=1e-6)


def test_conditional_means_and_derivatives(fit):
    name, fit, x = fit
    low, high = np.array([x[1], -np.inf, x[0]]), np.array([np.inf, x[1], x[2]])
    if name == "poisson":
        low, high = np.floor(low), np.floor(high) + np.array([0.0, 0.0, 1.0])

    def moment(power, i):
        support = np.arange(0.0, 400.0)
        p = (np.arange(100_000) + 0.5) / 100_000

        def of(law):
            if name == "poisson":
                inside = (support > low[i]) & (support <= high[i])
                return np.atleast_1d((law.pmf(support) * support**power)[inside].sum())
            F = law.cdf(low[i]), law.cdf(high[i])
            return np.atleast_1d((law.ppf(F[0] + (F[1] - F[0]) * p) ** power).mean() * (F[1] - F[0]))

        return of

    quantity = quantities.conditional(fit, low, high)
    slopes = quantity.slopes()
    for i in range(3):

        def mean(params, i=i):
            return value(name, fit.k, params, moment(1, i)) / value(name, fit.k, params, moment(0, i))

        np.testing.assert_allclose(quantity.value[i], mean(fit.values), rtol=1e-3)
        for j, size in enumerate(fit.values):
            h = 1e-3 * max(abs(size), 1e-3) * np.eye(len(fit.values))[j]
            exact = (mean(fit.values + h) - mean(fit.values - h)) / (2.0 * h[j])
            np.testing.assert_allclose(slopes[i, j], exact[0], rtol=2e-2, atol=2e-3 * np.abs(slopes[i]).max())


def test_errors_are_those_of_the_covariance(rng):
    y = rng.normal(size=50)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    V = linear_response(fit, y, y)
    mean = quantities.mean(fit).statistics(V, 0.95, se=True)
    np.testing.assert_allclose(mean["se"], y.std() / np.sqrt(50), rtol=1e-3)
    np.testing.assert_allclose(mean["upper"] - mean["mean"], 1.959964 * mean["se"], rtol=1e-6)


def test_parameters_that_are_not_determined_leave_nan_only_where_they_matter():
    V = np.array([[1.0, 0.0, np.nan], [0.0, 4.0, np.nan], [np.nan, np.nan, np.nan]])
    G = np.array([[3.0, 2.0, 0.0], [1.0, 0.0, 1.0], [np.nan, 1.0, 0.0]])
    np.testing.assert_allclose(delta_errors(G, V), [5.0, np.nan, np.nan])


def test_slopes_that_cannot_be_formed_make_no_error_of_zero():
    V = np.diag([1.0, 0.0])
    G = np.array([[2.0, np.nan], [np.inf, 1.0], [np.nan, np.nan]])
    np.testing.assert_allclose(delta_errors(G, V), [2.0, np.nan, np.nan])  # what does not vary needs no slope


@pytest.mark.parametrize("sds", [3.0, 10.0, 45.0])
def test_bands_of_far_survival_are_those_of_its_logarithm(sds):
    """Against differences of the log survival of scipy's normal law, which underflows itself beyond 38 sds."""
    y = np.random.default_rng(7).normal(size=400)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    V, (_, mean, sd) = linear_response(fit, y, y), fit.values
    at = np.array([mean + sds * sd])
    h = 1e-5
    slopes = [
        (st.norm.logsf(at, mean + h, sd) - st.norm.logsf(at, mean - h, sd))[0] / (2.0 * h),
        (st.norm.logsf(at, mean, sd + h) - st.norm.logsf(at, mean, sd - h))[0] / (2.0 * h),
    ]
    error, log_sf = np.sqrt(slopes @ V[1:, 1:] @ slopes), st.norm.logsf(at, mean, sd)
    quantity = quantities.survival(fit, at)
    np.testing.assert_allclose(delta_errors(quantity.slopes(), V), error / st.norm.cdf(sds), rtol=1e-5)
    bands = quantity.statistics(V, 0.9, se=True)
    reach = st.norm.ppf(0.95) * error
    if sds > 5.0:
        np.testing.assert_allclose(bands["upper"], np.exp(log_sf + reach), rtol=1e-4)
        np.testing.assert_allclose(bands["lower"], np.exp(log_sf - reach), rtol=1e-4)
    cumulative = quantities.cumulative_hazard(fit, at).statistics(V, 0.9, se=True)
    np.testing.assert_allclose(cumulative["se"], error, rtol=1e-5)
    hazard = quantities.hazard(fit, at).statistics(V, 0.9, se=True)
    ends = [(mean + h, sd), (mean - h, sd), (mean, sd + h), (mean, sd - h)]
    values = np.array([log_hazard(*end, at)[0] for end in ends])
    inside = (values[::2] - values[1::2]) / (2.0 * h)
    np.testing.assert_allclose(hazard["se"] / hazard["mean"], np.sqrt(inside @ V[1:, 1:] @ inside), rtol=1e-3)


def log_hazard(mean, sd, at):
    return st.norm.logpdf(at, mean, sd) - st.norm.logsf(at, mean, sd)


def test_what_is_certain_has_no_error():
    y = np.random.default_rng(8).exponential(size=50)
    fit = fit_mixture(y, y, family="weibull", k=1)
    V = linear_response(fit, y, y)
    at = quantities.survival(fit, np.zeros(1)).statistics(V, 0.9, se=True)
    assert [at[name][0] for name in ("mean", "se", "lower", "upper")] == [1.0, 0.0, 1.0, 1.0]
    at = quantities.cumulative_hazard(fit, np.zeros(1)).statistics(V, 0.9, se=True)
    assert [at[name][0] for name in ("mean", "se", "lower", "upper")] == [0.0, 0.0, 0.0, 0.0]
