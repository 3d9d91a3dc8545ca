"""What every noise distribution owes to regression, on every kind of row."""

import numpy as np
import pytest
from support.differences import derivative
from support.distributions import EVERY, IDS

from tobitgp.likelihoods.row_terms import row_terms, subtract

pytestmark = pytest.mark.diagonal

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
ENDS = {
    "exact": (0.4, 0.4),
    "left": (-np.inf, 0.4),
    "right": (0.4, np.inf),
    "interval": (-0.3, 1.4),
    "narrow": (0.4, 0.41),
    "wide": (-6.0, 5.0),
}
ETA = np.linspace(-3.0, 3.0, 13)
distributions = pytest.mark.parametrize("distribution", EVERY, ids=IDS)


def terms(distribution, kind, eta, tau, ends=None):
    lower, upper = ENDS[kind] if ends is None else ends
    eta = np.atleast_1d(np.asarray(eta, float))
    lower, upper = np.broadcast_to(lower, eta.shape), np.broadcast_to(upper, eta.shape)
    known = "interval" if kind in ("narrow", "wide") else kind
    with np.errstate(invalid="ignore"):
        return row_terms(distribution, known, lower, upper, upper - lower, eta, np.asarray(tau))


def integral(distribution, low, high, function):
    """Integral over an interval, by quantiles of the distribution where an end is infinite."""
    edges = distribution.ppf(np.concatenate([[1e-13], np.linspace(1e-4, 1.0 - 1e-4, 400), [1.0 - 1e-13]]))
    edges = np.unique(np.clip(edges, low, high))
    half = 0.5 * np.diff(edges)[:, None]
    z = (edges[:-1, None] + half * (1.0 + NODES)).ravel()
    return (half * WEIGHTS).ravel() @ function(z)


@distributions
def test_log_density_and_its_derivatives(distribution):
    z = np.linspace(-6.0, 3.0, 19)
    values = distribution.log_density(z)
    for order in range(3):
        slope = derivative(lambda x, order=order: distribution.log_density(x)[order], z, 1e-3)
        np.testing.assert_allclose(values[order + 1], slope, rtol=1e-8, atol=1e-9)


@distributions
def test_tails_and_their_derivatives(distribution):
    z = np.linspace(-6.0, 3.0, 19)
    for tail in (distribution.lower_tail, distribution.upper_tail):
        _, d1, d2 = tail(z)
        np.testing.assert_allclose(d1, derivative(lambda x, tail=tail: tail(x).log_p, z, 1e-3), rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(d2, derivative(lambda x, tail=tail: tail(x).d1, z, 1e-3), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(np.exp(distribution.log_cdf(z)) + np.exp(distribution.log_sf(z)), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(distribution.lower_tail(z).log_p, distribution.log_cdf(z))
    np.testing.assert_array_equal(distribution.upper_tail(z).log_p, distribution.log_sf(z))


@distributions
def test_density_integrates_to_the_cdf(distribution):
    low, high = distribution.ppf(np.array([0.01, 0.95]))
    mass = integral(distribution, low, high, lambda z: np.exp(distribution.log_density(z, 0)[0]))
    assert mass == pytest.approx(0.94, rel=1e-10)


@distributions
def test_quantiles_invert_the_cdf(distribution):
    q = np.array([1e-6, 0.1, 0.5, 0.99])
    np.testing.assert_allclose(np.exp(distribution.log_cdf(distribution.ppf(q))), q, rtol=1e-9)


@distributions
@pytest.mark.parametrize("tau", [-0.7, 0.3])
@pytest.mark.parametrize("kind", ENDS)
def test_gradient_and_hessian_of_rows(distribution, kind, tau):
    got = terms(distribution, kind, ETA, tau)

    def eta(name):
        return derivative(lambda x: getattr(terms(distribution, kind, x, tau), name), ETA, 1e-3)

    def scale(name):
        return derivative(lambda s: getattr(terms(distribution, kind, ETA, tau + s), name), 0.0, 1e-3)

    for value, difference in [
        (got.eta, eta("value")),
        (got.tau, scale("value")),
        (got.eta_eta, eta("eta")),
        (got.eta_tau, scale("eta")),
        (got.tau_tau, scale("tau")),
    ]:
        np.testing.assert_allclose(value, difference, rtol=1e-6, atol=1e-7)


@distributions
def test_left_inside_and_right_make_one(distribution):
    total = sum(
        np.exp(terms(distribution, kind, ETA, 0.2, ends).value)
        for kind, ends in [("left", (-np.inf, -0.3)), ("interval", (-0.3, 1.4)), ("right", (1.4, np.inf))]
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-13)


@distributions
@pytest.mark.parametrize("width", [1e-4, 1e-8, 1e-12])
def test_a_narrow_interval_is_an_exact_row_times_its_width(distribution, width):
    eta = np.linspace(-3.0, 3.0, 7)
    lower, upper = np.full(7, 0.4), np.full(7, 0.4 + width)
    tau = np.asarray(0.2)
    narrow = row_terms(distribution, "interval", lower, upper, np.full(7, width), eta, tau)
    middle = lower + 0.5 * width
    exact = row_terms(distribution, "exact", middle, middle, lower, eta, tau)
    np.testing.assert_allclose(narrow.value - np.log(width), exact.value, rtol=0, atol=width * width * 1e3 + 1e-13)
    for a, b in zip(narrow[1:], exact[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e3 * width + 1e-10)


@distributions
def test_an_exact_row_in_its_window_has_a_density(distribution):
    low, high, eta, tau = -0.5, 1.5, 0.3, 0.1
    edges = np.linspace(low, high, 41)
    half = 0.5 * np.diff(edges)[:, None]
    y = (edges[:-1, None] + half * (1.0 + NODES)).ravel()
    value = subtract(
        terms(distribution, "exact", np.full(len(y), eta), tau, (y, y)),
        terms(distribution, "interval", np.full(len(y), eta), tau, (low, high)),
    ).value
    assert (half * WEIGHTS).ravel() @ np.exp(value) == pytest.approx(1.0, rel=1e-12)


@distributions
@pytest.mark.parametrize("kind", ENDS)
def test_rows_far_out_are_finite(distribution, kind):
    for value in terms(distribution, kind, np.array([-1e6, -40.0, 40.0, 1e6]), 0.0):
        assert np.isfinite(value).all()


@distributions
def test_a_distant_interval_is_smooth_in_its_location(distribution):
    eta = np.array([-40.0, -20.0, 20.0])
    got = terms(distribution, "interval", eta, 0.0, (-0.3, 1.4))
    slope = derivative(lambda x: terms(distribution, "interval", x, 0.0, (-0.3, 1.4)).value, eta, 1e-3)
    keep = np.abs(got.value) < 1e5
    np.testing.assert_allclose(got.eta[keep], slope[keep], rtol=1e-7)
