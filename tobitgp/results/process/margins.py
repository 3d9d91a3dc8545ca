r"""Marginal effects: how a prediction changes with a column of the data.

An effect is a sum over rows :math:`\sum_n \omega_n [G(f_n^+) - G(f_n^-)]`, f at two values of the column, G the
prediction on the scale asked for, averaged over what is unknown of f and over the noise. Derivatives are central
differences of the replayed design, a ten-thousandth of the column's standard deviation wide on either side and kept
inside the range of the training data; factors give differences from their base level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.distributions.base import Distribution
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.truncated import log_interval_mass
from tobitgp.results.changes import STEP, Change, Rows, changes, rows_at
from tobitgp.results.clipped import clipped_mean
from tobitgp.results.conditional import truncated_mean
from tobitgp.results.distribution import choose_scales
from tobitgp.results.estimates import Linear
from tobitgp.results.imputed import Component, imputed_mean, log_predictive
from tobitgp.results.noisy import clipped_moments
from tobitgp.results.normals import Mixture
from tobitgp.results.predict import check_alpha
from tobitgp.results.predictive import log_tail
from tobitgp.results.rows import Limits
from tobitgp.results.views import Parts
from tobitgp.typing import Array

WHATS = ("latent", "observed", "prob")
CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Response:
    """The scale of an effect: a name of ``WHATS``, limits (n,), and for "prob" the limit asked about and its side."""

    what: str
    log_time: bool
    limit: float = np.nan
    above: bool = False

    def mean(self, at: Location, limits: Limits) -> Array:
        """Prediction, (n,)."""
        if self.what == "latent":
            return at.mean
        if self.what == "prob":
            return at.probability(self.limit, above=self.above)
        return at.clipped(limits, log_time=self.log_time)

    def slope(self, at: Location, limits: Limits) -> Array:
        """Derivative of ``mean`` in the mean of f, (n,)."""
        h = STEP * np.hypot(at.sd, at.sigma)
        return (self.mean(at.moved(h), limits) - self.mean(at.moved(-h), limits)) / (2.0 * h)


@dataclass(frozen=True, slots=True)
class Location:
    """Posterior of f in n rows under one design point, and its noise."""

    mean: Array  # (n,)
    sd: Array  # (n,)
    sigma: float
    law: Distribution

    def moved(self, step: Array) -> Location:
        """With another mean."""
        return replace(self, mean=self.mean + step)

    def probability(self, limit: float, *, above: bool) -> Array:
        """Probability that y* lies below, or above, a limit on the scale of f, (n,)."""
        if self.law.gaussian:
            return np.asarray(ndtr((-1.0 if above else 1.0) * (limit - self.mean) / np.hypot(self.sd, self.sigma)))
        z = (limit - self.mean) / self.sigma
        return np.exp(log_tail(self.law, z, self.sd / self.sigma, upper=above))

    def clipped(self, limits: Limits, *, log_time: bool) -> Array:
        """Mean of the response inside its window, clipped at limits on its scale, (n,)."""
        f, one = (self.mean[None], self.sd[None], np.array([self.sigma])), np.ones(1)
        q = Mixture(one, *f, log_time, laws=(self.law,), **limits._asdict())
        if q.normal and not q.truncated:
            return clipped_mean(self.mean, np.hypot(self.sd, self.sigma), *limits[:2], log_time=log_time)
        return clipped_moments(q)[0][0]

    def inside(self, limits: Limits, *, log_time: bool) -> tuple[Array, Array]:
        """Probability of lying between the limits given the window, and the mean there; (n,) each."""
        truncated = bool((np.isfinite(limits.entry) | np.isfinite(limits.exit)).any())
        ends = [*limits.ends, limits.entry, limits.exit]
        if log_time:
            with np.errstate(divide="ignore"):
                ends = [np.log(np.maximum(end, 0.0)) for end in ends]
        lower, upper, entry, exit = ends
        if self.law.gaussian and not truncated:
            S = np.hypot(self.sd, self.sigma)
            mass = np.exp(log_interval_mass((lower - self.mean) / S, (upper - self.mean) / S))
            return mass, truncated_mean(self.mean, S, lower, upper, log_time=log_time)
        rows = Component(self.law, self.mean, self.sd, self.sigma, lower, upper, entry, exit, log_time)
        return np.exp(log_predictive(rows)), imputed_mean(rows)


def effects_table(parts: Parts, what: str, at: Any, *, below: Any, above: Any, alpha: float) -> pd.DataFrame:
    """Effects of all columns; see ``GPResults.marginal_effects``."""
    alpha, scale = check_alpha(alpha), _scale(parts, what, below, above)
    rows = rows_at(parts, at, need_limits=what == "observed")
    found, labels = [], []
    with single_blas_thread():
        for change in changes(parts, rows.frame):
            found.append(_effect(parts, change, rows, scale))
            labels.append((change.variable, change.contrast))
    if not found:
        raise SpecError(_no_effects(parts))
    mean, variance = (np.column_stack([effect[k] for effect in found]) for k in (0, 1))
    covariance = np.einsum("jk,kl->jkl", variance, np.eye(len(found)))
    posterior = Linear(parts.fitted.weights, mean, covariance, np.zeros(len(found), dtype=bool))
    value, se, ends = posterior.coefficients(), posterior.errors(), posterior.interval(alpha)
    known = se > 0.0
    z = np.divide(value, se, out=np.full_like(se, np.nan), where=known)
    columns = {"dydx": value, "se": se, "z": z, "p": np.where(known, posterior.p_values(), np.nan)}
    columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
    if what == "observed":
        intensive = np.array([float(parts.fitted.weights @ effect[2]) for effect in found])
        columns |= {"intensive": intensive, "extensive": value - intensive}
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples(labels, names=["variable", "contrast"]))


def _no_effects(parts: Parts) -> str:
    what = "This model has no column whose effect could be formed"
    names = ", ".join(term.name for term in parts.gp.terms if not term.factors)
    return f"{what}: {names} is left to group_effects()." if names else f"{what}."


def _scale(parts: Parts, what: str, below: Any, above: Any) -> Response:
    if what not in WHATS:
        raise SpecError(f"what={what!r} has no marginal effects; choose one of {', '.join(map(repr, WHATS))}.")
    scales, listed = choose_scales(what, None, below, above)
    log_time = parts.gp.family.log_time
    if what != "prob":
        return Response(what, log_time)
    if listed:
        raise SpecError("Marginal effects are on one probability: give below= or above= one number.")
    limit = float(next(iter(scales)))
    if log_time:
        limit = float(np.log(limit)) if limit > 0.0 else -np.inf
    return Response(what, log_time, limit, above is not None)


def _effect(parts: Parts, change: Change, rows: Rows, scale: Response) -> tuple[Array, Array, Array]:
    """Effect, its variance and its intensive part at every design point, (J,) each.

    The variance is that of the effect linearised in the weights w, its gradient averaged over f.
    """
    fitted, gp, unit = parts.fitted, parts.gp, parts.gp.problem.units.scale
    omega = rows.weight / change.width
    sides = [(gp.inputs(design), gp.known_mean(design)) for design in (change.high, change.low)]
    J = len(fitted.points)
    value, variance, intensive = np.zeros(J), np.zeros(J), np.zeros(J)
    for j, point in enumerate(fitted.points):
        gradient = np.zeros(len(point.w))
        for span in row_chunks(0, len(omega), CHUNK):
            limits = rows.limits.rows(span)
            inside = []
            for sign, (inputs, known) in zip((1.0, -1.0), sides, strict=True):
                A, d = point.features([at.rows(span) for at in inputs])
                m = known[span] + unit * A.times(point.w)
                sd = unit * np.sqrt(point.factor.variance(A) + d)
                at = Location(m, sd, unit * point.sigma, gp.family.law_at(point.theta))
                value[j] += sign * float(omega[span] @ scale.mean(at, limits))
                gradient += sign * unit * A.adjoint(omega[span] * scale.slope(at, limits))
                if scale.what == "observed":
                    inside.append(at.inside(limits, log_time=scale.log_time))
            if inside:
                (mass, mean), (mass_low, mean_low) = inside
                intensive[j] += float(omega[span] @ (0.5 * (mass + mass_low) * (mean - mean_low)))
        spread = point.factor.whiten(gradient)
        variance[j] = float(np.sum(spread * spread))
    return value, variance, intensive
