"""Rows that meet the same values: products of matrices are the integrals, far out in the tails too."""

import mpmath
import numpy as np
import pytest
from scipy import stats as st

from tobitgp.distributions import convolution, weighted
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.distributions.weighted import Lattice
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import CURVES

SIGMA, VALUES = 0.7, np.linspace(-20.0, 12.0, 80)
PARTS = weighted._ABOVE, weighted._BELOW, weighted._DENSITY
every_noise = pytest.mark.parametrize(
    "noise", [NormalNoise(), Gumbel(), Logistic(), StudentNoise(3.0)], ids=lambda d: d.name
)
every_spread = pytest.mark.parametrize("spread", [(0.01, 0.02), (0.05, 2.0), (1.0, 4.0)])


def made(noise, t, mean, sigma=SIGMA):
    return Lattice(np.ones(1), (noise,), mean[None], sigma * t[None], np.array([sigma]), False)


@every_noise
@every_spread
def test_sums_do_not_depend_on_the_lattice(noise, spread, rng, monkeypatch):
    t, mean = rng.uniform(*spread, 30), 0.2 * rng.normal(size=30)
    with np.errstate(all="ignore"):
        found = made(noise, t, mean)._logs(VALUES, *PARTS)
        monkeypatch.setattr(weighted, "STEP", 0.2)
        monkeypatch.setattr(weighted, "_MOST", 30_000)
        fine = made(noise, t, mean)._logs(VALUES, *PARTS)
    for one, other in zip(found, fine, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@every_noise
@every_spread
def test_sums_are_the_integrals(noise, spread, rng):
    t, mean = rng.uniform(*spread, 30), 0.2 * rng.normal(size=30)
    rows, values = (at.ravel() for at in np.indices((30, len(VALUES))))
    with np.errstate(all="ignore"):
        it = made(noise, t, mean)
        for part, found in zip(PARTS, it._logs(VALUES, *PARTS), strict=True):
            want = it._log_mean(0, part, VALUES[values], rows).reshape(found.shape)
            likely = want > -20.0
            np.testing.assert_allclose(found[likely], want[likely], rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_far_tails_of_gumbel_noise_against_many_digits():
    t, z = 0.6, np.array([1.0, 3.0, 5.0, 12.0])
    found = made(Gumbel(), np.array([t]), np.zeros(1))._logs(SIGMA * z, weighted._ABOVE)[0][0]
    with mpmath.workdps(30):
        bell = [
            mpmath.quad(
                lambda x, a=a: mpmath.npdf(x) * mpmath.exp(-mpmath.exp(a - t * x)), np.arange(-12.0, 40.0, 0.25)
            )
            for a in z.tolist()
        ]
        want = [float(mpmath.log(value)) for value in bell]
    assert want[-1] < -100.0
    np.testing.assert_allclose(found, want, rtol=1e-12)
    each = convolution.log_tail(Gumbel(), z, np.full(4, t), upper=True)
    np.testing.assert_allclose(each, want, rtol=1e-12)


def test_normal_noise_has_the_closed_form(rng):
    weight, mean, sd = np.array([0.3, 0.7]), rng.normal(size=(2, 5)), rng.uniform(0.1, 0.5, (2, 5))
    sigma = np.array([0.5, 0.8])
    found = np.exp(Lattice(weight, (NormalNoise(),) * 2, mean, sd, sigma, True).logsf(np.exp(VALUES)))
    scale = np.hypot(sd, sigma[:, None])[..., None]
    want = np.tensordot(weight, st.norm.sf((VALUES - mean[..., None]) / scale), 1)
    np.testing.assert_allclose(found, want, rtol=1e-11)


@every_noise
@pytest.mark.parametrize("of", ["survival", "cumulative_hazard", "hazard"])
def test_curves_are_those_of_rows_by_themselves(noise, of, rng):
    """Some of f are as good as certain, so that a lattice would have too many nodes; one time is 0."""
    mean, sd = rng.normal(size=(2, 6)), rng.uniform(0.1, 0.5, (2, 6))
    sd[1] = 1e-9
    q = Nodes(np.array([0.4, 0.6]), mean, sd, np.array([[0.5], [0.6]]), True, (noise,) * 2)
    times = np.array([[0.0, 0.01, 0.5, 1.0, 3.0, 9.0]])
    with np.errstate(all="ignore"):
        found = CURVES[of](True, times).number(q.beside_shared_values)
        want = CURVES[of](True, np.repeat(times, 6, axis=0)).number(q.spread_over().new)
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-13)
