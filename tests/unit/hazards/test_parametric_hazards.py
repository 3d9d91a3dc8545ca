"""Parametric baselines of hazards: against R's numbers, scipy's maxima, regressions of log time, and simulation."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines.datasets import load_stanford_heart_transplants
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize

import tobitgp as tg
from tobitgp.data.outcome import outcome
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline, make_knots
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError
from tobitgp.likelihoods import FAMILIES
from tobitgp.regression.hazard_likelihood import HazardModel, hazard_problem

pytestmark = pytest.mark.diagonal

CASES = json.loads((Path(__file__).parents[2] / "reference" / "event_histories.json").read_text())["cases"]
LINEAR = "Surv(time, event) ~ age + sex + ph_ecog"
HEART = "Surv(start, stop, event) ~ age + year + surgery + transplant"
GBSG2 = "Surv(time, event) ~ hormone_yes + age + size + grade2 + grade3 + log_nodes"
WEIBULL, GOMPERTZ, SPLINE = tg.PH("weibull"), tg.PH("gompertz"), tg.PH("spline")
EACH = pytest.mark.parametrize("family", [WEIBULL, GOMPERTZ, SPLINE, tg.PH("spline", df=2, link="odds")], ids=str)


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def gbsg2():
    data = tg.datasets.load("gbsg2")
    levels = {
        "grade2": data["grade"] == "II",
        "grade3": data["grade"] == "III",
        "hormone_yes": data["hormone"] == "yes",
    }
    return data.assign(log_nodes=np.log(data["nodes"]), **{name: of.astype(int) for name, of in levels.items()})


@pytest.fixture(scope="module")
def mixed():
    """Rows of every kind: exact, left-, right- and interval-censored, some of which entered late."""
    rng = np.random.default_rng(5)
    n, x = 160, rng.normal(size=160)
    time = rng.weibull(1.4, n) * 3.0 * np.exp(-0.4 * x / 1.4)
    kind = rng.integers(4, size=n)
    width = rng.uniform(0.2, 1.5, n)
    lower = np.select(
        [kind == 0, kind == 1, kind == 2], [time, np.minimum(time, 2.0), 0.0], np.maximum(time - width, 0)
    )
    upper = np.select(
        [kind == 0, kind == 1, kind == 2], [time, np.where(time > 2, np.inf, time), time + width], time + width
    )
    return pd.DataFrame({"lower": lower, "upper": upper, "x": x})


def problem_of(data, baseline, noise, entry=None, weight=None):
    n = len(data)
    lower, upper = data["lower"].to_numpy(), data["upper"].to_numpy()
    first = np.full(n, -np.inf) if entry is None else entry
    seen = outcome(response(lower, upper, first, np.ones(n) if weight is None else weight), log_time=True)
    H = np.column_stack([np.ones(n), data["x"]])
    known = np.full(2 + baseline.size, np.nan)
    return hazard_problem(HazardModel(seen, H, 0.1 * data["x"].to_numpy(), np.array([0]), noise, baseline, known))


def response(lower, upper, entry, weight):
    from tobitgp.data.arrays import CensoredResponse

    free = np.full(len(lower), np.inf)
    return CensoredResponse(lower, upper, -free, free, entry, free, weight)


# -- numbers of other programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gbsg2_royston_parmar_k1", tg.PH("spline", df=2)),
        ("gbsg2_royston_parmar_k2", SPLINE),
        ("gbsg2_royston_parmar_k2_odds", tg.PH("spline", link="odds")),
    ],
)
def test_royston_parmar_of_flexsurv(gbsg2, name, family):
    want, res = CASES[name], tg.fit(GBSG2, gbsg2, family=family)
    assert res.llf == pytest.approx(want["loglik"], abs=1e-8)
    assert res.aic == pytest.approx(want["AIC"], abs=1e-7)
    np.testing.assert_allclose(np.log(res.knots), want["knots_log_time"], rtol=1e-12)
    params = res.params.rename({"Intercept": "gamma0"})
    for term, value in want["estimates_link_scale"].items():
        error = want["se_link_scale"][term]
        assert params[term] == pytest.approx(value, abs=2e-5 * error)
        # R's errors are from a numerical Hessian, of age and size 1% apart from rstpm2's.
        assert res.bse.rename({"Intercept": "gamma0"})[term] == pytest.approx(error, rel=0.01)


def test_stpm2(gbsg2):
    want, res = CASES["gbsg2_stpm2_df3"], tg.fit(GBSG2, gbsg2, family=tg.PH("spline", df=3))
    assert res.llf == pytest.approx(want["loglik"], abs=1e-5)
    for term in ("hormone_yes", "age", "size", "grade2", "grade3", "log_nodes"):
        assert res.params[term] == pytest.approx(want["coef"][term], abs=1e-4 * want["se"][term])
        assert res.bse[term] == pytest.approx(want["se"][term], rel=2e-5)


@pytest.mark.parametrize(("name", "family"), [("weibullPH", WEIBULL), ("gompertz", GOMPERTZ)])
def test_flexsurv_of_lung(lung, name, family):
    want, res = CASES[f"lung_flexsurv_{name}"], tg.fit(LINEAR, lung, family=family)
    assert res.llf == pytest.approx(want["loglik"], abs=1e-8)
    value = dict(zip(want["estimates"]["rows"], (row[0] for row in want["estimates"]["values"]), strict=True))
    rate = value.pop("scale" if name == "weibullPH" else "rate")
    assert res.params["Intercept"] == pytest.approx(np.log(rate), rel=1e-5)
    for term, estimate in value.items():
        assert res.params[term] == pytest.approx(estimate, rel=1e-4)
        if term != "shape":
            assert res.bse[term] == pytest.approx(want["se_link_scale"][term], rel=1e-5)
    new = pd.DataFrame(want["newdata"])
    for ask, number in (("predict_survival_function", "survival"), ("predict_hazard", "hazard")):
        found = getattr(res, ask)(new, want["times"])
        np.testing.assert_allclose(found.to_numpy().T, list(want[number].values()), rtol=5e-6)


def test_the_error_of_gompertz_shape_is_that_of_its_profile(lung):
    """flexsurv's .00028 is from differences in steps as large as the shape itself."""
    res, h = tg.fit(LINEAR, lung, family=GOMPERTZ), 2e-5
    shape = res.params["shape"]
    low, high = (tg.fit(LINEAR, lung, family=GOMPERTZ, fixed={"shape": shape + side * h}).llf for side in (-1, 1))
    assert res.bse["shape"] == pytest.approx(h / np.sqrt(2.0 * res.llf - low - high), rel=1e-4)


