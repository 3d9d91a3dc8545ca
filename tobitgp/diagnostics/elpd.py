"""Expected log predictive densities by leave-one-out and WAIC: sums over rows, errors, and which rows to trust.

(CHK3), (CHK4), (CHK7) and (CHK8) of the theory pages.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.notebook import html_of_text
from tobitgp.diagnostics.training_draws import Draws, training_rows
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.numerics.sampling import good_shape, smooth
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from tobitgp.kinds.process import Process

ElpdKind = TypeVar("ElpdKind", bound="Elpd")

METHODS = ("auto", "psis", "ep")
DRAWS, LEAST_DRAWS = 4000, 25
LEAST_SHARE = 0.5
NEGLIGIBLE = 0.01  # own contribution of a row, in nats, below which its k does not matter
LARGEST_VARIANCE = 0.4
_LOWEST = -1e300  # of a log likelihood, so that differences stay finite


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elpd:
    """Expected log predictive density of rows like those of a fit, estimated from its own."""

    kind: str
    elpd: float
    se: float
    p: float
    n: float
    draws: int | None
    pointwise: pd.DataFrame
    trusted: pd.Series[bool]
    remedy: str
    unit: str = "row"  # what is left out, a row or a subject

    @property
    def n_bad(self) -> int:
        """Number of rows whose estimate is unreliable."""
        return int((~self.trusted).sum())

    @property
    def looic(self) -> float:
        """``-2 elpd``, on the scale of deviances."""
        return -2.0 * self.elpd

    def summary(self) -> str:
        """The numbers in words."""
        made = "" if self.draws is None else f", {self.draws} draws"
        title = "WAIC" if self.kind == "waic" else f"Leave-one-out cross-validation ({self.kind}{made})"
        rows = f"{self.n:g} {self.unit}s"
        if self.n != len(self.trusted):
            rows = f"{len(self.trusted)} {self.unit}s, {self.n:g} with weights"
        bad = f"{self.n_bad} {self.unit}{'s' * (self.n_bad != 1)} unreliable. {self.remedy}"
        words = bad if self.n_bad else f"the estimates of all {self.unit}s are reliable"
        numbers = f"  elpd {self.elpd:10.2f}   se {self.se:.2f}\n  p    {self.p:10.2f}"
        return f"{title} of {rows}\n{numbers}\n" + textwrap.indent(textwrap.fill(words, 86), "  ")

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """The numbers in words, in a notebook."""
        return html_of_text(self)


class LOO(Elpd):
    """What `tobitgp.GPResults.loo` finds, with arviz's names for its numbers; prints as its summary.

    (CHK2) to (CHK7) of the theory pages.

    Attributes
    ----------
    kind : str
        ``"psis"``, or the method whose sites were taken out: ``"ep"``, ``"laplace"``, ``"vi"``.
    elpd, se, p : float
        Expected log predictive density in nats, summed over rows by their weights; its standard error, from how the
        rows differ; and the effective number of parameters, what the rows owe to having been seen.
    n : float
        Frequency weights, summed, or Kish's effective sample size: the sum of sampling weights, which have no unit.
    draws : int or None
        From the posterior.
    pointwise : DataFrame
        ``elpd`` and ``p`` of one copy of each row of the training data, by its index, and ``weight``; NaN where it was
        dropped. With ``id=`` those of subjects at the last row of each, NaN in the others. With ``"psis"`` also
        ``k``, the Pareto shape of the row's importance weights, ``-inf`` where they are all equal; otherwise
        ``share``, the share of the weight of the integration points that is left without the row.
    trusted : Series of bool
        By row of the training data that was used.
    remedy : str
        Advice about rows whose estimate is not reliable.
    unit : str
        Unit that is left out, ``"row"``, or ``"subject"`` with ``id=``.
    """

    __slots__ = ()

    @property
    def elpd_loo(self) -> float:
        """``elpd`` in nats, by arviz's name."""
        return self.elpd

    @property
    def p_loo(self) -> float:
        """``p``, a number of parameters, by arviz's name."""
        return self.p

    @property
    def pareto_k(self) -> pd.Series[float]:
        """``pointwise["k"]``, pure numbers: a Series by row of the training data; NaN without importance weights."""
        return self.pointwise["k"] if "k" in self.pointwise else self.pointwise["elpd"] * np.nan


class WAIC(Elpd):
    """What `tobitgp.GPResults.waic` finds; prints as its summary; (CHK7) and (CHK8) of the theory pages.

    Attributes
    ----------
    kind : str
        ``"waic"``.
    elpd, se, p, n : float
        As of `LOO`: nats, their standard error, and numbers of parameters and of rows.
    draws : int or None
        From the posterior.
    pointwise : DataFrame
        ``elpd`` and ``p``, the posterior variance of the log likelihood, of one copy of each row of the training data,
        by its index, and ``weight``; NaN where it was dropped.
    trusted : Series of bool
        By row of the training data that was used.
    remedy : str
        Advice about rows whose estimate is not reliable.
    unit : str
        Unit that is left out, ``"row"``, or ``"subject"`` with ``id=``.
    """

    __slots__ = ()

    @property
    def elpd_waic(self) -> float:
        """``elpd`` in nats, by arviz's name."""
        return self.elpd

    @property
    def p_waic(self) -> float:
        """``p``, a number of parameters, by arviz's name."""
        return self.p


