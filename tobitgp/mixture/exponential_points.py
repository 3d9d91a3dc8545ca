"""Point estimates of the natural parameters of an exponential family, and what keeps its likelihood finite."""

from __future__ import annotations

import numpy as np

from tobitgp.mixture.conjugate_posterior import maximise
from tobitgp.mixture.exponential_members import ExponentialMembers
from tobitgp.mixture.family import Sums
from tobitgp.mixture.mixture_rows import Floor, WorkingRows
from tobitgp.typing import Array, BoolArray

_NARROWEST = 0.02  # sd of a statistic, in that of the rows, below which point estimates do not go
_EQUAL = 1e-9  # sd of a statistic, in its mean, below which the rows are equal
_HALVINGS, _CLOSE = 200, 1e-9  # of the way to an estimate that is too narrow
_TO_BOUND = 0.3  # of the distance to a bound of a natural parameter, that a step is at most


def sizes(family: ExponentialMembers, theta: Array) -> Array:
    """Standard errors of the natural parameters by one row, (S, K)."""
    cov = np.moveaxis(family.moments(theta).cov, 2, 0)
    with np.errstate(all="ignore"):
        return np.sqrt(np.maximum(np.diagonal(np.linalg.pinv(np.nan_to_num(cov)), axis1=1, axis2=2).T, 1e-300))


def steps(family: ExponentialMembers, theta: Array) -> Array:
    """Lengths of steps, which keep inside the bounds of the natural parameters."""
    free = [np.minimum(x - one.low, one.high - x) for one, x in zip(family.natural, theta, strict=True)]
    return np.minimum(sizes(family, theta), _TO_BOUND * np.stack(free))


def maximum(family: ExponentialMembers, theta: Array, sums: Sums, floor: Floor, *, cautious: bool = False) -> Array:
    """Where the means of the statistics are those of the rows, or on the way there where a bound is met."""
    held = sums.counts > 0.0
    mean = np.where(held, sums.statistics / np.where(held, sums.counts, 1.0), family.moments(theta).mean)
    start = np.stack([one.coordinate(x) for one, x in zip(family.natural, theta, strict=True)])
    u = maximise(family.natural, family.log_partition, mean, np.ones(theta.shape[1]), start, slopes=False)[0]
    new = np.stack([one.at(x) for one, x in zip(family.natural, u, strict=True)])
    new = np.where(held & np.isfinite(new).all(axis=0), new, theta)
    if _allowed(family, new, floor).all():
        return new
    low, high = np.zeros(theta.shape[1]), np.ones(theta.shape[1])
    for _ in range(_HALVINGS):
        middle = np.where(_allowed(family, theta + high * (new - theta), floor), high, 0.5 * (low + high))
        good = _allowed(family, theta + middle * (new - theta), floor)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
        if (high - low <= _CLOSE * high).all():
            break
    return np.asarray(theta + low * (new - theta))


def score(family: ExponentialMembers, theta: Array, sums: Sums) -> Array:
    """Derivatives of the log likelihood."""
    return np.asarray(sums.statistics - sums.counts * family.moments(theta).mean)


def floor(family: ExponentialMembers, working: WorkingRows) -> Floor:
    """A part of the standard deviations of the statistics among the ends of the rows."""
    lower, upper, weight = working.joined()
    y = np.concatenate([lower, upper])
    w = np.concatenate([weight, weight])
    good = family.takes(y)
    if not good.any():
        return np.zeros((len(family.natural), 1))
    T = np.stack(family.statistic(y[good]))
    mean = np.average(T, axis=1, weights=w[good])[:, None]
    sd = np.sqrt(np.average((T - mean) ** 2, axis=1, weights=w[good]))
    sd = np.where(sd > _EQUAL * np.abs(mean[:, 0]), sd, _spread_about(family, y[good][0]))
    return np.asarray(_NARROWEST * sd[:, None])


def _spread_about(family: ExponentialMembers, y: float) -> Array:
    """Changes of the statistics (S,) in a step of 1 of the coordinate of a value, or to the next count."""
    if family.discrete:
        near = np.array([y, y + 1.0 if y < family.ends[1] else y - 1.0])
    else:
        near = family.values.at(family.values.coordinate(np.array([y])) + np.array([0.0, 1.0]))
    return np.abs(np.diff(np.stack(family.statistic(near)), axis=1))[:, 0]


def _width(family: ExponentialMembers, theta: Array, floor: Floor) -> Array:
    """Largest standard deviation of a statistic in its floor, (K,)."""
    sd = np.sqrt(np.diagonal(family.moments(theta).cov).T)
    with np.errstate(all="ignore"):
        return np.asarray((sd / np.asarray(floor)).max(axis=0))


def _allowed(family: ExponentialMembers, theta: Array, floor: Floor) -> BoolArray:
    return np.asarray(_width(family, theta, floor) >= 1.0)


def bounds(family: ExponentialMembers, theta: Array, floor: Floor) -> tuple[Array, Array]:
    """Ends of the natural parameters."""
    low, high = (np.array([[getattr(one, end)] for one in family.natural]) for end in ("low", "high"))
    return low, high


def possible(family: ExponentialMembers, theta: Array, floor: Floor) -> bool:
    """Whether all components are wide enough."""
    return bool(_allowed(family, theta, floor).all())


def held(family: ExponentialMembers, theta: Array, floor: Floor) -> BoolArray:
    """Which parameters are held at the floor, (S, K)."""
    return np.broadcast_to(narrow(family, theta, floor), theta.shape)


def narrow(family: ExponentialMembers, theta: Array, floor: Floor) -> BoolArray:
    """Which components are at the floor, (K,)."""
    return np.asarray(_width(family, theta, floor) < 1.0 + 1e-6)
