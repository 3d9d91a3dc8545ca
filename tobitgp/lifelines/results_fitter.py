"""lifelines' parametric univariate fitter, with its parameters, curves and errors from results of tg.fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from lifelines.fitters import KnownModelParametricUnivariateFitter
from lifelines.plotting import loglogs_plot

from tobitgp.api import fit
from tobitgp.errors import UnavailableError
from tobitgp.lifelines.fitter_input import checked_comparison, checked_curve, checked_fit, read_numbers, table_of
from tobitgp.lifelines.univariate_names import UNIVARIATE_CURVES, UNIVARIATE_NAMES
from tobitgp.posterior.questions import CURVES, Question, probability
from tobitgp.results.predict import check_alpha
from tobitgp.results.survival import Times
from tobitgp.typing import Array

_ESTIMATES = "_fitted_parameters_"  # which lifelines reads first


def _density(positive: bool, at: Array) -> Question:
    return Question(lambda y, t: y.logpdf(t), "log", (at,), sure=True)


# By the names of lifelines' functions of parameters and times.
_QUESTIONS: dict[str, Callable[[bool, Array], Question]] = {
    "_survival_function": CURVES["survival"],
    "_cumulative_hazard": CURVES["cumulative_hazard"],
    "_hazard": CURVES["hazard"],
    "_cumulative_density": lambda positive, at: probability(positive, at, above=False),
    "_density": _density,
}


def _of_parameters(name: str) -> Callable[..., Array]:
    """A function of lifelines of parameters, which are those of the fit, and times."""

    def values(fitter: ResultsFitter, params: Any, times: Any) -> Array:
        question, posterior = fitter._question(name, times)
        with np.errstate(all="ignore"):
            return np.reshape(question.number(posterior.beside_shared_values), np.shape(times))

    values.__name__ = name
    return values


class ResultsFitter(KnownModelParametricUnivariateFitter):  # type: ignore[misc]
    """Common parts of the fitters: the fit and its curves."""

    _bounds: list[Any] = []  # noqa: RUF012  # lifelines reads both before there is a fit
    _fitted_parameter_names: list[str] = []  # noqa: RUF012
    _rhs = "1"
    _family: Any = None
    _known = False  # whether lifelines has this distribution
    _tied = 0  # parameters that follow from the others
    _fit_kwargs: dict[str, Any]
    _label: str | None
    alpha: float
    results_: Any

    def __init__(self, fitter_name: str, alpha: float, label: str | None) -> None:
        super().__init__(check_alpha(alpha), label)
        self._class_name = fitter_name

    fit = checked_fit(KnownModelParametricUnivariateFitter.fit)
    fit_left_censoring = checked_fit(KnownModelParametricUnivariateFitter.fit_left_censoring)
    fit_interval_censoring = checked_fit(KnownModelParametricUnivariateFitter.fit_interval_censoring)

    def _fit(
        self,
        Ts: tuple[Any, Any],
        event_observed: Any = None,
        timeline: Any = None,
        label: str | None = None,
        alpha: float | None = None,
        ci_labels: Any = None,
        show_progress: bool = False,
        entry: Any = None,
        weights: Any = None,
        initial_point: Any = None,
        fit_options: Any = None,
    ) -> ResultsFitter:
        times = np.atleast_1d(next(each for each in Ts if each is not None))
        if self._censoring_type.value != "interval":
            self.durations = times  # of one subject lifelines makes a number
        n = len(times)
        self.event_observed = np.ones(n, dtype=int) if event_observed is None else np.asarray(event_observed, dtype=int)
        self.entry = np.zeros(n) if entry is None else np.asarray(entry)
        self.weights = np.ones(n) if weights is None else np.asarray(weights)
        even = np.linspace(times.min(), times.max(), min(n, 500))
        self.timeline = even if timeline is None else np.sort(np.asarray(timeline, dtype=np.float64))
        self._label = label or self._label or f"{self._class_name.removesuffix('Fitter')}_estimate"
        self._ci_labels, self.alpha = ci_labels, self.alpha if alpha is None else alpha
        for name in ("results_", "_times", "_event_table", *(f"{curve}_" for curve in UNIVARIATE_CURVES)):
            self.__dict__.pop(name, None)  # of an earlier fit
        formula, data = table_of(self, self._censoring_type.value)
        weighted = None if weights is None else "weight"
        options = {"family": self._family, "weights": weighted, "progress": bool(show_progress), **self._fit_kwargs}
        self.results_ = fit(formula.format(self._terms(n)), data, **options)
        self.log_likelihood_ = self.results_.llf
        values, covariance = self._estimated()
        self._fitted_parameter_names, self._fitted_parameters_ = list(values.index), values.to_numpy()
        self.variance_matrix_ = pd.DataFrame(covariance, index=values.index, columns=values.index)
        for name in UNIVARIATE_CURVES:
            setattr(self, f"{name}_", getattr(self, f"{name}_at_times")(self.timeline).to_frame())
        return self

    def _terms(self, n: int) -> str:
        """The right-hand side of a formula for n subjects."""
        return self._rhs

    @cached_property
    def _times(self) -> Times:
        """Durations of the subjects, with their censoring."""
        found: Times = self.results_._time_rows(pd.DataFrame(index=[0]), (), bands=True).times
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_times"}  # it holds functions

    def _estimated(self) -> tuple[pd.Series[float], Array]:
        """Parameters in lifelines' terms, and their covariance."""
        return self.results_.params, self.results_.cov_params().to_numpy()

    @property
    def _compare_to_values(self) -> Array:
        """Values without an effect, NaN of parameters without one."""
        return np.full(len(self._fitted_parameter_names), np.nan)

    @property
    def AIC_(self) -> float:
        """Twice the number of free parameters minus twice the log likelihood in nats; not defined for a posterior.

        References
        ----------
        Akaike (1974), A new look at the statistical model identification, *IEEE Transactions on Automatic Control* 19.
        """
        return self._criterion(2.0)

    @property
    def BIC_(self) -> float:
        """The AIC with the logarithm of the number of rows instead of the first 2.

        References
        ----------
        Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6.
        """
        return self._criterion(float(np.log(len(self.event_observed))))

    def _criterion(self, of_each: float) -> float:
        if np.isnan(self.log_likelihood_):
            raise UnavailableError("A posterior has no maximum of the likelihood.")  # __getattr__ says more
        return of_each * (len(self._fitted_parameter_names) - self._tied) - 2.0 * float(self.log_likelihood_)

    survival_function_at_times = checked_curve(KnownModelParametricUnivariateFitter.survival_function_at_times)
    cumulative_hazard_at_times = checked_curve(KnownModelParametricUnivariateFitter.cumulative_hazard_at_times)
    hazard_at_times = checked_curve(KnownModelParametricUnivariateFitter.hazard_at_times)
    cumulative_density_at_times = checked_curve(KnownModelParametricUnivariateFitter.cumulative_density_at_times)
    density_at_times = checked_curve(KnownModelParametricUnivariateFitter.density_at_times)

    _survival_function = _of_parameters("_survival_function")
    _cumulative_hazard = _of_parameters("_cumulative_hazard")
    _hazard = _of_parameters("_hazard")
    _cumulative_density = _of_parameters("_cumulative_density")
    _density = _of_parameters("_density")

    def _question(self, name: str, times: Any) -> tuple[Question, Any]:
        """Request of a curve of lifelines, and its answer."""
        at = np.asarray(times, dtype=np.float64).reshape(1, -1)
        return _QUESTIONS[name](self._times.positive, at), self._times.posterior

    def _compute_variance_of_transform(self, transform: Any, timeline: Any = None) -> pd.Series[float]:
        times = self.timeline if timeline is None else np.atleast_1d(timeline)
        question, posterior = self._question(transform.__name__, times)
        se = posterior.spread_over().statistics(question, None, se=True)["se"]
        return pd.Series(np.square(np.ravel(se)), index=times)

    def _compute_confidence_bounds_of_transform(
        self, transform: Any, alpha: float, ci_labels: Any, timeline: Any
    ) -> pd.DataFrame:
        if self._known:
            return super()._compute_confidence_bounds_of_transform(transform, alpha, ci_labels, timeline)
        question, posterior = self._question(transform.__name__, timeline)
        band = posterior.spread_over().band(question, 1.0 - alpha)
        sides = ("lower", "upper")
        names = [f"{self.label}_{side}_{1.0 - alpha:g}" for side in sides] if ci_labels is None else ci_labels
        ends = [np.ravel(band[side]) for side in sides]
        return pd.DataFrame(dict(zip(names, ends, strict=True)), index=timeline)

    def _compute_confidence_bounds_of_parameters(self) -> pd.DataFrame:
        if self._known:
            return super()._compute_confidence_bounds_of_parameters()
        limits = self.results_.conf_int(self.alpha).loc[self._fitted_parameter_names]
        return limits.set_axis(["lower-bound", "upper-bound"], axis=1)

    def __getattr__(self, name: str) -> Any:
        """Explain why a name of lifelines has no value."""
        if name not in {*UNIVARIATE_NAMES, "results_", _ESTIMATES}:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if "results_" not in self.__dict__:
            of = "" if name == _ESTIMATES else f"{name}: "
            raise UnavailableError(f"{of}this fitter has not been fitted. Call fit(durations, event_observed).")
        raise UnavailableError(f"{name}: not available for this fit. {UNIVARIATE_NAMES[name].instead}".rstrip())

    def __repr__(self) -> str:
        return str(super().__repr__()).replace("<lifelines.", "<tobitgp.lifelines.")

    # -- questions ----------------------------------------------------------------------------------------------------

    def predict(self, times: Any, interpolate: bool = False, *, conditional_after: Any = None) -> Any:
        """Probability of surviving times, (SUR1), or remaining times with ``conditional_after``, (SUR3).

        Parameters
        ----------
        times : float or list of float
            On the scale of the durations; remaining times with ``conditional_after``.
        interpolate : bool
            No effect: all times have a value. lifelines interpolates steps.
        conditional_after : float, or one for each unit, optional
            Ages, the time that a unit has survived already, on the scale of the durations.

        Returns
        -------
        float, Series or DataFrame
            Probabilities, by time; with several ages a column for each unit.

        Raises
        ------
        SpecError
            For ages that are not finite numbers, or negative.

        Examples
        --------
        A warranty: of three units that are 0, 200 and 400 days old, how many fail in the next 100 days?

        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.lifelines.DistributionFitter("weibull").fit(lung["time"], lung["event"])
        >>> left = model.predict([100], conditional_after=[0, 200, 400])
        >>> left.round(3).loc[100].tolist(), round(float((1 - left.loc[100]).sum()), 2)
        ([0.859, 0.765, 0.724], 0.65)
        """
        times = read_numbers("times", times)
        if conditional_after is None:
            return super().predict(times)
        table = self.results_.predict_survival_function(
            _units(conditional_after), np.atleast_1d(times), conditional_after=conditional_after
        )
        if np.ndim(conditional_after):
            return table
        return table[0] if np.ndim(times) else float(table.iat[0, 0])

    def percentile(self, p: Any, *, conditional_after: Any = None) -> Any:
        """Time at which survival falls to p, or with ``conditional_after`` the remaining time, (SUR4).

        Parameters
        ----------
        p : float or array of shape (k,)
            Probability of survival: 0.9 is the time that 90% survive.
        conditional_after
            As for :meth:`predict`.

        Returns
        -------
        float or array
            Shape (k,), on the scale of the durations; with several ages (n,) for a single p, otherwise (k, n).

        Raises
        ------
        SpecError
            For p outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.lifelines.DistributionFitter("weibull").fit(lung["time"], lung["event"])
        >>> round(model.percentile(0.5), 1), round(model.percentile(0.5, conditional_after=300), 1)
        (316.3, 221.7)
        """
        units = _units(conditional_after)
        found = [
            self.results_.predict_percentile(units, p=float(each), conditional_after=conditional_after).to_numpy()
            for each in np.ravel(read_numbers("p", p))
        ]
        shaped = np.reshape(found, (*np.shape(p), *np.shape(conditional_after if conditional_after is not None else 0)))
        return shaped if shaped.ndim else float(shaped)

    @property
    def conditional_time_to_event_(self) -> pd.DataFrame:
        """Median remaining time by time of the timeline, on the scale of the durations, (SUR4).

        Its index is the timeline. It is computed from the distribution. lifelines reads it off the timeline, and has
        none beyond its end.
        """
        left = self.percentile(0.5, conditional_after=self.timeline)
        column = f"{self.label} - Conditional median duration remaining to event"
        return pd.DataFrame({column: left}, index=self.timeline)

    subtract = checked_comparison(KnownModelParametricUnivariateFitter.subtract)
    divide = checked_comparison(KnownModelParametricUnivariateFitter.divide)

    def print_summary(self, *args: Any, **options: Any) -> None:
        """Print the table of lifelines, or ``results_.summary()`` if lifelines does not have the distribution.

        Parameters
        ----------
        *args, **options
            As in lifelines; they have no effect on ``results_.summary()``.

        Raises
        ------
        UnavailableError
            Before there is a fit.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.lifelines.DistributionFitter("exponential").fit(lung["time"], lung["event"])
        >>> model.print_summary(columns=["coef", "se(coef)"], style="ascii")  # doctest: +ELLIPSIS
        <tobitgp.lifelines.ExponentialFitter:"Exponential_estimate", fitted with 228 total ...
           number of observations = 228
        number of events observed = 165
                   log-likelihood = -1162.34
                       hypothesis = lambda_ != 0
        <BLANKLINE>
        ---
                  coef  se(coef)
        lambda_ 421.78     32.84
        ---
        AIC = 2326.68
        <BLANKLINE>
        """
        if self._known:
            super().print_summary(*args, **options)
        else:
            print(self.results_.summary())

    def plot_loglogs(self, *args: Any, **options: Any) -> Any:
        """Draw the logarithm of the cumulative hazard, (SUR2), over that of time.

        Parameters
        ----------
        *args, **options
            As for ``lifelines.plotting.loglogs_plot``.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        ValueError
            For both ``loc`` and ``iloc``.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> model = tg.lifelines.DistributionFitter("weibull").fit(lung["time"], lung["event"])
        >>> model.plot_loglogs().get_xlabel()
        'log(timeline)'
        """
        return loglogs_plot(self, *args, **options)


def _units(ages: Any) -> pd.DataFrame:
    """A row for each unit, without columns."""
    index = ages.index if isinstance(ages, pd.Series) else range(np.size(ages) if ages is not None else 1)
    return pd.DataFrame(index=index)
