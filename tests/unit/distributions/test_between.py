import numpy as np
import pytest
from scipy import integrate, special, stats

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.errors import SpecError

INF = np.inf
ENDS = [(-2.0, 3.0), (0.5, 0.6), (-INF, 1.0), (0.0, INF), (2.0, INF), (-INF, -6.0), (-4.0, -3.0), (-1e-6, 2e-6), (1, 5)]
FROZEN = {"normal": stats.norm(), "logistic": stats.logistic(), "gumbel": stats.gumbel_l(), "student": stats.t(3.0)}
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(3.0)]


def at(distribution, a, b, s=None):
    out = distribution.between(np.array([float(a)]), np.array([float(b)]), None if s is None else np.array([s]))
    return float(out.log_mass[0]), float(out.mean[0]), out


def by_quadrature(distribution, a, b, s):
    pdf = FROZEN[distribution.name].pdf
    low, high = max(a, -60.0), min(b, 60.0)
    inner = [x for x in (-20.0, -5.0, 0.0, 5.0, 20.0) if low < x < high]
    options = {"points": inner, "limit": 500, "epsabs": 0.0, "epsrel": 1e-12}
    mass = integrate.quad(lambda z: np.exp(s * z) * pdf(z), low, high, **options)[0]
    gap = integrate.quad(lambda z: (z - low) * np.exp(s * z) * pdf(z), low, high, **options)[0]
    return np.log(mass), low + gap / mass


@pytest.mark.parametrize("tilt", [None, 0.3])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS[:3], ids=lambda distribution: distribution.name)
@pytest.mark.parametrize("ends", ENDS)
def test_mass_and_mean_by_quadrature(distribution, ends, tilt):
    mass, mean, _ = at(distribution, *ends, tilt)
    want = by_quadrature(distribution, *ends, tilt or 0.0)
    assert mass == pytest.approx(want[0], rel=1e-9, abs=1e-10)
    assert mean == pytest.approx(want[1], rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 3.0, 30.0])
@pytest.mark.parametrize("ends", [(-2.0, 3.0), (0.5, 0.6), (4.0, 9.0), (-50.0, -3.0), (-1e-6, 2e-6)])
def test_mean_of_student_between_finite_ends(df, ends):
    a, b = ends
    options = {"epsabs": 0.0, "epsrel": 1e-12}
    mass = integrate.quad(stats.t(df).pdf, a, b, **options)[0]
    mean = a + integrate.quad(lambda z: (z - a) * stats.t(df).pdf(z), a, b, **options)[0] / mass
    assert at(StudentNoise(df), a, b)[1] == pytest.approx(mean, rel=1e-10, abs=1e-12)


def test_mean_of_student_beyond_one_end():
    a = np.array([0.0, 3.0, 1e4])
    distribution, df = StudentNoise(3.0), 3.0
    want = (df + a * a) / (df - 1.0) * np.exp(distribution.log_density(a, 0)[0] - distribution.log_sf(a))
    np.testing.assert_allclose(distribution.between(a, np.full(3, INF)).mean, want, rtol=1e-13)
    np.testing.assert_allclose(distribution.between(np.full(3, -INF), -a).mean, -want, rtol=1e-13)
    assert StudentNoise(0.5).between(a, np.full(3, INF)).mean.tolist() == [INF] * 3
    assert np.isnan(at(StudentNoise(1.0), -INF, INF)[1])
    assert at(distribution, -INF, INF)[1] == 0.0


def test_mean_excess_far_in_the_tail():
    a = np.array([0.0, 2.0, 30.0, 500.0])
    logistic = Logistic().between(a, np.full(4, INF))
    e = np.exp(-a)
    np.testing.assert_allclose(logistic.drift[1:], (np.log1p(e) * (1.0 + e) / e)[1:], rtol=1e-12)
    a = np.array([-30.0, -1.0, 1.0, 6.0])
    gumbel = Gumbel().between(a, np.full(4, INF))
    w = np.exp(a)
    np.testing.assert_allclose(gumbel.centre - a + gumbel.drift, special.hyperu(1.0, 1.0, w), rtol=1e-11)
    far = Gumbel().between(np.full(2, -INF), np.array([-40.0, -700.0]))
    np.testing.assert_allclose(far.drift, -1.0, rtol=1e-12)
    normal = NormalNoise().between(np.array([100.0]), np.array([INF]))
    assert normal.drift[0] == pytest.approx(1 / 100 - 2 / 100**3 + 10 / 100**5, rel=1e-10)


@pytest.mark.parametrize("s", [0.05, 0.5, 0.9, 0.97, 0.999])
@pytest.mark.parametrize("ends", [(-INF, INF), (-INF, 1.0), (0.0, INF), (-2.0, 3.0), (6.0, INF), (4.0, 9.0)])
def test_tilted_mass_as_incomplete_functions(s, ends):
    a, b = ends
    F = stats.logistic.cdf
    share = special.betainc(1.0 + s, 1.0 - s, F(b)) - special.betainc(1.0 + s, 1.0 - s, F(a))
    if a > 3.0:
        share = special.betainc(1.0 - s, 1.0 + s, F(-a)) - special.betainc(1.0 - s, 1.0 + s, F(-b))
    assert at(Logistic(), a, b, s)[0] == pytest.approx(np.log(special.beta(1 + s, 1 - s) * share), abs=1e-10)
    tail = special.gammaincc(1.0 + s, np.exp(a)) - special.gammaincc(1.0 + s, np.exp(b))
    if a < 4.0:
        want = np.log(special.gamma(1.0 + s) * tail)
        assert at(Gumbel(), a, b, s)[0] == pytest.approx(want, abs=1e-10)


def test_tilt_beyond_what_an_open_end_allows():
    b = 2.0
    want = integrate.quad(lambda z: np.exp(2.5 * z) * stats.logistic.pdf(z), -60.0, b, epsabs=0.0, epsrel=1e-12)[0]
    assert at(Logistic(), -INF, b, 2.5)[0] == pytest.approx(np.log(want), abs=1e-11)
    with pytest.raises(SpecError, match="log time"):
        at(StudentNoise(4.0), -INF, b, 0.5)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda distribution: distribution.name)
def test_log_mass(distribution):
    a, b = np.array([-INF, -INF, 1.0, 0.3, INF]), np.array([INF, 0.5, INF, 0.8, INF])
    frozen = FROZEN[distribution.name]
    with np.errstate(divide="ignore"):
        want = np.log(frozen.cdf(b) - frozen.cdf(a))
    np.testing.assert_allclose(distribution.log_mass(a, b), want, rtol=1e-12)
