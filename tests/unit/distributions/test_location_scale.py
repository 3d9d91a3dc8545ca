"""The distribution of the response in rows, against scipy's distributions and quadrature."""

from functools import partial

import numpy as np
import pytest
from scipy import integrate, stats
from support.posteriors import rows_of

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.posterior.questions import CURVES

INF = np.inf
FROZEN = {"normal": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l, "student": partial(stats.t, 5.0)}
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(5.0)]
ETA, TAU = np.array([-0.8, 0.4, 1.5, 0.2]), np.log([0.9, 0.4, 0.6, 0.3])
LOWER, UPPER = np.array([0.1, -INF, 0.5, 0.3]), np.array([2.0, 1.2, INF, 0.7])
CASES = [
    (distribution, log)
    for distribution in DISTRIBUTIONS
    for log in (False, True)
    if not (log and distribution.name == "student")
]
IDS = [f"{distribution.name}{'-time' if log else ''}" for distribution, log in CASES]
N = 300


@pytest.mark.parametrize(("distribution", "log"), CASES, ids=IDS)
def test_clipped_mean_by_quadrature_of_the_survival_function(distribution, log):
    found = rows_of(distribution, ETA, TAU, log).clipped_mean(LOWER, UPPER)
    for i, y in enumerate(found):
        noise = FROZEN[distribution.name](ETA[i], np.exp(TAU[i]))

        def sf(t, noise=noise):
            with np.errstate(over="ignore"):
                return noise.sf(np.log(t) if log else t)

        low, high = max(LOWER[i], 0.0 if log else -INF), UPPER[i]
        options = {"epsabs": 1e-13, "epsrel": 1e-12, "limit": 400}
        if np.isneginf(low):
            want = high - integrate.quad(lambda t: 1.0 - sf(t), -INF, high, **options)[0]
        else:
            start = 0.0 if np.isneginf(low) else low
            middle = max(start, float(np.exp(ETA[i])) if log else ETA[i])
            pieces = [(start, min(middle, high)), (min(middle, high), high)]
            want = start + sum(integrate.quad(sf, p, q, **options)[0] for p, q in pieces)
        assert y == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("distribution", "log"), CASES, ids=IDS)
def test_quantiles_and_probabilities_undo_each_other(distribution, log):
    rows = rows_of(distribution, ETA, TAU, log)
    y = rows.ppf(0.3)
    digits = 1e-10 if distribution.name == "student" else 1e-12  # scipy.special.stdtrit in scipy 1.15
    np.testing.assert_allclose(np.exp(rows.logcdf(y)), 0.3, rtol=digits)
    np.testing.assert_allclose(np.exp(rows.logsf(y)), 0.7, rtol=digits)
    np.testing.assert_allclose(rows.log_odds(y), np.log(7.0 / 3.0), rtol=1e-9)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS[:3], ids=lambda distribution: distribution.name)
def test_without_limits_the_clipped_mean_is_the_mean(distribution):
    for log in (False, True):
        rows = rows_of(distribution, ETA, TAU, log)
        np.testing.assert_array_equal(rows.clipped_mean(np.full(4, -INF), np.full(4, INF)), rows.mean())
        wide = np.full(4, 1e-9 if log else -60.0), np.full(4, INF)
        np.testing.assert_allclose(rows.clipped_mean(*wide), rows.mean(), rtol=1e-8)


def test_means_of_times_by_quadrature():
    for distribution, frozen in ((NormalNoise(), stats.norm), (Gumbel(), stats.gumbel_l), (Logistic(), stats.logistic)):
        value = rows_of(distribution, [0.3], np.log([0.6]), True).mean()[0]
        want = integrate.quad(lambda z, f=frozen: np.exp(0.3 + 0.6 * z) * f.pdf(z), -50, 80, points=[0], limit=400)[0]
        assert value == pytest.approx(want, rel=1e-9)


