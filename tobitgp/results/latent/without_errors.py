"""Parameters that maximise a bound, of which no standard errors are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tobitgp.diagnostics.residual_tests import Finding, RawTest, plain
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.predict import check_alpha
from tobitgp.results.results import Results
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.results.why_not import unavailable
from tobitgp.typing import Array

NOTHING = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


def undefined(name: str) -> Any:
    """An attribute that gives the reason why there is none."""

    def say_why(results: Any) -> Any:
        """Raise an error: parameters maximise a bound, (LAT5), and have no standard errors in any unit."""
        raise unavailable(results, f"res.{name}", name)

    return property(say_why)


class WithoutErrors(Results):
    """Results whose parameters have no standard errors."""

    _columns = ()

    bse, tvalues, pvalues = (undefined(name) for name in ("bse", "tvalues", "pvalues"))
    conf_int, cov_params = (undefined(name) for name in ("conf_int", "cov_params"))
    t_test, wald_test, anova = (undefined(name) for name in ("t_test", "wald_test", "anova"))

    def _values(self) -> Array:
        """Values of the parameters."""
        return np.asarray(self._parts.parameters)

    def _testable(self, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
        return NOTHING, ()

    @property
    def params(self) -> pd.Series[float]:
        """Parameters at the maximum of the bound, by name.

        ``Intercept[y]``, ``sd[y]`` of its process and ``sigma[y]`` of its noise have the units of the response;
        ``lengthscale[1]`` has those of the coordinates.
        """
        return pd.Series(self._values(), index=self._names)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The same without intercepts, as a dict, in the units of ``params``."""
        return {str(name): float(x) for name, x in self.params.items() if not str(name).startswith("Intercept")}

    @property
    def df_model(self) -> float:
        """Number of parameters of (LAT5), without the coordinates."""
        return float(len(self._names))

    @property
    def llf(self) -> float:
        """NaN in nats: no likelihood is maximised; ``log_evidence`` is (LAT5) of the theory pages."""
        return float("nan")

    def summary_frame(self, alpha: float = 0.05, kind: CovKind | None = None) -> pd.DataFrame:
        """All parameters in one table; see :meth:`tobitgp.GPResults.summary_frame`.

        Only the column ``coef`` has numbers. The others are NaN: parameters maximise the bound and have no standard
        errors.

        Parameters
        ----------
        alpha, kind
            As of :meth:`tobitgp.GPResults.summary_frame`; without effect.

        Returns
        -------
        DataFrame
            A row for each parameter, in the units of ``params``.

        Raises
        ------
        SpecError
            If ``alpha`` is outside (0, 1).

        References
        ----------
        (LAT5) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.summary_frame()["coef"].round(1).head(2).to_dict()
        {'Intercept[y1]': 0.4, 'Intercept[y2]': -0.2}
        """
        check_alpha(alpha)
        frame = pd.DataFrame(np.nan, index=self._names, columns=list(FRAME_COLUMNS))
        return frame.assign(coef=self.params)

    _parameter_frame = summary_frame


class BoundMaximum(WithoutErrors):
    """Results of the search for the maximum of a bound from several starts."""

    _sought: ClassVar[str]  # what is searched for beside the parameters

    @property
    def converged(self) -> bool:
        """Whether the search for the best start ended at a maximum."""
        return bool(self._parts.converged)

    @property
    def method(self) -> str:
        """Name of the method that fitted: ``"vi"``."""
        return "vi"

    @property
    def elbo(self) -> float:
        """Lower bound on the log evidence in nats, (LAT5) or (LAT16) of the theory pages; in units of the data."""
        return float(self._parts.elbo)

    @property
    def log_evidence(self) -> float:
        """The same as ``elbo``, in nats: (LAT5) or (LAT16) of the theory pages."""
        return float(self._parts.elbo)

    @property
    def fit_history(self) -> pd.DataFrame:
        """A row for each start, the best first: its bound in nats, iterations, and whether it converged."""
        parts = self._parts
        return pd.DataFrame(
            {"elbo": parts.elbos, "iterations": parts.iterations.astype(int), "converged": parts.ended.astype(bool)},
            index=pd.RangeIndex(1, parts.starts + 1, name="start"),
        )

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        parts = self._parts
        gap = float(parts.elbos[0] - parts.elbos[1]) if parts.starts > 1 else float("nan")
        words = f"the second-best start ended {gap:.1f} nats lower" if parts.starts > 1 else "there was only one start"
        yield plain("starts", words, value=gap, good=True)

    @property
    def _search_message(self) -> str:
        steps = int(self._parts.iterations[0])
        if self.converged:
            return "converged"
        return (
            f"The search for {self._sought} did not converge in {steps} iterations. Raise max_iter= of tg.VI(), e.g. "
            f"to {4 * steps}."
        )
