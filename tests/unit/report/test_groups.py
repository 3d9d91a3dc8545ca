"""Curves of groups beside a fit: steps, bands, numbers at risk, tests, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter
from support.reference import load

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.report.group_curves import Seen, count_at_risk, estimate, log_rank, read_groups, summarise_groups

CASE = load("event_histories.json")["cases"]["lung_nonparametric_sex"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def res(lung):
    return tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")


@pytest.fixture(autouse=True)
def _no_figures():
    yield
    plt.close("all")


def seen_of(data, entry=None, weight=None):
    n, time = len(data), data["time"].to_numpy(float)
    upper = np.where(data["event"] == 1, time, np.inf)
    return Seen(time, upper, np.ones(n) if weight is None else weight, np.full(n, -np.inf) if entry is None else entry)


def test_r_agrees(lung):
    seen = seen_of(lung)
    groups = read_groups(seen, lung["sex"])
    for group, case in zip(groups, CASE["km"].values(), strict=True):
        part = seen.take(group.rows)
        steps, times = estimate(part), np.array(case["time"])
        at = np.searchsorted(steps.times, times[1:], side="right") - 1
        for got, name in zip((steps.survival, *steps.band), ("surv", "lower", "upper"), strict=True):
            np.testing.assert_allclose(got[at], case[name][1:], rtol=1e-10)
        np.testing.assert_array_equal(count_at_risk(part, times), case["n.risk"])
    chi2, df, p = log_rank(seen, groups)
    want = CASE["logrank"]
    assert (chi2, df, p) == (pytest.approx(want["chisq"], rel=1e-9), want["df"], pytest.approx(want["p"], rel=1e-8))
    table = summarise_groups(seen, groups)
    np.testing.assert_array_equal(table[["median", "lower", "upper"]], CASE["median"])
    np.testing.assert_array_equal(table["events"], want["obs"])


def test_late_entry_and_weights_against_lifelines():
    rng = np.random.default_rng(3)
    entry, n = rng.uniform(0.0, 1.0, 300), 300
    data = pd.DataFrame({"time": entry + rng.weibull(1.5, n), "event": rng.random(n) < 0.7})
    weight = rng.integers(1, 4, n).astype(float)
    seen = seen_of(data, entry, weight)
    fitter = KaplanMeierFitter().fit(data["time"], data["event"], entry=entry, weights=weight)
    steps = estimate(seen)
    np.testing.assert_allclose(steps.survival, fitter.survival_function_at_times(steps.times), atol=1e-9)
    times = np.array([0.3, 0.9, 1.5])
    at_risk = [weight[(entry < t) & (data["time"] >= t)].sum() for t in times]
    np.testing.assert_array_equal(count_at_risk(seen, times), at_risk)
    group = np.arange(n) % 2
    score = variance = 0.0
    for t in np.unique(data["time"][data["event"]]):
        at_risk, dead = (entry < t) & (data["time"] >= t), (data["time"] == t) & data["event"]
        total, d, share = weight[at_risk].sum(), weight[dead].sum(), weight[at_risk & (group == 1)].sum()
        score += weight[dead & (group == 1)].sum() - d * share / total
        variance += d * (total - d) / (total - 1.0) * share * (total - share) / total**2 if total > 1.0 else 0.0
    chi2, _, _ = log_rank(seen, read_groups(seen, pd.Series(group, name="g")))
    assert chi2 == pytest.approx(score**2 / variance, rel=1e-9)


def test_averages_of_the_fit_over_the_steps_of_their_rows(lung, res):
    ax = res.plot_survival(by="sex", at_risk=True, times=[0.0, 200.0, 500.0])
    assert ax.get_title(loc="left") == "log-rank chi2(1) = 10.01, p = 0.0016"
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 3]
    for line, sex in zip(drawn, (1, 2), strict=True):
        rows = lung[lung["sex"] == sex]
        want = res.predict_survival_function(rows, [0.0, 200.0, 500.0]).mean(axis=1)
        np.testing.assert_allclose(line.get_ydata(), want, rtol=1e-10)
    _, labels = ax.get_legend_handles_labels()
    assert {"1 (111/137)", "2 (53/90)", "Kaplan-Meier", "average of the fit"} <= set(labels)
    assert ax.get_legend().get_title().get_text() == "sex (events/rows)"
    assert len(ax.collections) == 2
    numbers = [text.get_text() for text in ax.texts]
    assert numbers[:2] == ["at risk", "1"]
    assert numbers.count("137") == numbers.count("90") == 1


def test_late_entry_is_compared_from_the_first_entry_on():
    rng = np.random.default_rng(3)
    entry, arm = 50.0 + rng.exponential(5.0, 300), np.arange(300) % 2
    time = entry + rng.weibull(1.5, 300) * 20.0
    data = pd.DataFrame({"entry": entry, "time": np.minimum(time, 90.0), "event": time < 90.0, "arm": arm})
    data = data[data["entry"] < data["time"]]
    fit = tg.fit("Surv(entry, time, event) ~ arm", data, family="weibull")
    first = data["entry"].min()
    ax = fit.plot_survival(by="arm", at_risk=True, times=[0.0, first, 60.0, 75.0])
    assert ax.get_title(loc="left").startswith("log-rank chi2(1) = ")
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 3]
    want = fit.predict_survival_function(
        {"arm": [0, 1]}, [0.0, 60.0 - first, 75.0 - first], conditional_after=[first] * 2
    )
    for line, curve in zip(drawn, want.to_numpy().T, strict=True):
        np.testing.assert_allclose(line.get_ydata(), curve, rtol=1e-9)


def boxes(ax):
    """Legend, texts below the axis, label of the axis and figure, in pixels."""
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [text.get_window_extent(renderer) for text in ax.texts]
    return ax.get_legend().get_window_extent(renderer), texts, ax.xaxis.label.get_window_extent(renderer), figure.bbox


@pytest.mark.slow
def test_eight_curves_hide_nothing(lung, res):
    """The legend stands beside the axes; numbers lie in the figure, apart from each other and from the axis."""
    by = pd.cut(lung["age"], 8)
    ax = res.plot_survival(by=by, at_risk=True)
    legend, texts, label, figure = boxes(ax)
    assert legend.x0 >= ax.get_window_extent().x1
    assert not ax.collections
    for k, text in enumerate(texts):
        assert figure.x0 <= text.x0 < text.x1 <= figure.x1
        assert figure.y0 <= text.y0 < text.y1 <= figure.y1
        assert not text.overlaps(label)
        assert not any(text.overlaps(other) for other in texts[:k])
    assert legend.x1 <= figure.x1
    legend, *_ = boxes(ax := res.plot_survival(df=lung.head(8)))
    assert legend.x0 >= ax.get_window_extent().x1


def test_intervals_by_turnbull(lung):
    data = lung.assign(lo=np.floor(lung["time"] / 90) * 90, hi=np.floor(lung["time"] / 90) * 90 + 90)
    data["hi"] = data["hi"].where(data["event"] == 1, np.inf)
    fit = tg.fit("interval(lo, hi) ~ sex", data, family="weibull")
    ax = fit.plot_survival(by="sex")
    assert "1 (111/137)" in ax.get_legend_handles_labels()[1]
    assert "Turnbull" in ax.get_legend_handles_labels()[1]
    assert ax.get_title(loc="left") == ""
    assert not ax.collections
    with pytest.raises(SpecError, match="at_risk=True: numbers at risk require right-censored rows"):
        fit.plot_survival(by="sex", at_risk=True)


def test_groups_that_are_no_column_of_the_formula(lung, res):
    ecog = res.plot_survival(by=lung["ph_ecog"].sample(frac=1.0, random_state=1))
    assert "0 (37/63)" in ecog.get_legend_handles_labels()[1]
    assert ecog.get_legend().get_title().get_text() == "ph_ecog (events/rows)"
    alone = res.plot_survival(at_risk=True)
    assert "all (164/227)" in alone.get_legend_handles_labels()[1]


def test_what_has_no_groups(lung, res, tmp_path):
    for by, words in {
        "ph_ecog": "not a column of the formula, which has 'age', 'sex'",
        "age": "42 values, but at most 8 curves",
    }.items():
        with pytest.raises(SpecError, match=words):
            res.plot_survival(by=by)
    with pytest.raises(SpecError, match="has each row"):
        res.plot_survival(by=lung["sex"].head(20))
    with pytest.raises(SpecError, match="1 row without a value"):
        res.plot_survival(by=lung["inst"])
    with pytest.raises(SpecError, match="cannot be combined with df="):
        res.plot_survival(by="sex", df=lung.head(2))
    with pytest.raises(SpecError, match="cannot be combined with a mixture"):
        tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull").plot_survival(at_risk=True)
    res.save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="no groups to draw"):
        tg.load(tmp_path / "fit.tgp").plot_survival(by="sex")
    assert plt.get_fignums() == []


def test_hazards_are_of_times():
    fit = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    with pytest.raises(SpecError, match="requires times, and durable may be negative"):
        fit.plot_hazard()


def test_long_names_of_groups_stay_apart(lung, res):
    names = lung["sex"].map({1: "patients of the treatment group A", 2: "patients of the treatment group B"})
    ax = res.plot_survival(by=names, at_risk=True)
    shown = [text.get_text() for text in ax.texts if "group" in text.get_text()]
    assert len(set(shown)) == 2
    assert all(any(entry.startswith(name) for entry in ax.get_legend_handles_labels()[1]) for name in shown)


def test_groups_in_an_array_are_asked_for_with_an_index(lung, res):
    with pytest.raises(SpecError, match=r"by= must be the name of a column or a Series"):
        res.plot_survival(by=lung["sex"].to_numpy())
