import numpy as np
import pandas as pd
import pytest

from tobitgp.distributions import CensoredNormal, TruncatedNormal
from tobitgp.errors import DataError, SpecError

GOOD = {"mean": 0.0, "sd": 1.0, "lower": -1.0, "upper": 1.0}


@pytest.mark.parametrize("family", [CensoredNormal, TruncatedNormal])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": np.inf}, "mean=inf: mean is finite"),
        ({"mean": [0.0, np.nan]}, "mean=nan: mean is finite"),
        ({"mean": "0"}, "mean='0': must be a number or an array"),
        ({"mean": ["1", 2]}, "mean=.*: must be a number or an array"),
        ({"mean": None}, "mean=None: must be a number or an array"),
        ({"mean": True}, "mean=True: must be a number or an array"),
        ({"mean": 1j}, "mean=1j: must be a number or an array"),
        ({"sd": 0.0}, "sd=0: sd is positive and finite"),
        ({"sd": [1.0, -2.0]}, "sd=-2: sd is positive and finite"),
        ({"sd": np.inf}, "sd=inf: sd is positive and finite"),
        ({"sd": pd.Series([1, None], dtype="Int64")}, "sd="),
        ({"lower": np.nan}, "lower=nan: lower is a number"),
        ({"lower": np.inf, "upper": None}, "lower=inf: lower is a number, or -inf for no limit"),
        ({"upper": -np.inf}, "upper=-inf: upper is a number, or inf for no limit"),
        ({"upper": [1.0, np.nan]}, "upper=nan: upper is a number"),
        ({"lower": 1.0}, "lower=1: lower lies below upper"),
        ({"lower": [0.0, 3.0]}, "lower=3: lower lies below upper"),
        ({"mean": np.zeros(2), "upper": np.ones(3)}, r"upper has shape \(3,\), which does not broadcast"),
    ],
)
def test_bad_parameters_are_named(family, changes, message):
    with pytest.raises(SpecError, match=message):
        family(**(GOOD | changes))


@pytest.mark.parametrize("family", [CensoredNormal, TruncatedNormal])
def test_bad_arguments_are_named(family):
    d = family(np.zeros(2), 1.0, -1.0)
    with pytest.raises(DataError, match=r"x has shape \(3,\), which does not broadcast with the parameters' \(2,\)"):
        d.logpdf(np.zeros(3))
    with pytest.raises(DataError, match="x='0'"):
        d.cdf("0")
    with pytest.raises(DataError, match="q=None"):
        d.ppf(None)
    for size in (-1, 1.5, True, "2", (2, None)):
        with pytest.raises(SpecError, match="size="):
            d.rvs(size)
    with pytest.raises(SpecError, match="size"):
        d.rvs(3)
    with pytest.raises(SpecError, match="does not broadcast to it"):
        d.rvs(())
    for rng in (-1, "seed", True, 1.0):
        with pytest.raises(SpecError, match="rng="):
            d.rvs(rng=rng)


def test_every_kind_of_array_is_taken():
    expected = CensoredNormal(np.array([0.0, 1.0]), 1.0, 0.0).mean()
    for mean in ([0, 1], (0.0, 1.0), pd.Series([0, 1]), pd.Series([0, 1], dtype="Int64"), np.array([0, 1], dtype="f4")):
        np.testing.assert_array_equal(CensoredNormal(mean, 1, lower=0).mean(), expected)


def test_parameters_broadcast():
    d = TruncatedNormal(np.zeros((2, 1)), 1.0, [-1.0, -2.0, -np.inf], None)
    assert d.shape == d.mean().shape == d.cdf(0.0).shape == (2, 3)
    assert d.pdf(np.zeros((4, 1, 1))).shape == (4, 2, 3)
    assert d.kl(TruncatedNormal(0.0, 1.0)).shape == (2, 3)
