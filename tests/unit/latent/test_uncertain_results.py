"""Results of a process over a measured input: what they are asked, rows without errors, effects, and bad calls."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError, TobitGPError

FORMULA = "y ~ gp(x, se=sx) | censor(-0.5)"
QUICK = tg.VI(bound="local", n_starts=1, inducing=12)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    true, sx = rng.uniform(0, 6, 50), rng.choice([0.1, 0.5], 50)
    y = np.maximum(np.sin(true) + 0.2 * rng.normal(size=50), -0.5)
    return pd.DataFrame({"x": true + sx * rng.normal(size=50), "sx": sx, "y": y, "g": rng.choice(["a", "b"], 50)})


@pytest.fixture(scope="module")
def res(data):
    return tg.fit(FORMULA, data, method=QUICK)


def test_parameters_and_words(res, data):
    assert list(res.params.index) == ["Intercept", "sd(gp(x))", "lengthscale(gp(x))", "sigma"]
    assert res.params["sigma"] == pytest.approx(0.2, abs=0.08)
    assert "x was measured with the standard error sx" in str(tg.Model(FORMULA, data).spec)
    assert "Gaussian process over a measured input" in str(res.summary())
    assert "95% bands of the curve are too narrow" in str(res.summary())
    assert res.evidence_kind == "local"
    assert tg.fit("y ~ gp(x, se=0.3)", data, method=QUICK).evidence_kind == "elbo"


def test_rows_of_the_fit_are_rows_measured_like_them(res, data):
    np.testing.assert_allclose(res.predict(), res.predict(data), rtol=1e-12)
    np.testing.assert_allclose(res.true_inputs(), res.true_inputs(data), rtol=1e-12)


def test_inputs_without_errors_are_known(res, data):
    known = res.predict(data.drop(columns="sx"), "latent", se=True)
    np.testing.assert_allclose(known, res.predict(data.assign(sx=0.0), "latent", se=True), rtol=1e-12)
    uncertain = res.predict(data.assign(sx=0.5), "latent", se=True)
    assert uncertain["se"].mean() > 2 * known["se"].mean()
    with pytest.raises(DataError, match="lack the column 'x'"):
        res.predict(data[["sx"]])


def test_terms_are_of_rows_measured_like_them(res):
    """Averages of the curve over the errors of each row, less the intercept; a figure has the curve itself."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(40)
    x, sx = np.array([1.5, 1.5, 4.6]), np.array([0.0, 0.9, 0.4])
    curve = res.predict({"x": (x + sx * nodes[:, None]).ravel()}, "latent").to_numpy().reshape(40, 3)
    found = res.predict({"x": x, "sx": sx}, "terms")
    np.testing.assert_allclose(found["Intercept", "estimate"], res.params["Intercept"], rtol=1e-12)
    expected = weight @ curve / weight.sum() - res.params["Intercept"]
    np.testing.assert_allclose(found["gp(x)", "estimate"], expected, atol=1e-4)
    known = res.predict({"x": x}, "terms")["gp(x)", "estimate"]
    np.testing.assert_allclose(known, res.predict({"x": x}, "latent") - res.params["Intercept"], rtol=1e-10)
    assert abs(known[1] - expected[1]) > 0.05


def test_the_figure_of_the_term_has_the_curve(res):
    pytest.importorskip("matplotlib")
    drawn = max(res.plot_terms().get_lines(), key=lambda line: len(line.get_xdata()))
    expected = res.predict({"x": drawn.get_xdata()}, "latent") - res.params["Intercept"]
    np.testing.assert_allclose(drawn.get_ydata(), expected, rtol=1e-10)


def test_a_known_input_is_its_true_input(res, data):
    found = res.true_inputs(data.drop(columns="sx"), interval=0.95)
    np.testing.assert_array_equal(found["se"], 0.0)
    np.testing.assert_allclose(found["estimate"], data["x"], rtol=1e-14)
    np.testing.assert_array_equal(found["lower"], found["upper"])


def test_a_number_is_a_column_of_it(data):
    number = tg.fit("y ~ gp(x, se=0.3) | censor(-0.5)", data, method=QUICK)
    column = tg.fit(FORMULA, data.assign(sx=0.3), method=QUICK)
    assert number.log_evidence == column.log_evidence
    np.testing.assert_array_equal(number.predict(data), column.predict(data.assign(sx=0.3)))


def test_a_saved_fit_predicts_the_same(res, data, tmp_path):
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    np.testing.assert_array_equal(again.predict(data, interval=0.9), res.predict(data, interval=0.9))
    np.testing.assert_array_equal(again.true_inputs(data), res.true_inputs(data))
    with pytest.raises(SpecError, match="holds no training rows"):
        again.true_inputs()


