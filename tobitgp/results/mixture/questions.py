"""What one may ask a fitted mixture: its distribution, predictions, draws, residuals, scores and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.mixture import Predictive
from tobitgp.numerics.draws import generator, random_points
from tobitgp.results.curves import Curves, Excluded
from tobitgp.results.lazy import is_dask, predict_lazily
from tobitgp.results.mixture.draws import ComponentDraws, draw_components, draw_rows
from tobitgp.results.mixture.estimates import MixtureInference
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, training_ends
from tobitgp.results.predict import check_flag
from tobitgp.results.prediction import Predictions
from tobitgp.results.rows import ask
from tobitgp.results.scores import Scores
from tobitgp.results.survival import TimeRows
from tobitgp.results.trust.posterior_draws import read_draws, training_rows
from tobitgp.results.trust.validation import Rng, Validation
from tobitgp.typing import Array, Frame

_NO_ORDER = "A mixture predicts the same for every row, so that there is no order to score."


DRAWN = ("uncensored", "observed", "conditional")


class MixtureQuestions(MixtureInference, Curves, Predictions, Validation):
    """The questions that :class:`MixtureResults` answers."""

    _parts: MixtureParts
    _curve_label = "mixture"

    @property
    def parts(self) -> MixtureParts:
        """Specification, training data and fit, as the rooms below hand them on."""
        return self._parts

    def _draws(self, draws: int, rng: Rng, question: str) -> ComponentDraws:
        training_rows(self._parts, question)
        return draw_components(self._with_covariance, draws, rng, question=question)

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

        No column tells one row from another, so that predictions are the same in all of them, but for
        ``"conditional"`` and ``"component"``, which use what is known of each, and ``"observed"`` under limits that
        are columns.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns of response and censoring for ``"conditional"`` and ``"component"``, and those of the
            limits for ``"observed"``; by default the training data. Of a dask DataFrame the result is one, too.
        what : {"uncensored", "median", "observed", "conditional", "component", "quantile", "prob"}
            ``"uncensored"``, the default: mean of the response before censoring, infinite or NaN, with a warning,
            where a component has none. ``"median"``. ``"observed"``: mean after clipping at the limits, at the
            estimates. ``"conditional"``: mean given what was seen of each row. ``"component"``: probability of each
            component given what was seen, columns 1 to K; the weights without the response. ``"quantile"`` and
            ``"prob"`` (strictly below, or above) of the predictive distribution.
        interval : float, optional
            Probability of an interval of the quantity, normal on its own scale: of logarithms for positive families,
            of logits for probabilities.
        se : bool
            Give standard errors, by the delta method from ``cov_params()``.
        q, below, above : float or list of float, optional
            With ``"quantile"`` orders between 0 and 1, with ``"prob"`` limits on the scale of the response.
        exclude : sequence of str
            Empty: a mixture has no terms.

        Returns
        -------
        Series or DataFrame
            As :meth:`tobitgp.GPResults.predict` gives it, on the scale of the response or of probabilities.

        Raises
        ------
        SpecError
            For an unknown ``what``, arguments that do not go with it, lacking columns of what was seen, or
            ``"observed"`` where the limits are unknown.
        DataError
            If the new data cannot be used.

        Warns
        -----
        ApproximationWarning
            If there is no finite mean.

        References
        ----------
        Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs.
        34 and 46-47; (MIX16) of the theory pages for ``"conditional"``.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("lung")
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", data, family="weibull")
        >>> res.predict({"time": [200, 200], "event": [1, 0]}, "conditional").round(1)
        0    200.0
        1    506.2
        Name: conditional, dtype: float64
        >>> res.predict(data.head(2), "prob", above=365, interval=0.95).round(3)
            mean     se  lower  upper
        0  0.434  0.029  0.376  0.491
        1  0.434  0.029  0.376  0.491
        """
        from tobitgp.results.mixture.predict import predict_mixture

        if is_dask(new):
            options = {"what": what, "interval": interval, "se": se, "q": q, "below": below, "above": above}
            return predict_lazily(self._without_rows, new, {**options, "exclude": exclude})
        parts = self._with_covariance if check_flag("se", se) or interval is not None else self._parts
        return predict_mixture(
            parts, new, what, interval=interval, se=se, q=q, below=below, above=above, exclude=exclude
        )

    def _without_rows(self) -> Any:
        return type(self)(replace(self._with_covariance, training=None, covariates=None))  # type: ignore[call-arg]

    def sample(
        self,
        new: Frame | None = None,
        draws: int = 100,
        *,
        what: str = "uncensored",
        rng: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Draw rows, all of a draw together: uncertainty about the parameters is in every draw.

        A draw takes the parameters first, with the covariance of ``cov_params()``: weights from beta distributions,
        rates of counts from gamma ones, all else from normal ones on unbounded scales. ``predictive.rvs`` draws single
        values from the exact predictive distribution. Of components that are not needed ``cov_params()`` is a first
        approximation, so that draws vary a little more than the predictive distribution; fewer components mend that.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            By default the training data.
        draws : int
            How many.
        what : {"uncensored", "observed", "conditional"}
            New responses, or responses clipped at the limits. ``"conditional"``: what the rows' own responses may have
            been, as multiple imputation needs them: a value that was seen, and for a censored row its component given
            what is known, then a value of that component there; new rows need the columns of response and censoring.
        rng : int or numpy Generator, optional
            None is deterministic.

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each draw.

        Raises
        ------
        SpecError
            For another ``what``, more draws than can be held, limits that are unknown, lacking columns of what was
            seen, or parameters that the rows do not determine.
        DataError
            If what was seen of new rows is impossible under the family.

        References
        ----------
        (LR2) and (LR6) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.sample(draws=400, rng=1).shape
        (228, 400)
        >>> times = res.sample({"time": [200, 200], "event": [1, 0]}, draws=400, what="conditional", rng=1)
        >>> print((times.loc[0] == 200).all(), (times.loc[1] > 200).all())
        True True
        """
        if not isinstance(what, str) or what not in DRAWN:
            raise SpecError(f"what={what!r} is not drawn of a mixture; choose one of {', '.join(map(repr, DRAWN))}.")
        asked = ask(self._parts, new)
        size = read_draws(draws, rows=len(asked.index))
        limits = asked.limits() if what == "observed" else None
        ends = None
        if what == "conditional":
            from tobitgp.results.mixture.predict import ends_of_rows

            lower, upper, known = ends_of_rows(self._parts, new, asked)
            asked, ends = asked.among(known), (lower, upper)
        stream = generator(rng)
        y = draw_rows(
            self._parts.fit, covariance_of(self._with_covariance), int(asked.usable.sum()), size, stream, ends
        )
        if limits is not None:
            y = np.clip(y, limits[0][:, None], limits[1][:, None])
        return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(size, name="draw"))

    def residuals(self, kind: str = "quantile", *, rng: int | np.random.Generator | None = None) -> pd.Series[float]:
        """Residuals of the training rows, censored ones included, under the predictive distribution.

        Parameters
        ----------
        kind : {"quantile", "cox_snell", "martingale", "response"}
            As in :meth:`tobitgp.TobitResults.residuals`; counts stand at a random point of their mass, too.
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

        Warns
        -----
        ApproximationWarning
            If ``"response"`` has no finite mean to be taken from.

        References
        ----------
        P. K. Dunn and G. K. Smyth (1996), Randomized quantile residuals, *Journal of
        Computational and Graphical Statistics* 5, 236-244.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.residuals().head(2).round(2)
        0   -0.04
        1    0.45
        Name: quantile, dtype: float64
        """
        from tobitgp.results.mixture.predict import residuals

        asked = ask(self._parts)
        uniform = random_points(rng, len(asked.usable))[asked.usable]
        lower, upper, _ = training_ends(self._parts)
        values = residuals(self._parts.fit, kind, lower, upper, uniform)
        return pd.Series(asked.spread(values), index=asked.index, name=kind)

    @property
    def predictive(self) -> Predictive:
        """Distribution of a new value, as scipy's: ``pdf, logpdf, cdf, sf, hazard, ppf, rvs, mean, var``.

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

    def _time_rows(self, df: Frame | None, exclude: Excluded, *, bands: bool) -> TimeRows:
        from tobitgp.results.mixture.predict import times_of_rows

        return times_of_rows(self._with_covariance if bands else self._parts, df, exclude)

    def _training_ends(self) -> tuple[Array, Array, Array]:
        return training_ends(self._parts)

    def _concordance(self) -> float:
        raise SpecError(_NO_ORDER)

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        from tobitgp.results.mixture.predict import ends_of_rows

        if scoring_method == "concordance_index":
            raise SpecError(_NO_ORDER)
        asked = ask(self._parts, df)
        lower, upper, among = ends_of_rows(self._parts, df, asked, "score()")
        if not len(lower):
            raise SpecError("score() needs rows of which something is known, and these data have none.")
        known = asked.usable.copy()
        known[known] = among
        at_once = np.full(len(lower), -np.inf)
        return Scores(known, lower, upper, at_once, np.asarray(self.predictive.log_mass(lower, upper)))
