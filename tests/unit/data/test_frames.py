"""Data of any kind of frame: the same fits and answers as of pandas, predictions in the kind that came."""

import datetime
import decimal
import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.frames import mentioned, plain_values, read_frame
from tobitgp.data.table import read_table
from tobitgp.errors import DataError, FormulaError

KINDS = ("dict", "polars", "polars lazy", "pyarrow", "duckdb")
FORMULA = "y ~ x + C(g) | censor(limit)"


def table(n=40):
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 3, n)
    y = np.maximum(1 + x + rng.normal(0, 1, n), 2.0)
    time = rng.weibull(1.5, n) * np.exp(0.3 * x) + 0.01
    columns = {
        "x": x,
        "y": y,
        "limit": 2.0,
        "g": rng.choice(["b", "a"], n),
        "time": time,
        "event": np.arange(n) % 3 > 0,
    }
    return pd.DataFrame({**columns, "w": np.arange(n) % 3 + 1.0, "unused": "text"})


def of_kind(frame, kind):
    """The same rows in another kind, a DataFrame of pandas by default."""
    if kind == "dict":
        return {name: frame[name].tolist() for name in frame}
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)
    if kind == "duckdb":
        return pytest.importorskip("duckdb").from_df(frame)
    if kind.startswith("polars"):
        polars = pytest.importorskip("polars").DataFrame({name: frame[name].tolist() for name in frame})
        return polars.lazy() if kind.endswith("lazy") else polars
    return frame


def as_pandas(answer):
    """An answer in any kind, for comparisons."""
    return pd.DataFrame(plain_values(answer)) if not hasattr(answer, "columns") else pd.DataFrame(read_frame(answer))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_that_of_pandas(kind):
    frame = table()
    res = tg.fit(FORMULA, of_kind(frame, kind), weights="w")
    ref = tg.fit(FORMULA, frame, weights="w")
    assert res.llf == ref.llf
    assert res.params.equals(ref.params)
    assert res.predict().equals(ref.predict())


@pytest.mark.parametrize("kind", KINDS)
def test_answers_about_new_rows_come_in_the_kind_that_came(kind):
    frame = table()
    ref = tg.fit(FORMULA, frame)
    rows = frame.head(4).assign(x=[0.5, np.nan, 1.5, 2.0])
    new = of_kind(rows, kind)
    for options in (
        {},
        {"what": "observed"},
        {"se": True, "interval": 0.9},
        {"what": "quantile", "q": [0.1, 0.9]},
        {"what": "terms"},
    ):
        found, expected = ref.predict(new, **options), ref.predict(rows, **options)
        if kind in ("dict", "duckdb"):
            assert found.equals(expected)
            continue
        assert type(found).__module__.startswith(kind.partition(" ")[0])
        np.testing.assert_array_equal(as_pandas(found), pd.DataFrame(expected))
    drawn = ref.sample(new, draws=3, rng=0)
    np.testing.assert_array_equal(as_pandas(drawn), ref.sample(rows, draws=3, rng=0))


