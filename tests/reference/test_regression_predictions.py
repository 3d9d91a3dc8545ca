"""Predictions, residuals, moments and marginal effects of survreg, AER and lifelines."""

import numpy as np
import pytest
from support.posteriors import asked, rows_of
from support.regressions import (
    AFFAIRS,
    DIST,
    INTERVAL,
    LIFELINES,
    LUNG,
    TOBIN,
    affairs,
    lung,
    lung_windows,
    tobin,
)

from tobitgp.data.outcome import outcome
from tobitgp.kinds.likelihood import row_covariance
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression import covariance, maximise
from tobitgp.regression.deviance_residuals import deviance, dfbeta

COLUMNS = ("age", "yearsmarried", "religiousness", "occupation", "rating")
RTOL, SE_RTOL = 1e-5, 1e-4


class Fit:
    """A reference case, refitted."""

    def __init__(self, reference, rows, H, *, W=None, dist=None, cov_type="nonrobust"):
        distribution, self.log_time, log_scale = DIST[dist or reference["dist"]]
        if log_scale is None and len(reference["se"]) == H.shape[1]:
            log_scale = reference["log_scale"]
        self.distribution, self.rows, self.H = distribution, rows, H
        self.W = np.ones((len(H), 1)) if W is None else W
        self.seen = outcome(rows, log_time=self.log_time)
        known = None if log_scale is None else np.array([log_scale])
        self.fit = maximise(self.seen, H, distribution=distribution, W=self.W, fixed_gamma=known, scores=True)
        self.V = covariance(self.fit, cov_type, weight=rows.weight)

    def predictor(self, H=None, W=None):
        H, W = (self.H if H is None else H), (self.W if W is None else W)
        return rows_of(self.distribution, H @ self.fit.coefficients, W @ self.fit.gamma, self.log_time)

    def estimates(self, H, W):
        x = H @ self.fit.coefficients, W @ self.fit.gamma
        V = row_covariance([H, W], self.V)
        unit = np.exp(x[1]), np.ones(len(H))
        return Estimates(lambda at: rows_of(self.distribution, *at, self.log_time), x, unit, V, 0.0 * V)


def survregs_response(y):
    """What survreg calls the response: the location, or its exponential."""
    return y.response(y.location)


def prob(rows, limit, *, above):
    question = asked("prob", rows.log, limit=np.broadcast_to(limit, rows.location.shape), above=above)
    return question.number(rows)


def check_predictions(reference, made, H, W):
    at, log = made.estimates(H, W), made.log_time
    link = Question(lambda y: y.location), Question(survregs_response)
    for name, question in zip(("link", "response"), link, strict=True):
        found = at.statistics(question, None, se=True)
        np.testing.assert_allclose(found["estimate"], reference[name]["fit"], rtol=RTOL)
        np.testing.assert_allclose(found["se"], reference[name]["se"], rtol=SE_RTOL)
    kept = reference["quantile"]
    for j, q in enumerate(reference["quantile_p"]):
        found = at.statistics(asked("quantile", log, p=q), None, se=True)
        np.testing.assert_allclose(found["estimate"], np.array(kept["fit"])[:, j], rtol=RTOL)
        np.testing.assert_allclose(found["se"], np.array(kept["se"])[:, j], rtol=SE_RTOL)


def positions(reference, n, key="residual_rows_1based"):
    at = reference[key]
    return np.arange(n) if at == "all" else np.array(at) - 1


def check_case(reference, rows, H, *, W=None, dist=None, cov_type="nonrobust"):
    made = Fit(reference, rows, H, W=W, dist=dist, cov_type=cov_type)
    at = positions(reference, len(H), "predict_rows_1based")
    check_predictions(reference["predict"], made, made.H[at], made.W[at])
    if "predict_newdata" in reference:
        names = list(reference["newdata"][0])
        new = np.array([[1.0, *(row[name] for name in names)] for row in reference["newdata"]], dtype=float)
        check_predictions(reference["predict_newdata"], made, new, np.ones((len(new), made.W.shape[1])))
    check_residuals(reference, made)


