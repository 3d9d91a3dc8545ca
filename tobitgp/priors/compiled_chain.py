"""Markov chains by the compiled core: knot after knot, in the order of groups and inputs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.compiled import library
from tobitgp.errors import NumericalError
from tobitgp.typing import Array, IntArray

ChainStep = tuple[IntArray, Array]  # knots (n,), and how far it is from there or to there
Smoothness = Sequence[int | None]  # p of terms of smoothness p + 1/2, None of random intercepts


def is_known(smoothness: Smoothness) -> bool:
    """Whether the core is there and takes the states of so many terms."""
    return library.load() is not None and sum((p or 0) + 1 for p in smoothness) <= library.MOST_STATES


def describe(smoothness: Smoothness, theta: Array, gap: Array) -> tuple[library.Chain, tuple[np.ndarray, ...]]:
    """A chain as the core takes it, over the gaps before knots (N,), and the arrays that it points to."""
    numbers = np.array([-1 if p is None else p for p in smoothness], dtype=np.int32)
    held = numbers, np.ascontiguousarray(gap), np.ascontiguousarray(theta)
    states = int((np.maximum(numbers, 0) + 1).sum())
    pointers = [library.address(array) for array in held]
    return library.Chain(len(gap), states, len(numbers), *pointers), held


def shapes(knots: int, states: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a chain, by their names in ``core.h``; scratch is made anew for every call."""
    square, row = (knots, states, states), (knots, states)
    given = {"P": (knots + 1, states, states), "G": square, "gain": row, "back": square, "site": row}
    return {"Phi": square, "C": square, **given, "by_mu": row, "by_g": row, "variance": (knots,)}


def scratch(knots: int, states: int, columns: int) -> int:
    """Numbers that a solution for so many columns needs."""
    return (2 * knots + 1) * min(columns, library.COLUMNS_AT_ONCE) * states


@dataclass(frozen=True, slots=True)
class CompiledChain:
    """Transitions at fixed parameters."""

    made: library.Chain
    arrays: Mapping[str, Array]  # that it points to
    held: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, smoothness: Smoothness, theta: Sequence[Array], gap: Array) -> CompiledChain:
        """Over the gaps before knots (N,)."""
        made, held = describe(smoothness, np.concatenate(theta), gap)
        every = shapes(made.knots, made.states)
        arrays = {name: np.empty(every[name]) for name in ("Phi", "C")}
        made.Phi, made.C = map(library.address, arrays.values())
        library.load().fix_chain(ctypes.byref(made))
        return cls(made, arrays, held)

    def condition(self, lambda2: Array) -> CompiledConditioned:
        """Condition on sites of precisions ``lambda2`` (N,)."""
        N, S = self.made.knots, self.made.states
        arrays = dict(self.arrays) | {
            name: np.empty(shape) for name, shape in shapes(N, S).items() if name not in self.arrays
        }
        made, held = library.Chain.from_buffer_copy(self.made), np.ascontiguousarray(lambda2)
        made.lambda2 = library.address(held)
        for name, array in arrays.items():
            setattr(made, name, library.address(array))
        if not library.load().condition_chain(ctypes.byref(made)):
            raise NumericalError("Negative precisions of the sites outweigh the prior.")
        return CompiledConditioned(made, arrays, (*self.held, held))


@dataclass(frozen=True, slots=True)
class CompiledConditioned:
    """A chain given the precisions of sites; columns (N, k) are natural means."""

    made: library.Chain
    arrays: Mapping[str, Array]
    held: tuple[np.ndarray, ...]

    def _with_scratch(self, columns: int) -> tuple[library.Chain, Array]:
        """A separate copy for every call, since several threads may call."""
        made = library.Chain.from_buffer_copy(self.made)
        memory = np.empty(scratch(made.knots, made.states, columns))
        made.columns = library.address(memory)
        return made, memory

    def solve(self, U: Array) -> Array:
        """``V0 U``, (N, k)."""
        U = np.ascontiguousarray(U)
        out, (made, _held) = np.empty_like(U), self._with_scratch(U.shape[1])
        library.load().solve_chain(ctypes.byref(made), U.shape[1], *_pointers(U, out))
        return out

    def gradient(self, U: Array, signs: Array) -> Array:
        """(STR6) by the parameters of all terms; the squares of columns count with their signs (k,)."""
        U, signs = np.ascontiguousarray(U), np.ascontiguousarray(signs)
        out, (made, _held) = np.empty(len(self.held[2])), self._with_scratch(U.shape[1])
        library.load().slope_chain(ctypes.byref(made), U.shape[1], *_pointers(U, signs, out))
        return out

    def smooth(self, U: Array) -> CompiledSmoothed:
        """``V0 U`` at other places."""
        U, (N, S) = np.ascontiguousarray(U), self.arrays["gain"].shape
        k = U.shape[1]
        carried = np.empty((N + 1, k, S)), np.empty((N, k, S))
        library.load().carry_columns(ctypes.byref(self.made), k, k, *_pointers(U, *carried))
        return CompiledSmoothed(self, U, *carried)


@dataclass(frozen=True, slots=True)
class CompiledSmoothed:
    """A chain given sites, and columns carried along it."""

    given: CompiledConditioned
    U: Array  # (N, k), natural means
    mu: Array  # (N + 1, k, S), filtered means one knot before
    g: Array  # (N, k, S), backward information, own site excluded

    def between(self, start: ChainStep, end: ChainStep, shown: Sequence[bool]) -> tuple[Array, Array]:
        """What ``V0 U`` is at n places, (n, k), and the variance (n,) there, of the terms that are shown."""
        n, k = len(start[0]), self.U.shape[1]
        held = [np.ascontiguousarray(near, dtype=np.int32) for near, _ in (start, end)]
        held += [np.ascontiguousarray(gap) for _, gap in (start, end)]
        held.append(np.array(shown, dtype=np.int32))
        places, f, variance = library.Places(n, *map(library.address, held)), np.empty((n, k)), np.empty(n)
        arguments = k, *_pointers(self.U, self.mu, self.g), ctypes.byref(places), *_pointers(f, variance)
        library.load().smooth_chain(ctypes.byref(self.given.made), *arguments)
        return f, variance


def _pointers(*arrays: Array) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(library.address(array)) for array in arrays]
