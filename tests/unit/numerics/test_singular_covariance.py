"""Covariances of weights that may be singular, against the matrices that they stand for."""

import numpy as np
import pytest

from tobitgp.numerics.arrow import Loadings
from tobitgp.numerics.singular_covariance import SingularCovariance


def test_products_are_those_of_the_covariance():
    rng = np.random.default_rng(0)
    root, A = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    S, found = root.T @ root, SingularCovariance.of(root)
    assert (np.triu(found.L, 1) == 0.0).all()
    assert found.variance(Loadings(A)) == pytest.approx((A @ S @ A.T).diagonal())
    assert found.covariance(Loadings(A)) == pytest.approx(A @ S @ A.T)
    assert found.smooth(Loadings(A)).common == pytest.approx(A @ S)
    assert found.solve(A[0]) == pytest.approx(S @ A[0])
    assert found.corner_covariance(2) == pytest.approx(S[:2, :2])
    assert not found.lost_to_rounding()


def test_known_directions_have_no_variance():
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    found = SingularCovariance.of(rng.normal(size=(2, 2)) @ Q[:, 4:].T)
    assert found.variance(Loadings(Q[:, :4].T)) == pytest.approx(0.0, abs=1e-30)
