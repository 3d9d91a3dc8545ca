"""Tables of the bound of a mixture: its path, its shares by row, and the posterior at which it is highest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tobitgp.engines import row_chunks
from tobitgp.kinds.mixture import MixtureParts, training_ends
from tobitgp.mixture import DirichletProcess, MixtureFit
from tobitgp.mixture.arranged_rows import arrange, log_factors, read_rows, windows_of
from tobitgp.mixture.coordinate_ascent import log_normalisers
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.fitted_mixture import Mixture
from tobitgp.mixture.stochastic_steps import path_steps
from tobitgp.mixture.unseen_values import log_seen_share
from tobitgp.results.fit import Fit
from tobitgp.results.rows import ask
from tobitgp.results.why_not import unavailable
from tobitgp.typing import Array

_CHUNK = 8192


def bound_of_rows(
    mixture: Mixture, lower: Array, upper: Array, weight: Array, window: tuple[Array, Array] | None = None
) -> Array:
    """Shares (n,) of the training rows in the bound, each with its part of the divergences by weight; (SVB6)."""
    family, units, out = mixture.model.family, mixture.units, np.zeros(len(lower))
    raw = read_rows(family, lower, upper, weight, window=window)
    theta, log_weight, penalty = mixture.model.view(mixture.state)
    parts = arrange(family, raw, units, collapse=False, ties=mixture.model.adapts).parts
    of_row = np.empty(len(raw.lower))
    for part, at in zip(parts, filter(len, raw.of_kinds()), strict=True):
        for rows in row_chunks(0, len(part), _CHUNK):
            of_row[at[rows]] = log_normalisers(part[rows], family, theta, log_weight)
        if part.kind == "exact":
            of_row[at] += log_factors(family, raw.lower[at], units)
    windows = windows_of(family, raw, units, collapse=False)
    if windows is not None:
        there = np.isfinite(raw.entry) | np.isfinite(raw.exit)
        with np.errstate(all="ignore"):
            of_row[there] -= log_seen_share(windows, family.terms, theta, log_weight)
    out[raw.position] = raw.weight * (of_row - penalty / raw.weight.sum())
    return out


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


def elbo_rows(results: Fit) -> pd.Series[float]:
    """Contributions of the training rows to the evidence lower bound, in nats.

    The contribution of a row is its part of the first sum of (MIX5), times its weight, minus its weighted share of
    all Kullback-Leibler divergences. Contributions sum to ``elbo``. Rows that fit the model badly have low values.

    Returns
    -------
    Series
        With the index of the data; NaN in rows that were left out.

    Raises
    ------
    SpecError
        If the fit holds no training rows.
    UnavailableError
        For ``method="em"``, which has no bound.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
    eq. 44. (SVB6) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> len(res.elbo_rows()), bool(abs(res.elbo_rows().sum() - res.elbo) < 1e-8)
    (228, True)
    """
    parts: MixtureParts = results.parts
    if not parts.bayes:
        raise unavailable(results, "res.elbo_rows", "elbo_rows")
    asked = ask(parts)
    values = bound_of_rows(parts.fit, *training_ends(parts), parts.rows.response.window)
    return pd.Series(asked.spread(values), index=asked.index, name="elbo")


def variational(results: Fit) -> pd.DataFrame:
    """The variational posterior of weights and components, a row for each component.

    Columns in the user's units: ``alpha`` of the Dirichlet posterior of the weights, then the hyper-parameters of
    the component's posterior. Gaussian and log-normal: ``mean``, ``tau``, ``a``, ``b`` of the normal-gamma
    posterior. Rates: ``a`` and ``b`` of the gamma posterior, and ``xi`` and ``nu``, the paper's names for the same
    (``a = nu + 1, b = xi`` of exponential, ``a = xi, b = nu`` of Poisson components). Weibull: ``a`` and ``b`` of
    the rate of ``time^shape``, and ``shape``, a point estimate. A Dirichlet process has the beta posteriors
    ``g1``, ``g2`` of its sticks, (DP2) of the theory pages, not ``alpha``; its last stick is 1.

    Raises
    ------
    UnavailableError
        For ``method="em"``, which has no posterior.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
    eqs. 20-22 and 37-38.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> list(res.variational.columns), res.variational["alpha"].round(1).tolist()
    (['alpha', 'a', 'b', 'shape'], [155.7, 74.3])
    """
    fit: MixtureFit = results.parts.fit
    model = fit.model
    if not isinstance(model, Bayes):
        raise unavailable(results, "res.variational", "variational")
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
