"""The compiled core, optional: what every evaluation of a process's evidence does, in C.

Where a compiler was at hand when the package was installed, the folder holds the library ``core`` beside its sources,
and evaluations that it knows run there; all others, and all without it, run in :mod:`tobitgp.inference`.
"""

from tobitgp.compiled.library import state

__all__ = ["state"]
