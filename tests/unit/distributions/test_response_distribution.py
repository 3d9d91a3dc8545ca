"""Distributions of the response with limits and windows, against the closed forms of Karlova et al., scipy and quad."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tobitgp.distributions.event_times import Cured
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerNormal
from tobitgp.distributions.response_distribution import ResponseDistribution
from tobitgp.distributions.shown_rows import ShownRows
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.distributions.weighted import WeightedSum
from tobitgp.errors import DataError, SpecError

INF = np.inf
MU, SD = np.array([-0.4, 0.2, 0.9]), np.array([0.5, 0.8, 0.4])
LOWER, UPPER = -0.6, 1.1


def shown(y, lower=-INF, upper=INF, entry=-INF, exit=INF):
    """Distributions of rows with the same limits and window in each."""
    ends = (np.full(y.shape[0], end) for end in (lower, upper, entry, exit))
    return ResponseDistribution(ShownRows(y, *ends), np.ones(y.shape[0], dtype=bool))


def normal(mean=MU, sd=SD):
    return LocationScale(NormalNoise(), mean, sd)


def inside(l, u, m, s, mu, sigma):
    """The integral I before eq. 22: of phi(x; m, s) log phi(x; mu, sigma) over (l, u)."""
    a, b = (l - m) / s, (u - m) / s
    mass, low, high = stats.norm.cdf(b) - stats.norm.cdf(a), stats.norm.pdf(a), stats.norm.pdf(b)
    first = (m**2 - mu**2 - 2 * m * (m - mu) - s**2) / (2 * sigma**2) - 0.5 * np.log(2 * np.pi * sigma**2)
    return first * mass + ((u + m - 2 * mu) * s * high - (l + m - 2 * mu) * s * low) / (2 * sigma**2)


def cross_entropy(m, s, mu, sigma, l=LOWER, u=UPPER):
    """Eq. 14 for two censored normals with the densities of eq. 15."""
    below, above = stats.norm.cdf((l - m) / s), stats.norm.sf((u - m) / s)
    atoms = below * stats.norm.logcdf((l - mu) / sigma) + above * stats.norm.logsf((u - mu) / sigma)
    return -atoms - inside(l, u, m, s, mu, sigma)


def test_information_of_censored_normals_is_that_of_the_paper():
    ours, other = shown(normal(), LOWER, UPPER), shown(normal(MU + 0.3, 1.5 * SD), LOWER, UPPER)
    entropy, cross = cross_entropy(MU, SD, MU, SD), cross_entropy(MU, SD, MU + 0.3, 1.5 * SD)
    np.testing.assert_allclose(ours.entropy(), entropy, rtol=1e-12)
    np.testing.assert_allclose(ours.cross_entropy(other), cross, rtol=1e-12)
    np.testing.assert_allclose(ours.kl(other), cross - entropy, rtol=1e-11)
    np.testing.assert_array_equal(ours.kl(ours), 0.0)


def test_values_that_the_other_makes_impossible_are_infinitely_far():
    """A normal distribution has tails that a censored one has not, and an atom has no density to be compared with."""
    free, censored, wider = shown(normal()), shown(normal(), LOWER, UPPER), shown(normal(), LOWER - 1.0, UPPER)
    for one, two in ((free, censored), (censored, free), (censored, wider), (wider, censored)):
        np.testing.assert_array_equal(one.kl(two), INF)
        np.testing.assert_array_equal(one.cross_entropy(two), INF)
    window = shown(normal(), entry=LOWER, exit=UPPER)
    mass = stats.norm.cdf(UPPER, MU, SD) - stats.norm.cdf(LOWER, MU, SD)
    np.testing.assert_allclose(window.kl(free), -np.log(mass), rtol=1e-10)
    np.testing.assert_array_equal(free.kl(window), INF)


CLOSED = {
    "normal": (normal(), stats.norm(MU, SD)),
    "student": (LocationScale(StudentNoise(2.5), MU, SD), stats.t(2.5, MU, SD)),
    "logistic": (LocationScale(Logistic(), MU, SD), stats.logistic(MU, SD)),
    "lognormal": (LocationScale(NormalNoise(), MU, 5.0 * SD, log=True), stats.lognorm(5.0 * SD, scale=np.exp(MU))),
    "weibull": (LocationScale(Gumbel(), MU, 4.0 * SD, log=True), stats.weibull_min(0.25 / SD, scale=np.exp(MU))),
    "loglogistic": (LocationScale(Logistic(), MU, 0.4 * SD, log=True), stats.fisk(2.5 / SD, scale=np.exp(MU))),
}
ORDERS = np.array([[0.0, 1e-20, 0.02, 0.5, 0.9, 1.0]])


@pytest.mark.parametrize("name", CLOSED)
def test_without_limits_it_is_that_of_scipy(name):
    y, theirs = CLOSED[name]
    ours = shown(y)
    x = theirs.ppf(np.array([[0.001], [0.1], [0.7], [0.999]])).T
    for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
        np.testing.assert_allclose(getattr(ours, method)(x), getattr(theirs, method)(x.T).T, rtol=1e-9, atol=1e-12)
    for method in ("ppf", "isf"):
        np.testing.assert_allclose(getattr(ours, method)(ORDERS), getattr(theirs, method)(ORDERS.T).T, rtol=1e-8)
    for method in ("mean", "median", "var", "std", "entropy"):
        np.testing.assert_allclose(getattr(ours, method)(), getattr(theirs, method)(), rtol=1e-9)
    np.testing.assert_allclose(ours.interval(0.8), theirs.interval(0.8), rtol=1e-9)
    np.testing.assert_array_equal(ours.support(), np.stack(np.broadcast_arrays(*theirs.support(), MU)[:2]))


@pytest.mark.parametrize("window", [(-INF, INF), (-1.0, INF), (-0.9, 1.4)])
def test_limits_inside_a_window_by_quadrature(window):
    """What lies beyond a limit, inside the window, is an atom."""
    free, d = stats.norm(MU, SD), shown(normal(), LOWER, UPPER, *window)
    total = free.cdf(window[1]) - free.cdf(window[0])
    atoms = [(free.cdf(LOWER) - free.cdf(window[0])) / total, (free.cdf(window[1]) - free.cdf(UPPER)) / total]
    np.testing.assert_allclose(d.pmf([[LOWER, UPPER, 0.0]]), np.stack([*atoms, np.zeros(3)], axis=1), rtol=1e-12)
    np.testing.assert_allclose(d.cdf([[LOWER - 1e-9, LOWER]]), np.stack([np.zeros(3), atoms[0]], axis=1), rtol=1e-12)
    for i in range(3):

        def moment(g, i=i):
            part = quad(lambda x: g(x, free.pdf(x)[i] / total[i]) * free.pdf(x)[i] / total[i], LOWER, UPPER)[0]
            return part + sum(p[i] * g(end, p[i]) for p, end in zip(atoms, (LOWER, UPPER), strict=True))

        mean = moment(lambda x, p: x)
        assert d.mean()[i] == pytest.approx(mean, rel=1e-9)
        assert d.var()[i] == pytest.approx(moment(lambda x, p: (x - mean) ** 2), rel=1e-9)  # noqa: B023
        assert d.entropy()[i] == pytest.approx(moment(lambda x, p: -np.log(p)), rel=1e-9)
    order = (free.cdf(0.3) - free.cdf(window[0])) / total
    np.testing.assert_allclose(d.ppf(order), 0.3, rtol=1e-9)
    draws = d.rvs((20_000, 3), random_state=4)
    for end, p in zip((LOWER, UPPER), atoms, strict=True):
        np.testing.assert_allclose((draws == end).mean(axis=0), p, atol=5 * np.sqrt(0.25 / 20_000))
    np.testing.assert_allclose(draws.mean(axis=0), d.mean(), atol=5 * d.std().max() / np.sqrt(20_000))


def test_cured_rows_have_a_probability_at_infinity():
    logit = np.array([-1.0, 0.0, 0.5])
    d = shown(Cured(LocationScale(Logistic(), MU, 0.4 * SD, log=True), logit))
    cured, times = 1.0 / (1.0 + np.exp(-logit)), stats.fisk(2.5 / SD, scale=np.exp(MU))
    np.testing.assert_allclose(d.pdf(INF), cured, rtol=1e-12)
    np.testing.assert_array_equal(d.mean(), INF)
    np.testing.assert_array_equal(d.ppf(1.0 - 0.5 * cured), INF)
    wanted = -cured * np.log(cured) - (1.0 - cured) * (np.log1p(-cured) - times.entropy())
    np.testing.assert_allclose(d.entropy(), wanted, rtol=1e-9)


def test_zeros_of_a_transformed_normal_have_a_probability():
    d = shown(PowerNormal(MU, SD, 0.5))
    zero = stats.norm.cdf((-2.0 - MU) / SD)
    np.testing.assert_allclose(d.pdf(0.0), zero, rtol=1e-10)

    def moment(power, m, s):
        return quad(lambda z: (1.0 + 0.5 * (m + s * z)) ** power * stats.norm.pdf(z), (-2.0 - m) / s, 12.0)[0]

    wanted = [moment(4, m, s) - moment(2, m, s) ** 2 for m, s in zip(MU, SD, strict=True)]
    np.testing.assert_allclose(d.var(), wanted, rtol=1e-8)


def test_narrow_parts_far_apart():
    """Panels between quantiles have to find both, and what lies between has no probability."""
    parts = (normal(np.zeros(1), np.full(1, 1e-3)), normal(np.full(1, 50.0), np.full(1, 2.0)))
    d = shown(WeightedSum(np.array([0.3, 0.7]), parts))
    assert d.var()[0] == pytest.approx(0.3 * 1e-6 + 0.7 * 4.0 + 0.21 * 50.0**2, rel=1e-10)
    each = [stats.norm(0.0, 1e-3).entropy(), stats.norm(50.0, 2.0).entropy()]
    assert d.entropy()[0] == pytest.approx(0.3 * (each[0] - np.log(0.3)) + 0.7 * (each[1] - np.log(0.7)), rel=1e-10)


def test_heavy_tails_have_infinite_variances():
    for df, wanted in ((1.9, INF), (2.2, SD**2 * 2.2 / 0.2)):
        np.testing.assert_allclose(shown(LocationScale(StudentNoise(df), MU, SD)).var(), wanted, rtol=1e-8)
    np.testing.assert_array_equal(shown(LocationScale(StudentNoise(1.9), MU, SD)).kl(shown(normal())), INF)


def test_far_tails_of_a_window_keep_their_digits():
    """A window 20 standard deviations below the mean: nearly an exponential distribution below its upper end."""
    d, rate = shown(normal(np.array([9.0]), np.array([0.4])), exit=1.0), 8.0 / 0.4**2
    assert d.var()[0] == pytest.approx(rate**-2, rel=0.02)
    assert d.mean()[0] == pytest.approx(1.0 - 1.0 / rate, rel=1e-3)


def test_rows_without_a_prediction_are_missing():
    some = ResponseDistribution(shown(normal())._rows, np.array([True, False, True, True]))
    assert len(some) == 4
    for found in (some.cdf(0.1), some.mean(), some.entropy(), some.ppf([[0.1, 0.9]]), some.rvs((5, 4)).T):
        assert found.shape[0] == 4
        np.testing.assert_array_equal(np.isnan(found).reshape(4, -1).all(axis=1), [False, True, False, False])


def test_shapes():
    d = shown(normal())
    assert d.shape == (3,)
    assert d.cdf(0.1).shape == d.cdf([0.1, 0.2, 0.3]).shape == d.rvs().shape == (3,)
    assert d.cdf([[0.1, 0.2]]).shape == d.cdf(np.zeros((3, 2))).shape == (3, 2)
    np.testing.assert_array_equal(d.cdf([0.1, 0.2, 0.3]), np.diag(d.cdf([[0.1, 0.2, 0.3]])))
    assert d.rvs((7, 3), random_state=1).shape == (7, 3)
    np.testing.assert_array_equal(d.rvs((7, 3), random_state=1), d.rvs((7, 3), random_state=1))
    assert np.isnan(d.cdf(np.nan)).all()
    assert np.isnan(d.ppf([[-0.1, 1.1]])).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: d.cdf([0.1, 0.2]), DataError, r"shape \(1, m\)"),
        (lambda d: d.cdf("a"), DataError, "x='a'"),
        (lambda d: d.cdf(np.zeros((2, 2))), DataError, "shape"),
        (lambda d: d.interval(1.5), SpecError, "confidence=1.5"),
        (lambda d: d.rvs((3, 7)), SpecError, "size has shape"),
        (lambda d: d.kl(stats.norm()), SpecError, "get_distribution"),
        (lambda d: d.kl(shown(normal(MU[:2], SD[:2]))), SpecError, "must have 3 rows, as here"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call(shown(normal()))


def test_draws_of_a_weighted_sum_have_its_distribution():
    """They come from its parts: Kolmogorov and Smirnov's test of each row."""
    means = ((0.0, 3.0), (3.0, -2.0), (-2.0, 0.5))
    parts = tuple(normal(np.array(mean), np.full(2, sd)) for mean, sd in zip(means, (1.0, 0.5, 2.0), strict=True))
    d = shown(WeightedSum(np.array([0.2, 0.5, 0.3]), parts))
    draws = d.rvs((20_000, 2), random_state=1)
    for i in range(2):
        assert stats.kstest(draws[:, i], lambda x, i=i: d.cdf(x[None])[i]).pvalue > 0.001