def test_what_has_no_mean():
    assert np.isnan(rows_of(StudentNoise(1.0), ETA, TAU).mean()).all()
    logistic = rows_of(Logistic(), np.zeros(2), np.log([0.5, 1.0]), True)
    for found in (logistic.mean(), logistic.clipped_mean(np.full(2, 0.1), np.full(2, INF))):
        assert np.isfinite(found).tolist() == [True, False]
    assert np.isfinite(logistic.clipped_mean(np.full(2, 0.1), np.full(2, 9.0))).all()
    bounded = rows_of(StudentNoise(0.8), ETA, TAU).clipped_mean(np.zeros(4), np.ones(4))
    assert ((bounded > 0.0) & (bounded < 1.0)).all()


def test_far_from_the_limits():
    rows = rows_of(NormalNoise(), np.array([-30.0, 30.0]), np.zeros(2))
    found = rows.clipped_mean(np.zeros(2), np.full(2, 1.0))
    assert 0.0 < found[0] < 1e-190
    assert found[1] == pytest.approx(1.0, abs=1e-15)
    none = np.exp(rows_of(NormalNoise(), np.zeros(2), np.zeros(2), True).logcdf(np.array([0.0, -3.0])))
    assert none.tolist() == [0.0, 0.0]


def ends(rng, kind, log):
    lower, upper = rng.normal(size=N), 1.0 + rng.exponential(size=N)
    lower = np.abs(lower) * 0.9 if log else np.minimum(lower, 0.9 * upper)
    lower = np.minimum(lower, 0.9 * upper)
    if kind == "lower":
        upper = np.full(N, INF)
    if kind == "upper":
        lower = np.full(N, 0.0 if log else -INF)
    return lower, upper


@pytest.mark.parametrize(
    "distribution", [*DISTRIBUTIONS[:3], StudentNoise(0.6), StudentNoise(3.0), StudentNoise(15.0)], ids=repr
)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", ["both", "lower", "upper"])
def test_closed_forms_are_the_quadrature(rng, distribution, log, kind):
    if log and distribution.name == "student":
        pytest.skip("no family has Student's distribution on log time")
    rows = rows_of(distribution, 3.0 * rng.normal(size=N), 0.5 * rng.normal(size=N), log)
    limits = ends(rng, kind, log)
    assert np.allclose(rows.fast_clipped_mean(*limits), rows.clipped_mean(*limits), rtol=1e-9, atol=1e-10)
    digits = 1e-7 if distribution.name == "gumbel" else 1e-9
    assert np.allclose(rows.mean_between(*limits), rows.conditional_mean(*limits), rtol=digits, atol=1e-10)


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS[:3], StudentNoise(3.0)], ids=repr)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", ["both", "lower", "upper"])
def test_log_odds_between_the_limits(rng, distribution, log, kind):
    if log and distribution.name == "student":
        pytest.skip("no family has Student's distribution on log time")
    rows = rows_of(distribution, rng.normal(size=N), np.full(N, np.log(0.6)), log)
    lower, upper = ends(rng, kind, log)
    found, g = rows.clipped_log_odds(lower, upper), rows.clipped_mean(lower, upper)
    with np.errstate(divide="ignore"):
        want = np.where(np.isfinite(lower), np.log(g - lower), 0.0) - np.where(
            np.isfinite(upper), np.log(upper - g), 0.0
        )
    near = np.isfinite(want) & (np.abs(want) < 12.0)
    assert near.sum() > N // 2
    assert np.allclose(found[near], want[near], rtol=1e-6, atol=1e-6)
    generic = RowDistributions.clipped_log_odds(rows, lower, upper)
    assert np.allclose(generic[near], want[near], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("log", [False, True])
def test_log_odds_keep_their_precision_in_the_tails(log):
    rows = rows_of(NormalNoise(), np.array([-30.0, 30.0]), np.full(2, np.log(0.5)), log)
    low, high = rows.clipped_log_odds(np.full(2, 0.5), np.full(2, 2.0))
    assert -INF < low < -1000.0
    assert 1000.0 < high < INF


# -- survival ---------------------------------------------------------------------------------------------------------

PEERS = [
    (NormalNoise(), stats.norm),
    (Logistic(), stats.logistic),
    (Gumbel(), stats.gumbel_l),
    (StudentNoise(3.0), stats.t(3.0)),
]
LOCATION, LOG_SCALE = np.array([1.5, -0.4]), np.log([0.6, 1.3])


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("distribution", "peer"), PEERS, ids=lambda x: getattr(x, "name", ""))
def test_curves_are_those_of_scipy(distribution, peer, log):
    end, start = np.array([4.0, 2.5]), np.array([1.0, 2.0])
    y, y0 = (np.log(end), np.log(start)) if log else (end, start)
    sigma, at = np.exp(LOG_SCALE), rows_of(distribution, LOCATION, LOG_SCALE, log)
    log_sf = peer.logsf((y - LOCATION) / sigma)
    np.testing.assert_allclose(CURVES["cumulative_hazard"](log, end).number(at), -log_sf, rtol=1e-12)
    since = np.exp(log_sf - peer.logsf((y0 - LOCATION) / sigma))
    np.testing.assert_allclose(CURVES["survival"](log, end, start).number(at), since)
    rate = peer.pdf((y - LOCATION) / sigma) / sigma / np.exp(log_sf) / (end if log else 1.0)
    np.testing.assert_allclose(CURVES["hazard"](log, end).number(at), rate, rtol=1e-10)


