import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.numerics import normal_functions
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.numerics.truncated_moments import expected_interval, expected_one_sided, interval

# (a, t): E log Phi, E h, E kappa at a + t X, from 1-D quadrature in extended precision.
REFERENCE = {
    (0.0, 0.5): (-0.77187762346439, 0.82502681108301, 0.62345870225014),
    (-2.0, 1.0): (-4.2207481052381, 2.4065536795033, 0.86396208156785),
    (1.0, 3.0): (-1.962204289608, 1.0127193468611, 0.41607082520852),
    (-5.0, 10.0): (-54.087914381644, 7.1179195160339, 0.69058600089265),
    (30.0, 20.0): (-4.755617912126, 0.6051813311233, 0.068371024670597),
}

STEEPNESS = [0.0, 0.1, 0.5, 0.6, 0.75, 0.76, 1.0, 3.0, 30.0, 1e3, 1e6]


def average(function, breaks):
    """E function(X) in 30 digits, split at the breaks."""
    points = sorted({-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0} | {float(x) for x in breaks if abs(x) < 12})
    with mp.workdps(30):
        return float(mp.quad(lambda x: function(x) * mp.npdf(x), points))


def test_reference_numbers():
    a, t = np.array(list(REFERENCE)).T
    np.testing.assert_allclose(np.array(expected_one_sided(a, t)).T, list(REFERENCE.values()), rtol=2e-13)


@pytest.mark.parametrize(("a", "t"), [(0.3, 0.75), (-4.0, 0.8), (2.0, 1.7), (6.0, 4.0)])
def test_one_sided_against_30_digits(a, t):
    def terms(k, x):
        z = a + t * x
        mass = mp.ncdf(z)
        h = mp.npdf(z) / mass
        return (mp.log(mass), h, h * (z + h))[k]

    breaks = [(z - a) / t for z in (-8, -3, 0, 3, 8)]
    want = [average(lambda x, k=k: terms(k, x), breaks) for k in range(3)]
    got = np.array(expected_one_sided(np.array([a]), np.array([t])))[:, 0]
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "t"), [(-1.0, 0.5, 0.5), (0.2, 0.9, 0.7), (-3.0, 4.0, 2.0), (1.0, 9.0, 4.0)])
def test_interval_against_30_digits(a, b, t):
    def terms(k, x):
        low, high = a - t * x, b - t * x
        mass = mp.ncdf(-low) - mp.ncdf(-high) if low + high > 0 else mp.ncdf(high) - mp.ncdf(low)
        at_low, at_high = mp.npdf(low) / mass, mp.npdf(high) / mass
        mean = at_low - at_high
        return (mp.log(mass), mean, high * at_high - low * at_low + mean**2, mean**2)[k]

    breaks = [(z + end) / t for z in (-8, -3, 0, 3, 8) for end in (a, b)]
    want = [average(lambda x, k=k: terms(k, x), breaks) for k in range(4)]
    got = np.array(expected_interval(np.array([a]), np.array([b]), np.array([t])))[:, 0]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@given(st.floats(-20, 20), st.sampled_from(STEEPNESS[1:-2]))
def test_one_sided_derivatives(a, t):
    """dF/da = G, dG/da = -H and, by Stein's identity, dF/dt = -t H."""
    a, step = a * max(t, 1.0), 1e-3 * max(t, 1.0)
    shift = step * np.arange(-2.0, 3.0)
    F, G, H = expected_one_sided(a + shift, np.full(5, t))
    noise = 1e-13 / step
    assert difference(F, step) == pytest.approx(G[2], rel=1e-7, abs=noise * (1 + abs(F[2])))
    assert difference(G, step) == pytest.approx(-H[2], rel=1e-7, abs=1e-7 + noise * (1 + G[2]))
    dt = 1e-3 * t
    F_t = expected_one_sided(np.full(5, a), t + dt * np.arange(-2.0, 3.0))[0]
    assert difference(F_t, dt) == pytest.approx(-t * H[2], rel=1e-7, abs=1e-13 / dt * (1 + abs(F[2])))


@given(st.floats(-10, 10), st.floats(1e-3, 30), st.sampled_from(STEEPNESS[1:-2]))
def test_interval_derivatives(centre, width, t):
    """A shift of both ends by -mu: dF/dmu = G, dG/dmu = -H, dF/dt = -t H."""
    centre, step = centre * max(t, 1.0), 1e-3 * max(t, 1.0)
    shift = step * np.arange(-2.0, 3.0)
    a = centre - width / 2
    F, G, H, _ = expected_interval(a - shift, a - shift + width, np.full(5, t))
    noise = 1e-12 / step
    assert difference(F, step) == pytest.approx(G[2], rel=1e-7, abs=noise * (1 + abs(F[2])))
    assert difference(G, step) == pytest.approx(-H[2], rel=1e-7, abs=1e-7 + noise * (1 + abs(G[2])))
    dt = 1e-3 * t
    F_t = expected_interval(np.full(5, a), np.full(5, a + width), t + dt * np.arange(-2.0, 3.0))[0]
    assert difference(F_t, dt) == pytest.approx(-t * H[2], rel=1e-7, abs=1e-13 / dt * (1 + abs(F[2])))


