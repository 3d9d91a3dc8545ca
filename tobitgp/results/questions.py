"""What one may ask a fit: predictions on every scale, terms, draws."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tobitgp.results.tables import predict_table
from tobitgp.results.views import Parts
from tobitgp.typing import Frame


class Questions:
    """The questions that :class:`GPResults` answers."""

    _parts: Parts

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

        ============  =====================================  ==========================================
        ``what``      value                                  quantity that ``se`` and ``interval`` are of
        ============  =====================================  ==========================================
        "latent"      :math:`E f`                            f
        "median"      median of a new y*                     f; exp(f) for log-time families
        "uncensored"  :math:`E y^*`                          :math:`E[y^* | f, \sigma]`
        "observed"    :math:`E y`, clipped at the limits     :math:`E[y | f, \sigma]`
        "quantile"    quantile of a new y* of order ``q``    that of y* given :math:`f, \sigma`
        "prob"        :math:`P(y^* < below)`, or above       that given :math:`f, \sigma`
        "terms"       mean of each term of f                 the term
        ============  =====================================  ==========================================

        Values average over f, the noise and the hyper-parameters. For log-time families ``"latent"`` and ``"terms"``
        are on the log scale, all others on the scale of the response.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns right of ``~``, and for ``"observed"`` those of the limits; by default the training data.
        what : str, optional
            A scale of the table; ``"latent"`` by default.
        interval : float, optional
            Probability of an equal-tailed interval of the quantity, as 0.95: quantiles of the mixture itself, never an
            interval for a new observation.
        se : bool
            Give the quantity's posterior standard deviation.
        q : float or list of float, optional
            Orders of quantiles.
        below, above : float or list of float, optional
            Limits on the scale of the response; one of the two.
        exclude : str or list of str
            Terms to set to zero, as ``"gp(x)"``, ``"z"`` or ``"offset"``. New data need no columns that only they use.

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

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.predict({"age": [30.0, 60.0]}, what="observed", interval=0.95).round(2)
           mean    se  lower  upper
        0  2.92  2.05   0.28   7.94
        1  0.94  0.84   0.07   3.17
        >>> res.predict({"age": [30.0, 60.0]}, what="quantile", q=[0.1, 0.9]).round(2)
             0.1   0.9
        0  -6.92  8.75
        1 -10.94  3.82
        >>> res.predict({"age": [30.0]}, what="terms")["age"].round(2)
        statistic  mean
        0         -4.48
        """
        return predict_table(
            self._parts, new, what, interval=interval, se=se, q=q, below=below, above=above, exclude=exclude
        )
