"""A fitted mixture as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.check import mixture_findings
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import read_draws, training_rows
from tobitgp.errors import SpecError
from tobitgp.kinds.mixture import (
    MixtureEstimates,
    MixtureParts,
    checked_ends,
    covariance_of,
    ends_of_rows,
    training_ends,
    warn_without_errors,
)
from tobitgp.mixture import Predictive
from tobitgp.mixture.predictive_rows import PredictiveRows
from tobitgp.numerics.sampling import Rng, generator
from tobitgp.results import figures
from tobitgp.results.compare import rank_table
from tobitgp.results.interfaces import classical_tests, row_values
from tobitgp.results.mixture import bound_tables
from tobitgp.results.mixture.mixture_draws import ComponentDraws, draw_components, draw_rows
from tobitgp.results.mixture.mixture_predictions import (
    mixture_tails,
    predict_mixture,
    response_residuals,
    times_of_rows,
)
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.predict import check_flag
from tobitgp.results.residuals import Tails
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, Scores, ask
from tobitgp.results.survival import TimeRows
from tobitgp.results.times import NO_ORDER
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame

NO_LINEAR = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


def selection_table(results: Results) -> pd.DataFrame:
    """The numbers of components that were tried, best first."""
    tried = results.parts.tried
    if tried is None:
        raise SpecError("Only one number of components was fitted. Use mixture(range(1, 7)) to try several.")
    index = pd.Index(tried.numbers, name="components")
    kinds = [results.evidence_kind if tried.by == "log_evidence" else tried.by] * len(index)
    n = np.full(len(index), results.nobs)
    return rank_table(index, tried.values, kinds, n, tried.converged.tolist(), tried.by)


class MixtureResults(Results):
    """A mixture fitted to censored rows, by variational Bayes or by maximum likelihood.

    Made by :func:`tobitgp.fit` from ``y ~ mixture(2)``. Components are ordered by their means, those of a Dirichlet
    process that hold no rows last. Standard errors are by linear response, which accounts for censoring. Those of the
    variational posterior, which are too small if rows are censored, are available with ``kind="vb"``. Intervals have
    the shape of each posterior, adjusted for censoring: gamma for a rate, Student-t for a mean and for the log of an
    sd, normal for logits of weights.

    Parameters
    ----------
    parts : MixtureParts
        Specification, rows and fit.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD.
    Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *JMLR* 19(51).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res
    MixtureResults: Surv(time, event) ~ mixture(2)
      weibull, 2 components, method vbcm: 165 rows exact, 63 right-censored, 0 dropped
      log evidence -1164.16 (elbo), converged
      llf, aic and bic are NaN for a posterior; compare fits by log_evidence
    >>> res.params.round(2).to_dict()
    {'weight[1]': 0.68, 'weight[2]': 0.32, 'scale[1]': 421.43, 'scale[2]': 407.54, 'shape[1]': 1.56, 'shape[2]': 0.98}
    """

    _kind = "mixture"

    def __init__(self, parts: MixtureParts):
        self._parts = parts

    @property
    def _linear(self) -> Linear:
        return NO_LINEAR

    @property
    def _rest(self) -> MixtureEstimates:
        return self._estimates(None)[1]

    def _estimates(self, kind: CovKind | None) -> tuple[Linear, MixtureEstimates]:
        kind = "linear_response" if kind is None else kind
        default = isinstance(kind, str) and kind == "linear_response"
        parts = self._with_covariance if default else self._parts
        return NO_LINEAR, MixtureEstimates(parts.fit, covariance_of(parts, kind))

    def _testable(self, kind: CovKind | None) -> tuple[Linear, list[str]]:
        found = self._estimates(kind)[1]
        return Linear(np.ones(1), found.value[None], found.V[None], np.diag(found.V) == 0.0), self._names

    def _term_tests(self) -> Iterator[Any]:
        raise SpecError("A mixture has no terms to test. Use wald_test() for hypotheses about its parameters.")

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.mixture_summary import mixture_words

        return mixture_words(self, alpha, kind)

    @property
    def _with_covariance(self) -> MixtureParts:
        """Parts that hold their covariance, which takes some passes over the rows; says once what has no errors."""
        if self._parts.covariance is None:
            V = covariance_of(self._parts)
            self._parts = replace(self._parts, covariance=V)
            warn_without_errors(self._parts.fit, V)
        return self._parts

    @property
    def params(self) -> pd.Series[float]:
        """``weight[1]``, ..., then the parameters of the components: a Series by name, in the user's units."""
        return pd.Series(self._parts.fit.values, index=self._names)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """All of ``params`` as a dict, in the user's units; a mixture takes no ``fixed=``, its use elsewhere."""
        return dict(zip(self._names, self._parts.fit.values.tolist(), strict=True))

    @property
    def components(self) -> pd.DataFrame:
        """A row for each component: weight, parameters in the user's units, expected rows and uncensored rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.components.round(2).loc[1].to_dict()
        {'weight': 0.68, 'scale': 421.43, 'shape': 1.56, 'rows': 154.68, 'exact': 112.42}
        """
        fit = self._parts.fit
        columns = {"weight": fit.weights, **fit.parameters, "rows": fit.counts, "exact": fit.exact_counts}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, fit.k + 1, name="component"))

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def n_components(self) -> int:
        """Components of the fit; of a Dirichlet process the most it may use."""
        return self._parts.fit.k

    @property
    def n_effective(self) -> int:
        """Components that hold half a row and more in expectation."""
        return self._parts.fit.n_effective

    @property
    def df_model(self) -> float:
        """Number of parameters, weights counted once less."""
        return self._parts.n_free

    @property
    def elbo(self) -> float:
        """Evidence lower bound in nats, for one order of the components; NaN for maximum likelihood.

        It is for the response as written; Kohjima et al. (2019), equation 32, and (MIX5) of the theory pages.
        """
        return self._parts.fit.elbo

    @property
    def log_evidence(self) -> float:
        """``elbo + log K!`` in nats: K! orders of the components are the same mixture, and each has that bound.

        It compares numbers of components, (MIX17) of the theory pages. The components of a Dirichlet process are
        ordered by their sticks, and nothing is added. NaN for maximum likelihood.
        """
        return self._parts.log_evidence

    @property
    def log_evidence_integrated(self) -> float:
        """NaN: no hyper-parameters are integrated; see ``log_evidence``."""
        return float("nan")

    @property
    def evidence_kind(self) -> str:
        """``"elbo"``; ``"loglik"`` by maximum likelihood."""
        return "elbo" if self._parts.bayes else "loglik"

    @property
    def llf(self) -> float:
        """Log likelihood of the response in nats, by ``method="em"``: (EM1) of the theory pages; NaN of a posterior."""
        return self._parts.fit.log_likelihood

    @property
    def converged(self) -> bool:
        """Whether the ascent converged, or the bound of stochastic steps without further passes has levelled off.

        Stochastic steps are judged from the path of the bound in ``fit_history``: the mean over the last quarter of the
        steps exceeds that of the quarter before by less than 0.1 nat (or 0.1 nat per 1,000 rows), and the standard
        deviation in the last quarter is below the same limit; (SVB5) of the theory pages.
        """
        return self._parts.fit.converged

    @property
    def _search_message(self) -> str:
        return "converged" if self.converged else self._parts.fit.notes[0]

    @property
    def fit_history(self) -> pd.DataFrame:
        """The last ascent, a row for each accepted pass: columns ``pass`` and ``elbo``, or ``log_likelihood``.

        With ``method="svbcm"`` the path of the bound along the stochastic steps comes first: columns ``stage``
        (``"steps"``, then ``"passes"``), ``step``, ``pass`` and ``elbo``, at the start and after each hundredth of the
        steps. It is evaluated on all rows, or on 20,000 evenly spaced rows of larger data, and is not smoothed. It has
        no noise from batches except that of the steps themselves.
        """
        return bound_tables.history_table(self._parts)

    variational = property(bound_tables.variational)
    elbo_rows = bound_tables.elbo_rows

    @property
    def method(self) -> str:
        """Name of the method: ``"vbcm"``, ``"svbcm"`` or ``"em"``."""
        return self._parts.fit.method.name

    covariance_type = property(row_values.covariance_type)
    bic_llf = property(classical_tests.bic_llf)

    @property
    def cov_type(self) -> str:
        """Where standard errors come from: ``"linear response"``, or ``"nonrobust"`` by maximum likelihood."""
        return "linear response" if self._parts.bayes else "nonrobust"

    @property
    def selection(self) -> pd.DataFrame:
        """The numbers of components that ``mixture(range(...))`` tried, best first, as in :func:`tobitgp.compare`.

        ``value`` is ``log_evidence``, or the BIC for maximum likelihood; ``weight`` is the posterior probability of the
        number under equal prior probabilities: (MIX17) of the theory pages.

        Raises
        ------
        SpecError
            If one number was given.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(range(1, 4))", tg.datasets.load("lung"), family="weibull")
        >>> res.selection["value"].round(2).to_dict()
        {1: -1158.69, 2: -1164.16, 3: -1167.95}
        """
        return selection_table(self)

    def _criterion(self) -> tuple[str, str]:
        if not self._parts.bayes:
            return "Log likelihood", f"{self.llf:.2f}"
        return "Log evidence", f"{self.log_evidence:.2f}"

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        return mixture_findings(self)

    # -- questions ----------------------------------------------------------------------------------------------------

    plot_evidence = figures.plot_evidence
    plot_history = figures.plot_history
    plot_components = figures.plot_components
    plot_residuals = figures.plot_quantile_residuals

    plot = plot_components

    @property
    def predictive(self) -> Predictive:
        """Distribution of a new value, as scipy's: ``pdf, logpdf, cdf, sf, hazard, ppf, rvs, mean, var``.

        It is exact: parameters are integrated over their posterior, which makes components Student-t, Lomax, Burr (at
        the estimated shape) or negative binomial. For maximum likelihood, components are at their estimates.

        References
        ----------
        Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
        eqs. 34 and 46-47.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> print(res.predictive.sf([100.0, 365.0]).round(3))
        [0.86  0.438]
        """
        return self._parts.fit.predictive()

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        bands = check_flag("se", options["se"]) or options["interval"] is not None
        return predict_mixture(self._with_covariance if bands else self._parts, new, what, **options)

    @property
    def _drawn(self) -> tuple[str, ...]:
        return ("uncensored", "observed", "conditional")

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        asked = ask(self._parts, new, exclude)
        size, ends = read_draws(draws, rows=len(asked.index)), None
        limits = asked.limits() if what == "observed" else None
        if limits is not None and (np.isfinite(limits.entry) | np.isfinite(limits.exit)).any():
            ends = limits.entry, limits.exit
        if what == "conditional":
            asked, lower, upper = ends_of_rows(self._parts, new, asked)
            ends = lower, upper
        V = covariance_of(self._with_covariance)
        y = draw_rows(self._parts.fit, V, int(asked.usable.sum()), size, generator(rng), ends)
        return asked, y if limits is None else np.clip(y, limits.lower[:, None], limits.upper[:, None])

    def _draw_inside(self, draws: int, rng: Rng) -> Array:
        """New values (n, draws) of the training rows inside of their windows."""
        parts, response = self._with_covariance, self._parts.rows.response
        window = response.entry, response.exit
        return draw_rows(parts.fit, covariance_of(parts), len(response.lower), draws, generator(rng), window)

    def _draws(self, draws: int, rng: Rng, question: str) -> ComponentDraws:
        training_rows(self._parts, question)
        return draw_components(self._with_covariance, draws, rng, question=question)

    def _without_rows(self) -> Any:
        return type(self)(self._with_covariance.without_rows())

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        return times_of_rows(self._with_covariance if bands else self._parts, df, exclude, bands=bands)

    def _distributions(self, new: Frame | None, exclude: Any) -> PredictiveRows:
        rows, support = self._ask(new, exclude), self._parts.family.support
        return PredictiveRows.of(self.predictive, int(rows.usable.sum()), positive=support not in ("real", "counts"))

    def _training_ends(self) -> tuple[Array, Array, Array]:
        return training_ends(self._parts)

    def _tails(self, asked: Asked) -> Tails:
        return mixture_tails(self._parts)

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        return {"response": lambda asked: response_residuals(self._parts)}

    def _likelihoods(self, rows: Scored) -> Array:
        new, window = self.predictive, rows.response.window
        log_p = new.log_mass(*checked_ends(self._parts, rows.asked, rows.response))
        return np.asarray(log_p if window is None else log_p - new.log_mass(*window))

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        if scoring_method == "concordance_index":
            raise SpecError(NO_ORDER)
        return super()._scores(df, scoring_method)

    @property
    def _family_in_words(self) -> str:
        k = self.n_components
        return f"{self._parts.family.name}, {k} component{'s' * (k > 1)}"

    @property
    def _criterion_in_words(self) -> str:
        return f"{super()._criterion_in_words}{' (elbo)' * self._parts.bayes}"
