"""The last step of a fit over latent coordinates: normal posteriors by expected slopes, and weighted points."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from tobitgp.latent.collapsed_bound import ResponseEnds, ResponseScales, posterior_weights
from tobitgp.latent.latent_rows import LatentProcesses, exact_posterior, expected_terms, many_maxima
from tobitgp.latent.psi_statistics import InducingInputs, NormalInputs, PsiStatistics

SCALES = ResponseScales(np.array([0.2, -0.1]), np.array([0.9, 1.1]), np.array([0.4, 0.3]))


@pytest.fixture(scope="module")
def ends():
    """A value below a limit, one between two, seen and missing ones."""
    lower = np.array([[-np.inf, 0.3], [0.1, 0.4], [np.nan, -0.6], [0.8, -0.2]])
    upper = np.array([[-0.4, 0.3], [0.6, 0.4], [np.nan, -0.6], [np.inf, -0.2]])
    return ResponseEnds(lower, upper)


def log_likelihood(ends, i, d, f):
    low, high = ((end[i, d] - SCALES.level[d] - SCALES.sd[d] * f) / SCALES.sigma[d] for end in ends)
    if ends.lower[i, d] == ends.upper[i, d]:
        return norm.logpdf(low) - np.log(SCALES.sigma[d])
    mass = norm.cdf(high) - norm.cdf(low) if low < 0 else norm.sf(low) - norm.sf(high)
    return np.log(mass)


def weighted(f, ends, i, d):
    return norm.pdf(f, 0.2, np.sqrt(0.3)) * log_likelihood(ends, i, d, f)


def test_terms_are_means_over_f(ends):
    f, var = np.full((4, 2), 0.2), np.full((4, 2), 0.3)
    terms = expected_terms(ends, SCALES, f, var)
    for i, d in ((0, 0), (1, 0), (3, 0), (3, 1)):
        exact = quad(weighted, -3, 3, (ends, i, d))[0]
        assert terms.value[i, d] == pytest.approx(exact, abs=2e-4)
    assert terms.value[2, 0] == terms.mean[2, 0] == terms.complement[2, 0] == 0.0


def test_the_posterior_maximises_the_bound(ends):
    """Against an optimiser over the mean and the covariance of one process."""
    inputs = NormalInputs(np.array([[-1.0], [0.2], [0.5], [1.3]]), np.full((4, 1), 0.05))
    inducing = InducingInputs(np.array([[-1.0], [0.3], [1.2]]), np.ones(1))
    psi = PsiStatistics(inputs, inducing)
    start = posterior_weights(psi, ends, SCALES)
    found = exact_posterior(psi, ends, SCALES, start)

    def minus(x, d=0):
        w, root = found.w.copy(), np.zeros((3, 3))
        w[d], root[np.tril_indices(3)] = x[:3], x[3:]
        V = found.B_inverse.copy()
        V[d] = root @ root.T
        f, var = type(found)(w, V, found.factor).moments(psi)
        value = expected_terms(ends, SCALES, f, var).value[:, d].sum()
        divergence = 0.5 * (np.trace(V[d]) + w[d] @ w[d] - 3.0 - np.linalg.slogdet(V[d])[1])
        return divergence - value

    at = np.concatenate([start.w[0], np.linalg.cholesky(start.B_inverse[0])[np.tril_indices(3)]])
    best = minimize(minus, at, method="BFGS", options={"gtol": 1e-8})
    root = np.zeros((3, 3))
    root[np.tril_indices(3)] = best.x[3:]
    np.testing.assert_allclose(found.w[0], best.x[:3], atol=2e-4)
    np.testing.assert_allclose(found.B_inverse[0], root @ root.T, atol=2e-4)
    assert np.trace(found.B_inverse[0]) > np.trace(start.B_inverse[0])  # parabolas know too much


def test_points_have_the_moments_of_the_exact_posterior_of_a_coordinate(ends):
    """Against quadrature over the coordinate of a row, given the posterior of the processes."""
    inputs = NormalInputs(np.array([[-1.0], [0.2], [0.5], [1.3]]), np.full((4, 1), 0.05))
    inducing = InducingInputs(np.array([[-1.0], [0.3], [1.2]]), np.ones(1))
    psi = PsiStatistics(inputs, inducing)
    posterior = exact_posterior(psi, ends, SCALES, posterior_weights(psi, ends, SCALES))
    processes = LatentProcesses(inducing, SCALES, posterior)
    grid = np.linspace(-7, 7, 4001)[:, None]
    f, var = posterior.moments(PsiStatistics(NormalInputs(grid, np.zeros_like(grid)), inducing))
    mean, V = SCALES.level + SCALES.sd * f, np.square(SCALES.sd) * var
    log_p = norm.logpdf(grid[:, 0]) + norm.logcdf(-0.4, mean[:, 0], np.sqrt(V[:, 0] + SCALES.sigma[0] ** 2))
    log_p += norm.logpdf(0.3, mean[:, 1], np.sqrt(V[:, 1] + SCALES.sigma[1] ** 2))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    first = p @ mean
    second = p @ (V + np.square(mean - first))
    found = processes.moments(processes.located(ResponseEnds(*(end[:1] for end in ends))))
    np.testing.assert_allclose(found[0][0], first, atol=0.01)
    np.testing.assert_allclose(np.sqrt(found[1][0]), np.sqrt(second), rtol=0.02)


def test_maxima_do_not_depend_on_each_other():
    """Of Rosenbrock's valley at several widths, together and one by one."""
    width = np.array([0.5, 1.0, 3.0, 5.0])

    def valley(x, rows):
        a = width[rows]
        gap = x[:, 1] - x[:, 0] ** 2
        value = -np.square(1.0 - x[:, 0]) - a * gap**2
        slope = [2.0 * (1.0 - x[:, 0]) + 4.0 * a * gap * x[:, 0], -2.0 * a * gap]
        return value, np.stack(slope, axis=1)

    start = np.tile([-0.5, 0.4], (4, 1))
    together = many_maxima(valley, start, tol=1e-9)
    np.testing.assert_allclose(together, 1.0, atol=1e-4)
    for i in range(4):
        alone = many_maxima(lambda x, rows, i=i: valley(x, rows + i), start[:1], tol=1e-9)
        np.testing.assert_allclose(alone[0], together[i], atol=1e-8)
    assert many_maxima(valley, np.empty((0, 2))).shape == (0, 2)
