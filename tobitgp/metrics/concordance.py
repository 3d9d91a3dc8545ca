"""Share of pairs that a score puts in the right order; (MET1) to (MET3), (MET13), (MET16) of the theory pages."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import (
    RightCensored,
    check_order,
    read_both,
    read_bounds,
    read_causes,
    read_column,
    read_entry,
    read_ties,
    read_weights,
)
from tobitgp.metrics.survival_curves import censoring_times
from tobitgp.numerics.nonparametric import mass_below, risk_sets
from tobitgp.typing import Array, IntArray

TimeWeight = Literal["n", "S", "S/G", "n/G2"]
Ties = Literal["half", "zero"]


class Concordance(NamedTuple):
    """Concordance index and what it was counted from; (MET1) and (MET2) of the theory pages.

    Attributes
    ----------
    c_index : float
        A share, ``(concordant + tied_score / 2) / (concordant + discordant + tied_score)``; with ``ties="zero"`` the
        numerator is ``concordant``.
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
    timewt: TimeWeight = "n",
    cause: Any = None,
    ties: Ties = "half",
) -> float:
    r"""Concordance index: the proportion of correctly ordered pairs among the pairs whose order is known.

    .. math:: c = \frac{1}{|E|} \sum_{(i, j) \in E} \{ 1[f_i < f_j] + \tfrac12 1[f_i = f_j] \},

    where E contains the pairs in which row i ends at or before the start of row j: all orderings of [1]_ between exact,
    left-, right- and interval-censored rows. Two exact rows at the same time are not compared. An event counts as
    earlier than a right-censored row, and as later than a left-censored row, at the same time. For right-censored times
    this is Harrell's index, as in lifelines and scikit-survival; with delayed entry it is that of R's survival. A
    perfect order gives 1, chance 0.5.

    Parameters
    ----------
    time : (n,) array or None
        Times, or other responses, in any units; they may be negative.
    score : (n,) array
        Score on any scale, higher for longer times, e.g. a predicted mean, median or survival probability. For a risk
        score, give its negative. Only the order matters; infinite scores are allowed.
    event : (n,) array, optional
        1 or True if the time is that of an event, 0 or False if the row was right-censored then.
    lower, upper : float or (n,) array, optional
        With ``time``: censoring limits in its units. Rows at or below ``lower`` are left-censored there, rows at or
        above ``upper`` right-censored. With ``time=None``: the ends of the interval that contains each row, equal for
        exact rows and infinite where it is open. Cannot be combined with ``event``.
    entry : (n,) array, optional
        Time from which each row was followed (delayed entry), in the units of ``time``. A row that had not entered when
        another row ended is not compared with it.
    weights : (n,) array, optional
        Frequency weights, 0 or more: a row of weight 2 is two rows.
    timewt : {"n", "S", "S/G", "n/G2"}
        Weight of a pair by the time t of its earlier row, for right-censored rows, with the names of R's
        ``concordance``. ``"n"`` gives all pairs the same weight, as in Harrell's index. The others divide by the number
        at risk n and multiply by S(t-), by S(t-)/G(t-) or (Uno's index) by n/G(t-)^2. The survival S and the
        probability G of not being censored are Kaplan-Meier estimates from these rows. Without late entry, the last two
        tend to a limit that does not depend on the censoring.
    cause : optional
        For competing risks: the cause that the score ranks. ``event`` then contains the causes: whole numbers (0 means
        censored), text ("censored"), or categories (the first one). A row with an event of another cause never has an
        event of this cause, and counts as later than all rows that do.
    ties : {"half", "zero"}
        Value of a pair with equal scores: half of a correctly ordered pair, or zero as in equation 17 of [1]_.

    Returns
    -------
    float
        The share of correctly ordered pairs, between 0 and 1.

    Raises
    ------
    DataError
        If a column is not numeric, has missing values or another length, or if no pair has a known order.
    SpecError
        If arguments cannot be combined.

    Notes
    -----
    Scores are tied if they are equal; scikit-survival also treats scores as tied that differ by 1e-8 or less.

    References
    ----------
    .. [1] P. Groot and P. J. F. Lucas, "Gaussian process regression with censored data using expectation
       propagation", PGM 2012, section 3 and equation 17; they count a tied score as wrong, ``ties="zero"``.
    .. [2] F. E. Harrell, K. L. Lee and D. B. Mark, "Multivariable prognostic models", *Statistics in Medicine* 15
       (1996), 361-387.
    .. [3] M. Wolbers, M. T. Koller, J. C. M. Witteman and E. W. Steyerberg, "Prognostic models with competing risks",
       *Epidemiology* 20 (2009), 555-561.

    Examples
    --------
    >>> concordance_index([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 1, 1])
    0.75

    A detection limit at 0.5, and intervals:

    >>> concordance_index([0.5, 0.5, 1.2, 3.0], score=[0.1, 0.7, 0.6, 2.0], lower=0.5)
    0.8
    >>> scores = [0.7, 0.7, 0.6, 0.6]
    >>> [concordance_index([0.5, 0.5, 1.2, 3.0], scores, lower=0.5, ties=ties) for ties in ("half", "zero")]
    [0.1, 0.0]
    >>> concordance_index(None, score=[1, 2, 3], lower=[0, 2, 3], upper=[2, 4, np.inf])
    1.0

    Of two causes the second, and Uno's index:

    >>> concordance_index([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 2, 1], cause=2)
    1.0
    >>> round(concordance_index([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 1, 1], timewt="n/G2"), 4)
    0.8095
    """
    how: dict[str, Any] = {"entry": entry, "weights": weights, "timewt": timewt, "cause": cause, "ties": ties}
    return concordance_counts(time, score, event, lower=lower, upper=upper, **how).c_index


