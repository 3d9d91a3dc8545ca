"""Rows of Fine and Gray's regression, against cmprsk's numbers and a literal weighted partial likelihood."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError

REFERENCE = Path(__file__).parents[2] / "reference"
CASE = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]["mgus2_competing"]
COLUMNS = ["age", "male"]


@pytest.fixture(scope="module")
def mgus2():
    columns = json.loads((REFERENCE / "mgus2_competing.json").read_text())
    return pd.DataFrame({name: columns[name] for name in ("age", "male", "etime", "cause")})


def censoring(time, code, *, events_first):
    """Kaplan and Meier's probability of not being censored before a time, by the definition."""
    steps = [
        (t, (time[code == 0] == t).sum(), (time >= t).sum() - events_first * ((time == t) & (code > 0)).sum())
        for t in np.unique(time[code == 0])
    ]
    return lambda at: np.prod([np.where(t < at, 1.0 - c / n, 1.0) for t, c, n in steps], axis=0)


def maximum(d, cause, *, events_first):
    """Maximum of Fine and Gray's partial likelihood (Breslow's ties), the weights of each risk set as they are."""
    time, code, X = d["etime"].to_numpy(float), d["cause"].to_numpy(), d[COLUMNS].to_numpy(float)
    X, G = X - X.mean(axis=0), censoring(time, code, events_first=events_first)
    own, sets = G(time), []
    for t in np.unique(time[code == cause]):
        other = (code > 0) & (code != cause) & (time < t)
        weight = np.where(time >= t, 1.0, np.where(other, G(t) / own, 0.0))
        sets.append((weight, (time == t) & (code == cause)))

    def minus(b):
        eta, value, slope = X @ b, 0.0, np.zeros(2)
        for weight, dead in sets:
            h = weight * np.exp(eta)
            value -= eta[dead].sum() - dead.sum() * np.log(h.sum())
            slope -= X[dead].sum(axis=0) - dead.sum() * (h @ X) / h.sum()
        return value, slope

    return minimize(minus, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-7}).x


def expanded_maximum(rows):
    """The same from rows with a start, a stop and a weight."""
    X = rows[COLUMNS].to_numpy(float)
    X = X - X[rows["fgstart"] == 0.0].mean(axis=0)
    start, stop, seen, w = (rows[name].to_numpy(float) for name in ("fgstart", "fgstop", "fgstatus", "fgwt"))
    sets = [
        (np.flatnonzero((start < t) & (t <= stop)), np.flatnonzero((stop == t) & (seen == 1.0)))
        for t in np.unique(stop[seen == 1.0])
    ]

    def minus(b):
        eta, value, slope = X @ b, 0.0, np.zeros(2)
        for at, dead in sets:
            h = w[at] * np.exp(eta[at])
            value -= eta[dead].sum() - len(dead) * np.log(h.sum())
            slope -= X[dead].sum(axis=0) - len(dead) * (h @ X[at]) / h.sum()
        return value, slope

    return minimize(minus, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-7}).x


@pytest.mark.slow
@pytest.mark.parametrize("cause", [1, 2])
def test_rows_have_the_weights_of_the_definition_and_crr_differs_by_its_ties_alone(mgus2, cause):
    rows = tg.survival.finegray("Surv(etime, cause)", mgus2, cause)
    literal = maximum(mgus2, cause, events_first=True)
    np.testing.assert_allclose(expanded_maximum(rows), literal, atol=1e-6)
    # crr lets events share the risk set of censorings at their time.
    crr = [CASE[f"cause{cause}"]["fine_gray"]["coef"][name] for name in COLUMNS]
    np.testing.assert_allclose(maximum(mgus2, cause, events_first=False), crr, atol=2e-5)
    np.testing.assert_allclose(literal, crr, rtol=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("cause", [1, 2])
def test_hazards_of_the_rows_have_the_ratios_and_errors_of_crr(mgus2, cause):
    rows = tg.survival.finegray("Surv(etime, cause)", mgus2, cause)
    how = {"weights": "fgwt", "cov_type": "cluster", "cov_kwds": {"groups": "fgid"}}
    res = tg.fit("Surv(fgstart, fgstop, fgstatus) ~ age + male", rows, family=tg.PH("spline"), **how)
    crr = CASE[f"cause{cause}"]["fine_gray"]
    se = np.array(crr["se"])
    assert (np.abs(res.params[COLUMNS] - [crr["coef"][name] for name in COLUMNS]) < 0.16 * se).all()
    np.testing.assert_allclose(res.bse[COLUMNS], se, rtol=0.01)


def test_product_limit_of_the_rows_is_aalen_and_johansens_estimate(mgus2):
    for male in (0, 1):
        d = mgus2[mgus2["male"] == male]
        for cause in (1, 2):
            rows = tg.survival.finegray("Surv(etime, cause)", d, cause)
            S, values = 1.0, {}
            for t in np.unique(rows["fgstop"][rows["fgstatus"] == 1]):
                at_risk = rows["fgwt"][(rows["fgstart"] < t) & (t <= rows["fgstop"])].sum()
                S *= 1.0 - ((rows["fgstop"] == t) & (rows["fgstatus"] == 1)).sum() / at_risk
                values[t] = 1.0 - S
            found = [max(F for t, F in values.items() if t <= at) for at in CASE["times"]]
            np.testing.assert_allclose(found, CASE["aalen_johansen"][f"male={male}"][f"p{cause}"], rtol=1e-10)


def test_weights_words_and_missing_values():
    d = pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0, np.nan], "c": ["death", "censored", "relapse", "relapse", "death"]})
    rows = tg.survival.finegray("Surv(t, c) ~ x", d.assign(w=[1, 2, 1, 1, 1]), "relapse", weights="w")
    late = rows[rows["fgstart"] > 0.0]
    assert late[["fgid", "fgstop"]].to_numpy().tolist() == [[0, 4.0]]
    np.testing.assert_allclose(late["fgwt"], 0.5)  # two of four copies at risk were censored at 2
    assert set(rows["fgid"]) == {0, 1, 2, 3}
    twice = tg.survival.finegray("Surv(t, c)", pd.concat([d, d.iloc[[1]]], ignore_index=True), "relapse")
    np.testing.assert_allclose(twice["fgwt"][twice["fgstart"] > 0.0], 0.5)


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("Surv(t0, t, c)", {}, FormulaError, "Late entry"),
        ("t", {}, FormulaError, "times and causes"),
        ("Surv(u, c)", {}, SpecError, "column 'u'"),
        ("Surv(t, c)", {"cause": "cured"}, SpecError, "no such cause"),
        ("Surv(t, c)", {"weights": "v"}, SpecError, "column 'v'"),
        ("Surv(z, c)", {}, DataError, "positive numbers"),
    ],
)
def test_messages(formula, options, error, words):
    d = {"t0": [0.1] * 3, "t": [1.0, 2.0, 3.0], "z": [-1.0, 2.0, 3.0], "c": ["a", "b", "censored"]}
    with pytest.raises(error, match=words):
        tg.survival.finegray(formula, d, **{"cause": "a"} | options)
