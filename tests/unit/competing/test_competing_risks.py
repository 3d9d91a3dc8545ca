"""Competing risks: against R's numbers, closed forms and draws by brute force, and how causes are read."""

import json
import zipfile
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import CumIncidenceRight
from support.reference import load

import tobitgp as tg
from tobitgp.cli import main
from tobitgp.errors import ApproximationWarning, DataError, FormulaError, SpecError
from tobitgp.formula.competing_risks import read_causes
from tobitgp.numerics.nonparametric import aalen_johansen
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.competing.first_times import DRAWS, find_rule, integrate, make_rule
from tobitgp.results.rows import ask

matplotlib.use("Agg")
CASE = load("event_histories.json")["cases"]["mgus2_competing"]
TIMES = [60.0, 120.0, 240.0]
WORDS = {0: "censored", 1: "pcm", 2: "death"}


@pytest.fixture(scope="module")
def mgus2():
    columns = load("mgus2_competing.json")
    data = pd.DataFrame({name: columns[name] for name in ("age", "male", "etime", "cause")})
    text = data["cause"].map(WORDS)
    return data.assign(text=text, category=pd.Categorical(text, ["censored", "pcm", "death"]), one=1.0)


@pytest.fixture(scope="module", params=["weibull", "lognormal"])
def both(request, mgus2):
    return request.param, tg.fit("Surv(etime, cause) ~ age + male", mgus2, family=request.param)


def exponentials(n=400, seed=1, rates=(0.02, 0.05)):
    """Times of two causes with constant hazards, censored at 30."""
    rng = np.random.default_rng(seed)
    times = rng.exponential(1.0, (n, 2)) / np.array(rates)
    first, cause = times.min(axis=1), times.argmin(axis=1) + 1
    return pd.DataFrame({"t": np.minimum(first, 30.0), "k": np.where(first < 30.0, cause, 0), "x": rng.normal(size=n)})


def summed(F, causes):
    """Incidence of all causes together."""
    return sum(F[cause] for cause in causes)


def test_cause_specific_fits_are_those_of_R(both):
    family, res = both
    assert res.causes == (1, 2)
    assert res.counts.to_dict() == {1: 115, 2: 860, "censored": 409, "dropped": 0}
    for cause in res.causes:
        known = CASE[f"cause{cause}"][family]
        fitted = res.params[cause]
        np.testing.assert_allclose(fitted[["Intercept", "age", "male"]], [*known["coef"].values()], rtol=2e-5)
        assert fitted["sigma"] == pytest.approx(known["scale"], rel=1e-6)
        assert res[cause].llf == pytest.approx(known["loglik"], abs=1e-9)
    assert res.llf == pytest.approx(sum(CASE[f"cause{k}"][family]["loglik"] for k in res.causes), abs=1e-8)
    assert res.aic == pytest.approx(2.0 * (8 - res.llf))


def test_incidence_is_that_of_quadrature_in_R(both):
    family, res = both
    known = CASE[f"cif_{family}"]
    new = pd.DataFrame(known["rows"])
    F, S = res.predict_cumulative_incidence(new, TIMES), res.predict_survival_function(new, TIMES)
    for row, curves in enumerate(known["curves"]):
        for cause in res.causes:
            # R's estimates, and with them its curves, are converged to nine digits.
            np.testing.assert_allclose(F[cause][row], curves[f"F{cause}"], rtol=1e-8)
        np.testing.assert_allclose(S[row], curves["S"], rtol=1e-8)
    np.testing.assert_allclose(S + summed(F, res.causes), 1.0, rtol=0, atol=1e-13)


def test_incidence_of_constant_hazards_has_a_closed_form():
    data = exponentials()
    res = tg.fit("Surv(t, k) ~ x", data, family="exponential")
    new, times = {"x": [-1.0, 2.0]}, np.array([1e-12, 1e-5, 1.0, 30.0, 1e4])
    rates = np.stack([np.exp(-res[k].params["Intercept"] - res[k].params["x"] * np.array(new["x"])) for k in (1, 2)])
    total = rates.sum(axis=0)
    F = res.predict_cumulative_incidence(new, times)
    for k in (1, 2):
        exact = rates[k - 1] / total * -np.expm1(-np.outer(times, total))
        np.testing.assert_allclose(F[k], exact, rtol=1e-8)
    later = res.predict_cumulative_incidence(new, times, conditional_after=[0.0, 700.0])
    np.testing.assert_allclose(later.iloc[2:], F.iloc[2:], rtol=1e-8)


def test_what_follows_a_time_survived_is_a_difference_of_incidences(both):
    _, res = both
    new = pd.DataFrame({"age": [60, 80], "male": [0, 1]})
    after, left = np.array([24.0, 60.0]), np.array([0.0, 12.0, 60.0])
    found = res.predict_cumulative_incidence(new, left, conditional_after=after)
    S = res.predict_survival_function(new, left, conditional_after=after)
    np.testing.assert_allclose(S + summed(found, res.causes), 1.0, rtol=0, atol=1e-12)
    for row, start in enumerate(after):
        F = res.predict_cumulative_incidence(new, start + left, cause=1)[row].to_numpy()
        alive = res.predict_survival_function(new, [start])[row].iloc[0]
        np.testing.assert_allclose(found[1][row], (F - F[0]) / alive, rtol=1e-8, atol=1e-15)


