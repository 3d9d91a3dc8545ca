"""Averages over rows and their contrasts, beside R, curves of the rows, and draws of all rows together."""

import numpy as np
import pandas as pd
import pytest
from lifelines.datasets import load_gbsg2
from support.reference import load

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, DataError, SpecError, UnseenLevelError

pytestmark = pytest.mark.diagonal

FORMULA = "Surv(time, cens) ~ horTh + age + tsize + tgrade + log(pnodes)"
BOTH = {"horTh": "yes"}, {"horTh": "no"}
TIMES = [730.0, 1825.0]


@pytest.fixture(scope="module")
def gbsg2():
    return load_gbsg2()


@pytest.fixture(scope="module")
def lognormal(gbsg2):
    return tg.fit(FORMULA, gbsg2, family="lognormal")


@pytest.fixture(scope="module")
def process(gbsg2):
    """Of 200 rows, with hyper-parameters at the maximum, so that draws of f are all that is uncertain."""
    formula = "Surv(time, cens) ~ horTh + gp(age) + log(pnodes)"
    return tg.fit(formula, gbsg2.iloc[:200], family="weibull", method=tg.EP(hyper="maximize"))


# -- beside R ---------------------------------------------------------------------------------------------------------


def test_averages_and_contrasts_are_those_of_the_g_formula_in_r(lognormal):
    R = load("event_histories.json")["cases"]["gbsg2_standardised_lognormal"]
    expected = {(what, t): R[f"t{t:g}"] for what in ("survival", "rmst") for t in TIMES}
    for (what, t), there in expected.items():
        each = lognormal.standardise("horTh", what, times=t)
        for level, end in (("no", "0"), ("yes", "1")):
            assert each.loc[level, "estimate"] == pytest.approx(there[f"{what}{end}"]["est"], rel=1e-6)
            assert each.loc[level, "se"] == pytest.approx(there[f"{what}{end}"]["se"], rel=1e-6)
        for scale, words in (("difference", "difference"), ("ratio", "ratio_log")):
            row = tg.contrast(lognormal, *BOTH, what=what, times=t, scale=scale).iloc[0]
            found = (np.log(row["estimate"]), row["se"] / row["estimate"]) if scale == "ratio" else row[:2]
            np.testing.assert_allclose(found, list(there[f"{what}_{words}"].values()), rtol=1e-6)
    for scale, words in (("difference", "median_difference"), ("ratio", "median_ratio_log")):
        row = tg.contrast(lognormal, *BOTH, what="median", scale=scale).iloc[0]
        found = (np.log(row["estimate"]), row["se"] / row["estimate"]) if scale == "ratio" else row[:2]
        np.testing.assert_allclose(found, list(R[words].values()), rtol=1e-6)
    medians = lognormal.standardise("horTh", "median")
    for level, end in (("no", "0"), ("yes", "1")):
        np.testing.assert_allclose(medians.loc[level].iloc[:2], list(R[f"median{end}"].values()), rtol=1e-6)


# -- beside the curves of the rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["weibull", "loglogistic"])
def test_averages_are_those_of_the_rows_by_weight(gbsg2, family):
    data = gbsg2.assign(w=1.0 + np.arange(len(gbsg2)) % 3)
    res = tg.fit("Surv(time, cens) ~ horTh + age", data, family=family, weights="w")
    yes, times = data.assign(horTh="yes"), [500.0, 1000.0, 2000.0]
    S = res.predict_survival_function(yes, times).to_numpy() @ data["w"] / data["w"].sum()
    table = res.standardise("horTh", times=times).loc["yes"]
    np.testing.assert_allclose(table["estimate"], S)
    risk = res.standardise("horTh", "risk", times=times).loc["yes"]
    np.testing.assert_allclose(risk["estimate"], 1.0 - S)
    np.testing.assert_allclose(risk[["lower", "upper"]], 1.0 - table[["upper", "lower"]].to_numpy())
    rmst = res.standardise({"horTh": "yes"}, "rmst", times=1500.0)["estimate"].iloc[0]
    assert rmst == pytest.approx(np.average(res.predict_restricted_mean(yes, 1500.0), weights=data["w"]))
    median = res.standardise("horTh", "median").loc["yes", "estimate"]
    assert res.standardise("horTh", times=median).loc["yes", "estimate"] == pytest.approx(0.5, abs=1e-9)


