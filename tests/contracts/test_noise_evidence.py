"""Evidence under any noise, truncated or not, against dense quadrature over two values of f with scipy's densities."""

import numpy as np
import pytest
from scipy import stats
from support.distributions import DISTRIBUTIONS
from support.problems import gp, make_problem, solve, tight

from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.noise import NoiseLikelihood

pytestmark = pytest.mark.diagonal

SCIPY_DISTRIBUTIONS = {
    "normal": stats.norm,
    "logistic": stats.logistic,
    "gumbel": stats.gumbel_l,
    "student": stats.t(3.0),
}
NOISES = {name: NoiseLikelihood(DISTRIBUTIONS[name]) for name in ("normal", "logistic", "gumbel")} | {
    "student": NoiseLikelihood(StudentNoise(3.0))
}
ROWS = {
    "exact": ([0.7, -0.4], [0.7, -0.4]),
    "left and right": ([-np.inf, 0.3], [-0.2, np.inf]),
    "exact and right": ([0.7, 0.9], [0.7, np.inf]),
    "intervals": ([-0.5, 0.2], [0.1, 1.4]),
}
WINDOWS = {"open": None, "entered": (-0.8, np.inf), "window": (-1.0, 1.6)}
X, SD, LENGTHSCALE = np.array([[-0.3], [0.4]]), 1.3, 0.8
RULE = np.polynomial.legendre.leggauss(160)


def log_mass(distribution, low, high, f, sigma):
    """Log probability of an interval, formed in the nearer tail."""
    a, b = (low - f) / sigma, (high - f) / sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = distribution.logsf(a) + np.log1p(-np.exp(distribution.logsf(b) - distribution.logsf(a)))
        return np.where(a > 0.0, upper, np.log(distribution.cdf(b) - distribution.cdf(a)))


def exact_evidence(distribution, lower, upper, window, sigma):
    """Log of the integral over f of what the rows say times the density of f."""
    nodes, weights = 9.0 * SD * RULE[0], 9.0 * SD * RULE[1]
    K = SD**2 * np.exp(-0.5 * ((X - X.T) / LENGTHSCALE) ** 2)
    f = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
    total = stats.multivariate_normal(np.zeros(2), K).pdf(f)
    for i in range(2):
        low, high = (max(lower[i], window[0]), min(upper[i], window[1])) if window else (lower[i], upper[i])
        if lower[i] == upper[i]:
            row = distribution.logpdf((lower[i] - nodes) / sigma) - np.log(sigma)
        else:
            row = log_mass(distribution, low, high, nodes, sigma)
        if window:
            row = row - log_mass(distribution, *window, nodes, sigma)
        total = total * np.exp(row[:, None] if i == 0 else row[None, :])
    return np.log(weights @ total @ weights)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("noise", NOISES)
def test_evidence(noise, rows, window):
    sigma, (lower, upper), ends = 0.5, ROWS[rows], WINDOWS[window]
    exact = exact_evidence(SCIPY_DISTRIBUTIONS[noise], lower, upper, ends, sigma)
    lower, upper = np.array(lower), np.array(upper)
    if ends:
        between = lower < upper
        lower, upper = (
            np.where(between, np.maximum(lower, ends[0]), lower),
            np.where(between, np.minimum(upper, ends[1]), upper),
        )
    problem = make_problem(X, lower, upper, window=ends)
    theta = np.log([SD, LENGTHSCALE, sigma])
    found = {}
    for name in ("ep", "vi", "laplace"):
        posterior = solve(problem, [gp(problem)], theta, tight(name), None, NOISES[noise])
        assert posterior.converged
        found[name] = posterior.evidence
    assert abs(found["ep"] - exact) < 0.02
    assert found["vi"] <= exact + 1e-9
    assert found["vi"] > exact - 0.2
    assert abs(found["laplace"] - exact) < 0.6


@pytest.mark.parametrize("window", ["entered", "window"])
def test_closed_forms_hand_truncated_rows_over(window):
    lower, upper = (np.array(end) for end in ROWS["exact"])
    problem = make_problem(X, lower, upper, window=WINDOWS[window])
    theta = np.log([SD, LENGTHSCALE, 0.5])
    for name in ("ep", "vi", "laplace"):
        either = [
            solve(problem, [gp(problem)], theta, tight(name), None, likelihood).evidence
            for likelihood in (FAMILIES["gaussian"].likelihood, NoiseLikelihood(DISTRIBUTIONS["normal"]))
        ]
        assert either[0] == pytest.approx(either[1], rel=1e-12)
