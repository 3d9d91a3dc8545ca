"""Features of a Gaussian process: what they reproduce, how they pass gradients on, how inducing inputs are chosen."""

from functools import partial

import numpy as np
import pytest
from support.differences import gradient
from support.oracles import covariance
from support.problems import RADIAL, product

from tobitgp.errors import SpecError
from tobitgp.priors import kernel_block as kernel_module
from tobitgp.priors.kernel_block import FREE_FEATURES, GPPrior, KernelBlock, all_inputs, greedy_inducing
from tobitgp.priors.structure import Inputs

pytestmark = pytest.mark.diagonal

RESIDUAL = 1e-9  # the pivoted Cholesky stops at a relative 1e-10
THETA = np.log([1.7, 0.5, 0.9])


def block(name, X, Z, ard=True):
    return KernelBlock(Inputs(X), product((name, X.shape[1], ard)), Z)


@pytest.fixture
def X(rng):
    return rng.uniform(-1.0, 1.0, (30, 2))


@pytest.mark.parametrize("name", RADIAL)
def test_features_at_all_rows_are_the_prior(name, X):
    f = block(name, X, X).at(THETA).features(X)
    np.testing.assert_allclose(f.A @ f.A.T, covariance(name, X, X, THETA), rtol=0, atol=RESIDUAL * np.exp(2 * THETA[0]))
    np.testing.assert_allclose(f.d, 0.0, atol=1e-8)


@pytest.mark.parametrize("name", RADIAL)
def test_sparse_features_are_nystrom_and_keep_the_variance(name, X, rng):
    Z = rng.uniform(-1.0, 1.0, (6, 2))
    at = block(name, X, Z).at(THETA)
    f = at.features(X)
    K, K_MM = covariance(name, X, Z, THETA), covariance(name, Z, Z, THETA)
    np.testing.assert_allclose(f.A @ f.A.T, K @ np.linalg.solve(K_MM, K.T), rtol=0, atol=1e-9)
    np.testing.assert_allclose((f.A**2).sum(axis=1) + f.d, np.exp(2.0 * THETA[0]), rtol=1e-12)
    assert at.size == 6
    assert (f.d >= 0.0).all()


