"""Dates become decimal years in decimal_year(...), days in a difference of two; durations are days everywhere."""

import datetime

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.prepare import prepare
from tobitgp.data.table import days_since_1970, read_table
from tobitgp.errors import DataError
from tobitgp.formula import parse_formula
from tobitgp.formula.functions import decimal_years

DAYS = ["2019-12-31", "2020-01-01", "2020-07-02", "2020-12-31", "2021-07-02 12:00"]
YEARS = [2019 + 364 / 365, 2020.0, 2020.5, 2020 + 365 / 366, 2021.5]


def frame(date, **columns):
    return pd.DataFrame({"y": np.arange(5.0), "t": date, "x": [1.0, 3.0, 2.0, 5.0, 4.0], **columns})


def ready(formula, data, **options):
    return prepare(parse_formula(formula, list(data)), data, **options)


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime(DAYS, format="ISO8601"),
        pd.to_datetime(DAYS, format="ISO8601").astype("datetime64[s]"),
        pd.to_datetime(DAYS, format="ISO8601").tz_localize("UTC").tz_convert("Asia/Tokyo"),
        pd.Series([datetime.datetime.fromisoformat(day) for day in DAYS], dtype=object),
        pd.Series([pd.Timestamp(day, tz="UTC") for day in DAYS], dtype=object),
    ],
    ids=["days", "seconds", "with a time zone", "objects", "objects with a time zone"],
)
def test_dates_of_every_type(dates):
    data = frame(dates)
    np.testing.assert_allclose(ready("y ~ gp(decimal_year(t))", data).design.X[0][:, 0], YEARS, rtol=1e-15)
    np.testing.assert_allclose(ready("y ~ decimal_year(t)", data).design.H[:, 1], YEARS, rtol=1e-15)


def test_years_before_1970_and_days_of_python():
    days = pd.Series([datetime.date(1900, 1, 1), datetime.date(1969, 7, 2), None])
    np.testing.assert_allclose(decimal_years(days_since_1970(days)), [1900.0, 1969 + 182 / 365, np.nan])


def test_dates_in_limits_responses_offsets_and_bases():
    data = frame(pd.to_datetime(DAYS, format="ISO8601"), start=pd.Timestamp("2019-12-31"))
    training = ready("decimal_year(t) ~ gp(x) | censor(decimal_year(start))", data)
    assert training.counts["left"] == 1
    assert training.response.upper[0] == YEARS[0]
    assert ready("y ~ offset(decimal_year(t) - 2020) + x", data).design.offset[2] == 0.5
    basis = ready("y ~ 0 + bs(decimal_year(t), df=4)", data).design
    assert basis.columns[0].startswith("bs(decimal_year(t)")


def test_dates_are_replayed_and_may_be_missing():
    data = frame(pd.to_datetime(DAYS, format="ISO8601")).rename(columns={"t": "my date"})
    state = ready("y ~ log(decimal_year(`my date`)) + gp(decimal_year(`my date`))", data).state
    new = pd.DataFrame({"my date": pd.to_datetime(["2021-07-02 12:00", None, "2020-07-02"], format="ISO8601")})
    design, usable = state.replay(new)
    assert usable.tolist() == [True, False, True]
    np.testing.assert_allclose(design.X[0][:, 0], [2021.5, 2020.5])
    np.testing.assert_allclose(design.H[:, 1], np.log([2021.5, 2020.5]))


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ gp(t)",
        "y ~ t",
        "y ~ .",
        "y ~ bs(t, df=3)",
        "y ~ C(t)",
        "t ~ gp(x)",
        "y ~ x | censor(t)",
        "y ~ x + offset(t)",
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_bare_dates_are_refused_with_the_remedy(formula, zone):
    with pytest.raises(DataError, match=r"Column 't' holds dates. Write decimal_year\(t\) in the formula"):
        ready(formula, frame(pd.to_datetime(DAYS, format="ISO8601").tz_localize(zone)))


def test_a_column_both_bare_and_as_dates_is_refused():
    with pytest.raises(DataError, match="'t' holds dates"):
        ready("y ~ decimal_year(t) + t", frame(pd.to_datetime(DAYS, format="ISO8601")))


@pytest.mark.parametrize(("values", "held"), [(np.arange(5.0), "numbers"), (DAYS, "text")])
def test_decimal_year_takes_dates_only(values, held):
    with pytest.raises(
        DataError, match=rf"decimal_year\(t\) requires dates, but column 't' holds {held}.*pd.to_datetime"
    ):
        ready("y ~ gp(decimal_year(t))", frame(values))


def test_new_data_of_another_type_are_refused():
    state = ready("y ~ gp(decimal_year(t))", frame(pd.to_datetime(DAYS, format="ISO8601"))).state
    with pytest.raises(DataError, match="requires dates"):
        state.replay({"t": [2020.5]})
    with pytest.raises(DataError, match="holds dates"):
        ready("y ~ gp(x)", frame(0.0)).state.replay({"x": pd.to_datetime(["2020-01-01"])})


