import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from support.distributions import EVERY, IDS
from support.responses import response

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import outcome
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.errors import DataError, SpecError
from tobitgp.regression import covariance, maximise, null_log_likelihood

SCIPY = {"normal": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l}


def scaled(rows, factor):
    return CensoredResponse(*(getattr(rows, name) * factor for name in CensoredResponse.__slots__[:6]), rows.weight)


def repeated(rows, H):
    count = rows.weight.astype(int)
    fields = [np.repeat(getattr(rows, name), count) for name in CensoredResponse.__slots__[:6]]
    return CensoredResponse(*fields, np.ones(count.sum())), np.repeat(H, count, axis=0)


def log_likelihood(rows, H, distribution, beta, tau):
    """Slowly, with scipy.stats."""
    at = SCIPY.get(distribution.name) or stats.t(distribution.df)
    at = at() if distribution.name in SCIPY else at
    eta, sigma = H @ beta, np.exp(tau)
    a, b = (rows.lower - eta) / sigma, (rows.upper - eta) / sigma
    entry, exit = (rows.entry - eta) / sigma, (rows.exit - eta) / sigma
    exact = rows.lower == rows.upper
    inside = at.cdf(np.minimum(b, exit)) - at.cdf(np.maximum(a, entry))
    with np.errstate(divide="ignore"):
        value = np.where(exact, at.logpdf(a) - np.log(sigma), np.log(inside))
    return rows.weight @ (value - np.log(at.cdf(exit) - at.cdf(entry)))


def settled(fit, k):
    assert fit.converged, fit.message
    assert fit.gradient_norm < 1e-5
    assert fit.free.sum() == k
    assert (np.linalg.eigvalsh(fit.inverse_information[np.ix_(fit.free, fit.free)]) > 0.0).all()


@pytest.mark.parametrize("data", ["mixed", "windowed"])
@pytest.mark.parametrize("distribution", [NormalNoise(), Logistic(), Gumbel(), StudentNoise(4.0)], ids=repr)
def test_a_general_optimiser_finds_nothing_better(distribution, data, request):
    rows, H = request.getfixturevalue(data)
    fit = maximise(outcome(rows), H, distribution=distribution)
    settled(fit, H.shape[1] + 1)
    assert fit.log_likelihood == pytest.approx(
        log_likelihood(rows, H, distribution, fit.coefficients, fit.gamma), rel=1e-10
    )
    with np.errstate(all="ignore"):
        other = minimize(
            lambda x: -log_likelihood(rows, H, distribution, x[:-1], x[-1]),
            fit.parameters + 0.05,
            options={"gtol": 1e-4},
        )
    assert -other.fun <= fit.log_likelihood + 1e-8
    np.testing.assert_allclose(other.x, fit.parameters, atol=1e-4)


