"""Every way to write a response and its censoring: rows are counted as they should, and predictions need neither."""

import numpy as np
import pandas as pd
import pytest
from support.spellings import SIGMA, N, check_counts, check_prediction, counts, rows

import tobitgp as tg

FIXED = {**SIGMA, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8}
DATA = rows()
LEFT, RIGHT, BETWEEN = (DATA["status"] == code for code in (-1, 1, 2))
ENDS = counts(left=LEFT, right=RIGHT, interval=BETWEEN)
BELOW, ABOVE = DATA["y"] <= DATA["low"], DATA["y"] >= 2.9
LIMITS, FLOOR, TOP = counts(left=BELOW, right=ABOVE), counts(left=BELOW), counts(right=ABOVE)
CENSORED = DATA["event"] == 0

RESPONSES = {
    "y": (counts(), "response   y"),
    "log(time)": (counts(), "response   log(time)"),
    "y - 1": (counts(), "response   y - 1"),
    "text": (LIMITS, "in the text: <0.5 is left-censored"),
    "Surv(time, event)": (counts(right=CENSORED), "right-censored at time where event is 0"),
    "Surv(time, event == 1)": (counts(right=CENSORED), "where event == 1 is 0"),
    "Surv(log(time), event, type='right')": (counts(right=CENSORED), "right-censored at log(time)"),
    "Surv(floored, seen, type='left')": (FLOOR, "left-censored at floored where seen is 0"),
    "Surv(lo, hi, type='interval2')": (ENDS, "a value above lo and up to hi"),
    "Surv(lo_gap, hi_gap, type='interval2')": (ENDS, "a value above lo_gap and up to hi_gap"),
    "Surv(y, end, surv, type='interval')": (ENDS, "between y and end (3)"),
    "interval(lo, hi)": (ENDS, "a value above lo and up to hi"),
    "interval(lo_gap, hi_gap)": (ENDS, "a missing or infinite end is open"),
    "interval(2 * lo - 1, 2 * hi - 1)": (ENDS, "a value above 2 * lo - 1"),
}
CENSORINGS = {
    "y | censor(None, None)": (counts(), "no lower limit; no upper limit"),
    "y | censor(-inf, inf)": (counts(), "no lower limit; no upper limit"),
    "floored | censor(low)": (FLOOR, "floored <= low is left-censored there; no upper limit"),
    "floored | censor(lower=low)": (FLOOR, "floored <= low is left-censored there; no upper limit"),
    "floored | censor(low, inf)": (FLOOR, "floored <= low is left-censored there; no upper limit"),
    "floored | censor(low, None)": (FLOOR, "floored <= low is left-censored there; no upper limit"),
    "topped | censor(upper=2.9)": (TOP, "no lower limit; topped >= 2.9 is right-censored there"),
    "topped | censor(None, 2.9)": (TOP, "no lower limit; topped >= 2.9 is right-censored there"),
    "topped | censor(-inf, 5.8 / 2)": (TOP, "topped >= 5.8 / 2 is right-censored there"),
    "topped | censor(upper=high, lower=-inf)": (TOP, "no lower limit; topped >= high is right-censored there"),
    "clipped | censor(low, high)": (LIMITS, "clipped <= low is left-censored there; clipped >= high"),
    "clipped | censor(low, 2.9)": (LIMITS, "clipped <= low is left-censored there; clipped >= 2.9"),
    "exp(clipped) | censor(exp(low), exp(high))": (LIMITS, "exp(clipped) <= exp(low) is left-censored"),
    "y | censor(event=event)": (counts(right=CENSORED), "right-censored at y where event is 0"),
    "y | censor(event=event > 0)": (counts(right=CENSORED), "right-censored at y where event > 0 is 0"),
    "floored | censor(nondetect=below)": (FLOOR, "left-censored at floored where below is 1"),
    "y | censor(status=status, upper=end)": (ENDS, "by status: left-censored at y (left, -1)"),
    "y | censor(status=word, upper=end)": (ENDS, "between y and end (interval, 2)"),
    "y | censor(status='right')": (counts(right=N), "right-censored (right, 1)"),
    "y | censor(status=-1)": (counts(left=N), "left-censored at y (left, -1)"),
    "y | censor(status=event - 1)": (counts(left=CENSORED), "by event - 1"),
}
ALL = {**{f"{response} ~ z + gp(x)": expected for response, expected in RESPONSES.items()}}
ALL |= {key.replace(" | ", " ~ z + gp(x) | "): expected for key, expected in CENSORINGS.items()}


