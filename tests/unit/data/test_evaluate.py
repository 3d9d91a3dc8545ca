"""The evaluator of expressions against numpy."""

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.columns import evaluate
from tobitgp.data.table import read_table
from tobitgp.errors import DataError
from tobitgp.formula import Expression
from tobitgp.formula.functions import FUNCTIONS

X = np.array([0.5, 1.0, 2.5, 4.0])
Z = np.array([3.0, -1.0, 0.0, 2.0])
TABLE = read_table(pd.DataFrame({"x": X, "a b": Z, "g": list("mfmf"), "log": X, "µ": Z}), ["x", "a b", "g", "log", "µ"])

EXPRESSIONS = {
    "1": np.ones(4),
    "inf": np.full(4, np.inf),
    "-inf": np.full(4, -np.inf),
    "x": X,
    "-x + 2 * `a b` / 4": -X + Z / 2,
    "x**2 % 3 // 2": X**2 % 3 // 2,
    "2**-x": 2**-X,
    "2**10": np.full(4, 1024.0),
    "0.5**100": np.full(4, 2.0**-100),
    "x**(1/3)": X ** (1 / 3),
    "log(`log`)": np.log(X),
    "sin(2*pi*x)": np.sin(2 * np.pi * X),
    "µ + 1": Z + 1,
    "x > 1": X > 1,
    "(x >= 1) * (`a b` != 0)": (X >= 1) * (Z != 0),
    "g == 'm'": np.array([1, 0, 1, 0]),
    "'m' != g": np.array([0, 1, 0, 1]),
    "g == 'other'": np.zeros(4),
    "where(g == 'm', x, `a b`)": np.where([1, 0, 1, 0], X, Z),
    "maximum(x, `a b`) - minimum(x, 1)": np.maximum(X, Z) - np.minimum(X, 1),
    "I(x)": X,
    "log(`a b`)": np.log(Z, where=Z > 0, out=np.where(Z == 0, -np.inf, np.nan)),
    "1 / `a b`": np.array([1 / 3, -1, np.inf, 0.5]),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    found = evaluate(Expression(text, 0), TABLE)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, EXPRESSIONS[text], rtol=1e-15)


@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.kind == "array"])
def test_every_function_works_row_by_row(name):
    row = FUNCTIONS[name]
    text = f"{name}({', '.join(['x', 'µ', 'x'][: row.n_args])})"
    expected = np.asarray(row.call(*[X, Z, X][: row.n_args]), dtype=float)
    np.testing.assert_array_equal(evaluate(Expression(text, 0), TABLE), expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g", "'g' must be numeric but holds text in rows 0, 1, 2, 3: 'm', 'f'"),
        ("log(g)", "holds text"),
        ("g > 'a'", "== and !="),
        ("x == 'a'", "cannot be compared with the text 'a'"),
        ("g == x", "holds text"),
    ],
)
def test_text_where_a_number_is_needed(text, words):
    with pytest.raises(DataError, match=words):
        evaluate(Expression(text, 0), TABLE)


def test_the_result_is_a_new_array():
    evaluate(Expression("x", 0), TABLE)[:] = 0
    assert TABLE.columns["x"].values.tolist() == X.tolist()
