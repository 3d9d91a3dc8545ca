"""Regressions after a power transformation: against scipy, likelihoods written out, other families, simulation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import boxcox, boxcox_llf, boxcox_normmax, gamma, norm

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, DataError, SpecError

pytestmark = pytest.mark.diagonal


def simulate(n=200, power=0.5, seed=1, intercept=1.0, sigma=0.8):
    """Responses whose transformed values are normal about a line; some are 0 where the intercept is low."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, n)
    z = intercept + x + sigma * rng.standard_normal(n)
    y = np.exp(z) if power == 0.0 else np.maximum(0.0, 1.0 + power * z) ** (1.0 / power)
    return pd.DataFrame({"x": x, "y": y})


def intervals(data, seed=2):
    """Rows of every kind, as ``Surv(lo, hi, type='interval2')``."""
    rng, n = np.random.default_rng(seed), len(data)
    low, high, kind = data.y * rng.uniform(0.5, 1.0, n), data.y * rng.uniform(1.0, 1.6, n), rng.integers(0, 4, n)
    lo = np.select([kind == 0, kind == 1], [data.y, np.nan], low)
    hi = np.select([kind == 0, kind == 2], [data.y, np.nan], high)
    return data.assign(lo=lo, hi=hi, w=rng.integers(1, 3, n))


def log_likelihood(params, data, weight=1.0):
    """Of rows of every kind, written out."""
    b0, b1, sigma, power = params

    def scores(y, instead):
        known = ~np.isnan(y)
        return np.where(known, (((np.where(known, y, 1.0) ** power - 1.0) / power) - b0 - b1 * data.x) / sigma, instead)

    a, b = scores(data.lo, -np.inf), scores(data.hi, np.inf)
    density = norm.logpdf(a) - np.log(sigma) + (power - 1.0) * np.log(data.lo)
    return float(np.sum(weight * np.where(data.lo == data.hi, density, np.log(norm.cdf(b) - norm.cdf(a) + 1e-300))))


@pytest.fixture(scope="module")
def seen():
    return intervals(simulate())


@pytest.fixture(scope="module")
def res(seen):
    return tg.fit("Surv(lo, hi, type='interval2') ~ x", seen, family="boxcox", weights="w")


@pytest.fixture(scope="module")
def rain():
    return simulate(150, intercept=-1.0, seed=4)


@pytest.fixture(scope="module")
def wet(rain):
    return tg.fit("y ~ x | censor(0)", rain, family="boxcox")


# -- against other programs and computations --------------------------------------------------------------------------


def test_scipy():
    """scipy's log likelihood leaves ``n (log 2 pi + 1) / 2`` out."""
    y = gamma.rvs(3.0, size=80, random_state=np.random.default_rng(1))
    res = tg.fit("y ~ 1", {"y": y}, family="boxcox")
    assert res.power == pytest.approx(boxcox_normmax(y, method="mle"), abs=1e-6)
    assert res.llf == pytest.approx(boxcox_llf(res.power, y) - 40.0 * (np.log(2.0 * np.pi) + 1.0), abs=1e-9)
    z = boxcox(y, res.power)
    np.testing.assert_allclose(res.params[["Intercept", "sigma"]], [z.mean(), z.std()], rtol=1e-8)


def test_likelihood_of_censored_rows(seen, res):
    params = res.params.to_numpy()
    assert res.llf == pytest.approx(log_likelihood(params, seen, seen.w), abs=1e-8)
    gradient = approx_fprime(params, log_likelihood, 1e-6, seen, seen.w)
    assert np.abs(gradient).max() < 5e-3


def in_the_unit_of_tests(res, data):
    """Rows and parameters with the geometric mean of the exact responses as unit, and the factors of parameters."""
    exact = data.lo == data.hi
    log_g = np.average(np.log(data.lo[exact]), weights=data.w[exact] if res.nobs > len(data) else None)
    b0, b1, sigma, power = res.params
    lift = np.exp(power * log_g)
    theta = np.array([(b0 - (lift - 1.0) / power) / lift, b1 / lift, sigma / lift, power])
    scaled = data.assign(**{name: data[name] / np.exp(log_g) for name in ("y", "lo", "hi")})
    return scaled, theta, np.array([lift, lift, lift, 1.0])


