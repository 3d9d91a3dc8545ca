"""From the files as their sources publish them to the tables of the cache, byte for byte."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

# To the nearest double, as newer releases of pandas read by themselves; they warn of being told so.
TO_THE_LAST_DIGIT: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}

BEIJING_START = pd.Timestamp(2013, 3, 1)
BEIJING_FIRST_HOUR = 16056
BEIJING_STATIONS = (
    "Aotizhongxin",
    "Changping",
    "Dingling",
    "Dongsi",
    "Guanyuan",
    "Gucheng",
    "Huairou",
    "Nongzhanguan",
    "Shunyi",
    "Tiantan",
    "Wanliu",
    "Wanshouxigong",
)

BEIJING_CLOCK = ("year", "month", "day", "hour")
BEIJING_NAMES = {"SO2": "so2", "TEMP": "temp_c", "WSPM": "wspm"}

ARFF_CODES = {"mgus": {"no": 0, "yes": 1}, "event": {"alive": 0, "dead": 1}}


def keep(raw: Sequence[bytes]) -> list[bytes]:
    """Leave files as they are: the table is the published file."""
    return list(raw)


def tidy_housing(raw: Sequence[bytes]) -> list[bytes]:
    r"""Take the quotes from ``BostonHousing.csv``; columns that hold fractions are written with a point throughout."""
    return [_write(_read(raw[0]))]


def tidy_affairs(raw: Sequence[bytes]) -> list[bytes]:
    r"""Give ``fair_pt.csv`` the names, words and order of columns of R's AER."""
    fair = _read(raw[0])
    table = pd.DataFrame(
        {
            "affairs": fair["naffairs"].astype("int64"),
            "gender": fair["sex"].map({0: "female", 1: "male"}),
            "age": fair["age"],
            "yearsmarried": fair["nmarried"],
            "children": fair["nchildren"].map({0: "no", 1: "yes"}),
            "religiousness": fair["religious"],
            "education": fair["education"].astype("int64"),
            "occupation": fair["occupation"],
            "rating": fair["rate_marriage"],
        }
    )
    return [_write(table)]


def tidy_flchain(raw: Sequence[bytes]) -> list[bytes]:
    r"""Read ``flchain.arff``: dots of the names to underscores, ``futime`` and ``death`` to ``time`` and ``event``."""
    head, _, body = raw[0].partition(b"@data\n")
    names = [line.split()[1] for line in head.decode("ascii").splitlines() if line.startswith("@attribute")]
    table = pd.read_csv(io.BytesIO(body), names=names, keep_default_na=False, na_values=["?"], **TO_THE_LAST_DIGIT)
    table = table.rename(columns=lambda name: name.replace(".", "_")).rename(
        columns={"futime": "time", "death": "event"}
    )
    for column, codes in ARFF_CODES.items():
        table[column] = table[column].map(codes)
    return [_write(table)]


def tidy_deepsurv(raw: Sequence[bytes], covariates: Sequence[str], whole: Sequence[str]) -> list[bytes]:
    """Write the arrays of a file of DeepSurv's as two tables, training rows and test rows."""
    import h5py

    tables = []
    with h5py.File(io.BytesIO(raw[0]), "r") as file:
        for split in ("train", "test"):
            group = file[split]
            table = pd.DataFrame(group["x"][:].astype("float32"), columns=list(covariates))
            table = table.astype(dict.fromkeys(whole, "int64"))
            table["time"] = group["t"][:].astype("float32")
            table["event"] = group["e"][:].astype("int64")
            tables.append(_write(table))
    return tables


def tidy_beijing(raw: Sequence[bytes]) -> list[bytes]:
    r"""Put the twelve stations' files under one another, from 30 December 2014 on, packed with gzip."""
    parts = []
    for station, content in enumerate(raw):
        hourly = pd.read_csv(io.BytesIO(content), usecols=[*BEIJING_CLOCK, *BEIJING_NAMES])
        hour = (pd.to_datetime(hourly[[*BEIJING_CLOCK]]) - BEIJING_START) // np.timedelta64(1, "h")
        part = pd.DataFrame({"station": station, "hour_index": hour})
        for column, name in BEIJING_NAMES.items():
            part[name] = hourly[column].astype(float).round(1)
        parts.append(part[part["hour_index"] >= BEIJING_FIRST_HOUR].dropna())
    table = _write(pd.concat(parts), float_format="%g")
    return [gzip.compress(table, 9, mtime=0)]


def _read(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""], **TO_THE_LAST_DIGIT)


def _write(table: pd.DataFrame, float_format: str | None = None) -> bytes:
    return table.to_csv(index=False, lineterminator="\n", float_format=float_format).encode("utf-8")
