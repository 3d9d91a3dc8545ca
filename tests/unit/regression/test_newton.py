import numpy as np
import pytest
from support.differences import gradient
from support.distributions import EVERY, IDS
from support.working import standardised

from tobitgp.data.outcome import outcome
from tobitgp.regression.newton import evaluate, olsen_derivatives, olsen_step


@pytest.mark.parametrize("distribution", EVERY, ids=IDS)
@pytest.mark.slow_cases("StudentNoise(df=4.0)", "GenGammaNoise(Q=0.5)", "GenGammaNoise(Q=-0.7)", "GenGammaNoise(Q=0.0)")
def test_olsens_coordinates(distribution, mixed):
    rows, H = mixed
    n = len(H)
    problem = standardised(outcome(rows), H, np.ones((n, 1)))
    tau0 = problem.chunks[0].tau0[0]
    x = np.array([0.3, -0.2, 0.1, -0.3])
    sigma = np.exp(tau0 + x[-1])

    def value(u):
        """At delta + u[:-1], h (1 + u[-1])."""
        h = (1.0 + u[-1]) / sigma
        at = np.append((x[:-1] / sigma + u[:-1]) / h, -np.log(h) - tau0)
        return evaluate(problem, distribution, at).value

    state = evaluate(problem, distribution, x)
    got, hessian = olsen_derivatives(state, sigma)
    hessian = hessian.dense()
    np.testing.assert_allclose(got, gradient(value, np.zeros(4), 1e-3), rtol=1e-6, atol=1e-6)
    rows = gradient_rows(value, 4)
    np.testing.assert_allclose(hessian, rows, rtol=1e-4, atol=1e-3)
    if distribution.log_concave:
        assert np.linalg.eigvalsh(hessian).max() < 0.0
        step = olsen_step(state, tau0)
        slope = (evaluate(problem, distribution, step.at(1e-6)).value - state.value) / 1e-6
        assert slope == pytest.approx(step.slope, rel=1e-3)


def gradient_rows(value, k):
    return [gradient(lambda u, e=e: gradient(value, u, 1e-3) @ e, np.zeros(k), 1e-3) for e in np.eye(k)]
