"""Moments of parts of the rows, put together, are those of all."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.data.absorbed import Absorbed
from tobitgp.data.moments import Moments, column_moments

numbers = st.floats(-1e3, 1e3, allow_nan=False)


def merged(parts):
    return reduce(Moments.merge, parts)


def cut(X, weight, cuts):
    edges = [0, *sorted(cuts), len(X)]
    return [Moments.of(X[a:b], weight[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]  # noqa: RUF007


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(numbers, st.floats(0.5, 5.0)), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    offset=st.sampled_from([0.0, 1.0, -1e8, 1e12]),
    unit=st.sampled_from([1.0, 1e-140, 1e130]),
)
def test_parts_merge_to_the_whole(rows, cuts, offset, unit):
    x, weight = np.array(rows).T
    X = (unit * (x + offset))[:, None]
    found = merged(cut(X, weight, [min(c, len(x)) for c in cuts]))
    exact = [np.longdouble(v) / np.longdouble(unit) for v in X[:, 0]]
    w = weight.astype(np.longdouble)
    mean = sum(a * b for a, b in zip(w, exact, strict=True)) / w.sum()
    spread = np.sqrt(sum(a * (b - mean) ** 2 for a, b in zip(w, exact, strict=True)) / w.sum())
    assert found.weight == pytest.approx(weight.sum(), rel=1e-14)
    assert found.mean[0] / unit == pytest.approx(float(mean), rel=1e-14, abs=1e-12)
    # differences from a large offset are rounded before anything is made of them
    assert found.spread[0] / unit == pytest.approx(float(spread), rel=1e-12, abs=4e-15 * abs(offset) + 1e-13)
    assert (found.minimum[0], found.maximum[0]) == (X.min(), X.max())


def test_a_constant_has_no_spread():
    X = np.full((7, 1), 0.1)
    found = merged(cut(X, np.array([1.0, 3.0, 0.7, 0.3, 1.0, 1.0, 1.0]), [2, 3]))
    assert (found.mean[0], found.spread[0]) == (0.1, 0.0)


def test_parts_without_rows_say_nothing(rng):
    X, weight = rng.normal(size=(5, 2)), rng.uniform(1, 2, 5)
    whole, parts = Moments.of(X, weight), merged(cut(X, weight, [0, 5, 5]))
    np.testing.assert_array_equal(parts.mean, whole.mean)
    np.testing.assert_array_equal(parts.spread, whole.spread)
    assert Moments.of(X[:0], weight[:0]).weight == 0.0
    assert Moments.of(X[:, :0], weight).mean.shape == (0,)


def test_an_offset_leaves_the_spread_its_digits(rng):
    x, weight = rng.normal(size=(200, 1)), np.ones(200)
    far = x + 1e8
    found = merged(cut(far, weight, [13, 50, 120]))
    assert found.spread[0] == pytest.approx(Moments.of(far, weight).spread[0], rel=1e-14)


def test_rounded_moments_do_not_tell_how_rows_are_cut():
    rng, n = np.random.default_rng(0), 3000
    for _ in range(100):
        X = np.column_stack([rng.normal(1.0, 3.0, (n, 3)), rng.random((n, 3)) < [0.5, 0.2, 0.05]])
        weight = rng.integers(1, 4, n).astype(float)
        whole, parts = Moments.of(X, weight).rounded(), merged(cut(X, weight, [1400, 1401])).rounded()
        np.testing.assert_array_equal(parts.mean, whole.mean)
        np.testing.assert_array_equal(parts.spread, whole.spread)


def test_those_of_an_absorbed_factor_are_those_of_its_columns(rng):
    """One level fills a part, another is in none of it."""
    code = np.append(np.zeros(4, dtype=np.intp), rng.integers(1, 4, size=30))
    H = Absorbed(rng.normal(3.0, 2.0, (34, 2)), np.where(rng.uniform(size=34) < 0.3, 0.0, 1.0), code, 1, 4)
    H.value[:4] = 1.0
    weight, cuts = rng.uniform(0.5, 2.0, 34), ((0, 0), (0, 4), (4, 20), (20, 34))
    found = merged([column_moments(H[slice(*at)], weight[slice(*at)]) for at in cuts])
    want = Moments.of(H.dense(), weight)
    np.testing.assert_allclose(found.mean, want.mean, rtol=1e-13)
    np.testing.assert_allclose(found.spread, want.spread, rtol=1e-13)
    np.testing.assert_array_equal([found.minimum, found.maximum], [want.minimum, want.maximum])
    filled = column_moments(H[:4], weight[:4])
    assert (filled.spread[1:5] == 0.0).all()
