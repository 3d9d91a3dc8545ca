"""Where partitioned data come from, and what is said where they cannot be used."""

import re

import numpy as np
import pandas as pd
import pytest
from support.cluster import local_client
from support.partitions import assert_same, cut_source, example, in_memory, partitioned, quietly, without_places
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.data.sources import find_client, find_files, open_source
from tobitgp.errors import DataError, FormulaError, SpecError

FORMULA = "y ~ g + gp(x) + re(id) | censor(low, 1.2)"


@pytest.fixture(scope="module")
def frame():
    return example()


@pytest.fixture
def folder(frame, tmp_path):
    for i, part in enumerate((frame.iloc[:25], frame.iloc[25:25], frame.iloc[25:])):
        part.to_parquet(tmp_path / f"part-{i}.parquet", row_group_size=10)
    return tmp_path


@pytest.mark.parametrize("pattern", ["", "*.parquet", "part-[012].parquet"])
def test_parquet_files_are_read_as_the_frame_is(frame, folder, pattern, monkeypatch):
    monkeypatch.setattr("tobitgp.data.sources.ROWS", 20)
    (_, _, model), _ = quietly(in_memory, FORMULA, frame)
    source = open_source(folder / pattern)
    assert source.columns == tuple(frame.columns)
    (data, _, sample, _), texts = quietly(partitioned, FORMULA, source)
    assert "rows 9 of part-0.parquet, 11 of part-2.parquet" in texts[1]
    assert len(data.partitions) == 5
    assert_same(sample.problem, model.problem)


def test_a_dask_frame_is_read_as_the_frame_is(frame):
    dd = pytest.importorskip("dask.dataframe")
    (_, _, model), theirs = quietly(in_memory, FORMULA, frame)
    source = open_source(dd.from_pandas(frame, npartitions=4, sort=False))
    (data, _, sample, _), ours = quietly(partitioned, FORMULA, source)
    assert (ours, len(data.partitions)) == (theirs, 4)
    assert_same(sample.problem, model.problem)


def test_decimals_and_truth_values_with_gaps_are_numbers(frame, tmp_path):
    pa = pytest.importorskip("pyarrow")
    whole = frame["x"].notna() & frame["y"].notna()
    x, y = frame["x"][whole].round(2), frame["y"][whole]
    flag = [None, *(bool(i % 2) for i in range(1, len(y)))]
    fine = pa.array(x.to_numpy()).cast(pa.decimal128(12, 2))
    pa.parquet.write_table(pa.table({"x": fine, "y": y.to_numpy(), "flag": flag}), tmp_path / "rows.parquet")
    there, texts = quietly(tg.fit, "y ~ flag + gp(x)", tmp_path, method=tg.EP(hyper="maximize"))
    assert any("missing values in 'flag' (1)" in text for text in texts)
    data = pd.DataFrame({"x": x, "y": y, "flag": pd.array(flag, dtype="boolean")})
    here, _ = quietly(tg.fit, "y ~ flag + gp(x)", data, method=tg.EP(hyper="maximize"))
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-8)
    assert list(there.params.index) == list(here.params.index)


def test_files_that_break_off_after_they_were_found_are_named(frame, folder):
    source = open_source(folder)
    (folder / "part-2.parquet").unlink()
    with pytest.raises(DataError, match=r"part-2.parquet' cannot be read as Parquet"):
        quietly(partitioned, FORMULA, source)


def test_a_path_may_begin_at_home(frame, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert find_files(f"~/{folder.name}") == find_files(folder)


def test_only_the_columns_of_the_formula_are_read(folder):
    partitions = open_source(str(folder)).choose(["x", "y"])
    frame = partitions.items[-1].load()
    assert list(frame) == ["x", "y"]
    assert frame.index[0] == 0


@pytest.mark.slow
def test_results_of_partitions_hold_no_rows(frame, folder):
    here, _ = quietly(tg.fit, FORMULA, frame)
    there, texts = quietly(tg.fit, FORMULA, folder)
    assert sum("are dropped" in text for text in texts) == 1
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-8)
    new = frame.dropna().head(3)
    np.testing.assert_allclose(there.predict(new), here.predict(new), atol=1e-8)
    assert there.counts.to_dict() == here.counts.to_dict()
    texts = [without_tests(res.summary()).splitlines()[3:] for res in (there, here)]
    assert texts[0] == texts[1]
    with pytest.raises(SpecError, match="made from partitioned data"):
        there.predict()


def test_missing_rows_may_be_refused_with_the_count_of_all(frame):
    (_, theirs) = _error(in_memory, FORMULA, frame, options={"missing": "raise"})
    (_, ours) = _error(partitioned, FORMULA, cut_source(frame, (20, 41)), options={"missing": "raise"})
    assert ours == theirs


def _error(call, *args, **kwargs):
    with pytest.raises(DataError) as caught:
        quietly(call, *args, **kwargs)
    return type(caught.value), without_places(str(caught.value))