def test_true_inputs_follow_a_response(res):
    """Of a value that the curve has at one place only within the errors, and of a row without a response."""
    new = pd.DataFrame({"x": [0.8, 0.8], "sx": 0.5, "y": [0.95, np.nan]})
    found = res.true_inputs(new, interval=0.95)
    grid = np.linspace(-2.2, 3.8, 3001)
    curve = res.predict({"x": grid}, "latent", se=True)
    log_p = norm.logpdf(grid, 0.8, 0.5)
    log_p += norm.logpdf(0.95, curve["estimate"], np.hypot(curve["se"], res.params["sigma"]))
    p = np.exp(log_p - log_p.max())
    mean = p @ grid / p.sum()
    sd = np.sqrt(p @ np.square(grid - mean) / p.sum())
    assert found["estimate"][0] == pytest.approx(mean, abs=0.02)
    assert found["se"][0] == pytest.approx(sd, rel=0.03)
    assert found["upper"][0] == pytest.approx(mean + 1.96 * sd, abs=0.04)
    assert found.loc[1].isna().all()


def test_draws_of_censored_rows_have_the_means_of_imputation(res, data):
    drawn = res.sample(draws=4000, what="conditional", rng=1).to_numpy()
    expected = res.predict(what="conditional")
    error = drawn.std(axis=1) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=1) - expected) <= 5 * error + 1e-12).all()
    censored = (data["y"] <= -0.5).to_numpy()
    assert drawn[censored].max() <= -0.5
    np.testing.assert_array_equal(drawn[~censored], np.repeat(data["y"][~censored].to_numpy()[:, None], 4000, axis=1))


def test_likelihoods_of_draws_average_to_that_of_rows(res, data):
    """Over the process, which is all that draws differ by; inputs are averaged over in each: by quadrature."""
    log_p = res.log_likelihood_draws(draws=4000, rng=1)
    values = np.asarray(log_p, dtype=float)
    values = values if values.shape[0] == 4000 else values.T
    of_draws = np.log(np.exp(values).mean(axis=0))
    known = data.drop(columns="sx")
    for i in range(6):
        x = data["x"][i] + data["sx"][i] * np.linspace(-6, 6, 401)
        curve = res.predict(known.iloc[[0] * 401].assign(x=x), "latent", se=True)
        sd, weight = np.hypot(curve["se"], res.params["sigma"]), norm.pdf(x, data["x"][i], data["sx"][i])
        z = (data["y"][i] - curve["estimate"]) / sd
        p = norm.cdf(z) if data["y"][i] <= -0.5 else norm.pdf(z) / sd
        assert of_draws[i] == pytest.approx(np.log(weight @ p / weight.sum()), abs=0.05)


def test_effects_are_differences_of_predictions(res, data):
    h = 1e-3
    table = res.marginal_effects("latent", variables="x")
    up, down = (res.predict(data.assign(x=data["x"] + move), "latent").mean() for move in (h, -h))
    assert table.iloc[0, 0] == pytest.approx((up - down) / (2 * h), abs=2e-3)
    known = data.drop(columns="sx")
    drawn = [res.sample(known.assign(x=known["x"] + move), 4000, what="latent", rng=1).mean() for move in (0.05, -0.05)]
    spread = ((drawn[0] - drawn[1]) / 0.1).std()
    assert res.marginal_effects("latent", known, variables="x").iloc[0, 1] == pytest.approx(spread, rel=0.05)


def test_standardised_averages_of_one_value_are_its_prediction(res, data):
    found = res.standardise({"x": [1.0, 4.0]}, "mean", draws=2000, rng=1)
    at = [res.predict(data.assign(x=x), "uncensored").mean() for x in (1.0, 4.0)]
    np.testing.assert_allclose(found["estimate"].to_numpy().ravel(), at, atol=0.03)
    same = tg.contrast(res, {"x": 2.0}, {"x": 2.0}, "mean", draws=50)
    assert same["estimate"].iloc[0] == 0.0


def test_kinds_of_censoring():
    rng = np.random.default_rng(2)
    true = rng.uniform(0, 6, 50)
    y, x = np.sin(true) + 0.2 * rng.normal(size=50), true + 0.3 * rng.normal(size=50)
    right = tg.fit("y ~ gp(x, se=0.3) | censor(None, 0.5)", {"x": x, "y": np.minimum(y, 0.5)}, method=QUICK)
    assert right.counts["right"] > 10
    assert right.predict({"x": [1.57]}, "latent")[0] > 0.7 - 0.1
    rounded = {"x": x, "lo": np.floor(4 * y) / 4, "hi": np.floor(4 * y) / 4 + 0.25}
    rounded["lo"][:5] = rounded["hi"][:5] = y[:5]
    between = tg.fit("interval(lo, hi) ~ gp(x, se=0.3)", rounded, method=QUICK)
    plain = tg.fit("y ~ gp(x, se=0.3)", {"x": x, "y": y}, method=QUICK)
    at = {"x": np.linspace(0.5, 5.5, 6)}
    np.testing.assert_allclose(between.predict(at, "latent"), plain.predict(at, "latent"), atol=0.1)


