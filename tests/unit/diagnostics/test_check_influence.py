"""Leave-one-out residuals from what rows owe to themselves, beside regressions without the row."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tobitgp.diagnostics.residual_tests import influence, left_out_size


def test_residuals_without_the_row_are_those_of_a_fit_without_it(rng):
    """Linear regression of known noise: predictive distributions with and without each row, by algebra."""
    X = np.column_stack([np.ones(30), rng.standard_t(2, 30)])
    y = X @ [1.0, 2.0] + rng.normal(size=30)
    size, scores, owed = np.empty((3, 30))
    for i in range(30):
        at = []
        for rows in (np.arange(30), np.delete(np.arange(30), i)):
            V = np.linalg.inv(X[rows].T @ X[rows])
            mean, sd = X[i] @ V @ X[rows].T @ y[rows], np.sqrt(1.0 + X[i] @ V @ X[i])
            at.append(((y[i] - mean) / sd, norm.logpdf(y[i], mean, sd)))
        (scores[i], within), (size[i], without) = at
        owed[i] = within - without
    np.testing.assert_allclose(left_out_size(scores, owed), np.abs(size), rtol=1e-6)


def test_rows_that_the_fit_follows_have_a_finite_size():
    found = left_out_size(np.array([1e-9, 2.0]), np.array([50.0, 1e300]))
    assert np.isfinite(found).all()


def test_the_largest_is_named(rng):
    scores = rng.normal(size=100)
    scores[7] = 5.0
    owed = pd.Series(np.full(100, 0.01), index=[f"r{i}" for i in range(100)])
    owed["r7"] = 2.0
    found = influence(scores, owed, len(owed))
    assert found.p == pytest.approx(200.0 * norm.sf(found.value))
    assert found.value > np.sqrt(25.0 + 4.0) - 1.0
    assert "row r7 is 5." in found.wrong
    assert found.large
    assert influence(np.delete(scores, 7), owed.drop("r7"), len(owed) - 1.0).p > 0.05
