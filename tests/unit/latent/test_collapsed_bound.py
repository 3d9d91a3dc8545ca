"""The bound over normal inputs: statistics by quadrature, published and sparse bounds, the exact evidence, slopes."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

import tobitgp as tg
from tobitgp.latent.collapsed_bound import JITTER, ResponseEnds, ResponseScales, collapsed_bound
from tobitgp.latent.latent_search import LatentState, divergence, elbo, search
from tobitgp.latent.psi_statistics import InducingInputs, NormalInputs, PsiStatistics

N, Q, M, D = 12, 2, 5, 3


def kernel(x, z, lengthscale):
    return np.exp(-0.5 * np.square((x[..., :, None, :] - z) / lengthscale).sum(axis=-1))


def nodes_of(mean, var, order=60):
    """Nodes (order^2, 2) and weights of two independent normal coordinates."""
    x, w = np.polynomial.hermite_e.hermegauss(order)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    return mean + np.sqrt(var) * grid, np.outer(w, w).ravel() / w.sum() ** 2


def by_quadrature(state):
    """Psi statistics (n, M) and (n, M, M)."""
    psi1, psi2 = [], []
    for mean, var in zip(*state.inputs, strict=True):
        x, w = nodes_of(mean, var)
        k = kernel(x, state.inducing.z, state.inducing.lengthscale)
        psi1.append(w @ k)
        psi2.append(k.T @ (w[:, None] * k))
    return np.array(psi1), np.array(psi2)


@pytest.fixture
def state():
    rng = np.random.default_rng(4)
    inputs = NormalInputs(rng.normal(size=(N, Q)), rng.uniform(0.05, 0.5, (N, Q)))
    inducing = InducingInputs(rng.normal(size=(M, Q)), np.array([0.8, 1.4]))
    scales = ResponseScales(np.array([0.1, -0.2, 0.3]), np.array([0.9, 1.2, 0.7]), np.array([0.3, 0.4, 0.5]))
    return LatentState(inputs, inducing, scales)


@pytest.fixture
def seen():
    y = np.random.default_rng(5).normal(size=(N, D))
    return ResponseEnds(y, y.copy())


@pytest.fixture
def censored(seen):
    """Left-, right- and interval-censored values, and missing ones."""
    lower, upper = seen.lower.copy(), seen.upper.copy()
    low = seen.lower < -0.5
    lower[low], upper[low] = -np.inf, -0.5
    lower[2, 1], upper[2, 1] = 0.1, 0.6
    lower[3, 2], upper[3, 2] = 0.4, np.inf
    lower[4, 0] = upper[4, 0] = lower[5, 1] = upper[5, 1] = np.nan
    return ResponseEnds(lower, upper)


def test_statistics_are_those_of_quadrature(state):
    psi1, psi2 = by_quadrature(state)
    np.testing.assert_allclose(state.psi.psi1, psi1, rtol=1e-9)
    np.testing.assert_allclose(state.psi.inducing.matrix(state.psi.psi2), psi2, rtol=1e-9)


def test_without_censoring_it_is_the_bound_of_titsias_and_lawrence(state, seen):
    """Their Eq. 14 and 15 for each response, dense, from statistics by quadrature."""
    psi1, psi2 = by_quadrature(state)
    K = kernel(state.inducing.z, state.inducing.z, state.inducing.lengthscale) + JITTER * np.eye(M)
    total = -0.5 * (state.inputs.var + state.inputs.mean**2 - 1 - np.log(state.inputs.var)).sum()
    for y, b, a, sigma in zip(seen.lower.T, *state.scales, strict=True):
        Ka, beta, r = a * a * K, sigma**-2.0, y - b
        P1, P2 = a * a * psi1, a**4 * psi2.sum(axis=0)
        inner = cho_factor(beta * P2 + Ka)
        W = beta * np.eye(N) - beta**2 * P1 @ cho_solve(inner, P1.T)
        logs = N * np.log(beta) + np.linalg.slogdet(Ka)[1] - np.linalg.slogdet(beta * P2 + Ka)[1]
        total += 0.5 * (logs - N * np.log(2 * np.pi) - r @ W @ r)
        total += -0.5 * beta * N * a * a + 0.5 * beta * np.trace(np.linalg.solve(Ka, P2))
    assert elbo(state, seen) == pytest.approx(total, rel=1e-8)


def test_known_inputs_give_the_sparse_local_bound():
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(0, 4, 25))
    y = np.maximum(np.sin(2 * x) + 0.3 * rng.normal(size=25), -0.3)
    z = np.linspace(0, 4, 9)
    known = {"sd(gp(x))": 0.9, "lengthscale(gp(x))": 0.7, "sigma": 0.3}
    known |= {"sigma_lower": 0.0, "Intercept": 0.0}
    res = tg.fit(
        "y ~ gp(x, line=False) | censor(-0.3)",
        pd.DataFrame({"x": x, "y": y}),
        method=tg.VI(bound="local", inducing=z[:, None]),
        fixed=known,
    )
    low = y <= -0.3
    ends = ResponseEnds(np.where(low, -np.inf, y)[:, None], np.where(low, -0.3, y)[:, None])
    at = LatentState(
        NormalInputs(x[:, None], np.full((25, 1), 1e-14)),
        InducingInputs(z[:, None], np.array([0.7])),
        ResponseScales(np.zeros(1), np.array([0.9]), np.array([0.3])),
    )
    assert collapsed_bound(at.psi, ends, at.scales).value == pytest.approx(res.log_evidence, abs=2e-4)


def test_it_is_below_the_exact_evidence():
    """Six rows of three responses, a value of two of them censored: importance sampling with wide proposals."""
    rng = np.random.default_rng(7)
    n = 6
    x = rng.normal(size=n)
    y = np.column_stack([np.sin(x), np.cos(x), x]) + 0.3 * rng.normal(size=(n, 3))
    lower, upper = y.copy(), y.copy()
    lower[0, 0] = lower[3, 1] = -np.inf
    ends = ResponseEnds(lower, upper)
    inducing = InducingInputs(np.linspace(-3, 3, 8)[:, None], np.ones(1))
    scales = ResponseScales(np.zeros(3), np.ones(3), np.full(3, 0.3))

    def at(q):
        return LatentState(NormalInputs(q[:n, None], np.exp(q[n:, None])), inducing, scales)

    found = minimize(lambda q: -elbo(at(q), ends), np.concatenate([x, np.full(n, -2.0)]), method="L-BFGS-B")
    best, bound = at(found.x), -found.fun
    mean, var = best.inputs.mean[:, 0], best.inputs.var[:, 0]
    # The posterior made wider, its mirror image, which has the same likelihood, and the prior.
    S, parts = 100_000, [(mean, 1.6 * np.sqrt(var)), (-mean, 1.6 * np.sqrt(var)), (np.zeros(n), np.ones(n))]
    X = np.concatenate([m + sd * rng.normal(size=(S // 3, n)) for m, sd in parts])
    proposal = logsumexp([norm.logpdf(X, m, sd).sum(axis=1) for m, sd in parts], axis=0) - np.log(3.0)
    log_w = norm.logpdf(X).sum(axis=1) - proposal
    K = np.exp(-0.5 * np.square(X[:, :, None] - X[:, None, :]))
    for d, cut in ((0, 0), (1, 3), (2, None)):
        b, a, sigma = (each[d] for each in scales)
        C, rest = a * a * K + sigma**2 * np.eye(n), np.array([i for i in range(n) if i != cut])
        V, c = C[:, rest][:, :, rest], C[:, rest, cut or 0]
        r = y[rest, d] - b
        solved = np.linalg.solve(V, np.stack([np.broadcast_to(r, c.shape), c], axis=-1))
        log_w += -0.5 * (solved[:, :, 0] @ r + np.linalg.slogdet(V)[1] + len(rest) * np.log(2 * np.pi))
        if cut is None:
            continue
        m = b + (c * solved[:, :, 0]).sum(axis=1)
        v = C[:, cut, cut] - (c * solved[:, :, 1]).sum(axis=1)
        log_w += norm.logcdf((y[cut, d] - m) / np.sqrt(v))
    top = log_w.max()
    weights = np.exp(log_w - top)
    exact, error = top + np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(len(X))
    assert error < 0.02
    assert bound < exact - 4 * error
    assert bound > exact - n  # less than a nat for each row, of which the mirror image takes log 2 in all


@pytest.mark.parametrize("which", ["seen", "censored"])
def test_slopes_are_those_of_differences(state, which, request):
    responses, x = request.getfixturevalue(which), state.packed()

    def value(at):
        moved = state.at(at)
        return collapsed_bound(moved.psi, responses, moved.scales).value

    bound = collapsed_bound(state.psi, responses, state.scales)
    slopes = (bound.psi.mean, bound.psi.var * state.inputs.var, bound.psi.z, bound.psi.log_lengthscale, *bound.scales)
    found = np.concatenate([part.ravel() for part in slopes])
    steps = 1e-4 * np.eye(len(x))
    wide = np.array([value(x + 2 * step) - value(x - 2 * step) for step in steps])
    near = np.array([value(x + step) - value(x - step) for step in steps])
    np.testing.assert_allclose(found, (8 * near - wide) / 12e-4, rtol=1e-6, atol=1e-5)


def test_slopes_keep_their_digits_where_inducing_inputs_nearly_coincide():
    """A kernel matrix that only its jitter makes invertible; searches ended there hundreds of nats too low."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(300, 2))
    y = x @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(300, 4))
    responses, scales = ResponseEnds(y, y), ResponseScales(np.zeros(4), np.full(4, 4.0), np.full(4, 0.15))
    inputs = NormalInputs(x, np.full_like(x, 0.05))
    start = LatentState(inputs, InducingInputs(x[:30], np.array([4.0, 6.0])), scales)
    bound, at = collapsed_bound(start.psi, responses, scales), start.packed()
    places = slice(2 * x.size, 2 * x.size + 62)
    found = np.concatenate([bound.psi.z.ravel(), bound.psi.log_lengthscale])
    for direction in (found / np.linalg.norm(found), rng.normal(size=62) / np.sqrt(62), np.eye(62)[-1]):
        step = np.zeros(len(at))
        step[places] = 3e-3 * direction
        ends = (start.at(at + sign * step) for sign in (1, -1))
        up, down = (collapsed_bound(end.psi, responses, scales).value for end in ends)
        assert found @ direction == pytest.approx((up - down) / 6e-3, rel=0.02, abs=1.0)


