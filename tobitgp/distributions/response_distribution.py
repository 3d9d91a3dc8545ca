"""Distributions of the response in rows, as recorded or without limits, with the method names of scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tobitgp.distributions.distribution_arguments import broadcast, documented, read_numbers, read_size
from tobitgp.distributions.shown_rows import ShownRows
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator, open_uniform
from tobitgp.typing import Array, BoolArray, IntArray


class ResponseDistribution:
    """Predicted distributions of the response, one for each row, with the method names of scipy.

    ``res.get_distribution(new, what)`` returns them. Values and quantile levels of shape (n,) belong to the n rows. To
    evaluate the same m values in every row, pass shape (1, m): results then have shape (n, m). Rows without a
    prediction give NaN. Where a limit, zero or infinity has a probability, `pdf` and `logpdf` return that probability.

    Parameters
    ----------
    rows : ShownRows
        Distributions, limits and windows of the rows that are predicted.
    usable : (n,) array of bool
        Which of the n rows are predicted.

    References
    ----------
    Karlova, Kabra, de Souza and Paige (2024), Variational inference with censored Gaussian process regressors,
    eqs. 13 to 16.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> spending = res.get_distribution({"age": [30.0, 60.0]}, what="observed")
    >>> spending
    ResponseDistribution(2 rows)
    >>> spending.pdf(0.0).round(3)
    array([0.43 , 0.749])
    >>> spending.cdf([[0.0, 5.0, 10.0]]).round(3)
    array([[0.43 , 0.795, 0.966],
           [0.749, 0.953, 0.996]])
    """

    __slots__ = ("_rows", "_usable")

    def __init__(self, rows: ShownRows, usable: BoolArray) -> None:
        self._rows, self._usable = rows, usable

    def __repr__(self) -> str:
        return f"ResponseDistribution({len(self)} rows)"

    def __len__(self) -> int:
        return len(self._usable)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n,)``: the number of rows."""
        return (len(self),)

    # -- tails --------------------------------------------------------------------------------------------------------

    @documented("value")
    def pdf(self, x: ArrayLike) -> Array:
        """Density at x per unit of the response; for limits and counts, the probability of x."""
        return np.exp(self.logpdf(x))

    @documented("value")
    def logpdf(self, x: ArrayLike) -> Array:
        """Log of `pdf` in nats, -inf outside the support."""
        return self._at("x", x, ShownRows.log_density)

    @documented("value")
    def pmf(self, x: ArrayLike) -> Array:
        """Probability of the single value x, for limits and counts; 0 where there is a density."""
        return np.exp(self.logpmf(x))

    @documented("value")
    def logpmf(self, x: ArrayLike) -> Array:
        """Log of `pmf` in nats."""
        return self._at("x", x, ShownRows.log_atom)

    @documented("value")
    def cdf(self, x: ArrayLike) -> Array:
        """Probability of at most x, right-continuous."""
        return np.exp(self.logcdf(x))

    @documented("value")
    def sf(self, x: ArrayLike) -> Array:
        """Probability of more than x, with relative precision."""
        return np.exp(self.logsf(x))

    @documented("value")
    def logcdf(self, x: ArrayLike) -> Array:
        """Log of `cdf` in nats."""
        return self._at("x", x, lambda rows, at: rows.log_tails(at)[0])

    @documented("value")
    def logsf(self, x: ArrayLike) -> Array:
        """Log of `sf` in nats."""
        return self._at("x", x, lambda rows, at: rows.log_tails(at)[1])

    # -- quantiles and draws ------------------------------------------------------------------------------------------

    @documented("order")
    def ppf(self, q: ArrayLike) -> Array:
        """Quantile in the units of the response: the smallest value whose `cdf` is at least q."""
        return self._at("q", q, lambda rows, at: rows.quantile(*_logs(at)))

    @documented("order")
    def isf(self, q: ArrayLike) -> Array:
        """Value that is exceeded with probability q: ``ppf(1 - q)`` without the rounding of ``1 - q``."""
        return self._at("q", q, lambda rows, at: rows.quantile(*_logs(at)[::-1]))

    def median(self) -> Array:
        """Medians (n,) in the units of the response."""
        return self.ppf(0.5)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends, (n,) each, of equal-tailed intervals of a new value, in the units of the response."""
        level = read_numbers("confidence", confidence, SpecError)
        if level.ndim or not 0.0 <= level <= 1.0:
            raise SpecError(f"confidence={confidence!r}: must be one number between 0 and 1, e.g. confidence=0.95.")
        tail = 0.5 * (1.0 - float(level))
        return self.ppf(tail), self.isf(tail)

    def support(self) -> tuple[Array, Array]:
        """Lowest and largest possible values, (n,) each, in the units of the response."""
        return self._spread(self._rows.first), self._spread(self._rows.last)

    def rvs(
        self, size: int | tuple[int, ...] | None = None, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Random values of each row, in the units of the response.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the sample, whose last axis is the n rows, e.g. ``(1000, n)``; None is one value per row.
        random_state : None, int or numpy.random.Generator
            None means a fixed seed.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> draws = res.get_distribution({"age": [30.0, 60.0]}, what="observed").rvs((1000, 2), random_state=1)
        >>> draws.shape, float(draws.min())
        ((1000, 2), 0.0)
        """
        shape = read_size(size, self.shape)
        stream = generator(random_state)
        u = np.moveaxis(open_uniform(stream, shape), -1, 0).reshape(len(self), -1)[self._usable]
        rows = self._rows.take(np.s_[:, None])
        y = rows.quantile(*_logs(u)) if rows.windowed else rows.y.independent(u)
        out = self._spread(np.clip(y, rows.first, rows.last))
        return np.moveaxis(out.reshape(len(self), *shape[:-1]), 0, -1)

    # -- moments ------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        """Means (n,) in the units of the response; infinite or NaN where there are none."""
        rows = self._rows
        free = bool((np.isneginf(rows.lower) & np.isposinf(rows.upper)).all()) and not rows.windowed
        with np.errstate(all="ignore"):
            return self._spread(rows.y.mean() if free else rows.y.observed_mean(*rows.ends))

    def var(self) -> Array:
        """Variances (n,) in squared units of the response; infinite or NaN where there are none."""
        mean = self.mean()[self._usable]
        known = np.where(np.isfinite(mean), mean, 0.0)
        found = self._rows.mean_of(lambda rows, y: np.square(y - known[rows][:, None]))
        return self._spread(np.where(np.isfinite(mean), found, np.nan))

    def std(self) -> Array:
        """Standard deviations (n,) in the units of the response."""
        return np.sqrt(self.var())

    # -- information --------------------------------------------------------------------------------------------------

    def entropy(self) -> Array:
        """Entropies (n,) in nats, ``-E log pdf(y)``: of densities per unit of the response, and of atoms.

        References
        ----------
        Karlova, Kabra, de Souza and Paige (2024), eqs. 14 and 15.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.get_distribution({"age": [30.0, 60.0]}, what="observed").entropy().round(3)
        array([2.054, 1.083])
        """
        return self._spread(self._cross(self._rows))

    def cross_entropy(self, other: ResponseDistribution) -> Array:
        """Cross-entropies (n,) in nats, ``-E log other.pdf(y)``.

        Parameters
        ----------
        other : ResponseDistribution
            Distributions of as many rows, or of one row.

        Returns
        -------
        array
            Shape (n,); infinite where values of this distribution are impossible under the other.

        Raises
        ------
        SpecError
            If ``other`` is not a ResponseDistribution, has another number of rows, or only one of the two is of counts.

        References
        ----------
        Karlova, Kabra, de Souza and Paige (2024), eqs. 14, 15 and 22.
        """
        return self._spread(self._cross(self._beside(other)))

    def kl(self, other: ResponseDistribution) -> Array:
        """Kullback-Leibler divergences (n,) to other distributions in nats, ``E log(pdf(y) / other.pdf(y))``.

        The argument and its errors are those of :meth:`cross_entropy`.

        References
        ----------
        Karlova, Kabra, de Souza and Paige (2024), eq. 16, with the sign that makes it positive.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> new = {"age": [30.0, 60.0]}
        >>> tobit = tg.fit("durable ~ age | censor(0)", data).get_distribution(new, what="observed")
        >>> constant = tg.fit("durable ~ 1 | censor(0)", data).get_distribution(new, what="observed")
        >>> bool((tobit.kl(constant) > 0.0).all())
        True
        """
        found = self._cross(self._beside(other), less_own=True)
        return self._spread(np.maximum(found, 0.0))

    def _cross(self, other: ShownRows, *, less_own: bool = False) -> Array:
        """``-E log`` of the other's density, less the own with ``less_own``, of the rows that are predicted."""
        own = self._rows
        with np.errstate(all="ignore"):
            possible = own.possible_under(other)

        def surprise(rows: IntArray, y: Array) -> Array:
            at = (rows, None)
            own_log = own.take(at).log_density(y) if less_own else 0.0
            return np.asarray(own_log - other.take(at).log_density(y))

        return np.where(possible, own.mean_of(surprise), np.inf)

    def _beside(self, other: Any) -> ShownRows:
        """Rows of another distribution for those that are predicted."""
        if not isinstance(other, ResponseDistribution):
            raise SpecError(f"other={other!r}: must be a distribution from res.get_distribution().")
        if len(other) not in (1, len(self)):
            raise SpecError(f"other={other!r}: must have {len(self)} rows, as here, or one row.")
        if other._rows.counts != self._rows.counts:
            raise SpecError(f"other={other!r}: distributions of counts can only be compared with each other.")
        place = np.cumsum(other._usable) - 1
        among = np.broadcast_to(np.where(other._usable, place, 0), self.shape)[self._usable]
        if not other._usable.all():
            raise SpecError(
                f"other={other!r}: some of its rows have no prediction. Leave out rows with missing values."
            )
        return other._rows.take(among)

    # -- shapes -------------------------------------------------------------------------------------------------------

    def _at(self, name: str, value: ArrayLike, of: Callable[[ShownRows, Array], Array]) -> Array:
        """Results for values, (n,) or (n, m)."""
        x = read_numbers(name, value)
        if x.ndim < 2:
            shape = broadcast(self.shape, f"{name}, for which shape (1, m) is m values for every row,", x.shape)
            if shape != self.shape:
                broadcast(self.shape, name, (len(x) + 1,))
            x = np.broadcast_to(x, shape)[:, None]
            return self._spread(self._of_each(of, x[self._usable])[:, 0])
        shape = broadcast((len(self), 1), name, x.shape)
        x = np.broadcast_to(x, shape)[self._usable]
        return self._spread(np.broadcast_to(self._of_each(of, x), x.shape))

    def _of_each(self, of: Callable[[ShownRows, Array], Array], x: Array) -> Array:
        """Results (n, m), infinite where something is impossible."""
        with np.errstate(all="ignore"):
            return of(self._rows.take(np.s_[:, None]), x)

    def _spread(self, values: Array) -> Array:
        """Values of predicted rows among all rows, NaN elsewhere."""
        out = np.full((len(self), *values.shape[1:]), np.nan)
        out[self._usable] = values
        return out


def _logs(q: Array) -> tuple[Array, Array]:
    """Logarithms of orders and of their complements, NaN outside 0 to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(q), np.log1p(-q)
