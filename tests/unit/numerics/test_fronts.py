"""Fronts of sparse matrices against dense ones."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from tobitgp.errors import NumericalError
from tobitgp.numerics import fronts as module
from tobitgp.numerics.fronts import fronts_of

CLOSE = 1e-11


def near(points, k=6):
    """Pairs of points that are neighbours, each once, and each point with itself."""
    found = cKDTree(points).query(points, k)[1]
    first, second = np.repeat(np.arange(len(points)), k), found.ravel()
    return np.unique([np.maximum(first, second), np.minimum(first, second)], axis=1)


def scattered(rng):
    return rng.uniform(size=(400, 2))


def solid(rng):
    return rng.standard_normal((300, 3))


def tied(rng):
    return np.column_stack([rng.integers(0, 3, 300), rng.uniform(size=300)])


def grid(rng):
    return np.stack(np.meshgrid(np.arange(18.0), np.arange(18.0)), axis=-1).reshape(-1, 2)


def few(rng):
    return rng.uniform(size=(20, 2))


@pytest.fixture(params=[scattered, solid, tied, grid, few], ids=lambda made: made.__name__)
def points(request, rng):
    return request.param(rng)


@pytest.fixture
def matrix(points, rng):
    """Fronts, values in the pattern, and the matrix in full."""
    rows, columns = near(points)
    values = np.where(rows == columns, 12.0, rng.uniform(-1.0, 1.0, len(rows)))
    Q = np.zeros((len(points),) * 2)
    Q[rows, columns] = Q[columns, rows] = values
    return fronts_of(points, rows, columns), values, Q, (rows, columns)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=CLOSE, atol=CLOSE)


def test_factor_and_solutions(matrix, rng):
    fronts, values, Q, _ = matrix
    factor, B = fronts.factorise(values), rng.standard_normal((len(Q), 3))
    close(factor.log_det, np.linalg.slogdet(Q)[1])
    close(factor.solve(B), np.linalg.solve(Q, B))
    close(factor.solve(B[:, :1]), np.linalg.solve(Q, B[:, :1]))
    assert factor.solve(B[:, :0]).shape == (len(Q), 0)


def test_selected_inverse(matrix):
    fronts, values, Q, pattern = matrix
    close(fronts.factorise(values).inverse, np.linalg.inv(Q)[pattern])


@pytest.mark.parametrize("n", [0, 1, 50])
def test_quadratic_forms(matrix, rng, n):
    fronts, values, Q, _ = matrix
    rows = np.stack([rng.choice(len(Q), 5, replace=False) for _ in range(n)]) if n else np.zeros((0, 5), np.intp)
    b = rng.standard_normal(rows.shape)
    B = np.zeros((len(Q), n))
    B[rows, np.arange(n)[:, None]] = b
    close(fronts.factorise(values).quadratic_forms(rows, b), np.einsum("nk,nk->k", B, np.linalg.solve(Q, B)))


def test_fronts_are_a_tree_of_all_rows(matrix):
    fronts, _, Q, _ = matrix
    assert sorted(fronts.order) == list(range(len(Q)))
    bounds = [front.start for front in fronts.fronts] + [fronts.fronts[-1].stop]
    assert bounds == sorted(bounds)
    assert all(child < f for f, front in enumerate(fronts.fronts) for child in front.children)


def test_what_is_not_positive_definite_is_refused(matrix):
    fronts, values, _, (rows, columns) = matrix
    for wrong in (-1.0, np.nan):
        with pytest.raises(NumericalError, match="not positive definite"):
            fronts.factorise(np.where((rows == columns) & (rows == len(rows) % 7), wrong, values))


def test_separators_part_the_rows(rng):
    points = scattered(rng)
    pairs = near(points)
    below, between = module._separator(points, np.arange(len(points)), pairs)
    outside = ~np.isin(pairs, between).any(axis=0)
    assert (below[pairs[0]] == below[pairs[1]])[outside].all()
    assert 0 < len(between) < 60


def test_vertex_cover_is_as_small_as_the_matching_is_large(rng):
    edges = np.unique(np.stack([rng.integers(0, 30, 60), rng.integers(30, 60, 60)]), axis=1)
    cover = module._vertex_cover(edges)
    assert np.isin(edges, cover).any(axis=0).all()
    assert len(cover) == largest_matching(edges)


def largest_matching(edges):
    """Size of a largest matching, by augmenting paths."""
    partner = {}

    def augmented(left, seen):
        for right in edges[1, edges[0] == left]:
            if right not in seen:
                seen.add(right)
                if right not in partner or augmented(partner[right], seen):
                    partner[right] = left
                    return True
        return False

    return sum(augmented(left, set()) for left in np.unique(edges[0]))
