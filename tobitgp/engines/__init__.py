"""How sums over rows are computed, on how many threads and on which machines; nobody else knows."""

from tobitgp.engines.partitions import DaskPartitions, LocalPartitions, Partitions, Store
from tobitgp.engines.threads import add_up, hold_threads, map_independent, row_chunks, single_blas_thread

__all__ = [
    "DaskPartitions",
    "LocalPartitions",
    "Partitions",
    "Store",
    "add_up",
    "hold_threads",
    "map_independent",
    "row_chunks",
    "single_blas_thread",
]
