import mpmath as mp
import numpy as np
import pytest

from tobitgp.numerics.log_probabilities import log_at_least, log_below, log_between, log_count

RATES = (1e-3, 0.5, 3.0, 40.0, 900.0, 1e4)
COUNTS = (1.0, 2.0, 7.0, 60.0, 400.0, 10_000.0)


def exact_sum(low, high, rate):
    """Log of the sum of the probabilities of low + 1 to high, from the largest term outwards."""
    with mp.workdps(60):
        peak = min(max(int(rate), int(low) + 1), int(high))
        x = mp.mpf(rate)
        top = peak * mp.log(x) - x - mp.loggamma(peak + 1)
        total = term = mp.mpf(1)
        for y in range(peak + 1, int(high) + 1):
            term *= x / y
            total += term
            if term < mp.mpf(10) ** -50 * total:
                break
        term = mp.mpf(1)
        for y in range(peak, int(low) + 1, -1):
            term *= y / x
            total += term
            if term < mp.mpf(10) ** -50 * total:
                break
        return float(top + mp.log(total))


@pytest.mark.parametrize("rate", RATES)
def test_tails_against_sums_of_many_digits(rate):
    for a in COUNTS:
        above = log_at_least(np.array([a]), np.array([rate]))[0]
        below = log_below(np.array([a]), np.array([rate]))[0]
        assert above == pytest.approx(exact_sum(a - 1.0, 10.0**7, rate), rel=1e-12, abs=1e-14)
        assert below == pytest.approx(exact_sum(-1.0, a - 1.0, rate), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("ends", [(0, 1), (0, 3), (2, 40), (3, 200), (500, 700), (9000, 11_000), (20_000, 20_010)])
def test_intervals_against_sums_of_many_digits(rate, ends):
    got = log_between(np.array([ends[0]]), np.array([ends[1]]), np.array([rate]))[0]
    assert got == pytest.approx(exact_sum(*ends, rate), rel=1e-11, abs=1e-14)


def test_broadcasting_and_the_first_count():
    rate = np.array([[0.2], [3.0]])
    low = np.array([0.0, 4.0, 100.0])
    assert log_at_least(low, rate).shape == (2, 3)
    np.testing.assert_array_equal(log_at_least(np.zeros(1), rate)[:, 0], 0.0)
    np.testing.assert_array_equal(log_below(np.zeros(1), rate)[:, 0], -np.inf)
    np.testing.assert_allclose(log_between(low, low + 1.0, rate), log_count(low + 1.0, rate), rtol=1e-13)
