import numpy as np
import pandas as pd
import pytest
from support.stored import again

import tobitgp as tg
from tobitgp.errors import SpecError

EVERY = ["exact", "laplace", "ep", "vi exact", "vi local", "vi monte_carlo", "vi karlova"]
PLAIN = {"method": tg.EP(hyper="maximize", n_starts=1)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = np.linspace(0.0, 3.0, 36)
    y = 5.0 + 10.0 * np.sin(2.0 * x) + 2.0 * rng.standard_normal(36)
    return pd.DataFrame({"x": x, "z": rng.standard_normal(36), "g": np.arange(36) % 3, "y": np.clip(y, 1.0, 11.0)})


@pytest.fixture(scope="module")
def res(data):
    return tg.fit("y ~ z + gp(x) + re(g) | censor(1, 11)", data, **PLAIN)


@pytest.fixture(scope="module")
def table(res):
    return tg.compare_bounds(res)


def test_shape(table):
    assert list(table.index) == EVERY
    assert list(table.columns) == ["value", "se", "diff", "mean_rmse", "sd_ratio"]
    assert table.attrs == {"reference": "exact"}
    assert table["se"].notna().tolist() == [True] + [False] * 6
    assert table.drop(columns="se").notna().all(axis=None)
    assert table.loc["exact"].tolist()[2:] == [0.0, 0.0, 1.0]


def test_the_fits_own_method_is_its_evidence(data, res, table):
    assert table.loc["ep", "value"] == pytest.approx(res.log_evidence, abs=1e-6)
    for name, method in {"laplace": "laplace", "vi exact": "vi"}.items():
        there = tg.fit(res.formula, data, method=method, fixed=res.hyperparameters)
        assert table.loc[name, "value"] == pytest.approx(there.log_evidence, abs=0.02)


def test_bounds_are_below_and_errors_small(table):
    error = 5.0 * table.loc["exact", "se"]
    assert table.loc["vi local", "value"] < table.loc["vi exact", "value"] < table.loc["exact", "value"] + error
    assert abs(table.loc["ep", "diff"]) < 0.1 + error
    assert table.loc["vi local", "sd_ratio"] < table.loc["vi exact", "sd_ratio"] < 1.01
    assert table.loc["ep", "mean_rmse"] < 0.2
    np.testing.assert_allclose(table["diff"], table["value"] - table.loc["exact", "value"], atol=1e-9)


@pytest.mark.slow
def test_a_local_fit_keeps_its_side_noises(data):
    """Without priors of their own they raise the bound; the default ones draw them to half the response's sd."""
    priors = {"sigma_lower": None, "sigma_upper": None}
    method = tg.VI(bound="local", hyper="maximize", n_starts=1)
    local = tg.fit("y ~ gp(x) | censor(1, 11)", data, priors=priors, method=method)
    table = tg.compare_bounds(local)
    assert table.loc["vi local", "value"] == pytest.approx(local.log_evidence, abs=1e-6)
    known = {name: 0.0 if name in ("sigma_lower", "sigma_upper") else v for name, v in local.hyperparameters.items()}
    without = tg.fit(local.formula, data, method=tg.VI(bound="local"), fixed=known)
    assert table.loc["vi local", "value"] > without.log_evidence
    assert table.loc["vi exact", "diff"] < 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "options"),
    [
        ("gp(x, by=g, kernel='matern32', {}, name='f')", "approximation='markov'"),
        ("gp(x, z, kernel='matern12', {}, name='f')", "approximation='vecchia', neighbours=200"),
    ],
)
def test_structures_are_the_dense_prior(data, term, options):
    formula = f"y ~ z + {term} | censor(1, 11)"
    places = ("x", "z") if "z, kernel" in term else ("",)
    scales = {f"lengthscale(f){f'[{place}]' if place else ''}": 1.0 for place in places}
    fixed = {"sd(f)": 2.0, "sigma": 1.0, **scales}
    a, b = (
        tg.compare_bounds(tg.fit(formula.format(how), data, fixed=fixed)) for how in (options, "approximation='dense'")
    )
    pd.testing.assert_frame_equal(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_units_do_not_matter(data):
    """In other units every value shifts by one constant, and means by one factor."""
    here = tg.compare_bounds(tg.fit("y ~ gp(x) | censor(1, 11)", data, **PLAIN))
    scaled = data.assign(y=100.0 * data["y"])
    there = tg.compare_bounds(tg.fit("y ~ gp(x) | censor(100, 1100)", scaled, **PLAIN))
    np.testing.assert_allclose(there["diff"], here["diff"], atol=1e-4)
    np.testing.assert_allclose(there["mean_rmse"], 100.0 * here["mean_rmse"], atol=1e-3)
    exact = ((data["y"] > 1) & (data["y"] < 11)).sum()
    np.testing.assert_allclose(there["value"] + exact * np.log(100.0), here["value"], atol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* weights are not whole numbers")
@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ gp(x) | censor(1)", {"family": "student"}, "not Gaussian"),
        ("y ~ gp(x) | censor(1) | truncate(-90)", {}, "truncated"),
        ("y ~ gp(x) | censor(1)", {"weights": "w"}, "whole numbers"),
    ],
)
def test_without_an_exact_answer_ep_is_the_reference(data, formula, options, words):
    table = tg.compare_bounds(tg.fit(formula, data.assign(w=1.5), **PLAIN, **options))
    assert table.attrs["reference"] == "ep"
    assert words in table.attrs["no_exact"]
    assert "exact" not in table.index
    assert table.loc["ep", "diff"] == 0.0
    assert ("vi local" in table.index) == ("family" not in options)


def test_rows_without_limits_leave_the_closed_form_out(data):
    res = tg.fit("y ~ gp(x) | censor(event=e)", data.assign(e=(data["y"] < 11).astype(int)), **PLAIN)
    assert list(tg.compare_bounds(res).index) == EVERY[:-1]


@pytest.mark.filterwarnings("ignore:No row is censored")
def test_uncensored_rows_agree(data):
    table = tg.compare_bounds(tg.fit("y ~ gp(x) | censor(-99, 99)", data, **PLAIN))
    np.testing.assert_allclose(table["diff"], 0.0, atol=1e-5)
    np.testing.assert_allclose(table["sd_ratio"], 1.0, atol=1e-5)


def test_what_has_no_posterior_or_no_rows_is_refused(data, res, tmp_path):
    with pytest.raises(SpecError, match="fitted Gaussian process"):
        tg.compare_bounds(tg.fit("y ~ z | censor(1, 11)", data))
    with pytest.raises(SpecError, match="not str"):
        tg.compare_bounds("res")
    with pytest.raises(SpecError, match=r"no training rows .* compare_bounds\(\) requires"):
        tg.compare_bounds(again(res, tmp_path))