@pytest.mark.parametrize(("name", "family"), [("weibullPH", WEIBULL), ("gompertz", GOMPERTZ)])
def test_start_stop_rows_of_heart(name, family):
    want, data = CASES[f"heart_flexsurv_{name}"], load_stanford_heart_transplants()
    res = tg.fit(HEART, data, family=family, id="id")
    assert res.llf == pytest.approx(want["loglik"], abs=1e-8)
    for term in ("age", "year", "surgery", "transplant"):
        assert res.params[term] == pytest.approx(want["estimates_link_scale"][term], abs=1e-6)
        assert res.bse[term] == pytest.approx(want["se_link_scale"][term], rel=1e-5)


def test_sandwiches_of_flexsurv(lung):
    heart = load_stanford_heart_transplants()
    for name, formula, data, options in (
        ("lung_flexsurv_weibullPH", LINEAR, lung, {}),
        ("heart_flexsurv_weibullPH", HEART, heart.drop(columns="id"), {}),
    ):
        want = CASES[name]["estimates"]
        robust = {row: values[4] for row, values in zip(want["rows"], want["values"], strict=True) if row != "scale"}
        res = tg.fit(formula, data, family=WEIBULL, cov_type="HC0", **options)
        np.testing.assert_allclose(res.bse[list(robust)], list(robust.values()), rtol=1e-5)
    by_subject, clustered = (
        tg.fit(HEART, heart, family=WEIBULL, id="id", cov_type=kind) for kind in ("HC0", "cluster")
    )  # flexsurv knows of no subjects
    np.testing.assert_allclose(by_subject.bse, clustered.bse, rtol=1e-10)


# -- the likelihood ---------------------------------------------------------------------------------------------------


def test_knots_are_type_7_quantiles_of_repeated_rows():
    rng = np.random.default_rng(2)
    values, weight = rng.normal(size=13), rng.integers(1, 4, 13)
    for df in (1, 2, 3, 6):
        want = np.quantile(np.repeat(values, weight), np.linspace(0, 1, df + 1))
        np.testing.assert_allclose(make_knots(values, weight.astype(float), df), want, rtol=1e-13)


BASELINES = {
    "weibull": (WeibullBaseline(), [0.3]),
    "gompertz": (GompertzBaseline(), [0.4]),
    "falling": (GompertzBaseline(), [-0.3]),
    "constant": (GompertzBaseline(), [1e-10]),
    "spline": (SplineBaseline((-1.0, 0.2, 0.9, 1.8)), [1.1, 0.08, -0.05]),
}


