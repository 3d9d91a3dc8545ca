"""The prior of a model on its training rows: linear columns and processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tobitgp.priors.block import Block, Inputs, split_theta
from tobitgp.priors.kernel_block import GPPrior, all_inputs
from tobitgp.priors.linear import DenseBlock
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class Prior:
    """All terms of a model on the training rows."""

    linear: DenseBlock | None
    gps: tuple[GPPrior, ...]

    @property
    def with_levels(self) -> frozenset[int]:
        """Blocks with a level over the training rows, or over those of each of their groups."""
        first = 0 if self.linear is None else 1
        return frozenset(first + t for t, gp in enumerate(self.gps) if gp.has_level)

    @property
    def inputs(self) -> list[Inputs]:
        """Inputs of each block in order, linear first."""
        own = [gp.inputs for gp in self.gps]
        return own if self.linear is None else [self.linear.inputs, *own]

    @property
    def moves(self) -> bool:
        """Whether inducing inputs of any term are to be moved to where they tell most."""
        return any(gp.moves for gp in self.gps)

    def automatic(self) -> Prior:
        """The prior with as many inducing inputs as it takes where they are to be moved."""
        gps = (replace(gp, inducing="auto", moves=False) if gp.moves else gp for gp in self.gps)
        return replace(self, gps=tuple(gps))

    def blocks(self, theta: Array, precision: Array, *, nats: float, cap: int) -> list[Block]:
        """Blocks in order, linear first, with inducing inputs chosen for ``theta`` and site precisions."""
        parts = split_theta(self.gps, theta)
        share = nats / max(len(self.gps), 1)
        chosen = [gp.choose(part, precision, nats=share, cap=cap) for gp, part in zip(self.gps, parts, strict=True)]
        return [*chosen] if self.linear is None else [self.linear, *chosen]

    def induced_by(self, distinct: Sequence[Array | None]) -> Prior:
        """The prior with distinct inputs (M, d_t) of each process for locations where all rows are to induce it.

        Of a sample of the rows these are not all; None stands for those of the rows at hand.
        """
        gps = []
        for gp, Z in zip(self.gps, distinct, strict=True):
            gps.append(replace(gp, inducing=all_inputs(gp.inputs.X) if Z is None else Z) if gp.inducing is None else gp)
        return replace(self, gps=tuple(gps))

    def subset(self, rows: IntArray) -> Prior:
        """Return the same terms on some of the rows."""
        linear = None if self.linear is None else DenseBlock(self.linear.X[rows])
        return replace(self, linear=linear, gps=tuple(gp.subset(rows) for gp in self.gps))