def test_covariance_is_the_inverse_information(seen, res):
    (rows, params, factor), h = in_the_unit_of_tests(res, seen), 1e-3
    steps = h * np.eye(4)
    signs = [(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]

    def second(p, q):
        return sum(a * b * log_likelihood(params + a * p + b * q, rows, rows.w) for a, b in signs) / (4.0 * h**2)

    H = np.array([[second(p, q) for q in steps] for p in steps])
    np.testing.assert_allclose(res.bse, factor * np.sqrt(np.diag(np.linalg.inv(-H))), rtol=2e-4)


@pytest.mark.slow
def test_sandwich(seen):
    data = seen[seen.lo == seen.hi]
    found, plain = (tg.fit("y ~ x", data, family="boxcox", cov_type=kind) for kind in ("HC0", "nonrobust"))
    rows, params, factor = in_the_unit_of_tests(found, data)
    scores = np.array([approx_fprime(params, log_likelihood, 1e-7, rows.iloc[[i]]) for i in range(len(data))]) / factor
    V = plain.cov_params().to_numpy()
    np.testing.assert_allclose(found.cov_params(), V @ scores.T @ scores @ V, rtol=2e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("c", [365.25, 1e-3])
@pytest.mark.parametrize(
    "formula", ["Surv(lo, hi, type='interval2') ~ x", "y ~ 0 + C(x > 0) + x", "interval(lo, hi) ~ x"]
)
def test_tests_do_not_depend_on_the_unit(seen, formula, c):
    if formula.startswith("interval"):
        seen = seen[(seen.lo < seen.hi)]
    moved = seen.assign(**{name: c * seen[name] for name in ("y", "lo", "hi")})
    one, two = (tg.fit(formula, data, family="boxcox") for data in (seen, moved))
    np.testing.assert_allclose(two.tvalues["x"], one.tvalues["x"], rtol=1e-4)
    np.testing.assert_allclose(two.anova()["chi2"]["x"], one.anova()["chi2"]["x"], rtol=1e-3)
    np.testing.assert_allclose(two.bse, one.bse * np.where(one.bse.index == "power", 1.0, c**one.power), rtol=1e-4)
    latent = (res.predict({"x": [0.3]}, "latent", se=True)["se"][0] for res in (one, two))
    assert next(latent) * c**one.power == pytest.approx(next(latent), rel=1e-4)


def test_tests_do_not_depend_on_the_coding(seen):
    data = seen.assign(g=np.where(seen.x > 0.0, "a", "b"), y=50.0 * seen.y)
    one, two = (tg.fit(formula, data, family="boxcox") for formula in ("y ~ C(g) + x", "y ~ 0 + C(g) + x"))
    np.testing.assert_allclose(two.tvalues["x"], one.tvalues["x"], rtol=1e-5)
    np.testing.assert_allclose(two.bse["C(g)[a]"], one.bse["Intercept"], rtol=1e-5)


@pytest.mark.parametrize(("power", "family"), [(0.0, "lognormal"), (1.0, "gaussian")])
def test_other_families(seen, power, family):
    formula = "Surv(lo, hi, type='interval2') ~ x"
    given, other = tg.fit(formula, seen, family=tg.BoxCox(power)), tg.fit(formula, seen, family=family)
    assert given.llf == pytest.approx(other.llf, abs=1e-9)
    assert given.llnull == pytest.approx(other.llnull, abs=1e-9)
    shift = np.array([power, 0.0, 0.0])
    np.testing.assert_allclose(given.params[:3] + shift, other.params, rtol=1e-8)
    np.testing.assert_allclose(given.bse[:3], other.bse, rtol=1e-8)
    assert given.bse["power"] == 0.0
    rows = {"x": [-0.5, 0.5]}
    for what in ("median", "latent"):
        moved = 1.0 if what == "latent" and power == 1.0 else 0.0
        wanted = other.predict(rows, what, interval=0.9) - moved * np.array([1.0, 0.0, 1.0, 1.0])
        pd.testing.assert_frame_equal(given.predict(rows, what, se=True), wanted[["estimate", "se"]], rtol=1e-6)


def test_power_normal_of_rainfall(rain):
    """With power 1/p, ``y = max(0, X)^p``: the square root of y is a Tobit response."""
    given = tg.fit("y ~ x | censor(0)", rain, family="boxcox", fixed={"power": 0.5})
    tobit = tg.fit("root ~ x | censor(0)", rain.assign(root=np.sqrt(rain.y)))
    wet = rain.y[rain.y > 0.0]
    assert 5 < (rain.y == 0.0).sum() == given.counts["left"]
    assert given.llf == pytest.approx(tobit.llf - np.log(2.0 * np.sqrt(wet)).sum(), abs=1e-8)
    wanted = (tobit.params - [1.0, 0.0, 0.0]) * 2.0
    np.testing.assert_allclose(given.params[:3], wanted, rtol=1e-7)


def test_unit_of_the_response(seen):
    fits = [tg.fit("y ~ x", seen.assign(y=c * seen.y), family="boxcox") for c in (1e-6, 1.0, 1e6)]
    for c, res in zip((1e-6, 1.0, 1e6), fits, strict=True):
        assert res.power == pytest.approx(fits[1].power, abs=1e-6)
        assert res.llf + len(seen) * np.log(c) == pytest.approx(fits[1].llf, abs=1e-7)
        for what in ("median", "uncensored"):
            found, wanted = (fit.predict({"x": [0.3]}, what, interval=0.9) for fit in (res, fits[1]))
            np.testing.assert_allclose(found / c, wanted, rtol=1e-5)


def test_estimates_are_those_of_the_response_as_written(seen):
    """At the power found coefficients are those of the transformed response."""
    res = tg.fit("y ~ x", seen, family="boxcox")
    plain = tg.fit("z ~ x", seen.assign(z=boxcox(seen.y, res.power)))
    np.testing.assert_allclose(res.params[:3], plain.params, rtol=1e-6)
    free = tg.fit("y ~ 0 + C(g) + x", seen.assign(g=1), family="boxcox")  # no intercept: no unit is taken out
    assert free.llf == pytest.approx(res.llf, abs=1e-8)
    np.testing.assert_allclose(free.bse, res.bse, rtol=1e-3)


@pytest.mark.study
@pytest.mark.filterwarnings("ignore:No .* censored:UserWarning")
def test_coverage():
    """90% intervals of the power and of medians, of responses with zeros."""
    hits, n = np.zeros(3), 200
    for seed in range(n):
        data = simulate(150, intercept=0.0, sigma=1.0, seed=100 + seed)
        res = tg.fit("y ~ x | censor(0)", data, family="boxcox")
        low, high = res.conf_int(0.1).loc["power"]
        found = res.predict({"x": [-0.5, 0.5]}, interval=0.9)
        truth = (1.0 + 0.5 * np.array([-0.5, 0.5])) ** 2
        hits += [low <= 0.5 <= high, *((found.lower <= truth) & (truth <= found.upper))]
    assert (hits / n > 0.84).all()
    assert (hits / n < 0.96).all()


# -- answers ----------------------------------------------------------------------------------------------------------


def test_predictions_are_of_the_response(rain, wet):
    rows = {"x": [-0.9, 0.9]}
    draws = wet.sample(rows, 4000, rng=1).to_numpy()
    np.testing.assert_allclose(wet.predict(rows, "uncensored"), draws.mean(axis=1), rtol=0.08)
    np.testing.assert_allclose(wet.predict(rows, "prob", above=0), (draws > 0.0).mean(axis=1), atol=0.03)
    found = wet.predict(rows, "quantile", q=[0.2, 0.9])
    np.testing.assert_allclose(found[0.9], np.quantile(draws, 0.9, axis=1), rtol=0.1)
    curve = wet.predict_survival_function(rows, [1.0])
    np.testing.assert_allclose(curve.loc[1.0], wet.predict(rows, "prob", above=1.0), rtol=1e-10)
    assert wet.mass_beyond() == pytest.approx((rain.y == 0.0).mean(), abs=0.05)


def test_quantiles_near_zero_have_intervals(wet):
    found = wet.predict({"x": [-0.9]}, "quantile", q=[0.05], interval=0.9)[0.05]
    assert (found[["estimate", "lower"]] == 0.0).to_numpy().all()
    assert np.isfinite(found.to_numpy()).all()


def test_conditional_means_lie_within_what_was_seen(seen, res, rain, wet):
    found = res.predict(None, "conditional").to_numpy()
    assert (found >= seen.lo.fillna(0.0) - 1e-9).all()
    assert (found <= seen.hi.fillna(np.inf) + 1e-9).all()
    at = rain.y == 0.0
    np.testing.assert_allclose(wet.predict(rain, "conditional")[at], 0.0, atol=1e-300)
    np.testing.assert_allclose(wet.predict(rain, "conditional")[~at], rain.y[~at])
    imputed = res.sample(None, 20, what="conditional", rng=1).to_numpy()
    assert (imputed >= seen.lo.fillna(0.0).to_numpy()[:, None] - 1e-9).all()


def test_residuals_are_standard(rain, wet):
    scores = wet.residuals("quantile", rng=1)
    assert abs(scores.mean()) < 0.2
    assert abs(scores.std() - 1.0) < 0.15
    assert wet.residuals("martingale").sum() == pytest.approx(0.0, abs=12.0)
    assert wet.check().table.loc["convergence", "verdict"] == "good"


def test_rows_are_scored_as_the_likelihood_has_them(rain, wet):
    assert len(rain) * wet.score(rain, "log_likelihood") == pytest.approx(wet.llf, abs=1e-8)
    assert wet.log_likelihood_draws(50).shape == (50, len(rain))
    assert wet.loo().elpd_loo < wet.llf


@pytest.mark.slow
def test_draws_of_parameters_are_reported(wet):
    found = wet.to_arviz(draws=4000).posterior
    for name in wet.params.index:
        values = found[name].to_numpy().ravel()
        assert values.mean() == pytest.approx(wet.params[name], abs=5.0 * wet.bse[name] / 60.0 + 0.1)
        assert values.std() == pytest.approx(wet.bse[name], rel=0.15)


def test_terms_add_up(wet):
    terms = wet.predict({"x": [0.3]}, "terms").xs("estimate", axis=1, level="statistic")
    assert terms.sum(axis=1)[0] == pytest.approx(wet.predict({"x": [0.3]}, "latent")[0])


def test_averages_are_of_the_response(seen):
    data = seen.assign(g=np.where(seen.x > 0.0, "a", "b"))
    res = tg.fit("y ~ g", data, family="boxcox")
    found = res.standardise("g", what="mean")
    np.testing.assert_allclose(found["estimate"], res.predict({"g": ["a", "b"]}, "uncensored"), rtol=1e-8)
    with pytest.raises(SpecError, match="no ratio"):
        res.hazard_ratios()


def test_marginal_effects_are_of_the_response(rain, wet):
    """Of every question those of ``predict`` at moved rows, averaged."""
    h = 1e-4
    up, down = rain.assign(x=rain.x + h), rain.assign(x=rain.x - h)
    for what, options in (("observed", {}), ("prob", {"above": 1.0}), ("prob", {"above": 0.0})):
        found = wet.marginal_effects(what, **options).loc[("x", "dy/dx")]
        moved = (wet.predict(each, what, **options).mean() for each in (up, down))
        assert found["dydx"] == pytest.approx(-np.subtract(*reversed([*moved])) / (2.0 * h), rel=1e-5)
        assert 0.0 < found["se"] < abs(found["dydx"])
    latent = wet.marginal_effects().loc[("x", "dy/dx")]
    np.testing.assert_allclose(latent[["dydx", "se"]], [wet.params["x"], wet.bse["x"]], rtol=1e-5)
    shown = wet.marginal_effects("observed").loc[("x", "dy/dx")]
    inside = [(wet.predict(each, "observed"), wet.predict(each, "prob", above=0)) for each in (up, down)]
    means = [mean / p for mean, p in inside]
    wanted = (0.5 * (inside[0][1] + inside[1][1]) * (means[0] - means[1])).mean() / (2.0 * h)
    assert shown["intensive"] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
def test_tests_and_comparisons(seen):
    res = tg.fit("y ~ x", seen, family="boxcox")
    test = res.lr_test(tg.fit("y ~ x", seen, family="lognormal"))
    assert test.df == 1
    assert test.statistic > 10.0
    assert res.lr_test(tg.fit("y ~ x", seen, family=tg.BoxCox(0.5))).df == 1
    with pytest.raises(SpecError, match="not nested"):
        res.lr_test(tg.fit("y ~ x", seen))
    with pytest.raises(SpecError, match="not nested"):
        tg.fit("y ~ x", seen, family=tg.BoxCox(0.5)).lr_test(tg.fit("y ~ 1", seen, family="boxcox"))
    found = tg.select({"family": ["lognormal", "boxcox"]}, seen, formula="y ~ x", by="aic")
    assert found.table.index[0] == "family=boxcox"
    nlpd = tg.cross_validate("y ~ x", seen, family="boxcox", metrics=["nlpd", "rmse"])
    assert np.isfinite(nlpd[["nlpd", "rmse"]].to_numpy()).all()


def test_zeros_are_the_same_response_to_other_families(rain, wet):
    tobit = tg.fit("y ~ x | censor(0)", rain)
    assert tg.compare({"boxcox": wet, "tobit": tobit}, by="aic").index[0] == "boxcox"


@pytest.mark.slow
def test_scale_of_the_noise_by_columns(seen):
    res = tg.fit("y ~ x", seen, family="boxcox", sigma="~ x")
    names = ["Intercept", "x", "log(sigma)[Intercept]", "log(sigma)[x]", "power"]
    assert list(res.params.index) == names
    assert res.llf >= tg.fit("y ~ x", seen, family="boxcox").llf


@pytest.mark.slow
def test_truncation(seen):
    data = seen[seen.y > 1.0]
    res = tg.fit("y ~ x | truncate(1)", data, family="boxcox")
    b0, b1, sigma, power = res.params
    z, end = boxcox(data.y, power), -b0 - b1 * data.x
    density = norm.logpdf(z, b0 + b1 * data.x, sigma) + (power - 1.0) * np.log(data.y) - norm.logsf(end / sigma)
    assert res.llf == pytest.approx(density.sum(), abs=1e-8)


def test_summary(wet):
    text = str(wet.summary())
    assert "power" in text
    assert "probability that the response is 0" in text
    assert wet.fit_history["log_likelihood"].max() == pytest.approx(wet.llf, abs=1e-8)


@pytest.mark.slow
def test_nondetects_as_text(seen):
    """What is written as <0.5 is left-censored there, and no outlier where it is 0."""
    low = seen.y < 1.5
    text = seen.assign(y=np.where(low, "<1.5", seen.y.astype(str)), flag=low, number=seen.y.clip(lower=1.5))
    found = tg.fit("y ~ x", text, family="boxcox")
    wanted = tg.fit("number ~ x | censor(nondetect=flag)", text, family="boxcox")
    pd.testing.assert_series_equal(found.params, wanted.params)
    one = simulate(150, intercept=0.0, seed=100)
    one.loc[0, "y"] = 0.0
    assert tg.fit("y ~ x | censor(0)", one, family="boxcox").converged


def test_highest_power():
    rng = np.random.default_rng(3)
    data = {"y": (1.0 + 5.0 * (2.0 + 0.1 * rng.standard_normal(60))) ** 0.2}
    with pytest.warns(BoundaryWarning, match="highest power"):
        res = tg.fit("y ~ 1", data, family="boxcox")
    assert res.power == pytest.approx(3.0, abs=1e-4)
    assert np.isnan(res.bse["power"])
    assert "(at bound)" in str(res.summary())


def test_negative_powers_have_no_mean():
    data = simulate(100, power=-0.4, intercept=0.5, sigma=0.3)
    res = tg.fit("y ~ x", data, family="boxcox")
    assert res.power < 0.0
    with pytest.warns(tg.errors.ApproximationWarning, match="has no such value"):
        assert np.isposinf(res.predict({"x": [0.0]}, "uncensored")[0])
    assert res.predict({"x": [0.0]})[0] == pytest.approx(np.exp(np.log1p(-0.4 * 0.5) / -0.4), rel=0.1)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id": "x"}, "id= is not supported"),
        ({"cure": "~ 1"}, "cure= is not supported"),
        ({"var_weights": "w"}, "var_weights= is not supported"),
        ({"censored": "drop"}, "censored= is not supported"),
        ({"fixed": {"power": 9}}, "from -3 to 3"),
        ({"fixed": {"powr": 1.0}}, "powr"),
        ({"family": tg.BoxCox(0.5), "fixed": {"power": 0.5}}, "given twice"),
        ({"family": "bcg"}, "called 'boxcox'"),
        ({"method": "ep", "priors": {"power": tg.Normal(0, 1)}}, "names 'power'"),
    ],
)
def test_what_does_not_go_with_it(seen, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("y ~ x", seen, **{"family": "boxcox", **options})


def test_rows_that_are_not_positive(rain):
    with pytest.raises(DataError, match=r"censor\(0\)"):
        tg.fit("y ~ x", rain, family="boxcox")
    with pytest.raises(DataError, match="positive"):
        tg.fit("y ~ x | censor(-1)", rain.assign(y=rain.y - 1.0), family="boxcox")
    with pytest.raises(SpecError, match="responses are 0"):
        tg.fit("y ~ x | censor(0)", rain, family=tg.BoxCox(0))
    with pytest.raises(SpecError, match="mixture"):
        tg.fit("y ~ mixture(2)", rain, family="boxcox")


def test_power_is_a_number():
    for power in ("a", True, 4.0, np.nan):
        with pytest.raises(SpecError, match="from -3 to 3"):
            tg.BoxCox(power)


def test_data_are_left_alone(rain):
    before = rain.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.fit("y ~ x | censor(0)", rain, family="boxcox")
    pd.testing.assert_frame_equal(rain, before)


@pytest.mark.parametrize("method", ["mle", "ep"])
def test_a_constant_response_has_no_power(method):
    data = pd.DataFrame({"x": np.arange(9.0), "y": 2.0})
    with pytest.raises(DataError, match="The response is 2 in all rows"):
        tg.fit("y ~ x", data, family="boxcox", method=method)
