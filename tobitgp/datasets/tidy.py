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
    """Leave files as they are: the table is the published file.

    Parameters
    ----------
    raw : sequence of bytes
        One file a table.

    Returns
    -------
    list of bytes
        The same.

    Examples
    --------
    >>> keep([b"a,b"])
    [b'a,b']
    """
    return list(raw)


def tidy_housing(raw: Sequence[bytes]) -> list[bytes]:
    r"""Take the quotes from ``BostonHousing.csv``; columns that hold fractions are written with a point throughout.

    Parameters
    ----------
    raw : sequence of bytes
        The one file.

    Returns
    -------
    list of bytes
        The one table.

    Examples
    --------
    >>> tidy_housing([b'"zn","chas","medv"\n18,"0",24\n12.5,"1",21.6\n\n'])
    [b'zn,chas,medv\n18.0,0,24.0\n12.5,1,21.6\n']
    """
    return [_write(_read(raw[0]))]


def tidy_affairs(raw: Sequence[bytes]) -> list[bytes]:
    r"""Give ``fair_pt.csv`` the names, words and order of columns of R's AER.

    Parameters
    ----------
    raw : sequence of bytes
        The one file.

    Returns
    -------
    list of bytes
        The one table.

    Examples
    --------
    >>> header = "identifier,constant,sex,age,nmarried,nchildren,religious,education,occupation,rate_marriage,naffairs"
    >>> tidy_affairs([(header + "\n4,1.0,1,37.0,10.0,0,3,18.0,7,4,0.0\n").encode()])[0].decode().splitlines()[1]
    '0,male,37.0,10.0,no,3,18,7,4'
    """
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
    r"""Read ``flchain.arff``: dots of the names to underscores, ``futime`` and ``death`` to ``time`` and ``event``.

    Parameters
    ----------
    raw : sequence of bytes
        The one file, in the attribute-relation format.

    Returns
    -------
    list of bytes
        The one table, words of yes and no as 1 and 0.

    Examples
    --------
    >>> head = "".join(f"@attribute {name} numeric\n" for name in ("flc.grp", "mgus", "futime", "death"))
    >>> tidy_flchain([(head + "@data\n10,no,85,dead\n").encode()])
    [b'flc_grp,mgus,time,event\n10,0,85,1\n']
    """
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
    """Write the arrays of a file of DeepSurv's as two tables, training rows and test rows.

    Parameters
    ----------
    raw : sequence of bytes
        The one file, HDF5: groups ``train`` and ``test`` with arrays ``x`` (n, p), ``t`` (n,) and ``e`` (n,).
    covariates : sequence of str
        Names of the p columns of ``x``, which the file does not hold.
    whole : sequence of str
        Those of them that are codes or counts, written without a point.

    Returns
    -------
    list of bytes
        Both tables. Single-precision values are written as the shortest numbers that give them back.
    """
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
    r"""Put the twelve stations' files under one another, from 30 December 2014 on, packed with gzip.

    Parameters
    ----------
    raw : sequence of bytes
        ``PRSA_Data_<station>_20130301-20170228.csv`` for each of `BEIJING_STATIONS`.

    Returns
    -------
    list of bytes
        The one table: hours at which sulphur dioxide, temperature and wind were all measured, with one decimal at most.

    Examples
    --------
    >>> (packed,) = tidy_beijing([b"year,month,day,hour,SO2,TEMP,WSPM\n2015,1,1,0,2,-6.5,3\n2015,1,1,1,NA,-7,3\n"])
    >>> gzip.decompress(packed)
    b'station,hour_index,so2,temp_c,wspm\n0,16104,2,-6.5,3\n'
    """
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
