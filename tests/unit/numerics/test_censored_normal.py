"""Mean and sd of a normal sample that is partly unseen, against direct maximisation and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from tobitgp.numerics.normal_functions import _log_likelihood, fit_censored_normal


@given(
    share=st.tuples(st.floats(0.01, 1.0), *4 * [st.floats(0.0, 1.0)]),
    spread=st.sampled_from([0.0, 1.0]),
    limits=st.tuples(*4 * [st.floats(-1e6, 1e6)]),
)
def test_no_place_near_is_better(share, spread, limits):
    share = np.array(share) / sum(share)
    given = share, spread, np.array(limits)
    mu, sd = fit_censored_normal(*given)
    at = np.array([mu / sd, 1.0 / sd])
    value, gradient, curvature = _log_likelihood(at, *given)
    assert gradient @ np.linalg.solve(curvature, gradient) < 1e-9
    assert np.linalg.eigvalsh(curvature).min() > 0.0
    for step in np.random.default_rng(1).normal(size=(20, 2)):
        there = at + 0.1 * step * [1.0, at[1]]
        if there[1] > 0.0:
            assert _log_likelihood(there, *given)[0] <= value + 1e-12


def test_derivatives():
    given = np.array([0.3, 0.4, 0.1, 0.15, 0.05]), 0.7, np.array([-0.2, 0.3, 1.1, 0.2])
    at, step = np.array([0.3, 1.7]), 1e-5
    _, gradient, curvature = _log_likelihood(at, *given)
    for k, e in enumerate(step * np.eye(2)):
        up, down = _log_likelihood(at + e, *given), _log_likelihood(at - e, *given)
        assert gradient[k] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-7)
        np.testing.assert_allclose(-curvature[k], (up[1] - down[1]) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("censored", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("side", [1, 3])
def test_against_direct_maximisation(side, censored, rng):
    """(HYP8): of the likelihood of a sample with one limit, which the moments hold all of."""
    y = rng.normal(size=400)
    sign = 1.0 if side == 1 else -1.0
    limit = sign * np.quantile(sign * y, censored)
    seen = y[sign * y > sign * limit]

    def loss(p):
        hidden = (len(y) - len(seen)) * norm.logcdf(sign * (limit - p[0]) / np.exp(p[1]))
        return -norm.logpdf(seen, p[0], np.exp(p[1])).sum() - hidden

    best = minimize(loss, [0.0, 0.0], method="BFGS").x
    share = np.zeros(5)
    share[[0, side]] = len(seen) / len(y), 1.0 - len(seen) / len(y)
    mean, unit = seen.mean(), seen.std()
    found = np.array([mean, 0.0]) + unit * np.array(fit_censored_normal(share, 1.0, np.full(4, (limit - mean) / unit)))
    np.testing.assert_allclose(found, [best[0], np.exp(best[1])], atol=0.02 if censored < 0.9 else 0.1)
