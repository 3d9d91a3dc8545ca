"""A SurvivalModel against lifelines' own fitters, whose search ends where their gradient is 0."""

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, LogLogisticAFTFitter, LogNormalAFTFitter, WeibullAFTFitter
from lifelines.fitters.coxph_fitter import ParametricPiecewiseBaselinePHFitter
from scipy.optimize import OptimizeResult, minimize, root

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

mpl.use("Agg")

FAMILIES = {"weibull": WeibullAFTFitter, "lognormal": LogNormalAFTFitter, "loglogistic": LogLogisticAFTFitter}
TO = {"rtol": 1e-8, "atol": 1e-10}


def to_zero_gradient(fun, x0, args=(), jac=None, **_):
    """lifelines' search, then steps to a root of its gradient."""
    near = minimize(fun, x0, args, jac=jac, method="BFGS")
    found = root(lambda x: jac(x, *args), near.x, tol=1e-15)
    return OptimizeResult(x=found.x, fun=fun(found.x, *args), success=True)


def exactly(fitter):
    fitter._scipy_fit_method, fitter._scipy_fit_options = to_zero_gradient, {}
    return fitter


@pytest.fixture(scope="module", autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", module="lifelines|autograd|scipy")
        yield


@pytest.fixture(scope="module")
def data():
    lung = tg.datasets.load("lung")[["time", "event", "age", "sex"]].astype(np.float64)
    return lung.assign(years=lung["time"] / 365.25, age=lung["age"] / 10.0).drop(columns="time").iloc[::2]


def censored(data, kind):
    """Rows, their columns, and how a fit is called."""
    if kind == "left":
        rows = data.assign(event=(data["years"] > 0.4).astype(float), years=data["years"].clip(lower=0.4))
        return rows, "fit_left_censoring", ("years", "event"), {}
    if kind == "interval":
        seen = data["event"] == 1.0
        rows = data.assign(low=data["years"], high=np.where(seen, data["years"] + 0.1, np.inf))
        rows = rows.drop(columns=["years", "event"])
        rows.loc[rows.index[::5], "high"] = rows["low"]
        return rows, "fit_interval_censoring", ("low", "high"), {}
    more = {}
    if kind in ("weights", "all"):
        data, more = data.assign(n=np.arange(len(data)) % 3 + 1.0), {"weights_col": "n"}
    if kind in ("entry", "all"):
        data, more = data.assign(late=0.3 * data["years"]), {**more, "entry_col": "late"}
    return data, "fit", ("years", "event"), more


def assert_same_table(found, want):
    """The same values, whatever the order of the rows."""
    ordered = want.reindex(found.index) if want.ndim == 1 else want.loc[found.index]
    np.testing.assert_allclose(found, ordered, **TO)
    assert found.index.names == want.index.names


@pytest.mark.slow
@pytest.mark.quick_cases("weibull-right", "lognormal-all", "loglogistic-left", "weibull-interval")
@pytest.mark.parametrize("kind", ["right", "weights", "entry", "all", "left", "interval"])
@pytest.mark.parametrize("family", FAMILIES)
def test_estimates_are_those_of_lifelines(data, family, kind):
    rows, fit, columns, more = censored(data, kind)
    theirs = getattr(exactly(FAMILIES[family](alpha=0.1)), fit)(rows, *columns, **more)
    ours = getattr(tg.SurvivalModel(family=family, alpha=0.1), fit)(rows, *columns, **more)
    for name in ("params_", "standard_errors_", "confidence_intervals_"):
        assert_same_table(getattr(ours, name), getattr(theirs, name))
    V = theirs.variance_matrix_.loc[ours.params_.index, ours.params_.index]
    np.testing.assert_allclose(ours.variance_matrix_, V, **TO)
    assert list(ours.summary) == list(theirs.summary)
    assert_same_table(ours.summary.drop(columns=["p", "-log2(p)"]), theirs.summary.drop(columns=["p", "-log2(p)"]))
    np.testing.assert_allclose(ours.summary["p"], theirs.summary["p"].loc[ours.params_.index], rtol=1e-6)
    np.testing.assert_allclose(ours.log_likelihood_, theirs.log_likelihood_, rtol=1e-10)
    np.testing.assert_allclose(ours.AIC_, theirs.AIC_, rtol=1e-10)
    k, n = len(theirs.params_), float(theirs.weights.sum())
    np.testing.assert_allclose(ours.BIC_, k * np.log(n) - 2.0 * theirs.log_likelihood_, rtol=1e-10)
    for name in ("event_observed", "weights", "entry"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-14)
    assert_same_predictions(ours, theirs, rows)
    for name in ("median_survival_time_", "mean_survival_time_"):
        if name != "mean_survival_time_" or np.isfinite(getattr(ours, name)):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8)


