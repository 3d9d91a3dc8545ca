from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, invgauss
from support.mixtures import NAMES

from tobitgp.errors import SpecError
from tobitgp.mixture.exponential_components import MemberComponents
from tobitgp.mixture.gaussian import LogNormalComponents, NormalComponents, StudentT
from tobitgp.mixture.predictive import Predictive
from tobitgp.mixture.rates import GammaPoisson, PoissonDistribution
from tobitgp.mixture.ready_families import GAMMA, INVERSE_GAUSSIAN
from tobitgp.mixture.weibull import Burr, WeibullDistribution
from tobitgp.numerics import log_probabilities

TWO = np.ones(2)
DISTRIBUTIONS = {
    "student": StudentT(np.array([-3.0, 2.0]), np.array([1.0, 0.4]), np.array([3.0, 40.0])),
    "log student": StudentT(np.array([-1.0, 2.0]), np.array([1.0, 0.4]), np.array([6.0, 40.0]), log=True),
    "normal": NormalComponents(np.array([-3.0, 2.0]), np.array([1.0, 0.4])),
    "log normal": LogNormalComponents(np.array([-1.0, 2.0]), np.array([1.0, 0.4])),
    "lomax": Burr(np.array([3.0, 0.5]), TWO, np.array([4.0, 8.0])),
    "burr": Burr(np.array([3.0, 0.5]), np.array([2.5, 0.7]), np.array([4.0, 8.0])),
    "exponential": WeibullDistribution(np.array([3.0, 0.5]), TWO),
    "weibull": WeibullDistribution(np.array([3.0, 0.5]), np.array([2.5, 0.7])),
    "negative binomial": GammaPoisson(np.array([2.5, 30.0]), np.array([1.5, 2.0])),
    "poisson": PoissonDistribution(np.array([1.5, 12.0])),
}
CONTINUOUS = [name for name, distribution in DISTRIBUTIONS.items() if not distribution.discrete]
every = pytest.mark.parametrize("name", DISTRIBUTIONS)
Q = np.array([1e-10, 1e-4, 0.1, 0.5, 0.77, 0.999])


def mixture(name):
    return Predictive(np.array([0.3, 0.7]), DISTRIBUTIONS[name])


@every
def test_quantiles_invert_the_cdf(name):
    p = mixture(name)
    x = p.ppf(Q)
    if p.distribution.discrete:
        assert (p.cdf(x) >= Q).all()
        assert (p.cdf(x - 1.0) < Q).all()
    else:
        np.testing.assert_allclose(p.cdf(x), Q, rtol=1e-8)
    np.testing.assert_allclose(p.cdf(x) + p.sf(x), 1.0, rtol=1e-13)
    assert p.ppf(1.0) == np.inf
    assert np.isnan(p.ppf(1.5))
    assert p.ppf(0.0) == (-np.inf if name in ("student", "normal") else 0.0)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_integrates_to_the_mass(name):
    p = mixture(name)
    edges = p.ppf(np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.97]))
    mass = sum(quad(p.pdf, low, high, epsabs=0, limit=200)[0] for low, high in pairwise(edges))
    assert mass == pytest.approx(0.95, rel=1e-8)
    assert p.log_mass(edges[0], edges[-1]) == pytest.approx(np.log(0.95), rel=1e-8)


