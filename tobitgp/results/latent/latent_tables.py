"""Rows that are asked about over latent coordinates, and tables of their responses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.training_summary import held_rows
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_values import PossibleValues
from tobitgp.latent.psi_statistics import NormalInputs
from tobitgp.results.latent.latent_parts import LatentParts
from tobitgp.typing import Array, BoolArray, Frame


@dataclass(frozen=True)
class LatentAsked:
    """Rows of a question: those of the fit, or new ones whose coordinates follow from what is known of them."""

    parts: LatentParts
    index: pd.Index
    ends: ResponseEnds  # (n, D), on the scale of the responses
    kept: BoolArray  # (n,), rows of which something is known
    of_fit: bool
    inputs: NormalInputs  # of the rows kept

    @classmethod
    def of(cls, parts: LatentParts, new: Frame | None) -> LatentAsked:
        """The training rows, or new ones."""
        if new is None:
            rows = held_rows(parts.training)
            return cls(parts, rows.index, rows.ends, rows.kept, True, rows.inputs)
        index, ends = parts.read(new)
        kept = np.asarray(ends.known.any(axis=1))
        inputs = parts.processes.infer(parts.standardised(ResponseEnds(*(end[kept] for end in ends))))
        return cls(parts, index, ends, kept, False, inputs)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Means and variances of the responses without noise, (m, D) each, on their scale."""
        mean, var = self.parts.processes.moments(self.inputs)
        return self.parts.centre + self.parts.scale * mean, np.square(self.parts.scale) * var

    @property
    def sigma(self) -> Array:
        """Noise of the responses on their scale, (m, D)."""
        sigma = self.parts.scale * self.parts.processes.scales.sigma
        return np.broadcast_to(sigma, self.moments[0].shape)

    def values(self, *, conditional: bool) -> PossibleValues:
        """The responses, given what was seen of themselves where ``conditional``."""
        known = ResponseEnds(*(end[self.kept] for end in self.ends))
        nothing = ResponseEnds(*(np.full_like(end, np.nan) for end in known))
        return PossibleValues(*self.moments, self.sigma, known if conditional else nothing, self.of_fit)

    def table(self, columns: dict[str, Array]) -> pd.DataFrame:
        """A table with columns (response, statistic), or by response alone if there is one statistic; (m, D) each."""
        labels, D = self.parts.labels, len(self.parts.labels)
        full = {name: np.full((len(self.kept), D), np.nan) for name in columns}
        for name, values in columns.items():
            full[name][self.kept] = values
        if list(columns) == ["estimate"]:
            return pd.DataFrame(full["estimate"], index=self.index, columns=list(labels))
        made = {(label, name): full[name][:, j] for j, label in enumerate(labels) for name in columns}
        return pd.DataFrame(made, index=self.index)


def latent_statistics(asked: LatentAsked, level: float | None, *, se: bool) -> dict[str, Array]:
    """Statistics of the responses without noise."""
    mean, sd = asked.moments[0], np.sqrt(asked.moments[1])
    return _statistics(mean, sd, [mean + float(ndtri(p)) * sd for p in tails(level)], se=se)


def value_statistics(asked: LatentAsked, level: float | None, *, se: bool, conditional: bool) -> dict[str, Array]:
    """Statistics of the responses."""
    values = asked.values(conditional=conditional)
    return _statistics(*values.moments(), [values.ppf(p) for p in tails(level)], se=se)


def tails(level: float | None) -> tuple[float, ...]:
    """Orders of the quantiles that are the ends of an interval."""
    return () if level is None else (0.5 - 0.5 * level, 0.5 + 0.5 * level)


def _statistics(mean: Array, sd: Array, ends: list[Array], *, se: bool) -> dict[str, Array]:
    named = {"se": sd} if se or ends else {}
    return {"estimate": mean, **named, **dict(zip(("lower", "upper"), ends, strict=False))}
