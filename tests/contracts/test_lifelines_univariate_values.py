"""Univariate fitters have the values of lifelines, of its likelihood where it has none, and of formulas of mixtures."""

import lifelines
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import gamma, invgauss, norm, weibull_min
from support.lifelines_fitters import durations, exact, lifetimes

import tobitgp as tg
from tobitgp.errors import DataError, SpecError, UnavailableError

CURVES = ("survival_function", "hazard", "cumulative_hazard", "cumulative_density", "density")
VALUES = (
    "params_",
    "variance_matrix_",
    "summary",
    "log_likelihood_",
    "AIC_",
    "BIC_",
    "median_survival_time_",
    "confidence_interval_",
    *(f"{curve}_" for curve in CURVES),
    *(f"confidence_interval_{curve}_" for curve in CURVES),
)
FAMILIES = {
    "weibull": "WeibullFitter",
    "lognormal": "LogNormalFitter",
    "loglogistic": "LogLogisticFitter",
    "exponential": "ExponentialFitter",
}
KINDS = ["right", "left", "interval", "right entry", "interval entry", "right weights", "left weights", "right all"]


def fit(model, kind, data):
    """A fit to one kind of censoring, perhaps with late entry and weights."""
    options = {"label": "m", "timeline": np.linspace(0.5, 30.0, 9), "alpha": 0.1}
    options["entry"] = data["entry"] if "entry" in kind or "all" in kind else None
    options["weights"] = data["weight"] if "weights" in kind or "all" in kind else None
    if "interval" in kind:
        return model.fit_interval_censoring(data["lower"], data["upper"], **options)
    if "left" in kind:
        return model.fit_left_censoring(data["time"], data["event"], **options)
    return model.fit(data["time"], data["event"], **options)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")  # of autograd, about constant hazards
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_lifelines(family, kind):
    theirs = fit(exact(FAMILIES[family])(), kind, durations())
    ours = fit(tg.lifelines.DistributionFitter(family), kind, durations())
    for name in VALUES:
        expected, found = getattr(theirs, name), getattr(ours, name)
        if isinstance(expected, pd.DataFrame):
            assert list(found.columns) == list(expected.columns)
            pd.testing.assert_index_equal(found.index, expected.index)
        expected = np.asarray(expected, dtype=float)
        size = np.abs(expected[np.isfinite(expected)]).max()
        np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-8, atol=1e-8 * size, err_msg=name)
    for curve in CURVES:
        found, expected = (getattr(m, f"{curve}_at_times")(np.array([1.0, 7.0]), label="x") for m in (ours, theirs))
        pd.testing.assert_series_equal(found, expected.astype(float), rtol=1e-8)
    np.testing.assert_allclose(
        ours.percentile(np.array([0.9, 0.2])), theirs.percentile(np.array([0.9, 0.2])), rtol=1e-8
    )
    for name in ours.params_.index:
        assert getattr(ours, name) == ours.params_[name]
    for name in ("timeline", "event_observed", "entry", "weights"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert isinstance(ours, lifelines.fitters.ParametricUnivariateFitter)
    assert repr(ours) == repr(theirs).replace("lifelines.", "tobitgp.lifelines.")


def test_numbers_at_risk_are_those_of_lifelines_after_each_fit():
    data, model = durations(), tg.lifelines.DistributionFitter()
    for part in (data[:50], data):
        theirs = lifelines.WeibullFitter().fit(part["time"], part["event"], entry=part["entry"])
        model.fit(part["time"], part["event"], entry=part["entry"])
        pd.testing.assert_frame_equal(model.event_table, theirs.event_table)
    assert fit(model, "left", data).event_table is None


def test_generalised_gamma_is_that_of_lifelines_at_its_maximum():
    data = durations()
    model = fit(tg.lifelines.DistributionFitter("gengamma"), "right all", data)
    theirs = lifelines.GeneralizedGammaFitter()
    x, time = model.params_.to_numpy(), data["time"].to_numpy()
    args = (time, None), data["event"].to_numpy() == 1, data["entry"].to_numpy(), data["weight"].to_numpy()

    def log_likelihood(at):
        return -theirs._negative_log_likelihood_right_censoring(at, *args) * data["weight"].sum()

    assert list(model.params_.index) == theirs._fitted_parameter_names
    np.testing.assert_allclose(model.log_likelihood_, log_likelihood(x), rtol=1e-10)
    np.testing.assert_allclose(model.survival_function_["m"], theirs._survival_function(x, model.timeline), rtol=1e-8)
    step = 1e-3 * np.eye(3)
    slopes = [(log_likelihood(x + h) - log_likelihood(x - h)) / 2e-3 for h in step]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-3)
    second = [[log_likelihood(x + g + h) - log_likelihood(x + g - h) for g in step] for h in step]
    second -= np.array([[log_likelihood(x - g + h) - log_likelihood(x - g - h) for g in step] for h in step])
    np.testing.assert_allclose(model.variance_matrix_, np.linalg.inv(-np.asarray(second) / 4e-6), rtol=1e-4)


