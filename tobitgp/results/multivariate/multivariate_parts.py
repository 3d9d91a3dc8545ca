"""What a fit of several responses was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.formula.mvbind import LOWER, RESPONSE, UPPER
from tobitgp.results.multivariate.stacked_rows import Ends, Stack
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.views import Parts
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of a fit of several responses, as they came."""

    data: pd.DataFrame
    ends: Ends  # of their responses, on the scale of these
    refit: Callable[[pd.DataFrame], GPResults]  # fits stacked rows with the hyper-parameters of the fit


@dataclass(frozen=True, slots=True)
class MultivariateParts:
    """The fit of stacked rows, and how these were stacked."""

    stacked: Parts
    stack: Stack
    exact: Array  # (J,), weights of the values of each response that are seen
    dropped: int  # number of values without covariates

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
        if (self.exact < 0.0).any() or self.dropped < 0 or stack.log_time != self.stacked.family.log_time:
            yield "the parts of its stack do not belong together"

    @classmethod
    def of(cls, stacked: Parts, stack: Stack, rows: pd.DataFrame, ends: Ends) -> MultivariateParts:
        """Parts of the fit of stacked rows, and of what is known of the responses."""
        seen = rows[rows[LOWER] == rows[UPPER]]
        weight = None if stack.weights is None else seen[stack.weights]
        exact = np.bincount(seen[RESPONSE].cat.codes, weight, len(stack.levels)).astype(np.float64)
        return cls(stacked, stack, exact, int((~np.isnan(ends[0])).sum()) - len(rows))

    @property
    def state(self) -> DesignState:
        """Of the linear terms of one response."""
        return self.stack.state

    def without_rows(self) -> MultivariateParts:
        """Parts that answer the same about new rows."""
        return replace(self, stacked=self.stacked.without_rows())