@pytest.mark.parametrize("which", BASELINES)
@pytest.mark.parametrize("noise", ["weibull", "loglogistic", "lognormal"])
def test_derivatives(mixed, which, noise):
    baseline, c = BASELINES[which]
    entry = np.where(np.arange(len(mixed)) % 3 == 0, 0.5 * mixed["lower"], -np.inf)
    entry = np.where(entry > 0.0, entry, -np.inf)
    weight = np.resize([1.0, 2.0, 0.5], len(mixed))
    problem = problem_of(mixed, baseline, FAMILIES[noise].distribution, entry, weight)
    x = problem.nearest(problem.here(np.array([-1.2, 0.4, *c])))
    state = problem.evaluate(x)
    at = np.eye(len(x)) * 1e-5
    slopes = [(problem.evaluate(x + h).value - problem.evaluate(x - h).value) / 2e-5 for h in at]
    bends = [(problem.evaluate(x + h).gradient - problem.evaluate(x - h).gradient) / 2e-5 for h in at]
    np.testing.assert_allclose(state.gradient, slopes, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(state.hessian.corner, bends, rtol=1e-5, atol=1e-4 * np.abs(bends).max())
    scores = problem.row_scores(x)
    np.testing.assert_allclose(problem.to_users.T @ (weight @ scores), state.gradient, rtol=1e-10)


@pytest.mark.parametrize("link", ["hazard", "odds", "probit"])
def test_rows_of_every_kind_have_the_maximum_that_scipy_finds(mixed, link):
    from scipy.stats import logistic, norm

    tail = {"hazard": lambda u: np.exp(-np.exp(u)), "odds": logistic.sf, "probit": norm.sf}[link]
    res = tg.fit("interval(lower, upper) ~ x", mixed, family=tg.PH("spline", df=2, link=link))
    low, high = mixed["lower"].to_numpy(), mixed["upper"].to_numpy()
    exact, k = low == high, np.log(res.knots)
    share = (k[2] - k[1]) / (k[2] - k[0])

    def s(t, c):
        v, plus = np.log(t), lambda x: np.maximum(x, 0.0) ** 3
        return c[0] * v + c[1] * (plus(v - k[1]) - share * plus(v - k[0]) - (1 - share) * plus(v - k[2]))

    def minus_llf(theta):
        def S(t):
            safe = np.where((t > 0) & np.isfinite(t), t, 1.0)
            value = tail(theta[0] + theta[1] * mixed["x"].to_numpy() + s(safe, theta[2:]))
            return np.where(t <= 0, 1.0, np.where(np.isinf(t), 0.0, value))

        h = 1e-5 * low
        density = (S(low - h) - S(low + h)) / np.where(exact, 2 * h, 1.0)
        with np.errstate(all="ignore"):
            value = np.log(np.where(exact, density, S(low) - S(high))).sum()
        return -value if np.isfinite(value) else 1e10

    start = res.params.to_numpy() + np.array([0.3, -0.2, 0.2, 0.01])
    best = minimize(minus_llf, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-9})
    assert res.llf == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(res.params, best.x, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(
    ("family", "same"),
    [
        (WEIBULL, "weibull"),
        (tg.PH("spline", df=1, link="odds"), "loglogistic"),
        (tg.PH("spline", df=1, link="probit"), "lognormal"),
    ],
    ids=["weibull", "odds", "probit"],
)
def test_without_inner_knots_it_is_a_regression_of_log_time(lung, mixed, family, same):
    for formula, data in ((LINEAR, lung), ("interval(lower, upper) ~ x", mixed)):
        res, aft = tg.fit(formula, data, family=family), tg.fit(formula, data, family=same)
        assert res.llf == pytest.approx(aft.llf, abs=1e-8)
        if same == "weibull":
            pd.testing.assert_frame_equal(res.hazard_ratios(), aft.hazard_ratios(), rtol=1e-6)
        if same == "loglogistic":  # of the event, and of surviving
            ratios = (fit.hazard_ratios()["odds ratio"] for fit in (res, aft))
            np.testing.assert_allclose(np.multiply(*ratios), 1.0, rtol=1e-6)
        new = data.head(3)
        one, two = (fit.predict_survival_function(new, [1.0, 5.0, 300.0], interval=0.9) for fit in (res, aft))
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(res.predict_median(new), aft.predict_median(new), rtol=1e-8)
        np.testing.assert_allclose(
            res.predict_restricted_mean(new, 2.0), aft.predict_restricted_mean(new, 2.0), rtol=1e-7
        )
        if same == "weibull":
            np.testing.assert_allclose(res.predict_expectation(new), aft.predict_expectation(new), rtol=1e-7)


def test_late_entry_and_windows_divide_by_the_probability_of_being_seen(lung):
    data = lung.assign(entry=0.3 * lung["time"])
    formula = "Surv(entry, time, event) ~ age"
    np.testing.assert_allclose(
        tg.fit(formula, data, family=WEIBULL).llf, tg.fit(formula, data, family="weibull").llf, atol=1e-8
    )
    seen = lung[(lung["event"] == 1) & (lung["time"] < 700)]
    formula = "Surv(time, event) ~ age | truncate(upper=700)"
    np.testing.assert_allclose(
        tg.fit(formula, seen, family=WEIBULL).llf, tg.fit(formula, seen, family="weibull").llf, atol=1e-8
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", [WEIBULL, GOMPERTZ, tg.PH("spline", df=2)], ids=str)
def test_rows_in_windows_score_what_they_add_to_the_likelihood(mixed, family):
    """Where a lower end lies before the entry, or an upper one after the exit, the window is what is known."""
    data = mixed[(mixed["lower"] < 8.0) & (mixed["upper"] > 0.4)].assign(entry=0.3, exit=9.0)
    formula = "interval(lower, upper) ~ x | truncate(entry, exit)"
    res = tg.fit(formula, data, family=family)
    assert len(data) * res.score(data) == pytest.approx(res.llf, abs=1e-8)
    drawn = res.log_likelihood_draws(draws=500, rng=1).to_numpy()
    total = drawn.sum(axis=drawn.shape.index(len(data)))
    assert total.max() <= res.llf
    assert total.mean() == pytest.approx(res.llf - 0.5 * res.df_model, abs=0.8)
    if family is WEIBULL:
        aft = tg.fit(formula, data, family="weibull")
        assert res.llf == pytest.approx(aft.llf, abs=1e-8)
        for kind in ("martingale", "cox_snell", "quantile"):
            np.testing.assert_allclose(res.residuals(kind, rng=1), aft.residuals(kind, rng=1), atol=1e-6)


def test_deviances_of_intervals(mixed):
    """An interval counts as an event, so that deviances have the sign of martingale residuals and are 0 at 0 alone."""
    res = tg.fit("interval(lower, upper) ~ x", mixed, family=WEIBULL)
    left, deviance = res.residuals("martingale"), res.residuals("deviance")
    event = np.isfinite(mixed["upper"])
    want = np.sign(left) * np.sqrt(-2.0 * (left + event * np.log(np.where(event, 1.0 - left, 1.0))))
    np.testing.assert_allclose(deviance, want, rtol=1e-6, atol=1e-7)


@EACH
def test_intervals_as_narrow_as_rounding(lung, family):
    exact = tg.fit(LINEAR, lung, family=family)
    seen = lung["event"] == 1
    for width in (1e-5, 1e-7, 1e-13):
        end = np.where(seen, lung["time"] * (1.0 + width), np.inf)
        res = tg.fit(LINEAR.replace("Surv(time, event)", "interval(time, end)"), lung.assign(end=end), family=family)
        assert res.converged
        np.testing.assert_allclose(res.params, exact.params, rtol=10.0 * width + 1e-6, atol=1e-7)


# -- what must not matter ---------------------------------------------------------------------------------------------


@EACH
def test_weights_are_repeated_rows(lung, family):
    data = lung.assign(w=np.resize([1, 2, 3], len(lung)))
    weighted = tg.fit(LINEAR, data, family=family, weights="w")
    repeated = tg.fit(LINEAR, data.loc[data.index.repeat(data["w"])], family=family)
    np.testing.assert_allclose(weighted.params, repeated.params, rtol=1e-7)
    np.testing.assert_allclose(weighted.bse, repeated.bse, rtol=1e-7)
    assert weighted.llf == pytest.approx(repeated.llf, abs=1e-8)


@pytest.mark.parametrize("family", [WEIBULL, GOMPERTZ, tg.PH("spline", df=1)], ids=str)
def test_rows_that_are_split_say_the_same(lung, family):
    late = lung["time"] > 170
    first = lung.assign(start=0.0, stop=np.minimum(lung["time"], 170), event=np.where(late, 0, lung["event"]))
    second = lung[late].assign(start=170.0, stop=lung["time"][late].astype(float))
    rows = pd.concat([first, second]).assign(id=lambda d: d.index)
    whole = tg.fit(LINEAR, lung, family=family)
    parts = tg.fit(LINEAR.replace("time", "start, stop"), rows, family=family, id="id")
    np.testing.assert_allclose(parts.params, whole.params, rtol=1e-6)
    assert parts.llf == pytest.approx(whole.llf, abs=1e-8)
    clustered = tg.fit(LINEAR.replace("time", "start, stop"), rows, family=family, id="id", cov_type="cluster")
    robust = tg.fit(LINEAR, lung, family=family, cov_type="HC0")
    np.testing.assert_allclose(clustered.bse, robust.bse, rtol=1e-6)


@EACH
def test_the_unit_of_time_changes_nothing_but_the_density(lung, family):
    days, columns = tg.fit(LINEAR, lung, family=family), ["age", "sex", "ph_ecog"]
    for unit in (365.25, 1e-60, 1e9, 1e15):
        other = tg.fit(LINEAR, lung.assign(time=lung["time"] / unit), family=family)
        assert other.converged
        np.testing.assert_allclose(other.params[columns], days.params[columns], rtol=1e-6)
        np.testing.assert_allclose(other.bse[columns], days.bse[columns], rtol=1e-6)
        assert other.llf == pytest.approx(days.llf + lung["event"].sum() * np.log(unit), abs=1e-7)
        np.testing.assert_allclose(
            unit * other.predict_median(lung.head(3)), days.predict_median(lung.head(3)), rtol=1e-7
        )


# -- strata, given values ---------------------------------------------------------------------------------------------


@EACH
def test_strata_have_baselines_of_their_own(lung, family):
    both = tg.fit("Surv(time, event) ~ strata(sex)", lung, family=family)
    row, alone = pd.DataFrame({"sex": [1, 2]}), []
    for k, sex in enumerate((1, 2)):
        one = tg.fit("Surv(time, event) ~ 1", lung[lung["sex"] == sex], family=family)
        alone.append(one.llf)
        if family in (WEIBULL, GOMPERTZ):
            found = both.predict_survival_function(row, [50.0, 250.0], interval=0.9)[k]
            want = one.predict_survival_function(lung.head(1), [50.0, 250.0], interval=0.9)[0]
            np.testing.assert_allclose(found, want, rtol=1e-6)
    if family in (WEIBULL, GOMPERTZ):
        assert both.llf == pytest.approx(sum(alone), abs=1e-8)
        assert both.lr_test(tg.fit("Surv(time, event) ~ C(sex)", lung, family=family)).df == 1
    with pytest.raises(SpecError, match="cannot leave out the strata"):
        both.predict(row, exclude="C(sex)")


def test_given_values(lung):
    fixed = tg.fit(LINEAR, lung, family=WEIBULL, fixed={"shape": 1.0, "sex": -0.5})
    assert (fixed.bse[["shape", "sex"]] == 0.0).all()
    assert fixed.params["shape"] == pytest.approx(1.0)
    data = lung.assign(o=-0.5 * lung["sex"])
    offset = tg.fit("Surv(time, event) ~ age + ph_ecog + offset(o)", data, family=WEIBULL, fixed={"shape": 1.0})
    assert offset.llf == pytest.approx(fixed.llf, abs=1e-9)
    exponential = tg.fit("Surv(time, event) ~ age", lung, family="exponential")
    assert tg.fit("Surv(time, event) ~ age", lung, family=GOMPERTZ, fixed={"shape": 0.0}).llf == pytest.approx(
        exponential.llf, abs=1e-9
    )
    res, again = (tg.fit(LINEAR, lung, family=SPLINE, start=start) for start in (None, {"gamma1": 2.0, "age": 0.0}))
    np.testing.assert_allclose(again.params, res.params, rtol=1e-6)
    warm = tg.fit(LINEAR, lung, family=SPLINE, start=res.params.to_dict())
    assert warm.fit_history["iterations"].iloc[0] <= 1


def test_smaller_models(lung):
    spline, weibull = (tg.fit(LINEAR, lung, family=family) for family in (SPLINE, WEIBULL))
    found = spline.lr_test(weibull)
    assert (found.statistic, found.df) == (pytest.approx(2.0 * (spline.llf - weibull.llf)), 2)
    assert spline.lr_test(tg.fit("Surv(time, event) ~ age", lung, family=SPLINE)).df == 2
    for other, words in (
        (tg.fit(LINEAR, lung, family=tg.PH("spline", df=2)), "its baseline is not nested"),
        (tg.fit("Surv(time, event) ~ I(age**2)", lung, family=SPLINE), "linear terms"),
        (tg.fit("Surv(time, event) ~ age", lung, family="weibull"), "cured fraction or a baseline"),
        (tg.fit("Surv(time, event) ~ age", lung, family=tg.PH("spline", link="odds")), "family is loglogistic"),
    ):
        with pytest.raises(SpecError, match=words):
            spline.lr_test(other)
    with pytest.raises(SpecError, match="baseline of strata is not nested"):
        weibull.lr_test(tg.fit("Surv(time, event) ~ strata(sex)", lung, family=WEIBULL))


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.quick_cases("PH(baseline='weibull')")
@EACH
def test_times_are_those_of_the_curve(lung, family):
    res, row = tg.fit(LINEAR, lung, family=family), lung.head(1)

    def survive(t):
        return res.predict_survival_function(row, [t]).iloc[0, 0]

    assert survive(res.predict_median(row).iloc[0]) == pytest.approx(0.5, abs=1e-9)
    assert survive(res.predict(row, "quantile", q=0.8).iloc[0]) == pytest.approx(0.2, abs=1e-9)
    assert res.predict(row, "prob", below=300.0).iloc[0] == pytest.approx(1.0 - survive(300.0))
    assert res.predict_restricted_mean(row, t=365.0).iloc[0] == pytest.approx(quad(survive, 0.0, 365.0)[0], rel=1e-6)
    left = res.predict_percentile(row, p=0.7, conditional_after=200.0).iloc[0]
    assert survive(200.0 + left) / survive(200.0) == pytest.approx(0.7, abs=1e-9)
    slope = (survive(200.0 - 1e-3) - survive(200.0 + 1e-3)) / 2e-3
    assert res.predict_hazard(row, [200.0]).iloc[0, 0] == pytest.approx(slope / survive(200.0), rel=1e-6)
    draws = res.sample(row, 4000, rng=1)
    assert (draws > 300.0).mean(axis=1).iloc[0] == pytest.approx(survive(300.0), abs=0.03)


@EACH
def test_bands_are_those_of_the_delta_method(lung, family):
    """On log(-log S) of the parameters, moved one by one."""
    res, row = tg.fit(LINEAR, lung, family=family), lung.head(1)
    names, V = res.params.index, res.cov_params().to_numpy()

    def curve(values):
        moved = tg.fit(LINEAR, lung, family=family, fixed=dict(zip(names, values, strict=True)))
        return np.log(moved.predict_cumulative_hazard(row, [250.0]).iloc[0, 0])

    gradient = approx_fprime(res.params.to_numpy(), curve, 1e-5 * np.maximum(res.bse.to_numpy(), 1e-9) * 100)
    sd = np.sqrt(gradient @ V @ gradient)
    found = res.predict_cumulative_hazard(row, [250.0], interval=0.95)[0]
    assert np.log(found["upper"] / found["lower"]).iloc[0] / 2 == pytest.approx(1.959964 * sd, rel=2e-3)


def test_averages_and_contrasts(lung):
    res, aft = tg.fit(LINEAR, lung, family=WEIBULL), tg.fit(LINEAR, lung, family="weibull")
    for what, times in (("survival", 365), ("rmst", 365), ("median", None), ("mean", None)):
        one, two = (fit.standardise({"sex": [1, 2]}, what=what, times=times) for fit in (res, aft))
        np.testing.assert_allclose(one, two, rtol=1e-4)
    pairs = [tg.contrast(fit, {"sex": 2}, {"sex": 1}, what="rmst", times=365) for fit in (res, aft)]
    np.testing.assert_allclose(*pairs, rtol=1e-4)


@pytest.mark.slow
def test_residuals_scores_and_checks(lung):
    res, aft = tg.fit(LINEAR, lung, family=WEIBULL), tg.fit(LINEAR, lung, family="weibull")
    for kind in ("quantile", "cox_snell", "martingale"):
        np.testing.assert_allclose(res.residuals(kind, rng=1), aft.residuals(kind, rng=1), rtol=1e-6, atol=1e-8)
    assert res.score(lung) == pytest.approx(res.llf / len(lung))
    assert res.concordance_index_ == pytest.approx(aft.concordance_index_)
    spline = tg.fit(LINEAR, lung, family=SPLINE)
    assert spline.loo().elpd < spline.llf
    assert spline.k_hat().k < 0.7
    table = spline.check(rng=1).table
    assert table.loc["proportional hazards", "verdict"] == "good"
    assert "a spline baseline" in str(spline.check(rng=1))
    zph = CASES["lung_zph"]["table"]
    for name, (chisq, *_) in zip(zph["rows"], zph["values"], strict=True):
        assert spline.proportionality().loc[name, "chisq"] == pytest.approx(chisq, rel=0.05)
    inside = spline.sample(what="conditional", draws=20, rng=1)
    seen = lung["event"] == 1
    assert (inside[~seen].to_numpy() >= lung["time"][~seen].to_numpy()[:, None]).all()
    np.testing.assert_allclose(inside[seen].to_numpy(), np.repeat(lung["time"][seen].to_numpy()[:, None], 20, axis=1))


@pytest.mark.slow
def test_rows_with_two_ends_in_draws_and_scores(mixed):
    res = tg.fit("interval(lower, upper) ~ x", mixed, family=SPLINE)
    inside = res.sample(what="conditional", draws=30, rng=1).to_numpy()
    low, high = mixed["lower"].to_numpy()[:, None], mixed["upper"].to_numpy()[:, None]
    assert ((inside >= low * (1 - 1e-9)) & (inside <= high * (1 + 1e-9))).all()
    assert res.score(mixed) == pytest.approx(res.llf / len(mixed))
    assert abs(res.residuals("quantile", rng=1).mean()) < 0.2
    with pytest.raises(SpecError, match="exact or right-censored"):
        res.proportionality()
    assert "proportional hazards" not in res.check(rng=1).table.index


def test_a_hazard_that_falls_leaves_some_without_the_event():
    rng = np.random.default_rng(4)
    u = rng.uniform(size=400)
    left = 1.0 + 0.4 * np.log(u) / 0.5
    time = np.where(left > 0.0, -np.log(np.maximum(left, 1e-9)) / 0.4, np.inf)
    data = pd.DataFrame({"t": np.minimum(time, 12.0), "d": (time < 12.0).astype(int)})
    res = tg.fit("Surv(t, d) ~ 1", data, family=GOMPERTZ)
    assert res.params["shape"] == pytest.approx(-0.4, abs=3 * res.bse["shape"])
    limit = np.exp(np.exp(res.params["Intercept"]) / res.params["shape"])
    assert res.predict_survival_function(data.head(1), [1e9]).iloc[0, 0] == pytest.approx(limit)
    for ask in (
        lambda: res.predict_expectation(data.head(1)),
        lambda: res.predict_percentile(data.head(1), p=0.5 * limit),
        lambda: res.predict(data.head(1), "quantile", q=0.99),
        lambda: res.predict(data.head(1), "uncensored"),
    ):
        with pytest.warns(BoundaryWarning, match="some subjects never have the event"):
            assert np.isposinf(ask()).all()
    assert np.isfinite(res.predict_restricted_mean(data.head(1), 10.0)).all()
    reached = res.predict_percentile(data.head(1), p=0.5 * (1.0 + limit))
    assert res.predict_survival_function(data.head(1), reached).iloc[0, 0] == pytest.approx(0.5 * (1.0 + limit))
    with pytest.raises(SpecError, match="mean time is infinite"):
        tg.fit("Surv(t, d) ~ z", data.assign(z=u > 0.5), family=GOMPERTZ).standardise("z", what="mean")
    with pytest.warns(tg.errors.ApproximationWarning, match="draws are infinite"):
        assert np.isposinf(res.sample(data.head(50), 20, rng=1).to_numpy()).any()
    given = {"Intercept": -3.0, "z": 0.1, "shape": -0.4}
    rare = tg.fit("Surv(t, d) ~ z", data.assign(z=np.arange(400) % 2), family=GOMPERTZ, fixed=given)
    for scale in ("difference", "ratio"):
        with pytest.warns(tg.errors.ApproximationWarning, match="does not fall to one half"):
            found = tg.contrast(rare, {"z": 1}, {"z": 0}, what="median", scale=scale)
        assert found.isna().all(axis=None)


# -- tables, figures, files -------------------------------------------------------------------------------------------


def test_summaries(lung):
    text = str(tg.fit(LINEAR, lung, family=WEIBULL).summary())
    for words in ("Proportional hazards", "Weibull", "hazard ratio", "shape", "AIC", "-1132.439", "t^shape"):
        assert words in text
    spline = tg.fit("Surv(time, event) ~ age + strata(sex)", lung, family=SPLINE)
    text = str(spline.summary())
    for words in ("spline, df = 3", "gamma2[1]", "gamma3[2]", "knots at the times", "C(sex)[1]", "strata(sex)"):
        assert words in text
    assert list(spline.hazard_ratios().index) == ["age"]
    assert "odds ratio" in str(tg.fit(LINEAR, lung, family=tg.PH("spline", link="odds")).summary())
    probit = tg.fit(LINEAR, lung, family=tg.PH("spline", link="probit"), cov_type="HC0")
    assert "HC0" in str(probit.summary())
    assert "probit, spline baseline" in repr(probit)
    assert "per" not in probit.model.formula
    for ask in (probit.hazard_ratios, probit.plot_forest):
        with pytest.raises(SpecError, match="neither hazard nor odds ratios"):
            ask()
    with pytest.raises(SpecError, match="not proportional"):
        probit.proportionality()


def test_figures(lung):
    import matplotlib.pyplot as plt

    res = tg.fit("Surv(time, event) ~ age + strata(sex)", lung, family=SPLINE)
    assert res.plot().get_ylabel() == "hazard"
    assert res.plot_forest().get_xlabel() == "hazard ratio, 95% interval"
    odds = tg.fit(LINEAR, lung, family=tg.PH("spline", link="odds"))
    np.testing.assert_allclose(odds.hazard_ratios()["odds ratio"], np.exp(odds.params[:4].drop("Intercept")))
    assert odds.plot_forest().get_xlabel() == "odds ratio, 95% interval"
    assert len(res.plot_survival(by="sex").lines) >= 2
    assert tg.fit("Surv(time, event) ~ 1", lung, family=WEIBULL).plot() is not None
    plt.close("all")


@EACH
def test_a_loaded_fit_answers_as_the_one_that_was_saved(lung, family, tmp_path):
    res = tg.fit("Surv(time, event) ~ age + bs(ph_karno, df=4) + strata(sex)", lung.dropna(), family=family)
    res.save(tmp_path / "fit.tgp")
    again, new = tg.load(tmp_path / "fit.tgp"), lung.dropna().head(4)
    assert type(again) is tg.ParametricHazardResults
    assert str(again.summary()) == str(res.summary())
    assert repr(again) == repr(res)
    for ask in ("predict_survival_function", "predict_hazard"):
        one, two = (getattr(of, ask)(new, [100.0, 400.0], interval=0.9) for of in (res, again))
        pd.testing.assert_frame_equal(one, two)
    pd.testing.assert_frame_equal(res.hazard_ratios(), again.hazard_ratios())
    for ask in (again.predict, again.plot, again.check, again.residuals):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"formula": "Surv(time, event) ~ sex"}, "do not belong together"),
        ({"formula": "Surv(time, event)"}, "The formula has no '~'"),
        ({"formula": "Surv(time, event) ~ age + strata(inst)"}, "do not belong together"),
        ({"baseline": SplineBaseline((2.0, 1.0))}, "do not belong together"),
        ({"baseline": SplineBaseline((1.0, 2.0, 3.0))}, "maximum.parameters has the shape"),
        ({"last": -1.0}, "do not belong together"),
    ],
)
def test_files_that_are_none(lung, tmp_path, change, words):
    from dataclasses import replace

    res = tg.fit("Surv(time, event) ~ age", lung, family=WEIBULL)
    tg.ParametricHazardResults(replace(res.parts.without_rows(), **change)).save(tmp_path / "fit.tgp")
    with pytest.raises(DataError, match=words):
        tg.load(tmp_path / "fit.tgp")


