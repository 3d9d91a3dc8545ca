"""Closed forms of docs/theory on one variable, as they stand there, beside what the package computes."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_hermitenorm, factorial, gammainc, gammaln, ndtr, owens_t
from scipy.stats import gamma, norm
from support.posteriors import asked, nodes
from support.problems import make_rows

from tobitgp.distributions import CensoredNormal, TruncatedNormal
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerNormal
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.posterior.questions import CURVES

CLOSE = 1e-10
M, S, L, U, MU, SIGMA = 0.3, 0.7, -0.6, 1.1, -0.2, 0.5
A, B = (L - M) / S, (U - M) / S
P_L, P_U, D, PHI_A, PHI_B = ndtr(A), ndtr(-B), ndtr(B) - ndtr(A), norm.pdf(A), norm.pdf(B)


def test_censored_normal():
    """(INF2) to (INF7)."""
    p, q = CensoredNormal(M, S, L, U), CensoredNormal(MU, SIGMA, L, U)
    assert p.mean() == pytest.approx(L * P_L + U * P_U + M * D - S * (PHI_B - PHI_A), abs=CLOSE)
    first = A * P_L + B * P_U - (PHI_B - PHI_A)
    variance = S**2 * (A**2 * P_L + B**2 * P_U + D - (B * PHI_B - A * PHI_A) - first**2)
    assert p.var() == pytest.approx(variance, abs=CLOSE)
    h = -P_L * np.log(P_L) - P_U * np.log(P_U) + 0.5 * D * (np.log(2 * np.pi * S**2) + 1)
    h -= 0.5 * (B * PHI_B - A * PHI_A)
    J = 0.5 * D * (np.log(2 * np.pi * SIGMA**2) + ((M - MU) ** 2 + S**2) / SIGMA**2)
    J -= S / (2 * SIGMA**2) * ((U + M - 2 * MU) * PHI_B - (L + M - 2 * MU) * PHI_A)
    cross = -P_L * norm.logcdf((L - MU) / SIGMA) - P_U * norm.logcdf((MU - U) / SIGMA) + J
    found = [p.entropy(), p.cross_entropy(q), p.kl(q)]
    np.testing.assert_allclose(found, [h, cross, cross - h], atol=CLOSE)
    np.testing.assert_allclose(found, [1.082418, 1.655232, 0.572814], atol=1e-6)


def test_truncated_normal():
    """(INF8), another window around that of p."""
    p, q = TruncatedNormal(M, S, L, U), TruncatedNormal(MU, SIGMA, -1.0, 2.0)
    mass = ndtr((2.0 - MU) / SIGMA) - ndtr((-1.0 - MU) / SIGMA)
    cross = np.log(mass) + 0.5 * np.log(2 * np.pi * SIGMA**2) + (p.var() + (p.mean() - MU) ** 2) / (2 * SIGMA**2)
    assert p.cross_entropy(q) == pytest.approx(cross, abs=CLOSE)


def test_tilted_derivatives():
    """Both forms of each, (ROW12), for a right-censored row under logistic noise."""
    rows, mu, v = make_rows([0.4], [np.inf]), 0.1, 1.7

    def mean(values):
        def integrand(f):
            return values(f) * norm.pdf(f, mu, np.sqrt(v)) / (1.0 + np.exp(0.4 - f))

        return quad(integrand, mu - 14.0, mu + 14.0, epsabs=1e-13, limit=200)[0]

    Z = mean(lambda f: 1.0)
    slope = mean(lambda f: 1.0 / (1.0 + np.exp(f - 0.4))) / Z
    square = mean(lambda f: -np.exp(f - 0.4) / (1.0 + np.exp(f - 0.4)) ** 2 + (1.0 + np.exp(f - 0.4)) ** -2) / Z
    centre = mean(lambda f: f) / Z
    spread = mean(lambda f: (f - centre) ** 2) / Z
    np.testing.assert_allclose([slope, square - slope**2], [(centre - mu) / v, (spread / v - 1.0) / v], atol=CLOSE)
    t = NoiseLikelihood(Logistic()).tilted(rows, np.array([mu]), np.array([v]), 1.0)
    found = [t.log_Z[0], t.d1[0], t.d2[0]]
    np.testing.assert_allclose(found, [np.log(Z), slope, square - slope**2], atol=1e-9)


def test_generalised_gamma_times():
    """(GEN1) as it is written, and (GEN2) and (GEN3) where its terms cancel."""
    w = np.array([-2.0, 0.3, 1.7])
    for Q in (0.8, -0.6):
        u = Q**-2.0
        density = np.log(abs(Q)) + u * np.log(u) - gammaln(u) + u * (Q * w - np.exp(Q * w))
        np.testing.assert_allclose(GenGammaNoise(Q).logpdf(w), density, rtol=1e-12)
        P = gammainc(u, u * np.exp(Q * w))
        np.testing.assert_allclose(np.exp(GenGammaNoise(Q).log_sf(w)), 1.0 - P if Q > 0 else P, rtol=1e-12)
    Q = 0.002
    v = Q * w
    zeta = np.sign(w) * np.sqrt(2.0 * (np.exp(v) - 1.0 - v)) / Q
    eta, rise = Q * zeta, np.exp(v) - 1.0
    c1 = -1.0 / 540.0  # its limit; the closed form loses all digits here
    survival = norm.sf(zeta) + norm.pdf(zeta) * ((1.0 / rise - 1.0 / eta) * Q + c1 * Q**3)
    np.testing.assert_allclose(np.exp(GenGammaNoise(Q).log_sf(w)), survival, rtol=1e-8)
    np.testing.assert_allclose(GenGammaNoise(Q).logpdf(w), norm.logpdf(zeta) - Q**2 / 12.0, rtol=1e-8)


def test_power_transformations():
    """(BC1), (BC2) and (BC4) of one response."""
    power, mu, sigma, y = 0.4, -0.5, 0.9, np.array([1.7])
    at = PowerNormal(np.array([mu]), np.array([sigma]), power)
    density = norm.logpdf((y**power - 1.0) / power, mu, sigma) + (power - 1.0) * np.log(y)
    np.testing.assert_allclose(at.logpdf(y), density, rtol=1e-12)
    mass = norm.cdf(-(1.0 / power + mu) / sigma)
    np.testing.assert_allclose(np.exp(at.logcdf(np.zeros(1))), mass, rtol=1e-12)
    rest = quad(lambda t: np.exp(at.logpdf(np.array([t]))[0]), 0.0, np.inf, epsabs=1e-12)[0]
    assert mass + rest == pytest.approx(1.0, abs=1e-8)
    mean = quad(lambda z: max(0.0, 1.0 + power * z) ** (1.0 / power) * norm.pdf(z, mu, sigma), -2.5, 9.0, epsabs=1e-13)
    assert at.mean()[0] == pytest.approx(mean[0], abs=1e-9)


@pytest.mark.slow
def test_what_the_instrument_shows():
    """(PRE4), and (PRE5) as the variance of g under f."""
    v, sigma = 0.09, 0.4

    def g(f, sd):
        psi = [t * ndtr(t) + norm.pdf(t) for t in ((f - L) / sd, (f - U) / sd)]
        return L + sd * (psi[0] - psi[1])

    at = np.array([[M]]), np.array([[np.hypot(np.sqrt(v), sigma)]])
    limits = np.array([L]), np.array([U])
    assert LocationScale(NormalNoise(), *at).clipped_mean(*limits)[0, 0] == pytest.approx(g(M, at[1][0, 0]), abs=CLOSE)
    mean = quad(lambda f: g(f, sigma) * norm.pdf(f, M, np.sqrt(v)), M - 4.0, M + 4.0, epsabs=1e-13, limit=200)[0]
    assert g(M, at[1][0, 0]) == pytest.approx(mean, abs=CLOSE)
    S = np.hypot(np.sqrt(v), sigma)
    kinks, rho = sorted([(L - M) / S, (U - M) / S]), v / S**2

    def coefficient(k):
        def term(z):
            return np.clip(M + S * z, L, U) * eval_hermitenorm(k, z) / np.sqrt(factorial(k)) * norm.pdf(z)

        return sum(quad(term, *ends, epsabs=1e-13)[0] for ends in zip([-12.0, *kinks], [*kinks, 12.0], strict=True))

    series = sum(rho**k * coefficient(k) ** 2 for k in range(1, 25))
    posterior = nodes(np.ones(1), at[0], np.full((1, 1), np.sqrt(v)), np.array([sigma]))
    assert posterior.se(asked("observed", False, *limits))[0] ** 2 == pytest.approx(series, abs=CLOSE)


def test_uncertainty_of_a_probability():
    """(PRE6)."""
    m, sd, sigma, limit = 0.2, 0.9, 0.5, 0.8
    total = np.hypot(sd, sigma)
    z, rho = (limit - m) / total, sd**2 / total**2
    tail = ndtr(-abs(z))
    variance = tail - 2.0 * owens_t(-abs(z), np.sqrt((1.0 - rho) / (1.0 + rho))) - tail**2
    q = nodes(np.ones(1), np.full((1, 1), m), np.full((1, 1), sd), np.array([sigma]))
    assert q.se(asked("prob", False, limit=np.array([limit]), above=False))[0] == pytest.approx(
        np.sqrt(variance), abs=CLOSE
    )


@pytest.mark.slow
def test_the_band_of_a_constant_hazard_is_that_of_its_posterior():
    """(SUR10). Ten exponential times of sum 10: the hazard is Gamma(10, 10) at every time, though none was as long."""
    f = np.arange(-2.5, 5.0, 5e-4)
    weight = gamma.pdf(np.exp(-f), 10.0, scale=0.1) * np.exp(-f)
    every, orders = np.ones((len(f), 1)), (0.025, 0.5, 0.975)
    q = nodes(weight / weight.sum(), f[:, None], 4e-4 * every, every[:, 0], True, (Gumbel(),) * len(f)).spread_over()
    times = np.array([[1.0, 5.0, 20.0]])
    want = gamma.ppf(orders, 10.0, scale=0.1)
    found = np.stack(q.quantiles(CURVES["hazard"](True, times), orders))[:, 0]
    np.testing.assert_allclose(found, np.repeat(want[:, None], 3, axis=1), rtol=1e-6)
    found = np.ravel(q.quantiles(CURVES["cumulative_hazard"](True, np.full((1, 1), 6.0), np.full((1, 1), 5.0)), orders))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    np.testing.assert_allclose(np.exp(-found), [0.619069, 0.380271, 0.181141], atol=1e-6)
