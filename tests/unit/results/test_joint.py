"""Rows together: covariances and draws."""

import numpy as np
import pandas as pd
import pytest
from support.dense import at_its_average

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.mark.parametrize("fixture", ["averaged", "ammonium"])
def test_posterior_agrees_with_predict(request, fixture):
    res = request.getfixturevalue(fixture)
    mean, covariance = res.posterior()
    table = res.predict(se=True)
    assert np.allclose(mean, table["mean"])
    assert np.allclose(np.sqrt(np.diag(covariance)), table["se"])
    assert list(covariance.index) == list(covariance.columns) == list(mean.index)
    assert np.linalg.eigvalsh(covariance).min() > -1e-8


def test_a_process_that_is_left_out_stands_at_its_average(maximised, mixed):
    new = mixed.head(4)
    mean, covariance = maximised.posterior(new, exclude="gp(x)")
    H = np.column_stack([np.ones(4), new["z"], new["g"] == "b"]).astype(float)
    m, V = at_its_average(maximised, H)
    assert np.allclose(mean, m)
    assert np.allclose(covariance, V)


def test_missing_rows(averaged, mixed):
    new = mixed.head(3).assign(x=[1.0, np.nan, 2.0])
    mean, covariance = averaged.posterior(new)
    assert mean.isna().tolist() == [False, True, False]
    assert covariance.isna().sum().sum() == 5
    assert averaged.sample(new, 2).isna().any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("draws", [40_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fixture", ["averaged", "ammonium"])
def test_draws_have_the_moments(request, fixture, draws):
    res = request.getfixturevalue(fixture)
    new = res.model.data.frame.iloc[:4]
    f = res.sample(new, draws, what="latent", rng=1)
    mean, covariance = res.posterior(new)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(f.mean(axis=1) - mean) < 5 * sd / np.sqrt(draws)).all()
    assert np.allclose(np.cov(f), covariance, atol=8 * np.outer(sd, sd).max() / np.sqrt(draws))
    y = res.sample(new, draws, rng=2)
    for p in (0.1, 0.8):
        share = (y.to_numpy() < res.predict(new, "quantile", q=p).to_numpy()[:, None]).mean(axis=1)
        assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / draws)).all()


def test_observed_draws_are_clipped(averaged, mixed):
    y = averaged.sample(draws=20_000, what="observed")
    assert (y.to_numpy() >= mixed[["low"]].to_numpy()).all()
    assert (y.to_numpy() <= 1.4).all()
    expected = averaged.predict(what="observed")
    assert (np.abs(y.mean(axis=1) - expected) < 5 * y.std(axis=1) / np.sqrt(20_000) + 1e-4).all()


def test_draws_are_reproducible(averaged, mixed):
    new = mixed.head(3)
    pd.testing.assert_frame_equal(averaged.sample(new, 5), averaged.sample(new, 5))
    pd.testing.assert_frame_equal(averaged.sample(new, 5, rng=3), averaged.sample(new, 5, rng=np.random.default_rng(3)))
    assert not np.allclose(averaged.sample(new, 5, rng=3), averaged.sample(new, 5, rng=4))
    assert averaged.sample(new, 5).columns.name == "draw"


@pytest.mark.parametrize("asked", [{"draws": 0}, {"draws": 2.5}, {"draws": True}, {"what": "prob"}])
def test_bad_arguments(averaged, asked):
    with pytest.raises(SpecError, match=next(iter(asked))):
        averaged.sample(**asked)


@pytest.mark.parametrize("formula", ["durable ~ gp(age) | censor(0)", "durable ~ age | censor(0)", "age ~ mixture(2)"])
def test_more_draws_than_can_be_held_are_refused(tobin, formula):
    res = tg.fit(formula, tobin)
    for ask in (res.sample, res.log_likelihood_draws):
        with pytest.raises(SpecError, match="at most 107374182 of 20 rows can be held; ask for fewer draws"):
            ask(draws=10**12)
    with pytest.raises(SpecError, match="draws=1000000000000: at most"):
        res.sample(tobin.iloc[:0], draws=10**12)
    with pytest.raises(SpecError, match="draws=1000000000000: at most"):
        res.loo("psis", draws=10**12)
