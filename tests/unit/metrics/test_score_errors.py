"""Errors of Brier scores and areas under ROC curves, against a jackknife of scores by their definition."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import norm

from tobitgp.errors import SpecError
from tobitgp.metrics import brier_score, cumulative_dynamic_auc

GRID = [0.3, 0.7, 1.2]


def sample(n=150, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    T, C = rng.exponential(np.exp(-x)), rng.exponential(1.5, size=n)
    time, event = np.ceil(100.0 * np.minimum(T, C)) / 100.0, (T <= C).astype(int)
    code = event * (1 + (rng.random(n) < 0.4))
    return time, event, code, np.exp(-np.outer(GRID, np.exp(x)))


def not_censored(time, event, weight):
    """The probability of not being censored before, and by, some times."""
    steps = []
    for t in np.unique(time[event == 0]):
        left = weight[(time > t) | ((time == t) & (event == 0))].sum()
        steps.append((t, 1.0 - weight[(time == t) & (event == 0)].sum() / left))
    before = lambda at: np.prod([np.where(s < at, f, 1.0) for s, f in steps], axis=0)  # noqa: E731
    by = lambda at: np.prod([np.where(s <= at, f, 1.0) for s, f in steps], axis=0)  # noqa: E731
    return before, by


def scores(train, test, S, cause=None, of_train=None, of_test=None):
    """Brier scores and areas of weighted rows by (MET14) and (MET15), at the times of the grid."""
    c_train, c = (np.ones(len(y[0])) if w is None else w for y, w in ((train, of_train), (test, of_test)))
    (before, by), (time, code) = not_censored(*train, c_train), test
    event, case = code > 0, code > 0 if cause is None else code == cause
    brier, areas = [], []
    for f, t in zip(S, GRID, strict=True):
        w = c * np.where(time > t, 1.0 / by(t), np.where(event, 1.0 / np.maximum(before(time), 1e-12), 0.0))
        brier.append((w * np.where(case & (time <= t), f**2, (1.0 - f) ** 2)).sum() / c.sum())
        one = case & (time <= t)
        won = (f[one][:, None] < f[~one]) + 0.5 * (f[one][:, None] == f[~one])
        areas.append(w[one] @ won @ w[~one] / w[one].sum() / w[~one].sum())
    return np.array(brier + areas)


def influence(score, n):
    """Derivatives (n, k) of scores in the weights of rows, by central differences."""
    step = 1e-5 * np.eye(n)
    return np.array([(score(1.0 + e) - score(1.0 - e)) / 2e-5 for e in step])


def found(train, test, S, cause=None, **options):
    frame = pd.DataFrame(S if cause is None else 1.0 - S, index=GRID)
    how = {"times": GRID, "cause": cause, "interval": 0.9, **options}
    return pd.concat([brier_score(train, test, frame, **how), cumulative_dynamic_auc(train, test, frame, **how).auc])


@pytest.mark.slow
@pytest.mark.parametrize("cause", [None, 2])
def test_errors_are_those_of_the_jackknife(cause):
    time, event, code, S = sample()
    rows, n = (time, event if cause is None else code), len(time)
    table = found(rows, rows, S, cause)
    np.testing.assert_allclose(table["estimate"], scores(rows, rows, S, cause), rtol=1e-10)
    own = influence(lambda w: scores(rows, rows, S, cause, w, w), n)
    np.testing.assert_allclose(table["se"], np.sqrt((own**2).sum(axis=0)), rtol=1e-5)
    left_out = [np.delete(np.arange(n), i) for i in range(n)]
    each = np.array([scores(*[(rows[0][i], rows[1][i])] * 2, S[:, i], cause) for i in left_out])
    np.testing.assert_allclose(
        table["se"], np.sqrt((n - 1) / n * ((each - each.mean(axis=0)) ** 2).sum(axis=0)), rtol=0.1
    )


@pytest.mark.slow
@pytest.mark.parametrize("cause", [None, 2])
def test_errors_of_two_samples_add_up(cause):
    time, event, code, _ = sample()
    t2, e2, c2, S = sample(100, 5)
    train, test = ((time, event), (t2, e2)) if cause is None else ((time, code), (t2, c2))
    parts = [
        influence(lambda w: scores(train, test, S, cause, of_train=w), len(time)),
        influence(lambda w: scores(train, test, S, cause, of_test=w), len(t2)),
    ]
    total = np.sqrt(sum((part**2).sum(axis=0) for part in parts))
    np.testing.assert_allclose(found(train, test, S, cause)["se"], total, rtol=1e-5)


@pytest.mark.slow
def test_intervals_cover_the_scores_of_many_rows():
    truth = scores(*[sample(3000, 99)[:2]] * 2, sample(3000, 99)[3])
    inside = []
    for seed in range(100):
        time, event, _, S = sample(200, seed)
        table = found((time, event), (time, event), S)
        inside.append((table["lower"] < truth) & (truth < table["upper"]))
    assert 0.84 < np.mean(inside) < 0.95  # of 0.9


def test_copies_landmarks_and_intervals():
    time, event, _, S = sample(80)
    w = np.tile([1, 2], 40)
    copies = np.repeat(np.arange(80), w)
    one = found((time, event), (time, event), S, weights=(w, w))
    other = found((time[copies], event[copies]), (time[copies], event[copies]), S[:, copies])
    np.testing.assert_allclose(one, other, rtol=1e-9)
    b, a = one.iloc[:3], one.iloc[3:]
    for end, sign in (("lower", -1.644854), ("upper", 1.644854)):
        np.testing.assert_allclose(np.log(b[end] / b["estimate"]), sign * b["se"] / b["estimate"], rtol=1e-6)
        gap = logit(a[end]) - logit(a["estimate"])
        np.testing.assert_allclose(gap, sign * a["se"] / a["estimate"] / (1.0 - a["estimate"]), rtol=1e-6)
    later = found((time, event), (time, event), S, landmark=0.1, times=GRID[1:])
    at_risk = time > 0.1
    alone = found(
        (time[at_risk], event[at_risk]), (time[at_risk], event[at_risk]), S[:, at_risk], landmark=0.1, times=GRID[1:]
    )
    np.testing.assert_allclose(later, alone, rtol=1e-9)
    with pytest.raises(SpecError, match="interval=2"):
        found((time, event), (time, event), S, interval=2)


def few(seed, shift=2.0):
    """Fifteen cases of normal scores below those of 15 controls, and predictions of these."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=15), rng.normal(shift, 1.0, 15)])
    return (np.repeat([1.0, 3.0], 15), np.repeat([1, 0], 15)), x


