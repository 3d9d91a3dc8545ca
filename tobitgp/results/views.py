"""Parts of a fit, with the names of statsmodels and of the subpackages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.table import in_days
from tobitgp.data.training_summary import Facts, held_rows
from tobitgp.errors import UnavailableError
from tobitgp.formula.linear_terms import mentions
from tobitgp.formula.spec import LinearPart, ModelSpec
from tobitgp.typing import Array, Frame

COUNTS = ("exact", "left", "right", "interval", "dropped")
FRAME_COLUMNS = ("coef", "std err", "z", "P>|z|", "lower", "upper")
RATIO_COLUMNS = ("exp(coef)", "exp(coef) lower", "exp(coef) upper")


class Source:
    """Stored facts about the data and the formula, for every kind of fit."""

    __slots__ = ()
    has_sites: ClassVar[bool] = False  # whether rows can be left out by their sites
    where_weights_fail: ClassVar[str] = "Use tg.cross_validate()"  # what to try then

    spec: ModelSpec
    state: DesignState  # replays the covariates on new data
    facts: Facts  # what is remembered of the training rows
    training: TrainingData | None  # none where the fit holds no rows
    covariates: pd.DataFrame | None  # of the rows used

    derived: ClassVar[bool] = False  # whether state and facts are those of fits inside, which are checked by themselves

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent facts about the rows in a file."""
        if self.derived:
            return
        columns, state = self.facts.columns, self.state
        if set(self.facts.counts) != set(COUNTS):
            yield f"its counts are not {', '.join(COUNTS)}"
        if columns and tuple(columns) != state.input_names:
            yield "its columns are not those of the formula"
        for name, facts in columns.items():
            if not facts.suits(state.levels[name]):
                yield f"its description of the column {name!r:.60} is invalid"

    @property
    def written_formula(self) -> str:
        """The formula of the call, where that of the rows is another."""
        return self.spec.formula

    @property
    def rows(self) -> TrainingData:
        """Training rows."""
        return held_rows(self.training)

    @property
    def levels(self) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes, by block of features; none where another fit holds the processes."""
        return ()

    @property
    def strata(self) -> frozenset[str]:
        """Columns each of whose levels has its own baseline hazard."""
        return frozenset()

    @property
    def span(self) -> tuple[float, float] | None:
        """First and last time that hazards are known at, where the model is of bands of time."""
        return None

    @property
    def scale_of_effects(self) -> str:
        """Quantity whose differences are the coefficients, if not the response or its logarithm."""
        return ""


@dataclass(frozen=True, slots=True)
class ModelData:
    """Attributes of ``model.data`` that tables of statsmodels use."""

    param_names: list[str]
    frame: pd.DataFrame | None  # the covariates of the rows used; None where the fit holds no rows
    training: TrainingData | None = None  # the rows used, of fits of one response and one cause

    @property
    def row_labels(self) -> pd.Index | None:
        """Labels of the rows used."""
        return None if self.training is None else pd.Index(self.training.labels)


@dataclass(frozen=True, slots=True)
class ModelView:
    """The model behind a fit, with the names of statsmodels.

    Attributes
    ----------
    formula : str
        As written.
    spec : ModelSpec
        Prints a description of the formula.
    endog_names : str
        The response as written, a quoted column without its backticks.
    exog_names : list of str
        Columns of the linear part.
    data : ModelData
        ``param_names``, and ``frame``, the covariates of the rows used; None where the fit holds no rows.
    likelihood : callable, optional
        The log likelihood as a function of the parameters, in nats; see ``loglike``.
    """

    formula: str
    spec: ModelSpec
    endog_names: str
    exog_names: list[str]
    data: ModelData
    likelihood: Callable[[Any], float] | None = None  # of parameters as they are reported, where it is maximised

    def loglike(self, params: Any) -> float:
        """Log likelihood of the training rows in nats at values of all of ``params`` of the results."""
        if self.likelihood is None:
            raise UnavailableError(
                "model.loglike() requires a fit by maximum likelihood with independent rows. Use "
                "log_likelihood_draws() of the results for the log likelihoods of rows under draws."
            )
        return self.likelihood(params)

    def score(self, params: Any) -> Array:
        """Derivatives (k,) of :meth:`loglike` by central differences, in nats per unit of the parameters."""
        from statsmodels.tools.numdiff import approx_fprime

        return np.asarray(approx_fprime(np.asarray(params, dtype=np.float64), self.loglike, centered=True))

    def hessian(self, params: Any) -> Array:
        """Second derivatives (k, k) of :meth:`loglike` by differences, in nats per unit of two parameters."""
        from statsmodels.tools.numdiff import approx_hess

        return np.asarray(approx_hess(np.asarray(params, dtype=np.float64), self.loglike))

    @property
    def exog(self) -> Array | None:
        """Columns (n, p) of the linear part in the rows used, in their units; None without rows in memory."""
        return None if self.data.training is None else as_dense(self.data.training.design.H)

    @property
    def endog(self) -> Array | None:
        """Responses (n,) as recorded, in their units: values, limits of censored rows, middles of intervals."""
        if self.data.training is None:
            return None
        lower, upper = self.data.training.response.within_window
        low, high = (np.where(np.isfinite(a), a, b) for a, b in ((lower, upper), (upper, lower)))
        return 0.5 * low + 0.5 * high


def keep_covariates(training: TrainingData, data: Frame) -> pd.DataFrame:
    """Copy of the covariates in the rows used, durations in days."""
    names = training.state.input_names
    frame = pd.DataFrame({name: data[name] for name in names}, index=None if names else training.index)
    return in_days(frame if training.kept.all() else frame.loc[training.kept].copy())


def named_columns(parts: Iterable[LinearPart], present: Sequence[Any]) -> list[str]:
    """Columns of the data that formulas name or ``.`` means, in the order of the data."""
    used = dict.fromkeys(name for part in parts for name in columns_of(part, present))
    return [*(name for name in present if name in used), *(name for name in used if name not in present)]


def columns_of(part: LinearPart, columns: Sequence[str]) -> list[str]:
    """Columns that a formula names or ``.`` means: those among some in their order, then all others."""
    names = part.names()
    found = [name for name in columns if name in names or (isinstance(name, str) and mentions(part.formula, name))]
    return [*found, *(name for name in names if name not in found)]


def plain_text(text: str) -> str:
    """Text of an expression, a bare quoted column without its backticks."""
    quoted = len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]
    return text[1:-1] if quoted else text
