import numpy as np
import pytest

from tobitgp.data.outcome import outcome
from tobitgp.errors import DataError, SpecError
from tobitgp.regression import covariance, maximise


@pytest.fixture
def fit(mixed):
    rows, H = mixed
    return maximise(outcome(rows), H, scores=True)


def test_inverse_of_the_information(fit):
    np.testing.assert_allclose(covariance(fit) @ fit.information, np.eye(4), atol=1e-10)


def test_one_row_clusters_are_hc0(fit):
    n = len(fit.scores)
    np.testing.assert_allclose(covariance(fit, "cluster", groups=np.arange(n)), covariance(fit, "HC0"), rtol=1e-10)
    np.testing.assert_allclose(covariance(fit, "HC1"), covariance(fit, "HC0") * n / (n - 4), rtol=1e-12)


def test_sandwich_by_hand(fit, mixed):
    w = mixed[0].weight
    V, S = np.linalg.inv(fit.information), fit.scores
    np.testing.assert_allclose(covariance(fit, "HC0", weight=w), V @ (S.T * w) @ S @ V, rtol=1e-8)
    groups = np.arange(len(S)) % 5
    sums = np.array([(w[:, None] * S)[groups == g].sum(axis=0) for g in range(5)])
    np.testing.assert_allclose(covariance(fit, "cluster", weight=w, groups=groups), V @ sums.T @ sums @ V, rtol=1e-6)


def test_refusals(fit, mixed):
    rows, H = mixed
    with pytest.raises(SpecError, match="'HC9' is not one of nonrobust, HC0"):
        covariance(fit, "HC9")
    with pytest.raises(SpecError, match="needs groups"):
        covariance(fit, "cluster")
    with pytest.raises(SpecError, match="scores=True"):
        covariance(maximise(outcome(rows), H), "HC0")
    with pytest.raises(DataError, match="two clusters"):
        covariance(fit, "cluster", groups=np.zeros(len(H), dtype=int))
