"""Rows along which a fit is drawn, and where their numbers and dates stand on an axis."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.state import NUMERIC_ROLES
from tobitgp.report.colours import GREY
from tobitgp.report.protocols import Drawn
from tobitgp.report.text import as_label

GRID = 201


def grid_frame(
    covariates: pd.DataFrame, column: str | None, *, factors: frozenset[str] = frozenset(), size: int = GRID
) -> pd.DataFrame:
    """Covariates along one column, the others at a typical value that occurs."""
    out = {}
    for name in covariates.columns:
        values = covariates[name].reset_index(drop=True)
        if name == column:
            out[name] = _even_steps(values, size)
        else:
            number = runs(values) and name not in factors
            at = (
                values.argsort().iloc[(len(values) - 1) // 2] if number else values[values == values.mode()[0]].index[0]
            )
            out[name] = values.iloc[[at] * size].reset_index(drop=True)
    return pd.DataFrame(out)


def is_number(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, truth values aside."""
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def factor_columns(results: Drawn) -> frozenset[str]:
    """Columns that are factors by ``C(...)``, or groups of ``by=`` or ``re()`` and nothing else."""
    spec = results.model.spec
    coded = {coding.text.strip("`") for coding in spec.codings}
    return frozenset(coded | set(spec.names("by")) | (set(spec.names("re")) - set(spec.names(*NUMERIC_ROLES))))


def held_words(grid: pd.DataFrame, column: str, left_out: Sequence[str] = ()) -> str:
    """Words for the inputs that are held, and for the terms that are left out."""
    words = []
    for name in grid.columns:
        if name != column:
            value = grid[name].iloc[0]
            if is_date(grid[name]):
                value = pd.Timestamp(value).strftime("%Y-%m-%d")
            words.append(f"{name} = {value:.3g}" if isinstance(value, float | np.floating) else f"{name} = {value}")
    shown = ", ".join(words[:4]) + (f", {len(words) - 4} more held" if len(words) > 4 else "")
    rest = f"{', '.join(left_out)} left out" if left_out else ""
    return "; ".join(filter(None, [f"at {shown}" if shown else "", rest]))


def say_above(ax: Any, words: str) -> None:
    """Write a line, or several short ones, above a panel."""
    if words:
        ax.set_title(textwrap.fill(as_label(words), 46), loc="left", fontsize="small", color=GREY)


def is_date(values: pd.Series[Any]) -> bool:
    """Whether a column holds dates, of pandas or of Python."""
    return pd.api.types.infer_dtype(values) in ("datetime64", "datetime", "date")


def runs(values: pd.Series[Any]) -> bool:
    """Whether a column can be drawn along: numbers or dates."""
    return is_number(values) or is_date(values)


def place(values: pd.Series[Any]) -> Any:
    """Where a column of numbers or dates stands on an axis: floats, or dates in UTC."""
    if is_date(values):
        return pd.to_datetime(values, utc=True).dt.tz_localize(None).to_numpy()
    return values.to_numpy(dtype=np.float64)


def label_axis(ax: Any, column: str, x: Any, *, side: Literal["x", "y"] = "x") -> None:
    """Name the axis along a column, with short dates where it holds dates."""
    ax.set(**{f"{side}label": as_label(column)})
    if x.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        axis, locator = getattr(ax, f"{side}axis"), AutoDateLocator(minticks=3, maxticks=8)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator))


def _even_steps(values: pd.Series[Any], size: int) -> pd.Series[Any]:
    if is_date(values):
        dates = pd.to_datetime(values)
        return pd.Series(pd.date_range(dates.min(), dates.max(), periods=size))
    return pd.Series(np.linspace(float(values.min()), float(values.max()), size))


def curve_words(results: Drawn) -> str:
    """What the curve of a picture is."""
    return "estimate" if results.method == "mle" else "posterior mean of f"
