"""The linear part as plain data, and back: what formulaic learned, without its objects."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.linear_columns import LinearState, alias_text, formulaic_context
from tobitgp.errors import DataError
from tobitgp.formula.spec import LinearPart


@dataclass(frozen=True, slots=True)
class PlainLinear:
    """A :class:`LinearState` without formulaic's objects."""

    columns: tuple[str, ...]
    factors: tuple[str, ...] | None  # data columns that are factors; None where no formulaic is needed
    learned: dict[str, Any]  # expression -> what its transform learned (knots
    encodings: dict[str, tuple[str, dict[str, Any]]]  # expression -> its kind and what its coding learned (the levels)


def plain_linear(state: LinearState, spec: LinearPart, levels: Mapping[str, Any]) -> PlainLinear:
    """Take what formulaic learned out of its objects."""
    if state.model_spec is None:
        return PlainLinear(state.columns, None, {}, {})
    factors = tuple(name for name in spec.names("linear") if levels[name] is not None)
    return PlainLinear(state.columns, factors, *_learned(state.model_spec))


def restore_linear(plain: PlainLinear, spec: LinearPart) -> LinearState:
    """Build the state again, from the formula and what was learned.

    formulaic runs once over a row of missing values: what it learned is there already, so this row only lets it lay out
    its columns. Nothing that it evaluates comes from anywhere but the formula.
    """
    if plain.factors is None:
        if spec.plain is None or plain.columns != ("Intercept",) * spec.intercept + spec.plain:
            raise DataError(f"The columns of the {spec.part} are not those of the formula.")
        return LinearState(plain.columns, spec.plain, {}, None)
    text, aliases, restore = alias_text(spec)
    model_spec = _lay_out(text, plain, spec, aliases)
    if tuple(restore(name) for name in model_spec.column_names) != plain.columns:
        raise DataError(f"The columns of the {spec.part} are not those of the formula.")
    try:
        np.testing.assert_equal(_learned(model_spec), (plain.learned, plain.encodings))
    except AssertionError:
        raise DataError(f"The state of the transforms of the {spec.part} is not complete.") from None
    return LinearState(plain.columns, None, aliases, model_spec)


def _lay_out(text: str, plain: PlainLinear, spec: LinearPart, aliases: Mapping[str, str]) -> Any:
    from formulaic import ModelSpec as FormulaicSpec
    from formulaic.parser.types import Factor

    factors = plain.factors or ()
    missing: dict[bool, Any] = {False: np.full(1, np.nan), True: pd.Categorical([None], categories=["a"])}
    columns = {aliases.get(name, name): missing[name in factors] for name in spec.names("linear")}
    encodings = {name: (Factor.Kind(kind), dict(state)) for name, (kind, state) in plain.encodings.items()}
    source = FormulaicSpec(
        formula=text,
        transform_state=deepcopy(plain.learned),
        encoder_state=encodings,
    )
    own = {name: lambda *args: np.full(1, np.nan) for name, _ in spec.functions}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        matrix = source.get_model_matrix(
            pd.DataFrame(columns, index=pd.RangeIndex(1)),
            context=formulaic_context(own),
            na_action="ignore",
            output="numpy",
        )
    return matrix.model_spec


def _learned(model_spec: Any) -> tuple[dict[str, Any], dict[str, tuple[str, dict[str, Any]]]]:
    """Transforms and codings by expression, in an order that does not depend on hashes."""
    learned = {name: deepcopy(state) for name, state in sorted(model_spec.transform_state.items())}
    # ``contrasts`` is there to be looked at; the formula says it again.
    encodings = {
        name: (kind.value, {key: deepcopy(item) for key, item in sorted(state.items()) if key != "contrasts"})
        for name, (kind, state) in sorted(model_spec.encoder_state.items())
    }
    return learned, encodings
