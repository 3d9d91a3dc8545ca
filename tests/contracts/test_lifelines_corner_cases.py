"""Durations with units, small samples, settings of fits, and robust errors of hazards, against lifelines."""

import warnings

import lifelines
import numpy as np
import pandas as pd
import pytest
from lifelines.datasets import load_rossi
from lifelines.statistics import proportional_hazard_test

import tobitgp as tg
from tobitgp.errors import DataError, SpecError, TobitGPError, UnavailableError

pytestmark = pytest.mark.filterwarnings("ignore:::lifelines", "ignore:::autograd")
NAMES = ["WeibullFitter", "ExponentialFitter", "LogNormalFitter", "LogLogisticFitter"]
AGE_PRIO = ["age", "prio"]


@pytest.fixture(scope="module")
def rossi():
    rows = load_rossi()[["week", "arrest", "age", "prio", "race"]]
    groups = np.arange(len(rows)) % 3
    return rows.assign(arm=np.array(list("abc"))[groups], g=np.arange(len(rows)) // 4)


@pytest.fixture(scope="module")
def cox(rossi):
    """A fit with the baseline of time, and lifelines'."""
    model = tg.SurvivalModel("age + prio", family="ph").fit(rossi, "week", "arrest")
    return model, lifelines.CoxPHFitter().fit(rossi, "week", "arrest", formula="age + prio")


# -- durations with units ---------------------------------------------------------------------------------------------


def with_unit(days, kind):
    values = pd.to_timedelta(days, unit="D")
    return {"index": values, "series": pd.Series(values), "numpy": values.to_numpy(), "list": list(values)}[kind]


@pytest.mark.parametrize("kind", ["index", "series", "numpy", "list"])
def test_timedeltas_are_days(kind):
    days, event, grid = np.array([30.0, 100.0, 200.0, 300.0, 400.5]), [1, 1, 0, 1, 1], [50.0, 250.0]
    theirs = lifelines.WeibullFitter().fit(days, event, timeline=grid, entry=days / 4.0)
    ours = tg.lifelines.WeibullFitter().fit(
        with_unit(days, kind), event, timeline=with_unit(grid, kind), entry=with_unit(days / 4.0, kind)
    )
    np.testing.assert_allclose(ours.params_, theirs.params_, rtol=1e-4)
    np.testing.assert_allclose(ours.survival_function_, theirs.survival_function_, rtol=1e-4)
    assert list(ours.timeline) == grid
    np.testing.assert_allclose(ours.predict(with_unit(grid, kind)), theirs.predict(grid), rtol=1e-4)
    np.testing.assert_allclose(ours.hazard_at_times(with_unit(grid, kind)), theirs.hazard_at_times(grid), rtol=1e-4)
    between = tg.lifelines.WeibullFitter().fit_interval_censoring(with_unit(days, kind), with_unit(days + 30.0, kind))
    want = lifelines.WeibullFitter().fit_interval_censoring(days, days + 30.0)
    np.testing.assert_allclose(between.params_, want.params_, rtol=1e-3)
    table = pd.DataFrame({"time": pd.to_timedelta(days, unit="D"), "event": event})
    model = tg.SurvivalModel("1").fit(table, "time", "event", timeline=with_unit(grid, kind))
    plain = tg.SurvivalModel("1").fit(table.assign(time=days), "time", "event", timeline=grid)
    np.testing.assert_allclose(model.params_, plain.params_, rtol=1e-10)
    for options in ({}, {"times": with_unit(grid, kind), "conditional_after": pd.Timedelta(days=3)}):
        want = plain.predict_survival_function(
            table.head(2), **({"times": grid, "conditional_after": 3.0} if options else {})
        )
        pd.testing.assert_frame_equal(model.predict_survival_function(table.head(2), **options), want, rtol=1e-9)


def test_dates_are_no_durations():
    with pytest.raises(DataError, match="durations=: dates are not durations"):
        tg.lifelines.WeibullFitter().fit(pd.date_range("2020-01-01", periods=5))


# -- small samples ----------------------------------------------------------------------------------------------------


def test_one_subject_has_its_maximum():
    model = tg.lifelines.ExponentialFitter().fit([5.0], [1])
    assert model.lambda_ == pytest.approx(5.0, rel=1e-8)  # total time over events
    assert model.log_likelihood_ == pytest.approx(-np.log(5.0) - 1.0)
    assert len(model.event_table) == 2
    with pytest.warns(tg.errors.ConvergenceWarning, match="right-censored"):
        tg.lifelines.ExponentialFitter().fit([5.0], [0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("event", [[1, 1], [1, 0]])
def test_two_subjects_are_those_of_lifelines(name, event):
    ours, theirs = (getattr(of, name)().fit([5.0, 7.0], event) for of in (tg.lifelines, lifelines))
    np.testing.assert_allclose(ours.params_, theirs.params_, rtol=1e-4)


FAMILIES = ["weibull", "exponential", "lognormal", "loglogistic", "gengamma", "gamma", "inverse_gaussian", "gompertz"]
FITTERS = [
    *(pytest.param(lambda f=f: tg.lifelines.DistributionFitter(f), id=f) for f in [*FAMILIES, "spline"]),
    *(
        pytest.param(lambda k=k, m=m: tg.lifelines.MixtureFitter(k, method=m), id=f"{k} {m}")
        for k in (1, 2, "select")
        for m in ("vbcm", "em")
    ),
]


@pytest.mark.parametrize("make", FITTERS)
@pytest.mark.parametrize(("time", "event"), [([5.0], [1]), ([5.0], [0]), ([5.0, 5.0], [1, 1]), ([5.0, 7.0], [0, 0])])
def test_few_subjects_have_curves_or_one_clear_error(make, time, event):
    own = tg.errors.ConvergenceWarning, tg.errors.BoundaryWarning, tg.errors.ApproximationWarning
    with warnings.catch_warnings():
        for kind in own:
            warnings.simplefilter("ignore", kind)
        try:
            model = make().fit(time, event)
        except TobitGPError:
            return
    assert model.survival_function_.iloc[:, 0].between(0.0, 1.0).all()
    assert len(model.durations) == len(time)


# -- fitters without a fit, and wrong arguments -----------------------------------------------------------------------


def test_curves_before_a_fit_say_what_to_call():
    model = tg.lifelines.WeibullFitter()
    calls = (model.predict, model.survival_function_at_times, model.hazard_at_times, model.percentile)
    for call in calls:
        with pytest.raises(UnavailableError, match="has not been fitted"):
            call(0.5)


@pytest.mark.parametrize("wrong", ["a", None, [[1.0, 2.0]]])
def test_wrong_times_are_one_clear_error(wrong):
    model = tg.lifelines.WeibullFitter().fit([1.0, 2.0, 3.0])
    for call in (model.predict, model.survival_function_at_times, model.density_at_times):
        with pytest.raises(SpecError, match=r"times=.*a number or a list of numbers"):
            call(wrong)
    with pytest.raises(SpecError, match="p='a'"):
        model.percentile("a")
    for call in (model.subtract, model.divide):
        with pytest.raises(SpecError, match="other=5: must be a fitter"):
            call(5)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda k=k: tg.lifelines.MixtureFitter(k) for k in (0, -1, range(0), range(3), [1, 2])),
        lambda: tg.lifelines.MixtureFitter(2, method="mle"),
        lambda: tg.lifelines.MixtureFitter(2, method="none"),
        lambda: tg.lifelines.MixtureFitter(2, "none"),
        lambda: tg.lifelines.DistributionFitter("weibull", method="em"),
        lambda: tg.lifelines.DistributionFitter("gamma", method="mle"),
        lambda: tg.SurvivalModel(fit_intercept="no"),
        lambda: tg.SurvivalModel(model_ancillary="no"),
    ],
)
def test_wrong_settings_fail_at_construction(make):
    with pytest.raises(SpecError, match=r"components=|method=|family=|fit_intercept=|model_ancillary="):
        make()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"show_progress": "yes"}, "show_progress='yes'"),
        ({"ci_labels": 3}, "ci_labels=3"),
        ({"ci_labels": "ab"}, "ci_labels='ab'"),
        ({"weights": [-1.0, 1.0]}, "weights=: the value -1 at position 0"),
    ],
)
def test_arguments_of_fits_are_checked(given, words):
    with pytest.raises(TobitGPError, match=words):
        tg.lifelines.WeibullFitter().fit([1.0, 2.0], **given)


