"""Marginal effects against finite differences of predict() and draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import tobitgp as tg
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

SCALES = [("latent", {}), ("observed", {}), ("prob", {"below": 0.4}), ("prob", {"above": 0.4})]


def differences(res, data, what, asked, name, rows=None):
    """Average finite difference of predict() along a column."""
    h = 1e-4 * data[name].std()
    up, down = (res.predict(data.assign(**{name: data[name] + s}), what, **asked) for s in (h, -h))
    return float(((up - down) / (2 * h)).mean())


@pytest.mark.parametrize(("what", "asked"), SCALES)
def test_against_differences_of_predict(averaged, mixed, what, asked):
    table = averaged.marginal_effects(what, **asked)
    assert table.index.tolist() == [("z", "dy/dx"), ("g", "b - a"), ("x", "dy/dx")]
    for name in ("z", "x"):
        expected = differences(averaged, mixed, what, asked, name)
        assert np.isclose(table.loc[(name, "dy/dx"), "dydx"], expected, rtol=1e-3, atol=1e-4)
    b, a = (averaged.predict(mixed.assign(g=level), what, **asked) for level in "ba")
    assert np.isclose(table.loc[("g", "b - a"), "dydx"], (b - a).mean())


def test_linear_terms_are_their_coefficients(averaged):
    table = averaged.marginal_effects(alpha=0.1)
    summary = averaged.summary_frame(0.1)
    for label, name in ((("z", "dy/dx"), "z"), (("g", "b - a"), "g[T.b]")):
        assert np.allclose(table.loc[label], summary.loc[name], rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [4_000, pytest.param(100_000, marks=pytest.mark.study)])
@pytest.mark.parametrize(("what", "asked"), SCALES[:3])
def test_spread_against_draws(averaged, mixed, rng, what, asked, draws):
    """Draws of the weights, the effect formed anew for each."""
    parts = averaged.parts
    gp, fitted, state = parts.gp, parts.fitted, parts.training.state
    new = mixed.iloc[::6]
    table = averaged.marginal_effects(what, new, **asked)
    h = 1e-3
    for name in ("z", "x"):
        sides = [state.replay(new.assign(**{name: new[name] + s}))[0] for s in (h, -h)]
        j = rng.choice(len(fitted.weights), draws, p=fitted.weights)
        effect = np.empty(draws)
        for k, point in enumerate(fitted.points):
            mine = np.flatnonzero(j == k)
            S = np.linalg.inv(point.factor.L @ point.factor.L.T)
            w = rng.multivariate_normal(point.w, 0.5 * (S + S.T), size=len(mine), method="cholesky")
            sigma = gp.problem.units.scale * point.sigma
            g = []
            for design in sides:
                A = point.features(gp.inputs(design))[0].common
                f = gp.known_mean(design) + gp.problem.units.scale * (w @ A.T)
                if what == "observed":
                    f = LocationScale(NormalNoise(), f, sigma).clipped_mean(
                        new["low"].to_numpy(), np.full(len(new), 1.4)
                    )
                elif what == "prob":
                    f = ndtr((asked["below"] - f) / sigma)
                g.append(f.mean(axis=1))
            effect[mine] = (g[0] - g[1]) / (2 * h)
        mine = table.loc[(name, "dy/dx")]
        assert abs(effect.mean() - mine["dydx"]) < 5 * effect.std() / np.sqrt(draws) + 1e-3 * abs(effect).max()
        assert np.isclose(effect.std(), mine["se"], rtol=0.06 if what == "latent" else 0.25)


@pytest.mark.slow
def test_decomposition(averaged, mixed):
    table = averaged.marginal_effects("observed")
    assert np.allclose(table["intensive"] + table["extensive"], table["dydx"])
    free = tg.fit("y ~ z + gp(x)", mixed, method=tg.EP(hyper="maximize")).marginal_effects("observed")
    assert np.allclose(free["extensive"], 0.0, atol=1e-6)


def test_mcdonald_and_moffitts_fraction():
    """Their equation 7 for a linear Tobit, with rows enough for f to be known."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=20_000)})
    data["y"] = (0.3 + data["x"] + rng.normal(size=20_000)).clip(lower=0.0)
    res = tg.fit("y ~ x | censor(0)", data, fixed={"sigma": 1.0}, method="ep")
    row = pd.DataFrame({"x": [-0.4]})
    effect = res.marginal_effects("observed", row).iloc[0]
    z = float(res.predict(row, "latent").iloc[0])
    ratio = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) / ndtr(z)
    assert np.isclose(effect["dydx"], res.params["x"] * ndtr(z), rtol=2e-3)
    assert np.isclose(effect["intensive"] / effect["dydx"], 1 - z * ratio - ratio**2, rtol=2e-3)


