"""What arviz is given, and that it works there."""

import numpy as np
import pandas as pd
import pytest
from support.arviz import generation, load, quietly

import tobitgp as tg
from tobitgp.diagnostics import training_draws
from tobitgp.errors import SpecError


@pytest.fixture(scope="module")
def arviz():
    return load()


@pytest.fixture(scope="module")
def lung_fits(lung):
    formula = "Surv(time, event) ~ age"
    return {
        "line": tg.fit(formula, lung, family="weibull"),
        "curve": tg.fit("Surv(time, event) ~ gp(age)", lung, family="weibull", method=tg.Laplace(hyper="maximize")),
        "mixture": tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull"),
    }


@pytest.mark.parametrize("name", ["line", "curve", "mixture"])
def test_it_has_what_arviz_asks_for(lung_fits, arviz, name):
    fit = lung_fits[name]
    found = fit.to_arviz(200)
    assert list(found.posterior.data_vars) == list(fit.params.index)
    assert dict(found.posterior.sizes) == {"chain": 1, "draw": 200}
    seen = found.observed_data
    training = fit.parts.rows
    assert np.array_equal(seen["row"], training.labels)
    response = fit.model.endog_names
    assert np.array_equal(seen["censoring"], np.where(np.isinf(training.response.upper), 1, 0))
    assert np.array_equal(seen[response], training.response.lower)
    draws = fit.log_likelihood_draws(200)
    assert np.array_equal(found.log_likelihood[response].to_numpy()[0], draws.to_numpy())
    assert (found.posterior_predictive[response] > 0.0).all()
    loo = quietly(arviz.loo, found)
    elpd = loo.elpd_loo if generation(arviz) < 1 else loo.elpd
    assert elpd == pytest.approx(quietly(fit.loo, method="psis", draws=200).elpd, abs=0.05)


@pytest.mark.slow
def test_arviz_compares_and_summarises(lung_fits, arviz):
    draws = {name: fit.to_arviz(400) for name, fit in lung_fits.items()}
    table = quietly(arviz.compare, draws)
    assert set(table.index) == set(lung_fits)
    summary = quietly(arviz.summary, draws["line"], kind="stats")
    assert np.allclose(summary["mean"].astype(float), lung_fits["line"].params, rtol=0.1, atol=0.05)


def test_new_responses_are_clipped_where_limits_are_known(maximised):
    found = maximised.to_arviz(100)
    y, rows = found.posterior_predictive["y"].to_numpy()[0], maximised.parts.rows.response
    assert (y >= rows.limit_lower).all()
    assert (y <= rows.limit_upper).all()
    assert (y == rows.limit_lower).any()
    codes = found.observed_data["censoring"].to_numpy()
    assert np.array_equal(codes == -1, np.isneginf(rows.lower))
    assert np.array_equal(codes == 1, np.isposinf(rows.upper))
    assert set(found.observed_data["row"].to_numpy()) == set(maximised.parts.rows.labels)


def test_interval_rows_have_their_middle():
    data = {"lo": [1.0, 2.0, 0.0, 3.0, -np.inf], "hi": [2.0, 2.0, 1.0, np.inf, 4.0], "z": [0.0, 1.0, 2.0, 1.0, 0.0]}
    seen = tg.fit("interval(lo, hi) ~ z", data, fixed={"sigma": 1.0}).to_arviz(10).observed_data
    response = next(iter(seen.data_vars))
    assert seen[response].to_numpy().tolist() == [1.5, 2.0, 0.5, 3.0, 4.0]
    assert seen["censoring"].to_numpy().tolist() == [2, 0, 2, 1, -1]


@pytest.mark.filterwarnings("ignore:.* weights are not whole numbers")
def test_rows_are_repeated_as_their_weights_say(mixed, arviz):
    data = mixed.assign(c=1 + np.arange(60) % 2, half=0.5)
    formula = "y ~ z | censor(low, 1.4)"
    counted = tg.fit(formula, data, weights="c")
    found = counted.to_arviz(200)
    assert found.observed_data.sizes["row"] == data["c"].sum()
    loo = quietly(arviz.loo, found)
    elpd = loo.elpd_loo if generation(arviz) < 1 else loo.elpd
    assert elpd == pytest.approx(quietly(counted.loo, draws=200).elpd, abs=0.05)
    with pytest.raises(SpecError, match="not whole numbers"):
        tg.fit(formula, data, weights="half").to_arviz()


def test_names_of_dimensions_are_kept_apart(rng):
    data = pd.DataFrame({"row": rng.normal(size=20), "draw": rng.normal(size=20), "lower": rng.normal(size=20)})
    found = tg.fit("row ~ draw", data).to_arviz(20)
    assert "draw_" in found.posterior.data_vars
    assert "row_" in found.log_likelihood.data_vars
    seen = tg.fit("lower ~ draw", data).to_arviz(20).observed_data
    assert {"lower", "lower_", "upper"} <= set(seen.data_vars)


def test_without_arviz_the_extra_is_named(monkeypatch, mixed):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(training_draws, "import_module", absent)
    with pytest.raises(SpecError, match=r"pip install 'tobitgp\[arviz\]'"):
        tg.fit("y ~ z | censor(low, 1.4)", mixed).to_arviz(10)


@pytest.mark.slow
def test_too_much_to_hold_is_refused(mixed):
    with pytest.raises(SpecError, match="fewer draws"):
        tg.fit("y ~ z | censor(low, 1.4)", mixed).to_arviz(10_000_000)
