import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from support.working import information

import tobitgp as tg
from tobitgp.data.outcome import outcome
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, DataError, SpecError
from tobitgp.regression import covariance, maximise

NOT_FINITE = "ignore:.*(no finite ends|is not finite in rows?):tobitgp.errors.ApproximationWarning"


@pytest.fixture
def fit(mixed):
    rows, H = mixed
    return maximise(outcome(rows), H, scores=True)


def test_inverse_of_the_information(fit, mixed):
    rows, H = mixed
    np.testing.assert_allclose(covariance(fit) @ information(outcome(rows), H, fit), np.eye(4), atol=1e-10)


def test_one_row_clusters_are_hc0(fit):
    n = len(fit.scores)
    np.testing.assert_allclose(covariance(fit, "cluster", groups=np.arange(n)), covariance(fit, "HC0"), rtol=1e-10)
    np.testing.assert_allclose(covariance(fit, "HC1"), covariance(fit, "HC0") * n / (n - 4), rtol=1e-12)


def test_sandwich_by_hand(fit, mixed):
    rows, H = mixed
    w = rows.weight
    V, S = np.linalg.inv(information(outcome(rows), H, fit)), fit.scores
    np.testing.assert_allclose(covariance(fit, "HC0", weight=w), V @ (S.T * w) @ S @ V, rtol=1e-8)
    groups = np.arange(len(S)) % 5
    sums = np.array([(w[:, None] * S)[groups == g].sum(axis=0) for g in range(5)])
    np.testing.assert_allclose(covariance(fit, "cluster", weight=w, groups=groups), V @ sums.T @ sums @ V, rtol=1e-6)


def _levels(rng, only):
    """Three levels, the last of them with one row."""
    g = np.array([*"aaaaaabbbbbbb", *only])
    x = rng.normal(size=len(g))
    return pd.DataFrame({"g": g, "x": x, "y": 0.5 * x + (g == "b") + rng.normal(size=len(g))})


@pytest.mark.filterwarnings(NOT_FINITE)
@pytest.mark.parametrize("kind", ["HC0", "HC1"])
def test_a_row_that_alone_determines_a_coefficient_leaves_that_without_an_error(rng, kind):
    """Least squares without that row, but for the number of rows in HC1."""
    data = _levels(rng, "z")
    with pytest.warns(BoundaryWarning, match=rf"{kind}': 'C\(g\)\[z\]' depends on rows .* NaN"):
        res = tg.fit("y ~ 0 + C(g) + x", data, method="mle", cov_type=kind)
    ols = smf.ols("y ~ 0 + g + x", data[data.g != "z"]).fit(cov_type="HC0").bse.to_numpy()
    want = np.array([*ols[:2], np.nan, ols[2]]) * np.sqrt(14 / (14 - 5) if kind == "HC1" else 1.0)
    np.testing.assert_allclose(res.bse.to_numpy()[:4], want, rtol=1e-6)
    frame = res.summary_frame()
    assert frame.loc["C(g)[z]"].drop("coef").isna().all()
    assert frame.drop(columns=["z", "P>|z|"]).drop("C(g)[z]").notna().all(axis=None)
    bands = res.predict(data, se=True)["se"]
    np.testing.assert_array_equal(bands.isna(), data.g == "z")
    reference = data.assign(g=data.g.replace("z", "0"))
    with pytest.warns(BoundaryWarning, match=r"'Intercept', 'C\(g\)\[T.a\]', 'C\(g\)\[T.b\]' depend on"):
        other = tg.fit("y ~ C(g) + x", reference, method="mle", cov_type=kind)
    effect = other.t_test("C(g)[T.b] - C(g)[T.a]").sd
    np.testing.assert_allclose(effect, res.t_test("C(g)[b] - C(g)[a]").sd, rtol=1e-6)
    np.testing.assert_allclose(other.bse["x"], res.bse["x"], rtol=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1"])
def test_scores_of_no_more_rows_than_parameters_give_no_errors(kind):
    data = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0], "z": [1.0, 0.0, 2.0, 1.0], "y": [1.0, 2.0, 2.7, 5.0]})
    with pytest.warns(BoundaryWarning, match="'Intercept', 'x', 'z', 'sigma' depend on"):
        res = tg.fit("y ~ x + z", data, method="mle", cov_type=kind)
    assert res.bse.isna().all()
    assert res.pvalues.isna().all()
    with pytest.warns(ApproximationWarning, match="Use cov_type='nonrobust'"):
        assert np.isnan(res.wald_test("x = 0").pvalue)
    assert np.isfinite(tg.fit("y ~ x + z", data, method="mle").wald_test("x = 0").pvalue)


