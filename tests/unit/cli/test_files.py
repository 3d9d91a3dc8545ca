"""Tables in files: CSV with its dates, and Parquet."""

import gzip
import os
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.cli import main
from tobitgp.cli.table_files import read_data, read_dates
from tobitgp.errors import DataError

FORMULA = "y ~ gp(decimal_year(day)) | censor(-0.5)"


@pytest.fixture
def dated():
    days = pd.date_range("2019-03-01", "2022-05-01", periods=30).normalize()
    rng = np.random.default_rng(3)
    y = np.sin(np.linspace(0, 6, 30)) + rng.normal(0, 0.2, 30)
    return pd.DataFrame({"day": days, "y": np.maximum(y, -0.5).round(4)})


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq"])
def test_fit_reads_dates_from_either_kind_of_file(dated, suffix, tmp_path, capsys):
    path = tmp_path / f"dated{suffix}"
    dated.to_csv(path, index=False) if suffix == ".csv" else dated.to_parquet(path)
    assert main(["fit", FORMULA, str(path), "--hyper", "maximize"]) == 0
    assert (
        capsys.readouterr().out.strip() == str(tg.fit(FORMULA, dated, method=tg.EP(hyper="maximize")).summary()).strip()
    )


def test_predict_reads_dates(dated, tmp_path):
    for name, frame in (("dated", dated), ("new", dated.head(3)[["day"]])):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = {name: str(tmp_path / name) for name in ("dated.csv", "new.csv", "fit.tgp", "out.csv")}
    assert main(["fit", FORMULA, files["dated.csv"], "--hyper", "maximize", "--save", files["fit.tgp"]]) == 0
    assert main(["predict", files["fit.tgp"], files["new.csv"], "--out", files["out.csv"]]) == 0
    expected = tg.fit(FORMULA, dated, method=tg.EP(hyper="maximize")).predict(dated.head(3))
    assert np.allclose(pd.read_csv(files["out.csv"])["median"], expected)


def test_dates_in_the_formula_of_the_noise_scale(dated, tmp_path):
    dated.to_csv(tmp_path / "dated.csv", index=False)
    formula, sigma = "y ~ 1 | censor(-0.5)", "~ decimal_year(day)"
    words = [formula, str(tmp_path / "dated.csv"), "--sigma", sigma, "--save", str(tmp_path / "fit.tgp")]
    assert main(["fit", *words]) == 0
    out = tmp_path / "out.csv"
    words = [str(tmp_path / "fit.tgp"), str(tmp_path / "dated.csv"), "--what", "quantile", "--q", "0.9"]
    assert main(["predict", *words, "--out", str(out)]) == 0
    expected = tg.fit(formula, dated, sigma=sigma).predict(dated, "quantile", q=0.9)
    assert np.allclose(pd.read_csv(out)["quantile"], expected)


def test_iso_dates_of_every_length_and_zone():
    text = ["2024-03-31", "2024-03-31T12:00", "2024-03-31 12:00:30", "2024-03-31T14:00+02:00", None]
    read = read_dates(pd.DataFrame({"day": text, "word": text}), ["day", "absent"])
    day, noon, later = map(pd.Timestamp, ("2024-03-31", "2024-03-31 12:00", "2024-03-31 12:00:30"))
    assert read["day"].tolist()[:4] == [day, noon, later, noon]
    assert pd.isna(read["day"][4])
    assert read["word"].tolist()[:4] == text[:4]


@pytest.mark.parametrize("wrong", ["31.12.2019", "03/04/2019", "yesterday", "2019-13-01"])
def test_other_dates_are_refused_in_their_words(wrong):
    with pytest.raises(DataError, match=rf"'{wrong}' in row 1, .*ISO 8601"):
        read_dates(pd.DataFrame({"day": ["2019-01-01", wrong]}), ["day"])


def test_parquet_without_pyarrow_names_what_to_install(dated, tmp_path, monkeypatch, capsys):
    path = tmp_path / "dated.parquet"
    dated.to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["fit", FORMULA, str(path)]) == 2
    assert "pip install 'tobitgp[parquet]'" in capsys.readouterr().err


