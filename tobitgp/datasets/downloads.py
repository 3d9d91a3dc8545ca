"""Data sets that are downloaded: their sources and parsers, and files that R saved."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

# Kinds of objects, by their codes in R's serialisation.
PAIRS, NOTHING, SYMBOL, SEEN_SYMBOL, TEXT, SLOTS = 2, 254, 1, 255, 9, 25
LISTS = (16, 19)
NUMBERS = {10: ">i4", 13: ">i4", 14: ">f8"}
PACKED: dict[bytes, Callable[[bytes], bytes]] = {b"\xfd7zXZ": lzma.decompress, b"BZh": bz2.decompress}


def read_saved(content: bytes) -> dict[str, Any]:
    """Read the objects of an ``.RData`` file, packed with gzip, bzip2 or xz.

    Data frames are dictionaries of columns, and objects of S4 classes dictionaries of slots.
    """
    unpack = next((unpack for start, unpack in PACKED.items() if content.startswith(start)), gzip.decompress)
    file = io.BytesIO(unpack(content))
    version = file.read(7)
    if version not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        raise ValueError("not a binary file of R's save(), version 2 or 3")
    file.seek(12, io.SEEK_CUR)
    if version.startswith(b"RDX3"):
        file.seek(_whole(file), io.SEEK_CUR)
    return dict(_read(file, []))


def _whole(file: io.BytesIO) -> int:
    return int.from_bytes(file.read(4), "big", signed=True)


def _read(file: io.BytesIO, symbols: list[str]) -> Any:
    """Read one object; of the attributes of a vector only its names are kept."""
    flags = _whole(file)
    kind, attributed = flags & 255, flags & 512
    if kind == NOTHING:
        return {}
    if kind == SEEN_SYMBOL:
        return symbols[(flags >> 8) - 1]
    if kind == SYMBOL:
        symbols.append(_read(file, symbols))
        return symbols[-1]
    if kind == PAIRS:
        if attributed:
            _read(file, symbols)
        return {_read(file, symbols): _read(file, symbols)} | _read(file, symbols)
    if kind == SLOTS:
        return _read(file, symbols)
    size = _whole(file)
    values: Any
    if kind == TEXT:
        return None if size < 0 else file.read(size).decode("utf-8")
    if kind in LISTS:
        values = [_read(file, symbols) for _ in range(size)]
    elif kind in NUMBERS:
        kept = np.dtype(NUMBERS[kind])
        values = np.frombuffer(file.read(size * kept.itemsize), kept).astype(kept.newbyteorder("="))
    else:
        raise ValueError(f"an object of R's type {kind} has no reader here")
    names = _read(file, symbols).get("names") if attributed else None
    return values if names is None else dict(zip(names, values, strict=True))


def sample(seed: int, rows: int, size: int) -> list[int]:
    """Rows, from 0, that R since 3.6 draws with ``set.seed(seed); sample(rows, size)``; at most 65,536 rows."""
    words = []
    for _ in range(675):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": np.array(words[51:], "uint32"), "pos": 624}}
    left, drawn = list(range(rows)), list[int]()
    while len(drawn) < size:
        place = int(twister.random_raw()) >> 16 & (1 << (len(left) - 1).bit_length()) - 1
        if place < len(left):
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
    return drawn


GITHUB = "https://raw.githubusercontent.com"
DEEPSURV = f"{GITHUB}/jaredleekatzman/DeepSurv/41eed003e5b892c81e7855e400861fa7a2d9da4f/experiments/data"
EGRET = f"{GITHUB}/DOI-USGS/EGRET/b1d2fec775f60a79f9d20e06a4b43cce8ccf5b01/data"
EGRET_SHA256 = "94833b3fa50a7ca7f4fd9086a862acfe7f861077f7860a028c7e47e5d315e8f6"
GCCLUST = f"{GITHUB}/USGS-R/GcClust/a005e380a100bc26ebc41c402a8891d4ba2011be/data"
BEIJING = f"{GITHUB}/Peiris94-dev/Beijing-Multi-Site-Air-Quality-Analysis/0aa46c055fcca7da49ebac9329435ffe674b74c3"

GBSG = ("hormon", "size_cat", "meno", "age", "nodes", "pgr", "er")
METABRIC_GENES = ("mki67", "egfr", "pgr", "erbb2")
METABRIC_CODES = ("hormone_treatment", "radiotherapy", "chemotherapy", "er_positive")
SUPPORT_CODES = ("sex", "race", "num_comorbidity", "diabetes", "dementia", "cancer")
SUPPORT_MEASURES = ("meanbp", "hrt", "resp", "temp", "sod", "wbc", "crea")


@dataclass(frozen=True)
class DownloadSource:
    """Where a data set comes from."""

    tables: dict[str, str]  # files of the cache
    urls: tuple[str, ...]  # what is published
    tidy: Callable[[Sequence[bytes]], list[bytes]]  # from the published files to the tables, both as bytes
    raw_sha256: str | None = None  # of the published file, where it is known
    installed: str | None = None  # the same file below ``site-packages`` where some package has it
    needs: str | None = None  # package that ``tidy`` imports and tobitgp does not depend on


TO_THE_LAST_DIGIT: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}

BEIJING_START = pd.Timestamp(2013, 3, 1)
BEIJING_FIRST_HOUR = 16056
BEIJING_STATIONS = (
    *("Aotizhongxin", "Changping", "Dingling", "Dongsi", "Guanyuan", "Gucheng", "Huairou", "Nongzhanguan", "Shunyi"),
    *("Tiantan", "Wanliu", "Wanshouxigong"),
)
BEIJING_CLOCK = ("year", "month", "day", "hour")
BEIJING_NAMES = {"SO2": "so2", "TEMP": "temp_c", "WSPM": "wspm"}

ELEMENTS = {
    **{"Al": "aluminium", "As": "arsenic", "Ba": "barium", "Be": "beryllium", "Bi": "bismuth", "Ca": "calcium"},
    **{"Cd": "cadmium", "Ce": "cerium", "Co": "cobalt", "Cr": "chromium", "Cu": "copper", "Fe": "iron"},
    **{"Ga": "gallium", "In": "indium", "K": "potassium", "La": "lanthanum", "Li": "lithium", "Mg": "magnesium"},
    **{"Mn": "manganese", "Mo": "molybdenum", "Na": "sodium", "Nb": "niobium", "Ni": "nickel", "P": "phosphorus"},
    **{"Pb": "lead", "Rb": "rubidium", "S": "sulfur", "Sb": "antimony", "Sc": "scandium", "Sn": "tin"},
    **{"Sr": "strontium", "Th": "thorium", "Ti": "titanium", "Tl": "thallium", "U": "uranium", "V": "vanadium"},
    **{"W": "tungsten", "Y": "yttrium", "Zn": "zinc"},
}
SHARE_OF_LIMIT = 0.65  # that GcClust writes where nothing was detected

ARFF_CODES = {"mgus": {"no": 0, "yes": 1}, "event": {"alive": 0, "dead": 1}}


def tidy_housing(raw: Sequence[bytes]) -> list[bytes]:
    r"""Take the quotes from ``BostonHousing.csv``; columns that hold fractions are written with a point throughout."""
    return [_write(read_table(raw[0]))]


def tidy_affairs(raw: Sequence[bytes]) -> list[bytes]:
    r"""Give ``fair_pt.csv`` the names, words and order of columns of R's AER."""
    fair = read_table(raw[0])
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


