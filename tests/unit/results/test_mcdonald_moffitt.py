"""The three effects of McDonald and Moffitt (1980) against quadrature, and their identity, in all kinds."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import logistic, norm

import tobitgp as tg

LEAST = 1.9
FIXED = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 2.0, "sigma": 0.5}
FITS = {
    "regression": ("low ~ x + g | censor(limit)", {}),
    "logistic": ("low ~ x + g | censor(limit)", {"family": "logistic"}),
    "noise scale": ("low ~ x + g | censor(limit)", {"sigma": "~ x"}),
    "lognormal": ("pos ~ x + g | censor(least)", {"family": "lognormal"}),
    "box-cox": ("pos ~ x + g | censor(least)", {"family": "boxcox"}),
    "process": ("low ~ g + gp(x) | censor(limit)", {"fixed": FIXED}),
    "student": ("low ~ g + gp(x) | censor(limit)", {"fixed": FIXED, "family": "student"}),
    "averaged": ("low ~ x + (1 | g) | censor(limit)", {}),
    "noise process": (
        "low ~ x + g | censor(limit)",
        {"sigma": "~ gp(x)", "method": tg.EP(hyper="maximize", n_starts=1)},
    ),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    n = 90
    x, g = rng.uniform(0.0, 4.0, n), rng.choice(list("ab"), n)
    y, limit = 0.4 * x - 0.5 + 0.3 * (g == "b") + 0.5 * rng.normal(size=n), rng.choice([0.0, 0.2], n)
    data = pd.DataFrame({"x": x, "g": g, "low": np.maximum(y, limit), "limit": limit})
    return data.assign(least=LEAST, pos=np.maximum(np.square(y + 3.0) / 4.0, LEAST))


@pytest.fixture(scope="module")
def fits(rows):
    @cache
    def fit(kind):
        formula, options = FITS[kind]
        return tg.fit(formula, rows, **options)

    return fit


def between(res, data, limit):
    """Mean and probability above a limit, by quadrature of the survival of a new response in predict()."""
    part = res.predict(data, "prob", above=float(limit))
    beyond = res.predict(data, "observed") - limit  # the integral of that survival from the limit on
    return limit + beyond / part, part


@pytest.mark.quick_cases("regression", "noise scale", "lognormal", "process")
@pytest.mark.parametrize("kind", FITS)
def test_against_differences(fits, rows, kind):
    """By (REG12): with limits below alone, E[y | y > l] = l + (E[max(y, l)] - l) / P(y > l)."""
    res = fits(kind)
    name, limit = ("least", LEAST) if "pos" in FITS[kind][0] else ("limit", 0.2)
    new = rows.iloc[::9].assign(**{name: limit})
    h = 1e-4
    up, down = (between(res, new.assign(x=new["x"] + s), limit) for s in (h, -h))
    mean, share = ((a - b).mean() / (2.0 * h) for a, b in zip(up, down, strict=True))
    truncated, chance = (
        res.marginal_effects(what, new).loc[("x", "dy/dx")] for what in ("truncated", "prob_uncensored")
    )
    assert np.isclose(truncated["dydx"], mean, rtol=2e-4)
    assert np.isclose(chance["dydx"], share, rtol=2e-4)
    assert truncated["se"] > 0.0
    assert chance["se"] > 0.0


@pytest.mark.quick_cases("regression", "noise scale", "lognormal", "process")
@pytest.mark.parametrize("kind", FITS)
def test_the_decomposition(fits, rows, kind):
    """In one row dE[y] = P dE[y | y > l] + (E[y | y > l] - l) dP."""
    res = fits(kind)
    row, limit = rows.iloc[[4]], float(rows["least" if "pos" in FITS[kind][0] else "limit"].iloc[4])
    names = ("observed", "truncated", "prob_uncensored")
    whole, mean, chance = (res.marginal_effects(what, row).loc[("x", "dy/dx")] for what in names)
    m, p = (float(value.iloc[0]) for value in between(res, row, limit))
    assert np.isclose(whole["dydx"], p * mean["dydx"] + (m - limit) * chance["dydx"], rtol=1e-4)
    if "averaged" not in kind and not kind.endswith("process") and kind != "student":
        assert np.isclose(whole["intensive"], p * mean["dydx"], rtol=1e-4)


@pytest.mark.parametrize(("family", "noise"), [("gaussian", norm), ("logistic", logistic)])
def test_against_quadrature(rows, family, noise):
    res = tg.fit("low ~ x | censor(limit)", rows, family=family)
    row = rows.iloc[[7]]
    limit, sigma = float(row["limit"].iloc[0]), res.params["sigma"]

    def mean_and_share(x):
        y = noise(res.params["Intercept"] + res.params["x"] * x, sigma)
        share = quad(y.pdf, limit, limit + 60.0 * sigma, epsabs=1e-12)[0]
        return np.array([quad(lambda t: t * y.pdf(t), limit, limit + 60.0 * sigma, epsabs=1e-12)[0] / share, share])

    x, h = float(row["x"].iloc[0]), 1e-3
    expected = (mean_and_share(x + h) - mean_and_share(x - h)) / (2.0 * h)
    ours = [res.marginal_effects(what, row)["dydx"].iloc[0] for what in ("truncated", "prob_uncensored")]
    assert np.allclose(ours, expected, rtol=1e-5)


def test_standard_errors_against_draws(rows):
    """By estimates drawn from their normal distribution."""
    res = tg.fit("low ~ x | censor(limit)", rows)
    row = rows.iloc[[7]]
    limit, x = float(row["limit"].iloc[0]), float(row["x"].iloc[0])
    cov = res.cov_params().to_numpy()
    a, b, sigma = np.random.default_rng(1).multivariate_normal(res.params.to_numpy(), cov, 200_000).T
    z = (a + b * x - limit) / sigma
    ratio = norm.pdf(z) / norm.cdf(z)
    effects = {"truncated": b * (1.0 - z * ratio - ratio**2), "prob_uncensored": b / sigma * norm.pdf(z)}
    for what, drawn in effects.items():
        assert np.isclose(res.marginal_effects(what, row)["se"].iloc[0], drawn.std(), rtol=0.05)


def test_a_response_without_limits(rows):
    """Everything is between them: the mean is the latent one, and the probability is one."""
    res = tg.fit("low ~ x", rows)
    assert np.isclose(res.marginal_effects("truncated")["dydx"].iloc[0], res.params["x"])
    assert res.marginal_effects("prob_uncensored")["dydx"].iloc[0] == 0.0
