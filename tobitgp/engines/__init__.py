"""How sums over rows are computed, and on how many threads; nobody else knows."""

from tobitgp.engines.chunks import add_up, row_chunks
from tobitgp.engines.threads import map_independent, single_blas_thread

__all__ = ["add_up", "map_independent", "row_chunks", "single_blas_thread"]