def tidy_pce(raw: Sequence[bytes]) -> list[bytes]:
    r"""Name the columns of ``PCE.RData``, and draw the rows that the paper trains on, packed with gzip."""
    (saved,) = read_saved(raw[0]).values()
    censored = saved["left_censored"] == 1
    table = pd.DataFrame(
        {
            "site": saved["site_no"],
            "day": saved["startDate"].astype("int64"),
            **{column: saved[column] for column in ("lon", "lat", "well_depth")},
            "county": saved["CountyName"],
            "state": saved["StateName"],
            "pce": np.where(censored, saved["detection_level"], saved["result_va"]),
            "limit": saved["detection_level"],
            "censored": censored.astype("int64"),
        }
    )
    train = np.zeros(len(table), dtype=bool)
    train[sample(123, len(table), round(0.8 * len(table)))] = True
    return [gzip.compress(_write(table[rows]), 9, mtime=0) for rows in (train, ~train)]


def tidy_choptank(raw: Sequence[bytes], table: str) -> list[bytes]:
    r"""Take samples or daily discharges from ``Choptank_eList.RData``, days of 1970 as dates."""
    saved = read_saved(raw[0])["Choptank_eList"][table]
    columns = {"date": pd.to_datetime(np.asarray(saved["Date"]), unit="D").strftime("%Y-%m-%d"), "q": saved["Q"]}
    if table == "Sample":
        columns |= {"conc_low": saved["ConcLow"], "conc_high": saved["ConcHigh"]}
        columns |= {"detected": np.asarray(saved["Uncen"]).astype("int64")}
    return [_write(pd.DataFrame(columns))]


