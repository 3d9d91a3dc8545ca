"""Predictions of a fit: rows, labels, refusals, agreement of the scales."""

import re

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, SpecError, UnseenLevelError
from tobitgp.kinds import process_nodes


@pytest.mark.parametrize("what", ["latent", "median", "uncensored", "observed"])
@pytest.mark.parametrize("fixture", ["averaged", "maximised", "ammonium"])
def test_new_none_is_the_training_data(request, mixed, fixture, what):
    res = request.getfixturevalue(fixture)
    data = tg.datasets.load("nh4") if fixture == "ammonium" else mixed
    a, b = res.predict(what=what, interval=0.9), res.predict(data, what, interval=0.9)
    pd.testing.assert_frame_equal(a, b)
    assert list(a.columns) == ["estimate", "se", "lower", "upper"]
    assert (a["lower"] <= a["estimate"]).all()
    assert (a["estimate"] <= a["upper"]).all()
    assert (a["se"] > 0).all()


def test_shapes_of_the_answer(averaged, mixed):
    value = averaged.predict(mixed.head(3))
    assert isinstance(value, pd.Series)
    assert value.name == "median"
    assert list(value.index) == ["r0", "r1", "r2"]
    with_se = averaged.predict(mixed.head(3), se=True)
    assert list(with_se.columns) == ["estimate", "se"]
    assert np.array_equal(with_se["estimate"], value)


def test_latent_against_dense_algebra(maximised, mixed):
    """Mean and variance of f from the posterior of the weights, written out."""
    fitted, gp = maximised.parts.fitted, maximised.parts.gp
    design, _ = maximised.parts.training.state.replay(mixed)
    point = fitted.points[0]
    A, d = point.features(gp.inputs(design))
    A = A.common
    S = np.linalg.inv(point.factor.L @ point.factor.L.T)
    scale = gp.problem.units.scale
    table = maximised.predict(mixed, "latent", se=True)
    assert np.allclose(table["estimate"], scale * (A @ point.w) + gp.known_mean(design))
    assert np.allclose(table["se"], scale * np.sqrt(np.einsum("nm,mk,nk->n", A, S, A) + d))


def test_linear_part_is_the_coefficients(tobin):
    res = tg.fit("durable ~ age + quant | censor(0)", tobin, method="ep")
    beta = res.params[["Intercept", "age", "quant"]].to_numpy()
    H = np.column_stack([np.ones(20), tobin["age"], tobin["quant"]])
    table = res.predict(tobin, "latent", se=True)
    assert np.allclose(table["estimate"], H @ beta)
    V = res.cov_params().iloc[:3, :3].to_numpy()
    assert np.allclose(table["se"], np.sqrt(np.einsum("ni,ij,nj->n", H, V, H)))


def test_missing_inputs_and_dropped_rows_are_nan(mixed):
    holed = mixed.copy()
    holed.iloc[3, holed.columns.get_loc("x")] = np.nan
    holed.iloc[5, holed.columns.get_loc("y")] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit("y ~ gp(x) | censor(low, 1.4)", holed, method=tg.EP(hyper="maximize"))
    own = res.predict(what="observed", interval=0.5)
    assert list(own.index) == list(mixed.index)
    assert list(np.flatnonzero(own["estimate"].isna())) == [3, 5]
    assert own.isna().all(axis=1).sum() == 2
    assert list(np.flatnonzero(res.predict(holed).isna())) == [3]


def test_duplicate_labels_are_kept(averaged, mixed):
    twice = pd.concat([mixed.head(2), mixed.head(2)])
    assert list(averaged.predict(twice).index) == ["r0", "r1", "r0", "r1"]


def test_no_rows(averaged, mixed):
    empty = averaged.predict(mixed.head(0), interval=0.9)
    assert empty.shape == (0, 4)
    assert len(averaged.predict(mixed.head(0), "observed")) == 0


def test_dict_of_columns(averaged, mixed):
    columns = {name: mixed[name].to_numpy() for name in ("x", "z", "g")}
    value = averaged.predict(columns)
    assert isinstance(value.index, pd.RangeIndex)
    assert np.allclose(value, averaged.predict(mixed))


@pytest.mark.slow
def test_chunks_do_not_matter(averaged, mixed, monkeypatch):
    whole = averaged.predict(mixed, "observed", interval=0.9)
    monkeypatch.setattr(process_nodes, "MIN_CHUNK", 1)
    monkeypatch.setattr(process_nodes, "MAX_CHUNK", 7)
    monkeypatch.setattr(process_nodes, "HEAVY", 0)
    pd.testing.assert_frame_equal(averaged.predict(mixed, "observed", interval=0.9), whole, rtol=1e-8)


@pytest.mark.slow
def test_order_of_rows_does_not_matter(averaged, mixed):
    a = averaged.predict(mixed.iloc[::-1], "observed", interval=0.9).iloc[::-1]
    pd.testing.assert_frame_equal(a, averaged.predict(mixed, "observed", interval=0.9), rtol=1e-8)


def test_the_scales_agree_with_each_other(averaged, log_time):
    assert np.allclose(averaged.predict(what="latent"), averaged.predict(what="uncensored"))
    assert np.allclose(averaged.predict(), averaged.predict(what="latent"), atol=0.01)
    observed = averaged.predict(what="observed")
    assert (observed <= 1.4).all()
    assert (observed >= -0.6).all()
    latent = log_time.predict(what="latent", interval=0.95)
    median = log_time.predict(what="median", interval=0.95)
    assert np.allclose(np.log(median[["lower", "upper"]]), latent[["lower", "upper"]])
    assert np.allclose(np.log(median["estimate"]), latent["estimate"], atol=0.02)
    assert (log_time.predict(what="uncensored") > median["estimate"]).all()


