"""What the figure of a trend draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.nondetects import simulate

import tobitgp as tg


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_points_limits_and_line():
    y, x, c = simulate(30, 1, trend=1.0)
    ax = tg.nondetects.plot_trend(y, x, c, names=("year", "lead"))
    detects, limits, line = ax.lines
    np.testing.assert_array_equal(detects.get_xydata(), np.column_stack([x, y])[~c])
    np.testing.assert_array_equal(limits.get_xydata(), np.column_stack([x, y])[c])
    assert (limits.get_marker(), limits.get_markerfacecolor()) == ("v", "white")
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_array_equal(segments[:, 0, 1], 0.0)
    np.testing.assert_array_equal(segments[:, 1, 1], y[c])
    res = tg.nondetects.theil_sen(y, x, c)
    np.testing.assert_allclose(line.get_ydata(), res.params["Intercept"] + res.params["slope"] * line.get_xdata())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("year", "lead")
    assert ax.get_ylim()[0] == 0.0
    assert f"slope {res.slope:.3g}" in ax.get_legend_handles_labels()[1][2]


def test_logarithms_and_complete_samples():
    y, x, c = simulate(30, 1, trend=1.0)
    _, own = plt.subplots()
    ax = tg.nondetects.plot_trend(np.log(y), x, c, ax=own)
    assert ax is own
    assert ax.get_ylim()[0] == np.array(ax.collections[0].get_segments())[0, 0, 1] < np.log(y).min()
    complete = tg.nondetects.plot_trend(y, x)
    assert not complete.collections
    assert complete.get_legend_handles_labels()[1][0] == "detected (30)"


def test_what_fails_leaves_no_figure():
    y, x, c = simulate(30, 1)
    with pytest.raises(tg.errors.DataError, match="'x' has 1 distinct values"):
        tg.nondetects.plot_trend(y, x * 0.0, c)
    assert plt.get_fignums() == []
    with pytest.raises(tg.errors.SpecError, match="ax= must be matplotlib axes"):
        tg.nondetects.plot_trend(y, x, c, ax="lead")


def test_names_are_two():
    with pytest.raises(tg.errors.SpecError, match="names='lead': must be two names"):
        tg.nondetects.plot_trend([1.0, 2.0, 3.0, 5.0], [1, 2, 3, 4], names="lead")