def test_left_censored_after_late_entry_is_between_both():
    data = durations().assign(event=lambda rows: (rows["time"] > 8.0).astype(int))
    model = tg.lifelines.DistributionFitter().fit_left_censoring(data["time"], data["event"], entry=data["entry"])
    life = weibull_min(model.rho_, scale=model.lambda_)
    inside = np.where(data["event"], life.pdf(data["time"]), life.sf(data["entry"]) - life.sf(data["time"]))
    np.testing.assert_allclose(model.log_likelihood_, np.sum(np.log(inside) - life.logsf(data["entry"])), rtol=1e-10)


OTHERS = {
    "gamma": lambda p, t: gamma(p["shape[1]"], scale=1.0 / p["rate[1]"]).sf(t),
    "inverse_gaussian": lambda p, t: invgauss(p["mean[1]"] / p["shape[1]"], scale=p["shape[1]"]).sf(t),
    "gompertz": lambda p, t: np.exp(-np.exp(p["Intercept"]) * np.expm1(p["shape"] * t) / p["shape"]),
}


@pytest.mark.parametrize("family", OTHERS)
def test_distributions_that_lifelines_lacks(family):
    model, t = fit(tg.lifelines.DistributionFitter(family), "right all", durations()), np.linspace(0.5, 30.0, 9)
    survival = OTHERS[family](model.params_, t)
    log_h = np.log(
        [-(OTHERS[family](model.params_, s + 1e-4) - OTHERS[family](model.params_, s - 1e-4)) / 2e-4 for s in t]
    )
    np.testing.assert_allclose(model.survival_function_["m"], survival, rtol=1e-9)
    np.testing.assert_allclose(model.cumulative_density_["m"], 1.0 - survival, rtol=1e-9, atol=1e-16)
    np.testing.assert_allclose(model.cumulative_hazard_["m"], -np.log(survival), rtol=1e-8, atol=1e-16)
    np.testing.assert_allclose(model.density_["m"], np.exp(log_h), rtol=1e-5)
    np.testing.assert_allclose(model.hazard_["m"], np.exp(log_h) / survival, rtol=1e-5)
    data = durations()
    rows = np.log(OTHERS[family](model.params_, data["time"].to_numpy())) - np.log(
        OTHERS[family](model.params_, data["entry"].to_numpy())
    )
    rows += data["event"] * np.log(model.hazard_at_times(data["time"]).to_numpy())
    np.testing.assert_allclose(model.log_likelihood_, (data["weight"] * rows).sum(), rtol=1e-10)
    assert pytest.approx(4.0 - 2.0 * model.log_likelihood_, rel=1e-12) == model.AIC_
    assert pytest.approx(2.0 * np.log(len(data)) - 2.0 * model.log_likelihood_, rel=1e-12) == model.BIC_
    limits = model.confidence_interval_survival_function_.to_numpy()
    assert (limits[:, 0] < survival).all()
    assert (limits[:, 1] > survival).all()
    assert (limits > 0.0).all()
    assert (limits < 1.0).all()


@pytest.mark.parametrize(
    "family", [tg.PH("spline", df=2), tg.PH("piecewise", bands=[5, 10]), tg.GenGamma(Q=1), tg.PH()]
)
def test_families_that_are_objects(family):
    data = durations()
    model = tg.lifelines.DistributionFitter(family, label="m").fit(data["time"], data["event"], timeline=[1, 5, 20])
    same = tg.fit("Surv(time, event) ~ 1", data, family=family)
    one = same.predict_survival_function(data[:1], model.timeline)[0]
    np.testing.assert_allclose(model.survival_function_["m"], one, rtol=1e-10)
    np.testing.assert_allclose(model.params_, same.params, rtol=1e-10)


