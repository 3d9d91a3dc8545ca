"""Mixtures of rows that could only be seen inside of windows: own maxima of the likelihood, and exact evidences."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.mixture import EMCM, SVBCM, VBCM, Dirichlet, DirichletProcess, fit_mixture, linear_response
from tobitgp.results.mixture.bound_tables import bound_of_rows

# Distributions of parameters on an unbounded scale, and those of the truth.
FAMILIES = {
    "gaussian": (lambda m, s: st.norm(m, np.exp(s)), [(0.0, 0.0), (6.0, np.log(1.5))]),
    "lognormal": (lambda m, s: st.lognorm(np.exp(s), scale=np.exp(m)), [(0.0, np.log(0.4)), (2.0, np.log(0.3))]),
    "exponential": (lambda r: st.expon(scale=np.exp(-r)), [(np.log(2.0),), (np.log(0.15),)]),
    "weibull": (
        lambda s, c: st.weibull_min(np.exp(c), scale=np.exp(s)),
        [(0.0, np.log(2.0)), (np.log(8.0), np.log(4.0))],
    ),
    "poisson": (lambda r: st.poisson(np.exp(r)), [(0.0,), (np.log(9.0),)]),
}
FINE = EMCM(n_init=2, tol=1e-12)


def drawn(name, n, seed):
    """Rows of two components in windows of their own, the largest third right-censored: ends and windows."""
    make, truth = FAMILIES[name]
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, *(make(*at).rvs(n, random_state=rng) for at in truth)).astype(float)
    span = np.quantile(y, [0.05, 0.4, 0.95])
    entry = np.where(rng.random(n) < 0.7, rng.uniform(span[0], span[1], n), -np.inf)
    exit = np.where(rng.random(n) < 0.3, span[2] * rng.uniform(1.0, 1.3, n), np.inf)
    limit = rng.uniform(span[1], 1.5 * span[2], n)
    if name == "poisson":
        entry, exit, limit = np.floor(entry), np.floor(exit), np.floor(limit)
    seen = (y > entry) & (y <= exit) & (limit > entry) & (limit < exit)
    y, entry, exit, limit = (one[seen] for one in (y, entry, exit, limit))
    censored = y > limit
    return np.where(censored, limit, y), np.where(censored, exit, y), entry, exit


def log_likelihood(name, at, lower, upper, entry, exit):
    """The logit of a weight, then the parameters of the components."""
    make, truth = FAMILIES[name]
    size, weight = len(truth[0]), np.array([expit(at[0]), expit(-at[0])])
    dist = [make(*at[1 + k * size : 1 + (k + 1) * size]) for k in range(2)]

    def mass(low, high):
        return sum(w * (one.cdf(high) - one.cdf(low)) for w, one in zip(weight, dist, strict=True))

    with np.errstate(all="ignore"):
        density = (one.pmf(lower) if name == "poisson" else one.pdf(lower) for one in dist)
        row = np.where(lower == upper, sum(w * f for w, f in zip(weight, density, strict=True)), mass(lower, upper))
        return float(np.log(row).sum() - np.log(mass(entry, exit)).sum())


def maximum(name, starts, *rows):
    def lost(at):
        value = -log_likelihood(name, at, *rows)
        return value if np.isfinite(value) else 1e10

    found = [minimize(lost, start, method="BFGS", options={"gtol": 1e-7}) for start in starts]
    best = min(found, key=lambda one: one.fun)
    return minimize(lost, best.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000})


@pytest.mark.quick_cases("exponential")
@pytest.mark.parametrize("name", FAMILIES)
def test_em_ends_at_the_maximum_of_the_truncated_likelihood(name):
    lower, upper, entry, exit = drawn(name, 250, 3)
    fit = fit_mixture(lower, upper, family=name, k=2, method=FINE, window=(entry, exit), rng=0)
    truth = np.concatenate([[0.0], *FAMILIES[name][1]])
    best = maximum(name, [truth], lower, upper, entry, exit)
    assert fit.converged
    assert fit.objective == pytest.approx(-best.fun, abs=1e-6)
    if name == "gaussian":
        got = np.concatenate([fit.weights[:1], fit.parameters["mean"], fit.parameters["sd"]])
        want = [expit(best.x[0]), best.x[1], best.x[3], *np.exp(best.x[[2, 4]])]
        np.testing.assert_allclose(got, want, rtol=2e-4)


def test_standard_errors_are_those_of_the_observed_information():
    lower, upper, entry, exit = drawn("exponential", 400, 1)
    fit = fit_mixture(lower, upper, family="exponential", k=2, method=FINE, window=(entry, exit), rng=0)
    rate = np.log(fit.parameters["rate"])
    at = np.array([np.log(fit.weights[0] / fit.weights[1]), *rate])
    H, step = np.empty((3, 3)), 1e-3 * np.eye(3)
    for i in range(3):
        for j in range(3):
            signs = [(a, b) for a in (1, -1) for b in (1, -1)]
            parts = (
                a * b * log_likelihood("exponential", at + a * step[i] + b * step[j], lower, upper, entry, exit)
                for a, b in signs
            )
            H[i, j] = -sum(parts) / 4e-6
    V = np.linalg.inv(H)
    error = np.sqrt(np.diag(linear_response(fit, lower, upper, None, (entry, exit))))
    want = [fit.weights[0] * fit.weights[1] * np.sqrt(V[0, 0]), *fit.parameters["rate"] * np.sqrt(np.diag(V)[1:])]
    np.testing.assert_allclose(error[[0, 2, 3]], want, rtol=2e-3)


def test_one_gaussian_window_for_all_rows_is_truncreg():
    """A single normal component in one window, by scipy's truncated normal distribution."""
    y = np.random.default_rng(5).normal(1.0, 2.0, 400)
    y = y[(y > 0.0) & (y < 4.0)]
    window = np.zeros(len(y)), np.full(len(y), 4.0)
    fit = fit_mixture(y, y, family="gaussian", k=1, method=FINE, window=window)

    def lost(at):
        m, s = at[0], np.exp(at[1])
        return -st.truncnorm(-m / s, (4.0 - m) / s, m, s).logpdf(y).sum()

    best = minimize(lost, [1.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 2000})
    assert fit.objective == pytest.approx(-best.fun, abs=1e-6)


