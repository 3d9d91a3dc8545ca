"""What every family of components owes to a mixture, on every kind of row."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma as gamma_distribution
from support.differences import derivative
from support.mixtures import EVERY, NAMES, largest_drop

from tobitgp.mixture.array_fit import MIXTURE_FAMILIES
from tobitgp.mixture.family import Sums
from tobitgp.mixture.mixture_rows import MixtureRows, MixtureUnits

families = pytest.mark.parametrize("name", NAMES)
every = pytest.mark.parametrize("name", EVERY)
THETA = {
    "gaussian": [[-0.5, 1.0, 4.0], [0.1, -0.7, -2.0]],
    "lognormal": [[-0.5, 1.0, 4.0], [0.1, -0.7, -2.0]],
    "exponential": [[-1.0, 0.3, 2.0]],
    "poisson": [[-1.0, 0.9, 2.5]],
    "weibull": [[-0.4, 0.3, 1.0], [0.6, 1.3, 4.0]],
}
Q = {
    "gaussian": [[0.3, -1.0], [4.0, 20.0], [3.0, 9.0], [2.0, 1.5]],
    "lognormal": [[0.3, -1.0], [4.0, 20.0], [3.0, 9.0], [2.0, 1.5]],
    "exponential": [[3.0, 8.0], [2.0, 1.5]],
    "poisson": [[6.0, 1.5], [2.0, 0.5]],
    "weibull": [[3.0, 8.0], [2.0, 1.5], [0.8, 2.1]],
}
PRIOR = {
    "gaussian": [0.2, 0.5, 1.5, 0.7],
    "lognormal": [0.2, 0.5, 1.5, 0.7],
    "exponential": [2.0, 1.0],
    "poisson": [1.0, 0.4],
    "weibull": [2.0, 1.0, 1.0],
}


def rows(name, kind):
    """Four rows of a kind, on the scale that is modelled."""
    low, high = np.array([0.2, 0.5, 1.0, 2.0]), np.array([0.21, 1.5, 4.0, 2.5])
    if name == "poisson":
        low, high = np.array([0.0, 1.0, 2.0, 5.0]), np.array([2.0, 3.0, 60.0, 9.0])
    if kind == "exact":
        high = low
    lower = np.full(4, -np.inf) if kind == "left" else low
    upper = np.full(4, np.inf) if kind == "right" else high
    return MixtureRows(kind, lower, upper, high - low, np.ones(4))


def scores(family, theta, some):
    """Derivatives of each row's log density or mass, (D, K, n), by the statistics."""
    with np.errstate(all="ignore"):
        terms = family.terms(some, theta)
    out = np.empty((*theta.shape, len(some)))
    for i in range(len(some)):
        statistics = np.stack([np.broadcast_to(t, terms.log_p.shape)[:, i] for t in terms.statistics])
        out[:, :, i] = family.score(theta, Sums(0.0, np.ones(theta.shape[1]), statistics))
    return out


@families
@pytest.mark.parametrize("kind", ["exact", "left", "right", "interval"])
def test_statistics_are_scores(name, kind):
    family, theta, some = MIXTURE_FAMILIES[name], np.array(THETA[name]), rows(name, kind)
    got = scores(family, theta, some)
    for d in range(len(theta)):

        def at(step, d=d):
            moved = theta.copy()
            moved[d] += step
            with np.errstate(all="ignore"):
                return family.terms(some, moved).log_p

        np.testing.assert_allclose(got[d], derivative(at, 0.0, 1e-3), rtol=1e-7, atol=1e-8)


@families
def test_left_inside_and_right_make_one(name):
    family, theta = MIXTURE_FAMILIES[name], np.array(THETA[name])
    inside = rows(name, "interval")
    left = MixtureRows("left", np.full(4, -np.inf), inside.lower, np.full(4, np.inf), np.ones(4))
    right = MixtureRows("right", inside.upper, np.full(4, np.inf), np.full(4, np.inf), np.ones(4))
    total = sum(np.exp(family.terms(some, theta).log_p) for some in (left, inside, right))
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


@families
def test_intervals_hold_the_integral_of_the_density(name):
    family, theta = MIXTURE_FAMILIES[name], np.array(THETA[name])
    distribution = family.distribution(theta, MixtureUnits())
    some = rows(name, "interval")
    log_p = family.terms(some, theta).log_p
    for i in range(4):
        low, high = np.exp((some.lower[i], some.upper[i])) if family.logarithm else (some.lower[i], some.upper[i])
        for j in range(3):
            if distribution.discrete:
                mass = np.exp(distribution.log_density(np.arange(low + 1, high + 1)))[j].sum()
            else:
                mass = quad(
                    lambda x, j=j: np.exp(distribution.log_density(np.array([x]))[j, 0]), low, high, epsabs=0, limit=200
                )[0]
            assert np.exp(log_p[j, i]) == pytest.approx(mass, rel=1e-8)


@families
def test_log_densities_of_exact_rows_are_those_of_the_distribution(name):
    family, theta = MIXTURE_FAMILIES[name], np.array(THETA[name])
    some = rows(name, "exact")
    y = np.exp(some.lower) if family.logarithm else some.lower
    distribution = family.distribution(theta, MixtureUnits())
    lost = np.log(y) if family.logarithm else 0.0
    got = family.terms(some, theta).log_p - lost
    if distribution.discrete:  # without the part that is the same for all components
        np.testing.assert_allclose(np.diff(got, axis=0), np.diff(distribution.log_density(y), axis=0), rtol=1e-12)
    else:
        np.testing.assert_allclose(got, distribution.log_density(y), rtol=1e-12, atol=1e-12)


