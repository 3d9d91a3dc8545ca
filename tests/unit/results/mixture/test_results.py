"""What a fitted mixture says of itself and of rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from scipy.integrate import quad
from scipy.special import logit, ndtri, stdtrit

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, BoundaryWarning, DataError, SpecError
from tobitgp.mixture import impute, linear_response, posterior_covariance
from tobitgp.results.mixture.mixture_draws import draw_parameters

pytestmark = pytest.mark.diagonal

FORMULA = "y ~ mixture(2) | censor(-4, 4)"
NEW = pd.DataFrame({"y": [-4.0, 0.5, 4.0, np.nan]}, index=list("abcd"))


@pytest.fixture(scope="module")
def y():
    rng = np.random.default_rng(4)
    return np.clip(np.concatenate([rng.normal(-3.0, 1.0, 90), rng.normal(3.0, 1.0, 60)]), -4.0, 4.0)


@pytest.fixture(scope="module")
def res(y):
    return tg.fit(FORMULA, pd.DataFrame({"y": y}, index=np.arange(150) + 7))


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.fixture(scope="module")
def survival(lung):
    return tg.fit("Surv(time, event) ~ mixture(2)", lung, family="weibull")


@pytest.fixture(scope="module")
def arrays(res):
    response = res.parts.training.response
    return response.lower, response.upper


# -- estimates -------------------------------------------------------------------------------------------------------


def test_names_and_order(res):
    assert list(res.params.index) == ["weight[1]", "weight[2]", "mean[1]", "mean[2]", "sd[1]", "sd[2]"]
    assert res.params["mean[1]"] < res.params["mean[2]"]
    assert res.components.index.tolist() == [1, 2]
    np.testing.assert_allclose(res.components["rows"].sum(), res.nobs)
    np.testing.assert_allclose(res.components["exact"].sum(), res.counts["exact"])
    assert (res.df_model, res.df_resid) == (5.0, 145.0)


def test_errors_of_both_kinds(res, arrays):
    fit = res.parts.fit
    V = linear_response(fit, *arrays)
    np.testing.assert_allclose(res.cov_params(), V, rtol=1e-10)
    np.testing.assert_allclose(res.bse, np.sqrt(np.diag(V)), rtol=1e-10)
    np.testing.assert_allclose(res.cov_params("vb"), posterior_covariance(fit), rtol=1e-10)
    wide, narrow = (res.summary_frame(kind=kind)["std err"] for kind in ("linear_response", "vb"))
    assert (wide[["mean[1]", "mean[2]", "sd[1]", "sd[2]"]] > narrow[["mean[1]", "mean[2]", "sd[1]", "sd[2]"]]).all()
    assert res.cov_type == "linear response"


def test_intervals_are_formed_on_their_scales(res):
    """Weights normal as logits; mean and log sd by Student's t with what is left of the rows."""
    ends, bse, both = res.conf_int(0.1), res.bse, np.array([-1, 1])
    for name, value in res.params.items():
        component, se = name[-3:], bse[name]
        df = 0.5 / (bse[f"sd{component}"] / res.params[f"sd{component}"]) ** 2
        if name.startswith("weight"):
            wanted = logit(value) - ndtri(0.05) * se / (value * (1 - value)) * both
            np.testing.assert_allclose(logit(ends.loc[name]), wanted)
        elif name.startswith("mean"):
            np.testing.assert_allclose(ends.loc[name], value + stdtrit(df, 0.95) * se * both)
        else:
            np.testing.assert_allclose(np.log(ends.loc[name]), np.log(value) + stdtrit(df, 0.95) * se / value * both)
        assert df < res.nobs
    frame = res.summary_frame(0.1)
    np.testing.assert_allclose(frame[["lower", "upper"]], ends)
    assert frame[["z", "P>|z|"]].isna().all(axis=None)


@pytest.mark.parametrize("ask", ["cov_params", "conf_int", "summary_frame", "summary"])
def test_unknown_kinds_of_errors_are_refused(res, ask):
    with pytest.raises(SpecError, match="'linear_response', 'vb'"):
        getattr(res, ask)(kind="bootstrap")


@pytest.mark.slow
def test_point_estimates_have_no_posterior(y):
    em = tg.fit("y ~ mixture(2)", {"y": y}, method="em")
    with pytest.raises(SpecError, match="has no posterior"):
        em.cov_params("vb")
    assert em.cov_type == "nonrobust"
    assert em.evidence_kind == "loglik"
    np.testing.assert_allclose(em.llf, em.predictive.logpdf(y).sum(), rtol=1e-10)


