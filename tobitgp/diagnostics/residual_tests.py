"""Tests of quantile residuals, of calibration and of single rows, with verdicts and what to try.

(CHK11) to (CHK16) of the theory pages.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri_exp

from tobitgp.data.notebook import html_of_rows
from tobitgp.diagnostics.moment_tests import kurtosis_test, skewness_test, weighted_ranks
from tobitgp.diagnostics.remedies import Noise
from tobitgp.typing import Array, BoolArray, IntArray

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"
MARKS = {GOOD: " ok ", DOUBTFUL: "warn", BAD: "bad "}  # as readers see verdicts
_DOUBT, _CERTAIN = 0.02, 0.001
_WIDTH = 100
LEAST_ROWS = 20
MOST_COPIES = 1_000_000
TENTHS = ("lowest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "highest")
CELLS = len(TENTHS)
_VISIBLE = 0.1  # of the information of uncensored rows
_EXCESS, _SKEW, _TREND, _SHARE, _LARGE = 0.5, 0.25, 0.1, 0.02, 1.0  # from which on what is found is large
_STEPS, _HALVINGS = 50, 60
_LARGEST_LEVERAGE = 1.0 - 1e-12  # of a row that the fit follows


class Finding(NamedTuple):
    """One diagnostic of a fit.

    Attributes
    ----------
    name : str
        Name of the diagnostic.
    value : float
        The statistic, on its own scale; NaN if there is none.
    p : float
        Tail probability (p-value) of the statistic under the model, adjusted by Holm's method for all tests of the
        check; NaN if the diagnostic is not a test.
    verdict : {"good", "doubtful", "bad"}
        For a test: "good" if p is 0.02 or more; "bad" if it is below 0.001 and the effect is large.
    words : str
        Meaning of the result, and what to try.
    """

    name: str
    value: float
    p: float
    verdict: str
    words: str


class RawTest(NamedTuple):
    """A test of a fit before its p is adjusted for the others."""

    name: str
    value: float  # the statistic
    p: float  # its tail probability if the model is right
    large: bool  # whether what was found is large enough to be bad
    good: str  # what it means if p is not small
    wrong: str  # what it means if p is small
    remedy: str  # what to try then


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Check:
    """Diagnostics of a fit; prints in words.

    Attributes
    ----------
    findings : tuple of Finding
        One for each diagnostic that applies.
    """

    findings: tuple[Finding, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each diagnostic by name, columns ``value, p, verdict, words``."""
        return pd.DataFrame(list(self.findings), columns=list(Finding._fields)).set_index("name")

    @property
    def ok(self) -> bool:
        """Whether no diagnostic found anything."""
        return all(found.verdict == GOOD for found in self.findings)

    @property
    def advice(self) -> list[str]:
        """What was found, bad things first; empty where all is well."""
        return [found.words for verdict in (BAD, DOUBTFUL) for found in self.findings if found.verdict == verdict]

    @property
    def _headline(self) -> str:
        wrong = len(self.advice)
        return f"{len(self.findings)} diagnostics, " + (f"{wrong} to look at" if wrong else "nothing found")

    def _repr_html_(self) -> str:
        """Findings as a table, in a notebook."""
        rows = ((MARKS[found.verdict].strip(), found.name, found.words) for found in self.findings)
        return html_of_rows(rows, self._headline)

    def __repr__(self) -> str:
        width = max(len(found.name) for found in self.findings)
        lines = [self._headline]
        for found in self.findings:
            head = f"[{MARKS[found.verdict]}] {found.name:<{width}}  "
            lines.append(textwrap.fill(found.words, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))
        return "\n".join(lines)


def judge(found: Iterable[Finding | RawTest]) -> tuple[Finding, ...]:
    """Findings as they are, and tests with their p adjusted by Holm's method, so that all hold one level together."""
    found = list(found)
    p = [one.p for one in found if isinstance(one, RawTest)]
    adjusted = iter(holm(p))
    return tuple(_judged(one, next(adjusted), len(p)) if isinstance(one, RawTest) else one for one in found)


