"""Log-rank and Gray tests against R, lifelines and statsmodels, and against loops over times by their definition."""

import numpy as np
import pandas as pd
import pytest
from lifelines.statistics import multivariate_logrank_test
from scipy.stats import chi2
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.duration.survfunc import survdiff
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.numerics.rank_tests import TimesOfGroups, gray
from tobitgp.survival import gray_test, logrank_test

CASES = load("event_histories.json")["cases"]
SURV = "Surv(time, event) ~ g"


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


def random_rows(seed, n=120, levels=15, groups=3, late=False):
    """Whole-numbered times, so that many are equal, with two causes, groups and strata."""
    rng = np.random.default_rng(seed)
    time = rng.integers(2, levels, n).astype(float)
    cause = rng.choice(3, n, p=[0.3, 0.4, 0.3])
    rows = pd.DataFrame({"time": time, "cause": cause, "event": cause > 0, "g": rng.integers(0, groups, n)})
    rows = rows.assign(s=rng.choice(["a", "b"], n), w=rng.integers(1, 4, n))
    return rows.assign(entry=np.floor(time * rng.uniform(0.0, 0.9, n)) if late else -1.0)


# -- R ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "name"), [(0, "logrank"), (1, "peto")])
def test_r_survdiff(lung, rho, name):
    """``survdiff(Surv(time, event) ~ sex, rho)``."""
    case, rows = CASES["lung_nonparametric_sex"][name], lung.dropna(subset=["ph_ecog"])
    found = logrank_test("Surv(time, event) ~ sex", rows, rho=rho)
    assert found.statistic == pytest.approx(case["chisq"], rel=1e-12)
    assert (found.df, found.pvalue) == (1, pytest.approx(case["p"], rel=1e-10))
    np.testing.assert_allclose(found.groups["observed"], case["obs"], rtol=1e-12)
    np.testing.assert_allclose(found.groups["expected"], case["exp"], rtol=1e-12)


def test_published_survdiff_of_lung(lung):
    """``survdiff(Surv(time, status) ~ sex, lung)`` as R's manual and many tutorials print it."""
    assert str(logrank_test("Surv(time, event) ~ sex", lung)).splitlines()[2:] == [
        "1   138       112    91.582     4.5523     10.327",
        "2    90        53    73.418     5.6785     10.327",
        "",
        "log-rank: chi2(1) = 10.327, p = 0.0013",
    ]


def test_r_cmprsk_grays_test():
    """``cmprsk::cuminc(...)$Tests`` of mgus2, by sex."""
    columns = load("mgus2_competing.json")
    rows = pd.DataFrame({name: columns[name] for name in ("etime", "cause", "male")})
    known = CASES["mgus2_competing"]["gray_test"]["values"]
    found = gray_test("Surv(etime, cause) ~ male", rows)
    np.testing.assert_allclose(found[["statistic", "pvalue", "df"]], known, rtol=1e-11)


