"""Quantiles of a number that many rows ask of the same values: their probabilities, and those of rows by themselves."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import beta, hyp2f1, ndtr
from support.posteriors import nodes

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.posterior import node_quantiles
from tobitgp.posterior.node_quantiles import shared_quantiles
from tobitgp.posterior.questions import CURVES, cumulative_hazard, hazard, observed, probability, survival

INF, N, ORDERS = np.inf, 80, (0.5, 0.025, 0.975)
NOISES = {
    "normal": (NormalNoise(),) * 3,
    "gumbel": (Gumbel(),) * 3,
    "logistic": (Logistic(),) * 3,
    "student": (StudentNoise(3.0), StudentNoise(4.0), StudentNoise(9.0)),
}
every_noise = pytest.mark.parametrize("noise", NOISES)


def posterior(rng, noise, log=False, n=N):
    mean = np.linspace(-1.0, 1.0, n) + 0.05 * rng.normal(size=(3, n))
    return nodes(np.array([0.45, 0.25, 0.3]), mean, rng.uniform(0.1, 0.3, (3, n)), [0.5, 0.55, 0.6], log, NOISES[noise])


def below(q, question, row, value):
    """Probability of a smaller number in a row, adding up over cells of f, straight in each."""
    x = np.linspace(-7.0, 7.0, 6001)
    asked, total = question.take(slice(row, row + 1)), 0.0
    for j, weight in enumerate(q.weight):
        number = asked.number(q.given(j, q.mean[j, row] + q.sd[j, row] * x))
        low, high = np.minimum(number[1:], number[:-1]), np.maximum(number[1:], number[:-1])
        total += weight * np.diff(ndtr(x)) @ np.clip((value - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    return total


def all_ask(x):
    return np.full(N, x)


QUESTIONS = {
    "hazard": lambda log: hazard(log, all_ask(1.3)),
    "cumulative hazard": lambda log: cumulative_hazard(log, all_ask(1.3), all_ask(0.4)),
    "survival": lambda log: survival(log, all_ask(1.3), all_ask(0.4)),
    "probability": lambda log: probability(log, all_ask(0.7), above=False),
    "observed": lambda log: observed(log, all_ask(0.1), all_ask(1.5), all_ask(-INF), all_ask(INF)),
    "in a window": lambda log: observed(log, all_ask(0.4), all_ask(INF), all_ask(0.1), all_ask(2.0)),
}


@pytest.mark.parametrize(
    ("noise", "log"), [(noise, log) for noise in NOISES for log in (False, True) if not (log and noise == "student")]
)
@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.slow_cases(
    "observed-gumbel-True",
    "observed-logistic-False",
    "observed-logistic-True",
    "in a window-gumbel-True",
    "in a window-logistic-False",
    "in a window-logistic-True",
)
def test_quantiles_have_their_probabilities(rng, noise, log, what):
    q, question = posterior(rng, noise, log), QUESTIONS[what](log)
    for p, found in zip(ORDERS, q.quantiles(question, ORDERS), strict=True):
        for row in (0, 33):
            ends = (below(q, question, row, found[row] * share) for share in (1.0 - 1e-5, 1.0 + 1e-5))
            assert next(ends) - 2e-5 < p < next(ends) + 2e-5


@every_noise
@pytest.mark.parametrize("what", ["hazard", "probability", "observed"])
def test_they_are_those_of_rows_by_themselves(rng, noise, what):
    q, question = posterior(rng, noise), QUESTIONS[what](False)
    with np.errstate(all="ignore"):
        found = shared_quantiles(q, question, ORDERS)
        few = np.r_[0, N - 1]
        for p, together in zip(ORDERS, found, strict=True):
            if what == "hazard":
                (alone,) = node_quantiles._cell_quantiles(q.take(few), question.take(few), (p,))
            else:
                alone = node_quantiles._monotone_quantile(q.take(few), question.take(few), p)
            np.testing.assert_allclose(together[few], alone, rtol=5e-4 if what == "hazard" else 1e-8)


@every_noise
@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("start", [None, 0.0, 0.7])
def test_bands_of_many_rows_are_those_of_few(rng, noise, of, start):
    """Rows beside several values; one of them is the start, where nothing has happened yet."""
    q, after = posterior(rng, noise, noise != "student"), None if start is None else np.array([[start]])
    question = CURVES[of](q.log, (start or 0.0) + np.array([[0.0, 0.3, 1.0, 4.0]]), after)
    many, few = (part.spread_over().band(question, 0.9) for part in (q, q.take(slice(30, 33))))
    for name, values in many.items():
        np.testing.assert_allclose(values[30:33], few[name], rtol=3e-3, atol=1e-12)


def test_rows_of_one_component_have_closed_forms(rng):
    q = nodes(np.ones(1), rng.normal(size=(1, N)), rng.uniform(0.1, 0.3, (1, N)), [0.5])
    question = hazard(False, all_ask(0.7))
    for p, found in zip((0.5, 0.025), q.quantiles(question, (0.5, 0.025)), strict=True):
        f = q.mean[0] + {0.5: 0.0, 0.025: 1.959963984540054}[p] * q.sd[0]
        np.testing.assert_allclose(found, question.number(q.given(0, f)), rtol=1e-8)


DFS = {"heaviest first": (2.1, 95.0, 8.0), "lightest first": (95.0, 8.0, 2.1), "alike": (30.0, 33.0, 40.0)}


def log_tail(df, z):
    """Log of Student's ``P(T > z)``, also where that is no number, by the series of the incomplete beta function."""
    a, x = 0.5 * df, df / (df + z * z)
    return (
        stats.t.logsf(z, df)
        if z <= 0.0
        else a * np.log(x) + np.log(0.5 * hyp2f1(a, 0.5, a + 1.0, x) / a / beta(a, 0.5))
    )


def log_probability_below(log_p, q, df, row, limit):
    """Probability that ``log P(y > limit)`` is at most ``log_p``: from where each component shows it, by bisection."""
    total = 0.0
    for weight, m, s, (sigma,), nu in zip(q.weight, q.mean[:, row], q.sd[:, row], q.sigma, df, strict=True):

        def gap(u, m=m, s=s, sigma=sigma, nu=nu):
            return log_tail(nu, (limit - m - s * u) / sigma) - log_p

        total += weight * (0.0 if gap(-30.0) > 0.0 else 1.0 if gap(30.0) < 0.0 else ndtr(brentq(gap, -30.0, 30.0)))
    return total


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("df", DFS.values(), ids=DFS)
@pytest.mark.parametrize("weight", [(0.5, 0.2, 0.3), (0.1, 0.1, 0.8)], ids=str)
def test_far_tails_of_noise_of_other_shapes(rng, df, weight, above):
    """Where a probability is 1e-150 under light tails and 1e-6 under heavy ones, whichever has the largest weight."""
    side = 1.0 if above else -1.0
    mean, sd = side * (-1.5 + 0.1 * rng.normal(size=(3, 2))), np.full((3, 2), 0.14)
    q = nodes(np.array(weight), mean, sd, [0.03, 0.02, 0.04], False, tuple(map(StudentNoise, df)))
    question, orders = probability(False, side * np.array([6.0, 3.0]), above=above), (0.03, 0.18, 0.6, 0.97)
    mirrored = nodes(q.weight, side * mean, sd, [0.03, 0.02, 0.04], False, q.noises)
    for p, values in zip(orders, node_quantiles.quantiles(q, question, orders), strict=True):
        for row, limit in enumerate((6.0, 3.0)):
            assert log_probability_below(np.log(values[row]), mirrored, df, row, limit) == pytest.approx(p, abs=1e-5)
