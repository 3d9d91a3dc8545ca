"""The predictive law of a mixture, and its survival."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.mixture import Predictive
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, errors_in_words, training_ends
from tobitgp.results.rows import ask
from tobitgp.results.scores import NO_ORDER, Scores
from tobitgp.results.survival import TimeRows
from tobitgp.typing import Array, Frame


class MixtureCurves:
    """The law of a new value, and its survival."""

    _parts: MixtureParts

    @property
    def predictive(self) -> Predictive:
        """Law of a new value, as scipy's frozen distributions: ``pdf, logpdf, cdf, sf, hazard, ppf, rvs, mean, var``.

        Exact: parameters are integrated over their posterior, which makes components Student's t, Lomax, Burr (at the
        estimated shape) or negative binomial; by maximum likelihood components are at their estimates.

        References
        ----------
        Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
        eqs. 34 and 46-47.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> print(res.predictive.sf([100.0, 365.0]).round(3))
        [0.856 0.434]
        """
        return self._parts.fit.predictive()

    @property
    def _settled(self) -> MixtureParts:
        """Parts that hold their covariance, which takes some passes over the rows; says once what has no errors."""
        if self._parts.covariance is None:
            V = covariance_of(self._parts)
            self._parts = replace(self._parts, covariance=V)
            for note in errors_in_words(self._parts.fit, V):
                warnings.warn(note, BoundaryWarning, stacklevel=user_level())
        return self._parts

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        from tobitgp.results.mixture.survival import times_of_rows

        return times_of_rows(self._settled if bands else self._parts, df, exclude)

    def _training_ends(self) -> tuple[Array, Array, Array]:
        return training_ends(self._parts)

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        from tobitgp.results.mixture.predict import ends_of_rows

        if scoring_method == "concordance_index":
            raise SpecError(NO_ORDER)
        asked = ask(self._parts, df)
        lower, upper, among = ends_of_rows(self._parts, df, asked, "score()")
        if not len(lower):
            raise SpecError("score() needs rows of which something is known, and these data have none.")
        known = asked.usable.copy()
        known[known] = among
        at_once = np.full(len(lower), -np.inf)
        return Scores(known, lower, upper, at_once, np.asarray(self.predictive.log_mass(lower, upper)))