def test_limits_of_few_rows_stay_within_the_scale_and_cover():
    """The area of two normal distributions is known; plain limits leave [0, 1] in these samples."""
    truth, inside, beyond = norm.cdf(2.0 / np.sqrt(2.0)), [], []
    for seed in range(300):
        rows, x = few(seed)
        row = cumulative_dynamic_auc(rows, rows, x, [2.0], interval=0.95).auc.iloc[0]
        if row["estimate"] < 1.0:
            assert 0.0 < row["lower"] < row["estimate"] < row["upper"] < 1.0
            inside.append(row["lower"] < truth < row["upper"])
            beyond.append(row["estimate"] + 1.96 * row["se"] > 1.0)
    assert 0.91 < np.mean(inside) < 0.985
    assert np.mean(beyond) > 0.2


def test_scores_at_the_end_of_the_scale_have_no_error():
    rows, x = few(1, 20.0)
    row = cumulative_dynamic_auc(rows, rows, x, [2.0], interval=0.95).auc.iloc[0]
    wrong = cumulative_dynamic_auc(rows, rows, -x, [2.0], interval=0.95).auc.iloc[0]
    S = pd.DataFrame(np.tile((rows[0] > 2.0) * 1.0, (2, 1)), index=[1.5, 2.0])
    none = brier_score(rows, rows, S, interval=0.95).iloc[0]
    for found, value in ((row, 1.0), (wrong, 0.0), (none, 0.0)):
        assert found["estimate"] == value
        assert found[["se", "lower", "upper"]].isna().all()
    same = cumulative_dynamic_auc(rows, rows, np.zeros(30), [2.0], interval=0.95).auc.iloc[0]
    assert same.tolist() == [0.5, 0.0, 0.5, 0.5]  # scores that say nothing have this area in every sample