def tidy_colorado(raw: Sequence[bytes]) -> list[bytes]:
    r"""Take the soils of ``CoGeochemData.rda``: limits again where nothing was detected, and which values these are."""
    (saved,) = read_saved(raw[0]).values()
    places, shown = saved["concData"]["coords"], pd.DataFrame(saved["concData"]["data"])
    below = np.reshape(saved["censorIndicators"], shown.shape, order="F") == "left"
    values = shown.mask(below, shown / SHARE_OF_LIMIT).rename(columns=ELEMENTS)
    flags = pd.DataFrame(below.astype("int64"), columns=values.columns).loc[:, below.any(axis=0)]
    lon, lat = np.reshape(places, (2, -1))
    table = pd.concat([values.sort_index(axis=1), flags.sort_index(axis=1).add_suffix("_censored")], axis=1)
    return [_write(pd.DataFrame({"lon": lon, "lat": lat}).join(table), float_format="%.10g")]


def read_table(content: bytes) -> pd.DataFrame:
    """A table in which only an empty field is missing: "None" and "NA" are words."""
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""], **TO_THE_LAST_DIGIT)


def _write(table: pd.DataFrame, float_format: str | None = None) -> bytes:
    return table.to_csv(index=False, lineterminator="\n", float_format=float_format).encode("utf-8")