@pytest.mark.slow
def test_at_the_mean(averaged, mixed):
    row = pd.DataFrame({"x": [mixed["x"].mean()], "z": [mixed["z"].mean()], "g": mixed["g"].mode()})
    pd.testing.assert_frame_equal(averaged.marginal_effects(at="mean"), averaged.marginal_effects(at=row))
    observed = averaged.marginal_effects("observed", "mean")
    assert np.isfinite(observed).all(axis=None)


@pytest.mark.slow
def test_log_time_and_other_columns(lung, ammonium):
    data = lung.assign(m=lung["sex"] == 1)
    res = tg.fit("time ~ bs(age, df=4) + C(sex) + m:age | censor(event=event)", data, family="lognormal", method="ep")
    table = res.marginal_effects()
    assert table.index.tolist() == [("age", "dy/dx"), ("sex", "2 - 1"), ("m", "True - False")]
    expected = (res.predict(data.assign(m=True), "latent") - res.predict(data.assign(m=False), "latent")).mean()
    assert np.isclose(table.loc[("m", "True - False"), "dydx"], expected)
    with pytest.raises(SpecError, match="limits"):
        res.marginal_effects("observed")
    assert (res.marginal_effects("prob", below=300.0)["se"] > 0).all()
    effects = ammonium.marginal_effects("observed")
    expected = differences(ammonium, tg.datasets.load("nh4"), "observed", {}, "time")
    assert np.isclose(effects["dydx"].iloc[0], expected, rtol=1e-2)


def test_weights_count(mixed):
    weight = np.where(mixed["x"] < 2.0, 3.0, 1.0)
    # a row that stands for three alike leaves no room for noise, so the noise is given
    res = tg.fit(
        "y ~ gp(x) | censor(low, 1.4)", mixed, weights=weight, method=tg.EP(hyper="maximize"), fixed={"sigma": 0.3}
    )
    h = 1e-4
    slope = (
        res.predict(mixed.assign(x=mixed["x"] + h), "latent") - res.predict(mixed.assign(x=mixed["x"] - h), "latent")
    ) / (2 * h)
    assert np.isclose(res.get_margeff()["dydx"].iloc[0], np.average(slope, weights=weight), rtol=1e-3)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (
            {"what": "terms"},
            "'latent', 'median', 'uncensored', 'observed', 'truncated', 'prob_uncensored', 'conditional', 'quantile'",
        ),
        ({"what": "quantile"}, "q="),
        ({"what": "quantile", "q": [0.1, 0.9]}, "must be single numbers"),
        ({"what": "survival", "times": 1.0}, "not supported by marginal effects"),
        ({"times": 1.0}, "times= requires what="),
        ({"what": "conditional"}, "require maximum likelihood"),
        ({"method": "elasticity"}, "'dydx', 'eyex', 'eydx', 'dyex'"),
        ({"method": "eyex", "variables": "x"}, "is not positive in .* rows. Use method='dyex'"),
        ({"at": "median"}, "at="),
        ({"at": 3}, "at="),
        ({"what": "prob"}, "below="),
        ({"what": "prob", "below": [0.1, 0.2]}, "must be single numbers"),
        ({"below": 0.1}, "what='prob'"),
        ({"alpha": 2}, "alpha="),
    ],
)
def test_bad_arguments(averaged, asked, match):
    with pytest.raises(SpecError, match=match):
        averaged.marginal_effects(**asked)


