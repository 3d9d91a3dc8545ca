"""Tables of Kaplan-Meier, Turnbull and Aalen-Johansen estimates against R, lifelines and definitions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lifelines import KaplanMeierFitter
from statsmodels.duration.survfunc import SurvfuncRight
from support.nondetects import cases as nondetect_cases
from support.nondetects import frame
from support.reference import load

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.survival import cumulative_incidence, kaplan_meier, quantiles, turnbull

CASES = load("event_histories.json")["cases"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.fixture(scope="module")
def mgus2():
    """Death on the scale of age, with late entry."""
    rows = pd.DataFrame({name: np.array(column, float) for name, column in load("mgus2.json")["rows"].items()})
    return rows.assign(exit=rows["entry"] + rows["months"] / 12.0, male=rows["male"].astype(int))


@pytest.fixture(scope="module")
def competing():
    columns = load("mgus2_competing.json")
    return pd.DataFrame({name: columns[name] for name in ("etime", "cause", "male")})


def random_rows(seed, n=60, levels=12, entry=False):
    """Whole-numbered times, so that many are equal."""
    rng = np.random.default_rng(seed)
    time = rng.integers(1, levels, n).astype(float)
    rows = pd.DataFrame({"time": time, "event": rng.random(n) < 0.7, "w": rng.integers(1, 4, n)})
    rows["cause"] = rows["event"] * rng.integers(1, 3, n)
    return rows.assign(entry=np.floor(time * rng.uniform(0.0, 0.9, n)) if entry else -1.0)


# -- R ----------------------------------------------------------------------------------------------------------------


def test_r_survfit_of_all_rows(lung):
    """``summary(survfit(Surv(time, event) ~ 1), times)``, limits on the scale of the logarithm."""
    case = load("lung_nonparametric.json")["kaplan_meier_all_228"]
    table = kaplan_meier("Surv(time, event) ~ 1", lung, times=case["times"])
    columns = {"survival": "surv", "se": "std_err", "n_risk": "n_risk", "lower": "lower_log", "upper": "upper_log"}
    for ours, theirs in columns.items():
        np.testing.assert_allclose(table[ours], case[theirs], rtol=1e-12)
    median = quantiles("Surv(time, event) ~ 1", lung)
    assert median.loc[0.5].tolist() == [228.0, 165.0, case["median"], 285.0, 363.0]


def test_r_survfit_by_sex(lung):
    """``summary(survfit(Surv(time, event) ~ sex, conf.type = "log-log"), times)``, and its medians."""
    case, rows = CASES["lung_nonparametric_sex"], lung.dropna(subset=["ph_ecog"])
    times = case["km"]["sex=1"]["time"]
    table = kaplan_meier("Surv(time, event) ~ sex", rows, times=times, conf_type="log-log")
    columns = {"n_risk": "n.risk", "n_event": "n.event", "survival": "surv", "se": "std.err"}
    for sex in (1, 2):
        for ours, theirs in {**columns, "lower": "lower", "upper": "upper"}.items():
            np.testing.assert_allclose(table.loc[sex, ours], case["km"][f"sex={sex}"][theirs], rtol=1e-12)
    medians = quantiles("Surv(time, event) ~ sex", rows, conf_type="log-log")
    np.testing.assert_array_equal(medians[["quantile", "lower", "upper"]], case["median"])


def test_published_medians_of_lung(lung):
    """``survfit(Surv(time, status) ~ sex, lung)`` as R's manual and many tutorials print it."""
    table = quantiles("Surv(time, event) ~ sex", lung)
    assert table.xs(0.5, level="p").to_numpy().tolist() == [[138, 112, 270, 212, 310], [90, 53, 426, 348, 550]]


def test_r_survfit_with_late_entry(mgus2):
    case = CASES["mgus2_delayed_entry"]
    table = kaplan_meier("Surv(entry, exit, death) ~ male", mgus2, times=[60, 70, 80, 90])
    given = kaplan_meier("Surv(entry, exit, death) ~ male", mgus2, times=[70, 80, 90], start=60)
    for male in (0, 1):
        part = mgus2[mgus2["male"] == male]
        # R counts the rows at risk when the next row ends, up to rounding.
        ends = [part["exit"][part["exit"] >= age - 1e-9].min() for age in (60, 70, 80, 90)]
        after = kaplan_meier("Surv(entry, exit, death) ~ 1", part, times=ends)
        np.testing.assert_array_equal(after["n_risk"], case["km"][f"male={male}"]["n_risk"])
        for ours, theirs in {"survival": "surv", "se": "std_err"}.items():
            np.testing.assert_allclose(table.loc[male, ours], case["km"][f"male={male}"][theirs], rtol=1e-10)
        for ours, theirs in {"survival": "surv", "se": "std_err"}.items():
            np.testing.assert_allclose(given.loc[male, ours], case["km_given_60"][f"male={male}"][theirs], rtol=1e-10)
    weighted = mgus2.assign(w=np.resize([1.0, 2.0, 0.5], len(mgus2)))
    found = kaplan_meier("Surv(entry, exit, death) ~ 1", weighted, weights="w", times=[70, 80, 90], start=60)
    np.testing.assert_allclose(found["survival"], case["weighted"]["km_given_60"]["surv"], rtol=1e-10)


