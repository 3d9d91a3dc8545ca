"""Forest plots: rows, reference levels, numbers at the right, a logarithmic axis for ratios."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def process(lung):
    formula = "Surv(time, event) ~ age + C(ph_ecog) + C(sex) + gp(wt_loss)"
    return tg.fit(formula, lung.dropna(subset=["wt_loss"]), family="weibull", method=tg.EP(hyper="maximize"))


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def numbers(ax):
    return [text.get_text() for text in ax.texts]


def test_ratios_stand_on_a_logarithmic_axis(process):
    ax = process.plot_forest(hazard_ratios=True)
    assert labels(ax) == [
        "age",
        *("C(ph_ecog): 0 (reference)", "C(ph_ecog): 1", "C(ph_ecog): 2", "C(ph_ecog): 3"),
        *("C(sex): 1 (reference)", "C(sex): 2"),
        "gp(wt_loss): wt_loss = 28 vs -2",
    ]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "hazard ratio, 95% interval")
    table = process.hazard_ratios()
    sex = table.loc["C(sex)[T.2]"]
    age = table.loc["age"]
    assert numbers(ax)[0] == "{:.3f} ({:.3f} to {:.3f})".format(*age[["exp(coef)", "lower", "upper"]])
    assert numbers(ax)[6] == "{:.2f} ({:.2f} to {:.2f})".format(*sex[["exp(coef)", "lower", "upper"]])
    assert [numbers(ax)[k] for k in (1, 5)] == ["reference", "reference"]
    (bars,) = ax.collections
    assert len(bars.get_segments()) == 6
    np.testing.assert_allclose(bars.get_segments()[4][:, 0], sex[["lower", "upper"]].astype(float))
    ends = process.hazard_ratios(at={"wt_loss": [28.0]}, reference={"wt_loss": -2.0}).iloc[0]
    np.testing.assert_allclose(bars.get_segments()[5][:, 0], ends[["lower", "upper"]].astype(float))


def test_coefficients_stand_on_a_plain_axis(process):
    ax = process.plot_forest(terms=["C(sex)", "age"], alpha=0.1)
    assert labels(ax) == ["C(sex): 1 (reference)", "C(sex): 2", "age"]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "coefficient, 90% interval")
    (bars,) = ax.collections
    np.testing.assert_allclose(bars.get_segments()[1][:, 0], process.conf_int(0.1).loc["age"])


def test_regressions_odds_ratios_and_single_columns(lung):
    res = tg.fit("Surv(time, event) ~ age + C(ph_ecog)", lung, family="loglogistic")
    ax = res.plot_forest(True, terms="C(ph_ecog)[T.2]")
    assert labels(ax) == ["C(ph_ecog)[T.2]"]
    assert ax.get_xlabel() == "odds ratio, 95% interval"
    assert res.plot_forest(ax=ax) is ax


def test_text_columns_have_their_first_level_as_reference():
    data = tg.datasets.load("lung").assign(sex=lambda d: np.where(d["sex"] == 1, "male", "female"))
    ax = tg.fit("Surv(time, event) ~ sex", data, family="weibull").plot_forest(True)
    assert labels(ax) == ["sex: female (reference)", "sex: male"]


def test_what_cannot_be_drawn_is_refused(lung):
    with pytest.raises(SpecError, match="no coefficient to draw"):
        tg.fit("Surv(time, event) ~ 1", lung, family="weibull").plot_forest()
    with pytest.raises(SpecError, match="no hazard ratio"):
        tg.fit("Surv(time, event) ~ age", lung, family="lognormal").plot_forest(True)
    with pytest.raises(SpecError, match="matplotlib axes"):
        tg.fit("Surv(time, event) ~ age", lung, family="weibull").plot_forest(ax=3)


def test_numbers_along_a_plain_axis_do_not_touch():
    rng = np.random.default_rng(0)
    data = {"x": 1e-3 * rng.normal(size=80), "y": 1e3 * rng.normal(size=80)}
    ax = tg.fit("y ~ x", data).plot_forest()
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["~ arm", "~ gp(other)"])
def test_columns_of_the_noise_scale_alone_need_no_values(rng, sigma):
    n = 60
    data = pd.DataFrame({"x": rng.uniform(0, 6, n), "other": rng.normal(size=n), "arm": rng.choice(["A", "B"], n)})
    data["y"] = np.sin(data["x"]) + 0.3 * rng.normal(size=n)
    res = tg.fit("y ~ gp(x)", data, sigma=sigma, method=tg.EP(hyper="maximize"))
    label = labels(ax := res.plot_forest())[0].split()
    rows = data.iloc[:2].assign(x=[float(label[3]), float(label[5])])
    posterior, side = res.posterior(rows), np.array([1.0, -1.0])
    mean, sd = side @ posterior.mean, np.sqrt(side @ posterior.covariance @ side)
    segment = ax.collections[0].get_segments()[0][:, 0]
    np.testing.assert_allclose(segment, mean + sd * norm.ppf([0.025, 0.975]), rtol=1e-3)
    terms = res.predict(rows.drop(columns=["other", "arm"]), "terms")
    np.testing.assert_allclose(terms["gp(x)"], res.predict(rows, "terms")["gp(x)"], rtol=1e-12)


@pytest.mark.parametrize("family", ["ph", tg.PH("weibull")], ids=str)
def test_models_of_hazards_show_ratios_unless_coefficients_are_asked_for(lung, family):
    res = tg.fit("Surv(time, event) ~ age + sex", lung, family=family)
    ratios, alike, plain = res.plot_forest(), res.plot_forest(True), res.plot_forest(hazard_ratios=False)
    assert numbers(ratios) == numbers(alike)
    assert plain.get_xscale() == "linear"
    assert float(numbers(plain)[0].split()[0]) == pytest.approx(res.params["age"], rel=1e-2)
    assert res.plot_forest(terms="sex").get_xscale() == "log"


def test_ratios_beyond_the_largest_number_are_drawn_at_the_edge():
    """A covariate in a small unit is squared."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"time": rng.exponential(size=60), "event": 1, "x": 1e-4 * rng.normal(size=60)})
    res = tg.fit("Surv(time, event) ~ I(x**2)", data, family=tg.PH("weibull"))
    with pytest.warns(ApproximationWarning, match="ratio of I"):
        ax = res.plot_forest()
    ax.figure.canvas.draw()
    assert all(0.0 < end < np.inf for end in ax.get_xlim())
