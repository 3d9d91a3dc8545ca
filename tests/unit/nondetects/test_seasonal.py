"""The seasonal Kendall test beside NADA, NADA2, EnvStats, its definition, and its size."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from support.nondetects import cases, frame, kendall_s, signs, simulate

import tobitgp as tg

COLUMNS = ["total_cr_ug_l", "censored", "dectime"]


@pytest.fixture(scope="module")
def gales():
    return frame("gales_creek_chromium")


def seasons_of(n=12, seed=0, seasons=3, trend=0.0, shared=0.0):
    """One value a year in each season, some of them non-detects, with a part that the seasons of a year share."""
    rng = np.random.default_rng(seed)
    year, season = np.repeat(np.arange(n), seasons), np.tile(np.arange(seasons), n)
    noise = shared * rng.standard_normal(n)[year] + np.sqrt(1.0 - shared**2) * rng.standard_normal(n * seasons)
    y = np.exp(0.3 * season + trend * year + 0.7 * noise)
    limit = rng.choice([0.7, 1.1], len(y))
    return np.maximum(y, limit), year, season, y < limit


def test_reference_numbers_with_non_detects(gales):
    case = cases()["gales_seasonal_kendall"]
    res = tg.nondetects.seasonal_kendall(gales.total_cr_ug_l, gales.dectime, gales.season, gales.censored, rng=1)
    for name, peer in case["seasons"].items():
        row = res.seasons.loc[name]
        assert (row.n, row.S) == (peer["n"], peer["S"])
        assert row.tau == pytest.approx(peer["tau"], rel=1e-12)
        assert row.pvalue_nada == pytest.approx(peer["p"], rel=1e-9)
        # S is zero on a stretch: here its middle, there where a bisection ends.
        y, c, time = (gales.loc[gales.season == name, column].to_numpy() for column in COLUMNS)
        assert kendall_s(y - peer["slope"] * time, c, time) == kendall_s(y - row.slope * time, c, time) == 0
        assert row.slope == pytest.approx(peer["slope"], rel=1e-3)
    overall = case["overall"]
    assert res.samples.n["all"] == overall["N"]
    assert res.statistic == overall["S_SK"]
    assert round(res.tau, 2) == overall["tau_SK"]
    assert res.pvalue == res.pvalue_permutation == pytest.approx(overall["pval"], abs=4.0 * (0.0008 + res.pvalue_error))
    # NADA2's line is that of the pooled rows.
    pooled = tg.nondetects.theil_sen(gales.total_cr_ug_l, gales.dectime, gales.censored)
    assert round(pooled.slope, 5) == overall["slope"]
    assert round(pooled.intercept, 2) == overall["intercept"]


def test_reference_numbers_without_non_detects(gales):
    case = cases()["gales_flow_seasonal_kendall"]
    res = tg.nondetects.seasonal_kendall(np.log(gales.discharge_cfs), gales.dectime, gales.season, n_permutations=99)
    weighted = np.average(res.seasons.tau, weights=res.seasons.n)
    assert weighted == pytest.approx(case["tau"], rel=1e-9)
    assert res.slope == pytest.approx(case["slope"], rel=1e-9)
    assert res.heterogeneity.chi2 == pytest.approx(case["statistic"]["Chi-Square (Het)"], rel=1e-9)
    assert res.heterogeneity.pvalue == pytest.approx(case["p"]["Chi-Square (Het)"], rel=1e-9)
    assert res.pvalue_normal == pytest.approx(case["p"]["z (Trend)"], rel=1e-9)
    assert norm.isf(0.5 * res.pvalue_normal) == pytest.approx(-case["statistic"]["z (Trend)"], rel=1e-9)


def test_sums_over_seasons_by_the_definition():
    y, year, season, c = seasons_of(trend=0.1)
    res = tg.nondetects.seasonal_kendall(y, year, season, c, n_permutations=99)
    parts = [(y[rows], c[rows], year[rows]) for rows in (season == k for k in range(3))]
    assert list(res.seasons.S) == [kendall_s(*part) for part in parts]
    assert res.statistic == res.seasons.S.sum()
    assert res.tau == pytest.approx(res.statistic / (3 * 66))
    z = res.seasons.z
    assert res.heterogeneity.chi2 == pytest.approx(np.sum(z**2) - 3 * z.mean() ** 2)
    assert res.heterogeneity.pvalue == pytest.approx(chi2.sf(res.heterogeneity.chi2, 2))
    total = res.seasons.variance.sum()
    assert res.pvalue_normal == pytest.approx(2 * norm.sf((abs(res.statistic) - 1) / np.sqrt(total)))

    def score(b):
        return sum(kendall_s(v - b * t, f, t) for v, f, t in parts)

    assert score(res.slope - 1e-7) >= 0 >= score(res.slope + 1e-7)
    lower, upper = res.conf_int().loc["slope"]
    assert lower < res.slope < upper
    reach = norm.ppf(0.975) * np.sqrt(res.variance)
    assert score(lower - 1e-7) > reach >= score(lower + 1e-7)


def test_one_season_is_the_test_without_seasons():
    y, x, c = simulate(30, 1, trend=1.0)
    res = tg.nondetects.seasonal_kendall(y, x, ["all year"] * 30, c, rng=4)
    line, test = tg.nondetects.theil_sen(y, x, c), tg.nondetects.kendall(y, x, c, rng=4)
    pd.testing.assert_series_equal(res.params[["Intercept", "slope"]], line.params)
    assert (res.statistic, res.pvalue, res.variance) == (test.statistic, test.pvalue, line.variance)
    assert np.isnan(res.heterogeneity.pvalue)


def test_covariances_of_seasons_by_the_definition():
    y, year, season, c = seasons_of(shared=0.8)
    kept = np.arange(len(y)) != 7  # a season of one year is missing
    y, year, season, c = y[kept], year[kept], season[kept], c[kept]
    by_season = np.zeros((3, 12, 12))
    for k in range(3):
        at = year[season == k]
        by_season[k][np.ix_(at, at)] = signs(y[season == k], c[season == k])
    total = 0.0
    for g in range(3):
        for h in range(3):
            if g != h:
                n = [np.sum(season == k) for k in (g, h)]
                ranks = [0.5 * (m + 1 + by_season[k].sum(axis=1)) for m, k in zip(n, (g, h), strict=True)]
                pairs = np.triu(by_season[g] * by_season[h], 1).sum()
                total += (pairs + 4 * ranks[0] @ ranks[1] - 12 * (n[0] + 1) * (n[1] + 1)) / 3
    plain, serial = (tg.nondetects.seasonal_kendall(y, year, season, c, serial=s, n_permutations=9) for s in (0, 1))
    variance = plain.seasons.variance.sum() + total
    assert serial.pvalue == pytest.approx(2 * norm.sf((abs(serial.statistic) - 1) / np.sqrt(variance)))
    assert serial.variance != plain.variance
    assert np.isnan(serial.pvalue_permutation)


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "serial"), [(0.0, False), (0.9, True)])
def test_size_without_a_trend(shared, serial):
    """Share of 400 samples in which p falls below .05; standard error .011."""
    found = []
    for seed in range(400):
        y, year, season, c = seasons_of(15, seed, shared=shared)
        res = tg.nondetects.seasonal_kendall(y, year, season, c, serial=serial, n_permutations=1)
        found.append(res.pvalue_normal < 0.05)
    assert 0.02 < np.mean(found) < 0.085


@pytest.mark.slow
def test_correlated_seasons_are_not_independent():
    """Without ``serial`` the test rejects too often; 300 samples."""
    found = []
    for seed in range(300):
        y, year, season, c = seasons_of(15, seed, shared=0.9)
        found.append(tg.nondetects.seasonal_kendall(y, year, season, c, n_permutations=1).pvalue_normal < 0.05)
    assert np.mean(found) > 0.15


def test_short_seasons_and_rows_without_a_value():
    y, year, season, c = seasons_of()
    labels = np.where(season == 2, np.where(year < 3, "c", None), np.where(season == 1, "b", "a"))
    res = tg.nondetects.seasonal_kendall(y, year, labels, c, n_permutations=9)
    assert list(res.seasons.index) == ["a", "b"]
    assert res.notes[:2] == (
        "Left out: 9 of 36 rows without a value.",
        "Seasons without 4 rows, and two values of which one is known to be larger, were dropped (rows): c (3).",
    )
    dry = tg.nondetects.seasonal_kendall(y, year, season, c | (season == 1), n_permutations=9)
    assert list(dry.seasons.index) == ["0", "2"]
    shown = str(res.summary())
    assert "Equal trends, chi2(1)" in shown
    assert "covariances of seasons" not in shown


def test_bad_input():
    y, year, season, c = seasons_of(9)
    with pytest.raises(tg.errors.DataError, match="serial=True needs 10 years of data, and there are 9"):
        tg.nondetects.seasonal_kendall(y, year, season, c, serial=True)
    y, year, season, c = seasons_of(20)
    with pytest.raises(tg.errors.DataError, match="takes one value a year in each season; 0 has 2 in 0"):
        tg.nondetects.seasonal_kendall(y, year // 2, season, c, serial=True)
    with pytest.raises(tg.errors.DataError, match=r"No season has 4 rows, .* rows: 0 3, 1 3, 2 3"):
        tg.nondetects.seasonal_kendall(y[:9], year[:9], season[:9], c[:9])
    with pytest.raises(tg.errors.DataError, match="'time' in season '0' has 2 distinct values"):
        tg.nondetects.seasonal_kendall(y, year % 2, season, c)
    with pytest.raises(tg.errors.DataError, match="Lengths differ"):
        tg.nondetects.seasonal_kendall(y, year, season[:-1], c)


def test_long_seasons_have_the_normal_approximation():
    rng = np.random.default_rng(4)
    y, time = rng.normal(size=402), np.arange(402.0)
    res = tg.nondetects.seasonal_kendall(y, time, np.arange(402) % 2)
    assert res.method == "normal approximation"
    assert res.pvalue == res.pvalue_normal
    assert np.isnan(res.pvalue_permutation)
    for season in (None, "wet"):
        with pytest.raises(tg.errors.DataError, match="season must have one value for each row"):
            tg.nondetects.seasonal_kendall(y, time, season)
