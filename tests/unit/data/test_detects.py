"""Limits in a response of text, and of text and numbers as spreadsheets give it."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.prepare import prepare
from tobitgp.data.spellings import spell_numbers
from tobitgp.errors import DataError, FormulaError
from tobitgp.formula import parse_formula

MIXED = [1.2, "<0.5", 3, " 2.5 ", ">100", None, np.float64(0.1), np.int64(7), decimal.Decimal("1.25")]
LOWER = [1.2, -np.inf, 3, 2.5, 100, 0.1, 7, 1.25]
UPPER = [1.2, 0.5, 3, 2.5, np.inf, 0.1, 7, 1.25]


@pytest.mark.parametrize("make", [pd.DataFrame, dict])
def test_numbers_and_limits_may_be_mixed_in_the_response(make):
    x = np.arange(float(len(MIXED)))
    y = pd.Series(MIXED, dtype=object) if make is pd.DataFrame else MIXED
    data = make({"x": x, "y": y})
    with pytest.warns(UserWarning, match="1 of 9 rows is dropped"):
        training = prepare(parse_formula("y ~ x"), data)
    assert training.response.lower.tolist() == LOWER
    assert training.response.upper.tolist() == UPPER
    assert training.counts == {"exact": 6, "left": 1, "right": 1, "interval": 0, "dropped": 1}
    assert list(data["y"])[:3] == MIXED[:3]


def test_no_digit_is_lost():
    values = [*np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25), "<1"]
    training = prepare(parse_formula("y ~ x"), {"x": np.arange(51.0), "y": values})
    assert training.response.lower[:50].tolist() == values[:50]


@pytest.mark.parametrize(
    "other", [True, 1j, np.inf, datetime.date(2020, 1, 1), datetime.timedelta(1), [1.0]], ids=lambda v: type(v).__name__
)
def test_other_objects_beside_text_are_refused(other):
    with pytest.raises(DataError, match="Column 'y' holds"):
        prepare(parse_formula("y ~ x"), {"x": [1.0, 2.0, 3.0], "y": [1.0, "<2", other]})


def test_mixed_columns_are_refused_anywhere_else():
    data = {"x": [1.0, 2.0, 3.0], "m": [1.0, "<2", 3.0], "y": [1.0, 2.0, 4.0]}
    for formula in ("y ~ m", "y ~ gp(m)", "y ~ x + offset(m)", "y ~ x | censor(m)", "y ~ x | censor(event=m)"):
        with pytest.raises(DataError, match="Column 'm' holds text and float mixed"):
            prepare(parse_formula(formula), data)
    with pytest.raises(DataError, match="'m' hold"):
        prepare(parse_formula("y ~ x"), data, weights="m")
    with pytest.raises(FormulaError, match="Leave out"):
        prepare(parse_formula("m ~ x | censor(0)"), data)


def test_a_fit_is_that_of_the_same_text():
    rng = np.random.default_rng(1)
    x = np.linspace(0, 3, 30)
    y = [round(v, 3) if v > 0.3 else "<0.3" for v in np.sin(x) + rng.normal(0, 0.2, 30)]
    mixed = tg.fit("y ~ x", {"x": x, "y": y}, method=tg.EP(hyper="maximize"))
    text = tg.fit("y ~ x", {"x": x, "y": [str(v) for v in y]}, method=tg.EP(hyper="maximize"))
    assert mixed.log_evidence == text.log_evidence
    assert mixed.counts["left"] == text.counts["left"] > 0


@pytest.mark.parametrize("method", ["ep", "mle"])
@pytest.mark.parametrize("new", [[0.5, 0.6], ["0.5", 0.6], np.array([0.5, 0.6]), pd.Series([0.5, 0.6])])
def test_new_rows_of_numbers_are_imputed_by_a_model_of_text(new, method):
    data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, "<2", 3.0, 3.5]}
    res = tg.fit("y ~ x", data, method=method, fixed={"sigma": 1.0})
    assert res.predict({"x": [1.0, 2.0], "y": new}, what="conditional").tolist() == [0.5, 0.6]
    assert res.predict(pd.DataFrame({"x": [1.0, 2.0], "y": new}), what="conditional").tolist() == [0.5, 0.6]


def test_data_without_mixed_columns_are_handed_on():
    data = pd.DataFrame({"y": [1.0, 2.0]})
    assert spell_numbers(data, ["y"], mixed_only=True) is data
