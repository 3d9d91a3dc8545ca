"""Standardised rows: order, units, and what must not be rounded away."""

import numpy as np
import pytest

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.data.standardisation import standardise
from tobitgp.errors import DataError
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import log_density_exact

LIKELIHOOD = FAMILIES["gaussian"].likelihood


def problem(lower, upper, *, log_time=False, offset=0.0):
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    n = len(lower)
    one = np.ones(n)
    response = CensoredResponse(lower, upper, -np.inf * one, np.inf * one, -np.inf * one, np.inf * one, one)
    design = Design(np.ones((n, 1)), ("Intercept",), (np.arange(n, dtype=float)[:, None],), offset * one, (None,))
    return standardise(response, outcome(response, log_time=log_time), design, log_time=log_time, centre=True)


def test_rows_are_sorted_by_what_is_known():
    p = problem([1.0, -np.inf, 2.0, 3.0, 0.5], [1.0, 0.0, 2.5, np.inf, 0.5])
    assert [rows.kind for rows in p.rows] == ["exact", "one-sided", "interval"]
    assert p.order.tolist() == [0, 4, 1, 3, 2]
    assert p.rows[1].sign.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-12, 2.3e-16])
def test_narrow_intervals_keep_their_width(log_time, width):
    lower = np.array([1.0, 3.0, 0.5])
    upper = lower + np.array([0.0, 0.0, 1.0]) * width
    upper[2] = max(upper[2], np.nextafter(0.5, 1.0))
    p = problem(lower, upper, log_time=log_time, offset=0.1)
    exact = problem(lower, lower, log_time=log_time, offset=0.1)
    interval, value = p.rows[-1], exact.rows[0][2:]
    for sigma in (0.05, 1.0):
        mean = np.array([0.3])
        size = np.log(upper[2] - lower[2]) - (np.log(lower[2]) if log_time else 0.0) - np.log(exact.units.scale)
        aim = log_density_exact(value.limit, mean, np.full(1, sigma**2)) + size
        got = LIKELIHOOD.tilted(interval, mean, np.zeros(1), sigma).log_Z
        # the density varies over the interval, and the standardised centre is rounded
        assert got == pytest.approx(aim, abs=1e-11 + 30.0 * width / sigma**2)


def test_log_time_refuses_times_that_are_not_positive():
    with pytest.raises(DataError, match="positive"):
        problem([0.0, 1.0], [0.0, 1.0], log_time=True)


def test_an_interval_from_zero_is_left_censored_log_time():
    assert [r.kind for r in problem([0.0, 1.0], [2.0, 1.0], log_time=True).rows] == ["exact", "one-sided"]
