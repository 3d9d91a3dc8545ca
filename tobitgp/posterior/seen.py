r"""The response given the observation of each row: imputation of censored values.

A censored row says that y* lies in (l, u). Its value under everything that was seen is therefore truncated there, with
the f it has **without the row itself**, which must not count twice: for a training row the cavity, for a new row the
posterior. With normal noise y* is a truncated normal variable, (PRE7) of the theory pages. Under any other noise, and
in rows with a window, a row says of f :math:`p(f) = P(l < y^* \le u) / P(\mathrm{entry} < y^* < \mathrm{exit})`, and
the response that was not seen has mean

.. math:: E[p(f)\,E(y^* | f, l < y^* \le u)] / E\,p(f),

integrals over f in which the distance from a known end is a positive factor, so that nothing cancels close to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.distributions import convolution
from tobitgp.distributions.convolution import HALF_LOG_2PI
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerNormal, invert
from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.numerics.normal_functions import node_quantiles
from tobitgp.numerics.quadrature import RowIntegrand, integrals, log_integrals
from tobitgp.numerics.truncated_moments import Interval, interval
from tobitgp.typing import Array, IntArray

NODES, REACH = 257, 8.0
EDGE = 20.0  # nodes about an end lie up to sinh(EDGE) widths of the noise from it
FARTHEST = 38.0  # beyond this many standard deviations a normal probability underflows
CHUNK = 128


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """n rows without themselves, and the observation of each."""

    weight: Array  # (J, n), of the components in each row, given the row
    mean: Array  # (J, n), of f without the row, in the user's units, log scale for positive responses
    sd: Array  # (J, n)
    sigma: Array  # (J, n), or (J, 1) where it is that of all rows
    lower: Array  # (n,), what is known about y*, on the scale of f; equal where it is known exactly
    upper: Array  # (n,)
    log: bool
    noises: tuple[Distribution, ...]
    entry: Array  # (n,), window outside which the row could not have been seen, on the scale of f
    exit: Array  # (n,)
    power: float | None = None  # after which the response was fitted, where it was after one

    @property
    def truncated(self) -> bool:
        """Whether some row has a window."""
        return bool((np.isfinite(self.entry) | np.isfinite(self.exit)).any())

    def component(self, j: int) -> Component:
        """Rows under one design point."""
        sigma = np.broadcast_to(self.sigma[j], self.lower.shape)
        ends = self.lower, self.upper, self.entry, self.exit
        return Component(self.noises[j], self.mean[j], self.sd[j], sigma, *ends, self.log, self.power)

    def take(self, rows: IntArray) -> LeftOutRows:
        """Some of the rows."""
        names = ("weight", "mean", "sd", "lower", "upper", "entry", "exit", *(("sigma",) * (self.sigma.shape[1] > 1)))
        return replace(self, **{name: getattr(self, name)[..., rows] for name in names})

    def latent(self) -> LeftOutRows:
        """The same on the scale of f."""
        return replace(self, log=False, power=None)


class Component(NamedTuple):
    """n rows under one design point, (n,) each."""

    noise: Distribution
    mean: Array  # of f without the row
    sd: Array
    sigma: Array
    lower: Array  # what is known about y*, and the window, on the scale of f
    upper: Array
    entry: Array
    exit: Array
    log: bool  # the response is the exponential of y*
    power: float | None = None  # y* is this power of the response, by (BC1)

    @property
    def closed(self) -> bool:
        """Whether closed forms exist: the noise is normal, and no row has a window."""
        return self.noise.gaussian and not (np.isfinite(self.entry) | np.isfinite(self.exit)).any()

    @property
    def positive(self) -> bool:
        """Whether the response is."""
        return self.log or self.power is not None

    @property
    def total(self) -> Array:
        """Standard deviations of y* without what was seen, under normal noise."""
        return np.hypot(self.sd, self.sigma)

    def shown(self, y: Array) -> Array:
        """Values of y* on the scale of the response."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.power is not None:
                return np.where(np.isinf(y), np.where(y > 0.0, np.inf, 0.0), np.exp(invert(y, self.power)))
            return np.exp(y) if self.log else y

    def truncated(self) -> Interval:
        """The y* given what was seen, in standard deviations of what it is without, under normal noise."""
        total = self.total
        a, b = (np.clip((end - self.mean) / total, -FAR, FAR) for end in (self.lower, self.upper))
        return interval(a, b, np.clip((self.upper - self.lower) / total, 1e-300, 2.0 * FAR))

    def log_word(self, f: Array, i: IntArray) -> Array:
        """What rows i, (p, 1), say of values f, (p, k): ``log p(f)``, a density where the response is exact."""
        ends = (self.lower[i], self.upper[i], self.entry[i], self.exit[i])
        a, b, first, last = ((end - f) / self.sigma[i] for end in ends)
        seen, exact = self.noise.log_mass(a, b), self.lower[i] == self.upper[i]
        if exact.any():
            seen = np.where(exact, self.noise.logpdf(a) - np.log(self.sigma[i]), seen)
        return seen - self.noise.log_mass(first, last)

    def mean_seen(self, f: Array, i: IntArray) -> Array:
        """``E(y* | f, l < y* <= u)`` on the scale of the response."""
        ends = self.shown(self.lower[i]), self.shown(self.upper[i])
        if self.power is not None:
            return PowerNormal(f, self.sigma[i], self.power).conditional_mean(*ends)
        return LocationScale(self.noise, f, self.sigma[i], self.log).mean_between(*ends)

    def mean_given_seen(self) -> Array:
        """``E(y* | l < y* <= u)`` on the scale of the response, under normal noise, (n,)."""
        ends = self.shown(self.lower), self.shown(self.upper)
        if self.power is not None:
            return PowerNormal(self.mean, self.total, self.power).conditional_mean(*ends)
        return LocationScale(self.noise, self.mean, self.total, self.log).conditional_mean(*ends)


