"""Regressions by maximum likelihood, through the formula, against survreg, and in statsmodels' words."""

import re

import numpy as np
import pandas as pd
import pytest
from support.reference import load

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, SpecError

R_NAMES = {"(Intercept)": "Intercept", "Log(scale)": "sigma"}
FAMILIES = {"gaussian": "gaussian", "logistic": "logistic", "t_df4": tg.Student(df=4)}
LUNG = {"weibull": "weibull", "lognormal": "lognormal", "loglogistic": "loglogistic", "exponential": "exponential"}


@pytest.fixture(scope="module")
def complete(lung):
    return lung.dropna(subset=["age", "sex", "ph_ecog"])


def tobin_fit(tobin, **options):
    return tg.fit("durable ~ age + quant | censor(0)", tobin, method="mle", **options)


def check(res, case):
    """Coefficients, standard errors (of log sigma) and log likelihood, as recorded from R."""
    for name, value in case["coef"].items():
        assert res.params[R_NAMES.get(name, name)] == pytest.approx(value, rel=1e-5), name
    for name, error in case["se"].items():
        ours = res.bse[R_NAMES.get(name, name)]
        ours = ours / res.params["sigma"] if name == "Log(scale)" else ours
        assert ours == pytest.approx(error, rel=1e-4), name
    assert res.llf == pytest.approx(case["loglik"], abs=1e-6)
    assert res.llnull == pytest.approx(case["loglik_intercept_only"], abs=1e-6)
    assert res.aic == pytest.approx(case["aic"], abs=1e-5)
    assert res.bic == pytest.approx(case["bic"], abs=1e-5)
    assert res.params["sigma"] == pytest.approx(case["scale"], rel=1e-5)
    assert res.converged


@pytest.mark.parametrize("name", FAMILIES)
def test_tobin_by_survreg(tobin, name):
    check(tobin_fit(tobin, family=FAMILIES[name]), load("tobin_tobit.json")[f"survreg_{name}"])


@pytest.mark.filterwarnings("ignore:.* weights are not whole numbers")
def test_tobin_with_weights_and_a_fixed_scale(tobin):
    reference = load("tobin_tobit.json")
    weighted = tobin_fit(tobin, weights=reference["weights_used"])
    # R counts rows in its bic, and these weights count observations.
    assert weighted.params["age"] == pytest.approx(reference["survreg_weighted"]["coef"]["age"], rel=1e-5)
    assert weighted.bse["quant"] == pytest.approx(reference["survreg_weighted"]["se"]["quant"], rel=1e-4)
    assert weighted.llf == pytest.approx(reference["survreg_weighted"]["loglik"], abs=1e-6)
    fixed, case = tobin_fit(tobin, fixed={"sigma": 5.0}), reference["survreg_fixed_scale_5"]
    assert fixed.params["age"] == pytest.approx(case["coef"]["age"], rel=1e-5)
    assert fixed.bse["age"] == pytest.approx(case["se"]["age"], rel=1e-4)
    assert (fixed.params["sigma"], fixed.bse["sigma"]) == (pytest.approx(5.0), 0.0)
    assert fixed.aic == pytest.approx(case["aic"], abs=1e-5)
    assert "(fixed)" in str(fixed.summary())


def test_robust_errors_of_tobin(tobin):
    case = load("tobin_tobit.json")["survreg_robust"]
    res = tobin_fit(tobin, cov_type="HC0")
    assert res.bse["age"] == pytest.approx(case["se"]["age"], rel=1e-4)
    assert res.bse["sigma"] / res.params["sigma"] == pytest.approx(case["se"]["Log(scale)"], rel=1e-4)
    V = np.array(case["vcov"]["values"])
    np.testing.assert_allclose(res.cov_params().to_numpy()[:3, :3], V[:3, :3], rtol=1e-4)
    np.testing.assert_allclose(res.cov_params().to_numpy()[:3, 3] / res.params["sigma"], V[:3, 3], rtol=1e-4)
    assert "HC0" in str(res.summary())


