import inspect
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.datasets import KEPT, table_of

from tobitgp.datasets import available, fetch, load
from tobitgp.datasets.downloads import SOURCES
from tobitgp.errors import DataError

README = Path(__file__).parents[3] / "datasets" / "README.md"
SHAPES = {
    "affairs": (601, 9),
    "beijing_so2": (223_895, 5),
    "choptank_discharge": (11_688, 2),
    "choptank_nitrate": (606, 5),
    "colorado_soils": (959, 48),
    "credit_risk": (1000, 21),
    "flchain": (7874, 11),
    "gbsg": (2232, 10),
    "housing": (506, 14),
    "metabric": (1904, 12),
    "pce": (24_701, 11),
    "support": (8873, 17),
}
WORDS = {
    "affairs": {"gender", "children"},
    "choptank_discharge": {"date"},
    "choptank_nitrate": {"date"},
    "credit_risk": {
        "checking_account_status",
        "credit_history",
        "purpose",
        "savings_account_status",
        "employment_years",
        "personal_status",
        "other_debtors",
        "property",
        "other_installment_plans",
        "housing",
        "job",
    },
    "flchain": {"sex", "chapter"},
    "pce": {"site", "county", "state"},
}
MISSING = {"choptank_nitrate": {"conc_low"}, "flchain": {"creatinine", "chapter"}, "pce": {"well_depth", "limit"}}


@pytest.fixture
def frame(request):
    """A fetched set, where TOBITGP_DATA has it or a package does."""
    if SOURCES[request.param].installed is None:
        for file in SOURCES[request.param].tables:
            table_of(file)
    elif request.param == "flchain" and not (KEPT / "flchain.csv").is_file():
        pytest.importorskip("sksurv")
    return request.param, fetch(request.param)


def of(*names):
    return pytest.mark.parametrize("frame", names, indirect=True, ids=names)


def test_every_data_set_has_a_shape_here():
    assert list(SOURCES) == sorted(SHAPES)


