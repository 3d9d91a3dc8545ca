"""Every public name of lifelines' regression fitters, functions of lifelines on a SurvivalModel, and a script."""

import re
from functools import partial
from pathlib import Path

import lifelines
import matplotlib as mpl
import numpy as np
import pytest
from lifelines.calibration import survival_probability_calibration
from lifelines.datasets import load_rossi
from lifelines.utils import qth_survival_times, restricted_mean_survival_time
from support import lifelines_regression_page as page
from support.lifelines_regression_page import REGRESSION_CLASSES

import tobitgp as tg
from tobitgp.errors import TobitGPError
from tobitgp.survival_model.lifelines_names import REGRESSION_NAMES

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:::lifelines", "ignore:::autograd")
SCRIPT = Path(__file__).parents[2] / "docs" / "migration" / "lifelines_regression_script.py"
NAMES = [name for name, row in REGRESSION_NAMES.items() if row.meaning != "none"]
CALLS = {
    "fit": lambda model, df: model.fit(df, "week", "arrest"),
    "fit_right_censoring": lambda model, df: model.fit_right_censoring(df, "week", "arrest"),
    "fit_left_censoring": lambda model, df: model.fit_left_censoring(df, "week", "arrest"),
    "fit_interval_censoring": lambda model, df: model.fit_interval_censoring(
        df.assign(high=df["week"] + 1.0 + df["age"] / 100.0), "week", "high"
    ),
    "check_assumptions": lambda model, df: model.check_assumptions(df),
    "compute_followup_hazard_ratios": lambda model, df: model.compute_followup_hazard_ratios(df, [40]),
    "compute_residuals": lambda model, df: model.compute_residuals(df, "martingale"),
    "log_likelihood_ratio_test": lambda model, df: model.log_likelihood_ratio_test().p_value,
    "plot": lambda model, df: model.plot(),
    "print_summary": lambda model, df: model.print_summary() or "printed",
    "score": lambda model, df: model.score(df),
    **dict.fromkeys(
        ("plot_covariate_groups", "plot_partial_effects_on_outcome"),
        lambda model, df: model.plot_partial_effects_on_outcome("prio", [0, 5]),
    ),
}
NONE = {"cluster_col", "entry_col", "strata", "weights_col"}  # of a fit without them
REASONS = {
    "lognormal": {
        *("check_assumptions", "hazard_ratios_", "compute_followup_hazard_ratios"),
        *("baseline_hazard_", "baseline_cumulative_hazard_", "baseline_survival_"),
        *("predict_partial_hazard", "predict_log_partial_hazard"),
    },
    "weibull": {"check_assumptions"},
    "ph": {
        "predict_expectation",
        "fit_left_censoring",
        "fit_interval_censoring",
        "log_likelihood_ratio_test",
        "mean_survival_time_",
    },
    "PH": set(),
}


@pytest.fixture(scope="module")
def rossi():
    return load_rossi()[["week", "arrest", "age", "fin", "prio", "race"]]


def test_the_table_has_every_name_of_the_installed_version(rossi):
    for of, names in REGRESSION_CLASSES.items():
        theirs = getattr(lifelines, of)().fit(rossi, "week", "arrest")
        assert {name for name in dir(theirs) if not name.startswith("_")} == set(names)
    assert set().union(*REGRESSION_CLASSES.values()) == set(REGRESSION_NAMES)


@pytest.mark.parametrize(("of", "least"), [("WeibullAFTFitter", 45), ("CoxPHFitter", 45)])
def test_most_names_are_available(of, least):
    assert len(set(NAMES) & set(REGRESSION_CLASSES[of])) >= least


def test_the_page_shows_the_table():
    words = "python -m tests.support.lifelines_regression_page writes it"
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), words


def answer(model, name, df):
    if name in CALLS:
        return CALLS[name](model, df)
    found = getattr(model, name)
    return found(df.head(3)) if name.startswith("predict") else found


@pytest.mark.slow
@pytest.mark.parametrize("family", ["weibull", "lognormal", tg.PH("spline", df=2), "ph"])
@pytest.mark.filterwarnings("ignore")
def test_a_name_has_a_value_or_a_reason(rossi, family):
    rossi = rossi.iloc[::3]
    model = tg.SurvivalModel(family=family).fit(rossi, "week", "arrest")
    for name in NAMES:
        if name in REASONS[str(family).partition("(")[0]]:
            with pytest.raises(TobitGPError):
                answer(model, name, rossi)
        else:
            assert answer(model, name, rossi) is not None or name in NONE, name
        if name.startswith("fit_"):
            model.fit(rossi, "week", "arrest")


def test_the_error_of_a_refused_name_says_what_to_use(rossi):
    model = tg.SurvivalModel("age").fit(rossi, "week", "arrest")
    for name, row in REGRESSION_NAMES.items():
        if row.meaning == "none":
            with pytest.raises(AttributeError, match=re.escape(f"{row.words} {row.instead}")):
                getattr(model, name)
    with pytest.raises(AttributeError, match="no_such"):
        _ = model.no_such
    assert not hasattr(model, "penalizer")


@pytest.mark.slow
def test_functions_of_lifelines_take_the_model(rossi):
    model, theirs = tg.SurvivalModel().fit(rossi, "week", "arrest"), lifelines.WeibullAFTFitter()
    theirs.fit(rossi, "week", "arrest")
    _, *found = survival_probability_calibration(model, rossi, 40)
    _, *want = survival_probability_calibration(theirs, rossi, 40)
    np.testing.assert_allclose(found, want, rtol=1e-2)
    curves = model.predict_survival_function(rossi.head(2), times=np.arange(0.0, 53.0))
    np.testing.assert_allclose(
        np.ravel(qth_survival_times(0.9, curves)), model.predict_percentile(rossi.head(2), p=0.9), atol=1.0
    )
    mean = restricted_mean_survival_time(curves[[0]], t=52.0)
    np.testing.assert_allclose(mean, model.predict_restricted_mean(rossi.head(1), 52.0).iloc[0], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_script_runs_with_only_its_import_changed():
    text = SCRIPT.read_text(encoding="utf-8")
    line = "from lifelines import CoxPHFitter, WeibullAFTFitter\n"
    assert text.count(line) == 1
    theirs, ours = {}, {"WeibullAFTFitter": tg.SurvivalModel, "CoxPHFitter": partial(tg.SurvivalModel, family="ph")}
    exec(compile(text, str(SCRIPT), "exec"), theirs)
    exec(compile(text.replace(line, "\n"), str(SCRIPT), "exec"), ours)
    assert list(ours["found"]) == list(theirs["found"])
    for name, want in theirs["found"].items():
        close = 0.05 if name in ("cox", "partial", "hazard ratios") else 2e-3
        np.testing.assert_allclose(ours["found"][name], want, rtol=close, atol=1e-4, err_msg=name)
