"""Random effects as users write them, against the Gaussian process that they are and against other spellings."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.inference import compiled, feature_layout, process_choices

SD, SLOPE, COR = "sd(re(g))", "sd(re(g))[z]", "cor(re(g))[Intercept, z]"
GIVEN = {SD: 1.3, SLOPE: 0.6, COR: -0.4, "sigma": 0.5}
SIGMA = np.array([[1.69, -0.4 * 1.3 * 0.6], [-0.4 * 1.3 * 0.6, 0.36]])


@pytest.fixture(scope="module")
def df():
    rng = np.random.default_rng(3)
    g, z = rng.integers(0, 8, 60), rng.uniform(1.0, 4.0, 60)
    b = rng.multivariate_normal([0.0, 0.0], SIGMA, 8)
    y = b[g, 0] + b[g, 1] * z + 0.5 * rng.normal(size=60)
    a = np.array(["u", "v", "w"])[g % 3]
    limit = np.quantile(y, 0.3)
    return pd.DataFrame(
        {"y": y, "z": z, "g": g.astype(str), "a": a, "f": rng.choice(["p", "q"], 60), "l": limit}
    ).assign(censored=np.maximum(y, limit))


def columns(frame):
    return np.column_stack([np.ones(len(frame)), frame["z"]])


def covariance(left, right):
    same = np.equal.outer(left["g"].to_numpy(), right["g"].to_numpy())
    return columns(left) @ SIGMA @ columns(right).T * same


@pytest.fixture(scope="module")
def fit(df):
    return tg.fit("y ~ 0 + (1 + z | g)", df, fixed=GIVEN)


def test_predictions_are_those_of_the_gaussian_process_that_the_effects_are(df, fit):
    new = pd.DataFrame({"z": [1.5, 3.0, 2.0, 2.5], "g": ["0", "5", "other", "other"]})
    K = covariance(df, df) + 0.25 * np.eye(60)
    k = covariance(new, df)
    variance = covariance(new, new).diagonal() - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
    found = fit.predict(new, what="latent", interval=0.9)
    np.testing.assert_allclose(found["estimate"], k @ np.linalg.solve(K, df["y"]), atol=1e-8)
    np.testing.assert_allclose(found["se"], np.sqrt(variance), rtol=1e-8)


def test_group_effects_are_coefficients_of_the_columns_as_written(df, fit):
    levels = sorted(set(df["g"]))
    K, table = covariance(df, df) + 0.25 * np.eye(60), fit.group_effects("re(g)")
    for j, name in enumerate(["re(g)", "re(g)[z]"]):
        k = np.array([(columns(df) @ SIGMA[:, j]) * (df["g"] == level) for level in levels])
        variance = SIGMA[j, j] - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
        np.testing.assert_allclose(table.loc[name, "estimate"][levels], k @ np.linalg.solve(K, df["y"]), atol=1e-8)
        np.testing.assert_allclose(table.loc[name, "se"][levels], np.sqrt(variance), rtol=1e-8)


def test_effects_are_reported_alike_where_columns_are_centred_inside(df):
    res = tg.fit("y ~ 1 + (1 + z | g)", df)
    table, level = res.group_effects(), "3"
    at = pd.DataFrame({"z": [0.0, 1.0, 7.0], "g": [level] * 3})
    terms = res.predict(at, what="terms")["re(g)"]
    terms = terms["estimate"] if isinstance(terms, pd.DataFrame) else terms
    a, b = table.loc[("re(g)", level), "estimate"], table.loc[("re(g)[z]", level), "estimate"]
    np.testing.assert_allclose(terms, a + b * at["z"], atol=1e-9)
    values = res.params[[SD, SLOPE, COR, "sigma"]].to_dict()
    again = tg.fit("y ~ 1 + (1 + z | g)", df, fixed=values)
    assert again.log_evidence == pytest.approx(res.log_evidence, abs=1e-6)
    np.testing.assert_allclose(again.params["Intercept"], res.params["Intercept"], rtol=0.05)


def test_where_the_search_starts_changes_nothing(df):
    res = tg.fit("y ~ (1 + z | g)", df, method=tg.EP(hyper="maximize"))
    start = {SD: 2.0, SLOPE: 0.3, COR: 0.5, "sigma": 1.0}
    again = tg.fit("y ~ (1 + z | g)", df, method=tg.EP(hyper="maximize"), start=start)
    np.testing.assert_allclose(again.params, res.params, rtol=1e-3)
    with pytest.raises(tg.errors.SpecError, match="give 'cor"):
        tg.fit("y ~ (1 + z | g)", df, start={SD: 2.0, SLOPE: 1.0})


@pytest.mark.parametrize("response", ["y ~ ", "censored ~ "])
def test_independent_effects_are_an_intercept_and_a_slope(df, response):
    part = " | censor(l)" if response[0] == "c" else ""
    given = {SD: 1.3, SLOPE: 0.6, "sigma": 0.5}
    one = tg.fit(response + "z + (z || g)" + part, df, fixed=given)
    other = response + 'z + re(g) + gp(z, kernel="linear", by=g)' + part
    two = tg.fit(other, df, fixed={SD: 1.3, "sd(gp(z, by=g))": 0.6, "sigma": 0.5})
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-7)
    np.testing.assert_allclose(one.predict(df.head()), two.predict(df.head()), atol=1e-6)


def test_nested_groups_are_two_terms(df):
    given = {"sd(re(a))": 0.7, "sd(re(a:g))": 1.1, "sigma": 0.5}
    nested = tg.fit("y ~ (1 | a/g)", df, fixed=given)
    joined = df.assign(both=df["a"] + "/" + df["g"])
    two = tg.fit("y ~ re(a) + re(both)", joined, fixed={"sd(re(a))": 0.7, "sd(re(both))": 1.1, "sigma": 0.5})
    assert nested.log_evidence == pytest.approx(two.log_evidence, abs=1e-8)
    assert ("re(a:g)", "u:0") in nested.group_effects().index
    new = pd.DataFrame({"a": ["u", "other"], "g": ["0", "0"]})
    assert np.isfinite(nested.predict(new)).all()


def test_levels_of_a_factor_have_effects_of_their_own(df):
    res = tg.fit("y ~ f + (0 + f | g)", df)
    assert list(res.params.index[2:]) == [
        "sd(re(0 + f | g))[f[p]]",
        "sd(re(0 + f | g))[f[q]]",
        "cor(re(0 + f | g))[f[p], f[q]]",
        "sigma",
    ]
    low, high = res.conf_int().iloc[4]
    assert -1.0 < low < res.params.iloc[4] < high < 1.0


def test_rows_of_one_new_group_share_its_coefficients(df, fit):
    new = pd.DataFrame({"z": [1.0, 3.0, 3.0], "g": ["new", "new", "newer"]})
    draws = fit.sample(new, draws=20_000, what="latent", rng=1).to_numpy()
    np.testing.assert_allclose(np.cov(draws), covariance(new, new), atol=0.12)


def test_partitions_are_fitted_as_one_table(df):
    parts = pytest.importorskip("dask.dataframe").from_pandas(df, npartitions=3)
    one, two = (
        tg.fit("censored ~ z + (1 + z + f | g) | censor(l)", data, method=tg.EP(hyper="maximize"))
        for data in (df, parts)
    )
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-4)
    np.testing.assert_allclose(two.params, one.params, rtol=0.02, atol=0.02)


def test_priors_of_correlations(df):
    df = df.assign(z=df["z"] - df["z"].mean())
    narrow = tg.fit("y ~ (1 + z | g)", df, priors={COR: tg.LKJ(200.0)}, method=tg.EP(hyper="maximize"))
    assert abs(narrow.params[COR]) < 0.1
    assert "LKJ(200)" in str(narrow.summary())
    flat = tg.fit("y ~ (1 + z | g)", df, priors={COR: None}, method=tg.EP(hyper="maximize"))
    assert abs(flat.params[COR]) > abs(narrow.params[COR])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fixed": {COR: 1.0}}, "between -1 and 1"),
        ({"priors": {COR: tg.LogNormal(1.0, 1.0)}}, "takes tg.LKJ"),
        ({"fixed": {"cor(re(g))[z, f[T.q]]": 0.1}}, "give 'cor\\(re\\(g\\)\\)\\[Intercept, z\\]' too"),
        (
            {"fixed": {COR: 0.9, "cor(re(g))[Intercept, f[T.q]]": 0.9, "cor(re(g))[z, f[T.q]]": -0.9}},
            "are not valid together",
        ),
        ({"priors": {COR: tg.LKJ(1.0), "cor(re(g))[z, f[T.q]]": tg.LKJ(2.0)}}, "have one prior"),
    ],
)
def test_what_makes_no_sense_is_refused(df, given, words):
    columns = "1 + z + f" if "f[T.q]" in str(given) else "1 + z"
    with pytest.raises(tg.errors.SpecError, match=words):
        tg.fit(f"y ~ ({columns} | g)", df, **given)


def test_a_year_changes_nothing_but_the_intercept(df):
    years, name = df.assign(z=df["z"] + 2010.0), "sd(re(g))[z]"
    plain, far = (tg.fit("y ~ z + (1 + z | g)", data, method=tg.EP(hyper="maximize")) for data in (df, years))
    assert far.log_evidence == pytest.approx(plain.log_evidence, abs=1e-5)
    assert far.params[name] == pytest.approx(plain.params[name], rel=1e-4)
    for given in ({"priors": {COR: tg.LKJ(2.0)}}, {"fixed": {name: plain.params[name]}}):
        again = tg.fit("y ~ z + (1 + z | g)", years, **with_settings(given, hyper="maximize"))
        assert again.log_evidence == pytest.approx(plain.log_evidence, abs=0.1)
        assert again.params[SD] == pytest.approx(far.params[SD], rel=0.02)


def test_levels_with_colons_stay_apart(tmp_path):
    chip, position = np.tile(["s1", "s1:2"], 40), np.repeat(["2:3", "3"], 40)
    data = pd.DataFrame({"chip": chip, "position": position, "y": np.where(chip == "s1", 3.0, -3.0)})
    data["y"] += np.tile([0.1, -0.1, 0.2, -0.2], 20) + np.where(position == "3", 1.0, 0.0)
    res = tg.fit("y ~ (1 | chip:position)", data)
    assert len(res.group_effects()) == 4
    assert res.params["sigma"] < 0.3
    res.save(tmp_path / "fit")
    pd.testing.assert_series_equal(tg.load(tmp_path / "fit").predict(data), res.predict(data))


def test_a_dot_holds_what_has_a_slope_in_each_group(df):
    spec = tg.Model("y ~ . + (1 + z | g)", df[["y", "z", "f", "g"]]).spec
    assert spec.names("linear") == ("z", "f")


def test_what_is_left_to_priors_is_said(df):
    with pytest.warns(tg.errors.BoundaryWarning, match="one group of re"):
        tg.fit("y ~ (1 | one)", df.assign(one="a"))
    rng = np.random.default_rng(1)
    exact = df.assign(y=rng.normal(size=8)[df["g"].astype(int)] * (2.0 + df["z"]) + 0.3 * rng.normal(size=60))
    with pytest.warns(tg.errors.BoundaryWarning, match="singular at cor"):
        res = tg.fit("y ~ (1 + z | g)", exact, priors={}, method=tg.EP(hyper="maximize"))
    assert "singular" in str(res.summary())


def test_groupings_too_large_to_cross_are_refused(df, monkeypatch):
    monkeypatch.setattr(process_choices, "MOST_CROSSED", 2)
    with pytest.raises(tg.errors.DataError, match="3 coefficients of a in addition to"):
        tg.fit("y ~ (1 | a) + (1 | g)", df)


def test_columns_that_others_determine_are_refused(df):
    with pytest.raises(tg.errors.DataError, match="random effects is determined by"):
        tg.fit("y ~ (1 + z + z2 | g)", df.assign(z2=2.0 * df["z"] + 1.0))


@pytest.mark.slow_cases("vi")
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_many_crossed_groups_are_held_by_their_entries_and_nothing_changes(method, monkeypatch, tmp_path):
    rng = np.random.default_rng(8)
    g, h, z = rng.integers(0, 30, 400), rng.integers(0, 20, 400), rng.normal(size=400)
    y = z + rng.normal(size=30)[g] + (1 + z) * rng.normal(size=20)[h] + 0.5 * rng.normal(size=400)
    data = pd.DataFrame({"y": np.maximum(y, -0.5), "z": z, "g": g, "h": h, "l": -0.5})
    formula = "y ~ z + (1 + z | g) + (1 | h) + (0 + z | h) + (1 | z2) | censor(l)"
    data["z2"] = np.where(z > 0.0, "up", "down")
    given = {"sd(re(g))": 0.9, SLOPE: 0.3, COR: 0.2, "sd(re(h))": 1.1, "sd(re(0 + z | h))[z]": 0.8, "sd(re(z2))": 0.4}
    found = []
    for most in (10, 10_000):
        for module in (feature_layout, compiled):
            monkeypatch.setattr(module, "MOST_SPREAD", most)
        evidence = tg.Model(formula, data).evidence(given | {"sigma": 0.5}, method=method)
        res = tg.fit(formula, data, fixed=given | {"sigma": 0.5}, method=method)
        new = pd.DataFrame({"z": [0.3, 1.0], "g": [3, 99], "h": [98, 4], "z2": ["up", "up"]})
        answers = [res.predict(data.head(9), interval=0.9), res.predict(new, interval=0.9), res.cov_params()]
        answers += [res.group_effects(), res.sample(new, draws=4, what="latent", rng=2), res.loo().pointwise]
        found.append((evidence, answers, res))
    (sparse, ours, res), (dense, theirs, _) = found
    assert res.parts.fitted.points[0].layout.has_sparse
    assert sparse.value == pytest.approx(dense.value, abs=1e-9)
    np.testing.assert_allclose(sparse.gradient, dense.gradient, atol=1e-8)
    for got, want in zip(ours[:4], theirs[:4], strict=True):
        np.testing.assert_allclose(got, want, atol=1e-8)
    monkeypatch.setattr(feature_layout, "MOST_SPREAD", 10)
    res.save(tmp_path / "crossed")
    pd.testing.assert_frame_equal(tg.load(tmp_path / "crossed").group_effects(), ours[3])


def test_all_approximations_are_held_against_the_exact_evidence(df):
    few = df.head(25)
    res = tg.fit("censored ~ z + (1 + z | g) | censor(l)", few, fixed=GIVEN)
    table = tg.compare_bounds(res)
    assert table.attrs["reference"] == "exact"
    assert table.loc["ep", "value"] == pytest.approx(res.log_evidence, abs=1e-6)
    assert table.loc["ep", "value"] == pytest.approx(table.loc["exact", "value"], abs=0.1)
    assert table.loc["vi exact", "value"] < table.loc["exact", "value"]
    assert table.loc["ep", "sd_ratio"] == pytest.approx(1.0, abs=0.1)