def concordance_counts(
    time: Any,
    score: Any,
    event: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
    weights: Any = None,
    timewt: TimeWeight = "n",
    cause: Any = None,
    ties: Ties = "half",
) -> Concordance:
    """Concordance index with the numbers of pairs behind it: (MET1) and (MET2) of the theory pages.

    Parameters
    ----------
    time, score, event, lower, upper, entry, weights, timewt, cause, ties
        As in `concordance_index`. With ``timewt`` numbers are those of pairs times their weights by time.

    Returns
    -------
    Concordance

    Raises
    ------
    DataError, SpecError
        As `concordance_index`.

    Examples
    --------
    >>> concordance_counts([1, 2, 3, 4], score=[2, 3, 1, 5], event=[1, 0, 1, 1])
    Concordance(c_index=0.75, concordant=3.0, discordant=1.0, tied_score=0.0, tied_time=0.0)
    """
    check_order(time=time, score=score, event=event, lower=lower, upper=upper, entry=entry, weights=weights)
    if timewt not in get_args(TimeWeight):
        raise SpecError(f"timewt={timewt!r}: must be one of {', '.join(map(repr, get_args(TimeWeight)))}.")
    share = read_ties(ties)
    f = read_column("score", score, infinite=True)
    if cause is None:
        low, high = read_bounds(time, event, lower, upper, len(f))
    elif time is None or event is None or lower is not None or upper is not None or timewt != "n":
        raise SpecError("cause= requires time and event=. Leave lower=, upper= and timewt= out.")
    else:
        t, (seen, case) = read_column("time", time, len(f)), read_causes(event, len(f), cause)
        low, high = np.where(seen & ~case, np.nextafter(t.max(), np.inf), t), np.where(case, t, np.inf)
    w = read_weights(weights, len(f))
    start = read_entry(entry, high if timewt == "n" else low)
    by_time = _time_weight(timewt, low, high, w, start)
    masses = later_masses(low, high, f, w, start)
    concordant, tied, discordant = (float((w * by_time) @ mass) for mass in masses)
    if not concordant + tied + discordant > 0.0:
        known = any((w @ mass) > 0.0 for mass in masses)
        why = "all rows at risk at an early time had their event, and survival is 0 since" if known else _why(low, high)
        raise DataError(f"No order of a pair is known among {len(f)} rows: {why}.")
    c_index = (concordant + share * tied) / (concordant + tied + discordant)
    return Concordance(c_index, concordant, discordant, tied, tied_mass(low, high, w, by_time))