def test_integers_text_and_categories_are_one_model(mgus2):
    fits = [tg.fit(f"Surv(etime, {name}) ~ age", mgus2, family="weibull") for name in ("cause", "text", "category")]
    assert [fit.causes for fit in fits] == [(1, 2), ("death", "pcm"), ("pcm", "death")]
    assert fits[0].params[1].tolist() == fits[1].params["pcm"].tolist() == fits[2].params["pcm"].tolist()
    assert fits[0].llf == pytest.approx(fits[1].llf)
    assert fits[2].parts.censored == "censored"
    numbers = tg.fit(
        "Surv(etime, codes) ~ age", mgus2.assign(codes=mgus2["cause"].astype("category")), family="weibull"
    )
    assert numbers.causes == (1, 2)
    assert repr(numbers.parts.censored) == "0"
    assert tg.fit("Surv(etime, cause) ~ age", mgus2.to_dict("list"), family="weibull").llf == fits[0].llf


def test_categories_in_the_order_of_the_alphabet_are_not_misread(mgus2):
    """astype("category") has 'aml' before 'censored', and the first category would mean censored."""
    rows = mgus2.assign(kind=pd.Categorical(mgus2["text"].astype(str).replace("pcm", "aml")))
    with pytest.raises(DataError, match="'aml', would mean censored, but 'censored' is another"):
        tg.fit("Surv(etime, kind) ~ age", rows, family="weibull")
    res = tg.fit("Surv(etime, kind, censored='censored') ~ age", rows, family="weibull")
    assert res.causes == ("aml", "death")


def test_a_value_is_censoring_where_it_is_said(mgus2):
    words = mgus2["cause"].map({0: "alive", 1: "pcm", 2: "death"})
    res = tg.fit("Surv(etime, words, censored='alive') ~ age", mgus2.assign(words=words), family="weibull")
    assert res.causes == ("death", "pcm")
    assert str(res.summary()).splitlines()[0].strip().endswith("causes of 'words', censored where it is 'alive'")
    with pytest.raises(DataError, match=r"No row of 'words'.*is 'censored'"):
        tg.fit("Surv(etime, words) ~ age", mgus2.assign(words=words), family="weibull")
    dead = mgus2[mgus2["cause"] > 0]
    everyone = tg.fit("Surv(etime, category, censored='censored') ~ age", dead, family="weibull")
    assert everyone.counts.to_dict() == {"pcm": 115, "death": 860, "censored": 0, "dropped": 0}
    shifted = tg.fit("Surv(etime, c, censored=1) ~ age", mgus2.assign(c=mgus2["cause"] + 1), family="weibull")
    assert shifted.causes == (2, 3)


def test_one_cause_is_an_ordinary_fit(mgus2):
    words = np.where(mgus2["cause"] > 0, "dead", "alive")
    res = tg.fit("Surv(etime, words, censored='alive') ~ age", mgus2.assign(words=words), family="weibull")
    plain = tg.fit("Surv(etime, cause > 0) ~ age", mgus2, family="weibull")
    assert isinstance(res, tg.RegressionResults)
    assert res.formula == "Surv(etime, words == 'dead') ~ age"
    assert res.params.tolist() == plain.params.tolist()


def test_late_entries_are_those_of_the_causes_by_themselves(mgus2):
    late = mgus2.assign(a=mgus2["age"] * 12.0, b=mgus2["age"] * 12.0 + mgus2["etime"])
    res = tg.fit("Surv(a, b, text) ~ male", late, family="weibull")
    plain = tg.fit("Surv(a, b, text == 'pcm') ~ male", late, family="weibull")
    assert res["pcm"].params.tolist() == plain.params.tolist()


@pytest.mark.slow
def test_formulas_and_families_by_cause(mgus2):
    formulas = {"pcm": "Surv(etime, text) ~ 1", "death": "Surv(etime, text) ~ age + male"}
    family = {"death": "gengamma", "pcm": "exponential"}
    res = tg.fit(formulas, mgus2, family=family)
    assert list(res.params["pcm"].index) == ["Intercept", "sigma"]
    assert list(res.params["death"].index) == ["Intercept", "age", "male", "sigma", "Q"]
    new = pd.DataFrame({"age": [70], "male": [1]})
    F, S = (of(new, TIMES, interval=0.9) for of in (res.predict_cumulative_incidence, res.predict_survival_function))
    total = S[(0, "mean")] + F[("pcm", 0, "mean")] + F[("death", 0, "mean")]
    np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-12)
    assert (F[("death", 0, "lower")] < F[("death", 0, "mean")]).all()
    assert (F[("death", 0, "upper")] > F[("death", 0, "mean")]).all()
    with pytest.raises(SpecError, match=r"lacks 'death'; the causes of 'text' are 'death', 'pcm'"):
        tg.fit("Surv(etime, text) ~ 1", mgus2, family={"pcm": "weibull"})
    with pytest.raises(SpecError, match=r"has 'dead', which is not a cause"):
        tg.fit("Surv(etime, text) ~ 1", mgus2, family={"pcm": "weibull", "death": "weibull", "dead": "weibull"})
    with pytest.raises(FormulaError, match=r"same Surv\(time, cause\)"):
        tg.fit({**formulas, "pcm": "Surv(age, text) ~ 1"}, mgus2, family=family)
    with pytest.raises(FormulaError, match=r"same Surv\(time, cause\)"):
        tg.fit({}, mgus2, family=family)


