"""``se`` on every scale is the standard deviation of the quantity under the fit's posterior of f and the noise."""

import numpy as np
import pytest
from scipy import stats as st
from scipy.special import gamma
from support.posteriors import asked, nodes

import tobitgp as tg
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.results.rows import ask

X = np.linspace(-30.0, 30.0, 6001)
MASS = st.norm.pdf(X) / st.norm.pdf(X).sum()
TIMES = [1e-4, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4]


def weibull():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 100)
    time, limit = np.exp(3.0 + np.sin(x)) * rng.weibull(1.4, 100), rng.exponential(60.0, 100)
    data = {"x": x, "time": np.minimum(time, limit), "event": time <= limit}
    return tg.fit("Surv(time, event) ~ gp(x)", data, family="weibull"), data, TIMES


def tobit():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 10.0, 60)
    data = {"x": x, "y": np.maximum(np.sin(x) + 0.4 * rng.standard_normal(60), -0.3)}
    return tg.fit("y ~ gp(x) | censor(-0.3)", data), data, [-6.0, -3.0, -0.3, 0.0, 1.0, 3.0, 6.0]


def logistic():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 10.0, 60)
    data = {"x": x, "y": np.sin(x) + 0.2 * rng.logistic(size=60)}
    return tg.fit("y ~ gp(x)", data, family="logistic"), data, [-20.0, -3.0, 0.0, 1.0, 3.0, 20.0]


def of_weibull(f, sigma, times):
    scale = np.exp(f)
    found = {"latent": f, "median": scale * np.log(2.0) ** sigma, "uncensored": scale * gamma(1.0 + sigma)}
    found["quantile"] = scale * np.log(10.0) ** sigma
    return found | {t: np.stack([-np.expm1(-w), np.exp(-w)]) for t in times for w in [(t / scale) ** (1.0 / sigma)]}


def of_tobit(f, sigma, times):
    distribution, z = st.norm(f, sigma), (f + 0.3) / sigma
    found = dict.fromkeys(("latent", "median", "uncensored"), f) | {"quantile": f + sigma * st.norm.ppf(0.9)}
    found["observed"] = -0.3 + sigma * (z * st.norm.cdf(z) + st.norm.pdf(z))
    return found | {t: np.stack([distribution.cdf(t), distribution.sf(t)]) for t in times}


def of_logistic(f, sigma, times):
    distribution = st.logistic(f, sigma)
    found = dict.fromkeys(("latent", "median", "uncensored", "observed"), f) | {"quantile": distribution.ppf(0.9)}
    return found | {t: np.stack([distribution.cdf(t), distribution.sf(t)]) for t in times}


@pytest.mark.slow
@pytest.mark.parametrize(("fitted", "of"), [(weibull, of_weibull), (tobit, of_tobit), (logistic, of_logistic)])
def test_errors_are_those_of_the_posterior(fitted, of):
    res, data, limits = fitted()
    rows = {"x": data["x"][:3]}
    q = nodes_of(res.parts, ask(res.parts, rows).design)
    draws = of(q.mean[:, :, None] + q.sd[:, :, None] * X, q.sigma[:, :, None], limits)
    share = q.weight[:, None, None] * MASS

    def sd(values):
        away = values - (share * values).sum(axis=(0, 2), keepdims=True)
        return np.sqrt((share * away**2).sum(axis=(0, 2)))

    for what in ("latent", "median", "uncensored", "quantile", "observed"):
        if what in draws:
            found = res.predict(rows, what, se=True, q=0.9 if what == "quantile" else None)["se"]
            np.testing.assert_allclose(found, sd(draws[what]), rtol=1e-3)
    for t in limits:
        below, above = draws[t]
        rarer = below if (share * below).sum() < (share * above).sum() else above
        for side in ("below", "above"):
            np.testing.assert_allclose(res.predict(rows, "prob", se=True, **{side: t})["se"], sd(rarer), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", [Gumbel(), Logistic()])
def test_no_probability_is_above_one(distribution):
    """Weights that sum to a little more than 1, at values far below what may be seen and far above."""
    sd, sigma = np.tile(np.geomspace(0.01, 3.0, 40), (3, 1)), np.array([0.5, 1.0, 1.5])
    q = nodes(np.array([0.1, 0.2, 0.7]) * (1.0 + 4e-16), np.zeros((3, 40)), sd, sigma, noises=(distribution,) * 3)
    for z in np.linspace(-60.0, 60.0, 97):
        both = np.stack([q.value(asked("prob", False, limit=np.full(40, z), above=above)) for above in (False, True)])
        assert (both.max(axis=0) <= 1.0).all()
        np.testing.assert_allclose(both.sum(axis=0), 1.0, rtol=1e-12)
