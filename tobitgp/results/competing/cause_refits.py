"""Competing risks by maximum likelihood fitted again: the bootstrap, profile intervals, the influence of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula.functions import nearest
from tobitgp.results.fit import Fit
from tobitgp.results.likelihood.bootstrap import Statistic, statistic_series
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause


class CauseRefits:
    """Fits of all causes to the same rows with other weights."""

    def __init__(self, results: Fit, statistic: Statistic | None):
        self.results, self.parts, self.statistic = results, results.parts, statistic
        if statistic is not None and not callable(statistic):
            raise SpecError(f"statistic={statistic!r}: statistic must be a function of the results.")
        if not all(results.parts.among(cause).all() for cause in results._causes):
            raise SpecError("bootstrap() draws the same rows for all causes, but these models use different "
            "rows. Drop the rows in which a column of any cause is missing, and fit again.")  # fmt: skip
        self.refits = {cause: fit._refits(None) for cause, fit in results.parts.fits.items()}
        self.best = statistic_series(results, statistic)

    def __call__(self, weight: Array) -> Array | None:
        """Numbers under weights (n,), None where a cause has no maximum."""
        if self.statistic is None:
            each = [refit(weight) for refit in self.refits.values()]
            return None if any(one is None for one in each) else np.concatenate(each)
        made = {cause: refit.again(weight) for cause, refit in self.refits.items()}
        fits = {cause: one[0] for cause, one in made.items() if one is not None}
        if len(fits) < len(made):
            return None
        seen, kept = self.results.parts.seen, weight > 0.0
        assert seen is not None
        drawn = replace(seen, time=seen.time[kept], entry=seen.entry[kept], weight=weight[kept], code=seen.code[kept],
                        kept=next(iter(fits.values())).parts.rows.kept)  # fmt: skip
        counts = self.results.counts
        for k, cause in enumerate((*self.results._causes, "censored"), 1):
            counts[cause] = int((drawn.code == (k if cause != "censored" else 0)).sum())
        kind: Any = type(self.results)
        again = kind(replace(self.results.parts, fits=fits, counts=counts, seen=drawn))
        try:
            return np.asarray(statistic_series(again, self.statistic), dtype=np.float64)
        except TobitGPError:
            return None


def influence(results: Fit, *, scaled: bool = False) -> pd.DataFrame:
    """See :meth:`tobitgp.RegressionResults.influence`; columns are ``(cause, parameter)``, by (CR1)."""
    found = {cause: fit.influence(scaled=scaled) for cause, fit in results.parts.fits.items()}
    return pd.concat(found, axis=1, names=["cause", None])


def profile_interval(results: Fit, name: str, alpha: float = 0.05, *, cause: Cause | None = None) -> Any:
    """Interval of a parameter by the profile likelihood, of one cause or of each that has it.

    Parameters
    ----------
    name : str
        A parameter of a cause.
    alpha : float
        Significance level: the interval has probability ``1 - alpha``.
    cause : str or int, optional
        One of ``causes``; all that have the parameter without.

    Returns
    -------
    tuple of float, or DataFrame
        Lower and upper end, in the units of the parameter; without ``cause`` a row for each cause, columns 0 and 1.

    Raises
    ------
    SpecError
        For another name or cause, and as for :meth:`RegressionResults.profile_interval`.

    References
    ----------
    (ECO3) and (CR1) of the theory pages: the likelihood is a product of one factor for each cause.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.profile_interval("sex").round(2).to_numpy().tolist()
    [[-0.04, 0.58], [0.2, 1.07]]
    """
    if cause is not None:
        return results[cause].profile_interval(name, alpha)
    having = [one for one, fit in results.parts.fits.items() if name in fit._names]
    if not having:
        known = list(dict.fromkeys(own for fit in results.parts.fits.values() for own in fit._names))
        close = nearest(str(name), known) or "."
        raise SpecError(f"{name!r} is not a parameter of the causes: {', '.join(known)}{close}")
    ends = [results[one].profile_interval(name, alpha) for one in having]
    return pd.DataFrame(ends, index=pd.Index(having, name="cause"))
