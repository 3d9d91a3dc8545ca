"""Cure models: against R's numbers, formulas written out, simulation, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad, trapezoid
from scipy.special import expit, logit
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, DataError, FormulaError, SpecError

REFERENCE = Path(__file__).parents[3] / "reference"
CASES = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]
FORMULA = "Surv(failtime, failcens) ~ trt + sex + age"
SIMPLE = "Surv(time, event) ~ treated"
BOTH = {"treated": [0, 1]}


@pytest.fixture(scope="module")
def melanoma():
    return pd.DataFrame(json.loads((REFERENCE / "e1684.json").read_text()))


@pytest.fixture(scope="module")
def data():
    return tg.datasets.simulate_cure(n=400, rng=1)


@pytest.fixture(scope="module")
def res(data):
    return tg.fit(SIMPLE, data, family="weibull", cure="~ treated")


# -- numbers of other programs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_melanoma(melanoma, family):
    want = CASES[f"e1684_cure_{family}"]
    res = tg.fit(FORMULA, melanoma, family=family, cure="~ trt + sex + age")
    assert res.llf == pytest.approx(want["loglik"], abs=1e-7)
    names = {"latency_": "{}", "cure_": "cured[{}]"}
    for name, value in want["par"].items():
        if name == "log_scale":
            assert np.log(res.params["sigma"]) == pytest.approx(value, abs=5e-6)
            assert res.bse["sigma"] == pytest.approx(want["se"][name] * res.params["sigma"], rel=1e-4)
            continue
        part = next(prefix for prefix in names if name.startswith(prefix))
        own = names[part].format(name.removeprefix(part).replace("(Intercept)", "Intercept"))
        assert res.params[own] == pytest.approx(value, abs=5e-6)
        assert res.bse[own] == pytest.approx(want["se"][name], rel=1e-4)


def test_melanoma_without_covariates(melanoma):
    want = CASES["e1684_cure_null"]
    res = tg.fit("Surv(failtime, failcens) ~ 1", melanoma, family="weibull", cure="~ 1")
    found = res.cured_fraction()
    assert res.llf == pytest.approx(want["loglik"], abs=1e-7)
    assert found["estimate"] == pytest.approx(want["theta_cured"], abs=1e-5)
    assert 1.0 / res.params["sigma"] == pytest.approx(want["shape"], abs=1e-5)
    assert np.exp(res.params["Intercept"]) == pytest.approx(want["scale"], abs=1e-5)
    assert found["lower"] < want["km_tail"] < found["upper"]
    assert "profile" not in str(res.summary())


# -- the likelihood ---------------------------------------------------------------------------------------------------


def test_late_entry_divides_by_the_survival_of_all():
    data = tg.datasets.simulate_cure(n=600, rng=2)
    data["entry"] = np.random.default_rng(2).uniform(0.0, 1.0, 600) * (np.arange(600) % 3 > 0)
    data = data[data["time"] > data["entry"]]
    res = tg.fit("Surv(entry, time, event) ~ treated", data, family="lognormal", cure="~ treated")
    a, b, c, d, s = res.params

    def survival(t):
        pi = expit(c + d * data["treated"])
        with np.errstate(divide="ignore"):
            return pi + (1.0 - pi) * norm.sf((np.log(t) - a - b * data["treated"]) / s)

    z = (np.log(data["time"]) - a - b * data["treated"]) / s
    density = (1.0 - expit(c + d * data["treated"])) * norm.pdf(z) / (s * data["time"])
    rows = np.log(np.where(data["event"] == 1, density, survival(data["time"]))) - np.log(survival(data["entry"]))
    assert res.llf == pytest.approx(rows.sum(), abs=1e-9)
    assert res.score(data) == pytest.approx(rows.mean(), abs=1e-12)
    assert b == pytest.approx(0.3, abs=4 * res.bse["treated"])
    assert d == pytest.approx(1.0, abs=4 * res.bse["cured[treated]"])


def test_weights_are_repeated_rows(data):
    weighted = data.assign(w=1 + np.arange(400) % 3)
    repeated = weighted.loc[weighted.index.repeat(weighted["w"])].reset_index(drop=True)
    one = tg.fit(SIMPLE, weighted, family="weibull", cure="~ treated", weights="w")
    two = tg.fit(SIMPLE, repeated, family="weibull", cure="~ treated")
    assert one.llf == pytest.approx(two.llf, abs=1e-8)
    assert one.params.to_numpy() == pytest.approx(two.params.to_numpy(), abs=1e-8)
    assert one.bse.to_numpy() == pytest.approx(two.bse.to_numpy(), abs=1e-9)
    assert one.cured_fraction().to_numpy() == pytest.approx(two.cured_fraction().to_numpy(), abs=1e-9)
    assert one.bic == pytest.approx(two.bic, abs=1e-8)


def test_units_and_origins_do_not_matter(data, res):
    age = 5e5 + np.random.default_rng(0).normal(0.0, 1e3, 400)
    far = tg.fit(
        "Surv(time, event) ~ age", data.assign(time=data["time"] * 1e6, age=age), family="weibull", cure="~ age"
    )
    near = tg.fit("Surv(time, event) ~ age", data.assign(age=(age - 5e5) / 1e3), family="weibull", cure="~ age")
    events = int(data["event"].sum())
    assert far.llf == pytest.approx(near.llf - events * np.log(1e6), abs=1e-7)
    assert far.params["cured[age]"] * 1e3 == pytest.approx(near.params["cured[age]"], abs=1e-6)


def test_families_within_others(data, res):
    known = tg.fit(SIMPLE, data, family=tg.GenGamma(Q=1), cure="~ treated")
    wide = tg.fit(SIMPLE, data, family="gengamma", cure="~ treated")
    exponential = tg.fit(SIMPLE, data, family="exponential", cure="~ treated")
    fixed = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", fixed={"sigma": 1.0})
    assert known.llf == pytest.approx(res.llf, abs=1e-9)
    assert wide.llf > res.llf > exponential.llf
    assert exponential.llf == pytest.approx(fixed.llf, abs=1e-9)
    assert fixed.bse["sigma"] == 0.0
    assert wide.params.index[-2:].tolist() == ["sigma", "Q"]
    assert abs(wide.params["Q"] - 1.0) < 3.0 * wide.bse["Q"]


def test_whether_others_can_be_ranked(data, res):
    plain = tg.fit(SIMPLE, data, family="weibull")
    assert tg.compare({"cure": res, "plain": plain}, by="aic").index[0] == "cure"
    with pytest.warns(ApproximationWarning, match="what='median' is not finite"):
        found = tg.cross_validate(SIMPLE, data, family="weibull", cure="~ treated", folds=2)
    assert found["log_likelihood"].mean() == pytest.approx(res.llf / 400, abs=0.1)


def test_fixed_coefficients_of_the_cured_fraction(data):
    one = tg.fit(SIMPLE, data, family="weibull", cure="~ 1")
    two = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", fixed={"cured[treated]": 0.0})
    assert two.llf == pytest.approx(one.llf, abs=1e-9)
    assert two.bse["cured[treated]"] == 0.0
    assert two.aic == pytest.approx(one.aic, abs=1e-8)


def test_robust_errors(data, res):
    robust = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", cov_type="HC0")
    own = {"groups": np.arange(400)}
    cluster = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", cov_type="cluster", cov_kwds=own)
    assert (robust.bse / res.bse).between(0.8, 1.25).all()
    assert cluster.bse.to_numpy() == pytest.approx(robust.bse.to_numpy(), rel=1e-10)


@pytest.mark.slow
def test_coverage_of_intervals():
    truth = np.array([0.0, 0.3, -0.8, 1.0, 0.8])
    covered, fractions = [], []
    for seed in range(300):
        rows = tg.datasets.simulate_cure(n=500, rng=1000 + seed)
        res = tg.fit(SIMPLE, rows, family="weibull", cure="~ treated")
        ends = res.conf_int().to_numpy()
        covered.append((ends[:, 0] < truth) & (truth < ends[:, 1]))
        cured, pi = res.predict(BOTH, "cured", interval=0.95), expit(truth[2] + truth[3] * np.arange(2))
        fractions.append((cured["lower"] < pi) & (pi < cured["upper"]))
    rate = [*np.mean(covered, axis=0), *np.mean(fractions, axis=0)]
    assert min(rate) > 0.925
    assert max(rate) < 0.975


# -- questions --------------------------------------------------------------------------------------------------------


def written_out(res, t, treated):
    """Cured fraction and survival of those not cured."""
    a, b, c, d, s = res.params
    return expit(c + d * treated), np.exp(-((t * np.exp(-a - b * treated)) ** (1.0 / s)))


def test_curves(res):
    times = np.array([0.3, 1.0, 4.0, 1e3])
    found = res.predict_survival_function(BOTH, times)
    inner = res.predict_survival_function(BOTH, times, uncured=True)
    later = res.predict_survival_function(BOTH, times, conditional_after=0.5)
    for treated in (0, 1):
        pi, alive = written_out(res, times, treated)
        assert found[treated].to_numpy() == pytest.approx(pi + (1.0 - pi) * alive, rel=1e-12)
        assert inner[treated].to_numpy() == pytest.approx(alive, rel=1e-10)
        at, start = (written_out(res, t, treated) for t in (times + 0.5, 0.5))
        survived = [p + (1.0 - p) * s for p, s in (at, start)]
        assert later[treated].to_numpy() == pytest.approx(survived[0] / survived[1], rel=1e-10)


def test_being_cured(res):
    pi = np.array([written_out(res, 1.0, treated)[0] for treated in (0, 1)])
    assert res.predict(BOTH, "cured").to_numpy() == pytest.approx(pi)
    alive = np.array([written_out(res, 2.0, treated)[1] for treated in (0, 1)])
    found = res.predict_cured(BOTH, conditional_after=2.0, interval=0.9)
    assert found["estimate"].to_numpy() == pytest.approx(pi / (pi + (1.0 - pi) * alive))
    assert ((found["lower"] < found["estimate"]) & (found["estimate"] < found["upper"])).all()
    V = res.cov_params().loc[["cured[Intercept]", "cured[treated]"], ["cured[Intercept]", "cured[treated]"]]
    band = res.predict(BOTH, "cured", interval=0.95)
    error = np.sqrt([V.iloc[0, 0], V.to_numpy().sum()])
    assert band["upper"].to_numpy() == pytest.approx(expit(logit(pi) + norm.ppf(0.975) * error), rel=1e-6)
    rows = res.predict(what="cured")
    assert res.cured_fraction()["estimate"] == pytest.approx(rows.mean())


def test_medians_that_are_not_reached(res):
    never = "the fraction that never has the event"
    with pytest.warns(ApproximationWarning, match=rf"predict_percentile\(p=0.5\) is not finite in row 1: {never}"):
        found = res.predict_median(BOTH, interval=0.95)
    assert np.isfinite(found.loc[0]).all()
    assert np.isposinf(found.loc[1]).all()
    with pytest.warns(ApproximationWarning, match=f"what='median' is not finite in row 1: {never}"):
        assert np.isinf(res.predict(BOTH)).tolist() == [False, True]
    with pytest.warns(ApproximationWarning, match=f"what='quantile' is not finite in rows 0, 1: {never}"):
        assert res.predict(BOTH, "quantile", q=[0.2, 0.9]).loc[:, 0.9].tolist() == [np.inf, np.inf]
    with pytest.warns(ApproximationWarning, match="where some are cured the mean time is infinite"):
        assert np.isposinf(res.predict_expectation(BOTH)).all()
    t = res.predict(BOTH, "quantile", q=0.2)
    assert res.predict(BOTH, "prob", below=float(t[0]))[0] == pytest.approx(0.2)


def test_restricted_means(res):
    pi, _ = written_out(res, 1.0, 1)
    want = pi * 5.0 + (1.0 - pi) * quad(lambda t: written_out(res, t, 1)[1], 0.0, 5.0)[0]
    found = res.predict_restricted_mean(BOTH, 5.0, interval=0.95)
    assert found.loc[1, "mean"] == pytest.approx(want, rel=1e-8)
    assert found.loc[1, "lower"] < want < found.loc[1, "upper"]
    later = res.predict_restricted_mean(BOTH, 5.0, conditional_after=0.0)
    assert later.to_numpy() == pytest.approx(found["mean"].to_numpy(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "times"), [("survival", 2.0), ("risk", 2.0), ("rmst", 5.0), ("median", None)])
def test_standardised_averages_and_their_errors(data, what, times):
    rows = data.assign(age=np.random.default_rng(3).normal(size=400))
    res = tg.fit("Surv(time, event) ~ treated + age", rows, family="weibull", cure="~ treated + age")
    found = res.standardise({"treated": [0]}, what=what, times=times).iloc[0]
    zero = rows.assign(treated=0)
    if what == "median":
        at = res.predict_survival_function(zero, [found["estimate"]]).iloc[0].mean()
        assert at == pytest.approx(0.5, abs=1e-9)
    elif what == "rmst":
        assert found["estimate"] == pytest.approx(res.predict_restricted_mean(zero, times).mean())
    else:
        sides = {"below" if what == "risk" else "above": times}
        assert found["estimate"] == pytest.approx(res.predict(zero, "prob", **sides).mean())
    draws = np.random.default_rng(0).multivariate_normal(res.parts.maximum.parameters, res.parts.covariance, 4000)
    moved = []
    for b0, _, b2, c0, _, c2, tau in draws[:400]:
        grid = np.linspace(1e-6, 5.0, 2001) if what in ("rmst", "median") else np.array([times])
        pi = expit(c0 + c2 * rows["age"].to_numpy())[:, None]
        scale = np.exp(b0 + b2 * rows["age"].to_numpy())[:, None]
        curve = (pi + (1.0 - pi) * np.exp(-((grid / scale) ** np.exp(-tau)))).mean(axis=0)
        area = trapezoid(curve, grid) if what == "rmst" else None
        moved.append({"rmst": area, "median": np.interp(-0.5, -curve, grid)}.get(what, curve[0]))
    assert found["se"] == pytest.approx(np.std(moved), rel=0.15)


def test_an_average_median_that_is_not_reached(res):
    with pytest.warns(ApproximationWarning, match="does not fall to one half"):
        found = tg.contrast(res, {"treated": 1}, {"treated": 0}, what="median")
    assert np.isposinf(found["estimate"]).all()
    assert found[["se", "lower", "upper"]].isna().all(axis=None)
    with pytest.raises(SpecError, match="infinite"):
        res.standardise({"treated": [0, 1]}, what="mean")


def test_residuals_and_order(data, res):
    hazard, left = res.residuals("cox_snell"), res.residuals("martingale")
    pi, alive = written_out(res, data["time"].to_numpy(), data["treated"].to_numpy())
    survived = pi + (1.0 - pi) * alive
    assert hazard.to_numpy() == pytest.approx(-np.log(survived), abs=1e-10)
    assert (left + hazard).to_numpy() == pytest.approx(data["event"].to_numpy())
    assert abs(res.residuals("quantile").mean()) < 0.15
    assert res.residuals("deviance").std() < 1.5
    at = tg.metrics.concordance_index(data["time"], res.predict(what="cured"), data["event"])
    assert res.concordance_index_ == pytest.approx(at, abs=0.02)


def test_draws_never_come_as_often_as_rows_are_cured(res):
    drawn = res.sample(BOTH, draws=20000, rng=0, what="uncensored")
    assert np.isposinf(drawn).mean(axis=1).to_numpy() == pytest.approx(res.predict(BOTH, "cured").to_numpy(), abs=0.01)
    early = (drawn < 1.0).mean(axis=1)
    assert early.to_numpy() == pytest.approx(res.predict(BOTH, "prob", below=1.0).to_numpy(), abs=0.01)


@pytest.mark.slow
def test_checks(res):
    assert res.check().ok
    found = res.loo()
    assert found.elpd == pytest.approx(res.llf - 5.0, abs=1.0)


@pytest.mark.slow
def test_tests_of_the_cured_coefficients(data, res):
    table = res.t_test("cured[treated] = 0").summary_frame()
    assert table["z"].iloc[0] == pytest.approx(res.params["cured[treated]"] / res.bse["cured[treated]"])
    assert res.wald_test("treated = 0, cured[treated] = 0").df == 2
    one = tg.fit(SIMPLE, data, family="weibull", cure="~ 1")
    found = res.lr_test(one)
    assert (found.statistic, found.df) == (pytest.approx(2.0 * (res.llf - one.llf)), 1)
    assert found.statistic == pytest.approx(table["z"].iloc[0] ** 2, rel=0.1)
    wide = tg.fit(SIMPLE, data, family="gengamma", cure="~ treated")
    assert wide.lr_test(res).df == 1
    known = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", fixed={"sigma": 1.0})
    assert res.lr_test(known).df == 1
    rows = data.assign(age=np.random.default_rng(0).normal(size=400), sex=np.arange(400) % 2)
    other = tg.fit("Surv(time, event) ~ treated + age + sex", rows, family="weibull", cure="~ 1")
    with pytest.raises(SpecError, match="its cured fraction is not nested"):
        other.lr_test(res)
    with pytest.raises(SpecError, match="only one of them has a cured fraction"):
        res.lr_test(tg.fit(SIMPLE, data, family="weibull"))


# -- what a reader is told --------------------------------------------------------------------------------------------


def test_summary(res):
    text = str(res.summary())
    assert "Weibull survival model with a cured fraction" in text
    assert "logit(cured):  ~ treated" in text
    assert f"{res.cured_fraction()['estimate']:.4f}" in text
    assert f"{np.exp(res.params['cured[treated]']):.4f}" in text
    assert str(res.model.spec).endswith("logit(cured) intercept, treated")
    with pytest.raises(SpecError, match="predict_hazard"):
        res.summary(hazard_ratios=True)
    with pytest.raises(SpecError, match="predict_hazard"):
        res.hazard_ratios()


def test_plots(res):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = res.plot_survival()
    curve = ax.lines[-1].get_ydata()
    assert curve[-1] == pytest.approx(res.cured_fraction()["estimate"], abs=0.01)
    assert res.plot_survival(by="treated").get_title(loc="left").startswith("log-rank")
    assert res.plot_predictive_check() is not None
    plt.close("all")


def test_a_short_follow_up():
    data = tg.datasets.simulate_cure(n=300, rng=5)
    short = data.assign(event=data["event"] * (data["time"] < 0.8), time=data["time"].clip(upper=0.8))
    with pytest.warns(BoundaryWarning, match="after 90% of the longest"), pytest.warns(ConvergenceWarning):
        res = tg.fit(SIMPLE, short, family="weibull", cure="~ 1")
    assert not res.converged
    assert "NOT CONVERGED: The likelihood is highest without a cured fraction" in str(res.summary())
    assert np.isnan(res.bse["cured[Intercept]"])
    assert np.isfinite(res.bse["treated"])
    plain = tg.fit(SIMPLE, short, family="weibull")
    assert res.params["treated"] == pytest.approx(plain.params["treated"], abs=1e-5)


def test_few_rows_beyond_the_last_event():
    with pytest.warns(BoundaryWarning, match="3 rows were followed beyond"):
        res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="weibull", cure="~ 1")
    lower, upper = res.profile_cured()
    assert lower == 0.0
    v = logit(upper)
    with pytest.warns(BoundaryWarning):
        at = tg.fit(
            "Surv(time, event) ~ age + sex",
            tg.datasets.load("lung"),
            family="weibull",
            cure="~ 1",
            fixed={"cured[Intercept]": float(v)},
        )
    assert 2.0 * (res.llf - at.llf) == pytest.approx(norm.ppf(0.975) ** 2, abs=1e-3)
    assert f"0.0000 to {upper:.4f}" in " ".join(str(res.summary()).split())


@pytest.mark.slow
def test_an_interval_of_the_fraction_where_none_is_cured():
    """The maximum lies at a logit of minus infinity, from which the upper end is sought all the same."""
    rng = np.random.default_rng(0)
    t, c = rng.exponential(size=300), rng.uniform(0.2, 1.5, 300)
    rows = pd.DataFrame({"time": np.minimum(t, c), "event": t <= c, "treated": rng.normal(size=300)})
    with pytest.warns(ConvergenceWarning, match="highest without a cured fraction"):
        res = tg.fit(SIMPLE, rows, family="weibull", cure="~ 1")
    lower, upper = res.profile_cured()
    assert lower == 0.0
    at = tg.fit(SIMPLE, rows, family="weibull", cure="~ 1", fixed={"cured[Intercept]": float(logit(upper))})
    assert 2.0 * (res.llf - at.llf) == pytest.approx(norm.ppf(0.975) ** 2, abs=1e-3)


def test_an_offset_makes_fractions_differ(melanoma, tmp_path):
    rows = melanoma.dropna().assign(shift=lambda d: 4.0 * (d["sex"] - 0.5))
    res = tg.fit("Surv(failtime, failcens) ~ trt", rows, family="weibull", cure="~ offset(shift)")
    assert res.cured_fraction()["estimate"] == pytest.approx(res.predict_cured().mean(), abs=1e-12)
    assert "mean over the rows" in str(res.summary())
    with pytest.raises(SpecError, match="the same cured fraction for all rows"):
        res.profile_cured()
    res.save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="requires the training rows"):
        tg.load(tmp_path / "fit.tgp").cured_fraction()


def test_times_without_a_mean_say_so(res):
    with pytest.raises(SpecError, match="means, and where some are cured"):
        res.get_prediction()


@pytest.mark.slow
def test_what_cannot_be_left_out_is_no_outlier():
    """Few rows are informative of the fraction; a method that cure models have not is not advised."""
    rng = np.random.default_rng(5)
    t, c = rng.exponential(size=300), rng.uniform(0.2, 1.5, 300)
    rows = pd.DataFrame({"time": np.minimum(t, c), "event": t <= c, "treated": rng.normal(size=300)})
    found = tg.fit(SIMPLE, rows, family="weibull", cure="~ treated").check()
    assert "cannot be left out by reweighting" in str(found)
    assert "influence" not in str(found)
    assert "method='ep'" not in str(found)


def test_several_maxima():
    rows = tg.datasets.simulate_cure(n=60, rng=17)
    rows = rows.assign(event=rows["event"] * (rows["time"] < 2.0), time=rows["time"].clip(upper=2.0))
    words = "several maxima: one with a mean cured fraction of 0.277"
    with pytest.warns(BoundaryWarning, match="last event"), pytest.warns(ConvergenceWarning, match=words):
        res = tg.fit(SIMPLE, rows, family="loglogistic", cure="~ 1")
    found = res.fit_history
    assert found["converged"].all()
    assert found["log_likelihood"].max() == pytest.approx(res.llf, abs=1e-8)
    assert np.ptp(found["log_likelihood"]) > 0.1
    for _, end in found.iterrows():
        fixed = {"cured[Intercept]": float(logit(end["cured"]))}
        with pytest.warns(BoundaryWarning, match="last event"):
            at = tg.fit(SIMPLE, rows, family="loglogistic", cure="~ 1", fixed=fixed)
        assert at.llf == pytest.approx(end["log_likelihood"], abs=1e-6)


@pytest.mark.slow
def test_a_shape_at_the_end_of_its_range():
    rows = tg.datasets.simulate_cure(n=40, rng=7002)
    with pytest.warns(BoundaryWarning, match="Q grew beyond 10"):
        res = tg.fit(SIMPLE, rows, family="gengamma", cure="~ treated")
    at = tg.fit(SIMPLE, rows, family=tg.GenGamma(Q=10), cure="~ treated")
    assert res.converged
    assert res.params["Q"] == 10.0
    assert np.isnan(res.bse["Q"])
    assert res.llf == pytest.approx(at.llf, abs=1e-9)
    assert res.bse.iloc[:-1].to_numpy() == pytest.approx(at.bse.to_numpy())
    assert "(at bound)" in str(res.summary())
    assert np.isfinite(res.predict(BOTH, "cured", interval=0.95)).all(axis=None)


def test_separated_rows(data):
    sure = data.assign(group=np.where(np.arange(400) < 30, "a", "b"))
    sure.loc[sure.index < 30, ["time", "event"]] = np.column_stack([np.linspace(0.1, 2.0, 30), np.ones(30)])
    with pytest.warns(ConvergenceWarning, match="separate"):
        res = tg.fit(SIMPLE, sure, family="weibull", cure="~ group")
    assert np.isfinite(res.bse[["treated", "sigma"]]).all()


def test_one_event(data):
    alone = data.assign(event=(np.arange(400) == 50).astype(int))
    with pytest.warns(ConvergenceWarning, match="no maximum: sigma runs off"):
        res = tg.fit("Surv(time, event) ~ 1", alone, family="weibull", cure="~ 1")
    assert "NOT CONVERGED" in str(res.summary())


def test_too_few_iterations(data):
    with pytest.warns(ConvergenceWarning, match=r"tg\.MLE\(max_iter="):
        res = tg.fit(SIMPLE, data, family="weibull", cure="~ treated", method=tg.MLE(max_iter=1))
    assert not res.converged


REFUSED = [
    ({"family": "gaussian"}, SpecError, "not supported with family='gaussian'"),
    ({"formula": "Surv(time, event) ~ gp(treated)"}, SpecError, r"is not supported with gp\(treated\)"),
    ({"cure": "~ (1 | treated)"}, SpecError, "is not supported with cure: re"),
    ({"sigma": "~ treated"}, SpecError, "is not supported with sigma="),
    ({"var_weights": np.ones(400)}, SpecError, "is not supported with var_weights="),
    ({"censored": "drop"}, SpecError, "is not supported with censored="),
    ({"formula": "Surv(time, event) ~ mixture(2)", "cure": "~ 1"}, SpecError, r"is not supported with mixture\(\)"),
    ({"method": "ep"}, SpecError, "requires maximum likelihood"),
    ({"priors": {}}, SpecError, "requires maximum likelihood"),
    ({"family": "ph"}, SpecError, "cure= is not supported with family='ph'"),
    ({"formula": "mvbind(time, event) ~ treated"}, SpecError, "one response"),
    ({"formula": "time ~ treated"}, SpecError, "requires censored rows"),
    ({"formula": "interval(time, time + event) ~ treated"}, SpecError, "exact or right-censored"),
    ({"formula": "Surv(time, cured - cured) ~ treated"}, DataError, "No event was observed"),
    ({"cov_type": "HC9"}, SpecError, "HC9"),
    ({"fixed": {"cured[age]": 0.0}}, SpecError, r"names 'cured\[age\]'"),
    ({"fixed": {"cured[treated]": "x"}}, SpecError, "a finite number"),
    ({"cure": "treated"}, FormulaError, "write cure='~ treated'"),
    ({"cure": "p ~ treated"}, FormulaError, r"it models logit\(cured\)"),
    ({"cure": "~ 0"}, FormulaError, "Nothing is left of the cured fraction"),
    ({"cure": "~ time"}, FormulaError, "cannot be in the formula of its cured fraction"),
    ({"cure": 0.3}, FormulaError, "The cured fraction is a formula in text"),
]


@pytest.mark.parametrize(("changes", "error", "words"), REFUSED)
def test_refusals(data, changes, error, words):
    options = {"formula": SIMPLE, "family": "weibull", "cure": "~ treated"} | changes
    with pytest.raises(error, match=words):
        tg.fit(options.pop("formula"), data, **options)


@pytest.mark.parametrize("what", ["uncensored", "observed", "conditional"])
def test_questions_that_have_no_answer(res, what):
    with pytest.raises(SpecError, match="for a cure model"):
        res.predict(BOTH, what)
    with pytest.raises(SpecError, match="exclude="):
        res.predict(BOTH, "cured", exclude="treated")


def test_evidence_of_a_cure_model(data):
    with pytest.raises(SpecError, match="no evidence"):
        tg.Model(SIMPLE, data, family="weibull", cure="~ 1").evidence({"sigma": 1.0})


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["weibull", "gengamma", "exponential"])
def test_saved_and_loaded(data, tmp_path, family):
    res = tg.fit(SIMPLE, data, family=family, cure="~ C(treated)")
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert type(again) is tg.CureResults
    assert again.params.equals(res.params)
    assert again.formula == res.formula
    for asked in ({"what": "cured"}, {"what": "quantile", "q": 0.1}):
        pd.testing.assert_frame_equal(
            again.predict(BOTH, interval=0.9, **asked), res.predict(BOTH, interval=0.9, **asked)
        )
    pd.testing.assert_frame_equal(again.fit_history, res.fit_history)
    assert "cured fraction" in str(again.summary())
    with pytest.raises(SpecError, match="training rows"):
        again.cured_fraction()
    with pytest.raises(SpecError):
        again.check()


def test_terms_and_figures_of_those_not_cured():
    from matplotlib import pyplot as plt

    data = tg.datasets.simulate_cure(n=300, rng=1).assign(g=np.array(list("abc"))[np.arange(300) % 3])
    res = tg.fit("Surv(time, event) ~ treated + C(g)", data, family="weibull", cure="~ treated")
    terms = res.predict(data.head(3), "terms", se=True)
    b, se = res.params, res.bse
    assert terms["C(g)"]["estimate"].tolist() == pytest.approx([0.0, b["C(g)[T.b]"], b["C(g)[T.c]"]])
    assert terms["C(g)"]["se"].tolist() == pytest.approx([0.0, se["C(g)[T.b]"], se["C(g)[T.c]"]])
    total = sum(terms[name]["estimate"] for name in ("Intercept", "treated", "C(g)"))
    assert total.to_numpy() == pytest.approx(res.predict(data.head(3), "latent").to_numpy())
    assert [ax.get_ylabel() for ax in res.plot_terms()] == ["treated\nlog time", "C(g)\nlog time"]
    labels = [label.get_text() for label in res.plot_forest().get_yticklabels()]
    assert labels == ["treated", "C(g): a (reference)", "C(g): b", "C(g): c"]
    assert len(res.plot_residuals()) == 2
    plt.close("all")