def test_selection_and_other_doors(lung):
    found = tg.select({"age": "Surv(time, event) ~ age", "all": LINEAR}, lung, family=SPLINE, by="aic")
    assert found.best.formula == LINEAR
    scores = tg.cross_validate(LINEAR, lung, folds=3, family=WEIBULL, rng=1)
    aft = tg.cross_validate(LINEAR, lung, folds=3, family="weibull", rng=1)
    np.testing.assert_allclose(scores["log_likelihood"], aft["log_likelihood"], rtol=1e-8)
    model = tg.SurvivalModel("age + sex", family=SPLINE).fit(lung, duration_col="time", event_col="event")
    want = tg.fit("Surv(time, event) ~ age + sex", lung, family=SPLINE).predict_median(lung.head(2))
    np.testing.assert_allclose(model.predict_median(lung.head(2)), want)


@pytest.mark.slow
def test_causes(lung, tmp_path):
    data = lung.assign(cause=np.where(lung["event"] == 0, 0, np.resize([1, 2], len(lung))))
    fits = [tg.fit("Surv(time, cause) ~ age", data, family=family) for family in (WEIBULL, "weibull")]
    tables = [fit.predict_cumulative_incidence(data.head(2), [100.0, 500.0], interval=0.9) for fit in fits]
    means = [table.xs("mean", axis=1, level="statistic") for table in tables]
    np.testing.assert_allclose(*means, rtol=1e-7)
    np.testing.assert_allclose(*tables, rtol=0.15)
    fits[0].save(tmp_path / "fit.tgp")
    assert tg.load(tmp_path / "fit.tgp").llf == pytest.approx(fits[0].llf)
    rare = lung.assign(cause=np.where(np.arange(len(lung)) < 4, 2, lung["event"]))
    with pytest.raises(DataError, match="fewer than the 5 parameters"):
        tg.fit("Surv(time, cause) ~ age", rare, family=SPLINE)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        (
            "Surv(time, event) ~ gp(age)",
            {},
            SpecError,
            r"gp\(age\) is not supported with baseline='weib.*baseline='gp'",
        ),
        ("Surv(time, event) ~ (1 | sex)", {}, SpecError, "baseline='gp'. supports processes, random effects"),
        ("Surv(time, event) ~ tv(age)", {}, SpecError, r"tv\(age\) is not supported with baseline='weibull'"),
        ("Surv(time, event) ~ age + I(2 * age)", {}, DataError, "determined by 'age'"),
        (LINEAR, {"method": "ep"}, SpecError, "fitted by method='mle', not 'ep'"),
        (LINEAR, {"priors": {"age": None}}, SpecError, "priors="),
        (LINEAR, {"method": tg.EP(hyper="maximize")}, SpecError, "hyper="),
        (LINEAR, {"sigma": "~ age"}, SpecError, "sigma= is not supported with family='ph'"),
        (LINEAR, {"cov_type": "HC9"}, SpecError, "HC9"),
        (LINEAR, {"cov_type": "cluster"}, SpecError, "cov_kwds=.*must be given"),
        (LINEAR, {"fixed": {"shape": 0.0}}, SpecError, "must be a positive number"),
        (LINEAR, {"fixed": {"sigma": 1.0}}, SpecError, "'sigma', which is not a parameter"),
        (LINEAR, {"start": {"shape": -1.0}}, SpecError, "start=.*a positive number"),
        (LINEAR, {"family": SPLINE, "start": {"gamma1": -1.0}}, SpecError, "rises at all times"),
        (LINEAR, {"family": GOMPERTZ, "start": {"shape": 1e4}}, SpecError, "numerically 0 at these values"),
        (LINEAR, {"id": "nobody"}, SpecError, "nobody"),
        (LINEAR, {"family": "gompertz"}, SpecError, r"it is called tg.PH\('gompertz'\) here"),
    ],
)
def test_bad_options(lung, formula, options, error, words):
    with pytest.raises(error, match=words):
        tg.fit(formula, lung, **{"family": WEIBULL, **options})


