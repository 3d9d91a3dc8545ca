r"""The response given what was seen of each row: imputation of censored values.

A censored row says that y* lies in (l, u). Its value under everything that was seen is therefore truncated there, with
the f it has **without the row's own word**, which must not count twice: for a training row the cavity, the posterior
with one copy of the row's site taken out; for a new row the posterior. With normal noise y* is a truncated normal
variable, (PRE7) of the theory pages; `tobitgp.results.imputed` has noise of any law, and windows, inside which y* lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.data.detects import spell_numbers
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.response import build_response, unknown_rows
from tobitgp.data.shapes import CensoredResponse
from tobitgp.data.table import Table, column_names, read_table
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.intervals import quantile_inside
from tobitgp.distributions.normal import Normal
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.model import GPModel
from tobitgp.inference.passes import CHUNK_ROWS
from tobitgp.numerics.truncated import interval, log_interval_mass
from tobitgp.results import imputed, predictive
from tobitgp.results.imputed import NODES, REACH, Component, imputed_mean, imputed_nodes
from tobitgp.results.normals import node_quantiles, same_spread
from tobitgp.results.predict import moments, noise_laws
from tobitgp.results.rows import Asked
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array, Frame, IntArray

CHUNK = 128
SEEN_ROLES = ("response", "event", "bound", "limit", "window")
_FAR = 1e100
_OF_ROWS = ("weight", "mean", "sd", "lower", "upper", "entry", "exit")


@dataclass(frozen=True, slots=True)
class Seen:
    """n rows without their own word, and what was seen of each."""

    weight: Array  # (J, n), of the components in each row, its own word included
    mean: Array  # (J, n), of f without the row's own word, in the user's units, log scale for log-time families
    sd: Array  # (J, n), of f without the row's own word, in the user's units, log scale for log-time families
    sigma: Array  # (J,)
    lower: Array  # (n,), what is known of y*, on the scale of f; equal where it is known exactly
    upper: Array  # (n,), what is known of y*, on the scale of f; equal where it is known exactly
    log_time: bool
    laws: tuple[Distribution, ...]  # of the noise
    entry: Array  # (n,), window outside which the row could not have been seen, on the scale of f
    exit: Array  # (n,), window outside which the row could not have been seen, on the scale of f
    spread: Array | None = None  # (n,), standard deviation of the rows' noise in units of sigma, where rows differ

    def of_one_noise(self) -> Iterator[tuple[IntArray, Seen]]:
        """Positions of the rows of each noise, and these rows with it as sigma."""
        for c, rows in same_spread(self.spread, len(self.lower)):
            yield rows, self if c is None else replace(self.take(rows), sigma=c * self.sigma, spread=None)

    @property
    def closed(self) -> bool:
        """Whether closed forms serve: all noise is normal, and no row has a window."""
        return all(law.gaussian for law in self.laws) and not self.truncated

    @property
    def truncated(self) -> bool:
        """Whether some row has a window."""
        return bool((np.isfinite(self.entry) | np.isfinite(self.exit)).any())

    def component(self, j: int) -> Component:
        """Rows under one design point."""
        ends = self.lower, self.upper, self.entry, self.exit
        return Component(self.laws[j], self.mean[j], self.sd[j], float(self.sigma[j]), *ends, self.log_time)

    def take(self, rows: IntArray) -> Seen:
        """Some of the rows."""
        picked = {name: getattr(self, name)[..., rows] for name in _OF_ROWS}
        return replace(self, **picked, spread=None if self.spread is None else self.spread[rows])

    def latent(self) -> Seen:
        """The same on the scale of f."""
        return replace(self, log_time=False)


def seen_in_training(parts: Parts) -> Seen:
    """Training rows: the cavity of each."""
    fitted, gp, response = parts.fitted, parts.gp, parts.rows.response
    design, units, order = parts.rows.design, gp.problem.units, gp.problem.order
    inputs, base = gp.inputs(design), gp.known_mean(design)
    J, n = len(fitted.points), len(base)
    mean, sd = np.empty((J, n)), np.empty((J, n))
    for j, point in enumerate(fitted.points):
        lambda1, lambda2 = np.empty(n), np.empty(n)
        lambda1[order] = point.sites.lambda1
        lambda2[order] = point.sites.lambda2
        for rows in row_chunks(0, n, CHUNK_ROWS):
            A, d = point.features([at.rows(rows) for at in inputs])
            m, v_p = A.times(point.w), point.factor.variance(A)
            copies = np.maximum(response.weight[rows], 1.0)  # a site of less than a copy goes as a whole
            v_c = v_p / np.maximum(1.0 - lambda2[rows] / copies * v_p, 1e-12)
            mean[j, rows] = base[rows] + units.scale * (m - v_c * (lambda1[rows] - lambda2[rows] * m) / copies)
            sd[j, rows] = units.scale * np.sqrt(v_c + d)
    sigma = units.scale * np.array([point.sigma for point in fitted.points])
    weight = np.repeat(fitted.weights[:, None], n, axis=1)
    known = outcome(response, log_time=gp.family.log_time)
    return _seen(known, gp, weight, mean, sd, sigma, noise_laws(fitted, gp), design.spread)


def with_response(parts: Source, new: Frame, asked: Asked) -> Asked:
    """Rows of new data in which something is known of the response."""
    table = what_was_seen(parts, new)
    return asked.among(~unknown_rows(parts.spec, table)[asked.usable])


def what_was_seen(parts: Source, new: Frame, asked: str = "what='conditional'") -> Table:
    """Columns of the response, the censoring and the window, which what is ``asked`` needs."""
    names = parts.spec.names(*SEEN_ROLES)
    lacking = [name for name in names if name not in set(column_names(new))]
    if lacking:
        raise SpecError(f"{asked} needs what was seen of each row; the new data lack {', '.join(map(repr, lacking))}.")
    spelled = spell_numbers(new, parts.spec.names("response")) if parts.spec.response.kind == "text" else new
    return read_table(spelled, names)


def seen_in_new(parts: Parts, new: Frame, asked: Asked) -> Seen:
    """New rows: their predictive distribution, components weighted by what they say of the row inside its window."""
    table = what_was_seen(parts, new).take(asked.usable)
    response = build_response(parts.spec, table, np.ones(table.n))
    seen = predicted_rows(parts, response, asked)
    log_weight = log_predictive(seen)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    return replace(seen, weight=weight / weight.sum(axis=0))


def predicted_rows(parts: Parts, response: CensoredResponse, asked: Asked) -> Seen:
    """New rows under the posterior as it stands, and what was seen of them."""
    gp = parts.gp
    args = gp.inputs(asked.design), gp.known_mean(asked.design), slice(None), gp.problem.units.scale
    mean, sd, sigma = moments(parts.fitted, *args)
    same = np.repeat(parts.fitted.weights[:, None], mean.shape[1], axis=1)
    known = outcome(response, log_time=gp.family.log_time, labels=asked.labels.to_numpy())
    return _seen(known, gp, same, mean, sd, sigma, noise_laws(parts.fitted, gp), asked.design.spread)


def _seen(
    known: Outcome,
    gp: GPModel,
    weight: Array,
    mean: Array,
    sd: Array,
    sigma: Array,
    laws: tuple[Distribution, ...],
    spread: Array | None,
) -> Seen:
    log_time = gp.family.log_time
    return Seen(weight, mean, sd, sigma, known.lower, known.upper, log_time, laws, known.entry, known.exit, spread)


def log_predictive(seen: Seen) -> Array:
    """Log of a component's weight times its probability of what was seen of a row, or its density there; (J, n)."""
    return _of_each_noise(_log_predictive, seen)


