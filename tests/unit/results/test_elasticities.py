"""Elasticities and effects on every prediction, beside differences of predict(), of their own estimates and draws."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

METHODS = ("dydx", "eyex", "eydx", "dyex")
ASKED = [
    ("median", {}),
    ("uncensored", {}),
    ("observed", {}),
    ("conditional", {}),
    ("quantile", {"q": 0.8}),
    ("prob", {"above": 1.0}),
    ("sigma", {}),
]


@pytest.fixture(scope="module")
def money():
    """Positive amounts with a limit, a factor and weights."""
    rng = np.random.default_rng(3)
    n = 150
    data = pd.DataFrame({"x": rng.uniform(1, 4, n), "g": rng.choice(["a", "b", "c"], n), "w": rng.integers(1, 4, n)})
    data["y"] = (1.5 + data["x"] + (data["g"] == "b") + np.exp(0.1 * data["x"]) * rng.normal(size=n)).clip(lower=2.0)
    return data


@pytest.fixture(scope="module")
def spread(money):
    """A noise scale that depends on x too."""
    return tg.fit("y ~ x + I(x**2) + g | censor(2)", money, sigma="~ x", weights="w")


@pytest.fixture(scope="module")
def times(lung):
    return tg.fit("time ~ age + C(sex) | censor(event=event)", lung, family="weibull")


def from_predict(res, data, weight, what, method, asked, name="x"):
    """The average of differences of predict(), or of its logarithm, times the column."""
    h = 1e-4 * data[name].std()
    up, down = (res.predict(data.assign(**{name: data[name] + s}), what, **asked) for s in (h, -h))
    if method.startswith("ey"):
        up, down = np.log(up), np.log(down)
    slope = (up - down) / (2 * h) * (data[name] if method.endswith("ex") else 1.0)
    return float(np.average(slope, weights=weight))


def moved(res, k, step):
    """The same fit with one parameter elsewhere."""
    maximum, theta = res.parts.maximum, res.parts.maximum.parameters.copy()
    theta[k] += step
    p = len(maximum.coefficients)
    return type(res)(
        replace(res.parts, maximum=replace(maximum, coefficients=theta[:p], gamma=theta[p : p + len(maximum.gamma)]))
    )


def of_differences(res, effects):
    """Standard errors of effects by differences of the whole functional."""
    theta, V = res.parts.maximum.parameters, np.asarray(res.parts.covariance)
    gradient = []
    for k, sd in enumerate(np.sqrt(np.diag(V))):
        up, down = (effects(moved(res, k, s * sd)).iloc[:, 0].to_numpy() for s in (1e-3, -1e-3))
        gradient.append((up - down) / (2e-3 * sd))
    assert len(gradient) == len(theta)
    G = np.array(gradient)
    return np.sqrt(np.einsum("ki,kl,li->i", G, V, G))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("what", "asked"), ASKED)
@pytest.mark.filterwarnings("ignore:Left out")
def test_of_regressions_beside_predict_and_differences_of_estimates(spread, money, what, asked, method):
    table = spread.marginal_effects(what, method=method, **asked)
    label = f"{method[:2]}/{method[2:]}"
    expected = from_predict(spread, money, money["w"], what, method, asked)
    assert np.isclose(table.loc[("x", label), method], expected, rtol=1e-5)
    se = of_differences(spread, lambda res: res.marginal_effects(what, method=method, **asked))
    np.testing.assert_allclose(table["se"], se, rtol=1e-4, atol=1e-9)
    if not method.endswith("ex") and what != "conditional":
        high, low = (spread.predict(money.assign(g=level), what, **asked) for level in "ba")
        high, low = (np.log(high), np.log(low)) if method == "eydx" else (high, low)
        assert np.isclose(table.loc[("g", "b - a"), method], np.average(high - low, weights=money["w"]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("what", "asked"), [*ASKED[:3], *ASKED[4:]])
@pytest.mark.parametrize("at", ["mean", "design"])
@pytest.mark.filterwarnings("ignore:Left out")
def test_at_means(spread, money, what, asked, at, method):
    table = spread.marginal_effects(what, at, method=method, **asked)
    se = of_differences(spread, lambda res: res.marginal_effects(what, at, method=method, **asked))
    np.testing.assert_allclose(table["se"], se, rtol=1e-4, atol=1e-9)
    mean = np.average(money["x"], weights=money["w"])
    per_unit = spread.marginal_effects(what, at, method=method[:2] + "dx", **asked)
    expected = per_unit.loc[("x", f"{method[:2]}/dx")].iloc[0] * (mean if method.endswith("ex") else 1.0)
    assert np.isclose(table.loc["x"].iloc[0, 0], expected)


def test_a_tobit_elasticity_by_its_formula(tobin):
    """Of E y = Phi f + sigma phi, whose derivative is beta Phi."""
    res = tg.fit("durable ~ age + quant | censor(0)", tobin)
    f, sigma = res.predict(what="latent"), res.params["sigma"]
    z = f / sigma
    mean = f * ndtr(z) + sigma * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    expected = (res.params["quant"] * ndtr(z) * tobin["quant"] / mean).mean()
    assert np.isclose(res.marginal_effects("observed", method="eyex").loc[("quant", "ey/ex"), "eyex"], expected)


def test_factors_have_no_elasticity(spread, times, lung):
    with pytest.warns(UserWarning, match="Left out: 'g' is a factor, .* method='eydx' has differences"):
        table = spread.marginal_effects("observed", method="eyex")
    assert table.index.tolist() == [("x", "ey/ex")]
    assert table.columns.tolist() == ["eyex", "se", "z", "p", "lower", "upper"]
    alone = tg.fit("time ~ C(sex) | censor(event=event)", lung, family="weibull")
    with pytest.raises(SpecError, match=r"method='dyex': 'sex' is a factor"):
        alone.marginal_effects("median", method="dyex")


def test_some_columns(spread):
    whole = spread.marginal_effects("observed")
    pd.testing.assert_frame_equal(spread.marginal_effects("observed", variables="x"), whole.loc[["x"]])
    pd.testing.assert_frame_equal(spread.marginal_effects("observed", variables=["g", "x"]), whole)
    assert spread.marginal_effects("observed", method="eyex", variables="x").shape == (1, 6)
    with pytest.raises(SpecError, match=r"variables=\['xx'\]; did you mean 'x'.* columns among 'x', 'g'"):
        spread.marginal_effects(variables=["xx"])


@pytest.mark.slow
def test_times(times, lung):
    """Coefficients of log time are proportional effects; probabilities at a time and restricted means."""
    table = times.marginal_effects("median", method="eydx")
    np.testing.assert_allclose(table["eydx"], times.params[["age", "C(sex)[T.2]"]], rtol=1e-6)
    np.testing.assert_allclose(table["se"], times.bse[["age", "C(sex)[T.2]"]], rtol=1e-6)
    survival = times.marginal_effects("survival", times=365)
    pd.testing.assert_frame_equal(survival, times.marginal_effects("prob", above=365))
    np.testing.assert_allclose(times.marginal_effects("risk", times=365)["dydx"], -survival["dydx"])
    rmst = times.marginal_effects("rmst", times=365)
    high, low = (times.predict_restricted_mean(lung.assign(sex=level), 365) for level in (2, 1))
    assert np.isclose(rmst.loc[("sex", "2 - 1"), "dydx"], (high - low).mean())
    np.testing.assert_allclose(
        rmst["se"], of_differences(times, lambda res: res.marginal_effects("rmst", times=365)), rtol=1e-4
    )
    for wrong in (None, [1, 2], -1.0):
        with pytest.raises(SpecError, match="times=, one positive time"):
            times.marginal_effects("rmst", times=wrong)


def test_what_was_seen_of_rows(spread, money):
    for at in ("mean", "design", money.drop(columns="y")):
        with pytest.raises(SpecError, match=r"conditional|response"):
            spread.marginal_effects("conditional", at)
    rows = spread.marginal_effects("conditional", money.head(40))
    assert np.isclose(
        rows["dydx"].iloc[0], from_predict(spread, money.head(40), np.ones(40), "conditional", "dydx", {})
    )
    assert (spread.marginal_effects("conditional", money[money["y"] > 2.0])["dydx"] == 0.0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("what", "asked"), [("median", {}), ("uncensored", {}), ("quantile", {"q": 0.8}), ("prob", {"above": 300.0})]
)
def test_of_processes_beside_predict(log_time, lung, what, asked, method):
    table = log_time.marginal_effects(what, method=method, **asked)
    for name in ("age", "ph_ecog"):
        expected = from_predict(log_time, lung, np.ones(len(lung)), what, method, asked, name)
        assert np.isclose(table.loc[name].iloc[0, 0], expected, rtol=2e-3, atol=1e-6 * abs(expected))


@pytest.mark.parametrize(
    ("what", "asked", "method"),
    [
        ("median", {}, "dydx"),
        ("quantile", {"q": 0.8}, "dydx"),
        ("uncensored", {}, "eyex"),
        ("prob", {"above": 300.0}, "eyex"),
    ],
)
def test_spread_of_processes_against_draws(log_time, lung, rng, what, asked, method):
    """Draws of f at both values of the column, the effect formed anew for each."""
    parts, new, h, name = log_time.parts, lung.iloc[::8], 0.5, "age"
    table = log_time.marginal_effects(what, new, method=method, **asked)
    gp, fitted = parts.gp, parts.fitted
    sides = [parts.training.state.replay(new.assign(**{name: new[name] + s}))[0] for s in (h, -h)]
    draws = 4000
    j, effect = rng.choice(len(fitted.weights), draws, p=fitted.weights), np.empty(draws)
    for k, point in enumerate(fitted.points):
        mine = np.flatnonzero(j == k)
        S = np.linalg.inv(point.factor.L @ point.factor.L.T)
        w = rng.multivariate_normal(point.w, 0.5 * (S + S.T), size=len(mine), method="cholesky")
        scale, value = gp.problem.units.scale, []
        sigma = scale * point.sigma
        for design in sides:
            f = gp.known_mean(design) + scale * (w @ point.features(gp.inputs(design))[0].common.T)
            number = {
                "median": np.exp(f),
                "quantile": np.exp(f + 0.8416212 * sigma),
                "uncensored": np.exp(f + 0.5 * sigma**2),
                "prob": ndtr((f - np.log(300.0)) / sigma),
            }[what]
            value.append(np.log(number) if method == "eyex" else number)
        share = new[name].to_numpy() if method == "eyex" else 1.0
        effect[mine] = ((value[0] - value[1]) / (2 * h) * share).mean(axis=1)
    mine = table.loc[name].iloc[0]
    assert abs(effect.mean() - mine[method]) < 0.25 * effect.std()
    assert np.isclose(effect.std(), mine["se"], rtol=0.15)
