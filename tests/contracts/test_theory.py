"""The equations of docs/theory in dense matrices, as they stand there, beside what the package computes."""

import numpy as np
import pytest
from scipy.stats import norm
from support.differences import derivative
from support.oracles import covariance
from support.problems import gp, make_problem, marginals, simulate, solve, tight
from support.variational import NODES, WEIGHTS, expectations, log_mass

from tobitgp.inference.evidence import evidence_gradient, nats_left
from tobitgp.inference.fitted import central_composite
from tobitgp.likelihoods.expectations import fixed_draws

CLOSE = 1e-9
SETTLED = 1e-7  # sites are settled to 1e-10, quantities of theirs to less
THETA = np.log([1.2, 0.6, 0.4])
SIGMA = 0.4
Z = np.linspace(-1.5, 1.5, 5)[:, None]


class Dense:
    """(FEA2), (SIT2) and (SIT3) of a settled posterior, rows in the problem's order, n x M matrices throughout."""

    def __init__(self, name, theta=THETA):
        data = simulate("mixed", n=14, seed=1)
        weight = np.linspace(1.0, 3.0, 14)
        self.problem = make_problem(data.X, data.lower, data.upper, weight)
        self.method = tight(name)
        self.posterior = solve(self.problem, [gp(self.problem, Z=Z)], theta, self.method)
        order = self.problem.order
        self.X, self.c, self.sigma = data.X[order], weight[order], np.exp(theta[-1])
        self.lower, self.upper = data.lower[order], data.upper[order]
        self.K_NM, self.K_MM = (covariance("rbf", X, Z, theta[:-1]) for X in (self.X, Z))
        self.L = np.linalg.cholesky(self.K_MM)
        self.A = np.linalg.solve(self.L, self.K_NM.T).T
        self.d = np.exp(2.0 * theta[0]) - (self.A**2).sum(axis=1)
        self.l1, self.l2 = self.posterior.sites.lambda1, self.posterior.sites.lambda2
        self.B = np.eye(len(Z)) + self.A.T @ (self.l2[:, None] * self.A)
        self.S = np.linalg.inv(self.B)
        self.w = self.S @ self.A.T @ self.l1
        self.m, self.v_p = self.A @ self.w, np.diag(self.A @ self.S @ self.A.T)
        self.alpha = self.l1 - self.l2 * self.m

    def log_p(self, f):
        """(ROW1) and (ROW2) with normal noise; f (n,) or (n, k)."""
        lower, upper = (np.reshape(end, (-1,) + (1,) * (f.ndim - 1)) for end in (self.lower, self.upper))
        seen = np.where(np.isfinite(lower), lower, 0.0)
        exact = norm.logpdf(seen, f, self.sigma)
        apart = lower + np.where(lower == upper, -1.0, 0.0)  # any interval: its value is not used
        return np.where(lower == upper, exact, log_mass(f, apart, upper, self.sigma))

    def slopes(self, f):
        """First three derivatives of ``log_p``, by differences."""
        h = 1e-2

        def shifted(k):
            return self.log_p(f + k * h)

        first = (shifted(-2) - 8 * shifted(-1) + 8 * shifted(1) - shifted(2)) / (12 * h)
        second = (-shifted(-2) + 16 * shifted(-1) - 30 * shifted(0) + 16 * shifted(1) - shifted(2)) / (12 * h * h)
        third = (shifted(-3) - 8 * shifted(-2) + 13 * shifted(-1) - 13 * shifted(1) + 8 * shifted(2) - shifted(3)) / (
            8 * h**3
        )
        return first, second, third

    def sit6(self, D):
        return -0.5 * self.w @ self.w - 0.5 * np.linalg.slogdet(self.B)[1] + D.sum()

    def expected(self):
        """E log p with its derivatives in mean and variance, (ROW13) and (ROW14), by graded panels."""
        v, s2 = self.v_p + self.d, self.sigma**2
        E = -0.5 * np.log(2 * np.pi * s2) - 0.5 * ((self.upper - self.m) ** 2 + v) / s2, (self.upper - self.m) / s2
        out = [*E, np.full_like(v, -0.5 / s2)]
        c = self.lower != self.upper
        for values, got in zip(
            out, expectations(self.m[c], v[c], self.lower[c], self.upper[c], self.sigma), strict=True
        ):
            values[c] = got
        return out

    def tilted(self):
        """Mean, variance and log mass of p(y | f) N(f; mu_c, v_c + d), and the cavity, (EP1) and (EP2)."""
        v_c = self.v_p / (1.0 - self.l2 * self.v_p / self.c)
        mu_c = self.m - v_c * self.alpha / self.c
        x = (np.linspace(-12, 12, 401)[:-1, None] + 0.03 * (1.0 + NODES)).ravel()
        weight = np.tile(0.03 * WEIGHTS, 400) * norm.pdf(x)
        s = np.sqrt(v_c + self.d)
        f = mu_c[:, None] + s[:, None] * x
        p = weight * np.exp(self.log_p(f))
        mass = p.sum(axis=1)
        mean = (p * f).sum(axis=1) / mass
        return mean, (p * (f - mean[:, None]) ** 2).sum(axis=1) / mass, np.log(mass), mu_c, v_c


