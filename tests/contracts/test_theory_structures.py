"""The equations of structures, chains and Vecchia's prior in dense matrices, beside what the package computes."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.differences import gradient
from support.oracles import covariance
from support.problems import dense, make_problem, product, simulate, solve, tight
from support.structures import in_structure

from tobitgp.inference.evidence import evidence_gradient
from tobitgp.inference.rows_together import draw
from tobitgp.numerics.chain import Leaf
from tobitgp.priors.markov import MATERN, Markov, matern
from tobitgp.priors.structure import Inputs
from tobitgp.priors.vecchia import NUGGET, Vecchia

CLOSE = 1e-9
THETA = np.array([0.2, -0.6, -1.0])  # log sd, log lengthscale, log sigma
MATERNS = ["matern12", "matern32", "matern52"]


def beside_columns(censoring):
    """EP's posterior of a chain beside two linear columns, and (STR1) in dense matrices."""
    data, rng = simulate(censoring, 16, seed=5), np.random.default_rng(5)
    H = np.column_stack([np.ones(16), rng.standard_normal(16)])
    problem, method = make_problem(data.X, data.lower, data.upper, H=H), tight("ep")
    posterior = solve(problem, [dense(problem), *in_structure(problem, Markov)], THETA, method)
    K_e = covariance("matern32", problem.X[0], problem.X[0], THETA[:2])
    sites = posterior.sites
    Lambda = np.diag(sites.lambda2)
    return SimpleNamespace(
        problem=problem,
        method=method,
        posterior=posterior,
        K_e=K_e,
        A=problem.H,
        y=data.upper[problem.order],
        l1=sites.lambda1,
        Lambda=Lambda,
        V0=K_e @ np.linalg.inv(np.eye(16) + Lambda @ K_e),
    )


@pytest.fixture(scope="module")
def at():
    at = beside_columns("mixed")
    at.A_rest = at.A - at.V0 @ at.Lambda @ at.A
    at.B = np.eye(2) + at.A.T @ at.Lambda @ at.A_rest
    at.w = np.linalg.solve(at.B, at.A.T @ (at.l1 - at.Lambda @ at.V0 @ at.l1))
    at.K = at.A @ at.A.T + at.K_e
    at.V = at.K @ np.linalg.inv(np.eye(16) + at.Lambda @ at.K)
    at.m = at.V @ at.l1
    at.alpha = at.l1 - at.Lambda @ at.m
    at.R = at.Lambda - at.Lambda @ at.V @ at.Lambda
    return at


def test_posterior_beside_a_structure(at):
    """(STR2) to (STR4), and that they are the posterior of the sum."""
    rows = at.posterior.structured
    np.testing.assert_allclose(at.m, at.V0 @ at.l1 + at.A_rest @ at.w, atol=CLOSE)
    np.testing.assert_allclose(at.V, at.V0 + at.A_rest @ np.linalg.solve(at.B, at.A_rest.T), atol=CLOSE)
    np.testing.assert_allclose(at.posterior.w, at.w, atol=CLOSE)
    np.testing.assert_allclose(rows.mean, at.V0 @ at.l1, atol=CLOSE)
    np.testing.assert_allclose(rows.variance, np.diag(at.V0), atol=CLOSE)
    np.testing.assert_allclose(rows.A, at.A_rest, atol=CLOSE)
    log_det = rows.conditioned.log_det + np.linalg.slogdet(at.B)[1]
    assert log_det == pytest.approx(np.linalg.slogdet(np.eye(16) + at.K @ at.Lambda)[1], abs=CLOSE)


def test_evidence_beside_a_structure(at):
    """(STR5): its quadratic form; and all of it where rows were seen, whose D is (EP7)."""
    e = at.m - at.A @ at.w
    quadratic = at.w @ at.w + e @ np.linalg.solve(at.K_e, e)
    assert at.alpha @ at.m == pytest.approx(quadratic, abs=CLOSE)
    assert at.posterior.structured.quadratic == pytest.approx(quadratic, abs=CLOSE)
    seen = beside_columns("none")
    total = seen.A @ seen.A.T + seen.K_e + np.exp(2.0 * THETA[2]) * np.eye(16)
    assert seen.posterior.evidence == pytest.approx(multivariate_normal.logpdf(seen.y, cov=total), abs=CLOSE)


