"""Processes after a power transformation as their users see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.numerics.sampling import Rng
from tobitgp.results.joint import JointPosterior
from tobitgp.results.likelihood.boxcox_results import NO_RATIO, WHATS, mass_beyond
from tobitgp.results.predict import check_probability
from tobitgp.results.prediction import predict_table
from tobitgp.results.process.power_draws import JointPowers, PowerDraws, draw_powers
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.words import Words
from tobitgp.typing import Frame

_ON_SCALE_OF_F = ("latent", "sigma", "terms")


class BoxCoxGPResults(GPResults):
    r"""A process, or a regression with priors, whose response is normal after a power transformation.

    Made by :func:`tobitgp.fit` with ``family="boxcox"``. Predictions average over the powers and other
    hyper-parameters, unless the method has ``hyper="maximize"``. Coefficients, hyper-parameters, terms and f are those
    of the transformed response at the power with the highest evidence.

    Parameters
    ----------
    parts : PowerProcessParts
        Fits at the powers, and their weights.

    References
    ----------
    (BC5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("tobin")
    >>> res = tg.fit("durable ~ age | censor(0)", data, family=tg.BoxCox(power=0.5), method=tg.EP(hyper="maximize"))
    >>> round(res.log_evidence, 2), res.power
    (-37.39, 0.5)
    """

    _kind = "Box-Cox process"
    _about_latent = False
    _parts: PowerProcessParts

    def __init__(self, parts: PowerProcessParts):
        self._parts = parts

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def power(self) -> float:
        """The power with the highest evidence, or that was given, a dimensionless number: (BC1) of the theory pages."""
        return float(self._parts.powers[self._parts.best])

    @property
    def fit_history(self) -> pd.DataFrame:
        """Powers that predictions average over: columns ``power, weight, log_evidence``."""
        parts = self._parts
        evidence = np.array([fit.fitted.evidence for fit in parts.fits]) + parts.jacobians
        return pd.DataFrame({"power": parts.powers, "weight": parts.weights, "log_evidence": evidence})

    def power_interval(self, interval: float = 0.95) -> pd.Series[float]:
        """The power with its standard deviation and a normal interval.

        Parameters
        ----------
        interval : float
            Probability of the interval.

        Returns
        -------
        Series
            ``estimate, se, lower, upper``, dimensionless numbers.

        Raises
        ------
        SpecError
            For an interval outside (0, 1).

        References
        ----------
        (BC5) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> res = tg.fit("durable ~ age | censor(0)", data, family=tg.BoxCox(power=0.5), method=tg.EP(hyper="maximize"))
        >>> res.power_interval().tolist()
        [0.5, 0.0, 0.5, 0.5]
        """
        reach = float(ndtri(0.5 + 0.5 * check_probability("interval", interval))) * self._parts.se
        value = self.power, self._parts.se, self.power - reach, self.power + reach
        return pd.Series(value, index=["estimate", "se", "lower", "upper"])

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Values at the power with the highest evidence, by name, on the transformed scale; and the power."""
        return self._at_best.hyperparameters | {"power": self.power}

    @property
    def log_evidence(self) -> float:
        """Estimate of the highest log evidence, in nats, for the response as written: (BC2)."""
        return self._at_best.log_evidence + float(self._parts.jacobians[self._parts.best])

    @property
    def elbo(self) -> float:
        """Evidence lower bound in nats of the posterior at the power with the highest evidence; (SIT7) with (BC2)."""
        return self._at_best.elbo + float(self._parts.jacobians[self._parts.best])

    @property
    def log_evidence_integrated(self) -> float:
        """Log evidence in nats, hyper-parameters and power integrated out, (BC5); NaN where they were maximised."""
        return self._parts.integrated

    # -- what questions need ------------------------------------------------------------------------------------------

    _whats_of = " for family='boxcox'"
    _whats = WHATS
    _no_ratio = NO_RATIO
    mass_beyond = mass_beyond

    @property
    def _at_best(self) -> GPResults:
        """The fit of the transformed response at the power with the highest evidence."""
        return GPResults.from_parts(self._parts.reported.fit)

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        return predict_table(self._at_best if what in _ON_SCALE_OF_F else self, new, what, **options)

    @property
    def _joint(self) -> JointPosterior:
        return JointPowers(self._parts)

    def _draws(self, draws: int, rng: Rng, question: str) -> PowerDraws:
        return draw_powers(self._parts, draws, rng, question=question)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.process_words import power_words

        return power_words(self, alpha)
