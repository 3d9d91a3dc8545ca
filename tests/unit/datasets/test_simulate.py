import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tobitgp.datasets import (
    simulate_additive,
    simulate_basson,
    simulate_cure,
    simulate_groot_lucas,
    simulate_karlova,
    simulate_kohjima,
)
from tobitgp.errors import DataError

SIMULATORS = {
    "groot_lucas": simulate_groot_lucas,
    "groot_lucas_uniform": lambda rng=None: simulate_groot_lucas(rng, design="uniform"),
    "basson_1": lambda rng=None: simulate_basson(1, rng),
    "basson_2": lambda rng=None: simulate_basson(2, rng),
    "karlova_left": lambda rng=None: simulate_karlova("left", rng),
    "karlova_right": lambda rng=None: simulate_karlova("right", rng),
    "karlova_symmetric": lambda rng=None: simulate_karlova("symmetric", rng),
}


@pytest.fixture(params=SIMULATORS)
def simulate(request):
    return SIMULATORS[request.param]


def test_columns_and_clipping(simulate):
    data = simulate(1)
    assert list(data) == ["x", "y", "f", "y_star", "lower", "upper"]
    assert list(data.select_dtypes(float)) == list(data)
    assert data["x"].is_monotonic_increasing
    assert (data["lower"] < data["upper"]).all()
    np.testing.assert_array_equal(data["y"], np.minimum(np.maximum(data["y_star"], data["lower"]), data["upper"]))


def test_forms_of_rng(simulate):
    pd.testing.assert_frame_equal(simulate(), simulate(None))
    pd.testing.assert_frame_equal(simulate(), simulate(0))
    pd.testing.assert_frame_equal(simulate(7), simulate(np.int64(7)))
    pd.testing.assert_frame_equal(simulate(7), simulate(np.random.default_rng(7)))
    assert not simulate(7).equals(simulate(8))

    generator = np.random.default_rng(7)
    assert not simulate(generator).equals(simulate(generator))


def test_global_numpy_state_is_untouched(simulate):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    simulate(3)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("rng", [-1, 1.0, "0", True, np.random.RandomState(0)])
def test_other_forms_of_rng_are_refused(simulate, rng):
    with pytest.raises(DataError, match=r"rng=.*: must be"):
        simulate(rng)


def test_groot_lucas_function_at_known_points():
    f = simulate_groot_lucas(n=7, noise_sd=0)  # x = 0, 1/6, ..., 1, so 6x - 2 = -2, -1, ..., 4
    t = np.arange(-2, 5)
    np.testing.assert_allclose(f["f"], t**2 * np.sin(2 * t), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(f["f"], f["y_star"])
    assert f["f"].iloc[-1] == pytest.approx(16 * math.sin(8), abs=1e-12)


def test_groot_lucas_as_published():
    data = simulate_groot_lucas()
    np.testing.assert_allclose(data["x"], np.arange(30) / 29, rtol=0, atol=1e-15)
    assert (data["upper"] == np.inf).all()
    # the limit and the end values of the stored reference problem (case A of tobit_gp_cases.json)
    assert data["lower"].iloc[0] == pytest.approx(-0.3410556191767816, abs=1e-12)
    assert data["y"].iloc[[0, -1]].tolist() == pytest.approx([3.0669693681688797, 15.899363757956845], abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_groot_lucas_censors_forty_percent(seed):
    data = simulate_groot_lucas(seed)
    assert (data["y"] == data["lower"]).sum() == 12


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.4, 0.75, 1.0])
@pytest.mark.parametrize("design", ["grid", "uniform"])
def test_groot_lucas_censored_fraction(fraction, design):
    data = simulate_groot_lucas(2, n=1000, censored_fraction=fraction, design=design)
    assert (data["y_star"] <= data["lower"]).mean() == pytest.approx(fraction, abs=1e-3)
    assert (data["lower"] == -np.inf).all() == (fraction == 0)


def test_groot_lucas_noise_and_uniform_inputs_over_many_rows():
    data = simulate_groot_lucas(5, n=200_000, design="uniform")
    noise = data["y_star"] - data["f"]
    assert noise.mean() == pytest.approx(0, abs=0.004)  # six standard errors
    assert noise.var() == pytest.approx(0.1, abs=0.002)
    assert data["x"].between(0, 1).all()
    assert data["x"].mean() == pytest.approx(0.5, abs=0.004)


def test_basson_1_is_groot_lucas():
    pd.testing.assert_frame_equal(simulate_basson(1, 4), simulate_groot_lucas(4))


@pytest.mark.parametrize("seed", range(20))
def test_basson_2_censors_half(seed):
    data = simulate_basson(2, seed)
    assert (data["y"] == data["lower"]).sum() == 12
    assert (data["y"] == data["upper"]).sum() == 3


def test_basson_2_as_published():
    data = simulate_basson(2)
    np.testing.assert_allclose(data["x"], np.linspace(0, 1.15, 30), rtol=0, atol=1e-15)
    t = 6 * data["x"] - 2
    np.testing.assert_allclose(data["f"], t**2 * np.sin(2 * t), rtol=0, atol=1e-12)
    limits = np.array([simulate_basson(2, seed)[["lower", "upper"]].iloc[0] for seed in range(50)])
    low, high = limits.min(axis=0), limits.max(axis=0)
    assert low[0] < -0.0239 < high[0]  # the limits of the paper's own draw
    assert low[1] < 11.3555 < high[1]


def test_basson_2_noise_over_many_draws():
    noise = np.concatenate([simulate_basson(2, seed).eval("y_star - f") for seed in range(300)])
    assert noise.var() == pytest.approx(0.1, abs=0.009)


