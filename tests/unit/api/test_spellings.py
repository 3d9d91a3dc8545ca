"""Whatever way the censoring is written, the same rows give the same fit."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

N = 40
FIXED = {"sigma": 0.2, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.3}
LABELS = {-1: "left", 0: "none", 1: "right", 2: "interval"}


@pytest.fixture(scope="module")
def data():
    """Rows of every kind, with the columns that each spelling needs."""
    rng = np.random.default_rng(3)
    x = rng.uniform(size=N)
    truth = 2.0 + np.sin(6 * x) + 0.2 * rng.normal(size=N)
    status = rng.permutation(np.repeat([-1, 0, 1, 2], [8, 16, 8, 8]))
    lo = np.select([status == -1, status == 2], [-np.inf, truth - 0.3], truth)
    hi = np.select([status == 1, status == 2], [np.inf, truth + 0.2], truth)
    y = np.where(status == -1, hi, lo)
    limit, high = 1.8, 2.9
    clipped = np.clip(truth, limit, high)
    floored = np.maximum(truth, limit)
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=N),
            "lo": lo,
            "hi": hi,
            "lo_missing": np.where(np.isinf(lo), np.nan, lo),
            "hi_missing": np.where(np.isinf(hi), np.nan, hi),
            "y": y,
            "y2": np.where(status == 2, hi, np.nan),
            "status": status,
            "word": [LABELS[code] for code in status],
            "code": np.select([status == -1, status == 0, status == 1], [2, 1, 0], 3),
            "truth": truth,
            "time": np.exp(truth),
            "d": rng.integers(0, 2, size=N),
            "floored": floored,
            "below": (floored <= limit).astype(int),
            "seen": floored > limit,
            "text": [f"<{limit}" if value <= limit else repr(float(value)) for value in floored],
            "limit": limit,
            "clipped": clipped,
            "high": high,
            "both": [
                f"< {limit}" if value <= limit else f">{high}" if value >= high else repr(float(value))
                for value in clipped
            ],
        },
        index=[f"row{i}" for i in range(N)],
    )


def twice(x):
    return 2 * x


def evidence(formula, data):
    return tg.fit(formula, data, family="gaussian", fixed=FIXED).log_evidence


SAME = {
    "ends": [
        "interval(lo, hi) ~ gp(x)",
        "interval(lo_missing, hi_missing) ~ gp(x)",
        "Surv(lo, hi, type='interval2') ~ gp(x)",
        "y ~ gp(x) | censor(status=status, upper=y2)",
        "y ~ gp(x) | censor(status=word, upper=hi)",
        "Surv(y, y2, code, type='interval') ~ gp(x)",
    ],
    "events": [
        "Surv(truth, d) ~ gp(x)",
        "Surv(truth, d == 1, type='right') ~ gp(x)",
        "truth ~ gp(x) | censor(event=d)",
        "truth ~ gp(x) | censor(status=1 - d)",
    ],
    "a detection limit": [
        "floored ~ gp(x) | censor(limit)",
        "floored ~ gp(x) | censor(1.8, inf)",
        "floored ~ gp(x) | censor(nondetect=below)",
        "floored ~ gp(x) | censor(status=-below)",
        "Surv(floored, seen, type='left') ~ gp(x)",
        "text ~ gp(x)",
    ],
    "limits on both sides": ["clipped ~ gp(x) | censor(limit, high)", "both ~ gp(x)"],
}
COUNTS = {
    "ends": (16, 8, 8, 8),
    "events": None,
    "a detection limit": None,
    "limits on both sides": None,
}


@pytest.mark.parametrize("case", SAME)
def test_spellings_of_the_same_rows_have_the_same_evidence(data, case):
    fits = [tg.fit(formula, data, family="gaussian", fixed=FIXED) for formula in SAME[case]]
    for res in fits:
        assert res.log_evidence == pytest.approx(fits[0].log_evidence, abs=1e-8)
        assert res.counts.tolist() == fits[0].counts.tolist()
        np.testing.assert_allclose(res.predict(), fits[0].predict(), atol=1e-8)
    if COUNTS[case]:
        assert fits[0].counts.tolist() == [*COUNTS[case], 0]
    assert fits[0].counts["exact"] < N


SPELLINGS = [formula for formulas in SAME.values() for formula in formulas]


@pytest.mark.parametrize("formula", SPELLINGS)
def test_every_spelling_prints_its_counts_and_predicts_new_rows(data, formula):
    res = tg.fit(formula.replace("~", "~ z +"), data, family="gaussian", fixed=FIXED)
    kinds = ("left", "right", "interval")
    words = ", ".join(f"{res.counts[kind]} {kind}-censored" for kind in kinds if res.counts[kind])
    assert f"{res.counts['exact']} rows exact, {words}, 0 dropped" in repr(res)
    shuffled = data[["z", "x"]].sample(frac=1.0, random_state=1)
    np.testing.assert_allclose(res.predict(shuffled), res.predict()[shuffled.index], atol=1e-10)
    shuffled.iloc[3, 1] = np.nan
    assert np.flatnonzero(res.predict(shuffled).isna()).tolist() == [3]
    with pytest.raises(tg.errors.DataError, match="'x'"):
        res.predict(data[["z"]])


def test_times_on_the_log_scale_keep_their_intervals(data):
    log = evidence("interval(lo, hi) ~ gp(x)", data)
    times = data.assign(lo=np.exp(data["lo"]), hi=np.exp(data["hi"]))
    res = tg.fit("interval(lo, hi) ~ gp(x)", times, family="lognormal", fixed=FIXED)
    exact = data["status"] == 0
    assert res.log_evidence == pytest.approx(log - data["y"][exact].sum(), abs=1e-6)
    # A lower end of 0 is written in the data, so these rows count as intervals though nothing lies below 0.
    assert res.counts[["left", "interval"]].tolist() == [0, 16]


def test_own_functions_and_dates_give_the_same_fit_and_predictions(data):
    start = pd.Timestamp("2020-01-01")
    dated = data.assign(date=start + pd.to_timedelta(366 * data["x"], unit="D"), x2=data["x"] / 2)
    plain = tg.fit("interval(lo, hi) ~ z + gp(x)", dated, fixed=FIXED)
    own = tg.fit("interval(lo, hi) ~ z + gp(twice(x2), name='gp(x)')", dated, fixed=FIXED, functions={"twice": twice})
    fixed = {name.replace("(x)", "(decimal_year(date))"): value for name, value in FIXED.items()}
    dates = tg.fit("interval(lo, hi) ~ z + gp(decimal_year(date))", dated, fixed=fixed)
    shuffled = dated.drop(columns=["lo", "hi"]).sample(frac=1.0, random_state=1)
    for res in (own, dates):
        assert res.log_evidence == pytest.approx(plain.log_evidence, abs=1e-6)
        np.testing.assert_allclose(res.predict(shuffled), plain.predict()[shuffled.index], atol=1e-6)
