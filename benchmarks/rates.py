"""What the machine multiplies a second, and the share of it that a pass over rows reaches."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from tobitgp.engines import single_blas_thread
from tobitgp.inference.posterior import CHUNK_ROWS
from tobitgp.numerics.linalg import gram, solve_lower

FEATURES = (40, 100, 200)


def report() -> str:
    """Rates in words and a table, one BLAS thread."""
    rng = np.random.default_rng(0)
    with single_blas_thread():
        C, D = (np.asfortranarray(rng.normal(size=(1500, 1500))) for _ in range(2))
        whole = _rate(lambda: blas.dgemm(1.0, C, D), 2.0 * len(C) ** 3)
        lines = [
            f"DGEMM runs at {whole:.1f} GFLOP/s on one thread. Share of it that passes reach on {CHUNK_ROWS} rows:",
            "",
            "| features | triangular product | B |",
            "|---|---|---|",
        ]
        for m in FEATURES:
            A_T = np.asfortranarray(rng.normal(size=(m, CHUNK_ROWS)))
            L = np.asfortranarray(np.tril(rng.normal(size=(m, m))) + 10.0 * np.sqrt(m) * np.eye(m))
            scale = rng.uniform(0.5, 1.0, CHUNK_ROWS)
            work = float(m * m * CHUNK_ROWS)
            solve, B = _rate(lambda: solve_lower(L, A_T), work), _rate(lambda: gram(A_T, scale), work)  # noqa: B023
            lines.append(f"| {m} | {solve / whole:.0%} | {B / whole:.0%} |")
    return "\n".join(lines)


def _rate(function: Callable[[], object], operations: float, batches: int = 7) -> float:
    """GFLOP/s of the fastest batch of calls, each of a tenth of a second or so."""
    function()
    began = time.perf_counter()
    function()
    calls = max(1, int(0.1 / (time.perf_counter() - began)))
    fastest = np.inf
    for _ in range(batches):
        began = time.perf_counter()
        for _ in range(calls):
            function()
        fastest = min(fastest, (time.perf_counter() - began) / calls)
    return operations / fastest / 1e9
