"""Levels of a group in a picture: their rows, their colours, and their names beside their curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.report.colours import LEVELS
from tobitgp.report.protocols import Drawn
from tobitgp.report.text import as_label
from tobitgp.typing import Array, BoolArray

_LONGEST = 16


class Level(NamedTuple):
    """One level of a group."""

    label: str  # at most 16 characters
    rows: BoolArray  # (n,), the training rows in it
    colour: str


def read_levels(results: Drawn, t: int) -> list[Level]:
    """Levels of the group of one process, in their order."""
    names, groups = results.parts.state.group_levels[t], results.parts.rows.design.groups[t]
    assert names is not None
    assert groups is not None
    return [Level(shorten(str(name)), groups.code == k, LEVELS[k % len(LEVELS)]) for k, name in enumerate(names)]


def group_name(results: Drawn, t: int) -> str:
    """Column of the groups of one process."""
    by = results.model.spec.gps[t].by
    assert by is not None
    return by.text.strip("`")


def shorten(text: str) -> str:
    """Text of at most 16 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def level_grids(grid: pd.DataFrame, column: str, values: pd.Series[Any], levels: Sequence[Level]) -> pd.DataFrame:
    """Rows of a grid once for each level, with the level in its column."""
    at = np.repeat([int(np.argmax(level.rows)) for level in levels], len(grid))
    stacked = pd.concat([grid] * len(levels), ignore_index=True)
    return stacked.assign(**{column: values.iloc[at].reset_index(drop=True)})


def label_ends(ax: Any, y: Sequence[float] | Array, levels: Sequence[Level]) -> None:
    """Write the name of each level right of the end of its curve, moved apart where they would touch."""
    if not levels:
        return
    ends = [(ax.get_xlim()[1], value) for value in y]
    height = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    line = 10.0 / (72.0 * ax.get_position().height * ax.figure.get_size_inches()[1])
    places = spread_out(np.clip(height, 0.0, 1.0), line)
    for level, place in zip(levels, places, strict=True):
        look = {"color": level.colour, "fontsize": "small", "va": "center", "annotation_clip": False}
        ax.annotate(as_label(level.label), (1.01, place), xycoords="axes fraction", **look)


def spread_out(places: Array, gap: float) -> Array:
    """Places (k,) in their order, moved as little as it takes for neighbours to be ``gap`` apart."""
    order = np.argsort(places, kind="stable")
    blocks: list[tuple[float, int]] = []
    for k, value in enumerate(places[order]):
        mean, size = float(value) - gap * k, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    level = np.concatenate([np.full(size, mean) for mean, size in blocks])
    out = np.empty(len(places))
    out[order] = level + gap * np.arange(len(places))
    return out
