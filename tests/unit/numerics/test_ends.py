import mpmath as mp
import numpy as np

from tobitgp.numerics.truncated_moments import between, lower_tail, share


def normal(x):
    """Upper tail and density of many digits."""
    return mp.erfc(x / mp.sqrt(2)) / 2, mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def test_one_sided_tails():
    rng = np.random.default_rng(1)
    z = np.concatenate([-(10.0 ** rng.uniform(-2, 3, 150)), rng.uniform(-5, 30, 150)])
    log_p, h = lower_tail(z)
    with mp.workdps(60):
        for x, got, ratio in zip(map(mp.mpf, z), log_p, h, strict=True):
            p, density = normal(-x)
            want = mp.log(p)
            assert abs(got - want) < 1e-14 * max(1, abs(want))
            assert abs(ratio * p / density - 1) < 1e-12


def test_intervals_of_every_width_and_place():
    rng = np.random.default_rng(2)
    a = rng.choice([-1.0, 1.0], 400) * 10.0 ** rng.uniform(-3, 2.5, 400)
    half = 10.0 ** rng.uniform(-6, 6, 400)
    got = between(a, a + 2.0 * half, half)
    with mp.workdps(60):
        for i in range(400):
            low, high = mp.mpf(a[i]), mp.mpf(a[i]) + 2 * mp.mpf(half[i])
            turn = low + high < 0
            low, high = (-high, -low) if turn else (low, high)
            (p, f), (q, g) = normal(low), normal(high)
            mass = p - q
            first, second = (f - g) / mass, 1 + (low * f - high * g) / mass
            for value, want in zip(
                (part[i] for part in got), (mp.log(mass), -first if turn else first, second), strict=True
            ):
                assert abs(value - want) < 1e-13 * max(1, abs(want))


def test_share_of_a_truncated_exponential():
    t = 10.0 ** np.linspace(-12, 3, 61)
    with mp.workdps(40):
        want = [float(1 / mp.mpf(x) - 1 / mp.expm1(mp.mpf(x))) for x in t]
    np.testing.assert_allclose(share(t), want, rtol=2e-13)