@pytest.mark.parametrize(
    "settings",
    [
        {"robust": "yes"},
        {"show_progress": "yes"},
        {"fit_intercept": "no"},
        {"timeline": "q"},
        {"timeline": []},
        {"timeline": [np.nan]},
        {"formula": 3},
        {"formula": ""},
        {"strata": 3},
        {"strata": ["arm", "race"]},
        {"cluster_col": 3},
        {"weights_col": ["g"]},
        {"fit_options": 3},
        {"ancillary": ""},
        {"ancillary": ["age"]},
    ],
)
def test_settings_of_regressions_are_checked_at_the_fit(rossi, settings):
    with pytest.raises(TobitGPError, match=f"{next(iter(settings))}="):
        tg.SurvivalModel("age").fit(rossi, "week", "arrest", **settings)


def test_names_of_columns_are_text(rossi):
    numbered = pd.DataFrame(rossi[["week", "arrest", "age"]].to_numpy())
    with pytest.raises(DataError, match="duration_col=0: names of columns must be text"):
        tg.SurvivalModel().fit(numbered, 0, 1)


def test_strata_of_other_families_name_what_there_is(rossi):
    with pytest.raises(SpecError, match=r"strata=\['arm'\].*Use ancillary="):
        tg.SurvivalModel("age").fit(rossi, "week", "arrest", strata=["arm"])