def test_bands_are_quantiles_over_independent_causes():
    data = exponentials()
    res = tg.fit("Surv(t, k) ~ 1", data, family="exponential")
    found = res.predict_cumulative_incidence({"x": [0.0]}, [5.0, 20.0], cause=1, interval=0.9)[0]
    rng = np.random.default_rng(7)
    z = rng.standard_normal((200_000, 2))
    params, bse = (of.xs("Intercept", level=1).to_numpy() for of in (res.params, res.bse))
    rate = np.exp(-(params + bse * z))
    total = rate.sum(axis=1)
    for time in (5.0, 20.0):
        F = rate[:, 0] / total * -np.expm1(-time * total)
        ends = np.quantile(F, [0.5, 0.05, 0.95])
        # The order statistics of 2000 draws are known to about a tenth of a standard deviation.
        np.testing.assert_allclose(found.loc[time, ["median", "lower", "upper"]], ends, atol=0.12 * F.std())


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("Surv(t, k) ~ x", "weibull"),
        ("Surv(t, k) ~ x", tg.PH("piecewise", bands=4)),
        pytest.param("Surv(t, k) ~ gp(x)", "weibull", marks=pytest.mark.slow),
    ],
)
def test_parameters_of_causes_are_drawn_by_themselves(formula, family):
    res = tg.fit(formula, exponentials(200), family=family)
    twins = CompetingRisksResults(replace(res.parts, fits={1: res[2], 2: res[2]}))
    drawn = twins._time_rows(pd.DataFrame({"x": [0.3]}), (), bands=True).times.draw(5.0)
    H = [-cause.logsf(np.full((1, 1), 5.0)).ravel() for cause in drawn.causes]
    assert len(H[0]) == DRAWS
    assert abs(np.corrcoef(*H)[0, 1]) < 4.5 / np.sqrt(DRAWS)
    assert np.std(H[0]) == pytest.approx(np.std(H[1]), rel=0.1)


@pytest.mark.slow
def test_mean_of_a_process_is_the_posterior_mean():
    data = exponentials(150, seed=3)
    res = tg.fit("Surv(t, k) ~ gp(x)", data, family="weibull")
    new, times = {"x": [-1.0, 0.0, 1.5]}, [2.0, 10.0, 25.0]
    F = res.predict_cumulative_incidence(new, times, interval=0.9)
    S = res.predict_survival_function(new, times)
    rng = np.random.default_rng(5)
    parts, u = [], np.linspace(0.0, 25.0, 2001)
    for cause in res.causes:
        joint = res[cause]._joint
        asked = ask(res[cause].parts, new)
        drawn = list(joint.distributions(asked, 3000, 10_000_000, rng))
        H = np.concatenate([-part_sf(part, u) for part in drawn], axis=2)
        parts.append(H[..., rng.permutation(H.shape[2])])
    alive = np.exp(-(parts[0] + parts[1]))
    for k, H in enumerate(parts, 1):
        middle = 0.5 * (alive[:, 1:] + alive[:, :-1])
        each = np.cumsum(middle * np.diff(H, axis=1), axis=1)[:, np.searchsorted(u, times) - 1]
        for row in range(3):
            error = each[row].std(axis=1) / np.sqrt(each.shape[2])
            np.testing.assert_array_less(np.abs(F[(k, row, "mean")] - each[row].mean(axis=1)), 4.5 * error + 1e-4)
            assert (F[(k, row, "lower")] < F[(k, row, "mean")]).all()
    total = S + sum(F[k].xs("mean", axis=1, level=1) for k in res.causes)
    np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-7)


def part_sf(part, u):
    """Log survival (n, u, s) of draws of distributions."""
    with np.errstate(divide="ignore"):
        z = (np.log(u)[:, None] - part.location[:, None]) / np.broadcast_to(part.scale, part.location.shape)[:, None]
    return part.noise.log_sf(np.clip(z, -1e300, 1e300))


def test_hazards_that_jump_are_integrated_band_by_band():
    data = exponentials()
    cuts = [5.0, 10.0, 20.0]
    res = tg.fit("Surv(t, k) ~ x", data, family={1: tg.PH("piecewise", bands=cuts), 2: "exponential"})
    new, times = {"x": [0.5]}, np.array([3.0, 7.0, 15.0, 29.0])
    F = res.predict_cumulative_incidence(new, times, interval=0.9)
    ends = res[1].bands["stop"].to_numpy()
    h1 = res[1].predict_hazard(new, ends - 1e-9)[0].to_numpy()
    h2 = np.exp(-res[2].params["Intercept"] - 0.5 * res[2].params["x"])
    exact, S, start = np.zeros(len(times)), np.ones(len(times)), 0.0
    for end, h in zip(ends, h1, strict=True):
        length = np.clip(times - start, 0.0, end - start)
        exact += h / (h + h2) * S * -np.expm1(-(h + h2) * length)
        S, start = S * np.exp(-(h + h2) * length), end
    np.testing.assert_allclose(F[(1, 0, "mean")], exact, rtol=1e-8)
    band = F[1][0]
    assert ((band["lower"] < band["median"]) & (band["median"] < band["upper"])).all()
    with pytest.raises(SpecError, match="no hazard after the last exit"):
        res.predict_cumulative_incidence(new, [40.0])


