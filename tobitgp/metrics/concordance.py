"""Share of pairs of known order that a score puts in the right order; (MET1) to (MET3) of the theory pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.curves import censoring_times
from tobitgp.metrics.read import check_order, read_both, read_bounds, read_column, read_entry, read_weights
from tobitgp.numerics.nonparametric import mass_below
from tobitgp.typing import Array, IntArray


def later_masses(
    lower: Array, upper: Array, score: Array, weight: Array, entry: Array | None = None
) -> tuple[Array, Array, Array]:
    """For each row, the weight of the rows known to be later whose score is higher, equal and less, (n,) each."""
    # A row is known to be later than another if it begins where the other ends, or after; two exact rows at the same
    # time are not ordered. A row that entered when the other had ended is not compared with it.
    if entry is None or np.isneginf(entry).all():
        return _beyond(*_keys(lower, upper), score, weight)
    lower = np.maximum(lower, entry)
    every = _beyond(*_keys(lower, upper), score, weight)
    # Whoever entered later lives later, too: a row that begins as one censored to the right at its entry.
    n = len(lower)
    begin, end = _keys(np.append(entry, lower), np.append(np.full(n, np.inf), upper))
    late = _beyond(begin[:n], end[n:], score, weight)
    rounding = 1e-12 * weight.sum()
    higher, equal, less = (np.where(a - b > rounding, a - b, 0.0) for a, b in zip(every, late, strict=True))
    return higher, equal, less


def _beyond(begin: IntArray, end: IntArray, score: Array, weight: Array) -> tuple[Array, Array, Array]:
    """For each row, the weight of those that begin beyond its end, by how their scores compare."""
    order = np.argsort(-begin, kind="stable")
    first = len(begin) - np.searchsorted(begin[order[::-1]], end, side="right")
    rank = np.unique(score, return_inverse=True)[1]
    n = len(rank)
    mass = mass_below(rank[order], weight[order], np.tile(first, 2), np.concatenate([rank, rank + 1]))
    all_later = np.concatenate([[0.0], np.cumsum(weight[order])])[first]
    less, at_most = mass[:n], mass[n:]
    return all_later - at_most, at_most - less, less


def tied_mass(lower: Array, upper: Array, weight: Array) -> float:
    """Number of pairs of exact rows at the same time; a row of weight w is w rows, and less than one has no pair."""
    exact = lower == upper
    at, w = np.unique(lower[exact], return_inverse=True)[1], weight[exact]
    together = np.bincount(at, weights=w)
    return float(0.5 * (together @ together - w @ w + w @ np.maximum(w - 1.0, 0.0)))


def _keys(lower: Array, upper: Array) -> tuple[IntArray, IntArray]:
    """Whole numbers for both ends, such that one row is later if its begin exceeds the other's end."""
    # At one time come first the ends of intervals, then exact rows, then the begins of intervals.
    n = len(lower)
    at = np.unique(np.concatenate([lower, upper]), return_inverse=True)[1]
    exact = lower == upper
    return 3 * at[:n] + np.where(exact, 1, 2), 3 * at[n:] + exact


class Concordance(NamedTuple):
    """Concordance index and what it was counted from; (MET1) and (MET2) of the theory pages.

    Attributes
    ----------
    c_index : float
        A share, ``(concordant + tied_score / 2) / (concordant + discordant + tied_score)``.
    concordant, discordant, tied_score : float
        Number of pairs, by weights, whose order is known, and whose scores agree with it, contradict it, or are equal.
    tied_time : float
        Number of pairs, by weights, of exact rows at the same time, which are not compared: those that R's
        ``concordance`` has as tied.y and tied.xy. scikit-survival counts an event and a censoring at the same time.
    """

    c_index: float
    concordant: float
    discordant: float
    tied_score: float
    tied_time: float


