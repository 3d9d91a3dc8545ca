"""Vecchia's approximation: the dense prior where every earlier knot is a neighbour, and itself where not."""

import numpy as np
import pytest
from support.differences import gradient
from support.problems import product

from tobitgp.errors import NumericalError
from tobitgp.priors import vecchia as module
from tobitgp.priors.structure import Inputs
from tobitgp.priors.vecchia import NUGGET, Vecchia

N = 120  # more than a front has where it is not divided
CASES = {
    "matern12": (product(("matern12", 2)), [0.3, -0.9, -0.4]),
    "matern32, one length-scale": (product(("matern32", 3, False)), [0.3, -0.9]),
    "matern52": (product(("matern52", 3)), [0.3, -0.9, -0.5, 0.1]),
    "rbf": (product(("rbf", 2)), [0.3, -1.6, -1.4]),
    "rq": (product(("rq", 2, False)), [0.3, -0.9, 0.2]),
    "matern12 times periodic": (product(("matern12", 1), ("periodic", 1)), [0.3, -0.9, 0.1, 0.2]),
    "matern12 times linear": (product(("matern12", 1), ("linear", 1)), [0.3, -0.9]),
}


def knots(covariance, rng, n=N):
    return Inputs(rng.uniform(-1.0, 1.0, (n, covariance.factors[-1].columns.stop)))


def made(inputs, covariance, neighbours=10):
    return Vecchia(inputs, covariance, neighbours, np.linspace(0.4, 0.6, inputs.X.shape[1]))


def dense(inputs, covariance, theta, nugget=NUGGET):
    """Prior covariance of the knots, groups apart."""
    C = covariance.value(inputs.X, inputs.X, np.exp(theta[1:])) + nugget * np.eye(len(inputs.X))
    K = np.exp(2.0 * theta[0]) * C
    return K if inputs.code is None else K * np.equal.outer(inputs.code, inputs.code)


def posterior(K, lambda2):
    return K @ np.linalg.inv(np.eye(len(K)) + lambda2[:, None] * K)


@pytest.fixture(params=CASES)
def case(request, rng):
    covariance, theta = CASES[request.param]
    return knots(covariance, rng), covariance, np.array(theta)


@pytest.fixture
def sites(rng):
    return rng.uniform(0.0, 9.0, N), rng.standard_normal((N, 3)), np.array([1.0, -1.0, 1.0])


def exponential(rng, n=N, code=None):
    covariance = product(("matern12", 2))
    return Inputs(rng.uniform(size=(n, 2)), code), covariance, np.array([0.2, -1.5, -1.2])


def check_against_dense(inputs, covariance, theta, sites, neighbours, lost=1e-7):
    lambda2, U, signs = sites
    conditioned = made(inputs, covariance, neighbours).at([theta]).condition(lambda2)
    K = dense(inputs, covariance, theta)
    V = posterior(K, lambda2)
    np.testing.assert_allclose(conditioned.log_det, np.linalg.slogdet(np.eye(N) + lambda2 * K)[1], rtol=lost)
    np.testing.assert_allclose(conditioned.variance, np.diag(V), rtol=lost)
    np.testing.assert_allclose(conditioned.solve(U), V @ U, rtol=0, atol=lost)
    X, R = U - lambda2[:, None] * (V @ U), np.diag(lambda2) - lambda2[:, None] * V * lambda2

    def quadratic(t):
        D = dense(inputs, covariance, t)
        return 0.5 * float(signs @ np.einsum("nk,nk->k", X, D @ X) - np.sum(R * D))

    found = conditioned.gradient(U, signs)
    np.testing.assert_allclose(found, gradient(quadratic, theta, 1e-3), rtol=10.0 * lost, atol=10.0 * lost)


def test_with_all_neighbours_it_is_the_dense_prior(case, sites):
    inputs, covariance, theta = case
    check_against_dense(inputs, covariance, theta, sites, N - 1)


@pytest.mark.parametrize("neighbours", [60, N - 1])
def test_groups_are_independent(neighbours, rng, sites):
    """Neighbours may be more than a group of 40 has."""
    check_against_dense(*exponential(rng, code=np.arange(N) % 3), sites, neighbours)


