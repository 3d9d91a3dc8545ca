"""The line of Akritas, Theil and Sen beside NADA, scipy, its definition, and its coverage."""

import numpy as np
import pytest
from scipy.optimize import bisect
from scipy.stats import norm, theilslopes
from support.nondetects import cases, kendall_data, kendall_s, simulate

import tobitgp as tg
from tobitgp.numerics.nonparametric import turnbull


@pytest.mark.parametrize(
    ("name", "floor", "exact", "tol"),
    [
        ("heron_kendall", None, None, 1e-3),
        ("tce_kendall", 0.0, 0.3835066169, 1e-6),
        ("gales_kendall", None, -0.0896491228, 1e-6),
    ],
)
def test_reference_numbers(name, floor, exact, tol):
    case, res = cases()[name], tg.nondetects.theil_sen(*kendall_data(name), floor=floor)
    for peer in (case["nada"], case["nada2"]):
        assert res.slope == pytest.approx(peer["slope"], rel=tol)
        assert res.intercept == pytest.approx(peer["intercept"], rel=tol)
        assert res.tau_a == pytest.approx(peer["tau"], rel=1e-12)
    if exact:
        assert res.slope == pytest.approx(exact, abs=1e-10)


def test_logarithms_have_no_floor():
    res = tg.nondetects.theil_sen(*kendall_data("tce_kendall"))
    assert res.intercept == pytest.approx(-3.599, abs=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_is_where_s_changes_its_sign(seed):
    y, x, c = simulate(25, seed, ties=seed % 2 == 1, trend=1.0)
    d = x < 0.2 if seed > 3 else np.zeros(25, dtype=bool)
    x = np.where(d, 0.2, x)
    res = tg.nondetects.theil_sen(y, x, c, d)

    def score(b):
        return kendall_s(y - b * x, c, x, d)

    if score(res.slope) == 0:
        # The middle of a stretch, whose ends are found to either side.
        left = bisect(lambda b: (score(b) > 0) - 0.5, -200.0, res.slope, xtol=1e-10)
        right = bisect(lambda b: (score(b) >= 0) - 0.5, res.slope, 200.0, xtol=1e-10)
        assert res.slope == pytest.approx(0.5 * (left + right), abs=1e-8)
    else:
        assert score(res.slope - 1e-7) > 0 > score(res.slope + 1e-7)


@pytest.mark.parametrize("ties", [False, True])
def test_without_non_detects_it_is_scipys(ties):
    y, x, _ = simulate(41, 3, ties=ties, limits=(0.0,), trend=0.5)
    res, peer = tg.nondetects.theil_sen(y, x), theilslopes(y, x, alpha=0.95)
    assert res.slope == pytest.approx(peer.slope, rel=1e-12)
    assert res.intercept == pytest.approx(np.median(y - peer.slope * x), rel=1e-6)
    slopes = np.sort([(y[i] - y[j]) / (x[i] - x[j]) for i in range(41) for j in range(i) if x[i] != x[j]])
    # scipy rounds ranks; ends differ by one slope at most.
    for ours, theirs in zip(res.conf_int().loc["slope"], (peer.low_slope, peer.high_slope), strict=True):
        ranks = np.searchsorted(slopes, [ours - 1e-12, theirs - 1e-12])
        assert abs(ranks[0] - ranks[1]) <= 1 or np.isclose(*slopes[ranks])


def test_an_interval_holds_what_the_test_does_not_reject():
    y, x, c = simulate(30, 2, trend=1.0)
    res = tg.nondetects.theil_sen(y, x, c)
    at_zero = tg.nondetects.kendall(y - res.slope * x, x, c, method="normal")
    assert res.variance == pytest.approx(at_zero.variance)
    assert res.pvalue == tg.nondetects.kendall(y, x, c, method="normal").pvalue
    reach = norm.ppf(0.95) * np.sqrt(res.variance)
    for end, out in zip(res.conf_int(0.1).loc["slope"], (-1e-8, 1e-8), strict=True):
        assert abs(kendall_s(y - (end + out) * x, c, x)) > reach
        assert abs(kendall_s(y - (end - out) * x, c, x)) <= reach
    wide, narrow = (res.conf_int(alpha).loc["slope"] for alpha in (0.01, 0.2))
    assert wide.lower < narrow.lower < res.slope < narrow.upper < wide.upper
    assert np.isinf(tg.nondetects.theil_sen(y[:6], x[:6], c[:6]).conf_int(1e-6).loc["slope"]).all()


@pytest.mark.slow
def test_bootstrap_by_hand():
    y, x, c = simulate(30, 2, trend=1.0)
    res = tg.nondetects.theil_sen(y, x, c, bootstrap=200, rng=3)
    rng, slopes = np.random.default_rng(3), []
    for _ in range(200):
        rows = rng.integers(30, size=30)
        slopes.append(tg.nondetects.theil_sen(y[rows], x[rows], c[rows]).slope)
    np.testing.assert_allclose(res.conf_int().loc["slope"], np.quantile(slopes, [0.025, 0.975]))
    assert "200 resamples" in str(res.summary())


def test_rows_without_a_known_x_have_no_part_in_the_intercept():
    y, x, c = simulate(30, 4, trend=1.0)
    d = x < 0.2
    res = tg.nondetects.theil_sen(y, np.maximum(x, 0.2), c, d)
    line = res.slope * x[~d]
    found = turnbull(np.where(c[~d], 0.0, y[~d]) - line, y[~d] - line, np.ones((~d).sum()))
    at = np.argmax(found.survival <= 0.5)
    assert res.intercept == pytest.approx(0.5 * (found.left[at] + found.right[at]), abs=1e-8)
    assert f"without {d.sum()} rows" in res.notes[-1]


def test_bad_input():
    y, x, c = simulate(10, 1)
    with pytest.raises(tg.errors.DataError, match="detected values of y at two values of x"):
        tg.nondetects.theil_sen(y, np.where(c, x, 0.5), c)
    with pytest.raises(tg.errors.DataError, match="floor=1 lies above the smallest value or limit of y, 0"):
        tg.nondetects.theil_sen(y, x, c, floor=1.0)
    with pytest.raises(tg.errors.SpecError, match="bootstrap=50: must be a whole number of at least 200"):
        tg.nondetects.theil_sen(y, x, c, bootstrap=50)
    with pytest.raises(tg.errors.SpecError, match="alpha=95: alpha must be a probability strictly between 0 and 1"):
        tg.nondetects.theil_sen(y, x, c).conf_int(95)


@pytest.mark.slow
def test_coverage_of_the_slope():
    """Of 90% intervals in 400 samples of 50 with 40% non-detects; standard error .015."""
    rng, covered = np.random.default_rng(0), []
    for _ in range(400):
        x = rng.random(50)
        y = 3.0 + x + 0.5 * rng.standard_normal(50)
        limit = rng.choice([3.0, 3.6], 50)
        ends = tg.nondetects.theil_sen(np.maximum(y, limit), x, y < limit).conf_int(0.1).loc["slope"]
        covered.append(ends.lower <= 1.0 <= ends.upper)
    assert 0.86 < np.mean(covered) < 0.95


def test_too_many_pairs_are_refused_before_they_fill_memory():
    y = np.arange(7000.0)
    with pytest.raises(tg.errors.DataError, match="7000 rows would take 2 GB; about 6,000"):
        tg.nondetects.theil_sen(y, y)


@pytest.mark.parametrize("floor", ["0", np.nan, True])
def test_a_floor_is_a_number(floor):
    with pytest.raises(tg.errors.SpecError, match=r"floor=.*a number in the units of y"):
        tg.nondetects.theil_sen([1.0, 2.0, 3.0, 5.0], [1, 2, 3, 4], floor=floor)


def test_an_alpha_is_a_number():
    with pytest.raises(tg.errors.SpecError, match="alpha='a': alpha must be a probability"):
        tg.nondetects.theil_sen([1.0, 2.0, 3.0, 5.0], [1, 2, 3, 4]).conf_int("a")