def concordance_index(
    time: Any,
    score: Any,
    event: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
    weights: Any = None,
) -> float:
    r"""Concordance index: the share of pairs in the right order among those whose order is known.

    .. math:: c = \frac{1}{|E|} \sum_{(i, j) \in E} \{ 1[f_i < f_j] + \tfrac12 1[f_i = f_j] \},

    with E the pairs in which row i ends where row j begins, or before: all orderings of [1]_, between exact, left-,
    right- and interval-censored rows. Two exact rows at one time are not compared; a time counts as earlier than a
    censoring to the right there, as later than one to the left. For right-censored times this is Harrell's index, and
    that of lifelines and scikit-survival, with delayed entry that of R's survival. 1 is a perfect order, 0.5 chance.

    Parameters
    ----------
    time : (n,) array or None
        Times, or other responses, in any units; they may be negative.
    score : (n,) array
        On any scale, higher for longer times, as a predicted mean, median or survival probability; of a risk give the
        negative. Only the order matters; infinite scores are allowed.
    event : (n,) array, optional
        1 or True where the time is that of the event, 0 or False where the row was right-censored then.
    lower, upper : float or (n,) array, optional
        With ``time``, limits of the instrument in its units: rows at or below ``lower`` are left-censored there, rows
        at or above ``upper`` right-censored. With ``time=None``, the ends of the interval that holds each row, equal on
        exact rows and infinite where it is open. Not beside ``event``.
    entry : (n,) array, optional
        From when on each row was followed (delayed entry), in the units of ``time``: a row that had not entered when
        the other one ended is not compared with it.
    weights : (n,) array, optional
        Frequency weights, 0 or more: a row of weight 2 is two rows.

    Returns
    -------
    float
        A share of pairs, between 0 and 1.

    Raises
    ------
    DataError
        If a column is not numeric, has missing values or another length, or no order of a pair is known.
    SpecError
        For arguments that do not go together.

    Notes
    -----
    Scores are tied where they are equal; scikit-survival takes those for tied, too, that differ by 1e-8 or less.

    References
    ----------
    .. [1] P. Groot and P. J. F. Lucas, "Gaussian process regression with censored data using expectation
       propagation", PGM 2012, section 3 and equation 17; they count a tied score as wrong.
    .. [2] F. E. Harrell, K. L. Lee and D. B. Mark, "Multivariable prognostic models", *Statistics in Medicine* 15
       (1996), 361-387.

    Examples
    --------
    >>> concordance_index([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 1, 1])
    0.75

    A detection limit at 0.5, and intervals:

    >>> concordance_index([0.5, 0.5, 1.2, 3.0], score=[0.1, 0.7, 0.6, 2.0], lower=0.5)
    0.8
    >>> concordance_index(None, score=[1, 2, 3], lower=[0, 2, 3], upper=[2, 4, np.inf])
    1.0
    """
    return concordance_counts(time, score, event, lower=lower, upper=upper, entry=entry, weights=weights).c_index


def concordance_counts(
    time: Any,
    score: Any,
    event: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
    weights: Any = None,
) -> Concordance:
    """Concordance index with the numbers of pairs behind it.

    Parameters
    ----------
    time, score, event, lower, upper, entry, weights
        As in `concordance_index`.

    Returns
    -------
    Concordance

    Raises
    ------
    DataError, SpecError
        As `concordance_index`.

    References
    ----------
    (MET1) and (MET2) of the theory pages.

    Examples
    --------
    >>> concordance_counts([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 1, 1])
    Concordance(c_index=0.75, concordant=3.0, discordant=1.0, tied_score=0.0, tied_time=0.0)
    """
    check_order(time=time, score=score, event=event, lower=lower, upper=upper, entry=entry, weights=weights)
    f = read_column("score", score, infinite=True)
    low, high = read_bounds(time, event, lower, upper, len(f))
    w = read_weights(weights, len(f))
    masses = later_masses(low, high, f, w, None if entry is None else read_entry(entry, high))
    concordant, tied, discordant = (float(w @ mass) for mass in masses)
    if not concordant + tied + discordant > 0.0:
        raise DataError(f"No order of a pair is known among {len(f)} rows: {_why(low, high)}.")
    c_index = (concordant + 0.5 * tied) / (concordant + tied + discordant)
    return Concordance(c_index, concordant, discordant, tied, tied_mass(low, high, w))


def concordance_ipcw(
    train: Any, test: Any, score: Any, tau: float | None = None, *, entry: Any = None, weights: Any = None
) -> float:
    r"""Concordance index of right-censored times, weighted by the inverse probability of censoring.

    .. math:: c = \frac{\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]\,
                  \{1[f_i < f_j] + \tfrac12 1[f_i = f_j]\}}
                 {\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]},

    where :math:`\delta_i` says that row i had its event, :math:`e_j` when row j entered, :math:`w` are weights and
    :math:`G(t-)` is the probability of not being censored before t, estimated by Kaplan and Meier's method on the
    training rows. Harrell's index tends to a limit that depends on the censoring times, this one to that of uncensored
    data up to tau, if censoring depends on nothing. A time that was censored when another row had its event counts as
    later.

    Parameters
    ----------
    train, test
        As in `brier_score`.
    score : (n,) array
        Of the test rows, on any scale; higher for longer times. scikit-survival takes risks, which are the negative.
    tau : float, optional
        On the scale of the times: pairs whose earlier time is tau or later are left out. It belongs where many training
        rows are still followed: weights of late events are large and uncertain.
    entry, weights
        As in `brier_score`.

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


def _why(lower: Any, upper: Any) -> str:
    """What keeps rows from being ordered."""
    if len(lower) == 1:
        return "two at least are needed"
    if not (lower == upper).any() and np.isinf(upper).all():
        return "all are right-censored"
    if not (lower == upper).any() and np.isinf(lower).all():
        return "all are left-censored"
    return "their intervals overlap, or their times are equal"
