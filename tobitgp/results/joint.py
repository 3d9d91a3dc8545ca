"""What is asked of several rows together: the joint law of f, and draws from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.numerics.draws import generator
from tobitgp.results.rows import Asked, ask
from tobitgp.results.trust.posterior_draws import read_draws
from tobitgp.typing import Array, Frame

DRAWN = ("uncensored", "latent", "observed")


class Posterior(NamedTuple):
    """Mean and covariance of f in rows together: (PRE1) and (PRE2) of the theory pages, or (REG8).

    Attributes
    ----------
    mean : Series, (n,)
        In the units of the response, on the log scale for log-time families.
    covariance : DataFrame, (n, n)
        Its square. Both are labelled by rows.
    """

    mean: pd.Series[float]
    covariance: pd.DataFrame


class JointLaw(Protocol):
    """What a fit knows of f in n rows together, in the user's units: the log scale for log-time families."""

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of f."""
        ...

    def draw(self, asked: Asked, draws: int, *, noise: bool, rng: np.random.Generator) -> Array:
        """Draws (n, draws) of f, or of f plus noise."""
        ...


class JointQuestions:
    """What every kind of results answers about rows together."""

    _parts: Any

    @property
    def _joint(self) -> JointLaw:
        raise NotImplementedError

    def posterior(self, new: Frame | None = None, *, exclude: str | Sequence[str] = ()) -> Posterior:
        """Mean and covariance of f in all rows together.

        Of a process by the law of total covariance over its hyper-parameters. Of a regression, whose f is the linear
        predictor, from the covariance of its estimates (``cov_params``).

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            By default the training data.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        mean : Series, (n,)
            ``predict(what="latent")``: on the scale of the response, of its logarithm for log-time families.
        covariance : DataFrame, (n, n)
            In squared units of the mean; its diagonal is the square of ``predict(se=True)["se"]``. NaN in rows that
            cannot be predicted.

        Raises
        ------
        SpecError
            If the fit holds no training rows and ``new`` is not given.
        DataError, UnseenLevelError
            If the new data cannot be used.

        References
        ----------
        (PRE1) and (PRE2) of the theory pages for processes, the covariance (REG8) of the estimates for regressions.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> mean, covariance = res.posterior({"age": [30.0, 60.0]})
        >>> covariance.round(2)
               0     1
        0  12.20 -6.26
        1  -6.26  7.95
        """
        asked = ask(self._parts, new, exclude)
        mean, V = self._joint.moments(asked)
        covariance = np.full((len(asked.usable),) * 2, np.nan)
        covariance[np.ix_(asked.usable, asked.usable)] = V
        index = asked.index
        return Posterior(
            pd.Series(asked.spread(mean), index=index, name="latent"),
            pd.DataFrame(covariance, index=index, columns=index),
        )

    def sample(
        self,
        new: Frame | None = None,
        draws: int = 100,
        *,
        what: str = "uncensored",
        exclude: str | Sequence[str] = (),
        rng: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Draw rows, all of a draw together: uncertainty about the model is in every draw.

        A draw takes the parameters first, of a process from its posterior, of a regression (coefficients, scale and
        degrees of freedom) from the normal law of its estimates; new responses add noise of the family.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            By default the training data.
        draws : int
            How many.
        what : {"uncensored", "latent", "observed"}
            New responses y*, f, or responses clipped at the limits.
        exclude : str or list of str
            Terms to set to zero.
        rng : int or numpy Generator, optional
            None is deterministic.

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each draw.

        Raises
        ------
        SpecError
            For another ``what``, more draws than can be held, limits that are unknown, or a regression without a
            maximum.
        DataError, UnseenLevelError
            If the new data cannot be used.

        References
        ----------
        (PRE1) of the theory pages at points drawn by (HYP6) for processes, the covariance (REG8) for regressions.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> y = res.sample({"age": [30.0, 60.0]}, draws=4000, what="observed", rng=1)
        >>> y.shape, bool((y >= 0).all(axis=None))
        ((2, 4000), True)
        """
        if what not in DRAWN:
            raise SpecError(f"what={what!r} is not drawn; choose one of {', '.join(map(repr, DRAWN))}.")
        asked = ask(self._parts, new, exclude)
        size = read_draws(draws, rows=len(asked.index))
        limits = asked.limits() if what == "observed" else None
        stream = generator(rng)
        y = self._joint.draw(asked, size, noise=what != "latent", rng=stream)
        if what != "latent" and self._parts.family.log_time:
            with np.errstate(over="ignore"):
                y = np.exp(y)
        if limits is not None:
            y = np.clip(y, limits[0][:, None], limits[1][:, None])
        return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(size, name="draw"))
