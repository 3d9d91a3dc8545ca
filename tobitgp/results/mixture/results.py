"""A fitted mixture as its users see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.report.protocols import CovKind
from tobitgp.results.compare import rank_table
from tobitgp.results.contrasts import ContrastResults, WaldResults, contrast, wald
from tobitgp.results.estimates import Linear
from tobitgp.results.mixture.estimates import MixtureEstimates
from tobitgp.results.mixture.parts import MixtureParts, covariance_of
from tobitgp.results.mixture.pictures import MixturePictures
from tobitgp.results.mixture.questions import MixtureQuestions
from tobitgp.results.predict import check_alpha
from tobitgp.results.results import Results
from tobitgp.results.trust.check import mixture_findings
from tobitgp.results.trust.findings import Finding
from tobitgp.results.views import COUNTS, FRAME_COLUMNS

NO_LINEAR = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


class MixtureResults(MixtureQuestions, MixturePictures, Results):
    """A mixture fitted to censored rows, by variational Bayes or by maximum likelihood.

    Made by :func:`tobitgp.fit` from ``y ~ mixture(2)``. Components are ordered by their means, those of a Dirichlet
    process that hold no rows last. Standard errors are by linear response, which allows for what censoring hides;
    those of the variational posterior itself, too small where rows are censored, are had by ``kind="vb"``. Intervals
    have the shape of each family's posterior with the information that is left: gamma of a rate, Student's t of a mean
    and of the log of an sd, normal of weights' logits.

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
      log evidence -1160.65 (elbo), converged
    >>> res.params.round(2).to_dict()
    {'weight[1]': 0.06, 'weight[2]': 0.94, 'scale[1]': 148.47, 'scale[2]': 431.1, 'shape[1]': 0.91, 'shape[2]': 1.39}
    """

    def __init__(self, parts: MixtureParts):
        self._parts = parts

    @property
    def _linear(self) -> Linear:
        return NO_LINEAR

    @property
    def _columns(self) -> tuple[str, ...]:
        return ()

    @property
    def _names(self) -> list[str]:
        return list(self._parts.fit.names)

    @property
    def _rest(self) -> MixtureEstimates:
        return self._estimates("linear_response")

    def _estimates(self, kind: CovKind) -> MixtureEstimates:
        settled = isinstance(kind, str) and kind == "linear_response"
        parts = self._settled if settled else self._parts
        return MixtureEstimates(parts.fit, covariance_of(parts, kind))

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
        """A row for each component: weight, parameters in the user's units, rows it explains, exact ones among them.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.components.round(2).loc[1].to_dict()
        {'weight': 0.06, 'scale': 148.47, 'shape': 0.91, 'rows': 12.22, 'exact': 11.23}
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
        """Components that hold more than a row and more than a hundredth of the rows."""
        return self._parts.fit.n_effective

    @property
    def df_model(self) -> float:
        """Number of parameters, weights counted once less."""
        return float(len(self._parts.fit.names) - 1)

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom, ``nobs - df_model``."""
        return self.nobs - self.df_model

    @property
    def elbo(self) -> float:
        """Evidence lower bound in nats, for one order of the components; NaN by maximum likelihood.

        Of the response as written; Kohjima et al. (2019), equation 32, and (MIX5) of the theory pages.
        """
        return self._parts.fit.elbo

    @property
    def log_evidence(self) -> float:
        """``elbo + log K!`` in nats: K! orders of the components are the same mixture, and each has that bound.

        It compares numbers of components, (MIX17) of the theory pages. A Dirichlet process has its components in order
        of their sticks, and nothing is added. NaN by maximum likelihood.
        """
        fit = self._parts.fit
        return fit.elbo if fit.process else fit.elbo_of_any_order

    @property
    def log_marginal(self) -> float:
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
    def aic(self) -> float:
        """``2 k - 2 llf`` on the scale of deviances, k the number of parameters; NaN of a posterior.

        References
        ----------
        Akaike (1974), A new look at the statistical model identification, *IEEE Transactions on Automatic Control* 19,
        716-723.
        """
        return 2.0 * (self.df_model - self.llf)

    @property
    def bic(self) -> float:
        """``k log nobs - 2 llf`` on the scale of deviances, k the number of parameters; NaN of a posterior.

        References
        ----------
        Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6, 461-464.
        """
        return self.df_model * float(np.log(self.nobs)) - 2.0 * self.llf

    @property
    def converged(self) -> bool:
        """Whether the ascent came to a standstill."""
        return self._parts.fit.converged

    @property
    def fit_history(self) -> pd.DataFrame:
        """The last ascent, a row for each accepted pass: columns ``pass`` and ``elbo``, or ``log_likelihood``."""
        trace = self._parts.fit.trace
        name = "elbo" if self._parts.bayes else "log_likelihood"
        return pd.DataFrame({"pass": np.arange(1, len(trace) + 1), name: trace})

    @property
    def method(self) -> str:
        """Name of the method: ``"vbcm"``, ``"svbcm"`` or ``"em"``."""
        return self._parts.fit.method.name

    @property
    def cov_type(self) -> str:
        """Where standard errors come from: ``"linear response"``, or ``"nonrobust"`` by maximum likelihood."""
        return "linear response" if self._parts.bayes else "nonrobust"

    @property
    def selection(self) -> pd.DataFrame:
        """The numbers of components that ``mixture(range(...))`` tried, best first, as :func:`tobitgp.compare` has it.

        ``value`` is ``log_evidence``, or the BIC by maximum likelihood; ``weight`` the posterior probability of the
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
        {1: -1157.11, 2: -1160.65, 3: -1163.22}
        """
        tried = self._parts.tried
        if tried is None:
            raise SpecError("One number of components was fitted; mixture(range(1, 7)) tries several.")
        index = pd.Index(tried.numbers, name="components")
        kinds = [self.evidence_kind if tried.by == "log_evidence" else tried.by] * len(index)
        n = np.full(len(index), self.nobs)
        return rank_table(index, tried.values, kinds, n, tried.converged.tolist(), tried.by)

    def _criterion(self) -> tuple[str, str]:
        if not self._parts.bayes:
            return "Log likelihood", f"{self.llf:.2f}"
        return "Log evidence", f"{self.log_evidence:.2f}"

    # -- the estimates ------------------------------------------------------------------------------------------------

    def conf_int(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
        """Intervals of probability ``1 - alpha``.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals, between 0 and 1.
        kind : {"linear_response", "vb"}
            Where the standard errors come from, as in :meth:`cov_params`.

        Returns
        -------
        DataFrame
            A row for each parameter, columns 0 and 1, in the user's units; NaN where the rows do not determine it.

        Raises
        ------
        SpecError
            For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

        References
        ----------
        (LR6) and (LR7) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.conf_int().loc["shape[2]"].round(2).tolist()
        [1.1, 1.76]
        """
        return pd.DataFrame(self._estimates(kind).interval(check_alpha(alpha)), index=self._names)

    def cov_params(self, kind: CovKind = "linear_response") -> pd.DataFrame:
        """Covariance of all parameters.

        Parameters
        ----------
        kind : {"linear_response", "vb"}
            Of the posterior with what censoring hides allowed for, by maximum likelihood the inverse of the observed
            information; or of the variational posterior itself, which takes censored rows for seen ones.

        Returns
        -------
        DataFrame
            In squares of the user's units; NaN where the rows do not determine a parameter.

        Raises
        ------
        SpecError
            For another ``kind``.

        References
        ----------
        Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *JMLR* 19(51); (LR2) of
        the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ mixture(1)", data, family="exponential")
        >>> ratio = res.cov_params("vb") / res.cov_params()
        >>> seen, rows = data["event"].sum() + 2, len(data) + 2
        >>> print(np.sqrt(ratio.loc["rate[1]", "rate[1]"]).round(3), np.sqrt(seen / rows).round(3))
        0.852 0.852
        """
        return pd.DataFrame(self._estimates(kind).covariance(), index=self._names, columns=self._names)

    def t_test(self, hypotheses: Any, kind: CovKind = "linear_response") -> ContrastResults:
        """Hypotheses about parameters, each on its own, by their normal law.

        Parameters
        ----------
        hypotheses : str, list of str, (k, P) array, or pair of such an array and k values
            As ``"mean[1] = mean[2]"``, or rows of weights of all P parameters.
        kind : {"linear_response", "vb"}
            Where the standard errors come from, as in :meth:`cov_params`.

        Returns
        -------
        ContrastResults
            With ``effect, sd, tvalue, pvalue, conf_int(alpha), summary_frame(alpha)``.

        Raises
        ------
        SpecError
            If a hypothesis cannot be read, or for another ``kind``.

        References
        ----------
        (REG10) of the theory pages for one hypothesis at a time, with the covariance (LR2).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.t_test("shape[2] = 1").pvalue.round(4).tolist()
        [0.0199]
        """
        return contrast(self._as_linear(kind), self._names, hypotheses)

    def wald_test(self, hypotheses: Any, kind: CovKind = "linear_response") -> WaldResults:
        """Several hypotheses about parameters together, by their values and covariance.

        Parameters
        ----------
        hypotheses : str, list of str, (k, P) array, or pair of such an array and k values
            As ``"mean[1] = mean[2]"``, or rows of weights of all P parameters.
        kind : {"linear_response", "vb"}
            Where the standard errors come from, as in :meth:`cov_params`.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df, summary_frame()``.

        Raises
        ------
        SpecError
            If a hypothesis cannot be read, they depend on each other, or for another ``kind``.

        References
        ----------
        (REG10) of the theory pages with the covariance (LR2).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.wald_test("shape[1] = 1, shape[2] = 1")
        chi2(2) = 5.704, p = 0.05772
        """
        return wald(self._as_linear(kind), self._names, hypotheses)

    def _as_linear(self, kind: CovKind) -> Linear:
        estimates = self._estimates(kind)
        return Linear(np.ones(1), estimates.value[None], estimates.V[None], np.diag(estimates.V) == 0.0)

    def summary_frame(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
        """All parameters in one table.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals, between 0 and 1.
        kind : {"linear_response", "vb"}
            Where the standard errors come from, as in :meth:`cov_params`.

        Returns
        -------
        DataFrame
            In the user's units: columns ``coef, std err, z, P>|z|, lower, upper``; z and its tail are NaN, since zero
            is no value to test.

        Raises
        ------
        SpecError
            For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.summary_frame().loc["shape[2]", ["coef", "std err"]].round(2).tolist()
        [1.39, 0.17]
        """
        estimates = self._estimates(kind)
        ends = estimates.interval(check_alpha(alpha))
        columns = [estimates.value, estimates.errors(), estimates.z_values(), estimates.p_values(), *ends.T]
        return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=self._names)

    def summary(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> Any:
        """Tables to read or to paste into a report.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals.
        kind : {"linear_response", "vb"}
            As in :meth:`cov_params`.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        SpecError
            For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull", tol=1e-12)
        >>> print(res.summary().tables[2])
        ==============================================================================
                              value          std err           [0.025           0.975]
        ------------------------------------------------------------------------------
        weight[1]            0.0575           0.1039           0.0014           0.7231
        weight[2]            0.9425           0.1039           0.2769           0.9986
        scale[1]           148.4739         129.3557          26.9186         818.9309
        scale[2]           431.1018          38.8617         361.2835         514.4125
        shape[1]             0.9056           0.3907           0.3888           2.1096
        shape[2]             1.3916           0.1682           1.0981           1.7635
        ==============================================================================
        """
        from tobitgp.report.mixture import summarise_mixture

        return summarise_mixture(self, check_alpha(alpha), kind)

    def _findings(self, rng: Any) -> Iterator[Finding]:
        return mixture_findings(self)

    def __repr__(self) -> str:
        parts, counts = self._parts, self._parts.facts.counts
        censored = ", ".join(f"{counts[k]} {k}-censored" for k in COUNTS[1:4] if counts[k]) or "none censored"
        value = f"log evidence {self.log_evidence:.2f} (elbo)" if parts.bayes else f"log likelihood {self.llf:.2f}"
        return (
            f"MixtureResults: {parts.spec.formula.strip()}\n"
            f"  {parts.family.name}, {self.n_components} component{'s' * (self.n_components > 1)}, "
            f"method {self.method}: {counts['exact']} rows exact, {censored}, {counts['dropped']} dropped\n"
            f"  {value}, {'converged' if self.converged else 'NOT converged'}"
        )
