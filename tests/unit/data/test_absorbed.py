import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data import linear_columns
from tobitgp.data.absorbed import (
    Absorbed,
    as_dense,
    centred,
    centred_sum,
    choose_columns,
    only_columns,
    squares,
    telling,
)
from tobitgp.data.linear_columns import Independence
from tobitgp.errors import DataError


@pytest.fixture
def columns(rng):
    """Nine columns of forty rows, of which 2 to 6 are a factor's with a base and an entry that is not 1."""
    value = np.where(rng.uniform(size=40) < 0.2, 0.0, rng.uniform(1.0, 2.0, 40))
    return Absorbed(rng.normal(size=(40, 4)), value, np.arange(40) % 5, 2, 5)


def test_products_are_those_of_the_array(columns, rng):
    H, b, B, w = columns.dense(), rng.normal(size=9), rng.normal(size=(9, 2)), rng.normal(size=(3, 40))
    assert columns.shape == H.shape == (40, 9)
    np.testing.assert_allclose(columns @ b, H @ b, rtol=1e-12)
    np.testing.assert_allclose(columns @ B, H @ B, rtol=1e-12)
    np.testing.assert_allclose(w[0] @ columns, w[0] @ H, rtol=1e-12)
    np.testing.assert_allclose(w @ columns, w @ H, rtol=1e-12)
    np.testing.assert_allclose(squares(columns, b), H**2 @ b, rtol=1e-12)
    np.testing.assert_array_equal(columns.sparse().toarray(), H)
    np.testing.assert_array_equal(abs(columns).dense(), abs(H))
    np.testing.assert_array_equal(columns.largest, np.abs(H[:, 2:7]).max(axis=0))
    assert centred(columns, np.zeros(9)) is columns
    np.testing.assert_array_equal(centred(columns, b), H - b)
    np.testing.assert_allclose(centred_sum(columns, b, B[:, 0]), (H - b) @ B[:, 0], rtol=1e-12)


def test_rows_are_told_apart_as_by_the_array(columns):
    twice = columns[np.arange(80) % 40]
    twice.code[40:][columns.value == 0.0] = 0  # a row of the base has any code
    told = np.hstack(telling(twice))
    np.testing.assert_array_equal(told[:40], told[40:])
    assert len(np.unique(told[:, -2:], axis=0)) == len(np.unique(twice.dense()[:, 2:7], axis=0))


@pytest.mark.parametrize("kept", [[0, 3, 5, 8], [2, 3, 4, 5, 6], [0, 7], [5]], ids=str)
def test_some_columns_are_those_of_the_array(columns, kept):
    H, mask = columns.dense(), np.isin(np.arange(9), kept)
    np.testing.assert_array_equal(as_dense(choose_columns(columns, mask)), H[:, kept])
    np.testing.assert_array_equal(as_dense(only_columns(columns, kept)), H * mask)
    np.testing.assert_array_equal(as_dense(columns[mask.nonzero()[0]]), H[kept])


def test_what_a_factor_leaves_of_columns(columns, rng):
    y, own = rng.normal(size=(40, 3)), columns.dense()[:, 2:7]
    left = y - own @ np.linalg.lstsq(own, y, rcond=None)[0]
    np.testing.assert_allclose(columns.less_levels(y), left, atol=1e-12)


@pytest.mark.parametrize("cuts", [[], [11], [1, 20, 33]], ids=str)
def test_parts_of_the_rows_tell_of_independence_what_all_do(columns, cuts, rng):
    """Of the QR decomposition with the factor's columns first."""
    order = [2, 3, 4, 5, 6, 0, 1, 7, 8]
    R = np.linalg.qr(columns.dense()[:, order])[1]
    first, *others = (Independence.of(columns[at]) for at in np.split(np.arange(40), cuts))
    for other in others:
        first = first.merge(other)
    np.testing.assert_allclose(first.size, np.abs(np.diag(R)[:5]), rtol=1e-12)
    np.testing.assert_allclose(np.abs(first.border), np.abs(R[:5, 5:]), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.abs(np.triu(first.triangle[:4])), np.abs(R[5:, 5:]), rtol=1e-9, atol=1e-12)
    assert first.dependent() is None
    of_level = np.concatenate([columns.common, columns.common[:, :1] + columns.dense()[:, [3]]], axis=1)
    twin = Absorbed(of_level, columns.value, columns.code, 2, 5)
    j, weights = Independence.of(twin).dependent()
    assert j == 9
    assert set(np.flatnonzero(weights > 1e-6)) == {0, 3}


FORMULAS = {
    "C(g)": (1, 5),
    "x + g + C(k)": (2, 5),
    "0 + x + C(g)": (1, 6),
    "C(k):g": (6, 12),
    "0 + C(k):g": (0, 18),
    "g * C(k)": (8, 10),
    "C(g, Treatment('b'))": (1, 5),
    "C(g, Sum)": None,
    "C(k) + x": None,
    "bs(x, df=7)": None,
    "C(g):x": None,
    "C(k):bs(x, df=4)": None,
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_which_terms_are_absorbed(formula, rng, monkeypatch):
    data = pd.DataFrame({"g": [*"abcdef"] * 20, "k": np.arange(120) // 6 % 3, "x": rng.normal(size=120)})
    data["y"] = data.x + rng.normal(size=120)
    before = tg.fit(f"y ~ {formula}", data)
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    fit = tg.fit(f"y ~ {formula}", data)
    H, want = fit.parts.rows.design.H, FORMULAS[formula]
    found = (int(H.start), H.size) if isinstance(H, Absorbed) else None
    assert found == want
    np.testing.assert_array_equal(as_dense(H), before.parts.rows.design.H)
    np.testing.assert_allclose(fit.params, before.params, rtol=1e-8, atol=1e-10)


def test_a_column_that_levels_determine_is_refused(rng, monkeypatch):
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    data = pd.DataFrame({"g": [*"abcdef"] * 10, "y": rng.normal(size=60)})
    data["v"] = data.g.map(dict(zip("abcdef", rng.normal(size=6), strict=True)))
    with pytest.raises(DataError, match=r"Column 'v' of the linear part is determined by 'Intercept', 'C\(g\)\[T.b\]'"):
        tg.fit("y ~ v + C(g)", data)
