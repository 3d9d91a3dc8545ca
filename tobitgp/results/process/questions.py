"""What one may ask a fitted process: predictions on every scale, terms, residuals, effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.results.curves import RowCurves
from tobitgp.results.groups import group_table
from tobitgp.results.joint import JointQuestions
from tobitgp.results.lazy import is_dask, predict_lazily
from tobitgp.results.prediction import Predictions
from tobitgp.results.process.draws import ProcessDraws, draw_process
from tobitgp.results.process.law import ProcessLaw
from tobitgp.results.process.margins import effects_table
from tobitgp.results.process.residuals import residual_table
from tobitgp.results.process.survival import times_of_rows
from tobitgp.results.rows import Asked
from tobitgp.results.scores import Scored, process_likelihoods
from tobitgp.results.survival import TimeRows
from tobitgp.results.tables import predict_table
from tobitgp.results.trust.k_hat import KHat, process_k_hat
from tobitgp.results.trust.validation import Approximated, Rng
from tobitgp.results.views import Parts
from tobitgp.typing import Array, Frame


class Questions(JointQuestions, Predictions, RowCurves, Approximated):
    """The questions that :class:`GPResults` answers."""

    _parts: Parts

    @property
    def _joint(self) -> ProcessLaw:
        return ProcessLaw(self._parts)

    def _times_of(self, asked: Asked) -> TimeRows:
        return times_of_rows(self._parts, asked)

    def _likelihoods(self, rows: Scored) -> Array:
        return process_likelihoods(self._parts, rows)

    def _draws(self, draws: int, rng: Rng, question: str) -> ProcessDraws:
        return draw_process(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return process_k_hat(self._parts, draws, rng)

    def _without_rows(self) -> Any:
        from tobitgp.results.storage.rowless import process_without_rows

        return type(self).from_parts(process_without_rows(self._parts))  # type: ignore[attr-defined]

    @property
    def parts(self) -> Parts:
        """Specification, training data, model and posteriors, as the rooms below hand them on."""
        return self._parts

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
        r"""Predict at new rows, or at those of the training data.

        The posterior of f in a row is a mixture of normals :math:`\sum_j w_j N(m_j, v_j)`, a component with noise
        :math:`\sigma_j` for each design point of the hyper-parameters. A scale is a quantity :math:`g(f, \sigma)`:

        =============  =====================================  ==========================================
        ``what``       value                                  quantity that ``se`` and ``interval`` are of
        =============  =====================================  ==========================================
        "latent"       :math:`E f`                            f
        "median"       median of a new y*                     that of y* given :math:`f, \sigma`
        "uncensored"   :math:`E y^*`                          :math:`E[y^* | f, \sigma]`
        "observed"     :math:`E y`, clipped, in the window    :math:`E[y | f, \sigma]`
        "conditional"  :math:`E y^*`, given what was seen     that given :math:`f, \sigma` too
        "quantile"     quantile of a new y* of order ``q``    that of y* given :math:`f, \sigma`
        "prob"         :math:`P(y^* < below)`, or above       that given :math:`f, \sigma`
        "terms"        mean of each term of f                 the term
        =============  =====================================  ==========================================

        A term is a summand of f. A process beside an intercept is measured from its average over the training rows,
        and the term ``Intercept`` takes that average up, because the data tell only their sum; ``params["Intercept"]``
        is the coefficient of the model as written, whose standard deviation holds the level of the processes too.

        Values average over f, the noise and the hyper-parameters. For log-time families ``"latent"`` and ``"terms"``
        are on the log scale, all others on the scale of the response. ``"conditional"`` is the response itself where
        it was seen, and elsewhere the mean of y* truncated to what is known of it, inside the row's window, under the
        posterior without the row's own word (new rows: under the predictive distribution, given their own columns of
        response, censoring and window). ``"observed"`` is what is shown: y* clipped at the limits and, of a model with
        ``truncate()``, inside its window, :math:`E[y | \mathrm{entry} < y^* < \mathrm{exit}, f, \sigma]` averaged over
        the posterior. Means are infinite or NaN where the noise has none, as Student's with one degree of freedom.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns right of ``~``, for ``"observed"`` those of the limits and the window, and for
            ``"conditional"`` those of response, censoring and window; by default the training data. Of a dask DataFrame
            the result is one, too: its partitions are predicted when they are asked for.
        what : str, optional
            A scale of the table; ``"latent"`` by default.
        interval : float, optional
            Probability of an equal-tailed interval of the quantity, as 0.95: quantiles of the mixture itself, never an
            interval for a new observation.
        se : bool
            Give the quantity's posterior standard deviation.
        q : float or list of float, optional
            Orders of quantiles, between 0 and 1.
        below, above : float or list of float, optional
            Limits on the scale of the response; one of the two.
        exclude : str or list of str
            Terms to set to zero, as ``"gp(x)"``, ``"z"`` or ``"offset"``: a process beside an intercept stands at its
            average over the training rows. New data need no columns that only they use.

        Returns
        -------
        Series or DataFrame
            A Series named after ``what``, or columns ``mean, se[, lower, upper]``, ``lower <= mean <= upper``; the
            index of the data, NaN in rows with missing inputs and in training rows that were dropped. A list in ``q``,
            ``below`` or ``above`` gives a column for each value, with ``se`` or ``interval`` columns
            ``(value, statistic)``. ``"terms"`` always gives columns ``(term, statistic)``, the intercept and all
            offsets together among them: their means add up to ``"latent"``.

        Raises
        ------
        SpecError
            For an unknown ``what``, an interval outside (0, 1), arguments that do not go with it, or ``"observed"``
            where the limits are unknown.
        DataError, UnseenLevelError
            If the new data cannot be used.

        References
        ----------
        (PRE1) to (PRE7) of the theory pages; the posterior without a row's own word is the cavity (EP1), levels of
        terms are those of (FEA10).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
        >>> res.predict({"age": [30.0, 60.0]}, what="observed", interval=0.95).round(2)
           mean    se  lower  upper
        0  2.93  2.05   0.28   7.95
        1  0.94  0.83   0.07   3.17
        >>> res.predict({"age": [30.0, 60.0]}, what="quantile", q=[0.1, 0.9]).round(2)
             0.1   0.9
        0  -6.92  8.76
        1 -10.96  3.81
        >>> res.predict({"age": [30.0]}, what="terms")["age"].round(2)
        statistic  mean
        0         -4.49
        """
        if is_dask(new):
            options = {"what": what, "interval": interval, "se": se, "q": q, "below": below, "above": above}
            return predict_lazily(self._without_rows, new, {**options, "exclude": exclude})
        return predict_table(
            self._parts, new, what, interval=interval, se=se, q=q, below=below, above=above, exclude=exclude
        )

    def residuals(self, kind: str = "quantile", *, rng: int | np.random.Generator | None = None) -> pd.Series[float]:
        """Residuals of the training rows.

        ``"quantile"``: normal scores of the predictive distribution at the response, and at a random point of its mass
        between the ends where a row is censored; standard normal if the model is right, but for the row's own part in
        the posterior. ``"pearson"``: response, or its mean given what was seen, less the predictive mean, over the
        predictive standard deviation, on the log scale for log-time families; NaN where the noise has no variance.
        ``"response"``: response, or its mean given what was seen, less ``predict(what="uncensored")``.
        ``"cox_snell"``: minus the log of the predictive probability of a larger response, at the end of right-censored
        rows, its expectation given the row on left-censored and interval ones. ``"martingale"``: events, none on
        right-censored rows, less that. Truncated rows are judged by what could have been seen of them.

        Parameters
        ----------
        kind : {"quantile", "pearson", "response", "cox_snell", "martingale"}
            ``"response"`` is in the units of the response, the others have none.
        rng : int or numpy Generator, optional
            For the random part; None is deterministic.

        Returns
        -------
        Series
            A row for each row of the training data, NaN where it was dropped.

        Raises
        ------
        SpecError
            For another ``kind``, or if the fit holds no training rows.

        References
        ----------
        .. [1] P. K. Dunn and G. K. Smyth, "Randomized quantile residuals", JCGS 5 (1996).
        .. [2] D. R. Cox and E. J. Snell, "A general definition of residuals", JRSS B 30 (1968).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
        >>> res.residuals("response").head(2).round(2)
        0   -2.35
        1    2.91
        Name: response, dtype: float64
        """
        return residual_table(self._parts, kind, rng)

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

        A column that has a curve for each level by ``by=`` counts as a factor; random intercepts have no effects here,
        but in :meth:`group_effects`, and each row keeps its own.

        Effects are those of ``predict``, averaged over rows. Their standard deviations, p-values and intervals come
        from the posterior, the effect linearised in the weights of the features at every design point; on the latent
        scale nothing is lost by that. An effect is in the units of the prediction per unit of the column.

        Parameters
        ----------
        what : {"latent", "observed", "prob"}
            Of f, of the mean of what is shown (clipped, in the window), or of the probability of lying below or above a
            limit.
        at : {"overall", "mean"}, or DataFrame
            Average over the training rows with their weights, at the mean of numbers and the most frequent level of
            factors and groups, or over the rows of a DataFrame.
        below, above : float, optional
            With ``"prob"``, one of the two, on the scale of the response.
        alpha : float
            Probability left out of the intervals.

        Returns
        -------
        DataFrame
            Index ``(variable, contrast)``, the contrast ``"dy/dx"`` for numbers; columns
            ``dydx, se, z, p, lower, upper``. ``"observed"`` adds ``intensive``, the change of values between the limits
            times their probability, and ``extensive``, the rest, through the probabilities.

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
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
        >>> res.marginal_effects("observed").loc[("age", "dy/dx")].round(3)
        dydx        -0.055
        se           0.074
        z           -0.742
        p            0.458
        lower       -0.199
        upper        0.090
        intensive   -0.018
        extensive   -0.036
        Name: (age, dy/dx), dtype: float64
        """
        return effects_table(self._parts, what, at, below=below, above=above, alpha=alpha)

    get_margeff = marginal_effects

    def group_effects(self, term: str | None = None, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random intercepts, a row for each group of the training data.

        They are those of ``predict(what="terms")``: posterior means, which lie nearer to zero than the means of the
        groups' rows, the more so the fewer rows a group has. On the scale of the response, of its logarithm for
        log-time families.

        Parameters
        ----------
        term : str, optional
            A random intercept, as ``"re(hospital)"``; all without.
        interval : float or None
            Probability of the equal-tailed interval; None for none.

        Returns
        -------
        DataFrame
            Index ``(term, level)``, columns ``mean, se, lower, upper``.

        Raises
        ------
        SpecError
            If the model has no such random intercepts, or for an interval outside (0, 1).

        References
        ----------
        (FEA4) and (PRE2) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"y": [1.0, 1.4, 3.1, 2.9, 2.2, 1.8], "ward": ["a", "a", "b", "b", "c", "c"]}
        >>> res = tg.fit("y ~ re(ward)", data, fixed={"sd(re(ward))": 1.0, "sigma": 0.3})
        >>> res.group_effects("re(ward)").round(2).reset_index()
               term level  mean   se  lower  upper
        0  re(ward)     a -0.83  0.6  -2.01   0.35
        1  re(ward)     b  0.89  0.6  -0.28   2.07
        2  re(ward)     c -0.06  0.6  -1.24   1.11
        """
        return group_table(self._parts, term, interval)