@pytest.mark.filterwarnings(NOT_FINITE)
def test_separated_groups_leave_the_errors_of_a_fit_without_them(rng):
    g, x = np.repeat(np.arange(12), 8), rng.normal(size=96)
    y = np.linspace(-1.0, 1.5, 12)[g] + 0.5 * x + rng.normal(size=96)
    y = np.where(np.isin(g, [2, 5]), -1.0, y).clip(0.0)
    data = pd.DataFrame({"g": g, "x": x, "y": y})
    seen = data[~data.g.isin([2, 5])]
    want = tg.fit("y ~ x + C(g) | censor(0)", seen).bse
    with pytest.warns(ConvergenceWarning, match=r"'C\(g\)\[T.2\]' and 'C\(g\)\[T.5\]' separate the 16"):
        res = tg.fit("y ~ x + C(g) | censor(0)", data)
    np.testing.assert_allclose(res.bse[want.index], want, rtol=1e-5)
    np.testing.assert_array_equal(res.bse.index[res.bse.isna()], ["C(g)[T.2]", "C(g)[T.5]"])
    np.testing.assert_array_equal(res.predict(data, se=True)["se"].isna(), data.g.isin([2, 5]))
    with pytest.warns(ConvergenceWarning):
        other = tg.fit("y ~ x + C(g) | censor(0)", data.assign(g=data.g.replace(2, -1)))
    assert np.isnan(other.bse["C(g)[T.1]"])
    difference = "C(g)[T.4] - C(g)[T.1]"
    np.testing.assert_allclose(other.t_test(difference).sd, res.t_test(difference).sd, rtol=1e-5)
    slope = other.marginal_effects("latent").loc[("x", "dy/dx"), "se"]
    np.testing.assert_allclose(slope, want["x"], rtol=1e-5)


def test_refusals(fit, mixed):
    rows, H = mixed
    with pytest.raises(SpecError, match="'HC9': must be one of nonrobust, HC0"):
        covariance(fit, "HC9")
    with pytest.raises(SpecError, match="groups must be given"):
        covariance(fit, "cluster")
    with pytest.raises(SpecError, match="scores=True"):
        covariance(maximise(outcome(rows), H), "HC0")
    with pytest.raises(DataError, match="two clusters"):
        covariance(fit, "cluster", groups=np.zeros(len(H), dtype=int))


# -- clusters in several directions -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel():
    """Firms by years, with effects of both, an uncensored response and the same censored."""
    rng = np.random.default_rng(12)
    firm, year = np.repeat(np.arange(30), 8), np.tile(np.arange(8), 30)
    x = rng.normal(size=240) + rng.normal(size=30)[firm]
    free = 0.5 + x + rng.normal(size=30)[firm] + rng.normal(size=8)[year] + rng.normal(size=240)
    data = pd.DataFrame({"firm": firm, "year": year, "x": x, "free": free, "y": free.clip(min=0.0)})
    return data.sample(frac=1.0, random_state=1)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("ways", [["firm"], ["firm", "year"]])
def test_statsmodels_clusters_of_least_squares(panel, ways, corrected):
    kwds = {"groups": panel[ways].to_numpy().squeeze(), "use_correction": corrected}
    want = smf.ols("free ~ x", panel).fit(cov_type="cluster", cov_kwds=kwds).cov_params()
    own = {"groups": ways, "use_correction": corrected}
    res = tg.fit("free ~ x", panel, fixed={"sigma": 1.3}, cov_type="cluster", cov_kwds=own, method="mle")
    np.testing.assert_allclose(res.cov_params().iloc[:2, :2], want, rtol=1e-7)


def test_two_ways_by_hand(panel):
    """Of a Tobit model: middles of scores added up within firms and years, less those of both."""
    res = tg.fit("y ~ x | censor(0)", panel, cov_type="cluster", cov_kwds={"groups": ["firm", "year"]})
    plain = tg.fit("y ~ x | censor(0)", panel)
    H = np.column_stack([np.ones(240), panel["x"]])
    rows = outcome(plain.parts.rows.response)
    fit = maximise(rows, H, scores=True)
    V, S, total = covariance(fit), np.asarray(fit.scores), 0.0
    for sign, code in ((1, panel["firm"]), (1, panel["year"]), (-1, 8 * panel["firm"] + panel["year"])):
        sums = pd.DataFrame(S).groupby(code.to_numpy()).sum().to_numpy()
        total = total + sign * sums.T @ sums
    np.testing.assert_allclose(res.cov_params().iloc[:2, :2], (V @ total @ V)[:2, :2], rtol=1e-6)
    for spelled in (panel[["firm", "year"]], panel[["firm", "year"]].to_numpy()):
        same = tg.fit("y ~ x | censor(0)", panel, cov_type="cluster", cov_kwds={"groups": spelled})
        pd.testing.assert_frame_equal(same.cov_params(), res.cov_params())


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 4])  # 4: more than a hundred firms, whose levels are absorbed
@pytest.mark.parametrize("formula", ["free ~ z + x + C(firm) + C(year)", "free ~ z + x*C(year) + C(firm)"])
def test_slopes_beside_fixed_effects_of_the_clusters_are_those_of_statsmodels(panel, formula, copies):
    """Levels that one cluster alone tells of have negative eigenvalues, which change nothing about other columns."""
    rng = np.random.default_rng(3)
    data = pd.concat([panel.assign(firm=panel["firm"] + 100 * i) for i in range(copies)], ignore_index=True)
    data = data.assign(z=rng.normal(size=len(data)), free=data["free"] + rng.normal(size=len(data)))
    ways, at = ["firm", "year"], ["z"] if "*" in formula else ["z", "x"]
    kwds = {"groups": data[ways].to_numpy(), "use_correction": False}
    want = smf.ols(formula, data).fit(cov_type="cluster", cov_kwds=kwds).cov_params()
    res = tg.fit(formula, data, cov_type="cluster", cov_kwds={"groups": ways})
    np.testing.assert_allclose(res.cov_params().loc[at, at], want.loc[at, at], rtol=1e-6)
    assert np.linalg.eigvalsh(res.cov_params()).min() > -1e-9
    assert np.diag(want).min() < 0.0


