"""Censored regressions fitted by survreg, AER, VGAM and lifelines, refitted from the same arrays."""

import warnings

import lifelines
import numpy as np
import pytest
from support.regressions import (
    AFFAIRS,
    DIST,
    INTERVAL,
    LIFELINES,
    LUNG,
    TOBIN,
    affairs,
    lung,
    lung_frame,
    lung_windows,
    tobin,
)
from support.responses import response

from tobitgp import datasets
from tobitgp.data.outcome import outcome
from tobitgp.regression import covariance, maximise, null_log_likelihood


def check(reference, rows, H, *, cov_type="nonrobust", groups=None, W=None, null=True, dist=None):
    distribution, log_time, log_scale = DIST[reference["dist"] if dist is None else dist]
    if log_scale is None and len(reference["se"]) == H.shape[1]:
        log_scale = reference["log_scale"]
    seen = outcome(rows, log_time=log_time)
    scale = {"W": W, "fixed_gamma": None if log_scale is None else np.array([log_scale])}
    fit = maximise(seen, H, distribution=distribution, scores=True, **scale)
    assert fit.converged, fit.message
    np.testing.assert_allclose(fit.coefficients, list(reference["coef"].values()), rtol=1e-5)
    np.testing.assert_allclose(fit.gamma, np.ravel(plain(reference["log_scale"])), rtol=1e-5)
    assert fit.log_likelihood + seen.log_jacobian == pytest.approx(reference["loglik"], rel=1e-6)
    V = covariance(fit, cov_type, weight=rows.weight, groups=groups)
    se = list(reference["se"].values())
    np.testing.assert_allclose(np.sqrt(np.diag(V))[: len(se)], se, rtol=1e-4)
    kept = np.array(reference["vcov"]["values"])
    sd = np.sqrt(np.diag(kept))
    np.testing.assert_allclose(V[: len(se), : len(se)], kept, rtol=0, atol=1e-4 * np.outer(sd, sd).max(initial=1))
    if null:
        value = null_log_likelihood(seen, distribution=distribution, **scale) + seen.log_jacobian
        assert value == pytest.approx(reference["loglik_intercept_only"], rel=1e-6)
    return fit


def plain(value):
    return list(value.values()) if isinstance(value, dict) else value


@pytest.mark.parametrize("case", ["survreg_gaussian", "survreg_logistic", "survreg_t_df4", "survreg_fixed_scale_5"])
def test_tobin(case):
    check(TOBIN[case], *tobin())


def test_tobin_weighted():
    check(TOBIN["survreg_weighted"], *tobin(np.array(TOBIN["weights_used"])))


def test_tobin_robust():
    check(TOBIN["survreg_robust"], *tobin(), cov_type="HC0")


def aer(reference, rows, H):
    table = np.array(reference["coef_table"]["values"])
    fit = maximise(outcome(rows), H)
    np.testing.assert_allclose(np.append(fit.coefficients, fit.gamma), table[:, 0], rtol=1e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance(fit))), table[:, 1], rtol=1e-4)
    assert np.exp(fit.gamma[0]) == pytest.approx(reference["scale"], rel=1e-5)
    assert fit.log_likelihood == pytest.approx(reference["loglik"], rel=1e-6)
    b, V = fit.coefficients[1:], covariance(fit)[1:-1, 1:-1]
    assert b @ np.linalg.solve(V, b) == pytest.approx(reference["wald_chisq"], rel=1e-4)


def test_tobin_as_aer():
    aer(TOBIN["aer_tobit"], *tobin())


def test_tobin_as_vgam_and_a_direct_maximiser():
    rows, H = tobin()
    fit = maximise(outcome(rows), H)
    vgam, direct = TOBIN["vgam_tobit"], TOBIN["direct_maximiser"]
    a, tau, *slopes = vgam["coef"].values()
    np.testing.assert_allclose(np.append(fit.coefficients, fit.gamma), [a, *slopes, tau], rtol=1e-5)
    np.testing.assert_allclose(np.append(fit.coefficients, fit.gamma), list(direct["par"].values()), rtol=1e-5)
    assert fit.log_likelihood == pytest.approx(vgam["loglik"], rel=1e-6)


def test_tobin_without_a_column():
    rows, H = tobin()
    fit = maximise(outcome(rows), H[:, :2])
    assert fit.log_likelihood == pytest.approx(TOBIN["lr_test_drop_quant"]["loglik_small"], rel=1e-6)


