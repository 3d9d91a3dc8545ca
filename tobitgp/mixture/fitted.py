"""The outcome of a fit, with all that results need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from tobitgp.engines import row_chunks
from tobitgp.mixture.ascent import Climb, chunks_of, probabilities, sum_over
from tobitgp.mixture.methods import EMCM, Method
from tobitgp.mixture.model import Bayes, Model, State
from tobitgp.mixture.predictive import Predictive
from tobitgp.mixture.rows import Raw, Units, Working, arrange, read_rows
from tobitgp.mixture.weights import DirichletProcess
from tobitgp.numerics.log_arithmetic import weighted
from tobitgp.typing import Array, BoolArray, IntArray

HELD = 0.5  # expected rows from which a component of a Dirichlet process counts as one
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """A fitted mixture. Component arrays are ordered by mean, under a Dirichlet process empty ones last."""

    model: Model  # `Bayes` or `Points`, on the scale that is modelled
    method: Method
    state: State  # posterior or point estimates, on the scale that is modelled, in the model's own order of components
    order: IntArray  # (K,), where each component stands in the state; not 0, 1, ... only under a Dirichlet process
    units: Units  # of the scale that is modelled
    objective: float  # evidence lower bound, or log likelihood, of the response as written
    trace: Array  # (T,), objective after each accepted pass of the last ascent
    ends: Array  # (R,), what the ascents reached; on a part of the rows where there are more than 50,000
    converged: bool
    passes: int  # passes of the last ascent, with those of trials that followed it
    counts: Array  # (K,), expected weight of rows of each component
    exact_counts: Array  # (K,), of exact rows
    total: float  # weight of all rows that say something
    exact: float  # weight of the exact rows
    notes: tuple[str, ...]  # what a user should be warned of

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.order)

    @property
    def process(self) -> bool:
        """Whether the weights are those of a Dirichlet process."""
        return _is_process(self.model)

    @property
    def shown(self) -> BoolArray:
        """Components that stand in tables and pictures, (K,), the first: under a process those that hold rows."""
        return np.asarray(self.counts >= HELD) if self.process else np.ones(self.k, dtype=np.bool_)

    @property
    def elbo(self) -> float:
        """Evidence lower bound; NaN for point estimates."""
        return self.objective if isinstance(self.model, Bayes) else float("nan")

    @property
    def elbo_of_any_order(self) -> float:
        """Evidence lower bound plus log K!, since labels may be exchanged; without it few components are favoured.

        (MIX17) of the theory pages.
        """
        return self.elbo + float(gammaln(self.k + 1.0))

    @property
    def log_likelihood(self) -> float:
        """Log likelihood of point estimates; NaN for posteriors."""
        return float("nan") if isinstance(self.model, Bayes) else self.objective

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
    def n_effective(self) -> int:
        """Number of components that hold more than a row and more than a hundredth of the rows."""
        return int((self.counts > max(1.0, 0.01 * self.total)).sum())

    @property
    def theta(self) -> Array:
        """Plug-in parameters of the components, (D, K), on the scale that is modelled."""
        return self.model.view(self.state).theta[:, self.order]

    def predictive(self) -> Predictive:
        """Distribution of a new value: parameters integrated over their posterior, or at their estimates."""
        state = State(self.state.weights, self.state.components[:, self.order])
        return Predictive(self.weights, self.model.distribution(state, self.units))

    def plug_in(self) -> Predictive:
        """Distribution of a new value at the estimated parameters."""
        return Predictive(self.weights, self.model.family.distribution(self.theta, self.units))

    def responsibilities(self, lower: Array, upper: Array) -> Array:
        """Probability of each component for rows in (lower, upper], under q.

        Shapes: lower, upper (n,); gives (n, K).
        """
        lower, upper = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        family = self.model.family
        raw = read_rows(family, lower, upper)
        kinds = np.select([raw.lower == raw.upper, np.isneginf(raw.lower), np.isposinf(raw.upper)], [0, 1, 2], 3)
        out = np.tile(self.weights, (len(lower), 1))
        theta, log_weight, _ = self.model.view(self.state)
        parts = arrange(family, raw, self.units, collapse=False).parts
        for part, kind in zip(parts, np.unique(kinds), strict=True):
            position = raw.position[kinds == kind]
            for rows in row_chunks(0, len(part), _CHUNK):
                out[position[rows]] = probabilities(part[rows], family, theta, log_weight)[self.order].T
        return out


def impute(fit: MixtureFit, lower: Array, upper: Array) -> tuple[Array, Array]:
    r"""Mean and variance of the values of rows in (lower, upper].

    A row's posterior q(y, z) is a mixture, by responsibility, of the components' distributions at their plug-in
    parameters inside the interval, so that :math:`E y = \sum_k r_k m_k` and :math:`\mathrm{Var}\,y = \sum_k r_k (v_k +
    m_k^2) - (E y)^2`; (MIX16) of the theory pages.

    Shapes: lower, upper (n,); gives mean, variance (n,).
    """
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    r = fit.responsibilities(lower, upper).T
    exact = lower == upper
    mean, variance = lower.copy(), np.zeros(len(lower))
    low, high, r = lower[~exact], upper[~exact], r[:, ~exact]
    with np.errstate(all="ignore"):
        first, within = fit.plug_in().distribution.truncated_moments(low, high)
        mean[~exact] = weighted(first, r).sum(axis=0)
        variance[~exact] = weighted(within + (first - mean[~exact]) ** 2, r).sum(axis=0)
    variance[np.isinf(mean)] = np.inf
    return mean, variance


def order_components(model: Model, state: State, counts: Array) -> IntArray:
    """Where the first, second, ... component stands in a state, (K,): by mean, under a process empty ones last.

    Shapes: counts (K,).
    """
    location = model.family.location(model.view(state).theta)
    empty = _is_process(model) & (counts < HELD)
    return np.lexsort((location, empty))


def _is_process(model: Model) -> bool:
    return isinstance(getattr(model, "weights", None), DirichletProcess)


def describe(model: Model, method: Method, working: Working, best: Climb, ends: Array, raw: Raw) -> MixtureFit:
    """Put the components in order, and say what a user should be warned of."""
    theta, log_weight, _ = model.view(best.state)
    order = order_components(model, best.state, best.sums.counts)
    state = model.permute(best.state, order)
    chunks = chunks_of(working, len(order))
    exact_counts, between_counts = (
        sum_over([rows for rows in chunks if rows.kind == kind], model.family, theta, log_weight).counts[order]
        for kind in ("exact", "interval")
    )
    alone = model.family.distribution(theta[:, order], working.units)
    medians = np.array([Predictive(np.ones(1), alone[[i]]).ppf(0.5) for i in range(len(order))])
    return MixtureFit(
        model,
        method,
        best.state if state is None else state,
        order if state is None else np.arange(len(order)),
        working.units,
        best.value + working.constant,
        best.trace + working.constant,
        ends + working.constant,
        best.converged,
        best.passes,
        best.sums.counts[order],
        exact_counts,
        working.total,
        working.exact,
        _notes(model, method, best, working, exact_counts + between_counts, best.sums.counts[order], medians, raw),
    )


def _notes(
    model: Model,
    method: Method,
    best: Climb,
    working: Working,
    placed: Array,
    counts: Array,
    medians: Array,
    raw: Raw,
) -> tuple[str, ...]:
    """Notes; ``placed`` (K,) are expected rows that say where a value lies: exact ones, and those between two ends."""
    notes = []
    if not best.converged:
        passes = f"{best.passes} pass{'es' * (best.passes != 1)}"
        notes.append(f"No convergence after {passes}; raise max_iter (now {method.max_iter} an ascent).")
    kinds = {part.kind for part in working.parts}
    bayes = not isinstance(method, EMCM)
    if not kinds & {"exact", "interval"}:
        grounds = "limits and the prior" if bayes else "limits"
        notes.append(f"Every row is censored: what the components are rests on {grounds} alone.")
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


def _outside(model: Model, raw: Raw, ends: Array, median: float) -> str:
    """Where a median lies that is outside of all values and limits, ``ends``."""
    if model.family.support == "real" or median > ends.max():
        return f"lies beyond the data ({ends.min():.4g} to {ends.max():.4g}): "
    there = float(raw.weight[np.isneginf(raw.lower) & (raw.upper == ends.min())].sum())
    known = f"of {there:g} row{'s' * (there != 1.0)} no more is known than that, and "
    return f"lies between 0 and {ends.min():.4g}, the least of all values and limits: {known if there else ''}"
