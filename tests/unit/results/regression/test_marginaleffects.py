"""Numbers of the package marginaleffects beside our own."""

import sys

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of polars 1, in marginaleffects


@pytest.fixture(scope="module")
def money():
    rng = np.random.default_rng(3)
    n = 200
    data = pd.DataFrame({"x": rng.uniform(1, 4, n), "g": rng.choice(["a", "b"], n), "z": rng.normal(size=n)})
    data["sex"], data["low"] = rng.integers(1, 3, n), np.where(data["g"] == "a", 2.0, 1.5)
    data["y"] = 1.5 + data["x"] + 0.5 * data["z"] + (data["g"] == "b") + rng.normal(size=n)
    return data.assign(y=data["y"].clip(lower=data["low"]))


@pytest.fixture(scope="module")
def res(money):
    return tg.fit("y ~ x + I(x**2) + z + g + C(sex) | censor(low)", money, sigma="~ z")


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("marginaleffects")


def agree(theirs, ours):
    """Estimates to six digits, errors as far as forward differences go."""
    (estimate, error), (own, se) = theirs, ours
    np.testing.assert_allclose(estimate, own, rtol=2e-6, atol=1e-9)
    np.testing.assert_allclose(error, se, rtol=5e-4, atol=1e-7)


@pytest.mark.parametrize(
    ("what", "asked"), [("observed", {}), ("latent", {}), ("median", {}), ("prob", {"above": 3.0}), ("sigma", {})]
)
def test_average_slopes(package, res, what, asked):
    slopes = package.avg_slopes(res.to_marginaleffects(what, **asked), eps=1e-3, eps_vcov=1e-5)
    ours = res.marginal_effects(what, **asked)
    for row in slopes.to_dicts():
        name = row["contrast"].replace("dY/dX", "dy/dx")
        one = ours.loc[(row["term"], name)]
        agree((row["estimate"], row["std_error"]), one.iloc[:2])


def test_elasticities_and_means(package, res):
    me = res.to_marginaleffects("observed")
    theirs = package.avg_slopes(me, variables="x", slope="eyex", eps_vcov=1e-5)
    with pytest.warns(UserWarning, match="Left out"):
        ours = res.marginal_effects("observed", method="eyex").loc[("x", "ey/ex")]
    agree((theirs["estimate"][0], theirs["std_error"][0]), ours.iloc[:2])
    at_mean = package.slopes(me, newdata="mean", variables="z", eps_vcov=1e-5)
    np.testing.assert_allclose(
        at_mean["estimate"][0], res.marginal_effects("observed", "mean").loc["z"].iloc[0, 0], 1e-5
    )


def test_predictions_comparisons_and_hypotheses(package, res, money):
    me = res.to_marginaleffects("observed")
    found, ours = package.predictions(me), res.predict(what="observed", se=True)
    np.testing.assert_allclose(found["estimate"].to_numpy(), ours["estimate"], rtol=1e-10)
    np.testing.assert_allclose(found["std_error"].to_numpy(), ours["se"], rtol=1e-5)
    rows = money.head(5).drop(columns="y")
    new = package.predictions(me, newdata=rows.assign(sex=rows["sex"].astype(str)))
    np.testing.assert_allclose(new["estimate"].to_numpy(), ours["estimate"].head(5), rtol=1e-10)
    step = package.avg_comparisons(me, variables={"g": "pairwise"}, eps_vcov=1e-5)
    effect = res.marginal_effects("observed").loc[("g", "b - a")]
    agree((step["estimate"][0], step["std_error"][0]), effect[["dydx", "se"]])
    test, mine = package.hypotheses(me, "z = 0.5"), res.t_test("z = 0.5")
    np.testing.assert_allclose(
        [test["estimate"][0], test["std_error"][0]], [mine.effect[0] - 0.5, mine.sd[0]], rtol=1e-6
    )


def test_a_shape_that_is_estimated(package, lung):
    res = tg.fit("time ~ age | censor(event=event)", lung, family="gengamma")
    slopes = package.avg_slopes(res.to_marginaleffects("survival", times=365), eps_vcov=1e-5)
    ours = res.marginal_effects("survival", times=365)
    agree((slopes["estimate"][0], slopes["std_error"][0]), ours.iloc[0, :2])


def test_without_the_package(res, monkeypatch):
    monkeypatch.setitem(sys.modules, "marginaleffects.classes.model", None)
    with pytest.raises(SpecError, match=r"pip install marginaleffects 'polars<2'"):
        res.to_marginaleffects()


def test_what_it_does_not_predict(package, res):
    with pytest.raises(SpecError, match="what='conditional' conditions on the observed response"):
        res.to_marginaleffects("conditional")
    with pytest.raises(SpecError, match="q="):
        res.to_marginaleffects("quantile")
