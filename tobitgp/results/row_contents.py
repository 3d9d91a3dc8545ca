"""Contents of the training rows, which order them independently of their order in the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray

_DECIMALS = 6  # of predictions, which depend on the order of the rows by rounding errors


class RowContents(NamedTuple):
    """An order of n training rows that only depends on what is known about them, and which of them are equal."""

    order: IntArray  # (n,), positions
    code: IntArray  # (n,), of each row; the same where rows are equal in everything


def row_contents(parts: Source, *predicted: Array) -> RowContents:
    """Rows ordered by ends and windows of the response, then covariates, then predictions (n,) of them."""
    response = parts.rows.response
    known = [response.lower, response.upper, response.entry, response.exit]
    frame = parts.covariates if parts.covariates is not None else pd.DataFrame(index=range(len(response.lower)))
    values: list[Any] = [
        *known,
        *(column for _, column in frame.items()),
        *(np.round(each, _DECIMALS) for each in predicted),
    ]
    ranks = np.stack([pd.factorize(each, sort=True)[0] for each in values])
    order = np.lexsort(ranks[::-1])
    differs = (np.diff(ranks[:, order], axis=1) != 0).any(axis=0)
    code = np.empty(len(order), dtype=np.intp)
    code[order] = np.append(0, np.cumsum(differs))
    return RowContents(order, code)