def test_hypotheses_about_parameters(res):
    gap = res.params["mean[2]"] - res.params["mean[1]"]
    V = res.cov_params().loc[["mean[1]", "mean[2]"], ["mean[1]", "mean[2]"]].to_numpy()
    se = np.sqrt(V[0, 0] + V[1, 1] - 2 * V[0, 1])
    test = res.t_test("mean[2] = mean[1]")
    np.testing.assert_allclose([test.effect[0], test.sd[0]], [gap, se])
    np.testing.assert_allclose(res.wald_test("mean[2] = mean[1]").statistic, (gap / se) ** 2)


def test_a_single_component_has_a_known_weight(y):
    one = tg.fit("y ~ mixture(1)", {"y": y})
    assert one.params["weight[1]"] == 1.0
    assert one.bse["weight[1]"] == 0.0
    assert one.conf_int().loc["weight[1]"].tolist() == [1.0, 1.0]


def test_history_never_falls(res):
    assert list(res.fit_history.columns) == ["pass", "elbo"]
    assert res.fit_history["elbo"].diff().dropna().ge(-1e-9).all()
    assert res.fit_history["elbo"].iloc[-1] == res.elbo


def test_it_stands_beside_other_fits_in_tables(res, y):
    from statsmodels.iolib.summary2 import summary_col

    line = tg.fit("y ~ 1 | censor(-4, 4)", {"y": y})
    text = str(summary_col([res, line], info_dict=res.default_model_infos, include_r2=False))
    assert "mean[1]" in text
    assert "Left-censored" in text
    table = res.__maketables_coef_table__
    np.testing.assert_allclose(table["b"], res.params)
    assert res.__maketables_stat__("elbo") == res.elbo
    assert res.__maketables_vcov_info__ == {"vcov_type": "linear response"}


# -- predictions -----------------------------------------------------------------------------------------------------


def test_the_predictive_distribution_is_a_mixture_of_students(res):
    fit = res.parts.fit
    mean, tau, a, b = fit.state.components
    shift, scale = fit.units
    x = np.linspace(-8, 8, 9)
    each = st.t.pdf(x[:, None], 2 * a, shift + scale * mean, scale * np.sqrt(b * (tau + 1) / (a * tau)))
    np.testing.assert_allclose(res.predictive.pdf(x), each @ fit.weights, rtol=1e-10)
    np.testing.assert_allclose(quad(res.predictive.pdf, -np.inf, np.inf)[0], 1.0, rtol=1e-6)


def test_every_row_has_the_same_distribution(res):
    distribution = res.predictive
    expected = {
        None: distribution.mean(),
        "uncensored": distribution.mean(),
        "median": distribution.ppf(0.5),
    }
    for what, value in expected.items():
        np.testing.assert_allclose(res.predict(NEW, what), np.full(4, value))
    assert res.predict(NEW).index.tolist() == list("abcd")
    np.testing.assert_allclose(res.predict(NEW, "quantile", q=0.1), distribution.ppf(0.1))
    np.testing.assert_allclose(res.predict(NEW, "prob", below=1.0), distribution.cdf(1.0))
    table = res.predict(NEW, "prob", above=[0.0, 1.0], interval=0.9)
    assert table.columns.names == ["value", "statistic"]
    np.testing.assert_allclose(table[(1.0, "estimate")], distribution.sf(1.0))
    one = res.parts.fit.plug_in()
    middle, reach = logit(one.sf(1.0)), ndtri(0.95) * table[(1.0, "se")] / (one.sf(1.0) * one.cdf(1.0))
    np.testing.assert_allclose(logit(table[(1.0, "upper")]), middle + reach)
    whole = res.predict(what="quantile", q=[0.1, 0.9])
    assert whole.index.equals(pd.RangeIndex(7, 157))
    np.testing.assert_allclose(whole.iloc[3], distribution.ppf([0.1, 0.9]))


def test_observed_means_lie_between_the_limits(res):
    rng = np.random.default_rng(0)
    draws = np.clip(res.parts.fit.plug_in().rvs(400_000, rng), -4, 4)
    found = res.predict(NEW, "observed", interval=0.9)
    np.testing.assert_allclose(found["estimate"], draws.mean(), atol=4 * draws.std() / np.sqrt(400_000))
    assert found["lower"].ge(-4).all()
    assert found["upper"].le(4).all()
    unknown = tg.fit("Surv(y, e) ~ mixture(1)", {"y": [1.0, 2.0, 4.0], "e": [1, 1, 0]}, family="exponential")
    with pytest.raises(SpecError, match="limits are unknown"):
        unknown.predict(what="observed")


def test_conditional_means_are_what_was_seen(res, arrays):
    found = res.predict(NEW, "conditional", interval=0.9)
    lower, upper = np.array([-np.inf, 0.5, 4.0]), np.array([-4.0, 0.5, np.inf])
    mean, _ = impute(res.parts.fit, lower, upper)
    np.testing.assert_allclose(found["estimate"], [*mean, np.nan])
    assert found.loc["b"].tolist() == [0.5, 0.0, 0.5, 0.5]
    assert found.loc["d"].isna().all()
    assert (found.loc[["a", "c"], "se"] > 0).all()
    assert found.loc["c", "lower"] >= 4.0
    np.testing.assert_allclose(res.predict(what="conditional"), impute(res.parts.fit, *arrays)[0])
    with pytest.raises(SpecError, match="lack 'y'"):
        res.predict({"x": [1.0]}, "conditional")


