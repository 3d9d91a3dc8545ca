"""Parts of fits of several responses, and the stored facts about their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Design, join
from tobitgp.data.design import DesignState, learn_design
from tobitgp.data.prepare import TrainingData
from tobitgp.data.table import read_table
from tobitgp.data.training_summary import Facts, facts_of, measure_facts
from tobitgp.formula.mixture_formulas import VectorFormula
from tobitgp.formula.mvbind import LOWER, RESPONSE, UPPER, Wide
from tobitgp.formula.parse import parse_formula
from tobitgp.formula.spec import ModelSpec
from tobitgp.formula.unknown_inputs import LatentFormula
from tobitgp.kinds.process import ProcessParts
from tobitgp.likelihoods import Family
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate.response_estimates import ResponseEstimates
from tobitgp.results.multivariate.response_view import Learned, count_kinds, view_response, with_rows
from tobitgp.results.multivariate.stacked_rows import SeenResponse, Stack, WideEnds, ends_of
from tobitgp.results.views import COUNTS, Source, named_columns
from tobitgp.typing import Array


@dataclass(frozen=True)
class ResponseRows:
    """Rows of a fit of several responses, as they came."""

    data: pd.DataFrame
    seen: Sequence[SeenResponse]  # (J,)

    @property
    def ends(self) -> WideEnds:
        """Ends (n, J) of what is known about the responses, on their scale."""
        return ends_of(self.seen, len(self.data))

    def _counts(self, seen: SeenResponse) -> dict[str, int]:
        """Number of values of a response of each kind, and of rows without one."""
        return count_kinds(seen.response) | {"dropped": len(self.data) - len(seen.rows)}

    def training(self, j: int, state: DesignState, design: Design) -> TrainingData:
        """Rows of which something is known of a response, without groups."""
        seen, kept = self.seen[j], np.zeros(len(self.data), dtype=np.bool_)
        kept[seen.rows] = True
        facts, index = measure_facts(seen.response, ()), self.data.index
        return TrainingData(state, facts, self._counts(seen), seen.response, design, index, kept)

    def facts_of_each(self, each: Sequence[ModelSpec]) -> tuple[Facts, ...]:
        """What is remembered of the values of responses (J,) without covariates."""
        columns = list(self.data.columns)
        return tuple(
            facts_of(measure_facts(seen.response, ()), self._counts(seen), named_columns([spec], columns), {})
            for spec, seen in zip(each, self.seen, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSpec(ModelSpec):
    """A formula of several responses."""

    each: tuple[ModelSpec, ...]  # the formula of each by itself
    over: LatentFormula | VectorFormula | None = None  # where it is one over latent coordinates, or of a mixture

    def __str__(self) -> str:
        if self.over is not None:
            return str(self.over)
        lines = [self.formula.strip()]
        for spec in self.each:
            lines += str(spec).splitlines()[1:3]
        return "\n".join([*lines, *str(self.each[0]).splitlines()[3:]])


def spec_fields(wide: Wide, each: tuple[ModelSpec, ...]) -> dict[str, Any]:
    """Fields of the specification of responses, of which each has one alone."""
    first = {field.name: getattr(each[0], field.name) for field in fields(ModelSpec)}
    label = replace(each[0].response, label=f"mvbind({', '.join(wide.labels)})")
    return first | {"formula": wide.formula, "response": label, "each": each}


def learn_alone(formula: str, learned: Learned) -> tuple[ModelSpec, DesignState]:
    """The formula of a response without covariates, and its state."""
    spec, (kind, duration) = parse_formula(formula, None, None), learned
    spec = replace(spec, response=replace(spec.response, kind=kind, duration=duration))
    return spec, learn_design(spec, None, read_table(pd.DataFrame(index=range(1)), []))


class ResponsesTogether(Source):
    """The values of several responses: those of each alone, and all of them."""

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
        """The parts of each response alone, (J,)."""
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
        """Stored facts about the values of all responses."""
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


@dataclass(frozen=True)
class TrainingRows(ResponseRows):
    """Rows of a fit of stacked rows, as they came."""

    refit: Callable[[pd.DataFrame], Fit]  # fits stacked rows with the hyper-parameters of the fit


@dataclass(frozen=True)
class MultivariateParts(ResponsesTogether):
    """The fit of stacked rows, and how these were stacked."""

    stacked: ProcessParts
    stack: Stack
    exact: Array  # (J,), weights of the values of each response that are seen
    dropped: int  # number of values without covariates or without weight
    learned: tuple[Learned, ...]  # (J,)
    facts_of_each: tuple[Facts, ...]  # (J,), what is remembered of the rows of each response
    read: TrainingRows | None = None  # the rows of the fit; none where it comes from a file

    shapes: ClassVar = {"stack.levels": "exact!"}

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        stack, spec, of_stack = self.stack, self.stacked.spec, self.stack.state.spec
        if spec.scale is None or of_stack.scale is None:
            yield "its stack is not that of a process"
        else:
            read = (of_stack.formula, of_stack.scale.formula, spec.formula, spec.scale.formula)
            if read != (stack.wide.linear, stack.wide.scale_linear, stack.formula, stack.scale_formula):
                yield "the formula of its stack is read otherwise by this version of tobitgp"
        each = len(self.exact) == len(self.learned) == len(self.facts_of_each)
        if not each or (self.exact < 0.0).any() or self.dropped < 0 or stack.log_time != self.stacked.family.log_time:
            yield "the parts of its stack do not belong together"

    @classmethod
    def of(cls, stacked: ProcessParts, stack: Stack, rows: pd.DataFrame, read: TrainingRows) -> MultivariateParts:
        """Parts of the fit of stacked rows."""
        seen = rows[rows[LOWER] == rows[UPPER]]
        weight = None if stack.weights is None else seen[stack.weights]
        exact = np.bincount(seen[RESPONSE].cat.codes, weight, len(stack.levels)).astype(np.float64)
        used = len(rows) if stack.weights is None else int((rows[stack.weights] > 0.0).sum())
        dropped = sum(len(one.rows) for one in read.seen) - used
        learned = tuple(one.learned for one in read.seen)
        parts = cls(stacked, stack, exact, dropped, learned, (stacked.facts,) * len(learned), read)
        return replace(parts, facts_of_each=tuple(each.facts for each in parts.responses))

    @cached_property
    def estimates(self) -> ResponseEstimates:
        """Parameters in the units of the responses."""
        return ResponseEstimates(self.stacked, self.stack)

    @cached_property
    def responses(self) -> tuple[ProcessParts, ...]:
        """Each response as a process, (J,)."""
        known = enumerate(zip(self.facts_of_each, self.learned, strict=True))
        found = [view_response(self.stack, self.stacked, facts, learned, j) for j, (facts, learned) in known]
        if self.read is not None:
            data, seen = self.read.data, self.read.seen
            found = [with_rows(one, self.stacked, data, at) for one, at in zip(found, seen, strict=True)]
        return tuple(found)

    @property
    def wide(self) -> Wide:
        """The responses and their limits."""
        return self.stack.wide

    @property
    def family(self) -> Family:
        """Family of the noise of every response."""
        return self.stacked.family

    @property
    def names(self) -> list[str]:
        """Linear coefficients, then the other parameters."""
        return [*self.estimates.coefficient_names, *self.estimates.rest_names]

    @property
    def _design_of_values(self) -> tuple[DesignState, Design]:
        return self.stacked.state, self.stacked.rows.design

    def without_rows(self) -> MultivariateParts:
        """Parts that answer the same about new rows."""
        return replace(self, stacked=self.stacked.without_rows(), read=None)
