"""Pictures of terms show the numbers of predict(what="terms")."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


def named(ax):
    """The term of a panel, whose label goes on with its scale."""
    return ax.get_ylabel().split("\n")[0]


def shown_curves(ax):
    return [item for item in ax.lines if len(item.get_xdata()) == 201]


def test_a_panel_for_each_term(lung):
    axes = lung.plot_terms()
    assert [named(ax) for ax in axes] == ["ph_ecog", "C(sex)", "gp(age)", "gp(wt_loss)"]
    assert [ax.get_xlabel() for ax in axes] == ["ph_ecog", "sex", "age", "wt_loss"]
    age = axes[2].lines[1]
    grid = lung.model.data.frame.iloc[[0] * len(age.get_xdata())].assign(age=age.get_xdata())
    assert np.allclose(age.get_ydata(), lung.predict(grid, "terms")[("gp(age)", "estimate")])
    points = axes[1].lines[1]
    effect = lung.params["C(sex)[T.2]"]
    assert np.allclose(points.get_ydata(), [0.0, effect])
    assert [label.get_text() for label in axes[1].get_xticklabels()] == ["1", "2"]
    axes[0].figure.canvas.draw()


def test_one_panel_and_no_band(curve):
    ax = curve.plot_terms(interval=None)
    assert not ax.collections
    assert named(ax) == "gp(x)"
    ax.figure.canvas.draw()


@pytest.mark.slow
def test_interactions_say_what_is_held():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"x": rng.normal(size=40), "z": rng.normal(size=40), "w": rng.normal(size=40), "g": rng.choice(["a", "b"], 40)}
    )
    data["y"] = data["x"] * (data["g"] == "b") + rng.normal(size=40)
    axes = tg.fit("y ~ x:g + gp(x, z, w)", data, fixed={"sigma": 1.0}).plot_terms()
    assert [named(ax) for ax in axes] == ["x:g", "x:g", "gp(x, z, w)", "gp(x, z, w)", "gp(x, z, w)"]
    titles = [ax.get_title(loc="left") for ax in axes]
    assert titles[0].startswith("at g = ")
    assert "z = " not in titles[0]
    assert titles[2].startswith("at z = ")
    assert "w = " in titles[2]
    axes[0].figure.canvas.draw()


def test_awkward_names_are_drawn(awkward):
    for ax in np.atleast_1d(awkward.plot_terms()):
        assert ax.get_ylabel()


def test_a_curve_and_band_for_each_level(grouped):
    ax = grouped.plot_terms(interval=0.9)[0]
    curves = shown_curves(ax)
    assert named(ax) == "gp(x, by=g)"
    assert len(ax.collections) == 3
    for g, shown, band in zip("abc", curves, ax.collections, strict=True):
        new = pd.DataFrame({"x": shown.get_xdata(), "z": 0.0, "g": g, "h": 101})
        table = grouped.predict(new, "terms", interval=0.9)["gp(x, by=g)"]
        assert np.allclose(shown.get_ydata(), table["estimate"])
        assert np.isclose(band.get_paths()[0].vertices[:, 1].max(), table["upper"].max())
    names = {text.get_text(): text.get_color() for text in ax.texts}
    assert names == {g: shown.get_color() for g, shown in zip("abc", curves, strict=True)}
    assert len(set(names.values())) == 3
    ax.figure.canvas.draw()


def test_many_levels_are_thin_lines(visits):
    ax = tg.fit("y ~ gp(x, by=k) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize")).plot_terms()
    assert len(shown_curves(ax)) == 10
    assert not ax.collections
    assert ax.get_title(loc="left") == "10 levels, without bands"
    ax.figure.canvas.draw()


def test_slopes_are_drawn_at_one(grouped):
    ax = grouped.plot_terms()[1]
    assert ax.get_xlabel() == "x"
    assert named(ax) == "slope of z"
    assert not ax.get_title(loc="left")
    (shown,) = shown_curves(ax)
    new = pd.DataFrame({"x": shown.get_xdata(), "g": "a", "h": 101})
    f = [grouped.predict(new.assign(z=z)) for z in (2.0, 3.0)]
    assert np.allclose(shown.get_ydata(), f[1] - f[0])


def test_random_intercepts_in_order_with_names(grouped):
    axes = grouped.plot_terms(interval=0.8)
    assert len(axes) == 3
    ax, table = axes[2], grouped.group_effects(interval=0.8).loc["re(h)"].sort_values("estimate")
    dots = next(item for item in ax.lines if item.get_marker() == "o")
    assert np.array_equal(dots.get_ydata(), table["estimate"])
    bars = np.array([bar[:, 1] for bar in ax.collections[0].get_segments()])
    assert np.array_equal(bars, table[["lower", "upper"]])
    assert [label.get_text() for label in ax.get_xticklabels()] == [str(level) for level in table.index]
    assert (ax.get_xlabel(), named(ax)) == ("h", "re(h)")
    assert not grouped.plot_terms(interval=None)[2].collections


@pytest.mark.parametrize("groups", [40, 150])
def test_many_random_intercepts_have_no_names(visits, groups):
    data = visits.assign(h=np.arange(len(visits)) % groups)
    res = tg.fit("y ~ re(h) | censor(-1, 1.5)", data, fixed={"sd(re(h))": 0.5, "sigma": 0.5})
    ax = res.plot_terms()
    assert not list(ax.get_xticks())
    assert ax.get_xlabel() == f"h: {groups} groups by their means"
    assert len(ax.collections) == 1
    ax.figure.canvas.draw()


@pytest.mark.parametrize("term", ["gp(z, x)", "gp(z):gp(x)"])
def test_two_inputs_are_a_surface(visits, term):
    res = tg.fit(f"y ~ {term} | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize"))
    ax = res.plot_terms()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("z", "x")
    dots = ax.lines[0]
    assert np.array_equal(dots.get_xdata(), visits["z"])
    assert np.array_equal(dots.get_ydata(), visits["x"])
    filled = ax.collections[0]
    z, x = np.meshgrid(*(np.linspace(visits[c].min(), visits[c].max(), 61) for c in ("z", "x")))
    mean = res.predict({"z": z.ravel(), "x": x.ravel()}, "terms")[(term, "estimate")]
    assert np.isclose(filled.zmax, mean.max())
    assert np.isclose(filled.zmin, mean.min())
    assert filled.levels[0] == -filled.levels[-1] <= mean.min()
    assert filled.colorbar.ax.get_ylabel() == f"{term}\nin y"
    ax.figure.canvas.draw()


def test_surfaces_over_dates(visits):
    res = tg.fit("y ~ gp(x, decimal_year(day)) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize"))
    ax = res.plot_terms()
    ax.figure.canvas.draw()
    low, high = (item.replace(tzinfo=None) for item in mpl.dates.num2date(ax.get_ylim()))
    assert low <= visits["day"].min() <= visits["day"].max() <= high
    assert "2020" in {tick.get_text() for tick in ax.get_yticklabels()}


def test_terms_of_dates_are_curves(visits):
    ax = tg.fit("y ~ gp(decimal_year(day)) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize")).plot_terms()
    ax.figure.canvas.draw()
    (shown,) = shown_curves(ax)
    days = pd.DatetimeIndex(shown.get_xdata())
    assert (days.min(), days.max()) == (visits["day"].min(), visits["day"].max())
    assert "2020" in {tick.get_text() for tick in ax.get_xticklabels()}


def test_numbers_with_curves_of_their_own_are_a_factor(visits):
    data = visits.assign(g=visits["g"].map({"a": 1, "b": 2, "c": 4}))
    axes = tg.fit("y ~ g + gp(x, by=g) | censor(-1, 1.5)", data, method=tg.EP(hyper="maximize")).plot_terms()
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["1", "2", "4"]
    assert [text.get_text() for text in axes[1].texts] == ["1", "2", "4"]


def test_nothing_to_draw(curve):
    parts = curve.parts
    with pytest.raises(SpecError, match="no training rows"):
        tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted).plot_terms()
    data = tg.datasets.simulate_groot_lucas()
    with pytest.raises(SpecError, match="no term"):
        tg.fit("y ~ 1", data, fixed={"sigma": 1.0}, method="ep").plot_terms()


def test_curves_share_a_scale_and_labels_say_which(lung):
    axes = lung.plot_terms()
    assert len({ax.get_ylim() for ax in axes}) == 1
    assert {ax.get_ylabel().split("\n")[1] for ax in axes} == {"log time"}
    own = lung.plot_terms(sharey=False)
    assert len({ax.get_ylim() for ax in own}) == len(own)
    low, high = np.array([ax.get_ylim() for ax in own]).T
    assert axes[0].get_ylim() == (low.min(), high.max())
    hazards = tg.fit("Surv(time, event) ~ age", tg.datasets.load("lung"), family=tg.PH("spline", df=2, link="odds"))
    assert hazards.plot_terms().get_ylabel() == "age\nlog odds"


def test_a_term_with_a_known_period_is_drawn_over_one(visits):
    formula = "y ~ gp(decimal_year(day)) + gp(decimal_year(day), period=1) + gp(x, period=2) | censor(-1, 1.5)"
    res = tg.fit(formula, visits, method=tg.EP(hyper="maximize"))
    axes = res.plot_terms()
    axes[0].figure.canvas.draw()
    days = axes[1].lines[1].get_xdata()
    start = pd.Timestamp(visits["day"].median().year, 1, 1)
    assert days[0] == start
    assert (days[-1] - days[0]) / np.timedelta64(1, "D") == pytest.approx(365.2425)
    assert "Jul" in {tick.get_text() for tick in axes[1].get_xticklabels()}
    rug = axes[1].lines[2].get_xdata()
    assert len(rug) == visits["day"].nunique()
    assert (rug >= days[0]).all()
    assert (rug < days[-1]).all()
    curve = axes[2].lines[1]
    assert np.ptp(curve.get_xdata()) == pytest.approx(2.0)
    assert curve.get_ydata()[0] == pytest.approx(curve.get_ydata()[-1], abs=1e-8)