def test_components_of_rows(res, arrays):
    found = res.predict(NEW, "component")
    assert found.columns.tolist() == [1, 2]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.loc["d"], res.parts.fit.weights)
    assert found.loc["a", 1] > 0.99
    assert found.loc["c", 2] > 0.99
    np.testing.assert_allclose(res.predict(what="component"), res.parts.fit.responsibilities(*arrays))
    np.testing.assert_allclose(res.predict({"x": [1.0, 2.0]}, "component"), np.tile(res.parts.fit.weights, (2, 1)))
    with pytest.raises(SpecError, match="no se="):
        res.predict(NEW, "component", se=True)


def test_components_need_what_says_how_rows_were_censored(survival):
    with pytest.raises(SpecError, match=r"what='component' requires the response of each row. .* lack 'event'"):
        survival.predict({"time": [100.0]}, "component")
    with pytest.raises(DataError, match="negative"):
        survival.predict({"time": [-1.0], "event": [1]}, "component")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "latent"}, "'uncensored', 'median'"),
        ({"what": "terms"}, "'uncensored', 'median'"),
        ({"what": "quantile"}, "q="),
        ({"what": "prob"}, "below="),
        ({"what": "median", "q": 0.3}, "q="),
        ({"interval": 95}, "interval="),
        ({"exclude": ["x"]}, "This model has none"),
        ({"exclude": 3}, "exclude=3: exclude must be the name of a term"),
        ({"exclude": [["x"]]}, "This model has none"),
        ({"se": []}, r"se=\[\]: se must be True or False"),
        ({"what": np.array([])}, "'uncensored', 'median'"),
    ],
)
def test_questions_that_make_no_sense(res, options, words):
    with pytest.raises(SpecError, match=words):
        res.predict(NEW, **options)


def test_quantiles_of_counts_have_no_error():
    counts = tg.fit("y ~ mixture(1)", {"y": [1.0, 2.0, 4.0, 3.0]}, family="poisson")
    distribution = counts.predictive
    assert counts.predict({"x": [0]}, "median")[0] == distribution.ppf(0.5) == np.floor(distribution.ppf(0.5))
    np.testing.assert_allclose(counts.predict({"x": [0]}, "prob", below=3), distribution.cdf(2))
    np.testing.assert_allclose(counts.predict({"x": [0]}, "prob", above=3), distribution.sf(3))
    with pytest.raises(SpecError, match="whole number"):
        counts.predict({"x": [0]}, "median", se=True)


@pytest.mark.slow
def test_dask_is_answered_lazily(res, y):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"y": y})
    lazy = res.predict(dd.from_pandas(frame, npartitions=3), "conditional", se=True)
    pd.testing.assert_frame_equal(lazy.compute(), res.predict(frame, "conditional", se=True))


def test_prediction_frames_of_statsmodels(res):
    frame = res.get_prediction(NEW).summary_frame(0.1)
    np.testing.assert_allclose(frame["obs_ci_lower"], res.predictive.ppf(0.05))
    np.testing.assert_allclose(frame["mean"], res.predictive.mean())


# -- draws, residuals, scores ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_draws_carry_uncertainty_of_the_parameters(res):
    one = res.sample(NEW.iloc[:1], draws=4000, rng=1)
    distribution = res.predictive
    assert st.kstest(one.to_numpy().ravel(), distribution.cdf).statistic < 1.95 / np.sqrt(4000)
    many = res.sample(pd.DataFrame(index=range(2000)), draws=300, rng=2)
    se = res.predict(NEW, se=True)["se"].iloc[0]
    np.testing.assert_allclose(many.mean().std(), np.hypot(se, np.sqrt(distribution.var() / 2000)), rtol=0.15)
    assert res.sample(draws=3, what="observed").abs().max(axis=None) <= 4.0
    with pytest.raises(SpecError, match="what='latent'"):
        res.sample(what="latent")
    with pytest.raises(SpecError, match="draws="):
        res.sample(draws=0)


