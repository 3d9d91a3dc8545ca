"""Joint tests of terms: against other programs, dense formulas, and rates of false alarms."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.inference.feature_layout import block_features


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog", "inst"])


@pytest.mark.slow
def test_linear_regression_is_that_of_statsmodels():
    smf = pytest.importorskip("statsmodels.formula.api")
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=90), "g": np.tile(list("abc"), 30), "h": np.repeat(list("uv"), 45)})
    data["y"] = 1.0 + 0.3 * data["x"] + (data["g"] == "b") * 0.5 + rng.normal(size=90)
    found = tg.fit("y ~ x + C(g) * C(h)", data).anova()
    res = smf.glm("y ~ x + C(g) * C(h)", data).fit()
    expected = res.wald_test_terms(scalar=True).table.drop("Intercept")
    assert set(found.index) == set(expected.index)
    statistic = found["chi2"] * res.df_resid / res.nobs  # the maximum's variance is not corrected for the columns
    assert np.allclose(statistic[expected.index], expected["statistic"].astype(float), rtol=1e-6)
    assert np.allclose(found["p"], chi2.sf(found["chi2"], found["df"]))
    assert found["df"].to_dict() == expected["df_constraint"].astype(float).to_dict()


@pytest.mark.slow
def test_weibull_times_are_those_of_lifelines(lung):
    lifelines = pytest.importorskip("lifelines")
    found = tg.fit("Surv(time, event) ~ age + C(ph_ecog)", lung, family="weibull").anova()
    aft = lifelines.WeibullAFTFitter().fit(lung, "time", "event", formula="age + C(ph_ecog)")
    V, b = aft.variance_matrix_, aft.params_
    own = [key for key in b.index if str(key[1]).startswith("C(ph_ecog)")]
    expected = b[own] @ np.linalg.solve(V.loc[own, own], b[own])
    assert found.loc["C(ph_ecog)", "chi2"] == pytest.approx(expected, rel=1e-3)
    assert found.loc["C(ph_ecog)", "df"] == 3.0


def test_proportional_hazards_are_near_cox(lung):
    lifelines = pytest.importorskip("lifelines")
    found = tg.fit("Surv(time, event) ~ age + C(ph_ecog) + strata(sex)", lung, family=tg.PH("piecewise")).anova()
    cox = lifelines.CoxPHFitter().fit(lung, "time", "event", formula="age + C(ph_ecog)", strata="sex")
    own = [name for name in cox.params_.index if name.startswith("C(ph_ecog)")]
    b, V = cox.params_[own], cox.variance_matrix_.loc[own, own]
    assert list(found.index) == ["age", "C(ph_ecog)"]
    assert found.loc["C(ph_ecog)", "chi2"] == pytest.approx(b @ np.linalg.solve(V, b), rel=0.05)


def test_terms_of_the_noise_and_of_the_cured():
    data = tg.datasets.simulate_cure(n=400, rng=1)
    res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
    found = res.anova()
    assert list(found.index) == ["treated", "cured[treated]"]
    assert np.allclose(found["chi2"], res.tvalues[["treated", "cured[treated]"]] ** 2)
    tobin = tg.datasets.load("tobin")
    noisy = tg.fit("quant ~ age", tobin, sigma="~ age")
    assert noisy.anova().loc["log(sigma)[age]", "p"] == pytest.approx(noisy.pvalues["log(sigma)[age]"])


def test_fixed_columns_are_left_out():
    data = tg.datasets.load("tobin")
    with pytest.warns(UserWarning, match="No test is available for age."):
        free = tg.fit("durable ~ age + quant | censor(0)", data, fixed={"age": 0.0}).anova()
    assert np.isnan(free.loc["age", "chi2"])
    assert np.isfinite(free.loc["quant", "p"])


@pytest.fixture(scope="module")
def curves():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.uniform(size=80), "z": rng.normal(size=80), "g": np.repeat(np.arange(16), 5)})
    data["w"] = rng.integers(1, 3, 80)
    data["y"] = np.sin(4.0 * data["x"]) + 0.5 * data["z"] + rng.normal(size=80) + rng.normal(size=16)[data["g"]]
    return data


def dense(res, block):
    """Features of a process in the training rows from its level, its posterior mean and covariance of weights."""
    point, parts = res.parts.fitted.points[0], res.parts
    at = parts.gp.inputs(parts.rows.design)[block]
    A = block_features(point.blocks[block], at).A - point._level(block, at)
    S = np.linalg.inv(point.factor.L @ point.factor.L.T)
    return A, point.w, S, point.layout.places[block].columns


def test_a_process_is_wood_of_all_rows(curves):
    res = tg.fit(
        "y ~ z + gp(x, line=False) | censor(0)", curves.assign(y=curves["y"].clip(0.0)), method=tg.EP(hyper="maximize")
    )
    found = res.anova().loc["gp(x)"]
    A, w, S, own = dense(res, 1)
    F = np.eye(len(S)) - S
    value, vector = np.linalg.eigh(A @ S[own, own] @ A.T)
    r = round(np.trace((2 * F - F @ F)[own, own]))
    expected = np.sum((vector[:, -r:].T @ (A @ w[own])) ** 2 / value[-r:])
    assert found["edf"] == pytest.approx(np.trace(F[own, own]))
    assert found["edf"] + 2.0 == pytest.approx(res.df_model, rel=1e-3)
    assert found[["df", "chi2"]].tolist() == pytest.approx([r, expected])
    assert found["p"] == pytest.approx(chi2.sf(expected, r))


def test_a_random_effect_is_a_score_test(curves):
    """In a linear mixed model, of the residuals of the regression without it."""
    res = tg.fit("y ~ z + (1 | g)", curves, fixed={"sigma": 1.0, "sd(re(g))": 0.7})
    other = tg.fit("y ~ z + (1 | g)", curves, fixed={"sigma": 1.0, "sd(re(g))": 0.01})
    found = res.anova().loc["re(g)"]
    X, G = np.column_stack([np.ones(80), curves["z"]]), pd.get_dummies(curves["g"]).to_numpy(float)
    M = np.eye(80) - X @ np.linalg.solve(X.T @ X, X.T)
    u, K = G.T @ M @ curves["y"].to_numpy(), G.T @ M @ G
    c = [np.trace(np.linalg.matrix_power(K, j)) for j in (1, 2, 3)]
    df = c[1] ** 3 / c[2] ** 2
    assert found["df"] == pytest.approx(df, rel=1e-3)
    assert found["chi2"] == pytest.approx(df + (u @ u - c[0]) * np.sqrt(df / c[1]), rel=0.02)
    assert other.anova().loc["re(g)", "chi2"] == pytest.approx(found["chi2"], rel=1e-3)
    assert found["p"] < 0.05


def test_weights_are_repeated_rows(curves):
    how = {"fixed": {"lengthscale(gp(x))": 0.5, "sd(gp(x))": 1.0, "sigma": 1.0}}
    counted = tg.fit("y ~ z + gp(x)", curves, weights="w", **how).anova()
    repeated = tg.fit("y ~ z + gp(x)", curves.loc[curves.index.repeat(curves["w"])], **how).anova()
    assert np.allclose(counted, repeated, rtol=1e-3, equal_nan=True)


@pytest.mark.slow
def test_every_kind_has_a_table(curves, lung):
    hazards = tg.fit("Surv(time, event) ~ age + tv(sex) + (1 | inst)", lung, family="ph")
    assert list(hazards.anova().index) == ["age", "re(inst)", "tv(sex)"]
    by = tg.fit("y ~ gp(x, by=g2) + z", curves.assign(g2=curves["g"] % 2)).anova()
    assert 0.0 < by.loc["gp(x, by=g2)", "p"] <= 1.0
    chain = tg.fit("y ~ z + gp(x, kernel='matern12', approximation='markov')", curves)
    with pytest.warns(UserWarning, match=r"No test is available for gp\(x\)"):
        chain = chain.anova()
    assert np.isnan(chain.loc["gp(x)", "p"])
    several = tg.fit("mvbind(y, x) ~ z + C(w) + (1 | g)", curves).anova()
    assert list(several.index) == ["z[y]", "C(w)[y]", "z[x]", "C(w)[x]", "re(g)"]
    causes = lung.assign(cause=lung["event"] * (1 + (lung["age"] > 65)))
    assert tg.fit("Surv(time, cause) ~ sex", causes, family="weibull").anova().index.names == ["cause", "term"]


def test_without_rows(curves, tmp_path):
    tg.fit("y ~ z + gp(x) + (1 | g)", curves, method=tg.EP(hyper="maximize")).save(tmp_path / "fit.tgp")
    with pytest.warns(UserWarning, match=r"No test is available for gp\(x\)."):
        loaded = tg.load(tmp_path / "fit.tgp").anova()
    assert loaded["p"].isna().to_dict() == {"z": False, "gp(x)": True, "re(g)": False}
    assert loaded.loc["gp(x)", "edf"] > 1.0


def test_in_the_summary(lung):
    res = tg.fit("Surv(time, event) ~ age + C(ph_ecog)", lung, family="weibull")
    table = res.summary(anova=True).tables[-1]
    assert [str(cell).strip() for cell in table[0].data] == ["Joint tests", "df", "chi2", "P>chi2"]
    assert len(table) == 3
    with pytest.raises(SpecError, match="anova"):
        res.summary(anova="yes")


@pytest.mark.slow
def test_refusals(curves):
    with pytest.raises(SpecError, match="mixture has no terms"):
        tg.fit("y ~ mixture(2)", curves).anova()
    with pytest.raises(SpecError, match="no term to test except the intercept"):
        tg.fit("y ~ 1", curves).anova()


@pytest.mark.study
@pytest.mark.parametrize("term", ["gp(x)", "re(g)"])
def test_false_alarms(term):
    p = []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        data = {"x": rng.uniform(size=100), "z": rng.normal(size=100), "g": rng.integers(0, 12, 100)}
        data["y"] = np.maximum(1.0 + 0.5 * data["z"] + rng.normal(size=100), 0.0)
        p.append(tg.fit(f"y ~ z + {term} | censor(0)", data, method=tg.EP(hyper="maximize")).anova().loc[term, "p"])
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07
    assert 0.07 < np.mean(np.array(p) < 0.1) < 0.14
