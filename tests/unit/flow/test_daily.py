import numpy as np
import pytest
from support.rivers import make_daily

from tobitgp.errors import DataError, SpecError
from tobitgp.flow.daily import read_daily, read_periods


def spoil(column, place, value):
    daily = make_daily()
    return daily.assign(**{column: daily[column].where(daily.index != place, value)})


CASES = {
    "unsorted": (lambda: make_daily().iloc[[0, 2, 1, *range(3, 60)]], r"1 days \(2001-01-02\) come before"),
    "doubled": (lambda: make_daily().iloc[[0, 1, 1, 2]], r"1 days \(2001-01-02\) occur twice"),
    "missing flow": (lambda: spoil("q", 3, np.nan), r"1 days \(2001-01-04\) have no discharge"),
    "zero flow": (lambda: spoil("q", 3, 0.0), r"2001-01-04\).*plus a constant"),
    "many": (lambda: make_daily().assign(q=-1.0), r"1461 days \(2001-01-01, .* and 1456 more\)"),
    "missing date": (lambda: spoil("date", 3, None), "is missing in 1 daily rows"),
    "no dates": (lambda: make_daily().assign(date=range(1461)), "must be a column of dates"),
    "no numbers": (lambda: make_daily().assign(q="high"), "must be a column of numbers"),
    "one day": (lambda: make_daily().head(1), "fewer than two days"),
    "times of several zones": (
        lambda: {"date": ["2001-01-01T00:00+01:00", "2001-07-01T00:00+02:00"], "q": [1.0, 2.0]},
        "must be a column of dates",
    ),
    "no table": (lambda: None, "not NoneType"),
    "unequal lengths": (lambda: {"date": ["2001-01-01"], "q": [1.0, 2.0]}, "length"),
    "no column": (lambda: make_daily().rename(columns={"q": "Q"}), "discharge='q'.*no such column"),
}


@pytest.mark.parametrize(("make", "message"), CASES.values(), ids=CASES)
def test_bad_days_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        read_daily(make(), "q", "date", ("date", "q"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_days_without_another_column_are_refused(value):
    with pytest.raises(DataError, match=r"1 days \(2001-01-06\) have no 'temp'"):
        read_daily(make_daily().assign(temp=np.where(np.arange(1461) == 5, value, 1.0)), "q", "date", ("q", "temp"))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York"])
def test_days_of_a_time_zone_are_those_of_its_clocks(zone):
    daily = make_daily()
    local = daily.assign(date=daily["date"].dt.tz_localize(zone))
    assert read_daily(local, "q", "date", ("date", "q")).dates.equals(read_daily(daily, "q", "date", ("q",)).dates)


def test_a_model_without_discharge_is_refused():
    with pytest.raises(SpecError, match=r"not use the discharge column 'q' .it uses 'date', 'log_q'.*gp\(log\(q\)\)"):
        read_daily(make_daily(), "q", "date", ("date", "log_q"))


def test_columns_that_days_lack_are_named():
    with pytest.raises(SpecError, match=r"requires 'year' for every day.*decimal_year\(date\)"):
        read_daily(make_daily(), "q", "date", ("year", "q"))


def test_a_grid_keeps_other_columns_of_the_day():
    daily = make_daily().assign(year=lambda d: 2001 + np.arange(len(d)) / 365.25)
    river = read_daily(daily, "q", "date", ("year", "q"))
    rows = river.grid(np.array([0, 30]), np.array([1.0, 2.0, 4.0]))
    assert rows["q"].tolist() == [1.0, 2.0, 4.0] * 2
    assert rows["year"].tolist() == [daily["year"][0]] * 3 + [daily["year"][30]] * 3


def test_users_data_stay_as_they_are():
    daily = make_daily()
    before = daily.copy()
    read_daily(daily, "q", "date", ("date", "q"))
    assert daily.equals(before)


def test_days_of_text_and_of_a_dictionary_are_read():
    daily = make_daily()
    texts = {"date": daily["date"].dt.strftime("%Y-%m-%d").tolist(), "q": daily["q"].tolist()}
    assert read_daily(texts, "q", "date", ("date", "q")).dates.equals(read_daily(daily, "q", "date", ("q",)).dates)


def test_the_29th_of_february_counts_as_the_28th():
    daily = make_daily("2004-02-27", "2004-03-02")
    assert read_daily(daily, "q", "date", ("q",)).calendar.tolist() == [57, 58, 58, 59, 60]


def test_a_record_without_a_whole_year_and_unknown_periods_are_refused():
    dates = read_daily(make_daily("2001-03-01", "2001-12-31"), "q", "date", ("q",)).dates
    with pytest.raises(DataError, match="no complete water year"):
        read_periods("water_year", dates)
    with pytest.raises(SpecError, match="by='week'"):
        read_periods("week", dates)
