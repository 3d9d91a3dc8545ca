"""Figures of a predicted number along a column: what is drawn is what predict() and standardise() say."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.fixture(scope="module")
def weibull(lung):
    return tg.fit("Surv(time, event) ~ age + C(sex)", lung, family="weibull")


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_a_median_along_numbers_over_the_rows(weibull, lung):
    ax = weibull.plot_effect("age")
    drawn = lines(ax)
    x, y = drawn["median"].get_data()
    assert (x[0], x[-1], len(x)) == (lung["age"].min(), lung["age"].max(), 101)
    assert np.allclose(y, weibull.predict({"age": x, "sex": np.ones(len(x))}))
    assert len(drawn["right-censored (63)"].get_xdata()) == 63
    assert ax.get_yscale() == "log"
    assert ax.get_title(loc="left") == "at sex = 1"
    band = weibull.predict({"age": x, "sex": np.ones(len(x))}, interval=0.95, se=True)
    assert np.isclose(ax.collections[0].get_paths()[0].vertices[:, 1].max(), band["upper"].max())


def test_survival_of_levels_at_times(weibull):
    ax = weibull.plot_effect("sex", "survival", times=[180, 365], at={"age": 50})
    expected = weibull.predict({"age": [50, 50], "sex": [1, 2]}, "prob", above=[180, 365])
    for t in (180, 365):
        assert np.allclose(lines(ax)[f"t = {t}"].get_ydata(), expected[t])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2"]
    assert ax.get_title(loc="left") == "at age = 50"


def test_a_curve_for_each_level(weibull):
    ax = weibull.plot_effect("age", "risk", times=365, by="sex", interval=None)
    x = lines(ax)["sex = 2"].get_xdata()
    expected = weibull.predict({"age": x, "sex": np.full(len(x), 2)}, "prob", below=365)
    assert np.allclose(lines(ax)["sex = 2"].get_ydata(), expected)
    assert ax.get_ylabel() == "P(time < 365)"
    assert not ax.get_title(loc="left")


def test_averages_are_standardised(weibull):
    ax = weibull.plot_effect("sex", "rmst", times=365, average=True)
    expected = weibull.standardise("sex", "rmst", 365)["estimate"]
    assert np.allclose(lines(ax)["average rmst"].get_ydata(), expected)
    assert ax.get_title(loc="left") == "average over the rows"


def test_weights_count_in_averages(lung):
    counted = lung.assign(w=np.arange(len(lung)) % 3 + 1)
    res = tg.fit("Surv(time, event) ~ age + C(sex)", counted, family="weibull", weights="w")
    drawn = lines(res.plot_effect("sex", "survival", times=365, average=True))["average survival"].get_ydata()
    assert np.allclose(drawn, res.standardise("sex", "survival", 365)["estimate"])


@pytest.mark.slow
def test_other_kinds_of_fits(lung):
    rows = lung.dropna(subset=["inst"])
    process = tg.fit(
        "Surv(time, event) ~ gp(age) + (1 | inst)", rows, family="lognormal", method=tg.EP(hyper="maximize")
    )
    ax = process.plot_effect("age", "quantile", q=[0.1, 0.9])
    x = lines(ax)["q = 0.1"].get_xdata()
    low = process.predict({"age": x}, "quantile", q=0.1, exclude="re(inst)")
    assert np.allclose(lines(ax)["q = 0.1"].get_ydata(), low)
    assert "re(inst) left out" in ax.get_title(loc="left")
    hazards = tg.fit("Surv(time, event) ~ age + strata(sex)", lung, family="ph")
    points = lines(hazards.plot_effect("sex"))["median"].get_ydata()
    assert np.allclose(points, hazards.predict({"age": [63, 63], "sex": [1, 2]}))
    cured = tg.datasets.simulate_cure(n=300, rng=1)
    cure = tg.fit("Surv(time, event) ~ treated", cured, family="weibull", cure="~ treated")
    drawn = lines(cure.plot_effect("treated", "cured"))["cured"].get_ydata()
    assert np.allclose(drawn, cure.predict({"treated": [0, 1]}, "cured"))


def test_refusals(weibull, tmp_path):
    refused = [
        ({"x": "agee"}, "'agee' is not a column of this model; did you mean 'age'"),
        ({"x": "age", "what": "survival"}, "requires times"),
        ({"x": "age", "times": 3.0}, "takes no times"),
        ({"x": "age", "what": "terms"}, "what='terms'"),
        ({"x": "age", "what": "risk", "times": "soon"}, "times"),
        ({"x": "age", "at": 3}, "a dict of columns"),
        ({"x": "age", "at": {"sexx": 1}}, "'sexx' is not a column of this model; did you mean 'sex'"),
        ({"x": "age", "by": "age"}, "must be a factor with at most 8 levels"),
        ({"x": "age", "average": True, "q": 0.5}, "without average"),
        ({"x": "age", "what": "survival", "times": np.arange(1, 11)}, "at most 8 can be"),
    ]
    for asked, words in refused:
        with pytest.raises(SpecError, match=words):
            weibull.plot_effect(**asked)
    weibull.save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="no training rows"):
        tg.load(tmp_path / "fit.tgp").plot_effect("age")
    assert plt.get_fignums() == []
