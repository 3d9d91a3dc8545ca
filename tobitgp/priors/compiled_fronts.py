"""Fronts of sparse matrices by the compiled core, which keeps their panels in one array."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tobitgp.compiled import library
from tobitgp.errors import NumericalError
from tobitgp.numerics.fronts import FrontalFactor, Fronts
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class CompiledFronts:
    """A tree of fronts in the arrays that the core takes."""

    tree: Fronts
    arrays: Mapping[str, np.ndarray]  # by their names in ``core.h``
    up: tuple[IntArray, int]  # where what each front passes on to its parent begins, and how many numbers that takes
    down: tuple[IntArray, int]  # the same of what it is passed
    numbers: int  # of all panels
    largest: tuple[int, int]  # panel and border

    @classmethod
    def of(cls, tree: Fronts) -> CompiledFronts:
        """Arrays of a tree."""
        fronts = tree.fronts
        pivots = np.array([front.stop - front.start for front in fronts])
        border = np.array([len(front.border) for front in fronts])
        panel = pivots * (pivots + border)
        into: list[IntArray] = [np.zeros(u, dtype=np.intp) for u in border]  # of a front without a parent none
        for front in fronts:
            for child, places in zip(front.children, front.into, strict=True):
                into[child] = places
        lists = {
            "start": np.append(0, np.cumsum(pivots)),
            "edge": np.append(0, np.cumsum(border)),
            "border": np.concatenate([front.border for front in fronts]),
            "into": np.concatenate(into),
            "child": np.append(0, np.cumsum([len(front.children) for front in fronts])),
            "children": np.concatenate([np.array(front.children, dtype=np.intp) for front in fronts]),
            "entry": np.append(0, [front.entries.stop for front in fronts]),
            "by_front": tree.by_front,
            "at": np.concatenate([front.at for front in fronts]),
        }
        arrays = {name: np.ascontiguousarray(values, dtype=np.int32) for name, values in lists.items()}
        arrays["panel"] = (np.cumsum(panel) - panel).astype(np.int64)
        return cls(tree, arrays, _up(tree, border), _down(tree, border), int(panel.sum()), (panel.max(), border.max()))

    def described(self, panels: Array, passed: tuple[IntArray, int]) -> tuple[library.Fronts, tuple[np.ndarray, ...]]:
        """The tree as the core takes it, with scratch for what fronts pass on, and what else must be held."""
        made = library.Fronts(count=len(self.tree.fronts))
        for name, array in self.arrays.items():
            setattr(made, name, library.address(array))
        scratch = np.empty(passed[1])
        made.place, made.panels, made.passed = map(library.address, (passed[0], panels, scratch))
        return made, (scratch,)

    def factorise(self, values: Array) -> CompiledFactor:
        """Factorise the matrix with ``values`` (P,) in the pattern, (VEC3)."""
        panels = np.empty(self.numbers)
        made, _held = self.described(panels, self.up)
        if not library.load().factorise_fronts(ctypes.byref(made), *pointers(np.ascontiguousarray(values))):
            raise NumericalError("A sparse matrix is not positive definite.")
        return CompiledFactor(self, panels, float(made.log_det))


@dataclass(frozen=True)
class CompiledFactor:
    """A factorised sparse matrix ``Q = L L'``."""

    fronts: CompiledFronts
    panels: Array  # of all fronts
    log_det: float  # ``log |Q|``

    def solve(self, B: Array) -> Array:
        """``Q^-1 B`` for ``B`` (n, k)."""
        order, k = self.fronts.tree.order, B.shape[1]
        X, border = np.ascontiguousarray(B[order]), np.empty(self.fronts.largest[1] * k)
        made, _held = self.fronts.described(self.panels, (self.fronts.up[0], 0))
        if k:
            library.load().solve_fronts(ctypes.byref(made), k, *pointers(X, border))
        out = np.empty_like(X)
        out[order] = X
        return out

    @cached_property
    def inverse(self) -> Array:
        """Entries of ``Q^-1`` in the pattern, (P,), (VEC4)."""
        made, _held = self.fronts.described(self.panels, self.fronts.down)
        entries, scratch = np.empty(len(self.fronts.tree.by_front)), np.zeros((2, self.fronts.largest[0]))
        library.load().invert_fronts(ctypes.byref(made), *pointers(entries, *scratch))
        return entries

    def quadratic_forms(self, rows: IntArray, values: Array) -> Array:
        """``b' Q^-1 b``, (n,), for vectors ``b`` with ``values`` (n, k) in some ``rows`` (n, k) and zeros elsewhere."""
        tree, factors = self.fronts.tree, []
        for front, start in zip(tree.fronts, self.fronts.arrays["panel"], strict=True):
            p, u = front.stop - front.start, len(front.border)
            panel = self.panels[start : start + p * (p + u)].reshape(p, p + u).T
            factors.append((panel[:p], panel[p:]))
        return FrontalFactor(tree, factors, self.log_det).quadratic_forms(rows, values)


def _up(tree: Fronts, border: IntArray) -> tuple[IntArray, int]:
    """Places on two stacks in turn: a front finds those of its children on top of one, and leaves its own on the other.

    The second stack lies behind the first.
    """
    depth = np.zeros(len(border), dtype=np.intp)
    for f in range(len(border) - 1, -1, -1):
        depth[tree.fronts[f].children] = depth[f] + 1
    place, top, most = np.zeros(len(border), dtype=np.int64), [0, 0], [0, 0]
    for f, front in enumerate(tree.fronts):
        side = depth[f] % 2
        place[f] = top[side]
        top[side] += int(border[f]) ** 2
        most[side] = max(most[side], top[side])
        top[1 - side] -= int(np.square(border[front.children]).sum())
    return place + np.where(depth % 2 == 1, most[0], 0), sum(most)


def _down(tree: Fronts, border: IntArray) -> tuple[IntArray, int]:
    """Places on a stack, on which that of a front stays until all below it are done."""
    place, most = np.zeros(len(border), dtype=np.int64), 0
    for f in range(len(border) - 1, -1, -1):
        top = int(place[f] + border[f] ** 2)
        for child in tree.fronts[f].children:
            place[child] = top
            top += int(border[child]) ** 2
        most = max(most, top)
    return place, most


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    """Where arrays begin, as arguments of the core."""
    return [ctypes.c_void_p(library.address(array)) for array in arrays]
