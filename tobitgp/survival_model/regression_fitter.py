"""A model with the methods of lifelines' fitters: fitted by column names, scored and calibrated by lifelines' tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pandas as pd

from tobitgp.api import fit
from tobitgp.data.frames import reads_frames
from tobitgp.data.table import column_names
from tobitgp.errors import NotFittedError, SpecError
from tobitgp.likelihoods.families import GenGamma, Student
from tobitgp.method_spelling import with_moved_settings
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.predict import check_alpha, check_flag
from tobitgp.results.process.process_results import GPResults
from tobitgp.survival_model import coefficient_figures, observed_rows, parameters, proportional_hazards
from tobitgp.survival_model.fit_settings import FitSettings, quoted, with_columns, without_meaning
from tobitgp.survival_model.lifelines_names import missing_name
from tobitgp.typing import Frame

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


class SurvivalModel:
    """A right-hand side and options, with the fit methods of lifelines' regressions.

    Functions that take such a fitter also take this one, e.g. ``lifelines.utils.k_fold_cross_validation``,
    ``lifelines.calibration.survival_probability_calibration``. It writes the formula and calls :func:`tobitgp.fit`;
    ``results_`` is the fit that it returns, with all its methods.

    Parameters
    ----------
    rhs : str
        Right-hand side of a formula: ``"gp(age) + sex"``, ``"mixture(2)"``, ``"."`` for all other columns.
    family, method
        As in :func:`tobitgp.fit`.
    alpha : float
        Probability outside confidence intervals.
    fit_intercept : bool
        Whether the location has an intercept.
    model_ancillary : bool
        Let the terms of the location be those of log sigma, too.
    **fit_kwargs
        As in :func:`tobitgp.fit`.

    Attributes
    ----------
    results_ : GPResults, RegressionResults, CureResults, HazardResults or MixtureResults
        The fit: as :func:`tobitgp.fit` returns it, with ``cure="~ ..."`` and ``family="ph"`` too.
    duration_col, event_col, entry_col, weights_col, cluster_col, lower_bound_col, upper_bound_col : str or None
        Columns of the last fit.
    strata : list of str, or None
        The column of its strata.
    formula : str
        Its right-hand side.
    robust : bool
        Whether its standard errors are robust.

    Raises
    ------
    SpecError
        For more than a right-hand side, and for options that are not supported here.

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

    duration_col: str | None = None
    event_col: str | None = None
    entry_col: str | None = None
    weights_col: str | None = None
    lower_bound_col: str | None = None
    upper_bound_col: str | None = None
    cluster_col: str | None = None
    strata: list[str] | None = None
    robust: bool = False

    def __init__(
        self,
        rhs: str = ".",
        family: str | Student | GenGamma | Any = "weibull",
        method: Any = "auto",
        *,
        alpha: float = 0.05,
        fit_intercept: bool = True,
        model_ancillary: bool = False,
        **fit_kwargs: Any,
    ) -> None:
        if not isinstance(rhs, str) or not rhs.strip() or "~" in rhs:
            raise SpecError(f"rhs={rhs!r}: rhs must be the right-hand side of a formula, e.g. 'gp(age) + sex'.")
        fit_kwargs = without_meaning(with_moved_settings({"method": method, **fit_kwargs}, rhs))
        method = fit_kwargs.pop("method")
        self.rhs, self.family, self.method, self.fit_kwargs = rhs.strip(), family, method, dict(fit_kwargs)
        self.alpha, self.fit_intercept = check_alpha(alpha), check_flag("fit_intercept", fit_intercept)
        self.model_ancillary = check_flag("model_ancillary", model_ancillary)
        self.formula = self.rhs
        self._kind, self._settings = "right", FitSettings()
        self._robust_table: pd.DataFrame | None = None
        self._results: GPResults | RegressionResults | MixtureResults | None = None

    def __getattr__(self, name: str) -> Any:
        return missing_name(self, name)

    # -- fit ----------------------------------------------------------------------------------------------------------

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """Texts that mention columns of the data in addition to the arguments of :meth:`fit`."""
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
        **settings: Any,
    ) -> SurvivalModel:
        """Fit to right-censored times.

        Parameters
        ----------
        df : DataFrame
            Never modified.
        duration_col : str
            Positive times. Durations such as ``pandas.Timedelta`` are days, as in ``timeline`` and all other times.
        event_col : str, optional
            1 or True if the time is that of an event, 0 or False if the row was censored; by default all are events.
        entry_col : str, optional
            Times at which rows entered.
        weights_col : str, optional
            Frequency weights, or sampling weights with ``robust=True``.
        **settings : dict
            ``formula="age + sex"`` replaces the right-hand side in this fit. ``ancillary`` is the right-hand side for
            log sigma, True for the same terms, or a DataFrame of columns. ``fit_intercept=False`` leaves out the
            intercept; True keeps it even if ``formula=`` or ``ancillary=`` leaves it out, as in lifelines.
            ``robust=True`` or ``cluster_col="id"`` give robust standard errors. ``strata="g"`` requires
            ``family="ph"``. ``timeline`` has the default times of predictions. ``fit_options={"max_iter": 50}`` has
            settings of the method. ``initial_point`` is ``start`` of :func:`tobitgp.fit`, ``show_progress`` is
            ``progress``.

        Returns
        -------
        SurvivalModel
            This object.

        Raises
        ------
        DataError, FormulaError, SpecError
            As :func:`tobitgp.fit`.
        TypeError
            For unknown settings.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.SurvivalModel("age + sex").fit(lung, "time", "event", robust=True)
        >>> model.params_["lambda_"].round(3).to_dict()
        {'Intercept': 6.275, 'age': -0.012, 'sex': 0.382}
        """
        columns = {"duration_col": duration_col, "event_col": event_col, "entry_col": entry_col}
        return self._fit_times(df, "right", weights_col, columns, settings)

    fit_right_censoring = fit

    @reads_frames
    def fit_left_censoring(
        self,
        df: Frame,
        duration_col: str,
        event_col: str | None = None,
        *,
        entry_col: str | None = None,
        weights_col: str | None = None,
        **settings: Any,
    ) -> SurvivalModel:
        """See :meth:`tobitgp.SurvivalModel.fit`; here if ``event_col`` is 0, the event occurred earlier."""
        columns = {"duration_col": duration_col, "event_col": event_col, "entry_col": entry_col}
        return self._fit_times(df, "left", weights_col, columns, settings)

    @reads_frames
    def fit_interval_censoring(
        self,
        df: Frame,
        lower_bound_col: str,
        upper_bound_col: str,
        event_col: str | None = None,
        *,
        entry_col: str | None = None,
        weights_col: str | None = None,
        **settings: Any,
    ) -> SurvivalModel:
        """Fit to times that lie between two bounds.

        Parameters
        ----------
        df
            As in :meth:`fit`.
        lower_bound_col, upper_bound_col : str
            The bounds: equal if the time is known, infinite or NaN if there is no bound.
        event_col : str, optional
            Not used for the fit, since bounds say which times are known; it is not a covariate of ``"."``.
        entry_col, weights_col, **settings
            As in :meth:`fit`.

        Returns
        -------
        SurvivalModel
            This object.

        Raises
        ------
        DataError, FormulaError, SpecError
            As :func:`tobitgp.fit`.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"low": [1.0, 2.0, 4.0, 8.0], "high": [2.0, 4.0, 4.0, float("inf")]}
        >>> model = tg.SurvivalModel("1", "lognormal").fit_interval_censoring(data, "low", "high")
        >>> model.params_.round(2).tolist()
        [1.34, -0.23]
        """
        columns: dict[str, str | None] = {"lower_bound_col": lower_bound_col, "upper_bound_col": upper_bound_col}
        low, high = (quoted(df, str(name), of) for of, name in columns.items())
        columns |= {"event_col": event_col, "entry_col": entry_col}
        window = "" if entry_col is None else f" | truncate({quoted(df, entry_col, 'entry_col')}, inf)"
        return self._fit(df, f"interval({low}, {high})", "interval", weights_col, columns, settings, window)

    def _fit_times(
        self, df: Any, kind: str, weights_col: str | None, columns: dict[str, str | None], given: dict[str, Any]
    ) -> SurvivalModel:
        """Fit to times of which each is that of an event, or censored on one side."""
        time, event, entry = (None if name is None else quoted(df, name, of) for of, name in columns.items())
        window = "" if entry is None else f" | truncate({entry}, inf)"
        response = str(time) if event is None else f'Surv({time}, {event}, type="left")'
        if event is not None and kind == "right":
            response, window = f"Surv({', '.join(filter(None, (entry, time, event)))})", ""
        return self._fit(df, response, kind, weights_col, columns, given, window)

    def _fit(
        self,
        df: Any,
        response: str,
        kind: str,
        weights_col: str | None,
        columns: dict[str, str | None],
        given: dict[str, Any],
        window: str,
    ) -> SurvivalModel:
        if weights_col is not None:
            quoted(df, weights_col, "weights_col")
        own = {"fit_intercept": self.fit_intercept, "ancillary": self.model_ancillary}
        settings = FitSettings.read({**own, **{name: value for name, value in given.items() if value is not None}})
        used = (*columns.values(), weights_col)
        rhs = settings.right_hand_side(self.rhs, self.family, df, used)
        df, sigma = settings.with_ancillary(df, rhs, used)
        options: dict[str, Any] = {"family": self.family, "sigma": sigma, **self.fit_kwargs}
        options |= settings.options(df, self.method, rhs, self.family)
        results: Any = fit(f"{response} ~ {rhs}{window}", df, weights=weights_col, **options)
        if results._causes:
            raise SpecError(
                "SurvivalModel and the tools of lifelines support one type of event. Use tg.fit() for competing "
                "risks, and tg.cross_validate() or tg.metrics with cause= to score them."
            )
        self._robust_table = settings.robust_table(results, df, self.family)
        self._results, self._settings, self.formula = results, settings, rhs
        self._kind, self.weights_col = kind, weights_col
        self.cluster_col, self.strata = settings.cluster_col, settings.strata_columns or None
        self.robust = settings.is_robust
        for name in ("duration_col", "event_col", "entry_col", "lower_bound_col", "upper_bound_col"):
            setattr(self, name, columns.get(name))
        return self

    def _again(self, df: pd.DataFrame) -> SurvivalModel:
        """A fit of the same model to other right-censored rows."""
        columns = {"event_col": self.event_col, "entry_col": self.entry_col, "weights_col": self.weights_col}
        return self.fit(df, str(self.duration_col), **columns, **vars(self._settings))

    # -- what was found -----------------------------------------------------------------------------------------------

    @property
    def results_(self) -> GPResults | RegressionResults | MixtureResults:
        """The fit: `tobitgp.RegressionResults`, `tobitgp.GPResults` or `tobitgp.MixtureResults`."""
        if self._results is None:
            raise NotFittedError("This SurvivalModel has not been fitted. Call fit(df, duration_col, event_col) first.")
        return self._results

    @property
    def _censoring_type(self) -> Any:
        """Attributes of a fitter that tools of lifelines require."""
        from lifelines.utils import CensoringType

        return CensoringType[self._kind.upper()]

    log_likelihood_ = property(parameters.log_likelihood_)
    AIC_ = property(parameters.AIC_)
    BIC_ = property(parameters.BIC_)
    params_ = property(parameters.params_)
    variance_matrix_ = property(parameters.variance_matrix_)
    standard_errors_ = property(parameters.standard_errors_)
    confidence_intervals_ = property(parameters.confidence_intervals_)
    summary = property(parameters.summary)
    print_summary = parameters.print_summary
    log_likelihood_ratio_test = parameters.log_likelihood_ratio_test

    durations = property(observed_rows.durations)
    event_observed = property(observed_rows.event_observed)
    entry = property(observed_rows.entry)
    entries = property(observed_rows.entry)
    weights = property(observed_rows.weights)
    lower_bound = property(observed_rows.lower_bound)
    upper_bound = property(observed_rows.upper_bound)
    timeline = property(observed_rows.timeline)
    median_survival_time_ = property(observed_rows.median_survival_time_)
    mean_survival_time_ = property(observed_rows.mean_survival_time_)

    hazard_ratios_ = property(proportional_hazards.hazard_ratios_)
    baseline_hazard_ = property(proportional_hazards.baseline_hazard_)
    baseline_cumulative_hazard_ = property(proportional_hazards.baseline_cumulative_hazard_)
    baseline_survival_ = property(proportional_hazards.baseline_survival_)
    predict_partial_hazard = proportional_hazards.predict_partial_hazard
    predict_log_partial_hazard = proportional_hazards.predict_log_partial_hazard
    compute_residuals = proportional_hazards.compute_residuals
    compute_followup_hazard_ratios = proportional_hazards.compute_followup_hazard_ratios
    check_assumptions = proportional_hazards.check_assumptions

    plot = coefficient_figures.plot
    plot_partial_effects_on_outcome = coefficient_figures.plot_partial_effects_on_outcome
    plot_covariate_groups = coefficient_figures.plot_partial_effects_on_outcome

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