def test_bad_rows(lung):
    with pytest.raises(DataError, match="No event was observed"):
        tg.fit(LINEAR, lung.assign(event=0), family=SPLINE)
    with pytest.raises(DataError, match="positive response"):
        tg.fit(LINEAR, lung.assign(time=lung["time"] * (lung.index != 3)), family=SPLINE)
    few = pd.DataFrame({"time": [1.0, 1, 1, 2, 2, 3, 4], "event": [1, 1, 1, 1, 1, 1, 0]})
    with pytest.raises(DataError, match=r"8 knots at quantiles of the event times.*3 distinct event times"):
        tg.fit("Surv(time, event) ~ 1", few, family=tg.PH("spline", df=7))
    few = pd.DataFrame({"time": [1.0, 2, 3, 4, 5], "event": [1, 1, 1, 0, 0]})
    with pytest.raises(DataError, match=r"4 knots .*which require as many times. There are 3 distinct event times"):
        tg.fit("Surv(time, event) ~ 1", few, family=SPLINE)
    with pytest.raises(DataError, match="'shape' has the name of a parameter of the baseline"):
        tg.fit("Surv(time, event) ~ shape", lung.assign(shape=lung["age"]), family=WEIBULL)
    rows = pd.DataFrame({"id": [1, 1, 2], "a": [0.0, 3.0, 0.0], "b": [4.0, 6.0, 5.0], "d": [0, 1, 1]})
    with pytest.raises(DataError, match="id=1 has rows that overlap"):
        tg.fit("Surv(a, b, d) ~ 1", rows, family=WEIBULL, id="id")
    split = rows.assign(b=[3.0, 6.0, 5.0])
    with pytest.raises(DataError, match="recurrent"):
        tg.fit("Surv(a, b, d) ~ 1", split.assign(d=1), family=WEIBULL, id="id")
    with pytest.raises(SpecError, match="only hazards add up over rows"):
        tg.fit("Surv(a, b, d) ~ 1", split, family=tg.PH("spline", df=1, link="odds"), id="id")
    assert tg.fit("Surv(a, b, d) ~ 1", split, family=WEIBULL, id="id").converged


