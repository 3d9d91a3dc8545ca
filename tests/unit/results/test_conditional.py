"""Imputation: what a censored row's value would have been."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.stats import norm
from support.methods import having

import tobitgp as tg
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.errors import DataError, SpecError
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.kinds.rows_left_out import seen_in_rows, seen_in_training
from tobitgp.posterior.seen import Component, latent_quantiles
from tobitgp.results.rows import ask

pytestmark = pytest.mark.diagonal

FIXED = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.3}


def draws_given_seen(seen, row, size, rng):
    """f and sigma by sampling importance: f without the row, weighted by a y* drawn and kept if it fits."""
    j = rng.choice(len(seen.sigma), size, p=seen.weight[:, row])
    f, y = np.empty(size), np.empty(size)
    left = np.ones(size, dtype=bool)
    for _ in range(5000):
        at = np.flatnonzero(left)
        if not len(at):
            break
        f[at] = seen.mean[j[at], row] + seen.sd[j[at], row] * rng.normal(size=len(at))
        y[at] = f[at] + seen.sigma[j[at], 0] * rng.normal(size=len(at))
        left[at] = ~((y[at] > seen.lower[row]) & (y[at] < seen.upper[row]))
    assert not left.any()
    return f, y, seen.sigma[j, 0]


@pytest.mark.slow
@pytest.mark.parametrize("size", [40_000, pytest.param(1_000_000, marks=pytest.mark.study)])
@pytest.mark.parametrize("fixture", ["averaged", "log_time", "ammonium"])
def test_against_draws(request, rng, fixture, size):
    res = request.getfixturevalue(fixture)
    table = res.predict(what="conditional", interval=0.9)[res.parts.training.kept]
    seen = seen_in_training(res.parts.reported)
    for row in np.flatnonzero(seen.lower < seen.upper)[[0, 3, -1]]:
        f, y, sigma = draws_given_seen(seen, row, size, rng)
        y = np.exp(y) if seen.log else y
        mine = table.iloc[row]
        assert abs(y.mean() - mine["estimate"]) < 5 * y.std() / np.sqrt(size)
        given = LocationScale(NormalNoise(), f, sigma, seen.log)
        g = given.conditional_mean(given.response(seen.lower[row]), given.response(seen.upper[row]))
        assert abs(g.mean() - mine["estimate"]) < 5 * g.std() / np.sqrt(size) + 1e-6
        assert np.isclose(g.std(), mine["se"], rtol=0.05 if seen.log else 0.02)
        for end, p in (("lower", 0.05), ("upper", 0.95)):
            assert abs((g < mine[end]).mean() - p) < 5 * np.sqrt(p * (1 - p) / size) + 2e-3


def test_exact_rows_return_the_response(averaged, mixed, ammonium):
    for res, y in ((averaged, mixed["y"]), (ammonium, tg.datasets.load("nh4")["nh4"])):
        table = res.predict(what="conditional", interval=0.9)
        response = res.parts.training.response
        exact, lower, upper = response.lower == response.upper, response.lower, response.upper
        assert np.allclose(table[exact], np.column_stack([y[exact], 0 * y[exact], y[exact], y[exact]]))
        inside = table[~exact]["estimate"].to_numpy()
        assert ((inside > lower[~exact]) & (inside < upper[~exact])).all()
        assert (table[~exact]["se"] > 0).all()
        assert res.predict(what="conditional").name == "conditional"


def test_moments_agree_with_expectation_propagation(mixed):
    """At EP's fixed point f has the same mean given what was seen as in the posterior."""
    res = tg.fit("y ~ z + g + gp(x) | censor(low, 1.4)", mixed, method=tg.EP(hyper="maximize", inducing=None))
    seen = seen_in_training(res.parts.reported)
    share = seen.sd[0] ** 2 / (seen.sd[0] ** 2 + seen.sigma[0] ** 2)
    f = seen.mean[0] + share * (res.predict(what="conditional").to_numpy() - seen.mean[0])
    assert np.allclose(f, res.predict(), atol=1e-5)


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_leaving_the_row_out_is_the_cavity(mixed, method):
    formula = "y ~ gp(x) | censor(low, 1.4)"
    whole = tg.fit(formula, mixed, fixed=FIXED, method=having(method, inducing=None))
    rows = np.flatnonzero((mixed["y"] >= 1.4) | (mixed["y"] <= mixed["low"]))[:3]
    inside = whole.predict(what="conditional", se=True)
    for row in rows:
        less = tg.fit(formula, mixed.drop(mixed.index[row]), fixed=FIXED, method=having(method, inducing=None))
        outside = less.predict(mixed.iloc[[row]], "conditional", se=True)
        assert np.allclose(outside.iloc[0], inside.iloc[row], rtol=0.02 if method == "ep" else 0.06)


