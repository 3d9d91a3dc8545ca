"""Numbers of few bits, and levels of categories, as they were meant."""

import datetime

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.table import read_table
from tobitgp.data.values import as_written, plain_levels

DATES = pd.DatetimeIndex(["2020-01-01 00:00", "2021-06-01 12:30"])


def column(values):
    return read_table({"v": values}, ["v"]).columns["v"]


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]", "float16"])
@pytest.mark.parametrize("power", [-6, 0, 4])
def test_decimals_of_few_digits_are_read_as_they_were_written(dtype, power):
    digits = 3 if dtype == "float16" else 6
    power = max(power, -2) if dtype == "float16" else power
    whole = np.random.default_rng(1).integers(1, 10**digits, 400)
    written = np.array([float(f"{k}e{power - digits}") for k in whole])
    assert column(pd.Series(written).astype(dtype)).values.tolist() == written.tolist()


def test_others_are_the_shortest_decimals_that_round_to_them():
    rng = np.random.default_rng(2)
    values = (rng.normal(size=2000) * 10.0 ** rng.integers(-20, 20, 2000)).astype(np.float32)
    found = as_written(values.astype(float), values.dtype)
    np.testing.assert_array_equal(found.astype(np.float32), values)
    shortest = np.array([float(str(value)) for value in values])
    assert np.mean(found == shortest) > 0.9  # the rest has one digit more, or is one unit in the last place off
    np.testing.assert_allclose(found, shortest, rtol=6e-8)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype=np.float32)
    np.testing.assert_array_equal(as_written(odd.astype(float), odd.dtype), odd.astype(float))


@pytest.mark.parametrize(
    ("levels", "plain"),
    [
        ([1.0, 2.0], (1, 2)),
        ([0.5, 1.0], (0.5, 1.0)),
        ([np.inf, 1.0], (np.inf, 1.0)),
        (np.array([0.1, 0.3], dtype=np.float32), (0.1, 0.3)),
        ([False, True], (False, True)),
        (DATES, ("2020-01-01", "2021-06-01T12:30:00.000000")),
        ([datetime.date(2020, 1, 1)], ("2020-01-01",)),
        (pd.interval_range(0, 2), ("(0, 1]", "(1, 2]")),
        (["a", "b"], ("a", "b")),
    ],
)
def test_levels_are_text_or_numbers(levels, plain):
    assert plain_levels(levels) == plain
    assert [type(a) for a in plain_levels(levels)] == [type(a) for a in plain]


GROUPS = {
    "numbers": ([1, 2, 3], [1.0, 2.0, 3.0]),
    "fractions": ([0.1, 0.3, 2.5], np.array([0.1, 0.3, 2.5], dtype=np.float32)),
    "truth values": ([False, True, False], [False, True, False]),
    "intervals": (list(pd.interval_range(0, 3)), ["(0, 1]", "(1, 2]", "(2, 3]"]),
    "dates": (list(pd.date_range("2020-01-01", periods=3)), pd.date_range("2020-01-01", periods=3)),
}


@pytest.mark.parametrize("terms", ["g", "z + (1 | g)", "gp(z, by=g)"])
@pytest.mark.parametrize("of", GROUPS)
def test_new_rows_give_a_category_as_it_is(of, terms):
    levels, others = GROUPS[of]
    rng = np.random.default_rng(3)
    at, z = rng.integers(0, 3, 30), rng.normal(size=30).round(2)
    d = pd.DataFrame({"y": z + at + rng.normal(size=30), "z": z, "g": [levels[i] for i in at]})
    d["g"] = pd.Categorical(d["g"], categories=list(dict.fromkeys(levels)))
    res = tg.fit(f"y ~ {terms}", d, method=tg.EP(hyper="maximize"))
    new = pd.DataFrame({"z": 0.5, "g": pd.Categorical(levels, categories=d["g"].cat.categories)})
    wanted = res.predict(new)
    for given in (levels, others):
        np.testing.assert_array_equal(res.predict({"z": [0.5] * 3, "g": given}), wanted)
    assert res.predict(new.assign(g=new["g"].cat.set_categories(d["g"].cat.categories[::-1]))).equals(wanted)


def test_numbers_of_training_may_be_categories_of_new_rows():
    d = pd.DataFrame({"y": [1.0, 2, 3, 5, 4], "x": [1, 2, 3, 4, 5]})
    res = tg.fit("y ~ x", d)
    new = d[["x"]].astype("category")
    assert res.predict(new).equals(res.predict(d))
    with pytest.raises(tg.errors.DataError, match="held numbers in training and holds text now"):
        res.predict({"x": ["a", "b"]})


def test_intervals_that_are_no_categories_are_levels():
    d = pd.DataFrame({"y": [1.0, 2, 3, 5, 4, 6], "g": pd.cut([1, 1, 2, 2, 3, 3], [0, 1, 2, 3])})
    params = tg.fit("y ~ g", d).params
    for g in (d["g"].astype(object), pd.arrays.IntervalArray(d["g"])):
        assert tg.fit("y ~ g", d.assign(g=g)).params.equals(params)


def test_a_stored_fit_answers_about_categories(tmp_path):
    d = pd.DataFrame({"y": [1.0, 2, 3, 5, 4, 6], "g": pd.cut([1, 1, 2, 2, 3, 3], [0, 1, 2, 3])})
    res = tg.fit("y ~ g", d)
    res.save(tmp_path / "fit.tgp")
    assert tg.load(tmp_path / "fit.tgp").predict(d).equals(res.predict(d))


def test_categories_of_durations_can_be_asked_and_kept(tmp_path):
    d = pd.DataFrame({"y": [1.0, 2, 3, 5, 4, 6], "g": pd.to_timedelta([1, 1, 2, 2, 7, 7], unit="D")})
    res = tg.fit("y ~ g", d.astype({"g": "category"}))
    res.save(tmp_path / "fit.tgp")
    for fit in (res, tg.load(tmp_path / "fit.tgp")):
        np.testing.assert_allclose(fit.predict({"g": [pd.Timedelta(days=2), pd.Timedelta(days=7)]}), [4.0, 5.0])
