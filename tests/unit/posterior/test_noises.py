"""Every scale under noise of every distribution: draws, closed forms, and fits from end to end."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import kstest
from support.posteriors import asked, nodes

import tobitgp as tg
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.numerics.truncated_moments import interval
from tobitgp.posterior.seen import (
    Component,
    LeftOutRows,
    conditional_mean,
    conditional_statistics,
    imputed_mean,
    log_evidence,
)
from tobitgp.results.residuals import Tails, log_probability, pearson

pytestmark = pytest.mark.diagonal

INF = np.inf
LOWER, UPPER = np.array([0.3, -INF, 0.4, -INF]), np.array([INF, 1.4, 1.5, INF])
CASES = {
    "logistic": ((Logistic(),) * 3, False),
    "gumbel": ((Gumbel(),) * 3, False),
    "student": ((StudentNoise(3.0), StudentNoise(5.0), StudentNoise(20.0)), False),
    "one student": ((StudentNoise(2.5),), False),
    "loglogistic": ((Logistic(),) * 3, True),
    "weibull": ((Gumbel(),) * 3, True),
    "one weibull": ((Gumbel(),), True),
}


def mixture(rng, distributions, log_time, spread=0.3):
    J = len(distributions)
    sd = spread * np.exp(0.3 * rng.normal(size=(J, 4)))
    sigma = 0.35 * np.exp(0.3 * rng.normal(size=J))
    mean = 0.3 + 0.2 * rng.normal(size=(J, 4))
    return nodes(rng.dirichlet(np.ones(J)), mean, sd, sigma, log_time, distributions)


def draws(q, size, rng):
    """f, standardised noise and component of draws."""
    j = rng.choice(len(q.weight), size, p=q.weight)
    f = q.mean[j] + q.sd[j] * rng.normal(size=(size, 4))
    uniform, Z = rng.uniform(size=f.shape), np.empty_like(f)
    for k, distribution in enumerate(q.noises):
        Z[j == k] = distribution.ppf(uniform[j == k])
    return f, Z, j


def by_component(q, j, function):
    """A function of (distribution, sigma, chosen draws), put together."""
    out = np.empty((len(j), 4))
    for k, distribution in enumerate(q.noises):
        out[j == k] = function(distribution, q.sigma[k], j == k)
    return out


def agrees(question, q, g, seen, size):
    """Point with the response's own draws, spread with those of the quantity."""
    if seen is not None:
        assert (np.abs(q.value(question) - seen.mean(axis=0)) < 5 * seen.std(axis=0) / np.sqrt(size) + 1e-9).all()
    squares = (g - g.mean(axis=0)) ** 2
    assert (np.abs(q.se(question) ** 2 - squares.mean(axis=0)) < 7 * squares.std(axis=0) / np.sqrt(size) + 1e-9).all()
    orders = (0.025, 0.5, 0.975)
    for p, x in zip(orders, q.quantiles(question, orders), strict=True):
        slack = 5 * np.sqrt(p * (1 - p) / size)
        assert ((g < x - 1e-9).mean(axis=0) < p + slack).all()
        assert ((g <= x + 1e-9).mean(axis=0) > p - slack).all()


@pytest.mark.parametrize("size", [60_000, pytest.param(1_000_000, marks=pytest.mark.study)])
@pytest.mark.parametrize("case", CASES)
def test_against_draws(rng, case, size):
    distributions, log_time = CASES[case]
    q = mixture(rng, distributions, log_time)
    f, Z, j = draws(q, size, rng)
    sigma = q.sigma[j]
    y = f + sigma * Z
    y = np.exp(y) if log_time else y

    def shifted(shift):
        g = f + shift[j][:, None]
        return np.exp(g) if log_time else g

    def of_noise(p):
        return q.sigma[:, 0] * np.array([float(distribution.ppf(np.array(p))) for distribution in distributions])

    clip = by_component(
        q,
        j,
        lambda distribution, s, at: LocationScale(distribution, f[at], s, log_time).fast_clipped_mean(LOWER, UPPER),
    )
    agrees(asked("median", log_time), q, shifted(of_noise(0.5)), None, size)
    shift = asked("uncensored", log_time).pivots(q.noises, q.sigma)[0][:, 0]
    agrees(asked("uncensored", log_time), q, shifted(shift), y, size)
    agrees(asked("observed", log_time, LOWER, UPPER), q, clip, np.clip(y, LOWER, UPPER), size)
    agrees(asked("quantile", log_time, p=0.9), q, shifted(of_noise(0.9)), None, size)
    for p, x in ((p, q.value(asked("quantile", log_time, p=p))) for p in (0.5, 0.9)):
        assert (np.abs((y < x).mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / size)).all()
    z = ((np.log(0.8) if log_time else 0.8) - f) / sigma
    for above in (False, True):
        P = by_component(
            q,
            j,
            lambda distribution, _, at, a=above: np.exp((distribution.log_sf if a else distribution.log_cdf)(z[at])),
        )
        agrees(
            asked("prob", log_time, limit=np.full(4, 0.8), above=above),
            q,
            P,
            ((y > 0.8) if above else (y < 0.8)).astype(float),
            size,
        )


