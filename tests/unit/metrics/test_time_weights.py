"""Concordance whose pairs count by the time of the earlier row."""

import numpy as np
import pandas as pd
import pytest
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import brier_score, concordance_counts, concordance_index, concordance_ipcw

CASES = load("event_histories.json")["cases"]
KINDS = ("n", "S", "S/G", "n/G2")


@pytest.fixture(scope="module")
def mgus2():
    rows = {name: np.array(column, dtype=float) for name, column in load("mgus2.json")["rows"].items()}
    return rows | {"exit": rows["entry"] + rows["months"] / 12.0}


def score(rows, coef):
    return -sum(np.asarray(rows[name]) * b for name, b in coef.items())


def test_lung_as_in_r():
    lung, case = tg.datasets.load("lung").dropna(subset=["ph_ecog"]), CASES["lung_concordance_weights"]
    weighted = case["weighted"]
    time, event, weight = lung["time"], lung["event"], np.resize([1.0, 2.0, 0.5], len(lung))
    cox = CASES["lung_cox_efron"]["coef"]
    for kind in KINDS:
        found, want = concordance_counts(time, score(lung, cox), event, timewt=kind), case["unweighted"][kind]
        counts = [want["counts"][name] for name in ("concordant", "discordant", "tied.x", "tied.y")]
        np.testing.assert_allclose(found, [want["c"], *counts], rtol=1e-12)
        if kind == "n/G2":
            assert abs(concordance_ipcw((time, event), (time, event), score(lung, cox)) - want["c"]) < 1e-12
        f, want = score(lung, weighted["cox"]["coef"]), weighted["concordance"][kind]
        found = concordance_counts(time, f, event, timewt=kind, weights=weight)
        counts = [want["counts"][name] for name in ("concordant", "discordant", "tied.x")]
        np.testing.assert_allclose(found[:4], [want["c"], *counts], rtol=1e-12)


def test_mgus2_on_the_age_scale(mgus2):
    case, w = CASES["mgus2_delayed_entry"], np.resize([1.0, 2.0, 0.5], len(mgus2["exit"]))
    entry, time, death = (mgus2[name] for name in ("entry", "exit", "death"))
    for one, weights in ((case, None), (case["weighted"], w)):
        f = score(mgus2, one["cox"]["coef"])
        for kind in KINDS:
            found = concordance_index(time, f, death, entry=entry, weights=weights, timewt=kind)
            assert abs(found - one["concordance"][kind]["c"]) < 1e-12
    f = score(mgus2, case["cox"]["coef"])
    assert abs(concordance_index(time, f, death) - case["concordance_ignoring_entry"]["n"]["c"]) < 1e-12
    known = load("mgus2.json")["concordance_R"]["c"]
    assert abs(concordance_index(time.round(10), f, death, entry=entry) - known) < 1e-11


def test_brier_scores_of_mgus2_from_70_on(mgus2):
    case, w = CASES["mgus2_landmark_brier"], np.resize([1.0, 2.0, 0.5], len(mgus2["exit"]))
    risk, rows = np.exp(-score(mgus2, case["cox_breslow_coef"])), (mgus2["exit"], mgus2["death"])
    frame = pd.DataFrame(np.exp(-np.outer([0.0, *case["H0_increment"]], risk)), index=[70.0, *case["times"]])
    how = {"entry": (mgus2["entry"], mgus2["entry"]), "landmark": case["landmark"]}
    np.testing.assert_allclose(brier_score(rows, rows, frame, case["times"], **how), case["brier"], rtol=1e-12)
    found = brier_score(rows, rows, frame, case["times"], **how, weights=(w, w))
    np.testing.assert_allclose(found, case["brier_weighted"], rtol=1e-12)


def test_a_fit_on_the_age_scale_counts_entry(mgus2):
    case = CASES["mgus2_delayed_entry"]
    res = tg.fit("Surv(entry, exit, death) ~ male + hgb + creat", mgus2, family="weibull")
    f = res.predict_median()
    want = concordance_index(mgus2["exit"], f, mgus2["death"], entry=mgus2["entry"])
    assert res.concordance_index_ == pytest.approx(want, abs=1e-12)
    assert abs(res.concordance_index_ - case["concordance"]["n"]["c"]) < 0.01
    assert concordance_index(mgus2["exit"], f, mgus2["death"]) < 0.56


def test_pairs_by_their_definition():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        entry = rng.integers(0, 3, 60).astype(float)
        time, event = entry + rng.integers(1, 9, 60), rng.random(60) < 0.6
        f, w = rng.integers(0, 6, 60), rng.integers(1, 4, 60).astype(float)
        sums = {kind: np.zeros(2) for kind in KINDS}
        S = G = 1.0
        for t in np.unique(time):
            at_risk, dead = (entry < t) & (time >= t), event & (time == t)
            n, left = w[at_risk].sum(), at_risk & ~dead
            for i in np.flatnonzero(dead):
                right = 0.5 * (f[i] < f) + 0.5 * (f[i] <= f)
                for kind, omega in zip(KINDS, (n, S, S / G, n / G**2), strict=True):
                    sums[kind] += omega / n * w[i] * np.array([w[left] @ right[left], w[left].sum()])
            S *= 1.0 - w[dead].sum() / n
            G *= 1.0 - w[left & (time == t)].sum() / max(w[left].sum(), 1.0)
        for kind, (right, all_pairs) in sums.items():
            found = concordance_index(time, f, event, entry=entry, weights=w, timewt=kind)
            assert abs(found - right / all_pairs) < 1e-12
        rows, both = (time, event), {"entry": (entry, entry), "weights": (w, w)}
        assert concordance_ipcw(rows, rows, f, **both) == pytest.approx(sums["n/G2"][0] / sums["n/G2"][1])
        again = np.repeat(np.arange(60), w.astype(int))
        for kind in KINDS:
            once = concordance_index(time, f, event, entry=entry, weights=w, timewt=kind)
            many = concordance_index(time[again], f[again], event[again], entry=entry[again], timewt=kind)
            assert abs(once - many) < 1e-12


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"timewt": "G"}, SpecError, "timewt='G': must be one of 'n', 'S', 'S/G', 'n/G2'"),
        ({"timewt": "S", "event": None, "lower": 1.5}, SpecError, "timewt='S': requires right-censored rows"),
        ({"timewt": "S", "entry": [0, 2, 1, 0]}, DataError, "entry is not before the end of row 1"),
        ({"timewt": "S", "entry": [0, 1, 1, 1]}, DataError, "all rows at risk at an early time had their event"),
    ],
)
def test_bad_input_is_named(given, error, message):
    with pytest.raises(error, match=message):
        concordance_index([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4], **{"event": [1, 0, 1, 1]} | given)
