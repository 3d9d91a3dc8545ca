"""Formulas of log times: against 50-digit arithmetic far out in tails, quadrature, and differences."""

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.event_times import Cured
from tobitgp.distributions.formulas import CuredTimes, RowTimes, location_scale_times, transformed_times
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.likelihoods import FAMILIES
from tobitgp.numerics.jets import log_complement, log_expit, variables

NOISES = {name: FAMILIES[name].distribution for name in ("lognormal", "loglogistic", "weibull", "gengamma")}
SPLINE = SplineBaseline((-1.0, 0.2, 0.9, 1.8))
ASKED = ("log_density", "log_sf", "log_cdf", "log_between")


def location_scale(noise, x):
    return location_scale_times(noise, *x)


def cured(noise, x):
    return CuredTimes(location_scale_times(noise, x[0], x[1]), x[2])


def hazards(baseline):
    return lambda noise, x: transformed_times(noise, baseline, x[0], x[1:])


def cured_hazards(baseline):
    return lambda noise, x: CuredTimes(transformed_times(noise, baseline, x[0], x[1:-1]), x[-1])


class SkewedTimes(RowTimes):
    """A distribution that the package lacks, with three parameters of rows: log times have the cdf expit(z)^a."""

    def __init__(self, eta, tau, log_a):
        self.eta, self.rate, self.tau, self.log_a, self.a = eta, np.exp(-tau), tau, log_a, np.exp(log_a)

    def log_density(self, v):
        z = (v - self.eta) * self.rate
        return self.log_a + self.a * log_expit(z) + log_expit(-z) - self.tau

    def log_cdf(self, v):
        return self.a * log_expit((v - self.eta) * self.rate)

    def log_sf(self, v):
        return log_complement(self.log_cdf(v))

    def log_between(self, a, b):
        return self.log_cdf(b) + log_complement(self.log_cdf(a) - self.log_cdf(b))


KINDS = {
    "skewed": (lambda noise, x: SkewedTimes(*x), [0.3, -0.4, 0.5]),
    "cured skewed": (lambda noise, x: CuredTimes(SkewedTimes(*x[:3]), x[3]), [0.3, -0.4, 0.5, -0.6]),
    "location and scale": (location_scale, [0.3, -0.4]),
    "with a shape": (location_scale, [0.3, -0.4, 0.7]),
    "cured": (cured, [0.3, -0.4, -0.6]),
    "weibull hazards": (hazards(WeibullBaseline()), [-0.5, 0.3]),
    "gompertz hazards": (hazards(GompertzBaseline()), [-0.5, 0.3]),
    "spline hazards": (hazards(SPLINE), [-0.7, 1.1, 0.08, -0.05]),
    "cured spline hazards": (cured_hazards(SPLINE), [-0.7, 1.1, 0.08, -0.05, -0.6]),
    "cured gompertz hazards": (cured_hazards(GompertzBaseline()), [-0.5, 0.3, 0.4]),
}


def noises_of(kind):
    """Of those with a distribution of their own it does not matter which."""
    return (
        ["gengamma"] if kind in ("with a shape", "skewed", "cured skewed") else ["lognormal", "loglogistic", "weibull"]
    )


CASES = [(kind, noise) for kind in KINDS for noise in noises_of(kind)]
V = np.array([-1.3, -0.2, 0.4, 1.1, 1.9])


def at(kind, noise, moved=(), v=V):
    """The distribution of as many rows as there are log times."""
    make, values = KINDS[kind]
    x = [np.full(len(v), value) for value in values]
    for place, step in moved:
        x[place] = x[place] + step
    return make(NOISES[noise], variables(x))


def ask(times, name, v=V):
    return times.log_between(v - 0.3, v + 0.4) if name == "log_between" else getattr(times, name)(v)


@pytest.mark.parametrize(("kind", "noise"), CASES)
def test_derivatives_are_those_of_the_value(kind, noise):
    h, tolerance = 1e-4, 1e-5 if kind == "with a shape" else 1e-7  # derivatives in a shape are differences
    for name in ASKED:
        here = ask(at(kind, noise), name)
        for j in range(len(KINDS[kind][1])):
            more, less, far, near = (ask(at(kind, noise, [(j, step)]), name) for step in (h, -h, 2.0 * h, -2.0 * h))

            def slope(of, pairs=(more, less, far, near)):
                up, down, up2, down2 = (np.asarray(of(jet)) for jet in pairs)
                return (8.0 * (up - down) - (up2 - down2)) / (12.0 * h)

            np.testing.assert_allclose(here.slope.get(j, 0.0), slope(lambda jet: jet.value), rtol=tolerance, atol=1e-9)
            for i in range(len(KINDS[kind][1])):
                want = slope(lambda jet, i=i: np.broadcast_to(jet.slope.get(i, 0.0), len(V)))
                found = np.broadcast_to(here.bend.get((min(i, j), max(i, j)), 0.0), len(V))
                np.testing.assert_allclose(found, want, rtol=10.0 * tolerance, atol=2e-8)


