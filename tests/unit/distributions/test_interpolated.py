"""Rows that meet values of their own: between tables they are what their own integrals are."""

import numpy as np
import pytest

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, StudentNoise
from tobitgp.distributions.weighted import Lattice, interpolate
from tobitgp.posterior import nodes as posterior_nodes
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import CURVES
from tobitgp.results.survival import Times, left_area

every_noise = pytest.mark.parametrize("noise", [Gumbel(), Logistic(), StudentNoise(3.0)], ids=lambda d: d.name)
N = 30


def posterior(rng, noise):
    mean, sd = 0.4 * rng.normal(size=(2, N)), rng.uniform(0.1, 0.4, (2, N))
    log = noise.name != "student"
    return Nodes(np.array([0.4, 0.6]), mean, sd, np.array([[0.5], [0.6]]), log, (noise,) * 2)


@every_noise
def test_tails_and_hazards_are_the_integrals(noise, rng):
    q, x = posterior(rng, noise), rng.uniform(-3.0, 1.5, (N, 7))
    made = interpolate(Lattice(q.weight, q.noises, q.mean, q.sd, q.sigma[:, 0], q.log), -3.0, 1.5)
    direct, y = q.spread_over().new, np.exp(x) if q.log else x
    with np.errstate(all="ignore"):
        for found, want in zip(made.log_tails(y), direct.log_tails(y), strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-9)
        for found, want in zip(made.modelled_hazard(x), direct.modelled_hazard(x), strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-8)
    assert interpolate(made.rows, -1e9, 1.0) is None


@every_noise
@pytest.mark.parametrize("of", CURVES)
def test_curves_from_starts_of_their_own(noise, of, rng, monkeypatch):
    """One of them is 0."""
    times, after = Times.of(posterior(rng, noise)), np.append(0.0, rng.uniform(0.1, 1.0, N - 1))
    grid, made = np.linspace(0.1, 2.0, 40), []
    for most in (posterior_nodes._PAYS, 0):
        monkeypatch.setattr(posterior_nodes, "_PAYS", most)
        made.append(times.curve(of, grid, after, None)["mean"])
    assert not np.array_equal(*made)
    np.testing.assert_allclose(*made, rtol=1e-8)


@every_noise
def test_areas_left_of_rows_with_starts_of_their_own(noise, rng, monkeypatch):
    times, after = Times.of(posterior(rng, noise)), np.append(0.0, rng.uniform(0.1, 1.0, N - 1))
    found = left_area(times, 1.5, after)
    fine = np.linspace(0.0, 1.5, 3001)
    alive = times.posterior.take(times.which).spread_over().new.logsf(after[:, None] + fine)
    np.testing.assert_allclose(found, np.trapezoid(np.exp(alive - alive[:, :1]), fine, axis=1), rtol=1e-6)
