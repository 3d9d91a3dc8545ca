"""Cross-validation of competing risks and cure models: measures by cause from fits by hand and tobitgp.metrics."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.selection.held_out import MEASURES, HeldOut

FORMULA = "Surv(t, k) ~ x"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = rng.normal(size=240)
    times = rng.exponential(size=(240, 2)) / np.exp(np.column_stack([0.8 * x - 1.0, -1.5 + 0.0 * x]))
    first, cause, end = times.min(axis=1), times.argmin(axis=1) + 1, rng.uniform(1.0, 5.0, 240)
    text = np.where(first < end, np.where(cause == 1, "pcm", "death"), "censored")
    frame = pd.DataFrame({"t": np.minimum(first, end), "k": text, "x": x, "fold": np.arange(240) % 2})
    return frame.assign(w=1.0 + np.arange(240) % 3)


@pytest.mark.slow
def test_measures_are_those_of_fits_by_hand(data):
    names = ["log_likelihood", "nlpd", "concordance_index", "concordance_ipcw"]
    names += ["integrated_brier_score", "cumulative_dynamic_auc"]
    found = tg.cross_validate(FORMULA, data, folds="fold", metrics=names, family="weibull", weights="w")
    assert list(found.columns[3:7]) == ["log_likelihood", "nlpd", "concordance_index[death]", "concordance_index[pcm]"]
    train, test = data[data["fold"] == 1], data[data["fold"] == 0]
    res = tg.fit(FORMULA, train, family="weibull", weights="w")
    row, w = found.loc[0], (train["w"], test["w"])
    assert row["log_likelihood"] == pytest.approx(res.score(test, weights="w"))
    assert row["nlpd"] == -row["log_likelihood"]
    mine = sorted(np.repeat(train.loc[train["k"] == "pcm", "t"], train.loc[train["k"] == "pcm", "w"].astype(int)))
    low, high = np.quantile(mine, [0.1, 0.9], method="inverted_cdf")
    late = res.predict_cumulative_incidence(test, [high], cause="pcm").to_numpy()[0]
    order = tg.metrics.concordance_index(test["t"], -late, test["k"], cause="pcm", weights=test["w"])
    assert row["concordance_index[pcm]"] == pytest.approx(order)
    pair = (train["t"], train["k"]), (test["t"], test["k"])
    uno = tg.metrics.concordance_ipcw(*pair, -late, high, cause="pcm", weights=w)
    assert row["concordance_ipcw[pcm]"] == pytest.approx(uno)
    times = np.linspace(max(low, test.loc[test["k"] == "pcm", "t"].min()), high, 100)
    curves = res.predict_cumulative_incidence(test, times, cause="pcm")
    brier = tg.metrics.integrated_brier_score(*pair, curves, times, cause="pcm", weights=w)
    assert row["integrated_brier_score[pcm]"] == pytest.approx(brier)
    area = tg.metrics.cumulative_dynamic_auc(*pair, curves, times, cause="pcm", weights=w).mean
    assert row["cumulative_dynamic_auc[pcm]"] == pytest.approx(area)
    assert row["concordance_index[pcm]"] > 0.6 > row["concordance_index[death]"]


@pytest.mark.slow
def test_late_entry_has_a_landmark(data):
    late = data.assign(s=np.where(np.arange(240) % 4 == 0, 0.3 * data["t"], 0.0))
    names = ["concordance_index", "integrated_brier_score"]
    found = tg.cross_validate("Surv(s, t, k) ~ x", late, folds="fold", metrics=names, family="weibull")
    train, test = late[late["fold"] == 1], late[late["fold"] == 0]
    res = tg.fit("Surv(s, t, k) ~ x", train, family="weibull")
    low, high = np.quantile(train.loc[train["k"] == "death", "t"], [0.1, 0.9], method="inverted_cdf")
    at_risk = (test["s"] <= low) & (test["t"] > low) & (test["k"] == "death")
    times = np.linspace(max(low, test.loc[at_risk, "t"].min()), high, 100)
    curves = res.predict_cumulative_incidence(test, times - low, cause="death", conditional_after=low)
    pair = (train["t"], train["k"]), (test["t"], test["k"])
    how = {"cause": "death", "entry": (train["s"], test["s"]), "landmark": low}
    brier = tg.metrics.integrated_brier_score(*pair, curves.set_axis(times), times, **how)
    assert found.loc[0, "integrated_brier_score[death]"] == pytest.approx(brier)


def test_numbers_of_folds_functions_and_rows_that_are_dropped(data):
    lacking = data.assign(x=data["x"].where(np.arange(240) % 50 > 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = tg.cross_validate(FORMULA, lacking, folds=3, metrics={"events": count}, family="lognormal")
    assert found["n_test"].sum() == 235
    assert found["events"].tolist() == (0.0 + found["n_train"]).tolist()
    assert sum("dropped" in str(one.message) for one in caught) == 1


def count(results, test):
    return results.counts.sum()


def test_missing_values_are_warned_of_once(data):
    lacking = data.assign(x=data["x"].where(np.arange(240) > 2))
    with pytest.warns(UserWarning, match="3 of 240 rows are dropped") as caught:
        tg.fit(FORMULA, lacking, family="weibull")
    assert len(caught) == 1


def test_what_competing_risks_have_not(data):
    with pytest.raises(SpecError, match="compares values"):
        tg.cross_validate(FORMULA, data, folds=2, metrics="mae", family="weibull")
    res = tg.fit(FORMULA, data, family="weibull")
    with pytest.raises(AttributeError, match=r"Use that of a cause, e.g. res\['death'\].plot_terms"):
        _ = res.plot_terms
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = res.colour


@pytest.mark.slow
def test_every_cause_is_checked(data):
    res = tg.fit(FORMULA, data, family="weibull")
    found = res.check(rng=1).table
    for cause in res.causes:
        own = res[cause].check(rng=1).table
        pd.testing.assert_frame_equal(
            found.filter(like=f"{cause}: ", axis=0).reset_index(drop=True), own.reset_index(drop=True)
        )


@pytest.mark.filterwarnings("ignore:.*is not finite in row:tobitgp.errors.ApproximationWarning")
def test_cure_models_are_cross_validated_and_fitted_by_columns():
    data = tg.datasets.simulate_cure(n=240, rng=1)
    names = ["log_likelihood", "concordance_ipcw", "integrated_brier_score", "cumulative_dynamic_auc"]
    how = {"family": "weibull", "cure": "~ treated"}
    found = tg.cross_validate("Surv(time, event) ~ treated", data, folds=2, metrics=names, **how)
    assert found[names].notna().all(axis=None)
    train, test = data.iloc[::2], data.iloc[1::2]
    res = tg.fit("Surv(time, event) ~ treated", train, **how)
    held = HeldOut(res, test, None)
    last = np.quantile(train.loc[train["event"] == 1, "time"], 0.9, method="inverted_cdf")
    mean = res.predict_restricted_mean(test, train["time"].max())
    pair = (train["time"], train["event"]), (test["time"], test["event"])
    assert MEASURES["concordance_ipcw"](held) == pytest.approx(tg.metrics.concordance_ipcw(*pair, mean, tau=last))
    model = tg.SurvivalModel("treated", **how).fit(data, "time", "event")
    assert model.score(data) == pytest.approx(model.results_.llf / 240)
    assert model.predict_survival_function(data.head(2), times=[1.0]).shape == (1, 2)


def test_selection_adds_up_over_causes(data):
    found = tg.select({"family": ["weibull", "lognormal"]}, data, formula=FORMULA, by="bic")
    for family in ("weibull", "lognormal"):
        res = tg.fit(FORMULA, data, family=family)
        assert found.table.loc[f"family={family}", "value"] == pytest.approx(
            sum(res[cause].bic for cause in res.causes)
        )
    assert found.table.loc[found.table.index[0], "weight"] > 0.5
    with pytest.warns(UserWarning, match="linear columns differ"):
        by_evidence = tg.select([FORMULA, "Surv(t, k) ~ 1"], data, family="exponential")
    assert by_evidence.best.formula == FORMULA
    sums = [sum(res.parts.fits[c].log_evidence for c in res.causes) for res in by_evidence.results.values()]
    assert by_evidence.table["value"].sort_index().tolist() == pytest.approx(sorted(sums))


@pytest.mark.slow
def test_what_cannot_be_compared(data):
    res = tg.fit(FORMULA, data, family="weibull")
    fewer = tg.fit(FORMULA, data.iloc[5:], family="weibull")
    other = tg.fit(FORMULA, data.replace({"k": {"pcm": "myeloma"}}), family="weibull")
    for one, by, words in (
        (fewer, "aic", "different rows"),
        (other, "aic", "different causes"),
        (res["pcm"], "aic", "different causes"),
        (res, "log_evidence", "not available"),
    ):
        with pytest.raises(SpecError, match=words):
            tg.compare({"a": res, "b": one}, by)
