"""The figures that stand on the pages of docs/theory, computed again."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import norm
from support.problems import VARIANTS, dense, from_codes, gp, make_problem, marginals, solve
from support.reference import load

from tobitgp.inference import EPUpdates, LaplaceUpdates, VIUpdates
from tobitgp.numerics.truncated_moments import expected_one_sided


def test_figures_of_gauss_hermite():
    """Twenty nodes are wrong by 2e-10 at t = 1 and 1.5e-2 at t = 10 at worst, relative to the larger of value and 1."""
    x, weight = np.polynomial.hermite_e.hermegauss(20)
    for t, printed in ((1.0, 2e-10), (10.0, 1.5e-2)):
        a = np.linspace(-30.0, 30.0, 601) * max(t, 1.0)
        true = expected_one_sided(a, np.full_like(a, t))[0]
        rough = log_ndtr(a[:, None] + t * x) @ (weight / weight.sum())
        assert np.max(np.abs(rough - true) / np.maximum(1.0, np.abs(true))) == pytest.approx(printed, rel=0.3)


def test_figures_of_one_row_below_one():
    problem = make_problem(np.zeros((1, 1)), [-np.inf], [1.0], H=np.ones((1, 1)))
    evidence = [
        solve(problem, [dense(problem)], [np.log(0.1)], method).evidence for method in (EPUpdates(), LaplaceUpdates())
    ]
    assert norm.logcdf(1.0 / np.sqrt(1.01)) == pytest.approx(-0.174, abs=5e-4)
    np.testing.assert_allclose(evidence, [-0.174, 0.0], atol=5e-4)


@pytest.mark.slow
def test_figures_of_both_forms_of_the_evidence():
    """On 30 values at sigma = 1e-4 the first form loses 1e-6, the second 2e-12."""
    import mpmath as mp

    sigma, x = 1e-4, np.linspace(-1.7, 1.7, 30)
    y = np.sin(2.0 * x) + sigma * np.random.default_rng(0).standard_normal(30)
    problem = from_codes(x[:, None], y, 0 * y)
    p = solve(problem, [gp(problem)], np.log([1.2, 0.3, sigma]), VIUpdates())
    (state,) = p.rows.items
    A, d = (
        np.concatenate(parts)
        for parts in zip(*((f[1].common, f[2]) for f in map(state.features, state.chunks)), strict=True)
    )
    with mp.workdps(60):
        features, s2 = mp.matrix(A.tolist()), mp.mpf(sigma) ** 2
        S, response = features * features.T + mp.diag([s2] * 30), mp.matrix(y[problem.order].tolist())
        log_det = 2 * sum(mp.log(r) for r in (mp.cholesky(S)[i, i] for i in range(30)))
        truth = (
            -((response.T * mp.lu_solve(S, response))[0] + log_det + 30 * mp.log(2 * mp.pi) + sum(d.tolist()) / s2) / 2
        )
        C = -0.5 * np.log(2 * np.pi * sigma**2) - 0.5 * (y**2 + d) / sigma**2
        first = 0.5 * A.T @ p.sites.lambda1 @ p.w - 0.5 * p.factor.log_det() + C.sum()
        lost = [abs(float(value - truth)) for value in (first, p.evidence)]
    assert 1e-7 < lost[0] < 1e-5
    assert lost[1] < 1e-11


ACCURACY = {
    "ep": (-0.23, -0.004, 0.13, 0.87, 1.07),
    "vi": (-2.18, -0.01, 0.38, 0.41, 1.00),
    "laplace": (-2.18, 0.47, 1.32, 0.14, 1.37),
    "vi local": (-35.7, -3.2, 1.32, 0.003, 0.93),
}


@pytest.mark.parametrize("name", ACCURACY)
def test_figures_of_accuracy(name):
    """The table on the page of sites."""
    gaps, errors, ratios = [], [], []
    for case in load("tobit_gp_cases.json")["cases"]:
        problem = from_codes(np.array(case["x"])[:, None], case["y"], case["censored"])
        theta = np.log([case["signal_sd"], case["lengthscale"], case["noise_sd"]])
        posterior = solve(problem, [gp(problem, case["kernel"])], theta, VARIANTS[name])
        (mean, sd), exact, hidden = marginals(posterior, problem), case["exact"], np.array(case["censored"]) != 0
        gaps.append(posterior.evidence - exact["log_evidence"])
        errors.extend(np.abs((mean - exact["mean"]) / exact["sd"])[hidden])
        ratios.extend((sd / exact["sd"])[hidden])
    found = np.array([min(gaps), max(gaps), max(errors), min(ratios), max(ratios)])
    np.testing.assert_allclose(found, ACCURACY[name], rtol=0.04, atol=0.004)
