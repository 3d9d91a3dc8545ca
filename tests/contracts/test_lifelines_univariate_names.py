"""Every public name of lifelines' univariate fitters: what the table says of it holds."""

import inspect
import re

import lifelines
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from support import lifelines_page as page
from support.lifelines_fitters import durations, exact, lifetimes
from support.lifelines_page import UNIVARIATE_CLASSES

import tobitgp as tg
from tobitgp.errors import UnavailableError
from tobitgp.lifelines.univariate_names import UNIVARIATE_NAMES

FITTERS = {
    "weibull": lambda: tg.lifelines.DistributionFitter("weibull"),
    "gompertz": lambda: tg.lifelines.DistributionFitter("gompertz"),
    "em": lambda: tg.lifelines.MixtureFitter(2, "exponential", "em"),
    "vbcm": lambda: tg.lifelines.MixtureFitter(2, "exponential"),
}
OF_WEIBULL, OF_LIKELIHOOD, OF_BOUNDS = {"lambda_", "rho_"}, {"AIC_", "BIC_"}, {"lower_bound", "upper_bound"}
CALLS = {
    "predict": lambda model: model.predict([1.0, 2.0]),
    "percentile": lambda model: model.percentile(0.3),
    "subtract": lambda model: model.subtract(model),
    "divide": lambda model: model.divide(model),
    "print_summary": lambda model: model.print_summary(style="ascii") or True,
    **{
        name: lambda model, name=name: getattr(model, name)([1.0, 2.0])
        for name in UNIVARIATE_NAMES
        if name.endswith("_at_times")
    },
    **{name: lambda model, name=name: getattr(model, name)() for name in UNIVARIATE_NAMES if name.startswith("plot")},
}


@pytest.fixture(scope="module")
def theirs():
    data, found = durations(), {}
    for kind in UNIVARIATE_CLASSES:
        right = getattr(lifelines, kind)().fit(data["time"], data["event"])
        between = getattr(lifelines, kind)().fit_interval_censoring(data["lower"], data["upper"])
        found[kind] = {name for model in (right, between) for name in dir(model) if not name.startswith("_")}
    return found


def test_the_table_has_every_name_of_the_installed_version(theirs):
    for kind, names in theirs.items():
        assert names <= UNIVARIATE_CLASSES[kind]
    assert set().union(*UNIVARIATE_CLASSES.values()) == set(UNIVARIATE_NAMES)


def test_the_page_shows_the_table():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "python -m tests.support.lifelines_page writes it"


def test_most_names_are_available():
    available = [name for name, row in UNIVARIATE_NAMES.items() if row.meaning != "none"]
    assert len(available) >= 45


@pytest.mark.parametrize("method", ["fit", "fit_right_censoring", "fit_left_censoring", "fit_interval_censoring"])
def test_methods_take_the_arguments_of_lifelines_in_their_order(method):
    ours, theirs = (inspect.signature(getattr(of, method)) for of in (FITTERS["vbcm"](), lifelines.WeibullFitter()))
    assert ours == theirs


@pytest.mark.filterwarnings("ignore:The `plot` function is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", FITTERS)
def test_a_name_has_a_value_or_a_reason(kind):
    data = lifetimes()
    right = FITTERS[kind]().fit(data["time"], data["event"])
    between = FITTERS[kind]().fit_interval_censoring(data["lower"], data["upper"])
    for model in (right, between):
        lacking = {"durations"} if model is between else set(OF_BOUNDS)
        lacking |= OF_WEIBULL if kind != "weibull" else set()
        lacking |= OF_LIKELIHOOD if kind == "vbcm" else set()
        for name, row in UNIVARIATE_NAMES.items():
            if name in lacking:
                assert not hasattr(model, name)
                assert row.instead
                with pytest.raises(
                    UnavailableError, match=re.escape(f"{name}: not available for this fit. {row.instead}")
                ):
                    getattr(model, name)
            else:
                value = CALLS.get(name, lambda model, name=name: getattr(model, name))(model)
                assert value is not None or (name == "event_table" and model is between), name
                if isinstance(value, pd.DataFrame):
                    assert len(value) > 1, name
        plt.close("all")


@pytest.mark.parametrize("kind", FITTERS)
def test_before_a_fit_names_say_what_to_call(kind):
    model = FITTERS[kind]()
    for name in ("survival_function_", "results_", "params_", "lambda_", "AIC_", "median_survival_time_"):
        with pytest.raises(UnavailableError, match=r"Call fit\(durations, event_observed\)"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        model.no_such_name  # noqa: B018
    assert repr(model).startswith("<tobitgp.lifelines.")


def test_shown_names_have_the_meaning_that_the_table_says():
    data = durations()
    kinds = tg.lifelines.DistributionFitter, exact("WeibullFitter")
    ours, theirs = (kind(label="m").fit(data["time"], data["event"]) for kind in kinds)
    others = [kind().fit(data["time"][:60], data["event"][:60]) for kind in kinds]
    for name in ("subtract", "divide"):
        found, expected = (getattr(one, name)(other) for one, other in zip((ours, theirs), others, strict=True))
        pd.testing.assert_frame_equal(found, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict([3.0, 4.0]), theirs.predict([3.0, 4.0]), rtol=1e-8)
    assert ours.predict(3.0, interpolate=True) == pytest.approx(theirs.predict(3.0), rel=1e-8)


def test_scripts_import_the_names_of_lifelines():
    from tobitgp.lifelines import (
        ExponentialFitter,
        GeneralizedGammaFitter,
        LogLogisticFitter,
        LogNormalFitter,
        WeibullFitter,
    )

    for make in (ExponentialFitter, GeneralizedGammaFitter, LogLogisticFitter, LogNormalFitter, WeibullFitter):
        model = make(0.1, "m")
        assert model.alpha == 0.1
        assert model.label == "m"
        assert hasattr(lifelines, model._class_name)
        assert isinstance(model, tg.lifelines.DistributionFitter)
