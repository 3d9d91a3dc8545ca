"""What holds of the maximum of the likelihood in every family of components: units, floors, starts, errors."""

import numpy as np
import pytest
from support.mixtures import NAMES, problem, random_rows

from tobitgp.mixture import EMCM, fit_mixture, held_parameters, linear_response
from tobitgp.mixture.array_fit import worth
from tobitgp.mixture.coordinate_ascent import Stop, chunks_of, climb
from tobitgp.mixture.mixture_rows import least
from tobitgp.mixture.starts import starts

pytestmark = pytest.mark.diagonal

families = pytest.mark.parametrize("name", NAMES)
TIMES = pytest.mark.parametrize("name", [name for name in NAMES if name != "poisson"])
TIGHT = EMCM(n_init=4, tol=1e-13)


@pytest.mark.slow
@TIMES
@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e9])
def test_units_change_nothing_but_the_jacobian(name, unit):
    """Parameters, errors and the log likelihood of the same rows in another unit."""
    lower, upper, weight = random_rows(np.random.default_rng(10), name, 60)
    lower, upper, weight = np.append(lower, 40.0 * lower), np.append(upper, 40.0 * upper), np.tile(weight, 2)
    a, b = (fit_mixture(s * lower, s * upper, weight, family=name, method=TIGHT) for s in (1.0, unit))
    log_unit, exact = np.log(unit), weight[lower == upper].sum()
    assert b.log_likelihood == pytest.approx(a.log_likelihood - exact * log_unit, abs=1e-5)
    for key, values in a.parameters.items():
        same = {"rate": values / unit, "shape": values}.get(key, values * unit)
        if name == "lognormal":
            same = values + log_unit if key == "mean" else values
        np.testing.assert_allclose(b.parameters[key], same, rtol=1e-5)
    errors = [np.sqrt(np.diag(linear_response(fit, s * lower, s * upper, weight))) for fit, s in ((a, 1.0), (b, unit))]
    if name != "lognormal":
        errors = [error / fit.values for error, fit in zip(errors, (a, b), strict=True)]
    assert np.isfinite(errors).all()
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-3)


def worth_of(fit):
    """(EM9)."""
    narrow = fit.model.family.narrow(fit.state.components, fit.model.floor).sum() if fit.k > 1 else 0
    return fit.log_likelihood - narrow * np.log(fit.total)


@pytest.mark.slow
@families
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.study) for seed in (1, 2, 3))])
def test_no_start_ends_higher_and_no_nested_fit_does(name, seed):
    """Beside twenty random starts of plain ascents under the same floors, and one component less."""
    lower, upper, weight = random_rows(np.random.default_rng([seed, 20]), name, 50)
    last = -np.inf
    for k in (1, 2, 3):
        fit = fit_mixture(lower, upper, weight, family=name, k=k, method=EMCM())
        model, working = problem(name, lower, upper, weight, k=k, em=True)
        model = type(model)(model.family, k, model.family.floor(working))
        chunks, rng = chunks_of(working, k), np.random.default_rng(seed)
        ends = [
            worth(model, climb(model, chunks, start, Stop(1e-7, 3000)))
            for start in starts(model, working, k, 20 if k > 1 else 1, rng)
        ]
        assert worth_of(fit) > max(ends) + working.constant - 0.01
        assert worth_of(fit) > last - 0.01
        last = worth_of(fit)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
def test_groups_far_apart_have_their_own_maxima(ratio):
    """However far apart for their width, and of however different widths."""
    rng = np.random.default_rng(4)
    groups = [rng.normal(0.0, 1.0, 20), rng.normal(ratio, 0.01, 60)]
    y = np.concatenate(groups)
    fit = fit_mixture(y, y, method=EMCM())
    np.testing.assert_allclose(fit.parameters["sd"], [group.std() for group in groups], rtol=1e-6)
    np.testing.assert_allclose(np.diag(linear_response(fit, y, y))[2:4], [g.var() / len(g) for g in groups], rtol=1e-3)


@pytest.mark.parametrize("mean", [1e-7, 1e-3, 1e6])
def test_rates_far_apart_have_their_own_maxima(mean):
    rng = np.random.default_rng(4)
    groups = [rng.exponential(mean, 80), rng.exponential(1e3 * max(mean, 1.0), 50)]
    y = np.concatenate(groups)
    fit = fit_mixture(y, y, family="exponential", method=EMCM())
    rates = [1.0 / groups[1].mean(), 1.0 / groups[0].mean()]
    assert fit.parameters["rate"][::-1] == pytest.approx(rates, rel=0.02)
    assert not held_parameters(fit).any()


@pytest.mark.parametrize("rate", [1e-6, 1e-2, 1e3, 1e6, 1e9])
def test_errors_of_rates_of_counts_are_roots_of_rate_over_rows(rate):
    n = 40 if rate > 1.0 else 3.0 / rate
    y = np.random.default_rng(2).poisson(rate, 40).astype(float) if rate > 1.0 else np.array([0.0, 1.0])
    weight = np.ones(40) if rate > 1.0 else np.array([n - 3.0, 3.0])
    fit = fit_mixture(y, y, weight, family="poisson", k=1, method=EMCM())
    mean = weight @ y / n
    assert fit.parameters["rate"][0] == pytest.approx(mean, rel=1e-9)
    error = np.sqrt(linear_response(fit, y, y, weight)[1, 1])
    assert error == pytest.approx(np.sqrt(mean / n), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "y",
    [
        np.r_[np.full(30, 5.0), np.random.default_rng(0).normal(9.0, 1.0, 40)],
        np.r_[np.random.default_rng(0).normal(size=99), 9999.0],
        np.round(np.random.default_rng(0).normal(size=200)),
        np.repeat([0.0, 1.0], 30),
        np.array([1.0, 2.0, 4.0, 8.0]),
        np.full(20, 3.0),
    ],
    ids=["a constant", "one far out", "rounded", "two values", "four rows", "one value"],
)
def test_no_component_closes_in_on_a_value(y):
    fit = fit_mixture(y, y, k=3, method=EMCM())
    assert fit.converged
    assert np.isfinite(fit.log_likelihood)
    assert (fit.parameters["sd"] >= fit.model.floor * fit.units.scale * (1.0 - 1e-6)).all()
    assert (fit.model.floor > 1e-6).all()


def test_a_floor_grows_with_the_distance_of_the_rows_and_is_that_of_a_unit_where_they_are_equal():
    y = np.concatenate([np.linspace(0.0, 0.01, 40), np.linspace(1.0, 3.0, 40), np.full(9, 2.0 + 1e-9)])
    fit = fit_mixture(y, y, k=1, method=EMCM())
    _, working = problem("gaussian", y, y, np.ones(len(y)), k=1, em=True)
    spacing = fit.model.family.floor(working)
    dense, wide, tied = least(spacing, (np.array([0.005, 2.5, 2.0 + 1e-9]) - fit.units.shift) / fit.units.scale)
    assert spacing.rows == 6
    assert dense * fit.units.scale == pytest.approx(0.3 * 3 * 0.01 / 39, rel=0.35)
    assert wide > 50.0 * dense or wide == pytest.approx(0.001**0.5)
    assert 0.0 < tied <= wide
