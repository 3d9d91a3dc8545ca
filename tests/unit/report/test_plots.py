"""Pictures show the data, the limits and the numbers of predict()."""

import dataclasses
import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.report.term_figures import grid_frame


def labels(ax):
    return [text.get_text() for legend in (ax.figure.legends or [ax.get_legend()]) for text in legend.get_texts()]


def line(ax, label):
    return next(item for item in ax.lines if item.get_label() == label)


def test_curve_band_and_rows(curve):
    ax = curve.plot()
    data = tg.datasets.simulate_groot_lucas()
    assert set(labels(ax)) == {"exact (18)", "left-censored (12)", "limit", "95% band", "posterior mean of f"}
    shown = line(ax, "posterior mean of f")
    assert np.allclose(shown.get_ydata(), curve.predict({"x": shown.get_xdata()}, "latent"))
    left = line(ax, "left-censored (12)")
    assert left.get_marker() == "v"
    assert np.allclose(left.get_ydata(), data["lower"][0])
    assert len(line(ax, "exact (18)").get_xdata()) == 18
    assert ax.get_xlabel() == "x"
    assert ax.get_ylabel() == "y"
    ax.figure.canvas.draw()


def test_a_survival_time_is_named_without_its_event(lung):
    for ax in (lung.plot(x="age"), lung.plot()[0]):
        assert ax.get_ylabel() == "time"
    assert lung.plot_predictive_check(draws=2, rng=0).get_xlabel() == "time"
    assert lung.model.endog_names == "Surv(time, event)"


def test_no_band(curve):
    ax = curve.plot(interval=None)
    assert "band" not in " ".join(labels(ax))
    assert not ax.collections


def test_into_given_axes(curve):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert curve.plot(ax, interval=0.5) is ax
    assert plt.get_fignums() == [figure.number]
    assert "50% band" in labels(ax)


@pytest.mark.slow
def test_log_time(lung):
    axes = lung.plot()
    assert len(axes) == 2
    assert [ax.get_xlabel() for ax in axes] == ["age", "wt_loss"]
    assert all(ax.get_yscale() == "log" for ax in axes)
    low, high = axes[0].get_ylim()
    shown = [text for text, at in zip(axes[0].get_yticklabels(), axes[0].get_yticks(), strict=True) if low < at < high]
    assert "100" in [text.get_text() for text in shown]
    assert "sex = 1" in axes[0].get_title(loc="left")
    assert "wt_loss" in axes[0].get_title(loc="left")
    right = next(item for item in axes[0].lines if str(item.get_label()).startswith("right-censored"))
    assert right.get_marker() == "^"
    axes[0].figure.canvas.draw()
    one = lung.plot(x="age")
    assert one.get_xlabel() == "age"


@pytest.mark.slow
def test_column_limits_are_steps():
    res = tg.fit(
        "nh4 ~ gp(time) | censor(limit)", tg.datasets.load("nh4"), family="lognormal", method=tg.EP(hyper="maximize")
    )
    ax = res.plot()
    assert line(ax, "limit").get_drawstyle() == "steps-mid"
    scattered = tg.datasets.load("nh4").assign(x=lambda d: (d["time"] * 7919.3) % 1)
    other = tg.fit("nh4 ~ gp(x) | censor(limit)", scattered, family="lognormal", method=tg.EP(hyper="maximize")).plot()
    assert "limit" not in labels(other)


def test_interval_rows_are_bars(curve):
    parts = curve.parts
    response = parts.training.response
    lower, upper = response.lower.copy(), response.upper.copy()
    exact = np.flatnonzero(lower == upper)[:5]
    lower[exact] -= 1.0
    training = dataclasses.replace(parts.training, response=dataclasses.replace(response, lower=lower, upper=upper))
    res = tg.GPResults(parts.spec, training, parts.gp, parts.fitted, tg.datasets.simulate_groot_lucas())
    ax = res.plot()
    assert "interval (5)" in labels(ax)
    ax.figure.canvas.draw()


def test_transformed_inputs_and_linear_models():
    data = tg.datasets.load("tobin")
    axes = tg.fit("durable ~ age + quant | censor(0)", data, fixed={"sigma": 5.0}, method="ep").plot()
    assert [ax.get_xlabel() for ax in axes] == ["age", "quant"]
    ax = tg.fit("durable ~ gp(log(age)) | censor(0)", data, method=tg.EP(hyper="maximize")).plot()
    assert ax.get_xlabel() == "age"


