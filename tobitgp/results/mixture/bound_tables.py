"""Tables of the bound of a mixture: its path, its shares by row, and the posterior at which it is highest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tobitgp.kinds.mixture import MixtureParts, training_ends
from tobitgp.mixture import DirichletProcess, MixtureFit
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.row_bounds import bound_of_rows
from tobitgp.mixture.stochastic_steps import path_steps
from tobitgp.results.rows import ask
from tobitgp.typing import Array

_SMOOTHED_SHARE, _SMOOTHED_LEAST = 0.1, 10  # of the batches so far, and how many at least, that an average is of


def history_table(parts: MixtureParts) -> pd.DataFrame:
    """The path of the objective; see ``MixtureResults.fit_history``."""
    fit, name = parts.fit, "elbo" if parts.bayes else "log_likelihood"
    passes = np.arange(1, len(fit.trace) + 1)
    if not len(fit.path):
        return pd.DataFrame({"pass": passes, name: fit.trace})
    marks = path_steps(fit.method.n_steps)  # type: ignore[union-attr]
    steps, number = np.concatenate([marks, np.full(len(passes), marks[-1])]), len(marks)
    columns = {
        "stage": ["steps"] * number + ["passes"] * len(passes),
        "step": steps,
        "pass": np.concatenate([np.zeros(number, dtype=np.int64), passes]),
        name: np.concatenate([fit.path, fit.trace]),
    }
    return pd.DataFrame(columns)


def row_table(parts: MixtureParts) -> pd.Series[float]:
    """Shares of the rows in the bound under the labels of the data; see ``MixtureResults.elbo_rows``."""
    asked = ask(parts)
    values = bound_of_rows(parts.fit, *training_ends(parts), parts.rows.response.window)
    return pd.Series(asked.spread(values), index=asked.index, name="elbo")


def posterior_table(fit: MixtureFit, model: Bayes) -> pd.DataFrame:
    """Hyper-parameters of q; see ``MixtureResults.variational``."""
    w, order = fit.state.weights, fit.order
    if isinstance(model.weights, DirichletProcess):
        ends = np.split(w[:-1], 2)
        columns = {name: np.append(end, np.nan)[order] for name, end in zip(("g1", "g2"), ends, strict=True)}
    else:
        columns = {"alpha": w[order]}
    q = model.family.posterior_columns(fit.state.components[:, order], fit.units)
    return pd.DataFrame(columns | q, index=pd.RangeIndex(1, fit.k + 1, name="component"))


def stream_table(rows: list[float], estimates: list[float]) -> pd.DataFrame:
    """The path of a stream; see ``MixtureStream.fit_history``."""
    values = np.array(estimates)
    columns = {"batch": np.arange(1, len(rows) + 1), "rows": rows, "elbo_per_row": values, "smoothed": smoothed(values)}
    return pd.DataFrame(columns)


def smoothed(values: Array) -> Array:
    """Means (m,) of the last tenth of the values so far, of ten of them at least."""
    at = np.arange(1, len(values) + 1)
    first = np.maximum(at - np.maximum(_SMOOTHED_LEAST, np.ceil(_SMOOTHED_SHARE * at).astype(np.int64)), 0)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((sums[at] - sums[first]) / (at - first))
