"""Inducing inputs moved by gradient: the bound never falls, and nothing that a fit may meet breaks it."""

from dataclasses import replace

import numpy as np
import pytest
from support.problems import GAUSSIAN, gp, make_problem, product, simulate, solve

from tobitgp.errors import NumericalError
from tobitgp.inference import METHODS, EPUpdates, VIUpdates
from tobitgp.inference import inducing as room
from tobitgp.inference.fitted import Task
from tobitgp.inference.hyperparameters import LOCATION, Parameters, default_prior
from tobitgp.inference.partition_fit import fit_gp
from tobitgp.inference.search_settings import Settings
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Grouping, Inputs

PLAIN = {"integrate": False}


def hyper(d, fixed=None):
    """Parameters of one process of d inputs; ``fixed``: log values of all."""
    roles = ("sd", *("lengthscale",) * d, "sigma")
    prior, k = np.array([default_prior(role, d) for role in roles]), d + 2
    names = tuple(f"{role} {i}" for i, role in enumerate(roles))
    free, start = np.full(k, fixed is None), np.full(k, np.nan) if fixed is None else np.asarray(fixed, float)
    return Parameters(names, roles, np.ones(k), prior[:, 0], prior[:, 1], free, start)


def run(problem, kernel, inducing, moves, method=None, chosen=None, on_step=None, **options):
    d, code = problem.X[0].shape[1], problem.code[0]
    grouping = None if code is None else Grouping("g", int(code.max()) + 1)
    term = GPPrior(Inputs(problem.X[0], code), product((kernel, d)), inducing, grouping, moves)
    settings = Settings(**(PLAIN | options))
    task = Task(problem, Prior(None, (term,)), chosen or hyper(d), GAUSSIAN)
    return fit_gp(task, method or VIUpdates(), settings, on_step)


def density(fitted):
    posterior = fitted.points[0]
    return posterior.evidence + fitted.parameters.log_prior(posterior.theta)[0]