@pytest.mark.parametrize(
    ("change", "formula", "words"),
    [
        ({"x": "r45"}, "y ~ gp(x)", "In partition 2: Column 'x' is not a finite number in row r45"),
        ({"low": "r30"}, FORMULA, "In partition 1: The lower limit low is missing in row r30"),
        ({}, "y ~ gp(nowhere)", "nowhere"),
        ({}, "y ~ x + I(2 * x)", "determined by"),
        ({}, "y ~ x + k:x + I(x * k)", "determined by"),
        ({}, "y ~ I(0 * x) + z", "0 in every row"),
        ({}, "Surv(t, k) ~ x", "In partition 0: The event column 'k' must be 0 or 1"),
    ],
)
def test_bad_rows_are_named_with_their_partition(frame, change, formula, words):
    frame = frame.copy()
    for column, row in change.items():
        frame.loc[row, column] = np.inf if column == "x" else np.nan
    with pytest.raises((DataError, FormulaError), match=words):
        quietly(partitioned, formula, cut_source(frame, (20, 41)))


@pytest.mark.parametrize(
    ("term", "remedy"),
    [
        ("poly(x, 2)", r"poly\(x, 2, raw=True\)"),
        ("bs(x, df=5)", r"bs\(x, knots="),
        ("cr(log(x), df=4)", r"cr\(log\(x\), knots="),
        ("cr(x, knots=[1, 5], constraints='center')", r"bs\(x, knots="),
        ("center(x)", r"I\(x - m\)"),
        ("scale(x)", r"I\(\(x - m\) / s\)"),
    ],
)
def test_terms_that_learn_from_all_rows_are_refused(frame, term, remedy):
    with pytest.raises(SpecError, match=remedy):
        partitioned(f"y ~ {term} | censor(-0.6)", cut_source(frame, (20,)))


def test_partitions_that_do_not_go_together(frame, folder):
    frame.iloc[:5].assign(x="a").to_parquet(folder / "part-3.parquet")
    with pytest.raises(DataError, match=r"Column 'x' holds numbers in part-0.parquet and text in part-3.parquet"):
        tg.fit("y ~ x", folder, method="ep")
    frame.iloc[:5].drop(columns="t").to_parquet(folder / "part-3.parquet")
    with pytest.raises(DataError, match=r"part-0.parquet' has 't', which .*part-3.parquet' lacks"):
        tg.fit("y ~ x", folder, method="ep")
    (folder / "part-3.parquet").write_text("not a table")
    with pytest.raises(DataError, match=r"part-3.parquet' cannot be read as Parquet"):
        tg.fit("y ~ x", folder, method="ep")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.parquet", "There is no file or folder"),
        ("*.parquet", "No file matches"),
        (".", "holds no Parquet file"),
        ("s3://bucket/part.parquet", "not a path in the file system"),
    ],
)
def test_paths_that_lead_nowhere(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=words):
        tg.fit("y ~ x", path)


def test_what_needs_rows_in_memory_says_so(frame, folder):
    with pytest.raises(SpecError, match="cov_type='HC0' is not available for partitioned data"):
        quietly(tg.fit, "y ~ x | censor(-0.6)", folder, cov_type="HC0")
    with pytest.raises(SpecError, match="must be the name of a column"):
        tg.fit(FORMULA, folder, weights=np.ones(60))
    with pytest.raises(DataError, match="no column 'v' for the weights"):
        tg.fit(FORMULA, folder, weights="v")
    with pytest.raises(SpecError, match="side_noise='shared'"):
        quietly(tg.fit, FORMULA, folder, method=tg.VI(bound="local", side_noise="row"))


@pytest.mark.parametrize(("engine", "shown"), [("tcp://10.0.0.1:8786", "'tcp://10.0.0.1:8786'"), (3, "3"), ({}, "{}")])
def test_engines_are_clients(frame, engine, shown):
    with pytest.raises(SpecError, match=re.escape(f"engine={shown}: must be a client of dask. Pass ")):
        find_client(engine, frame)


@pytest.mark.slow
def test_a_client_without_its_cluster_is_refused(frame):
    distributed = pytest.importorskip("distributed")
    with local_client(1) as client:
        assert find_client(client, frame) is client
    assert isinstance(client, distributed.Client)
    with pytest.raises(SpecError, match=r"is closed\. Use one that is connected"):
        tg.fit("y ~ gp(x)", frame, engine=client)


def test_frames_without_rows(frame):
    with pytest.raises(DataError, match="have no rows"):
        partitioned("y ~ x", cut_source(frame.iloc[:0], (0, 0)))
    frame = frame.assign(y=np.nan)
    with pytest.raises(DataError, match="No row is left"):
        quietly(partitioned, "y ~ x", cut_source(frame, (10,)))


def test_data_of_another_type():
    with pytest.raises(DataError, match=r"or the path of Parquet files, not pandas.Series"):
        tg.fit("y ~ x", pd.Series([1.0]))
    with pytest.raises(DataError, match=r"or the path of Parquet files, not list"):
        tg.fit("y ~ x", ["one.parquet", "two.parquet"])
