"""Draws of a mixture's parameters that have the covariance of their estimates, of rows under them, and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, ndtr

from tobitgp.diagnostics.draws import Draws, chunks, on_grid, read_draws, streams, training_rows
from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit, Predictive, held_parameters
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.predictive import draw_between
from tobitgp.numerics.sampling import generator
from tobitgp.results.mixture.predict import MixtureParts, covariance_of, training_ends
from tobitgp.results.rows import ask
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.results.mixture.results import MixtureResults

_LEAST_KNOWN = 1.0


@dataclass(frozen=True, slots=True)
class ComponentDraws(Draws):
    """Draws of a mixture's parameters."""

    parts: MixtureParts
    ends: tuple[Array, Array]  # (n,), the values lie in (lower, upper]
    weights: Array  # (S, K)
    theta: Array  # (S, D, K), plug-in parameters of the components
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.weights)

    @property
    def names(self) -> list[str]:
        """Weights, then parameters of the components."""
        return list(self.parts.fit.names)

    def parameters(self) -> Array:
        """As ``params`` has them, (S, p)."""
        fit = self.parts.fit
        values = np.array([fit.model.family.point_estimates(at, fit.units)[0].ravel() for at in self.theta])
        return np.concatenate([self.weights, values], axis=1)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        predictives = list(self._predictives())
        for rows in chunks(len(self.ends[0])):
            lower, upper = (end[rows] for end in self.ends)
            yield rows, on_grid(np.column_stack([predictive.log_mass(lower, upper) for predictive in predictives]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        predictives = list(self._predictives())
        for rows, seed in zip(chunks(len(self.ends[0])), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            yield rows, np.column_stack([predictive.rvs(rows.stop - rows.start, rng) for predictive in predictives])

    def _predictives(self) -> Iterator[Predictive]:
        fit = self.parts.fit
        for w, theta in zip(self.weights, self.theta, strict=True):
            yield Predictive(w, fit.model.family.distribution(theta, fit.units))


def draw_components(
    parts: MixtureParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ComponentDraws:
    """Draw the parameters of a mixture."""
    training = training_rows(parts, question)
    stream, seeds = streams(len(training.labels), rng)
    lower, upper, _ = training_ends(parts)
    weights, theta = draw_parameters(parts.fit, covariance_of(parts), draws, stream)
    return ComponentDraws(parts, (lower, upper), weights, theta, seeds)


def draw_rows(
    fit: MixtureFit, V: Array, n: int, draws: int, rng: np.random.Generator, ends: tuple[Array, Array] | None = None
) -> Array:
    """New values (n, draws), or values in (lower, upper] of the ``ends``, (n,) each.

    All of a draw are under one set of parameters; see :func:`draw_parameters`.
    """
    weights, thetas = draw_parameters(fit, V, draws, rng)
    out = np.empty((n, draws))
    for j, (w, theta) in enumerate(zip(weights, thetas, strict=True)):
        predictive = Predictive(w, fit.model.family.distribution(theta, fit.units))
        out[:, j] = predictive.rvs(n, rng) if ends is None else draw_between(predictive, *ends, rng)
    return out


def draw_parameters(fit: MixtureFit, V: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the weights (draws, K), and of the plug-in parameters (draws, D, K).

    Normal numbers with the correlations of V (of parameters on the scale on which they are unbounded, which is that of
    logarithms for positive ones) say where in its own distribution each parameter lies, which has the variance of V: a
    weight is beta, about its estimate, and weights are made to sum to 1 again; a rate of counts is gamma, as its
    interval is (LR6); all else is normal on the unbounded scale. Normal logarithms of what has an error larger than
    itself, as of the weight of a component that is not needed, would lie far beyond what V says. What stands at a bound
    stays there.
    """
    held = held_parameters(fit)
    V = np.where(held | held[:, None], 0.0, V)
    unknown = [name for name, variance in zip(fit.names, np.diag(V), strict=True) if not np.isfinite(variance)]
    if unknown:
        remedy = "fit fewer components, or draw" if fit.k > 1 else "draw"
        raise SpecError(
            f"The rows do not determine {', '.join(unknown)}, so that there is nothing to draw them from; {remedy} "
            "single values at the estimates by predictive.rvs()."
        )
    theta, weights = fit.theta, fit.weights
    slopes = fit.model.family.point_estimates(theta, fit.units)[1]
    k, D = fit.k, len(theta)
    T = np.zeros((k + D * k, k + D * k))
    T[:k, :k] = np.diag(1.0 / np.maximum(weights, 1e-300))
    values = np.stack(list(fit.parameters.values()))
    inverse = fit.model.family.unbounded_slopes(values, slopes)
    for d in range(D):
        for r in range(D):
            T[k * (1 + d) + np.arange(k), k * (1 + r) + np.arange(k)] = inverse[:, d, r]
    variances, vectors = np.linalg.eigh(T @ V @ T.T)
    moves = rng.standard_normal((draws, len(T))) @ (vectors * np.sqrt(np.maximum(variances, 0.0))).T
    size = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", T, V, T), 0.0))
    z = np.divide(moves, size, out=np.zeros_like(moves), where=size > 0.0)
    error, shape = np.sqrt(np.maximum(np.diag(V), 0.0)), (draws, D, k)
    prior = fit.model.prior if isinstance(fit.model, Bayes) else None
    drawn = fit.model.family.drawn(
        theta, moves[:, k:].reshape(shape), z[:, k:].reshape(shape), values, error[k:].reshape(D, k), prior
    )
    return _beta_weights(weights, error[:k], z[:, :k]), drawn


def _beta_weights(mean: Array, error: Array, z: Array) -> Array:
    """Weights (draws, K) at normal scores z, of beta distributions with means (K,) and errors (K,), summing to 1.

    The variance w (1 - w) / (A + 1) of a weight w has a bound, of which linear response knows nothing: A is at least 1.
    """
    full = mean * (1.0 - mean)
    free = (error > 0.0) & (full > 0.0)
    known = np.maximum(full[free] / error[free] ** 2 - 1.0, _LEAST_KNOWN)
    w = np.tile(mean, (len(z), 1))
    w[:, free] = betaincinv(known * mean[free], known * (1.0 - mean[free]), ndtr(z[:, free]))
    total = w.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, w / np.where(total > 0.0, total, 1.0), mean)


_NO_ORDER = "A mixture predicts the same for every row, so that there is no order to score."


DRAWN = ("uncensored", "observed", "conditional")


def sample(
    results: MixtureResults,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Draw rows, all of a draw together: uncertainty about the parameters is in every draw.

    A draw takes the parameters first, with the covariance of ``cov_params()``: weights from beta distributions,
    rates of counts from gamma ones, all else from normal ones on unbounded scales. ``predictive.rvs`` draws single
    values from the exact predictive distribution. Of components that are not needed ``cov_params()`` is a first
    approximation, so that draws vary a little more than the predictive distribution; fewer components mend that.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        By default the training data.
    draws : int
        How many.
    what : {"uncensored", "observed", "conditional"}
        New responses, or responses clipped at the limits. ``"conditional"``: what the rows' own responses may have
        been, as multiple imputation needs them: a value that was seen, and for a censored row its component given
        what is known, then a value of that component there; new rows need the columns of response and censoring.
    rng : int or numpy Generator, optional
        None is deterministic.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each draw.

    Raises
    ------
    SpecError
        For another ``what``, more draws than can be held, limits that are unknown, lacking columns of what was
        seen, or parameters that the rows do not determine.
    DataError
        If what was seen of new rows is impossible under the family.

    References
    ----------
    (LR2) and (LR6) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.sample(draws=400, rng=1).shape
    (228, 400)
    >>> times = res.sample({"time": [200, 200], "event": [1, 0]}, draws=400, what="conditional", rng=1)
    >>> print((times.loc[0] == 200).all(), (times.loc[1] > 200).all())
    True True
    """
    if not isinstance(what, str) or what not in DRAWN:
        raise SpecError(f"what={what!r} is not drawn of a mixture; choose one of {', '.join(map(repr, DRAWN))}.")
    asked = ask(results._parts, new)
    size = read_draws(draws, rows=len(asked.index))
    limits = asked.limits() if what == "observed" else None
    ends = None
    if what == "conditional":
        from tobitgp.results.mixture.predict import ends_of_rows

        lower, upper, known = ends_of_rows(results._parts, new, asked)
        asked, ends = asked.among(known), (lower, upper)
    stream = generator(rng)
    y = draw_rows(
        results._parts.fit, covariance_of(results._with_covariance), int(asked.usable.sum()), size, stream, ends
    )
    if limits is not None:
        y = np.clip(y, limits[0][:, None], limits[1][:, None])
    return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(size, name="draw"))


def plot_components(results: MixtureResults, ax: Any = None) -> Any:
    """The mixture and its components over the data.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_components()
    >>> len(ax.get_legend_handles_labels()[1])
    5
    """
    from tobitgp.report.mixture import plot_components

    return plot_components(results, training_ends(results._parts), ax)


def plot_evidence(results: MixtureResults, ax: Any = None) -> Any:
    """Evidence of the numbers of components tried, or of one number the ascent of its bound.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_evidence()
    >>> ax.get_xlabel()
    'accepted pass of the last ascent'
    """
    from tobitgp.report.mixture import plot_mixture_evidence

    return plot_mixture_evidence(results, ax)


def plot_residuals(results: MixtureResults, ax: Any = None) -> Any:
    """Quantile residuals against normal quantiles, with a 95% envelope.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_residuals()
    >>> ax.get_xlabel()
    'normal quantile'
    """
    from tobitgp.report.mixture import plot_scores

    return plot_scores(results, ax)
