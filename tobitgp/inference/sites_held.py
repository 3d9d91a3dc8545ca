"""The evidence with features and sites that stay, which meets no rows, and the ascent that it leads, (FEA17).

With sites held at those of some parameters, the sums over rows that (FEA12) needs are known for all others. The slope
of this evidence is true there, as a fixed point is stationary in its sites. How sites follow the parameters elsewhere
is learned from the steps, as a symmetric matrix that every step corrects by one of rank 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.inference.evidence_ascent import (
    INFEASIBLE,
    EvidenceMaximum,
    Objective,
    ascend_with,
    climb,
    refined_root,
)
from tobitgp.inference.frozen import Frozen, FrozenAt
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.principal_axes import principal_axes, principal_root
from tobitgp.numerics.arrow import multiply
from tobitgp.typing import Array

_NEAR = 1e-3  # slope in standard deviations at which an ascent of what meets no rows ends
_STEPS = 50
_PART = 0.1  # of a standard deviation, over which slopes are differenced
_SMALL = 1e-8  # cosine below which a step says nothing of a correction


@dataclass(slots=True)
class SitesHeld:
    """The log posterior density with the sites of one place, and a quadratic correction around it."""

    frozen: Frozen
    sums: Sequence[Any]  # over the rows whose sites are sought
    objective: Objective
    free: Array  # (k_free,), the place
    bend: Array  # (k_free, k_free), what sites that follow add to the second derivatives
    slope: Array  # (k_free,), what the rows' noise adds to the first
    last: Array | None = None  # the gradient last found

    @classmethod
    def at(cls, objective: Objective, free: Array, gradient: Array, bend: Array) -> SitesHeld:
        """At the place whose sites the objective has, and the gradient (k_free,) there."""
        kept = objective.kept
        assert isinstance(kept, Frozen)
        sums = kept.site_sums(objective.data, objective.theta(free), objective.method, objective.model.likelihood)
        found = cls(kept, sums, objective, free, bend, np.zeros(len(free)))
        found.slope = gradient - found.value_and_gradient(free)[1]
        return found

    @property
    def parameters(self) -> Parameters:
        """Those that are sought."""
        return self.objective.parameters

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Value, up to a constant, and gradient (k_free,)."""
        theta, step = self.objective.theta(free), free - self.free
        there = FrozenAt.of(self.frozen, theta)
        try:
            q = there.given(*self.sums)
        except NumericalError:
            return -INFEASIBLE, np.zeros_like(free)
        prior, of_prior = self.parameters.log_prior(theta)
        gradient = (there.gradient(theta, q, None, []) + of_prior)[self.parameters.free]
        value = there.known_evidence(q) - 0.5 * (q.quadratic + q.log_det) + prior
        if self.sums:
            G, r = self.sums
            value += float(r @ q.w) - 0.5 * float(q.w @ multiply(G, q.w))
        self.last = gradient + self.slope + self.bend @ step
        return value + float(self.slope @ step) + 0.5 * float(step @ self.bend @ step), self.last

    def curvature(self, free: Array, root: Array) -> Array:
        """Minus the second derivatives along columns of a root of their inverse, (k_open, k_open)."""
        slopes = [self.value_and_gradient(free + part * axis)[1] for part in (-_PART, _PART) for axis in root.T]
        below, above = np.split(np.array(slopes), 2)
        H = (below - above) @ root / (2.0 * _PART)
        return 0.5 * (H + H.T)


def ascend_held(objective: Objective, free: Array, inverse: Array, *, tol: float, max_iter: int) -> EvidenceMaximum:
    """Steps to where the evidence with sites held has its maximum, until it promises less than ``tol`` nats.

    What is left to gain is that before the last step. The inverse curvature known beforehand gives the first
    correction, in the noise parameters.
    """
    value, gradient = objective.value_and_gradient(free)
    root, bend = principal_axes(inverse), np.zeros((len(free), len(free)))
    held = SitesHeld.at(objective, free, gradient, bend)
    bend = _bend_of_noise(held, root, inverse)
    for _ in range(max_iter):
        held.bend = bend
        trial = climb(held, free, root, tol=_NEAR, max_iter=_STEPS)
        (before, _), (after, expected) = held.value_and_gradient(free), held.value_and_gradient(trial)
        gain = after - before
        if gain < tol:  # the last step is so short that it is taken unseen
            free, value = trial, value + gain
            break
        new_value, new_gradient = objective.value_and_gradient(trial)
        if not new_value > value:
            found = ascend_with(objective, free, inverse, tol=tol, max_iter=max_iter)
            return replace(found, root=refined_root(objective, found.free, found.root))
        bend = _corrected(bend, trial - free, new_gradient - expected)
        free, value, gradient = trial, new_value, new_gradient
        held = SitesHeld.at(objective, free, gradient, bend)
        root = root @ principal_root(held.curvature(free, root))
    root = root @ principal_root(held.curvature(free, root))
    left = root.T @ gradient
    return EvidenceMaximum(objective, free, value, root, 0.5 * float(left @ left))


def _bend_of_noise(held: SitesHeld, root: Array, inverse: Array) -> Array:
    """The correction (k_free, k_free) that noise parameters lack to the inverse curvature, on the diagonal."""
    own = np.linalg.pinv(root)
    lacking = np.linalg.pinv(inverse) - own.T @ held.curvature(held.free, root) @ own
    noise = np.arange(len(held.parameters.names)) >= held.frozen.n_of_blocks
    return -np.diag(np.where(noise[held.parameters.free], np.diag(lacking), 0.0))


def _corrected(bend: Array, step: Array, missing: Array) -> Array:
    """The correction with the change of slopes (k_free,) over a step that it did not tell."""
    along = float(missing @ step)
    if abs(along) < _SMALL * float(np.linalg.norm(missing) * np.linalg.norm(step)):
        return bend
    return bend + np.outer(missing, missing) / along
