from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from support.mixtures import COUNTS, EVERY

from tobitgp.mixture import EMCM, fit_mixture
from tobitgp.mixture.evidence_bound import MixtureState
from tobitgp.mixture.fitted_mixture import impute

INF = np.inf
WITHOUT_END = [case for case in EVERY if getattr(case, "values", (case,))[0] != "von_mises"]  # of the values


@pytest.mark.parametrize("name", WITHOUT_END)
def test_moments_are_integrals_of_the_plugged_in_density(name):
    rng = np.random.default_rng(1)
    y = rng.gamma(3.0, np.where(np.arange(200) < 100, 0.4, 3.0))
    y = np.ceil(y) if name in COUNTS else y
    fit = fit_mixture(y, y, family=name)
    lower = np.array([2.0, -INF, 4.0, 12.0, 3.0, 0.0, -INF])
    upper = np.array([5.0, 1.0, INF, INF, 3.0, 9.0, INF])
    mean, variance = impute(fit, lower, upper)
    r, distribution = fit.responsibilities(lower, upper), fit.plug_in().distribution
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if low == high:
            assert (mean[i], variance[i]) == (low, 0.0)
            continue
        moments = np.zeros((2, 2))
        for k in range(2):
            if distribution.discrete:
                values = np.arange(max(low + 1, 0.0), min(high, 200.0) + 1)
                p = np.exp(distribution.log_density(values))[k]
                sums = [p.sum(), p @ values, p @ values**2]
            else:
                ends = np.clip((low, high), *distribution.ppf(np.array([1e-14, 1 - 1e-14]))[k])
                ends = np.linspace(min(ends[0], high), max(ends[1], low), 9)
                sums = [
                    sum(
                        quad(
                            lambda x, o=o, k=k: x**o * np.exp(distribution.log_density(np.array([x]))[k, 0]),
                            a,
                            b,
                            limit=200,
                        )[0]
                        for a, b in pairwise(ends)
                    )
                    for o in range(3)
                ]
            moments[k] = np.array(sums[1:]) / sums[0]
        want = r[i] @ moments
        assert mean[i] == pytest.approx(want[0], rel=1e-5)
        assert variance[i] == pytest.approx(want[1] - want[0] ** 2, rel=1e-4)


@pytest.mark.parametrize("name", WITHOUT_END)
def test_what_is_imputed_lies_inside(name):
    rng = np.random.default_rng(2)
    y = np.ceil(rng.gamma(3.0, 2.0, 80))
    fit = fit_mixture(y, y, family=name)
    lower = np.array([30.0, 60.0, 1000.0, 7.0, 1e-3])
    upper = np.array([INF, 70.0, INF, 8.0, 2.0])
    mean, variance = impute(fit, lower, upper)
    assert (mean >= lower).all()
    assert (mean <= upper).all()
    assert (variance >= 0.0).all()


@pytest.mark.parametrize("name", ["gaussian", "lognormal"])
def test_an_interval_as_narrow_as_two_neighbouring_numbers_holds_its_mean(name):
    y = np.random.default_rng(3).gamma(3.0, 2.0, 50)
    fit = fit_mixture(y, y, family=name, k=2)
    mean, variance = impute(fit, np.nextafter(y, -INF), y)
    np.testing.assert_allclose(mean, y, rtol=1e-15)
    assert (variance <= 1e-29).all()


def test_a_component_without_a_share_may_have_no_mean():
    """Its scale overflows, and infinity times no responsibility is nothing."""
    y = np.random.default_rng(4).weibull(2.0, 40)
    fit = fit_mixture(y, y, family="weibull", k=2, method=EMCM(n_init=1))
    state = MixtureState(np.array([1.0, 0.0]), np.array([[0.0, -700.0], [2.0, 1.0]]))
    mean, variance = impute(replace(fit, state=state), np.array([-INF, 0.5, 0.5]), np.array([INF, INF, 0.7]))
    assert np.isfinite(mean).all()
    assert np.isfinite(variance).all()
    assert 0.5 < mean[2] < 0.7


def test_a_variance_that_overflows_is_infinite():
    y = np.random.default_rng(4).weibull(2.0, 40)
    fit = fit_mixture(y, y, family="weibull", k=1, method=EMCM())
    state = MixtureState(np.ones(1), np.array([[-1.2], [0.01]]))
    mean, variance = impute(replace(fit, state=state), np.array([0.5]), np.array([INF]))
    assert 1e150 < mean[0] < INF
    assert variance[0] == INF
