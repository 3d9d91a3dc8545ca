"""A fit of competing risks as its users see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics.residual_tests import Check
from tobitgp.errors import SpecError, UnavailableError
from tobitgp.results import output
from tobitgp.results.competing import predictions
from tobitgp.results.competing.parts import CompetingParts
from tobitgp.results.predict import check_alpha
from tobitgp.results.survival import read_times
from tobitgp.results.unavailable import missing_attribute

if TYPE_CHECKING:
    from tobitgp.formula.competing import Cause
    from tobitgp.typing import Frame


class CompetingRisksResults:
    """Models of the hazards of several causes, by :func:`tobitgp.fit` of ``Surv(time, cause) ~ ...``.

    Every cause has a model of its own, in which events of the other causes are censoring. ``res["death"]`` are the
    results of one: its coefficients are of the hazard of this cause, and its survival, which warns of that, is *net*
    survival, of a world in which the other causes do not occur and nothing else changes. The probability of an event
    beside the other causes is :meth:`predict_cumulative_incidence`.

    Parameters
    ----------
    parts : CompetingParts
        Fits of the causes.

    Attributes
    ----------
    causes : tuple
        Values of the column of causes, without that of censored rows.

    References
    ----------
    Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., chapter 8; (CR1) to (CR5)
    of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res
    CompetingRisksResults: Surv(time, cause) ~ sex
      2 causes of 'cause', censored where it is 0: 92 of 1, 73 of 2; 63 censored, 0 dropped
      log likelihood -1260.75, converged
    >>> res[2].params.round(2).to_dict()
    {'Intercept': 5.88, 'sex': 0.6, 'sigma': 0.81}
    """

    def __init__(self, parts: CompetingParts):
        self.parts, self.causes = parts, tuple(parts.fits)
        for fit in parts.fits.values():
            fit._of_cause = True

    def __getitem__(self, cause: Cause) -> Any:
        return self.parts.fits[self._check_cause(cause)]

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("parts")
        cause, fit = next(iter(parts.fits.items())) if parts is not None else ("", None)
        if name.startswith("_") or not hasattr(type(fit), name):
            return missing_attribute(self, name)
        raise UnavailableError(
            f"Competing risks have no {name!r} in common; each cause has its own, as res[{cause!r}].{name}."
        )

    def __repr__(self) -> str:
        counts = self.counts
        events = ", ".join(f"{counts[cause]} of {cause}" for cause in self.causes)
        sums = {"log likelihood": self.llf, "log evidence": self.log_evidence}
        found = [f"{name} {value:.2f}" for name, value in sums.items() if np.isfinite(value)]
        return (
            f"CompetingRisksResults: {self.formula}\n"
            f"  {self._read}: {events}; {counts['censored']} censored, {counts['dropped']} dropped\n"
            f"  {', '.join([*found, 'converged' if self.converged else 'NOT converged'])}"
        )

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """What mentions the columns that new data need."""
        return (self.formula, *(text for fit in self.parts.fits.values() for text in fit._column_texts))

    @property
    def _read(self) -> str:
        """What was read, in words."""
        censored = self.parts.censored
        words = "nobody censored" if censored is None else f"censored where it is {censored!r}"
        return f"{len(self.causes)} causes of {self.parts.column!r}, {words}"

    def _check_cause(self, cause: Any) -> Any:
        if not pd.api.types.is_scalar(cause) or cause not in self.causes:
            raise SpecError(f"cause={cause!r} is none of the causes: {', '.join(map(repr, self.causes))}.")
        return cause

    def _sum(self, name: str) -> float:
        return float(sum(getattr(fit, name, np.nan) for fit in self.parts.fits.values()))

    def _beside(self, tables: dict[Any, Any]) -> Any:
        return pd.concat(tables, names=["cause", None])

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """As written: a text; of several formulas one below the other."""
        return "\n".join(self.parts.formulas)

    @property
    def nobs(self) -> float:
        """Number of observations: frequency weights of the rows, summed; of the first cause's fit."""
        return float(self[self.causes[0]].nobs)

    @property
    def counts(self) -> pd.Series[int]:
        """Number of rows with an event of each cause, ``censored`` and ``dropped``, by name."""
        return self.parts.counts.copy()

    @property
    def converged(self) -> bool:
        """Whether the fits of all causes did."""
        return all(fit.converged for fit in self.parts.fits.values())

    @property
    def llf(self) -> float:
        """Maximised log likelihood of times and causes in nats, the sum over causes; NaN of a posterior.

        References
        ----------
        (CR1) of the theory pages.
        """
        return self._sum("llf")

    @property
    def log_evidence(self) -> float:
        """Log evidence of times and causes in nats, the sum over causes; NaN by maximum likelihood.

        References
        ----------
        (CR1) of the theory pages.
        """
        return self._sum("log_evidence")

    @property
    def log_evidence_integrated(self) -> float:
        """The same in nats, hyper-parameters and their priors integrated out; NaN where they were maximised.

        (HYP7) of the theory pages.
        """
        return self._sum("log_evidence_integrated")

    @property
    def df_model(self) -> float:
        """Number of parameters of all causes, effective ones of processes."""
        return self._sum("df_model")

    @property
    def aic(self) -> float:
        """``2 k - 2 llf`` on the scale of deviances, k the number of parameters of all causes; NaN of a posterior.

        References
        ----------
        Akaike (1974), A new look at the statistical model identification, *IEEE Transactions on Automatic Control* 19,
        716-723.
        """
        return self._sum("aic")

    @property
    def bic(self) -> float:
        """``k log nobs - 2 llf`` on the scale of deviances, k that of parameters of all causes; NaN of a posterior.

        References
        ----------
        Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6, 461-464.
        """
        return self._sum("bic")

    @property
    def elbo(self) -> float:
        """Evidence lower bound of times and causes in nats, the sum over causes; NaN by maximum likelihood.

        References
        ----------
        (SIT7) and (CR1) of the theory pages.
        """
        return self._sum("elbo")

    @property
    def evidence_kind(self) -> str:
        """What ``log_evidence`` is of each cause, or ``"loglik"``: a word, or several of causes that differ."""
        return ", ".join(dict.fromkeys(fit.evidence_kind for fit in self.parts.fits.values()))

    @property
    def priors(self) -> pd.DataFrame:
        """Priors that were used, index ``(cause, parameter)``; columns and units as of :attr:`GPResults.priors`.

        They are (PRI2) and (HYP1) of the theory pages.
        """
        fits: Any = self.parts.fits
        return pd.DataFrame(pd.concat({cause: fit.priors for cause, fit in fits.items()}, names=["cause"]))

    @property
    def params(self) -> pd.Series[float]:
        """Estimates of the parameters, index ``(cause, parameter)``; units as in the results of a cause."""
        return pd.Series(self._beside({cause: fit.params for cause, fit in self.parts.fits.items()}))

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of ``params``, index and units the same.

        References
        ----------
        (CR1) of the theory pages: estimates of different causes are independent.
        """
        return pd.Series(self._beside({cause: fit.bse for cause, fit in self.parts.fits.items()}))

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of ``params``.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each ``(cause, parameter)``, columns 0 and 1, in the units of ``params``.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        References
        ----------
        (REG8) of the theory pages, of processes (PRE3) and (HYP2); of each cause as by itself.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
        >>> res.conf_int().loc[(2, "sex")].round(2).tolist()
        [0.17, 1.03]
        """
        alpha = check_alpha(alpha)
        return pd.DataFrame(self._beside({cause: fit.conf_int(alpha) for cause, fit in self.parts.fits.items()}))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All parameters of all causes in one table.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each ``(cause, parameter)``, with the columns that the results of a cause have, in their units.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
        >>> res.summary_frame().loc[1, "coef"].round(2).to_dict()
        {'Intercept': 6.09, 'sex': 0.26, 'sigma': 0.71}
        """
        return pd.DataFrame(self._beside({cause: fit.summary_frame(alpha) for cause, fit in self.parts.fits.items()}))

    def anova(self) -> pd.DataFrame:
        """Joint test of each term of each cause.

        Returns
        -------
        DataFrame
            Index ``(cause, term)``; columns ``df, chi2, p`` and of processes ``edf``, pure numbers, as of
            :meth:`RegressionResults.anova`.

        Raises
        ------
        SpecError
            If the model of a cause has no term beside the intercept.

        References
        ----------
        (ANO1) to (ANO3) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> tg.fit("Surv(time, cause) ~ C(sex) + bs(age, df=3)", lung, family="weibull").anova()["df"].loc[2].to_dict()
        {'C(sex)': 1.0, 'bs(age, df=3)': 3.0}
        """
        return pd.concat({cause: fit.anova() for cause, fit in self.parts.fits.items()}, names=["cause"])

    def summary(self, alpha: float = 0.05) -> Any:
        """Tables to read: what was read, and the parameters of each cause.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        Summary
            Prints as text; ``as_html()``, ``as_latex()`` and ``as_csv()``.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
        >>> str(res.summary()).splitlines()[0].strip()
        "Competing risks: 2 causes of 'cause', censored where it is 0"
        """
        from tobitgp.report.competing import summarise_causes

        return summarise_causes(self, check_alpha(alpha))

    # -- questions ----------------------------------------------------------------------------------------------------

    predict_cumulative_incidence = predictions.predict_cumulative_incidence
    predict_survival_function = predictions.predict_survival_function
    save = output.save

    @reads_frames
    def score(self, df: Frame, cause: Cause | None = None, *, weights: Any = None) -> float:
        """Mean log likelihood of new rows: of their times and causes, or by the model of one cause.

        The sum over causes of the scores that their results have, each a mean over the rows of which it knows the
        covariates.

        Parameters
        ----------
        df : DataFrame or dict of columns
            With the columns of the model, times and causes included.
        cause : str or int, optional
            One of ``causes``, to whose model other causes are censoring; all without.
        weights : str, (n,) array or Series, optional
            Frequency weights of the rows, or the column that holds them.

        Returns
        -------
        float
            In nats a row.

        Raises
        ------
        SpecError
            For an unknown cause, lacking columns, or rows of which nothing is known.
        DataError
            If the rows or weights cannot be used.

        References
        ----------
        (CR1) and minus (MET12) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung[::2], family="weibull")
        >>> round(res.score(lung[1::2]), 2)
        -5.5
        """
        chosen = self.causes if cause is None else [self._check_cause(cause)]
        return float(sum(self[one].score(df, weights=weights) for one in chosen))

    def concordance_index(self, cause: Cause, time: float | None = None) -> float:
        """Concordance of the incidence of a cause, as predicted for the training rows, with its events.

        Parameters
        ----------
        cause : str or int
            One of ``causes``.
        time : float, optional
            Time by which incidences are predicted, on the scale of the response; without the last event of the cause.

        Returns
        -------
        float
            A share of pairs: 0.5 is chance, 1 a perfect order.

        Raises
        ------
        SpecError
            For an unknown cause, a time that is no positive number, or lacking training rows.

        References
        ----------
        Wolbers, Koller, Witteman and Steyerberg (2009), Prognostic models with competing risks, *Epidemiology* 20,
        555-561; (MET2) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
        >>> round(res.concordance_index(2), 2)
        0.59
        """
        from tobitgp.metrics import concordance_index

        k, seen = 1 + self.causes.index(self._check_cause(cause)), self.parts.seen
        if seen is None:
            raise SpecError(f"{NO_ROWS}, whose order could be scored.")
        at = read_times(seen.time[seen.code == k].max() if time is None else time, "time")
        if len(at) > 1 or at[0] <= 0.0:
            raise SpecError(f"time={time!r}: one positive time is needed.")
        found = predictions.incidences(self, None, predictions.CauseRows.of(self, None, None), at, None)["mean"]
        how: dict[str, Any] = {"entry": seen.entry, "weights": seen.weight, "cause": k}
        return concordance_index(seen.time, -found[k - 1, :, 0], seen.code, **how)

    def check(self, *, rng: int | np.random.Generator | None = None) -> Check:
        """Run the diagnostics of the model of every cause, and say in words what is wrong and what to try.

        Parameters
        ----------
        rng : int or numpy Generator, optional
            For the random points, and draws of the posterior; None is deterministic.

        Returns
        -------
        Check
            Prints in words; ``ok``, ``advice`` and ``table``. Names begin with the cause; p-values are adjusted within
            it.

        Raises
        ------
        SpecError
            If the fit holds no training rows.

        References
        ----------
        (CHK11) to (CHK16) of the theory pages; to the model of a cause events of the others are censoring.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> found = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull").check()
        >>> found.table.loc["2: convergence", "verdict"]
        'good'
        """
        every = [(cause, fit.check(rng=rng).findings) for cause, fit in self.parts.fits.items()]
        return Check(tuple(one._replace(name=f"{cause}: {one.name}") for cause, found in every for one in found))

    @reads_frames
    def plot_cumulative_incidence(
        self,
        ax: Any = None,
        *,
        df: Frame | None = None,
        times: Any = None,
        interval: float | None = 0.95,
        by: Any = None,
    ) -> Any:
        """Cumulative incidence over time.

        Without ``df`` the average of the fit over the training rows by their weights, a line for each cause, beside the
        steps of Aalen and Johansen's estimate [1]_ of the same rows; with ``by`` both in each group, a panel for each
        cause. Where all rows entered late both are of what follows the first entry, soon after which few rows are at
        risk and steps are high. With ``df`` curves and bands of its
        rows, a panel for each cause.

        Parameters
        ----------
        ax : matplotlib axes, optional
            To draw on, where there is one panel; new ones without.
        df : DataFrame or dict of columns, optional
            Up to eight rows.
        times : list of float, optional
            On the scale of the response; by default up to the last time seen.
        interval : float or None
            Probability of the bands of ``df``.
        by : str or Series of str, optional
            Up to eight groups of the training rows: a column of the formula, or a label for each row of the data.

        Returns
        -------
        matplotlib axes, or an array of them, one for each cause

        Raises
        ------
        SpecError
            If ``ax`` is no matplotlib axes or takes several panels, there are more than eight rows or groups, ``by`` is
            no column of the formula or stands beside ``df``, or the fit holds no training rows and no ``df`` is given.

        References
        ----------
        .. [1] Aalen and Johansen (1978), An empirical transition matrix for non-homogeneous Markov chains based on
           censored observations, *Scandinavian Journal of Statistics* 5, 141-150.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
        >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
        >>> ax = res.plot_cumulative_incidence()
        >>> ax.get_ylabel()
        'cumulative incidence'
        """
        from tobitgp.report.competing import plot_incidence

        return plot_incidence(self, ax, df=df, times=times, interval=interval, by=by)
