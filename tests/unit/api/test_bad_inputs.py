"""Bad input gets one clear error that names the offender, and changes nothing."""

import copy

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, UnseenLevelError


def frame(**changes):
    rng = np.random.default_rng(0)
    base = {"x": rng.uniform(size=40), "z": rng.normal(size=40), "g": ["a", "b"] * 20}
    return pd.DataFrame({**base, "y": np.sin(6 * base["x"]) + 0.1 * rng.normal(size=40), **changes})


def with_value(column, row, value):
    data = frame()
    data[column] = data[column].astype(object) if isinstance(value, str) else data[column]
    data.loc[row, column] = value
    return data


LIMITED = "y ~ z + gp(x) | censor(low, high)"
CASES = {
    "lower above upper": (LIMITED, frame(low=1.0, high=-1.0), DataError, "rows? 0, 1, 2, 3, 4"),
    "lower equals upper": ("y ~ gp(x) | censor(0, 0)", frame(), DataError, "limit"),
    "missing limit": ("y ~ gp(x) | censor(low)", frame(low=[np.nan] + [0.0] * 39), DataError, "low"),
    "lower limit +inf": ("y ~ gp(x) | censor(inf)", frame(), DataError, "inf"),
    "limit of text": ("y ~ gp(x) | censor(g)", frame(), DataError, "'g'"),
    "inf in an input": ("y ~ gp(x)", with_value("x", 7, np.inf), DataError, "'x'.*7"),
    "inf in a linear column": ("y ~ z + gp(x)", with_value("z", 3, -np.inf), DataError, "'z'.*3"),
    "inf in the response": ("y ~ gp(x)", with_value("y", 5, np.inf), DataError, "y.*5"),
    "text among numbers": ("y ~ gp(x)", with_value("x", 9, "n/a"), DataError, "'x'"),
    "text as response": ("g ~ gp(x)", frame(), DataError, "'g'"),
    "logarithm of negatives": ("y ~ log(z) + gp(x)", frame(), DataError, r"log\(z\)"),
    "unknown column": ("y ~ gp(xx)", frame(), FormulaError, "'xx'.*'x'"),
    "empty data": ("y ~ gp(x)", frame().iloc[:0], DataError, "no rows"),
    "nothing but missing": ("y ~ gp(x)", frame(x=np.nan), DataError, "No row is left.*'x'"),
    "duplicate column names": (
        "y ~ gp(x)",
        pd.concat([frame(), frame()[["x"]]], axis=1),
        DataError,
        "'x'",
    ),
    "event that is no flag": ("Surv(exp(y), z) ~ gp(x)", frame(), DataError, "z"),
    "constant linear column": ("y ~ k + gp(x)", frame(k=2.0), DataError, "k"),
    "the same column twice": ("y ~ z + w + gp(x)", frame(w=frame()["z"]), DataError, "w|z"),
    "dates": ("y ~ gp(t)", frame(t=pd.date_range("2020-01-01", periods=40)), DataError, "'t' holds dates"),
    "complex numbers": ("y ~ gp(x)", frame(x=frame()["x"] + 1j), DataError, "'x'"),
    "code": ("y ~ gp(x.__class__)", frame(), FormulaError, r"\^"),
    "import": ("y ~ {__import__('os').getpid()} + gp(x)", frame(), FormulaError, r"\^"),
    "a call that is not offered": ("y ~ open('file') + gp(x)", frame(), FormulaError, "open"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_error_and_the_data_unchanged(case):
    formula, data, error, words = CASES[case]
    before = copy.deepcopy(data)
    with pytest.raises(error, match="(?s)" + words):
        tg.fit(formula, data)
    pd.testing.assert_frame_equal(data, before)


def test_an_explosive_formula_is_refused_at_once():
    data = frame(**{name: 1.0 for name in "abcdefh"})
    with pytest.raises(FormulaError, match=r"134,?217,?728"):
        tg.fit("y ~ (a+b+c+d+e+f+g+h)**9 + gp(x)", data)  # expanding it would take minutes


def test_missing_rows_are_dropped_counted_and_predicted_as_missing():
    data = with_value("x", 4, np.nan)
    with pytest.warns(UserWarning, match="1 of 40 rows"):
        res = tg.fit("y ~ z + gp(x)", data, hyper="maximize")
    assert res.counts["dropped"] == 1
    predicted = res.predict()
    assert predicted.isna().tolist() == data["x"].isna().tolist()
    with pytest.raises(DataError, match="'x'"):
        tg.fit("y ~ z + gp(x)", data, missing="raise")


def test_a_duplicate_index_comes_back_as_it_was():
    data = frame()
    data.index = [0, 1] * 20
    res = tg.fit("y ~ z + gp(x)", data, hyper="maximize")
    plain = tg.fit("y ~ z + gp(x)", data.reset_index(drop=True), hyper="maximize")
    assert res.predict().index.tolist() == data.index.tolist()
    np.testing.assert_allclose(res.predict(data).to_numpy(), plain.predict().to_numpy(), rtol=1e-8)


def test_an_unseen_level_is_an_error_that_lists_the_levels():
    res = tg.fit("y ~ g + gp(x)", frame(), hyper="maximize")
    with pytest.raises(UnseenLevelError, match=r"(?s)'g'.*c.*a, b"):
        res.predict({"x": [0.5], "g": ["c"]})


def test_predictions_refuse_what_they_cannot_do():
    res = tg.fit("y ~ gp(x)", frame(), hyper="maximize")
    with pytest.raises(DataError, match="'x'"):
        res.predict({"X": [0.5]})
    with pytest.raises(tg.errors.SpecError, match="what='mean'"):
        res.predict(what="mean")
    with pytest.raises(tg.errors.SpecError, match="interval=95"):
        res.predict(interval=95)


def test_no_limit_at_all_is_exact_regression():
    both = tg.fit("y ~ gp(x) | censor(-inf, inf)", frame())
    none = tg.fit("y ~ gp(x)", frame())
    assert both.evidence_kind == "exact"
    assert both.log_evidence == pytest.approx(none.log_evidence, abs=1e-8)
