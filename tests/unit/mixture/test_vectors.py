"""Mixtures of vectors: the likelihood, its maximum, and EM without censoring, against other computations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from tobitgp.errors import DataError, SpecError
from tobitgp.mixture import EMCM, fit_mixture
from tobitgp.mixture.vector_ascent import EigenvalueFloor, VectorState, ascend, sum_rows
from tobitgp.mixture.vector_fit import fit_vectors
from tobitgp.mixture.vector_information import parameter_covariance, parameter_values
from tobitgp.mixture.vector_rows import VectorRows, expected

INF = np.inf
METHOD = EMCM(n_init=4, check=True)


def vectors(seed, n, D):
    """Two groups."""
    rng = np.random.default_rng(seed)
    first, z = rng.random(n) < 0.6, rng.normal(size=(n, D))
    return np.where(first[:, None], z @ (np.eye(D) + 0.4), 0.7 * z @ np.linalg.inv(np.eye(D) + 0.4) + 2.5)


def censored(seed, n, D, *, missing=0.05, share=0.35):
    """Vectors, a third of each coordinate below a limit, some between two ends, above a limit or missing."""
    y, rng = vectors(seed, n, D), np.random.default_rng(seed + 1)
    limit, top = np.quantile(y, [share, 0.97], axis=0)
    lower, upper = np.where(y < limit, -INF, y), np.where(y < limit, limit, y)
    lower, upper = np.where(y > top, top, lower), np.where(y > top, INF, upper)
    between = (rng.random(y.shape) < 0.1) & (lower == upper)
    lower, upper = np.where(between, np.floor(y), lower), np.where(between, np.floor(y) + 1.0, upper)
    gone = rng.random(y.shape) < missing
    gone[gone.all(axis=1)] = False
    return VectorRows(np.where(gone, -INF, lower), np.where(gone, INF, upper), np.ones(n))


def log_density(rows, state):
    """Log likelihood by scipy's normal vectors: density of exact coordinates, distribution function of the others."""
    total = np.zeros(len(rows))
    for i, (low, high) in enumerate(zip(rows.lower, rows.upper, strict=True)):
        o, h = np.flatnonzero(low == high), np.flatnonzero((low != high) & (np.isfinite(low) | np.isfinite(high)))
        p = 0.0
        for w, m, S in zip(*state, strict=True):
            gain = S[np.ix_(h, o)] @ np.linalg.inv(S[np.ix_(o, o)])
            mean, V = m[h] + gain @ (low[o] - m[o]), S[np.ix_(h, h)] - gain @ S[np.ix_(o, h)]
            own = multivariate_normal(m[o], S[np.ix_(o, o)]).pdf(low[o]) if len(o) else 1.0
            if len(h) == 1:
                own *= np.diff(norm(mean[0], np.sqrt(V[0, 0])).cdf([low[h[0]], high[h[0]]]))[0]
            elif len(h):
                options = {"abseps": 1e-9, "releps": 1e-9, "maxpts": 10**6}
                own *= multivariate_normal.cdf(high[h], mean, V, lower_limit=low[h], **options)
            p += w * own
        total[i] = np.log(p)
    return total


STATE = VectorState(
    np.array([0.3, 0.7]),
    np.array([[0.1, 0.4, -0.3], [2.2, 2.0, 2.6]]),
    np.array([0.3 * np.ones((3, 3)) + np.diag([1.0, 0.8, 1.2]), np.diag([0.5, 0.9, 0.7]) - 0.1]),
)


def test_the_likelihood_is_that_of_scipy():
    rows = censored(3, 25, 3)
    found = expected(rows, STATE.means, STATE.covariances).log_p
    ours = np.log(STATE.weights @ np.exp(found))
    np.testing.assert_allclose(ours, log_density(rows, STATE), atol=2e-5)


def test_every_step_raises_the_likelihood():
    rows = censored(4, 60, 3)
    plain = EMCM(relax=False, check=True)
    end = ascend(rows, STATE, EigenvalueFloor(np.eye(3), 1e-6), plain, 40)
    assert (np.diff(end.trace) > -1e-9).all()
    faster = ascend(rows, STATE, EigenvalueFloor(np.eye(3), 1e-6), EMCM(check=True))
    assert (np.diff(faster.trace) > -1e-9).all()
    assert faster.value >= end.value
    assert faster.converged


def unpacked(x):
    """Two components of two coordinates at numbers without bounds."""
    L = np.zeros((2, 2, 2))
    L[:, 0, 0], L[:, 1, 0], L[:, 1, 1] = np.exp(x[5:7]), x[7:9], np.exp(x[9:11])
    w = 1.0 / (1.0 + np.exp(-x[0]))
    return VectorState(np.array([w, 1.0 - w]), x[1:5].reshape(2, 2), L @ L.transpose(0, 2, 1))


