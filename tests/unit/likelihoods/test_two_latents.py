"""What a row tells of f and of log sigma together, against numbers found elsewhere and quadrature in two dimensions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from tobitgp.data.arrays import KindRows
from tobitgp.likelihoods import two_latents
from tobitgp.likelihoods.families import FAMILIES, GaussianNoise
from tobitgp.likelihoods.two_latents import expected_pair, noise_slopes, tilted_pair

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


def log_likelihood(name, noise, f, scale):
    rows = SEEN[name]
    if name == "exact":
        return noise.logpdf((rows.lower - f) / scale) - np.log(scale)
    a, b = (rows.lower - f) / scale, (rows.upper - f) / scale
    if name == "left":
        return noise.logcdf(b)
    a, b = np.where(a > 0.0, -b, a), np.where(a > 0.0, -a, b)
    return noise.logcdf(b) + np.log1p(-np.exp(noise.logcdf(a) - noise.logcdf(b)))


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
    value = log_likelihood(name, noise, f, sigma * np.exp(h))
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
