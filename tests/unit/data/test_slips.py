"""Slips that are told of, and data like them in which nothing is wrong."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


def table(n=40):
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    limit = np.where(np.arange(n) % 2, 1.0, 0.5)
    y = np.maximum(np.exp(0.3 + 0.5 * x + 0.5 * rng.normal(size=n)), limit)
    return pd.DataFrame({"x": x, "y": y, "limit": limit, "nd": y == limit})


@pytest.mark.parametrize("censoring", ["censor(-3)", "censor(upper=99)", "censor(limit - 9, 99)"])
def test_limits_that_no_value_meets_are_told_of(censoring):
    with pytest.warns(UserWarning, match=r"No row is censored.*censor\(nondetect=flag\)"):
        res = tg.fit(f"y ~ x | {censoring}", table())
    assert res.llf == pytest.approx(tg.fit("y ~ x", table()).llf, abs=1e-10)


@pytest.mark.parametrize(
    ("formula", "changes"),
    [
        ("y ~ x | censor(limit, 99)", {}),  # one of two limits is met
        ("y ~ x | censor(-inf, inf)", {}),  # no limit
        ("y ~ x | censor(nondetect=none)", {"none": 0}),  # a subset without a non-detect
        ("y ~ x | censor(b)", {"b": lambda d: np.where(d["limit"] == 1, 1.0, 0.0)}),  # limits that are 0 and 1
        ("y ~ x | censor(0 + b)", {"b": lambda d: 1.0 * d["nd"], "y": lambda d: d["y"] / 2}),
        ("log(y) ~ x | censor(log(limit))", {}),
        ("log10(y) ~ x | censor(0)", {"y": lambda d: np.maximum(d["y"], 1.0)}),  # a y of 1 is no slip
        ("log(y) ~ x | censor(nondetect=nd)", {"y": lambda d: d["y"].where(np.arange(len(d)) != 3)}),  # missing, seen
    ],
)
@pytest.mark.filterwarnings("ignore:.*beyond the limits:UserWarning", "ignore:.*is dropped:UserWarning")
def test_healthy_limits_are_not(formula, changes):
    data = table().assign(**changes)
    assert data["nd"].iloc[3] == 0
    tg.fit(formula, data)


def test_data_partitioned_are_judged_together(tmp_path):
    data = table().sort_values("nd")
    for k, part in enumerate((data[:20], data[20:])):
        part.to_parquet(tmp_path / f"{k}.parquet")
    files = str(tmp_path / "*.parquet")
    tg.Model("y ~ x | censor(limit)", files)
    with pytest.warns(UserWarning, match="No row is censored"):
        tg.Model("y ~ x | censor(-3)", files)


def test_a_code_that_is_missing_leaves_its_row_out():
    data = table().assign(s=lambda d: 1.0 - d["nd"])
    data.loc[5, "s"] = np.nan
    with pytest.warns(UserWarning, match=r"1 of 40 rows is dropped: missing values in 's' \(1\)"):
        res = tg.fit("Surv(y, s) ~ x", data, family="weibull")
    assert res.llf == pytest.approx(tg.fit("Surv(y, s) ~ x", data.drop(5), family="weibull").llf, abs=1e-10)


def test_only_surv_asks_for_its_family():
    data = table().assign(lo=lambda d: d["y"], hi=lambda d: d["y"] + 1)
    assert tg.Model("interval(lo, hi) ~ x", data)._rows.family.name == "gaussian"
    with pytest.raises(SpecError, match="'gaussian' models the time itself as normal"):
        tg.Model("Surv(lo, hi, type='interval2') ~ x", data)
    assert tg.Model("Surv(lo, hi, type='interval2') ~ x", data, family="gaussian")


def split_subjects(n=25, *, gap=0.0):
    """Rows of three months each, a covariate that changes, one that does not."""
    rng, rows = np.random.default_rng(2), []
    for i in range(n):
        end, died, start, sex = rng.uniform(2, 12), rng.integers(2), 0.0, rng.integers(2)
        while start < end:
            stop = min(start + 3.0, end)
            rows.append((f"p{i}", start, stop, died if stop == end else 0, rng.normal(), sex))
            start = stop + gap
    return pd.DataFrame(rows, columns=["id", "start", "stop", "died", "dose", "sex"])


def test_rows_of_one_subject_are_told_of_where_hazards_are_not_proportional():
    formula = "Surv(start, stop, died) ~ dose + sex"
    with pytest.warns(UserWarning, match="Column 'id' names subjects.*family='weibull' and 'exponential'"):
        tg.Model(formula, split_subjects(), family="lognormal")


@pytest.mark.parametrize(
    ("formula", "family", "data"),
    [
        ("Surv(start, stop, died) ~ dose", "weibull", split_subjects()),
        ("Surv(start, stop, died) ~ sex", "lognormal", split_subjects()),  # the product telescopes
        ("Surv(start, stop, died) ~ dose + sex", "lognormal", split_subjects().drop_duplicates("id", keep="last")),
        (
            "Surv(start, stop, died) ~ dose",
            "lognormal",
            split_subjects().assign(id=np.arange(len(split_subjects())) % 9),
        ),
        ("Surv(stop, died) ~ dose", "lognormal", split_subjects()),
    ],
)
def test_other_rows_are_not(formula, family, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tg.Model(formula, data, family=family)