def test_errors_agree_with_draws_of_the_parameters(gbsg2):
    """(STD2): the delta method beside 20,000 draws from the normal distribution of the estimates."""
    res = tg.fit("Surv(time, cens) ~ horTh + age", gbsg2, family="weibull")
    rng, V = np.random.default_rng(2), res._parts.covariance
    change = rng.standard_normal((20_000, len(V))) @ np.linalg.cholesky(V).T
    centre, x = res._parts.centre, res._parts.maximum.parameters
    out = []
    for hormone in (1.0, 0.0):
        H = np.column_stack([np.ones(len(gbsg2)), np.full(len(gbsg2), hormone), gbsg2["age"]]) - centre
        beta, sigma = x[:3] + change[:, :3], np.exp(x[3] + change[:, 3])
        z = (np.log(1825.0) - H[::5] @ beta.T) / sigma
        out.append(np.exp(-np.exp(z)).mean(axis=0))
    row = tg.contrast(res, *BOTH, times=1825.0, df=gbsg2.iloc[::5]).iloc[0]
    assert row["se"] == pytest.approx((out[0] - out[1]).std(), rel=0.03)
    assert row["estimate"] == pytest.approx((out[0] - out[1]).mean(), abs=0.1 * row["se"])


def test_weights_are_repeated_rows_for_samples_too(gbsg2):
    data = gbsg2.iloc[:150].assign(w=np.arange(150) % 3 + 1)
    repeated = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    options = {"what": "median", "population": "bootstrap"}
    one = tg.fit("Surv(time, cens) ~ horTh + age", data, family="weibull", weights="w")
    two = tg.fit("Surv(time, cens) ~ horTh + age", repeated, family="weibull")
    pd.testing.assert_frame_equal(tg.contrast(one, *BOTH, **options), tg.contrast(two, *BOTH, **options), rtol=1e-5)
    by_hand = tg.contrast(two, *BOTH, **options, df=data, weights="w")
    pd.testing.assert_frame_equal(tg.contrast(two, *BOTH, **options), by_hand, rtol=1e-9)


@pytest.mark.slow
def test_a_sample_of_rows_adds_the_variance_of_a_bayesian_bootstrap(gbsg2):
    """(STD3) beside averages under Dirichlet weights."""
    data, rng = gbsg2.iloc[:80], np.random.default_rng(3)
    res = tg.fit("Surv(time, cens) ~ horTh + age + log(pnodes)", data, family="weibull")

    def added(**asked):
        fixed, sample = (tg.contrast(res, *BOTH, population=of, **asked)["se"].iloc[0] for of in ("fixed", "bootstrap"))
        return np.sqrt(sample**2 - fixed**2)

    one, two = (res.predict_survival_function(data.assign(**a), [1000.0]).to_numpy()[0] for a in BOTH)
    weights = rng.dirichlet(np.ones(80), 20_000)
    assert added(times=1000.0) == pytest.approx((weights @ (one - two)).std(), rel=0.03)
    medians = [tg.contrast(res, *BOTH, what="median", weights=w)["estimate"].iloc[0] for w in weights[:150]]
    assert added(what="median") == pytest.approx(np.std(medians), rel=0.2)


# -- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_averages_of_a_process_are_those_of_joint_draws_of_all_rows(process, gbsg2):
    data = gbsg2.iloc[:200]
    both = pd.concat([data.assign(horTh=level) for level in ("yes", "no")], ignore_index=True)
    f = process.sample(both, 8000, what="latent", rng=4).to_numpy().reshape(2, 200, -1)
    S = np.exp(-np.exp((np.log(1825.0) - f) / process.params["sigma"])).mean(axis=1)
    table = process.standardise("horTh", times=1825.0)
    for level, draws in zip(("yes", "no"), S, strict=True):
        assert table.loc[level, "se"] == pytest.approx(draws.std(), rel=0.05)
        assert table.loc[level, "estimate"] == pytest.approx(draws.mean(), abs=0.06 * draws.std())
    for scale, draws in (("difference", S[0] - S[1]), ("ratio", S[0] / S[1])):
        row = tg.contrast(process, *BOTH, times=1825.0, scale=scale).iloc[0]
        np.testing.assert_allclose(row[["lower", "upper"]], np.quantile(draws, [0.025, 0.975]), atol=0.12 * draws.std())
        assert row["se"] == pytest.approx(draws.std(), rel=0.06)


