"""Numbers of a mixture and their errors, against differences of scipy's distributions and against draws."""

import numpy as np
import pytest
import scipy.stats as st
from support.mixtures import DRAWS, NAMES

from tobitgp.kinds.mixture import posterior_of
from tobitgp.mixture import EMCM, Predictive, fit_mixture, linear_response
from tobitgp.posterior.questions import CURVES, Question, mean, observed, probability, quantile
from tobitgp.results.mixture.mixture_draws import draw_parameters

pytestmark = pytest.mark.diagonal

DISTRIBUTIONS = {
    "gaussian": lambda mean, sd: st.norm(mean, sd),
    "lognormal": lambda mean, sd: st.lognorm(sd, scale=np.exp(mean)),
    "exponential": lambda rate: st.expon(scale=1.0 / rate),
    "poisson": lambda rate: st.poisson(rate),
    "weibull": lambda scale, shape: st.weibull_min(shape, scale=scale),
}


@pytest.fixture(params=NAMES)
def fit(request, rng):
    y = DRAWS[request.param](rng, 80)
    top = np.quantile(y, 0.8)
    upper = np.where(y > top, np.inf, y)
    method = EMCM(n_init=1)  # more ascents find a component of few rows, too narrow for differences
    out = fit_mixture(np.minimum(y, top), upper, family=request.param, k=2, method=method)
    x = np.quantile(y, [0.1, 0.4, 0.7])
    return request.param, out, np.floor(x) if request.param == "poisson" else x


