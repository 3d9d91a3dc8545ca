"""Weighted metrics beside scikit-survival, and its stored numbers for lung."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.reference import load
from support.survival import curves, right_censored

import tobitgp as tg
from tobitgp.errors import DataError
from tobitgp.metrics import brier_score, concordance_ipcw, cumulative_dynamic_auc, integrated_brier_score

SEEDS = st.integers(0, 2**32 - 1)


def draw(seed):
    """Training and test rows, curves and scores with many equal values, and times inside the followed range."""
    rng = np.random.default_rng(seed)
    # Theirs takes G(t) where ours takes G(t-), which differs where an event and a censoring share a time.
    train, test = (
        (time + 0.25 * ~event, event)
        for time, event in (right_censored(rng, rng.integers(20, 60)), right_censored(rng, rng.integers(8, 40)))
    )
    grid = np.unique(rng.choice(np.arange(0.0, 12.0, 0.5), 5))
    grid = grid[(grid >= test[0].min()) & (grid < test[0].max())]
    assume(len(grid) > 1)
    return train, test, grid, rng.integers(0, 5, len(test[0])).astype(float), curves(rng, len(test[0]), grid)


def theirs(train, test):
    util = pytest.importorskip("sksurv.util")
    return pytest.importorskip("sksurv.metrics"), *(util.Surv.from_arrays(e, t) for t, e in (train, test))


def unless_refused(job):
    """A value, where ours and theirs are defined: both refuse, for reasons of their own, what has no weight."""
    try:
        return job()
    except DataError:
        assume(False)


def theirs_unless_refused(job):
    try:
        with np.errstate(all="ignore"):
            return np.asarray(job())
    except ValueError:
        assume(False)


@given(seed=SEEDS, tau=st.sampled_from([None, 6.0, 9.5]))
def test_concordance(seed, tau):
    train, test, _, score, _ = draw(seed)
    metrics, a, b = theirs(train, test)
    found = unless_refused(lambda: concordance_ipcw(train, test, score, tau=tau))
    want = theirs_unless_refused(lambda: metrics.concordance_index_ipcw(a, b, -score, tau=tau)[0])
    assert abs(found - want) < 1e-10


@given(seed=SEEDS)
def test_brier_score(seed):
    train, test, grid, _, frame = draw(seed)
    metrics, a, b = theirs(train, test)
    found = unless_refused(lambda: brier_score(train, test, frame, grid))
    want = theirs_unless_refused(lambda: metrics.brier_score(a, b, frame.to_numpy().T, grid)[1])
    np.testing.assert_allclose(found, want, atol=1e-10)
    whole = metrics.integrated_brier_score(a, b, frame.to_numpy().T, grid)
    assert abs(integrated_brier_score(a, b, frame) - whole) < 1e-10


@given(seed=SEEDS, dynamic=st.booleans())
def test_dynamic_area(seed, dynamic):
    train, test, grid, score, frame = draw(seed)
    metrics, a, b = theirs(train, test)
    ours, risk = (frame, 1.0 - frame.to_numpy().T) if dynamic else (score, -score)
    found = unless_refused(lambda: cumulative_dynamic_auc(train, test, ours, grid))
    want = theirs_unless_refused(lambda: np.append(*metrics.cumulative_dynamic_auc(a, b, risk, grid)))
    np.testing.assert_allclose(np.append(found.auc, found.mean), want, atol=1e-10)


@pytest.fixture(scope="module")
def lung():
    case = load("lung_survival_metrics.json")
    rows = tg.datasets.load("lung").dropna(subset=["age", "sex", "ph_ecog"])
    train, test = ((part["time"], part["event"]) for part in (rows[::2], rows[1::2]))
    assert test[0].tolist() == case["test"]["time"]
    # Theirs takes G(t), which is G(t-) of a moment later.
    test = test[0] + 1e-9, test[1]
    given = case["predictions"]
    return case, train, test, pd.DataFrame(np.transpose(given["survival"]), index=given["times"], columns=test[0].index)


@pytest.mark.parametrize("variant", [False, True])
def test_lung(lung, variant):
    case, train, test, frame = lung
    risk = np.array(case["tied_risk_variant"]["risk"] if variant else case["predictions"]["risk"])
    want = (case["tied_risk_variant"] if variant else case)["metrics"]
    for uno in want["uno_c_ipcw"]:
        assert abs(concordance_ipcw(train, test, -risk, tau=uno["tau"]) - uno["cindex"]) < 1e-8
    frame = frame.set_axis(frame.index + 1e-9)
    np.testing.assert_allclose(brier_score(train, test, frame), want["brier"]["score"], atol=1e-8)
    assert abs(integrated_brier_score(train, test, frame) - want["integrated_brier"]) < 1e-8
    for ours, key in ((-risk, ""), (frame, "_time_dependent_risk")):
        area = want[f"cumulative_dynamic_auc{key}"]
        found = cumulative_dynamic_auc(train, test, ours, frame.index)
        np.testing.assert_allclose(found.auc, area["auc"], atol=1e-8)
        assert abs(found.mean - area["mean_auc"]) < 1e-8
