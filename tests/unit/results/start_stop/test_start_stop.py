"""Accelerated failure times of subjects whose covariates change."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines.datasets import load_stanford_heart_transplants
from scipy.optimize import minimize
from scipy.stats import logistic, norm

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError
from tobitgp.kinds.start_stop import problem_of
from tobitgp.likelihoods.families import FAMILIES
from tobitgp.regression.start_stop_likelihood import evaluate, subject_scores

CASES = json.loads((Path(__file__).parents[3] / "reference" / "event_histories.json").read_text())["cases"]
HEART = "Surv(start, stop, event) ~ age + year + surgery + transplant"
FAMILIES_OF_TIMES = ("weibull", "exponential", "lognormal", "loglogistic", "gengamma")


@pytest.fixture(scope="module")
def heart():
    return load_stanford_heart_transplants()


@pytest.fixture(scope="module")
def weibull(heart):
    return tg.fit(HEART, heart, family="weibull", id="id")


def simulate(n, rng, *, effect=-0.7, scale=0.6):
    """Subjects who start a treatment at some time, from which on their time passes at another rate."""
    z, begin, censored = rng.normal(size=n), rng.exponential(2.0, n), rng.uniform(1.0, 8.0, n)
    psi = np.exp(0.8 + scale * np.log(rng.exponential(size=n)))  # in the time of location 0
    rate = np.exp(-0.3 * z)
    untreated = psi / rate
    time = np.where(untreated <= begin, untreated, begin + (psi - begin * rate) / (rate * np.exp(-effect)))
    stop, rows = np.minimum(time, censored), []
    for i in range(n):
        died = int(time[i] <= censored[i])
        if begin[i] < stop[i]:
            rows.append((i, 0.0, begin[i], 0, z[i], 0))
            rows.append((i, begin[i], stop[i], died, z[i], 1))
        else:
            rows.append((i, 0.0, stop[i], died, z[i], 0))
    return pd.DataFrame(rows, columns=["id", "start", "stop", "event", "z", "treated"])


SIMULATED = "Surv(start, stop, event) ~ z + treated"


# -- the likelihood ---------------------------------------------------------------------------------------------------


def test_the_heart_data_have_the_reference_weibull_fit(weibull):
    want = CASES["heart_weibull_start_stop"]["aft_psi"]
    assert weibull.llf == pytest.approx(want["loglik"], abs=1e-6)
    names = {"Intercept": "intercept", **{name: name for name in ("age", "year", "surgery", "transplant")}}
    for name, reference in names.items():
        assert weibull.params[name] == pytest.approx(want["par"][reference], abs=1e-4 * want["se"][reference])
        assert weibull.bse[name] == pytest.approx(want["se"][reference], rel=1e-4)
    assert -np.log(weibull.params["sigma"]) == pytest.approx(want["par"]["log_shape"], abs=1e-5)


@pytest.mark.parametrize(("family", "noise"), [("lognormal", norm), ("loglogistic", logistic)])
def test_other_families_are_at_the_maximum_of_the_likelihood_as_it_is_written(heart, family, noise):
    x = np.column_stack([np.ones(len(heart)), heart[["age", "year", "surgery", "transplant"]]])
    length, subject = (heart["stop"] - heart["start"]).to_numpy(), heart["id"].to_numpy()
    last = ~heart["id"].duplicated(keep="last").to_numpy()
    died = heart["event"].to_numpy()[last] == 1

    def minus(theta):
        eta, sigma = x @ theta[:-1], np.exp(theta[-1])
        psi = pd.Series(length * np.exp(-eta)).groupby(subject).sum().loc[subject[last]].to_numpy()
        z = np.log(psi) / sigma
        density = noise.logpdf(z) - np.log(sigma * psi) - eta[last]
        return -np.where(died, density, noise.logsf(z)).sum()

    found = minimize(minus, [4.0, 0, 0, 0, 0, 0.5], method="BFGS", options={"gtol": 1e-6})
    res = tg.fit(HEART, heart, family=family, id="id")
    assert res.llf == pytest.approx(-found.fun, abs=1e-6)
    theta = np.append(res.params.to_numpy()[:-1], np.log(res.params["sigma"]))
    np.testing.assert_array_less(np.abs(theta - found.x), 2e-3 * np.append(res.bse.to_numpy()[:-1], 0.1))


@pytest.mark.parametrize("family", FAMILIES_OF_TIMES)
def test_subjects_of_one_row_have_the_ordinary_fit(family):
    lung = tg.datasets.load("lung").assign(start=0.0, who=lambda d: [f"p{i}" for i in range(len(d))])
    formula = "Surv(start, time, event) ~ age + sex"
    one, other = (tg.fit(formula, lung, family=family, **more) for more in ({"id": "who"}, {}))
    assert one.llf == pytest.approx(other.llf, abs=1e-8)
    assert one.llnull == pytest.approx(other.llnull, abs=1e-6)
    np.testing.assert_allclose(one.params, other.params, rtol=1e-6)
    np.testing.assert_allclose(one.bse, other.bse, rtol=1e-5)
    curves = [res.predict_survival_function(lung.head(3), [100, 500], interval=0.9) for res in (one, other)]
    np.testing.assert_allclose(*curves, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES_OF_TIMES)
def test_derivatives_are_those_of_the_likelihood(family):
    rng = np.random.default_rng(3)
    data = simulate(40, rng).assign(weight=lambda d: 1 + d["id"] % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = tg.fit(SIMULATED, data, family=family, id="id", weights="weight").parts
    response, design = parts.rows.response, parts.rows.design
    known = (np.array([np.nan, np.nan, 0.2]), np.array([0.0 if family == "exponential" else np.nan]))
    problem = problem_of(response, parts.histories, design, FAMILIES[family], known)
    k = problem.to_users.shape[1]
    x = problem.nearest(np.array([1.0, -0.3, 0.2, 0.0, 0.5])[: len(problem.given)]) + 0.1 * rng.normal(size=k)
    state, h = evaluate(problem, x), 1e-5
    ahead, back = ([evaluate(problem, x + side * h * e) for e in np.eye(k)] for side in (1.0, -1.0))
    slope = [(a.value - b.value) / (2 * h) for a, b in zip(ahead, back, strict=True)]
    bend = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(ahead, back, strict=True)]
    np.testing.assert_allclose(state.gradient, slope, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(state.hessian.corner, bend, rtol=1e-5, atol=1e-4)
    of_users = problem.seen.weight @ subject_scores(problem, x)
    np.testing.assert_allclose(problem.to_users.T @ of_users, state.gradient, rtol=1e-9, atol=1e-9)


def test_a_row_cut_in_two_changes_nothing(heart, weibull):
    cut = (0.4 * heart["start"] + 0.6 * heart["stop"]).round(2)
    halves = [heart.assign(stop=cut, event=0), heart.assign(start=cut)]
    rows = pd.concat(halves, ignore_index=True).sample(frac=1.0, random_state=1)
    for kind in ("nonrobust", "HC1"):
        res = tg.fit(HEART, rows, family="weibull", id="id", cov_type=kind)
        whole = tg.fit(HEART, heart, family="weibull", id="id", cov_type=kind)
        assert res.llf == pytest.approx(whole.llf, abs=1e-9)
        assert res.llnull == pytest.approx(whole.llnull, abs=1e-9)
        np.testing.assert_allclose(res.params, whole.params, rtol=1e-6)
        np.testing.assert_allclose(res.bse, whole.bse, rtol=1e-6)


def test_a_weight_is_that_of_as_many_subjects():
    data = simulate(60, np.random.default_rng(4)).assign(weight=lambda d: 1 + d["id"] % 2)
    twice = pd.concat([data, data[data["weight"] == 2].assign(id=lambda d: d["id"] + 1000)])
    res = tg.fit(SIMULATED, data, family="lognormal", id="id", weights="weight")
    want = tg.fit(SIMULATED, twice, family="lognormal", id="id")
    assert res.llf == pytest.approx(want.llf, abs=1e-8)
    np.testing.assert_allclose(res.bse, want.bse, rtol=1e-6)


def test_an_offset_and_known_parameters_take_their_part(heart, weibull):
    values = weibull.params.to_dict()
    shifted = tg.fit(
        "Surv(start, stop, event) ~ age + year + surgery + offset(-0.5 * transplant)", heart, family="weibull", id="id"
    )
    fixed = tg.fit(HEART, heart, family="weibull", id="id", fixed={"transplant": -0.5})
    assert shifted.llf == pytest.approx(fixed.llf, abs=1e-8)
    assert fixed.bse["transplant"] == 0.0
    everything = tg.fit(HEART, heart, family="weibull", id="id", fixed=values)
    assert everything.llf == pytest.approx(weibull.llf, abs=1e-8)


def test_scores_by_subject_make_the_sandwich(heart, weibull):
    parts = tg.fit(HEART, heart, family="weibull", id="id", cov_type="HC0").parts
    robust = tg.fit(HEART, heart, family="weibull", id="id", cov_type="cluster", cov_kwds={"groups": "id"})
    V = np.asarray(parts.maximum.inverse_information)
    S = parts.maximum.scores
    assert S.shape == (103, 6)
    np.testing.assert_allclose(parts.covariance, V @ S.T @ S @ V, rtol=1e-8)
    np.testing.assert_allclose(robust.parts.covariance, parts.covariance, rtol=1e-8)
    one = heart["id"].nunique()
    HC1 = tg.fit(HEART, heart, family="weibull", id="id", cov_type="HC1").parts.covariance
    np.testing.assert_allclose(HC1, parts.covariance * one / (one - 6), rtol=1e-8)


def test_an_effect_that_no_event_bounds_runs_off():
    data = simulate(60, np.random.default_rng(5))
    data["event"] = np.where(data["treated"] == 1, 0, data["event"])
    with pytest.warns(ConvergenceWarning, match="separate subjects without an event"):
        res = tg.fit(SIMULATED, data, family="weibull", id="id")
    assert np.isnan(res.bse["treated"])
    assert np.isfinite(res.bse["z"])


@pytest.mark.slow
def test_a_shape_that_runs_to_its_end_is_held_there():
    data = simulate(25, np.random.default_rng(0), scale=0.3)
    with pytest.warns(BoundaryWarning, match="Q grew beyond 10"):
        res = tg.fit(SIMULATED, data, family="gengamma", id="id")
    fixed = [tg.fit(SIMULATED, data, family="gengamma", id="id", fixed={"Q": q}).llf for q in (0.5, 4.0, 10.0)]
    assert res.llf == pytest.approx(fixed[2], abs=1e-8)
    assert fixed == sorted(fixed)
    assert np.isnan(res.bse["Q"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_no_other_start_ends_higher(seed):
    rng = np.random.default_rng(seed)
    data = simulate(20, rng, scale=1.5 if seed == 1 else 0.3, effect=-2.5 if seed == 5 else 0.9)
    parts = tg.fit(SIMULATED, data, family="loglogistic", id="id").parts
    known = np.full(3, np.nan), np.full(1, np.nan)
    rows = parts.rows.response, parts.histories, parts.rows.design
    problem = problem_of(*rows, FAMILIES["loglogistic"], known)
    for _ in range(5):
        x = problem.nearest(np.array([1.0, 0.0, 0.0, -0.5]) + rng.normal(size=4) * [2.0, 2.0, 2.0, 0.7])
        found = minimize(lambda x: -evaluate(problem, x).value, x, method="Nelder-Mead", options={"maxiter": 2000})
        assert -found.fun < parts.maximum.log_likelihood + 1e-6


# -- results ----------------------------------------------------------------------------------------------------------


def test_summary_and_tests_speak_of_subjects(heart, weibull):
    text = weibull.summary().as_text().replace("\n    ", " ")
    assert "172 rows (start, stop] of 103 subjects by 'id', with 75 events" in text
    smaller = tg.fit(HEART.replace(" + transplant", ""), heart, family="weibull", id="id")
    assert weibull.lr_test(smaller).statistic == pytest.approx(2.0 * (weibull.llf - smaller.llf), abs=1e-9)
    ordinary = tg.fit("Surv(start, stop, event) ~ age + year + surgery", heart, family="weibull")
    with pytest.raises(SpecError, match="parts of a subject's time"):
        weibull.lr_test(ordinary)


def test_rows_given_their_past_add_up_to_subjects(heart, weibull):
    draws = weibull.log_likelihood_draws(draws=20, rng=1)
    assert weibull.score(heart, "log_likelihood") * len(heart) == pytest.approx(weibull.llf, abs=1e-8)
    assert np.isfinite(draws).all().all()
    left = weibull.residuals("cox_snell").groupby(heart["id"]).sum()
    H = -weibull.parts.in_training().logsf(heart["stop"].to_numpy())
    risen = pd.Series(H).groupby(heart["id"].to_numpy()).sum()
    np.testing.assert_allclose(left, risen.loc[left.index], rtol=1e-10)
    assert weibull.residuals("martingale").sum() == pytest.approx(0.0, abs=1e-6)
    assert weibull.check().ok


def test_influence_is_that_of_subjects():
    data = simulate(50, np.random.default_rng(6))
    res = tg.fit(SIMULATED, data, family="weibull", id="id")
    again = pd.concat([data, data[data["id"] == 7].assign(id=99)])
    moved = tg.fit(SIMULATED, again, family="weibull", id="id").params - res.params
    change = res.influence().loc[data.index[data["id"] == 7][-1]]
    np.testing.assert_allclose(change[["Intercept", "z", "treated"]], moved[["Intercept", "z", "treated"]], rtol=0.2)


def test_replicates_have_the_distribution_of_the_rows():
    data = simulate(30, np.random.default_rng(7))
    res = tg.fit(SIMULATED, data, family="loglogistic", id="id")
    found = res._draws(4000, 1, "replicates")
    object.__setattr__(found, "change", np.zeros_like(found.change))
    ((rows, times),) = found.responses()
    at = data["start"].to_numpy() + 1.0
    start, then = (res.parts.in_training().logsf(np.asarray(time)) for time in (data["start"], at))
    np.testing.assert_allclose(start, 0.0, atol=1e-12)
    share = (times > at[:, None]).mean(axis=1)
    assert rows == slice(0, len(data))
    np.testing.assert_allclose(share, np.exp(then - start), atol=4.5 * 0.5 / np.sqrt(4000))


@pytest.mark.slow
def test_folds_hold_whole_subjects(heart):
    found = tg.cross_validate(HEART, heart, family="weibull", id="id", folds=4, rng=1)
    assert found["converged"].all()
    assert found["n_test"].sum() == len(heart)
    labels = pd.Series(np.arange(len(heart)) % 2, index=heart.index)  # which split subjects
    with pytest.raises(DataError, match="does not begin at time 0"):
        tg.cross_validate(HEART, heart, family="weibull", id="id", folds=labels)


def test_a_saved_fit_answers_the_same(heart, weibull, tmp_path):
    weibull.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert (again.llnull, again.llf) == (weibull.llnull, weibull.llf)
    times = [1.0, 20.0, 300.0]
    for options in ({}, {"id": "id"}):
        curves = [res.predict_survival_function(heart, times, interval=0.9, **options) for res in (again, weibull)]
        pd.testing.assert_frame_equal(*curves)
    assert "103 subjects" in again.summary().as_text()
    with pytest.raises(SpecError, match="holds no training rows"):
        again.residuals("cox_snell")
    with pytest.raises(SpecError, match="holds no training rows"):
        again.influence()


@pytest.mark.parametrize("weight", [1, 2])
def test_subjects_count_however_many_rows_they_are_split_into(heart, weight, tmp_path):
    rows = heart.assign(w=weight)
    middle = 0.5 * (rows["start"] + rows["stop"])
    halves = pd.concat([rows.assign(stop=middle, event=0), rows.assign(start=middle)])
    one, other = (tg.fit(HEART, each, family="weibull", id="id", weights="w") for each in (rows, halves))
    other.save(tmp_path / "fit.tgp")
    n = weight * heart["id"].nunique()
    for res in (one, other, tg.load(tmp_path / "fit.tgp")):
        assert res.bic == pytest.approx(6 * np.log(n) - 2.0 * one.llf, rel=1e-9)
        assert res.df_resid == n - 6
        assert res.prsquared_vz == pytest.approx(one.prsquared_vz, rel=1e-6)
    said = f"{2 * len(heart)} rows (start, stop] of {heart['id'].nunique()} subjects"
    assert said in " ".join(str(other.summary()).split())


def test_a_dot_leaves_out_the_subject(heart, weibull):
    res = tg.fit("Surv(start, stop, event) ~ .", heart, family="weibull", id="id")
    assert sorted(res.params.index) == sorted(weibull.params.index)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"b": [3.0, 6.0, 5.0], "a": [1.0, 3.0, 0.0]},
            "Row 0 of id=1 does not begin at time 0; .*family='ph', which supports late",
        ),
        ({"a": [0.0, 4.0, 0.0]}, "Row 1 of id=1 follows a gap in time"),
        ({"a": [0.0, 2.0, 0.0]}, "id=1 has rows that overlap"),
        ({"d": [1, 1, 1]}, "event before its last row"),
        ({"d": [0, 0, 0]}, "No event was observed"),
        ({"w": [1, 2, 1]}, "Row 1 of id=1 has another weight"),
        ({"id": [1.0, np.nan, 2.0]}, "missing in 1 rows"),
        ({"x": [np.nan, 0.5, 1.0]}, "Row 1 of id=1 does not begin at time 0"),
        ({"b": [3.0, 3.0, 5.0]}, "comes at or after|not after their start|ends at or before"),
    ],
)
def test_rows_that_are_no_history_are_refused(change, words):
    rows = {"id": [1, 1, 2], "a": [0.0, 3.0, 0.0], "b": [3.0, 6.0, 5.0], "d": [0, 1, 1], "w": [1, 1, 1]}
    rows["x"] = [0.1, 0.5, 1.0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 3 rows is dropped")
        with pytest.raises(DataError, match=words):
            tg.fit("Surv(a, b, d) ~ x", pd.DataFrame({**rows, **change}), family="weibull", id="id", weights="w")


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        (HEART + " + gp(age)", {}, "not gp.age.; use family='ph'"),
        (HEART + " + (1 | surgery)", {}, "not re.surgery.; use family='ph'"),
        ("Surv(start, stop, event) ~ mixture(2)", {}, "not mixture"),
        (HEART, {"family": "gaussian"}, "a family of positive times"),
        ("stop ~ age", {}, "Surv.start, stop, event."),
        (HEART, {"sigma": "~ age"}, "sigma= is not supported with id="),
        (HEART, {"cure": "~ 1"}, "cure= is not supported with id="),
        (HEART, {"var_weights": "age"}, "var_weights= is not supported"),
        (HEART, {"censored": "drop"}, "censored= is not supported"),
        (HEART, {"method": "ep"}, "maximum likelihood.*use family='ph'"),
        (HEART, {"priors": {"age": tg.Normal(0, 1)}}, "without priors"),
        (HEART, {"id": "nobody"}, "id='nobody'"),
        (HEART, {"cov_type": "HC9"}, "cov_type"),
        ("Surv(start, stop, event, type='interval') ~ age", {}, "right-censored or end in an event"),
    ],
)
def test_what_does_not_go_with_subjects(heart, formula, options, words):
    data = heart.assign(event=3, stop=heart["stop"] + 1, start=heart["start"] + 1) if "interval" in formula else heart
    with pytest.raises(SpecError, match=words):
        tg.fit(formula, data, **{"family": "weibull", "id": "id", **options})


def test_questions_that_rows_of_subjects_do_not_answer(heart, weibull):
    refused = {
        "what='conditional' requires one row": lambda: weibull.predict(what="conditional"),
        "ratio of hazards depends": lambda: weibull.hazard_ratios(),
        "not rows to average over": lambda: weibull.standardise({"transplant": [0, 1]}, times=100),
        "rows to average over: use": lambda: weibull.plot_survival(),
    }
    for words, ask in refused.items():
        with pytest.raises(SpecError, match=words):
            ask()
    row = heart.drop_duplicates("id")
    assert len(weibull.standardise({"transplant": [0, 1]}, times=100, df=row)) == 2
    clusters = np.arange(len(heart))
    with pytest.raises(DataError, match="whole subjects"):
        tg.fit(HEART, heart, family="weibull", id="id", cov_type="cluster", cov_kwds={"groups": clusters})


@pytest.mark.study
def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, inside, band, sets = np.random.default_rng(8), 0, 0, 400
    path = pd.DataFrame({"id": 0, "start": [0.0, 1.5], "stop": [1.5, 6.0], "z": 0.5, "treated": [0, 1]})
    psi = 1.5 * np.exp(-0.15) + 0.5 * np.exp(-0.15 + 0.7)
    truth = np.exp(-((psi / np.exp(0.8)) ** (1.0 / 0.6)))
    for _ in range(sets):
        res = tg.fit(SIMULATED, simulate(150, rng), family="weibull", id="id")
        low, high = res.conf_int().loc["treated"]
        inside += low <= -0.7 <= high
        curve = res.predict_survival_function(path, [2.0], id="id", interval=0.95)[0].iloc[0]
        band += curve["lower"] <= truth <= curve["upper"]
    assert 0.925 < inside / sets < 0.975
    assert 0.925 < band / sets < 0.975


@pytest.mark.parametrize("family", ["weibull", tg.PH("weibull"), "ph"], ids=["weibull", "PH", "ph"])
def test_rows_may_meet_within_rounding(family):
    """Survcheck of survival 3.5-3 finds no overlap and no gap in stops of k 0.1 + 0.1 beside starts of (k + 1) 0.1."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        x, life = rng.normal(), rng.exponential()
        for k in range(12):
            stop = k * 0.1 + 0.1
            ends = life < stop
            rows.append((i, k * 0.1, max(life, k * 0.1 + 1e-3) if ends else stop, int(ends), x + (k > 3)))
            if ends:
                break
    d = pd.DataFrame(rows, columns=["id", "start", "stop", "event", "x"])
    equal = d.assign(stop=d.groupby("id")["start"].shift(-1).fillna(d["stop"]))
    assert (d["stop"] != equal["stop"]).any()
    found, wanted = (tg.fit("Surv(start, stop, event) ~ x", data, family=family, id="id") for data in (d, equal))
    assert found.params["x"] == pytest.approx(wanted.params["x"], abs=1e-6)
    with pytest.raises(DataError, match="overlap in time"):
        tg.fit("Surv(start, stop, event) ~ x", d.assign(stop=d["stop"] + 0.01), family=family, id="id")
