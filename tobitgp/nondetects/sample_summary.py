"""Summaries of samples with non-detects, group by group, by several methods next to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.data.values import counted
from tobitgp.errors import SpecError
from tobitgp.nondetects.means import METHODS, TailRule, kaplan_meier_of, mean_limits, read_options, skewness_note
from tobitgp.nondetects.resampling import MANY
from tobitgp.nondetects.ros import MOST_CENSORED, ros_of
from tobitgp.nondetects.sample import GroupNames, Sample, clopper_pearson, read_groups, read_names
from tobitgp.nondetects.sample_likelihood import FamilyName, maximise
from tobitgp.nondetects.summary_tables import GroupSummary, MethodSummary, SampleSummary
from tobitgp.results.predict import check_probability
from tobitgp.typing import Frame

LABELS = {"km": "Kaplan-Meier", "ros": "ROS", "mle": "MLE"}
_HALF = 0.5
_TOO_FEW = "no estimates, since there are fewer than two distinct detects."
_FEW_DETECTS, _FEW_ROWS = 5, 50


def summary(
    data: Frame,
    response: str,
    censored: str | None = None,
    by: GroupNames = None,
    methods: Sequence[str] = ("km", "ros", "mle"),
    percentiles: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95),
    confidence: float = 0.95,
    bootstrap: int = 2000,
    rng: int | np.random.Generator | None = None,
    *,
    family: FamilyName = "lognormal",
    km_tail: TailRule = "efron",
) -> SampleSummary:
    """Means, standard deviations and percentiles of concentrations with non-detects, by several methods.

    Parameters
    ----------
    data : DataFrame or dict of columns
        One row per value.
    response : str
        Column of detects and of the limits of non-detects, in any units, or of text such as ``<0.5``; or the left-hand
        side of a formula, with ``| censor(limit)`` if limits are in a separate column.
    censored : str, optional
        Column that is 1 or True for non-detects.
    by : str or sequence of str, optional
        Columns of groups, e.g. ``["site", "year"]``; each group is summarised separately.
    methods : sequence of {"km", "ros", "mle"}
        Kaplan-Meier; robust regression on order statistics; maximum likelihood.
    percentiles : sequence of float
        Probabilities.
    confidence : float
        Confidence level of two-sided limits of the mean, a probability. "km" and "ros" have bootstrap limits
        (bias-corrected and accelerated), "mle" has profile likelihood limits. For more than 5,000 rows, "km" has
        Student's t limits and "ros" has none.
    bootstrap, rng
        As in :func:`tobitgp.nondetects.upper_confidence_limit`.
    family : {"lognormal", "normal", "weibull", "gamma"}
        Distribution for "mle".
    km_tail : {"efron", "smallest_detect", "bounds"}
        Where the Kaplan-Meier mean places the mass below the smallest detect: at the smallest limit, at the smallest
        detect, or at 0 and at the smallest detect, which gives bounds of the mean.

    Returns
    -------
    SampleSummary
        Summaries in the units of the response. Percentiles below every limit are given as ``<limit``. With more than
        80% non-detects, all percentiles below the highest limit are given in this way, without means. A group with
        fewer than two distinct detects has a row with only the share above its highest limit.

    Raises
    ------
    DataError
        If columns are missing, there are fewer than two distinct detects without ``by``, or values are not positive
        where they must be.
    SpecError
        If a method is unknown, a probability is outside (0, 1), or a method cannot use some rows.

    References
    ----------
    .. [1] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, Wiley, 2012.
    .. [2] B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), 171-185.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"lead": ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9", "<0.4", "1.1"]}
    >>> res = tg.nondetects.summary(data, "lead", methods="mle", percentiles=[0.1, 0.5])
    >>> res.summary_frame().loc[("lead", "mle"), ["mean", "lower", "upper", "p50"]].astype(float).round(3).tolist()
    [1.288, 0.758, 3.257, 0.94]
    """
    chosen = _read_methods(methods)
    given = np.ravel(np.asarray(percentiles, dtype=object))
    ps = tuple(dict.fromkeys(check_probability("percentiles", p, "one or more probabilities", 0.95) for p in given))
    level = check_probability("confidence", confidence)
    options: dict[str, Any] = {"family": family, "km_tail": km_tail, "bootstrap": bootstrap, "rng": rng}
    for method in chosen:
        read_options(method, None, **options)
    groups = tuple(
        _summarise(sample, key, chosen, ps, level, options, by is not None)
        for key, sample in read_groups(data, response, censored, by).items()
    )
    return SampleSummary(response, groups, ps, level, tuple(read_names(by)))


def _read_methods(methods: Any) -> tuple[str, ...]:
    chosen = tuple(np.ravel(np.asarray(methods, dtype=object)))
    wrong = [method for method in chosen if method not in METHODS]
    if wrong or not chosen:
        raise SpecError(f"methods={methods!r}: must be one or more of 'km', 'ros', 'mle'.")
    return tuple(dict.fromkeys(chosen))


def _summarise(
    sample: Sample,
    key: tuple[str, ...],
    methods: Sequence[str],
    ps: Sequence[float],
    confidence: float,
    options: dict[str, Any],
    group: bool,
) -> GroupSummary:
    n, below = len(sample), int(sample.below.sum())
    few = len(np.unique(sample.detects)) < 2
    if few and not group:
        sample.check_detects()
    most = few or below / n > MOST_CENSORED
    found = [_unknown(sample, method, ps, options) for method in methods] if few else []
    notes = [sample.what_is_known()] if few and not len(sample.limits) else []
    for method in () if few else methods:
        if method == "ros" and most:
            notes.append("ROS is left out: it needs at most 80% non-detects.")
            continue
        one = _METHODS[method](sample, ps, confidence, options)
        found.append(_above_limits(one, float(sample.limits[-1])) if most else one)
    exceedance = None
    if most and len(sample.limits):
        above = int((sample.detects > sample.limits[-1]).sum())
        exceedance = (above / n, *clopper_pearson(above, n, confidence))
    notes += [] if few else _notes(sample, methods, options)
    choice = _TOO_FEW if few else _choice(below / n)
    return GroupSummary(sample.name, n, below, sample.limits, choice, tuple(found), exceedance, tuple(notes), key)


def _unknown(sample: Sample, method: str, ps: Sequence[float], options: dict[str, Any]) -> MethodSummary:
    """Result of a method for a group with fewer than two distinct detects: only the limit above non-detects."""
    below = np.nan if len(sample.detects) else float(sample.limits[-1])
    label = _label(method, options)
    return MethodSummary(method, label, np.nan, np.nan, np.nan, np.nan, "", dict.fromkeys(ps, np.nan), below)


def _label(method: str, options: dict[str, Any]) -> str:
    return f"MLE {options['family']}" if method == "mle" else LABELS[method]


def _choice(share: float) -> str:
    """The recommended method for a share of non-detects."""
    if share == 0.0:
        return "ordinary statistics, since every value is detected."
    if share < _HALF:
        return "Kaplan-Meier, since under 50% are non-detects."
    if share <= MOST_CENSORED:
        return "ROS or MLE, since 50% to 80% are non-detects."
    return "percentiles above the highest limit and the share above it only, since over 80% are non-detects."


def _notes(sample: Sample, methods: Sequence[str], options: dict[str, Any]) -> Iterator[str]:
    n, share = len(sample), float(sample.below.mean())
    if sample.dropped:
        yield f"Left out: {counted(sample.dropped, 'row')} without a value."
    if (
        "mle" in methods
        and share <= MOST_CENSORED
        and (len(sample.detects) < _FEW_DETECTS or (n < _FEW_ROWS and share >= _HALF))
    ):
        yield "With so few detects prefer ROS or Kaplan-Meier to MLE."
    beyond = int((sample.censored & (sample.values > sample.detects.max())).sum())
    if "ros" in methods and share <= MOST_CENSORED and beyond:
        yield f"ROS leaves out {beyond} non-detects above the largest detect."
    if share <= MOST_CENSORED and {"km", "ros"} & set(methods):
        yield from skewness_note(sample)


def _kaplan_meier(sample: Sample, ps: Sequence[float], confidence: float, options: dict[str, Any]) -> MethodSummary:
    found = kaplan_meier_of(sample, options["km_tail"])
    percentiles = {p: found.quantile(p) for p in ps}
    if options["km_tail"] == "bounds":
        text = "bounds, with the mass below the smallest detect at 0 and there"
        return MethodSummary("km", LABELS["km"], found.mean, found.sd, *found.bounds, text, percentiles, found.smallest)
    one = MethodSummary("km", LABELS["km"], found.mean, found.sd, np.nan, np.nan, "", percentiles, found.smallest)
    return _with_limits(one, sample, confidence, options)


def _ros(sample: Sample, ps: Sequence[float], confidence: float, options: dict[str, Any]) -> MethodSummary:
    found = ros_of(sample)
    percentiles = {p: float(found.quantile(p)) for p in ps}
    one = MethodSummary("ros", LABELS["ros"], found.mean, found.sd, np.nan, np.nan, "", percentiles, np.nan)
    return _with_limits(one, sample, confidence, options)


def _mle(sample: Sample, ps: Sequence[float], confidence: float, options: dict[str, Any]) -> MethodSummary:
    found = maximise(sample, options["family"])
    percentiles = {p: found.percentile(p) for p in ps}
    lower, upper = (found.profile_limit(found.family.mean, at) for at in _tails(confidence))
    label = _label("mle", options)
    return MethodSummary("mle", label, found.mean, found.sd, lower, upper, "profile likelihood", percentiles, np.nan)


_METHODS = {"km": _kaplan_meier, "ros": _ros, "mle": _mle}


def _with_limits(one: MethodSummary, sample: Sample, confidence: float, options: dict[str, Any]) -> MethodSummary:
    """Add two-sided limits of a mean without a family; none if they require more detects."""
    many = len(sample) > MANY
    if len(np.unique(sample.detects)) < 3 or (many and one.method == "ros"):
        return one
    chosen = read_options(one.method, "km-t" if many else "bca", **options)
    found = mean_limits(sample, chosen, _tails(confidence))
    text = "Student's" if many else f"BCa bootstrap, {chosen.bootstrap} resamples"
    (lower, upper), error = found.limits, max(found.error)
    return replace(one, lower=lower, upper=upper, interval=text, monte_carlo_error=error, redrawn=found.redrawn)


def _tails(confidence: float) -> tuple[float, float]:
    """Orders of the ends of a two-sided interval."""
    return 0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence


def _above_limits(found: MethodSummary, highest: float) -> MethodSummary:
    """Only percentiles above the highest limit."""
    percentiles = {p: v if v > highest else np.nan for p, v in found.percentiles.items()}
    none: dict[str, Any] = dict.fromkeys(("mean", "sd", "lower", "upper"), np.nan)
    return replace(found, **none, interval="", percentiles=percentiles, below=highest, monte_carlo_error=0.0)