def assert_same_predictions(ours, theirs, rows):
    new, after = rows.iloc[:5], np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    assert set(theirs.timeline) <= set(ours.timeline)  # lifelines has no upper bounds
    for name in ("survival_function", "cumulative_hazard", "hazard"):
        for options in ({"times": [0.5, 1.0, 3.0]}, {"times": [0.5, 2.0], "conditional_after": after}):
            mine, want = (getattr(of, f"predict_{name}")(new, **options) for of in (ours, theirs))
            np.testing.assert_allclose(mine, want, **TO)
            assert list(mine.index) == list(want.index)
            assert list(mine.columns) == list(want.columns)
    for p in (0.9, 0.5):
        np.testing.assert_allclose(ours.predict_percentile(new, p=p), theirs.predict_percentile(new, p=p), **TO)
    np.testing.assert_allclose(ours.predict_expectation(new), theirs.predict_expectation(new), rtol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_scales_with_covariates_and_robust_errors(data, family):
    theirs = exactly(FAMILIES[family]()).fit(data, "years", "event", formula="age", ancillary="sex", robust=True)
    ours = tg.SurvivalModel(family=family).fit(data, "years", "event", formula="age", ancillary="sex", robust=True)
    for name in ("params_", "standard_errors_", "confidence_intervals_"):
        assert_same_table(getattr(ours, name), getattr(theirs, name))
    assert ours.robust
    assert ours.formula == "age"
    frame = tg.SurvivalModel("age", family).fit(
        data[["years", "event", "age"]], "years", "event", ancillary=data[["sex"]]
    )
    np.testing.assert_allclose(frame.params_, ours.params_, rtol=1e-10)
    new = data[["age"]].head(3)
    found = frame.predict_median(new, ancillary=data[["sex"]].head(3))
    np.testing.assert_allclose(found, theirs.predict_median(data.head(3)), rtol=1e-8)
    both = tg.SurvivalModel("age + sex", family, model_ancillary=True).fit(data, "years", "event")
    assert list(both.params_.index.get_level_values("covariate")) == ["Intercept", "age", "sex"] * 2


@pytest.mark.parametrize("ancillary", [None, "sex"])
def test_the_likelihood_ratio_is_that_of_fits_without_covariates(data, ancillary):
    ours = tg.SurvivalModel("age + sex").fit(data, "years", "event", ancillary=ancillary)
    test = ours.log_likelihood_ratio_test()
    null = exactly(WeibullAFTFitter()).fit(data, "years", "event", formula="1")
    np.testing.assert_allclose(test.test_statistic, 2.0 * (ours.log_likelihood_ - null.log_likelihood_), rtol=1e-8)
    assert test.degrees_freedom == (2 if ancillary is None else 3)
    theirs = exactly(WeibullAFTFitter()).fit(data, "years", "event", formula="age + sex", ancillary=ancillary)
    want = theirs.log_likelihood_ratio_test()
    np.testing.assert_allclose(test.p_value, want.p_value, rtol=1e-3)  # its null model stops earlier
    assert test.degrees_freedom == want.degrees_freedom


BANDS = [0.4, 1.0]


@pytest.fixture(scope="module")
def hazards(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParametricPiecewiseBaselinePHFitter, "_scipy_fit_method", staticmethod(to_zero_gradient))
        patch.setattr(ParametricPiecewiseBaselinePHFitter, "_scipy_fit_options", {})
        theirs = CoxPHFitter(baseline_estimation_method="piecewise", breakpoints=BANDS).fit(data, "years", "event")
    return tg.SurvivalModel("age + sex", tg.PH("piecewise", bands=BANDS)).fit(data, "years", "event"), theirs


def test_piecewise_hazards_are_those_of_cox_with_breakpoints(data, hazards):
    ours, theirs = hazards
    summary = theirs.summary.loc["beta_"].drop(index="Intercept")
    assert_same_table(ours.params_, summary["coef"].rename_axis("covariate"))
    assert_same_table(ours.summary.drop(columns=["p", "-log2(p)"]), summary.drop(columns=["p", "-log2(p)"]))
    np.testing.assert_allclose(ours.hazard_ratios_, summary["exp(coef)"][["age", "sex"]], rtol=1e-8)
    V = theirs.variance_matrix_.loc["beta_", "beta_"]
    np.testing.assert_allclose(ours.variance_matrix_, V.loc[["age", "sex"], ["age", "sex"]], **TO)
    np.testing.assert_allclose([ours.log_likelihood_, ours.AIC_], [theirs.log_likelihood_, theirs.AIC_], rtol=1e-10)
    for name in ("survival_function", "cumulative_hazard"):
        mine, want = (getattr(of, f"predict_{name}")(data.head(4), times=[0.2, 0.7, 2.0]) for of in hazards)
        np.testing.assert_allclose(mine, want, rtol=1e-8)


@pytest.mark.parametrize("family", ["weibull", "exponential", tg.PH("piecewise", bands=BANDS), "ph"])
def test_the_baseline_times_a_partial_hazard_is_the_hazard(data, family):
    model = tg.SurvivalModel("age + sex", family).fit(data, "years", "event", timeline=[0.2, 0.5, 1.5])
    new = data.head(4)
    product = model.baseline_cumulative_hazard_.to_numpy() * model.predict_partial_hazard(new).to_numpy()
    exact = {"rtol": 6e-2} if family == "ph" else {"rtol": 1e-8}  # whose curves are averages over a posterior
    np.testing.assert_allclose(model.predict_cumulative_hazard(new), product, **exact)
    product = model.baseline_hazard_.to_numpy() * model.predict_partial_hazard(new).to_numpy()
    np.testing.assert_allclose(model.predict_hazard(new), product, **exact)
    np.testing.assert_allclose(model.baseline_survival_, np.exp(-model.baseline_cumulative_hazard_), rtol=1e-12)
    ratio = np.log(model.hazard_ratios_)
    want = (new[["age", "sex"]] - data[["age", "sex"]].mean()) @ ratio
    np.testing.assert_allclose(model.predict_log_partial_hazard(new), want, rtol=1e-8)
    assert list(model.baseline_hazard_) == ["baseline hazard"]
    assert list(model.baseline_survival_) == ["baseline survival"]


def test_strata_have_their_own_baselines(data):
    model = tg.SurvivalModel(family=tg.PH("piecewise", bands=BANDS)).fit(data, "years", "event", strata="sex")
    assert model.strata == ["sex"]
    assert list(model.params_.index) == ["age"]
    assert list(model.baseline_hazard_) == [1.0, 2.0]
    for sex, H in model.baseline_cumulative_hazard_.items():
        rows = pd.DataFrame({"age": [data["age"].mean()], "sex": [sex]})
        np.testing.assert_allclose(H, model.predict_cumulative_hazard(rows)[0], rtol=1e-8)
    axes = model.plot_partial_effects_on_outcome("age", [5.0, 7.0])
    assert len(axes) == 2


def test_odds_are_no_hazards(data):
    model = tg.SurvivalModel("age", "loglogistic").fit(data, "years", "event")
    with pytest.raises(SpecError, match="not proportional"):
        model.predict_partial_hazard(data)


def test_martingale_and_deviance_residuals_are_those_of_the_cumulative_hazard(data):
    model = tg.SurvivalModel().fit(data, "years", "event")
    H = np.diag(
        exactly(WeibullAFTFitter()).fit(data, "years", "event").predict_cumulative_hazard(data, times=data["years"])
    )
    found = model.compute_residuals(data, "martingale")
    np.testing.assert_allclose(found["martingale"], data["event"] - H, atol=1e-8)
    assert list(found) == ["years", "event", "martingale"]
    left = data["event"] - H
    deviance = np.sign(left) * np.sqrt(-2.0 * (left + np.where(data["event"] == 1.0, np.log(H), 0.0)))
    np.testing.assert_allclose(model.compute_residuals(data, "deviance")["deviance"], deviance, atol=1e-8)
    step = model.compute_residuals(data, "delta_beta")
    pd.testing.assert_frame_equal(step, model.results_.influence())
    np.testing.assert_allclose(model.compute_residuals(data, "score").sum(), 0.0, atol=1e-6)


def test_schoenfeld_residuals_are_near_those_of_cox(data):
    model = tg.SurvivalModel("age + sex", "ph").fit(data, "years", "event")
    cox = CoxPHFitter().fit(data, "years", "event")
    for kind in ("schoenfeld", "scaled_schoenfeld"):
        found, want = model.compute_residuals(data, kind), cox.compute_residuals(data, kind)
        want = want.loc[found.index, found.columns]
        assert np.abs(found - want).max().max() < 0.03 * np.abs(want).max().max()
    for kind in ("martingale", "deviance"):
        found, want = model.compute_residuals(data, kind)[kind], cox.compute_residuals(data, kind)[kind]
        assert np.abs(found - want.loc[found.index]).median() < 0.05
    np.testing.assert_allclose(model.predict_partial_hazard(data), cox.predict_partial_hazard(data), rtol=0.05)


def test_followup_hazard_ratios_are_those_of_shorter_rows(data):
    family = tg.PH("piecewise", bands=[0.4])
    model = tg.SurvivalModel(family=family).fit(data, "years", "event")
    found = model.compute_followup_hazard_ratios(data, [1.0, 0.7])
    for at, row in found.iterrows():
        short = data.assign(event=data["event"] * (data["years"] <= at), years=data["years"].clip(upper=at))
        want = tg.fit("Surv(years, event) ~ age + sex", short, family=family).params[["age", "sex"]]
        np.testing.assert_allclose(np.log(row), want, rtol=1e-8)
    assert list(found.index) == [0.7, 1.0]
    assert model.duration_col == "years"
    with pytest.raises(DataError, match="followup_times=9"):
        model.compute_followup_hazard_ratios(data, [9.0])
    with pytest.raises(DataError, match="those of the fit, with a unique index"):
        model.compute_residuals(data.head(5), "martingale")


def test_assumptions_are_those_of_the_table(data, capsys):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 300).astype(float)
    years = np.where(x == 1.0, rng.weibull(3.0, 300), rng.weibull(0.7, 300))  # hazards that cross
    crossing = pd.DataFrame({"x": x, "years": years, "event": 1.0})
    model = tg.SurvivalModel("x", tg.PH("piecewise", bands=[0.5, 1.0])).fit(crossing, "years", "event")
    assert model.check_assumptions(crossing) == []
    assert "Coefficients of x change" in capsys.readouterr().out
    with pytest.raises(SpecError, match="not proportional in x"):
        model.check_assumptions(crossing, raise_on_fail=True)
    (ax,) = model.check_assumptions(crossing, show_plots=True, plot_n_bootstraps=3, advice=False)
    assert len(ax.get_lines()) == 5
    with pytest.raises(SpecError, match="columns="):
        model.check_assumptions(crossing, columns=["z"])


