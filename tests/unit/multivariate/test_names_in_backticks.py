"""Several responses whose columns need backticks: estimates are those under plain names."""

import re

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import FormulaError

AWKWARD = {"x": "water temp", "z": "lambda", "g": "it's", "y1": "y 1", "y2": "µ=\"'", "low": "lim x"}
MAXIMUM = tg.EP(hyper="maximize", n_starts=1)


def table():
    rng = np.random.default_rng(4)
    n = 30
    data = pd.DataFrame({"x": rng.uniform(0.0, 6.0, n), "z": rng.normal(size=n), "g": rng.choice(list("abc"), n)})
    y = np.sin(data[["x"]].to_numpy()) + 0.3 * rng.normal(size=(n, 2))
    return data.assign(y1=np.maximum(y[:, 0], -0.5), y2=y[:, 1], low=-0.5)


def in_backticks(text):
    return re.sub(r"\b(x|z|g|y1|y2|low)\b", lambda match: f"`{AWKWARD[match[1]]}`", text)


FORMULAS = [
    "mvbind(y1, y2) ~ gp(x)",
    "mvbind(y1, y2) ~ gp(x, z,)",
    "mvbind(y1, y2) ~ z + gp(log(x + 1), kernel='matern32')",
    'mvbind(y1, y2) ~ gp(x, kernel="matern32") | censor(low, None)',
    "mvbind(y1, y2) ~ z + (1 + z | g)",
    "mvbind(y1, y2) ~ re(g)",
    "mvbind(y1, y2) ~ x + C(g) | censor(y1=low)",
    "mvbind(y1, y2) ~ x | censor(y2=(None, 9), y1=(low, 9))",
]


@pytest.mark.slow
@pytest.mark.parametrize("formula", FORMULAS)
def test_estimates_are_those_under_plain_names(formula):
    data = table()
    plain = tg.fit(formula, data, method=MAXIMUM)
    found = tg.fit(in_backticks(formula), data.rename(columns=AWKWARD), method=MAXIMUM)
    np.testing.assert_array_equal(found.params, plain.params)
    new = data.head(3)
    np.testing.assert_array_equal(found.predict(new.rename(columns=AWKWARD)), plain.predict(new))


@pytest.mark.slow
def test_scale_formula_in_backticks():
    data = table()
    plain = tg.fit("mvbind(y1, y2) ~ z", data, sigma="~ gp(x)", method=MAXIMUM)
    text = in_backticks("mvbind(y1, y2) ~ z")
    found = tg.fit(text, data.rename(columns=AWKWARD), sigma=in_backticks("~ gp(x)"), method=MAXIMUM)
    np.testing.assert_array_equal(found.params, plain.params)


@pytest.mark.slow
def test_a_column_with_both_quotes():
    """No text in quotes holds both, so a name of the process has one of them."""
    data = table()
    name = "a\"b'c"
    found = tg.fit(f"mvbind(y1, y2) ~ gp(`{name}`)", data.rename(columns={"x": name}), method=MAXIMUM)
    assert "lengthscale(gp(a'b'c))" in found.params.index
    np.testing.assert_array_equal(found.params, tg.fit("mvbind(y1, y2) ~ gp(x)", data, method=MAXIMUM).params)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ("`y 3`=low", "censor() has no response 'y 3'; they are y 1, y2."),
        ("`y 1`=low, `y 1`=low", "`y 1`= is given twice."),
        ("low, `y 1`=low", "censor() takes one lower limit for each of 2 responses"),
        ("low, None, `y 1`=low", "The response y 1 has a limit already; give both as (lower, upper)."),
    ],
)
def test_messages_name_the_response(limits, words):
    with pytest.raises(FormulaError, match=re.escape(words)):
        tg.fit(f"mvbind(`y 1`, y2) ~ x | censor({limits})", table().rename(columns={"y1": "y 1"}))


@pytest.mark.parametrize("formula", ["y1 ~ gp(x, `kernel`='rbf')", "y1 ~ bs(x, `df`=4)", "y1 ~ x | censor(`lower`=0)"])
def test_arguments_of_other_calls_take_no_backticks(formula):
    with pytest.raises(FormulaError, match="has no argument '`"):
        tg.fit(formula, table())