def test_no_maximum(lung):
    same = pd.DataFrame({"time": [5.0] * 10, "event": 1})
    for family in (WEIBULL, GOMPERTZ):
        with pytest.warns(ConvergenceWarning, match="the shape of the baseline runs off"):
            res = tg.fit("Surv(time, event) ~ 1", same, family=family)
        assert not res.converged
    with pytest.warns(ConvergenceWarning, match="tell rows with an event from all others"):
        res = tg.fit("Surv(time, event) ~ z", lung.assign(z=(lung["event"] == 0) & (lung["age"] < 60)), family=SPLINE)
    assert np.isnan(res.bse["z"])
    assert np.isfinite(res.bse["gamma1"])
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert "NOT CONVERGED" in str(tg.fit(LINEAR, lung, family=WEIBULL, method=tg.MLE(max_iter=1)).summary())


def test_parameters_of_a_spline_that_falls_where_nobody_has_an_event(lung):
    apart = lung[(lung["time"] < 60) | (lung["time"] > 500) | (lung["event"] == 0)]
    given = {"gamma1": 1.0, "gamma2": 0.105, "gamma3": -0.285}
    with pytest.raises(SpecError, match="with which the baseline rises at all times"):
        tg.fit("Surv(time, event) ~ 1", apart, family=SPLINE, fixed=given)


