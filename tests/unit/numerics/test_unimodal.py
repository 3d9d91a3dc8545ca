"""Intervals and their unbounded coordinates."""

import numpy as np
import pytest

from tobitgp.numerics.unimodal import Domain

DOMAINS = [Domain(), Domain(1.0), Domain(-np.inf, 1.0), Domain(-2.0, 3.0)]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_coordinates_rise_and_lead_back(domain):
    u = np.linspace(-3.0, 3.0, 13)
    x = domain.at(u)
    assert domain.inside(x).all()
    assert (np.diff(x) > 0.0).all()
    np.testing.assert_allclose(domain.coordinate(x), u, atol=1e-12)
    slope = (domain.at(u + 1e-5) - domain.at(u - 1e-5)) / 2e-5
    np.testing.assert_allclose(np.exp(domain.log_slope(u)) * np.ones_like(u), slope, rtol=1e-8)
