"""An answer that is not finite says why, in every kind of fit: a covariate in an extreme unit, medians not reached."""

import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from support.matrix.asking import GROUPS
from support.matrix.data import rows
from support.matrix.fits import FITS, Case
from support.unexplained import attempt, documented, unexplained

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError

UNIT, FOLLOWED = 1e-5, 0.4
REFITS = {"conf_int profile", "profile_interval", "lr_test", "bootstrap", "SurvivalModel", "suggest", "predict dask"}
ENDED = {"survival id", "survival id interval", "hazard id"}  # NaN after the end of a path
SITES = {"sites"}  # a row that says nothing has no cavity
ASKED = [
    question
    for name in ("Estimates", "Predictions, residuals and draws", "Times", "Effects")
    for question in GROUPS[name]
    if question.name not in REFITS | ENDED | SITES
]
# One fit of each kind that has covariates, of times where the kind has any.
OF_KINDS = {
    entry.kind: name
    for name, entry in reversed(FITS.items())
    if "no rows" not in entry.facts and entry.kind != "latent"
}
OF_KINDS |= {"process": "gp weibull", "regression": "weibull"}


def extreme(frame):
    return frame.assign(z=UNIT * frame["z"])


def short(frame):
    """The same rows, followed until two fifths of the times."""
    found = frame.copy()
    for time, event in (("time", "event"), ("ctime", "cevent"), ("first", "cause")):
        if time in found:
            end = found[time].quantile(FOLLOWED)
            found[event], found[time] = found[event].where(found[time] <= end, 0), found[time].clip(upper=end)
    if "cause" in found:
        found["cause"] = np.where(found["cause"] > 0, 1 + found.index % 2, 0)  # enough events of each
    if "entry" in found:
        found["entry"] = np.minimum(found["entry"], 0.5 * found["time"])
    if "stop" in found:
        end = found["stop"].median()
        found["event"] = found["event"].where(found["stop"] <= end, 0)
        found["stop"] = found["stop"].clip(upper=end)
        found = found[found["start"] < end]
    return found.reset_index(drop=True)


def unexplained_answers(entry, change, folder):
    case = Case(entry, folder, change)
    fitted = attempt(lambda: tg.fit(case.entry.formula, case.handed, **case.entry.options))
    for question in ASKED:
        if question.reason(case.entry) is None:
            asked = attempt(lambda question=question: documented(question.name, question.call(case)))
            plt.close("all")
            if unexplained(case.res, fitted, asked):
                yield question.name, str(asked.value)


@pytest.mark.quick_cases("regression")
@pytest.mark.parametrize("kind", OF_KINDS)
def test_a_covariate_in_an_extreme_unit(kind, tmp_path):
    assert dict(unexplained_answers(FITS[OF_KINDS[kind]], extreme, tmp_path)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, name in OF_KINDS.items() if "time" in FITS[name].facts])
def test_medians_that_are_not_reached(kind, tmp_path):
    assert dict(unexplained_answers(FITS[OF_KINDS[kind]], short, tmp_path)) == {}


@pytest.fixture(scope="module")
def data():
    return extreme(rows())


def said(ask):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ask()
    return [str(each.message) for each in heard]


TERMS = "Surv(time, event) ~ z + I(z**2) + arm"
RATIOS = {
    "regression": (TERMS, {"family": "weibull"}),
    "parametric": (TERMS, {"family": tg.PH("weibull")}),
    "piecewise": (TERMS, {"family": tg.PH("piecewise", bands=3)}),
    "causes": ("Surv(first, cause) ~ z + arm", {"family": "exponential"}),
}


@pytest.mark.slow_cases("piecewise", "causes")
@pytest.mark.parametrize("kind", RATIOS)
def test_the_advice_about_the_unit_helps(kind, data):
    formula, options = RATIOS[kind]
    res = tg.fit(formula, data, **options)
    questions = {
        "hazard_ratios()": lambda: res.hazard_ratios(),
        "plot_forest()": lambda: res.plot_forest(hazard_ratios=True),
    }
    if "exp(coef)" in res._parameter_frame():
        questions["summary_frame()"] = lambda: res.summary_frame()
    for name, ask in questions.items():
        (message,) = said(ask)
        assert re.match(rf"{re.escape(name)}: Ratios of .*z.*, or their ends, are 0 or infinite", message)
        assert "arm" not in message
        scaled = eval(re.search(r"data\['z'\] / [\d.e+-]+\d", message)[0], {"data": data})
        again = tg.fit(formula, data.assign(z=scaled), **options)
        assert said(again.hazard_ratios) == said(again.summary_frame) == []
        assert np.isfinite(again.hazard_ratios()).all(axis=None)
    assert said(lambda: str(res.summary())) == said(lambda: str(res.summary(hazard_ratios=True))) == []
    assert said(lambda: res.plot_forest(hazard_ratios=False)) == []
    plt.close("all")