# -- intercepts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"formula": "age - 1"},
        {"formula": "0 + C(arm)"},
        {"formula": "age", "ancillary": "prio - 1"},
        {"formula": "0 + age", "ancillary": True},
    ],
)
def test_intercepts_stay_as_in_lifelines(rossi, more):
    ours, theirs = (of().fit(rossi, "week", "arrest", **more) for of in (tg.SurvivalModel, lifelines.WeibullAFTFitter))
    assert set(ours.params_.index) == set(theirs.params_.index)
    np.testing.assert_allclose(ours.params_, theirs.params_.loc[ours.params_.index], rtol=1e-2, atol=1e-3)


def test_columns_of_the_scale_have_no_intercept_without_one(rossi):
    more = {"formula": "0 + age", "ancillary": rossi[["prio"]]}
    kinds = tg.SurvivalModel, lifelines.WeibullAFTFitter
    ours, theirs = (of(fit_intercept=False).fit(rossi, "week", "arrest", **more) for of in kinds)
    assert set(ours.params_.index) == set(theirs.params_.index)
    np.testing.assert_allclose(ours.params_, theirs.params_.loc[ours.params_.index], rtol=1e-2, atol=1e-3)


# -- proportional hazards ---------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("race-ph", "arm-ph")
@pytest.mark.parametrize("family", ["ph", tg.PH("piecewise", bands=[20]), tg.PH("weibull"), tg.PH("spline")])
@pytest.mark.parametrize("stratum", ["arm", "race"])
def test_strata_have_no_coefficients(rossi, family, stratum):
    theirs = lifelines.CoxPHFitter().fit(rossi, "week", "arrest", formula="age + prio", strata=[stratum])
    ours = tg.SurvivalModel("age + prio", family=family).fit(rossi, "week", "arrest", strata=[stratum])
    assert list(ours.params_.index) == list(ours.hazard_ratios_.index) == list(ours.summary.index) == AGE_PRIO
    assert np.abs(ours.params_ - theirs.params_).max() < 0.2 * theirs.standard_errors_.max()
    assert len(ours.plot().get_yticklabels()) == 2
    assert list(ours.results_.proportionality().index) == [*AGE_PRIO, "GLOBAL"]


