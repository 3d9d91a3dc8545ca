"""Evaluations by the compiled core: of low-rank priors, with all rows in one part.

Kernels that the core does not know make their columns here, and what it finds of the slopes in these is led back here.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from tobitgp.compiled import library
from tobitgp.engines import LocalPartitions
from tobitgp.errors import NumericalError
from tobitgp.inference.compiled_rows import METHODS, describe_rows
from tobitgp.inference.feature_layout import MOST_SPREAD, Layout, Place, block_features, block_slopes, spread_columns
from tobitgp.inference.feature_posterior import FeaturePosterior, Settled
from tobitgp.inference.method import EPUpdates, Method
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites, spans
from tobitgp.inference.site_updates import CHUNK_ROWS, Setting, SiteChunk, SitesState
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.arrow import Factor, Loadings, OwnColumns, Slope
from tobitgp.priors.group_effects import EffectsBlock
from tobitgp.priors.kernel_block import KernelBlock, KernelFeatures
from tobitgp.priors.level_curves import LevelCurvesBlock
from tobitgp.priors.prior import DenseBlock
from tobitgp.priors.structure import Block, BlockAt, Features, Grouping
from tobitgp.typing import Array, IntArray

MOST_BYTES = 2**26  # of the features of all rows, above which those of rows whose sites are known are not kept


class Member(NamedTuple):
    """A block in a plan."""

    block: DenseBlock | KernelBlock | EffectsBlock | LevelCurvesBlock
    place: Literal["common", "spread", "own"]  # as of `Place`
    width: int  # columns, at most
    kernel: int | None  # the core's number for it; None where its columns are made here


@dataclass(frozen=True)
class CompiledPlan:
    """What stays of an evaluation while parameters move: the rows and the blocks, and where outputs lie."""

    part: RowPartition
    members: tuple[Member, ...]
    groups: int
    parameters: int  # of blocks that the core knows
    stored: int  # the first row whose features are kept
    rows: library.Rows
    blocks: Any  # an array of `library.Block`
    held: tuple[Any, ...]  # arrays that these two point to
    outputs: Mapping[str, int]  # where each begins in one piece of memory, in numbers; its end last

    @classmethod
    def of(cls, data: PartitionedRows, blocks: Sequence[Block], *, together: bool = False) -> CompiledPlan | None:
        """Plan for rows in one part; None if the core is missing, or does not support the rows or the blocks.

        With ``together``, for use with a chain, all columns are common to the groups and kept.
        """
        if library.load() is None or not isinstance(data.partitions, LocalPartitions) or len(data.partitions) != 1:
            return None
        part: RowPartition = data.partitions.items[0]
        if not all(isinstance(block, DenseBlock | KernelBlock | EffectsBlock | LevelCurvesBlock) for block in blocks):
            return None
        own = None if together else _own_grouping(blocks)
        members = tuple(_member(block, own) for block in blocks)
        groups = 0 if own is None else own.size
        if sum(member.width for member in members if member.place == "spread") > MOST_SPREAD:
            return None
        if any(rows.side is not None for rows in part.rows):
            return None
        rows, held = _rows(part, members, groups)
        made, arrays = _blocks(part, members)
        width = sum(member.width for member in members)
        stored = 0 if together or 8 * len(part) * width <= MOST_BYTES else rows.exact
        parameters = sum(member.block.n_parameters for member in members if member.kernel is not None)
        outputs = _outputs(len(part), stored, members, groups)
        return cls(part, members, groups, parameters, stored, rows, made, (*held, *arrays), outputs)

    @property
    def windowed(self) -> bool:
        """Whether some rows are truncated."""
        return bool(self.rows.entry)

    @cached_property
    def chunks(self) -> list[SiteChunk]:
        """The rows in the chunks in which they are visited elsewhere."""
        return [
            SiteChunk(rows, span, tuple(at.rows(span) for at in self.part.inputs), False)
            for rows, span in spans(self.part.rows, CHUNK_ROWS)
        ]

    @cached_property
    def places(self) -> list[slice]:
        """Where each block's own parameters are in theta."""
        ends = np.cumsum([0, *(member.block.n_parameters for member in self.members)]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    @cached_property
    def code(self) -> IntArray | None:
        """Group of each row, if some columns belong to groups."""
        own = (at.code for at, member in zip(self.part.inputs, self.members, strict=True) if member.place == "own")
        return next(own, None)

    def settle(
        self,
        data: PartitionedRows,
        theta: Array,
        method: Method,
        likelihood: Likelihood,
        noise: library.Noise,
        *,
        slopes: bool,
        beside: Beside | None = None,
    ) -> Settled:
        """Find the fixed point from the sites of the rows, noise being what the core calls the likelihood.

        Where the core replaced many columns by a root of the rows' covariance, the weights' posterior is left out.
        """
        assert isinstance(data.partitions, LocalPartitions)
        part: RowPartition = data.partitions.items[0]
        both = np.zeros((2, len(part))) if part.sites is None else np.array([part.sites.lambda1, part.sites.lambda2])
        sites, memory = Sites(*both), np.empty(self.outputs["end"])
        memory[self.outputs["theta"] :][: len(theta)] = theta
        base, blocks = library.address(memory), (library.Block * len(self.members))()
        ctypes.memmove(blocks, self.blocks, ctypes.sizeof(self.blocks))
        own = [theta[places] for places in self.places]
        given = self._given(own, blocks, slopes)
        at, lambda1 = base + 8 * self.outputs["theta"], library.address(both)
        for t, (block, part_of_theta) in enumerate(zip(blocks, own, strict=True)):
            block.theta = at
            at += 8 * len(part_of_theta)
            for name in _OF_BLOCK:
                setattr(block, name, base + 8 * self.outputs[f"{name} {t}"])
        e = library.Evaluation(
            ctypes.addressof(self.rows),
            ctypes.addressof(blocks),
            len(blocks),
            METHODS[method.evidence_kind],
            method.max_iterations,
            self.parameters if slopes else -1,
            isinstance(method, EPUpdates) and method.floored,
            0 if noise.distribution else self.rows.exact,
            self.stored,
            method.tol,
            method.damping,
            float(np.exp(theta[-1])),
            noise,
            lambda1,
            lambda1 + 8 * len(part),
            None,
            None,
            None,
            0,
            0,
            0,
            *(base + 8 * self.outputs[name] for name in _OF_ALL[1:]),
        )
        if beside is not None:
            e.chain, e.knot = ctypes.addressof(beside.chain), library.address(beside.knot)
            e.chain_gradient = library.address(beside.gradient)
        if given:
            d = np.sum([made.features.d for made in given.values()], axis=0)
            e.given_d = library.address(d)
            if slopes:
                e.G, e.G_own, e.g_d = (base + 8 * self.outputs[name] for name in _OF_SLOPES)
        status = library.load().evaluate(ctypes.byref(e))
        if status < 0:
            raise MemoryError
        if status == 0:
            why = f"A matrix of {e.p + self.groups * e.m} features is not positive definite."
            raise NumericalError("The sites of the rows leave no posterior." if beside else why)
        answer = _Answer(self, e, blocks, memory, theta, own, given, method, likelihood, sites)
        here = data.starting(LocalPartitions([replace(part, sites=sites)]))
        found = e.evidence, e.iterations, e.residual, bool(e.converged), e.p + e.m
        gradient = answer.gradient() if slopes else None
        return Settled(theta, *found, gradient, here, answer.posterior if e.rank == e.p else None)

    def _given(self, theta: Sequence[Array], blocks: Any, slopes: bool) -> dict[int, GivenFeatures]:
        """Make the columns of blocks that the core does not know."""
        given = {}
        for t, (member, own) in enumerate(zip(self.members, theta, strict=True)):
            if member.kernel is not None:
                continue
            at, inputs = member.block.at(own), self.part.inputs[t]
            features = block_features(at, inputs, slopes=slopes)
            A = np.ascontiguousarray(features.A)
            if member.place == "spread":
                A = spread_columns(A, inputs.code, at.size * (1 if at.grouping is None else at.grouping.size))
            given[t] = GivenFeatures(at, features, A)
            blocks[t].size, blocks[t].X = A.shape[1], library.address(A)
        return given


class Beside(NamedTuple):
    """A Markov chain used together with the blocks, and where its part of the gradient belongs."""

    chain: library.Chain
    held: tuple[np.ndarray, ...]  # arrays that it points to
    knot: np.ndarray  # (n,), of each row
    gradient: Array


class GivenFeatures(NamedTuple):
    """A block whose columns were made here."""

    at: BlockAt
    features: Features
    A: Array  # its columns where they belong


_OF_ALL = ("theta", "A", "own", "d", "w", "L", "T", "U", "gradient")
_OF_BLOCK = ("pivots", "L", "T", "Z_kept")
_OF_SLOPES = ("G", "G_own", "g_d")  # where columns are made here


def _outputs(n: int, stored: int, members: Sequence[Member], groups: int) -> dict[str, int]:
    """Where theta and outputs begin, one after the other, in numbers."""
    p, m = (sum(x.width for x in members if (x.place == "own") == own) for own in (False, True))
    k, kept = 2 + sum(member.block.n_parameters for member in members), n - stored
    weights = p + groups * m, p * p, groups * m * m, groups * m * p
    sizes = dict(zip(_OF_ALL, (k, kept * p, kept * m, n, *weights, k), strict=True))
    for t, member in enumerate(members):
        known = isinstance(member.block, KernelBlock) and member.kernel is not None
        Z = member.block.Z if isinstance(member.block, KernelBlock) and known else np.empty((0, 0))
        M = len(Z)
        sizes |= {f"{name} {t}": size for name, size in zip(_OF_BLOCK, (M, M * M, M * M, Z.size), strict=True)}
    if any(member.kernel is None for member in members):
        sizes |= dict(zip(_OF_SLOPES, (n * p, n * m, n), strict=True))
    sizes["end"] = 0
    return dict(zip(sizes, itertools.accumulate(sizes.values(), initial=0), strict=False))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an evaluation left."""

    plan: CompiledPlan
    e: library.Evaluation
    blocks: Any
    memory: Array
    theta: Array
    own: Sequence[Array]
    given: Mapping[int, GivenFeatures]
    method: Method
    likelihood: Likelihood
    sites: Sites

    def _array(self, name: str, *shape: int) -> Array:
        """An output of as many numbers as the shape has, in C order."""
        first = self.plan.outputs[name]
        return self.memory[first : first + math.prod(shape)].reshape(shape)

    def _square(self, name: str, size: int) -> Array:
        """A matrix in Fortran order; a copy, which does not hold the memory."""
        return self._array(name, size, size).T.copy(order="F")

    @property
    def layout(self) -> Layout:
        """Where columns came to lie."""
        places = (
            Place(member.place, slice(block.first, block.first + block.kept))
            for member, block in zip(self.plan.members, self.blocks, strict=True)
        )
        return Layout(tuple(places), self.e.p, self.e.m, self.plan.groups)

    def at(self) -> tuple[BlockAt, ...]:
        """The blocks at the parameters."""
        found: list[BlockAt] = []
        for t, (member, block, own) in enumerate(zip(self.plan.members, self.blocks, self.own, strict=True)):
            if t in self.given:
                found.append(self.given[t].at)
            elif not isinstance(member.block, KernelBlock):
                found.append(member.block.at(own))
            else:
                kernel, r = member.block, block.kept
                Z = self._array(f"Z_kept {t}", r, kernel.Z.shape[1]).copy()
                L = self._square(f"L {t}", r)
                made = kernel.covariance, block.variance, np.exp(own[1:]), Z, L, kernel.grouping
                found.append(KernelFeatures(*made))
        return tuple(found)

    def gradient(self) -> Array:
        """Gradient of the evidence in theta."""
        if not self.given:
            return self._array("gradient", len(self.theta)).copy()
        part, n, e = self.plan.part, len(self.plan.part), self.e
        at, G = self.at(), Slope(self._array("G", n, e.p), self._array("G_own", n, e.m) if e.m else None)
        g_d, found, first = self._array("g_d", n), [], 0
        made = self._array("gradient", len(self.theta) - sum(len(self.own[t]) for t in self.given))
        for t, slopes in enumerate(block_slopes(self.layout, part.inputs, at, G)):
            if t in self.given:
                sums = at[t].backward(part.inputs[t].X, self.given[t].features, slopes, g_d)
                found.append(at[t].finish(sums))
            else:
                found.append(made[first : first + len(self.own[t])])
                first += len(self.own[t])
        return np.concatenate([*found, made[first:]])

    def posterior(self) -> FeaturePosterior:
        """All of it, with its rows."""
        e, at, layout, part = self.e, self.at(), self.layout, self.plan.part
        p, m, groups = e.p, e.m, self.plan.groups if e.m else 0
        T, U = (self._array("T", groups, m, m), self._array("U", groups, m, p)) if m else (None, None)
        factor = Factor(self._square("L", p), None if T is None else T.copy(), None if U is None else U.copy())
        w = self._array("w", p + groups * m).copy()
        setting = Setting(at, layout, self.method, Spread(self.likelihood), e.sigma)
        state = SitesState(part, setting, self._chunks(layout), self.sites)
        found = e.evidence, e.iterations, e.residual, bool(e.converged)
        return FeaturePosterior(self.theta, at, layout, w, factor, *found, states=LocalPartitions([state]))

    def _chunks(self, layout: Layout) -> tuple[SiteChunk, ...]:
        """The rows with the features found, where these are of all rows."""
        e, plan, chunks = self.e, self.plan, []
        known = [replace(chunk, conjugate=self.likelihood.is_conjugate(chunk.rows)) for chunk in plan.chunks]
        if plan.stored:
            return tuple(known)
        n, groups = len(plan.part), plan.groups
        A, own, d = self._array("A", n, e.p), self._array("own", n, e.m), self._array("d", n)
        columns = [(own if place.kind == "own" else A)[:, place.columns] for place in layout.places]
        for t, made in self.given.items():
            columns[t] = made.features.A
        for chunk in known:
            at = chunk.span
            of_groups = None if plan.code is None else OwnColumns(own[at], plan.code[at], groups)
            parts = tuple(Features(x[at], d[:0]) for x in columns)
            kept = parts, Loadings(A[at], of_groups), d[at]
            chunks.append(replace(chunk, kept=(kept,)))
        return tuple(chunks)


def _own_grouping(blocks: Sequence[Block]) -> Grouping | None:
    """The one with most weights, as in `lay_out`."""
    weights: dict[Grouping, int] = {}
    for block in blocks:
        if isinstance(block, DenseBlock | KernelBlock | EffectsBlock | LevelCurvesBlock) and block.grouping is not None:
            weights[block.grouping] = weights.get(block.grouping, 0) + _width(block) * block.grouping.size
    return max(weights, key=lambda grouping: weights[grouping], default=None)


def _member(block: Any, own: Grouping | None) -> Member:
    """A block's place, its width and who makes its columns."""
    width = _width(block)
    if block.grouping is not None and block.grouping != own:
        return Member(block, "spread", width * block.grouping.size, None)
    kernel = library.COLUMNS if isinstance(block, DenseBlock) else None
    if isinstance(block, KernelBlock) and not block.moves:
        kernel = block.covariance.compiled
    return Member(block, "common" if block.grouping is None else "own", width, kernel)


def _width(block: DenseBlock | KernelBlock | EffectsBlock | LevelCurvesBlock) -> int:
    """Columns of one row, at most."""
    if isinstance(block, EffectsBlock | LevelCurvesBlock):
        return block.size
    return block.X.shape[1] if isinstance(block, DenseBlock) else len(block.Z)


def _rows(part: RowPartition, members: Sequence[Member], groups: int) -> tuple[library.Rows, list[np.ndarray]]:
    """Rows as the core takes them, and the arrays that these point to."""
    held: list[np.ndarray]
    held, made = describe_rows(part.rows)
    made.groups = groups
    codes = (at.code for at, member in zip(part.inputs, members, strict=True) if member.place == "own")
    code = next(codes, None)
    if code is not None:
        held = [*held, np.ascontiguousarray(code, dtype=np.int32)]
        made.code = library.address(held[-1])
    return made, held


def _blocks(part: RowPartition, members: Sequence[Member]) -> tuple[Any, list[Array]]:
    """Blocks as the core takes them, and the arrays that these point to."""
    made, held = (library.Block * len(members))(), []
    for block, member, inputs in zip(made, members, part.inputs, strict=True):
        block.kind, block.own, block.size = library.COLUMNS, member.place == "own", member.width
        if member.kernel is None:
            continue
        held.append(np.ascontiguousarray(inputs.X))
        block.X = library.address(held[-1])
        if isinstance(member.block, KernelBlock):
            held.append(np.ascontiguousarray(member.block.Z))
            factors = member.block.covariance.factors
            block.kind, block.inputs, block.Z = member.kernel, inputs.X.shape[1], library.address(held[-1])
            block.each = factors[0].ard if factors else False
    return made, held
