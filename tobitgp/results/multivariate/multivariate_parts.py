"""What a fit of several responses was made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tobitgp.formula.mvbind import LOWER, RESPONSE, UPPER
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.multivariate.stacked_rows import Ends, Stack
from tobitgp.results.process.process_results import GPResults
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

    stacked: ProcessParts
    stack: Stack
    exact: Array  # (J,), weights of the values of each response that are seen
    dropped: int  # number of values without covariates

    @classmethod
    def of(cls, stacked: ProcessParts, stack: Stack, rows: pd.DataFrame, ends: Ends) -> MultivariateParts:
        """Parts of the fit of stacked rows, and of what is known of the responses."""
        seen = rows[rows[LOWER] == rows[UPPER]]
        weight = None if stack.weights is None else seen[stack.weights]
        exact = np.bincount(seen[RESPONSE].cat.codes, weight, len(stack.levels)).astype(np.float64)
        return cls(stacked, stack, exact, int((~np.isnan(ends[0])).sum()) - len(rows))

    def without_rows(self) -> MultivariateParts:
        """Parts that answer the same about new rows."""
        return replace(self, stacked=self.stacked.without_rows())
