"""Natural-gradient steps of the posterior of the weights by batches of rows, (SVI1) to (SVI5) of the theory pages.

What rows say of the weights is a sum over them, ``G`` and ``r`` of (FEA12), so a step moves an estimate of the sum
towards that of a batch. Hyper-parameters follow by the slopes of the bound there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.inference import site_updates
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.frozen import Frozen, FrozenAt, KnownMoments, begin, keep, noise_slopes
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import RowPartition
from tobitgp.inference.site_updates import Setting
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.arrow import Arrow, identity, inverse_arrow
from tobitgp.typing import Array


class RowSums(NamedTuple):
    """What rows say of the weights: those whose sites are known, if sigma were 1, and the others by their sites."""

    known: KnownMoments
    G: Arrow
    r: Array

    def times(self, factor: float) -> RowSums:
        """Those of so many times the rows."""
        return _mapped(lambda a: factor * a, self)

    def towards(self, other: RowSums, rho: float) -> RowSums:
        """A step to others."""
        return _mapped(lambda a, b: (1.0 - rho) * a + rho * b, self, other)


def _mapped(function: Any, *values: Any) -> Any:
    first = values[0]
    if not isinstance(first, tuple):
        return function(*values)
    items = [_mapped(function, *each) for each in zip(*values, strict=True)]
    return type(first)(*items) if hasattr(first, "_fields") else tuple(items)


@dataclass(frozen=True, slots=True)
class BatchModel:
    """Features that stay, and how rows are met."""

    frozen: Frozen
    method: Method
    likelihood: Likelihood

    def setting(self, theta: Array) -> Setting:
        """At given parameters."""
        view = Spread(self.method.view(self.likelihood.at(theta)))
        return Setting(self.frozen.at, self.frozen.layout, self.method, view, float(np.exp(theta[-1])))

    def sums(self, part: RowPartition, theta: Array) -> RowSums:
        """What rows say by the sites that they have."""
        setting = self.setting(theta)
        part = keep(part, setting, True)
        return self._sums(part, begin(part, setting, True))

    def _sums(self, part: RowPartition, state: site_updates.SitesState) -> RowSums:
        assert part.kept is not None
        nothing = self.frozen.known
        known = KnownMoments(*part.kept.sums) if part.kept.sums else nothing
        found = site_updates.site_sums(state) if state.chunks else []
        return RowSums(known, *(found or (nothing.G, nothing.r)))

    def visit(self, part: RowPartition, at: StepState, factor: float) -> Visited:
        """What a batch, each row of which stands for ``factor`` rows, says at a posterior."""
        setting = self.setting(at.theta)
        part = keep(part, setting, True)
        state = begin(part, setting, True)
        expected, slopes = 0.0, np.zeros(0)
        if state.chunks:
            state = site_updates.visit(state, at.q)
            expected, slopes = float(state.sums[2]), factor * noise_slopes(state, at.q, None)[0]
            state = site_updates.take_step(state, 1.0)
        sums = self._sums(part, state).times(factor)
        return Visited(sums, slopes, factor * expected + at.known_part(sums.known) - at.divergence)


class Visited(NamedTuple):
    """What a batch says of all rows."""

    sums: RowSums  # goal of the natural-gradient step, (SVI2)
    slopes: Array  # of the bound in the noise parameters, by rows whose sites are sought; none without any
    bound: float  # (SVI3)


class StepState(NamedTuple):
    """A posterior on the way: what rows are taken to say, hyper-parameters, and what follows from both."""

    sums: RowSums
    theta: Array
    there: FrozenAt
    q: FeatureWeights

    @classmethod
    def of(cls, model: BatchModel, sums: RowSums, theta: Array) -> StepState:
        """From the sums and hyper-parameters, (FEA12)."""
        there = FrozenAt.of(replace(model.frozen, known=sums.known), theta)
        return cls(sums, theta, there, there.given(sums.G, sums.r))

    def known_part(self, known: KnownMoments) -> float:
        """Expected log likelihood of rows whose sites are known."""
        return self.there.expected(known, self.q)

    @property
    def divergence(self) -> float:
        """``KL(q || prior)`` of the weights: ``(tr S + |w|^2 - M + log |B|) / 2``."""
        S = inverse_arrow(self.q.factor)
        trace = float(np.trace(S[0])) + sum(float(np.trace(own[:, :, : own.shape[1]], 0, 1, 2).sum()) for own in S[1:])
        return 0.5 * (trace + self.q.quadratic - len(self.q.w) + self.q.log_det)

    def gradient(self, slopes: Array) -> Array:
        """Of the bound in the hyper-parameters, (k,), (SVI5)."""
        return self.there.gradient(self.theta, self.q, None, [slopes] if len(slopes) else [])
