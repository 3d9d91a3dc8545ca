"""Entropies and divergences against integration."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from support.limited import integrate, log_atoms, log_normal_density, random_cases

import tobitgp as tg
from tobitgp.distributions import CensoredNormal, TruncatedNormal
from tobitgp.distributions.segment import window

CASES = 300


def censored_by_integration(m, s, mu, sigma, lower, upper):
    """Mean, variance, entropy, cross-entropy and divergence of clipped normals."""

    def expect(f, at_limits):
        value = integrate(lambda x: f(x) * np.exp(log_normal_density(x, m, s)), m, s, lower, upper)
        atoms = np.exp(log_atoms(m, s, lower, upper))
        return value + sum(p * v for p, v in zip(atoms, at_limits, strict=True) if p > 0)

    own, others = log_atoms(m, s, lower, upper), log_atoms(mu, sigma, lower, upper)
    mean = expect(lambda x: x, (lower, upper))
    entropy = -expect(lambda x: log_normal_density(x, m, s), own)
    cross = -expect(lambda x: log_normal_density(x, mu, sigma), others)
    var = expect(lambda x: (x - mean) ** 2, ((lower - mean) ** 2, (upper - mean) ** 2))
    return mean, var, entropy, cross, cross - entropy


def truncated_by_integration(m, s, mu, sigma, lower, upper, wide):
    """The same of truncated normals, the second with a window that is wider by ``wide`` on both sides."""

    def log_density(mean, sd, low, high):
        mass = integrate(lambda x: np.exp(log_normal_density(x, mean, sd)), mean, sd, low, high)
        return lambda x: log_normal_density(x, mean, sd) - np.log(mass)

    p, q = log_density(m, s, lower, upper), log_density(mu, sigma, lower - wide, upper + wide)

    def expect(f):
        return integrate(lambda x: f(x) * np.exp(p(x)), m, s, lower, upper)

    mean = expect(lambda x: x)
    entropy, cross = -expect(p), -expect(q)
    return mean, expect(lambda x: (x - mean) ** 2), entropy, cross, cross - entropy


def answers(p, q):
    return np.array([p.mean(), p.var(), p.entropy(), p.cross_entropy(q), p.kl(q)])


def test_censored_matches_integration():
    m, s, mu, sigma, lower, upper = columns = random_cases(CASES, 5)
    got = answers(CensoredNormal(m, s, lower, upper), CensoredNormal(mu, sigma, lower, upper))
    reference = np.array([censored_by_integration(*row) for row in zip(*columns, strict=True)]).T
    np.testing.assert_allclose(got, reference, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("wide", [0.0, 0.7])
def test_truncated_matches_integration(wide):
    m, s, mu, sigma, lower, upper = columns = random_cases(CASES, 6)
    got = answers(TruncatedNormal(m, s, lower, upper), TruncatedNormal(mu, sigma, lower - wide, upper + wide))
    reference = np.array([truncated_by_integration(*row, wide) for row in zip(*columns, strict=True)]).T
    np.testing.assert_allclose(got, reference, rtol=1e-12, atol=1e-12)


def test_worked_example():
    p = tg.distributions.CensoredNormal(0.3, 0.7, -0.6, 1.1)
    q = tg.distributions.CensoredNormal(-0.2, 0.5, -0.6, 1.1)
    printed = ["0.288748367736", "0.314375301591", "1.082417693164", "1.655231896280", "0.572814203116"]
    assert [f"{v:.12f}" for v in answers(p, q)] == printed


@pytest.mark.parametrize("family", [CensoredNormal, TruncatedNormal])
@given(*[st.floats(-1e3, 1e3)] * 2, *[st.floats(1e-3, 1e3)] * 2, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_divergence_is_nonnegative_and_zero_from_itself(family, m, mu, s, sigma, lower, width):
    for low, high in ((lower, lower + width), (None, lower), (lower, None), (None, None)):
        p, q = family(m, s, low, high), family(mu, sigma, low, high)
        assert p.kl(q) >= 0.0
        assert p.kl(p) == p.kl(family(m, s, low, high)) == 0.0
        assert np.isclose(p.kl(q), p.cross_entropy(q) - p.entropy(), rtol=1e-12, atol=1e-12 * (1 + abs(p.entropy())))


def test_normals_without_limits_have_the_textbook_divergence():
    for family in (CensoredNormal, TruncatedNormal):
        p, q = family(0.3, 0.7), family(-0.2, 0.5)
        expected = np.log(0.5 / 0.7) + (0.49 + 0.25) / (2 * 0.25) - 0.5
        assert np.isclose(p.kl(q), expected, rtol=1e-15)
        assert np.isclose(p.entropy(), 0.5 * np.log(2 * np.pi * np.e * 0.49), rtol=1e-15)


def test_different_limits_are_infinitely_far_when_clipped():
    p = CensoredNormal(0.0, 1.0, 0.0, 2.0)
    others = CensoredNormal(0.0, 1.0, [0.0, 0.0, -1.0, 0.0, -np.inf], [2.0, 3.0, 2.0, np.inf, np.inf])
    np.testing.assert_array_equal(p.kl(others), [0.0, np.inf, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(others.kl(p), p.kl(others))
    assert np.isposinf(p.cross_entropy(others)[1:]).all()


def test_a_window_must_lie_within_the_others():
    p = TruncatedNormal(0.0, 1.0, 0.0, 2.0)
    others = TruncatedNormal(0.0, 1.0, [0.0, -1.0, 0.1, -np.inf, -9.0], [2.0, 3.0, 2.0, np.inf, 1.9])
    d = p.kl(others)
    np.testing.assert_array_equal(np.isinf(d), [False, False, True, False, True])
    np.testing.assert_allclose(d[[0, 1, 3]], np.log((others.cdf(2.0) - others.cdf(0.0))[[0, 1, 3]]) * -1, atol=1e-15)
    np.testing.assert_array_equal(np.isinf(others.kl(p)), [False, True, False, True, True])


@pytest.mark.parametrize("family", [CensoredNormal, TruncatedNormal])
def test_scale_and_location(family):
    m, s, mu, sigma, lower, upper = random_cases(60, 7)
    p, q = family(m, s, lower, upper), family(mu, sigma, lower, upper)
    P, Q = (family(3 + 50 * a, 50 * b, 3 + 50 * lower, 3 + 50 * upper) for a, b in ((m, s), (mu, sigma)))
    np.testing.assert_allclose(P.kl(Q), p.kl(q), rtol=1e-11, atol=1e-13)
    inside = 1.0 if family is TruncatedNormal else ndtr((upper - m) / s) - ndtr((lower - m) / s)
    np.testing.assert_allclose(P.entropy(), p.entropy() + inside * np.log(50), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("m", "s", "mu", "sigma", "lower", "upper"),
    [
        (0.0, 1.0, 1.0, 2.0, 40.0, np.inf),
        (0.0, 1.0, -3.0, 1.5, 200.0, 201.0),
        (0.0, 1.0, 0.5, 1.1, -np.inf, -1e4),
        (0.0, 1.0, 1e4, 3.0, 40.0, 40.0 + 1e-9),
        (0.0, 1e8, 0.3, 1e7, 0.0, 1.0),
        (-1e3, 1.0, -900.0, 0.5, 0.0, np.inf),
    ],
)
def test_truncated_far_out(m, s, mu, sigma, lower, upper):
    p, q = TruncatedNormal(m, s, lower, upper), TruncatedNormal(mu, sigma, lower, upper)
    with mp.workdps(100):

        def parts(mean, sd):
            mean, sd = mp.mpf(mean), mp.mpf(sd)
            a, b = (mp.mpf(lower) - mean) / sd, (mp.mpf(upper) - mean) / sd
            if a + b < 0 or (a == -mp.inf):
                a, b, sign = -b, -a, -1
            else:
                sign = 1
            mass = (mp.erfc(a / mp.sqrt(2)) - (mp.erfc(b / mp.sqrt(2)) if b < mp.inf else 0)) / 2
            at_a, at_b = mp.npdf(a) / mass, (mp.npdf(b) / mass if b < mp.inf else mp.mpf(0))
            z, bb = at_a - at_b, (b * at_b if b < mp.inf else mp.mpf(0))
            var = 1 + a * at_a - bb - z * z
            return mass, mean + sign * sd * z, sd**2 * var

        mass, mean, var = parts(m, s)
        mass_q = parts(mu, sigma)[0]
        half = mp.log(2 * mp.pi) / 2
        entropy = mp.log(mass) + half + mp.log(s) + (var + (mean - m) ** 2) / (2 * mp.mpf(s) ** 2)
        cross = mp.log(mass_q) + half + mp.log(sigma) + (var + (mean - mu) ** 2) / (2 * mp.mpf(sigma) ** 2)
        nearest = min(max(m, lower), upper)
        reference = [float(v) for v in (mean - nearest, var, entropy, cross, cross - entropy)]
    from_nearest = s * window(*map(np.array, (m, s, lower, upper))).first
    got = [from_nearest, p.var(), p.entropy(), p.cross_entropy(q), p.kl(q)]
    # atol: divergences of nearly uniform pairs are differences of numbers near 10.
    np.testing.assert_allclose(got[:2], reference[:2], rtol=1e-13)
    np.testing.assert_allclose(got[2:], reference[2:], rtol=1e-13, atol=1e-14)


def test_censored_far_out_is_decided_by_its_atoms():
    p, q = CensoredNormal(-10.0, 1.0, 0.0), CensoredNormal(-11.0, 1.0, 0.0)
    with mp.workdps(60):
        P, Q = (mp.ncdf(mp.mpf(10)), mp.ncdf(mp.mpf(11)))

        def beyond(f):
            return mp.quad(lambda x: mp.npdf(x, -10, 1) * f(x), [0, 1, 2, 4, 8])

        entropy = -P * mp.log(P) - beyond(lambda x: mp.log(mp.npdf(x, -10, 1)))
        kl = P * mp.log(P / Q) + beyond(lambda x: mp.log(mp.npdf(x, -10, 1) / mp.npdf(x, -11, 1)))
        reference = [float(v) for v in (entropy, kl, beyond(lambda x: x), beyond(lambda x: x * x))]
    got = [p.entropy(), p.kl(q), p.mean(), p.var()]
    np.testing.assert_allclose(got, reference, rtol=2e-13)
    assert CensoredNormal(-1e9, 1.0, 0.0, 1.0).kl(CensoredNormal(-1e8, 1.0, 0.0, 1.0)) == 0.0


@pytest.mark.parametrize("family", [CensoredNormal, TruncatedNormal])
def test_other_must_be_alike(family):
    p = family([0.0, 1.0], 1.0, 0.0)
    with pytest.raises(tg.errors.SpecError, match=r"other=1\.0: must be a .*Normal"):
        p.kl(1.0)
    with pytest.raises(tg.errors.SpecError, match=r"other has shape \(3,\)"):
        p.cross_entropy(family(0.0, [1.0, 2.0, 3.0], 0.0))
    wrong = TruncatedNormal if family is CensoredNormal else CensoredNormal
    with pytest.raises(tg.errors.SpecError, match="other="):
        p.kl(wrong(0.0, 1.0, 0.0))
