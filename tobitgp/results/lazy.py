"""Predictions in the partitions of a dask DataFrame, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pandas as pd

from tobitgp.data.sources import is_dask as is_dask


@dataclass(frozen=True, slots=True)
class Predictor:
    """A fit without its rows, and what is asked of it."""

    results: Any  # with a method ``predict``
    options: dict[str, Any]  # of that

    def __call__(self, frame: pd.DataFrame) -> pd.Series[Any] | pd.DataFrame:
        """Predictions in one partition."""
        table: pd.Series[Any] | pd.DataFrame = self.results.predict(frame, **self.options)
        return table

    def __dask_tokenize__(self) -> str:
        return uuid4().hex


def predict_lazily(rowless: Callable[[], Any], new: Any, options: dict[str, Any]) -> Any:
    """Predictions with the partitions and the index of a dask DataFrame."""
    predictor = Predictor(rowless(), options)
    return new.map_partitions(predictor, meta=predictor(new._meta))
