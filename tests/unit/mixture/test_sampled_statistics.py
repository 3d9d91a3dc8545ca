"""Truncated statistics by importance sampling: those of closed forms and quadrature to Monte Carlo error."""

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad
from support.mixtures import RAYLEIGH

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.mixture import MIXTURE_FAMILIES, SVBCM, fit_mixture
from tobitgp.mixture.mixture_rows import MixtureRows
from tobitgp.mixture.stochastic_steps import sampled_terms

ON_UNIT = tg.ExponentialFamily(  # beta(a, 1)
    "power",
    statistic=np.log,
    log_partition=lambda eta: -np.log(eta),
    natural=[(0.0, np.inf)],
    log_base=lambda y: -np.log(y),
    support=(0.0, 1.0),
)
REPEATS = 40
# Family, plug-in parameters of two components, the same as scipy has them, statistics, and limits, some
# of them far into a tail.
CASES = {
    "gaussian": (
        MIXTURE_FAMILIES["gaussian"],
        [[0.0, 2.0], [0.0, np.log(0.5)]],
        [st.norm(0.0, 1.0), st.norm(2.0, 0.5)],
        [[lambda y: y, lambda y: y**2], [lambda y: (y - 2.0) / 0.5, lambda y: ((y - 2.0) / 0.5) ** 2]],
        [-1.0, 0.7, 5.0, 6.0],
    ),
    "exponential": (
        MIXTURE_FAMILIES["exponential"],
        [[0.0, np.log(3.0)]],
        [st.expon(), st.expon(scale=1.0 / 3.0)],
        [[lambda y: y]] * 2,
        [0.01, 0.7, 9.0, 10.0],
    ),
    "poisson": (
        MIXTURE_FAMILIES["poisson"],
        [[np.log(0.3), np.log(20.0)]],
        [st.poisson(0.3), st.poisson(20.0)],
        [[lambda y: y]] * 2,
        [0.0, 3.0, 30.0, 31.0],
    ),
    "gamma": (
        MIXTURE_FAMILIES["gamma"],
        [[0.7, 30.0], [-2.0, -10.0]],
        [st.gamma(0.7, scale=0.5), st.gamma(30.0, scale=0.1)],
        [[np.log, lambda y: y]] * 2,
        [0.02, 1.0, 6.0, 7.0],
    ),
    "inverse_gaussian": (
        MIXTURE_FAMILIES["inverse_gaussian"],
        [[-0.375, -0.0125], [-1.5, -20.0]],
        [st.invgauss(2.0 / 3.0, scale=3.0), st.invgauss(1.0, scale=40.0)],
        [[lambda y: y, lambda y: 1.0 / y]] * 2,
        [1.0, 3.0, 60.0, 61.0],
    ),
    "binomial": (
        tg.Binomial(12),
        [[np.log(0.25), np.log(9.0)]],
        [st.binom(12, 0.2), st.binom(12, 0.9)],
        [[lambda y: y]] * 2,
        [0.0, 6.0, 10.0, 11.0],
    ),
    "pareto": (
        tg.Pareto(0.5),
        [[-1.5, -6.0]],
        [st.pareto(1.5, scale=0.5), st.pareto(6.0, scale=0.5)],
        [[lambda y: np.log(y / 0.5)]] * 2,
        [0.52, 0.9, 40.0, 41.0],
    ),
    "rayleigh": (
        RAYLEIGH,
        [[-0.125, -0.5 / 0.09]],
        [st.rayleigh(scale=2.0), st.rayleigh(scale=0.3)],
        [[lambda y: y**2]] * 2,
        [0.1, 0.8, 2.0, 3.0],
    ),
    "power": (
        ON_UNIT,
        [[0.4, 5.0]],
        [st.beta(0.4, 1.0), st.beta(5.0, 1.0)],
        [[np.log]] * 2,
        [0.05, 0.5, 0.99, 0.995],
    ),
}


def rows_of(kind, limits):
    """Rows at the first three limits; intervals between all four."""
    low, high = np.array(limits[:-1]), np.array(limits[1:])
    low, high = {"left": (np.full(3, -np.inf), low), "right": (low, np.full(3, np.inf))}.get(kind, (low, high))
    return MixtureRows(kind, low, high, high - low, np.ones(3))


