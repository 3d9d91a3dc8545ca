"""What every maximum of a likelihood says of itself."""

from __future__ import annotations

from functools import cached_property

from tobitgp.results.estimates import Linear, Transformed
from tobitgp.results.hypotheses import WaldResults, likelihood_ratio
from tobitgp.results.regression.parts import RegressionParts, linear_estimates, scale_estimates
from tobitgp.results.results import Results


class LikelihoodResults(Results):
    """A fit by maximum likelihood."""

    _parts: RegressionParts

    def __init__(self, parts: RegressionParts):
        self._parts = parts

    @cached_property
    def _linear(self) -> Linear:
        return linear_estimates(self._parts)

    @cached_property
    def _rest(self) -> Transformed:
        return scale_estimates(self._parts)

    @property
    def _n_free(self) -> float:
        return float(self._parts.maximum.free.sum())

    @property
    def llf(self) -> float:
        """Maximised log likelihood of the response as written, in nats: (REG2) or (CUR2) of the theory pages."""
        return self._parts.llf

    @property
    def evidence_kind(self) -> str:
        """A maximised likelihood, which is no evidence: ``"loglik"``."""
        return "loglik"

    @property
    def converged(self) -> bool:
        """Whether a maximum was found."""
        return self._parts.maximum.converged

    @property
    def method(self) -> str:
        """Name of the method: ``"mle"``."""
        return "mle"

    @property
    def cov_type(self) -> str:
        """Kind of covariance: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``."""
        return self._parts.cov_type

    def lr_test(self, other: LikelihoodResults) -> WaldResults:
        """Likelihood ratio test against a smaller model of the same rows.

        A model without a cured fraction is none, since it lies at the end of what the fraction may be; splines of other
        knots are not nested either, and a Weibull baseline, a spline without inner knots, is a case of all of them.

        Parameters
        ----------
        other : fit by maximum likelihood
            Nested in this one: with fewer free parameters, on the same response.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df``, pure numbers.

        Raises
        ------
        SpecError
            If ``other`` has no fewer parameters, a higher likelihood, or other rows, or a fit holds no training rows.

        References
        ----------
        S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing
        composite hypotheses, *Annals of Mathematical Statistics* 9, 60-62.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> larger = tg.fit("durable ~ age + quant | censor(0)", data)
        >>> larger.lr_test(tg.fit("durable ~ age | censor(0)", data))
        chi2(1) = 0.5817, p = 0.4457
        """
        return likelihood_ratio(self, other)

    def _criterion(self) -> tuple[str, str]:
        return "Log likelihood", f"{self.llf:.2f}"
