"""Times by a transformed survival function, against what defines them."""

import numpy as np
import pytest
from scipy.integrate import quad

from tobitgp.distributions import transformed
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.numerics.jets import variables
from tobitgp.numerics.roots import derivatives

ETA = np.array([-2.0, -0.3, 1.0])
FREE = np.full(3, np.inf)
NOISES = [Gumbel(), Logistic(), NormalNoise()]
BASELINES = {
    "weibull": (WeibullBaseline(), (0.4,)),
    "gompertz": (GompertzBaseline(), (0.3,)),
    "falling": (GompertzBaseline(), (-0.4,)),
    "spline": (SplineBaseline((-1.0, 0.0, 0.7, 2.0)), (1.2, 0.05, -0.03)),
}
EACH = pytest.mark.parametrize("which", BASELINES)
OF = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)


def made(noise, which, frailty=()):
    baseline, c = BASELINES[which]
    full = [np.full(3, value) for value in (*c, *frailty)]
    return TransformedTimes(noise, baseline, ETA, tuple(full[: len(c)]), tuple(full[len(c) :]))


CASES = [(noise, which, ()) for noise in NOISES for which in BASELINES]
CASES += [(Gumbel(), which, (-0.5,)) for which in BASELINES]


@pytest.mark.parametrize(("noise", "which", "frailty"), CASES)
def test_functions_belong_together(noise, which, frailty):
    y, h = made(noise, which, frailty), 1e-5
    for t in (np.array([0.2, 0.7, 1.5]), np.full(3, 6.0)):
        rise = (y.logsf(t - h) - y.logsf(t + h)) / (2.0 * h)
        np.testing.assert_allclose(np.exp(y.log_hazard(t)), rise, rtol=1e-6)
        np.testing.assert_allclose(y.logpdf(t), y.log_hazard(t) + y.logsf(t), atol=1e-10)
        np.testing.assert_allclose(np.exp(y.logsf(t)) + np.exp(y.logcdf(t)), 1.0, rtol=1e-12)
        order = np.exp(y.logsf(t))
        np.testing.assert_allclose(y.survived(np.log(order)), t, rtol=1e-8)
    assert (y.logsf(np.zeros(3)) == 0.0).all()
    start = np.array([0.4, 1.0, 0.2])
    end = start + y.remaining(0.8, start)
    left = np.exp(y.logsf(end) - y.logsf(start))
    np.testing.assert_allclose(left[np.isfinite(end)], 0.8, rtol=1e-8)
    assert (left[np.isposinf(end)] > 0.8).all()


@pytest.mark.parametrize(("noise", "which", "frailty"), CASES)
def test_means_are_areas(noise, which, frailty):
    y = made(noise, which, frailty)
    limits = np.zeros(3), np.array([3.0, 8.0, 0.5])
    found = y.observed_mean(*limits, -FREE, FREE)
    for i, upper in enumerate(limits[1]):
        area = sum(
            quad(lambda t, i=i: survive(y, t, i), *ends)[0] for ends in ((0.0, 0.1 * upper), (0.1 * upper, upper))
        )
        assert found[i] == pytest.approx(area, rel=1e-6)
    mean = y.mean()
    if which == "falling":
        assert np.isposinf(mean).all()
    elif which != "gompertz" or not frailty:
        ends = ((0.0, 1.0), (1.0, 30.0), (30.0, np.inf))
        assert mean[1] == pytest.approx(sum(quad(survive_at(y, 1), *each, limit=500)[0] for each in ends), rel=1e-5)


def survive(y, t, i):
    return float(np.exp(y.logsf(np.full(3, t)))[i])


def survive_at(y, i):
    return lambda t: survive(y, t, i)


def test_a_mean_without_an_end():
    """Log-logistic times whose survival falls as 1 / t, and more slowly."""
    for shape, finite in ((1.5, True), (1.0, False), (0.7, False)):
        y = TransformedTimes(Logistic(), SplineBaseline((0.0, 1.0)), np.zeros(1), (np.full(1, shape),))
        want = np.pi / shape / np.sin(np.pi / shape) if finite else np.inf
        assert y.mean()[0] == pytest.approx(want, rel=1e-6)


@EACH
@OF
def test_many_rows_are_interpolated(noise, which, monkeypatch):
    baseline, c = BASELINES[which]
    rng = np.random.default_rng(1)
    eta, levels = rng.normal(size=(900, 1)), rng.integers(2, size=(900, 1))
    y = TransformedTimes(noise, baseline, eta, tuple(np.where(levels > 0, value, 0.9 * value) for value in c))
    upper = np.array([[0.5, 4.0]])
    free = np.full_like(upper, np.inf)
    found = y.observed_mean(np.zeros_like(upper), upper, -free, free)
    monkeypatch.setattr(transformed, "_MANY", 10**9)
    np.testing.assert_allclose(
        found,
        y.observed_mean(np.zeros_like(upper), upper, -free, free),
        rtol=1e-6,
    )