def log_evidence(rows: Component) -> Array:
    """Log probability of what was seen, ``log E p(f)``, (n,); log density where the response is exact."""
    if rows.closed:
        density = LocationScale(rows.noise, rows.mean, rows.total).logpdf(rows.lower)
        return np.where(rows.lower == rows.upper, density, rows.truncated().log_mass)
    with np.errstate(all="ignore"):
        return _log_integrals(rows, lambda x, i: _log_weight(rows, x, i)[None])[0]


def imputed_mean(rows: Component) -> Array:
    """``E[y* | what was seen]`` of rows that are not exact, (n,), on the scale of the response."""
    if rows.closed:
        return rows.mean_given_seen()
    unknown = np.isneginf(rows.lower) & np.isposinf(rows.upper)
    below = np.isneginf(rows.lower) & ~(unknown & rows.positive)
    end = rows.shown(np.where(below, rows.upper, rows.lower))
    side = np.where(below, -1.0, 1.0)

    def values(x: Array, i: IntArray) -> Array:
        log_weight = _log_weight(rows, x, i)
        away = np.log(np.maximum(side[i] * (rows.mean_seen(rows.mean[i] + rows.sd[i] * x, i) - end[i]), 0.0))
        return np.stack([log_weight, log_weight + away])

    with np.errstate(all="ignore"):
        whole, part = _log_integrals(rows, values, grow=rows.positive)
        value = end + side * np.exp(part - whole)
        return np.where(unknown & (not rows.positive), rows.mean + rows.sigma * rows.noise.mean, value)


def imputed_nodes(rows: Component) -> tuple[Array, Array]:
    """Log density of f given what was seen, and the conditional mean there, (n, NODES) each, up to constants."""
    x, i = _nodes_given(rows), _each(rows)
    with np.errstate(all="ignore"):
        return _log_weight(rows, x, i), rows.mean_seen(rows.mean[i] + rows.sd[i] * x, i)


def latent_quantiles(rows: Component, scores: Array) -> Array:
    """Quantiles of f, (n, k), given the observations of rows that are not exact: the inverse cdf in (PRE8)."""
    with np.errstate(all="ignore"):
        x = _graded_nodes(rows)
        at = _normal_scores(x, _log_weight(rows, x, _each(rows)))
    x = np.stack([np.interp(*of_row) for of_row in zip(scores, at, x, strict=True)])
    return rows.mean[:, None] + rows.sd[:, None] * x


