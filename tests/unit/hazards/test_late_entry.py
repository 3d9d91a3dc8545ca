"""Curves of hazards that nobody was followed from 0 for: they begin at the first entry, as those of Cox's model do."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter

import tobitgp as tg
from tobitgp.errors import ApproximationWarning

FIRST = "before the first entry"


@pytest.fixture(scope="module")
def lives():
    """Gompertz lives that enter between 40 and 75, of men from 55 on."""
    rng, n, slope = np.random.default_rng(2), 1500, 0.1
    x, man = rng.integers(0, 2, n), rng.integers(0, 2, n)
    entry = rng.uniform(np.where(man, 55, 40), 75)
    life = np.log(np.exp(slope * entry) + rng.exponential(size=n) * slope / np.exp(0.5 * x - 10.5)) / slope
    stop = np.minimum(life, entry + rng.uniform(3, 12, n))
    return pd.DataFrame({"entry": entry, "stop": stop, "event": (stop == life) * 1, "x": x, "man": man})


@pytest.fixture(scope="module")
def smooth(lives):
    return tg.fit("Surv(entry, stop, event) ~ x", lives, family="ph")


def breslow(rows, coefficient, t):
    """Survival of x = 0 to a time by Breslow's estimate."""
    ratio = np.exp(coefficient * rows["x"])
    events = rows["stop"][(rows["event"] == 1) & (rows["stop"] <= t)]
    return np.exp(-sum(1.0 / ratio[(rows["entry"] < u) & (u <= rows["stop"])].sum() for u in events))


@pytest.mark.slow
def test_survival_begins_at_the_first_entry(smooth, lives):
    first = lives["entry"].min()
    cox = CoxPHFitter().fit(lives[["entry", "stop", "event", "x"]], "stop", "event", entry_col="entry").params_["x"]
    assert smooth.params["x"] == pytest.approx(cox, abs=0.15 * smooth.bse["x"])
    ours = smooth.predict_survival_function({"x": [0]}, [first, 60.0, 70.0, 80.0])[0]
    assert ours.iloc[0] == 1.0
    np.testing.assert_allclose(ours.iloc[1:], [breslow(lives, cox, t) for t in ours.index[1:]], atol=0.03)
    truth = np.exp(-(np.exp(0.1 * ours.index) - np.exp(0.1 * first)) / 0.1 * np.exp(-10.5))
    np.testing.assert_allclose(ours, truth, atol=0.03)
    median = smooth.predict_median({"x": [0]}).iloc[0]
    assert breslow(lives, cox, median - 1.0) > 0.5 > breslow(lives, cox, median + 1.0)
    assert (smooth.bands["start"].iloc[0], smooth.bands["stop"].iloc[-1]) == (first, lives["stop"].max())


@pytest.mark.slow
def test_earlier_questions_are_answered_with_a_word(smooth, lives):
    first, row = lives["entry"].min(), {"x": [0]}
    with pytest.warns(ApproximationWarning, match=f"{FIRST} at 40.*Until then survival is 1"):
        early = smooth.predict_survival_function(row, [20.0, 60.0], interval=0.9)
    assert (early.iloc[0] == 1.0).all()
    with pytest.warns(ApproximationWarning, match=FIRST):
        given = smooth.predict_survival_function(row, [40.0], conditional_after=20.0)
    assert given.iloc[0, 0] == pytest.approx(early.iloc[1, 0])
    with pytest.warns(ApproximationWarning, match="Until then hazards are NaN"):
        hazard = smooth.predict_hazard(row, [20.0, first, 60.0])
    assert hazard[0].isna().tolist() == [True, False, False]
    with pytest.warns(ApproximationWarning, match=FIRST):
        assert smooth.predict(row, what="prob", above=30.0).iloc[0] == 1.0
    with pytest.warns(ApproximationWarning, match=FIRST):
        smooth.standardise({"x": [0]}, times=30.0)
    assert smooth.standardise({"x": [0]}, times=5.0, conditional_after=60.0)["estimate"].between(0.9, 1.0).all()


@pytest.mark.slow
def test_restricted_means_are_areas_below_survival(smooth):
    first = smooth.bands["start"].iloc[0]
    grid = np.linspace(first, 80.0, 1001)
    curve = smooth.predict_survival_function({"x": [1]}, grid)[0]
    found = smooth.predict_restricted_mean({"x": [1]}, 80.0).iloc[0]
    assert found == pytest.approx(first + np.trapezoid(curve, grid), abs=0.01)
    grid = np.linspace(0.0, 15.0, 501)
    left = smooth.predict_survival_function({"x": [1]}, grid, conditional_after=60.0)[0]
    given = smooth.predict_restricted_mean({"x": [1]}, 15.0, conditional_after=60.0).iloc[0]
    assert given == pytest.approx(np.trapezoid(left, grid), abs=0.01)
    average = smooth.standardise({"x": [1]}, "rmst", times=15.0, conditional_after=60.0)["estimate"].iloc[0]
    assert average == pytest.approx(given, abs=0.05)


