"""Draws of estimates are the same functions of rows however their columns are coded."""

import numpy as np
import pytest

from tobitgp.regression.maximum import root_of_rows

N = 40
rng = np.random.default_rng(5)
Z, G = rng.normal(size=N), rng.integers(0, 3, N)
WEIGHT = rng.integers(1, 4, N).astype(float)
LEVELS = np.eye(3)[G]
CODINGS = {
    "levels": np.column_stack([LEVELS, Z]),
    "another order": np.column_stack([Z, LEVELS[:, [2, 0, 1]]]),
    "reference": np.column_stack([np.ones(N), LEVELS[:, 1:], Z]),
    "another reference": np.column_stack([np.ones(N), LEVELS[:, :2], Z]),
    "another origin and unit": np.column_stack([LEVELS, 3.0 * (Z + 50.0)]),
}
SCALE = np.column_stack([np.ones(N), Z])  # columns of a second parameter
BETA = np.array([0.5, -0.3, 0.2, 0.7])
FULL = rng.normal(size=(6, 6))
COVARIANCE = FULL @ FULL.T


def moves(name, unit=1.0, rows=slice(None), weight=WEIGHT):
    """Draws of the parameters of rows per standard normal number, in units of the response."""
    H = CODINGS[name]
    change = np.linalg.lstsq(H, CODINGS["levels"], rcond=None)[0]  # coefficients of this coding from those of levels
    turn = np.block([[unit * change, np.zeros((4, 2))], [np.zeros((2, 4)), np.eye(2)]])
    V = turn @ COVARIANCE @ turn.T
    columns = [H[rows], SCALE[rows]]
    x = [unit * CODINGS["levels"][rows] @ BETA, SCALE[rows] @ [0.1, 0.2]]
    R = root_of_rows(V, columns, x, weight)
    np.testing.assert_allclose(R @ R.T, V, rtol=1e-7, atol=1e-9 * np.abs(V).max())
    return np.stack([H @ R[:4] / unit, SCALE @ R[4:]])


@pytest.mark.parametrize("name", CODINGS)
def test_codings_of_columns(name):
    np.testing.assert_allclose(moves(name), moves("levels"), atol=1e-7)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_of_the_response(unit):
    np.testing.assert_allclose(moves("reference", unit), moves("levels"), atol=1e-7)


def test_order_and_copies_of_rows():
    order = rng.permutation(N)
    np.testing.assert_allclose(moves("levels", rows=order, weight=WEIGHT[order]), moves("levels"), atol=1e-9)
    copies = np.repeat(np.arange(N), WEIGHT.astype(int))
    one = np.ones(len(copies))
    np.testing.assert_allclose(moves("levels", rows=copies, weight=one), moves("levels"), atol=1e-9)


def test_estimates_that_are_all_given():
    V = np.zeros((4, 4))
    np.testing.assert_array_equal(root_of_rows(V, [CODINGS["levels"]], [np.zeros(N)], WEIGHT), V)