@pytest.mark.slow_cases("settings0-ph")
@pytest.mark.parametrize("family", ["ph", tg.PH("piecewise", bands=[10, 20, 30, 40])])
@pytest.mark.parametrize("settings", [{"robust": True}, {"cluster_col": "g"}])
def test_robust_errors_of_hazards_are_near_those_of_cox(rossi, family, settings):
    rossi = rossi.assign(week=rossi["week"] + np.linspace(0.0, 0.9, len(rossi)))  # those of lifelines are for no ties
    theirs = lifelines.CoxPHFitter().fit(rossi, "week", "arrest", formula="age + prio", **settings)
    ours = tg.SurvivalModel("age + prio", family=family).fit(rossi, "week", "arrest", **settings)
    assert ours.robust
    np.testing.assert_allclose(ours.standard_errors_, theirs.standard_errors_, rtol=0.03)
    np.testing.assert_allclose(ours.summary["se(coef)"], theirs.summary["se(coef)"], rtol=0.03)
    width = (of.confidence_intervals_ @ [-1.0, 1.0] for of in (ours, theirs))
    np.testing.assert_allclose(*width, rtol=0.03)
    np.testing.assert_allclose(ours.summary["z"], ours.params_ / ours.standard_errors_, rtol=1e-12)
    assert np.abs(ours.standard_errors_ / ours.results_.bse[AGE_PRIO] - 1.0).max() > 0.05
    with pytest.raises(UnavailableError, match="variance_matrix_: robust=True and cluster_col="):
        _ = ours.variance_matrix_
    assert ours.fit(rossi, "week", "arrest").variance_matrix_.shape == (2, 2)


def test_the_likelihood_ratio_of_a_posterior_says_what_to_use(cox):
    with pytest.raises(UnavailableError, match=r"log_likelihood_ratio_test\(\).*tg.PH\('spline'\)"):
        cox[0].log_likelihood_ratio_test()


@pytest.mark.slow
def test_rows_of_hazards_have_the_order_of_lifelines(rossi, cox):
    strata = {"strata": "arm", "formula": "age + prio"}
    pairs = [cox]
    pairs.append(
        tuple(
            type(one)(**({"family": "ph"} if one is cox[0] else {})).fit(rossi, "week", "arrest", **strata)
            for one in cox
        )
    )
    for ours, theirs in pairs:
        for name in ("durations", "event_observed", "weights"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("transform", ["rank", "km", "identity", "log"])
def test_tests_of_proportional_hazards_are_near_those_of_lifelines(rossi, cox, transform):
    ours, theirs = (proportional_hazard_test(one, rossi, time_transform=transform).test_statistic for one in cox)
    np.testing.assert_allclose(ours, theirs, rtol=0.06, atol=0.03)
    for kind in ("martingale", "schoenfeld", "scaled_schoenfeld"):
        assert len(cox[0].compute_residuals(rossi, kind)) == len(cox[1].compute_residuals(rossi, kind))


def test_orders_of_rows_do_not_change_the_test(rossi, cox):
    mixed = rossi.sample(frac=1.0, random_state=1)
    found = proportional_hazard_test(
        tg.SurvivalModel("age + prio", family="ph").fit(mixed, "week", "arrest"), mixed, time_transform="identity"
    )
    want = proportional_hazard_test(cox[0], rossi, time_transform="identity")
    np.testing.assert_allclose(found.test_statistic, want.test_statistic, rtol=1e-3)