@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize("spread", [1e-3, 0.4, 30.0])
def test_the_normal_distribution_is_its_closed_form(rng, log_time, spread):
    """The general functions, handed normal noise."""
    spread = min(spread, 1.5) if log_time else spread
    q = mixture(rng, (NormalNoise(),) * 3, log_time, spread)
    S, question = np.hypot(q.sd, q.sigma), asked("observed", log_time, LOWER, UPPER)
    mean = np.stack([q._moments(question, j)[0] for j in range(3)])
    closed = LocationScale(NormalNoise(), q.mean, S, log_time).clipped_mean(LOWER, UPPER)
    assert np.allclose(mean, closed, rtol=1e-9)
    lower, upper = np.array([0.1, -INF, -0.4, 0.0]), np.array([INF, -0.5, 0.6, 1e-6])
    inf = np.full(4, INF)
    for j in range(3):
        rows = Component(NormalNoise(), q.mean[j], q.sd[j], q.sigma[j] + np.zeros(4), lower, upper, -inf, inf, log_time)
        y = LocationScale(NormalNoise(), q.mean[j], S[j], log_time)
        closed = y.conditional_mean(y.response(lower), y.response(upper))
        assert np.allclose(imputed_mean(rows), closed, rtol=1e-9, atol=1e-9)
        mass = interval((lower - q.mean[j]) / S[j], (upper - q.mean[j]) / S[j], (upper - lower) / S[j]).log_mass
        assert np.allclose(log_evidence(rows), mass, rtol=1e-9, atol=1e-8)


def test_variance_of_a_normal_tail():
    """Two correlated normals: at z = 0 and t = 1 the variance is arcsin(1/2) / (2 pi)."""
    one = np.ones((1, 1))
    found = nodes(np.ones(1), 0.0 * one, one, np.ones(1)).se(asked("prob", False, limit=np.zeros(1), above=False))
    assert np.isclose(found[0] ** 2, np.arcsin(0.5) / (2 * np.pi))


@pytest.mark.parametrize("case", ["logistic", "gumbel", "student", "weibull"])
@pytest.mark.parametrize("windowed", [False, True])
def test_imputation_against_weighted_draws(rng, case, windowed):
    """Draws of f without the row's word, weighted by it; exact rows return the response."""
    distributions, log_time = CASES[case]
    J, size = len(distributions), 40_000
    lower, upper = np.array([0.5, -INF, 0.2, 0.3]), np.array([INF, -0.4, 0.9, 0.3])
    entry, exit = np.full(4, -INF), np.full(4, INF)
    if windowed:
        entry, exit = np.array([0.1, -1.5, -INF, 0.0]), np.array([INF, INF, 1.2, 1.0])
        lower = np.maximum(lower, entry)
    weight = np.repeat(rng.dirichlet(np.ones(J))[:, None], 4, axis=1)
    mean, sd = 0.1 + 0.3 * rng.normal(size=(J, 4)), 0.4 * np.exp(0.2 * rng.normal(size=(J, 4)))
    seen = LeftOutRows(
        weight, mean, sd, (0.3 + 0.1 * np.arange(J))[:, None], lower, upper, log_time, distributions, entry, exit
    )
    table = conditional_statistics([seen], 0.9, True)
    assert np.allclose(table["estimate"], conditional_mean([seen]))
    assert np.isclose(table["estimate"][3], np.exp(0.3) if log_time else 0.3)
    assert table["se"][3] == 0.0
    for i in range(3):
        g, w = [], []
        for j, distribution in enumerate(distributions):
            rows = seen.component(j)
            f = mean[j, i] + sd[j, i] * rng.normal(size=(1, size))
            at = np.array([[i]])
            p = np.exp(rows.log_word(f, at))[0]
            assert distribution is rows.noise
            g.append(rows.mean_seen(f, at)[0])
            w.append(weight[j, i] * p / p.sum())
        g, w = np.concatenate(g), np.concatenate(w)
        centre = w @ g
        spread = np.sqrt(w @ (g - centre) ** 2)
        slack = 5 * spread * np.sqrt(np.sum(w * w))
        assert abs(table["estimate"][i] - centre) < slack
        assert abs(table["se"][i] - spread) < 3 * slack
        for end, p in (("lower", 0.05), ("upper", 0.95)):
            assert abs(w[g < table[end][i]].sum() - p) < 5 * np.sqrt(np.sum(w * w))


