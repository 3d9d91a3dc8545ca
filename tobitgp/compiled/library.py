"""The shared library: where it is, and what it is given of BLAS, LAPACK, special functions and tables."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack
from scipy.special import cython_special

from tobitgp.numerics import normal, quadrature, truncated
from tobitgp.typing import Array

SWITCH = "TOBITGP_COMPILED"
NAME = "core" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so")

COLUMNS = -1
MOST_STATES, COLUMNS_AT_ONCE = 12, 8  # of chains, as in ``core.h``

_BLAS = ("dgemm", "dsyrk", "dtrmm", "dgemv")
_LAPACK = ("dpotrf", "dpstrf", "dtrtri", "dgelss")
_SPECIAL = ("erfcx", "log_ndtr", "ndtr", "betainc", "betaincc", "gammainc", "gammaincc")


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
    ]


class Noise(ctypes.Structure):
    """The distribution of the noise, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("distribution", "free_shape", "log_concave", "n_bends", "rough")),
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


class Evaluation(ctypes.Structure):
    """One evaluation, as in ``core.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rows", "blocks")),
        *((name, ctypes.c_int) for name in ("n_blocks", "method", "max_iterations", "slopes", "floored")),
        *((name, ctypes.c_int) for name in ("known", "stored")),
        *((name, ctypes.c_double) for name in ("tol", "damping", "sigma")),
        ("noise", Noise),
        *((name, ctypes.c_void_p) for name in ("lambda1", "lambda2", "given_d", "chain", "knot")),
        *((name, ctypes.c_int) for name in ("p", "m")),
        *((name, ctypes.c_void_p) for name in ("A", "own", "d", "w", "L", "T", "U", "gradient")),
        *((name, ctypes.c_void_p) for name in ("chain_gradient", "G", "G_own", "g_d")),
        *((name, ctypes.c_double) for name in ("evidence", "residual")),
        *((name, ctypes.c_int) for name in ("iterations", "converged", "failed")),
    ]


@cache
def load() -> Any:
    """The library, ready for use; None where it was not built or is turned off."""
    path = Path(__file__).with_name(NAME)
    if os.environ.get(SWITCH) == "0" or not path.exists():
        return None
    library: Any = ctypes.CDLL(str(path))
    pointers = [_pointer(cython_blas, name) for name in _BLAS]
    pointers += [_pointer(cython_lapack, name) for name in _LAPACK]
    pointers += [_pointer(cython_special, name) for name in _SPECIAL]
    library.held = []
    library.setup((ctypes.c_void_p * len(pointers))(*pointers), ctypes.byref(_tables(library.held)))
    return library


def state() -> str:
    """Which of the two runs, in words."""
    if load() is not None:
        return "compiled"
    return f"pure Python ({SWITCH}=0)" if os.environ.get(SWITCH) == "0" else "pure Python (not compiled)"


def address(array: np.ndarray) -> int:
    """Where an array begins."""
    return int(array.ctypes.data)


def _pointer(module: Any, name: str) -> int:
    """A function of scipy's C interface; of those for several kinds of numbers that for doubles."""
    found, api = module.__pyx_capi__, ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    kinds = (found[key] for key in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}") if key in found)
    capsule = next(kind for kind in kinds if module is not cython_special or b"double (double" in signature(kind)[:16])
    return int(pointer(capsule, signature(capsule)))


# Largest sd, in units of the bends, that Gauss-Hermite rules around the mode serve to some 1e-11 and 1e-8 of log Z, its
# derivatives in units of sd and the slope in log sigma: of Gumbel and generalised gamma noise, and of logistic and
# Student's.
_STEEP = (0.03, 6), (0.07, 8), (0.14, 10), (0.4, 14), (0.6, 20), (0.75, 32), (0.75, 32)
_STEEP_ROUGH = (0.03, 4), (0.07, 6), (0.25, 8), (0.3, 10), (0.6, 14), (0.75, 20), (0.75, 20)
_GENTLE = (0.05, 4), (0.14, 6), (0.2, 8), (0.3, 10), (0.4, 14), (0.6, 20), (0.75, 32)
_GENTLE_ROUGH = (0.1, 4), (0.25, 6), (0.4, 8), (0.5, 10), (0.6, 14), (0.75, 20), (0.75, 20)
_TILTED = (_STEEP, _STEEP_ROUGH, _GENTLE, _GENTLE_ROUGH)


def _tables(held: list[Array]) -> Tables:
    """All rules; what they point to is held in a list."""
    tables, rule = Tables(), partial(_rule, held)
    tables.tail = rule(*normal.LAPLACE)
    tables.deep_tail = rule(*normal.LAPLACE_DEEP)
    tables.narrow, tables.wide = rule(*truncated.SHORT_RULE), rule(*truncated.LONG_RULE)
    tables.panel = rule(*quadrature.PANEL)
    orders = (*truncated.ORDERS, (truncated.SMOOTH_ONE_SIDED, truncated.HERMITE))
    for k, (largest, order) in enumerate(orders):
        tables.hermite[k] = rule(*quadrature.gauss_hermite(order), largest)
    tables.largest_interval = truncated.SMOOTH_INTERVAL
    for k, (largest, order) in enumerate(quadrature.ORDERS):
        nodes, weights = quadrature.gauss_hermite(order)
        tables.hermite_noise[k] = rule(nodes, weights, largest)
    for k, rules in enumerate(_TILTED):
        for j, (largest, order) in enumerate(rules):
            nodes, weights = quadrature.gauss_hermite(order)
            tables.tilted[k][j] = rule(nodes, np.log(weights) + 0.5 * nodes * nodes, largest)
    return tables


def _rule(held: list[Array], nodes: Array, weights: Array, largest: float = np.inf) -> Rule:
    pair = [np.ascontiguousarray(column, dtype=np.float64).ravel() for column in (nodes, weights)]
    held.extend(pair)
    return Rule(len(pair[0]), largest, *map(address, pair))