@pytest.fixture(scope="module", params=["laplace", "ep", "vi", "vi local"])
def any_method(request):
    return Dense(request.param)


def test_features_and_posterior(any_method):
    """(FEA2), (SIT2) to (SIT4)."""
    at = any_method
    (state,) = at.posterior.rows.items
    d = np.concatenate([state.features(chunk)[2] for chunk in state.chunks])
    np.testing.assert_allclose(d, at.d, atol=CLOSE)
    mean, sd = marginals(at.posterior, at.problem)
    np.testing.assert_allclose(mean[at.problem.order], at.m, atol=CLOSE)
    np.testing.assert_allclose(sd[at.problem.order] ** 2, at.v_p + at.d, atol=CLOSE)
    np.testing.assert_allclose(len(Z) - np.trace(at.S), at.l2 @ at.v_p, rtol=CLOSE)
    seen, residual = at.lower == at.upper, at.d if at.method.name == "ep" else 0.0
    np.testing.assert_allclose(at.l2[seen], (at.c / (at.sigma**2 + residual) * np.ones(14))[seen], rtol=CLOSE)
    np.testing.assert_allclose(at.l1[seen], (at.l2 * at.upper)[seen], rtol=CLOSE)


def test_the_trace_term(any_method):
    """(FEA8)."""
    assert nats_left(any_method.posterior) == pytest.approx(0.5 * any_method.l2 @ any_method.d, abs=CLOSE)


def test_laplace():
    at = Dense("laplace")
    first, second, _ = at.slopes(at.m)
    np.testing.assert_allclose(at.l2, -at.c * second, rtol=1e-6)
    np.testing.assert_allclose(at.l1, at.c * first + at.l2 * at.m, rtol=1e-6)
    np.testing.assert_allclose(at.w, at.A.T @ (at.c * first), atol=1e-6)
    assert at.sit6(at.c * at.log_p(at.m)) == pytest.approx(at.posterior.evidence, abs=SETTLED)


def test_expectation_propagation():
    """Matched moments, (EP4) to (EP7), and the evidence; (EP5) is the form from which (EP6) follows."""
    at = Dense("ep")
    mean, variance, log_Z, mu_c, v_c = at.tilted()
    total = v_c + at.d
    d1, d2 = (mean - mu_c) / total, (variance / total - 1.0) / total
    np.testing.assert_allclose(at.l2, -at.c * d2 / (1.0 + d2 * v_c), rtol=1e-6)
    np.testing.assert_allclose(at.l1, at.c * (d1 - mu_c * d2) / (1.0 + d2 * v_c), rtol=1e-6)
    np.testing.assert_allclose(mu_c + v_c * d1, mu_c + v_c * at.alpha / at.c, atol=1e-7)
    eq6 = at.c * (log_Z + 0.5 * np.log1p(at.l2 * v_c / at.c) + 0.5 * v_c * (at.alpha / at.c) ** 2)
    tau, nu = at.l2 / at.c, at.l1 / at.c
    v = 1.0 / (1.0 / v_c + tau)
    under_cavity = -0.5 * np.log1p(tau * v_c) + 0.5 * (v * (mu_c / v_c + nu) ** 2 - mu_c**2 / v_c)
    eq5 = at.c * (log_Z - under_cavity)
    np.testing.assert_allclose(eq5 + at.l1 * at.m - 0.5 * at.l2 * at.m**2, eq6, atol=1e-8)
    seen = at.lower == at.upper
    eq7 = at.c * norm.logpdf(at.upper, at.m, np.sqrt(at.sigma**2 + at.d))
    np.testing.assert_allclose(eq7[seen], eq6[seen], atol=1e-8)
    assert at.sit6(eq6) == pytest.approx(at.posterior.evidence, abs=SETTLED)
    r = at.A.T @ at.l1
    assert 0.5 * r @ at.w - 0.5 * np.linalg.slogdet(at.B)[1] + eq5.sum() == pytest.approx(at.sit6(eq6), abs=CLOSE)


