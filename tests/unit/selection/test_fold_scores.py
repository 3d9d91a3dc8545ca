"""Predictions of rows left out and scores of all of them together, against a loop of fits."""

import pickle

import lifelines.utils
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import ShuffleSplit

import tobitgp as tg
from tobitgp.errors import SpecError

LINEAR = "Surv(time, event) ~ age + sex"
LEFT = "y ~ x + gp(x) | censor(limit)"
FOLDS = np.repeat([0, 1, 2], [40, 30, 20])[np.random.default_rng(2).permutation(90)]


@pytest.fixture(scope="module")
def lung():
    data = tg.datasets.load("lung")[["time", "event", "age", "sex"]].iloc[:90]
    data.index = [f"patient {i}" for i in range(90)]
    return data


@pytest.fixture(scope="module")
def left():
    rng = np.random.default_rng(4)
    x = rng.uniform(-2.0, 2.0, 60)
    y = np.sin(2.0 * x) + 0.3 * rng.normal(size=60)
    return pd.DataFrame({"x": x, "limit": -0.5, "y": np.maximum(y, -0.5), "fold": np.arange(60) % 4 // 2})


def loop(formula, data, folds, **options):
    """Fits to all rows but those of a fold, with these rows."""
    return [(tg.fit(formula, data[folds != k], **options), data[folds == k]) for k in np.unique(folds)]


def test_predictions_and_scores_are_those_of_a_loop(lung):
    metrics = ["log_likelihood", "nlpd", "concordance_index", "integrated_brier_score"]
    asked = {"what": "median", "interval": 0.9}
    found = tg.cross_validate(LINEAR, lung, folds=FOLDS, metrics=metrics, predict=asked, family="weibull")
    fits = loop(LINEAR, lung, FOLDS, family="weibull")
    own = pd.concat([res.predict(test, "median", interval=0.9) for res, test in fits]).loc[lung.index]
    pd.testing.assert_frame_equal(found.predictions.drop(columns="fold"), own, rtol=1e-10)
    np.testing.assert_array_equal(found.predictions["fold"], FOLDS)
    densities = np.concatenate([np.repeat(res.score(test), len(test)) for res, test in fits])
    assert found.pooled["log_likelihood"] == pytest.approx(densities.mean(), rel=1e-12)
    assert found.pooled["nlpd"] == -found.pooled["log_likelihood"]
    theirs = lifelines.utils.concordance_index(lung["time"], own["estimate"], lung["event"])
    assert found.pooled["concordance_index"] == pytest.approx(theirs, rel=1e-12)
    assert abs(theirs - found["concordance_index"].mean()) > 1e-3
    brier = found["integrated_brier_score"] @ np.array([40, 30, 20]) / 90
    assert found.pooled["integrated_brier_score"] == pytest.approx(brier, rel=1e-12)
    assert list(found.pooled.index) == metrics


def test_errors_of_a_process_are_pooled_over_weighted_rows(left):
    weight = np.where(np.arange(60) % 5 == 0, 2.0, 1.0)
    how = {"method": tg.EP(hyper="maximize")}
    found = tg.cross_validate(
        LEFT,
        left,
        folds="fold",
        metrics=["mae", "rmse", "concordance_index"],
        predict="observed",
        weights=weight,
        **how,
    )
    fits = [(tg.fit(LEFT, left[left["fold"] != k], weights=weight[left["fold"] != k], **how), k) for k in (0, 1)]
    own = pd.concat([res.predict(left[left["fold"] == k], "observed") for res, k in fits]).loc[left.index]
    np.testing.assert_allclose(found.predictions["observed"], own, rtol=1e-8)
    error = left["y"] - own
    assert found.pooled["mae"] == pytest.approx(np.average(np.abs(error), weights=weight), rel=1e-8)
    assert found.pooled["rmse"] == pytest.approx(np.sqrt(np.average(error**2, weights=weight)), rel=1e-8)
    copies = np.repeat(np.arange(60), weight.astype(int))
    median = pd.concat([res.predict(left[left["fold"] == k], "median") for res, k in fits]).loc[left.index].iloc[copies]
    seen = left.iloc[copies]
    order = tg.metrics.concordance_index(
        None, median, lower=seen["y"].where(seen["y"] > -0.5, -np.inf), upper=seen["y"]
    )
    assert found.pooled["concordance_index"] == pytest.approx(order, rel=1e-8)


def test_predictions_are_medians_without_an_argument(lung):
    found = tg.cross_validate(LINEAR, lung, folds=2, family="weibull")
    assert list(found.predictions.columns) == ["fold", "median"]
    assert found.predictions["fold"].value_counts().to_dict() == found["n_test"].to_dict()
    assert found.predictions.index.equals(lung.index)


def test_any_number_of_columns(lung):
    for asked in (
        {"what": "quantile", "q": [0.1, 0.5]},
        {"what": "terms"},
        {"what": "prob", "below": 300.0, "se": True},
    ):
        found = tg.cross_validate(LINEAR, lung, folds=FOLDS, predict=asked, family="weibull")
        res, test = loop(LINEAR, lung, FOLDS, family="weibull")[0]
        own = pd.DataFrame(res.predict(test, **asked))
        table = found.predictions
        pd.testing.assert_frame_equal(
            table[FOLDS == 0].iloc[:, 1:], own, rtol=1e-10, check_names=False, check_column_type=False
        )


def test_rows_that_several_folds_leave_out_have_a_prediction_by_each(lung):
    splits = ShuffleSplit(3, test_size=30, random_state=1)
    found = tg.cross_validate(LINEAR, lung, folds=splits, family="weibull")
    tests = [test for _, test in splits.split(np.zeros((90, 1)))]
    assert len(found.predictions) == 90
    for fold, test in enumerate(tests, start=1):
        mine = found.predictions[found.predictions["fold"] == fold]
        assert list(mine.index) == list(lung.index[np.sort(test)])


def test_a_fold_that_fails_has_no_predictions(lung):
    arm = np.where(FOLDS == 0, "only here", np.where(np.arange(90) % 2, "a", "b"))
    with pytest.warns(UserWarning, match="not available"):
        found = tg.cross_validate("Surv(time, event) ~ arm", lung.assign(arm=arm), folds=FOLDS, family="weibull")
    assert found.predictions.loc[FOLDS == 0, "median"].isna().all()
    assert found.predictions.loc[FOLDS != 0, "median"].notna().all()
    scored = found["log_likelihood"].to_numpy()
    assert np.isnan(scored[0])
    assert found.pooled["log_likelihood"] == pytest.approx(scored[1:] @ np.array([30, 20]) / 50, rel=1e-12)


def test_predictions_that_a_fit_does_not_have_are_an_error(lung):
    with pytest.warns(UserWarning, match="Predictions are not available"):
        found = tg.cross_validate(LINEAR, lung, folds=2, predict="component", family="weibull")
    assert found["log_likelihood"].notna().all()
    with pytest.raises(SpecError, match="component"):
        _ = found.predictions
    for predict, words in (({"wat": "median"}, "'wat'"), (3, "predict=3")):
        with pytest.raises(SpecError, match=words):
            tg.cross_validate(LINEAR, lung, folds=2, predict=predict, family="weibull")


def test_processes_keep_predictions_and_columns_are_plain(lung):
    found = tg.cross_validate(
        LINEAR, lung, folds=2, family="weibull", metrics={"own": lambda res, test: float(len(test))}
    )
    assert found.pooled["own"] == 45.0
    copied = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(copied.predictions, found.predictions)
    pd.testing.assert_series_equal(copied.pooled, found.pooled)
    assert type(found[["n_train"]]) is pd.DataFrame


def test_competing_risks_are_pooled_by_cause(lung):
    data = lung.assign(cause=lung["event"] * (1 + (lung["age"] > 63)))
    metrics = ["log_likelihood", "concordance_index"]
    found = tg.cross_validate("Surv(time, cause) ~ sex", data, folds=FOLDS, metrics=metrics, family="weibull")
    size = found["n_test"] / 90
    assert list(found.pooled.index) == ["log_likelihood", "concordance_index[1]", "concordance_index[2]"]
    np.testing.assert_allclose(found.pooled, found[found.pooled.index].T @ size, rtol=1e-12)
