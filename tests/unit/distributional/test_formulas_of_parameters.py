"""Formulas of other parameters than the location: against maxima of likelihoods written here, and their Hessians."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, FormulaError, SpecError


def times(n=150, seed=4):
    rng = np.random.default_rng(seed)
    z, x, arm = rng.normal(size=n).round(2), rng.normal(size=n).round(2), rng.integers(0, 2, n)
    t = np.exp(1.0 + 0.5 * x) * rng.weibull(np.exp(0.4 + 0.3 * z))
    end, entry = rng.exponential(6.0, n), rng.uniform(0.0, 0.8, n) * (rng.random(n) < 0.4)
    data = pd.DataFrame({"time": np.minimum(t, end), "event": (t <= end).astype(int), "entry": entry})
    data = data.assign(x=x, z=z, arm=arm, w=rng.integers(1, 3, n), y=rng.standard_t(np.where(arm, 3.0, 15.0)) + x)
    return data[data["time"] > data["entry"]].reset_index(drop=True)


def survival_of(parameters):
    """Log density and log survival of times under several models, from scipy and closed forms."""

    def weibull(t, d, b):
        mu, shape = b[0] + b[1] * d["x"], np.exp(b[2] + b[3] * d["z"])
        y = stats.weibull_min(shape, scale=np.exp(mu))
        return y.logpdf(t), y.logsf(t)

    def weibull_hazards(t, d, b):
        eta, shape = b[0] + b[1] * d["x"], np.exp(b[2] + b[3] * d["z"])
        H = np.exp(eta) * t**shape
        return eta + np.log(shape) + (shape - 1.0) * np.log(t) - H, -H

    def gompertz(t, d, b):
        eta, a = b[0] + b[1] * d["x"], b[2] + b[3] * d["arm"]
        H = np.exp(eta) * np.expm1(a * t) / a
        return eta + a * t - H, -H

    def generalised_gamma(t, d, b):
        mu, sigma, Q = b[0] + b[1] * d["x"], np.exp(b[2] + b[3] * d["z"]), b[4] + b[5] * d["arm"]
        w = (np.log(t) - mu) / sigma
        u = Q**-2.0
        gamma = stats.gamma(u)
        x = u * np.exp(Q * w)
        log_sf = np.where(Q > 0.0, gamma.logsf(x), gamma.logcdf(x))
        return gamma.logpdf(x) + np.log(np.abs(Q) * x / sigma / t), log_sf

    return {"weibull": weibull, "weibull ph": weibull_hazards, "gompertz": gompertz, "gengamma": generalised_gamma}[
        parameters
    ]


CALLS = {
    "weibull": {"family": "weibull", "formulas": {"shape": "~ z"}},
    "weibull ph": {"family": tg.PH("weibull"), "formulas": {"shape": "~ z"}},
    "gompertz": {"family": tg.PH("gompertz"), "formulas": {"shape": "~ arm"}},
    "gengamma": {"family": "gengamma", "formulas": {"sigma": "~ z", "Q": "~ arm"}},
}


def maximum(log_likelihood, start):
    """Place, value and standard errors by differences of the Hessian."""
    found = optimize.minimize(lambda b: -log_likelihood(b), start, method="BFGS", options={"gtol": 1e-7})
    k, h = len(start), 1e-4
    H = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            e, f = h * np.eye(k)[i], h * np.eye(k)[j]
            b = found.x
            H[i, j] = (
                log_likelihood(b + e + f)
                - log_likelihood(b + e - f)
                - log_likelihood(b - e + f)
                + log_likelihood(b - e - f)
            ) / (4.0 * h * h)
    return found.x, -found.fun, np.sqrt(np.diag(np.linalg.inv(-H)))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.slow_cases("gengamma")
def test_fits_are_maxima_of_likelihoods_written_here(name):
    """Of rows that are censored, entered late and are weighted."""
    data, of = times(), survival_of(name)
    res = tg.fit("Surv(entry, time, event) ~ x", data, weights="w", **CALLS[name])

    def log_likelihood(b):
        with np.errstate(all="ignore"):
            density, survival = of(data["time"], data, b)
            late = np.where(data["entry"] > 0.0, of(np.maximum(data["entry"], 1e-9), data, b)[1], 0.0)
            value = float(data["w"] @ (np.where(data["event"] == 1, density, survival) - late))
        return value if np.isfinite(value) else -1e10

    best, value, error = maximum(log_likelihood, res.params.to_numpy() + 0.02)
    assert res.converged
    assert res.llf == pytest.approx(log_likelihood(res.params.to_numpy()), abs=1e-9)
    assert value <= res.llf + 1e-8
    np.testing.assert_allclose(res.params, best, atol=2e-4)
    np.testing.assert_allclose(res.bse, error, rtol=2e-3)


def test_degrees_of_freedom_have_a_formula():
    rng = np.random.default_rng(3)
    x, arm = rng.normal(size=700), rng.integers(0, 2, 700)
    y = np.maximum(x + rng.standard_t(np.where(arm, 2.0, 5.0)), -2.0)
    res = tg.fit("y ~ x | censor(-2)", {"y": y, "x": x, "arm": arm}, family="student", formulas={"df": "~ arm"})

    def log_likelihood(b):
        noise = stats.t(np.exp(b[3] + b[4] * arm), loc=b[0] + b[1] * x, scale=np.exp(b[2]))
        return float(np.where(y > -2.0, noise.logpdf(y), noise.logcdf(y)).sum())

    b = res.params.to_numpy().copy()
    b[2] = np.log(b[2])
    best, value, error = maximum(log_likelihood, b + 0.02)
    assert list(res.params.index[2:]) == ["sigma", "log(df)[Intercept]", "log(df)[arm]"]
    assert res.llf == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(b, best, atol=2e-3)
    np.testing.assert_allclose(res.bse.drop("sigma"), np.delete(error, 2), rtol=5e-3)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_unit_of_the_response_with_a_formula_of_df(unit):
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"y": rng.standard_t(4, 150), "x": rng.normal(size=150)})
    how = {"family": "student", "formulas": {"df": "~ x"}}
    usual, res = (tg.fit("y ~ x", data.assign(y=size * data["y"]), **how) for size in (1.0, unit))
    assert res.converged
    assert res.llf + len(data) * np.log(unit) == pytest.approx(usual.llf, abs=1e-6)
    assert res.params["log(df)[x]"] == pytest.approx(usual.params["log(df)[x]"], rel=1e-4)


def test_one_value_is_the_model_without_the_formula():
    data = times()
    for family, name in (
        ("weibull", "shape"),
        ("gengamma", "Q"),
        (tg.PH("weibull"), "shape"),
        (tg.PH("gompertz"), "shape"),
    ):
        plain = tg.fit("Surv(entry, time, event) ~ x", data, family=family)
        one = tg.fit("Surv(entry, time, event) ~ x", data, family=family, formulas={name: "~ 1"})
        assert one.llf == pytest.approx(plain.llf, abs=1e-8)
        titles = {str(res.summary()).splitlines()[0].strip() for res in (one, plain)}
        assert len(titles) == 1
        np.testing.assert_allclose(one.predict(data, "median"), plain.predict(data, "median"), rtol=1e-5)
        np.testing.assert_allclose(
            one.predict_survival_function(data.head(3), [0.5, 2.0]),
            plain.predict_survival_function(data.head(3), [0.5, 2.0]),
            rtol=1e-5,
        )


def test_sigma_and_cure_are_short_forms():
    data = times()
    for short, formulas in (({"sigma": "~ z"}, {"sigma": "~ z"}), ({"cure": "~ 1"}, {"cured": "~ 1"})):
        with pytest.warns(BoundaryWarning) if "cure" in short else _quiet():
            one = tg.fit("Surv(time, event) ~ x", data, family="weibull", **short)
            two = tg.fit("Surv(time, event) ~ x", data, family="weibull", formulas=formulas)
        assert type(one) is type(two)
        pd.testing.assert_series_equal(one.params, two.params)


def _quiet():
    import contextlib

    return contextlib.nullcontext()


def test_a_formula_without_effect_is_tested():
    data = times(400)
    larger = tg.fit("Surv(time, event) ~ x", data, family="weibull", formulas={"shape": "~ z + arm"})
    smaller = tg.fit("Surv(time, event) ~ x", data, family="weibull", formulas={"shape": "~ z"})
    test = larger.lr_test(smaller)
    wald = larger.t_test("log(shape)[arm] = 0")
    assert test.df == 1
    assert test.statistic == pytest.approx(float(np.squeeze(wald.tvalue)) ** 2, rel=0.1, abs=0.05)
    with pytest.raises(SpecError, match="not nested"):
        larger.lr_test(tg.fit("Surv(time, event) ~ x", data, family="weibull", formulas={"shape": "~ arm + x"}))


@pytest.mark.parametrize(
    ("family", "formulas", "error", "words"),
    [
        ("weibull", {"df": "~ z"}, SpecError, "no such parameter"),
        (tg.PH("spline"), {"gamma1": "~ z"}, SpecError, "together give an increasing curve"),
        (tg.PH("gp"), {"shape": "~ z"}, SpecError, "parametric baseline"),
        ("boxcox", {"power": "~ z"}, SpecError, "on a different scale"),
        ("weibull", {"shape": "~ gp(z)"}, FormulaError, "is a process"),
        ("weibull", {"shape": "z"}, FormulaError, "begins with '~'"),
        ("weibull", {"shape": 3}, FormulaError, "formulas={'shape': '~ z'}"),
        ("weibull", {"shape": "~ time"}, FormulaError, "response 'time'"),
        ("gaussian", {"sigma": "~ z", "cured": "~ 1"}, SpecError, "positive times"),
    ],
)
def test_formulas_that_mean_nothing_are_refused(family, formulas, error, words):
    with pytest.raises(error, match=words):
        tg.fit("Surv(time, event) ~ x", times(), family=family, formulas=formulas)


def test_a_formula_is_given_once():
    with pytest.raises(SpecError, match="the same formula"):
        tg.fit("Surv(time, event) ~ x", times(), family="weibull", sigma="~ z", formulas={"sigma": "~ z"})
    with pytest.raises(SpecError, match="posterior"):
        tg.fit("Surv(time, event) ~ x", times(), family="weibull", formulas={"shape": "~ z"}, priors={})