def test_settings_reach_the_fit(data, capsys):
    model = tg.SurvivalModel().fit(data, "years", "event", fit_options={"max_iter": 60}, show_progress=True)
    plain = tg.SurvivalModel().fit(data, "years", "event", timeline=[1.0, 0.5])
    np.testing.assert_allclose(model.params_, plain.params_, rtol=1e-10)
    assert list(plain.predict_hazard(data.head(2)).index) == [0.5, 1.0]
    clusters = data.assign(g=np.arange(len(data)) // 3)
    model.fit(clusters, "years", "event", cluster_col="g")
    groups = {"groups": clusters["g"].to_numpy()}
    want = tg.fit("Surv(years, event) ~ age + sex", data, family="weibull", cov_type="cluster", cov_kwds=groups)
    np.testing.assert_allclose(model.standard_errors_["lambda_"], want.bse[:3], rtol=1e-10)
    none = tg.SurvivalModel(fit_intercept=False).fit(data, "years", "event")
    theirs = exactly(WeibullAFTFitter(fit_intercept=False)).fit(data, "years", "event")
    assert_same_table(none.params_, theirs.params_)
    start = tg.SurvivalModel("age", tg.PH("spline", df=2)).fit(data, "years", "event", initial_point={"age": 0.1})
    assert list(start.params_.index) == ["age"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"penalizer": 0.1}, "penalizer=0.1 .* no penalty"),
        ({"fit_options": {"ftol": 1e-9}}, "no setting 'ftol'. Choose from max_iter"),
        ({"initial_point": np.zeros(4)}, "start="),
        ({"batch_mode": True}, "batch_mode=True"),
        ({"strata": "sex", "formula": "age"}, "strata"),
        ({"formula": "y ~ x"}, "formula="),
        ({"ancillary": 3}, "ancillary="),
        ({"cluster_col": "no"}, "strata='no'|cluster_col='no'"),
    ],
)
def test_a_setting_without_meaning_has_one_error(data, settings, words):
    with pytest.raises(tg.errors.TobitGPError, match=words):
        tg.SurvivalModel("age").fit(data, "years", "event", **settings)


