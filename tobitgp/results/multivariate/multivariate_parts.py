"""What a fit of several responses was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import join
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts, held_rows, measure_facts
from tobitgp.formula.mvbind import LOWER, RESPONSE, UPPER
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.process import ProcessParts
from tobitgp.likelihoods import Family
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate.response_estimates import Estimates
from tobitgp.results.multivariate.response_view import Learned, view_response, with_rows
from tobitgp.results.multivariate.stacked_rows import Ends, SeenResponse, Stack, ends_of
from tobitgp.results.views import COUNTS
from tobitgp.typing import Array


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a fit of several responses, as they came."""

    data: pd.DataFrame
    seen: Sequence[SeenResponse]  # (J,)
    refit: Callable[[pd.DataFrame], Fit]  # fits stacked rows with the hyper-parameters of the fit

    @property
    def ends(self) -> Ends:
        """Ends (n, J) of what is known of the responses, on their scale."""
        return ends_of(self.seen, len(self.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSpec(ModelSpec):
    """A formula of several responses."""

    each: tuple[ModelSpec, ...]  # the formula of each by itself

    def __str__(self) -> str:
        lines = [self.formula.strip()]
        for spec in self.each:
            lines += str(spec).splitlines()[1:3]
        return "\n".join([*lines, *str(self.each[0]).splitlines()[3:]])


@dataclass(frozen=True)
class MultivariateParts:
    """The fit of stacked rows, and how these were stacked."""

    stacked: ProcessParts
    stack: Stack
    exact: Array  # (J,), weights of the values of each response that are seen
    dropped: int  # number of values without covariates
    learned: tuple[Learned, ...]  # (J,)
    facts_of_each: tuple[Facts, ...]  # (J,), what is remembered of the rows of each response
    read: TrainingRows | None = None  # the rows of the fit; none where it comes from a file

    derived: ClassVar = True
    shapes: ClassVar = {"stack.levels": "exact!"}

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a fit that was read from a file."""
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
        dropped = sum(len(one.rows) for one in read.seen) - len(rows)
        learned = tuple(one.learned for one in read.seen)
        parts = cls(stacked, stack, exact, dropped, learned, (stacked.facts,) * len(learned), read)
        return replace(parts, facts_of_each=tuple(each.facts for each in parts.responses))

    @cached_property
    def estimates(self) -> Estimates:
        """Parameters in the units of the responses."""
        return Estimates(self.stacked, self.stack)

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
    def labels(self) -> tuple[str, ...]:
        """Names of the responses."""
        return self.stack.wide.labels

    @property
    def family(self) -> Family:
        """Of the noise of every response."""
        return self.stacked.family

    @property
    def names(self) -> list[str]:
        """Linear coefficients, then the other parameters."""
        return [*self.estimates.coefficient_names, *self.estimates.rest_names]

    @property
    def spec(self) -> SeveralSpec:
        """The formula, and that of each response."""
        each, wide = tuple(one.spec for one in self.responses), self.stack.wide
        first = {field.name: getattr(each[0], field.name) for field in fields(ModelSpec)}
        label = replace(each[0].response, label=f"mvbind({', '.join(wide.labels)})")
        return SeveralSpec(**first | {"formula": wide.formula, "response": label}, each=each)

    @property
    def state(self) -> DesignState:
        """How the covariates are made from data."""
        return self.responses[0].state

    @cached_property
    def facts(self) -> Facts:
        """What is remembered of the values of all responses."""
        each = self.facts_of_each
        counts = {kind: sum(one.counts[kind] for one in each) for kind in COUNTS[:4]} | {"dropped": self.dropped}
        n, nobs = sum(one.n for one in each), sum(one.nobs for one in each)
        flags = any(one.any_censored for one in each), all(one.limits_known for one in each)
        return replace(each[0], n=n, nobs=nobs, counts=counts, any_censored=flags[0], limits_known=flags[1])

    @cached_property
    def values(self) -> TrainingData:
        """Training values of all responses, in their units, by response and row."""
        return values_of(self, tuple(one.rows for one in self.responses))

    @property
    def training(self) -> TrainingData | None:
        """The same, none where the fit holds no rows."""
        return None if self.read is None else self.values

    @property
    def rows(self) -> TrainingData:
        """The same, where they are needed."""
        return held_rows(self.training)

    @property
    def covariates(self) -> pd.DataFrame | None:
        """Columns of the formula in the rows of the fit."""
        names = self.state.input_names
        return None if self.read is None else self.read.data[list(names)]

    def without_rows(self) -> MultivariateParts:
        """Parts that answer the same about new rows."""
        return replace(self, stacked=self.stacked.without_rows(), read=None)


def values_of(parts: MultivariateParts, rows: tuple[TrainingData, ...]) -> TrainingData:
    """Training values of all responses, one after the other, by response and row."""
    response = join([one.response for one in rows])
    labels = parts.stack.wide.labels
    name = rows[0].index.name or "row"
    index = pd.MultiIndex.from_arrays(
        [
            np.repeat(np.array(labels, dtype=object), [int(one.kept.sum()) for one in rows]),
            np.concatenate([one.labels for one in rows]),
        ],
        names=["response", name],
    )
    counts = {kind: sum(one.counts[kind] for one in rows) for kind in COUNTS} | {"dropped": parts.dropped}
    design, found = parts.stacked.rows.design, measure_facts(response, ())
    return TrainingData(parts.stacked.state, found, counts, response, design, index, np.ones(len(index), dtype=bool))
