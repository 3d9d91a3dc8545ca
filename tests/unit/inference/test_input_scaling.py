"""Slopes are measured from means where another term holds what that takes away: the origin of an input is free."""

import numpy as np
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import DataError

LINEAR = "kernel='linear'"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 60
    x, z, g = rng.normal(size=n), rng.uniform(size=n), rng.choice(list("abc"), n)
    slope = np.select([g == "a", g == "b"], [1.0, -1.0], 0.5)
    y = slope * x + np.sin(6 * z) * (1 + x) + 0.3 * rng.normal(size=n)
    return {"x": x, "z": z, "g": g, "y": y, "w": (np.arange(n) > 5).astype(float)}


def fit(formula, data, **options):
    return tg.fit(formula, data, **with_settings(options, hyper="maximize"))


def moved(data):
    return {**data, "x": data["x"] + 2000.0, "z": data["z"] - 300.0}


@pytest.mark.parametrize(
    "formula",
    [
        f"y ~ gp(x, {LINEAR})",
        f"y ~ gp(x, z, {LINEAR})",
        f"y ~ gp(x, {LINEAR}, by=g)",
        f"y ~ C(g) + gp(x, {LINEAR}, by=g)",
        f"y ~ 0 + C(g) + gp(x, {LINEAR})",
        f"y ~ 0 + C(g) + gp(x, {LINEAR}, by=g)",
        "y ~ gp(z) + x:gp(z)",
        "y ~ gp(z, by=g) + x:gp(z)",
        "y ~ gp(z, by=g) + x:gp(z, by=g)",
        f"y ~ gp(z) + gp(z, kernel='matern32', name='k'):gp(x, {LINEAR})",
    ],
)
def test_the_origin_does_not_matter(formula, data):
    here, there = fit(formula, data), fit(formula, moved(data))
    assert here.log_evidence == pytest.approx(there.log_evidence, abs=1e-6)
    np.testing.assert_allclose(here.predict(data), there.predict(moved(data)), atol=1e-6)
    np.testing.assert_allclose(
        here.params.drop("Intercept", errors="ignore"),
        there.params[here.params.index.drop("Intercept", errors="ignore")],
        rtol=1e-5,
    )


@pytest.mark.slow
def test_the_same_in_a_formula_of_the_noise(data):
    here, there = (fit("y ~ z", rows, sigma=f"~ gp(x, {LINEAR})") for rows in (data, {**data, "x": data["x"] + 2000.0}))
    assert here.log_evidence == pytest.approx(there.log_evidence, abs=1e-5)


@pytest.mark.parametrize("formula", [f"y ~ 0 + gp(x, {LINEAR})", "y ~ x:gp(z)", "y ~ C(g) + x:gp(z, by=g)"])
def test_zero_has_a_meaning_where_no_term_holds_the_rest(formula, data):
    here = fit(formula, data)
    zero = here.predict({**data, "x": np.zeros(60)}, "terms")
    process = [name for name in zero.columns.get_level_values(0).unique() if "gp" in name]
    np.testing.assert_allclose(zero[process].to_numpy(dtype=float), 0.0, atol=1e-12)


def test_rows_of_weight_0_do_not_move_the_mean(data):
    kept = {name: values[6:] for name, values in data.items()}
    weighted, without = fit(f"y ~ gp(x, {LINEAR})", data, weights="w"), fit(f"y ~ gp(x, {LINEAR})", kept)
    assert weighted.log_evidence == pytest.approx(without.log_evidence, abs=1e-8)


def test_least_squares_over_years():
    rng = np.random.default_rng(0)
    year = np.repeat(np.arange(2000, 2021.0), 2)
    y = 0.5 * (year - 2010) + 0.3 * rng.normal(size=len(year))
    res = fit(f"y ~ gp(year, {LINEAR})", {"year": year, "y": y})
    slope = np.diff(res.predict({"year": [2000.0, 2020.0]}, "latent"))[0] / 20
    assert slope == pytest.approx(np.polyfit(year, y, 1)[0], abs=0.002)
    # The sd is that of the slope a unit of the input, in whatever unit that is.
    months = fit(f"y ~ gp(month, {LINEAR})", {"month": 12 * year, "y": y})
    assert 12 * months.params["sd(gp(month))"] == pytest.approx(res.params["sd(gp(year))"], rel=1e-5)


def test_an_input_without_a_slope(data):
    with pytest.raises(DataError, match=r"The input c of gp\(c\) is the same in every row and has no slope"):
        fit(f"y ~ gp(c, {LINEAR})", {**data, "c": np.full(60, 3.0)})


@pytest.mark.slow
def test_figures_of_varying_slopes_show_the_slope(data):
    res = fit("y ~ gp(z) + x:gp(z)", data)
    at = {"z": np.linspace(0.1, 0.9, 5), "g": ["a"] * 5}
    ones, zeros = (res.predict({**at, "x": np.full(5, x)}, "latent") for x in (1.0, 0.0))
    [*_, ax] = res.plot_terms()
    line = next(line for line in ax.get_lines() if len(line.get_xdata()) > 2)
    drawn = np.interp(at["z"], line.get_xdata(), line.get_ydata())
    np.testing.assert_allclose(drawn, ones - zeros, atol=0.02)


def test_lines_of_several_responses_have_no_origin():
    rng = np.random.default_rng(9)
    year = np.repeat(np.arange(2000.0, 2021.0), 2)
    y = 0.2 * (year - 2010.0) + 0.3 * rng.normal(size=len(year))
    data = {"year": year, "y": y, "w": rng.normal(size=len(year)) - y}
    res = tg.fit(f"mvbind(y, w) ~ gp(year, {LINEAR})", data, method=tg.EP(hyper="maximize"))
    found = res.predict({"year": [2000.0, 2020.0]}, what="latent")
    for name in ("y", "w"):
        assert np.diff(found[name])[0] / 20.0 == pytest.approx(np.polyfit(year, data[name], 1)[0], abs=0.01)
