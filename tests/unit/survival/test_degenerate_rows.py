"""Rows, groups and columns of which little or nothing can be said, in every function of ``tg.survival``."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter
from lifelines.statistics import logrank_test as lifelines_test
from scipy.stats import chi2

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.survival import (
    cumulative_incidence,
    finegray,
    gray_test,
    kaplan_meier,
    logrank_test,
    plot_probability,
    quantiles,
    turnbull,
)

EARLY = "ends at or before its entry"
LATE = {"e": [0.0, 2.5, 1.0, 0.0], "time": [2.0, 2.0, 3.0, 4.0], "event": [1, 1, 0, 1], "g": [1, 2, 1, 2]}
FEW = {"t": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "c": [1, 1, 0, 1, 1, 2], "e": [1, 1, 0, 1, 1, 1], "g": [*"ababab"]}

ONE_EVENT = {
    "kaplan_meier": lambda formula, d: kaplan_meier(f"{formula} ~ 1", d),
    "quantiles": lambda formula, d: quantiles(f"{formula} ~ g", d),
    "turnbull": lambda formula, d: turnbull(f"{formula} ~ 1", d),
    "logrank_test": lambda formula, d: logrank_test(f"{formula} ~ g", d),
    "plot_probability": lambda formula, d: plot_probability(f"{formula} ~ 1", d),
    "table_one": lambda formula, d: tg.table_one(d, "g", [formula]),
}


# -- rows that end before they could be seen --------------------------------------------------------------------------


@pytest.mark.parametrize("event", [0, 1])
@pytest.mark.parametrize("entry", [2.0, 2.5, 2.0 - 1e-12])
@pytest.mark.parametrize("call", ONE_EVENT.values(), ids=ONE_EVENT)
def test_rows_that_end_at_or_before_their_entry(call, entry, event):
    """As in ``tg.fit``; times that differ by rounding are equal here."""
    rows = {**LATE, "e": [0.0, entry, 1.0, 0.0], "event": [1, event, 0, 1]}
    with pytest.raises(DataError, match=f"{EARLY}.* row 1|row 1.*{EARLY}"):
        call("Surv(e, time, event)", rows)


@pytest.mark.parametrize("call", [cumulative_incidence, gray_test])
def test_causes_of_rows_that_end_before_their_entry(call):
    rows = {**LATE, "cause": [1, 2, 0, 1]}
    with pytest.raises(DataError, match=EARLY):
        call("Surv(e, time, cause) ~ g", rows)


def test_rows_censored_before_a_window():
    with pytest.raises(DataError, match=EARLY):
        kaplan_meier("time ~ 1 | censor(event=event) | truncate(2.5)", {"time": [2.0, 3.0], "event": [0, 1]})


def test_rows_are_named_as_in_the_data():
    """Also below a row that is dropped because it has no group."""
    rows = {**LATE, "g": [None, "a", "b", "a"]}
    with pytest.warns(UserWarning, match="1 of 4 rows is dropped"), pytest.raises(DataError, match="row 1 holds 2"):
        kaplan_meier("Surv(e, time, event) ~ g", rows)


def test_an_entry_that_is_missing():
    with pytest.raises(DataError, match=r"The entry e is missing in row 1\. Write -inf where there is none"):
        kaplan_meier("Surv(e, time, event) ~ 1", {**LATE, "e": [0.0, np.nan, 1.0, 0.0]})


# -- times of a table -------------------------------------------------------------------------------------------------


def test_times_are_sorted_and_listed_once():
    """Counts by loops over the rows since the time before."""
    times, events, causes = np.array(FEW["t"]), np.array(FEW["e"]), np.array(FEW["c"])
    table = kaplan_meier("Surv(t, e) ~ 1", FEW, times=[5, -1, 3.5, 5, 2])
    assert table.index.tolist() == [-1.0, 2.0, 3.5, 5.0]
    incidence = cumulative_incidence("Surv(t, c) ~ 1", FEW, times=[5, -1, 3.5, 5, 2])
    for low, high in itertools.pairwise([-np.inf, -1.0, 2.0, 3.5, 5.0]):
        here = (times > low) & (times <= high)
        assert table.loc[high, "n_event"] == (events[here] == 1).sum()
        assert table.loc[high, "n_censor"] == (events[here] == 0).sum()
        assert table.loc[high, "n_risk"] == (times >= high).sum()
        assert [incidence.loc[(k, high), "n_event"] for k in (1, 2)] == [(causes[here] == k).sum() for k in (1, 2)]


@pytest.mark.parametrize("times", [[], [1.0, np.nan], [[1.0]], "a", [np.inf]])
def test_what_are_no_times(times):
    for call, formula in ((kaplan_meier, "Surv(t, e) ~ 1"), (cumulative_incidence, "Surv(t, c) ~ 1")):
        with pytest.raises(SpecError, match="times= must be a list of finite numbers"):
            call(formula, FEW, times=times)


# -- durations --------------------------------------------------------------------------------------------------------


def test_durations_are_days_everywhere():
    rows = pd.DataFrame(FEW)
    long = rows.assign(t=pd.to_timedelta(rows["t"] * 24.0, unit="h"))
    grid, start = pd.to_timedelta([48, 120], unit="h"), pd.Timedelta(hours=48)
    for call in (
        lambda d, times, start: kaplan_meier("Surv(t, e) ~ g", d, times=times, start=start),
        lambda d, times, start: quantiles("Surv(t, e) ~ g", d, start=start),
        lambda d, times, start: turnbull("Surv(t, e) ~ g", d),
        lambda d, times, start: cumulative_incidence("Surv(t, c) ~ g", d, times=times),
        lambda d, times, start: logrank_test("Surv(t, e) ~ g", d).groups,
        lambda d, times, start: finegray("Surv(t, c)", d, 1)[["fgid", "fgstart", "fgstop", "fgwt"]],
        lambda d, times, start: tg.table_one(d, "g", ["t", "Surv(t, e)"]),
    ):
        pd.testing.assert_frame_equal(call(long, grid, start), call(rows, [2.0, 5.0], 2.0))
    assert kaplan_meier("Surv(t, e) ~ 1", long, times=pd.Timedelta(days=2)).index.tolist() == [2.0]
    res = tg.fit("Surv(t, e) ~ 1", rows, family="weibull")
    want = res.predict_survival_function(rows[:1], [2.0, 5.0])
    pd.testing.assert_frame_equal(res.predict_survival_function(rows[:1], grid), want)


# -- events that are rare or that nothing is compared at --------------------------------------------------------------


def test_a_cause_of_one_event():
    """With the weights 1 / G of the events, G(5) = G(6) = 3/4 the Kaplan-Meier estimate of censoring; lifelines."""
    table = cumulative_incidence("Surv(t, c) ~ 1", FEW)
    assert table.loc[(1, 5.0), "incidence"] == pytest.approx((1.0 + 1.0 + 4.0 / 3.0 + 4.0 / 3.0) / 6.0, rel=1e-12)
    assert table.loc[(2, 6.0), "incidence"] == pytest.approx((4.0 / 3.0) / 6.0, rel=1e-12)
    for cause in (1, 2):
        fitter = AalenJohansenFitter(calculate_variance=False).fit(np.array(FEW["t"]), np.array(FEW["c"]), cause)
        theirs = fitter.cumulative_density_.iloc[:, 0]
        np.testing.assert_allclose(table.loc[cause, "incidence"], theirs[table.loc[cause].index], rtol=1e-12)
    with pytest.raises(DataError, match="The cause 2 of 'c' has 1 event, fewer than the 2 parameters"):
        tg.fit("Surv(t, c) ~ 1", FEW, family="weibull")


def test_grays_test_of_a_cause_of_one_event():
    """An event at t = 1, before which nothing happened: its variance is that of one draw from the rows, p (1 - p)."""
    found = gray_test("Surv(t, c) ~ g", {**FEW, "c": [2, 1, 0, 1, 1, 1], "g": [*"abbabb"]}).loc[2]
    share = 2.0 / 6.0
    assert found["statistic"] == pytest.approx((1.0 - share) ** 2 / (share * (1.0 - share)), rel=1e-9)
    assert found["pvalue"] == pytest.approx(chi2.sf(2.0, 1), rel=1e-9)


def test_fine_and_grays_rows_of_a_cause_of_one_event():
    """Weights are G(t-) / G(t_i-), G = 3/4 after 3."""
    rows = finegray("Surv(t, c)", FEW, 2)
    assert rows.loc[rows["fgstatus"] == 1, "fgstop"].tolist() == [6.0]
    assert rows.loc[(rows["fgid"] < 2) & (rows["fgstart"] > 0.0), "fgwt"].tolist() == [0.75, 0.75]


def test_groups_without_events_have_a_row_at_their_last_time():
    rows = {**FEW, "g": [*"aabacc"], "c": [1, 2, 0, 1, 0, 0], "e": [1, 1, 0, 1, 0, 0]}
    table = kaplan_meier("Surv(t, e) ~ g", rows)
    assert table.loc["c"].reset_index().to_numpy().tolist() == [[6.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]]
    assert table.loc["b"].index.tolist() == [3.0]
    assert table.loc["a"].index.tolist() == [1.0, 2.0, 4.0]
    incidence = cumulative_incidence("Surv(t, c) ~ g", rows)
    for cause in (1, 2):
        assert incidence.loc[("c", cause)].reset_index().to_numpy().tolist() == [[6.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    assert kaplan_meier("Surv(t, e) ~ 1", {"t": [1.0, 2.0], "e": 0})["survival"].tolist() == [1.0]


def test_limits_of_an_incidence_of_0():
    """Before the first event of a cause, whatever else has happened."""
    table = cumulative_incidence("Surv(t, c) ~ 1", FEW, times=[0.5, 2.0])
    assert (table.loc[2, ["incidence", "se", "lower", "upper"]] == 0.0).all(axis=None)


@pytest.mark.parametrize("trend", [False, True])
def test_log_rank_test_of_what_is_not_compared(trend):
    with pytest.raises(DataError, match=r"nothing to compare: at each event in each stratum of 'g', the rows at risk"):
        logrank_test("Surv(t, e) ~ g", FEW, strata="g", trend=trend)
    with pytest.raises(DataError, match="nothing to compare: at each event, the rows at risk belong to one group"):
        logrank_test("Surv(t, e) ~ g", {"t": [1.0, 2.0, 3.0], "e": [0, 0, 1], "g": [1, 1, 2]}, trend=trend)


def test_table_one_has_no_test_of_what_is_not_compared():
    line = tg.table_one({"t": [1.0, 2.0, 3.0], "e": [0, 0, 1], "g": [1, 1, 2]}, "g", ["Surv(t, e)"]).iloc[1]
    assert line["test"] == ""
    assert np.isnan(line["pvalue"])


def test_grays_test_of_what_is_not_compared():
    with pytest.warns(UserWarning, match="nothing to compare of cause 2: at each event"):
        found = gray_test("Surv(t, c) ~ g", FEW)
    assert found.loc[2, "df"] == 0
    assert np.isnan(found.loc[2, "pvalue"])
    assert 0.0 < found.loc[1, "pvalue"] < 1.0


def test_degrees_of_freedom_are_those_of_groups_that_meet():
    """Groups a and b in one stratum, c and d in another: the sum of lifelines' two tests, of 2 degrees of freedom."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"t": rng.exponential(size=80), "e": rng.random(80) < 0.7, "g": [*"abcd"] * 20})
    rows["s"] = rows["g"].isin(["a", "b"])
    found = logrank_test("Surv(t, e) ~ g", rows, strata="s")
    parts = [part for _, part in rows.groupby("g")]
    each = [
        lifelines_test(x["t"], y["t"], x["e"], y["e"]).test_statistic
        for x, y in ((parts[0], parts[1]), (parts[2], parts[3]))
    ]
    assert found.df == 2
    assert found.statistic == pytest.approx(sum(each), rel=1e-9)
    assert found.pvalue == pytest.approx(chi2.sf(sum(each), 2), rel=1e-9)