def test_constructors_take_what_lifelines_takes(data):
    assert tg.SurvivalModel(penalizer=0.0, l1_ratio=0.0).rhs == "."
    with pytest.raises(SpecError, match="penalizer"):
        tg.SurvivalModel(penalizer=0.1)
    with pytest.raises(SpecError, match="alpha"):
        tg.SurvivalModel(alpha=2.0)
    with pytest.raises(TypeError, match="no_such"):
        tg.SurvivalModel().fit(data, "years", "event", no_such=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rhs", "options"),
    [
        ("gp(age)", {"method": tg.EP(hyper="maximize")}),
        ("mixture(2)", {}),
        ("age", {"cure": "~ 1"}),
        ("gp(age)", {"family": "ph"}),
    ],
)
def test_other_models_have_their_own_parameters(data, rhs, options):
    if "cure" in options:
        rng = np.random.default_rng(0)
        cured, years = rng.random(300) < 0.4, rng.weibull(1.5, 300)
        data = pd.DataFrame({"age": rng.normal(size=300), "years": np.where(cured, 5.0, years).clip(None, 5.0)})
        data = data.assign(event=(data["years"] < 5.0).astype(float))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tg.SurvivalModel(rhs, **options).fit(data, "years", "event")
    table = model.summary
    assert set(table.index) <= set(model.results_.params.index) | set(model.params_.index)
    pd.testing.assert_series_equal(
        table["coef"], model.results_.params[list(table.index)], check_names=False, rtol=1e-12
    )
    assert model.median_survival_time_ > 0.0
    model.print_summary()
