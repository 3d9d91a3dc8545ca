"""The posterior of f in several rows together, and draws from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.inference.posterior import Posterior as FittedPoint
from tobitgp.prior.block import Inputs
from tobitgp.results.rows import Asked, ask
from tobitgp.results.views import Parts
from tobitgp.typing import Array, Frame

DRAWN = ("uncensored", "latent", "observed")


class Posterior(NamedTuple):
    """Mean (Series) and covariance (DataFrame) of f, labelled by rows."""

    mean: pd.Series[float]
    covariance: pd.DataFrame


def joint_posterior(parts: Parts, new: Frame | None, exclude: Any = ()) -> Posterior:
    """Mean and covariance of f in the user's units; see ``GPResults.posterior``."""
    asked = ask(parts, new, exclude)
    mean, V = joint_moments(parts, asked)
    covariance = np.full((len(asked.usable),) * 2, np.nan)
    covariance[np.ix_(asked.usable, asked.usable)] = V
    index = asked.index
    return Posterior(
        pd.Series(asked.spread(mean), index=index, name="latent"),
        pd.DataFrame(covariance, index=index, columns=index),
    )


def joint_moments(parts: Parts, asked: Asked) -> tuple[Array, Array]:
    """Mean (n,) and covariance (n, n) of f, by the law of total covariance over the design points."""
    fitted, gp, scale = parts.fitted, parts.gp, parts.gp.problem.units.scale
    inputs, known = gp.inputs(asked.design), gp.known_mean(asked.design)
    means, V = np.empty((len(fitted.points), len(known))), np.zeros((len(known), len(known)))
    for j, (point, weight) in enumerate(zip(fitted.points, fitted.weights, strict=True)):
        A, d = point.features(inputs, asked.skip)
        means[j] = known + scale * A.times(point.w)
        V += weight * scale**2 * (point.factor.covariance(A) + np.diag(d))
        for E in unseen_groups(point, inputs, asked.skip):
            V += weight * scale**2 * (E @ E.T - np.diag(np.einsum("nk,nk->n", E, E)))
    mean = fitted.weights @ means
    between = means - mean
    return mean, V + np.einsum("j,jn,jk->nk", fitted.weights, between, between)


def sample_table(
    parts: Parts,
    new: Frame | None,
    draws: int,
    *,
    what: str,
    rng: int | np.random.Generator | None,
    exclude: Any = (),
) -> pd.DataFrame:
    """Draws as a table; see ``GPResults.sample``."""
    if what not in DRAWN:
        raise SpecError(f"what={what!r} is not drawn; choose one of {', '.join(map(repr, DRAWN))}.")
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
        raise SpecError(f"draws={draws!r}: a whole number of at least 1 is needed.")
    asked = ask(parts, new, exclude)
    limits = asked.limits() if what == "observed" else None
    y = draw_latent(
        parts, asked, int(draws), noise=what != "latent", rng=np.random.default_rng(0 if rng is None else rng)
    )
    if what != "latent" and parts.gp.family.log_time:
        with np.errstate(over="ignore"):
            y = np.exp(y)
    if limits is not None:
        y = np.clip(y, limits[0][:, None], limits[1][:, None])
    return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(int(draws), name="draw"))


def draw_latent(parts: Parts, asked: Asked, draws: int, *, noise: bool, rng: np.random.Generator) -> Array:
    """Draws (n, draws) of f, or of f plus noise, on the scale of f, the rows of a draw together."""
    fitted, gp, scale = parts.fitted, parts.gp, parts.gp.problem.units.scale
    inputs, known = gp.inputs(asked.design), gp.known_mean(asked.design)
    out = np.empty((len(known), draws))
    chosen = rng.choice(len(fitted.weights), size=draws, p=fitted.weights)
    for j, point in enumerate(fitted.points):
        at = np.flatnonzero(chosen == j)
        if not len(at):
            continue
        A, d = point.features(inputs, asked.skip)
        f = A.times(point.w[:, None] + point.factor.colour(rng.standard_normal((len(point.w), len(at)))))
        for E in unseen_groups(point, inputs, asked.skip):
            f += E @ rng.standard_normal((E.shape[1], len(at)))
            d = d - np.einsum("nk,nk->n", E, E)
        variance = np.maximum(d, 0.0) + point.sigma**2 * noise
        f += np.sqrt(variance)[:, None] * rng.standard_normal(f.shape)
        out[:, at] = known[:, None] + scale * f
    return out


def unseen_groups(point: FittedPoint, inputs: Sequence[Inputs], skip: frozenset[int]) -> Iterator[Array]:
    """Features (n, K) of the weights that groups not seen in training share among their rows, block by block."""
    for t, (block, at) in enumerate(zip(point.blocks, inputs, strict=True)):
        if at.code is None or t in skip or not (at.code < 0).any():
            continue
        new, position = np.unique(at.code, return_inverse=True)
        A = block.features(at.X).A
        for column in A.T:
            yield np.where(np.equal.outer(position, np.flatnonzero(new < 0)), column[:, None], 0.0)