def test_variational_inference():
    at = Dense("vi")
    E, E_m, E_v = at.expected()
    np.testing.assert_allclose(at.l2, -2.0 * at.c * E_v, rtol=1e-6)
    np.testing.assert_allclose(at.l1, at.c * E_m + at.l2 * at.m, rtol=1e-6)
    assert at.sit6(at.c * E + 0.5 * at.l2 * at.v_p) == pytest.approx(at.posterior.evidence, abs=SETTLED)
    divergence = 0.5 * (np.trace(at.S) + at.w @ at.w - len(Z) + np.linalg.slogdet(at.B)[1])
    assert at.c @ E - divergence == pytest.approx(at.posterior.evidence, abs=SETTLED)


def test_local_bound():
    at, laplace = Dense("vi local"), Dense("laplace")
    np.testing.assert_allclose(at.l2, at.c / at.sigma**2, rtol=CLOSE)
    D = at.c * at.log_p(at.m) - 0.5 * at.l2 * at.d
    assert at.sit6(D) == pytest.approx(at.posterior.evidence, abs=SETTLED)
    gap = 0.5 * (np.linalg.slogdet(at.B)[1] - np.linalg.slogdet(laplace.B)[1]) + 0.5 * at.l2 @ at.d
    assert laplace.posterior.evidence - gap == pytest.approx(at.posterior.evidence, abs=SETTLED)


def test_fixed_draws():
    """(KB5) and (KB6)."""
    at, x = Dense("vi monte_carlo"), fixed_draws(20)
    c, s = at.lower != at.upper, np.sqrt(at.v_p + at.d)
    f = at.m[:, None] + s[:, None] * x
    first = at.slopes(f)[0]
    np.testing.assert_allclose(at.l2[c], (-at.c * (first * x).mean(axis=1) / s)[c], rtol=1e-6)
    np.testing.assert_allclose(at.l1[c], (at.c * first.mean(axis=1) + at.l2 * at.m)[c], rtol=1e-6)
    E = at.log_p(f).mean(axis=1)
    assert at.sit6(at.c * E + 0.5 * at.l2 * at.v_p) == pytest.approx(at.posterior.evidence, abs=SETTLED)


def full_gradient(at, G_A, g_d, e):
    """(FEA6) and (FEA7) with the rbf kernel's own derivatives, and ``e`` last."""
    G = G_A - 2.0 * g_d[:, None] * at.A
    G_NM = np.linalg.solve(at.L.T, G.T).T
    inner = at.A.T @ G
    np.testing.assert_allclose(inner, inner.T, atol=1e-6)
    G_MM = -0.5 * np.linalg.solve(at.L.T, np.linalg.solve(at.L.T, inner.T).T)
    r2 = [((X - Z.T) / np.exp(THETA[1])) ** 2 for X in (at.X, Z)]
    by_sd = 2.0 * ((G_NM * at.K_NM).sum() + (G_MM * at.K_MM).sum() + g_d.sum() * np.exp(2.0 * THETA[0]))
    by_length = (G_NM * at.K_NM * r2[0]).sum() + (G_MM * at.K_MM * r2[1]).sum()
    return np.array([by_sd, by_length, e])


def in_log_sigma(at, f):
    """Derivatives of log p and of its first two slopes in log sigma, by differences."""
    sigma, h = at.sigma, 1e-3

    def values(step):
        at.sigma = sigma * np.exp(step)
        return np.stack([at.log_p(f), *at.slopes(f)[:2]])

    out = (values(-2 * h) - 8 * values(-h) + 8 * values(h) - values(2 * h)) / (12 * h)
    at.sigma = sigma
    return out


GRADIENT = {"rtol": 1e-5, "atol": 1e-5}  # differences of differences; the package's own are tested to 5e-8


def test_gradient_of_vi():
    """(SIT9) with (VI5), and the bracket of (VI6)."""
    at = Dense("vi")
    G_A, g_d = np.outer(at.alpha, at.w) - at.l2[:, None] * at.A @ at.S, -0.5 * at.l2
    bracket = np.outer(at.w, at.w) + at.B + at.S - 2.0 * np.eye(len(Z))
    np.testing.assert_allclose(at.A.T @ (G_A - 2.0 * g_d[:, None] * at.A), bracket, atol=1e-6)
    e = derivative(lambda t: Scaled(at, t).expected()[0] @ at.c, np.log(at.sigma), 1e-3)
    np.testing.assert_allclose(evidence_gradient(at.posterior, at.method), full_gradient(at, G_A, g_d, e), **GRADIENT)