def test_a_column_in_two_parts_moves_in_both():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": np.linspace(0, 3, 40)})
    data["y"] = 5 * data["x"] + np.sin(4 * data["x"]) + rng.normal(0, 0.1, 40)
    ax = tg.fit("y ~ x + gp(x)", data, method=tg.EP(hyper="maximize")).plot()
    curve = line(ax, "posterior mean of f").get_ydata()
    assert np.abs(np.interp(data["x"], np.linspace(0, 3, 201), curve) - data["y"]).max() < 0.5


def test_refusals(lung, curve):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    with pytest.raises(SpecError, match="x="):
        lung.plot(ax)
    with pytest.raises(SpecError, match="did you mean 'age'"):
        lung.plot(x="agee")
    with pytest.raises(SpecError, match="interval="):
        curve.plot(ax, interval=95)
    assert not ax.lines
    nothing = tg.fit("durable ~ 1 | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0}, method="ep")
    with pytest.raises(SpecError, match="no input of numbers or dates"):
        nothing.plot()


def test_typical_values_occur():
    frame = pd.DataFrame(
        {
            "x": [0.0, 1.0, 2.0, 9.0],
            "k": [1, 2, 4, 8],
            "code": [3, 3, 7, 1],
            "g": pd.Categorical(["b", "a", "b", "b"]),
            "t": [True, False, False, False],
        },
        index=list("wxyz"),
    )
    grid = grid_frame(frame, "x", factors=frozenset({"code"}), size=5)
    assert np.allclose(grid["x"], [0, 2.25, 4.5, 6.75, 9])
    assert grid.iloc[0][["k", "code", "g", "t"]].tolist() == [2, 3, "b", False]
    assert isinstance(grid["g"].dtype, pd.CategoricalDtype)
    assert grid.drop(columns="x").nunique().eq(1).all()


@pytest.fixture(scope="module")
def dated():
    days = pd.date_range("2019-03-01", "2022-05-01", periods=40)
    rng = np.random.default_rng(3)
    y = np.sin(np.linspace(0, 6, 40)) + rng.normal(0, 0.2, 40)
    return pd.DataFrame({"day": days, "z": rng.normal(size=40), "y": np.maximum(y, -0.5)})


@pytest.mark.parametrize("kind", ["naive", "zone", "python"])
def test_dates_are_drawn_on_an_axis_of_dates(dated, kind):
    days = {"naive": dated["day"], "zone": dated["day"].dt.tz_localize("UTC"), "python": dated["day"].dt.date}[kind]
    data = dated.assign(day=days)
    res = tg.fit("y ~ gp(decimal_year(day)) | censor(-0.5)", data, method=tg.EP(hyper="maximize"))
    ax = res.plot()
    ax.figure.canvas.draw()
    shown = line(ax, "posterior mean of f")
    assert np.allclose(shown.get_ydata(), res.predict({"day": pd.DatetimeIndex(shown.get_xdata())}))
    assert set(pd.DatetimeIndex(line(ax, "exact (26)").get_xdata()).date) <= set(dated["day"].dt.date)
    low, high = mpl.dates.num2date(ax.dataLim.intervalx)
    assert (low.date(), high.date()) == (dated["day"].min().date(), dated["day"].max().date())
    assert "2020" in {tick.get_text() for tick in ax.get_xticklabels()}


def test_dates_are_held_at_their_median_and_written_short(dated):
    axes = tg.fit("y ~ gp(z) + gp(decimal_year(day)) | censor(-0.5)", dated, method=tg.EP(hyper="maximize")).plot()
    assert axes[0].get_title(loc="left") == f"at day = {dated['day'].sort_values().iloc[19]:%Y-%m-%d}"
    assert axes[1].get_xlabel() == "day"


def test_a_curve_for_each_level_with_rows_of_its_colour(grouped, visits):
    ax = grouped.plot(x="x")
    curves = [item for item in ax.lines if len(item.get_xdata()) == 201]
    z = visits["z"].sort_values().iloc[74]
    for g, shown in zip("abc", curves, strict=True):
        new = pd.DataFrame({"x": shown.get_xdata(), "z": z, "g": g})
        assert np.allclose(shown.get_ydata(), grouped.predict(new, exclude="re(h)"))
        mine = visits[(visits["g"] == g) & visits["y"].between(-1, 1.5, inclusive="neither")]
        dots = [item for item in ax.lines if item.get_marker() == "o" and item.get_color() == shown.get_color()]
        assert np.array_equal(dots[0].get_ydata(), mine["y"])
    assert len({item.get_color() for item in curves}) == 3
    assert {text.get_text(): text.get_color() for text in ax.texts} == dict(
        zip("abc", [item.get_color() for item in curves], strict=True)
    )
    assert ax.get_title(loc="left") == f"at z = {z:.4g}; re(h) left out"
    ax.figure.canvas.draw()


@pytest.mark.slow
def test_levels_are_held_along_inputs_of_other_terms(grouped, visits):
    axes = grouped.plot()
    assert [ax.get_xlabel() for ax in axes] == ["x", "z"]
    typical = visits["g"].mode()[0]
    assert axes[1].get_title(loc="left").startswith(f"at x = {visits['x'].sort_values().iloc[74]:.4g}, g = {typical};")
    assert not axes[1].texts
    axes[0].figure.canvas.draw()


@pytest.mark.slow
def test_numbers_that_name_groups_are_no_axis(visits):
    res = tg.fit("y ~ gp(x, by=k) + z + re(h) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize"))
    ax = res.plot()
    assert ax.get_title(loc="left") == (
        f"at z = {visits['z'].sort_values().iloc[74]:.4g}, k = {visits['k'].mode()[0]}; re(h) left out"
    )
    assert len([item for item in ax.lines if len(item.get_xdata()) == 201]) == 1
    with pytest.raises(SpecError, match="x='h'"):
        res.plot(x="h")
    with pytest.raises(SpecError, match="no input of numbers or dates"):
        tg.fit("y ~ re(h) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize")).plot()