def test_remaining_times_are_those_of_the_distribution():
    data = durations()
    model = fit(tg.lifelines.DistributionFitter(), "right", data)
    scale, shape, age = model.lambda_, model.rho_, model.timeline
    left = scale * ((age / scale) ** shape + np.log(2.0)) ** (1.0 / shape) - age
    found = model.conditional_time_to_event_
    np.testing.assert_allclose(found.iloc[:, 0], left, rtol=1e-8)
    assert list(found.columns) == list(
        lifelines.WeibullFitter().fit([1, 2], label="m").conditional_time_to_event_.columns
    )
    np.testing.assert_allclose(model.percentile(0.5, conditional_after=age), left, rtol=1e-8)
    several = model.percentile([0.5, 0.9], conditional_after=age)
    assert several.shape == (2, len(age))
    np.testing.assert_allclose(several[0], left, rtol=1e-8)
    assert model.percentile(0.5, conditional_after=age[0]) == pytest.approx(left[0], rel=1e-8)
    life = weibull_min(shape, scale=scale)
    ages = pd.Series([0.0, 3.0, 20.0], index=["new", "young", "old"])
    found = model.predict([2.0, 5.0], conditional_after=ages)
    assert list(found.columns) == list(ages.index)
    ratios = life.sf(ages.to_numpy() + np.array([[2.0], [5.0]])) / life.sf(ages.to_numpy())
    np.testing.assert_allclose(found, ratios, rtol=1e-9)
    assert model.predict(5.0, conditional_after=20.0) == pytest.approx(ratios[1, 2], rel=1e-9)
    np.testing.assert_allclose(model.predict([2.0, 5.0], conditional_after=20.0), ratios[:, 2], rtol=1e-9)
    np.testing.assert_allclose(model.predict([2.0, 5.0]), life.sf([2.0, 5.0]), rtol=1e-9)


# -- mixtures ---------------------------------------------------------------------------------------------------------


def test_a_mixture_by_maximum_likelihood_is_the_weighted_sum():
    data = lifetimes()
    model = tg.lifelines.MixtureFitter(2, "weibull", "em").fit(data["time"], data["event"], timeline=[0.5, 3.0, 30.0])
    p, t = model.params_, model.timeline
    parts = [(p[f"weight[{k}]"], weibull_min(p[f"shape[{k}]"], scale=p[f"scale[{k}]"])) for k in (1, 2)]
    survival, density = (sum(w * getattr(life, of)(t) for w, life in parts) for of in ("sf", "pdf"))
    np.testing.assert_allclose(model.survival_function_["Mixture_estimate"], survival, rtol=1e-10)
    np.testing.assert_allclose(model.density_["Mixture_estimate"], density, rtol=1e-10)
    np.testing.assert_allclose(model.hazard_["Mixture_estimate"], density / survival, rtol=1e-10)
    np.testing.assert_allclose(model.cumulative_hazard_["Mixture_estimate"], -np.log(survival), rtol=1e-10)
    of_rows = [sum(w * getattr(life, of)(data["time"]) for w, life in parts) for of in ("sf", "pdf")]
    log_likelihood = np.log(np.where(data["event"], of_rows[1], of_rows[0])).sum()
    assert model.log_likelihood_ == pytest.approx(log_likelihood, rel=1e-10)
    assert pytest.approx(10.0 - 2.0 * log_likelihood, rel=1e-10) == model.AIC_
    assert pytest.approx(5.0 * np.log(400) - 2.0 * log_likelihood, rel=1e-10) == model.BIC_
    median = brentq(lambda s: sum(w * life.sf(s) for w, life in parts) - 0.5, 0.1, 100.0, xtol=1e-12)
    assert model.median_survival_time_ == pytest.approx(median, rel=1e-9)