def test_weights_count_copies(mixed):
    """A row of weight 2 is two rows, and each copy is imputed given the other."""
    twice = pd.concat([mixed, mixed.iloc[:5]])
    weight = np.where(np.arange(len(mixed)) < 5, 2.0, 1.0)
    formula = "y ~ gp(x) | censor(low, 1.4)"
    a = tg.fit(formula, mixed, fixed=FIXED, weights=weight, method=tg.EP(inducing=None)).predict(what="conditional")
    b = tg.fit(formula, twice, fixed=FIXED, method=tg.EP(inducing=None)).predict(what="conditional")
    assert np.allclose(a, b.iloc[: len(mixed)], atol=1e-5)


def test_new_rows_reweigh_the_components(averaged, mixed):
    new = mixed.iloc[:8].assign(y=[-5.0, 1.4, 0.5, -0.6, 9.0, 0.1, 0.2, -0.2])
    with pytest.warns(UserWarning, match="beyond the limits"):
        table = averaged.predict(new, "conditional", interval=0.9)
    with pytest.warns(UserWarning, match="beyond the limits"):
        _, (seen,) = seen_in_rows(averaged.parts, new)
    assert np.allclose(seen.weight.sum(axis=0), 1.0)
    assert not np.allclose(seen.weight, averaged.parts.fitted.weights[:, None])
    assert table.loc["r2", "estimate"] == 0.5
    assert (table["lower"] <= table["estimate"]).all()
    with pytest.raises(SpecError, match="'low'"):
        averaged.predict(mixed.drop(columns="low"), "conditional")
    with pytest.raises(SpecError, match="exclude="):
        averaged.predict(what="conditional", exclude="gp(x)")


def test_rows_without_a_response_are_missing(averaged, mixed):
    new = mixed.head(5).assign(y=[0.5, np.nan, 1.4, 0.2, 0.1], z=[0.0, 1.0, np.nan, 1.0, 2.0])
    table = averaged.predict(new, "conditional", interval=0.9)
    assert table.isna().all(axis=1).tolist() == [False, True, True, False, False]
    assert averaged.predict(new.iloc[:0], "conditional", interval=0.9).shape == (0, 4)


def test_dropped_rows_are_missing(mixed):
    data = mixed.assign(y=mixed["y"].where(np.arange(len(mixed)) != 3))
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit("y ~ gp(x) | censor(low, 1.4)", data, fixed=FIXED)
    assert np.flatnonzero(res.predict(what="conditional").isna()).tolist() == [3]
    for kind in ("quantile", "pearson", "response"):
        assert np.flatnonzero(res.residuals(kind).isna()).tolist() == [3]


@pytest.mark.parametrize("log_time", [False, True])
def test_truncated_means_far_out(log_time):
    mean, sd = np.array([0.0, 0.0, 0.0, 1e3]), np.ones(4)
    lower, upper = np.array([30.0, -np.inf, 1.0, -np.inf]), np.array([np.inf, -30.0, 1.0 + 1e-12, 0.0])
    y = LocationScale(NormalNoise(), mean, sd, log_time)
    value = y.conditional_mean(y.response(lower), y.response(upper))
    value = np.log(value) if log_time else value
    near = np.array([30.0, -30.0, 1.0, 0.0])
    assert (np.abs(value - near) < 0.05).all()
    assert ((value >= lower - 1e-12) & (value <= upper + 1e-12)).all()


