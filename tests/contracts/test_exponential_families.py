"""What components of every exponential family owe to a mixture, those of a user among them."""

from itertools import product

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from scipy.integrate import dblquad, quad
from scipy.optimize import brentq
from scipy.special import betaln, expit, gammainc, gammaincc, gammaln, logsumexp, polygamma
from support.differences import derivative
from support.mixtures import RAYLEIGH

import tobitgp as tg
from tobitgp.mixture import EMCM, MIXTURE_FAMILIES, SVBCM, VBCM, Dirichlet, DirichletProcess, fit_mixture
from tobitgp.mixture.family import Sums
from tobitgp.mixture.fitted_mixture import linear_response, posterior_covariance
from tobitgp.mixture.mixture_rows import MixtureRows, MixtureUnits


class Angles:
    """A von Mises distribution between -pi and pi, where scipy's goes on beyond."""

    def __init__(self, concentration, loc):
        self.around = st.vonmises(concentration, loc=loc)
        self.logpdf = self.around.logpdf

    def cdf(self, x):
        return self.around.cdf(x) - self.around.cdf(-np.pi)

    def sf(self, x):
        return self.around.cdf(np.pi) - self.around.cdf(x)

    def logcdf(self, x):
        return np.log(self.cdf(x))

    def logsf(self, x):
        return np.log(self.sf(x))

    def ppf(self, q):
        return np.array([brentq(lambda x, p=p: self.cdf(x) - p, -np.pi, np.pi, xtol=1e-14) for p in q])

    def mean(self):
        return quad(lambda x: x * self.around.pdf(x), -np.pi, np.pi, epsabs=1e-13)[0]

    def var(self):
        return quad(lambda x: (x - self.mean()) ** 2 * self.around.pdf(x), -np.pi, np.pi, epsabs=1e-13)[0]

    def rvs(self, n, random_state):
        return np.angle(np.exp(1j * self.around.rvs(n, random_state=random_state)))


FAMILIES = {
    "gamma": MIXTURE_FAMILIES["gamma"],
    "inverse_gaussian": MIXTURE_FAMILIES["inverse_gaussian"],
    "von_mises": MIXTURE_FAMILIES["von_mises"],
    "geometric": MIXTURE_FAMILIES["geometric"],
    "bernoulli": MIXTURE_FAMILIES["bernoulli"],
    "binomial": tg.Binomial(12),
    "negative_binomial": tg.NegativeBinomial(2.5),
    "pareto": tg.Pareto(0.5),
    "rayleigh": RAYLEIGH,
}
# Members as scipy has them, and their natural parameters.
MEMBERS = {
    "gamma": [(st.gamma(0.7, scale=0.5), (0.7, -2.0)), (st.gamma(30.0, scale=0.1), (30.0, -10.0))],
    "inverse_gaussian": [
        (st.invgauss(2.0 / 3.0, scale=3.0), (-0.5 * 3.0 / 4.0, -1.5)),
        (st.invgauss(0.1, scale=40.0), (-0.5 * 40.0 / 16.0, -20.0)),
    ],
    "von_mises": [
        (Angles(0.8, -1.0), (0.8 * np.cos(-1.0), 0.8 * np.sin(-1.0))),
        (Angles(6.0, 1.5), (6.0 * np.cos(1.5), 6.0 * np.sin(1.5))),
    ],
    "geometric": [(st.geom(0.2, loc=-1), (np.log(0.8),)), (st.geom(0.9, loc=-1), (np.log(0.1),))],
    "bernoulli": [(st.bernoulli(0.2), (np.log(0.25),)), (st.bernoulli(0.9), (np.log(9.0),))],
    "binomial": [(st.binom(12, 0.2), (np.log(0.25),)), (st.binom(12, 0.9), (np.log(9.0),))],
    "negative_binomial": [(st.nbinom(2.5, 0.2), (np.log(0.8),)), (st.nbinom(2.5, 0.7), (np.log(0.3),))],
    "pareto": [(st.pareto(1.5, scale=0.5), (-1.5,)), (st.pareto(6.0, scale=0.5), (-6.0,))],
    "rayleigh": [(st.rayleigh(scale=2.0), (-0.125,)), (st.rayleigh(scale=0.3), (-0.5 / 0.09,))],
}
SLOW = ("von_mises",)
families = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in FAMILIES]
)
QUICK = VBCM(n_init=2, max_iter=300, check=True)