def test_what_is_no_parquet_is_refused(tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_data(path)


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_fit_reads_folders_and_patterns(dated, pattern, tmp_path, capsys):
    for i in range(3):
        dated.iloc[10 * i : 10 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    assert main(["fit", FORMULA, str(tmp_path / pattern), "--hyper", "maximize"]) == 0
    printed, whole = capsys.readouterr().out, tg.fit(FORMULA, dated, method=tg.EP(hyper="maximize")).summary()
    assert without_tests(printed).strip() == without_tests(whole).strip()
    assert main(["fit", FORMULA, str(tmp_path / "none*.parquet")]) != 0
    assert "No file matches" in capsys.readouterr().err


def test_pictures_of_fits_without_rows_are_refused_before_the_fit(tmp_path, capsys):
    assert main(["fit", FORMULA, str(tmp_path), "--plot", str(tmp_path / "fit.png")]) != 0
    assert "fit.png: fits to a folder or a pattern hold no rows to draw" in capsys.readouterr().err


@pytest.mark.parametrize("header", ["x,y,y", '"x","y","y"', "\n x,y,y".replace(" ", "")])
def test_two_columns_of_one_name_are_refused(header, tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text(header + "\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(20)))
    assert main(["fit", "y ~ x", str(path)]) == 2
    assert "several columns named 'y'" in capsys.readouterr().err


def test_columns_of_one_name_that_are_not_used_may_stay(tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text("x,y,note,note,,\n" + "".join(f"{i},{i % 3},a,b,1,2\n" for i in range(20)))
    assert main(["fit", "y ~ x", str(path)]) == 0
    capsys.readouterr()


def test_two_columns_of_dates_of_one_name_are_refused(tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text("day,day,y\n" + "".join(f"2020-01-{i + 1:02},2021-01-01,{i % 3}\n" for i in range(20)))
    assert main(["fit", "y ~ decimal_year(day)", str(path)]) == 2
    assert "several columns named 'day'" in capsys.readouterr().err


def test_the_names_of_a_file_are_kept_where_pandas_would_make_the_same(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("y,y.1\n1,2\n")
    assert list(read_data(path).columns) == ["y", "y.1"]


def test_a_ragged_table_is_told_of_in_one_line(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n1,2,3,4\n")
    with pytest.raises(DataError, match="line 3, saw 4") as caught:
        read_data(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("x,y\n1,1.1,3\n2,1.9,5\n", "its header has 2 names, its first row 3 fields"),
        ("x,y\n0,1.1,3\n1,1.9,5\n", "its header has 2 names, its first row 3 fields"),
        ("x,y\n0,0,0\n", "its header has 2 names, its first row 3 fields"),
        ("x,y\n1,2,\n3,4,\n", "its header has 2 names, its first row 3 fields"),
        ("x,y\n1,0.5,NA\n2,1.5,NA\n", "its header has 2 names, its first row 3 fields"),
        ('"x","y"\n"1",0.5,2\n"2",1.5,4\n', "its header has 2 names, its first row 3 fields"),
        ("y\n1,2,3\n", "its header has 1 name, its first row 3 fields"),
        ("x,y\n1,2,3\n4,5\n", "its header has 2 names, its first row 3 fields"),
        ("x,y\n,,\n,,\n", "its header has 2 names, its first row 3 fields"),
    ],
    ids=[
        "a field more",
        "labels 0 and 1",
        "zeros",
        "trailing commas",
        "a last column of nothing",
        "row names of R",
        "two fields more",
        "the first row alone",
        "commas alone",
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_rows_of_more_fields_than_the_header_are_refused(text, counts, suffix, tmp_path, capsys):
    path = tmp_path / f"extra{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert main(["fit", "y ~ 1", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"extra{suffix}" in said
    assert f"{counts}. Give every field a name" in said


@pytest.mark.parametrize(("sep", "decimal", "word"), [(";", ",", "semicolons"), ("\t", ".", "tabs")])
def test_other_separators_than_commas_are_named(sep, decimal, word, tmp_path):
    path, data = tmp_path / "other.csv", pd.DataFrame({"flow": [1.5, 2.5], "conc": [0.5, 0.7]})
    data.to_csv(path, sep=sep, decimal=decimal, index=False)
    with pytest.raises(DataError, match=f"separated by {word}, not by commas") as said:
        read_data(path)
    assert f"sep={sep!r}" in str(said.value)
    pd.read_csv(path, sep=sep, decimal=decimal).to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_data(path), data)


def test_a_pipe_whose_rows_have_more_fields_than_the_header_is_refused(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("x,y\n1,1.1,3\n",))
    writer.start()
    with pytest.raises(DataError, match="header has 2 names, its first row 3 fields"):
        read_data(path)
    writer.join()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("x,y\n", 0),
        ("x,y\n\n", 0),
        ('x,y\n"1,3",2\n\n\n', 1),
        ("x,y\n1\n2,3\n", 2),
        ("x,y,\n1,2,\n3,4,\n", 2),
        (",x,y\n7,1,2\n8,3,4\n", 2),
    ],
    ids=["no row", "an empty line", "quoted commas", "short rows", "commas in the header too", "row names named"],
)
def test_tables_whose_header_is_as_long_as_the_rows_are_read(text, rows, tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(text)
    data = read_data(path)
    pd.testing.assert_frame_equal(data.reset_index(drop=True), pd.read_csv(path))
    assert len(data) == rows
    assert {"x", "y"} <= set(data.columns)


def test_several_responses_are_predicted_side_by_side(dated, tmp_path, capsys):
    tg.fit("mvbind(y, z) ~ 1", {"y": [1.0, 2.0, 4.0, 3.0], "z": [0.0, 1.0, 1.5, 0.5]}).save(tmp_path / "both.tgp")
    dated.to_csv(tmp_path / "rows.csv")
    assert main(["predict", str(tmp_path / "both.tgp"), str(tmp_path / "rows.csv")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0], shown[1]) == ("y,z", "2.5,0.75")


@pytest.mark.slow
def test_proportional_hazards_from_the_command_line(tmp_path, capsys):
    tg.datasets.load("lung").to_csv(tmp_path / "lung.csv", index=False)
    formula, fit = "Surv(time, event) ~ age + strata(sex)", str(tmp_path / "lung.tgp")
    arguments = [
        "--family",
        "ph",
        "--save",
        fit,
        "--plot",
        str(tmp_path / "lung.png"),
        "--report",
        str(tmp_path / "l.html"),
    ]
    assert main(["fit", formula, str(tmp_path / "lung.csv"), *arguments]) == 0
    assert "Proportional hazards" in capsys.readouterr().out
    assert main(["predict", fit, str(tmp_path / "lung.csv"), "--interval", "0.9"]) == 0
    assert capsys.readouterr().out.startswith("estimate,se,lower,upper\n")
    assert (tmp_path / "lung.png").stat().st_size > 1000


def test_a_baseline_of_hazards(tmp_path, capsys):
    lung = tg.datasets.load("lung")
    lung.to_csv(tmp_path / "lung.csv", index=False)
    call = ["fit", "Surv(time, event) ~ age", str(tmp_path / "lung.csv"), "--quiet"]
    figure = tmp_path / "fit.png"
    assert main([*call, "--family", "ph", "--baseline", "spline", "--df", "2", "--plot", str(figure)]) == 0
    want = tg.fit("Surv(time, event) ~ age", lung, family=tg.PH("spline", df=2))
    assert capsys.readouterr().out.startswith(str(want.summary()))
    assert figure.exists()
    assert main([*call, "--family", "ph", "--df", "2"]) == 2
    assert "requires baseline='spline'" in capsys.readouterr().err
    assert main([*call, "--family", "ph", "--baseline", "weibull", "--frailty", "gamma"]) == 2
    assert "frailty= requires one term (1 | g)" in capsys.readouterr().err
    assert main([*call, "--family", "weibull", "--baseline", "gp"]) == 2
    assert "--baseline requires --family ph" in capsys.readouterr().err
