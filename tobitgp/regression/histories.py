r"""Histories of subjects as rows (start, stop], and the accelerated time that passes along them: (AFT1).

With :math:`\eta` the location of each row, :math:`\psi(t) = \int_0^t e^{-\eta(u)}\,du` is the time that a subject of
location 0 would have lived; all is formed on the log scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Histories:
    """n rows of m subjects, in any order, of which those of a subject follow each other from time 0 on."""

    code: IntArray  # (n,), subject of each row
    start: Array  # (n,)
    stop: Array  # (n,)
    steps: tuple[tuple[IntArray, IntArray], ...]  # k-th rows of those that have some, and the rows before them
    first: IntArray  # (m,), the first row of each subject
    last: IntArray  # (m,), the last one

    @classmethod
    def of(cls, code: IntArray, start: Array, stop: Array) -> Histories:
        """Put rows in order."""
        order = np.lexsort((start, code))
        first = np.flatnonzero(np.diff(code[order], prepend=-1))
        ends = np.append(first, len(code))[1:] - 1
        place = np.arange(len(code)) - np.repeat(first, ends - first + 1)
        steps = tuple(
            (order[at], order[at - 1])
            for at in (np.flatnonzero(place == k) for k in range(1, place.max(initial=0) + 1))
        )
        return cls(code, start, stop, steps, order[first], order[ends])

    def log_psi(self, eta: Array) -> tuple[Array, Array]:
        """Logarithms of the accelerated time at start and stop of each row, (n, ...), of locations (n, ...)."""
        length = np.log(self.stop - self.start).reshape(-1, *[1] * (eta.ndim - 1))
        begin, end = np.full(eta.shape, -np.inf), length - eta
        for rows, before in self.steps:
            begin[rows] = end[before]
            end[rows] = np.logaddexp(end[before], end[rows])
        return begin, end

    def averages(self, H: Array, end: Array) -> Array:
        """Averages (n, p) of columns up to the stop of each row, by the accelerated time: minus d log psi / d beta."""
        out = H.copy()
        for rows, before in self.steps:
            share = np.exp(end[before] - end[rows])[:, None]
            out[rows] = share * out[before] + (1.0 - share) * H[rows]
        return out

    def here(self, times: Array) -> BoolArray:
        """Whether a subject is in each row at times (T,) or (n, T); at its first start in the first row."""
        first = np.zeros(len(self.code), dtype=bool)
        first[self.first] = True
        start = self.start[:, None]
        return ((start < times) & (times <= self.stop[:, None])) | (first[:, None] & (times == start))

    def within(self, rows: IntArray, times: Array, eta: Array, begin: Array) -> Array:
        """Log accelerated time at ``times`` (q,) in some rows (q,) of locations and beginnings (n,)."""
        with np.errstate(divide="ignore"):
            passed = np.log(np.maximum(times - self.start[rows], 0.0))
        return np.logaddexp(begin[rows], passed - eta[rows])

    def subjects(self, some: IntArray) -> tuple[Histories, IntArray]:
        """Those of some subjects, in their order, and which rows these have."""
        rows = np.flatnonzero(np.isin(self.code, some))
        return Histories.of(np.searchsorted(some, self.code[rows]), self.start[rows], self.stop[rows]), rows
