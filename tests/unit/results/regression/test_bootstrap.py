"""The bootstrap beside refits of the drawn rows, sandwiches, and scipy's intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, DataError, SpecError
from tobitgp.results.likelihood.bootstrap import Refit, _drawn

FORMULA = "y ~ x + g | censor(0)"


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(8)
    firm = np.repeat(np.arange(60), 5)
    data = pd.DataFrame({"firm": firm, "x": rng.normal(size=300) + rng.normal(size=60)[firm]})
    data["g"] = rng.choice(["a", "b"], 300)
    noise = 0.8 * rng.normal(size=60)[firm] + rng.normal(size=300)
    data["y"] = (0.5 + data["x"] + (data["g"] == "b") + noise).clip(lower=0.0)
    return data.sample(frac=1.0, random_state=2)


@pytest.fixture(scope="module")
def res(panel):
    return tg.fit(FORMULA, panel)


def test_a_draw_is_the_fit_of_its_rows(res, panel):
    """Censored rows stay censored, and rows that were drawn twice count twice."""
    weight = _drawn(np.ones(300), None, np.random.default_rng(1))
    again = tg.fit(FORMULA, panel.loc[panel.index.repeat(weight.astype(int))].reset_index(drop=True))
    np.testing.assert_allclose(Refit(res, None)(weight), again.params, rtol=1e-7)
    effect = Refit(res, lambda one: one.marginal_effects("observed")["dydx"])(weight)
    np.testing.assert_allclose(effect, again.marginal_effects("observed")["dydx"], rtol=1e-5)


def test_clusters_are_drawn_whole(panel):
    code = panel["firm"].to_numpy()
    weight = _drawn(np.full(300, 2.0), code, np.random.default_rng(1))
    assert (pd.Series(weight).groupby(code).nunique() == 1).all()
    assert weight.sum() == 600.0


def test_weights_count_as_rows(panel):
    table = panel.groupby(["g"], as_index=False)["y"].max().assign(w=[4.0, 6.0])
    drawn = [_drawn(table["w"].to_numpy(), None, rng) for rng in np.random.default_rng(3).spawn(2000)]
    assert all(each.sum() == 10.0 for each in drawn)
    assert np.isclose(np.var([each[0] for each in drawn]), 10 * 0.4 * 0.6, rtol=0.1)


@pytest.mark.slow
def test_errors_are_those_of_sandwiches(res, panel):
    """Rows of HC0, clusters of the clustered covariance, which is another."""
    rows, firms = res.bootstrap(600, rng=1), res.bootstrap(600, panel["firm"], rng=1)
    robust = tg.fit(FORMULA, panel, cov_type="HC0")
    clustered = tg.fit(FORMULA, panel, cov_type="cluster", cov_kwds={"groups": "firm"})
    np.testing.assert_allclose(rows.bse, robust.bse, rtol=0.12)
    np.testing.assert_allclose(firms.bse, clustered.bse, rtol=0.15)
    assert firms.bse["x"] > 1.2 * rows.bse["x"]
    assert rows.failed == 0
    np.testing.assert_allclose(np.sqrt(np.diag(rows.cov_params())), rows.bse)
    pd.testing.assert_frame_equal(rows.draws, res.bootstrap(600, rng=1).draws)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_intervals_of_scipy(method):
    """Of the mean of an uncensored response."""
    y = np.random.default_rng(2).exponential(size=40)
    res = tg.fit("y ~ 1", {"y": y}, method="mle")
    mine = res.bootstrap(3000, rng=1).conf_int(0.1, method)
    theirs = stats.bootstrap((y,), np.mean, n_resamples=9999, confidence_level=0.9, method=method, rng=1)
    np.testing.assert_allclose(mine.loc["Intercept"], theirs.confidence_interval, atol=0.035)


@pytest.mark.slow
def test_statistics_and_tables(res):
    found = res.bootstrap(50, statistic=lambda one: one.predict({"x": [0.0], "g": ["a"]}, "observed").iloc[0], rng=4)
    assert found.draws.shape == (50, 1)
    table = found.summary_frame()
    assert table.columns.tolist() == ["estimate", "bias", "se", "lower", "upper", "draws"]
    assert table["lower"].iloc[0] < table["estimate"].iloc[0] < table["upper"].iloc[0]
    assert repr(found).startswith("bootstrap: 50 draws\n")


@pytest.mark.slow
def test_draws_without_a_maximum_are_counted(rng):
    """Two of ten rows of a level are not censored, and one draw in eight has neither."""
    data = pd.DataFrame({"x": rng.normal(size=40), "g": ["a"] * 30 + ["b"] * 10, "y": rng.uniform(0.5, 2.0, 40)})
    data.loc[32:, "y"] = 0.0
    data.loc[:5, "y"] = 0.0
    res = tg.fit("y ~ g + x | censor(0)", data)
    with pytest.warns(ConvergenceWarning, match="draws have no maximum and are left out"):
        found = res.bootstrap(300, rng=1)
    assert 30 < found.failed < 60
    assert len(found.draws) == 300 - found.failed
    assert f"{found.failed} without a maximum" in repr(found)


@pytest.mark.slow
def test_levels_that_are_not_drawn(tobin):
    """Nothing is known of their coefficients, nor of any of the factor without its base level."""
    data = tobin.assign(g=["a", "b", "c", "d"] + ["a", "b"] * 8)
    res = tg.fit("durable ~ C(g) + age", data, method="mle")
    refit = Refit(res, None)
    weight = np.ones(20)
    weight[3] = 0.0
    less = refit(weight)
    again = tg.fit("durable ~ C(g) + age", data.drop(index=3), method="mle")
    names = list(res.params.index)
    assert np.isnan(less[names.index("C(g)[T.d]")])
    np.testing.assert_allclose(less[np.isfinite(less)], again.params, rtol=1e-6)
    no_base = refit((data["g"] != "a").to_numpy(dtype=float))
    assert [name for name, value in zip(names, no_base, strict=True) if np.isfinite(value)] == ["age", "sigma"]
    assert np.isclose(no_base[-2], tg.fit("durable ~ C(g) + age", data[data.g != "a"], method="mle").params["age"])
    table = res.bootstrap(60, rng=2).summary_frame()
    assert table.loc["C(g)[T.d]", "draws"] < table.loc["age", "draws"]


@pytest.mark.slow
def test_many_levels(rng):
    """Of an absorbed factor; a cluster that was drawn twice has one level."""
    code = np.repeat(np.arange(400), 4)
    data = pd.DataFrame({"id": code, "x": rng.normal(size=1600)})
    data["y"] = (data["x"] + rng.normal(size=400)[code] + rng.normal(size=1600)).clip(lower=-4.0)
    res = tg.fit("y ~ x + C(id) | censor(-4)", data)
    found = res.bootstrap(30, data["id"], rng=1)
    assert found.failed == 0
    clustered = tg.fit("y ~ x + C(id) | censor(-4)", data, cov_type="cluster", cov_kwds={"groups": "id"})
    assert found.draws["x"].count() == 30
    assert 0.6 < found.bse["x"] / clustered.bse["x"] < 1.5


def test_a_fit_without_a_maximum_is_refused_at_once(panel):
    data = panel.assign(y=panel["y"].where(panel["firm"] != 3, 0.0))
    with pytest.warns(ConvergenceWarning, match="levels together with their rows, on which no other"):
        res = tg.fit("y ~ x + C(firm) | censor(0)", data)
    with pytest.raises(SpecError, match="requires a fit that has converged"):
        res.bootstrap(9)
    some = data[data.groupby("firm")["y"].transform("max") > 0.0]
    rest = tg.fit("y ~ x + C(firm) | censor(0)", some)
    assert rest.llf == pytest.approx(res.llf, abs=1e-6)
    assert rest.params["x"] == pytest.approx(res.params["x"], rel=1e-5)


def test_what_it_is_not_of(res, maximised, panel, tobin):
    with pytest.raises(SpecError, match=r"Use sample\(\)"):
        maximised.bootstrap()
    with pytest.raises(SpecError, match=r"Give groups=data\['firm'\]"):
        res.bootstrap(9, "firm")
    with pytest.raises(DataError, match="20 values for 300 rows"):
        res.bootstrap(9, np.arange(20))
    for wrong in (1, True, 9.0):
        with pytest.raises(SpecError, match="a whole number of at least 2"):
            res.bootstrap(wrong)
    for wrong, words in ((5, "a function of the results"), (lambda one: one.conf_int(), "returns a DataFrame")):
        with pytest.raises(SpecError, match=words):
            res.bootstrap(9, statistic=wrong)
    with pytest.raises(SpecError, match="'percentile', 'basic', 'bca'"):
        res.bootstrap(9).conf_int(method="studentized")
