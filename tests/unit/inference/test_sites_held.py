"""The evidence with sites held: that of normal pseudo-observations, with the true slope; and the ascent it leads."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.fits import ROLES, parameters
from support.problems import GAUSSIAN, gp, simulate, tight

from tobitgp.inference.evidence_ascent import Objective
from tobitgp.inference.frozen import Frozen
from tobitgp.inference.partitioned import cut
from tobitgp.inference.sites_held import SitesHeld, ascend_held

THETA, MOVED = np.array([0.1, -0.4, np.log(0.4)]), np.array([0.2, -0.1, 0.15])
STEP = 1e-4


def objective(n=14, censoring="mixed", name="ep"):
    """Features made a little to one side, and no priors."""
    problem, method = simulate(censoring, n=n, seed=2).problem(), tight(name)
    blocks = [gp(problem, "rbf")]
    kept, rows = Frozen.of(cut(problem, [blocks[0].inputs]), blocks, THETA - 0.2, method, GAUSSIAN)
    return problem, Objective(rows, blocks, method, GAUSSIAN, parameters(flat=ROLES), THETA.copy(), kept=kept)


def pseudo_evidence(problem, sites, theta):
    """Log density of the sites' pseudo-observations under the prior; exact rows have variance sigma^2."""
    x, exact = problem.X[0][:, 0], len(problem.rows[0])
    K = np.exp(2.0 * theta[0] - 0.5 * np.square(np.subtract.outer(x, x)) / np.exp(2.0 * theta[1]))
    variance = 1.0 / sites.lambda2
    variance[:exact] = np.exp(2.0 * theta[2])
    values = sites.lambda1 / sites.lambda2
    return multivariate_normal.logpdf(values, np.zeros(len(x)), K + np.diag(variance))


@pytest.mark.parametrize("name", ["ep", "vi", "laplace"])
def test_evidence_of_pseudo_observations(name):
    problem, made = objective(name=name)
    _, gradient = made.value_and_gradient(THETA)
    held = SitesHeld.at(made, THETA, gradient, np.zeros((3, 3)))
    sites = made.data.partitions.items[0].sites
    here, there = (held.value_and_gradient(at)[0] - held.slope @ (at - THETA) for at in (THETA, THETA + MOVED))
    want = pseudo_evidence(problem, sites, THETA + MOVED) - pseudo_evidence(problem, sites, THETA)
    assert there - here == pytest.approx(want, abs=2e-4)


def test_slopes():
    made = objective()[1]
    _, gradient = made.value_and_gradient(THETA)
    bend = np.array([[-0.3, 0.1, 0.0], [0.1, -0.2, 0.4], [0.0, 0.4, -1.0]])
    held = SitesHeld.at(made, THETA, gradient, bend)
    np.testing.assert_allclose(held.value_and_gradient(THETA)[1], gradient, atol=1e-9)
    at = THETA + MOVED
    ends = [[held.value_and_gradient(at + sign * STEP * axis)[0] for sign in (-1, 1)] for axis in np.eye(3)]
    np.testing.assert_allclose(held.value_and_gradient(at)[1], np.diff(ends)[:, 0] / (2.0 * STEP), rtol=1e-5, atol=1e-5)


def test_ascent_ends_at_the_maximum():
    """Its root is that of the curvature that differences of values show."""
    made = objective(n=60)[1]
    found = ascend_held(made, THETA, np.diag([0.3, 0.1, 0.02]) ** 2, tol=1e-6, max_iter=30)
    assert made.evaluations < 12

    def value(free):
        return made.settle_from(free, made.data).evidence

    h, axes = 0.02, np.eye(3)
    slopes = np.array([value(found.free + h * axis) - value(found.free - h * axis) for axis in axes]) / (2.0 * h)
    H = np.array(
        [
            [
                sum(s * t * value(found.free + h * (s * a + t * b)) for s in (-1, 1) for t in (-1, 1)) / (4.0 * h**2)
                for a in axes
            ]
            for b in axes
        ]
    )
    assert -0.5 * slopes @ np.linalg.solve(H, slopes) < 1e-5
    np.testing.assert_allclose(-found.root.T @ H @ found.root, np.eye(3), atol=0.1)
