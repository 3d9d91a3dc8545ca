"""The arrow algebra against dense matrices."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tobitgp.errors import NumericalError
from tobitgp.numerics import crossed
from tobitgp.numerics.arrow import Loadings, OwnColumns, Slope, SpreadColumns, identity, multiply
from tobitgp.numerics.bordered import dense as dense_of
from tobitgp.numerics.crossed import factorise

CLOSE = 1e-11
# Common columns, own ones of each of so many groups, entries in spread columns and their number.
SHAPES = [
    (3, 0, 0, 0, 0),
    (3, 1, 4, 0, 0),
    (2, 3, 5, 0, 0),
    (0, 1, 4, 0, 0),
    (0, 2, 3, 0, 0),
    (4, 2, 1, 0, 0),
    (2, 1, 6, 1, 4),
    (0, 2, 4, 3, 7),
    (3, 3, 2, 2, 5),
]


def loadings(p, m, size, r, k, rng, n=23):
    own = OwnColumns(rng.standard_normal((n, m)), rng.integers(0, size, n), size) if size else None
    at = np.array([rng.permutation(k)[:r] for _ in range(n)]) if r else None
    spread = SpreadColumns(rng.standard_normal((n, r)), at, k) if r else None
    return Loadings(rng.standard_normal((n, p)), own, spread)


def written_out(A):
    """All columns, zeros included."""
    n, parts = len(A), [A.common]
    if A.spread is not None:
        parts.append(np.zeros((n, A.spread.size)))
        np.put_along_axis(parts[-1], A.spread.at, A.spread.A, axis=1)
    if A.own is not None:
        wide = np.zeros((n, A.own.size, A.own.A.shape[1]))
        wide[np.arange(n), A.own.code] = A.own.A
        parts.append(wide.reshape(n, -1))
    return np.concatenate(parts, axis=1)


def eye(p, m, size, r, k):
    return identity(p + k, m, size, sparse=r > 0)


@pytest.fixture(params=SHAPES, ids=str)
def case(request, rng):
    A, scale = loadings(*request.param, rng), rng.uniform(0.5, 2.0, 23)
    B = tuple(a + b for a, b in zip(eye(*request.param), A.gram(scale), strict=True))
    dense = written_out(A)
    return A, B, dense, np.eye(dense.shape[1]) + dense.T @ (scale[:, None] * dense)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=CLOSE, atol=CLOSE)


def test_loadings(case, rng):
    A, _, dense, _ = case
    w, v = rng.standard_normal(dense.shape[1]), rng.standard_normal(len(dense))
    close(A.times(w), dense @ w)
    close(A.times(np.outer(w, [1.0, -2.0])), np.outer(dense @ w, [1.0, -2.0]))
    close(A.adjoint(v), dense.T @ v)


def test_some_columns(case, rng):
    A, _, dense, _ = case
    at = rng.permutation(dense.shape[1])[:3]
    found = A.columns(at)
    close(found if isinstance(found, np.ndarray) else found.toarray(), dense[:, at])


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[2]], ids=str)
def test_covariance_of_sums_that_hold_a_weight_of_each_group(shape, rng):
    """One sum for each group's last weight, which that of the first group is part of; a common one; one of both."""
    A, m, size = loadings(*shape, rng), shape[1], shape[2]
    B = tuple(a + b for a, b in zip(eye(*shape), A.gram(np.ones(23)), strict=True))
    dense, p = written_out(A), A.p
    R = np.zeros((p + m * size, size + 2))
    R[p + m - 1 + m * np.arange(size), np.arange(size)] = rng.uniform(1.0, 2.0, size)
    R[p : p + m, : size + 1] += rng.standard_normal((m, size + 1))
    R[:p] += rng.standard_normal((p, size + 2))
    own = np.arange(size + 2) < size
    found = factorise(B).covariance_of_sums(csr_matrix(R), own)
    close(dense_of(found), R.T @ np.linalg.solve(np.eye(len(R)) + dense.T @ dense, R))
    assert not found.own[size:].any()
    assert found.root.shape[1] <= p + m * 2


def test_multiply(case, rng):
    _, B, _, full = case
    w = rng.standard_normal(len(full))
    close(multiply(B, w), full @ w)


