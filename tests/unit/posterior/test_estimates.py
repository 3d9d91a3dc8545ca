import numpy as np
import pytest
from scipy import stats
from support.differences import derivative
from support.posteriors import rows_of

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import CURVES, Question, latent, mean, observed, probability, quantile

INF = np.inf
ETA, TAU = np.array([-0.8, 0.4, 1.5, 0.2]), np.log([0.9, 0.4, 0.6, 0.3])
LOWER, UPPER, FREE = np.array([0.1, -INF, 0.5, 0.3]), np.array([2.0, 1.2, INF, 0.7]), np.full(4, INF)
AT = np.full(4, 0.7)
QUESTIONS = {
    "latent": latent,
    "uncensored": mean,
    "quantile": lambda log: quantile(log, 0.83),
    "below": lambda log: probability(log, AT, above=False),
    "above": lambda log: probability(log, AT, above=True),
    "observed": lambda log: observed(log, LOWER, UPPER, -FREE, FREE),
    **{name: lambda log, of=of: of(log, AT + 1.0, AT) for name, of in CURVES.items()},
}
DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(5.0)]
CASES = [
    (distribution, log)
    for distribution in DISTRIBUTIONS
    for log in (False, True)
    if not (log and distribution.name == "student")
]


def estimates(distribution, V, log=False, eta=ETA, tau=TAU):
    unit = np.exp(tau), np.ones_like(tau)
    V = np.broadcast_to(V, (len(eta), 2, 2))
    return Estimates(lambda x: rows_of(distribution, *x, log), (eta, tau), unit, V, 0.0 * V)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(
    ("distribution", "log"), CASES, ids=[f"{distribution.name}{'-time' if log else ''}" for distribution, log in CASES]
)
def test_slopes(distribution, log, name):
    ask = QUESTIONS[name](log)
    found = estimates(distribution, np.eye(2), log).slopes(ask)
    want = derivative(lambda x: ask(rows_of(distribution, x, TAU, log)), ETA, 1e-3)
    np.testing.assert_allclose(found[0], want, rtol=1e-6, atol=1e-9)
    want = derivative(lambda x: ask(rows_of(distribution, ETA, x, log)), TAU, 1e-3)
    np.testing.assert_allclose(found[1], want, rtol=1e-6, atol=1e-9)


def test_links():
    links = [[QUESTIONS[name](log).link for name in list(QUESTIONS)[:6]] for log in (False, True)]
    assert links == [
        [*["identity"] * 3, "logit", "logit", "identity"],
        ["identity", "log", "log", "logit", "logit", "log"],
    ]


def test_standard_errors_as_the_spread_of_predictions(rng):
    V = np.array([[4e-4, 1e-4], [1e-4, 9e-4]])
    draws = rng.multivariate_normal([1.0, -0.5], V, size=200_000)
    spread = rows_of(Gumbel(), draws[:, 0], draws[:, 1], True).ppf(0.9).std()
    at = estimates(Gumbel(), V, True, np.ones(1), np.full(1, -0.5))
    found = at.statistics(quantile(True, 0.9), None, se=True)["se"]
    assert found[0] == pytest.approx(spread, rel=0.01)


@pytest.mark.parametrize("link", ["identity", "log", "logit"])
def test_intervals_are_symmetric_on_the_scale_of_the_link(link):
    value, sd = np.array([0.2, 0.7]), 0.1
    question = Question(lambda y: y.location, link)
    linked = {"identity": value, "log": np.log(value), "logit": np.log(value / (1.0 - value))}[link]
    found = estimates(NormalNoise(), np.diag([sd**2, 0.0]), False, linked, np.zeros(2)).statistics(
        question, 0.9, se=True
    )
    z = stats.norm.ppf(0.95)
    back = {"identity": lambda x: x, "log": np.exp, "logit": lambda x: 1.0 / (1.0 + np.exp(-x))}[link]
    np.testing.assert_allclose(found["estimate"], value)
    np.testing.assert_allclose(found["se"], sd * {"identity": 1.0, "log": value, "logit": value * (1.0 - value)}[link])
    np.testing.assert_allclose([found["lower"], found["upper"]], [back(linked - z * sd), back(linked + z * sd)])


def test_what_is_certain_stays_where_it_is():
    at = estimates(NormalNoise(), np.eye(2), True, np.zeros(2), np.zeros(2))
    for above, value in ((True, 1.0), (False, 0.0)):
        found = at.statistics(probability(True, np.array([0.0, -3.0]), above=above), 0.95, se=True)
        assert found["estimate"].tolist() == found["lower"].tolist() == found["upper"].tolist() == [value] * 2
        assert found["se"].tolist() == [0.0, 0.0]
    infinite = estimates(Logistic(), np.eye(2), True, np.zeros(2), np.log([0.5, 1.5])).statistics(
        mean(True), 0.9, se=True
    )
    assert np.isposinf([infinite[name][1] for name in ("estimate", "lower", "upper")]).all()
    assert np.isnan(infinite["se"][1])


def test_what_is_not_identified_has_no_error():
    V, lost = np.broadcast_to(np.diag([0.1, 0.0]), (4, 2, 2)), np.broadcast_to(np.diag([0.0, 1.0]), (4, 2, 2))
    at = Estimates(lambda x: rows_of(NormalNoise(), *x), (ETA, TAU), (np.exp(TAU), np.ones(4)), V, lost)
    assert np.isnan(at.errors(quantile(False, 0.9))).all()
    np.testing.assert_allclose(at.errors(quantile(False, 0.5)), np.sqrt(0.1))


def test_errors_beyond_the_largest_square_are_infinite():
    at = Estimates(lambda x: x[0], (ETA,), (np.ones(4),), np.full((4, 1, 1), 4.0), np.zeros((4, 1, 1)))
    np.testing.assert_allclose(at.errors(lambda x: 1e150 * x), 2e150, rtol=1e-6)
    np.testing.assert_array_equal(at.errors(lambda x: 1e180 * x), INF)
