"""Every row that is used is predicted once, by folds that are alike or by those asked for."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.model import Model
from tobitgp.selection.folds import deal, own_column, read_folds

N = 30


@pytest.mark.slow
@given(exact=st.lists(st.booleans(), min_size=2, max_size=60), folds=st.integers(2, 12), seed=st.integers(0, 99))
def test_dealt_folds_are_alike(exact, folds, seed):
    exact = np.array(exact)
    at = deal(exact, folds, np.random.default_rng(seed))
    assert np.ptp(np.bincount(at, minlength=folds)) <= 1
    for kind in (exact, ~exact):
        assert np.ptp(np.bincount(at[kind], minlength=folds)) <= 1
    assert np.array_equal(at, deal(exact, folds, np.random.default_rng(seed)))


def test_rows_are_shuffled():
    exact = np.ones(40, dtype=bool)
    found = [deal(exact, 4, np.random.default_rng(seed)) for seed in range(2)]
    assert not np.array_equal(*found)
    assert not np.array_equal(found[0], np.arange(40) % 4)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    x[[3, 17]] = np.nan
    return pd.DataFrame({"y": np.maximum(rng.normal(size=N), -0.5), "x": x, "site": np.repeat([30, 10, 20], 10)})


@pytest.fixture(scope="module")
def model(data):
    with pytest.warns(UserWarning, match="2 of 30 rows are dropped"):
        return Model("y ~ x | censor(-0.5)", data)


def read(folds, model, data):
    return read_folds(folds, model, data, np.random.default_rng(1))


@pytest.mark.parametrize("folds", [2, 7, 28, np.int64(5), "site", KFold(4), StratifiedKFold(3)], ids=str)
def test_every_row_used_is_in_one_fold_and_trains_the_others(model, data, folds):
    names, parts = read(folds, model, data)
    used = np.flatnonzero(data["x"].notna())
    assert len(names) == len(parts)
    assert sorted(np.concatenate([test for _, test in parts])) == used.tolist()
    for train, test in parts:
        assert sorted([*train, *test]) == used.tolist()


def test_rows_of_a_label_make_a_fold(model, data):
    for folds in ("site", data["site"], data["site"].to_numpy(), list(data["site"].map({10: "a", 20: "b", 30: "c"}))):
        names, parts = read(folds, model, data)
        assert names in ([10, 20, 30], ["a", "b", "c"])
        assert [set(data["site"].iloc[test]) for _, test in parts] == [{10}, {20}, {30}]


def test_folds_as_a_series_find_their_rows_by_labels(model, data):
    shuffled = data["site"].sample(frac=1.0, random_state=1)
    assert [at.tolist() for _, at in read(shuffled, model, data)[1]] == [
        at.tolist() for _, at in read("site", model, data)[1]
    ]
    foreign = data["site"].set_axis([f"p{i}" for i in range(N)])
    with pytest.raises(DataError, match=r"folds are a Series with labels .*, e.g. p0. .*folds.to_numpy\(\)"):
        read(foreign, model, data)
    twice = data["site"].set_axis([0, 0, *range(2, N)])
    with pytest.raises(DataError, match="repeated labels: 0 occurs twice"):
        read(twice, model, data)


def test_labels_are_needed_of_rows_used_only(model, data):
    site = data["site"].astype(float).where(data["x"].notna())
    assert read(site, model, data)[0] == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("splitter", [TimeSeriesSplit(3), ShuffleSplit(3, test_size=5, train_size=9, random_state=0)])
def test_a_splitter_chooses_the_training_rows_too(model, data, splitter):
    used = np.flatnonzero(data["x"].notna())
    _, parts = read(splitter, model, data)
    for (train, test), (a, b) in zip(parts, splitter.split(used), strict=True):
        assert train.tolist() == sorted(used[a])
        assert test.tolist() == sorted(used[b])


def test_a_stratified_splitter_deals_censored_rows_evenly(model, data):
    exact = (data["y"] > -0.5).to_numpy()
    counts = [exact[test].sum() for _, test in read(StratifiedKFold(4), model, data)[1]]
    assert np.ptp(counts) <= 1


class Empty:
    def split(self, X, y=None):
        return iter(())


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (1, "from 2 to 28"),
        (29, "from 2 to 28"),
        (True, "a number, a column, 30 labels"),
        (2.5, "a number, a column"),
        (None, "a number, a column"),
        ([1, 2], "30 labels"),
        ("where", "no such column"),
        ("x", None),
        (np.ones(N), "two different labels"),
        (np.where(np.arange(N) == 4, np.nan, 1.0), "missing labels"),
        (GroupKFold(3), "Give labels of groups directly as folds="),
        (KFold(29), "cannot split 28 rows"),
        (Empty(), "must not make empty folds"),
    ],
)
def test_what_makes_no_folds_is_refused(model, data, folds, words):
    if words is None:
        assert len(read(folds, model, data)[0]) == 28
        return
    with pytest.raises(SpecError, match=words):
        read(folds, model, data)


@pytest.mark.parametrize(
    ("formula", "kept"),
    [("y ~ .", False), ("y ~ x", False), ("y ~ x + re(site)", True), ("y ~ C(`site`)", True), ("y ~ sites", False)],
)
def test_a_column_of_folds_stays_where_the_formula_names_it(formula, kept):
    assert own_column(formula, "site", ["y", "x", "site"]) == ([] if kept else ["site"])
    assert own_column(formula, 5, ["y"]) == []


def test_a_dot_does_not_stand_for_the_folds(data):
    def columns(results, test):
        assert "site" in test
        return len(results.params)

    data = data.dropna()
    found = tg.cross_validate("y ~ . | censor(-0.5)", data, folds="site", method="mle", metrics=columns)
    assert (found["columns"] == 3.0).all()
    named = tg.cross_validate("y ~ x + site | censor(-0.5)", data, folds="site", method="mle", metrics=columns)
    assert (named["columns"] == 4.0).all()
