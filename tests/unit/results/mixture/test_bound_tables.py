"""Shares of the rows in the bound, and the posterior, against the paper's equations and an own ascent."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma, gammainc, gammaln
from scipy.stats import norm, poisson

import tobitgp as tg
from tobitgp.errors import SpecError, UnavailableError

FORMULA = "y ~ mixture(2) | censor(lower, upper)"
GAUSSIAN = {"mean": 0.0, "tau": 1e-3, "a": 1.0, "b": 1.0}
GAMMA = {"a": 1.5, "b": 1.0}
CASES = {"gmm": ("gaussian", GAUSSIAN), "emm": ("exponential", GAMMA), "pmm": ("poisson", GAMMA)}


def log_weights(alpha):
    return digamma(alpha) - digamma(alpha.sum())


def gaussian_rows(y, lower, upper, mean, tau, a, b):
    """Log densities (n, K) with the offset of eqs. 25-26, and first and second moments, eqs. 28-31 corrected."""
    sd = np.sqrt(b / a)
    offset = 0.5 * (digamma(a) - np.log(a)) - 0.5 / tau
    log_p, first, second = norm.logpdf(y[:, None], mean, sd), *(np.tile(v[:, None], (1, 2)) for v in (y, y**2))
    for rows, sign, limit in ((y <= lower, -1.0, lower), (y >= upper, 1.0, upper)):
        z = sign * (limit[rows][:, None] - mean) / sd
        log_p[rows] = norm.logsf(z)
        h = np.exp(norm.logpdf(z) - norm.logsf(z))
        first[rows] = mean + sign * sd * h
        second[rows] = first[rows] ** 2 + sd**2 * (1.0 + z * h - h**2)
    return log_p + offset, first, second


def gaussian_step(y, lower, upper, q):
    alpha, mean, tau, a, b = q
    log_p, first, second = gaussian_rows(y, lower, upper, mean, tau, a, b)
    gamma = log_p + log_weights(alpha)
    r = np.exp(gamma - np.logaddexp.reduce(gamma, axis=1)[:, None])
    N, x, xx = r.sum(axis=0), (r * first).sum(axis=0), (r * second).sum(axis=0)
    m0, t0, a0, b0 = GAUSSIAN.values()
    tau = t0 + N
    mean = (t0 * m0 + x) / tau
    return 1.0 + N, mean, tau, a0 + 0.5 * N, b0 + 0.5 * (t0 * m0**2 - tau * mean**2 + xx)


def rate_step(y, upper, q, case):
    """Eqs. 37-43 with table 1 corrected."""
    alpha, a, b = q
    censored = y >= upper
    if case == "emm":
        rate, offset = a / b, digamma(a) - np.log(a)
        log_p = np.where(censored[:, None], -rate * y[:, None], np.log(rate) - rate * y[:, None])
        T = np.where(censored[:, None], y[:, None] + 1.0 / rate, y[:, None])
    else:
        rate = np.exp(digamma(a)) / b
        offset = rate - a / b
        tail = np.log(gammainc(7.0, rate))
        log_p = np.where(censored[:, None], tail, poisson.logpmf(y[:, None], rate))
        T = np.where(censored[:, None], rate * np.exp(np.log(gammainc(6.0, rate)) - tail), y[:, None])
    gamma = log_p + offset + log_weights(alpha)
    r = np.exp(gamma - np.logaddexp.reduce(gamma, axis=1)[:, None])
    N, total = r.sum(axis=0), (r * T).sum(axis=0)
    a, b = (GAMMA["a"] + N, GAMMA["b"] + total) if case == "emm" else (GAMMA["a"] + total, GAMMA["b"] + N)
    return 1.0 + N, a, b


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_posterior_is_that_of_an_own_ascent(case, seed):
    family, prior = CASES[case]
    data = tg.datasets.simulate_kohjima(case, seed=seed, n=80)
    y, lower, upper = (data[name].to_numpy(float) for name in ("y", "lower", "upper"))
    found = tg.fit(FORMULA, data, family=family, priors=prior, method=tg.VBCM(tol=1e-13)).variational
    if case == "gmm":
        q = tuple(np.array(each) for each in ([40.0, 40.0], [-2.0, 2.0], [40.0, 40.0], [20.0, 20.0], [20.0, 20.0]))
    else:
        q = np.array([40.0, 40.0]), np.array([60.0, 60.0]), np.array([20.0, 90.0] if case == "emm" else [60.0, 15.0])
    for _ in range(1500):
        q = gaussian_step(y, lower, upper, q) if case == "gmm" else rate_step(y, upper, q, case)
    names = ["alpha", "mean", "tau", "a", "b"] if case == "gmm" else ["alpha", "a", "b"]
    np.testing.assert_allclose(found[names].to_numpy().T, np.array(q), rtol=2e-4)
    if case == "emm":
        np.testing.assert_allclose(found["nu"] + 1.0, found["a"])
        np.testing.assert_allclose(found["xi"], found["b"])
    if case == "pmm":
        np.testing.assert_array_equal(found[["xi", "nu"]], found[["a", "b"]])


def test_the_posterior_is_in_the_units_of_the_response():
    data = tg.datasets.simulate_kohjima("gmm", seed=2)
    columns = ["y", "lower", "upper"]
    one, other = (tg.fit(FORMULA, data[columns] * scale).variational for scale in (1.0, 100.0))
    np.testing.assert_allclose(other["mean"], 100.0 * one["mean"], rtol=1e-5)
    np.testing.assert_allclose(other["b"], 1e4 * one["b"], rtol=1e-5)
    np.testing.assert_allclose(other[["alpha", "tau", "a"]], one[["alpha", "tau", "a"]], rtol=1e-5)
    data = tg.datasets.simulate_kohjima("emm", seed=2)
    res = tg.fit(FORMULA, data, family="weibull")
    a, b, shape = (res.variational[name].to_numpy() for name in ("a", "b", "shape"))
    np.testing.assert_allclose((a / b) ** (-1.0 / shape), res.params[["scale[1]", "scale[2]"]], rtol=1e-10)


def test_sticks_of_a_process():
    data = tg.datasets.simulate_kohjima("gmm", seed=2)
    found = tg.fit("y ~ mixture('dp', max_components=4) | censor(lower, upper)", data)
    table = found.variational
    assert list(table.columns) == ["g1", "g2", "mean", "tau", "a", "b"]
    assert table["g1"].isna().sum() == 1
    rows = found.components["rows"]
    np.testing.assert_allclose(table["g1"].dropna(), 1.0 + rows[table["g1"].notna()], rtol=1e-3)


def rows_by_hand(data, table):
    """Eq. 44 of Gaussian rows without its share of the divergences, (n,)."""
    y, lower, upper = (data[name].to_numpy(float) for name in ("y", "lower", "upper"))
    alpha, *q = (table[name].to_numpy() for name in ("alpha", "mean", "tau", "a", "b"))
    return np.logaddexp.reduce(gaussian_rows(y, lower, upper, *q)[0] + log_weights(alpha), axis=1)


def divergences(table):
    """KL of the Dirichlet and of the normal-gamma posteriors."""
    alpha, mean, tau, a, b = (table[name].to_numpy() for name in ("alpha", "mean", "tau", "a", "b"))
    m0, t0, a0, b0 = GAUSSIAN.values()
    of_weights = gammaln(alpha.sum()) - gammaln(alpha).sum() - gammaln(2.0) + (alpha - 1.0) @ log_weights(alpha)
    of_mean = 0.5 * (np.log(tau / t0) + t0 / tau - 1.0 + t0 * a / b * (mean - m0) ** 2)
    of_gamma = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * np.log(b / b0) + a * (b0 - b) / b
    return of_weights + (of_mean + of_gamma).sum()


@pytest.mark.filterwarnings("ignore:1 of 100 rows is dropped")
def test_shares_of_rows_are_those_of_equation_44():
    data = tg.datasets.simulate_kohjima("gmm", seed=3)
    data.index = [f"row {i}" for i in range(100)]
    data.loc["row 7", "y"] = np.nan
    res = tg.fit(FORMULA, data, priors=GAUSSIAN)
    shares = res.elbo_rows()
    assert list(shares.index) == list(data.index)
    assert np.isnan(shares["row 7"])
    assert shares.isna().sum() == 1
    used = data.drop(index="row 7")
    expected = rows_by_hand(used, res.variational) - divergences(res.variational) / 99
    np.testing.assert_allclose(shares.dropna(), expected, atol=1e-9)
    assert shares.sum() == pytest.approx(res.elbo, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "lognormal", "exponential", "weibull", "poisson"])
@pytest.mark.parametrize("k", ["1", "3", "'dp', max_components=3"])
def test_shares_sum_to_the_bound(family, k):
    rng = np.random.default_rng(5)
    y = np.ceil(rng.gamma(2.0, 3.0, 60))
    data = pd.DataFrame({"y": y.clip(2.0, 9.0), "w": rng.integers(0, 3, 60)})
    res = tg.fit(f"y ~ mixture({k}) | censor(2, 9)", data, family=family, weights="w", method=tg.VBCM(n_init=2))
    assert res.elbo_rows().sum() == pytest.approx(res.elbo, abs=1e-8)
    assert (res.elbo_rows()[data["w"] == 0].fillna(0.0) == 0.0).all()


def test_maximum_likelihood_has_no_bound_and_files_no_rows(tmp_path):
    data = tg.datasets.simulate_kohjima("gmm", seed=3)
    em, res = tg.fit(FORMULA, data, method="em"), tg.fit(FORMULA, data)
    for ask in (em.elbo_rows, lambda: em.variational):
        with pytest.raises(UnavailableError, match="posterior"):
            ask()
    res.save(tmp_path / "fit.tgp")
    loaded = tg.load(tmp_path / "fit.tgp")
    pd.testing.assert_frame_equal(loaded.variational, res.variational)
    with pytest.raises(SpecError, match="holds no training rows"):
        loaded.elbo_rows()
    line = tg.fit("y ~ y_star", data)
    for name in ("elbo_rows", "variational", "plot_history"):
        with pytest.raises(UnavailableError, match="not defined for a regression"):
            getattr(line, name)