def test_curves_along_a_path_of_splines_with_hardly_an_event_a_knot():
    rng = np.random.default_rng(3)
    stop = np.concatenate([rng.uniform(1.0, 1.2, 5), rng.uniform(5.0, 5.3, 5)])
    data = pd.DataFrame({"id": range(10), "a": 0.0, "b": stop, "d": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        res = tg.fit("Surv(a, b, d) ~ 1", data, family=tg.PH("spline", df=5), id="id")
    along = res.predict_survival_function(data.iloc[-1:], [1.1, 5.0], id="id")
    np.testing.assert_allclose(along.to_numpy(), res.predict_survival_function(data.iloc[-1:], [1.1, 5.0]).to_numpy())
    band = res.predict_survival_function(data.iloc[-1:], [1.1, 5.0], id="id", interval=0.9).to_numpy()
    assert (band[:, -2] < along.to_numpy()[:, 0]).all()
    assert (along.to_numpy()[:, 0] < band[:, -1]).all()


def test_selection_is_by_likelihood(lung):
    found = tg.select({"family": [WEIBULL, "weibull"]}, lung, formula=LINEAR, by="aic").table
    assert found["value"].iloc[0] == pytest.approx(found["value"].iloc[1], abs=1e-6)
    with pytest.raises(SpecError, match="by='evidence' and method='mle' cannot be combined"):
        tg.select({"family": [WEIBULL, SPLINE]}, lung, formula=LINEAR)


# -- simulation -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_coverage_of_coefficients_and_of_survival():
    rng = np.random.default_rng(1)
    hits = []
    row, times = {"x": [1.0]}, np.array([0.5, 1.0, 2.0])
    for _ in range(300):
        x = rng.normal(size=250)
        time = rng.weibull(1.5, 250) * np.exp(-0.5 * x / 1.5)
        end = rng.uniform(0.5, 3.0, 250)
        data = pd.DataFrame({"t": np.minimum(time, end), "d": (time < end).astype(int), "x": x})
        res = tg.fit("Surv(t, d) ~ x", data, family=SPLINE)
        low, high = res.conf_int().loc["x"]
        band = res.predict_survival_function(row, times, interval=0.95)[0]
        truth = np.exp(-(times**1.5) * np.exp(0.5))
        hits.append([low < 0.5 < high, *((band["lower"] < truth) & (truth < band["upper"]))])
    share = np.mean(hits, axis=0)
    assert ((share > 0.92) & (share < 0.98)).all(), share


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("name", ["gamma1", "gamma2"])
def test_a_baseline_that_is_given_fits_as_well_in_another_unit_of_time(lung, name, unit):
    family, formula, rows = tg.PH("spline", df=3), "Surv(time, event) ~ age", lung.dropna(subset=["age"])
    res = tg.fit(formula, rows, family=family)
    for given in res.params[name] + res.bse[name] * np.array([-1.0, 1.0, 3.0]):
        first = tg.fit(formula, rows, family=family, fixed={name: given})
        moved = rows.assign(time=unit * rows["time"])
        other = tg.fit(formula, moved, family=family, fixed={name: given})
        assert other.converged
        assert other.llf + np.log(unit) * rows["event"].sum() == pytest.approx(first.llf, abs=1e-6)


@pytest.mark.slow
def test_groups_without_frailties_are_named_where_the_search_ends_short_of_none():
    rng, n = np.random.default_rng(66), 240
    x = rng.normal(size=n)
    time, end = rng.weibull(1.3, n) * np.exp(0.3 * x), rng.exponential(2, n)
    data = pd.DataFrame({"x": x, "t": np.minimum(time, end), "e": time < end, "g": rng.integers(0, 40, n)})
    with pytest.warns(tg.errors.ConvergenceWarning, match="The likelihood is highest without frailties"):
        res = tg.fit("Surv(t, e) ~ x + (1 | g)", data, family=tg.PH("weibull", frailty="gamma"))
    assert not res.converged
