"""Low-rank, dense, Markov and Vecchia priors are one prior where none leaves anything out."""

import numpy as np
import pytest
from support.distributions import DISTRIBUTIONS
from support.problems import CENSORING, GAUSSIAN, VARIANTS, dense, gp, make_problem, predict, simulate, solve, tight
from support.problems import marginals as moments
from support.structures import Dense, in_structure

from tobitgp.inference.evidence import evidence_gradient, explained
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.priors.markov import Markov
from tobitgp.priors.structure import Inputs
from tobitgp.priors.vecchia import Vecchia

pytestmark = pytest.mark.diagonal


def whole_vecchia(inputs, terms):
    """Each knot knows all before it."""
    return Vecchia(inputs, terms[0], len(inputs.X) - 1, np.ones(inputs.X.shape[1]))


STRUCTURES = {"dense": Dense, "markov": Markov, "vecchia": whole_vecchia}
N = 24
THETA = [0.2, -0.6]


def with_columns(censoring, seed=3):
    """Rows with ties, weights and two linear columns, in an order of their own."""
    data, rng = simulate(censoring, N, seed=seed), np.random.default_rng(seed)
    X = data.X.copy()
    X[3] = X[2]
    H, order = np.column_stack([np.ones(N), rng.standard_normal(N)]), rng.permutation(N)
    weight = np.linspace(1.0, 2.5, N)
    return make_problem(X[order], data.lower[order], data.upper[order], weight, H)


def both(problem, make, kernel, theta, method, likelihood=GAUSSIAN):
    """Posteriors of the features of all inputs, and of the structure."""
    blocks = [dense(problem), gp(problem, kernel)], [dense(problem), *in_structure(problem, make, (kernel,))]
    return [solve(problem, own, theta, method, likelihood=likelihood) for own in blocks]


def agree(problem, method, pair, likelihood=GAUSSIAN, near=1e-7):
    usual, other = pair
    assert usual.converged
    assert other.converged
    assert other.evidence == pytest.approx(usual.evidence, abs=near)
    np.testing.assert_allclose(moments(other, problem), moments(usual, problem), rtol=0, atol=near)
    slopes = [evidence_gradient(posterior, method) for posterior in pair]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=0, atol=20.0 * near)
    np.testing.assert_allclose(explained(other, likelihood), explained(usual, likelihood), rtol=0, atol=near)


@pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("censoring", CENSORING)
@pytest.mark.parametrize("name", VARIANTS)
def test_methods_and_kinds_of_rows(name, censoring, make):
    problem, method = with_columns(censoring), tight(name)
    agree(problem, method, both(problem, make, "matern32", np.array([*THETA, -1.0]), method))


@pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
def test_kernels(kernel, make):
    problem, method = with_columns("mixed"), tight("ep")
    usual, other = both(problem, make, kernel, np.array([*THETA, -1.0]), method)
    agree(problem, method, (usual, other))
    new = [Inputs(np.ones((7, 2))), Inputs(np.linspace(-2.5, 2.5, 7)[:, None])]
    np.testing.assert_allclose(predict(other, *new), predict(usual, *new), rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ["ep", "vi", "laplace"])
def test_noises(name, noise, make):
    distribution = DISTRIBUTIONS[noise]
    if distribution.gaussian:
        pytest.skip("above")
    likelihood, method = NoiseLikelihood(distribution), tight(name, 1e-9)
    problem = with_columns("two-sided")
    agree(problem, method, both(problem, make, "matern32", np.array([*THETA, -1.0]), method, likelihood), likelihood)
