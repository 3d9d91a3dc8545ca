"""What one may ask a fitted mixture: predictions, draws, residuals, the fit of new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.numerics.draws import generator, random_points
from tobitgp.results.mixture.curves import MixtureCurves
from tobitgp.results.mixture.draws import ComponentDraws, draw_components, draw_rows
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, training_ends
from tobitgp.results.predict import check_flag
from tobitgp.results.rows import ask
from tobitgp.results.trust.posterior_draws import read_draws, training_rows
from tobitgp.results.trust.validation import Rng
from tobitgp.typing import Frame

DRAWN = ("uncensored", "observed", "conditional")


class MixtureQuestions(MixtureCurves):
    """The questions that :class:`MixtureResults` answers."""

    _parts: MixtureParts

    def _draws(self, draws: int, rng: Rng, question: str) -> ComponentDraws:
        training_rows(self._parts, question)
        return draw_components(self._settled, draws, rng, question=question)

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        from tobitgp.results.mixture.predict import predict_mixture

        parts = self._settled if check_flag("se", options["se"]) or options["interval"] is not None else self._parts
        return predict_mixture(parts, new, what, **options)

    def _without_rows(self) -> Any:
        return type(self)(replace(self._settled, training=None, covariates=None))  # type: ignore[call-arg]

    def sample(
        self,
        new: Frame | None = None,
        draws: int = 100,
        *,
        what: str = "uncensored",
        rng: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Draw rows, all of a draw together: uncertainty about the parameters is in every draw.

        A draw takes the parameters first, with the covariance of ``cov_params()``: weights from beta laws, rates of
        counts from gamma laws, all else from normal laws on unbounded scales. ``predictive.rvs`` draws single values
        from the exact predictive law. Of components that are not needed ``cov_params()`` is a first approximation, so
        that draws may spread a little further than the predictive law; fewer components mend that.

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
        y = draw_rows(self._parts.fit, covariance_of(self._settled), int(asked.usable.sum()), size, stream, ends)
        if limits is not None:
            y = np.clip(y, limits[0][:, None], limits[1][:, None])
        return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(size, name="draw"))

    def _residuals(self, kind: str, rng: Rng) -> pd.Series[float]:
        from tobitgp.results.mixture.residuals import residuals

        asked = ask(self._parts)
        uniform = random_points(rng, len(asked.usable))[asked.usable]
        lower, upper, _ = training_ends(self._parts)
        values = residuals(self._parts.fit, kind, lower, upper, uniform)
        return pd.Series(asked.spread(values), index=asked.index, name=kind)