def test_r_survfit_and_cuminc_of_causes(competing):
    """``survfit`` of several states, its standard errors, and ``cmprsk::cuminc``."""
    case = CASES["mgus2_competing"]
    table = cumulative_incidence("Surv(etime, cause) ~ male", competing, times=case["times"])
    for male in (0, 1):
        known = case["aalen_johansen"][f"male={male}"]
        for cause in (1, 2):
            found = table.loc[(male, cause)]
            np.testing.assert_allclose(found["incidence"], known[f"p{cause}"], rtol=1e-12)
            np.testing.assert_allclose(found["se"], known[f"se{cause}"], rtol=1e-10)
            np.testing.assert_array_equal(found["n_risk"], known["n_risk"])
            row = case["cuminc_est"]["rows"].index(f"{male} {cause}")
            np.testing.assert_allclose(found["incidence"], case["cuminc_est"]["values"][row], rtol=1e-12)


def test_nada_quantiles_of_nondetects():
    """``NADA::cenfit``: of a left-censored sample, Turnbull's estimate is Kaplan and Meier's of flipped values."""
    known = nondetect_cases()["pyrene_summary"]["km"]
    found = quantiles("pyrene ~ 1 | censor(nondetect=censored)", frame("she_pyrene"), known["nada_quantile_probs"])
    np.testing.assert_array_equal(found["quantile"], known["nada_quantiles"])
    assert found[["lower", "upper"]].isna().all(axis=None)


# -- other programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_lifelines_with_weights_and_late_entry(seed):
    rows = random_rows(seed, entry=True)
    rows = rows[rows["entry"] < rows["time"]]
    fitter = KaplanMeierFitter().fit(rows["time"], rows["event"], entry=rows["entry"], weights=rows["w"])
    table = kaplan_meier("Surv(entry, time, event) ~ 1", rows, weights="w", conf_type="log-log")
    theirs = fitter.survival_function_at_times(table.index).to_numpy()
    np.testing.assert_allclose(table["survival"], theirs, atol=1e-12)
    inner = table["survival"] < 1.0
    inner &= table["survival"] > 0.0
    limits = fitter.confidence_interval_survival_function_.loc[table.index[inner]]
    np.testing.assert_allclose(table.loc[inner, ["lower", "upper"]], limits, rtol=1e-9)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.7])
def test_statsmodels_quantiles_and_plain_limits(lung, p):
    theirs = SurvfuncRight(lung["time"], lung["event"])
    table = kaplan_meier("Surv(time, event) ~ 1", lung, conf_type="plain", confidence=0.9)
    np.testing.assert_allclose(table["se"], theirs.surv_prob_se, rtol=1e-10)
    reach = 1.6448536269514722 * theirs.surv_prob_se
    np.testing.assert_allclose(table["lower"], np.maximum(theirs.surv_prob - reach, 0.0), rtol=1e-9)
    np.testing.assert_allclose(table["upper"], np.minimum(theirs.surv_prob + reach, 1.0), rtol=1e-9)
    found = quantiles("Surv(time, event) ~ 1", lung, p)
    assert found["quantile"].tolist() == [theirs.quantile(p)]


# -- definitions ------------------------------------------------------------------------------------------------------


def test_frequency_weights_repeat_rows():
    rows = random_rows(4, n=40).assign(g=lambda d: d.index % 2)
    repeated = rows.loc[rows.index.repeat(rows["w"])]
    for of, formula in (
        (kaplan_meier, "Surv(time, event) ~ g"),
        (quantiles, "Surv(time, event) ~ g"),
        (cumulative_incidence, "Surv(time, cause) ~ g"),
    ):
        pd.testing.assert_frame_equal(of(formula, rows, weights="w"), of(formula, repeated))


