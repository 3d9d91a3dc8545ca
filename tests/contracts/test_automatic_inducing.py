"""What ``inducing="auto"`` promises against ``inducing=None``, at fixed hyper-parameters and 1500 rows.

With T the trace term ``1/2 sum lambda2 d`` that a fit reports as nats left out: over responses drawn from the prior the
evidence lower bound loses between T and 2 T on the average (Burt, Rasmussen and van der Wilk, 2019). EP counts d as
noise of its own and loses much less of its evidence.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.methods import having, with_settings

import tobitgp as tg
from tobitgp.errors import ApproximationWarning
from tobitgp.priors.kernels import KERNELS

pytestmark = pytest.mark.diagonal

N = 1500
NATS = 0.01


@pytest.fixture(autouse=True)
def _at_the_cap(monkeypatch):
    """500 inducing inputs and no more: what is promised is of the choice among rows."""
    monkeypatch.setattr("tobitgp.inference.search.DENSE_WORK", 0.0)


def drawn(kernel, d, lengthscale, sigma, seed=0):
    """A formula, data drawn from its prior with sd 1, 30% left-censored, and the hyper-parameters."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, (N, d)) if d < 3 else rng.standard_normal((N, d))
    K = KERNELS[kernel].value(X / lengthscale, X / lengthscale, np.empty(0))
    y = np.linalg.cholesky(K + 1e-8 * np.eye(N)) @ rng.standard_normal(N) + sigma * rng.standard_normal(N)
    limit, names = float(np.quantile(y, 0.3)), [f"x{j}" for j in range(d)]
    frame = pd.DataFrame(X, columns=names).assign(y=np.maximum(y, limit))
    options = f"kernel='{kernel}', ard=False, approximation='low_rank', name='g'"
    formula = f"y ~ 0 + gp({', '.join(names)}, {options}) | censor({limit})"
    return formula, frame, {"sd(g)": 1.0, "lengthscale(g)": lengthscale, "sigma": sigma}


def both(case, method):
    """The fits with automatic inducing inputs and with the prior in full, and the nats that a warning names."""
    formula, frame, fixed = drawn(*case)
    options = {"fixed": fixed, "method": having(method, hyper="maximize")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        auto = tg.fit(formula, frame, **options)
    assert all(w.category is ApproximationWarning for w in caught)
    named = [float(str(w.message).split("gap ")[1].split(" nats")[0]) for w in caught]
    return auto, tg.fit(formula, frame, **with_settings(options, inducing=None)), named


def check_promise(case, method):
    auto, full, named = both(case, method)
    assert not named
    assert auto.parts.fitted.nats_left <= NATS
    assert abs(full.log_evidence - auto.log_evidence) < NATS
    # The prior in full stops at the largest residual, the choice for the data at the largest that they feel.
    assert auto.parts.fitted.n_features <= full.parts.fitted.n_features + 2
    if method == "vi":
        # The prior in full leaves out a relative 1e-10, twice 1e-4 nats where sigma is .02.
        assert full.log_evidence >= auto.log_evidence - 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vi", "ep"])
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("case", [("rbf", 1, 1.0), ("rbf", 1, 0.3), ("rbf", 1, 0.1), ("rbf", 2, 1.0)])
def test_rbf(case, sigma, method):
    check_promise((*case, sigma), method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vi", "ep"])
@pytest.mark.parametrize(("lengthscale", "sigma"), [(1.0, 0.2), (0.5, 0.5), (2.0, 0.1), (4.0, 0.05)])
def test_matern32_along_a_line(lengthscale, sigma, method):
    check_promise(("matern32", 1, lengthscale, sigma), method)


@pytest.mark.slow
@pytest.mark.parametrize(("lengthscale", "sigma"), [(2.0, 0.5), (2.0, 0.2), (1.0, 1.0), (4.0, 0.2)])
def test_the_warning_names_what_is_lost_of_the_bound(lengthscale, sigma):
    """Four-dimensional matern32 at the cap: seen 1.01 to 1.11 times the figure."""
    auto, full, named = both(("matern32", 4, lengthscale, sigma), "vi")
    assert auto.parts.fitted.n_features == 500
    assert named == [pytest.approx(auto.parts.fitted.nats_left, rel=5e-3)]
    assert 0.95 < (full.log_evidence - auto.log_evidence) / named[0] < 1.3


@pytest.mark.slow
@pytest.mark.parametrize(("lengthscale", "sigma"), [(2.0, 0.5), (2.0, 0.2), (1.0, 1.0), (4.0, 0.2)])
def test_ep_loses_less_than_the_figure(lengthscale, sigma):
    """EP's own evidence: seen .06 to .16 of the figure. Its lower bound: seen 1.1 to 2.01 times."""
    auto, full, named = both(("matern32", 4, lengthscale, sigma), "ep")
    assert abs(full.log_evidence - auto.log_evidence) < 0.25 * named[0]
    assert 0.95 < (full.elbo - auto.elbo) / named[0] < 2.2


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.3, 0.6])
def test_the_average_loss_is_between_one_and_two_trace_terms(sigma):
    """Without censoring, where the statement is a theorem, over 40 draws."""
    rng = np.random.default_rng(1)
    n, M = 120, 8
    X = rng.uniform(0.0, 4.0, (n, 1))
    K = KERNELS["matern32"].value(X, X, np.empty(0))
    Z = rng.choice(n, M, replace=False)
    Q = K[:, Z] @ np.linalg.solve(K[np.ix_(Z, Z)], K[Z])
    noise, root = sigma**2 * np.eye(n), np.linalg.cholesky(K + sigma**2 * np.eye(n))
    T, losses = 0.5 * np.trace(K - Q) / sigma**2, []
    for _ in range(40):
        y = root @ rng.standard_normal(n)
        frame, fixed = pd.DataFrame({"x": X[:, 0], "y": y}), {"sd(g)": 1.0, "lengthscale(g)": 1.0, "sigma": sigma}
        options = {"fixed": fixed, "method": tg.VI(hyper="maximize")}
        formula = "y ~ 0 + gp(x, kernel='matern32', name='g')"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            sparse = tg.fit(formula, frame, **with_settings(options, inducing=X[Z]))
        assert sparse.parts.fitted.nats_left == pytest.approx(T, rel=1e-6)
        S = K + noise
        dense = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(S)[1] + n * np.log(2.0 * np.pi))
        losses.append(dense - sparse.log_evidence)
    assert min(losses) > 0.0
    assert T < np.mean(losses) < 2.0 * T