def _normal_scores(x: Array, log_density: Array) -> Array:
    """Normal scores of points x (n, k) in the distribution with such a density."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    mass = 0.5 * np.diff(x, axis=1) * (density[:, 1:] + density[:, :-1])
    # Each tail is summed from its own end, where its digits are.
    below = np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0)))
    above = np.pad(np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    whole = np.maximum(below[:, -1:], 1e-300)
    scores = np.where(below < above, ndtri(below / whole), -ndtri(above / whole))
    return np.clip(scores, -FARTHEST, FARTHEST)


def _graded_nodes(rows: Component) -> Array:
    """As ``_nodes_given``, and as many about each end of a row, graded from the width of the noise to that of f.

    What a row says of f changes within the width of the noise, and heavy tails of that may leave f a second mode.
    """
    i, (low, high) = _each(rows), (end[:, None] for end in _reach(rows))
    step = rows.sigma[:, None] * rows.noise.reach * np.sinh(np.linspace(-EDGE, EDGE, NODES))
    edges = [(end[i] + step - rows.mean[i]) / np.maximum(rows.sd[i], 1e-300) for end in (rows.lower, rows.upper)]
    return np.sort(np.hstack([_nodes_given(rows), *(np.clip(edge, low, high) for edge in edges)]), axis=1)


def _nodes_given(rows: Component) -> Array:
    """Values (n, NODES) between which f lies given what was seen, in standard deviations without the row."""
    mean, sd = _moments(rows)
    return mean[:, None] + sd[:, None] * np.linspace(-REACH, REACH, NODES)


def _moments(rows: Component) -> tuple[Array, Array]:
    """Mean and standard deviation of f given what was seen, in standard deviations without the row."""
    if rows.closed:
        y, share = rows.truncated(), rows.sd / rows.total
        return share * y.mean, np.sqrt(np.maximum(1.0 - np.square(share) * y.complement, 0.0))
    whole = log_evidence(rows)

    def powers(x: Array, i: IntArray) -> Array:
        density = np.exp(_log_weight(rows, x, i) - whole[i])
        return np.stack([density * x, density * x * x])

    first, second = integrals(powers, *_reach(rows), *_features(rows))
    return first, np.sqrt(np.maximum(second - first * first, 0.0))


def _log_weight(rows: Component, x: Array, i: IntArray) -> Array:
    """Log density of what was seen and of f, (p, k), in rows i, (p, 1)."""
    return rows.log_word(rows.mean[i] + rows.sd[i] * x, i) - 0.5 * x * x - HALF_LOG_2PI


def _each(rows: Component) -> IntArray:
    return np.arange(len(rows.mean))[:, None]


def _log_integrals(rows: Component, values: RowIntegrand, *, grow: bool = False) -> Array:
    low, high = _reach(rows)
    return log_integrals(values, low, high + (rows.sd if grow else 0.0), *_features(rows))


def _reach(rows: Component) -> tuple[Array, Array]:
    """Range of f, in standard deviations."""
    a, b = (rows.lower - rows.mean) / rows.sigma, (rows.upper - rows.mean) / rows.sigma
    return convolution.reach(rows.noise, np.where(a > 0.0, a, np.minimum(b, 0.0)), rows.sd / rows.sigma)


def _features(rows: Component) -> tuple[Array, Array]:
    """One over the width of features, and where they lie."""
    ends = [(end - rows.mean) / np.maximum(rows.sd, 1e-300) for end in (rows.lower, rows.upper, rows.entry, rows.exit)]
    kinks = np.stack([np.where(np.isfinite(end), end, 0.0) for end in ends], axis=1)
    return rows.sd / (rows.sigma * rows.noise.reach), kinks


def log_predictive(seen: LeftOutRows) -> Array:
    """Log of a component's weight times the probability of its observation, or its density there; (J, n)."""
    with np.errstate(divide="ignore"):
        log_weight = np.log(seen.weight)
    return log_weight + np.stack([log_evidence(seen.component(j)) for j in range(len(seen.noises))])


