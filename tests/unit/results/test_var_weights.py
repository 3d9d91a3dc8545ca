"""Variance weights: the noise of a row has the variance sigma^2 / w, w in units of its mean."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.integrate import quad
from scipy.stats import logistic, multivariate_normal, norm
from support.methods import having

import tobitgp as tg
from tobitgp.data.arrays import KindRows, Window
from tobitgp.distributions.symmetric_noise import Logistic
from tobitgp.errors import BoundaryWarning, DataError, SpecError
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.likelihoods.noise import NoiseLikelihood

KNOWN = {"sd(gp(x))": 1.2, "lengthscale(gp(x))": 1.5, "sigma": 0.4}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x, w = np.sort(rng.uniform(0.0, 10.0, 40)), rng.choice([0.5, 1.0, 2.0, 8.0], 40)
    return pd.DataFrame({"x": x, "y": np.sin(x) + 0.5 * rng.normal(size=40) / np.sqrt(w), "w": w})


@pytest.fixture(scope="module")
def dense(data):
    """Covariance of f, noise variances, and the posterior of f."""
    x, w = data["x"].to_numpy(), data["w"].to_numpy()
    K, noise = 1.44 * np.exp(-0.5 * ((x[:, None] - x) / 1.5) ** 2), 0.16 * w.mean() / w
    gain = np.linalg.solve(K + np.diag(noise), K).T
    return K, noise, gain @ data["y"].to_numpy(), np.sqrt(np.diag(K - gain @ K))


def test_regressions_are_weighted_least_squares_in_any_unit(data):
    X = sm.add_constant(data["x"].to_numpy())
    theirs = sm.WLS(data["y"].to_numpy(), X, weights=data["w"]).fit()
    for unit in (1.0, 10.0):
        ours = tg.fit("y ~ x", data.assign(w=unit * data["w"]), var_weights="w")
        assert ours.llf == pytest.approx(theirs.llf, abs=1e-9)
        np.testing.assert_allclose(ours.params[:2], theirs.params, rtol=1e-8)
    z = theirs.resid / (ours.params["sigma"] * np.sqrt(data["w"].mean() / data["w"]))
    np.testing.assert_allclose(ours.residuals("quantile"), z, rtol=1e-7)
    assert ours.llf == pytest.approx(ours.score(data.assign(w=10.0 * data["w"])) * len(data))


def test_censored_regressions_have_the_noise_of_each_row(data):
    y = np.maximum(data["y"], -0.3)
    fit = tg.fit("y ~ x | censor(-0.3)", data.assign(y=y), var_weights=data["w"])
    sd = np.sqrt(data["w"].mean() / data["w"])

    def log_likelihood(a, b, sigma):
        z = (y - a - b * data["x"]) / (sigma * sd)
        return np.where(y > -0.3, norm.logpdf(z) - np.log(sigma * sd), norm.logcdf(z)).sum()

    best = log_likelihood(*fit.params)
    assert fit.llf == pytest.approx(best, abs=1e-9)
    for k in range(3):
        for step in (-0.01, 0.01):
            assert log_likelihood(*(fit.params + step * (np.arange(3) == k))) < best


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_processes_are_closed_form_regression_with_known_noise(data, dense, method, tmp_path):
    K, noise, mean, sd = dense
    fit = tg.fit("y ~ 0 + gp(x, line=False)", data, var_weights="w", fixed=KNOWN, method=having(method, inducing=None))
    distribution = multivariate_normal(np.zeros(len(K)), K + np.diag(noise))
    assert fit.log_evidence == pytest.approx(distribution.logpdf(data["y"]), abs=1e-6)
    np.testing.assert_allclose(fit.predict(what="latent"), mean, atol=1e-7)
    total = np.hypot(sd, np.sqrt(noise))
    np.testing.assert_allclose(fit.residuals("quantile"), (data["y"] - mean) / total, atol=1e-6)
    own = mean + norm.ppf(0.9) * total
    np.testing.assert_allclose(fit.predict(what="quantile", q=0.9), own, atol=1e-6)
    fit.save(tmp_path / "fit.tgp")
    for one in (fit, tg.load(tmp_path / "fit.tgp")):
        np.testing.assert_allclose(one.predict(data, "quantile", q=0.9), own, atol=1e-6)
        plain = one.predict(data[["x"]], "quantile", q=0.9)
        np.testing.assert_allclose(plain, mean + norm.ppf(0.9) * np.hypot(sd, 0.4), atol=1e-6)
    density = norm.logpdf(data["y"], mean, total).mean()
    assert fit.score(data) == pytest.approx(density, abs=1e-7)


def test_one_censored_row_is_exact_by_ep(data, dense):
    K, noise, *_ = dense
    S, y = K + np.diag(noise), data["y"].to_numpy()
    a = np.linalg.solve(S[1:, 1:], S[1:, 0])
    centre, sd = a @ y[1:], np.sqrt(S[0, 0] - a @ S[1:, 0])
    want = multivariate_normal(np.zeros(39), S[1:, 1:]).logpdf(y[1:]) + norm.logsf(0.7, centre, sd)
    lower, upper = np.where(np.arange(40) == 0, 0.7, y), np.where(np.arange(40) == 0, np.inf, y)
    rows = data.assign(lower=lower, upper=upper)
    fit = tg.fit(
        "interval(lower, upper) ~ 0 + gp(x, line=False)",
        rows,
        var_weights="w",
        fixed=KNOWN,
        method=tg.EP(inducing=None),
    )
    assert fit.log_evidence == pytest.approx(want, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [GaussianNoise(), NoiseLikelihood(Logistic())], ids=["normal", "logistic"])
@pytest.mark.parametrize("kind", ["exact", "one-sided", "interval", "truncated"])
def test_likelihoods_of_rows_with_noise_of_their_own_by_quadrature(noise, kind):
    one, c, sigma, mean, var = np.ones(1), 1.7, 0.6, 0.3, 0.5
    lower, upper = (0.8, 0.8) if kind in ("exact", "truncated") else (0.8, np.inf if kind == "one-sided" else 1.5)
    window = Window(-0.4 * one, np.inf * one, np.inf * one) if kind == "truncated" else None
    name = "exact" if kind == "truncated" else kind
    ends = lower * one, upper * one, lower * one, one * (kind == "one-sided"), one, (upper - lower) * one
    rows = KindRows(name, *ends, window, spread=c * one)
    distribution = norm if isinstance(noise, GaussianNoise) else logistic

    def p(f):
        y = distribution(f, c * sigma)
        return (y.pdf(lower) if lower == upper else y.sf(lower) - y.sf(upper)) / (y.sf(-0.4) if window else 1.0)

    def log_z(m):
        return np.log(quad(lambda f: p(f) * norm.pdf(f, m, np.sqrt(var)), -12.0, 12.0, epsabs=1e-13, limit=200)[0])

    likelihood = Spread(noise)
    found, h = likelihood.tilted(rows, mean * one, var * one, sigma), 1e-3
    at = [log_z(mean + k * h) for k in (-1, 0, 1)]
    assert found.log_Z[0] == pytest.approx(at[1], abs=1e-8)
    assert found.d1[0] == pytest.approx((at[2] - at[0]) / (2 * h), abs=1e-5)
    assert found.d2[0] == pytest.approx((at[2] - 2 * at[1] + at[0]) / h**2, abs=1e-4)
    expected = quad(lambda f: np.log(p(f)) * norm.pdf(f, mean, np.sqrt(var)), -7.0, 7.0, limit=200)[0]
    assert likelihood.expected(rows, mean * one, var * one, sigma).value[0] == pytest.approx(expected, abs=1e-7)
    assert likelihood.newton(rows, mean * one, sigma).log_Z[0] == pytest.approx(np.log(p(mean)), abs=1e-10)


@pytest.mark.parametrize(
    ("method", "family"),
    [(tg.EP(), "gaussian"), (tg.Laplace(), "weibull"), (tg.VI(), "logistic"), (tg.VI(bound="local"), "gaussian")],
    ids=["ep", "laplace", "vi", "vi local"],
)
def test_gradients_of_the_evidence(data, method, family):
    rows = data.assign(t=np.exp(data["y"]), event=np.arange(40) % 3 > 0)
    formula = (
        "Surv(t, event) ~ 0 + gp(x, line=False)"
        if family == "weibull"
        else "y ~ 0 + gp(x, line=False) | censor(event=event)"
    )
    model = tg.Model(formula, rows, family=family, var_weights="w")
    known = KNOWN | ({"sigma_upper": 0.3} if method == tg.VI(bound="local") else {})
    found = model.evidence(known, method=method)
    for name, value in known.items():
        h = 1e-4 * value
        ends = [model.evidence(known | {name: value + s * h}, method=method).value for s in (-1, 1)]
        assert found.gradient[name] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=2e-3, abs=2e-3), name


def test_the_unit_of_the_weights_does_not_matter_where_parameters_are_found(data):
    fits = [
        tg.fit("y ~ gp(x)", data.assign(w=unit * data["w"]), var_weights="w", method=tg.EP(hyper="maximize"))
        for unit in (1.0, 7.0)
    ]
    np.testing.assert_allclose(fits[0].params, fits[1].params, rtol=1e-4)
    assert fits[0].log_evidence == pytest.approx(fits[1].log_evidence, abs=1e-4)


def test_survival_of_rows_has_their_noise(data):
    rows = data.assign(t=np.exp(data["y"]), event=np.arange(40) % 3 > 0)
    fit = tg.fit(
        "Surv(t, event) ~ 0 + gp(x, line=False)",
        rows,
        family="lognormal",
        var_weights="w",
        fixed=KNOWN,
        method=tg.EP(inducing=None),
    )
    f = fit.predict(what="latent", se=True)
    sd = np.hypot(f["se"], 0.4 * np.sqrt(data["w"].mean() / data["w"]))
    want = norm.sf(np.log([0.5, 2.0])[:, None], f["estimate"], sd)
    np.testing.assert_allclose(fit.predict_survival_function(times=[0.5, 2.0]), want, atol=1e-6)
    np.testing.assert_allclose(
        fit.predict_percentile(rows, p=0.2), np.exp(f["estimate"] + norm.isf(0.2) * sd), rtol=1e-5
    )
    draws = np.log(fit.sample(draws=4000, rng=1))
    np.testing.assert_allclose(draws.std(axis=1), sd, rtol=0.08)


def test_cross_validation_takes_columns_and_arrays_alike(data):
    given = [data["w"].to_numpy(), "w"]
    a, b = (tg.cross_validate("y ~ x", data[["x", "y", "w"]], folds=4, var_weights=w) for w in given)
    np.testing.assert_allclose(a["log_likelihood"], b["log_likelihood"], rtol=1e-12)
    model = tg.fit("y ~ x", data[["x", "y"]], weights=(np.arange(40) % 2).astype(float), var_weights=data["w"])
    assert model.nobs == 20


@pytest.mark.filterwarnings("ignore::tobitgp.errors.ConvergenceWarning")
def test_a_curve_of_doubled_rows_is_spoken_of():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0.0, 1.0, 60))
    f = np.sin(6.0 * x)
    data = pd.DataFrame({"x": x, "y": f + 0.4 * rng.normal(size=60)})
    with pytest.warns(BoundaryWarning, match="100% of the exact rows are copies .* var_weights="):
        twice = tg.fit("y ~ gp(x)", pd.concat([data, data], ignore_index=True), method=tg.EP(hyper="maximize"))
    smooth = {"lengthscale(gp(x))": 0.3}  # a curve that does not go through the copies is not spoken of
    tg.fit("y ~ gp(x)", data, weights=np.full(60, 2.0), method=tg.EP(hyper="maximize"), fixed=smooth)
    precise = tg.fit("y ~ gp(x)", data, var_weights=np.full(60, 2.0), method=tg.EP(hyper="maximize"))
    errors = [np.sqrt(np.mean((fit.predict(data[["x"]]) - f) ** 2)) for fit in (twice, precise)]
    assert errors[1] < 0.1 < 0.25 < errors[0]


def test_weights_that_are_no_frequencies_are_spoken_of(data):
    with pytest.warns(UserWarning, match=r"10 weights are not whole numbers, e\.g\. 0\.5\. .* var_weights="):
        tg.fit("y ~ x", data.assign(w=np.where(np.arange(40) < 10, 0.5, 1.0)), weights="w")
    tg.fit("y ~ x", data, weights="w", cov_type="HC0")


@pytest.mark.parametrize(
    ("formula", "more", "error", "message"),
    [
        ("y ~ mixture(2)", {}, SpecError, "var_weights= divide .*mixture"),
        ("Surv(t, event) ~ x", {"family": "exponential"}, SpecError, "family='exponential' does not estimate one"),
        ("y ~ x", {"var_weights": "zero"}, DataError, "The var_weights 'zero' are less than .* by weights= of 0"),
        ("y ~ x", {"var_weights": "away"}, DataError, "no column 'away' for the var_weights"),
    ],
)
def test_what_has_no_meaning_is_refused(data, formula, more, error, message):
    rows = data.assign(t=np.exp(data["y"]), event=1, zero=0.0)
    with pytest.raises(error, match=message):
        tg.fit(formula, rows, **({"var_weights": "w"} | more))


def test_partitioned_data_take_a_column_of_them_as_data_in_memory_do():
    dask = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(7)
    data = pd.DataFrame({"x": rng.uniform(0, 6, 90), "w": rng.uniform(0.2, 5.0, 90), "copies": rng.integers(0, 3, 90)})
    data = data.assign(y=np.maximum(np.sin(data["x"]) + 0.4 * rng.normal(size=90) / np.sqrt(data["w"]), -0.6))
    options = {"var_weights": "w", "weights": "copies", "method": tg.EP(hyper="maximize")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole, apart = (
            tg.fit("y ~ gp(x) | censor(-0.6)", given, **options)
            for given in (data, dask.from_pandas(data, npartitions=4))
        )
    assert apart.log_evidence == pytest.approx(whole.log_evidence, abs=1e-5)
    table = whole.predict(data, "uncensored", interval=0.9)
    np.testing.assert_allclose(apart.predict(data, "uncensored", interval=0.9), table, atol=1e-4)
    with pytest.raises(SpecError, match="var_weights= must be the name of a column"):
        tg.fit("y ~ gp(x)", dask.from_pandas(data, npartitions=4), var_weights=np.ones(90))
