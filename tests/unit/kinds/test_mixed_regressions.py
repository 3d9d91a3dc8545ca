"""Mixtures of regressions against likelihoods and EM steps written here, and by what must hold of any mixture."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import gumbel_l, norm

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, DataError, FormulaError, SpecError

TRUTH = ((-1.0, -1.0), (1.0, 2.0)), (0.7, 0.4), (0.0, 0.4)  # intercepts and slopes, scales, log odds


def sample(n, seed, truth=TRUTH, tilt=0.0):
    rng = np.random.default_rng(seed)
    lines, scales, odds = (np.array(each) for each in truth)
    x, w = rng.uniform(-2.0, 2.0, n), rng.normal(size=n)
    share = np.exp(log_softmax(odds[:, None] + tilt * np.arange(len(odds))[:, None] * w, axis=0))
    k = (rng.random(n) > np.cumsum(share, axis=0)).sum(axis=0)
    y = lines[k, 0] + lines[k, 1] * x + scales[k] * rng.normal(size=n)
    return pd.DataFrame({"x": x, "w": w, "value": y, "y": np.clip(y, -1.5, 3.0), "component": k + 1})


def log_likelihood(theta, data, components=2, noise=norm, low=-1.5, high=3.0, tilted=False):
    """Clipped at both limits; theta has intercepts and slopes, log scales, log odds, and their slopes in w."""
    lines, rest = theta[: 2 * components].reshape(-1, 2), theta[2 * components :]
    scale, odds = np.exp(rest[:components]), np.append(0.0, rest[components : 2 * components - 1])
    eta = odds[:, None] + np.zeros(len(data))
    if tilted:
        eta[1:] += rest[2 * components - 1 :, None] * data["w"].to_numpy()
    y, x = data["y"].to_numpy(), data["x"].to_numpy()
    each = []
    for (a, b), s in zip(lines, scale, strict=True):
        z = (y - a - b * x) / s
        below, above = noise.logcdf(z), noise.logsf(z)
        each.append(np.where(y <= low, below, np.where(y >= high, above, noise.logpdf(z) - np.log(s))))
    return logsumexp(log_softmax(eta, axis=0) + np.stack(each), axis=0).sum()


def maximum(data, start, **options):
    found = minimize(lambda t: -log_likelihood(t, data, **options), start, method="BFGS", options={"gtol": 1e-7})
    return -found.fun, found.x


def at_truth(truth=TRUTH, *more):
    lines, scales, odds = (np.array(each) for each in truth)
    return np.concatenate([lines.ravel(), np.log(scales), odds[1:] - odds[0], more])


FORMULA = "y ~ mixture(2, x) | censor(-1.5, 3)"


def test_the_fit_is_the_maximum_of_a_likelihood_written_here():
    data = sample(300, 1)
    res = tg.fit(FORMULA, data)
    best, theta = maximum(data, at_truth())
    assert res.llf == pytest.approx(best, abs=1e-6)
    reported = np.concatenate([theta[:4], np.exp(theta[4:])])
    np.testing.assert_allclose(res.params, reported, atol=2e-4)
    assert list(res.params.index[2:]) == ["location_2[Intercept]", "location_2[x]", "sigma_1", "sigma_2", "odds_2"]


def test_weights_that_depend_on_a_column():
    data = sample(300, 2, tilt=1.0)
    res = tg.fit(FORMULA, data, formulas={"odds": "~ w"})
    best, theta = maximum(data, at_truth(TRUTH, 1.0), tilted=True)
    assert res.llf == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(res.params[["log(odds_2)[Intercept]", "log(odds_2)[w]"]], theta[6:], atol=2e-4)


def test_three_components():
    truth = ((-1.0, 0.5), (0.0, -1.5), (1.5, 1.0)), (0.2, 0.2, 0.2), (0.0, 0.0, 0.0)
    data = sample(250, 3, truth)
    res = tg.fit("y ~ mixture(3, x) | censor(-1.5, 3)", data)
    assert res.converged
    assert res.llf == pytest.approx(maximum(data, at_truth(truth), components=3)[0], abs=1e-5)


@pytest.mark.parametrize("seed", [24, 56])
def test_a_component_without_spread_is_never_the_fit(seed):
    """A line through few rows has a higher likelihood than the maximum when its scale goes to 0."""
    data = sample(40, seed)
    res = tg.fit(FORMULA, data)
    assert res.converged
    assert res.params[["sigma_1", "sigma_2"]].min() > 0.02 * res.params[["sigma_1", "sigma_2"]].max()
    assert res.llf > maximum(data, at_truth())[0] - 1e-3


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_unit_of_the_response_and_origin_of_a_column_do_not_matter(unit):
    data = sample(120, 12)
    usual = tg.fit("value ~ mixture(2, x)", data)
    res = tg.fit("value ~ mixture(2, x)", data.assign(value=unit * data["value"], x=data["x"] + 1e4))
    assert res.converged
    assert res.llf + len(data) * np.log(unit) == pytest.approx(usual.llf, abs=1e-6)
    at = ["x", "location_2[x]", "sigma_1", "sigma_2"]
    np.testing.assert_allclose(res.params[at], unit * usual.params[at], rtol=1e-4)
    np.testing.assert_allclose(res.bse[at], unit * usual.bse[at], rtol=1e-4)
    np.testing.assert_allclose(res.bse["odds_2"], usual.bse["odds_2"], rtol=1e-4)


def test_rows_that_do_not_determine_two_components():
    few = pd.DataFrame({"x": [1.0, 2.0, 4.0, 5.0, 7.0, 8.0], "y": [1.0, 1.5, 0.2, 2.0, 1.1, 0.8]})
    with pytest.warns(ConvergenceWarning, match="All components are the same"):
        assert not tg.fit("y ~ mixture(2, x)", few).converged
    with pytest.raises(DataError, match="One regression reaches every row"):
        tg.fit("y ~ mixture(2, x)", few.assign(y=3.0 + 2.0 * few["x"]))


def test_rows_without_a_start_say_so_whatever_their_order():
    """Weights of which a few are most of the sum: rounding led from equal components to one end or another."""
    data, weight = sample(49, 13), np.exp(np.random.default_rng(17).normal(4.0, 2.0, 49)).round() + 1.0
    data, found = data.assign(weight=weight), []
    for rows in (data, data[::-1], data.sample(frac=1.0, random_state=2)):
        with pytest.warns(ConvergenceWarning, match="All components are the same"):
            res = tg.fit("value ~ mixture(2, bs(x, df=4))", rows, family="logistic", weights="weight")
        found.append(res.llf)
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def test_times_of_another_family():
    data = sample(250, 4).assign(t=lambda d: np.exp(d["y"]), low=np.exp(-1.5), high=np.exp(3.0))
    res = tg.fit("t ~ mixture(2, x) | censor(low, high)", data, family="weibull")
    best, _ = maximum(data, at_truth(), noise=gumbel_l)
    inside = data["y"][(data["y"] > -1.5) & (data["y"] < 3.0)]
    assert res.llf == pytest.approx(best - inside.sum(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_it_is_at_least_as_high_as_the_maximum_from_the_truth(seed):
    rng = np.random.default_rng(seed)
    components = 2 + seed % 2
    truth = rng.normal(0.0, 1.0, (components, 2)), rng.uniform(0.15, 0.8, components), rng.normal(0.0, 0.5, components)
    data = sample(150 + 50 * components, 100 + seed, truth)
    res = tg.fit(f"y ~ mixture({components}, x) | censor(-1.5, 3)", data)
    assert res.llf > maximum(data, at_truth(truth), components=components)[0] - 1e-3


def test_memberships_are_weights_times_likelihoods():
    data = sample(200, 5)
    res = tg.fit(FORMULA, data)
    table = res.components
    each = []
    for row in table.itertuples():
        z = (data["y"] - row.Intercept - row.x * data["x"]) / row.sigma
        ends = np.where(data["y"] <= -1.5, norm.logcdf(z), norm.logsf(z))
        exact = (data["y"] > -1.5) & (data["y"] < 3.0)
        each.append(np.log(row.weight) + np.where(exact, norm.logpdf(z) - np.log(row.sigma), ends))
    expected = np.exp(np.stack(each) - logsumexp(np.stack(each), axis=0)).T
    np.testing.assert_allclose(res.predict(what="component"), expected, atol=1e-12)
    np.testing.assert_allclose(res.predict(data.head(9), what="component"), expected[:9], atol=1e-12)
    unseen = data.head(2).assign(y=np.nan)
    np.testing.assert_allclose(res.predict(unseen, what="component"), [table["weight"]] * 2, atol=1e-12)
    most = res.predict(what="component").idxmax(axis=1)
    assert (most == data["component"]).mean() > 0.85
    with pytest.raises(SpecError, match="interval="):
        res.predict(what="component", interval=0.95)


def test_components_are_ordered_by_their_average_and_odds_are_those_of_weights():
    data = sample(300, 6)
    table = tg.fit(FORMULA, data).components
    average = table["Intercept"] + table["x"] * data["x"].mean()
    assert average.is_monotonic_increasing
    assert table["weight"].sum() == pytest.approx(1.0)
    turned = tg.fit("z ~ mixture(2, x) | censor(-3, 1.5)", data.assign(z=-data["y"])).components
    np.testing.assert_allclose(turned[["Intercept", "x"]], -table[["Intercept", "x"]].to_numpy()[::-1], atol=1e-5)
    np.testing.assert_allclose(turned["weight"], table["weight"][::-1], atol=1e-6)


def test_with_weights_on_columns_the_table_averages_them():
    data = sample(300, 7, tilt=1.0)
    res = tg.fit(FORMULA, data, formulas={"odds": "~ w"})
    share = np.exp(res.params["log(odds_2)[Intercept]"] + res.params["log(odds_2)[w]"] * data["w"])
    assert res.components.loc[2, "weight"] == pytest.approx((share / (1.0 + share)).mean())


def test_a_scale_formula_is_that_of_each_component():
    res = tg.fit(FORMULA, sample(200, 8), sigma="~ x")
    assert [name for name in res.params.index if "sigma" in name] == [
        f"log(sigma_{k})[{column}]" for k in (1, 2) for column in ("Intercept", "x")
    ]
    assert list(res.components.columns[-2:]) == ["log(sigma)[Intercept]", "log(sigma)[x]"]


def test_components_alike_add_nothing():
    """Held at the maximum of one regression, a second component with the same parameters has the same likelihood."""
    data = sample(120, 9, (((0.0, 1.0),), (0.5,), (0.0,)))
    one = tg.fit("y ~ x | censor(-1.5, 3)", data)
    intercept, slope, sigma = one.params
    same = {"location_2[Intercept]": intercept, "location_2[x]": slope, "sigma_1": sigma, "sigma_2": sigma}
    held = tg.fit(FORMULA, data, fixed={"Intercept": intercept, "x": slope, **same, "odds_2": 1.0})
    assert held.llf == pytest.approx(one.llf, abs=1e-9)


def test_terms_are_tested_and_left_out_in_all_components():
    data = sample(250, 13).assign(g=lambda d: np.where(d["w"] > 0.0, "b", "a"))
    res = tg.fit("y ~ mixture(2, x + g) | censor(-1.5, 3)", data, formulas={"odds": "~ w"})
    table = res.anova()
    assert list(table.index) == ["x", "g", "log(odds_2)[w]"]
    for term, column in (("x", "x"), ("g", "g[T.b]")):
        both = res.wald_test(f"{column} = 0, location_2[{column}] = 0")
        assert table.loc[term, "chi2"] == pytest.approx(both.statistic, rel=1e-8)
        assert table.loc[term, "df"] == 2
    assert table.loc["log(odds_2)[w]", "chi2"] == pytest.approx(res.tvalues["log(odds_2)[w]"] ** 2, rel=1e-8)
    new = pd.DataFrame({"x": [-1.0, 0.5], "g": ["b", "b"], "w": [0.3, -0.4]})
    without = res.predict(new, what="uncensored", exclude="g")
    np.testing.assert_allclose(without, res.predict(new.assign(g="a"), what="uncensored"), rtol=1e-12)
    drawn = res.sample(new, draws=5, exclude="g", rng=1)
    np.testing.assert_allclose(drawn, res.sample(new.assign(g="a"), draws=5, rng=1), rtol=1e-9)


def test_null_model_has_no_slopes_in_any_component():
    data = sample(200, 10)
    res = tg.fit(FORMULA, data)
    flat = tg.fit(FORMULA, data, fixed={"x": 0.0, "location_2[x]": 0.0})
    assert res.llnull == pytest.approx(flat.llf, abs=1e-6)


def test_numbers_of_components_have_no_likelihood_ratio_test():
    data = sample(120, 14)
    one, two = tg.fit("y ~ x | censor(-1.5, 3)", data), tg.fit(FORMULA, data)
    for first, second in ((one, two), (two, one)):
        with pytest.raises(SpecError, match="numbers of components differ"):
            first.lr_test(second)


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ x + mixture(2)", {}, r"mixture\(2, x\)"),
        ("y ~ mixture(range(1, 3), x)", {}, "one number of components"),
        ("y ~ mixture(1, x)", {}, "is a regression"),
        ("y ~ mixture(2, gp(x))", {}, r"gp\(x\): not supported"),
        ("y ~ mixture(2, x)", {"family": "student"}, r"family=tg.Student\(df=4\)"),
        ("y ~ mixture(2, x)", {"family": "boxcox"}, r"not supported with mixture\(2, x\)"),
        ("y ~ mixture(2, x)", {"family": "poisson"}, r"'poisson': not supported with mixture\(2, x\)"),
        ("y ~ mixture(2, x)", {"family": "ph"}, r"'ph': not supported with mixture\(2, x\)"),
        ("y ~ mixture(2, x)", {"cure": "~ 1"}, r"cure= is not supported with mixture\(2, x\)"),
        ("y ~ mixture(2, x)", {"method": "em"}, "fitted by maximum likelihood"),
        ("y ~ mixture(2, x)", {"formulas": {"scale": "~ x"}}, "It has 'location_2', 'sigma_1', 'sigma_2', 'odds_2'"),
    ],
)
def test_what_is_not_supported(formula, options, words):
    with pytest.raises((FormulaError, SpecError), match=words):
        tg.fit(formula, sample(60, 11), **options)


def test_the_figure_has_the_lines_of_the_components():
    data = sample(150, 12)
    res = tg.fit(FORMULA, data)
    drawn = {line.get_label(): line for line in res.plot_components().get_lines()}
    for row in res.components.itertuples():
        x, y = drawn[f"component {row.Index}"].get_data()
        np.testing.assert_allclose(y, row.Intercept + row.x * x, atol=1e-12)
    with pytest.raises(SpecError, match="The model has 'x'"):
        res.plot_components("z")
    with pytest.raises(SpecError, match="holds no training rows"):
        res._without_rows().plot_components()
