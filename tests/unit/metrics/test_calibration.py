import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import d_calibration


def test_without_censoring_it_is_pearsons_test(rng):
    s = rng.beta(1.2, 1.0, 300)
    want = chisquare(np.histogram(s, bins=10, range=(0.0, 1.0))[0])
    found = d_calibration(s)
    np.testing.assert_allclose(found[:2], want, rtol=1e-10)


def by_definition(low, high, bins):
    """A row at a time: the share of its interval in each bin."""
    counts = np.zeros(bins)
    for a, b in zip(low, high, strict=True):
        if a == b:
            counts[min(int(a * bins), bins - 1)] += 1.0
        else:
            for k in range(bins):
                counts[k] += max(0.0, min(b, (k + 1) / bins) - max(a, k / bins)) / (b - a)
    return counts


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), bins=st.integers(2, 12))
def test_all_kinds_of_rows_by_definition(seed, n, bins):
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.integers(0, 17, (2, n)) / 16, axis=0)
    counts = by_definition(low, high, bins)
    found = d_calibration(lower=high, upper=low, bins=bins)
    np.testing.assert_allclose(found.bins["rows"], counts, atol=1e-12)
    assert abs(found.bins["share"].sum() - 1.0) < 1e-12
    want = np.sum((counts - n / bins) ** 2 / (n / bins))
    np.testing.assert_allclose(found[:2], [want, chi2.sf(want, bins - 1)], atol=1e-12)
    event = rng.random(n) < 0.5
    right = by_definition(np.where(event, low, 0.0), low, bins)
    np.testing.assert_allclose(d_calibration(low, event, bins=bins).bins["rows"], right, atol=1e-12)


def simulate(rng, n, stretch):
    """Exponential times, limits that follow a distribution of their own, and curves whose scale is stretched."""
    y, limit = rng.exponential(1.0, n), rng.exponential(2.0, n)
    return np.exp(-np.minimum(y, limit) / stretch), y <= limit


def test_it_passes_the_true_curves_and_refuses_others(rng):
    right = [d_calibration(*simulate(rng, 400, 1.0)).p_value for _ in range(200)]
    wrong = [d_calibration(*simulate(rng, 400, 1.5)).p_value for _ in range(200)]
    assert np.mean(np.array(right) < 0.05) <= 0.08
    assert np.mean(np.array(wrong) < 0.05) > 0.9


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, SpecError, "requires either survival= and event=, or lower= and upper="),
        ({"survival": [0.5], "lower": [0.5], "upper": [0.4]}, SpecError, "requires either survival= and event="),
        ({"lower": [0.5]}, SpecError, "requires either survival= and event="),
        ({"survival": [0.5], "upper": [0.5]}, SpecError, "requires either survival= and event="),
        ({"event": [1], "lower": [0.5], "upper": [0.4]}, SpecError, "requires either survival= and event="),
        ({"survival": [0.5], "bins": 1}, SpecError, "bins=1: must be a whole number"),
        ({"survival": [0.5], "bins": True}, SpecError, "bins=True"),
        ({"survival": [1.5]}, DataError, "survival holds 1.5: values must be probabilities"),
        ({"survival": [np.nan]}, DataError, "survival is missing in row 0"),
        ({"survival": [0.5], "event": [2]}, DataError, "event is neither 0 nor 1"),
        ({"survival": [0.5, 0.4], "event": [1]}, DataError, "event has 1 rows, but must have 2"),
        ({"lower": [0.5, 0.3], "upper": [0.4, 0.6]}, DataError, "Row 1 .* survival does not rise"),
    ],
)
def test_bad_input_is_named(given, error, message):
    with pytest.raises(error, match=message):
        d_calibration(**given)
