"""The rate of matrix products on this machine, and the share of it that a pass over rows reaches."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from tobitgp.engines import single_blas_thread
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.numerics.linear_algebra import gram, triangular_product

FEATURES = (40, 100, 200)


def report() -> str:
    """Return the rates as text and a table, with one BLAS thread."""
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
            A = rng.normal(size=(CHUNK_ROWS, m))
            T = np.asfortranarray(np.eye(m))  # zeros are multiplied like other numbers, and A stays as it is
            scale = rng.uniform(0.5, 1.0, CHUNK_ROWS)
            work = float(m * m * CHUNK_ROWS)
            product = _rate(lambda: triangular_product(A, T, transposed=True), work)  # noqa: B023
            B = _rate(lambda: gram(A, scale), work)  # noqa: B023
            lines.append(f"| {m} | {product / whole:.0%} | {B / whole:.0%} |")
    return "\n".join(lines)


def _rate(function: Callable[[], object], operations: float, batches: int = 7) -> float:
    """Return GFLOP/s of the fastest batch of calls. A batch takes about 0.1 seconds."""
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