def difference(values, step):
    return (8.0 * (values[3] - values[1]) - (values[4] - values[0])) / (12.0 * step)


@given(st.floats(-20, 20), st.floats(1e-3, 50), st.sampled_from(STEEPNESS))
def test_mirror(centre, width, t):
    a, b, T = np.array([centre - width]), np.array([centre + width]), np.array([t])
    for value, image, sign in zip(expected_interval(a, b, T), expected_interval(-b, -a, T), (1, -1, 1, 1), strict=True):
        np.testing.assert_allclose(value, sign * image, rtol=1e-12, atol=1e-12 * max(1.0, t))


@pytest.mark.parametrize("t", [0.1, 0.7, 2.0, 50.0])
def test_a_distant_end_leaves_the_one_sided_case(t):
    a = np.array([-2.0, 0.0, 3.0])
    T = np.full(3, t)
    F, G, H, Q = expected_interval(a, a + 40 * max(t, 1.0), T)
    for value, reference in zip((F, G, H), expected_one_sided(-a, T), strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-12)
    assert np.all(Q >= G**2)


def test_no_spread_leaves_the_integrand():
    a = np.array([-50.0, -1.0, 2.0])
    zero = np.zeros(3)
    h, delta = normal_functions.mills(a)
    for value, reference in zip(expected_one_sided(a, zero), (normal_functions.log_cdf(a), h, h * delta), strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-14)
    X = interval(a, a + 1.5)
    want = (X.log_mass, X.mean, X.complement, X.mean**2)
    for value, reference in zip(expected_interval(a, a + 1.5, zero), want, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-14)


@pytest.mark.parametrize("t", [0.74, 0.76, 1.0, 3.0, 10.0, 100.0, 1e4])
def test_panels_are_fine_enough(t):
    """Against 4000 Gauss-Legendre panels of 8 nodes, in X, for a kink anywhere in reach."""
    a = np.linspace(-9.3, 9.3, 32) * max(t, 1.0)
    edges = np.unique(np.concatenate([np.linspace(-11, 11, 2001), (np.linspace(-60, 60, 2001)) / t]))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for mean in a:
        cuts = np.unique(np.concatenate([edges, np.clip(edges - mean / t, -11, 11)]))
        half = 0.5 * np.diff(cuts)[:, None]
        x = cuts[:-1, None] + half * (1 + nodes)
        weight = (half * weights * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)).ravel()
        z = mean + t * x.ravel()
        h, delta = normal_functions.mills(z)
        want = [weight @ value for value in (normal_functions.log_cdf(z), h, h * delta)]
        got = [value[0] for value in expected_one_sided(np.array([mean]), np.array([t]))]
        # the reference rounds a + t x: 1e-16 t in z, 1e-16 t^2 in log Phi where that is of order 1
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13 * max(1.0, t))


def test_rows_of_all_regimes_in_one_call():
    rng = np.random.default_rng(3)
    t = rng.choice(STEEPNESS, 400)
    a = rng.uniform(-15, 15, 400) * np.maximum(t, 1.0)
    width = 10 ** rng.uniform(-1, 1.5, 400)
    one_sided = np.array(expected_one_sided(a, t))
    two_sided = np.array(expected_interval(a, a + width, t))
    assert np.isfinite(one_sided).all()
    assert np.isfinite(two_sided).all()
    for i in range(0, 400, 23):
        row = slice(i, i + 1)
        np.testing.assert_allclose(one_sided[:, row], expected_one_sided(a[row], t[row]), rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(
            two_sided[:, row], expected_interval(a[row], a[row] + width[row], t[row]), rtol=1e-12, atol=1e-10
        )


def test_far_arguments_are_finite():
    a = np.array([-1e6, -40.0, 40.0, 1e6])
    for t in (0.1, 1.0, 1e3):
        T = np.full(4, t)
        assert np.isfinite(expected_one_sided(a, T)).all()
        assert np.isfinite(expected_interval(a, a + 1e-3, T)).all()


def test_gauss_hermite_moments():
    nodes, weights = gauss_hermite(32)
    np.testing.assert_allclose([weights @ nodes**k for k in (0, 2, 4, 6)], [1, 1, 3, 15], rtol=1e-13)
    assert not nodes.flags.writeable


def test_empty_input():
    empty = np.empty(0)
    assert expected_one_sided(empty, empty)[0].shape == (0,)
    assert expected_interval(empty, empty, empty)[3].shape == (0,)


@pytest.mark.parametrize("t", [1e-3, 0.0699, 0.0701, 0.1399, 0.2399, 0.3999, 0.5999, 0.7499])
def test_few_nodes_give_the_digits_of_many(t):
    nodes, weights = gauss_hermite(80)
    a = np.linspace(-30.0, 30.0, 301)
    z = a[:, None] + t * nodes
    h, delta = normal_functions.mills(z)
    many = np.array([normal_functions.log_cdf(z) @ weights, h @ weights, (h * delta) @ weights])
    got = np.array(expected_one_sided(a, np.full_like(a, t)))
    np.testing.assert_allclose(got, many, rtol=2e-14, atol=2e-14)
