"""Distances of neighbours, and default fits of inputs that are dense in places: they end where thorough ones do."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.inference.input_scaling import spacing

pytestmark = pytest.mark.diagonal


def test_distances_are_those_of_distinct_inputs():
    x = np.repeat(np.arange(20.0), 3)[:, None]  # the third neighbour of an inner input is two away
    found = spacing(x)
    assert found.third[1] == 2.0
    assert found.least == pytest.approx(1.0)
    assert not found.uneven
    assert spacing(np.repeat([0.0, 1.0, 2.0], 5)[:, None]) is None


def test_groups_are_apart():
    x = np.concatenate([np.arange(10.0), np.arange(10.0) + 0.1])[:, None]
    assert spacing(x).least == pytest.approx(0.1)
    assert spacing(x, np.repeat([0, 1], 10)).least == pytest.approx(1.0)


@pytest.mark.parametrize("d", [1, 2])
def test_units_and_evenness(d):
    rng = np.random.default_rng(d)
    even = rng.uniform(size=(400, d))
    bursts = rng.uniform(0, 1000, (20, 1, d)) + rng.uniform(0, 1, (20, 20, d))
    assert not spacing(even).uneven
    assert spacing(bursts.reshape(-1, d)).uneven
    np.testing.assert_allclose(spacing(7.0 * even).third, 7.0 * spacing(even).third, rtol=1e-6)


def uneven(name, rng):
    if name == "bursts":
        day = np.sort(rng.choice(365, 24, replace=False))
        return (24.0 * day[:, None] + np.arange(24)).ravel(), 24.0
    if name == "clusters":
        return np.r_[rng.uniform(0, 10, 100), rng.uniform(1000, 1010, 100)], 6.3
    if name == "log-normal":
        return rng.lognormal(0, 3, 400), 2.1
    return np.r_[rng.uniform(0, 10, 200), 9999.0], 6.3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bursts", "clusters", "log-normal", "outlier"])
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
@pytest.mark.parametrize("censored", [0.0, 0.4])
def test_the_default_ends_where_a_start_at_the_truth_does(name, kernel, censored):
    rng = np.random.default_rng(3)
    x, period = uneven(name, rng)
    y = np.sin(2 * np.pi * x / period) + 0.3 * rng.normal(size=len(x))
    formula, data = f"y ~ gp(x, kernel={kernel!r})", {"x": x, "y": y}
    if censored:
        limit = np.quantile(y, censored)
        formula, data["y"] = f"{formula} | censor({limit})", np.maximum(y, limit)
    found = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    told = tg.fit(formula, data, method=tg.EP(hyper="maximize"), start={"lengthscale(gp(x))": period / 5, "sigma": 0.3})
    assert found.log_evidence > told.log_evidence - 1.0
    assert found.params["sigma"] < 0.45


@pytest.mark.slow
def test_processes_of_the_noise_scale_are_sought_where_rows_are_dense():
    rng = np.random.default_rng(1)
    day = np.sort(rng.choice(365, 20, replace=False))
    x = (day[:, None] + np.arange(16) / 16).ravel()
    data = {"x": x, "y": np.exp(0.9 * np.sin(2 * np.pi * x)) * rng.normal(size=len(x))}
    told = {"lengthscale(sigma: gp(x))": 0.25, "sd(sigma: gp(x))": 0.6}
    found, near = (
        tg.fit("y ~ 1", data, sigma="~ gp(x)", method=tg.EP(hyper="maximize"), start=start) for start in ({}, told)
    )
    assert found.log_evidence > near.log_evidence - 1.0


@pytest.mark.slow
@pytest.mark.parametrize("term", ["gp(x, z)", "gp(x, z, w)", "gp(x):gp(z)"])
def test_bursts_along_one_of_several_inputs_are_found(term):
    rng = np.random.default_rng(4)
    day = np.sort(rng.choice(365, 16, replace=False))
    x = (day[:, None] + np.arange(16) / 16).ravel()
    z, w = rng.normal(size=(2, len(x)))
    data = {"x": x, "z": z, "w": w, "y": np.sin(2 * np.pi * x) + 0.3 * rng.normal(size=len(x))}
    method, start = tg.EP(hyper="maximize"), {f"lengthscale({term})[x]": 0.25}
    found, told = tg.fit(f"y ~ {term}", data, method=method), tg.fit(f"y ~ {term}", data, method=method, start=start)
    assert found.log_evidence > told.log_evidence - 1.0
    assert found.params["sigma"] < 0.4


@pytest.mark.slow
def test_bursts_of_several_responses_are_found():
    rng = np.random.default_rng(4)
    day = np.sort(rng.choice(365, 16, replace=False))
    x = (day[:, None] + np.arange(16) / 16).ravel()
    curve = np.sin(2 * np.pi * x)
    data = {"x": x, "y": curve + 0.3 * rng.normal(size=len(x)), "z": 0.5 * rng.normal(size=len(x)) - curve}
    res = tg.fit("mvbind(y, z) ~ gp(x)", data, method=tg.EP(hyper="maximize"))
    np.testing.assert_allclose(res.params[["sigma[y]", "sigma[z]"]], [0.3, 0.5], rtol=0.2)
    assert res.params["cor(gp(x))[y, z]"] < -0.9
