"""What every noise family owes to inference, on every kind of row."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.differences import derivative
from support.distributions import DISTRIBUTIONS
from support.problems import make_rows

from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.noise import NoiseLikelihood

pytestmark = pytest.mark.diagonal

# Closed forms, every distribution by quadrature, and a distribution whose peak is sharp.
LIKELIHOODS = {
    "closed forms": FAMILIES["gaussian"].likelihood,
    **{name: NoiseLikelihood(distribution) for name, distribution in DISTRIBUTIONS.items()},
}
LIKELIHOODS["cauchy"] = NoiseLikelihood(StudentNoise(1.0))
GUMBEL = LIKELIHOODS["gumbel"]
STEEP = [GUMBEL, LIKELIHOODS["gengamma"]]
SYMMETRIC = [of for name, of in LIKELIHOODS.items() if name not in ("gumbel", "gengamma")]
GAUSSIAN = [LIKELIHOODS["closed forms"], LIKELIHOODS["normal"]]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
ENDS = {
    "exact": (0.4, 0.4),
    "left": (-np.inf, 0.4),
    "right": (0.4, np.inf),
    "interval": (-0.3, 0.4),
    "wide": (-4.0, 3.0),
}
WINDOWS = {"exact, entered": ("exact", (-0.5, np.inf)), "right, entered": ("right", (0.1, np.inf))}
WINDOWS |= {"interval in a window": ("interval", (-1.0, 2.0)), "exact in a window": ("exact", (-1.0, 2.0))}
KINDS = [*ENDS, *WINDOWS]
SIGMAS = (0.3, 1.0, 2.5)
F = np.linspace(-3.0, 3.0, 13)
QUADRATURE = 1e-11  # Gauss-Legendre on 250 panels, the log mass itself good to 1e-13
RULES = 5e-11  # of distributions without closed forms, by quadrature of their own
DIFFERENCE = 2e-8  # fourth-order differences at a step of 1e-3 on functions of size 1 to 100


def ends_and_window(kind):
    kind, window = WINDOWS.get(kind, (kind, None))
    return ENDS[kind], window


def rows(kind, n=13):
    (lower, upper), window = ends_and_window(kind)
    return make_rows(np.full(n, lower), np.full(n, upper), window=window)


def mirrored(kind):
    (lower, upper), window = ends_and_window(kind)
    window = None if window is None else (-window[1], -window[0])
    return make_rows(np.full(len(F), -upper), np.full(len(F), -lower), window=window)


def panels(low, high, count=250):
    """Nodes and weights of Gauss-Legendre quadrature on (low, high)."""
    edges = np.linspace(low, high, count + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + NODES)).ravel(), (half * WEIGHTS).ravel()


def log_p(likelihood, lower, upper, f, sigma, window=None):
    """Log p of single ends at many f, or of many ends at one f."""
    lower, upper, f = np.broadcast_arrays(lower, upper, f)
    return likelihood.newton(make_rows(lower, upper, window=window), f.astype(float), sigma).log_Z


def average(likelihood, kind, mean, var, sigma, function):
    """E function(log p) under f ~ N(mean, var)."""
    x, w = panels(-15.0, 15.0)
    density = w * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    ends, window = ends_and_window(kind)
    out = [density @ function(log_p(likelihood, *ends, m + np.sqrt(var) * x, sigma, window)) for m in mean]
    return np.array(out)


def precision(likelihood):
    return QUADRATURE if likelihood is LIKELIHOODS["closed forms"] else RULES


def skip_steep(likelihood, sigma, var):
    """Means of an exponential tail lie sd^2 / sigma away: too far for the tests' own quadrature."""
    if likelihood in STEEP and var > 10.0 * sigma**2:
        pytest.skip("see test_gumbel_expectations_in_closed_form")


@pytest.fixture(params=LIKELIHOODS)
def likelihood(request):
    return LIKELIHOODS[request.param]