def members(name):
    eta = np.array([eta for _, eta in MEMBERS[name]]).T
    return eta, FAMILIES[name].distribution(eta, MixtureUnits())


def values_of(name, n, rng):
    """Values of two groups."""
    first, second = (dist.rvs(n // 2, random_state=rng).astype(float) for dist, _ in MEMBERS[name])
    return np.concatenate([first, second])


def rows_of(name, n, seed):
    """Exact and left-, right- and interval-censored rows."""
    rng = np.random.default_rng(seed)
    y = values_of(name, n, rng)
    spread, kind = y.std() + 0.1, rng.integers(0, 4, n)
    away, more = rng.exponential(spread, n), rng.exponential(spread, n)
    if FAMILIES[name].discrete:
        away, more = np.ceil(away), np.ceil(more)
    lower = np.select([kind == 1, kind == 0], [-np.inf, y], y - away)
    upper = np.select([kind == 2, kind == 0], [np.inf, y], y + more)
    return lower, upper


def working(name, kind):
    y = np.sort(values_of(name, 40, np.random.default_rng(1)))[[2, 12, 25, 36]]
    if FAMILIES[name].discrete:
        low, high = (
            (np.zeros(4), np.ones(4)) if name == "bernoulli" else (np.array([0.0, 1, 2, 5]), np.array([2.0, 3, 9, 7]))
        )
    else:
        low, high = y, y + 0.3
    if kind == "exact":
        high = low
    return MixtureRows(
        kind,
        np.full(4, -np.inf) if kind == "left" else low,
        np.full(4, np.inf) if kind == "right" else high,
        high - low,
        np.ones(4),
    )


@families
def test_members_are_scipys_far_into_both_tails(name):
    got = members(name)[1]
    family = FAMILIES[name]
    inside = [dist.ppf([1e-6, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-6]) for dist, _ in MEMBERS[name]]
    x = np.unique(np.concatenate(inside))
    x = x[(x >= family.ends[0]) & (x < family.ends[1])]
    for j, (dist, _) in enumerate(MEMBERS[name]):
        log_density = dist.logpmf(x) if family.discrete else dist.logpdf(x)
        np.testing.assert_allclose(got.log_density(x)[j], log_density, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(got.log_cdf(x)[j], dist.logcdf(x), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(got.log_sf(x)[j], dist.logsf(x), rtol=1e-8, atol=1e-10)
        assert got.mean()[j] == pytest.approx(dist.mean(), rel=1e-8)
        assert got.variance()[j] == pytest.approx(dist.var(), rel=1e-7)
        q = np.array([0.003, 0.21, 0.77, 0.999])
        np.testing.assert_allclose(got.ppf(q)[j], dist.ppf(q), rtol=1e-8)


@families
@pytest.mark.parametrize("kind", ["exact", "left", "right", "interval"])
def test_statistics_are_scores(name, kind):
    family, some = FAMILIES[name], working(name, kind)
    theta = members(name)[0]
    with np.errstate(all="ignore"):
        terms = family.terms(some, theta)
    for i in range(4):
        statistics = np.stack([np.broadcast_to(one, terms.log_p.shape)[:, i] for one in terms.statistics])
        got = family.score(theta, Sums(0.0, np.ones(2), statistics))
        for d in range(len(theta)):

            def at(step, d=d, i=i):
                moved = theta.copy()
                moved[d] += step * np.abs(theta[d])
                with np.errstate(all="ignore"):
                    return family.terms(some, moved).log_p[:, i]

            np.testing.assert_allclose(got[d] * np.abs(theta[d]), derivative(at, 0.0, 1e-3), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_truncated_gamma_statistics_are_those_of_many_digits(many):
    shape, rate = 4.0, 2.0
    family = FAMILIES["gamma"]
    ends = np.array([1e-4, 0.3, 1.0, 2.0, 5.0, 30.0, 400.0])
    x = np.concatenate([ends, np.full(1100 if many else 0, 2.0)])
    with np.errstate(all="ignore"):
        rows = MixtureRows("right", x, np.full_like(x, np.inf), np.full_like(x, np.inf), np.ones_like(x))
        above = family.terms(rows, np.array([[shape], [-rate]]))
        rows = MixtureRows("left", np.full_like(x, -np.inf), x, np.full_like(x, np.inf), np.ones_like(x))
        below = family.terms(rows, np.array([[shape], [-rate]]))
    with mp.workdps(80):
        for i, end in enumerate(ends):
            t = mp.mpf(rate) * mp.mpf(float(end))
            for terms, a, b in ((above, t, mp.inf), (below, mp.mpf(0), t)):
                mass = mp.gammainc(shape, a, b)
                log_mean = mp.diff(lambda s, a=a, b=b: mp.gammainc(s, a, b), mp.mpf(shape)) / mass - mp.log(rate)
                mean = mp.gammainc(shape + 1, a, b) / mass / rate
                want = float(mp.log(mass / mp.gamma(shape))), float(log_mean), float(mean)
                got = terms.log_p[0, i], *(one[0, i] for one in terms.statistics)
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_the_expectations_of_a_gamma_posterior_are_double_integrals():
    q = np.array([1.5, 9.0, 4.0])
    found = FAMILIES["gamma"].expectations(q[:, None])

    def density(rate, shape, power=lambda shape, rate: 1.0):
        log_p = shape * q[0] - rate * q[1] - q[2] * (gammaln(shape) - shape * np.log(rate))
        return np.exp(log_p) * power(shape, rate)

    def integral(power):
        return dblquad(lambda r, s: density(r, s, power), 1e-9, 40.0, 1e-9, 40.0, epsabs=1e-10)[0]

    total = integral(lambda shape, rate: 1.0)
    assert found.log_integral[0] == pytest.approx(np.log(total), abs=1e-6)
    assert found.eta[0, 0] == pytest.approx(integral(lambda shape, rate: shape) / total, rel=1e-6)
    assert found.eta[1, 0] == pytest.approx(-integral(lambda shape, rate: rate) / total, rel=1e-6)


@pytest.mark.parametrize("name", ["gamma", "inverse_gaussian"])
def test_two_parameters_need_no_closed_form(name):
    """The same posterior with both natural parameters integrated out by quadrature."""
    family = FAMILIES[name]
    q = np.stack([family.statistic(y) for y in values_of(name, 40, np.random.default_rng(3))[:, None]])[:, :, 0].sum(
        axis=0
    )
    q = np.append(q, 40.0)[:, None] + family.default_prior(1.0).values[:, None]
    own = tg.ExponentialFamily(
        "own",
        statistic=family.statistic,
        log_partition=family.log_partition,
        natural=[(one.low, one.high) for one in family.natural],
        log_base=family.log_base,
        support=family.ends,
    )
    for got, want in zip(own.expectations(q), family.expectations(q), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@families
def test_information_is_the_curvature_of_the_divergence(name):
    family = FAMILIES[name]
    T = np.stack(family.statistic(values_of(name, 40, np.random.default_rng(3))))
    q = np.append(T.sum(axis=1), 40.0)[:, None] + family.default_prior(1.0).values[:, None]
    information = family.information(q)[:, :, 0]
    assert family.divergence(q, q[:, 0])[0] == pytest.approx(0.0, abs=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(3):
        way = 0.02 * np.append(T.std(axis=1), 1.0) * rng.uniform(-1.0, 1.0, len(q))
        second = sum(family.divergence(q, q[:, 0] + sign * way)[0] for sign in (1.0, -1.0))
        assert way @ information @ way == pytest.approx(second, rel=1e-3)


def test_information_of_many_rows_is_known():
    """A Pareto posterior is a gamma one. Under a row of weight 1e7 small steps of differences have no digits."""
    xi, nu = 0.7e7, 1e7
    found = FAMILIES["pareto"].information(np.array([[xi], [nu]]))[:, :, 0]
    shape = nu + 1.0
    want = [[shape / xi**2, -1.0 / xi], [-1.0 / xi, float(mp.psi(1, shape))]]
    np.testing.assert_allclose(found, want, rtol=1e-3)
    assert np.linalg.eigvalsh(found)[0] > 0.0


def test_information_where_the_mean_statistics_are_far_from_zero():
    """Of gamma components 10,000 scales apart: by the curvature of the likelihood of shapes, their rates maximised."""
    rng = np.random.default_rng(105)
    y = np.concatenate([rng.gamma(5.0, 0.01, 60), 100.0 + rng.gamma(2.0, 10.0, 60)])
    res = tg.fit("y ~ mixture(2)", pd.DataFrame({"y": y}), family="gamma")
    shape = res.params[["shape[1]", "shape[2]"]]
    error = 1.0 / np.sqrt(60.1 * (polygamma(1, shape) - 1.0 / shape))
    np.testing.assert_allclose(res.bse[shape.index], error, rtol=0.04)


@families
@pytest.mark.parametrize("weights", [None, DirichletProcess()], ids=["dirichlet", "process"])
def test_the_bound_never_falls(name, weights):
    lower, upper = rows_of(name, 60, 4)
    fit = fit_mixture(lower, upper, family=FAMILIES[name], k=2, weights=weights, method=QUICK, rng=1)
    assert np.isfinite(fit.objective)
    assert (np.diff(fit.trace) > -1e-9 * abs(fit.objective)).all()
    assert fit.responsibilities(lower, upper).sum(axis=1) == pytest.approx(np.ones(60))


# Families as scipy has them, of natural parameters; the coordinates of these on grids that hold a prior of two rows.
SCIPY = {
    "gamma": lambda a, b: st.gamma(a, scale=-1.0 / b),
    "inverse_gaussian": lambda a, b: st.invgauss(0.5 / np.sqrt(a * b), scale=-2.0 * b),
    "von_mises": lambda a, b: Angles(np.hypot(a, b), np.arctan2(b, a)),
    "geometric": lambda eta: st.geom(-np.expm1(eta), loc=-1),
    "bernoulli": lambda eta: st.bernoulli(expit(eta)),
    "binomial": lambda eta: st.binom(12, expit(eta)),
    "negative_binomial": lambda eta: st.nbinom(2.5, -np.expm1(eta)),
    "pareto": lambda eta: st.pareto(-eta, scale=0.5),
    "rayleigh": lambda eta: st.rayleigh(scale=np.sqrt(-0.5 / eta)),
}


@np.errstate(all="ignore")
def log_sums_by_labels(name, lower, upper, q):
    """Of every set of rows, the log of their probability with one parameter that is integrated out on a grid."""
    family = FAMILIES[name]
    line = np.linspace(-25.0, 25.0, 2001 if len(q) == 2 else 301)
    u = np.stack([one.ravel() for one in np.meshgrid(*[line] * (len(q) - 1), indexing="ij")])
    eta = [chart.at(one) for chart, one in zip(family.natural, u, strict=True)]
    log_prior = sum(x * one for x, one in zip(q, eta, strict=False)) - q[-1] * family.log_partition(*eta)
    log_prior = log_prior + sum(chart.log_slope(one) for chart, one in zip(family.natural, u, strict=True))
    held = log_prior > log_prior.max() - 60.0
    log_prior = (log_prior - logsumexp(log_prior))[held]
    dist = SCIPY[name](*(one[held] for one in eta))
    of_value = dist.logpmf if family.discrete else dist.logpdf
    rows = [of_value(low) if low == high else dist.logsf(low) for low, high in zip(lower, upper, strict=True)]
    sets = np.array(list(product([0, 1], repeat=len(lower))))
    return sets, np.array(
        [
            logsumexp(log_prior + sum(np.where(one, row, 0.0) for one, row in zip(each, rows, strict=True)))
            for each in sets
        ]
    )


@pytest.mark.slow
@families
@pytest.mark.parametrize("weights", [Dirichlet(1.5), DirichletProcess()], ids=["dirichlet", "process"])
def test_the_bound_lies_below_the_evidence(name, weights):
    """Of 6 rows, 2 of them right-censored, by all labels; of one component it is nearly as large."""
    family = FAMILIES[name]
    y = values_of(name, 6, np.random.default_rng(12))
    upper = np.where((np.arange(6) % 3 == 1) & (y < family.ends[1]), np.inf, y)
    typical = values_of(name, 400, np.random.default_rng(13))
    q = 2.0 * np.append(np.stack(family.statistic(typical)).mean(axis=1), 1.0)
    components = {"family": family, "prior": dict(zip(family.hyperparameters, q, strict=True))}
    sets, logs = log_sums_by_labels(name, y, upper, q)
    first = sets.sum(axis=1)
    second = 6 - first
    if isinstance(weights, Dirichlet):
        c = 1.5
        log_labels = betaln(c + first, c + second) - betaln(c, c)
    else:
        log_c = np.linspace(-30.0, 5.0, 4001)[:, None]
        c = np.exp(log_c)
        log_prior = log_c - c + np.log(log_c[1] - log_c[0])
        log_labels = logsumexp(log_prior + log_c + betaln(1.0 + first, c + second), axis=0)
    assert logsumexp(log_labels) == pytest.approx(0.0, abs=1e-6)
    evidence = logsumexp(log_labels + logs + logs[::-1])
    fit = fit_mixture(y, upper, k=2, weights=weights, rng=1, **components)
    assert evidence - 3.0 < fit.elbo < evidence
    one = fit_mixture(y, upper, k=1, **components)
    assert logs[-1] - 0.5 < one.elbo < logs[-1]


@families
def test_the_bound_of_one_component_without_censoring_is_the_log_evidence(name):
    """By quadrature over the parameters, of rows in units of 1."""
    family = FAMILIES[name]
    y = values_of(name, 12, np.random.default_rng(5))
    fit = fit_mixture(y, y, family=family, k=1)
    scale, prior = fit.units.scale, fit.model.prior.values
    T, log_h = np.stack(family.statistic(y / scale)), family.log_base(y / scale)

    def log_integral(q):
        if len(q) == 2:
            (chart,) = family.natural
            u = np.linspace(-60.0, 60.0, 200_001)
            eta = chart.at(u)
            with np.errstate(all="ignore"):
                log_p = eta * q[0] - q[1] * family.log_partition(eta) + chart.log_slope(u)
            return float(logsumexp(np.where(np.isfinite(log_p), log_p, -np.inf)) + np.log(u[1] - u[0]))
        return float(family.expectations(q[:, None]).log_integral[0])  # tested above

    exact = log_integral(prior + np.append(T.sum(axis=1), len(y))) - log_integral(prior) + log_h.sum()
    assert fit.elbo == pytest.approx(exact - len(y) * np.log(scale), abs=1e-6)


def test_coordinate_ascent_of_a_gamma_with_known_shape():
    """Its own updates: a gamma posterior of the rate, and truncated means from incomplete gamma functions."""
    shape = 3.0
    known = tg.ExponentialFamily(
        "erlang",
        statistic=lambda y: y,
        log_partition=lambda eta: -shape * np.log(-eta),
        natural=[(-np.inf, 0.0)],
        log_base=lambda y: (shape - 1.0) * np.log(y) - gammaln(shape),
        support=(0.0, np.inf),
        parameters={"rate": lambda eta: -eta},
        prior={"xi": 0.4, "nu": 0.1},
    )
    rng = np.random.default_rng(6)
    y = rng.gamma(shape, 2.0, 50)
    limit = rng.uniform(2.0, 12.0, 50)
    lower, upper = np.minimum(y, limit), np.where(y > limit, np.inf, y)
    fit = fit_mixture(lower, upper, family=known, k=1)
    cut = np.isinf(upper)
    rate = 1.0
    for _ in range(500):
        mean = (
            shape
            / rate
            * st.gamma.sf(lower, shape + 1.0, scale=1.0 / rate)
            / st.gamma.sf(lower, shape, scale=1.0 / rate)
        )
        a, b = shape * (0.1 + 50) + 1.0, 0.4 + np.where(cut, mean, lower).sum()
        rate = a / b
    assert fit.parameters["rate"][0] == pytest.approx(rate, rel=1e-6)
    np.testing.assert_allclose(fit.state.components[:, 0], [b, 50.1], rtol=1e-6)


def test_maximum_likelihood_of_a_censored_gamma_is_that_of_a_general_optimiser():
    from scipy.optimize import minimize

    y = np.random.default_rng(7).gamma(2.5, 3.0, 200)
    lower, upper = np.minimum(y, 9.0), np.where(y > 9.0, np.inf, y)
    fit = fit_mixture(lower, upper, family="gamma", k=1, method=EMCM(n_init=1))

    def lost(x):
        dist = st.gamma(np.exp(x[0]), scale=np.exp(-x[1]))
        return -np.where(np.isinf(upper), dist.logsf(lower), dist.logpdf(lower)).sum()

    best = minimize(lost, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9})
    assert fit.objective == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose([fit.parameters["shape"][0], fit.parameters["rate"][0]], np.exp(best.x), rtol=1e-4)


@pytest.mark.slow
@families
@pytest.mark.parametrize(
    "method", [EMCM(n_init=2, max_iter=200, check=True), SVBCM(n_steps=60, max_iter=100)], ids=["em", "svbcm"]
)
def test_every_method_fits(name, method):
    lower, upper = rows_of(name, 80, 8)
    fit = fit_mixture(lower, upper, family=FAMILIES[name], k=1 if name == "bernoulli" else 2, method=method, rng=1)
    assert np.isfinite(fit.objective)
    assert np.isfinite(fit.values).all()


@families
@pytest.mark.slow_cases("gamma", "inverse_gaussian")
def test_units_do_not_matter(name):
    family = FAMILIES[name]
    if family.free_of != "scale":
        pytest.skip("not a family of scale")
    lower, upper = rows_of(name, 60, 9)
    a = fit_mixture(lower, upper, family=family, k=2, method=QUICK)
    b = fit_mixture(100.0 * lower, 100.0 * upper, family=family, k=2, method=QUICK)
    assert a.objective - a.exact * np.log(100.0) == pytest.approx(b.objective, rel=1e-7)
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-4)


@families
def test_linear_response_without_censoring_is_the_posterior(name):
    y = values_of(name, 60, np.random.default_rng(10))
    fit = fit_mixture(y, y, family=FAMILIES[name], k=1)
    V = linear_response(fit, y, y)
    expected = posterior_covariance(fit)
    sd = np.sqrt(np.diag(expected))
    zero = 1e-7 * np.outer(sd, sd) if name == "von_mises" else 0.0  # the covariance of location and concentration is 0
    assert (np.abs(V - expected) <= 2e-3 * np.abs(expected) + 1e-12 + zero).all()


@families
@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.slow_cases("gamma", "inverse_gaussian", "pareto", "rayleigh")
def test_the_predictive_distribution_integrates_the_parameters_out(name, n):
    """Ratios of normalisers of posteriors, section 5.3 of the paper."""
    family = FAMILIES[name]
    y = values_of(name, n, np.random.default_rng(11))
    fit = fit_mixture(y, y, family=family, k=1)
    predictive = fit.predictive()
    x = np.quantile(y, [0.0, 0.1, 0.5, 0.9, 1.0])
    x = np.unique(np.floor(x) if family.discrete else x)
    q = fit.state.components
    log_p = []
    for value in x / fit.units.scale:
        T = np.concatenate([np.ravel(one) for one in family.statistic(np.array([value]))])
        more = q + np.append(T, 1.0)[:, None]
        ratio = family.expectations(more).log_integral - family.expectations(q).log_integral
        log_p.append(ratio[0] + float(family.log_base(np.array([value]))[0]) - np.log(fit.units.scale))
    np.testing.assert_allclose(predictive.logpdf(x), log_p, atol=2e-5)
    assert predictive.cdf(x[-1]) + predictive.sf(x[-1]) == pytest.approx(1.0, abs=1e-9)
    drawn = predictive.rvs(2000, rng=3)
    assert (family.takes(drawn)).all()
    assert np.mean(drawn <= x[0]) == pytest.approx(predictive.cdf(x[0]), abs=0.06)


@families
@pytest.mark.parametrize("n", [1, 30])
def test_equal_values_have_a_finite_maximum(name, n):
    """The likelihood of a density has none without a least spread, about the one value that there is."""
    family = FAMILIES[name]
    y = np.full(n, 1.0 if family.discrete else 3.0)
    fit = fit_mixture(y, y, family=family, k=1, method=EMCM(n_init=1))
    assert np.isfinite(fit.values).all()
    spread = np.sqrt(fit.plug_in().var())
    if len(family.natural) == 2:
        assert (0.003 if family.free_of == "scale" else 1e-4) < spread / 3.0 < 0.1
        assert fit.plug_in().mean() == pytest.approx(3.0, rel=0.1)


@pytest.mark.parametrize("shape", [0.3, 4.0, 300.0])
def test_panels_of_many_limits_are_incomplete_gamma_functions(shape):
    """Between, and far outside, the nodes through which polynomials are put."""
    rng = np.random.default_rng(14)
    x = np.concatenate([st.gamma(shape).ppf(rng.random(2000)), shape * np.exp(rng.uniform(-3.0, 1.5, 1000))])
    unknown = np.full_like(x, np.inf)
    rows = {
        "left": MixtureRows("left", -unknown, x, unknown, np.ones_like(x)),
        "right": MixtureRows("right", x, unknown, unknown, np.ones_like(x)),
    }
    for kind, function in (("left", gammainc), ("right", gammaincc)):
        with np.errstate(all="ignore"):
            found = FAMILIES["gamma"].terms(rows[kind], np.array([[shape], [-1.0]]))
            p = function(shape, x)
            mean = shape * function(shape + 1.0, x) / p
        known = p > 1e-290
        np.testing.assert_allclose(found.log_p[0][known], np.log(p[known]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.statistics[1][0][known], mean[known], rtol=1e-9, atol=1e-9 * np.sqrt(shape))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_draws_of_parameters_stay_where_members_exist(family):
    """With few censored rows errors are as large as natural parameters, whose domains have ends."""
    rng = np.random.default_rng(14)
    y = np.exp(0.6 * rng.normal(size=60))
    limit = np.quantile(y, 0.25)
    data = pd.DataFrame({"y": np.maximum(y, limit), "limit": limit})
    res = tg.fit("y ~ mixture(2) | censor(limit)", data, family=family, method=tg.EMCM(n_init=1))
    assert np.isfinite(res.log_likelihood_draws(draws=100)).all(axis=None)