def test_without_training_rows(maximised):
    parts = maximised.parts
    with pytest.raises(SpecError, match="no training rows"):
        tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted).marginal_effects()


GROUPED = "y ~ gp(x, by=k) + z:gp(x) + gp(t, kernel='periodic', period=1) + re(ward) | censor(low, 1.4)"


@pytest.fixture(scope="module", params=[{1: 1, 2: 5}, {1: "early", 2: "late"}], ids=["numbers", "text"])
def wards(request, mixed):
    """Two groups and six wards, named by numbers or by text, and a time within the year."""
    rng = np.random.default_rng(6)
    n = len(mixed)
    ward = rng.integers(101, 107, n)
    text = isinstance(request.param[1], str)
    data = mixed.assign(k=pd.Series(rng.integers(1, 3, n), index=mixed.index).map(request.param))
    return data.assign(t=rng.uniform(0, 2, n), ward=[f"w{w}" for w in ward] if text else ward)


@pytest.fixture(scope="module")
def grouped(wards):
    return tg.fit(GROUPED, wards, method=tg.EP(hyper="maximize"))


@pytest.mark.parametrize(("what", "asked"), SCALES[:3])
def test_groups_and_products_against_differences_of_predict(grouped, wards, what, asked):
    """The column of by= is a factor, re() has no effect, z and x count in all their terms."""
    levels = sorted(wards["k"].unique())
    contrast = ("k", f"{levels[1]} - {levels[0]}")
    for at in ("overall", wards.head(20)):
        rows = wards if isinstance(at, str) else at
        table = grouped.marginal_effects(what, at, **asked)
        assert sorted(table.index) == [contrast, ("t", "dy/dx"), ("x", "dy/dx"), ("z", "dy/dx")]
        for name in ("z", "x", "t"):
            h = 1e-5 * wards[name].std()
            up, down = (grouped.predict(rows.assign(**{name: rows[name] + s}), what, **asked) for s in (h, -h))
            expected = float(((up - down) / (2 * h)).mean())
            assert np.isclose(table.loc[(name, "dy/dx"), "dydx"], expected, rtol=2e-3, atol=2e-4), name
        late, early = (grouped.predict(rows.assign(k=level), what, **asked) for level in levels[::-1])
        assert np.isclose(table.loc[contrast, "dydx"], (late - early).mean())


def test_at_the_mean_groups_are_those_of_most_rows(grouped, wards, tmp_path):
    row = pd.DataFrame({name: [wards[name].mean()] for name in ("x", "z", "t")})
    row = row.assign(**{name: wards[name].mode()[0] for name in ("k", "ward")})
    table = grouped.marginal_effects(at="mean")
    pd.testing.assert_frame_equal(table, grouped.marginal_effects(at=row))
    grouped.save(tmp_path / "fit.tgp")
    pd.testing.assert_frame_equal(tg.load(tmp_path / "fit.tgp").marginal_effects(at="mean"), table)


@pytest.mark.parametrize(("what", "asked"), SCALES[:3])
def test_a_group_that_is_an_input_too_keeps_its_intercept(wards, what, asked):
    """The same model with the groups in a column of their own says what it should be."""
    data = wards.assign(ward=wards["ward"].astype("category").cat.codes).assign(twin=lambda table: table["ward"])
    both = tg.fit("y ~ gp(ward) + re(ward) | censor(low, 1.4)", data, method=tg.EP(hyper="maximize"))
    apart = tg.fit("y ~ gp(ward) + re(twin) | censor(low, 1.4)", data, method=tg.EP(hyper="maximize"))
    table = both.marginal_effects(what, **asked)
    assert table.index.tolist() == [("ward", "dy/dx")]
    pd.testing.assert_frame_equal(table, apart.marginal_effects(what, **asked), rtol=1e-6)


def test_random_intercepts_alone_have_no_effects(wards):
    res = tg.fit("y ~ re(ward) | censor(low, 1.4)", wards, method=tg.EP(hyper="maximize"))
    for at in ("overall", "mean"):
        with pytest.raises(SpecError, match=r"no column with a marginal effect: re\(ward\)"):
            res.marginal_effects(at=at)


