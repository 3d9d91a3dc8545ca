"""Probability plots: nonparametric estimates on the axes on which a family is a straight line, and the fitted line."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.api import fit
from tobitgp.data.frames import reads_frames
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.errors import DataError, SpecError
from tobitgp.method_settings import read_choice
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.report.axes import (
    EDGE,
    LEVELS,
    as_label,
    closing_what_fails,
    draw_curve,
    finish,
    given_or_new,
    plain_numbers,
    response_name,
)
from tobitgp.report.group_curves import FEW, Seen
from tobitgp.results.predict import check_level
from tobitgp.survival.curve_tables import turnbull_of
from tobitgp.survival.grouped_times import in_words, read_times
from tobitgp.typing import Array, Frame

_FAMILIES = ("weibull", "exponential", "lognormal", "loglogistic", "gaussian", "logistic", "gumbel")
_TICKS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999)
_CURVE = 200
_ROUNDING = 1e-12
_SIZE = (6.4, 4.8)


class PlottedPoints(NamedTuple):
    """Points of a probability plot, (m,) each."""

    times: Array
    probability: Array  # of values up to each


@reads_frames
@closing_what_fails
def plot_probability(
    formula: str,
    data: Frame,
    family: str = "weibull",
    *,
    weights: str | None = None,
    interval: float | None = 0.95,
    ax: Any = None,
) -> Any:
    """Draw a Weibull probability plot, or that of another family, with the line fitted by maximum likelihood.

    Each event is drawn at the mean of the Kaplan-Meier estimates of the distribution function just before and after
    it. If rows are left-censored or lie in intervals, the Turnbull estimate is drawn at the right ends of its
    intervals. Points near the line say that the family is adequate.

    Parameters
    ----------
    formula : str
        ``"Surv(time, event) ~ machine"``, or any other response of :func:`tobitgp.fit`, e.g. ``"interval(lo, hi) ~ 1"``
        or ``"lead ~ site | censor(nondetect=nd)"``. A line is fitted to each group right of ``~``.
    data : DataFrame or dict of columns
        A row for each subject; never modified.
    family : {"weibull", "exponential", "lognormal", "loglogistic", "gaussian", "logistic", "gumbel"}
        Of the axes and the line. The horizontal axis is logarithmic for the first four.
    weights : str, optional
        Column of frequency weights.
    interval : float, optional
        Probability of pointwise bands around the lines of up to four groups, those of ``predict_survival_function`` of
        the fits; None for no bands.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
        With the quantiles of the standardised family upwards, labelled by probabilities.

    Raises
    ------
    FormulaError
        If the formula cannot be read.
    DataError
        If a group has no two distinct points to draw, or for a column that is missing.
    SpecError
        For an unknown family, more than eight groups, or late entry of rows in intervals.

    References
    ----------
    .. [1] W. Q. Meeker and L. A. Escobar, *Statistical Methods for Reliability Data*, Wiley, 1998, chapter 6.

    Examples
    --------
    >>> import tobitgp as tg
    >>> ax = tg.survival.plot_probability("Surv(time, event) ~ sex", tg.datasets.load("lung"))
    >>> len(ax.lines), ax.get_ylabel()
    (4, 'cumulative probability, %, on the weibull scale')
    """
    read_choice("family", family, _FAMILIES)
    level = check_level(interval)
    read = read_times(formula, data, weights)
    if len(read.keys) > len(LEVELS):
        raise SpecError(f"{formula!r} has {len(read.keys)} groups, and {len(LEVELS)} lines are the most. Name fewer.")
    ax, few = given_or_new(ax, _SIZE), len(read.keys) <= FEW
    points = [_points(read.seen.take(rows), key) for key, rows in read.parts()]
    rows_of = (read.rows[rows].reset_index(drop=True) for _, rows in read.parts())
    fits: list[Any] = [fit(read.formula, rows, family=family, weights=weights, method="mle") for rows in rows_of]
    noise, log = fits[0].parts.family.distribution, fits[0].parts.family.log_time
    x = _grid(np.concatenate([each.times for each in points]), log)
    for key, each, res, colour in zip(read.keys, points, fits, LEVELS, strict=False):
        label = f"{in_words(key) or 'all'}: {_parameters(family, *res.params.to_numpy())}"
        draw_curve(ax, x, _line(res, x, level if few else None, noise), colour, alpha=0.13, label=as_label(label))
        ax.plot(each.times, noise.ppf(each.probability), "o", color=colour, markersize=5, zorder=4, **EDGE)
    _scale(ax, noise.ppf(np.concatenate([each.probability for each in points])), noise)
    ax.set_xlim(x[0], x[-1])
    if log:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis, x[0], x[-1])
    words = f"cumulative probability, %, on the {family} scale"
    place = "best" if few else "below"
    return finish(ax, response_name(fits[0].model), words, legend=place, title=", ".join(read.by))


def _points(seen: Seen, key: tuple[Any, ...]) -> PlottedPoints:
    """Points of a group, of which a line needs two."""
    found = plotted_points(seen)
    if len(np.unique(found.times)) < 2:
        raise DataError(f"The group {in_words(key)!r} has fewer than two distinct points to draw. Leave it out.")
    return found


def plotted_points(seen: Seen) -> PlottedPoints:
    """Estimates of the distribution function that are neither 0 nor 1."""
    if seen.right:
        sets = risk_sets(seen.lower, seen.exact, seen.weight, seen.entry)
        jumps, survival = sets.events > 0.0, sets.survival
        middle = 1.0 - 0.5 * (np.append(1.0, survival[:-1]) + survival)
        return PlottedPoints(sets.times[jumps], middle[jumps])
    found = turnbull_of(seen)
    height = 1.0 - found.survival - np.where(found.left == found.right, 0.5 * found.mass, 0.0)
    shown = np.isfinite(found.right) & (height < 1.0 - _ROUNDING)
    return PlottedPoints(found.right[shown], height[shown])


def _grid(times: Array, log: bool) -> Array:
    """Times from a little before the first point to a little after the last."""
    low, high = float(times.min()), float(times.max())
    if log:
        reach = (high / low) ** 0.08
        return np.geomspace(low / reach, high * reach, _CURVE)
    reach = 0.08 * (high - low)
    return np.linspace(low - reach, high + reach, _CURVE)


def _line(res: Any, x: Array, level: float | None, noise: Distribution) -> pd.DataFrame:
    """The fitted distribution function as quantiles of the standardised family, with its band."""
    found = res.predict_survival_function(res.model.data.frame.iloc[:1], x, interval=level)
    names = ["estimate"] if level is None else ["mean", "estimate", "upper", "lower"]
    with np.errstate(divide="ignore"):
        return pd.DataFrame(noise.ppf(1.0 - found.to_numpy()), columns=names)


def _parameters(family: str, location: float, sigma: float) -> str:
    """Parameters under their usual names."""
    if family == "exponential":
        return f"mean {np.exp(location):.4g}"
    if family in ("weibull", "loglogistic"):
        return f"shape {1.0 / sigma:.3g}, scale {np.exp(location):.4g}"
    names = ("log mean", "log sd") if family == "lognormal" else ("location", "scale")
    return f"{names[0]} {location:.4g}, {names[1]} {sigma:.3g}"


def _scale(ax: Any, z: Array, noise: Distribution) -> None:
    """Label the vertical axis by probabilities."""
    at = noise.ppf(np.array(_TICKS))
    reach = 0.08 * max(float(np.ptp(z)), 1.0)
    low, high = float(z.min()) - reach, float(z.max()) + reach
    shown = [(place, p) for place, p in zip(at, _TICKS, strict=True) if low <= place <= high]
    ax.set_yticks([place for place, _ in shown], [f"{100.0 * p:g}" for _, p in shown])
    ax.set_ylim(low, high)
