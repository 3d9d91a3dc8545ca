"""A regression after a power transformation as its users see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.kinds.boxcox import BoxCoxParts, in_own_unit
from tobitgp.kinds.likelihood import scale_estimates
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.parameter_estimates import Transformed
from tobitgp.results.rows import Asked, ask
from tobitgp.results.summary_notes import (
    DISTRIBUTION,
    ParameterGroup,
    likelihood_words,
    model_title,
    power_notes,
    row_notes,
    scale_formula,
)
from tobitgp.results.words import Words
from tobitgp.typing import Array

WHATS = ("median", "latent", "uncensored", "observed", "conditional", "quantile", "prob", "sigma", "terms")
NO_RATIO = (
    "After a power transformation no ratio of hazards or times is the same in all rows. Use tg.contrast() to "
    "compare averages."
)
_DRAWS, _WIDE = 2000, 0.5  # of a quantile's standard error, in quantiles


def mass_beyond(self: Any) -> float:
    """Probability of a response of 0, or with negative powers of one without a finite value, averaged over rows.

    The average is over the training rows; NaN if the fit holds none.

    Returns
    -------
    float

    References
    ----------
    (BC4) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), family=tg.BoxCox(power=0.5))
    >>> round(res.mass_beyond(), 2)
    0.63
    """
    if self.parts.training is None:
        return float("nan")
    y = self._posterior(ask(self.parts), bands=False).new
    zero = np.zeros(len(self.parts.rows.response.weight))
    log_p = y.logcdf(zero) if self.power > 0.0 else y.logsf(zero + np.inf)
    return float(np.average(np.exp(log_p), weights=self.parts.rows.response.weight))


def statistics_from_zero(
    posterior: Estimates, question: Question, level: float | None, *, se: bool
) -> dict[str, Array]:
    """Statistics of a question, of quantiles near 0 by draws of the parameters: their logarithm is far from normal."""
    out = posterior.statistics(question, level, se=se)
    if not question.response or len(out) == 1:
        return out
    zero = np.flatnonzero(~(out["se"] <= _WIDE * out["estimate"]) & np.isfinite(out["estimate"]))
    zero = zero[np.isfinite(posterior.covariance[zero]).all(axis=(1, 2))]
    if not len(zero):
        return out
    rows = posterior.take(zero)
    value, vectors = np.linalg.eigh(rows.covariance)
    root = vectors * np.sqrt(np.maximum(value, 0.0))[:, None, :]
    moves = root @ np.random.default_rng(0).standard_normal((root.shape[2], _DRAWS))
    with np.errstate(all="ignore"):  # of draws far from the estimates
        moved = rows.at(tuple(at[:, None] + moves[:, r] for r, at in enumerate(rows.x)))
        found = question.take(zero).number(moved)
        out["se"][zero] = found.std(axis=1)
    if level is not None:
        out["lower"][zero], out["upper"][zero] = draw_quantiles(found, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        out["lower"] = np.minimum(out["lower"], out["estimate"])
    return out


class BoxCoxResults(LikelihoodResults):
    r"""A regression whose response is normal after a power transformation, by ``family="boxcox"``.

    :math:`(y^\lambda - 1) / \lambda` is normal around the linear part with standard deviation sigma; the power lambda
    is a parameter, ``power``, and the covariance of all parameters includes it. Coefficients and sigma are on the
    transformed scale. Predictions are on the scale of the response, except for ``what="latent"`` and ``"terms"``. The
    probability of the normal distribution below :math:`-1/\lambda` is the probability of y = 0.

    Parameters
    ----------
    parts : BoxCoxParts
        Specification, rows and maximum.

    References
    ----------
    (BC1) to (BC4) of the theory pages. G. E. P. Box and D. R. Cox (1964), An analysis of transformations, *JRSS B* 26,
    211-252.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), family=tg.BoxCox(power=0.5))
    >>> res.params.round(2)
    Intercept    3.20
    age         -0.14
    sigma        4.64
    power        0.50
    dtype: float64
    """

    _kind = "Box-Cox"
    _parts: BoxCoxParts

    _by_restricted_means = True
    _location_words = "mean"
    _whats_of = " for family='boxcox'"
    _whats = WHATS
    _drawn = ("uncensored", "conditional")
    _has_ratios = False
    _no_ratio = NO_RATIO
    _knows_null = True

    @property
    def _reported(self) -> BoxCoxParts:
        return in_own_unit(self._parts)

    @property
    def _written_maximum(self) -> BoxCoxParts:
        return replace(self._reported, log_unit=0.0)

    @cached_property
    def _rest(self) -> Transformed:
        found = scale_estimates(self._reported)
        fixed = found.fixed.copy()
        fixed[-1] = self._parts.power_given
        return replace(found, fixed=fixed)

    @property
    def power(self) -> float:
        """The power that was estimated, or given, a dimensionless number: (BC1) of the theory pages."""
        return self._parts.power

    mass_beyond = mass_beyond

    @property
    def fit_history(self) -> pd.DataFrame:
        """Profile of the log likelihood at the powers that the search met: columns ``power, log_likelihood``."""
        assert self._parts.profile is not None
        return pd.DataFrame(self._parts.profile, columns=["power", "log_likelihood"])

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        posterior = self._posterior(asked, bands=se or level is not None)
        return [statistics_from_zero(posterior, question, level, se=se) for question in questions]

    def _words(self, alpha: float, kind: Any = None) -> Words:
        p, k = len(self._columns), len(self._names)
        q = p + len(self._parts.scale_columns)
        return likelihood_words(
            self,
            alpha,
            model_title(self, positive=True),
            [],
            [
                ParameterGroup("Coefficients", range(p)),
                ParameterGroup("log(sigma)", range(p, q)),
                ParameterGroup(DISTRIBUTION, range(q, k), tested=False),
            ],
            [*row_notes(self), *power_notes(self, [self.power])],
            formulas=scale_formula(self),
            errors="from the observed information, with the power estimated",
        )
