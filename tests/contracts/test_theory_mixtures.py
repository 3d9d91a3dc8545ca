"""Equations of the theory pages of mixtures in dense form, and the misprints that the errata page names."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, gammaln, log_ndtr, logsumexp

from tobitgp.mixture import VBCM, DirichletProcess, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.coordinate_ascent import chunks_of, evaluate

PRIOR = {"mean": 0.0, "tau": 1e-3, "a": 1.0, "b": 1.0}  # that of the paper


def gamma_divergence(a, b, a0, b0):  # MIX12
    return (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * np.log(b / b0) + a * (b0 - b) / b


def log_phi(z):
    return -0.5 * (z * z + np.log(2.0 * np.pi))


def sides(lower, upper):
    """1 where a row is right-censored, -1 where it is left-censored, and its one finite end; (n, 1) each."""
    side = np.isposinf(upper).astype(float) - np.isneginf(lower)
    return side[:, None], np.where(side > 0, lower, upper)[:, None]


def log_masses(lower, upper, mean, sd):
    """Log density or log probability of each row under each component, (n, K)."""
    side, end = sides(lower, upper)
    z = (end - mean) / sd
    return np.where(side == 0, log_phi(z) - np.log(sd), log_ndtr(-side * z))


def first_two(lower, upper, mean, sd):
    """Means and mean squares beyond the rows' limits, (n, K): MIX8 with one end infinite."""
    side, end = sides(lower, upper)
    z = (end - mean) / sd
    h = side * sd * np.exp(log_phi(z) - log_ndtr(-side * z))
    return np.where(side == 0, end, mean + h), np.where(side == 0, end**2, mean**2 + sd**2 + (end + mean) * h)


def log_responsibilities(lower, upper, alpha, q):  # MIX4
    m, tau, a, b = q
    log_weight = digamma(alpha) - digamma(alpha.sum()) + 0.5 * (digamma(a) - np.log(a)) - 0.5 / tau
    return log_weight + log_masses(lower, upper, m, np.sqrt(b / a))


def bound(lower, upper, alpha, q):  # MIX5, MIX6, MIX11
    (m, tau, a, b), (m0, tau0, a0, b0), total = q, PRIOR.values(), alpha.sum()
    value = logsumexp(log_responsibilities(lower, upper, alpha, q), axis=1).sum()
    value -= gammaln(total) - gammaln(len(alpha)) - gammaln(alpha).sum()
    value -= ((alpha - 1.0) * (digamma(alpha) - digamma(total))).sum()
    of_mean = 0.5 * (np.log(tau / tau0) + tau0 / tau - 1.0 + tau0 * a / b * (m - m0) ** 2)
    return value - (of_mean + gamma_divergence(a, b, a0, b0)).sum()


def sweep(lower, upper, alpha, q, *, printed=None):
    """One step of algorithm 1, corrected, or with one of its misprints."""
    (m, tau, a, b), (m0, tau0, a0, b0) = q, PRIOR.values()
    gamma = log_responsibilities(lower, upper, alpha, q)
    r = np.exp(gamma - logsumexp(gamma, axis=1, keepdims=True))
    y, square = first_two(lower, upper, m, np.sqrt(1.0 / tau if printed == "moments" else b / a))
    N = r.sum(axis=0)
    mean, square = ((r * x).sum(axis=0) / np.maximum(N, 1e-300) for x in (y, square))
    new = (tau0 * m0 + N * mean) / (tau0 + N)
    b = b0 + 0.5 * (tau0 * m0**2 - (tau0 + N) * new**2 + N * square)
    a = a0 + 0.5 * (N + 1.0 if printed == "shape" else N)
    return 1.0 + N, np.stack([new, tau0 + N, a, b])


def random_rows(rng):
    n = int(rng.integers(5, 121))
    y = rng.normal(rng.normal(0.0, 3.0, size=3)[rng.integers(0, 3, n)])
    low, high = (rng.normal(side * 2.0, 1.0, n) for side in (-1.0, 1.0))
    low, high = np.minimum(low, high), np.maximum(low, high)
    return np.where(y <= low, -np.inf, np.minimum(y, high)), np.where(y > high, np.inf, np.maximum(y, low))