def collect(
    cls: type[ElpdKind],
    kind: str,
    parts: Source,
    elpd: Array,
    p: Array,
    extra: dict[str, Array],
    good: BoolArray,
    remedy: str,
    draws: int | None,
    observed: IntArray | None = None,
) -> ElpdKind:
    """Sums over rows, or those ``observed`` of subjects, with their weights, and the table of all rows."""
    training = parts.rows
    weight = training.tested_weight if observed is None else training.weight_among(observed)
    index, places = training.index, np.flatnonzero(training.kept)[slice(None) if observed is None else observed]
    table = pd.DataFrame({"elpd": elpd, "p": p, **extra, "weight": weight}, index=places)
    pointwise = table.reindex(range(len(training.kept))).set_axis(index)
    trusted = pd.Series(good & np.isfinite(elpd), index=index[places])
    n = float(weight.sum())
    total, unit = float(weight @ elpd), "row" if observed is None else "subject"
    return cls(kind, total, spread(elpd, weight), float(weight @ p), n, draws, pointwise, trusted, remedy, unit)


def spread(values: Array, weight: Array) -> float:
    """Standard error of a weighted sum of values of rows, ``sqrt(n var)``."""
    n = weight.sum()
    mean = weight @ values / n
    with np.errstate(over="ignore"):  # of rows that a fit without a maximum holds impossible
        return float(np.sqrt(n * (weight @ np.square(values - mean) / n)))


def warn_of(found: Elpd, whose: str = "") -> None:
    """Warn where rows are not to be trusted."""
    if found.n_bad:
        rows = found.trusted.index[~found.trusted.to_numpy()]
        named = ", ".join(map(str, rows[:5])) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
        warnings.warn(
            f"{found.kind}{whose}: the estimates of {found.n_bad} of {len(found.trusted)} {found.unit}s are unreliable "
            f"({named}). {found.remedy}",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def loo_by_draws(draws: Draws, parts: Source) -> LOO:
    """Leave-one-out by Pareto-smoothed importance sampling of a posterior's draws.

    The log weights of row n are minus its log likelihood. With frequency weights one copy of a row is left out.
    """
    found = []
    for _, value in draws.log_likelihoods():
        log_p = np.maximum(value, _LOWEST)
        weights = smooth(-log_p)
        elpd = _log_sum(weights.log_weight + log_p)
        found.append((elpd, _log_sum(log_p) - np.log(draws.size) - elpd, weights.k))
    elpd, p, k = (np.concatenate(column) for column in zip(*found, strict=True))
    good = good_shape(draws.size)
    remedy = (
        f"Their Pareto k is above {good:.2g}: the posterior without such a row is too different. "
        f"{parts.where_weights_fail}."
    )
    trusted = (k <= good) | (p < NEGLIGIBLE)
    return collect(LOO, "psis", parts, elpd, p, {"k": k}, trusted, remedy, draws.size, draws.observed)


def loo_by_cavities(parts: Process) -> LOO:
    """Leave-one-out from the sites of a process, averaged over its hyper-parameters, and powers where there are any."""
    from tobitgp.kinds.process import refuse_censoring_noises
    from tobitgp.kinds.rows_left_out import left_out

    training_rows(parts, "loo()")
    for scaled in parts.scaled:
        refuse_censoring_noises(scaled.fit, "loo()")
    found = left_out(parts)
    remedy = (
        "Without such a row the hyper-parameters are too different: less than half of the weight of their integration "
        "points is left. Use tg.cross_validate()."
    )
    kind, share = parts.reported.fit.fitted.method.name, found.share
    return collect(
        LOO, kind, parts, found.elpd, found.within - found.elpd, {"share": share}, share >= LEAST_SHARE, remedy, None
    )


def waic_by_draws(draws: Draws, parts: Source) -> WAIC:
    """The widely applicable information criterion, on the scale of log densities."""
    found = []
    for _, value in draws.log_likelihoods():
        log_p = np.maximum(value, _LOWEST)
        variance = log_p.var(axis=1)
        found.append((_log_sum(log_p) - np.log(draws.size) - variance, variance))
    elpd, p = (np.concatenate(column) for column in zip(*found, strict=True))
    remedy = (
        f"The posterior variance of their log-likelihood is above {LARGEST_VARIANCE:g}, which is too large for WAIC. "
        "Use loo()."
    )
    return collect(WAIC, "waic", parts, elpd, p, {}, p <= LARGEST_VARIANCE, remedy, draws.size, draws.observed)


def read_method(method: Any, *, sites: bool) -> str:
    """How to leave rows out, ``"psis"`` or ``"ep"``."""
    if not isinstance(method, str) or method not in METHODS:
        raise SpecError(f"method={method!r} is not supported. Choose one of {', '.join(map(repr, METHODS))}.")
    if method == "ep" and not sites:
        raise SpecError("method='ep' requires a fit with the sites of a Gaussian process. Use 'psis'.")
    return ("ep" if sites else "psis") if method == "auto" else method


def _log_sum(values: Array) -> Array:
    """Log of sums of exponentials over the columns."""
    top = values.max(axis=1)
    return np.asarray(top + np.log(np.exp(values - top[:, None]).sum(axis=1)))