@pytest.fixture
def symmetric(likelihood):
    if likelihood not in SYMMETRIC:
        pytest.skip("the distribution is skew")
    return likelihood


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("f", [-2.0, 0.1, 1.7])
def test_density_and_masses_of_both_limits_add_to_one(likelihood, f, sigma):
    low, high = -0.8, 1.1
    y, w = panels(low, high)
    inside = w @ np.exp(log_p(likelihood, y, y, f, sigma))
    below, above = (np.exp(log_p(likelihood, *ends, [f], sigma))[0] for ends in ((-np.inf, low), (high, np.inf)))
    between = np.exp(log_p(likelihood, low, high, [f], sigma))[0]
    assert inside + below + above == pytest.approx(1.0, abs=QUADRATURE)
    assert between == pytest.approx(inside, rel=QUADRATURE)


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(-600, 600), min_size=1, max_size=6, unique=True),
    f=st.floats(-4.0, 4.0),
    sigma=st.floats(0.05, 5.0),
)
@pytest.mark.parametrize("noise", LIKELIHOODS)
def test_any_partition_of_the_line_has_mass_one(noise, cuts, f, sigma):
    edges = np.array([-np.inf, *(0.01 * c for c in sorted(cuts)), np.inf])
    masses = [log_p(LIKELIHOODS[noise], a, b, [f], sigma)[0] for a, b in itertools.pairwise(edges)]
    assert np.exp(masses).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("kind", KINDS)
