"""The local quadratic bound of Basson et al. (2023): what it is, and what it bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bounds import direct_integral, eq46
from support.oracles import covariance, exact_evidence
from support.problems import CENSORING, GAUSSIAN, dense, gp, make_problem, make_rows, marginals, simulate, solve, tight

from tobitgp.inference import LaplaceUpdates, VIUpdates
from tobitgp.inference.method import Marginals
from tobitgp.inference.vi import local_update
from tobitgp.likelihoods.censoring_noise import SideNoise

pytestmark = pytest.mark.diagonal

CLOSED = 1e-8
PRIOR, SIGMA, LOWER, UPPER = np.log([1.2, 0.6]), 0.4, 0.5, 0.3
SIDED = SideNoise((-1.0, 1.0))
THETA = np.concatenate([PRIOR, np.log([LOWER, UPPER, SIGMA])])
LOCAL = tight("vi local")


def parts(data, Z):
    """The problem as Eq. 46 takes it."""
    y = np.where(np.isneginf(data.lower), data.upper, data.lower)
    sign = np.where(np.isneginf(data.lower), -1.0, np.where(np.isposinf(data.upper), 1.0, 0.0))
    variance = SIGMA**2 + np.where(sign < 0, LOWER**2, 0.0) + np.where(sign > 0, UPPER**2, 0.0)
    K_NM, K_MM = covariance("rbf", data.X, Z, PRIOR), covariance("rbf", Z, Z, PRIOR)
    return K_NM, K_MM, np.full(len(y), np.exp(2.0 * PRIOR[0])), y, sign, variance


def mode_at_rows(problem, posterior):
    return marginals(posterior, problem)[0]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_direct_integral(seed):
    data, Z = simulate("two-sided", n=5, seed=seed), np.array([[-0.7], [0.8]])
    problem = data.problem()
    posterior = solve(problem, [gp(problem, Z=Z)], THETA, LOCAL, None, SIDED)
    zeta, written = mode_at_rows(problem, posterior), parts(data, Z)
    assert posterior.evidence == pytest.approx(direct_integral(*written, zeta), abs=CLOSED)
    assert posterior.evidence == pytest.approx(eq46(*written, zeta), abs=CLOSED)


@pytest.mark.parametrize("M", [3, 8])
@pytest.mark.parametrize("censoring", ["left", "right", "two-sided"])
def test_it_is_equation_46_at_its_maximum(censoring, M):
    """The points of tangency are where the bound is highest."""
    data = simulate(censoring, n=20, seed=2)
    Z = np.linspace(-1.6, 1.6, M)[:, None]
    problem = data.problem()
    posterior = solve(problem, [gp(problem, Z=Z)], THETA, LOCAL, None, SIDED)
    zeta, written = mode_at_rows(problem, posterior), parts(data, Z)
    best = eq46(*written, zeta)
    assert posterior.evidence == pytest.approx(best, abs=CLOSED)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        assert eq46(*written, zeta + size * rng.standard_normal(20)) < best


def test_inducing_inputs_at_all_rows_are_the_dense_prior():
    data = simulate("two-sided", n=12, seed=3)
    problem = data.problem()
    kernel = [gp(problem, "matern32", Z=Z) for Z in (None, data.X[::-1].copy())]
    dense, sparse = (solve(problem, [block], THETA, LOCAL, None, SIDED).evidence for block in kernel)
    assert sparse == pytest.approx(dense, abs=CLOSED)


@pytest.mark.parametrize("censoring", CENSORING)
def test_its_mean_is_the_mode(censoring):
    """And its evidence that of Laplace's method with the curvature at its largest."""
    data = simulate(censoring, n=14, seed=1)
    problem = data.problem()
    found = [solve(problem, [gp(problem)], THETA, m, None, SIDED) for m in (LOCAL, tight("laplace"))]
    means, sds = zip(*(marginals(posterior, problem) for posterior in found), strict=True)
    np.testing.assert_allclose(means[0], means[1], rtol=0, atol=CLOSED)
    assert (sds[0] <= sds[1] + CLOSED).all()
    gap = 0.5 * (found[0].factor.log_det() - found[1].factor.log_det())
    assert found[0].evidence == pytest.approx(found[1].evidence - gap, abs=CLOSED)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), censoring=st.sampled_from(CENSORING), log_sigma=st.floats(-2.0, 1.0))
