"""Averages of curves over rows under values of a column, and contrasts of such averages."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import read_weights, reads_frames
from tobitgp.data.table import in_days
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.results.averages import AT_TIMES, DRAWS, WHATS, HasAverages, Population, Sought, beside
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.curves import warn_net, warn_of_tail
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import OF_SIGNS, warn_of_averages
from tobitgp.results.paths import refuse_parts
from tobitgp.results.predict import check_level, check_what
from tobitgp.results.survival import check_survived, read_times, refuse_dask
from tobitgp.typing import Array, Frame

ColumnSetting = dict[str, Any]
POPULATIONS, SCALES = ("fixed", "bootstrap"), ("difference", "ratio")


@reads_frames
def standardise(
    results: Fit,
    column: str | dict[str, Any],
    what: str = "survival",
    times: Any = None,
    df: Frame | None = None,
    weights: Any = None,
    interval: float | None = 0.95,
    *,
    cause: Any = None,
    conditional_after: float | None = None,
    population: str = "fixed",
    draws: int = DRAWS,
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    r"""Averages over rows with a column set to the same value in all rows: standardisation, or the g-formula.

    Let A be the column and z the others; :math:`S_a(t) = \sum_i w_i S(t | A = a, z_i) / \sum_i w_i`. A restricted mean
    is the area below this curve, and a median is the time where it is one half, which is not the mean of the medians.
    The result is an average of a regression. A causal reading (the effect of setting A to a) requires that no
    unmeasured variable affects both A and the response (no confounding), that every value of A may occur at all z
    (positivity), and that setting A means the same in all rows (consistency).

    Parameters
    ----------
    column : str or dict
        A factor, which is set to each of its levels; or ``{column: values}``, which is required for numbers.
    what : {"survival", "risk", "rmst", "median", "mean"}
        Probability of surviving a time, or of not surviving it; restricted mean up to a time; median; mean of the
        response before censoring.
    times : float or list of float
        Required for the first three, on the scale of the response.
    df : DataFrame or dict of columns, optional
        Rows to average over, by default those of the fit. They need not have ``column``.
    weights : str, (n,) array or Series, optional
        Frequency weights (numbers of copies) of the rows; by default those of the fit, or ones for ``df``.
    interval : float or None
        Probability of the intervals.
    cause : optional
        For competing risks with ``"risk"``: the cumulative incidence of this cause. By default the first event of any
        cause.
    conditional_after : float, optional
        Time s that all rows have survived, on the scale of the response. Times and medians are counted from s: each row
        has :math:`S(s + t | a, z_i) / S(s | a, z_i)`. The rows and their weights are the same for all values, so they
        should be rows that survived s. With late entry, s must not be earlier than the first entry. For a posterior
        this is the mean of such ratios over draws; ``predict_survival_function`` gives the ratio of means, the
        predictive probability for a new row. For maximum likelihood the two are the same.
    population : {"fixed", "bootstrap"}
        Whether the rows are the population itself, or a sample from it, which is resampled with the weights of a
        Bayesian bootstrap.
    draws : int
        Number of draws from a posterior; not used for regressions.
    rng : int or numpy Generator, optional
        For draws; by default they are the same every time.

    Returns
    -------
    DataFrame
        Columns ``estimate, se, lower, upper``: the index has the values, with a list of times ``(value, time)``. For a
        regression, the estimate is at the maximum, with standard errors by the delta method in all parameters and
        intervals that are symmetric on the logit scale of probabilities and the log scale of times. For a posterior,
        these are the mean, standard deviation and quantiles of draws; each draw has one f for all rows and one noise
        scale.

    Raises
    ------
    SpecError
        For unknown options or columns, missing or unnecessary times, a dask DataFrame, or missing training rows.
    DataError, UnseenLevelError
        If rows cannot be used, or values are not levels of the factor.

    Warns
    -----
    ApproximationWarning
        For results of one of several causes, whose survival is net survival; if a restricted mean goes beyond the last
        time seen; or if a number is not finite, e.g. the median of a curve that does not fall to one half.

    References
    ----------
    Hernán and Robins (2020), *Causal Inference: What If*, section 13.3 and chapter 17; Rubin (1981), The Bayesian
    bootstrap, *Annals of Statistics* 9, 130-134. (STD1) to (STD5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + C(sex)", tg.datasets.load("lung"), family="lognormal")
    >>> res.standardise("sex", what="survival", times=365).round(3).reset_index()
       sex  estimate     se  lower  upper
    0  1.0     0.344  0.034  0.281  0.413
    1  2.0     0.532  0.046  0.442  0.621
    """
    warn_net(results)
    if isinstance(column, str):
        _check_column(results, column)
        levels = column_levels(results._using(column), column)
        if levels is None:
            raise SpecError(f"{column!r} holds numbers. Give the values, e.g. standardise({{{column!r}: [1, 2]}}).")
        column = {column: levels}
    if not isinstance(column, dict) or len(column) != 1:
        raise SpecError("standardise() requires a column, or a dict of one column and its values.")
    name, values = next(iter(column.items()))
    values = list(values) if np.ndim(values) else [values]
    if not values:
        raise SpecError(f"standardise() requires at least one value of {name!r}.")
    sought, level, listed = (
        _sought(results, what, times, conditional_after, cause),
        check_level(interval),
        np.ndim(times) > 0,
    )
    rows = _population(results, [{name: value} for value in values], df, weights, population, draws, rng)
    found = results._averages(rows, sought).statistics(level)
    index = pd.Index(values, name=name)
    if listed:
        index = pd.MultiIndex.from_product([values, sought.times], names=[name, "time"])
    _warn(results, "standardise()", sought, found, index)
    return pd.DataFrame({key: numbers.ravel() for key, numbers in found.items()}, index=index)


@reads_frames
def contrast(
    results: Fit,
    first: ColumnSetting | Fit,
    second: ColumnSetting | None = None,
    what: str = "survival",
    times: Any = None,
    scale: str = "difference",
    df: Frame | None = None,
    interval: float | None = 0.95,
    *,
    weights: Any = None,
    cause: Any = None,
    conditional_after: float | None = None,
    population: str = "fixed",
    draws: int = DRAWS,
    rng: int | np.random.Generator | None = None,
    response: str | None = None,
) -> pd.DataFrame:
    """Contrast of two standardised averages: their difference, or their ratio.

    ``contrast(res, {"trt": "yes"}, {"trt": "no"}, ...)`` sets the column to the first value in all rows and then to the
    second, with the same fit, so that shared errors of the two averages cancel. See :meth:`GPResults.standardise` for
    the averages and for the assumptions of a causal reading. ``contrast(res_a, res_b, ...)`` compares the averages of
    two fits to different rows, whose errors are independent, over ``df`` or over the rows of each fit.

    Parameters
    ----------
    results : results of a fit
        A regression or a process.
    first, second : dict
        Values of one or more columns; or ``first`` the results of another fit, without ``second``.
    what, times
        As for :meth:`GPResults.standardise`.
    scale : {"difference", "ratio"}
        The first average minus the second, or divided by it, with an interval that is symmetric on the log scale.
    df, interval, weights, cause, conditional_after, population, draws, rng
        As for :meth:`GPResults.standardise`.
    response : str, optional
        For several responses, the one to contrast; by default all of them, side by side.

    Returns
    -------
    DataFrame
        Columns ``estimate, se, lower, upper``, a row for each time, or one; differences on the scale of ``what``. For a
        ratio, a pure number, ``se`` divided by the ratio is the standard error of its logarithm.

    Raises
    ------
    SpecError
        As for :meth:`GPResults.standardise`, for another scale, or two fits that share rows.
    DataError, UnseenLevelError
        If rows cannot be used, or values are not levels of the factor.

    Warns
    -----
    ApproximationWarning
        As for :meth:`GPResults.standardise`.

    References
    ----------
    (STD1) to (STD4) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + C(sex)", tg.datasets.load("lung"), family="lognormal")
    >>> tg.contrast(res, {"sex": 2}, {"sex": 1}, what="rmst", times=[365, 730]).round(1).reset_index()
        time  estimate    se  lower  upper
    0  365.0      50.9  14.7   22.0   79.8
    1  730.0     111.2  33.1   46.4  176.0
    """
    if not isinstance(results, HasAverages):
        raise SpecError(f"The first argument of contrast() must be the results of a fit, not {type(results).__name__}.")
    options: dict[str, Any] = {
        "weights": weights,
        "cause": cause,
        "conditional_after": conditional_after,
        "population": population,
    }
    options |= {"draws": draws, "rng": rng} | ({} if response is None else {"response": response})
    return results._contrast(first, second, what, times, scale, df, interval, **options)


def contrast_of(
    results: Fit,
    first: Any,
    second: Any,
    what: Any,
    times: Any,
    scale: Any,
    df: Frame | None,
    interval: float | None,
    *,
    weights: Any,
    cause: Any,
    conditional_after: Any,
    population: Any,
    draws: Any,
    rng: Any,
    response: str | None = None,
) -> pd.DataFrame:
    """See `contrast`; of one response."""
    if response is not None:
        raise SpecError(f"response={response!r}: this fit has one response.")
    warn_net(results)
    scale = check_what(scale, SCALES, " as a scale")
    sought, level = _sought(results, what, times, conditional_after, cause), check_level(interval)
    stream = generator(rng)
    if isinstance(first, HasAverages) and second is None:
        other: Any = first
        _check_disjoint(results, other)
        one, two = (
            fit._averages(_population(fit, [{}], df, weights, population, draws, stream), of)
            for fit, of in ((results, sought), (other, _sought(other, what, times, conditional_after, cause)))
        )
        found = beside(one, two, draws, stream)
    elif isinstance(first, dict) and isinstance(second, dict):
        rows = _population(results, [first, second], df, weights, population, draws, stream)
        found = results._averages(rows, sought)
    else:
        raise SpecError("contrast() requires a fit and two dicts of values, or two fits of different rows.")
    numbers = found.contrast(level, ratio=scale == "ratio")
    index = pd.Index(sought.times, name="time") if sought.what in AT_TIMES else pd.Index([sought.what])
    _warn(results, "contrast()", sought, numbers, index, ratio=scale == "ratio")
    return pd.DataFrame(numbers, index=index)


def _check_column(results: Fit, name: Any) -> None:
    """Raise an error for a column that the model does not use."""
    names = results._using(name).state.input_names
    if name not in names:
        raise SpecError(f"{name!r} is not a column of this model, which has {', '.join(map(repr, names)) or 'none'}.")


def _sought(results: Fit, what: Any, times: Any, conditional_after: Any, cause: Any) -> Sought:
    """Quantity to average, its times, and the time that rows have survived."""
    if results.parts.spec.mixture is not None:
        raise SpecError("A mixture has the same curve in every row. Use predict_survival_function().")
    what = check_what(what, WHATS, " for an average")
    log_time = results.parts.family.log_time
    after = _read_after(conditional_after, what, positive=log_time)
    number = number_of_cause(results, cause, what)
    if what not in AT_TIMES:
        if times is not None:
            raise SpecError(f"times= cannot be combined with what={what!r}. Leave times= out.")
        return Sought(what, np.zeros(1), log_time, after)
    if times is None:
        raise SpecError(f"what={what!r} requires times=, a time or a list of times.")
    grid = read_times(times)
    if what == "rmst":
        if (grid <= 0.0).any():
            raise SpecError(f"times={times!r}: times of restricted means must be positive.")
        warn_of_tail(results, grid + (after or 0.0))
    return Sought(what, grid, log_time, after, number)


def number_of_cause(results: Fit, cause: Any, what: str) -> int | None:
    """Which cause an average is of, None without one."""
    if cause is None:
        return None
    number = results._number_of(cause)
    if what != "risk":
        raise SpecError(
            f"cause={cause!r}: what={what!r} is about the first event of any cause. Use what='risk', the "
            f"cumulative incidence of a cause, or leave cause= out."
        )
    return number


def _read_after(value: Any, what: str, *, positive: bool) -> float | None:
    """Time that all rows have survived."""
    if value is None:
        return None
    if what == "mean":
        raise SpecError("conditional_after= cannot be combined with what='mean'. Use what='rmst'.")
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_) and np.isfinite(float(value))
    if not number:
        raise SpecError(
            f"conditional_after={value!r}: conditional_after must be one finite number, the same for all rows."
        )
    check_survived(np.array(value, dtype=np.float64), positive=positive)
    return float(value)


def _warn(
    results: Fit, question: str, sought: Sought, found: dict[str, Array], index: pd.Index, *, ratio: bool = False
) -> None:
    """Warn of averages that are not finite, unless the fit has already warned of infinite medians."""
    if sought.what == "median" and results._averages_warn and not np.isfinite(found["estimate"]).all():
        return
    warn_of_averages(question, sought.what, found, index, OF_SIGNS if ratio and sought.link == "identity" else "")


def _population(
    results: Fit, settings: list[ColumnSetting], df: Frame | None, weights: Any, population: Any, draws: Any, rng: Any
) -> Population:
    """Rows under every setting, those of the fit by default."""
    parts = results.parts
    for name, value in (pair for setting in settings for pair in setting.items()):
        _check_column(results, name)
        if np.ndim(value):
            raise SpecError(f"{name!r} must have one value for all rows, e.g. {{{name!r}: {next(iter(value))!r}}}.")
    refuse_dask(df, "standardise", "a sample of the rows")
    if df is None:
        refuse_parts(results, "give df=")
        if parts.covariates is None:
            raise SpecError(f"{NO_ROWS}: give df=..., the rows to average over.")
        frame, weight = parts.covariates, parts.rows.response.weight
        if isinstance(weights, str):
            raise SpecError(
                f"weights={weights!r}: the fit does not store the columns of weights. Give the numbers: "
                f"weights=data[{weights!r}]."
            )
        if weights is not None:
            kept = parts.rows.kept
            weight = read_weights(weights, pd.DataFrame(index=parts.rows.index), len(kept))[kept]
    else:
        frame = in_days(pd.DataFrame(df))
        weight = read_weights(weights, frame, len(frame))
    stacked = pd.concat([frame.assign(**setting) for setting in settings], ignore_index=True)
    asked = results._ask(stacked)
    usable = asked.usable[: len(frame)]
    weight = weight[usable]
    if not weight.sum() > 0.0:
        raise SpecError("No row has positive weight and no missing values, so that there is nothing to average over.")
    resampled = check_what(population, POPULATIONS, " as a population") == "bootstrap"
    return Population(
        asked, stacked[asked.usable], len(settings), weight, resampled, read_draws(draws, 2), generator(rng)
    )


def _check_disjoint(first: Fit, second: Fit) -> None:
    """Raise an error for two fits that have rows in common: the same label, and the same seen of the response."""
    one, two = first.parts.training, second.parts.training
    if one is None or two is None:
        return
    keys = []
    for training, frame in ((one, first.parts.covariates), (two, second.parts.covariates)):
        seen = {" lower": training.response.lower, " upper": training.response.upper, " label": training.labels}
        keys.append(frame.reset_index(drop=True).assign(**seen).astype(str).drop_duplicates())
    shared = len(keys[0].merge(keys[1]))
    if shared:
        raise SpecError(
            f"The two fits share {shared} rows, so that their errors are not independent. contrast() of two "
            f"fits requires fits of different rows. For the same rows give one fit and two dicts of values."
        )
