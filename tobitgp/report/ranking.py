"""A picture of models that were ranked. matplotlib is loaded when it is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.report.axes import BLUE, VERMILION, closing_what_fails, given_or_new
from tobitgp.report.text import as_label
from tobitgp.typing import Array

_LONG = 40
_CRITERIA = {"aic": "AIC", "bic": "BIC"}
_RING: dict[str, Any] = {
    "color": VERMILION,
    "markersize": 11,
    "markerfacecolor": "none",
    "markeredgewidth": 1.6,
    "linestyle": "none",
}


@closing_what_fails
def plot_ranking(table: pd.DataFrame, names: Sequence[str], ax: Any = None) -> Any:
    """Draw the criterion of each model; the best is ringed.

    Numbers of components stand along the axis and are joined by a line; other models stand below each other.
    """
    values, kind = table["value"], str(table["kind"].iloc[0])
    label = _CRITERIA.get(kind, f"log evidence ({kind})")
    found = [re.fullmatch(r"mixture\((\d+)\)", name) for name in names]
    numbers = [int(match.group(1)) for match in found if match is not None]
    along = len(numbers) == len(names)
    ax = given_or_new(ax, (6.4, 4.0) if along else (6.4, 1.2 + 0.34 * len(names)))
    heights: Array = np.asarray(values.reindex(list(names)), dtype=np.float64)
    best = list(names).index(str(values.index[0]))
    if along:
        return draw_numbers(ax, numbers, heights, best, label)
    places = np.arange(len(names))
    ax.plot(heights, places, "o", color=BLUE, markersize=6)
    ax.plot(heights[best], places[best], "o", label=f"best: {as_label(_short(names[best]))}", **_RING)
    ax.set_yticks(places, [as_label(_short(name)) for name in names], fontsize="small")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(label)
    ax.margins(x=0.12)
    ax.grid(axis="y", linewidth=0.4)
    return _finish(ax, "x")


def draw_numbers(ax: Any, numbers: Sequence[int], values: Array, best: int, label: str) -> Any:
    """Draw a criterion over the number of components into axes."""
    ax.plot(numbers, values, "o-", color=BLUE, linewidth=1.4, markersize=5)
    words = f"best: {numbers[best]} component{'s' * (numbers[best] > 1)}"
    ax.plot(numbers[best], values[best], "o", label=words, **_RING)
    ax.set_xticks(numbers)
    ax.set_xlabel("components")
    ax.set_ylabel(label)
    ax.margins(y=0.12)
    return _finish(ax, "y")


def _finish(ax: Any, along: str) -> Any:
    ax.ticklabel_format(axis=along, useOffset=False)
    ax.legend(fontsize="small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 3]}..."
