"""Coefficients of which few events tell: the summary has the maximum and limits of Cox's partial likelihood."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from scipy.optimize import minimize_scalar

import tobitgp as tg


def rare(events, seed=1):
    """Twenty rows of a level of which so many have an event, beside 380 of another one."""
    rng = np.random.default_rng(seed)
    g = np.r_[np.zeros(20), np.ones(380)]
    t, c = rng.exponential(1 / np.where(g == 0, 0.05, 0.15)), rng.uniform(2, 6, 400)
    event = (t <= c) * 1
    event[:20] = np.arange(20) < events
    return pd.DataFrame({"g": g, "x": rng.normal(size=400).round(1), "time": np.minimum(t, c), "event": event})


def partial_likelihood(data, b):
    """Of g alone, without ties."""
    data = data.sort_values("time", ascending=False)
    return float((data["event"] * (b * data["g"] - np.log(np.cumsum(np.exp(b * data["g"]))))).sum())


@pytest.mark.parametrize("events", [1, 2, 3])
def test_the_maximum_and_limits_are_those_of_cox(events):
    data = rare(events)
    ((maximum, lower, upper),) = tg.fit("Surv(time, event) ~ g", data, family="ph").parts.few.values()
    options = {"bounds": (-2, 6), "method": "bounded", "options": {"xatol": 1e-8}}
    cox = minimize_scalar(lambda b: -partial_likelihood(data, b), **options).x
    assert maximum == pytest.approx(cox, abs=1e-5)
    for end in (lower, upper):
        lost = 2.0 * (partial_likelihood(data, cox) - partial_likelihood(data, end))
        assert lost == pytest.approx(3.841459, abs=1e-4)
    assert upper - cox > 1.2 * (cox - lower)


@pytest.mark.slow
def test_other_columns_and_strata_are_taken_into_account():
    data = rare(2).assign(s=np.resize(["a", "b", "b"], 400))
    res = tg.fit("Surv(time, event) ~ g + x + strata(s)", data, family="ph")
    assert list(res.parts.few) == ["g"]
    columns = ["g", "x", "s", "time", "event"]
    cox = CoxPHFitter().fit(data[columns], "time", "event", strata="s")
    assert res.parts.few["g"][0] == pytest.approx(cox.params_["g"], abs=1e-3)


@pytest.mark.slow
def test_the_summary_has_one_note_of_columns_and_one_of_skewed_posteriors():
    text = " ".join(str(tg.fit("Surv(time, event) ~ g", rare(1), family="ph").summary()).split())
    assert text.count("P>|z|: twice the smaller posterior") == 1
    assert "Hazard ratios exp(coef)" in text
    assert "few events are informative about a coefficient" in text
    assert "profile limits: g 10.9 (2.44, 191)" in text
    none = " ".join(str(tg.fit("Surv(time, event) ~ g", rare(0), family="ph").summary()).split())
    assert "profile limits: g inf (" in none
    lung = tg.datasets.load("lung")
    for family in ("ph", tg.PH("piecewise"), tg.PH("weibull")):
        assert "few events" not in str(tg.fit("Surv(time, event) ~ age + C(sex)", lung, family=family).summary())
