"""Normal vectors in boxes against quadrature written here, and draws against the moments."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal, truncnorm

from tobitgp.numerics.normal_boxes import draw_in_boxes, vectors_in_boxes

INF = np.inf


def panels(low, high, pieces=150):
    x, w = np.polynomial.legendre.leggauss(12)
    ends = np.linspace(low, high, pieces + 1)
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def brute(mean, cov, lower, upper):
    """Log mass, mean and covariance in a box of two coordinates, by a product rule within ten standard deviations."""
    reach = 10.0 * np.sqrt(np.diag(cov))
    (x, wx), (y, wy) = (
        panels(max(a, m - r), min(b, m + r)) for a, b, m, r in zip(lower, upper, mean, reach, strict=True)
    )
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    w = multivariate_normal(mean, cov).pdf(points) * wx[:, None] * wy
    total = w.sum()
    centre = np.einsum("ij,ijd->d", w, points) / total
    away = points - centre
    return np.log(total), centre, np.einsum("ij,ijd,ije->de", w, away, away) / total


BOXES = {
    "quadrant": ([-INF, -INF], [0.3, -0.5]),
    "strip": ([-1.0, -INF], [0.5, 0.2]),
    "closed": ([-1.0, 0.2], [0.5, 0.4]),
    "far": ([2.5, -INF], [INF, -2.0]),
    "mixed": ([-INF, 1.0], [-0.4, INF]),
}


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.95, 0.99])
@pytest.mark.parametrize("box", BOXES)
def test_two_coordinates_are_those_of_quadrature(box, rho):
    mean, cov = np.array([0.2, -0.1]), np.array([[1.0, 0.7 * rho], [0.7 * rho, 0.49]])
    lower, upper = map(np.array, BOXES[box])
    log_mass, centre, inner = brute(mean, cov, lower, upper)
    if log_mass < -60.0:
        pytest.skip("the product rule has no points there")
    found = vectors_in_boxes(mean[None], cov[None], lower[None], upper[None])
    assert abs(found.log_mass[0] - log_mass) < 1e-8
    np.testing.assert_allclose(found.mean[0], centre, atol=1e-8)
    np.testing.assert_allclose(found.cov[0], inner, atol=1e-8)


def test_one_coordinate_is_a_truncated_normal_value():
    for a, b in ((-INF, -1.0), (0.3, 2.0), (6.0, INF)):
        found = vectors_in_boxes(np.array([[0.5]]), np.array([[[4.0]]]), np.array([[a]]), np.array([[b]]))
        known = truncnorm((a - 0.5) / 2.0, (b - 0.5) / 2.0, loc=0.5, scale=2.0)
        np.testing.assert_allclose([found.mean[0, 0], found.cov[0, 0, 0]], known.stats("mv"), rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("c", "tol"), [(3, 1e-4), (4, 3e-4), (5, 1e-3)])
def test_more_coordinates_are_as_accurate_as_stated(c, tol):
    """Independent coordinates turned by a common factor: one integral over the factor gives every moment."""
    weight, lower, upper = 0.6, np.full(c, -INF), np.linspace(-0.5, 0.8, c)
    lower[1], t = -1.0, np.linspace(-9.0, 9.0, 801)
    sd = np.sqrt(1.0 - weight)
    ends = [((a - np.sqrt(weight) * t) / sd, (b - np.sqrt(weight) * t) / sd) for a, b in zip(lower, upper, strict=True)]
    each, mass = [truncnorm(*one) for one in ends], [ndtr(high) - ndtr(low) for low, high in ends]
    w = np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) * np.prod(mass, axis=0) * (t[1] - t[0])
    inside = np.stack([np.sqrt(weight) * t + sd * one.mean() for one in each])
    mean = inside @ w / w.sum()
    cov = (inside * w) @ inside.T / w.sum() - np.outer(mean, mean)
    cov[np.diag_indices(c)] += [(w * sd**2 * one.var()).sum() / w.sum() for one in each]
    full = weight + sd**2 * np.eye(c)
    found = vectors_in_boxes(np.zeros((1, c)), full[None], lower[None], upper[None])
    assert abs(found.log_mass[0] - np.log(w.sum())) < tol
    np.testing.assert_allclose(found.mean[0], mean, atol=10.0 * tol)
    np.testing.assert_allclose(found.cov[0], cov, atol=10.0 * tol)


def test_draws_have_the_moments():
    mean, cov = np.array([[0.2, -0.1, 0.4]]), 0.5 * np.eye(3) + 0.5
    lower, upper = np.array([[-INF, -0.5, 0.0]]), np.array([[0.0, 1.0, INF]])
    y = draw_in_boxes(mean, cov, lower, upper, draws=20_000, rng=np.random.default_rng(1))[0]
    found = vectors_in_boxes(mean, cov[None], lower, upper)
    assert ((y >= lower) & (y <= upper)).all()
    np.testing.assert_allclose(y.mean(axis=0), found.mean[0], atol=0.02)
    np.testing.assert_allclose(np.cov(y.T), found.cov[0], atol=0.02)