@pytest.mark.parametrize(
    ("case", "lower", "upper"), [("left", -3, np.inf), ("right", -np.inf, 0), ("symmetric", -2, 2)]
)
def test_karlova_as_published(case, lower, upper):
    data = simulate_karlova(case)
    assert len(data) == 15
    assert (data["lower"] == lower).all()
    assert (data["upper"] == upper).all()
    assert 0 < (data["y"] != data["y_star"]).sum() < 15
    f = (5 * data["x"] - 10) * np.sin(10 * data["x"] - 20)
    np.testing.assert_allclose(data["f"], f, rtol=0, atol=1e-12)


def test_karlova_assumptions_over_many_rows():
    data = simulate_karlova("left", 1, n=100_000)
    assert (data["y_star"] - data["f"]).std() == pytest.approx(0.1, abs=0.002)
    assert data["x"].agg(["min", "max"]).tolist() == pytest.approx([0, 2], abs=1e-3)
    assert simulate_karlova("left", 1, n=1000, x_range=(1.0, 3.0))["f"].min() > -2.7202  # why the range is not [1, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate_groot_lucas(n=0),
        lambda: simulate_groot_lucas(n=30.0),
        lambda: simulate_groot_lucas(n=True),
        lambda: simulate_groot_lucas(censored_fraction=1.5),
        lambda: simulate_groot_lucas(censored_fraction=math.nan),
        lambda: simulate_groot_lucas(noise_sd=-0.1),
        lambda: simulate_groot_lucas(noise_sd=math.inf),
        lambda: simulate_groot_lucas(design="random"),
        lambda: simulate_basson(3),
        lambda: simulate_basson("1"),
        lambda: simulate_karlova("both"),
        lambda: simulate_karlova(n=-2),
        lambda: simulate_karlova(noise_sd=math.nan),
        lambda: simulate_karlova(x_range=(2.0, 0.0)),
        lambda: simulate_karlova(x_range=(0.0, math.inf)),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises(DataError, match="must"):
        call()


def test_additive_parts_add_up():
    data = simulate_additive(3, n=2000, groups=30)
    parts = data[["f_x1", "f_x2", "f_z", "f_g"]]
    np.testing.assert_allclose(1.0 + parts.sum(axis=1), data["f"], rtol=1e-12)
    np.testing.assert_array_equal(data["y"], data["y_star"].clip(data["lower"], data["upper"]))
    assert data.groupby("g")["f_g"].nunique().eq(1).all()
    assert abs(parts[["f_x1", "f_x2"]].mean()).max() < 0.06
    assert np.isclose((data["y_star"] - data["f"]).std(), 0.4, rtol=0.06)
    assert ((data["y"] == data["lower"]).mean(), (data["y"] == data["upper"]).mean()) == (0.2, 0.2)
    pd.testing.assert_frame_equal(simulate_additive(), simulate_additive(0))
    for bad in ({"n": 0}, {"groups": 0}, {"noise_sd": -1.0}):
        with pytest.raises(DataError):
            simulate_additive(**bad)


def test_cured_rows_have_no_event_and_as_many_are_cured_as_should():
    data = simulate_cure(n=20000, rng=0)
    assert not ((data["cured"] == 1) & (data["event"] == 1)).any()
    share = data.groupby("treated")["cured"].mean()
    assert share.to_numpy() == pytest.approx(1.0 / (1.0 + np.exp([0.8, -0.2])), abs=0.02)
    median = data[data["cured"] == 0].groupby("treated")["time"].median()
    assert median.to_numpy() == pytest.approx(np.exp([0.0, 0.3]) * np.log(2.0) ** 0.8, rel=0.04)
    assert data["time"].max() < 9.0
    with pytest.raises(DataError):
        simulate_cure(n=0)


KOHJIMA = {
    "gmm": (lambda y: 0.5 * stats.norm.cdf(y, -3.0, 1.0) + 0.5 * stats.norm.cdf(y, 3.0, 1.0), -4.0, 4.0),
    "emm": (lambda y: 0.5 * stats.expon.cdf(y, scale=1 / 0.3) + 0.5 * stats.expon.cdf(y, scale=1 / 3.0), -np.inf, 4.0),
    "pmm": (lambda y: 0.5 * stats.poisson.cdf(y, 1.0) + 0.5 * stats.poisson.cdf(y, 5.0), -np.inf, 6.0),
}


@pytest.mark.parametrize("case", KOHJIMA)
def test_kohjimas_mixtures_have_the_distributions_of_the_paper(case):
    cdf, low, high = KOHJIMA[case]
    data = simulate_kohjima(case, seed=7, n=20_000)
    for at in (-3.5, 0.5, 2.0, 3.9, 5.0):
        p = cdf(at)
        assert (data["y_star"] <= at).mean() == pytest.approx(p, abs=4 * np.sqrt(0.25 / 20_000))
    assert (data["component"] == 1).mean() == pytest.approx(0.5, abs=0.015)
    beyond = data["y"] >= data["upper"]
    np.testing.assert_array_equal(beyond, data["y_star"] > high)
    np.testing.assert_array_equal(data["y"] <= data["lower"], data["y_star"] <= low)
    inside = ~beyond & (data["y"] > data["lower"])
    np.testing.assert_array_equal(data["y"][inside], data["y_star"][inside])
    pd.testing.assert_frame_equal(simulate_kohjima(case, 3), simulate_kohjima(case, seed=np.random.default_rng(3)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"case": "gam"}, "case=.*: must be one of 'gmm'"),
        ({"n": 0}, "n=.*: must be"),
        ({"seed": -1}, "seed=-1: must be None"),
    ],
)
def test_kohjimas_mixtures_that_make_no_sense(options, words):
    with pytest.raises(DataError, match=words):
        simulate_kohjima(**options)