def test_proportional_hazards_of_two_causes_are_near_cox(mgus2):
    res = tg.fit("Surv(etime, cause) ~ age + male", mgus2, family=tg.PH("piecewise", bands=[24, 60, 120, 200]))
    for cause in res.causes:
        cox = CASE[f"cause{cause}"]["cox"]
        gap = (res.params[cause][["age", "male"]] - pd.Series(cox["coef"])).abs()
        assert (gap < 0.15 * pd.Series(cox["se"])).all()
        np.testing.assert_allclose(res.bse[cause][["age", "male"]], [*cox["se"].values()], rtol=0.03)


def test_rows_without_a_cause_or_a_covariate_are_left_out(mgus2):
    some = mgus2.head(300).astype({"age": float, "cause": float})
    some.loc[3, "cause"], some.loc[5, "age"] = np.nan, np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit("Surv(etime, cause) ~ age", some, family="weibull")
    assert res.counts["dropped"] == 2
    assert res.counts.sum() == 300
    F = res.predict_cumulative_incidence(some.iloc[[4, 5]], TIMES, cause=2)
    assert F[5].isna().all()
    assert F[4].notna().all()


def test_causes_may_know_different_rows(mgus2):
    some = mgus2.head(300).astype({"age": float, "male": float})
    some.loc[[2, 7], "age"], some.loc[[7, 9, 11], "male"] = np.nan, np.nan
    formulas = {1: "Surv(etime, cause) ~ age", 2: "Surv(etime, cause) ~ male"}
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit(formulas, some, family={1: "weibull", 2: tg.PH("piecewise", bands=3)})
    assert res.counts["dropped"] == 4
    assert res.counts.sum() == 300
    F = res.predict_cumulative_incidence(some.head(12), TIMES[:1], interval=0.9)
    lost = F[1].isna().all().groupby(level=0).all()
    assert lost[lost].index.tolist() == [2, 7, 9, 11]
    alone = res.predict_cumulative_incidence(some.iloc[[10]], TIMES[:1], interval=0.9)
    np.testing.assert_allclose(F[1][10]["mean"], alone[1][10]["mean"])
    np.testing.assert_allclose(F[2][10]["upper"], alone[2][10]["upper"])
    seen = res.parts.seen
    np.testing.assert_array_equal(seen.code, some["cause"].to_numpy()[seen.kept])
    assert len(seen.time) == seen.kept.sum() == 296
    assert res.plot_cumulative_incidence(times=[0.0, 50.0]).lines


def test_survival_of_one_cause_says_that_it_is_net(mgus2):
    res = tg.fit("Surv(etime, text) ~ age", mgus2, family="weibull")
    plain = tg.fit("Surv(etime, text == 'pcm') ~ age", mgus2, family="weibull")
    with pytest.warns(ApproximationWarning, match="net survival: survival of one cause"):
        S = res["pcm"].predict_survival_function(mgus2.head(2), TIMES)
    pd.testing.assert_frame_equal(S, plain.predict_survival_function(mgus2.head(2), TIMES))
    with pytest.warns(ApproximationWarning, match="net survival: survival of one cause"):
        risk = res["pcm"].standardise({"age": [60, 70]}, "risk", TIMES)
    pd.testing.assert_frame_equal(risk, plain.standardise({"age": [60, 70]}, "risk", TIMES))
    with pytest.warns(ApproximationWarning, match="net survival: survival of one cause"):
        tg.contrast(res["pcm"], {"age": 60}, {"age": 70}, what="risk", times=60)
    assert res["pcm"].plot_survival(times=TIMES).get_ylabel() == "net survival"
    assert plain.plot_survival(times=TIMES).get_ylabel() == "survival"
    matplotlib.pyplot.close("all")


def test_tables_have_a_level_of_causes(mgus2):
    res = tg.fit("Surv(etime, text) ~ age", mgus2, family="weibull")
    frame, ends = res.summary_frame(0.1), res.conf_int(0.1)
    assert frame.index.names[0] == "cause"
    pd.testing.assert_series_equal(frame["coef"], res.params, check_names=False)
    pd.testing.assert_series_equal(frame["lower"], ends[0], check_names=False)
    pd.testing.assert_frame_equal(frame.loc["pcm"], res["pcm"].summary_frame(0.1))
    text = str(res.summary())
    assert text.splitlines()[0].strip() == "Competing risks: 2 causes of 'text', censored where it is 'censored'"
    assert "pcm 115 weibull maximum likelihood" in " ".join(text.split())
    assert "net survival" in text
    assert "2 causes of 'text'" in repr(res)


def test_hypotheses_compare_causes_whose_estimates_are_independent(mgus2):
    res = tg.fit("Surv(etime, cause) ~ age + male", mgus2, family="weibull")
    (a, b), (c, d) = ((res[cause].params["male"], res[cause].bse["male"]) for cause in (1, 2))
    found = res.t_test("male[1] = male[2]")
    assert found.effect[0] == pytest.approx(a - c)
    assert found.sd[0] == pytest.approx(np.hypot(b, d))
    both = res.wald_test("male[1] = 0, male[2] = 0")
    assert both.statistic == pytest.approx((a / b) ** 2 + (c / d) ** 2)
    V = res.cov_params()
    np.testing.assert_allclose(V.loc[1, 1], res[1].cov_params())
    assert (V.loc[1, 2] == 0.0).all(axis=None)
    less = tg.fit("Surv(etime, cause) ~ age", mgus2, family="weibull")
    ratio = res.lr_test(less)
    assert (ratio.df, ratio.statistic) == (2, pytest.approx(2.0 * (res.llf - less.llf)))
    assert res.llnull == pytest.approx(tg.fit("Surv(etime, cause) ~ 1", mgus2, family="weibull").llf, abs=1e-6)
    with pytest.raises(SpecError, match=r"male\[1\]"):
        res.t_test("male = 0")
    with pytest.raises(SpecError, match="same causes: 1, 2"):
        res.lr_test(res[1])


