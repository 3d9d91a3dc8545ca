"""Percentiles far in the tails: survival falls to what was asked for, and what is infinite or unknown is told.

A new kind that answers times is one more row of ``KINDS``.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, N, fitted, rows

import tobitgp as tg

pytestmark = pytest.mark.diagonal

NEVER = {"cured": "a share never has the event"}
NO_TIMES = (
    "several",
    "latent",
    "vectors",
    "causes",
    "start-stop",
)  # which ask for percentiles of parts of them, or of subjects
CLOSE, FEW = 1e-6, (1e-5, 1e-7, 1e-17, 1e-100)  # of which 1 - p is rounded, or 1
TIMES = [name for name in KINDS if name not in NO_TIMES]


def quietly(ask, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.ApproximationWarning)
        return ask(*args, **options)


@pytest.mark.parametrize("p", FEW)
@pytest.mark.parametrize("name", TIMES)
def test_survival_falls_to_what_was_asked_for(name, p):
    res, new = fitted(name), rows()[N:]
    times = quietly(res.predict_percentile, new, p=p)
    if name in NEVER or not np.isfinite(times).all():
        assert name in NEVER or told_of_infinite(res, new, p)
        return
    risen = [
        float(quietly(res.predict_cumulative_hazard, new.iloc[[i]], [time]).iloc[0, 0]) for i, time in enumerate(times)
    ]
    if name == "counts":  # whole numbers: the first at which survival is no more than p
        assert (np.array(risen) >= -np.log(p)).all()
    else:
        np.testing.assert_allclose(risen, -np.log(p), rtol=CLOSE)


def told_of_infinite(res, new, p):
    with pytest.warns(tg.errors.ApproximationWarning, match="infinite"):
        return np.isposinf(res.predict_percentile(new, p=p)).any()


@pytest.mark.parametrize("p", [1e-17, 1e-100])
@pytest.mark.parametrize("name", ["regression", "weibull", "entry", "box-cox", "spline", "strata"])
def test_bands_are_about_the_percentile(name, p):
    found = quietly(fitted(name).predict_percentile, rows()[N:], p=p, interval=0.9)
    assert np.isfinite(found).all(axis=None)
    assert ((found["lower"] < found["median"]) & (found["median"] < found["upper"])).all()


def test_little_is_left_of_what_was_not_to_survive():
    """6e27 before: the location of the transformed response lies below all that the power permits."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=120)
    data = pd.DataFrame({"z": z, "pos": 3.0 * rng.weibull(1.3, 120) * np.exp(0.5 * z)})
    res = tg.fit("pos ~ z", data, family="boxcox")
    new = pd.DataFrame({"z": [-5.0, -10.0, -100.0]})
    left = res.predict_median(new, conditional_after=1.0)
    survived = [res.predict_survival_function(new[i : i + 1], [left[i]], conditional_after=1.0) for i in range(3)]
    np.testing.assert_allclose(np.concatenate(survived).ravel(), 0.5, rtol=1e-6)


def test_bands_that_are_unknown_are_told():
    res = fitted("spline")
    new = rows()[N:].assign(z=-200.0)
    with pytest.warns(
        tg.errors.ApproximationWarning,
        match=r"predict_percentile.p=0.5.: .* end of the interval is not finite in rows 48, 49, 50",
    ):
        found = res.predict_percentile(new, conditional_after=1.0, interval=0.9)
    assert found[["lower", "upper"]].isna().any(axis=None)
