import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from scipy.optimize import minimize
from support.reference import load
from support.survival import bounds

import tobitgp as tg
from tobitgp.numerics.nonparametric import kaplan_meier, turnbull


def survival(found, times):
    return np.array([1.0 - found.mass[found.right <= t].sum() for t in times])


def test_it_is_that_of_r_for_lung_in_windows_of_thirty_days():
    lung = tg.datasets.load("lung").dropna(subset=["age", "sex", "ph_ecog"])
    end = 30.0 * np.ceil(lung["time"].to_numpy() / 30.0)
    seen = lung["event"].to_numpy() == 1
    begin = np.where(end == 30.0, -np.inf, end - 30.0)
    found = turnbull(np.where(seen, begin, lung["time"]), np.where(seen, end, np.inf), np.ones(len(lung)))
    want = load("lung_interval.json")["turnbull"]
    np.testing.assert_allclose(survival(found, want["times"]), want["surv"], atol=1e-8)


def test_it_is_that_of_lifelines_for_intervals(rng):
    grid = np.sort(rng.uniform(0.0, 20.0, (80, 3)), axis=1)
    at = (10.0 * rng.weibull(1.5, 80)[:, None] > grid).sum(axis=1)
    ends = np.column_stack([np.zeros(80), grid, np.full(80, np.inf)])
    lower, upper = ends[np.arange(80), at], ends[np.arange(80), at + 1]
    found = turnbull(lower, upper, np.ones(80))
    theirs = KaplanMeierFitter().fit_interval_censoring(lower, upper, tol=1e-10).survival_function_
    times = found.right[np.isfinite(found.right)]
    steps = theirs["NPMLE_estimate_lower"].to_numpy()[np.searchsorted(theirs.index, times, side="right") - 1]
    np.testing.assert_allclose(survival(found, times), steps, atol=1e-4)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_one_sided_rows_give_kaplan_and_meiers_steps(rng, side):
    time, seen, weight = rng.exponential(10.0, 200), rng.random(200) < 0.6, rng.integers(1, 4, 200).astype(float)
    lower, upper = np.sort([side * time, np.where(seen, side * time, side * np.inf)], axis=0)
    found = turnbull(lower, upper, weight)
    times, S = kaplan_meier(time, seen, weight)
    if side > 0.0:
        np.testing.assert_allclose(survival(found, times), S, atol=1e-12)
        assert found.iterations == 1
    else:
        np.testing.assert_allclose([found.mass[found.right < -t].sum() for t in times], S, atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_no_other_distribution_is_more_probable(seed, n):
    rng = np.random.default_rng(seed)
    lower, upper = bounds(rng, n)
    weight = rng.integers(1, 4, n).astype(float)
    found = turnbull(lower, upper, weight)
    assert found.gap <= 1e-9 * weight.sum()
    assert (found.mass >= 0.0).all()
    assert abs(found.mass.sum() - 1.0) < 1e-12
    inside = (lower[:, None] <= found.left) & (found.right <= upper[:, None])
    point = found.left == found.right
    inside &= ~(point & (found.left == lower[:, None]) & (lower < upper)[:, None])
    np.testing.assert_allclose(weight @ np.log(inside @ found.mass), found.log_likelihood, atol=1e-10)

    def minus(z):
        mass = np.exp(z - z.max())
        with np.errstate(divide="ignore"):
            return -weight @ np.log(inside @ (mass / mass.sum()))

    best = -minimize(minus, rng.normal(size=len(found.mass)), method="Nelder-Mead", options={"maxiter": 400}).fun
    assert found.log_likelihood >= best - 1e-8 * weight.sum()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30))
def test_weights_are_repeated_rows_in_any_order(seed, n):
    rng = np.random.default_rng(seed)
    lower, upper = bounds(rng, n)
    weight = rng.integers(1, 4, n)
    rows = rng.permutation(np.repeat(np.arange(n), weight))
    a, b = turnbull(lower, upper, weight.astype(float)), turnbull(lower[rows], upper[rows], np.ones(len(rows)))
    assert np.array_equal(a.right, b.right)
    np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, atol=1e-7)


def test_many_rows_converge(rng):
    n = 5000
    y, cuts = 10.0 * rng.weibull(1.5, n), np.sort(rng.uniform(0.0, 20.0, (2, n)), axis=0)
    lower = np.where(y <= cuts[0], -np.inf, np.where(y <= cuts[1], cuts[0], cuts[1]))
    upper = np.where(y <= cuts[0], cuts[0], np.where(y <= cuts[1], cuts[1], np.inf))
    exact = rng.random(n) < 0.2
    found = turnbull(np.where(exact, y, lower), np.where(exact, y, upper), np.ones(n))
    assert found.gap <= 1e-9 * n
    times = np.linspace(2.0, 15.0, 20)
    assert np.abs(survival(found, times) - np.exp(-((times / 10.0) ** 1.5))).max() < 0.04
