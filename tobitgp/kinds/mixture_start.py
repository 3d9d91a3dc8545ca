"""Where a user begins the ascent of a mixture: parameters of components, responsibilities of rows, or another fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.errors import SpecError
from tobitgp.kinds.mixture import MixtureParts
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.given_starts import GivenStart, StartParameters, StartResponsibilities, positive_parameters
from tobitgp.typing import Array

WEIGHT = "weight"
_BESIDE = {"rows", "exact"}  # further columns of ``res.components``
_NEAR_ONE = 0.01  # to which weights and responsibilities may be rounded
_NAMED = re.compile(r"(\w+)\[(\d+)\]")


def read_mixture_start(
    start: Any, numbers: Sequence[int], family: MixtureFamily, training: TrainingData | PartitionedData
) -> GivenStart | None:
    """Starting values of a mixture from ``start=`` of :func:`tobitgp.fit`."""
    if not is_given(start):
        return None
    if len(numbers) > 1:
        raise SpecError("start= is for one number of components. Write mixture(2) for 2, without a range.")
    parts = getattr(start, "parts", None)
    if parts is not None:
        return _of_fit(parts, family)
    table = _parameter_table(start, family)
    return _responsibilities(start, training) if table is None else _parameters(table, family)


def is_given(start: Any) -> bool:
    """Whether ``start=`` says anything."""
    return not (start is None or (isinstance(start, Mapping) and not start))


def _of_fit(parts: Any, family: MixtureFamily) -> StartParameters:
    """The estimates of another fit."""
    if not isinstance(parts, MixtureParts) or parts.family.name != family.name:
        raise SpecError(f"start= must be a fit of the same model. Give a fit of a mixture with family={family.name!r}.")
    return StartParameters(parts.fit.weights, np.array(list(parts.fit.parameters.values())))


def _parameter_table(start: Any, family: MixtureFamily) -> pd.DataFrame | None:
    """A row for each component and a column for each parameter; None if it is responsibilities."""
    if isinstance(start, pd.Series):
        start = start.to_dict()
    if isinstance(start, Mapping):
        values = list(start.values())
        if values and all(isinstance(name, str) and _NAMED.fullmatch(name) for name in start):
            return _by_name(start)
        if values and all(isinstance(value, Mapping) for value in values):
            return pd.DataFrame(values)
        try:
            return pd.DataFrame({name: np.atleast_1d(value) for name, value in start.items()})
        except ValueError:
            raise SpecError(
                "start=: the parameters have different lengths. Give one value for each component."
            ) from None
    if isinstance(start, list) and start and all(isinstance(one, Mapping) for one in start):
        return pd.DataFrame(start)
    if isinstance(start, pd.DataFrame) and not {WEIGHT, *family.parameters}.isdisjoint(start.columns):
        return start
    return None


def _by_name(start: Mapping[str, Any]) -> pd.DataFrame:
    """From names such as ``mean[1]``."""
    cells: dict[int, dict[str, Any]] = {}
    for name, value in start.items():
        kind, number = _NAMED.findall(name)[0]
        cells.setdefault(int(number), {})[kind] = value
    return pd.DataFrame([cells[number] for number in sorted(cells)])


def _parameters(table: pd.DataFrame, family: MixtureFamily) -> StartParameters:
    names, found = family.parameters, set(table.columns) - _BESIDE
    needed = f"A {family.name} mixture has {', '.join(names)}, and {WEIGHT} if the components differ in it."
    if unknown := sorted(map(str, found - {WEIGHT, *names})):
        raise SpecError(f"start= names {unknown[0]!r}, which is not a parameter. {needed}")
    if lacking := [name for name in names if name not in found]:
        raise SpecError(f"start= lacks {lacking[0]!r}. {needed}")
    values = np.array([_numbers(table[name], name) for name in names])
    low = positive_parameters(family) & (values <= 0.0)
    if low.any():
        name, value = names[int(np.argmax(low.any(axis=1)))], values[low][0]
        raise SpecError(f"start=: {name} is {value:g}. Give a positive number.")
    count = values.shape[1]
    weights = _numbers(table[WEIGHT], WEIGHT) if WEIGHT in found else np.full(count, 1.0 / count)
    if (weights <= 0.0).any() or abs(weights.sum() - 1.0) > _NEAR_ONE:
        raise SpecError(f"start=: the weights are {_listed(weights)}. Give positive numbers with the sum 1.")
    return StartParameters(weights / weights.sum(), values)


def _numbers(column: Any, name: str) -> Array:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        bad = list(column)[int(np.argmin(np.isfinite(values)))]
        raise SpecError(f"start=: {name} is {bad!r}. Give a finite number for each component.")
    return np.asarray(values)


def _listed(values: Array) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _responsibilities(start: Any, training: TrainingData | PartitionedData) -> StartResponsibilities:
    """Responsibilities of the rows used, from one row for each row of the data, or for each of those used."""
    try:
        table = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2:
        raise SpecError(
            f"start={start!r:.60}: start must describe a mixture. Give parameters (a DataFrame or dict with a "
            f"value for "
            "each component), responsibilities (an array with a row for each row of the data), or a fitted mixture."
        )
    if isinstance(training, PartitionedData):
        raise SpecError("start=: responsibilities need data in memory. Give parameters of the components instead.")
    kept = training.kept
    if isinstance(start, pd.DataFrame) and not start.index.equals(training.index) and len(start) == len(kept):
        if not start.index.is_unique or len(start.index.symmetric_difference(training.index)):
            raise SpecError(
                "start=: the labels of the responsibilities are not those of the data. Give the same index."
            )
        table = start.reindex(training.index).to_numpy(dtype=np.float64)
    if len(table) not in (len(kept), kept.sum()):
        raise SpecError(
            f"start= has {len(table)} rows, but the data have {len(kept)}. Give one for each row of the data."
        )
    shares = table[kept] if len(table) == len(kept) else table
    if not (np.isfinite(shares).all() and (shares >= 0.0).all()):
        raise SpecError("start=: a responsibility is negative or not finite. Give probabilities.")
    total = shares.sum(axis=1)
    if (np.abs(total - 1.0) > _NEAR_ONE).any():
        raise SpecError(
            f"start=: responsibilities of a row have the sum {total[np.argmax(np.abs(total - 1.0))]:g}. Give 1."
        )
    return StartResponsibilities(shares / total[:, None])
