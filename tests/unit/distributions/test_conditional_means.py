import numpy as np
import pytest
from scipy import stats
from support.posteriors import rows_of

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise

INF = np.inf
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(5.0)]


@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_mean_of_simulated_rows(distribution, log_time, rng):
    if log_time and distribution.name == "student":
        pytest.skip("not a family")
    eta, sigma = 0.4, 0.3
    y = eta + sigma * distribution.ppf(rng.random(1_000_000))
    for lower, upper in ((-INF, 0.3), (0.6, INF), (0.2, 0.9)):
        inside = y[(y > lower) & (y <= upper)]
        shown = np.exp(inside) if log_time else inside
        rows = rows_of(distribution, np.full(1, eta), np.full(1, np.log(sigma)), log_time)
        ends = (rows.response(np.full(1, end)) for end in (lower, upper))
        found = rows.conditional_mean(*ends)[0]
        assert found == pytest.approx(shown.mean(), abs=5.0 * shown.std() / np.sqrt(len(shown)))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_far_tails_and_narrow_intervals_stay_inside(distribution):
    lower = np.array([50.0, -INF, 0.3, 40.0, -1e-9, 1e6])
    upper = np.array([INF, -50.0, 0.3 + 1e-14, 41.0, 1e-9, 1e6 + 1e-9])
    rows = rows_of(distribution, np.zeros(6), np.full(6, np.log(0.5)))
    found = rows.conditional_mean(lower, upper)
    assert ((found >= lower) & (found <= upper)).all()
    scale = 0.5 / np.abs(distribution.log_density(np.array([100.0]), 1)[1]) if distribution.log_concave else 50.0 / 4.0
    assert found[0] - 50.0 == pytest.approx(float(np.ravel(scale)[0]), rel=0.02)


def test_exact_rows_and_the_scale_of_times():
    rows = rows_of(NormalNoise(), np.zeros(2), np.zeros(2), True)
    ends = np.array([2.0, 3.0]), np.array([2.0, 5.0])
    value = rows.conditional_mean(*ends)
    assert value[0] == pytest.approx(2.0)
    assert 3.0 < value[1] < 5.0
    assert rows_of(NormalNoise(), np.zeros(2), np.zeros(2)).conditional_mean(*ends)[0] == ends[0][0]
    assert rows_of(NormalNoise(), np.zeros(2), np.zeros(2)).conditional_mean(*ends)[1] == pytest.approx(
        stats.truncnorm(*(end[1] for end in ends)).mean()
    )


def test_what_has_no_mean():
    rows = rows_of(Logistic(), np.zeros(2), np.log([0.5, 1.5]), True)
    assert np.isfinite(rows.conditional_mean(np.ones(2), np.full(2, INF))).tolist() == [True, False]
    cauchy = rows_of(StudentNoise(1.0), np.zeros(1), np.zeros(1))
    assert cauchy.conditional_mean(np.zeros(1), np.full(1, INF))[0] == INF
