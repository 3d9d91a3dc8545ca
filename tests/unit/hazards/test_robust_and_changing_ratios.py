"""Robust errors of hazard ratios, against R and lifelines, and ratios that change over time, against the truth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from lifelines.datasets import load_stanford_heart_transplants
from scipy.optimize import minimize

import tobitgp as tg
from tobitgp.errors import DataError, SpecError, UnavailableError

REFERENCE = Path(__file__).parents[2] / "reference"
CASES = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]
COLUMNS = ["age", "sex", "ph_ecog"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog", "inst"])


@pytest.fixture(scope="module")
def smooth(lung):
    return tg.fit("Surv(time, event) ~ age + sex + ph_ecog", lung, family="ph")


@pytest.mark.parametrize("clustered", [False, True])
def test_robust_errors_are_those_of_lifelines(lung, smooth, clustered):
    how = {"cluster_col": "inst"} if clustered else {"robust": True}
    data = lung[["time", "event", *COLUMNS, *(["inst"] if clustered else [])]]
    cox = CoxPHFitter().fit(data, "time", "event", **how).summary
    found = smooth.robust_hazard_ratios(lung["inst"] if clustered else None)
    np.testing.assert_allclose(found["robust se"], cox["se(coef)"], rtol=0.015)
    np.testing.assert_allclose(found["se(coef)"], smooth.bse[COLUMNS])
    np.testing.assert_allclose(found["lower"], np.exp(found["coef"] - 1.959964 * found["robust se"]), rtol=1e-6)
    np.testing.assert_allclose(found["z"], found["coef"] / found["robust se"])


def test_errors_clustered_by_subject_are_those_of_coxph():
    heart, case = load_stanford_heart_transplants(), CASES["heart_cox_cluster"]
    res = tg.fit("Surv(start, stop, event) ~ age + year + surgery + transplant", heart, family="ph", id="id")
    found = res.robust_hazard_ratios()
    np.testing.assert_allclose(found["robust se"], [case["robust_se"][name] for name in found.index], rtol=0.03)


def test_copies_of_a_row_are_rows(lung):
    few = lung.head(60).assign(w=np.tile([1, 2, 3], 20))
    how = {"family": tg.PH("piecewise", bands=[100, 300])}
    weighted = tg.fit("Surv(time, event) ~ age + sex", few, weights="w", **how)
    copies = few.loc[few.index.repeat(few["w"])].reset_index(drop=True)
    repeated = tg.fit("Surv(time, event) ~ age + sex", copies, **how)
    for groups in ((None, None), (few["inst"], copies["inst"])):
        one, other = (fit.robust_hazard_ratios(g) for fit, g in zip((weighted, repeated), groups, strict=True))
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_has_no_robust_errors_says_so(lung, smooth):
    with pytest.raises(SpecError, match=r"robust_hazard_ratios.*PH\('spline'\)"):
        tg.fit("Surv(time, event) ~ age", lung, family="ph", cov_type="HC0")
    with pytest.raises(UnavailableError, match="robust_hazard_ratios"):
        smooth.get_robustcov_results("HC0")
    with pytest.raises(SpecError, match="linear terms"):
        tg.fit("Surv(time, event) ~ age + tv(sex)", lung.head(60), family="ph").robust_hazard_ratios()
    for groups, words in (([1, 2], "2 values"), ([1] * len(lung), "two clusters"), ([None] * len(lung), "missing")):
        with pytest.raises(DataError, match=words):
            smooth.robust_hazard_ratios(groups)


@pytest.fixture(scope="module")
def changing():
    """Hazards 0.02 t^(-x/2) exp(1.2 x), whose cumulative ones are known."""
    rng = np.random.default_rng(3)
    x, e, c = rng.integers(0, 2, 900), rng.exponential(size=900), rng.uniform(20, 120, 900)
    t = np.where(x == 1, (e / (0.04 * np.exp(1.2))) ** 2, e / 0.02)
    return pd.DataFrame({"t": np.minimum(t, c), "e": (t <= c).astype(int), "x": x, "z": rng.normal(size=900)})


@pytest.fixture(scope="module")
def varying(changing):
    return tg.fit("Surv(t, e) ~ z + tv(x)", changing, family="ph", method=tg.EP(hyper="maximize"))


@pytest.mark.slow
def test_ratios_over_time_are_those_of_a_likelihood_that_knows_their_shape(changing, varying):
    at, (t, e, x) = np.array([3.0, 10.0, 30.0, 80.0]), (changing[name].to_numpy() for name in ("t", "e", "x"))
    seen = np.sort(t[e == 1])
    sets = [(np.log(s), (x[t >= s] == 1).sum(), (x[t >= s] == 0).sum(), x[(t == s) & (e == 1)].sum()) for s in seen]

    def minus(b):
        return -sum((b[0] + b[1] * v) * d - np.log(n1 * np.exp(b[0] + b[1] * v) + n0) for v, n1, n0, d in sets)

    own = minimize(minus, np.zeros(2), method="BFGS").x
    table = varying.hazard_ratios_over_time("x", at)
    truth = 1.2 - 0.5 * np.log(at)
    assert (np.abs(table["coef"] - (own[0] + own[1] * np.log(at))) < 1.2 * table["se(coef)"]).all()
    assert ((np.log(table["lower"]) < truth) & (truth < np.log(table["upper"]))).all()
    assert (table["se(coef)"] < 0.3).all()


@pytest.mark.slow
def test_table_of_ratios(varying):
    table = varying.hazard_ratios_over_time()
    assert table.index.names == ["column", "time"]
    assert len(table) == len(varying.parts.cuts) - 1
    twice = varying.hazard_ratios_over_time("x", 10.0, unit=2)
    np.testing.assert_allclose(twice["coef"], 2.0 * varying.hazard_ratios_over_time("x", 10.0)["coef"])
    for options, words in (({"column": "z"}, "in tv"), ({"times": [1e6]}, "last exit"), ({"unit": 0}, "other than 0")):
        with pytest.raises(SpecError, match=words):
            varying.hazard_ratios_over_time(**options)
    with pytest.raises(SpecError, match="hazard_ratios_over_time"):
        varying.hazard_ratios(at={"x": 1})


def test_ratios_that_do_not_change(smooth):
    with pytest.raises(SpecError, match="tv"):
        smooth.hazard_ratios_over_time()