def test_columns_of_answers_have_names_in_one_line_and_nulls_for_what_is_missing():
    pl = pytest.importorskip("polars")
    res = tg.fit(FORMULA, table())
    new = pl.DataFrame({"x": [1.0, None], "g": ["a", "b"]})
    found = res.predict(new, what="quantile", q=[0.1, 0.9], se=True)
    assert found.columns == ["0.1_estimate", "0.1_se", "0.9_estimate", "0.9_se"]
    assert found["0.1_se"].null_count() == 1
    assert res.predict(new).name == "median"
    assert new.with_columns(res.predict(new)).columns == ["x", "g", "median"]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_every_question_takes_every_kind(kind, tmp_path):
    frame = table()
    data, new = of_kind(frame, kind), of_kind(frame.head(3), kind)
    formula = "Surv(time, event) ~ x"
    res, ref = tg.fit(formula, data, family="weibull"), tg.fit(formula, frame, family="weibull")
    rows = frame.head(3)
    assert res.predict_survival_function(new, times=[0, 1, 2]).equals(
        ref.predict_survival_function(rows, times=[0, 1, 2])
    )
    assert res.predict_hazard(new, times=[1.0]).equals(ref.predict_hazard(rows, times=[1.0]))
    for ask in ("predict_median", "predict_expectation"):
        np.testing.assert_array_equal(as_pandas(getattr(res, ask)(new)), pd.DataFrame(getattr(ref, ask)(rows)))
    assert res.score(new, weights="w") == ref.score(rows, weights="w")
    assert res.standardise({"x": [1.0, 2.0]}, times=1.0, df=new).equals(
        ref.standardise({"x": [1.0, 2.0]}, times=1.0, df=rows)
    )
    assert res.marginal_effects("latent", at=new).equals(ref.marginal_effects("latent", at=rows))
    assert res.get_prediction(new).summary_frame().equals(ref.get_prediction(rows).summary_frame())
    assert res.posterior(new).mean.equals(ref.posterior(rows).mean)
    assert res.hazard_ratios(at=new).equals(ref.hazard_ratios(at=rows))
    assert str(res.check(rng=0)) == str(ref.check(rng=0))
    with pytest.warns(tg.errors.ApproximationWarning, match="was given the rows of the fit"):
        intervals, pandas = res.conformalise(data), ref.conformalise(frame)
    ends = [each.predict(given, 0.8, side="lower") for each, given in ((intervals, new), (pandas, rows))]
    np.testing.assert_array_equal(as_pandas(ends[0]), ends[1])
    res.save(tmp_path / "fit.tobitgp")
    np.testing.assert_array_equal(
        as_pandas(tg.load(tmp_path / "fit.tobitgp").predict(new)), as_pandas(ref.predict(rows))
    )


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "duckdb"])
@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ gp(x) | censor(limit)", {"fixed": {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0, "sigma": 1.0}}),
        ("y ~ mixture(1)", {}),
        ("Surv(time, event) ~ x", {"family": tg.PH("weibull")}),
        ("Surv(time, event) ~ x", {"family": "weibull", "cure": "~ g"}),
        ("mvbind(y, time) ~ x", {}),
        ("y ~ x", {"cov_type": "cluster", "cov_kwds": {"groups": "g"}}),
        ("y ~ . | censor(limit)", {"weights": "w"}),
        ("y ~ x", {"sigma": "~ g", "var_weights": "w"}),
    ],
)
def test_every_kind_of_fit_takes_every_kind_of_data(formula, options, kind):
    frame = table().drop(columns="unused")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res, ref = (tg.fit(formula, data, **options) for data in (of_kind(frame, kind), frame))
        found, expected = res.predict(of_kind(frame.head(5), kind)), ref.predict(frame.head(5))
    np.testing.assert_array_equal(as_pandas(found), pd.DataFrame(expected))


def test_competing_risks_take_every_kind():
    frame = table().assign(cause=lambda d: d["event"] * (1 + (d["x"] > 1.5)))
    ref = tg.fit("Surv(time, cause) ~ x", frame, family="weibull")
    res = tg.fit("Surv(time, cause) ~ x", of_kind(frame, "polars lazy"), family="weibull")
    assert res.llf == ref.llf
    new = of_kind(frame.head(3), "polars lazy")
    incidence = res.predict_cumulative_incidence(new, times=[1.0, 2.0])
    assert incidence.equals(ref.predict_cumulative_incidence(frame.head(3), times=[1.0, 2.0]))
    assert res.score(of_kind(frame, "polars lazy")) == ref.score(frame)


@pytest.mark.parametrize("kind", ["polars", "polars lazy"])
def test_comparisons_take_every_kind(kind):
    frame = table()
    data = of_kind(frame, kind)
    options = {"folds": 3, "rng": 1}
    assert tg.cross_validate(FORMULA, data, **options).equals(tg.cross_validate(FORMULA, frame, **options))
    formulas = {"line": "y ~ x | censor(limit)", "level": "y ~ 1 | censor(limit)"}
    assert tg.select(formulas, data, by="aic").table.equals(tg.select(formulas, frame, by="aic").table)
    model = tg.SurvivalModel("x", "weibull").fit(data, "time", "event", weights_col="w")
    assert model.params_.equals(tg.SurvivalModel("x", "weibull").fit(frame, "time", "event", weights_col="w").params_)
    np.testing.assert_array_equal(as_pandas(model.predict_median(data)), as_pandas(model.predict_median(frame)))
    assert model.score(data) == model.score(frame)


