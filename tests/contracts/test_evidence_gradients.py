"""Evidence gradients of every method, kernel and structure of blocks against fourth-order differences."""

import numpy as np
import pytest
from support.blocks import STRUCTURES, WEIGHT, one
from support.differences import gradient
from support.distributions import DISTRIBUTIONS
from support.problems import (
    GAUSSIAN,
    RADIAL,
    VARIANTS,
    dense,
    gp,
    make_problem,
    simulate,
    solve,
    tight,
    with_instrument,
)

from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.inference import METHODS, EPUpdates, VIUpdates
from tobitgp.inference.evidence import evidence_gradient
from tobitgp.likelihoods.censoring_noise import SideNoise
from tobitgp.likelihoods.noise import NoiseLikelihood

pytestmark = pytest.mark.diagonal

STEP = 2e-3  # h^4 = 2e-11 against site changes of 1e-10 over h
NEAR = 5e-8  # seen: 2e-9
SIGMA = np.log(0.4)


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient(name, kernel, structure):
    problem, blocks, prior = STRUCTURES[structure](kernel)
    method, theta = tight(name), np.array([*prior, SIGMA])
    centre = solve(problem, blocks, theta, method)
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method, centre.sites).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=NEAR, atol=NEAR)


SIDED = SideNoise((-1.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["one", "left", "mixed", "weighted", "sparse, mixed, weighted", "grouped"])
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_with_side_noises(name, structure):
    """Every method under the noise of Basson et al., Eqs. 10 and 11; a side without rows has no slope."""
    problem, blocks, prior = STRUCTURES[structure]("matern52")
    method, theta = tight(name), np.array([*prior, np.log(0.3), np.log(0.6), SIGMA])
    centre = solve(problem, blocks, theta, method, None, SIDED)
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method, centre.sites, SIDED).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=NEAR, atol=NEAR)
    assert (got[-2] == 0.0) == (structure == "left")


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_with_a_side_noise_for_each_row(name):
    problem, blocks, prior = STRUCTURES["mixed"]("matern52")
    problem = problem.number_sides()
    signs = np.concatenate([rows.sign for rows in problem.rows if rows.kind == "one-sided"])
    extra = np.linspace(-1.0, 0.5, len(signs))
    method, theta, noise = tight(name), np.array([*prior, *extra, SIGMA]), SideNoise(tuple(signs))
    centre = solve(problem, blocks, theta, method, None, noise)
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method, centre.sites, noise).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=NEAR, atol=NEAR)
    assert len(got) == len(prior) + len(signs) + 1


@pytest.mark.slow
def test_gradient_of_what_is_no_bound():
    """Karlova et al.'s objective is never maximised over hyper-parameters, yet its slopes are its own."""
    problem, blocks, prior = one("matern52")
    limits = next(rows.limit for rows in problem.rows if rows.kind == "one-sided")
    problem = with_instrument(problem, limits.min(), limits.max())
    method, theta = VIUpdates(bound="karlova", tol=1e-10, max_iterations=2000), np.array([*prior, SIGMA])
    centre = solve(problem, blocks, theta, method)
    assert centre.converged
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


# Noise under a process: the distribution by quadrature, parameters it has before log sigma, and a window of the rows.
NOISES = {
    "logistic": (NoiseLikelihood(DISTRIBUTIONS["logistic"]), [], None),
    "gumbel": (NoiseLikelihood(DISTRIBUTIONS["gumbel"]), [], None),
    "student": (NoiseLikelihood(StudentNoise(4.0)), [], None),
    "student, df free": (NoiseLikelihood(StudentNoise(), free_shape=True), [np.log(2.5)], None),
    "gaussian, entered": (GAUSSIAN, [], (-1.2, np.inf)),
    "logistic in a window": (NoiseLikelihood(DISTRIBUTIONS["logistic"]), [], (-1.6, 1.9)),
}


def contaminated(window, weight):
    """Every kind of row, and two values that only long tails explain."""
    data = simulate("mixed", n=12, seed=1, noise=0.4)
    lower, upper = data.lower.copy(), data.upper.copy()
    if window is None:
        exact = np.flatnonzero(lower == upper)[:2]
        lower[exact] = upper[exact] = [6.0, -5.0][: len(exact)]
    else:
        lower, upper = np.maximum(lower, window[0] + 0.01), np.minimum(np.maximum(upper, window[0] + 0.02), window[1])
    H = np.column_stack([np.ones(12), np.cos(np.arange(12))])
    problem = make_problem(data.X, lower, upper, weight, H, window=window)
    return problem, [dense(problem), gp(problem, "matern52")]


@pytest.mark.parametrize(
    "weight", [pytest.param(None, id="plain"), pytest.param(WEIGHT, id="weighted", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_under_other_noise(name, noise, weight):
    likelihood, parameters, window = NOISES[noise]
    if VARIANTS[name].traits.gaussian_only and likelihood is not GAUSSIAN:
        pytest.skip("rests on Gaussian noise")
    problem, blocks = contaminated(window, weight)
    method, theta = tight(name), np.array([0.1, -0.5, *parameters, SIGMA])
    centre = solve(problem, blocks, theta, method, None, likelihood)
    assert centre.converged
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method, centre.sites, likelihood).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("name", METHODS)
def test_outliers_may_widen_the_posterior(name):
    """Sites of negative precision are kept where they leave a posterior."""
    likelihood, parameters, _ = NOISES["student, df free"]
    problem, blocks = contaminated(None, None)
    posterior = solve(problem, blocks, np.array([0.1, -0.5, *parameters, SIGMA]), tight(name), None, likelihood)
    assert posterior.converged
    assert posterior.sites.lambda2.min() < 0.0


def test_sites_are_floored_where_cavities_have_no_variance():
    """Isolated neighbours that contradict one another leave EP no posterior; floored sites still settle."""
    X = np.repeat(np.linspace(-1.7, 1.7, 8), 3)[:, None]
    y = np.tile([0.0, 0.9, -1.2], 8) + 0.01 * np.arange(24)
    problem = make_problem(X, y, y)
    likelihood, theta = NoiseLikelihood(StudentNoise(1.5)), np.log([1.0, 0.05, 0.12])
    blocks = [gp(problem, "matern32", Z=X[::3])]
    plain = solve(problem, blocks, theta, EPUpdates(tol=1e-8), None, likelihood)
    assert plain.converged
    assert np.isfinite(plain.evidence)
