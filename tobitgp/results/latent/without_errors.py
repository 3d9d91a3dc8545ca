"""Parameters that maximise a bound, of which no standard errors are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.results.fit import Fit
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.predict import check_alpha
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.results.why_not import unavailable
from tobitgp.typing import Array

NOTHING = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


def _undefined(name: str) -> Any:
    """An attribute that gives the reason why there is none."""

    def say_why(results: Any) -> Any:
        """Raise an error: parameters maximise a bound, (LAT5), and have no standard errors in any unit."""
        raise unavailable(results, f"res.{name}", name)

    return property(say_why)


class WithoutErrors(Fit):
    """What a fit states of such parameters."""

    @property
    def _values(self) -> Array:
        """Values of the parameters, in the order of their names."""
        raise NotImplementedError

    @property
    def _columns(self) -> Sequence[str]:
        return ()

    def _testable(self, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
        return NOTHING, ()

    @property
    def params(self) -> pd.Series[float]:
        """Parameters at the maximum of the bound, by name.

        ``Intercept[y]``, ``sd[y]`` of its process and ``sigma[y]`` of its noise have the units of the response;
        ``lengthscale[1]`` has those of the coordinates.
        """
        return pd.Series(self._values, index=self._names)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The same without intercepts, as a dict, in the units of ``params``."""
        return {str(name): float(x) for name, x in self.params.items() if not str(name).startswith("Intercept")}

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
        return frame.assign(coef=self._values)

    bse = _undefined("bse")
    tvalues = _undefined("tvalues")
    pvalues = _undefined("pvalues")
    conf_int = _undefined("conf_int")
    cov_params = _undefined("cov_params")
    t_test = _undefined("t_test")
    wald_test = _undefined("wald_test")
    anova = _undefined("anova")

    @property
    def df_model(self) -> float:
        """Number of parameters of (LAT5), without the coordinates."""
        return float(len(self._names))

    @property
    def llf(self) -> float:
        """NaN in nats: no likelihood is maximised; ``log_evidence`` is (LAT5) of the theory pages."""
        return float("nan")
