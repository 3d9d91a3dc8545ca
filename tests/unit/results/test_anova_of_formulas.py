"""Joint tests of the terms of formulas of other parameters: Wald's and likelihood ratios by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import tobitgp as tg
from tobitgp.errors import BoundaryWarning


@pytest.fixture(scope="module")
def data():
    """Weibull times whose shape depends a little on a factor, some censored, some cured."""
    rng = np.random.default_rng(21)
    n = 500
    z, g = rng.normal(size=n), rng.choice(list("abc"), n)
    shape = np.exp(0.3 - 0.15 * (g == "b") + 0.15 * (g == "c"))
    t, end = np.exp(0.5 + 0.4 * z) * rng.weibull(shape), rng.uniform(0.5, 6.0, n)
    never = rng.random(n) < 0.2
    until = np.where(never, 20.0, t)
    return pd.DataFrame({"z": z, "g": g}).assign(
        time=np.minimum(t, end),
        event=(t <= end).astype(int),
        until=np.minimum(until, 20.0),
        dead=(until < 20.0).astype(int),
        y=np.where(rng.random(n) < 0.4, 4.0 - z, 1.0 + z) + 0.4 * np.exp(0.2 * z) * rng.normal(size=n),
    )


def maximum(data, of_shape):
    """Minus the log likelihood at its minimum, where that is, and its Hessian by differences."""
    b, c = (data["g"].to_numpy() == level for level in "bc")
    one, z, d = np.ones(len(data)), data["z"].to_numpy(), data["event"].to_numpy()
    X, W, log_t = np.column_stack([one, z]), np.column_stack([one, b, c])[:, :of_shape], np.log(data["time"].to_numpy())

    def loss(theta):
        log_shape = W @ theta[2:]
        s = np.exp(log_shape) * (log_t - X @ theta[:2])
        return -np.sum(d * (log_shape + s - log_t) - np.exp(s))

    best = minimize(loss, np.zeros(2 + of_shape), method="BFGS", options={"gtol": 1e-7})
    at, k, step = best.x, len(best.x), 1e-4
    E = step * np.eye(k)
    H = np.array(
        [[loss(at + i + j) - loss(at + i - j) - loss(at - i + j) + loss(at - i - j) for i in E] for j in E]
    ) / (4.0 * step**2)
    return best.fun, at, H


def test_a_shape_is_wald_of_its_own_likelihood_and_near_the_likelihood_ratio(data):
    formulas = {"shape": "~ g"}
    found = tg.fit("Surv(time, event) ~ z", data, family="weibull", formulas=formulas).anova()
    (loss, theta, H), (restricted, *_) = maximum(data, 3), maximum(data, 1)
    V = np.linalg.inv(H)
    wald = theta[3:] @ np.linalg.solve(V[3:, 3:], theta[3:])
    assert list(found.index) == ["z", "log(shape)[g]"]
    assert found.loc["log(shape)[g]", "df"] == 2.0
    assert found.loc["log(shape)[g]", "chi2"] == pytest.approx(wald, rel=1e-4)
    assert found.loc["log(shape)[g]", "p"] == pytest.approx(chi2.sf(wald, 2), rel=1e-3)
    assert found.loc["z", "chi2"] == pytest.approx(theta[1] ** 2 / V[1, 1], rel=1e-4)
    ratio = 2.0 * (restricted - loss)
    assert wald == pytest.approx(ratio, rel=0.1)  # they differ by terms of the next order
    assert ratio > 4.0


FITS = {
    "shape and cured": (
        "Surv(until, dead) ~ z",
        {"family": "weibull", "cure": "~ z", "formulas": {"shape": "~ g"}},
        {"z": ["z"], "cured[z]": ["cured[z]"], "log(shape)[g]": ["log(shape)[g[T.b]]", "log(shape)[g[T.c]]"]},
    ),
    "hazards and cured": (
        "Surv(until, dead) ~ z",
        {"family": tg.PH("spline", df=2), "cure": "~ g"},
        {"z": ["z"], "cured[g]": ["cured[g[T.b]]", "cured[g[T.c]]"]},
    ),
    "shape of hazards": (
        "Surv(time, event) ~ z",
        {"family": tg.PH("gompertz"), "formulas": {"shape": "~ g"}},
        {"z": ["z"], "shape[g]": ["shape[g[T.b]]", "shape[g[T.c]]"]},
    ),
    "shape and sigma": (
        "Surv(time, event) ~ z",
        {"family": "gengamma", "formulas": {"Q": "~ z"}, "sigma": "~ g"},
        {"z": ["z"], "log(sigma)[g]": ["log(sigma)[g[T.b]]", "log(sigma)[g[T.c]]"], "Q[z]": ["Q[z]"]},
    ),
    "components": (
        "y ~ mixture(2, z)",
        {"formulas": {"odds": "~ g"}, "sigma": "~ z"},
        {
            "z": ["z", "location_2[z]"],
            "log(sigma_1)[z]": ["log(sigma_1)[z]"],
            "log(sigma_2)[z]": ["log(sigma_2)[z]"],
            "log(odds_2)[g]": ["log(odds_2)[g[T.b]]", "log(odds_2)[g[T.c]]"],
        },
    ),
}


@pytest.mark.quick_cases("shape of hazards")
@pytest.mark.parametrize("name", FITS)
def test_every_term_has_the_test_of_its_columns(data, name):
    formula, options, terms = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)  # cured fractions depend on the tail of the family
        res = tg.fit(formula, data, **options)
    found, b, V = res.anova(), res.params, res.cov_params()
    assert list(found.index) == list(terms)
    for term, columns in terms.items():
        own = b[columns]
        statistic = own @ np.linalg.solve(V.loc[columns, columns], own)
        assert found.loc[term].to_list() == pytest.approx([len(columns), statistic, chi2.sf(statistic, len(columns))])
        test = res.wald_test([f"{name} = 0" for name in columns])
        assert (test.df, test.statistic) == (len(columns), pytest.approx(statistic))


@pytest.mark.slow
def test_a_posterior_has_tests_of_the_noise_scale(data):
    res = tg.fit("y ~ gp(z)", data[:80], sigma="~ z + g", method=tg.EP(hyper="maximize"))
    names = ["log(sigma)[g[T.b]]", "log(sigma)[g[T.c]]"]
    V, b = res.cov_params().loc[names, names], res.params[names]
    statistic = b @ np.linalg.solve(V, b)
    assert res.anova().loc["log(sigma)[g]", "chi2"] == pytest.approx(statistic)
    assert res.wald_test([f"{name} = 0" for name in names]).statistic == pytest.approx(statistic)