@pytest.mark.slow
def test_the_mean_of_averages_is_the_average_of_predictive_curves(gbsg2):
    res = tg.fit("Surv(time, cens) ~ horTh + gp(age)", gbsg2.iloc[:150], family="lognormal")
    rows = gbsg2.iloc[:150].assign(horTh="yes")
    for what, found in (
        ("survival", res.predict_survival_function(rows, [1000.0]).to_numpy().mean()),
        ("rmst", res.predict_restricted_mean(rows, 1000.0).mean()),
    ):
        row = res.standardise("horTh", what, times=1000.0).loc["yes"]
        assert row["estimate"] == pytest.approx(found, abs=0.07 * row["se"])
    median = res.standardise("horTh", "median").loc["yes"]
    assert median["lower"] < median["estimate"] < median["upper"]
    again = res.standardise("horTh", "median", rng=5).loc["yes"]
    assert median["estimate"] != again["estimate"]
    assert median["estimate"] == pytest.approx(again["estimate"], abs=0.1 * median["se"])


@pytest.mark.slow
def test_a_noise_scale_that_varies_goes_into_the_draws(gbsg2):
    formula, data = "Surv(time, cens) ~ horTh + gp(age)", gbsg2.iloc[:150]
    res = tg.fit(formula, data, family="lognormal", sigma="~ gp(age)", method=tg.EP(hyper="maximize"))
    row = res.standardise("horTh", times=1000.0).loc["yes"]
    found = res.predict_survival_function(data.assign(horTh="yes"), [1000.0]).to_numpy().mean()
    assert row["estimate"] == pytest.approx(found, abs=0.1 * row["se"])


@pytest.mark.slow
def test_a_sample_of_rows_is_resampled_in_every_draw(process, gbsg2):
    f = process.sample(gbsg2.iloc[:200].assign(horTh="yes"), 2000, what="latent", rng=4).to_numpy()
    S = np.exp(-np.exp((np.log(1825.0) - f) / process.params["sigma"]))
    fixed, sample = (
        process.standardise({"horTh": "yes"}, times=1825.0, population=of, draws=20_000)["se"].iloc[0]
        for of in ("fixed", "bootstrap")
    )
    assert sample**2 - fixed**2 == pytest.approx(S.var(axis=0).mean() / 201.0, rel=0.25)


# -- two fits, and responses that are no times ------------------------------------------------------------------------


@pytest.mark.slow
def test_fits_of_different_rows_are_independent(gbsg2):
    halves = [tg.fit("Surv(time, cens) ~ horTh + age", rows, family="weibull") for rows in (gbsg2[:343], gbsg2[343:])]
    apart = [res.standardise({"horTh": "yes"}, times=1000.0, df=gbsg2).iloc[0] for res in halves]
    there = pd.concat([gbsg2.assign(horTh="yes")])
    row = tg.contrast(*halves, times=1000.0, df=there).iloc[0]
    assert row["estimate"] == pytest.approx(apart[0]["estimate"] - apart[1]["estimate"])
    assert row["se"] == pytest.approx(np.hypot(apart[0]["se"], apart[1]["se"]))
    curved = tg.fit("Surv(time, cens) ~ horTh + gp(age)", gbsg2[343:], family="weibull", method=tg.EP(hyper="maximize"))
    mixed = tg.contrast(halves[0], curved, times=1000.0, df=there).iloc[0]
    alone = curved.standardise({"horTh": "yes"}, times=1000.0, df=gbsg2).iloc[0]
    assert mixed["se"] == pytest.approx(np.hypot(apart[0]["se"], alone["se"]), rel=0.05)
    again = tg.contrast(curved, halves[0], times=1000.0, scale="ratio").iloc[0]
    assert again["lower"] < again["estimate"] < again["upper"]


def test_fits_that_share_rows_are_refused(lognormal, gbsg2):
    part = tg.fit("Surv(time, cens) ~ horTh + age", gbsg2[600:], family="lognormal")
    with pytest.raises(SpecError, match="share 86 rows"):
        tg.contrast(lognormal, part, what="median")