@pytest.mark.parametrize("distribution", EVERY, ids=IDS)
def test_weights_are_frequencies(distribution, mixed):
    rows, H = mixed
    a = maximise(outcome(rows), H, distribution=distribution, scores=True)
    more, G = repeated(rows, H)
    b = maximise(outcome(more), G, distribution=distribution, scores=True)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(a.parameters, b.parameters, rtol=1e-7)
    groups = np.arange(len(H)) % 7
    count = rows.weight.astype(int)
    for kind in ("nonrobust", "HC0", "HC1"):
        np.testing.assert_allclose(covariance(a, kind, weight=rows.weight), covariance(b, kind), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        covariance(a, "cluster", weight=rows.weight, groups=groups),
        covariance(b, "cluster", groups=np.repeat(groups, count)),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("distribution", EVERY, ids=IDS)
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(distribution, factor, mixed):
    rows, H = mixed
    columns = np.array([1.0, 1e12, 1e-12])
    a = maximise(outcome(rows), H, distribution=distribution)
    b = maximise(outcome(scaled(rows, factor)), H * columns, distribution=distribution)
    assert b.iterations == a.iterations
    np.testing.assert_allclose(b.coefficients * columns / factor, a.coefficients, rtol=1e-9)
    np.testing.assert_allclose(b.gamma - np.log(factor), a.gamma, rtol=1e-9, atol=1e-9)
    unit = np.append(factor / columns, 1.0)
    V = covariance(a)
    np.testing.assert_allclose(covariance(b) / np.outer(unit, unit), V, rtol=1e-8, atol=1e-12)


def test_a_far_origin_does_not_matter(mixed):
    rows, H = mixed
    near = maximise(outcome(rows), H)
    far = maximise(outcome(response(rows.lower + 1e6, rows.upper + 1e6, weight=rows.weight)), H)
    np.testing.assert_allclose(far.coefficients - [1e6, 0.0, 0.0], near.coefficients, atol=1e-8)


def test_offset_and_known_coefficients(mixed):
    rows, H = mixed
    seen = outcome(rows)
    free = maximise(seen, H)
    known = maximise(seen, H, fixed_coefficients=np.array([np.nan, 0.3, np.nan]), scores=True)
    moved = maximise(seen, H[:, [0, 2]], offset=0.3 * H[:, 1])
    assert known.log_likelihood == pytest.approx(moved.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(known.coefficients, [moved.coefficients[0], 0.3, moved.coefficients[1]])
    assert known.log_likelihood < free.log_likelihood
    V = covariance(known, "HC0", weight=rows.weight)
    assert (V[1] == 0.0).all()
    assert not known.scores[:, 1].any()


def test_known_sigma(mixed):
    rows, H = mixed
    seen = outcome(rows)
    free = maximise(seen, H)
    for distribution in (NormalNoise(), StudentNoise(1e8)):
        given = maximise(seen, H, distribution=distribution, fixed_gamma=free.gamma)
        np.testing.assert_allclose(given.coefficients, free.coefficients, rtol=1e-5)
        assert not covariance(given)[-1].any()


def test_log_linear_sigma(mixed):
    rows, H = mixed
    seen = outcome(rows)
    W = H[:, :2]
    fit = maximise(seen, H, W=W)
    settled(fit, 5)
    split = maximise(seen, H, W=np.column_stack([W[:, 0], 1e6 + 1e3 * W[:, 1]]))
    assert split.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-11)
    assert split.gamma[1] * 1e3 == pytest.approx(fit.gamma[1], rel=1e-5)
    held = maximise(seen, H, W=W, fixed_gamma=np.array([np.nan, fit.gamma[1]]))
    np.testing.assert_allclose(held.coefficients, fit.coefficients, rtol=1e-7)
    shifted = maximise(seen, H, scale_offset=fit.gamma[1] * W[:, 1])
    np.testing.assert_allclose(shifted.gamma[0], fit.gamma[0], rtol=1e-6)


def test_scores_add_up_to_nothing(mixed, windowed):
    for rows, H in (mixed, windowed):
        for estimate in (False, True):
            fit = maximise(
                outcome(rows), H, distribution=StudentNoise(4.0), W=H[:, :2], estimate_shape=estimate, scores=True
            )
            assert fit.converged
            np.testing.assert_allclose(rows.weight @ fit.scores, 0.0, atol=1e-5)


def test_degrees_of_freedom(rng):
    y = 1.0 + 0.5 * rng.standard_t(3.0, size=4000)
    rows = response(np.where(y > 0.5, y, -np.inf), np.maximum(y, 0.5))
    fit = maximise(outcome(rows), np.ones((4000, 1)), distribution=StudentNoise(8.0), estimate_shape=True)
    settled(fit, 3)
    assert np.exp(fit.shape) == pytest.approx(3.0, rel=0.25)
    assert fit.parameters[-1] == fit.shape
    given = maximise(outcome(rows), np.ones((4000, 1)), distribution=StudentNoise(np.exp(fit.shape)))
    assert given.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)
    for near in (0.98, 1.02):
        other = maximise(outcome(rows), np.ones((4000, 1)), distribution=StudentNoise(np.exp(fit.shape) * near))
        assert other.log_likelihood < fit.log_likelihood
    profile = [
        maximise(
            outcome(rows), np.ones((4000, 1)), distribution=StudentNoise(np.exp(fit.shape) * np.exp(s))
        ).log_likelihood
        for s in (-0.1, 0.1)
    ]
    curvature = (sum(profile) - 2.0 * fit.log_likelihood) / 0.01
    assert fit.inverse_information[-1, -1] == pytest.approx(-1.0 / curvature, rel=0.02)


def test_normal_rows_have_no_degrees_of_freedom(rng):
    y = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    fit = maximise(
        outcome(response(y, y)), np.ones((400, 1)), distribution=StudentNoise(), estimate_shape=True, scores=True
    )
    assert fit.converged
    assert np.exp(fit.shape) == pytest.approx(1000.0)
    assert "normal distribution fits as well" in fit.message
    assert fit.free.tolist() == [True, True, False]
    assert covariance(fit).shape == (3, 3)
    assert not fit.scores[:, -1].any()
    with pytest.raises(SpecError, match="shape"):
        maximise(outcome(response(y, y)), np.ones((400, 1)), estimate_shape=True)


