"""Noise convolved with a normal, against closed forms and quadrature of single rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from support.posteriors import nodes

from tobitgp.distributions.convolution import Convolved, cdf, log_density, log_mass, log_tail
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.distributions.weighted import WeightedSum
from tobitgp.numerics.normal_functions import normal_quantile
from tobitgp.numerics.truncated_moments import log_interval_mass
from tobitgp.posterior.questions import probability

INF = np.inf
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(0.3), StudentNoise(3.0), StudentNoise(60.0)]
RATIOS = [1e-3, 0.1, 0.7, 3.0, 20.0, 1e3]


def reference(log_function, z, t):
    """``log E exp(log_function(z - t X))`` by scipy, a piece at a time."""
    edges = np.unique(
        np.concatenate([np.arange(-38.0, 39.0), *(z / t + s * np.logspace(-2, 1.5, 8) / t for s in (-1, 1))])
    )
    edges = edges[np.abs(edges) <= 38.0]

    def log_value(x):
        return float(log_function(np.array([z - t * x]))[0]) - 0.5 * x * x - 0.5 * np.log(2 * np.pi)

    middles = 0.5 * (edges[1:] + edges[:-1])
    top = max(log_value(x) for x in [*edges, *middles])
    pieces = [
        quad(lambda x: np.exp(log_value(x) - top), a, b, epsabs=1e-13, epsrel=1e-11)[0]
        for a, b in pairwise(edges)
        if max(log_value(a), log_value(b), log_value(0.5 * (a + b))) > top - 40.0
    ]
    return top + np.log(sum(pieces))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS[1:], ids=repr)
def test_cdf_beside_little_normal_spread(distribution):
    """Few nodes, also where the noise is steep, and the panels beyond them."""
    z, t = (part.ravel() for part in np.meshgrid([-9.0, -1.5, 0.2, 3.0], np.array([1e-3, 0.05, 0.2, 0.5])))
    t = t * distribution.reach
    F, f = cdf(distribution, z, t)
    for found, log_function in ((F, distribution.log_cdf), (f, distribution.logpdf)):
        exact = [np.exp(reference(log_function, a, b)) for a, b in zip(z, t, strict=True)]
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize("t", RATIOS)
def test_tails_and_density(distribution, t):
    """Far in both tails, relative to the probability itself."""
    for r in (-15.0, -2.0, 0.4, 6.0):
        z = r * np.hypot(1.0, t)
        for upper in (False, True):
            if distribution.name == "gumbel" and upper and r > 2.0:
                continue
            tail = distribution.log_sf if upper else distribution.log_cdf
            mine = log_tail(distribution, np.array([z]), np.array([t]), upper=upper)[0]
            assert np.isclose(mine, reference(tail, z, t), rtol=1e-10, atol=1e-9)
        if distribution.name == "gumbel" and r > 2.0:
            continue
        mine = log_density(distribution, np.array([z]), np.array([t]))[0]
        assert np.isclose(mine, reference(lambda x: distribution.log_density(x, 0)[0], z, t), rtol=1e-10, atol=1e-9)


def test_the_normal_distribution_is_its_closed_form():
    rng = np.random.default_rng(2)
    n = 3000
    t = 10.0 ** rng.uniform(-3, 3, n)
    total = np.hypot(1.0, t)
    z = 8.0 * rng.normal(size=n) * total
    for upper, sign in ((False, 1.0), (True, -1.0)):
        assert np.allclose(
            log_tail(NormalNoise(), z, t, upper=upper), log_ndtr(sign * z / total), rtol=1e-11, atol=1e-9
        )
    truth = -0.5 * (z / total) ** 2 - np.log(total) - 0.5 * np.log(2 * np.pi)
    assert np.allclose(log_density(NormalNoise(), z, t), truth, rtol=1e-11, atol=1e-9)
    b = z + total * 10.0 ** rng.uniform(-3, 1, n)
    assert np.allclose(log_mass(NormalNoise(), z, b, t), log_interval_mass(z / total, b / total), rtol=1e-10, atol=1e-9)
    F, f = cdf(NormalNoise(), z, t)
    assert np.allclose(F, np.exp(log_ndtr(z / total)), rtol=1e-9, atol=1e-300)
    assert np.allclose(f, np.exp(truth), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_interval_masses_add_up(distribution):
    t = np.array(RATIOS)
    a, b, inf = np.full(6, -0.7), np.full(6, 1.1), np.full(6, INF)
    parts = [log_mass(distribution, *ends, t) for ends in ((-inf, a), (a, b), (b, inf))]
    assert np.allclose(np.logaddexp.reduce(parts), 0.0, atol=1e-10)
    assert np.allclose(parts[0], log_tail(distribution, a, t, upper=False), atol=1e-10)
    narrow = log_mass(distribution, a, a + 1e-9, t) - np.log(1e-9)
    assert np.allclose(narrow, log_density(distribution, a, t), atol=1e-6)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_within_a_window(distribution):
    """The ratio of masses is averaged, not the masses."""
    entry, exit, a, b = -1.0, 2.0, -0.3, 0.9
    for t in (0.2, 2.0):
        ends = (np.array([end]) for end in (a, b))
        mine = log_mass(distribution, *ends, np.array([t]), np.array([entry]), np.array([exit]))[0]

        def log_ratio(x, t=t):
            shift = -t * x
            one = [np.array([end + shift]) for end in (a, b, entry, exit)]
            zero = np.zeros(1)
            return float(
                (log_mass(distribution, one[0], one[1], zero) - log_mass(distribution, one[2], one[3], zero))[0]
            )

        truth = quad(lambda x: np.exp(log_ratio(x) - 0.5 * x * x) / np.sqrt(2 * np.pi), -9, 9, limit=400, epsabs=1e-11)[
            0
        ]
        assert np.isclose(np.exp(mine), truth, rtol=1e-8)


def components(rng, distributions, spread, n=5):
    J = len(distributions)
    sd = spread * np.exp(0.3 * rng.normal(size=(J, n)))
    sigma = np.exp(0.4 * rng.normal(size=J))
    return nodes(rng.dirichlet(np.ones(J)), rng.normal(size=(J, n)), sd, sigma, noises=distributions)


@pytest.mark.parametrize("spread", [1e-3, 0.5, 1e3])
@pytest.mark.parametrize(
    "distributions",
    [(Logistic(),), (Gumbel(),) * 3, (StudentNoise(0.8), StudentNoise(3.0), StudentNoise(9.0)), (Logistic(),) * 3],
    ids=["logistic", "gumbel", "student", "logistics"],
)
def test_quantiles_invert_the_cdf(rng, distributions, spread):
    q = components(rng, distributions, spread)
    for p in (1e-6, 0.05, 0.5, 0.99):
        x = q.new.ppf(p)
        z, t = (x - q.mean) / q.sigma, q.sd / q.sigma
        below = np.stack(
            [
                np.exp(log_tail(distribution, a, b, upper=False))
                for distribution, a, b in zip(distributions, z, t, strict=True)
            ]
        )
        assert np.allclose(q.weight @ below, p, rtol=1e-8)


def test_normal_quantiles_by_the_general_path(rng):
    q = components(rng, (NormalNoise(),) * 4, 0.7)
    for p in (0.01, 0.5, 0.9):
        truth = normal_quantile(p, q.weight, q.mean, np.hypot(q.sd, q.sigma))
        scale = np.broadcast_to(q.sigma, q.mean.shape)
        rows = zip(q.sd / q.sigma, q.mean, scale, strict=True)
        general = WeightedSum(q.weight, tuple(LocationScale(Convolved(NormalNoise(), t), m, s) for t, m, s in rows))
        assert np.allclose(general.ppf(p), truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_of_probabilities_under_several_distributions(rng, upper):
    distributions = (StudentNoise(1.5), StudentNoise(4.0), StudentNoise(30.0))
    weight, mean, sd = np.array([0.2, 0.5, 0.3]), rng.normal(size=(3, 4)), np.full((3, 4), 0.6)
    j = rng.choice(3, 200_000, p=weight)
    z = mean[j] + sd[j] * rng.normal(size=(len(j), 4))
    P = np.empty_like(z)
    for k, distribution in enumerate(distributions):
        P[j == k] = np.exp(distribution.log_sf(z[j == k]) if upper else distribution.log_cdf(z[j == k]))
    for p in (0.05, 0.5, 0.95):
        q = nodes(weight, -mean, sd, np.ones(3), noises=distributions)
        (x,) = q.quantiles(probability(False, np.zeros(4), above=upper), (p,))
        assert (np.abs((x > P).mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / len(j))).all()
