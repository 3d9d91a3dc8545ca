"""Maxima of parametric hazards: many starts of scipy in a likelihood written for it, bounds, and the origin of time."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import logistic, norm

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError

GRID = 300
LOG_TAILS = {"hazard": lambda z: -np.exp(z), "odds": logistic.logsf, "probit": norm.logsf}
LOG_DENSITIES = {"hazard": lambda z: z - np.exp(z), "odds": logistic.logpdf, "probit": norm.logpdf}


def late(seed, n=45):
    """Rows that enter at ages and are followed for some years."""
    rng = np.random.default_rng(seed)
    age, x = rng.uniform(30.0, 70.0, n), rng.integers(0, 2, n)
    life = np.log(np.exp(0.08 * age) + rng.exponential(size=n) * 0.08 / (2e-3 * np.exp(0.6 * x))) / 0.08
    stop = np.minimum(life, age + rng.uniform(2.0, 12.0, n))
    return pd.DataFrame({"a": age, "b": stop, "c": np.where(life <= stop, stop, np.inf), "x": x})


def intervals(seed):
    """Rows of which half are seen in wide windows: the likelihood of splines is highest where they fall."""
    rng = np.random.default_rng(seed)
    x = np.repeat([0, 1], 15)
    t = rng.weibull(2.3, 30) * 18 * np.exp(-0.7 * x)
    a = np.where(rng.random(30) < 0.4, 0, rng.integers(1, 15, 30)).astype(float)
    low, high = np.where(t < a, 0, a), np.where(t < a, a, a + rng.integers(5, 15, 30))
    beyond = (t >= high) | (t > 26)
    data = pd.DataFrame({"b": np.where(beyond, high, low), "c": np.where(beyond, np.inf, high), "x": x})
    return data[data["c"] > data["b"]].assign(a=0.0)


class Written:
    """(PH6) and (PH7) in logarithms of time about their mean, by numpy alone."""

    def __init__(self, data, knots, link):
        self.k, self.link, self.x = np.log(knots), link, data["x"].to_numpy()
        self.a, self.b, self.c = (data[name].to_numpy() for name in "abc")
        self.grid = np.linspace(self.k[0] - 0.1, self.k[-1] + 0.1, GRID)

    def basis(self, v, order):
        def part(k):
            x = np.maximum(v - k, 0.0)
            return x**3 if order == 0 else 3.0 * x**2

        low, high = self.k[0], self.k[-1]
        rows = [v - 0.5 * (low + high) if order == 0 else np.ones_like(v)]
        for k in self.k[1:-1]:
            share = (high - k) / (high - low)
            rows.append(part(k) - share * part(low) - (1.0 - share) * part(high))
        return np.array(rows)

    def slopes(self, c):
        return c @ self.basis(self.grid, 1)

    def minus(self, theta):
        beta, c = theta[:2], theta[2:]

        def z(t):
            safe = np.where((t > 0.0) & np.isfinite(t), t, 1.0)
            return beta[0] + beta[1] * self.x + c @ self.basis(np.log(safe), 0)

        with np.errstate(all="ignore"):
            entry, first, last = (LOG_TAILS[self.link](z(t)) for t in (self.a, self.b, self.c))
            entry, first = np.where(self.a > 0.0, entry, 0.0), np.where(self.b > 0.0, first, 0.0)
            last = np.where(np.isinf(self.c), -np.inf, last)
            between = first + np.log(-np.expm1(last - first))
            v = np.log(np.where(self.b > 0.0, self.b, 1.0))
            exact = LOG_DENSITIES[self.link](z(self.b)) + np.log(c @ self.basis(v, 1)) - v
            value = (np.where(self.b == self.c, exact, between) - entry).sum()
        return -value if np.isfinite(value) and self.slopes(c).min() >= 0.0 else 1e9


def many_starts(written, df, number=6):
    """The highest value of simplex searches from slopes and levels at random."""
    rng, best = np.random.default_rng(df), np.inf
    for _ in range(number):
        start = np.zeros(2 + df)
        start[0], start[2] = rng.uniform(-5.0, 3.0), np.exp(rng.normal(0.5, 1.0))
        for _ in range(3):
            found = minimize(
                written.minus,
                start,
                method="Nelder-Mead",
                options={"maxiter": 3000, "maxfev": 3000, "fatol": 1e-7, "xatol": 1e-6},
            )
            start = found.x
        best = min(best, float(found.fun))
    return -best


@pytest.mark.slow
@pytest.mark.parametrize("link", ["hazard", "odds", "probit"])
def test_no_start_of_scipy_leads_higher_with_late_entry(link):
    data, df = late(1), 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit("interval(b, c) ~ x | truncate(a)", data, family=tg.PH("spline", df=df, link=link))
    best = many_starts(Written(data, res.knots, link), df)
    assert res.llf >= best - 1e-3


@pytest.mark.parametrize("seed", [25, 62])
def test_splines_of_intervals_are_the_highest_that_rise(seed):
    data = intervals(seed)
    with pytest.warns(BoundaryWarning, match="The hazard is held at 0 at times"):
        res = tg.fit("interval(b, c) ~ x", data, family=tg.PH("spline"))
    assert res.converged
    times = np.geomspace(1e-3, 1e4, 4000)
    survival = res.predict_survival_function({"x": [0, 1]}, times=times)
    assert (np.diff(survival.to_numpy(), axis=0) <= 1e-12).all()
    written = Written(data, res.knots, "hazard")
    start = np.array([0.0, 0.7, 2.0, 0.0, 0.0])
    bound = {"type": "ineq", "fun": lambda theta: written.slopes(theta[2:])}
    free = Written(data, res.knots, "hazard")
    free.slopes = lambda c: np.ones(1)
    found = minimize(free.minus, start, method="SLSQP", constraints=[bound], options={"maxiter": 500, "ftol": 1e-10})
    assert res.llf == pytest.approx(-found.fun, abs=2e-3)
    assert (res.bse[["x"]] > 0.0).all()


def test_a_step_of_the_survival_between_two_ends_is_no_maximum():
    with pytest.warns((ConvergenceWarning, BoundaryWarning)):
        res = tg.fit("interval(b, c) ~ x", intervals(7), family=tg.PH("spline"))
    assert not res.converged
    survival = res.predict_survival_function({"x": [0]}, times=np.geomspace(0.01, 100.0, 2000)).to_numpy()
    assert (np.diff(survival, axis=0) <= 1e-12).all()


# -- the origin of time -----------------------------------------------------------------------------------------------


def years(shape, origin, n=300):
    rng = np.random.default_rng(8)
    start, x = rng.uniform(0, 8, n), rng.integers(0, 2, n)
    v = np.exp(shape * start) + rng.exponential(size=n) * shape / (0.15 * np.exp(0.4 * x))
    t = np.where(v > 0, np.log(np.maximum(v, 1e-300)) / shape, np.inf)
    return pd.DataFrame({"a": start + origin, "b": np.minimum(t, 12) + origin, "e": (t <= 12) * 1, "x": x})


@pytest.mark.parametrize("shape", [0.15, -0.15])
@pytest.mark.parametrize("origin", [100.0, 2010.0, 73000.0])
def test_gompertz_hazards_do_not_care_where_time_begins(shape, origin):
    near, far = (tg.fit("Surv(a, b, e) ~ x", years(shape, at), family=tg.PH("gompertz")) for at in (0.0, origin))
    assert far.converged
    assert far.llf == pytest.approx(near.llf, abs=1e-6)
    np.testing.assert_allclose(far.params[["shape", "x"]], near.params[["shape", "x"]], atol=1e-6)
    np.testing.assert_allclose(far.bse[["shape", "x"]], near.bse[["shape", "x"]], rtol=1e-5)
    assert far.params["Intercept"] == pytest.approx(near.params["Intercept"] - near.params["shape"] * origin, rel=1e-6)
    along = np.array([1.0, 0.0, -origin])
    variance = along @ near.cov_params().loc[["Intercept", "x", "shape"], ["Intercept", "x", "shape"]] @ along
    assert far.bse["Intercept"] == pytest.approx(np.sqrt(variance), rel=1e-5)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_weibull_hazards_in_calendar_years_are_weibull_times(cov_type):
    data = years(0.15, 2010.0)
    res, aft = (
        tg.fit("Surv(a, b, e) ~ x", data, family=family, cov_type=cov_type) for family in (tg.PH("weibull"), "weibull")
    )
    assert res.converged
    assert res.llf == pytest.approx(aft.llf, abs=1e-6)
    assert res.params["shape"] == pytest.approx(1.0 / aft.params["sigma"], rel=1e-5)
    assert res.params["x"] == pytest.approx(-aft.params["x"] / aft.params["sigma"], rel=1e-5)
    assert res.bse["shape"] / res.params["shape"] == pytest.approx(aft.bse["sigma"] / aft.params["sigma"], rel=1e-4)


def test_an_end_far_beyond_all_others_is_an_open_one():
    starts = [0.0001, 0.75, 1.5, 2.25, 3, 3.75, 4.5, 5.25, 0.375, 2.625, 4.875, 6.0]
    stops, n = [0.75, 1.5, 2.25, 3, 3.75, 4.5, 5.25, 6], [3, 9, 5, 9, 2, 17, 7, 4, 4, 3, 6, 20]
    for family in (tg.PH("gompertz"), tg.PH("weibull")):
        found = []
        for far in (np.inf, 1e4, 1e9):
            data = pd.DataFrame({"b": starts, "c": stops + [far] * 4, "n": n})
            found.append(tg.fit("interval(b, c) ~ 1", data, family=family, weights="n"))
        assert all(res.converged for res in found)
        np.testing.assert_allclose([res.llf for res in found], found[0].llf, atol=1e-6)


def test_given_values_of_splines():
    """A fixed inner coefficient with which the first guess would fall, and values with which any spline does."""
    data = late(3)
    formula, family = "interval(b, c) ~ x | truncate(a)", tg.PH("spline", df=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = tg.fit(formula, data, family=family)
    held = tg.fit(formula, data, family=family, fixed={"gamma2": float(free.params["gamma2"])})
    assert held.llf == pytest.approx(free.llf, abs=1e-5)
    with pytest.raises(SpecError, match="rises at all times"):
        tg.fit(formula, data, family=family, start={"gamma1": -1.0})


@pytest.mark.slow
@pytest.mark.parametrize("link", ["hazard", "probit"])
def test_hazards_before_the_first_entry_that_run_off_are_named_and_the_advice_helps(link):
    """Hazards that rise and fall with age: what came before the entries takes all of the cumulative hazard."""
    rng = np.random.default_rng(1)
    a, grid = rng.uniform(40.0, 60.0, 400), np.linspace(0.0, 8.0, 801)
    hazard = 0.02 + 0.15 * np.exp(-(((a[:, None] + grid - 50.0) / 4.0) ** 2))
    risen = np.concatenate([np.zeros((400, 1)), np.cumsum(0.01 * hazard[:, :-1], axis=1)], axis=1)
    life = 0.01 * (risen < rng.exponential(size=400)[:, None]).sum(axis=1)
    data = pd.DataFrame({"a": a, "b": a + np.minimum(life, 8.0).clip(0.01), "e": (life < 8.0).astype(int)})
    family = tg.PH("spline", df=3, link=link)
    with pytest.warns(ConvergenceWarning, match="before the first entry.*Measure time from shortly before"):
        tg.fit("Surv(a, b, e) ~ 1", data, family=family)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert tg.fit("Surv(a - 39.9, b - 39.9, e) ~ 1", data, family=family).converged
