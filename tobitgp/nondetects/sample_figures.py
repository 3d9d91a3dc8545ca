"""Figures of samples with non-detects: distribution functions, box plots, probability plots, trends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.means import KaplanMeier, kaplan_meier_of
from tobitgp.nondetects.ros import RegressionOnOrderStatistics, ros_of
from tobitgp.nondetects.sample import GroupNames, Sample, read_groups, read_names, read_sample
from tobitgp.nondetects.sample_likelihood import FamilyName, maximise
from tobitgp.nondetects.sample_results import in_words
from tobitgp.nondetects.theil_sen import lowest, theil_sen
from tobitgp.nondetects.value_order import read_columns
from tobitgp.report.axes import (
    BLUE,
    EDGE,
    GREY,
    INK,
    LEVELS,
    VERMILION,
    as_label,
    closing_what_fails,
    draw_curve,
    finish,
    given_or_new,
    plain_numbers,
)
from tobitgp.typing import Array, Frame

_CURVE = 300
_TICKS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_TICK = 0.028  # height of the marks of limits, as a share of the axes
_WIDTH = 0.5
_LETTERS = 70  # of names below boxes, beyond which they are turned
_DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (5, 1)))


@closing_what_fails
def plot_ecdf(
    data: Frame,
    response: str,
    censored: str | None = None,
    by: GroupNames = None,
    *,
    family: FamilyName | Sequence[FamilyName] = (),
    ax: Any = None,
) -> Any:
    """Draw Kaplan-Meier distribution functions with 95% bands, and the limits of non-detects along the axis.

    The steps are those of (NDT1) of the theory pages. The bands are Greenwood's on the log(-log) scale.

    Parameters
    ----------
    data : DataFrame or dict of columns
        One row per value.
    response : str
        Column of detects and of the limits of non-detects, or of text such as ``<0.5``; or the left-hand side of a
        formula.
    censored : str, optional
        Column that is 1 or True for non-detects.
    by : str or sequence of str, optional
        Columns of groups, with one curve per group.
    family : str or sequence of {"lognormal", "normal", "weibull", "gamma"}
        Distributions fitted by maximum likelihood and drawn over the steps.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
        Axes with a logarithmic scale if all values are positive.

    Raises
    ------
    DataError
        If columns are missing, or a group has fewer than two distinct detects.
    SpecError
        If values are right-censored or lie in intervals, or the family is unknown.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"lead": ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]}
    >>> ax = tg.nondetects.plot_ecdf(data, "lead", family="lognormal")
    """
    samples = list(read_groups(data, response, censored, by).values())
    for sample in samples:
        sample.check_left("A distribution function")
        sample.check_detects(f"Group {sample.name!r}" if by else "")
    ax = given_or_new(ax)
    values = np.concatenate([sample.values for sample in samples])
    positive = bool((values > 0.0).all())
    ends = _beyond(values, positive)
    if positive:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis, *ends)
    names = [family] if isinstance(family, str) else list(family)
    for k, sample in enumerate(samples):
        colour = LEVELS[k % len(LEVELS)]
        label = f"{sample.name} (n = {len(sample)}, {sample.censored.mean():.0%} non-detects)"
        _draw_steps(ax, kaplan_meier_of(sample), ends[1], colour, as_label(label))
        at = sample.values[sample.censored]
        ax.plot(at, np.full(len(at), -_TICK * (k + 0.6)), "|", color=colour, markersize=7, zorder=4)
        for one, dashes in zip(names, _DASHES, strict=False):
            _draw_family(ax, sample, one, ends, dashes, INK if by is None else colour)
    for one, dashes in zip(names, _DASHES, strict=False):
        ax.plot([], [], linestyle=dashes, color=INK, linewidth=1.3, label=f"{one} by maximum likelihood")
    ax.plot([], [], "|", color=INK, markersize=7, label="limits of non-detects")
    ax.set(xlim=ends, ylim=(-_TICK * (len(samples) + 0.6), 1.02))
    place = "outside" if len(samples) > 3 else "below"
    return finish(ax, response, "share at or below", legend=place, title=", ".join(read_names(by)))


def _beyond(values: Array, log: bool) -> tuple[float, float]:
    """Ends of an axis a little beyond the values."""
    low, high = (float(end) for end in (values.min(), values.max()))
    if log:
        reach = max((high / low) ** 0.06, 1.02)
        return low / reach, high * reach
    reach = 0.06 * (high - low)
    return low - reach, high + reach


def _draw_steps(ax: Any, found: KaplanMeier, end: float, colour: str, label: str) -> None:
    start = [found.smallest] if found.smallest < found.values[0] else []
    x = np.concatenate([start, found.values, [end]])
    estimate = np.concatenate([[found.mass_below] * len(start), found.cdf, [1.0]])
    table = {"estimate": estimate}
    for name, band in (("lower", found.lower), ("upper", found.upper)):
        table[name] = np.concatenate([band[:1] if start else [], band[1:], [1.0, 1.0]])
    draw_curve(ax, x, pd.DataFrame(table), colour, alpha=0.15, label=label, steps=True)


def _draw_family(ax: Any, sample: Sample, family: str, ends: tuple[float, float], dashes: Any, colour: str) -> None:
    found = maximise(sample, family)
    x = np.geomspace(*ends, _CURVE) if ends[0] > 0.0 else np.linspace(*ends, _CURVE)
    share = -np.expm1(found.family.linked(found.a, found.b).logsf(found.family.link(x)))
    ax.plot(x, share, linestyle=dashes, color=colour, linewidth=1.3, zorder=3)


@closing_what_fails
def plot_box(data: Frame, response: str, censored: str | None = None, by: GroupNames = None, *, ax: Any = None) -> Any:
    """Draw box plots that show nothing below the highest limit of a group.

    Quartiles are those of robust regression on order statistics, or Kaplan-Meier quartiles if all three are above the
    highest limit. Whiskers extend to the last value within 1.5 interquartile ranges. A group without detects is drawn
    as a line at its highest limit.

    Parameters
    ----------
    data, response, censored, by, ax
        As in :func:`tobitgp.nondetects.plot_ecdf`, with one box per group.

    Returns
    -------
    matplotlib Axes
        Axes with a logarithmic scale.

    Raises
    ------
    DataError
        If columns are missing, values are not positive, the detects of a group are all equal, or there are no detects.
    SpecError
        If values are right-censored or lie in intervals.

    References
    ----------
    .. [1] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, Wiley, 2012, chapter 5.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"lead": ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]}
    >>> ax = tg.nondetects.plot_box(data, "lead")
    """
    samples = list(read_groups(data, response, censored, by).values())
    filled = {}
    for sample in samples:
        if by is None or len(sample.detects):
            sample.check_detects(f"Group {sample.name!r}" if by else "")
            filled[sample.name] = ros_of(sample, force=True)
    if not filled:
        raise DataError(f"No group of {by!r} has a detected value, so that there is no box to draw.")
    ax = given_or_new(ax)
    ax.set_yscale("log")
    shown = np.concatenate([_shown(sample) for sample in samples])
    low, high = _beyond(shown, True)
    ax.set_ylim(low / (high / low) ** 0.12, high)
    plain_numbers(ax.yaxis, low, high)
    crowded = sum(max(len(sample.name), 8) for sample in samples) > _LETTERS
    turned = {"rotation": 90} if crowded else {}
    for k, sample in enumerate(samples):
        colour = LEVELS[k % len(LEVELS)] if by else BLUE
        drawn = _draw_box(ax, k, sample, filled[sample.name], colour) if sample.name in filled else []
        if sample.censored.any():
            _draw_limit(ax, k, sample, drawn, first=k == 0, short=crowded)
    between = ", " if crowded else "\n"
    names = [f"{as_label(sample.name)}{between}n = {len(sample)}" for sample in samples]
    ax.set_xticks(range(len(samples)), names, **turned)
    ax.set_xlim(-0.6, len(samples) - 0.4)
    return finish(ax, ", ".join(read_names(by)), response, legend="")


def _shown(sample: Sample) -> Array:
    """The highest limit, and the detects above it."""
    highest = sample.limits[-1:]
    return np.concatenate([highest, sample.detects[sample.detects > highest.max(initial=-np.inf)]])


def _draw_box(ax: Any, k: int, sample: Sample, filled: RegressionOnOrderStatistics, colour: str) -> list[Any]:
    """The artists of a box."""
    highest = float(sample.limits.max(initial=0.0))
    found = kaplan_meier_of(sample)
    q1, median, q3 = (found.quantile(p) for p in (0.25, 0.5, 0.75))
    if not q1 > highest:
        q1, median, q3 = filled.quantile([0.25, 0.5, 0.75])
    values, reach = filled.values, 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    whiskers = {"whislo": min(inside.min(), q1), "whishi": max(inside.max(), q3)}
    fliers = values[(values < q1 - reach) | (values > q3 + reach)]
    stats = {"q1": q1, "med": median, "q3": q3, "fliers": fliers, **whiskers}
    drawn = ax.bxp(
        [stats],
        positions=[k],
        widths=_WIDTH,
        patch_artist=True,
        boxprops={"facecolor": colour, "alpha": 0.35, "edgecolor": INK},
        medianprops={"color": INK, "linewidth": 1.8},
        flierprops={"marker": "o", "markersize": 4.5, "markerfacecolor": colour, **EDGE},
        manage_ticks=False,
    )
    return [one for kind in drawn.values() for one in kind]


def _draw_limit(ax: Any, k: int, sample: Sample, box: list[Any], *, first: bool, short: bool) -> None:
    """The highest limit as a line, below which nothing of a box is shown, and the share of non-detects."""
    from matplotlib.patches import Rectangle

    highest = float(sample.limits[-1])
    _, top = ax.get_ylim()
    above = Rectangle((k - 0.5, highest), 1.0, top - highest, transform=ax.transData)
    for artist in box:
        artist.set_clip_path(above)
    ax.hlines(highest, k - 0.4, k + 0.4, color=VERMILION, linewidth=1.4, linestyle=(0, (4, 2)), zorder=4)
    share = f"{sample.censored.mean():.0%}"
    note = {"ha": "center", "va": "top", "fontsize": "small", "color": GREY, "textcoords": "offset points"}
    words = f"{share} non-detects\nhighest limit {highest:g}" if first else f"{share} non-detects\n{highest:g}"
    ax.annotate(share if short else words, (k, highest), xytext=(0, -4), **note)


@closing_what_fails
def plot_probability(
    data: Frame, response: str, censored: str | None = None, *, family: FamilyName = "lognormal", ax: Any = None
) -> Any:
    """Draw detects against normal quantiles at Helsel and Cohn's plotting positions, with the lines of ROS and MLE.

    Parameters
    ----------
    data, response, censored
        As in :func:`tobitgp.nondetects.plot_ecdf`.
    family : {"lognormal", "normal", "weibull", "gamma"}
        Of maximum likelihood; a straight line only if log-normal.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
        Axes with the logarithm of the response on the vertical axis.

    Raises
    ------
    DataError
        If values are not positive, or there are fewer than two distinct detects.
    SpecError
        If values are right-censored or lie in intervals, or the family is unknown.

    References
    ----------
    .. [1] D. R. Helsel and T. A. Cohn, "Estimation of descriptive statistics for multiply censored water quality
       data", Water Resources Research 24 (1988), 1997-2004.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"lead": ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]}
    >>> ax = tg.nondetects.plot_probability(data, "lead")
    """
    sample = read_sample(data, response, censored)
    filled = ros_of(sample, force=True)
    found = maximise(sample, family)
    if not found.family.log:
        raise SpecError("plot_probability() has a logarithmic axis: family='lognormal', 'weibull' or 'gamma'.")
    ax = given_or_new(ax)
    ax.set_yscale("log")
    z, below = ndtri(filled.positions), filled.censored
    ax.plot(z[~below], filled.values[~below], "o", color=BLUE, label=f"detects ({(~below).sum()})", zorder=3, **EDGE)
    if below.any():
        label = f"non-detects ({below.sum()}), at their positions"
        place = {"transform": ax.get_xaxis_transform(), "clip_on": False, "color": VERMILION, "label": label}
        ax.plot(z[below], np.full(below.sum(), 0.02), "|", markersize=9, **place)
    grid = np.linspace(z.min() - 0.2, z.max() + 0.2, _CURVE)
    ax.plot(grid, np.exp(filled.intercept + filled.slope * grid), color=BLUE, linewidth=1.6, label="ROS line")
    curve = [found.percentile(float(p)) for p in ndtr(grid)]
    ax.plot(grid, curve, color=INK, linestyle="--", linewidth=1.3, label=f"{family} by maximum likelihood")
    plain_numbers(ax.yaxis, *ax.get_ylim())
    shown = [p for p in _TICKS if grid[0] <= ndtri(p) <= grid[-1]]
    ax.set_xticks(ndtri(shown), [f"{100.0 * p:g}" for p in shown])
    corner = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": "small", "color": GREY}
    ax.text(0.98, 0.06, f"PPCC of detects {filled.correlation:.3f}", **corner)
    return finish(ax, "cumulative probability, %, on the normal scale", response, legend="upper left")


@closing_what_fails
def plot_trend(
    y: Any,
    x: Any,
    y_censored: Any = None,
    x_censored: Any = None,
    *,
    floor: float | None = None,
    names: tuple[str, str] = ("x", "y"),
    ax: Any = None,
) -> Any:
    """Draw values with non-detects against x, and the Akritas-Theil-Sen line: (NDT24) and (NDT25) of the theory pages.

    Non-detects are open triangles at their limits, with a segment down to the lowest possible value.

    Parameters
    ----------
    y, x, y_censored, x_censored, floor
        As in :func:`tobitgp.nondetects.theil_sen`.
    names : (str, str)
        Labels of the axes of x and y.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        As in :func:`tobitgp.nondetects.theil_sen`.
    SpecError
        If ``ax`` is not a matplotlib Axes, ``names`` are not two, or values are right-censored or lie in intervals.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", 1.5, "<1", 2.0, 1.8, 2.6, 2.4, 3.0]
    >>> ax = tg.nondetects.plot_trend(y, range(2001, 2009), names=("year", "lead"))
    >>> ax.get_legend_handles_labels()[1]
    ['detected (6)', 'non-detect, below (2)', 'Akritas-Theil-Sen: slope 0.3, p = 0.0126']
    """
    if isinstance(names, str) or len(names) != 2:
        raise SpecError(f"names={names!r}: must be two names, for the axes of x and y.")
    res = theil_sen(y, x, y_censored, x_censored, floor=floor)
    (of_y, of_x), _ = read_columns({"y": (y, y_censored), "x": (x, x_censored)})
    ax = given_or_new(ax)
    _draw_values(ax, of_y, of_x, lowest(of_y, floor))
    ends = np.array([of_x.values.min(), of_x.values.max()])
    label = f"Akritas-Theil-Sen: slope {res.slope:.3g}, p = {in_words(res.pvalue)}"
    ax.plot(ends, res.intercept + res.slope * ends, color=BLUE, linewidth=1.8, label=label, zorder=3)
    return finish(ax, *names)


def _draw_values(ax: Any, y: Sample, x: Sample, floor: float) -> None:
    """Detects as dots, limits as open triangles over segments from ``floor``, or from below all limits."""
    c, size = y.censored, float(np.sqrt(np.clip(3000.0 / len(y), 8.0, 26.0)))
    ax.plot(x.values[~c], y.values[~c], "o", color=INK, markersize=size, label=f"detected ({(~c).sum()})", **EDGE)
    if not c.any():
        return
    bottom = floor if np.isfinite(floor) else y.values.min() - 0.08 * np.ptp(y.values)
    ax.vlines(x.values[c], bottom, y.values[c], color=VERMILION, linewidth=0.9, alpha=0.5)
    look = {"color": VERMILION, "markerfacecolor": "white", "markersize": 1.3 * size, "markeredgewidth": 1.0}
    ax.plot(x.values[c], y.values[c], "v", label=f"non-detect, below ({c.sum()})", **look)
    ax.set_ylim(bottom=bottom)