def holm(p: Sequence[float]) -> list[float]:
    """Tail probabilities adjusted for the number of tests by Holm's method."""
    raised = np.empty(len(p))
    raised[np.argsort(p)] = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))
    return np.minimum(raised, 1.0).tolist()


def _judged(test: RawTest, p: float, tests: int) -> Finding:
    if not p < _DOUBT:
        return Finding(test.name, test.value, p, GOOD, test.good)
    verdict = BAD if test.large and p < _CERTAIN else DOUBTFUL
    small = "" if test.large else "; a small effect, significant because there are many rows"
    many = f", adjusted for {tests} tests" if tests > 1 else ""
    shown = "p < 0.001" if p < _CERTAIN else f"p = {p:.2g}"
    return Finding(test.name, test.value, p, verdict, f"{test.wrong} ({shown}{many}{small}). {test.remedy}")


def plain(name: str, words: str, *, good: bool, value: float = np.nan, otherwise: str = DOUBTFUL) -> Finding:
    """A finding that is not a test."""
    return Finding(name, value, np.nan, GOOD if good else otherwise, words)


def calibration(ends: PredictedSurvival, noise: Noise) -> Finding | RawTest:
    """Probabilities of the tenths of the predictive distributions, by a score test: Pearson's without censoring."""
    from scipy.stats import chi2

    shares, exact = tenth_shares(-np.expm1(ends.lower), -np.expm1(ends.upper))
    statistic, df = score_test(shares, exact, ends.weight)
    if df == 0:
        words = (
            "too few rows are uncensored to test the predictive distributions: residuals of censored rows are drawn "
            "from the model itself"
        )
        return plain("calibration", words, value=0.0, good=False)
    p = float(chi2.sf(statistic, df))
    found = turnbull_tenths(shares, ends.weight)
    at = int(np.argmax(np.abs(found - 1.0 / CELLS)))
    how = "" if exact.all() else " by Turnbull's estimate"
    return RawTest(
        "calibration",
        statistic,
        p,
        bool(abs(found[at] - 1.0 / CELLS) > _SHARE),
        "the predictive distributions are calibrated: each tenth of them contains about a tenth of the rows",
        f"the predictive distributions are not calibrated: {found[at]:.1%} of the rows lie in their {TENTHS[at]} "
        f"tenth{how}; see plot_calibration()",
        noise.remedy,
    )


def tenth_shares(lower: Array, upper: Array) -> tuple[Array, BoolArray]:
    """Shares of n rows in tenths, (n, 10), each spread evenly over (lower, upper]; and whether it is one point."""
    exact, cell = lower == upper, np.arange(CELLS)
    overlap = np.minimum(CELLS * upper[:, None], cell + 1.0) - np.maximum(CELLS * lower[:, None], cell)
    shares = np.clip(overlap, 0.0, None)
    shares[exact] = np.minimum((CELLS * lower[exact]).astype(np.intp), CELLS - 1)[:, None] == cell
    return shares / shares.sum(axis=1, keepdims=True), exact


def score_test(shares: Array, exact: BoolArray, weight: Array) -> tuple[float, int]:
    """Statistic and degrees of freedom of the score test that all tenths have the same probability.

    The information is Louis': of uncensored rows, less the variance that censoring leaves inside the rows' intervals,
    without directions of which it hardly tells.
    """
    n, hidden = weight.sum(), weight[~exact, None] * shares[~exact]
    score = weight @ shares - n / CELLS
    information = n * (np.eye(CELLS) / CELLS - 1.0 / CELLS**2) - np.diag(hidden.sum(axis=0)) + hidden.T @ shares[~exact]
    value, direction = np.linalg.eigh(information)
    seen = value > _VISIBLE * n / CELLS
    return float(np.sum(np.square(direction.T @ score)[seen] / value[seen])), int(seen.sum())


