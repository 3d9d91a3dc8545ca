"""Marginals in any rows by the compiled core, where it knows all blocks."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tobitgp.compiled import library
from tobitgp.numerics.arrow import Factor
from tobitgp.priors.block import BlockAt, Inputs
from tobitgp.priors.kernel_block import KernelFeatures, MovingFeatures
from tobitgp.priors.prior import DenseFeatures
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.inference.feature_posterior import Layout


def find_marginals(
    layout: Layout, at: Sequence[BlockAt], w: Array, factor: Factor, inputs: Sequence[Inputs]
) -> tuple[Array, Array, Array] | None:
    """Mean of f in rows, variance in what the sites tell of, and residual variance d; (n,) each.

    None where the core is not there or does not know a block.
    """
    if (
        library.load() is None
        or not all(map(_is_known, at))
        or any(place.kind in ("spread", "sparse") for place in layout.places)
    ):
        return None
    n, held = len(inputs[0].X), [w, factor.inverse]
    mean, v_p, d = np.empty((3, n))
    rows, blocks = library.Rows(n=n, groups=layout.size), (library.Block * len(at))()
    for block, known, place, own in zip(blocks, at, layout.places, inputs, strict=True):
        block.own, block.first, block.size = place.kind == "own", place.columns.start, known.size
        held.append(np.ascontiguousarray(own.X))
        block.kind, block.kept, block.X = library.COLUMNS, known.size, library.address(held[-1])
        if block.own and own.code is not None:
            held.append(np.ascontiguousarray(own.code, dtype=np.int32))
            rows.code = library.address(held[-1])
        if isinstance(known, KernelFeatures):
            factors = known.covariance.factors
            block.kind, block.inputs = known.covariance.compiled, own.X.shape[1]
            block.each, block.variance = factors[0].ard if factors else False, known.variance
            theta = np.concatenate([[0.0], np.log(known.parameters)])
            held += [np.asfortranarray(known.T), np.ascontiguousarray(known.Z), theta]
            block.T, block.Z_kept, block.theta = map(library.address, held[-3:])
    e = library.Evaluation(p=layout.p, m=layout.m, n_blocks=len(at))
    e.blocks, e.rows, e.w, e.d = (
        ctypes.addressof(blocks),
        ctypes.addressof(rows),
        library.address(w),
        library.address(d),
    )
    if factor.T is not None and factor.U is not None:
        held += [np.ascontiguousarray(factor.T), np.ascontiguousarray(factor.U)]
        e.T, e.U = map(library.address, held[-2:])
    pointers = (ctypes.c_void_p(library.address(array)) for array in (factor.inverse, mean, v_p))
    if not library.load().find_marginals(ctypes.byref(e), *pointers):
        raise MemoryError
    return mean, v_p, d


def _is_known(at: BlockAt) -> bool:
    if isinstance(at, KernelFeatures):
        return at.covariance.compiled is not None and not isinstance(at, MovingFeatures)
    return isinstance(at, DenseFeatures)
