import numpy as np
import pandas as pd
import pytest
from support.rivers import make_daily, normalise, years

from tobitgp.flow.daily import discharge_weights, make_grid, period_weights, read_daily, read_periods

NEEDED = ("date", "q")


def averages(daily, concentration, half=0, window=None, load=False, by="year"):
    river = read_daily(daily, "q", "date", NEEDED)
    grid, periods = make_grid(river), read_periods(by, river.dates)
    weights = period_weights(periods, grid, discharge_weights(river, grid, half, window, flux=load))
    rows = river.grid(grid.knots, np.exp(grid.log_q))
    C = concentration(years(rows["date"]), np.log(rows["q"].to_numpy()))
    return weights @ C * (86.4 if load else 1.0), periods


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize(("half", "window"), [(0, None), (15, None), (0, 1), (3, 3), (0, 2)])
@pytest.mark.slow_cases("0-1-False", "0-1-True", "3-3-False", "0-2-True")
def test_what_is_linear_both_ways_is_averaged_exactly(half, window, load):
    """(FLW3) beside (FLW2). Time in days, so that interpolation between days is exact over the ends of years."""
    daily = make_daily()

    def bilinear(t, log_q):
        day = np.where(t < 2004, (t - 2001) * 365, 1095 + (t - 2004) * 366)
        return (2 + day / 500) * (1.5 + 0.3 * log_q)

    found, _ = averages(daily, bilinear, half, window, load)
    np.testing.assert_allclose(found, normalise(daily, bilinear, half, window, load), rtol=1e-10)


def test_a_smooth_surface_is_averaged_to_a_thousandth():
    daily = make_daily()

    def surface(t, log_q):
        return np.exp(0.1 * (t - 2002) + 0.4 * np.cos(2 * np.pi * t) - 0.5 * np.tanh(log_q) + 0.05 * t % 1 * log_q)

    found, _ = averages(daily, surface)
    np.testing.assert_allclose(found, normalise(daily, surface), rtol=1e-3)


def test_days_that_are_missing_and_periods_that_are_not_whole():
    daily = make_daily("2001-03-01", "2004-10-15")
    daily = daily[~daily["date"].between("2003-05-01", "2003-05-20")]
    found, periods = averages(daily, lambda t, log_q: np.ones_like(t + log_q))
    np.testing.assert_allclose(found, 1.0, rtol=1e-12)
    assert periods.labels.tolist() == [2002, 2003]
    assert periods.left_out == ("2001", "2004")
    assert periods.count.tolist() == [365, 345]


def test_one_discharge_on_all_days():
    daily = make_daily().assign(q=3.0)
    found, _ = averages(daily, lambda t, log_q: np.exp(log_q) + 0 * t)
    np.testing.assert_allclose(found, 3.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("by", "first", "number"),
    [("year", 2001, 4), ("water_year", 2002, 3), ("month", pd.Period("2001-01"), 48), (None, "2001-01-01", 1461)],
)
def test_periods(by, first, number):
    periods = read_periods(by, read_daily(make_daily(), "q", "date", NEEDED).dates)
    assert len(periods.labels) == number
    assert periods.labels[0] == (pd.Timestamp(first) if by is None else first)
    assert (periods.count > 0).all()


def test_nodes_stand_wherever_another_column_bends():
    n, rng = len(make_daily()), np.random.default_rng(1)
    even = np.append(np.arange(0, n - 1, 12), n - 1)
    columns = {
        "line": (np.arange(n) / 365.25, even),
        "step": (np.arange(n) // 500, np.union1d(even, [499, 500, 999, 1000])),
        "noise": (rng.normal(size=n), np.arange(n)),
        "level": (np.where(np.arange(n) < 500, "a", "b"), np.union1d(even, [499, 500])),
        "same": (np.full(n, "a"), even),
    }
    for name, (column, known) in columns.items():
        river = read_daily(make_daily().assign(**{name: column}), "q", "date", ("date", "q", name))
        np.testing.assert_array_equal(make_grid(river).knots, known, err_msg=name)


def test_discharges_over_ten_powers_of_ten_have_more_nodes():
    daily = make_daily()
    daily["q"] = daily["q"] ** 6
    found, _ = averages(daily, lambda t, log_q: np.exp(0.4 * log_q) + 0 * t)
    np.testing.assert_allclose(found, normalise(daily, lambda t, log_q: np.exp(0.4 * log_q) + 0 * t), rtol=2e-3)
