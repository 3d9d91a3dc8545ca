"""Fit several responses by the stack of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.mvbind import read_wide
from tobitgp.likelihoods import Family
from tobitgp.model import Model
from tobitgp.options import choose_family
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts, TrainingRows
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.multivariate.response_estimates import scale_columns
from tobitgp.results.multivariate.stacked_rows import Stack, ends_of, learn_stack, read_responses
from tobitgp.results.process.process_results import GPResults
from tobitgp.typing import Array

_RESCOR = ("gaussian", "lognormal")


@dataclass(frozen=True)
class Fitter:
    """Fits stacked rows."""

    stack: Stack
    reading: Mapping[str, Any]  # what a Model is asked for
    fitting: Mapping[str, Any]  # and its fit

    def __call__(self, rows: pd.DataFrame) -> GPResults:
        """Fit to these rows."""
        model = Model(self.stack.formula, rows, sigma=self.stack.scale_formula, **self.reading)
        found = model.fit(**self.fitting)
        assert isinstance(found, GPResults)
        return found

    def held(self, fitted: GPResults) -> Held:
        """What fits other rows with the hyper-parameters of a fit."""
        return Held(self, fitted.hyperparameters, fitted.parts.gp.problem.units.w_centre)


@dataclass(frozen=True)
class Held:
    """Fits stacked rows with hyper-parameters that are known."""

    fitter: Fitter
    known: Mapping[str, float]
    centre: Array  # of the columns of log sigma, where ``sigma`` is known

    def __call__(self, rows: pd.DataFrame) -> GPResults:
        """Fit to these rows, whose columns of log sigma have means of their own."""
        gamma = {name: value for name, value in self.known.items() if name.startswith("log(sigma)[")}
        W = scale_columns([name.removeprefix("log(sigma)[").removesuffix("]") for name in gamma], rows)
        weight = None if self.fitter.stack.weights is None else rows[self.fitter.stack.weights]
        shift = (np.average(W, axis=0, weights=weight) - self.centre) @ [*gamma.values()]
        fixed = {**self.known, "sigma": self.known["sigma"] * np.exp(shift)}
        return replace(self.fitter, fitting={**self.fitter.fitting, "fixed": fixed})(rows)


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
    refuse_partitioned(data, "Several responses are fitted", engine)
    data, functions = pd.DataFrame(data).copy(), reading["functions"]
    wide = read_wide(formula, sigma, rescor=rescor)
    family = choose_family(reading["family"], parse_formula(wide.formulas[0], list(data.columns), functions))
    assert isinstance(family, Family)
    _refuse(family, reading, fitting, rescor=rescor)
    seen = read_responses(wide, data, functions, log_time=family.log_time)
    ends = ends_of(seen, len(data))
    weights = {name: reading[name] for name in ("weights", "var_weights")}
    stack = learn_stack(wide, data, ends, functions=functions, log_time=family.log_time, **weights)
    how = {**fitting, "method": "ep" if fitting["method"] == "auto" else fitting["method"]}
    if rescor and fitting["hyper"] == "auto":
        how["hyper"] = "maximize"  # a ridge, (MUL3), along which the points of a design have too small a spread
    fitter = Fitter(stack, reading, how)
    stack.warn_missing(data)
    rows = stack.known(data, stack.units(data, ends), ends)
    fitted = fitter(rows)
    training = TrainingRows(data, seen, fitter.held(fitted))
    return MultivariateResults(MultivariateParts.of(fitted.parts, stack, rows, training))


def _refuse(family: Family, reading: Mapping[str, Any], fitting: Mapping[str, Any], *, rescor: bool) -> None:
    """What does not go with several responses."""
    if not isinstance(rescor, bool):
        raise SpecError(f"rescor= is True or False, not {rescor!r}.")
    if rescor and family.name not in _RESCOR:
        raise SpecError(f"rescor=True goes with {' and '.join(_RESCOR)} noise, not with {family.name}.")
    if fitting["method"] == "mle":
        raise SpecError("Several responses are fitted under priors; fit each by itself for method='mle'.")
    for name in ("fixed", "start", "priors"):
        if fitting[name]:
            raise SpecError(f"{name}= is not for several responses; stack the rows, and give it to their formula.")
    for name in ("weights", "var_weights"):
        if reading[name] is not None and (rescor or not isinstance(reading[name], str)):
            words = "does not go with rescor=True: copies of a row share its effect" if rescor else "names a column"
            raise SpecError(f"{name}= of several responses {words}.")
