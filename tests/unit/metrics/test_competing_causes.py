"""Measures of one cause among competing risks."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import CumIncidenceRight
from support.reference import load

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import (
    brier_score,
    concordance_index,
    concordance_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from tobitgp.numerics.nonparametric import aalen_johansen

GRID = np.array([2.5, 4.0, 6.0])


def draw(seed, n=70):
    """Whole-numbered times and causes 0 to 2, weights, scores with equal values, and incidences of cause 1."""
    rng = np.random.default_rng(seed)
    time, cause = rng.integers(1, 9, n).astype(float), rng.integers(0, 3, n)
    score, weight = rng.integers(0, 8, n).astype(float), rng.integers(1, 4, n).astype(float)
    frame = pd.DataFrame(0.6 - 0.6 * np.exp(-np.outer(GRID, np.exp(-0.2 * score)) / 5.0), index=GRID)
    return (time, cause), weight, score, frame


def uncensored(u, rows, weight, *, before, since=0.0, entry=None):
    """Probability of not being censored, events of both causes before censorings."""
    (time, cause), out = rows, 1.0
    entry = np.zeros(len(time)) if entry is None else entry
    for c in np.unique(time[cause == 0]):
        if since < c and (c < u if before else c <= u):
            at_risk = (entry < c) & ((time > c) | ((time == c) & (cause == 0)))
            out *= 1.0 - weight[(time == c) & (cause == 0)].sum() / weight[at_risk].sum()
    return out


def test_mgus2_as_risk_regression_and_pec():
    case = load("mgus2.json")
    rows = {name: np.array(column) for name, column in case["rows"].items()}
    known, eta = case["competing"], -0.1 * (rows["hgb"] - 13.0) + 0.2345678 * rows["male"]
    pair, times = (rows["etime"], rows["cause"]), np.array(known["times"], dtype=float)
    apart = rows["etime"] + np.arange(1, len(eta) + 1) / 2000, rows["cause"]
    for cause, (rate, want) in enumerate(zip(known["rates"], known["causes"], strict=True), 1):
        frame = pd.DataFrame(1.0 - np.exp(-rate * np.outer(times, np.exp(eta))), index=times)
        np.testing.assert_allclose(brier_score(pair, pair, frame, cause=cause), want["brier"], rtol=1e-12)
        np.testing.assert_allclose(cumulative_dynamic_auc(pair, pair, frame, cause=cause).auc, want["auc"], rtol=1e-12)
        taus = np.nextafter(known["eval_times"], np.inf)
        found = [concordance_ipcw(apart, apart, -eta, tau, cause=cause) for tau in taus]
        np.testing.assert_allclose(found, want["cindex"], rtol=1e-10)


def test_scores_by_their_definition():
    for seed in range(5):
        rows, w, _, frame = draw(seed)
        time, cause = rows
        gone = np.array([1.0 / uncensored(t, rows, w, before=True) for t in time])
        brier, areas = [], []
        for t, F in zip(GRID, frame.to_numpy(), strict=True):
            left = (time > t) / uncensored(t, rows, w, before=False)
            case, other = ((cause == k) * (time <= t) * gone for k in (1, 2))
            brier.append(w @ (case * (1.0 - F) ** 2 + (other + left) * F**2) / w.sum())
            pairs = np.outer(w * case, w * (other + left))
            won = 0.5 * (F[:, None] > F) + 0.5 * (F[:, None] >= F)
            areas.append((pairs * won).sum() / pairs.sum())
        how = {"weights": (w, w), "cause": 1}
        np.testing.assert_allclose(brier_score(rows, rows, frame, **how), brier, rtol=1e-12)
        found = cumulative_dynamic_auc(rows, rows, frame, **how)
        np.testing.assert_allclose(found.auc, areas, rtol=1e-12)
        rise = CumIncidenceRight(time, cause, freq_weights=w)
        at = rise.cinc[0][np.searchsorted(rise.times, GRID, side="right") - 1]
        assert abs(found.mean - areas @ np.diff(at, prepend=0.0) / at[-1]) < 1e-12
        whole = 0.5 * (brier[0] + brier[1]) * 1.5 + 0.5 * (brier[1] + brier[2]) * 2.0
        assert abs(integrated_brier_score(rows, rows, frame, **how) - whole / 3.5) < 1e-12


def test_concordance_by_its_definition():
    for seed in range(5):
        rows, w, score, _ = draw(seed)
        time, cause = rows
        entry, sums = np.floor(0.6 * time), np.zeros((3, 2))
        for i in np.flatnonzero(cause == 1):
            g = uncensored(time[i], rows, w, before=True)
            for j in range(len(time)):
                later = time[j] > time[i] or (time[j] == time[i] and cause[j] == 0)
                if later or cause[j] == 2:
                    then = g if later else uncensored(time[j], rows, w, before=True)
                    right = 0.5 * (score[i] <= score[j]) + 0.5 * (score[i] < score[j])
                    sums += w[i] * w[j] * np.outer([1.0, 1.0 / (g * then), entry[j] < time[i]], [right, 1.0])
        for which, late in ((0, None), (2, entry)):
            found = concordance_index(time, score, cause, weights=w, entry=late, cause=1)
            assert abs(found - sums[which, 0] / sums[which, 1]) < 1e-12
        found = concordance_ipcw(rows, rows, score, weights=(w, w), cause=1)
        assert abs(found - sums[1, 0] / sums[1, 1]) < 1e-12


def test_a_landmark_judges_incidence_given_that_nothing_had_happened():
    rows, w, _, _ = draw(11, 200)
    time, cause = rows[0] + 2.0, rows[1]
    entry = np.random.default_rng(1).integers(0, 6, 200).clip(max=time - 1.0)
    at = (entry <= 3.0) & (time > 3.0)
    frame = pd.DataFrame(np.random.default_rng(2).random((2, 200)), index=[5.0, 6.0]).cumsum() / 2.0
    how = {"entry": (entry, entry), "weights": (w, w), "landmark": 3.0, "cause": 2}
    pair = time, cause
    gone = np.array([1.0 / uncensored(t, pair, w, since=3.0, entry=entry, before=True) for t in time])
    for t, F in frame.iterrows():
        left = (time > t) / uncensored(t, pair, w, since=3.0, entry=entry, before=False)
        case, other = ((cause == k) * (time <= t) * gone for k in (2, 1))
        loss = case * (1.0 - F) ** 2 + (other + left) * F**2
        assert brier_score(pair, pair, frame, t, **how).iloc[0] == pytest.approx((w * loss)[at].sum() / w[at].sum())
    half = brier_score(pair, pair, frame, 4.0, **how)
    twin = pd.DataFrame(np.vstack([np.zeros(200), frame.loc[5.0] / 2.0]), index=[3.0, 4.0])
    assert half.iloc[0] == pytest.approx(brier_score(pair, pair, twin, 4.0, **how).iloc[0])
    with pytest.raises(
        DataError, match=r"holds incidence before the landmark 3. Give the incidence conditional on no event by"
    ):
        brier_score(pair, pair, twin.set_axis([2.0, 3.0]).reindex([2.0, 3.0, 4.0]).ffill(), 3.5, **how)


def test_a_row_of_weight_two_is_two_rows_in_every_measure():
    (time, cause), w, score, frame = draw(7)
    again = np.repeat(np.arange(len(w)), w.astype(int))
    rows, many, how = (time, cause), (time[again], cause[again]), {"weights": (w, w), "cause": 2}
    for measure in (brier_score, integrated_brier_score, cumulative_dynamic_auc):
        a, b = measure(rows, rows, frame, **how), measure(many, many, frame.iloc[:, again], cause=2)
        if measure is cumulative_dynamic_auc:
            assert abs(a.mean - b.mean) < 1e-12
            a, b = a.auc, b.auc
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert abs(concordance_ipcw(rows, rows, score, **how) - concordance_ipcw(many, many, score[again], cause=2)) < 1e-12
    a = concordance_index(time, score, cause, weights=w, cause=2)
    assert abs(a - concordance_index(many[0], score[again], many[1], cause=2)) < 1e-12


def test_one_cause_alone_is_no_competition():
    (time, cause), w, score, frame = draw(5)
    rows = time, np.minimum(cause, 1)
    for measure in (integrated_brier_score, lambda *a, **k: cumulative_dynamic_auc(*a, **k).mean):
        alone = measure(rows, rows, 1.0 - frame, weights=(w, w))
        assert measure(rows, rows, frame, weights=(w, w), cause=1) == pytest.approx(alone, rel=1e-12)
    assert concordance_ipcw(rows, rows, score, cause=1) == pytest.approx(concordance_ipcw(rows, rows, score))
    assert concordance_index(*rows[:1], score, rows[1], cause=1) == concordance_index(time, score, rows[1])


def test_censoring_does_not_move_them(rng):
    n, times = 20_000, [0.5, 1.0]
    x = rng.normal(size=n)
    first, second, limit = rng.exponential(np.exp(-x)), rng.exponential(1.5, n), rng.exponential(1.2, n)
    time, cause = np.minimum(first, second), np.where(first < second, 1, 2)
    whole, cut = (time, cause), (np.minimum(time, limit), np.where(limit < time, 0, cause))
    frame = pd.DataFrame(1.0 - np.exp(-np.outer(times, np.exp(x))), index=times)
    scores = [brier_score(rows, rows, frame, cause=1) for rows in (whole, cut)]
    areas = [cumulative_dynamic_auc(rows, rows, frame, cause=1).auc for rows in (whole, cut)]
    order = [concordance_ipcw(rows, rows, -x, 1.0, cause=1) for rows in (whole, cut)]
    for uncensored_rows, censored_rows in (scores, areas, order):
        np.testing.assert_allclose(censored_rows, uncensored_rows, atol=0.005)
    assert abs(concordance_index(cut[0], -x, cut[1], cause=1) - concordance_index(time, -x, cause, cause=1)) > 0.01


def test_incidence_is_that_of_statsmodels():
    (time, cause), w, _, _ = draw(3)
    theirs = CumIncidenceRight(time, cause, freq_weights=w)
    for k in (1, 2):
        times, F = aalen_johansen(time, cause > 0, cause == k, w)
        np.testing.assert_allclose(F, theirs.cinc[k - 1][np.searchsorted(theirs.times, times)], rtol=1e-12)


def test_every_spelling_of_causes_is_read():
    (time, cause), _, score, _ = draw(2)
    want = concordance_index(time, score, cause, cause=2)
    text = np.array(["censored", "pcm", "death"], dtype=object)[cause]
    category = pd.Categorical(np.array(["alive", "pcm", "death"])[cause], categories=["alive", "pcm", "death"])
    for event, one in ((text, "death"), (text.astype(str), "death"), (category, "death"), (cause.astype(float), 2.0)):
        assert concordance_index(time, score, event, cause=one) == want
    assert concordance_index(time, score, pd.array(cause, dtype="Int64"), cause=2) == want
    rows = np.array(list(zip(cause, time, strict=True)), dtype=[("cause", int), ("days", float)])
    assert concordance_ipcw(rows, rows, score, cause=2) == concordance_ipcw(
        (time, cause), (time, cause), score, cause=2
    )


TIMES = [1.0, 2.0, 3.0, 4.0]
RISING = pd.DataFrame([[0.1] * 4, [0.3] * 4], index=[1.0, 3.0])


@pytest.mark.parametrize(
    ("event", "cause", "error", "message"),
    [
        (
            [0, 1, 2, 1],
            None,
            DataError,
            "neither 0 nor 1 in row 2 .*; if there are several causes, choose one with cause=",
        ),
        ([0, 1, 2, 1], 3, DataError, "cause=3: no row has such an event. Choose one of 1, 2"),
        ([0, 1, 2, 1], 0, DataError, "cause=0: no row has such an event"),
        ([0, 1, 2, 1], [1], SpecError, r"cause=\[1\]: must be one of the causes"),
        ([0, 1.5, 2, 1], 1, DataError, "not the code of a cause in row 1 .* whole numbers .0: censored"),
        ([0, -1, 2, 1], 1, DataError, "not the code of a cause in row 1"),
        ([0, None, 2, 1], 1, DataError, "is missing in row 1"),
        (["alive", "a", "b", "a"], "a", DataError, "holds 'alive' and never 'censored'"),
        ([0, 1, 2], 1, DataError, "has 3 rows, but must have 4"),
    ],
)
def test_bad_causes_are_named(event, cause, error, message):
    with pytest.raises(error, match=message):
        brier_score((TIMES, event), (TIMES, event), RISING, cause=cause)


def test_what_does_not_go_with_a_cause_is_refused():
    rows = TIMES, [0, 1, 2, 1]
    with pytest.raises(
        DataError, match=r"survival_frame= falls at time .* in column .*With cause=, it must hold the cumulative"
    ):
        brier_score(rows, rows, 1.0 - RISING, cause=1)
    with pytest.raises(SpecError, match="cause= is not supported here for rows that entered late"):
        concordance_ipcw(rows, rows, TIMES, entry=(None, [0.0, 1.0, 1.0, 0.5]), cause=1)
    for wrong in ({"lower": 1.0}, {"timewt": "S"}, {"event": None}):
        with pytest.raises(SpecError, match=r"cause= requires time and event=. Leave"):
            concordance_index(TIMES, TIMES, **{"event": rows[1], "cause": 1} | wrong)
