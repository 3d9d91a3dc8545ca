import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from tobitgp.numerics.quadrature import normal_in_box


def random_distribution(k, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k, k + 2))
    return rng.standard_normal(k), root @ root.T / k


def ends(k, seed):
    """Open to the left, open to the right, and closed sides in turn."""
    middle = np.random.default_rng(seed).uniform(-0.5, 0.5, k)
    turn = np.arange(k) % 3
    return np.where(turn == 0, -np.inf, middle - 0.4), np.where(turn == 1, np.inf, middle + 0.6)


def test_one_side_is_closed_form():
    for lower, upper in ((-np.inf, 0.3), (0.3, np.inf), (-0.2, 0.7), (4.0, 4.5), (-np.inf, -9.0), (30.0, np.inf)):
        box = normal_in_box(np.array([0.1]), np.array([[4.0]]), np.array([lower]), np.array([upper]))
        a, b = ((end - 0.1) / 2.0 for end in (lower, upper))
        flip = a + b > 0
        low, high = (-b, -a) if flip else (a, b)
        log_mass = norm.logcdf(high) + np.log1p(-np.exp(norm.logcdf(low) - norm.logcdf(high)))
        assert box.log_mass == pytest.approx(log_mass, rel=1e-10)
        assert box.error < 1e-10
        assert lower <= box.mean[0] <= upper


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_against_quadrature(k, seed):
    """Mass and moments by Gauss's rule in every coordinate."""
    mean, cov = random_distribution(k, seed)
    lower, upper = ends(k, seed)
    near, far = np.clip(lower, -12.0, 12.0), np.clip(upper, -12.0, 12.0)
    nodes, weights = np.polynomial.legendre.leggauss(100)
    axes = np.meshgrid(*(0.5 * (b - a) * nodes + 0.5 * (a + b) for a, b in zip(near, far, strict=True)), indexing="ij")
    x = np.stack([axis.ravel() for axis in axes], axis=1)
    w = np.prod(np.stack(np.meshgrid(*[weights] * k, indexing="ij")), axis=0).ravel() * np.prod(0.5 * (far - near))
    w = w * multivariate_normal(mean, cov).pdf(x)
    box = normal_in_box(mean, cov, lower, upper)
    assert box.log_mass == pytest.approx(np.log(w.sum()), abs=5.0 * box.error + 1e-7)
    centre = w @ x / w.sum()
    np.testing.assert_allclose(box.mean, centre, atol=1e-3)
    np.testing.assert_allclose(box.cov, (x * w[:, None]).T @ x / w.sum() - np.outer(centre, centre), atol=3e-3)


def test_against_scipy():
    mean, cov = random_distribution(6, 5)
    lower, upper = ends(6, 5)
    box = normal_in_box(mean, cov, lower, upper)
    fine = {"maxpts": 2_000_000, "abseps": 1e-9, "releps": 1e-6}
    want = multivariate_normal.cdf(upper, mean, cov, lower_limit=lower, **fine)
    assert box.log_mass == pytest.approx(np.log(want), abs=5.0 * box.error + 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10, 60])
def test_equicorrelated_orthant(k):
    """Half correlated coordinates are all negative with probability 1 / (k + 1)."""
    box = normal_in_box(np.zeros(k), 0.5 * (np.eye(k) + 1.0), np.full(k, -np.inf), np.zeros(k))
    assert box.log_mass == pytest.approx(-np.log(k + 1.0), abs=5.0 * box.error + 1e-5)
    assert box.error < 5e-3
    np.testing.assert_allclose(box.mean, box.mean.mean(), atol=0.02)


def test_independent_coordinates_far_out():
    """Each is exact, so nothing is left to chance."""
    lower, upper = np.array([8.0, -np.inf, 1.0]), np.array([np.inf, -20.0, 1.001])
    box = normal_in_box(np.zeros(3), np.eye(3), lower, upper)
    want = norm.logsf(8.0) + norm.logcdf(-20.0) + np.log(norm.cdf(1.001) - norm.cdf(1.0))
    assert box.log_mass == pytest.approx(want, rel=1e-10)
    assert (box.mean >= lower).all()
    assert (box.mean <= upper).all()


def test_it_is_repeatable():
    mean, cov = random_distribution(5, 1)
    first, second = (normal_in_box(mean, cov, *ends(5, 1)) for _ in range(2))
    assert first.log_mass == second.log_mass
