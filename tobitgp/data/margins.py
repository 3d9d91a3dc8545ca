"""How linear columns are made of factors and numbers: what decides which columns are margins of which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tobitgp.data.design import DesignState
from tobitgp.data.linear import INTERCEPT, LinearState
from tobitgp.formula.linear import mentions
from tobitgp.formula.several import EACH, LOWER
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
        return plain_blocks(state.columns, stacked=_stacked(spec))
    return tuple(_read_blocks(state, spec))


def plain_blocks(columns: Sequence[str], *, stacked: bool = False) -> tuple[LinearBlock, ...]:
    """Of an intercept and bare columns; those of stacked responses have nothing to do with each other."""
    return tuple(
        LinearBlock(j, 1, (), frozenset(), ())
        if name == INTERCEPT
        else LinearBlock(
            j, 1, ((name, np.eye(1)),), frozenset({name}), (frozenset({name}),), _own(name) if stacked else ""
        )
        for j, name in enumerate(columns)
    )


def _own(name: str) -> Literal["level", "made"]:
    return "made" if ":" in name else "level"


def _stacked(spec: LinearPart) -> bool:
    """Whether rows are those of several responses, whose columns were made beforehand."""
    if isinstance(spec, ModelSpec):
        return LOWER in spec.names("response", "bound")
    return spec.linear.startswith(f"1 + {EACH}")


def _read_blocks(state: LinearState, spec: LinearPart) -> Iterator[LinearBlock]:
    assert state.model_spec is not None
    aliases = [state.aliases.get(name, name) for name in spec.names("linear")]
    codings, first = state.model_spec.factor_contrasts, 0
    for item in state.model_spec.structure:
        last = first + len(item.columns)
        for scoped in item.scoped_terms:
            written = [(each.factor.factor, each.reduced) for each in scoped.factors]
            names = tuple(frozenset(name for name in aliases if mentions(str(text), name)) for text, _ in written)
            known = {
                str(text): codings[text]
                .contrasts.get_coding_matrix(codings[text].levels, reduced)
                .to_numpy(dtype=float)
                for text, reduced in written
                if codings.get(text)
            }
            numbers = [str(text) for text, _ in written if str(text) not in known]
            size = int(np.prod([coding.shape[1] for coding in known.values()], dtype=int))
            width = 1 if len(item.scoped_terms) > 1 else (last - first) // max(size, 1)
            if size == 0:
                continue
            if len(numbers) > 1 and width > 1:  # which of them has several columns is not said
                every = ((" x ".join(str(text) for text, _ in written), np.eye(size * width)),)
                yield LinearBlock(first, size * width, every, frozenset({every[0][0]}), (frozenset().union(*names),))
            else:
                known |= {text: np.eye(width) for text in numbers}
                factors = tuple((str(text), known[str(text)]) for text, _ in written)
                yield LinearBlock(first, size * width, factors, frozenset(numbers), names)
            first += size * width
        first = last
