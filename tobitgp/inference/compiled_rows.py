"""Visits to rows by the compiled core, where it knows the noise and their features are at hand, in common columns."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from tobitgp.compiled import library
from tobitgp.data.arrays import Rows
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.gengamma import GenGamma
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.student import Student
from tobitgp.errors import NumericalError
from tobitgp.inference.method import EP, Laplace, Method
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.vi import VI
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.likelihoods.noise import Noise
from tobitgp.typing import Array

ROUGH_TOL = 1e-6  # above which rules that serve to 1e-8 will do
METHODS = {"ep": 0, "elbo": 1, "laplace": 2}
_DISTRIBUTIONS: dict[type[Distribution], int] = {Logistic: 1, Gumbel: 2, Student: 3, GenGamma: 4}


def find_noise(method: Method, likelihood: Likelihood) -> library.Noise | None:
    """The noise as the core takes it, at the parameters; None where it does not know it, or the method."""
    if type(method) not in (EP, VI, Laplace) or method.evidence_kind not in METHODS:
        return None
    if type(likelihood) is GaussianNoise:
        return library.Noise(log_concave=True)
    if type(likelihood) is not Noise or likelihood.windowed or type(likelihood.distribution) not in _DISTRIBUTIONS:
        return None
    of, bends = likelihood.distribution, (ctypes.c_double * 2)(*likelihood.distribution.bends)
    shape = 0.0 if of.shape_name is None else of.shape
    concave = likelihood.log_concave
    rough = method.tol > ROUGH_TOL
    return library.Noise(
        _DISTRIBUTIONS[type(of)], likelihood.free_shape, concave, len(of.bends), rough, shape, of.reach, bends
    )


class Change(ctypes.Structure):
    """What rows say of a step, as in ``fixed_point.c``."""

    _fields_ = [("squares", ctypes.c_double), ("D", ctypes.c_double), ("dots", ctypes.c_double * 6)]


class Visitor(NamedTuple):
    """What stays while rows are visited: the method, its noise at the parameters, and the posterior of the weights."""

    method: Method
    noise: library.Noise
    sigma: float
    w: Array  # (p,)
    root: Array  # (p, p), lower triangular, by which rows of features are whitened

    def find_steps(
        self, rows: Rows, A: Array, d: Array, sites: Sites, last: Sites, step: Sites
    ) -> tuple[float, float, Array]:
        """Squared standardised changes, D, and products with the last step (2, 3); the step itself goes into `step`."""
        n, kinds = len(rows), ("exact", "one-sided")
        arrays = [
            np.ascontiguousarray(x) for x in (rows.limit, rows.sign, rows.lower, rows.upper, rows.width, rows.weight)
        ]
        arrays += [] if rows.spread is None else [np.asarray(rows.noise(1.0))]
        held = [library.address(x) for x in arrays]
        spread = None if rows.spread is None else held[6]
        described = library.Rows(n, *(n if rows.kind == kind else 0 for kind in kinds), 0, *held[:6], spread)
        e, change, A = library.Evaluation(rows=ctypes.addressof(described)), Change(), np.ascontiguousarray(A)
        e.method, e.floored, e.noise = (
            METHODS[self.method.evidence_kind],
            getattr(self.method, "floored", False),
            self.noise,
        )
        e.sigma, e.p, e.lambda1, e.lambda2 = (
            self.sigma,
            A.shape[1],
            *map(library.address, (sites.lambda1, sites.lambda2)),
        )
        e.A, e.d, e.w = map(library.address, (A, d, self.w))
        steps = (last.lambda1, last.lambda2, step.lambda1, step.lambda2)
        pointers = (ctypes.c_void_p(library.address(x)) for x in (self.root, *steps))
        if not library.load().visit_rows(ctypes.byref(e), *pointers, ctypes.byref(change)):
            raise MemoryError
        if e.failed:
            raise NumericalError("A cavity has no variance.")
        return change.squares, change.D, np.array(change.dots).reshape(2, 3)


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
