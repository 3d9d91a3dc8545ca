"""A model with the methods of lifelines' fitters: fitted by column names, scored and calibrated by lifelines' tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from tobitgp.api import fit
from tobitgp.data.frames import reads_frames
from tobitgp.data.table import column_names
from tobitgp.errors import DataError, NotFittedError, SpecError
from tobitgp.likelihoods.families import GenGamma, Student
from tobitgp.method_spelling import with_moved_settings
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.typing import Frame

_OWN = {"formula": "rhs", "data": "fit(df, ...)", "weights": "fit(weights_col=...)"}
P = ParamSpec("P")
T = TypeVar("T")


def _of_results(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[SurvivalModel, P], T]:
    """The same question, asked of the results that a SurvivalModel holds."""

    @wraps(method, assigned=("__name__",))
    def asked(model: SurvivalModel, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = getattr(model.results_, method.__name__)(*args, **kwargs)
        return answer

    asked.__doc__ = f"See :meth:`tobitgp.GPResults.{method.__name__}`."
    return asked


class SurvivalModel:
    """A right-hand side and options, to be fitted as lifelines' regressions are.

    Whatever takes such a fitter takes this one: ``lifelines.utils.k_fold_cross_validation``,
    ``lifelines.calibration.survival_probability_calibration``. It writes the formula and calls :func:`tobitgp.fit`;
    ``results_`` is what that returns, with everything else there is to ask.

    Parameters
    ----------
    rhs : str
        Right-hand side of a formula: ``"gp(age) + sex"``, ``"mixture(2)"``, ``"."`` for all other columns.
    family, method, **fit_kwargs
        As in :func:`tobitgp.fit`.

    Attributes
    ----------
    results_ : GPResults, RegressionResults, CureResults, HazardResults or MixtureResults
        The fit: as :func:`tobitgp.fit` returns it, with ``cure="~ ..."`` and ``family="ph"`` too.
    duration_col, event_col, entry_col, weights_col, lower_bound_col, upper_bound_col : str or None
        Columns of the last fit.

    Raises
    ------
    SpecError
        For more than a right-hand side, and options that have another place here.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.SurvivalModel("age + sex").fit(lung, "time", "event")
    >>> model
    SurvivalModel: Surv(`time`, `event`) ~ age + sex
      weibull, method mle: 165 rows exact, 63 right-censored, 0 dropped
    >>> model.predict_median(lung.head(2)).round(1).tolist()
    [238.3, 256.5]
    """

    def __init__(
        self, rhs: str, family: str | Student | GenGamma = "weibull", method: Any = "auto", **fit_kwargs: Any
    ) -> None:
        if not isinstance(rhs, str) or not rhs.strip() or "~" in rhs:
            raise SpecError(f"rhs={rhs!r}: the right-hand side of a formula is needed, as 'gp(age) + sex'.")
        fit_kwargs = with_moved_settings({"method": method, **fit_kwargs}, rhs)
        method = fit_kwargs.pop("method")
        for name, place in _OWN.items():
            if name in fit_kwargs:
                raise SpecError(f"{name}= has its place elsewhere in a SurvivalModel: {place}.")
        self.rhs, self.family, self.method, self.fit_kwargs = rhs.strip(), family, method, dict(fit_kwargs)
        self.duration_col: str | None = None
        self.event_col: str | None = None
        self.entry_col: str | None = None
        self.weights_col: str | None = None
        self.lower_bound_col: str | None = None
        self.upper_bound_col: str | None = None
        self._kind = "right"
        self._results: GPResults | RegressionResults | MixtureResults | None = None

    # -- fit ----------------------------------------------------------------------------------------------------------

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """What mentions columns of the data beside what :meth:`fit` is given."""
        options = (value for value in self.fit_kwargs.values() if isinstance(value, str))
        fitted = () if self._results is None else self._results._column_texts
        return (self.rhs, self.weights_col or "", *options, *fitted)

    @reads_frames
    def fit(
        self,
        df: Frame,
        duration_col: str,
        event_col: str | None = None,
        *,
        entry_col: str | None = None,
        weights_col: str | None = None,
    ) -> SurvivalModel:
        """Fit to right-censored times.

        Parameters
        ----------
        df : DataFrame
            Never modified.
        duration_col : str
            Positive times.
        event_col : str, optional
            1 or True where the time is that of the event, 0 or False where the row was censored then; without, all
            are events.
        entry_col : str, optional
            Times at which rows entered.
        weights_col : str, optional
            Frequency weights.

        Returns
        -------
        SurvivalModel
            Itself.

        Raises
        ------
        DataError, FormulaError, SpecError
            As :func:`tobitgp.fit`.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.SurvivalModel("age + sex").fit(lung, "time", "event")
        >>> model.params_.round(3).to_dict()
        {'Intercept': 6.275, 'age': -0.012, 'sex': 0.382, 'sigma': 0.754}
        """
        columns = {"duration_col": duration_col, "event_col": event_col, "entry_col": entry_col}
        time, event, entry = (None if name is None else _quoted(df, name, of) for of, name in columns.items())
        if event is None:
            formula = f"{time} ~ {self.rhs}" if entry is None else f"{time} ~ {self.rhs} | truncate({entry}, inf)"
        else:
            formula = f"Surv({', '.join(filter(None, (entry, time, event)))}) ~ {self.rhs}"
        return self._fit(df, formula, "right", weights_col, columns)

    fit_right_censoring = fit

    @reads_frames
    def fit_left_censoring(
        self, df: Frame, duration_col: str, event_col: str | None = None, *, weights_col: str | None = None
    ) -> SurvivalModel:
        """Fit to left-censored times: where ``event_col`` is 0 the event came before.

        Parameters
        ----------
        df, duration_col, event_col, weights_col
            As in :meth:`fit`.

        Returns
        -------
        SurvivalModel
            Itself.

        Raises
        ------
        DataError, FormulaError, SpecError
            As :func:`tobitgp.fit`.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"days": [2.0, 2.0, 3.0, 5.0, 8.0], "seen": [0, 0, 1, 1, 1]}
        >>> tg.SurvivalModel("1", "lognormal").fit_left_censoring(data, "days", "seen").params_.round(2).to_dict()
        {'Intercept': 1.01, 'sigma': 0.83}
        """
        columns = {"duration_col": duration_col, "event_col": event_col}
        time, event = (None if name is None else _quoted(df, name, of) for of, name in columns.items())
        response = f"{time}" if event is None else f'Surv({time}, {event}, type="left")'
        return self._fit(df, f"{response} ~ {self.rhs}", "left", weights_col, columns)

    @reads_frames
    def fit_interval_censoring(
        self, df: Frame, lower_bound_col: str, upper_bound_col: str, *, weights_col: str | None = None
    ) -> SurvivalModel:
        """Fit to times that lie between two bounds.

        Parameters
        ----------
        df
            As in :meth:`fit`.
        lower_bound_col, upper_bound_col : str
            The bounds: equal where a time is known, infinite or NaN where there is none.
        weights_col
            As in :meth:`fit`.

        Returns
        -------
        SurvivalModel
            Itself.

        Raises
        ------
        DataError, FormulaError, SpecError
            As :func:`tobitgp.fit`.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"low": [1.0, 2.0, 4.0, 8.0], "high": [2.0, 4.0, 4.0, float("inf")]}
        >>> model = tg.SurvivalModel("1", "lognormal").fit_interval_censoring(data, "low", "high")
        >>> model.params_.round(2).to_dict()
        {'Intercept': 1.34, 'sigma': 0.79}
        """
        columns: dict[str, str | None] = {"lower_bound_col": lower_bound_col, "upper_bound_col": upper_bound_col}
        low, high = (_quoted(df, name, of) for of, name in columns.items())
        return self._fit(df, f"interval({low}, {high}) ~ {self.rhs}", "interval", weights_col, columns)

    def _fit(
        self, df: Frame, formula: str, kind: str, weights_col: str | None, columns: dict[str, str | None]
    ) -> SurvivalModel:
        if weights_col is not None:
            _quoted(df, weights_col, "weights_col")
        options: dict[str, Any] = {"family": self.family, "method": self.method, **self.fit_kwargs}
        results: Any = fit(formula, df, weights=weights_col, **options)
        if results._causes:
            raise SpecError(
                "A SurvivalModel has one event, and so have lifelines' tools. Competing risks are fitted by tg.fit(), "
                "and scored by tg.cross_validate() and by tg.metrics with cause=."
            )
        self._results = results
        self._kind, self.weights_col = kind, weights_col
        for name in ("duration_col", "event_col", "entry_col", "lower_bound_col", "upper_bound_col"):
            setattr(self, name, columns.get(name))
        return self

    # -- what was found -----------------------------------------------------------------------------------------------

    @property
    def results_(self) -> GPResults | RegressionResults | MixtureResults:
        """The fit: `tobitgp.RegressionResults`, `tobitgp.GPResults` or `tobitgp.MixtureResults`.

        Raises
        ------
        NotFittedError
            Before there is one.
        """
        if self._results is None:
            raise NotFittedError("This SurvivalModel has not been fitted: call fit(df, duration_col, event_col) first.")
        return self._results

    @property
    def _censoring_type(self) -> Any:
        """What lifelines' tools ask a fitter for."""
        from lifelines.utils import CensoringType

        return CensoringType[self._kind.upper()]

    @property
    def params_(self) -> pd.Series[float]:
        """Estimates by name, in the user's units, ``results_.params``."""
        return self.results_.params

    @property
    def summary(self) -> pd.DataFrame:
        """A row for each parameter, in the user's units, ``results_.summary_frame()``."""
        return self.results_.summary_frame()

    def print_summary(self) -> None:
        """Print ``results_.summary()``.

        Raises
        ------
        NotFittedError
            Before there is a fit.
        """
        print(self.results_.summary())

    @property
    def concordance_index_(self) -> float:
        """Concordance with the training rows, a share of pairs, ``results_.concordance_index_``."""
        return self.results_.concordance_index_

    @reads_frames
    def score(self, df: Frame, scoring_method: str = "log_likelihood", *, weights: Any = None) -> float:
        """See :meth:`tobitgp.GPResults.score`; rows count by ``weights_col`` where ``df`` holds it."""
        if weights is None and self.weights_col in column_names(df):
            weights = self.weights_col
        return self.results_.score(df, scoring_method, weights=weights)

    # -- predictions --------------------------------------------------------------------------------------------------

    predict_survival_function = _of_results(GPResults.predict_survival_function)
    predict_cumulative_hazard = _of_results(GPResults.predict_cumulative_hazard)
    predict_hazard = _of_results(GPResults.predict_hazard)
    predict_percentile = _of_results(GPResults.predict_percentile)
    predict_median = _of_results(GPResults.predict_median)
    predict_expectation = _of_results(GPResults.predict_expectation)
    predict_restricted_mean = _of_results(GPResults.predict_restricted_mean)

    def __repr__(self) -> str:
        if self._results is None:
            return f"SurvivalModel: {self.rhs} (not fitted)"
        words = repr(self._results).split("\n")
        return "\n".join([f"SurvivalModel: {self._results.formula}", words[1]])


def _quoted(df: Any, name: Any, of: str) -> str:
    """A column's name as a formula writes it."""
    present = column_names(df)
    if not isinstance(name, str) or name not in present:
        some = ", ".join(repr(column) for column in present[:10])
        raise DataError(f"{of}={name!r} is not a column of the data, which have {some}{', ...' * (len(present) > 10)}.")
    if "`" in name:
        raise DataError(f"{of}={name!r}: a column that a formula can name has no backtick in its name.")
    return f"`{name}`"