def test_means_of_responses_are_coefficients_of_a_linear_model():
    tobin = tg.datasets.load("tobin")
    res = tg.fit("durable ~ age + quant | censor(0)", tobin)
    row = tg.contrast(res, {"age": 41.0}, {"age": 40.0}, what="mean").loc["mean"]
    np.testing.assert_allclose(row, [*(t["age"] for t in (res.params, res.bse)), *res.conf_int().loc["age"]], rtol=1e-6)
    student = tg.fit("durable ~ age + quant | censor(0)", tobin, family=tg.Student(df=5))
    row = tg.contrast(student, {"age": 41.0}, {"age": 40.0}, what="median").loc["median"]
    np.testing.assert_allclose(row[:2], [student.params["age"], student.bse["age"]], rtol=1e-5)


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_tables_name_values_and_times(lognormal):
    table = lognormal.standardise("horTh", times=TIMES)
    assert table.index.names == ["horTh", "time"]
    assert list(table.columns) == ["estimate", "se", "lower", "upper"]
    assert list(lognormal.standardise("horTh", times=730, interval=None).columns) == ["estimate", "se"]
    ages = lognormal.standardise({"age": [40, 60]}, times=0.0)
    np.testing.assert_allclose(ages, [[1.0, 0.0, 1.0, 1.0]] * 2, rtol=0.0, atol=1e-15)
    assert (ages <= 1.0).to_numpy().all()
    assert list(tg.contrast(lognormal, *BOTH, what="rmst", times=TIMES).index) == TIMES


def test_rows_with_missing_values_are_left_out(lognormal, gbsg2):
    lacking = gbsg2.astype({"age": float}).assign(horTh=None)
    lacking.loc[:99, "age"] = np.nan
    table = lognormal.standardise("horTh", times=730.0, df=lacking)
    pd.testing.assert_frame_equal(table, lognormal.standardise("horTh", times=730.0, df=gbsg2.iloc[100:]))
    with pytest.raises(SpecError, match="no missing values"):
        lognormal.standardise("horTh", times=730.0, df=lacking.iloc[:100])


def test_areas_beyond_the_last_time_are_named(lognormal):
    with pytest.warns(ApproximationWarning, match="beyond 2659, the last observed time"):
        lognormal.standardise("horTh", "rmst", times=5000.0)


def test_a_loaded_fit_averages_given_rows(lognormal, gbsg2, tmp_path):
    lognormal.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match=r"give df=.*, the rows to average over"):
        again.standardise("horTh", "median")
    table = again.standardise("horTh", "median", df=gbsg2)
    pd.testing.assert_frame_equal(table, lognormal.standardise("horTh", "median"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"column": "age", "times": 1.0}, "'age' holds numbers"),
        ({"column": "foo", "times": 1.0}, "'foo' is not a column of this model, which has 'horTh'"),
        ({"column": {"horTh": []}, "what": "median"}, "at least one value of 'horTh'"),
        ({"column": 3, "what": "median"}, "requires a column, or a dict of one"),
        ({"column": "horTh"}, "requires times="),
        ({"column": "horTh", "what": "median", "times": 3.0}, "times= cannot be combined with what='median'"),
        ({"column": "horTh", "what": "odds"}, "what='odds' is not supported for an average"),
        ({"column": "horTh", "what": "rmst", "times": -1.0}, "must be positive"),
        ({"column": "horTh", "what": "median", "population": "all"}, "population"),
        ({"column": "horTh", "what": "median", "draws": 1}, "draws=1"),
        ({"column": "horTh", "what": "median", "weights": np.zeros(686)}, "positive weight"),
    ],
)
def test_bad_questions_are_refused(lognormal, asked, message):
    with pytest.raises(SpecError, match=message):
        lognormal.standardise(**asked)


