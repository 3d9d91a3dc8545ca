"""Table 1 by group: statistics, tests and standardised differences against R, statsmodels and formulas."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import rankdata
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from support.nondetects import cases as nondetect_cases
from support.nondetects import frame
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

KNOWN = load("event_histories.json")["cases"]["lung_nonparametric_sex"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


def test_r_medians_and_log_rank_test_of_a_censored_column(lung):
    """R's medians by sex, with limits on its default scale as it prints them, and its log-rank test."""
    rows = lung.dropna(subset=["ph_ecog"])
    line = tg.table_one(rows, "sex", ["Surv(time, event)"]).loc[("Surv(time, event)", "median (95% limits)")]
    assert [line[sex].split()[0] for sex in ("1", "2")] == [f"{median[0]}" for median in KNOWN["median"]]
    assert line["test"] == "log-rank"
    assert line["pvalue"] == pytest.approx(KNOWN["logrank"]["p"], rel=1e-9)
    assert np.isnan(line["smd"])
    published = tg.table_one(lung, "sex", ["Surv(time, event)"]).iloc[1]
    assert published[["1", "2", "overall"]].tolist() == ["270 (212, 310)", "426 (348, 550)", "310 (285, 363)"]


def test_r_medians_and_peto_test_of_nondetects():
    """``NADA::cenfit`` and ``survdiff(rho = 1)`` of flipped values."""
    table = tg.table_one(frame("tce2"), "density", ["tce | censor(nondetect=censored)"])
    assert table.iloc[1]["test"] == "Peto-Peto"
    assert table.iloc[1]["pvalue"] == pytest.approx(nondetect_cases()["tce_groups"]["peto_peto"]["p"], rel=1e-9)
    assert table.iloc[1]["High"] == "<1.00"
    known = nondetect_cases()["pyrene_summary"]["km"]
    median = known["nada_quantiles"][known["nada_quantile_probs"].index(0.5)]
    alone = tg.table_one(frame("she_pyrene"), columns=["pyrene | censor(nondetect=censored)"])
    assert alone.iloc[1].tolist() == [f"{median}.0", 0]


def test_numbers_as_statsmodels_and_by_definition(lung):
    rows = lung.dropna(subset=["ph_ecog"])
    rows = rows[rows["ph_ecog"] < 3]
    table = tg.table_one(rows, "ph_ecog", ["age", "meal_cal"], nonnormal=["meal_cal"], digits=5)
    line = table.loc[("age", "mean (sd)")]
    assert line["test"] == "analysis of variance"
    fit = ols("age ~ C(ph_ecog)", rows).fit()
    assert line["pvalue"] == pytest.approx(anova_lm(fit)["PR(>F)"].iloc[0], rel=1e-9)
    groups = [part["age"] for _, part in rows.groupby("ph_ecog")]
    for name, part in zip(("0", "1", "2"), groups, strict=True):
        assert line[name] == f"{part.mean():.3f} ({part.std():.4f})"
    smd = [
        abs(a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2.0)
        for a, b in ((groups[0], groups[1]), (groups[0], groups[2]), (groups[1], groups[2]))
    ]
    assert line["smd"] == pytest.approx(np.mean(smd))
    line, known = table.loc[("meal_cal", "median [quartiles]")], rows.dropna(subset=["meal_cal"])
    assert line["missing"] == len(rows) - len(known)
    q = known["meal_cal"].quantile([0.25, 0.5, 0.75])
    assert line["overall"] == f"{q[0.5]:.2f} [{q[0.25]:.2f}, {q[0.75]:.1f}]"
    ranks = pd.Series(rankdata(known["meal_cal"]), index=known.index)
    n, mean = len(ranks), ranks.groupby(known["ph_ecog"]).mean()
    size = known.groupby("ph_ecog").size()
    statistic = (n - 1) * (size * (mean - (n + 1) / 2) ** 2).sum() / ((ranks - (n + 1) / 2) ** 2).sum()
    assert line["pvalue"] == pytest.approx(chi2_distribution.sf(statistic, 2), rel=1e-9)