def test_the_same_direction_twice_is_one(panel):
    kwds = {"groups": ["firm", "twin"]}
    data = panel.assign(twin=panel["firm"] + 100)
    two = tg.fit("y ~ x | censor(0)", data, cov_type="cluster", cov_kwds=kwds)
    one = tg.fit("y ~ x | censor(0)", data, cov_type="cluster", cov_kwds={"groups": "firm"})
    np.testing.assert_allclose(two.cov_params(), one.cov_params(), rtol=1e-8)


def test_negative_eigenvalues_are_set_to_zero():
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(24, 4)), columns=list("abcy")).assign(g=np.arange(24) % 3, h=np.arange(24) % 4)
    few = pytest.warns(BoundaryWarning, match="4 clusters for 5 parameters")
    with few, pytest.warns(BoundaryWarning, match="negative eigenvalue, which was set to 0"):
        res = tg.fit("y ~ a + b + c", data, method="mle", cov_type="cluster", cov_kwds={"groups": ["g", "h"]})
    assert np.linalg.eigvalsh(res.cov_params()).min() > -1e-12
    ols = smf.ols("y ~ a + b + c", data).fit(cov_type="cluster", cov_kwds={"groups": data[["g", "h"]].to_numpy()})
    assert np.linalg.eigvalsh(ols.cov_params()).min() < -1e-4


def test_no_more_clusters_than_parameters(panel):
    """Scores add up to 0, and so hardly any direction is left; levels of the clusters themselves do not count."""
    with pytest.warns(BoundaryWarning, match="There are only 3 clusters for 3 parameters"):
        res = tg.fit("free ~ x", panel.assign(g=panel["firm"] % 3), cov_type="cluster", cov_kwds={"groups": "g"})
    assert np.linalg.matrix_rank(res.cov_params(), tol=1e-8) < 3
    tg.fit("free ~ x + C(firm)", panel, cov_type="cluster", cov_kwds={"groups": "firm"})


def test_every_kind_of_fit_takes_two_ways(panel):
    """One code path: cure models, parametric hazards and start-stop rows against their own one-way parts."""
    data = panel.assign(t=np.exp(0.3 * panel["free"]), event=panel["x"] < 1.5, cell=8 * panel["firm"] + panel["year"])
    data["id"], data["start"] = np.arange(240), 0.0
    for formula, options in (
        ("Surv(t, event) ~ x", {"family": "weibull", "cure": "~ 1"}),
        ("Surv(t, event) ~ x", {"family": tg.PH("weibull")}),
        ("Surv(start, t, event) ~ x", {"family": "weibull", "id": "id"}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                tg.fit(formula, data, cov_type="cluster", cov_kwds={"groups": groups}, **options)
                for groups in ("firm", "year", "cell", ["firm", "year"])
            ]
        firm, year, cell, both = (np.asarray(res.parts.covariance) for res in found)
        np.testing.assert_allclose(both, firm + year - cell, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(
    ("kwds", "match"),
    [
        ({"groups": ["firm", "yeer"]}, "'yeer' for the groups"),
        ({"groups": ["ferm"]}, "'ferm' for the groups; did you mean 'firm'"),
        ({"groups": "firm", "use_correction": "yes"}, "use_correction"),
        ({"groups": "firm", "df_correction": True}, "cov_kwds= with 'df_correction'"),
        ({"use_correction": True}, "groups"),
    ],
)
def test_bad_clusters(panel, kwds, match):
    with pytest.raises((SpecError, DataError), match=match):
        tg.fit("y ~ x | censor(0)", panel, cov_type="cluster", cov_kwds=kwds)


@pytest.mark.study
def test_intervals_of_two_directions_cover():
    """Of 40 firms in 20 years with effects of both: 90% where the information has 62% and firms alone 76%."""
    ways, covered = (None, "firm", ["firm", "year"]), np.zeros(3)
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        firm, year = np.repeat(np.arange(40), 20), np.tile(np.arange(20), 40)
        x, noise = (rng.normal(size=800) + rng.normal(size=40)[firm] + rng.normal(size=20)[year] for _ in "ab")
        data = pd.DataFrame({"firm": firm, "year": year, "x": x, "y": np.maximum(0.5 + x + noise, 0.0)})
        for k, groups in enumerate(ways):
            more = {} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
            low, high = tg.fit("y ~ x | censor(0)", data, **more).conf_int().loc["x"]
            covered[k] += low < 1.0 < high
    assert covered[0] < 0.68 * 1000
    assert covered[1] < 0.80 * 1000
    assert covered[2] > 0.88 * 1000