@pytest.mark.parametrize("case", CASES)
def test_no_rows_have_no_statistics(rng, case):
    """As the first look of dask at a prediction."""
    distributions, log_time = CASES[case]
    question = asked("observed", log_time, LOWER, UPPER).take(slice(0, 0))
    table = mixture(rng, distributions, log_time).take(slice(0, 0)).statistics(question, 0.9, se=True)
    assert {name: values.shape for name, values in table.items()} == dict.fromkeys(table, (0,))


def test_distributions_without_a_mean():
    """NaN, or infinite where a limit bounds the other tail; between limits all is finite."""
    one = np.ones((3, 4))
    weight, sigma = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.6, 0.7])
    shown = asked("observed", False, LOWER, UPPER)
    cauchy = nodes(
        weight, 0.3 * one, 0.4 * one, sigma, False, (StudentNoise(0.7), StudentNoise(3.0), StudentNoise(2.0))
    )
    assert np.isnan(cauchy.value(asked("uncensored", False))).all()
    observed = cauchy.value(shown)
    assert np.array_equal(np.isfinite(observed), [False, False, True, False])
    assert (observed[:2] == [INF, -INF]).all()
    (high,) = cauchy.quantiles(shown, (0.9,))
    assert np.isposinf(high[0])
    assert np.isfinite(high[1:3]).all()
    assert np.isfinite(cauchy.value(asked("median", False))).all()
    assert np.isnan(pearson(cauchy, np.zeros(4))).all()
    times = nodes(weight, 0.3 * one, 0.4 * one, np.array([1.2, 0.5, 0.4]), True, (Logistic(),) * 3)
    assert np.isposinf(times.value(asked("uncensored", True))).all()
    middle, high = times.quantiles(asked("uncensored", True), (0.5, 0.9))
    assert np.isfinite(middle).all()
    assert np.isposinf(high).all()
    assert np.array_equal(np.isfinite(times.value(asked("observed", True, LOWER, UPPER))), [False, True, True, False])


@pytest.mark.parametrize("case", CASES)
def test_far_limits_have_a_probability_of_their_own(rng, case):
    """Survival far out keeps its digits, and adds up with what lies below."""
    distributions, log_time = CASES[case]
    q = mixture(rng, distributions, log_time)
    for limit in (1e-3, 3.0, 9.0):
        below, above = (q.value(asked("prob", log_time, limit=np.full(4, limit), above=side)) for side in (False, True))
        assert np.allclose(below + above, 1.0, rtol=1e-10)
        assert (above > 0.0).all()
    none = np.full(4, -INF)
    assert np.allclose(log_probability(q, none, -none, None), 0.0, atol=1e-12)