# -- standardised differences -----------------------------------------------------------------------------------------


def smoothed(a, b, share):
    """The distance of Yang and Dalton with a little of each level in both groups, all levels but the last."""
    p, q = ((1.0 - share) * x / x.sum() + share / len(x) for x in (np.asarray(a, float), np.asarray(b, float)))
    covariance = 0.5 * (np.diag(p) - np.outer(p, p) + np.diag(q) - np.outer(q, q))[:-1, :-1]
    gap = (p - q)[:-1]
    return np.sqrt(gap @ np.linalg.solve(covariance, gap))


@pytest.mark.parametrize(
    ("first", "second"),
    [("uu", "vv"), ("uuw", "vv"), ("uuv", "uvv"), ("uuvw", "uvv"), ("uv", "vw"), ("uu", "uu"), ("uuv", "uuuu")],
)
def test_standardised_difference_of_categories(first, second):
    """The limit as the shares that were added go to 0; it is infinite if the groups have no level in common."""
    data = {"x": [*first, *second], "g": ["a"] * len(first) + ["b"] * len(second)}
    found = tg.table_one(data, "g", ["x"]).iloc[1]["smd"]
    levels = sorted({*first, *second})
    a, b = ([each.count(level) for level in levels] for each in (first, second))
    if len(levels) == 1:
        assert found == 0.0
    elif set(first) & set(second):
        assert found == pytest.approx(smoothed(a, b, 1e-9), rel=1e-6)
    else:
        assert found == np.inf
        assert smoothed(a, b, 1e-9) > 1e3 * smoothed(a, b, 1e-2) / 2.0


