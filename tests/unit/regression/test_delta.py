import numpy as np
import pytest
from scipy import stats
from tobitgp.regression.delta import delta_se, df_slope, interval
from tobitgp.regression.scales import Predictor, Quantity, quantile

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.student import Student


def test_standard_errors_row_by_row(rng):
    H, W = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    root = rng.normal(size=(6, 6))
    V = root @ root.T  # the last parameter is log df
    q = Quantity(rng.normal(size=6), rng.normal(size=6), rng.normal(size=6), "identity")
    g = np.column_stack([q.d_eta[:, None] * H, q.d_tau[:, None] * W])
    want = [np.sqrt(row @ V[:5, :5] @ row) for row in g]
    np.testing.assert_allclose(delta_se(q, H, W, V), want)
    d_log_df = rng.normal(size=6)
    want = [np.sqrt(row @ V @ row) for row in np.column_stack([g, d_log_df])]
    np.testing.assert_allclose(delta_se(q, H, W, V, d_log_df=d_log_df), want)


def test_slope_in_log_df():
    rows = Predictor(np.array([0.1, 0.5]), np.log([0.5, 0.8]), Student(3.0))
    found = df_slope(lambda at: quantile(at, 0.9), rows)
    step = stats.t.ppf(0.9, 3.0 * np.exp(1e-5)) - stats.t.ppf(0.9, 3.0 * np.exp(-1e-5))
    np.testing.assert_allclose(found, np.array([0.5, 0.8]) * step / 2e-5, rtol=1e-5)


def test_standard_errors_as_the_spread_of_predictions(rng):
    V = np.array([[4e-4, 1e-4], [1e-4, 9e-4]])
    draws = rng.multivariate_normal([1.0, -0.5], V, size=200_000)
    spread = quantile(Predictor(draws[:, 0], draws[:, 1], Gumbel(), True), 0.9).value.std()
    one = np.ones((1, 1))
    found = delta_se(quantile(Predictor(np.ones(1), np.full(1, -0.5), Gumbel(), True), 0.9), one, one, V)
    assert found[0] == pytest.approx(spread, rel=0.01)


def test_intervals():
    value, se = np.array([0.2, 0.7]), np.array([0.05, 0.1])
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(interval(value, se, 0.9, "identity"), (value - z * se, value + z * se))
    np.testing.assert_allclose(
        np.log(interval(value, se, 0.9, "log")), np.log(value) + z * np.outer([-1, 1], se / value)
    )
    lower, upper = interval(value, se, 0.9, "logit")
    np.testing.assert_allclose(interval(1.0 - value, se, 0.9, "logit"), (1.0 - upper, 1.0 - lower))


def test_intervals_at_the_edge():
    for ends in interval(np.array([0.0, 1.0]), np.array([0.0, 1e-20]), 0.95, "logit"):
        assert ends.tolist() == [0.0, 1.0]
    for ends in interval(np.array([0.0, np.inf]), np.array([0.0, np.nan]), 0.95, "log"):
        assert ends.tolist() == [0.0, np.inf]