def test_categories_by_definition(lung):
    rows = lung.assign(old=lung["age"] > 65, ecog=lung["ph_ecog"].map({0: "good", 1: "fair", 2: "poor"}))
    table = tg.table_one(rows, "sex", ["old", "ecog"])
    counts = pd.crosstab(rows["sex"], rows["old"]).to_numpy(float)
    assert table.loc[("old", "True, n (%)"), "1"] == f"{counts[0, 1]:.0f} ({100 * counts[0, 1] / counts[0].sum():.1f})"
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    yates = ((np.abs(counts - expected) - 0.5) ** 2 / expected).sum()
    first = table.loc[("old", "False, n (%)")]
    assert first["pvalue"] == pytest.approx(chi2_distribution.sf(yates, 1), rel=1e-9)
    p = counts[:, 1] / counts.sum(axis=1)
    assert first["smd"] == pytest.approx(abs(p[0] - p[1]) / np.sqrt((p * (1 - p)).sum() / 2.0))
    counts = pd.crosstab(rows["sex"], rows["ecog"]).to_numpy(float)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    line = table.loc[("ecog", "fair, n (%)")]
    assert line["missing"] == rows["ecog"].isna().sum()
    assert line["pvalue"] == pytest.approx(
        chi2_distribution.sf(((counts - expected) ** 2 / expected).sum(), 2), rel=1e-9
    )
    # Yang and Dalton (2012): the distance does not depend on the level that is left out.
    a, b = counts / counts.sum(axis=1, keepdims=True)
    for kept in ([0, 1], [0, 2], [1, 2]):
        middle = (np.diag(a[kept]) - np.outer(a[kept], a[kept]) + np.diag(b[kept]) - np.outer(b[kept], b[kept])) / 2.0
        gap = (a - b)[kept]
        assert line["smd"] == pytest.approx(np.sqrt(gap @ np.linalg.solve(middle, gap)))


def test_intervals_have_the_interval_of_their_median():
    data = {"lo": [0.0, 2.0, 1.0, 3.0], "hi": [2.0, 4.0, 3.0, np.inf], "g": [*"aabb"]}
    table = tg.table_one(data, "g", ["interval(lo, hi)"])
    assert table.loc[("interval(lo, hi)", "median"), "overall"] == "1.00 to 2.00"
    assert np.isnan(table.iloc[1]["pvalue"])
    unreached = tg.table_one({"t": [1.0, 2.0], "e": [0, 0], "g": [*"ab"]}, "g", ["Surv(t, e)"]).iloc[1]
    assert unreached["overall"] == "not reached (not reached, not reached)"


def test_all_columns_without_groups(lung):
    table = tg.table_one(lung)
    assert table.columns.tolist() == ["overall", "missing"]
    assert table.loc[("n", ""), "overall"] == "228"
    assert table.index.get_level_values("variable").tolist() == ["n", *lung.columns]
    pd.testing.assert_frame_equal(tg.table_one(pl.from_pandas(lung), "sex"), tg.table_one(lung, "sex"))


def test_columns_of_which_little_is_known():
    data = {"x": [1.0, np.nan, np.nan, np.nan], "c": [None, None, "u", "v"], "k": [2, 2, 2, 2], "g": [*"aabb"]}
    table = tg.table_one(data, "g")
    assert table.loc[("x", "mean (sd)"), ["a", "b"]].tolist() == ["1.00 (NA)", ""]
    assert table.loc[("c", "u, n (%)"), ["a", "b"]].tolist() == ["", "1 (50.0)"]
    assert table[["pvalue"]].isna().all(axis=None)
    assert table.loc[("k", "mean (sd)"), "smd"] == 0.0


def test_rows_without_a_group_are_dropped(lung):
    with pytest.warns(UserWarning, match="1 of 228 rows is dropped: missing values in 'ph_ecog'"):
        table = tg.table_one(lung, "ph_ecog", ["age"])
    assert table.loc[("n", ""), "overall"] == "227"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"by": "sexx"}, DataError, "by='sexx'.*'sex'"),
        ({"columns": "age"}, SpecError, "must be a list"),
        ({"columns": ["agee"]}, DataError, "columns='agee'"),
        ({"nonnormal": ["z"]}, DataError, "nonnormal='z'"),
        ({"categorical": ["time"]}, DataError, "more than 50"),
        ({"digits": 0}, SpecError, "digits=0"),
        ({"by": "arm"}, DataError, "by='arm': a group has the name 'test'"),
        ({"columns": ["far"]}, DataError, "'far' has infinite values"),
    ],
)
def test_what_has_no_table(lung, given, error, words):
    with pytest.raises(error, match=words):
        tg.table_one(lung.assign(arm=np.where(lung["sex"] == 1, "test", "control"), far=np.inf), **given)
