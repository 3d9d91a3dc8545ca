"""Times of which a share never comes, against what defines them."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from tobitgp.distributions.event_times import Cured
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise

NOISES = [NormalNoise(), Logistic(), Gumbel(), GenGammaNoise(-0.7)]
LOGIT = np.array([-2.0, 0.3, 4.0])
PI = expit(LOGIT)


def made(noise):
    return Cured(LocationScale(noise, np.array([0.5, 1.0, -0.3]), np.array([0.8, 1.2, 0.4]), log=True), LOGIT)


@pytest.mark.parametrize("noise", NOISES)
def test_survival_is_a_mixture(noise):
    y = made(noise)
    for t in (0.0, 0.3, 2.0, 50.0):
        at = np.full(3, t)
        want = PI + (1.0 - PI) * np.exp(y.uncured.logsf(at))
        assert np.exp(y.logsf(at)) == pytest.approx(want, rel=1e-13)
        assert np.exp(y.logcdf(at)) == pytest.approx(1.0 - want, abs=1e-13)


@pytest.mark.parametrize("noise", NOISES)
def test_hazard_and_density_are_derivatives(noise):
    y, t, h = made(noise), np.array([0.7, 3.0, 0.9]), 1e-5
    rise = (y.logsf(t - h) - y.logsf(t + h)) / (2.0 * h)
    assert np.exp(y.log_hazard(t)) == pytest.approx(rise, rel=1e-6)
    assert y.logpdf(t) == pytest.approx(y.log_hazard(t) + y.logsf(t), abs=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_quantiles_until_they_are_not_reached(noise):
    y = made(noise)
    for p in (1e-6, 0.01, 0.3, 0.65, 0.9, 0.99):
        t = y.ppf(p)
        assert (np.isposinf(t) == (p >= 1.0 - PI)).all()
        reached = np.isfinite(t)
        at = np.where(reached, t, 1.0)
        assert np.exp(y.logcdf(at))[reached] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_remaining_times(noise):
    y, start = made(noise), np.array([0.5, 1.5, 0.6])
    for p in (0.99, 0.8, 0.5):
        left = y.remaining(p, start)
        goal = np.log(p) + y.logsf(start)
        assert (np.isposinf(left) == (goal <= np.log(PI))).all()
        reached = np.isfinite(left)
        end = np.where(reached, start + left, 1.0)
        assert y.logsf(end)[reached] == pytest.approx(goal[reached], abs=1e-9)


def test_being_cured_given_survival():
    y, t = made(Gumbel()), np.array([0.0, 2.0, 5.0])
    alive = np.exp(y.uncured.logsf(t))
    assert expit(y.cured_log_odds(t)) == pytest.approx(PI / (PI + (1.0 - PI) * alive), rel=1e-12)
    assert y.cured_log_odds(np.zeros(3)) == pytest.approx(LOGIT)


def test_means():
    y, free = made(Gumbel()), np.full(3, np.inf)
    assert np.isposinf(y.mean()).all()
    for fast in (False, True):
        found = y.observed_mean(np.zeros(3), np.full(3, 4.0), -free, free, fast=fast)
        for i, value in enumerate(found):
            want = quad(lambda t, i=i: float(np.exp(y.logsf(np.full(3, t)))[i]), 0.0, 4.0, epsabs=1e-11)[0]
            assert value == pytest.approx(want, rel=1e-8)
