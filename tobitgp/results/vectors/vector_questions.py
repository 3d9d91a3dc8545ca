"""Predictions of mixtures of vectors: components of rows, imputed values, draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from tobitgp.data.frames import answers_in_kind
from tobitgp.data.training_summary import held_rows
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.errors import SpecError
from tobitgp.mixture.vector_ascent import VectorState
from tobitgp.mixture.vector_rows import ExpectedVectors, VectorRows, draw, expected
from tobitgp.numerics.sampling import generator
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate import multivariate_predictions
from tobitgp.results.multivariate.multivariate_predictions import default_rows
from tobitgp.results.multivariate.of_responses import beside, find_response
from tobitgp.results.predict import check_flag, check_level, new_rows
from tobitgp.results.rows import Labelled, ask
from tobitgp.results.vectors.vector_draws import draw_states
from tobitgp.results.vectors.vector_parts import known_vectors
from tobitgp.typing import Array, Frame

DRAWN = ("uncensored", "observed", "conditional")
_DRAWS = 1000  # for intervals of what may have been


def component_probabilities(rows: VectorRows, state: VectorState) -> tuple[Array, ExpectedVectors]:
    """Probabilities (n, K) of the components given what is known about rows, and what each expects: (MOV2)."""
    each = expected(rows, state.means, state.covariances)
    with np.errstate(divide="ignore"):
        return softmax(each.log_p.T + np.log(state.weights), axis=1), each


def _vectors(results: Fit, new: Frame | None) -> tuple[VectorRows, Labelled]:
    """Rows of which something is known, and their labels."""
    data = pd.DataFrame(held_rows(results.parts.read).data if new is None else new)
    ends = results.parts.read.ends if new is None else results.parts.ends_in(data)
    found, usable = known_vectors(ends)
    return VectorRows(found.lower[usable], found.upper[usable], found.weight[usable]), Labelled(data.index, usable)


@answers_in_kind
def predict(
    results: Fit,
    new: Frame | None = None,
    what: str | None = None,
    *,
    interval: float | None = None,
    se: bool = False,
    q: float | Sequence[float] | None = None,
    below: float | Sequence[float] | None = None,
    above: float | Sequence[float] | None = None,
    exclude: str | Sequence[str] = (),
    response: str | None = None,
    exog: Frame | None = None,
) -> pd.Series[float] | pd.DataFrame:
    """Predict every response, or the component of rows; see :meth:`tobitgp.MixtureResults.predict`.

    Quantities of a response are those of its marginal mixture and ignore the other responses of a row. :meth:`impute`
    uses them.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        The rows of the fit without.
    what : str, optional
        ``"component"``: probabilities of the components given the observed values and limits of a row. ``"uncensored"``
        by default, ``"median"``, ``"observed"``, ``"conditional"``, ``"quantile"`` or ``"prob"`` of each response.
    interval : float, optional
        Probability of equal-tailed intervals.
    se : bool
        Give standard errors.
    q : float or list of float, optional
        Orders of quantiles, probabilities.
    below, above : float or list of float, optional
        Limits of ``"prob"``, on the scale of the responses.
    exclude : str or list of str
        Not used, since the model has no terms.
    response : str, optional
        Predict this response alone; ``"component"`` given what is known about it.
    exog : DataFrame or dict of columns, optional
        ``new`` under the name of statsmodels.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response, on its scale; with ``se`` or ``interval`` columns
        ``(y1, "estimate")``, and ``se``, ``lower`` and ``upper``. ``"component"`` has a column for each component, NaN
        in rows about which nothing is known.

    Raises
    ------
    SpecError
        As for :meth:`MixtureResults.predict`.
    DataError
        If new rows have none of the responses that ``"component"`` needs.

    References
    ----------
    (MOV2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_vectors(1)
    >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
    >>> res.predict({"y1": [0.1, 4.2], "limit1": -1.0}, "component").round(2).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    options: dict[str, Any] = {"interval": interval, "se": se, "q": q, "below": below, "above": above}
    new = new_rows(new, exog)
    if what != "component" or response is not None:
        return multivariate_predictions.predict(results, new, what, exclude=exclude, response=response, **options)
    if interval is not None or check_flag("se", se):
        raise SpecError("what='component' has no se= and no interval=: it gives probabilities of the components.")
    rows, asked = _vectors(results, new)
    values = asked.spread(component_probabilities(rows, results.parts.fit.state)[0])
    return pd.DataFrame(values, asked.index, pd.RangeIndex(1, values.shape[1] + 1, name="component"))


@answers_in_kind
def impute(results: Fit, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """Responses with censored and missing values replaced by their means given the other values of the row.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With some of the responses and the columns of their limits; by default the rows of the fit.
    interval : float, optional
        Probability of equal-tailed intervals of the values, from 1,000 draws of them.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``, and
        ``se``, the standard deviation of the value, ``lower`` and ``upper``. In the units of the responses, at the
        estimated parameters. NaN in rows about which nothing is known.

    Raises
    ------
    DataError
        If new rows have none of the responses.
    SpecError
        If an interval is outside (0, 1), or the fit was loaded from a file and ``new`` is not given.

    References
    ----------
    (MOV8) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_vectors(1)
    >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
    >>> filled = res.impute()["y1"]
    >>> below = data["y1"] == data["limit1"]
    >>> bool((filled[below] < data.loc[below, "limit1"]).all()), bool((filled[~below] == data.loc[~below, "y1"]).all())
    (True, True)
    """
    level, (rows, asked), state = check_level(interval), _vectors(results, new), results.parts.fit.state
    r, each = component_probabilities(rows, state)
    mean = np.einsum("nk,knd->nd", r, each.mean)
    mean = np.where(rows.exact, rows.lower, np.clip(mean, rows.lower, rows.upper))
    labels = results.parts.labels
    if level is None:
        return pd.DataFrame(asked.spread(mean), asked.index, list(labels))
    inner = np.diagonal(each.cov, axis1=2, axis2=3) + (each.mean - mean) ** 2
    sd = np.sqrt(np.einsum("nk,knd->nd", r, inner)) * ~rows.exact
    y = _draw_given(rows, state, r, _DRAWS, generator(None))
    low, high = np.quantile(y, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=1)
    columns = {"estimate": mean, "se": sd, "lower": low, "upper": high}
    of = {y: asked.table({name: x[:, j] for name, x in columns.items()}) for j, y in enumerate(labels)}
    found: pd.DataFrame = beside(of)
    return found


def _draw_given(rows: VectorRows, state: VectorState, r: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws (n, draws, D) of vectors given what is known about them, components with probabilities r (n, K)."""
    out = np.repeat(rows.lower[:, None], draws, axis=1)
    hidden = np.flatnonzero(~rows.exact.all(axis=1))
    chosen = (rng.random((len(hidden), draws, 1)) > np.cumsum(r[hidden], axis=1)[:, None, :-1]).sum(axis=2)
    for k, (mean, cov) in enumerate(zip(state.means, state.covariances, strict=True)):
        at = (chosen == k).any(axis=1)
        some = hidden[at]
        y = draw(VectorRows(rows.lower[some], rows.upper[some], rows.weight[some]), mean, cov, draws, rng)
        out[some] = np.where((chosen[at] == k)[:, :, None], y, out[some])
    return out


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
    """Draw vectors in rows; parameters are drawn once for all rows of a draw.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        As for :meth:`predict`.
    draws : int
        Number of draws.
    what : {"uncensored", "observed", "conditional"}
        New vectors; new vectors clipped at the limits of the rows; or vectors of the rows given their observed values
        and limits, at the estimated parameters.
    exclude : str or list of str
        Not used, since the model has no terms.
    response : str, optional
        Draw this response alone, from its marginal mixture.
    rng : int or numpy Generator, optional
        None gives the same result every time.

    Returns
    -------
    (draws, n, D) array
        On the scale of the responses; NaN where a row cannot be drawn. For one ``response``, a DataFrame with a row for
        each row of the data and a column for each draw.

    Raises
    ------
    SpecError
        For an unknown ``what``, more draws than can be held, or parameters that the rows do not determine.
    DataError
        If ``"conditional"`` rows have none of the responses.

    References
    ----------
    (MOV8) and (MOV9) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_vectors(1)
    >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
    >>> res.sample(data.head(5), 10, what="conditional").shape
    (10, 5, 2)
    """
    if response is not None:
        name = results.parts.labels[find_response(response, results.parts.labels)]
        return results[name].sample(default_rows(results, new), draws, what=what, exclude=exclude, rng=rng)
    if what not in DRAWN:
        raise SpecError(f"what={what!r} is not supported by sample(); choose one of {', '.join(map(repr, DRAWN))}.")
    parts, stream = results.parts, generator(rng)
    size = read_draws(draws, rows=len(parts.labels))
    if what == "conditional":
        rows, known = _vectors(results, new)
        r, _ = component_probabilities(rows, parts.fit.state)
        return known.spread(_draw_given(rows, parts.fit.state, r, size, stream)).transpose(1, 0, 2)
    asked = [ask(one, default_rows(results, new), exclude) for one in parts.responses]
    n = len(asked[0].index)
    states = draw_states(results.parts.with_covariance(), size, stream)
    out = np.stack([new_vectors(state, n, stream) for state in states])
    for j, one in enumerate(asked if what == "observed" else ()):
        shown = one.limits()
        out[:, one.usable, j] = np.clip(out[:, one.usable, j], shown.lower, shown.upper)
    return out


def new_vectors(state: VectorState, n: int, rng: np.random.Generator) -> Array:
    """Vectors (n, D) of a mixture."""
    k = rng.choice(len(state.weights), n, p=state.weights)
    z, roots = rng.standard_normal((n, state.means.shape[1])), np.linalg.cholesky(state.covariances)
    return np.asarray(state.means[k] + np.einsum("nij,nj->ni", roots[k], z))