@pytest.mark.parametrize("family", LUNG)
def test_lung_by_survreg(complete, family):
    reference = load("lung_aft.json")
    case = reference[family]
    res = tg.fit("Surv(time, event) ~ age + sex + ph_ecog", complete, family=LUNG[family], method="mle")
    for name, value in case["coef"].items():
        assert res.params[R_NAMES.get(name, name)] == pytest.approx(value, rel=1e-5), name
    assert res.llf == pytest.approx(case["loglik"], abs=1e-6)


def test_tests_of_coefficients(tobin):
    reference = load("tobin_tobit.json")
    whole, part = tobin_fit(tobin), tg.fit("durable ~ age | censor(0)", tobin, method="mle")
    lr, case = whole.lr_test(part), reference["lr_test_drop_quant"]
    assert (lr.statistic, lr.df) == (pytest.approx(case["statistic"], abs=1e-6), case["df"])
    assert lr.pvalue == pytest.approx(case["p_value"], abs=1e-6)
    table = np.array(reference["aer_tobit"]["coef_table"]["values"])
    np.testing.assert_allclose(whole.tvalues.iloc[:3], table[:3, 2], rtol=1e-5)
    np.testing.assert_allclose(whole.pvalues.iloc[:3], table[:3, 3], rtol=1e-5)
    assert whole.wald_test("age = 0, quant = 0").statistic == pytest.approx(
        reference["aer_tobit"]["wald_chisq"], rel=1e-5
    )
    assert whole.t_test("age = 0").tvalue[0] == pytest.approx(whole.tvalues["age"])
    assert np.isnan(whole.tvalues["sigma"])


def test_what_is_no_likelihood_ratio_is_refused(tobin):
    whole, part = tobin_fit(tobin), tg.fit("durable ~ age | censor(0)", tobin, method="mle")
    with pytest.raises(SpecError, match="not nested"):
        part.lr_test(whole)
    with pytest.raises(SpecError, match="its family is logistic"):
        whole.lr_test(tg.fit("durable ~ age | censor(0)", tobin, method="mle", family="logistic"))
    with pytest.raises(SpecError, match="method='mle'"):
        whole.lr_test(tg.fit("durable ~ age | censor(0)", tobin, method=tg.EP(hyper="maximize")))
    with pytest.raises(SpecError, match="different rows"):
        whole.lr_test(tg.fit("durable ~ age | censor(0)", tobin.iloc[1:], method="mle"))


def test_the_table_of_estimates(tobin):
    res = tobin_fit(tobin)
    frame = res.summary_frame()
    assert list(frame.index) == ["Intercept", "age", "quant", "sigma"]
    ends = res.conf_int(0.1)
    reach = 1.6448536269514722 * res.bse
    np.testing.assert_allclose(ends.loc["age"], [res.params["age"] - reach["age"], res.params["age"] + reach["age"]])
    sigma, error = res.params["sigma"], res.bse["sigma"]
    ratio = np.exp(1.6448536269514722 * error / sigma)
    np.testing.assert_allclose(ends.loc["sigma"], [sigma / ratio, sigma * ratio])
    np.testing.assert_allclose(np.sqrt(np.diag(res.cov_params())), res.bse)
    assert (res.df_model, res.df_resid, res.nobs) == (2.0, 16.0, 20.0)
    text = str(res.summary())
    for words in ("Censored regression", "Log-likelihood:", "-28.940", "left-censored: 13"):
        assert words in " ".join(text.split())
    assert "durable" in res.summary().as_html()
    assert "tabular" in res.summary().as_latex()


def test_beside_processes_in_comparisons_and_tables(tobin):
    from statsmodels.iolib.summary2 import summary_col

    fits = {"both": tobin_fit(tobin), "age": tg.fit("durable ~ age | censor(0)", tobin, method="mle")}
    table = tg.compare(fits, by="aic")
    assert list(table.index) == ["age", "both"]
    assert table.loc["both", "value"] == pytest.approx(fits["both"].aic)
    pd.testing.assert_frame_equal(tg.compare(fits), table)
    assert "-28.94" in str(summary_col(list(fits.values())))


