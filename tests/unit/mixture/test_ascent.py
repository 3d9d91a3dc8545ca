import numpy as np
import pytest
from support.mixtures import EVERY, random_rows

import tobitgp as tg
from tobitgp.mixture import EMCM, VBCM, DirichletProcess, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.coordinate_ascent import Extrapolation, Stop, chunks_of, climb
from tobitgp.mixture.evidence_bound import MixtureState, Points

INF = np.inf


def rossi():
    data = tg.datasets.load("rossi")
    week = data["week"].to_numpy(float)
    return week, np.where(data["event"] == 1, week, INF)


@pytest.mark.slow
def test_all_starts_reach_the_top_of_a_flat_ridge():
    """A log-normal mixture of rows of which three quarters are censored: without jumps starts stop along the ridge."""
    fit = fit_mixture(*rossi(), family="lognormal", k=2, method=VBCM(n_init=9))
    assert fit.converged
    np.testing.assert_allclose(fit.ends[1:5], fit.ends[0], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("method", [VBCM, EMCM])
def test_where_jumps_end_plain_steps_find_nothing(name, method):
    rows = random_rows(np.random.default_rng(5), name, 120)
    fit = fit_mixture(*rows, family=name, k=2, method=method(n_init=1, check=True))
    assert fit.converged
    family = fit.model.family
    chunks = chunks_of(arrange(family, read_rows(family, *rows), fit.units, ties=fit.model.adapts), 2)
    end = climb(fit.model, chunks, fit.state, Stop(1e-12, passes=100, relax=False, check=True))
    assert 0.0 <= end.value - end.trace[0] + 1e-10 < 1e-5


def test_a_linear_step_is_solved_by_as_many_jumps_as_it_has_directions():
    """M(x) = A x + c in three coordinates, of which one is slow."""
    A, c = np.diag([0.999, 0.5, -0.2]), np.array([1e-3, 0.5, 1.2])

    class Line:
        positive = staticmethod(lambda state: np.zeros(3, dtype=bool))
        sizes = staticmethod(lambda state, counts: np.ones(3))
        admit = staticmethod(lambda state: state)

    state, past = MixtureState(np.zeros(0), np.full((3, 1), 7.0)), Extrapolation()
    for _ in range(8):
        goal = MixtureState(state.weights, (A @ state.components[:, 0] + c)[:, None])
        state = past.propose(Line(), state, goal, np.ones(1)) or goal
    np.testing.assert_allclose(state.components[:, 0], [1.0, 1.0, 1.0], rtol=1e-6)


def test_a_jump_that_was_refused_is_followed_by_a_shorter_one():
    past = Extrapolation(size=4.0)
    past.judge(higher=False)
    assert past.radius == 1.0
    past.size = 0.9
    past.judge(higher=True)
    assert past.radius == 1.8


@pytest.mark.slow
def test_a_process_jumps_too():
    rng = np.random.default_rng(2)
    y = np.concatenate([rng.normal(-3.0, 1.0, 80), rng.normal(2.0, 1.5, 80)])
    fit = fit_mixture(
        np.minimum(y, 3.0), np.where(y > 3.0, INF, y), k=5, weights=DirichletProcess(), method=VBCM(check=True)
    )
    assert fit.converged


def test_an_empty_component_stops_no_ascent():
    model = Points(fit_mixture(np.arange(1.0, 9.0), np.arange(1.0, 9.0), k=1).model.family, 2, 1e-3)
    state = MixtureState(np.array([1.0, 0.0]), np.zeros((2, 2)))
    assert Extrapolation().propose(model, state, state, np.array([8.0, 0.0])) is None