def check_residuals(reference, made):
    at, kept, seen = positions(reference, len(made.H)), reference["residuals"], made.seen
    rows = made.predictor()
    exact, between = seen.exact[at], (np.isfinite(seen.lower) & np.isfinite(seen.upper) & ~seen.exact)[at]
    found = deviance(rows, seen)[at]
    want = np.array(kept["deviance"], dtype=float)
    if made.distribution.name == "gumbel":
        want[between] = corrected(want[between], *gumbel_maxima((seen.width / rows.scale)[at][between]))
    if made.distribution.name == "student":
        log_mode = float(made.distribution.log_density(np.zeros(1), 0)[0][0])
        want[exact] = corrected(want[exact], -log_mode, log_mode)
    np.testing.assert_allclose(found, want, rtol=RTOL, atol=1e-6)
    ours = np.exp(seen.lower[at]) if made.log_time else seen.lower[at]
    gap = np.array(kept["response"])[exact]
    np.testing.assert_allclose((ours - survregs_response(rows)[at])[exact], gap, rtol=RTOL, atol=1e-6)
    shift = rows.mean()[at] - survregs_response(rows)[at]
    own = (rows.conditional_mean(rows.response(seen.lower), rows.response(seen.upper)) - rows.mean())[at] + shift
    np.testing.assert_allclose(own[exact], gap, rtol=RTOL, atol=1e-6)
    check_dfbeta(np.array(kept["dfbeta"], dtype=float), made, at, between)


def check_dfbeta(want, made, at, between):
    """survreg leaves the weights out, and turns the derivative in the log scale of interval rows round."""
    V, scores = made.fit.inverse_information, made.fit.scores[at]
    scores[between, made.H.shape[1] :] *= -1.0
    want = want.reshape(len(at), -1)
    k = want.shape[1]
    se = np.sqrt(np.diag(V))[:k]
    np.testing.assert_allclose(dfbeta(scores, V)[:, :k] / se, want / se, rtol=1e-4, atol=2e-6)


def corrected(deviance, theirs, best):
    """survreg's deviance residuals with the largest log likelihood put right."""
    return np.sign(deviance) * np.sqrt(np.maximum(deviance**2 + 2.0 * (best - theirs), 0.0))


def gumbel_maxima(width):
    """Largest log mass of an interval by survreg, and as it is."""
    T = width / np.expm1(width)
    return -T + np.log1p(-np.exp(-np.exp(width))), -T + np.log(-np.expm1(-width))


@pytest.mark.parametrize("case", ["survreg_gaussian", "survreg_logistic", "survreg_t_df4", "survreg_fixed_scale_5"])
def test_tobin(case):
    check_case(TOBIN[case], *tobin())


def test_tobin_robust():
    check_case(TOBIN["survreg_robust"], *tobin(), cov_type="HC0")


def test_tobin_weighted():
    check_case(TOBIN["survreg_weighted"], *tobin(weight=np.array(TOBIN["weights_used"])))


def test_affairs():
    check_case(AFFAIRS["survreg_gaussian"], *affairs(*COLUMNS)[:2])


@pytest.mark.parametrize(
    "case", ["lognormal", "weibull", "loglogistic", "exponential", "gaussian", "logistic", "rayleigh"]
)
def test_lung(case):
    check_case(LUNG[case], *lung(), dist=case)


@pytest.mark.parametrize("case", ["lognormal", "weibull", "loglogistic"])
def test_lung_in_windows(case):
    check_case(INTERVAL[case], *lung_windows(), dist=case)


def test_lung_scale_by_sex():
    rows, H = lung()
    W = np.column_stack([H[:, 2] == 1.0, H[:, 2] == 2.0]).astype(float)
    check_case(LUNG["lognormal_scale_by_sex"], rows, H, W=W)


def test_survival_of_new_rows():
    kept = LUNG["survival_at"]
    new = np.array([[1.0, *row.values()] for row in kept["newdata"]], dtype=float)
    for dist in ("lognormal", "weibull", "loglogistic"):
        rows = Fit(LUNG[dist], *lung(), dist=dist).predictor(new, np.ones((len(new), 1)))
        found = [prob(rows, float(t), above=True) for t in kept["times"]]
        np.testing.assert_allclose(np.transpose(found), kept[dist], rtol=RTOL)


