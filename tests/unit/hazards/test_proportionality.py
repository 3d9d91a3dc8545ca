"""Tests of proportional hazards: the numbers of R's ``cox.zph``, terms as wholes, and remedies that can be followed."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

REFERENCE = Path(__file__).parents[2] / "reference"
CASES = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]
FAMILIES = ["ph", tg.PH("piecewise"), tg.PH("spline", df=2), tg.PH("weibull")]


@pytest.fixture(scope="module")
def kidney():
    return pd.DataFrame(json.loads((REFERENCE / "kidney.json").read_text()))


@pytest.fixture(scope="module")
def factor():
    """Hazards whose shape depends on a factor of three levels, beside a number."""
    rng = np.random.default_rng(4)
    g, z = rng.choice(list("uvw"), 400), rng.normal(size=400)
    life = 2 * np.where(g == "v", rng.weibull(0.6, 400), rng.weibull(1.4, 400)) * np.exp(-0.3 * z)
    seen = rng.uniform(0.5, 4, 400)
    return pd.DataFrame({"t": np.minimum(life, seen).round(2) + 0.01, "e": (life <= seen) * 1, "g": g, "z": z})


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_every_baseline_has_the_numbers_of_cox_zph(family):
    lung = tg.datasets.load("lung").dropna(subset=["ph_ecog"])
    found, table = tg.fit("Surv(time, event) ~ age + sex + ph_ecog", lung, family=family), CASES["lung_zph"]["table"]
    found = found.proportionality()
    for name, (chisq, df, p) in zip(table["rows"], table["values"], strict=True):
        assert found.loc[name, "df"] == df
        np.testing.assert_allclose(found.loc[name, ["chisq", "p"]], [chisq, p], rtol=1e-4)


@pytest.mark.slow
def test_strata_have_risk_sets_of_their_own_and_one_transform_of_time(kidney):
    for family in ("ph", tg.PH("spline", df=2)):
        one, stratified = (
            tg.fit(f"Surv(time, status) ~ age{more}", kidney, family=family).proportionality()
            for more in ("", " + strata(female)")
        )
        np.testing.assert_allclose(one["chisq"], 0.516, atol=5e-4)  # survival 3.5-3, cox.zph
        np.testing.assert_allclose(stratified["chisq"], 1.146, atol=5e-4)


def test_a_factor_is_tested_as_a_whole(factor):
    alone = tg.fit("Surv(t, e) ~ g", factor, family=tg.PH("spline", df=2))
    table = alone.proportionality()
    assert table["df"].tolist() == [2, 2]
    assert table.loc["g", "chisq"] == pytest.approx(table.loc["GLOBAL", "chisq"], rel=1e-12)
    columns = alone.proportionality(terms=False)
    assert columns.index.tolist() == ["g[T.v]", "g[T.w]", "GLOBAL"]
    other = tg.fit("Surv(t, e) ~ C(g, Sum) + bs(z, df=3)", factor, family=tg.PH("weibull")).proportionality()
    assert other["df"].tolist() == [2, 3, 5]
    again = tg.fit("Surv(t, e) ~ g + bs(z, df=3)", factor, family=tg.PH("weibull")).proportionality()
    np.testing.assert_allclose(other["chisq"], again["chisq"], rtol=1e-6)


@pytest.mark.slow
def test_the_answer_depends_on_no_unit_origin_prior_or_order_and_weights_are_copies(factor):
    family = tg.PH("weibull")
    want = tg.fit("Surv(t, e) ~ g + z", factor, family=family).proportionality()
    moved = factor.assign(z=1e4 + 100.0 * factor["z"], t=365.25 * factor["t"]).sample(frac=1.0, random_state=1)
    for data, kind in ((moved, family), (factor, tg.PH("piecewise", bands=2))):
        found = tg.fit("Surv(t, e) ~ g + z", data, family=kind).proportionality()
        np.testing.assert_allclose(found, want, rtol=1e-5)
    narrow = tg.fit("Surv(t, e) ~ g + z", factor, family="ph", priors={"z": tg.Normal(0.0, 0.05)})
    np.testing.assert_allclose(narrow.proportionality(), want, rtol=1e-5)
    w = np.resize([1, 2, 3], len(factor))
    weighted = tg.fit("Surv(t, e) ~ g + z", factor.assign(w=w), family=family, weights="w").proportionality()
    copied = tg.fit("Surv(t, e) ~ g + z", factor.loc[factor.index.repeat(w)], family=family).proportionality()
    np.testing.assert_allclose(weighted, copied, rtol=1e-6)


def test_late_entry_is_that_of_rows_that_are_followed_from_the_start_in_two_parts(factor):
    cut = factor["t"] / 2
    halves = pd.concat(
        [factor.assign(start=0.0, stop=cut, e=0), factor.assign(start=cut, stop=factor["t"])], ignore_index=True
    )
    whole = tg.fit("Surv(t, e) ~ g + z", factor, family=tg.PH("weibull")).proportionality()
    parts = tg.fit("Surv(start, stop, e) ~ g + z", halves, family=tg.PH("weibull")).proportionality()
    np.testing.assert_allclose(parts, whole, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("family", [tg.PH(bands=10), tg.PH("weibull")], ids=repr)
@pytest.mark.parametrize("terms", ["g + z", "C(g)", "z", "z + strata(g)", "bs(z, df=3)"])
def test_what_check_advises_can_be_fitted(factor, terms, family):
    data = factor.assign(t=np.where(factor["z"] > 0, factor["t"] ** 3, factor["t"]))
    words = tg.fit(f"Surv(t, e) ~ {terms}", data, family=family).check(rng=1).table.loc["proportional hazards", "words"]
    advised = re.findall(r"(?:tv|strata)\((?:g|z)\)", words)
    assert advised or "column" in words
    for term in advised:
        left = terms.replace("g + ", "").replace("C(g)", "1")
        tg.fit(f"Surv(t, e) ~ {left} + {term}", data, family=tg.PH(bands=10))


@pytest.mark.slow
def test_strata_are_not_compared_at_one_time():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"t": rng.exponential(2.0, 80), "x": rng.normal(size=80), "g": np.resize(["a", "b"], 80)})
    for family in ("ph", tg.PH("piecewise", bands=2), tg.PH("spline", df=1)):
        res = tg.fit("Surv(t, e) ~ x + strata(g)", data.assign(e=1), family=family)
        assert res.anova().index.tolist() == ["x"]
        with pytest.raises(SpecError, match="changes over time"):
            res.hazard_ratios(at={"g": ["b"]}, reference={"g": "a"})
        same = res.hazard_ratios(at={"g": ["b"], "x": [1.0]}, reference={"g": "b", "x": 0.0})
        assert same["coef"].iloc[0] == pytest.approx(res.params["x"])


@pytest.mark.parametrize("family", [tg.PH("weibull"), "ph"], ids=repr)
def test_fits_without_a_maximum_are_answered(family):
    """One event at the last time, beside a factor: log hazards of the fit are far apart."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"t": rng.exponential(size=60), "x": rng.normal(size=60), "g": rng.choice(list("abc"), 60)})
    data["e"] = (data["t"] == data["t"].max()) * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit("Surv(t, e) ~ x + g", data, family=family)
    assert res.proportionality()["chisq"].ge(-1e-9).all()


@pytest.mark.filterwarnings("ignore:Events share times")
@pytest.mark.parametrize("seed", [0, 9])
def test_cells_are_not_warned_of(seed):
    """Exposures of the cells of causes at tied times are constant or lie far apart, which says nothing of the rows."""
    rng, last = np.random.default_rng(seed), 2 + seed % 3
    t = np.ceil(2 * rng.exponential(size=60))
    data = pd.DataFrame({"t": np.minimum(t, last), "x": rng.normal(size=60).round(2)})
    data["c"] = np.where(t <= last, 1 + np.arange(60) % 2, 0)
    res = tg.fit("Surv(t, c) ~ x", data, family=tg.PH(bands=10), method=tg.EP(hyper="maximize"))
    assert np.isfinite(res.params).all(axis=None)
