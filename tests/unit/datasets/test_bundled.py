from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.processes import printed_by

from tobitgp.datasets import available, load
from tobitgp.datasets.bundled import DATASETS
from tobitgp.errors import DataError

README = Path(__file__).parents[3] / "datasets" / "README.md"
SHAPES = {
    "diabetes": (731, 3),
    "gbsg2": (686, 10),
    "lung": (228, 10),
    "nh4": (102, 7),
    "rossi": (432, 9),
    "tobin": (20, 3),
}


def test_every_data_set_is_listed_and_has_a_shape_here():
    assert available() == sorted(DATASETS) == sorted(SHAPES)


@pytest.mark.parametrize("name", DATASETS)
def test_a_frame_is_tidy(name):
    frame = load(name)
    assert frame.shape == SHAPES[name]
    assert frame.columns.is_unique
    assert all(column.isidentifier() and column == column.lower() for column in frame)
    pd.testing.assert_index_equal(frame.index, pd.RangeIndex(len(frame)))
    words = frame.loc[
        :, [pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes]
    ]
    assert words.map(lambda cell: isinstance(cell, str)).all(axis=None)
    if "event" in frame:
        assert set(frame["event"]) == {0, 1}


@pytest.mark.parametrize("name", DATASETS)
def test_readme_has_a_row_with_rows_and_columns(name):
    (row,) = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}`")]
    cells = row.strip("| ").split(" | ")
    assert int(cells[1]) == len(load(name))
    assert all(f"`{column}`" in cells[4] for column in load(name))


@pytest.mark.parametrize("name", DATASETS)
def test_each_call_gives_a_fresh_frame(name):
    changed, before = load(name), load(name)
    changed.iloc[0] = changed.iloc[1]
    changed["new"] = 1
    pd.testing.assert_frame_equal(load(name), before)


def test_diabetes():
    diabetes = load("diabetes")
    assert (diabetes["left"] <= diabetes["right"]).all()
    assert (diabetes["left"] == diabetes["right"]).sum() == 595
    assert diabetes["sex"].value_counts().to_dict() == {"male": 454, "female": 277}


def test_gbsg2():
    gbsg2 = load("gbsg2")
    assert gbsg2["event"].sum() == 299
    assert gbsg2["time"].agg(["min", "max"]).tolist() == [8, 2659]
    assert gbsg2["hormone"].value_counts().to_dict() == {"no": 440, "yes": 246}
    assert set(gbsg2["grade"]) == {"I", "II", "III"}
    assert gbsg2.notna().all(axis=None)


def test_lung():
    lung = load("lung")
    assert list(lung) == [
        "inst", "time", "event", "age", "sex", "ph_ecog", "ph_karno", "pat_karno", "meal_cal", "wt_loss",
    ]  # fmt: skip
    assert lung["event"].sum() == 165
    assert lung["time"].agg(["min", "max"]).tolist() == [5, 1022]
    assert lung["sex"].value_counts().to_dict() == {1: 138, 2: 90}
    assert lung.isna().sum()[lambda count: count > 0].to_dict() == {
        "inst": 1, "ph_ecog": 1, "ph_karno": 1, "pat_karno": 3, "meal_cal": 47, "wt_loss": 14,
    }  # fmt: skip


def test_rossi():
    rossi = load("rossi")
    assert list(rossi) == ["week", "event", "fin", "age", "race", "wexp", "mar", "paro", "prio"]
    assert rossi["event"].sum() == 114
    assert set(rossi.loc[rossi["event"] == 0, "week"]) == {52}


def test_nh4_counts_and_limits():
    nh4 = load("nh4")
    assert nh4["censored"].sum() == 46
    undetected = nh4[nh4["censored"] == 1]
    assert undetected["limit"].value_counts().to_dict() == {0.006: 18, 0.010: 17, 0.008: 10, 0.018: 1}
    np.testing.assert_array_equal(undetected["nh4"], undetected["limit"])


def test_nh4_limit_reproduces_the_flag():
    nh4 = load("nh4")
    np.testing.assert_array_equal(nh4["nh4"] <= nh4["limit"], nh4["censored"] == 1)


def test_nh4_limit_of_detected_rows_is_the_usual_one_of_the_year():
    nh4 = load("nh4")
    usual = nh4["date_off"].dt.year.map({2009: 0.006, 2010: 0.010, 2011: 0.008})
    unusual = nh4[nh4["limit"] != usual]
    assert unusual[["nh4", "censored", "limit"]].to_numpy().tolist() == [
        [0.006, 0, 0.005],
        [0.018, 1, 0.018],
        [0.008, 0, 0.007],
    ]


def test_nh4_time_runs_with_the_dates():
    nh4 = load("nh4")
    assert nh4["time"].is_monotonic_increasing
    assert ((nh4["date_off"] - nh4["date_on"]).dt.days.between(4, 8)).all()
    assert nh4["time"].iloc[0] == pytest.approx(2009 + 8.5 / 365, abs=1e-12)  # midway between 6 and 13 January
    assert (nh4["time"] - 2009 - nh4["week"] * 7 / 365.25).abs().max() < 0.02


def test_tobin():
    tobin = load("tobin")
    assert list(tobin) == ["durable", "age", "quant"]
    assert (tobin["durable"] == 0).sum() == 13
    assert tobin.sum().round(6).to_dict() == {"durable": 28.9, "age": 956.3, "quant": 4849}


@pytest.mark.parametrize("name", ["Lung", "tobins", "nothing like it", "", None, 3, ["lung"]])
def test_an_unknown_name_lists_what_there_is(name):
    with pytest.raises(DataError, match="available are diabetes, gbsg2, lung, nh4, rossi, tobin"):
        load(name)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'tobin'"):
        load("Tobins")


def test_loading_imports_no_heavy_friend():
    script = (
        "import sys, tobitgp.datasets as d; [d.load(name) for name in d.available()];"
        "print(*sorted({'lifelines', 'matplotlib', 'statsmodels', 'scipy.stats'} & set(sys.modules)))"
    )
    assert printed_by("-c", script).strip() == ""


def test_missing_lifelines_is_a_clear_error(monkeypatch):
    monkeypatch.setattr("tobitgp.datasets.bundled.find_spec", lambda name: None)
    with pytest.raises(DataError, match="Install lifelines"):
        load("rossi")