@pytest.mark.parametrize("family", ["lognormal", "weibull", "loglogistic"])
@pytest.mark.parametrize("kind", ["right", "interval"])
def test_times_at_the_estimates_of_lifelines(kind, family):
    """lifelines stops short of the maximum, so its own estimates are put in."""
    kept = LIFELINES[f"{kind}_{family}"]
    *beta, ancillary = (kept["params"][key] for key in order(kept["params"]))
    new = np.column_stack([np.ones(5), *(LIFELINES["newdata"][name] for name in ("age", "sex", "ph_ecog"))])
    tau = np.full(5, ancillary if family == "lognormal" else -ancillary)
    rows = rows_of(DIST[family][0], new @ np.array(beta), tau, True)
    np.testing.assert_allclose(rows.ppf(0.5), kept["predict_median"], rtol=RTOL)
    np.testing.assert_allclose(rows.mean(), kept["predict_expectation"], rtol=RTOL)
    np.testing.assert_allclose(rows.ppf(0.1), kept["predict_percentile_0.9"], rtol=RTOL)
    found = [prob(rows, float(t), above=True) for t in kept["survival_times"]]
    np.testing.assert_allclose(np.transpose(found), kept["survival_rows_newdata"], rtol=RTOL)


def order(params):
    location = {name.split()[0] for name in params if "age" in name}.pop()
    scale = {name.split()[0] for name in params}.difference({location}).pop()
    return [*(f"{location} {name}" for name in ("Intercept", "age", "sex", "ph_ecog")), f"{scale} Intercept"]


def check_moments(kept, rows):
    n = len(rows.location)
    low, high = np.zeros(n), np.full(n, np.inf)
    found = {
        "prob_uncensored": prob(rows, low, above=True),
        "prob_left": prob(rows, low, above=False),
        "prob_right": np.zeros(n),
        "mean_latent": rows.mean(),
        "mean_recorded": rows.clipped_mean(low, high),
        "mean_given_uncensored": rows.conditional_mean(low, high),
    }
    for name, values in found.items():
        np.testing.assert_allclose(values, np.array(kept["values"])[:, kept["cols"].index(name)], rtol=RTOL)


def test_tobin_moments():
    made = Fit(TOBIN["survreg_gaussian"], *tobin())
    check_moments(TOBIN["moments_training_rows"], made.predictor())
    new = np.array([[1.0, row["age"], row["quant"]] for row in TOBIN["survreg_gaussian"]["newdata"]])
    check_moments(TOBIN["moments_newdata"], made.predictor(new, np.ones((len(new), 1))))


def test_affairs_moments():
    made = Fit(AFFAIRS["survreg_gaussian"], *affairs(*COLUMNS)[:2])
    at = np.array(AFFAIRS["moments_rows_1based"]) - 1
    check_moments(AFFAIRS["moments_rows"], made.predictor(made.H[at], made.W[at]))


def check_effects(kept, made, H, names):
    """Slopes of all columns."""
    n = len(H)
    omega, low, high = np.full(n, 1.0 / n), np.zeros(n), np.full(n, np.inf)
    scales = {
        "d_recorded_mean": lambda y: y.clipped_mean(low, high),
        "d_prob_positive": lambda y: prob(y, low, above=True),
    }
    W = np.ones((n, 1))
    for j, name in enumerate(names, start=1):
        step = 1e-4 * made.H[:, j].std() * np.eye(H.shape[1])[j]
        above, below = (made.predictor(H + s, W) for s in (step, -step))
        share = omega / (2.0 * step[j])
        for scale, number in scales.items():
            assert share @ (number(above) - number(below)) == pytest.approx(kept[scale][name], rel=RTOL)
        given = share @ (above.conditional_mean(low, high) - below.conditional_mean(low, high))
        assert given == pytest.approx(kept["d_mean_given_positive"][name], rel=RTOL)


def test_tobin_effects_at_means():
    made = Fit(TOBIN["survreg_gaussian"], *tobin())
    check_effects(TOBIN["marginal_effects_at_means"], made, made.H.mean(axis=0)[None], ("age", "quant"))


def test_affairs_average_effects():
    made = Fit(AFFAIRS["survreg_gaussian"], *affairs(*COLUMNS)[:2])
    check_effects(AFFAIRS["average_marginal_effects"], made, made.H, COLUMNS)