def fit(formula, data=DATA, **options):
    """Evaluate at given hyper-parameters; that no row is exact is said elsewhere."""
    return tg.fit(formula, data, fixed=FIXED, **{"family": "gaussian"} | options)


@pytest.mark.parametrize("formula", ALL)
@pytest.mark.filterwarnings("ignore:No row is exact")
def test_rows_are_counted_and_new_ones_need_the_terms_alone(formula):
    expected, words = ALL[formula]
    res = fit(formula)
    check_counts(res, expected)
    assert words in str(res.model.spec)
    check_prediction(res, DATA, ["z", "x"])


@pytest.mark.parametrize("formula", ALL)
@pytest.mark.filterwarnings("ignore:No row is exact")
def test_what_was_seen_can_be_imputed(formula):
    """Exact rows are themselves, in new data too; others lie where they are known to."""
    res = fit(formula)
    response = res.parts.training.response
    for new in (None, DATA):
        table = res.predict(new, "conditional").to_numpy()
        exact = response.lower == response.upper
        np.testing.assert_allclose(table[exact], response.lower[exact], rtol=1e-12)
        assert ((table > response.lower) & (table < response.upper))[~exact].all()


@pytest.mark.parametrize(("missing", "dropped"), [("y", [2]), ("x", [2, 7])])
def test_dropped_rows_are_counted_and_named(missing, dropped):
    data = DATA.copy()
    data[missing] = data[missing].astype(float).where(~np.isin(np.arange(N), dropped))
    kept = ~np.isin(np.arange(N), dropped)
    with pytest.warns(UserWarning, match=f"missing values in '{missing}'"):
        res = fit("y ~ z + gp(x) | censor(event=event)", data, missing="drop")
    check_counts(res, counts(right=CENSORED & kept, dropped=len(dropped)))
    assert np.flatnonzero(res.predict().isna()).tolist() == dropped
    same = fit("y ~ z + gp(x) | censor(event=event)", data[kept])
    np.testing.assert_allclose(res.predict()[kept], same.predict(), rtol=0, atol=1e-12)
    with pytest.raises(tg.errors.DataError, match=rf"missing values in '{missing}'.*row2"):
        fit("y ~ z + gp(x) | censor(event=event)", data, missing="raise")


def test_intervals_open_at_both_ends_are_dropped():
    data = DATA.assign(lo=DATA["lo"].where(DATA["z"] < 1, -np.inf), hi=DATA["hi"].where(DATA["z"] < 1, np.nan))
    known = DATA["z"] < 1
    with pytest.warns(UserWarning, match="both ends"):
        res = fit("interval(lo, hi) ~ z + gp(x)", data)
    check_counts(res, counts(left=LEFT & known, right=RIGHT & known, interval=BETWEEN & known, dropped=~known))


def test_weights_are_no_part_of_new_data():
    weight = np.tile([1.0, 2.0, 0.0], N // 3)
    data = DATA.assign(weight=weight)
    named = fit("clipped ~ z + gp(x) | censor(low, high)", data, weights="weight")
    given = fit("clipped ~ z + gp(x) | censor(low, high)", DATA, weights=weight)
    used = weight > 0
    check_counts(named, counts(left=BELOW & used, right=ABOVE & used, dropped=~used))
    assert named.nobs == weight.sum()
    check_prediction(named, DATA, ["z", "x"])
    pd.testing.assert_series_equal(named.predict(DATA), given.predict(DATA))
    dot = fit("clipped ~ . + gp(x) | censor(1.2)", data[["clipped", "x", "z", "weight"]], weights="weight")
    assert dot.model.exog_names == ["Intercept", "z"]


@pytest.mark.parametrize(
    ("formula", "error", "words"),
    [
        ("y ~ z + mixture(2)", tg.errors.FormulaError, "must be the only term"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*beyond the limits")
def test_what_is_not_offered_is_refused(formula, error, words):
    with pytest.raises(error, match=words) as caught:
        tg.fit(formula, DATA, family="gaussian")
    if error is tg.errors.FormulaError:
        caret = str(caught.value).splitlines()[-1]
        place = "z" if "mixture" in formula else "1 + z"
        assert caret.index("^") - 2 == formula.index(place)
