"""Elimination along a chain against the dense precision of its states."""

import numpy as np
import pytest

from tobitgp.errors import NumericalError
from tobitgp.numerics.chain import FEW, Chain, halving, inverse_beside_identity

SIZES = [1, 2, 3, 5, FEW - 1, FEW, FEW + 1, 2 * FEW + 3]


def transitions(S, n, rng):
    """Stable transitions and covariances, (n, S, S), from zero."""
    Phi = 0.5 * rng.standard_normal((n, S, S)) / np.sqrt(S)
    root = rng.standard_normal((n, S, S))
    return Phi, root @ root.swapaxes(1, 2) / S


def covariance(Phi, C):
    """Covariance (n S, n S) of all states."""
    n, S = Phi.shape[:2]
    T = np.eye(n * S)
    for i in range(1, n):
        T[i * S : (i + 1) * S] += Phi[i] @ T[(i - 1) * S : i * S]
    noise = np.zeros((n * S, n * S))
    for i in range(n):
        noise[i * S : (i + 1) * S, i * S : (i + 1) * S] = C[i]
    return T @ noise @ T.T


def chain_of(Phi, C, h):
    layout = halving(len(Phi))
    held = np.zeros((2, *Phi.shape[1:], layout.size))
    held[0][..., layout.at], held[1][..., layout.at] = np.moveaxis(Phi, 0, 2), np.moveaxis(C, 0, 2)
    return Chain(*held, h, layout.pairs), layout


def placed(values, layout):
    held = np.zeros((*values.shape[:-1], layout.size))
    held[..., layout.at] = values
    return held


@pytest.mark.parametrize("n", [*SIZES, 1000, 4096])
def test_every_element_has_a_place_and_every_knot_is_in_the_middle_of_one_pair(n):
    layout = halving(n)
    assert len(np.unique(layout.at)) == n
    times = np.zeros(layout.size, dtype=int)
    for pair in layout.pairs:
        times[pair.middle] += 1
    assert (times[layout.at] == 1).all()
    assert times.max() == 1
    assert layout.size <= (1.0 + 2.0 / FEW) * n + 1


@pytest.mark.parametrize("S", [1, 2, 3, 4, 5])
def test_inverses_beside_the_identity(S, rng):
    C, J = (np.einsum("ijn,kjn->ikn", X, X) for X in rng.standard_normal((2, S, S, 7)))
    M = np.eye(S) + np.moveaxis(C, 2, 0) @ np.moveaxis(J, 2, 0)
    found, det = inverse_beside_identity(C, J)
    np.testing.assert_allclose(np.moveaxis(found, 2, 0), np.linalg.inv(M), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(det, np.linalg.det(M), rtol=1e-10)


@pytest.mark.parametrize("h", [(0,), (1,), (0, 2), (0, 1, 3)])
@pytest.mark.parametrize("n", SIZES)
def test_moments_are_those_of_the_dense_posterior(n, h, rng):
    S = max(h) + 1
    Phi, C = transitions(S, n, rng)
    read = np.kron(np.eye(n), np.isin(np.arange(S), h))
    K = read @ covariance(Phi, C) @ read.T
    lambda2, lambda1 = rng.uniform(0.0, 20.0, n), rng.standard_normal((3, n))
    V = K @ np.linalg.inv(np.eye(n) + lambda2[:, None] * K)
    chain, layout = chain_of(Phi, C, h)
    found = chain.condition(placed(lambda2, layout))
    assert found.log_det == pytest.approx(np.linalg.slogdet(np.eye(n) + lambda2[:, None] * K)[1], abs=1e-11)
    np.testing.assert_allclose(found.variance[layout.at], V.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(found.solve(placed(lambda1, layout))[:, layout.at], lambda1 @ V.T, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
def test_weights_are_slopes_in_every_transition(n, rng):
    """Against differences of ``1/2 sum signs x'Kx - 1/2 log|I + K Lambda|`` with x held."""
    h, S = (0, 2), 3
    Phi, C = transitions(S, n, rng)
    read = np.kron(np.eye(n), np.isin(np.arange(S), h))
    lambda2, lambda1, signs = rng.uniform(0.0, 20.0, n), rng.standard_normal((2, n)), np.array([1.0, -1.0])
    chain, layout = chain_of(Phi, C, h)
    X, W = chain.condition(placed(lambda2, layout)).weights(placed(lambda1, layout), signs)
    K = read @ covariance(Phi, C) @ read.T
    x = np.linalg.solve(np.eye(n) + lambda2[:, None] * K, lambda1.T)

    def value(Phi, C):
        K = read @ covariance(Phi, C) @ read.T
        squares = np.einsum("nj,nm,mj,j->", x, K, x, signs)
        return 0.5 * squares - 0.5 * np.linalg.slogdet(np.eye(n) + lambda2[:, None] * K)[1]

    dPhi, dC = rng.standard_normal((2, n, S, S))
    dPhi[0], dC = 0.0, dC + dC.swapaxes(1, 2)
    step = 1e-5
    slope = (value(Phi + step * dPhi, C + step * dC) - value(Phi - step * dPhi, C - step * dC)) / (2.0 * step)
    at = layout.at
    found = np.einsum("ijn,nij->", X[..., at], dPhi) + 0.5 * np.einsum("ijn,nij->", W[..., at], dC)
    assert found == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_draws_have_the_covariance_of_the_chain(rng):
    n, draws = 6, 40000
    Phi, C = transitions(2, n, rng)
    C[3] = 0.0
    chain, layout = chain_of(Phi, C, (0, 1))
    f = chain.draw(draws, rng)[:, layout.at]
    read = np.kron(np.eye(n), np.ones(2))
    K = read @ covariance(Phi, C) @ read.T
    error = np.sqrt((K**2 + np.outer(K.diagonal(), K.diagonal())) / draws)
    assert (np.abs(f.T @ f / draws - K) < 4.5 * error).all()


def test_negative_precisions_count_until_they_outweigh_the_prior(rng):
    Phi, C = transitions(2, 5, rng)
    read = np.kron(np.eye(5), [1.0, 0.0])
    K = read @ covariance(Phi, C) @ read.T
    chain, layout = chain_of(Phi, C, (0,))
    lambda2 = np.full(5, -0.9 / np.linalg.eigvalsh(K)[-1])
    V = np.linalg.inv(np.linalg.inv(K) + np.diag(lambda2))
    np.testing.assert_allclose(chain.condition(placed(lambda2, layout)).variance[layout.at], V.diagonal(), rtol=1e-10)
    with pytest.raises(NumericalError, match="outweigh the prior"):
        chain.condition(placed(2.0 * lambda2, layout))
