"""Predictions of mixtures of vectors: components of rows, imputed values, draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from tobitgp.data.training_summary import held_rows
from tobitgp.mixture.vector_ascent import VectorState
from tobitgp.mixture.vector_rows import ExpectedVectors, VectorRows, draw, expected
from tobitgp.numerics.sampling import generator
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate.of_responses import beside
from tobitgp.results.multivariate.together_questions import default_rows
from tobitgp.results.rows import Asked, Labelled, ask
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


def components(results: Fit, new: Frame | None) -> pd.DataFrame:
    """Probabilities of the components given the observed values and limits of a row: (MOV2)."""
    rows, asked = _vectors(results, new)
    values = asked.spread(component_probabilities(rows, results.parts.fit.state)[0])
    return pd.DataFrame(values, asked.index, pd.RangeIndex(1, values.shape[1] + 1, name="component"))


def impute(results: Fit, new: Frame | None, level: float | None) -> pd.DataFrame:
    """Means of values given the other values of the row, and quantiles of draws of them: (MOV8)."""
    (rows, asked), state = _vectors(results, new), results.parts.fit.state
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


def draw_conditional(results: Fit, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator) -> Array:
    """Draws (draws, n, D) of vectors given the observed values and limits of rows, at the estimates."""
    (rows, known), state = _vectors(results, new), results.parts.fit.state
    r, _ = component_probabilities(rows, state)
    return known.spread(_draw_given(rows, state, r, draws, rng)).transpose(1, 0, 2)


def draw_new(
    results: Fit, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator, what: str
) -> tuple[list[Asked], Array]:
    """Rows of each response, and new vectors (draws, n, D), parameters drawn once for all rows of a draw: (MOV9)."""
    asked = [ask(one, default_rows(results, new), exclude) for one in results.parts.responses]
    states = draw_states(results.parts.with_covariance(), draws, rng)
    return asked, np.stack([new_vectors(state, len(asked[0].index), rng) for state in states])


def new_vectors(state: VectorState, n: int, rng: np.random.Generator) -> Array:
    """Vectors (n, D) of a mixture."""
    k = rng.choice(len(state.weights), n, p=state.weights)
    z, roots = rng.standard_normal((n, state.means.shape[1])), np.linalg.cholesky(state.covariances)
    return np.asarray(state.means[k] + np.einsum("nij,nj->ni", roots[k], z))
