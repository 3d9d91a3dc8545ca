"""Marginal effects of columns on the first event, and on the incidence of a cause: (REG14) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.data.frames import reads_frames
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.results.averages import AT_TIMES, DRAWS, Population, Sought
from tobitgp.results.competing.cause_draws import MEDIAN, MEDIANS
from tobitgp.results.counterfactuals import changes, changing, rows_at
from tobitgp.results.curves import warn_of_tail
from tobitgp.results.fit import Fit
from tobitgp.results.paths import refuse_parts
from tobitgp.results.predict import check_alpha, check_what
from tobitgp.results.standardise import number_of_cause
from tobitgp.results.survival import read_times
from tobitgp.typing import Frame

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause


@reads_frames
def marginal_effects(
    results: Fit,
    what: str = "risk",
    at: str | Frame = "overall",
    *,
    method: str = "dydx",
    variables: str | Sequence[str] | None = None,
    below: float | None = None,
    above: float | None = None,
    times: float | None = None,
    cause: Cause | None = None,
    alpha: float = 0.05,
    draws: int = DRAWS,
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """How probabilities change with each column: derivatives for numbers, differences for factors.

    Averages over rows of differences of predictions, with the standard errors of :meth:`standardise`.

    Parameters
    ----------
    what : {"risk", "survival", "rmst", "prob", "median"}
        Probability of an event by ``times``, of no event by then, the restricted mean time, the probability of a time
        ``below`` or ``above`` a limit, or the median.
    at : {"overall", "mean"}, or DataFrame
        Average over the training rows with their weights, at the mean of numbers and the most frequent level of
        factors, or over the rows of a DataFrame.
    method : {"dydx"}
        Derivatives. Single causes also support elasticities.
    variables : str or list of str, optional
        Columns whose effects are computed; by default all.
    below, above, times : float, optional
        One of them, on the scale of the response.
    cause : str or int, optional
        With ``"risk"``: the cumulative incidence of this cause. By default the first event of any cause.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    draws, rng
        As for :meth:`standardise`.

    Returns
    -------
    DataFrame
        Index ``(variable, contrast)``, columns ``dydx, se, z, p, lower, upper``, in units of the prediction per unit of
        the column.

    Raises
    ------
    SpecError
        For an unknown ``what`` or cause, missing times or training rows, or an ``alpha`` outside (0, 1).
    DataError, UnseenLevelError
        If the rows of ``at`` cannot be used.

    References
    ----------
    (REG14), (STD2), (STD4) and (CR2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.marginal_effects("risk", times=365, cause=2)["dydx"].round(3).to_dict()
    {('sex', 'dy/dx'): -0.141}
    """
    what, alpha = check_what(what, (*AT_TIMES, "prob", MEDIAN), " of an effect"), check_alpha(alpha)
    if method != "dydx":
        raise SpecError(f"method={method!r} is not supported for several causes. Use res[cause] for elasticities.")
    if what == "prob":
        if times is not None or (below is None) == (above is None):
            raise SpecError("what='prob' requires one of below= and above=, a number.")
        what, times = ("survival", above) if below is None else ("risk", below)
    elif below is not None or above is not None:
        raise SpecError(f"below= and above= require what='prob', not what={what!r}.")
    if what == MEDIAN and times is None:
        what, times = MEDIANS, 0.0
    elif times is None or np.ndim(times) or what == MEDIAN:
        raise SpecError(f"what={what!r} {'takes no' if what == MEDIAN else 'requires'} times=, e.g. times=365.")
    number, grid = number_of_cause(results, cause, what), read_times(times)
    if what == "rmst":
        warn_of_tail(results, grid)
    if isinstance(at, str):
        refuse_parts(results, "give at= a DataFrame")
    rows, size, stream = rows_at(results.parts, at, need_limits=False), read_draws(draws, 2), generator(rng)
    every: dict[str, Any] = {}
    for fit in results.parts.fits.values():
        own = (
            None
            if variables is None
            else [name for name in np.atleast_1d(variables) if name in fit.parts.state.input_names]
        )
        every |= dict.fromkeys(changing(fit.parts, own) if own is None or own else [], fit.parts)
    if not every:
        raise SpecError(f"variables={variables!r}: no cause has a column with a marginal effect.")
    table = {}
    for name, parts in every.items():
        for change in changes(parts, rows.frame, [name]):
            frame = pd.concat(change.frames, ignore_index=True)
            share = rows.weight / change.width
            population = Population(results._ask(frame), frame, 2, share, resampled=False, draws=size, rng=stream)
            found = results._averages(population, Sought(what, grid, True, None, number)).contrast(
                1.0 - alpha, ratio=False
            )
            effect, se, low, high = (share.sum() * values[0] for values in found.values())
            z = effect / se if se > 0.0 else np.nan
            table[change.variable, change.contrast] = [effect, se, z, 2.0 * ndtr(-abs(z)), low, high]
    index = pd.MultiIndex.from_tuples(table, names=["variable", "contrast"])
    return pd.DataFrame(list(table.values()), index=index, columns=["dydx", "se", "z", "p", "lower", "upper"])