def conditional_statistics(each: Sequence[LeftOutRows], level: float | None, se: bool) -> dict[str, Array]:
    """``E[y* | what was seen]`` and its uncertainty given f, from values of f weighted by their density.

    The rows may be seen on several scales of the response; weights add up to one over all of them.
    """
    exact = each[0].lower == each[0].upper
    out = {"estimate": conditional_mean(each)}
    if not se and level is None:
        return out
    tails = () if level is None else (0.5 * (1.0 - level), 0.5 * (1.0 + level))
    spread = {"se": np.zeros(len(exact))} | {name: out["estimate"].copy() for name in ("lower", "upper")[: len(tails)]}
    chunks = [np.flatnonzero(~exact)[span] for span in row_chunks(0, int((~exact).sum()), CHUNK)]
    with single_blas_thread():
        done = map_independent(lambda rows: _spread(_take(each, rows), tails), chunks, heavy=len(chunks) > 4)
    for rows, values in zip(chunks, done, strict=True):
        for name, column in zip(spread, values, strict=True):
            spread[name][rows] = column
    out |= spread
    if level is not None:
        out["lower"] = np.minimum(out["lower"], out["estimate"])
        out["upper"] = np.maximum(out["upper"], out["estimate"])
    return out


def conditional_mean(each: Sequence[LeftOutRows]) -> Array:
    """``E[y* | what was seen]``, (n,): the response itself where it was seen."""
    value = each[0].component(0).shown(each[0].lower.astype(np.float64))
    rows = np.flatnonzero(each[0].lower != each[0].upper)
    if len(rows):
        some = _take(each, rows)
        mean = np.stack([imputed_mean(one) for one in _components(some)])
        value[rows] = np.einsum("jn,jn->n", np.concatenate([seen.weight for seen in some]), mean)
    return value


def _take(each: Sequence[LeftOutRows], rows: IntArray) -> list[LeftOutRows]:
    return [seen.take(rows) for seen in each]


def _components(each: Sequence[LeftOutRows]) -> list[Component]:
    return [seen.component(j) for seen in each for j in range(len(seen.noises))]


def normal_draws(rows: Component, scores: Array, uniform: Array) -> Array:
    """What rows may have been under normal noise and a design point, (n, k): (PRE8) of the theory pages."""
    total, share = rows.total, np.square(rows.sd / rows.total)
    complement = rows.truncated().complement
    # The correlation of f and y* given what was seen.
    r = np.sqrt(np.clip(share * (1.0 - complement) / np.maximum(1.0 - share * complement, 1e-300), 0.0, 1.0))
    order = ndtr(r[:, None] * scores + np.sqrt(1.0 - np.square(r))[:, None] * ndtri(uniform))
    mean, sd, lower, upper = (x[:, None] for x in (rows.mean, total, rows.lower, rows.upper))
    ends = (lower - mean) / sd, (upper - mean) / sd
    x = rows.noise.quantile_between(np.clip(order, 1e-300, 1.0 - 1e-16), *ends)
    return np.clip(mean + sd * x, lower, upper)


def _spread(each: Sequence[LeftOutRows], tails: tuple[float, ...]) -> list[Array]:
    """Standard deviation and quantiles of the conditional mean given f."""
    pairs = [imputed_nodes(one) for one in _components(each)]
    log_density, g = (np.stack(values) for values in zip(*pairs, strict=True))
    density = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    share = np.concatenate([seen.weight for seen in each])[..., None]
    weight = density / density.sum(axis=-1, keepdims=True) * share
    return [_weighted_sd(*(np.hstack(list(values)) for values in (weight, g))), *node_quantiles(weight, g, tails)]


def _weighted_sd(weight: Array, g: Array) -> Array:
    """Standard deviation of values with weights, (n,) each of (n, k); infinite where it is beyond all numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(g).max(axis=1, keepdims=True)
        part = np.divide(g, size, out=np.zeros_like(g), where=size > 0.0)
        mean = np.einsum("nk,nk->n", weight, part)
        sd = size[:, 0] * np.sqrt(np.einsum("nk,nk->n", weight, np.square(part - mean[:, None])))
    return np.where(np.isposinf(size[:, 0]), np.inf, sd)