def test_one_band_has_the_rate_of_events_by_exposure(lives):
    res = tg.fit("Surv(entry, stop, event) ~ 1", lives, family=tg.PH("piecewise", bands=1))
    rate = lives["event"].sum() / (lives["stop"] - lives["entry"]).sum()
    found = res.predict_survival_function(lives.head(1), [70.0])
    assert found.iloc[0, 0] == pytest.approx(np.exp(-rate * (70.0 - lives["entry"].min())), rel=1e-6)


@pytest.mark.slow
def test_strata_begin_at_entries_of_their_own(lives, tmp_path):
    res = tg.fit("Surv(entry, stop, event) ~ x + strata(man)", lives, family="ph")
    first, rows = lives.groupby("man")["entry"].min(), pd.DataFrame({"x": 0, "man": [0, 1]})
    found = res.predict_survival_function(rows, [50.0, first[1], 80.0])
    assert found[0].iloc[0] < 1.0 == found[1].iloc[0] == found[1].iloc[1]
    men = lives[lives["man"] == 1]
    assert found[1].iloc[2] == pytest.approx(breslow(men, res.params["x"], 80.0), abs=0.03)
    with pytest.warns(ApproximationWarning, match="hazards are NaN"):
        assert res.predict_hazard(rows, [50.0]).isna().iloc[0].tolist() == [False, True]
    res.save(tmp_path / "fit")
    pd.testing.assert_frame_equal(
        tg.load(tmp_path / "fit").predict_survival_function(rows, [50.0, 80.0]), found.iloc[[0, 2]]
    )


@pytest.mark.slow
def test_incidences_begin_there_too(lives):
    data = lives.assign(cause=lives["event"] * (1 + (np.arange(len(lives)) % 3 == 0)))
    res = tg.fit("Surv(entry, stop, cause) ~ x", data, family="ph")
    times = [data["entry"].min(), 55.0, 80.0]
    incidence = res.predict_cumulative_incidence({"x": [0]}, times)
    np.testing.assert_allclose(incidence.iloc[0], 0.0, atol=1e-15)
    alive = res.predict_survival_function({"x": [0]}, times)
    np.testing.assert_allclose(incidence.sum(axis=1) + alive.iloc[:, 0], 1.0, atol=1e-6)


def test_rows_without_entry_keep_curves_from_zero():
    lung = tg.datasets.load("lung")
    res = tg.fit("Surv(time, event) ~ sex", lung, family="ph")
    assert res.bands["start"].iloc[0] == 0.0
    assert res.predict_survival_function({"sex": [1]}, [0.0]).iloc[0, 0] == 1.0
    assert np.isfinite(res.predict_hazard({"sex": [1]}, [0.0]).iloc[0, 0])


# -- after the last exit ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short():
    """Rows followed for at most 2, of which half of those with x = 0 have the event, and few of those with x = 1."""
    rng = np.random.default_rng(0)
    x, seen = rng.uniform(size=300), rng.uniform(0.5, 2.0, 300)
    life = rng.exponential(size=300) * np.exp(2.0 * x)
    data = pd.DataFrame({"x": x, "t": np.minimum(life, seen), "e": (life <= seen) * 1})
    return tg.fit("Surv(t, e) ~ x", data, family="ph")


@pytest.mark.slow
def test_times_beyond_the_last_exit_are_said_to_be(short):
    late = {"x": [1.0]}
    for ask in (
        lambda: short.predict_median(late),
        lambda: short.predict_percentile(late, p=0.3, interval=0.9),
        lambda: short.predict_median(late, conditional_after=0.5),
        lambda: short.predict(late, what="median"),
        lambda: short.predict(late, what="quantile", q=[0.1, 0.9]),
        lambda: short.predict_restricted_mean(late, 3.0),
        lambda: short.predict_restricted_mean(late, 1.5, conditional_after=1.0),
        lambda: short.standardise({"x": [1.0]}, "median"),
        lambda: short.standardise({"x": [1.0]}, "rmst", times=3.0),
        lambda: short.standardise({"x": [1.0]}, times=1.5, conditional_after=1.0),
        lambda: tg.contrast(short, {"x": 1.0}, {"x": 0.0}, times=3.0),
        lambda: short.marginal_effects("rmst", times=3.0),
        lambda: short.marginal_effects("survival", times=3.0),
        lambda: short.plot_effect("x"),
    ):
        with pytest.warns(ApproximationWarning, match="the last exit") as heard:
            ask()
        assert len(heard) == 1
    inside = short.predict_median({"x": [0.0]}, interval=0.9)
    assert inside["estimate"].iloc[0] == pytest.approx(np.log(2.0), abs=0.15)
    short.predict_restricted_mean({"x": [0.0]}, 1.0, conditional_after=0.5)
    short.standardise({"x": [0.0]}, "median")


def test_times_that_are_never_reached_are_said_to_be_infinite():
    res = tg.fit(
        "Surv(t, e) ~ x",
        pd.DataFrame({"t": [1.0, 2, 3, 4, 4, 4], "e": [1, 1, 0, 0, 0, 0], "x": range(6)}),
        family=tg.PH("piecewise", bands=1),
        method="mle",
    )
    with pytest.warns(
        ApproximationWarning, match="infinite: survival does not reach the requested probability before 4"
    ):
        assert np.isposinf(res.predict_median({"x": [5]}).iloc[0])
