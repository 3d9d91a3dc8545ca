r"""Quantiles of a number that all rows ask of the same values: its inverses are tables, the same for all rows.

A number of the distribution of the response is a function of f under each component. Given the values that are asked
about, it is one function :math:`g_j(f)` for all rows, tabulated at nodes of f and cut where it turns. In a row,

.. math:: P(g \le c) = \sum_j w_j \sum_{\text{pieces}} \pm\Bigl[\Phi\Bigl(\frac{g_j^{-1}(c) - m_j}{s_j}\Bigr)
          - \Phi\Bigl(\frac{f_\mathrm{end} - m_j}{s_j}\Bigr)\Bigr],

and Newton's method finds c, with the inverses by cubic interpolation between nodes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.engines import row_chunks
from tobitgp.numerics.normal_functions import average
from tobitgp.numerics.roots import Rows, solve_quantile
from tobitgp.posterior.node_rows import NodeRows
from tobitgp.posterior.questions import UNLINK, Question
from tobitgp.typing import Array

_REACH, _STEP = 8.0, 0.03  # of nodes, in standard deviations of f and in widths of the noise
_MOST, _PAYS = 20_000, 50  # nodes; nodes for each row from which on rows are better off by themselves
_ROWS = 4096
_FLAT = 1e-12  # a step, beside the largest, that is rounding
_LARGEST = 1e290  # stands for what is infinite
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def shared_quantiles(nodes: NodeRows, question: Question, orders: tuple[float, ...]) -> list[Array] | None:
    """Quantiles (n,) of each order; None where rows do not share values and noise, or are too few for tables."""
    if nodes.sigma.shape[1] > 1 or not question.shared:
        return None
    made, by_mean = [], np.argsort(nodes.mean[0])
    for span in row_chunks(0, len(by_mean), _ROWS):
        rows = by_mean[span]
        part, asked = nodes.take(rows), question.take(rows[:1])
        f = _nodes_of(part)
        if f is None:
            return None
        found = _quantiles(part, asked, f, orders)
        if found is None:
            return None
        made.append(found)
    out = np.empty((len(orders), len(by_mean)))
    out[:, by_mean] = np.concatenate(made, axis=1)
    return list(out)


def _nodes_of(nodes: NodeRows) -> Array | None:
    """Values of f (K,) that reach beyond all rows; None where they do not pay."""
    step = _STEP * min(float(s) * noise.reach for s, noise in zip(nodes.sigma[:, 0], nodes.noises, strict=True))
    low, high = (nodes.mean - _REACH * nodes.sd).min(), (nodes.mean + _REACH * nodes.sd).max()
    if not high - low < step * min(_MOST, _PAYS * nodes.mean.shape[1]):
        return None
    return low + step * np.arange(int((high - low) / step) + 2)


class _Piece(NamedTuple):
    """A stretch of nodes between which a number rises or falls: f as cubics of it, constant beyond the ends."""

    g: Array  # (k,), ascending
    cubics: Array  # (5, k + 1), where each begins and its coefficients
    sign: float  # whether the number rises with f

    def inverse(self, c: Array) -> tuple[Array, Array]:
        """Where the number is c, and the slope there."""
        start, f, first, second, third = self.cubics.take(np.searchsorted(self.g, c), axis=1)
        x = c - start
        return f + x * (first + x * (second + x * third)), first + x * (2.0 * second + 3.0 * x * third)


def _pieces(f: Array, g: Array) -> list[_Piece]:
    """Cut a table (K,) where the number turns; none of a constant."""
    step, rise = np.diff(g), _rises(g)
    turned = np.where(np.abs(step) > _FLAT * np.abs(step).max(), np.sign(step), 0.0)
    moves = np.flatnonzero(turned)
    if not len(moves):
        return []
    cuts = moves[1:][turned[moves[1:]] != turned[moves[:-1]]]
    return [_piece(f[k : m + 1], g[k : m + 1], rise[k : m + 1]) for k, m in pairwise([0, *cuts.tolist(), len(step)])]


def _piece(f: Array, g: Array, rise: Array) -> _Piece:
    """From the nodes where the number is larger than before, with slopes that keep its inverse monotone."""
    sign = 1.0 if g[-1] > g[0] else -1.0
    if sign < 0.0:
        f, g, rise = f[::-1], g[::-1], rise[::-1]
    new = np.append(True, g[1:] > np.maximum.accumulate(g)[:-1])
    h, f, g, rise = f[1] - f[0], f[new], g[new], rise[new]
    width, gap = np.diff(g), np.diff(f)
    secant = np.abs(gap / width)
    with np.errstate(divide="ignore"):
        slope = np.minimum(np.abs(h / rise), 3.0 * np.fmin(np.append(secant, np.inf), np.append(np.inf, secant)))
    a, b = sign * slope[:-1] - gap / width, gap / width - sign * slope[1:]
    inner = np.stack([g[:-1], f[:-1], a + gap / width, (b - 2.0 * a) / width, (a - b) / width**2])
    ends = [np.array([[g[k]], [f[k]], [0.0], [0.0], [0.0]]) for k in (0, -1)]
    return _Piece(g, np.hstack([ends[0], inner, ends[1]]), sign)


def _rises(g: Array) -> Array:
    """By how much a table rises from node to node, at each of them."""
    out = np.gradient(g)
    out[2:-2] = (8.0 * (g[3:-1] - g[1:-3]) - (g[4:] - g[:-4])) / 12.0
    return out


def _around(x: Array, f: Array, tables: Array) -> tuple[Array, Array, Array]:
    """Values of tables (J, K) at the nodes below and above x (J, n), and how far x is from the one to the other."""
    place = np.clip((x - f[0]) / (f[1] - f[0]), 0.0, len(f) - 2.0)
    k = place.astype(np.intp)
    left, right = (np.take_along_axis(tables, at, axis=1) for at in (k, k + 1))
    return left, place - k, right


def _quantiles(nodes: NodeRows, question: Question, f: Array, orders: tuple[float, ...]) -> Array | None:
    """Quantiles (orders, n)."""
    tables = np.stack([question.rank(nodes.given(j, f)) for j in range(len(nodes.weight))])
    if np.isnan(tables).any() or (question.order is not None and np.isinf(tables).any()):
        return None
    tables = np.clip(tables, -_LARGEST, _LARGEST)
    pieces = [_pieces(f, g) for g in tables]

    def cdf(c: Array, rows: Rows) -> tuple[Array, Array]:
        F, density = np.zeros_like(c), np.zeros_like(c)
        for weight, m, s, g, of in zip(nodes.weight, nodes.mean[:, rows], sd[:, rows], tables, pieces, strict=True):
            if not of or of[-1].sign < 0.0:
                F += weight * (np.ones_like(c) if of else c >= g[0])
            for piece in of:
                at, slope = piece.inverse(c)
                u = (at - m) / s
                F += piece.sign * weight * ndtr(u)
                density += weight * np.abs(slope) * np.exp(-0.5 * u * u) / s
        return F, density / _ROOT_2PI

    sd, signs = np.maximum(nodes.sd, 1e-300), {tuple(piece.sign for piece in of) for of in pieces}
    monotone = signs in ({(1.0,)}, {(-1.0,)})
    side = np.copysign(1.0, nodes.weight @ (tables[:, -1] - tables[:, 0]))
    left, share, right = _around(nodes.mean, f, tables)
    middle = left + share * (right - left)
    centre, out = average(nodes.weight, middle), []
    for p in orders:
        z = float(ndtri(p))
        left, share, right = _around(nodes.mean + side * z * nodes.sd, f, tables)
        among = np.concatenate([left, right]) if monotone else tables.reshape(-1, 1)
        low, high = (np.broadcast_to(end, centre.shape) for end in (among.min(axis=0), among.max(axis=0)))
        away = np.square(left + share * (right - left) - middle) + np.square(z * (middle - centre))
        start = centre + np.copysign(np.sqrt(average(nodes.weight, away)), z)
        out.append(solve_quantile(cdf, p, low=low, high=high, start=start))
    if question.order is None:
        return UNLINK[question.link](np.stack(out))
    heaviest = int(np.argmax(nodes.weight))
    (piece,) = pieces[heaviest]
    return np.stack([question.number(nodes.given(heaviest, piece.inverse(c)[0])) for c in out])
