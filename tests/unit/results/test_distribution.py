"""Quantiles and probabilities of y* against draws from fitted posteriors."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from tobitgp.results.distribution import probability_scale, quantile_scale
from tobitgp.results.normals import Mixture

from tobitgp.errors import SpecError
from tobitgp.results.predict import moments

ROWS = 6


def fitted_mixture(res, log_time):
    """Posterior of f in the first training rows."""
    gp, design = res.parts.gp, res.parts.training.design
    args = gp.inputs(design), gp.known_mean(design), slice(0, ROWS), gp.problem.units.scale
    return Mixture(res.parts.fitted.weights, *moments(res.parts.fitted, *args), log_time)


def check(q, draws, rng):
    """Point, spread and quantiles of both scales."""
    j = rng.choice(len(q.weight), draws, p=q.weight)
    f = q.mean[j] + q.sd[j] * rng.normal(size=(draws, ROWS))
    sigma = q.sigma[j, None]
    y = f + sigma * rng.normal(size=f.shape)
    if q.log_time:
        y = np.exp(y)
    for p in (0.05, 0.7):
        scale = quantile_scale(p)
        assert (np.abs((y < scale.point(q)).mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / draws)).all()
        g = f + sigma * ndtri(p)
        compare(scale, q, np.exp(g) if q.log_time else g, draws)
    limit = float(np.median(y))
    z = (np.log(limit) if q.log_time else limit) - f
    for above, sign in ((False, 1.0), (True, -1.0)):
        scale, g = probability_scale(limit, above=above), ndtr(sign * z / sigma)
        assert (np.abs(scale.point(q) - g.mean(axis=0)) < 5 * g.std(axis=0) / np.sqrt(draws) + 1e-12).all()
        compare(scale, q, g, draws)


def compare(scale, q, g, draws):
    squares = (g - g.mean(axis=0)) ** 2
    assert (np.abs(scale.sd(q) ** 2 - squares.mean(axis=0)) < 6 * squares.std(axis=0) / np.sqrt(draws) + 1e-12).all()
    for tail in (0.025, 0.5, 0.975):
        x, slack = scale.quantile(q, tail), 5 * np.sqrt(tail * (1 - tail) / draws)
        assert ((g < x - 1e-12).mean(axis=0) < tail + slack).all()
        assert ((g <= x + 1e-12).mean(axis=0) > tail - slack).all()


@pytest.mark.parametrize(("fixture", "log_time"), [("averaged", False), ("ammonium", True)])
def test_against_draws(request, rng, fixture, log_time):
    check(fitted_mixture(request.getfixturevalue(fixture), log_time), 100_000, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("fixture", "log_time"), [("averaged", False), ("ammonium", True)])
def test_against_a_million_draws(request, rng, fixture, log_time):
    check(fitted_mixture(request.getfixturevalue(fixture), log_time), 1_000_000, rng)


def test_one_value_and_lists(averaged, mixed):
    new = mixed.head(3)
    one = averaged.predict(new, "quantile", q=0.9)
    assert one.name == "quantile"
    several = averaged.predict(new, "quantile", q=[0.1, 0.9])
    assert list(several.columns) == [0.1, 0.9]
    assert np.array_equal(several[0.9], one)
    bands = averaged.predict(new, "quantile", q=np.array([0.1, 0.9]), interval=0.9)
    assert bands.columns.names == ["value", "statistic"]
    pd.testing.assert_frame_equal(
        bands[0.9].rename_axis(columns=None), averaged.predict(new, "quantile", q=0.9, interval=0.9)
    )
    assert np.allclose(averaged.predict(new, "quantile", q=0.5), averaged.predict(new, "median"))


def test_probabilities_and_quantiles_agree(averaged, ammonium):
    for res in (averaged, ammonium):
        limit = float(res.predict(what="quantile", q=0.3).iloc[4])
        assert np.isclose(res.predict(what="prob", below=limit).iloc[4], 0.3)
        below, above = res.predict(what="prob", below=[limit, 2.0]), res.predict(what="prob", above=[limit, 2.0])
        assert np.allclose(below + above, 1.0)
        assert list(below.columns) == [limit, 2.0]
    assert (ammonium.predict(what="prob", below=-1.0) == 0.0).all()


def test_far_limits_have_no_spread(averaged):
    table = averaged.predict(what="prob", below=[-1e6, 1e6], interval=0.95)
    assert np.allclose(table[1e6]["mean"], 1.0)
    assert np.allclose(table.xs("se", axis=1, level="statistic"), 0.0)


@pytest.mark.parametrize(
    ("what", "asked", "match"),
    [
        ("quantile", {}, "needs q="),
        ("quantile", {"q": 1.0}, "between 0 and 1"),
        ("quantile", {"q": [0.1, "a"]}, "q="),
        ("quantile", {"q": [0.1, 0.1]}, "different"),
        ("quantile", {"q": []}, "q="),
        ("quantile", {"q": True}, "q="),
        ("quantile", {"q": 0.5, "below": 1.0}, "what='prob'"),
        ("prob", {}, "one of below= and above="),
        ("prob", {"below": 1.0, "above": 0.0}, "difference of two"),
        ("prob", {"below": np.nan}, "below="),
        ("prob", {"below": pd.Series([1.0, 1.0, np.nan], name="limit")}, "^below=<Series>: a finite number"),
        ("prob", {"above": np.ones(500)}, "^above=<ndarray>: a finite number"),
        ("prob", {"q": 0.5}, "what='quantile'"),
        ("latent", {"q": 0.5}, "what='quantile'"),
        ("terms", {"below": 0.5}, "what='prob'"),
    ],
)
def test_bad_arguments(averaged, what, asked, match):
    with pytest.raises(SpecError, match=match):
        averaged.predict(what=what, **asked)
