"""Standard errors of weights, which lie in [0, 1], in every family of components."""

import numpy as np
import pytest
from support.mixtures import DRAWS, NAMES

from tobitgp.mixture import EMCM, VBCM, Dirichlet, DirichletProcess, fit_mixture, intervals, linear_response

pytestmark = pytest.mark.diagonal

families = pytest.mark.parametrize("name", NAMES)


def one_group(name):
    """Eighty rows of a single component."""
    rng = np.random.default_rng(3)
    y = {"gaussian": rng.normal(size=80), "poisson": rng.poisson(3.0, 80).astype(float)}
    return y.get(name, rng.exponential(1.0, 80))


@pytest.mark.slow
@families
@pytest.mark.parametrize(
    ("method", "weights", "rows"),
    [
        (VBCM(), None, 1.0),
        (VBCM(), Dirichlet(2.0), 2.0),
        (VBCM(), DirichletProcess(), 0.0),
        (EMCM(), None, 0.0),
    ],
    ids=["uniform", "Dirichlet", "process", "em"],
)
@pytest.mark.parametrize("k", [2, 3])
def test_no_weight_is_less_certain_than_its_prior_makes_it(name, method, weights, rows, k):
    """Nor than anything in [0, 1] of the same mean can be; changes of the weights sum to 0."""
    y = one_group(name)
    fit = fit_mixture(y, y, family=name, k=k, method=method, weights=weights)
    V = linear_response(fit, y, y)
    of_weights, w = V[:k, :k], fit.weights
    known = np.isfinite(np.diag(of_weights))
    most = w * (1.0 - w) / (1.0 + rows * k)
    assert (np.diag(of_weights)[known] <= most[known] * (1.0 + 1e-9)).all()
    if known.all():
        assert np.abs(of_weights.sum(axis=1)).max() < 1e-6
        ends = intervals(fit, V)[:k]
        assert (ends[:, 0] <= w + 1e-9).all()
        assert (ends[:, 1] >= w - 1e-9).all()


@pytest.mark.slow
@families
def test_weights_of_groups_that_are_known_keep_their_binomial_error(name):
    """Two groups far apart: the error is that of a proportion, up to the prior's two rows."""
    rng = np.random.default_rng(5)
    scale = {"gaussian": 200.0, "poisson": 400.0}.get(name, 1e5)
    near, far = DRAWS[name](rng, 60), DRAWS[name](rng, 140)
    y = np.concatenate([near, far + scale if name in ("gaussian", "poisson") else far * scale])
    fit = fit_mixture(y, y, family=name, method=EMCM())
    error = np.sqrt(linear_response(fit, y, y)[0, 0])
    assert error == pytest.approx(np.sqrt(0.3 * 0.7 / 200), rel=0.06)
