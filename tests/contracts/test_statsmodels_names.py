"""Every public name of statsmodels' results: what the table says of it holds for every kind of fit."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from support import statsmodels_page as page
from support.kinds import KINDS, N, fitted, rows

import tobitgp as tg
from tobitgp.errors import SpecError, TobitGPError, UnavailableError
from tobitgp.results.interfaces.statsmodels_names import STATSMODELS_CLASSES, STATSMODELS_NAMES
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.why_not import WHY_NOT, known_facts, reason_of

NOT_A_NUMBER = {"llf", "aic", "bic", "cov_type"}  # NaN, or the default, of a posterior


def hypothesis(res):
    """That the first coefficient is zero."""
    return np.eye(len(res._testable(None)[1]))[:1]


CALLS = {
    "f_test": lambda res: res.f_test(hypothesis(res)).pvalue,
    "t_test": lambda res: res.t_test(hypothesis(res)).pvalue,
    "wald_test": lambda res: res.wald_test(hypothesis(res)).pvalue,
    "wald_test_terms": lambda res: res.wald_test_terms().table,
    "info_criteria": lambda res: res.info_criteria("aic"),
    "outlier_test": lambda res: res.outlier_test(),
    "summary": lambda res: str(res.summary()),
    "summary2": lambda res: str(res.summary2()),
    "conf_int": lambda res: res.conf_int(),
    "cov_params": lambda res: res.cov_params(),
    "get_hat_matrix_diag": lambda res: res.get_hat_matrix_diag(),
    "get_influence": lambda res: res.get_influence().summary_frame(),
    "get_robustcov_results": lambda res: res.get_robustcov_results("HC0").bse,
    "pseudo_rsquared": lambda res: res.pseudo_rsquared(),
}
NEED_ARGUMENTS = {  # calls that need more than the fit where they have a meaning
    "compare_lr_test": lambda res: res.compare_lr_test(res),
    "get_margeff": lambda res: res.get_margeff(),
    "t_test_pairwise": lambda res: res.t_test_pairwise("g"),
}


@pytest.fixture(scope="module")
def theirs():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40), "t": rng.exponential(size=40)})
    fits = {
        "OLS": smf.ols("y ~ x", data).fit(),
        "GLM": smf.glm("y ~ x", data).fit(),
        "PHReg": smf.phreg("t ~ x", data).fit(),
    }
    return {name: {each for each in dir(fit) if not each.startswith("_")} for name, fit in fits.items()}


def test_the_table_has_every_name_of_the_installed_version(theirs):
    for of, names in theirs.items():
        assert names <= set(STATSMODELS_CLASSES[of])
    assert set().union(*STATSMODELS_CLASSES.values()) == set(STATSMODELS_NAMES)


def test_the_page_shows_the_table():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "python -m tests.support.statsmodels_page writes it"


@pytest.mark.parametrize(("of", "least"), [("OLS", 46), ("GLM", 46), ("PHReg", 28)])
def test_most_names_are_available(of, least, theirs):
    available = [name for name in theirs[of] if STATSMODELS_NAMES[name].meaning != "none"]
    assert len(available) >= least
    ours = {name for kind in tg.__all__ if kind.endswith("Results") for name in dir(getattr(tg, kind))}
    assert set(available) <= ours


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_a_name_has_a_value_or_a_reason(kind):
    res = fitted(kind)
    for name, row in STATSMODELS_NAMES.items():
        reason = reason_of(WHY_NOT.get(name, ()), known_facts(res))
        if reason is not None and name in NOT_A_NUMBER and hasattr(res, name):
            assert getattr(res, name) == "nonrobust" or np.isnan(getattr(res, name)), name
        elif reason is None:
            value = getattr(res, name)
            found = CALLS[name](res) if name in CALLS else value
            assert found is not None, name
        else:
            with pytest.raises(UnavailableError) as error:
                (CALLS | NEED_ARGUMENTS).get(name, lambda res, name=name: getattr(res, name))(res)
            said = str(error.value)
            assert reason.words in said or "a baseline or terms with priors" in said or "Use that of a cause" in said, (
                name
            )
        assert (row.meaning == "none") <= (reason is not None), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_has_the_likelihood_of_a_maximum(kind):
    res = fitted(kind)
    if not isinstance(res, LikelihoodResults) or kind == "frailty":
        with pytest.raises(UnavailableError, match=r"model\.loglike"):
            res.model.loglike(res.params)
        return
    np.testing.assert_allclose(res.model.loglike(res.params), res.llf, rtol=1e-10)
    free = np.isfinite(res.bse) & (res.bse > 0.0)
    np.testing.assert_allclose(res.model.score(res.params)[free] * res.bse[free], 0.0, atol=1e-4)
    moved = res.params + 0.1 * res.bse
    assert res.model.loglike(moved) < res.llf
    if kind == "box-cox":  # whose covariance takes the unit of the transformed response as known, (BC6)
        return
    positive = res.influence().columns.str.match(r"log\((?!.*\)\[)")
    scale = np.where(positive, res.params, 1.0)
    V = res.cov_params().to_numpy() / np.outer(scale, scale)
    weight = np.ones(len(res.score_residuals)) if kind != "weights" else res.parts.rows.response.weight
    step = res.influence().dropna().to_numpy()
    np.testing.assert_allclose(
        step, weight[:, None] * res.score_residuals @ V, rtol=1e-4, atol=1e-6 * np.abs(step).max()
    )


def test_robust_covariances_of_causes_are_those_of_each():
    res = tg.fit("Surv(time, cause) ~ z", rows(), family="weibull")
    found = res.cov_HC0.to_numpy()
    for block, cause in ((found[:3, :3], res[1]), (found[3:, 3:], res[2])):
        np.testing.assert_allclose(block, cause.cov_HC0, rtol=1e-5)
    assert (found[:3, 3:] != 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_without_rows_a_name_has_a_value_or_a_clear_error(kind):
    res = copy.copy(fitted(kind))
    res.remove_data()
    for name in [*STATSMODELS_NAMES, "tidy", "glance", "augment"]:
        try:
            CALLS.get(name, lambda res, name=name: getattr(res, name))(res)
        except TobitGPError:
            assert name not in ("params", "bse", "tidy", "glance", "summary") or kind in ("latent", "measured")
    assert fitted(kind).parts.training is not None
    assert len(res.tidy()) == len(res.params)
    assert len(res.glance()) == 1
    with pytest.raises(TobitGPError, match="rows"):
        res.augment()


def test_the_error_of_a_refused_name_says_what_to_use():
    for name, row in STATSMODELS_NAMES.items():
        if row.meaning == "none":
            with pytest.raises(AttributeError, match=re.escape(f"{row.words} {row.instead}")):
                getattr(fitted("regression"), name)
            assert not hasattr(fitted("process"), name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_arguments_of_statsmodels_ask_for_parts_of_what_there_is(kind):
    """A fit without the question refuses it with its own reason, never for an argument that it does not know."""
    res, new = fitted(kind), rows()[N:]
    try:
        whole = res.cov_params()
    except UnavailableError:
        with pytest.raises(UnavailableError):
            res.cov_params(column=0)
    else:
        V, R = whole.to_numpy(), np.arange(2.0 * len(whole)).reshape(2, -1)
        assert res.cov_params(column=0) == pytest.approx(V[0, 0], nan_ok=True)
        np.testing.assert_array_equal(res.cov_params(column=[0, -1]), V[np.ix_([0, -1], [0, -1])])
        np.testing.assert_allclose(res.cov_params(r_matrix=R), R @ V @ R.T)
        for wrong in ({"column": len(whole)}, {"r_matrix": R[:, 1:]}, {"column": 0, "r_matrix": R}):
            with pytest.raises(SpecError):
                res.cov_params(**wrong)
        pd.testing.assert_frame_equal(res.conf_int(cols=[0]), res.conf_int().iloc[[0]])
    try:
        values = res.predict(new)
    except UnavailableError:
        with pytest.raises(UnavailableError):
            res.predict(exog=new)
    else:
        np.testing.assert_array_equal(res.predict(exog=new), values)
        with pytest.raises(SpecError, match="not both"):
            res.predict(new, exog=new)
    shown = str(res.summary(yname="the response", title="The title"))
    assert "The title" in shown
    assert "the response" in shown


def test_a_summary_has_the_names_given():
    res = fitted("regression")
    names = [f"parameter {i}" for i in range(len(res.params))]
    shown = str(res.summary(xname=names))
    assert all(name in shown for name in names)
    with pytest.raises(SpecError, match="must be a list of"):
        res.summary(xname=names[2:])
