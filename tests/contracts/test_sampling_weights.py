"""Robust standard errors under weights: sandwiches of weighted scores, or of rows written several times."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "gaussian": ("y ~ x + C(arm)", {}),
    "censored": ("y ~ x + C(arm) | censor(0)", {}),
    "scale": ("y ~ x | censor(0)", {"sigma": "~ x"}),
    "student": ("y ~ x | censor(0)", {"family": tg.Student(df=4)}),
    "boxcox": ("pos ~ x", {"family": "boxcox"}),
    "weibull": ("Surv(time, event) ~ x", {"family": "weibull"}),
    "gengamma": ("Surv(time, event) ~ x", {"family": "gengamma"}),
    "cure": ("Surv(time, event) ~ x", {"family": "weibull", "cure": "~ 1"}),
    "hazards": ("Surv(time, event) ~ x", {"family": tg.PH("weibull")}),
    "splines": ("Surv(time, event) ~ x", {"family": tg.PH("spline", df=2)}),
    "odds": ("Surv(time, event) ~ x", {"family": tg.PH("spline", df=2, link="odds")}),
    "shapes": ("Surv(time, event) ~ x", {"family": tg.PH("spline", df=2), "cure": "~ 1"}),
    "start-stop": ("Surv(start, stop, event) ~ x", {"family": "weibull", "id": "who"}),
    "hazards by id": ("Surv(start, stop, event) ~ x", {"family": tg.PH("weibull"), "id": "who"}),
}
ROBUST = {"HC0": {}, "HC1": {}, "cluster": {"groups": "town"}}


def simulate(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x = rng.normal(size=n)
    life, seen = rng.weibull(1.4, n) * np.exp(0.4 * x), rng.uniform(0.3, 2.0, n)
    life[rng.random(n) < 0.25] = np.inf
    data = pd.DataFrame({"x": x, "arm": rng.choice(["a", "b"], n), "town": rng.integers(0, 30, n), "who": range(n)})
    data = data.assign(y=np.maximum(0.5 * x + 0.7 + rng.normal(size=n), 0.0), pos=np.exp(0.3 * x + rng.normal(size=n)))
    data["time"], data["event"] = np.minimum(life, seen), (life <= seen).astype(int)
    return data.assign(w=rng.uniform(0.4, 4.0, n), k=rng.integers(1, 4, n))


def rows_of(name: str, data: pd.DataFrame) -> pd.DataFrame:
    """The rows as they are, or each cut in two pieces of follow-up."""
    if "id" not in KINDS[name][1]:
        return data
    half = 0.4 * data["time"]
    first = data.assign(start=0.0, stop=half, event=0)
    return pd.concat([first, data.assign(start=half, stop=data["time"])], ignore_index=True)


def errors(name: str, data: pd.DataFrame, cov_type: str, column: str | None = None, **more: Any) -> Any:
    formula, options = KINDS[name]
    kwds = ROBUST[cov_type] | more
    return tg.fit(formula, rows_of(name, data), weights=column, cov_type=cov_type, cov_kwds=kwds or None, **options).bse


@pytest.mark.quick_cases("HC0-gaussian", "HC1-censored", "cluster-weibull")
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("cov_type", ROBUST)
def test_the_unit_of_sampling_weights_changes_nothing(name: str, cov_type: str) -> None:
    data = simulate()
    found = errors(name, data, cov_type, "w")
    np.testing.assert_allclose(errors(name, data.assign(w=7.3 * data["w"]), cov_type, "w"), found, rtol=1e-5)


@pytest.mark.quick_cases("HC0-gaussian", "HC1-censored", "cluster-weibull")
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("cov_type", ROBUST)
def test_equal_sampling_weights_are_none(name: str, cov_type: str) -> None:
    data = simulate()
    equal = errors(name, data.assign(w=2.5), cov_type, "w")
    np.testing.assert_allclose(equal, errors(name, data, cov_type), rtol=1e-5)
    stated = errors(name, data.assign(w=3), cov_type, "w", weights="sampling")
    np.testing.assert_allclose(stated, equal, rtol=1e-5)


@pytest.mark.quick_cases("HC0-gaussian", "HC1-censored", "cluster-weibull")
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("cov_type", ROBUST)
def test_frequencies_are_rows_written_so_often(name: str, cov_type: str) -> None:
    data = simulate()
    often = data.loc[data.index.repeat(data["k"])].reset_index(drop=True)
    found = errors(name, data, cov_type, "k", weights="frequency")
    np.testing.assert_allclose(errors(name, often.assign(who=range(len(often))), cov_type), found, rtol=1e-5)
    np.testing.assert_allclose(errors(name, data, cov_type, "k"), found, rtol=1e-12)  # the default


def test_statsmodels_has_the_same_of_weighted_least_squares() -> None:
    sm = pytest.importorskip("statsmodels.formula.api")
    data = simulate()
    res = tg.fit("y ~ x + C(arm)", data, weights="w", cov_type="HC0")
    wls = sm.wls("y ~ x + C(arm)", data, weights=data["w"]).fit(cov_type="HC0")
    np.testing.assert_allclose(res.bse[wls.bse.index], wls.bse, rtol=1e-6)
    clustered = tg.fit("y ~ x + C(arm)", data, weights="w", cov_type="cluster", cov_kwds={"groups": "town"})
    kwds = {"groups": data["town"], "use_correction": False}
    wls = sm.wls("y ~ x + C(arm)", data, weights=data["w"]).fit(cov_type="cluster", cov_kwds=kwds)
    np.testing.assert_allclose(clustered.bse[wls.bse.index], wls.bse, rtol=1e-6)


def test_cox_regression_has_nearly_the_same_of_a_spline_hazard() -> None:
    """The errors of coxph(robust=TRUE), by lifelines: of another model of the same hazard ratio."""
    lifelines = pytest.importorskip("lifelines")
    data = simulate()[["time", "event", "x", "w"]]
    res = tg.fit("Surv(time, event) ~ x", data, family=tg.PH("spline"), weights="w", cov_type="HC0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cox = lifelines.CoxPHFitter().fit(data, "time", "event", weights_col="w", robust=True)
    np.testing.assert_allclose(res.bse["x"], cox.standard_errors_["x"], rtol=0.02)


@pytest.mark.slow
def test_a_sample_with_unequal_chances_shows_the_errors() -> None:
    """Ratio of standard errors to the spread of estimates in repeated samples."""
    rng, found = np.random.default_rng(2), []
    for _ in range(400):
        x = rng.integers(0, 2, 200)
        noise = rng.normal(size=200)
        w = np.where(rng.random(200) < 0.5, 1.5, 8.5)
        data = pd.DataFrame({"x": x, "y": x + noise, "w": w})
        res = tg.fit("y ~ x", data, weights="w", cov_type="HC0")
        found.append((res.params["x"], res.bse["x"]))
    estimates, ses = np.array(found).T
    assert 0.92 < np.mean(ses) / np.std(estimates) < 1.08


def test_whole_weights_without_a_word_of_their_kind_warn() -> None:
    data = simulate()
    with pytest.warns(UserWarning, match="'sampling'"):
        tg.fit("y ~ x", data.assign(k=data["k"] + 1), weights="k", cov_type="HC0")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cov_type": "HC0", "cov_kwds": {"weights": "precision"}}, "must be one of"),
        ({"cov_type": "HC0", "cov_kwds": {"weights": "frequency"}}, "must be whole numbers"),
        ({"cov_type": "HC0", "cov_kwds": {"groups": "town"}}, "'groups'"),
        ({"cov_kwds": {"weights": "sampling"}}, "must be combined with cov_type"),
        ({"cov_type": "HC0", "cov_kwds": "sampling"}, "a dict"),
    ],
)
def test_words_for_what_cannot_be(options: dict[str, Any], words: str) -> None:
    warned = nullcontext() if "cov_type" in options else pytest.warns(UserWarning, match="whole")
    with warned, pytest.raises(SpecError, match=words):
        tg.fit("y ~ x", simulate(), weights="w", **options)


@pytest.mark.slow
def test_the_bootstrap_keeps_sampling_weights() -> None:
    data = simulate()
    res = tg.fit("y ~ x", data, weights="w", cov_type="HC0")
    again = res.bootstrap(300, rng=1)
    np.testing.assert_allclose(again.bse["x"], res.bse["x"], rtol=0.15)


@pytest.mark.parametrize(
    ("family", "remedy"), [("ph", {"family": tg.PH("spline")}), ("weibull", {"family": "weibull", "method": "mle"})]
)
def test_the_remedy_for_sampling_weights_runs(family: str, remedy: dict[str, Any]) -> None:
    data = simulate()
    with pytest.warns(UserWarning, match="not whole numbers") as said:
        tg.fit("Surv(time, event) ~ x", data, family=family, weights="w")
    assert ("tg.PH('spline')" if family == "ph" else "method='mle'") in str(said[0].message)
    res = tg.fit("Surv(time, event) ~ x", data, weights="w", cov_type="HC0", **remedy)
    assert np.isfinite(res.bse).all()


@pytest.mark.quick_cases("HC0-gaussian", "HC1-censored")
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("cov_type", ["HC0", "HC1"])
def test_the_unit_of_sampling_weights_changes_no_finding(name: str, cov_type: str) -> None:
    """Whole numbers that are said to be sampling weights, and the same over a number."""
    first, again = (sampled(name, unit, cov_type).check().table for unit in (1.0, 1.0 / 2.99))
    assert again["verdict"].equals(first["verdict"])
    np.testing.assert_allclose(again["value"], first["value"], rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore:(psis|waic). the estimates of")
@pytest.mark.quick_cases("gaussian", "splines")
@pytest.mark.parametrize("name", KINDS)
def test_the_unit_of_sampling_weights_changes_no_answer(name: str) -> None:
    """Standard errors of answers that are sums over rows, or refits."""
    first, again = (sampled(name, unit) for unit in (1.0, 1.0 / 2.99))
    groups = None if name != "hazards by id" else first.model.data.frame.index % 120
    for ask in (
        lambda res: res.anova(),
        lambda res: res.influence(scaled=True),
        lambda res: [[res.loo().elpd, res.loo().se, res.waic().elpd, res.waic().se, res.k_hat().k]],
        lambda res: res.bootstrap(5, groups, rng=1).draws,
    ):
        np.testing.assert_allclose(ask(again), ask(first), rtol=1e-3, atol=1e-5)


def sampled(name: str, unit: float, cov_type: str = "HC0") -> Any:
    (formula, options), data = KINDS[name], rows_of(name, simulate())
    stated = {"cov_type": cov_type, "cov_kwds": {"weights": "sampling"}}
    return tg.fit(formula, data, weights=data["k"] * unit, **stated, **options)


def test_rows_with_sampling_weights_are_drawn_as_rows() -> None:
    data = simulate().assign(k=lambda data: 100 * data["k"])
    stated = {"cov_type": "HC0", "cov_kwds": {"weights": "sampling"}}
    res = tg.fit("y ~ x", data, weights="k", **stated)
    drawn = res.bootstrap(50, rng=1)
    assert drawn.draws.equals(res.bootstrap(50, groups=data.index.to_numpy(), rng=1).draws)
    np.testing.assert_allclose(drawn.bse["x"], res.bse["x"], rtol=0.4)


def test_likelihoods_of_sampling_weights_compare_nothing(tmp_path: Path) -> None:
    data = simulate()
    larger, smaller = (tg.fit(formula, data, weights="w", cov_type="HC0") for formula in ("y ~ x", "y ~ 1"))
    with pytest.raises(SpecError, match="anova"):
        larger.lr_test(smaller)
    with pytest.raises(SpecError, match="'loo', 'waic'"):
        tg.compare([larger, smaller], by="aic")
    assert tg.compare([larger, smaller], by="loo")["value"].is_monotonic_decreasing
    assert "AIC" not in str(larger.summary())
    larger.save(tmp_path / "fit.tgp")
    for res in (larger, tg.load(tmp_path / "fit.tgp")):
        assert np.isnan([res.aic, res.bic]).all()
    assert np.isfinite(tg.fit("y ~ x", data, weights="k", cov_type="HC0").aic)


def test_leave_one_out_of_equal_sampling_weights_is_that_of_rows() -> None:
    data = simulate()
    plain = tg.fit("y ~ x", data, cov_type="HC0").loo()
    equal = tg.fit("y ~ x", data.assign(w=7.5), weights="w", cov_type="HC0").loo()
    np.testing.assert_allclose([equal.elpd, equal.se, equal.n], [plain.elpd, plain.se, plain.n], rtol=1e-6)


def test_standard_errors_of_leave_one_out_are_those_of_weighted_means() -> None:
    """The standard error is that of a mean over the population, if the densities do not depend on the weights."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=2000), "w": np.where(rng.random(2000) < 0.5, 1.5, 8.5)})
    loo = tg.fit("y ~ x", data.assign(y=rng.normal(size=2000)), weights="w", cov_type="HC0").loo(draws=400)
    share = data["w"] / data["w"].sum()
    away = loo.pointwise["elpd"] - share @ loo.pointwise["elpd"]
    assert loo.se / loo.n == pytest.approx(np.sqrt(np.square(share) @ np.square(away)), rel=0.05)


def test_findings_of_sampling_weights_are_of_the_population() -> None:
    """Rows that were chosen by the response look skewed without their weights."""
    rng, verdicts = np.random.default_rng(6), []
    x = rng.normal(size=3000)
    y = x + rng.normal(size=3000)
    chance = np.where(y > x, 1.0, 0.25)
    chosen = rng.random(3000) < chance
    data = pd.DataFrame({"x": x, "y": y, "w": 1.0 / chance})[chosen]
    weighted = tg.fit("y ~ x", data, weights=data["w"] / 3.0, cov_type="HC0").check()
    verdicts = [weighted.ok, tg.fit("y ~ x", data).check().ok]
    assert verdicts == [True, False]