def test_gradient_beside_a_structure(at):
    """(STR6) with its columns, and (STR7)."""
    L_A = at.Lambda @ at.A_rest
    columns = np.column_stack([at.alpha, L_A @ np.linalg.inv(np.linalg.cholesky(at.B)).T])
    R0 = at.Lambda - at.Lambda @ at.V0 @ at.Lambda

    def str6(theta):
        K = covariance("matern32", at.problem.X[0], at.problem.X[0], theta)
        return 0.5 * np.sum(columns * (K @ columns)) - 0.5 * np.sum(R0 * K)

    def whole(theta):
        K = covariance("matern32", at.problem.X[0], at.problem.X[0], theta)
        return 0.5 * at.alpha @ K @ at.alpha - 0.5 * np.sum(at.R * K)

    found = gradient(str6, THETA[:2], 1e-3)
    np.testing.assert_allclose(found, gradient(whole, THETA[:2], 1e-3), atol=1e-8)
    np.testing.assert_allclose(evidence_gradient(at.posterior, at.method)[:2], found, atol=1e-7)
    str7 = np.outer(at.alpha, at.w) - L_A @ np.linalg.inv(at.B)
    np.testing.assert_allclose(str7, (np.outer(at.alpha, at.alpha) - at.R) @ at.A, atol=1e-8)


def test_draws_beside_a_structure(at):
    """(STR8): its covariance, and that of the package's draws within Monte Carlo error."""
    left = np.eye(16) - at.V @ at.Lambda
    np.testing.assert_allclose(left @ at.K @ left.T + at.V @ at.Lambda @ at.V, at.V, atol=CLOSE)
    inputs = [Inputs(at.A), Inputs(at.problem.X[0])]
    f = draw(at.posterior, inputs, 40_000, np.random.default_rng(0)).at(at.posterior, inputs)
    sd = np.sqrt(np.diag(at.V))
    np.testing.assert_allclose(f.mean(axis=1), at.m, atol=0.03 * sd.max())
    np.testing.assert_allclose(np.cov(f) / np.outer(sd, sd), at.V / np.outer(sd, sd), atol=0.04)


@pytest.mark.parametrize("p", range(3))
def test_transitions_have_the_covariance_of_the_kernel(p):
    """(MKV1) to (MKV3), eight knots."""
    gaps, sd, kappa = np.array([np.inf, 0.3, 0.01, 1.0, 0.2, 2.0, 0.5, 0.1]), 1.3, np.sqrt(2 * p + 1) / 0.7
    Phi, C = (np.moveaxis(x, 2, 0) for x in matern(p, np.minimum(kappa * gaps, 1000.0)))
    S, sum_ = p + 1, np.zeros((8, p + 1, 8, p + 1))  # z_i = sum_j Phi_i ... Phi_(j+1) N(0, C_j)
    for i in range(8):
        sum_[i, :, i] = np.eye(S)
        if i:
            sum_[i, :, :i] = np.einsum("ab,bjc->ajc", Phi[i], sum_[i - 1, :, :i])
    K = sd**2 * np.einsum("iajb,jbc,kdjc->iakd", sum_, C, sum_)
    x = np.append(0.0, np.cumsum(gaps[1:]))[:, None]
    np.testing.assert_allclose(K[:, 0, :, 0], covariance(MATERNS[p], x, x, np.log([sd, 0.7])), atol=1e-12)
    of, u, h = MATERN[p], np.array([0.4]), 1e-5
    lower, upper = (matern(p, u * np.exp(-step)) for step in (-h, h))
    by_Phi, by_C = ((b - a)[..., 0] / (2 * h) for a, b in zip(lower, upper, strict=True))
    g = (of.g @ u ** np.arange(S)) * np.exp(-u)
    np.testing.assert_allclose(by_Phi, -u * of.F @ matern(p, u)[0][..., 0], atol=1e-9)
    np.testing.assert_allclose(by_C, -u * of.q * np.outer(g, g), atol=1e-9)


def test_elements():
    """(MKV4) to (MKV6): a transition with its site, and two of these, by inverses of joint precisions."""
    rng, h = np.random.default_rng(2), np.array([1.0, 0.0])
    Phi, lambda2, lambda1 = rng.standard_normal((2, 2, 2)), np.array([0.7, 2.0]), np.array([0.4, -1.1])
    C = np.stack([M @ M.T for M in rng.standard_normal((2, 2, 2))])
    leaf = Leaf.of(np.moveaxis(Phi, 0, 2), np.moveaxis(C, 0, 2), lambda2, (0,))
    A, C_, J = (np.moveaxis(x, 2, 0) for x in leaf[:3])
    b, eta = (leaf.kc * lambda1).T, (leaf.kphi * lambda1).T
    for i in range(2):
        P = np.linalg.inv(C[i])
        joint = np.block([[Phi[i].T @ P @ Phi[i], -Phi[i].T @ P], [-P @ Phi[i], P + lambda2[i] * np.outer(h, h)]])
        agree_as_element((A[i], b[i], C_[i], eta[i], J[i]), joint, np.append([0.0, 0.0], lambda1[i] * h))
    E = np.linalg.inv(np.eye(2) + C_[0] @ J[1])
    both = (
        A[1] @ E @ A[0],
        A[1] @ E @ (b[0] + C_[0] @ eta[1]) + b[1],
        A[1] @ E @ C_[0] @ A[1].T + C_[1],
        A[0].T @ E.T @ (eta[1] - J[1] @ b[0]) + eta[0],
        A[0].T @ J[1] @ E @ A[0] + J[0],
    )
    joint, linear = np.zeros((6, 6)), np.zeros(6)
    for i in range(2):
        P, at = np.linalg.inv(C[i]), slice(2 * i, 2 * i + 4)
        joint[at, at] += np.block(
            [[Phi[i].T @ P @ Phi[i], -Phi[i].T @ P], [-P @ Phi[i], P + lambda2[i] * np.outer(h, h)]]
        )
        linear[2 * i + 2] += lambda1[i]
    ends, middle = [0, 1, 4, 5], [2, 3]
    gain = joint[np.ix_(ends, middle)] @ np.linalg.inv(joint[np.ix_(middle, middle)])
    joint = joint[np.ix_(ends, ends)] - gain @ joint[np.ix_(middle, ends)]
    agree_as_element(both, joint, linear[ends] - gain @ linear[middle])


