"""Mean and spread of a response as they would be, were it seen in full."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.arrays import merge
from tobitgp.data.moments import ResponseMoments


def clipped(y, low=-np.inf, high=np.inf):
    """Ends of values that an instrument with these limits shows."""
    return np.where(y <= low, -np.inf, np.minimum(y, high)), np.where(y >= high, np.inf, np.maximum(y, low))


def moments(ends, weight=None):
    return ResponseMoments.of(*ends, np.ones(len(ends[0])) if weight is None else weight)


def test_what_is_seen_in_full_is_as_it_is(rng):
    y, weight = rng.normal(3.0, 2.0, 50), rng.uniform(0.5, 2.0, 50)
    mean, sd = moments((y, y), weight).mean_and_sd()
    assert mean == pytest.approx(np.average(y, weights=weight))
    assert sd == pytest.approx(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
    about = rng.uniform(0, 0.1, 50)
    np.testing.assert_allclose(moments((y - about, y + about), weight).mean_and_sd(), (mean, sd))


@pytest.mark.parametrize(("low", "high"), [(0.0, np.inf), (1.0, np.inf), (-np.inf, -1.0), (-0.3, 0.3)])
def test_unseen_values_count(low, high, rng):
    """Values and limits together spread half as far, or less."""
    y = rng.normal(size=20_000)
    ends = clipped(y, low, high)
    np.testing.assert_allclose(moments(ends).mean_and_sd(), (0.0, 1.0), atol=0.04)
    assert moments(ends).all.spread[0] < 0.6


def test_limits_of_many_sizes(rng):
    """Times, half of them censored at times that are spread as they are."""
    log_time, censoring = rng.normal(size=(2, 5000))
    ends = np.minimum(log_time, censoring), np.where(log_time <= censoring, log_time, np.inf)
    np.testing.assert_allclose(moments(ends).mean_and_sd(), (0.0, 1.0), atol=0.2)


def test_a_limit_far_beyond_the_data_says_nothing(rng):
    y = rng.normal(size=60)
    lower, upper = np.append(y, np.full(3, -np.inf)), np.append(y, np.full(3, 1e6))
    np.testing.assert_allclose(moments((lower, upper)).mean_and_sd(), (y.mean(), y.std()), rtol=0.02, atol=0.02)


def test_units_and_weights_change_nothing(rng):
    lower, upper = clipped(rng.normal(size=80), 0.5, 2.0)
    mean, sd = moments((lower, upper)).mean_and_sd()
    for factor, offset in ((1e-8, 0.0), (1e8, 3.0), (-2.0, 1e3)):
        ends = [factor * end + offset for end in (lower, upper)]
        found = moments(ends if factor > 0.0 else ends[::-1]).mean_and_sd()
        np.testing.assert_allclose(found, (factor * mean + offset, abs(factor) * sd), rtol=1e-9)
    np.testing.assert_allclose(moments((lower, upper), np.full(80, 1e6)).mean_and_sd(), (mean, sd), rtol=1e-9)
    halves = merge([moments((lower[:30], upper[:30])), moments((lower[30:], upper[30:]))])
    np.testing.assert_allclose(halves.mean_and_sd(), (mean, sd), rtol=1e-9)


@pytest.mark.parametrize(
    "ends",
    [
        clipped(np.zeros(5), 1.0),
        clipped(np.array([0.0, 0.0, 3.0]), 0.0),
        clipped(np.array([-2.0, -1.0]), 0.0, 1.0),
        (np.array([-np.inf, 0.0]), np.array([0.0, np.inf])),
        (np.array([2.0, -np.inf]), np.array([2.0, 1.0])),
    ],
    ids=["all at one limit", "one exact", "none exact", "both sides", "one each"],
)
def test_where_little_is_seen_numbers_stay_finite(ends):
    mean, sd = moments(ends).mean_and_sd()
    assert np.isfinite([mean, sd]).all()
    assert 0.0 <= sd < 10.0


@pytest.mark.slow
def test_a_heavily_censored_curve_is_not_taken_for_a_flat_one(rng):
    """One of mean 0 and sd 1, seen where it is highest; data drawn from the prior."""
    inside = []
    for _ in range(8):
        x = np.linspace(0, 1, 60)
        f = np.linalg.cholesky(np.exp(-0.5 * ((x[:, None] - x) / 0.2) ** 2) + 1e-9 * np.eye(60)) @ rng.normal(size=60)
        data = pd.DataFrame({"x": x, "y": f + 0.3 * rng.normal(size=60)})
        data["low"] = data["y"].quantile(0.9)
        res = tg.fit("y ~ gp(x) | censor(low)", data.assign(y=data["y"].clip(data["low"])))
        band = res.predict(data, interval=0.95)
        inside.append(np.mean((band["lower"] <= f) & (f <= band["upper"])))
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("far", [9.0, 999.0, 1e6])
def test_uninformative_limits_change_nothing(far, rng):
    """Neither among many of one kind, nor as the open ends of intervals."""
    lower, upper = clipped(rng.normal(size=200), 0.7)
    mean, sd = moments((lower, upper)).mean_and_sd()
    more = np.append(lower, [-np.inf] * 3), np.append(upper, [far] * 3)
    np.testing.assert_allclose(moments(more).mean_and_sd(), (mean, sd), rtol=1e-9)
    coded = np.where(np.isinf(lower), -far, lower), upper
    np.testing.assert_allclose(moments(coded).mean_and_sd(), (mean, sd), rtol=1e-9)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1e6, 1.0), (50.0, 1e8)])
def test_intervals_that_all_overlap_spread_as_wide_as_they_are(shift, scale):
    lower, upper = np.full(5, shift - 50.0 * scale), np.full(5, shift + 50.0 * scale)
    np.testing.assert_allclose(moments((lower, upper)).mean_and_sd(), (shift, 100.0 * scale / np.sqrt(12.0)))


@pytest.mark.slow_cases("interval(lo, hi) ~ mixture(2)")
@pytest.mark.parametrize(
    "formula", ["interval(lo, hi) ~ gp(x)", "interval(lo, hi) ~ re(g)", "interval(lo, hi) ~ mixture(2)"]
)
@pytest.mark.filterwarnings("ignore::tobitgp.errors.BoundaryWarning")
def test_numbers_that_stand_for_infinity_are_taken_so(formula, rng):
    x = np.sort(rng.uniform(0, 1, 80))
    y = np.sin(6 * x) + 0.2 * rng.normal(size=80)
    data = pd.DataFrame({"x": x, "g": ["a", "b"] * 40, "lo": np.minimum(y, 0.3)})
    first, second = (tg.fit(formula, data.assign(hi=np.where(y < 0.3, y, far))) for far in (np.inf, 9999.0))
    np.testing.assert_allclose(first.params, second.params, rtol=1e-4)
