"""What one may ask a regression: predictions, residuals, influence, effects, through the formula."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.posteriors import rows_of
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, SpecError, UnseenLevelError

pytestmark = pytest.mark.diagonal

LUNG = "Surv(time, event) ~ age + sex + ph_ecog"


@pytest.fixture(scope="module")
def res(tobin):
    return tg.fit("durable ~ age + quant | censor(0)", tobin, method="mle")


@pytest.fixture(scope="module")
def complete(lung):
    return lung.dropna(subset=["age", "sex", "ph_ecog"])


@pytest.fixture(scope="module")
def mixed_fit(mixed):
    return tg.fit("y ~ z + g + x | censor(low, 1.4)", mixed, method="mle", sigma="~ g")


def test_moments_of_tobin(res):
    """R's crch and AER: latent mean, mean as recorded, probability of being positive."""
    recorded = load("tobin_tobit.json")["moments_training_rows"]
    table = pd.DataFrame(recorded["values"], columns=recorded["cols"])
    np.testing.assert_allclose(res.predict(what="latent"), table["mean_latent"], rtol=1e-5)
    np.testing.assert_allclose(res.predict(what="observed"), table["mean_recorded"], rtol=1e-5)
    np.testing.assert_allclose(res.predict(what="prob", above=0.0), table["prob_uncensored"], rtol=1e-5)


def test_effects_of_tobin(res):
    case = load("tobin_tobit.json")["marginal_effects_at_means"]
    recorded = res.marginal_effects("observed", at="mean")
    positive = res.marginal_effects("prob", at="mean", above=0.0)
    for name in ("age", "quant"):
        assert recorded.loc[(name, "dy/dx"), "dydx"] == pytest.approx(case["d_recorded_mean"][name], rel=1e-5)
        assert positive.loc[(name, "dy/dx"), "dydx"] == pytest.approx(case["d_prob_positive"][name], rel=1e-5)
    latent = res.marginal_effects()
    np.testing.assert_allclose(latent["dydx"], res.params[["age", "quant"]], rtol=1e-8)
    np.testing.assert_allclose(latent["se"], res.bse[["age", "quant"]], rtol=1e-8)
    np.testing.assert_allclose(recorded["intensive"] + recorded["extensive"], recorded["dydx"], rtol=1e-10)


@pytest.mark.parametrize("family", ["weibull", "lognormal", "loglogistic"])
def test_survival_of_lung_as_lifelines(complete, family):
    case = load("lung_lifelines.json")[f"right_{family}"]
    new = pd.DataFrame(load("lung_lifelines.json")["newdata"])
    res = tg.fit(LUNG, complete, family=family, method="mle")
    # lifelines stops at its own tolerance, about 1e-4 of a parameter.
    np.testing.assert_allclose(res.predict(new, "median"), case["predict_median"], rtol=2e-3)
    np.testing.assert_allclose(res.predict(new, "uncensored"), case["predict_expectation"], rtol=2e-3)
    surviving = res.predict(new, "prob", above=[float(t) for t in case["survival_times"]])
    np.testing.assert_allclose(surviving, case["survival_rows_newdata"], atol=2e-3)


def test_predictions_of_lung_as_survreg(complete):
    case = load("lung_aft.json")["weibull"]
    res = tg.fit(LUNG, complete, family="weibull", method="mle")
    new = pd.DataFrame(case["newdata"])
    table = case["predict_newdata"]["response"]
    # survreg's "response" is exp(eta): the quantile that the noise crosses at 0.
    ours = np.exp(res.predict(new, "latent", se=True))
    np.testing.assert_allclose(ours["estimate"], table["fit"], rtol=1e-5)
    np.testing.assert_allclose(ours["estimate"] * np.log(ours["se"]), table["se"], rtol=1e-4)
    rows = np.array(case["residual_rows_1based"]) - 1
    for kind, name in (("deviance", "deviance"),):
        np.testing.assert_allclose(res.residuals(kind).to_numpy()[rows], case["residuals"][name], rtol=1e-5)


@pytest.mark.parametrize("what", ["latent", "median", "uncensored", "observed", "quantile", "prob"])
def test_errors_against_draws_of_the_estimates(mixed_fit, mixed, rng, what):
    """Standard errors are those of the prediction under normal estimates, to first order."""
    options = {"quantile": {"q": 0.8}, "prob": {"below": 0.5}}.get(what, {})
    new = mixed.head(6)
    table = mixed_fit.predict(new, what, se=True, **options)
    maximum, V = mixed_fit.parts.maximum, mixed_fit.parts.covariance
    h = 1e-5
    gradient = []
    for j in range(len(V)):
        ends = []
        for step in (h, -h):
            theta = maximum.parameters.copy()
            theta[j] += step
            ends.append(at_parameters(mixed_fit, theta).predict(new, what, **options))
        gradient.append((ends[0] - ends[1]) / (2 * h))
    G = np.column_stack(gradient)
    np.testing.assert_allclose(table["se"], np.sqrt(np.einsum("ni,ij,nj->n", G, V, G)), rtol=1e-5)