def _time_weight(timewt: TimeWeight, lower: Array, upper: Array, weight: Array, entry: Array) -> Array:
    """What the pairs of each event count by its time, (n,); all n rows are at risk where it is 1."""
    out = np.ones(len(lower))
    if timewt == "n":
        return out
    event = lower == upper
    if not (event | (np.isfinite(lower) & np.isposinf(upper))).all():
        raise SpecError(f"timewt={timewt!r}: requires right-censored rows. For other rows use timewt='n'.")
    if timewt != "n/G2":
        times, events, at_risk = risk_sets(lower, event, weight, entry)
        hazard = np.divide(events, at_risk, out=np.zeros(len(times)), where=events > 0.0)
        before = np.append(1.0, np.cumprod(1.0 - hazard))[:-1]
        share = np.divide(before, at_risk, out=np.zeros(len(times)), where=at_risk > 0.0)
        out = weight.sum() * share[np.searchsorted(times, lower)]
    if timewt != "S":
        known = event & (weight > 0.0)
        G = censoring_times(RightCensored(lower, event, entry, weight, event))
        out[known] *= G.weights(lower[known], "The event at time", event=True) ** (2 if timewt == "n/G2" else 1)
    return out


def concordance_ipcw(
    train: Any,
    test: Any,
    score: Any,
    tau: float | None = None,
    *,
    entry: Any = None,
    weights: Any = None,
    cause: Any = None,
    ties: Ties = "half",
) -> float:
    r"""Concordance index of right-censored times, weighted by the inverse probability of censoring.

    .. math:: c = \frac{\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]\,
                  \{1[f_i < f_j] + \tfrac12 1[f_i = f_j]\}}
                 {\sum_{ij} w_i w_j\, \delta_i\, G(t_i-)^{-2}\, 1[e_j < t_i < t_j, t_i < \tau]},

    where :math:`\delta_i` indicates an event in row i, :math:`e_j` is the entry time of row j, w are weights and
    :math:`G(t-)` is the probability of not being censored before t, estimated by the Kaplan-Meier method on the
    training rows. Harrell's index tends to a limit that depends on the censoring times. If censoring is completely
    random, this index tends to that of uncensored data up to tau. A row that was censored at the time of another row's
    event counts as later.

    Parameters
    ----------
    train, test
        As in `brier_score`.
    score : (n,) array
        Scores of the test rows on any scale, higher for longer times; scikit-survival uses risks, their negative.
    tau : float, optional
        On the scale of the times: pairs whose earlier time is tau or later are left out. Choose a time at which many
        training rows are still followed, because weights of late events are large and uncertain.
    entry, weights
        As in `brier_score`.
    cause : optional
        For competing risks: the cause that the score ranks; events contain causes as in `concordance_index`. A row j
        that had another event by :math:`t_i` counts as later, with the weight :math:`G(t_i-)^{-1} G(t_j-)^{-1}`, and
        :math:`\delta_i` indicates events of this cause only. Cannot be combined with ``entry``.
    ties : {"half", "zero"}
        Value of a pair with equal scores, as in `concordance_index`.

    Returns
    -------
    float
        The weighted share of correctly ordered pairs, between 0 and 1.

    Raises
    ------
    DataError
        If columns cannot be used, no order of a pair is known, or a weight is needed at a time that no training row
        was followed to.
    SpecError
        If ``tau`` is not a positive number, ``train`` or ``test`` not a pair, or ``cause`` stands beside ``entry``.

    Notes
    -----
    scikit-survival takes :math:`G(t_i)`, which differs where an event and a censoring share a time.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino and Wei (2011), On the C-statistics for evaluating overall adequacy of risk
    prediction procedures with censored survival data, *Statistics in Medicine* 30, 1105-1117; Wolbers, Blanche,
    Koller, Witteman and Gerds (2014), Concordance for prognostic models with competing risks, *Biostatistics* 15,
    526-539.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> round(concordance_ipcw(train, ([1, 2.5, 3, 3.5], [1, 1, 0, 0]), score=[2, 1, 3, 4]), 6)
    0.866667
    """
    share = read_ties(ties)
    seen, rows = read_both(train, test, entry, weights, cause)
    if cause is not None and (rows.entry > 0.0).any():
        raise SpecError(
            "cause= is not supported here for rows that entered late. Use cumulative_dynamic_auc(landmark=)."
        )
    G, time, w = censoring_times(seen), rows.time, rows.weight
    check_order(**{"the time of test": test[0], "score": score})
    f = read_column("score", score, len(time), infinite=True)
    if tau is not None and not (isinstance(tau, (int, float, np.number)) and tau > 0.0):
        raise SpecError(f"tau={tau!r}: must be a positive time.")
    asked = rows.case & (w > 0.0) & (time < (np.inf if tau is None else tau))
    other = rows.other & (w > 0.0) & (time <= time[asked].max(initial=-np.inf))
    w_other = np.zeros(len(w))
    w_other[other] = w[other] * G.weights(time[other], "The event of a test row at time", event=True)
    later = later_masses(time, np.where(rows.event, time, np.inf), f, w, rows.entry)
    # In reverse time, the rows with another event that begin where a row ends are those that had it by then.
    gone = later_masses(-time, np.where(rows.other, np.inf, -time), f, w_other)
    first = asked & (sum(later) + sum(gone) > 0.0)
    if not first.any():
        raise DataError(
            f"No order of a pair is known among the {len(f)} test rows. There must be an event"
            f"{'' if tau is None else ' before tau'}, and a row that was followed longer."
        )
    g = G.weights(time[first], "The event of a test row at time", event=True)
    higher, equal, less = (w[first] * g * (g * a[first] + b[first]) for a, b in zip(later, gone, strict=True))
    return float((higher + share * equal).sum()) / float((higher + equal + less).sum())


