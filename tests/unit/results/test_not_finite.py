"""Results that are not finite come with a warning; unanswered questions raise one error, in all kinds of fits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, rows

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, DataError, UnavailableError


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")[["time", "event", "age", "sex"]]


@pytest.fixture(scope="module")
def heavy(lung):
    """A log-logistic distribution has a mean where sigma is below 1."""
    return tg.fit("Surv(time, event) ~ age", lung, family="loglogistic", fixed={"sigma": 1.2})


def test_means_that_are_infinite(heavy, lung):
    for ask in (lambda: heavy.predict(lung.head(2), "uncensored"), lambda: heavy.predict_expectation(lung.head(2))):
        with pytest.warns(ApproximationWarning, match="not finite in rows 0, 1"):
            assert np.isposinf(ask()).all()
    assert np.isfinite(heavy.predict(lung.head(2))).all()
    with pytest.warns(ApproximationWarning, match="mean of some rows is infinite"):
        tg.contrast(heavy, {"age": 50}, {"age": 60}, "mean")
    with pytest.warns(ApproximationWarning, match="effects on what='uncensored' are not finite"):
        heavy.marginal_effects("uncensored")
    with pytest.warns(ApproximationWarning, match="kind='response' is not finite"):
        heavy.residuals("response")


def test_predictions_beyond_the_largest_number(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    with pytest.warns(ApproximationWarning, match=r"what='median' is not finite in row 1"):
        found = res.predict({"age": [60.0, 1e6 * np.sign(res.params["age"])]})
    assert np.isfinite(found[0])
    assert np.isposinf(found[1])


def test_the_mean_time_where_some_are_cured():
    data = rows()
    res = KINDS["cured"].fit(data)
    with pytest.warns(ApproximationWarning, match="some are cured the mean time is infinite"):
        assert np.isposinf(res.predict_expectation(data.head(1)))[0]
    assert "infinite times" in " ".join(str(res.summary()).split())


def test_competing_causes_refuse_as_other_fits_do(lung):
    data = lung.assign(cause=lung["event"] * (1 + (lung["age"] > 65)))
    res = tg.fit("Surv(time, cause) ~ sex", data, family="weibull")
    assert not hasattr(res, "posterior")
    with pytest.raises(UnavailableError, match=r"Use that of a cause"):
        res.posterior(data)


def test_risk_sets_of_one_row_say_nothing_against_proportional_hazards():
    """Rounding made the statistic negative, and its p NaN."""
    data = pd.DataFrame(
        {
            "time": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 5.0, 1.0, 2.0, 3.0, 6.0],
            "event": [0, 0, 0, 1] * 3,
            "g": np.repeat(list("abc"), 4),
        }
    )
    data["z"] = [0.3, -1.2, 0.7, 0.1, 1.4, -0.6, 0.2, 0.9, -0.3, 0.5, -1.1, 0.8]
    res = tg.fit("Surv(time, event) ~ z + strata(g)", data, family=tg.PH(bands=2), method=tg.EP(hyper="maximize"))
    assert res.proportionality()["p"].to_list() == pytest.approx([1.0, 1.0])


def test_averaged_hazards_where_no_one_is_left(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull", fixed={"sigma": 0.02})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res.plot_hazard(times=np.array([1.0, 500.0, 1e5]))


def test_ends_that_differ_in_their_last_digit_are_shown_with_it():
    with pytest.raises(DataError, match=r"\(0\.30000009\d* and 0\.29999999\d*\)"):
        tg.fit("interval(lo, hi) ~ 1", {"lo": [1.0, 0.3000001], "hi": [2.0, 0.3]})


def test_the_effect_of_a_column_that_hardly_varies(lung):
    """A step of the size of its variation was lost beside its level."""
    data = lung.assign(w=3.0 + 1e-12 * (lung["sex"] - 1))
    res = tg.fit("time ~ gp(w)", data, method=tg.EP(hyper="maximize", n_starts=1))
    assert np.isfinite(res.marginal_effects()["dydx"]).all()
