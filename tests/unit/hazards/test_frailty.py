"""Gamma frailties: against R's optimiser, integrals over the frailty, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError

REFERENCE = Path(__file__).parents[2] / "reference"
CASES = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]
FORMULA = "Surv(time, status) ~ age + female + (1 | id)"
FRAIL = tg.PH("weibull", frailty="gamma")
EACH = pytest.mark.parametrize("baseline", ["weibull", "gompertz", "spline"])


@pytest.fixture(scope="module")
def kidney():
    return pd.DataFrame(json.loads((REFERENCE / "kidney.json").read_text()))


def test_the_maximum_is_that_of_r(kidney):
    want, res = CASES["kidney_weibull_frailty"]["gamma"], tg.fit(FORMULA, kidney, family=FRAIL)
    assert res.llf == pytest.approx(want["loglik"], abs=1e-6)
    par, se = want["par"], want["se"]
    for name, theirs in (("Intercept", "log_rate"), ("age", "age"), ("female", "female")):
        assert res.params[name] == pytest.approx(par[theirs], abs=1e-3 * se[theirs])
        assert res.bse[name] == pytest.approx(se[theirs], rel=1e-3)
    for name in ("shape", "theta"):
        assert np.log(res.params[name]) == pytest.approx(par[f"log_{name}"], abs=1e-3 * se[f"log_{name}"])
        assert res.bse[name] / res.params[name] == pytest.approx(se[f"log_{name}"], rel=1e-3)


def test_normal_frailties_of_weibull_times_have_the_likelihood_of_adaptive_quadrature(kidney):
    # a random intercept of log time is a log-normal frailty whose logarithm is divided by minus sigma
    want = CASES["kidney_weibull_frailty"]["lognormal"]
    shape, tau = np.exp(want["par"]["log_shape"]), np.exp(0.5 * want["par"]["log_theta"])
    fixed = {name: -want["par"][theirs] / shape for name, theirs in (("Intercept", "log_rate"), ("age", "age"))}
    fixed |= {"female": -want["par"]["female"] / shape, "sigma": 1.0 / shape, "sd(re(id))": tau / shape}
    res = tg.fit(FORMULA, kidney, family="weibull", fixed=fixed)
    assert res.log_evidence == pytest.approx(want["loglik"], abs=0.05)


@pytest.mark.quick_cases("weibull")
@EACH
def test_the_likelihood_is_the_integral_over_the_frailty(kidney, baseline):
    res = tg.fit(FORMULA, kidney, family=tg.PH(baseline, frailty="gamma"))
    theta, fixed = res.params["theta"], {name: value for name, value in res.params.items() if name != "theta"}
    alone = tg.fit("Surv(time, status) ~ age + female", kidney, family=tg.PH(baseline), fixed=fixed)
    total = 0.0
    for _, rows in kidney.groupby("id"):
        H = [
            alone.predict_cumulative_hazard(rows.iloc[[i]], [rows["time"].iloc[i]]).iloc[0, 0] for i in range(len(rows))
        ]
        h = [alone.predict_hazard(rows.iloc[[i]], [rows["time"].iloc[i]]).iloc[0, 0] for i in range(len(rows))]
        seen = rows["status"].to_numpy()

        def integrand(u, H=H, h=h, seen=seen):
            return gamma.pdf(u, 1 / theta, scale=theta) * np.prod((u * np.array(h)) ** seen) * np.exp(-u * np.sum(H))

        total += np.log(quad(integrand, 0.0, 1.0)[0] + quad(integrand, 1.0, np.inf)[0])
    assert res.llf == pytest.approx(total, abs=1e-5)


@pytest.mark.slow
@EACH
def test_newtons_derivatives_lead_to_the_maximum(kidney, baseline):
    """The errors are those of second differences of the likelihood."""
    family = tg.PH(baseline, frailty="gamma")
    res = tg.fit(FORMULA, kidney, family=family)
    names = ["female", "theta"]
    V = np.linalg.inv(res.cov_params())
    h = 0.02 * res.bse[names]
    best = res.params.to_dict()

    def llf(one, two):
        at = {
            names[0]: best["female"] + one * h["female"],
            names[1]: best["theta"] * np.exp(two * h["theta"] / best["theta"]),
        }
        return tg.fit(FORMULA, kidney, family=family, fixed=best | at).llf

    i, j = (list(res.params.index).index(name) for name in names)
    both = (llf(1, 1) - llf(1, -1) - llf(-1, 1) + llf(-1, -1)) / (4.0 * h["female"] * h["theta"])
    assert -both == pytest.approx(V[i, j], rel=0.02, abs=0.01 * np.sqrt(V[i, i] * V[j, j]))
    assert -(llf(1, 0) - 2 * res.llf + llf(-1, 0)) / h["female"] ** 2 == pytest.approx(V[i, i], rel=0.01)
    assert -(llf(0, 1) - 2 * res.llf + llf(0, -1)) / h["theta"] ** 2 == pytest.approx(V[j, j], rel=0.01)


@pytest.mark.slow
def test_predictions_average_over_the_frailty(kidney):
    res, row, times = tg.fit(FORMULA, kidney, family=FRAIL), kidney.head(1), np.array([10.0, 100.0])
    theta = res.params["theta"]
    b = res.params[["age", "female"]] @ row[["age", "female"]].iloc[0] + res.params["Intercept"]
    H = np.exp(b) * times ** res.params["shape"]
    S = (1.0 + theta * H) ** (-1.0 / theta)
    np.testing.assert_allclose(res.predict_survival_function(row, times)[0], S, rtol=1e-10)
    h = res.params["shape"] * H / times / (1.0 + theta * H)
    np.testing.assert_allclose(res.predict_hazard(row, times)[0], h, rtol=1e-10)
    median = res.predict_median(row).iloc[0]
    assert res.predict_survival_function(row, [median]).iloc[0, 0] == pytest.approx(0.5)

    def survive(t):
        return float(res.predict_survival_function(row, [t]).iloc[0, 0])

    assert res.predict_restricted_mean(row, 200.0).iloc[0] == pytest.approx(quad(survive, 0, 200)[0], rel=1e-6)
    mean = quad(survive, 0, 1000)[0] + quad(survive, 1000, 1e5, limit=200)[0] + quad(survive, 1e5, np.inf)[0]
    assert res.predict_expectation(row).iloc[0] == pytest.approx(mean, rel=1e-4)
    draws = res.sample(row, 4000, rng=1)
    assert (draws > 30.0).mean(axis=1).iloc[0] == pytest.approx(survive(30.0), abs=0.03)
    found = res.predict_survival_function(row, times, interval=0.9)[0]
    assert (found["lower"] < S).all()
    assert (found["upper"] > S).all()
    assert np.isfinite(res.standardise({"female": [0, 1]}, what="rmst", times=100.0)).all(axis=None)


def test_frailties_of_groups(kidney):
    res = tg.fit(FORMULA, kidney, family=FRAIL)
    table, theta = res.frailties(interval=0.9), res.params["theta"]
    assert table.index.name == "id"
    assert table["estimate"].mean() == pytest.approx(1.0, abs=0.02)
    b = kidney[["age", "female"]] @ res.params[["age", "female"]] + res.params["Intercept"]
    H = (np.exp(b) * kidney["time"] ** res.params["shape"]).groupby(kidney["id"]).sum()
    D = kidney.groupby("id")["status"].sum()
    np.testing.assert_allclose(table["estimate"], (D + 1 / theta) / (H + 1 / theta), rtol=1e-8)
    ends = gamma.ppf([[0.05], [0.95]], (D + 1 / theta).to_numpy(), scale=1 / (H + 1 / theta).to_numpy())
    np.testing.assert_allclose(table[["lower", "upper"]].T, ends, rtol=1e-8)
    with pytest.raises(SpecError, match="has no frailty"):
        tg.fit("Surv(time, status) ~ age", kidney, family=tg.PH("weibull")).frailties()


@pytest.mark.slow
def test_what_must_not_matter(kidney):
    res = tg.fit(FORMULA, kidney, family=FRAIL)
    other = kidney.assign(id=[f"person {code}" for code in kidney["id"]]).sample(frac=1.0, random_state=1)
    np.testing.assert_allclose(tg.fit(FORMULA, other, family=FRAIL).params, res.params, rtol=1e-6)
    weighted = tg.fit(FORMULA, kidney.assign(w=np.resize([1, 2], 76)), family=FRAIL, weights="w")
    repeated = tg.fit(FORMULA, kidney.loc[kidney.index.repeat(np.resize([1, 2], 76))], family=FRAIL)
    np.testing.assert_allclose(weighted.params, repeated.params, rtol=1e-6)
    assert weighted.llf == pytest.approx(repeated.llf, abs=1e-8)
    late = kidney["time"] > 20
    rows = kidney.assign(row=range(76), start=0.0, stop=np.minimum(kidney["time"], 20).astype(float))
    first = rows.assign(status=np.where(late, 0, kidney["status"]))
    second = rows[late].assign(start=20.0, stop=kidney["time"][late].astype(float))
    split = tg.fit(
        FORMULA.replace("time", "start, stop"), pd.concat([first, second], ignore_index=True), family=FRAIL, id="row"
    )
    np.testing.assert_allclose(split.params, res.params, rtol=1e-6)
    assert split.llf == pytest.approx(res.llf, abs=1e-8)
    tiny = tg.fit(FORMULA, kidney, family=FRAIL, fixed={"theta": 1e-5})
    none = tg.fit("Surv(time, status) ~ age + female", kidney, family=tg.PH("weibull"))
    assert tiny.llf == pytest.approx(none.llf, abs=1e-3)
    np.testing.assert_allclose(tiny.params[:4], none.params, rtol=1e-3)


@pytest.mark.slow
def test_clusters_of_the_sandwich_are_the_groups(kidney):
    """The sum of all scores is 0, and the sandwich that of R's derivatives of groups' likelihoods."""
    res = tg.fit(FORMULA, kidney, family=FRAIL, cov_type="cluster")
    scores = res.parts.maximum.scores
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-5)
    of_groups = pd.DataFrame(scores).groupby(kidney["id"].to_numpy()).sum().to_numpy()
    V = res.parts.maximum.inverse_information
    np.testing.assert_allclose(res.parts.covariance, V @ of_groups.T @ of_groups @ V, rtol=1e-8)
    best, h = res.params.to_dict(), 1e-4
    for group, place in ((3, 0), (21, 4)):
        others, name = kidney[kidney["id"] != group], res.params.index[place]
        step = best[name] * np.expm1(h) if name == "theta" else h

        def llf(side, others=others, name=name, step=step):
            fixed = best | {name: best[name] + side * step}
            return [tg.fit(FORMULA, data, family=FRAIL, fixed=fixed).llf for data in (kidney, others)]

        slope = np.subtract(*np.subtract(llf(1.0), llf(-1.0))) / (2.0 * h)
        assert of_groups[group - 1, place] == pytest.approx(slope, rel=2e-3, abs=1e-4)


@pytest.mark.slow
def test_files_and_tables(kidney, tmp_path):
    res = tg.fit(FORMULA, kidney, family=tg.PH("spline", df=2, frailty="gamma"))
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert str(again.summary()) == str(res.summary())
    pd.testing.assert_frame_equal(again.frailties(), res.frailties())
    pd.testing.assert_series_equal(again.predict_median(kidney.head(3)), res.predict_median(kidney.head(3)))
    for words in ("with a gamma frailty", "id, 38 groups", "theta", "conditional on the frailty"):
        assert words in str(res.summary())
    from dataclasses import replace

    for change, words in (
        ({"frailty": None, "frailties": None}, "frailties are not those|maximum.parameters has the shape"),
        ({"frailties": -res.parts.frailties}, "not positive"),
        ({"groups": ()}, "frailties"),
    ):
        tg.ParametricHazardResults(replace(res.parts.without_rows(), **change)).save(tmp_path / "other.tgp")
        with pytest.raises(DataError, match=words):
            tg.load(tmp_path / "other.tgp")


@pytest.mark.slow
def test_tests_and_checks(kidney):
    res = tg.fit(FORMULA, kidney, family=FRAIL)
    assert res.lr_test(tg.fit("Surv(time, status) ~ age + (1 | id)", kidney, family=FRAIL)).df == 1
    with pytest.raises(SpecError, match="at the end of what its variance may be"):
        res.lr_test(tg.fit("Surv(time, status) ~ age", kidney, family=tg.PH("weibull")))
    for ask in (res.loo, res.k_hat, res.proportionality, res.waic):
        with pytest.raises(SpecError, match="requires independent rows, and these rows share frailties"):
            ask()
    assert "calibration" in res.check(rng=1).table.index


def test_what_is_refused(kidney):
    for arguments, words in (
        ({"frailty": "normal"}, "must be 'gamma'"),
        ({"baseline": "gp", "frailty": "gamma"}, "requires baseline='spline'"),
        ({"baseline": "spline", "link": "odds", "frailty": "gamma"}, "requires link='hazard'"),
    ):
        with pytest.raises(SpecError, match=words):
            tg.PH(**{"baseline": "weibull", **arguments})
    for formula, options, words in (
        ("Surv(time, status) ~ age", {}, r"requires one term \(1 \| g\)"),
        ("Surv(time, status) ~ (1 + age | id)", {}, r"requires one term \(1 \| g\)"),
        ("Surv(time, status) ~ age + (1 | id) + (1 | female)", {}, r"requires one term \(1 \| g\)"),
        (FORMULA, {"family": tg.PH("weibull")}, r"frailty='gamma'\) supports \(1 \| id\)"),
        (FORMULA, {"cov_type": "HC0"}, "With frailty= use cov_type='cluster'"),
        (FORMULA, {"fixed": {"theta": -1.0}}, "a positive number"),
        ("interval(time, end) ~ age + (1 | id)", {}, "exact or right-censored"),
        ("Surv(early, time, status) ~ age + (1 | id)", {}, "follow-up from time 0 on"),
    ):
        data = kidney.assign(end=kidney["time"] + 1.0, early=1.0)
        with pytest.raises(SpecError, match=words):
            tg.fit(formula, data, **{"family": FRAIL, **options})
    with pytest.raises(DataError, match="missing"):
        tg.fit(FORMULA, kidney.assign(id=kidney["id"].where(kidney["id"] > 1)), family=FRAIL)


@pytest.mark.slow
def test_frailties_that_rows_do_not_show():
    lung = tg.datasets.load("lung").assign(g=lambda d: np.arange(len(d)) % 40, own=lambda d: np.arange(len(d)))
    rng = np.random.default_rng(1)
    alike = lung.assign(time=rng.permutation(lung["time"]))
    with pytest.warns(BoundaryWarning, match="Every row is a group of 'own'"):
        tg.fit(
            "Surv(time, event) ~ age + (1 | own)", lung, family=tg.PH("weibull", frailty="gamma"), fixed={"theta": 0.5}
        )
    even = pd.concat([alike.assign(g=k) for k in range(3)])
    with pytest.warns(ConvergenceWarning, match="highest without frailties"):
        tg.fit("Surv(time, event) ~ age + (1 | g)", even, family=tg.PH("weibull", frailty="gamma"))


def test_a_search_that_starts_without_frailty_finds_it(kidney):
    res, again = (tg.fit(FORMULA, kidney, family=FRAIL, start=start) for start in (None, {"theta": 1e-9}))
    assert again.converged
    assert again.params["theta"] == pytest.approx(res.params["theta"], rel=1e-5)
