import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from support.distributions import DISTRIBUTIONS, PRECISE, cdf, density

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.likelihoods import FAMILIES

SCIPY = {
    "normal": stats.norm(),
    "logistic": stats.logistic(),
    "gumbel": stats.gumbel_l(),
    "student": stats.t(4.0),
}
LEFT = np.concatenate([np.linspace(-9.0, 4.0, 27), [-40.0, -700.0, -1e3, -1e6]])
FAR = np.array([-1e6, -40.0, 40.0, 1e6])


def test_only_students_distribution_is_not_log_concave():
    assert {name for name in SCIPY if DISTRIBUTIONS[name].log_concave} == {"normal", "logistic", "gumbel"}


@pytest.mark.parametrize("name", SCIPY)
def test_as_scipy(name):
    distribution, other = DISTRIBUTIONS[name], SCIPY[name]
    z = np.linspace(-5.0, 3.0, 33)
    np.testing.assert_allclose(distribution.log_density(z, 0)[0], other.logpdf(z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(distribution.log_cdf(z), other.logcdf(z), rtol=1e-11)
    np.testing.assert_allclose(distribution.log_sf(z), other.logsf(z), rtol=1e-11)
    q = np.array([1e-12, 0.01, 0.3, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(distribution.ppf(q), other.ppf(q), rtol=1e-9, atol=1e-14)
    assert distribution.mean == pytest.approx(other.mean())
    assert distribution.variance == pytest.approx(other.var())


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_moments_of_students_distribution_where_there_are_none(df):
    distribution = StudentNoise(df)
    assert np.isnan(distribution.mean) == (df <= 1.0)
    assert np.isfinite(distribution.variance) == (df > 2.0)
    assert np.isinf(distribution.variance) == (1.0 < df <= 2.0)


@pytest.mark.parametrize("distribution", PRECISE, ids=repr)
def test_lower_tail_in_high_precision(distribution):
    tail = distribution.lower_tail(LEFT)
    with mp.workdps(80):
        for i, z in enumerate(LEFT):
            z = mp.mpf(float(z))
            F = cdf(distribution, z)
            f, slope, _ = density(distribution, z)
            d1 = f / F
            want = [mp.log(F) if F < 0.5 else mp.log1p(F - 1), d1, d1 * (slope - d1)]
            steep = 2e-14 * float(max(1, mp.exp(min(z, 4)))) if distribution.name == "gumbel" else 2e-14
            loose = 60.0 * (distribution.df + 1.0) if distribution.name == "student" else 60.0
            assert tail.log_p[i] == pytest.approx(float(want[0]), rel=steep * 10)
            assert tail.d1[i] == pytest.approx(float(want[1]), rel=steep * 20, abs=1e-300)
            assert tail.d2[i] == pytest.approx(float(want[2]), rel=steep * loose, abs=1e-300)


@pytest.mark.parametrize("distribution", PRECISE, ids=repr)
def test_nothing_is_infinite_far_out(distribution):
    for value in (*distribution.log_density(FAR), *distribution.lower_tail(FAR), *distribution.upper_tail(FAR)):
        assert np.isfinite(value).all()


@pytest.mark.parametrize("distribution", [NormalNoise(), Logistic(), StudentNoise(4.0)], ids=repr)
def test_mirror(distribution):
    z = np.linspace(-6.0, 6.0, 25)
    low, high = distribution.lower_tail(z), distribution.upper_tail(-z)
    np.testing.assert_array_equal(low.log_p, high.log_p)
    np.testing.assert_array_equal(low.d1, -high.d1)
    np.testing.assert_array_equal(low.d2, high.d2)


def test_weibull_tail_is_exact():
    z = np.array([-700.0, -1.0, 2.0])
    np.testing.assert_array_equal(Gumbel().log_sf(z), -np.exp(z))


def test_student_with_many_degrees_is_normal():
    z = np.array([-40.0, -5.0, 1.0])
    np.testing.assert_allclose(StudentNoise(1e12).log_cdf(z), NormalNoise().log_cdf(z), rtol=1e-8)


BY_ROW = [
    family.distribution for family in FAMILIES.values() if family.distribution and family.distribution.shape_by_row
]


@pytest.mark.parametrize("distribution", BY_ROW, ids=repr)
def test_rows_with_shapes_of_their_own_are_rows_one_at_a_time(distribution, rng):
    least, most = np.maximum(distribution.shape_range, -5.0)
    shapes = np.concatenate([rng.uniform(least, min(most, 60.0), 40), np.maximum([0.0, 1e-13, 1e-3, -1e-3], least)])
    a = np.where(np.arange(len(shapes)) % 3, rng.uniform(-40.0, 40.0, len(shapes)), rng.normal(size=len(shapes)))
    b = a + np.where(np.arange(len(a)) % 7, rng.exponential(size=len(a)), 1e-6)
    together = distribution.with_shape(shapes)
    for name in ("log_density", "lower_tail", "upper_tail", "log_cdf", "log_sf", "log_mass"):
        ends = (a, b) if name == "log_mass" else (a,)
        found = np.atleast_2d(getattr(together, name)(*ends))
        for i, shape in enumerate(shapes):
            alone = getattr(distribution.with_shape(float(shape)), name)(*(end[i : i + 1] for end in ends))
            np.testing.assert_allclose(found[:, i], np.ravel(np.atleast_2d(alone)), rtol=1e-10, atol=1e-29)