def at_parameters(res, theta):
    """The same fit with other estimates."""
    from dataclasses import replace

    p = len(res.parts.columns)
    maximum = replace(res.parts.maximum, coefficients=theta[:p], gamma=theta[p:])
    return type(res)(replace(res.parts, maximum=maximum))


def test_terms_add_up_and_can_be_left_out(mixed_fit, mixed):
    table = mixed_fit.predict(what="terms", interval=0.9)
    means = table.xs("estimate", axis=1, level="statistic")
    np.testing.assert_allclose(means.sum(axis=1), mixed_fit.predict(what="latent"), rtol=0, atol=1e-10)
    rest = mixed_fit.predict(mixed, "latent", exclude="z")
    np.testing.assert_allclose(rest, means.drop(columns="z").sum(axis=1), rtol=0, atol=1e-10)
    assert np.allclose(mixed_fit.predict(mixed.drop(columns="z"), "latent", exclude="z"), rest)
    np.testing.assert_allclose(table[("z", "se")], mixed["z"].abs() * mixed_fit.bse["z"])
    with pytest.raises(DataError, match="'g'"):
        mixed_fit.predict(mixed.drop(columns="g"), exclude="g")  # the noise scale uses it too


def test_rows_and_their_labels(mixed_fit, mixed):
    holed = mixed.copy()
    holed.loc[holed.index[2], "x"] = np.nan
    ours = mixed_fit.predict(holed, "observed", interval=0.9)
    assert list(ours.index) == list(mixed.index)
    assert ours["estimate"].isna().to_numpy().nonzero()[0].tolist() == [2]
    assert (ours["lower"].dropna() >= mixed["low"][ours["lower"].notna()] - 1e-12).all()
    many = mixed_fit.predict(mixed.head(3), "quantile", q=[0.1, 0.9], interval=0.5)
    assert many.columns.names == ["value", "statistic"]
    assert list(mixed_fit.predict(mixed.head(3), "quantile", q=[0.1, 0.9]).columns) == [0.1, 0.9]
    with pytest.raises(UnseenLevelError):
        mixed_fit.predict(mixed.assign(g="new"))
    with pytest.raises(SpecError, match="what='quantile'"):
        mixed_fit.predict(q=0.5)


def test_imputation_is_the_truncated_mean(res, tobin):
    eta, sigma = res.predict(what="latent"), res.params["sigma"]
    filled = res.predict(what="conditional")
    seen = tobin["durable"] > 0
    np.testing.assert_array_equal(filled[seen], tobin.loc[seen, "durable"])
    truth = stats.truncnorm.mean(-np.inf, (0.0 - eta[~seen]) / sigma, eta[~seen], sigma)
    np.testing.assert_allclose(filled[~seen], truth, rtol=1e-8)
    np.testing.assert_allclose(res.predict(tobin, "conditional"), filled)
    band = res.predict(what="conditional", interval=0.9)
    np.testing.assert_allclose(band["estimate"], filled)
    assert (band.loc[seen, "se"] == 0.0).all()
    assert (band.loc[~seen, "upper"] <= 0.0).all()
    with pytest.raises(SpecError, match="exclude"):
        res.predict(what="conditional", exclude=["age"])


@pytest.mark.parametrize("family", ["gaussian", "student", "gumbel", "weibull"])
def test_errors_of_imputed_values_against_draws_of_the_parameters(tobin, family):
    """The delta method against refilling the rows under parameters moved by one standard deviation."""
    data = tobin.assign(durable=tobin["durable"] + 1.0)
    res = tg.fit("durable ~ age + quant | censor(1)", data, family=tg.Student(6) if family == "student" else family)
    table = res.predict(what="conditional", se=True)
    V, theta = res.parts.covariance, res.parts.maximum.parameters
    root = np.linalg.cholesky(V + 1e-14 * np.diag(np.diag(V)))
    p, ends = len(res.parts.columns), res.parts.training.response.within_window
    H = res.parts.training.design.H - res.parts.centre

    def refilled(x):
        rows = rows_of(res.parts.noise, H @ x[:p], np.full(len(H), x[p]), family == "weibull")
        return rows.conditional_mean(*ends)

    moves = [(refilled(theta + 1e-4 * column) - refilled(theta - 1e-4 * column)) / 2e-4 for column in root.T]
    np.testing.assert_allclose(table["se"], np.sqrt(np.square(moves).sum(axis=0)), rtol=1e-4, atol=1e-9)


def test_residuals(res, complete, tobin):
    np.testing.assert_allclose(
        res.residuals("response"), res.predict(what="conditional") - res.predict(what="uncensored"), rtol=1e-10
    )
    weibull = tg.fit(LUNG, complete, family="weibull", method="mle")
    hazard, martingale = weibull.residuals("cox_snell"), weibull.residuals("martingale")
    np.testing.assert_allclose(martingale, complete["event"] - hazard, rtol=1e-10)
    # At the maximum the martingale residuals add up to nothing, since the model has an intercept.
    assert abs(martingale.sum()) < 1e-6
    survival = np.array(
        [weibull.predict(complete.iloc[[i]], "prob", above=float(complete["time"].iloc[i])) for i in (0, 5)]
    )
    np.testing.assert_allclose(hazard.iloc[[0, 5]], -np.log(survival[:, 0]), rtol=1e-8)
    scores = weibull.residuals("quantile", rng=3)
    assert stats.kstest(scores, "norm").pvalue > 0.001
    with pytest.raises(SpecError, match="kind='raw'"):
        res.residuals("raw")


