"""Deviance residuals are measured from the best location, which scipy finds too."""

import numpy as np
import pytest
from scipy import optimize, stats
from support.posteriors import rows_of
from support.responses import response

from tobitgp.data.outcome import outcome
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.regression.deviance_residuals import deviance

INF = np.inf
DISTRIBUTIONS = {
    NormalNoise(): stats.norm,
    Logistic(): stats.logistic,
    Gumbel(): stats.gumbel_l,
    StudentNoise(5.0): stats.t(5.0),
}
SIGMA = 0.7
OPEN = (-INF, INF)
CASES = [
    ((0.3, 0.9), OPEN),
    ((-1.0, 4.0), OPEN),
    ((2.0, 2.001), OPEN),
    ((1.2, 1.2), OPEN),
    ((1.2, 1.2), (0.4, INF)),
    ((1.2, 1.2), (-INF, 1.9)),
    ((1.2, 1.2), (0.4, 1.9)),
    ((-0.9, -0.9), (-1.0, 1.0)),
    ((0.5, 0.9), (0.0, INF)),
    ((0.5, 0.9), (0.0, 3.0)),
]


def lack(distribution, ends, window, eta):
    """Minus the log likelihood of a row, slowly."""
    (a, b), (entry, exit) = (np.subtract(pair, eta) / SIGMA for pair in (ends, window))
    whole = (
        distribution.sf(entry) - distribution.sf(exit)
        if entry > 0.0
        else distribution.cdf(exit) - distribution.cdf(entry)
    )
    if a == b:
        return -(distribution.logpdf(a) - np.log(SIGMA) - np.log(whole))
    return -np.log(
        (distribution.sf(a) - distribution.sf(b) if a > 0.0 else distribution.cdf(b) - distribution.cdf(a)) / whole
    )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
@pytest.mark.parametrize(("ends", "window"), CASES)
def test_the_best_location(distribution, ends, window):
    seen = outcome(response([ends[0]], [ends[1]], entry=window[0], exit=window[1]))
    found = deviance(rows_of(distribution, np.zeros(1), np.full(1, np.log(SIGMA))), seen)[0]
    with np.errstate(all="ignore"):
        grid = np.linspace(-12.0, 12.0, 241)
        values = np.array([lack(DISTRIBUTIONS[distribution], ends, window, eta) for eta in grid])
        k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        bracket = (grid[max(k - 1, 0)], grid[min(k + 1, 240)])
        best = optimize.minimize_scalar(
            lambda eta: lack(DISTRIBUTIONS[distribution], ends, window, eta),
            bounds=bracket,
            method="bounded",
            options={"xatol": 1e-9},
        )
        want = np.sqrt(2.0 * (lack(DISTRIBUTIONS[distribution], ends, window, 0.0) - best.fun))
    assert abs(found) == pytest.approx(want, abs=1e-4)
    assert np.sign(found) == np.sign(best.x)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_rows_that_reach_the_end_of_their_window_lack_nothing_at_best(distribution):
    seen = outcome(response([1.0, -INF, 1.0], [INF, 1.0, 3.0], entry=[0.0, 0.0, -INF], exit=[3.0, 3.0, 3.0]))
    found = deviance(rows_of(distribution, np.full(3, 0.5), np.full(3, np.log(SIGMA))), seen)
    ends = [((1.0, 3.0), (0.0, 3.0)), ((0.0, 1.0), (0.0, 3.0)), ((1.0, 3.0), (-INF, 3.0))]
    want = [np.sqrt(2.0 * lack(DISTRIBUTIONS[distribution], *case, 0.5)) for case in ends]
    np.testing.assert_allclose(found, np.array(want) * [1.0, -1.0, 1.0], rtol=1e-9)


def test_values_close_to_their_entry():
    entry, y = 0.0, np.array([1e-3, 1e-6])
    found = deviance(rows_of(NormalNoise(), np.full(2, -1.0), np.zeros(2)), outcome(response(y, y, entry=entry)))
    log_likelihood = stats.norm.logpdf(y + 1.0) - stats.norm.logsf(1.0)
    np.testing.assert_allclose(found**2, 2.0 * (-1.0 - np.log(y) - log_likelihood), rtol=0.01)
