"""Sets of a knot and its neighbours by the compiled core, several side by side."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from tobitgp.compiled import library
from tobitgp.priors.compiled_fronts import pointers
from tobitgp.typing import Array, IntArray


class NeighbourContrasts(NamedTuple):
    """What each knot owes its neighbours, (VEC1)."""

    q: Array  # (N, m + 1), ``(-b_i, 1)``
    D: Array  # (N,)
    Q: Array  # (P,), precisions of pairs


def find_contrasts(pair: np.ndarray, K: Array, least: float) -> NeighbourContrasts:
    """From the pairs of each set, (N, T), and covariances of pairs, (P + 2,); no variance is below ``least``."""
    sets, scratch = _described(pair)
    q, D, Q = np.empty((sets.n, sets.size)), np.empty(sets.n), np.zeros(len(K))
    library.load().fix_sets(ctypes.byref(sets), *pointers(K), ctypes.c_double(least), *pointers(q, D, Q, scratch))
    return NeighbourContrasts(q, D, Q[:-2])


def slopes_of_pairs(pair: np.ndarray, K: Array, M: Array, contrasts: Array, D: Array) -> tuple[Array, float]:
    """Derivatives by covariances of pairs, (P,), and by log sd, from second moments M of pairs, (P + 2,), (VEC5)."""
    sets, scratch = _described(pair)
    G = np.zeros(len(K))
    by_sd = library.load().slope_sets(ctypes.byref(sets), *pointers(K, M, contrasts, D, G, scratch))
    return G[:-2], float(by_sd)


def add_columns(rows: IntArray, columns: IntArray, S: Array, signs: Array, M: Array) -> None:
    """Add ``sum_j signs_j s_j s_j'`` of columns S (N, k) to moments M of pairs, (P,)."""
    held = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(columns, np.int32), np.ascontiguousarray(S), signs
    library.load().add_columns(ctypes.c_long(len(rows)), len(signs), *pointers(*held, M))


def _described(pair: np.ndarray) -> tuple[library.Sets, Array]:
    size = int(np.sqrt(2 * pair.shape[1]))
    sets = library.Sets(len(pair), size, library.address(pair))
    return sets, np.empty(library.load().sets_scratch(ctypes.byref(sets)))
