"""Values of all responses as rows of one table: their labels, likelihoods, draws and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.diagnostics.elpd import Elpd, spread
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.typing import Array, IntArray


def order_of_values(parts: MultivariateParts) -> IntArray:
    """Places of the values, response by response in the order of the data, among the rows of the stack."""
    return np.argsort(np.asarray(parts.stacked.rows.labels, dtype=np.intp))


def log_units(parts: MultivariateParts) -> Array:
    """Log Jacobian of exact values of the stack, (n,), for the density of the responses as written."""
    stack, seen = parts.stack, parts.values.response
    log = -stack.centre if stack.log_time else -np.log(stack.scale)
    return np.where(seen.lower == seen.upper, log[_code(parts)], 0.0)


def _code(parts: MultivariateParts) -> IntArray:
    """Response of each value, (n,)."""
    return np.repeat(np.arange(len(parts.responses)), [len(one.rows.labels) for one in parts.responses])


def elpd_of_values(found: Elpd, parts: MultivariateParts) -> Elpd:
    """Scores of the rows of a stack as those of the values, in the units of the responses."""
    order, index = order_of_values(parts), parts.values.index
    table = found.pointwise.loc[parts.stacked.rows.labels].iloc[order].set_axis(index)
    table["elpd"] += log_units(parts)
    trusted = pd.Series(found.trusted.to_numpy()[order], index=index)
    return _summed(replace(found, pointwise=table, trusted=trusted), table)


def elpd_of_response(found: Elpd, rows: TrainingData, j: int) -> Elpd:
    """Draws of one response, by the rows of the data."""
    level = found.pointwise.index.get_level_values(0).unique()[j]
    table = found.pointwise.loc[level]
    full = table.set_axis(np.flatnonzero(rows.kept)).reindex(range(len(rows.kept))).set_axis(rows.index)
    trusted = pd.Series(found.trusted.loc[level].to_numpy(), index=rows.index[rows.kept])
    return _summed(replace(found, pointwise=full, trusted=trusted), table)


def _summed(found: Elpd, table: pd.DataFrame) -> Elpd:
    """With the sums over the rows of a table."""
    elpd, weight = table["elpd"].to_numpy(), table["weight"].to_numpy()
    total, p = float(weight @ elpd), float(weight @ table["p"].to_numpy())
    return replace(found, elpd=total, se=spread(elpd, weight), p=p, n=float(weight.sum()))


@dataclass(frozen=True, slots=True)
class ValueDraws(Draws):
    """Draws of a fit of several responses, whose rows are the values, or those of one response."""

    parts: MultivariateParts
    stacked: Draws
    response: int | None = None

    def of_response(self, j: int) -> ValueDraws:
        """Draws of one response."""
        return replace(self, response=j)

    @property
    def size(self) -> int:
        """S."""
        return self.stacked.size

    def parameters(self) -> Array:
        """See `Draws`."""
        return self.parts.estimates.drawn(self.stacked.parameters())

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        found = np.concatenate([values for _, values in self.stacked.log_likelihoods()])
        yield self._chosen(found[order_of_values(self.parts)] + log_units(self.parts)[:, None])

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        found = np.concatenate([values for _, values in self.stacked.responses()])[order_of_values(self.parts)]
        code, stack = _code(self.parts)[:, None], self.parts.stack
        centre, scale = stack.centre[code], stack.scale[code]
        yield self._chosen(found * np.exp(centre) if stack.log_time else centre + scale * found)

    def _chosen(self, values: Array) -> tuple[slice, Array]:
        if self.response is not None:
            values = values[_code(self.parts) == self.response]
        return slice(0, len(values)), values
