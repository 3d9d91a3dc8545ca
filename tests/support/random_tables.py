"""Small awkward tables for random models of every kind."""

import numpy as np
import pandas as pd

from support.random_fits import random_rows

SHAPES = ("plain",) * 6 + (
    "ties",
    "constant column",
    "outlier",
    "all censored",
    "missing",
    "small units",
    "large units",
)
INDICES = ("plain", "plain", "text", "repeated", "dates")
TYPES = {
    "float32": ["x", "z", "y", "time"],
    "Int64": ["k", "count", "event"],
    "int8": ["k", "cause"],
    "boolean": ["b", "event"],
    "category": ["g", "rare"],
    "string": ["g"],
    "Float64": ["z", "y"],
}


def random_table(seed, n, shape, positive):
    """Columns for every kind of formula: a response and limits, times, causes, counts, covariates, weights."""
    rng = np.random.default_rng([seed, 1])
    table = random_rows(seed, n, shape, positive)
    table = table.assign(**survival_columns(rng, table, shape))
    table["k"] = rng.integers(1, 4, n)
    table["const"] = 2.0
    table["rare"] = np.where(np.arange(n) == rng.integers(0, n), "seldom", "often")
    table["my col"], table["sigma"], table["class"] = rng.normal(size=(3, n))
    table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D")
    table["other"] = -table["y"] + (table["y"].std() + 0.1) * rng.normal(size=n)
    table["third"] = rng.normal(size=n).round(1)
    table["other_limit"] = table["other"].quantile(0.2)
    table["count"] = np.maximum(rng.poisson(np.where(table["k"] > 1, 3.0, 9.0)), 1)
    table["who"] = np.arange(n)
    return dressed(rng, table)


def survival_columns(rng, table, shape):
    """Times of follow-up, with entries, causes and plateaus."""
    n = len(table)
    risk = 0.5 * table["z"].fillna(0.0) + 0.5 * (table["g"] == "b")
    t = rng.weibull(rng.uniform(0.6, 2.5), n) * np.exp(-np.clip(risk, -5, 5))
    end = rng.exponential(3.0, n) + 0.05
    time, event = np.minimum(t, end) + 0.01, (t <= end).astype(int)
    if shape == "ties":
        time = np.ceil(2 * time) / 2
    unit = {"small units": 1e-4, "large units": 1e5}.get(shape, 1.0)
    if shape == "all censored":
        event[rng.random(n) < 0.9] = 0
    if shape == "outlier":
        time[0] *= 1e4
    time = unit * time
    dead = (rng.random(n) < 0.7) & (t < 4.0)
    split = rng.uniform(0.3, 0.9, n)
    return {
        "time": time,
        "event": event,
        "entry": time * rng.uniform(0, 0.9, n) * (rng.random(n) < 0.7),
        "cause": event * rng.integers(1, 3, n),
        "why": np.where(event == 0, "censored", rng.choice(["heart", "other"], n)),
        "until": np.where(dead, np.maximum(t, 1e-3), 5.0),
        "dead": dead.astype(int),
        "early": np.where(rng.random(n) < 0.2, 0.0, time * split),
        "late": np.where(rng.random(n) < 0.3, np.inf, time),
    }


def dressed(rng, table):
    """The table with other types and another index."""
    if rng.random() < 0.4:
        for kind in rng.choice(list(TYPES), 2, replace=False):
            for column in TYPES[kind]:
                if not (kind in ("Int64", "int8") and table[column].isna().any()):
                    table[column] = table[column].astype(kind)
    index = rng.choice(INDICES)
    if index == "text":
        table.index = pd.Index([f"row {i}" for i in rng.permutation(len(table))])
    if index == "repeated":
        table.index = rng.integers(0, 5, len(table))
    if index == "dates":
        table.index = pd.date_range("2020-01-31", periods=len(table), freq="D")
    return table


def pieces(table, rng):
    """Follow-up in one to three rows of each subject, whose covariates z and b change."""
    parts = []
    for _, row in table.iterrows():
        number = int(rng.integers(1, 4))
        ends = np.sort(rng.uniform(float(row["entry"]), float(row["time"]), number - 1))
        starts = np.r_[float(row["entry"]), ends]
        stops = np.r_[ends, float(row["time"])]
        rows = pd.DataFrame([row] * number).assign(start=starts, stop=stops)
        rows["event"] = np.r_[np.zeros(number - 1, int), int(row["event"])]
        rows["z"] = np.asarray(rows["z"], float) + 0.3 * rng.normal(size=number)
        parts.append(rows)
    found = pd.concat(parts, ignore_index=True)
    return found.astype({name: table[name].dtype for name in table if name not in ("z", "event")})


def new_rows(table, rng):
    """Rows of the table with covariates moved a little, far away, or missing."""
    new = table.iloc[rng.integers(0, len(table), int(rng.integers(1, 6)))].copy()
    numbers = [name for name in ("x", "z", "e", "my col") if name in new]
    moved = rng.choice(["same", "near", "far", "missing"], p=[0.3, 0.4, 0.15, 0.15])
    for name in numbers if moved in ("near", "far") else ():
        shift = {"near": 0.2, "far": 30.0}[moved] * (np.asarray(table[name], float).std() + 1e-9)
        new[name] = np.asarray(new[name], float) + (shift if name != "e" else abs(shift))
    if moved == "missing":
        new = new.astype({"x": float, "z": float})
        new.iloc[0, list(new).index("x")] = np.nan
        new.iloc[-1, list(new).index("z")] = np.nan
    return new
