"""Land's limits of a complete log-normal sample, beside EnvStats, thirty digits, and their own coverage."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.nondetects.means import land_limit


def land_factor(s, n, confidence=0.95):
    """C of EnvStats: the limit of the log of the mean is m + s^2 / 2 + s C / sqrt(n - 1)."""
    return (land_limit(0.0, s, n, confidence) - 0.5 * s * s) * np.sqrt(n - 1.0) / s


def test_a_sample_of_envstats(references):
    of_r = references["land_complete"]
    y = of_r["x"]
    assert tg.nondetects.upper_confidence_limit(y, method="land").upper == pytest.approx(of_r["upper95"][1], rel=1e-9)
    assert len(y) == of_r["n"]
    np.testing.assert_allclose(
        [np.mean(np.log(y)), np.std(np.log(y), ddof=1)], [of_r["meanlog"], of_r["sdlog"]], rtol=1e-12
    )
    ours = [np.exp(land_limit(of_r["meanlog"], of_r["sdlog"], of_r["n"], p)) for p in (0.025, 0.975)]
    np.testing.assert_allclose(ours, of_r["two_sided95"], rtol=1e-7)
    assert land_limit(0.0, 1.0, 9, 0.4) < land_limit(0.0, 1.0, 9, 0.5) < land_limit(0.0, 1.0, 9, 0.6)
    cox = tg.nondetects.upper_confidence_limit(y, method="cox")
    assert cox.upper == pytest.approx(of_r["cox_upper95"][1], rel=1e-9)


def test_factors_of_envstats(references):
    of_r = references["land_factor"]
    ours = np.array([[land_factor(s, n) for s in of_r["sdlog"]] for n in of_r["n"]])
    # With 50 rows and s of 1 and more R's search stops before it is there: see the next test.
    np.testing.assert_allclose(ours[:3], of_r["C"][:3], rtol=1e-8)
    np.testing.assert_allclose(ours[3], of_r["C"][3], rtol=3e-4)
    assert ours[3, 0] == pytest.approx(of_r["C"][3][0], rel=1e-9)


def test_factors_in_thirty_digits():
    """From quadrature of the conditional density by mpmath."""
    found = [land_factor(2.0, 5), land_factor(1.5, 5), land_factor(2.0, 50), land_factor(1.0, 10)]
    wanted = [9.3874738584531390616, 7.1196975808139875108, 3.5420802462845657346, 3.1025748685437221644]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.slow
def test_limits_cover_as_often_as_they_say():
    rng = np.random.default_rng(4)
    y = rng.normal(-0.5 * 1.2**2, 1.2, size=(1000, 8))
    below = [land_limit(m, s, 8, 0.9) >= 0.0 for m, s in zip(y.mean(axis=1), y.std(axis=1, ddof=1), strict=True)]
    assert np.mean(below) == pytest.approx(0.9, abs=0.03)


def test_what_it_refuses_and_warns_of():
    with pytest.raises(SpecError, match=r"complete log-normal samples, and 1 of 'y' are non-detects.*profile"):
        tg.nondetects.upper_confidence_limit(["<1", "2", "3"], method="land")
    with pytest.warns(ApproximationWarning, match=r"standard deviation 2.47: beyond 1.5"):
        tg.nondetects.upper_confidence_limit([1.0, 16.0, 256.0, 0.5, 8.0], method="land")
