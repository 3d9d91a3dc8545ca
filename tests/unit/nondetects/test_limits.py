"""Confidence and tolerance limits and exceedances beside EnvStats, exact distributions and simulation."""

import numpy as np
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.errors import DataError, NumericalError, SpecError
from tobitgp.nondetects import exceedance, tolerance_limit, upper_confidence_limit
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import maximise

SMALL = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]


def test_upper_limits_of_the_mean_of_r(case):
    reference, y, censored = case
    of_r = reference["mle"]
    wanted = {name: of_r["envstats"][f"upper {name}"]["limits"][1] for name in ("cox", "delta")}
    wanted["profile"] = of_r["envstats"]["upper profile.likelihood"]["limits"][1]
    for method, limit in wanted.items():
        found = upper_confidence_limit(y, censored, method)
        assert found.upper == pytest.approx(limit, rel=1e-8)
        assert found.estimate == pytest.approx(of_r["mean"], rel=1e-8)
        assert tuple(found.samples.loc["y", ["n", "nondetects"]]) == (reference["n"], reference["n_censored"])
    km = reference["km"]
    found = upper_confidence_limit(y, censored, "km-t", km_tail="smallest_detect")
    assert found.upper == pytest.approx(km["ucl95_t"], rel=1e-12)
    assert found.notes == ()
    found = upper_confidence_limit(y, censored, "km-chebyshev", km_tail="smallest_detect", confidence=0.9)
    assert found.upper == pytest.approx(km["mean"] + 3.0 * km["se_mean"], rel=1e-12)
    assert "holds for every distribution" in str(found)


def test_skew_samples_are_warned_of():
    y = np.exp(2.0 * stats.norm.ppf(np.arange(1, 20) / 20))
    assert "s = 1.7" in upper_confidence_limit(y, method="km-t").notes[0]
    plain = upper_confidence_limit(y - 1.0, method="km-t")
    assert plain.notes == ()  # no logarithms
    assert "Every value is detected" in str(plain)


WAYS = [("km", "lognormal"), ("ros", "lognormal"), ("mle", "lognormal"), ("mle", "normal"), ("mle", "weibull")]


@pytest.mark.parametrize(("of", "family"), WAYS)
def test_bootstrap_limits(case, of, family):
    _, y, censored = case
    options = {"of": of, "family": family, "bootstrap": 400}
    found = upper_confidence_limit(y, censored, "bca", rng=3, **options)
    assert found.estimate < found.upper < 3.0 * found.estimate
    assert 0.0 < found.monte_carlo_error < 0.2 * found.upper
    again = upper_confidence_limit(y, censored, "bca", rng=3, **options)
    assert (again.upper, again.monte_carlo_error) == (found.upper, found.monte_carlo_error)
    assert again.redrawn == found.redrawn
    other = upper_confidence_limit(y, censored, "bca", rng=4, **options)
    assert 0.0 < abs(other.upper - found.upper) < 6.0 * (other.monte_carlo_error + found.monte_carlo_error)


def test_defaults_and_redrawn_samples():
    found = upper_confidence_limit(["<1"] * 12 + ["1.5", "2", "3"], bootstrap=400)
    assert found.method == "bca of km (efron tail)"
    assert found.redrawn > 20
    assert f"{found.redrawn}" in repr(found).split("Drawn again:")[1].split("\n")[0]
    assert upper_confidence_limit(SMALL, of="mle").method == "profile of mle (lognormal)"
    assert upper_confidence_limit(SMALL, of="ros", bootstrap=200).method == "bca of ros"
    frame = upper_confidence_limit(SMALL, of="mle").summary_frame()
    assert frame.loc["y", ["n", "nondetects"]].tolist() == [8, 2]


def test_methods_that_do_not_go_together():
    for given, words in (
        ({"method": "jackknife"}, "method='jackknife': must be one of 'bca', 'profile'"),
        ({"of": "mean"}, "of='mean': must be one of 'km', 'ros', 'mle'"),
        ({"of": "km", "method": "cox"}, "method='cox' is not of of='km', whose are 'bca', 'km-t', 'km-chebyshev'"),
        ({"method": "cox", "family": "gamma"}, "method='cox' is of log-normal means"),
        ({"of": "mle", "method": "bca", "family": "gamma"}, "not available for family='gamma'"),
        ({"km_tail": "bounds"}, "km_tail='bounds' gives bounds of the mean and no limits"),
        ({"confidence": 95}, "confidence=95: confidence must be a probability strictly between 0 and 1"),
        ({"bootstrap": 20}, "at least 200"),
    ):
        with pytest.raises(SpecError, match=words):
            upper_confidence_limit(SMALL, **given)
    with pytest.raises(DataError, match="2 distinct detected values in 4 rows, but must have 3"):
        upper_confidence_limit(["<1", "2", "3", "<1"])
    with pytest.raises(SpecError, match="right-censored"):
        upper_confidence_limit(["1", "2", ">3"])
    found = upper_confidence_limit(["1", "2", ">3", "<1"], of="mle")
    assert found.samples.loc["y", "nondetects"] == 1
    assert "1 values are right-censored or lie in intervals." in found.notes


