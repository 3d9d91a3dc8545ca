"""Maps of zeros, of small ranges and of many rows, short names that differ, and numbers of forest plots."""

from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tobitgp.report.axes import draw_map, draw_surface, shorten_all
from tobitgp.report.forest import Row, _numbers


def _map(height: Any, value: Any, *, log: bool) -> Any:
    rng, (figure, ax) = np.random.default_rng(0), plt.subplots()
    grid = np.linspace(0.0, 1.0, len(height))
    rows: Any = SimpleNamespace(lower=value, upper=value)
    draw_map(ax, (grid, grid), height, list(rng.uniform(size=(2, len(value)))), rows, "y", log=log)
    figure.canvas.draw()
    return ax, figure.axes[1]


@pytest.mark.parametrize(
    ("height", "log"),
    [
        (np.linspace(0.0, 3.0, 400).reshape(20, 20), True),
        (np.linspace(990.0, 1010.0, 400).reshape(20, 20), True),
        (np.geomspace(1e-6, 1e6, 400).reshape(20, 20), True),
        (np.full((20, 20), 2.0), False),
        (np.zeros((20, 20)), True),
    ],
)
def test_a_colour_bar_has_a_few_round_numbers_within_its_ends(height: Any, log: bool) -> None:
    _, bar = _map(height, height.ravel()[::7], log=log)
    low, high = bar.get_ylim()
    ticks = [t for t in bar.get_yticks() if low <= t <= high]
    assert low < high
    assert 2 <= len(ticks) <= 10
    plt.close("all")


def test_many_rows_leave_a_map_to_be_seen() -> None:
    value = np.random.default_rng(1).uniform(1.0, 2.0, 20_000)
    ax, _ = _map(np.linspace(1.0, 2.0, 400).reshape(20, 20), value, log=False)
    assert ax.get_legend_handles_labels()[1] == ["exact (20000), 1000 drawn"]
    assert [len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) > 1] == [1000]
    _, other = plt.subplots()
    grid = np.linspace(0.0, 1.0, 20)
    draw_surface(other, (grid, grid), np.outer(grid, grid), (value, value), "f")
    assert len(other.lines[0].get_xdata()) == 1000
    plt.close("all")


def test_short_names_differ_where_names_do() -> None:
    alike = ["hospital of the north, ward A", "hospital of the north, ward B"]
    assert len(set(shorten_all(alike))) == 2
    assert shorten_all(["a", "b"]) == ["a", "b"]
    assert shorten_all(["x" * 30 + "1" + "y" * 30, "x" * 30 + "2" + "y" * 30])[0].startswith("x" * 30)


def test_thousands_have_no_power_of_ten() -> None:
    assert _numbers(Row("x", -1110.0, -2345.6, 12.3), log=False) == "-1110 (-2350 to 12.3)"
    assert _numbers(Row("x", 2.5e7, 1e7, 4e7), log=False) == "2.5e+07 (1e+07 to 4e+07)"


def test_zeros_at_their_limit_leave_the_colours_of_a_logarithmic_map_to_the_others() -> None:
    """Zeros lie below the least number there is, and estimates there are of any size."""
    rng = np.random.default_rng(1)
    value, height = np.exp(rng.normal(size=300)), np.exp(rng.normal(size=(20, 20)))
    value[:90], height[:8] = 5e-324, 5e-324
    _, bar = _map(height, value, log=True)
    low, high = bar.get_ylim()
    assert 0.01 < low < 1.0 < high < 100.0