def test_a_level_of_a_third_group_changes_no_pair():
    data = {"x": [*"uuv", *"uvv", *"www"], "g": [*"aaabbbccc"]}
    found = tg.table_one(data, "g", ["x"]).iloc[1]["smd"]
    assert found == np.inf
    two = {name: values[:6] for name, values in data.items()}
    assert tg.table_one(two, "g").iloc[1]["smd"] == pytest.approx((1.0 / 3.0) / np.sqrt(2.0 / 9.0), rel=1e-12)


# -- columns that make no table ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: tg.table_one(d, columns=["x"]), "'x' holds a dict in row 1"),
        (lambda d: tg.table_one(d, "x", ["t"]), "'x' holds a dict in row 1"),
        (lambda d: kaplan_meier("Surv(t, e) ~ x", d), "'x' holds a dict in row 1"),
        (lambda d: gray_test("Surv(t, c) ~ x", d), "'x' holds a dict in row 1"),
        (lambda d: logrank_test("Surv(t, e) ~ g", d, strata="x"), "'x' holds a dict in row 1"),
        (lambda d: kaplan_meier("Surv(t, e) ~ time", d), "groups 'time' has the name of a column of the table"),
        (lambda d: kaplan_meier("Surv(t, e) ~ g + n_risk", d), "groups 'n_risk' has the name"),
        (lambda d: quantiles("Surv(t, e) ~ p", d), "groups 'p' has the name"),
        (lambda d: turnbull("Surv(t, e) ~ left", d), "groups 'left' has the name"),
        (lambda d: cumulative_incidence("Surv(t, c) ~ cause", d), "groups 'cause' has the name"),
        (lambda d: logrank_test("Surv(t, e) ~ n", d), "groups 'n' has the name"),
    ],
)
def test_columns_of_groups_that_make_no_table(call, words):
    names = ("time", "n_risk", "p", "left", "cause", "n")
    rows = pd.DataFrame({**FEW, **dict.fromkeys(names, [1, 2] * 3)}).assign(x=["a", {"b": 1}, "a", "b", "a", "b"])
    with pytest.raises(DataError, match=words):
        call(rows)