@pytest.mark.slow
def test_rows_are_drawn_where_they_are_known_to_lie(res, y, survival, lung):
    """Means are those of imputation at the estimates, up to what the parameters' errors bend."""
    drawn, expected = res.sample(draws=4000, what="conditional", rng=3), res.predict(what="conditional")
    seen = np.abs(y) < 4.0
    assert (drawn[seen].to_numpy() == y[seen][:, None]).all()
    assert (np.abs(drawn[~seen]) >= 4.0).all(axis=None)
    np.testing.assert_allclose(drawn.mean(axis=1), expected, atol=0.05)
    times = survival.sample(lung.head(9), 4000, what="conditional", rng=4)
    ended = lung["event"].head(9) == 1
    assert (times[ended].to_numpy() == lung["time"].head(9)[ended].to_numpy()[:, None]).all()
    one = tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull")  # with two, errors of shapes bend means
    means = one.sample(lung.head(9), 4000, what="conditional", rng=4).mean(axis=1)
    np.testing.assert_allclose(means, one.predict(lung.head(9), "conditional"), rtol=0.03)
    assert res.sample(NEW, 2, what="conditional").isna().any(axis=1).tolist() == [False, False, False, True]
    with pytest.raises(SpecError, match="'event'"):
        survival.sample(lung[["time"]], what="conditional")


@pytest.mark.slow
def test_imputed_counts_are_counts():
    rng = np.random.default_rng(0)
    y = np.minimum(np.concatenate([rng.poisson(2, 200), rng.poisson(12, 100)]), 14)
    res = tg.fit("y ~ mixture(2) | censor(upper=14)", {"y": y}, family="poisson")
    drawn = res.sample(draws=2000, what="conditional", rng=5)
    assert (drawn[y < 14].to_numpy() == y[y < 14][:, None]).all()
    assert ((drawn[y == 14] >= 14) & (drawn[y == 14] % 1 == 0)).all(axis=None)
    np.testing.assert_allclose(drawn[y == 14].mean(axis=1), res.predict(what="conditional")[y == 14], rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("family", "components"), [("poisson", "2"), ("poisson", "3"), ("exponential", "2"), ("gaussian", "'dp'")]
)
def test_draws_of_components_that_are_not_needed_keep_to_the_predictive_distribution(family, components, seed):
    """The error of a spare weight is many times the weight, so that normal logarithms of it would run to 1."""
    rng = np.random.default_rng(seed)
    y = {"poisson": rng.poisson(3, 80), "exponential": rng.exponential(3.0, 80), "gaussian": rng.normal(3.0, 1.0, 80)}
    # with a learnt scale two rates of one group are next to unknown, which draws of their logarithms overstate
    priors = {"a": 2.0, "b": 2.0} if family == "exponential" else None
    res = tg.fit(f"y ~ mixture({components})", {"y": y[family]}, family=family, priors=priors)
    w, _ = draw_parameters(res.parts.fit, res.cov_params().to_numpy(), 20_000, np.random.default_rng(1))
    assert (res.bse > res.params).iloc[: w.shape[1]].any()  # the case is what it is meant to be
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    np.testing.assert_allclose(w.mean(axis=0), res.parts.fit.weights, atol=0.01)
    weights = res.parts.fit.weights
    spread = np.minimum(res.bse.iloc[: w.shape[1]], np.sqrt(0.5 * weights * (1.0 - weights)))  # A >= 1 of a beta weight
    np.testing.assert_allclose(w.std(axis=0), spread, rtol=0.12, atol=0.002)
    y = res.sample(NEW.iloc[:1], draws=20_000, rng=1).to_numpy().ravel()
    distribution = res.predictive
    error = np.sqrt(distribution.var() / 80)  # of a mean of as many rows as there are
    assert abs(y.mean() - distribution.mean()) < 0.6 * error
    high = distribution.ppf(0.99)
    assert abs(np.mean(y > high) - distribution.sf(high)) < 0.01


def test_draws_of_components_far_apart_are_normal():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.poisson(4, 600), rng.poisson(40, 300)])
    res = tg.fit("y ~ mixture(2)", {"y": y}, family="poisson")
    fit = res.parts.fit
    w, theta = draw_parameters(fit, res.cov_params().to_numpy(), 20_000, rng)
    drawn = np.column_stack([w, np.exp(theta[:, 0])])
    np.testing.assert_allclose(drawn.mean(axis=0), fit.values, atol=0.03 * res.bse.max(), rtol=1e-3)
    np.testing.assert_allclose(
        np.cov(drawn.T), res.cov_params(), rtol=0.04, atol=0.04 * res.cov_params().max(axis=None)
    )
    for column, value, error in zip(drawn.T, fit.values, res.bse, strict=True):
        assert st.kstest((column - value) / error, "norm").statistic < 0.02


def test_a_rate_of_counts_is_drawn_from_its_posterior():
    """One component of exact rows: linear response is exact, and so are the draws, with few rows too."""
    res = tg.fit("y ~ mixture(1)", {"y": [0, 1, 0, 2]}, family="poisson", priors={"a": 1.0, "b": 1.0})
    _, theta = draw_parameters(res.parts.fit, res.cov_params().to_numpy(), 20_000, np.random.default_rng(1))
    assert st.kstest(np.exp(theta[:, 0, 0]), st.gamma(4.0, scale=0.2).cdf).pvalue > 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:At the bound of what is searched")