@pytest.mark.parametrize("name", ["negative binomial", "poisson"])
def test_probabilities_of_counts_add_up(name):
    p, y = mixture(name), np.arange(400.0)
    np.testing.assert_allclose(np.cumsum(p.pdf(y)), p.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(p.hazard(y[:30]), p.pdf(y[:30]) / (p.sf(y[:30]) + p.pdf(y[:30])), rtol=1e-10)
    assert p.mean() == pytest.approx(p.pdf(y) @ y, rel=1e-10)
    assert p.var() == pytest.approx(p.pdf(y) @ (y - p.mean()) ** 2, rel=1e-9)
    assert p.pdf(2.5) == 0.0
    assert p.log_mass(2.0, 5.0) == pytest.approx(np.log(p.pdf(y[3:6]).sum()), rel=1e-12)


@every
def test_draws_have_the_distribution(name):
    p = mixture(name)
    x = p.rvs(40_000, rng=1)
    for q in (0.1, 0.5, 0.9):
        at = p.ppf(q)
        assert (x <= at).mean() == pytest.approx(p.cdf(at), abs=0.01)
    assert np.ndim(p.rvs()) == 0
    np.testing.assert_array_equal(p.rvs((2, 3)), p.rvs((2, 3)))


@every
def test_mean_and_variance_are_those_of_the_quantile_function(name):
    p = mixture(name)
    mean, var = p.mean(), p.var()
    if name == "log student":
        assert mean == np.inf
        return
    low, high = (p.ppf(1e-9), p.ppf(1 - 1e-9)) if not p.distribution.discrete else (0.0, 500.0)
    if p.distribution.discrete:
        return
    breaks = p.ppf(np.array([1e-9, 0.01, 0.3, 0.6, 0.9, 0.999, 1 - 1e-9]))
    parts = [[quad(lambda x, r=r: x**r * p.pdf(x), a, b, limit=200)[0] for a, b in pairwise(breaks)] for r in (1, 2)]
    assert low < high
    assert mean == pytest.approx(sum(parts[0]), rel=2e-3, abs=1e-3)
    if name != "student":  # three degrees of freedom: the tails hold much of the variance
        assert var == pytest.approx(sum(parts[1]) - sum(parts[0]) ** 2, rel=2e-2)


@every
def test_ends_of_the_line(name):
    p = mixture(name)
    assert (p.cdf(np.inf), p.sf(np.inf), p.cdf(-np.inf), p.sf(-np.inf)) == (1.0, 0.0, 0.0, 1.0)
    assert p.log_mass(-np.inf, np.inf) == pytest.approx(0.0, abs=1e-12)
    assert p.log_mass(3.0, np.inf) == pytest.approx(p.logsf(3.0), rel=1e-12)
    assert p.log_mass(-np.inf, 3.0) == pytest.approx(p.logcdf(3.0), rel=1e-12)
    assert np.isnan(p.logpdf(np.nan))


def test_components_of_rows():
    p = mixture("normal")
    r = p.components(np.array([-3.0, 2.0, -np.inf]), np.array([-3.0, 2.0, np.inf]))
    np.testing.assert_allclose(r.sum(axis=1), 1.0)
    assert r[0, 0] > 0.99
    assert r[1, 1] > 0.99
    np.testing.assert_allclose(r[2], [0.3, 0.7])


def test_far_tails_keep_their_digits():
    with mp.workdps(40):
        normal = mixture("normal")
        assert normal.logsf(60.0) == pytest.approx(float(mp.log(0.3 * mp.erfc(mp.mpf(63) / mp.sqrt(2)) / 2)), rel=1e-12)
        nb = Predictive(np.ones(1), GammaPoisson(np.array([2.5]), np.array([50.0])))
        a, b = mp.mpf(2.5), mp.mpf(50)
        total = mp.nsum(
            lambda y: mp.gamma(a + y) / mp.gamma(a) / mp.factorial(y) * (b / (b + 1)) ** a / (b + 1) ** y, [301, 400]
        )
        assert nb.logsf(300.0) == pytest.approx(float(mp.log(total)), rel=1e-10)
    assert Predictive(np.full(3, 1 / 3), WeibullDistribution(np.ones(3), np.ones(3))).cumulative_hazard(
        1e-12
    ) == pytest.approx(1e-12)
    lomax = Predictive(np.ones(1), Burr(np.ones(1), np.ones(1), np.array([2.0])))
    assert lomax.logsf(1e200) == pytest.approx(-2.0 * 200 * np.log(10.0), rel=1e-12)
    assert lomax.hazard(1e200) == pytest.approx(2e-200, rel=1e-12)


def test_names_cover_the_families():
    assert set(NAMES) == {"gaussian", "lognormal", "exponential", "poisson", "weibull"}


def test_quantiles_that_overflow_are_infinite():
    p = Predictive(np.ones(1), StudentT(np.zeros(1), np.full(1, 3.0), np.full(1, 0.5), log=True))
    assert p.ppf(1.0 - 1e-12) == np.inf
    wide = np.full(1, 60.0)
    for distribution in (
        LogNormalComponents(np.zeros(1), wide),
        WeibullDistribution(1e50 * wide, 0.01 / wide * 60.0),
        Burr(1e200 * wide, np.ones(1), wide),
    ):
        assert distribution.variance() == np.inf
        assert not np.isnan(distribution.mean())


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [(2.5, 50.0, 300), (0.5, 3.0, 1000), (1e3, 1e3, 200), (1e4, 1.0, 0), (1e4, 1.0, 3000)],
)
@pytest.mark.slow_cases("10000.0-1.0-3000")
def test_tails_of_negative_binomial_counts_that_underflow(a, b, y):
    distribution = GammaPoisson(np.array([a]), np.array([b]))
    with mp.workdps(60):
        p = mp.mpf(b) / (1 + mp.mpf(b))
        below = mp.log(mp.betainc(a, y + 1, 0, p, regularized=True))
        above = mp.log(mp.betainc(y + 1, a, 0, 1 - p, regularized=True))
        assert distribution.log_cdf(np.array([float(y)]))[0, 0] == pytest.approx(float(below), rel=1e-12)
        assert distribution.log_sf(np.array([float(y)]))[0, 0] == pytest.approx(float(above), rel=1e-12)


