"""Measures of rows that entered late, and of weighted rows."""

import numpy as np
import pandas as pd
import pytest
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import (
    brier_score,
    concordance_index,
    concordance_ipcw,
    cumulative_dynamic_auc,
    d_calibration,
    integrated_brier_score,
)
from tobitgp.selection.held_out import MEASURES, HeldOut

GRID = np.array([4.0, 5.5, 7.0])


def draw(seed, n=60):
    """Whole-numbered times, entries and weights, scores with equal values, and curves."""
    rng = np.random.default_rng(seed)
    entry = rng.integers(0, 5, n).astype(float)
    time, event = entry + rng.integers(1, 9, n), rng.random(n) < 0.6
    score, weight = rng.integers(0, 8, n).astype(float), rng.integers(1, 4, n)
    grid = np.append(2.0, GRID)
    frame = pd.DataFrame(np.exp(-np.outer(grid, np.exp(-0.2 * score)) / 5.0), index=grid)
    return (time, event), entry, weight.astype(float), score, frame


def at_risk(t, entry, time, weight, gone=None):
    """Weight of the rows at risk at a time, those who have their event then left out."""
    rows = (entry < t) & (time >= t)
    return weight[rows if gone is None else rows & ~gone].sum()


def uncensored(u, rows, entry, weight, since=-np.inf, *, before):
    """Left-truncated Kaplan and Meier of the censorings by its definition."""
    time, event = rows
    out = 1.0
    for c in np.unique(time[~event]):
        if since < c and (c < u if before else c <= u):
            lost = weight[(time == c) & ~event].sum()
            out *= 1.0 - lost / at_risk(c, entry, time, weight, event & (time == c))
    return out


