"""Conformal intervals cover as often as they say, under models that are wrong, and their orders are those of scores."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.results.conformal import ConformalIntervals


def wrong_model(rng, n):
    """Skewed noise whose scale grows along a curve, with two detection limits: no straight line with normal noise."""
    x = rng.uniform(0.0, 1.0, n)
    true = np.sin(6.0 * x) + (0.2 + x) * (rng.gamma(2.0, 1.0, n) - 2.0)
    lim = np.where(rng.random(n) < 0.5, -1.5, -0.2)
    return pd.DataFrame({"x": x, "true": true, "lim": lim, "y": np.maximum(true, lim)})


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*there is no finite lower end")
def test_coverage_under_a_wrong_model():
    found = {}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        train, calibration, new = (wrong_model(rng, n) for n in (60, 99, 200))
        res = tg.fit("y ~ x | censor(lim)", train)
        for what, shown in (("uncensored", new.true), ("observed", new.y)):
            intervals = res.conformalise(calibration, what)
            for side in ("both", "upper"):
                ends = intervals.predict(new, 0.9, side)
                found.setdefault((what, side), []).append(((shown >= ends.lower) & (shown <= ends.upper)).mean())
    error = 0.003  # of each mean: .04 over sets, 150 of them
    for key in [("observed", "both"), ("observed", "upper"), ("uncensored", "upper")]:
        assert 0.9 - 3 * error < np.mean(found[key]) < 0.91 + 3 * error, key
    assert np.mean(found["uncensored", "both"]) > 0.94  # no lower end: a quarter of the rows lie below limits


KINDS = {
    "process": ("Surv(time, event) ~ gp(age) + sex", {"family": "weibull", "method": tg.EP(hyper="maximize")}),
    "regression": ("Surv(time, event) ~ age + sex", {"family": "gengamma"}),
    "mixture": ("time ~ mixture(2) | censor(event=event)", {"family": "lognormal"}),
    "hazards": ("Surv(time, event) ~ age + sex", {"family": "ph"}),
    "spline": ("Surv(time, event) ~ age + sex", {"family": tg.PH("spline", df=3)}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_ends_are_the_order_statistics_of_scores(lung, kind):
    formula, options = KINDS[kind]
    res, calibration = tg.fit(formula, lung[::2], **options), lung[1:120:2]
    intervals = res.conformalise(calibration)
    n, interval = len(calibration), 0.8
    k = math.floor((n + 1) * 0.2)
    events = calibration.event.to_numpy() == 1
    if kind == "mixture":
        below = 1.0 - res.predict_survival_function(times=calibration.time.to_numpy()).to_numpy()[:, 0]
    else:
        times, place = np.unique(calibration.time, return_inverse=True)
        below = 1.0 - res.predict_survival_function(calibration, times=times).to_numpy()[place, np.arange(n)]
    np.testing.assert_allclose(intervals.below, np.sort(below), atol=2e-3 if kind == "hazards" else 1e-8)
    low, high = intervals.levels(interval, "lower")
    assert (low, high) == (np.sort(intervals.below)[k - 1], 1.0)
    assert (intervals.above == 1.0).sum() == (~events).sum()
    ends = intervals.predict(lung.tail(3), interval, "lower")
    np.testing.assert_allclose(ends.lower, res.predict(lung.tail(3), "quantile", q=low))
    assert np.isposinf(ends.upper).all()
    assert (intervals.predict(lung.tail(2), 0.999).lower == 0.0).all()


def test_levels_by_hand():
    intervals = ConformalIntervals(None, "uncensored", np.arange(1, 20) / 20, np.arange(1, 20) / 20, 0, 0.0)
    assert intervals.levels(0.9) == (0.05, 0.95)
    assert intervals.levels(0.95) == (0.0, 1.0)
    assert intervals.levels(0.9, "lower") == (0.1, 1.0)
    assert intervals.levels(0.9, "upper") == (0.0, 0.9)


def test_rows_at_limits_are_known_where_what_is_shown_is_asked_for():
    data = wrong_model(np.random.default_rng(0), 80)
    res = tg.fit("y ~ x | censor(lim)", data[:40])
    hidden, shown = (res.conformalise(data[40:], what) for what in ("uncensored", "observed"))
    left = int((data.y[40:] == data.lim[40:]).sum())
    assert (hidden.below == 0.0).sum() == left == (shown.above == 0.0).sum()
    assert (shown.below > 0.0).all()
    new = data.assign(x=np.where(data.index == 3, np.nan, data.x))[:6]
    ends = shown.predict(new, 0.8)
    assert (ends.lower.drop(3) >= new.lim.drop(3)).all()
    assert ends.index.equals(new.index)
    assert ends.loc[3].isna().all()
    assert "90% intervals lie between" in str(hidden)
    assert f"{left} of them censored" in str(hidden)


@pytest.mark.slow
def test_what_has_no_guarantee_is_refused(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    with pytest.raises(tg.errors.SpecError, match="what='median' has no conformal intervals"):
        res.conformalise(lung, "median")
    with pytest.raises(tg.errors.SpecError, match=r"limits are unknown.*or use what='uncensored'"):
        res.conformalise(lung[1:], "observed").predict(lung)
    with pytest.raises(tg.errors.SpecError, match="side='left'"):
        res.conformalise(lung[1:]).predict(lung, side="left")
    counts = tg.fit("n ~ mixture(2)", {"n": np.random.default_rng(1).poisson(3.0, 50)}, family="poisson")
    with pytest.raises(tg.errors.SpecError, match="does not support counts"):
        counts.conformalise({"n": [1, 2, 3]})


def test_rows_of_the_fit_are_no_calibration(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    with pytest.warns(tg.errors.ApproximationWarning, match="was given the rows of the fit"):
        res.conformalise(lung)
    res.conformalise(lung[1:])


def test_rows_without_what_was_seen_are_said_to_lack_it():
    lung = tg.datasets.load("lung")
    res = tg.fit("Surv(time, event) ~ age", lung[:100], family="weibull")
    with pytest.raises(
        tg.errors.SpecError, match=r"conformalise\(\) requires the response of each row. The new data lack 'time'"
    ):
        res.conformalise({"age": [50.0], "event": [1]})


def censored_twice(rng, n):
    """Six of ten rows may be censored below, and six of ten above."""
    x = rng.uniform(0.0, 1.0, n)
    low, high = np.where(rng.random(n) < 0.6, -0.5, -9.0), np.where(rng.random(n) < 0.6, 1.0, 9.0)
    y = np.clip(np.sin(5.0 * x) + rng.normal(size=n), low, high)
    return pd.DataFrame({"x": x, "y": y, "low": low, "high": high})


def said(ask):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        answer = ask()
    return answer, [str(each.message) for each in heard]


def test_ends_without_a_limit_have_the_rows_that_are_the_cause_and_remedies_that_help():
    rng = np.random.default_rng(3)
    train, calibration, new = (censored_twice(rng, n) for n in (60, 80, 5))
    res = tg.fit("y ~ x | censor(low, high)", train)
    intervals = res.conformalise(calibration)
    left, right = ((calibration.y == calibration[name]).sum() for name in ("low", "high"))
    for side, rows in (("both", (left, right)), ("lower", (left,)), ("upper", (right,))):
        ends, (message,) = said(lambda side=side: intervals.predict(new, 0.9, side))
        assert not np.isfinite(ends[["lower", "upper"] if side == "both" else side]).any(axis=None)
        assert [int(k) for k in re.findall(r"(\d+) of the 80 calibration rows have no known", message)] == list(rows)
        n_ends = len(rows)
        allowed = math.floor(81 * 0.1 / n_ends) - 1
        assert f"At most {allowed} may" in message
        widest = float(re.search(r"Use interval=([\d.]+) or less", message)[1])
        assert widest == pytest.approx(1.0 - n_ends * (max(rows) + 1) / 81, abs=1e-3)
        ends, silence = said(lambda side=side, widest=widest: intervals.predict(new, widest, side))
        assert silence == []
        assert np.isfinite(ends[["lower", "upper"] if side == "both" else side]).all(axis=None)
        assert said(lambda side=side, widest=widest: intervals.predict(new, widest + 0.002, side))[1] != []
        assert "conformalise(..., what='observed')" in message
    shown, silence = said(lambda: res.conformalise(calibration, "observed").predict(new, 0.9))
    assert silence == []
    assert np.isfinite(shown).all(axis=None)


def test_too_few_rows_are_counted():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.uniform(size=240), "y": rng.normal(size=240)})
    res = tg.fit("y ~ x", data[:40])
    ends, (message,) = said(lambda: res.conformalise(data[40:60]).predict({"x": 0.5}, 0.95))
    assert np.isinf(ends).all(axis=None)
    fewest = int(re.search(r"It requires (\d+) calibration rows, but there are only 20. Use more rows", message)[1])
    for n in (fewest, fewest - 1):
        ends, heard = said(lambda n=n: res.conformalise(data[40 : 40 + n]).predict({"x": 0.5}, 0.95))
        assert (len(heard) == 0) == (n == fewest) == bool(np.isfinite(ends).all(axis=None))
    widest = float(re.search(r"Use interval=([\d.]+) or less", message)[1])
    ends, heard = said(lambda: res.conformalise(data[40:60]).predict({"x": 0.5}, widest))
    assert heard == []
    assert np.isfinite(ends).all(axis=None)


def test_times_have_the_other_side(lung):
    res = tg.fit("Surv(time, event) ~ age", lung[::2], family="weibull")
    intervals = res.conformalise(lung[1::2])
    right = int((lung[1::2]["event"] == 0).sum())
    ends, (message,) = said(lambda: intervals.predict({"age": 60}))
    assert np.isinf(ends["upper"]).all()
    assert f"there is no finite upper end. {right} of the {len(lung[1::2])} calibration rows have" in message
    assert "side='lower'" in message
    assert said(lambda: intervals.predict({"age": 60}, side="lower"))[1] == []


def test_quantiles_of_the_cured_are_infinite():
    data = tg.datasets.simulate_cure(n=400, rng=1)
    res = tg.fit("Surv(time, event) ~ treated", data[:200], family="weibull", cure="~ treated")
    intervals = res.conformalise(data[200:])
    ends, (message,) = said(lambda: intervals.predict({"treated": [0, 1]}, 0.05))
    assert np.isinf(ends["upper"].to_numpy()).tolist() == [False, True]
    assert "not finite in row 1: the fit's quantile of order" in message
    assert "Use a smaller interval=" in message
    ends, (message,) = said(lambda: intervals.predict({"treated": [0, 1]}, 0.05, "lower"))
    assert np.isinf(ends["lower"].to_numpy()).tolist() == [False, True]
    assert "Use a larger interval=" in message
    for options in ((0.9, "lower"), (0.02, "upper")):
        ends, heard = said(lambda options=options: intervals.predict({"treated": [0, 1]}, *options))
        assert heard == []
        assert np.isfinite(ends[options[1]]).all()
