"""The long tables of pages, most of which repeat papers: rows of each are computed again by their script."""

import warnings
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from support.datasets import table_of
from support.vignettes import FOLDER, module_of

FETCHED = {
    ("basson-2023", "series"): ["beijing_so2.csv.gz"],
    ("basson-2023", "curves"): ["beijing_so2.csv.gz"],
    ("groot-lucas-2012", "housing"): ["boston_housing.csv"],
    **{
        ("river-trends", name): ["choptank_nitrate.csv", "choptank_discharge.csv"]
        for name in ("annual", "models", "held_out")
    },
    **{("soil-metals", name): ["colorado_soils.csv"] for name in ("map", "cells", "profiles", "relevance", "scores")},
}
ROWS = {  # how many from the top: whole draws, or what comes with them
    "basson-2023": {"example1": 9, "example2": 9, "starts": 3, "rows": 2, "times": 6, "series": 11, "curves": 1},
    "groot-lucas-2012": {"artificial": 2, "housing": 11},
    "karlova-2024": {"table1": 7, "objectives": 2, "gbsg": 14, "credit": 7},
    "kohjima-vbcm": {
        "components": 2,
        "convergence": 1,
        "stochastic": 8,
        "steps": 6,
        "evidence": 6,
        "survival": 8,
        "folds": 2,
        "synthetic": 9,
    },
    "river-trends": {"annual": 32, "models": 1, "held_out": 3},
    "rough-and-long": {"map": 60, "fits": 2},
    "soil-metals": {"map": 60, "cells": 20, "profiles": 8, "relevance": 1, "scores": 3},
}
QUICK = {  # tables of which the first row takes seconds
    "basson-2023": ("example1", "example2", "starts", "rows", "times"),
    "groot-lucas-2012": ("artificial",),
    "karlova-2024": ("table1", "objectives", "credit"),
    "kohjima-vbcm": ("convergence", "stochastic"),
}
CASES = [(vignette, table, rows) for vignette, tables in ROWS.items() for table, rows in tables.items()]
CLOCK = ["seconds"]


def compare(made, kept):
    """Cells agree to the digits that other machines keep: the ends of searches differ in the fourth or fifth."""
    made = pd.DataFrame(made).drop(columns=CLOCK, errors="ignore")
    kept = kept.drop(columns=CLOCK, errors="ignore").reset_index(drop=True)
    assert list(made.columns) == list(kept.columns)
    for name in made:
        ours, written = made[name], kept[name]
        if pd.api.types.is_numeric_dtype(written) and written.notna().any():
            ours = pd.to_numeric(ours)
            np.testing.assert_allclose(ours, written, rtol=5e-3, atol=1e-3, err_msg=name)
        else:
            known = [column.map(str).where(column.notna(), "").tolist() for column in (ours, written)]
            assert known[0] == known[1], name


def rows_of(table, number, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in the scripts
        return list(islice(table(*arguments), number))


def first_rows(vignette, table, number):
    """The first rows of a table are what its script makes."""
    kept = pd.read_csv(FOLDER / vignette / f"{table}.csv")
    compare(rows_of(module_of(vignette, "run").TABLES[table], number), kept.head(number))


@pytest.mark.parametrize("vignette", ROWS)
def test_every_table_is_tried(vignette):
    run = module_of(vignette, "run")
    assert set(run.TABLES) == set(ROWS[vignette])
    files = {path.stem for path in (FOLDER / vignette).glob("*.csv")}
    assert files - {"published"} == set(run.TABLES)


@pytest.mark.slow_cases("basson-2023-example1", "kohjima-vbcm-stochastic")
@pytest.mark.parametrize(("vignette", "table"), [(v, t) for v, tables in QUICK.items() for t in tables])
def test_the_first_row_comes_again(vignette, table):
    first_rows(vignette, table, 1)


@pytest.mark.study
@pytest.mark.parametrize(("vignette", "table", "rows"), CASES, ids=[f"{v}-{t}" for v, t, _ in CASES])
def test_first_rows_come_again(vignette, table, rows):
    for file in FETCHED.get((vignette, table), []):
        table_of(file)
    first_rows(vignette, table, rows)


@pytest.mark.slow
def test_the_water_series_of_table_3_comes_again_in_two_runs():
    """The fit to it that once ended elsewhere at each run; it needs no download."""
    run, model = module_of("basson-2023", "run"), "EP, M = 35"
    data, options = run.water(), run.series_models()[model]
    first, second = (rows_of(lambda: [run.series_row(data, options)], 1) for _ in range(2))
    assert first == second
    kept = pd.read_csv(FOLDER / "basson-2023" / "series.csv").query("series == @run.WATER and model == @model")
    compare(first, kept.drop(columns=["series", "model"]))


def test_table_2_of_groot_and_lucas_has_ten_runs_of_ten_folds():
    """As in the paper; each row is in one fold of a run, so runs of a model differ."""
    kept = pd.read_csv(FOLDER / "groot-lucas-2012" / "housing.csv")
    models = kept.groupby(["kernel", "model"])
    assert len(models) == 9
    for _, rows in models:
        folds = rows[rows["fold"] != "pooled"]
        assert sorted(zip(folds["run"], folds["fold"].astype(int), strict=True)) == [*np.ndindex(10, 10)]
        pooled = rows[rows["fold"] == "pooled"].set_index("run")["c_index"]
        assert sorted(pooled.index) == [*range(10)]
        assert pooled.nunique() > 5
        means = folds.groupby("run")["c_index"].mean()
        assert (abs(means - pooled) < 0.02).all()


@pytest.mark.study
@pytest.mark.parametrize(("example", "draw"), [(1, 41), (2, 26), (2, 47)])
def test_draws_whose_evidence_has_several_maxima_come_again(example, draw):
    run = module_of("basson-2023", "run")
    kept = pd.read_csv(FOLDER / "basson-2023" / f"example{example}.csv").query("draw == @draw")
    compare(rows_of(run.example_rows, None, example, [draw]), kept)


def test_a_table_that_is_not_there_is_refused(capsys):
    papers = module_of(".", "papers")
    with pytest.raises(SystemExit):
        papers.write({"one": list, "two": list}, "run.py", None, ["three"])
    assert "three: must be among one, two" in capsys.readouterr().err


def test_tables_are_written(tmp_path, capsys):
    papers = module_of(".", "papers")
    papers.write({"one": lambda: [{"a": 1, "b": 1 / 3}], "two": list}, "run.py", None, ["one", "--out", str(tmp_path)])
    assert (tmp_path / "one.csv").read_text(encoding="utf-8") == "a,b\n1,0.33333\n"
    assert not (tmp_path / "two.csv").exists()
    assert capsys.readouterr().out.startswith("one.csv: 1 rows")
