"""The shared library: its location, and the BLAS, LAPACK and special functions and tables that are passed to it."""

from __future__ import annotations

import ctypes
import os
import warnings
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack
from scipy.special import cython_special

from tobitgp.compiled.build import NAME, what_is_wrong
from tobitgp.compiled.interface import (
    BLAS,
    LAPACK,
    SPECIAL,
    Block,
    Chain,
    Evaluation,
    Fronts,
    Noise,
    Places,
    Rows,
    Rule,
    Sets,
    Tables,
)
from tobitgp.errors import user_level
from tobitgp.numerics import normal_functions, quadrature, truncated_moments
from tobitgp.typing import Array

__all__ = [
    "COLUMNS",
    "COLUMNS_AT_ONCE",
    "MOST_STATES",
    "SWITCH",
    "Block",
    "Chain",
    "Evaluation",
    "Fronts",
    "Noise",
    "Places",
    "Rows",
    "Sets",
    "address",
    "load",
    "open_core",
    "state",
]

SWITCH = "TOBITGP_COMPILED"

COLUMNS = -1
MOST_STATES, COLUMNS_AT_ONCE = 12, 8  # of chains, as in ``core.h``

_LOCK = Lock()


def load() -> Any:
    """The library, ready for use; None if it was not built, cannot be used or is turned off."""
    with _LOCK:
        return _load()


@cache
def _load() -> Any:
    return None if os.environ.get(SWITCH) == "0" else open_core(Path(__file__).parent)


def open_core(folder: Path) -> Any:
    """The library of a folder; None, with a warning, if it does not match the package's sources and this machine."""
    path = folder / NAME
    if not path.exists():
        return None
    reason = what_is_wrong(folder)
    if reason is None:
        try:
            return _set_up(path)
        except (OSError, AttributeError) as error:
            reason = f"it cannot be loaded on this machine ({error})"
    warnings.warn(
        f"The compiled core {path} is not used: {reason}. Results are the same, but fits are slower. To compile it "
        f"again, run python -m tobitgp.compiled.compile. To work without it, delete the file or set {SWITCH}=0.",
        RuntimeWarning,
        stacklevel=user_level(),
    )
    return None


def _set_up(path: Path) -> Any:
    """The library, given all that it needs."""
    library: Any = ctypes.CDLL(str(path))
    pointers = [_pointer(cython_blas, name) for name in BLAS]
    pointers += [_pointer(cython_lapack, name) for name in LAPACK]
    pointers += [_pointer(cython_special, name) for name in SPECIAL]
    library.held = []
    library.slope_sets.restype, library.sets_scratch.restype = ctypes.c_double, ctypes.c_long
    library.setup((ctypes.c_void_p * len(pointers))(*pointers), ctypes.byref(_tables(library.held)))
    return library


def state() -> str:
    """Whether the compiled core or pure Python runs, in words."""
    if load() is not None:
        return "compiled"
    if os.environ.get(SWITCH) == "0":
        return f"pure Python ({SWITCH}=0)"
    built = (Path(__file__).parent / NAME).exists()
    return "pure Python (the compiled core cannot be used)" if built else "pure Python (not compiled)"


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


# Largest sd, in units of the bends, for which Gauss-Hermite rules around the mode reach some 1e-11 and 1e-8 of log Z,
# its derivatives in units of sd and the slope in log sigma: Gumbel and generalised gamma noise, then logistic and
# Student's.
_STEEP = (0.03, 6), (0.07, 8), (0.14, 10), (0.4, 14), (0.6, 20), (0.75, 32), (0.75, 32)
_STEEP_ROUGH = (0.03, 4), (0.07, 6), (0.25, 8), (0.3, 10), (0.6, 14), (0.75, 20), (0.75, 20)
_GENTLE = (0.05, 4), (0.14, 6), (0.2, 8), (0.3, 10), (0.4, 14), (0.6, 20), (0.75, 32)
_GENTLE_ROUGH = (0.1, 4), (0.25, 6), (0.4, 8), (0.5, 10), (0.6, 14), (0.75, 20), (0.75, 20)
_TILTED = (_STEEP, _STEEP_ROUGH, _GENTLE, _GENTLE_ROUGH)


def _tables(held: list[Array]) -> Tables:
    """All rules; what they point to is held in a list."""
    tables, rule = Tables(), partial(_rule, held)
    tables.tail = rule(*normal_functions.LAPLACE)
    tables.deep_tail = rule(*normal_functions.LAPLACE_DEEP)
    tables.narrow, tables.wide = rule(*truncated_moments.SHORT_RULE), rule(*truncated_moments.LONG_RULE)
    tables.panel = rule(*quadrature.PANEL)
    orders = (*truncated_moments.ORDERS, (truncated_moments.SMOOTH_ONE_SIDED, truncated_moments.HERMITE))
    for k, (largest, order) in enumerate(orders):
        tables.hermite[k] = rule(*quadrature.gauss_hermite(order), largest)
    tables.largest_interval = truncated_moments.SMOOTH_INTERVAL
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