def test_quantiles_where_the_curve_is_flat():
    """R's ``quantile.survfit``: the middle of the times at which survival is one half; infinite if there are none."""
    even = quantiles("Surv(time, event) ~ 1", {"time": [1.0, 2.0, 4.0, 5.0], "event": 1}, [0.5, 0.75])
    assert even["quantile"].tolist() == [3.0, 4.5]
    ends = quantiles("Surv(time, event) ~ 1", {"time": [1.0, 2.0, 4.0, 9.0], "event": [1, 1, 0, 0]}, [0.5, 0.6])
    assert ends["quantile"].tolist() == [5.5, np.inf]
    assert quantiles("Surv(t, e) ~ 1", {"t": [1.0, 2.0], "e": 0})["quantile"].tolist() == [np.inf]


def test_incidence_with_late_entry_by_definition():
    rows = random_rows(7, n=80, entry=True)
    rows = rows[rows["entry"] < rows["time"]]
    table = cumulative_incidence("Surv(entry, time, cause) ~ 1", rows, weights="w")
    survival, total = 1.0, {1: 0.0, 2: 0.0}
    for t in np.unique(rows["time"][rows["event"]]):
        n = rows["w"][(rows["entry"] < t) & (rows["time"] >= t)].sum()
        at = rows[(rows["time"] == t)]
        for cause in (1, 2):
            d = at["w"][at["cause"] == cause].sum()
            total[cause] += survival * d / n
            if d:
                row = table.loc[(cause, t)]
                assert (row["n_risk"], row["n_event"]) == (n, d)
                assert row["incidence"] == pytest.approx(total[cause], rel=1e-12)
        survival *= 1.0 - at["w"][at["event"]].sum() / n