def test_zero_truncated_counts_have_the_known_mean():
    """The maximum likelihood rate solves ``rate / (1 - exp(-rate)) = mean``."""
    y = np.random.default_rng(0).poisson(1.5, 500).astype(float)
    y = y[y > 0.0]
    fit = fit_mixture(y, y, family="poisson", k=1, method=FINE, window=(np.zeros(len(y)), np.full(len(y), np.inf)))
    rate = float(fit.parameters["rate"][0])
    assert rate / -np.expm1(-rate) == pytest.approx(y.mean(), rel=1e-6)


# -- the evidence ----------------------------------------------------------------------------------------------------


def few_rows(seed, n=6):
    """Times that entered late, one of them right-censored."""
    rng = np.random.default_rng(seed)
    entry = rng.exponential(0.5, n)
    y = entry + rng.exponential(np.where(np.arange(n) < n // 2, 0.2, 3.0))
    return y, np.where(np.arange(n) == n - 1, np.inf, y), entry, np.full(n, np.inf)


@np.errstate(divide="ignore")
def evidence_of_two(lower, upper, entry, exit):
    """Of two exponential components with rates from Gamma(1, 1) and uniform weights, on a grid."""
    u = np.linspace(-9.0, 4.0, 131)
    log_prior = u - np.exp(u) + np.log(u[1] - u[0])
    w = (np.arange(120) + 0.5) / 120
    rate = np.exp(u)
    of_row = [np.exp(-rate * x) * (rate if x == top else 1.0) for x, top in zip(lower, upper, strict=True)]
    of_window = [np.exp(-rate * e) for e in entry]
    total = -np.inf
    for one in w:
        log_p = log_prior[:, None] + log_prior - np.log(len(w))
        for f, s in zip(of_row, of_window, strict=True):
            log_p = log_p + np.log(one * f[:, None] + (1 - one) * f) - np.log(one * s[:, None] + (1 - one) * s)
        total = np.logaddexp(total, logsumexp(log_p))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_exact_evidence(seed):
    rows = few_rows(seed)
    lower, upper, entry, exit = rows
    options = {
        "family": "exponential",
        "prior": {"a": 1.0, "b": 1.0},
        "weights": Dirichlet(),
        "method": VBCM(n_init=2, check=True),
        "window": (entry, exit),
    }
    one = fit_mixture(lower, upper, k=1, **options)
    events, exposure = np.isfinite(upper).sum(), (lower - entry).sum()  # exponential lives do not age
    exact = gammaln(1.0 + events) - (1.0 + events) * np.log(1.0 + exposure)
    assert exact - 3.0 < one.objective < exact
    two = fit_mixture(lower, upper, k=2, **options)
    exact = evidence_of_two(*rows)
    assert exact - 4.0 < two.objective < exact
    assert bound_of_rows(two, lower, upper, np.ones(6), (entry, exit)).sum() == pytest.approx(two.objective, abs=1e-8)


@pytest.mark.quick_cases("exponential-process", "poisson-dirichlet")
@pytest.mark.parametrize("weights", [Dirichlet(), DirichletProcess()], ids=["dirichlet", "process"])
@pytest.mark.parametrize("name", [*FAMILIES, "gamma"])
def test_the_bound_never_falls(name, weights):
    lower, upper, entry, exit = drawn("lognormal" if name == "gamma" else name, 100, 2)
    method = VBCM(n_init=2, max_iter=200, check=True)
    fit = fit_mixture(lower, upper, family=name, k=2, weights=weights, method=method, window=(entry, exit), rng=1)
    assert np.isfinite(fit.objective)
    assert (np.diff(fit.trace) > -1e-9 * abs(fit.objective)).all()
    assert fit.counts.sum() == pytest.approx(len(lower))


def test_windows_that_exclude_nothing_change_nothing():
    lower, upper, _, _ = drawn("exponential", 80, 4)
    free = fit_mixture(lower, upper, family="exponential", k=2, rng=0)
    for low in (0.0, -3.0, -np.inf):
        window = np.full(len(lower), low), np.full(len(lower), np.inf)
        assert fit_mixture(lower, upper, family="exponential", k=2, rng=0, window=window).objective == free.objective


@pytest.mark.slow_cases("60")
@pytest.mark.parametrize("draws", [None, 60])
def test_stochastic_steps_come_to_the_bound_of_all_rows(draws):
    lower, upper, entry, exit = drawn("exponential", 150, 6)
    options = {"family": "exponential", "k": 2, "window": (entry, exit), "rng": 0, "prior": {"a": 1.0, "b": 1.0}}
    best = fit_mixture(lower, upper, method=VBCM(n_init=2), **options).objective
    statistics = "expected" if draws is None else "sampled"
    steps = SVBCM(n_steps=200, batch_size=40, polish=False, statistics=statistics, draws=draws)
    got = fit_mixture(lower, upper, method=steps, **options).objective
    assert best - 1.5 < got < best


# -- formulas --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def late():
    lower, upper, entry, _ = drawn("weibull", 200, 8)
    data = pd.DataFrame({"time": lower, "event": (lower == upper) * 1, "entry": entry.clip(0.0)})
    return data, tg.fit("Surv(entry, time, event) ~ mixture(2)", data, family="weibull", method=tg.VBCM(n_init=2))


def test_late_entry_and_truncation_are_one_model(late):
    data, res = late
    same = tg.fit(
        "time ~ mixture(2) | censor(event=event) | truncate(entry)",
        data,
        family="weibull",
        method=tg.VBCM(n_init=2),
    )
    assert same.elbo == res.elbo
    assert res.elbo_rows().sum() == pytest.approx(res.elbo, abs=1e-8)


def test_scores_are_within_windows(late):
    data, res = late
    new = res.predictive
    at, entry = data["time"].to_numpy(), data["entry"].to_numpy()
    log_p = np.where(data["event"] == 1, new.logpdf(at), new.logsf(at)) - new.logsf(entry)
    assert res.score(data) == pytest.approx(log_p.mean(), rel=1e-10)
    share = (new.cdf(at) - new.cdf(entry)) / new.sf(entry)
    seen = data["event"].to_numpy() == 1
    np.testing.assert_allclose(res.residuals("quantile")[seen], st.norm.ppf(share[seen]), atol=1e-6)


def test_a_saved_fit_answers_alike(late, tmp_path):
    data, res = late
    res.save(tmp_path / "fit.tgp")
    back = tg.load(tmp_path / "fit.tgp")
    assert back.elbo == res.elbo
    pd.testing.assert_frame_equal(back.summary_frame(), res.summary_frame())
    assert back.score(data) == res.score(data)


@pytest.mark.slow
def test_means_of_what_is_seen_are_within_the_window():
    y = np.random.default_rng(5).normal([[0.0], [4.0]], 1.0, (2, 200)).ravel()
    data = {"y": y[(y > -1.0) & (y < 6.0)]}
    res = tg.fit("y ~ mixture(2) | truncate(-1, 6)", data, method=EMCM(n_init=2))
    drawn_rows = res.sample(what="observed", draws=50, rng=1).to_numpy()
    assert ((drawn_rows > -1.0) & (drawn_rows < 6.0)).all()
    x = np.linspace(-1.0, 6.0, 20001)
    density = res.predictive.pdf(x)
    mean = np.trapezoid(x * density, x) / np.trapezoid(density, x)
    assert res.predict(what="observed").iloc[0] == pytest.approx(mean, rel=1e-6)
    assert mean == pytest.approx(data["y"].mean(), abs=1e-4)  # the score of the mean is that of a saturated one
    assert "rows" in res.components
    assert res.components["rows"].sum() == pytest.approx(len(data["y"]))


@pytest.mark.parametrize("formula", ["Surv(entry, y, seen) ~ mixture(2)", "y ~ mixture(2) | truncate(entry)"])
def test_rows_outside_of_their_window_are_one_clear_error(formula):
    data = {"entry": [0.1, 5.0, 0.3, 0.4], "y": [1.0, 2.0, 3.0, 4.0], "seen": [1, 1, 0, 1]}
    with pytest.raises(DataError, match=r"at or before its entry"):
        tg.fit(formula, data, family="exponential")


def test_streams_take_no_windows():
    stream = tg.MixtureStream("y ~ mixture(1) | truncate(0)", rng=0)
    with pytest.raises(SpecError, match=r"not support truncated rows and late entry\. Use tg\.fit"):
        stream.partial_fit({"y": [1.0, 2.0, 3.0]})
