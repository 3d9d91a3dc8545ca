"""How sums over rows are computed, on how many threads and on which machines; nobody else knows."""

from tobitgp.engines.chunks import add_up, row_chunks
from tobitgp.engines.pieces import LocalPieces, Pieces
from tobitgp.engines.threads import map_independent, single_blas_thread

__all__ = ["LocalPieces", "Pieces", "add_up", "map_independent", "row_chunks", "single_blas_thread"]