def test_standard_errors_of_incidence_by_the_delta_method():
    """Variances of multinomial counts through numerical derivatives of the incidence in them."""
    rows = random_rows(9, n=50, levels=6)
    times = np.unique(rows["time"])
    n = np.array([(rows["time"] >= t).sum() for t in times], float)
    d = np.array([[((rows["time"] == t) & (rows["cause"] == k)).sum() for k in (1, 2)] for t in times], float)

    def incidence(d):
        before = np.append(1.0, np.cumprod(1.0 - d.sum(axis=1) / n))[:-1]
        return np.cumsum(before * d[:, 0] / n)

    table = cumulative_incidence("Surv(time, cause) ~ 1", rows, times=times[:-1])
    variance = np.zeros(len(times))
    for i in range(len(times)):
        share, slope = d[i] / n[i], []
        for k in range(2):
            step = np.zeros_like(d)
            step[i, k] = 1e-5
            slope.append((incidence(d + step) - incidence(d - step)) / 2e-5)
        covariance = n[i] * (np.diag(share) - np.outer(share, share))
        variance += np.einsum("kt,kl,lt->t", slope, covariance, slope)
    np.testing.assert_allclose(table.loc[1, "se"], np.sqrt(variance)[:-1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_turnbull_is_self_consistent(seed):
    """Probabilities that a long run of the EM algorithm finds over all intervals between ends."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, 6, 25).astype(float)
    hi = np.where(rng.random(25) < 0.3, np.inf, lo + rng.integers(1, 4, 25))
    table = turnbull("interval(lo, hi) ~ 1", {"lo": lo, "hi": hi})
    ends = np.append(np.unique(np.r_[lo, hi]), np.inf)
    left, right = ends[:-1], ends[1:]
    inside = (left >= lo[:, None]) & (right <= hi[:, None]) & (left < right)
    mass = np.full(len(left), 1.0 / len(left))
    for _ in range(5000):
        share = inside * mass
        mass = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    beyond = np.array([mass[left >= t].sum() for t in table.index.get_level_values("right")])
    np.testing.assert_allclose(table["survival"], np.where(np.isfinite(beyond), beyond, 0.0), atol=2e-4)
    assert table["probability"].sum() == pytest.approx(1.0)


# -- groups, and what is refused --------------------------------------------------------------------------------------


def test_groups_of_several_columns_are_those_of_each(lung):
    rows = lung.dropna(subset=["ph_ecog"]).assign(
        arm=lambda d: pd.Categorical(d["sex"].map({1: "m", 2: "f"}), ["m", "f"])
    )
    table = kaplan_meier("Surv(time, event) ~ arm + C(ph_ecog)", rows)
    assert table.index.names == ["arm", "ph_ecog", "time"]
    assert table.index.get_level_values("arm").unique().tolist() == ["m", "f"]
    for (arm, ecog), part in rows.groupby(["arm", "ph_ecog"], observed=True):
        alone = kaplan_meier("Surv(time, event) ~ 1", part)
        pd.testing.assert_frame_equal(table.xs(arm, level="arm").xs(ecog, level="ph_ecog"), alone)


def test_rows_without_a_group_are_dropped(lung):
    with pytest.warns(UserWarning, match="1 of 228 rows is dropped: missing values in 'ph_ecog'"):
        table = quantiles("Surv(time, event) ~ ph_ecog", lung)
    assert table["n"].sum() == 227


def test_other_frames_and_labels_that_occur_twice(lung):
    want = quantiles("Surv(time, event) ~ sex", lung)
    twice = lung.set_index(pd.Index(np.arange(228) // 2))
    for rows in (twice, pl.from_pandas(lung), pl.from_pandas(lung).lazy(), lung.to_dict("list")):
        pd.testing.assert_frame_equal(quantiles("Surv(time, event) ~ sex", rows), want)


def test_times_before_between_and_after_the_rows():
    rows = {"time": [2.0, 3.0, 5.0], "event": [1, 0, 0]}
    table = kaplan_meier("Surv(time, event) ~ 1", rows, times=[1, 4, 5, 6])
    assert table["n_risk"].tolist() == [3.0, 1.0, 1.0, 0.0]
    assert table["n_event"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert table["n_censor"].tolist() == [0.0, 1.0, 1.0, 0.0]
    np.testing.assert_allclose(table["survival"], [1.0, 2.0 / 3.0, 2.0 / 3.0, np.nan])
    gone = kaplan_meier("Surv(time, event) ~ 1", {"time": [2.0, 3.0], "event": 1}, times=[9])
    assert gone["survival"].tolist() == [0.0]
    assert gone[["se", "lower", "upper"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: kaplan_meier("Surv(time, event)", d), FormulaError, "has no '~'"),
        (lambda d: kaplan_meier("Surv(time, event) ~ gp(age)", d), FormulaError, "must be columns of groups"),
        (lambda d: kaplan_meier("Surv(time, event) ~ age - 1", d), FormulaError, "must be columns of groups"),
        (lambda d: kaplan_meier("Surv(time, event) ~ .", d), FormulaError, "must be columns of groups"),
        (lambda d: kaplan_meier(3, d), FormulaError, "must be text"),
        (lambda d: kaplan_meier("Surv(time, event) ~ sexx", d), DataError, "did you mean 'sex'"),
        (lambda d: kaplan_meier("Surv(time, event) ~ sex", d, weights=[1.0]), SpecError, "name of a column"),
        (lambda d: kaplan_meier("Surv(time, event) ~ sex", d, conf_type="loglog"), SpecError, "'log-log'"),
        (lambda d: kaplan_meier("Surv(time, event) ~ sex", d, confidence=95), SpecError, "confidence=95"),
        (lambda d: kaplan_meier("Surv(time, event) ~ sex", d, start=2000.0), DataError, "Choose an earlier one"),
        (lambda d: kaplan_meier("interval(time, age) ~ 1", d.assign(age=9e9)), SpecError, r"turnbull\(\)"),
        (lambda d: kaplan_meier("Surv(time, ph) ~ 1", d.assign(ph=d["sex"] - (d.index < 9))), SpecError, "gray_test"),
        (lambda d: kaplan_meier("time ~ 1 | truncate(0, 5000)", d), SpecError, "Right truncation"),
        (lambda d: quantiles("Surv(time, event) ~ sex", d, 50), SpecError, "p=50"),
        (lambda d: quantiles("Surv(time, event) ~ sex", d, start="a"), SpecError, "start='a'"),
        (lambda d: quantiles("Surv(time, event) ~ sex", {"time": [1.0, 2.0], "sex": [1]}), DataError, "one length"),
        (lambda d: quantiles("Surv(time, event) ~ sex", "lung.csv"), DataError, "not str"),
        (lambda d: quantiles("Surv(time, event) ~ sex", d[:0]), DataError, "row"),
        (lambda d: cumulative_incidence("Surv(time, event) ~ sex", d), SpecError, "one kind of event"),
        (
            lambda d: turnbull("interval(time, hi) ~ 1 | truncate(entry)", d.assign(entry=1.0, hi=9e9)),
            SpecError,
            "does not support late entry",
        ),
    ],
)
def test_what_has_no_table(lung, call, error, words):
    with pytest.raises(error, match=words):
        call(lung)