# -- other programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "gamma"), [(0.0, 0.0), (1.0, 0.0), (0.5, 1.0)])
def test_lifelines_with_three_groups_and_weights(rho, gamma):
    rows = random_rows(1)
    found = logrank_test(SURV, rows, weights="w", rho=rho, gamma=gamma)
    repeated = rows.loc[rows.index.repeat(rows["w"])]  # lifelines ignores weights in S(t-)
    given = {"weightings": "fleming-harrington", "p": rho, "q": gamma}
    theirs = multivariate_logrank_test(repeated["time"], repeated["g"], repeated["event"], **given)
    assert found.statistic == pytest.approx(theirs.test_statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(theirs.p_value, rel=1e-8)


@pytest.mark.parametrize("strata", [None, "s"])
def test_statsmodels_survdiff(strata):
    rows = random_rows(2)
    found = logrank_test(SURV, rows, strata=strata)
    theirs = survdiff(rows["time"], rows["event"], rows["g"], strata=None if strata is None else rows[strata])
    assert (found.statistic, found.pvalue) == pytest.approx(theirs, rel=1e-9)


def test_trend_is_the_score_test_of_a_cox_model():
    """Without equal times, of the partial likelihood in statsmodels at a coefficient of 0."""
    rows = random_rows(3)
    rows["time"] += np.random.default_rng(0).permutation(len(rows)) / 1e3
    found = logrank_test(SURV, rows, trend=True)
    model = PHReg(rows["time"], rows[["g"]].to_numpy(float), rows["event"])
    score, information = float(model.score(np.zeros(1))[0]), -float(model.hessian(np.zeros(1))[0, 0])
    assert found.statistic == pytest.approx(score**2 / information, rel=1e-8)
    assert found.df == 1
    words = rows.assign(g=rows["g"].map({0: "a", 1: "b", 2: "c"}))
    assert logrank_test(SURV, words, trend=True).statistic == pytest.approx(found.statistic)


# -- definitions ------------------------------------------------------------------------------------------------------


def log_rank_by_loops(rows, rho, gamma):
    """Scores and covariance by (NPT5) and (NPT6), time after time, within strata."""
    score, covariance = np.zeros(3), np.zeros((3, 3))
    for _, part in rows.groupby("s"):
        survival = 1.0
        for t in np.unique(part["time"][part["event"]]):
            at_risk = part[(part["entry"] < t) & (part["time"] >= t)]
            events = at_risk[(at_risk["time"] == t) & at_risk["event"]]
            n_k, d_k = (
                each.groupby("g")["w"].sum().reindex(range(3)).fillna(0.0).to_numpy() for each in (at_risk, events)
            )
            n, d = n_k.sum(), d_k.sum()
            height = survival**rho * (1.0 - survival) ** gamma
            score += height * (d_k - d * n_k / n)
            if n > 1:
                spread = height**2 * d * (n - d) / (n - 1.0)
                covariance += spread * (np.diag(n_k / n) - np.outer(n_k, n_k) / n**2)
            survival *= 1.0 - d / n
    return score, covariance


@pytest.mark.parametrize(("rho", "gamma"), [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_strata_late_entry_and_weights_by_definition(seed, rho, gamma):
    rows = random_rows(seed, late=True)
    score, covariance = log_rank_by_loops(rows, rho, gamma)
    want = score[1:] @ np.linalg.solve(covariance[1:, 1:], score[1:])
    found = logrank_test("Surv(entry, time, event) ~ g", rows, strata="s", rho=rho, gamma=gamma, weights="w")
    assert found.statistic == pytest.approx(want, rel=1e-9)
    assert found.pvalue == pytest.approx(chi2.sf(want, 2), rel=1e-8)
    np.testing.assert_allclose(found.groups["observed"] - found.groups["expected"], score, atol=1e-9)
    np.testing.assert_allclose(found.groups["chi2_variance"], score**2 / np.diag(covariance), rtol=1e-9)


def gray_by_loops(rows, k, rho):
    """Scores and covariance of Gray's test of cause 1 by (NPT7) to (NPT9): influences of each increment, in loops."""
    times = np.unique(rows["time"][rows["cause"] > 0])
    S, F_k, F = np.ones(k), np.zeros(k), 0.0
    score, past = np.zeros(k), []
    for t in times:
        n = np.array([(rows["time"][rows["g"] == r] >= t).sum() for r in range(k)], float)
        d = np.array(
            [[((rows["time"] == t) & (rows["g"] == r) & (rows["cause"] == c)).sum() for r in range(k)] for c in (1, 2)]
        )
        total = sum(n[r] / S[r] for r in range(k) if n[r])
        dF = d[0].sum() / total
        weight, hazard = (1.0 - F) ** rho, dF / (1.0 - F)
        R = np.array([n[r] * (1.0 - F_k[r]) / S[r] if n[r] else 0.0 for r in range(k)])
        score += weight * (d[0] - d[0].sum() * R / R.sum())
        after = np.array([S[r] * (1.0 - d[:, r].sum() / n[r]) if n[r] else S[r] for r in range(k)])
        entry = {
            "a": np.zeros((k, k)),
            "hazard": hazard,
            "lost": np.zeros(k),
            "case": np.zeros(k),
            "other": np.zeros(k),
        }
        for r in range(k):
            if not n[r]:
                continue
            for i in range(k):
                if n[i]:
                    entry["a"][i, r] = weight * n[i] / S[i] * ((i == r) - n[r] / S[r] / total)
            lasting = after[r] > 1e-12
            entry["lost"][r] = (1.0 - F - dF) / after[r] if lasting else 0.0
            D = d[0].sum()
            entry["case"][r] = S[r] * D / (total * n[r]) * (1.0 - (D - 1.0) / (total * S[r] - 1.0) if D > 1 else 1.0)
            if lasting:
                tied = 1.0 - (d[1, r] - 1.0) / (n[r] - 1.0) if d[1, r] > 1 else 1.0
                entry["other"][r] = S[r] ** 2 * d[1, r] / n[r] ** 2 * tied
        entry["lasting"] = after > 1e-12
        past.append(entry)
        F_k += [S[r] * d[0, r] / n[r] if n[r] else 0.0 for r in range(k)]
        S, F = after, F + dF
    covariance = np.zeros((k, k))
    for u, here in enumerate(past):
        later = sum((entry["a"] * entry["hazard"] for entry in past[u + 1 :]), np.zeros((k, k)))
        for r in range(k):
            case = here["a"][:, r] + (1.0 - here["lost"][r] if here["lasting"][r] else 1.0) * later[:, r]
            other = -here["lost"][r] * later[:, r]
            covariance += np.outer(case, case) * here["case"][r] + np.outer(other, other) * here["other"][r]
    return score, covariance


@pytest.mark.parametrize("rho", [0, 1])
@pytest.mark.parametrize("seed", range(2))
def test_grays_test_by_definition(seed, rho):
    """Three groups with equal times, within strata."""
    rows = random_rows(seed + 5)
    parts = [gray_by_loops(part, 3, rho) for _, part in rows.groupby("s")]
    score, covariance = (sum(each) for each in zip(*parts, strict=True))
    want = score[1:] @ np.linalg.solve(covariance[1:, 1:], score[1:])
    found = gray_test("Surv(time, cause) ~ g", rows, strata="s", rho=rho)
    assert found.loc[1, "statistic"] == pytest.approx(want, rel=1e-9)
    assert found.loc[1, "pvalue"] == pytest.approx(chi2.sf(want, 2), rel=1e-8)
    repeated = rows.loc[rows.index.repeat(rows["w"])]
    pd.testing.assert_frame_equal(
        gray_test("Surv(time, cause) ~ g", rows, strata="s", rho=rho, weights="w"),
        gray_test("Surv(time, cause) ~ g", repeated, strata="s", rho=rho),
    )


def test_without_competing_events_grays_scores_are_those_of_the_log_rank_test():
    rows = random_rows(8)
    code = rows["event"].to_numpy().astype(int)
    group, one = rows["g"].to_numpy(), np.ones(len(rows))
    scores = gray(TimesOfGroups(rows["time"].to_numpy(), code, one, -one, group), 3, np.zeros(len(rows), int))
    table = logrank_test(SURV, rows).groups
    np.testing.assert_allclose(scores.observed - scores.expected, table["observed"] - table["expected"], atol=1e-10)


@pytest.mark.slow
def test_grays_covariance_is_that_of_permuted_groups():
    """Under the null hypothesis, with the same censoring in all groups."""
    rng = np.random.default_rng(0)
    n = 400
    times = rng.exponential(1.0, (n, 3)) / np.array([1.0, 0.7, 0.4])
    code = np.array([1, 2, 0])[times.argmin(axis=1)]
    time, one, stratum, group = times.min(axis=1), np.ones(n), np.zeros(n, int), rng.integers(0, 3, n)
    found, scores = np.zeros((3, 3)), []
    for _ in range(1500):
        each = gray(TimesOfGroups(time, code, one, -one, rng.permutation(group)), 3, stratum)
        found += each.covariance / 1500
        scores.append(each.observed - each.expected)
    np.testing.assert_allclose(np.cov(np.array(scores).T), found, rtol=0.12)


def test_groups_that_are_never_at_risk_do_not_count():
    rows = pd.DataFrame({"time": [1.0, 2.0, 3.0, 4.0, 0.5], "event": [1, 1, 1, 0, 0], "g": list("ababc")})
    three, two = logrank_test(SURV, rows), logrank_test(SURV, rows[:4])
    assert (three.statistic, three.df) == (pytest.approx(two.statistic), two.df)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: logrank_test("Surv(time, event) ~ 1", d), DataError, "two groups at least"),
        (lambda d: logrank_test(SURV, d[d["g"] == 1]), DataError, "there is only 1"),
        (lambda d: logrank_test(SURV, d.assign(event=0)), DataError, "all rows are censored"),
        (lambda d: logrank_test(SURV, d, rho=-1), SpecError, "rho=-1"),
        (lambda d: logrank_test(SURV, d, strata="z"), DataError, "strata='z'"),
        (lambda d: logrank_test(SURV, d, strata="s"), DataError, "2 rows have no value"),
        (lambda d: logrank_test("interval(time, hi) ~ g", d.assign(hi=99.0)), SpecError, "right-censored"),
        (lambda d: gray_test("Surv(entry, time, cause) ~ g", d.assign(entry=0.5)), SpecError, "late entry"),
        (lambda d: gray_test(SURV, d), SpecError, "one kind of event"),
        (lambda d: gray_test("Surv(time, cause) ~ g", d, rho="1"), SpecError, "rho='1'"),
    ],
)
def test_what_is_not_compared(call, error, words):
    rows = random_rows(0)
    with pytest.raises(error, match=words):
        call(rows.assign(s=rows["s"].where(rows.index > 1)))
