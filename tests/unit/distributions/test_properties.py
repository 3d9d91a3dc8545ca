"""What holds of every distribution with limits, and agreement with scipy."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.limited import random_cases

from tobitgp.distributions import CensoredNormal, TruncatedNormal

FAMILIES = [CensoredNormal, TruncatedNormal]
SCIPY = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")


def windows(m, s, lower, width):
    return ((lower, lower + width), (None, lower), (lower, None), (None, None))


any_distribution = given(
    st.floats(-100, 100),
    st.floats(1e-3, 1e3),
    st.floats(-100, 100),
    st.floats(1e-6, 1e3),
    st.floats(0.001, 0.999),
)


@pytest.mark.parametrize("family", FAMILIES)
@any_distribution
@pytest.mark.slow_cases("TruncatedNormal")
def test_tails_add_to_one_and_moments_lie_within(family, m, s, lower, width, share):
    for low, high in windows(m, s, lower, width):
        d = family(m, s, low, high)
        x = d.ppf(share)
        assert d.lower <= x <= d.upper
        assert d.lower <= d.mean() <= d.upper
        assert d.std() >= 0.0
        for at in (x, d.mean(), d.lower, d.upper):
            assert np.isclose(d.cdf(at) + d.sf(at), 1.0, rtol=1e-14)
        assert d.cdf(d.upper) == 1.0
        assert d.sf(d.upper) == 0.0
        assert d.cdf(np.inf) == d.sf(-np.inf) == 1.0
        if np.isfinite(d.lower):
            assert d.cdf(np.nextafter(d.lower, -np.inf)) == 0.0


@pytest.mark.parametrize("family", FAMILIES)
@any_distribution
def test_quantiles_undo_tails(family, m, s, lower, width, share):
    for low, high in windows(m, s, lower, width):
        d = family(m, s, low, high)
        for x in (d.ppf(share), d.isf(1e-3 * share)):
            if d.lower < x < d.upper:
                back = d.ppf(d.cdf(x)) if d.cdf(x) < 0.5 else d.isf(d.sf(x))
                # One rounding of x, one of its logarithmic tail over the slope, and one of a probability near 1/2.
                slope = d.pdf(x) / min(d.cdf(x), d.sf(x))
                allowed = 4e-16 * (abs(x) + abs(m)) + 1e-14 * abs(np.log(min(d.cdf(x), d.sf(x)))) / slope
                assert abs(back - x) <= 8 * allowed + 1e-13 * abs(x - m) + 4e-16 * s


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("power", [-6, 0, 6])
def test_location_and_scale(family, power):
    m, s, _, _, lower, upper = random_cases(100, 8)
    a, b = 4.0, 10.0**power
    d, D = family(m, s, lower, upper), family(a + b * m, b * s, a + b * lower, a + b * upper)
    # The ends of the second are rounded at the size of a.
    slack = 1e-12 + 1e-14 * a / b
    np.testing.assert_allclose((D.mean() - a) / b, d.mean(), rtol=1e-12, atol=slack)
    np.testing.assert_allclose(D.std() / b, d.std(), rtol=slack)
    for q in (1e-9, 0.2, 0.9):
        np.testing.assert_allclose((D.ppf(q) - a) / b, d.ppf(q), rtol=1e-12, atol=10 * slack)
    x = TruncatedNormal(m, s, lower, upper).ppf(0.4)
    np.testing.assert_allclose(D.cdf(a + b * x), d.cdf(x), rtol=100 * slack)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("limit", [np.inf, 1e6])
def test_distant_limits_leave_the_normal_distribution(family, limit):
    m, s = np.array([0.3, -2.0])[:, None], np.array([0.7, 4.0, 1.0])
    d, normal = family(m, s, -limit, limit), stats.norm(m, s)
    x, q = np.array([-9.0, 0.1, 5.0]), np.array([1e-12, 0.3, 0.99])
    for name in SCIPY:
        np.testing.assert_allclose(getattr(d, name)(x), getattr(normal, name)(x), rtol=1e-13, err_msg=name)
    np.testing.assert_allclose(d.ppf(q), normal.ppf(q), rtol=1e-13)
    np.testing.assert_allclose(d.isf(q), normal.isf(q), rtol=1e-13)
    for name in ("mean", "var", "std", "entropy"):
        expected = np.broadcast_to(getattr(normal, name)(), d.shape)
        np.testing.assert_allclose(getattr(d, name)(), expected, rtol=1e-14, err_msg=name)


def test_truncated_agrees_with_scipy():
    m, s, _, _, lower, upper = random_cases(200, 9)
    d = TruncatedNormal(m, s, lower, upper)
    peer = stats.truncnorm((lower - m) / s, (upper - m) / s, loc=m, scale=s)
    x = d.ppf(np.random.default_rng(1).uniform(size=200))
    for name in SCIPY:
        np.testing.assert_allclose(getattr(d, name)(x), getattr(peer, name)(x), rtol=1e-11, err_msg=name)
    for q in (1e-6, 0.1, 0.5, 0.8):  # its own inverses lose digits in scipy 1.15
        np.testing.assert_allclose(peer.cdf(d.ppf(q)), q, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(peer.sf(d.isf(q)), q, rtol=1e-11, atol=1e-14)
    for quantile, (least, most) in ((d.ppf, (lower, upper)), (d.isf, (upper, lower))):
        np.testing.assert_array_equal(quantile(0.0), least)
        np.testing.assert_array_equal(quantile(1.0), most)
    for name in ("mean", "var", "std"):
        np.testing.assert_allclose(getattr(d, name)(), getattr(peer, name)(), rtol=1e-10, atol=1e-11, err_msg=name)
    with np.errstate(invalid="ignore"):
        entropy = peer.entropy()  # not a number with an infinite end
    both = np.isfinite(lower) & np.isfinite(upper)
    np.testing.assert_allclose(d.entropy()[both], entropy[both], rtol=1e-10, atol=1e-11)


def test_censored_is_the_clipped_normal():
    m, s, _, _, lower, upper = random_cases(100, 10)
    d, normal = CensoredNormal(m, s, lower, upper), stats.norm(m, s)
    x = np.clip(normal.ppf(0.6), lower, upper)
    inside = (x > lower) & (x < upper)
    np.testing.assert_allclose(d.cdf(x), np.where(x < upper, normal.cdf(x), 1.0), rtol=1e-14)
    np.testing.assert_allclose(d.pdf(x)[inside], normal.pdf(x)[inside], rtol=1e-14)
    np.testing.assert_allclose(d.pdf(lower), np.where(np.isinf(lower), 0.0, normal.cdf(lower)), rtol=1e-14)
    np.testing.assert_allclose(d.pdf(upper), np.where(np.isinf(upper), 0.0, normal.sf(upper)), rtol=1e-14)
    for q in (0.0, 0.01, 0.4, 0.999, 1.0):
        np.testing.assert_allclose(d.ppf(q), np.clip(normal.ppf(q), lower, upper), rtol=1e-14)
    low = np.isfinite(lower)
    np.testing.assert_allclose(d.cdf(lower)[low], d.pdf(lower)[low], rtol=1e-15)
    np.testing.assert_array_equal(d.pdf(lower - 1), 0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_values_have_the_moments(family):
    d = family([0.0, 3.0, -1.0, 0.0], [1.0, 1.0, 2.0, 1.0], [-0.5, -np.inf, 0.0, 2.0], [2.0, 2.5, np.inf, np.inf])
    n = 200_000
    x = d.rvs((n, 4), rng=3)
    assert np.all((x >= d.lower) & (x <= d.upper))
    assert np.all(np.abs(x.mean(axis=0) - d.mean()) <= 4 * d.std() / np.sqrt(n))
    fourth = ((x - d.mean()) ** 4).mean(axis=0)
    assert np.all(np.abs(x.var(axis=0) - d.var()) <= 4 * np.sqrt(np.maximum(fourth - d.var() ** 2, 0.0) / n))


@pytest.mark.parametrize("family", FAMILIES)
def test_random_values_are_reproducible(family):
    d = family(0.0, [1.0, 2.0], 0.0)
    np.testing.assert_array_equal(d.rvs(), d.rvs())
    assert (d.rvs() != d.rvs(rng=0)).all()
    np.testing.assert_array_equal(d.rvs(rng=np.random.default_rng(4)), d.rvs(rng=4))
    assert d.rvs((3, 2)).shape == (3, 2)
    assert d.rvs().shape == (2,)
    assert family(0.0, 1.0).rvs(5).shape == (5,)
    assert family(0.0, 1.0).rvs().shape == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_scalars_in_scalars_out(family):
    d = family(0.0, 1.0, -1.0, 2.0)
    values = [d.mean(), d.var(), d.std(), d.entropy(), d.kl(d), d.ppf(0.5), d.rvs()]
    values += [getattr(d, name)(0.3) for name in SCIPY]
    assert all(isinstance(v, float) for v in values)


@pytest.mark.parametrize("family", FAMILIES)
def test_not_a_number_stays_one(family):
    d = family(0.0, 1.0, -1.0, 2.0)
    for name in SCIPY:
        np.testing.assert_array_equal(np.isnan(getattr(d, name)([np.nan, 0.0])), [True, False])
    np.testing.assert_array_equal(np.isnan(d.ppf([np.nan, -0.1, 1.1, 1.0])), [True, True, True, False])


@pytest.mark.parametrize("family", FAMILIES)
def test_can_be_copied_and_pickled_and_leaves_its_input_alone(family):
    mean = np.array([0.0, 1.0])
    d = family(mean, 1.0, 0.0)
    before = d.mean()
    mean[:] = 9.0
    for same in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        np.testing.assert_array_equal(same.mean(), before)
    with pytest.raises(ValueError, match="read-only"):
        d.loc[0] = 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_repr_is_short(family):
    assert repr(family(0.25, 1, None, 2)) == f"{family.__name__}(mean=0.25, sd=1, lower=-inf, upper=2)"
    assert repr(family(np.zeros(1000), 1.0)) == f"{family.__name__}(mean=array(1000,), sd=1, lower=-inf, upper=inf)"
