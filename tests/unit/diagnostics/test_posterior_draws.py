"""Log likelihoods under draws: moments by closed forms and quadrature, and the response as written."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.diagnostics.training_draws import on_grid
from tobitgp.kinds.likelihood import drawn_rows


@pytest.fixture(scope="module")
def kinds():
    """Rows of every kind, groups, an offset, a truncation."""
    rng = np.random.default_rng(8)
    n = 60
    data = pd.DataFrame({"x": rng.uniform(0, 3, n), "g": rng.choice(list("abcd"), n), "m": rng.normal(size=n)})
    y = np.sin(data["x"]) + data["m"] + rng.normal(0, 0.3, n)
    data["lo"] = np.where(np.arange(n) % 4 == 1, -np.inf, y - 0.3 * (np.arange(n) % 4 == 3))
    data["hi"] = np.where(np.arange(n) % 4 == 2, np.inf, y + 0.3 * (np.arange(n) % 4 == 3))
    return data


def expected_moments(res):
    """Mean of the log likelihood of each row over f ~ N(m, v), by Gauss-Hermite quadrature in 60 points."""
    mean, covariance = res.posterior()
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    f = mean.to_numpy()[:, None] + np.sqrt(np.diag(covariance))[:, None] * z
    sigma, row = res.hyperparameters["sigma"], res.parts.rows.response
    exact = row.lower == row.upper
    below, above = ((end[:, None] - f) / sigma for end in (row.upper, row.lower))
    value = np.log(stats.norm.cdf(below) - stats.norm.cdf(above))
    value = np.where(
        np.isinf(above), stats.norm.logcdf(below), np.where(np.isinf(below), stats.norm.logsf(above), value)
    )
    value = np.where(exact[:, None], stats.norm(f, sigma).logpdf(np.where(exact, row.lower, 0.0)[:, None]), value)
    return value @ weight / weight.sum()


@pytest.mark.parametrize("formula", ["interval(lo, hi) ~ gp(x) + offset(m)", "interval(lo, hi) ~ m + gp(x) + re(g)"])
def test_their_mean_is_that_of_quadrature(kinds, formula):
    with np.errstate(divide="ignore"):
        res = tg.fit(formula, kinds, method=tg.EP(hyper="maximize"))
        draws = res.log_likelihood_draws(8000)
        error = draws.std(axis=0) / np.sqrt(8000)
        assert draws.shape == (8000, len(kinds))
        assert (np.abs(draws.mean(axis=0) - expected_moments(res)) < 5.0 * error + 1e-9).all()


def test_integrated_hyper_parameters_are_drawn_by_their_weights(averaged):
    made = averaged._draws(20_000, None, "test")
    weight = averaged.parts.fitted.weights
    share = np.bincount(made.point, minlength=len(weight)) / 20_000
    assert np.abs(share - weight).max() < 5.0 * np.sqrt(0.25 / 20_000)
    frame = pd.DataFrame(made.parameters(), columns=made.parts.names)
    linear = averaged.params[["Intercept", "z", "g[T.b]"]]
    error = 5.0 * averaged.bse[linear.index] / np.sqrt(20_000)
    assert (np.abs(frame[linear.index].mean() - linear) < error).all()
    assert np.allclose(frame[linear.index].std(), averaged.bse[linear.index], rtol=0.05)


def test_parameters_of_a_regression_have_its_distribution(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    made = res._draws(20_000, None, "test")
    frame = pd.DataFrame(made.parameters(), columns=made.parts.names)
    assert np.allclose(frame.mean(), res.params, atol=6.0 * res.bse.max() / np.sqrt(20_000) + 2e-3)
    assert np.allclose(frame.std(), res.bse, rtol=0.05)


@pytest.mark.slow
def test_parameters_of_a_mixture_have_its_distribution(lung):
    res = tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull")
    made = res._draws(20_000, None, "test")
    frame = pd.DataFrame(made.parameters(), columns=made.parts.names)
    assert list(frame.columns) == list(res.params.index)
    assert np.allclose(frame.mean(), res.params, rtol=0.01)
    assert np.allclose(frame["scale[1]"].std(), res.bse["scale[1]"], rtol=0.05)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("Surv(time, event) ~ age", {"family": "weibull"}),
        ("Surv(time, event) ~ age", {"family": "lognormal", "sigma": "~ age"}),
        ("Surv(time, event) ~ mixture(2)", {"family": "weibull", "method": "em"}),
    ],
)
def test_at_the_estimates_they_add_up_to_the_log_likelihood(lung, formula, options):
    """The density is that of the response as written, log times included: the best of all draws is just below llf."""
    res = tg.fit(formula, lung, **options)
    total = res.log_likelihood_draws(2000).sum(axis=1)
    assert total.max() < res.llf
    assert total.max() > res.llf - 1.0


def test_estimated_degrees_of_freedom_are_drawn(rng):
    z = rng.normal(size=400)
    data = {"z": z, "y": np.maximum(z + rng.standard_t(4, size=400), -2.0)}
    res = tg.fit("y ~ z | censor(-2)", data, family="student")
    total = res.log_likelihood_draws(500).sum(axis=1)
    assert res.llf - 1.5 < total.max() < res.llf
    made = res._draws(50, None, "test")
    drawn = drawn_rows(made.parts, made.parts.rows.design, made.change)
    assert len({y.noise.df for y in drawn}) == 50


def test_all_questions_are_of_the_same_draws(averaged):
    """New responses stand around the f that the log likelihoods know."""
    made = averaged._draws(50, None, "test")
    f = np.concatenate([f for _, f, _ in made._latent()])
    again = np.concatenate([f for _, f, _ in made._latent()])
    y = np.concatenate([y for _, y in made.responses()])
    sigma = made.parameters()[:, -1]
    assert np.array_equal(f, again)
    assert ((y - f) / sigma).std() == pytest.approx(1.0, abs=0.05)


def test_a_chunk_of_rows_is_drawn_as_all_are(monkeypatch, maximised):
    whole = maximised.log_likelihood_draws(200)
    monkeypatch.setattr("tobitgp.diagnostics.training_draws.CHUNK", 17)
    assert np.abs(maximised.log_likelihood_draws(200).mean() - whole.mean()).max() < 0.5


def test_rounding_is_beyond_all_digits_that_count(rng):
    value = -np.exp(5.0 * rng.normal(size=1000))
    assert np.abs(on_grid(value) - value).max() < 5e-16
    gaps = np.diff(np.unique(on_grid(-1e-16 * np.arange(100.0))))
    assert (np.exp(gaps) > 1.0).all()
