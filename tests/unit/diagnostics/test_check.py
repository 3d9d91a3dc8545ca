"""A check runs the diagnostics that a fit can have, and finds what was put into it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.diagnostics import check as module
from tobitgp.diagnostics.residual_tests import BAD, GOOD

TESTS = ["calibration", "symmetry", "tails"]
AFTER = ["influence", "leave-one-out"]


def simulate(seed, n=150, noise=None, censored=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, n)
    e = rng.standard_normal(n) if noise is None else noise(rng, n)
    y = np.sin(2.0 * x) + 0.4 * e
    low = np.quantile(y, censored)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": np.maximum(y, low), "low": low})


PROCESS = "y ~ z + gp(x) | censor(low)"


@pytest.fixture(scope="module")
def right():
    return tg.fit(PROCESS, simulate(0), method=tg.EP(hyper="maximize"))


@pytest.mark.slow
def test_each_kind_of_results_has_its_diagnostics(right):
    lung = tg.datasets.load("lung")
    gp = ["convergence", "inducing inputs", "bounds", "structure", "posterior", *TESTS, "spread"]
    along = ["spread in z", "pattern in z", "spread in x", "pattern in x"]
    assert right.check().table.index.tolist() == [*gp, *along, *AFTER]
    tobit = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull").check()
    along = ["spread in age", "pattern in age", "spread in sex"]
    assert tobit.table.index.tolist() == ["convergence", "posterior", *TESTS, "spread", *along, *AFTER]
    mixture = tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull").check()
    assert mixture.table.index.tolist() == ["convergence", "components", "survival", *TESTS, *AFTER]


def test_the_right_model_is_fine(right):
    assert right.check().ok
    assert repr(right.check()).startswith("15 diagnostics, nothing found")


@pytest.mark.slow
def test_checks_are_the_same_each_time_and_follow_the_numbers_given(right):
    assert right.check().table.equals(right.check().table)
    one = right.check(rng=1).table
    assert one.equals(right.check(rng=1).table)
    assert not one.equals(right.check(rng=2).table)


def test_data_are_not_touched():
    data = simulate(1)
    before = data.copy()
    tg.fit(PROCESS, data, method=tg.EP(hyper="maximize")).check()
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize(
    ("noise", "names", "words"),
    [
        (lambda rng, n: rng.standard_t(2.0, n), {"tails"}, "family='student'"),
        (lambda rng, n: rng.exponential(1.5, n), {"symmetry"}, "skewed to the right"),
    ],
)
def test_a_wrong_shape_is_named(noise, names, words):
    found = tg.fit(PROCESS, simulate(3, 250, noise), method=tg.EP(hyper="maximize")).check()
    assert not found.ok
    table = found.table
    assert names <= set(table.index[table["verdict"] == BAD])
    assert any(words in advice for advice in found.advice)


def test_a_curve_that_is_missed_is_named():
    data = simulate(4)
    found = tg.fit("y ~ x + z | censor(low)", data).check().table
    assert found.loc["pattern in x", "verdict"] == BAD
    assert "gp(x)" in found.loc["pattern in x", "words"]
    assert found.loc["pattern in z", "verdict"] == GOOD


@pytest.mark.slow
def test_a_column_that_only_scales_is_looked_at():
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 3.0, 400)
    data = pd.DataFrame({"x": x, "y": 1.0 + 2.0 * x + np.exp(0.8 * x - 1.0) * rng.standard_normal(400)})
    found = tg.fit("y ~ x", data, method="mle").check().table
    assert found.loc["spread", "verdict"] == BAD
    better = tg.fit("y ~ x", data, method="mle", sigma="~ x").check().table
    assert better.loc["spread", "verdict"] == GOOD


@pytest.mark.slow
def test_noise_that_rises_along_a_column_is_found():
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = np.linspace(0.0, 1.0, 200)
        data = {"x": x, "y": np.sin(13.0 * x) + (0.1 + 0.7 * x) * rng.standard_normal(200)}
        found.append(tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize")).check().table.loc["spread in x"])
    assert {one["verdict"] for one in found} == {BAD}
    assert "grows along x" in found[0]["words"]


def test_calibration_is_judged_by_what_censoring_leaves_visible():
    """Two limits hide two thirds of the rows; what is seen between them is spread evenly, not normally."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=30_000)
    y = 0.2 * x + np.where(rng.random(30_000) < 0.66, rng.choice([-2.0, 2.0], 30_000), rng.uniform(-1.0, 1.0, 30_000))
    data = {"x": x, "y": np.clip(y, -1.0, 1.0), "low": np.full(30_000, -1.0), "high": np.full(30_000, 1.0)}
    found = tg.fit("y ~ x | censor(low, high)", data).check().table.loc["calibration"]
    assert found["p"] < 0.001
    assert found["verdict"] != GOOD
    right = data | {"y": np.clip(0.2 * x + rng.normal(size=30_000), -1.0, 1.0)}
    assert tg.fit("y ~ x | censor(low, high)", right).check().table.loc["calibration", "verdict"] == GOOD


def test_a_row_that_does_not_fit_the_others_is_named():
    data = simulate(6)
    data.index = [f"r{i}" for i in range(len(data))]
    data.iloc[7, data.columns.get_loc("y")] = 4.0
    found = tg.fit(PROCESS, data, method=tg.EP(hyper="maximize")).check().table.loc["influence"]
    assert found["verdict"] == BAD
    assert found["value"] > 4.0
    assert found["words"].startswith("row r7 is ")