@pytest.mark.slow
def test_residuals_of_draws_are_normal():
    rng = np.random.default_rng(4)
    n = 1500
    distributions, entry = (StudentNoise(3.0), StudentNoise(6.0)), np.full(n, -0.5)
    mean = np.repeat(rng.normal(size=n)[None], 2, axis=0)
    q = nodes(np.array([0.4, 0.6]), mean, np.full((2, n), 0.5), np.array([0.4, 0.6]), noises=distributions)
    y = np.full(n, -INF)
    for _ in range(500):
        again = np.flatnonzero(y < entry)
        j = rng.choice(2, len(again), p=q.weight)
        f = mean[0, again] + 0.5 * rng.normal(size=len(again))
        for _ in range(200):
            low = np.flatnonzero(y[again] < entry[again])
            noise = np.where(
                j[low] == 0,
                distributions[0].ppf(rng.uniform(size=len(low))),
                distributions[1].ppf(rng.uniform(size=len(low))),
            )
            y[again[low]] = f[low] + q.sigma[j[low], 0] * noise
    assert (y > entry).all()
    upper = np.where(y > 1.0, INF, y)
    lower = np.where(y > 1.0, 1.0, y)
    window = entry, np.full(n, INF)
    r = Tails(lambda a, b: log_probability(q, a, b, window), lower, upper, *window).quantile(rng.uniform(size=n))
    assert kstest(r, "norm").pvalue > 0.01


FITS = [pytest.param("student", marks=pytest.mark.slow), "logistic", "gumbel", "loglogistic", "weibull", "exponential"]


@pytest.fixture(scope="module", params=FITS)
def fit(request):
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 4, 80)
    y = np.sin(x) + 0.4 * rng.standard_t(4, 80)
    timely = request.param in ("loglogistic", "weibull", "exponential")
    data = pd.DataFrame({"x": x, "z": rng.normal(size=80), "y": np.exp(y) if timely else y})
    limits = (0.4, 2.5) if timely else (-0.8, 1.2)
    data["y"] = data["y"].clip(*limits)
    formula = f"y ~ z + gp(x) | censor({limits[0]}, {limits[1]})"
    return tg.fit(formula, data, family=request.param), data


@pytest.mark.slow
def test_fits_answer_every_question(fit):
    res, data = fit
    new = data.head(4)
    for what in ("latent", "median", "uncensored", "observed", "conditional"):
        table = res.predict(new, what, interval=0.9)
        mean = table["estimate"]
        assert np.isfinite(table[np.isfinite(mean)].drop(columns="se")).all(axis=None)
        assert (table["lower"] <= table["upper"]).all()
    limits = res.predict(new, "quantile", q=[0.1, 0.6])
    for q in (0.1, 0.6):
        for i in range(4):
            assert np.isclose(res.predict(new.iloc[[i]], "prob", below=float(limits[q].iloc[i])).iloc[0], q)
    drawn = res.sample(new, draws=4000, rng=2)
    slack = 5 * np.sqrt(0.24 / 4000)
    assert (np.abs(drawn.lt(limits[0.6], axis=0).mean(axis=1) - 0.6) < slack).all()
    effects = res.marginal_effects("observed")
    assert np.allclose(effects["dydx"], effects["intensive"] + effects["extensive"])
    assert np.isfinite(res.marginal_effects("prob", below=1.0)).all(axis=None)


@pytest.mark.slow
def test_effects_are_differences_of_predictions(fit):
    res, data = fit
    h = 1e-3
    for what, given in (("observed", {}), ("prob", {"above": 1.0})):
        up, down = (res.predict(data.assign(z=data["z"] + s * h), what, **given) for s in (1, -1))
        slope = float(((up - down) / (2 * h)).mean())
        assert np.isclose(res.marginal_effects(what, **given).loc[("z", "dy/dx"), "dydx"], slope, rtol=2e-2, atol=1e-4)


@pytest.mark.slow
def test_residuals_of_fits(fit):
    res, data = fit
    r = res.residuals(rng=1)
    assert np.isfinite(r).all()
    hazard, martingale = res.residuals("cox_snell"), res.residuals("martingale")
    right = data["y"] == data["y"].max()
    assert np.allclose(martingale, np.where(right, 0.0, 1.0) - hazard)
    exact = (data["y"] > data["y"].min()) & ~right
    for i in np.flatnonzero(exact)[:3]:
        above = res.predict(data.iloc[[i]], "prob", above=float(data["y"].iloc[i])).iloc[0]
        assert np.isclose(np.exp(-hazard.iloc[i]), above)
        assert np.isclose(ndtr(-r.iloc[i]), above, rtol=1e-6)
