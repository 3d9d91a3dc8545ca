"""Pictures of survival over time, of fits of every kind."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture(scope="module", params=["age + sex", "gp(age) + sex"])
def res(request):
    lung = tg.datasets.load("lung")
    return tg.fit(f"Surv(time, event) ~ {request.param}", lung, family="weibull", fixed={"sigma": 0.75})


def line(ax, label):
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def test_the_average_stands_beside_kaplan_and_meier(res):
    ax = res.plot_survival()
    x, y = line(ax, "average of 228 rows")
    np.testing.assert_allclose(y, res.predict_survival_function(times=x).mean(axis=1), rtol=1e-9)
    assert any("Kaplan-Meier" in label for label in ax.get_legend_handles_labels()[1])
    assert ax.get_xlabel() == "time"
    x, y = line(res.plot_hazard(), "average of 228 rows")
    S = res.predict_survival_function(times=x).mean(axis=1).to_numpy()
    np.testing.assert_allclose(np.gradient(-np.log(S), x)[50:-1], y[50:-1], rtol=1e-3)


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


def test_fits_without_rows_say_what_they_need(res, tmp_path):
    res.save(tmp_path / "fit.tgp")
    loaded, rows = tg.load(tmp_path / "fit.tgp"), tg.datasets.load("lung").head(2)
    with pytest.raises(SpecError, match="give times="):
        loaded.plot_survival(df=rows)
    with pytest.raises(SpecError, match="give df="):
        loaded.plot_hazard(times=[1.0, 2.0])
    loaded.plot_hazard(df=rows, times=[1.0, 2.0])


def test_late_entry_has_no_plain_kaplan_meier():
    lung = tg.datasets.load("lung").assign(entry=0.5)
    late = tg.fit("Surv(entry, time, event) ~ age", lung, family="weibull")
    assert not any("Kaplan" in label for label in late.plot_survival().get_legend_handles_labels()[1])


def test_rows_are_given_by_name(res):
    rows = tg.datasets.load("lung").head(3)
    for draw in (res.plot_survival, res.plot_hazard, res.plot_calibration, res.plot_predictive_check):
        with pytest.raises(SpecError, match="ax= takes matplotlib axes, not DataFrame"):
            draw(rows)


def test_times_of_pictures_are_numbers(res):
    for draw in (res.plot_survival, res.plot_hazard):
        with pytest.raises(SpecError, match="times= takes a list of finite numbers"):
            draw(times="a")
    with pytest.raises(SpecError, match="takes one time"):
        res.plot_calibration(time=[100, 200])