def test_tobin_profile_limits():
    rows, H = tobin()
    cut = maximise(outcome(rows), H).log_likelihood - 0.5 * 3.841458820694124
    for b in TOBIN["profile_ci_age_95"].values():
        fit = maximise(outcome(rows), H, fixed_coefficients=np.array([np.nan, b, np.nan]))
        assert fit.log_likelihood == pytest.approx(cut, rel=1e-6)


SMALL = ("age", "yearsmarried", "religiousness", "occupation", "rating")


@pytest.mark.parametrize("case", ["survreg_gaussian", "survreg_robust"])
def test_affairs(case):
    rows, H, _ = affairs(*SMALL)
    check(AFFAIRS[case], rows, H, cov_type="HC0" if "robust" in case else "nonrobust")


def test_affairs_clusters():
    rows, H, data = affairs("age", "yearsmarried", "religiousness", "rating")
    check(AFFAIRS["survreg_cluster_occupation"], rows, H, cov_type="cluster", groups=data["occupation"].to_numpy())


def test_affairs_scale_by_gender():
    rows, H, data = affairs(*SMALL)
    W = np.column_stack([data["gender"] == "female", data["gender"] == "male"]).astype(float)
    check(AFFAIRS["survreg_scale_by_gender"], rows, H, W=W)


def test_affairs_factors():
    rows, H, _ = affairs(
        "gendermale", "childrenyes", "age", "yearsmarried", "religiousness", "education", "occupation", "rating"
    )
    check(AFFAIRS["survreg_with_factors"], rows, H)


def test_affairs_as_aer():
    rows, H, _ = affairs(*SMALL)
    aer(AFFAIRS["aer_tobit"], rows, H)


@pytest.mark.parametrize(
    "case", ["lognormal", "weibull", "loglogistic", "exponential", "gaussian", "logistic", "rayleigh"]
)
def test_lung(case):
    reference = LUNG[case]
    fit = check(reference, *lung(), dist=case)
    mean = float(np.mean(lung()[1] @ fit.coefficients))
    assert mean == pytest.approx(reference["mean_all_rows_of_linear_predictor"], rel=1e-5)


def test_lung_intercept_only():
    check(LUNG["lognormal_intercept_only"], *lung(intercept_only=True))


def test_lung_robust():
    check(LUNG["lognormal_robust"], *lung(), cov_type="HC0")


def test_lung_scale_by_sex():
    rows, H = lung()
    check(LUNG["lognormal_scale_by_sex"], rows, H, W=np.column_stack([H[:, 2] == 1.0, H[:, 2] == 2.0]).astype(float))


@pytest.mark.parametrize("case", ["lognormal", "weibull", "loglogistic"])
def test_lung_in_windows(case):
    check(INTERVAL[case], *lung_windows(), dist=case)


def test_lung_in_windows_of_log_time():
    rows, H = lung_windows()
    with np.errstate(invalid="ignore"):
        logs = response(np.log(np.maximum(rows.lower, 1.0)), np.log(rows.upper))
    logs.lower[np.isneginf(rows.lower)] = -np.inf
    check(INTERVAL["gaussian_on_log"], logs, H)


# lifelines stops at its own tolerance, .01 standard errors away at worst: never with a higher likelihood.
AFT = {
    "lognormal": ("mu_", "sigma_", 1.0, lifelines.LogNormalAFTFitter),
    "weibull": ("lambda_", "rho_", -1.0, lifelines.WeibullAFTFitter),
    "loglogistic": ("alpha_", "beta_", -1.0, lifelines.LogLogisticAFTFitter),
}


def against_lifelines(params, se, loglik, fit, names, family, log_jacobian=0.0):
    location, scale, sign, _ = AFT[family]
    order = [f"{location} {name}" for name in names] + [f"{scale} Intercept"]
    sds = np.array([se[key] for key in order])
    ours = np.append(fit.coefficients, sign * fit.gamma)
    np.testing.assert_allclose((ours - [params[key] for key in order]) / sds, 0.0, atol=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance(fit))), sds, rtol=5e-3)
    assert fit.log_likelihood + log_jacobian == pytest.approx(loglik, rel=1e-6)
    assert fit.log_likelihood + log_jacobian > loglik - 1e-7 * abs(loglik)


