"""Variational inference and Laplace's method in f and log sigma, against draws, a dense optimum and own bounds."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import norm
from support.two_latents import LEVEL, ORDER, THETA, Y, dense_rows, grouped_rows, kinds, root, settle

from tobitgp.inference.pair_rules import RULES
from tobitgp.inference.pair_sites import gradient, iterate
from tobitgp.inference.partitioned import Sites
from tobitgp.likelihoods.families import FAMILIES, GaussianNoise

A_F, A_H = root(1.5, 0.3), root(0.6, 0.5)  # f and log sigma of six rows are these times standard normals w
Y_ROWS, SIDE = Y[ORDER], np.array([0, 0, 0, -1, -1, 1])


def log_rows(f, h):
    """Log likelihood of the six rows, (..., 6)."""
    z = (Y_ROWS - f) / np.exp(LEVEL + h)
    return np.where(SIDE == 0, norm.logpdf(z) - LEVEL - h, norm.logcdf(np.where(SIDE < 0, z, -z)))


def log_joint(w):
    """Log density of the rows and of the weights w, (..., 12)."""
    value = log_rows(w[..., :6] @ A_F.T, w[..., 6:] @ A_H.T).sum(axis=-1)
    return value - 0.5 * np.square(w).sum(axis=-1) - 6.0 * np.log(2.0 * np.pi)


def q_of(end):
    """Mean (12,) and covariance (12, 12) of the weights, from the sites."""
    A = np.zeros((12, 12))
    A[::2, :6], A[1::2, 6:] = A_F, A_H
    blocks = np.zeros((12, 12))
    for n in range(6):
        blocks[2 * n : 2 * n + 2, 2 * n : 2 * n + 2] = end.sites.lambda2[n]
    S = np.linalg.inv(np.eye(12) + A.T @ blocks @ A)
    return S @ A.T @ end.sites.lambda1.ravel(), S


def own_bound(m, S, weight_of=(1.0,) * 6):
    """The evidence lower bound of any q(w) = N(m, S), expectations by 80 x 80 nodes for each row."""
    x, weight = hermegauss(80)
    weight = np.outer(weight, weight) / (2.0 * np.pi)
    value = 0.0
    for n in range(6):
        A = np.zeros((2, 12))
        A[0, :6], A[1, 6:] = A_F[n], A_H[n]
        f, h = (A @ m)[:, None, None] + np.tensordot(np.linalg.cholesky(A @ S @ A.T), np.array(np.meshgrid(x, x)), 1)
        value += weight_of[n] * np.sum(weight * log_rows(f[..., None], h[..., None])[..., n])
    return value - 0.5 * (np.trace(S) + m @ m - 12 - np.linalg.slogdet(S)[1])


@pytest.fixture(scope="module")
def by_vi():
    return settle(dense_rows(), rule="elbo")


@pytest.fixture(scope="module")
def by_laplace():
    return settle(dense_rows(), rule="laplace")


@pytest.fixture(scope="module")
def exact(by_vi):
    """Log evidence by importance sampling, and its standard error: draws of a wider t with five degrees of freedom."""
    (m, S), rng, draws = q_of(by_vi), np.random.default_rng(1), 400_000
    L, chi = np.linalg.cholesky(1.3 * S), np.sqrt(5.0 / rng.chisquare(5.0, draws))
    z = rng.standard_normal((draws, 12)) * chi[:, None]
    log_q = gammaln(8.5) - gammaln(2.5) - 6.0 * np.log(5.0 * np.pi) - np.log(np.diag(L)).sum()
    log_weight = log_joint(m + z @ L.T) - (log_q - 8.5 * np.log1p(np.square(z).sum(axis=1) / 5.0))
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    return top + np.log(weight.mean()), weight.std() / weight.mean() / np.sqrt(draws)


# -- variational inference --------------------------------------------------------------------------------------------


def test_the_bound_is_below_the_exact_evidence_and_is_that_of_its_definition(by_vi, exact):
    evidence, error = exact
    assert error < 0.01
    assert evidence == pytest.approx(-7.0507, abs=4.0 * (error + 0.0027))  # a million draws of another computation
    assert by_vi.converged
    assert by_vi.evidence < evidence - 10.0 * error
    assert by_vi.evidence > evidence - 0.7
    assert by_vi.evidence == pytest.approx(own_bound(*q_of(by_vi)), abs=1e-5)
    assert by_vi.evidence == pytest.approx(-7.62760, abs=1e-5)  # a prototype's
    assert by_vi.bound(GaussianNoise(), np.exp(LEVEL)) == pytest.approx(by_vi.evidence, abs=1e-9)


def test_no_other_normal_distribution_has_a_higher_bound(by_vi):
    (m, S), rng = q_of(by_vi), np.random.default_rng(3)
    best, L = own_bound(m, S), np.linalg.cholesky(S)
    for size in (0.3, 0.1, 0.03):
        for _ in range(4):
            R = np.eye(12) + size * rng.normal(size=(12, 12)) / np.sqrt(12.0)
            beside = own_bound(m + size * L @ rng.normal(size=12), L @ R @ R.T @ L.T)
            assert beside < best - 1e-3 * size**2


def test_other_starts_lead_to_the_same_bound(by_vi):
    rng, data = np.random.default_rng(5), dense_rows()
    for _ in range(5):
        L = rng.normal(size=(6, 2, 2))
        start = Sites(2.0 * rng.normal(size=(6, 2)), L @ L.transpose(0, 2, 1))
        end = iterate(data, start, RULES["elbo"], GaussianNoise(), np.exp(LEVEL), tol=1e-9, most=500)
        assert end.converged
        assert end.evidence == pytest.approx(by_vi.evidence, abs=1e-8)
        assert end.p.mean == pytest.approx(by_vi.p.mean, abs=1e-6)


def test_what_features_leave_is_variance_of_both():
    """Six features of 30 rows leave some variance, which the bound adds to that of the rows."""
    data = grouped_rows(THETA)
    assert data.d.min(axis=0).max() > 0.0
    end, (x, weight) = settle(data, sigma=0.4, rule="elbo"), hermegauss(60)
    assert end.converged
    weight, value = np.outer(weight, weight) / (2.0 * np.pi), 0.0
    seen = [(kind.kind, y) for kind in data.rows for y in kind.limit]
    for (kind, y), m, V, d in zip(seen, end.p.mean, end.p.V, data.d, strict=True):
        f, h = m[:, None, None] + np.tensordot(np.linalg.cholesky(V + np.diag(d)), np.array(np.meshgrid(x, x)), 1)
        z = (y - f) / (0.4 * np.exp(h))
        value += np.sum(weight * (norm.logpdf(z) - np.log(0.4) - h if kind == "exact" else norm.logcdf(z)))
    # The divergence of the weights' posterior from N(0, I), with the trace from the sites.
    effective = np.einsum("nij,nij->", end.p.V, end.sites.lambda2)
    divergence = 0.5 * (end.p.q.w @ end.p.q.w + end.p.q.log_det - effective)
    assert end.evidence == pytest.approx(value - divergence, abs=1e-5)


# -- Laplace's method -------------------------------------------------------------------------------------------------


def test_the_mode_and_the_evidence_are_those_of_a_dense_optimum(by_laplace):
    found = minimize(lambda w: -log_joint(w), np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    w = found.x
    assert by_laplace.converged
    assert by_laplace.p.mean == pytest.approx(np.column_stack([A_F @ w[:6], A_H @ w[6:]]), abs=2e-5)
    e, H = 2e-3 * np.eye(12), np.empty((12, 12))
    for i in range(12):
        for j in range(12):
            corners = [log_joint(w + a * e[i] + b * e[j]) * a * b for a in (1, -1) for b in (1, -1)]
            H[i, j] = -sum(corners) / (4.0 * 2e-3**2)
    assert np.linalg.eigvalsh(H).min() > 0.5
    expected = log_joint(w) + 6.0 * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    assert by_laplace.evidence == pytest.approx(expected, abs=1e-4)
    assert by_laplace.evidence == pytest.approx(-8.833410, abs=1e-6)  # a prototype's
    V = np.linalg.inv(H)
    assert by_laplace.p.V[:, 0, 0] == pytest.approx(np.einsum("ni,ij,nj->n", A_F, V[:6, :6], A_F), rel=1e-3)
    assert by_laplace.p.V[:, 0, 1] == pytest.approx(np.einsum("ni,ij,nj->n", A_F, V[:6, 6:], A_H), abs=1e-3)
    assert by_laplace.p.V[:, 1, 1] == pytest.approx(np.einsum("ni,ij,nj->n", A_H, V[6:, 6:], A_H), rel=1e-3)


def test_values_have_sites_that_are_indefinite(by_laplace):
    """Minus the Hessian of a value has the determinant -2 r^2 / sigma^4; that of all rows is positive definite."""
    f, h = by_laplace.p.mean[:3].T
    precision = np.exp(-2.0 * (LEVEL + h))
    det = -2.0 * np.square(precision * (Y_ROWS[:3] - f))
    assert np.linalg.det(by_laplace.sites.lambda2[:3]) == pytest.approx(det, rel=1e-6)


# -- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["elbo", "laplace"])
def test_a_weight_of_two_is_two_rows(rule):
    weight = np.array([2.0, 1.0, 1.0, 2.0, 1.0, 3.0])
    end = settle(dense_rows(kinds(weight)), rule=rule)
    assert end.converged
    c = weight[ORDER]
    if rule == "elbo":
        assert end.evidence == pytest.approx(own_bound(*q_of(end), c), abs=1e-5)
        return

    def negative(w):
        return 0.5 * w @ w - c @ log_rows(A_F @ w[:6], A_H @ w[6:])

    w = minimize(negative, np.zeros(12), method="BFGS", options={"gtol": 1e-9}).x
    assert end.p.mean == pytest.approx(np.column_stack([A_F @ w[:6], A_H @ w[6:]]), abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "student"])
@pytest.mark.parametrize("rule", ["elbo", "laplace"])
def test_gradients_are_those_of_differences_along_three_ways(family, rule):
    noise = [4.0] if family == "student" else []
    free = np.concatenate([THETA, np.log([*noise, 0.4])])

    def at(theta):
        likelihood = FAMILIES[family].likelihood.at(theta)
        return settle(grouped_rows(theta[:6]), likelihood=likelihood, sigma=np.exp(theta[-1]), rule=rule), likelihood

    end, likelihood = at(free)
    found = gradient(end, RULES[rule], likelihood, 0.4, len(noise))
    ways = np.random.default_rng(1).normal(size=(3, len(free)))
    slopes = [(at(free + 1e-4 * way)[0].evidence - at(free - 1e-4 * way)[0].evidence) / 2e-4 for way in ways]
    assert ways @ found == pytest.approx(slopes, abs=5e-6)
