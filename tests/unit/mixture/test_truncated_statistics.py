"""Tails of densities on panels, compared with scipy's distributions, and how many densities they take."""

import numpy as np
import pytest
from scipy import stats

from tobitgp.mixture.exponential_family import NaturalFamily
from tobitgp.mixture.ready_families import GAMMA, INVERSE_GAUSSIAN
from tobitgp.mixture.truncated_statistics import Members

SHAPE, RATE = np.array([0.4, 3.0, 40.0, 2000.0]), np.array([0.2, 1.0, 8.0, 500.0])
ETA = np.stack([SHAPE, -RATE])


def _ends(low: float, high: float) -> np.ndarray:
    return np.exp(np.random.default_rng(3).uniform(np.log(low), np.log(high), 3000))


@pytest.mark.parametrize(("low", "high"), [(3.0, 9.0), (1e-3, 60.0), (1e-9, 1e-8), (200.0, 900.0)])
@pytest.mark.parametrize("above", [False, True])
def test_gamma_tails_and_means_of_values(low, high, above):
    y = _ends(low, high)
    tails = GAMMA.sums_of(GAMMA.members(ETA), GAMMA.bucket(y), many=True).tail(y, above=above)
    first = stats.gamma(SHAPE[:, None], scale=1.0 / RATE[:, None])
    once = stats.gamma(SHAPE[:, None] + 1.0, scale=1.0 / RATE[:, None])
    with np.errstate(divide="ignore"):
        log_p, log_once = (one.logsf(y) if above else one.logcdf(y) for one in (first, once))
    known = (log_p > -600.0) & (log_once > -600.0)
    assert known.any()
    log_p, log_once, ratio = log_p[known], log_once[known], np.broadcast_to((SHAPE / RATE)[:, None], known.shape)
    np.testing.assert_allclose(tails.log_p[known], log_p, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(tails.mean[1][known], ratio[known] * np.exp(log_once - log_p), rtol=1e-9, atol=1e-12)


def test_ends_outside_of_the_panels_have_tails_too():
    y = _ends(3.0, 9.0)
    far = np.array([1e-5, 0.3, 30.0, 90.0])
    tails = GAMMA.sums_of(GAMMA.members(ETA[:, :2]), GAMMA.bucket(y), many=True).tail(far, above=True)
    expected = stats.gamma(SHAPE[:2, None], scale=1.0 / RATE[:2, None]).logsf(far)
    np.testing.assert_allclose(tails.log_p, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("family", [GAMMA, INVERSE_GAUSSIAN], ids=lambda family: family.name)
def test_densities_are_computed_where_ends_lie(family: NaturalFamily):
    """One panel per nat, as far as the last limit."""
    counted = []

    def statistic(y):
        counted.append(np.size(y))
        return family.statistic(y)

    eta = ETA[:, 1:3] if family is GAMMA else np.array([[-0.5, -3.0], [-2.0, -30.0]])
    members = family.members(eta)
    y = _ends(0.5, 20.0)
    sums = family.sums_of(_with(members, statistic), family.bucket(y), many=True)
    sums.tail(y, above=True)
    assert sum(counted) < 2 * 6000


def _with(members: Members, statistic) -> Members:
    return Members(statistic, members.log_base, members.eta, members.log_partition, members.mean)
