r"""Test the survival curve of a mixture against the nonparametric curve, (CHK17).

The Kaplan-Meier or Turnbull curve is self-consistent: at every time it is the mean over the rows of the probability,
given what is known about the row, that the event comes later. For a fitted curve, the mean over n rows of
:math:`\varphi_i(t) = P(Y_i \le t \mid \text{row } i) - F(t)` differs from 0 by as much as the likelihood would move it
at t. Parameters were fitted to the same rows, which takes the part of :math:`\varphi_i` along the scores of the
parameters out of its variance; the largest of the standardised sums over a grid of times has the distribution of the
largest of normal numbers with the covariance that is left. With left- or interval-censored rows that variance is too
small in samples of 60. There the variance is that of fixed parameters, which is conservative.

References
----------
Lin, Wei and Ying (1993), Checking the Cox model with cumulative sums of martingale-based residuals, *Biometrika* 80,
557-572.
Turnbull (1976), The empirical distribution function with arbitrarily grouped, censored and truncated data, *JRSS B* 38,
290-295.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.diagnostics.remedies import Noise
from tobitgp.diagnostics.residual_tests import RawTest
from tobitgp.numerics.nonparametric import kaplan_meier, turnbull
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.mixture import Predictive

_TIMES, _DRAWS, _CHUNK = 60, 20_000, 2_000
_LEAST = 3.0  # variance of a sum, in events, from which on it is looked at
_LARGE = 0.02  # difference of the curves from which on it is
_DOUBT = 0.02
_STEP = 1e-3
_OF_PRIOR = (
    "The prior moves the mixture away from the data: the maximum of the likelihood agrees with that curve. Fit by "
    "method='em', or set weaker priors=."
)


def survival_test(results: Any, noise: Noise) -> RawTest | None:
    """Compare the curves; None where so few rows are seen that there is nothing to compare."""
    fit, weight, (lower, upper, _) = results.parts.fit, results.parts.rows.tested_weight, results._training_ends()
    predictive, times = fit.predictive(), _times(lower, upper)
    away = _away(predictive, times, lower, upper)
    square = weight @ away**2
    seen = square > _LEAST
    if not seen.any():
        return None
    times, away = times[seen], away[:, seen]
    left, moved = _beside_scores(away, _scores(results, lower, upper), weight)
    sums, size = weight @ away, np.sqrt(square[seen])
    right = bool(((lower == upper) | np.isposinf(upper)).all())
    if not right:
        left = np.asarray(away.T @ (weight[:, None] * away))
    gaps, p = _largest(sums, left, size)
    prior = results.parts.bayes and _largest(sums - moved, left, size)[1] >= _DOUBT
    at = int(np.argmax(np.abs(gaps)))
    free, ours = _nonparametric(times[at], lower, upper, weight), float(predictive.sf(times[at]))
    curve = "Kaplan-Meier" if right else "Turnbull"
    return RawTest(
        "survival",
        float(gaps[at]),
        p,
        abs(free - ours) > _LARGE,
        f"the fitted survival curve agrees with the {curve} curve",
        f"the fitted survival curve differs from the {curve} curve: at {times[at]:.4g} the mixture has {ours:.1%}, and "
        f"the {curve} curve {free:.1%}",
        _OF_PRIOR if prior else noise.remedy,
    )


def _times(lower: Array, upper: Array) -> Array:
    """Up to 60 times, evenly spread over where rows end."""
    ends = np.sort(np.where(np.isfinite(upper), upper, lower))
    inside = (np.arange(_TIMES) + 0.5) / _TIMES * len(ends)
    return np.unique(ends[inside.astype(np.intp)])


def _away(predictive: Predictive, times: Array, lower: Array, upper: Array) -> Array:
    """Probability that each row (n,) is at or below times (m,), given what is known about it, less F; (n, m)."""
    above, start, end = (np.asarray(predictive.sf(x)) for x in (times, lower, upper))
    exact, mass = lower == upper, start - end
    share = (start[:, None] - np.clip(above, end[:, None], start[:, None])) / np.where(mass > 0.0, mass, 1.0)[:, None]
    known = exact | (mass <= 0.0)
    share[known] = times >= np.where(np.isfinite(upper), upper, lower)[known, None]
    return np.asarray(share - (1.0 - above))


def _scores(results: Any, lower: Array, upper: Array) -> Array:
    """Derivatives of the rows' log likelihoods in the parameters, in some units, (n, r)."""
    estimates = results._time_rows(None, (), bands=False).times.posterior
    with np.errstate(all="ignore"):
        rows = [
            estimates.moved(r, _STEP).log_mass(lower, upper) - estimates.moved(r, -_STEP).log_mass(lower, upper)
            for r in range(len(estimates.x))
        ]
    found = np.stack(rows, axis=1)
    return np.where(np.isfinite(found), found, 0.0)


def _beside_scores(away: Array, scores: Array, weight: Array) -> tuple[Array, Array]:
    """Covariance (m, m) of sums over the rows, and the part of the sums along the scores, (m,)."""
    root = np.sqrt(weight)[:, None]
    slopes = np.linalg.lstsq(root * scores, root * away, rcond=1e-8)[0]
    left = root * (away - scores @ slopes)
    return np.asarray(left.T @ left), np.asarray(weight @ scores @ slopes)


def _largest(sums: Array, covariance: Array, size: Array) -> tuple[Array, float]:
    """Sums (m,) in their sizes, and the probability that the largest of normal ones with a covariance is larger."""
    gaps = sums / size
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    root, largest = vectors * np.sqrt(np.maximum(values, 0.0)), np.abs(gaps).max()
    rng, beyond = np.random.default_rng(0), 0
    for _ in range(_DRAWS // _CHUNK):
        beyond += int((np.abs(rng.standard_normal((_CHUNK, len(root))) @ root.T).max(axis=1) >= largest).sum())
    return gaps, (beyond + 1.0) / (_DRAWS + 1.0)


def _nonparametric(time: float, lower: Array, upper: Array, weight: Array) -> float:
    """Survival at a time by the Kaplan-Meier or Turnbull estimate."""
    if ((lower == upper) | np.isposinf(upper)).all():
        times, survival = kaplan_meier(lower, lower == upper, weight)
    else:
        found = turnbull(lower, upper, weight)
        times, survival = found.right, found.survival
    return float(np.append(1.0, survival)[np.searchsorted(times, time, side="right")])