def test_a_mixture_by_variational_bayes_is_its_predictive_distribution():
    """Rates with gamma posteriors make components that are Lomax distributions."""
    data = lifetimes()
    model = tg.lifelines.MixtureFitter(2, "exponential").fit(data["time"], data["event"], timeline=[0.5, 3.0, 30.0])
    q, t = model.results_.variational, model.timeline[:, None]
    share = (q["alpha"] / q["alpha"].sum()).to_numpy()
    survival = ((1.0 + t / q["b"].to_numpy()) ** -q["a"].to_numpy()) @ share
    np.testing.assert_allclose(model.survival_function_["Mixture_estimate"], survival, rtol=1e-10)
    density = (
        q["a"].to_numpy() / q["b"].to_numpy() * (1.0 + t / q["b"].to_numpy()) ** -(q["a"].to_numpy() + 1.0)
    ) @ share
    np.testing.assert_allclose(model.density_["Mixture_estimate"], density, rtol=1e-10)
    band = model.results_.predict_survival_function(times=model.timeline, interval=0.95)[0][["lower", "upper"]]
    np.testing.assert_allclose(model.confidence_interval_survival_function_, band, rtol=1e-10)
    np.testing.assert_allclose(model.confidence_interval_cumulative_density_, 1.0 - band.to_numpy()[:, ::-1], rtol=1e-9)
    assert np.isnan(model.log_likelihood_)
    for name in ("AIC_", "BIC_"):
        with pytest.raises(UnavailableError, match="log_evidence"):
            getattr(model, name)


def test_the_bands_of_a_mixture_are_those_of_the_delta_method():
    """By differences of the survival of the mixture in its parameters, on the logit scale."""
    data = lifetimes()
    model = tg.lifelines.MixtureFitter(2, "weibull", "em").fit(data["time"], data["event"], timeline=[3.0, 30.0])
    x, V = model.params_.to_numpy(), model.variance_matrix_.to_numpy()

    def odds(at):
        weight, scale, shape = at[:2], at[2:4], at[4:]
        return logit(np.exp(-((model.timeline[:, None] / scale) ** shape)) @ weight)

    J = np.column_stack([(odds(x + h) - odds(x - h)) / (2.0 * h.sum()) for h in np.diag(1e-5 * x)])
    reach = norm.ppf(0.975) * np.sqrt(np.einsum("ni,ij,nj->n", J, V, J))
    expected = expit(np.column_stack([odds(x) - reach, odds(x) + reach]))
    np.testing.assert_allclose(model.confidence_interval_survival_function_, expected, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("components", "method"), [("select", "vbcm"), (range(1, 4), "em")])
def test_the_number_of_components_is_found(components, method):
    data = lifetimes()
    model = tg.lifelines.MixtureFitter(components, "weibull", method).fit(data["time"], data["event"])
    assert model.selection_.index[0] == 2
    assert sorted(model.selection_.index) == list(range(1, 7) if components == "select" else components)
    np.testing.assert_allclose(model.components_["weight"], [0.3, 0.7], atol=0.05)
    np.testing.assert_allclose(model.components_["scale"], [1.0, 30.0], rtol=0.15)
    assert len(model.plot_components().get_legend_handles_labels()[1]) == 5


def test_a_warranty_forecast_counts_the_failures_that_come():
    """Units of known ages, and how many of them fail within a year: forecast from one fleet, seen in another."""
    rng = np.random.default_rng(8)
    data, n = lifetimes(n=2000), 20_000
    model = tg.lifelines.MixtureFitter(2).fit(data["time"], data["event"])
    life = np.where(rng.random(n) < 0.3, rng.weibull(1.5, n), 30.0 * rng.weibull(3.0, n))
    age = rng.uniform(0.0, 30.0, n)
    alive = life > age
    failed = (life[alive] <= age[alive] + 5.0).sum()
    left = model.predict([5.0], conditional_after=age[alive])
    assert left.shape == (1, alive.sum())
    assert (1.0 - left.to_numpy()).sum() == pytest.approx(failed, rel=0.05)
    one, first = model.results_.predictive.sf, age[alive][0]
    np.testing.assert_allclose(left.iloc[0, 0], one([first + 5.0])[0] / one([first])[0], rtol=1e-9)


# -- wrong input ------------------------------------------------------------------------------------------------------

