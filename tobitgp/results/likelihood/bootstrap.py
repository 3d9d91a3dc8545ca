"""The bootstrap: rows, or clusters of them, drawn again, and the likelihood maximised for each draw."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import qr
from scipy.special import ndtr, ndtri

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.frames import read_clusters
from tobitgp.data.notebook import html_of_table
from tobitgp.errors import ConvergenceWarning, DataError, SpecError, TobitGPError, user_level
from tobitgp.numerics.sampling import generator
from tobitgp.results.predict import check_alpha
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray

METHODS = ("percentile", "basic", "bca")
_DEPENDENT = 1e-10
Statistic = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class BootstrapResults:
    """Bootstrap draws of parameters or of a statistic of the fit, (ECO4); prints as their table.

    Attributes
    ----------
    estimate : Series
        Estimate of the fit itself, in the units of the statistic.
    draws : DataFrame
        A row for each draw that has a maximum, a column for each number, in the same units; NaN for coefficients that a
        draw does not determine, e.g. of levels that were not drawn.
    failed : int
        Number of draws without a maximum.
    left_out : callable
        Gives the numbers without each unit (a row, or a cluster) in turn, for ``"bca"``.
    """

    estimate: pd.Series[float]
    draws: pd.DataFrame
    failed: int
    left_out: Callable[[], pd.DataFrame] = field(repr=False)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard deviations of the draws by number, in its units: (ECO4) of the theory pages."""
        return self.draws.std()

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the draws of (ECO4), a row and a column for each number, in products of their units."""
        return self.draws.cov()

    def conf_int(self, alpha: float = 0.05, method: str = "percentile") -> pd.DataFrame:
        """Intervals of probability ``1 - alpha``: quantiles of the draws, mirrored about the estimate, or corrected.

        ``"percentile"``, ``"basic"``, or ``"bca"``, Efron's bias-corrected and accelerated quantiles, which requires a
        fit without each row or cluster. A row for each number, columns 0 and 1, in its units; (ECO4) and (ECO5) of the
        theory pages.
        """
        alpha = check_alpha(alpha)
        if method not in METHODS:
            raise SpecError(f"method={method!r} is not supported; choose one of {', '.join(map(repr, METHODS))}.")
        tails = np.array([0.5 * alpha, 1.0 - 0.5 * alpha])
        orders = self._corrected(tails) if method == "bca" else np.tile(tails, (len(self.estimate), 1))
        ends = np.array(
            [np.nanquantile(draws, each) for draws, each in zip(self.draws.to_numpy().T, orders, strict=True)]
        )
        if method == "basic":
            ends = 2.0 * self.estimate.to_numpy()[:, None] - ends[:, ::-1]
        return pd.DataFrame(ends, index=self.estimate.index)

    def _corrected(self, tails: Array) -> Array:
        """Orders (k, 2) of the quantiles that are corrected for bias and acceleration."""
        values, best = self.draws.to_numpy(), self.estimate.to_numpy()
        n = np.isfinite(values).sum(axis=0)
        share = ((values < best).sum(axis=0) + 0.5 * (values == best).sum(axis=0)) / n
        bias = ndtri(np.clip(share, 0.5 / n, 1.0 - 0.5 / n))
        away = self.left_out().to_numpy()
        away = np.nanmean(away, axis=0) - away
        scale = np.nansum(np.square(away), axis=0) ** 1.5
        a = np.divide(np.nansum(away**3, axis=0), 6.0 * scale, out=np.zeros(len(best)), where=scale > 0.0)
        z = bias[:, None] + ndtri(tails)
        return np.asarray(ndtr(bias[:, None] + z / (1.0 - a[:, None] * z)))

    def summary_frame(self, alpha: float = 0.05, method: str = "percentile") -> pd.DataFrame:
        """A row for each number, columns ``estimate, bias, se, lower, upper``, in its units, and its ``draws``."""
        ends = self.conf_int(alpha, method)
        columns = {"estimate": self.estimate, "bias": self.draws.mean() - self.estimate, "se": self.bse}
        return pd.DataFrame(columns | {"lower": ends[0], "upper": ends[1], "draws": self.draws.count()})

    @property
    def _headline(self) -> str:
        failed = f", {self.failed} without a maximum" if self.failed else ""
        return f"bootstrap: {len(self.draws)} draws{failed}"

    def _repr_html_(self) -> str:
        """The table, in a notebook."""
        return html_of_table(self.summary_frame(), self._headline)

    def __repr__(self) -> str:
        return f"{self._headline}\n{self.summary_frame().to_string(float_format='{:.4g}'.format)}"


def bootstrap(
    results: Any,
    n: int = 999,
    groups: Any = None,
    statistic: Statistic | None = None,
    *,
    rng: int | np.random.Generator | None = None,
) -> BootstrapResults:
    """Bootstrap: resample rows or whole clusters, and fit each sample.

    A row is drawn with its censoring, so that censored rows stay censored. Levels that were not drawn are left out. For
    start-stop rows, subjects are drawn. A row with frequency weight c counts as c rows. Rows and clusters keep their
    sampling weights.

    Parameters
    ----------
    n : int
        Number of draws.
    groups : str or (n,) array, optional
        Labels of the clusters that are drawn as a whole: a column among the covariates of the fit, or a value for each
        row of its data.
    statistic : callable, optional
        Function of the results of a draw that returns a number, a Series or an array; by default all parameters.
    rng : int or numpy Generator, optional
        For the draws; None gives the same result every time.

    Returns
    -------
    BootstrapResults
        With ``conf_int(alpha, method)``, ``bse``, ``cov_params()``, ``summary_frame()``, ``draws`` and ``failed``; in
        the units of the statistic.

    Raises
    ------
    SpecError
        For an ``n`` below 2, another ``statistic``, rows that share frailties, a fit without training rows or one that
        has not converged, or if hardly any draw has a maximum.
    DataError
        If the groups cannot be used.

    Warns
    -----
    ConvergenceWarning
        If more than a tenth of the draws have no maximum.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller (2008), Bootstrap-based improvements for inference with clustered
    errors, *Review of Economics and Statistics* 90, 414-427; B. Efron (1987), Better bootstrap confidence intervals,
    *JASA* 82, 171-185; (ECO4) and (ECO5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_additive(n=200, rng=1)
    >>> res = tg.fit("y ~ x1 + x2 | censor(lower, upper)", data)
    >>> again = res.bootstrap(99, rng=1)
    >>> again.summary_frame().shape, again.failed
    ((4, 6), 0)
    """
    results._refuse_dependent("bootstrap()")
    return resampled(results._refits(statistic), n, groups, rng)


def resampled(refit: Any, n: int, groups: Any, rng: int | np.random.Generator | None) -> BootstrapResults:
    """Fits to rows that are drawn again."""
    results, parts, rng = refit.results, refit.parts, generator(rng)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 2:
        raise SpecError(f"n={n!r}: n must be a whole number of at least 2.")
    if not results.converged:
        raise SpecError("bootstrap() requires a fit that has converged. Follow its warning first.")
    weight = parts.rows.response.weight
    code = _read_groups(parts, groups) if groups is not None else results._units()
    code = np.arange(len(weight)) if code is None and parts.rows.sampling else code
    draws = [refit(_drawn(weight, code, rng)) for _ in range(n)]
    found = np.array([each for each in draws if each is not None])
    failed = n - len(found)
    if len(found) < 2:
        raise SpecError(
            f"{failed} of {n} draws have no maximum: there are too few rows for so many parameters, or all "
            f"drawn rows of a level are censored. Draw clusters of rows with groups=."
        )
    if failed > 0.1 * n:
        warnings.warn(
            f"{failed} of {n} draws have no maximum and are left out, so that intervals may be too short. Some "
            f"levels or events are too rare to occur in every draw.",
            ConvergenceWarning,
            stacklevel=user_level(),
        )
    names = refit.best.index
    return BootstrapResults(
        refit.best, pd.DataFrame(found, columns=names), failed, lambda: _left_out(refit, weight, code)
    )


def _read_groups(parts: Source, groups: Any) -> IntArray:
    """Clusters (n,) of the rows used."""
    training = parts.rows
    if isinstance(groups, str) and (parts.covariates is None or groups not in parts.covariates):
        raise SpecError(
            f"groups={groups!r} is not a covariate of this fit, and other columns are not stored. Give "
            f"groups=data[{groups!r}]."
        )
    if isinstance(groups, str):
        assert parts.covariates is not None
        return np.unique(parts.covariates[groups].to_numpy(), return_inverse=True)[1].astype(np.intp)
    return read_clusters(groups, pd.DataFrame(index=training.index), training.kept)


def _drawn(weight: Array, code: IntArray | None, rng: np.random.Generator) -> Array:
    """Weights (n,) of the rows of a draw."""
    if code is not None:
        number = int(code.max()) + 1
        return weight * rng.multinomial(number, np.full(number, 1.0 / number))[code]
    total = float(weight.sum())
    return rng.multinomial(round(total), weight / total).astype(np.float64)


def _left_out(refit: Any, weight: Array, code: IntArray | None) -> pd.DataFrame:
    """Numbers of the fits without each row or cluster in turn, rows of weight c as often."""
    units = np.arange(len(weight)) if code is None else code
    rows = []
    for unit in range(int(units.max()) + 1):
        at = units == unit
        less = np.where(at, weight - 1.0 if code is None else 0.0, weight)
        found = refit(np.maximum(less, 0.0))
        if found is not None:
            rows += [found] * (max(round(float(weight[unit])), 1) if code is None else 1)
    return pd.DataFrame(rows, columns=refit.best.index)


def _undetermined(H: Columns, known: Array, columns: Sequence[str]) -> tuple[Array, BoolArray]:
    """Coefficients (p,), those fixed at 0 that rows say nothing of, and which of them all are not determined."""
    out, lost, free = known.copy(), np.zeros(len(known), dtype=np.bool_), np.isnan(known)
    if isinstance(H, Absorbed):
        own, there = slice(H.start, H.start + H.size), H.largest > 0.0
        lost[own] = ~there
        out[lost] = 0.0
        if "Intercept" in columns and (H.value != 0.0).all():  # the base level was not drawn
            out[H.start + int(np.argmax(there))] = 0.0
            lost[own] = lost[columns.index("Intercept")] = True
        return out, lost
    place, A = np.flatnonzero(free), H[:, free]
    size = np.sqrt(np.square(A).sum(axis=0))
    scale = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh((A.T @ A) / np.outer(scale, scale))
    null = vectors[:, values < _DEPENDENT * values[-1]]
    lost[place[np.abs(null).max(axis=1, initial=0.0) > np.sqrt(_DEPENDENT)]] = True
    out[place[qr(null.T, mode="r", pivoting=True)[1][: null.shape[1]]]] = 0.0
    return out, lost


def statistic_series(results: Any, statistic: Statistic | None) -> pd.Series[float]:
    """Numbers that are drawn: all parameters, or a statistic of the fit."""
    if statistic is None:
        return pd.Series(results.params)
    found = statistic(results)
    try:
        return pd.Series(found if np.ndim(found) else [found], dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(found).__name__
        raise SpecError(f"statistic= returns a {kind}. It must return a number, a Series or an array.") from None


class Refit:
    """Fits of the same model to the same rows with other weights."""

    def __init__(self, results: Any, statistic: Statistic | None):
        if statistic is not None and not callable(statistic):
            raise SpecError(f"statistic={statistic!r}: statistic must be a function of the results.")
        self.results, self.parts, self.statistic = results, results.parts, statistic
        self.best = statistic_series(results, statistic)

    def again(self, weight: Array) -> tuple[Any, BoolArray] | None:
        """Results under weights (n,) and which columns these do not determine, None where there is no maximum."""
        parts, lost = self.parts.reweighted(weight), np.zeros(len(self.parts.columns), dtype=np.bool_)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = parts.again({})
                except DataError:  # levels that were not drawn
                    known = self.parts.given_values[: len(parts.columns)]
                    known, lost = _undetermined(parts.rows.design.H, known, parts.columns)
                    fixed = {name: float(v) for name, v in zip(parts.columns, known, strict=True) if not np.isnan(v)}
                    found = parts.again(fixed)
        except TobitGPError:
            return None
        return (type(self.results)(found), lost) if found.maximum.converged else None

    def parameters(self, found: Any) -> Array:
        """Parameters of results as they are reported."""
        parts = found.parts
        return np.asarray(parts.reported(parts.maximum.parameters[None])[0])

    def __call__(self, weight: Array) -> Array | None:
        """Numbers under weights (n,), None where there is no maximum."""
        made = self.again(weight)
        if made is None:
            return None
        found, lost = made
        if self.statistic is not None:
            try:
                return np.asarray(statistic_series(found, self.statistic), dtype=np.float64)
            except TobitGPError:
                return None
        values = self.parameters(found)
        values[: len(lost)][lost] = np.nan
        return values