@pytest.mark.parametrize(("kind", "noise"), CASES)
def test_probabilities_are_integrals_of_the_density(kind, noise):
    """All but the share that is cured."""
    values = KINDS[kind][1]

    def one(name, v):
        return float(getattr(at(kind, noise, v=np.array([v])), name)(np.array([v])).value[0])

    def density(v):
        return np.exp(one("log_density", v))

    never = 1.0 / (1.0 + np.exp(-values[-1])) if "cured" in kind else 0.0
    for v in (-0.8, 1.4):
        below = quad(density, -40.0, v, epsabs=1e-12, limit=200)[0]
        above = quad(density, v, 6.0, epsabs=1e-12, limit=200, points=(1.8, 3.0))[0]
        above += quad(density, 6.0, 60.0, epsabs=1e-12, limit=200)[0]
        assert np.exp(one("log_cdf", v)) == pytest.approx(below, abs=2e-9)
        assert np.exp(one("log_sf", v)) == pytest.approx(never + above, abs=2e-9)
        between = at(kind, noise, v=np.zeros(1)).log_between(np.array([v]), np.array([v + 0.7]))
        assert np.exp(between.value[0]) == pytest.approx(quad(density, v, v + 0.7, epsabs=1e-12)[0], abs=2e-9)


@pytest.mark.parametrize("noise", ["lognormal", "loglogistic", "weibull"])
def test_values_are_those_of_the_distributions_that_predict(noise):
    t, of = np.exp(V), NOISES[noise]
    plain = LocationScale(of, np.full(5, 0.3), np.exp(np.full(5, -0.4)), log=True)
    pairs = [
        ("location and scale", plain),
        ("cured", Cured(plain, np.full(5, -0.6))),
        ("spline hazards", TransformedTimes(of, SPLINE, np.full(5, -0.7), (1.1, 0.08, -0.05))),
    ]
    for kind, want in pairs:
        times = at(kind, noise)
        np.testing.assert_allclose(times.log_density(V).value, want.logpdf(t) + V, rtol=1e-11)
        np.testing.assert_allclose(times.log_sf(V).value, want.logsf(t), rtol=1e-11)
        np.testing.assert_allclose(times.log_cdf(V).value, want.logcdf(t), rtol=1e-11)


TAILS = {
    "lognormal": lambda z: mp.log(mp.ncdf(-z)),
    "loglogistic": lambda z: -mp.log1p(mp.exp(z)),
    "weibull": lambda z: -mp.exp(z),
}


@pytest.mark.parametrize("noise", TAILS)
@pytest.mark.parametrize("v", [-25.0, -4.0, 3.0, 12.0])
def test_tails_have_relative_precision(noise, v):
    """Log survival of a location-scale distribution and its derivatives, also where it differs from 0 by rounding."""
    eta, tau = 0.3, -0.4
    found = location_scale_times(NOISES[noise], *variables([np.array([eta]), np.array([tau])])).log_sf(np.array([v]))
    with mp.workdps(200):

        def of(eta, tau):
            return TAILS[noise]((v - eta) * mp.exp(-tau))

        place = (mp.mpf(eta), mp.mpf(tau))
        want = {order: float(mp.diff(of, place, order)) for order in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))}
        assert found.value[0] == pytest.approx(float(of(*place)), rel=1e-12)
    rest = {(1, 0): found.slope[0], (0, 1): found.slope[1]}
    rest |= {(2, 0): found.bend[0, 0], (1, 1): found.bend[0, 1], (0, 2): found.bend[1, 1]}
    for order, value in rest.items():
        assert float(value[0]) == pytest.approx(want[order], rel=2e-11)


def test_survival_since_an_entry_is_conditional():
    """Of hazards that add up: log S(v) - log S(start), and the density less the same."""
    start, x = np.array([-np.inf, -1.5, -0.5, 0.2, 1.0]), [np.full(5, value) for value in KINDS["spline hazards"][1]]
    whole = transformed_times(NOISES["weibull"], SPLINE, *(lambda eta, *c: (eta, c))(*variables(x)))
    given = transformed_times(NOISES["weibull"], SPLINE, *(lambda eta, *c: (eta, c))(*variables(x)), since=start)
    before = whole.log_sf(np.where(np.isfinite(start), start, -60.0))
    for name in ("log_density", "log_sf"):
        found, want = getattr(given, name)(V), getattr(whole, name)(V) - before
        np.testing.assert_allclose(found.value, want.value, rtol=1e-10)
        for part in ("slope", "bend"):
            for key, value in getattr(want, part).items():
                np.testing.assert_allclose(getattr(found, part)[key], value, rtol=1e-8, atol=1e-10)
