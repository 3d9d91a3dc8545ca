"""How linear columns are made of factors and numbers: what decides which columns are margins of which."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import LinearState
from tobitgp.formula.linear_terms import mentions
from tobitgp.formula.mvbind import EACH, LOWER
from tobitgp.formula.spec import LinearPart, ModelSpec
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class LinearBlock:
    """Consecutive columns: products of the codings of some factors and of some numbers."""

    first: int  # position of the first column
    size: int
    factors: tuple[tuple[str, Array], ...]  # expression and coding (levels, columns) of each, the fastest first
    numbers: frozenset[str]  # those of the expressions that are no factors; the coding of a number is an identity
    names: tuple[frozenset[str], ...]  # data columns in each expression
    own: Literal["", "level", "made"] = ""  # of stacked responses, whose columns come with their units: which they are

    @property
    def places(self) -> range:
        """Positions of the columns."""
        return range(self.first, self.first + self.size)


def part_blocks(state: DesignState, *, scale: bool) -> tuple[LinearBlock, ...]:
    """The columns of the linear part of a model, or of its log sigma; none without such."""
    if not scale:
        return linear_blocks(state.linear, state.spec)
    return () if state.scale is None else linear_blocks(state.scale.linear, state.scale.spec)


def linear_blocks(state: LinearState, spec: LinearPart) -> tuple[LinearBlock, ...]:
    """The columns of a linear part in blocks, in their order."""
    if state.model_spec is None or _stacked(spec):
        return plain_blocks(state.columns, intercept=spec.intercept, stacked=_stacked(spec))
    return tuple(_read_blocks(state, spec))


def plain_blocks(columns: Sequence[str], *, intercept: bool, stacked: bool = False) -> tuple[LinearBlock, ...]:
    """Blocks of an intercept, where there is one, and of bare columns; those of stacked responses are unrelated."""
    return tuple(
        LinearBlock(j, 1, (), frozenset(), ()) if intercept and j == 0 else _plain_block(j, name, stacked=stacked)
        for j, name in enumerate(columns)
    )


def _plain_block(j: int, name: str, *, stacked: bool) -> LinearBlock:
    own: Literal["", "level", "made"] = "" if not stacked else "made" if ":" in name else "level"
    return LinearBlock(j, 1, ((name, np.eye(1)),), frozenset({name}), (frozenset({name}),), own)


def _stacked(spec: LinearPart) -> bool:
    """Whether rows are those of several responses, whose columns were made beforehand."""
    if isinstance(spec, ModelSpec):
        return LOWER in spec.names("response", "bound")
    return spec.linear.startswith(f"1 + {EACH}")


def _read_blocks(state: LinearState, spec: LinearPart) -> Iterator[LinearBlock]:
    assert state.model_spec is not None
    aliases = [state.aliases.get(name, name) for name in spec.names("linear")]
    contrasts, first = state.model_spec.factor_contrasts, 0
    for item in state.model_spec.structure:
        written = [[(str(e.factor.factor), e.reduced) for e in scoped.factors] for scoped in item.scoped_terms]
        known = [{t: _coding(contrasts[t], reduced=r) for t, r in term if contrasts.get(t)} for term in written]
        sizes = [math.prod(coding.shape[1] for coding in codings.values()) for codings in known]
        width = len(item.columns) // max(sum(sizes), 1)  # columns of the numbers
        for term, codings, size in zip(written, known, sizes, strict=True):
            names = tuple(frozenset(name for name in aliases if mentions(text, name)) for text, _ in term)
            numbers = frozenset(text for text, _ in term if text not in codings)
            if len(numbers) > 1 and width > 1:  # which of them has several columns is not said
                text = ":".join(text for text, _ in term)
                every = ((text, np.eye(size * width)),)
                yield LinearBlock(first, size * width, every, frozenset({text}), (frozenset().union(*names),))
            elif size:
                factors = tuple((text, codings.get(text, np.eye(width))) for text, _ in term)
                yield LinearBlock(first, size * width, factors, numbers, names)
            first += size * width


def _coding(of: Any, *, reduced: bool) -> Array:
    """Coding (levels, columns) of a factor by formulaic."""
    return np.asarray(of.contrasts.get_coding_matrix(of.levels, reduced), dtype=np.float64)