def test_offset_moves_the_prediction(mixed):
    shifted = mixed.assign(m=3.0, y=mixed["y"] + 3.0)
    res = tg.fit("y ~ offset(m) + gp(x)", shifted, method=tg.EP(hyper="maximize"))
    base = res.predict(shifted)
    assert np.allclose(res.predict(shifted.assign(m=5.0)), base + 2.0)


def test_limits_come_from_the_new_data(averaged, mixed):
    new = mixed.head(4)
    raised = averaged.predict(new.assign(low=1.3), "observed")
    assert (raised >= 1.3).all()
    with pytest.raises(SpecError, match="'low'"):
        averaged.predict(new.drop(columns="low"), "observed")
    averaged.predict(new.drop(columns=["low", "y"]), "uncensored")


def test_constant_limits_are_replayed(tobin):
    res = tg.fit("durable ~ age | censor(0)", tobin, fixed={"sigma": 5.0}, method="ep")
    assert (res.predict({"age": [20.0, 90.0]}, "observed") > 0).all()


@pytest.mark.parametrize("new", [None, "lung"])
def test_unknown_limits_are_refused(log_time, lung, new):
    with pytest.raises(SpecError, match="uncensored"):
        log_time.predict(None if new is None else lung, "observed")


def test_observed_without_censoring(mixed):
    res = tg.fit("y ~ gp(x)", mixed, method=tg.EP(hyper="maximize"))
    a, b = (res.predict(what=what, interval=0.9) for what in ("observed", "uncensored"))
    pd.testing.assert_frame_equal(a, b)


@pytest.mark.parametrize("interval", [0, 1, 95, -0.5, float("nan"), "0.95", True, (0.1, 0.9)])
def test_bad_intervals(averaged, interval):
    with pytest.raises(SpecError, match="interval="):
        averaged.predict(interval=interval)


@pytest.mark.parametrize("what", ["Latent", "mean", 3, ["latent"], ""])
def test_unknown_scales_are_listed(averaged, what):
    with pytest.raises(SpecError, match="'median', 'latent', 'uncensored', 'observed'"):
        averaged.predict(what=what)


def test_bad_new_data(averaged, mixed):
    with pytest.raises(DataError, match="'x'"):
        averaged.predict(mixed.drop(columns="x"))
    with pytest.raises(UnseenLevelError, match="'g'"):
        averaged.predict(mixed.assign(g="c"))


def test_nothing_left_to_learn():
    """Every coefficient fixed: f is known, and so is its interval."""
    data = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 1.1, 1.9, 3.2]})
    res = tg.fit("y ~ 0 + x | censor(0)", data, fixed={"x": 1.0, "sigma": 0.3}, method="ep")
    table = res.predict(what="latent", interval=0.95)
    assert np.allclose(table[["estimate", "lower", "upper"]], data[["x", "x", "x"]])
    assert np.allclose(table["se"], 0.0)
    assert np.isfinite(res.predict(what="observed", interval=0.95)).all(axis=None)


UNKNOWN = {
    "ends": "interval(y, y + 1) ~ x",
    "survival": "Surv(y, d) ~ x",
    "event": "y ~ x | censor(event=d)",
    "flag": "y ~ x | censor(nondetect=n)",
    "status": "y ~ x | censor(status=d - 1)",
    "text": "t ~ x",
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_limits_are_said_in_every_spelling_and_to_every_caller(case):
    data = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0], "d": [0, 1, 1], "n": [1, 0, 0], "t": ["<1", "2", "3"]}
    res = tg.fit(UNKNOWN[case], data, family="gaussian", fixed={"sigma": 1.0}, method="ep")
    for way in ("Surv()", "interval()", "flags of censor()", "limits in text"):
        with pytest.raises(SpecError, match=re.escape(way)):
            res.predict(what="observed")
    with pytest.raises(SpecError, match="use what='uncensored'"):
        res.predict({"x": [1.0]}, what="observed")
    for ask in (lambda: res.sample(what="observed"), lambda: res.marginal_effects("observed")):
        with pytest.raises(SpecError, match="limits are unknown") as refused:
            ask()
        assert "uncensored" not in str(refused.value)


@pytest.mark.parametrize(
    "terms", ["z + gp(x)", "gp(x, by=g)", "gp(x) + re(g)", "z + gp(x, approximation='markov', kernel='matern32')"]
)
def test_means_without_variances_are_those_beside_them(terms):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.uniform(0.0, 4.0, 60), "z": rng.normal(size=60), "g": rng.integers(0, 3, 60)})
    data["y"] = np.maximum(np.sin(data["x"]) + 0.3 * rng.normal(size=60), -0.4)
    res = tg.fit(f"y ~ {terms} | censor(-0.4)", data, method=tg.EP(hyper="maximize"))
    for what in ("latent", "uncensored"):
        alone, beside = res.predict(data[:7], what), res.predict(data[:7], what, se=True)["estimate"]
        np.testing.assert_allclose(alone, beside, rtol=1e-9, atol=1e-10)