def test_concordance_by_its_definition():
    for seed in range(5):
        (time, event), entry, w, score, _ = draw(seed)
        sums = np.zeros((2, 2))
        for i in np.flatnonzero(event):
            g = uncensored(time[i], (time, event), entry, w, before=True)
            for j in range(len(time)):
                if entry[j] < time[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                    right = 0.5 * (score[i] <= score[j]) + 0.5 * (score[i] < score[j])
                    sums += w[i] * w[j] * np.outer([1.0, g**-2], [right, 1.0])
        found = concordance_index(time, score, event, entry=entry, weights=w)
        assert abs(found - sums[0, 0] / sums[0, 1]) < 1e-12
        rows = time, event
        found = concordance_ipcw(rows, rows, score, entry=(entry, entry), weights=(w, w))
        assert abs(found - sums[1, 0] / sums[1, 1]) < 1e-12


def test_scores_from_a_landmark_on_by_their_definition():
    for seed in range(5):
        rows, entry, w, _, frame = draw(seed)
        time, event = rows
        how = {"entry": (entry, entry), "weights": (w, w), "landmark": 2.0}
        at = (entry <= 2.0) & (time > 2.0)
        given = (frame / frame.loc[2.0]).loc[GRID].to_numpy()
        gone = np.array([1.0 / uncensored(t, rows, entry, w, 2.0, before=True) for t in time])
        brier, areas = [], []
        for t, p in zip(GRID, given, strict=True):
            case, left = event & (time <= t), time > t
            loss = case * p**2 * gone + left * (1.0 - p) ** 2 / uncensored(t, rows, entry, w, 2.0, before=False)
            brier.append((w * loss)[at].sum() / w[at].sum())
            a, b = np.flatnonzero(case & at), np.flatnonzero(left & at)
            pairs = np.outer((w * gone)[a], w[b])
            won = 0.5 * (p[a][:, None] < p[b]) + 0.5 * (p[a][:, None] <= p[b])
            areas.append((pairs * won).sum() / pairs.sum())
        np.testing.assert_allclose(brier_score(rows, rows, frame, GRID, **how), brier, rtol=1e-12)
        np.testing.assert_allclose(cumulative_dynamic_auc(rows, rows, frame, GRID, **how).auc, areas, rtol=1e-12)
    with pytest.raises(DataError, match=r"entered after time 0.*landmark=10"):
        brier_score(rows, rows, frame, GRID, entry=(entry, entry))


def test_a_row_of_weight_two_is_two_rows_in_every_measure():
    (time, event), entry, w, score, frame = draw(7)
    again = np.repeat(np.arange(len(w)), w.astype(int))
    many = time[again], event[again]
    short, long = {"weights": (w, w), "landmark": 2.0}, {"landmark": 2.0}
    short["entry"], long["entry"] = (entry, entry), (entry[again], entry[again])
    repeated = frame.iloc[:, again]
    for measure in (brier_score, integrated_brier_score, cumulative_dynamic_auc):
        a = measure((time, event), (time, event), frame, GRID, **short)
        b = measure(many, many, repeated, GRID, **long)
        a, b = (found.auc if hasattr(found, "auc") else found for found in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-12)
    del short["landmark"], long["landmark"]
    found = concordance_ipcw((time, event), (time, event), score, **short)
    assert abs(found - concordance_ipcw(many, many, score[again], **long)) < 1e-12
    s, before = np.exp(-time / 5.0), np.exp(-entry / 5.0)
    a = d_calibration(s, event, entry=before, weights=w)
    b = d_calibration(s[again] / before[again], event[again])
    np.testing.assert_allclose([a.statistic, a.p_value], [b.statistic, b.p_value], rtol=1e-10)


def test_brier_scores_of_lung_as_in_risk_regression():
    cases = load("event_histories.json")["cases"]
    lung, case = tg.datasets.load("lung").dropna(subset=["ph_ecog"]), cases["lung_brier"]
    rows = lung["time"], lung["event"]
    risk = np.exp(sum(lung[name] * b for name, b in cases["lung_cox_breslow"]["coef"].items()).to_numpy())
    time, event = (column.to_numpy() for column in rows)
    steps = [(t, 1.0 / risk[time >= t].sum()) for t in time[event == 1]]
    hazard = [sum(step for t, step in steps if t <= u) for u in case["times"]]
    frame = pd.DataFrame(np.exp(-np.outer(hazard, risk)), index=case["times"], columns=lung.index)
    np.testing.assert_allclose(brier_score(rows, rows, frame), case["brier"], rtol=1e-8)


def test_scores_of_fits_count_risk_sets_and_weights():
    (time, event), entry, w, score, _ = draw(3, 90)
    data = pd.DataFrame({"entry": entry, "time": time, "event": event, "x": score})
    res = tg.fit("Surv(entry, time, event) ~ x", data, family="weibull", weights=w)
    median = res.predict_median(data)
    want = concordance_index(time, median, event, entry=entry, weights=w)
    assert res.concordance_index_ == pytest.approx(want, abs=1e-12)
    assert res.score(data.assign(w=w), "concordance_index", weights="w") == pytest.approx(want, abs=1e-12)
    repeated = data.loc[np.repeat(data.index, w.astype(int))].reset_index(drop=True)
    twin = tg.fit("Surv(entry, time, event) ~ x", repeated, family="weibull")
    for name, measure in MEASURES.items():
        if name not in ("mae", "rmse"):
            once, many = measure(HeldOut(res, data, w)), measure(HeldOut(twin, repeated, None))
            assert once == pytest.approx(many, rel=1e-6), name


def test_rows_of_weight_zero_are_not_there():
    (time, event), entry, w, _, frame = draw(1)
    rows, w[time > 8.0] = (time, event), 0.0
    there = w > 0.0
    some, how = (time[there], event[there]), {"landmark": 2.0}
    zero = how | {"entry": (entry, entry), "weights": (w, w)}
    none = how | {"entry": (entry[there],) * 2, "weights": (w[there],) * 2}
    for measure in (brier_score, lambda *a, **k: cumulative_dynamic_auc(*a, **k).auc):
        a, b = measure(rows, rows, frame, GRID, **zero), measure(some, some, frame.loc[:, there], GRID, **none)
        np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(DataError, match=r"times= holds 9: times must be .* below 8"):
        brier_score(rows, rows, frame, 9.0, **zero)


@pytest.mark.parametrize(
    ("landmark", "error", "message"),
    [
        (-1.0, DataError, "landmark=-1: must be 0 or more and below 9, the last time of test"),
        (9.0, DataError, "landmark=9: must be 0 or more and below 9"),
        (np.nan, DataError, "landmark=nan: must be 0 or more"),
        (4.5, DataError, "landmark=4.5: no test row is at risk then"),
        ("late", SpecError, "landmark='late': must be a time"),
    ],
)
def test_a_landmark_lies_where_rows_are_at_risk(landmark, error, message):
    rows, entry = ([3.0, 4.0, 9.0], [1, 1, 1]), [0.0, 1.0, 5.0]
    with pytest.raises(error, match=message):
        brier_score(
            rows, rows, pd.DataFrame(0.5, index=[1.0, 8.0], columns=range(3)), entry=(None, entry), landmark=landmark
        )