def test_no_set_is_both_bundled_and_fetched():
    assert not set(available()) & set(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_every_data_set_is_described(name):
    words = inspect.getdoc(fetch)
    assert f'"{name}"' in words.split("Returns")[0]
    assert f"``{name}``\n" in words
    (row,) = (line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 6
    assert all(cells)
    assert int(cells[1].replace(",", "")) == SHAPES[name][0]
    assert "https://" in cells[2]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_source_names_what_cannot_change(source):
    digests = [*source.tables.values(), *([] if source.raw_sha256 is None else [source.raw_sha256])]
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in digests)
    assert len(source.tables) in (1, 2)
    for url in source.urls:
        version = url.removeprefix("https://raw.githubusercontent.com/").split("/")[2]
        assert version == "v0.14.2" or (len(version) == 40 and int(version, 16))
    if source.installed is not None:
        assert source.raw_sha256 is not None
        assert source.urls[0].endswith(source.installed)


@of(*SOURCES)
def test_a_frame_is_tidy(frame):
    name, data = frame
    assert data.shape == SHAPES[name]
    assert data.index.equals(pd.RangeIndex(len(data)))
    assert all(column == column.lower() and " " not in column and "." not in column for column in data)
    words = WORDS.get(name, set()) | ({"split"} if len(SOURCES[name].tables) == 2 else set())
    assert set(data.select_dtypes(exclude="number")) == words
    missing = data.columns[data.isna().any()]
    assert set(missing) == MISSING.get(name, set())
    if "event" in data:
        assert data["event"].dtype == np.int64
        assert set(data["event"]) == {0, 1}
        assert (data["time"] >= 0).all()


@of("affairs")
def test_affairs(frame):
    _, data = frame
    assert data["affairs"].value_counts().to_dict() == {0: 451, 1: 34, 2: 17, 3: 19, 7: 42, 12: 38}
    assert data.iloc[0].tolist() == [0, "male", 37.0, 10.0, "no", 3, 18, 7, 4]


@of("beijing_so2")
def test_beijing(frame):
    _, data = frame
    assert ((data["so2"] <= 2).sum(), (data["so2"] < 2).sum(), data["so2"].max()) == (74_510, 37, 500)
    assert data["station"].unique().tolist() == list(range(12))
    assert not data.duplicated(["station", "hour_index"]).any()
    assert data["hour_index"].agg(["min", "max"]).tolist() == [16_056, 35_063]


@of("colorado_soils")
def test_colorado_soils(frame):
    """Shares of non-detects that the source states, in percent, and its limits."""
    _, data = frame
    stated = {"antimony": 0.208, "arsenic": 0.417, "bismuth": 1.15, "cadmium": 5.63, "indium": 14.1, "sulfur": 3.02}
    limits = {"antimony": 0.05, "arsenic": 1, "bismuth": 0.04, "cadmium": 0.1, "indium": 0.02, "sulfur": 100}
    for name, percent in stated.items():
        below = data[f"{name}_censored"] == 1
        assert 100 * below.mean() == pytest.approx(percent, abs=6e-3 if percent < 10 else 0.06)
        np.testing.assert_allclose(data.loc[below, name], limits[name], rtol=1e-9)
        assert (data.loc[~below, name] >= limits[name]).all()
    assert data["lon"].between(-109.1, -102).all()
    assert data["lat"].between(37, 41.01).all()


@of("credit_risk")
def test_credit_risk_keeps_its_words(frame):
    _, data = frame
    assert (data["full_repaid"].sum(), (data["full_repaid"] == 0).sum()) == (700, 300)
    assert set(data["other_debtors"]) == {"None", "guarantor", "co_applicant "}
    assert "real_estate " in set(data["property"])


@of("flchain")
def test_flchain(frame):
    _, data = frame
    assert (data["event"].sum(), (data["time"] == 0).sum(), data["creatinine"].isna().sum()) == (2169, 3, 1350)
    assert data["chapter"].isna().equals(data["event"] == 0)


@of("gbsg")
def test_gbsg(frame):
    _, data = frame
    train, test = (data[data["split"] == split] for split in ("train", "test"))
    assert (len(train), len(test)) == (1546, 686)
    assert (train["event"].mean(), test["event"].mean()) == pytest.approx((0.626, 0.436), abs=5e-4)
    assert (train["time"].max(), (train["time"] == 84).sum()) == (84, 426)
    assert test["time"].max() > 84
    assert data["split"].iloc[[0, -1]].tolist() == ["train", "test"]


@of("gbsg")
def test_the_test_part_of_gbsg_is_the_bundled_study(frame):
    """The two were published apart: times in months and in days, the same women."""
    _, data = frame
    test, study = data[data["split"] == "test"], load("gbsg2")
    ours = sorted(zip((test["time"] * 30.4375).round(), test["event"], test["age"], test["pgr"], strict=True))
    theirs = sorted(zip(study["time"], study["event"], study["age"], study["progesterone"], strict=True))
    assert ours == theirs


@of("housing")
def test_housing(frame):
    _, data = frame
    assert (data["medv"] == 50).sum() == 16
    assert data["medv"].max() == 50


@of("metabric")
def test_metabric(frame):
    _, data = frame
    assert data["event"].sum() == 1103
    assert data.loc[data["time"] == 0, "split"].tolist() == ["test"]
    assert (data["split"] == "test").sum() == 381


@of("choptank_nitrate")
def test_choptank_nitrate(frame):
    _, data = frame
    assert (data["detected"] == 0).sum() == data["conc_low"].isna().sum() == 1
    assert data.loc[data["detected"] == 1, "conc_low"].equals(data.loc[data["detected"] == 1, "conc_high"])
    assert data["conc_high"].mean() == pytest.approx(1.14015, abs=1e-5)


@of("pce")
def test_pce(frame):
    """Counts of the paper: 3971 samples with PCE, 20,730 without."""
    _, data = frame
    none, seen = (data[data["censored"] == flag] for flag in (1, 0))
    assert (len(none), len(seen)) == (20_730, 3971)
    assert data["split"].value_counts().to_dict() == {"train": 19_761, "test": 4940}
    assert (none["pce"] == none["limit"]).all()
    assert ((seen["pce"] < seen["limit"]).sum(), seen["limit"].isna().sum()) == (839, 483)
    assert pd.to_datetime(data["day"], unit="D").dt.year.agg(["min", "max"]).tolist() == [2000, 2022]
    assert data[data["state"] == "Texas"].groupby("split").size().to_dict() == {"test": 181, "train": 686}


@of("support")
def test_support(frame):
    _, data = frame
    assert data["event"].sum() == 6036
    assert data["split"].value_counts().to_dict() == {"train": 7098, "test": 1775}
    zeros = (data.loc[data["split"] == "train", ["meanbp", "hrt", "resp", "wbc"]] == 0).sum()
    assert zeros.between(8, 67).all()


@of(*SOURCES)
def test_numbers_are_the_nearest_to_what_is_written(frame):
    """Pandas' fast reader is off by a unit in the last place now and then."""
    name, data = frame
    if SOURCES[name].installed is not None:
        pytest.skip("read without a kept table")
    (file, *_) = SOURCES[name].tables
    written = pd.read_csv(io.BytesIO(table_of(file)), dtype=str, keep_default_na=False)
    for column in data.select_dtypes("float"):
        head = data[column].iloc[: len(written)].head(500)
        np.testing.assert_array_equal(head, [float(value or "nan") for value in written[column].head(500)])


@pytest.mark.parametrize("name", ["Housing", "nothing like it", "", None, 3, ["housing"]])
def test_an_unknown_name_lists_what_there_is(name):
    with pytest.raises(DataError, match=r"fetch knows affairs, beijing_so2, .*metabric, pce, support"):
        fetch(name)


def test_a_long_name_is_cut():
    with pytest.raises(DataError) as refused:
        fetch("x" * 10_000)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(("asked", "hint"), [("credit-risk", "'credit_risk'"), ("Gbsg2", r"load\('gbsg2'\)")])
def test_an_unknown_name_gets_the_nearest(asked, hint):
    with pytest.raises(DataError, match=rf"Did you mean {hint}\?$"):
        fetch(asked)


@pytest.mark.parametrize("name", available())
def test_a_bundled_name_is_sent_to_load(name):
    with pytest.raises(DataError, match=rf"is bundled with the package. Load it by tg.datasets.load\('{name}'\)"):
        fetch(name)


@pytest.mark.parametrize("name", SOURCES)
def test_a_fetched_name_is_sent_to_fetch(name):
    with pytest.raises(DataError, match=rf"tg.datasets.fetch\('{name}'\)"):
        load(name)


def test_load_offers_a_fetched_name_that_is_near():
    with pytest.raises(DataError, match=r"Did you mean fetch\('housing'\)\?"):
        load("Housing")
