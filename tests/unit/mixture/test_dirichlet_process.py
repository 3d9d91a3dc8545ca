import numpy as np
import pytest

from tobitgp.mixture import VBCM, DirichletProcess, array_fit, fit_mixture, starts
from tobitgp.mixture.coordinate_ascent import climb


@pytest.mark.parametrize("seed", range(4))
def test_components_that_starts_did_not_empty_are_done_without(seed):
    """Every start ends with a third component of few rows, six nats below the optimum of two."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    found = fit_mixture(y, y, k=5, weights=DirichletProcess(), method=VBCM(n_init=2, check=True))
    assert found.objective > found.ends.max() + 1.0
    assert sorted(np.flatnonzero(found.counts > 1.0)) == list(np.flatnonzero(found.counts > 50.0))
    assert found.counts.sum() == pytest.approx(200.0)


def test_passes_of_trials_are_counted(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    one = fit_mixture(y, y, k=1, weights=DirichletProcess(), method=VBCM(n_init=1, max_iter=1))
    assert one.passes == 1
    assert (
        one.notes[0] == "No convergence after 1 pass, at most 1 in an ascent. Try method=tg.VBCM(n_init=1, max_iter=4)."
    )
    ascents = []

    def counted(*given):
        ascents.append(climb(*given))
        return ascents[-1]

    monkeypatch.setattr(array_fit, "climb", counted)
    monkeypatch.setattr(starts, "climb", counted)
    many = fit_mixture(y, y, k=4, weights=DirichletProcess(), method=VBCM(n_init=1, max_iter=30))
    assert len(ascents) > 3
    assert many.passes == sum(ascent.passes for ascent in ascents)


def test_more_sticks_do_not_change_what_is_found():
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 100)])
    few, many = (fit_mixture(y, y, k=k, weights=DirichletProcess(), method=VBCM(n_init=2)) for k in (4, 12))
    assert few.n_effective == many.n_effective == 2
    for kind in ("mean", "sd"):
        np.testing.assert_allclose(
            few.parameters[kind][few.counts > 1.0], many.parameters[kind][many.counts > 1.0], rtol=0.02
        )