@pytest.mark.parametrize("a", [1e-3, 0.1, 1.0, 55.0, 2.5e5, 1e8])
@pytest.mark.parametrize("mean", [1e-3, 0.3, 20.0, 1e6])
def test_log_probabilities_of_counts_keep_their_digits(a, mean):
    y = np.unique(np.floor([0.0, 1.0, 2.0, 10.0, 1e3, 1e5, 1e6, 0.9 * mean, mean, 1.01 * mean, 2.0 * mean]))
    b = a / mean
    found = GammaPoisson(np.array([a]), np.array([b])).log_density(y)[0]
    poisson = PoissonDistribution(np.array([mean])).log_density(y)[0]
    with mp.workdps(60):
        A, B, rate = mp.mpf(a), mp.mpf(b), mp.mpf(mean)
        exact = [
            mp.loggamma(A + n) - mp.loggamma(A) - mp.loggamma(n + 1) - A * mp.log1p(1 / B) - n * mp.log1p(B)
            for n in map(mp.mpf, y)
        ]
        np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-13)
        exact = [n * mp.log(rate) - rate - mp.loggamma(n + 1) for n in map(mp.mpf, y)]
        np.testing.assert_allclose(poisson, np.array(exact, dtype=float), rtol=1e-13)


@every
def test_nothing_lies_at_infinity_and_the_hazard_there_is_its_limit(name):
    p = mixture(name)
    assert (p.logpdf(np.inf), p.logpdf(-np.inf), p.hazard(-np.inf)) == (-np.inf, -np.inf, 0.0)
    limit = p.hazard(np.inf)
    far = p.hazard({"exponential": 300.0, "poisson": 1e7, "negative binomial": 1e7, "normal": 1e7}.get(name, 1e15))
    if np.isfinite(limit):
        assert limit == pytest.approx(far, rel=1e-4, abs=1e-4)
    else:
        assert far > 1e4


def test_tails_of_huge_counts_take_few_steps(monkeypatch):
    """Added up term by term, they would take some 1e5."""
    monkeypatch.setattr(log_probabilities, "_MOST_TERMS", 300)
    distribution = GammaPoisson(np.array([2e11]), np.ones(1))
    tail = distribution.log_sf(2e11 * (1.0 + np.array([2e-4, 1e-3])))[0]
    z = 2e11 * np.array([2e-4, 1e-3]) / np.sqrt(4e11)
    np.testing.assert_allclose(tail, -0.5 * z * z - np.log(z * np.sqrt(2.0 * np.pi)), rtol=2e-3)


@pytest.mark.parametrize("ask", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "hazard", "cumulative_hazard", "ppf"])
def test_values_that_are_no_numbers_are_refused(ask):
    distribution = Predictive(np.ones(1), NormalComponents(np.zeros(1), np.ones(1)))
    for bad in ("a", [1.0, "b"], [[1.0], [1.0, 2.0]], object(), 1j):
        with pytest.raises(SpecError, match="must be a number or an array of numbers"):
            getattr(distribution, ask)(bad)
    assert np.isnan(getattr(distribution, ask)(np.nan))


def test_ends_and_sizes_that_make_no_sense_are_refused():
    distribution = Predictive(np.ones(1), NormalComponents(np.zeros(1), np.ones(1)))
    for ask in (distribution.log_mass, distribution.components):
        with pytest.raises(SpecError, match=r"one shape, not \(2,\) and \(3,\)"):
            ask(np.zeros(2), np.ones(3))
        assert np.isnan(ask([np.nan], [1.0])).all()
    for size in ("a", 1.5, -1, (2, -1), True):
        with pytest.raises(SpecError, match="size="):
            distribution.rvs(size)
    assert distribution.rvs((2, 0)).shape == (2, 0)


def test_where_a_cdf_is_flat_the_smallest_value_is_the_quantile():
    two = Predictive(np.full(2, 0.5), NormalComponents(np.array([0.0, 100.0]), np.ones(2)))
    assert two.cdf(50.0) == two.cdf(two.ppf(0.5)) == 0.5
    assert 8.0 < two.ppf(0.5) < 8.5
    assert two.cdf(two.ppf([0.3, 0.7])) == pytest.approx([0.3, 0.7], abs=1e-14)


@pytest.mark.parametrize("name", ["gamma", "inverse_gaussian"])
def test_closed_tails_are_those_of_quadrature_and_of_scipy(name):
    rng, x = np.random.default_rng(3), np.r_[0.0, np.logspace(-6, 3, 60), np.inf]
    if name == "gamma":
        family, eta = GAMMA, np.stack([np.exp(rng.uniform(-2.0, 6.0, 12)), -np.exp(rng.uniform(-3.0, 3.0, 12))])
        theirs = gamma(eta[0][:, None], scale=-1.0 / eta[1][:, None])
    else:
        family, eta = INVERSE_GAUSSIAN, -np.exp(rng.uniform(-5.0, 3.0, (2, 12)))
        shape, mean = -2.0 * eta[1][:, None], np.sqrt(eta[1] / eta[0])[:, None]
        theirs = invgauss(mean / shape, scale=shape)
    members = MemberComponents(family, eta)
    with np.errstate(all="ignore"):
        by_nodes = [tail.log_p for tail in members._tails(x)]
    for found, want, scipy in zip(
        (members.log_cdf(x), members.log_sf(x)), by_nodes, (theirs.cdf(x), theirs.sf(x)), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(np.exp(found), scipy, rtol=1e-9, atol=1e-12)