def truth(dist, statistic, low, high):
    """Log probability, and the mean of a statistic between ends."""
    if hasattr(dist.dist, "pmf"):
        y = np.arange(max(low, -1.0) + 1.0, min(high, 400.0) + 1.0)
        p = dist.pmf(y)
        return np.log(p.sum()), p @ statistic(y) / p.sum()
    above = low > dist.median()
    first, last = (dist.sf(high), dist.sf(low)) if above else (dist.cdf(low), dist.cdf(high))
    quantile = dist.isf if above else dist.ppf
    mean = quad(lambda v: float(statistic(quantile(first + (last - first) * v))), 0.0, 1.0, epsrel=1e-7)[0]
    return np.log(last - first), mean


@pytest.mark.quick_cases("poisson-left", "exponential-right", "rayleigh-interval")
@pytest.mark.parametrize("kind", ["left", "right", "interval"])
@pytest.mark.parametrize("name", CASES)
def test_sampled_statistics_have_the_truth_for_mean(name, kind):
    family, theta, dists, statistics, limits = CASES[name]
    rows, rng = rows_of(kind, limits), np.random.default_rng(7)
    with np.errstate(all="ignore"):
        found = [sampled_terms(family, 500, rng)(rows, np.array(theta)) for _ in range(REPEATS)]
    for j, dist in enumerate(dists):
        for i in range(3):
            if dist.cdf(rows.upper[i]) - dist.cdf(rows.lower[i]) < 1e-9:
                continue  # scipy's own differences have no digits there
            for s, statistic in enumerate(statistics[j]):
                log_p, mean = truth(dist, statistic, rows.lower[i], rows.upper[i])
                got = np.array([np.exp(one.log_p[j, i] - log_p) for one in found])
                assert abs(got.mean() - 1.0) < 5.0 * got.std(ddof=1) / REPEATS**0.5 + 1e-9
                got = np.array([one.statistics[s][j, i] for one in found])
                assert abs(got.mean() - mean) < 5.0 * got.std(ddof=1) / REPEATS**0.5 + 1e-7 * abs(mean) + 1e-12


@pytest.mark.parametrize("name", CASES)
def test_weights_are_even_enough_in_tails(name):
    """A component of which a row is 20 standard deviations away has statistics as good as those of any other."""
    family, theta, dists, _, _ = CASES[name]
    far = float(np.max([dist.isf(1e-12) for dist in dists]))
    low = np.full(200, min(far, 0.5 * (far + family.ends[1])) if family.support != "counts" else np.floor(far) - 1.0)
    rows = MixtureRows("right", low, np.full(200, np.inf), np.full(200, np.inf), np.ones(200))
    with np.errstate(all="ignore"):
        want = family.terms(rows, np.array(theta))
        got = sampled_terms(family, 100, np.random.default_rng(1))(rows, np.array(theta))
    spread = np.exp(got.log_p - want.log_p).std(axis=1)
    assert (spread < 0.25).all()


def data(n=300, seed=3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, rng.exponential(0.5, n), rng.exponential(6.0, n))
    return np.minimum(y, 4.0), np.where(y > 4.0, np.inf, y)


@pytest.mark.slow
def test_steps_by_draws_come_as_near_as_steps_by_closed_forms():
    lower, upper = data()
    best = fit_mixture(lower, upper, family="exponential", k=2, rng=0).objective
    steps = {"n_steps": 300, "polish": False, "statistics": "sampled"}
    got = {
        draws: fit_mixture(lower, upper, family="exponential", k=2, method=SVBCM(**steps, draws=draws), rng=0).objective
        for draws in (None, 100)
    }
    assert got[100] < best
    assert best - got[100] < 2.0 * (best - got[None]) + 0.5


def test_draws_are_those_of_the_seed():
    lower, upper = data(80)
    method = SVBCM(n_steps=20, polish=False, statistics="sampled", draws=30)
    values = [fit_mixture(lower, upper, family=RAYLEIGH, k=2, method=method, rng=seed).objective for seed in (1, 1, 2)]
    assert values[0] == values[1]
    assert values[0] != values[2]


@pytest.mark.parametrize("draws", [0, 1, 2.0, True, "many"])
def test_a_number_of_draws_is_needed(draws):
    with pytest.raises(SpecError, match=rf"^draws={draws!r}: "):
        SVBCM(statistics="sampled", draws=draws)


def test_draws_need_sampled_statistics_of_an_exponential_family():
    with pytest.raises(SpecError, match=r"^draws=50: .* Add statistics='sampled'\."):
        SVBCM(draws=50)
    method = SVBCM(statistics="sampled", draws=50)
    with pytest.raises(SpecError, match=r"^draws=50: family='weibull' .* Leave draws= out\."):
        tg.fit("y ~ mixture(2)", {"y": [1.0, 2.0, 3.0]}, family="weibull", method=method)