SOURCES: dict[str, DownloadSource] = {
    "affairs": DownloadSource(
        tables={"affairs.csv": "e84bceca7868eb2f3cb8a06d20a98f52ddf4b04ce6aac86470628959c3f01736"},
        urls=(f"{GITHUB}/statsmodels/statsmodels/v0.14.2/statsmodels/datasets/fair/fair_pt.csv",),
        tidy=tidy_affairs,
        raw_sha256="44a840ec1f826b91135cd0e929daeb5d11a1194b7b54e5f7d34c05d20ab2d426",
        installed="statsmodels/datasets/fair/fair_pt.csv",
    ),
    "beijing_so2": DownloadSource(
        tables={"beijing_so2.csv.gz": "edd06c2fbcee53bbfeb11b3761b20074e8c52f7ecf7ed4a6a3cad47510000de6"},
        urls=tuple(f"{BEIJING}/PRSA_Data_{station}_20130301-20170228.csv" for station in BEIJING_STATIONS),
        tidy=tidy_beijing,
    ),
    "choptank_discharge": DownloadSource(
        tables={"choptank_discharge.csv": "973cd7ef8caaa3cee300cb14b8413656f5f13184428254b0e25d5327ce644a1e"},
        urls=(f"{EGRET}/Choptank_eList.RData",),
        tidy=partial(tidy_choptank, table="Daily"),
        raw_sha256=EGRET_SHA256,
    ),
    "choptank_nitrate": DownloadSource(
        tables={"choptank_nitrate.csv": "1f6a21689e921a21cc83efc04a588d06b5ef75d0988e499344ecd49ba62a4fa8"},
        urls=(f"{EGRET}/Choptank_eList.RData",),
        tidy=partial(tidy_choptank, table="Sample"),
        raw_sha256=EGRET_SHA256,
    ),
    "colorado_soils": DownloadSource(
        tables={"colorado_soils.csv": "483b0f58a9ba5370dfbca4d12c9233e6f53c5783a4dd615fef82bfdd06280401"},
        urls=(f"{GCCLUST}/CoGeochemData.rda",),
        tidy=tidy_colorado,
        raw_sha256="e2277d50f899976d1358cb3ddedcc400a9fa12da59aa7985d2e6459079eba053",
    ),
    "credit_risk": DownloadSource(
        tables={"credit_risk.csv": "cffb351096de15138867f8ccb7f11a5177966277a05d4ee998e61f90d7baf717"},
        urls=(
            f"{GITHUB}/square/pysurvival/841b9bc6ce700ba8898d2a1488aa9cd25ee7a8e6/pysurvival/datasets/credit_risk.csv",
        ),
        tidy=list,
        raw_sha256="cffb351096de15138867f8ccb7f11a5177966277a05d4ee998e61f90d7baf717",
    ),
    "flchain": DownloadSource(
        tables={"flchain.csv": "6c470d451a7ca2af36170515611d5025608ef723ab60f1fb8de65ba3b7588f81"},
        urls=(
            f"{GITHUB}/sebp/scikit-survival/f5a9b0a7d0f324d73825ee1c5e8e4676f6ddff01/sksurv/datasets/data/flchain.arff",
        ),
        tidy=tidy_flchain,
        raw_sha256="bf2600ec437dd19071f73bdad82de681780457d1141ec36ed551b0026e6e5773",
        installed="sksurv/datasets/data/flchain.arff",
    ),
    "gbsg": DownloadSource(
        tables={
            "gbsg_train.csv": "3f0fca6f70d34620a31b253c7d2ab71b11a54c3e399f4b8568ecce8a7288f2d5",
            "gbsg_test.csv": "dc2145f385b825a53207f61fcc224f588c16dbd2cf2f114061b3df5727edcf56",
        },
        urls=(f"{DEEPSURV}/gbsg/gbsg_cancer_train_test.h5",),
        tidy=partial(tidy_deepsurv, covariates=GBSG, whole=GBSG),
        needs="h5py",
    ),
    "housing": DownloadSource(
        tables={"boston_housing.csv": "67f9ee024ce636351aad9209b80c7984d6959345069ce00277bda7df8163e703"},
        urls=(f"{GITHUB}/selva86/datasets/c943fa8851270387c44d26efb0f9c0aac1559e11/BostonHousing.csv",),
        tidy=tidy_housing,
    ),
    "metabric": DownloadSource(
        tables={
            "metabric_train.csv": "dd8d448539949ad3f4e80bad43801479e1c1701cd9e369a91f51b755bd10918b",
            "metabric_test.csv": "c91a987a39afcdca516549c3c2f4735590870c98b1fc8bb604ff68388bf2d98d",
        },
        urls=(f"{DEEPSURV}/metabric/metabric_IHC4_clinical_train_test.h5",),
        tidy=partial(
            tidy_deepsurv, covariates=(*METABRIC_GENES, *METABRIC_CODES, "age_at_diagnosis"), whole=METABRIC_CODES
        ),
        needs="h5py",
    ),
    "pce": DownloadSource(
        tables={
            "pce_train.csv.gz": "f19e28c5af8e2ee8f5cc93de24c500911d21767b5c6fc3a4494cc554bad341cb",
            "pce_test.csv.gz": "a0cc7e9eeeaf8d256692f7497f558c360ad3a7c77fe8a730acacbcf052e466eb",
        },
        urls=(f"{GITHUB}/JCatwood/TMVN_Vecchia/0be14fdc7b422da97403dbecc69460f2481307f9/experiments/PCE.RData",),
        tidy=tidy_pce,
        raw_sha256="2cb78ea1f9666212495cf7c4f539087d2db1829e12b5a5333420260713c7eb0a",
    ),
    "support": DownloadSource(
        tables={
            "support_train.csv": "e103e22f251a73409bb1adb23188cf5c48c5cd2c3f28ee3c83db30d8ee7ed8fb",
            "support_test.csv": "241132c39d7d09939b202fd05998ef293282cbbe97ce52cb1aa7428b9ebc5160",
        },
        urls=(f"{DEEPSURV}/support/support_train_test.h5",),
        tidy=partial(tidy_deepsurv, covariates=("age", *SUPPORT_CODES, *SUPPORT_MEASURES), whole=SUPPORT_CODES),
        needs="h5py",
    ),
}
