"""Predictions as tables, in memory or in the partitions of dask: rows, questions, their statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.errors import SpecError
from tobitgp.posterior import questions
from tobitgp.posterior.questions import QUESTIONS, Question
from tobitgp.results.rows import Asked, Labelled
from tobitgp.typing import Array, Frame


@dataclass(frozen=True, slots=True)
class Predictor:
    """A fit without its rows, and its predictions."""

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


_NUMBER = (float, int, np.floating, np.integer)
_LONGEST = 80

WHATS = ("median", "latent", "uncensored", "observed", "conditional", "quantile", "prob", "sigma", "terms")

QuestionOf = Callable[[bool, Asked], Question]


def whats(known: tuple[str, ...] = WHATS) -> tuple[str, ...]:
    """Quantities to predict: those ``known``, and others in the registry."""
    return (*known, *(name for name in QUESTIONS if name not in WHATS))


def _log_normal(mean: Array, sd: Array, level: float | None) -> dict[str, Array]:
    """Statistics of what has logarithms of such means and standard deviations, (n,): median, error and quantiles."""
    value = np.exp(mean)
    out = {"estimate": value, "se": value * sd}
    if level is not None:
        z = float(ndtri(0.5 + 0.5 * level))
        out |= {"lower": np.exp(mean - z * sd), "upper": np.exp(mean + z * sd)}
    return out


def prediction_table(
    name: Any, rows: Labelled, columns: dict[Any, dict[str, Array]], *, listed: bool, bands: bool, of: str = "value"
) -> pd.Series[float] | pd.DataFrame:
    """A Series, a table of one question's statistics, or a column or group of columns for each question of a list.

    Only the first statistic is given where no ``bands`` are requested.
    """
    if not bands:
        first = {key: rows.spread(next(iter(each.values()))) for key, each in columns.items()}
        if listed:
            return pd.DataFrame(first, index=rows.index)
        return pd.Series(next(iter(first.values())), index=rows.index, name=name)
    tables = {key: rows.table(each) for key, each in columns.items()}
    if listed:
        return pd.concat(tables.values(), axis=1, keys=list(tables), names=[of, "statistic"])
    return next(iter(tables.values()))


def read_questions(what: str, q: Any, below: Any, above: Any) -> tuple[dict[float | str, QuestionOf], bool]:
    """Questions that a prediction asks, by the label of their column, and whether a list was given."""
    given = [name for name, value in (("q", q), ("below", below), ("above", above)) if value is not None]
    allowed = {"quantile": ["q"], "prob": ["below", "above"]}.get(what, [])
    for name in given:
        if name not in allowed:
            home = "quantile" if name == "q" else "prob"
            raise SpecError(f"{name}= requires what={home!r}, not what={what!r}.")
    if what == "quantile":
        if q is None:
            raise SpecError(
                "what='quantile' requires q=, a probability or a list of probabilities, e.g. q=[0.05, 0.95]."
            )
        values = _numbers("q", q)
        if not all(0.0 < value < 1.0 for value in values):
            raise SpecError(f"q={q!r}: q must be strictly between 0 and 1, e.g. q=0.9.")
        return {value: _quantile(value) for value in values}, np.ndim(q) > 0
    if what == "prob":
        if len(given) != 1:
            raise SpecError(
                "what='prob' requires one of below= and above=, a number or a list of numbers. The probability "
                "of an interval is the difference of two probabilities with below=."
            )
        limit = below if above is None else above
        values = _numbers(given[0], limit)
        return {value: _probability(value, above=above is not None) for value in values}, np.ndim(limit) > 0
    if what == "observed":
        return {what: lambda positive, asked: questions.observed(positive, *asked.limits())}, False
    if what in QUESTIONS:
        return {what: lambda positive, asked: QUESTIONS[what](positive)}, False
    return {}, False


def _quantile(p: float) -> QuestionOf:
    return lambda positive, asked: questions.quantile(positive, p)


def _probability(limit: float, *, above: bool) -> QuestionOf:
    return lambda positive, asked: questions.probability(positive, np.full(len(asked.design.H), limit), above=above)


def _numbers(name: str, given: Any) -> list[float]:
    """One number or a list of distinct ones."""
    values = list(given) if np.ndim(given) == 1 else [given]
    right = all(isinstance(v, _NUMBER) and not isinstance(v, (bool, np.bool_)) and np.isfinite(v) for v in values)
    if not values or not right or len(set(values)) < len(values):
        shown = repr(given)
        shown = f"<{type(given).__name__}>" if "\n" in shown or len(shown) > _LONGEST else shown
        raise SpecError(f"{name}={shown}: {name} must be a finite number, or a list of different finite numbers.")
    return [float(v) for v in values]


def check_what(what: str | None, offered: tuple[str, ...] | None = None, of: str = "") -> str:
    """Name of a question; the first that there is for None."""
    offered = offered or whats()
    if what is None:
        return offered[0]
    if not isinstance(what, str) or what not in offered:
        raise SpecError(f"what={what!r} is not supported{of}; choose one of {', '.join(map(repr, offered))}.")
    return what


def check_probability(name: str, value: Any, what: str = "a probability", example: float = 0.95) -> float:
    """A number strictly between 0 and 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, _NUMBER) or not 0 < value < 1:
        raise SpecError(f"{name}={value!r}: {name} must be {what} strictly between 0 and 1, e.g. {name}={example}.")
    return float(value)


def check_level(interval: Any) -> float | None:
    """Probability of an interval, or None."""
    return None if interval is None else check_probability("interval", interval)


def check_alpha(alpha: Any) -> float:
    """Probability left out of an interval."""
    return check_probability("alpha", alpha, example=0.05)


def check_flag(name: str, value: Any) -> bool:
    """A yes or no."""
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        raise SpecError(f"{name}={value!r}: {name} must be True or False.")
    return bool(value)


def new_rows(new: Frame | None, exog: Frame | None) -> Frame | None:
    """New rows, under either name."""
    if new is not None and exog is not None:
        raise SpecError("predict() accepts new= or exog=, two names of the same argument, not both.")
    return exog if new is None else new
