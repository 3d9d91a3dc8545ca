"""Pictures of survival over time, of fits of every kind."""

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture(scope="module", params=["age + sex", "gp(age) + sex"])
def res(request):
    lung = tg.datasets.load("lung")
    return tg.fit(f"Surv(time, event) ~ {request.param}", lung, family="weibull", fixed={"sigma": 0.75})


def line(ax, label):
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found.get_xdata(), found.get_ydata()


@pytest.mark.slow
def test_the_average_stands_beside_kaplan_and_meier(res):
    ax = res.plot_survival()
    x, y = line(ax, "average of 228 rows")
    np.testing.assert_allclose(y, res.predict_survival_function(times=x).mean(axis=1), rtol=1e-9)
    assert any("Kaplan-Meier" in label for label in ax.get_legend_handles_labels()[1])
    assert ax.get_xlabel() == "time"
    x, y = line(res.plot_hazard(), "average of 228 rows")
    S = res.predict_survival_function(times=x).mean(axis=1).to_numpy()
    np.testing.assert_allclose(np.gradient(-np.log(S), x)[50:-1], y[50:-1], rtol=1e-3)


@pytest.mark.slow
def test_rows_have_curves_of_their_own(res):
    rows = tg.datasets.load("lung").iloc[[3, 8]]
    ax = res.plot_survival(df=rows, times=[10.0, 100.0, 500.0], interval=0.9)
    table = res.predict_survival_function(rows, [10.0, 100.0, 500.0], interval=0.9)[8]
    np.testing.assert_allclose(line(ax, "8")[1], table["median"])
    mean = res.plot_survival(df=rows, times=table.index, interval=0.9, center="mean")
    np.testing.assert_allclose(line(mean, "8")[1], table["mean"])
    with pytest.raises(SpecError, match="'median' or 'mean'"):
        res.plot_hazard(df=rows, center="mode")
    assert len(ax.collections) == 2
    assert "90% band" in ax.get_legend_handles_labels()[1]
    assert not res.plot_hazard(df=rows, interval=None).collections


def test_too_many_rows_are_refused(res):
    with pytest.raises(SpecError, match="9 rows"):
        res.plot_survival(df=tg.datasets.load("lung").head(9))


@pytest.mark.slow
def test_fits_without_rows_say_what_they_need(res, tmp_path):
    res.save(tmp_path / "fit.tgp")
    loaded, rows = tg.load(tmp_path / "fit.tgp"), tg.datasets.load("lung").head(2)
    with pytest.raises(SpecError, match=r"(g|G)ive times="):
        loaded.plot_survival(df=rows)
    with pytest.raises(SpecError, match="give df="):
        loaded.plot_hazard(times=[1.0, 2.0])
    loaded.plot_hazard(df=rows, times=[1.0, 2.0])


def test_pictures_are_of_all_rows_by_weights_and_risk_sets():
    rng = np.random.default_rng(5)
    n = 810
    treated, entry = np.arange(n) % 3 == 0, rng.exponential(0.3, n)
    time = entry + rng.weibull(1.5, n) * np.exp(treated)
    data = pd.DataFrame({"entry": entry, "time": time, "event": rng.random(n) < 0.7, "treated": 1.0 * treated})
    weight = np.where(rng.random(n) < 0.5, 1.0, 3.0)
    fit = tg.fit("Surv(entry, time, event) ~ treated", data, family="weibull", weights=weight)
    grid = [0.5, 1.0, 2.0, 4.0]
    x, survival = line(ax := fit.plot_survival(times=grid), f"average of {weight.sum():g} rows")
    alive = fit.predict_survival_function(data, grid).to_numpy()
    np.testing.assert_allclose(survival, alive @ weight / weight.sum(), rtol=1e-10)
    hazard = fit.predict_hazard(data, grid).to_numpy()
    _, drawn = line(fit.plot_hazard(times=grid), f"average of {weight.sum():g} rows")
    np.testing.assert_allclose(drawn, (alive * hazard) @ weight / (alive @ weight), rtol=1e-10)
    seen = f"Kaplan-Meier, late entry ({weight @ data['event']:g} of {weight.sum():g} seen)"
    x, steps = line(ax, seen)
    fitter = KaplanMeierFitter().fit(time, data["event"], entry=entry, weights=weight)
    np.testing.assert_allclose(steps, fitter.survival_function_at_times(x), atol=1e-9)
    with pytest.raises(SpecError, match="requires landmark="):
        fit.plot_calibration(time=2.0)
    (bars,) = fit.plot_calibration(time=2.0, landmark=1.0).containers
    at_risk = time > 1.0
    given = fit.predict_survival_function(data, [1.0], conditional_after=1.0).to_numpy()[0]
    for arm, (predicted, seen) in zip((0.0, 1.0), bars.lines[0].get_xydata()[[-1, 0]], strict=True):
        assert predicted == pytest.approx(1.0 - given[data["treated"] == arm][0])
        assert abs(seen - predicted) < 0.15
    assert at_risk.any()


def test_rows_are_given_by_name(res):
    rows = tg.datasets.load("lung").head(3)
    for draw in (res.plot_survival, res.plot_hazard, res.plot_calibration, res.plot_predictive_check):
        with pytest.raises(SpecError, match="ax= must be matplotlib axes, not DataFrame"):
            draw(rows)


def test_times_of_pictures_are_numbers(res):
    for draw in (res.plot_survival, res.plot_hazard):
        with pytest.raises(SpecError, match="times= must be a list of finite numbers"):
            draw(times="a")
    with pytest.raises(SpecError, match="must be one time"):
        res.plot_calibration(time=[100, 200])
