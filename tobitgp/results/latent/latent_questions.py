"""Questions about all responses over latent coordinates together: coordinates, imputed values, draws, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind
from tobitgp.data.training_summary import held_rows
from tobitgp.latent.weighted_points import WeightedPoints
from tobitgp.posterior.seen import conditional_mean
from tobitgp.results.fit import Fit
from tobitgp.results.joint_draws import sample as sample_rows
from tobitgp.results.latent.coordinates import CoordinateDesign
from tobitgp.results.latent.latent_draws import response_nodes, seen_by_the_others
from tobitgp.results.multivariate.of_responses import beside
from tobitgp.results.multivariate.together_questions import default_rows
from tobitgp.results.predict import check_level
from tobitgp.results.rows import Asked, ask
from tobitgp.typing import Array, Frame


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
    """Estimate latent coordinates of the rows of the fit, or of new rows from their observed responses.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With some of the responses and the columns of their limits; by default the rows of the fit.
    interval : float, optional
        Probability of equal-tailed intervals.

    Returns
    -------
    DataFrame
        A row for each row of the data, columns ``(1, "estimate")``, ``(1, "se")``, and ``lower`` and ``upper`` with
        ``interval``, for each dimension: means and standard deviations of q(X), without units. NaN in rows about which
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


def impute(results: Fit, new: Frame | None, level: float | None) -> pd.DataFrame:
    """Means of values given the other responses of the row, and their distributions at a level: (LAT12)."""
    asked = rows_of(results, new)
    each = {name: _imputed(results[name], rows, level) for name, rows in zip(results.parts.labels, asked, strict=True)}
    found: pd.DataFrame = beside(each)
    return found


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


def draw_conditional(results: Fit, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator) -> Array:
    """Draws (draws, n, J) of values given their limits and the other responses of the row."""
    rows = default_rows(results, new)
    each = [
        sample_rows(results[name], rows, draws, what="conditional", exclude=exclude, rng=rng)
        for name in results.parts.labels
    ]
    return np.stack([np.asarray(one, dtype=float).T for one in each], axis=2)


def draw(
    results: Fit, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator, what: str
) -> tuple[list[Asked], Array]:
    """Rows of each response, and draws (draws, n, J) of the processes or of uncensored values: (LAT14)."""
    parts, asked = results.parts, rows_of(results, new, exclude)
    y = parts.processes.draw(points_of(results, asked[0]), draws, rng)
    if what != "latent":
        y += parts.processes.scales.sigma[:, None, None] * rng.standard_normal(y.shape)
    out = np.full((draws, len(asked[0].usable), len(asked)), np.nan)
    out[:, asked[0].usable] = parts.centre + parts.scale * y.transpose(2, 1, 0)
    return asked, out


def moments(results: Fit, new: Frame | None, exclude: Any) -> tuple[Asked, Array, Array]:
    """Rows, and the mean (J n,) and covariance of the processes in those that can be predicted: (LAT8)."""
    parts, asked = results.parts, rows_of(results, new, exclude)[0]
    points, size = points_of(results, asked), len(parts.labels) * int(asked.usable.sum())
    unit = np.repeat(parts.scale, asked.usable.sum())
    mean = (parts.centre + parts.scale * parts.processes.moments(points)[0]).T.ravel()
    return asked, mean, np.outer(unit, unit) * parts.processes.covariances(points).reshape(size, size)
