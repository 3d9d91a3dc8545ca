import numpy as np
import pytest

from tobitgp.mixture import VBCM, DirichletProcess, fit_mixture


@pytest.mark.parametrize("seed", range(4))
def test_components_that_starts_did_not_empty_are_done_without(seed):
    """Every start ends with a third component of few rows, six nats below the optimum of two."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    fit = fit_mixture(y, y, k=5, weights=DirichletProcess(), method=VBCM(n_init=2, check=True))
    assert fit.objective > fit.ends.max() + 1.0
    assert sorted(np.flatnonzero(fit.counts > 1.0)) == list(np.flatnonzero(fit.counts > 50.0))
    assert fit.counts.sum() == pytest.approx(200.0)


def test_more_sticks_do_not_change_what_is_found():
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    few, many = (fit_mixture(y, y, k=k, weights=DirichletProcess(), method=VBCM(n_init=2)) for k in (4, 12))
    assert few.n_effective == many.n_effective == 2
    for kind in ("mean", "sd"):
        np.testing.assert_allclose(
            few.parameters[kind][few.counts > 1.0], many.parameters[kind][many.counts > 1.0], rtol=0.02
        )
