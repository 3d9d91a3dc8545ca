"""Residuals and baselines of proportional hazards under the names of statsmodels' PHReg, against it and by hand.

Without censoring, hazards that are constant between event times have the maximum of Breslow's partial likelihood.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import tobitgp as tg


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 40))
    time = rng.exponential(np.exp(-0.7 * x)).round(3) + 0.001
    return pd.DataFrame({"x": x, "z": z, "time": time, "event": 1, "g": rng.choice(list("ab"), 40)})


@pytest.fixture(scope="module")
def theirs(data):
    return smf.phreg("time ~ x + z", data, status=data["event"]).fit()


@pytest.fixture(scope="module")
def ours(data):
    bands = np.unique(data["time"])[:-1].tolist()
    return tg.fit("Surv(time, event) ~ x + z", data, family=tg.PH("piecewise", bands=bands), method="mle")


@pytest.mark.filterwarnings("ignore")
def test_values_of_a_partial_likelihood(ours, theirs, data):
    names = ["x", "z"]
    np.testing.assert_allclose(ours.params[names], theirs.params, rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors[-2:], theirs.standard_errors, rtol=1e-6)
    np.testing.assert_allclose(ours.bse[names], theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.normalized_cov_params.loc[names, names], theirs.normalized_cov_params, rtol=1e-5)
    assert ours.scale == theirs.scale == 1.0
    np.testing.assert_allclose(ours.schoenfeld_residuals, theirs.schoenfeld_residuals, atol=1e-6)
    (times, hazard, survival), (at, before, _) = (
        ours.baseline_cumulative_hazard[0],
        theirs.baseline_cumulative_hazard[0],
    )
    np.testing.assert_allclose(times, at)
    np.testing.assert_allclose(hazard[:-1], before[1:], rtol=1e-5)  # theirs is before the event
    np.testing.assert_allclose(survival, np.exp(-hazard))
    np.testing.assert_allclose(ours.baseline_cumulative_hazard_function[0](times[::-1]), hazard[::-1])
    ratio = np.exp(data[names].to_numpy() @ ours.params[names].to_numpy())
    steps = np.diff(hazard, prepend=0.0)[np.searchsorted(times, data["time"])]
    np.testing.assert_allclose(ours.martingale_residuals + ratio * steps, theirs.martingale_residuals, atol=1e-6)
    np.testing.assert_allclose(ours.martingale_residuals.sum(), 0.0, atol=1e-6)
    np.testing.assert_allclose(np.asarray(ours.score_residuals).sum(axis=0), 0.0, atol=1e-6)


def test_scores_of_a_parametric_baseline_by_hand(data):
    """log h = a + b x + log k + (k - 1) log t, H = exp(a + b x) t^k."""
    end = np.quantile(data["time"], 0.7)
    table = data.assign(event=(data["time"] <= end).astype(int), time=np.minimum(data["time"], end))
    res = tg.fit("Surv(time, event) ~ x", table, family=tg.PH("weibull"))
    a, b, k = res.params
    t, d, x = (table[name].to_numpy() for name in ("time", "event", "x"))
    H = np.exp(a + b * x) * t**k
    left = d - H
    np.testing.assert_allclose(res.martingale_residuals, left, atol=1e-10)
    by_log_k = d * (1.0 + k * np.log(t)) - H * k * np.log(t)
    np.testing.assert_allclose(res.score_residuals, np.column_stack([left, left * x, by_log_k]), atol=1e-5)
    times, hazard, _ = res.baseline_cumulative_hazard[0]
    np.testing.assert_allclose(hazard, np.exp(a) * times**k, rtol=1e-10)
    expected = np.full(len(t), np.nan)
    for i in np.flatnonzero(d):
        r = np.exp(b * x) * (t >= t[i])
        expected[i] = x[i] - r @ x / r.sum()
    np.testing.assert_allclose(res.schoenfeld_residuals["x"], expected, rtol=1e-10)


def test_risk_sets_with_ties_late_entry_and_weights(data):
    table = data.assign(
        time=data["time"].round(1) + 0.1, entry=np.where(data.index % 3, 0.0, 0.05), w=data.index % 2 + 1
    )
    res = tg.fit("Surv(entry, time, event) ~ x", table, family=tg.PH("weibull"), weights="w")
    b, t, e, x, w = res.params["x"], *(table[name].to_numpy() for name in ("time", "entry", "x", "w"))
    r = [w * np.exp(b * x) * (t >= t[i]) * (e < t[i]) for i in range(len(t))]
    expected = [x[i] - r[i] @ x / r[i].sum() for i in range(len(t))]
    np.testing.assert_allclose(res.schoenfeld_residuals["x"], expected, rtol=1e-10)


def test_robust_errors_of_bands_by_hand(data):
    """log h_k + b x in band k; scores and information of the times themselves."""
    cut = 0.5
    res = tg.fit("Surv(time, event) ~ x", data, family=tg.PH("piecewise", bands=[cut]), method="mle")
    t, x = data["time"].to_numpy(), data["x"].to_numpy()
    exposure = np.column_stack([np.minimum(t, cut), np.maximum(t - cut, 0.0)])
    event = np.column_stack([t <= cut, t > cut])
    first, second, b = res.params
    H = exposure * np.exp([first, second]) * np.exp(b * x)[:, None]
    scores = np.column_stack([event - H, (event - H).sum(axis=1) * x])
    h, hx, hxx = H.sum(axis=0), x @ H, x**2 @ H
    V = np.linalg.inv([[h[0], 0.0, hx[0]], [0.0, h[1], hx[1]], [hx[0], hx[1], hxx.sum()]])
    np.testing.assert_allclose(res.cov_params(), V, rtol=1e-6)
    np.testing.assert_allclose(res.score_residuals, scores, atol=1e-8)
    np.testing.assert_allclose(res.cov_HC0, V @ scores.T @ scores @ V, rtol=1e-6)
    np.testing.assert_allclose(res.HC1_se, res.HC0_se * np.sqrt(40 / 37))


def test_strata_have_risk_sets_and_baselines(data):
    res = tg.fit("Surv(time, event) ~ x + strata(g)", data, family=tg.PH("weibull"))
    b, x, t, g = res.params["x"], *(data[name].to_numpy() for name in ("x", "time", "g"))
    expected = [x[i] - np.average(x, weights=np.exp(b * x) * (t >= t[i]) * (g == g[i])) for i in range(len(x))]
    np.testing.assert_allclose(res.schoenfeld_residuals["x"], expected, rtol=1e-10)
    for level, (times, hazard, survival) in zip("ab", res.baseline_cumulative_hazard, strict=True):
        assert set(times) == set(t[g == level])
        np.testing.assert_allclose(
            hazard, np.exp(res.params[f"C(g)[{level}]"]) * times ** res.params[f"shape[{level}]"], rtol=1e-8
        )
        np.testing.assert_allclose(survival, np.exp(-hazard))
