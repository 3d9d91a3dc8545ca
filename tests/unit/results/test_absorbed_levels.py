"""Processes beside an absorbed factor answer as beside its dense columns under the same prior."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data import linear
from tobitgp.inference import model
from tobitgp.numerics.factored import Factored
from tobitgp.results.process.draws import draw_process

KNOWN = {"sd(gp(x))": 0.8, "lengthscale(gp(x))": 0.3, "sigma": 0.5}


@pytest.fixture
def data(rng):
    n, k = 360, 12
    g, h = np.concatenate([np.arange(k), rng.integers(k, size=n - k)]), rng.integers(30, size=n)
    x, z = rng.uniform(size=n), rng.normal(size=n)
    y = np.sin(6.0 * x) + 0.5 * z + rng.normal(size=k)[g] + 0.5 * rng.normal(size=n)
    data = pd.DataFrame({"y": np.maximum(y, -0.5), "x": x, "z": z, "g": [f"g{i:02d}" for i in g], "h": h})
    return data.assign(b=data.h.mod(3).map("b{}".format), w=rng.integers(1, 4, size=n))


def answers(res, data):
    """What a fit says of its parameters and of some rows."""
    few = data.iloc[:20]
    return {
        "evidence": res.log_evidence,
        "params": res.params,
        "bse": res.bse,
        "covariance": res.cov_params(),
        "ends": res.conf_int(),
        "p": res.pvalues,
        "latent": res.predict(few, what="latent", se=True),
        "observed": res.predict(few, what="observed", se=True),
        "terms": res.predict(few, what="terms"),
        "excluded": res.predict(few, what="latent", exclude=res.parts.gp.terms[0].name),
        "joint": res.posterior(few).covariance,
        "left out": res.loo().pointwise,
    }


def both(monkeypatch, formula, data, **options):
    """Answers with the factor absorbed, and with it an array whose columns are not centred."""
    centres = model.column_centres
    monkeypatch.setattr(linear, "MOST_DENSE", 4)
    res = tg.fit(formula, data, **options)
    assert res.converged
    factor = res.parts.gp.linear.factor
    a = answers(res, data)
    of_factor = np.isin(np.arange(len(res.parts.gp.columns)), factor.start + np.arange(factor.size))
    monkeypatch.setattr(linear, "MOST_DENSE", 10_000)
    monkeypatch.setattr(model, "column_centres", lambda *given: np.where(of_factor, 0.0, centres(*given)))
    written = tg.fit(formula, data, **options)
    assert written.parts.gp.linear.factor is None
    return a, answers(written, data)


def alike(a, b, rtol=1e-6):
    """Answers are equal."""
    for name, values in a.items():
        atol = rtol * float(np.nanmax(b["bse"]) ** 2)
        np.testing.assert_allclose(values, b[name], rtol=rtol, atol=atol, err_msg=name)


MODELS = {
    "ep": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "ep"}),
    "vi": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "vi"}),
    "laplace": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "laplace"}),
    "columns before and after": ("y ~ z + C(g) + I(z**2) + gp(x) | censor(-0.5)", {}),
    "without an intercept": ("y ~ 0 + C(g) + z + gp(x) | censor(-0.5)", {}),
    "nothing but the factor": ("y ~ 0 + C(g) + gp(x) | censor(-0.5)", {}),
    "weights": ("y ~ gp(x) + C(g) + z | censor(-0.5)", {"weights": "w"}),
    "interaction": ("y ~ gp(x) + C(b):g | censor(-0.5)", {}),
    "fixed": ("y ~ gp(x) + C(g) + z | censor(-0.5)", {"fixed": {**KNOWN, "C(g)[T.g03]": 0.5, "z": 0.4}}),
    "student": ("y ~ gp(x) + C(g) | censor(-0.5)", {"family": tg.Student(df=4.0)}),
    "its own intercepts": ("y ~ gp(x) + C(g) + re(g) | censor(-0.5)", {"fixed": {**KNOWN, "sd(re(g))": 0.7}}),
    "other intercepts": ("y ~ gp(x) + C(g) + re(h) | censor(-0.5)", {"fixed": {**KNOWN, "sd(re(h))": 0.7}}),
}


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_an_array(name, data, monkeypatch):
    formula, options = MODELS[name]
    alike(*both(monkeypatch, formula, data, **{"fixed": KNOWN, **options}))