def test_draws_keep_shapes_positive():
    """A shape whose error is larger than itself is drawn on the log scale, not cut off at the smallest there is."""
    rossi = tg.datasets.load("rossi")
    with pytest.warns(BoundaryWarning, match="its shape alone places it"):
        res = tg.fit("week ~ mixture(2) | censor(event=event)", rossi, family="weibull", method=tg.EMCM(n_init=1))
    assert res.bse["shape[2]"] > res.params["shape[2]"]
    draws = res.sample(NEW.iloc[:1], draws=2000, rng=1).to_numpy().ravel()
    assert np.mean((draws < 1e-3) | (draws > 1e6)) < 0.05
    assert abs(np.mean(draws <= res.predictive.ppf(0.5)) - 0.5) < 0.1


def test_residuals(res, survival, lung, arrays):
    assert st.kstest(res.residuals("quantile", rng=1), "norm").pvalue > 0.01
    exact = arrays[0] == arrays[1]
    np.testing.assert_allclose(
        res.residuals("quantile")[exact], ndtri(res.predictive.cdf(arrays[0][exact])), rtol=1e-6, atol=1e-9
    )
    hazard = survival.residuals("cox_snell")
    np.testing.assert_allclose(hazard, survival.predictive.cumulative_hazard(lung["time"]))
    np.testing.assert_allclose(survival.residuals("martingale"), lung["event"] - hazard)
    np.testing.assert_allclose(
        res.residuals("response"), res.predict(what="conditional") - res.predictive.mean(), rtol=1e-9
    )
    with pytest.raises(SpecError, match="'quantile', 'response', 'cox_snell'"):
        res.residuals("pearson")


def test_residuals_of_counts_stand_inside_their_mass():
    rng = np.random.default_rng(3)
    y = rng.poisson(3.0, 400).astype(float)
    counts = tg.fit("y ~ mixture(1) | censor(upper=5)", {"y": np.minimum(y, 5.0)}, family="poisson")
    r = counts.residuals("quantile", rng=2)
    assert st.kstest(r, "norm").pvalue > 0.01
    distribution = counts.predictive
    z = st.norm.cdf(r)
    low = np.where(y >= 5, distribution.cdf(4.0), distribution.cdf(y - 1.0))
    high = np.where(y >= 5, 1.0, distribution.cdf(y))
    assert ((z >= low - 1e-12) & (z <= high + 1e-12)).all()


def test_scores_are_mean_log_masses(res, y):
    distribution = res.predictive
    exact = np.log(distribution.pdf(y[np.abs(y) < 4])).sum()
    edge = (y <= -4).sum() * np.log(distribution.cdf(-4)) + (y >= 4).sum() * np.log(distribution.sf(4))
    np.testing.assert_allclose(res.score({"y": y}), (exact + edge) / len(y), rtol=1e-10)
    np.testing.assert_allclose(res.score({"y": [*y, np.nan]}), res.score({"y": y}))
    with pytest.raises(SpecError, match="concordance is not defined"):
        res.score({"y": y}, "concordance_index")
    with pytest.raises(SpecError, match="'log_likelihood'"):
        res.score({"y": y}, "brier")
    with pytest.raises(SpecError, match=r"score\(\) requires the response"):
        res.score({"x": y})
    with pytest.raises(SpecError, match="these data have none"):
        res.score({"y": [np.nan]})


def test_questions_of_other_kinds_make_no_sense(res):
    for ask in (res.residuals, res.sample, res.score):
        word = {"residuals": "kind", "sample": "what", "score": "scoring_method"}[ask.__name__]
        with pytest.raises(SpecError, match=f"{word}="):
            ask(**{word: np.array([])}, **({"df": NEW} if ask == res.score else {}))
    with pytest.raises(SpecError, match="kind="):
        res.cov_params(np.array([]))
    with pytest.raises(SpecError, match="rng='a'"):
        res.sample(rng="a")
    with pytest.raises(SpecError, match="rng='a'"):
        res.residuals(rng="a")
    with pytest.raises(SpecError, match="ax= must be matplotlib axes, not int"):
        res.plot(3)
    with pytest.raises(DataError, match="'y' is a single value"):
        res.predict({"y": None})


