"""Predictions of a SurvivalModel: those of its results, with the arguments of lifelines."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pandas as pd

from tobitgp.results.process.process_results import GPResults
from tobitgp.survival_model.fit_settings import with_columns

P = ParamSpec("P")
T = TypeVar("T")


def _of_results(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The same method of the results that a SurvivalModel holds."""
    name, takes_times = method.__name__, "times" in method.__annotations__

    @wraps(method, assigned=("__name__",))
    def asked(model: Any, /, *args: Any, ancillary: pd.DataFrame | None = None, **kwargs: Any) -> Any:
        df, *others = args or (kwargs.pop("df", None),)
        if isinstance(df, pd.Series):
            df = df.to_frame().T.infer_objects()
        if ancillary is not None:
            df = with_columns(df, ancillary)
        if takes_times and not others and kwargs.get("times") is None and model._settings.timeline is not None:
            kwargs["times"] = model.timeline
        return getattr(model.results_, name)(df, *others, **kwargs)

    asked.__doc__ = f"See :meth:`tobitgp.GPResults.{name}`; a DataFrame ``ancillary`` has columns that ``df`` lacks."
    return cast(Callable[Concatenate[Any, P], T], asked)


predict_survival_function = _of_results(GPResults.predict_survival_function)
predict_cumulative_hazard = _of_results(GPResults.predict_cumulative_hazard)
predict_hazard = _of_results(GPResults.predict_hazard)
predict_percentile = _of_results(GPResults.predict_percentile)
predict_median = _of_results(GPResults.predict_median)
predict_expectation = _of_results(GPResults.predict_expectation)
predict_restricted_mean = _of_results(GPResults.predict_restricted_mean)