@pytest.mark.slow
def test_rows_of_right_models_are_not_called_influential():
    """Rough curves, whose rows move the fit as they should."""
    rng = np.random.default_rng(14)
    x = np.linspace(0.0, 1.0, 120)
    root = np.linalg.cholesky(np.exp(-0.5 * np.square((x[:, None] - x) / 0.03)) + 1e-9 * np.eye(120))
    for _ in range(6):
        data = {"x": x, "y": root @ rng.normal(size=120) + 0.4 * rng.normal(size=120)}
        found = tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize")).check().table
        assert (found.loc[AFTER, "verdict"] == GOOD).all()


def test_few_inducing_inputs_are_said(right):
    with pytest.warns(tg.errors.ApproximationWarning, match="Use more inducing"):
        coarse = tg.fit(PROCESS, simulate(0), method=tg.EP(hyper="maximize", inducing=2))
    found = coarse.check().table.loc["inducing inputs"]
    assert found["verdict"] == BAD
    assert "more inducing inputs" in found["words"]


def test_what_the_data_leave_open_is_said():
    x = np.random.default_rng(0).uniform(size=40)
    with pytest.warns(tg.errors.BoundaryWarning, match="bound for sigma"):
        res = tg.fit("y ~ gp(x)", {"x": x, "y": np.sin(6.0 * x)}, method=tg.EP(hyper="maximize"))
    found = res.check().table.loc["bounds"]
    assert (found["verdict"], found["value"]) == ("doubtful", 1.0)
    assert found["words"].startswith("sigma at a bound")
    fixed = tg.fit("y ~ 1 + gp(x)", simulate(7), fixed={"sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0, "sigma": 1.0})
    assert "bounds" not in fixed.check().table.index


@pytest.mark.slow
def test_a_fit_that_did_not_settle_is_said():
    y = np.random.default_rng(0).normal(size=80)
    with pytest.warns(tg.errors.ConvergenceWarning, match="No convergence"):
        res = tg.fit("y ~ mixture(2)", {"y": y}, method=tg.VBCM(n_init=1, max_iter=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.BoundaryWarning)
        found = res.check()
    assert found.table.loc["convergence", "verdict"] == BAD
    assert found.advice[0].startswith("not converged")


def test_large_fits_are_not_drawn_from(monkeypatch, right):
    monkeypatch.setattr(module, "DRAWN_ROWS", 100)
    assert not {"posterior", *AFTER} & set(right.check().table.index)


@pytest.mark.slow
def test_a_component_that_no_exact_row_tells_of_is_named():
    rng = np.random.default_rng(9)
    y = np.concatenate([rng.normal(0.0, 1.0, 60), np.full(60, 5.0)])
    data = pd.DataFrame({"y": y, "event": np.arange(120) < 60})
    with pytest.warns(tg.errors.BoundaryWarning, match="exact rows in expectation"):
        res = tg.fit("y ~ mixture(2) | censor(event=event)", data)
    fit = res.parts.fit
    vague = [k for k in range(2) if fit.exact_counts[k] < 1.0 <= fit.counts[k]]
    found = res.check().table.loc["components"]
    assert vague
    assert found["verdict"] == "doubtful"
    assert f"component {vague[0] + 1} " in found["words"]


def test_few_rows_are_checked_for_what_they_can_tell():
    data = simulate(10, 12)
    found = tg.fit("y ~ x | censor(low)", data).check().table
    assert not {*TESTS, "spread", "influence"} & set(found.index)
    assert {"convergence", "leave-one-out"} <= set(found.index)


@pytest.mark.slow
def test_rows_that_are_all_censored_prove_nothing():
    data = tg.datasets.load("lung").assign(event=0)
    with pytest.warns(tg.errors.BoundaryWarning):
        found = tg.fit("Surv(time, event) ~ re(sex)", data, family="weibull", fixed={"sigma": 1.0}).check()
    assert found.table.loc["calibration", "verdict"] == "doubtful"
    assert not found.ok


WEIGHTED = {
    "regression": ("y ~ x + z", {}, 1e-6),
    "censored": ("y ~ x | censor(low)", {}, 1e-6),
    "truncated": ("y ~ z | truncate(-1.5)", {"family": "logistic"}, 1e-6),
    "late entry": ("Surv(entry, t, e) ~ x", {"family": "weibull"}, 1e-6),
    "mixture": ("y ~ mixture(1)", {}, 1e-4),
    "process": ("y ~ C(g) + z", {"method": tg.EP(hyper="maximize")}, 0.02),
}


@pytest.mark.parametrize("kind", WEIGHTED)
def test_a_row_of_weight_three_counts_as_three_rows(kind):
    formula, options, tolerance = WEIGHTED[kind]
    rng = np.random.default_rng(15)
    data = simulate(12, 60, lambda rng, n: rng.standard_t(5, n)).assign(w=rng.integers(0, 4, 60), g=np.arange(60) % 3)
    data = data.assign(t=np.exp(data["y"]), e=np.arange(60) % 4 > 0).assign(entry=lambda d: d["t"] * rng.random(60))
    weighted = tg.fit(formula, data, weights="w", **options).check(rng=1)
    repeated = tg.fit(formula, data.loc[data.index.repeat(data["w"])].reset_index(), **options).check(rng=1)
    assert weighted.table.index.equals(repeated.table.index)
    np.testing.assert_allclose(weighted.table["p"], repeated.table["p"], atol=tolerance)
    assert weighted.table["verdict"].equals(repeated.table["verdict"])
