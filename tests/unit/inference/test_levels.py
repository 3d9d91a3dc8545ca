"""Coefficients beside processes, against regressions with correlated errors whose curves are centred (dense)."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.process.process_draws import draw_process

pytestmark = pytest.mark.diagonal

GAPS = {"a": -1.0, "b": 0.5, "c": 2.0}
FIXED = {"sd": 0.8, "lengthscale": 0.5, "sigma": 0.4}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    n = 90
    x, z = rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    g, h = rng.choice([*"abc"], n, p=[0.5, 0.3, 0.2]), rng.choice([*"de"], n)
    f = np.array([GAPS[k] for k in g]) + np.sin(3.0 * x) * (g == "b") + np.cos(2.0 * x) * (g == "c") + 0.5 * z
    y = f + 0.4 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "g": g, "h": h, "y": y.clip(-0.9), "w": rng.integers(1, 4, n)})


def fit(formula, data, method="ep", **options):
    known = {name: FIXED[name.partition("(")[0]] for name in _parameters(formula)}
    return tg.fit(f"y ~ {formula} | censor(-0.9)", data, method=method, fixed=known, weights="w", **options)


def _parameters(formula):
    terms = [
        term.strip().replace(", line=False", "") for term in formula.split(" + ") if term.strip().startswith("gp(")
    ]
    return [f"{name}({term})" for term in terms for name in ("sd", "lengthscale")] + ["sigma"]


def centred(data, text, by):
    """Covariance of a curve less its weighted average over the rows of its level, or over all rows."""
    x, w = data[text].to_numpy(), data["w"].to_numpy(dtype=float)
    level = np.zeros(len(x)) if by is None else data[by].to_numpy()
    same = level[:, None] == level
    K = FIXED["sd"] ** 2 * np.exp(-0.5 * (x[:, None] - x) ** 2 / FIXED["lengthscale"] ** 2) * same
    P = np.eye(len(x)) - same * w / (same @ w)[:, None]
    return P @ K @ P.T


def pseudo_data(res):
    """The Gaussian rows that stand for the likelihoods: values and variances in the order of the data."""
    point, problem = res.parts.fitted.points[0], res.parts.gp.problem
    y, variance = np.empty(len(problem.order)), np.empty(len(problem.order))
    y[problem.order] = problem.units.centre + problem.units.scale * point.sites.lambda1 / point.sites.lambda2
    variance[problem.order] = problem.units.scale**2 / point.sites.lambda2
    return y, variance


CASES = {
    "C(g) + gp(x, by=g)": [("x", "g")],
    "0 + C(g) + z + gp(x, by=g)": [("x", "g")],
    "z + gp(x, line=False)": [("x", None)],
    "0 + C(g) + gp(x, line=False)": [("x", None)],
    "C(g) + C(h) + gp(x, by=g) + gp(z, by=h) + gp(x, line=False)": [("x", "g"), ("z", "h"), ("x", None)],
}


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
@pytest.mark.parametrize("formula", CASES)
def test_coefficients_and_terms_are_those_beside_centred_curves(data, formula, method):
    res = fit(formula, data, method)
    y, variance = pseudo_data(res)
    H = res.parts.training.design.H
    K = [centred(data, *term) for term in CASES[formula]]
    V = np.linalg.inv(sum(K) + np.diag(variance))
    S = np.linalg.inv(H.T @ V @ H)
    b = S @ H.T @ V @ y
    p = len(b)
    np.testing.assert_allclose(res.params[:p], b, rtol=2e-3, atol=2e-3 * np.sqrt(np.diag(S).min()))
    np.testing.assert_allclose(res.bse[:p], np.sqrt(np.diag(S)), rtol=2e-3)
    contrast = res.t_test(np.eye(p)[-1] - np.eye(p)[0])
    np.testing.assert_allclose(contrast.sd, np.sqrt(S[-1, -1] + S[0, 0] - 2.0 * S[0, -1]), rtol=2e-3)
    table = res.predict(what="terms", se=True)
    names = [term.name for term in res.parts.gp.terms]
    for name, K_t in zip(names, K, strict=True):
        np.testing.assert_allclose(table[name, "estimate"], K_t @ V @ (y - H @ b), atol=2e-3)
        W = K_t @ V @ H
        spread = K_t - K_t @ V @ K_t + W @ S @ W.T
        np.testing.assert_allclose(table[name, "se"], np.sqrt(np.diag(spread)), rtol=5e-3)
    total = table.xs("estimate", axis=1, level="statistic").sum(axis=1)
    np.testing.assert_allclose(total, res.predict(what="latent"), atol=1e-9)
    for name in names:
        without = res.predict(data, what="latent", exclude=name)
        np.testing.assert_allclose(without, total - table[name, "estimate"], atol=1e-9)


def test_levels_of_curves_without_group_coefficients_are_their_own(data):
    res = fit("z + gp(x, by=g)", data)
    point = res.parts.fitted.points[0]
    p = np.arange(res.parts.fitted.n_linear)
    np.testing.assert_array_equal(point.coefficients(p)[0], point.w[: len(p)])
    averages = res.predict(what="terms")["gp(x, by=g)", "estimate"].groupby(data["g"]).mean()
    assert averages.abs().max() > 0.3


@pytest.mark.slow
def test_averages_draws_partitions_and_saved_fits_hold_the_same_levels(data, tmp_path, monkeypatch):
    formula = "y ~ C(g) + gp(x, by=g) | censor(-0.9)"
    res = tg.fit(formula, data, method=tg.EP(hyper="integrate"))
    assert len(res.parts.fitted.points) > 1
    average = data["y"].groupby(data["g"]).mean()
    assert abs(res.params["C(g)[T.b]"] - (average["b"] - average["a"])) < 0.2
    assert res.bse["C(g)[T.b]"] < 0.2
    drawn = draw_process(res.parts, 4000, 1, question="a test").parameters()[:, :3]
    np.testing.assert_allclose(drawn.mean(axis=0), res.params[:3], atol=5.0 * res.bse[:3].max() / np.sqrt(4000))
    np.testing.assert_allclose(np.cov(drawn.T), res.cov_params().iloc[:3, :3], rtol=0.15, atol=1e-3)
    res.save(tmp_path / "fit.tgp")
    for i in range(2):
        data.iloc[45 * i : 45 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    known = {"sd(gp(x, by=g))": 0.8, "lengthscale(gp(x, by=g))": 0.5, "sigma": 0.4}
    here = tg.fit(formula, data, fixed=known)
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 60)
    there = tg.fit(formula, tmp_path, fixed=known)
    assert len(there.parts.gp.problem.order) <= 60
    np.testing.assert_allclose(there.params, here.params, rtol=1e-5)
    np.testing.assert_allclose(there.bse[:3], here.bse[:3], rtol=1e-5)
    loaded = tg.load(tmp_path / "fit.tgp")
    pd.testing.assert_series_equal(loaded.params, res.params)
    new = data.head(3)
    pd.testing.assert_frame_equal(loaded.predict(new, what="terms", se=True), res.predict(new, what="terms", se=True))


def test_linear_terms_that_hold_levels_are_not_left_out_of_f(data):
    res = fit("C(g) + z + gp(x, by=g)", data)
    with pytest.raises(SpecError, match=r"exclude='C\(g\)': gp\(x, by=g\) is centred"):
        res.predict(data, exclude="C(g)")
    assert "C(g)" not in res.predict(data, what="terms", exclude="C(g)").columns.get_level_values(0)
    left = res.predict(data, what="latent") - res.predict(data, what="latent", exclude="z")
    np.testing.assert_allclose(left, res.params["z"] * data["z"], atol=1e-9)