def value(name, k, params, of):
    """The number of a mixture with these parameters (p,)."""
    weight, *rest = np.split(params, len(params) // k)
    return sum(w * of(DISTRIBUTIONS[name](*each)) for w, *each in zip(weight / weight.sum(), *rest, strict=True))


def differences(fit, of):
    """Derivatives (p,) of a number by central differences."""
    out = []
    for j, size in enumerate(fit.values):
        h = 1e-5 * max(abs(size), 1e-3) * np.eye(len(fit.values))[j]
        out.append((of(fit.values + h) - of(fit.values - h)) / (2.0 * h[j]))
    return np.array(out)


def some_covariance(fit, rng):
    """A covariance of all parameters under which weights keep their sum."""
    p, k = len(fit.values), fit.k
    root = rng.normal(size=(p, p)) * np.maximum(np.abs(fit.values), 1e-2)[:, None]
    root[:k] -= root[:k].mean(axis=0)
    return root @ root.T


def answer(fit, V, question, *, level=None):
    return posterior_of(fit, V).statistics(question, level, se=True)


@pytest.mark.parametrize("which", ["survival", "cumulative", "hazard", "below", "mean", "quantile"])
def test_values_and_errors(which, fit, rng):
    name, fit, x = fit
    V, counts, positive = some_covariance(fit, rng), name == "poisson", name != "gaussian"
    if which == "quantile" and counts:
        return
    at, after = x[[1]], x[[0]]

    def sf(y):
        return lambda distribution: distribution.sf(y)

    def of(params, function):
        return value(name, fit.k, params, function)

    v = Predictive(fit.weights, fit.plug_in().distribution).ppf(0.3)
    cases = {
        "survival": (
            CURVES["survival"](positive, at, after),
            lambda p: of(p, sf(at)) / of(p, sf(after)),
        ),
        "cumulative": (CURVES["cumulative_hazard"](positive, at), lambda p: -np.log(of(p, sf(at)))),
        "hazard": (
            CURVES["hazard"](positive, at),
            lambda p: (
                of(p, lambda distribution: distribution.pmf(at) if counts else distribution.pdf(at))
                / of(p, sf(at - 1.0 if counts else at))
            ),
        ),
        "below": (
            probability(positive, at, above=False),
            lambda p: of(p, lambda distribution: distribution.cdf(np.ceil(at) - 1.0 if counts else at)),
        ),
        "mean": (mean(positive), lambda p: of(p, lambda distribution: np.atleast_1d(distribution.mean()))),
        "quantile": (
            quantile(positive, 0.3),
            lambda p: (
                v
                - (of(p, lambda distribution: distribution.cdf(v)) - 0.3)
                / of(fit.values, lambda distribution: distribution.pdf(v))
            ),
        ),
    }
    question, exact = cases[which]
    found = answer(fit, V, question)
    np.testing.assert_allclose(np.ravel(found["estimate"]), np.ravel(exact(fit.values)), rtol=1e-8)
    slopes = differences(fit, lambda p: np.ravel(exact(p))[0])
    np.testing.assert_allclose(np.ravel(found["se"]), np.sqrt(slopes @ V @ slopes), rtol=1e-4)


def test_clipped_and_conditional_means_are_integrals(fit, rng):
    name, fit, x = fit
    V, counts = some_covariance(fit, rng), name == "poisson"
    low, high = x[[0]], x[[2]] + counts
    support, p = np.arange(0.0, 400.0), (np.arange(100_000) + 0.5) / 100_000

    def clipped(distribution):
        if counts:
            return distribution.pmf(support) @ np.clip(support, low, high)
        return np.clip(distribution.ppf(p), low, high).mean()

    def inside(power):
        def of(distribution):
            if counts:
                return (distribution.pmf(support) * support**power)[(support > low) & (support <= high)].sum()
            F = distribution.cdf(low[0]), distribution.cdf(high[0])
            return (distribution.ppf(F[0] + (F[1] - F[0]) * p) ** power).mean() * (F[1] - F[0])

        return of

    def mean_inside(params):
        return value(name, fit.k, params, inside(1)) / value(name, fit.k, params, inside(0))

    free = np.full(1, np.inf)
    shown = observed(False, low, high, -free, free)
    seen = Question(lambda y, *ends: y.conditional_mean(*ends), at=(low, high), bounds=(low, high))
    for question, exact in ((shown, lambda q: value(name, fit.k, q, clipped)), (seen, mean_inside)):
        found = answer(fit, V, question)
        np.testing.assert_allclose(found["estimate"], exact(fit.values), rtol=1e-4)
        slopes = differences(fit, exact)
        np.testing.assert_allclose(found["se"], np.sqrt(slopes @ V @ slopes), rtol=2e-2)
    open_ends = answer(fit, V, observed(False, -free, free, -free, free))["estimate"]
    mean_of_all = value(name, fit.k, fit.values, lambda distribution: np.atleast_1d(distribution.mean()))
    np.testing.assert_allclose(open_ends, mean_of_all, rtol=1e-6)


@pytest.mark.slow
def test_errors_of_quantiles_between_two_humps_are_those_of_draws():
    """Where there are few values, quantiles move a great deal with the weights."""
    rng = np.random.default_rng(2)
    y = np.concatenate([rng.normal(-2.0, 0.5, 120), rng.normal(1.5, 0.6, 180)])
    fit = fit_mixture(y, y, k=2)
    V = linear_response(fit, y, y)
    weights, thetas = draw_parameters(fit, V, 2000, rng)
    drawn = [Predictive(w, fit.model.family.distribution(t, fit.units)) for w, t in zip(weights, thetas, strict=True)]
    for p in (0.1, 0.5, 0.9):
        spread = np.std([float(one.ppf(p)) for one in drawn])
        np.testing.assert_allclose(answer(fit, V, quantile(False, p))["se"], spread, rtol=0.2)


def test_errors_are_those_of_the_covariance(rng):
    y = rng.normal(size=50)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    found = answer(fit, linear_response(fit, y, y), mean(False), level=0.95)
    np.testing.assert_allclose(found["se"], y.std() / np.sqrt(50), rtol=1e-3)
    np.testing.assert_allclose(found["upper"] - found["estimate"], 1.959964 * found["se"], rtol=1e-6)


def test_parameters_that_are_not_determined_leave_nan_only_where_they_matter(rng):
    y = rng.normal(size=50)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    V = np.diag([0.0, 0.04, np.nan])
    np.testing.assert_allclose(answer(fit, V, mean(False))["se"], 0.2)
    assert np.isnan(answer(fit, V, quantile(False, 0.9))["se"]).all()


@pytest.mark.parametrize("sds", [3.0, 10.0, 45.0])
def test_bands_of_far_survival_are_those_of_its_logarithm(sds):
    """Against differences of the log survival of scipy's normal distribution, which underflows itself beyond 38 sds."""
    y = np.random.default_rng(7).normal(size=400)
    fit = fit_mixture(y, y, k=1, method=EMCM())
    V, (_, m, sd) = linear_response(fit, y, y), fit.values
    at, h = np.array([m + sds * sd]), 1e-5
    ends = [(m + h, sd), (m - h, sd), (m, sd + h), (m, sd - h)]

    def error_of(function):
        values = np.array([function(at, *end)[0] for end in ends])
        slopes = (values[::2] - values[1::2]) / (2.0 * h)
        return np.sqrt(slopes @ V[1:, 1:] @ slopes)

    error, log_sf = error_of(st.norm.logsf), st.norm.logsf(at, m, sd)
    bands = answer(fit, V, CURVES["survival"](False, at), level=0.9)
    reach = st.norm.ppf(0.95) * error
    if sds > 5.0:
        np.testing.assert_allclose(bands["upper"], np.exp(log_sf + reach), rtol=1e-4)
        np.testing.assert_allclose(bands["lower"], np.exp(log_sf - reach), rtol=1e-4)
    cumulative = answer(fit, V, CURVES["cumulative_hazard"](False, at))
    np.testing.assert_allclose(cumulative["se"], error, rtol=1e-5)
    hazard = answer(fit, V, CURVES["hazard"](False, at))
    inside = error_of(lambda x, *distribution: st.norm.logpdf(x, *distribution) - st.norm.logsf(x, *distribution))
    np.testing.assert_allclose(hazard["se"] / hazard["estimate"], inside, rtol=1e-3)


def test_what_is_certain_has_no_error():
    y = np.random.default_rng(8).exponential(size=50)
    fit = fit_mixture(y, y, family="weibull", k=1)
    V = linear_response(fit, y, y)
    for of, certain in (("survival", 1.0), ("cumulative_hazard", 0.0)):
        at = answer(fit, V, CURVES[of](True, np.zeros(1)), level=0.9)
        assert [at[name][0] for name in ("estimate", "se", "lower", "upper")] == [certain, 0.0, certain, certain]
