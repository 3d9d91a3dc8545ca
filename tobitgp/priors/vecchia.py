"""Vecchia's approximation of a rough Gaussian process in two or more dimensions, (VEC1) to (VEC7) of the theory pages.

In an order of the knots, each depends on its nearest earlier ones alone [1]_. The precision is then sparse, and so are
its sums with the sites. Knots are in maximin order [2]_: each is the farthest from all before it.

References
----------
.. [1] Vecchia (1988), Estimation and model identification for continuous spatial processes, *Journal of the Royal
   Statistical Society B* 50, 297-312.
.. [2] Guinness (2018), Permutation and grouping methods for sharpening Gaussian process approximations,
   *Technometrics* 60, 415-429.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np

from tobitgp.compiled import library
from tobitgp.numerics.fronts import FrontalFactor, Fronts, fronts_of
from tobitgp.priors.compiled_fronts import CompiledFactor, CompiledFronts
from tobitgp.priors.compiled_sets import add_columns, find_contrasts, slopes_of_pairs
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array, IntArray

NUGGET = 1e-10  # of the prior variance, so that knots near each other do not determine each other
MANY = 20_000  # knots of a group, above which their order is random
CHUNK = 1 << 18  # numbers in an array of one step


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Graph:
    """Order of the knots, which neighbours each has, and what that says of the precision; all by place in the order."""

    order: IntArray  # (N,), the knot at each place
    near: IntArray  # (N, m), earlier neighbours, -1 where there are fewer
    rows: IntArray  # (P,), pairs of knots that meet in a set of a knot and its neighbours, themselves included
    columns: IntArray  # (P,), not after ``rows``
    diagonal: IntArray  # (N,), which pairs are a knot with itself
    # (N, T): the pair at each place of the lower triangle of a set, the knot itself last; where a neighbour is lacking
    # P, and on the diagonal P + 1.
    pair: np.ndarray
    fronts: Fronts
    compiled: CompiledFronts  # the same

    def chunks(self) -> Iterator[slice]:
        """Places in the order, some at a time."""
        return _chunks(len(self.order), self.pair.shape[1])

    def summed(self, triangles: Array, at: slice) -> Array:
        """Sums over the triangles (n, T) of some knots for each pair, (P,)."""
        sums = np.bincount(self.pair[at].ravel(), triangles.ravel(), len(self.rows) + 2)
        return np.asarray(sums[:-2], dtype=np.float64)

    def factorise(self, values: Array) -> FrontalFactor | CompiledFactor:
        """Factorise the matrix with ``values`` (P,) of pairs."""
        return (self.fronts if library.load() is None else self.compiled).factorise(values)


_GRAPHS: WeakValueDictionary[tuple[int | bytes, ...], Graph] = WeakValueDictionary()  # as long as a process has them


@dataclass(frozen=True)
class Vecchia:
    """A Gaussian process on knots, each group apart, of which each knot knows its nearest earlier ones."""

    label: ClassVar = "Vecchia"
    slow: ClassVar = True
    lead: ClassVar = 0
    inputs: Inputs  # of the knots, (N, d)
    covariance: Covariance
    neighbours: int
    scales: Array  # (d,), by which inputs are divided where nearness is judged
    base: Vecchia | None = None  # whose knots come first, in their order

    @cached_property
    def graph(self) -> Graph:
        """Order, neighbours and the pattern of the precision; that of another process where it must be the same."""
        scales = self.scales / self.scales[0]  # whatever all are multiplied by, the same knots are near
        if self.base is not None:
            return self._new_graph(scales)
        key = self.neighbours, *(b"" if each is None else each.tobytes() for each in (scales, *self.inputs))
        known = _GRAPHS.get(key)
        if known is None:
            known = _GRAPHS[key] = self._new_graph(scales)
        return known

    def _new_graph(self, scales: Array) -> Graph:
        first = 0 if self.base is None else len(self.base.inputs.X)
        N, m = len(self.inputs.X), self.neighbours
        further = self.inputs.rows(np.arange(first, N))
        order = first + np.concatenate([rows[_spread(X)] for rows, X in _groups(further, scales, sort=True)])
        if self.base is not None:
            order = np.concatenate([self.base.graph.order, order])
        near = np.full((N, m), -1)
        for places, X in _groups(self.inputs.rows(order), scales):
            found = _nearest_earlier(X, m, int(np.searchsorted(places, first)))
            near[places] = np.where(found < 0, -1, places[found])
        if self.base is not None:
            near[:first] = self.base.graph.near
        points = self.inputs.X[order] / scales
        if self.inputs.code is not None:
            points = np.column_stack([points, self.inputs.code[order]])
        return _graph(points, order, near)

    def at(self, theta: Sequence[Array]) -> VecchiaAt:
        """Fix ``theta[0] = (log sd, log lengthscale, ...)`` and find what each knot owes its neighbours, (VEC1)."""
        graph, variance, parameters = self.graph, float(np.exp(2.0 * theta[0][0])), np.exp(theta[0][1:])
        X = self.inputs.X[graph.order]
        K = np.empty(len(graph.rows) + 2)
        K[-2:] = 0.0, variance
        for at in _chunks(len(graph.rows), 2 * X.shape[1]):
            K[:-2][at] = variance * self.covariance.value_pairs(X[graph.rows[at]], X[graph.columns[at]], parameters)
        K[graph.diagonal] += NUGGET * variance
        if library.load() is not None:
            return VecchiaAt(self, variance, parameters, K, *find_contrasts(graph.pair, K, NUGGET * variance))
        contrasts, D, Q = np.ones((len(X), self.neighbours + 1)), np.empty(len(X)), np.zeros(len(graph.rows))
        r, c = np.tril_indices(self.neighbours + 1)
        for at in graph.chunks():
            sets = _squares(K[graph.pair[at]])
            beside = sets[:, -1, :-1]
            b = np.linalg.solve(sets[:, :-1, :-1], beside[:, :, None])[:, :, 0]
            D[at] = np.maximum(sets[:, -1, -1] - np.einsum("nm,nm->n", b, beside), NUGGET * variance)
            q = contrasts[at]
            q[:, :-1] = -b
            Q += graph.summed((q / D[at, None])[:, r] * q[:, c], at)
        return VecchiaAt(self, variance, parameters, K, contrasts, D, Q)

    def extended(self, inputs: Inputs) -> Vecchia:
        """The process on further knots too, each of which knows its nearest among these and those before it."""
        codes = None if self.inputs.code is None else np.concatenate([self.inputs.code, inputs.code])
        both = Inputs(np.concatenate([self.inputs.X, inputs.X]), codes)
        return Vecchia(both, self.covariance, self.neighbours, self.scales, self)


@dataclass(frozen=True, slots=True)
class VecchiaAt:
    """The process at fixed parameters: ``q_i' e = N(0, D_i)`` for every set of a knot and its neighbours."""

    structure: Vecchia
    variance: float
    parameters: Array  # (k,), of the covariance
    K: Array  # (P + 2,), covariances of pairs, then the entries where neighbours are missing
    contrasts: Array  # (N, m + 1), ``q_i = (-b_i, 1)``
    D: Array  # (N,)
    Q: Array  # (P,), precisions of pairs

    def condition(self, lambda2: Array) -> ConditionedVecchia:
        """Condition on sites with precisions ``lambda2`` (N,), (VEC2)."""
        graph = self.structure.graph
        values = self.Q.copy()
        values[graph.diagonal] += lambda2[graph.order]
        return ConditionedVecchia(self, lambda2, graph.factorise(values))

    def draw(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws of the prior, (N, draws), each knot from its earlier neighbours."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.linalg import spsolve_triangular

        graph, N = self.structure.graph, len(self.D)
        sets = np.column_stack([graph.near, np.arange(N)])
        there = sets >= 0
        B = csr_matrix((self.contrasts[there], (np.nonzero(there)[0], sets[there])), (N, N))
        out = np.empty((N, draws))
        out[graph.order] = spsolve_triangular(B, np.sqrt(self.D)[:, None] * rng.standard_normal((N, draws)))
        return out


@dataclass(frozen=True, slots=True)
class ConditionedVecchia:
    """The process given the precisions of sites."""

    prior: VecchiaAt
    lambda2: Array  # (N,)
    factor: FrontalFactor | CompiledFactor  # of ``Q + Lambda``

    @property
    def log_det(self) -> float:
        """``log |I + K_e Lambda|``, (VEC2)."""
        return self.factor.log_det + float(np.log(self.prior.D).sum())

    @property
    def variance(self) -> Array:
        """``diag(V0)``, (N,)."""
        graph = self.prior.structure.graph
        out = np.empty(len(self.lambda2))
        out[graph.order] = self.factor.inverse[graph.diagonal]
        return out

    def solve(self, U: Array) -> Array:
        """``V0 U``, (N, k)."""
        order = self.prior.structure.graph.order
        out = np.empty(U.shape)
        out[order] = self.factor.solve(U[order])
        return out

    def gradient(self, U: Array, signs: Array) -> Array:
        """``1/2 sum_j signs_j x_j' dK_e x_j - 1/2 tr(R0 dK_e)`` by log sd and the covariance's parameters, (VEC5)."""
        prior, graph = self.prior, self.prior.structure.graph
        S, M = self.factor.solve(U[graph.order]), np.append(self.factor.inverse, [0.0, 0.0])
        if library.load() is not None:
            add_columns(graph.rows, graph.columns, S, signs, M)
            G, by_sd = slopes_of_pairs(graph.pair, prior.K, M, prior.contrasts, prior.D)
            return np.append(by_sd, self._by_parameters(G))
        signed = signs * S
        for at in _chunks(len(graph.rows), len(signs)):
            M[:-2][at] += np.einsum("pk,pk->p", signed[graph.rows[at]], S[graph.columns[at]])
        G, by_sd = np.zeros(len(graph.rows)), 0.0
        r, c = np.tril_indices(graph.near.shape[1] + 1)
        for at in graph.chunks():
            q, D = prior.contrasts[at], prior.D[at]
            Mq = np.einsum("nij,nj->ni", _squares(M[graph.pair[at]]), q)
            excess = np.einsum("nm,nm->n", q, Mq) / D - 1.0
            by_sd += float(excess.sum())
            # All of (VEC5) is ``weights' dK q``, where (VEC6) gives what comes through b.
            weights = q * (0.5 * excess / D)[:, None]
            K_near = _squares(prior.K[graph.pair[at]])[:, :-1, :-1]
            weights[:, :-1] += np.linalg.solve(K_near, (Mq[:, :-1] / D[:, None])[:, :, None])[:, :, 0]
            both = weights[:, r] * q[:, c] + weights[:, c] * q[:, r]
            both[:, r == c] *= 0.5
            G += graph.summed(both, at)
        return np.append(by_sd, self._by_parameters(G))

    def _by_parameters(self, G: Array) -> Array:
        """``sum_p G_p dK_p`` over pairs, (k,)."""
        prior, graph = self.prior, self.prior.structure.graph
        covariance, X = prior.structure.covariance, prior.structure.inputs.X[graph.order]
        slopes, C = np.zeros(len(prior.parameters)), prior.K[:-2] / prior.variance
        for at in _chunks(len(G), 2 * X.shape[1]):
            pairs = X[graph.rows[at]], X[graph.columns[at]]
            slopes += covariance.contract_pairs(*pairs, prior.parameters, C[at], G[at])
        return prior.variance * slopes

    def smooth(self, U: Array) -> SmoothedVecchia:
        """``V0 U`` at other places."""
        return SmoothedVecchia(
            self.prior.structure, self.prior.variance, self.prior.parameters, self.factor, self.solve(U)
        )


@dataclass(frozen=True, slots=True)
class SmoothedVecchia:
    """``V0 U`` beyond the knots, where each place knows the nearest of these."""

    structure: Vecchia
    variance: float
    parameters: Array  # of the covariance
    factor: FrontalFactor | CompiledFactor  # of ``Q + Lambda``
    at_knots: Array  # (N, k)

    def at(self, inputs: Inputs, terms: Sequence[int] | None = None) -> tuple[Array, Array]:
        """At n places, values (n, k) and variance (n,), (VEC7)."""
        from scipy.spatial import cKDTree

        knots, scales = self.structure.inputs, self.structure.scales
        mean = np.zeros((len(inputs.X), self.at_knots.shape[1]))
        variance = self.variance * self.structure.covariance.diagonal(inputs.X)
        place = np.empty(len(knots.X), dtype=np.intp)
        place[self.structure.graph.order] = np.arange(len(place))
        for own, X in _groups(knots, scales):
            places = np.arange(len(mean)) if knots.code is None else np.flatnonzero(inputs.code == knots.code[own[0]])
            k, tree = min(self.structure.neighbours, len(own)), cKDTree(X)
            nearest = tree.query(inputs.X[places] / scales, np.arange(1, k + 1))[1]
            # None is found where squares of distances overflow; what is so far away knows of no knot.
            b, near = np.empty((len(places), k)), own[np.minimum(nearest, len(own) - 1)]
            for some in _chunks(len(places), k * k):
                at = places[some]
                b[some], explained = self._kriged(inputs.X[at], near[some])
                mean[at] = np.einsum("nk,nkj->nj", b[some], self.at_knots[near[some]])
                variance[at] -= explained
            variance[places] += self.factor.quadratic_forms(place[near], b)
        return mean, np.maximum(variance, 0.0)

    def _kriged(self, new: Array, near: IntArray) -> tuple[Array, Array]:
        """Weights of the knots ``near`` (n, k) at new places, and the prior variance that these explain (n,)."""
        X = self.structure.inputs.X
        (n, k), d = near.shape, X.shape[1]
        r, c = np.tril_indices(k)

        def between(A: Array, B: Array) -> Array:
            of_pairs = self.structure.covariance.value_pairs
            return self.variance * of_pairs(A.reshape(-1, d), B.reshape(-1, d), self.parameters).reshape(n, -1)

        K, beside = _squares(between(X[near[:, r]], X[near[:, c]])), between(np.repeat(new, k, axis=0), X[near])
        K[:, np.arange(k), np.arange(k)] += NUGGET * self.variance
        b = np.linalg.solve(K, beside[:, :, None])[:, :, 0]
        return np.asarray(b), np.einsum("nk,nk->n", b, beside)


def _graph(points: Array, order: IntArray, near: IntArray) -> Graph:
    """Graph of knots at ``points`` (N, d) with their neighbours (N, m)."""
    N, m = near.shape
    sets = np.column_stack([near, np.arange(N)])
    r, c = np.tril_indices(m + 1)
    first, second = sets[:, r], sets[:, c]
    keys = np.maximum(first, second) * N + np.minimum(first, second)
    keys[(first < 0) | (second < 0)] = N * N
    keys[(first < 0) & (r == c)] = N * N + 1
    found, pair = np.unique(np.append(keys, [N * N, N * N + 1]), return_inverse=True)
    rows, columns = np.divmod(found[:-2], N)
    pair = pair[:-2].reshape(keys.shape).astype(np.int32)
    fronts = fronts_of(points, rows, columns)
    return Graph(order, near, rows, columns, np.flatnonzero(rows == columns), pair, fronts, CompiledFronts.of(fronts))


def _groups(inputs: Inputs, scales: Array, sort: bool = False) -> Iterator[tuple[IntArray, Array]]:
    """Rows of each group and their scaled inputs, in the order given or sorted by these."""
    X = inputs.X / scales
    code = np.zeros(len(X)) if inputs.code is None else inputs.code
    by_code = np.lexsort([*X.T, code]) if sort else np.argsort(code, kind="stable")
    for rows in np.split(by_code, np.flatnonzero(np.diff(code[by_code])) + 1):
        yield rows, X[rows]


def _spread(X: Array) -> IntArray:
    """Maximin order: first the input nearest to the average, then always the one farthest from all before it."""
    n = len(X)
    if n > MANY:
        return np.random.default_rng(0).permutation(n)
    columns = np.ascontiguousarray(X.T)
    order = np.empty(n, dtype=np.intp)
    order[0] = np.argmin(((X - X.mean(axis=0)) ** 2).sum(axis=1))
    gap, r2, step = np.full(n, np.inf), np.empty(n), np.empty(n)
    for i in range(1, n):
        r2[:] = 0.0
        for x in columns:
            np.subtract(x, x[order[i - 1]], out=step)
            step *= step
            r2 += step
        np.minimum(gap, r2, out=gap)
        gap[order[i - 1]] = -1.0  # below a distance that underflows
        order[i] = np.argmax(gap)
    return order


def _nearest_earlier(X: Array, m: int, start: int) -> IntArray:
    """Which m of the earlier inputs are nearest to each from ``start`` on, -1 where there are fewer."""
    from scipy.spatial import cKDTree

    n = len(X)
    near = np.full((n, m), -1)
    while start < n:
        stop = min(max(2 * start, 8 * m), n)
        tree, rows, k = cKDTree(X[:stop]), np.arange(start, stop), 3 * m + 1
        while len(rows):
            k = min(k, stop)
            found = tree.query(X[rows], np.arange(1, k + 1))[1]
            later = found >= rows[:, None]
            nearest = np.argsort(later, axis=1, kind="stable")[:, :m]
            picked = np.take_along_axis(np.where(later, -1, found), nearest, axis=1)
            near[rows, : picked.shape[1]] = picked
            some = (~later).sum(axis=1) < np.minimum(rows, m)
            rows, k = rows[some & (k < stop)], 2 * k  # squared distances beyond the largest number find nothing
        start = stop
    return near


def _squares(triangles: Array) -> Array:
    """Symmetric matrices (n, m, m) from their lower triangles (n, T)."""
    m = int(np.sqrt(2 * triangles.shape[1]))
    i = np.arange(m)
    low, high = np.minimum.outer(i, i), np.maximum.outer(i, i)
    return np.take(triangles, high * (high + 1) // 2 + low, axis=1)


def _chunks(n: int, size: int) -> Iterator[slice]:
    """Rows of ``size`` numbers each, some at a time."""
    step = max(1, CHUNK // max(size, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))