@pytest.mark.parametrize(
    "distribution", [distribution for distribution, _ in PEERS], ids=lambda distribution: distribution.name
)
def test_far_out_nothing_is_lost(distribution):
    at = rows_of(distribution, LOCATION, LOG_SCALE, True)
    times = np.array([[0.0, 1e-300, 1e-30, 1e30, 1e300]]).T
    for start in (None, np.array([0.0, 1e40])):
        for of in CURVES.values():
            with np.errstate(all="ignore"):
                assert not np.isnan(of(True, times, start).number(at)).any()
    assert (np.diff(CURVES["cumulative_hazard"](True, times).number(at), axis=0) >= 0.0).all()
    np.testing.assert_array_equal(CURVES["hazard"](True, np.full(2, -1.0)).number(at), 0.0)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(
    "distribution", [distribution for distribution, _ in PEERS], ids=lambda distribution: distribution.name
)
@pytest.mark.parametrize("start", [0.5, 3.0, 12.0])
def test_what_remains_inverts_survival(distribution, log, start):
    at, after = rows_of(distribution, LOCATION, LOG_SCALE, log), np.full(2, start)
    for p in (0.999, 0.5, 1e-4):
        left = at.remaining(p, after)
        np.testing.assert_allclose(CURVES["survival"](log, start + left, after).number(at), p, rtol=1e-7)
    if log:
        np.testing.assert_allclose(at.remaining(0.3, np.zeros(2)), at.ppf(0.7), rtol=1e-10)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS[:3], ids=repr)
def test_closed_forms_of_clipped_means_far_from_limits(rng, distribution, log):
    """Beyond the upper limit the distance from the lower one is lost to rounding, and the other way round."""
    n, widest = 1000, 10.0 if distribution.gaussian or not log else 0.9
    lower, width = rng.uniform(0.0, 20.0, n), rng.exponential(20.0, n)
    lower, upper = np.where(rng.uniform(size=n) < 0.5, 0.0 if log else -np.inf, lower), lower + width
    upper = np.where(rng.uniform(size=n) < 0.2, np.inf, upper)
    y = LocationScale(distribution, rng.normal(0.0, 8.0, n), np.exp(rng.uniform(-2.0, np.log(widest), n)), log)
    np.testing.assert_allclose(y.fast_clipped_mean(lower, upper), y.clipped_mean(lower, upper), rtol=1e-8)