def wavy(n, d, kind, seed):
    """A curve that few rows cannot hold, standardised, censored as ``simulate`` does."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, (n, d))
    f = sum(np.sin(4.0 * X[:, j] + j) * np.cos(2.0 * X[:, (j + 1) % d]) for j in range(d))
    y = f + 0.3 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    low, high = np.quantile(y, [0.3, 0.85])
    lower = np.where(y < low, -np.inf, np.where((y > high) & (kind != "left"), high, y))
    upper = np.where(y < low, low, np.where((y > high) & (kind != "left"), np.inf, y))
    if kind == "interval":
        inside = np.isfinite(lower) & np.isfinite(upper) & (rng.uniform(size=n) < 0.5)
        upper = np.where(inside, upper + 0.3, upper)
    return make_problem(X, lower, upper)


SETTINGS = {
    "rbf, 1-D, left": ("rbf", 1, 150, "left", 7),
    "rbf, 1-D, two-sided": ("rbf", 1, 150, "two-sided", 9),
    "matern52, 1-D, interval": ("matern52", 1, 150, "interval", 10),
    "matern32, 1-D, two-sided": ("matern32", 1, 150, "two-sided", 12),
    "matern12, 1-D, left": ("matern12", 1, 100, "left", 10),
    "rbf, 2-D, left": ("rbf", 2, 150, "left", 12),
    "matern32, 2-D, two-sided": ("matern32", 2, 150, "two-sided", 15),
    "matern32, 3-D, left": ("matern32", 3, 150, "left", 15),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SETTINGS)
def test_the_bound_never_falls(case):
    """Greedy <= moved <= dense, hyper-parameters found anew for the first two."""
    kernel, d, n, kind, M = SETTINGS[case]
    problem = wavy(n, d, kind, seed=2)
    greedy, moved = (run(problem, kernel, M, moves) for moves in (False, True))
    assert moved.n_features == greedy.n_features == M
    assert moved.trace.converged
    assert density(moved) >= density(greedy) + 0.5  # seen: 1.7 at least
    theta = moved.points[0].theta
    dense = solve(problem, [gp(problem, kernel)], theta, VIUpdates())
    assert moved.points[0].evidence <= dense.evidence + 1e-6
    assert [stage[0] for stage in moved.trace.stages][-2:] == ["inducing", "moved"]


@pytest.mark.parametrize("kind", ["left", "two-sided", "interval"])
def test_the_bound_of_basson_rises(kind):
    problem = wavy(120, 1, kind, seed=3)
    theta = np.log([1.1, 0.25, 0.3])
    method = VIUpdates(bound="local")
    greedy, moved = (run(problem, "rbf", 8, moves, method, hyper(1, theta)) for moves in (False, True))
    assert moved.evidence > greedy.evidence + 1.0


@pytest.mark.parametrize("name", METHODS)
def test_fixed_hyper_parameters_stay(name):
    """Only the inducing inputs move, whatever the method: its lower bound rises."""
    problem, theta = wavy(120, 1, "left", seed=4), np.log([1.1, 0.25, 0.3])
    greedy, moved = (run(problem, "rbf", 8, moves, METHODS[name](), hyper(1, theta)) for moves in (False, True))
    np.testing.assert_array_equal(moved.points[0].theta, theta)
    assert moved.elbo > greedy.elbo + 1.0


@pytest.mark.slow
def test_more_inputs_than_are_told_apart():
    """Two in one place: one is left out, and comes to no harm."""
    problem, start = wavy(120, 1, "left", seed=4), np.linspace(-1.5, 1.5, 6)[:, None]
    once = run(problem, "rbf", start, True)
    twice = run(problem, "rbf", np.concatenate([start, start[2:4]]), True)
    assert np.isfinite(twice.evidence)
    assert twice.trace.converged
    assert density(twice) > density(once) - 0.05


def test_nothing_moves_where_nothing_is_left_out():
    problem = simulate("left", n=30, seed=1).problem()
    moved, whole = run(problem, "rbf", 30, True), run(problem, "rbf", None, False)
    assert whole.n_features < 30
    assert "inducing" not in [stage[0] for stage in moved.trace.stages]
    assert moved.evidence == pytest.approx(whole.evidence, abs=1e-3)


@pytest.mark.slow
def test_groups_share_their_inducing_inputs():
    problem = wavy(150, 1, "left", seed=5)
    problem = replace(problem, code=(np.arange(150) % 3,))
    greedy, moved = (run(problem, "rbf", 5, moves) for moves in (False, True))
    assert density(moved) > density(greedy) + 0.5
    assert moved.n_features == 15


@pytest.mark.slow
@pytest.mark.parametrize("method", [VIUpdates(), EPUpdates()])
def test_many_rows_are_moved_by_some(monkeypatch, method):
    monkeypatch.setattr(room, "ROWS", 200)
    problem = wavy(900, 1, "left", seed=6)
    greedy, moved = (run(problem, "rbf", 7, moves, method) for moves in (False, True))
    assert moved.elbo > greedy.elbo + 5.0
    assert len(moved.points[0].sites.lambda1) == 900
    again = run(problem, "rbf", 7, True, method)
    assert again.evidence == moved.evidence


def test_a_worse_end_is_not_taken(monkeypatch):
    problem = wavy(120, 1, "left", seed=4)
    greedy = run(problem, "rbf", 6, False)

    def stray(bound, start, **options):
        located = np.array(bound.parameters.roles)[bound.parameters.free] == LOCATION
        return start + located * 30.0

    monkeypatch.setattr(room, "climb", stray)
    assert run(problem, "rbf", 6, True).evidence == pytest.approx(greedy.evidence, abs=1e-6)


def test_hyper_parameters_are_integrated_at_the_inputs_found():
    problem = wavy(100, 1, "left", seed=7)
    fitted = run(problem, "rbf", 6, True, integrate=True)
    assert len(fitted.points) > 1
    places = [point.blocks[0].Z[np.argsort(point.blocks[0].Z[:, 0])] for point in fitted.points]
    for Z in places[1:]:
        np.testing.assert_array_equal(Z, places[0])


def test_progress_is_reported():
    stages = []
    run(wavy(100, 1, "left", seed=7), "rbf", 6, True, on_step=lambda step: stages.append(step.stage))
    assert "inducing" in stages


@pytest.mark.slow
def test_inputs_in_a_corner_spread():
    problem, start = wavy(120, 1, "left", seed=4), np.linspace(0.0, 0.6, 8)[:, None]
    still, moved = (run(problem, "rbf", start, moves) for moves in (False, True))
    assert density(moved) > density(still) + 5.0
    assert np.ptp(moved.points[0].blocks[0].Z) > 2.0


@pytest.mark.slow
def test_a_curve_too_smooth_is_left(monkeypatch):
    """Greedy rows chosen for a curve without waves show none, and leave next to nothing; there are better ends."""
    monkeypatch.setattr("tobitgp.inference.search.WORTH", {})  # screening sees the waves in all rows
    problem = wavy(900, 1, "left", seed=6)
    greedy, moved = (run(problem, "rbf", 7, moves, rng=0) for moves in (False, True))
    assert greedy.nats_left < 0.01
    assert density(moved) > density(greedy) + 100.0


@pytest.mark.slow
def test_a_search_that_breaks_down_costs_nothing(monkeypatch):
    def broken(fit, theta):
        raise NumericalError("on purpose")

    problem = wavy(120, 1, "left", seed=4)
    whole = run(problem, "rbf", 8, True)
    monkeypatch.setattr("tobitgp.inference.search.Search._free_start", broken)
    assert density(run(problem, "rbf", 8, True)) <= density(whole) + 1e-3
