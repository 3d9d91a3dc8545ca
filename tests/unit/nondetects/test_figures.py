"""Figures show the estimates, the limits, and nothing below the highest limit that nobody knows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects import plot_box, plot_ecdf, plot_probability, ros
from tobitgp.nondetects.means import kaplan_meier_of
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import maximise


@pytest.fixture
def pyrene(columns):
    return pd.DataFrame(columns["she_pyrene"])


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(item for item in ax.lines if item.get_label().startswith(label))


def test_distribution_functions(pyrene):
    ax = plot_ecdf(pyrene, "pyrene", "censored", family=["lognormal", "gamma"])
    assert labels(ax) == [
        "pyrene (n = 56, 20% non-detects)",
        "lognormal by maximum likelihood",
        "gamma by maximum likelihood",
        "limits of non-detects",
    ]
    found = kaplan_meier_of(read_values(pyrene["pyrene"], pyrene["censored"]))
    x, y = line(ax, "pyrene").get_data()
    np.testing.assert_allclose(x[1:-1], found.values)
    np.testing.assert_allclose(y, [found.mass_below, *found.cdf, 1.0])
    ticks = next(item for item in ax.lines if item.get_marker() == "|")
    assert sorted(ticks.get_xdata()) == sorted(pyrene.loc[pyrene["censored"] == 1, "pyrene"])
    fit = maximise(read_values(pyrene["pyrene"], pyrene["censored"]))
    curve = next(item for item in ax.lines if item.get_linestyle() == "--" and len(item.get_xdata()) > 9)
    at = np.interp(0.5, curve.get_ydata(), curve.get_xdata())
    assert at == pytest.approx(fit.percentile(0.5), rel=1e-3)
    assert ax.get_xscale() == "log"
    ax.figure.canvas.draw()


def test_distribution_functions_of_groups_and_of_negative_values():
    rng = np.random.default_rng(0)
    data = {"y": rng.normal(size=40), "c": rng.uniform(size=40) < 0.3, "$g$": list("abcd") * 10}
    ax = plot_ecdf(data, "y", "c", by="$g$")
    assert ax.get_xscale() == "linear"
    assert len(labels(ax)) == 5
    assert ax.get_legend().get_title().get_text() == r"\$g\$"
    ax.figure.canvas.draw()


def test_box_plots_end_at_the_highest_limit(columns):
    data = pd.DataFrame(columns["cuzn"]).dropna().astype({"zn_censored": int})
    ax = plot_box(data, "zn", "zn_censored", by="zone")
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert names == ["AlluvialFan\nn = 67", "BasinTrough\nn = 50"]
    assert [text.get_text() for text in ax.texts] == ["24% non-detects\nhighest limit 10", "8% non-detects\n10"]
    ax.figure.canvas.draw()
    assert len(ax.patches) == 2
    for patch in ax.patches:
        assert patch.get_clip_box().y0 == pytest.approx(ax.transData.transform((0, 10.0))[1], abs=0.5)


def test_boxes_have_the_quartiles_of_ros_or_kaplan_meier():
    y, c = np.r_[0.5, 0.5, np.linspace(1.0, 9.0, 18)], np.r_[1, 1, np.zeros(18)]
    median = kaplan_meier_of(read_values(y, c.astype(int))).quantile(0.5)
    ax = plot_box({"y": y, "c": c}, "y", "c")
    assert any(np.allclose(item.get_ydata(), median) for item in ax.lines)
    y[:2], c[2:6] = 4.0, 1
    ax = plot_box({"y": y, "c": c}, "y", "c")
    assert any(np.allclose(item.get_ydata(), ros(y, c).quantile(0.5)) for item in ax.lines)


def test_probability_plots(pyrene):
    ax = plot_probability(pyrene, "pyrene", "censored")
    found = ros(pyrene["pyrene"], pyrene["censored"])
    np.testing.assert_allclose(line(ax, "detects").get_ydata(), found.values[~found.censored])
    z, y = line(ax, "ROS").get_data()
    np.testing.assert_allclose(np.log(y), found.intercept + found.slope * z)
    assert len(line(ax, "non-detects (11)").get_xdata()) == 11
    assert ax.texts[0].get_text() == f"PPCC of detects {found.correlation:.3f}"
    ax.figure.canvas.draw()
    assert "weibull by maximum likelihood" in labels(plot_probability(pyrene, "pyrene", "censored", family="weibull"))


def test_what_they_refuse(pyrene):
    with pytest.raises(SpecError, match=r"logarithmic axis: family='lognormal', 'weibull' or 'gamma'"):
        plot_probability(pyrene, "pyrene", "censored", family="normal")
    with pytest.raises(SpecError, match="must be matplotlib axes"):
        plot_box(pyrene, "pyrene", "censored", ax="site")
    with pytest.raises(DataError, match="Group 'b' has no detected value"):
        plot_ecdf({"y": ["1", "2", "<3"], "g": ["a", "a", "b"]}, "y", by="g")
    with pytest.raises(DataError, match="'y' is 0 or below"):
        plot_box({"y": [-1.0, 2.0, 3.0]}, "y")


def test_a_group_without_detects_is_a_line():
    data = {"y": ["<1", "2", "3", "1.5", "<2", "<1"], "well": list("aaaabb")}
    ax = plot_box(data, "y", by="well")
    assert [text.get_text() for text in ax.texts] == ["25% non-detects\nhighest limit 1", "100% non-detects\n2"]
    assert len(ax.patches) == 1
    with pytest.raises(DataError, match="No group of 'well' has a detected value"):
        plot_box({"y": ["<1", "<2"], "well": ["a", "b"]}, "y", by="well")


def test_many_names_are_turned():
    y = np.tile(np.arange(1.0, 5.0), 24)
    ax = plot_box({"y": y, "nd": y == 1.0, "g": [f"well {k // 4}" for k in range(96)]}, "y", "nd", by="g")
    assert [text.get_text() for text in ax.texts] == ["25%"] * 24
    assert {text.get_rotation() for text in ax.get_xticklabels()} == {90.0}
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))


def test_groups_of_two_columns():
    data = {
        "y": [1.0, 2.0, 3.0, 4.0] * 4,
        "c": [1, 0, 0, 0] * 4,
        "g": [*"aaaaaaaabbbbbbbb"],
        "h": [0, 0, 0, 0, 1, 1, 1, 1] * 2,
    }
    ax = plot_ecdf(data, "y", "c", by=["g", "h"])
    assert labels(ax)[:2] == ["a / 0 (n = 4, 25% non-detects)", "a / 1 (n = 4, 25% non-detects)"]
    assert ax.get_legend().get_title().get_text() == "g, h"
    ax = plot_box(data, "y", "c", by=("g", "h"))
    assert [text.get_text() for text in ax.get_xticklabels()][3] == "b / 1\nn = 4"
    assert ax.get_xlabel() == "g, h"
