"""``flow_normalise``: a fitted concentration model, averaged over the discharges of each calendar day."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import single_blas_thread
from tobitgp.errors import ApproximationWarning, DataError, SpecError, user_level
from tobitgp.flow.daily import Daily, discharge_weights, make_grid, period_weights, read_daily, read_periods
from tobitgp.flow.trend import FlowNormalised, Samples, read_contrasts
from tobitgp.method_settings import read_choice
from tobitgp.numerics.sampling import generator
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.predict import check_level
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import ask
from tobitgp.typing import Array, Frame

WHATS = ("concentration", "flux", "median")
TO_LOAD = 86.4  # m3/s times mg/l, in kg a day
FAR_OUTSIDE = 0.05  # share of days, above which a warning is given
_HALF_YEAR = pd.Timedelta(days=183)
_CELLS = 2_000_000


@reads_frames
def flow_normalise(
    results: GPResults | RegressionResults,
    daily: Frame,
    discharge: str = "q",
    time: str = "date",
    window: int | str = "all",
    half_window_days: int = 0,
    by: str | None = "year",
    what: str = "concentration",
    interval: float = 0.9,
    contrasts: Sequence[tuple[Any, Any]] | None = None,
    draws: int = 1000,
    rng: int | np.random.Generator | None = None,
    *,
    exclude: str | Sequence[str] = (),
) -> FlowNormalised:
    r"""Flow-normalised trend of a concentration or a load in a river, with the effect of wet and dry years removed.

    A model of concentration gives C(t, Q) for every day t and discharge Q. Its flow-normalised value on a day is the
    mean over the discharges that this day of the year had in all years; that of a year is the mean over its days:

    .. math:: C(t, Q) = E[Y \mid t, Q], \qquad FN_t = \frac{1}{|\mathcal Q_t|} \sum_{Q \in \mathcal Q_t} C(t, Q).

    Both are computed for each draw of the whole surface, so annual means and differences between years have
    intervals.

    Parameters
    ----------
    results : GPResults or RegressionResults
        A fit of concentrations, preferably with ``family="lognormal"``, whose formula contains the discharge column and
        the dates as ``decimal_year(date)``. Other columns of the formula must also be in ``daily``; the values of the
        day are used.
    daily : DataFrame or dict of columns
        One row per day, in chronological order; days may be missing. Dates with a time zone are days in that zone.
        The data are never modified.
    discharge, time : str
        Columns of ``daily``: discharge (m3/s for loads), named as in the formula, and dates.
    window : "all" or int
        Years whose discharges are averaged: all, or, if the flow itself changes, this number of years around each year
        (at the ends of the record, the first or the last of them).
    half_window_days : int
        Number of days before and after a day of the year whose discharges are also used.
    by : {"year", "water_year", "month"} or None
        Periods. Water years begin in October and are named by the year in which they end. With None, results are daily.
        Periods of which more than a tenth is missing are left out.
    what : {"concentration", "flux", "median"}
        Expected concentration; load (flux) in kg per day if concentrations are in mg/l; or median concentration, which
        exists for every distribution.
    interval : float
        Probability of the intervals.
    contrasts : list of pairs of periods, optional
        Periods to compare, e.g. ``[(1985, 2010)]``. The default is the first and the last.
    draws : int
        Number of draws of the surface.
    rng : int or numpy Generator, optional
        With None the result is deterministic.
    exclude : str or list of str
        Processes that are not part of the trend, such as one over days and weeks that models the serial correlation of
        samples. They are set to their average. With a family for positive values, expected concentrations are averaged
        over their prior variance, as over the noise.

    Returns
    -------
    FlowNormalised
        A table of periods, one of contrasts, a summary and a plot.

    Raises
    ------
    SpecError
        If the model does not contain discharge, if ``daily`` lacks a column of the formula, if the concentration has
        no mean under the family, or if an option is unknown.
    DataError
        If dates are missing, repeated or out of order, if discharges are missing or not positive, or if the record
        has no complete period.

    Warns
    -----
    ApproximationWarning
        If more than one day in twenty has a discharge outside the range of the samples, or if days are more than half
        a year before the first sample or after the last.

    References
    ----------
    R. M. Hirsch, D. L. Moyer and S. A. Archfield, "Weighted regressions on time, discharge, and season (WRTDS)",
    *JAWRA* 46 (2010), 857-880. (FLW1) to (FLW3) of the theory pages.

    Examples
    --------
    >>> import numpy as np, pandas as pd, tobitgp as tg
    >>> dates, rng = pd.date_range("2001-01-01", "2006-12-31"), np.random.default_rng(1)
    >>> daily = pd.DataFrame({"date": dates, "q": np.exp(rng.normal(size=len(dates)))})
    >>> samples = daily.iloc[::30].copy()
    >>> samples["c"] = samples["q"] ** 0.5 * np.exp(0.1 * rng.normal(size=len(samples)))
    >>> res = tg.fit("c ~ decimal_year(date) + log(q)", samples, family="lognormal")
    >>> trend = tg.flow_normalise(res, daily, contrasts=[(2001, 2006)])
    >>> trend.table.loc[2006].round(1).to_dict()
    {'discharge': 1.7, 'estimate': 1.1, 'flow_normalised': 1.1, 'lower': 1.1, 'upper': 1.2}
    """
    _check_words(results, window, half_window_days, what)
    level = check_level(interval)
    if level is None:
        raise SpecError("interval=None: must be a probability, because the values are shown with intervals.")
    river = read_daily(daily, discharge, time, tuple(results.parts.state.input_names))
    periods, grid = read_periods(by, river.dates), make_grid(river)
    size = read_draws(draws, 2, rows=len(periods.labels))
    load = what == "flux"
    pooled = discharge_weights(river, grid, half_window_days, None if window == "all" else int(window), flux=load)
    actual = grid.at * river.q[:, None] if load else grid.at
    unit = TO_LOAD if load else 1.0
    operators = [unit * period_weights(periods, grid, of_days) for of_days in (pooled, actual)]
    surface = _Surface(what, exclude, size, generator(rng))
    normalised, estimated = surface.averages(results, river.grid(grid.knots, np.exp(grid.log_q)), operators)
    samples = Samples.of(results, time, discharge)
    _warn_beyond(samples, river)
    outside = _outside(samples, river)
    used = periods.code >= 0
    q = np.bincount(periods.code[used], weights=river.q[used]) / periods.count
    lower, upper = np.quantile(normalised, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=1)
    columns = [q, estimated.mean(axis=1), normalised.mean(axis=1), lower, upper]
    names = ["discharge", "estimate", "flow_normalised", "lower", "upper"]
    table = pd.DataFrame(dict(zip(names, columns, strict=True)), index=periods.labels)
    compared = read_contrasts(contrasts, periods.labels, normalised, level)
    return FlowNormalised(table, compared, results.formula, what, level, size, outside, periods.left_out, samples)


class _Surface(NamedTuple):
    """What is drawn of the expected concentration."""

    what: str
    exclude: str | Sequence[str]
    draws: int
    rng: np.random.Generator

    def averages(
        self, results: GPResults | RegressionResults, rows: pd.DataFrame, operators: Sequence[Any]
    ) -> list[Array]:
        """Draws (P, S) of averages with weights (P, n) of the rows of a grid."""
        asked = ask(results.parts, rows, self.exclude)
        if not asked.usable.all():
            raise DataError(f"Columns of the formula are missing on {int((~asked.usable).sum())} days. Fill them in.")
        excluded = (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)
        random = () if self.what == "median" else excluded
        made: list[list[Array]] = [[] for _ in operators]
        with single_blas_thread(), np.errstate(all="ignore"):
            for drawn in results._joint.distributions(asked, self.draws, _CELLS, self.rng, random):
                C = self._of(drawn)
                for out, operator in zip(made, operators, strict=True):
                    out.append(operator @ C)
        return [np.concatenate(out, axis=1) for out in made]

    def _of(self, drawn: LocationScale) -> Array:
        """Expected or median concentrations (n, s), (FLW1)."""
        C = drawn.ppf(0.5) if self.what == "median" else drawn.mean()
        if not np.isfinite(C).all():
            raise SpecError(
                "The concentration has no mean under this family. Use what='median', or fit the model with "
                "family='lognormal'."
            )
        return C


def _check_words(results: Any, window: Any, half_window_days: Any, what: Any) -> None:
    if type(results) not in (GPResults, RegressionResults):
        raise SpecError(
            f"flow_normalise() requires a fit of one concentration by tg.fit(), a process or a regression, not "
            f"{type(results).__name__}."
        )
    read_choice("what", what, WHATS)
    years = isinstance(window, int | np.integer) and not isinstance(window, bool) and window >= 1
    if not years and not (isinstance(window, str) and window == "all"):
        raise SpecError(f"window={window!r}: must be a number of years, or 'all'.")
    whole = isinstance(half_window_days, int | np.integer) and not isinstance(half_window_days, bool)
    if not whole or not 0 <= half_window_days <= 182:
        raise SpecError(f"half_window_days={half_window_days!r}: must be a whole number of days from 0 to 182.")
    response = results.model.endog_names
    if power := re.search(r"\b(?:log\w*|sqrt|exp\w*)\(|\*\*", response):
        kind = "a logarithm" if power[0].startswith("log") else "a transformation"
        raise SpecError(
            f"The response is {response}, {kind} whose mean is not a concentration. Fit the concentration itself with "
            "family='lognormal'."
        )


def _warn_beyond(samples: Samples | None, river: Daily) -> None:
    """Warn if days are long before the first sample or after the last."""
    if samples is None or samples.dates is None:
        return
    first, last = samples.dates.min(), samples.dates.max()
    far = int(np.sum((river.dates < first - _HALF_YEAR) | (river.dates > last + _HALF_YEAR)))
    if far:
        warnings.warn(
            f"{far} of {len(river.dates)} days are more than half a year before the first sample or after the last "
            f"({first:%Y-%m-%d} to {last:%Y-%m-%d}): the trend there, and contrasts with it, are extrapolated. "
            "Give only days of years with samples.",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def _outside(samples: Samples | None, river: Daily) -> float:
    """Share of days with a discharge outside those of the samples."""
    if samples is None:
        return float("nan")
    share = float(np.mean((river.q < samples.q.min()) | (river.q > samples.q.max())))
    if share > FAR_OUTSIDE:
        warnings.warn(
            f"{share:.0%} of the days have a discharge outside those of the samples ({samples.q.min():.4g} to "
            f"{samples.q.max():.4g}): the model extrapolates there, by its prior or linearly.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    return share
