r"""A mixture at a posterior or at point estimates: its parameters, their covariance, and what it says of rows.

A posterior of variational Bayes counts a censored row as one that was seen, so that its variances are too small. Linear
response, with G the derivatives of the parameters in the coordinates phi of the posterior, mends this:

.. math:: V = G\,(-\partial^2 L / \partial\varphi^2)^{-1}\, G',

(LR2) to (LR5) of the theory pages. At point estimates it is the inverse of the observed information. The gradient of L
is closed, and its derivative is taken by differences.

References
----------
Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *Journal of Machine Learning
Research* 19(51), 1-49, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtri

from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.coordinate_ascent import Ascended, chunks_of, evaluate, probabilities, sum_over
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, Points, PosteriorModel
from tobitgp.mixture.family import blocks
from tobitgp.mixture.methods import EMCM, SVBCM, MixtureMethod
from tobitgp.mixture.mixture_priors import DirichletProcess
from tobitgp.mixture.mixture_rows import KINDS, MixtureRowKind, MixtureUnits, Raw, WorkingRows
from tobitgp.mixture.predictive import Predictive
from tobitgp.numerics.log_probabilities import weighted
from tobitgp.numerics.roots import slope
from tobitgp.typing import Array, BoolArray, IntArray

_STEP = 0.05  # of a posterior standard deviation
_LEAST = 1e-6  # smallest ratio of curvature to information that is taken for one
HELD = 0.5  # expected rows from which a component counts as one
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture at a state. Component arrays are ordered by mean, under a Dirichlet process empty ones last."""

    model: PosteriorModel  # `Bayes` or `Points`, on the scale that is modelled
    state: MixtureState  # posterior or point estimates on the scale that is modelled, components in its order
    order: IntArray  # (K,), the position of each component in the state; not 0, 1, ... only under a Dirichlet process
    units: MixtureUnits  # of the scale that is modelled

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.order)

    @property
    def process(self) -> bool:
        """Whether the weights are those of a Dirichlet process."""
        return _is_process(self.model)

    @property
    def weights(self) -> Array:
        """Estimated weights, (K,)."""
        return self.model.estimated_weights(self.state)[0][self.order]

    @property
    def parameters(self) -> dict[str, Array]:
        """Estimated parameters of the components by name, (K,) each, in the user's units."""
        values, _ = self.model.estimates(self.state, self.units)
        return dict(zip(self.model.family.parameters, values[:, self.order], strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, ``weight[1]``, ..., in the order of `values`."""
        kinds = ("weight", *self.model.family.parameters)
        return tuple(f"{kind}[{i}]" for kind in kinds for i in range(1, self.k + 1))

    @property
    def values(self) -> Array:
        """Estimates of all parameters, (K + R K,)."""
        return np.concatenate([self.weights, *self.parameters.values()])

    @property
    def theta(self) -> Array:
        """Plug-in parameters of the components, (D, K), on the scale that is modelled."""
        return self.model.view(self.state).theta[:, self.order]

    def predictive(self) -> Predictive:
        """Distribution of a new value: parameters integrated over their posterior, or at their estimates."""
        state = self.state.ordered(self.state.weights, self.order)
        return Predictive(self.weights, self.model.distribution(state, self.units))

    def plug_in(self) -> Predictive:
        """Distribution of a new value at the estimated parameters."""
        return Predictive(self.weights, self.model.family.distribution(self.theta, self.units))

    def responsibilities(self, lower: Array, upper: Array) -> Array:
        """Probability of each component for rows in (lower, upper], under q; lower, upper (n,); gives (n, K)."""
        family, out = self.model.family, np.tile(self.weights, (len(lower), 1))
        raw = read_rows(family, lower, upper)
        theta, log_weight, _ = self.model.view(self.state)
        parts = arrange(family, raw, self.units, collapse=False).parts
        for part, at in zip(parts, filter(len, raw.of_kinds()), strict=True):
            for rows in row_chunks(0, len(part), _CHUNK):
                r = probabilities(part[rows], family, theta, log_weight)
                out[raw.position[at[rows]]] = r[self.order].T
        return out


@dataclass(frozen=True, slots=True)
class MixtureFit(Mixture):
    """A fitted mixture."""

    method: MixtureMethod
    objective: float  # evidence lower bound, or log likelihood, of the response as written
    trace: Array  # (T,), objective after each accepted pass of the last ascent
    path: Array  # (m,), objective along stochastic steps, at `stochastic_steps.path_steps`; none of other methods
    ends: Array  # (R,), what the ascents reached; on a part of the rows where there are more than 50,000
    converged: bool
    passes: int  # passes of the last ascent, with those of trials that followed it
    counts: Array  # (K,), expected weight of rows of each component
    exact_counts: Array  # (K,), of exact rows
    total: float  # weight of all rows that say something
    exact: float  # weight of the exact rows
    notes: tuple[str, ...]  # what a user should be warned of

    @property
    def shown(self) -> BoolArray:
        """Components that are in tables and figures, (K,), the first ones: under a process those that hold rows."""
        return np.asarray(self.counts >= HELD) if self.process else np.ones(self.k, dtype=np.bool_)

    @property
    def elbo(self) -> float:
        """Evidence lower bound; NaN for point estimates."""
        return self.objective if isinstance(self.model, Bayes) else float("nan")

    @property
    def log_likelihood(self) -> float:
        """Log likelihood of point estimates; NaN for posteriors."""
        return float("nan") if isinstance(self.model, Bayes) else self.objective

    @property
    def n_effective(self) -> int:
        """Number of components that hold half a row and more in expectation."""
        return int((self.counts >= HELD).sum())


def linear_response(
    fit: MixtureFit,
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    window: tuple[Array, Array] | None = None,
) -> Array:
    """Covariance (p, p) of the parameters by linear response, or from the observed information of point estimates."""
    model = fit.model
    raw = read_rows(model.family, lower, upper, weight, window=window)
    chunks = chunks_of(arrange(model.family, raw, fit.units, ties=model.adapts), fit.k)
    at, unit = fit.state.flat(), _units(fit)

    def gradient(x: Array) -> Array:
        state = fit.state.moved(x)
        return model.gradient(state, evaluate(model, chunks, state)[1])

    with single_blas_thread(), np.errstate(all="ignore"):
        ways = np.diag(unit)
        rows = [-slope(lambda s, way=way: gradient(at + s * way), _STEP) * unit for way in ways]  # type: ignore[misc]
        curvature = np.array(rows)
    return _sandwich(fit, 0.5 * (curvature + curvature.T), unit)


def posterior_covariance(fit: MixtureFit) -> Array:
    """Covariance (p, p) of the parameters under the posterior itself, too small where rows are censored."""
    model = fit.model
    if not isinstance(model, Bayes):
        raise SpecError("Point estimates have no posterior. Use linear_response for their covariance.")
    unit = _units(fit)
    return _sandwich(fit, model.information(fit.state) * unit * unit[:, None], unit)


def _units(fit: MixtureFit) -> Array:
    """Sizes of the coordinates' steps."""
    return fit.model.sizes(fit.state, fit.counts[np.argsort(fit.order)])


def held_parameters(fit: MixtureFit) -> BoolArray:
    """Which parameters (p,), in the order of ``fit.names``, are point estimates at a bound."""
    G = _slopes(fit) != 0.0
    held = ~fit.model.free(fit.state)
    return np.asarray((G & held).any(axis=1) & ~(G & ~held).any(axis=1)) & (fit.k > 1 or np.arange(len(G)) > 0)


def _sandwich(fit: MixtureFit, curvature: Array, unit: Array) -> Array:
    """G C^-1 G' along the directions in which the state may move."""
    G, basis = _slopes(fit) * unit, fit.model.directions(fit.state, unit)
    inner = basis.T @ curvature @ basis
    if not np.isfinite(inner).all():
        return np.full((len(G), len(G)), np.nan)
    values, vectors = np.linalg.eigh(inner)
    good = values > _LEAST
    along = G @ basis @ vectors
    V = _within_bounds(fit, np.asarray((along[:, good] / values[good]) @ along[:, good].T))
    unknown = (along[:, ~good] ** 2).sum(axis=1) > 1e-6 * (along**2).sum(axis=1)
    unknown |= held_parameters(fit)
    V[unknown] = V[:, unknown] = np.nan
    return V


def _within_bounds(fit: MixtureFit, V: Array) -> Array:
    """V with no weight less certain than by its prior, a quantity in [0, 1] of the same mean; (LR8)."""
    weight, k = fit.weights, fit.k
    most = np.sqrt(weight * (1.0 - weight) / (1.0 + fit.model.known_rows))
    error = np.sqrt(np.diag(V)[:k])
    if not (error > most).any():
        return V
    tiny = np.finfo(np.float64).tiny
    shrink = np.minimum(1.0, most / np.maximum(error, tiny))
    way = np.diag(shrink) - weight[:, None] * shrink
    error = np.sqrt(np.diag(way @ V[:k, :k] @ way.T))
    way *= min(1.0, float((most / np.maximum(error, tiny)).min()))
    both = block_diag(way, np.eye(len(V) - k))
    return np.asarray(both @ V @ both.T)


def _slopes(fit: MixtureFit) -> Array:
    """Derivatives of the parameters in the coordinates, (p, coordinates)."""
    of_weights = fit.model.estimated_weights(fit.state)[1]
    of_components = fit.model.estimates(fit.state, fit.units)[1]
    out = block_diag(of_weights[fit.order], blocks(of_components[:, :, fit.order], fit.order))
    return np.pad(out, ((0, 0), (0, len(fit.state.scales))))


def intervals(fit: MixtureFit, V: Array, level: float = 0.95) -> Array:
    """Central intervals (p, 2) of the shape of each posterior, V (p, p) saying how wide; (LR6) and (LR7)."""
    error, weight = np.sqrt(np.diag(V)), fit.weights
    inside = (weight > 0.0) & (weight < 1.0)
    variance = np.where(inside, weight * (1.0 - weight), 1.0)
    away = np.exp(ndtri(0.5 + 0.5 * level) * error[: fit.k] / variance)
    ends = np.column_stack([weight / (weight + (1.0 - weight) * way) for way in (away, 1.0 / away)])
    values = np.array(list(fit.parameters.values()))
    low, high = fit.model.family.interval(values, error[fit.k :].reshape(values.shape), level)
    of_weights = np.where(inside[:, None], ends, weight[:, None])
    return np.concatenate([of_weights, np.column_stack([low.ravel(), high.ravel()])])


def impute(fit: MixtureFit, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Mean and variance (n,) of the values of rows in (lower, upper], given the responsibilities; (MIX16)."""
    r, exact = fit.responsibilities(lower, upper).T, lower == upper
    mean, variance = np.array(lower, dtype=np.float64), np.zeros(len(lower))
    r = r[:, ~exact]
    with np.errstate(all="ignore"):
        first, within = fit.plug_in().distribution.truncated_moments(lower[~exact], upper[~exact])
        mean[~exact] = weighted(first, r).sum(axis=0)
        variance[~exact] = weighted(within + (first - mean[~exact]) ** 2, r).sum(axis=0)
    variance[np.isinf(mean)] = np.inf
    return mean, variance


def order_components(model: PosteriorModel, state: MixtureState, counts: Array) -> IntArray:
    """Positions of the first, second, ... component in a state, (K,): by mean, under a process empty ones last."""
    location = model.family.location(model.view(state).theta)
    return np.lexsort((location, _is_process(model) & (counts < HELD)))


def _is_process(model: PosteriorModel) -> bool:
    return isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess)


def describe(
    model: PosteriorModel,
    method: MixtureMethod,
    working: WorkingRows,
    best: Ascended,
    ends: Array,
    path: Array,
    raw: Raw,
) -> MixtureFit:
    """Put the components in order, and say what a user should be warned of."""
    state, (theta, log_weight, _) = best.state, model.view(best.state)
    order = order_components(model, state, best.sums.counts)
    chunks = chunks_of(working, len(order))

    def counts_of(*kinds: MixtureRowKind) -> Array:
        of_kinds = [rows for rows in chunks if rows.kind in kinds]
        return sum_over(of_kinds, model.family.terms, theta, log_weight).counts[order]

    counts = best.sums.counts[order] if working.windows is None else counts_of(*KINDS)
    exact_counts, between_counts = counts_of("exact"), counts_of("interval")
    alone = model.family.distribution(theta[:, order], working.units)
    medians = np.array([Predictive(np.ones(1), alone[[i]]).ppf(0.5) for i in range(len(order))])
    notes = _notes(model, method, best, working, exact_counts + between_counts, counts, medians, raw)
    if not _is_process(model):
        state, order = state.ordered(state.weights[order], order), np.arange(len(order))
    return MixtureFit(
        model=model.settled(state) if isinstance(model, Points) else model,
        method=method,
        state=state,
        order=order,
        units=working.units,
        objective=best.value + working.constant,
        trace=best.trace + working.constant,
        path=path + working.constant,
        ends=ends + working.constant,
        converged=best.converged,
        passes=best.passes,
        counts=counts,
        exact_counts=exact_counts,
        total=working.total,
        exact=working.exact,
        notes=notes,
    )


def _notes(
    model: PosteriorModel,
    method: MixtureMethod,
    best: Ascended,
    working: WorkingRows,
    placed: Array,
    counts: Array,
    medians: Array,
    raw: Raw,
) -> tuple[str, ...]:
    """Notes; ``placed`` (K,) are expected rows that say where a value lies: exact ones, and those between two ends."""
    notes = []
    if not best.converged:
        passes = f"{best.passes} pass{'es' * (best.passes != 1)}"
        more = replace(method, max_iter=4 * method.max_iter)
        words = f"No convergence after {passes}, at most {method.max_iter} in an ascent. Try method=tg.{more!r}."
        if isinstance(method, SVBCM) and not method.polish:
            words = f"No convergence after {method.n_steps} stochastic steps. Raise n_steps, or leave polish=True."
        notes.append(words)
    kinds = {part.kind for part in working.parts}
    bayes = not isinstance(method, EMCM)
    if not kinds & {"exact", "interval"}:
        grounds = "limits and the prior" if bayes else "limits"
        notes.append(f"Every row is censored: {grounds} alone determine the components.")
        return tuple(notes)
    ends = np.concatenate([raw.lower, raw.upper])
    ends = ends[np.isfinite(ends)]
    held, slack = counts > max(1.0, 0.01 * working.total), 1e-9 * np.abs(ends).max()
    what = "exact or interval rows" if "interval" in kinds else "exact rows"
    for i in np.flatnonzero(held):
        if placed[i] < 1.0:
            by = "the prior places it" if bayes else "limits alone place it"
            notes.append(f"Component {i + 1} holds {placed[i]:.2g} {what} in expectation; {by}.")
        elif not ends.min() - slack <= medians[i] <= ends.max() + slack:
            by = f"its shape {'and the prior place' if bayes else 'alone places'} it"
            notes.append(
                f"The median of component {i + 1}, {medians[i]:.4g}, {_outside(model, raw, ends, medians[i])}{by}."
            )
    return tuple(notes)


def _outside(model: PosteriorModel, raw: Raw, ends: Array, median: float) -> str:
    """Where a median lies that is outside of all values and limits, ``ends``."""
    if model.family.support == "real" or median > ends.max():
        return f"lies beyond the data ({ends.min():.4g} to {ends.max():.4g}): "
    there = float(raw.weight[np.isneginf(raw.lower) & (raw.upper == ends.min())].sum())
    known = f"of {there:g} row{'s' * (there != 1.0)} no more is known than that, and "
    return f"lies between 0 and {ends.min():.4g}, the least of all values and limits: {known if there else ''}"