def test_knots_close_together(rng, sites):
    inputs, covariance, theta = exponential(rng)
    inputs.X[N // 2 :] = inputs.X[: N // 2] + 1e-9
    check_against_dense(inputs, covariance, theta, sites, N - 1, 1e-6)
    smooth = product(("matern52", 2))
    few = made(inputs, smooth).at([theta]).condition(sites[0])
    assert np.isfinite(few.gradient(*sites[1:])).all()
    np.testing.assert_allclose(few.variance[N // 2 :], few.variance[: N // 2], rtol=1e-6)


def test_gradient_is_that_of_its_own_covariance(case, sites):
    """At sites that stay, of ``1/2 sum_j signs_j u_j' V0 u_j - 1/2 log |I + K Lambda|``."""
    inputs, covariance, theta = case
    lambda2, U, signs = sites
    structure = made(inputs, covariance, 6)

    def value(t):
        conditioned = structure.at([t]).condition(lambda2)
        return 0.5 * float(signs @ np.einsum("nk,nk->k", U, conditioned.solve(U)) - conditioned.log_det)

    conditioned = structure.at([theta]).condition(lambda2)
    np.testing.assert_allclose(conditioned.gradient(U, signs), gradient(value, theta, 1e-3), rtol=1e-6, atol=1e-6)

    def trace(t):
        return -0.5 * structure.at([t]).condition(lambda2).log_det

    alone = conditioned.gradient(U[:, :0], signs[:0])
    np.testing.assert_allclose(alone, gradient(trace, theta, 1e-3), rtol=1e-6, atol=1e-6)


def test_order_of_the_rows_is_of_no_account(rng, sites):
    inputs, covariance, theta = exponential(rng, code=rng.integers(0, 2, N))
    lambda2, U, signs = sites
    new, by = Inputs(rng.uniform(size=(7, 2)), rng.integers(0, 2, 7)), rng.permutation(N)
    first = made(inputs, covariance, 5).at([theta]).condition(lambda2)
    other = made(inputs.rows(by), covariance, 5).at([theta]).condition(lambda2[by])
    assert other.log_det == first.log_det
    np.testing.assert_array_equal(other.variance, first.variance[by])
    np.testing.assert_array_equal(other.solve(U[by]), first.solve(U)[by])
    np.testing.assert_array_equal(other.gradient(U[by], signs), first.gradient(U, signs))
    for got, want in zip(other.smooth(U[by]).at(new), first.smooth(U).at(new), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_negative_precisions(rng, sites):
    inputs, covariance, theta = exponential(rng)
    lambda2, U, signs = sites
    lambda2[:5] = -0.05
    check_against_dense(inputs, covariance, theta, (lambda2, U, signs), N - 1)
    lambda2[:5] = -2.0
    with pytest.raises(NumericalError, match="not positive definite"):
        made(inputs, covariance).at([theta]).condition(lambda2)


def test_without_sites_the_prior_is_left(case):
    inputs, covariance, theta = case
    assert made(inputs, covariance).at([theta]).condition(np.zeros(N)).log_det == pytest.approx(0.0, abs=1e-5)
    all_neighbours = made(inputs, covariance, N - 1).at([theta]).condition(np.zeros(N))
    np.testing.assert_allclose(all_neighbours.variance, np.diag(dense(inputs, covariance, theta)), rtol=1e-5)


def test_new_places_are_those_of_dense_kriging(rng, case):
    _, covariance, theta = case
    n = 50
    inputs = knots(covariance, rng, n)._replace(code=np.repeat([0, 2], [30, 20]))
    lambda2, U = rng.uniform(0.0, 9.0, n), rng.standard_normal((n, 2))
    new = Inputs(rng.uniform(-1.2, 1.2, (9, inputs.X.shape[1])), np.array([0, 0, 0, 2, 2, 2, -1, -1, 1]))
    new.X[0] = inputs.X[3]
    mean, variance = made(inputs, covariance, n).at([theta]).condition(lambda2).smooth(U).at(new, [0])
    K = dense(inputs, covariance, theta)
    C = np.exp(2.0 * theta[0]) * covariance.value(new.X, inputs.X, np.exp(theta[1:]))
    C *= np.equal.outer(new.code, inputs.code)
    W = C @ np.linalg.inv(np.eye(n) + lambda2[:, None] * K)
    prior = np.exp(2.0 * theta[0]) * covariance.diagonal(new.X)
    np.testing.assert_allclose(mean, W @ U, atol=1e-9)
    np.testing.assert_allclose(variance, prior - np.einsum("nk,nk->n", W, C * lambda2), atol=1e-9)
    assert (mean[6:] == 0.0).all()
    np.testing.assert_array_equal(variance[6:], prior[6:])


def test_a_new_place_is_as_a_further_knot(rng):
    """Each alone, for of several further knots the later ones know the earlier."""
    inputs, covariance, theta = exponential(rng, 400, np.arange(400) % 2)
    lambda2, U = rng.uniform(0.0, 9.0, 400), rng.standard_normal((400, 2))
    base, new = made(inputs, covariance, 8), Inputs(rng.uniform(size=(6, 2)), np.arange(6) % 2)
    mean, variance = base.at([theta]).condition(lambda2).smooth(U).at(new)
    for i in range(6):
        padded = base.extended(new.rows([i])).at([theta]).condition(np.append(lambda2, 0.0))
        np.testing.assert_allclose(padded.solve(np.append(U, [[0.0, 0.0]], axis=0))[-1], mean[i], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(padded.variance[-1], variance[i], rtol=1e-8)


@pytest.mark.filterwarnings("ignore:overflow")
def test_the_farthest_places_have_the_prior(rng):
    """Where squares of distances overflow too."""
    inputs, covariance, theta = exponential(rng)
    smoothed = made(inputs, covariance).at([theta]).condition(np.ones(N)).smooth(np.ones((N, 1)))
    mean, variance = smoothed.at(Inputs(np.array([[1e160, 0.0], [1e300, 1.0]])))
    assert (mean == 0.0).all()
    np.testing.assert_allclose(variance, np.exp(2.0 * theta[0]))


def test_on_a_knot_a_new_place_is_that_knot(rng):
    inputs, covariance, theta = exponential(rng, 400)
    lambda2, U = rng.uniform(0.0, 9.0, 400), rng.standard_normal((400, 1))
    conditioned = made(inputs, covariance).at([theta]).condition(lambda2)
    mean, variance = conditioned.smooth(U).at(inputs.rows(slice(0, 90)))
    np.testing.assert_allclose(mean, conditioned.solve(U)[:90], rtol=1e-7)
    np.testing.assert_allclose(variance, conditioned.variance[:90], rtol=1e-7)


def test_draws_have_the_covariance_of_the_prior(rng):
    inputs, covariance, theta = exponential(rng, 12, np.arange(12) % 2)
    found = np.cov(made(inputs, covariance, 11).at([theta]).draw(40_000, rng))
    np.testing.assert_allclose(found, dense(inputs, covariance, theta), atol=0.06)


def test_many_neighbours_tell_more_than_few(rng):
    inputs, covariance, theta = exponential(rng, 300)
    lambda2 = np.full(300, 5.0)
    want = np.linalg.slogdet(np.eye(300) + lambda2 * dense(inputs, covariance, theta))[1]
    errors = [abs(made(inputs, covariance, m).at([theta]).condition(lambda2).log_det - want) for m in (2, 5, 20)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05


def test_further_knots_come_last(rng):
    code = np.arange(60) % 2
    inputs, covariance, theta = exponential(rng, 60, code)
    further = Inputs(rng.uniform(size=(25, 2)), np.arange(25) % 3 - 1)
    base = made(inputs, covariance, 5)
    both = base.extended(further)
    np.testing.assert_array_equal(both.inputs.X, np.concatenate([inputs.X, further.X]))
    np.testing.assert_array_equal(both.graph.order[:60], base.graph.order)
    np.testing.assert_array_equal(both.graph.near[:60], base.graph.near)
    assert sorted(both.graph.order[60:]) == list(range(60, 85))
    groups = both.inputs.code[both.graph.order]
    there = both.graph.near >= 0
    assert (both.graph.near < np.arange(85)[:, None]).all()
    assert (groups[both.graph.near] == groups[:, None])[there].all()
    assert there[60:][groups[60:] >= 0].all()
    lambda2, U = rng.uniform(0.0, 9.0, 60), rng.standard_normal((60, 2))
    alone = base.at([theta]).condition(lambda2)
    padded = both.at([theta]).condition(np.append(lambda2, np.zeros(25)))
    np.testing.assert_allclose(padded.log_det, alone.log_det, rtol=1e-10)
    np.testing.assert_allclose(padded.variance[:60], alone.variance, rtol=1e-9)
    np.testing.assert_allclose(padded.solve(np.pad(U, ((0, 25), (0, 0))))[:60], alone.solve(U), atol=1e-10)


def test_maximin_order(rng):
    X = rng.uniform(size=(50, 2))
    order = module._spread(X)
    gaps = [np.linalg.norm(X[order[:i], None] - X[order[i:]], axis=-1).min(axis=0) for i in range(1, 50)]
    assert all(gap[0] == gap.max() for gap in gaps)
    assert sorted(module._spread(1e-200 * X)) == list(range(50))


def test_neighbours_are_the_nearest_earlier_ones(rng):
    X = rng.uniform(size=(700, 2))
    near = module._nearest_earlier(X, 7, 0)
    for i in (0, 1, 5, 7, 8, 60, 400, 699):
        want = np.argsort(np.linalg.norm(X[:i] - X[i], axis=1))[:7]
        assert sorted(near[i][near[i] >= 0]) == sorted(want)


def test_order_of_many_knots_is_random_but_the_same(rng, monkeypatch):
    monkeypatch.setattr(module, "MANY", 30)
    inputs, covariance, _ = exponential(rng)
    by = rng.permutation(N)
    first, other = made(inputs, covariance).graph, made(inputs.rows(by), covariance).graph
    np.testing.assert_array_equal(by[other.order], first.order)


def test_inputs_whose_distances_are_no_numbers_have_fewer_neighbours():
    X = np.array([[0.0], [1.0], [2.0], [1e308], [-1e308]])
    near = module._nearest_earlier(X, 2, 1)
    assert near[:3].tolist() == [[-1, -1], [0, -1], [1, 0]]
    assert (near < np.arange(5)[:, None]).all()


def test_processes_with_the_same_shape_of_length_scales_share_their_graph(rng):
    """Length-scales in the same proportion leave the order and the neighbours as they are."""
    inputs, covariance, _ = exponential(rng)
    one, same, other = (Vecchia(inputs, covariance, 10, np.array(s)) for s in ([0.4, 0.6], [0.8, 1.2], [0.4, 0.8]))
    assert one.graph is same.graph
    assert one.graph is not other.graph
    assert (one.graph.near != other.graph.near).any()
