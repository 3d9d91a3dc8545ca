"""Cross-validation does what a loop over folds does, and says what failed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError

LINEAR = "Surv(time, event) ~ age + sex"
FORMULAS = {
    "process": ("Surv(time, event) ~ gp(age) + sex", {"family": "lognormal", "method": tg.EP(hyper="maximize")}),
    "regression": (LINEAR, {"family": "weibull"}),
    "mixture": ("Surv(time, event) ~ mixture(2)", {"family": "weibull"}),
}


@pytest.fixture(scope="module")
def lung():
    data = tg.datasets.load("lung")[["time", "event", "age", "sex", "ph_ecog"]].iloc[:90]
    data.index = [f"patient {i}" for i in range(90)]
    return data


@pytest.mark.parametrize("kind", FORMULAS)
def test_each_fold_is_a_fit_without_its_rows(lung, kind):
    formula, options = FORMULAS[kind]
    metrics = ["log_likelihood", *(["concordance_index"] if kind != "mixture" else [])]
    before = lung.copy()
    found = tg.cross_validate(formula, lung, folds=np.arange(90) % 3, metrics=metrics, **options)
    pd.testing.assert_frame_equal(lung, before)
    for fold in range(3):
        test = np.arange(90) % 3 == fold
        res = tg.fit(formula, lung[~test], **options)
        row = found.loc[fold]
        assert (row["n_train"], row["n_test"], row["converged"]) == (60, 30, res.converged)
        for metric in metrics:
            assert np.isclose(row[metric], res.score(lung[test], metric), rtol=1e-10)


@pytest.mark.slow
def test_a_mixture_orders_no_rows(lung):
    with pytest.warns(UserWarning, match="concordance_index is not available"):
        found = tg.cross_validate(FORMULAS["mixture"][0], lung, folds=2, family="weibull")
    assert found["concordance_index"].isna().all()
    assert found["log_likelihood"].notna().all()


def test_rows_that_a_fit_drops_are_in_no_fold(lung):
    data = lung.assign(age=lung["age"].where(np.arange(90) % 9 > 0))
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        found = tg.cross_validate(LINEAR, data, folds=4, family="weibull")
        clean = tg.cross_validate(LINEAR, data.dropna(subset="age"), folds=4, family="weibull")
    pd.testing.assert_frame_equal(found, clean)
    assert found["n_test"].sum() == 80


@pytest.mark.slow
def test_processes_change_nothing(lung):
    def own(results, test):
        return float(results.predict(test, "median").sum())

    options = {"folds": 3, "metrics": ["log_likelihood", own], "rng": 5, "family": "weibull"}
    one, two = (tg.cross_validate("Surv(time, event) ~ mixture(2)", lung, n_jobs=n, **options) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.slow
def test_random_numbers_deal_the_rows(lung):
    def run(rng):
        return tg.cross_validate(LINEAR, lung, folds=3, rng=rng, family="weibull")

    pd.testing.assert_frame_equal(run(1), run(np.random.default_rng(1)))
    pd.testing.assert_frame_equal(run(None), run(None))
    assert not np.allclose(run(1)["log_likelihood"], run(2)["log_likelihood"])


def test_weights_are_repeated_rows(lung):
    weight = 1 + np.arange(90) % 3
    at = np.repeat(np.arange(90), weight)
    fold = np.arange(90) % 4
    options = {"family": "weibull", "metrics": ["log_likelihood", "concordance_index"]}
    repeated = tg.cross_validate(LINEAR, lung.iloc[at], folds=fold[at], **options)
    weighted = {
        "array": tg.cross_validate(LINEAR, lung, folds=fold, weights=weight, **options),
        "column": tg.cross_validate(LINEAR, lung.assign(w=weight), folds=fold, weights="w", **options),
    }
    for found in weighted.values():
        pd.testing.assert_frame_equal(found[options["metrics"]], repeated[options["metrics"]], rtol=1e-5)
        assert (found["n_test"] < repeated["n_test"]).all()


def test_a_dict_is_a_frame(lung):
    columns = {name: lung[name].to_numpy() for name in lung}
    options = {"folds": KFold(3), "family": "weibull"}
    found = tg.cross_validate(LINEAR, columns, **options)
    pd.testing.assert_frame_equal(found, tg.cross_validate(LINEAR, lung, **options))


def test_a_fold_that_fails_is_named_and_the_others_go_on(lung):
    data = lung.assign(z=np.where(np.arange(90) % 3 == 0, np.arange(90.0), 1.0))
    formula = "Surv(time, event) ~ age + bs(z, df=4)"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = tg.cross_validate(formula, data, folds=np.arange(90) % 3, family="weibull")
    assert any("Fold 0 failed" in str(note.message) for note in said)
    assert found.loc[0, ["log_likelihood", "concordance_index"]].isna().all()
    assert not found.loc[0, "converged"]
    assert found.loc[[1, 2], "log_likelihood"].notna().all()


def test_what_all_folds_fail_of_is_raised(lung):
    data = lung.assign(z=np.arange(90) // 45)
    with pytest.raises(DataError, match="Column 'z'"):
        tg.cross_validate("Surv(time, event) ~ age + z", data, folds=np.arange(90) // 45, family="weibull")
    with pytest.raises(FormulaError, match="no column 'nothing'"):
        tg.cross_validate("Surv(time, event) ~ nothing", data, folds=2, family="weibull")


def test_unseen_levels_leave_no_measures(lung):
    data = lung.assign(g=np.where(np.arange(90) % 3 == 0, "rare", np.where(np.arange(90) % 2, "usual", "often")))
    with pytest.warns(UserWarning, match="rare"):
        found = tg.cross_validate("Surv(time, event) ~ age + g", data, folds=np.arange(90) % 3, family="weibull")
    assert found.loc[0, ["log_likelihood", "concordance_index"]].isna().all()


def test_warnings_are_passed_on_once(lung):
    with pytest.warns(UserWarning, match="ph_ecog") as said:
        tg.cross_validate(LINEAR + " + ph_ecog", lung, folds=3, family="weibull")
    texts = [str(note.message) for note in said]
    assert len(texts) == len(set(texts))


def test_progress_is_told(lung):
    told = []
    found = tg.cross_validate(
        LINEAR, lung, folds=3, family="weibull", progress=lambda fold, done, value: told.append((fold, done, value))
    )
    assert told == [(str(k), k, found.loc[k, "log_likelihood"]) for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metrics": "accuracy"}, "'accuracy' is not a metric of cross_validate"),
        ({"metrics": []}, "is empty"),
        ({"metrics": 3}, "names, functions, or a dict"),
        ({"n_jobs": 0}, "a number of processes"),
        ({"cov_kwds": {"groups": "sex"}}, "cov_kwds= is not supported in"),
        ({"mehtod": "ep"}, "'mehtod' is not an argument that cross_validate.. can pass to tg.fit; did you"),
    ],
)
def test_options_that_cannot_be_read_are_refused(lung, options, words):
    with pytest.raises(SpecError, match=words):
        tg.cross_validate(LINEAR, lung, **options)


def test_weights_as_a_series_find_their_rows_by_labels(lung):
    weight = pd.Series(np.arange(len(lung)) % 3 + 1.0, index=lung.index)
    options = {"folds": 3, "family": "weibull"}
    want = tg.cross_validate(LINEAR, lung, weights=weight, **options)
    pd.testing.assert_frame_equal(tg.cross_validate(LINEAR, lung, weights=weight[::-1], **options), want)
    pd.testing.assert_frame_equal(tg.cross_validate(LINEAR, lung, weights=weight.to_numpy(), **options), want)
