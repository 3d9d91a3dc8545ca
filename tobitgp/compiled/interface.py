"""The interface of the compiled core: tables as in ``core.h``, and the functions that it is given.

Its text is part of what a library is recognised by: whatever changes here must be compiled again. Nothing but the
standard library is imported, so that the build needs nothing else.
"""

from __future__ import annotations

import ctypes

BLAS = ("dgemm", "dsyrk", "dtrmm", "dtrsm", "dsymm", "dgemv")
LAPACK = ("dpotrf", "dpstrf", "dpotri", "dtrtri", "dgelss")
SPECIAL = ("erfcx", "log_ndtr", "ndtr", "betainc", "betaincc", "gammainc", "gammaincc")


class Rule(ctypes.Structure):
    """Nodes and weights, as in ``core.h``."""

    _fields_ = [
        ("n", ctypes.c_int),
        ("largest", ctypes.c_double),
        ("nodes", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
    ]


class Tables(ctypes.Structure):
    """All rules, as in ``core.h``."""

    _fields_ = [
        *((name, Rule) for name in ("tail", "deep_tail", "narrow", "wide", "panel")),
        ("hermite", Rule * 5),
        ("largest_interval", ctypes.c_double),
        ("hermite_noise", Rule * 5),
        ("tilted", (Rule * 7) * 4),
    ]


class Rows(ctypes.Structure):
    """Rows of a problem, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("n", "exact", "one_sided", "groups")),
        *((name, ctypes.c_void_p) for name in ("limit", "sign", "lower", "upper", "width", "weight", "spread", "code")),
        *((name, ctypes.c_void_p) for name in ("entry", "exit", "span")),
    ]


class Noise(ctypes.Structure):
    """The distribution of the noise, as in ``core.h``."""

    _fields_ = [
        *(
            (name, ctypes.c_int)
            for name in ("distribution", "free_shape", "log_concave", "n_bends", "rough", "windowed")
        ),
        *((name, ctypes.c_double) for name in ("shape", "reach")),
        ("bends", ctypes.c_double * 2),
        ("log_norm", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("tail", "short_tail")),
        ("far", ctypes.c_double),
        ("beside", ctypes.c_void_p),
    ]


class Block(ctypes.Structure):
    """A block of features, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("kind", "own", "inputs", "size", "each")),
        *((name, ctypes.c_void_p) for name in ("X", "Z")),
        *((name, ctypes.c_int) for name in ("kept", "first")),
        ("pivots", ctypes.c_void_p),
        ("variance", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("L", "T", "Z_kept", "theta")),
    ]


class Chain(ctypes.Structure):
    """A Markov chain, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("knots", "states", "terms")),
        *((name, ctypes.c_void_p) for name in ("smoothness", "gap", "theta", "lambda2")),
        *((name, ctypes.c_void_p) for name in ("Phi", "C", "P", "G", "gain", "back", "site", "by_mu", "by_g")),
        *((name, ctypes.c_void_p) for name in ("variance", "columns")),
        ("log_det", ctypes.c_double),
    ]


class Places(ctypes.Structure):
    """Places between the knots of a chain, as in ``core.h``."""

    _fields_ = [
        ("n", ctypes.c_long),
        *((name, ctypes.c_void_p) for name in ("left", "right", "from_left", "to_right", "shown")),
    ]


class Fronts(ctypes.Structure):
    """A tree of fronts, as in ``core.h``."""

    _fields_ = [
        ("count", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("start", "edge", "border", "into", "child", "children")),
        *((name, ctypes.c_void_p) for name in ("entry", "by_front", "at", "panel", "place", "panels", "passed")),
        ("log_det", ctypes.c_double),
    ]


class Sets(ctypes.Structure):
    """Sets of a knot and its neighbours, as in ``core.h``."""

    _fields_ = [("n", ctypes.c_long), ("size", ctypes.c_int), ("pair", ctypes.c_void_p)]


class Evaluation(ctypes.Structure):
    """One evaluation, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rows", "blocks")),
        *((name, ctypes.c_int) for name in ("n_blocks", "method", "max_iterations", "slopes", "floored")),
        *((name, ctypes.c_int) for name in ("known", "stored")),
        *((name, ctypes.c_double) for name in ("tol", "damping", "sigma")),
        ("noise", Noise),
        *((name, ctypes.c_void_p) for name in ("lambda1", "lambda2", "given_d", "chain", "knot")),
        *((name, ctypes.c_int) for name in ("p", "m", "rank")),
        *((name, ctypes.c_void_p) for name in ("A", "own", "d", "w", "L", "T", "U", "gradient")),
        *((name, ctypes.c_void_p) for name in ("chain_gradient", "G", "G_own", "g_d")),
        *((name, ctypes.c_double) for name in ("evidence", "residual")),
        *((name, ctypes.c_int) for name in ("iterations", "converged", "failed")),
    ]