def bivariate(rows, state):
    """Log likelihood of two coordinates, boxes of two by Gauss-Legendre over the first: another route than ours."""
    x, wx = np.polynomial.legendre.leggauss(80)
    out = np.zeros(len(rows))
    low, high = rows.lower, rows.upper
    for w, m, S in zip(*state, strict=True):
        sd, p = np.sqrt(np.diag(S)), np.zeros(len(rows))
        for i in range(len(rows)):
            o = low[i] == high[i]
            if o.all():
                p[i] = multivariate_normal(m, S).pdf(low[i])
                continue
            if o.any():
                a, b = (0, 1) if o[0] else (1, 0)
                slope = S[0, 1] / S[a, a]
                left = np.sqrt(S[b, b] - slope * S[0, 1])
                middle = m[b] + slope * (low[i, a] - m[a])
                p[i] = norm.pdf(low[i, a], m[a], sd[a]) * np.diff(norm.cdf([low[i, b], high[i, b]], middle, left))[0]
                continue
            ends = np.clip([low[i, 0], high[i, 0]], m[0] - 8.0 * sd[0], m[0] + 8.0 * sd[0])
            y, half = 0.5 * (ends[0] + ends[1]) + 0.5 * (ends[1] - ends[0]) * x, 0.5 * (ends[1] - ends[0])
            slope = S[0, 1] / S[0, 0]
            left, middle = np.sqrt(S[1, 1] - slope * S[0, 1]), m[1] + slope * (y - m[0])
            inner = norm.cdf(high[i, 1], middle, left) - norm.cdf(low[i, 1], middle, left)
            p[i] = half * (wx * norm.pdf(y, m[0], sd[0]) * inner).sum()
        out += w * p
    return float(np.log(out).sum())


@pytest.mark.slow
def test_the_maximum_is_that_of_a_direct_search():
    rows = censored(5, 60, 2)
    found = fit_vectors(rows, 2, METHOD)
    S = found.covariances
    L = np.linalg.cholesky(S)
    w = found.weights
    start = np.concatenate(
        [[np.log(w[0] / w[1])], found.means.ravel(), np.log(L[:, 0, 0]), L[:, 1, 0], np.log(L[:, 1, 1])]
    )
    assert abs(bivariate(rows, unpacked(start)) - found.log_likelihood) < 1e-6
    moved = start + 0.1 * np.random.default_rng(1).normal(size=len(start))
    end = minimize(lambda x: -bivariate(rows, unpacked(x)), moved, method="BFGS", options={"gtol": 1e-3})
    assert abs(-end.fun - found.log_likelihood) < 1e-4
    np.testing.assert_allclose(unpacked(end.x).means, found.means, atol=0.02)


def test_without_censoring_it_is_the_mixture_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.mixture")
    y = vectors(6, 150, 3)
    start = VectorState(np.array([0.5, 0.5]), np.array([[0.0] * 3, [2.5] * 3]), np.tile(np.eye(3), (2, 1, 1)))
    theirs = sklearn.GaussianMixture(
        2, weights_init=start.weights, means_init=start.means, precisions_init=start.covariances, reg_covar=0.0,
        tol=1e-10, max_iter=2000,
    ).fit(y)  # fmt: skip
    rows = VectorRows(y, y, np.ones(len(y)))
    ours = ascend(rows, start, EigenvalueFloor(np.eye(3), 1e-9), EMCM())
    assert abs(ours.value - theirs.score(y) * len(y)) < 1e-5
    np.testing.assert_allclose(ours.state.means, theirs.means_, atol=1e-3)
    np.testing.assert_allclose(ours.state.covariances, theirs.covariances_, atol=1e-3)
    np.testing.assert_allclose(sum_rows(rows, ours.state).probabilities, theirs.predict_proba(y), atol=1e-3)


def test_one_coordinate_is_the_mixture_of_values():
    rows = censored(7, 200, 1, missing=0.0)
    ours = fit_vectors(rows, 2, METHOD)
    theirs = fit_mixture(rows.lower[:, 0], rows.upper[:, 0], k=2, method=EMCM())
    assert abs(ours.log_likelihood - theirs.log_likelihood) < 1e-6
    np.testing.assert_allclose(ours.means[:, 0], theirs.parameters["mean"], atol=1e-3)
    np.testing.assert_allclose(np.sqrt(ours.covariances[:, 0, 0]), theirs.parameters["sd"], atol=1e-3)


def test_one_component_is_at_the_maximum_of_a_censored_normal_vector():
    rows = censored(8, 80, 2)
    found = fit_vectors(rows, 1, METHOD)

    def lost(x):
        L = np.array([[np.exp(x[2]), 0.0], [x[3], np.exp(x[4])]])
        return -bivariate(rows, VectorState(np.ones(1), x[None, :2], (L @ L.T)[None]))

    L = np.linalg.cholesky(found.covariances[0])
    at = np.array([*found.means[0], np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])
    assert abs(lost(at) + found.log_likelihood) < 1e-6
    slopes = [(lost(at + way) - lost(at - way)) / 2e-4 for way in 1e-4 * np.eye(5)]
    assert np.abs(slopes).max() < 0.01