def test_tails_of_differences_between_causes_are_those_of_draws():
    data = exponentials(150, seed=3)
    res = tg.fit("Surv(t, k) ~ x + gp(x)", data, family="weibull", method=tg.EP(hyper="integrate"))
    posterior, rng, n = [res[cause]._linear for cause in res.causes], np.random.default_rng(1), 400_000
    draws = []
    for linear in posterior:
        at = rng.choice(len(linear.weight), n, p=linear.weight / linear.weight.sum())
        draws.append(linear.mean[at, 1] + linear.sd[at, 1] * rng.normal(size=n))
    assert min(len(linear.weight) for linear in posterior) > 1
    found, gap = res.t_test("x[1] - x[2] = 0.1"), draws[0] - draws[1] - 0.1
    assert found.effect[0] == pytest.approx(gap.mean() + 0.1, abs=5.0 * gap.std() / np.sqrt(n))
    assert found.sd[0] == pytest.approx(gap.std(), rel=0.01)
    assert found.pvalue[0] == pytest.approx(2.0 * min((gap > 0.0).mean(), (gap < 0.0).mean()), abs=0.005)
    np.testing.assert_allclose(found.conf_int()[0], np.quantile(gap, [0.025, 0.975]) + 0.1, rtol=0.02)


@pytest.mark.parametrize("table", ["hazard_ratios", "anova"])
def test_summaries_show_what_is_asked_for(mgus2, table):
    res = tg.fit("Surv(etime, cause) ~ age + male", mgus2, family="weibull")
    plain, more = res.summary(), res.summary(**{table: True})
    assert len(more.tables) == len(plain.tables) + (2 if table == "hazard_ratios" else 1)
    for cause in res.causes:
        value = res.hazard_ratios().loc[(cause, "male"), "exp(coef)"] if table == "hazard_ratios" else None
        assert (f"{value:.4f}" if value else f"{cause}: male") in str(more)


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("Surv(etime, half) ~ age", {}, DataError, r"'half' must be 0 or 1, but holds 0, 0.5, 1"),
        ("Surv(etime, minus) ~ age", {}, DataError, "must be 0 or 1, but holds -1"),
        ("Surv(etime, half, censored=0) ~ age", {}, DataError, "'half' must hold causes, not 0, 0.5, 1; causes are"),
        ("Surv(etime, shifted) ~ age", {}, DataError, "No row of 'shifted', which holds 1, 2, 3, is 0"),
        ("Surv(etime, cause) ~ age", {"family": "gaussian"}, SpecError, "family of positive times"),
        ("Surv(etime, cause) ~ mixture(2)", {}, SpecError, "do not support mixtures"),
        ("Surv(etime, rare) ~ age", {}, DataError, r"The cause 3 of 'rare' has 2 events, fewer than the 3 parameters"),
        ("Surv(etime, cause) ~ age", {"censored": "drop"}, SpecError, "censored= is not supported"),
        ("Surv(etime, cause, censored=0.5) ~ age", {}, FormulaError, "censored= is a text in quotes or a whole number"),
        ("Surv(etime, cause > 1, censored=0) ~ age", {}, FormulaError, "the column of the causes"),
        ("Surv(etime, text, censored='lost') ~ age", {}, DataError, "'death', 'pcm', is 'lost'"),
        ("Surv(etime, only, censored=1) ~ age", {}, DataError, "Every row of 'only' is 1"),
        ("Surv(etime, cause > 0) ~ age", {"family": {1: "weibull"}}, SpecError, "family= by cause"),
        ("Surv(etime, quotes) ~ age", {}, DataError, "cannot be written in a formula"),
    ],
)
def test_what_cannot_be_read_is_refused(mgus2, formula, options, error, words):
    rare = np.where(np.arange(len(mgus2)) < 2, 3, mgus2["cause"])
    quotes = mgus2["text"].replace("pcm", "a'b\"c")
    data = mgus2.assign(
        half=mgus2["cause"] / 2, minus=mgus2["cause"] - 1, shifted=mgus2["cause"] + 1, rare=rare, only=1, quotes=quotes
    )
    with pytest.raises(error, match=words):
        tg.fit(formula, data, **{"family": "weibull", **options})


def test_questions_are_refused_with_words(mgus2):
    res = tg.fit("Surv(etime, text) ~ 1", mgus2.head(200), family="exponential")
    for question in (lambda: res["alive"], lambda: res.predict_cumulative_incidence(times=[1.0], cause="alive")):
        with pytest.raises(SpecError, match=r"'alive' must be one of the causes: 'death', 'pcm'"):
            question()
    with pytest.raises(SpecError, match="conditional_after must not be negative"):
        res.predict_cumulative_incidence(times=[1.0], conditional_after=-1.0)
    with pytest.raises(SpecError, match="one positive number"):
        res.concordance_index("pcm", -1.0)
    with pytest.raises(SpecError, match="cannot be combined with df="):
        res.plot_cumulative_incidence(df=mgus2.head(2), by="age")
    with pytest.raises(SpecError, match="requires one panel"):
        res.plot_cumulative_incidence(res.plot_cumulative_incidence(), df=mgus2.head(2))