def _of_each_noise(ask: Callable[[Seen], Array], seen: Seen) -> Array:
    """Values (..., n) of rows whose noise may differ."""
    parts = [(rows, ask(part)) for rows, part in seen.of_one_noise()]
    if len(parts) == 1:
        return parts[0][1]
    out = np.empty((*parts[0][1].shape[:-1], len(seen.lower)))
    for rows, values in parts:
        out[..., rows] = values
    return out


def _log_predictive(seen: Seen) -> Array:
    with np.errstate(divide="ignore"):
        log_weight = np.log(seen.weight)
    if not seen.closed:
        return log_weight + np.stack([imputed.log_predictive(seen.component(j)) for j in range(len(seen.laws))])
    total = np.hypot(seen.sd, seen.sigma[:, None])
    log_mass = _log_mass(*_standardise(seen.mean, total, seen.lower, seen.upper))
    with np.errstate(invalid="ignore"):
        exact = -0.5 * ((seen.lower - seen.mean) / total) ** 2 - np.log(total) - predictive.HALF_LOG_2PI
    return log_weight + np.where(seen.lower == seen.upper, exact, log_mass)


def conditional_statistics(seen: Seen, level: float | None, se: bool) -> dict[str, Array]:
    r"""``E[y* | what was seen]`` and the uncertainty of :math:`E[y^* | f, \sigma, l < y^* < u]`.

    That quantity rises with f; its distribution comes from 257 values of f in every component, weighted by their
    density given what was seen.
    """
    exact = seen.lower == seen.upper
    out = {"mean": conditional_mean(seen)}
    if not se and level is None:
        return out
    tails = () if level is None else (0.5 * (1.0 - level), 0.5 * (1.0 + level))
    spread = {"se": np.zeros(len(exact))} | {name: out["mean"].copy() for name in ("lower", "upper")[: len(tails)]}
    chunks = [np.flatnonzero(~exact)[span] for span in row_chunks(0, int((~exact).sum()), CHUNK)]
    with single_blas_thread():
        ask = partial(_of_each_noise, lambda part: np.stack(_spread(part, tails)))
        done = map_independent(lambda rows: ask(seen.take(rows)), chunks, heavy=len(chunks) > 4)
    for rows, values in zip(chunks, done, strict=True):
        for name, column in zip(spread, values, strict=True):
            spread[name][rows] = column
    out |= spread
    if level is not None:
        out["lower"] = np.minimum(out["lower"], out["mean"])
        out["upper"] = np.maximum(out["upper"], out["mean"])
    return out