@pytest.mark.parametrize("argument", ["columns", "nonnormal", "categorical"])
def test_names_are_a_list(argument):
    words = rf"{argument}='c': {argument} must be a list of names, e\.g\. {argument}=\['c'\]"
    with pytest.raises(SpecError, match=words):
        tg.table_one(FEW, "g", **{argument: "c"})


@pytest.mark.parametrize(
    ("call", "formula", "shown"),
    [
        (kaplan_meier, "Surv(tim, e) ~ g", "Surv(tim, e) ~ g\n       ^"),
        (gray_test, "Surv(tim, c) ~ g", "Surv(tim, c) ~ g\n       ^"),
        (kaplan_meier, "t ~ g | censor(event=ev)", "t ~ g | censor(event=ev)\n                       ^"),
        (lambda formula, d: tg.fit(formula, d, family="ph"), "Surv(tim, c) ~ e", "Surv(tim, c) ~ e\n       ^"),
    ],
)
def test_errors_show_the_formula_as_written(call, formula, shown):
    with pytest.raises(FormulaError) as caught:
        call(formula, FEW)
    assert str(caught.value).endswith(f"\n  {shown}")


def test_grammar_of_one_row():
    rows = {**FEW, "g": [None, *"babab"]}
    for call in (
        lambda: kaplan_meier("Surv(t, e) ~ g", rows),
        lambda: tg.table_one(rows, "g", ["t"]),
        lambda: tg.nondetects.summary(pd.DataFrame(rows), "t", by="g"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert any("1 of 6 rows is dropped: missing values in 'g'" in str(each.message) for each in caught)
