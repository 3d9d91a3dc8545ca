"""Survival questions that every kind of results answers, in lifelines' words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.beside import read_weights
from tobitgp.data.facts import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.results.lazy import is_dask
from tobitgp.results.rows import Asked, ask
from tobitgp.results.scores import Scored, Scores, check_score, concordance, read_scored
from tobitgp.results.survival import (
    TimeRows,
    curve_table,
    percentile_series,
    read_times,
    refuse_dask,
    restricted_table,
    seen_times,
)
from tobitgp.results.trust.calibration import Calibration
from tobitgp.typing import Array, Frame

Excluded = str | Sequence[str]
_AVERAGED = 1_000_000  # rows times times that an average holds at once


class Curves(Calibration):
    """Survival, hazard, percentiles and scores.

    A kind of results says which rows a question is about (`_time_rows`), what is known of the training rows, and what
    new rows score.
    """

    _parts: Any
    _curve_label = "fit"

    @property
    def _timed(self) -> Any:
        """The results themselves, as pictures see them."""
        return self

    def _time_rows(self, df: Frame | None, exclude: Excluded, *, bands: bool) -> TimeRows:
        raise NotImplementedError

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        raise NotImplementedError

    def _training_ends(self) -> tuple[Array, Array, Array]:
        """What is known of the training rows, and their weights."""
        response = self._parts.rows.response
        return response.lower, response.upper, response.weight

    def predict_survival_function(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: Excluded = (),
    ) -> pd.DataFrame:
        r"""Probability that the response before censoring lies above each time.

        Of a process and a mixture that of the predictive law, in which f, the noise and the hyper-parameters are
        integrated over their posterior; of a regression that at the estimates. Rows that entered late are given the
        law of those who enter at once.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give curves for, by default those of the training data. The rows of a mixture are all the same;
            without ``df`` it gives one curve, called 0.
        times : list of float, optional
            On the scale of the response as written; the distinct training durations by default.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response, a; ``times`` are then remaining times, and survival
            is :math:`S(a + t) / S(a)`.
        interval : float, optional
            Probability of pointwise bands, which say how well the curve given the parameters is known. Of a process
            they hold quantiles over the posterior of :math:`S(t | f, \sigma)`, or of
            :math:`S(a + t | f, \sigma) / S(a | f, \sigma)`; of a regression and a mixture they are normal in the
            logit of survival, by the delta method.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        DataFrame
            Probabilities: times in the index, a column for each row, NaN where inputs are missing; with ``interval``
            the columns are ``(row, mean|median|lower|upper)``. The mean is that of a new response; the median has the
            band around it, and the mean may lie outside.

        Raises
        ------
        SpecError
            For times that are no finite numbers, an interval outside (0, 1), a dask DataFrame, or lacking training
            rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        (SUR1) and (SUR3) of the theory pages; bands of processes (SUR8) and (SUR10), of regressions and mixtures
        (SUR7).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_survival_function(lung.head(2), [100, 365], conditional_after=[0, 300]).round(3)
                   0      1
        100.0  0.803  0.673
        365.0  0.295  0.202
        >>> mixture = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="weibull")
        >>> mixture.predict_survival_function(times=[100, 365], interval=0.95)[0].round(3)
        statistic   mean  median  lower  upper
        100.0      0.856   0.855  0.814  0.889
        365.0      0.434   0.432  0.376  0.491
        """
        return self._curve("survival", df, times, conditional_after, interval, exclude)

    def predict_cumulative_hazard(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: Excluded = (),
    ) -> pd.DataFrame:
        r"""Cumulative hazard :math:`\Lambda(t) = -\log S(t)` of the response before censoring, S its survival function.

        With ``conditional_after`` a it is :math:`\Lambda(a + t) - \Lambda(a)`.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give curves for, by default those of the training data.
        times : list of float, optional
            On the scale of the response as written; the distinct training durations by default.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response, from which the times count.
        interval : float, optional
            Probability of pointwise bands: quantiles over the posterior of what the cumulative hazard is given the
            parameters; those by the delta method are normal in its logarithm.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        DataFrame
            In no units: times in the index, a column for each row, NaN where inputs are missing; with ``interval`` the
            columns are ``(row, mean|median|lower|upper)``, as of :meth:`predict_survival_function`.

        Raises
        ------
        SpecError
            For times that are no finite numbers, an interval outside (0, 1), a dask DataFrame, or lacking training
            rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        (SUR2) and (SUR3) of the theory pages; bands (SUR7), (SUR8) and (SUR10).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_cumulative_hazard(lung.head(2), [100, 365]).round(3)
                   0      1
        100.0  0.219  0.199
        365.0  1.220  1.107
        """
        return self._curve("cumulative_hazard", df, times, conditional_after, interval, exclude)

    def predict_hazard(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: Excluded = (),
    ) -> pd.DataFrame:
        """Hazard :math:`p(t) / S(t)` of the response before censoring: its density over survival.

        Of a new response whose parameters are uncertain it weights them by survival, so that at late times it may lie
        below the band, which says how well the hazard given the parameters is known.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give curves for, by default those of the training data.
        times : list of float, optional
            On the scale of the response as written; the distinct training durations by default.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response, from which the times count.
        interval : float, optional
            Probability of pointwise bands: quantiles over the posterior of the hazard given the parameters, every draw
            of which counts the same at all times; those by the delta method are normal in the logarithm.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        DataFrame
            Per unit of time: times in the index, a column for each row, NaN where inputs are missing; with ``interval``
            the columns are ``(row, mean|median|lower|upper)``: the mean is the hazard of a new response, the median has
            the band around it.

        Raises
        ------
        SpecError
            For times that are no finite numbers, an interval outside (0, 1), a dask DataFrame, or lacking training
            rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        (SUR2) of the theory pages; bands of processes (SUR10), of regressions and mixtures (SUR7).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_hazard(lung.head(2), [100, 365], interval=0.95)[0].round(4)
        statistic    mean  median   lower   upper
        100.0      0.0029  0.0029  0.0022  0.0039
        365.0      0.0044  0.0044  0.0033  0.0059
        """
        return self._curve("hazard", df, times, conditional_after, interval, exclude)

    def predict_percentile(
        self, df: Frame | None = None, *, p: float = 0.5, conditional_after: Any = None, exclude: Excluded = ()
    ) -> pd.Series[float]:
        """Times at which survival falls to ``p``, as lifelines has it: ``p=0.9`` is the time that 90% survive.

        Without ``conditional_after`` that is ``predict(what="quantile", q=1 - p)``, which has bands.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give times for, by default those of the training data.
        p : float
            Survival at the time that is asked for, between 0 and 1.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response, from which the times count.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        Series
            A time for each row, on the scale of the response.

        Raises
        ------
        SpecError
            For ``p`` outside 0 to 1, times that are not finite, a dask DataFrame, or lacking training rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        (SUR4) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_percentile(lung.head(2), p=0.9).round(1)
        0    57.6
        1    62.0
        Name: 0.9, dtype: float64
        """
        refuse_dask(df, "predict_percentile", 'predict(what="quantile", q=...)')
        return percentile_series(self._rows(df, exclude), p, conditional_after)

    def predict_median(
        self, df: Frame | None = None, *, conditional_after: Any = None, exclude: Excluded = ()
    ) -> pd.Series[float]:
        """Median survival time: the time at which survival falls to one half.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give medians for, by default those of the training data.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response; then the median of the time that remains.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        Series
            A median for each row, on the scale of the response.

        Raises
        ------
        SpecError
            For times that are not finite, a dask DataFrame, or lacking training rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        (SUR4) of the theory pages with p = 1/2.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_median(lung.head(2), conditional_after=100).round(1)
        0    193.1
        1    210.2
        Name: 0.5, dtype: float64
        """
        return self.predict_percentile(df, p=0.5, conditional_after=conditional_after, exclude=exclude)

    def predict_expectation(self, df: Frame | None = None, *, exclude: Excluded = ()) -> pd.Series[float]:
        """Mean survival time, ``predict(what="uncensored")``.

        It rests on the tail beyond the last time seen; :meth:`predict_restricted_mean` does not.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give means for, by default those of the training data.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        Series
            A mean for each row, on the scale of the response; infinite or NaN where the law has none.

        Raises
        ------
        SpecError
            For terms that are not in the model, a dask DataFrame, or lacking training rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        The mean of the law (SUR1) of the theory pages; of a regression that of its table of scales, above (REG12).

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_expectation(lung.head(2)).round(1)
        0    289.0
        1    311.1
        Name: expectation, dtype: float64
        """
        refuse_dask(df, "predict_expectation", 'predict(what="uncensored")')
        rows = self._rows(df, exclude)
        return pd.Series(rows.spread(rows.law.mean()), index=rows.index, name="expectation")

    def predict_restricted_mean(
        self,
        df: Frame | None = None,
        t: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: Excluded = (),
    ) -> pd.Series[float] | pd.DataFrame:
        r"""Restricted mean survival time :math:`\int_0^t S(u)\,du`: the mean of a time that is cut at t.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            By default the training data.
        t : float or list of float
            Positive, on the scale of the response.
        conditional_after : float, or one for each row (a Series by its labels), optional
            Time survived already, on the scale of the response, a; then :math:`\int_0^t S(a + u)\,du / S(a)`, which
            has no bands.
        interval : float, optional
            Probability of bands, as of :meth:`predict_survival_function`.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        Series or DataFrame
            A value for each row, on the scale of the response; of a list of times a column for each, with bands
            ``(time, statistic)``.

        Raises
        ------
        SpecError
            For lacking or bad ``t``, an interval outside (0, 1) or beside ``conditional_after``, a dask DataFrame, or
            lacking training rows.
        DataError, UnseenLevelError
            If the rows cannot be used.

        References
        ----------
        Royston and Parmar (2013), Restricted mean survival time, *BMC Medical Research Methodology* 13:152.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> res.predict_restricted_mean(lung.head(2), 365, interval=0.95).round(1)
            mean  median  lower  upper
        0  230.2   230.2  205.3  258.0
        1  239.0   239.0  219.5  260.3
        """
        refuse_dask(df, "predict_restricted_mean", "predict()")
        if t is None:
            raise SpecError("predict_restricted_mean() needs t=, a time or a list of times, as t=365.")
        rows = self._rows(df, exclude, bands=interval is not None)
        return restricted_table(rows, t, conditional_after, interval)

    @cached_property
    def concordance_index_(self) -> float:
        """Concordance of the predicted medians with the training rows, censored ones of every kind included.

        A share of pairs: 0.5 is chance, 1 a perfect order; see `tobitgp.metrics.concordance_index` and (MET2)
        of the theory pages. Frequency weights count, and of rows that entered late only pairs that were followed at
        one time. A mixture predicts the same for every row, and raises SpecError.
        """
        return self._concordance()

    def _concordance(self) -> float:
        entry = self._parts.rows.response.entry
        return concordance(self._rows(None).law.percentile(0.5, None), *self._training_ends(), entry)

    def score(self, df: Frame, scoring_method: str = "log_likelihood", *, weights: Any = None) -> float:
        """Score new rows, as lifelines' fitters do.

        Parameters
        ----------
        df : DataFrame or dict of columns
            With the columns of the model, response, censoring and truncation included.
        scoring_method : {"log_likelihood", "concordance_index"}
            Mean over the rows of the log predictive density of exact ones and the log probability of what was seen of
            the others, in the units of the response; or the concordance of predicted medians with the rows. A mixture
            predicts the same for every row and has no concordance.
        weights : str, (n,) array or Series, optional
            Frequency weights of the rows, or the column that holds them.

        Returns
        -------
        float
            In nats a row, or a share of pairs.

        Raises
        ------
        SpecError
            For another method, lacking columns, or rows of which nothing is known.
        DataError
            If the rows or weights cannot be used.

        References
        ----------
        Minus (MET12) of the theory pages with the predictive law in place of the normal one; (MET2) for the
        concordance.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung[::2], family="weibull")
        >>> round(res.score(lung[1::2]), 3)
        -5.045
        """
        method = check_score(scoring_method)
        if is_dask(df):
            raise SpecError("score() takes rows in memory: give df.compute().")
        found = self._scores(df, method)
        weight = read_weights(weights, df, len(found.known))[found.known]
        if method == "concordance_index":
            return concordance(found.values, found.lower, found.upper, weight, found.entry)
        return float(np.average(found.values, weights=weight))

    def plot_survival(
        self,
        ax: Any = None,
        *,
        df: Frame | None = None,
        times: Any = None,
        interval: float | None = 0.95,
        center: str = "median",
    ) -> Any:
        """Survival over time.

        Without ``df`` that of a mixture with its band, or the average over all training rows by their weights, beside
        Kaplan and Meier's estimate where rows are right-censored (with its 95% band where they entered late, since few
        are at risk early); with ``df`` a curve and its band for each row.

        Parameters
        ----------
        ax : matplotlib axes, optional
            To draw on; new ones without.
        df : DataFrame or dict of columns, optional
            Up to eight rows.
        times : list of float, optional
            On the scale of the response; by default up to the last time seen.
        interval : float or None
            Probability of the bands.
        center : {"median", "mean"}
            The curve drawn with a band: that of the band's own quantities, or the predictive one, which may leave the
            band. Without ``interval`` the predictive one.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If ``center`` is another word, ``ax`` is no matplotlib axes, there are more than eight rows, or the fit
            holds no training rows and no ``df`` is given.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> ax = res.plot_survival(df=lung.head(2))
        >>> len(ax.lines), ax.get_ylabel()
        (2, 'survival')
        """
        from tobitgp.report.survival import plot_survival

        grid = None if times is None else read_times(times)
        ends, label = self._ends_or_none(), self._curve_label
        return plot_survival(self._timed, ends, label, ax, df=df, times=grid, interval=interval, center=center)

    def plot_hazard(
        self,
        ax: Any = None,
        *,
        df: Frame | None = None,
        times: Any = None,
        interval: float | None = 0.95,
        center: str = "median",
    ) -> Any:
        """Hazard over time.

        Without ``df`` that of a mixture with its band, or the average over all training rows by their weights and
        their survival to each time; with ``df`` a curve and its band for each row.

        Parameters
        ----------
        ax : matplotlib axes, optional
            To draw on; new ones without.
        df : DataFrame or dict of columns, optional
            Up to eight rows.
        times : list of float, optional
            On the scale of the response; by default up to the last time seen.
        interval : float or None
            Probability of the bands.
        center : {"median", "mean"}
            The curve drawn with a band: that of the band's own quantities, or the predictive one, which may leave the
            band. Without ``interval`` the predictive one.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If ``center`` is another word, ``ax`` is no matplotlib axes, there are more than eight rows, or the fit
            holds no training rows and no ``df`` is given.

        Examples
        --------
        >>> import tobitgp as tg
        >>> lung = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
        >>> ax = res.plot_hazard(df=lung.head(2))
        >>> len(ax.lines), ax.get_ylabel()
        (2, 'hazard')
        """
        from tobitgp.report.survival import plot_hazard

        grid = None if times is None else read_times(times)
        ends, label = self._ends_or_none(), self._curve_label
        return plot_hazard(self._timed, ends, label, ax, df=df, times=grid, interval=interval, center=center)

    def _rows(self, df: Frame | None, exclude: Excluded = (), *, bands: bool = False) -> TimeRows:
        if df is None and self._parts.training is None and self._curve_label != "mixture":
            raise SpecError(f"{NO_ROWS}: give df=...")
        return self._time_rows(df, exclude, bands=bands)

    def _curve(
        self, of: str, df: Frame | None, times: Any, after: Any, interval: float | None, exclude: Excluded
    ) -> pd.DataFrame:
        refuse_dask(df, f"predict_{of}{'_function' * (of == 'survival')}", 'predict(what="prob", above=[...])')
        if times is not None:
            grid = read_times(times)
        elif self._parts.training is None:
            raise SpecError(f"{NO_ROWS}: give times=...")
        else:
            grid = seen_times(*self._training_ends()[:2])
        return curve_table(self._rows(df, exclude, bands=interval is not None), of, grid, after, interval)

    def _ends_or_none(self) -> tuple[Array, Array, Array, Array] | None:
        """Ends, weights and entries of the training rows, where they are held."""
        if self._parts.training is None:
            return None
        return *self._training_ends(), self._parts.rows.response.entry

    def _average_curve(self, of: str, grid: Array) -> Array:
        """A curve of ``CURVES``, averaged over the training rows by their weights, hazards by survival too; (m,)."""
        law, weight = self._rows(None).law, self._parts.rows.response.weight
        out = [np.zeros(0)]
        # A few times of all rows in one go, since rows are not all alike.
        each = max(_AVERAGED // len(weight), 1)
        for times in np.array_split(grid, -(-len(grid) // each)):
            alive = law.curve("survival", times, None, None)["mean"]
            if of == "survival":
                out.append(weight @ alive / weight.sum())
            else:
                hazard = law.curve(of, times, None, None)["mean"]
                out.append(weight @ (alive * hazard) / (weight @ alive))
        return np.concatenate(out)


class RowCurves(Curves):
    """Survival of a fit in which every row has a law of its own.

    A kind of results says what that law is (`_times_of`), and how likely new rows are (`_likelihoods`).
    """

    def _times_of(self, asked: Asked) -> TimeRows:
        raise NotImplementedError

    def _likelihoods(self, rows: Scored) -> Array:
        """Log likelihoods (m,)."""
        raise NotImplementedError

    def _time_rows(self, df: Frame | None, exclude: Excluded, *, bands: bool) -> TimeRows:
        return self._times_of(ask(self._parts, df, exclude))

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        rows = read_scored(self._parts, df)
        if scoring_method == "log_likelihood":
            values = self._likelihoods(rows)
        else:
            values = self._times_of(rows.asked).law.percentile(0.5, None)
        seen = rows.response
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, values)