@pytest.mark.parametrize("method", ["mle", "laplace"])
@pytest.mark.parametrize("at", ["overall", "mean"])
def test_dates_are_left_out_in_words(mixed, method, at):
    data = mixed.assign(day=pd.date_range("2021-01-01", periods=len(mixed), freq="9D"))
    method = "mle" if method == "mle" else tg.Laplace(hyper="maximize")
    res = tg.fit("y ~ z + g + decimal_year(day) | censor(low, 1.4)", data, method=method)
    with pytest.warns(UserWarning, match="Marginal effects of dates are not available .'day'.*Use a column of numbers"):
        table = res.marginal_effects(at=at)
    assert [name for name, _ in table.index] == ["z", "g"]
    years = data.assign(year=2021.0 + np.arange(len(data)) * 9.0 / 365.0)
    same = tg.fit("y ~ z + g + year | censor(low, 1.4)", years, method=method).marginal_effects(at=at)
    np.testing.assert_allclose(table["dydx"], same.loc[table.index, "dydx"], rtol=1e-4)
    alone = tg.fit("y ~ decimal_year(day) | censor(low, 1.4)", data, method=method)
    with pytest.raises(SpecError, match=r"Marginal effects of dates are not available \('day'\)"):
        alone.marginal_effects(at=at)


@pytest.mark.parametrize("origin", [0.0, 1e4, 5e4])
def test_a_column_of_sigma_does_not_move_the_middle_of_symmetric_noise(origin):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.uniform(0, 10, 80), "z": rng.normal(size=80), "h": rng.integers(1, 7, 80)})
    data["y"] = np.minimum(origin + np.sin(data.x) + 0.5 * rng.normal(size=80) * np.exp(0.3 * data.z), origin + 1.0)
    line, curve = (f"y ~ {term} | censor(upper={origin + 1.0})" for term in ("x", "gp(x)"))
    maximum = {"method": tg.EP(hyper="maximize", n_starts=1)}
    for res in (
        tg.fit(line, data, sigma="~ z"),
        tg.fit(line, data, sigma="~ z", family=tg.Student(df=4)),
        tg.fit(line, data, sigma="~ z", **maximum),
        tg.fit(curve, data, sigma="~ z + (1 | h)", **maximum),
    ):
        for asked in ({"what": "median"}, {"what": "uncensored"}, {"what": "quantile", "q": 0.5}, {"what": "latent"}):
            effect = res.marginal_effects(**asked).loc["z"].iloc[0]
            assert (effect["dydx"], effect["se"]) == (0.0, 0.0)
            assert np.isnan(effect[["z", "p"]]).all()
        for asked in ({"what": "quantile", "q": 0.9}, {"what": "observed"}, {"what": "sigma"}):
            assert abs(res.marginal_effects(**asked).loc["z", "dydx"].iloc[0]) > 1e-3
        assert res.marginal_effects("sigma").loc["x", ["dydx", "se"]].eq(0.0).all(axis=None)


def test_a_column_of_sigma_moves_the_median_of_skewed_noise(rng):
    data = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    data["y"] = data.x + np.exp(0.3 * data.z) * rng.gumbel(size=200)
    res = tg.fit("y ~ x", data, sigma="~ z", family="gumbel")
    level, gamma = res.params.filter(like="sigma")
    slope = np.log(np.log(2.0)) * gamma * float(np.exp(level + gamma * data["z"]).mean())
    np.testing.assert_allclose(res.marginal_effects("median").loc["z", "dydx"].iloc[0], slope, rtol=1e-6)


@pytest.mark.parametrize("origin", [0.0, 5e4])
def test_effects_below_rounding_are_none(rng, origin):
    data = pd.DataFrame({"x": rng.normal(size=100), "z": rng.normal(size=100)})
    data["y"] = origin + data.x + rng.normal(size=100)
    effect = tg.fit("y ~ x + z", data, fixed={"z": 1e-12}).marginal_effects("median").loc["z"].iloc[0]
    assert effect["dydx"] == 0.0
    assert np.isnan(effect["p"])