def test_tolerance_limits_of_r(case):
    reference, y, censored = case
    for row in reference["mle"]["percentiles"]:
        found = tolerance_limit(y, censored, coverage=row["p"], method="delta")
        np.testing.assert_allclose([found.estimate, found.upper], [row["estimate"], row["utl95_delta"]], rtol=1e-8)
    for row in reference["envstats_tolerance"]:
        found = tolerance_limit(y, censored, coverage=row["p"], method="exact_complete")
        np.testing.assert_allclose([found.estimate, found.upper], [row["quantile"], row["utl95"]], rtol=1e-8)
        assert "kept for agreement" in found.notes[0]
        profile = tolerance_limit(y, censored, row["p"]).upper
        assert profile > tolerance_limit(y, censored, row["p"], method="delta").upper


def test_lower_tolerance_limits_mirror_upper_ones():
    y = np.array([1.0, 2.0, 4.0, 3.0, 7.0])
    for method in ("profile", "delta", "exact_complete"):
        upper = tolerance_limit(1.0 / y, method=method).upper
        assert tolerance_limit(y, method=method, side="lower").lower == pytest.approx(1.0 / upper, rel=1e-7)


@pytest.mark.slow
def test_exact_limits_of_complete_samples_are_exact():
    rng = np.random.default_rng(6)
    y = rng.normal(size=(400, 9))
    limits = [tolerance_limit(row, family="normal", method="exact_complete").upper for row in y]
    assert np.mean(np.array(limits) >= stats.norm.ppf(0.9)) == pytest.approx(0.95, abs=0.033)


def test_nonparametric_tolerance_limits():
    y = np.r_[np.full(20, 0.5), np.linspace(1.0, 5.0, 39)]
    flags = np.r_[np.ones(20), np.zeros(39)].astype(int)
    assert tolerance_limit(y, flags, 0.95, method="nonparametric").upper == 5.0
    found = tolerance_limit(y, flags, 0.9, method="nonparametric")
    rank = int((y <= found.upper).sum())
    assert stats.binom.cdf(rank - 1, 59, 0.9) >= 0.95 > stats.binom.cdf(rank - 2, 59, 0.9)
    with pytest.raises(
        DataError, match=r"58 rows are too few.*95% with 95% confidence. There must be at least 59.*largest"
    ):
        tolerance_limit(y[1:], flags[1:], 0.95, method="nonparametric")
    with pytest.raises(DataError, match=r"value 1 in order of 'y'.*above every limit, of which the highest is 0.5"):
        tolerance_limit(y, flags, 0.95, side="lower", method="nonparametric")
    assert tolerance_limit(y[20:], None, 0.9, side="lower", method="nonparametric").lower == 1.0


def test_exceedances():
    y, flags = np.r_[np.full(6, 1.0), [2.0, 3.0, 4.0, 5.0]], [1] * 6 + [0] * 4
    found = exceedance(y, 3.0, flags, method="binomial")
    wanted = [0.2, stats.beta.ppf(0.025, 2, 9), stats.beta.ppf(0.975, 3, 8)]
    np.testing.assert_allclose([found.estimate, found.lower, found.upper], wanted, rtol=1e-9)
    with pytest.raises(DataError, match=r"standard=0\.5 is below the detection limit 1"):
        exceedance(y, 0.5, flags, method="binomial")
    found = exceedance(y, 3.0, flags, family="weibull")
    res = tg.fit("y ~ 1 | censor(nondetect=c)", {"y": y, "c": flags}, family="weibull", method="mle")
    assert found.estimate == pytest.approx(float(res.predict(what="prob", above=3.0).iloc[0]), rel=1e-8)
    assert found.lower < found.estimate < found.upper


def test_words_that_are_not_known():
    with pytest.raises(SpecError, match="side='both': must be one of 'upper', 'lower'"):
        tolerance_limit(SMALL, side="both")
    with pytest.raises(SpecError, match="method='wilks'"):
        tolerance_limit(SMALL, method="wilks")
    with pytest.raises(SpecError, match="'lognormal' and 'normal', not of 'gamma'"):
        tolerance_limit(SMALL, family="gamma", method="exact_complete")
    with pytest.raises(SpecError, match="coverage=95: coverage must be a probability strictly between 0 and 1"):
        tolerance_limit(SMALL, coverage=95)
    for standard in (0.0, np.nan, "2", True):
        with pytest.raises(SpecError, match=r"standard=.*: must be a number, above 0 with family='lognormal'"):
            exceedance(SMALL, standard)
    with pytest.raises(SpecError, match=r"family=\['normal'\]: must be one of"):
        tolerance_limit(SMALL, family=["normal"])
    with pytest.raises(NumericalError, match="lost to rounding"):
        upper_confidence_limit([2.0, 2.0000001, 2.0], of="mle", family="gamma")
    assert upper_confidence_limit(SMALL, of="mle", confidence=0.5).upper == pytest.approx(
        maximise(read_values(SMALL)).mean
    )
    with pytest.raises(SpecError, match="method='count': must be one of 'mle', 'binomial'"):
        exceedance(SMALL, 1.0, method="count")


def test_rows_too_many_for_the_jackknife():
    y = np.exp(np.random.default_rng(3).normal(size=5001))
    with pytest.raises(SpecError, match="5001 rows are too many for: at most 5000"):
        upper_confidence_limit(y, method="bca")
