"""Visits to rows by the compiled core, where it knows the noise and their features are at hand, in common columns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tobitgp.compiled import library
from tobitgp.data.arrays import KindRows, Window
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.errors import NumericalError
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.method import EPUpdates, LaplaceUpdates, Marginals, Method, Slopes
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.vi import VIUpdates
from tobitgp.likelihoods.families import TRUNCATED, GaussianNoise
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.likelihoods.row_terms import Expected, Likelihood, Tilted, Wrapped
from tobitgp.typing import Array

ROUGH_TOL = 1e-6  # above which rules that serve to 1e-8 will do
METHODS = {"ep": 0, "elbo": 1, "laplace": 2}
_OF_ROWS = "limit", "sign", "lower", "upper", "width", "weight"
_DISTRIBUTIONS: dict[type[Distribution], int] = {
    Logistic: 1,
    Gumbel: 2,
    StudentNoise: 3,
    GenGammaNoise: 4,
    NormalNoise: 5,
}


def find_noise(method: Method, likelihood: Likelihood, windowed: bool = False) -> library.Noise | None:
    """The noise as the core takes it, at the parameters; None where it does not know it, the method or windows."""
    if type(method) not in (EPUpdates, VIUpdates, LaplaceUpdates) or method.evidence_kind not in METHODS:
        return None
    if type(likelihood) is GaussianNoise:
        if not windowed:
            return library.Noise(log_concave=True)
        likelihood = TRUNCATED
    if type(likelihood) is not NoiseLikelihood or type(likelihood.distribution) not in _DISTRIBUTIONS:
        return None
    of, bends = likelihood.distribution, (ctypes.c_double * 2)(*likelihood.distribution.bends)
    if windowed and of.exponential_hazard and type(method) is VIUpdates:
        return None
    shape = 0.0 if of.shape_name is None else of.shape
    concave = likelihood.log_concave
    rough = method.tol > ROUGH_TOL
    numbers = _DISTRIBUTIONS[type(of)], likelihood.free_shape, concave, len(of.bends), rough, windowed
    return library.Noise(*numbers, shape, of.reach, bends)


class SiteChange(ctypes.Structure):
    """What rows say of a step, as in ``fixed_point.c``."""

    _fields_ = [("squares", ctypes.c_double), ("D", ctypes.c_double), ("dots", ctypes.c_double * 6)]


class Visitor(NamedTuple):
    """What stays while rows of one kind are visited: the method, and its noise at the parameters."""

    method: Method
    noise: library.Noise
    sigma: float

    @classmethod
    def of(cls, method: Method, likelihood: Likelihood, sigma: float, rows: KindRows) -> Visitor | None:
        """The compiled core, where it is there and knows the rows and their noise."""
        noise = _noise_of(rows, method, likelihood)
        return None if noise is None else cls(method, noise, sigma)

    def find_steps(
        self, rows: KindRows, A: Array, d: Array, q: FeatureWeights, sites: Sites, last: Sites, step: Sites
    ) -> tuple[float, float, Array]:
        """Squared standardised changes, D, and products with the last step (2, 3); the step itself goes into `step`."""
        held, e = self._begin(rows, d, sites)
        change, A, root = SiteChange(), np.ascontiguousarray(A), q.factor.root
        e.p, e.A, e.w = A.shape[1], library.address(A), library.address(q.w)
        steps = (last.lambda1, last.lambda2, step.lambda1, step.lambda2)
        pointers = (ctypes.c_void_p(library.address(x)) for x in (root, *steps))
        if not library.load().visit_rows(ctypes.byref(e), *pointers, ctypes.byref(change)):
            raise MemoryError
        del held
        if e.failed:
            raise NumericalError("A cavity has no variance.")
        return change.squares, change.D, np.array(change.dots).reshape(2, 3)

    def slopes(self, rows: KindRows, at: Marginals) -> Slopes:
        """As the method's."""
        held, e = self._begin(rows, at.d, Sites(at.lambda1, at.lambda2))
        found = np.empty((len(rows), 6))
        mean, v = map(np.ascontiguousarray, (at.m, at.v_p))
        pointers = (ctypes.c_void_p(library.address(x)) for x in (mean, v, found))
        if not library.load().slope_rows(ctypes.byref(e), *pointers):
            raise MemoryError
        del held
        g_d, u, parts = found[:, 0], found[:, 3], [2, 1] if self.noise.free_shape else [1]
        e_m = found[:, [3 + part for part in parts]].T
        return Slopes(g_d, found[:, parts].T, (u, e_m) if self.method.traits.ascends == "joint" else None)

    def _begin(self, rows: KindRows, d: Array, sites: Sites) -> tuple[list[Any], library.Evaluation]:
        """The rows as the core takes them, and the arrays that it points to."""
        held, described = describe_rows([rows])
        of_sites = [np.ascontiguousarray(x, dtype=np.float64) for x in (d, sites.lambda1, sites.lambda2)]
        e = library.Evaluation(rows=ctypes.addressof(described))
        e.method, e.noise, e.sigma = METHODS[self.method.evidence_kind], self.noise, self.sigma
        e.floored = getattr(self.method, "floored", False)
        e.d, e.lambda1, e.lambda2 = map(library.address, of_sites)
        return [*held, *of_sites, described], e


