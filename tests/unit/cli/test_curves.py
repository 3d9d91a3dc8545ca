"""``tobitgp curves``: medians and the test in print, a figure, and what is refused."""

import pandas as pd
import pytest
from support.reference import load

import tobitgp as tg
from tobitgp.cli import main

CASE = load("event_histories.json")["cases"]["lung_nonparametric_sex"]


@pytest.fixture
def lung(tmp_path):
    path = tmp_path / "lung.csv"
    data = tg.datasets.load("lung").dropna(subset=["ph_ecog"]).rename(columns={"event": "dead or not"})
    data.assign(start=data["time"] - 1.0).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_medians_test_and_figure(lung, tmp_path, capsys):
    figure = tmp_path / "curves.png"
    assert main(["curves", "time", "dead or not", str(lung), "--by", "sex", "--out", str(figure)]) == 0
    printed = capsys.readouterr().out.splitlines()
    for line, (median, low, high), events in zip(printed[2:4], CASE["median"], (111, 53), strict=True):
        assert line.split()[2:] == [str(number) for number in (events, median, low, high)]
    assert "log-rank chi2(1) = 10.01, p = 0.0016" in printed
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_without_groups_and_with_entry(lung, capsys):
    assert main(["curves", "time", "dead or not", str(lung)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["all", "227", "164", "310", "284", "361"]
    assert main(["curves", "time", "dead or not", str(lung), "--by", "sex", "--entry", "start"]) == 0
    # Rows are at risk with those of the same time alone.
    rows, score, variance = pd.read_csv(lung), 0.0, 0.0
    for _, tied in rows.groupby("time"):
        n, d, women = len(tied), tied["dead or not"].sum(), (tied["sex"] == 2).sum()
        score += tied["dead or not"][tied["sex"] == 2].sum() - d * women / n
        variance += d * (n - d) / max(n - 1, 1) * women * (n - women) / n**2
    assert f"log-rank chi2(1) = {score**2 / variance:.4g}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["time", "event"], "no column 'event'"),
        (["time", "dead or not", "--by", "sx"], "--by sx: there is no such column"),
        (["time", "dead or not", "--by", "age"], "42 values"),
        (["time", "dead or not", "--by", "inst"], "1 row without a value"),
        (["time", "dead or not", "--out", "a.csv"], "the name must end in one of .png, .pdf, .svg"),
    ],
)
def test_refusals(lung, options, words, capsys):
    assert main(["curves", *options[:2], str(lung), *options[2:]]) == 2
    assert words in capsys.readouterr().err


def test_rows_that_end_before_their_entry(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("start,time,event\n0,2,1\n2.5,2,0\n1,3,1\n")
    assert main(["curves", "time", "event", str(tmp_path / "rows.csv"), "--entry", "start"]) == 2
    assert "ends at or before its entry" in capsys.readouterr().err


def test_no_log_rank_test_of_groups_that_do_not_meet(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("time,event,g\n1,0,a\n2,1,b\n3,1,b\n")
    assert main(["curves", "time", "event", str(tmp_path / "rows.csv"), "--by", "g"]) == 0
    assert "log-rank" not in capsys.readouterr().out