@pytest.mark.parametrize("family", AFT)
@pytest.mark.parametrize("kind", ["right", "interval"])
def test_lung_as_lifelines(kind, family):
    reference = LIFELINES[f"{kind}_{family}"]
    rows, H = lung() if kind == "right" else lung_windows()
    seen = outcome(rows, log_time=True)
    fit = maximise(seen, H, distribution=DIST[family][0])
    names = ["Intercept", "age", "sex", "ph_ecog"]
    against_lifelines(reference["params"], reference["se"], reference["loglik"], fit, names, family, seen.log_jacobian)


def test_lung_scale_on_sex_as_lifelines():
    reference = LIFELINES["right_lognormal_scale_on_sex"]
    rows, H = lung()
    seen = outcome(rows, log_time=True)
    fit = maximise(seen, H, W=H[:, [0, 2]])
    order = ["mu_ Intercept", "mu_ age", "mu_ sex", "mu_ ph_ecog", "sigma_ Intercept", "sigma_ sex"]
    sds = np.array([reference["se"][key] for key in order])
    params = [reference["params"][key] for key in order]
    np.testing.assert_allclose((np.append(fit.coefficients, fit.gamma) - params) / sds, 0.0, atol=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance(fit))), sds, rtol=1e-4)
    assert fit.log_likelihood + seen.log_jacobian == pytest.approx(reference["loglik"], rel=1e-6)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_lung_one_sample_as_lifelines(family):
    reference = LIFELINES["univariate"][family]
    rows, H = lung(intercept_only=True)
    seen = outcome(rows, log_time=True)
    fit = maximise(seen, H, distribution=DIST[family][0])
    mean, sigma = fit.coefficients[0], np.exp(fit.gamma[0])
    ours = [np.exp(mean), 1.0 / sigma] if family == "weibull" else [mean, sigma]
    np.testing.assert_allclose(ours, list(reference["params"].values()), rtol=2e-5)
    assert fit.log_likelihood + seen.log_jacobian == pytest.approx(reference["loglik"], rel=1e-6)


def lifelines_fit(family, data, kind):
    model = AFT[family][3]()
    method = {"right": "fit", "left": "fit_left_censoring", "interval": "fit_interval_censoring"}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lifelines' optimiser
        getattr(model, method)(data, *(("lower", "upper") if kind == "interval" else ("time", "event")))
    params = {" ".join(key): value for key, value in model.params_.items()}
    se = {" ".join(key): value for key, value in model.standard_errors_.items()}
    return params, se, float(model.log_likelihood_)


def survival_data(name):
    if name == "rossi":
        data = datasets.load("rossi")[["week", "event", "fin", "age", "prio"]].rename(columns={"week": "time"})
        return data.astype(float), ["fin", "age", "prio"]
    return lung_frame(), ["age", "sex", "ph_ecog"]


@pytest.mark.slow
@pytest.mark.parametrize("family", AFT)
@pytest.mark.parametrize("kind", ["right", "left", "interval"])
@pytest.mark.parametrize("name", ["rossi", "lung"])
def test_lifelines_in_the_same_run(name, kind, family):
    data, columns = survival_data(name)
    time, event = data["time"].to_numpy(), data["event"].to_numpy() == 1
    if kind == "left":  # turned round: a row that was right-censored at t is left-censored at 1000 / t
        time = 1000.0 / time
        data = data.assign(time=time)
        rows = response(np.where(event, time, -np.inf), time)
    elif kind == "right":
        rows = response(time, np.where(event, time, np.inf))
    else:
        grid = 4.0 if name == "rossi" else 30.0
        end = grid * (np.floor(time / grid) + 1.0)
        lower, upper = np.where(event, np.maximum(end - grid, 0.5), time), np.where(event, end, np.inf)
        rows = response(lower, upper)
        data = data.assign(lower=lower, upper=upper).drop(columns=["time", "event"])
    params, se, loglik = lifelines_fit(family, data, kind)
    seen = outcome(rows, log_time=True)
    H = np.column_stack([np.ones(len(data)), data[columns]])
    fit = maximise(seen, H, distribution=DIST[family][0])
    assert fit.converged
    against_lifelines(params, se, loglik, fit, ["Intercept", *columns], family, seen.log_jacobian)