T = [1.0, 2.0, 3.0]
WRONG = [
    ("fit", {"durations": [1.0, np.nan]}, DataError, "durations=: the value nan at position 1"),
    ("fit", {"durations": [1.0, 0.0]}, DataError, "durations=: the value 0 at position 1: times must be positive"),
    ("fit", {"durations": []}, DataError, "durations= must be a list"),
    ("fit", {"durations": ["a"]}, DataError, "durations= must be a list"),
    ("fit", {"durations": T, "event_observed": [1, 0]}, DataError, "event_observed=: 2 values for 3 subjects"),
    ("fit", {"durations": T, "event_observed": [1, 2, 0]}, DataError, "use 1 for an event and 0 for none"),
    ("fit", {"durations": T, "entry": [0, -1, 0]}, DataError, "entry=: the value -1 at position 1"),
    ("fit", {"durations": T, "entry": [0, 5, 0]}, DataError, "row"),
    ("fit", {"durations": T, "weights": [1, np.inf, 0]}, DataError, "weights=: the value inf at position 1"),
    ("fit", {"durations": T, "timeline": "soon"}, DataError, "timeline= must be a list"),
    ("fit", {"durations": T, "alpha": 2.0}, SpecError, "alpha=2.0"),
    ("fit", {"durations": T, "ci_labels": ["a"]}, SpecError, "ci_labels="),
    ("fit_left_censoring", {"durations": [-1.0]}, DataError, "durations=: the value -1 at position 0"),
    ("fit_interval_censoring", {"lower_bound": [2.0], "upper_bound": [1.0]}, DataError, "must not exceed upper_bound"),
    ("fit_interval_censoring", {"lower_bound": [-2.0], "upper_bound": [1.0]}, DataError, "Give 0 where"),
    (
        "fit_interval_censoring",
        {"lower_bound": [2.0], "upper_bound": [np.nan]},
        DataError,
        "upper_bound=: the value nan at position 0",
    ),
    (
        "fit_interval_censoring",
        {"lower_bound": [1.0, 2.0], "upper_bound": [1.0, 3.0], "event_observed": [1, 1]},
        DataError,
        "event_observed=: the value 1 at position 1",
    ),
]


@pytest.mark.parametrize(("method", "given", "kind", "words"), WRONG)
def test_wrong_input_is_one_clear_error(method, given, kind, words):
    with pytest.raises(kind, match=words):
        getattr(tg.lifelines.DistributionFitter(), method)(**given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tg.lifelines.DistributionFitter("gaussian"),
        lambda: tg.lifelines.DistributionFitter(3),
        lambda: tg.lifelines.DistributionFitter(alpha=0.0),
        lambda: tg.lifelines.MixtureFitter("two"),
        lambda: tg.lifelines.MixtureFitter(True),
        lambda: tg.lifelines.MixtureFitter(1.5),
    ],
)
def test_wrong_settings_are_one_clear_error(make):
    with pytest.raises(SpecError):
        make()


def test_moments_of_the_curves_agree():
    model = fit(tg.lifelines.DistributionFitter("gengamma"), "right", durations())
    area = quad(lambda t: float(model.density_at_times(t).iloc[0]), 0.0, 10.0)[0]
    assert area == pytest.approx(float(model.cumulative_density_at_times(10.0).iloc[0]), rel=1e-7)


@pytest.mark.parametrize("kind", ["weibull", "gompertz", "gengamma", "mixture"])
def test_curves_begin_at_zero(kind):
    data = lifetimes()
    model = tg.lifelines.MixtureFitter(2) if kind == "mixture" else tg.lifelines.DistributionFitter(kind)
    model.fit(data["time"], data["event"], timeline=[0.0, 1.0], ci_labels=np.array(["low", "high"]))
    start = [getattr(model, f"{curve}_").iloc[0, 0] for curve in ("survival_function", "cumulative_hazard")]
    assert start == [1.0, 0.0]
    for curve in CURVES:
        limits = getattr(model, f"confidence_interval_{curve}_")
        assert list(limits.columns) == ["low", "high"]
        assert (limits.loc[1.0, "low"] < getattr(model, f"{curve}_").loc[1.0]).all()
    np.testing.assert_array_equal(model.confidence_interval_survival_function_.loc[0.0], [1.0, 1.0])


def test_a_fit_that_fails_leaves_none():
    model = tg.lifelines.DistributionFitter().fit(T)
    with pytest.raises(DataError):
        model.fit(T, entry=[0.0, 5.0, 0.0])
    with pytest.raises(UnavailableError, match="not been fitted"):
        model.survival_function_  # noqa: B018
    with pytest.raises(UnavailableError, match="not been fitted"):
        model.median_survival_time_  # noqa: B018
    model.fit(T)
    with pytest.raises(DataError):  # before anything is changed
        model.fit([0.0, 1.0])
    assert len(model.durations) == 3
    assert model.median_survival_time_ > 1.0