def takes_any_kind(function):
    """Whether what decorates a function reads frames."""
    while function is not None:
        if function.__code__.co_filename.endswith("frames.py"):
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def test_everything_public_that_takes_frames_takes_any_kind():
    public = [getattr(tg, name) for name in tg.__all__]
    members = [vars(item).items() for base in public if inspect.isclass(base) for item in base.__mro__]
    found = [
        *((f.__name__, f) for f in public if inspect.isfunction(f)),
        *(pair for pairs in members for pair in pairs),
    ]
    taking = {
        function.__qualname__: takes_any_kind(function)
        for name, function in found
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_"))
        if any(re.search(r"(?<![.\w])Frame\b", str(kind)) for kind in function.__annotations__.values())
    }
    results = {name for name in taking if name.endswith("Results.__init__")}  # of what was read
    assert len(taking) > 25
    assert [name for name, takes in taking.items() if not takes and name not in results] == []


@pytest.mark.slow
def test_figures_take_every_kind():
    pytest.importorskip("polars")
    frame = table()
    data = of_kind(frame, "polars lazy")
    res = tg.fit("y ~ gp(x) | censor(limit)", data, method=tg.EP(hyper="maximize"))
    res.plot()
    res.plot_terms()
    times = tg.fit("Surv(time, event) ~ x + C(g)", data, family="weibull")
    times.plot_survival(df=of_kind(frame.head(2), "polars"))
    times.plot_survival(by="g")
    times.plot_effect("x")


@pytest.mark.slow_cases("polars lazy", "pyarrow", "duckdb")
@pytest.mark.parametrize("kind", KINDS[1:])
def test_nondetects_take_every_kind(kind):
    frame = table().assign(nd=lambda d: d["y"] <= 2.0)
    data, room = of_kind(frame, kind), tg.nondetects
    given = ("y", "nd", "g")
    told, reference = (room.summary(d, *given, methods=["km", "mle"], bootstrap=200) for d in (data, frame))
    pd.testing.assert_frame_equal(told.summary_frame(), reference.summary_frame())
    pd.testing.assert_frame_equal(room.read(data, "y", "nd"), room.read(frame, "y", "nd"))
    assert room.test_groups("y ~ g | censor(nondetect=nd)", data).statistic > 0.0
    for draw in (room.plot_ecdf, room.plot_box):
        assert len(draw(data, *given).lines)


# -- columns ----------------------------------------------------------------------------------------------------------


def columns():
    days = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    moments = [datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)] * 3
    return {
        "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("2")],
        "whole": [1, None, 3],
        "flag": [True, None, False],
        "day": days,
        "moment": moments,
        "gap": [datetime.timedelta(days=1), None, datetime.timedelta(hours=12)],
        "word": ["b", None, "a"],
        "nothing": [None, None, None],
    }


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_columns_of_every_type_are_read(kind):
    if kind == "polars":
        data = pytest.importorskip("polars").DataFrame(columns())
    else:
        data = pytest.importorskip("pyarrow").table(columns())
    read = read_table(read_frame(data), list(columns())).columns
    values = {name: column.values.tolist() for name, column in read.items() if column.levels is None}
    assert values["decimal"][::2] == [1.5, 2.0]
    assert values["whole"][::2] == [1.0, 3.0]
    assert values["flag"][::2] == [1.0, 0.0]
    assert values["day"] == [18262.0, 18263.0, 18264.0]
    assert values["moment"] == [18262.5] * 3
    assert values["gap"][::2] == [1.0, 0.5]
    assert read["word"].levels == ("a", "b")
    kinds = {name: column.kind for name, column in read.items()}
    assert kinds == dict(
        zip(columns(), ["number"] * 2 + ["boolean", "date", "date", "duration", "factor", "number"], strict=True)
    )
    for name in ("decimal", "whole", "flag", "gap", "word"):
        assert read[name].missing.tolist() == [False, True, False], name
    assert read["nothing"].missing.all()


def test_levels_keep_their_order():
    levels = ["low", "mid", "high"]
    values = ["high", "low", "low", "mid"]
    pl, pa, duckdb = (pytest.importorskip(name) for name in ("polars", "pyarrow", "duckdb"))
    factor = pd.DataFrame({"g": pd.Categorical(values, categories=levels)})
    kinds = [
        pl.DataFrame({"g": pl.Series(values, dtype=pl.Enum(levels))}),
        pl.DataFrame({"g": pl.Series(values, dtype=pl.Enum(levels))}).to_arrow(),
        pa.Table.from_pandas(factor),
        duckdb.from_df(factor),
        {"g": pl.Series(values, dtype=pl.Enum(levels))},
        {"g": pa.Table.from_pandas(factor)["g"]},
    ]
    for data in kinds:
        column = read_table(read_frame(data), ["g"]).columns["g"]
        assert column.levels == tuple(levels)
        assert column.values.tolist() == [2, 0, 0, 1]


