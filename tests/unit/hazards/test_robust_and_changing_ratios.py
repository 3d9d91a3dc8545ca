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

pytestmark = pytest.mark.filterwarnings("ignore:Events share times")  # rounded on purpose

REFERENCE = Path(__file__).parents[2] / "reference"
CASES = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]
COLUMNS = ["age", "sex", "ph_ecog"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog", "inst"])


@pytest.fixture(scope="module")
def smooth(lung):
    return tg.fit("Surv(time, event) ~ age + sex + ph_ecog", lung, family="ph")


def sandwich(X, entry, time, event, stratum, beta, cluster, weight=None, offset=0.0):
    """Standard errors of coxph(robust=TRUE) at some coefficients, by a loop over events and rows; Efron's ties."""
    n, p = X.shape
    weight, hazard = np.ones(n) if weight is None else weight, np.exp(X @ beta + offset)
    information, residual = np.zeros((p, p)), np.zeros((n, p))
    for s, t in {(s, t) for s, t, e in zip(stratum, time, event, strict=True) if e}:
        here = stratum == s
        dead, risk = here & (time == t) & (event == 1), here & (entry < t) & (time >= t)
        for k in range(dead.sum()):
            left = risk * (1.0 - dead * k / dead.sum())
            w = weight * hazard * left
            mean = w @ X / w.sum()
            mass = weight[dead].sum() / dead.sum()
            information += mass * ((X - mean).T * w) @ (X - mean) / w.sum()
            residual[dead] += (X[dead] - mean) / dead.sum()
            residual -= (mass * hazard * left / w.sum())[:, None] * (X - mean)
    V = np.linalg.inv(information)
    sums = np.array([(weight[cluster == c][:, None] * residual[cluster == c]).sum(axis=0) for c in np.unique(cluster)])
    return np.sqrt(np.diag(V @ sums.T @ sums @ V))


@pytest.fixture(scope="module")
def rows():
    """Tied, late and stratified rows of three times, with clusters and weights."""
    rng = np.random.default_rng(7)
    n = 120
    x, z, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    t, c = rng.exponential(np.exp(-0.7 * x - 0.3 * z + 0.4 * g)), rng.exponential(2.0, n)
    time = np.ceil(12.0 * np.minimum(t, c)) / 12.0
    return pd.DataFrame(
        {"time": time, "event": (t <= c).astype(int), "x": x, "z": z, "g": np.array(list("abc"))[g]}
    ).assign(
        entry=np.where(rng.random(n) < 0.5, 0.0, 0.4 * time),
        cl=rng.integers(0, 25, n),
        w=rng.integers(1, 4, n),
        share=rng.uniform(0.4, 2.5, n),
    )


def own_errors(rows, res, *, cluster, strata=False, late=False, weight=None):
    X = rows[["x", "z"]].to_numpy(dtype=float)
    entry = rows["entry"].to_numpy() if late else np.full(len(rows), -1.0)
    stratum = rows["g"].to_numpy() if strata else np.zeros(len(rows))
    beta = res.params[["x", "z"]].to_numpy()
    return sandwich(X, entry, rows["time"].to_numpy(), rows["event"].to_numpy(), stratum, beta, cluster, weight)


FEW = {"family": tg.PH("piecewise", bands=4)}


@pytest.mark.parametrize(("strata", "late"), [(False, False), (True, False), (False, True), (True, True)])
def test_sandwich_by_a_loop(rows, strata, late):
    formula = f"Surv({'entry, ' * late}time, event) ~ x + z{' + strata(g)' * strata}"
    res, each = tg.fit(formula, rows, **FEW), np.arange(len(rows))
    for groups, cluster in ((None, each), (each, each), ("cl", rows["cl"]), (rows["cl"].sample(frac=1.0), rows["cl"])):
        own = own_errors(rows, res, cluster=np.asarray(cluster), strata=strata, late=late)
        np.testing.assert_allclose(res.robust_hazard_ratios(groups)["robust se"], own, rtol=1e-8)


def test_frequencies_are_copies_and_shares_are_rows_of_a_sample(rows):
    """Copies of a row are clusters of their own unless groups= put them together; other weights are as in coxph."""
    res = tg.fit("Surv(time, event) ~ x + z", rows, weights="w", **FEW)
    copies = rows.loc[rows.index.repeat(rows["w"])].reset_index()
    each = (
        {"cluster": np.arange(len(copies))},
        {"cluster": copies["index"].to_numpy()},
        {"cluster": copies["cl"].to_numpy()},
    )
    for groups, how in zip((None, np.arange(len(rows)), "cl"), each, strict=True):
        np.testing.assert_allclose(
            res.robust_hazard_ratios(groups)["robust se"], own_errors(copies, res, **how), rtol=1e-8
        )
    with pytest.warns(UserWarning, match="whole numbers"):
        res = tg.fit("Surv(time, event) ~ x + z", rows, weights="share", **FEW)
    weight = rows["share"].to_numpy()
    for groups, cluster in ((None, np.arange(len(rows))), (np.arange(len(rows)),) * 2, ("cl", rows["cl"].to_numpy())):
        own = own_errors(rows, res, cluster=cluster, weight=weight)
        np.testing.assert_allclose(res.robust_hazard_ratios(groups)["robust se"], own, rtol=1e-8)


def test_the_loop_and_the_fit_are_those_of_r():
    """Errors clustered by subject of start-stop rows, at R's coefficients by the loop and at its own by the fit."""
    heart, case = load_stanford_heart_transplants(), CASES["heart_cox_cluster"]
    names = list(case["coef"])
    X, subject = heart[names].to_numpy(dtype=float), heart["id"].to_numpy()
    given = X, heart["start"].to_numpy(), heart["stop"].to_numpy(), heart["event"].to_numpy(), np.zeros(len(X))
    own = sandwich(*given, np.array(list(case["coef"].values())), subject)
    np.testing.assert_allclose(own, [case["robust_se"][name] for name in names], rtol=1e-6)
    res = tg.fit("Surv(start, stop, event) ~ age + year + surgery + transplant", heart, family="ph", id="id")
    found = res.robust_hazard_ratios()["robust se"]
    np.testing.assert_allclose(found[names], sandwich(*given, res.params[names].to_numpy(), subject), rtol=1e-8)
    np.testing.assert_allclose(found[names], own, rtol=0.035)


@pytest.mark.parametrize("clustered", [False, True])
def test_robust_errors_are_those_of_lifelines(lung, smooth, clustered):
    how = {"cluster_col": "inst"} if clustered else {"robust": True}
    data = lung[["time", "event", *COLUMNS, *(["inst"] if clustered else [])]]
    cox = CoxPHFitter().fit(data, "time", "event", **how)
    X = lung[COLUMNS].to_numpy()
    given = X, np.full(len(X), -1.0), lung["time"].to_numpy(), lung["event"].to_numpy(), np.zeros(len(X))
    cluster = lung["inst"].to_numpy() if clustered else np.arange(len(X))
    own = sandwich(*given, cox.params_.to_numpy(), cluster)
    np.testing.assert_allclose(own, cox.standard_errors_, rtol=5e-3)  # whose scores have ties in Breslow's way
    found = smooth.robust_hazard_ratios(lung["inst"] if clustered else None)
    np.testing.assert_allclose(found["robust se"], own, rtol=0.012)
    np.testing.assert_allclose(found["se(coef)"], smooth.bse[COLUMNS])
    np.testing.assert_allclose(found["lower"], np.exp(found["coef"] - 1.959964 * found["robust se"]), rtol=1e-6)
    np.testing.assert_allclose(found["z"], found["coef"] / found["robust se"])


def test_a_prior_moves_coefficients_and_not_their_sandwich(rows):
    res = tg.fit("Surv(time, event) ~ x + z", rows, priors={"x": tg.Normal(0.0, 0.05)}, family="ph")
    table = res.robust_hazard_ratios()
    np.testing.assert_allclose(table["robust se"], own_errors(rows, res, cluster=np.arange(len(rows))), rtol=1e-8)
    assert table.loc["x", "se(coef)"] < 0.7 * table.loc["x", "robust se"]


def test_fixed_and_unidentified_coefficients(rows):
    held = tg.fit("Surv(time, event) ~ x + z", rows, fixed={"x": 0.5}, **FEW)
    given = (
        rows[["z"]].to_numpy(dtype=float),
        np.full(len(rows), -1.0),
        rows["time"].to_numpy(),
        rows["event"].to_numpy(),
    )
    beta, each = held.params[["z"]].to_numpy(), np.arange(len(rows))
    own = sandwich(*given, np.zeros(len(rows)), beta, each, offset=0.5 * rows["x"].to_numpy())
    np.testing.assert_allclose(held.robust_hazard_ratios()["robust se"], [0.0, own[0]], rtol=1e-8)
    every = tg.fit("Surv(time, event) ~ x + z", rows, fixed={"x": 0.5, "z": 0.1}, **FEW)
    assert (every.robust_hazard_ratios("cl")["robust se"] == 0.0).all()
    early = np.arange(len(rows)) < 5  # no row with such a value is at risk at an event
    known = rows.assign(early=early * 1.0, time=rows["time"].where(~early, 0.01), event=rows["event"].where(~early, 0))
    free = tg.fit("Surv(time, event) ~ x + early", known, family="ph")
    given = rows[["x"]].to_numpy(), given[1], known["time"].to_numpy(), known["event"].to_numpy(), np.zeros(len(rows))
    own = sandwich(*given, free.params[["x"]].to_numpy(), each)
    np.testing.assert_allclose(free.robust_hazard_ratios()["robust se"], [own[0], np.nan], rtol=1e-8)


def test_clusters_by_name(rows):
    res = tg.fit("Surv(time, event) ~ x + z + strata(g)", rows, **FEW)
    pd.testing.assert_frame_equal(res.robust_hazard_ratios("cl"), res.robust_hazard_ratios(rows["cl"].to_numpy()))
    with pytest.raises(DataError, match=r"groups='CL'.*did you mean 'cl'"):
        res.robust_hazard_ratios("CL")
    of_cause = tg.fit("Surv(time, cause) ~ x", rows.assign(cause=rows["event"] * (1 + rows["z"])), **FEW)[1]
    pd.testing.assert_frame_equal(of_cause.robust_hazard_ratios("cl"), of_cause.robust_hazard_ratios(rows["cl"]))
    with pytest.raises(DataError, match=r"groups= has the shape \(\)"):
        res.robust_hazard_ratios(5)


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
