"""Fit several responses by the stack of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.several import read_wide
from tobitgp.likelihoods import Family
from tobitgp.model import Model
from tobitgp.multivariate.results import MultivariateResults
from tobitgp.multivariate.rows import learn_stack, read_ends
from tobitgp.options import choose_family
from tobitgp.results.process.results import GPResults

_RESCOR = ("gaussian", "lognormal")


def fit_several(
    formula: str,
    data: Any,
    *,
    sigma: str | None,
    rescor: bool,
    engine: Any,
    reading: Mapping[str, Any],
    fitting: Mapping[str, Any],
) -> MultivariateResults:
    """Fit ``mvbind(y1, y2) ~ ...``, with what :class:`~tobitgp.Model` and its ``fit`` are asked for."""
    if engine is not None or isinstance(data, str) or hasattr(data, "dask"):
        raise SpecError("Several responses are fitted in memory; give a pandas DataFrame.")
    data, functions = pd.DataFrame(data), reading["functions"]
    wide = read_wide(formula, sigma, rescor=rescor)
    family = choose_family(reading["family"], parse_formula(wide.formulas[0], list(data.columns), functions))
    assert isinstance(family, Family)
    _refuse(family, fitting, rescor=rescor)
    ends = read_ends(wide, data, functions, log_time=family.log_time)
    beside = [reading[name] for name in ("weights", "var_weights") if isinstance(reading[name], str)]
    stack = learn_stack(wide, data, ends, functions=functions, log_time=family.log_time, beside=beside)
    how = {**fitting, "method": "ep" if fitting["method"] == "auto" else fitting["method"]}
    if rescor and fitting["hyper"] == "auto":
        how["hyper"] = "maximize"  # a ridge, (MUL3), along which the points of a design have too small a spread

    def run(rows: pd.DataFrame, **more: Any) -> GPResults:
        model = Model(wide.stacked, rows, sigma=wide.scale, **reading)
        found = model.fit(**{**how, **more})
        assert isinstance(found, GPResults)
        return found

    fitted = run(stack.known(data, np.arange(len(data)), ends))
    again = partial(run, fixed=fitted.hyperparameters, start=None)
    return MultivariateResults(fitted, stack, data, ends, again, functions)


def _refuse(family: Family, fitting: Mapping[str, Any], *, rescor: bool) -> None:
    """What does not go with several responses."""
    if rescor and family.name not in _RESCOR:
        raise SpecError(f"rescor=True goes with {' and '.join(_RESCOR)} noise, not with {family.name}.")
    if fitting["method"] == "mle":
        raise SpecError("Several responses are fitted under priors; fit each by itself for method='mle'.")
    for name in ("fixed", "start", "priors"):
        if fitting[name]:
            raise SpecError(f"{name}= is not for several responses; stack the rows, and give it to their formula.")
