"""A kind of fit registered at run time, from a log density and log tails alone, answers every question there is.

Log times have the cdf ``expit(z) ** a``, ``z = (log t - mu) / sigma``; mu, log sigma and log a are linear in columns.
"""

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_expit
from support.matrix.asking import QUESTIONS, ask
from support.matrix.fits import CENSORED, LIKELIHOOD, TIME, Case, Entry

import tobitgp as tg
from tobitgp.distributions.row_models import DensityModel, RowParameter
from tobitgp.errors import SpecError
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import family_of_rows

NAME = "skewed times"


def standardised(v, mu, tau):
    return (v - mu) * np.exp(-tau)


def log_cdf(v, mu, tau, log_a):
    return np.exp(log_a) * log_expit(standardised(v, mu, tau))


def log_density(v, mu, tau, log_a):
    return log_a - tau + log_cdf(v, mu, tau, log_a) + log_expit(-standardised(v, mu, tau))


def log_sf(v, mu, tau, log_a):
    return np.log(-np.expm1(log_cdf(v, mu, tau, log_a)))


MODEL = DensityModel(
    (RowParameter("sigma"), RowParameter("skew")),
    log_density,
    log_sf,
    log_cdf,
    log=True,
    width=lambda mu, tau, log_a: np.exp(tau),
)
FORMULAS = {"sigma": "~ arm", "skew": "~ z"}


@pytest.fixture(scope="module", autouse=True)
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, NAME, family_of_rows(NAME, MODEL))
        yield


def rows(n=300):
    rng = np.random.default_rng(8)
    x, z, arm = rng.normal(size=n), rng.uniform(-1.0, 1.0, n), rng.integers(0, 2, n)
    a, sigma = np.exp(0.3 + 0.5 * z), np.exp(-1.0 + 0.3 * arm)
    log_u = np.log(rng.uniform(size=n)) / a
    t = np.exp(1.0 + 0.4 * x + sigma * (log_u - np.log(-np.expm1(log_u))))
    entry, end = rng.uniform(0.0, 1.0, n) * (rng.random(n) < 0.3), rng.exponential(12.0, n) + 1.0
    kept = t > entry
    data = pd.DataFrame({"time": np.minimum(t, end), "event": (t <= end).astype(int), "entry": entry})
    return data.assign(x=x, z=z, arm=arm, w=rng.integers(1, 4, n))[kept].reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted(registered):
    data = rows()
    call = {"family": NAME, "formulas": FORMULAS, "weights": "w"}
    return data, tg.fit("Surv(entry, time, event) ~ x", data, **call)


def parameters(b, data):
    return b[0] + b[1] * data["x"], b[2] + b[3] * data["arm"], b[4] + b[5] * data["z"]


def log_likelihood(b, data):
    x = parameters(b, data)
    v, entry = np.log(data["time"]), np.log(np.maximum(data["entry"], 1e-300))
    each = np.where(data["event"] == 1, log_density(v, *x) - v, log_sf(v, *x))
    return float(data["w"] @ (each - np.where(data["entry"] > 0.0, log_sf(entry, *x), 0.0)))


@pytest.mark.slow
def test_it_is_fitted_to_censored_truncated_and_weighted_rows(fitted):
    data, res = fitted
    b, h = res.params.to_numpy(), 1e-4
    assert res.converged
    assert list(res.params.index) == [
        "Intercept", "x", "log(sigma)[Intercept]", "log(sigma)[arm]", "log(skew)[Intercept]", "log(skew)[z]",
    ]  # fmt: skip
    assert res.llf == pytest.approx(log_likelihood(b, data), rel=1e-13)
    steps = h * np.eye(6)
    slope = [(log_likelihood(b + e, data) - log_likelihood(b - e, data)) / (2.0 * h) for e in steps]
    assert np.abs(slope).max() < 1e-3

    def bend(e, f):
        signs = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
        return sum(s * log_likelihood(b + i * e + j * f, data) for i, j, s in signs) / (4.0 * h * h)

    information = -np.array([[bend(e, f) for f in steps] for e in steps])
    np.testing.assert_allclose(res.bse, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-4)
    assert np.abs(b - [1.0, 0.4, -1.0, 0.3, 0.3, 0.5]).max() < 5.0 * res.bse.max()


def test_left_and_interval_censored_rows_are_masses(registered):
    data = rows(200)
    rng = np.random.default_rng(1)
    low, high = data["time"] * rng.uniform(0.5, 0.9, len(data)), data["time"] * rng.uniform(1.1, 2.0, len(data))
    data = data.assign(lo=np.where(rng.random(len(data)) < 0.3, np.nan, low), hi=high)
    res = tg.fit("interval(lo, hi) ~ x", data, family=NAME)
    b = res.params.to_numpy()
    x = b[0] + b[1] * data["x"], np.log(b[2]), np.log(b[3])
    below = np.where(np.isnan(data["lo"]), 0.0, np.exp(log_cdf(np.log(data["lo"]), *x)))
    assert res.llf == pytest.approx(np.log(np.exp(log_cdf(np.log(data["hi"]), *x)) - below).sum(), rel=1e-10)


def cdf(t, x):
    return float(np.exp(log_cdf(np.log(t), *x)))


def mean_up_to(x, end, start=0.0):
    """Start and the area under survival from there, over log time."""
    first = max(np.log(start), -40.0) if start else -40.0
    breaks = np.clip(x[0] + np.exp(x[1]) * np.arange(-40.0, 80.0, 2.0), first, min(np.log(end), 40.0))
    breaks = np.unique(np.concatenate([[first], breaks, [min(np.log(end), 40.0)]]))

    def survival(v):
        return float(np.exp(log_sf(v, *x) + v))

    area = sum(quad(survival, a, b, epsabs=1e-14, epsrel=1e-11)[0] for a, b in pairwise(breaks))
    return start + area if start else np.exp(first) + area


