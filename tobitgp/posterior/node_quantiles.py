r"""Quantiles of a number of the distribution of the response whose location is a mixture of normals.

A number that depends on :math:`(f + c_j) / d_j` alone has the quantiles of that mixture of normals, (PRE3) and (SUR8)
of the theory pages; one that rises or falls with f has those of f, where components with other noise are held to show
the same number. Of any other the distribution function is added up over the cells between nodes of f, whatever its
shape: (SUR10).

Where all rows ask of the same values, the number is one function :math:`g_j(f)` under each component, tabulated at
nodes of f and cut where it turns. In a row,

.. math:: P(g \le c) = \sum_j w_j \sum_{\text{pieces}} \pm\Bigl[\Phi\Bigl(\frac{g_j^{-1}(c) - m_j}{s_j}\Bigr)
          - \Phi\Bigl(\frac{f_\mathrm{end} - m_j}{s_j}\Bigr)\Bigr],

and Newton's method finds c, with the inverses by cubic interpolation between nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.distributions.convolution import HALF_LOG_2PI
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import row_chunks
from tobitgp.numerics.normal_functions import average, normal_quantile
from tobitgp.numerics.roots import RowIndex, solve_quantile
from tobitgp.posterior.node_rows import NodeRows
from tobitgp.posterior.questions import UNLINK, Question
from tobitgp.typing import Array, BoolArray, IntArray

_REACH, _STEP = 6.0, 0.05  # of nodes, in standard deviations of f and in widths of the noise
_NODES, _MORE_NODES = 65, 513  # the second for numbers that change fast with f
_CELLS, _MANY = 512, 50  # rows
_NEWTON_STEPS, _SLOPE = 50, 1e-5
_BEYOND = 40.0  # standard deviations of f, where its probability is not a number
_DIGITS = 1e-11  # of ranks, which far out say less of f than its sd asks


def quantiles(nodes: NodeRows, question: Question, orders: tuple[float, ...]) -> list[Array]:
    """Quantiles of the number given f and the noise, (n,) each, or (n, m) at several values per row."""
    if nodes.mean.ndim > 2:
        return _each_value(nodes, question, orders)
    with np.errstate(all="ignore"):
        if question.linear and nodes.one_scale:
            return [_shifted_quantile(nodes, question, p) for p in orders]
        if question.pivot is not None and nodes.one_scale and len(set(nodes.noises)) == 1:
            return [_pivot_quantile(nodes, question, p) for p in orders]
        if question.minus_log is not None:
            return [np.exp(-x) for x in quantiles(nodes, question.minus_log, tuple(1.0 - p for p in orders))]
        if (found := shared_quantiles(nodes, question, orders)) is not None:
            return found
        if question.monotone and (nodes.one_scale or nodes.one_noise):
            return [_monotone_quantile(nodes, question, p) for p in orders]
        return _cell_quantiles(nodes, question, orders)


def _each_value(nodes: NodeRows, question: Question, orders: tuple[float, ...]) -> list[Array]:
    """For rows at several values each: one value after another for all rows, which may share it."""
    n, m = np.broadcast_shapes(nodes.mean.shape[1:], *(x.shape for x in question.at))
    rows, values = (places.ravel() for places in np.indices((n, m)))
    if n < _MANY:
        flat = quantiles(nodes.beside_one_value(rows), question.of_pairs(rows, values), orders)
        return [found.reshape(n, m) for found in flat]
    rows, part = np.arange(n), nodes.beside_one_value(np.arange(n))
    columns = [quantiles(part, question.of_pairs(rows, np.full(n, k)), orders) for k in range(m)]
    return [np.stack(found, axis=1) for found in zip(*columns, strict=True)]


def _shifted_quantile(nodes: NodeRows, question: Question, p: float) -> Array:
    """Quantile of ``f + c_j`` or its exponential; components with an infinite shift are above all others."""
    shift = question.pivots(nodes.noises, nodes.sigma)[0]
    finite = np.isfinite(shift).reshape(len(shift), -1).all(axis=1)
    share = 1.0 if finite.all() else float(nodes.weight[finite].sum())
    if np.isnan(shift).any() or p >= share:
        return np.full(nodes.mean.shape[1:], np.nan if np.isnan(shift).any() else np.inf)
    moved = (nodes.mean + shift)[finite]
    return UNLINK[question.link](normal_quantile(p / share, nodes.weight[finite] / share, moved, nodes.sd[finite]))


def _pivot_quantile(nodes: NodeRows, question: Question, p: float) -> Array:
    """Quantile of a number that depends on ``(f + c_j) / d_j``."""
    c, d = question.pivots(nodes.noises, nodes.sigma)
    u = normal_quantile(p if question.rises else 1.0 - p, nodes.weight, (nodes.mean + c) / d, nodes.sd / d)
    return question.number(nodes.given(0, u * d[0] - c[0]))


def _monotone_quantile(nodes: NodeRows, question: Question, p: float) -> Array:
    """Quantile of a number that is monotone in f, and may be infinite under some of the components."""
    out = np.empty(nodes.mean.shape[1:])
    for rows, among, order in _finite_components(nodes, question, p):
        if isinstance(among, float):
            out[rows] = among
        else:
            part = nodes if among.all() else nodes.components(among)
            out[rows] = _rising_quantile(part.take(rows), question.take(rows), order)
    return out


def _finite_components(
    nodes: NodeRows, question: Question, p: float
) -> Iterator[tuple[IntArray, BoolArray | float, float]]:
    """Rows; the components under which their number is finite, or the quantile itself; its order among these."""
    each = np.stack([question.number(nodes.given(j, m)) for j, m in enumerate(nodes.mean)])
    side = np.where(np.isfinite(each), 0.0, np.where(np.isnan(each), 2.0, np.sign(each)))
    patterns, which = np.unique(side, axis=1, return_inverse=True)
    for k, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(which.ravel() == k)
        below, above = (float(nodes.weight[pattern == sign].sum()) for sign in (-1.0, 1.0))
        if (pattern == 2.0).any():
            yield rows, np.nan, p
        elif p < below or p > 1.0 - above:
            yield rows, -np.inf if p < below else np.inf, p
        else:
            yield rows, pattern == 0.0, (p - below) / (1.0 - below - above)


def _rising_quantile(nodes: NodeRows, question: Question, p: float) -> Array:
    f = normal_quantile(p if question.rises else 1.0 - p, nodes.weight, nodes.mean, nodes.sd)
    if nodes.one_noise:
        return question.number(nodes.given(0, f))
    out, steepest = np.empty_like(f), _steepest(nodes, question, p)
    scale = np.broadcast_to(np.exp(average(nodes.weight, np.log(nodes.sigma))), f.shape)
    for alike in _bounded_alike(question, len(f)):
        for j in np.unique(steepest[alike]):
            rows = alike[steepest[alike] == j]
            reference, asked = LocationScale(nodes.noises[j], f[rows], scale[rows], nodes.log), question.take(rows)
            at = _equivalent(nodes.take(rows), asked, p, reference)
            out[rows] = asked.number(replace(reference, location=at))
    return out


def _steepest(nodes: NodeRows, question: Question, p: float) -> IntArray:
    """Components (n,) whose rank changes most with f at their own quantiles: far out, those with the lightest tails."""
    slopes = np.zeros_like(nodes.mean)
    for j, at in enumerate(nodes.mean + float(ndtri(p if question.rises else 1.0 - p)) * nodes.sd):
        y, step = nodes.given(j, at), _SLOPE * nodes.sigma[j]
        slopes[j] = np.abs(question.rank(replace(y, location=at + step)) - question.rank(y)) / step
    return np.argmax(np.where(np.isfinite(slopes), slopes, 0.0), axis=0)


def _bounded_alike(question: Question, n: int) -> Iterator[IntArray]:
    """Rows whose number is bounded on the same sides."""
    low, high = (np.zeros(n, bool),) * 2 if question.bounds is None else (np.isfinite(end) for end in question.bounds)
    for code in range(4):
        rows = np.flatnonzero(2 * low + high == code)
        if len(rows):
            yield rows


def _equivalent(nodes: NodeRows, question: Question, p: float, reference: LocationScale) -> Array:
    """The f at which a reference noise has the requested quantile, starting from the current f.

    With ``g(f_j, sigma_j) = g(x, sigma)`` the cdf of the number there is ``sum weight_j Phi((f_j - mean_j) / sd_j)``.
    """
    mean, sd, start = nodes.mean, np.maximum(nodes.sd, 1e-300), reference.location
    f, ratio, last = np.repeat(start[None], len(mean), axis=0), np.ones_like(mean), start.copy()
    alike = [np.array([each == noise for each in nodes.noises]) for noise in dict.fromkeys(nodes.noises)]

    def cdf(x: Array, rows: RowIndex) -> tuple[Array, Array]:
        part, asked, s = nodes.take(rows), question.take(rows), sd[:, rows]
        at, step = replace(reference, location=x, scale=reference.scale[rows]), _SLOPE * part.sigma[0]
        aim = asked.rank(at)
        rise = (asked.rank(replace(at, location=x + step)) - aim) / step
        place, slope = f[:, rows] + ratio[:, rows] * (x - last[rows]), np.empty_like(s)
        for some in alike:
            place[some], slope[some] = _met(part.components(some), asked, aim, place[some])
        f[:, rows], ratio[:, rows], last[rows] = place, np.clip(rise / slope, 1e-8, 1e8), x
        u = (place - mean[:, rows]) / s
        density = np.exp(-0.5 * u * u - HALF_LOG_2PI) / s * ratio[:, rows]
        return average(nodes.weight, ndtr(u)), average(nodes.weight, density)

    away = 10.0 * (np.ptp(mean, axis=0) + 10.0 * sd.max(axis=0) + nodes.sigma.max())
    return solve_quantile(cdf, p if question.rises else 1.0 - p, low=start - away, high=start + away, start=start)


def _met(nodes: NodeRows, question: Question, aim: Array, start: Array) -> tuple[Array, Array]:
    """The f (J, n) at which components show a rank (n,), and its slope, by Newton steps and bisection.

    Where a component shows it only where no f lies, that end of its f.
    """
    sd = np.maximum(nodes.sd, 1e-300)
    first, last = nodes.mean - _BEYOND * sd, nodes.mean + _BEYOND * sd
    place, slope = np.clip(start, first, last), np.ones_like(start)
    low, high = np.full_like(start, -np.inf), np.full_like(start, np.inf)  # of what was tried
    rows, step = np.arange(start.shape[1]), _SLOPE * np.broadcast_to(nodes.sigma, start.shape)
    for _ in range(_NEWTON_STEPS):
        part, asked, at, width = nodes.take(rows), question.take(rows), place[:, rows], step[:, rows]
        y = LocationScale(nodes.noises[0], at, part.sigma, nodes.log)
        rank = asked.rank(y)
        slope[:, rows] = (asked.rank(replace(y, location=at + width)) - rank) / width
        left = aim[rows] - rank
        further = left if question.rises else -left
        low[:, rows] = np.where(further > 0.0, at, low[:, rows])
        high[:, rows] = np.where(further < 0.0, at, high[:, rows])
        new = np.clip(at + left / slope[:, rows], first[:, rows], last[:, rows])
        halved = 0.5 * (np.maximum(low, first) + np.minimum(high, last))[:, rows]
        met = np.abs(left) <= _DIGITS * (1.0 + np.abs(aim[rows]))
        inside = (new > low[:, rows]) & (new < high[:, rows]) | (new == at)
        new = np.where(inside, new, np.where(met, at, halved))
        new = np.where(np.isfinite(new), new, at)
        place[:, rows] = new
        open_ = (np.abs(new - at) > 1e-7 * sd[:, rows]) & ~met
        rows = rows[open_.any(axis=0)]
        if not len(rows):
            break
    return place, slope


def _cell_quantiles(nodes: NodeRows, question: Question, orders: tuple[float, ...]) -> list[Array]:
    """Quantiles of any number, from its values at nodes of f in every component."""
    widest = float((nodes.sd / nodes.sigma).max(initial=0.0))
    count = int(np.clip(2.0 * _REACH * widest / _STEP, _NODES, _MORE_NODES)) if question.sure else nodes.cells
    x = np.linspace(-_REACH, _REACH, count)
    made = []
    for rows in row_chunks(0, nodes.mean.shape[1], _CELLS) or [slice(0, 0)]:
        part, asked = nodes.take(rows), question.take(rows)
        cells = np.stack(
            [
                asked(part.given(j, m + s * x[:, None])).T
                for j, (m, s) in enumerate(zip(part.mean, part.sd, strict=True))
            ]
        )
        made.append(list(_of_cells(np.ascontiguousarray(cells), x, nodes.weight, orders)))
    return [UNLINK[question.link](np.concatenate(found)) for found in zip(*made, strict=True)]


def _of_cells(values: Array, nodes: Array, weight: Array, orders: tuple[float, ...]) -> Iterator[Array]:
    """Quantiles (n,) of values (J, n, k) at nodes (k,) of a standard normal variable, straight between them."""
    first, last = values[..., :-1], values[..., 1:]
    low, high, below, gap = np.fmin(first, last), np.fmax(first, last), ndtr(nodes), nodes[1] - nodes[0]

    def cdf(c: Array, rows: RowIndex) -> tuple[Array, Array]:
        F = np.einsum("jnk,j,k->n", high[:, rows] <= c[:, None], weight, np.diff(below), optimize=True)
        j, i, k = np.nonzero((low[:, rows] < c[:, None]) & (c[:, None] < high[:, rows]))
        before, rise = first[:, rows][j, i, k], (last - first)[:, rows][j, i, k]
        x = nodes[k] + gap * (c[i] - before) / rise
        part = np.where(rise > 0.0, ndtr(x) - below[k], below[k + 1] - ndtr(x))
        slope = np.exp(-0.5 * x * x - HALF_LOG_2PI) * gap / np.abs(rise)
        inside = [np.bincount(i, weight[j] * each, len(c)).astype(np.float64) for each in (part, slope)]
        return F + inside[0], inside[1]

    rises = weight @ (values[..., -1] - values[..., 0]) > 0.0
    for p in orders:
        start = weight @ np.where(rises, *(values[..., int(np.searchsorted(below, order))] for order in (p, 1.0 - p)))
        yield solve_quantile(cdf, p, low=low.min(axis=(0, 2)), high=high.max(axis=(0, 2)), start=start)


_FURTHEST, _SPACING = 8.0, 0.03  # of nodes, in standard deviations of f and in widths of the noise
_MOST, _PAYS = 20_000, 50  # nodes; nodes for each row from which on rows are better off by themselves
_ROWS = 4096
_FLAT = 1e-12  # a step, beside the largest, that is rounding
_LARGEST = 1e290  # stands for what is infinite
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def shared_quantiles(nodes: NodeRows, question: Question, orders: tuple[float, ...]) -> list[Array] | None:
    """Quantiles (n,) of each order; None where rows do not share values and noise, or are too few for tables."""
    if nodes.sigma.shape[1] > 1 or not question.shared:
        return None
    made, by_mean = [np.empty((len(orders), 0))], np.argsort(nodes.mean[0])
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
    step = _SPACING * min(float(s) * noise.reach for s, noise in zip(nodes.sigma[:, 0], nodes.noises, strict=True))
    low, high = (nodes.mean - _FURTHEST * nodes.sd).min(), (nodes.mean + _FURTHEST * nodes.sd).max()
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

    def cdf(c: Array, rows: RowIndex) -> tuple[Array, Array]:
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