def test_what_is_no_column_of_causes_is_read_as_before():
    assert read_causes("Surv(t, t2, e, type='interval') ~ x") is None
    assert read_causes("Surv(t, e == 1) ~ x") is None
    assert read_causes("log(Surv) ~ x") is None
    written = read_causes("Surv(a, b, `my cause`, censored=9) ~ gp(x) + z")
    assert written.of(2) == "Surv(a, b, `my cause` == 2) ~ gp(x) + z"
    assert written.of("it's") == 'Surv(a, b, `my cause` == "it\'s") ~ gp(x) + z'


def test_scores_are_likelihoods_and_those_of_the_metrics(mgus2):
    res = tg.fit("Surv(etime, cause) ~ age + male", mgus2, family="weibull")
    assert res.score(mgus2) == pytest.approx(res.llf / len(mgus2))
    assert res.score(mgus2, 2) == pytest.approx(res[2].llf / len(mgus2))
    seen = mgus2["etime"], mgus2["cause"]
    F = res.predict_cumulative_incidence(mgus2, TIMES, cause=2)
    flat = pd.DataFrame(np.tile(F.mean(axis=1).to_numpy()[:, None], len(mgus2)), index=TIMES)
    own, without = (tg.metrics.brier_score(seen, seen, of, TIMES, cause=2) for of in (F, flat))
    assert (own < without).all()


def test_concordance_is_that_of_the_metric(mgus2):
    res = tg.fit("Surv(etime, cause) ~ age + male", mgus2, family="weibull")
    F = res.predict_cumulative_incidence(mgus2, [240.0], cause=2).loc[240.0]
    known = tg.metrics.concordance_index(mgus2["etime"], -F, mgus2["cause"], cause=2)
    assert res.concordance_index(2, 240.0) == pytest.approx(known)
    assert known > 0.6


def test_steps_are_those_of_R_and_statsmodels(mgus2):
    women = mgus2[mgus2["male"] == 0]
    time, cause, known = women["etime"].to_numpy(float), women["cause"].to_numpy(), CASE["aalen_johansen"]["male=0"]
    peer = CumIncidenceRight(time, cause)
    for k in (1, 2):
        times, F = aalen_johansen(time, cause > 0, cause == k, np.ones(len(time)))
        at = np.searchsorted(times, known["time"], side="right") - 1
        np.testing.assert_allclose(F[at], known[f"p{k}"], rtol=1e-12)
        np.testing.assert_allclose(F[np.searchsorted(times, peer.times)], peer.cinc[k - 1], rtol=1e-10)


def test_steps_of_late_entries_count_who_is_there():
    rng = np.random.default_rng(4)
    entry, time = rng.integers(0, 5, 60).astype(float), rng.integers(6, 12, 60).astype(float)
    cause, weight = rng.integers(0, 3, 60), rng.integers(1, 4, 60).astype(float)
    times, F = aalen_johansen(time, cause > 0, cause == 2, weight, entry)
    alive, known = 1.0, []
    for t in np.unique(time):
        n = weight @ ((entry < t) & (time >= t))
        known.append((known[-1] if known else 0.0) + alive * (weight @ ((time == t) & (cause == 2))) / n)
        alive *= 1.0 - weight @ ((time == t) & (cause > 0)) / n
    np.testing.assert_allclose(F, known)
    assert times.tolist() == np.unique(time).tolist()


def test_figures_draw_every_cause_beside_its_steps(mgus2):
    res = tg.fit("Surv(etime, text) ~ age + male", mgus2, family="weibull")
    ax = res.plot_cumulative_incidence(times=np.linspace(0.0, 300.0, 13))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["death (860/1384)", "pcm (115/1384)", "average of the fit", "Aalen-Johansen"]
    smooth = ax.lines[1].get_ydata()
    average = res.predict_cumulative_incidence(mgus2, [300.0], cause="death").loc[300.0].mean()
    assert smooth[-1] == pytest.approx(average)
    panels = res.plot_cumulative_incidence(by="male", times=[0.0, 100.0])
    assert [panel.get_title(loc="left") for panel in panels] == ["death", "pcm"]
    rows = res.plot_cumulative_incidence(df=mgus2.head(2), times=[0.0, 100.0], interval=0.8)
    assert len(rows[0].collections) == 2
    matplotlib.pyplot.close("all")


def test_nodes_integrate_powers_of_time_exactly():
    rule = make_rule(1e-3, np.array([2.0, 1e-4, 5.0]), np.array([1.0, 7.0]), 0.7)
    assert rule.upto[1] == -1
    value = np.cumsum(rule.weights * rule.times**2)[rule.upto[[0, 2]]]
    np.testing.assert_allclose(value, (np.array([8.0, 125.0]) - 1e-9) / 3.0, rtol=1e-12)


def test_panels_are_not_halved_for_the_rounding_of_hazards():
    """Drawn hazards are the same to seven digits only where other times are asked about together."""
    asked = []

    def curves(times):
        asked.append(times)
        hazard = np.full((2, 1, len(times)), 0.1 + 1e-8 * (-1.0) ** len(asked))
        return hazard, hazard * times

    times = np.array([1.0, 10.0])
    rule = find_rule(curves, 1e-9, times, np.zeros(0))
    assert len(asked) <= 3
    np.testing.assert_allclose(integrate(rule, curves)[0, 0], -0.5 * np.expm1(-0.2 * times), rtol=1e-6)