def test_distributions_without_a_mean_say_so():
    """The exponential of Student's t has none; the remedies that the words name are finite."""
    data = {"y": np.exp(np.random.default_rng(0).normal(size=40))}
    res = tg.fit("y ~ mixture(1)", data, family="lognormal")
    with pytest.warns(
        ApproximationWarning, match=r"mean of this distribution is infinite: .* lognormal .* what='median'"
    ):
        assert np.isposinf(res.predict()).all()
    with pytest.warns(ApproximationWarning, match=r"predict_median\(\) and predict_percentile"):
        assert np.isposinf(res.predict_expectation()).all()
    with pytest.warns(ApproximationWarning, match="kind='quantile'"):
        assert np.isneginf(res.residuals("response")).all()
    assert np.isfinite(res.predict(what="median")).all()
    assert np.isfinite(res.predict_median()).all()
    assert np.isfinite(res.residuals("quantile")).all()
    em = tg.fit("y ~ mixture(1)", data, family="lognormal", method="em")
    np.testing.assert_allclose(em.predict_expectation(), np.exp(em.params["mean[1]"] + em.params["sd[1]"] ** 2 / 2))


def test_numbers_of_other_kinds_of_results(res):
    assert np.isnan(res.log_evidence_integrated)
    assert res.hyperparameters == res.params.to_dict()


# -- survival --------------------------------------------------------------------------------------------------------


def test_survival_functions(survival, lung):
    times = [50.0, 365.0, 900.0]
    distribution = survival.predictive
    alone = survival.predict_survival_function(times=times)
    np.testing.assert_allclose(alone[0], distribution.sf(times))
    assert alone.index.tolist() == times
    rows = lung.loc[[3, 9]]
    table = survival.predict_survival_function(rows, times, interval=0.9)
    assert table.columns.tolist() == [(i, name) for i in (3, 9) for name in ("mean", "median", "lower", "upper")]
    np.testing.assert_allclose(table[(9, "mean")], distribution.sf(times))
    np.testing.assert_allclose(table[(9, "median")], survival.parts.fit.plug_in().sf(times))
    assert ((table[(3, "lower")] < table[(3, "mean")]) & (table[(3, "mean")] < table[(3, "upper")])).all()
    np.testing.assert_allclose(survival.predict_cumulative_hazard(rows, times)[3], -np.log(distribution.sf(times)))
    np.testing.assert_allclose(
        survival.predict_hazard(rows, times)[3], distribution.pdf(times) / distribution.sf(times)
    )
    assert survival.predict_survival_function(rows).index.tolist() == sorted(set(lung["time"]))


def test_survival_given_survival(survival, lung):
    distribution, times = survival.predictive, np.array([10.0, 400.0])
    rows = lung.iloc[:3]
    table = survival.predict_survival_function(rows, times, conditional_after=[0.0, 100.0, 300.0])
    for row, after in zip(rows.index, (0.0, 100.0, 300.0), strict=True):
        np.testing.assert_allclose(table[row], distribution.sf(after + times) / distribution.sf(after))
    hazard = survival.predict_hazard(times=times, conditional_after=100.0)
    np.testing.assert_allclose(hazard[0], distribution.hazard(times + 100.0))
    cumulative = survival.predict_cumulative_hazard(times=times, conditional_after=100.0)
    np.testing.assert_allclose(
        cumulative[0], distribution.cumulative_hazard(times + 100.0) - distribution.cumulative_hazard(100.0)
    )
    left = survival.predict_median(rows, conditional_after=100.0)
    np.testing.assert_allclose(distribution.sf(100.0 + left) / distribution.sf(100.0), 0.5, rtol=1e-9)


@pytest.mark.parametrize("after", [0.0, 20.0, 500.0, 1e5])
@pytest.mark.parametrize("family", ["gaussian", "exponential", "weibull", "poisson"])
def test_remaining_times_are_found_far_beyond_the_data(y, family, after):
    res = tg.fit("y ~ mixture(1)", {"y": np.round(np.exp(0.3 * y)) + 1.0}, family=family)
    distribution, left = res.predictive, res.predict_percentile(p=0.9, conditional_after=after)[0]
    goal = np.log(0.9) + distribution.logsf(after)
    if family == "poisson":
        assert distribution.logsf(after + left) <= goal < distribution.logsf(after + left - 1.0)
    else:
        np.testing.assert_allclose(distribution.logsf(after + left), goal, rtol=1e-9)


def test_the_band_of_a_constant_hazard_is_the_same_at_every_time():
    """The posterior of the hazard is Gamma(a, b), by the predictive hazard a / (b + t); bands are normal in its log."""
    res = tg.fit("y ~ mixture(1)", {"y": np.random.default_rng(3).exponential(1.0, 10)}, family="exponential")
    found = res.predict_hazard(times=[0.0, 5.0, 20.0], interval=0.95)[0]
    first, second, _ = found["mean"]
    b = 5.0 * second / (first - second)
    for name, order in [("median", 0.5), ("lower", 0.025), ("upper", 0.975)]:
        np.testing.assert_allclose(found[name], st.gamma(first * b, scale=1.0 / b).ppf(order), rtol=0.12)
        assert np.ptp(found[name]) < 1e-9