@pytest.mark.slow
def test_orders_units_and_copies_do_not_matter():
    rows = censored(9, 60, 3)
    first = fit_vectors(rows, 2, METHOD)
    turn, columns = np.random.default_rng(2).permutation(60), [2, 0, 1]
    other = VectorRows(rows.lower[turn][:, columns], rows.upper[turn][:, columns], rows.weight)
    second = fit_vectors(other, 2, METHOD)
    assert abs(first.log_likelihood - second.log_likelihood) < 1e-4
    np.testing.assert_allclose(np.sort(first.means[:, columns], axis=0), np.sort(second.means, axis=0), atol=2e-3)
    scale = np.array([1e3, 0.01, 7.0])
    third = fit_vectors(VectorRows(5.0 + scale * rows.lower, 5.0 + scale * rows.upper, rows.weight), 2, METHOD)
    np.testing.assert_allclose(third.means, 5.0 + scale * first.means, rtol=1e-5)
    twice = fit_vectors(VectorRows(rows.lower, rows.upper, 2.0 * rows.weight), 2, METHOD)
    written = fit_vectors(VectorRows(np.tile(rows.lower, (2, 1)), np.tile(rows.upper, (2, 1)), np.ones(120)), 2, METHOD)
    assert abs(twice.log_likelihood - written.log_likelihood) < 1e-8
    assert abs(twice.log_likelihood - 2.0 * first.log_likelihood) < 1e-4


@pytest.mark.slow
def test_means_are_nearer_to_the_truth_than_those_of_limits():
    """Simulations of two groups, 35% of all values below their limit."""
    errors = {True: [], False: []}
    for seed in range(6):
        y = vectors(20 + seed, 400, 2)
        limit = np.quantile(y, 0.35, axis=0)
        below = y < limit
        truth = np.array([[0.0, 0.0], [2.5, 2.5]])
        for modelled in (True, False):
            lower = np.where(below, -INF if modelled else limit, y)
            found = fit_vectors(VectorRows(lower, np.maximum(y, limit), np.ones(400)), 2, METHOD)
            errors[modelled].append(np.square(found.means - truth).mean())
    assert np.sqrt(np.mean(errors[True])) < 0.3 < 0.4 < np.sqrt(np.mean(errors[False]))


@pytest.mark.slow
def test_standard_errors_are_those_of_second_differences():
    """The Hessian of the likelihood of scipy's functions, in weights, means and covariances themselves."""
    rows = censored(10, 80, 2)
    found = fit_vectors(rows, 1, METHOD)
    V = parameter_covariance(found, rows)
    x0 = np.array([*found.means[0], *found.covariances[0][np.tril_indices(2)]])

    def value(x):
        return bivariate(rows, VectorState(np.ones(1), x[None, :2], np.array([[[x[2], x[3]], [x[3], x[4]]]])))

    steps = 2e-3 * np.eye(5)
    H = np.array(
        [[sum(s * t * value(x0 + s * a + t * b) for s in (1, -1) for t in (1, -1)) for a in steps] for b in steps]
    )
    own = np.linalg.inv(-H / (4.0 * 2e-3**2))
    sd = np.sqrt(found.covariances[0][[0, 1], [0, 1]])
    expected_errors = [*np.sqrt(np.diag(own)[:2]), *np.sqrt(np.diag(own)[[2, 4]]) / (2.0 * sd)]
    errors = np.sqrt(np.diag(V))
    np.testing.assert_allclose(errors[1:5], expected_errors, rtol=2e-3)
    assert errors[0] == pytest.approx(0.0, abs=1e-12)
    assert len(errors) == len(parameter_values(found.state)) == 6


def test_a_component_on_a_line_stops_at_the_floor():
    y = vectors(11, 120, 2)
    y[:8, 1] = y[:8, 0] = np.linspace(10.0, 12.0, 8)
    found = fit_vectors(VectorRows(y, y, np.ones(120)), 2, EMCM(n_init=4, floor=1e-3))
    assert found.held[1]
    assert "eigenvalue at its floor" in found.notes[0]
    assert np.isnan(parameter_covariance(found, VectorRows(y, y, np.ones(120)))).any()


def test_responses_that_follow_from_each_other_are_refused():
    y = vectors(13, 50, 2)
    twice = np.column_stack([y, 2.0 * y[:, 0] + 1.0])
    with pytest.raises(DataError, match="covariance of the responses is singular"):
        fit_vectors(VectorRows(twice, twice, np.ones(50)), 2, METHOD)


def test_more_components_than_rows_are_refused():
    y = vectors(12, 3, 2)
    with pytest.raises(SpecError, match=r"mixture\(4\): there are only 3 rows"):
        fit_vectors(VectorRows(y, y, np.ones(3)), 4, METHOD)