def test_incidences_are_the_same_at_some_nodes_at_a_time():
    def curves(times):
        hazard = np.full((2, 1, len(times)), 0.1)
        return hazard, hazard * times

    rule = find_rule(curves, 1e-9, np.array([1.0, 10.0]), np.zeros(0))
    np.testing.assert_allclose(integrate(rule, curves, 7), integrate(rule, curves), rtol=1e-12)


def test_no_rows_and_no_positive_times_give_empty_answers(mgus2):
    res = tg.fit("Surv(etime, cause) ~ age", mgus2, family="weibull")
    assert res.predict_cumulative_incidence(mgus2.head(0), TIMES).shape == (3, 0)
    assert (res.predict_cumulative_incidence(mgus2.head(2), [0.0, -1.0]) == 0.0).all(axis=None)


def test_files_answer_as_the_fit(mgus2, tmp_path):
    some = mgus2.head(250)
    family = {"death": tg.PH("piecewise", bands=[40, 100]), "pcm": "weibull"}
    res = tg.fit("Surv(etime, text) ~ age", some, family=family)
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert isinstance(again, tg.CompetingRisksResults)
    assert repr(again) == repr(res)
    pd.testing.assert_series_equal(again.params, res.params)
    pd.testing.assert_series_equal(again.counts, res.counts)
    for of in ("predict_cumulative_incidence", "predict_survival_function"):
        want = getattr(res, of)(some.head(2), [30.0, 60.0], interval=0.9)
        pd.testing.assert_frame_equal(getattr(again, of)(some.head(2), [30.0, 60.0], interval=0.9), want)
    for question in (
        again.predict_cumulative_incidence,
        again.plot_cumulative_incidence,
        lambda: again.concordance_index("pcm"),
        lambda: again.predict_survival_function(times=[1.0]),
    ):
        with pytest.raises(SpecError, match="no training rows"):
            question()


def test_other_doors_to_causes(mgus2, tmp_path, capsys):
    rows, fit = tmp_path / "rows.csv", tmp_path / "fit.tgp"
    mgus2.to_csv(rows)
    res = tg.fit("Surv(etime, cause) ~ 1", mgus2, family="exponential")
    res.save(fit)
    assert main(["predict", str(fit), str(rows)]) == 0
    assert f"median\n{res.predict(mgus2.head(1)).iloc[0]:.10g}"[:15] in capsys.readouterr().out
    with pytest.raises(SpecError, match="support one type of event"):
        tg.SurvivalModel("age").fit(mgus2, "etime", "cause")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("fits", {"$dict": []}, "do not belong together"),
        ("counts", {"$series": [["pcm", "pcm"], [1, 2]]}, "do not belong together"),
        ("counts", {"$series": [["pcm"], [1, 2]]}, "a number for each name"),
        ("formulas", [], "do not belong together"),
        ("column", 3, "column is of the type int"),
    ],
)
def test_files_whose_causes_do_not_belong_together_are_refused(mgus2, tmp_path, name, value, match):
    place = tmp_path / "fit.tgp"
    tg.fit("Surv(etime, text) ~ 1", mgus2, family="exponential").save(place)
    with zipfile.ZipFile(place) as archive:
        held = {entry: archive.read(entry) for entry in archive.namelist()}
    entry = next(entry for entry in held if entry.endswith(".json"))
    document = json.loads(held[entry])
    document["fit"]["fields"][name] = value
    held[entry] = json.dumps(document).encode()
    with zipfile.ZipFile(place, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match=match):
        tg.load(place)


@pytest.mark.study
def test_bands_cover_the_truth_of_new_rows(record_property):
    """Coverage of 95% bands of incidences over 100 simulated sets: two causes, Weibull and log-normal, with x."""
    times, new = np.array([3.0, 8.0, 20.0]), pd.DataFrame({"x": [-0.5, 1.0]})
    truth = true_incidence(new["x"].to_numpy(), times)
    inside = []
    for seed in range(100):
        res = tg.fit("Surv(t, k) ~ x", two_causes(400, seed), family={1: "weibull", 2: "lognormal"})
        F = res.predict_cumulative_incidence(new, times, interval=0.95)
        for k in (1, 2):
            for row in range(2):
                low, high = F[(k, row, "lower")].to_numpy(), F[(k, row, "upper")].to_numpy()
                inside.append((low <= truth[k - 1, row]) & (truth[k - 1, row] <= high))
    coverage = float(np.mean(inside))
    record_property("coverage", coverage)
    assert 0.93 <= coverage <= 0.97


def two_causes(n, seed):
    """Weibull times of one cause and log-normal times of another, whichever is first, censored between 10 and 40."""
    rng = np.random.default_rng(seed)
    x, end = rng.normal(size=n), rng.uniform(10.0, 40.0, n)
    a = np.exp(3.0 - 0.4 * x + 0.7 * np.log(rng.exponential(size=n)))
    b = np.exp(2.5 + 0.3 * x + 0.9 * rng.normal(size=n))
    first = np.minimum(np.minimum(a, b), end)
    return pd.DataFrame({"t": first, "k": np.select([first == a, first == b], [1, 2], 0), "x": x})