def quantile(x, q):
    return brentq(lambda t: cdf(t, x) - q, 1e-9, 1e6, xtol=1e-14, rtol=1e-14)


TRUTHS = {
    "latent": ({}, lambda x: x[0]),
    "median": ({}, lambda x: quantile(x, 0.5)),
    "quantile": ({"q": 0.9}, lambda x: quantile(x, 0.9)),
    "prob": ({"above": 3.0}, lambda x: 1.0 - cdf(3.0, x)),
    "uncensored": ({}, lambda x: mean_up_to(x, np.inf)),
}
NEW = pd.DataFrame({"x": [-0.8, 0.0, 1.1], "z": [0.5, -0.7, 0.2], "arm": [0, 1, 1]})


@pytest.mark.parametrize("what", TRUTHS)
def test_predictions_are_those_of_quadrature(fitted, what):
    """And standard errors those of the delta method, on the scale of the number or of its logarithm or logit."""
    _, res = fitted
    options, truth = TRUTHS[what]
    b, V, h = res.params.to_numpy(), res.cov_params().to_numpy(), 1e-4

    def at(b):
        return np.array([truth(x) for x in zip(*parameters(b, NEW), strict=True)])

    found = res.predict(NEW, what, se=True, **options)
    np.testing.assert_allclose(found["estimate"], at(b), rtol=1e-8)
    G = np.array([(at(b + h * e) - at(b - h * e)) / (2.0 * h) for e in np.eye(6)])
    np.testing.assert_allclose(found["se"], np.sqrt(np.einsum("in,ij,jn->n", G, V, G)), rtol=1e-5)


def test_curves_percentiles_and_means_within_time_are_those_of_quadrature(fitted):
    _, res = fitted
    times = [0.5, 2.0, 6.0]
    xs = list(zip(*parameters(res.params.to_numpy(), NEW), strict=True))
    S = np.array([[1.0 - cdf(t, x) for x in xs] for t in times])
    f = np.array([[np.exp(log_density(np.log(t), *x)) / t for x in xs] for t in times])
    np.testing.assert_allclose(res.predict_survival_function(NEW, times), S, rtol=1e-10)
    np.testing.assert_allclose(res.predict_cumulative_hazard(NEW, times), -np.log(S), rtol=1e-9)
    np.testing.assert_allclose(res.predict_hazard(NEW, times), f / S, rtol=1e-9)
    later = res.predict_survival_function(NEW, times, conditional_after=1.0)
    np.testing.assert_allclose(
        later, [[(1.0 - cdf(1.0 + t, x)) / (1.0 - cdf(1.0, x)) for x in xs] for t in times], rtol=1e-9
    )
    np.testing.assert_allclose(res.predict_percentile(NEW, p=0.2), [quantile(x, 0.8) for x in xs], rtol=1e-9)
    np.testing.assert_allclose(res.predict_restricted_mean(NEW, t=4.0), [mean_up_to(x, 4.0) for x in xs], rtol=1e-8)
    np.testing.assert_allclose(res.predict_expectation(NEW), [mean_up_to(x, np.inf) for x in xs], rtol=1e-8)


def test_censored_rows_are_imputed_by_their_conditional_means(fitted):
    data, res = fitted
    censored = data[data["event"] == 0].head(3)
    found = res.predict(censored, "conditional")
    for (_, row), value in zip(censored.iterrows(), found, strict=True):
        x = tuple(parameters(res.params.to_numpy(), row))
        area = mean_up_to(x, np.inf, start=row["time"]) - row["time"]
        assert value == pytest.approx(row["time"] + area / (1.0 - cdf(row["time"], x)), rel=1e-8)


def test_draws_have_its_distribution(fitted):
    _, res = fitted
    alone = NEW.head(1)
    y = res.sample(alone, draws=20_000, rng=1).to_numpy().ravel()
    assert np.median(y) == pytest.approx(float(res.predict(alone, "median").iloc[0]), rel=0.05)


@pytest.mark.slow
def test_every_question_of_the_matrix_is_answered(registered, tmp_path: Path):
    """Or has no meaning of times that may be censored and enter late."""
    options = {"family": NAME, "formulas": {"sigma": "~ arm"}}
    facts = frozenset((LIKELIHOOD, TIME, CENSORED, "no ratio", "entry"))
    entry = Entry("skewed", "formulas", "Surv(entry, time, event) ~ z + arm", facts, "rows", options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case(entry, tmp_path)
    short = {}
    for question in QUESTIONS:
        if question.name.startswith("Model"):
            continue
        outcome = ask(case, question)
        if outcome.word in ("raw", "shape") or (question.reason(entry) is None and outcome.word != "answered"):
            short[question.name] = outcome
    assert short == {}


def test_functions_without_a_derivative_are_named():
    from scipy.special import erf

    model = DensityModel(
        (RowParameter("sigma"),), lambda v, mu, tau: erf(mu) + tau, lambda v, mu, tau: -np.exp(tau) * v
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "odd", family_of_rows("odd", model))
        with pytest.raises(SpecError, match=r"erf.*not supported in derivatives"):
            tg.fit("y ~ 1", {"y": [1.0, 2.0, 3.0]}, family="odd")


def test_the_tails_of_the_truth_agree():
    assert np.exp(log_sf(0.3, 0.1, 0.2, 0.4)) + np.exp(log_cdf(0.3, 0.1, 0.2, 0.4)) == pytest.approx(1.0, rel=1e-14)