class TestPoint:
    def test_derivatives_in_f(self, likelihood, kind, sigma):
        at = likelihood.point(rows(kind), F, sigma)
        for below, above in (("log_p", "d1"), ("d1", "d2"), ("d2", "d3")):
            slope = derivative(lambda f, k=below: getattr(likelihood.point(rows(kind), f, sigma), k), F, 1e-3)
            np.testing.assert_allclose(getattr(at, above), slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_derivatives_in_log_sigma(self, likelihood, kind, sigma):
        at = likelihood.point(rows(kind), F, sigma)
        for value, slope_name in (("log_p", "s0"), ("d1", "s1"), ("d2", "s2")):
            slope = derivative(
                lambda s, k=value: getattr(likelihood.point(rows(kind), F, float(np.exp(s))), k), np.log(sigma), 1e-3
            )
            np.testing.assert_allclose(getattr(at, slope_name)[0], slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_a_newton_step_sees_the_same(self, likelihood, kind, sigma):
        at, step = likelihood.point(rows(kind), F, sigma), likelihood.newton(rows(kind), F, sigma)
        for got, want in zip(step, at[:3], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)

    def test_mirror(self, symmetric, kind, sigma):
        here = symmetric.point(rows(kind), F, sigma)
        there = symmetric.point(mirrored(kind), -F, sigma)
        for got, want, sign in zip(there, here, (1, -1, 1, -1, 1, -1, 1), strict=True):
            np.testing.assert_allclose(got, sign * want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("var", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("kind", KINDS)
class TestTilted:
    def test_normaliser_against_quadrature(self, likelihood, kind, sigma, var):
        got = likelihood.tilted(rows(kind), F, np.full(len(F), var), sigma).log_Z
        want = average(likelihood, kind, F, var, sigma, np.exp)
        np.testing.assert_allclose(np.exp(got), want, rtol=precision(likelihood), atol=1e-14)

    def test_derivatives(self, likelihood, kind, sigma, var):
        def tilted(mean):
            return likelihood.tilted(rows(kind), mean, np.full(len(F), var), sigma)

        for below, above in (("log_Z", "d1"), ("d1", "d2")):
            slope = derivative(lambda m, k=below: getattr(tilted(m), k), F, 1e-3)
            np.testing.assert_allclose(getattr(tilted(F), above), slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_slope_in_log_sigma(self, likelihood, kind, sigma, var):
        v = np.full(len(F), var)
        t = likelihood.tilted(rows(kind), F, v, sigma)
        slope = derivative(lambda s: likelihood.tilted(rows(kind), F, v, float(np.exp(s))).log_Z, np.log(sigma), 1e-3)
        got = likelihood.tilted_slope(rows(kind), F, v, sigma, t.d1, t.d2)[0]
        np.testing.assert_allclose(got, slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_mirror(self, symmetric, kind, sigma, var):
        v = np.full(len(F), var)
        here, there = symmetric.tilted(rows(kind), F, v, sigma), symmetric.tilted(mirrored(kind), -F, v, sigma)
        for got, want, sign in zip(there, here, (1, -1, 1), strict=True):
            np.testing.assert_allclose(got, sign * want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("var", [0.0025, 0.2, 4.0, 40.0])
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("kind", KINDS)
class TestExpected:
    def expected(self, likelihood, kind, sigma, mean, var):
        return likelihood.expected(rows(kind), mean, np.full(len(F), var), sigma)

    def test_value_against_quadrature(self, likelihood, kind, sigma, var):
        skip_steep(likelihood, sigma, var)
        want = average(likelihood, kind, F, var, sigma, lambda v: v)
        got = self.expected(likelihood, kind, sigma, F, var).value
        np.testing.assert_allclose(got, want, rtol=precision(likelihood), atol=precision(likelihood))

    def test_derivatives_in_the_mean(self, likelihood, kind, sigma, var):
        skip_steep(likelihood, sigma, var)
        at = self.expected(likelihood, kind, sigma, F, var)
        for below, above in (("value", "d1"), ("d1", "d2")):
            slope = derivative(lambda m, k=below: getattr(self.expected(likelihood, kind, sigma, m, var), k), F, 1e-3)
            np.testing.assert_allclose(getattr(at, above), slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_price(self, likelihood, kind, sigma, var):
        """Half the expected curvature is the derivative in the variance."""
        skip_steep(likelihood, sigma, var)
        slope = derivative(lambda v: self.expected(likelihood, kind, sigma, F, v).value, var, 1e-3 * var)
        got = 0.5 * self.expected(likelihood, kind, sigma, F, var).d2
        np.testing.assert_allclose(got, slope, rtol=1e-7, atol=1e-7)

    def test_derivative_in_log_sigma(self, likelihood, kind, sigma, var):
        skip_steep(likelihood, sigma, var)
        slope = derivative(
            lambda s: self.expected(likelihood, kind, float(np.exp(s)), F, var).value, np.log(sigma), 1e-3
        )
        got = self.expected(likelihood, kind, sigma, F, var).s0[0]
        np.testing.assert_allclose(got, slope, rtol=DIFFERENCE, atol=DIFFERENCE)

    def test_mirror(self, symmetric, kind, sigma, var):
        v = np.full(len(F), var)
        here, there = symmetric.expected(rows(kind), F, v, sigma), symmetric.expected(mirrored(kind), -F, v, sigma)
        for got, want, sign in zip(there, here, (1, -1, 1, 1), strict=True):
            np.testing.assert_allclose(got, sign * want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_without_spread_all_three_views_agree(likelihood, kind):
    none = np.zeros(len(F))
    point = likelihood.point(rows(kind), F, 0.7)
    tilted = likelihood.tilted(rows(kind), F, none, 0.7)
    expected = likelihood.expected(rows(kind), F, none, 0.7)
    for k in range(3):
        np.testing.assert_allclose(tilted[k], point[k], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(expected[k], point[k], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(expected.s0, point.s0, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("view", ["point", "tilted", "expected"])
def test_shrinking_interval_is_an_exact_value_times_its_width(likelihood, width, view):
    mid, sigma, var = 0.4, 0.6, np.full(len(F), 0.3)
    thin = make_rows(np.full(len(F), mid - 0.5 * width), np.full(len(F), mid + 0.5 * width))
    f = np.abs(F) if likelihood in STEEP else F  # left of the row its exponential magnifies all differences
    arguments = (f, sigma) if view == "point" else (f, var, sigma)
    got, want = getattr(likelihood, view)(thin, *arguments), getattr(likelihood, view)(rows("exact"), *arguments)
    # log of the mean density over the interval differs by O(width^2); its ends are rounded to 1e-16 / width
    allowed = 20.0 * width**2 + 1e-14 / width
    width = thin.upper - thin.lower
    np.testing.assert_allclose(got[0] - np.log(width), want[0], atol=allowed + 1e-12)
    for k in (1, 2):
        np.testing.assert_allclose(got[k], want[k], rtol=1e-11, atol=10.0 * allowed + 1e-11)


@pytest.mark.parametrize("var", [1e-8, 1.0, 1e4])
@pytest.mark.parametrize("kind", ["left", "right", "interval", "exact", "wide"])
def test_tails_are_finite_and_concave(likelihood, kind, var):
    sigma = 0.3
    f = np.array([-40.0, -39.0, -10.0, 10.0, 39.0, 40.0]) * sigma
    many, v = rows(kind, len(f)), np.full(len(f), var)
    for view in (
        likelihood.point(many, f, sigma),
        likelihood.tilted(many, f, v, sigma),
        likelihood.expected(many, f, v, sigma),
    ):
        assert all(np.isfinite(part).all() for part in view)
        if likelihood.log_concave:
            assert (view[2] <= (0.0 if likelihood is LIKELIHOODS["closed forms"] else 1e-12)).all()
        if likelihood in GAUSSIAN:
            assert (view[2] >= -(1.0 + 1e-12) / sigma**2).all()


@pytest.mark.parametrize("likelihood", GAUSSIAN, ids=["closed forms", "quadrature"])
def test_far_tail_against_30_digits(likelihood):
    got = likelihood.point(make_rows([-np.inf], [0.0]), np.array([40.0]), 1.0)
    with mp.workdps(30):
        log_p, hazard = mp.log(mp.ncdf(-40)), mp.npdf(40) / mp.ncdf(-40)
    assert got.log_p[0] == pytest.approx(float(log_p), rel=1e-14)
    assert got.d1[0] == pytest.approx(-float(hazard), rel=1e-13)
    assert got.d2[0] == pytest.approx(float(hazard * (40 - hazard)), rel=1e-9)


@pytest.mark.parametrize("sd", [0.1, 2.0, 6.0])
def test_gumbel_expectations_in_closed_form(sd):
    mean, sigma, at = np.array([0.3]), 0.3, np.array([sd**2])
    with mp.workdps(30):
        z = (mp.mpf("0.4") - mp.mpf("0.3")) / mp.mpf("0.3")
        rise = mp.exp(z + (mp.mpf(sd) / mp.mpf("0.3")) ** 2 / 2)
    exact = GUMBEL.expected(rows("exact", 1), mean, at, sigma)
    right = GUMBEL.expected(rows("right", 1), mean, at, sigma)
    assert right.value[0] == pytest.approx(-float(rise), rel=1e-13)
    assert exact.value[0] == pytest.approx(float(z - rise) - np.log(sigma), rel=1e-13)
    assert exact.d2[0] == pytest.approx(-float(rise) / sigma**2, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "sd"), [(-1.0, 3.0), (-18.0, 4.0), (-60.0, 10.0)])
def test_a_row_that_entered_late_is_not_forgotten_far_below_its_entry(mean, sd):
    """There e^a and e^a' are both beyond all numbers, and their difference still decides: a step at the limit."""
    at, sigma, limit = np.array([mean]), 0.016, 0.6
    row = make_rows(np.array([limit]), np.array([np.inf]), window=(-3.8, np.inf))
    assert GUMBEL.newton(row, at, sigma).log_Z < -1e20
    far = np.array([limit - 1000 * sigma, limit - 400 * sigma])
    value, slope, _ = GUMBEL.newton(
        make_rows(np.full(2, limit), np.full(2, np.inf), window=(limit - 1.0, np.inf)), far, sigma
    )
    assert value[0] < value[1] < -1e100
    assert (slope > 0.0).all()
    # f is above the limit or so: a normal distribution cut there.
    f = np.linspace(limit - 40 * sigma, limit + 12.0 * sd, 2_000_001)
    log_density = GUMBEL.newton(
        make_rows(np.full(len(f), limit), np.full(len(f), np.inf), window=(-3.8, np.inf)), f, sigma
    )[0]
    log_density = log_density - 0.5 * np.square((f - mean) / sd)
    w = np.exp(log_density - log_density.max())
    centre = (w @ f) / w.sum()
    found = GUMBEL.tilted(row, at, np.array([sd**2]), sigma)
    log_Z = log_density.max() + np.log(w.sum() * (f[1] - f[0]) / sd) - 0.5 * np.log(2.0 * np.pi)
    np.testing.assert_allclose(found.log_Z, log_Z, rtol=1e-8)
    np.testing.assert_allclose(mean + found.d1 * sd**2, centre, rtol=1e-6)
