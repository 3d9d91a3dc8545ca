"""Calls with several responses, fitted by the stack of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import DataError, SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.mvbind import read_wide
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.regression_call import Regression
from tobitgp.likelihoods import Family
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import posterior_method
from tobitgp.options import FitOptions, choose_family
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts, TrainingRows
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.multivariate.response_estimates import scale_columns
from tobitgp.results.multivariate.stacked_rows import SeenResponse, Stack, ends_of, learn_stack, read_responses
from tobitgp.results.process.process_results import GPResults
from tobitgp.typing import Array

_RESCOR = ("gaussian", "lognormal")


@dataclass(frozen=True)
class StackedRows(Rows):
    """Rows of all responses, one below the other."""

    rows: Rows  # of the stack
    stack: Stack
    data: pd.DataFrame  # as they came
    stacked: pd.DataFrame
    seen: Sequence[SeenResponse]  # of the responses, on the scale of these

    @property
    def training(self) -> NoReturn:
        raise SpecError("The rows of several responses are stacked. Fit each response separately.")

    @property
    def formula(self) -> str:
        return self.stack.wide.formula

    @property
    def shown(self) -> str:
        return self.formula

    @property
    def endog_names(self) -> str:
        return self.formula.partition("~")[0].strip()

    @property
    def exog_names(self) -> list[str]:
        return list(self.stack.state.linear.columns)


@dataclass(frozen=True)
class StackFitter:
    """Fits stacked rows."""

    call: Call  # of the stack
    asked: FitOptions

    def __call__(self, rows: pd.DataFrame) -> GPResults:
        """Fit to these rows."""
        found = Regression().fit(read_rows(replace(self.call, data=rows)), self.asked)
        assert isinstance(found, GPResults)
        return found

    def held(self, fitted: GPResults) -> Held:
        """A function that fits other rows with the hyper-parameters of a fit."""
        return Held(self, fitted.hyperparameters, fitted.parts.gp.problem.units.w_centre)


@dataclass(frozen=True)
class Held:
    """Fits stacked rows with hyper-parameters that are known."""

    fitter: StackFitter
    known: Mapping[str, float]
    centre: Array  # of the columns of log sigma, where ``sigma`` is known

    def __call__(self, rows: pd.DataFrame) -> GPResults:
        """Fit to these rows, whose columns of log sigma have their own means."""
        gamma = {name: value for name, value in self.known.items() if name.startswith("log(sigma)[")}
        W = scale_columns([name.removeprefix("log(sigma)[").removesuffix("]") for name in gamma], rows)
        weights = self.fitter.call.weights
        weight = None if weights is None else rows[weights]
        shift = (np.average(W, axis=0, weights=weight) - self.centre) @ [*gamma.values()]
        fixed: dict[str, Any] = {**self.known, "sigma": self.known["sigma"] * np.exp(shift)}
        return replace(self.fitter, asked=replace(self.fitter.asked, fixed=fixed))(rows)


class Several(Kind):
    """``mvbind(y1, y2) ~ ...``."""

    takes_rescor = True

    def read(self, call: Call) -> StackedRows:
        call.refuse(("id", "cure", "formulas"), "requires one response and is not supported with mvbind(...).")
        refuse_partitioned(call.data, "Several responses are fitted", call.engine)
        data, functions, rescor = pd.DataFrame(call.data).copy(), call.functions, call.rescor
        wide = read_wide(call.formula, call.sigma, rescor=rescor)
        family = choose_family(call.family, parse_formula(wide.formulas[0], list(data.columns), functions))
        assert isinstance(family, Family)
        _refuse(call, family, list(data.columns))
        seen = read_responses(wide, data, functions, log_time=family.log_time)
        ends = ends_of(seen, len(data))
        weights = {"weights": call.weights, "var_weights": call.var_weights}
        stack = learn_stack(wide, data, ends, functions=functions, log_time=family.log_time, **weights)
        stack.warn_missing(data)
        stacked = stack.known(data, stack.units(data, ends), ends)
        of_stack = replace(call, formula=stack.formula, sigma=stack.scale_formula, data=stacked, engine=None)
        rows, used = read_rows(of_stack), data[list(stack.state.input_names)]
        return StackedRows(call, rows.spec, family, rows.read, used, rows.columns, rows, stack, data, stacked, seen)

    def fit(self, rows: StackedRows, asked: FitOptions) -> MultivariateResults:
        if isinstance(asked.method, MLE):
            raise SpecError("Several responses are fitted with priors. Fit each response separately for method='mle'.")
        for name, given in asked.named(("fixed", "start", "priors")).items():
            if given:
                raise SpecError(
                    f"{name}= is not supported for several responses. Stack the rows and give it with their formula."
                )
        asked = replace(asked, method=posterior_method(asked.method))
        if rows.stack.wide.rescor and asked.method.hyper == "auto":
            # A ridge, (MUL3), along which the points of a design have too small a spread.
            asked = asked.maximising()
        fitted, fitter = Regression().fit(rows.rows, asked), StackFitter(rows.rows.call, asked)
        training = TrainingRows(rows.data, rows.seen, fitter.held(fitted))
        return MultivariateResults(MultivariateParts.of(fitted.parts, rows.stack, rows.stacked, training))


def _refuse(call: Call, family: Family, columns: list[Any]) -> None:
    """Raise an error for what several responses do not support."""
    if not isinstance(call.rescor, bool):
        raise SpecError(f"rescor= must be True or False, not {call.rescor!r}.")
    if call.rescor and family.name not in _RESCOR:
        raise SpecError(
            f"rescor=True requires {' or '.join(_RESCOR)} noise, not {family.name}. Leave it out, or use that family."
        )
    for name, value in (("weights", call.weights), ("var_weights", call.var_weights)):
        if value is not None and (call.rescor or not isinstance(value, str)):
            words = (
                "is not supported with rescor=True: copies of a row share its effect"
                if call.rescor
                else "names a column"
            )
            raise SpecError(f"{name}= of several responses {words}.")
        if value is not None and value not in columns:
            raise DataError(f"{name}={value!r}: the data have no such column.")
