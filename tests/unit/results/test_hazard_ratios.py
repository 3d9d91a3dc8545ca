"""Hazard ratios and survival odds ratios, beside R, hazards themselves, and draws of f and sigma together."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit, ndtr
from support.reference import load

import tobitgp as tg
from tobitgp.errors import SpecError, UnseenLevelError

pytestmark = pytest.mark.diagonal

COLUMNS = ["coef", "se(coef)", "exp(coef)", "lower", "upper", "z", "p"]
LINEAR = "Surv(time, event) ~ age + sex + ph_ecog"


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def weibull(lung):
    return tg.fit(LINEAR, lung, family="weibull")


@pytest.fixture(scope="module")
def process(lung):
    return tg.fit("Surv(time, event) ~ gp(age) + sex + C(ph_ecog)", lung, family="weibull")


def test_weibull_ratios_are_those_of_survreg(weibull):
    table, R = weibull.hazard_ratios(), load("event_histories.json")["cases"]["lung_weibull_hr"]
    assert list(table.columns) == COLUMNS
    for column, of in (("coef", "log_hr"), ("se(coef)", "se_log_hr"), ("exp(coef)", "hr")):
        pd.testing.assert_series_equal(table[column], pd.Series(R[of]), check_names=False, rtol=2e-6)
    for column in ("lower", "upper"):
        pd.testing.assert_series_equal(table[column], pd.Series(R[f"hr_{column}"]), check_names=False, rtol=1e-5)


@pytest.mark.parametrize("family", ["weibull", "exponential"])
@pytest.mark.parametrize("rhs", ["age*C(sex)", "gp(age) + C(sex)"])
def test_a_ratio_is_that_of_the_hazards_at_all_times(lung, family, rhs):
    hyper = {"method": tg.EP(hyper="maximize")} if "gp" in rhs else {}
    res = tg.fit(f"Surv(time, event) ~ {rhs}", lung, family=family, **hyper)
    two = {"age": [70.0, 50.0], "sex": [2, 1]}
    ratio = res.hazard_ratios(at={"age": 70.0, "sex": 2}, reference={"age": 50.0, "sex": 1})
    assert list(ratio.index) == ["age = 70 vs 50, sex = 2 vs 1"]
    if "gp" not in rhs:
        hazard = res.predict_hazard(two, [10.0, 500.0])
        np.testing.assert_allclose(hazard[0] / hazard[1], ratio["exp(coef)"].iloc[0], rtol=1e-10)
    mean, V = res.posterior(two)
    d, sigma = np.array([1.0, -1.0]), res.params.get("sigma", 1.0)
    assert ratio["coef"].iloc[0] == pytest.approx(-(d @ mean) / sigma)
    if family == "exponential" or "gp" in rhs:
        assert ratio["se(coef)"].iloc[0] == pytest.approx(np.sqrt(d @ V.to_numpy() @ d) / sigma, rel=1e-6)


def test_odds_ratios_are_those_of_survival(lung):
    res = tg.fit(LINEAR, lung, family="loglogistic")
    table = res.hazard_ratios()
    assert list(table.columns) == [*COLUMNS[:2], "odds ratio", *COLUMNS[3:]]
    S = res.predict_survival_function({"age": [60, 60], "sex": [2, 1], "ph_ecog": [1, 1]}, [50.0, 700.0])
    np.testing.assert_allclose(logit(S[0]) - logit(S[1]), table.loc["sex", "coef"], rtol=1e-9)
    assert table.loc["sex", "odds ratio"] > 1.0


def test_ratios_of_a_process_are_those_of_joint_draws(process):
    parameters = process._draws(20_000, 3, "a test").parameters()
    names = list(process.params.index)
    log = -parameters[:, names.index("sex")] / parameters[:, names.index("sigma")]
    row = process.hazard_ratios(terms="sex").iloc[0]
    assert row["coef"] == pytest.approx(log.mean(), abs=4.0 * log.std() / np.sqrt(20_000))
    assert row["se(coef)"] == pytest.approx(log.std(), rel=0.02)
    np.testing.assert_allclose(
        np.log(row[["lower", "upper"]].astype(float)), np.quantile(log, [0.025, 0.975]), atol=0.015
    )
    assert row["p"] == pytest.approx(2.0 * (log > 0.0).mean(), abs=0.002)


def test_inputs_of_a_process_are_compared_jointly(process, lung):
    table = process.hazard_ratios(terms="gp(age)")
    x0, (low, high) = lung["age"].median(), np.quantile(lung["age"], [0.1, 0.9])
    assert list(table.index) == [f"gp(age): age = {x:g} vs {x0:g}" for x in (low, high)]
    nearer = process.hazard_ratios(at={"age": [x0 + 0.01, x0, x0 + 10.0]}, terms="gp(age)")
    assert nearer["se(coef)"].iloc[0] < 1e-3
    assert nearer.iloc[1][["coef", "se(coef)", "exp(coef)", "lower", "upper"]].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    other = process.hazard_ratios(at={"age": [x0]}, reference={"age": x0 + 10.0})
    assert nearer["coef"].iloc[2] == pytest.approx(-other["coef"].iloc[0])
    assert nearer["se(coef)"].iloc[2] == pytest.approx(other["se(coef)"].iloc[0], rel=1e-6)


@pytest.mark.slow
def test_ratios_of_a_process_are_a_mixture_over_design_points(process):
    """(SUR12), each design point fitted again with its hyper-parameters fixed."""
    two = {"age": [70.0, 50.0], "sex": [1, 1], "ph_ecog": [0.0, 0.0]}
    weight, data, moments = process._parts.fitted.weights, tg.datasets.load("lung").dropna(subset=["ph_ecog"]), []
    for point in process._parts.fitted.points:
        values = process._parts.fitted.parameters.values(point.theta)
        fixed = dict(zip(process.hyperparameters, values.tolist(), strict=True))
        mean, V = tg.fit(process.formula, data, family="weibull", fixed=fixed).posterior(two)
        d = np.array([-1.0, 1.0]) / fixed["sigma"]
        moments.append((d @ mean, np.sqrt(d @ V.to_numpy() @ d)))
    mean, sd = np.array(moments).T
    row = process.hazard_ratios(at={"age": 70.0}, reference={"age": 50.0}).iloc[0]
    assert row["coef"] == pytest.approx(weight @ mean, abs=1e-3)
    assert row["se(coef)"] == pytest.approx(np.sqrt(weight @ (sd**2 + mean**2) - (weight @ mean) ** 2), rel=1e-3)
    for end, share in (("lower", 0.025), ("upper", 0.975)):
        assert weight @ ndtr((np.log(row[end]) - mean) / sd) == pytest.approx(share, abs=2e-4)


def test_a_process_without_curves_repeats_the_regression(lung, weibull):
    res = tg.fit(LINEAR, lung, family="weibull", method="ep")
    ours, theirs = res.hazard_ratios(), weibull.hazard_ratios()
    assert (np.abs(ours["coef"] - theirs["coef"]) < 0.1 * theirs["se(coef)"]).all()
    np.testing.assert_allclose(ours["se(coef)"], theirs["se(coef)"], rtol=0.03)


@pytest.mark.slow
def test_curves_of_levels_and_two_inputs_have_rows_of_their_own(lung):
    data = lung.dropna(subset=["wt_loss"])
    formula = "Surv(time, event) ~ C(sex) + gp(age, by=sex) + gp(wt_loss) + re(ph_ecog)"
    res = tg.fit(formula, data, family="weibull", method=tg.Laplace(hyper="maximize"))
    labels = list(res.hazard_ratios().index)
    assert labels[0] == "C(sex)[T.2]"
    assert labels[1].startswith("gp(age, by=sex): age = 50 vs 6")
    assert sum("sex = 1" in label for label in labels) == sum("sex = 2" in label for label in labels) == 2
    assert not any("ph_ecog" in label for label in labels)
    assert "conditional on the random effects" in " ".join(str(res.summary(hazard_ratios=True)).split())
    pair = res.hazard_ratios(at={"ph_ecog": 2.0}, reference={"ph_ecog": 0.0})
    table = res.group_effects("re(ph_ecog)")["estimate"].loc["re(ph_ecog)"]
    assert pair["coef"].iloc[0] == pytest.approx(-(table[2.0] - table[0.0]) / res.params["sigma"], rel=1e-6)


def test_weights_are_repeated_rows(lung):
    data = lung.iloc[:60].assign(w=np.arange(60) % 3 + 1)
    formula = "Surv(time, event) ~ gp(age)"
    how = {"family": "weibull", "fixed": {"lengthscale(gp(age))": 20.0, "sd(gp(age))": 0.5, "sigma": 0.8}}
    weighted = tg.fit(formula, data, weights="w", **how).hazard_ratios()
    repeated = tg.fit(formula, data.loc[data.index.repeat(data["w"])].reset_index(drop=True), **how).hazard_ratios()
    pd.testing.assert_frame_equal(weighted, repeated, rtol=1e-4)


def test_fixed_numbers_have_no_errors(lung):
    res = tg.fit(LINEAR, lung, family="exponential", fixed={"age": 0.01})
    row = res.hazard_ratios().loc["age"]
    assert row[["coef", "se(coef)"]].tolist() == [-0.01, 0.0]
    assert np.isnan(row["z"])


def test_the_summary_shows_them(weibull, lung):
    text = str(weibull.summary(hazard_ratios=True))
    assert "Hazard ratios" in text
    assert "0.5778" in text
    assert "Hazard ratios" not in str(weibull.summary())
    text = str(tg.fit(LINEAR, lung, family="loglogistic").summary(hazard_ratios=True))
    assert "Odds ratios" in text


def test_a_loaded_fit_answers_where_the_reference_is_given(process, tmp_path):
    process.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="give at= and reference= with a value for 'age'"):
        again.hazard_ratios()
    given = {"at": {"age": [50.0, 70.0]}, "reference": {"age": 60.0}}
    pd.testing.assert_frame_equal(again.hazard_ratios(**given), process.hazard_ratios(**given))


@pytest.mark.parametrize(
    ("family", "more"),
    [("lognormal", {}), ("gumbel", {}), ("gaussian", {}), ("weibull", {"sigma": "~ sex"})],
)
def test_families_without_a_constant_ratio_are_refused(lung, family, more):
    response = "Surv(time, event)" if family in ("lognormal", "weibull") else "Surv(log(time), event)"
    res = tg.fit(f"{response} ~ age", lung, family=family, **more)
    with pytest.raises(
        SpecError, match=r"predict_hazard\(\.\.\.\) for two rows" + (".*family='ph'" if not more else "")
    ):
        res.hazard_ratios()


@pytest.mark.slow
def test_a_mixture_has_none(lung):
    res = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="weibull")
    with pytest.raises(SpecError, match="mixture has no columns"):
        res.summary(hazard_ratios=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"terms": "foo"}, "not a term of this model. It has 'sex'"),
        ({"terms": 3}, "terms=3: terms must be the name of a term"),
        ({"at": {"foo": 3}}, "'foo' is not a column of this model"),
        ({"at": 3}, "a DataFrame or a dict of columns"),
        ({"at": {"age": [50, 60], "sex": [1, 2, 1]}}, "2 and 3 values"),
        ({"at": {"age": [50, np.nan]}}, "missing values"),
        ({"at": {"age": 50}, "terms": ["sex"]}, "No term in the ratio uses 'age'"),
        ({"at": {"age": 50}, "reference": 3}, "a dict of values"),
        ({"alpha": 2}, "strictly between 0 and 1"),
    ],
)
def test_bad_questions_are_refused(process, asked, message):
    with pytest.raises(SpecError, match=message):
        process.hazard_ratios(**asked)


def test_unseen_levels_are_named(process):
    with pytest.raises(UnseenLevelError, match="9"):
        process.hazard_ratios(at={"ph_ecog": 9.0})


@pytest.mark.filterwarnings("ignore:The input x of gp:tobitgp.errors.BoundaryWarning")
@pytest.mark.parametrize("family", ["ph", "weibull"])
def test_a_constant_input_has_ratios_only_where_it_is_told(family):
    data = {"t": np.random.default_rng(0).exponential(size=40), "e": 1, "x": np.full(40, 2.0)}
    res = tg.fit("Surv(t, e) ~ gp(x)", data, family=family)
    with pytest.raises(SpecError, match=r"one value each.*Give at="):
        res.hazard_ratios()
    assert res.hazard_ratios(at={"x": [3.0]}).index.tolist() == ["x = 3 vs 2"]