def largest_fall(seed, printed=None, sweeps=60):
    """Largest fall of the bound over sweeps from a random start, and the bound at the end."""
    rng = np.random.default_rng(seed)
    lower, upper = random_rows(rng)
    k = int(rng.integers(1, 6))
    alpha = np.full(k, 1.0 + len(lower) / k)
    q = np.stack([rng.normal(0.0, 3.0, k), alpha, alpha, alpha * rng.uniform(0.3, 3.0, k)])
    value, fall = -np.inf, 0.0
    for _ in range(sweeps):
        alpha, q = sweep(lower, upper, alpha, q, printed=printed)
        before, value = value, bound(lower, upper, alpha, q)
        fall = max(fall, before - value)
    return fall, value


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_and_the_step_of_the_page_are_those_of_a_fit(seed):
    lower, upper = random_rows(np.random.default_rng(seed + 10))
    fit = fit_mixture(lower, upper, k=2, prior=PRIOR, method=VBCM(tol=1e-13))
    shift, scale = fit.units
    m, tau, a, b = fit.state.components
    q = np.stack([shift + scale * m, tau, a, scale**2 * b])
    assert fit.elbo == pytest.approx(bound(lower, upper, fit.state.weights, q), rel=1e-10)
    alpha, moved = sweep(lower, upper, fit.state.weights, q)
    np.testing.assert_allclose(alpha, fit.state.weights, rtol=1e-3)
    np.testing.assert_allclose(moved, q, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_corrected_step_never_lowers_the_bound_and_the_printed_ones_do():
    seeds = range(12)
    right = [largest_fall(seed) for seed in seeds]
    assert max(fall for fall, _ in right) < 1e-10
    for printed, falls in (("moments", 6), ("shape", 2)):
        wrong = [largest_fall(seed, printed) for seed in seeds]
        assert sum(fall > 1e-6 for fall, _ in wrong) >= falls
        assert np.median([good - bad for (_, good), (_, bad) in zip(right, wrong, strict=True)]) > 0.05


def test_what_a_process_loses_for_its_weights_is_that_of_the_page():
    w = np.array([3.0, 2.0, 5.0, 1.5, 4.0, 0.7, 2.5])  # g1, g2, rate
    g1, g2, rate = w[:3], w[3:6], w[6]
    log_v, log_rest = digamma(g1) - digamma(g1 + g2), digamma(g2) - digamma(g1 + g2)  # DP2
    shape, c, log_c = 4.0, 4.0 / rate, digamma(4.0) - np.log(rate)
    want = ((g1 - 1.0) * log_v + (g2 - c) * log_rest - (gammaln(g1) + gammaln(g2) - gammaln(g1 + g2)) - log_c).sum()
    want += gamma_divergence(shape, rate, 1.0, 1.0)  # DP5
    process = DirichletProcess()
    assert process.divergence(w) == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(
        process.expected_log(w), np.append(log_v, 0.0) + np.append(0.0, np.cumsum(log_rest))
    )  # DP3
    beta = [stats.beta(*pair).entropy() for pair in zip(g1, g2, strict=True)]
    own = -sum(beta) - ((c - 1.0) * log_rest).sum() - 3.0 * log_c  # E log q - E log p of the sticks
    assert want - gamma_divergence(shape, rate, 1.0, 1.0) == pytest.approx(own, rel=1e-10)


def learnt(q, a0, m0=0.0):
    """Shapes and rates of the posteriors of beta and t_0, MIX19."""
    m, tau, a, b = q
    k = len(m)
    beta = 0.2 + k * a0, 0.2 + (a / b).sum()
    return beta, (0.2 + 0.5 * k, 0.2 + 0.5 * (1.0 / tau + a / b * (m - m0) ** 2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_learnt_prior_and_its_bound_are_those_of_the_page(seed):
    lower, upper = random_rows(np.random.default_rng(seed + 20))
    fit = fit_mixture(lower, upper, k=2, method=VBCM(tol=1e-13))
    shift, scale = fit.units
    low, high, q, alpha = (lower - shift) / scale, (upper - shift) / scale, fit.state.components, fit.state.weights
    posteriors = learnt(q, 1.0)
    rates = [rate for _, rate in posteriors]
    np.testing.assert_allclose(fit.state.scales[::-1], rates, rtol=1e-3)
    (beta, log_beta), (t0, log_t0) = ((a / b, digamma(a) - np.log(b)) for a, b in posteriors)  # MIX20
    (m, tau, a, b), total = q, alpha.sum()
    want = logsumexp(log_responsibilities(low, high, alpha, q), axis=1).sum()  # MIX5
    want -= gammaln(total) - gammaln(2.0) - gammaln(alpha).sum()
    want -= ((alpha - 1.0) * (digamma(alpha) - digamma(total))).sum()
    want -= 0.5 * (np.log(tau / t0) + t0 / tau - 1.0 + t0 * a / b * m**2).sum()
    want -= gamma_divergence(a, b, 1.0, beta).sum()
    for (shape, rate), power, log_mean, mean_log in zip(
        posteriors, (2.0, 1.0), (np.log(beta), np.log(t0)), (log_beta, log_t0), strict=True
    ):  # MIX21
        want -= gamma_divergence(shape, rate, 0.2, 0.2) + power * (log_mean - mean_log)
    want -= (lower == upper).sum() * np.log(scale)
    assert fit.elbo == pytest.approx(want, rel=1e-7)


def test_what_rounding_takes_from_the_log_density_is_that_of_the_page():
    y = np.array([1.0, 1.0, 2.0, 2.0, 2.0, 3.5])
    fit = fit_mixture(y, y, k=1)
    shift, scale = fit.units
    m, sd = fit.theta[0, 0], np.exp(fit.theta[1, 0])
    z, w = (y - shift) / scale, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]) / scale
    log_p = log_phi((z - m) / sd) - np.log(sd) - w**2 / (24.0 * sd**2)  # MIX22
    square = ((z - m) ** 2 + w**2 / 12.0) / sd**2
    a, b = fit.state.components[2:, 0]
    tau = fit.state.components[1, 0]
    terms = sums_of_training(fit, y)
    assert terms.log_norm == pytest.approx(log_p.sum() + 6.0 * (0.5 * (digamma(a) - np.log(a)) - 0.5 / tau), rel=1e-10)
    assert terms.statistics[1, 0] == pytest.approx(square.sum(), rel=1e-10)
    assert b / a == pytest.approx(sd**2, rel=1e-12)


def sums_of_training(fit, y):
    chunks = chunks_of(arrange(fit.model.family, read_rows(fit.model.family, y, y), fit.units, ties=True), fit.k)
    return evaluate(fit.model, chunks, fit.state)[1]


def test_unseen_values_are_geometric():
    """MIX27 and MIX28 iterated for Poisson counts above 0: one component with a given prior."""
    y = np.random.default_rng(2).poisson(1.2, 60).astype(float)
    y = y[y > 0.0]
    a, b = 1.0 + y.sum(), 1.0 + len(y)
    for _ in range(500):
        rate = np.exp(digamma(a)) / b
        unseen = np.exp(rate - a / b) * np.exp(-rate)  # G: the offset, and the probability of 0 at the plug-in rate
        b = 1.0 + len(y) + len(y) * unseen / (1.0 - unseen)  # zeros add nothing to a
    rate = np.exp(digamma(a)) / b
    unseen = np.exp(-a / b)
    bound = (y * np.log(rate) - a / b - gammaln(y + 1.0)).sum() - len(y) * np.log(1.0 - unseen)
    bound -= gamma_divergence(a, b, 1.0, 1.0)
    window = np.zeros(len(y)), np.full(len(y), np.inf)
    fit = fit_mixture(y, y, family="poisson", k=1, prior={"a": 1.0, "b": 1.0}, window=window, method=VBCM(tol=1e-13))
    assert fit.objective == pytest.approx(bound, abs=1e-8)
    assert fit.parameters["rate"][0] == pytest.approx(a / b, rel=1e-5)
