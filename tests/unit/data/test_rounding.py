"""Values that are at their limits but for rounding, and values that are not."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.columns import evaluate, rounding
from tobitgp.data.table import read_table
from tobitgp.formula.spec import Expression

RNG = np.random.default_rng(4)
V = RNG.uniform(0.01, 90.0, 500)


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (np.log, "exp(v)"),
        (np.log10, "10**v"),
        (lambda v: v / 1000.0, "v*1000"),
        (lambda v: v * 3.7, "v/3.7"),
        (lambda v: v - 0.3, "v + 0.3"),
        (np.sqrt, "v**2"),
        (np.square, "v**0.5"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_bound_holds_and_is_small(there, back, dtype):
    table = read_table({"v": there(V).astype(dtype)}, ["v"])
    expression = Expression(back, 0)
    error = rounding(expression, table)
    assert (np.abs(evaluate(expression, table) - V) <= error).all()
    assert (error <= 300.0 * np.finfo(dtype).eps * V.max()).all()


def test_functions_that_jump_do_not_widen_it():
    table = read_table({"v": np.arange(1.0, 50.0)}, ["v"])
    assert (rounding(Expression("floor(v * 10) / 10", 0), table) < 1e-11).all()


def test_limits_of_many_digits_beside_single_precision():
    limit = RNG.choice([0.1234567890123, 1.0 / 3.0], 200)
    y = np.maximum(np.exp(RNG.normal(-1.0, 0.8, 200)), limit)
    for formula in ("y ~ 1 | censor(limit)", "log(y) ~ 1 | censor(log(limit))", "y - 0.2 ~ 1 | censor(limit - 0.2)"):
        wanted = tg.fit(formula, {"y": y, "limit": limit})
        for data in ({"y": y.astype("float32"), "limit": limit}, {"y": y, "limit": limit.astype("float32")}):
            res = tg.fit(formula, data)
            assert res.counts.equals(wanted.counts)
            assert res.params.to_numpy() == pytest.approx(wanted.params.to_numpy(), abs=1e-5)


def test_ends_that_differ_by_rounding_are_exact():
    y = np.exp(RNG.normal(size=60))
    upper = np.where(np.arange(60) % 3, y, y + 0.5)
    wanted = tg.fit("interval(y, u) ~ 1", {"y": y, "u": upper})
    for y_read in (np.exp(np.log(y)), np.nextafter(y, 0), np.nextafter(y, 99)):
        res = tg.fit("interval(y, u) ~ 1", {"y": y_read, "u": upper})
        assert res.counts.equals(wanted.counts)
        assert res.llf == pytest.approx(wanted.llf, rel=1e-9)


def test_values_apart_from_their_limit_are_exact():
    y = np.array([0.5, 0.5 + 1e-9, 0.7, 0.9, 1.2])
    assert tg.fit("y ~ 1 | censor(0.5)", {"y": y}).counts["left"] == 1
    single = np.array([0.5, 0.50001, 0.7, 0.9, 1.2], dtype="float32")
    assert tg.fit("y ~ 1 | censor(0.5)", pd.DataFrame({"y": single})).counts["left"] == 1


@pytest.mark.slow
def test_estimators_of_scikit_learn_take_single_precision():
    x, limit = RNG.uniform(0, 3, (40, 1)), 0.3
    y = np.maximum(np.sin(x[:, 0]) * 0.8 + 0.2 * RNG.normal(size=40), limit).round(2)
    model = tg.sklearn.CensoredGPRegressor(method=tg.EP(n_starts=1))
    wanted = model.fit(x, y, lower=limit).results_.counts
    assert model.fit(x, y.astype("float32"), lower=limit).results_.counts.equals(wanted)
    assert model.fit(x, y, lower=np.full(40, limit, dtype="float32")).results_.counts.equals(wanted)
