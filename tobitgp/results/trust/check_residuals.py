"""Tests of quantile residuals, which are standard normal numbers where a model is right.

(CHK11), (CHK12) and (CHK15) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri_exp

from tobitgp.results.trust.findings import RawTest
from tobitgp.typing import Array, IntArray

LEAST_ROWS = 20
MOST_COPIES = 1_000_000
_EXCESS, _SKEW, _TREND = 0.5, 0.25, 0.1


class Noise(NamedTuple):
    """What residuals are judged by, in words."""

    name: str
    remedy: str  # what to try where its shape is wrong
    heavier: str  # what to try where its tails are too light


def repeated(weight: Array) -> IntArray:
    """Rows, each as often as its weight says; of other weights than whole numbers the sums over rows are rounded."""
    fewer = min(1.0, max(len(weight), MOST_COPIES) / weight.sum())
    ends = np.floor(np.cumsum(fewer * weight) + 0.5)
    return np.repeat(np.arange(len(weight)), np.diff(ends, prepend=0.0).astype(np.intp))


def normal_scores(lower: Array, upper: Array, uniform: Array) -> Array:
    """Quantile residuals, (n,): normal scores at a random point between two log survival probabilities."""
    with np.errstate(divide="ignore"):
        above = np.logaddexp(np.log1p(-uniform) + lower, np.log(uniform) + upper)
        below = np.log(-np.expm1(np.minimum(above, 0.0)))
    return np.where(above < below, -ndtri_exp(above), ndtri_exp(below))


def residual_tests(scores: Array, fit: Array, columns: pd.DataFrame, noise: Noise) -> Iterator[RawTest]:
    """Tests of n residuals.

    Shapes: scores, fit (n,).
    """
    scores = np.clip(scores, -8.0, 8.0)
    yield symmetry(scores, noise)
    yield tails(scores, noise)
    if np.ptp(fit) > 0.0:
        yield spread(scores, fit)
    for name in columns:
        if pd.api.types.is_numeric_dtype(columns[name]) and columns[name].nunique() > 1:
            values = columns[name].to_numpy(dtype=np.float64)
            yield spread(scores, values, str(name))
            if columns[name].nunique() > 2:
                yield pattern(scores, values, str(name))


def symmetry(scores: Array, noise: Noise) -> RawTest:
    """Skewness of the residuals, by D'Agostino's test."""
    from scipy.stats import skew, skewtest

    value, p = float(skew(scores)), float(skewtest(scores).pvalue)
    side = "right" if value > 0.0 else "left"
    return RawTest(
        "symmetry",
        value,
        p,
        abs(value) > _SKEW,
        f"residuals are as symmetric as {noise.name} makes them",
        f"residuals are skewed to the {side}, skewness {value:.2f} where 0 is right: {noise.name} has another shape",
        noise.remedy,
    )


def tails(scores: Array, noise: Noise) -> RawTest:
    """Kurtosis of the residuals, by Anscombe and Glynn's test."""
    from scipy.stats import kurtosis, kurtosistest

    value, p = float(kurtosis(scores)), float(kurtosistest(scores).pvalue)
    heavier = f"{noise.heavier}, and look at the rows with the largest residuals."
    lighter = "Values may have been cut at limits that the formula does not name, or two groups be mixed."
    return RawTest(
        "tails",
        value,
        p,
        abs(value) > _EXCESS,
        f"tails are those of {noise.name}",
        f"tails are {'heavier' if value > 0.0 else 'lighter'} than those of {noise.name}, excess kurtosis {value:.2f}",
        heavier if value > 0.0 else lighter,
    )


def spread(scores: Array, column: Array, name: str = "") -> RawTest:
    r"""Whether the size of the residuals follows a column, by Koenker's studentised form of Breusch and Pagan's test.

    :math:`n R^2` of the least squares of :math:`|r|` on a parabola in the ranks of the column, (CHK15) of the theory
    pages; chi-squared with as many degrees of freedom as the parabola has.

    Shapes: scores, column (n,). R. Koenker, "A note on studentizing a test for heteroscedasticity", Journal of
    Econometrics 17 (1981).
    """
    from scipy.stats import chi2, rankdata

    n, size, along = len(scores), np.abs(scores), f"along {name or 'the fit'}"
    rank = 2.0 * (rankdata(column) - 0.5) / n - 1.0
    parabola = np.column_stack([np.ones(n), rank, rank**2])
    coefficient, _, order, _ = np.linalg.lstsq(parabola, size)
    r_squared = float(np.var(parabola @ coefficient) / np.var(size))
    trend = float(np.corrcoef(size, rank)[0, 1])
    bent = 2.0 * trend**2 < r_squared
    how = "changes" if bent else "grows" if trend > 0.0 else "shrinks"
    return RawTest(
        f"spread in {name}" if name else "spread",
        n * r_squared,
        float(chi2.sf(n * r_squared, order - 1)),
        r_squared > _TREND**2,
        f"residuals spread alike {along}",
        f"the spread of the residuals {how} {along}, correlation {'' if bent else '-' if trend < 0.0 else ''}"
        f"{np.sqrt(r_squared):.2f}",
        f"Model the scale by sigma='~ {name or 'z'}' (method='mle'), or take a log-time family if the response is "
        "positive.",
    )


def pattern(scores: Array, column: Array, name: str) -> RawTest:
    r"""Serial correlation of the residuals in the order of a column, by von Neumann's ratio.

    With :math:`r_i` the residuals less their mean, in that order, :math:`1 - \sum (r_{i+1} - r_i)^2 / 2 \sum r_i^2` has
    mean 0 and variance close to :math:`(n - 2) / (n^2 - 1)` under independence, (CHK12) of the theory pages; only
    positive correlation is evidence of a shape that was missed. Rows with the same value stand in an order that has
    nothing to do with their residuals.

    J. von Neumann, "Distribution of the ratio of the mean square successive difference to the variance", Annals of
    Mathematical Statistics 12 (1941).
    """
    n = len(scores)
    shuffled = np.random.default_rng(0).permutation(n)
    order = shuffled[np.argsort(column[shuffled], kind="stable")]
    r = scores[order] - scores.mean()
    value = float(1.0 - np.square(np.diff(r)).sum() / (2.0 * (r @ r)))
    p = float(ndtr(-value * np.sqrt((n * n - 1.0) / (n - 2.0))))
    return RawTest(
        f"pattern in {name}",
        value,
        p,
        value > _TREND,
        f"no pattern left along {name}",
        f"residuals of neighbours along {name} are alike, correlation {value:.2f}: a curve is missed",
        f"Put gp({name}) into the formula; where it is there, a shorter length-scale, more inducing inputs or another "
        "kernel.",
    )