def agree_as_element(element, joint, linear):
    """(MKV4) has the joint precision (4, 4) of both ends, and its linear part (4,)."""
    A, b, C, eta, J = element
    P = np.linalg.inv(C)
    np.testing.assert_allclose(joint, np.block([[J + A.T @ P @ A, -A.T @ P], [-P @ A, P]]), atol=1e-8)
    np.testing.assert_allclose(linear, np.concatenate([eta - A.T @ P @ b, P @ b]), atol=1e-8)


@pytest.fixture(params=["markov", "vecchia"])
def structure(request):
    """A structure with its dense covariance, sites and columns."""
    rng, d = np.random.default_rng(4), 1 if request.param == "markov" else 2
    inputs, term = Inputs(rng.uniform(-1.0, 1.0, (12, d))), product(("matern32", d))
    theta = np.append(0.2, np.full(d, -0.6))
    made = Markov(inputs, (term,)) if d == 1 else Vecchia(inputs, term, 12, np.ones(2))
    nugget = 0.0 if d == 1 else NUGGET * np.eye(12)

    def K(theta):
        return covariance("matern32", inputs.X, inputs.X, theta) + nugget * np.exp(2.0 * theta[0])

    lambda2, U = rng.uniform(0.0, 9.0, 12), rng.standard_normal((12, 3))
    V0 = K(theta) @ np.linalg.inv(np.eye(12) + lambda2[:, None] * K(theta))
    return SimpleNamespace(**locals())


def test_conditioned_structures(structure):
    """(MKV7) to (MKV10), and (VEC1) to (VEC4) where every knot has all before it as neighbours."""
    at = structure
    conditioned = at.made.at([at.theta]).condition(at.lambda2)
    want = np.linalg.slogdet(np.eye(12) + at.K(at.theta) * at.lambda2)[1]
    assert conditioned.log_det == pytest.approx(want, abs=1e-7)
    np.testing.assert_allclose(conditioned.variance, np.diag(at.V0), atol=1e-7)
    np.testing.assert_allclose(conditioned.solve(at.U), at.V0 @ at.U, atol=1e-6)


def test_gradient_of_structures(structure):
    """(MKV11), (VEC5) and (VEC6)."""
    at, signs = structure, np.array([1.0, -1.0, 1.0])
    X = at.U - at.lambda2[:, None] * (at.V0 @ at.U)
    R0 = np.diag(at.lambda2) - at.lambda2[:, None] * at.V0 * at.lambda2

    def value(theta):
        return 0.5 * np.sum(signs * X * (at.K(theta) @ X)) - 0.5 * np.sum(R0 * at.K(theta))

    found = at.made.at([at.theta]).condition(at.lambda2).gradient(at.U, signs)
    np.testing.assert_allclose(found, gradient(value, at.theta, 1e-3), atol=1e-6)


def test_new_places_of_structures(structure):
    """(VEC7) with all knots for neighbours, and a chain between its knots: both are kriging from all sites."""
    at = structure
    new = np.random.default_rng(7).uniform(-1.5, 1.5, (6, at.d))
    beside = covariance("matern32", new, at.inputs.X, at.theta)
    K = covariance("matern32", at.inputs.X, at.inputs.X, at.theta)
    weights = beside @ np.linalg.inv(np.eye(12) + at.lambda2[:, None] * K)
    values, variance = at.made.at([at.theta]).condition(at.lambda2).smooth(at.U).at(Inputs(new))
    np.testing.assert_allclose(values, weights @ at.U, atol=1e-8)
    explained = np.einsum("nk,k,nk->n", weights, at.lambda2, beside)
    np.testing.assert_allclose(variance, np.exp(2.0 * at.theta[0]) - explained, atol=1e-8)
