"""Linear columns without a run of formulaic are those of formulaic, and of definitions."""

import formulaic
import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.table import read_table
from tobitgp.data.term_products import multiplied
from tobitgp.errors import UnseenLevelError


@pytest.fixture
def data(rng):
    frame = pd.DataFrame({"x": rng.normal(size=30), "z": rng.normal(size=30), "g": np.resize(list("bca"), 30)})
    return frame.assign(h=np.resize(["u", "v"], 30), y=frame["x"] + rng.normal(size=30))


def columns(formula, data):
    return multiplied(formulaic.model_matrix(formula, data).model_spec, read_table(data, ("x", "z", "g", "h")), {})


@pytest.mark.parametrize("formula", ["1", "x + g", "0 + g", "x * g", "0 + x:g + h", "x:z + z + h", "g + h"])
def test_products_are_those_of_formulaic(data, formula):
    np.testing.assert_array_equal(columns(formula, data), formulaic.model_matrix(formula, data).to_numpy())


@pytest.mark.parametrize("formula", ["g:h", "np.exp(x)", "C(g, contr.sum)", "poly(x, 2)", "x:g:h"])
def test_other_terms_are_left_to_formulaic(data, formula):
    assert columns(formula, data) is None


def test_predictions_are_of_columns_written_here(data):
    res = tg.fit("y ~ x + g + x:g", data, method="mle")
    new = data.iloc[[4, 0, 1, 2]]
    x, b, c = new["x"].to_numpy(), (new["g"] == "b").to_numpy(float), (new["g"] == "c").to_numpy(float)
    H = np.column_stack([np.ones(4), x, b, c, x * b, x * c])
    assert list(res.params.index[:6]) == ["Intercept", "x", "g[T.b]", "g[T.c]", "x:g[T.b]", "x:g[T.c]"]
    np.testing.assert_allclose(res.predict(new), H @ res.params.iloc[:6], rtol=1e-12)
    with pytest.raises(UnseenLevelError, match="in training: d"):
        res.predict(new.assign(g="d"))
