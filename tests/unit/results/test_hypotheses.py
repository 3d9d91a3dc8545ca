"""Hypotheses about linear coefficients."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.written_hypotheses import read_constraints

NAMES = ["Intercept", "z", "g[T.b]"]


def test_one_coefficient_is_the_summary(averaged):
    table = averaged.t_test(["z", "g[T.b] = 0"]).summary_frame(0.1)
    expected = averaged.summary_frame(0.1).loc[["z", "g[T.b]"]]
    assert np.allclose(table, expected)
    assert list(table.columns) == list(expected.columns)


def test_combinations(averaged):
    V = averaged.cov_params().iloc[:3, :3].to_numpy()
    c = np.array([0.0, 2.0, -1.0])
    test = averaged.t_test("2*z - g[T.b] = 0.5")
    assert np.allclose(test.effect, c @ averaged.params[NAMES])
    assert np.allclose(test.sd**2, c @ V @ c)
    assert np.allclose(test.tvalue, (test.effect - 0.5) / test.sd)
    for other in ((c[None], [0.5]), (c, 0.5)):
        assert np.allclose(averaged.t_test(other).summary_frame(), test.summary_frame())
    assert "2*z" in repr(test)
    p = float(test.pvalue[0])
    if p > 1e-8:
        assert np.abs(test.conf_int(p) - 0.5).min() < 1e-6


def test_a_sign_after_the_equals_sign():
    R, null, _ = read_constraints(["log(p)", "z"], "log(p) = -1, z = - log(p), z=-0.5")
    assert R.tolist() == [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    assert null.tolist() == [-1.0, 0.0, -0.5]


def test_wald(averaged):
    V = averaged.cov_params().iloc[1:3, 1:3].to_numpy()
    gap = averaged.params[NAMES[1:]].to_numpy() - [0.5, 1.0]
    test = averaged.wald_test("z = 0.5, g[T.b] = 1")
    assert np.isclose(test.statistic, gap @ np.linalg.solve(V, gap))
    assert test.df == 2
    assert np.isclose(test.pvalue, chi2(2).sf(test.statistic))
    assert list(test.summary_frame().columns) == ["chi2", "P>chi2", "df constraint"]
    one = averaged.wald_test("z = 0.5")
    assert np.isclose(one.statistic, float(averaged.t_test("z = 0.5").tvalue[0]) ** 2)


def test_awkward_names():
    columns = ["Intercept", "poly(age, 2)[1]", "poly(age, 2)[2]", "a b", "x", "x:z"]
    R, r, names = read_constraints(columns, "poly(age, 2)[1] = poly(age, 2)[2], `a b` = 2, x:z - x")
    assert R.tolist() == [[0, 1, -1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, -1, 1]]
    assert r.tolist() == [0, 2, 0]
    assert names == ["poly(age, 2)[1] = poly(age, 2)[2]", "`a b` = 2", "x:z - x"]


def test_fixed_coefficients(mixed):
    res = tg.fit("y ~ z + x | censor(low, 1.4)", mixed, fixed={"z": 0.5, "sigma": 0.4}, method="ep")
    table = res.t_test(np.eye(3)).summary_frame()  # z is the second of the columns
    assert table["std err"].to_numpy()[1] == 0.0
    assert table["P>|z|"].isna().tolist() == [False, True, False]
    for text in ("z = 0, x = 0", "x = 0, sigma = 1", "sigma = 0.4", ["x = 0", "2*sigma = 1"]):
        for test in (res.t_test, res.wald_test):
            with pytest.raises(
                SpecError, match=r"The hypothesis '.*(z|sigma) = .*' is about parameters that are fixed"
            ):
                test(text)
    with pytest.raises(SpecError, match="not be about fixed coefficients"):
        res.wald_test(np.eye(3))


@pytest.mark.parametrize("wrong", ["nothing = 0", "z =", "tau = 1", [[1.0, 2.0]], 3.5, [], [[np.nan, 0.0, 0.0]]])
def test_unreadable_hypotheses(averaged, wrong):
    with pytest.raises(SpecError, match="Intercept"):
        averaged.t_test(wrong)


def test_dependent_hypotheses(averaged):
    with pytest.raises(SpecError, match="depend"):
        averaged.wald_test("z = 0, 2*z = 0")


def test_prediction_frame(averaged, mixed):
    new = mixed.head(4)
    prediction = averaged.get_prediction(new)
    assert repr(prediction) == repr(prediction.summary_frame())
    assert prediction._repr_html_().startswith("<table")
    frame = prediction.summary_frame(alpha=0.1)
    mean = averaged.predict(new, "uncensored", interval=0.9)
    obs = averaged.predict(new, "quantile", q=[0.05, 0.95])
    assert np.allclose(frame, pd.concat([mean, obs], axis=1))
    assert np.allclose(prediction.predicted_mean, mean["estimate"])
    assert np.allclose(prediction.se_mean, mean["se"])
    assert np.allclose(prediction.conf_int(obs=True, alpha=0.1), obs)
    assert np.allclose(prediction.conf_int(alpha=0.1), mean[["lower", "upper"]])
    with pytest.raises(SpecError, match="alpha="):
        prediction.summary_frame(2)


def test_prediction_frame_beside_ols(mixed):
    """Without censoring and with a flat prior the columns are those of ordinary least squares."""
    import statsmodels.formula.api as smf

    ols = smf.ols("y ~ z", mixed).fit()
    res = tg.fit("y ~ z", mixed, fixed={"sigma": float(np.sqrt(ols.scale))}, priors={}, method="ep")
    mine, theirs = res.get_prediction().summary_frame(), ols.get_prediction().summary_frame()
    assert list(mine.columns) == list(theirs.columns)
    assert np.allclose(mine, theirs, atol=0.05)
