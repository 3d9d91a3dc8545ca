"""Expected log predictive densities: sums over rows, their errors, and which rows are to be trusted.

(CHK7) of the theory pages.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from tobitgp.errors import ApproximationWarning, user_level
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray

Kind = TypeVar("Kind", bound="Elpd")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elpd:
    """Expected log predictive density of rows like those of a fit, estimated from its own."""

    kind: str  # how it was estimated: ``"psis"``, ``"ep"`` (``"laplace"``, ``"vi"``), or ``"waic"``
    elpd: float  # sum over rows, each counted as often as its frequency weight says
    se: float  # standard error, from how the rows differ
    p: float  # effective number of parameters: what the rows owe to having been seen
    n: float  # frequency weights, summed
    draws: int | None  # from the posterior
    pointwise: pd.DataFrame  # A row for each row of the training data with its index
    trusted: pd.Series[bool]  # by row of the training data that was used
    remedy: str  # what to do about rows that are not

    @property
    def n_bad(self) -> int:
        """Number of rows whose estimate is not to be trusted."""
        return int((~self.trusted).sum())

    @property
    def looic(self) -> float:
        """``-2 elpd``, on the scale of deviances."""
        return -2.0 * self.elpd

    def summary(self) -> str:
        """The numbers in words."""
        made = "" if self.draws is None else f", {self.draws} draws"
        title = "WAIC" if self.kind == "waic" else f"Leave-one-out cross-validation ({self.kind}{made})"
        rows = (
            f"{self.n:g} rows" if self.n == len(self.trusted) else f"{len(self.trusted)} rows, {self.n:g} with weights"
        )
        bad = f"{self.n_bad} row{'s' * (self.n_bad != 1)} not to be trusted. {self.remedy}"
        words = bad if self.n_bad else "every row can be trusted"
        return "\n".join(
            [
                f"{title} of {rows}",
                f"  elpd {self.elpd:10.2f}   se {self.se:.2f}",
                f"  p    {self.p:10.2f}",
                textwrap.fill(words, 88, initial_indent="  ", subsequent_indent="  "),
            ]
        )

    def __repr__(self) -> str:
        return self.summary()


class LOO(Elpd):
    """What `tobitgp.GPResults.loo` finds, with arviz's names for its numbers; prints as its summary.

    (CHK2) to (CHK7) of the theory pages.

    Attributes
    ----------
    kind : str
        How it was estimated: ``"psis"``, or the method whose sites were taken out, ``"ep"``, ``"laplace"``, ``"vi"``.
    elpd, se, p : float
        Expected log predictive density in nats, summed over rows by their frequency weights; its standard error, from
        how the rows differ; and the effective number of parameters, what the rows owe to having been seen.
    n : float
        Frequency weights, summed.
    draws : int or None
        From the posterior.
    pointwise : DataFrame
        A row for each row of the training data with its index, NaN where it was dropped: ``elpd`` and ``p`` of one copy
        of it, and ``weight``. With ``"psis"`` also ``k``, the Pareto shape of the row's importance weights,
        ``-inf`` where they are all equal; otherwise ``share``, the part of the worth of the design points of the
        hyper-parameters that is left without the row.
    trusted : Series of bool
        By row of the training data that was used.
    remedy : str
        What to do about rows that are not.
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
    elpd, se, p : float
        Expected log predictive density in nats, summed over rows by their frequency weights; its standard error, from
        how the rows differ; and the effective number of parameters, what the rows owe to having been seen.
    n : float
        Frequency weights, summed.
    draws : int or None
        From the posterior.
    pointwise : DataFrame
        A row for each row of the training data with its index, NaN where it was dropped: ``elpd`` and ``p`` of one copy
        of it, and ``weight``. ``p`` is the posterior variance of its log likelihood.
    trusted : Series of bool
        By row of the training data that was used.
    remedy : str
        What to do about rows that are not.
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
    cls: type[Kind],
    kind: str,
    parts: Source,
    elpd: Array,
    p: Array,
    extra: dict[str, Array],
    good: BoolArray,
    remedy: str,
    draws: int | None,
) -> Kind:
    """Sums over rows with their weights, and the table of all rows."""
    training, weight = parts.rows, parts.rows.response.weight
    index, kept = training.index, training.kept
    table = pd.DataFrame({"elpd": elpd, "p": p, **extra, "weight": weight}, index=np.flatnonzero(kept))
    pointwise = table.reindex(range(len(kept))).set_axis(index)
    trusted = pd.Series(good, index=index[kept])
    n = float(weight.sum())
    total = float(weight @ elpd)
    return cls(kind, total, spread(elpd, weight), float(weight @ p), n, draws, pointwise, trusted, remedy)


def spread(values: Array, weight: Array) -> float:
    """Standard error of a weighted sum of values of rows, ``sqrt(n var)``."""
    n = weight.sum()
    mean = weight @ values / n
    return float(np.sqrt(n * (weight @ np.square(values - mean) / n)))


def warn_of(found: Elpd, whose: str = "") -> None:
    """Warn where rows are not to be trusted."""
    if found.n_bad:
        rows = found.trusted.index[~found.trusted.to_numpy()]
        named = ", ".join(map(str, rows[:5])) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
        warnings.warn(
            f"{found.kind}{whose}: the estimate of {found.n_bad} of {len(found.trusted)} rows is not to be trusted "
            f"({named}). {found.remedy}",
            ApproximationWarning,
            stacklevel=user_level(),
        )