@pytest.mark.slow
def test_bad_contrasts_are_refused(lognormal):
    for first, second, more, message in (
        ({"horTh": ["yes", "no"]}, {"horTh": "no"}, {}, "'horTh' must have one value for all rows"),
        ({"horTh": "yes"}, None, {}, "two dicts of values, or two fits"),
        (*BOTH, {"scale": "odds"}, "as a scale"),
    ):
        with pytest.raises(SpecError, match=message):
            tg.contrast(lognormal, first, second, what="median", **more)
    with pytest.raises(SpecError, match="must be the results of a fit, not str"):
        tg.contrast("fit", *BOTH)
    with pytest.raises(UnseenLevelError, match="maybe"):
        tg.contrast(lognormal, {"horTh": "maybe"}, {"horTh": "no"}, what="median")
    with pytest.raises(DataError, match="2 values for 686 rows"):
        lognormal.standardise("horTh", "median", weights=[1.0, 2.0])
    mixture = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    with pytest.raises(SpecError, match="mixture has the same curve"):
        tg.contrast(mixture, *BOTH, what="median")


# -- of rows that have survived a time --------------------------------------------------------------------------------

LUNG = "Surv(time, event) ~ age + C(sex)"
AFTER, LEFT = 200.0, 300.0
SURVIVORS = {
    "weibull": {"family": "weibull"},
    "normal": {"family": "gaussian"},
    "generalised gamma": {"family": "gengamma"},
    "cure": {"family": "weibull", "cure": "~ 1"},
    "spline": {"family": tg.PH("spline", df=2)},
    "piecewise": {"family": tg.PH("piecewise", bands=4), "method": "mle"},
    "hazards": {"family": "ph"},
    "process": {
        "family": "weibull",
        "formula": "Surv(time, event) ~ gp(age) + C(sex)",
        "method": tg.EP(hyper="maximize"),
    },
}