def test_uncensored_rows_are_least_squares(rng):
    H = np.column_stack([np.ones(50), rng.normal(size=50)])
    y = H @ [1.0, 2.0] + rng.normal(size=50)
    fit = maximise(outcome(response(y, y)), H)
    b, rss = np.linalg.lstsq(H, y, rcond=None)[:2]
    np.testing.assert_allclose(fit.coefficients, b, rtol=1e-12)
    assert np.exp(2.0 * fit.gamma[0]) == pytest.approx(rss[0] / 50, rel=1e-10)
    assert covariance(fit)[-1, -1] == pytest.approx(1.0 / 100, rel=1e-8)


@pytest.mark.parametrize("distribution", [NormalNoise(), Gumbel(), Logistic()], ids=repr)
def test_heavy_censoring_settles_quickly(distribution, rng):
    x = rng.normal(size=5000)
    y = x + rng.normal(size=5000)
    limit = np.quantile(y, 0.99)
    rows = response(np.where(y > limit, y, -np.inf), np.maximum(y, limit))
    fit = maximise(outcome(rows), np.column_stack([np.ones(5000), x]), distribution=distribution)
    assert fit.converged
    assert fit.iterations < 15


def test_one_wild_value_under_students_distribution(rng):
    y = np.append(rng.normal(size=200), 1e6)
    fit = maximise(outcome(response(y, y)), np.ones((201, 1)), distribution=StudentNoise())
    assert fit.converged
    assert abs(fit.coefficients[0]) < 0.3


def test_null_model(mixed):
    rows, H = mixed
    seen = outcome(rows)
    assert null_log_likelihood(seen) == maximise(seen, H[:, :1]).log_likelihood
    assert np.isnan(null_log_likelihood(outcome(response([-np.inf], [1.0]))))


def test_no_rows():
    with pytest.raises(DataError, match="no rows"):
        maximise(outcome(response([], [])), np.ones((0, 1)))


@pytest.mark.parametrize("distribution", [NormalNoise(), StudentNoise()], ids=repr)
def test_everything_known(distribution, mixed):
    rows, H = mixed
    beta, gamma = np.array([1.0, 0.5, -1.0]), np.array([0.2])
    fit = maximise(outcome(rows), H, distribution=distribution, fixed_coefficients=beta, fixed_gamma=gamma)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(log_likelihood(rows, H, distribution, beta, gamma), rel=1e-10)
    assert not covariance(fit).any()
    empty = maximise(outcome(rows), np.zeros((len(H), 0)), distribution=distribution, offset=H @ beta)
    free = maximise(outcome(rows), H, distribution=distribution, fixed_coefficients=beta)
    assert empty.log_likelihood == pytest.approx(free.log_likelihood, rel=1e-12)


def test_dependent_columns():
    H = np.column_stack([np.ones(5), np.full(5, 3.0)])
    with pytest.raises(DataError, match="determined by the others"):
        maximise(outcome(response(np.arange(5.0), np.arange(5.0))), H)


def test_nearly_dependent_columns(rng):
    year = 2000.0 + rng.random(100)
    H = np.column_stack([np.ones(100), year, year**2])
    z = year - 2000.5
    y = 1.0 + z + 5.0 * z * z + 0.1 * rng.normal(size=100)
    rows = response(np.where(y > 1.2, y, -np.inf), np.maximum(y, 1.2))
    bad, good = maximise(outcome(rows), H), maximise(outcome(rows), np.column_stack([np.ones(100), z, z * z]))
    assert bad.log_likelihood == pytest.approx(good.log_likelihood, rel=1e-8)
    assert bad.coefficients[2] == pytest.approx(good.coefficients[2], rel=1e-4)


def test_arrays_are_left_alone(mixed):
    rows, H = mixed
    before = [np.array(getattr(rows, name)) for name in CensoredResponse.__slots__], H.copy()
    maximise(outcome(rows), H)
    for name, kept in zip(CensoredResponse.__slots__, before[0], strict=True):
        np.testing.assert_array_equal(getattr(rows, name), kept)
    np.testing.assert_array_equal(H, before[1])