FORMULAS = {
    "y ~ gp(x, se=-1)": "se= is a standard error, a number that is not negative",
    "y ~ gp(x, se='sx')": "se= is a column, by its name without quotes",
    "y ~ gp(x, se=True)": "se= is a column, by its name without quotes",
    "y ~ gp(x, se=nosuch)": "nosuch",
    "y ~ gp(x, se=sx, by=g)": "se= requires the rbf kernel and no other options; leave by= out",
    "y ~ gp(x, se=sx, kernel='matern32')": "leave the matern32 kernel out",
    "y ~ gp(x, se=sx, period=2)": "leave the periodic kernel out|leave period= out",
    "y ~ gp(x, se=sx, line=True)": "leave line= out",
    "y ~ gp(x, se=sx, approximation='vecchia')": "leave approximation= out",
    "y ~ gp(x, y2, se=sx)": "se= is the standard error of one input",
    "y ~ gp(x, se=sx):gp(y2)": "se= is not supported in a product",
    "y ~ gp(x, se=sx) + y2": "must be the only term",
    "y ~ 0 + gp(x, se=sx)": "must be the only term",
    "y ~ gp(x, se=sx) + gp(y2)": "must be the only term",
    "y ~ gp(x, se=sx) + mixture(2)": "mixture",
    "y ~ gp(x, se=sx) | truncate(-2)": "truncate\\(\\) is not supported",
    "y ~ s(x, se=sx)": "se",
    "mvbind(y, y2) ~ gp(x, se=sx)": "has one response",
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_that_are_not_supported(data, formula):
    with pytest.raises(TobitGPError, match=FORMULAS[formula]):
        tg.fit(formula, data.assign(y2=data["y"]))


OPTIONS = [
    ({"method": "ep"}, "is fitted by tg.VI"),
    ({"method": "mle"}, "is fitted by tg.VI"),
    ({"method": tg.VI(bound="karlova")}, "has bound='local' only"),
    ({"method": tg.VI(batch=10, epochs=2)}, "batch=10: gp\\(x, se=...\\) has no use for it"),
    ({"method": tg.VI(damping=0.9)}, "damping=0.9: .* Leave it out"),
    ({"method": tg.VI(bound="local", side_noise="row")}, "side_noise='row': "),
    ({"method": tg.VI(site_tol=1e-4)}, "site_tol=0.0001: "),
    ({"method": tg.VI(site_iterations=5)}, "site_iterations=5: "),
    ({"method": tg.VI(hyper="integrate")}, "has hyper='maximize' only"),
    ({"family": "student"}, "family='student'.* has Gaussian noise"),
    ({"family": tg.PH()}, "family=PH.* has Gaussian noise"),
    ({"family": "boxcox"}, "family='boxcox'.* has Gaussian noise"),
    ({"sigma": "~ x"}, "sigma= is not supported"),
    ({"weights": "sx"}, "weights= is not supported"),
    ({"fixed": {"sigma": 1.0}}, "fixed= is not for"),
    ({"priors": {"sigma": tg.HalfNormal(1.0)}}, "priors= is not for"),
    ({"cov_type": "HC0"}, "has no covariance of estimates"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_are_not_supported(data, options, message):
    with pytest.raises(SpecError, match=message):
        tg.fit(FORMULA, data, **options)


CHANGES = [
    ({"sx": lambda d: -d["sx"]}, "standard error sx of gp\\(x\\) is negative"),
    ({"sx": lambda d: d["g"]}, "holds text"),
    ({"sx": np.inf}, "not a finite number"),
    ({"x": 1.0}, "x: all its values are the same"),
    ({"y": 1.0}, "y: all its values are the same"),
    ({"y": -0.5}, "y: nothing but limits is known"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_data_that_cannot_be_used(data, change, message):
    with pytest.raises(DataError, match=message):
        tg.fit(FORMULA.partition(" |")[0] if change == {"y": 1.0} else FORMULA, data.assign(**change))


def test_rows_without_an_error_are_dropped(data):
    lacking = data.assign(sx=data["sx"].where(data.index > 4))
    with pytest.warns(UserWarning, match="5 of 50 rows are dropped: missing values in 'sx'"):
        res = tg.fit(FORMULA, lacking, method=QUICK)
    assert res.counts["dropped"] == 5
    assert res.log_evidence == pytest.approx(tg.fit(FORMULA, data[5:], method=QUICK).log_evidence, rel=1e-12)
    with pytest.raises(DataError, match="at least 3"):
        tg.fit("y ~ gp(x, se=sx)", data[:2])


def test_formulas_of_the_noise_have_no_errors_of_inputs(data):
    with pytest.raises(FormulaError, match="in the formula of the model only"):
        tg.fit("y ~ x", data, sigma="~ gp(x, se=sx)")
