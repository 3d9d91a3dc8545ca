import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from support.laws import EVERY, IDS, LAWS, cdf, density

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student

SCIPY = {
    "normal": stats.norm(),
    "logistic": stats.logistic(),
    "gumbel": stats.gumbel_l(),
    "student": stats.t(4.0),
}
LEFT = np.concatenate([np.linspace(-9.0, 4.0, 27), [-40.0, -700.0, -1e3, -1e6]])
FAR = np.array([-1e6, -40.0, 40.0, 1e6])


def test_names():
    assert list(LAWS) == ["normal", "student", "logistic", "gumbel"]
    assert [law.log_concave for law in LAWS.values()] == [True, False, True, True]


@pytest.mark.parametrize("name", LAWS)
def test_as_scipy(name):
    law, other = LAWS[name], SCIPY[name]
    z = np.linspace(-5.0, 3.0, 33)
    np.testing.assert_allclose(law.log_density(z, 0)[0], other.logpdf(z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(law.log_cdf(z), other.logcdf(z), rtol=1e-11)
    np.testing.assert_allclose(law.log_sf(z), other.logsf(z), rtol=1e-11)
    q = np.array([1e-12, 0.01, 0.3, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(law.ppf(q), other.ppf(q), rtol=1e-9, atol=1e-14)
    assert law.mean == pytest.approx(other.mean())
    assert law.variance == pytest.approx(other.var())


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_moments_of_students_law_where_there_are_none(df):
    law = Student(df)
    assert np.isnan(law.mean) == (df <= 1.0)
    assert np.isfinite(law.variance) == (df > 2.0)
    assert np.isinf(law.variance) == (1.0 < df <= 2.0)


@pytest.mark.parametrize("law", EVERY, ids=IDS)
def test_lower_tail_in_high_precision(law):
    tail = law.lower_tail(LEFT)
    with mp.workdps(80):
        for i, z in enumerate(LEFT):
            z = mp.mpf(float(z))
            F = cdf(law, z)
            f, slope, _ = density(law, z)
            d1 = f / F
            want = [mp.log(F) if F < 0.5 else mp.log1p(F - 1), d1, d1 * (slope - d1)]
            steep = 2e-14 * float(max(1, mp.exp(min(z, 4)))) if law.name == "gumbel" else 2e-14
            loose = 60.0 * (law.df + 1.0) if law.name == "student" else 60.0
            assert tail.log_p[i] == pytest.approx(float(want[0]), rel=steep * 10)
            assert tail.d1[i] == pytest.approx(float(want[1]), rel=steep * 20, abs=1e-300)
            assert tail.d2[i] == pytest.approx(float(want[2]), rel=steep * loose, abs=1e-300)


@pytest.mark.parametrize("law", EVERY, ids=IDS)
def test_nothing_is_infinite_far_out(law):
    for value in (*law.log_density(FAR), *law.lower_tail(FAR), *law.upper_tail(FAR)):
        assert np.isfinite(value).all()


@pytest.mark.parametrize("law", [Normal(), Logistic(), Student(4.0)], ids=repr)
def test_mirror(law):
    z = np.linspace(-6.0, 6.0, 25)
    low, high = law.lower_tail(z), law.upper_tail(-z)
    np.testing.assert_array_equal(low.log_p, high.log_p)
    np.testing.assert_array_equal(low.d1, -high.d1)
    np.testing.assert_array_equal(low.d2, high.d2)


def test_weibull_tail_is_exact():
    z = np.array([-700.0, -1.0, 2.0])
    np.testing.assert_array_equal(Gumbel().log_sf(z), -np.exp(z))


def test_student_with_many_degrees_is_normal():
    z = np.array([-40.0, -5.0, 1.0])
    np.testing.assert_allclose(Student(1e12).log_cdf(z), Normal().log_cdf(z), rtol=1e-8)
