"""The numbers on the errata pages of docs/theory, computed again."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal, norm
from support.bounds import direct_integral, eq46, tangent
from support.differences import derivative
from support.oracles import covariance
from support.printed import as_printed, divergence_as_printed
from support.problems import dense, gp, make_problem, marginals, simulate, solve, tight

from tobitgp.distributions import CensoredNormal
from tobitgp.inference import EPUpdates, VIUpdates
from tobitgp.likelihoods.censoring_noise import SideNoise
from tobitgp.likelihoods.expectations import cross_entropy
from tobitgp.numerics.normal_functions import mills

PRINTED = 1e-6
M, S, MU, SIGMA, L, U = 0.3, 0.7, -0.2, 0.5, -0.6, 1.1


def each(*values):
    return [np.array([float(v)]) for v in values]


def equation_22(y, lower, upper, m, s, sigma):
    return cross_entropy(*each(y, lower, upper, m, s * s), sigma).value[0]


# Karlova et al.


def test_k1_sign_of_the_second_line():
    integral = quad(lambda x: norm.pdf(x, M, S) * norm.logpdf(x, MU, SIGMA), L, U)[0]
    atoms = norm.pdf((L - M) / S) * log_ndtr((L - MU) / SIGMA) + norm.pdf((U - M) / S) * log_ndtr((MU - U) / SIGMA)
    assert integral == pytest.approx(-0.821801, abs=PRINTED)
    assert equation_22(MU, L, U, M, S, SIGMA) - atoms == pytest.approx(integral, abs=1e-12)
    assert as_printed(*each(MU, L, U, M, S * S), SIGMA)[0] - atoms == pytest.approx(1.469770, abs=PRINTED)


def test_k2_log_determinants():
    A, K, mean = np.diag([0.5, 2.0]), np.array([[1.0, 0.3], [0.3, 1.5]]), np.array([0.2, -0.4])
    f = np.random.default_rng(0).multivariate_normal(mean, A, 200_000)
    draws = multivariate_normal(mean, A).logpdf(f) - multivariate_normal([0.0, 0.0], K).logpdf(f)
    right = divergence_as_printed(A, K, mean) - np.linalg.slogdet(A)[1] + np.linalg.slogdet(K)[1]
    assert right == pytest.approx(0.2420, abs=5e-5)
    assert draws.mean() == pytest.approx(0.2422, abs=5e-5)
    assert draws.std() / np.sqrt(len(f)) == pytest.approx(0.0016, abs=5e-5)
    assert divergence_as_printed(A, K, mean) == pytest.approx(-0.1016, abs=5e-5)


K3 = [
    (0.1, 0.1, 0.2, 0.1739, 0.3961, 0.1739),
    (3.0, 0.2, 0.2, -43.49, 0.0, 0.0),
    (-2.0, 0.3, -1.0, -0.0100, 0.0042, -0.0010),
    (0.8, 0.3, -1.0, -21.22, 8.06, -19.60),
    (-1.0, 0.3, -1.0, -1.0, 0.116, -0.384),
]


@pytest.mark.parametrize("row", K3)
def test_k3_expected_log_likelihood(row):
    m, s, y, *printed = row

    def log_p(f):
        return norm.logpdf(y, f, 0.3) if y > -1.0 else log_ndtr((-1.0 - f) / 0.3)

    truth = quad(lambda f: norm.pdf(f, m, s) * log_p(f), m - 9.0 * s, m + 9.0 * s, points=[m], limit=300)[0]
    found = [truth, as_printed(*each(y, -1.0, 1.0, m, s * s), 0.3)[0], equation_22(y, -1.0, 1.0, m, s, 0.3)]
    np.testing.assert_allclose(found, printed, atol=5e-3 if abs(printed[0]) > 10.0 else 5e-4)


def test_k5_weights_of_the_atoms():
    p, q = CensoredNormal(M, S, L, U), CensoredNormal(MU, SIGMA, L, U)
    inside = quad(lambda x: norm.pdf(x, M, S) * norm.logpdf(x, MU, SIGMA), L, U)[0]
    atoms = ndtr((L - M) / S) * log_ndtr((L - MU) / SIGMA) + ndtr((M - U) / S) * log_ndtr((MU - U) / SIGMA)
    found = [-inside - atoms, p.cross_entropy(q), -equation_22(MU, L, U, M, S, SIGMA)]
    np.testing.assert_allclose(found, [1.655232, 1.655232, 2.207353], atol=PRINTED)
    entropies = [p.entropy(), -equation_22(M, L, U, M, S, S)]
    np.testing.assert_allclose(entropies, [1.0824, 1.4239], atol=5e-5)


def test_k11_probabilities_of_the_limits():
    assert ndtr((-1.0 - 0.0) / 0.5) == pytest.approx(0.023, abs=5e-4)
    assert ndtr((0.0 + 1.0) / 0.5) == pytest.approx(0.977, abs=5e-4)


def test_k12_product_not_sum():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    V, prior = K + 0.09 * np.eye(2), multivariate_normal([0.0, 0.0], K)
    seen, scale = norm.pdf(0.4, 0.0, np.sqrt(V[0, 0])), np.sqrt(V[1, 1] - V[0, 1] ** 2 / V[0, 0])

    f = np.linspace(-8.0, 8.0, 801)
    f1, f2 = np.meshgrid(f, f)
    joint = prior.pdf(np.dstack([f1, f2])) * norm.pdf(0.4, f1, 0.3) * ndtr((-0.2 - f2) / 0.3)
    direct = joint.sum() * (f[1] - f[0]) ** 2
    product = seen * ndtr((-0.2 - V[0, 1] / V[0, 0] * 0.4) / scale)
    printed = seen + ndtr(-0.2 / np.sqrt(V[1, 1]))
    np.testing.assert_allclose(np.log([direct, product, printed]), [-2.1152, -2.1152, -0.2496], atol=5e-5)


# Groot and Lucas

MU_C, V_C, NOISE, LIMIT = 0.4, 0.8, 0.5, -0.1
TOTAL = np.sqrt(V_C + NOISE**2)
Z = (MU_C - LIMIT) / TOTAL


def tilted(power, centre=0.0):
    def integrand(f):
        return (f - centre) ** power * norm.pdf(f, MU_C, np.sqrt(V_C)) * ndtr((LIMIT - f) / NOISE)

    return quad(integrand, -8.0, 8.0)[0]


def test_g4_posterior_mean():
    x = np.arange(3.0)
    K = np.exp(-0.5 * ((x[:, None] - x) / 1.5) ** 2)
    site, mean = np.array([0.5, 0.2, 1.0]), np.array([1.0, -0.4, 0.6])
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(1.0 / site))
    np.testing.assert_allclose(S @ (mean / site), [0.299, -0.052, -0.109], atol=5e-4)
    np.testing.assert_allclose(K @ np.linalg.solve(K + np.diag(site), mean), S @ (mean / site), rtol=1e-9)
    np.testing.assert_allclose(S @ mean, [0.182, 0.085, 0.101], atol=5e-4)


def test_g5_and_g6_moments_below_a_limit():
    mass = tilted(0)
    mean = tilted(1) / mass
    step = V_C * norm.pdf(Z) / ((1.0 - ndtr(Z)) * TOTAL)
    np.testing.assert_allclose([mean, MU_C - step, MU_C + step], [-0.483990, -0.483990, 1.283990], atol=PRINTED)
    h, delta = mills(np.array([-Z]))
    variance = V_C - V_C**2 / TOTAL**2 * (h * delta)[0]
    np.testing.assert_allclose([tilted(2, mean) / mass, variance], 0.355320, atol=PRINTED)
    ratio = norm.pdf(Z) / ndtr(Z)
    probit_mean, probit = MU_C + V_C * ratio / TOTAL, V_C - V_C**2 / TOTAL**2 * ratio * (Z + ratio)
    square = (V_C + MU_C**2 - ndtr(Z) * (probit + probit_mean**2)) / (1.0 - ndtr(Z))
    np.testing.assert_allclose(
        [square - (MU_C - step) ** 2, square - (MU_C + step) ** 2], [0.355320, -1.059063], atol=2e-6
    )


def test_g8_site_derivative():
    C = 1.0 / (1.0 / NOISE**2 + 1.0 / V_C)
    c = C * (LIMIT / NOISE**2 + MU_C / V_C)
    equation_4 = 0.5 * norm.pdf(LIMIT, MU_C, TOTAL) * (c - LIMIT) / ndtr(-Z)
    differences = derivative(lambda w: log_ndtr((LIMIT - MU_C) / np.sqrt(V_C + np.exp(w))), 2.0 * np.log(NOISE), 1e-3)
    h = mills(np.array([-Z]))[0][0]
    np.testing.assert_allclose([equation_4, differences], 0.065773, atol=PRINTED)
    assert 0.5 * Z * h * NOISE**2 / TOTAL**2 == pytest.approx(equation_4, rel=1e-9)


def test_g9_bound_used_as_a_value():
    z = np.array([-1.0, -3.0, -5.0, -10.0])
    excess = (np.sqrt(0.25 * z * z + 1.0) - 0.5 * z) / mills(z)[0] - 1.0
    np.testing.assert_allclose(excess, [0.061, 0.006, 0.0012, 9.2e-5], rtol=0.03)


# Basson, Louw and Smith

PRIOR = np.log([1.2, 0.6])


@pytest.fixture(scope="module")
def example():
    """Equation 46's arguments, tobitgp's evidence, and the posterior mean in the rows."""
    data, at = simulate("two-sided", n=5, seed=0), np.array([[-0.7], [0.8]])
    y = np.where(np.isneginf(data.lower), data.upper, data.lower)
    sign = np.where(np.isneginf(data.lower), -1.0, np.where(np.isposinf(data.upper), 1.0, 0.0))
    variance = 0.16 + np.where(sign < 0, 0.25, 0.0) + np.where(sign > 0, 0.09, 0.0)
    K_NM, K_MM = covariance("rbf", data.X, at, PRIOR), covariance("rbf", at, at, PRIOR)
    problem = data.problem()
    theta = np.concatenate([PRIOR, np.log([0.5, 0.3, 0.4])])
    posterior = solve(problem, [gp(problem, Z=at)], theta, tight("vi local"), None, SideNoise((-1.0, 1.0)))
    written = (K_NM, K_MM, np.full(5, np.exp(2.0 * PRIOR[0])), y, sign, variance)
    return written, posterior.evidence, marginals(posterior, problem)[0]


def test_b1_and_b2_collapsed_bound(example):
    written, evidence, zeta = example
    right = eq46(*written, zeta)
    np.testing.assert_allclose([right, direct_integral(*written, zeta), evidence], -10.804486, atol=PRINTED)
    K_NM, K_MM, _, _, _, variance = written
    Q = K_MM + (K_NM.T / variance) @ K_NM
    printed = right - np.linalg.slogdet(K_MM)[1] + np.linalg.slogdet(Q)[1]
    assert printed == pytest.approx(-6.723438, abs=PRINTED)


def test_b5_total_mass():
    f, lower, upper, sigma, wide = 0.5, 0.0, 1.0, 0.3, np.hypot(0.3, 0.5)
    inside = ndtr((upper - f) / sigma) - ndtr((lower - f) / sigma)
    assert ndtr((lower - f) / wide) + inside + ndtr((f - upper) / wide) == pytest.approx(1.2956, abs=5e-5)


def test_b6_derivative_where_the_parabolas_touch(example):
    """Equation (LB5)."""
    written, _, mode = example
    K_NM, K_MM, _, y, sign, variance = written
    zeta, censored = mode + 0.3, sign != 0
    i = np.flatnonzero(censored)[0]
    values = y.copy()
    values[censored] = tangent(zeta[censored], y[censored], variance[censored], sign[censored])[0]
    m = K_NM @ np.linalg.solve(K_MM + (K_NM.T / variance) @ K_NM, K_NM.T @ (values / variance))
    h, delta = mills(np.array([sign[i] * (zeta[i] - y[i]) / np.sqrt(variance[i])]))
    slope = (m[i] - zeta[i]) * (1.0 - (h * delta)[0]) / variance[i]
    differences = derivative(lambda x: eq46(*written, np.where(np.arange(5) == i, x, zeta)), zeta[i], 1e-3)
    np.testing.assert_allclose([slope, differences], -0.246371, atol=PRINTED)


def test_b7_a_row_that_says_little():
    problem = make_problem(np.zeros((1, 1)), [-np.inf], [1.0], H=np.ones((1, 1)))
    sd = [
        marginals(solve(problem, [dense(problem)], [np.log(0.1)], method), problem)[1][0]
        for method in (EPUpdates(), VIUpdates(bound="local"))
    ]
    np.testing.assert_allclose(sd, [0.795, 0.0995], atol=5e-4)
