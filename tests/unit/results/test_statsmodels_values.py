"""Names of statsmodels have its values on uncensored normal data, or differ by what the table of names says."""

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import optimize, stats
from statsmodels.iolib.summary2 import summary_col
from statsmodels.stats import diagnostic
from statsmodels.stats.outliers_influence import reset_ramsey
from statsmodels.stats.stattools import durbin_watson, jarque_bera

import tobitgp as tg
from tobitgp.errors import SpecError, UnavailableError

pytestmark = [
    pytest.mark.filterwarnings("ignore:No row is censored:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* currently returns a plain tuple:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Series.__getitem__ treating keys:FutureWarning"),  # in statsmodels
]
FORMULA, COLUMNS = "y ~ C(g) + x", ["Intercept", "C(g)[T.b]", "C(g)[T.c]", "x"]
SCRIPT = Path(__file__).parents[3] / "docs" / "migration" / "statsmodels_script.py"


def close(ours, theirs, tolerance=1e-8):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    n = 60
    x, g = rng.normal(size=n), rng.choice(list("abc"), n)
    y = 1.0 + 0.5 * x + (g == "b") + rng.normal(size=n) * np.exp(0.3 * x)
    return pd.DataFrame({"x": x, "g": g, "y": y, "w": rng.integers(1, 4, n), "cluster": np.arange(n) // 4})


@pytest.fixture(scope="module")
def ours(data):
    return tg.fit(FORMULA, data)


@pytest.fixture(scope="module")
def ols(data):
    return smf.ols(FORMULA, data).fit()


@pytest.fixture(scope="module")
def glm(data):
    return smf.glm(FORMULA, data).fit()


@pytest.mark.parametrize(
    "name",
    ["llf", "nobs", "fittedvalues", "resid", "wresid", "k_constant", "condition_number", "eigenvals", "df_model"],
)
def test_values_of_least_squares(name, ours, ols):
    close(getattr(ours, name), getattr(ols, name))


@pytest.mark.parametrize("name", ["cov_HC0", "HC0_se", "normalized_cov_params", "params"])
def test_coefficients_of_least_squares(name, ours, ols):
    found = np.asarray(getattr(ours, name))
    close(found[(slice(0, 4),) * found.ndim], getattr(ols, name))


def test_values_differ_from_least_squares_by_the_factors_of_the_table(ours, ols, data):
    n, k = 60, 4
    close(ours.scale * n / (n - k), ols.scale)
    close(ours.bse[COLUMNS] * np.sqrt(n / (n - k)), ols.bse)
    close(ours.standard_errors[:k] * np.sqrt(n / (n - k)), ols.bse)
    close(ours.cov_params().loc[COLUMNS, COLUMNS] * (n / (n - k)), ols.cov_params())
    close(ours.resid_pearson / np.sqrt(n / (n - k)), ols.resid_pearson)
    close(ours.HC1_se[COLUMNS] ** 2 * (n - k - 1) / (n - k), ols.HC1_se**2)
    close(ours.cov_HC1.loc[COLUMNS, COLUMNS] * (n - k - 1) / (n - k), ols.cov_HC1)
    close(ours.fvalue * (n - k) / n, ols.fvalue)
    close(ours.f_pvalue, stats.f.sf(ours.fvalue, k - 1, n - k - 1))
    close(ours.f_test("x = 0, C(g)[T.b] = 0").fvalue * (n - k) / n, ols.f_test("x = 0, C(g)[T.b] = 0").fvalue)
    close(ours.df_resid, ols.df_resid - 1)
    theirs = ols.wald_test_terms(scalar=True).table.loc[["x", "C(g)"]]
    table = ours.wald_test_terms().table.loc[["x", "C(g)"]]
    close(table["statistic"] * (n - k) / n / table["df_constraint"], theirs["statistic"])
    for crit in ("aic", "bic", "aicc", "hqic"):
        close(ours.info_criteria(crit), ols.info_criteria(crit, dk_params=1))
    close(ours.info_criteria("aic"), ours.aic)
    close(ours.bic_llf, ours.bic)


def test_values_of_a_generalised_linear_model(ours, glm, ols):
    close(ours.mu, glm.mu)
    close(ours.resid_response, glm.resid_response)
    close(ours.resid_working, glm.resid_working)
    close(ours.get_hat_matrix_diag(), glm.get_hat_matrix_diag())
    close(ours.resid_deviance * np.sqrt(ours.scale), glm.resid_deviance)
    close(ours.deviance * ours.scale, glm.deviance)
    close(ours.pseudo_rsquared(), ols.rsquared)
    close(ours.llf, glm.llf)
    null = -30.0 * (np.log(2 * np.pi * ols.centered_tss / 60) + 1.0)
    close(ours.llnull, null)
    close(ours.pseudo_rsquared("mcf"), 1.0 - glm.llf / null)
    with pytest.raises(SpecError, match="kind='r2' is not supported"):
        ours.pseudo_rsquared("r2")


def test_values_with_weights(data):
    """Weights of precision, whose mean is 1 here, and frequency weights, whose leverages in GLM are of all copies."""
    precise, wls = tg.fit(FORMULA, data, var_weights="w"), smf.wls(FORMULA, data, weights=data["w"]).fit()
    mean = data["w"].mean()
    close(precise.wresid * np.sqrt(mean), wls.wresid)
    close(precise.resid, wls.resid)
    close(precise.get_hat_matrix_diag(), smf.glm(FORMULA, data, var_weights=data["w"]).fit().get_hat_matrix_diag())
    table = data.assign(v=data["w"] / 7.3)
    close(
        tg.fit(FORMULA, table, weights="v", cov_type="HC0").HC0_se[COLUMNS],
        smf.wls(FORMULA, table, weights=table["v"]).fit().HC0_se,
    )
    frequent, glm = tg.fit(FORMULA, data, weights="w"), smf.glm(FORMULA, data, freq_weights=data["w"]).fit()
    close(frequent.nobs, glm._iweights.sum())
    close(frequent.get_hat_matrix_diag() * data["w"], glm.get_hat_matrix_diag())
    close(frequent.deviance * frequent.scale, glm.deviance)
    close(frequent.normalized_cov_params.loc[COLUMNS, COLUMNS], glm.normalized_cov_params)


def test_hypotheses_as_statsmodels_writes_them(ours, ols):
    R = np.array([[0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    wide = np.column_stack([R, np.zeros(2)])
    close(ours.t_test(r_matrix=R).effect, ols.t_test(R).effect)
    close(ours.t_test(wide).tvalue, ours.t_test(R).tvalue)
    close(ours.wald_test((wide, [0.0, 0.1])).statistic, ours.wald_test((R, [0.0, 0.1])).statistic)
    close(
        ours.wald_test(r_matrix=R, scalar=True).statistic * 56 / 60,
        ols.wald_test(R, use_f=False, scalar=True).statistic,
    )
    close(ours.wald_test(R, use_f=True).fvalue, ours.f_test(R).fvalue)
    wide[0, -1] = 1.0
    for wrong in (
        lambda: ours.t_test(wide),
        lambda: ours.t_test(R, r_matrix=R),
        ours.wald_test,
    ):
        with pytest.raises(SpecError):
            wrong()


def test_a_likelihood_ratio_is_that_of_least_squares(ours, ols, data):
    smaller, theirs = tg.fit("y ~ x", data), smf.ols("y ~ x", data).fit()
    close(ours.compare_lr_test(smaller), tuple(ols.compare_lr_test(theirs)))


def test_robust_covariances_of_a_finished_fit(ours, ols, data):
    close(ours.get_robustcov_results("HC0").bse[COLUMNS], ols.HC0_se)
    close(ours.get_robustcov_results("HC0").bse, ours.HC0_se)
    groups = {"groups": data["cluster"], "use_correction": False}
    theirs = ols.get_robustcov_results("cluster", use_t=False, **groups)
    found = ours.get_robustcov_results("cluster", groups=data["cluster"])
    close(found.bse[COLUMNS], theirs.bse)
    close(found.pvalues[COLUMNS], theirs.pvalues)
    assert (found.cov_type, found.covariance_type) == ("cluster", "cluster")
    close(found.get_robustcov_results("nonrobust").bse, ours.bse)
    for cov_type, groups in (("HC3", None), ("cluster", None), ("HC0", data["g"]), ("cluster", [1, 2])):
        with pytest.raises(SpecError):
            ours.get_robustcov_results(cov_type, groups=groups)


def test_influence_is_that_of_least_squares_but_for_the_scale(ours, ols):
    n, k = 60, 4
    found, theirs = ours.get_influence(), ols.get_influence()
    close(found.hat_matrix_diag, theirs.hat_matrix_diag)
    close(found.resid_studentized_internal * np.sqrt((n - k) / n), theirs.resid_studentized_internal)
    close(found.resid_studentized_external, theirs.resid_studentized_external)
    close(found.cooks_distance[0] * (n - k) / n, theirs.cooks_distance[0])
    close(found.dffits_internal[0] * np.sqrt((n - k) / n), theirs.dffits_internal[0])
    assert list(found.summary_frame().columns[-5:]) == list(theirs.summary_frame().columns[4:9])


def test_pairs_of_levels_are_those_of_statsmodels(ours, ols):
    found, theirs = ours.t_test_pairwise("C(g)").result_frame, ols.t_test_pairwise("C(g)").result_frame
    assert list(found.index) == list(theirs.index)
    close(found["coef"], theirs["coef"])
    close(found["std err"] * np.sqrt(60 / 56), theirs["std err"])
    from statsmodels.stats.multitest import multipletests

    close(found["pvalue-hs"], multipletests(found["P>|z|"], method="hs")[1])
    for wrong in ("x", "h", None):
        with pytest.raises(SpecError, match="term_name="):
            ours.t_test_pairwise(wrong)


def test_pairs_of_levels_do_not_depend_on_their_coding(ours, data):
    found = ours.t_test_pairwise("C(g)").result_frame
    for term in ("C(g, Sum)", "C(g, Helmert)", "C(g, Treatment('b'))"):
        other = tg.fit(f"y ~ {term} + x", data).t_test_pairwise(term).result_frame
        close(other[["coef", "std err", "pvalue-hs"]], found[["coef", "std err", "pvalue-hs"]])
        assert list(other.index) == list(found.index)


def test_outliers_of_normal_rows(ours):
    found = ours.outlier_test()
    close(found["student_resid"], ours.resid / np.sqrt(ours.scale))
    close(found["bonf(p)"], np.minimum(60 * 2 * stats.norm.sf(np.abs(found["student_resid"])), 1.0))


# -- censored rows ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tobit(data):
    table = data.assign(y=np.maximum(data["y"], 0.7))
    X, y, w = np.column_stack([np.ones(60), data["x"]]), table["y"].to_numpy(), data["w"].to_numpy(dtype=float)
    below = y <= 0.7

    def rows(theta):
        z = (y - X @ theta[:2]) / np.exp(theta[2])
        return np.where(below, stats.norm.logcdf(z), stats.norm.logpdf(z) - theta[2])

    res = tg.fit("y ~ x | censor(0.7)", table, weights="w")
    theta = np.array([*res.params.iloc[:2], np.log(res.params["sigma"])])
    return res, rows, theta, w, X


def test_the_likelihood_of_censored_rows(tobit):
    res, rows, theta, w, _ = tobit
    other = theta + np.array([0.3, -0.2, 0.1])
    params = [*other[:2], np.exp(other[2])]
    close(res.model.loglike(params), w @ rows(other))
    by_theta = optimize.approx_fprime(other, lambda t: w @ rows(t), 1e-6)
    np.testing.assert_allclose(res.model.score(params), by_theta / [1.0, 1.0, params[2]], rtol=1e-4)
    np.testing.assert_allclose(np.linalg.inv(-res.model.hessian(res.params)), res.cov_params(), rtol=1e-3)
    for wrong in (params[:2], [*params[:2], -1.0], [np.nan, 0.0, 1.0]):
        with pytest.raises(SpecError, match="params="):
            res.model.loglike(wrong)


def slopes(rows, theta):
    """Derivatives (n, k) of the log likelihood of rows."""
    return np.column_stack([optimize.approx_fprime(theta, lambda t, i=i: rows(t)[i], 1e-7) for i in range(60)]).T


def test_scores_and_robust_covariances_of_censored_rows(tobit):
    res, rows, theta, w, _ = tobit
    found = slopes(rows, theta)
    np.testing.assert_allclose(res.score_residuals, found, atol=1e-5)
    np.testing.assert_allclose(w @ res.score_residuals, 0.0, atol=1e-6)
    hessian = np.array(
        [[central(lambda t: w @ rows(t), theta, i, j) for j in range(3)] for i in range(3)],
    )
    V = np.linalg.inv(hessian)
    V = V @ (found.T * w) @ found @ V
    to_sigma = np.array([1.0, 1.0, np.exp(theta[2])])
    np.testing.assert_allclose(res.cov_HC0, V * np.outer(to_sigma, to_sigma), rtol=1e-4)


def central(f, theta, i, j, h=1e-4):
    """A second derivative."""
    e = h * np.eye(len(theta))
    return (f(theta + e[i] + e[j]) - f(theta + e[i] - e[j]) - f(theta - e[i] + e[j]) + f(theta - e[i] - e[j])) / (
        4 * h * h
    )


def test_leverages_of_censored_rows(tobit):
    res, rows, theta, w, X = tobit
    h = 1e-4

    def at(eta):
        return rows(theta + np.array([eta, 0.0, 0.0]))

    u, v = (at(h) - at(-h)) / (2 * h), -(at(h) - 2 * at(0.0) + at(-h)) / h**2
    np.testing.assert_allclose(res.resid_working, u / v, rtol=1e-4)
    leverage = v * np.einsum("ij,jk,ik->i", X, np.linalg.inv((X.T * (w * v)) @ X), X)
    np.testing.assert_allclose(res.get_hat_matrix_diag(), leverage, rtol=1e-5)
    assert np.isclose(w @ leverage, 2.0)


# -- what users of statsmodels then do --------------------------------------------------------------------------------


def test_diagnostics_of_statsmodels_take_residuals_and_columns(ours, ols):
    exog = ours.model.exog
    close(exog, ols.model.exog)
    close(ours.model.endog, ols.model.endog)
    close(diagnostic.het_breuschpagan(ours.resid, exog), diagnostic.het_breuschpagan(ols.resid, ols.model.exog))
    close(diagnostic.acorr_breusch_godfrey(ours, nlags=2), diagnostic.acorr_breusch_godfrey(ols, nlags=2))
    close(reset_ramsey(ours).fvalue, reset_ramsey(ols).fvalue)
    close(durbin_watson(ours.resid), durbin_watson(ols.resid))
    close(jarque_bera(ours.resid), jarque_bera(ols.resid))
    close(diagnostic.acorr_ljungbox(ours.resid, lags=3), diagnostic.acorr_ljungbox(ols.resid, lags=3))
    close(
        diagnostic.het_goldfeldquandt(ours.model.endog, exog)[0],
        diagnostic.het_goldfeldquandt(ols.model.endog, exog)[0],
    )


def test_tables_of_statsmodels_take_results(ours, ols):
    text = summary_col([ours, ols], stars=True).as_text()
    assert text.count(f"{ols.params['x']:.4f}") == 2
    table = ours.summary2(yname="response", xname=list("abcde"), title="Title").tables[1]
    close(table.iloc[:, 0], ours.params)
    assert list(table.index) == list("abcde")


@pytest.mark.slow
def test_figures_of_statsmodels_take_results(ours, ols):
    mpl.use("Agg")
    from matplotlib import pyplot

    draw = sm.graphics
    for figure in (
        draw.influence_plot(ours),
        draw.plot_leverage_resid2(ours),
        draw.plot_fit(ours, "x", vlines=False),
        draw.plot_ccpr(ours, "x"),
        draw.plot_partregress_grid(ours),
    ):
        assert figure.axes[0].collections or figure.axes[0].lines
    pyplot.close("all")
    found, theirs = ([*draw.plot_fit(res, "x", vlines=False).axes[0].lines] for res in (ours, ols))
    for one, other in zip(found, theirs, strict=True):
        close(one.get_xydata(), other.get_xydata())
    pyplot.close("all")


def test_an_endogenous_column_of_censored_rows_is_their_limit():
    rows = pd.DataFrame(
        {"lower": [-np.inf, 1.0, 2.0, 3.0], "upper": [1.0, 1.0, 4.0, np.inf], "x": [0.0, 1.0, 2.0, 4.0]}
    )
    res = tg.fit("interval(lower, upper) ~ x", rows, fixed={"sigma": 1.0})
    close(res.model.endog, [1.0, 1.0, 3.0, 3.0])


def test_data_are_removed_in_place(data):
    res = tg.fit("y ~ x", data)
    before = res.predict(data)
    assert res.remove_data() is None
    close(res.predict(data), before)
    with pytest.raises(SpecError, match="no training rows"):
        _ = res.resid


def test_a_script_for_statsmodels_runs_with_another_import(capsys):
    """Values of least squares and of maximum likelihood, whose errors divide by n where others divide by n - p."""
    text, found = SCRIPT.read_text(encoding="utf-8"), []
    line = "from statsmodels.formula.api import ols"
    assert line in text
    for imported in (line, "from tobitgp import Model as ols"):
        names = {}
        exec(compile(text.replace(line, imported), str(SCRIPT), "exec"), names)
        found.append(names)
        plt.close("all")
    assert "Credit cards" in capsys.readouterr().out
    theirs, ours = found
    smaller = np.sqrt(ours["res"].nobs / (ours["res"].nobs - 4.0))
    for name in ("estimate", "likelihood", "slope", "larger", "sandwich", "means", "heteroscedastic"):
        close(ours[name], theirs[name])
    for name in ("inflation", "serial", "skewed", "leverage"):
        close(ours[name], theirs[name])
    close(ours["error"] * smaller, theirs["error"])
    close(ours["together"] / smaller**2, theirs["together"])
    close(ours["distance"] / smaller**2, theirs["distance"])


@pytest.mark.parametrize("rows", ["shuffled", "from 100", "text", "one missing"])
def test_figures_do_not_depend_on_the_index(rows, data):
    frame = data.copy()
    if rows == "one missing":
        frame.loc[5, "x"] = np.nan
    else:
        order = np.random.default_rng(1).permutation(len(frame))
        frame.index = order if rows == "shuffled" else order + 100 if rows == "from 100" else [f"r{i}" for i in order]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 60 rows|1 row")
        fits = tg.fit("y ~ x", frame), smf.ols("y ~ x", frame).fit()
    for figure in (
        lambda res: sm.graphics.plot_fit(res, "x", vlines=False),
        lambda res: sm.graphics.plot_ccpr(res, "x"),
        lambda res: sm.graphics.plot_partregress_grid(res),
    ):
        found, theirs = ([line.get_xydata() for ax in figure(res).axes for line in ax.lines] for res in fits)
        assert len(found) == len(theirs) > 0
        for one, other in zip(found, theirs, strict=True):
            close(one, other)
        plt.close("all")


def test_influence_is_of_the_rows_used(data):
    frame = data.copy()
    frame.loc[[5, 9], "x"] = np.nan
    with pytest.warns(UserWarning, match="2 of 60 rows"):
        found = tg.fit("y ~ x", frame).get_influence()
    theirs = smf.ols("y ~ x", frame).fit().get_influence()
    table = found.summary_frame()
    assert list(table.index) == list(theirs.summary_frame().index)
    close(found.hat_matrix_diag, theirs.hat_matrix_diag)
    smaller = np.sqrt(58.0 / 56.0)
    close(table["standard_resid"], theirs.resid_studentized_internal * smaller)
    close(found.d_params[["Intercept", "x"]], theirs.dfbeta * (1.0 - theirs.hat_matrix_diag)[:, None])  # one step
    with pytest.raises(UnavailableError, match="summary_frame"):
        found.cov_ratio  # noqa: B018


def test_corrections_of_clusters_are_those_of_statsmodels(ours, ols, data):
    groups = data["cluster"].to_numpy()
    found = ours.get_robustcov_results("cluster", groups=groups, use_correction=True)
    theirs = ols.get_robustcov_results("cluster", groups=groups, use_correction=True, use_t=False)
    close(found.bse[COLUMNS], theirs.bse, 0.02)  # k counts sigma here
    plain = ols.get_robustcov_results("cluster", groups=groups, use_correction=False, use_t=False)
    close(ours.get_robustcov_results("cluster", groups=groups).bse[COLUMNS], plain.bse, 1e-6)


def test_arguments_of_tables(ours, data):
    assert "Notes" not in str(ours.summary(slim=True))
    names = [f"b{i}" for i in range(4)]
    assert all(name in str(ours.summary(xname=names)) for name in names)
    pd.testing.assert_frame_equal(ours.wald_test_terms(scalar=True).table, ours.wald_test_terms().table)
    new = data.head(3)
    pd.testing.assert_frame_equal(
        ours.get_prediction(exog=new).summary_frame(), ours.get_prediction(new).summary_frame()
    )
    with pytest.raises(SpecError, match="yname=5: must be a text"):
        ours.summary(yname=5)
    with pytest.raises(SpecError, match="about sigma"):
        ours.f_test(np.eye(5)[1:])
