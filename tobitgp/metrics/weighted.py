"""When rows are censored, and how much a row that was not stands for.

Concordance that does not depend on how many rows were censored; (MET3) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.concordance import later_masses
from tobitgp.metrics.read import RightCensored, check_order, read_both, read_column
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class CensoringTimes:
    """Kaplan and Meier's estimate of the distribution of censoring times."""

    times: Array  # (m,), at which a row ended, ascending
    survival: Array  # (m,), estimated probability of being censored later than each
    censored: bool  # whether any row was

    def weights(self, time: Array, what: str, *, event: bool = False) -> Array:
        """One over the probability of being censored later than each time, or of events, at it or later.

        Shapes: time (q,); gives (q,).
        """
        after = np.searchsorted(self.times, time, side="left" if event else "right")
        value = np.append(1.0, self.survival)[after]
        outside = (value <= 0.0) | ((time > self.times[-1]) & self.censored)
        if outside.any():
            known = self.times[self.survival > 0.0]
            reach = f"only up to time {known[-1]:g}" if len(known) else "at none of its times"
            raise DataError(
                f"{what} {time[outside].min():g} (one of {outside.sum()} such times) cannot be weighted: the rows of "
                f"train say how probable it is not to be censored {reach}. Ask for earlier times, or take as train "
                "rows that were followed longer."
            )
        return np.asarray(1.0 / value)


def censoring_times(rows: RightCensored, after: float = -np.inf) -> CensoringTimes:
    """Estimate when rows are censored, from times at which events come before censorings."""
    times, censored, at_risk = risk_sets(rows.time, ~rows.event, rows.weight, rows.entry)
    died = np.bincount(np.searchsorted(times, rows.time), weights=rows.weight * rows.event, minlength=len(times))
    hazard = np.divide(censored, np.maximum(at_risk - died, censored), out=np.zeros(len(times)), where=censored > 0.0)
    hazard[times <= after] = 0.0
    return CensoringTimes(times, np.asarray(np.cumprod(1.0 - hazard)), bool(censored.any()))


def concordance_ipcw(
    train: Any, test: Any, score: Any, tau: float | None = None, *, entry: Any = None, weights: Any = None
) -> float:
    r"""Concordance index of right-censored times, weighted by the inverse probability of censoring.

    .. math:: c = \frac{\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]\,
                  \{1[f_i < f_j] + \tfrac12 1[f_i = f_j]\}}
                 {\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]},

    where :math:`\delta_i` says that row i had its event, :math:`e_j` when row j entered, :math:`w` are weights and
    :math:`G(t-)` is the probability of not being censored before t, estimated by Kaplan and Meier's method on the
    training rows. Harrell's index tends to a limit that depends on the
    censoring times, this one to that of uncensored data up to tau, if censoring depends on nothing. A time that was
    censored when another row had its event counts as later.

    Parameters
    ----------
    train, test : (time, event)
        Pairs of n numbers of 0 or more, and of 1 or True for an event and 0 or False for a censored row; or
        scikit-survival's structured arrays.
    score : (n,) array
        Of the test rows, on any scale; higher for longer times. scikit-survival takes risks, which are the negative.
    tau : float, optional
        On the scale of the times: pairs whose earlier time is tau or later are left out. It belongs where many training
        rows are still followed: weights of late events are large and uncertain.
    entry : pair of (n,) arrays, optional
        From when on the rows of train and of test were followed (delayed entry), on the scale of the times; None for
        those followed from the beginning.
    weights : pair of (n,) arrays, optional
        Frequency weights of the rows of train and of test, 0 or more: a row of weight 2 is two rows.

    Returns
    -------
    float
        A share of pairs, by their weights.

    Raises
    ------
    DataError
        If columns cannot be used, no order of a pair is known, or a weight is needed at a time that no training row
        was followed to.
    SpecError
        If ``tau`` is not a positive number, or ``train`` or ``test`` not a pair.

    Notes
    -----
    scikit-survival takes :math:`G(t_i)`, which differs where an event and a censoring share a time.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino and Wei (2011), On the C-statistics for evaluating overall adequacy of risk
    prediction procedures with censored survival data, *Statistics in Medicine* 30, 1105-1117.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> round(concordance_ipcw(train, ([1, 2.5, 3, 3.5], [1, 1, 0, 0]), score=[2, 1, 3, 4]), 6)
    0.866667
    """
    seen, rows = read_both(train, test, entry, weights)
    G, (time, event, _, w) = censoring_times(seen), rows
    check_order(**{"the time of test": test[0], "score": score})
    f = read_column("score", score, len(time), infinite=True)
    if tau is not None and not (isinstance(tau, (int, float, np.number)) and tau > 0.0):
        raise SpecError(f"tau={tau!r}: a positive time is needed.")
    higher, equal, less = later_masses(time, np.where(event, time, np.inf), f, w, rows.entry)
    first = event & (w > 0.0) & (higher + equal + less > 0.0) & (time < (np.inf if tau is None else tau))
    if not first.any():
        raise DataError(
            f"No order of a pair is known among the {len(f)} test rows: an event{'' if tau is None else ' before tau'} "
            "is needed, and a row that was followed longer."
        )
    weight = w[first] * G.weights(time[first], "the event of a test row at time", event=True) ** 2
    right = weight @ (higher + 0.5 * equal)[first]
    return float(right / (weight @ (higher + equal + less)[first]))
