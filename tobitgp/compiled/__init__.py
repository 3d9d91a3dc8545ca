"""The optional compiled core: evaluation of a process's evidence in C.

If a compiler was available when the package was installed, the folder contains the library ``core`` next to its
sources, which runs the evaluations that it supports. All others run in :mod:`tobitgp.inference`.
"""

from tobitgp.compiled.library import state

__all__ = ["state"]
