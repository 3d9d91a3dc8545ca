"""A fit of competing risks as its users see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError, UnavailableError
from tobitgp.regression.deviance_residuals import pseudo_r2
from tobitgp.results import hypotheses, output
from tobitgp.results.competing import cause_estimates, competing_predictions, competing_questions
from tobitgp.results.competing.cause_estimates import IndependentLinear
from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.parameter_estimates import CovKind
from tobitgp.results.predict import check_alpha, check_flag
from tobitgp.results.why_not import missing_attribute

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause


class CompetingRisksResults:
    """Models of the hazards of several causes, by :func:`tobitgp.fit` of ``Surv(time, cause) ~ ...``.

    Every cause has a model of its own, in which events of the other causes are censoring. ``res["death"]`` are the
    results of one: its coefficients are of the hazard of this cause, and its survival, which warns of that, is *net*
    survival, of a world in which the other causes do not occur and nothing else changes. The probability of an event
    beside the other causes is :meth:`predict_cumulative_incidence`. Hypotheses have the cause in the name of a
    coefficient: ``res.t_test("sex[1] = sex[2]")`` tests whether a column has the same effect on two hazards.

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

    _kind = "causes"

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
    def llnull(self) -> float:
        """Maximised log likelihood with intercepts only, in nats, the sum over causes; NaN of a posterior.

        (REG2) and (CR1) of the theory pages.
        """
        return self._sum("llnull")

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R2, ``1 - llf / llnull``, a pure number; NaN of a posterior.

        References
        ----------
        McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*.
        """
        return pseudo_r2(self.llf, self.llnull, self.nobs).mcfadden

    @property
    def method(self) -> str:
        """Name of the method: a word, or several of causes that differ."""
        return ", ".join(dict.fromkeys(fit.method for fit in self.parts.fits.values()))

    @property
    def fit_history(self) -> pd.DataFrame:
        """Stages of the fits, with the columns that the results of a cause have, index ``(cause, stage)``."""
        fits: Any = self.parts.fits
        return pd.concat({cause: fit.fit_history for cause, fit in fits.items()}, names=["cause", "stage"])

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
        return self._series("params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of ``params``, index and units the same.

        References
        ----------
        (CR1) of the theory pages: estimates of different causes are independent.
        """
        return self._series("bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """``params`` over their standard errors, index ``(cause, parameter)``; NaN where zero is no value to test.

        Pure numbers, of each cause as by itself: (REG10) and (CR1) of the theory pages.
        """
        return self._series("tvalues")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided tail probabilities, index ``(cause, parameter)``; NaN where zero is no value to test.

        Of each cause as by itself: (REG10), (PRE3) and (CR1) of the theory pages.
        """
        return self._series("pvalues")

    def _series(self, name: str) -> pd.Series[float]:
        found = {cause: getattr(fit, name) for cause, fit in self.parts.fits.items()}
        return pd.Series(pd.concat(found, names=["cause", None]))

    def _testable(self, kind: CovKind | None) -> tuple[IndependentLinear, list[str]]:
        """Coefficients that hypotheses are about, and their names, as ``sex[death]``."""
        every = {cause: fit._testable(kind) for cause, fit in self.parts.fits.items()}
        names = [f"{name}[{cause}]" for cause, (_, columns) in every.items() for name in columns]
        return IndependentLinear([linear for linear, _ in every.values()]), names

    conf_int = cause_estimates.conf_int
    cov_params = cause_estimates.cov_params
    summary_frame = cause_estimates.summary_frame
    hazard_ratios = cause_estimates.hazard_ratios
    anova = cause_estimates.anova
    t_test = hypotheses.t_test
    wald_test = hypotheses.wald_test
    lr_test = cause_estimates.lr_test

    def summary(self, alpha: float = 0.05, *, hazard_ratios: bool = False, anova: bool = False) -> Any:
        """Tables to read: what was read, and the parameters of each cause.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.
        hazard_ratios : bool
            With a table of ``hazard_ratios()`` of each cause.
        anova : bool
            With a table of ``anova()``, a joint test of each term of each cause.

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
        from tobitgp.report.competing_summary import cause_words
        from tobitgp.report.summary import summarise

        alpha = check_alpha(alpha)
        tables = []
        if check_flag("hazard_ratios", hazard_ratios):
            fits: Any = self.parts.fits.items()
            tables = [fit.hazard_ratios(alpha).rename(index=f"{cause}: {{}}".format) for cause, fit in fits]
        found = summarise(self, cause_words(self, alpha), alpha, tables)
        if not check_flag("anova", anova):
            return found
        tests = self.anova()
        return found.with_tests(tests.set_axis([f"{cause}: {term}" for cause, term in tests.index]))

    # -- questions ----------------------------------------------------------------------------------------------------

    predict_cumulative_incidence = competing_predictions.predict_cumulative_incidence
    predict_survival_function = competing_predictions.predict_survival_function
    score = competing_questions.score
    concordance_index = competing_questions.concordance_index
    check = competing_questions.check
    plot_cumulative_incidence = competing_questions.plot_cumulative_incidence
    save = output.save
