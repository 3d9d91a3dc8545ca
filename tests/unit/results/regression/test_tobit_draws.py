"""Joint draws, joint moments and statsmodels' predictions of regressions."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, SpecError
from tobitgp.regression.maximum import normal_root

DRAWS = 40_000


@pytest.fixture(scope="module")
def scaled(mixed):
    """A noise scale with a formula, and a factor."""
    return tg.fit("y ~ z + g | censor(low, 1.4)", mixed, sigma="~ z")


def test_posterior_agrees_with_predict_and_with_the_covariance_of_the_estimates(scaled, mixed):
    mean, covariance = scaled.posterior(mixed)
    band = scaled.predict(mixed, "latent", se=True)
    np.testing.assert_allclose(mean, band["estimate"], rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), band["se"], rtol=1e-10)
    H = np.column_stack([np.ones(len(mixed)), mixed["g"] == "b", mixed["z"]])
    V = scaled.cov_params().loc[["Intercept", "g[T.b]", "z"], ["Intercept", "g[T.b]", "z"]]
    np.testing.assert_allclose(covariance, H @ V.to_numpy() @ H.T, rtol=1e-8, atol=1e-12)


def test_latent_draws_have_the_moments_of_the_estimates(scaled, mixed):
    new = mixed.head(6)
    mean, covariance = scaled.posterior(new)
    f = scaled.sample(new, DRAWS, what="latent", rng=1)
    error = np.sqrt(np.diag(covariance) / DRAWS)
    assert (np.abs(f.mean(axis=1) - mean) < 4.5 * error).all()
    np.testing.assert_allclose(np.cov(f), covariance, rtol=0.05, atol=0.01 * np.diag(covariance).max())


@pytest.mark.parametrize("family", ["gaussian", "logistic", "gumbel", tg.Student(df=5)], ids=str)
def test_new_responses_have_the_moments_of_the_distribution(mixed, family):
    """The variance of a draw is that of the estimates plus that of the noise, averaged over log sigma."""
    res = tg.fit("y ~ z | censor(low, 1.4)", mixed, family=family)
    new, distribution = mixed.head(4), res.parts.noise
    y = res.sample(new, DRAWS, rng=2)
    latent = res.predict(new, "latent", se=True)
    log_sd = res.bse["sigma"] / res.params["sigma"]
    variance = latent["se"] ** 2 + res.params["sigma"] ** 2 * distribution.variance * np.exp(2 * log_sd**2)
    mean = latent["estimate"] + distribution.mean * res.params["sigma"] * np.exp(log_sd**2 / 2)
    assert (np.abs(y.mean(axis=1) - mean) < 4.5 * np.sqrt(variance / DRAWS) + 0.02 * log_sd).all()
    np.testing.assert_allclose(y.var(axis=1), variance, rtol=0.08)


def test_quantiles_without_uncertainty_are_those_of_predict(mixed):
    """Everything known, draws follow the distribution itself."""
    known = {"Intercept": 0.2, "z": 0.5, "sigma": 0.4}
    for family in ("gaussian", "logistic", "gumbel"):
        res = tg.fit("y ~ z", mixed, family=family, fixed=known)
        y = res.sample(mixed.head(3), DRAWS, rng=3)
        levels = [0.05, 0.5, 0.9]
        expected = res.predict(mixed.head(3), "quantile", q=levels)
        np.testing.assert_allclose(y.quantile(levels, axis=1).T, expected, atol=0.03)


def test_log_time_draws_are_times(lung):
    res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    new = lung.head(5)
    times = res.sample(new, DRAWS, rng=4)
    assert (times > 0).all(axis=None)
    np.testing.assert_allclose(times.median(axis=1), res.predict(new, "median"), rtol=0.03)
    np.testing.assert_allclose(times.mean(axis=1), res.predict(new, "uncensored"), rtol=0.05)
    log_time = res.sample(new, 50, what="latent", rng=4)
    assert (log_time < 10).all(axis=None)


@pytest.mark.slow
def test_estimated_degrees_of_freedom_are_drawn_too(mixed):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=400)})
    data["y"] = data["x"] + rng.standard_t(4, size=400)
    res = tg.fit("y ~ x", data, family="student")
    new = data.head(2)
    drawn = res.sample(new, 20_000, rng=5)
    known = tg.fit("y ~ x", data, family=tg.Student(df=res.params["df"])).sample(new, 20_000, rng=5)
    assert np.isfinite(drawn).all(axis=None)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    np.testing.assert_allclose(drawn.quantile(levels, axis=1), known.quantile(levels, axis=1), atol=0.12)
    assert not np.allclose(drawn, known)


def test_observed_draws_are_clipped_at_the_limits(scaled, mixed):
    y = scaled.sample(what="observed", draws=DRAWS // 2)
    low = mixed["low"].to_numpy()[:, None]
    assert ((y >= low) & (y <= 1.4)).all(axis=None)
    mean, sd = scaled.predict(what="observed"), y.std(axis=1)
    np.testing.assert_allclose(y.mean(axis=1), mean, atol=0.05)
    assert (sd > 0).all()
    assert list(y.index) == list(mixed.index)
    assert y.columns.name == "draw"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "logistic", "gumbel", tg.Student(df=5)], ids=str)
def test_rows_are_drawn_where_they_are_known_to_lie(mixed, family):
    """With everything known, draws have the means of imputation; values that were seen stay as they are."""
    known = {"Intercept": 0.2, "z": 0.5, "sigma": 0.4}
    data = mixed.assign(first=-0.9)
    res = tg.fit("y ~ z | censor(low, 1.4) | truncate(first)", data, family=family, fixed=known)
    seen = (mixed["y"] > mixed["low"]) & (mixed["y"] < 1.4)
    for new in (None, data):
        y = res.sample(new, DRAWS, what="conditional", rng=6)
        assert (y[seen].to_numpy() == mixed.loc[seen, ["y"]].to_numpy()).all()
        rest, expected = y[~seen], res.predict(new, "conditional")[~seen]
        assert ((rest >= -0.9) & ((rest <= -0.2) | (rest >= 1.4))).all(axis=None)
        assert (np.abs(rest.mean(axis=1) - expected) < 4.5 * rest.std(axis=1) / np.sqrt(DRAWS)).all()


@pytest.mark.slow
def test_imputed_rows_are_uncertain_of_the_parameters(lung):
    """Times go on after they were censored; rows of a draw share its coefficients."""
    res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    y, expected = res.sample(draws=DRAWS // 4, what="conditional", rng=7), res.predict(what="conditional")
    ended = lung["event"] == 1
    assert (y[ended].to_numpy() == lung.loc[ended, ["time"]].to_numpy()).all()
    assert (y[~ended].to_numpy() > lung.loc[~ended, ["time"]].to_numpy()).all()
    np.testing.assert_allclose(y.mean(axis=1), expected, rtol=0.05)
    assert y[~ended].sum().var() > 1.5 * y[~ended].var(axis=1).sum()
    unknown = lung.head(4).assign(time=[306.0, np.nan, 1010.0, 210.0])
    assert res.sample(unknown, 2, what="conditional").isna().any(axis=1).tolist() == [False, True, False, False]
    with pytest.raises(SpecError, match="'event'"):
        res.sample(lung[["age", "sex", "time"]], what="conditional")
    with pytest.raises(SpecError, match="exclude="):
        res.sample(what="conditional", exclude="sex")


@pytest.mark.slow
def test_estimated_degrees_of_freedom_are_drawn_inside_the_ends_too():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=400)})
    data["y"] = np.maximum(data["x"] + rng.standard_t(4, size=400), -1.0)
    res = tg.fit("y ~ x | censor(-1)", data, family="student")
    y = res.sample(draws=2000, what="conditional", rng=8)
    below = data["y"] <= -1.0
    assert (y[below] <= -1.0).all(axis=None)
    error = y.mean(axis=1) - res.predict(what="conditional")
    assert (np.abs(error[below]) < 0.25 * y[below].std(axis=1)).all()
    assert np.abs(error[below].mean()) < 0.05


def test_excluded_terms_and_missing_rows(scaled, mixed):
    new = mixed.head(3).assign(g=["a", None, "b"])
    assert scaled.sample(new, 2).isna().any(axis=1).tolist() == [False, True, False]
    # The factor is gone from the mean, z is still needed for the noise scale.
    free = scaled.sample(mixed.drop(columns="g").head(3), 5, exclude="g", what="latent")
    assert np.isfinite(free).all(axis=None)


def test_draws_are_reproducible_and_bad_arguments_refused(scaled, mixed):
    new = mixed.head(3)
    pd.testing.assert_frame_equal(scaled.sample(new, 5), scaled.sample(new, 5))
    pd.testing.assert_frame_equal(scaled.sample(new, 5, rng=3), scaled.sample(new, 5, rng=np.random.default_rng(3)))
    for asked in ({"draws": 0}, {"draws": True}, {"what": "median"}):
        with pytest.raises(SpecError):
            scaled.sample(new, **asked)


def test_singular_covariances_have_roots_and_unknown_ones_are_not_drawn_from():
    V = np.array([[4.0, 2e-6, 0.0], [2e-6, 1e-12, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(normal_root(V) @ normal_root(V).T, V, rtol=1e-10, atol=1e-24)
    rows = pd.DataFrame({"y": [1.0, 2.0, 0.0, 0.0], "g": list("aabb")})
    with pytest.warns(ConvergenceWarning):
        separated = tg.fit("y ~ 0 + C(g) | censor(0)", rows)
    with pytest.raises(SpecError, match="no standard error"):
        separated.sample(rows, 5)


def test_predictions_of_least_squares(mixed):
    """Without censoring, statsmodels' OLS, but for the degrees of freedom of its variance and its t quantiles."""
    import statsmodels.formula.api as smf
    from scipy import stats

    ols = smf.ols("y ~ z + g", mixed).fit()
    factor = np.sqrt(ols.df_resid / ols.nobs)
    ours = tg.fit("y ~ z + g", mixed).get_prediction(mixed).summary_frame(0.1)
    theirs = ols.get_prediction(mixed).summary_frame(0.1)
    np.testing.assert_allclose(ours["mean"], theirs["mean"], rtol=1e-9)
    np.testing.assert_allclose(ours["mean_se"], theirs["mean_se"] * factor, rtol=1e-7)
    reach = stats.norm.ppf(0.95) / stats.t.ppf(0.95, ols.df_resid) * factor
    for end in ("lower", "upper"):
        np.testing.assert_allclose(
            ours[f"mean_ci_{end}"] - ours["mean"], (theirs[f"mean_ci_{end}"] - theirs["mean"]) * reach, rtol=1e-6
        )
    # Where a new value would lie is a plug-in interval: the noise alone, without the uncertainty of the mean.
    half = stats.norm.ppf(0.95) * np.sqrt(ols.scale) * factor
    np.testing.assert_allclose(ours["obs_ci_upper"], theirs["mean"] + half, rtol=1e-6)
    np.testing.assert_allclose(ours["obs_ci_lower"], theirs["mean"] - half, rtol=1e-6)