def _why(lower: Any, upper: Any) -> str:
    """What keeps rows from being ordered."""
    if len(lower) == 1:
        return "there must be at least two"
    if not (lower == upper).any() and np.isinf(upper).all():
        return "all are right-censored"
    if not (lower == upper).any() and np.isinf(lower).all():
        return "all are left-censored"
    return "their intervals overlap, or their times are equal"


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


def tied_mass(lower: Array, upper: Array, weight: Array, time_weight: Array | float = 1.0) -> float:
    """Number of pairs of exact rows at the same time; a row of weight w is w rows, and less than one has no pair."""
    exact = lower == upper
    at, w = np.unique(lower[exact], return_inverse=True)[1], weight[exact]
    together = np.bincount(at, weights=w)
    factor = np.broadcast_to(time_weight, len(exact))[exact]
    return float(0.5 * (factor * w) @ (together[at] - np.minimum(w, 1.0)))


def _keys(lower: Array, upper: Array) -> tuple[IntArray, IntArray]:
    """Whole numbers for both ends, such that one row is later if its begin exceeds the other's end."""
    # At one time come first the ends of intervals, then exact rows, then the begins of intervals.
    n = len(lower)
    at = np.unique(np.concatenate([lower, upper]), return_inverse=True)[1]
    exact = lower == upper
    return 3 * at[:n] + np.where(exact, 1, 2), 3 * at[n:] + exact
