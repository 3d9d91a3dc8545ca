"""Curves in Parquet files are those in memory, whatever the rows are called and however many are done at a time."""

import sys

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.results import written_curves

pytest.importorskip("pyarrow")
TIMES = [10.0, 100.0, 400.0]


@pytest.fixture(scope="module")
def data():
    lung = tg.datasets.load("lung")[["time", "event", "age", "sex"]].head(60)
    return lung.assign(age=lung["age"].where(lung.index != 4)).set_index("p" + lung.index.astype(str))


@pytest.fixture(scope="module", params=["gp(age) + sex", "age + sex", "mixture(2)"])
def fit(request, data):
    return tg.fit(f"Surv(time, event) ~ {request.param}", data.dropna(), family="weibull")


@pytest.mark.parametrize("curve", ["survival", "cumulative_hazard", "hazard"])
@pytest.mark.parametrize("interval", [None, 0.9])
def test_files_hold_what_memory_holds(fit, data, tmp_path, monkeypatch, curve, interval):
    monkeypatch.setattr(written_curves, "_LINES", 21)
    path = tmp_path / "curves.parquet"
    fit.write_curves(path, data, TIMES, curve=curve, conditional_after=5.0, interval=interval)
    found = pd.read_parquet(path)
    ask = getattr(fit, f"predict_{curve}" + "_function" * (curve == "survival"))
    want = ask(data, TIMES, conditional_after=5.0, interval=interval)
    names = ["mean"] if interval is None else ["mean", "median", "lower", "upper"]
    assert found.columns.tolist() == ["row", "time", *names]
    assert found["row"].tolist() == np.repeat(data.index, 3).tolist()
    assert found["time"].tolist() == TIMES * len(data)
    for name in names:
        shown = want if interval is None else want.xs(name, axis=1, level="statistic")
        np.testing.assert_allclose(found[name], shown.to_numpy().T.ravel(), rtol=1e-9)


def test_rows_come_from_anywhere(fit, data, tmp_path):
    path = tmp_path / "curves.pq"
    known = data.dropna().head(6)
    fit.write_curves(str(path), known, TIMES)
    want = pd.read_parquet(path)
    fit.write_curves(path, known.set_index([known.index, np.arange(6)]), TIMES)
    both = pd.read_parquet(path)
    assert both.columns.tolist() == ["row_0", "row_1", "time", "mean"]
    np.testing.assert_allclose(both["mean"], want["mean"], rtol=1e-9)
    fit.write_curves(path, {name: known[name].to_numpy() for name in known}, TIMES)
    np.testing.assert_allclose(pd.read_parquet(path)["mean"], want["mean"], rtol=1e-9)
    fit.write_curves(path, known.iloc[:0], TIMES)
    assert pd.read_parquet(path).shape == (0, 3)
    fit.write_curves(path, times=TIMES)
    assert len(pd.read_parquet(path)) == 3 * len(fit.predict_survival_function(times=TIMES).columns)
    dd = pytest.importorskip("dask.dataframe")
    fit.write_curves(path, dd.from_pandas(known, npartitions=2), TIMES)
    pd.testing.assert_frame_equal(pd.read_parquet(path), want, check_dtype=False)


@pytest.mark.parametrize(
    ("path", "options", "match"),
    [
        ("curves.csv", {}, "ends in .parquet or .pq"),
        (3, {}, "path=3"),
        ("curves.parquet", {"curve": "hazzard"}, "choose one of 'survival'"),
        ("curves.parquet", {"conditional_after": [1.0, 2.0]}, "one time for all rows"),
        ("curves.parquet", {"interval": 2.0}, "interval=2.0"),
        ("no/curves.parquet", {}, "No such file"),
    ],
)
def test_what_cannot_be_written(fit, data, tmp_path, monkeypatch, path, options, match):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=match):
        fit.write_curves(path, data.head(2), TIMES, **options)
    assert not any(tmp_path.iterdir())


def test_rows_of_the_fit_are_written_some_at_a_time_too(fit, tmp_path, monkeypatch):
    paths = tmp_path / "some.parquet", tmp_path / "all.parquet"
    for path, lines in zip(paths, (21, 10**6), strict=True):
        monkeypatch.setattr(written_curves, "_LINES", lines)
        fit.write_curves(path, times=TIMES, interval=0.9, conditional_after=5.0)
    some, at_once = map(pd.read_parquet, paths)
    pd.testing.assert_frame_equal(some, at_once)


def test_labels_that_no_column_holds(fit, data, tmp_path):
    with pytest.raises(DataError, match=r"both numbers and text.*reset_index"):
        fit.write_curves(tmp_path / "curves.parquet", data.head(2).set_axis([1, "a"]), TIMES)
    assert not any(tmp_path.iterdir())


def test_without_pyarrow(fit, data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpecError, match=r"pip install 'tobitgp\[parquet\]'"):
        fit.write_curves(tmp_path / "curves.parquet", data, TIMES)
