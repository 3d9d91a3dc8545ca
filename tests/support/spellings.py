"""Rows with every column that the spellings of the language need, and the distributions that each spelling keeps."""

import re

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

N = 48
KINDS = ("exact", "left", "right", "interval", "dropped")
SIGMA = {"sigma": 0.3}


def rows():
    """One frame for all; ``y`` is known in every row, the other responses are censored in their own ways."""
    rng = np.random.default_rng(11)
    d = pd.DataFrame({"x": rng.uniform(0, 4, N), "v": rng.uniform(-1, 1, N), "z": rng.normal(size=N)})
    d["w"] = rng.uniform(0.5, 2.0, N)
    d["dose (mg)"] = rng.normal(size=N)
    d["g"] = rng.permutation(np.repeat(["a", "b", "c"], N // 3))
    d["h"] = rng.permutation(np.repeat([1, 2, 5, 7], N // 4))
    d["date"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) * 7, unit="D")
    d["y"] = 2 + np.sin(2 * d["x"]) + 0.4 * d["z"] + rng.normal(0, 0.3, N)
    d["low"], d["high"] = rng.choice([1.2, 1.6], N), 2.9
    d["floored"], d["topped"] = d["y"].clip(lower=d["low"]), d["y"].clip(upper=2.9)
    d["clipped"] = d["floored"].clip(upper=2.9)
    d["time"] = np.exp(d["y"])
    status = rng.permutation(np.repeat([-1, 0, 1, 2], N // 4))
    d["status"], d["word"] = status, pd.Series(status).map({-1: "left", 0: "none", 1: "right", 2: "interval"})
    d["surv"] = pd.Series(status).map({-1: 2, 0: 1, 1: 0, 2: 3})
    d["end"] = np.where(status == 2, d["y"] + 0.5, np.nan)
    d["lo"] = np.where(status == -1, -np.inf, d["y"])
    d["hi"] = np.select([status == 1, status == 2], [np.inf, d["y"] + 0.5], d["y"])
    d["lo_gap"], d["hi_gap"] = d["lo"].replace(-np.inf, np.nan), d["hi"].replace(np.inf, np.nan)
    d["event"] = rng.integers(0, 2, N)
    d["seen"], d["below"] = d["y"] > d["low"], (d["y"] <= d["low"]).astype(int)
    texts = [f"<{low}" if y <= low else repr(float(y)) for y, low in zip(d["floored"], d["low"], strict=True)]
    d["text"] = [">  2.9" if y >= 2.9 else text for y, text in zip(d["y"], texts, strict=True)]
    d.index = [f"row{i}" for i in range(N)]
    return d


def counts(**kinds):
    """All five counts, from masks or numbers of those that are not 0; the exact rows are the rest."""
    known = {kind: int(np.sum(rows)) for kind, rows in kinds.items()}
    return [N - sum(known.values()), *(known.get(kind, 0) for kind in KINDS[1:])]


def check_counts(res, expected):
    """The counts, and that they are printed."""
    assert res.counts.tolist() == expected
    assert res.counts.index.tolist() == list(KINDS)
    shown = dict(zip(KINDS, expected, strict=True))
    words = [f"{shown[kind]} {kind}-censored" for kind in KINDS[1:4] if shown[kind]] or ["none censored"]
    assert f"{shown['exact']} rows exact, {', '.join(words)}, {shown['dropped']} dropped" in repr(res)
    text = res.summary().as_text()
    labels = ("(?:uncensored|events)", "left-censored", "right-censored", "interval-censored", "Rows dropped")
    for label, count in zip(labels, expected, strict=True):
        found = re.search(rf" {label}(?: rows)?: +(\d+)", text)
        assert (int(found[1]) if found else 0) == count, label


def check_prediction(res, data, columns):
    """Rows in any order and any number, and the terms' columns alone, give the same predictions."""
    new = data[columns]
    whole = res.predict(new, se=True)
    pd.testing.assert_frame_equal(res.predict(data, se=True), whole, rtol=0, atol=1e-12)
    shuffled = new.iloc[np.random.default_rng(1).permutation(len(new))]
    pd.testing.assert_frame_equal(res.predict(shuffled, se=True), whole.loc[shuffled.index], rtol=0, atol=1e-12)
    few = new[(data["g"] == "b") & (data["h"] != 5)]
    pd.testing.assert_frame_equal(res.predict(few, se=True), whole.loc[few.index], rtol=0, atol=1e-12)
    for name in columns:
        with pytest.raises(tg.errors.DataError) as caught:
            res.predict(new.drop(columns=name))
        assert repr(name) in str(caught.value)
        gap = new.copy()
        gap[name] = gap[name].astype(object).where(np.arange(len(gap)) != 3, None).infer_objects()
        table = res.predict(gap, se=True)
        assert np.flatnonzero(table.isna().any(axis=1)).tolist() == [3]
        kept = np.arange(len(gap)) != 3
        pd.testing.assert_frame_equal(table[kept], whole[kept], rtol=0, atol=1e-12)
