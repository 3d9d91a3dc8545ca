"""Posteriors that copies hold by parameters, inducing inputs and sites, from which all else follows bit for bit.

The Cholesky factors of a dense process are many times as large as its rows, once for each node of an average over
hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from tobitgp.data.arrays import take
from tobitgp.engines import LocalPartitions, single_blas_thread
from tobitgp.errors import NumericalError
from tobitgp.inference.feature_layout import Layout, join_features
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.site_updates import Joined, SitesState
from tobitgp.numerics.arrow import Factor, factorise, identity
from tobitgp.numerics.linear_algebra import cholesky
from tobitgp.priors.kernel_block import KernelFeatures
from tobitgp.priors.prior import DenseFeatures
from tobitgp.priors.structure import BlockAt, Inputs
from tobitgp.typing import Array

_DENSE = 0.25  # weights a row, below which the rows are no smaller than the factors


class Posteriors(Sequence[FeaturePosterior]):
    """Posteriors of the same rows; copies make those that follow from their sites when they are first looked at."""

    def __init__(self, points: Sequence[Any], inputs: tuple[Inputs, ...]):
        self._points, self._inputs = list(points), inputs

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, at: int) -> FeaturePosterior: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[FeaturePosterior, ...]: ...
    def __getitem__(self, at: int | slice) -> FeaturePosterior | tuple[FeaturePosterior, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        if isinstance(self._points[at], _Lean):
            self._points[at] = self._points[at].made(self._inputs)
        found: FeaturePosterior = self._points[at]
        return found

    def __iter__(self) -> Iterator[FeaturePosterior]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        lean = [_Lean(p) if isinstance(p, FeaturePosterior) and p.follows else p for p in self._points]
        return Posteriors, (lean, self._inputs)


class _Lean:
    """A posterior without what follows from its sites."""

    def __init__(self, point: FeaturePosterior):
        nothing = np.zeros((0, 0))
        blocks = tuple(replace(b, L=nothing) if isinstance(b, KernelFeatures) else b for b in point.blocks)
        self._point = replace(point, blocks=blocks, w=np.zeros(0), factor=Factor(nothing))

    def made(self, inputs: Sequence[Inputs]) -> FeaturePosterior:
        """All of it, from the inputs of the rows."""
        point = self._point
        with single_blas_thread(), np.errstate(all="ignore"):
            blocks, factor, w, _ = _solved(point.blocks, point.layout, inputs, point.sites)
        return replace(point, blocks=blocks, factor=factor, w=w)


def following(posterior: FeaturePosterior) -> FeaturePosterior:
    """The posterior made from its parameters, inducing inputs and sites alone, where copies are to hold these."""
    state = _state(posterior)
    if state is None or len(posterior.w) < _DENSE * len(state.part):
        return posterior
    try:
        inputs = _packed(state.part.inputs)
        blocks, factor, w, all_rows = _solved(posterior.blocks, posterior.layout, inputs, state.sites)
    except NumericalError:
        return posterior
    setting = state.setting._replace(blocks=blocks)
    chunks = tuple(replace(chunk, kept=(take(all_rows, chunk.span),), for_slopes=False) for chunk in state.chunks)
    states = LocalPartitions([state._replace(setting=setting, chunks=chunks)])
    return replace(posterior, blocks=blocks, factor=factor, w=w, states=states, follows=True)


def together(points: Sequence[FeaturePosterior], rows: FeaturePosterior) -> tuple[FeaturePosterior, ...] | Posteriors:
    """Points of a fit, of which one still has its rows."""
    state = _state(rows)
    return tuple(points) if state is None else Posteriors(points, _packed(state.part.inputs))


def _state(posterior: FeaturePosterior) -> SitesState | None:
    """The rows, where they are all in one place, of kernels and columns without groups."""
    parts = posterior.rows
    plain = all(type(block) in (KernelFeatures, DenseFeatures) for block in posterior.blocks)
    common = all(place.kind == "common" for place in posterior.layout.places)
    alone = not posterior.noise and posterior.pairs is None and type(posterior.factor) is Factor
    if not (plain and common and alone and isinstance(parts, LocalPartitions) and len(parts) == 1):
        return None
    return parts.items[0] if isinstance(parts.items[0], SitesState) else None


def _packed(inputs: Sequence[Inputs]) -> tuple[Inputs, ...]:
    """Inputs in the order in memory that copies have."""
    return tuple(Inputs(np.ascontiguousarray(at.X)) for at in inputs)


def _solved(
    blocks: Sequence[BlockAt], layout: Layout, inputs: Sequence[Inputs], sites: Sites
) -> tuple[tuple[BlockAt, ...], Factor, Array, Joined]:
    """Blocks, the factor of B and the weights, (SIT2), and the features of all rows."""
    made = tuple(_factorised(block) if isinstance(block, KernelFeatures) else block for block in blocks)
    joined = join_features(layout, made, inputs)
    (unit,), A = identity(layout.p), joined[1]
    factor = factorise((unit + A.gram(sites.lambda2)[0],))
    return made, factor, factor.solve(A.adjoint(sites.lambda1)), joined


def _factorised(block: KernelFeatures) -> KernelFeatures:
    """The block with the factor of its covariance of inducing inputs."""
    K = block.variance * block.covariance.value(block.Z, block.Z, block.parameters)
    return replace(block, L=cholesky(np.asfortranarray(K)))
