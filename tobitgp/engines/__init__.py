"""How sums over rows are computed, on how many threads and on which machines; nobody else knows."""

from tobitgp.engines.cluster import DaskPieces
from tobitgp.engines.partitions import LocalPieces, Pieces, add_up, row_chunks
from tobitgp.engines.spill import Store
from tobitgp.engines.threads import hold_threads, map_independent, single_blas_thread

__all__ = [
    "DaskPieces",
    "LocalPieces",
    "Pieces",
    "Store",
    "add_up",
    "hold_threads",
    "map_independent",
    "row_chunks",
    "single_blas_thread",
]
