"""Degrees of freedom under a process: estimated, fixed, and never where predictions have no mean."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.inference.hyperparameters import LEAST_DF

N = 60


@pytest.fixture(scope="module")
def heavy():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=N))
    y = np.minimum(np.sin(6.0 * x) + 0.3 * rng.standard_t(1.3, size=N), 2.0)
    return pd.DataFrame({"x": x, "y": y})


@pytest.mark.slow
def test_every_design_point_has_a_mean(heavy):
    res = tg.fit("y ~ gp(x) | censor(upper=2.0)", heavy, family="student")
    df = np.exp([point.theta[-2] for point in res.parts.fitted.points])
    assert res.params["df"] < 4.0
    assert df.min() >= LEAST_DF
    assert np.ptp(df) > 0.0
    assert res.predict(heavy, "uncensored", interval=0.9).notna().all(axis=None)


@pytest.mark.slow
def test_given_degrees_of_freedom_may_be_fewer(heavy):
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.25, "sigma": 0.3}
    named = tg.fit("y ~ gp(x)", heavy, family="student", fixed={**fixed, "df": 0.8})
    distribution = tg.fit("y ~ gp(x)", heavy, family=tg.Student(0.8), fixed=fixed)
    assert named.log_evidence == pytest.approx(distribution.log_evidence, rel=1e-12)
    assert "df" not in distribution.params
    with pytest.raises(SpecError, match="df"):
        tg.fit("y ~ gp(x)", heavy, family=tg.Student(0.8), fixed={**fixed, "df": 2.0})


@pytest.mark.slow
def test_sigma_of_exponential_times_is_known(heavy):
    data = heavy.assign(y=np.exp(heavy["y"].clip(-3.0, 3.0)))
    assert tg.fit("y ~ gp(x)", data, family="exponential", method=tg.EP(hyper="maximize")).params[
        "sigma"
    ] == pytest.approx(1.0)
    for option in ({"fixed": {"sigma": 2.0}}, {"start": {"sigma": 2.0}}, {"priors": {"sigma": None}}):
        with pytest.raises(SpecError, match="has sigma = 1"):
            tg.fit("y ~ gp(x)", data, family="exponential", **option)
