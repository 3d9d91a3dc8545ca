import numpy as np
import pytest
from support.differences import gradient
from support.distributions import EVERY, IDS
from support.working import standardised

from tobitgp.data.outcome import outcome
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.regression import working
from tobitgp.regression.newton import evaluate


def problem(data, W=None, free_shape=False):
    rows, H = data
    n = len(H)
    W = np.ones((n, 1)) if W is None else W
    return standardised(outcome(rows), H, W, free_shape=free_shape)


def check(problem, distribution, x):
    state = evaluate(problem, distribution, x)
    difference = gradient(lambda at: evaluate(problem, distribution, at).value, x, 1e-3)
    np.testing.assert_allclose(state.gradient, difference, rtol=1e-6, atol=1e-6)
    rows = [gradient(lambda at, i=i: evaluate(problem, distribution, at).gradient[i], x, 1e-3) for i in range(len(x))]
    np.testing.assert_allclose(state.hessian.dense(), rows, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(state.hessian.dense(), state.hessian.dense().T)


@pytest.mark.parametrize("distribution", EVERY, ids=IDS)
@pytest.mark.slow_cases("GenGammaNoise(Q=0.5)")
def test_gradient_and_hessian(distribution, mixed, windowed):
    check(problem(mixed), distribution, np.array([0.3, -0.2, 0.1, -0.3]))
    check(problem(mixed, W=mixed[1][:, :2]), distribution, np.array([0.3, -0.2, 0.1, -0.3, 0.2]))
    check(problem(windowed), distribution, np.array([0.3, -0.2, 0.1]))


@pytest.mark.slow
def test_derivatives_in_log_df(mixed, windowed):
    for data in (mixed, windowed):
        at = problem(data, W=data[1][:, :2], free_shape=True)
        check(at, StudentNoise(4.0), np.append(0.1 * np.ones(at.p + 2), np.log(3.0)))


def test_chunks_do_not_matter(mixed, monkeypatch):
    x = np.array([0.3, -0.2, 0.1, -0.3])
    whole = evaluate(problem(mixed), EVERY[0], x)
    monkeypatch.setattr(working, "_CHUNK", 7)
    parts = evaluate(problem(mixed), EVERY[0], x)
    assert parts.value == pytest.approx(whole.value, rel=1e-13)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(parts.hessian.dense(), whole.hessian.dense(), rtol=1e-11, atol=1e-11)