def test_coefficients_of_hazards_are_drawn_whatever_their_unit(data):
    res = tg.fit("Surv(time, event) ~ z", data, family=tg.PH("piecewise", bands=3))
    (row,) = res._forest(None, 0.05, ratios=False)
    expected = [res.params["z"], *res.conf_int().loc["z"]]
    np.testing.assert_allclose(row[1:], expected, rtol=1e-10)


def test_coefficients_that_the_rows_hardly_determine():
    frame = rows().assign(twin=lambda d: d["z"] + 1e-4 * np.sin(np.arange(len(d))))
    res = tg.fit("Surv(time, event) ~ z + twin", frame, family="weibull")
    with pytest.warns(
        ApproximationWarning, match=r"Ratios of z, twin.*The rows hardly determine the coefficient, .*Leave it out"
    ):
        res.hazard_ratios()
    assert said(tg.fit("Surv(time, event) ~ z", frame, family="weibull").hazard_ratios) == []


def test_the_intercept_far_from_the_rows():
    frame = rows().assign(year=lambda d: 2020.0 + np.linspace(0.0, 0.5, len(d)))
    res = tg.fit("Surv(time, event) ~ year", frame, family="weibull")
    with pytest.warns(ApproximationWarning, match=r"ratio of Intercept.*Centre them, e.g. center\(x\)"):
        res.summary_frame()
    assert said(tg.fit("Surv(time, event) ~ center(year)", frame, family="weibull").summary_frame) == []


def test_contrasts_of_medians_that_are_not_reached():
    res = tg.fit("Surv(ctime, cevent) ~ arm", rows(), family="weibull", cure="~ 1", fixed={"cured[Intercept]": 1.0})
    for ask in (
        lambda: res.standardise("arm", "median"),
        lambda: tg.contrast(res, {"arm": "A"}, {"arm": "B"}, "median"),
    ):
        with pytest.warns(ApproximationWarning, match="does not fall to one half.*Use what='rmst' or what='survival'"):
            assert not np.isfinite(ask()).any(axis=None)
    for what in ("rmst", "survival"):
        assert np.isfinite(tg.contrast(res, {"arm": "A"}, {"arm": "B"}, what, times=[0.3])).all(axis=None)


def test_errors_of_medians_that_some_draws_do_not_reach():
    frame = rows().assign(time=lambda d: d["time"].clip(upper=2.5), event=lambda d: d["event"] & (d["time"] < 2.5))
    res = tg.fit("Surv(time, event) ~ z", frame, family=tg.PH("piecewise", bands=3), method="mle")
    with pytest.warns(ApproximationWarning, match="what='median' .*in every draw.*Use what='rmst' or what='survival'"):
        found = tg.contrast(res, {"z": 0.5}, {"z": 1.0}, "median").loc["median"]
    assert np.isfinite(found["estimate"])
    assert np.isnan(found["se"])
    assert np.isfinite(tg.contrast(res, {"z": 0.5}, {"z": 1.0}, "rmst", times=[2.0])).all(axis=None)


@pytest.mark.parametrize("method", ["mle", tg.EP(hyper="maximize")])
def test_ratios_of_averages_of_two_signs(method):
    res = tg.fit("y ~ z", rows(), method=method)
    with pytest.warns(
        ApproximationWarning, match=r"contrast\(\): what='median' .*averages above 0.*scale='difference'"
    ):
        tg.contrast(res, {"z": -3.0}, {"z": 3.0}, "median", scale="ratio", draws=50)
    assert said(lambda: tg.contrast(res, {"z": -3.0}, {"z": 3.0}, "median", scale="difference", draws=50)) == []