def test_the_divergence_is_that_of_draws(state):
    rng = np.random.default_rng(8)
    mean, var = state.inputs.mean[:2], state.inputs.var[:2]
    x = mean + np.sqrt(var) * rng.normal(size=(400_000, 2, Q))
    drawn = (norm.logpdf(x, mean, np.sqrt(var)) - norm.logpdf(x)).mean(axis=0)
    np.testing.assert_allclose(divergence(NormalInputs(mean, var)), drawn, atol=0.01)


def test_missing_values_leave_their_sum(state, seen):
    """A response whose values are missing in some rows has the bound of the other rows by themselves."""
    gone = np.arange(N) < 4
    lower = seen.lower.copy()
    lower[gone, 0] = np.nan
    one = ResponseEnds(lower[:, :1], lower[:, :1].copy())
    scales = ResponseScales(*(each[:1] for each in state.scales))
    rest = PsiStatistics(NormalInputs(*(each[~gone] for each in state.inputs)), state.inducing)
    kept = ResponseEnds(*(each[~gone] for each in one))
    whole = collapsed_bound(state.psi, one, scales).value
    assert whole == pytest.approx(collapsed_bound(rest, kept, scales).value, rel=1e-12)


@pytest.mark.slow
def test_dimensions_that_the_responses_do_not_have_are_switched_off():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(80, 1))
    y = np.sin(x * [1.0, 1.5, 0.7, 1.2]) + 0.1 * rng.normal(size=(80, 4))
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    ends = ResponseEnds(y, y)
    best, *_ = search(ends, 3, 15, n_starts=2, max_iter=400, tol=1e-8, rng=np.random.default_rng(0))
    length = best.state.inducing.lengthscale
    assert length[1] > 8 * length[0]
    assert abs(np.corrcoef(best.state.inputs.mean[:, 0], x[:, 0])[0, 1]) > 0.97
    assert divergence(best.state.inputs).mean(axis=0)[2] < 0.01