def test_solutions(case, rng):
    _, B, _, full = case
    factor, r = factorise(B), rng.standard_normal(len(full))
    assert factor.size == len(full)
    close(factor.solve(r), np.linalg.solve(full, r))
    close(factor.log_det(), np.linalg.slogdet(full)[1])
    close(factor.whiten(r) @ factor.whiten(r), r @ np.linalg.solve(full, r))
    root = factor.colour(np.eye(len(full)))
    close(root @ root.T, np.linalg.inv(full))
    close(factor.whiten(full), root.T @ full)


def test_rows(case, rng):
    A, B, dense, full = case
    factor = factorise(B)
    own = (A.own.A.shape[1], A.own.size) if A.own else (0, 0)
    spread = (A.spread.A.shape[1], A.spread.size) if A.spread else (0, 0)
    other = loadings(A.common.shape[1], *own, *spread, rng)
    V = written_out(other) @ np.linalg.solve(full, written_out(other).T)
    close(factor.covariance(other), V)
    close(factor.variance(other), np.diag(V))
    smooth = dense @ np.linalg.inv(full)
    variance, begun = factor.begin(A)
    close(variance, np.einsum("ij,ij->i", smooth, dense))
    first, p = A.common.shape[1], A.p
    for found in (factor.smooth(A), factor.smooth(A, begun)):
        close(found.common, smooth[:, :first])
        if A.own is not None:
            m = A.own.A.shape[1]
            close(found.own, smooth[:, p:].reshape(len(dense), -1, m)[np.arange(len(dense)), A.own.code])
        if A.spread is not None:
            close(found.spread, np.take_along_axis(smooth[:, first:p], A.spread.at, axis=1))


def test_some_entries_at_a_time_are_all_of_them(rng, monkeypatch):
    A = loadings(2, 2, 9, 2, 6, rng)
    B = tuple(a + b for a, b in zip(identity(8, 2, 9, sparse=True), A.gram(np.ones(23)), strict=True))
    at_once = factorise(B).begin(A)
    monkeypatch.setattr(crossed, "AT_ONCE", 10)
    variance, smooth = factorise(B).begin(A)
    close(variance, at_once[0])
    for got, want in zip(smooth, at_once[1], strict=True):
        close(got, want)


def test_leading_covariance(case):
    _, B, _, full = case
    p = len(B[0])
    for k in range(p + 1):
        close(factorise(B).corner_covariance(k), np.linalg.inv(full)[:k, :k])


def test_slope_is_a_rank_one_step(case, rng):
    A, _, dense, full = case
    weight, w = rng.standard_normal(len(dense)), rng.standard_normal(len(full))
    parts = (None if part is None else np.zeros_like(part.A) for part in (A.own, A.spread))
    G = Slope(np.zeros_like(A.common), *parts)
    A.add_slope(G, weight, w)
    own = None if G.own is None else OwnColumns(G.own, A.own.code, A.own.size)
    spread = None if G.spread is None else SpreadColumns(G.spread, A.spread.at, A.spread.size)
    there = written_out(Loadings(G.common, own, spread))
    close(there, np.where(dense != 0.0, np.outer(weight, w), 0.0))


def test_what_is_not_positive_definite_is_refused():
    with pytest.raises(NumericalError, match="2 features"):
        factorise((np.diag([1.0, -1.0]),))
    with pytest.raises(NumericalError, match="1 features in each of 2 groups"):
        factorise((np.eye(1), np.array([[[1.0, 0.0]], [[-1.0, 0.0]]])))


@pytest.mark.parametrize(("precision", "drowned"), [(1e12, False), (1e15, True)])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != (0, 1, 4, 0, 0)], ids=str)
def test_what_rounding_drowns_is_known(shape, precision, drowned):
    """One row a group leaves all weights but one to their prior, beside sums of squares as large as the precision."""
    p, m, size, r, k = shape
    n = max(size, 1)
    own = OwnColumns(np.ones((n, m)), np.arange(n), size) if size else None
    spread = SpreadColumns(np.ones((n, r)), np.tile(np.arange(r), (n, 1)), k) if r else None
    A = Loadings(np.ones((n, p)), own, spread)
    B = tuple(a + b for a, b in zip(eye(*shape), A.gram(np.full(n, precision)), strict=True))
    assert factorise(B).lost_to_rounding() == drowned
    assert factorise(B).lost_to_rounding(rows=1e8)