def test_gradient_of_the_local_bound():
    """(SIT9) with (LB7)."""
    at = Dense("vi local")
    G_A, g_d = np.outer(at.alpha, at.w) - at.l2[:, None] * at.A @ at.S, -0.5 * at.l2
    e = at.c @ (in_log_sigma(at, at.m)[0] + (at.v_p + at.d) / at.sigma**2)
    np.testing.assert_allclose(evidence_gradient(at.posterior, at.method), full_gradient(at, G_A, g_d, e), **GRADIENT)


class Scaled(Dense):
    """The same posterior under another noise."""

    def __init__(self, at, log_sigma):
        self.__dict__ |= at.__dict__ | {"sigma": np.exp(log_sigma)}


def test_gradient_of_ep():
    """(SIT9), (EP8) and (EP9)."""
    at = Dense("ep")
    G_A, d1 = np.outer(at.alpha, at.w) - at.l2[:, None] * at.A @ at.S, at.alpha / at.c
    g_d = 0.5 * at.c * (d1**2 - at.l2 / at.c * (1.0 - at.l2 / at.c * at.v_p))
    bracket = np.outer(at.w, at.w) - np.eye(len(Z)) + at.S - 2.0 * at.A.T @ (g_d[:, None] * at.A)
    np.testing.assert_allclose(at.A.T @ (G_A - 2.0 * g_d[:, None] * at.A), bracket, atol=1e-6)
    got = evidence_gradient(at.posterior, at.method)
    np.testing.assert_allclose(got, full_gradient(at, G_A, g_d, 2.0 * at.sigma**2 * g_d.sum()), **GRADIENT)


def test_gradient_of_laplace():
    """(LA5) to (LA7)."""
    at = Dense("laplace")
    u = 0.5 * at.c * at.v_p * at.slopes(at.m)[2]
    q = at.S @ at.A.T @ u
    G_A = np.outer(at.alpha, at.w + q) - at.l2[:, None] * at.A @ at.S + np.outer(u - at.l2 * (at.A @ q), at.w)
    s0, s1, s2 = in_log_sigma(at, at.m)
    e = at.c @ (s0 + 0.5 * at.v_p * s2 + (at.A @ q) * s1)
    got = evidence_gradient(at.posterior, at.method)
    np.testing.assert_allclose(got, full_gradient(at, G_A, np.zeros(14), e), **GRADIENT)


RADII = {  # squared, of (HYP4)
    k: [0.0, k + 4.0 - np.sqrt(2.0 * k + 8.0), k + 4.0 + np.sqrt(2.0 * k + 8.0)] if k <= 5 else [0.0, k + 2.0]
    for k in (1, 2, 3, 5, 9)
}
CENTRES = {1: 8 / 15, 2: 1 / 3, 3: 8 / 35, 5: 8 / 63, 9: 2 / 11}


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
def test_design_integrates_a_normal_density(k):
    """(HYP4) to (HYP7): the parts of centre, star and cube, and the integral without error."""
    z, design = central_composite(k)
    T = np.tril(np.random.default_rng(k).uniform(0.2, 1.0, (k, k)))
    log_pi = -0.5 * np.sum(z * z, axis=1)  # at theta = T z, a normal density over its height
    weight = design * np.exp(log_pi)
    omega = weight / weight.sum()
    square, on_star = (z**2).sum(axis=1), np.abs(z).max(axis=1) > 0.999 * np.sqrt((z**2).sum(axis=1))
    np.testing.assert_allclose(np.unique(square.round(9)), RADII[k], atol=1e-8)
    assert omega[0] == pytest.approx(CENTRES[k], rel=1e-12)
    if k > 1:
        assert omega[1:][on_star[1:]].sum() / (1.0 - omega[0]) == pytest.approx(2.0 / (k + 2.0), rel=1e-12)
    found = 0.5 * k * np.log(2.0 * np.pi) + 0.5 * np.linalg.slogdet(T.T @ T)[1] + np.log(weight.sum())
    exact = 0.5 * np.linalg.slogdet(2.0 * np.pi * T @ T.T)[1]
    assert found == pytest.approx(exact, rel=1e-12)
