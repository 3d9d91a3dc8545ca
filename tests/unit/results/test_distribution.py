"""Quantiles and probabilities of y* against draws from fitted posteriors."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from support.posteriors import asked

from tobitgp.errors import SpecError
from tobitgp.kinds.process_nodes import nodes_of

ROWS = 6


def fitted_nodes(res):
    """Posterior of f in the first training rows."""
    return nodes_of(res.parts, res.parts.training.design.rows(np.arange(ROWS)))


def check(q, draws, rng):
    """Point, spread and quantiles of both scales."""
    j = rng.choice(len(q.weight), draws, p=q.weight)
    f = q.mean[j] + q.sd[j] * rng.normal(size=(draws, ROWS))
    sigma = q.sigma[j]
    y = f + sigma * rng.normal(size=f.shape)
    if q.log:
        y = np.exp(y)
    for p in (0.05, 0.7):
        scale = asked("quantile", q.log, p=p)
        assert (np.abs((y < q.value(scale)).mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / draws)).all()
        g = f + sigma * ndtri(p)
        compare(scale, q, np.exp(g) if q.log else g, draws)
    limit = float(np.median(y))
    z = (np.log(limit) if q.log else limit) - f
    for above, sign in ((False, 1.0), (True, -1.0)):
        scale, g = asked("prob", q.log, limit=np.full(ROWS, limit), above=above), ndtr(sign * z / sigma)
        assert (np.abs(q.value(scale) - g.mean(axis=0)) < 5 * g.std(axis=0) / np.sqrt(draws) + 1e-12).all()
        compare(scale, q, g, draws)


def compare(scale, q, g, draws):
    squares = (g - g.mean(axis=0)) ** 2
    assert (np.abs(q.se(scale) ** 2 - squares.mean(axis=0)) < 6 * squares.std(axis=0) / np.sqrt(draws) + 1e-12).all()
    orders = (0.025, 0.5, 0.975)
    for tail, x in zip(orders, q.quantiles(scale, orders), strict=True):
        slack = 5 * np.sqrt(tail * (1 - tail) / draws)
        assert ((g < x - 1e-12).mean(axis=0) < tail + slack).all()
        assert ((g <= x + 1e-12).mean(axis=0) > tail - slack).all()


@pytest.mark.parametrize(("fixture", "log_time"), [("averaged", False), ("ammonium", True)])
def test_against_draws(request, rng, fixture, log_time):
    check(fitted_nodes(request.getfixturevalue(fixture)), 100_000, rng)


@pytest.mark.study
@pytest.mark.parametrize(("fixture", "log_time"), [("averaged", False), ("ammonium", True)])
def test_against_a_million_draws(request, rng, fixture, log_time):
    check(fitted_nodes(request.getfixturevalue(fixture)), 1_000_000, rng)


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


@pytest.mark.slow
def test_far_limits_have_no_spread(averaged):
    table = averaged.predict(what="prob", below=[-1e6, 1e6], interval=0.95)
    assert np.allclose(table[1e6]["estimate"], 1.0)
    assert np.allclose(table.xs("se", axis=1, level="statistic"), 0.0)


@pytest.mark.parametrize(
    ("what", "asked", "match"),
    [
        ("quantile", {}, "requires q="),
        ("quantile", {"q": 1.0}, "between 0 and 1"),
        ("quantile", {"q": [0.1, "a"]}, "q="),
        ("quantile", {"q": [0.1, 0.1]}, "different"),
        ("quantile", {"q": []}, "q="),
        ("quantile", {"q": True}, "q="),
        ("quantile", {"q": 0.5, "below": 1.0}, "what='prob'"),
        ("prob", {}, "one of below= and above="),
        ("prob", {"below": 1.0, "above": 0.0}, "difference of two"),
        ("prob", {"below": np.nan}, "below="),
        (
            "prob",
            {"below": pd.Series([1.0, 1.0, np.nan], name="limit")},
            "^below=<Series>: below must be a finite number",
        ),
        ("prob", {"above": np.ones(500)}, "^above=<ndarray>: above must be a finite number"),
        ("prob", {"q": 0.5}, "what='quantile'"),
        ("latent", {"q": 0.5}, "what='quantile'"),
        ("terms", {"below": 0.5}, "what='prob'"),
    ],
)
def test_bad_arguments(averaged, what, asked, match):
    with pytest.raises(SpecError, match=match):
        averaged.predict(what=what, **asked)