@pytest.mark.parametrize("name", RADIAL)
def test_repeated_inducing_inputs_count_once(name, X):
    Z = np.concatenate([X[:5], X[:5] + 1e-14])
    assert block(name, X, Z).at(THETA).size == 5


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("name", RADIAL)
def test_chain_rule(name, ard, X, rng):
    """Any function of A A' and d: here tr(W A A') + g'd with dF/dA = 2 W A."""
    W = rng.standard_normal((30, 30))
    W, g = 0.5 * (W + W.T), rng.standard_normal(30)
    model, theta = block(name, X, rng.uniform(-1.0, 1.0, (6, 2)), ard), THETA if ard else THETA[:2]
    assert model.n_parameters == len(theta)

    def value(t):
        f = model.at(t).features(X)
        return float(np.sum(W * (f.A @ f.A.T)) + g @ f.d)

    at = model.at(theta)
    f = at.features(X, slopes=True)
    whole = at.backward(X, f, 2.0 * W @ f.A, g)
    np.testing.assert_allclose(at.finish(whole), gradient(value, theta, 1e-3), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", RADIAL)
def test_backward_adds_over_rows(name, X, rng):
    at = block(name, X, X[:6]).at(THETA)
    G, g = rng.standard_normal((30, 6)), rng.standard_normal(30)

    def sums(rows):
        return at.backward(X[rows], at.features(X[rows], slopes=True), G[rows], g[rows])

    parts = [a + b for a, b in zip(sums(slice(0, 11)), sums(slice(11, 30)), strict=True)]
    for whole, added in zip(sums(slice(None)), parts, strict=True):
        np.testing.assert_allclose(whole, added, rtol=1e-12, atol=1e-12)


def trace_term(name, X, chosen, theta, weight):
    return 0.5 * weight @ block(name, X, X[chosen]).at(theta).features(X).d


@pytest.mark.parametrize("nats", [1.0, 0.01])
@pytest.mark.parametrize("name", ["rbf", "matern52", "matern32"])
def test_greedy_reaches_its_target(name, nats, rng):
    X, theta = rng.uniform(-1.7, 1.7, (150, 1)), np.log([1.0, 0.4])
    weight = rng.uniform(0.0, 50.0, 150)
    chosen, left = greedy_inducing(X, product((name, 1)), theta, weight, nats=nats, cap=150)
    assert left == pytest.approx(trace_term(name, X, chosen, theta, weight), abs=1e-6)
    assert len(set(chosen)) == len(chosen)
    assert trace_term(name, X, chosen, theta, weight) <= nats + 1e-6
    if len(chosen) > FREE_FEATURES:
        assert trace_term(name, X, chosen[:-1], theta, weight) > nats


def test_greedy_takes_the_largest_weighted_residual(X, rng):
    weight = rng.uniform(1.0, 2.0, 30)
    chosen, _ = greedy_inducing(X, product(("matern32", 2)), THETA, weight, nats=0.0, cap=8)
    K = covariance("matern32", X, X, THETA)
    for m, i in enumerate(chosen):
        S = K[np.ix_(chosen[:m], chosen[:m])]
        left = np.diag(K) - np.einsum("ij,ji->i", K[:, chosen[:m]], np.linalg.solve(S, K[chosen[:m]]))
        assert (weight * left)[i] == pytest.approx((weight * left).max(), rel=1e-9)


def test_greedy_takes_the_same_places_whatever_the_order_of_rows(rng):
    X, weight, order = rng.uniform(size=(40, 2)), rng.choice([1.0, 2.0], 40), rng.permutation(40)
    choose = partial(greedy_inducing, covariance=product(("matern32", 2)), theta=THETA, nats=0.0, cap=8)
    chosen, left = choose(X, weight=weight)
    again, left_again = choose(X[order], weight=weight[order])
    np.testing.assert_array_equal(X[order][again], X[chosen])
    assert left_again == pytest.approx(left, rel=1e-12)


@pytest.mark.parametrize("cap", [1, 5, 40])
def test_greedy_stops_at_its_cap(cap, rng):
    X = rng.uniform(size=(100, 2))
    assert len(greedy_inducing(X, product(("matern12", 2)), THETA, np.ones(100), nats=0.0, cap=cap)[0]) == cap


def test_greedy_stops_where_the_prior_is_exact():
    X = np.repeat(np.linspace(0.0, 1.0, 7), 10)[:, None]
    assert len(greedy_inducing(X, product(("matern12", 1)), THETA[:2], np.ones(70), nats=0.0, cap=70)[0]) == 7
    one, _ = greedy_inducing(np.zeros((4, 1)), product(("rbf", 1)), THETA[:2], np.ones(4), nats=9.0, cap=4)
    assert one.tolist() == [0]


@pytest.mark.parametrize(("inducing", "size"), [(None, 30), (7, 7), (np.zeros((3, 2)), 3)])
def test_choice_of_inducing_inputs(X, inducing, size):
    chosen = GPPrior(Inputs(X), product(("matern32", 2)), inducing).low_rank(THETA, np.ones(30), nats=0.01, cap=9)[0]
    assert len(chosen.Z) == size


def test_automatic_choice_obeys_the_cap(X):
    prior = GPPrior(Inputs(X), product(("matern12", 2)), "auto")
    assert len(prior.low_rank(THETA, np.full(30, 100.0), nats=0.0, cap=9)[0].Z) == 9
    assert prior.subset(np.array([3, 5])).inputs.X.tolist() == X[[3, 5]].tolist()


def test_all_inputs_are_distinct_and_limited(X, monkeypatch):
    assert len(all_inputs(np.concatenate([X, X]))) == 30
    monkeypatch.setattr(kernel_module, "DENSE_LIMIT", 29)
    with pytest.raises(SpecError, match="30 x 30"):
        all_inputs(X)