def test_predictions_in_parts(scaled, mixed):
    prediction = scaled.get_prediction(mixed)
    frame = prediction.summary_frame()
    assert prediction.predicted_mean.equals(frame["mean"].rename("predicted_mean"))
    assert prediction.se_mean.equals(frame["mean_se"].rename("se_mean"))
    assert np.array_equal(prediction.conf_int(obs=True), frame[["obs_ci_lower", "obs_ci_upper"]])
    assert scaled.get_prediction().summary_frame().shape == (60, 6)


@pytest.mark.slow
def test_factors_of_survival_times_as_lifelines():
    from lifelines import WeibullAFTFitter

    rossi = tg.datasets.load("rossi")
    terms = ["fin", "age", "prio", "mar"]
    with np.errstate(all="ignore"):
        theirs = WeibullAFTFitter().fit(rossi[["week", "event", *terms]], "week", "event").summary.loc["lambda_"]
    res = tg.fit(f"Surv(week, event) ~ {' + '.join(terms)}", rossi, family="weibull")
    ours = res.summary_frame().loc[["Intercept", *terms]]
    pairs = {
        "exp(coef)": "exp(coef)",
        "exp(coef) lower": "exp(coef) lower 95%",
        "exp(coef) upper": "exp(coef) upper 95%",
    }
    for mine, other in pairs.items():
        np.testing.assert_allclose(ours[mine], theirs.loc[ours.index, other], rtol=1e-4)
    assert res.summary_frame().loc["sigma", list(pairs)].isna().all()
    text = str(res.summary())
    assert "exp(coef)" in text
    assert max(map(len, text.splitlines())) <= 79
    assert f"{ours.loc['fin', 'exp(coef)']:.4f}" in text


def test_other_families_have_no_factors(scaled):
    assert list(scaled.summary_frame().columns) == ["coef", "std err", "z", "P>|z|", "lower", "upper"]
    assert "exp(coef)" not in str(scaled.summary())


def test_factors_of_fixed_coefficients(lung):
    res = tg.fit("Surv(time, event) ~ age + sex", lung, family="lognormal", fixed={"age": 0.1})
    row = next(line for line in str(res.summary().tables[3]).splitlines() if line.startswith("age"))
    assert row.split() == ["age", f"{np.exp(0.1):.4f}", "(fixed)"]
