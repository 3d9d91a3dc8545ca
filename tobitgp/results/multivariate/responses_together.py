"""What fits of several responses remember of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Design, join
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts, measure_facts
from tobitgp.formula.latent import LatentFormula
from tobitgp.formula.mvbind import Wide
from tobitgp.formula.spec import ModelSpec
from tobitgp.results.multivariate.stacked_rows import Ends, SeenResponse, ends_of
from tobitgp.results.views import COUNTS, Source


@dataclass(frozen=True)
class ResponseRows:
    """Rows of a fit of several responses, as they came."""

    data: pd.DataFrame
    seen: Sequence[SeenResponse]  # (J,)

    @property
    def ends(self) -> Ends:
        """Ends (n, J) of what is known of the responses, on their scale."""
        return ends_of(self.seen, len(self.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSpec(ModelSpec):
    """A formula of several responses."""

    each: tuple[ModelSpec, ...]  # the formula of each by itself
    over: LatentFormula | None = None  # where it is one over latent coordinates

    def __str__(self) -> str:
        if self.over is not None:
            return str(self.over)
        lines = [self.formula.strip()]
        for spec in self.each:
            lines += str(spec).splitlines()[1:3]
        return "\n".join([*lines, *str(self.each[0]).splitlines()[3:]])


def spec_fields(wide: Wide, each: tuple[ModelSpec, ...]) -> dict[str, Any]:
    """Fields of the specification of responses, of which each has one by itself."""
    first = {field.name: getattr(each[0], field.name) for field in fields(ModelSpec)}
    label = replace(each[0].response, label=f"mvbind({', '.join(wide.labels)})")
    return first | {"formula": wide.formula, "response": label, "each": each}


class ResponsesTogether(Source):
    """The values of several responses: those of each by itself, and all of them."""

    derived: ClassVar = True

    facts_of_each: tuple[Facts, ...]  # (J,), what is remembered of the rows of each response
    dropped: int  # number of values, or rows, of which nothing could be used
    read: ResponseRows | None  # the rows of the fit; none where it comes from a file

    @property
    def wide(self) -> Wide:
        """The responses and their limits."""
        raise NotImplementedError

    @property
    def responses(self) -> tuple[Any, ...]:
        """What each response was made from by itself, (J,)."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the responses."""
        return self.wide.labels

    @property
    def spec(self) -> SeveralSpec:  # type: ignore[override]
        """The formula, and that of each response."""
        return SeveralSpec(**spec_fields(self.wide, tuple(one.spec for one in self.responses)))

    @property
    def state(self) -> DesignState:  # type: ignore[override]
        """How the covariates are made from data."""
        found: DesignState = self.responses[0].state
        return found

    @cached_property
    def facts(self) -> Facts:  # type: ignore[override]
        """What is remembered of the values of all responses."""
        each = self.facts_of_each
        counts = {kind: sum(one.counts[kind] for one in each) for kind in COUNTS[:4]} | {"dropped": self.dropped}
        n, nobs = sum(one.n for one in each), sum(one.nobs for one in each)
        flags = any(one.any_censored for one in each), all(one.limits_known for one in each)
        return replace(each[0], n=n, nobs=nobs, counts=counts, any_censored=flags[0], limits_known=flags[1])

    @cached_property
    def values(self) -> TrainingData:
        """Training values of all responses, in their units, by response and row."""
        rows: tuple[TrainingData, ...] = tuple(one.rows for one in self.responses)
        response, name = join([one.response for one in rows]), rows[0].index.name or "row"
        of = np.repeat(np.array(self.labels, dtype=object), [int(one.kept.sum()) for one in rows])
        index = pd.MultiIndex.from_arrays([of, np.concatenate([one.labels for one in rows])], names=["response", name])
        counts = {kind: sum(one.counts[kind] for one in rows) for kind in COUNTS} | {"dropped": self.dropped}
        state, design = self._design_of_values
        kept = np.ones(len(index), dtype=bool)
        return TrainingData(state, measure_facts(response, ()), counts, response, design, index, kept)

    @property
    def _design_of_values(self) -> tuple[DesignState, Design]:
        """How the covariates of the values are made, and these."""
        return self.state, join([one.rows.design for one in self.responses])

    @property
    def training(self) -> TrainingData | None:  # type: ignore[override]
        """The same, none where the fit holds no rows."""
        return None if self.read is None else self.values

    @property
    def covariates(self) -> pd.DataFrame | None:  # type: ignore[override]
        """Columns of the formula in the rows of the fit."""
        return None if self.read is None else self.read.data[list(self.state.input_names)]
