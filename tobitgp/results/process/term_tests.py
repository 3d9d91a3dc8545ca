"""Whether a process or a random effect is there at all: (ANO2) and (ANO3) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

from tobitgp.engines import row_chunks
from tobitgp.numerics.arrow import by_group
from tobitgp.typing import Array, IntArray

if TYPE_CHECKING:
    from tobitgp.inference.feature_posterior import FeaturePosterior
    from tobitgp.kinds.process import ProcessParts

MOST_COLUMNS = 2000  # of a term, beyond which no covariance of all of them is formed
_MOST_CELLS = 20_000_000  # of covariances between a term and all weights
_NOTHING = 1e-10  # relative to the largest eigenvalue


class TermTest(NamedTuple):
    """A joint test of a term."""

    df: float
    chi2: float
    p: float
    edf: float = np.nan  # effective number of parameters, of a process


def joint_test_of_process(parts: ProcessParts, blocks: Sequence[int]) -> TermTest:
    """Test a process, with its line, at the maximum of the hyper-parameters."""
    point, block = parts.fitted.points[0], blocks[0]
    if point.field is not None and block in point.field.blocks:
        return TermTest(np.nan, np.nan, np.nan)
    places = np.concatenate([_places(point, t) for t in blocks])
    if len(places) > MOST_COLUMNS or len(places) * len(point.w) > _MOST_CELLS:
        return TermTest(np.nan, np.nan, np.nan)
    E = np.zeros((len(point.w), len(places)))
    E[places, np.arange(len(places))] = 1.0
    whole = point.factor.colour(point.factor.whiten(E))
    S, w = whole[places], point.w[places]
    edf, square = len(w) - float(np.trace(S)), float(np.sum(whole**2))
    t = block - (parts.gp.linear is not None)
    if not parts.gp.terms[t].factors:
        return _test_effects(S, w, edf, parts.facts.nobs - parts.fitted.n_linear - edf)
    if parts.training is None:
        return TermTest(np.nan, np.nan, np.nan, edf)
    # tr(2 F - F F) with F = I - S, of all weights in the square
    rank = round(len(w) - square)
    return _test_curve(_gram(parts, blocks), S, w, max(rank, 1), edf)


def _places(point: FeaturePosterior, block: int) -> IntArray:
    """Where the weights of a block are among all, group after group."""
    from tobitgp.inference.feature_layout import weight_places

    of = point.blocks[block]
    groups = np.arange(1 if of.grouping is None else of.grouping.size)
    return weight_places(point.layout, point.layout.places[block], groups, of.size).ravel()


def _gram(parts: ProcessParts, blocks: Sequence[int]) -> Array:
    """Sum over the training rows, by weight, of products of the features of blocks, measured from their level.

    Where there are groups there is one block.
    """
    from tobitgp.inference.feature_layout import block_features
    from tobitgp.inference.site_updates import CHUNK_ROWS

    point, inputs = parts.fitted.points[0], parts.gp.inputs(parts.rows.design)
    weight, own = parts.rows.response.weight, [point.blocks[t] for t in blocks]
    of, size = own[0], sum(b.size * (1 if b.grouping is None else b.grouping.size) for b in own)
    G = np.zeros((size, size))
    for rows in row_chunks(0, len(weight), CHUNK_ROWS):
        here, scale = [inputs[t].rows(rows) for t in blocks], np.sqrt(weight[rows, None])
        measured = [block_features(b, at).A - point._level(t, at) for b, t, at in zip(own, blocks, here, strict=True)]
        A, code = scale * np.concatenate(measured, axis=1), here[0].code
        if of.grouping is None or code is None:
            G += A.T @ A
        else:
            spread = by_group(A, code, of.grouping.size)
            G += (spread.T @ spread).toarray()
    return G


def _test_curve(G: Array, S: Array, w: Array, rank: int, edf: float) -> TermTest:
    """Wood's test of a curve A w with A'A = G: its values and their covariance cut to a rank, (ANO2)."""
    root = np.linalg.cholesky(S)
    value, vector = np.linalg.eigh(root.T @ G @ root)
    rank = min(rank, int((value > _NOTHING * value[-1]).sum()))
    value, vector = value[::-1][:rank], vector[:, ::-1][:, :rank]
    chi2 = float(np.sum(np.square(vector.T @ (root.T @ (G @ w)) / value)))
    return TermTest(float(rank), chi2, float(chdtrc(rank, chi2)), edf)


def _test_effects(S: Array, w: Array, edf: float, df_resid: float) -> TermTest:
    """Score test of no variance: squared scores, whose sum has three moments of a chi-squared variable, (ANO3)."""
    precision = np.linalg.inv(S)
    scores, K = precision @ w, precision - np.eye(len(w))
    first, KK = float(np.trace(K)), K @ K
    second, third = float(np.trace(KK)), float(np.sum(KK * K))
    df = second**3 / third**2
    chi2 = max(df + (float(scores @ scores) - first) * np.sqrt(df / second), 0.0)
    return TermTest(df, chi2, float(fdtrc(df, df_resid, chi2 / df)), edf)