def turnbull_tenths(shares: Array, weight: Array) -> Array:
    """Turnbull's self-consistent estimate of the probabilities of the tenths, from equal ones on."""
    found = np.full(CELLS, 1.0 / CELLS)
    for _ in range(_STEPS):
        found = found * ((weight / (shares @ found)) @ shares) / weight.sum()
    return found


def influence(scores: Array, p: pd.Series[float], total: float) -> RawTest:
    """Largest leave-one-out residual of n rows, by Bonferroni's test of outliers."""
    owed = np.asarray(p, dtype=np.float64)
    size = left_out_size(scores, owed)
    at, most = int(np.argmax(size)), int(np.argmax(owed))
    label = p.index.tolist()[at]
    return RawTest(
        "influence",
        float(size[at]),
        float(min(2.0 * total * ndtr(-size[at]), 1.0)),
        bool(owed[at] > _LARGE),
        f"no row is an outlier (row {p.index[most]} changes its own prediction most, by {owed[most]:.2g} nats)",
        f"row {label} is {size[at]:.1f} standard deviations from the prediction by the other rows, and changes its own "
        f"prediction by {owed[at]:.2g} nats",
        f"Check its value, and compare with a fit without it, to data.drop({label!r}).",
    )


def left_out_size(scores: Array, owed: Array) -> Array:
    r"""Size of the residuals against predictions without their row, (n,).

    In a Gaussian model a row of leverage h and leave-one-out residual t has the residual :math:`r^2 = t^2 (1 - h) / (1
    + h)` and adds :math:`r^2 h / (1 - h) - \log(1 - h^2) / 2` nats to its log predictive density: that gives h.
    """
    squares = np.square(scores)
    low, high = np.zeros(len(scores)), np.full(len(scores), _LARGEST_LEVERAGE)
    for _ in range(_HALVINGS):
        h = 0.5 * (low + high)
        above = squares * h / (1.0 - h) - 0.5 * np.log1p(-(h**2)) > owed
        low, high = np.where(above, low, h), np.where(above, h, high)
    return np.sqrt(squares * (1.0 + low) / (1.0 - low))


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


def residual_tests(rows: ScoredResiduals, columns: pd.DataFrame, noise: Noise) -> Iterator[RawTest]:
    """Tests of residuals, by themselves, along the fit and along columns of the same n rows."""
    rows, fit = rows._replace(scores=np.clip(rows.scores, -8.0, 8.0)), rows.fit
    yield symmetry(rows, noise)
    yield tails(rows, noise)
    if np.ptp(fit) > 0.0:
        yield spread(rows, fit, remedy=noise.of_spread("", fit, columns))
    for name, column in columns.items():
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > 1:
            values = column.to_numpy(dtype=np.float64)
            yield spread(rows, values, str(name), remedy=noise.of_spread(str(name), fit, columns))
            if column.nunique() > 2:
                yield pattern(rows, values, str(name), remedy=noise.of_pattern(str(name)))


def symmetry(rows: ScoredResiduals, noise: Noise) -> RawTest:
    """Skewness of the residuals, by D'Agostino's test."""
    value, p = skewness_test(rows.scores, rows.weight)
    side = "right" if value > 0.0 else "left"
    return RawTest(
        "symmetry",
        value,
        p,
        abs(value) > _SKEW,
        f"the residuals are as symmetric as under {noise.name}",
        f"the residuals are skewed to the {side}: their skewness is {value:.2f}, and 0 under {noise.name}",
        noise.remedy,
    )


def tails(rows: ScoredResiduals, noise: Noise) -> RawTest:
    """Kurtosis of the residuals, by Anscombe and Glynn's test."""
    value, p = kurtosis_test(rows.scores, rows.weight)
    lighter = (
        "If values were cut off at a limit, add it by censor() or truncate(); if two groups are mixed, add the column "
        "that separates them."
    )
    how = "heavier" if value > 0.0 else "lighter"
    return RawTest(
        "tails",
        value,
        p,
        abs(value) > _EXCESS,
        f"the tails are as heavy as those of {noise.name}",
        f"the tails are {how} than those of {noise.name}: excess kurtosis {value:.2f}",
        f"{noise.heavier}." if value > 0.0 else lighter,
    )


