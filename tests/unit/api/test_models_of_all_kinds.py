"""`tg.Model` opens every kind, and its fit is that of `tg.fit`."""

import numpy as np
import pytest
from support.kinds import KINDS, rows

import tobitgp as tg


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tobitgp.errors.BoundaryWarning")
@pytest.mark.parametrize("name", KINDS)
def test_two_steps_are_one(name):
    data, kind = rows(), KINDS[name]
    of_model = {"family", "weights", "var_weights", "sigma", "cure", "rescor", "id", "censored", "formulas"}
    reading = {key: value for key, value in kind.options.items() if key in of_model}
    fitting = {key: value for key, value in kind.options.items() if key not in of_model}
    model = tg.Model(kind.formula, data, **reading)
    assert model.formula == kind.formula
    assert repr(model).startswith(f"Model: {kind.formula}")
    two, one = model.fit(**fitting), kind.fit(data)
    assert type(two) is type(one)
    assert repr(two) == repr(one)
    assert sum(model.counts.values()) >= one.nobs or "weights" in reading
    if hasattr(one, "params"):
        np.testing.assert_array_equal(np.asarray(two.params), np.asarray(one.params))