def _noise_of(rows: KindRows, method: Method, likelihood: Likelihood) -> library.Noise | None:
    """The noise of rows as the core takes it."""
    if rows.side is not None or library.load() is None:
        return None
    return find_noise(method, likelihood, rows.window is not None)


def describe_rows(rows: Sequence[KindRows]) -> tuple[list[Array], library.Rows]:
    """Rows of one kind after another, as in ``core.h``, and the arrays that these point to."""
    arrays = {name: [getattr(part, name) for part in rows] for name in _OF_ROWS}
    if any(part.spread is not None for part in rows):
        arrays["spread"] = [part.noise(1.0) * np.ones(len(part)) for part in rows]
    if any(part.window is not None for part in rows):
        windows = [part.window or _open(len(part)) for part in rows]
        arrays |= {name: [getattr(window, name) for window in windows] for name in Window._fields}
    held = {name: np.ascontiguousarray(np.concatenate(parts), dtype=np.float64) for name, parts in arrays.items()}
    counts = {kind: sum(len(part) for part in rows if part.kind == kind) for kind in ("exact", "one-sided")}
    made = library.Rows(sum(map(len, rows)), *counts.values(), 0)
    for name, array in held.items():
        setattr(made, name, library.address(array))
    return list(held.values()), made


def _open(n: int) -> Window:
    """No window."""
    return Window(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf))


@dataclass(frozen=True, slots=True)
class CompiledMoments(Wrapped):
    """A likelihood whose tilted moments and expectations the core computes, of the rows that it knows."""

    method: Method

    @classmethod
    def of(cls, likelihood: Likelihood, method: Method) -> Likelihood:
        """The likelihood at its parameters; itself where the core is not there or does not know it."""
        known = library.load() is not None and find_noise(method, likelihood) is not None
        return cls(likelihood, method) if known else likelihood

    def _tilting(self, rows: KindRows) -> library.Noise | None:
        """The noise of rows whose tilted moments the core has; without windows normal noise has them in closed form."""
        known = _noise_of(rows, self.method, self.noise)
        return known if known is not None and known.distribution else None

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: float) -> Tilted:
        """By the core; without it, where tails are so far out that it gives no numbers."""
        known = self._tilting(rows)
        if known is None:
            return self.noise.tilted(rows, mean, var, sigma)
        found = _found(known, rows, mean, var, sigma, slopes=False)[:3]
        lost = np.flatnonzero(~np.isfinite(found).all(axis=0))
        if len(lost):
            found[:, lost] = self.noise.tilted(rows[lost], mean[lost], var[lost], sigma)
        return Tilted(*found)

    def tilted_slope(self, rows: KindRows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        """As `tilted`."""
        known = self._tilting(rows)
        if known is None:
            return np.asarray(self.noise.tilted_slope(rows, mean, var, sigma, d1, d2))
        found = _found(known, rows, mean, var, sigma, slopes=True)[[4, 3] if known.free_shape else [3]]
        lost = np.flatnonzero(~np.isfinite(found).all(axis=0))
        if len(lost):
            found[:, lost] = self.noise.tilted_slope(rows[lost], mean[lost], var[lost], sigma, d1[lost], d2[lost])
        return found

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """By the core; without it, where it gives no numbers."""
        known = _noise_of(rows, self.method, self.noise)
        if known is None:
            return self.noise.expected(rows, mean, var, sigma, slopes=slopes)
        found = _found(known, rows, mean, var, sigma, slopes=slopes, method="elbo")
        found = found[[0, 1, 2, 4, 3] if slopes and known.free_shape else [0, 1, 2, 3]]
        lost = np.flatnonzero(~np.isfinite(found).all(axis=0))
        if len(lost):
            again = self.noise.expected(rows[lost], mean[lost], var[lost], sigma, slopes=slopes)
            found[:, lost] = np.vstack([*again[:3], again.s0])
        return Expected(found[0], found[1], found[2], found[3:])


def _found(
    known: library.Noise, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool, method: str = "ep"
) -> Array:
    """Log Z or E log p, two derivatives, and the slopes in log sigma and the shape, (5, n)."""
    held, described = describe_rows([rows])
    e = library.Evaluation(rows=ctypes.addressof(described), noise=known, sigma=sigma)
    e.method = METHODS[method]
    (mean, var), found = (np.ascontiguousarray(x, dtype=np.float64) for x in (mean, var)), np.empty((len(rows), 5))
    at, there, out = (ctypes.c_void_p(library.address(x)) for x in (mean, var, found))
    if not library.load().tilt_rows(ctypes.byref(e), at, there, int(slopes), out):
        raise MemoryError
    del held
    return found.T


def site_sums(A: Array, sites: Sites) -> tuple[Array, Array]:
    """``A' diag(lambda2) A``, of which the lower triangle counts, and ``A' lambda1`` of some rows."""
    A = np.ascontiguousarray(A)
    p, rows = A.shape[1], library.Rows(n=len(A))
    B, r = np.zeros((p, p), order="F"), np.zeros(p)
    e = library.Evaluation(rows=ctypes.addressof(rows), p=p)
    e.A, e.lambda1, e.lambda2 = map(library.address, (A, sites.lambda1, sites.lambda2))
    if not library.load().sum_rows(ctypes.byref(e), *(ctypes.c_void_p(library.address(x)) for x in (B, r))):
        raise MemoryError
    return B, r