def test_only_mentioned_columns_are_collected():
    pl = pytest.importorskip("polars")
    asked = []

    def note(column):
        asked.append(1)
        return column

    lazy = of_kind(table(), "polars lazy").with_columns(
        pl.col("unused").map_batches(note, return_dtype=pl.String), other=pl.col("x").map_batches(note, pl.Float64)
    )
    res = tg.fit(FORMULA, lazy, weights="w")
    res.predict(lazy)
    assert not asked
    tg.fit("y ~ other", lazy)
    assert asked


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("y ~ x", ["x", "y"]),
        ("y ~ log(x)", ["x", "y"]),
        ("y ~ .", ["x", "y", "age", "my date", "a.b"]),
        ("y ~ 1.5 * x", ["x", "y"]),
        ("y ~ `my date`", ["y", "my date"]),
        ("y ~ `a.b`", ["y", "a.b"]),
        ("y ~ agee", ["y", "age"]),
        ("a.b", ["a.b"]),
    ],
)
def test_columns_that_a_text_mentions(text, found):
    assert mentioned(["x", "y", "age", "my date", "a.b"], [text]) == found


def test_a_misspelt_column_is_still_told_its_neighbours():
    frame = table().rename(columns={"x": "dose"})
    with pytest.raises(FormulaError, match="did you mean 'dose'"):
        tg.fit("y ~ doze", of_kind(frame, "polars lazy"))


def test_weights_and_groups_may_be_series_of_other_kinds():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = table()
    ref = tg.fit("y ~ x", frame, weights="w")
    for weights in (pl.Series(frame["w"].tolist()), pa.array(frame["w"]), pa.chunked_array([frame["w"].tolist()])):
        assert tg.fit("y ~ x", of_kind(frame, "polars"), weights=weights).llf == ref.llf


def test_data_are_not_modified_and_labels_count_rows():
    frame = table()
    frame.index = [f"r{i}" for i in range(len(frame))]
    data = of_kind(frame, "polars")
    before = data.clone()
    tg.fit(FORMULA, data)
    assert data.equals(before)
    lacking = data.with_columns(y=data["y"].replace(data["y"][3], float("inf")))
    with pytest.raises(DataError, match="row 3"):
        tg.fit(FORMULA, lacking)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "duckdb"])
def test_errors_are_those_of_pandas(kind):
    data = of_kind(table(), kind)
    with pytest.raises(FormulaError, match="no column 'z'"):
        tg.fit("y ~ z", data)
    with pytest.raises(DataError, match="no rows"):
        tg.fit("y ~ x", of_kind(table().head(0), "polars"))
    with pytest.raises(DataError, match="lack the column 'x'"):
        tg.fit("y ~ x", data).predict(of_kind(table()[["y"]], kind))


def test_a_query_that_fails_says_whose_it_is():
    pl = pytest.importorskip("polars")
    with pytest.raises(DataError, match="a polars LazyFrame, cannot be read"):
        tg.fit("y ~ x", pl.scan_csv("there_is_no_such_file.csv"))
    with pytest.raises(DataError, match="data must be a DataFrame"):
        tg.fit("y ~ x", [1, 2])


# -- single values ----------------------------------------------------------------------------------------------------


def test_single_values_stand_in_every_row():
    res = tg.fit(FORMULA, table())
    rows = res.predict(pd.DataFrame({"x": [0.5, 1.0], "g": ["a", "a"]}))
    assert res.predict({"x": [0.5, 1.0], "g": "a"}).equals(rows)
    assert res.predict({"x": 0.5, "g": "a"}).equals(rows.head(1))
    assert res.predict({"x": np.float64(0.5), "g": np.array(["a", "a"])}).tolist() == [rows[0]] * 2
    frame = table()
    whole = tg.fit(FORMULA, {**of_kind(frame, "dict"), "limit": 2.0})
    assert whole.llf == res.llf
    with pytest.raises(DataError, match="unequal lengths"):
        res.predict({"x": [0.5, 1.0], "g": ["a"]})


def test_frames_of_pandas_and_what_is_none_are_handed_on():
    frame = table()
    assert read_frame(frame) is frame
    assert read_frame(None) is None
    assert read_frame("folder/*.parquet") == "folder/*.parquet"
    columns = {"x": [1.0]}
    assert read_frame(columns) is columns