@pytest.mark.parametrize("response", ["interval(lo, hi)", "Surv(lo, hi, type='interval2')", "status"])
def test_two_ends_of_new_rows_are_read(mixed, response):
    """Each row's own predictive distribution between its ends, its mean by scipy; nothing known, nothing imputed."""
    y = mixed["y"].to_numpy()
    kind = np.arange(len(y)) % 4 - 1
    lo = np.select([kind == -1, kind == 2], [-np.inf, y - 0.4], y)
    hi = np.select([kind == 1, kind == 2], [np.inf, y + 0.3], y)
    data = mixed.assign(lo=lo, hi=hi, y=np.where(kind == -1, hi, lo), kind=kind)
    formula = "y ~ gp(x) | censor(status=kind, upper=hi)" if response == "status" else f"{response} ~ gp(x)"
    res = tg.fit(formula, data, family="gaussian", fixed=FIXED)
    new = data.head(9).reset_index(drop=True)
    new.loc[8, ["lo", "hi", "y"]] = np.nan
    f = res.predict(new, se=True)
    sd = np.hypot(f["se"], FIXED["sigma"])
    ends = ((end[:8] - f["estimate"][:8]) / sd[:8] for end in (lo, hi))
    with np.errstate(invalid="ignore"):
        truth = np.where(kind[:8] == 0, y[:8], scipy.stats.truncnorm.mean(*ends, loc=f["estimate"][:8], scale=sd[:8]))
    table = res.predict(new, "conditional")
    assert np.allclose(table[:8], truth, atol=1e-7)
    assert np.isnan(table[8])
    upper = "hi" if response != "status" else "kind"
    with pytest.raises(SpecError, match=f"'{upper}'"):
        res.predict(new.drop(columns=upper), "conditional")


def by_quadrature(seen_distribution, lower, upper, entry, exit, level, *, log_time):
    """Mean, sd and quantiles of the imputed value of one row, f on a grid in every component."""
    distribution, weight, mean, sd, sigma = seen_distribution
    f = mean[:, None] + sd[:, None] * np.linspace(-9.0, 9.0, 401)
    a, b, first, last = ((end - f) / sigma[:, None] for end in (lower, upper, entry, exit))
    word = (distribution.cdf(b) - distribution.cdf(a)) / (distribution.cdf(last) - distribution.cdf(first))
    density = weight[:, None] * word * np.exp(-0.5 * np.linspace(-9.0, 9.0, 401) ** 2)
    v = (np.arange(150) + 0.5) / 150
    u, share = 1.0 - (1.0 - v) ** 4, 4.0 * (1.0 - v) ** 3 / len(v)
    y = f[..., None] + sigma[:, None, None] * distribution.ppf(
        distribution.cdf(a)[..., None] + (distribution.cdf(b) - distribution.cdf(a))[..., None] * u
    )
    g = (np.exp(y) if log_time else y) @ share
    g, p = g.ravel(), density.ravel() / density.sum()
    centre, order = p @ g, np.argsort(g)
    cdf = np.cumsum(p[order]) - 0.5 * p[order]
    tails = (0.5 - 0.5 * level, 0.5 + 0.5 * level)
    return [centre, np.sqrt(p @ (g - centre) ** 2), *(np.interp(tail, cdf, g[order]) for tail in tails)]


WINDOWED = {
    "y ~ gp(x) | censor(0.4, 1.8) | truncate(low, 2.5)": ("gaussian", scipy.stats.norm),
    "interval(lo, hi) ~ gp(x) | truncate(low)": ("logistic", scipy.stats.logistic),
    "Surv(entry, time, event) ~ gp(x)": ("lognormal", scipy.stats.norm),
}


def windowed(rng):
    """Rows that a window let through, under every name that a formula above has for what was seen of them."""
    x, low = rng.uniform(size=120), rng.choice([-0.2, 0.0, 0.1], size=120)
    y = 1.0 + np.sin(6.0 * x) + 0.7 * rng.normal(size=120)
    data = pd.DataFrame({"x": x, "low": low, "y": y.clip(0.4, 1.8)}, index=[f"r{i}" for i in range(120)])
    data = data.assign(lo=np.where(y <= 0.4, -np.inf, y.clip(max=1.8)))
    data = data.assign(hi=np.where(y >= 1.8, np.inf, y.clip(min=0.4)))
    data = data.assign(entry=np.exp(low), time=np.exp(y.clip(max=1.8)), event=(y < 1.8).astype(int))
    return data[(y > low) & (y < 2.5)]