def conditional_mean(seen: Seen) -> Array:
    """``E[y* | what was seen]``, (n,): the response itself where it was seen."""
    return _of_each_noise(_conditional_mean, seen)


def _conditional_mean(seen: Seen) -> Array:
    value = np.exp(seen.lower) if seen.log_time else seen.lower.astype(np.float64)
    if seen.closed:
        total = np.hypot(seen.sd, seen.sigma[:, None])
        mean = truncated_mean(seen.mean, total, seen.lower, seen.upper, log_time=seen.log_time)
        return np.where(seen.lower == seen.upper, value, np.einsum("jn,jn->n", seen.weight, mean))
    rows = np.flatnonzero(seen.lower != seen.upper)
    if len(rows):
        part = seen.take(rows)
        mean = np.stack([imputed_mean(part.component(j)) for j in range(len(part.laws))])
        value[rows] = np.einsum("jn,jn->n", part.weight, mean)
    return value


def truncated_mean(mean: Array, sd: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """Mean of a normal variable, or of its exponential, that is known to lie between two ends on the normal scale."""
    a, b = _standardise(mean, sd, lower, upper)
    if log_time:
        with np.errstate(over="ignore"):
            value = np.exp(mean + 0.5 * sd * sd + _log_mass(a - sd, b - sd) - _log_mass(a, b))
            return np.clip(value, np.exp(lower), np.exp(upper))
    shape = a.shape
    x = interval(a.ravel(), b.ravel(), _width(a, b, sd, lower, upper).ravel())
    return np.clip(mean + sd * x.mean.reshape(shape), lower, upper)


def normal_draws(seen: Seen, j: int, scores: Array, uniform: Array) -> Array:
    """What rows may have been under normal noise and a design point, (n, k): (PRE8) of the theory pages.

    Shapes: scores, uniform (n, k).
    """
    mean, sd = seen.mean[j], seen.sd[j]
    total = np.hypot(sd, seen.sigma[j])
    a, b = _standardise(mean, total, seen.lower, seen.upper)
    share, complement = np.square(sd / total), interval(a, b, _width(a, b, total, seen.lower, seen.upper)).complement
    # The correlation of f and y* given what was seen.
    r = np.sqrt(np.clip(share * (1.0 - complement) / np.maximum(1.0 - share * complement, 1e-300), 0.0, 1.0))
    order = ndtr(r[:, None] * scores + np.sqrt(1.0 - np.square(r))[:, None] * ndtri(uniform))
    x = quantile_inside(Normal(), np.clip(order, 1e-300, 1.0 - 1e-16), *np.broadcast_arrays(a[:, None], b[:, None]))
    return np.clip(mean[:, None] + total[:, None] * x, seen.lower[:, None], seen.upper[:, None])


def _spread(seen: Seen, tails: tuple[float, ...]) -> list[Array]:
    """Standard deviation and quantiles of the conditional mean given f."""
    if seen.closed:
        log_density, g = _nodes(seen)
    else:
        pairs = [imputed_nodes(seen.component(j)) for j in range(len(seen.laws))]
        log_density, g = (np.stack(values) for values in zip(*pairs, strict=True))
    density = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    weight = density / density.sum(axis=-1, keepdims=True) * seen.weight[..., None]
    return [_weighted_sd(*(np.hstack(list(values)) for values in (weight, g))), *node_quantiles(weight, g, tails)]


def _weighted_sd(weight: Array, g: Array) -> Array:
    """Standard deviation of values with weights, (n,) each of (n, k); infinite where it is beyond all numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(g).max(axis=1, keepdims=True)
        part = np.divide(g, size, out=np.zeros_like(g), where=size > 0.0)
        mean = np.einsum("nk,nk->n", weight, part)
        sd = size[:, 0] * np.sqrt(np.einsum("nk,nk->n", weight, np.square(part - mean[:, None])))
    return np.where(np.isposinf(size[:, 0]), np.inf, sd)


def _nodes(seen: Seen) -> tuple[Array, Array]:
    """Log density of f given what was seen, and the conditional mean there, at nodes in every component."""
    sigma = seen.sigma[:, None]
    total = np.hypot(seen.sd, sigma)
    a, b = _standardise(seen.mean, total, seen.lower, seen.upper)
    x = interval(a.ravel(), b.ravel(), _width(a, b, total, seen.lower, seen.upper).ravel())
    share = np.square(seen.sd / total)
    centre = seen.mean + share * total * x.mean.reshape(a.shape)
    spread = seen.sd * np.sqrt(np.maximum(1.0 - share * x.complement.reshape(a.shape), 0.0))
    f = centre[..., None] + spread[..., None] * np.linspace(-REACH, REACH, NODES)
    lower, upper = seen.lower[:, None], seen.upper[:, None]
    z = (f - seen.mean[..., None]) / np.maximum(seen.sd, 1e-300)[..., None]
    noise = sigma[..., None]
    log_density = _log_mass(*_standardise(f, noise, lower, upper)) - 0.5 * z * z
    return log_density, truncated_mean(f, noise, lower, upper, log_time=seen.log_time)


def _standardise(mean: Array, sd: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays((lower - mean) / sd, (upper - mean) / sd)
    return np.clip(a, -_FAR, _FAR), np.clip(b, -_FAR, _FAR)


def _width(a: Array, b: Array, sd: Array, lower: Array, upper: Array) -> Array:
    """``b - a``, from the ends as given where both are finite, never zero."""
    known = np.isfinite(lower) & np.isfinite(upper)
    width = np.where(known, (np.where(known, upper, 0.0) - np.where(known, lower, 0.0)) / sd, b - a)
    return np.maximum(width, 1e-300)


def _log_mass(a: Array, b: Array) -> Array:
    """``log(Phi(b) - Phi(a))`` of any shape; b > a or the value is meaningless but finite."""
    b = np.where(b > a, b, a + 1e-8)
    return log_interval_mass(a.ravel(), b.ravel()).reshape(a.shape)
