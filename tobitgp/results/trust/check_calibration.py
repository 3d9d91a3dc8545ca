"""Whether predictive distributions are calibrated, by what censoring leaves visible of them.

(CHK13) and (CHK14) of the theory pages.
"""

from __future__ import annotations

import numpy as np

from tobitgp.results.trust.calibration import PredictedSurvival
from tobitgp.results.trust.check_residuals import Noise
from tobitgp.results.trust.findings import Finding, RawTest, plain
from tobitgp.typing import Array, BoolArray

CELLS = 10
TENTHS = ("lowest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "highest")
_VISIBLE = 0.1  # of the information of uncensored rows
_STEPS = 50
_SHARE = 0.02


def calibration(ends: PredictedSurvival, noise: Noise) -> Finding | RawTest:
    """Probabilities of the tenths of the predictive distributions, by a score test.

    Pearson's test if no row is censored.
    """
    from scipy.stats import chi2

    shares, exact = tenth_shares(-np.expm1(ends.lower), -np.expm1(ends.upper))
    statistic, df = score_test(shares, exact, ends.weight)
    if df == 0:
        words = "censoring leaves nothing to see of the predictive distributions: residuals are drawn from the model "
        words += "itself, and agree with whatever it says"
        return plain("calibration", words, value=0.0, good=False, doubtful=True)
    p = float(chi2.sf(statistic, df))
    found = turnbull_tenths(shares, ends.weight)
    at = int(np.argmax(np.abs(found - 1.0 / CELLS)))
    how = "" if exact.all() else ", as Turnbull estimates them"
    return RawTest(
        "calibration",
        statistic,
        p,
        bool(abs(found[at] - 1.0 / CELLS) > _SHARE),
        "the predictive distributions are calibrated: as many rows lie in every tenth of them as should",
        f"not calibrated: {found[at]:.1%} of the rows lie in the {TENTHS[at]} tenth of their predictive "
        f"distributions{how}; see plot_calibration()",
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
    r"""Statistic and degrees of freedom of the score test that all tenths have the same probability.

    The information is that of Louis: of uncensored rows, less the variance that censoring leaves inside the rows'
    intervals. Directions that it hardly tells of are left out.
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