def test_questions_far_beyond_the_data_have_bands_that_are_no_points(res):
    table = res.predict_cumulative_hazard(times=[10.0, 1e3, 1e60], interval=0.9)
    np.testing.assert_allclose(table[0]["mean"], -res.predictive.logsf(table.index))
    hazard = res.predict_hazard(times=[1e3, 1e6], interval=0.9)
    for found in (table[0], hazard[0]):
        assert np.isfinite(found).all(axis=None)
        assert (found["lower"] < 0.99 * found["median"]).all()
        assert (found["upper"] > 1.01 * found["median"]).all()
    far = res.predict({"x": [0.0]}, "prob", above=[1e200], interval=0.9)[1e200]
    assert (far == 0.0).all(axis=None)


def test_errors_of_conditional_means_beyond_the_data_are_moderate():
    """The mass beyond 40 standard deviations moves by powers of ten with a parameter, the mean there by little."""
    y = ndtri((np.arange(200) + 0.5) / 200)
    data = {"y": np.minimum(y, 1.0)}
    res = tg.fit("y ~ mixture(1) | censor(upper=u)", {**data, "u": np.ones(200)})
    far = res.predict({"y": [45.0], "u": [45.0]}, "conditional", se=True).iloc[0]
    mean, sd = res.params[["mean[1]", "sd[1]"]]

    def expected(mean, sd):
        z = (45.0 - mean) / sd
        return mean + sd * np.exp(st.norm.logpdf(z) - st.norm.logsf(z))

    h = 1e-4
    slopes = np.array(
        [
            (expected(mean + h, sd) - expected(mean - h, sd)) / (2.0 * h),
            (expected(mean, sd + h) - expected(mean, sd - h)) / (2.0 * h),
        ]
    )
    V = res.cov_params().loc[["mean[1]", "sd[1]"], ["mean[1]", "sd[1]"]].to_numpy()
    np.testing.assert_allclose(far["se"], np.sqrt(slopes @ V @ slopes), rtol=1e-3)


def test_percentiles_and_expectation(survival, lung):
    distribution, rows = survival.predictive, lung.iloc[:2]
    np.testing.assert_allclose(distribution.sf(survival.predict_percentile(rows, p=0.9)), 0.9, rtol=1e-10)
    np.testing.assert_allclose(survival.predict_median(rows), distribution.ppf(0.5))
    whole = quad(distribution.sf, 0.0, np.inf, limit=400)[0]
    np.testing.assert_allclose(survival.predict_expectation(rows), whole, rtol=1e-6)
    np.testing.assert_allclose(survival.predict(rows), whole, rtol=1e-6)


def test_lifelines_reads_the_curves(survival, lung):
    from lifelines.utils import qth_survival_times

    table = survival.predict_survival_function(lung.iloc[:2], np.linspace(0, 1500, 3001))
    found = qth_survival_times(0.5, table)
    np.testing.assert_allclose(np.ravel(found), survival.predict_median().iloc[0], atol=0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": ["a"]}, "times="),
        ({"times": [[1.0]]}, "times="),
        ({"times": [np.nan]}, "times="),
        ({"times": [1.0], "conditional_after": [1.0, 2.0]}, "each of the 1 rows"),
        ({"times": [1.0], "conditional_after": "b"}, "conditional_after="),
        ({"times": [1.0], "interval": 2.0}, "interval="),
    ],
)
def test_curves_that_make_no_sense(survival, options, words):
    with pytest.raises(SpecError, match=words):
        survival.predict_survival_function(**options)
    with pytest.raises(SpecError, match="p=1"):
        survival.predict_percentile(p=1)


# -- what the rows do not say -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_components_that_are_alike_are_said_so_once(recwarn):
    y = np.random.default_rng(3).exponential(2.0, 200)
    res = tg.fit("y ~ mixture(2)", {"y": y}, family="exponential", method="em")
    recwarn.clear()
    with pytest.warns(BoundaryWarning, match=r"do not determine weight\[1\].*Fit fewer"):
        frame = res.summary_frame()
    assert frame.loc[["weight[1]", "weight[2]"], ["std err", "lower", "upper"]].isna().all(axis=None)
    one = tg.fit("y ~ mixture(1)", {"y": y}, family="exponential", method="em")  # the same distribution
    found, want = (fit.predict(what="prob", above=3.0, interval=0.9) for fit in (res, one))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert "(not determined)" in str(res.summary())  # warnings are errors: it is said once
    with pytest.raises(SpecError, match=r"do not determine weight\[1\].*fit fewer components, or draw .*predictive"):
        res.sample()
    assert len(res.predictive.rvs(5)) == 5


