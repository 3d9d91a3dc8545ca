"""What one may ask a fitted regression: predictions on every scale, residuals, effects, influence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.results.curves import RowCurves
from tobitgp.results.joint import JointQuestions
from tobitgp.results.lazy import is_dask, predict_lazily
from tobitgp.results.prediction import Predictions
from tobitgp.results.regression.draws import EstimateDraws, draw_estimates
from tobitgp.results.regression.law import EstimateLaw
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.regression.survival import times_of_rows
from tobitgp.results.rows import Asked
from tobitgp.results.scores import Scored, estimate_likelihoods
from tobitgp.results.survival import TimeRows
from tobitgp.results.trust.k_hat import KHat, regression_k_hat
from tobitgp.results.trust.validation import Approximated, Rng
from tobitgp.typing import Array, Frame


class TobitQuestions(JointQuestions, Predictions, RowCurves, Approximated):
    """The questions that :class:`TobitResults` answers."""

    _parts: TobitParts

    @property
    def parts(self) -> TobitParts:
        """Specification, training data and maximum, as the rooms below hand them on."""
        return self._parts

    @property
    def _joint(self) -> EstimateLaw:
        return EstimateLaw(self._parts)

    def _times_of(self, asked: Asked) -> TimeRows:
        return times_of_rows(self._parts, asked)

    def _likelihoods(self, rows: Scored) -> Array:
        return estimate_likelihoods(self._parts, rows)

    def _draws(self, draws: int, rng: Rng, question: str) -> EstimateDraws:
        return draw_estimates(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return regression_k_hat(draw_estimates(self._parts, draws, rng, question="k_hat()"))

    def predict(
        self,
        new: Frame | None = None,
        what: str | None = None,
        *,
        interval: float | None = None,
        se: bool = False,
        q: float | Sequence[float] | None = None,
        below: float | Sequence[float] | None = None,
        above: float | Sequence[float] | None = None,
        exclude: str | Sequence[str] = (),
    ) -> pd.Series[float] | pd.DataFrame:
        """Predict at new rows, or at those of the training data.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns right of ``~`` (and of ``sigma=``), for ``"observed"`` those of the limits and the window,
            and for ``"conditional"`` those of response, censoring and window; by default the training data. Of a dask
            DataFrame the result is one, too: its partitions are predicted when they are asked for.
        what : {"latent", "median", "uncensored", "observed", "conditional", "quantile", "prob", "terms"}
            As in :meth:`tobitgp.GPResults.predict`, at the estimates: ``"quantile"`` and ``"prob"`` are plug-in values.
        interval : float, optional
            Probability of an interval of the quantity, normal on its own scale: that of logarithms for positive
            predictions of log-time families, of logits for probabilities.
        se : bool
            Give standard errors, by the delta method from the covariance of all parameters.
        q, below, above : float or list of float, optional
            With ``"quantile"`` orders between 0 and 1, with ``"prob"`` limits on the scale of the response.
        exclude : str or list of str
            Terms to set to zero. New data need no columns that only they use.

        Returns
        -------
        Series or DataFrame
            As :meth:`tobitgp.GPResults.predict` gives it: on the scale of the response, ``"latent"`` and ``"terms"`` on
            that of the linear predictor.

        Raises
        ------
        SpecError
            For an unknown ``what``, arguments that do not go with it, or ``"observed"`` where the limits are unknown.
        DataError, UnseenLevelError
            If the new data cannot be used.

        References
        ----------
        The table of scales above (REG12), (REG12) and (REG13) of the theory pages; standard errors by the delta method
        from (REG8).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> res.predict({"age": [30.0, 60.0]}, what="observed", interval=0.95).round(2)
           mean    se  lower  upper
        0  2.67  2.29    0.0   7.15
        1  0.80  0.79    0.0   2.36
        """
        from tobitgp.results.regression.predict import predict_tobit

        if is_dask(new):
            options = {"what": what, "interval": interval, "se": se, "q": q, "below": below, "above": above}
            return predict_lazily(self._without_rows, new, {**options, "exclude": exclude})
        return predict_tobit(
            self._parts, new, what, interval=interval, se=se, q=q, below=below, above=above, exclude=exclude
        )

    def _without_rows(self) -> Any:
        return type(self)(replace(self._parts, training=None, covariates=None))  # type: ignore[call-arg]

    def residuals(self, kind: str = "quantile", *, rng: int | np.random.Generator | None = None) -> pd.Series[float]:
        """Residuals of the training rows, censored ones included.

        Parameters
        ----------
        kind : {"quantile", "response", "pearson", "deviance", "cox_snell", "martingale"}
            Normal scores at a random point of a censored row's mass; response, or its mean given what was seen, less
            the mean of y*; the same in standard deviations of the noise; signed roots of deviances, as survreg has
            them; cumulative hazards, the expected one given the row where it is censored; events less their expected
            number.
        rng : int or numpy Generator, optional
            For the random part; None is deterministic.

        Returns
        -------
        Series
            A row for each row of the training data, NaN where it was dropped; ``"response"`` is in the units of the
            response, the others have none.

        Raises
        ------
        SpecError
            For another ``kind``, or if the fit holds no training rows.

        References
        ----------
        .. [1] P. K. Dunn and G. K. Smyth, "Randomized quantile residuals", JCGS 5 (1996).
        .. [2] D. R. Cox and E. J. Snell, "A general definition of residuals", JRSS B 30 (1968).
        .. [3] T. M. Therneau, P. M. Grambsch and T. R. Fleming, "Martingale-based residuals for survival models",
           Biometrika 77 (1990).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> res.residuals("deviance").head(2).round(2)
        0   -0.76
        1    0.59
        Name: deviance, dtype: float64
        """
        from tobitgp.results.regression.residuals import tobit_residuals

        return tobit_residuals(self._parts, kind, rng)

    def marginal_effects(
        self,
        what: str = "latent",
        at: Any = "overall",
        *,
        below: float | None = None,
        above: float | None = None,
        alpha: float = 0.05,
    ) -> pd.DataFrame:
        """How predictions change with each column: derivatives for numbers, differences from the base for factors.

        Standard errors are those of the delta method. An effect is in the units of the prediction per unit of the
        column.

        Parameters
        ----------
        what : {"latent", "observed", "prob"}
            Of eta, of the mean of what is shown (clipped, in the window), or of the probability of lying below or above
            a limit.
        at : {"overall", "mean", "design"}, or DataFrame
            Average over the training rows with their weights, at the mean of numbers and the most frequent level of
            factors, at the mean of all columns of the design, dummies among them, or over the rows of a DataFrame. At
            ``"design"`` a level has the derivative in its dummy, which is what R's ``censReg::margEff`` prints.
        below, above : float, optional
            With ``"prob"``, one of the two, on the scale of the response.
        alpha : float
            Probability left out of the intervals.

        Returns
        -------
        DataFrame
            Index ``(variable, contrast)``; columns ``dydx, se, z, p, lower, upper``; ``"observed"`` adds McDonald and
            Moffitt's ``intensive`` and ``extensive``, as in :meth:`tobitgp.GPResults.marginal_effects`.

        Raises
        ------
        SpecError
            For another ``what``, one that lacks its limits or has limits it does not take, an ``alpha`` outside (0, 1),
            or if the fit holds no training rows to average over.
        DataError, UnseenLevelError
            If the rows of ``at`` cannot be used.

        References
        ----------
        .. [1] J. F. McDonald and R. A. Moffitt, "The uses of Tobit analysis", REStat 62 (1980); (REG14) and (REG15) of
           the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
        >>> res.marginal_effects("observed", at="mean")["dydx"].round(4).tolist()
        [-0.0459, -0.0162]
        """
        from tobitgp.results.regression.effects import tobit_effects

        return tobit_effects(self._parts, what, at, below=below, above=above, alpha=alpha)

    get_margeff = marginal_effects

    def influence(self, *, scaled: bool = False) -> pd.DataFrame:
        """Approximate change of every estimate when a row is added: one Newton step.

        Parameters
        ----------
        scaled : bool
            In standard errors (dfbetas).

        Returns
        -------
        DataFrame
            In the user's units: a row for each row of the training data, a column for each parameter, sigma and df as
            logarithms.

        Raises
        ------
        SpecError
            If the fit holds no training rows.

        References
        ----------
        .. [1] T. M. Therneau and P. M. Grambsch, *Modeling Survival Data* (2000), section 7.1; (REG9) of the theory
           pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> res.influence(scaled=True)["age"].abs().nlargest(2).round(2)
        16    0.39
        5     0.20
        Name: age, dtype: float64
        """
        from tobitgp.results.regression.residuals import influence_table

        return influence_table(self._parts, scaled=scaled)
