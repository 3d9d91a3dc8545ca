"""Residuals of exact and censored rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import kstest
from support.posteriors import nodes

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.residuals import Tails, log_probability


def test_quantile_residuals_are_scores_of_the_predictive(averaged, mixed):
    r = averaged.residuals()
    assert r.name == "quantile"
    exact = averaged.parts.training.response.lower == averaged.parts.training.response.upper
    for label in mixed.index[exact][:5]:
        below = averaged.predict(mixed.loc[[label]], "prob", below=mixed.loc[label, "y"]).iloc[0]
        assert np.isclose(below, ndtr(r[label]))
    left = mixed["y"] <= mixed["low"]
    for label in mixed.index[left]:
        below = averaged.predict(mixed.loc[[label]], "prob", below=mixed.loc[label, "low"]).iloc[0]
        assert ndtr(r[label]) < below


def test_standard_normal_under_the_truth():
    rng = np.random.default_rng(3)
    n = 1500
    data = pd.DataFrame({"x": rng.uniform(-2, 2, n)})
    data["y"] = (1 + data["x"] + rng.normal(0, 0.7, n)).clip(0.0, 2.0)
    res = tg.fit("y ~ x | censor(0, 2)", data, method=tg.EP(hyper="maximize"))
    r = res.residuals(rng=1)
    assert kstest(r, "norm").pvalue > 0.01
    assert np.corrcoef(r, data["x"])[0, 1] < 0.08
    assert not np.allclose(r, res.residuals(rng=2))
    pd.testing.assert_series_equal(res.residuals(), res.residuals())


def test_other_kinds(averaged, ammonium):
    for res in (averaged, ammonium):
        response = res.predict(what="conditional") - res.predict(what="uncensored")
        assert np.allclose(res.residuals("response"), response)
    sd = np.sqrt(averaged.parts.fitted.weights @ (averaged.parts.gp.problem.units.scale * sigmas(averaged)) ** 2)
    pearson = averaged.residuals("pearson")
    bound = averaged.residuals("response").abs() / sd
    assert (pearson.abs() <= bound + 1e-12).all()
    assert np.allclose(np.sign(pearson), np.sign(averaged.residuals("response")))


def sigmas(res):
    return np.array([point.sigma for point in res.parts.fitted.points])


def test_far_out_rows_stay_finite():
    q, free = nodes(np.ones(1), np.zeros((1, 4)), np.ones((1, 4)), np.ones(1)), np.full(4, np.inf)
    lower, upper = np.array([60.0, -60.0, 50.0, -np.inf]), np.array([60.0, -60.0, np.inf, -50.0])
    r = Tails(lambda a, b: log_probability(q, a, b, None), lower, upper, -free, free).quantile(np.full(4, 0.5))
    assert np.isfinite(r).all()
    assert (np.sign(r) == [1, -1, 1, -1]).all()


@pytest.mark.parametrize("kind", ["working", None, 3])
def test_unknown_kinds_are_listed(averaged, kind):
    with pytest.raises(SpecError, match="'quantile', 'deviance', 'pearson', 'response'"):
        averaged.residuals(kind)
