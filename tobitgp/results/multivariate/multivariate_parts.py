"""What a fit of several responses was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.training_summary import Facts
from tobitgp.formula.mvbind import LOWER, RESPONSE, UPPER, Wide
from tobitgp.kinds.process import ProcessParts
from tobitgp.likelihoods import Family
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate.response_estimates import Estimates
from tobitgp.results.multivariate.response_view import Learned, view_response, with_rows
from tobitgp.results.multivariate.responses_together import ResponseRows, ResponsesTogether
from tobitgp.results.multivariate.stacked_rows import Stack
from tobitgp.typing import Array


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
    dropped: int  # number of values without covariates
    learned: tuple[Learned, ...]  # (J,)
    facts_of_each: tuple[Facts, ...]  # (J,), what is remembered of the rows of each response
    read: TrainingRows | None = None  # the rows of the fit; none where it comes from a file

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
    def wide(self) -> Wide:
        """The responses and their limits."""
        return self.stack.wide

    @property
    def family(self) -> Family:
        """Of the noise of every response."""
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
