"""Daily discharges, samples and flow-normalised means formed day by day."""

import numpy as np
import pandas as pd

from tobitgp.formula.functions import decimal_years


def make_daily(start="2001-01-01", end="2004-12-31", seed=1):
    dates, rng = pd.date_range(start, end), np.random.default_rng(seed)
    log_q = 0.7 * np.cos(2 * np.pi * dates.dayofyear / 365.25) + 0.5 * rng.normal(size=len(dates))
    return pd.DataFrame({"date": dates, "q": np.exp(log_q)})


def make_samples(daily, every=20, sigma=0.2, trend=0.1, seed=2):
    samples = daily.iloc[::every].copy()
    noise = sigma * np.random.default_rng(seed).normal(size=len(samples))
    f = trend * (years(samples["date"]) - 2003) + 0.4 * np.log(samples["q"])
    return samples.assign(c=np.exp(f + noise))


def years(dates):
    return decimal_years((pd.DatetimeIndex(dates) - pd.Timestamp(0)).days)


def pools(daily, half=0, window=None):
    """Rows whose discharges are those of each day's calendar day, by the definition."""
    dates = daily["date"]
    key = dates.dt.dayofyear - 1 - (dates.dt.is_leap_year & (dates.dt.dayofyear > 59))
    year = dates.dt.year
    for k in range(len(daily)):
        apart = (key - key[k]) % 365
        near = np.minimum(apart, 365 - apart) <= half
        if window is not None:
            first = np.clip(year[k] - window // 2, year.min(), year.max() - window + 1)
            near &= (year >= first) & (year < first + window)
        yield np.flatnonzero(near)


def normalise(daily, concentration, half=0, window=None, load=False):
    """Flow-normalised annual means of a concentration(t, log q)."""
    t, q = years(daily["date"]), daily["q"].to_numpy()
    of_day = [
        np.mean(concentration(t[k], np.log(q[rows])) * (86.4 * q[rows] if load else 1.0))
        for k, rows in enumerate(pools(daily, half, window))
    ]
    return pd.Series(of_day, index=daily["date"].dt.year).groupby(level=0).mean()
