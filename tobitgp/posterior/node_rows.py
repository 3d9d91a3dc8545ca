"""Weighted normal distributions of the location in rows, and the noise of each component."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.posterior.questions import RowSelection
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class NodeRows:
    """f in n rows: ``sum_j weight_j N(mean_j, sd_j^2)``, and the noise of each component."""

    weight: Array  # (J,), sum to one
    mean: Array  # (J, n), of f, in the user's units; on the log scale for positive responses
    sd: Array  # (J, n)
    sigma: Array  # (J, n), or (J, 1) where it is that of all rows
    log: bool = False  # f is the location of the response's logarithm
    noises: tuple[Distribution, ...] = ()  # J of them

    cells: ClassVar[int] = 513  # nodes of f between which quantiles of numbers are straight

    def __post_init__(self) -> None:
        if not self.noises:
            object.__setattr__(self, "noises", (NormalNoise(),) * len(self.weight))

    @property
    def normal(self) -> bool:
        """Whether all noise is normal."""
        return all(noise.gaussian for noise in self.noises)

    @property
    def one_noise(self) -> bool:
        """Whether all components have the same noise."""
        return bool((self.sigma == self.sigma[0]).all()) and len(set(self.noises)) == 1

    @property
    def one_scale(self) -> bool:
        """Whether f is the location of the response, or of its logarithm, under all components."""
        return True

    def given(self, j: int, f: Array, rows: RowSelection = slice(None)) -> LocationScale:
        """Distributions given f in some rows, under the noise of a component."""
        sigma = self.sigma[j]
        return LocationScale(self.noises[j], f, sigma if len(sigma) == 1 else sigma[rows], self.log)

    def take(self, rows: RowSelection) -> Self:
        """Some of the rows."""
        sigma = self.sigma if self.sigma.shape[1] == 1 else self.sigma[:, rows]
        return replace(self, mean=self.mean[:, rows], sd=self.sd[:, rows], sigma=sigma)

    def components(self, chosen: BoolArray) -> Self:
        """Some of the components."""
        noises = tuple(noise for noise, there in zip(self.noises, chosen, strict=True) if there)
        weight = self.weight[chosen] / self.weight[chosen].sum()
        arrays = {name: getattr(self, name)[chosen] for name in ("mean", "sd", "sigma")}
        return replace(self, weight=weight, noises=noises, **arrays)

    def spread_over(self) -> Self:
        """The rows with a trailing axis for several values each, (J, n, 1)."""
        return replace(self, **{name: getattr(self, name)[:, :, None] for name in ("mean", "sd", "sigma")})

    def beside_one_value(self, rows: IntArray) -> Self:
        """Rows that were spread over several values, as often as they are wanted, (J, k)."""
        flat = replace(self, **{name: getattr(self, name)[:, :, 0] for name in ("mean", "sd", "sigma")})
        return flat.take(rows)