def true_incidence(x, times):
    """Incidences (2, n, m) of `two_causes` by the trapezoidal rule in log time."""
    from scipy.stats import norm

    v = np.linspace(-25.0, np.log(times.max()), 40_001)
    z = (v - (3.0 - 0.4 * x[:, None])) / 0.7
    w = (v - (2.5 + 0.3 * x[:, None])) / 0.9
    H = np.exp(z) - norm.logsf(w)
    slopes = np.stack([np.exp(z) / 0.7, np.exp(norm.logpdf(w) - norm.logsf(w)) / 0.9])
    density = slopes * np.exp(-H)
    F = np.concatenate(
        [np.zeros((2, len(x), 1)), np.cumsum(0.5 * (density[..., 1:] + density[..., :-1]), axis=2)], axis=2
    )
    F = F * (v[1] - v[0])
    return np.stack([np.stack([np.interp(np.log(times), v, row) for row in cause]) for cause in F])


def test_terms_can_be_left_out_of_all_causes():
    data = exponentials(200, 5)
    data["g"] = np.arange(200) % 6
    res = tg.fit("Surv(t, k) ~ x + (1 | g)", data, family="weibull", method=tg.EP(hyper="maximize"))
    row = data.head(2)
    F = res.predict_cumulative_incidence(row, [5.0, 20.0], exclude="re(g)")
    S = res.predict_survival_function(row, [5.0, 20.0], exclude="re(g)")
    np.testing.assert_allclose(S + summed(F, res.causes), 1.0, rtol=0, atol=1e-8)
    with pytest.warns(ApproximationWarning, match="net survival"):
        each = [res[cause].predict_survival_function(row, [5.0, 20.0], exclude="re(g)") for cause in res.causes]
    np.testing.assert_allclose(S, each[0] * each[1], rtol=1e-12)
    assert np.abs(S - res.predict_survival_function(row, [5.0, 20.0])).to_numpy().max() > 1e-4
    without = res.predict_cumulative_incidence(row.drop(columns="g"), [20.0], cause=1, exclude="re(g)", interval=0.9)
    np.testing.assert_allclose(without.xs("mean", axis=1, level="statistic"), F[1].loc[[20.0]], rtol=1e-6)
    two = tg.fit({1: "Surv(t, k) ~ x", 2: "Surv(t, k) ~ x + C(g)"}, data, family="weibull")
    base = two.predict_cumulative_incidence(row.assign(g=0), [20.0])
    np.testing.assert_allclose(two.predict_cumulative_incidence(row, [20.0], exclude="C(g)"), base, rtol=1e-10)
    with pytest.raises(SpecError, match="exclude= names 'z', which is not a term"):
        res.predict_survival_function(row, [5.0], exclude="z")


def test_causes_with_names_of_counts_are_refused():
    data = exponentials(60, 2)
    text = data["k"].map({0: "alive", 1: "censored", 2: "death"})
    with pytest.raises(DataError, match=r"is called 'censored', a name .* if 'alive' does not"):
        tg.fit("Surv(t, s, censored='alive') ~ x", data.assign(s=text), family="weibull")


@pytest.mark.slow
def test_legends_of_groups_lie_below_the_axes():
    data = exponentials(200, 5)
    data["g"] = list("abc") * 66 + ["a", "b"]
    panels = tg.fit("Surv(t, k) ~ C(g)", data, family="weibull").plot_cumulative_incidence(by="g")
    for ax in panels:
        ax.figure.canvas.draw()
        assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0
    matplotlib.pyplot.close("all")


def test_nobody_may_be_censored(tmp_path):
    rng = np.random.default_rng(5)
    t, dies = rng.exponential(10.0, 200), rng.random(200) < 0.7
    c = np.where(dies, "death", "relapse")
    data = pd.DataFrame({"t": t, "c": pd.Categorical(c, ["censor", "death", "relapse"]), "k": 2 - dies, "s": c})
    death, relapse = dies.sum() / t.sum(), (~dies).sum() / t.sum()
    want = death / (death + relapse) * -np.expm1(-5.0 * (death + relapse))
    for written, cause in (
        ("c", "death"),
        ("c, censored='censor'", "death"),
        ("k, censored=0", 1),
        ("k, censored=None", 1),
        ("s, censored='censored'", "death"),
        ("s, censored=None", "death"),
    ):
        res = tg.fit(f"Surv(t, {written}) ~ 1", data, family="exponential")
        assert res.predict_cumulative_incidence(times=[5.0], cause=cause).iloc[0, 0] == pytest.approx(want, rel=1e-9)
        assert res.counts["censored"] == 0
    assert "none censored" in str(res.summary()).splitlines()[0]
    res.save(tmp_path / "fit")
    loaded = tg.load(tmp_path / "fit")
    assert loaded.parts.censored is None
    incidence = loaded.predict_cumulative_incidence(data.head(1), times=[5.0], cause="death")
    assert incidence.iloc[0, 0] == pytest.approx(want, rel=1e-9)
    with pytest.raises(DataError, match=r"or that no row is censored, as in Surv\(t, s, censored=None\)"):
        tg.fit("Surv(t, s, censored='alive') ~ 1", data, family="exponential")
    with pytest.raises(DataError, match="must hold 0 and 1"):
        tg.fit("Surv(t, s) ~ 1", data, family="exponential")
    by_cause = {cause: "Surv(t, s, censored=None) ~ 1" for cause in ("death", "relapse")}
    assert tg.fit(by_cause, data, family="exponential").counts["death"] == dies.sum()
