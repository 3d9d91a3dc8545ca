"""The same numbers in columns of other types, the same censoring in other words: the same fit of every kind."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.kinds import KINDS, N, fitted, rows

import tobitgp as tg

pytestmark = pytest.mark.diagonal

NUMBERS = ("limit", "least", "event", "cause", "count", "w", "low", "pos", "time", "entry")  # of responses and codes


def floats(kind):
    return lambda data: data.astype(dict.fromkeys(data.select_dtypes("float64"), kind))


def as_categories(data):
    """Numbers beside the terms as categories, text with levels that do not occur, truth values as categories."""
    numbers = {name: data[name].astype("category") for name in NUMBERS}
    return data.assign(**numbers, g=pd.Categorical(data["g"], categories=[*"abcd"]), b=data["b"].astype("category"))


TYPES = {
    "single precision": floats("float32"),
    "small integers": lambda data: data.astype(dict.fromkeys(data.select_dtypes("integer"), "int8")),
    "unsigned integers and truth values": lambda data: data.astype({"event": bool, "w": "uint8", "k": "uint16"}),
    "nullable": lambda data: data.convert_dtypes(),
    "pyarrow": lambda data: data.convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow single precision": floats("float[pyarrow]"),
    "categories": as_categories,
    "polars": pl.from_pandas,
    "polars single precision": lambda data: pl.from_pandas(data).with_columns(pl.col(pl.Float64).cast(pl.Float32)),
    "pyarrow table": lambda data: pa.Table.from_pandas(data, preserve_index=False),
    "lists": lambda data: data.to_dict("list"),
}


def answers(res, new):
    """Numbers of a fit by name: parameters, likelihood or evidence, predictions of some rows."""
    criteria = [getattr(res, name, None) for name in ("llf", "log_evidence")]
    found = {"criterion": np.array([value for value in criteria if value is not None], float)}
    found["parameters"] = res.params.to_numpy(float)
    asked = res if hasattr(res, "predict") else res[1]  # of competing risks the first cause
    found["predictions"] = np.asarray(asked.predict(new), float).ravel()
    return found


def same(found, expected, where):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-8, err_msg=f"{where}: {name}")


@cache
def expected(name):
    return answers(fitted(name), rows()[N:])


@pytest.mark.parametrize("what", TYPES)
@pytest.mark.parametrize("name", KINDS)
def test_types_of_columns(name, what):
    data, change = rows(), TYPES[what]
    res = KINDS[name].fit(change(data[:N]))
    for new in (data[N:], change(data[N:])):
        same(answers(res, new), expected(name), f"{name}, {what}")


def below(data, y, limit):
    """Columns that say by other words which values are below their limit."""
    nd = data[y] <= data[limit]
    written, at = data[y].astype(str), data[limit].astype(str)
    return data.assign(
        nd=nd,
        code=np.where(nd, -1, 0),
        remark=pd.Series(np.where(nd, "<", None), dtype=object),
        qualifier=np.select([nd & (data["k"] == 1), nd], ["U", "UJ"], "J"),
        text=written.mask(nd, "<" + at),
        marked=written.mask(nd, at + " U"),
        bracketed=written.mask(nd, "ND(" + at + ")"),
        absent=written.mask(nd, "<LOR"),
        zeros=data[y].mask(nd, 0.0),
        lo=data[y].mask(nd, np.nan),
    )


LEFT = {
    "flag": "{y} ~ {terms} | censor(nondetect=nd)",
    "Cen": "Cen({y}, nd) ~ {terms}",
    "limit and flag": "zeros ~ {terms} | censor({limit}, nondetect=nd)",
    "status": "{y} ~ {terms} | censor(status=code)",
    "remarks and blanks": "{y} ~ {terms} | censor(nondetect=remark == '<')",
    "several qualifiers": "{y} ~ {terms} | censor(nondetect=(qualifier == 'U') + (qualifier == 'UJ'))",
    "either": "{y} ~ {terms} | censor(nondetect=maximum(qualifier == 'U', qualifier == 'UJ'))",
    "text": "text ~ {terms}",
    "qualified text": "marked ~ {terms}",
    "brackets": "bracketed ~ {terms}",
    "words": "absent ~ {terms} | censor({limit})",
    "ends": "interval(lo, {y}) ~ {terms}",
}


def left_censored():
    """Kinds of one response with a lower limit, but counts: of these ``<2`` says less than ``at most 2``."""
    for name, kind in KINDS.items():
        spec = None if "mvbind" in kind.formula or name == "counts" else kind.formula.partition("| censor(")
        if spec is not None and spec[1]:
            yield name


@pytest.mark.parametrize("what", LEFT)
@pytest.mark.parametrize("name", list(left_censored()))
def test_ways_to_write_detection_limits(name, what):
    kind, data = KINDS[name], rows()
    y, _, rest = kind.formula.partition(" ~ ")
    terms, _, limit = rest.rstrip(")").partition(" | censor(")
    data = below(data, y, limit)
    res = tg.fit(LEFT[what].format(y=y, terms=terms, limit=limit), data[:N], **kind.options)
    same(answers(res, data[N:]), expected(name), f"{name}, {what}")


RIGHT = {
    "comparison": "Surv({entry}time, event == 1) ~ {terms}",
    "words": "Surv({entry}time, ended == 'event') ~ {terms}",
    "codes of R": "Surv({entry}time, code == 2) ~ {terms}",
    "truth values": "Surv({entry}time, seen) ~ {terms}",
}
ANY_FAMILY = {
    "flag": "time ~ {terms} | censor(event=event)",
    "status": "time ~ {terms} | censor(status=word)",
    "text": "text ~ {terms}",
    "ends": "interval(time, hi) ~ {terms}",
    "interval2": "Surv(time, hi, type='interval2') ~ {terms}",
}


@pytest.mark.quick_cases("weibull")
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "event)" in kind.formula])
def test_ways_to_write_events(name):
    kind, data = KINDS[name], rows()
    seen = data["event"] == 1
    data = data.assign(
        seen=seen,
        ended=np.where(seen, "event", "lost"),
        code=data["event"] + 1,
        word=np.where(seen, "none", "right"),
        text=data["time"].astype(str).where(seen, ">" + data["time"].astype(str)),
        hi=data["time"].where(seen, np.inf),
    )
    left, _, terms = kind.formula.partition(" ~ ")
    entry = "entry, " if "entry" in left else ""
    also = ANY_FAMILY if not entry and isinstance(kind.options["family"], str) and "cure" not in kind.options else {}
    for what, template in {**RIGHT, **also}.items():
        res = tg.fit(template.format(entry=entry, terms=terms), data[:N], **kind.options)
        same(answers(res, data[N:]), expected(name), f"{name}, {what}")


NAMES = (
    "sigma",
    "exp",
    "class",
    "Conc.\n(mg/L)",
    "a\u00a0b",
    ".",
    "two words",
    "naïve",
    "x.1",
    "time2",
    "1st",
)


@pytest.mark.parametrize("called", NAMES)
@pytest.mark.parametrize("name", ["regression", "noise scale", "process", "several", "hazard", "spline", "causes"])
def test_names_of_columns(name, called):
    if (name, called) == ("process", "sigma"):
        pytest.skip("two parameters of a process would have one name, which is refused")
    kind, data = KINDS[name], rows().rename(columns={"z": called})
    left, _, terms = kind.formula.partition(" ~ ")
    options = {**kind.options, **({"sigma": f"~ `{called}`"} if "sigma" in kind.options else {})}
    res = tg.fit(f"{left} ~ {terms.replace('z', f'`{called}`', 1)}", data[:N], **options)
    same(answers(res, data[N:]), expected(name), f"{name}, a column {called!r}")


@pytest.mark.parametrize("name", KINDS)
def test_questions_about_no_rows(name):
    data, res = rows(), fitted(name)
    asked = res if hasattr(res, "predict") else res[1]
    some, none = asked.predict(data[N:]), asked.predict(data[:0])
    assert len(none) == 0
    assert pd.DataFrame(none).columns.equals(pd.DataFrame(some).columns)
