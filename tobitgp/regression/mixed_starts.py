"""Starts of searches for mixtures of regressions: EM from many partitions of the rows, and the order of components.

EM of normal regressions, intervals taken as their middles, runs from all partitions at once. The best ends go on by EM
of the likelihood itself, (MOR3) of the theory pages. Partitions depend on the values of the rows and not on their
order: groups by residuals of one regression, multiplied by combinations of the columns, which separate lines that
cross; and distances from lines through a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.mixed_rows import NARROWEST, MixedModel, memberships
from tobitgp.distributions.row_models import NoiseModel
from tobitgp.errors import DataError
from tobitgp.numerics.normal_functions import log_cdf, middles, mills
from tobitgp.regression.row_search import RowProblem, StartingPoint, from_noise
from tobitgp.typing import Array, IntArray

_COMBINATIONS, _LINES = 24, 64  # partitions by residuals times columns, and by lines through a few rows
_MOST_ROWS = 500  # of EM, evenly spread over the residuals
_NORMAL_STEPS, _STEPS = 25, 4  # of EM of normal regressions, and of the likelihood
_SAME = 1e-13  # residuals that differ by rounding, over the largest value
_GO_ON, _DIFFERENT = 8, 0.02  # ends that go on, and the average difference of their shares


@dataclass(frozen=True, slots=True)
class _Component:
    """A regression of some of the rows."""

    coefficients: Array  # (p,)
    others: tuple[float, ...]  # log scale, or its negative
    rows: LocationScale  # all rows under it


def mixed_starts(model: MixedModel, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    """The best ends of EM, components ordered by the average of their locations."""
    whole = _fit(model, seen, H, offset)
    residual = _middles(seen) - whole.rows.location
    some = _spread(residual, seen)
    seen, H, offset, residual = seen.rows(some), H[some], offset[some], residual[some]
    if np.ptp(residual) <= _SAME * np.abs(_middles(seen)).max():
        raise DataError("One regression reaches every row exactly, so there are no components to find. Fit it alone.")
    basis = np.linalg.qr(H)[0] * np.sqrt(len(H))  # whatever the units and origins of the columns
    shares = np.stack([*_partitions(residual, H, basis, model.components)])
    side: Array = np.isneginf(seen.lower) - np.isposinf(seen.upper).astype(np.float64)
    best = _normal_ends(residual, side, basis, seen.weight, shares)
    ends = [end for end in (_ascend(model, seen, H, offset, share) for share in best) if end is not None]
    if ends:
        return ends
    alike = (whole.coefficients,) * (model.components - 1)
    return [StartingPoint(whole.coefficients, (*alike, *whole.others * model.components, *[0.0] * len(alike)))]


def in_order(problem: RowProblem, parameters: Array) -> Array | None:
    """Parameters with components ordered by the average of their locations, where they may change places.

    None where they are in order, or where components differ by their formulas or by what is known about them.
    """
    model, ends = problem.model, np.cumsum([W.shape[1] for W in problem.written])[:-1]
    assert isinstance(model, MixedModel)
    parts, odds = model.split(np.split(parameters, ends))
    designs, of_odds = model.split([*zip(problem.written, problem.offsets, strict=True)])
    alike = all(_same(each, own) for part in designs[1:] for each, own in zip(designs[0], part, strict=True))
    if not alike or not all(_same(of_odds[0], own) for own in of_odds) or not problem.free.all():
        return None
    (H, offset), weight = designs[0][0], problem.seen.weight
    order = np.argsort([np.average(H @ part[0] + offset, weights=weight) for part in parts], kind="stable")
    if (np.diff(order) > 0).all():
        return None
    first, *later = order
    log_odds = [np.zeros_like(odds[0]), *odds]
    others = [value for k in order for value in parts[k][1:]]
    return np.concatenate([*(parts[k][0] for k in order), *others, *(log_odds[k] - log_odds[first] for k in later)])


def _same(one: tuple[Array, Array], two: tuple[Array, Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# -- partitions -------------------------------------------------------------------------------------------------------


def _middles(seen: Outcome) -> Array:
    """A value of each row: its own, the middle of its interval, or its finite end."""
    value = middles(seen.lower, seen.upper)
    return np.where(np.isnan(value), np.nanmedian(value), value)


def _spread(residual: Array, seen: Outcome) -> IntArray:
    """Rows of EM in the order of their residuals, some of them where they are many; none of weight 0."""
    rows = np.flatnonzero(seen.weight > 0.0)
    order = rows[np.argsort(residual[rows], kind="stable")]
    if len(order) <= _MOST_ROWS:
        return order
    return order[np.linspace(0, len(order) - 1, _MOST_ROWS).astype(np.intp)]


def _partitions(residual: Array, H: Array, basis: Array, components: int) -> Iterator[Array]:
    """Shares (K, n) of rows, which are in the order of their residuals."""
    rng, (n, p) = np.random.default_rng(0), H.shape
    spread = H.std(axis=0)
    columns = (H[:, spread > 0.0] - H[:, spread > 0.0].mean(axis=0)) / spread[spread > 0.0]
    scores = [residual, np.abs(residual), *(residual * column for column in columns.T[:_COMBINATIONS])]
    for _ in range(_COMBINATIONS if columns.shape[1] else 0):
        tilt, mix = rng.normal(size=2), rng.normal(size=(2, columns.shape[1]))
        scores.append(residual * (tilt[0] + columns @ mix[0]) + 0.5 * residual.std() * tilt[1] * (columns @ mix[1]))
    for score in scores:
        group = np.searchsorted(np.quantile(score, np.arange(1, components) / components), score, side="right")
        yield np.where(group == np.arange(components)[:, None], 0.9, 0.1 / (components - 1))
    for _ in range(_LINES):
        rows = rng.integers(n, size=(components, p + 1))
        lines = [np.linalg.lstsq(basis[own], residual[own], rcond=None)[0] for own in rows]
        gap = np.square((residual - np.stack(lines) @ basis.T) / (0.3 * residual.std() + 1e-300))
        yield memberships(-0.5 * gap)


# -- ascents ----------------------------------------------------------------------------------------------------------


def _normal_ends(y: Array, side: Array, H: Array, weight: Array, share: Array) -> list[Array]:
    """Shares (K, n) at the highest ends of EM of normal regressions from T partitions (T, K, n), which differ.

    Of rows whose ``side`` is 1 the value is below y, of those with -1 above.
    """
    hidden = np.flatnonzero(side)
    least, sign = np.square(0.05 * y.std()) + 1e-300, side[hidden]
    target, rest = np.broadcast_to(y, share.shape).copy(), np.zeros(share.shape)
    for _ in range(_NORMAL_STEPS):
        W = share * weight
        size = np.maximum(W.sum(axis=2), 1e-300)
        gram = np.einsum("tkn,np,nq->tkpq", W, H, H, optimize=True)
        gram += 1e-8 * np.eye(H.shape[1]) * np.einsum("tkpp->tk", gram)[..., None, None]
        mean = np.linalg.solve(gram, ((W * target) @ H)[..., None])[..., 0] @ H.T
        variance = np.maximum((W * (np.square(target - mean) + rest)).sum(axis=2) / size, least)[..., None]
        joint = -0.5 * (np.square(y - mean) / variance + np.log(2.0 * np.pi * variance))
        sd, m = np.sqrt(variance), mean[..., hidden]
        z = sign * (y[hidden] - m) / sd
        h, delta = mills(z)
        joint[..., hidden], target[..., hidden], rest[..., hidden] = (
            log_cdf(z),
            m - sign * sd * h,
            variance * (1 - h * delta),
        )
        joint += np.log(size / size.sum(axis=1, keepdims=True))[..., None]
        top = np.logaddexp.reduce(joint, axis=1)
        share = np.exp(joint - top[:, None])
    order = np.argsort(np.average(mean, axis=2, weights=weight), axis=1)
    share = np.take_along_axis(share, order[..., None], axis=1)
    kept: list[Array] = []
    for each in share[np.argsort(-(top @ weight), kind="stable")]:
        if len(kept) < _GO_ON and all(np.abs(each - other).mean() > _DIFFERENT for other in kept):
            kept.append(each)
    return kept


def _ascend(model: MixedModel, seen: Outcome, H: Array, offset: Array, share: Array) -> StartingPoint | None:
    """Parameters after steps of EM of the likelihood from shares (K, n).

    None where a component loses its rows, or follows a few of them.
    """
    for _ in range(_STEPS):
        weight = share * seen.weight
        size = weight.sum(axis=1)
        if (np.square(size) < (H.shape[1] + 2) * np.square(weight).sum(axis=1)).any():
            return None
        parts = [_fit(model, replace(seen, weight=each), H, offset) for each in weight]
        log_weight = np.log(size / size.sum())
        each = (part.rows.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit) for part in parts)
        joint = log_weight[:, None] + np.stack(list(each))
        if not np.isfinite(joint.max(axis=0)).all():
            return None
        share = memberships(joint)
    scales = [float(part.rows.width.max()) for part in parts]
    if min(scales) < NARROWEST * max(scales):
        return None
    order = np.argsort([np.average(part.rows.location, weights=seen.weight) for part in parts], kind="stable")
    first, *later = (parts[k] for k in order)
    others = [value for part in (first, *later) for value in part.others]
    odds = log_weight[order[1:]] - log_weight[order[0]]
    return StartingPoint(first.coefficients, (*(part.coefficients for part in later), *others, *odds.tolist()))


def _fit(model: MixedModel, seen: Outcome, H: Array, offset: Array) -> _Component:
    """The maximum of one regression."""
    component = model.component
    assert isinstance(component, NoiseModel)
    beta, tau, _ = from_noise(seen, H, offset, component.noise, component.known_sigma, own_shape=False)
    scale = () if component.known_sigma is not None else (-tau if component.reciprocal else tau,)
    location = H @ beta + offset
    return _Component(beta, scale, LocationScale(component.noise, location, np.full_like(location, np.exp(tau))))
