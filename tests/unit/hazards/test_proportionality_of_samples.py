"""Tests of proportional hazards with sampling weights: free of their unit, and of the right size."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.hazards.partial_likelihood import maximise, risk_sets_of, score_residuals

FAMILY = tg.PH("weibull")
SAMPLE = {"cov_type": "HC0", "cov_kwds": {"weights": "sampling"}}


def simulate(n=150, seed=1):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.choice(list("uv"), n)
    life, seen = rng.weibull(1.4, n) * np.exp(-0.4 * x), rng.uniform(0.3, 2.0, n)
    data = pd.DataFrame({"x": x, "g": g, "t": np.minimum(life, seen).round(2) + 0.01, "e": (life <= seen).astype(int)})
    return data.assign(k=rng.integers(1, 6, n), town=rng.integers(0, 40, n), who=np.arange(n))


def proportionality(data, weights, family=FAMILY, formula="Surv(t, e) ~ x + g", **options):
    return tg.fit(formula, data, family=family, weights=weights, **(SAMPLE | options)).proportionality()


def test_residuals_are_derivatives_of_scores_in_the_weights():
    """Numerically, at maxima under weights that differ in one row; with ties, late entry and strata."""
    rng, n = np.random.default_rng(2), 40
    X, weight = rng.normal(size=(n, 2)), rng.uniform(0.2, 4.0, n)
    exit = rng.integers(2, 9, n).astype(float)
    entry, event = np.where(rng.random(n) < 0.4, exit - 1.5, 0.0), rng.random(n) < 0.7
    stratum, g = rng.integers(0, 2, n), np.sin(exit)

    def at(weight):
        sets = risk_sets_of(AtRisk(entry, exit, event, weight), stratum, sampling=True)
        return sets, maximise(X, sets, np.zeros(n), g)

    sets, found = at(weight)
    slope = np.linalg.solve(found.of_x, found.of_both)
    own = np.zeros_like(X)
    for here, each in sets:
        of_x, of_g = score_residuals(X[here], each, X[here] @ found.change, g[here])
        own[here] = of_g - of_x @ slope
    np.testing.assert_allclose(weight @ own, found.U, atol=1e-8)
    for i in range(n):
        step = 1e-4 * (np.arange(n) == i)
        up, down = (at(weight + side * step)[1] for side in (1.0, -1.0))
        np.testing.assert_allclose((up.U - down.U) / 2e-4, own[i], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", [FAMILY, tg.PH("spline", df=3)], ids=repr)
def test_the_unit_of_sampling_weights_changes_nothing(family):
    data = simulate()
    found = proportionality(data, data["k"], family)
    for unit in (10.0, 1.0 / 2.99):
        np.testing.assert_allclose(proportionality(data, unit * data["k"], family), found, rtol=1e-5)
    fractions = tg.fit("Surv(t, e) ~ x + g", data, family=family, weights=data["k"] / 2.99, cov_type="HC1")
    np.testing.assert_allclose(fractions.proportionality(), found, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:weights=. [0-9]+ weights are not whole numbers")
def test_fractions_have_no_unit_without_a_robust_covariance():
    """The test is at the maximum of the partial likelihood whatever the family, and no row was seen 1.7 times."""
    data = simulate()
    want = proportionality(data, data["k"])
    for family in (FAMILY, tg.PH("piecewise", bands=2), tg.PH(bands=5)):
        res = tg.fit("Surv(t, e) ~ x + g", data, family=family, weights=data["k"] / 2.99)
        np.testing.assert_allclose(res.proportionality(), want, rtol=1e-4)


def test_parts_of_the_time_of_a_subject_are_one_observation():
    data = simulate()
    half = (data["t"] / 2).round(3)
    first = data.assign(start=0.0, stop=half, e=0)
    parts = pd.concat([first, data.assign(start=half, stop=data["t"])], ignore_index=True)
    found = proportionality(parts, "k", formula="Surv(start, stop, e) ~ x + g", id="who")
    np.testing.assert_allclose(found, proportionality(data, "k"), rtol=1e-6)


def test_residuals_add_up_within_clusters():
    data = simulate()
    single = {"cov_type": "cluster", "cov_kwds": {"weights": "sampling", "groups": "who"}}
    towns = {"cov_type": "cluster", "cov_kwds": {"weights": "sampling", "groups": "town"}}
    np.testing.assert_allclose(proportionality(data, "k", **single), proportionality(data, "k"), rtol=1e-10)
    found = proportionality(data, "k", **towns)
    np.testing.assert_allclose(proportionality(data.assign(k=10 * data["k"]), "k", **towns), found, rtol=1e-6)
    assert not np.allclose(found["chisq"], proportionality(data, "k")["chisq"], rtol=0.01)


@pytest.mark.slow
def test_p_values_are_uniform_in_samples_whose_chances_depend_on_what_was_seen():
    """A case-cohort design: all events, and a fifth of the others. Frequencies of one sample for all would be wrong."""
    p = {"sampling": [], "frequency": []}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = 900
        x, g = rng.normal(size=n), rng.choice(list("uv"), n)
        life, seen = rng.weibull(1.4, n) * np.exp(-0.4 * x) * 3.0, rng.uniform(0.5, 2.0, n)
        data = pd.DataFrame({"x": x, "g": g, "t": np.minimum(life, seen), "e": (life <= seen).astype(int)})
        data["k"] = np.where(data["e"] == 1, 1, 5)
        data = data[(data["e"] == 1) | (rng.random(n) < 0.2)]
        for kind, found in p.items():
            options = {"cov_kwds": {"weights": kind}}
            found.append(proportionality(data, "k", **options).loc["GLOBAL", "p"])
    assert stats.kstest(p["sampling"], "uniform").pvalue > 0.01
    assert np.mean(np.array(p["sampling"]) < 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(np.array(p["frequency"]) < 0.05) > 0.08