def test_below_the_exact_evidence_and_below_vi(seed, censoring, log_sigma):
    """Without side noises it is a bound, on VI's bound too."""
    data, theta = simulate(censoring, n=8, seed=seed), np.append(PRIOR, log_sigma)
    problem = data.problem()
    local, exact = (
        solve(problem, [gp(problem)], theta, VIUpdates(bound=bound)).evidence for bound in ("local", "exact")
    )
    K = covariance("rbf", data.X, data.X, PRIOR)
    evidence, error, *_ = exact_evidence(K, np.exp(log_sigma), data.lower, data.upper)
    assert local <= exact + 1e-7
    assert local <= evidence + 5.0 * error + 1e-7


def test_side_noises_lift_it_above_the_evidence():
    """One row at its limit: log evidence -3.586; the bound is -3.912, -2.550 and -1.343 with side noises 0, 1 and 3."""
    problem = make_problem(np.zeros((1, 1)), [-np.inf], [-2.0], H=np.ones((1, 1)))
    values = [
        solve(problem, [dense(problem)], [extra, np.log(0.3)], LOCAL, None, SideNoise((-1.0,))).evidence
        for extra in (-np.inf, 0.0, np.log(3.0))
    ]
    np.testing.assert_allclose(values, [-3.912, -2.550, -1.343], atol=5e-4)


KINDS = {
    "left": ([-np.inf], [0.3], None),
    "right": ([0.3], [np.inf], None),
    "interval": ([-0.2], [0.5], None),
    "exact in a window": ([0.4], [0.4], (0.1, 2.0)),
    "right, entered": ([0.4], [np.inf], (0.1, np.inf)),
    "interval in a window": ([0.4], [0.6], (0.1, 0.9)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_parabolas_touch_from_below(kind):
    """Wherever they touch, and for rows that the paper has not."""
    lower, upper, window = KINDS[kind]
    f = np.linspace(-4.0, 4.0, 161)
    rows = make_rows(np.repeat(lower, len(f)), np.repeat(upper, len(f)), window=window)
    sided = SideNoise((-1.0, 1.0), (LOWER, UPPER))
    log_p = sided.newton(rows, f, SIGMA).log_Z
    for zeta in (-2.0, 0.1, 1.5):
        at, zero = np.full(len(f), zeta), np.zeros(len(f))
        u = local_update(sided, rows, Marginals(at, zero, zero, zero, zero), SIGMA)
        parabola = u.D + (u.lambda1 - u.lambda2 * zeta) * (f - zeta) - 0.5 * u.lambda2 * (f - zeta) ** 2
        assert (parabola <= log_p + 1e-9).all()
        assert np.abs((log_p - parabola)[np.abs(f - zeta) < 0.03]).max() < 0.01


def test_rows_with_two_limits_have_no_side():
    rows = make_rows([-0.2, 0.4], [0.5, 0.6])
    assert SideNoise((-1.0, 1.0), (LOWER, UPPER)).scale(rows, SIGMA) == SIGMA


def test_few_sweeps_where_the_paper_searches():
    """A wide prior against the noise, where moving the points of tangency one after another takes a thousand."""
    data = simulate("two-sided", n=100, seed=0, noise=0.01)
    problem = data.problem()
    theta = np.log([5.0, 0.3, 0.01])
    posterior = solve(problem, [gp(problem)], theta, VIUpdates(bound="local"))
    assert posterior.converged
    assert posterior.iterations < 20
    warm = solve(problem, [gp(problem)], theta + 0.3, VIUpdates(bound="local"), posterior.sites)
    cold = solve(problem, [gp(problem)], theta + 0.3, VIUpdates(bound="local"))
    assert warm.evidence == pytest.approx(cold.evidence, abs=1e-6)


def test_laplace_is_what_runs_first():
    assert VIUpdates(bound="local").warm_up(GAUSSIAN, True) == LaplaceUpdates(max_iterations=500)
