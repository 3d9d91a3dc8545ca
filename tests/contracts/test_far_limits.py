"""A limit far away says nothing, whatever its size: windows, ends of intervals and their mirror images."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import tobitgp as tg

FAR = [1e9, 1e12, 1e50, 1e139]


def rows(n=100):
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"z": rng.normal(size=n), "x": rng.normal(size=n)})
    d["y"] = 1.0 + 0.5 * d["z"] + rng.normal(size=n)
    d["two"] = d["y"] + 6.0 * (rng.random(n) < 0.5)
    d["mirror"], d["two"], d["t"] = np.minimum(d["y"], 1.5), np.maximum(d["two"], 0.0), np.maximum(np.exp(d["y"]), 1.2)
    return d.assign(y=np.maximum(d["y"], 0.5))


D = rows()
LEFT = D["y"] == 0.5


def interval(far):
    return D.assign(low=np.where(LEFT, -np.inf if far is None else -far, D["y"]), high=np.where(LEFT, 0.5, D["y"]))


def above(far):
    return "" if far is None else f" | truncate({-far})"


def below(far):
    return "" if far is None else f" | truncate(upper={far})"


KINDS = {
    **{
        family: lambda far, family=family: tg.fit("y ~ z | censor(0.5)" + above(far), D, family=family)
        for family in ("gaussian", "student", "logistic", "gumbel")
    },
    "mirror image": lambda far: tg.fit("mirror ~ z | censor(upper=1.5)" + below(far), D),
    "sigma": lambda far: tg.fit("y ~ z | censor(0.5)" + above(far), D, sigma="~ x"),
    "interval": lambda far: tg.fit("interval(low, high) ~ z", interval(far)),
    "interval, sigma": lambda far: tg.fit("interval(low, high) ~ z", interval(far), family="logistic", sigma="~ x"),
    "components of regressions": lambda far: tg.fit("two ~ mixture(2, z) | censor(0)" + above(far), D),
    "components": lambda far: tg.fit("two ~ mixture(2) | censor(0)" + above(far), D, method=tg.EMCM(n_init=1)),
    "boxcox": lambda far: tg.fit(
        "t ~ z | censor(1.2)" + ("" if far is None else f" | truncate({1.0 / far})"), D, family="boxcox"
    ),
}


@pytest.mark.slow_cases("components of regressions", "boxcox")
@pytest.mark.parametrize("kind", list(KINDS))
def test_fits_stay(kind):
    want = KINDS[kind](None)
    for far in FAR:
        got = KINDS[kind](far)
        assert got.converged
        np.testing.assert_allclose(got.params, want.params, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(got.llf, want.llf, rtol=1e-9)


def test_a_far_window_leaves_the_maximum_that_scipy_finds():
    def minus(theta):
        mean, sigma = theta[0] + theta[1] * D["z"], np.exp(theta[2])
        return -np.where(LEFT, norm.logcdf(0.5, mean, sigma), norm.logpdf(D["y"], mean, sigma)).sum()

    found = minimize(minus, [1.0, 0.5, 0.0], method="BFGS", options={"gtol": 1e-7})
    for far in (1e8, 1e9, 1e100):
        res = KINDS["gaussian"](far)
        np.testing.assert_allclose(res.params, [*found.x[:2], np.exp(found.x[2])], rtol=1e-5)
        np.testing.assert_allclose(res.llf, -found.fun, rtol=1e-9)
