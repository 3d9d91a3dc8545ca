"""The evidence at given parameters: that of a fit, and derivatives of its own value."""

import numpy as np
import pandas as pd
import pytest
from support.differences import derivative
from support.methods import having

import tobitgp as tg
from tobitgp.errors import NumericalError, SpecError

CURVE = "y ~ z + gp(x) | censor(lower)"
AT = {"sd(gp(x))": 7.0, "lengthscale(gp(x))": 0.18, "sigma": 0.5}


@pytest.fixture(scope="module")
def data():
    found = tg.datasets.simulate_groot_lucas()
    found["y"] = found["y"].clip(lower=found["lower"])
    found["g"], found["z"], found["t"] = list("abc") * 10, np.sin(9 * found["x"]), np.exp(found["y"] / 10)
    return found


CASES = [
    (CURVE, AT, {}),
    (CURVE, AT, {"method": "laplace"}),
    (CURVE, AT, {"method": "vi"}),
    (CURVE, {**AT, "sigma_lower": 0.3}, {"method": tg.VI(bound="local")}),
    ("y ~ z + gp(x)", AT, {}),
    (CURVE, {**AT, "df": 4.0}, {"family": "student"}),
    ("y ~ gp(x) + re(g) | censor(lower)", {**AT, "sd(re(g))": 0.5}, {}),
    ("y ~ z | censor(lower)", {"sigma": 0.5}, {}),
    ("y ~ z | censor(lower)", {"sigma": 0.5, "z": 1.0}, {}),
    ("t ~ z | censor(upper=3)", {"sigma": 0.7}, {"family": "lognormal"}),
    (CURVE, {**AT, "log(sigma)[z]": 0.3}, {"sigma": "~ z"}),
    ("y ~ z | censor(lower)", {"sigma": 0.5, "log(sigma)[x]": -0.4}, {"sigma": "~ x"}),
]


@pytest.mark.parametrize(("formula", "at", "options"), CASES)
def test_it_is_that_of_a_fit_and_its_derivatives_are_its_own(data, formula, at, options):
    options = dict(options)
    rows = data.assign(t=data["t"].clip(upper=3.0))
    model = tg.Model(formula, rows, family=options.pop("family", "gaussian"), sigma=options.pop("sigma", None))
    options["method"] = having(options.get("method", "auto"), inducing=None if "gp" in formula else "auto")
    value, kind, gradient = model.evidence(at, **options)
    fit = model.fit(fixed=at, **options)
    assert value == pytest.approx(fit.log_evidence, abs=1e-12)
    assert kind == fit.evidence_kind
    assert list(gradient.index) == list(fit.hyperparameters)
    for name in gradient.index:

        def moved(s, name=name):
            return model.evidence({**at, name: at[name] + s}, gradient=False, **options).value

        assert gradient[name] == pytest.approx(derivative(moved, 0.0, 1e-3 * abs(at[name])), rel=1e-5, abs=1e-5)


def test_it_is_flat_at_the_maximum_of_a_fit_without_priors(data):
    model = tg.Model(CURVE, data)
    priors = dict.fromkeys(AT)
    fit = model.fit(priors=priors, method=tg.EP(hyper="maximize"))
    value, _, gradient = model.evidence(fit.hyperparameters)
    assert value == pytest.approx(fit.log_evidence, abs=0.02)
    assert np.abs(gradient * pd.Series(fit.hyperparameters)).max() < 0.05


def test_without_derivatives_there_are_none(data):
    assert tg.Model(CURVE, data).evidence(AT, gradient=False).gradient is None


def test_priors_of_coefficients_enter(data):
    model = tg.Model(CURVE, data)
    wide = model.evidence(AT, priors={"z": tg.Normal(0.0, 1000.0)}).value
    assert wide < model.evidence(AT, priors={"z": tg.Normal(0.0, 10.0)}).value - 3.0


def test_partitioned_rows_have_it_too(data, tmp_path):
    pytest.importorskip("pyarrow")
    rows = data[["y", "x", "z", "lower"]]
    rows.to_parquet(tmp_path / "rows.parquet")
    whole = tg.Model(CURVE, rows).evidence(AT)
    with tg.Model(CURVE, str(tmp_path / "rows.parquet")) as model:
        found = model.evidence(AT)
    assert found.value == pytest.approx(whole.value, abs=1e-6)
    assert np.allclose(found.gradient, whole.gradient, rtol=1e-4, atol=1e-4)
    with pytest.raises(SpecError, match="with statement"):
        model.evidence(AT)


def test_what_is_lacking_or_unknown_is_named(data):
    model = tg.Model(CURVE, data)
    with pytest.raises(SpecError, match="lacks 'lengthscale"):
        model.evidence({"sd(gp(x))": 1.0, "sigma": 0.5})
    with pytest.raises(SpecError, match="Did you mean 'sigma'"):
        model.evidence({**AT, "sigmas": 0.5})
    with pytest.raises(SpecError, match="params=3"):
        model.evidence(3)
    with pytest.raises(SpecError, match="positive number"):
        model.evidence({**AT, "sigma": -1.0})
    with pytest.raises(SpecError, match="mle"):
        model.evidence(AT, method="mle")
    with pytest.raises(SpecError, match="mixture"):
        tg.Model("y ~ mixture(2) | censor(lower)", data).evidence({"sigma": 1.0})
    with pytest.raises(SpecError, match=r"lacks 'log\(sigma\)\[x\]'"):
        tg.Model("y ~ z | censor(lower)", data, sigma="~ x").evidence({"sigma": 1.0})


def test_a_breakdown_names_its_suspects(data, monkeypatch):
    def fail(search):
        raise NumericalError("Nothing is positive definite.")

    monkeypatch.setattr("tobitgp.inference.search.Search.run", fail)
    with pytest.raises(NumericalError, match="fixed values of sd"):
        tg.Model(CURVE, data).evidence(AT)
