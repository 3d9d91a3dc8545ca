"""Predictions as pandas tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.conditional import conditional_statistics, seen_in_new, seen_in_training, with_response
from tobitgp.results.distribution import choose_scales
from tobitgp.results.predict import check_level, check_what, predict_rows, statistics
from tobitgp.results.rows import ask
from tobitgp.results.scales import SCALES
from tobitgp.results.terms import find_terms, term_mixtures
from tobitgp.results.views import Parts
from tobitgp.typing import Frame


def predict_table(
    parts: Parts,
    new: Frame | None,
    what: str | None,
    *,
    interval: float | None,
    se: bool,
    q: Any = None,
    below: Any = None,
    above: Any = None,
    exclude: Any = (),
) -> pd.Series[float] | pd.DataFrame:
    """Predictions with the index of the data; see ``GPResults.predict``."""
    what, level, bands = check_what(what), check_level(interval), bool(se) or interval is not None
    if what == "terms":
        choose_scales("terms", q, below, above)
        return _terms_table(parts, new, exclude, level=level, se=bool(se))
    scales, listed = choose_scales(what, q, below, above)
    if what == "conditional":
        table = _conditional_table(parts, new, exclude, level=level, se=bool(se))
        return table if bands else table["mean"].rename(what)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    columns = predict_rows(
        parts.fitted,
        parts.gp,
        asked.design,
        list(scales.values()),
        limits=asked.limits,
        level=level,
        se=bool(se),
        skip=asked.skip,
    )
    if not listed:
        table = asked.table(columns[0])
        return table if bands else table["mean"].rename(what)
    if bands:
        return pd.concat([asked.table(c) for c in columns], axis=1, keys=list(scales), names=["value", "statistic"])
    return pd.DataFrame({k: asked.spread(c["mean"]) for k, c in zip(scales, columns, strict=True)}, index=asked.index)


def _conditional_table(parts: Parts, new: Frame | None, exclude: Any, *, level: float | None, se: bool) -> pd.DataFrame:
    """Responses where they were seen, imputed where they were censored."""
    if len(exclude):
        raise SpecError("what='conditional' says what the rows themselves would be; exclude= has no place in it.")
    asked = ask(parts, new)
    if new is None:
        seen = seen_in_training(parts)
    else:
        asked = with_response(parts, new, asked)
        seen = seen_in_new(parts, new, asked)
    return asked.table(conditional_statistics(seen, level, se))


def _terms_table(parts: Parts, new: Frame | None, exclude: Any, *, level: float | None, se: bool) -> pd.DataFrame:
    """Partial effects, a group of columns for each term that is not excluded."""
    asked = ask(parts, new, exclude, terms=True)
    left_out = {term.name for term in find_terms(parts, exclude)}
    mixtures = term_mixtures(parts, asked.design, asked.skip)
    tables = {
        name: asked.table(statistics(SCALES["latent"], q, level, se))
        for name, q in mixtures.items()
        if name not in left_out
    }
    return pd.concat(tables.values(), axis=1, keys=list(tables), names=["term", "statistic"]).astype(np.float64)
