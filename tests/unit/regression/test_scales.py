from functools import partial

import numpy as np
import pytest
from scipy import integrate, stats
from support.differences import derivative
from tobitgp.regression.scales import Predictor, latent, median, observed, probability, quantile, uncensored
from tobitgp.results.clipped import clipped_mean

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student

INF = np.inf
FROZEN = {"normal": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l, "student": partial(stats.t, 5.0)}
LAWS = [Normal(), Logistic(), Gumbel(), Student(5.0)]
ETA, TAU = np.array([-0.8, 0.4, 1.5, 0.2]), np.log([0.9, 0.4, 0.6, 0.3])
LOWER, UPPER = np.array([0.1, -INF, 0.5, 0.3]), np.array([2.0, 1.2, INF, 0.7])
QUANTITIES = {
    "latent": latent,
    "median": median,
    "uncensored": uncensored,
    "quantile": lambda rows: quantile(rows, 0.83),
    "below": lambda rows: probability(rows, np.array(0.7), above=False),
    "above": lambda rows: probability(rows, np.array(0.7), above=True),
    "observed": lambda rows: observed(rows, LOWER, UPPER),
}
CASES = [(law, log_time) for law in LAWS for log_time in (False, True) if not (log_time and law.name == "student")]
IDS = [f"{law.name}{'-time' if log_time else ''}" for law, log_time in CASES]


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize(("law", "log_time"), CASES, ids=IDS)
def test_derivatives(law, log_time, name):
    ask = QUANTITIES[name]
    found = ask(Predictor(ETA, TAU, law, log_time))
    slope = derivative(lambda x: ask(Predictor(x, TAU, law, log_time)).value, ETA, 1e-3)
    turn = derivative(lambda x: ask(Predictor(ETA, x, law, log_time)).value, TAU, 1e-3)
    np.testing.assert_allclose(found.d_eta, slope, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.d_tau, turn, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("law", "log_time"), CASES, ids=IDS)
def test_observed_mean_by_quadrature_of_the_survival_function(law, log_time):
    rows = Predictor(ETA, TAU, law, log_time)
    found = observed(rows, LOWER, UPPER).value
    for i, y in enumerate(found):
        noise = FROZEN[law.name](ETA[i], np.exp(TAU[i]))

        def sf(t, noise=noise):
            with np.errstate(over="ignore"):
                return noise.sf(np.log(t) if log_time else t)

        low, high = max(LOWER[i], 0.0 if log_time else -INF), UPPER[i]
        options = {"epsabs": 1e-13, "epsrel": 1e-12, "limit": 400}
        if np.isneginf(low):
            want = high - integrate.quad(lambda t: 1.0 - sf(t), -INF, high, **options)[0]
        else:
            start = 0.0 if np.isneginf(low) else low
            middle = max(start, float(np.exp(ETA[i])) if log_time else ETA[i])
            pieces = [(start, min(middle, high)), (min(middle, high), high)]
            want = start + sum(integrate.quad(sf, p, q, **options)[0] for p, q in pieces)
        assert y == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("log_time", [False, True])
def test_observed_mean_of_the_normal_law_as_for_processes(log_time):
    eta = np.linspace(-9.0, 9.0, 37)
    rows = Predictor(eta, np.full(37, np.log(0.7)), Normal(), log_time)
    for lower, upper in ((0.2, INF), (0.2, 1.3), (-INF, 1.3)):
        limits = np.full(37, lower), np.full(37, upper)
        want = clipped_mean(eta, np.full(37, 0.7), *limits, log_time=log_time)
        np.testing.assert_allclose(observed(rows, *limits).value, want, rtol=1e-10)


@pytest.mark.parametrize(("law", "log_time"), CASES, ids=IDS)
def test_quantiles_and_probabilities_undo_each_other(law, log_time):
    rows = Predictor(ETA, TAU, law, log_time)
    y = quantile(rows, 0.3).value
    digits = 1e-10 if law.name == "student" else 1e-12  # scipy.special.stdtrit in scipy 1.15
    np.testing.assert_allclose(probability(rows, y, above=False).value, 0.3, rtol=digits)
    np.testing.assert_allclose(probability(rows, y, above=True).value, 0.7, rtol=digits)


@pytest.mark.parametrize("law", LAWS[:3], ids=lambda law: law.name)
def test_without_limits_observed_is_uncensored(law):
    free = np.full(4, -INF), np.full(4, INF)
    for log_time in (False, True):
        rows = Predictor(ETA, TAU, law, log_time)
        for x, y in zip(observed(rows, *free)[:3], uncensored(rows)[:3], strict=True):
            np.testing.assert_array_equal(x, y)
        wide = np.full(4, 1e-9 if log_time else -60.0), np.full(4, INF)
        np.testing.assert_allclose(observed(rows, *wide).value, uncensored(rows).value, rtol=1e-8)


def test_means_of_times_by_quadrature():
    for law, frozen in ((Normal(), stats.norm), (Gumbel(), stats.gumbel_l), (Logistic(), stats.logistic)):
        value = uncensored(Predictor(np.array([0.3]), np.log([0.6]), law, True)).value[0]
        want = integrate.quad(lambda z, f=frozen: np.exp(0.3 + 0.6 * z) * f.pdf(z), -50, 80, points=[0], limit=400)[0]
        assert value == pytest.approx(want, rel=1e-9)


def test_what_has_no_mean():
    cauchy = uncensored(Predictor(ETA, TAU, Student(1.0)))
    assert np.isnan(cauchy.value).all()
    assert np.isnan(cauchy.d_eta).all()
    logistic = Predictor(np.zeros(2), np.log([0.5, 1.0]), Logistic(), True)
    for found in (uncensored(logistic), observed(logistic, np.full(2, 0.1), np.full(2, INF))):
        assert np.isfinite(found.value).tolist() == [True, False]
        assert np.isfinite(found.d_tau).tolist() == [True, False]
    assert np.isfinite(observed(logistic, np.full(2, 0.1), np.full(2, 9.0)).value).all()
    bounded = observed(Predictor(ETA, TAU, Student(0.8)), np.zeros(4), np.ones(4))
    assert ((bounded.value > 0.0) & (bounded.value < 1.0)).all()


def test_far_from_the_limits():
    rows = Predictor(np.array([-30.0, 30.0]), np.zeros(2), Normal())
    found = observed(rows, np.zeros(2), np.full(2, 1.0))
    assert 0.0 < found.value[0] < 1e-190
    assert found.value[1] == pytest.approx(1.0, abs=1e-15)
    none = probability(Predictor(np.zeros(2), np.zeros(2), Normal(), True), np.array([0.0, -3.0]), above=False)
    assert none.value.tolist() == none.d_eta.tolist() == none.d_tau.tolist() == [0.0, 0.0]


def test_links():
    rows, times = Predictor(ETA, TAU, Normal()), Predictor(ETA, TAU, Normal(), True)
    assert [QUANTITIES[name](rows).link for name in QUANTITIES] == [*["identity"] * 4, "logit", "logit", "identity"]
    assert [QUANTITIES[name](times).link for name in QUANTITIES] == ["identity", *["log"] * 3, "logit", "logit", "log"]
