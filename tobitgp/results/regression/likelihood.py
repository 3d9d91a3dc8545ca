"""What every maximum of a likelihood says of itself."""

from __future__ import annotations

from functools import cached_property

from tobitgp.results.estimates import Linear, Transformed
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

    def _criterion(self) -> tuple[str, str]:
        return "Log likelihood", f"{self.llf:.2f}"