def spread(rows: ScoredResiduals, column: Array, name: str = "", *, remedy: str = "") -> RawTest:
    r"""Whether the size of the residuals follows a column: Koenker's studentised form of Breusch and Pagan's test.

    :math:`n R^2` of the least squares of :math:`|r|` on a parabola in the ranks of the column, (CHK15) of the theory
    pages; chi-squared with as many degrees of freedom as the parabola has.
    """
    from scipy.stats import chi2

    size, weight, along = np.abs(rows.scores), rows.weight, f"along {name or 'the fit'}"
    n, rank = weight.sum(), weighted_ranks(column, weight)
    parabola, root = np.column_stack([np.ones(len(rank)), rank, rank**2]), np.sqrt(weight)
    coefficient, _, order, _ = np.linalg.lstsq(root[:, None] * parabola, root * size)
    varies = np.ptp(size) > 0.0 and np.ptp(rank) > 0.0
    covariance = np.cov(np.stack([size, rank, parabola @ coefficient]), aweights=weight)
    r_squared = float(covariance[2, 2] / covariance[0, 0]) if varies else 0.0
    trend = float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])) if varies else 0.0
    bent = 2.0 * trend**2 < r_squared
    how = "changes" if bent else "grows" if trend > 0.0 else "shrinks"
    return RawTest(
        f"spread in {name}" if name else "spread",
        n * r_squared,
        float(chi2.sf(n * r_squared, order - 1)),
        r_squared > _TREND**2,
        f"the standard deviation of the residuals is constant {along}",
        f"the standard deviation of the residuals {how} {along}, correlation "
        f"{'' if bent else '-' if trend < 0.0 else ''}{np.sqrt(r_squared):.2f}",
        remedy,
    )


def pattern(rows: ScoredResiduals, column: Array, name: str, *, remedy: str = "") -> RawTest:
    r"""Serial correlation of the residuals in the order of a column, ties in random order, by von Neumann's ratio.

    With :math:`r_i` the residuals less their mean, in that order, :math:`1 - \sum (r_{i+1} - r_i)^2 / 2 \sum r_i^2` has
    mean 0 and variance close to :math:`(n - 2) / (n^2 - 1)` under independence, (CHK12) of the theory pages; only
    positive correlation is evidence of a shape that was missed. Rows that are equal in everything have equal residuals
    and would be their own neighbours: the weighted sum of their residuals is one number of the n.
    """
    weight = rows.weight
    _, first, code = np.unique(rows.content, return_index=True, return_inverse=True)
    sums = np.bincount(code, weight * (rows.scores - np.average(rows.scores, weights=weight)))
    n = len(sums)
    shuffled = np.random.default_rng(0).permutation(n)
    r = sums[shuffled[np.argsort(column[first][shuffled], kind="stable")]]
    value = float(1.0 - np.square(np.diff(r)).sum() / (2.0 * (r @ r)))
    p = float(ndtr(-value * np.sqrt((n * n - 1.0) / (n - 2.0))))
    return RawTest(
        f"pattern in {name}",
        value,
        p,
        value > _TREND,
        f"the residuals have no pattern along {name}",
        f"neighbouring residuals along {name} are correlated by {value:.2f}: a smooth effect is missing",
        remedy,
    )


class ScoredResiduals(NamedTuple):
    """Rows whose residuals are tested, in an order that is not that of the data; (n,) each."""

    scores: Array  # quantile residuals
    weight: Array  # as many in sum as independent rows have the same information
    content: IntArray  # the same number where rows are equal in everything
    fit: Array  # what is expected of the response


class PredictedSurvival(NamedTuple):
    """Predicted log survival of n training rows at the ends of what is known about them, given their windows."""

    lower: Array  # (n,), log probability of a response beyond the lower end
    upper: Array  # (n,), of one beyond the upper end, no more than that
    weight: Array  # (n,)