def test_influence_is_what_a_row_changes(res, tobin):
    """One Newton step against fits without a row, which it need not equal but must rank."""
    change = res.influence()
    assert list(change.columns) == ["Intercept", "age", "quant", "log(sigma)"]
    without = []
    for i in range(20):
        rest = tg.fit("durable ~ age + quant | censor(0)", tobin.drop(index=tobin.index[i]), method="mle")
        without.append(res.params["age"] - rest.params["age"])
    assert stats.spearmanr(change["age"], without).statistic > 0.95
    np.testing.assert_allclose(change.sum(), 0.0, atol=1e-6)
    np.testing.assert_allclose(res.influence(scaled=True)["age"], change["age"] / res.bse["age"], rtol=1e-6)


def test_pseudo_r2(res):
    assert res.prsquared == pytest.approx(1.0 - res.llf / res.llnull)
    assert 0.0 < res.prsquared_vz < 1.0


def test_effects_of_factors_and_of_the_noise(mixed_fit, mixed):
    effects = mixed_fit.marginal_effects("prob", below=0.5)
    assert list(effects.index) == [("z", "dy/dx"), ("g", "b - a"), ("x", "dy/dx")]
    sides = [mixed_fit.predict(mixed.assign(g=g), "prob", below=0.5).mean() for g in ("b", "a")]
    assert effects.loc[("g", "b - a"), "dydx"] == pytest.approx(sides[0] - sides[1], rel=1e-8)
    h = 1e-5
    ends = [mixed_fit.predict(mixed.assign(x=mixed["x"] + s), "prob", below=0.5).mean() for s in (h, -h)]
    assert effects.loc[("x", "dy/dx"), "dydx"] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3)


def test_pictures(mixed_fit, complete):
    """The curve drawn is the prediction, with its band; residuals and terms have panels."""
    axes = np.ravel(mixed_fit.plot(interval=0.9))
    assert [ax.get_xlabel() for ax in axes] == ["z", "x"]
    (shown,) = [line for line in axes[1].get_lines() if line.get_label() == "estimate"]
    held = pd.DataFrame(
        {"x": shown.get_xdata(), "z": float(axes[1].get_title(loc="left").split("z = ")[1].split(",")[0])}
    )
    g = "b" if "g = b" in axes[1].get_title(loc="left") else "a"
    np.testing.assert_allclose(shown.get_ydata(), mixed_fit.predict(held.assign(g=g)), atol=2e-3)
    assert len(np.ravel(mixed_fit.plot_terms())) == 3
    assert mixed_fit.plot_residuals()[0].get_xlabel() == "estimate"
    weibull = tg.fit(LUNG, complete, family="weibull", method="mle")
    assert weibull.plot(x="age").get_yscale() == "log"


def test_effects_at_the_mean_of_the_design_are_those_of_margeff():
    """McDonald and Moffitt's formula at the means of all columns, dummies too, as R's censReg::margEff takes it."""
    rng = np.random.default_rng(6)
    data = pd.DataFrame({"x": rng.normal(size=120), "g": rng.choice(["a", "b", "c"], 120, p=[0.5, 0.3, 0.2])})
    y = 0.4 + data["x"] + data["g"].map({"a": 0.0, "b": 0.8, "c": -0.5}) + rng.normal(size=120)
    res = tg.fit("y ~ x + C(g) | censor(0)", data.assign(y=y.clip(lower=0.0)))
    mean, b, sigma = res.parts.rows.design.H.mean(axis=0), res.params.to_numpy()[:-1], res.params["sigma"]
    z = mean @ b / sigma
    names = [("x", "dy/dx"), ("g", "b - a"), ("g", "c - a")]
    columns = [res.model.exog_names.index(name) for name in ("x", "C(g)[T.b]", "C(g)[T.c]")]
    found = res.marginal_effects("observed", at="design")
    np.testing.assert_allclose(found.loc[names, "dydx"], b[columns] * stats.norm.cdf(z), rtol=1e-7)
    phi = stats.norm.pdf(z) / sigma
    G = np.array([np.append(phi * b[j] * mean, -phi * z * b[j]) for j in columns])
    G[range(3), columns] += stats.norm.cdf(z)
    se = np.sqrt(np.einsum("ij,jk,ik->i", G, res.cov_params(), G))
    np.testing.assert_allclose(found.loc[names, "se"], se, rtol=1e-6)
    np.testing.assert_allclose(found["intensive"] + found["extensive"], found["dydx"], rtol=1e-10)
    with pytest.raises(SpecError, match=r"'design' .regressions only"):
        res.marginal_effects(at="median")