@pytest.mark.slow
@pytest.mark.parametrize("formula", WINDOWED)
def test_new_rows_lie_in_their_windows(rng, formula):
    """A new row says of f what a training row does, and is imputed inside what was seen of it and its window."""
    family, distribution = WINDOWED[formula]
    data = windowed(rng)
    res = tg.fit(formula, data, family=family)
    exit, late = (2.5 if "2.5" in formula else np.inf), formula.startswith("Surv")
    entry = data["low"].to_numpy()
    lower = (np.log(data["time"]) if late else data["lo"]).clip(lower=entry).to_numpy()
    upper = np.where(late & (data["event"] == 1), lower, data["hi"].clip(upper=exit))
    rows = np.flatnonzero(lower != upper)[:6]
    new = data.iloc[rows].assign(x=lambda d: d["x"] + 0.03)
    table = res.predict(new, "conditional", interval=0.9)
    parts = res.parts
    at = nodes_of(parts, ask(parts, new).design)
    mean, sd, sigma = at.mean, at.sd, at.sigma[:, 0]
    for i, row in enumerate(rows):
        seen_distribution = distribution, parts.fitted.weights, mean[:, i], sd[:, i], sigma
        truth = by_quadrature(seen_distribution, lower[row], upper[row], entry[row], exit, 0.9, log_time=late)
        np.testing.assert_allclose(table.iloc[i, :2], truth[:2], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(table.iloc[i, 2:], truth[2:], rtol=5e-3, atol=2e-4)
        assert table["lower"].iloc[i] > (np.exp(lower[row]) if late else lower[row])
    column = "entry" if late else "low"
    with pytest.raises(SpecError, match=f"lack '{column}'"):
        res.predict(new.drop(columns=column), "conditional")


@pytest.mark.slow
@pytest.mark.parametrize("right", ["gp(x)", "x"])
def test_a_row_is_imputed_alike_as_training_and_new(mixed, right):
    data = mixed[mixed["y"] > mixed["low"]].assign(y=lambda d: d["y"].clip(lower=0.2))
    res = tg.fit(f"y ~ {right} | censor(0.2) | truncate(low)", data)
    hidden = (data["y"] <= 0.2).to_numpy()
    old, new = (res.predict(at, "conditional", se=True)[hidden] for at in (None, data))
    assert np.allclose(old, new, rtol=0.0, atol=0.05)
    row = data.index[hidden][1]
    with pytest.raises(DataError, match=f"before its entry.* row {row} "):
        res.predict(data.assign(low=data["low"].where(data.index != row, 0.3)), "conditional")
    with pytest.raises(SpecError, match="lack 'low'"):
        res.predict(data.drop(columns="low"), "conditional")


WORDS = {  # ends and windows of rows, in standard deviations of f
    "left": (-np.inf, 0.5, -np.inf, np.inf),
    "right, far": (4.0, np.inf, -np.inf, np.inf),
    "interval": (-1.0, -0.8, -np.inf, np.inf),
    "window": (-np.inf, -0.5, -1.5, np.inf),
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("sigma", [1e-4, 0.05, 0.2, 1.0])
@pytest.mark.parametrize(
    "distribution", [NormalNoise(), Gumbel(), StudentNoise(4.0)], ids=["normal", "gumbel", "student"]
)
def test_quantiles_of_f_given_what_was_seen(distribution, sigma, word):
    """Their orders by adaptive quadrature."""
    mean, sd = 2.0, 3.0
    ends = [np.array([mean + sd * end]) for end in WORDS[word]]
    if word == "window":  # a row inside its window, of which the upper end is what is known
        ends[0] = ends[2]
    rows = Component(distribution, np.array([mean]), np.array([sd]), np.array([sigma * sd]), *ends, False)
    scores = np.array([[-3.0, -1.0, -0.2, 0.0, 0.7, 2.0]])
    f = latent_quantiles(rows, scores)[0]

    def density(x):
        at = np.array([[x]])
        return float(np.exp(rows.log_word(mean + sd * at, np.array([[0]])) - 0.5 * at * at)[0, 0])

    kinks = [k for end in WORDS[word] if np.isfinite(end) for k in (end - 8 * sigma, end, end + 8 * sigma)]
    cuts = np.unique(np.r_[-9.0, 9.0, np.clip(kinks, -9, 9), (f - mean) / sd])
    parts = np.array([quad(density, *pair, limit=200)[0] for pair in itertools.pairwise(cuts)])
    share = [parts[cuts[1:] <= x + 1e-12].sum() / parts.sum() for x in (f - mean) / sd]
    np.testing.assert_allclose(share, norm.cdf(scores[0]), atol=5e-4)


def test_both_tails_of_f_have_their_digits():
    """A row that says nothing leaves f its normal distribution, as far out as there are nodes."""
    one, inf = np.ones(1), np.full(1, np.inf)
    rows = Component(Logistic(), 2.0 * one, 3.0 * one, 0.5 * one, -inf, inf, -inf, inf, False)
    scores = np.array([[-7.0, -5.0, 0.0, 5.0, 7.0]])
    f = latent_quantiles(rows, scores)
    np.testing.assert_allclose(f, 2.0 + 3.0 * scores, atol=0.05)
    np.testing.assert_allclose(f + f[:, ::-1], 4.0, atol=1e-9)