def test_offsets_and_fixed_coefficients_are_one(tobin):
    fixed = tobin_fit(tobin, fixed={"quant": -0.05})
    offset = tg.fit("durable ~ age + offset(-0.05 * quant) | censor(0)", tobin, method="mle")
    assert fixed.llf == pytest.approx(offset.llf, abs=1e-8)
    assert fixed.params["age"] == pytest.approx(offset.params["age"], rel=1e-6)
    assert (fixed.bse["quant"], fixed.df_model) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"priors": {"sigma": None}}, "priors="),
        ({"family": "student", "fixed": {"df": 0.0}}, r"Student\(df=0.0\)"),
        ({"family": tg.Student(3), "fixed": {"df": 4.0}}, "'df'"),
        ({"fixed": {"age": 1j}}, "finite number"),
        ({"start": {"sigma": 1.0}}, "start="),
        ({"fixed": {"df": 3.0}}, "'df'"),
        ({"fixed": {"sigma": -1.0}}, "positive"),
        ({"cov_type": "HC7"}, "'HC7'"),
        ({"family": "exponential", "fixed": {"sigma": 2.0}}, "sigma = 1"),
    ],
)
def test_options_that_do_not_go_with_it_are_refused(tobin, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("durable + 1 ~ age | censor(1)", tobin, method="mle", **options)


@pytest.mark.slow
def test_processes_and_covariances_do_not_mix(tobin):
    with pytest.raises(SpecError, match=r"gp\(age\)"):
        tg.fit("durable ~ gp(age) | censor(0)", tobin, method="mle")
    with pytest.raises(SpecError, match="method='mle'"):
        tg.fit("durable ~ age | censor(0)", tobin, cov_type="HC0", method="ep")


def test_no_maximum_is_said_so():
    data = pd.DataFrame({"x": np.arange(12.0), "y": np.zeros(12)})
    with pytest.warns(ConvergenceWarning):
        res = tg.fit("y ~ x | censor(0)", data, method="mle")
    assert not res.converged
    assert "NOT CONVERGED" in str(res.summary())


def test_a_scale_for_each_sex_by_survreg(complete):
    case = load("lung_aft.json")["lognormal_scale_by_sex"]
    formula = "Surv(time, event) ~ age + sex + ph_ecog"
    res = tg.fit(formula, complete, family="lognormal", method="mle", sigma="~ 0 + C(sex)")
    for name, value in case["coef"].items():
        assert res.params[R_NAMES.get(name, name)] == pytest.approx(value, rel=1e-5), name
    for sex in (1, 2):
        assert np.exp(res.params[f"log(sigma)[C(sex)[{sex}]]"]) == pytest.approx(case["scale"][f"sex={sex}"], rel=1e-5)
    assert res.llf == pytest.approx(case["loglik"], abs=1e-6)
    contrast = tg.fit(formula, complete, family="lognormal", method="mle", sigma="~ C(sex)")
    assert contrast.llf == pytest.approx(res.llf, abs=1e-8)
    name = "log(sigma)[C(sex)[T.2]]"
    assert contrast.params[name] == pytest.approx(np.diff(res.params[-2:])[0], abs=1e-7)
    assert np.isfinite(contrast.pvalues[name])
    constant = tg.fit(formula, complete, family="lognormal", method="mle")
    assert tg.fit(formula, complete, family="lognormal", method="mle", sigma="~ 1").llf == pytest.approx(constant.llf)
    fixed = tg.fit(formula, complete, family="lognormal", method="mle", sigma="~ C(sex)", fixed={name: 0.0})
    assert fixed.llf == pytest.approx(constant.llf, abs=1e-8)


def test_clustered_errors_of_singletons_are_robust(tobin):
    clustered = tobin_fit(tobin, cov_type="cluster", cov_kwds={"groups": np.arange(20)})
    np.testing.assert_allclose(clustered.bse, tobin_fit(tobin, cov_type="HC0").bse)
    named = tobin_fit(tobin.assign(g=np.arange(20) // 2), cov_type="cluster", cov_kwds={"groups": "g"})
    assert not np.allclose(named.bse, clustered.bse)
    for kwds in (None, {"group": "g"}):
        with pytest.raises(SpecError, match="groups"):
            tobin_fit(tobin, cov_type="cluster", cov_kwds=kwds)
    with pytest.raises(SpecError, match="'groups' requires cov_type='cluster'"):
        tobin_fit(tobin, cov_type="HC0", cov_kwds={"groups": "age"})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_truncation_and_delayed_entry_are_recovered(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=6000)
    y = 1.0 + 0.5 * x + rng.normal(size=6000)
    seen = y > 0.3
    res = tg.fit("y ~ x | truncate(0.3)", {"x": x[seen], "y": y[seen]}, method="mle")
    assert (np.abs(res.params - [1.0, 0.5, 1.0]) < 4 * res.bse).all()
    blind = tg.fit("y ~ x", {"x": x[seen], "y": y[seen]}, method="mle")
    assert abs(blind.params["x"] - 0.5) > 4 * blind.bse["x"]
    entry, time = rng.uniform(0, 2, 6000), np.exp(y)
    late = time > entry
    data = {"x": x, "entry": entry, "time": np.minimum(time, 6.0), "event": (time <= 6.0).astype(int)}
    data = {name: values[late] for name, values in data.items()}
    res = tg.fit("Surv(entry, time, event) ~ x", data, method="mle", family="lognormal")
    assert (np.abs(res.params - [1.0, 0.5, 1.0]) < 4 * res.bse).all()
    posterior = tg.fit("Surv(entry, time, event) ~ x", data, family="lognormal", method="ep")
    assert (np.abs(res.params - posterior.params) < 0.1 * res.bse).all()
    np.testing.assert_allclose(posterior.bse, res.bse, rtol=0.05)


def test_sigma_has_its_place(tobin):
    with pytest.raises(SpecError, match="without an intercept requires method='mle'"):
        tg.fit("durable ~ age | censor(0)", tobin, sigma="~ 0 + age", method="ep")
    with pytest.raises(SpecError, match="has sigma = 1"):
        tg.fit("durable + 1 ~ age | censor(1)", tobin, method="ep", family="exponential", sigma="~ age")
    with pytest.raises(SpecError, match="has sigma = 1"):
        tg.fit("durable + 1 ~ age | censor(1)", tobin, method="mle", family="exponential", sigma="~ age")


def test_nested_models_in_other_words(complete):
    """What is nested is a matter of spans, not of names."""

    def fit(terms, **options):
        options = {"family": "weibull", **options}
        return tg.fit(f"Surv(time, event) ~ {terms}", complete, method="mle", **options)

    whole = fit("age + C(sex)")
    exponential = whole.lr_test(fit("age + C(sex)", family="exponential"))
    assert exponential.df == 1
    assert exponential.pvalue < 1e-3
    assert fit("0 + C(sex) + age").lr_test(fit("age")).df == 1
    assert fit("age + C(sex)", sigma="~ C(sex)").lr_test(whole).df == 1
    assert fit("age + I(age ** 2)").lr_test(fit("offset(0.01 * age)")).df == 2
    for other in (fit("offset(0.001 * event)"), fit("age", fixed={"age": 3.0}, family="lognormal"), fit("ph_ecog")):
        with pytest.raises(SpecError, match="not nested"):
            whole.lr_test(other)
    student = tg.fit("log(time) ~ age", complete, method="mle", family=tg.Student(df=3))
    with pytest.raises(SpecError, match="another shape"):
        student.lr_test(tg.fit("log(time) ~ 1", complete, method="mle", family=tg.Student(df=30)))


@pytest.mark.parametrize("shift", [0.0, 2020.0, 1e6, 1e8])
def test_columns_far_from_zero_cost_no_digits(shift):
    rng = np.random.default_rng(4)
    x = np.round(rng.uniform(0, 1, 200) * 1024) / 1024  # exact at every shift
    y = np.maximum(1.0 + 2.0 * x + rng.normal(size=200), 0.0)
    near = tg.fit("y ~ x | censor(0)", {"x": x, "y": y}, method="mle")
    far = tg.fit("y ~ x | censor(0)", {"x": x + shift, "y": y}, method="mle")
    for what in ("latent", "observed"):
        here, there = near.predict(what=what, interval=0.9), far.predict(what=what, interval=0.9)
        np.testing.assert_allclose(there, here, rtol=1e-6)
    effects = [res.marginal_effects("prob", above=1.0).iloc[0] for res in (near, far)]
    np.testing.assert_allclose(effects[0], effects[1], rtol=1e-5)
    assert far.bse["x"] == pytest.approx(near.bse["x"], rel=1e-6)
    assert far.params["Intercept"] == pytest.approx(near.params["Intercept"] - shift * near.params["x"], rel=1e-6)


def test_everything_fixed_but_the_noise(tobin):
    res = tobin_fit(tobin, fixed={"Intercept": 10.0, "age": -0.1, "quant": -0.05})
    assert (res.df_model, res.df_resid) == (0.0, 19.0)
    assert (res.bse[["Intercept", "age", "quant"]] == 0.0).all()
    np.testing.assert_allclose(res.predict(), 10.0 - 0.1 * tobin["age"] - 0.05 * tobin["quant"])


def test_selection_by_likelihood(tobin):
    found = tg.select(["durable ~ age | censor(0)", "durable ~ age + quant | censor(0)"], tobin, by="aic", method="mle")
    assert found.best.formula.strip() == "durable ~ age | censor(0)"
    with pytest.raises(SpecError, match="cannot be combined"):
        tg.select(["durable ~ age | censor(0)"], tobin, method="mle")


def test_selection_chooses_the_method_that_its_criterion_takes(tobin):
    """A linear formula beside a curve is ranked by evidence, alone it may be by likelihood."""
    formulas = {"line": "durable ~ age | censor(0)", "curve": "durable ~ gp(age) | censor(0)"}
    with pytest.warns(UserWarning, match="linear columns differ"):
        found = tg.select(formulas, tobin, method=tg.EP(hyper="maximize", n_starts=1))
    assert {type(fit) for fit in found.results.values()} == {tg.GPResults}
    found = tg.select([formulas["line"]], tobin, by="bic")
    assert type(found.best) is tg.RegressionResults
    with pytest.raises(SpecError, match="'curve' has processes"):
        tg.select(formulas, tobin, by="aic")


def test_df_at_its_bound_has_no_error_and_the_others_those_of_the_normal_distribution(rng):
    x = rng.normal(size=60)
    y = 1.0 + x + 0.5 * np.sqrt(3.0) * rng.uniform(-1.0, 1.0, size=60)  # lighter tails than any Student distribution's
    data = pd.DataFrame({"x": x, "y": y.clip(0.0)})
    normal = tg.fit("y ~ x | censor(0)", data)
    with pytest.warns(BoundaryWarning, match="df grew beyond 1000"):
        res = tg.fit("y ~ x | censor(0)", data, family="student")
    assert res.params["df"] == pytest.approx(1000.0)
    with pytest.warns(ApproximationWarning, match=r"summary_frame\(\): The interval of df has no finite ends.*fixed="):
        assert res.summary_frame().loc["df"].drop("coef").isna().all()
    assert np.isnan(res.cov_params().loc["df", "df"])
    np.testing.assert_allclose(res.bse[:3], normal.bse, rtol=0.01)
    text = str(res.summary())
    assert re.search(r"df +1000.0000 +\(at bound\)", text)
    assert "df grew beyond 1000" in text
