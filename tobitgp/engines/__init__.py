"""How sums over rows are computed: the number of threads and the machines. No other subpackage knows these."""

from tobitgp.engines.partitions import DaskPartitions, LocalPartitions, Partitions, Store
from tobitgp.engines.tall_matrices import (
    blocks,
    grown,
    is_mapped,
    least_squares,
    pick_columns,
    pick_rows,
    product,
    triangle_of,
)
from tobitgp.engines.threads import add_up, hold_threads, map_independent, row_chunks, single_blas_thread

__all__ = [
    "DaskPartitions",
    "LocalPartitions",
    "Partitions",
    "Store",
    "add_up",
    "blocks",
    "grown",
    "hold_threads",
    "is_mapped",
    "least_squares",
    "map_independent",
    "pick_columns",
    "pick_rows",
    "product",
    "row_chunks",
    "single_blas_thread",
    "triangle_of",
]
