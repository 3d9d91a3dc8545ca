"""Questions about all responses over latent coordinates together: coordinates, imputed values, draws, covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.data.training_summary import held_rows
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.errors import SpecError
from tobitgp.latent.weighted_points import WeightedPoints
from tobitgp.numerics.sampling import generator
from tobitgp.posterior.seen import conditional_mean
from tobitgp.results.fit import Fit
from tobitgp.results.joint import DRAWN, Posterior
from tobitgp.results.joint_draws import sample as sample_rows
from tobitgp.results.latent.coordinates import CoordinateDesign
from tobitgp.results.latent.latent_draws import response_nodes, seen_by_the_others
from tobitgp.results.multivariate.multivariate_predictions import default_rows
from tobitgp.results.multivariate.of_responses import beside
from tobitgp.results.predict import check_level
from tobitgp.results.rows import Asked, ask
from tobitgp.typing import Frame


def rows_of(results: Fit, new: Frame | None, exclude: Any = ()) -> list[Asked]:
    """Rows of each response, those of the fit without new ones."""
    rows = held_rows(results.parts.read).data if new is None else new
    return [ask(one, rows, exclude) for one in results.parts.responses]


def points_of(results: Fit, asked: Asked) -> WeightedPoints:
    """Coordinates of rows by all of their responses."""
    assert isinstance(asked.design, CoordinateDesign)
    found: WeightedPoints = results.parts.coordinates.points(asked.design.known)
    return found


@answers_in_kind
def latent(results: Fit, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """Latent coordinates of the rows of the fit, or of new rows from their observed responses.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With some of the responses, and what their limits need; the rows of the fit without.
    interval : float, optional
        Probability of equal-tailed intervals.

    Returns
    -------
    DataFrame
        A row for each row of the data, columns ``(1, "estimate")``, ``(1, "se")``, and ``lower`` and ``upper`` with
        ``interval``, for each dimension: means and standard deviations of q(X), without units. NaN in rows of which
        nothing is known.

    Raises
    ------
    DataError
        If new rows have none of the responses.
    SpecError
        If an interval is outside (0, 1), or the fit was loaded from a file and ``new`` is not given.

    References
    ----------
    (LAT2) and (LAT11) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res.latent().head(1).round(1).to_numpy().tolist()
    [[-0.5, 0.3, -1.6, 0.5]]
    """
    level, asked = check_level(interval), rows_of(results, new)[0]
    assert isinstance(asked.design, CoordinateDesign)
    coordinates = results.parts.coordinates
    mean, var = coordinates.processes.infer(coordinates.standardised(asked.design.known))
    found = {"estimate": mean, "se": np.sqrt(var)}
    for name, p in zip(("lower", "upper"), tails(level), strict=False):
        found[name] = mean + float(ndtri(p)) * np.sqrt(var)
    columns = {(q + 1, name): values[:, q] for q in range(mean.shape[1]) for name, values in found.items()}
    return pd.DataFrame({name: asked.spread(values) for name, values in columns.items()}, index=asked.index)


@answers_in_kind
def impute(results: Fit, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """What responses are or may have been: of censored and missing ones the means given all that is known.

    A value that is missing follows from the other responses of its row; a value that is censored lies also where it
    was seen to lie.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With some of the responses, and what their limits need; the rows of the fit without.
    interval : float, optional
        Probability of equal-tailed intervals of the values.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``,
        and ``se``, the standard deviation of the value, ``lower`` and ``upper``. In the units of the responses. NaN in
        rows of which nothing is known.

    Raises
    ------
    DataError
        If new rows have none of the responses.
    SpecError
        If an interval is outside (0, 1), or the fit was loaded from a file and ``new`` is not given.

    References
    ----------
    (LAT12) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res.impute({"y2": 0.3, "y3": 0.1, "limit2": -1.0}).round(1)
        y1   y2   y3   y4   y5
    0  0.0  0.3  0.1  0.1  0.2
    """
    level = check_level(interval)
    asked = rows_of(results, new)
    each = {name: _imputed(results[name], rows, level) for name, rows in zip(results.parts.labels, asked, strict=True)}
    return beside(each)


def _imputed(results: Fit, asked: Asked, level: float | None) -> Any:
    """Means of the values of one response, with standard deviations and quantiles at a level."""
    design = asked.design
    assert isinstance(design, CoordinateDesign)
    ends = [end[:, design.response] for end in design.ends]
    missing = np.isnan(ends[0])
    lower, upper = np.where(missing, -np.inf, ends[0]), np.where(missing, np.inf, ends[1])
    seen = seen_by_the_others(response_nodes(results.parts, design.by_the_others()), lower, upper)
    columns = {"estimate": conditional_mean([seen])}
    if level is None:
        return pd.Series(asked.spread(columns["estimate"]), index=asked.index)
    exact, rows = lower == upper, seen.component(0)
    sd = rows.total * np.sqrt(np.maximum(1.0 - rows.truncated().complement, 0.0))
    columns["se"] = np.where(exact, 0.0, sd)
    low, high = ((end - rows.mean) / rows.total for end in (lower, upper))
    for name, p in zip(("lower", "upper"), tails(level), strict=True):
        value = rows.mean + rows.total * rows.noise.quantile_between(np.full(len(low), p), low, high)
        columns[name] = np.where(exact, lower, np.clip(value, lower, upper))
    return asked.table(columns)


def tails(level: float | None) -> tuple[float, ...]:
    """Orders of the quantiles that are the ends of an interval."""
    return () if level is None else (0.5 - 0.5 * level, 0.5 + 0.5 * level)


@answers_in_kind
def sample(
    results: Fit,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    exclude: Any = (),
    response: str | None = None,
    rng: int | np.random.Generator | None = None,
) -> Any:
    """Draw responses of rows, all rows and responses of a draw together.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        As of :meth:`predict`.
    draws : int
        How many.
    what : {"uncensored", "latent", "observed", "conditional"}
        Other values of the responses of the rows; their processes; other values clipped at the limits; or what the
        values themselves may have been, given its own limits and the other responses of the row.
    exclude : str or list of str
        Terms to set to zero, of which there are none that can be left out.
    response : str, optional
        Draw this response alone.
    rng : int or numpy Generator, optional
        None is deterministic.

    Returns
    -------
    (draws, n, D) array
        On the scale of the responses; NaN where a row cannot be drawn. Of one ``response`` a DataFrame with a row for
        each row of the data, a column for each draw.

    Raises
    ------
    SpecError
        For another ``what``, or more draws than can be held.
    DataError
        If new rows have none of the responses.

    References
    ----------
    (LAT14) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res.sample({"y2": [0.3, 0.4], "y3": [0.1, 0.2], "limit2": -1.0}, 10).shape
    (10, 2, 5)
    """
    if response is not None:
        return results[response].sample(new, draws, what=what, exclude=exclude, rng=rng)
    if what not in DRAWN:
        raise SpecError(f"what={what!r} is not drawn; choose one of {', '.join(map(repr, DRAWN))}.")
    parts, stream = results.parts, generator(rng)
    size = read_draws(draws, rows=len(parts.labels))
    if what == "conditional":
        rows = default_rows(results, new)
        each = [sample_rows(results[y], rows, size, what=what, exclude=exclude, rng=stream) for y in parts.labels]
        return np.stack([np.asarray(one, dtype=float).T for one in each], axis=2)
    asked = rows_of(results, new, exclude)
    y = parts.processes.draw(points_of(results, asked[0]), size, stream)
    if what != "latent":
        y += parts.processes.scales.sigma[:, None, None] * stream.standard_normal(y.shape)
    out = np.full((size, len(asked[0].usable), len(asked)), np.nan)
    out[:, asked[0].usable] = parts.centre + parts.scale * y.transpose(2, 1, 0)
    for j, one in enumerate(asked if what == "observed" else ()):
        shown = one.limits()
        out[:, one.usable, j] = np.clip(out[:, one.usable, j], shown.lower, shown.upper)
    return out


@reads_frames
def posterior(
    results: Fit,
    new: Frame | None = None,
    *,
    exclude: str | Sequence[str] = (),
    response: str | None = None,
) -> Posterior:
    """Mean and covariance of the processes of all responses in all rows together.

    Parameters
    ----------
    new, exclude
        As of :meth:`predict`.
    response : str, optional
        Of this response alone.

    Returns
    -------
    mean : Series, (D n,)
        ``predict(what="latent")``, by response and row, on the scale of the response.
    covariance : DataFrame, (D n, D n)
        In units of the two responses. NaN in rows that cannot be predicted.

    Raises
    ------
    SpecError
        If the fit holds no training rows and ``new`` is not given.
    DataError
        If new rows have none of the responses.

    References
    ----------
    (LAT8) and (LAT14) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res.posterior({"y2": [0.3], "y3": [0.1], "limit2": -1.0}).covariance.shape
    (5, 5)
    """
    if response is not None:
        found: Posterior = results[response].posterior(default_rows(results, new), exclude=exclude)
        return found
    parts, asked = results.parts, rows_of(results, new, exclude)[0]
    points, usable, D = points_of(results, asked), asked.usable, len(parts.labels)
    mean, n = parts.processes.moments(points)[0], int(usable.sum())
    unit = np.repeat(parts.scale, n)
    V = np.outer(unit, unit) * parts.processes.covariances(points).reshape(D * n, D * n)
    index = pd.MultiIndex.from_product([parts.labels, asked.index], names=["response", asked.index.name])
    every = np.flatnonzero(np.tile(usable, D))
    value, covariance = np.full(len(index), np.nan), np.full((len(index),) * 2, np.nan)
    value[every] = (parts.centre + parts.scale * mean).T.ravel()
    covariance[np.ix_(every, every)] = V
    return Posterior(pd.Series(value, index, name="latent"), pd.DataFrame(covariance, index, index))