@families
def test_plug_in_parameters_give_the_expected_log_density(name):
    """By Gauss-Legendre over quantiles of the gamma posterior, and the Gaussian mean's own expectation."""
    family, q = MIXTURE_FAMILIES[name], np.array(Q[name])
    theta, offset = family.plug_in(q)
    some = rows(name, "exact")
    got = family.terms(some, theta).log_p + offset[:, None]
    for j in range(q.shape[1]):
        gauss = name in ("gaussian", "lognormal")
        shape, rate = q[2:4, j] if gauss else q[:2, j]
        for i in range(4):
            y = some.lower[i]

            def log_f(x, j=j, y=y, gauss=gauss):
                if gauss:
                    away = (y - q[0, j]) ** 2 + 1.0 / (q[1, j] * x)
                    return 0.5 * np.log(x / (2.0 * np.pi)) - 0.5 * x * away
                if name == "weibull":
                    kappa = q[2, j]
                    return np.log(x) + kappa * y + np.log(kappa) - x * np.exp(kappa * y)
                return np.log(x) - x * y if name == "exponential" else y * np.log(x) - x

            distribution = gamma_distribution(shape, scale=1.0 / rate)
            mean = quad(
                lambda x, f=log_f, distribution=distribution: distribution.pdf(x) * f(x),
                0.0,
                distribution.isf(1e-16),
                epsabs=1e-11,
                limit=400,
            )[0]
            assert got[j, i] == pytest.approx(mean, rel=1e-7, abs=1e-8)


@families
def test_information_is_the_curvature_of_the_divergence(name):
    family, q = MIXTURE_FAMILIES[name], np.array(Q[name])
    conjugate = len(q) - (name == "weibull")
    if name == "weibull":
        q, conjugate = np.array(Q["exponential"]), 2
        family = MIXTURE_FAMILIES["exponential"]
    information = family.information(q)
    for j in range(q.shape[1]):
        assert family.divergence(q, q[:, j])[j] == pytest.approx(0.0, abs=1e-13)
        for p in range(conjugate):

            def toward(step, p=p, j=j):
                moved = q[:, j].copy()
                moved[p] += step
                return np.array([family.divergence(q, moved)[j]])

            h = 1e-3 * q[p, j] if q[p, j] > 0 else 1e-3
            second = (toward(h) + toward(-h)) / h**2
            assert information[p, p, j] == pytest.approx(second[0], rel=1e-4)


@families
def test_natural_lines_pass_through_their_ends(name):
    family, old = MIXTURE_FAMILIES[name], np.array(Q[name])
    new = old * 1.3 + 0.1
    np.testing.assert_allclose(family.between(old, new, 0.0), old, rtol=1e-13)
    np.testing.assert_allclose(family.between(old, new, 1.0), new, rtol=1e-13)
    assert family.between(new, old, 50.0) is None


def test_gaussian_lines_are_straight_in_natural_parameters():
    def natural(q):
        m, tau, a, b = q
        return np.stack([tau * m, tau, 2.0 * a, 2.0 * b + tau * m * m])

    family, old = MIXTURE_FAMILIES["gaussian"], np.array(Q["gaussian"])
    new = old * 1.3 + 0.1
    for step in (0.3, 1.7):
        got = natural(family.between(old, new, step))
        np.testing.assert_allclose(got, (1.0 - step) * natural(old) + step * natural(new), rtol=1e-13)


@families
def test_the_predictive_distribution_integrates_the_parameters_out(name):
    family, q = MIXTURE_FAMILIES[name], np.array(Q[name])
    distribution = family.predictive(q, MixtureUnits())
    rng = np.random.default_rng(3)
    x = np.array([0.0, 2.0, 7.0]) if distribution.discrete else np.array([0.3, 1.0, 2.5])
    draws = 200_000
    for j in range(q.shape[1]):
        gauss = name in ("gaussian", "lognormal")
        shape, rate = q[2:4, j] if gauss else q[:2, j]
        lam = rng.gamma(shape, 1.0 / rate, size=draws)
        if gauss:
            theta = np.stack([q[0, j] + rng.normal(size=draws) / np.sqrt(q[1, j] * lam), -0.5 * np.log(lam)])
        else:
            theta = np.stack([np.log(lam), np.full(draws, q[2, j])]) if name == "weibull" else np.log(lam)[None]
        plain = family.distribution(theta, MixtureUnits())
        for got, exact in (
            (plain.log_density(x), distribution.log_density(x)[j]),
            (plain.log_sf(x), distribution.log_sf(x)[j]),
        ):
            value = np.exp(got)
            error = value.std(axis=0) / np.sqrt(draws)
            assert (np.abs(value.mean(axis=0) - np.exp(exact)) < 4.5 * error + 1e-12).all()


@pytest.mark.quick_cases("gaussian")
@every
def test_sweeps_never_lower_the_bound(name):
    assert largest_drop(name, 12 if name in NAMES else 4, 5) < 1e-9


@every
def test_sweeps_never_lower_the_likelihood(name):
    assert largest_drop(name, 6 if name in NAMES else 3, 6, em=True) < 1e-9


@pytest.mark.study
@families
def test_sweeps_never_lower_the_bound_on_300_sets(name):
    assert largest_drop(name, 300, 7, sweeps=50) < 1e-9