@pytest.mark.slow
def test_draws_leave_alone_what_stands_at_its_bound():
    y = np.concatenate([np.random.default_rng(0).normal(0.0, 1.0, 60), np.full(6, 12.0)])
    res = tg.fit("y ~ mixture(2)", {"y": y}, method="em")
    with pytest.warns(BoundaryWarning, match=r"without standard error: sd\[2\]"):
        draws = res.sample(draws=200)
    near = draws.to_numpy()[draws.to_numpy() > 8.0]
    np.testing.assert_allclose(near.std(), res.params["sd[2]"], rtol=0.3)
    with pytest.warns(ApproximationWarning, match=r"The interval of sd\[2\] has no finite ends.* at its bound"):
        assert res.summary_frame()["std err"].notna().sum() == 5


@pytest.mark.parametrize("method", ["em", "vbcm"])
def test_a_shape_at_its_bound_has_no_standard_error(method):
    y = np.concatenate([np.random.default_rng(0).weibull(2.0, 60), np.full(60, 12.0)])
    res = tg.fit("y ~ mixture(2)", {"y": y}, family="weibull", method=method, rng=1)
    assert res.params["shape[2]"] == pytest.approx(100.0)
    with pytest.warns(BoundaryWarning, match=r"without standard error: shape\[2\]"):
        errors = res.bse
    np.testing.assert_array_equal(errors.isna(), errors.index == "shape[2]")
    with pytest.warns(ApproximationWarning, match=r"The interval of shape\[2\] has no finite ends.* at its bound"):
        res.summary_frame()


def test_the_learnt_prior_is_stated_and_kept(res, tmp_path):
    text = " ".join(str(res.summary()).split())
    assert "Prior of a component" in text
    assert "tau gamma(0.2, 0.2), learnt as" in text
    fit = res.parts.fit
    assert f"learnt as {fit.model.prior_at(fit.state)[3] * fit.units.scale**2:.4g}" in text
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    np.testing.assert_array_equal(again.parts.fit.state.scales, fit.state.scales)
    assert again.parts.fit.model.prior_at(again.parts.fit.state).tolist() == fit.model.prior_at(fit.state).tolist()


def test_given_priors_are_stated_as_given(y):
    priors = {"mean": 1.0, "tau": 0.01, "a": 1.5, "b": 2.5}
    text = " ".join(str(tg.fit(FORMULA, {"y": y}, priors=priors).summary()).split())
    assert "mean 1, tau 0.01, a 1.5, b 2.5; concentration of the weights 1." in text


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "exponential", "poisson", "weibull"])
def test_a_process_has_standard_errors_and_a_mean(family):
    y = np.random.default_rng(0).gamma(4.0, 2.0, 60)
    y = np.round(y) if family == "poisson" else y
    res = tg.fit("y ~ mixture('dp')", {"y": y}, family=family, rng=1)
    table = res.predict({"y": [1.0]}, what="prob", above=8.0, interval=0.9).iloc[0]
    assert 0.0 < table["lower"] < (y > 8.0).mean() < table["upper"] < 1.0
    assert res.predict({"y": [1.0]}).iloc[0] == pytest.approx(y.mean(), rel=0.15)
    curve = res.predict_survival_function({"y": [1.0]}, times=[5.0], interval=0.9)
    assert np.isfinite(curve.to_numpy()).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The rows do not determine:tobitgp.errors.BoundaryWarning")
def test_stochastic_steps_that_stop_early_have_not_converged():
    rng = np.random.default_rng(0)
    data = {"y": np.r_[rng.normal(-3.0, 1.0, 50), rng.normal(3.0, 1.0, 50)]}
    with pytest.warns(tg.errors.ConvergenceWarning, match="No convergence after 10 stochastic steps. Raise n_steps"):
        few = tg.fit("y ~ mixture(2)", data, method=tg.SVBCM(polish=False, batch_size=1, n_steps=10))
    assert not few.converged
    assert "NOT CONVERGED" in str(few.summary())
    many = tg.fit("y ~ mixture(2)", data, method=tg.SVBCM(polish=False, n_steps=8000, batch_size=50))
    assert many.converged


def test_quantiles_of_counts_are_whole():
    rng = np.random.default_rng(1)
    y = np.r_[rng.poisson(5.0, 60), rng.poisson(300.0, 40)].astype(float)
    for method in ("vbcm", "em"):
        res = tg.fit("y ~ mixture(2)", {"y": y}, family="poisson", method=method)
        for q in (0.1, 0.5, 0.9, 0.99):
            value = res.predict({"y": [1.0]}, what="quantile", q=q).iloc[0]
            assert value == np.round(value)


@pytest.mark.slow
def test_large_counts_have_their_standard_errors():
    rng = np.random.default_rng(0)
    for size in (1e6, 1e7, 3e9):
        y = np.r_[rng.poisson(size, 50), rng.poisson(1.01 * size, 50)].astype(float)
        res = tg.fit("y ~ mixture(2)", {"y": y}, family="poisson")
        assert res.bse["rate[1]"] == pytest.approx(np.sqrt(y[:50].mean() / 50.0), rel=0.02)