def test_a_group_that_is_an_input_too_is_drawn_along(visits):
    ax = tg.fit("y ~ gp(h) + re(h) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize")).plot()
    assert ax.get_xlabel() == "h"
    assert ax.get_title(loc="left") == "re(h) left out"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "lognormal"])
def test_a_process_over_two_columns_is_a_map(visits, family):
    data = visits.assign(y=np.exp(visits["y"]), low=np.exp(-1.0))
    res = tg.fit("y ~ gp(x, z) + C(g) | censor(low)", data, family=family, method=tg.EP(hyper="maximize"))
    ax = res.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "z")
    filled = ax.collections[0]
    x, z = np.meshgrid(*(np.linspace(visits[c].min(), visits[c].max(), 61) for c in ("x", "z")))
    new = {"x": x.ravel(), "z": z.ravel(), "g": [visits["g"].mode()[0]] * x.size}
    shown = res.predict(new, "median")
    assert filled.zmax == pytest.approx(min(shown.max(), filled.norm.vmax))
    assert filled.zmin == pytest.approx(max(shown.min(), filled.norm.vmin))
    rows = {marks.get_offsets().shape[0]: marks.get_array() for marks in ax.collections[1:]}
    exact = data["y"] > data["low"]
    assert np.array_equal(rows[exact.sum()], data["y"][exact])
    assert set(rows[(~exact).sum()]) == {np.exp(-1.0)}
    assert ax.get_title(loc="left") == f"at g = {visits['g'].mode()[0]}"
    slices = res.plot(x="x")
    assert slices.get_xlabel() == "x"
    assert slices.get_ylabel() == "y"
    ax.figure.canvas.draw()


@pytest.mark.slow
def test_a_column_of_two_processes_is_drawn_along(visits):
    axes = tg.fit("y ~ gp(x, z) + gp(x) | censor(-1, 1.5)", visits, fixed={"sigma": 0.5}).plot()
    assert [ax.get_xlabel() for ax in axes] == ["x", "z"]


@pytest.mark.slow
def test_truncated_fits_show_the_mean_in_their_window(visits):
    seen = visits[visits["y"].between(-0.5, 1.2)]
    res = tg.fit("y ~ gp(x) | truncate(-0.5, 1.2)", seen, method=tg.EP(hyper="maximize"))
    ax = res.plot()
    inside = next(line for line in ax.lines if line.get_label() == "mean in the window")
    assert inside.get_ydata().min() > -0.5
    assert inside.get_ydata().max() < 1.2
    np.testing.assert_allclose(inside.get_ydata(), res.predict({"x": inside.get_xdata()}, "observed"))


@pytest.mark.slow
@pytest.mark.parametrize("span", [(1979.7, 2011.2), (2009.1, 2010.2)])
def test_years_have_room_beside_each_other(span):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"year": rng.uniform(*span, 60), "x": rng.normal(size=60), "z": rng.normal(size=60)})
    data["y"] = np.sin(data["year"] / 4) + rng.normal(size=60)
    res = tg.fit("y ~ year + x + z", data)
    for axes in (res.plot(), res.plot_terms()):
        ax = axes[0]
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        shown = [tick for tick, at in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True) if low <= at <= high]
        assert all(low <= float(tick.get_text()) <= high for tick in shown)  # years, not what they are more than one
        boxes = [tick.get_window_extent() for tick in shown]
        assert all(right.x0 - left.x1 > 0.5 * left.width for left, right in itertools.pairwise(boxes))
    title = res.plot()[1].get_title(loc="left")
    assert "year = " in title
    assert "e+03" not in title
