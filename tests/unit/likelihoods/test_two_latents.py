"""What a row tells of f and of log sigma together, against numbers found elsewhere and quadrature in two dimensions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import log_ndtr
from scipy.stats import logistic, norm, t

from tobitgp.data.arrays import KindRows, Window
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.likelihoods import two_latents
from tobitgp.likelihoods.families import FAMILIES, GaussianNoise
from tobitgp.likelihoods.two_latents import (
    expected_pair,
    falls_like_a_power,
    noise_slopes,
    point_in_shape,
    point_pair,
    third_pair,
    tilted_pair,
)

MEAN, V = np.array([[0.2, -0.4]]), np.array([[[0.5, -0.1], [-0.1, 0.3]]])
NONE = np.zeros(1)


def row(kind, lower, upper):
    ends, finite = (np.array([lower]), np.array([upper])), np.array([upper if np.isinf(lower) else lower])
    sign = np.array([-1.0 if np.isinf(lower) else 1.0]) if kind == "one-sided" else np.zeros(1)
    return KindRows(kind, *ends, finite, sign, np.ones(1), np.array([upper - lower]))


SEEN = {"exact": row("exact", 0.8, 0.8), "left": row("one-sided", -np.inf, -0.3), "between": row("interval", -0.3, 0.4)}

# Two-dimensional quadrature with normal noise: log normaliser, means, then variances and covariance.
KNOWN = {
    "exact": (-1.0654079857, 0.52324761, -0.54474118, 0.24440628, -0.10443936, 0.2803175),
    "left": (-1.2061521348, -0.36591769, -0.22276741, 0.31916718, 0.02202399, 0.26541338),
}


def log_likelihood(rows, noise, f, scale):
    """Of one row at many places, differences of tails formed on the side where they are small."""

    def log_mass(lower, upper):
        a, b = (lower - f) / scale, (upper - f) / scale
        a, b = np.where(a > 0.0, -b, a), np.where(a > 0.0, -a, b)
        return noise.logcdf(b) + np.log1p(-np.exp(noise.logcdf(a) - noise.logcdf(b)))

    exact = rows.kind == "exact"
    value = noise.logpdf((rows.lower - f) / scale) - np.log(scale) if exact else log_mass(rows.lower, rows.upper)
    return value if rows.window is None else value - log_mass(rows.window.entry, rows.window.exit)


def plane():
    """Points and log weights of N(MEAN, V) on a grid fine enough for ten digits."""
    x = np.linspace(-8.0, 8.0, 801)
    z = np.stack([a.ravel() for a in np.meshgrid(x, x)])
    f, h = MEAN[0][:, None] + np.linalg.cholesky(V[0]) @ z
    return f, h, norm.logpdf(z).sum(axis=0) + 2.0 * np.log(x[1] - x[0])


@pytest.mark.parametrize("name", KNOWN)
def test_moments_are_those_of_quadrature_in_two_dimensions(name):
    found = tilted_pair(GaussianNoise(), 1.0, SEEN[name], MEAN, V, NONE)
    (ff, fh), (_, hh) = found.covariance[0]
    assert [*found.log_Z, *found.mean[0], ff, fh, hh] == pytest.approx(KNOWN[name], abs=2e-8)


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize(("family", "noise"), [("gaussian", norm()), ("student", t(4.0))])
def test_every_noise_and_kind_of_row(name, family, noise):
    sigma = 0.7
    likelihood = FAMILIES[family].likelihood.at(np.log([4.0, sigma]))
    f, h, log_weight = plane()
    value = log_likelihood(SEEN[name], noise, f, sigma * np.exp(h))
    weight = np.exp(value + log_weight)
    found = tilted_pair(likelihood, sigma, SEEN[name], MEAN, V, NONE)
    assert found.log_Z[0] == pytest.approx(np.log(weight.sum()), abs=1e-6)
    mean = np.array([weight @ f, weight @ h]) / weight.sum()
    assert found.mean[0] == pytest.approx(mean, abs=1e-6)
    left = np.stack([f, h]) - mean[:, None]
    assert found.covariance[0] == pytest.approx((weight * left) @ left.T / weight.sum(), abs=1e-6)
    expected = expected_pair(likelihood, sigma, SEEN[name], MEAN, V)
    assert expected.value[0] == pytest.approx(np.exp(log_weight) @ value, abs=1e-5)


def test_what_features_leave_of_f_is_variance_of_f():
    d = np.array([0.2])
    found = tilted_pair(GaussianNoise(), 1.0, SEEN["left"], MEAN, V, d)
    wide = tilted_pair(GaussianNoise(), 1.0, SEEN["left"], MEAN, V + np.diag([0.2, 0.0]), NONE)
    assert found.log_Z == pytest.approx(wide.log_Z, rel=1e-12)
    assert found.mean[0, 1] == pytest.approx(wide.mean[0, 1], rel=1e-10)


def test_rows_differ_in_their_known_noise():
    wide = replace(SEEN["exact"], spread=np.array([2.0]))
    found, same = (
        tilted_pair(GaussianNoise(), sigma, rows, MEAN, V, NONE) for sigma, rows in ((1.0, wide), (2.0, SEEN["exact"]))
    )
    assert found.log_Z == pytest.approx(same.log_Z, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_wide_cavities_of_log_sigma_have_the_nodes_they_need(scale):
    V_wide = V * np.outer([1.0, scale], [1.0, scale])
    found = tilted_pair(GaussianNoise(), 1.0, SEEN["exact"], MEAN, V_wide, NONE)
    h = MEAN[0, 1] + np.sqrt(V_wide[0, 1, 1]) * np.linspace(-12.0, 12.0, 200_001)
    log_p = norm.logpdf(h, MEAN[0, 1], np.sqrt(V_wide[0, 1, 1]))
    given = MEAN[0, 0] + V_wide[0, 0, 1] / V_wide[0, 1, 1] * (h - MEAN[0, 1])
    rest = V_wide[0, 0, 0] - V_wide[0, 0, 1] ** 2 / V_wide[0, 1, 1]
    log_p += norm.logpdf(0.8, given, np.sqrt(rest + np.exp(2.0 * h)))
    assert found.log_Z[0] == pytest.approx(np.log(np.exp(log_p).sum() * (h[1] - h[0])), abs=1e-6)


@pytest.mark.parametrize("sd", [0.1, 0.3, 0.5, 1.0])
def test_rows_far_off_say_that_their_noise_is_wide(sd):
    y, V_far = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0]), np.tile(np.diag([0.1, sd**2]), (6, 1, 1))
    rows = KindRows("exact", y, y, y, np.zeros(6), np.ones(6), np.zeros(6))
    found = tilted_pair(GaussianNoise(), 0.3, rows, np.zeros((6, 2)), V_far, np.zeros(6))
    h = sd * np.linspace(-45.0, 45.0, 100_001)
    log_p = norm.logpdf(h, scale=sd) + norm.logpdf(y[:, None], scale=np.sqrt(0.1 + 0.09 * np.exp(2.0 * h)))
    top = log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p - top)
    assert found.log_Z == pytest.approx(top[:, 0] + np.log(p.sum(axis=1) * (h[1] - h[0])), abs=1e-6)
    assert found.mean[:, 1] == pytest.approx(p @ h / p.sum(axis=1), abs=1e-5)


@pytest.mark.parametrize("name", SEEN)
def test_slopes_in_degrees_of_freedom_and_sigma_are_those_of_differences(name):
    def log_Z(df, sigma):
        likelihood = FAMILIES["student"].likelihood.at(np.log([df, sigma]))
        return tilted_pair(likelihood, sigma, SEEN[name], MEAN, V, NONE).log_Z[0]

    likelihood, h = FAMILIES["student"].likelihood.at(np.log([4.0, 0.7])), 1e-4
    slopes = noise_slopes(likelihood, 0.7, SEEN[name], MEAN, V, NONE)[:, 0]
    of_df = (log_Z(4.0 * np.exp(h), 0.7) - log_Z(4.0 * np.exp(-h), 0.7)) / (2.0 * h)
    of_sigma = (log_Z(4.0, 0.7 * np.exp(h)) - log_Z(4.0, 0.7 * np.exp(-h))) / (2.0 * h)
    assert slopes == pytest.approx([of_df, of_sigma], abs=1e-6)


@pytest.mark.parametrize("spread", [None, np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0])])
def test_rows_that_are_alike_are_met_once(monkeypatch, spread):
    """All that tells two rows apart counts: what was seen, the noise, mean, covariance, and what features leave."""
    lower = np.array([0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8])
    rows = KindRows("exact", lower, lower, lower, np.zeros(7), np.ones(7), np.zeros(7), spread=spread)
    mean, V_all, d = np.repeat(MEAN, 7, axis=0), np.repeat(V, 7, axis=0), np.zeros(7)
    mean[4, 1], V_all[5, 0, 0], d[6] = 0.3, 0.7, 0.1
    want = tilted_pair(GaussianNoise(), 1.0, rows, mean, V_all, d)
    met = []
    monkeypatch.setattr(two_latents, "tilted_pair", lambda *args: met.append(len(args[2])) or tilted_pair(*args))
    found = two_latents.tilted_once(GaussianNoise(), 1.0, rows, mean, V_all, d)
    for ours, theirs in zip(found, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert met == [5 if spread is None else 6]


# -- means of the log likelihood, and its values at points ------------------------------------------------------------

LATE = replace(row("exact", 0.8, 0.8), window=Window(np.array([-0.6]), np.array([1.5]), np.array([2.1])))
ALL = SEEN | {"right": row("one-sided", 0.9, np.inf), "truncated": LATE}
NOISES = {"gaussian": norm(), "student": t(4.0), "logistic": logistic()}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NOISES)
def test_means_of_derivatives_are_those_of_quadrature_in_two_dimensions(name, family):
    """The mean of a derivative is that of the function times a score of the normal density: no derivative is taken."""
    sigma, rows = 0.7, ALL[name]
    likelihood = FAMILIES[family].likelihood.at(np.log([4.0, sigma])).over((rows,))
    f, h, log_weight = plane()
    value, weight = log_likelihood(rows, NOISES[family], f, sigma * np.exp(h)), np.exp(log_weight)
    P = np.linalg.inv(V[0])
    z = P @ (np.stack([f, h]) - MEAN[0][:, None])
    found = expected_pair(likelihood, sigma, rows, MEAN, V, noise=True)
    assert found.value[0] == pytest.approx(weight @ value, abs=2e-7)
    assert found.slope[0] == pytest.approx(z @ (weight * value), abs=2e-6)
    assert found.bend[0] == pytest.approx((z * (weight * value)) @ z.T - P * (weight @ value), abs=2e-5)
    assert found.noise[-1, 0] == pytest.approx(found.slope[0, 1], rel=1e-12)


def test_the_mean_is_that_of_scipy():
    L = np.linalg.cholesky(V[0])

    def integrand(x, z):
        f, h = MEAN[0] + L @ (z, x)
        return log_ndtr((-0.3 - f) * np.exp(-h)) * np.exp(-0.5 * (x * x + z * z)) / (2.0 * np.pi)

    expected = dblquad(integrand, -7.0, 7.0, -8.0, 7.0, epsabs=1e-7, epsrel=1e-7)[0]
    assert expected_pair(GaussianNoise(), 1.0, ALL["left"], MEAN, V).value[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sd", [1e-6, 0.1, 0.8, 2.0])
def test_values_have_closed_forms_and_limits_the_nodes_they_need(sd):
    """The closed form is that of nodes; with them the curvature grows like exp(-2 h)."""
    V_wide = np.array([[[0.5, -0.2 * sd], [-0.2 * sd, sd**2]]])
    rows, h = ALL["exact"], MEAN[0, 1] + sd * np.linspace(-14.0, 14.0, 20_001)
    weight = norm.pdf(np.linspace(-14.0, 14.0, 20_001)) * 28.0 / 20_000
    given, rest = MEAN[0, 0] - 0.2 * (h - MEAN[0, 1]) / sd, 0.5 - 0.04
    values = -0.5 * np.log(2.0 * np.pi) - h - 0.5 * np.exp(-2.0 * h) * (np.square(0.8 - given) + rest)
    found = expected_pair(GaussianNoise(), 1.0, rows, MEAN, V_wide)
    assert found.value[0] == pytest.approx(weight @ values, rel=1e-9)
    if sd > 1.0:  # noise may be narrower than any interval
        f, other = MEAN[0, 0] - 0.2 * (h[::10, None] - MEAN[0, 1]) / sd, np.linspace(-9.0, 9.0, 1001)
        values = norm.logcdf((-0.3 - f - np.sqrt(rest) * other) * np.exp(-h[::10, None]))
        by_grid = 10.0 * weight[::10] @ values @ norm.pdf(other) * 0.018
        assert expected_pair(GaussianNoise(), 1.0, ALL["left"], MEAN, V_wide).value[0] == pytest.approx(
            by_grid, rel=1e-5
        )
        return
    # An interval so short that it is a value, by nodes of both latents.
    short = row("interval", 0.8 - 1e-4, 0.8 + 1e-4)
    by_nodes = expected_pair(GaussianNoise(), 1.0, short, MEAN, V_wide)
    assert by_nodes.value[0] - np.log(2e-4) == pytest.approx(found.value[0], rel=1e-5)
    assert by_nodes.slope == pytest.approx(found.slope, rel=1e-4)
    assert by_nodes.bend == pytest.approx(found.bend, rel=1e-4)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NOISES)
def test_derivatives_at_a_point_are_those_of_differences(name, family):
    sigma, rows, u = 0.7, ALL[name], MEAN
    likelihood, weights = FAMILIES[family].likelihood.at(np.log([4.0, sigma])), np.array([[[0.5, -0.1], [-0.1, 0.3]]])

    def value(f, h, noise=NOISES[family]):
        return log_likelihood(rows, noise, np.array([f]), sigma * np.exp(h))[0]

    def own(f, h):
        found = point_pair(likelihood, sigma, rows, np.array([[f, h]]))
        return np.concatenate([found.slope[0], found.bend[0].ravel()])

    found, e = point_pair(likelihood, sigma, rows, u), 1e-5
    f, h = u[0]
    assert found.value[0] == pytest.approx(value(f, h), abs=1e-12)
    slope = [(value(f + e, h) - value(f - e, h)) / (2 * e), (value(f, h + e) - value(f, h - e)) / (2 * e)]
    assert found.slope[0] == pytest.approx(slope, abs=1e-8)
    e = 1e-3
    here = value(f, h)
    ff, hh = ((value(f + a, h + b) - 2 * here + value(f - a, h - b)) / e**2 for a, b in ((e, 0.0), (0.0, e)))
    fh = (value(f + e, h + e) - value(f + e, h - e) - value(f - e, h + e) + value(f - e, h - e)) / (4 * e**2)
    assert found.bend[0] == pytest.approx(np.array([[ff, fh], [fh, hh]]), abs=2e-5)
    third = third_pair(likelihood, sigma, rows, u, weights)[0]
    by_f, by_h = ((own(f + a, h + b) - own(f - a, h - b))[2:] / (2 * e) for a, b in ((e, 0.0), (0.0, e)))
    assert third == pytest.approx([by_f @ weights.ravel(), by_h @ weights.ravel()], abs=2e-5)


@pytest.mark.parametrize("name", ["exact", "left", "between"])
def test_slopes_in_degrees_of_freedom_at_a_point(name):
    likelihood, rows = FAMILIES["student"].likelihood.at(np.log([4.0, 0.7])), ALL[name]
    e = 1e-4
    up, down = (log_likelihood(rows, t(4.0 * np.exp(x)), MEAN[:, 0], 0.7 * np.exp(MEAN[:, 1])) for x in (e, -e))
    assert point_in_shape(likelihood, 0.7, rows, MEAN).value == pytest.approx((up - down) / (2.0 * e), abs=1e-6)


@pytest.mark.parametrize(
    ("noise", "verdict"),
    [(NormalNoise(), True), (Logistic(), True), (StudentNoise(3.0), True), (Gumbel(), False), (GenGammaNoise(), False)],
)
def test_log_densities_that_fall_exponentially_have_no_mean(noise, verdict):
    """Under N(0, .3^2) of h the mean of exp(z / sigma) grows with every node further out."""
    assert falls_like_a_power(noise) is verdict
    means = []
    for reach in (6.0, 9.0, 12.0):
        x, step = np.linspace(-reach, reach, 4001, retstep=True)
        means.append(step * norm.pdf(x) @ -noise.logpdf(8.0 * np.exp(-0.3 * x)))
    assert (np.diff(np.log(means)) < 1e-6).all() if verdict else (np.diff(np.log(means)) > 2.0).all()