def test_two_dates_differ_by_days():
    """Across leap days, at times of the day, in every place of a formula, beside the year of one of them."""
    start = pd.to_datetime(
        ["2019-12-31", "2020-02-28 06:00", "1969-07-02", "2020-12-31", "2019-01-01"], format="ISO8601"
    )
    days = np.array([366.0, 1.75, 0.5, 10.0, 730.25])
    data = frame(start + pd.to_timedelta(days, "D"), s=start, d=1)
    times = ready("Surv(t - s, d) ~ 1", data)
    np.testing.assert_allclose(times.response.lower, days, rtol=1e-12)
    assert times.state.spec.response.duration == "t - s"
    training = ready("y ~ decimal_year(s) + I(t - s)", data)
    np.testing.assert_allclose(training.design.H[:, 2], days, rtol=1e-12)
    assert training.design.H[0, 1] == YEARS[0]
    np.testing.assert_allclose(ready("y ~ gp((t - s) / 365.25)", data).design.X[0][:, 0], days / 365.25, rtol=1e-12)
    new = {"t": data["t"][:2], "s": data["s"][:2]}
    np.testing.assert_allclose(training.state.replay(new)[0].H[:, 2], days[:2], rtol=1e-12)
    assert ready("x - y ~ 1", data).state.spec.response.duration == ""


def test_a_date_less_a_number_is_refused():
    with pytest.raises(DataError, match=r"'t' holds dates. Write decimal_year\(t\).* or convert 'x' to dates, too"):
        ready("Surv(t - x, d) ~ 1", frame(pd.to_datetime(DAYS, format="ISO8601"), d=1))


def test_a_fit_to_durations_says_so_and_keeps_it(tmp_path):
    rng = np.random.default_rng(1)
    start = pd.Timestamp("2019-06-01") + pd.to_timedelta(rng.integers(0, 400, 30), "D")
    time = rng.integers(5, 300, 30)
    dated = pd.DataFrame(
        {"s": start, "t": start + pd.to_timedelta(time, "D"), "d": rng.integers(0, 2, 30), "days": time}
    )
    res = tg.fit("Surv(t - s, d) ~ 1", dated, family="weibull")
    assert res.llf == pytest.approx(tg.fit("Surv(days, d) ~ 1", dated, family="weibull").llf, abs=1e-9)
    assert "t - s is a duration in days." in str(res.summary())
    res.save(tmp_path / "fit.tgp")
    assert "t - s is a duration in days." in str(tg.load(tmp_path / "fit.tgp").summary())


def test_dates_as_weights_are_refused():
    with pytest.raises(DataError, match="hold dates"):
        ready("y ~ x", frame(pd.to_datetime(DAYS, format="ISO8601")), weights="t")


@pytest.mark.parametrize(
    "cast",
    [
        lambda d: d,
        lambda d: d.astype("timedelta64[s]"),
        lambda d: pd.Series([*d.dt.to_pytimedelta()], dtype=object),
        lambda d: d.astype(object).where(d.notna(), np.nan),
        lambda d: d.astype("duration[ms][pyarrow]"),
    ],
    ids=["ns", "s", "Python", "objects with NaN", "Arrow"],
)
def test_durations_are_days(cast):
    days = np.array([366.0, 1.75, 0.5, 10.0, np.nan])
    column = read_table({"x": cast(pd.Series(pd.to_timedelta(days, "D")))}, ["x"]).columns["x"]
    np.testing.assert_array_equal(column.values, days)
    assert column.missing.tolist() == [False] * 4 + [True]


def timed(n=40):
    """Durations as pandas has them, and as numbers of days."""
    rng = np.random.default_rng(2)
    days, wait = rng.integers(5, 300, n).astype(float), rng.uniform(1, 50, n)
    frame = pd.DataFrame({"days": days, "wait": wait, "d": rng.integers(0, 2, n)})
    return frame.assign(dur=pd.to_timedelta(days, "D"), pause=pd.to_timedelta(wait, "D"))


def test_durations_in_responses_and_covariates_are_days_and_the_summary_says_so(tmp_path):
    data = timed()
    res = tg.fit("Surv(dur, d) ~ pause", data, family="weibull")
    same = tg.fit("Surv(days, d) ~ wait", data, family="weibull")
    np.testing.assert_allclose(res.params, same.params, rtol=1e-6)
    new = data.iloc[:3]
    np.testing.assert_allclose(res.predict(new), same.predict(new), rtol=1e-6)
    for at in ("overall", "mean", new):
        effects = [fit.marginal_effects(at=at).select_dtypes("number") for fit in (res, same)]
        np.testing.assert_allclose(*effects, rtol=1e-4)
    assert "dur is a duration in days." in str(res.summary())
    assert "duration" not in str(same.summary())
    assert "dur in days" in str(res.model.spec)
    res.save(tmp_path / "fit.tgp")
    assert "dur is a duration in days." in str(tg.load(tmp_path / "fit.tgp").summary())


@pytest.mark.slow
def test_durations_are_drawn_in_days():
    data = timed()
    res = tg.fit("days ~ gp(pause)", data, method=tg.EP(hyper="maximize"))
    assert 1 < res.plot().get_xlim()[1] < 60
    assert 1 < res.plot_terms().get_xlim()[1] < 60
    assert "pattern in pause" in res.check().table.index


@pytest.mark.slow
def test_durations_partitioned_are_days():
    dask = pytest.importorskip("dask.dataframe")
    data = timed()
    options = {"family": "weibull", "method": tg.Laplace(hyper="maximize")}
    whole = tg.fit("Surv(days, d) ~ wait", data, **options)
    apart = tg.fit("Surv(dur, d) ~ pause", dask.from_pandas(data, npartitions=3), **options)
    assert apart.log_evidence == pytest.approx(whole.log_evidence, abs=1e-4)
    assert "dur is a duration in days." in str(apart.summary())


def test_durations_as_weights_are_refused():
    with pytest.raises(DataError, match="hold durations"):
        ready("y ~ x", frame(0.0, w=pd.to_timedelta(np.ones(5), "D")), weights="w")
