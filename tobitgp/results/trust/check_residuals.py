"""Diagnostics of quantile residuals, which are standard normal numbers where a model is right.

(CHK11) and (CHK12) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.results.trust.findings import Finding, judge
from tobitgp.typing import Array

LEAST_ROWS = 20
BINS = 10
TENTHS = ("lowest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "highest")
_EXCESS, _SKEW, _TREND, _SHARE = 0.5, 0.25, 0.1, 0.02


class Noise(NamedTuple):
    """What residuals are judged by, in words.

    Attributes
    ----------
    name : str
    remedy : str
        What to try where its shape is wrong.
    heavier : str
        What to try where its tails are too light.
    """

    name: str
    remedy: str
    heavier: str


def residual_findings(scores: Array, fit: Array, columns: pd.DataFrame, noise: Noise) -> Iterator[Finding]:
    """Diagnostics of n residuals.

    Parameters
    ----------
    scores : (n,) array
        Quantile residuals, randomised where a row is censored.
    fit : (n,) array
        What the model expects of each row, constant for mixtures.
    columns : DataFrame
        Of n rows, the columns that the model looks at.
    noise : Noise

    Yields
    ------
    Finding
    """
    if len(scores) < LEAST_ROWS:
        return
    scores = np.clip(scores, -8.0, 8.0)
    yield uniformity(scores, noise)
    yield symmetry(scores, noise)
    yield tails(scores, noise)
    if np.ptp(fit) > 0.0:
        yield spread(scores, fit)
    for name in columns:
        values = columns[name]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 2:
            yield pattern(scores, values.to_numpy(dtype=np.float64), str(name))


def uniformity(scores: Array, noise: Noise) -> Finding:
    """Shares of rows in tenths of their predictive distributions, by Pearson's test."""
    from scipy.stats import chi2

    n = len(scores)
    share = np.bincount(np.minimum((ndtr(scores) * BINS).astype(np.intp), BINS - 1), minlength=BINS) / n
    statistic = n * BINS * float(np.square(share - 1.0 / BINS).sum())
    p, most = float(chi2.sf(statistic, BINS - 1)), float(np.abs(share - 1.0 / BINS).max())
    verdict = judge(p, material=most > _SHARE)
    words = f"the predictive distributions are calibrated: every tenth of them holds {1 / BINS:.0%} of the rows"
    if verdict != "good":
        at = int(np.argmax(np.abs(share - 1.0 / BINS)))
        words = (
            f"not calibrated: {share[at]:.1%} of the rows lie in the {TENTHS[at]} tenth of their predictive "
            f"distributions (plot_calibration()). {noise.remedy}"
        )
    return Finding("calibration", statistic, p, verdict, words)


def symmetry(scores: Array, noise: Noise) -> Finding:
    """Skewness of the residuals, by D'Agostino's test."""
    from scipy.stats import skew, skewtest

    value, p = float(skew(scores)), float(skewtest(scores).pvalue)
    verdict = judge(p, material=abs(value) > _SKEW)
    words = f"residuals are as symmetric as {noise.name} makes them"
    if verdict != "good":
        side = "right" if value > 0.0 else "left"
        words = (
            f"residuals are skewed to the {side} (skewness {value:.2f} where 0 is right): {noise.name} has another "
            f"shape. {noise.remedy}"
        )
    return Finding("symmetry", value, p, verdict, words)


def tails(scores: Array, noise: Noise) -> Finding:
    """Kurtosis of the residuals, by Anscombe and Glynn's test."""
    from scipy.stats import kurtosis, kurtosistest

    value, p = float(kurtosis(scores)), float(kurtosistest(scores).pvalue)
    verdict = judge(p, material=abs(value) > _EXCESS)
    words = f"tails are those of {noise.name}"
    if verdict != "good" and value > 0.0:
        words = (
            f"tails are heavier than those of {noise.name} (excess kurtosis {value:.2f}). {noise.heavier}, and look at "
            "the rows with the largest residuals."
        )
    elif verdict != "good":
        words = (
            f"tails are lighter than those of {noise.name} (excess kurtosis {value:.2f}): values may have been cut "
            "at limits that the formula does not name, or two groups be mixed."
        )
    return Finding("tails", value, p, verdict, words)


def spread(scores: Array, fit: Array) -> Finding:
    """Rank correlation of the size of the residuals with the fit."""
    from scipy.stats import spearmanr

    found = spearmanr(np.abs(scores), fit)
    value, p = float(found.statistic), float(found.pvalue)
    verdict = judge(p, material=abs(value) > _TREND)
    words = "residuals spread alike along the fit"
    if verdict != "good":
        how = "grows" if value > 0.0 else "shrinks"
        words = (
            f"the spread of the residuals {how} with the fit (rank correlation {value:.2f}). Model the scale by "
            "sigma='~ z' (method='mle'), or take a log-time family if the response is positive."
        )
    return Finding("spread", value, p, verdict, words)


def pattern(scores: Array, column: Array, name: str) -> Finding:
    r"""Serial correlation of the residuals in the order of a column, by von Neumann's ratio.

    With :math:`r_i` the residuals less their mean, in that order, :math:`1 - \sum (r_{i+1} - r_i)^2 / 2 \sum r_i^2` has
    mean 0 and variance close to :math:`(n - 2) / (n^2 - 1)` under independence, (CHK12) of the theory pages; only
    positive correlation is evidence of a shape that was missed. Rows with the same value stand in an order that has
    nothing to do with their residuals.

    References
    ----------
    .. [1] J. von Neumann, "Distribution of the ratio of the mean square successive difference to the variance",
       Annals of Mathematical Statistics 12 (1941).
    """
    n = len(scores)
    shuffled = np.random.default_rng(0).permutation(n)
    order = shuffled[np.argsort(column[shuffled], kind="stable")]
    r = scores[order] - scores.mean()
    value = float(1.0 - np.square(np.diff(r)).sum() / (2.0 * (r @ r)))
    p = float(ndtr(-value * np.sqrt((n * n - 1.0) / (n - 2.0))))
    verdict = judge(p, material=value > _TREND)
    words = f"no pattern left along {name}"
    if verdict != "good":
        words = (
            f"residuals of neighbours along {name} are alike (correlation {value:.2f}): a curve is missed. Put "
            f"gp({name}) into the formula; where it is there, a shorter length-scale, more inducing inputs or another "
            "kernel."
        )
    return Finding(f"pattern in {name}", value, p, verdict, words)