def separated(level):
    """Rows of which a level, ``c`` or another, has no event and no value above its limit."""
    rng = np.random.default_rng(0)
    n = 90
    found = pd.DataFrame({"z": rng.normal(size=n).round(2), "g": rng.choice(list("abc"), n)})
    t, end = np.exp(0.4 * found["z"]) * rng.weibull(1.3, n), rng.uniform(0.3, 3.0, n)
    of_level = found["g"] == level
    return found.assign(
        time=np.minimum(t, end),
        event=((t <= end) & ~of_level).astype(int),
        low=np.where(of_level, 0.0, np.maximum(found["z"] + rng.normal(size=n), 0.0)),
        cause=((t <= end) & ~of_level) * (1 + (rng.random(n) < 0.4)),
    )


SURV = "Surv(time, event) ~ z + g"
SEPARATED = {
    "weibull": (SURV, {"family": "weibull"}),
    "tobit": ("low ~ z + g | censor(0)", {}),
    "weibull hazards": (SURV, {"family": tg.PH("weibull")}),
    "spline": (SURV, {"family": tg.PH("spline", df=2)}),
    "piecewise": (SURV, {"family": tg.PH("piecewise", bands=3), "method": "mle"}),
    "formulas": (SURV, {"family": "weibull", "formulas": {"shape": "~ z"}}),
    "causes": ("Surv(time, cause) ~ z + g", {"family": "weibull"}),
}
INTERVALS = {
    "conf_int": lambda res, new: res.conf_int(),
    "summary_frame": lambda res, new: res.summary_frame()[["lower", "upper"]],
    "hazard_ratios": lambda res, new: res.hazard_ratios(),
    "hazard_ratios at": lambda res, new: res.hazard_ratios(at={"g": ["c"]}, reference={"g": "a"}),
    "t_test": lambda res, new: res.t_test("g[T.c] = 0").summary_frame(),
    "wald_test": lambda res, new: res.wald_test("g[T.c] = 0, z = 0").summary_frame(),
    "marginal_effects": lambda res, new: res.marginal_effects(),
}
BANDS = {
    "predict": lambda res, new: res.predict(new, interval=0.9),
    "predict se": lambda res, new: res.predict(new, "latent", se=True),
    "predict_median": lambda res, new: res.predict_median(new, interval=0.9),
    "predict_restricted_mean": lambda res, new: res.predict_restricted_mean(new, 1.0, interval=0.9),
    "predict_survival_function": lambda res, new: res.predict_survival_function(new, [1.0], interval=0.9).T,
    "predict_hazard": lambda res, new: res.predict_hazard(new, [1.0], interval=0.9).T,
}


def asked(question, res, new):
    """An answer, or the error that says why there is none, and what was said."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = question(res, new)
        except SpecError as error:
            found = str(error)
    return found, [str(each.message) for each in heard]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_cases("weibull", "tobit")
@pytest.mark.parametrize("name", SEPARATED)
def test_a_level_without_events_is_named_by_every_interval_and_joining_it_helps(name):
    formula, options = SEPARATED[name]
    data = separated("c")
    joined = data.assign(g=data["g"].replace("b", "c"))
    res, again = (tg.fit(formula, frame, **options) for frame in (data, joined))
    new = data.groupby("g").head(1)
    unusable = [i for i in new.index if data["g"][i] == "c"]
    counted = 0
    for question, ask in (INTERVALS | BANDS).items():
        found, said = asked(ask, res, new)
        if isinstance(found, str) or np.isfinite(found.to_numpy(float)).all():
            assert isinstance(found, str) or said == []
            continue
        counted += 1
        (message, *others) = said
        assert others == [] or name == "causes"
        assert re.search("leave (it|such columns) out,? (or )?join levels", message, re.IGNORECASE), (question, message)
        if question in INTERVALS:
            assert re.search(r"g\[T.c\]|g = c|g: c", message)
            assert "z" not in message.partition(". ")[0].replace("hazard", "").replace("z = 0", "")
        else:
            assert f"not finite in row {unusable[0]}." in message
        found, said = asked(ask, again, joined.loc[new.index])
        assert said == []
        assert np.isfinite(found.to_numpy(float)).any()
    (message,) = asked(lambda res, _: res.plot_forest(), res, new)[1]
    assert re.match(r"plot_forest\(\): The interval.* of .*g: c.* no finite ends", message)
    plt.close("all")
    assert counted >= (3 if name == "causes" else 4)
