import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from support.working import information

import tobitgp as tg
from tobitgp.data.outcome import outcome
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError
from tobitgp.regression import covariance, maximise


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


@pytest.mark.parametrize("kind", ["HC0", "HC1"])
def test_a_row_that_alone_determines_a_coefficient_leaves_that_without_an_error(rng, kind):
    """Least squares without that row, but for the number of rows in HC1."""
    data = _levels(rng, "z")
    with pytest.warns(BoundaryWarning, match=rf"{kind}': 'C\(g\)\[z\]' rests on rows .* NaN"):
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
    with pytest.warns(BoundaryWarning, match=r"'Intercept', 'C\(g\)\[T.a\]', 'C\(g\)\[T.b\]' rest on"):
        other = tg.fit("y ~ C(g) + x", reference, method="mle", cov_type=kind)
    effect = other.t_test("C(g)[T.b] - C(g)[T.a]").sd
    np.testing.assert_allclose(effect, res.t_test("C(g)[b] - C(g)[a]").sd, rtol=1e-6)
    np.testing.assert_allclose(other.bse["x"], res.bse["x"], rtol=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1"])
def test_scores_of_no_more_rows_than_parameters_give_no_errors(kind):
    data = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0], "z": [1.0, 0.0, 2.0, 1.0], "y": [1.0, 2.0, 2.7, 5.0]})
    with pytest.warns(BoundaryWarning, match="'Intercept', 'x', 'z', 'sigma' rest on"):
        res = tg.fit("y ~ x + z", data, method="mle", cov_type=kind)
    assert res.bse.isna().all()
    assert res.pvalues.isna().all()
    assert np.isnan(res.wald_test("x = 0").pvalue)


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
    with pytest.raises(SpecError, match="'HC9' is not one of nonrobust, HC0"):
        covariance(fit, "HC9")
    with pytest.raises(SpecError, match="needs groups"):
        covariance(fit, "cluster")
    with pytest.raises(SpecError, match="scores=True"):
        covariance(maximise(outcome(rows), H), "HC0")
    with pytest.raises(DataError, match="two clusters"):
        covariance(fit, "cluster", groups=np.zeros(len(H), dtype=int))