@EACH
def test_baselines_and_their_derivatives(which):
    baseline, c = BASELINES[which]
    v = np.linspace(-3.0, 3.0, 25)
    full = [np.full(25, value) for value in c]
    s, log_slope = baseline.at(v, variables(full))
    for jet, values in zip((s, log_slope), baseline.at(v, full), strict=True):
        np.testing.assert_array_equal(jet.value, values)
    slope = derivatives(lambda x: baseline.at(x, full)[0], v, 1)[1]
    tolerance = 2e-4 if which == "spline" else 1e-6  # the third derivative of a spline jumps at its knots
    np.testing.assert_allclose(np.exp(log_slope.value), slope, rtol=tolerance)
    np.testing.assert_allclose(baseline.inverse(s.value, full), v, atol=1e-9)
    check_derivatives(lambda c: baseline.at(v, c), full)


def check_derivatives(of, full, h=1e-5):
    """Derivatives of two jets beside differences of what they are derivatives of."""
    here = of(variables(full))
    for j in range(len(full)):
        up, down = (
            of(variables([value + side * h * (i == j) for i, value in enumerate(full)])) for side in (1.0, -1.0)
        )
        for jet, more, less in zip(here, up, down, strict=True):
            np.testing.assert_allclose((more.value - less.value) / (2 * h), jet.slope.get(j, 0.0), rtol=1e-5, atol=1e-7)
            slopes = (more.slope.get(j, 0.0) - np.asarray(less.slope.get(j, 0.0))) / (2 * h)
            np.testing.assert_allclose(slopes, jet.bend.get((j, j), 0.0), rtol=1e-4, atol=1e-5)
            for i in range(j):
                slopes = (more.slope[i] - np.asarray(less.slope[i])) / (2 * h)
                np.testing.assert_allclose(slopes, jet.bend.get((i, j), 0.0), rtol=1e-4, atol=1e-5)


@EACH
@pytest.mark.parametrize("begin", [-3.0, 1.0, -np.inf])
def test_hazards_since_an_entry(which, begin):
    """(PH10), by a difference of cumulative hazards, with differences of its derivatives."""
    baseline, c = BASELINES[which]
    v, since = np.linspace(1.01, 3.0, 9), np.full(9, begin)
    full = [np.full(9, value) for value in c]

    def grown(values, at=v):
        before = np.zeros(9) if np.isneginf(begin) else np.exp(baseline.at(since, values)[0])
        return np.log(np.exp(baseline.at(at, values)[0]) - before)

    (s, log_slope), h = baseline.since(v, since, variables(full)), 1e-5
    np.testing.assert_allclose(s.value, grown(full), rtol=1e-12)
    slope = (grown(full, v + h) - grown(full, v - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(log_slope.value), slope, rtol=1e-6)
    check_derivatives(lambda c: baseline.since(v, since, c), full)


@pytest.mark.parametrize("shape", [0.15, -0.15])
def test_gompertz_hazards_do_not_care_where_time_begins(shape):
    spans = np.linspace(0.01, 9.0, 5)

    def since(origin):
        at = np.log(origin + spans)
        s, log_slope = GompertzBaseline().since(at, np.log(np.full(5, origin)), variables([np.full(5, shape)]))
        return s.value - shape * origin, log_slope.value - at

    near = since(1.0)
    for origin in (100.0, 2010.0, 1e5):
        s, slope = since(origin)
        np.testing.assert_allclose(s, near[0], atol=1e-9 * max(1.0, shape * origin))
        np.testing.assert_allclose(slope, near[1], atol=1e-8)


def test_least_slopes_of_splines():
    """Against a fine grid, of several splines at once."""
    rng, knots = np.random.default_rng(4), (-1.0, -0.2, 0.3, 1.7, 2.0)
    spline, c = SplineBaseline(knots), rng.normal(size=(4, 3, 50))
    v, slope = spline.lowest(list(c))
    grid = np.linspace(-2.0, 3.0, 20001)
    for i in range(3):
        for j in range(50):
            fine = sum(value * each for value, each in zip(c[:, i, j], spline.basis(grid)[1], strict=True))
            assert slope[:, i, j].min() == pytest.approx(fine.min(), abs=1e-6)
            at = sum(value * each for value, each in zip(c[:, i, j], spline.basis(v[:, i, j])[1], strict=True))
            np.testing.assert_allclose(slope[:, i, j], at, atol=1e-9)


def test_gompertz_near_a_constant_hazard():
    v = np.linspace(-2.0, 3.0, 9)
    for a in (0.0, 1e-12, -1e-9, 1e-5, -1e-5):
        s, log_slope = GompertzBaseline().at(v, [np.full(9, a)])
        x = a * np.exp(v)
        np.testing.assert_allclose(s, v + x / 2 + x**2 / 24, rtol=0, atol=1e-12)
        np.testing.assert_allclose(log_slope, x / 2 - x**2 / 24, rtol=0, atol=1e-12)


def test_a_spline_is_linear_beyond_its_knots():
    baseline, c = BASELINES["spline"]
    for v in (np.array([-9.0, -5.0, -1.0]), np.array([2.0, 30.0, 600.0])):
        s = baseline.at(v, c)[0]
        slope = np.diff(s) / np.diff(v)
        assert slope[0] == pytest.approx(slope[1], rel=1e-10)
    assert slope[0] == pytest.approx(float(baseline.tail(c)))