@pytest.mark.filterwarnings("ignore:The cured fraction depends")
@pytest.mark.parametrize("kind", SURVIVORS)
@pytest.mark.slow_cases("hazards", "process")
def test_averages_given_survival_are_those_of_the_rows_curves(kind):
    lung = tg.datasets.load("lung").iloc[:120]
    res = tg.fit(**({"formula": LUNG, "data": lung} | SURVIVORS[kind]))
    rows, within = lung.assign(sex=1), 0.01 if kind in ("hazards", "process") else 1e-6

    def curve(t):
        return res.predict_survival_function(rows, [t], conditional_after=AFTER).to_numpy().mean()

    def ask(what, **options):
        return res.standardise({"sex": [1]}, what, conditional_after=AFTER, **options).iloc[0]

    left = ask("survival", times=LEFT)
    assert left["estimate"] == pytest.approx(curve(LEFT), abs=within)
    assert left["lower"] < left["estimate"] < left["upper"]
    assert ask("risk", times=LEFT)["estimate"] == pytest.approx(1.0 - left["estimate"], abs=1e-9)
    mean = res.predict_restricted_mean(rows, LEFT, conditional_after=AFTER).mean()
    assert ask("rmst", times=LEFT)["estimate"] == pytest.approx(mean, rel=max(within, 1e-5))
    median = ask("median")
    assert curve(median["estimate"]) == pytest.approx(0.5, abs=max(within, 1e-6))
    assert 0.0 < median["se"] < median["estimate"]
    both = [ask("survival", times=LEFT)["estimate"], res.standardise({"sex": [2]}, times=LEFT, conditional_after=AFTER)]
    found = tg.contrast(res, {"sex": 2}, {"sex": 1}, times=LEFT, conditional_after=AFTER)["estimate"].iloc[0]
    assert found == pytest.approx(both[1]["estimate"].iloc[0] - both[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["weibull", "spline", "hazards"])
def test_nothing_survived_is_no_condition(kind):
    lung = tg.datasets.load("lung").iloc[:120]
    res = tg.fit(LUNG, lung, **SURVIVORS[kind])
    for what, times in (("survival", 300.0), ("risk", 300.0), ("rmst", 300.0), ("median", None)):
        plain, given = (res.standardise("sex", what, times=times, conditional_after=a) for a in (None, 0.0))
        np.testing.assert_allclose(given, plain, rtol=1e-5)


def test_errors_given_survival_are_those_of_draws_of_the_parameters():
    lung = tg.datasets.load("lung")
    res = tg.fit(LUNG, lung, family="weibull")
    draws = np.random.default_rng(1).multivariate_normal(
        [*res.params[:3], np.log(res.params["sigma"])], _with_log_sigma(res), 4000
    )
    for what in ("survival", "median"):
        found = res.standardise({"sex": [1]}, what, times=LEFT if what == "survival" else None, conditional_after=AFTER)
        z = [(np.exp((np.log(t) - draws[:, [0]] - draws[:, [1]] * lung["age"].to_numpy()) / np.exp(draws[:, [3]])))
             for t in (AFTER, AFTER + found["estimate"].iloc[0], AFTER + LEFT)]  # fmt: skip
        survival = np.exp(z[0] - z[2]).mean(axis=1)
        if what == "median":  # by the implicit derivative at the estimate
            step = 1.0
            at = np.exp(z[0] - z[1]).mean(axis=1)
            slope = (
                _left(res, lung, found["estimate"].iloc[0] + step) - _left(res, lung, found["estimate"].iloc[0] - step)
            ) / 2
            survival = at / -slope
        assert found["se"].iloc[0] == pytest.approx(survival.std(), rel=0.06)


def _left(res, lung, t):
    return res.predict_survival_function(lung.assign(sex=1), [t], conditional_after=AFTER).to_numpy().mean()


def _with_log_sigma(res):
    scale = np.append(np.ones(3), 1.0 / res.params["sigma"])
    return res.cov_params().to_numpy() * np.outer(scale, scale)


def test_what_survivors_are_not_asked(lognormal):
    with pytest.raises(SpecError, match="conditional_after= cannot be combined with what='mean'"):
        lognormal.standardise("horTh", "mean", conditional_after=100.0)
    for wrong in (np.nan, "100", [1.0, 2.0], True):
        with pytest.raises(SpecError, match="one finite number"):
            lognormal.standardise("horTh", times=730.0, conditional_after=wrong)


def test_weights_of_training_rows_are_given_as_numbers(gbsg2):
    data = gbsg2.iloc[:200].assign(copies=np.arange(200) % 3 + 1)
    res = tg.fit("Surv(time, cens) ~ horTh + age", data, family="weibull", weights="copies")
    with pytest.raises(SpecError, match=r"weights='copies': the fit does not store .* weights=data\['copies'\]"):
        res.standardise("horTh", times=730.0, weights="copies")
    got, want = res.standardise("horTh", times=730.0, weights=data["copies"]), res.standardise("horTh", times=730.0)
    pd.testing.assert_frame_equal(got, want)


# -- given survival of a time: averages of ratios, and ratios of averages ---------------------------------------------


def test_a_row_that_has_survived_beside_quadrature():
    """If the log of a constant hazard is normal, E[S(s + t) / S(s)] does not depend on s; E S(s + t) / E S(s) does."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"z": rng.normal(size=12), "time": rng.exponential(4.0, 12), "event": rng.random(12) < 0.7})
    posterior = tg.EP(hyper="maximize", n_starts=1)
    res, row = tg.fit("Surv(time, event) ~ z", data, family="exponential", method=posterior), {"z": [0.0]}
    s, t = 1.0, 2.0
    f = res.predict(row, "latent", se=True).iloc[0]
    x, weight = np.polynomial.hermite_e.hermegauss(100)
    hazard, weight = np.exp(-f["estimate"] - f["se"] * x), weight / weight.sum()
    alive, left = np.exp(-hazard * s), np.exp(-hazard * t)
    of_ratios, of_averages = weight @ left, (weight @ (alive * left)) / (weight @ alive)
    assert of_averages - of_ratios > 0.005
    predicted = res.predict_survival_function(row, [t], conditional_after=s).iloc[0, 0]
    averaged = res.standardise(row, times=t, conditional_after=s, df=row, draws=100_000)
    assert predicted == pytest.approx(of_averages, abs=1e-6)
    error = averaged["se"].iloc[0] / np.sqrt(100_000)
    assert averaged["estimate"].iloc[0] == pytest.approx(of_ratios, abs=4.0 * error)


@pytest.mark.parametrize("family", ["weibull", tg.PH("weibull")], ids=str)
def test_a_row_that_has_survived_has_one_probability_at_a_maximum(gbsg2, family):
    res, row = tg.fit("Surv(time, cens) ~ age", gbsg2.iloc[:200], family=family), {"age": [50.0]}
    predicted = res.predict_survival_function(row, [730.0], conditional_after=365.0).iloc[0, 0]
    averaged = res.standardise(row, times=730.0, conditional_after=365.0, df=row)["estimate"].iloc[0]
    assert averaged == pytest.approx(predicted, rel=1e-9)
