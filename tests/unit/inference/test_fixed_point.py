"""The fixed-point iteration on sites: that it ends, what it says when it does not, and how few iterations it takes."""

from dataclasses import replace

import numpy as np
import pytest
from support.problems import CENSORING, GAUSSIAN, VARIANTS, gp, make_problem, simulate, solve, tight

from tobitgp.errors import NumericalError
from tobitgp.inference import METHODS
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.fixed_point import seed as seed_with
from tobitgp.inference.partitioned import cut
from tobitgp.priors.structure import Inputs, split_theta

pytestmark = pytest.mark.diagonal

THETA = np.log([1.2, 0.6, 0.3])
EASY = {
    "laplace": 15,
    "ep": 60,
    "vi": 40,
    "vi local": 20,
    "vi monte_carlo": 60,
}  # iterations to 1e-7 that ten rows at moderate noise take, twice what was seen


def settled(censoring, method, seed=0, theta=THETA, n=12, kernel="rbf"):
    problem = simulate(censoring, n=n, seed=seed).problem()
    return solve(problem, [gp(problem, kernel)], theta, method)


@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("censoring", CENSORING)
@pytest.mark.parametrize("name", VARIANTS)
def test_settles_at_any_noise(name, censoring, sigma):
    for seed in range(8):
        assert settled(censoring, VARIANTS[name], seed, np.log([1.2, 0.6, sigma])).converged


@pytest.mark.parametrize("censoring", [c for c in CENSORING if c != "none"])
@pytest.mark.parametrize("name", VARIANTS)
def test_takes_few_sweeps(name, censoring):
    found = [settled(censoring, VARIANTS[name], seed, np.log([1.2, 0.6, 0.5]), n=10) for seed in range(5)]
    assert all(p.converged for p in found)
    assert max(p.iterations for p in found) <= EASY[name]


@pytest.mark.parametrize("censoring", ["left", "all"])
@pytest.mark.parametrize("name", VARIANTS)
def test_contracts_to_rounding_error(name, censoring):
    """Where the objective is flat to its last digits nothing but the sites themselves shows the way."""
    found = [settled(censoring, tight(name, 1e-11), seed, np.log([1.2, 0.6, 0.1])) for seed in range(25)]
    assert [p.residual for p in found if not p.converged] == []


def test_ep_shortens_steps_that_turn():
    problem = simulate("all", n=60, seed=3).problem()
    posterior = solve(problem, [gp(problem)], THETA, METHODS["ep"]())
    assert posterior.converged
    assert posterior.iterations <= EASY["ep"]


@pytest.mark.parametrize("name", VARIANTS)
def test_uncensored_rows_need_no_sweep(name):
    posterior = settled("none", VARIANTS[name])
    assert (posterior.iterations, posterior.residual, posterior.converged) == (0, 0.0, True)


@pytest.mark.parametrize("name", VARIANTS)
def test_says_when_it_did_not_settle(name):
    posterior = settled("two-sided", replace(VARIANTS[name], max_iterations=1))
    assert not posterior.converged
    assert posterior.residual > 1e-7
    assert np.isfinite(posterior.evidence)


@pytest.mark.parametrize("name", METHODS)
def test_restarting_at_the_fixed_point_is_immediate(name):
    problem = simulate("two-sided", n=12).problem()
    first = solve(problem, [gp(problem)], THETA, VARIANTS[name])
    again = solve(problem, [gp(problem)], THETA, VARIANTS[name], first.sites)
    assert again.iterations <= 2
    assert again.evidence == pytest.approx(first.evidence, abs=1e-9)


@pytest.mark.parametrize("name", ["laplace", "ep"])
def test_the_posterior_of_some_rows_leads_to_that_of_all(name):
    data, method = simulate("two-sided", n=400), VARIANTS[name]
    problem, some = data.problem(), data.take(np.arange(0, 400, 4)).problem()
    few = solve(some, [gp(some)], THETA, method)
    cold = solve(problem, [gp(problem)], THETA, method)
    whole = seed_with(cut(problem, [Inputs(problem.X[0])]), few, method, GAUSSIAN)
    warm = find_posterior(whole, [gp(problem)], THETA, method, GAUSSIAN)
    assert warm.evidence == pytest.approx(cold.evidence, abs=1e-6)
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize("damping", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("name", VARIANTS)
def test_damping_changes_the_path_only(name, damping):
    usual = settled("mixed", VARIANTS[name], seed=1)
    damped = settled("mixed", replace(VARIANTS[name], damping=damping), seed=1)
    assert damped.evidence == pytest.approx(usual.evidence, abs=1e-7)


@pytest.mark.parametrize("name", VARIANTS)
def test_absurd_parameters_raise_or_are_finite(name):
    """The search meets such corners; what it must never see is a NaN."""
    for theta in ([9.0, -9.0, -9.0], [9.0, 9.0, -9.0], [-9.0, 0.0, 9.0], [9.0, 0.0, -9.0]):
        try:
            posterior = settled("two-sided", VARIANTS[name], theta=np.array(theta), kernel="matern32")
        except NumericalError:
            continue
        assert np.isfinite(posterior.evidence)


@pytest.mark.parametrize("name", METHODS)
def test_values_far_beyond_their_limits(name):
    """Limits 40 noise sds away from where the prior puts f."""
    problem = make_problem(np.array([[0.0], [3.0]]), [-np.inf, 12.0], [-12.0, np.inf])
    posterior = solve(problem, [gp(problem)], np.log([0.1, 0.5, 0.3]), VARIANTS[name])
    assert posterior.converged
    assert posterior.evidence == pytest.approx(2.0 * log_tail(12.0 / np.sqrt(0.1)), rel=0.02)


def log_tail(z):
    from scipy.special import log_ndtr

    return float(log_ndtr(-z))


def test_theta_is_cut_block_by_block():
    problem = simulate("none", n=5).problem()
    parts = split_theta([gp(problem), gp(problem)], np.arange(5.0))
    assert [part.tolist() for part in parts] == [[0.0, 1.0], [2.0, 3.0]]
